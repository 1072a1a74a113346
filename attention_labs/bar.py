"""A progress bar below a cell that takes its time."""

from html import escape
from typing import Any


class Bar:
    """A progress bar with a line of text beside it; where there is no notebook, the text alone.

    Parameters
    ----------
    steps : int
        How many there will be.
    """

    def __init__(self, steps: int):
        self.steps = steps
        self._shown: Any = None

    def show(self, step: int, text: str) -> None:
        """Move the bar to a step, and say what there is to say."""
        from IPython.display import display

        html = f'<progress value="{step}" max="{self.steps}"></progress> {escape(text)}'
        bundle = {"text/plain": text, "text/html": html}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)
