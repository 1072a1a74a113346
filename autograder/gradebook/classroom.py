"""Paths and files of the classroom folder, which holds a class's submissions and their results.

    submitted/<student>/<lab>/<lab>.ipynb      a submission (with its timestamp.txt)
    results/<student>/<lab>.json               its cached result (see `result_store`)
    results/<student>/<lab>.recorded           what the gradebook has of it (`gradebook_records`)
    results/<student>/<lab>.attempts           what each attempt earned (`attempt_choice`)
    results/<student>/<lab>.attempt-<hash>     graded result of one attempt
    results/<student>/<lab>.counts             file name of the attempt that counts
    autograded/, feedback/, gradebook.db       nbgrader's folders and database
    report/                                    one page about the class, for the instructor
    secret                                     text from which the hidden cases' seeds are computed

Folders below submitted/ and results/ are named after students, so the autograder puts no files
of its own directly into these two folders.
"""

import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.core.course import Course
from autograder.core.errors import AutograderError, UsageError
from autograder.core.files import NotRegularFile, read_regular_file, write_file
from autograder.core.notebook_cells import MAX_NOTEBOOK_BYTES
from autograder.core.text_format import make_encodable

MAX_ATTEMPTS = 20  # earlier attempts of a submission that are graded; older ones are ignored
MAX_SMALL_TEXT_BYTES = 200
# Name of the notebook of an earlier attempt, as `autograder collect` writes it: time and hash.
_ATTEMPT_FILE_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{12}\.ipynb")


class GradingError(AutograderError):
    """Error that ends a grading run. The text says why, and what the instructor can do."""


@dataclass(frozen=True)
class Submission:
    """Submission of one student for one lab, as read from the classroom's folder.

    Parameters
    ----------
    student, lab : str
    content : bytes or None
        Bytes of the notebook file; None if the file is missing, too large or not a regular file.
    note : str
        Reason why `content` is None, or a remark about an unusual file name; usually "".
    timestamp : str or None
        Time of submission, as written in timestamp.txt.
    """

    student: str
    lab: str
    content: bytes | None
    note: str
    timestamp: str | None


class Classroom:
    """Folder of a class: paths of submissions, results and reports, and the gradebook's address.

    Parameters
    ----------
    root : Path
    course : Course
    db : str, optional
        SQLAlchemy address of the gradebook; by default the SQLite file in the classroom.
    """

    def __init__(self, root: Path, course: Course, db: str | None = None):
        self.root = Path(root)
        self.course = course
        self.uses_default_db = db is None
        self.db = db or f"sqlite:///{(self.root / 'gradebook.db').resolve()}"
        self.submitted = self.root / "submitted"
        self.results = self.root / "results"
        self.autograded = self.root / "autograded"
        self.feedback = self.root / "feedback"
        self.report = self.root / "report"

    def require_submissions(self) -> None:
        """Raise `UsageError` if the classroom has no folder of submissions."""
        if not self.submitted.is_dir():
            raise UsageError(
                f"There is no folder {self.submitted}; put the submissions there as "
                "<student>/<lab>/<lab>.ipynb, or use `autograder collect`."
            )

    def require_writable(self) -> None:
        """Raise `GradingError` if nothing can be written into the classroom's folder."""
        probe = self.root / f".probe-{os.getpid()}"
        try:
            probe.write_bytes(b"?" * 4096)
        except OSError as error:
            raise GradingError(
                f"Nothing can be written in {self.root} ({error.strerror}); give the folder room "
                "and rights, or name another with --classroom."
            ) from None
        finally:
            with suppress(OSError):
                probe.unlink()

    def list_submissions(self, labs: Sequence[str]) -> list[tuple[str, str]]:
        """Return (student, lab) of every submission of these labs, sorted."""
        submissions = []
        for folder in self._list_student_folders():
            if not _is_usable_name(folder.name):
                continue
            for lab in labs:
                if os.path.lexists(folder / lab):
                    submissions.append((folder.name, lab))
        return sorted(submissions)

    def list_unusable_student_folders(self) -> list[str]:
        """Return the students' folders that are left out since their names have bad characters."""
        names = [folder.name for folder in self._list_student_folders()]
        return sorted(repr(name) for name in names if not _is_usable_name(name))

    def list_unknown_folders(self) -> list[str]:
        """Return "student/folder" for each folder of a student that is not named after a lab."""
        unknown = []
        for folder in self._list_student_folders():
            if not _is_usable_name(folder.name):
                continue
            for name in _list_names(folder):
                if name not in self.course.labs and not name.startswith("."):
                    unknown.append(f"{folder.name}/{name}")
        return sorted(unknown)

    def _list_student_folders(self) -> list[Path]:
        if not self.submitted.is_dir():
            return []
        return [
            folder
            for folder in self.submitted.iterdir()
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        ]

    def read_submission(self, student: str, lab: str) -> Submission:
        """Read the submission that counts; refuse a link or a very large file, and note why."""
        try:
            name = self.find_counted_attempt(student, lab)
            attempt = self._read_earlier_attempt(student, lab, name) if name else None
            return attempt or self._read_newest_attempt(student, lab)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            return Submission(
                student,
                lab,
                None,
                f"The submission cannot be read ({reason}).",
                None,
            )

    def read_attempts(self, student: str, lab: str) -> dict[str, Submission]:
        """Read all submissions (attempts) of a student for a lab by file name, the newest first.

        The key of the newest attempt, which is in submitted/, is "".
        """
        folder = self.root / "submitted-earlier" / student / lab
        names = [""]
        if folder.is_dir() and not is_behind_link(folder):
            earlier = filter(_ATTEMPT_FILE_NAME.fullmatch, os.listdir(folder))
            names += sorted(earlier, reverse=True)[:MAX_ATTEMPTS]
        attempts = {}
        for name in names:
            attempt = self.read_attempt(student, lab, name)
            if attempt is not None:
                attempts[name] = attempt
        return attempts

    def count_earlier_attempts(self, student: str, lab: str) -> int:
        """Return the number of earlier attempts that `autograder collect` has stored."""
        return sum(1 for _ in (self.root / "submitted-earlier" / student / lab).glob("*.ipynb"))

    def read_attempt(self, student: str, lab: str, name: str) -> Submission | None:
        """Read one submission (attempt), given its key in `read_attempts`; None if this fails."""
        try:
            if name:
                return self._read_earlier_attempt(student, lab, name)
            return self._read_newest_attempt(student, lab)
        except (OSError, ValueError):
            return None

    def read_attempt_time(self, student: str, lab: str, name: str) -> str | None:
        """Return the text of an attempt's time of submission; None if there is none."""
        folder = self.submitted / student / lab
        path = folder / "timestamp.txt"
        if name:
            folder = self.root / "submitted-earlier" / student / lab
            path = (folder / name).with_suffix(".txt")
        if is_behind_link(folder) or (name and not _ATTEMPT_FILE_NAME.fullmatch(name)):
            return None
        return read_small_text(path)

    def find_counted_attempt(self, student: str, lab: str) -> str:
        """Return the file of the earlier submission that counts; "" if the newest one counts."""
        if self.course.policy.get("attempts") != "best":
            return ""
        return self.read_counted_name(student, lab)

    def read_counted_name(self, student: str, lab: str) -> str:
        """Return the file of the earlier submission that counted when it was last chosen, or ""."""
        return read_small_text(self.result_path(student, lab, "counts")) or ""

    def _read_earlier_attempt(self, student: str, lab: str, name: str) -> Submission | None:
        """Read an earlier submission from submitted-earlier/; None if it cannot be read."""
        path = self.root / "submitted-earlier" / student / lab / name
        if not _ATTEMPT_FILE_NAME.fullmatch(name) or is_behind_link(path.parent):
            return None
        data, _ = read_notebook(path)
        if data is None:
            return None
        return Submission(student, lab, data, "", self.read_attempt_time(student, lab, name))

    def _read_newest_attempt(self, student: str, lab: str) -> Submission:
        folder = self.submitted / student / lab
        if is_behind_link(folder) or not folder.is_dir():
            note = "Instead of a folder there is a link or a file."
            return Submission(student, lab, None, note, None)
        timestamp = self.read_attempt_time(student, lab, "")
        return Submission(student, lab, *read_submitted_notebook(folder, lab), timestamp)

    @cached_property
    def salt(self) -> str:
        """Secret text from which the inputs of this class's hidden test cases are computed.

        It is stored in the file `secret`, which is created at first use.
        """
        path = self.root / "secret"
        if not path.is_file():
            write_file(path, secrets.token_hex(16), mode=0o600)
        return path.read_text("utf-8")

    def read_exchange_secret(self, student: str, lab: str) -> str | None:
        """Return a submission's secret: with it, nbgrader's exchange finds the student to give feedback.

        None if the submission did not come through nbgrader's exchange.
        """
        folder = self.submitted / student / lab
        if is_behind_link(folder):
            return None
        return read_small_text(folder / "submission_secret.txt")

    def result_path(self, student: str, lab: str, kind: str = "json") -> Path:
        """Return the path of a submission's result in results/, or of another file kept there."""
        return self._path_with_links_replaced(self.results, student, f"{lab}.{kind}")

    def notebook_path(self, student: str, lab: str, name: str = "") -> Path:
        """Return the path of a submission's executed notebook, or of the file `name` beside it."""
        return self._path_with_links_replaced(self.autograded, student, lab, name or f"{lab}.ipynb")

    def page_path(self, student: str, lab: str, name: str = "") -> Path:
        """Return the path of a submission's feedback page, or of the file `name` in its folder."""
        return self._path_with_links_replaced(self.feedback, student, lab, name or f"{lab}.html")

    def term_path(self, student: str) -> Path:
        """Return the path of a student's page about the whole term."""
        return self._path_with_links_replaced(self.feedback, student, "term.html")

    def _path_with_links_replaced(self, top: Path, *parts: str) -> Path:
        """Return a path in one of the class's folders, without any symbolic link on the way.

        A symbolic link on the way is replaced by a text file that names the link's target.
        """
        path = top
        for part in parts:
            path = path / part
            if path.is_symlink():
                replace_link_with_note(path)
        return path

    @staticmethod
    def list_files(top: Path, pattern: str) -> list[Path]:
        """Return the files below `top` that match a pattern, sorted; symbolic links are skipped."""
        return sorted(path for path in top.glob(pattern) if not _has_link_below(path, top))


def _has_link_below(path: Path, top: Path) -> bool:
    """Return True if the path, or a folder between it and `top`, is a symbolic link."""
    parts = (path, *path.parents)
    return any(part.is_symlink() for part in parts if part != top and part.is_relative_to(top))


def read_submitted_notebook(folder: Path, lab: str) -> tuple[bytes | None, str]:
    """Read a lab's notebook from a folder.

    Returns
    -------
    data : bytes or None
        Bytes of the notebook; None if it is missing, too large or not a regular file.
    note : str
        Reason why `data` is None, or a remark about the file's name; usually "".
    """
    path, note = folder / f"{lab}.ipynb", ""
    if not os.path.lexists(path):
        names = [name for name in os.listdir(folder) if name.endswith(".ipynb") and name[0] != "."]
        if not names:
            return None, f"There is no notebook {lab}.ipynb (none was submitted)."
        if len(names) > 1:
            return None, f"There is no notebook {lab}.ipynb (there are {len(names)} others)."
        path = folder / names[0]
        note = f"The file was called {path.name!r}; it was taken as {lab}.ipynb."
    data, reason = read_notebook(path)
    return data, reason or note


def read_notebook(path: Path) -> tuple[bytes | None, str]:
    """Return a notebook's bytes and ""; None and the reason if the file cannot be read.

    A file that is too large, or is a link, pipe or device, is not read either.
    """
    try:
        data = read_regular_file(path, MAX_NOTEBOOK_BYTES + 1)
    except NotRegularFile:
        return None, f"{path.name!r} is not an ordinary file."
    except OSError as error:
        return None, f"{path.name!r} cannot be opened ({error.strerror})."
    if len(data) > MAX_NOTEBOOK_BYTES:
        size = path.stat().st_size / 1e6
        return None, (
            f"The file is {size:.0f} MB; a notebook of at most {MAX_NOTEBOOK_BYTES / 1e6:.0f} MB "
            "can be marked. Clear its outputs and submit it again."
        )
    return data, ""


def is_behind_link(folder: Path) -> bool:
    """Return True if a submission's folder, or the folder that contains it, is a symbolic link."""
    return folder.is_symlink() or folder.parent.is_symlink()


def replace_link_with_note(path: Path) -> None:
    """Replace a symbolic link by the text file `<name>.was-a-link`, which names its target."""
    text = f"{os.readlink(path)}\n".encode("utf-8", "replace")
    path.unlink()
    write_file(path.with_name(f"{path.name}.was-a-link"), text)


def _list_names(folder: Path) -> list[str]:
    """Return the names in a folder, with "?" for invalid characters; [] if it cannot be listed."""
    try:
        return [make_encodable(name) for name in os.listdir(folder)]
    except OSError:
        return []


def _is_usable_name(name: str) -> bool:
    """Return True if a student's folder has a name that results and the gradebook can store."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return name.isprintable() and name == name.strip()


def read_small_text(path: Path) -> str | None:
    """Read a short text file, such as timestamp.txt; None if it is missing, empty or too long.

    None if the file is missing, empty, too long, or not a regular file.
    """
    try:
        data = read_regular_file(path, MAX_SMALL_TEXT_BYTES + 1)
    except OSError:
        return None
    text = data.decode("utf-8", "replace").replace("\0", " ").strip()
    return text if text and len(data) <= MAX_SMALL_TEXT_BYTES else None
