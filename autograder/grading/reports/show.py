"""One student's verdicts, messages and marks, for the terminal. It reads what is kept, and runs nothing."""

from collections.abc import Sequence

from autograder.authoring.lab import Lab, read_labs
from autograder.errors import Usage, printable
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.roll import alphabetical, read_roll
from autograder.grading.reports.marks import class_today, full_name
from autograder.grading.reports.shown import moment
from autograder.grading.reports.term import read_rules, terms_of
from autograder.grading.run.grade import priced
from autograder.results import Verdict

_SIGNS = {Verdict.PASS: "✓", Verdict.MANUAL: "✎", Verdict.FAULT: "!"}


def describe_student(classroom: Classroom, student: str, labs: Sequence[Lab]) -> str:
    """What is known of one student's hand-ins, as text without control characters.

    Raises
    ------
    Usage
        If there is no hand-in of theirs.
    """
    there = set(classroom.handed_in([lab.name for lab in labs]))
    roll = read_roll(classroom)
    if not any(who == student for who, _ in there):  # it may be the name that the roster has
        called = [
            who
            for who, person in roll.people.items()
            if alphabetical(full_name(person)) == alphabetical(student)
        ]
        student = called[0] if len(called) == 1 else student
    handed_in = [lab for lab in labs if (student, lab.name) in there]
    if not handed_in:
        raise Usage(
            f"There is no hand-in of {printable(student)!r} in {classroom.submitted}; a student is named as the "
            "folder there, or as roster.csv says."
        )
    rules = read_rules(classroom.course)
    names = None if rules else [lab.name for lab in labs]
    marks = class_today(classroom, read_labs(classroom.course, names))
    found = evidence.stored(classroom, student)
    parts = []
    for lab in handed_in:
        marked, mark = found.get((student, lab.name)), marks.marks.get((student, lab.name))
        if marked is None:
            parts.append(
                f"{student}, {lab.name}: {marks.state(student, lab.name)}; run `autograder grade {lab.name}`."
            )
            continue
        lines = [f"{student}, {lab.name}"]
        if mark and mark.timestamp:
            lines[0] += f", handed in {moment(marks.policy.local(mark.timestamp))}"
        lines += [f"  Note: {note}" for note in (*marked.notes, *marked.log)]
        for row in priced(marked, marks.policy.points[lab.name]):
            score = mark.scores.get(row.exercise) if mark else row.score
            points = f"{'–' if score is None else f'{score:g}'} of {row.max_score:g}"
            name = f" [{row.misconception}]" if row.misconception else ""
            lines.append(
                f"  {_SIGNS.get(row.verdict, '✗')} {row.exercise:<28} {points:>9}  {row.verdict}{name}"
            )
            if row.verdict not in (Verdict.PASS, Verdict.MANUAL):
                # In one line: the name of an exception, which students choose, may hold lines like these.
                lines.append(f"      {' '.join(row.message.split())}")
            for one in marks.requests.get((student, lab.name), {}).get(row.exercise, ()):
                lines.append(f"      Asked: {one.request} Answer: {one.answer or 'not yet.'}")
        if mark:
            waiting = f"; {mark.awaits} to be marked by hand" if mark.awaits else ""
            waiting += "; interrupted: run `autograder grade` again" if mark.interrupted else ""
            late = f", {mark.penalty:g} off for lateness" if mark.penalty else ""
            lines.append(f"  In all {mark.score:g} of {sum(mark.points.values()):g}{late}{waiting}")
        parts.append("\n".join(lines))
    if rules:
        term = terms_of(rules, marks).of[student]
        grade = f", grade {term.grade}" if term.grade else ""
        so_far = "nothing counts yet" if term.result is None else f"{term.result} of 100{grade}"
        parts.append(
            f"{student}, the term so far: {so_far}{'; a lab waits to be marked' if term.waits else ''}"
        )
    return printable("\n\n".join(parts))
