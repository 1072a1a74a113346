"""What machines are told of a verdict stands in fields: no sentence is read by anything but a person."""

import json
from importlib import import_module

import nbformat
import pytest
from our_course import ROOT, lab
from sample_class import with_answer

from autograder import student
from autograder.authoring.build import release
from autograder.grading.reports import feedback, figures
from autograder.grading.run.pool import PRELOAD
from autograder.grading.sandbox.bubblewrap import Bubblewrap
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging import compare, judge, mistakes
from autograder.results import Kind, Outcome, Result, Verdict

marking = import_module("autograder.grading.marking.mark")
LAB = lab("qkv-attention")
OVER_EVERYTHING = "def softmax(x, axis=0):\n    return np.exp(x) / np.exp(x).sum()"
CALLS = "def stable_softmax(x, axis=0):\n    return softmax(x - x.max(axis=axis, keepdims=True), axis)"
CALLS_AND_FAILS = "def stable_softmax(x, axis=0):\n    return softmax(x, axis) + 1"
STUB = "def softmax(x, axis=0):\n    raise NotImplementedError()"

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())


@pytest.fixture(scope="module")
def sandbox():
    library = [ROOT / "attention_labs", ROOT / "data"]
    with Bubblewrap(preload=PRELOAD, library=library, course=ROOT) as one:
        yield one


def facts(sandbox, softmax, stable_softmax):
    """All that marking says but its sentences, and what the reports make of it."""
    notebook = release(LAB.read_solution(), LAB)
    notebook = with_answer(notebook, "softmax", softmax)
    notebook = with_answer(notebook, "stable_softmax", stable_softmax)
    marked = marking.mark(nbformat.writes(notebook).encode(), LAB, sandbox, salt="")
    rows = {row.exercise: row for row in marked.rows}
    return [
        (
            row.exercise, row.verdict, row.score, row.misconception, row.kind, row.cause,
            figures.is_blank(row), bool(feedback._explained(LAB, row, rows)[0]),
        )
        for row in marked.rows
        if row.exercise in LAB.exercises
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("softmax", "stable_softmax", "kind", "cause"),
    [
        (OVER_EVERYTHING, CALLS, Kind.FOLLOWED, "softmax"),
        (OVER_EVERYTHING, CALLS_AND_FAILS, Kind.JUDGED, "softmax"),
        (STUB, CALLS_AND_FAILS, Kind.JUDGED, "softmax"),
        (OVER_EVERYTHING, STUB.replace("softmax", "stable_softmax"), Kind.STUB, None),
    ],
    ids=["followed", "wrong too", "calls a stub", "stub"],
)
def test_other_words_change_nothing_else(sandbox, monkeypatch, softmax, stable_softmax, kind, cause):
    before = facts(sandbox, softmax, stable_softmax)
    row = next(row for row in before if row[0] == "stable_softmax")
    assert (row[4], row[5], row[6]) == (kind, cause, kind is Kind.STUB)
    for module in (compare, feedback):
        monkeypatch.setattr(module, "NOT_WRITTEN", "Noch nicht geschrieben.")
    for module in (judge, marking, feedback, student):
        monkeypatch.setattr(module, "because", lambda called, written=True: f"Wegen {called}.")
    monkeypatch.setattr(marking, "FOLLOWED", "Für sich richtig ({names}).")
    monkeypatch.setattr(marking, "_FRESH", dict.fromkeys(marking._FRESH, "anders"))
    for name in mistakes.STRUCTURAL:
        monkeypatch.setitem(mistakes.STRUCTURAL, name, ("Anders.", "Warum?"))
    assert facts(sandbox, softmax, stable_softmax) == before


def test_a_result_travels_whole_and_nothing_outside_its_vocabulary_comes_back():
    row = Result(
        student="ada",
        lab="l",
        exercise="e",
        score=2.0,
        max_score=2.0,
        verdict=Verdict.PASS,
        seconds=0.1,
        kind=Kind.FOLLOWED,
        cause="softmax",
    )
    fields = json.loads(row.to_json())
    assert Result.from_fields(fields) == row
    for name in ("verdict", "kind"):
        with pytest.raises(ValueError, match="perfect"):
            Result.from_fields({**fields, name: "perfect"})
    assert {*Outcome} == {"ok", "error", "timeout", "crash", "skipped"}
