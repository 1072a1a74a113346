"""Compare the names of students, files and labs, make folder names of them, and print them safely.

The functions take any text and never raise, since a name may hold anything. None of them reads or
writes a file.
"""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

# Some browsers add .txt or .json when they save a notebook.
NOTEBOOK_SUFFIX = re.compile(r"\.ipynb(?:\.txt|\.json)?$", re.IGNORECASE)
# Maximal length of the name of a student's folder. On Windows a whole path may have at most 260
# characters, with the suffix of a lock file.
MAX_FOLDER_NAME_BYTES = 100
# Invisible letters and marks. With them, two names could look the same and yet differ.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_PORTS = {f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"}
_WINDOWS_DEVICES = {"con", "prn", "aux", "nul"} | _PORTS
_COPY_NUMBER = re.compile(r"(?:[-_ ](?:v|copy)?|\()(\d{1,6})\)?$", re.IGNORECASE)
# Names that identify no student: those of folders around a class's submissions (containers), and
# those that many students give to their own work (generic names).
_CONTAINER_NAMES = (
    r"submissions?|submitted|hand ?ins?|downloads?|exports?|class|course|term|week|labs?|hw|home ?work|"
    r"assignments?|exercises?|attention labs"
)
_GENERIC_NAMES = r"untitled|notebook|copy|work|my work|final|solutions?|answers?|project|src|code|main|new|old|test"
_CONTAINER = re.compile(rf"(?:{_CONTAINER_NAMES})[\d\W_]*", re.IGNORECASE)
_GENERIC = re.compile(rf"(?:{_CONTAINER_NAMES}|{_GENERIC_NAMES})[\d\W_]*", re.IGNORECASE)


def is_notebook(path: str) -> bool:
    return bool(NOTEBOOK_SUFFIX.search(path))


def is_zip(path: str) -> bool:
    return path.casefold().endswith(".zip")


def to_nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@lru_cache(10_000)  # called with the same folder's name for every file in the folder
def normalise_name(name: str) -> str:
    """Return the letters and digits of a name in lower case, for comparing spellings.

    Marks stay, such as the vowel signs of Hindi and Thai: without them, two names would be one.

    >>> normalise_name("Lovelace, Ada") == normalise_name("LOVELACE ada")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(filter(_is_part_of_name, folded))


def _is_part_of_name(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def normalise_words(name: str) -> str:
    """Return a name's words as `normalise_name` writes them, in their order, with single blanks.

    >>> normalise_words("Ann Alee") == normalise_words("Anna Lee"), normalise_words("Jo-Ann  Li")
    (False, 'joann li')
    """
    return " ".join(filter(None, map(normalise_name, re.split(r"[\s,]+", name))))


def get_stem(path: str) -> str:
    """Return the name of a file without its folders and without .ipynb or .zip."""
    name = PurePosixPath(path).name
    return re.sub(r"\.zip$", "", NOTEBOOK_SUFFIX.sub("", name), flags=re.IGNORECASE)


def is_generic_name(name: str) -> bool:
    """Return True if many people give this name to their work, such as "notebook" or "final".

    >>> is_generic_name("Untitled1"), is_generic_name("final_v2"), is_generic_name("jane_doe")
    (True, False, False)
    """
    return bool(_GENERIC.fullmatch(name))


def is_named_like_class_folder(name: str, labs: Sequence[str]) -> bool:
    """Return True if a folder's name is usual for a folder that holds a class's submissions.

    >>> [is_named_like_class_folder(name, []) for name in ("Lab 2", "x-submissions", "jane", "work")]
    [True, True, False, False]
    """
    if _CONTAINER.fullmatch(name) or name.endswith("-submissions"):
        return True
    return bool(find_lab_by_name(name, labs, exact=True))


def make_safe_folder_name(student: str) -> str:
    """Return a safe name for a student's folder; different names give different folders.

    Letters and digits of every script, spaces and ``-_.@'`` stay; anything else becomes "-". A name
    that had to be changed gets a few digits of its hash, so that two names do not become one
    folder.

    >>> make_safe_folder_name("Ada Lovelace"), make_safe_folder_name("../ada")
    ('Ada Lovelace', 'ada-60088279')
    """
    name = to_nfc(student).strip()
    safe = ""
    for character in _INVISIBLE.sub("-", name):
        is_safe = character in " -_.@'" or unicodedata.category(character)[0] in "LMN"
        safe += character if is_safe else "-"
    safe = re.sub(" +", " ", safe).strip(" .").lstrip("-. ")
    is_device = safe.split(".")[0].strip().casefold() in _WINDOWS_DEVICES
    if safe and safe == name and len(safe.encode()) <= MAX_FOLDER_NAME_BYTES and not is_device:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    short = safe.encode()[: MAX_FOLDER_NAME_BYTES - len(digest) - 1].decode("utf-8", "ignore")
    return f"{short.strip(' .-').replace('.', '-') or 'student'}-{digest}"


def fold_case(name: str) -> str:
    """Return a form of a name that is equal for names that differ only in upper and lower case.

    Some file systems compare the names of folders in this way.
    """
    return to_nfc(to_nfc(name).casefold())


def find_lab_by_name(name: str, labs: Sequence[str], *, exact: bool = False) -> str:
    """Return the lab whose name is in a file's or folder's name; "" if no lab or several match.

    Parameters
    ----------
    exact : bool
        Accept only a lab's whole name, apart from case, punctuation, and the suffix of the file.

    >>> find_lab_by_name("Copy of Random_Walks (1).ipynb", ["random-walks"])
    'random-walks'
    """
    text = normalise_name(get_stem(name))
    if exact:
        matches = [lab for lab in labs if normalise_name(lab) == text]
    else:
        matches = [lab for lab in labs if normalise_name(lab) in text]
    return matches[0] if len(matches) == 1 else ""


def find_lab_by_cells(data: bytes, grade_ids: Mapping[str, str]) -> str:
    """Return the lab that most cells of a notebook belong to; "" if there is none, or a tie.

    The notebook's bytes are searched and not parsed as JSON, since parsing could fail or take very
    long for a file that was made to do harm.

    Parameters
    ----------
    grade_ids : mapping of str to str
        Lab of each nbgrader grade_id that belongs to one lab only.
    """
    names = defaultdict(set)
    for name in find_grade_ids(data):
        lab = grade_ids.get(name)
        if lab:
            names[lab].add(name)
    ranking = sorted(names, key=lambda lab: len(names[lab]), reverse=True)
    if not ranking:
        return ""
    is_tie = len(ranking) > 1 and len(names[ranking[0]]) == len(names[ranking[1]])
    return "" if is_tie else ranking[0]


def find_grade_ids(data: bytes) -> set[str]:
    """Return nbgrader's grade_ids in the bytes of a notebook, without parsing it as JSON."""
    # Remove zero bytes. In a file in UTF-16, every other byte of a grade_id is zero.
    ascii_data = data.replace(b"\0", b"")
    names = re.findall(rb'"grade_id"\s{0,9}:\s{0,9}"([\w-]{1,80})"', ascii_data)
    return {name.decode("ascii", "replace") for name in names}


def copy_number(path: str) -> int:
    """Return the number that a file's name has as a copy, such as 2 for "a (2).ipynb", else 0.

    >>> [copy_number(f"random-walks{end}.ipynb") for end in ("", "-2", " (2)", "-Copy2", "_v2")]
    [0, 2, 2, 2, 2]
    """
    match = _COPY_NUMBER.search(get_stem(path))
    return int(match[1]) if match else 0


def escape_unprintable(text: str, max_characters: int = 200) -> str:
    """Return a text for printing. Escape unprintable characters, and cut a long text in the middle.

    >>> escape_unprintable("ada" + chr(27) + "[2J" + chr(0x202E))
    'ada\\\\x1b[2J\\\\u202e'
    """
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(clean) <= max_characters:
        return clean
    return f"{clean[: max_characters * 3 // 5]}…{clean[-max_characters * 3 // 10 :]}"


def describe_account(platform: str, name: str, account: str) -> str:
    """Return a description of an account on a platform, for use in a sentence.

    >>> describe_account("Moodle", "Ada", "7"), describe_account("folder", "", "ada")
    ("Moodle 'Ada (7)'", "folder 'ada'")
    """
    text = account if name in ("", account) else f"{name} ({account})"
    return f"{platform} {escape_unprintable(text, 80)!r}"
