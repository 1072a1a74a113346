"""What an answer comes to hold in memory, seen from outside: by nothing that its process says."""

import os
import re
import select
import signal
from contextlib import suppress
from time import monotonic

from autograder.grading.sandbox.inside.confine import SCRATCH, write
from autograder.grading.sandbox.inside.drive import GRACE


class Growth:
    """How much more the processes below one hold than it held when this was made, at most.

    The kernel remembers how much a process has held, so what comes and goes between two looks is
    seen too; only pages that were there and are written over, or are shared, have to be met. A process that the answer
    begins could be gone before it is met, so it may begin none, and no thread that nobody meets: `hidden` says.

    Parameters
    ----------
    root : int
        The hand-in; what it comes to hold itself counts as well.
    places : sequence of int
        Descriptors of its scratch places: all that lies there counts, whenever it was written.
    """

    def __init__(self, root: int, places: list[int]) -> None:
        self._root, self._places = root, places
        until = monotonic() + GRACE
        while self._copies() and monotonic() < until:
            end_below(root)  # what cells have left running
            select.poll().poll(2)
        # Have the kernel count from now on; where it may not be asked to, it does from the fork.
        with suppress(OSError):
            write(f"/proc/{root}/clear_refs", "5")
        self._most, self._anonymous = _most(root), _sizes(root).get("RssAnon", 0)
        self._met = set(_threads(root))
        # Where the hand-in has no places of its own, others begin some, too.
        self._begun = _last_begun() - len(self._met) if places else None
        self._seen, self.most = False, self._anonymous  # until a copy is seen that answers: nobody else may

    def look(self) -> None:
        """See how much it is by now."""
        copies = self._copies()
        first = min(copies, default=0)
        if copies and not self._seen:
            self._seen, self.most = True, 0
        for pid in (self._root, *([first] if first else [])):
            self._met.update(_threads(pid))
        # The first began as a copy of the hand-in. What it forks in turn counts with all that it holds.
        held = sum(max(0, most - (self._anonymous if pid == first else 0)) for pid, most in copies.items())
        held += max(0, _most(self._root) - self._most)
        written = sum(map(_written, copies))
        of_root = _written(self._root)
        if copies and _most(first):  # while there is a copy, what both have is neither's alone
            written = max(written, of_root)  # and what one has written, the other has kept as it was
        self.most = max(self.most, max(held, written) + sum(map(_filled, self._places)))

    def hidden(self) -> bool:
        """Whether more was begun than the copy that answers, and threads that were met."""
        return self._begun is not None and _last_begun() - self._begun > len(self._met)

    def _copies(self) -> dict[int, int]:
        """What the hand-in has forked and lives: how much each has held at the most."""
        return {pid: most for pid in _below(self._root) if (most := _most(pid)) > 0}


def scratch(pid: int) -> list[int]:
    """Descriptors of the scratch places that this process has of its own; to be had before it runs a cell."""
    places = []
    for place in SCRATCH:
        with suppress(OSError):
            fd = os.open(f"/proc/{pid}/root{place}", os.O_PATH | os.O_DIRECTORY)
            places.append(fd)
            if os.path.exists(place) and os.fstat(fd).st_dev == os.stat(place).st_dev:
                os.close(places.pop())  # this one's, too: nothing is around the process
    return places


def end_below(root: int) -> None:
    """Kill what a process has forked, and what that has."""
    for pid in _below(root):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _below(root: int) -> list[int]:
    """The processes that `root` has forked, and those that they have: quickly, for many looks."""
    found, left = [], [root]
    while left:
        pid = left.pop()
        children = [
            int(child) for thread in _threads(pid) for child in _read(f"{pid}/task/{thread}/children").split()
        ]
        found += children
        left += children
    return found


def _threads(pid: int) -> list[str]:
    """The numbers of a process's threads; none for one that is gone."""
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _last_begun() -> int:
    """The number of the process or thread that was begun last among those that can be seen from here."""
    return int(_read("loadavg").split()[-1])


def _most(pid: int) -> int:
    """Bytes of memory that is no file's, at the most since the process was forked, or the kernel was told to forget."""
    sizes = _sizes(pid)
    return sizes.get("VmHWM", 0) - sizes.get("RssFile", 0)


def _written(pid: int) -> int:
    """Bytes of the pages that this process has written since it was forked, or since it has forked another.

    They are its alone, or in memory that it shares on purpose: a fork begins with none of that.
    """
    sizes = _sizes(pid)
    found = re.findall(rb"^Private_(?:Dirty|Hugetlb):\s+(\d+) kB", _read(f"{pid}/smaps_rollup"), re.MULTILINE)
    # One that hides its pages counts with all of them; one that is dying has none any more.
    return sum(map(int, found)) * 1024 + sizes.get("RssShmem", 0) if found else sizes.get("VmRSS", 0)


def _filled(place: int) -> int:
    """Bytes of memory in the files of a scratch place."""
    system = os.fstatvfs(place)
    return (system.f_blocks - system.f_bfree) * system.f_frsize


def _sizes(pid: int) -> dict[str, int]:
    """The kernel's own account of a process's memory, in bytes; empty for one that is dying."""
    found = re.findall(rb"^(\w+):\s+(\d+) kB", _read(f"{pid}/status"), re.MULTILINE)
    return {name.decode(): int(size) * 1024 for name, size in found}


def _read(name: str) -> bytes:
    try:
        with open(f"/proc/{name}", "rb", buffering=0) as file:
            return file.read(4096)
    except OSError:
        return b""
