"""Measure from outside how much memory a call of a student's function takes at its peak.

The supervisor does this for exercises with a memory limit. It reads the figures of the Linux
kernel in /proc, which the student's code cannot forge.
"""

import os
import re
import select
import signal
from contextlib import suppress
from time import monotonic

from autograder.sandbox.inside.driver import GRACE_SECONDS
from autograder.sandbox.inside.linux import SCRATCH_FOLDERS, write_file


class PeakMemoryMeter:
    """Monitor that measures the peak of the memory that one call of a student's function takes.

    The function runs in a process that was forked from the submission's. Memory that the submission
    had before is not counted. The kernel records the peak of each process, so that a short peak
    between two samples counts, too. The kernel records no peak of shared memory, nor of memory
    that existed before and is overwritten. These two are known only from the samples. A process or
    thread that the function starts could end before it is sampled, which
    `has_untracked_processes` reports.

    Parameters
    ----------
    root_pid : int
        Process id of the submission. Memory that the submission's process itself takes during the
        measurement counts as well.
    scratch_descriptors : list of int
        Descriptors of the submission's temporary folders, which are in memory. All files there
        count, even those from before the call.
    """

    def __init__(self, root_pid: int, scratch_descriptors: list[int]) -> None:
        self._root_pid, self._scratch_descriptors = root_pid, scratch_descriptors
        deadline = monotonic() + GRACE_SECONDS
        while self._measure_descendant_peaks() and monotonic() < deadline:
            kill_descendants(root_pid)  # processes that cells have started and left running
            select.poll().poll(2)
        # Reset the kernel's record of the process's peak memory. If that is forbidden, the record
        # covers the whole time since the submission was forked.
        with suppress(OSError):
            write_file(f"/proc/{root_pid}/clear_refs", "5")
        self._root_peak = _peak_anonymous_bytes(root_pid)
        self._root_anonymous = _memory_sizes(root_pid).get("RssAnon", 0)
        self._tracked_threads = set(_thread_ids(root_pid))
        # Without its own temporary folders, a submission has no process numbers of its own either.
        # Then new processes of the whole machine would be counted, so do not count them at all.
        self._start_pid: int | None = None
        if scratch_descriptors:
            self._start_pid = _last_created_pid() - len(self._tracked_threads)
        # Until a forked process is seen, the student's function may be running in the submission's
        # own process. So all memory of that process counts.
        self._has_seen_fork, self.peak_bytes = False, self._root_anonymous

    def sample(self) -> None:
        """Measure the present memory; update `peak_bytes` and the threads that are known."""
        peaks = self._measure_descendant_peaks()
        first = min(peaks, default=0)
        if peaks and not self._has_seen_fork:
            self._has_seen_fork, self.peak_bytes = True, 0
        self._tracked_threads.update(_thread_ids(self._root_pid))
        if first:
            self._tracked_threads.update(_thread_ids(first))
        held_bytes = max(0, _peak_anonymous_bytes(self._root_pid) - self._root_peak)
        for pid, peak in peaks.items():
            # The first of the new processes is a fork of the submission's process, so only the
            # memory that it has gained counts. Of any further process, all memory counts.
            inherited_bytes = self._root_anonymous if pid == first else 0
            held_bytes += max(0, peak - inherited_bytes)
        written = sum(map(_measure_written_memory, peaks))
        written_by_root = _measure_written_memory(self._root_pid)
        # If either process writes to a page that the submission and its fork share, both have a
        # private page afterwards. So the size of the submission's private pages also tells how much
        # the fork has written.
        if peaks and _peak_anonymous_bytes(first):
            written = max(written, written_by_root)
        scratch = sum(map(_used_space, self._scratch_descriptors))
        self.peak_bytes = max(self.peak_bytes, max(held_bytes, written) + scratch)

    def has_untracked_processes(self) -> bool:
        """Return True if a process or thread was started that `sample` has never measured."""
        if self._start_pid is None:
            return False
        return _last_created_pid() - self._start_pid > len(self._tracked_threads)

    def _measure_descendant_peaks(self) -> dict[int, int]:
        """Return the peak memory of each descendant of the submission's process, in bytes.

        The keys are process ids.
        """
        peaks = {pid: _peak_anonymous_bytes(pid) for pid in _list_descendant_pids(self._root_pid)}
        return {pid: peak for pid, peak in peaks.items() if peak > 0}


def open_scratch_folders(pid: int) -> list[int]:
    """Open the temporary folders that only this process can see, and return their descriptors.

    This must be called before the process runs any cell.
    """
    descriptors = []
    for folder in SCRATCH_FOLDERS:
        with suppress(OSError):
            descriptor = os.open(f"/proc/{pid}/root{folder}", os.O_PATH | os.O_DIRECTORY)
            descriptors.append(descriptor)
            if os.path.exists(folder):
                is_shared = os.fstat(descriptor).st_dev == os.stat(folder).st_dev
                if is_shared:  # the process runs without a sandbox, and has the machine's folders
                    os.close(descriptors.pop())
    return descriptors


def kill_descendants(root: int) -> None:
    """Kill all descendants of a process."""
    for pid in _list_descendant_pids(root):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _list_descendant_pids(root: int) -> list[int]:
    """Return the process ids of all descendants of a process.

    This is faster than psutil, which matters because memory is sampled every few milliseconds.
    """
    descendants, queue = [], [root]
    while queue:
        pid = queue.pop()
        for thread in _thread_ids(pid):
            children = [int(child) for child in _read_proc(f"{pid}/task/{thread}/children").split()]
            descendants += children
            queue += children
    return descendants


def _thread_ids(pid: int) -> list[str]:
    """Return the ids of a process's threads; none if it has ended."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _last_created_pid() -> int:
    """Return the id of the process or thread that was created last in this PID namespace."""
    return int(_read_proc("loadavg").split()[-1])


def _peak_anonymous_bytes(pid: int) -> int:
    """Return a process's peak memory in bytes, without memory-mapped files.

    It is the peak since the process was forked, or since the kernel's record was last reset.
    """
    sizes = _memory_sizes(pid)
    return sizes.get("VmHWM", 0) - sizes.get("RssFile", 0)


def _measure_written_memory(pid: int) -> int:
    """Return the size in bytes of the pages that a process has written since it was forked.

    These are its private pages and its pages in shared memory. If the process has forked itself,
    only pages that were written since then are private.
    """
    sizes = _memory_sizes(pid)
    smaps = _read_proc(f"{pid}/smaps_rollup")
    private = re.findall(rb"^Private_(?:Dirty|Hugetlb):\s+(\d+) kB", smaps, re.MULTILINE)
    # If the kernel reports no private pages, the process may hide them, or it is ending. Then count
    # all its memory; for an ending process that is none.
    if not private:
        return sizes.get("VmRSS", 0)
    return sum(map(int, private)) * 1024 + sizes.get("RssShmem", 0)


def _used_space(folder: int) -> int:
    """Return the bytes of all files in a scratch folder (a tmpfs), given by its descriptor."""
    system = os.fstatvfs(folder)
    return (system.f_blocks - system.f_bfree) * system.f_frsize


def _memory_sizes(pid: int) -> dict[str, int]:
    """Return the memory sizes in /proc/PID/status in bytes, by name such as "VmRSS".

    The result is empty for a process that is ending.
    """
    lines = re.findall(rb"^(\w+):\s+(\d+) kB", _read_proc(f"{pid}/status"), re.MULTILINE)
    return {name.decode(): int(size) * 1024 for name, size in lines}


def _read_proc(name: str) -> bytes:
    try:
        with open(f"/proc/{name}", "rb", buffering=0) as file:
            return file.read(4096)
    except OSError:
        return b""
