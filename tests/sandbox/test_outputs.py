"""Outputs of one cell: what clears them, and the limits of what is kept."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.core.run_limits import RunLimits
from autograder.sandbox.inside import (
    executor,
    forked_executor,
    ipython_shell,
    isolation,
    linux,
    outputs,
)
from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget
from autograder.values import encoding
from autograder.values.case_records import CallOutcome, Inputs

LIMITS = RunLimits()


def stream(text):
    output = {"output_type": "stream", "name": "stdout", "text": text}
    return {"op": "output", "output": output, "id": None, "update": False}


def error(text):
    output = {"output_type": "error", "ename": "ValueError", "evalue": text, "traceback": [text]}
    return {"op": "output", "output": output, "id": None, "update": False}


def texts(*events, output_bytes=1_000_000, number=200):
    cell = CellOutputs(OutputBudget(output_bytes=output_bytes, outputs=number))
    for event in events:
        cell.handle_message(event, count=1)
    return [output.get("text") or output.get("evalue") for output in cell.to_list()]


def test_outputs_are_cleared_at_once_or_before_the_next_one():
    at_once, later = ({"op": "clear", "wait": wait} for wait in (False, True))
    assert texts(stream("a"), at_once) == []
    assert texts(stream("a"), later) == ["a"]
    assert texts(stream("a"), later, stream("b")) == ["b"]
    assert texts(stream("a"), later, stream("b"), stream("c")) == ["bc"]
    assert texts(stream("a"), at_once, stream("b")) == ["b"]


def test_errors_of_a_cell_are_kept_up_to_a_number():
    errors = [error(f"error {i}") for i in range(outputs.MAX_ERRORS_PER_CELL + 2)]
    kept = [text for text in texts(*errors) if text.startswith("error ")]
    assert len(kept) == outputs.MAX_ERRORS_PER_CELL


def test_an_error_is_kept_where_the_budget_is_spent_but_not_a_huge_one():
    assert "late" in texts(error("late"), output_bytes=10)
    huge = "x" * (outputs.MAX_ERROR_BYTES + 1)
    assert huge not in texts(error(huge), output_bytes=10)


def test_the_reserve_for_errors_is_shared_by_all_cells():
    budget = OutputBudget(output_bytes=10, outputs=200)
    size = outputs.MAX_ERROR_BYTES // 3
    kept = 0
    for _ in range(3 * outputs.MAX_ERRORS_BYTES // size):
        cell = CellOutputs(budget)
        cell.handle_message(error("x" * size), count=1)
        kept += any(
            output["output_type"] == "error" and output["evalue"][:1] == "x"
            for output in cell.to_list()
        )
    assert 0 < kept <= outputs.MAX_ERRORS_BYTES // size


def test_cells_share_the_budget_for_output():
    budget, kept = OutputBudget(output_bytes=1_000, outputs=200), []
    for _ in range(5):
        cell = CellOutputs(budget)
        cell.handle_message(stream("x" * 300), count=1)
        kept.append(sum(output.get("text", "").count("x") for output in cell.to_list()))
    assert kept[0] == 300 and kept[-1] == 0
    assert sum(kept) <= 1_000 and budget.remaining_bytes >= 0


def display(text, display_id=None, update=False, kind="display_data"):
    output = {"output_type": kind, "data": {"text/plain": text}, "metadata": {}}
    if kind == "execute_result":
        output["execution_count"] = None
    return {"op": "output", "output": output, "id": display_id, "update": update}


def shown(*events, count=1):
    cell = CellOutputs(OutputBudget(output_bytes=1_000_000, outputs=200))
    for event in events:
        cell.handle_message(event, count=count)
    return [
        output.get("text") or output.get("data", {}).get("text/plain") for output in cell.to_list()
    ]


def test_a_display_is_replaced_by_its_update_and_others_stay():
    for display_id, expected in (("bar", ["1 of 2", "other"]), ("unknown", ["0 of 2", "other"])):
        bar, other = display("0 of 2", "bar"), display("other", "other")
        assert shown(bar, other, display("1 of 2", display_id, update=True)) == expected
    assert shown(display("plain"), display("x", None, update=True)) == ["plain"]


def test_updates_of_a_display_share_the_budget_for_output():
    budget = OutputBudget(output_bytes=1_000, outputs=200)
    cell = CellOutputs(budget)
    cell.handle_message(display("first", "d"), count=1)
    for number in range(10):
        cell.handle_message(display(f"{number}" * 300, "d", update=True), count=1)
    (output,) = cell.to_list()
    assert output["data"] == {"text/plain": "1" * 300}, "the third update is one too many"
    assert 0 <= budget.remaining_bytes < 300


def test_text_on_stderr_and_text_after_a_picture_stand_by_themselves():
    warning = stream("w")
    warning["output"]["name"] = "stderr"
    assert shown(stream("a"), warning, stream("b")) == ["a", "w", "b"]
    assert shown(stream("a"), display("p"), stream("b"), stream("c")) == ["a", "p", "bc"]


def test_a_result_has_the_number_of_its_cell():
    cell = CellOutputs(OutputBudget(output_bytes=1_000, outputs=200))
    cell.handle_message(display("3", kind="execute_result"), count=7)
    cell.add_stop_error("It did not end.")
    result, error = cell.to_list()
    assert result["execution_count"] == 7
    assert (error["ename"], error["evalue"]) == ("Stopped", "It did not end.")
    assert error["traceback"] == ["Stopped: It did not end."]


def test_a_remark_says_that_more_was_shown_and_how_much_is_kept():
    remark = "[More was printed or shown here; of each notebook 2 kB are kept.]\n"
    assert texts(*[stream("x" * 900)] * 4, output_bytes=2 << 10)[-1] == remark
    pictures = [display(str(number)) for number in range(4)]
    assert len(texts(*pictures, number=3)) == 4
    assert texts(stream("x"), output_bytes=2 << 10) == ["x"]


def test_a_long_error_is_cut():
    shown = []
    shell = SimpleNamespace(emitter=SimpleNamespace(emit_error=lambda *parts: shown.append(parts)))
    limits = (
        ipython_shell._MAX_ERROR_NAME_CHARACTERS,
        ipython_shell._MAX_ERROR_MESSAGE_CHARACTERS,
        ipython_shell._MAX_TRACEBACK_CHARACTERS,
    )
    for more in (0, 1):
        name, message, line = ("x" * (limit + more) for limit in limits)
        error_class = type(name, (Exception,), {})
        ipython_shell.Shell.show_error(shell, error_class, error_class(message), [line])
    longest, cut = shown
    assert longest == (*("x" * limit for limit in limits[:2]), ["x" * limits[2]])
    half = "x" * (limits[2] // 2)
    assert cut == (*longest[:2], [half, "[...]", half])


# What a submission's process sends


@pytest.fixture
def clock(monkeypatch):
    """The time that the sender of outputs reads; a test sets it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(executor, "monotonic", lambda: clock.now)
    return clock


def make_sender(output_bytes=1_000):
    """Return a sender, and the list of what it has sent, in short."""
    sent = []

    def send(header, arrays=()):
        output = header.get("output", {})
        name = output.get("name") or output.get("output_type") or header["op"]
        sent.append((name, output.get("text", "")))

    return executor.OutputSender(send, output_bytes), sent


PICTURE = {"output_type": "display_data", "data": {}, "metadata": {}}


def test_printed_text_is_gathered_for_a_while_and_sent_before_what_follows(clock):
    sender, sent = make_sender()
    for text in ("a", "b", ""):
        sender.emit_text("stdout", text)
    assert sent == []
    clock.now += executor.FLUSH_SECONDS + 0.01
    sender.emit_text("stdout", "c")
    assert sent == [("stdout", "abc")]
    for send_other, name in (
        (lambda: sender.emit_text("stderr", "w"), None),
        (lambda: sender.emit_output(PICTURE), "display_data"),
        (lambda: sender.emit_clear(True), "clear"),
        (sender.emit_step, "step"),
        (sender.flush, None),
    ):
        sent.clear()
        sender.emit_text("stdout", "a")
        send_other()
        assert sent[-2:] == [("stdout", "a"), (name, "")] if name else ("stdout", "a") in sent
        sender.flush()
    sent.clear()
    sender.flush()
    assert sent == []


def test_much_printed_text_is_sent_at_once_and_too_much_is_not(clock, monkeypatch):
    monkeypatch.setattr(executor, "FLUSH_CHARACTERS", 10)
    sender, sent = make_sender(output_bytes=15)  # of which twice as much may be sent
    sender.emit_text("stdout", "x" * 10)
    assert sent == []
    sender.emit_text("stdout", "y")
    assert sent == [("stdout", "x" * 10 + "y")]
    sender.emit_text("stdout", "z" * 99)
    assert sent[1:] == [("stdout", "z" * (30 - 11))]
    sender.emit_text("stdout", "more")
    sender.emit_output(PICTURE)
    assert len(sent) == 2
    sender.emit_error("E", "", [])
    assert sent[2:] == [("error", "")] and sender.has_failed
    sender.emit_text("stdout", "after the error")
    sender.flush()
    assert sent[3:] == [("stdout", "after the error")]


def test_a_picture_takes_its_size_from_what_may_be_sent(clock):
    sender, sent = make_sender(output_bytes=50)
    for _ in range(3):
        sender.emit_output(PICTURE)
    assert sent == [("display_data", "")] * 2


def test_a_stream_takes_text_and_has_a_number():
    parts = []
    emitter = SimpleNamespace(emit_text=lambda *part: parts.append(part))
    for number, name in enumerate(("stdout", "stderr"), 1):
        written = executor.OutputStream(name, emitter)
        assert written.write("né") == 2 and written.writable() and written.fileno() == number
        assert written.name == f"<{name}>"
        with pytest.raises(TypeError, match="must be str, not bytes"):
            written.write(b"x")
    assert parts == [("stdout", "né"), ("stderr", "né")]


@pytest.mark.parametrize(
    ("batch_bytes", "pause", "first_numbers"),
    [
        (3 * executor.MIN_VALUE_BYTES, 0.0, [0, 3, 6]),
        (1 << 20, 0.0, [0]),
        (1 << 20, 1.0, [0, 1, 2]),
    ],
)
def test_results_are_sent_together_up_to_a_size_and_a_time(
    clock, monkeypatch, batch_bytes, pause, first_numbers
):
    def call(function, question, kind):
        clock.now += pause
        assert question.memory is None, "this process does not measure itself"
        return CallOutcome(question.args[0])

    monkeypatch.setattr(executor, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(executor, "call_student_function", call)
    questions = [Inputs((number,), memory=number or None) for number in range(7)]
    sent = list(executor.call_and_encode_results(None, "function", questions))
    records = [encoding.decode(frame)[0] for frame in sent]
    assert [record["first"] for record in records][: len(first_numbers)] == first_numbers
    assert sum(len(record["answers"]) for record in records) == 7


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (None, 0),
        ("text", 4),
        (np.zeros(10), 80),
        ([1, 2], 2 * 128),
        ((np.zeros(1), "ab"), 2 * 128 + 8 + 2),
        ({"a": 1, "bb": "c"}, 4 * 128 + 1 + 2 + 1),
    ],
)
def test_the_size_of_a_result_is_that_of_all_its_parts(value, size):
    assert executor._estimate_size(value) == executor.MIN_VALUE_BYTES + size


# The limits of a submission's process


class FakeResources:
    """The limits of a process: those that the tests name, and no others are there."""

    RLIM_INFINITY = -1

    def __init__(self, **limits):
        self.limits = {}
        for number, (name, pair) in enumerate(limits.items()):
            setattr(self, f"RLIMIT_{name}", number)
            self.limits[number] = pair

    def getrlimit(self, kind):
        return self.limits[kind]

    def setrlimit(self, kind, pair):
        self.limits[kind] = pair

    def pairs(self):
        return list(self.limits.values())


def test_a_submission_s_process_gets_its_limits_and_a_little_to_spare(monkeypatch):
    endless, spare = (-1, -1), linux.SPARE_LIMITS
    names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE", "MSGQUEUE", "SIGPENDING", "NPROC")
    limits = RunLimits(memory=1_000, total_seconds=7.9, file_bytes=11, open_files=12, processes=13)
    resources = FakeResources(**dict.fromkeys(names, endless))
    monkeypatch.setattr(linux, "resource", resources)
    linux.set_limits(limits, 500)
    expected = [(1_500, 1_500 + spare["AS"]), (12, 12), (11, 11), (12, 12 + spare["NOFILE"])]
    expected += [(0, 0), (0, 0), (256, 256)]
    assert resources.pairs() == [*expected, endless], "processes are counted for each user"
    linux.set_limits(limits, 500, limits.processes)
    assert resources.pairs() == [*expected, (13, 13 + spare["NPROC"])]
    with linux.raise_limits():
        raised = resources.pairs()
    assert raised[0] == (1_500 + spare["AS"],) * 2 and raised[1] == (12, 12)
    assert raised[3] == (20, 20) and raised[7] == (21, 21)
    assert resources.pairs() == [*expected, (13, 13 + spare["NPROC"])]
    resources = FakeResources(NOFILE=(5, 15), CPU=(3, 9))
    monkeypatch.setattr(linux, "resource", resources)
    linux.set_limits(limits, 500)
    assert resources.pairs() == [(15 - spare["NOFILE"], 15), (9, 9)], "no more than it had"


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        (isolation.Isolation, [("set_limits", LIMITS, 5), ("die_with_parent",)]),
        (
            isolation.NamespaceIsolation,
            [
                ("set_limits", LIMITS, 5, LIMITS.processes),
                ("drop_capabilities",),
                ("die_with_parent",),
                ("install_seccomp_filter",),
            ],
        ),
    ],
)
def test_a_submission_gives_up_its_rights_in_this_order(monkeypatch, kind, steps):
    done = []
    for name in ("set_limits", "drop_capabilities", "die_with_parent", "install_seccomp_filter"):
        monkeypatch.setattr(linux, name, lambda *values, name=name: done.append((name, *values)))
    kind().restrict_submission(LIMITS, 5)
    assert done == steps


@pytest.mark.parametrize(
    ("is_last", "threads", "modules", "is_forked"),
    [
        (True, 0, {}, False),
        (True, 1, {}, True),
        (False, 0, {}, True),
        (False, 1, {"jax": None}, False),
    ],
)
def test_a_function_is_called_in_a_fork_unless_nothing_follows_or_jax_is_loaded(
    monkeypatch, is_last, threads, modules, is_forked
):
    steps = []

    def refuse_pipe():
        steps.append("fork")
        raise OSError

    submission = object.__new__(forked_executor.ForkedExecutor)
    submission._isolation = SimpleNamespace(end_descendants=lambda: steps.append("end others"))
    submission._after_cell = lambda: steps.append("after")
    monkeypatch.setattr(forked_executor._thread, "_count", lambda: threads)
    monkeypatch.setattr(forked_executor.sys, "modules", {**sys.modules, **modules})
    monkeypatch.setattr(forked_executor.os, "pipe", refuse_pipe)
    monkeypatch.setattr(forked_executor.linux, "raise_limits", nullcontext)
    call_here = executor.SubmissionExecutor
    monkeypatch.setattr(call_here, "_call_and_send_results", lambda *_: steps.append("here") or 7)
    status = submission._call_and_send_results(None, "function", [], is_last)
    if is_forked:
        assert (status, steps) == (1, ["end others", "fork"])
    else:
        assert (status, steps) == (7, ["end others", "here", "after"])


@pytest.mark.parametrize("has_ended", [True, False])
def test_what_a_submission_has_left_is_ended_and_removed(monkeypatch, tmp_path, has_ended):
    """A submission that ended its own process may have left others running in the background."""
    running, killed = ["a", "b"], []

    def list_children(recursive):
        return [SimpleNamespace(kill=lambda name=name: killed.append(name)) for name in running]

    def wait_for_child(*_):
        running.clear()
        raise ChildProcessError

    fork_server = SimpleNamespace(children=list_children)
    monkeypatch.setattr(
        isolation, "psutil", SimpleNamespace(LINUX=True, Error=OSError, Process=lambda: fork_server)
    )
    monkeypatch.setattr(isolation.os, "waitpid", wait_for_child)
    submission = object.__new__(isolation.Isolation)
    submission._folder = tmp_path / "submission"
    submission._folder.mkdir()
    submission.kill_submission(1, has_ended)
    assert killed == ["a", "b"] and not submission._folder.exists()
