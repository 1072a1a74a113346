"""Whose a file is and which lab it is for, from the names that learning platforms give to hand-ins.

The regular expressions run in nbgrader's own `FileNameCollectorPlugin`. Their named groups:

file_id      what the student called the file, with what lies below a student's folder
student_id   who it is, as the platform says
lms_id       the platform's number of the student (Canvas) or of the hand-in (Moodle)
number       an attempt's number, the larger the newer
timestamp    when it was handed in
late         the platform's mark for a late one
"""

import hashlib
import json
import logging
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import takewhile
from pathlib import PurePosixPath

from nbgrader.plugins import FileNameCollectorPlugin

from autograder.grading.unpack import is_zip
from autograder.labs import LABS
from autograder.labs.reference import SOLUTIONS

# Each platform writes its own part first and the student's file name last; so of all places where an
# expression could match, the first is the platform's, and what follows it is the student's to choose.
FORMS = {
    "Canvas": r"(?:.*?/)??(?P<student_id>[^/]+?)_(?P<late>LATE_)?"
    r"(?P<lms_id>\d+)_(?P<number>\d+)_(?P<file_id>.+)",
    "Canvas, anonymous": r"(?:.*?/)??(?P<late>LATE_)?(?P<student_id>anon_[A-Za-z0-9]+)_"
    r"(?P<number>\d+)_(?P<file_id>.+)",
    "Moodle": r"(?:.*?/)??(?P<student_id>[^/]+?)_(?P<lms_id>\d+)_assignsubmission_file"
    r"(?:_?/|_)(?P<file_id>.+)",
    "Blackboard": r"(?:.*?/)??[^/]+?_(?P<student_id>[^/_]+)_attempt_"
    r"(?P<timestamp>\d{4}(?:-\d\d){5})(?P<file_id>[_.].+)",
}
# Answers typed into the platform's page: no file was handed in here.
TYPED = re.compile(
    r"(?:.*/)?[^/]+_\d+_(?:(?:assignsubmission_)?onlinetext(?:_|/)|(?:text|link)\.html$)", re.IGNORECASE
)
NOTEBOOK = re.compile(r"\.ipynb(?:\.txt|\.json)?$", re.IGNORECASE)  # some browsers add .txt when saving
RECEIPT = re.compile(r"_attempt_\d{4}(?:-\d\d){5}\.txt$")

_GITHUB_USER = r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}"
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")}
MAX_ASSIGNMENTS = 50
MAX_STUDENT = 100  # bytes: a name, a lock file's suffix and Windows' 260 characters go together


class _Names(FileNameCollectorPlugin):
    """nbgrader's collector for any kind of file: who handed in a PDF is to be named, too."""

    def collect(self, submitted_file: str) -> dict | None:
        return self._match(submitted_file)


def _collector(expression: str) -> _Names:
    log = logging.getLogger(__name__)
    log.disabled = True  # the plugin warns of every name that does not match
    # re.match takes what it finds at the start; a name must match whole, line breaks in it or not.
    return _Names(named_regexp=rf"(?s:{expression})\Z", log=log)


@cache
def _forms() -> dict[str, _Names]:
    return {form: _collector(expression) for form, expression in FORMS.items()}


@dataclass(frozen=True)
class Owner:
    """Whose a file is, by its name.

    Parameters
    ----------
    student : str
        A name that is safe as a folder's.
    form : str
        The platform, or "folder".
    file : str
        What the student called it, as a path below what the platform named.
    said : str
        The student as the platform says.
    lms_id : str
    number : int
    timestamp : str
        As in the name: "2026-11-20-14-03-22"; "" if it says nothing.
    late : bool
    note : str
    handed_in : datetime or None
        That time in UTC, once its zone is known.
    """

    student: str
    form: str
    file: str
    said: str
    lms_id: str = ""
    number: int = 0
    timestamp: str = ""
    late: bool = False
    note: str = ""
    handed_in: datetime | None = None


def by_platform(path: str) -> tuple[Owner, int] | None:
    """Whose a file is as a platform names it, and how many folders lie above what it named.

    >>> owner, depth = by_platform("lovelaceada_LATE_12345_678_qkv-attention-2.ipynb")
    >>> owner.student, owner.number, owner.late, depth
    ('lovelaceada-12345', 678, True, 0)
    """
    matches = [(form, m) for form, names in _forms().items() if (m := names.collect(path))]
    if not matches:
        return None
    # A student may call a file as another platform would name someone else's: the outermost name counts.
    form, match = max(matches, key=lambda pair: len(pair[1]["file_id"]))
    file = match["file_id"].lstrip("_.") if form == "Blackboard" else match["file_id"]
    said, lms_id = match["student_id"], match.get("lms_id") or ""
    # Canvas's number stays with a student. Moodle's is one student's in one assignment: no name for them.
    student = safe_student(f"{said}-{lms_id}" if form == "Canvas" else said)
    above = path[: len(path) - len(match["file_id"])].rstrip("/")
    owner = Owner(
        student,
        form,
        file,
        said,
        lms_id,
        int(match.get("number") or copy_number(file)),
        match.get("timestamp") or "",
        bool(match.get("late")),
    )
    return owner, above.count("/")


class Layout:
    """Whose files are, in one folder or zip as a whole.

    Parameters
    ----------
    paths : sequence of str
        Its notebooks and zips.
    name : str
        What the folder or zip is called.
    clones : collection of str
        Folders with a Git repository.
    fallback : str
        Whose a notebook is that lies in no folder; "" if no one's.
    """

    def __init__(self, paths: Sequence[str], name: str, clones=(), fallback: str = ""):
        split = [path.split("/") for path in paths]
        self._wrapper = _wrapper(split, name)
        self._fallback = fallback
        # A zip named after a student may hold folders of theirs; only a class's has one lab in several.
        below = [path[len(self._wrapper) :] for path in split]
        self._by_folder = not fallback or _several(below)
        self._by_zip = not fallback or _students_zips(below)
        self._repositories = [
            _collector(
                rf"{re.escape(''.join(f'{folder}/' for folder in above))}(?P<assignment>{re.escape(slug)})-"
                rf"(?P<student_id>{_GITHUB_USER})/(?P<file_id>.+)"
            )
            for above, slug in _assignments(split, self._wrapper, name, clones)
        ]
        # Below a student's folder every name is the student's to choose, someone else's included.
        self._deep = all(by_platform(path) for path in paths)

    def owner(self, path: str) -> Owner | str:
        """Whose this file is; a sentence if that cannot be said."""
        for names in self._repositories:
            if match := names.collect(path):
                said, file = match["student_id"], match["file_id"]
                note = f"The assignment was taken to be {match['assignment']!r}."
                # GitHub's user names are the same in any case.
                return Owner(
                    safe_student(said.lower()), "GitHub", file, said, number=copy_number(file), note=note
                )
        found = by_platform(path)
        if found:
            owner, depth = found
            if depth <= len(self._wrapper) or self._deep:
                return owner
            folder = path.split("/")[len(self._wrapper)]
            return (
                f"Its name is one that {owner.form.split(',')[0]} gives, but it lies in the folder "
                f"{folder!r} beside other hand-ins. If that is a download and no student's folder, collect "
                "it by itself."
            )
        parts = path.split("/")
        if parts[: len(self._wrapper)] != self._wrapper:
            return f"It lies outside {'/'.join(self._wrapper)!r}, where the hand-ins are."
        parts = parts[len(self._wrapper) :]
        if len(parts) > 2 and by_name(parts[0], exact=True) and not by_name(parts[1], exact=True):
            parts = parts[1:]  # lab/student/…
        if self._by_folder and len(parts) > 1 and not by_name(parts[0], exact=True):
            said, file = parts[0], "/".join(parts[1:])
        elif self._fallback and not (self._by_zip and len(parts) == 1 and is_zip(path)):
            said, file = self._fallback, "/".join(parts)
        else:
            return "Neither its name nor a folder says whose it is."
        student = safe_student(said)
        return Owner(student, "folder", file, said, number=copy_number(file))


def _wrapper(paths: list[list[str]], name: str) -> list[str]:
    """The folders around the students' folders: "class/" in class.zip, nbgrader's "submitted/"."""
    if any(path[0] == "submitted" and len(path) > 2 for path in paths):
        return ["submitted"]
    wrapper: list[str] = []
    for i, folder in enumerate(_shared([path[:-1] for path in paths])):
        below = [path[i + 1 :] for path in paths]
        named = folder.casefold() == name.casefold() or folder.endswith("-submissions")
        around = named or by_name(folder, exact=True) or _several(below)
        if any(len(path) < 2 for path in below):
            # Notebooks lie in it, so the folder is the student's; or zips do, one named after each student.
            around = _students_zips(below)
        if by_platform(f"{folder}/x"):
            break
        if not around and not all((found := by_platform("/".join(path))) and not found[1] for path in below):
            break
        wrapper.append(folder)
    return wrapper


def _students_zips(paths: list[list[str]]) -> bool:
    """Whether these are several zips side by side, none called as a lab."""
    zips = [path for path in paths if len(path) == 1 and is_zip(path[0]) and not by_name(path[0])]
    return len(zips) == len(paths) > 1


def _several(paths: Iterable[list[str]]) -> bool:
    """Whether two folders at the top hold the same lab, as students' do."""
    folders = defaultdict(set)
    for path in paths:
        if len(path) > 1 and (lab := by_name(path[-1])):
            folders[lab].add(path[0])
    return any(len(same) > 1 for same in folders.values())


def _assignments(paths, wrapper, name, clones) -> list[tuple[tuple[str, ...], str]]:
    """(folders above, assignment) of GitHub Classroom's repositories, <assignment>-<username>.

    The assignment is known by its lab's name, by the folder <assignment>-submissions around its repositories,
    or as what the names of several repositories have in common. Only the uppermost folders are looked at:
    further down a student gives the names.
    """
    clones = [clone.split("/") for clone in clones if clone]
    folders = {tuple(path[:-1][: len(wrapper) + 2]) for path in (*paths, *([*c, ""] for c in clones))}
    around = {tuple(wrapper[:i]) for i in range(len(wrapper) + 1)}
    around |= {
        folder[:-1]
        for folder in folders
        if len(folder) > 1 and folder[:-2] in around and folder[-2].endswith("-submissions")
    }
    found = set()
    for above in around:
        inside = above[-1] if above else name
        repositories = {folder[len(above)] for folder in folders if folder[: len(above)] == above != folder}
        cloned = sorted(c[-1] for c in clones if tuple(c[:-1]) == above)
        slugs = {folder[: len(lab)] for folder in repositories for lab in LABS if _starts(folder, lab)}
        if inside.endswith("-submissions"):
            slugs.add(inside.removesuffix("-submissions"))
        if len(cloned) > 1:
            slugs.add("".join(_shared(cloned)).rpartition("-")[0])
        found |= {(above, slug) for slug in slugs if any(_starts(folder, slug) for folder in repositories)}
    # The longest first: the assignment "lab-2-b" before "lab-2".
    return sorted(found, key=lambda pair: (-len(pair[1]), pair))[:MAX_ASSIGNMENTS]


def _shared(sequences: list) -> list:
    """What sequences of any length begin with in common."""
    return [items[0] for items in takewhile(lambda items: len(set(items)) == 1, zip(*sequences))]


def _starts(folder: str, slug: str) -> bool:
    return bool(slug) and folder.casefold().startswith(f"{slug.casefold()}-")


def safe_student(said: str) -> str:
    """A student's name as a folder's: what it stood for stays apart from any other.

    Letters and digits of every script, spaces and ``-_.@'`` stay; anything else becomes "-". A name that had
    to be changed gets a few digits of its hash, so that two that become alike are still two.

    >>> safe_student("Ada Lovelace"), safe_student("../ada")
    ('Ada Lovelace', 'ada-60088279')
    """
    name = unicodedata.normalize("NFC", said).strip()
    kept = "".join(c if c in " -_.@'" or unicodedata.category(c)[0] in "LMN" else "-" for c in name)
    kept = re.sub(" +", " ", kept).strip(" .").lstrip("-. ")
    reserved = kept.split(".")[0].strip().casefold() in _RESERVED
    if kept and kept == name and len(kept.encode()) <= MAX_STUDENT and not reserved:
        return kept
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    short = kept.encode()[: MAX_STUDENT - len(digest) - 1].decode("utf-8", "ignore")
    return f"{short.strip(' .-').replace('.', '-') or 'student'}-{digest}"


def student_key(student: str) -> str:
    """The same for names that differ only in case or in how their accents are written."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", student).casefold())


def by_name(name: str, *, exact: bool = False) -> str:
    """The lab that a file's or folder's name says, "" if it says none or more than one.

    >>> by_name("Copy of QKV_Attention (1).ipynb"), by_name("Untitled.ipynb")
    ('qkv-attention', '')
    """
    said = _letters(NOTEBOOK.sub("", name))
    labs = [lab for lab in LABS if (_letters(lab) == said if exact else _letters(lab) in said)]
    return labs[0] if len(labs) == 1 else ""


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unicodedata.normalize("NFKC", name).casefold())


def by_grade_ids(data: bytes) -> str:
    """The lab whose cells a notebook holds, "" if that cannot be said. Raises nothing.

    The bytes are searched, not parsed: no nesting and no number in them can do harm.
    """
    count = defaultdict(set)
    # In UTF-16 every other byte of a grade_id is zero.
    for name in re.findall(rb'"grade_id"\s{0,9}:\s{0,9}"([\w-]{1,80})"', data.replace(b"\0", b"")):
        if lab := _grade_ids().get(name.decode("ascii", "replace")):
            count[lab].add(name)
    labs = sorted(count, key=lambda lab: len(count[lab]), reverse=True)
    return labs[0] if len(labs) == 1 or (labs and len(count[labs[0]]) > len(count[labs[1]])) else ""


@cache
def _grade_ids() -> dict[str, str]:
    """Each grade_id that stands in one lab only, and that lab."""
    labs = defaultdict(set)
    for lab in LABS:
        path = SOLUTIONS / lab / f"{lab}.ipynb"
        if path.is_file():
            for cell in json.loads(path.read_text("utf-8"))["cells"]:
                if "nbgrader" in cell["metadata"]:
                    labs[cell["metadata"]["nbgrader"]["grade_id"]].add(lab)
    return {name: min(where) for name, where in labs.items() if len(where) == 1}


def copy_number(file: str) -> int:
    """The 2 of "qkv-attention-2.ipynb" and of "qkv-attention (2).ipynb"."""
    match = re.search(r"(?:-|\((?=\d+\)))(\d{1,6})\)?$", NOTEBOOK.sub("", PurePosixPath(file).name))
    return int(match[1]) if match else 0
