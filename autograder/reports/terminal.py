"""One student's verdicts, messages and marks as text for the terminal (`autograder show`)."""

from collections.abc import Iterable, Iterator, Sequence

from autograder.authoring.lab import Lab, read_labs
from autograder.core.errors import UsageError
from autograder.core.results import Verdict
from autograder.core.rounding import format_points
from autograder.core.text_format import join_words, make_printable
from autograder.gradebook import result_store
from autograder.gradebook.class_list import make_name_sort_key, read_class_list
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradedSubmission, rescore_results
from autograder.intake.names import escape_unprintable
from autograder.reports.marks import ClassMarks, Mark, format_full_name, refresh_and_read_marks
from autograder.reports.safe_html import format_time
from autograder.reports.term import StudentTermResult, compute_terms, read_term_rules

MAX_MATCHES_SHOWN = 5  # students whose names begin as the given one
_SIGNS = {Verdict.PASS: "✓", Verdict.MANUAL: "✎", Verdict.FAULT: "!"}


def describe_student(classroom: Classroom, student: str, labs: Sequence[Lab]) -> str:
    """Return one student's results in the given labs, as text without control characters.

    Parameters
    ----------
    student : str
        Name of the student's folder in the classroom, or the student's full name in the roster, or
        a beginning that no other student's name has.

    Raises
    ------
    UsageError
        If the student has no submission, or several students' names begin so.
    """
    lab_names = [lab.name for lab in labs]
    submissions = set(classroom.list_submissions(lab_names))
    if not any(folder == student for folder, _ in submissions):
        folders = {folder for folder, _ in submissions}
        student = _resolve_student_name(classroom, folders, student)
    submitted_labs = [lab for lab in labs if (student, lab.name) in submissions]
    if not submitted_labs:
        raise UsageError(
            f"There is no submission of {make_printable(student)!r} in {classroom.submitted}; a student is "
            "named as the folder there, or as roster.csv says; the beginning of a name is enough."
        )
    rules = read_term_rules(classroom.course)
    # The result of the term depends on all labs. So read them all, not only those to show.
    course_labs = read_labs(classroom.course, None if rules else lab_names)
    marks = refresh_and_read_marks(classroom, course_labs)
    stored_results = result_store.load_all_results(classroom, student)
    paragraphs = []
    for lab in submitted_labs:
        submission = stored_results.get((student, lab.name))
        if submission is None:
            state = marks.state(student, lab.name)
            paragraphs.append(f"{student}, {lab.name}: {state}; run `autograder grade {lab.name}`.")
        else:
            paragraphs.append("\n".join(_describe_submission(student, lab.name, marks, submission)))
    if rules:
        term = compute_terms(rules, marks).by_student[student]
        paragraphs.append(_describe_term(student, term))
    return make_printable("\n\n".join(paragraphs))


def _resolve_student_name(classroom: Classroom, folders: Iterable[str], name: str) -> str:
    """Return the folder of the student with this full name, or with a name that begins so.

    If no student has such a name, the name itself is returned.

    Raises
    ------
    UsageError
        If the names of several students begin so.
    """
    people = read_class_list(classroom).people
    full_names = {folder: format_full_name(person) for folder, person in people.items()}
    key = make_name_sort_key(name)
    same_name = [folder for folder in full_names if make_name_sort_key(full_names[folder]) == key]
    if len(same_name) == 1:
        return same_name[0]
    matches = []
    for folder in sorted({*folders, *full_names}):
        names = (folder, full_names.get(folder, ""))
        if key and any(make_name_sort_key(text).startswith(key) for text in names):
            matches.append(folder)
    if len(matches) > 1:
        choices = [escape_unprintable(repr(folder)) for folder in matches[:MAX_MATCHES_SHOWN]]
        if len(matches) > MAX_MATCHES_SHOWN:
            choices.append("others")
        raise UsageError(
            f"{make_printable(name)!r} may be {join_words(choices, 'or')}. Name one of these folders."
        )
    return matches[0] if matches else name


def _describe_submission(
    student: str, lab: str, marks: ClassMarks, submission: GradedSubmission
) -> Iterator[str]:
    """Yield the lines of text about one submission."""
    mark = marks.marks.get((student, lab))
    submission_time = ""
    if mark and mark.timestamp:
        submission_time = f", submitted {format_time(marks.policy.to_local_time(mark.timestamp))}"
    yield f"{student}, {lab}{submission_time}"
    for note in (*submission.notes, *submission.log):
        yield f"  Note: {note}"
    requests = marks.regrade_requests.get((student, lab), {})
    for row in rescore_results(submission, marks.policy.points[lab]):
        score = mark.scores.get(row.exercise) if mark else row.score
        points = f"{format_points(score)} of {format_points(row.max_score)}"
        misconception = f" [{row.misconception}]" if row.misconception else ""
        sign = _SIGNS.get(row.verdict, "✗")
        yield f"  {sign} {row.exercise:<28} {points:>9}  {row.verdict}{misconception}"
        if row.verdict not in (Verdict.PASS, Verdict.MANUAL):
            # Print a message in one line. It may quote a student's text, and a line break in it
            # could imitate the autograder's lines about other exercises.
            yield f"      {' '.join(row.message.split())}"
        for request in requests.get(row.exercise, ()):
            yield f"      Asked: {request.text} Answer: {request.answer or 'not yet.'}"
    if mark:
        yield _describe_total_and_open_grading(mark)


def _describe_total_and_open_grading(mark: Mark) -> str:
    total = f"  In all {format_points(mark.rounded_score)} of {format_points(mark.max_score)}"
    if mark.penalty:
        total += f", {format_points(mark.rounded_penalty)} off for lateness"
    if mark.awaiting_manual_count:
        total += f"; {mark.awaiting_manual_count} awaiting manual grading"
    if mark.interrupted:
        total += "; interrupted: run `autograder grade` again"
    return total


def _describe_term(student: str, term: StudentTermResult) -> str:
    result = "nothing counts yet"
    if term.result is not None:
        result = f"{term.result} of 100"
        if term.grade:
            result += f", grade {term.grade}"
    if term.awaits_grading:
        result += "; a lab awaits grading"
    return f"{student}, the term so far: {result}"
