"""Write grading results, manual marks and late penalties into nbgrader's gradebook.

The results are written directly into nbgrader's tables, in one transaction for each submission;
then scores and penalties are recomputed for the whole class. The command `nbgrader autograde` does
not use this module: there the preprocessor `GradingPreprocessor` (see `nbgrader_autograde`) leads to the same
scores.
"""

import html
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from glob import escape
from itertools import count
from pathlib import Path
from typing import Any

from nbgrader import api
from nbgrader.api import InvalidEntry, MissingEntry
from sqlalchemy import text as sql
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from traitlets.utils.importstring import import_item

from autograder.authoring.lab import Lab
from autograder.authoring.nbgrader_settings import make_settings
from autograder.core.files import hash_parts, read_json, write_file
from autograder.core.notebook_cells import get_nbgrader_metadata, make_grade_id, make_test_grade_id
from autograder.core.results import Result, Verdict
from autograder.core.text_format import make_printable
from autograder.gradebook import result_store
from autograder.gradebook.attempt_choice import find_changed_choices, store_counted_attempt
from autograder.gradebook.class_list import ClassList, read_class_list
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.deadlines import parse_timestamp, read_class_deadlines, read_timings
from autograder.gradebook.gradebook_records import (
    GradebookRecord,
    ReplacedAnswerMark,
    describe_earlier_mark,
    read_gradebook_record,
    write_gradebook_record,
)
from autograder.gradebook.graded_submission import GradedSubmission, hash_submitted_file
from autograder.gradebook.nbgrader_db import (
    GradebookError,
    SubmissionRefused,
    format_error,
    gradebook_exists,
    lock_gradebook_setup,
    open_gradebook,
    remove_password,
    set_due_date,
    silence_nbgrader,
    translate_read_errors,
)
from autograder.gradebook.policy import Policy, read_policy, rescale_score

MAX_TRIES = 4  # attempts to write if the connection to the database is lost
# Add an index that nbgrader's database lacks. Without it, nbgrader's formgrader takes seconds to
# list 300 submissions of a lab.
_SUBMISSION_INDEX_SQL = (
    "CREATE INDEX IF NOT EXISTS notebooks_of_submissions ON submitted_notebook (assignment_id)"
)


@dataclass
class _GradebookCellIds:
    """Identifiers of those notebook cells of a lab that get points or a comment in the gradebook.

    Parameters
    ----------
    assignment_id, notebook_id : str
        Identifiers of the lab and of its notebook in the database.
    grade_cells : mapping of str to (str, float)
        The grade_id and the points of each cell with a grade, by the cell's id in the database.
    comment_cells : mapping of str to str
        The grade_id of each cell with a comment, by the cell's id in the database.
    """

    assignment_id: str
    notebook_id: str
    grade_cells: Mapping[str, tuple[str, float]]
    comment_cells: Mapping[str, str]


@dataclass
class _SubmissionRows:
    """A submission's grades and comments, as rows of the tables in nbgrader's database.

    Parameters
    ----------
    grades : dict of str to (Grade, float)
        nbgrader's grade and the maximum points of each notebook cell, by grade_id.
    comments : dict of str to Comment
        nbgrader's comment on each notebook cell, by grade_id.
    new : list
        Rows that are not in the database yet, in the order in which they must be saved.
    """

    grades: dict[str, tuple[api.Grade, float]]
    comments: dict[str, api.Comment]
    new: list[Any]


class GradebookWriter:
    """Writer that opens a class's gradebook, and closes it at the end of the `with` block."""

    def __init__(self, classroom: Classroom):
        self.classroom = classroom
        self.config = make_settings(classroom.course)
        self.config.CourseDirectory.db_url = classroom.db
        self._gradebook = open_gradebook(classroom)
        self._clear_cache()

    def _clear_cache(self) -> None:
        """Discard the cached data of the gradebook, which another process may have changed."""
        self._cells: dict[str, _GradebookCellIds] = {}
        self._submissions: set[tuple[str, str]] | None = None
        self._exercises_with_parts: set[tuple[str, str]] = set()  # lab and exercise

    def __enter__(self) -> "GradebookWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    @property
    def assignments(self) -> list[Any]:
        """Records of the labs in nbgrader's gradebook, which calls labs assignments."""
        return list(self._gradebook.assignments)

    def save_labs(self, labs: Sequence[Lab], policy: Policy) -> None:
        """Write each lab into the gradebook, as an assignment with a due date and graded cells.

        The cells are those of the lab's current solution notebook. If course.toml has no due date
        for a lab, a due date that was entered in nbgrader is kept.
        """
        for lab in labs:
            points = policy.points[lab.name]
            for exercise in lab.exercises.values():
                if exercise.parts:
                    self._exercises_with_parts.add((lab.name, exercise.name))
            with lock_gradebook_setup(self.classroom):
                self._write_with_retries(
                    partial(self._save_due_date_and_cells, lab, policy.due_dates[lab.name], points)
                )

    def _save_due_date_and_cells(
        self,
        lab: Lab,
        due: datetime | None,
        points: Mapping[str, float],
    ) -> None:
        set_due_date(self._gradebook, self.classroom, lab.name, due)
        self._gradebook.db.execute(sql(_SUBMISSION_INDEX_SQL))
        self._gradebook.db.commit()
        notebooks = self._gradebook.find_assignment(lab.name).notebooks
        sources = hash_parts(lab.solution_path.read_bytes(), str(dict(points)))
        state = {"gradebook": remove_password(self.classroom.db), "made_of": sources}
        path = self.classroom.root / f".{lab.name}.prepared"
        if not notebooks or read_json(path) != state:
            self._rescale_manual_scores(lab, points)
            self._save_graded_cells(lab, points)
            write_file(path, json.dumps(state))

    def _rescale_manual_scores(self, lab: Lab, points: Mapping[str, float]) -> None:
        """Rescale the manual marks of the questions whose points were changed in course.toml."""
        db, grade_cell = self._gradebook.db, api.GradeCell
        # A question that course.toml drops has 0 points. The file `.<lab>.dropped` stores the
        # points that it had before. If the question counts again, its old marks are converted by
        # these points.
        path = self.classroom.root / f".{lab.name}.dropped"
        dropped_points = read_json(path)
        cells = (
            db.query(grade_cell)
            .join(api.Notebook, grade_cell.notebook_id == api.Notebook.id)
            .join(api.Assignment)
            .filter(api.Assignment.name == lab.name)
        )
        for cell in cells:
            name = lab.find_item_of_cell(cell.name)
            old_points = cell.max_score or dropped_points.get(cell.name, 0.0)
            new_points = points.get(name, 0.0)
            if not new_points and old_points:
                dropped_points = {**dropped_points, cell.name: old_points}
                write_file(path, json.dumps(dropped_points))
            if not new_points or old_points == new_points:
                continue
            for grade in db.query(api.Grade).filter(api.Grade.cell_id == cell.id):
                if grade.manual_score is not None:
                    grade.manual_score = rescale_score(grade.manual_score, old_points, new_points)
            cell.max_score = new_points
            self._rescale_marks_in_record_files(lab, name, cell.name, old_points, new_points)
        db.commit()

    def _rescale_marks_in_record_files(
        self, lab: Lab, exercise: str, cell: str, old_points: float, new_points: float
    ) -> None:
        """Rescale one question's manual marks in the record files after its points have changed.

        Parameters
        ----------
        cell : str
            The grade_id of the notebook cell that carries the exercise's points.
        """
        pattern = f"*/{escape(lab.name)}.recorded"
        for path in self.classroom.list_files(self.classroom.results, pattern):
            record = read_gradebook_record(path)
            shared_marks = record.shared
            by_answer = record.withdrawn.get(exercise, {})
            places = [(record.earlier, exercise)]
            places += [(by_answer, answer) for answer in by_answer]
            for marks, key in places:
                mark = marks.get(key)
                if mark and mark.score is not None:
                    score = rescale_score(mark.score, old_points, new_points)
                    marks[key] = mark._replace(score=score)
            if cell in shared_marks:
                shared_marks[cell] = rescale_score(shared_marks[cell], old_points, new_points)
            write_gradebook_record(path, record)

    def _save_graded_cells(self, lab: Lab, points: Mapping[str, float]) -> None:
        """Save the lab's graded cells in the gradebook, as `nbgrader generate_assignment` does.

        The solution notebook passes through the same nbgrader preprocessors.
        """
        notebook = lab.read_solution()
        self._cells.pop(lab.name, None)
        for cell in notebook.cells:
            nbgrader = get_nbgrader_metadata(cell)
            if nbgrader.get("grade"):
                nbgrader["points"] = points[lab.find_item_of_cell(nbgrader["grade_id"])]
        resources = {
            "nbgrader": {"notebook": lab.name, "assignment": lab.name, "db_url": self.classroom.db},
        }
        for name in self.config.GenerateAssignment.preprocessors:
            try:
                notebook, resources = import_item(name)(config=self.config)(notebook, resources)
            except RuntimeError as error:
                raise GradebookError(
                    f"The gradebook holds submissions of another version of {lab.name} "
                    f"({format_error(error)}); "
                    "give the new version a new classroom with --classroom."
                ) from None

    # Methods that write one submission

    def has_recorded(self, submission: Submission, graded_submission: GradedSubmission) -> bool:
        """Return True if the gradebook already has this grading result of this submission."""
        student, lab = submission.student, submission.lab
        # The record file alone does not prove that the gradebook has the result. Somebody may have
        # replaced the gradebook since the record was written.
        if (student, lab) not in self._recorded_submissions():
            return False
        record = read_gradebook_record(self._record_path(student, lab))
        return record.stamp == self._stamp(submission, graded_submission)

    def _recorded_submissions(self) -> set[tuple[str, str]]:
        """Return (student, lab) of all submissions in the gradebook; query it only once."""
        if self._submissions is None:
            submission, lab = api.SubmittedAssignment, api.Assignment
            rows = self._gradebook.db.query(submission.student_id, lab.name)
            rows = rows.join(lab, submission.assignment_id == lab.id)
            self._submissions = {(student, name) for student, name in rows}
        return self._submissions

    def record_submission(
        self,
        submission: Submission,
        graded_submission: GradedSubmission,
    ) -> None:
        """Write a submission's scores and comments; try again after a broken connection."""
        path = self._record_path(submission.student, submission.lab)
        old_record = read_gradebook_record(path)
        # Write a record with an empty stamp, which means that the submission is not completely
        # written. If the run is interrupted, the next run sees this and writes the submission
        # again.
        write_gradebook_record(path, old_record, stamp="")
        self._write_timestamp_and_secret(submission)
        write = partial(self._write_submission, submission, graded_submission, old_record)
        record = self._write_with_retries(write, writes_one_submission=True)
        if not graded_submission.faults:
            stamp = self._stamp(submission, graded_submission)
            write_gradebook_record(path, record, stamp)

    def _write_submission(
        self,
        submission: Submission,
        graded_submission: GradedSubmission,
        old_record: GradebookRecord,
    ) -> GradebookRecord:
        """Write a submission's scores and comments into the database; return what it now has."""
        db = self._gradebook.db
        earlier = dict(old_record.earlier)
        withdrawn = {name: dict(marks) for name, marks in old_record.withdrawn.items()}
        entries = self._load_or_make_rows(submission)
        self._write_scores_and_retire_manual_marks(
            entries, graded_submission, old_record, earlier, withdrawn
        )
        self._set_auto_comments(entries, graded_submission, earlier)
        db.bulk_save_objects(entries.new)  # one statement per table, which is fast
        db.commit()
        self._recorded_submissions().add((submission.student, submission.lab))
        # In the dict `earlier`, the keys are names of exercises. In the dict `shared`, the keys are
        # names of notebook cells, which may be the exercise's name or that of its test cell.
        retired_cells = {*earlier, *map(make_test_grade_id, earlier)}
        shared_marks = {}
        for cell, score in old_record.shared.items():
            if cell not in retired_cells:
                shared_marks[cell] = score
        answers = dict(graded_submission.answers)
        return GradebookRecord("", answers, earlier, shared_marks, withdrawn)

    def _write_scores_and_retire_manual_marks(
        self,
        entries: _SubmissionRows,
        graded_submission: GradedSubmission,
        old_record: GradebookRecord,
        earlier_marks: dict[str, ReplacedAnswerMark],
        withdrawn_marks: dict[str, dict[str, ReplacedAnswerMark]],
    ) -> None:
        """Write a submission's automatic scores; withdraw the manual marks of changed answers.

        If an answer has changed, its manual mark is moved into the dicts `earlier_marks` and
        `withdrawn_marks`. If the new answer has a manual mark there, this mark counts again;
        otherwise the answer waits for a new manual mark, unless the student has written nothing.
        """
        results = {result.exercise: result for result in graded_submission.results}
        tests = {make_test_grade_id(name): result for name, result in results.items()}
        for cell, (grade, points) in entries.grades.items():
            result = tests.get(cell) or results.get(cell)
            if result is None:
                raise SubmissionRefused(f"there is no result for the cell {cell!r}.")
            if result.verdict is Verdict.FAULT:
                # A manual mark is dropped only if the student's answer has changed. The autograder
                # failed on this submission, so a change is unknown: keep the mark.
                grade.auto_score, grade.needs_manual_grade = None, False
                continue
            name = result.exercise
            old_answer = old_record.answers.get(name, "")
            new_answer = graded_submission.answers.get(name, "")
            is_changed = old_answer != new_answer
            comment = entries.comments.get(cell) or entries.comments.get(make_grade_id(name))
            withdrawn = None
            if is_changed and old_record.answers:
                # Do not keep a mark that was copied from a partner for later: it is copied again
                # whenever the partner's mark changes.
                is_copy = grade.manual_score is not None and cell in old_record.shared
                withdrawn = _withdraw_manual_mark(grade, comment)
                if withdrawn and old_answer and not is_copy:
                    withdrawn_marks.setdefault(name, {})[old_answer] = withdrawn
                restorable_mark = withdrawn_marks.get(name, {}).pop(new_answer, None)
                if restorable_mark:
                    _restore_manual_mark(grade, comment, restorable_mark)
            if withdrawn:
                earlier_marks[name] = _combine_earlier_marks(withdrawn, earlier_marks.get(name))
            _set_auto_score(grade, points, result, graded_submission)
            has_new_answer = name not in graded_submission.untouched
            if grade.manual_score is not None or not has_new_answer:
                grade.needs_manual_grade = False
            elif withdrawn and withdrawn.score is not None:
                grade.needs_manual_grade = True
            elif name not in earlier_marks or earlier_marks[name].score is None:
                grade.needs_manual_grade = grade.auto_score is None
            if grade.manual_score is not None or grade.extra_credit:
                earlier_marks.pop(name, None)  # a person has graded the changed answer

    def _set_auto_comments(
        self,
        entries: _SubmissionRows,
        graded_submission: GradedSubmission,
        earlier_marks: Mapping[str, ReplacedAnswerMark],
    ) -> None:
        """Write the autograder's message on each answer as nbgrader's automatic comment."""
        # Comments are keyed by the name of the answer cell. A question has the same name as its
        # cell. An exercise has not: the cell of `stable_softmax` is `stable-softmax`.
        results = {result.exercise: result for result in graded_submission.results}
        results |= {make_grade_id(result.exercise): result for result in graded_submission.results}
        for name, comment in entries.comments.items():
            text = ""
            if name in results:
                text = _auto_comment_text(results[name], graded_submission, earlier_marks)
            # nbgrader shows a comment as HTML. So escape the text.
            comment.auto_comment = html.escape(text.strip(), quote=False) or None

    def _load_or_make_rows(self, submission: Submission) -> _SubmissionRows:
        """Load a submission's grades and comments from the database; if there are none, make them.

        New rows equal those that nbgrader's `Gradebook.add_submission` would make. That method is
        slow, since it writes and reads the rows one at a time.
        """
        db, cells = self._gradebook.db, self._get_lab_cells(submission.lab)
        assignment, notebook = api.SubmittedAssignment, api.SubmittedNotebook
        new: list[Any] = []
        submitted = None
        if (submission.student, submission.lab) in self._recorded_submissions():
            submitted = (
                db.query(assignment)
                .filter(assignment.assignment_id == cells.assignment_id)
                .filter(assignment.student_id == submission.student)
                .one_or_none()
            )
        if submitted is None:
            if db.get(api.Student, submission.student) is None:
                new.append(api.Student(id=submission.student))
            submitted = assignment(
                id=api.new_uuid(), assignment_id=cells.assignment_id, student_id=submission.student
            )
            submitted_notebook = notebook(
                id=api.new_uuid(), assignment_id=submitted.id, notebook_id=cells.notebook_id
            )
            owner = submitted_notebook.id
            grades = [api.Grade(notebook_id=owner, cell_id=cell) for cell in cells.grade_cells]
            comments = []
            for cell in cells.comment_cells:
                comments.append(api.Comment(notebook_id=owner, cell_id=cell))
            new += [submitted, submitted_notebook, *grades, *comments]
        else:
            (owner,) = (
                db.query(notebook.id)
                .filter(notebook.assignment_id == submitted.id)
                .filter(notebook.notebook_id == cells.notebook_id)
                .one()
            )
            grades = db.query(api.Grade).filter(api.Grade.notebook_id == owner).all()
            comments = db.query(api.Comment).filter(api.Comment.notebook_id == owner).all()
        submitted.timestamp = parse_timestamp(submission.timestamp)
        grades_by_name = {}
        for grade in grades:
            name, points = cells.grade_cells[grade.cell_id]
            grades_by_name[name] = grade, points
        comments_by_name = {cells.comment_cells[comment.cell_id]: comment for comment in comments}
        return _SubmissionRows(grades_by_name, comments_by_name, new)

    def _get_lab_cells(self, lab: str) -> _GradebookCellIds:
        if lab not in self._cells:
            notebook = self._gradebook.find_notebook(lab, lab)
            grade_cells = [*notebook.grade_cells, *notebook.task_cells]
            comment_cells = [*notebook.solution_cells, *notebook.task_cells]
            self._cells[lab] = _GradebookCellIds(
                notebook.assignment.id,
                notebook.id,
                {cell.id: (cell.name, cell.max_score) for cell in grade_cells},
                {cell.id: cell.name for cell in comment_cells},
            )
        return self._cells[lab]

    def _record_path(self, student: str, lab: str) -> Path:
        return self.classroom.result_path(student, lab, "recorded")

    def _stamp(self, submission: Submission, graded_submission: GradedSubmission) -> str:
        """Return a hash by which a later run sees that the gradebook already has this result."""
        fields = json.dumps(graded_submission.to_fields(), sort_keys=True)
        return hash_parts(fields, str(submission.timestamp), self.classroom.db)

    def _write_timestamp_and_secret(self, submission: Submission) -> None:
        """Write nbgrader's files timestamp.txt and submission_secret.txt into autograded/."""
        student, lab = submission.student, submission.lab
        texts = {
            "timestamp.txt": submission.timestamp and submission.timestamp + "\n",
            "submission_secret.txt": self.classroom.read_exchange_secret(student, lab),
        }
        for name, text in texts.items():
            path = self.classroom.notebook_path(student, lab, name)
            if text:
                write_file(path, text)
            else:
                path.unlink(missing_ok=True)

    def record_marks_of_question(
        self,
        lab: Lab,
        question: str,
        marks_by_student: Mapping[str, tuple[str, str]],
    ) -> None:
        """Write the manual marks of one question for several students, all or none.

        Parameters
        ----------
        marks_by_student : mapping of str to (str, str)
            Points and comment by student. With "" as points, the student's old points are kept.
        """
        self._write_with_retries(partial(self._write_manual_marks, lab, question, marks_by_student))

    def _write_manual_marks(
        self,
        lab: Lab,
        question: str,
        marks_by_student: Mapping[str, tuple[str, str]],
    ) -> None:
        grade_cell = comment_cell = question
        if question in lab.exercises:
            grade_cell, comment_cell = make_test_grade_id(question), make_grade_id(question)
        for student, (points, words) in marks_by_student.items():
            notebook = self._gradebook.find_submission_notebook(lab.name, lab.name, student)
            for grade in notebook.grades:
                if grade.name == grade_cell and points:
                    grade.manual_score, grade.needs_manual_grade = float(points), False
            for comment in notebook.comments:
                if comment.name == comment_cell:
                    comment.manual_comment = words or None
        self._gradebook.db.commit()

    # Methods that update all submissions of the class

    def update_submission_times(self, labs: Sequence[str]) -> None:
        """Take over the times of submission that `collect` has corrected since grading.

        `collect --timezone` reads times anew whose zone was missing or wrong.
        """
        with translate_read_errors(self.classroom.db):
            for lab in labs:
                self._write_with_retries(partial(self._write_corrected_times, lab))

    def _write_corrected_times(self, lab: str) -> None:
        for submitted in self._gradebook.assignment_submissions(lab):
            key = submitted.student.id, lab
            name = self.classroom.read_counted_name(*key)
            moment = parse_timestamp(self.classroom.read_attempt_time(*key, name))
            if moment is None or moment == submitted.timestamp:
                continue
            # A newer notebook that is not graded yet has another time, which is not this result's.
            attempt = self.classroom.read_attempt(*key, name)
            if attempt is None or attempt.content is None:
                continue
            graded_hash = read_json(self.classroom.result_path(*key)).get("file_hash")
            if graded_hash == hash_submitted_file(attempt.content):
                submitted.timestamp = moment
        self._gradebook.db.commit()

    def recompute_scores(self, labs: Sequence[str], policy: Policy, class_list: ClassList) -> None:
        """Recompute all marks of these labs from the current course.toml and the roster.

        Points are applied anew, manual marks are shared within groups, and late penalties are
        computed again.
        """
        with translate_read_errors(self.classroom.db):
            self._write_with_retries(partial(self._write_roster_names, class_list))
            for lab in labs:
                for group in class_list.find_groups(lab):
                    self._write_with_retries(partial(self._share_manual_marks_in_group, lab, group))
            self._write_with_retries(
                partial(self._update_scores_and_penalties, labs, policy, class_list)
            )

    def _write_roster_names(self, class_list: ClassList) -> None:
        """Write the roster's names into the gradebook, where nbgrader's formgrader reads them."""
        for student in self._gradebook.students:
            person = class_list.people.get(student.id)
            if person is None:
                continue
            first, last = person.first, person.last
            if not (first or last):  # the formgrader shows "last, first"
                first, _, last = person.name.rpartition(" ")
            texts = {"first_name": first, "last_name": last, "email": person.email}
            for column, text in texts.items():
                # Students can choose their own names. PostgreSQL refuses zero bytes, and texts
                # longer than the column. So clean and shorten the names.
                text = make_printable(text)[: getattr(api.Student, column).type.length]
                if text and getattr(student, column) != text:
                    setattr(student, column, text)
        self._gradebook.db.commit()

    def _share_manual_marks_in_group(self, lab: str, group: Sequence[str]) -> None:
        """Copy the manual marks of one group member to the others, who submitted the same notebook.

        A cell for which the instructor has given the members different marks is left alone.
        """
        records = {}
        for student in group:
            records[student] = read_gradebook_record(self._record_path(student, lab))
        notebooks = {}
        for student in group:
            with suppress(MissingEntry):
                notebooks[student] = self._gradebook.find_submission_notebook(lab, lab, student)
        by_cell: dict[str, dict[str, Any]] = {}
        for student, notebook in notebooks.items():
            for grade in notebook.grades:
                by_cell.setdefault(grade.name, {})[student] = grade
        updates: set[str] = set()
        for name, grades in by_cell.items():
            updates.update(_sync_manual_mark_in_group(name, grades, records, notebooks))
        self._gradebook.db.commit()
        for student in updates:
            write_gradebook_record(self._record_path(student, lab), records[student])

    def _update_scores_and_penalties(
        self, labs: Sequence[str], policy: Policy, class_list: ClassList
    ) -> None:
        """Recompute the automatic scores and late penalties of these labs by the current policy."""
        db = self._gradebook.db
        notebook, submission = api.SubmittedNotebook, api.SubmittedAssignment
        totals = self._rescale_auto_scores(labs, policy)
        timings = read_timings(db.query, policy, class_list)
        notebooks = (
            db.query(notebook, submission.student_id, api.Assignment.name)
            .join(submission, notebook.assignment_id == submission.id)
            .join(api.Assignment, submission.assignment_id == api.Assignment.id)
            .filter(api.Assignment.name.in_(labs))
        )
        for submitted, student, lab in notebooks:
            score = totals.get(submitted.id, 0.0)
            penalty = policy.compute_penalty(score, timings[student, lab]) or None
            if submitted.late_submission_penalty != penalty:
                submitted.late_submission_penalty = penalty
        db.commit()

    def _rescale_auto_scores(self, labs: Sequence[str], policy: Policy) -> dict[str, float]:
        """Rescale the automatic scores to the points that the exercises have now.

        Returns
        -------
        dict of str to float
            Total points, with manual marks, by the database id of the submitted notebook.
        """
        cell, grade = api.GradeCell, api.Grade
        notebook, submission = api.SubmittedNotebook, api.SubmittedAssignment
        shares = self._find_earned_shares(labs)
        exercises = {make_test_grade_id(name): name for lab in labs for name in policy.points[lab]}
        rows = (
            self._gradebook.db.query(
                grade, cell.max_score, cell.name, submission.student_id, api.Assignment.name
            )
            .join(cell, grade.cell_id == cell.id)
            .join(notebook, grade.notebook_id == notebook.id)
            .join(submission, notebook.assignment_id == submission.id)
            .join(api.Assignment, submission.assignment_id == api.Assignment.id)
            .filter(api.Assignment.name.in_(labs))
        )
        totals: dict[str, float] = {}
        for mark, max_score, name, student, lab in rows:
            # An exercise may have the score 0 because it was worth 0 points when it was graded. So
            # use the share of the points from the stored result. If nbgrader has graded the
            # submission, none is stored; then any points mean that the exercise was passed, unless
            # it has parts.
            exercise = exercises.get(name, name)
            share = shares.get((student, lab, exercise), 0.0)
            if not share and mark.auto_score and (lab, exercise) not in self._exercises_with_parts:
                share = 1.0
            if mark.auto_score is not None and share and mark.auto_score != share * max_score:
                mark.auto_score = share * max_score
            score = mark.auto_score if mark.manual_score is None else mark.manual_score
            totals.setdefault(mark.notebook_id, 0.0)
            if max_score and score is not None:
                totals[mark.notebook_id] += score + (mark.extra_credit or 0.0)
        return totals

    def _find_earned_shares(self, labs: Sequence[str]) -> dict[tuple[str, str, str], float]:
        """Return the share of the points for each (student, lab, exercise) that earned any."""
        shares = {}
        stored_results = result_store.load_all_results(self.classroom)
        for (student, lab), graded_submission in stored_results.items():
            if graded_submission is None or lab not in labs:
                continue
            for result in graded_submission.results:
                if result.earned_share:
                    shares[student, lab, result.exercise] = result.earned_share
        return shares

    def _write_with_retries(
        self,
        action: Callable[[], Any],
        writes_one_submission: bool = False,
    ) -> Any:
        """Call `action`, which writes into the gradebook; call it again if the connection breaks.

        With `writes_one_submission`, if the action fails twice although the connection is in order,
        `SubmissionRefused` is raised for this submission, and the run can go on with the others. One
        failure is not enough, since another run may just have written the same rows.
        """
        for attempt in count(1):
            try:
                with silence_nbgrader():
                    return action()
            except (SQLAlchemyError, InvalidEntry, MissingEntry) as error:
                self._roll_back()  # if the connection is lost, this connects again
                self._clear_cache()
                is_lost = isinstance(error, (OperationalError, MissingEntry)) or getattr(
                    error, "connection_invalidated", False
                )
                if writes_one_submission and attempt > 1 and not is_lost:
                    raise SubmissionRefused(format_error(error)) from None
                if attempt == MAX_TRIES:
                    raise GradebookError(
                        f"The gradebook {remove_password(self.classroom.db)} could not be "
                        f"written: {format_error(error)} No result is lost: they are kept in "
                        "results/; run the same command again."
                    ) from None
                time.sleep(0.2 * 4 ** (attempt - 1))
            except BaseException:
                self._roll_back()  # the next commit must not write half a submission
                raise

    def _roll_back(self) -> None:
        with suppress(Exception):
            self._gradebook.db.rollback()


def refresh_gradebook(
    classroom: Classroom, labs: Mapping[str, Lab], class_list: ClassList | None = None
) -> Policy:
    """Recompute all marks in the gradebook from course.toml and the roster; return the policy.

    If another of a student's attempts counts now, its stored result takes the former one's place.
    No submission is graded. If the classroom has no gradebook, none is created.

    Raises
    ------
    AutograderError
        If course.toml, the roster or the gradebook cannot be used.
    """
    policy = read_policy(classroom.course, labs)
    if gradebook_exists(classroom.db):
        with GradebookWriter(classroom) as writer:
            assignments = {assignment.name for assignment in writer.assignments}
            names = [lab for lab in labs if lab in assignments]
            writer.save_labs([labs[lab] for lab in names], policy)
            class_list = class_list or read_class_list(classroom)
            gradebook_labs = {lab: labs[lab] for lab in names}
            _record_changed_choices(classroom, gradebook_labs, policy, class_list, writer)
            writer.update_submission_times(names)
            writer.recompute_scores(names, policy, class_list)
    return policy


def _record_changed_choices(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    policy: Policy,
    class_list: ClassList,
    writer: GradebookWriter,
) -> None:
    """Record the stored result of each attempt that counts now, in place of another attempt's."""
    deadlines = read_class_deadlines(classroom, policy, class_list)
    roster_times = class_list.read_roster_submission_times(policy)
    for choice in find_changed_choices(classroom, labs, policy, deadlines, roster_times):
        attempt = choice.attempt
        # Write the result last: if the run is interrupted before, the next one finds the choice
        # changed again and repeats these steps.
        store_counted_attempt(classroom, attempt.student, attempt.lab, choice.name)
        writer.record_submission(attempt, choice.graded)
        result_store.store_result(classroom, attempt, choice.graded, choice.fingerprint)


def _set_auto_score(
    grade: Any,
    points: float,
    result: Result,
    graded_submission: GradedSubmission,
) -> None:
    """Set an answer's automatic score: None until it is graded; 0 for an untouched manual answer."""
    if result.verdict is Verdict.MANUAL:
        grade.auto_score = 0.0 if result.exercise in graded_submission.untouched else None
    elif result.score is None:
        grade.auto_score = None
    else:
        grade.auto_score = result.rescore(points).score


def _withdraw_manual_mark(grade: Any, comment: Any) -> ReplacedAnswerMark | None:
    """Take back the manual mark of an answer that has changed, and return it; None if there was none.

    Parameters
    ----------
    grade, comment : Grade and Comment
        nbgrader's rows for the answer; there may be no comment.
    """
    text = (comment and comment.manual_comment) or ""
    withdrawn = ReplacedAnswerMark(grade.manual_score, text, grade.extra_credit)
    grade.manual_score = grade.extra_credit = None
    if comment:
        comment.manual_comment = None
    if withdrawn.score is None and not text and not withdrawn.extra_credit:
        return None
    return withdrawn


def _restore_manual_mark(grade: Any, comment: Any, mark: ReplacedAnswerMark) -> None:
    """Restore the manual mark of an earlier answer that the student has submitted again."""
    grade.manual_score, grade.extra_credit = mark.score, mark.extra_credit
    if comment:
        comment.manual_comment = mark.comment or None


def _combine_earlier_marks(
    mark: ReplacedAnswerMark, earlier: ReplacedAnswerMark | None
) -> ReplacedAnswerMark:
    """Return the mark to show for earlier answers; an even earlier one's parts fill its gaps."""
    if earlier is None or mark.score is not None:
        return mark
    extra_credit = mark.extra_credit or earlier.extra_credit
    return ReplacedAnswerMark(earlier.score, mark.comment or earlier.comment, extra_credit)


def _auto_comment_text(
    result: Result,
    graded_submission: GradedSubmission,
    earlier_marks: Mapping[str, ReplacedAnswerMark],
) -> str:
    """Return the autograder's comment on one answer as plain text, for nbgrader."""
    text = result.message
    if result.verdict is Verdict.MANUAL:
        text = "No response." if result.exercise in graded_submission.untouched else ""
    elif result.verdict is Verdict.FAULT:
        text = f"Waits for the grader. {text}"
    if result.exercise in earlier_marks:
        text += f" ({describe_earlier_mark(earlier_marks[result.exercise], result.max_score)})"
    return text


def _sync_manual_mark_in_group(
    cell_name: str,
    grades: Mapping[str, Any],
    records: Mapping[str, GradebookRecord],
    notebooks: Mapping[str, Any],
) -> set[str]:
    """Give all members of a group the manual mark and extra credit that one of them has for a cell.

    If the mark that was copied is gone, its copies are removed.

    Parameters
    ----------
    cell_name : str
        The grade_id of the cell.
    grades, records, notebooks : mapping of str to object
        The members' grades of this cell, gradebook records and submitted notebooks, by student.

    Returns
    -------
    set of str
        Students whose gradebook records have changed.
    """
    updates = set()
    # nbgrader keeps the points and the extra credit apart. Each is copied by itself.
    for attribute, key in (("manual_score", cell_name), ("extra_credit", f"{cell_name} extra")):
        originals = {}
        for student, grade in grades.items():
            score = getattr(grade, attribute)
            if score is not None and records[student].shared.get(key) != score:
                originals[student] = score
        scores = set(originals.values())
        if len(scores) > 1:
            continue  # the instructor has given the members different marks
        for student, grade in grades.items():
            score = getattr(grade, attribute)
            if student in originals:
                continue
            if originals and score != min(scores):
                setattr(grade, attribute, min(scores))
                records[student].shared[key] = min(scores)
                updates.add(student)
                source = notebooks[next(iter(originals))]
                _copy_manual_comment_if_none(source, notebooks[student], cell_name)
            elif not originals and score is not None:
                setattr(grade, attribute, None)
                del records[student].shared[key]
                updates.add(student)
            else:
                continue
            if attribute == "manual_score":
                grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
    return updates


def _copy_manual_comment_if_none(source: Any, target: Any, cell: str) -> None:
    """Copy a grader's comment on a notebook cell to a partner who has no comment there.

    A comment that is already on the other partner's cell is kept. An exercise has its mark on the
    test cell, and its comment on the cell of the answer.
    """
    answer_cell = cell.removeprefix("test-")
    comments = {comment.name: comment.manual_comment for comment in source.comments}
    for comment in target.comments:
        if comment.name in (cell, answer_cell) and not comment.manual_comment:
            comment.manual_comment = comments.get(comment.name)
