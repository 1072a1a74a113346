"""What a hand-in did, found once and kept: until its bytes change, or something that decides its lab's verdicts.

    results/<student>/<lab>.json         the verdicts, what was odd, a hash of each answer
    autograded/<student>/<lab>/          the executed notebook (nbgrader's own folder)

What decides the verdicts of a lab is hashed by folders: the lab's own, the engine's judging parts, and the
modules of the course's library that the lab's files import. Points, comments and prose decide none.
"""

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from glob import escape
from importlib import metadata
from pathlib import Path

import autograder
from autograder.authoring.lab import Lab
from autograder.cells import id_of
from autograder.files import write
from autograder.grading.marking import Marked
from autograder.grading.register.classroom import Classroom, Submission

VERSION = 4

_ENGINE = Path(autograder.__file__).parent
_JUDGING = ("judging", "grading/marking", "grading/sandbox")  # folders of the engine that decide verdicts
_PINS = ("numpy", "ipython", "keras")  # packages whose versions can change what an answer gives


def kept(classroom: Classroom, submission: Submission, lab: Lab, follow_through: bool) -> Marked | None:
    """What an earlier run found, if neither the hand-in nor what decides its verdicts has changed since.

    Its notebook is empty: see `Classroom.autograded`.
    """
    path = classroom.result_path(submission.student, submission.lab)
    try:
        record = json.loads(path.read_text("utf-8"))
        if record["version"] != VERSION or record["hash"] != fingerprint(submission, lab, follow_through):
            return None
        return Marked.from_facts(record).of(submission.student)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def keep(
    classroom: Classroom, submission: Submission, marked: Marked, lab: Lab, follow_through: bool
) -> None:
    """Store what marking found: first the executed notebook, since nothing is kept without it."""
    keep_notebook(classroom, submission, marked)
    record = {
        "version": VERSION,
        "hash": fingerprint(submission, lab, follow_through),
        **marked.facts(),
    }
    write(classroom.result_path(submission.student, submission.lab), json.dumps(record, ensure_ascii=False))


def keep_notebook(classroom: Classroom, submission: Submission, marked: Marked) -> None:
    """Store the executed notebook where nbgrader looks for it."""
    path = classroom.notebook_path(submission.student, submission.lab)
    write(path, json.dumps(marked.notebook, ensure_ascii=False))


def stored(classroom: Classroom, student: str | None = None) -> Iterator[tuple[str, str, Marked | None]]:
    """(student, lab, what was found) of every kept result whose hand-in is still there; None if unreadable.

    Of one student only, if one is named.
    """
    folder = "*" if student is None else escape(student)
    for path in sorted(classroom.results.glob(f"{folder}/*.json")):
        student, lab = path.parent.name, path.stem
        if not (classroom.submitted / student / lab).exists():
            continue
        try:
            yield student, lab, Marked.from_facts(json.loads(path.read_text("utf-8"))).of(student)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            yield student, lab, None


def fingerprint(submission: Submission, lab: Lab, follow_through: bool) -> str:
    """What verdicts depend on, hashed: the hand-in's bytes, the lab, and how it is marked."""
    parts = [
        submission.data if submission.data is not None else b"",
        submission.why.encode("utf-8", "replace"),
        lab_fingerprint(lab).encode(),
        str(follow_through).encode(),
    ]
    return hashlib.sha256(b"\0".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


@cache
def lab_fingerprint(lab: Lab) -> str:
    """A hash of everything that decides a lab's verdicts."""
    digest = hashlib.sha256(f"{VERSION} {sys.version_info[:2]}".encode())
    for package in _PINS:
        digest.update(_version(package).encode())
    for part in [*_notebook(lab), str(lab.preload), str(sorted(lab.limits.items()))]:
        digest.update(b"\0" + part.encode())
    for path in [*_code(lab), *_engine()]:
        digest.update(b"\0" + path.name.encode() + b"\0" + _meaning(path).encode())
    return digest.hexdigest()


def _notebook(lab: Lab) -> Iterator[str]:
    """The cells of a solution that marking uses: those that nbgrader knows, and the code between them."""
    for cell in lab.read_solution().cells:
        if cell.cell_type == "code" or cell.metadata.get("nbgrader", {}).get("solution"):
            yield f"{id_of(cell)} {cell.cell_type} {cell.source} {cell.metadata.get('tags', [])}"


def _code(lab: Lab) -> list[Path]:
    """The lab's own files, and the files of the course's library that they import."""
    found = sorted(lab.folder.glob("*.py"))
    todo = list(found)
    modules = [entry.partition(":")[0] for entry in (*lab.preload, lab.needs)]
    while todo or modules:
        for name in modules:
            path = _in_library(lab, name)
            if path and path not in found:
                found.append(path)
                todo.append(path)
        modules = list(_imports(todo.pop())) if todo else []
    return found


def _in_library(lab: Lab, module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] not in lab.course.library or len(parts) < 2:  # a package's __init__ only names what is in it
        return None
    path = lab.course.root.joinpath(*parts)
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def _engine() -> Iterable[Path]:
    return [path for folder in _JUDGING for path in sorted((_ENGINE / folder).rglob("*.py"))]


@cache
def _meaning(path: Path) -> str:
    """A file's code without its comments, and without the points that an exercise is worth."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Exercise":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "points"]
    return ast.dump(tree)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
