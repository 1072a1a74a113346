"""A progress bar below a cell that takes its time."""

import os
import time
from collections.abc import Collection, Iterator
from html import escape
from typing import Any, TypeVar

T = TypeVar("T")


class Bar:
    """A progress bar with a line of text beside it, and how long it will be; without a notebook, the text alone.

    Parameters
    ----------
    steps : int
        How many there will be.
    """

    def __init__(self, steps: int):
        self.steps = steps
        self._shown: Any = None
        self._cell = -1
        self._began = (0, 0.0)

    def show(self, step: int, text: str) -> None:
        """Move the bar to a step, and say what there is to say."""
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        shell = get_ipython()
        cell = shell.execution_count if shell else 0
        if cell != self._cell:  # a cell that runs once more has lost the bar of its last run
            self._cell, self._shown, self._began = cell, None, (step, time.monotonic())
        first, began = self._began
        if first < step < self.steps:
            text += f", about {(time.monotonic() - began) * (self.steps - step) / (step - first):.0f} s left"
        html = f'<progress aria-label="Progress" value="{step}" max="{self.steps}"></progress> {escape(text)}'
        bundle = {"text/plain": text, "text/html": html}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)


def watched(things: Collection[T]) -> Iterator[T]:
    """The things one by one, with a bar that shows how far it is; none in a build, which saves what is shown."""
    bar = None if os.environ.get("COURSE_BUILD") else Bar(len(things))
    for done, thing in enumerate(things):
        if bar:
            bar.show(done, f"{done} of {len(things)} done")
        yield thing
    if bar:
        bar.show(len(things), "done")
