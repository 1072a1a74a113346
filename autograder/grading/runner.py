"""The processes that run a student's code: the hand-in's cells, and its answers to questions.

Whatever they say may be forged, so nothing outside believes more of it than that these outputs and these
answers are what this student's code made. Inside the sandbox this is a top-level module.
"""

import builtins
import importlib
import io
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from time import monotonic

import sandbox_confine as confine  # the files beside this one, under the names that worker.py gives them
import sandbox_wire as wire


class HandIn:
    """Runs cells and forks questions, as the keeper orders over the channel."""

    def __init__(self, shell, channel, limits: dict, sandboxed: bool):
        self._shell = shell
        self._channel, self._limits, self._sandboxed = channel, limits, sandboxed
        self._pid = os.getpid()
        self._emitter = Emitter(channel, limits["output_bytes"])

    def serve(self) -> None:
        """Until the keeper closes the channel, which it never does before the end."""
        if self._shell:
            self._shell.attach(self._emitter)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for as long as there is this process
        sys.stdout, sys.stderr = Stream("stdout", self._emitter), Stream("stderr", self._emitter)
        random.seed(0)  # each fork begins with another state, and a mark must be reproducible
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        builtins.input = _no_input
        self._channel.send({"op": "ready"})
        while True:
            order, arrays = self._channel.receive()
            if order["op"] == "run":
                self._run(order["source"], order["count"])
            else:
                questions = [wire.unpack_inputs(question, arrays) for question in order["questions"]]
                self._ask(order["exercise"], order["call"], questions)

    def _run(self, source: str, count: int) -> None:
        good = False
        self._emitter.failed = False
        self._shell.execution_count = count
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                good = self._shell.run_cell(source, store_history=True).success
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException as error:  # noqa: BLE001 - also what a patched IPython lets through
            with suppress(BaseException):
                self._shell.show_error(type(error), error, [])
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that the student's code made, and let run on
        with suppress(BaseException):
            self._emitter.flush()
        if not good and not self._emitter.failed:
            self._emitter.error("Error", "the cell did not run to its end", [])
        self._emitter.send({"op": "done", "status": "ok" if good else "error"})

    def _ask(self, exercise: str, call: str, questions: list) -> None:
        missing = object()
        function = self._shell.user_ns.get(exercise, missing)
        if function is missing:
            self._emitter.send({"op": "asked", "missing": True, "late": False, "exit": 0})
            return
        if self._sandboxed:
            self._kill_all()  # what cells have left running is in the way of the answer
        if "jax" in sys.modules:  # it hangs in a fork once it has been used; the keeper watches the time
            import numpy as np

            for frame in _frames(function, call, questions):
                self._emitter.send({"op": "answers"}, [np.frombuffer(frame, np.uint8)])
            self._emitter.send({"op": "asked", "missing": False, "late": False, "exit": 0})
            return
        until = monotonic() + self._limits["call_seconds"]
        late, status = False, 1
        with suppress(OSError), confine.spare_limits():
            answers, reports = os.pipe()
            pid = os.fork()
            if pid == 0:
                _answer(function, call, questions, reports)
            os.close(reports)
            late, status = self._forward(answers, pid, until)
            os.close(answers)
        self._emitter.send({"op": "asked", "missing": False, "late": late, "exit": status})

    def _forward(self, answers: int, pid: int, until: float) -> tuple[bool, int]:
        """Pass on what the question's process writes, until it ends or its time is up."""
        import numpy as np

        late, status = False, None
        waiting = select.poll()
        waiting.register(answers, select.POLLIN)
        while True:
            if waiting.poll(0 if status is not None else 20):
                data = os.read(answers, 1 << 18)
                if not data:
                    break
                self._emitter.send({"op": "answers"}, [np.frombuffer(data, np.uint8)])
            elif status is not None:
                break  # it has ended; whoever still holds its pipe has nothing to say
            else:
                status = _exit_of(pid, os.WNOHANG)
            if monotonic() > until and status is None:
                late = True
                self._end(pid)
                status = _exit_of(pid, 0)
        if status is None:
            status = self._exit_in_time(pid, until)
        self._end(pid)
        return late, status

    def _exit_in_time(self, pid: int, until: float) -> int:
        """A process that has closed its pipe should end; see that it does."""
        while (status := _exit_of(pid, os.WNOHANG)) is None:
            if monotonic() > until:
                self._end(pid)
                return _exit_of(pid, 0)
            select.poll().poll(1)
        return status

    def _end(self, pid: int) -> None:
        """Kill the question's process with all that it started."""
        if self._sandboxed:
            self._kill_all()
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Kill all of this PID namespace, but for its first process, which is this one."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)


def _exit_of(pid: int, how: int) -> int | None:
    try:
        done, status = os.waitpid(pid, how)
    except ChildProcessError:
        return -1
    return os.waitstatus_to_exitcode(status) if done else None


def _answer(function, call: str, questions: list, fd: int) -> None:
    """In the question's process: one frame for each answer, and the end."""
    code = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        os.closerange(3, 5)
        for frame in _frames(function, call, questions):
            left = memoryview(frame)
            while left:
                left = left[os.write(fd, left) :]
        code = 0
    finally:
        os._exit(code)


def _frames(function, call: str, questions: list):
    """The answers to the questions, each as bytes."""
    from autograder.answer import ask

    for index, given in enumerate(questions):
        arrays: list = []
        packed = wire.pack_answer(ask(function, given, call), arrays)
        yield wire.encode({"index": index, "answer": packed}, arrays)


def _no_input(prompt: object = "") -> str:
    from IPython.core.error import StdinNotImplementedError

    raise StdinNotImplementedError("input() was called, but nobody is there to answer while this is marked.")


class Emitter:
    """Sends what a cell shows; text is gathered for up to 50 ms."""

    def __init__(self, channel, output_bytes: int):
        self._channel = channel
        self._left = 2 * output_bytes  # the keeper cuts exactly; this only stops a flood at its source
        self._lock = threading.RLock()
        self._stream, self._text, self._size, self._flushed = "", [], 0, 0.0
        self.failed = False

    def send(self, header: dict, arrays=()) -> None:
        """One frame, whole: an interrupt waits for its end."""
        with self._lock:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._channel.send(header, arrays)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def text(self, stream: str, text: str) -> None:
        """Something was written to stdout or stderr."""
        with self._lock:
            if self._left <= 0 or not text:
                return
            if stream != self._stream:
                self.flush()
            self._stream = stream
            self._text.append(text[: self._left])
            self._left -= len(text)
            self._size += len(text)
            if self._size > 8192 or monotonic() - self._flushed > 0.05:
                self.flush()

    def flush(self) -> None:
        """Send the text gathered so far."""
        with self._lock:
            self._flushed = monotonic()
            if self._text:
                text, self._text, self._size = "".join(self._text), [], 0
                self._send_output({"output_type": "stream", "name": self._stream, "text": text})

    def output(self, output: dict, name: str | None = None, update: bool = False) -> None:
        """An output that is not text."""
        with self._lock:
            self.flush()
            if self._left <= 0:
                return
            self._send_output(output, name, update)

    def _send_output(self, output: dict, name: str | None = None, update: bool = False) -> None:
        if output["output_type"] != "stream":
            self._left -= len(json.dumps(output, ensure_ascii=False))
        self.send({"op": "output", "output": output, "id": name, "update": update})

    def error(self, name: str, value: str, lines: list[str]) -> None:
        """The cell raised."""
        self.failed = True
        self._left = max(self._left, 50_000)
        self.output({"output_type": "error", "ename": name, "evalue": value, "traceback": lines})

    def clear(self, wait: bool) -> None:
        """IPython.display.clear_output."""
        with self._lock:
            self.flush()
            self.send({"op": "clear", "wait": wait})


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a hand-in."""

    encoding = "utf-8"

    def __init__(self, name: str, emitter: Emitter):
        self.name, self._emitter = f"<{name}>", emitter
        self._stream = name

    def write(self, text: str) -> int:
        """Into the cell's outputs."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._emitter.text(self._stream, text)
        return len(text)

    def flush(self) -> None:
        """Nothing: text that no one waits for can wait."""

    def writable(self) -> bool:
        """Yes."""
        return True

    def fileno(self) -> int:
        """That of /dev/null, for the programs that want one."""
        return 1 if self._stream == "stdout" else 2


_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b.")
_MAX_TRACEBACK = 20_000  # characters


def prepare_shell():
    """An IPython shell as notebooks know it, with what the first cells would have to load, loaded."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
            name = (transient or {}).get("display_id")
            bundle = {"data": _texts(data), "metadata": {}}
            self.shell.emitter.output(
                {"output_type": "display_data", **bundle}, None if name is None else str(name), bool(update)
            )

        def clear_output(self, wait=False):
            self.shell.emitter.clear(bool(wait))

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            bundle = {"data": _texts(format_dict), "metadata": {}}
            self.shell.emitter.output({"output_type": "execute_result", **bundle, "execution_count": None})

        def finish_displayhook(self):
            self._is_active = False

    class Shell(InteractiveShell):
        display_pub_class = Type(Publisher)
        displayhook_class = Type(Hook)

        def attach(self, emitter):
            self.emitter = emitter

        def init_virtualenv(self):
            pass

        def enable_gui(self, gui=None):
            pass

        def _tee(self, channel):
            return nullcontext()  # IPython would keep all that is printed in memory

        def ask_exit(self):
            pass

        def system(self, cmd):
            """A shell command, its output into the cell's."""
            with subprocess.Popen(
                self.var_expand(cmd, depth=1),
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process:
                try:
                    while data := process.stdout.read1(65536):
                        sys.stdout.write(data.decode("utf-8", "replace"))
                except BaseException:
                    process.kill()
                    raise
            self.user_ns["_exit_code"] = process.returncode

        def _showtraceback(self, etype, evalue, stb):
            self.show_error(etype, evalue, stb)

        def show_error(self, etype, evalue, lines):
            try:
                value = str(evalue)
            except BaseException:  # noqa: BLE001 - a student's own __str__
                value = "(its message cannot be shown)"
            text = _ANSI.sub("", "\n".join(str(line) for line in lines))
            if len(text) > _MAX_TRACEBACK:
                half = _MAX_TRACEBACK // 2
                text = f"{text[:half]}\n[...]\n{text[-half:]}"
            self.emitter.error(str(etype.__name__)[:200], value[:2000], text.split("\n") if text else [])

    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.IPCompleter.use_jedi = False
    shell = Shell.instance(config=config)
    _rehearse(shell)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)  # forks go on from here
    return shell


def _rehearse(shell) -> None:
    """Do once what most notebooks do, so that each fork finds it loaded."""

    class Nowhere:
        failed = False

        def output(self, *args):
            pass

        error = clear = output

    shell.attach(Nowhere())
    for name in ("student", "feedback", "figures", "embeddings"):
        with suppress(ImportError):
            importlib.import_module(f"autograder.{name}")
    cells = ["1 + 1", "import asyncio", "import nothing_of_this_name", "%time 1", "("]
    if "matplotlib.pyplot" in sys.modules:
        cells += ["%matplotlib inline", _FIGURE]
    real = sys.stdout
    sys.stdout = io.StringIO()
    try:
        for cell in cells:
            shell.run_cell(cell, store_history=True)
    finally:
        sys.stdout = real
    shell.reset(new_session=True)
    shell.execution_count = 1


_FIGURE = """
def draw():
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(2, 2))
    image = axes.imshow([[0.0, 1.0], [1.0, 0.0]])
    figure.colorbar(image)
    axes.set_xticks([0, 1], ["a", "é"], rotation=45)
    axes.plot([0, 1], label="b")
    axes.legend()
    axes.set_title("c")
    plt.show()
draw()
"""


def _texts(data) -> dict:
    """A MIME bundle as the keeper takes it: texts, with bytes as base64; JSON is shown by nothing."""
    texts = {}
    for mime, content in list(dict(data).items())[: wire.MAX_MIMES]:
        mime = str(mime)
        if not wire.MIME.fullmatch(mime) or wire.is_json(mime):
            continue
        if isinstance(content, bytes):
            import base64

            content = base64.b64encode(content).decode("ascii")
        elif isinstance(content, (list, tuple)):  # Jupyter's lines
            content = "".join(map(str, content))
        texts[mime] = str(content)
    return texts
