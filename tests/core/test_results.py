"""Programs read the fields of a result; no program depends on the wording of a message."""

import json
from importlib import import_module

import nbformat
import pytest
from our_course import ROOT, lab
from sample_class import with_answer

from autograder.authoring.build import release_notebook
from autograder.core.results import CellOutcome, Result, ResultReason, Verdict
from autograder.judging import compare, judge
from autograder.reports import feedback_summary, statistics
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.choice import explain_unavailability
from autograder.student import check
from autograder.values import common_mistakes

marking = import_module("autograder.grading.grade_submission")
LAB = lab("qkv-attention")
OVER_EVERYTHING = "def softmax(x, axis=0):\n    return np.exp(x) / np.exp(x).sum()"
CALLS = """def stable_softmax(x, axis=0):
    return softmax(x - x.max(axis=axis, keepdims=True), axis)"""
CALLS_AND_FAILS = "def stable_softmax(x, axis=0):\n    return softmax(x, axis) + 1"
STUB = "def softmax(x, axis=0):\n    raise NotImplementedError()"

needs_sandbox = pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())


@pytest.fixture(scope="module")
def sandbox():
    library = [ROOT / "attention_labs", ROOT / "data"]
    with Bubblewrap(library=library, course=ROOT) as bubblewrap:
        yield bubblewrap


def machine_fields(sandbox, softmax, stable_softmax):
    """Return all fields of the results but the messages, and what the reports derive from them."""
    notebook = release_notebook(LAB.read_solution(), LAB)
    notebook = with_answer(notebook, "softmax", softmax)
    notebook = with_answer(notebook, "stable_softmax", stable_softmax)
    graded = marking.grade_submission(nbformat.writes(notebook).encode(), LAB, sandbox, salt="")
    rows = {row.exercise: row for row in graded.results}
    return [
        (
            row.exercise, row.verdict, row.score, row.misconception, row.kind, row.cause,
            statistics.is_blank(row), bool(feedback_summary._describe_mistake_and_hint(LAB, row, rows)[0]),
        )
        for row in graded.results
        if row.exercise in LAB.exercises
    ]  # fmt: skip


@needs_sandbox
@pytest.mark.parametrize(
    ("softmax", "stable_softmax", "kind", "cause"),
    [
        pytest.param(
            OVER_EVERYTHING,
            CALLS,
            ResultReason.FOLLOWED,
            "softmax",
            id="followed",
            marks=pytest.mark.long,
        ),
        pytest.param(
            OVER_EVERYTHING,
            CALLS_AND_FAILS,
            ResultReason.JUDGED,
            "softmax",
            id="wrong too",
            marks=pytest.mark.long,
        ),
        pytest.param(
            STUB,
            CALLS_AND_FAILS,
            ResultReason.JUDGED,
            "softmax",
            id="calls a stub",
            marks=pytest.mark.long,
        ),
        pytest.param(
            OVER_EVERYTHING,
            STUB.replace("softmax", "stable_softmax"),
            ResultReason.STUB,
            None,
            id="stub",
            marks=pytest.mark.long,
        ),
    ],
)
def test_other_wording_changes_no_machine_field(
    sandbox, monkeypatch, softmax, stable_softmax, kind, cause
):
    original_fields = machine_fields(sandbox, softmax, stable_softmax)
    row = next(row for row in original_fields if row[0] == "stable_softmax")
    assert (row[4], row[5], row[6]) == (kind, cause, kind is ResultReason.STUB)
    for module in (compare, feedback_summary):
        monkeypatch.setattr(module, "NOT_WRITTEN_MESSAGE", "Noch nicht geschrieben.")
    for module in (judge, marking, feedback_summary, check):
        monkeypatch.setattr(
            module,
            "describe_broken_dependency",
            lambda name, is_written=True: f"Wegen {name}.",
        )
    monkeypatch.setattr(marking, "FOLLOW_THROUGH_MESSAGE", "Für sich richtig ({names}).")
    monkeypatch.setattr(
        marking, "_HIDDEN_CASE_SUMMARIES", dict.fromkeys(marking._HIDDEN_CASE_SUMMARIES, "anders")
    )
    for name in common_mistakes.MISTAKES:
        monkeypatch.setitem(common_mistakes.MISTAKES, name, ("Anders.", "Warum?"))
    assert machine_fields(sandbox, softmax, stable_softmax) == original_fields


def test_a_result_survives_json_and_unknown_words_are_refused():
    row = Result(
        student="ada",
        lab="l",
        exercise="e",
        score=2.0,
        max_score=2.0,
        verdict=Verdict.PASS,
        seconds=0.1,
        kind=ResultReason.FOLLOWED,
        cause="softmax",
        misconception="no-shift",
        message="“Zoë”",
        partial_share=0.25,
        failed_cases=("one row", "ties (hidden)"),
    )
    fields = json.loads(row.to_json())
    assert Result.from_fields(fields) == row
    for name in ("verdict", "kind"):
        with pytest.raises(ValueError, match="perfect"):
            Result.from_fields({**fields, name: "perfect"})
    assert {*CellOutcome} == {"ok", "error", "timeout", "crash", "skipped"}


@pytest.mark.parametrize(
    ("verdict", "score", "share", "expected"),
    [
        (Verdict.PASS, 2.0, 0.0, 5.0),
        (Verdict.PASS, 2.0, 0.5, 5.0),
        (Verdict.WRONG, 1.0, 0.5, 2.5),
        (Verdict.WRONG, 0.0, 0.0, 0.0),
        (Verdict.MANUAL, None, 0.0, None),
    ],
)
def test_a_result_gets_its_share_of_other_points(verdict, score, share, expected):
    row = Result(
        lab="l", exercise="e", score=score, max_score=2.0, verdict=verdict, partial_share=share
    ).rescore(5.0)
    assert (row.score, row.max_score) == (expected, 5.0)
