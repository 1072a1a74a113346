"""`autograder new`: a course or a lab that builds, checks and grades as it stands, to be edited from there."""

import os
import re
import shutil
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from string import Template

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.cells import grade_id, graded
from autograder.course import FILE, Course, read
from autograder.errors import Usage
from autograder.files import write

_TEMPLATES = Path(__file__).parent / "templates"
_LAB = "first-steps"  # the lab of a new course


class SkeletonError(Usage):
    """A skeleton cannot be written; the text says why."""


def write_course(folder: Path) -> None:
    """Write a course with one small lab into a folder that is empty or not there.

    Raises
    ------
    SkeletonError
    """
    if folder.exists() and any(folder.iterdir()):
        raise SkeletonError(f"{folder} is not empty; name a folder that is empty or not there yet.")
    if re.match(r"[-.]", folder.resolve().name):
        raise SkeletonError(
            f"{folder} begins with a sign that commands take for an option; name another folder."
        )
    ident = hyphened(folder.resolve().name) or "course"
    for name in ("course.toml", "nbgrader_config.py", ".gitignore"):
        text = _filled(f"course/{name.lstrip('.')}.txt", id=ident, title=ident.replace("-", " ").capitalize())
        write(folder / name, text)
    write_lab(read(folder), _LAB)


def write_lab(course: Course, name: str, exercise: str = "") -> Path:
    """Write a lab's folder below `solutions/`, and its line into course.toml.

    Parameters
    ----------
    exercise : str, optional
        The name of its exercise; by default one made of the lab's.

    Returns
    -------
    Path
        The lab's folder.

    Raises
    ------
    SkeletonError
        If the name is no name for a lab, or the exercise's none for a function, or there is such a lab.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise SkeletonError(f"{name!r} is no name for a lab: lower-case words with hyphens between them are.")
    if re.fullmatch(r"con|prn|aux|nul|(com|lpt)\d", name):
        raise SkeletonError(f"{name!r} is no name for a lab: Windows cannot have a folder that is called so.")
    folder = course.solutions / name
    if folder.exists() or name in course.labs:
        raise SkeletonError(f"There is a lab {name!r} already; give the new one another name.")
    exercise = exercise or f"mean_of_{name.replace('-', '_')}"
    if not names_exercise(exercise):
        raise SkeletonError(
            f"{exercise!r} is no name for an exercise: a function's name is, without double `_`."
        )
    files = {"lab.toml": "lab.toml", f"{exercise}.py": "exercise.py", "teaching.md": "teaching.md"}
    texts = {file: _filled(f"lab/{of}.txt", exercise=exercise, **_named(name)) for file, of in files.items()}
    add_lab(course, name, {**texts, f"{name}.ipynb": nbformat.writes(_notebook(name, exercise)) + "\n"})
    return folder


def names_exercise(name: str) -> bool:
    """Whether an exercise may be called so."""
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name)) and not iskeyword(name)


def hyphened(name: str) -> str:
    """A name of any kind as one of a course or a lab: lower-case words with hyphens between them."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _named(lab: str) -> dict[str, str]:
    return {"lab": lab, "title": lab.replace("-", " ").capitalize()}


def add_lab(course: Course, name: str, files: Mapping[str, str]) -> None:
    """Write a lab's folder with these files, whole or not at all, and its line into course.toml."""
    folder = course.solutions / name
    beside = folder.with_name(f".{name}.{os.getpid()}")
    try:
        for file, text in files.items():
            write(beside / file, text)
        beside.rename(folder)
        add_to_list(course, "labs", name)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _filled(template: str, **values: str) -> str:
    return Template((_TEMPLATES / template).read_text("utf-8")).substitute(values)


def add_to_list(course: Course, entry: str, name: str) -> None:
    """Add a name to one of the lists in course.toml, as the last one, leaving the rest of the file as it is."""
    path = course.root / FILE
    text = path.read_text("utf-8")
    found = re.search(rf"^{entry}\s*=\s*\[(.*?)\]", text, re.M | re.S)
    if found is None and entry != "labs":
        text = re.sub(
            r"^(labs\s*=\s*\[.*?\][^\n]*\n)", rf"\g<1>{entry} = []\n", text, count=1, flags=re.M | re.S
        )
        found = re.search(rf"^{entry}\s*=\s*\[(.*?)\]", text, re.M | re.S)
    if found is None:
        raise SkeletonError(f"{path} has no line `{entry} = [...]` to which {name!r} could be added.")
    listed = found[1].rstrip()
    comma = "" if not listed.strip() or listed.endswith(",") else ","
    lines = "\n" in found[1]
    added = f'\n    "{name}",\n' if lines else f'{" " if listed.strip() else ""}"{name}"'
    write(path, text[: found.start(1)] + listed + comma + added + text[found.end(1) :])
    read(course.root)


def _notebook(lab: str, exercise: str) -> NotebookNode:
    text = _filled("lab/notebook.txt", exercise=exercise, id=grade_id(exercise), **_named(lab))
    cells = []
    for part in text.split("\n%% ")[1:]:
        head, _, source = part.partition("\n")
        kind, name, *roles = head.split()
        cell = (new_code_cell if kind == "code" else new_markdown_cell)(source.strip("\n"), id=name)
        if "setup" in roles:
            cell.metadata["tags"] = ["setup"]
        elif roles:
            points = 2 if "grade" in roles else None
            cell.metadata["nbgrader"] = graded(name, points, **dict.fromkeys(roles, True))
        cells.append(cell)
    return new_notebook(cells=cells)
