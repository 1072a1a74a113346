"""Feedback in the forms that platforms take back in bulk: docs/grades.md says where each was taken from.

returned/<lab>-moodle.zip     for "Upload multiple feedback files in a zip"
returned/<lab>-canvas.zip     for "Upload submissions" of the gradebook: notebooks, see `as_notebook`
returned/<lab>/               for the rest: <student>-<lab>.html
returned/term/                <student>-term.html, where the course has a term
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from autograder.authoring.lab import Lab, lab_at
from autograder.authoring.projects import zipped
from autograder.cells import grade_id, id_of, id_of_test
from autograder.errors import counted
from autograder.files import concerns_disk, write
from autograder.grading.intake import Origin
from autograder.grading.marking.sanitise import clean_output, make_output
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.feedback import SECONDS, Sheet, sheet_of
from autograder.grading.reports.marks import Marks, read_marks
from autograder.grading.reports.term import NAME
from autograder.grading.run.grade import described
from autograder.grading.run.limited import NotDone, each
from autograder.grading.run.pool import cores


def write_returns(classroom: Classroom, labs: Sequence[Lab], failed: list[str]) -> Iterator[str]:
    """Write the feedback pages that there are, in the form of the platform each hand-in came from.

    Parameters
    ----------
    failed : list of str
        Whose page could not be given back, and why, is added to it: the others' are.

    Yields
    ------
    str
        What was written, a line each.
    """
    marks = read_marks(classroom, read_policy(classroom.course, {lab.name: lab for lab in labs}))
    yield from _terms(classroom, marks)
    found = evidence.stored(classroom)
    for lab in labs:
        folder = classroom.root / "returned" / lab.name
        shutil.rmtree(folder, ignore_errors=True)
        moodle: dict[str, Callable[[], bytes]] = {}
        canvas: dict[str, Callable[[], bytes]] = {}
        sheets: dict[str, Sheet] = {}
        rest = 0
        for page in classroom.files_in(classroom.feedback, f"*/{lab.name}/{lab.name}.html"):
            student = page.parent.parent.name
            if student in marks.students and marks.students[student].withdrawn:
                continue
            origin = marks.origins.get((student, lab.name), Origin())
            try:
                if name := _in_moodle(origin, student, lab.name):
                    moodle[name] = page.read_bytes
                elif name := _in_canvas(origin):
                    sheets[name] = sheet_of(classroom, lab, student, marks, found.get((student, lab.name)))
                else:
                    write(folder / _file_name(student, lab.name), page.read_bytes())
                    rest += 1
            except Exception as error:
                if concerns_disk(error):
                    raise
                failed.append(f"{student}, {lab.name}: {described(error)}"[:500])
        for name, outcome in _notebooks(classroom, sheets):
            if isinstance(outcome, NotDone):
                failed.append(f"{sheets[name].student}, {lab.name}: {outcome}"[:500])
            else:
                canvas[name] = partial(outcome.encode, "utf-8", "replace")
        for platform, files in (("moodle", moodle), ("canvas", canvas)):
            path = classroom.root / "returned" / f"{lab.name}-{platform}.zip"
            path.unlink(missing_ok=True)
            if files:
                write(path, zipped((name, files[name]()) for name in sorted(files)))
                yield f"{path}: {counted(len(files), 'page')}."
        if rest:
            yield f"{folder}: {counted(rest, 'page')}."


def _terms(classroom: Classroom, marks: Marks) -> Iterator[str]:
    """The pages of the term, which belong to no assignment of a platform: a file a student."""
    folder = classroom.root / "returned" / NAME
    pages = [classroom.term_path(person.student) for person in marks.present]
    pages = [page for page in pages if page.is_file()] if classroom.course.term is not None else []
    if pages:
        shutil.rmtree(folder, ignore_errors=True)
        for page in pages:
            write(folder / _file_name(page.parent.name, NAME), page.read_bytes())
        yield f"{folder}: {counted(len(pages), 'page')}."


def _notebooks(classroom: Classroom, sheets: Mapping[str, Sheet]) -> Iterator[tuple[str, str | NotDone]]:
    """Each page as a notebook, made within limits; without the answers where those go over them."""
    names, course = list(sheets), str(classroom.course.root)
    calls = [(course, one, str(classroom.notebook_path(one.student, one.lab))) for one in sheets.values()]
    made = each(make_notebook, calls, workers=cores(), seconds=SECONDS, plainer=True)
    return ((names[i], outcome) for i, outcome in made)


def make_notebook(course: str, sheet: Sheet, path: str, plain: bool) -> str:
    """One page as a notebook; in a worker, since it touches what a student wrote."""
    notebook = {"cells": []} if plain else json.loads(Path(path).read_bytes())
    return as_notebook(sheet, lab_at(course, sheet.lab), notebook)


def _file_name(whose: str, lab: str) -> str:
    """A page's name; a long one is cut, and told from others by a few digits."""
    name = f"{whose}-{lab}.html"
    if len(name.encode()) <= 200:
        return name
    digest = hashlib.sha256(whose.encode()).hexdigest()[:8]
    return f"{whose.encode()[:120].decode('utf-8', 'ignore')}-{digest}-{lab}.html"


def _in_moodle(origin: Origin, student: str, lab: str) -> str:
    """Where Moodle looks for a participant's file: <name>_<number>_<plugin>_<plugin>/<file>."""
    if origin.platform != "Moodle" or not origin.participant.isdecimal():
        return ""
    # Moodle counts underscores, so the name has none; of a group's one number there is one file.
    name = origin.name.replace("_", " ").replace("/", " ").strip(" .") or "Participant"
    whose = name if len(origin.members) > 1 else student
    return f"{name}_{origin.participant}_assignsubmission_file/{_file_name(whose.replace('/', ' '), lab)}"


def _in_canvas(origin: Origin) -> str:
    """The hand-in's own name in the download, which Canvas reads the person and the upload from."""
    if origin.platform != "Canvas" or not origin.original or not origin.file:
        return ""
    return f"{origin.original}{origin.file}".replace("/", "_")


def as_notebook(sheet: Sheet, lab: Lab, notebook: Mapping[str, Any]) -> str:
    """The page as a notebook.

    Canvas gives a file that comes back the name of the file that was handed in, so a page would be called
    .ipynb and open nowhere.
    """
    cells = {id_of(c): c for c in notebook["cells"]}
    who = f"**{sheet.name}**" if sheet.name == sheet.student else f"**{sheet.name}** ({sheet.student})"
    lines = [f"# {sheet.title}", who, *sheet.facts]
    if sheet.unreadable:
        lines += [f"**This file could not be marked.** {sheet.unreadable}", sheet.total]
    else:
        lines += [f"## {sheet.total}", *sheet.notes]
        for line in sheet.lines:
            think = f" *To think about:* {line.nudge}" if line.nudge else ""
            said = f"\n\n> {line.comment}" if line.comment else ""
            said += "".join(
                f"\n\n> You asked: {one.request}\n>\n> Answer: {one.answer or 'not yet.'}"
                for one in line.requests
            )
            lines.append(f"{line.sign} `{line.name}`: {line.state}, {line.points}. {line.wrong}{think}{said}")
    made = [_markdown("\n\n".join(lines))]
    for line in () if sheet.unreadable else sheet.lines:
        exercise = line.name in lab.exercises
        answer = cells.get(grade_id(line.name) if exercise else line.name)
        if answer is None:
            continue
        made.append(_markdown(f"## {line.name}"))
        source = str(answer.get("source", ""))
        if not exercise:
            made.append(_markdown(source))
            continue
        outputs = [
            clean_output(one, ours=True)
            for one in cells.get(id_of_test(line.name), {}).get("outputs", ())
            if one.get("output_type") != "error"
        ]
        made.append(
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "source": source,
                "outputs": outputs or [make_output("stream", name="stdout", text=f"{line.state}\n")],
            }
        )
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    whole = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    for number, cell in enumerate(made):
        cell["id"] = f"feedback-{number}"
    return str(nbformat.writes(nbformat.from_dict(whole)))


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.replace("<", "&lt;")}
