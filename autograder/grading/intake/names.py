"""Names as data: of students, files and labs. Nothing here touches a disk.

A student's name becomes a folder's name; a file's name may say a lab; and a name that is printed may hold
anything. Each function takes any text and never raises.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

NOTEBOOK = re.compile(r"\.ipynb(?:\.txt|\.json)?$", re.IGNORECASE)  # some browsers add .txt when saving
MAX_STUDENT = 100  # bytes: a name, a lock file's suffix and Windows' 260 characters go together
# Letters and marks that nobody sees: with them, two names that look the same would be two people's.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³")}
_COPY = re.compile(r"(?:[-_ ](?:v|copy)?|\()(\d{1,6})\)?$", re.IGNORECASE)
# Names of folders around a class's hand-ins, and with them what students call their own: nobody's names.
_AROUND = (
    r"submissions?|submitted|hand ?ins?|downloads?|exports?|class|course|term|week|labs?|hw|home ?work|"
    r"assignments?|exercises?|attention labs"
)
_OWN = r"untitled|notebook|copy|work|my work|final|solutions?|answers?|project|src|code|main|new|old|test"
_AROUND_CLASS = re.compile(rf"(?:{_AROUND})[\d\W_]*", re.IGNORECASE)
_GENERIC = re.compile(rf"(?:{_AROUND}|{_OWN})[\d\W_]*", re.IGNORECASE)


def is_notebook(path: str) -> bool:
    return bool(NOTEBOOK.search(path))


def is_zip(path: str) -> bool:
    return path.casefold().endswith(".zip")


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@lru_cache(10_000)  # the same folders are asked about for every file in them
def letters(name: str) -> str:
    """Only letters and digits, in one case: what two spellings of one name have in common."""
    return "".join(c for c in unicodedata.normalize("NFKC", name).casefold() if c.isalnum())


def stem(path: str) -> str:
    """A file's name without folders and without .ipynb or .zip."""
    name = PurePosixPath(path).name
    return re.sub(r"\.zip$", "", NOTEBOOK.sub("", name), flags=re.IGNORECASE)


def is_generic(name: str) -> bool:
    """Whether a name is one that anybody may give to their own work.

    >>> is_generic("Untitled1"), is_generic("final_v2"), is_generic("jane_doe")
    (True, False, False)
    """
    return bool(_GENERIC.fullmatch(name))


def is_around(name: str, labs: Sequence[str]) -> bool:
    """Whether a folder is called as one that holds a class's hand-ins.

    >>> is_around("Lab 2", []), is_around("x-submissions", []), is_around("jane", []), is_around("work", [])
    (True, True, False, False)
    """
    return bool(
        _AROUND_CLASS.fullmatch(name) or name.endswith("-submissions") or lab_of(name, labs, exact=True)
    )


def safe_student(said: str) -> str:
    """A student's name as a folder's, apart from any other's.

    Letters and digits of every script, spaces and ``-_.@'`` stay; anything else becomes "-". A name that had
    to be changed gets a few digits of its hash, so that two that become alike are still two.

    >>> safe_student("Ada Lovelace"), safe_student("../ada")
    ('Ada Lovelace', 'ada-60088279')
    """
    name = nfc(said).strip()
    seen = _UNSEEN.sub("-", name)
    kept = "".join(c if c in " -_.@'" or unicodedata.category(c)[0] in "LMN" else "-" for c in seen)
    kept = re.sub(" +", " ", kept).strip(" .").lstrip("-. ")
    reserved = kept.split(".")[0].strip().casefold() in _RESERVED
    if kept and kept == name and len(kept.encode()) <= MAX_STUDENT and not reserved:
        return kept
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    short = kept.encode()[: MAX_STUDENT - len(digest) - 1].decode("utf-8", "ignore")
    return f"{short.strip(' .-').replace('.', '-') or 'student'}-{digest}"


def same_case(student: str) -> str:
    """What a file system that ignores case makes of a folder's name."""
    return nfc(nfc(student).casefold())


def lab_of(name: str, labs: Sequence[str], *, exact: bool = False) -> str:
    """The lab that a file's or folder's name says; "" if it says none or more than one.

    >>> lab_of("Copy of Random_Walks (1).ipynb", ["random-walks"]), lab_of("x.ipynb", ["random-walks"])
    ('random-walks', '')
    """
    said = letters(stem(name))
    found = [lab for lab in labs if (letters(lab) == said if exact else letters(lab) in said)]
    return found[0] if len(found) == 1 else ""


def lab_of_cells(data: bytes, grade_ids: Mapping[str, str]) -> str:
    """The lab whose cells a notebook holds, "" if that cannot be said.

    The bytes are searched, not parsed: no nesting and no number in them can do harm.

    Parameters
    ----------
    data : bytes
    grade_ids : mapping of str to str
        The lab of each grade_id that stands in one lab only.
    """
    count = defaultdict(set)
    for name in grade_ids_in(data):
        if lab := grade_ids.get(name):
            count[lab].add(name)
    most = sorted(count, key=lambda lab: len(count[lab]), reverse=True)
    return most[0] if len(most) == 1 or (most and len(count[most[0]]) > len(count[most[1]])) else ""


def grade_ids_in(data: bytes) -> set[str]:
    """The grade_ids that stand in a notebook's bytes, which are not parsed."""
    # In UTF-16 every other byte of a grade_id is zero.
    found = re.findall(rb'"grade_id"\s{0,9}:\s{0,9}"([\w-]{1,80})"', data.replace(b"\0", b""))
    return {name.decode("ascii", "replace") for name in found}


def copy_number(path: str) -> int:
    """The number of a copy, 0 for none.

    >>> [copy_number(f"random-walks{end}.ipynb") for end in ("", "-2", " (2)", "-Copy2", "_v2")]
    [0, 2, 2, 2, 2]
    """
    match = _COPY.search(stem(path))
    return int(match[1]) if match else 0


def shown(text: str, longest: int = 200) -> str:
    """Text that can be printed: what is invisible or no character is escaped, what is long is cut.

    >>> shown("ada" + chr(27) + "[2J" + chr(0x202E))
    'ada\\\\x1b[2J\\\\u202e'
    """
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return clean if len(clean) <= longest else f"{clean[: longest * 3 // 5]}…{clean[-longest * 3 // 10 :]}"


def account_of(platform: str, name: str, account: str) -> str:
    """Whose word an account is, in words.

    >>> account_of("Moodle", "Ada", "7"), account_of("folder", "", "ada")
    ("Moodle 'Ada (7)'", "folder 'ada'")
    """
    said = account if name in ("", account) else f"{name} ({account})"
    return f"{platform} {shown(said, 80)!r}"
