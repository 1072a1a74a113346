"""Inside the sandbox: one warm process, a fork of it for each hand-in, a fork of that for each question.

Four kinds of process run this file, and only the last two ever run a student's code:

warm
    imports what notebooks need, then forks at each connection that it is handed. It never sees a
    byte of any hand-in, so none can be found in the memory that the next one inherits.
keeper
    one for each run. Makes the namespaces, forks the hand-in, hands it one cell at a time, and checks
    what comes back; measures time and memory; kills.
hand-in
    PID 1 of its own namespaces. Runs cells in IPython.
question
    a fork of the hand-in that calls one exercise's function, and dies.

Started by `autograder.grading.sandbox` with a JSON object as its only argument. It imports nothing of the
grading package but the files beside it that `INSIDE` there names, and the student's part of `autograder`.
"""

import gc
import importlib.util
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import suppress
from time import monotonic

INTERRUPTS = 3  # how often a cell that runs for too long is asked to stop
GRACE = 0.5  # seconds between those, and for a hand-in to say that a question was stopped
MAX_ERROR = 50_000  # bytes of one error with its traceback
MAX_ANSWERS = 64 << 20  # bytes, of one exercise


def _load(name: str):
    """A module that lies beside this file, whatever else is on the path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"sandbox_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def warm(config: dict) -> None:
    """Prepare, then fork a keeper for each connection that comes over the control socket."""
    global confine, runner, wire
    confine = _load("confine")
    if config["uid"] is not None:
        confine.become(config["uid"])
    confine.die_with_parent()
    sys.path.insert(0, config["course"])
    wire = _load("wire")
    runner = _load("runner")
    shell = None
    if config["preload"]:
        preload(config["preload"])
        shell = runner.prepare_shell()
    control = socket.socket(fileno=config["control"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # the collector must not touch, and so copy, what every fork shares
    gc.set_threshold(20_000)  # a hand-in is over before more collecting would pay
    control.sendall(b"+")
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    keepers: set[int] = set()
    while True:
        ready = waiting.poll(100 if keepers else None)
        for pid in list(keepers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                keepers.discard(pid)
        if not ready:
            continue
        message, fds, *_ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                control.close()
                Keeper(fds[0], config, shell).run()
                code = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc()  # to a file of the grader's: no student's code runs here
            finally:
                os._exit(code)
        keepers.add(pid)
        os.close(fds[0])


def preload(names: list) -> None:
    """Import these modules; after a colon stands a function that reads something for all forks to share."""
    for name in names:
        module, _, function = name.partition(":")
        module = importlib.import_module(module)
        if function:
            getattr(module, function)()


class Stopped(Exception):
    """The hand-in cannot go on: `status` and `reason` are the guilty cell's."""

    def __init__(self, status: str, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


class Keeper:
    """Runs one hand-in and reports on it over the connection `fd`.

    Parameters
    ----------
    fd : int
    config : dict
        As `warm` got it.
    shell : Shell or None
    """

    def __init__(self, fd: int, config: dict, shell):
        self._sandboxed = config["sandboxed"]
        self._grader = wire.Channel(fd, fd)
        self._shell = shell
        self._child = 0
        self._ended: int | None = None  # the hand-in's wait status

    def run(self) -> None:
        """From the first frame to the last; the hand-in and all it started are dead afterwards."""
        confine.die_with_parent()
        self._limits = self._grader.receive()[0]["limits"]
        self._finish = monotonic() + self._limits["total_seconds"]
        self._deadline, self._interrupts = self._finish, 0
        proc = os.path.isdir("/proc/self")
        self._processes = confine.Processes(os.open("/proc", os.O_RDONLY)) if proc else None
        self._base, resident = confine.sizes() if proc else (0, 0)
        self._spare = resident + confine.SPARE["AS"]
        folder = None
        if self._sandboxed:
            confine.enter_namespaces(self._limits["scratch_bytes"])
        else:
            folder = _own_folder()
        self._start()
        try:
            guilty = self._cells()
        finally:
            self._kill()
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
        self._grader.send({"op": "end", "guilty": guilty})

    def _start(self) -> None:
        commands, orders = os.pipe()
        events, reports = os.pipe()
        confine.adopt_orphans()
        self._child = os.fork()
        if self._child == 0:
            code = 1
            try:
                self._become_hand_in(commands, reports)
                code = 0
            finally:
                os._exit(code)
        os.close(commands)
        os.close(reports)
        if self._sandboxed:
            confine.drop_capabilities()
        self._hand_in = wire.Channel(events, orders, self._watch)

    def _become_hand_in(self, commands: int, reports: int) -> None:
        limits, sandboxed = self._limits, self._sandboxed
        os.setsid()
        if self._processes:
            self._processes.be_killed_first()
        nothing = os.open(os.devnull, os.O_RDWR)
        # Above every number that dup2 is about to overwrite.
        kept = [os.dup(commands) for _ in range(6)][-1], [os.dup(reports) for _ in range(6)][-1]
        for number, fd in enumerate((nothing, nothing, nothing, *kept)):
            os.dup2(fd, number, inheritable=number < 3)
        os.closerange(5, max(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
        confine.set_limits(limits, self._base, sandboxed)
        if sandboxed:
            confine.drop_capabilities()
        confine.die_with_parent()
        if sandboxed:
            confine.refuse_calls()
        runner.HandIn(self._shell, wire.Channel(3, 4), limits, sandboxed).serve()

    # Cells

    def _cells(self) -> int | None:
        """Hand out the cells in order; the index of one that the hand-in did not survive."""
        header, _ = self._hand_in.receive(1000, 0)  # "ready": what fails before is the grader's fault
        if header != {"op": "ready"}:
            raise RuntimeError("the hand-in's process did not start")
        job, arrays = self._grader.receive()
        budget = Budget(self._limits["output_bytes"], self._limits["outputs"])
        count = 0
        for index, cell in enumerate(job["cells"]):
            if cell is None:
                continue
            began = monotonic()
            report = {"status": "ok", "reason": "", "missing": False, "count": None}
            answers, values = None, []
            outputs = Outputs(budget)
            guilty = None
            try:
                if cell["exercise"] is None:
                    count += 1
                    report["count"] = count
                    report |= self._ask_to_run(cell["source"], count, outputs)
                else:
                    self._ask_questions(cell, arrays, report, answers := [], values, outputs)
            except Stopped as stop:
                report |= {"status": stop.status, "reason": stop.reason}
                guilty = index
            except wire.Closed:
                report |= {"status": "crash", "reason": self._how_it_died()}
                guilty = index
            except wire.WireError:
                report |= {"status": "crash", "reason": "It wrote into the grader's own pipe."}
                guilty = index
            if guilty is not None and cell["exercise"] is None:
                outputs.stopped(report["reason"])
            self._grader.send(
                {
                    "op": "cell",
                    "index": index,
                    **report,
                    "seconds": monotonic() - began,
                    "outputs": outputs.kept(),
                    "answers": answers,
                },
                values,
            )
            if guilty is not None:
                return guilty
        return None

    def _ask_to_run(self, source: str, count: int, outputs: "Outputs") -> dict:
        self._allow(self._limits["cell_seconds"], INTERRUPTS)
        self._hand_in.send({"op": "run", "source": source, "count": count})
        while True:
            header, _ = self._event()
            if header["op"] == "done":
                break
            outputs.take(header, count)
        if self._interrupts < INTERRUPTS:
            why = f"This cell ran for more than {self._limits['cell_seconds']:g} s."
            outputs.stopped(why)
            return {"status": "timeout", "reason": why}
        if header.get("status") not in ("ok", "error"):
            raise wire.WireError("no such status")
        return {"status": header["status"]}

    def _ask_questions(self, cell, arrays, report, answers, values, outputs) -> None:
        seconds = self._limits["call_seconds"]
        self._allow(seconds + 2 * GRACE, 0)
        asked = cell["questions"]
        given: list = []
        questions = [
            wire.pack_inputs(wire.unpack_inputs(question, arrays), given) for question in asked
        ]  # with the arrays of this exercise only
        message = {"op": "ask", "exercise": cell["exercise"], "call": cell["call"], "questions": questions}
        self._hand_in.send(message, given)
        said = bytearray()
        while True:
            header, chunk = self._event()
            if header["op"] == "asked":
                break
            if header["op"] == "answers":
                said += b"".join(part.tobytes() for part in chunk)
                if len(said) > MAX_ANSWERS:
                    raise Stopped("crash", "It sent more than answers can be.")
            else:
                outputs.take(header, None)
        if header.get("missing") is True:
            report["missing"] = True
            return
        odd = _read_answers(bytes(said), len(asked), answers, values)
        if odd:
            report |= {"status": "crash", "reason": odd}
        elif len(answers) < len(asked):
            late = header.get("late") is True
            why = f"It took more than {seconds:g} s." if late else _death(header.get("exit"))
            report |= {"status": "timeout" if late else "crash", "reason": why}

    def _event(self):
        header, arrays = self._hand_in.receive(
            4 * self._limits["output_bytes"] + (1 << 20), 8 * wire.MAX_VALUES
        )
        if not isinstance(header.get("op"), str):
            raise wire.WireError("no such event")
        return header, arrays

    # Watching

    def _allow(self, seconds: float, interrupts: int) -> None:
        self._deadline, self._interrupts = monotonic() + seconds, interrupts

    def _watch(self) -> None:
        """Called about every 50 ms while the hand-in has the word."""
        now = monotonic()
        if now > self._finish:
            seconds = self._limits["total_seconds"]
            raise Stopped("timeout", f"The whole notebook ran for more than {seconds:g} s.")
        if now > self._deadline:
            if not self._interrupts:
                raise Stopped("timeout", "It ran for too long, and did not stop when interrupted.")
            self._interrupts -= 1
            self._deadline = now + GRACE
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGINT)
        if not self._sandboxed and self._gone():
            self._kill()  # else what it left behind would hold its pipe open
        if self._processes and self._too_large():
            raise Stopped("crash", f"It used more than {self._limits['memory'] >> 20} MB of memory.")

    def _too_large(self) -> bool:
        sizes, most = self._processes.under(self._child), self._limits["memory"] + self._spare
        # Shared pages can be let go of and still exist, so address space is held against it as well.
        if sum(max(0, virtual - self._base) for virtual, _ in sizes.values()) > 4 * most:
            return True
        if sum(resident for _, resident in sizes.values()) <= most:
            return False
        return self._processes.memory(sizes) > most

    def _gone(self) -> bool:
        if self._ended is None:
            pid, status = os.waitpid(self._child, os.WNOHANG)
            self._ended = status if pid else None
        return self._ended is not None

    def _how_it_died(self) -> str:
        until = monotonic() + 0.2
        while not self._gone():
            if monotonic() > until:
                return "It closed the grader's own pipe."
            select.poll().poll(5)
        return _death(os.waitstatus_to_exitcode(self._ended))

    def _kill(self) -> None:
        if self._sandboxed:  # PID 1 takes its whole namespace with it, before waitpid returns
            if not self._gone():
                os.kill(self._child, signal.SIGKILL)
                self._ended = os.waitpid(self._child, 0)[1]
            return
        if not self._processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            return
        while tree := set(self._processes.under(os.getpid())) - {os.getpid()}:
            for pid in tree:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                while True:  # this process adopts what the hand-in leaves
                    pid, status = os.waitpid(-1, 0)
                    if pid == self._child:
                        self._ended = status


def _read_answers(said: bytes, due: int, answers: list, values: list) -> str:
    """Take the answers out of what a question's process wrote; what is odd about it, or ""."""
    source = wire.Bytes(said)
    while source.left:
        try:
            header, arrays = wire.read_frame(source.read, 1 << 16, 8 * wire.MAX_VALUES)
            if set(header) != {"index", "answer"} or len(arrays) > 1:
                raise wire.WireError("no answer")
            answer = wire.unpack_answer(header["answer"], arrays)
        except wire.WireError:
            # A process that was killed may leave half a frame; more than that is forged.
            return "" if len(answers) < due and said[-source.left :][:4] == wire.MAGIC else _FORGED
        if type(header["index"]) is not int or header["index"] != len(answers) or len(answers) >= due:
            return _FORGED
        answers.append(wire.pack_answer(answer, values))
    return ""


_FORGED = "It wrote into the grader's own pipe."


def _death(code) -> str:
    if not isinstance(code, int) or isinstance(code, bool):
        return "Its process ended."
    if code < 0:
        try:
            return f"Its process was killed by {signal.Signals(-code).name}."
        except ValueError:
            return f"Its process was killed by signal {-code}."
    return f"Its process ended with exit code {code}."


def _own_folder() -> str:
    folder = tempfile.mkdtemp(prefix="hand-in-")
    os.environ.update(HOME=folder, TMPDIR=folder)
    os.mkdir(f"{folder}/notebook")
    os.chdir(f"{folder}/notebook")
    return folder


class Budget:
    """How much of a hand-in's output is kept, over all its cells."""

    def __init__(self, output_bytes: int, outputs: int):
        self.left, self.most, self.outputs = output_bytes, output_bytes, outputs


class Outputs:
    """One cell's outputs as they come in: checked, merged, cleared, updated, cut."""

    def __init__(self, budget: Budget):
        self._budget = budget
        self._outputs: list[dict] = []
        self._ids: dict[str, dict] = {}
        self._clear = self._cut = False
        self._errors = 0

    def take(self, event: dict, count: int | None) -> None:
        """An "output" or "clear" event from the hand-in; raises WireError for any other."""
        if event["op"] == "clear" and set(event) == {"op", "wait"}:
            self._clear = True
            if event["wait"] is not True:
                self._do_clear()
            return
        if event["op"] != "output" or set(event) != {"op", "output", "id", "update"}:
            raise wire.WireError("no such event")
        output, name = wire.check_output(event["output"]), event["id"]
        if self._clear:
            self._do_clear()
        if name is not None and not isinstance(name, str):
            raise wire.WireError("an id is text")
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
        if event["update"] is True:
            if name in self._ids and "data" in output and self._pay(output):
                self._ids[name]["data"] = output["data"]
            return
        self._add(output, name)

    def _add(self, output: dict, name: str | None) -> None:
        last = self._outputs[-1] if self._outputs else {}
        if output["output_type"] == "stream":
            left = max(0, self._budget.left - 100)
            output["text"], rest = output["text"][:left], output["text"][left:]
            self._cut |= bool(rest)
            if not self._pay(output):
                self._cut = True
                return
            if last.get("output_type") == "stream" and last["name"] == output["name"]:
                last["text"] += output["text"]
                return
        elif output["output_type"] == "error":
            self._errors += 1  # what went wrong is shown even after a flood
            if self._errors > 3 or (not self._pay(output) and len(json.dumps(output)) > MAX_ERROR):
                self._cut = True
                return
        elif not self._pay(output):
            self._cut = True
            return
        if len(self._outputs) >= self._budget.outputs:
            self._cut = True
            return
        self._outputs.append(output)
        if name is not None and "data" in output:
            self._ids[name] = output

    def _pay(self, output: dict) -> bool:
        size = len(json.dumps(output, ensure_ascii=False).encode("utf-8", "replace"))
        if size > self._budget.left:
            return False
        self._budget.left -= size
        return True

    def _do_clear(self) -> None:
        self._outputs, self._ids, self._clear = [], {}, False

    def stopped(self, why: str) -> None:
        """Say in the outputs why the cell was stopped."""
        self._outputs.append(
            {"output_type": "error", "ename": "Stopped", "evalue": why, "traceback": [f"Stopped: {why}"]}
        )

    def kept(self) -> list[dict]:
        """What there is to show."""
        if not self._cut:
            return self._outputs
        text = f"[More was printed or shown here; of each notebook {self._budget.most >> 10} kB are kept.]\n"
        return [*self._outputs, {"output_type": "stream", "name": "stderr", "text": text}]


if __name__ == "__main__":
    warm(json.loads(sys.argv[1]))
