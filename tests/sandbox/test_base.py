"""Test the part of a sandbox in the grader's process: plans, second runs, and shared data."""

import json
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import autograder
from autograder.core.cpu_time import WALL_SECONDS_PER_CPU_SECOND
from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.sandbox import base, bubblewrap, choice, fork_server_sandbox, no_isolation
from autograder.sandbox.base import Cell, Sandbox, SandboxError
from autograder.sandbox.inside import driver, protocol
from autograder.sandbox.inside.driver import CellRun
from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget
from autograder.sandbox.no_isolation import NoIsolation
from autograder.values import encoding
from autograder.values.case_records import CallOutcome, Inputs


class ScriptedSandbox(Sandbox):
    """A sandbox whose runs are scripted: one list for each process, of (index, status, fields)."""

    name = "scripted"

    def __init__(self, *processes, **options):
        super().__init__(**options)
        self.processes, self.plans, self.seconds, self.closed = list(processes), [], [], 0
        self.orders = []

    @classmethod
    def explain_unavailability(cls):
        return ""

    def start(self):
        pass

    def close(self):
        self.closed += 1

    def _run_plan(self, plan, arrays, limits, seconds):
        self.plans.append([order and (order["source"], order["replay"]) for order in plan])
        self.seconds.append(seconds)
        self.orders.append(plan)
        script = self.processes.pop(0)
        if isinstance(script, Exception):
            raise script
        total = 0.0
        for index, status, fields in script:
            total += 1.0
            yield CellRun(index=index, status=status, total_charged_seconds=total, **fields), []


OK, CRASH, TIMEOUT = CellOutcome.OK, CellOutcome.CRASH, CellOutcome.TIMEOUT
END = {"ended_process": True}
CELLS = [Cell("a = 1"), Cell("b = 1\nc = 2\nd = 3"), Cell("e = 1")]


def run(*processes, cells=CELLS, **limits):
    sandbox = ScriptedSandbox(*processes, limits=RunLimits(**limits))
    return sandbox, [(run.status, run.reason) for run in sandbox.run(cells)]


def statuses(runs):
    return [status for status, _ in runs]


def test_a_cell_that_ends_the_process_is_left_out_of_the_second_run():
    sandbox, runs = run(
        [(0, OK, {}), (1, CRASH, END)],
        [(0, OK, {}), (2, OK, {})],
    )
    assert statuses(runs) == [OK, CRASH, OK]
    assert sandbox.plans[1] == [("a = 1", False), None, ("e = 1", False)]


def test_of_a_cell_that_was_stopped_the_completed_statements_run_again():
    sandbox, runs = run(
        [(0, OK, {}), (1, TIMEOUT, {**END, "completed_statements": 2})],
        [(0, OK, {}), (1, OK, {}), (2, OK, {})],
    )
    assert statuses(runs) == [OK, TIMEOUT, OK], "the verdict on the stopped cell stays"
    assert sandbox.plans[1][1] == ("b = 1\nc = 2", True)


def test_a_cell_that_is_stopped_once_more_is_left_out():
    stopped = (1, TIMEOUT, {**END, "completed_statements": 2})
    sandbox, runs = run([(0, OK, {}), stopped], [(0, OK, {}), stopped], [(0, OK, {}), (2, OK, {})])
    assert statuses(runs) == [OK, TIMEOUT, OK] and sandbox.plans[2][1] is None


def test_second_runs_share_the_time_of_the_submission_and_are_few():
    sandbox, _ = run(*([(index, CRASH, END)] for index in range(3)), total_seconds=10)
    assert sandbox.seconds == [10, 9.0, 8.0]
    sandbox, runs = run([(0, CRASH, END)], [(1, CRASH, END)], total_seconds=10, reruns=1)
    assert sandbox.seconds == [10, 9.0]
    assert statuses(runs) == [CRASH, CRASH, CellOutcome.SKIPPED]
    assert runs[2][1] == "The notebook's time, or its number of reruns, was used up."


def test_when_the_time_is_used_up_the_other_cells_are_skipped():
    sandbox, runs = run([(0, CRASH, END)], total_seconds=1)
    assert statuses(runs) == [CRASH, CellOutcome.SKIPPED, CellOutcome.SKIPPED]
    assert len(sandbox.plans) == 1


def test_a_sandbox_that_fails_once_starts_anew_and_one_that_fails_twice_says_so():
    error = protocol.ProtocolError("no frame")
    sandbox, runs = run(error, [(i, OK, {}) for i in range(3)])
    assert statuses(runs) == [OK] * 3 and sandbox.closed == 1
    with pytest.raises(SandboxError, match=r"^The sandbox failed twice: no frame\.$"):
        run(error, OSError("no frame"))


@pytest.mark.parametrize(
    "reports",
    [
        [(0, OK, {}), (0, OK, {}), (1, OK, {}), (2, OK, {})],
        [(1, OK, {}), (0, OK, {})],
        [(0, OK, {}), (1, OK, {})],
    ],
)
def test_a_report_twice_out_of_order_or_missing_is_a_failure(reports):
    with pytest.raises(SandboxError, match=r"nobody asked for|have no end"):
        run(reports, reports)


@pytest.mark.parametrize(
    ("source", "count", "expected"),
    [
        ("a = 1\nb = 2", 1, "a = 1"),
        ("if a:\n    b = 1\n\nc = 2", 1, "if a:\n    b = 1"),
        ("a = '''\nx'''; b = 1\nc = 2", 2, "a = '''\nx'''; b = 1"),
        ("a = 1", 0, ""),
        ("a = 1", 5, "a = 1"),
        ("%time a = 1\nb = 2", 1, ""),
        ("", 1, ""),
    ],
)
def test_the_first_statements_of_a_cell_are_taken_whole(source, count, expected):
    assert base._take_statements(source, count) == expected


def test_a_call_with_a_memory_limit_gets_a_process_of_its_own():
    plain, limited = Inputs((1,)), Inputs((2,), memory=10)
    groups = base._split_inputs_by_process([plain, plain, limited, plain, limited, limited, plain])
    assert [len(group) for group in groups] == [2, 1, 1, 1, 1, 1]
    assert [group[0].memory for group in groups] == [None, 10, None, 10, 10, None]
    assert base._split_inputs_by_process([]) == [[]]


def test_missing_packages_are_named_in_order_and_known_ones_are_not():
    explain = ScriptedSandbox.explain_missing_packages
    assert explain(["numpy", "math"]) == explain([]) == ""
    assert explain(["numpy", "zz_nowhere", "aa_nowhere"]) == (
        "aa_nowhere and zz_nowhere cannot be imported where submissions run: install them beside "
        "the engine, `pip install aa_nowhere zz_nowhere`."
    )
    assert explain(["zz_nowhere"]) == (
        "zz_nowhere cannot be imported where submissions run: install it beside the engine, "
        "`pip install zz_nowhere`."
    )


def test_a_submission_sees_the_course_s_keys_and_library_and_no_solutions(tmp_path):
    for name in ("notebooks/one/answers", "notebooks/one", "solutions/one", "plots", "classroom"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    sandbox = ScriptedSandbox(library=[tmp_path / "plots"], course=tmp_path)
    files = sandbox._map_visible_files()
    own = {name: path for name, path in files.items() if path.is_relative_to(tmp_path)}
    assert own == {
        "/course/plots": tmp_path / "plots",
        "/course/course.toml": tmp_path / "course.toml",
        "/course/notebooks/one/answers": tmp_path / "notebooks/one/answers",
    }
    assert "/course/autograder/student/check.py" in files
    assert "/course/autograder/authoring/verify.py" not in files
    environment = sandbox._make_base_environment("/home", "/tmp", "/course")
    assert (environment["AUTOGRADER_COURSE"], environment["HOME"]) == ("/course", "/home")
    environment = ScriptedSandbox()._make_base_environment("/home", "/tmp", "/course")
    assert "AUTOGRADER_COURSE" not in environment


def test_a_chosen_sandbox_is_taken_or_says_why_not(monkeypatch):
    choice.find_sandbox.cache_clear()
    monkeypatch.setitem(choice._SANDBOXES, "scripted", ScriptedSandbox)
    assert choice.find_sandbox("scripted") is ScriptedSandbox
    choice.find_sandbox.cache_clear()
    monkeypatch.setattr(
        ScriptedSandbox, "explain_unavailability", classmethod(lambda cls: "It is broken.")
    )
    with pytest.raises(SandboxError, match=r"^It is broken\.$"):
        choice.find_sandbox("scripted")
    choice.find_sandbox.cache_clear()


def test_a_supervisor_may_take_as_long_as_a_busy_machine_needs(monkeypatch):
    """The limit is one of processor time, and another program may have the processor."""
    moment = 100.0
    monkeypatch.setattr(fork_server_sandbox, "monotonic", lambda: moment)
    monkeypatch.setattr(NoIsolation, "start", lambda sandbox: None)
    sandbox = NoIsolation([])
    control, sandbox._control = socket.socketpair()
    channel, connection = sandbox._connect_to_supervisor(10)
    with control, sandbox._control, connection:
        moment += 10 * WALL_SECONDS_PER_CPU_SECOND + 14
        channel._tick()
        moment += 2
        with pytest.raises(protocol.ProtocolError, match="the sandbox does not answer"):
            channel._tick()


class ScriptedDriver(driver.SubmissionDriver):
    """A driver of a submission with scripted messages; after the last, the cell computes on."""

    def __init__(self, *events):
        self.events, self.cpu_seconds, self.interrupt_count = list(events), 0.0, 0
        super().__init__(RunLimits(), seconds=1e9)

    def receive_event(self):
        while not self.events:
            self.cpu_seconds += 1000
            self.check_time_limits()
        return self.events.pop(0)

    def interrupt_cell(self):
        self.interrupt_count += 1

    def _submission_cpu_seconds(self):
        return self.cpu_seconds

    def _submission_sleep_seconds(self):
        return 0.0

    def end_measurement_and_find_excess_memory(self):
        return 0

    def do_nothing(self, *arguments):
        pass

    measure_usage = send_order = describe_process_end = end_answer_process = do_nothing
    start_memory_measurement = record_received_results = do_nothing


def make_outputs():
    return CellOutputs(OutputBudget(output_bytes=1000, outputs=10))


def test_a_cell_that_goes_on_is_interrupted_some_times_and_then_ended():
    run = ScriptedDriver()
    with pytest.raises(driver.SubmissionLimitExceeded, match="This cell ran for more than"):
        run._run_cell("while True: ...", 1, CellRun(), make_outputs())
    assert run.interrupt_count == driver.MAX_INTERRUPTS


@pytest.mark.parametrize(("last_byte_count", "is_accepted"), [(4, True), (5, False)])
def test_the_answers_to_one_exercise_are_limited_together(
    monkeypatch, last_byte_count, is_accepted
):
    monkeypatch.setattr(driver, "MAX_ANSWERS_BYTES", 10)
    events = []
    for byte_count in (6, last_byte_count):
        events.append(({"op": "answers"}, [np.zeros(byte_count, "uint8")]))
        events.append(({"op": "asked", "exit": 0}, []))
    group = {"parts": 0, "memory": None}
    cell = {"exercise": "f", "call": "function", "slow": False, "groups": [group, group]}
    cell["judged_again_without"] = []
    answers = []
    arguments = (cell, [], CellRun(), answers, make_outputs())
    if is_accepted:
        ScriptedDriver(*events)._call_tested_function(*arguments, is_last=False)
        assert [len(answer) for answer in answers] == [6, 4]
    else:
        with pytest.raises(driver.SubmissionLimitExceeded, match=protocol.TOO_LARGE_MESSAGE):
            ScriptedDriver(*events)._call_tested_function(*arguments, is_last=False)


@pytest.mark.parametrize(("more_bytes", "sentence"), [(0, ""), (-1, protocol.FORGED_MESSAGE)])
def test_the_json_of_one_message_with_answers_is_limited(monkeypatch, more_bytes, sentence):
    data = encoding.encode({"first": 0, "answers": [encoding.pack_outcome(CallOutcome(1), [])]})
    _, size, _ = encoding.PREFIX.unpack(data[: encoding.PREFIX.size])
    monkeypatch.setattr(base, "MAX_ANSWERS_JSON_BYTES", size + more_bytes)
    outcomes, message = base._decode_outcomes(data, 1, [9, 999])
    assert (len(outcomes), message) == (1 if not sentence else 0, sentence)


@pytest.mark.skipif(sys.platform != "linux", reason="the supervisor needs Linux")
@pytest.mark.parametrize("is_measured", [True, False])
def test_a_message_is_short_while_memory_is_measured(is_measured):
    from autograder.sandbox.inside import supervisor

    sizes = []
    run = SimpleNamespace(
        limits=RunLimits(),
        _memory_monitor=is_measured,
        _submission=SimpleNamespace(receive=lambda *max_sizes: sizes.append(max_sizes)),
    )
    supervisor.Supervisor.receive_event(run)
    ((header_bytes, _),) = sizes
    assert (header_bytes == supervisor.MAX_EVENT_BYTES) == is_measured
    assert header_bytes >= supervisor.MAX_EVENT_BYTES


def test_a_cell_that_ended_the_process_itself_is_left_out_whatever_it_had_completed():
    """Only a time limit stops a cell between two statements."""
    crash = (1, CRASH, {**END, "completed_statements": 2})
    sandbox, runs = run([(0, OK, {}), crash], [(0, OK, {}), (2, OK, {})])
    assert statuses(runs) == [OK, CRASH, OK] and sandbox.plans[1][1] is None


def test_a_cell_that_is_stopped_in_the_second_run_only_has_that_status():
    stopped = (2, TIMEOUT, {**END, "reason": "It ran too long."})
    _, runs = run(
        [(0, OK, {}), (1, CRASH, END)], [(0, OK, {}), stopped], [(0, CellOutcome.ERROR, {})]
    )
    assert runs[0] == (OK, "")
    assert runs[1:] == [(CRASH, ""), (TIMEOUT, "It ran too long.")]
    _, runs = run([(0, OK, {}), (1, CRASH, END)], [(0, TIMEOUT, {}), (2, OK, {})])
    assert statuses(runs) == [TIMEOUT, CRASH, OK]
    _, runs = run([(0, CellOutcome.ERROR, {}), (1, CRASH, END)], [(0, TIMEOUT, {}), (2, OK, {})])
    assert statuses(runs) == [CellOutcome.ERROR, CRASH, OK]


def test_a_test_cell_is_run_once_and_those_that_need_a_slow_function_are_told():
    answered = {"outcome_groups": [{"parts": 0, "exit": 0, "held": 0}]}
    cells = [
        Cell("", "slow"),
        Cell("b = 1"),
        Cell("", "needs_slow", judged_again_without=frozenset({"slow", "other"})),
        Cell("", "needs_other", judged_again_without=frozenset({"other"})),
        Cell("", "needs_none"),
    ]
    sandbox, runs = run(
        [(0, TIMEOUT, answered), (1, CRASH, END)],
        [(number, OK, answered) for number in (2, 3, 4)],
        cells=cells,
    )
    assert statuses(runs) == [TIMEOUT, CRASH, OK, OK, OK]
    assert [[order and order["slow"] for order in orders] for orders in sandbox.orders] == [
        [False] * 5,
        [None, None, True, False, False],
    ]


# Results of calls


def pack_answers(first, *values):
    arrays = []
    records = [encoding.pack_outcome(CallOutcome(value), arrays) for value in values]
    return encoding.encode({"first": first, "answers": records}, arrays)


def test_results_are_read_within_a_budget_of_arrays_and_bytes():
    data = pack_answers(0, np.zeros(60), np.zeros(40))
    budget = [9, 100_000]
    outcomes, problem = base._decode_outcomes(data, 2, budget)
    assert (len(outcomes), problem) == (2, "")
    assert budget == [7, 100_000 - (800 + base._JSON_MEMORY_FACTOR * (len(data) - 800))]
    for too_small in ([1, 100_000], [9, 100_000 - budget[1] - 1]):
        assert base._decode_outcomes(data, 2, too_small)[1] == protocol.TOO_LARGE_MESSAGE
    assert base._decode_outcomes(data, 2, [2, 100_000 - budget[1]])[1] == ""


@pytest.mark.parametrize(
    ("data", "values", "problem"),
    [
        (b"", [], ""),
        (pack_answers(0, 1) + pack_answers(1, 2, 3), [1, 2, 3], ""),
        (pack_answers(0, 1) + pack_answers(1, 2)[:-1], [1], ""),  # it was killed amid a message
        (pack_answers(0, 1) + encoding.MAGIC[:2], [1], ""),
        (pack_answers(0, 1, 2, 3) + encoding.MAGIC[:2], [1, 2, 3], protocol.FORGED_MESSAGE),
        (pack_answers(0, 1) + b"x", [1], protocol.FORGED_MESSAGE),
        (pack_answers(0, 1) + pack_answers(0, 2), [1], protocol.FORGED_MESSAGE),
        (pack_answers(1, 1), [], protocol.FORGED_MESSAGE),
        (pack_answers(0), [], protocol.FORGED_MESSAGE),
        (pack_answers(0, 1, 2) + pack_answers(2, 3, 4), [1, 2], protocol.FORGED_MESSAGE),
        (encoding.encode({"first": 0, "answers": [3]}), [], protocol.FORGED_MESSAGE),
        (encoding.encode({"answers": []}), [], protocol.FORGED_MESSAGE),
    ],
)
def test_results_are_in_order_and_as_many_as_were_asked_for(data, values, problem):
    outcomes, message = base._decode_outcomes(data, 3, [99, 99_999])
    assert ([outcome.value for outcome in outcomes], message) == (values, problem)


CALLS = [Inputs((1,)), Inputs((2,)), Inputs((3,), memory=10), Inputs((4,))]
FIRST, SECOND, THIRD = pack_answers(0, 1, 2), pack_answers(0, 3), pack_answers(0, 4)


@pytest.mark.parametrize(
    ("groups", "values", "status", "reason"),
    [
        ([(FIRST, 0, 0), (SECOND, -9, 0), (THIRD, 0, 0)], [1, 2, 3, 4], OK, ""),
        ([(FIRST, 0, 0), (SECOND, 0, 0)], [1, 2, 3], CRASH, "Its process ended."),
        ([], [], CRASH, "Its process ended."),
        (
            [(pack_answers(0, 1), -9, 0), (SECOND, 0, 0), (THIRD, 0, 0)],
            [1],
            CRASH,
            "Its process was killed by SIGKILL.",
        ),
        ([(FIRST, 0, 0), (b"forged", 0, 0)], [1, 2], CRASH, protocol.FORGED_MESSAGE),
    ],
)
def test_results_end_with_the_first_process_that_failed(groups, values, status, reason):
    reports, arrays = [], []
    for data, code, held_bytes in groups:
        parts = protocol.split_into_message_parts(data)
        reports.append({"parts": len(parts), "exit": code, "held": held_bytes})
        arrays += parts
    run = CellRun(outcome_groups=reports)
    base._store_decoded_outcomes(run, arrays, Cell("", "f", CALLS))
    assert [outcome.value for outcome in run.outcomes] == values
    assert (run.status, run.reason) == (status, reason)
    assert run.forged == (reason == protocol.FORGED_MESSAGE)


def test_the_memory_that_a_call_held_belongs_to_the_last_result_of_its_process(monkeypatch):
    arrays, reports = [], []
    for data, held_bytes in ((FIRST, 0), (SECOND, 77), (THIRD, 0)):
        parts = protocol.split_into_message_parts(data)
        reports.append({"parts": len(parts), "exit": 0, "held": held_bytes})
        arrays += parts
    groups = base._split_inputs_by_process(CALLS)
    outcomes, _ = base._read_outcome_groups(reports, arrays, groups)
    before = [CallOutcome(number).peak_bytes for number in range(4)]
    assert [outcome.peak_bytes for outcome in outcomes] == [*before[:2], 77, before[3]]
    with pytest.raises(protocol.ProtocolError, match="arrays are missing"):
        base._read_outcome_groups(reports, arrays[:-1], groups)
    # If all results together are too large, none is kept.
    monkeypatch.setattr(base.encoding, "MAX_PAYLOAD_BYTES", 8 * len(FIRST) + 1)
    outcomes, problem = base._read_outcome_groups(reports, arrays, groups)
    assert (outcomes, problem) == ([], (CRASH, protocol.TOO_LARGE_MESSAGE))


def test_what_the_driver_has_said_of_a_test_cell_stays():
    for run in (CellRun(missing=True), CellRun(status=TIMEOUT, reason="So.")):
        before = (run.status, run.reason)
        base._store_decoded_outcomes(run, [], Cell("", "f", CALLS))
        assert (run.status, run.reason) == before and run.outcomes == []
    run = CellRun()
    base._store_decoded_outcomes(run, [], Cell("a = 1"))
    assert run.outcomes is None


# The driver of a submission


class PlannedDriver(ScriptedDriver):
    """A driver that records its orders; a number among its messages is CPU time that passes."""

    def __init__(self, *events, limits=None):
        self.orders, self.ended_answers, self.measured, self.peaks = [], 0, [], []
        super().__init__(*events)
        self.limits = limits or self.limits

    def receive_event(self):
        while isinstance(self.events[0], (int, float)):
            self.cpu_seconds += self.events.pop(0)
            self.check_time_limits()
        event = self.events.pop(0)
        if isinstance(event, Exception):
            raise event
        return event

    def send_order(self, header, arrays=()):
        values = [array.tolist() for array in arrays]
        self.orders.append(tuple(header[name] for name in header if name != "call") + (values,))

    def end_answer_process(self):
        self.ended_answers += 1

    def start_memory_measurement(self, memory):
        self.measured.append(memory)

    def end_measurement_and_find_excess_memory(self):
        return self.peaks.pop(0) if self.peaks else 0

    def describe_process_end(self):
        return "It ended."


def make_test_cell(name, *memory_limits, needs=(), slow=False, first_array=0):
    groups = [{"parts": 1, "memory": memory} for memory in memory_limits or (None,)]
    cell = {"exercise": name, "call": "function", "slow": slow, "groups": groups}
    return {**cell, "judged_again_without": list(needs), "first_array": first_array}


def make_cell(source):
    return {"exercise": None, "source": source}


DONE, FAILED = (({"op": "done", "status": status}, []) for status in ("ok", "error"))
STEP = ({"op": "step"}, [])


def answer(data=FIRST):
    return {"op": "answers"}, protocol.split_into_message_parts(data)


def ask_end(code=0, missing=False):
    return {"op": "asked", "exit": code, "missing": missing}, []


def test_cells_are_run_in_order_and_only_the_last_call_is_made_in_the_submission_s_process():
    arrays = [np.full(1, number, np.uint8) for number in range(4)]
    cells = [make_cell("a"), make_test_cell("f", None, 10, None), None, make_cell("b")]
    cells += [make_test_cell("g", None, None, first_array=2), None]
    events = [DONE, ask_end(), answer(), ask_end(-9), ask_end(), 2, STEP, STEP, FAILED, 3]
    run = PlannedDriver(*events, ask_end(), ask_end())
    reports = [report for report, _ in run.run_cells(cells, arrays)]
    assert run.orders == [
        ("run", "a", 1, []),
        ("ask", "f", False, [[0]]),
        ("ask", "f", False, [[1]]),
        ("ask", "f", False, [[2]]),
        ("run", "b", 2, []),
        ("ask", "g", False, [[2]]),
        ("ask", "g", True, [[3]]),
    ]
    assert run.measured == [None, 10, None, None, None]
    assert [(report.index, report.status) for report in reports] == [
        (0, OK),
        (1, OK),
        (3, CellOutcome.ERROR),
        (4, OK),
    ]
    assert [report.completed_statements for report in reports] == [0, 0, 2, 0]
    assert [round(report.charged_seconds) for report in reports] == [0, 0, 2, 3]
    assert [round(report.total_charged_seconds) for report in reports] == [0, 0, 2, 5]
    assert not any(report.ended_process for report in reports)
    run = PlannedDriver(ask_end())
    assert [report.status for report, _ in run.run_cells([make_test_cell("f", 10)], arrays)] == [OK]
    assert run.orders == [("ask", "f", False, [[0]])], "its memory is measured from outside"


@pytest.mark.parametrize(
    ("event", "status", "reason", "forged"),
    [
        (protocol.ChannelClosed("x"), CRASH, "It ended.", False),
        (protocol.ProtocolError("x"), CRASH, protocol.FORGED_MESSAGE, True),
        (({"op": 3}, []), CRASH, protocol.FORGED_MESSAGE, True),
        (({}, []), CRASH, protocol.FORGED_MESSAGE, True),
        (({"op": "done", "status": "timeout"}, []), CRASH, protocol.FORGED_MESSAGE, True),
        (({"op": "done", "status": "fine"}, []), CRASH, protocol.FORGED_MESSAGE, True),
        (({"op": "done"}, []), CRASH, protocol.FORGED_MESSAGE, True),
        (driver.SubmissionLimitExceeded(TIMEOUT, "So."), TIMEOUT, "So.", False),
    ],
)
def test_a_cell_that_ends_its_process_is_the_last_and_says_why(event, status, reason, forged):
    stop = {"output_type": "error", "ename": "Stopped", "evalue": reason}
    stop["traceback"] = [f"Stopped: {reason}"]
    cells = [make_cell("a"), make_cell("b")]
    ((report, _),) = PlannedDriver(event).run_cells(cells, [])
    assert (report.status, report.reason, report.forged) == (status, reason, forged)
    assert report.ended_process and report.outputs == [stop]


def test_the_cells_of_a_submission_share_what_may_be_kept_of_their_outputs():
    events = []
    for _ in range(3):
        text = {"output_type": "stream", "name": "stdout", "text": "x" * 400}
        events += [({"op": "output", "output": text, "id": None, "update": False}, []), DONE]
    run = PlannedDriver(*events, limits=RunLimits(output_bytes=1000))
    runs = run.run_cells([make_cell("a"), make_cell("b"), make_cell("c")], [])
    assert ["x" * 400 in str(report.outputs) for report, _ in runs] == [True, True, False]


def test_a_test_cell_that_ends_the_process_shows_nothing():
    cells = [make_test_cell("f"), make_test_cell("g")]
    ((report, _),) = PlannedDriver(protocol.ChannelClosed("x")).run_cells(cells, [])
    assert (report.status, report.reason, report.outputs) == (CRASH, "It ended.", [])
    assert report.ended_process


@pytest.mark.parametrize(
    ("events", "memory_limits", "groups", "status", "reason"),
    [
        ([answer(), ask_end(), answer(THIRD), ask_end()], [None, None], [0, 0], OK, ""),
        ([answer(), ask_end(1)], [None, None], [1], OK, ""),
        ([answer(), ask_end(-9)], [None, None], [-9], OK, ""),
        ([answer(), ask_end(-9), answer(), ask_end()], [10, None], [-9, 0], OK, ""),
        ([answer(FIRST[:-1]), ask_end(-9)], [10, None], [-9], OK, ""),
        ([answer(), ask_end("x")], [None, None], [None], OK, ""),
        ([answer(), ask_end(True)], [None, None], [None], OK, ""),
        ([answer(), ask_end(256)], [None, None], [None], OK, ""),
        ([answer(), ask_end(255)], [None, None], [255], OK, ""),
        ([ask_end(missing=True)], [None, None], [], OK, ""),
        ([12, answer(), ask_end()], [None], [0], TIMEOUT, "It needs 12 s of the 10 allowed."),
        (
            [16, answer(), ask_end(-9)],
            [None, None],
            [-9],
            TIMEOUT,
            "It did not end; 10 s are allowed.",
        ),
    ],
)
def test_the_calls_of_an_exercise_end_with_the_first_that_failed(
    events, memory_limits, groups, status, reason
):
    run = PlannedDriver(*events)
    ((report, _),) = run.run_cells([make_test_cell("f", *memory_limits)], [np.zeros(1)] * 2)
    assert [group["exit"] for group in report.outcome_groups] == groups
    assert (report.status, report.reason) == (status, reason) and not report.ended_process
    assert report.missing == (not groups) and run.events == []


def test_the_peak_of_a_call_s_memory_is_reported_with_its_group():
    run = PlannedDriver(answer(), ask_end(-9), answer(), ask_end(-9))
    run.peaks = [50, 0]
    ((report, answers),) = run.run_cells([make_test_cell("f", 10, 10)], [np.zeros(1)] * 2)
    assert [group["held"] for group in report.outcome_groups] == [50, 0]
    assert [group["parts"] for group in report.outcome_groups] == [1, 1] and len(answers) == 2


@pytest.mark.parametrize(
    ("first_seconds", "needs", "slow", "seconds", "is_stopped"),
    [
        (16, ["f"], False, 2, True),
        (9, ["f"], False, 2, False),
        (16, ["other"], False, 2, False),
        (16, [], True, 2, True),
        (16, [], True, 1, False),
        (16, ["f"], False, 1.2, False),  # it is stopped at 1.5 times its shorter limit
        (16, [], True, 1.2, False),
    ],
)
def test_what_needs_a_slow_function_is_stopped_early(
    first_seconds, needs, slow, seconds, is_stopped
):
    cells = [make_test_cell("f"), make_test_cell("g", needs=needs, slow=slow)]
    run = PlannedDriver(first_seconds, answer(), ask_end(), seconds, answer(), ask_end())
    (first, _), (second, _) = run.run_cells(cells, [np.zeros(1)])
    assert first.status is (TIMEOUT if first_seconds > 10 else OK)
    assert run.ended_answers == (first_seconds > 15) + is_stopped
    assert second.reason == (driver.SLOW_CALLEE_MESSAGE if is_stopped else "")


@pytest.mark.parametrize(
    ("cpu", "sleep", "sentence"),
    [
        (21, 30, "This cell ran for more than 20 s."),
        (19, 21, "This cell waited for more than 20 s, as in `time.sleep`."),
        (19, 19, "This cell did not end in 120 s, although it hardly computed anything."),
    ],
)
def test_a_cell_over_its_limit_is_told_how_it_spent_the_time(cpu, sleep, sentence):
    run = ScriptedDriver()
    run.start_time_limit(20, 0)
    run.part_watch = SimpleNamespace(cpu_seconds=lambda: cpu, sleep_seconds=lambda: sleep)
    assert run.describe_exceeded_time_limit(finished=False) == sentence


def test_after_an_interrupt_a_cell_has_a_short_time_to_end():
    run = ScriptedDriver()
    run.start_time_limit(20, 1)
    interrupts = []
    for seconds in (20, 1, 0.4):
        run.cpu_seconds += seconds
        run.check_time_limits()
        interrupts.append(run.interrupt_count)
    assert interrupts == [0, 1, 1] and run.stop_requested
    run.cpu_seconds += 0.2
    with pytest.raises(driver.SubmissionLimitExceeded, match="This cell ran for more than 20 s"):
        run.check_time_limits()


def test_the_limit_of_the_notebook_comes_before_that_of_the_cell():
    run = ScriptedDriver()
    run._seconds = 5  # an earlier run has used up the others
    run.start_time_limit(4, 1)
    run.cpu_seconds = 6
    with pytest.raises(
        driver.SubmissionLimitExceeded, match="The whole notebook ran for more than 90 s"
    ):
        run.check_time_limits()
    assert run.interrupt_count == 0


@pytest.mark.parametrize(
    ("missing_bytes", "is_complete"), [(0, True), (1, False), (800, False), (9_999, False)]
)
def test_a_message_is_complete_by_the_lengths_at_its_beginning(missing_bytes, is_complete):
    data = bytearray(pack_answers(0, np.zeros(100)))
    cut = data[: max(0, len(data) - missing_bytes)]
    assert driver.is_complete_frame(cut) is is_complete
    assert driver.is_complete_frame(data[: encoding.PREFIX.size]) is False


# How the sandboxes are started


def test_a_submission_s_processes_have_one_thread_and_no_network_and_what_the_lab_names():
    sandbox = NoIsolation([], env={"KERAS_BACKEND": "jax", "LANG": "other"})
    environment = sandbox._build_environment("/home", "/tmp", "/venv", "/course")
    threads = ["OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM"]
    assert environment == {
        "HOME": "/home",
        "USER": "student",
        "LOGNAME": "student",
        "LANG": "other",
        "TMPDIR": "/tmp",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "IPYTHONDIR": "/tmp/ipython",
        "PATH": "/venv/bin:/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_ARENA_MAX": "2",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "CUDA_VISIBLE_DEVICES": "",
        **{f"{name}_NUM_THREADS": "1" for name in threads},
        "KERAS_BACKEND": "jax",
    }


def test_without_a_sandbox_python_finds_the_engine_and_the_library_once(tmp_path, monkeypatch):
    monkeypatch.setattr(no_isolation.tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for name in ("one", "two"):
        (tmp_path / "course" / name).mkdir(parents=True)
    library = [tmp_path / "course" / name for name in ("one", "two")]
    sandbox = NoIsolation(["numpy"], library=library, course=tmp_path / "course")
    with ExitStack() as resources:
        command, environment, descriptors = sandbox._make_launch_command(7, resources)
        (folder,) = (tmp_path / "temporary").iterdir()
        assert environment["HOME"] == environment["TMPDIR"] == str(folder)
    assert not folder.exists() and descriptors == []
    assert environment["AUTOGRADER_COURSE"] == str(tmp_path / "course")
    engine = Path(autograder.__file__).parents[1]
    main = engine / "autograder/sandbox/inside/__main__.py"
    assert command[:-1] == [sys.executable, "-s", "-P", "-B", str(main)]
    assert json.loads(command[-1]) == {
        "control": 7,
        "preload": ["numpy"],
        "uid": None,
        "namespaces": False,
        "path": [str(engine), str(tmp_path / "course")],
    }


@pytest.mark.parametrize("is_root", [True, False])
@pytest.mark.parametrize("has_home_folder", [True, False])
def test_bubblewrap_is_given_namespaces_and_only_the_rights_that_it_needs(
    monkeypatch, is_root, has_home_folder
):
    monkeypatch.setattr(bubblewrap, "is_real_root", lambda: is_root)
    monkeypatch.setattr(bubblewrap, "_SYSTEM_LINKS", ("/nowhere",))
    monkeypatch.setattr(bubblewrap, "_make_mount_arguments", lambda *files: [str(files)])
    monkeypatch.setattr(bubblewrap, "_list_folders_to_hide", lambda: ["/hidden"])
    monkeypatch.setattr(bubblewrap.os, "getuid", lambda: 0)
    monkeypatch.setattr(bubblewrap.os, "getgid", lambda: 7)
    home_folder = Path("/work") if has_home_folder else None
    arguments = bubblewrap.build_bwrap_prefix(
        Path("/bin/bwrap"), {"A": "b"}, {}, {3: "/x"}, home_folder
    )
    rights = ["--unshare-user", "--uid", "1000", "--gid", "7"]
    if is_root:
        rights = ["--cap-drop", "ALL"]
        if not has_home_folder:
            rights += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    assert arguments == [
        *"/bin/bwrap --die-with-parent --new-session --clearenv".split(),
        *"--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try".split(),
        *["--hostname", "sandbox", *rights, "--setenv", "A", "b"],
        str(({}, {3: "/x"})),
        *"--tmpfs /hidden --proc /proc --dev /dev --perms 1777 --tmpfs /tmp".split(),
        *"--tmpfs /dev/shm --dir /home --dir /home/sandbox".split(),
        *("--bind", "/work", "/home/sandbox") * has_home_folder,
        *"--remount-ro /dev --remount-ro / --chdir /home/sandbox --".split(),
    ]


def test_files_are_mounted_for_reading_with_the_folders_above_them(monkeypatch):
    for name in ("_SYSTEM", "_SYSTEM_LINKS"):
        monkeypatch.setattr(bubblewrap, name, ())
    monkeypatch.setattr(bubblewrap, "_SYSTEM_FILES", ("/etc/localtime",))
    monkeypatch.setattr(bubblewrap.os.path, "islink", lambda path: False)
    monkeypatch.setattr(bubblewrap, "_map_python_paths", lambda: {"/opt/python/lib": "/venv/lib"})
    arguments = bubblewrap._make_mount_arguments({"/course/lab": Path("/c/lab")}, {5: "/run/made"})
    assert arguments == [
        *"--dir / --dir /etc --dir /venv --dir /course --dir /run".split(),
        *"--ro-bind-try /etc/localtime /etc/localtime".split(),
        *"--ro-bind-try /opt/python/lib /venv/lib --ro-bind-try /c/lab /course/lab".split(),
        *"--perms 0644 --ro-bind-data 5 /run/made".split(),
    ]


def test_the_folder_of_the_engine_s_sources_is_hidden_where_python_would_show_it(
    tmp_path, monkeypatch
):
    site, checkout = tmp_path / "site", tmp_path / "checkout"
    for folder in (site / "autograder", checkout / "autograder"):
        folder.mkdir(parents=True)
    monkeypatch.setattr(bubblewrap, "_map_python_paths", lambda: {str(tmp_path): "/venv"})
    monkeypatch.setattr(bubblewrap, "path_inside", lambda path: f"inside {path}")
    monkeypatch.setattr(
        bubblewrap.site, "getsitepackages", lambda: [str(site), str(tmp_path / "no")]
    )
    for package, hidden in (
        (checkout / "autograder", [site / "autograder", checkout]),
        (site / "autograder", [site / "autograder"]),
    ):
        monkeypatch.setattr(bubblewrap, "_PACKAGE", package)
        assert bubblewrap._list_folders_to_hide() == [f"inside {path}" for path in hidden]
    monkeypatch.setattr(bubblewrap, "_map_python_paths", lambda: {"/elsewhere": "/venv"})
    assert bubblewrap._list_folders_to_hide() == []


def test_each_sandbox_has_a_user_id_of_its_own_that_belongs_to_nobody():
    numbers = [bubblewrap._unused_uid() for _ in range(16)]
    assert len(set(numbers)) == 16 and min(numbers) >= 0x70000000 and max(numbers) < 1 << 31


def test_the_environment_of_python_is_mounted_under_a_name_of_its_own(monkeypatch):
    monkeypatch.setattr(bubblewrap.sys, "prefix", "/home/ada/.venv")
    monkeypatch.setattr(bubblewrap.sys, "base_prefix", "/usr")
    paths = ("/home/ada/.venv/bin/python", "/home/ada/.venvs/x", "/usr/bin/python")
    assert [bubblewrap.path_inside(path) for path in paths] == ["/venv/bin/python", *paths[1:]]
    monkeypatch.setattr(bubblewrap.sys, "base_prefix", "/home/ada/.venv")
    assert bubblewrap.path_inside(paths[0]) == paths[0]
