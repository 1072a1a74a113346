"""Test the part of a sandbox in the grader's process: plans, second runs, and shared data."""

import socket
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.core.cpu_time import WALL_SECONDS_PER_CPU_SECOND
from autograder.core.results import CellOutcome
from autograder.core.run_limits import RunLimits
from autograder.sandbox import base, choice, fork_server_sandbox
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
