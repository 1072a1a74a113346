"""Of a fresh case, one that is drawn when a hand-in is marked, nothing is told but its label and the kind of the fault."""

import json
import re

import nbformat
import numpy as np
import pytest
from command import autograder
from our_course import COURSE, lab
from sample_class import perfect, with_answer

from autograder.authoring.exercise import Exercise
from autograder.grading.marking.mark import _about_fresh, _ended, _right_in, seed_of
from autograder.grading.register.classroom import Classroom
from autograder.grading.sandbox import CellRun
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging.judge import Finding
from autograder.judging.wording import number
from autograder.results import Outcome, Verdict

LAB, EXERCISE = "qkv-attention", "stable_softmax"

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())

# What each does with numbers that its author has not seen, and what may be said of it.
FAULTS = {
    "other": ("return right + x / 9", "the result differs"),
    "shape": ("return right[None]", "the shape is not the one that is due"),
    "dtype": ("return right.astype(np.float16)", "the dtype is not the one that is due"),
    "raises": ("raise ValueError(f'{x!r} {right!r} {x.tolist()}')", "it raises ValueError"),
    "named": (
        "raise type(f'{x.tolist()} {right.tolist()}', (Exception,), {})",
        "it raises an error of its own",
    ),
    "prints": ("print(x.tolist(), right.tolist()); return None", "it returns None"),
    "nan": ("return right * np.nan", "numbers that should be finite are not"),
}


def handed_in(fault):
    """Right for what stands in the answer key, by its sums; otherwise not."""
    seen = sorted({float(np.sum(q.inputs.args[0])) for q in lab(LAB).exercises[EXERCISE].questions()})
    code = f"""SEEN = {seen}
def {EXERCISE}(x, axis=0):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    right = e / np.sum(e, axis=axis, keepdims=True)
    if any(np.isclose(float(np.sum(x)), one, rtol=1e-9) for one in SEEN):
        return right
    {fault}
"""
    return nbformat.writes(with_answer(perfect(lab(LAB)), EXERCISE, code)).encode()


def numbers(value):
    """How the numbers of a value would be written: as our sentences do, and in full."""
    for x in np.asarray(value, dtype=float).ravel():
        yield from (number(x), repr(float(x)))


def written(text):
    """The numbers that stand in a text, but the short ones."""
    return {n for n in re.findall(r"[\d.]+(?:e-?\d+)?", text) if len(n.lstrip("0.")) >= 4}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(rows by student, the text of every file that the class leaves, the numbers of each one's fresh cases)."""
    folder = tmp_path_factory.mktemp("fresh") / "class"
    for student, (fault, _) in FAULTS.items():
        path = folder / "submitted" / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(handed_in(fault))
    ran = autograder("grade", LAB, "--classroom", folder, "--json", folder / "rows.jsonl", here=True)
    assert ran.returncode == 0, ran.stderr
    for command in ("feedback", "report"):
        assert autograder(command, "--classroom", folder, here=True).returncode == 0
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]
    files = [p for p in folder.rglob("*") if p.is_file() and folder / "submitted" not in p.parents]
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in files}
    hidden, salt = {}, Classroom(folder, COURSE).salt
    for student, (fault, _) in FAULTS.items():
        asked = lab(LAB).exercises[EXERCISE].questions(seed_of(handed_in(fault), LAB, salt))
        hidden[student] = {n for q in asked for v in (q.inputs.args[0], q.expected) for n in numbers(v)}
    return {r["student"]: r for r in rows if r["exercise"] == EXERCISE}, texts, hidden


@pytest.mark.parametrize("student", FAULTS)
def test_the_kind_of_the_fault_is_told_and_the_label_of_the_case(told, student):
    row = told[0][student]
    assert row["verdict"] == ("error" if "raises" in FAULTS[student][1] else "wrong")
    assert row["message"].startswith(
        "Right in the cases you can see, but not with other numbers: in a fresh case (“"
    )
    assert FAULTS[student][1] in row["message"]
    assert not written(row["message"]) & {n.lstrip("-") for n in told[2][student]}


@pytest.mark.parametrize("student", FAULTS)
def test_no_number_of_a_fresh_case_is_in_any_message_page_or_table(told, student):
    _, texts, hidden = told
    asked = lab(LAB).exercises[EXERCISE].questions()
    visible = {n for q in asked for v in (q.inputs.args[0], q.expected) for n in numbers(v)}
    long = {n.lstrip("-") for n in hidden[student] - visible if len(n) > 12}
    assert len(long) > 50 and len(texts) > 4 * len(FAULTS)
    found = {str(path): sorted(long & written(text)) for path, text in texts.items()}
    assert {path: given for path, given in found.items() if given} == {}


def test_only_what_there_is_is_counted():
    assert _right_in(3, 4) == "Right in all 7 cases: 3 that you can see, 4 fresh."
    assert (_right_in(3, 0), _right_in(0, 1)) == ("Right in all 3 cases.", "Right.")
    unseen = _about_fresh(Finding(Verdict.WRONG, "", (False,)), some_visible=False)
    assert unseen.seen.startswith("In a fresh case (“") and "you can see" not in unseen.seen


@pytest.mark.parametrize(
    ("call", "what"),
    [("function", "function"), ("in place", "function"), ("m:asked", "class")],
)
def test_what_is_missing_is_called_what_students_write(call, what):
    exercise = Exercise("softmax", points=1, call=call)
    assert (
        _ended(exercise, CellRun(missing=True), CellRun()).message == f"There is no {what} `softmax` to try."
    )
    found = _ended(Exercise("Account", points=1, call=call), CellRun(missing=True), CellRun())
    assert found.message == "There is no class `Account` to try."


@pytest.mark.parametrize(
    ("run", "verdict", "said"),
    [
        (CellRun(status=Outcome.TIMEOUT, reason="So."), Verdict.TIMEOUT, "`softmax` takes too long. So."),
        (CellRun(status=Outcome.SKIPPED), Verdict.TIMEOUT, "`softmax` was not tried: the cells before it"),
        (CellRun(status=Outcome.CRASH, answers=[]), Verdict.CRASH, "`softmax` ended its own process, or"),
        (CellRun(), Verdict.CRASH, "`softmax` ended its own process, or"),
    ],
)
def test_what_gave_no_answers_is_told_by_how_it_ended(run, verdict, said):
    found = _ended(Exercise("softmax", points=1), run, CellRun())
    assert found.verdict is verdict and found.message.startswith(said)
    assert _ended(Exercise("softmax", points=1), CellRun(answers=[]), CellRun()) is None


def test_what_is_missing_has_the_verdict_of_the_cell_that_should_define_it():
    stopped = CellRun(status=Outcome.TIMEOUT)
    raised = CellRun(outputs=[{"output_type": "error", "ename": "NameError", "evalue": "no x."}])
    found = [_ended(Exercise("softmax", points=1), CellRun(missing=True), run) for run in (stopped, raised)]
    assert [one.verdict for one in found] == [Verdict.TIMEOUT, Verdict.MISSING]
    assert "failed: it ran for too long and was stopped." in found[0].message
    assert found[1].message.endswith("failed: NameError: no x.")
