"""List and read the files in folders and zips, any of which may have been made to do harm.

No zip is extracted to the disk, and the names in a zip are never used as paths. The sizes that a
zip states are checked before a file is read. The content is read in pieces, and reading stops at
the limit.
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

from autograder.core.files import NotRegularFile, open_regular_file
from autograder.intake.names import escape_unprintable, is_notebook, to_nfc
from autograder.intake.upload_limits import LIMITS, FileRefused

_OpenZip = tuple[zipfile.ZipFile, ExitStack]

CHUNK_BYTES = 1 << 18
MAX_PART_BYTES = 255  # most bytes in the name of one folder or file, as in most file systems

_JUNK_FOLDERS = {"__macosx", ".git", ".ipynb_checkpoints"}
_JUNK_FILES = {"thumbs.db", "desktop.ini"}
_COMPRESSION_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@dataclass(frozen=True, kw_only=True)
class IncomingFile:
    """One file in a folder or zip, which may become a submission.

    Parameters
    ----------
    path : str
        Path within its folder or zip, with "/" and in Unicode's NFC form. It is only compared and
        printed, and never used for opening a file.
    time : float or None
        Time of the last change, in seconds since 1970.
    read_chunks : callable
        ``read_chunks(limit)`` yields the bytes in pieces. It raises `FileRefused` if the file
        cannot be read or has more than `limit` bytes.
    problem : str
        Reason for not reading the file at all; usually "".
    note : str
        Remark for the report on the file; usually "".
    disk_path : Path or None
        Path on the disk; None for a file in a zip.
    is_class_download : bool
        True for a platform's zip of all submissions. One student's harmful file in it must not
        keep the other students' files from being read.
    """

    path: str
    time: float | None = None
    read_chunks: Callable[[int], Iterator[bytes]] = lambda limit: iter(())
    problem: str = ""
    note: str = ""
    disk_path: Path | None = None
    is_class_download: bool = False


@dataclass
class FileListing:
    """Files in a folder or a zip.

    Parameters
    ----------
    files : list of IncomingFile
    junk_count : int
        Number of unlisted files that operating systems and editors made, such as .DS_Store.
    repositories : set of str
        Paths of the folders that hold a Git repository.
    """

    files: list[IncomingFile] = field(default_factory=list)
    junk_count: int = 0
    repositories: set[str] = field(default_factory=set)

    def add(self, file: IncomingFile) -> None:
        """Add a file to the listing, or only count it if it is junk, such as a folder's .DS_Store.

        A path that ends with "/" is that of a folder. A folder is never listed, but counted if it
        is junk.
        """
        parts = file.path.split("/")
        folded_parts = [part.casefold() for part in parts]
        name = folded_parts[-1]
        if ".git" in folded_parts[:-1]:
            self.repositories.add("/".join(parts[: folded_parts.index(".git")]))
        is_hidden = name.startswith("._") or (name.startswith(".") and not is_notebook(file.path))
        is_junk = is_hidden or name in _JUNK_FILES or _JUNK_FOLDERS.intersection(folded_parts)
        if is_junk and not file.problem:
            self.junk_count += 1
        elif name or file.problem:
            self.files.append(file)


def read_content(file: IncomingFile, limit: int) -> bytes:
    """Return all bytes of a listed file; raises `FileRefused` if they are more than `limit`."""
    return b"".join(file.read_chunks(limit))


def read_file(path: Path, limit: int) -> bytes:
    """Return all bytes of a file on the disk.

    Raises
    ------
    FileRefused
        If the path is not that of an ordinary file, or the file cannot be read or has more than
        `limit` bytes.
    """
    return b"".join(_stream_file(path, limit))


def file_from_disk(path: Path) -> IncomingFile:
    """Return an `IncomingFile` for a path that the instructor gave to the command."""
    return IncomingFile(
        path=to_nfc(path.name),
        time=path.stat().st_mtime,
        read_chunks=lambda limit: _stream_file(path, limit),
        disk_path=path,
    )


# Functions that read folders


def list_folder(root: Path, skip: set[tuple[int, int]]) -> FileListing:
    """List all files below a folder, without following symbolic links.

    Parameters
    ----------
    skip : set of (device, inode)
        Folders to leave out.
    """
    listing = FileListing()
    for count, file in enumerate(_walk_folder(root, "", 0, skip)):
        if count >= LIMITS.max_class_files:
            parent = file.path.rpartition("/")[0] or "."
            problem = (
                f"There are more than {LIMITS.max_class_files:,} files; the rest of this folder "
                "was not looked at."
            )
            listing.add(IncomingFile(path=parent, problem=problem))
            break
        listing.add(file)
    listing.files.sort(key=lambda file: file.path)
    return listing


def _walk_folder(
    folder: Path,
    prefix: str,
    depth: int,
    skip: set[tuple[int, int]],
) -> Iterator[IncomingFile]:
    """Yield the files and folders below a folder. The path of a folder ends with "/".

    After the folder's own files, one file of each subfolder is yielded in turn. So a student with
    very many files does not keep the other students' files from being listed.
    """
    if depth > LIMITS.max_folder_depth:
        problem = f"It lies more than {LIMITS.max_folder_depth} folders deep."
        yield IncomingFile(path=prefix.rstrip("/"), problem=problem)
        return
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        problem = f"The folder cannot be read ({describe_error(error)})."
        yield IncomingFile(path=prefix.rstrip("/") or ".", problem=problem)
        return
    subfolders: deque[Iterator[IncomingFile]] = deque()
    for entry in entries:
        path = prefix + to_nfc(entry.name)
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield IncomingFile(path=path, problem=f"It cannot be read ({describe_error(error)}).")
            continue
        if not stat.S_ISDIR(status.st_mode):
            yield _make_incoming_file(Path(entry.path), path, status)
        elif (status.st_dev, status.st_ino) not in skip:
            yield IncomingFile(path=f"{path}/")
            if entry.name.casefold() not in _JUNK_FOLDERS:
                subfolders.append(_walk_folder(Path(entry.path), f"{path}/", depth + 1, skip))
    yield from _interleave_files(subfolders)


def _interleave_files(iterators: deque[Iterator[IncomingFile]]) -> Iterator[IncomingFile]:
    """Yield one file of each iterator in turn, until all iterators are used up."""
    while iterators:
        iterator = iterators.popleft()
        file = next(iterator, None)
        if file is not None:
            yield file
            iterators.append(iterator)


def _make_incoming_file(disk_path: Path, path: str, status: os.stat_result) -> IncomingFile:
    """Return the `IncomingFile` of a file found in a folder.

    Its `problem` is set if the file must not be read, as for a link.
    """
    is_undecodable = any("\udc80" <= character <= "\udcff" for character in path)
    return IncomingFile(
        path=path,
        time=status.st_mtime,
        read_chunks=lambda limit: _stream_file(disk_path, limit),
        problem=_file_type_problem(status.st_mode) or _find_name_problem(path),
        note="Its name is not UTF-8." if is_undecodable else "",
        disk_path=disk_path,
    )


def open_submitted_file(path: Path) -> BufferedReader:
    """Open an ordinary file for reading; raises `FileRefused` for anything else, such as a link."""
    try:
        return open_regular_file(path)
    except NotRegularFile as error:
        raise FileRefused(f"{describe_error(error)}.") from None
    except OSError as error:
        raise FileRefused(f"It cannot be read ({describe_error(error)}).") from None


def _stream_file(path: Path, limit: int) -> Iterator[bytes]:
    """Yield the bytes of a file on the disk in pieces.

    Raises `FileRefused` above the limit, also if the file grows while it is read.
    """
    with open_submitted_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise FileRefused(_size_message(size, limit))
        total = 0
        try:
            while True:
                chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return
                total += len(chunk)
                if total > limit:
                    raise FileRefused(_size_message(total, limit))
                yield chunk
        except OSError as error:
            raise FileRefused(f"It cannot be read ({describe_error(error)}).") from None


# Classes and functions that read zips


class ZipReader:
    """Reader of the members of zips, which keeps only a few zips open at a time.

    A class's zip may hold hundreds of students' zips, too many to keep open. If a member's zip has
    been closed meanwhile, it is opened again when the member is read.

    Parameters
    ----------
    zone : tzinfo
        Time zone in which the times in the zips are read, since a zip names no time zone.
    folder : Path or None
        Folder for temporary copies of zips that lie in another zip.
    """

    def __init__(self, zone: tzinfo, folder: Path | None = None):
        self.zone, self.folder = zone, folder
        self._open_zips: OrderedDict[IncomingFile, _OpenZip] = OrderedDict()

    def __enter__(self) -> "ZipReader":
        return self

    def __exit__(self, *_: object) -> None:
        for _archive, closing in self._open_zips.values():
            closing.close()

    def list_members(self, zip_file: IncomingFile) -> FileListing:
        """List the files in a zip; raises `FileRefused` if it is no zip or could do harm."""
        return self._list_open_archive(zip_file, self._open_cached_zip(zip_file))

    def _open_cached_zip(self, zip_file: IncomingFile) -> zipfile.ZipFile:
        """Open a zip. If too many are open then, close the least recently used one."""
        if zip_file not in self._open_zips:
            with ExitStack() as closing:
                if zip_file.disk_path:
                    stream: IO[bytes] = closing.enter_context(
                        open_submitted_file(zip_file.disk_path)
                    )
                else:
                    stream = closing.enter_context(self._copy_inner_zip_to_temporary_file(zip_file))
                archive = closing.enter_context(
                    _open_checked_zip(stream, zip_file.is_class_download),
                )
                self._open_zips[zip_file] = archive, closing.pop_all()
            if len(self._open_zips) > LIMITS.max_open_zips:
                _, (_, oldest) = self._open_zips.popitem(last=False)
                oldest.close()
        self._open_zips.move_to_end(zip_file)
        return self._open_zips[zip_file][0]

    @contextmanager
    def _copy_inner_zip_to_temporary_file(self, zip_file: IncomingFile) -> Iterator[IO[bytes]]:
        """Copy a zip that lies in another zip to a temporary file.

        The file has no name in the file system, and is deleted when it is closed.
        """
        folder = str(self.folder) if self.folder and self.folder.is_dir() else None
        with tempfile.SpooledTemporaryFile(max_size=LIMITS.max_in_memory_bytes, dir=folder) as file:
            for chunk in zip_file.read_chunks(LIMITS.max_inner_zip_bytes):
                file.write(chunk)
            yield file

    def _list_open_archive(self, zip_file: IncomingFile, archive: zipfile.ZipFile) -> FileListing:
        """List the members of an open zip, in the order of their names."""
        names: Counter[str] = Counter()
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            # Recognise a folder by its name: ZipInfo.is_dir() raises an exception on a name that
            # begins with a zero byte.
            if not info.orig_filename.endswith(("/", "\\")):
                name = _member_name(info)
                names[name] += 1
                # If two members have the same name, keep the later one, as unpacking the zip would.
                members[name] = info
        listing = FileListing()
        for name, info in sorted(members.items()):
            listing.add(self._file_from_member(zip_file, name, info, names[name]))
        return listing

    def _file_from_member(
        self, zip_file: IncomingFile, name: str, info: zipfile.ZipInfo, copy_count: int
    ) -> IncomingFile:
        """Return the `IncomingFile` of a member of a zip.

        Parameters
        ----------
        zip_file : IncomingFile
            The zip.
        name : str
            Path of the member in the zip, as it is to be shown.
        copy_count : int
            Number of members in the zip that have this name.
        """
        notes = []
        problem = _find_name_problem(info.orig_filename.replace("\\", "/"))
        problem = problem or _file_type_problem(info.external_attr >> 16)
        if "\\" in info.orig_filename:
            notes.append("Its name has backslashes; they were taken as slashes.")
        if copy_count > 1 and zip_file.is_class_download:
            problem = problem or (
                f"The zip holds {copy_count} files of this name, which may be several people's."
            )
        elif copy_count > 1:
            notes.append("The zip holds this name more than once; the last one counts.")
        return IncomingFile(
            # Cut a very long name, so that matching it with patterns is fast. A file with such a
            # name has a problem, so it is not read.
            path=name[: LIMITS.max_name_characters],
            time=_member_time(info, zip_file.time, self.zone),
            read_chunks=self._make_member_reader(zip_file, info),
            problem=problem,
            note=" ".join(notes),
        )

    def _make_member_reader(
        self,
        zip_file: IncomingFile,
        info: zipfile.ZipInfo,
    ) -> Callable[[int], Iterator[bytes]]:
        """Return a function that yields the bytes of a member of a zip.

        The function opens the zip again if it has been closed meanwhile.
        """
        return lambda limit: _stream_zip_member(self._open_cached_zip(zip_file), info, limit)


class _FileRefusingLargeReads:
    """File object for `zipfile` that refuses a single read of more than `max_read_bytes`.

    `zipfile` reads the table of contents (the central directory) of a zip at once into memory,
    however long the zip says that it is.
    """

    def __init__(self, file: IO[bytes], max_read_bytes: int):
        self._file, self._max_read_bytes = file, max_read_bytes
        self.size = file.seek(0, os.SEEK_END)
        self.seek, self.tell, self.seekable = file.seek, file.tell, lambda: True

    def read(self, count: int = -1) -> bytes:
        if count is None or count < 0:
            count = self.size - self.tell()
        if count > self._max_read_bytes:
            raise FileRefused(
                f"The zip's table of contents alone has {count / 1e6:.0f} MB; "
                f"{self._max_read_bytes / 1e6:.0f} MB are the most."
            )
        return self._file.read(count)


def _open_checked_zip(file: IO[bytes], is_class_download: bool = False) -> zipfile.ZipFile:
    """Open a zip; raises `FileRefused` if it is damaged, too large or a zip bomb.

    Parameters
    ----------
    is_class_download : bool
        True for a platform's zip of all submissions, which has higher limits.
    """
    max_files, max_directory_bytes = LIMITS.max_zip_files, LIMITS.max_zip_directory_bytes
    if is_class_download:
        max_files, max_directory_bytes = LIMITS.max_class_files, LIMITS.max_class_directory_bytes
    try:
        bounded_file = _FileRefusingLargeReads(file, max_directory_bytes)
        archive = zipfile.ZipFile(bounded_file)  # it calls only read, seek, tell and seekable
    except FileRefused:
        raise
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise FileRefused(f"It is not a whole, valid zip ({describe_error(error)}).") from None
    members, size = archive.infolist(), bounded_file.size
    if len(members) > max_files:
        raise FileRefused(
            f"The zip has {len(members):,} members; {max_files:,} are the most. Unpack it and "
            "collect the folder."
        )
    if sum(info.compress_size for info in members) > size:
        raise FileRefused("The zip's members overlap, as in a zip bomb, or its sizes are wrong.")
    total = sum(info.file_size for info in members)
    is_bomb = total > LIMITS.max_compression_ratio * size and total > 100 * LIMITS.min_bomb_bytes
    # In a platform's zip of all submissions, one student's file may be the zip bomb. Then only that
    # file is refused, when it is read.
    if is_bomb and not is_class_download:
        raise FileRefused(
            f"The zip would unpack to {total / size:,.0f} times its size ({total / 1e9:,.1f} "
            "GB), as a zip bomb does."
        )
    return archive


def _member_name(info: zipfile.ZipInfo) -> str:
    """Return the path of a zip's member, with "/" and without empty parts."""
    name = info.orig_filename
    is_utf8 = info.flag_bits & 0x800
    if not is_utf8:
        # The zip does not say that this name is in UTF-8, so zipfile has decoded it as cp437. But
        # zips from a Mac have names in UTF-8 without saying so. Text in another encoding hardly
        # ever decodes as UTF-8, so try UTF-8 first.
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    parts = name.replace("\\", "/").split("/")
    return to_nfc("/".join(part for part in parts if part not in ("", "."))) or "(no name)"


def _member_time(info: zipfile.ZipInfo, default: float | None, zone: tzinfo) -> float | None:
    """Return the time of a file in a zip, in seconds since 1970; the default if none is stored."""
    if info.date_time <= (1980, 1, 1, 0, 0, 0):  # written by zip programs that know no time
        return default
    try:
        return datetime(*info.date_time, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return default


def _find_name_problem(name: str) -> str:
    """Return the reason not to read a file with this path, such as ".." in it; else ""."""
    parts = name.split("/")
    if name.startswith("/"):
        return "Its name is an absolute path."
    if re.match(r"[A-Za-z]:", name):
        return "Its name begins with a drive letter."
    if ".." in parts:
        return "Its name leads out of the folder (..)."
    if any(unicodedata.category(character) == "Cc" for character in name):
        return "Its name holds control characters."
    if len(parts) - 1 > LIMITS.max_folder_depth:  # the last part is the file's own name
        return f"It lies more than {LIMITS.max_folder_depth} folders deep."
    longest_part = max(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    if len(name) > LIMITS.max_name_characters or longest_part > MAX_PART_BYTES:
        return f"Its name is too long ({len(name):,} characters)."
    return ""


def _file_type_problem(mode: int) -> str:
    """Return the reason not to read a file with this Unix mode, such as a link's; else ""."""
    if stat.S_ISLNK(mode):
        return "It is a link; links are not followed."
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):  # most zips give no type: 0
        return "It is not an ordinary file but a pipe, a socket or a device."
    return ""


def _stream_zip_member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    limit: int,
) -> Iterator[bytes]:
    """Yield the bytes of a zip's member in pieces.

    Raises
    ------
    FileRefused
        If the member is encrypted, damaged, a zip bomb, or larger than `limit` bytes.
    """
    is_encrypted = info.flag_bits & 1
    if is_encrypted:
        raise FileRefused(
            "It is encrypted. Unpack the zip with its password and collect the folder.",
        )
    if info.compress_type not in _COMPRESSION_METHODS:  # bzip2 and LZMA need unbounded memory
        raise FileRefused(
            "It is compressed in an unusual way. Unpack the zip and collect the folder.",
        )
    if info.file_size > limit:
        raise FileRefused(_size_message(info.file_size, limit))
    ratio = info.file_size / max(info.compress_size, 1)
    if info.file_size > LIMITS.min_bomb_bytes and ratio > LIMITS.max_compression_ratio:
        raise FileRefused(f"It would unpack to {ratio:,.0f} times its size, as a zip bomb does.")
    total = 0
    try:
        with archive.open(info) as member:
            while True:
                chunk = member.read(CHUNK_BYTES)
                if not chunk:
                    break
                total += len(chunk)
                yield chunk
    except Exception as error:  # noqa: BLE001 - a hostile zip can make zipfile raise anything
        raise FileRefused(
            f"It is damaged: it cannot be unpacked ({describe_error(error)}).",
        ) from None
    if total != info.file_size:
        raise FileRefused(
            f"It is damaged: it has {total:,} bytes where the zip says {info.file_size:,}.",
        )


def _size_message(size: int, limit: int) -> str:
    return f"It has {size / 1e6:,.0f} MB; {limit / 1e6:,.0f} MB are the most."


def describe_error(error: Exception) -> str:
    """Return the message of an exception in a form that can end a sentence."""
    text = str(getattr(error, "strerror", None) or error).split("\n")[0]
    return escape_unprintable(text, 120).rstrip(".") or type(error).__name__
