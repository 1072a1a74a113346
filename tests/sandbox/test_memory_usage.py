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


@pytest.mark.parametrize(
    ("moment", "cpu", "asleep", "seconds"),
    [
        (0.05, 0.0, True, 0.05),
        (0.05, 0.0, False, 0.0),
        (0.05, 0.01, True, 0.0),  # it has computed meanwhile
        (
            9.0,
            0.0,
            True,
            2 * supervisor.CHECK_INTERVAL_SECONDS,
        ),  # the supervisor had to wait itself
    ],
)
def test_a_submission_sleeps_if_none_of_its_processes_computes(
    monkeypatch, moment, cpu, asleep, seconds
):
    submission = object.__new__(supervisor.Supervisor)
    submission._child, submission._cpu_seconds = 1, 0.0
    submission._sleep_seconds, submission._last_measurement = 3.0, 100.0
    usage = {supervisor.psutil.Process(): SimpleNamespace(cpu=cpu)}
    monkeypatch.setattr(supervisor, "measure_process_tree", lambda pid: usage)
    monkeypatch.setattr(supervisor, "monotonic", lambda: 100.0 + moment)
    monkeypatch.setattr(supervisor.linux, "is_asleep", lambda pid: asleep)
    submission.measure_usage()
    assert submission._submission_sleep_seconds() == pytest.approx(3.0 + seconds)
    assert submission._last_measurement == 100.0 + moment
    monkeypatch.setattr(supervisor, "measure_process_tree", lambda pid: {})
    submission.measure_usage()
    assert not submission._is_asleep()


LIMIT, SHARED = 1000, 50
LARGEST_ADDRESS_SPACE = LIMIT + SHARED + supervisor.linux.SPARE_LIMITS["AS"]


@pytest.mark.parametrize(
    ("processes", "exceeds"),
    [
        ([(0, LARGEST_ADDRESS_SPACE, 9 * LARGEST_ADDRESS_SPACE)], False),
        ([(0, LARGEST_ADDRESS_SPACE + 1, LARGEST_ADDRESS_SPACE + 1)], True),
        ([(0, LARGEST_ADDRESS_SPACE + 1, LARGEST_ADDRESS_SPACE)], False),  # shared pages count once
        ([(0, LARGEST_ADDRESS_SPACE, LARGEST_ADDRESS_SPACE), (0, 1, 0)], False),
        ([(0, LARGEST_ADDRESS_SPACE, LARGEST_ADDRESS_SPACE), (0, 1, 1)], True),
        ([(4 * LARGEST_ADDRESS_SPACE + 7, 0, 0)], False),
        ([(4 * LARGEST_ADDRESS_SPACE + 8, 0, 0)], True),
        ([(2 * LARGEST_ADDRESS_SPACE + 7, 0, 0), (2 * LARGEST_ADDRESS_SPACE + 8, 0, 0)], True),
        ([(4 * LARGEST_ADDRESS_SPACE + 7, 0, 0), (3, 0, 0)], False),  # less than the fork server's
    ],
)
def test_the_memory_of_all_processes_and_their_address_space_are_limited(
    monkeypatch, processes, exceeds
):
    submission = object.__new__(supervisor.Supervisor)
    submission.limits = SimpleNamespace(memory=LIMIT)
    submission._shared_memory = SimpleNamespace(rss=SHARED, vms=7)
    submission._usage, proportional = {}, {}
    for number, (virtual, resident, pss) in enumerate(processes):
        submission._usage[number] = supervisor.ProcessUsage(virtual, resident, 0.0)
        proportional[number] = pss
    monkeypatch.setattr(
        supervisor, "_measure_proportional_memory", lambda process, fallback: proportional[process]
    )
    assert submission._exceeds_memory_limit() == exceeds


def test_the_memory_of_a_process_is_that_of_the_kernel_or_what_it_seems():
    psutil = supervisor.psutil
    outcomes = []
    for answer in (SimpleNamespace(pss=5), psutil.NoSuchProcess(1), psutil.AccessDenied(1)):

        def measure(answer=answer):
            if isinstance(answer, Exception):
                raise answer
            return answer

        process = SimpleNamespace(memory_full_info=measure)
        outcomes.append(supervisor._measure_proportional_memory(process, 9))
    assert outcomes == [5, 0, 9]


def test_the_figures_of_the_kernel_are_read_in_bytes(monkeypatch):
    status = (
        b"Name:\tpython\nVmRSS:\t 100 kB\nVmHWM:\t  90 kB\nRssFile:\t  30 kB\nRssShmem:\t   5 kB\n"
    )
    smaps = b"Private_Clean:   99 kB\nPrivate_Dirty:   7 kB\nPrivate_Hugetlb:   2 kB\n"
    proc = {"1/status": status, "1/smaps_rollup": smaps, "loadavg": b"0.1 0.2 0.3 1/99 4321\n"}
    monkeypatch.setattr(memory_usage, "_read_proc", lambda name: proc.get(name, b""))
    assert memory_usage._peak_anonymous_bytes(1) == 60 * 1024
    assert memory_usage._measure_written_memory(1) == (7 + 2 + 5) * 1024
    del proc["1/smaps_rollup"]
    assert memory_usage._measure_written_memory(1) == 100 * 1024
    assert memory_usage._measure_written_memory(2) == memory_usage._peak_anonymous_bytes(2) == 0
    assert memory_usage._last_created_pid() == 4321


def test_all_descendants_of_all_threads_are_found(monkeypatch):
    children = {"1/task/1": b"2 3 ", "1/task/9": b"4", "4/task/4": b"5", "5/task/5": b""}
    threads = {1: ["1", "9"], 4: ["4"], 5: ["5"]}
    monkeypatch.setattr(memory_usage, "_thread_ids", lambda pid: threads.get(pid, []))
    monkeypatch.setattr(
        memory_usage, "_read_proc", lambda name: children[name.removesuffix("/children")]
    )
    assert sorted(memory_usage._list_descendant_pids(1)) == [2, 3, 4, 5]
