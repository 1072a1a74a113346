"""Manage a student's folder: copy labs, update and reset the copies, show the progress."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.core.course import ANSWER_KEYS_FOLDER, Course, find_course
from autograder.core.errors import UsageError
from autograder.core.files import read_json, write_file
from autograder.core.notebook_cells import (
    NOTEBOOK_METADATA,
    get_cell_source,
    get_grade_id,
    make_grade_id,
    make_test_grade_id,
)
from autograder.core.text_format import join_words
from autograder.student import answer_key, update

START_PAGE = "README.ipynb"

_INTRODUCTION = """\
Each lab is a notebook: read, fill in the cells marked `# YOUR CODE HERE`, and run the `check(...)`
cell below each. It tells you what kind of mistake it sees. Start at the top; the first lines of
each lab say what it builds on.
"""


class WorkspaceError(UsageError):
    """A lab cannot be copied, updated or reset; the text says why and what to do."""


@dataclass(frozen=True)
class LabProgress:
    """A student's progress in one lab, read from the saved notebook.

    Parameters
    ----------
    minutes : int
        Approximate working time of the whole lab.
    passed_count : int
        Number of exercises whose check has passed in the saved notebook.
    exercise_count : int
        Number of all exercises of the lab.
    unanswered_count : int
        Number of questions to be answered in words that have no answer yet.
    is_outdated : bool
        True if the course has changed the lab's notebook since the student's copy was made.
    """

    lab: str
    title: str
    difficulty: str
    minutes: int
    passed_count: int
    exercise_count: int
    unanswered_count: int = 0
    is_outdated: bool = False

    @property
    def is_done(self) -> bool:
        """True if all exercises have passed and all questions in words are answered."""
        return self.passed_count == self.exercise_count and not self.unanswered_count


def copy_labs(folder: Path, course: Course) -> list[str]:
    """Copy the labs that a student's folder does not hold yet, and update its start page.

    Existing notebooks stay as they are. If the folder lies outside of the course's folder, the
    answer keys are copied as well, since the notebooks could not find them otherwise.

    Returns
    -------
    list of str
        The labs that were copied.
    """
    new_labs = []
    is_outside_course = not folder.resolve().is_relative_to(course.root)
    for lab in course.labs:
        source = course.released_notebook_path(lab)
        target = folder / lab / f"{lab}.ipynb"
        if not source.is_file():
            continue
        if not target.exists():
            write_file(target, source.read_bytes())
            new_labs.append(lab)
        # Save the notebook as it was handed out, if that was not done. If the course has changed
        # the lab since, it is too late.
        has_record = update.find_handed_out_path(target).is_file()
        needs_record = not has_record and not update.find_sections_changed_by_course(target, source)
        if lab in new_labs or needs_record:
            update.save_handed_out(target, source.read_bytes())
        if is_outside_course:
            for path in course.answer_key_folder(lab).iterdir():
                write_file(folder / lab / ANSWER_KEYS_FOLDER / path.name, path.read_bytes())
    for page in course.pages:
        source = course.page_notebook_path(page)
        target = folder / source.name
        if source.is_file() and not target.exists():
            write_file(target, source.read_bytes())
    _update_start_page(folder, course)
    return new_labs


def find_outdated_labs(folder: Path, course: Course) -> dict[str, list[str]]:
    """Return the labs that the course has changed since they were copied to the student's folder.

    The values are the headings of the changed sections.
    """
    outdated_labs = {}
    for lab in course.labs:
        course_notebook = course.released_notebook_path(lab)
        headings = update.find_sections_changed_by_course(
            folder / lab / f"{lab}.ipynb", course_notebook
        )
        if headings:
            outdated_labs[lab] = headings
    return outdated_labs


def read_lab_progress(folder: Path) -> list[LabProgress]:
    """Read a student's progress in each lab of a folder, in the course's order."""
    labs = []
    for lab, key in answer_key.load_lab_descriptions().items():
        path = folder / lab / f"{lab}.ipynb"
        if not path.is_file():
            continue
        tests = {make_test_grade_id(name) for name in key.points}
        # A student may have copied a cell: its copies count once.
        passed, unanswered = set(), set()
        for cell in read_cells(path):
            name = get_grade_id(cell)
            if name in tests and _has_passed(cell):
                passed.add(name)
            if name in key.by_hand and is_unanswered(cell):
                unanswered.add(name)
        course_notebook = key.folder.parent / path.name
        labs.append(
            LabProgress(
                lab=lab,
                title=key.title,
                difficulty=key.difficulty,
                minutes=key.minutes,
                passed_count=len(passed),
                exercise_count=len(key.points),
                unanswered_count=len(unanswered),
                is_outdated=bool(update.find_sections_changed_by_course(path, course_notebook)),
            )
        )
    return labs


def overview(folder: str | Path = ".") -> None:
    """Show which lab comes next, how long each takes, and how far you are in the saved notebooks.

    Parameters
    ----------
    folder : path
        The folder that holds the labs; the current folder by default.
    """
    from IPython.display import Markdown, display

    labs = read_lab_progress(Path(folder))
    if labs:
        display(Markdown(_render_progress_table(labs)))
        return
    path = Path(folder).resolve()
    hint = "Open the start page, README.ipynb."
    if read_lab_progress(path.parent):
        hint = 'They are in the folder above: overview("..").'
    print(f"There are no labs in {path}: overview() shows those in the folders below it. {hint}")


def update_student_notebook(path: Path, course: Course | None = None) -> tuple[list[str], Path]:
    """Update a student's copy of a lab to the course's present text; answers and own cells stay.

    Returns
    -------
    list of str, Path
        The headings of the changed sections, and the backup of the old version. If nothing has
        changed, an empty list and `path`.

    Raises
    ------
    WorkspaceError
        If the copy is not one of the labs, or cannot be read.
    """
    source = _find_released_notebook(path, course or find_course())
    headings = update.find_sections_changed_by_course(path, source)
    if not headings:
        return [], path
    student = update.read_notebook(path)
    new = update.read_notebook(source)
    if student is None or new is None:
        command = f"autograder reset {path}"
        raise WorkspaceError(
            f"{path} cannot be read as a notebook; `{command}` brings its first version back."
        )
    old = update.read_notebook(update.find_handed_out_path(path))
    merged_notebook = update.merge_update(student, old, new)
    backup = _back_up_notebook(path, "update")
    _write_notebook(path, merged_notebook)
    update.save_handed_out(path, source.read_bytes())
    return headings, backup


def reset_copy(
    path: Path, exercise: str | None = None, course: Course | None = None
) -> Path | None:
    """Reset a lab, or one exercise, to the state that was handed out; keep a backup beside it.

    Parameters
    ----------
    path : Path
        The student's notebook.
    exercise : str, optional
        The exercise to reset; the whole lab by default.

    Returns
    -------
    Path or None
        The backup of the old version; None if there was nothing to reset.

    Raises
    ------
    WorkspaceError
        If the copy is not one of the labs, cannot be read, or the exercise does not exist.
    """
    source = _find_released_notebook(path, course or find_course())
    notebook = json.loads(source.read_text("utf-8"))
    if exercise is not None:
        notebook = _restore_exercise_cell(path, exercise, notebook)
    if notebook == read_json(path):
        return None
    backup = _back_up_notebook(path, "reset")
    _write_notebook(path, notebook)
    if exercise is None:
        update.save_handed_out(path, source.read_bytes())
    return backup


def _restore_exercise_cell(
    path: Path,
    exercise: str,
    released_notebook: update.Notebook,
) -> update.Notebook:
    """Return a student's notebook in which one exercise's cell is as it was handed out."""
    lab = path.stem
    name = make_grade_id(exercise)
    stubs = {get_grade_id(cell): cell for cell in released_notebook["cells"]}
    if name not in stubs:
        exercises = []
        for stub in stubs:
            if stub.startswith("test-"):
                exercises.append(stub.removeprefix("test-").replace("-", "_"))
        raise WorkspaceError(
            f"{lab} has no exercise {exercise!r}; its exercises are {join_words(exercises)}."
        )
    notebook = update.read_notebook(path)
    if notebook is None:
        remedy = "bring the whole lab back instead"
        raise WorkspaceError(f"{path} cannot be read as a notebook; {remedy}.")
    if name not in map(get_grade_id, notebook["cells"]):
        # The student has deleted the exercise's cell. Merging with the course's notebook puts it
        # back into its place.
        notebook = update.merge_update(notebook, released_notebook, released_notebook)
    index = [get_grade_id(cell) for cell in notebook["cells"]].index(name)
    notebook["cells"][index] = stubs[name]
    return notebook


def _find_released_notebook(path: Path, course: Course) -> Path:
    """Return the path of the course's notebook for the lab that a student's notebook belongs to.

    Raise `WorkspaceError` if the student's notebook is missing, or is not one of the labs.
    """
    source = course.released_notebook_path(path.stem)
    if not path.is_file():
        raise WorkspaceError(f"There is no notebook {path}.")
    if path.stem not in course.labs or not source.is_file():
        reason = f"is not one of the labs ({join_words(course.labs)})"
        raise WorkspaceError(f"{path.name} {reason}, so it has no first version.")
    return source


def _back_up_notebook(path: Path, command: str) -> Path:
    """Back up a notebook beside itself before a command changes it, and return the backup's path.

    The backup is named `<lab>.before-<command>-<time>.ipynb`.
    """
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S-%f")
    backup = path.with_name(f"{path.stem}.before-{command}-{stamp}.ipynb")
    shutil.copy2(path, backup)
    return backup


def _update_start_page(folder: Path, course: Course) -> None:
    """Write the start page of a student's folder, unless the student has changed the page."""
    path = folder / START_PAGE
    page = _make_start_page(read_lab_progress(folder), course, folder)
    record = folder / update.HANDED_OUT_FOLDER / "start-page.json"  # the page as last written
    if path.exists():
        current_page = update.read_notebook(path)
        if not current_page:
            return
        expected_texts = [_comparable_texts(page)]
        recorded_page = update.read_notebook(record)
        expected_texts.append(_comparable_texts(recorded_page) if recorded_page else [])
        if _comparable_texts(current_page) not in expected_texts:
            return
    _write_notebook(path, page)
    cells = [{"source": cell["source"]} for cell in page["cells"]]
    write_file(record, json.dumps({"cells": cells}))


def _comparable_texts(page: update.Notebook) -> list[str]:
    """Return the texts of a start page's cells, which tell whether a student has changed the page.

    The lists of pages and labs are left out, because they change with the course.
    """
    lists = r"\n((\d+\. \[.*\]\(\S+\.ipynb\), about \d+ minutes, .*|Beside the labs: .*)\n)+"
    return [re.sub(lists, "", get_cell_source(cell)) for cell in page["cells"]]


def _make_start_page(labs: Sequence[LabProgress], course: Course, folder: Path) -> update.Notebook:
    lines = [f"# {course.title}", ""]
    if course.about:
        lines += [course.about, ""]
    lines.append(_INTRODUCTION)
    for name in course.pages:
        page = folder / course.page_notebook_path(name).name
        if page.is_file():
            lines.append(f"Beside the labs: [{_read_title(page)}]({page.name}).")
    if course.pages:
        lines.append("")
    action = "Run the next cell (Shift+Enter) to see how far you are."
    lines.append(f"{action} It reads the saved notebooks.")
    table = {
        "text/markdown": _render_progress_table(labs),
        "text/plain": "A table of the labs and how far each is.",
    }
    return {
        "cells": [
            {
                "cell_type": "markdown",
                "id": "start",
                "metadata": {},
                "source": "\n".join(lines),
            },
            {
                "cell_type": "code",
                "id": "overview",
                "metadata": {},
                "execution_count": None,
                "source": "from autograder import overview\n\noverview()",
                "outputs": [{"output_type": "display_data", "data": table, "metadata": {}}],
            },
        ],
        "metadata": NOTEBOOK_METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _read_title(page: Path) -> str:
    """Read the title of a page: its first line, or the name of the file if that line is empty."""
    cells = read_cells(page)
    first_line = get_cell_source(cells[0]).partition("\n")[0] if cells else ""
    return first_line.lstrip("# ") or page.stem


def _render_progress_table(labs: Sequence[LabProgress]) -> str:
    """Return a Markdown table with a row for each lab; the first unfinished one is marked."""
    lines = ["| state | lab | time | difficulty | exercises right |", "|---|---|---|---|---|"]
    has_next = False
    for lab in labs:
        state = ""
        if lab.is_done:
            state = "done"
        elif not has_next:
            state = "**next**"
            has_next = True
        lines.append(_render_progress_row(lab, state))
    if any(lab.is_outdated for lab in labs):
        action = "`autograder update` with the path of a lab takes a newer text over"
        lines += ["", f"{action}; your answers stay."]
    return "\n".join(lines)


def _render_progress_row(lab: LabProgress, state: str) -> str:
    link = f"[{lab.title}]({lab.lab}/{lab.lab}.ipynb)"
    if lab.is_outdated:
        link += " (there is a newer text)"
    bar = "●" * lab.passed_count + "○" * (lab.exercise_count - lab.passed_count)
    right = f"{bar} {lab.passed_count} of {lab.exercise_count}"
    if lab.unanswered_count:
        right += f", and {lab.unanswered_count} to explain in words"
    return f"| {state} | {link} | {lab.minutes} min | {lab.difficulty} | {right} |"


def read_cells(path: Path) -> list[dict]:
    """Return the cells of a saved notebook; an empty list if it cannot be read."""
    notebook = update.read_notebook(path)
    return notebook["cells"] if notebook else []


def is_unanswered(cell: dict) -> bool:
    """Return True if the answer cell of a question is empty or still holds its placeholder."""
    source = get_cell_source(cell)
    return not source.strip() or "YOUR ANSWER HERE" in source


def _has_passed(test_cell: dict) -> bool:
    """Return True if a test cell in a saved notebook has run without an error."""
    outputs = test_cell.get("outputs") or []
    return bool(outputs) and all(output.get("output_type") != "error" for output in outputs)


def _write_notebook(path: Path, notebook: update.Notebook) -> None:
    write_file(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
