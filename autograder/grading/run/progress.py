"""What one sees of a run meanwhile: a bar in a terminal, else a line now and then."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import click

from autograder.errors import printable

FIRST, EVERY = 10.0, 30.0  # seconds until the first line, and between two


class Progress:
    """What is told how many there are, and of each that is done. This one tells nobody."""

    def started(self, total: int) -> None:
        """So many are to be done."""

    def finished(self) -> None:
        """One more is done."""

    def said(self, sentence: str) -> None:
        """Something that whoever waits should know."""


class Lines(Progress):
    """Progress as lines on stderr, for a log: how many are done, and how long the rest will take."""

    def __init__(self, title: str):
        self._title = title

    def started(self, total: int) -> None:
        self._total, self._done, self._first = total, 0, 0.0
        self._next = monotonic() + FIRST

    def finished(self) -> None:
        self._done += 1
        now = monotonic()
        self._first = self._first or now  # what it takes to begin says nothing of the rest
        if now < self._next or self._done == self._total:
            return
        self._next = now + EVERY
        line = f"{self._title}: {self._done:,} of {self._total:,}"
        if self._done > 2:
            rate = (self._done - 1) / (now - self._first)
            minutes, seconds = divmod(round((self._total - self._done) / rate), 60)
            line += f", {rate:.1f} a second, about {f'{minutes} min ' if minutes else ''}{seconds} s to go"
        self.said(line)

    def said(self, sentence: str) -> None:
        click.echo(printable(sentence), err=True)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A bar on stderr with rate and remaining time where somebody watches, lines elsewhere."""
    if not sys.stderr.isatty():
        yield Lines(title)
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

    class Bar(Progress):
        def started(self, total: int) -> None:
            self._task = bar.add_task(title, total=total, rate="")

        def finished(self) -> None:
            speed = bar.tasks[self._task].speed
            bar.update(self._task, advance=1, rate=f"{speed:.1f}/s" if speed else "")

        def said(self, sentence: str) -> None:
            bar.console.print(Text(printable(sentence)))

    with bar:
        yield Bar()
