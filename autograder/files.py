"""Writing a file so that nobody ever sees half of it; reading one that somebody else has put there."""

import errno
import hashlib
import json
import os
import re
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

_BINARY = getattr(os, "O_BINARY", 0)  # else Windows would write two bytes for a line's end
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_ON_WINDOWS = os.name == "nt"
_RESERVED = re.compile(r"""[<>:"/\\|?*]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)""", re.IGNORECASE)


def concerns_disk(error: BaseException) -> bool:
    """Whether something is wrong with the disk, and so with whatever would be written next."""
    return isinstance(error, OSError) and error.errno in _DISK


def write(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write a file whole or not at all: beside it first, then renamed. Makes the folders above it.

    Parameters
    ----------
    mode : int, optional
        The file's permissions, from the first byte on.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name.encode()[:200].decode('utf-8', 'ignore')}.{os.getpid()}")
    try:
        with suppress(FileNotFoundError):
            beside.unlink()
        handle = os.open(
            beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if mode is None else mode
        )
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say where it is
            error.filename = str(path)
        raise


def why_no_folder(above: Path, name: str) -> str:
    """Why this file system has no folder of just this name, in half a sentence; "" where it can have it.

    Windows takes "a." for "a", and like macOS "Anna" for "anna": two students would be one.
    """
    if _ON_WINDOWS and _RESERVED.search(name):
        return "is a name that Windows gives to no folder"
    if os.path.lexists(above / name) and name not in os.listdir(above):
        return "cannot be told from a folder that is there: this file system takes the two names for one"
    return ""


class NotOrdinary(OSError):
    """Instead of a file there is a link, a pipe, a folder or a device."""


def open_ordinary(path: Path) -> BufferedReader:
    """Open a file for reading, if it is one: a link could lead to another student's, a pipe would never end.

    Raises
    ------
    NotOrdinary
    OSError
        If it cannot be opened.
    """
    # Without O_NONBLOCK, opening a pipe that nobody writes to would wait. Where there is no O_NOFOLLOW, what
    # is there now is all that is known.
    _must_be_ordinary(os.lstat(path))
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY
    handle = os.open(path, flags)
    try:
        _must_be_ordinary(os.fstat(handle))
    except NotOrdinary:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_ordinary(path: Path, most: int) -> bytes:
    """The first bytes of a file, `most` of them; raises as `open_ordinary` does."""
    with open_ordinary(path) as file:
        return file.read(most)


def hash_of(*parts: bytes | str) -> str:
    """SHA-256 of several parts, none of which can pass for a piece of another.

    >>> hash_of("ab", "c") == hash_of("a", "bc")
    False
    """
    data = (part.encode("utf-8", "replace") if isinstance(part, str) else part for part in parts)
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in data)).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """What we have kept as JSON, by its names; empty where there is nothing, or nothing that can be read."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def decoded(data: bytes) -> tuple[str, str]:
    """What some program has written as text, and its encoding; never raises.

    What is neither UTF-8 nor UTF-16 is read as Windows' Western one, with U+FFFD for what that has not.

    >>> decoded("Zoë".encode("utf-16-le")), decoded("Zoë".encode("cp1252"))
    (('Zoë', 'utf-16-le'), ('Zoë', 'cp1252'))
    """
    code = next((code for mark, code in _MARKS.items() if data.startswith(mark)), "utf-8")
    # Of a beginning in UTF-16 every other byte is zero; a zero in somebody's name changes nothing for the others.
    if code == "utf-8" and data[:40].count(b"\0") > len(data[:40]) // 4:
        code = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        return data.decode(code), code
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252"


def _must_be_ordinary(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOrdinary(errno.EINVAL, "It is not an ordinary file")
