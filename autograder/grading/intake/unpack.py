"""The files in a folder or a zip, listed and read without trusting what they say of themselves.

Nothing is extracted: a zip's names are only looked at, never used as paths, and contents come as a stream
whose length is checked as it flows. Sizes are looked at before anything is built from them.
"""

import os
import re
import stat
import tempfile
import unicodedata
import zipfile
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from io import BufferedReader
from pathlib import Path
from typing import IO

from autograder.files import NotOrdinary, open_ordinary
from autograder.grading.intake.budget import LIMITS, Refused
from autograder.grading.intake.names import is_notebook, nfc, shown

CHUNK = 1 << 18

_JUNK_FOLDERS = {"__macosx", ".git", ".ipynb_checkpoints"}
_JUNK_FILES = {"thumbs.db", "desktop.ini"}
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True, kw_only=True)
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
    of_class : bool
        Whether it is a zip that a platform made of all hand-ins: what one of them holds must not refuse it.
    """

    path: str
    time: float | None = None
    chunks: Callable[[int], Iterator[bytes]] = lambda limit: iter(())
    trouble: str = ""
    note: str = ""
    file: Path | None = None
    of_class: bool = False


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
        """Add a file, unless it is junk; a folder's path ends with "/", and only junk is counted."""
        parts = found.path.split("/")
        folders = [part.casefold() for part in parts]
        if ".git" in folders[:-1]:
            self.clones.add("/".join(parts[: folders.index(".git")]))
        hidden = folders[-1][:2] == "._" or (folders[-1][:1] == "." and not is_notebook(found.path))
        junk = hidden or _JUNK_FOLDERS.intersection(folders) or folders[-1] in _JUNK_FILES
        if junk and not found.trouble:
            self.junk += 1
        elif parts[-1] or found.trouble:
            self.found.append(found)


def read(found: Found, limit: int) -> bytes:
    """A small file's bytes; raises `Refused` above the limit."""
    return b"".join(found.chunks(limit))


def read_file(path: Path, limit: int) -> bytes:
    """A file's bytes; raises `Refused` for a link, a pipe, what may not be read, and above the limit."""
    return b"".join(_stream_file(path, limit))


def one_file(path: Path) -> Found:
    """A file that was named itself."""
    return Found(
        path=nfc(path.name),
        time=path.stat().st_mtime,
        chunks=lambda limit: _stream_file(path, limit),
        file=path,
    )


def in_folder(root: Path, skip: set[tuple[int, int]]) -> Listing:
    """List a folder with all below it, without following a link.

    Parameters
    ----------
    root : Path
    skip : set of (device, inode)
        Folders not to go into.
    """
    listing = Listing()
    for seen, entry in enumerate(_walk(root, "", 0, skip)):
        if seen >= LIMITS.class_members:
            above = entry.path.rpartition("/")[0] or "."
            why = f"There are more than {LIMITS.class_members:,} files; the rest of this folder was not looked at."
            listing.take(Found(path=above, trouble=why))
            break
        listing.take(entry)
    listing.found.sort(key=lambda found: found.path)
    return listing


def _walk(folder: Path, above: str, deep: int, skip: set[tuple[int, int]]) -> Iterator[Found]:
    """What lies below a folder, one of each folder in turn: who has very many files keeps nobody else's out.

    Folders come as well, with a "/" after their names.
    """
    if deep > LIMITS.folders_deep:
        yield Found(path=above.rstrip("/"), trouble=f"It lies more than {LIMITS.folders_deep} folders deep.")
        return
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        yield Found(path=above.rstrip("/") or ".", trouble=f"The folder cannot be read ({in_words(error)}).")
        return
    below: deque[Iterator[Found]] = deque()
    for entry in entries:
        name = above + nfc(entry.name)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield Found(path=name, trouble=f"It cannot be read ({in_words(error)}).")
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield _entry(Path(entry.path), name, status)
        elif (status.st_dev, status.st_ino) not in skip:
            yield Found(path=f"{name}/")
            if entry.name.casefold() not in _JUNK_FOLDERS:
                below.append(_walk(Path(entry.path), f"{name}/", deep + 1, skip))
    while below:
        one = below.popleft()
        if (found := next(one, None)) is not None:
            yield found
            below.append(one)


def _entry(path: Path, name: str, status: os.stat_result) -> Found:
    return Found(
        path=name,
        time=status.st_mtime,
        chunks=lambda limit: _stream_file(path, limit),
        trouble=_bad_kind(status.st_mode) or _bad_name(name),
        note="Its name is not UTF-8." if any("\udc80" <= c <= "\udcff" for c in name) else "",
        file=path,
    )


def opened(path: Path) -> BufferedReader:
    """`open_ordinary`, with a sentence: raises `Refused`."""
    try:
        return open_ordinary(path)
    except NotOrdinary as error:
        raise Refused(f"{in_words(error)}.") from None
    except OSError as error:
        raise Refused(f"It cannot be read ({in_words(error)}).") from None


def _stream_file(path: Path, limit: int) -> Iterator[bytes]:
    with opened(path) as file:
        size, left = os.fstat(file.fileno()).st_size, limit
        if size > limit:
            raise Refused(_too_large(size, limit))
        try:
            while chunk := file.read(CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise Refused(_too_large(limit - left, limit))
                yield chunk
        except OSError as error:
            raise Refused(f"It cannot be read ({in_words(error)}).") from None


class Zips:
    """Zips, opened when they are read and closed when others are.

    A class's zip may hold hundreds of students' zips, so that not all can be open: a file in a zip knows the
    zip that it lies in, which is opened again if need be.

    Parameters
    ----------
    zone : tzinfo
        Where the zips were made: a zip's times are local ones.
    folder : Path or None
        Where a zip that lies in another is kept while it is read; nothing of it stays.
    """

    def __init__(self, zone: tzinfo, folder: Path | None = None):
        self.zone, self.folder = zone, folder
        self._open: OrderedDict[Found, tuple[zipfile.ZipFile, ExitStack]] = OrderedDict()

    def __enter__(self) -> "Zips":
        return self

    def __exit__(self, *_: object) -> None:
        for _archive, closing in self._open.values():
            closing.close()

    def listing(self, found: Found) -> Listing:
        """What lies in a zip; raises `Refused` if it is no zip, or one that could do harm."""
        return self._members(found, self._archive(found))

    def _archive(self, found: Found) -> zipfile.ZipFile:
        if found not in self._open:
            with ExitStack() as closing:
                file = closing.enter_context(opened(found.file) if found.file else self._spooled(found))
                archive = closing.enter_context(_checked(file, found.of_class))
                self._open[found] = archive, closing.pop_all()
            if len(self._open) > LIMITS.open_zips:
                _, (_, oldest) = self._open.popitem(last=False)
                oldest.close()
        self._open.move_to_end(found)
        return self._open[found][0]

    @contextmanager
    def _spooled(self, found: Found) -> Iterator[IO[bytes]]:
        """A zip in a zip: without a name, and gone when closed."""
        folder = str(self.folder) if self.folder and self.folder.is_dir() else None
        with tempfile.SpooledTemporaryFile(max_size=LIMITS.in_memory, dir=folder) as file:
            for chunk in found.chunks(LIMITS.inner_zip):
                file.write(chunk)
            yield file

    def _members(self, outer: Found, archive: zipfile.ZipFile) -> Listing:
        # ZipInfo.is_dir() raises on a name that begins with a zero byte.
        members = [i for i in archive.infolist() if not i.orig_filename.endswith(("/", "\\"))]
        named = [(_member_name(info), info) for info in members]
        same = Counter(name for name, _ in named)
        listing = Listing()
        # Of two members with one name the last is the one that unpacking leaves: it counts, in a student's own zip.
        last = dict(named)
        for name, info in sorted(last.items()):
            notes = []
            trouble = _bad_name(info.orig_filename.replace("\\", "/")) or _bad_kind(info.external_attr >> 16)
            if "\\" in info.orig_filename:
                notes.append("Its name has backslashes; they were taken as slashes.")
            if same[name] > 1 and outer.of_class:
                several = f"The zip holds {same[name]} files of this name, which may be several people's."
                trouble = trouble or several
            elif same[name] > 1:
                notes.append("The zip holds this name more than once; the last one counts.")
            listing.take(
                Found(
                    path=name[: LIMITS.name],  # what is longer is refused, and patterns need not look at it
                    time=_member_time(info, outer.time, self.zone),
                    chunks=self._reader(outer, info),
                    trouble=trouble,
                    note=" ".join(notes),
                )
            )
        return listing

    def _reader(self, outer: Found, info: zipfile.ZipInfo) -> Callable[[int], Iterator[bytes]]:
        return lambda limit: _stream_member(self._archive(outer), info, limit)


class _Bounded:
    """A file of which zipfile cannot read more at once than a table of contents may have.

    zipfile looks for the table and then reads it whole, however long it says it is.
    """

    def __init__(self, file: IO[bytes], most: int):
        self._file, self._most = file, most
        self.size = file.seek(0, os.SEEK_END)
        self.seek, self.tell, self.seekable = file.seek, file.tell, lambda: True

    def read(self, count: int = -1) -> bytes:
        count = self.size - self.tell() if count is None or count < 0 else count
        if count > self._most:
            raise Refused(
                f"The zip's table of contents alone has {count / 1e6:.0f} MB; {self._most / 1e6:.0f} MB "
                "are the most."
            )
        return self._file.read(count)


def _checked(file: IO[bytes], of_class: bool = False) -> zipfile.ZipFile:
    most = LIMITS.class_members if of_class else LIMITS.members
    try:
        bounded = _Bounded(file, LIMITS.class_contents if of_class else LIMITS.contents)
        archive = zipfile.ZipFile(bounded)  # it reads, seeks and tells
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise Refused(f"It is not a whole, valid zip ({in_words(error)}).") from None
    members, size = archive.infolist(), bounded.size
    if len(members) > most:
        raise Refused(
            f"The zip has {len(members):,} members; {most:,} are the most. Unpack it and collect the folder."
        )
    if sum(info.compress_size for info in members) > size:
        raise Refused("The zip's members overlap, as in a zip bomb, or its sizes are wrong.")
    total = sum(info.file_size for info in members)
    # In a class's zip the bomb is one student's: that member is refused when it is read.
    if not of_class and total > LIMITS.ratio * size and total > 100 * LIMITS.bomb_from:
        raise Refused(
            f"The zip would unpack to {total / size:,.0f} times its size ({total / 1e9:,.1f} GB), as a zip "
            "bomb does."
        )
    return archive


def _member_name(info: zipfile.ZipInfo) -> str:
    name = info.orig_filename
    if not info.flag_bits & 0x800:
        # Unmarked names are cp437 by the book, but UTF-8 from a Mac: only UTF-8 looks like UTF-8.
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = name.replace("\\", "/").split("/")
    return nfc("/".join(part for part in parts if part not in ("", "."))) or "(no name)"


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
    if len(parts) > LIMITS.folders_deep:
        return f"It lies more than {LIMITS.folders_deep} folders deep."
    if len(name) > LIMITS.name or any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts):
        return f"Its name is too long ({len(name):,} characters)."
    return ""


def _bad_kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "It is a link; links are not followed."
    ordinary = stat.S_IFMT(mode) in (0, stat.S_IFREG)  # most zips do not say
    return "" if ordinary else "It is not an ordinary file but a pipe, a socket or a device."


def _stream_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    if info.flag_bits & 1:
        raise Refused("It is encrypted. Unpack the zip with its password and collect the folder.")
    if info.compress_type not in _METHODS:  # bzip2 and LZMA cannot be unpacked in bounded memory
        raise Refused("It is compressed in an unusual way. Unpack the zip and collect the folder.")
    if info.file_size > limit:
        raise Refused(_too_large(info.file_size, limit))
    if info.file_size > LIMITS.bomb_from and info.file_size > LIMITS.ratio * max(info.compress_size, 1):
        ratio = info.file_size / max(info.compress_size, 1)
        raise Refused(f"It would unpack to {ratio:,.0f} times its size, as a zip bomb does.")
    done = 0
    try:
        with archive.open(info) as member:
            while chunk := member.read(CHUNK):
                done += len(chunk)
                yield chunk
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise Refused(f"It is damaged: it cannot be unpacked ({in_words(error)}).") from None
    if done != info.file_size:
        raise Refused(f"It is damaged: it has {done:,} bytes where the zip says {info.file_size:,}.")


def _too_large(size: int, limit: int) -> str:
    return f"It has {size / 1e6:,.0f} MB; {limit / 1e6:,.0f} MB are the most."


def in_words(error: Exception) -> str:
    """What an exception says, for the end of a sentence."""
    text = str(getattr(error, "strerror", None) or error).split("\n")[0]
    return shown(text, 120).rstrip(".") or type(error).__name__
