"""Read the settings of a course from its file course.toml, and locate the course's files.

course.toml                   settings: title, id, names of the labs and so on
solutions/<lab>/              a lab's solution notebook and exercises, for the course's author
notebooks/<lab>/              a lab's notebook for students, and its answer key in answers/
notebooks/<page>.ipynb        a page of text without code, for students
classroom/                    submissions and marks of a class
"""

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from autograder.core.errors import AutograderError, UsageError
from autograder.core.text_format import format_name_suggestion, join_words

COURSE_FILE = "course.toml"
COURSE_VARIABLE = "AUTOGRADER_COURSE"  # environment variable with the path of the course's folder
CLASSROOM_VARIABLE = "AUTOGRADER_CLASSROOM"  # the same for the folder of a class
LAB_FILE = "lab.json"  # file in a lab's answer key that describes the lab
ANSWER_KEYS_FOLDER = "answers"  # folder beside a lab's notebook that holds the lab's answer key

NUMBER = (int, float)
_COURSE_FIELDS = {
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


class CourseError(UsageError):
    """Error for a missing course, or for a mistake in its course.toml."""


@dataclass(frozen=True)
class Course:
    """Settings of a course, from its course.toml.

    Parameters
    ----------
    root : Path
        The folder that holds course.toml.
    id : str
        The course's name in nbgrader's database.
    labs : tuple of str
        Names of the labs in teaching order.
    library : tuple of str
        The course's own packages in `root`, which the notebooks import.
    imports : tuple of str
        Further installed packages that students may import (see `autograder.core.import_guard`).
    data : tuple of str
        Folders in `root` with data that the course's own packages read.
    about : str
        Description of the course on the start page: audience and prerequisites.
    pages : tuple of str
        Markdown files in `root`. Students get each as a notebook beside the start page.
    policy : mapping
        Rules that turn verdicts into marks, for all labs (see `autograder.gradebook.policy`).
    lab : mapping
        Such rules for single labs, by the name of the lab.
    term : mapping or None
        Rules for a total mark of the whole term, if there is one (see `autograder.reports.term`).
    bundle : mapping
        Additional content of the zip for students (see `autograder.authoring.bundle`).
    criteria : bool
        True if students may read the marking scheme of a manually graded question once they have
        written an answer.
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
        """The folder of the class that nbgrader's own commands and web pages use."""
        return self.root / (os.environ.get(CLASSROOM_VARIABLE) or "classroom")

    @property
    def solutions(self) -> Path:
        """The folder with the solutions of all labs."""
        return self.root / "solutions"

    @property
    def notebooks(self) -> Path:
        """The folder with the students' notebooks of all labs."""
        return self.root / "notebooks"

    def solution_notebook_path(self, lab: str) -> Path:
        """Return the path of a lab's solution notebook."""
        return self.solutions / lab / f"{lab}.ipynb"

    def released_notebook_path(self, lab: str) -> Path:
        """Return the path of a lab's notebook for students."""
        return self.notebooks / lab / f"{lab}.ipynb"

    def page_notebook_path(self, name: str) -> Path:
        """Return the path of the notebook that is made from a Markdown page of the course."""
        return self.notebooks / f"{Path(name).stem}.ipynb"

    def answer_key_folder(self, lab: str) -> Path:
        """Return the folder of a lab's answer key: test cases and expected results for `check`."""
        return self.notebooks / lab / ANSWER_KEYS_FOLDER

    def require_lab(self, name: str) -> str:
        """Return `name` if it is the name of a lab of this course; raise `UsageError` otherwise."""
        if name not in self.labs:
            raise UsageError(f"There is no lab {name!r}; the labs are {join_words(self.labs)}.")
        return name


def find_course_folder(start: Path | None = None) -> Path | None:
    """Return the folder of the course, the nearest one above with a course.toml; None if none has.

    It is the folder in the environment variable AUTOGRADER_COURSE, else the nearest folder with a
    course.toml among `start` (by default the working directory) and the folders above it.
    """
    folder_in_environment = os.environ.get(COURSE_VARIABLE)
    if folder_in_environment:
        return Path(folder_in_environment)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / COURSE_FILE).is_file():
            return folder
    return None


def list_answer_key_folders() -> list[Path]:
    """Return the folders that may hold answer keys (test cases with their expected results).

    Students' checks compare with them.

    Inside a course there is one for each lab. Outside of a course, they are the folders `answers`
    in the working directory, in its subfolders and in the folders beside it.
    """
    root = find_course_folder()
    if root is not None:
        # A check asks for these folders several times, and parsing course.toml takes milliseconds.
        try:
            settings = (root / COURSE_FILE).read_bytes()
        except OSError:
            settings = b""  # read_course says what is wrong
        labs = _list_labs(root, settings)
        return [root / "notebooks" / lab / ANSWER_KEYS_FOLDER for lab in labs]
    current = Path.cwd()
    return [
        current / ANSWER_KEYS_FOLDER,
        *sorted(current.glob(f"*/{ANSWER_KEYS_FOLDER}")),
        *sorted(current.parent.glob(f"*/{ANSWER_KEYS_FOLDER}")),
    ]


@cache
def _list_labs(root: Path, settings: bytes) -> tuple[str, ...]:
    """Return the labs of a course; `settings`, the bytes of course.toml, change when it is edited."""
    return read_course(root).labs


def find_course(start: Path | None = None) -> Course:
    """Read the settings of the course in whose folder (or one of its subfolders) `start` lies.

    Raises
    ------
    CourseError
        If there is no course, or its course.toml has a mistake.
    """
    folder = find_course_folder(start)
    if folder is None:
        raise CourseError(
            f"There is no {COURSE_FILE} in {start or Path.cwd()} or above it; go to the course's "
            "folder, or name it with --course."
        )
    return read_course(folder)


def read_course(folder: Path) -> Course:
    """Read a course's settings from the course.toml in its folder.

    Raises
    ------
    CourseError
        If the folder's course.toml is missing or has a mistake.
    """
    path = folder / COURSE_FILE
    entries = read_toml(
        path,
        _COURSE_FIELDS,
        CourseError,
        required=("title", "id", "labs"),
        consequence=f"so {folder} is no course",
    )
    _check_names(path, entries)
    _check_folders_and_pages_are_public(path, entries)
    _check_lab_list(path, entries)
    list_fields = ("labs", "library", "imports", "data", "pages")
    tuples: dict[str, Any] = {name: tuple(entries.pop(name, ())) for name in list_fields}
    return Course(root=folder.resolve(), **tuples, **entries)


def _check_names(path: Path, entries: Mapping[str, Any]) -> None:
    for field_name in ("labs", "library", "imports", "data"):
        for value in entries.get(field_name, ()):
            if not isinstance(value, str) or "/" in value:
                raise CourseError(f"{path}: {field_name} holds {value!r}; expected a name.")


def _check_folders_and_pages_are_public(path: Path, entries: Mapping[str, Any]) -> None:
    """Raise CourseError if course.toml would give students private files, such as solutions."""
    for field_name in ("library", "data"):
        for value in entries.get(field_name, ()):
            if _overlaps_private_folder(path.parent, value):
                raise CourseError(
                    f"{path}: {field_name} holds {value!r}, which would show submissions "
                    "the solutions, the notebooks or a classroom; name a folder that holds nothing "
                    "else."
                )
    for page in entries.get("pages", ()):
        is_markdown = isinstance(page, str) and page.endswith(".md")
        if not is_markdown or _is_outside_or_private(path.parent, page):
            expected = "a Markdown file of this course"
            raise CourseError(f"{path}: pages holds {page!r}; expected {expected}.")


def _check_lab_list(path: Path, entries: Mapping[str, Any]) -> None:
    labs = entries["labs"]
    for lab in labs:
        if labs.count(lab) > 1:
            raise CourseError(f"{path} lists the lab {lab!r} twice.")
    for lab in entries.get("lab", ()):
        if lab not in labs:
            names = join_words(labs)
            raise CourseError(f"{path} has a table [lab.{lab}], but the labs are {names}.")


def _overlaps_private_folder(root: Path, name: str) -> bool:
    """Return True if a folder contains a private folder of the course, or lies in one."""
    folder = (root / name).resolve()
    private = list_private_folders(root)
    return any(
        folder.is_relative_to(private_folder) or private_folder.is_relative_to(folder)
        for private_folder in private
    )


def _is_outside_or_private(root: Path, name: str) -> bool:
    """Return True if a file lies outside of the course or in one of `list_private_folders`."""
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()):
        return True
    return any(map(path.is_relative_to, list_private_folders(root)))


def list_private_folders(root: Path) -> list[Path]:
    """Return the course's private folders, which no submission may read, such as solutions.

    The zip for students may hold files of these folders only if course.toml names their lab.
    """
    classroom = os.environ.get(CLASSROOM_VARIABLE) or "classroom"
    names = ("solutions", "notebooks", "classroom", classroom)
    return [(root / name).resolve() for name in dict.fromkeys(names)]


_TYPE_DESCRIPTIONS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    NUMBER: "a number",
    bool: "true or false",
    date: "a date with a time or without, such as 2026-11-20T18:00:00 or 2026-11-20",
    list: "a list of texts",
    dict: "a table",
}


def read_toml(
    path: Path,
    fields: Mapping[str, Any],
    error: type[AutograderError],
    required: Sequence[str],
    consequence: str,
) -> dict[str, Any]:
    """Read a TOML file and check its entries with `check_toml_entries`.

    Parameters
    ----------
    consequence : str
        End of the error sentence for a missing file: "There is no file x, <consequence>."
    """
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise error(f"There is no file {path}, {consequence}.") from None
    except tomllib.TOMLDecodeError as parse_error:
        raise error(f"{path} is not valid TOML: {parse_error}.") from None
    except (OSError, UnicodeDecodeError) as read_error:
        raise error(f"{path} cannot be read: {read_error}.") from None
    check_toml_entries(entries, fields, str(path), error, required)
    return entries


def check_toml_entries(
    entries: Mapping[str, Any],
    fields: Mapping[str, Any],
    location: str,
    error: type[AutograderError] = CourseError,
    required: Sequence[str] = (),
) -> None:
    """Check that a table of a TOML file has the required entries, each known and of the right type.

    Parameters
    ----------
    fields : mapping of str to type
        The possible names of entries, and their types; `NUMBER` stands for any number.
    location : str
        Name of the file, and of the table in it, for the error sentence.
    error : type of AutograderError
        Exception to raise if an entry is unknown or missing, or has a wrong type.
    required : sequence of str
        Names of the entries that must be present.
    """
    for name, value in entries.items():
        if name not in fields:
            raise error(
                f"{location} has an unknown entry {name!r}{format_name_suggestion(name, fields)} "
                f"The entries are {join_words(fields)}."
            )
        expected_type = fields[name]
        is_unexpected_bool = isinstance(value, bool) and expected_type is not bool
        if not isinstance(value, expected_type) or is_unexpected_bool:
            description = _TYPE_DESCRIPTIONS[expected_type]
            raise error(f"{location}: {name} is {value!r}; expected {description}.")
    for name in required:
        if name not in entries:
            raise error(f"{location} has no entry {name!r}.")
