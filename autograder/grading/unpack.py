"""The files in a folder or a zip, listed and read without trusting what they say of themselves.

Nothing is extracted: a zip's names are only looked at, never used as paths, and contents come as a stream
whose length is checked as it flows.
"""

import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import BinaryIO

from autograder.grading.handin import MAX_BYTES

MAX_FILE = 4 * MAX_BYTES  # above MAX_BYTES a notebook is a hand-in all the same, and marked as too large
MAX_ZIP = 500_000_000  # of a zip within a zip
MAX_MEMBERS = 10_000
MAX_CONTENTS = 16_000_000  # bytes of a zip's table of contents; zipfile reads it whole into memory
MAX_ENTRIES = 200_000  # files and folders below a folder given
MAX_RATIO = 200  # a notebook shrinks to a twentieth at best; deflate can reach a thousandth
BOMB_FROM = 1_000_000  # bytes; what unpacks to less harms nobody, whatever its ratio
MAX_NAME = 1_000
CHUNK = 1 << 18

_JUNK_FOLDERS = {"__macosx", ".git", ".ipynb_checkpoints"}
_JUNK_FILES = {"thumbs.db", "desktop.ini"}
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


class Refused(Exception):
    """Something that is not read or not written; the text is the sentence for the table."""


@dataclass(frozen=True)
class Found:
    """One file, by the name it has in its folder or zip.

    Parameters
    ----------
    path : str
        Its parts joined by "/", in Unicode's NFC; for looking at, never for opening.
    time : float or None
        When it was last changed, in seconds since 1970.
    chunks : callable
        ``chunks(limit)`` gives its bytes in pieces; raises `Refused` if they cannot be had or are too many.
    trouble : str
        Why it is not to be read at all; "" usually.
    note : str
        What is odd about it.
    file : Path or None
        Where it is, if it is a file on the disk.
    """

    path: str
    time: float | None
    chunks: Callable[[int], Iterator[bytes]]
    trouble: str = ""
    note: str = ""
    file: Path | None = None


@dataclass
class Listing:
    """What lies in a folder or a zip.

    Parameters
    ----------
    found : list of Found
    junk : int
        How many files of operating systems and editors were passed over.
    clones : set of str
        The folders that hold a Git repository.
    """

    found: list[Found] = field(default_factory=list)
    junk: int = 0
    clones: set[str] = field(default_factory=set)

    def take(self, found: Found) -> None:
        """Add a file, unless it is junk."""
        parts = found.path.split("/")
        folders = [part.casefold() for part in parts]
        if ".git" in folders[:-1]:
            self.clones.add("/".join(parts[: folders.index(".git")]))
        junk = _JUNK_FOLDERS.intersection(folders) or folders[-1] in _JUNK_FILES or folders[-1][:1] == "."
        if junk and not found.trouble:
            self.junk += 1
        else:
            self.found.append(found)


def is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def read(found: Found, limit: int) -> bytes:
    """A small file's bytes; raises `Refused` above the limit."""
    return b"".join(found.chunks(limit))


def one_file(path: Path) -> Found:
    """A file that was named itself."""
    return Found(_nfc(path.name), path.stat().st_mtime, lambda limit: _stream_file(path, limit), file=path)


def in_folder(root: Path, skip: set[tuple[int, int]]) -> Listing:
    """List a folder with all below it, without following a link.

    Parameters
    ----------
    skip : set of (device, inode)
        Folders not to go into.
    """
    listing, waiting, seen = Listing(), [(root, "")], 0
    while waiting:
        folder, above = waiting.pop()
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            listing.take(_refused(above.rstrip("/") or ".", f"The folder cannot be read ({_why(error)})."))
            continue
        for entry in entries:
            seen += 1
            if seen > MAX_ENTRIES:
                why = f"There are more than {MAX_ENTRIES:,} files in here; the rest was not looked at."
                listing.take(_refused(above.rstrip("/") or ".", why))
                return listing
            name = above + _nfc(entry.name)
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                listing.take(_refused(name, f"It cannot be read ({_why(error)})."))
                continue
            if stat.S_ISDIR(status.st_mode):
                if entry.name == ".git":
                    listing.clones.add(above.rstrip("/"))
                elif entry.name.casefold() in _JUNK_FOLDERS:
                    listing.junk += 1
                elif (status.st_dev, status.st_ino) not in skip:
                    waiting.append((Path(entry.path), name + "/"))
            else:
                listing.take(_entry(Path(entry.path), name, status))
    listing.found.sort(key=lambda found: found.path)
    return listing


def _entry(path: Path, name: str, status: os.stat_result) -> Found:
    if stat.S_ISLNK(status.st_mode):
        return _refused(name, "It is a link; links are not followed.")
    if not stat.S_ISREG(status.st_mode):
        return _refused(name, "It is not an ordinary file but a pipe, a socket or a device.")
    trouble = _bad_name(name)
    note = "Its name is not UTF-8." if any("\udc80" <= c <= "\udcff" for c in name) else ""
    return Found(name, status.st_mtime, lambda limit: _stream_file(path, limit), trouble, note, path)


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file for reading; raises `Refused` for a link, a pipe or what may not be read."""
    # Without O_NONBLOCK, opening a pipe that nobody writes to would never end.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise Refused(f"It cannot be read ({_why(error)}).") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Refused("It is not an ordinary file.")
    return os.fdopen(handle, "rb")


def _stream_file(path: Path, limit: int) -> Iterator[bytes]:
    with open_ordinary(path) as file:
        left = limit
        try:
            while chunk := file.read(CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise Refused(_too_large(os.fstat(file.fileno()).st_size, limit))
                yield chunk
        except OSError as error:
            raise Refused(f"It cannot be read ({_why(error)}).") from None


@contextmanager
def opened_zip(file: BinaryIO, when: float | None, zone: tzinfo) -> Iterator[Listing]:
    """List a zip's members; they can be read as long as the context lasts.

    Parameters
    ----------
    file : seekable binary file
    when : float or None
        The time of members that have none of their own.
    zone : tzinfo
        Where the zip was made: a zip's times are local ones.

    Raises
    ------
    Refused
        If it is no zip, or one that could do harm.
    """
    archive = _open(file)
    try:
        yield _members(archive, when, zone)
    finally:
        archive.close()


def _open(file: BinaryIO) -> zipfile.ZipFile:
    try:
        size = file.seek(0, os.SEEK_END)
        # The same function as ZipFile itself uses, so that the two cannot disagree on where the table is.
        end = zipfile._EndRecData(file)
        contents = end[zipfile._ECD_SIZE] if end else 0
        if contents <= MAX_CONTENTS:
            archive = zipfile.ZipFile(file)
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise Refused(f"It is not a whole, valid zip ({_why(error)}).") from None
    if contents > MAX_CONTENTS:
        raise Refused(
            f"The zip's table of contents alone has {contents / 1e6:.0f} MB; {MAX_CONTENTS / 1e6:.0f} MB "
            "are the most."
        )
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise Refused(
            f"The zip has {len(members):,} members; {MAX_MEMBERS:,} are the most. Unpack it and collect the "
            "folder."
        )
    if sum(info.compress_size for info in members) > size:
        raise Refused("The zip's members overlap, as in a zip bomb, or its sizes are wrong.")
    total = sum(info.file_size for info in members)
    if total > MAX_RATIO * size and total > 100 * BOMB_FROM:
        raise Refused(
            f"The zip would unpack to {total / size:,.0f} times its size ({total / 1e9:,.1f} GB), as a zip "
            "bomb does."
        )
    return archive


def _members(archive: zipfile.ZipFile, when: float | None, zone: tzinfo) -> Listing:
    # ZipInfo.is_dir() raises on a name that begins with a zero byte.
    members = [info for info in archive.infolist() if not info.orig_filename.endswith(("/", "\\"))]
    named = [(_member_name(info), info) for info in members]
    same = Counter(name for name, _ in named)
    alike = Counter(name.casefold() for name in same)
    listing = Listing()
    # Of two members with one name the last is the one that unpacking leaves: it comes first here.
    named.reverse()
    for name, info in sorted(named, key=lambda pair: pair[0]):
        trouble = _bad_name(info.orig_filename.replace("\\", "/")) or _bad_kind(info)
        notes = []
        if "\\" in info.orig_filename:
            notes.append("Its name has backslashes; they were taken as slashes.")
        if same[name] > 1:
            notes.append("The zip holds this name more than once; the last one counts.")
        if alike[name.casefold()] > 1:
            notes.append("The zip holds names that differ only in case.")
        listing.take(
            Found(
                name,
                _member_time(info, when, zone),
                lambda limit, info=info: _stream_member(archive, info, limit),
                trouble,
                " ".join(notes),
            )
        )
    return listing


def _member_name(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if not info.flag_bits & 0x800:
        # Unmarked names are cp437 by the book, but UTF-8 from a Mac: only UTF-8 looks like UTF-8.
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = name.replace("\\", "/").split("/")
    return _nfc("/".join(part for part in parts if part not in ("", "."))) or "(no name)"


def _member_time(info: zipfile.ZipInfo, when: float | None, zone: tzinfo) -> float | None:
    if info.date_time <= (1980, 1, 1, 0, 0, 0):  # what is written where no time is known
        return when
    try:
        return datetime(*info.date_time, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return when


def _bad_name(name: str) -> str:
    parts = name.split("/")
    if name.startswith("/"):
        return "Its name is an absolute path."
    if re.match(r"[A-Za-z]:", name):
        return "Its name begins with a drive letter."
    if ".." in parts:
        return "Its name leads out of the folder (..)."
    if any(unicodedata.category(c) == "Cc" for c in name):
        return "Its name holds control characters."
    if len(name) > MAX_NAME or any(len(part) > 255 for part in parts):
        return f"Its name is too long ({len(name):,} characters)."
    return ""


def _bad_kind(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "It is a link; links are not followed."
    return "" if kind in (0, stat.S_IFREG) else "It is not an ordinary file but a pipe, a socket or a device."


def _stream_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    if info.flag_bits & 1:
        raise Refused("It is encrypted. Unpack the zip with its password and collect the folder.")
    if info.compress_type not in _METHODS:  # bzip2 and LZMA cannot be unpacked in bounded memory
        raise Refused("It is compressed in an unusual way. Unpack the zip and collect the folder.")
    if info.file_size > limit:
        raise Refused(_too_large(info.file_size, limit))
    if info.file_size > BOMB_FROM and info.file_size > MAX_RATIO * max(info.compress_size, 1):
        ratio = info.file_size / max(info.compress_size, 1)
        raise Refused(f"It would unpack to {ratio:,.0f} times its size, as a zip bomb does.")
    done = 0
    try:
        with archive.open(info) as member:
            while chunk := member.read(CHUNK):
                done += len(chunk)
                yield chunk
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise Refused(f"It is damaged: it cannot be unpacked ({_why(error)}).") from None
    if done != info.file_size:
        raise Refused(f"It is damaged: it has {done:,} bytes where the zip says {info.file_size:,}.")


def _refused(path: str, trouble: str) -> Found:
    return Found(path, None, lambda limit: iter(()), trouble)


def _too_large(size: int, limit: int) -> str:
    return f"It has {size / 1e6:,.0f} MB; {limit / 1e6:,.0f} MB are the most."


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _why(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.split("\n")[0][:80].rstrip(".")
