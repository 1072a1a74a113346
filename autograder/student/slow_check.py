"""Print a line while a check is running, if the check takes long."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.student.reuse import REUSE_VARIABLE, in_notebook_kernel

NOTE_SECONDS = 5.0  # of wall time, until the note


@contextmanager
def announce_slow_check(exercise: str, seconds: float = NOTE_SECONDS) -> Iterator[None]:
    """Print a line if the code in the `with` block takes longer than `seconds`.

    Nothing is printed outside of a student's own kernel: the outputs of a notebook that is built or
    graded must not depend on the time.
    """
    if not in_notebook_kernel() or os.environ.get(REUSE_VARIABLE) == "off":
        yield
        return
    output = sys.stdout  # while the student's function runs, `sys.stdout` is another stream

    def print_note() -> None:
        text = f"{exercise} is still running. The check ends by itself after the time limit."
        print(text, file=output, flush=True)

    timer = threading.Timer(seconds, print_note)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
