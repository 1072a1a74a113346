"""Write the files of a new course or lab, for `autograder new`.

They can be built, checked and graded without any change.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from keyword import iskeyword
from pathlib import Path
from string import Template

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.core.course import COURSE_FILE, Course, read_course
from autograder.core.errors import UsageError
from autograder.core.files import write_file
from autograder.core.notebook_cells import make_grade_id, make_nbgrader_metadata
from autograder.core.text_format import join_words

_TEMPLATES = Path(__file__).parent / "templates"
_FIRST_LAB = "first-steps"  # the lab of a new course
# What stands in a list of texts in TOML: texts, commas and comments, which may hold brackets.
_LIST_PART = r"""\"[^"\n]*\"|'[^'\n]*'|#[^\n]*|,"""
_LIST_CONTENT = rf"(?:{_LIST_PART}|\s)*"


class SkeletonError(UsageError):
    """Error for a new course or lab that cannot be written. The text says the reason."""


def write_course(folder: Path) -> None:
    """Write a course with one small lab into a folder that is empty or does not exist.

    Raises
    ------
    SkeletonError
        If the folder is not empty, or its name begins with "-" or ".".
    """
    if folder.exists() and any(folder.iterdir()):
        raise SkeletonError(f"{folder} is not empty; name a folder that is empty or not there yet.")
    if re.match(r"[-.]", folder.resolve().name):
        raise SkeletonError(
            f"{folder} begins with a character that commands take for an option; "
            "give the folder another name."
        )
    course_id = hyphenate(folder.resolve().name) or "course"
    title = _make_title(course_id)
    for name in ("course.toml", "nbgrader_config.py", ".gitignore"):
        template = f"course/{name.lstrip('.')}.txt"
        write_file(folder / name, _fill_template(template, id=course_id, title=title))
    write_lab(read_course(folder), _FIRST_LAB)


def write_lab(course: Course, name: str, exercises: Sequence[str] = ()) -> Path:
    """Write a lab's folder below `solutions/` and add the lab to course.toml.

    Parameters
    ----------
    exercises : sequence of str, optional
        Names of the lab's exercises; by default one, with a name made from the lab's name.

    Returns
    -------
    Path
        Folder of the lab.

    Raises
    ------
    SkeletonError
        If the lab exists already, or a name is not allowed for a lab or an exercise.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        rule = "lower-case words with hyphens between them are"
        raise SkeletonError(f"{name!r} is no name for a lab: {rule}.")
    if re.fullmatch(r"con|prn|aux|nul|(com|lpt)\d", name):
        rule = "Windows cannot have a folder that is called so"
        raise SkeletonError(f"{name!r} is no name for a lab: {rule}.")
    folder = course.solutions / name
    if folder.exists() or name in course.labs:
        raise SkeletonError(f"There is a lab {name!r} already; give the new one another name.")
    exercises = list(exercises) or [f"mean_of_{name.replace('-', '_')}"]
    for number, exercise in enumerate(exercises):
        _check_exercise_name(course, exercise)
        if exercise in exercises[:number]:
            raise SkeletonError(
                f"{exercise!r} is named twice; give each exercise a name of its own."
            )
    values = {"exercise": exercises[0], "lab": name, "title": _make_title(name)}
    files = {
        "lab.toml": _fill_template("lab/lab.toml.txt", **values),
        "teaching.md": _fill_template("lab/teaching.md.txt", **values),
        f"{name}.ipynb": _format_notebook(_make_solution_notebook(exercises, values)),
    }
    for exercise in exercises:
        files[f"{exercise}.py"] = _fill_template("lab/exercise.py.txt", exercise=exercise)
    add_lab(course, name, files)
    return folder


def add_exercise(course: Course, lab: str, name: str) -> Path:
    """Add an exercise to a lab: its file, and its cells at the end of the solution notebook.

    The cells come before the lab's last cell if that one shows the progress.

    Returns
    -------
    Path
        File of the exercise.

    Raises
    ------
    SkeletonError
        If there is no such lab, its notebook cannot be read, or the name is not allowed.
    """
    if lab not in course.labs:
        raise SkeletonError(f"There is no lab {lab!r}; there are {join_words(course.labs)}.")
    _check_exercise_name(course, name)
    path = course.solutions / lab / f"{lab}.ipynb"
    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise SkeletonError(f"{path} is no notebook that can be read: {error}") from None
    place = len(notebook.cells)
    if notebook.cells and notebook.cells[-1].source.startswith("progress("):
        place -= 1
    cells_text = _fill_template("lab/exercise_cells.txt", exercise=name, id=make_grade_id(name))
    cells = _parse_cells(cells_text)
    ids = {cell.get("id") for cell in notebook.cells}
    for cell in cells:
        if cell.id in ids:
            raise SkeletonError(
                f"{path} has a cell {cell.id!r} already; give the exercise another name."
            )
    notebook.cells[place:place] = cells
    file = path.with_name(f"{name}.py")
    write_file(file, _fill_template("lab/exercise.py.txt", exercise=name))
    try:
        write_file(path, _format_notebook(notebook))
    except BaseException:
        file.unlink()
        raise
    return file


def _check_exercise_name(course: Course, name: str) -> None:
    """Raise `SkeletonError` if the course cannot have a new exercise of this name."""
    if not is_exercise_name(name):
        raise SkeletonError(
            f"{name!r} is no name for an exercise: a function's name is, without double `_`."
        )
    for path in course.solutions.glob(f"*/{name}.py"):
        raise SkeletonError(
            f"The lab {path.parent.name} has an exercise {name!r} already; give the new one another name."
        )


def is_exercise_name(name: str) -> bool:
    """Return True if the name may be that of an exercise, and so of the students' function."""
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name)) and not iskeyword(name)


def hyphenate(name: str) -> str:
    """Return a name in lower case, with "-" between its words: the form for courses and labs."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _make_title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def add_lab(course: Course, name: str, files: Mapping[str, str]) -> None:
    """Write a lab's folder and add the lab to course.toml.

    If the folder or course.toml cannot be written, no part of the folder is left.

    Parameters
    ----------
    files : mapping of str to str
        Contents of the files, by name.
    """
    folder = course.solutions / name
    work_folder = folder.with_name(f".{name}.{os.getpid()}")
    try:
        for file, text in files.items():
            write_file(work_folder / file, text)
        work_folder.rename(folder)
    except BaseException:
        shutil.rmtree(work_folder, ignore_errors=True)
        raise
    try:
        add_to_course_list(course, "labs", name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # the next try would find a lab of this name
        raise


def _fill_template(template: str, **values: str) -> str:
    return Template((_TEMPLATES / template).read_text("utf-8")).substitute(values)


def add_to_course_list(course: Course, entry: str, name: str) -> None:
    """Append a name to a list in course.toml, and leave the rest of the file unchanged.

    A list that is missing is inserted after the list of labs.

    Parameters
    ----------
    entry : str
        Name of the list, such as "labs" or "pages".

    Raises
    ------
    SkeletonError
        If course.toml has neither this list nor a list of labs.
    """
    path = course.root / COURSE_FILE
    text = path.read_text("utf-8")
    pattern = rf"^{entry}\s*=\s*\[({_LIST_CONTENT})\]"
    match = re.search(pattern, text, re.M)
    if match is None and entry != "labs":
        labs_pattern = rf"^(labs\s*=\s*\[{_LIST_CONTENT}\][^\n]*\n)"
        text = re.sub(labs_pattern, rf"\g<1>{entry} = []\n", text, count=1, flags=re.M)
        match = re.search(pattern, text, re.M)
    if match is None:
        line = f"`{entry} = [...]`"
        raise SkeletonError(f"{path} has no line {line} to which {name!r} could be added.")
    list_text = _append_item(match[1], name)
    write_file(path, text[: match.start(1)] + list_text + text[match.end(1) :])
    read_course(course.root)


def _append_item(content: str, name: str) -> str:
    """Return the text between the brackets of a TOML list with one more item.

    >>> _append_item('"a"', "b")
    '"a", "b"'
    """
    parts = [part for part in re.finditer(_LIST_PART, content) if part[0][0] != "#"]
    if parts and parts[-1][0] != ",":
        # Put the comma right behind the last item: behind a comment it would be part of it.
        end = parts[-1].end()
        content = f"{content[:end]},{content[end:]}"
    items = content.rstrip()
    if "\n" in content:
        return f'{items}\n    "{name}",\n'
    separator = " " if items else ""
    return f'{items}{separator}"{name}"'


def _make_solution_notebook(
    exercises: Sequence[str],
    template_values: Mapping[str, str],
) -> NotebookNode:
    """Return the solution notebook of a new lab from its templates."""
    parts = []
    for name in exercises:
        part = _fill_template("lab/exercise_cells.txt", exercise=name, id=make_grade_id(name))
        parts.append(part.strip("\n"))
    text = _fill_template(
        "lab/notebook.txt",
        exercise_cells="\n".join(parts) + "\n",
        id=make_grade_id(exercises[0]),
        **template_values,
    )
    return new_notebook(cells=_parse_cells(text))


def _parse_cells(text: str) -> list[NotebookNode]:
    """Return the notebook cells that a template describes.

    The text of each cell begins with a line "%% <cell type> <id> <roles>". The roles are "setup" or
    the flags of nbgrader, such as "grade".
    """
    cells = []
    for part in text.split("\n%% ")[1:]:
        header, _, source = part.partition("\n")
        cell_type, name, *roles = header.split()
        new_cell = new_code_cell if cell_type == "code" else new_markdown_cell
        cell = new_cell(source.strip("\n"), id=name)
        if "setup" in roles:
            cell.metadata["tags"] = ["setup"]
        elif roles:
            points = 2 if "grade" in roles else None
            flags = dict.fromkeys(roles, True)
            cell.metadata["nbgrader"] = make_nbgrader_metadata(name, points, **flags)
        cells.append(cell)
    return cells


def _format_notebook(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook) + "\n"
