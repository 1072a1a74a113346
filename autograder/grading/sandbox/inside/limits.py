"""What one hand-in may use: said by the grader, kept by the sandbox."""

from dataclasses import dataclass, fields

from autograder.stopwatch import CALL_SECONDS

MB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one hand-in may use.

    The fields of a lab's table `[limits]`: ``Limits(**table)``. Seconds are CPU time of the hand-in with all that
    it starts; by the clock, `autograder.stopwatch.PATIENCE` times as many may pass, so that a busy machine
    changes no verdict.

    Parameters
    ----------
    cell_seconds : float
        For one ordinary cell, before it is interrupted.
    call_seconds : float
        For one test cell, that is for all questions of one exercise, and for what a student's `check` asks.
    total_seconds : float
        For the hand-in, with its reruns.
    memory : int
        Bytes that all its processes together may hold, and that each may map beyond the warm process's.
    processes, open_files : int
        Processes and threads of the hand-in; open files of each process.
    file_bytes, scratch_bytes : int
        The largest file; the size of each of /tmp, /dev/shm and the home directory.
    output_bytes : int
        Of outputs kept, over all cells.
    outputs : int
        Outputs kept of one cell.
    reruns : int
        How often a hand-in is run again without the cell that ended its process.

    Raises
    ------
    ValueError
        For a limit that is no number, not above zero, or not whole where it must be. An unknown name is
        a TypeError, as for any function.

    Examples
    --------
    >>> Limits(**{"cell_seconds": 60}).cell_seconds
    60
    >>> Limits(memory="2 GB")
    Traceback (most recent call last):
        ...
    ValueError: The limit memory must be a whole number above zero, not '2 GB'.
    """

    cell_seconds: float = 20
    call_seconds: float = CALL_SECONDS
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
            value = getattr(self, field.name)
            whole = field.type is int
            least = 0 if field.name == "reruns" else 1 if whole else 1e-9
            kinds = (int,) if whole else (int, float)
            if type(value) not in kinds or not least <= value < float("inf"):
                kind = "a whole number" if whole else "a number"
                bound = "of zero or more" if field.name == "reruns" else "above zero"
                raise ValueError(f"The limit {field.name} must be {kind} {bound}, not {value!r}.")
