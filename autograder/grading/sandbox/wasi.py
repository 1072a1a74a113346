"""The system that a WebAssembly guest sees: files in memory, a clock, chance, three streams, and nothing else.

WASI preview 1, as far as CPython asks for it (witx of wasi_snapshot_preview1). Nothing here opens a file, starts a
program or reaches a network: what can be read was handed over, what is written lies in this process's memory, is
counted, and is gone with the guest. A guest may call any of this with any numbers, so each address is checked
against its memory, and each length before anything is made of it.
"""

import ctypes
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

OK, BADF, EXIST, FAULT, INVAL, ISDIR, MFILE, NAMETOOLONG = 0, 8, 20, 21, 28, 31, 33, 37
NOENT, NOSPC, NOSYS, NOTDIR, NOTEMPTY, ROFS, SPIPE = 44, 51, 52, 54, 55, 69, 70
_CHARACTER, _FOLDER, _FILE = 2, 3, 4
_EVERY_RIGHT, _RIGHT_TO_WRITE = (1 << 30) - 1, 1 << 6
MAX_PATH, MAX_NAME, MAX_NODES = 4096, 255, 4096
MAX_PLACE = 1024  # characters of a name with all folders above it
MAX_VECTORS, MAX_RANDOM, MAX_WRITE, MAX_SLEEP = 1024, 1 << 20, 1 << 24, 1e9
ROOT = 3  # the descriptor of "/"


class Refused(Exception):
    """A call that fails, with WASI's number for why."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Ended(Exception):
    """The guest has ended itself."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Shared:
    """What all guests have in common: it is not copied with their files."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(eq=False)
class Given(_Shared):
    """A file that can only be read; `read` fetches its bytes when they are first asked for."""

    read: Callable[[], bytes]

    @cached_property
    def data(self) -> bytes:
        """What is in it."""
        return self.read()


@dataclass(eq=False)
class Written:
    """A file of the guest's own."""

    data: bytearray = field(default_factory=bytearray)
    changed: int = 0


@dataclass(eq=False)
class Folder(_Shared):
    """A folder, and the names of what was `given` in it; what a guest has put there is known by its whole name alone."""

    given: list[str] = field(default_factory=list)


Node = Folder | Given | Written


def put(files: dict[str, Node], path: str, node: Node) -> None:
    """Put something at a path, with the folders that it takes."""
    name, known = path.strip("/"), False
    files[name] = node
    while name and not known:
        above = name.rpartition("/")[0]
        known = above in files
        folder = files.setdefault(above, Folder())
        assert isinstance(folder, Folder)
        folder.given.append(name)
        name = above


@dataclass
class Open:
    """What a descriptor stands for."""

    node: Node
    name: str = ""
    at: int = 0
    append: bool = False
    write: bool = False


@dataclass
class Files:
    """All of a guest's files, and those that it has open: what is copied with it.

    Parameters
    ----------
    own : dict of str to Node
        By their whole names: the folders that it may write in, and what is in them.
    left, nodes : int
        Bytes that it may still write, at least; files and folders that it may still make.
    """

    own: dict[str, Node]
    left: int
    nodes: int = MAX_NODES
    opened: dict[int, Open] = field(default_factory=dict)

    def size(self) -> int:
        """Bytes that are in them."""
        nodes = [*self.own.values(), *(opened.node for opened in self.opened.values())]
        found = {id(node): len(node.data) for node in nodes if isinstance(node, Written)}
        return sum(found.values())


class Wasi:
    """The calls of one guest.

    Parameters
    ----------
    given : dict of str to Node
        What can be read, by its whole name, as `put` makes it; shared by all guests.
    own : sequence of str
        Names of folders in the root that the guest may write in.
    env : mapping of str to str
    scratch, descriptors : int
        Bytes that it may write; files that it may have open at once.
    said : callable
        Called with a stream's number, 1 or 2, and what the guest writes there; what it raises ends the guest.
    sleep : callable
        Waits for so many seconds, or less.
    random : callable
        Gives so many bytes.
    """

    def __init__(
        self,
        given: dict[str, Node],
        own: tuple[str, ...],
        env: Mapping[str, str],
        *,
        scratch: int,
        descriptors: int,
        said: Callable[[int, bytearray], None],
        sleep: Callable[[float], object],
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._given, self._descriptors, self._scratch = given, descriptors, scratch
        self._env = [f"{name}={value}\0".encode() for name, value in env.items()]
        self._said, self._sleep, self._random = said, sleep, random
        self.files = Files({name: Folder() for name in own}, scratch)
        self.stdin = bytearray()
        self.written = 0  # bytes, to files, in all

    def call_of(self, name: str) -> Callable[..., int]:
        """The function that a guest imports under this name."""
        function = getattr(self, f"_{name}", None)
        if function is None:
            return lambda *_: NOSYS

        def call(*numbers: int) -> int:
            try:
                function(*(number & 0xFFFFFFFFFFFFFFFF for number in numbers))
            except Refused as why:
                return why.number
            return OK

        return call

    def attach(self, address: int, size: Callable[[], int]) -> None:
        """Where the guest's memory begins in this process, and how large it is by now."""
        self._address, self._size = address, size

    # The guest's memory: addresses and lengths have 32 bits, and what they say is the guest's.

    def _place(self, at: int, length: int) -> int:
        at &= 0xFFFFFFFF
        if length < 0 or at + length > self._size():
            raise Refused(FAULT)
        return self._address + at

    def _load(self, at: int, length: int) -> bytes:
        length &= 0xFFFFFFFF
        return ctypes.string_at(self._place(at, length), length)

    def _store(self, at: int, data: bytes) -> None:
        ctypes.memmove(self._place(at, len(data)), data, len(data))

    def _text(self, at: int, length: int) -> str:
        if length & 0xFFFFFFFF > MAX_PATH:
            raise Refused(NAMETOOLONG)
        try:
            return self._load(at, length).decode()
        except UnicodeDecodeError:
            raise Refused(INVAL) from None

    def _vectors(self, at: int, count: int) -> Iterator[tuple[int, int]]:
        if count & 0xFFFFFFFF > MAX_VECTORS:
            raise Refused(INVAL)
        return struct.iter_unpack("<II", self._load(at, 8 * count))

    def _gathered(self, at: int, count: int) -> bytearray:
        """What is to be written, or the beginning of it: nobody need take all at once."""
        data = bytearray()
        for place, length in self._vectors(at, count):
            data += self._load(place, min(length, MAX_WRITE - len(data)))
            if len(data) >= MAX_WRITE:
                break
        return data

    # The process

    def _args_sizes_get(self, count: int, size: int) -> None:
        self._store(count, struct.pack("<I", 1))
        self._store(size, struct.pack("<I", 7))

    def _args_get(self, at: int, text: int) -> None:
        self._store(at, struct.pack("<I", text & 0xFFFFFFFF))
        self._store(text, b"python\0")

    def _environ_sizes_get(self, count: int, size: int) -> None:
        self._store(count, struct.pack("<I", len(self._env)))
        self._store(size, struct.pack("<I", sum(map(len, self._env))))

    def _environ_get(self, at: int, text: int) -> None:
        for entry in self._env:
            self._store(at, struct.pack("<I", text & 0xFFFFFFFF))
            self._store(text, entry)
            at, text = at + 4, text + len(entry)

    def _clock_res_get(self, clock: int, at: int) -> None:
        self._store(at, struct.pack("<Q", 1000))

    def _clock_time_get(self, clock: int, precision: int, at: int) -> None:
        clocks = (time.time_ns, time.monotonic_ns, time.process_time_ns, time.process_time_ns)
        if clock >= len(clocks):
            raise Refused(INVAL)
        self._store(at, struct.pack("<Q", clocks[clock]()))

    def _random_get(self, at: int, length: int) -> None:
        if length & 0xFFFFFFFF > MAX_RANDOM:
            raise Refused(INVAL)
        self._store(at, self._random(length & 0xFFFFFFFF))

    def _sched_yield(self) -> None:
        pass

    def _proc_exit(self, code: int) -> None:
        raise Ended(code & 0xFF)

    def _poll_oneoff(self, asked: int, events: int, count: int, done: int) -> None:
        """Sleeping; nothing else is waited for."""
        if not 0 < count & 0xFFFFFFFF <= 64:
            raise Refused(INVAL)
        said, pause = b"", []
        for raw in (self._load(asked + 48 * i, 48) for i in range(count & 0xFFFFFFFF)):
            user, kind = struct.unpack_from("<QB", raw)
            if kind == 0:
                clock, until, _, flags = struct.unpack_from("<IxxxxQQH", raw, 16)
                now = (time.time_ns() if clock == 0 else time.monotonic_ns()) if flags & 1 else 0
                pause.append(max(0, until - now) / 1e9)
            said += struct.pack("<QHBxxxxxQHxxxxxx", user, 0, kind, 0, 0)
        if len(pause) == count & 0xFFFFFFFF:
            self._sleep(min(MAX_SLEEP, *pause))
        self._store(events, said)
        self._store(done, struct.pack("<I", count & 0xFFFFFFFF))

    # Descriptors

    def _opened(self, fd: int) -> Open:
        if fd == ROOT:
            return Open(self._given[""])
        if fd not in self.files.opened:
            raise Refused(BADF)
        return self.files.opened[fd]

    def _file(self, fd: int) -> tuple[Open, Given | Written]:
        opened = self._opened(fd)
        if isinstance(opened.node, Folder):
            raise Refused(ISDIR)
        return opened, opened.node

    def _fd_prestat_get(self, fd: int, at: int) -> None:
        if fd != ROOT:
            raise Refused(BADF)
        self._store(at, struct.pack("<II", 0, 1))

    def _fd_prestat_dir_name(self, fd: int, at: int, length: int) -> None:
        if fd != ROOT:
            raise Refused(BADF)
        self._store(at, b"/"[: length & 0xFFFFFFFF])

    def _fd_fdstat_get(self, fd: int, at: int) -> None:
        kind, append = _CHARACTER, False
        if fd > 2:
            opened = self._opened(fd)
            kind, append = _kind(opened.node), opened.append
        self._store(at, struct.pack("<BxHxxxxQQ", kind, append, _EVERY_RIGHT, _EVERY_RIGHT))

    def _fd_filestat_get(self, fd: int, at: int) -> None:
        if fd <= 2:
            self._store(at, struct.pack("<QQBxxxxxxxQQQQQ", 0, fd, _CHARACTER, 1, 0, 0, 0, 0))
        else:
            self._store(at, _stat(self._opened(fd).node))

    def _nothing_to_do(self, *_: int) -> None:
        pass

    _fd_fdstat_set_flags = _fd_filestat_set_times = _nothing_to_do
    _fd_sync = _fd_datasync = _fd_advise = _nothing_to_do

    def _fd_close(self, fd: int) -> None:
        if fd > ROOT:
            self._opened(fd)
            del self.files.opened[fd]

    def _fd_read(self, fd: int, at: int, count: int, done: int) -> None:
        if fd == 0:
            total = 0
            for place, length in self._vectors(at, count):
                part = bytes(self.stdin[:length])
                self._store(place, part)
                del self.stdin[: len(part)]
                total += len(part)
        else:
            opened, node = self._file(fd)
            total = self._read_into(node, opened.at, at, count)
            opened.at += total
        self._store(done, struct.pack("<I", total))

    def _fd_pread(self, fd: int, at: int, count: int, offset: int, done: int) -> None:
        self._store(done, struct.pack("<I", self._read_into(self._file(fd)[1], offset, at, count)))

    def _read_into(self, node: Given | Written, offset: int, at: int, count: int) -> int:
        total = 0
        for place, length in self._vectors(at, count):
            part = bytes(node.data[offset + total : offset + total + length])
            self._store(place, part)
            total += len(part)
        return total

    def _fd_write(self, fd: int, at: int, count: int, done: int) -> None:
        if fd in (1, 2):
            data = self._gathered(at, count)
            self._said(fd, data)
            total = len(data)
        else:
            opened, node = self._file(fd)
            if opened.append:
                opened.at = len(node.data)
            total = self._write_from(opened, node, opened.at, at, count)
            opened.at += total
        self._store(done, struct.pack("<I", total))

    def _fd_pwrite(self, fd: int, at: int, count: int, offset: int, done: int) -> None:
        opened, node = self._file(fd)
        self._store(done, struct.pack("<I", self._write_from(opened, node, offset, at, count)))

    def _write_from(self, opened: Open, node: Given | Written, offset: int, at: int, count: int) -> int:
        if not opened.write or isinstance(node, Given):
            raise Refused(BADF)
        data = self._gathered(at, count)
        self._resize(node, max(len(node.data), offset + len(data)))
        node.data[offset : offset + len(data)] = data
        node.changed = time.time_ns()
        self.written += len(data)
        return len(data)

    def _resize(self, node: Written, size: int) -> None:
        more = size - len(node.data)
        if more > self.files.left:  # not counting what files had that are gone
            self.files.left = self._scratch - self.files.size()
        if more > self.files.left:
            raise Refused(NOSPC)
        self.files.left -= more
        self.written += max(0, more)
        if more > 0:
            node.data.extend(bytes(more))
        else:
            del node.data[size:]

    def _fd_filestat_set_size(self, fd: int, size: int) -> None:
        opened, node = self._file(fd)
        if not opened.write or isinstance(node, Given):
            raise Refused(BADF)
        self._resize(node, size)

    def _fd_seek(self, fd: int, offset: int, whence: int, at: int) -> None:
        if fd <= 2:
            raise Refused(SPIPE)
        opened, node = self._file(fd)
        if whence > 2:
            raise Refused(INVAL)
        place = (0, opened.at, len(node.data))[whence] + (offset - (1 << 64) if offset >> 63 else offset)
        if not 0 <= place < 1 << 62:
            raise Refused(INVAL)
        opened.at = place
        self._store(at, struct.pack("<Q", place))

    def _fd_tell(self, fd: int, at: int) -> None:
        self._fd_seek(fd, 0, 1, at)

    def _fd_readdir(self, fd: int, at: int, size: int, cookie: int, used: int) -> None:
        opened, size = self._opened(fd), size & 0xFFFFFFFF
        if not isinstance(opened.node, Folder):
            raise Refused(NOTDIR)
        inside = [*opened.node.given, *(n for n in self.files.own if n.rpartition("/")[0] == opened.name)]
        listed = b""
        for number, name in enumerate(inside[cookie:], cookie + 1):
            data, node = name.rpartition("/")[2].encode(), self._given.get(name) or self.files.own[name]
            listed += struct.pack("<QQIBxxx", number, id(node) & 0xFFFFFFFF, len(data), _kind(node)) + data
            if len(listed) >= size:
                break
        self._store(at, listed[:size])
        self._store(used, struct.pack("<I", min(len(listed), size)))

    # Paths: they lead nowhere but through these folders, and there are no links.

    def _at(self, name: str) -> Node | None:
        """What has this whole name."""
        return self.files.own.get(name) or self._given.get(name)

    def _walk(self, fd: int, at: int, length: int) -> tuple[str, Node | None]:
        """The whole name that a path leads to, through folders that are there, and what has it; none is above the top."""
        opened = self._opened(fd)
        name, node = opened.name, self._at(opened.name)
        for part in self._text(at, length).split("/"):
            if part in ("", "."):
                continue
            if node is None:
                raise Refused(NOENT)
            if not isinstance(node, Folder):
                raise Refused(NOTDIR)
            name = name.rpartition("/")[0] if part == ".." else f"{name}/{part}".lstrip("/")
            node = self._at(name)
        return name, node

    def _found(self, fd: int, at: int, length: int) -> tuple[str, Node]:
        name, node = self._walk(fd, at, length)
        if node is None:
            raise Refused(NOENT)
        return name, node

    def _may_stand(self, name: str) -> None:
        """Whether there may be something of this name; raises Refused if not."""
        above, _, last = name.rpartition("/")
        if above not in self.files.own:
            raise Refused(ROFS)
        if len(name) > MAX_PLACE or len(last.encode()) > MAX_NAME:
            raise Refused(NAMETOOLONG)

    def _add(self, name: str, node: Node) -> None:
        self._may_stand(name)
        if self.files.nodes <= 0:
            raise Refused(NOSPC)
        self.files.nodes -= 1
        self.files.own[name] = node

    def _path_filestat_get(self, fd: int, flags: int, at: int, length: int, to: int) -> None:
        self._store(to, _stat(self._found(fd, at, length)[1]))

    def _path_filestat_set_times(self, fd: int, flags: int, at: int, length: int, *times: int) -> None:
        self._found(fd, at, length)  # nothing to do, but for what is not there

    def _path_open(
        self, fd: int, _: int, at: int, length: int, how: int, rights: int, __: int, flags: int, to: int
    ) -> None:
        name, node = self._walk(fd, at, length)
        create, as_folder, exclusive, truncate = (bool(how >> bit & 1) for bit in range(4))
        write = bool(rights & _RIGHT_TO_WRITE)
        if len(self.files.opened) >= self._descriptors:
            raise Refused(MFILE)
        if node is None:
            if not create or as_folder:
                raise Refused(NOENT)
            node = Written()
            self._add(name, node)
        elif create and exclusive:
            raise Refused(EXIST)
        if isinstance(node, Folder):
            if create or truncate:
                raise Refused(ISDIR)
        elif as_folder:
            raise Refused(NOTDIR)
        elif isinstance(node, Given):
            if write or truncate:
                raise Refused(ROFS)
        elif truncate:
            self._resize(node, 0)
        number = next(number for number in range(4, 5 + self._descriptors) if number not in self.files.opened)
        self.files.opened[number] = Open(node, name, 0, bool(flags & 1), write)
        self._store(to, struct.pack("<I", number))

    def _path_create_directory(self, fd: int, at: int, length: int) -> None:
        name, node = self._walk(fd, at, length)
        if node is not None:
            raise Refused(EXIST)
        self._add(name, Folder())

    def _take_away(self, name: str) -> None:
        if name.rpartition("/")[0] not in self.files.own:
            raise Refused(ROFS)
        del self.files.own[name]
        self.files.nodes += 1

    def _path_unlink_file(self, fd: int, at: int, length: int) -> None:
        name, node = self._found(fd, at, length)
        if isinstance(node, Folder):
            raise Refused(ISDIR)
        self._take_away(name)

    def _path_remove_directory(self, fd: int, at: int, length: int) -> None:
        name, node = self._found(fd, at, length)
        if not isinstance(node, Folder):
            raise Refused(NOTDIR)
        if any(other.startswith(f"{name}/") for other in self.files.own):
            raise Refused(NOTEMPTY)
        self._take_away(name)

    def _path_rename(self, fd: int, at: int, length: int, to_fd: int, to: int, to_length: int) -> None:
        name, node = self._found(fd, at, length)
        new, there = self._walk(to_fd, to, to_length)
        if node is there:
            return
        if isinstance(there, Folder) or (isinstance(node, Folder) and there is not None):
            raise Refused(ISDIR)
        if new.startswith(f"{name}/"):
            raise Refused(INVAL)
        self._may_stand(name)
        self._may_stand(new)
        moved = {one: new + one[len(name) :] for one in self.files.own if f"{one}/".startswith(f"{name}/")}
        if any(len(one) > MAX_PLACE for one in moved.values()):
            raise Refused(NAMETOOLONG)
        if there is not None:
            self._take_away(new)
        for one, other in moved.items():
            self.files.own[other] = self.files.own.pop(one)

    def _path_readlink(self, fd: int, at: int, length: int, to: int, size: int, used: int) -> None:
        self._found(fd, at, length)
        raise Refused(INVAL)


def _kind(node: Node) -> int:
    return _FOLDER if isinstance(node, Folder) else _FILE


def _stat(node: Node) -> bytes:
    size = 0 if isinstance(node, Folder) else len(node.data)
    changed = node.changed if isinstance(node, Written) else 0
    number = id(node) & 0xFFFFFFFF
    return struct.pack("<QQBxxxxxxxQQQQQ", 1, number, _kind(node), 1, size, changed, changed, changed)
