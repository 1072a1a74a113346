"""The classroom folder: where hand-ins come from and where results are kept.

    submitted/<student>/<lab>/<lab>.ipynb     what was handed in (and timestamp.txt)
    results/<student>/<lab>.json              what marking it found (see `evidence`)
    results/<student>/<lab>.recorded          what of it has reached which gradebook
    results/<student>/<lab>.attempts, .counts what each attempt came to, and which counts (see `run.attempts`)
    autograded/, feedback/, gradebook.db      nbgrader's own
    report/                                   the class in one page
    secret                                    what the seeds of fresh cases come from

Folders below submitted/ and results/ are named after students, so no file of ours lies among them.
"""

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.course import Course
from autograder.errors import Complaint, Usage, encodable
from autograder.files import NotOrdinary, read_ordinary, write
from autograder.grading.marking.handin import MAX_BYTES

MOST_ATTEMPTS = 20  # earlier ones that are looked at, the newest of them
_EARLIER = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{12}\.ipynb")  # as `collect` calls them


class GradingError(Complaint):
    """A run cannot go on; the text says why and what to do."""


@dataclass(frozen=True)
class Submission:
    """One student's hand-in for one lab, as it lies in the folder.

    Parameters
    ----------
    student, lab : str
    data : bytes or None
        The notebook's bytes; None if there is none that may be read.
    why : str
        Why there is none, or what was odd about where it lay; "" usually.
    timestamp : str or None
        When it was handed in, as the file timestamp.txt says.
    """

    student: str
    lab: str
    data: bytes | None
    why: str
    timestamp: str | None


class Classroom:
    """A class's folder, and the gradebook of its marks.

    Parameters
    ----------
    root : Path
    course : Course
    db : str, optional
        SQLAlchemy's address of the gradebook; the classroom's own SQLite file by default.
    """

    def __init__(self, root: Path, course: Course, db: str | None = None):
        self.root = Path(root)
        self.course = course
        self.own_db = db is None
        self.db = db or f"sqlite:///{(self.root / 'gradebook.db').resolve()}"
        self.submitted = self.root / "submitted"
        self.results = self.root / "results"
        self.autograded = self.root / "autograded"
        self.feedback = self.root / "feedback"
        self.report = self.root / "report"

    def must_exist(self) -> None:
        """Raise `Usage` if there are no hand-ins here."""
        if not self.submitted.is_dir():
            raise Usage(
                f"There is no folder {self.submitted}; put the hand-ins there as <student>/<lab>/<lab>.ipynb, "
                "or use `autograder collect`."
            )

    def must_be_writable(self) -> None:
        """Raise `GradingError` if nothing can be written here, before anything is begun."""
        probe = self.root / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"?" * 4096)
        except OSError as error:
            raise GradingError(
                f"Nothing can be written in {self.root} ({error.strerror}); give the folder room and rights, or "
                "name another with --classroom."
            ) from None
        finally:
            with suppress(OSError):
                probe.unlink()

    def handed_in(self, labs: Sequence[str]) -> list[tuple[str, str]]:
        """(student, lab) of every hand-in of these labs, sorted."""
        return sorted(
            (student.name, lab)
            for student in self._students()
            if _writable(student.name)
            for lab in labs
            if os.path.lexists(student / lab)
        )

    def unnameable(self) -> list[str]:
        """Students' folders whose names no result could be filed under."""
        return sorted(repr(s.name) for s in self._students() if not _writable(s.name))

    def strangers(self) -> list[str]:
        """Folders of hand-ins that belong to no lab of the course: "student/folder"."""
        return sorted(
            f"{student.name}/{name}"
            for student in self._students()
            if _writable(student.name)
            for name in _names_in(student)
            if name not in self.course.labs and not name.startswith(".")
        )

    def _students(self) -> list[Path]:
        if not self.submitted.is_dir():
            return []
        return [
            folder
            for folder in self.submitted.iterdir()
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        ]

    def submission(self, student: str, lab: str) -> Submission:
        """Read the hand-in that counts; links are never followed, and no more is read than may be marked."""
        try:
            if (name := self.counting(student, lab)) and (earlier := self._earlier(student, lab, name)):
                return earlier
            return self._submission(student, lab)
        except (OSError, ValueError) as error:
            why = f"The hand-in cannot be read ({getattr(error, 'strerror', None) or type(error).__name__})."
            return Submission(student, lab, None, why, None)

    def attempts(self, student: str, lab: str) -> dict[str, Submission]:
        """All attempts, the newest first: under "" that in submitted/, the earlier ones under their files' names."""
        folder, names = self.root / "submitted-earlier" / student / lab, []
        if folder.is_dir() and not leads_elsewhere(folder):
            names = sorted(filter(_EARLIER.fullmatch, os.listdir(folder)), reverse=True)[:MOST_ATTEMPTS]
        return {name: one for name in ("", *names) if (one := self.attempt(student, lab, name))}

    def earlier_attempts(self, student: str, lab: str) -> int:
        """How many earlier attempts `collect` has kept."""
        return sum(1 for _ in (self.root / "submitted-earlier" / student / lab).glob("*.ipynb"))

    def attempt(self, student: str, lab: str, name: str) -> Submission | None:
        """One of the attempts, by its name in `attempts`; None where it is not there, or too large."""
        try:
            return self._earlier(student, lab, name) if name else self._submission(student, lab)
        except (OSError, ValueError):
            return None

    def counting(self, student: str, lab: str) -> str:
        """The file of the earlier attempt that counts, where the best one does; "" if the newest does."""
        if self.course.policy.get("attempts") != "best":
            return ""
        return small_text(self.result_path(student, lab, "counts")) or ""

    def _earlier(self, student: str, lab: str, name: str) -> Submission | None:
        """An attempt that `collect` has put into submitted-earlier/; None if it is not there, or too large."""
        path = self.root / "submitted-earlier" / student / lab / name
        if not _EARLIER.fullmatch(name) or leads_elsewhere(path.parent):
            return None
        data, _ = read_notebook(path)
        return (
            None if data is None else Submission(student, lab, data, "", small_text(path.with_suffix(".txt")))
        )

    def _submission(self, student: str, lab: str) -> Submission:
        folder = self.submitted / student / lab
        if leads_elsewhere(folder) or not folder.is_dir():
            return Submission(student, lab, None, "Instead of a folder there is a link or a file.", None)
        timestamp = small_text(folder / "timestamp.txt")
        return Submission(student, lab, *notebook_in(folder, lab), timestamp)

    @cached_property
    def salt(self) -> str:
        """The secret that the seeds of this class's fresh cases come from; made when first asked for."""
        path = self.root / "secret"
        if not path.is_file():
            write(path, secrets.token_hex(16), mode=0o600)
        return path.read_text("utf-8")

    def secret(self, student: str, lab: str) -> str | None:
        """What nbgrader's exchange put beside a hand-in, so that only its sender can fetch the feedback."""
        folder = self.submitted / student / lab
        if leads_elsewhere(folder):
            return None
        return small_text(folder / "submission_secret.txt")

    def result_path(self, student: str, lab: str, kind: str = "json") -> Path:
        """Where what marking found is kept; or, of another kind, what it has reached."""
        return self._own(self.results, student, f"{lab}.{kind}")

    def notebook_path(self, student: str, lab: str, name: str = "") -> Path:
        """Where the executed notebook is, or what lies beside it."""
        return self._own(self.autograded, student, lab, name or f"{lab}.ipynb")

    def page_path(self, student: str, lab: str, name: str = "") -> Path:
        """Where the feedback page is, or what lies beside it."""
        return self._own(self.feedback, student, lab, name or f"{lab}.html")

    def term_path(self, student: str) -> Path:
        """Where the page of a student's term is."""
        return self._own(self.feedback, student, "term.html")

    def _own(self, top: Path, *parts: str) -> Path:
        """A path of ours below results/, autograded/ or feedback/, on which no link leads elsewhere: a link is put
        aside as a file that says where it led."""
        path = top
        for part in parts:
            path = path / part
            if path.is_symlink():
                put_link_aside(path)
        return path

    @staticmethod
    def files_in(top: Path, pattern: str) -> list[Path]:
        """The files below results/, autograded/ or feedback/ that a pattern names, sorted, none through a link."""
        return sorted(
            path
            for path in top.glob(pattern)
            if not any(p.is_symlink() for p in (path, *path.parents) if p != top and p.is_relative_to(top))
        )


def notebook_in(folder: Path, lab: str) -> tuple[bytes | None, str]:
    """The bytes of a lab's notebook in a folder, and what was odd; None, and why, where none may be read."""
    path, why = folder / f"{lab}.ipynb", ""
    if not os.path.lexists(path):
        names = [name for name in os.listdir(folder) if name.endswith(".ipynb") and name[0] != "."]
        others = sorted(folder / name for name in names)
        if len(others) != 1:
            found = "none was handed in" if not others else f"there are {len(others)} others"
            return None, f"There is no notebook {lab}.ipynb ({found})."
        path = others[0]
        why = f"The file was called {path.name!r}; it was taken as {lab}.ipynb."
    data, why_not = read_notebook(path)
    return data, why_not or why


def read_notebook(path: Path) -> tuple[bytes | None, str]:
    """The bytes of a notebook's file; None, and why, where it may not be read."""
    try:
        data = read_ordinary(path, MAX_BYTES + 1)
    except NotOrdinary:
        return None, f"{path.name!r} is not an ordinary file."
    except OSError as error:
        return None, f"{path.name!r} cannot be opened ({error.strerror})."
    if len(data) > MAX_BYTES:
        size = path.stat().st_size / 1e6
        return None, (
            f"The file is {size:.0f} MB; a notebook of at most {MAX_BYTES / 1e6:.0f} MB can be marked. "
            "Clear its outputs and hand it in again."
        )
    return data, ""


def leads_elsewhere(folder: Path) -> bool:
    """Whether a hand-in's folder, or its student's, is a link: it may lead to another student's."""
    return folder.is_symlink() or folder.parent.is_symlink()


def put_link_aside(path: Path) -> None:
    """Take a link away, and leave a file that says where it led."""
    text = f"{os.readlink(path)}\n".encode("utf-8", "replace")
    path.unlink()
    write(path.with_name(f"{path.name}.was-a-link"), text)


def _names_in(folder: Path) -> list[str]:
    """What lies in a folder, each name as it can be shown; nothing where it may not be looked into."""
    try:
        return [*map(encodable, os.listdir(folder))]
    except OSError:
        return []


def _writable(name: str) -> bool:
    """Whether a folder's name can be written as UTF-8, into results and into the gradebook."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable() and name == name.strip()


def small_text(path: Path) -> str | None:
    """A short text beside a hand-in; None where there is none that can be read without waiting."""
    try:
        data = read_ordinary(path, 201)
    except OSError:
        return None
    text = data.decode("utf-8", "replace").replace("\0", " ").strip()
    return text if text and len(data) <= 200 else None
