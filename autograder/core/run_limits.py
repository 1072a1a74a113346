"""Define the limits of time, memory and output that the sandbox enforces on a submission."""

from dataclasses import dataclass, fields
from typing import Any

from autograder.core.cpu_time import DEFAULT_CALL_SECONDS

MB = 1 << 20


@dataclass(frozen=True)
class RunLimits:
    """Limits that one submission must not exceed.

    A lab's author can set these fields in the table `[limits]` of the lab's settings. Seconds are
    CPU time of the submission with all processes that it starts. The wall-clock time may be
    `autograder.core.cpu_time.WALL_SECONDS_PER_CPU_SECOND` times as long, so that a busy machine
    does not change a verdict.

    Parameters
    ----------
    cell_seconds : float
        Time after which an ordinary cell is interrupted.
    call_seconds : float
        Time for all calls of one exercise's function together, in grading and in a student's
        `check` alike.
    total_seconds : float
        Time for the whole submission, including its reruns.
    memory : int
        Bytes of memory for all of the submission's processes together. It is also the
        limit of each process's address space, without what it inherits from the fork server.
    processes : int
        Number of the submission's processes and threads.
    open_files : int
        Number of files that each process may have open.
    file_bytes : int
        Size of the largest file that the submission may write.
    scratch_bytes : int
        Total size of the files in each of /tmp, /dev/shm and the home directory.
    output_bytes : int
        Bytes of output that are kept, over all cells.
    outputs : int
        Number of outputs that are kept of one cell.
    reruns : int
        Number of times that a submission is run again without the cell that ended its process.

    Raises
    ------
    ValueError
        If a limit is not a number above zero, or not a whole number where that is required.
    TypeError
        If there is no limit of a given name.

    Examples
    --------
    >>> RunLimits(**{"cell_seconds": 60}).cell_seconds
    60
    >>> RunLimits(memory="2 GB")
    Traceback (most recent call last):
        ...
    ValueError: The limit memory must be a whole number above zero, not '2 GB'.
    """

    cell_seconds: float = 20
    call_seconds: float = DEFAULT_CALL_SECONDS
    total_seconds: float = 90
    memory: int = 1024 * MB
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 64 * MB
    scratch_bytes: int = 64 * MB
    output_bytes: int = 8 * MB
    outputs: int = 200
    reruns: int = 5

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_limit(field.name, getattr(self, field.name), field.type is int)


def _check_limit(name: str, value: Any, must_be_int: bool) -> None:
    """Raise ValueError if the value of a limit is no number of the right type or is too small."""
    kind, minimum = "a number", 1e-9
    types: tuple[type, ...] = (int, float)
    if must_be_int:
        kind, minimum, types = "a whole number", 1, (int,)
    bound = "above zero"
    if name == "reruns":
        bound, minimum = "of zero or more", 0
    if type(value) not in types or not minimum <= value < float("inf"):
        raise ValueError(f"The limit {name} must be {kind} {bound}, not {value!r}.")
