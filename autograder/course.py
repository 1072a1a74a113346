"""A course: the folder with a course.toml in it, what that file says, and where everything lies.

course.toml                   title, id, labs in order
solutions/<lab>/              the author's side of a lab
notebooks/<lab>/              the student's side: <lab>.ipynb, and the answer key in answers/
notebooks/<page>.ipynb        pages without code that students get beside the labs
classroom/                    a class's hand-ins and marks
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from autograder.errors import Complaint, Usage, listed

FILE = "course.toml"
VARIABLE = "AUTOGRADER_COURSE"  # names the course's folder where the working directory does not
CLASSROOM = "AUTOGRADER_CLASSROOM"  # names the class's folder where it is not classroom/
ANSWERS = "answers"  # the folder of a lab's key, beside its notebook

NUMBER = (int, float)
_FIELDS = {
    "title": str,
    "id": str,
    "labs": list,
    "about": str,
    "library": list,
    "imports": list,
    "data": list,
    "pages": list,
    "policy": dict,
    "lab": dict,
    "term": dict,
    "bundle": dict,
    "criteria": bool,
}


class CourseError(Usage):
    """There is no course here, or its course.toml is not as it should be."""


@dataclass(frozen=True)
class Course:
    """What course.toml says.

    Parameters
    ----------
    root : Path
        The folder that holds it.
    title : str
    id : str
        The name under which nbgrader keeps the course's marks.
    labs : tuple of str
        In the order in which they are taken.
    library : tuple of str
        Packages in `root` that the notebooks import.
    imports : tuple of str
        Other packages that its students have and may import (see `autograder.imports`).
    data : tuple of str
        Folders in `root` that the library reads.
    about : str
        What the start page says of the course: whom it is for, and what they need to know.
    pages : tuple of str
        Files of Markdown in `root`, each of which students get as a notebook beside their start page.
    policy, lab : mapping
        How marks are made of verdicts: for the course, and for single labs by name (see `grading.policy`).
    term : mapping or None
        What the labs come to, for who wants that (see `grading.reports.term`).
    bundle : mapping
        What else the students' zip holds (see `authoring.bundle`).
    criteria : bool
        Whether students may read a question's marking scheme once they have written an answer of their own.
    """

    root: Path
    title: str
    id: str
    labs: tuple[str, ...]
    library: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    about: str = ""
    pages: tuple[str, ...] = ()
    policy: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    lab: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    term: Mapping[str, Any] | None = None
    bundle: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    criteria: bool = False

    @property
    def classroom(self) -> Path:
        """The class's folder that nbgrader's own commands and pages are about."""
        return self.root / (os.environ.get(CLASSROOM) or "classroom")

    @property
    def solutions(self) -> Path:
        """The author's side of all labs."""
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        """The students' side of all labs."""
        return self.root / "notebooks"

    def solution(self, lab: str) -> Path:
        """The solution notebook of a lab."""
        return self.solutions / lab / f"{lab}.ipynb"

    def released(self, lab: str) -> Path:
        """The students' notebook of a lab."""
        return self.notebooks / lab / f"{lab}.ipynb"

    def page(self, name: str) -> Path:
        """The students' notebook of a page."""
        return self.notebooks / f"{Path(name).stem}.ipynb"

    def answers(self, lab: str) -> Path:
        """The folder that holds a lab's answer key."""
        return self.notebooks / lab / ANSWERS

    def with_lab(self, name: str) -> str:
        """The name of a lab of this course; raises `Usage` for any other."""
        if name not in self.labs:
            raise Usage(f"There is no lab {name!r}; the labs are {listed(self.labs)}.")
        return name


def nearest(start: Path | None = None) -> Path | None:
    """The folder of the course named by the environment, or else at or above `start`."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    start = (start or Path.cwd()).resolve()
    return next((folder for folder in (start, *start.parents) if (folder / FILE).is_file()), None)


def find(start: Path | None = None) -> Course:
    """The course that commands are about: see `nearest`.

    Raises
    ------
    CourseError
    """
    folder = nearest(start)
    if folder is None:
        raise CourseError(
            f"There is no {FILE} in {start or Path.cwd()} or above it; go to the course's folder, or name it "
            "with --course."
        )
    return read(folder)


def read(folder: Path) -> Course:
    """The course in a folder.

    Raises
    ------
    CourseError
    """
    path = folder / FILE
    absent = f"so {folder} is no course"
    entries = read_entries(path, _FIELDS, CourseError, required=("title", "id", "labs"), absent=absent)
    for name in ("labs", "library", "imports", "data"):
        strange = [value for value in entries.get(name, ()) if not isinstance(value, str) or "/" in value]
        if strange:
            raise CourseError(f"{path}: {name} holds {strange[0]!r}; a name is due.")
    for name in ("library", "data"):
        for value in entries.get(name, ()):
            if _shows_too_much(folder, value):
                raise CourseError(
                    f"{path}: {name} holds {value!r}, which would show hand-ins the solutions, the notebooks or a "
                    "classroom; name a folder that holds nothing else."
                )
    for name in entries.get("pages", ()):
        if not isinstance(name, str) or not name.endswith(".md") or _leads_out(folder, name):
            raise CourseError(f"{path}: pages holds {name!r}; a file of Markdown of this course is due.")
    labs = entries["labs"]
    if twice := [lab for lab in labs if labs.count(lab) > 1]:
        raise CourseError(f"{path} lists the lab {twice[0]!r} twice.")
    for name in entries.get("lab", ()):
        if name not in labs:
            raise CourseError(f"{path} has a table [lab.{name}], but the labs are {listed(labs)}.")
    names = ("labs", "library", "imports", "data", "pages")
    tuples: dict[str, Any] = {name: tuple(entries.pop(name, ())) for name in names}
    return Course(root=folder.resolve(), **tuples, **entries)


def _shows_too_much(root: Path, name: str) -> bool:
    """Whether a folder holds the course, its solutions, its notebooks or a classroom, or lies in one of these."""
    place = (root / name).resolve()
    return any(place.is_relative_to(kept) or kept.is_relative_to(place) for kept in kept_back(root))


def _leads_out(root: Path, name: str) -> bool:
    """Whether a file lies outside the course, or where students may not look."""
    place = (root / name).resolve()
    return not place.is_relative_to(root.resolve()) or any(map(place.is_relative_to, kept_back(root)))


def kept_back(root: Path) -> list[Path]:
    """The folders of a course that no hand-in may see, and no zip for students holds but by a lab's name."""
    names = ("solutions", "notebooks", "classroom", os.environ.get(CLASSROOM) or "classroom")
    return [(root / name).resolve() for name in dict.fromkeys(names)]


_KINDS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    NUMBER: "a number",
    bool: "true or false",
    datetime: "a date and time, such as 2026-11-20T18:00:00,",
    list: "a list of texts",
    dict: "a table",
}


def read_entries(
    path: Path, fields: Mapping[str, Any], error: type[Complaint], required: Sequence[str], absent: str
) -> dict[str, Any]:
    """What a TOML file holds, which is as `check_entries` has it; `absent` is what it means that there is none."""
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise error(f"There is no file {path}, {absent}.") from None
    except tomllib.TOMLDecodeError as why:
        raise error(f"{path} is not valid TOML: {why}.") from None
    except (OSError, UnicodeDecodeError) as why:
        raise error(f"{path} cannot be read: {why}.") from None
    check_entries(entries, fields, str(path), error, required)
    return entries


def check_entries(
    entries: Mapping[str, Any],
    fields: Mapping[str, Any],
    where: str,
    error: type[Complaint] = CourseError,
    required: Sequence[str] = (),
) -> None:
    """See that a table of a TOML file holds what it should.

    Parameters
    ----------
    fields : mapping of str to type
        What each entry holds that there may be; `NUMBER` for any number.
    where : str
        The file, or the file and the table in it, for the sentence.
    error : type of Complaint
        What is raised where it does not.
    required : sequence of str
        What must be there.
    """
    for name, value in entries.items():
        if name not in fields:
            raise error(f"{where} has an entry {name!r}; the entries are {listed(fields)}.")
        due = fields[name]
        if not isinstance(value, due) or (isinstance(value, bool) and due is not bool):
            raise error(f"{where}: {name} is {value!r}; {_KINDS[due]} is due.")
    if missing := [name for name in required if name not in entries]:
        raise error(f"{where} has no entry {missing[0]!r}.")
