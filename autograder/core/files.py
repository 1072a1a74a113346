"""Write files completely or not at all, and read files from untrusted people safely."""

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

_BINARY = getattr(os, "O_BINARY", 0)  # keeps Windows from writing "\r\n" for "\n"
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_IS_WINDOWS = os.name == "nt"
_UNUSABLE_ON_WINDOWS = re.compile(
    r"""[<>:"/\\|?*]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)""", re.IGNORECASE
)


def is_disk_error(error: BaseException) -> bool:
    """Return True if an error means that no file can be written: the disk is full or read-only."""
    return isinstance(error, OSError) and error.errno in _DISK_ERRORS


def write_file(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Write a file completely or not at all, by renaming a temporary file beside it.

    The folders above the file are created if they are missing.

    Parameters
    ----------
    mode : int, optional
        Permissions of the file. They hold already while it is being written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    short_name = path.name.encode()[:200].decode("utf-8", "ignore")
    temporary = path.with_name(f".{short_name}.{os.getpid()}")
    data = content.encode() if isinstance(content, str) else content
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
    try:
        with suppress(FileNotFoundError):
            temporary.unlink()
        handle = os.open(temporary, flags, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        # Python's error for a full disk does not name the file, so add the file's name.
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise


def explain_unusable_name(parent: Path, name: str) -> str:
    """Return why the folder `parent` cannot have a subfolder with exactly this name; "" if it can.

    The reason is the second half of a sentence that begins with the name. For Windows "a." is the
    same name as "a". For Windows and macOS "Anna" is the same name as "anna". So two students
    could end up in one folder.
    """
    if _IS_WINDOWS and _UNUSABLE_ON_WINDOWS.search(name):
        return "is a name that Windows gives to no folder"
    if os.path.lexists(parent / name) and name not in os.listdir(parent):
        reason = "this file system takes the two names for one"
        return f"cannot be told from a folder that is there: {reason}"
    return ""


class NotRegularFile(OSError):
    """Error for a path that is no regular file, but a symbolic link, a pipe or a device."""


def open_regular_file(path: Path) -> BufferedReader:
    """Open a regular file for reading in binary mode.

    Other kinds of files are refused, because they may come from a student: a symbolic link could
    lead to another student's file, and reading a pipe could wait for ever.

    Raises
    ------
    NotRegularFile
        If the path is no regular file.
    OSError
        If the file cannot be opened.
    """
    # With O_NONBLOCK, opening a pipe that nobody writes to does not wait for ever. O_NOFOLLOW
    # refuses a symbolic link. Windows does not have it, so also check the type before opening. That
    # alone is less safe, since the file could be replaced between the check and the opening.
    _require_regular(os.lstat(path))
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY
    handle = os.open(path, flags)
    try:
        _require_regular(os.fstat(handle))
    except NotRegularFile:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Return the first `max_bytes` of a regular file; raise NotRegularFile for a link or a pipe."""
    with open_regular_file(path) as file:
        return file.read(max_bytes)


def hash_parts(*parts: bytes | str) -> str:
    """Return one SHA-256 for several texts; it also depends on where each part ends.

    >>> hash_parts("ab", "c") == hash_parts("a", "bc")
    False
    """
    digests = []
    for part in parts:
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        digests.append(hashlib.sha256(data).digest())
    return hashlib.sha256(b"\0".join(digests)).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; return an empty one if the file is missing or unreadable."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def decode_text(data: bytes) -> tuple[str, str]:
    """Decode text in an unknown encoding; return the text and the name of the encoding.

    Bytes that are neither UTF-8 nor UTF-16 are read as Windows-1252. Bytes that Windows-1252 does
    not define become U+FFFD, so that decoding never fails.

    >>> decode_text("Zoë".encode("utf-16-le")), decode_text("Zoë".encode("cp1252"))
    (('Zoë', 'utf-16-le'), ('Zoë', 'cp1252'))
    """
    encoding = "utf-8"
    for mark, marked_encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            encoding = marked_encoding
            break
    # In UTF-16, about every other byte of most texts is zero. So a text with only a few zero bytes
    # has another encoding.
    beginning = data[:40]
    if encoding == "utf-8" and beginning.count(b"\0") > len(beginning) // 4:
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "cp1252"


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile(errno.EINVAL, "It is not an ordinary file")
