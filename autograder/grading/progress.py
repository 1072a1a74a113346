"""Progress display of a run: a bar in a terminal, or a line of text every half minute in a log."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import click

from autograder.core.text_format import make_printable

FIRST_LINE_SECONDS = 10.0  # from the start of the run to the first line of text
LINE_INTERVAL_SECONDS = 30.0  # between two lines of text


class Progress:
    """Progress display that shows nothing; the base class of the others."""

    def start(self, total: int) -> None:
        """Begin the display, for this total number of steps."""

    def advance(self) -> None:
        """Count one step as finished."""

    def show_message(self, sentence: str) -> None:
        """Show a sentence to the user."""


class LineProgress(Progress):
    """Progress display for a log: lines on stderr with the steps done and the remaining time."""

    def __init__(self, title: str):
        self._title = title

    def start(self, total: int) -> None:
        self._total, self._count, self._first_time = total, 0, 0.0
        self._next_line = monotonic() + FIRST_LINE_SECONDS

    def advance(self) -> None:
        self._count += 1
        time_now = monotonic()
        # Estimate the remaining time from the steps after the first one: the first step includes
        # the time for starting the workers.
        self._first_time = self._first_time or time_now
        if time_now < self._next_line or self._count == self._total:
            return
        self._next_line = time_now + LINE_INTERVAL_SECONDS
        line = f"{self._title}: {self._count:,} of {self._total:,}"
        if self._count > 2:
            rate = (self._count - 1) / (time_now - self._first_time)
            minutes, seconds = divmod(round((self._total - self._count) / rate), 60)
            duration = f"{seconds} s"
            if minutes:
                duration = f"{minutes} min {duration}"
            line += f", {rate:.1f} a second, about {duration} to go"
        self.show_message(line)

    def show_message(self, sentence: str) -> None:
        click.echo(make_printable(sentence), err=True)


@contextmanager
def show_progress(title: str) -> Iterator[Progress]:
    """Open a progress display on stderr: a bar if stderr is a terminal, else lines of text."""
    if not sys.stderr.isatty():
        yield LineProgress(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichBar
    from rich.text import Text

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    bar = RichBar(*columns, console=Console(stderr=True))

    class BarProgress(Progress):
        def start(self, total: int) -> None:
            self._task = bar.add_task(title, total=total, rate="")

        def advance(self) -> None:
            speed = bar.tasks[self._task].speed
            bar.update(self._task, advance=1, rate=f"{speed:.1f}/s" if speed else "")

        def show_message(self, sentence: str) -> None:
            bar.console.print(Text(make_printable(sentence)))

    with bar:
        yield BarProgress()
