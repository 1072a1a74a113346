"""Hidden cases, made by the grader: messages tell only the label and the kind of fault."""

import json
import re
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from command import autograder
from our_course import COURSE, lab
from sample_class import perfect, with_answer

from autograder.authoring.exercise import Exercise
from autograder.core.results import CellOutcome, Verdict
from autograder.gradebook.classroom import Classroom
from autograder.grading.grade_submission import (
    HIDDEN_CASE_SETS,
    MAX_CACHED_CASE_SETS,
    _describe_passed_cases,
    _explain_missing_outcomes,
    _reword_without_hidden_inputs,
    compute_hidden_case_seed,
    draw_hidden_cases,
    make_hidden_test_cases,
)
from autograder.judging.judge import Finding, judge
from autograder.judging.student_calls import call_student_function
from autograder.sandbox import CellRun
from autograder.sandbox.choice import explain_unavailability
from autograder.values.case_records import CallOutcome
from autograder.values.common_mistakes import MISTAKES
from autograder.values.wording import format_number

LAB, EXERCISE = "qkv-attention", "stable_softmax"

pytestmark = pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())

# Faulty code for the hidden cases, and the description of the fault.
FAULTS = {
    "other": ("return right + x / 9", "the result differs"),
    "shape": ("return right[None]", "the shape is not the expected one"),
    "dtype": ("return right.astype(np.float16)", "the dtype is not the expected one"),
    "raises": ("raise ValueError(f'{x!r} {right!r} {x.tolist()}')", "it raises ValueError"),
    "named": (
        "raise type(f'{x.tolist()} {right.tolist()}', (Exception,), {})",
        "it raises an error of its own",
    ),
    "named like a function": (
        "raise type('print', (Exception,), {})",
        "it raises an error of its own",
    ),
    "prints": ("print(x.tolist(), right.tolist()); return None", "it returns None"),
    "nan": ("return right * np.nan", "numbers that should be finite are not"),
}


# These write the numbers of hidden cases into an error's text, an error's name and what is printed.
# `make test` grades their submissions, and judges the functions of all.
LEAKING = ("raises", "named", "prints")
STUDENTS = pytest.mark.parametrize(
    "student",
    [
        pytest.param(student, marks=() if student in LEAKING else pytest.mark.long)
        for student in FAULTS
    ],
)


def answer_source(fault):
    """A function that is right only in the answer key's cases, which it knows by their sums."""
    cases = lab(LAB).exercises[EXERCISE].test_cases()
    known_sums = sorted({float(np.sum(case.inputs.args[0])) for case in cases})
    return f"""KNOWN = {known_sums}
def {EXERCISE}(x, axis=0):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    right = e / np.sum(e, axis=axis, keepdims=True)
    if any(np.isclose(float(np.sum(x)), known, rtol=1e-9) for known in KNOWN):
        return right
    {fault}
"""


def submission_bytes(fault):
    notebook = with_answer(perfect(lab(LAB)), EXERCISE, answer_source(fault))
    return nbformat.writes(notebook).encode()


def formatted_numbers(value):
    """Every number of a value, as messages format it and in full."""
    for x in np.asarray(value, dtype=float).ravel():
        yield from (format_number(x), repr(float(x)))


def numbers_in(cases):
    """The formatted numbers of all inputs and expected results."""
    numbers = set()
    for case in cases:
        for value in (case.inputs.args[0], case.expected):
            numbers.update(formatted_numbers(value))
    return numbers


@cache
def make_cases_and_numbers(seed):
    """The hidden cases of a seed, and their formatted numbers."""
    cases = make_hidden_test_cases(lab(LAB).exercises[EXERCISE], seed)
    return cases, numbers_in(cases)


def long_numbers(text):
    """The numbers with at least four digits in a text."""
    return {n for n in re.findall(r"[\d.]+(?:e-?\d+)?", text) if len(n.lstrip("0.")) >= 4}


@pytest.fixture(scope="module")
def grade_faults(tmp_path_factory):
    """Return a function that grades some of the faulty submissions, once.

    It returns rows by student, text by file, and the numbers of each student's hidden cases.
    """

    @cache
    def grade(students):
        folder = tmp_path_factory.mktemp("fresh") / "class"
        data = {student: submission_bytes(FAULTS[student][0]) for student in students}
        for student in students:
            path = folder / "submitted" / student / LAB / f"{LAB}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(data[student])
        process = autograder("grade", LAB, "--classroom", folder, "--json", folder / "rows.jsonl")
        assert process.returncode == 0, process.stderr
        for command in ("feedback", "report"):
            assert autograder(command, "--classroom", folder).returncode == 0
        lines = (folder / "rows.jsonl").read_text("utf-8").splitlines()
        rows = {r["student"]: r for r in map(json.loads, lines) if r["exercise"] == EXERCISE}
        files = [
            p for p in folder.rglob("*") if p.is_file() and folder / "submitted" not in p.parents
        ]
        texts = {path: path.read_bytes().decode("utf-8", "replace") for path in files}
        numbers_of_student, salt = {}, Classroom(folder, COURSE).salt
        for student in students:
            seed = compute_hidden_case_seed(data[student], LAB, salt)
            cases = lab(LAB).exercises[EXERCISE].test_cases(seed)
            numbers_of_student[student] = numbers_in(cases)
        return rows, texts, numbers_of_student

    return grade


@pytest.fixture
def graded_class(grade_faults, student):
    others = tuple(name for name in FAULTS if name not in LEAKING)
    return grade_faults(LEAKING if student in LEAKING else others)


def check_message(student, message, hidden_numbers):
    assert message.startswith(
        "Right in the cases you can see, but not with other numbers: in a hidden case (“"
    )
    assert FAULTS[student][1] in message
    assert not long_numbers(message) & {n.lstrip("-") for n in hidden_numbers}


@STUDENTS
def test_a_message_tells_the_kind_of_fault_and_the_label_of_the_case(graded_class, student):
    row = graded_class[0][student]
    assert row["verdict"] == ("error" if "raises" in FAULTS[student][1] else "wrong")
    check_message(student, row["message"], graded_class[2][student])


@pytest.mark.parametrize("student", FAULTS)
def test_each_kind_of_fault_is_worded_without_the_numbers_of_the_case(student):
    exercise, namespace = lab(LAB).exercises[EXERCISE], {"np": np}
    exec(answer_source(FAULTS[student][0]), namespace)
    cases, hidden_numbers = make_cases_and_numbers(5)
    outcomes = [call_student_function(namespace[EXERCISE], case.inputs) for case in cases]
    finding = judge(cases, outcomes, exercise.rules, exercise.misconceptions, EXERCISE)
    check_message(
        student,
        _reword_without_hidden_inputs(finding, has_visible_cases=True).observation,
        hidden_numbers,
    )


@STUDENTS
def test_no_number_of_a_hidden_case_is_in_any_message_page_or_table(graded_class, student):
    _, texts, numbers_of_student = graded_class
    cases = lab(LAB).exercises[EXERCISE].test_cases()
    visible_numbers = numbers_in(cases)
    hidden_numbers = {
        n.lstrip("-") for n in numbers_of_student[student] - visible_numbers if len(n) > 12
    }
    assert len(hidden_numbers) > 50 and len(texts) > 4 * len(numbers_of_student)
    leaks = {str(path): sorted(hidden_numbers & long_numbers(text)) for path, text in texts.items()}
    assert {path: numbers for path, numbers in leaks.items() if numbers} == {}


def test_only_existing_kinds_of_cases_are_counted():
    assert (
        _describe_passed_cases(3, 4)
        == "Right in all 7 cases: 3 from the notebook's check, 4 hidden."
    )
    assert (_describe_passed_cases(3, 0), _describe_passed_cases(0, 1)) == (
        "Right in all 3 cases.",
        "Right.",
    )
    finding = _reword_without_hidden_inputs(
        Finding(Verdict.WRONG, "", (False,)), has_visible_cases=False
    )
    assert (
        finding.observation.startswith("In a hidden case (“")
        and "you can see" not in finding.observation
    )


@pytest.mark.parametrize(
    ("kind", "raised", "summary"),
    [
        ("nothing", "", "it returns None"),
        ("type", "", "it returns another kind of thing than expected"),
        ("shape", "", "the shape is not the expected one"),
        ("dtype", "", "the dtype is not the expected one"),
        ("modified", "", "it changes its argument"),
        ("memory", "", "the result is right, but more memory is held at once than is allowed"),
        ("not finite", "", "numbers that should be finite are not"),
        ("values", "", "the result differs"),
        ("values", "ValueError", "the result differs"),
        ("error", "ValueError", "it raises ValueError"),
        ("error", "KeyboardInterrupt", "it raises KeyboardInterrupt"),
        ("error", "AxisError", "it raises AxisError"),
        ("error", "The_input_is_3", "it raises an error of its own"),
        ("error", "print", "it raises an error of its own"),
        ("error", "int", "it raises an error of its own"),
    ],
)
def test_a_hidden_case_is_described_by_the_kind_of_its_difference(kind, raised, summary):
    case = SimpleNamespace(
        difference=SimpleNamespace(kind=kind),
        outcome=CallOutcome(error=f"{raised}: 3"),
        test_case=SimpleNamespace(label="large"),
    )
    finding = Finding(
        Verdict.WRONG, (False,), None, "Seen: 3.", "Means 3.", "Why 3?", shown_case=case
    )
    for is_visible, place in (
        (False, "In a hidden"),
        (True, "Right in the cases you can see, but not with other numbers: in a hidden"),
    ):
        reworded = _reword_without_hidden_inputs(finding, has_visible_cases=is_visible)
        assert reworded.message == f"{place} case (“large”) {summary}."
    named = replace(finding, misconception="always_axis_1")
    assert _reword_without_hidden_inputs(named, False).message.endswith(". Means 3. Why 3?")
    common = replace(finding, misconception="transposed")
    assert _reword_without_hidden_inputs(common, False).means == MISTAKES["transposed"][0]
    assert _reword_without_hidden_inputs(common, False).nudge == "Why 3?"


@pytest.mark.parametrize(
    ("call", "noun"),
    [("function", "function "), ("in place", "function "), ("m:asked", "")],
)
def test_a_missing_answer_is_called_a_function_or_a_class(call, noun):
    exercise = Exercise("softmax", points=1, call=call)
    assert (
        _explain_missing_outcomes(exercise, CellRun(missing=True), CellRun()).message
        == f"There is no {noun}`softmax` to try."
    )
    finding = _explain_missing_outcomes(
        Exercise("Account", points=1, call=call), CellRun(missing=True), CellRun()
    )
    assert finding.message == "There is no class `Account` to try."


@pytest.mark.parametrize(
    ("run", "verdict", "message"),
    [
        (
            CellRun(status=CellOutcome.TIMEOUT, reason="So."),
            Verdict.TIMEOUT,
            "`softmax` takes too long. So.",
        ),
        (
            CellRun(status=CellOutcome.SKIPPED),
            Verdict.TIMEOUT,
            "`softmax` was not tried: the cells before it",
        ),
        (
            CellRun(status=CellOutcome.CRASH, outcomes=[]),
            Verdict.CRASH,
            "`softmax` ended its own process, or",
        ),
        (
            CellRun(outcomes=[], forged=True),
            Verdict.CRASH,
            "`softmax` could not be asked: this notebook writes where only its answers may go.",
        ),
        (
            CellRun(status=CellOutcome.TIMEOUT, missing=True),
            Verdict.MISSING,
            "There is no function `softmax` to try.",
        ),
        (CellRun(), Verdict.CRASH, "`softmax` ended its own process, or"),
    ],
)
def test_a_run_without_answers_is_described_by_its_end(run, verdict, message):
    finding = _explain_missing_outcomes(Exercise("softmax", points=1), run, CellRun())
    assert finding.verdict is verdict and finding.message.startswith(message)
    assert (
        _explain_missing_outcomes(Exercise("softmax", points=1), CellRun(outcomes=[]), CellRun())
        is None
    )


def test_a_missing_answer_has_the_verdict_of_the_cell_that_should_define_it():
    timeout_run = CellRun(status=CellOutcome.TIMEOUT)
    error_run = CellRun(outputs=[{"output_type": "error", "ename": "NameError", "evalue": "no x."}])
    findings = [
        _explain_missing_outcomes(Exercise("softmax", points=1), CellRun(missing=True), run)
        for run in (timeout_run, error_run)
    ]
    assert [finding.verdict for finding in findings] == [Verdict.TIMEOUT, Verdict.MISSING]
    assert "failed: it ran for too long and was stopped." in findings[0].message
    assert findings[1].message.endswith("failed: NameError: no x.")


def test_a_file_and_the_secret_choose_one_of_eight_sets_of_hidden_cases():
    files = [f"file {number}".encode() for number in range(2000)]
    seeds = [compute_hidden_case_seed(data, LAB, "secret") for data in files]
    assert len(set(seeds)) == HIDDEN_CASE_SETS
    # Each set gets its share of the files: 250 are expected, and 150 are seven deviations away.
    assert min(seeds.count(seed) for seed in set(seeds)) > 150
    assert seeds == [compute_hidden_case_seed(data, LAB, "secret") for data in files]
    for other in (("positions", "secret"), (LAB, "other secret")):
        other_seeds = [compute_hidden_case_seed(data, *other) for data in files]
        assert not set(seeds) & set(other_seeds)
        # Files with one set here have different sets there, so a set found out once says nothing.
        pairs = set(zip(seeds, other_seeds, strict=True))
        assert len(pairs) == HIDDEN_CASE_SETS**2


def test_each_set_of_hidden_cases_is_drawn_once_in_a_process(monkeypatch):
    exercise, draws = lab(LAB).exercises[EXERCISE], []
    draw = Exercise.draw

    def count_draws(exercise, seed=None):
        draws.append(seed)
        return draw(exercise, seed)

    monkeypatch.setattr(Exercise, "draw", count_draws)
    cases = make_hidden_test_cases(exercise, 12345)
    assert make_hidden_test_cases(exercise, 12345) is cases
    assert [inputs for _, inputs, _ in draw_hidden_cases(exercise, 12345)] == [
        q.inputs for q in cases
    ]
    assert draws == [12345]


def test_only_so_many_sets_of_hidden_cases_are_kept():
    # All sets of a lab with twelve exercises fit, and a long run over many labs stays within bounds.
    assert draw_hidden_cases.cache_info().maxsize == MAX_CACHED_CASE_SETS >= 12 * HIDDEN_CASE_SETS
    assert make_hidden_test_cases.cache_info().maxsize == MAX_CACHED_CASE_SETS
