"""Writing a file so that nobody ever sees half of it."""

import errno
import os
from contextlib import suppress
from pathlib import Path

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


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
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        beside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say where it is
            error.filename = str(path)
        raise
