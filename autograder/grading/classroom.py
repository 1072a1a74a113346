"""The classroom folder: where hand-ins come from and where results are kept.

submitted/<student>/<lab>/<lab>.ipynb     what was handed in (and timestamp.txt)
results/<student>/<lab>.json              what marking it gave, until the file changes
autograded/, feedback/, gradebook.db      nbgrader's own
report/                                   the class in one page
"""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import nbformat

from autograder import __version__
from autograder.files import write
from autograder.grading.handin import MAX_BYTES
from autograder.grading.marking import Marked
from autograder.labs.reference import SOLUTIONS
from autograder.results import Result

RESULTS_VERSION = 1
_NO_PART_IN_MARKS = {
    *("cli", "workspace", "selfcheck", "download", "build", "sample_class", "bundle", "collect", "unpack"),
    *("handin_names", "report", "marks", "similarity", "pseudonyms", "feedback_pages", "gradebook"),
}


class GradingError(Exception):
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
    """A class's folder.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path):
        self.root = Path(root)
        self.submitted = self.root / "submitted"
        self.results = self.root / "results"
        self.autograded = self.root / "autograded"
        self.feedback = self.root / "feedback"
        self.report = self.root / "report"

    @property
    def default_db(self) -> str:
        """The gradebook's address, where none is given."""
        return f"sqlite:///{(self.root / 'gradebook.db').resolve()}"

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

    def _students(self) -> list[Path]:
        if not self.submitted.is_dir():
            return []
        return [
            folder
            for folder in self.submitted.iterdir()
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        ]

    def submission(self, student: str, lab: str) -> Submission:
        """Read one hand-in; links are never followed, and no more is read than may be marked."""
        try:
            return self._submission(student, lab)
        except OSError as error:
            why = f"The hand-in cannot be read ({error.strerror or type(error).__name__})."
            return Submission(student, lab, None, why, None)

    def _submission(self, student: str, lab: str) -> Submission:
        folder = self.submitted / student / lab
        timestamp = _small_text(folder / "timestamp.txt")
        if folder.is_symlink() or not folder.is_dir():
            return Submission(student, lab, None, "Instead of a folder there is a link or a file.", timestamp)
        path, why = folder / f"{lab}.ipynb", ""
        if not os.path.lexists(path):
            others = sorted(p for p in folder.glob("*.ipynb") if not p.name.startswith("."))
            if len(others) != 1:
                found = "none was handed in" if not others else f"there are {len(others)} others"
                return Submission(
                    student, lab, None, f"There is no notebook {lab}.ipynb ({found}).", timestamp
                )
            path = others[0]
            why = f"The file was called {path.name!r}; it was taken as {lab}.ipynb."
        try:
            # A link could name another student's file; a pipe would never end.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return Submission(student, lab, None, f"{path.name!r} is a link or cannot be opened.", timestamp)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            return Submission(student, lab, None, f"{path.name!r} is not an ordinary file.", timestamp)
        with os.fdopen(handle, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            size = path.stat().st_size / 1e6
            why = (
                f"The file is {size:.0f} MB; a notebook of at most {MAX_BYTES / 1e6:.0f} MB can be marked. "
                "Clear its outputs and hand it in again."
            )
            return Submission(student, lab, None, why, timestamp)
        return Submission(student, lab, data, why, timestamp)

    @property
    def salt(self) -> str:
        """The secret that the seeds of this class's fresh cases come from; made when first asked for."""
        path = self.results / "salt"
        if not path.is_file():
            write(path, secrets.token_hex(16))
            path.chmod(0o600)
        return path.read_text("utf-8")

    def secret(self, student: str, lab: str) -> str | None:
        """What nbgrader's exchange put beside a hand-in, so that only its sender can fetch the feedback."""
        return _small_text(self.submitted / student / lab / "submission_secret.txt")

    def result_path(self, student: str, lab: str) -> Path:
        return self.results / student / f"{lab}.json"

    def kept(self, submission: Submission, follow_through: bool) -> Marked | None:
        """The result of an earlier run, if neither the hand-in nor the lab has changed since."""
        try:
            record = json.loads(self.result_path(submission.student, submission.lab).read_text("utf-8"))
            if record["hash"] != fingerprint(submission, follow_through):
                return None
            return marked_from_record(record)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, submission: Submission, marked: Marked, follow_through: bool) -> None:
        """Store a result; rows carry the student's name from here on."""
        record = {
            "version": RESULTS_VERSION,
            "hash": fingerprint(submission, follow_through),
            **record_of(marked),
        }
        write(self.result_path(submission.student, submission.lab), json.dumps(record, ensure_ascii=False))

    def drop(self, submission: Submission) -> None:
        """Forget a kept result."""
        self.result_path(submission.student, submission.lab).unlink(missing_ok=True)

    def recorded(self, submission: Submission, db_url: str) -> bool:
        """Whether the kept result has reached this gradebook."""
        try:
            return self._recorded(submission).read_text("utf-8") == self._receipt(submission, db_url)
        except OSError:
            return False

    def note_recorded(self, submission: Submission, db_url: str) -> None:
        write(self._recorded(submission), self._receipt(submission, db_url))

    def forget_recorded(self, submission: Submission) -> None:
        self._recorded(submission).unlink(missing_ok=True)

    def _recorded(self, submission: Submission) -> Path:
        return self.result_path(submission.student, submission.lab).with_suffix(".recorded")

    def _receipt(self, submission: Submission, db_url: str) -> str:
        """Names the result and the gradebook without showing a password."""
        result = self.result_path(submission.student, submission.lab).read_bytes()
        given = f"{db_url} {submission.timestamp}".encode()
        return hashlib.sha256(result + hashlib.sha256(given).digest()).hexdigest()

    def rows(self, labs: Sequence[str] | None = None) -> Iterator[Result]:
        """Every stored row, students and labs in order."""
        for path in sorted(self.results.glob("*/*.json")):
            if labs is None or path.stem in labs:
                yield from marked_from_record(json.loads(path.read_text("utf-8"))).rows


def record_of(marked: Marked) -> dict:
    """A `Marked` as plain JSON."""
    return {
        "seed": marked.seed,
        "notes": list(marked.notes),
        "rows": [json.loads(row.to_json()) for row in marked.rows],
        "notebook": marked.notebook,
    }


def marked_from_record(record: dict) -> Marked:
    """The inverse of `record_of`."""
    return Marked(
        tuple(Result.from_json(json.dumps(row)) for row in record["rows"]),
        nbformat.from_dict(record["notebook"]),
        tuple(record["notes"]),
        record["seed"],
    )


def named(marked: Marked, student: str) -> Marked:
    """The same result with the student's name in its rows."""
    return replace(marked, rows=tuple(replace(row, student=student) for row in marked.rows))


def fingerprint(submission: Submission, follow_through: bool) -> str:
    """What a result depends on, hashed: the hand-in's bytes, the lab, and how it is marked."""
    parts = [
        submission.data if submission.data is not None else b"",
        submission.why.encode(),
        lab_fingerprint(submission.lab).encode(),
        str(follow_through).encode(),
    ]
    return hashlib.sha256(b"\0".join(hashlib.sha256(p).digest() for p in parts)).hexdigest()


@cache
def lab_fingerprint(lab: str) -> str:
    """A hash of everything that decides a lab's marks: its solution and the code that judges."""
    package = Path(__file__).parents[1]
    code = [p for p in package.rglob("*.py") if p.stem not in _NO_PART_IN_MARKS]
    files = [SOLUTIONS / lab / f"{lab}.ipynb", *sorted(code)]
    digest = hashlib.sha256(f"{__version__} {RESULTS_VERSION}".encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _writable(name: str) -> bool:
    """Whether a folder's name can be written as UTF-8, into results and into the gradebook."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable()


def _small_text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > 200:
        return None
    return path.read_text("utf-8", "replace").strip() or None
