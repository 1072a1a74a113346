"""Merge the folders of students who have several, with their marks in nbgrader's gradebook."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from nbgrader import api

from autograder.core.errors import AutograderError
from autograder.core.notebook_cells import make_grade_id, make_test_grade_id
from autograder.core.text_format import join_words
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.gradebook_records import (
    GradebookRecord,
    ReplacedAnswerMark,
    read_gradebook_record,
    write_gradebook_record,
)
from autograder.gradebook.nbgrader_db import gradebook_exists, open_gradebook, translate_read_errors
from autograder.intake.merge_folders import (
    is_source_newer,
    list_labs_of_student,
    merge_lab_files,
    remove_empty_folders,
)
from autograder.intake.names import escape_unprintable
from autograder.intake.upload_limits import FileRefused


def find_split_students(classroom: Classroom) -> dict[str, list[str]]:
    """Return the folders of students who have several: a list for each folder that is kept.

    The list has the student's other folders, which are to be merged into it. The roster says which
    folders belong to one student. The one with the roster's name is kept, else the first in the
    alphabet.
    """
    folders = defaultdict(list)
    for folder, person in read_class_list(classroom).people.items():
        folders[person.student].append(folder)
    split = {}
    for student, names in sorted(folders.items()):
        present = [name for name in sorted(names) if list_labs_of_student(classroom.root, name)]
        kept = student if student in present else next(iter(present), "")
        if len(present) > 1:
            split[kept] = [name for name in present if name != kept]
    return split


def merge_split_students(classroom: Classroom) -> Iterator[str]:
    """Merge the folders of each student who has several; yield a sentence about each.

    Of two submissions for a lab the newer one counts, and the other is kept as an earlier attempt.
    A manual mark for an equal answer counts for the newer one; a mark for another answer is shown
    beside it.

    Raises
    ------
    AutograderError
        If the roster or the gradebook cannot be used.
    """
    classroom.require_writable()
    for kept, others in find_split_students(classroom).items():
        for folder in others:
            try:
                _merge_student(classroom, folder, kept)
            except FileRefused as error:
                raise AutograderError(f"{folder!r} cannot be merged. {error}") from None
        names = join_words(escape_unprintable(repr(name)) for name in others)
        yield f"{names} and {escape_unprintable(repr(kept))} are one student's: all is in {kept!r} now."


def _merge_student(classroom: Classroom, source: str, target: str) -> None:
    labs = [
        lab for lab in list_labs_of_student(classroom.root, source) if lab in classroom.course.labs
    ]
    # Merge the submissions in the gradebook before the files. If the merge is interrupted between
    # the two, the folders are still there, so the next merge finds and merges them.
    choices = {lab: is_source_newer(classroom.root, source, target, lab) for lab in labs}
    if gradebook_exists(classroom.db):
        with translate_read_errors(classroom.db), open_gradebook(classroom) as gradebook:
            for lab in labs:
                _merge_submissions(gradebook, classroom, source, target, lab, choices[lab])
            _remove_student_without_submissions(gradebook, source)
    for lab in labs:
        merge_lab_files(classroom.root, source, target, lab, choices[lab])
    remove_empty_folders(classroom.root, source)


def _merge_submissions(
    gradebook: Any, classroom: Classroom, source: str, target: str, lab: str, source_is_newer: bool
) -> None:
    """In the gradebook, merge the submissions that two folders of a student have for one lab.

    The newer submission is kept, with the manual marks of both.
    """
    db = gradebook.db
    rows = {}
    query = (
        db.query(api.SubmittedAssignment).join(api.Assignment).filter(api.Assignment.name == lab)
    )
    for row in query.filter(api.SubmittedAssignment.student_id.in_([source, target])):
        rows[row.student_id] = row
    if source not in rows:
        return
    source_path, target_path = (
        classroom.result_path(name, lab, "recorded") for name in (source, target)
    )
    if target not in rows:
        _set_student(gradebook, rows[source], target)
        db.commit()
        if source_path.is_file():
            target_path.parent.mkdir(parents=True, exist_ok=True)
            source_path.replace(target_path)
        return
    winner, loser, winner_path, loser_path = rows[target], rows[source], target_path, source_path
    if source_is_newer:
        winner, loser, winner_path, loser_path = (
            rows[source],
            rows[target],
            source_path,
            target_path,
        )
    record = read_gradebook_record(winner_path)
    _copy_manual_marks_to_newer(winner, loser, record, read_gradebook_record(loser_path))
    if winner.extension is None:
        winner.extension = loser.extension
    # The empty stamp makes the next run write the result again.
    write_gradebook_record(winner_path, record, stamp="")
    gradebook.remove_submission(lab, loser.student_id)  # commits the marks as well
    _set_student(gradebook, winner, target)
    db.commit()
    if winner_path != target_path:
        winner_path.replace(target_path)
    source_path.unlink(missing_ok=True)


def _set_student(gradebook: Any, row: Any, student: str) -> None:
    gradebook.update_or_create_student(student)
    row.student_id = student


def _copy_manual_marks_to_newer(
    winner: Any, loser: Any, record: GradebookRecord, loser_record: GradebookRecord
) -> None:
    """Copy the manual marks of the older submission to the newer one, which replaces it."""
    winner_comments, loser_comments = _comments_by_cell(winner), _comments_by_cell(loser)
    winner_grades = {
        grade.name: grade for notebook in winner.notebooks for grade in notebook.grades
    }
    names = {make_test_grade_id(name): name for name in {*record.answers, *loser_record.answers}}
    for exercise, mark in loser_record.earlier.items():
        record.earlier.setdefault(exercise, mark)
    for exercise, marks in loser_record.withdrawn.items():
        for answer, mark in marks.items():
            record.withdrawn.setdefault(exercise, {}).setdefault(answer, mark)
    for notebook in loser.notebooks:
        for grade in notebook.grades:
            name = names.get(grade.name, grade.name)
            new_grade = winner_grades.get(grade.name)
            comment = loser_comments.get(name) or loser_comments.get(make_grade_id(name))
            words = (comment and comment.manual_comment) or ""
            mark = ReplacedAnswerMark(grade.manual_score, words, grade.extra_credit)
            if new_grade is None or mark == ReplacedAnswerMark():
                continue
            is_same = record.answers.get(name, "") == loser_record.answers.get(name, "")
            is_graded = new_grade.manual_score is not None or new_grade.extra_credit
            if not is_same or is_graded:
                record.earlier.setdefault(name, mark)
                answer = loser_record.answers.get(name, "")
                if answer and not is_same:
                    record.withdrawn.setdefault(name, {}).setdefault(answer, mark)
                continue
            new_grade.manual_score, new_grade.extra_credit = mark.score, mark.extra_credit
            if mark.score is not None:
                new_grade.needs_manual_grade = False
            new_comment = winner_comments.get(name) or winner_comments.get(make_grade_id(name))
            if new_comment and words and not new_comment.manual_comment:
                new_comment.manual_comment = words


def _comments_by_cell(submission: Any) -> dict[str, Any]:
    return {
        comment.name: comment for notebook in submission.notebooks for comment in notebook.comments
    }


def _remove_student_without_submissions(gradebook: Any, student: str) -> None:
    row = gradebook.db.get(api.Student, student)
    query = gradebook.db.query(api.SubmittedAssignment)
    if row is not None and not query.filter(api.SubmittedAssignment.student_id == student).count():
        gradebook.db.delete(row)
        gradebook.db.commit()
