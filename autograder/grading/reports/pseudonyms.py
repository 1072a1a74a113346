"""Names that stand for students: always the same ones in a classroom, and in no other."""

import csv
import hashlib
import hmac
import io
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from autograder.files import write
from autograder.grading.marking.sanitise import harmless

_FIRST = (
    "amber azure brave bright calm cheery clever copper coral crimson dapper eager early gentle golden "
    "green happy indigo ivory jolly keen lilac lively lucky mellow merry nimble noble olive quiet rosy ruby "
    "scarlet silver sunny swift teal tidy violet witty"
).split()
_SECOND = (
    "avocet bittern bunting curlew dipper dotterel dunlin eider fieldfare finch gannet goldcrest grebe "
    "heron hoopoe ibis jackdaw kestrel kite lapwing linnet magpie martin merlin nightjar nuthatch oriole "
    "osprey ouzel petrel pipit plover puffin redstart robin sanderling shrike siskin skylark starling stork "
    "swallow tern thrush turnstone wagtail warbler waxwing whimbrel wren"
).split()


def pseudonyms(students: Iterable[str], folder: Path) -> dict[str, str]:
    """A pseudonym for each student, such as "calm-heron-417".

    The names follow from a secret key, so that nobody can find a student by trying names; key and list
    are kept in `folder`, which is not to be given away.

    Parameters
    ----------
    students : iterable of str
    folder : Path
        The classroom; `pseudonyms.csv` and `.pseudonyms-key` are written there.
    """
    key = _key(folder / ".pseudonyms-key")
    listed = _read(folder / "pseudonyms.csv")
    taken = set(listed.values())
    everybody = sorted(set(students))
    for student in everybody:
        attempt = 0
        if _cell(student) in listed:
            continue
        while (name := _name(key, student, attempt)) in taken:
            attempt += 1
        listed[_cell(student)] = name
        taken.add(name)
    _write(folder / "pseudonyms.csv", listed)
    return {student: listed[_cell(student)] for student in everybody}


def _cell(student: str) -> str:
    """A student as the list names them: no spreadsheet reads a name such as "=1+1" as a formula."""
    safe = str(harmless(student))
    return f"'{student}" if safe == student else safe


def _name(key: bytes, student: str, attempt: int) -> str:
    digest = hmac.digest(key, f"{attempt} {student}".encode("utf-8", "replace"), hashlib.sha256)
    number = int.from_bytes(digest[:8], "big")
    number, first = divmod(number, len(_FIRST))
    number, second = divmod(number, len(_SECOND))
    return f"{_FIRST[first]}-{_SECOND[second]}-{number % 900 + 100}"


def _key(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text("ascii"))
    except (OSError, ValueError):
        key = secrets.token_bytes(32)
        _private(path, key.hex())
        return key


def _read(path: Path) -> dict[str, str]:
    try:
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))[1:]
    except OSError:
        return {}
    return {row[1]: row[0] for row in rows if len(row) == 2}


def _write(path: Path, listed: dict[str, str]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["pseudonym", "student_id"])
    table.writerows(sorted((name, cell) for cell, name in listed.items()))
    _private(path, text.getvalue())


def _private(path: Path, text: str) -> None:
    write(path, text)
    os.chmod(path, 0o600)
