"""The progress bar below a cell: progress, remaining time, and no bar in a build."""

import re

import pytest

from attention_labs import bar


@pytest.fixture
def displayed_bars(monkeypatch):
    """Return the displayed texts, one list for each bar."""
    bars = []

    class Handle:
        def __init__(self, texts):
            self.texts = texts

        def update(self, bundle, raw):
            self.texts.append(bundle)

    def display(bundle, raw, display_id):
        bars.append([bundle])
        return Handle(bars[-1])

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.delenv("COURSE_BUILD", raising=False)
    return bars


def clock(monkeypatch, *seconds):
    ticks = iter(seconds)
    monkeypatch.setattr(bar.time, "monotonic", lambda: next(ticks))


def test_things_that_are_watched_move_a_bar_that_says_how_long_it_will_be(
    displayed_bars, monkeypatch
):
    clock(monkeypatch, 0.0, 3.0, 6.0)
    assert list(bar.watched("abc")) == ["a", "b", "c"]
    (texts,) = displayed_bars
    assert [text["text/plain"] for text in texts] == [
        "0 of 3 done",
        "1 of 3 done, about 6 s left",
        "2 of 3 done, about 3 s left",
        "done",
    ]
    assert [re.search(r'value="(\d)" max="3"', text["text/html"])[1] for text in texts] == [
        "0",
        "1",
        "2",
        "3",
    ]


def test_a_build_shows_none(displayed_bars, monkeypatch):
    monkeypatch.setenv("COURSE_BUILD", "1")
    assert list(bar.watched([1, 2])) == [1, 2]
    assert displayed_bars == []


def test_a_cell_that_runs_once_more_has_a_bar_of_its_own(displayed_bars, monkeypatch):
    """A resumed training needs a new bar: the first went with the output of the first run."""

    class Shell:
        execution_count = 7

    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: Shell)
    clock(monkeypatch, 0.0, 10.0, 500.0, 501.0)
    progress_bar = bar.Bar(40)
    progress_bar.show(10, "step 10")
    progress_bar.show(20, "step 20")
    Shell.execution_count = 8
    progress_bar.show(30, "step 30")
    progress_bar.show(31, "step 31")
    assert [[text["text/plain"] for text in texts] for texts in displayed_bars] == [
        ["step 10", "step 20, about 20 s left"],
        ["step 30", "step 31, about 9 s left"],
    ]


def test_the_last_step_has_no_time_left_and_text_is_escaped(displayed_bars, monkeypatch):
    clock(monkeypatch, 0.0, 4.0)
    progress_bar = bar.Bar(2)
    progress_bar.show(0, "<start>")
    progress_bar.show(2, "end")
    first, last = displayed_bars[0]
    assert first["text/html"].endswith("</progress> &lt;start&gt;")
    assert first["text/plain"] == "<start>" and last["text/plain"] == "end"


def test_nothing_to_watch_is_done_at_once(displayed_bars):
    assert list(bar.watched([])) == []
    assert [text["text/plain"] for text in displayed_bars[0]] == ["done"]
