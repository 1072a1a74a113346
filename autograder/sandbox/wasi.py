"""System calls of Python in WebAssembly: files in memory, clocks, random bytes and streams.

The Python that runs a submission in WebAssembly is called the guest. This module implements the
part of WASI preview 1 (wasi_snapshot_preview1) that CPython calls. No call opens a real file,
starts a program or reaches a network. The files that a guest may read are given by the grader.
Files that a guest writes are kept in the memory of the grader's process, up to a limit, and are
deleted with the guest. A malicious guest may call any function with any numbers, so addresses and
lengths are checked before they are used.
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
_CHARACTER, _FOLDER, _FILE = 2, 3, 4  # file types
_EVERY_RIGHT, _RIGHT_TO_WRITE = (1 << 30) - 1, 1 << 6
MAX_PATH_BYTES, MAX_NAME_BYTES, MAX_NODES = 4096, 255, 4096
MAX_FULL_NAME_CHARACTERS = 1024  # of a file's path from the root
MAX_VECTORS, MAX_RANDOM_BYTES, MAX_WRITE_BYTES, MAX_SLEEP_SECONDS = 1024, 1 << 20, 1 << 24, 1e9
MAX_SUBSCRIPTIONS = 64  # of one `poll_oneoff`
ROOT_DESCRIPTOR = 3  # the descriptor of "/"


class RefusedCall(Exception):
    """Exception that makes a system call of the WebAssembly program fail with an error number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class GuestExit(Exception):
    """Exception that ends the WebAssembly program, because it called `proc_exit` (`os._exit`)."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


_FIRST_GUEST_INODE = 1 << 24  # above those of the files that guests can only read


class _SharedNode:
    """Base class of files and folders that are never changed: a copied file system shares them."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(eq=False)
class ReadOnlyFile(_SharedNode):
    """File that WebAssembly programs can only read; `read` returns its bytes when first needed."""

    read: Callable[[], bytes]
    inode: int = 0

    @cached_property
    def data(self) -> bytes:
        """Content of the file."""
        return self.read()


@dataclass(eq=False)
class WritableFile:
    """File that a WebAssembly program created; `modified_ns` is the time of its last change."""

    data: bytearray = field(default_factory=bytearray)
    modified_ns: int = 0
    inode: int = 0


@dataclass(eq=False)
class Folder(_SharedNode):
    """Folder of a WebAssembly program's files; `children` are paths of the read-only ones in it.

    The files that a guest has created in the folder are listed in `GuestFileState.entries`.
    """

    children: list[str] = field(default_factory=list)
    inode: int = 0


Node = Folder | ReadOnlyFile | WritableFile


def add_node(files: dict[str, Node], path: str, node: Node) -> None:
    """Add a file or folder to `files` at this path, with the missing folders above it.

    Inodes are counted. An address of this process would tell a guest where its host's memory lies.
    """
    name, is_linked = path.strip("/"), False
    files[name] = node
    node.inode = len(files)
    while name and not is_linked:
        parent = name.rpartition("/")[0]
        is_linked = parent in files
        folder = files.setdefault(parent, Folder(inode=len(files) + 1))
        assert isinstance(folder, Folder)
        folder.children.append(name)
        name = parent


@dataclass
class OpenFile:
    """File or folder that a WebAssembly program has opened, with position and mode."""

    node: Node
    name: str = ""
    offset: int = 0
    append: bool = False
    write: bool = False


@dataclass
class GuestFileState:
    """Files that a WebAssembly program (guest) uses; a snapshot of its memory copies them, too.

    Parameters
    ----------
    entries : dict of str to Node
        The writable folders, and all files and folders in them, by full name.
    free_bytes : int
        Lower bound of the bytes that the guest may still write.
    free_nodes : int
        Number of files and folders that the guest may still create.
    last_inode : int
        Inode of the file or folder that the guest has created last.
    """

    entries: dict[str, Node]
    free_bytes: int
    free_nodes: int = MAX_NODES
    last_inode: int = _FIRST_GUEST_INODE
    open_files: dict[int, OpenFile] = field(default_factory=dict)

    def size(self) -> int:
        """Return the total size in bytes of the files that the WebAssembly program has created."""
        nodes = [
            *self.entries.values(),
            *(open_file.node for open_file in self.open_files.values()),
        ]
        sizes = {id(node): len(node.data) for node in nodes if isinstance(node, WritableFile)}
        return sum(sizes.values())


class Wasi:
    """System calls of one WebAssembly program (guest); `_fd_read` is the WASI call `fd_read`.

    Parameters
    ----------
    read_only : dict of str to Node
        The files and folders that the guest can read, by full name, filled by `add_node`. All
        guests share them.
    writable_folders : sequence of str
        Names of the top-level folders that the guest may write in.
    scratch : int
        Maximal number of bytes in the files that the guest has created.
    descriptors : int
        Maximal number of files that the guest may have open at once.
    on_output : callable
        Called with 1 (stdout) or 2 (stderr) and the bytes that the guest writes to that stream.
        If it raises an exception, the guest ends.
    sleep : callable
        Called with a number of seconds; waits as long, or less.
    random : callable
        Called with a number of bytes; returns as many random bytes.
    """

    def __init__(
        self,
        read_only: dict[str, Node],
        writable_folders: tuple[str, ...],
        env: Mapping[str, str],
        *,
        scratch: int,
        descriptors: int,
        on_output: Callable[[int, bytearray], None],
        sleep: Callable[[float], object],
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._read_only, self._descriptors, self._scratch = read_only, descriptors, scratch
        self._env = [f"{name}={value}\0".encode() for name, value in env.items()]
        self._on_output, self._sleep, self._random = on_output, sleep, random
        folders: dict[str, Node] = {}
        for number, name in enumerate(writable_folders, _FIRST_GUEST_INODE - len(writable_folders)):
            folders[name] = Folder(inode=number)
        self.files = GuestFileState(folders, scratch)
        self.stdin = bytearray()
        self.written_file_bytes = 0  # written to files since the guest was created

    def get_call(self, name: str) -> Callable[..., int]:
        """Return the function that implements the WASI system call of this name."""
        function = getattr(self, f"_{name}", None)
        if function is None:
            return lambda *_: NOSYS

        def call(*numbers: int) -> int:
            try:
                function(*(number & 0xFFFFFFFFFFFFFFFF for number in numbers))
            except RefusedCall as refusal:
                return refusal.number
            return OK

        return call

    def attach_memory(self, address: int, size: Callable[[], int]) -> None:
        """Store the address at which the WebAssembly program's memory lies in this process.

        `address` is that of its first byte; `size` returns its current size in bytes.
        """
        self._address, self._size = address, size

    # The methods below access the WebAssembly program's memory. Addresses and lengths are 32-bit
    # numbers from that program, which may be wrong on purpose.

    def _host_address(self, address: int, length: int) -> int:
        address &= 0xFFFFFFFF
        if length < 0 or address + length > self._size():
            raise RefusedCall(FAULT)
        return self._address + address

    def _load(self, address: int, length: int) -> bytes:
        length &= 0xFFFFFFFF
        return ctypes.string_at(self._host_address(address, length), length)

    def _store(self, address: int, data: bytes) -> None:
        ctypes.memmove(self._host_address(address, len(data)), data, len(data))

    def _load_text(self, address: int, length: int) -> str:
        if length & 0xFFFFFFFF > MAX_PATH_BYTES:
            raise RefusedCall(NAMETOOLONG)
        try:
            return self._load(address, length).decode()
        except UnicodeDecodeError:
            raise RefusedCall(INVAL) from None

    def _load_vectors(self, address: int, count: int) -> Iterator[tuple[int, int]]:
        """Return address and length of each buffer that the program passes to a system call."""
        if count & 0xFFFFFFFF > MAX_VECTORS:
            raise RefusedCall(INVAL)
        return struct.iter_unpack("<II", self._load(address, 8 * count))

    def _load_bytes_to_write(self, vectors: int, count: int) -> bytearray:
        """Return the bytes that the WebAssembly program wants to write, at most MAX_WRITE_BYTES.

        WASI allows a partial write: the guest then calls again with the remaining bytes.
        """
        data = bytearray()
        for address, length in self._load_vectors(vectors, count):
            data += self._load(address, min(length, MAX_WRITE_BYTES - len(data)))
            if len(data) >= MAX_WRITE_BYTES:
                break
        return data

    # The system calls below concern the process: arguments, environment, clocks, random bytes,
    # exit.

    def _args_sizes_get(self, count: int, size: int) -> None:
        self._store(count, struct.pack("<I", 1))
        self._store(size, struct.pack("<I", 7))

    def _args_get(self, pointers: int, text: int) -> None:
        self._store(pointers, struct.pack("<I", text & 0xFFFFFFFF))
        self._store(text, b"python\0")

    def _environ_sizes_get(self, count: int, size: int) -> None:
        self._store(count, struct.pack("<I", len(self._env)))
        self._store(size, struct.pack("<I", sum(map(len, self._env))))

    def _environ_get(self, pointers: int, text: int) -> None:
        for entry in self._env:
            self._store(pointers, struct.pack("<I", text & 0xFFFFFFFF))
            self._store(text, entry)
            pointers, text = pointers + 4, text + len(entry)

    def _clock_res_get(self, clock: int, result: int) -> None:
        self._store(result, struct.pack("<Q", 1000))

    def _clock_time_get(self, clock: int, precision: int, result: int) -> None:
        clocks = (time.time_ns, time.monotonic_ns, time.process_time_ns, time.process_time_ns)
        if clock >= len(clocks):
            raise RefusedCall(INVAL)
        self._store(result, struct.pack("<Q", clocks[clock]()))

    def _random_get(self, address: int, length: int) -> None:
        if length & 0xFFFFFFFF > MAX_RANDOM_BYTES:
            raise RefusedCall(INVAL)
        self._store(address, self._random(length & 0xFFFFFFFF))

    def _sched_yield(self) -> None:
        pass

    def _proc_exit(self, code: int) -> None:
        raise GuestExit(code & 0xFF)

    def _poll_oneoff(self, subscriptions: int, events: int, count: int, result: int) -> None:
        """Sleep until the first timeout; if the program also waits for a file, return at once."""
        count &= 0xFFFFFFFF
        if not 0 < count <= MAX_SUBSCRIPTIONS:
            raise RefusedCall(INVAL)
        event_data, pauses = b"", []
        for number in range(count):
            subscription = self._load(subscriptions + 48 * number, 48)
            user_data, kind = struct.unpack_from("<QB", subscription)
            if kind == 0:
                pauses.append(_seconds_until_timeout(subscription))
            event_data += struct.pack("<QHBxxxxxQHxxxxxx", user_data, 0, kind, 0, 0)
        if len(pauses) == count:
            self._sleep(min(MAX_SLEEP_SECONDS, *pauses))
        self._store(events, event_data)
        self._store(result, struct.pack("<I", count))

    # The system calls below are on open files, which are given by their descriptors.

    def _get_open_file(self, fd: int) -> OpenFile:
        if fd == ROOT_DESCRIPTOR:
            return OpenFile(self._read_only[""])
        if fd not in self.files.open_files:
            raise RefusedCall(BADF)
        return self.files.open_files[fd]

    def _get_file(self, fd: int) -> tuple[OpenFile, ReadOnlyFile | WritableFile]:
        open_file = self._get_open_file(fd)
        if isinstance(open_file.node, Folder):
            raise RefusedCall(ISDIR)
        return open_file, open_file.node

    def _fd_prestat_get(self, fd: int, result: int) -> None:
        if fd != ROOT_DESCRIPTOR:
            raise RefusedCall(BADF)
        self._store(result, struct.pack("<II", 0, 1))

    def _fd_prestat_dir_name(self, fd: int, result: int, length: int) -> None:
        if fd != ROOT_DESCRIPTOR:
            raise RefusedCall(BADF)
        self._store(result, b"/"[: length & 0xFFFFFFFF])

    def _fd_fdstat_get(self, fd: int, result: int) -> None:
        kind, append = _CHARACTER, False
        if fd > 2:
            open_file = self._get_open_file(fd)
            kind, append = _file_type(open_file.node), open_file.append
        self._store(result, struct.pack("<BxHxxxxQQ", kind, append, _EVERY_RIGHT, _EVERY_RIGHT))

    def _fd_filestat_get(self, fd: int, result: int) -> None:
        if fd <= 2:
            self._store(result, struct.pack("<QQBxxxxxxxQQQQQ", 0, fd, _CHARACTER, 1, 0, 0, 0, 0))
        else:
            self._store(result, _pack_filestat(self._get_open_file(fd).node))

    def _do_nothing(self, *_: int) -> None:
        pass

    _fd_fdstat_set_flags = _fd_filestat_set_times = _do_nothing
    _fd_sync = _fd_datasync = _fd_advise = _do_nothing

    def _fd_close(self, fd: int) -> None:
        if fd > ROOT_DESCRIPTOR:
            self._get_open_file(fd)
            del self.files.open_files[fd]

    def _fd_read(self, fd: int, vectors: int, count: int, result: int) -> None:
        if fd == 0:
            total = 0
            for address, length in self._load_vectors(vectors, count):
                part = bytes(self.stdin[:length])
                self._store(address, part)
                del self.stdin[: len(part)]
                total += len(part)
        else:
            open_file, node = self._get_file(fd)
            total = self._copy_file_to_memory(node, open_file.offset, vectors, count)
            open_file.offset += total
        self._store(result, struct.pack("<I", total))

    def _fd_pread(self, fd: int, vectors: int, count: int, offset: int, result: int) -> None:
        total = self._copy_file_to_memory(self._get_file(fd)[1], offset, vectors, count)
        self._store(result, struct.pack("<I", total))

    def _copy_file_to_memory(
        self,
        node: ReadOnlyFile | WritableFile,
        offset: int,
        vectors: int,
        count: int,
    ) -> int:
        total = 0
        for address, length in self._load_vectors(vectors, count):
            part = bytes(node.data[offset + total : offset + total + length])
            self._store(address, part)
            total += len(part)
        return total

    def _fd_write(self, fd: int, vectors: int, count: int, result: int) -> None:
        if fd in (1, 2):
            data = self._load_bytes_to_write(vectors, count)
            self._on_output(fd, data)
            total = len(data)
        else:
            open_file, node = self._get_file(fd)
            if open_file.append:
                open_file.offset = len(node.data)
            total = self._copy_memory_to_file(open_file, node, open_file.offset, vectors, count)
            open_file.offset += total
        self._store(result, struct.pack("<I", total))

    def _fd_pwrite(self, fd: int, vectors: int, count: int, offset: int, result: int) -> None:
        open_file, node = self._get_file(fd)
        total = self._copy_memory_to_file(open_file, node, offset, vectors, count)
        self._store(result, struct.pack("<I", total))

    def _copy_memory_to_file(
        self,
        open_file: OpenFile,
        node: ReadOnlyFile | WritableFile,
        offset: int,
        vectors: int,
        count: int,
    ) -> int:
        if not open_file.write or isinstance(node, ReadOnlyFile):
            raise RefusedCall(BADF)
        data = self._load_bytes_to_write(vectors, count)
        overwritten_bytes = min(max(0, len(node.data) - offset), len(data))
        self._resize_file(node, max(len(node.data), offset + len(data)))  # counts appended bytes
        node.data[offset : offset + len(data)] = data
        node.modified_ns = time.time_ns()
        self.written_file_bytes += overwritten_bytes
        return len(data)

    def _resize_file(self, node: WritableFile, size: int) -> None:
        growth = size - len(node.data)
        if growth > self.files.free_bytes:
            # The free space that was computed last may be too small, since files were deleted.
            # Compute it anew.
            self.files.free_bytes = self._scratch - self.files.size()
        if growth > self.files.free_bytes:
            raise RefusedCall(NOSPC)
        self.files.free_bytes -= growth
        self.written_file_bytes += max(0, growth)
        if growth > 0:
            node.data.extend(bytes(growth))
        else:
            del node.data[size:]

    def _fd_filestat_set_size(self, fd: int, size: int) -> None:
        open_file, node = self._get_file(fd)
        if not open_file.write or isinstance(node, ReadOnlyFile):
            raise RefusedCall(BADF)
        self._resize_file(node, size)

    def _fd_seek(self, fd: int, offset: int, whence: int, result: int) -> None:
        if fd <= 2:
            raise RefusedCall(SPIPE)
        open_file, node = self._get_file(fd)
        if whence > 2:
            raise RefusedCall(INVAL)
        if offset >> 63:  # a negative number, in two's complement
            offset -= 1 << 64
        position = (0, open_file.offset, len(node.data))[whence] + offset
        if not 0 <= position < 1 << 62:
            raise RefusedCall(INVAL)
        open_file.offset = position
        self._store(result, struct.pack("<Q", position))

    def _fd_tell(self, fd: int, result: int) -> None:
        self._fd_seek(fd, 0, 1, result)

    def _fd_readdir(self, fd: int, buffer: int, size: int, cookie: int, result: int) -> None:
        open_file, size = self._get_open_file(fd), size & 0xFFFFFFFF
        if not isinstance(open_file.node, Folder):
            raise RefusedCall(NOTDIR)
        names = list(open_file.node.children)
        for name in self.files.entries:
            if name.rpartition("/")[0] == open_file.name:
                names.append(name)
        listing = b""
        for number, name in enumerate(names[cookie:], cookie + 1):
            base_name = name.rpartition("/")[2].encode()
            node = self._read_only.get(name) or self.files.entries[name]
            inode, kind = node.inode, _file_type(node)
            listing += struct.pack("<QQIBxxx", number, inode, len(base_name), kind) + base_name
            if len(listing) >= size:
                break
        self._store(buffer, listing[:size])
        self._store(result, struct.pack("<I", min(len(listing), size)))

    # The system calls below are on paths. A path is looked up only among the files that this object
    # holds, never on the real disk. There are no symbolic links.

    def _find_node(self, name: str) -> Node | None:
        """Return the file or folder with this full path; None if there is none."""
        return self.files.entries.get(name) or self._read_only.get(name)

    def _resolve_path(self, fd: int, address: int, length: int) -> tuple[str, Node | None]:
        """Return a path's full form, and the file or folder there; None if that does not exist.

        Raise RefusedCall if a folder above it does not exist. The path is relative to the open
        folder `fd`. As on Unix, ".." in the root is the root.
        """
        open_file = self._get_open_file(fd)
        name, node = open_file.name, self._find_node(open_file.name)
        for part in self._load_text(address, length).split("/"):
            if part in ("", "."):
                continue
            if node is None:
                raise RefusedCall(NOENT)
            if not isinstance(node, Folder):
                raise RefusedCall(NOTDIR)
            parent = name.rpartition("/")[0]
            name = parent if part == ".." else f"{name}/{part}".lstrip("/")
            node = self._find_node(name)
        return name, node

    def _resolve_existing(self, fd: int, address: int, length: int) -> tuple[str, Node]:
        name, node = self._resolve_path(fd, address, length)
        if node is None:
            raise RefusedCall(NOENT)
        return name, node

    def _check_new_name(self, name: str) -> None:
        """Raise RefusedCall if the program may not create a file or folder of this path."""
        folder, _, base_name = name.rpartition("/")
        if folder not in self.files.entries:
            raise RefusedCall(ROFS)
        if len(name) > MAX_FULL_NAME_CHARACTERS or len(base_name.encode()) > MAX_NAME_BYTES:
            raise RefusedCall(NAMETOOLONG)

    def _add_entry(self, name: str, node: Node) -> None:
        self._check_new_name(name)
        if self.files.free_nodes <= 0:
            raise RefusedCall(NOSPC)
        self.files.free_nodes -= 1
        if not node.inode:  # a renamed file has one already
            self.files.last_inode += 1
            node.inode = self.files.last_inode
        self.files.entries[name] = node

    def _path_filestat_get(self, fd: int, flags: int, path: int, length: int, result: int) -> None:
        self._store(result, _pack_filestat(self._resolve_existing(fd, path, length)[1]))

    def _path_filestat_set_times(
        self,
        fd: int,
        flags: int,
        path: int,
        length: int,
        *times: int,
    ) -> None:
        # This call sets the times of a file. Fail for a missing file, but leave the times of an
        # existing file as they are.
        self._resolve_existing(fd, path, length)

    def _path_open(
        self,
        fd: int,
        _: int,
        path: int,
        length: int,
        mode: int,
        rights: int,
        __: int,
        flags: int,
        result: int,
    ) -> None:
        name, node = self._resolve_path(fd, path, length)
        create, as_folder, exclusive, truncate = (bool(mode >> bit & 1) for bit in range(4))
        write = bool(rights & _RIGHT_TO_WRITE)
        if len(self.files.open_files) >= self._descriptors:
            raise RefusedCall(MFILE)
        if node is None:
            if not create or as_folder:
                raise RefusedCall(NOENT)
            node = WritableFile()
            self._add_entry(name, node)
        elif create and exclusive:
            raise RefusedCall(EXIST)
        if isinstance(node, Folder):
            if create or truncate:
                raise RefusedCall(ISDIR)
        elif as_folder:
            raise RefusedCall(NOTDIR)
        elif isinstance(node, ReadOnlyFile):
            if write or truncate:
                raise RefusedCall(ROFS)
        elif truncate:
            self._resize_file(node, 0)
        numbers = range(4, 5 + self._descriptors)
        descriptor = next(number for number in numbers if number not in self.files.open_files)
        self.files.open_files[descriptor] = OpenFile(node, name, 0, bool(flags & 1), write)
        self._store(result, struct.pack("<I", descriptor))

    def _path_create_directory(self, fd: int, path: int, length: int) -> None:
        name, node = self._resolve_path(fd, path, length)
        if node is not None:
            raise RefusedCall(EXIST)
        self._add_entry(name, Folder())

    def _remove_entry(self, name: str) -> None:
        if name.rpartition("/")[0] not in self.files.entries:
            raise RefusedCall(ROFS)
        del self.files.entries[name]
        self.files.free_nodes += 1

    def _path_unlink_file(self, fd: int, path: int, length: int) -> None:
        name, node = self._resolve_existing(fd, path, length)
        if isinstance(node, Folder):
            raise RefusedCall(ISDIR)
        self._remove_entry(name)

    def _path_remove_directory(self, fd: int, path: int, length: int) -> None:
        name, node = self._resolve_existing(fd, path, length)
        if not isinstance(node, Folder):
            raise RefusedCall(NOTDIR)
        if any(entry.startswith(f"{name}/") for entry in self.files.entries):
            raise RefusedCall(NOTEMPTY)
        self._remove_entry(name)

    def _path_rename(
        self, fd: int, path: int, length: int, new_fd: int, new_path: int, new_length: int
    ) -> None:
        name, node = self._resolve_existing(fd, path, length)
        new_name, replaced_node = self._resolve_path(new_fd, new_path, new_length)
        if node is replaced_node:
            return
        if isinstance(replaced_node, Folder):
            raise RefusedCall(ISDIR)
        if isinstance(node, Folder) and replaced_node is not None:
            raise RefusedCall(ISDIR)
        if new_name.startswith(f"{name}/"):
            raise RefusedCall(INVAL)
        self._check_new_name(name)
        self._check_new_name(new_name)
        new_names = {}
        for entry in self.files.entries:
            if f"{entry}/".startswith(f"{name}/"):
                new_names[entry] = new_name + entry[len(name) :]
        if any(len(new) > MAX_FULL_NAME_CHARACTERS for new in new_names.values()):
            raise RefusedCall(NAMETOOLONG)
        if replaced_node is not None:
            self._remove_entry(new_name)
        for old, new in new_names.items():
            self.files.entries[new] = self.files.entries.pop(old)

    def _path_readlink(
        self,
        fd: int,
        path: int,
        length: int,
        buffer: int,
        size: int,
        result: int,
    ) -> None:
        self._resolve_existing(fd, path, length)
        raise RefusedCall(INVAL)  # there are no links


def _seconds_until_timeout(subscription: bytes) -> float:
    """Return the seconds until a timeout for which the program waits by `poll_oneoff`."""
    clock, timeout, _, flags = struct.unpack_from("<IxxxxQQH", subscription, 16)
    current_ns = 0
    if flags & 1:  # the timeout is a point in time, not a duration
        current_ns = time.time_ns() if clock == 0 else time.monotonic_ns()
    return max(0, timeout - current_ns) / 1e9


def _file_type(node: Node) -> int:
    return _FOLDER if isinstance(node, Folder) else _FILE


def _pack_filestat(node: Node) -> bytes:
    size = 0 if isinstance(node, Folder) else len(node.data)
    modified_ns = node.modified_ns if isinstance(node, WritableFile) else 0
    times = (modified_ns, modified_ns, modified_ns)  # of access, modification, status change
    return struct.pack("<QQBxxxxxxxQQQQQ", 1, node.inode, _file_type(node), 1, size, *times)
