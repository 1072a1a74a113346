"""Show a progress bar below a notebook cell that takes long."""

import os
import time
from collections.abc import Collection, Iterator
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")


class Bar:
    """Progress bar with a text and the remaining time; outside a notebook, only the text is shown.

    Parameters
    ----------
    steps : int
        Number of steps.
    """

    def __init__(self, steps: int):
        self.steps = steps
        self._shown: Any = None
        self._cell = -1
        self._began = (0, 0.0)

    def show(self, step: int, text: str) -> None:
        """Move the bar to a step, and show a text beside it."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        shell = get_ipython()
        cell = shell.execution_count if shell else 0
        if cell != self._cell:  # a rerun cell has cleared the bar of its last run
            self._cell, self._shown, self._began = cell, None, (step, time.monotonic())
        first, began = self._began
        if first < step < self.steps:
            seconds_per_step = (time.monotonic() - began) / (step - first)
            text += f", about {seconds_per_step * (self.steps - step):.0f} s left"
        progress = f'<progress aria-label="Progress" value="{step}" max="{self.steps}"></progress>'
        html = f"{progress} {escape(text)}"
        bundle = {"text/plain": text, "text/html": html}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)


def watched(things: Collection[T]) -> Iterator[T]:
    """Yield the items, with a progress bar; without it, while the course's notebooks are built."""
    bar = None if os.environ.get("COURSE_BUILD") else Bar(len(things))
    for count, thing in enumerate(things):
        if bar:
            bar.show(count, f"{count} of {len(things)} done")
        yield thing
    if bar:
        bar.show(len(things), "done")
