"""The peak of a call's memory, computed from what the kernel says of its processes."""

from types import SimpleNamespace

import pytest

from autograder.sandbox.inside import memory_usage, supervisor
from autograder.sandbox.inside.memory_usage import PeakMemoryMeter

ROOT, FORK, CHILD = 10, 11, 12


@pytest.fixture
def kernel(monkeypatch):
    """Figures of a pretended kernel, in bytes by process; a test changes them between two samples."""
    kernel = SimpleNamespace(
        peaks={ROOT: 100},
        written={ROOT: 0},
        scratch=0,
        threads={ROOT: ["10"], FORK: ["11"], CHILD: ["12"]},
        last_pid=ROOT,
    )

    def list_descendants(root):
        return [pid for pid in kernel.peaks if pid != root]

    functions = {
        "_peak_anonymous_bytes": lambda pid: kernel.peaks[pid],
        "_memory_sizes": lambda pid: {"RssAnon": kernel.peaks[pid]},
        "_measure_written_memory": lambda pid: kernel.written.get(pid, 0),
        "_list_descendant_pids": list_descendants,
        "_thread_ids": kernel.threads.__getitem__,
        "_last_created_pid": lambda: kernel.last_pid,
        "_used_space": lambda descriptor: kernel.scratch,
        "write_file": lambda path, text: None,
    }
    for name, function in functions.items():
        monkeypatch.setattr(memory_usage, name, function)
    return kernel


@pytest.mark.parametrize(
    ("peaks", "written", "scratch", "expected"),
    [
        ({}, {}, 0, 100),  # before the fork, all memory of the submission counts
        ({FORK: 130}, {}, 0, 30),  # what the fork has gained
        ({FORK: 80}, {}, 0, 0),
        ({FORK: 130, CHILD: 120}, {}, 0, 150),  # of a further process, all of it
        ({ROOT: 140, FORK: 130}, {}, 0, 70),  # what the submission has gained as well
        ({FORK: 130}, {FORK: 20, CHILD: 5}, 0, 30),
        ({FORK: 130}, {FORK: 40}, 0, 40),  # memory from before that is overwritten
        ({FORK: 130, CHILD: 100}, {FORK: 90, CHILD: 80}, 0, 170),
        ({FORK: 130}, {ROOT: 60}, 0, 60),  # pages that the fork has written first
        ({FORK: 130}, {}, 7, 37),  # files
    ],
)
def test_the_peak_is_what_the_call_has_added(kernel, peaks, written, scratch, expected):
    meter = PeakMemoryMeter(ROOT, [])
    kernel.peaks.update(peaks)
    kernel.written.update(written)
    kernel.scratch = scratch
    if scratch:
        meter._scratch_descriptors = [3]
    meter.sample()
    assert meter.peak_bytes == expected


def test_the_largest_sample_counts(kernel):
    meter = PeakMemoryMeter(ROOT, [])
    for fork_peak, expected in ((150, 50), (180, 80), (120, 80)):
        kernel.peaks[FORK] = fork_peak
        meter.sample()
        assert meter.peak_bytes == expected


@pytest.mark.parametrize(
    ("has_scratch", "last_pid", "untracked"),
    [(True, FORK, False), (True, CHILD, True), (False, CHILD, False)],
)
def test_a_process_that_was_never_measured_is_noticed(kernel, has_scratch, last_pid, untracked):
    """Without folders of its own a submission shares the numbers of processes with the machine."""
    meter = PeakMemoryMeter(ROOT, [3] if has_scratch else [])
    kernel.peaks[FORK] = 100
    kernel.last_pid = last_pid
    meter.sample()
    assert meter.has_untracked_processes() == untracked


def test_the_cpu_time_of_a_process_that_has_ended_stays_counted(monkeypatch):
    """A child whose parent did not wait for it is missing in the sum of those that still run."""
    submission = object.__new__(supervisor.Supervisor)
    submission._child, submission._cpu_seconds = 1, 0.0
    submission._sleep_seconds, submission._last_measurement = 0.0, 0.0
    monkeypatch.setattr(submission, "_is_asleep", lambda: False)
    counted = []
    for cpu_times in ([1.0, 2.0], [1.5], [], [2.5, 1.0]):
        usage = {number: SimpleNamespace(cpu=cpu) for number, cpu in enumerate(cpu_times)}
        monkeypatch.setattr(supervisor, "measure_process_tree", lambda _, usage=usage: usage)
        submission.measure_usage()
        counted.append(submission._submission_cpu_seconds())
    assert counted == [3.0, 3.0, 3.0, 3.5]
