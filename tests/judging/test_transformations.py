"""Transformations that explain a wrong answer: named alone or with a mistake, never by chance."""

import numpy as np
import pytest

from autograder.judging import transformations
from autograder.judging.compare import JudgedCase
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    Inputs,
    Misconception,
    TestCase,
)
from autograder.values.common_mistakes import MISTAKES

RULES = ComparisonRules()

SHAPES = [(2, 3, 4), (3, 2, 5), (1, 4, 3), (3, 3, 3)]
MISCONCEPTIONS = [
    Misconception("halved", "You halved it.", "Why?", lambda x: x.cumsum(axis=-1) / 2),
    Misconception(
        "no-minus", "The minus is missing.", "Which sign?", lambda x: -x.cumsum(axis=-1) + 1
    ),
]


def cumsum(x):
    return x.cumsum(axis=-1)


def random_inputs(shapes=SHAPES):
    rng = np.random.default_rng(5)
    return [Inputs((rng.normal(size=shape),)) for shape in shapes]


def judge_answer(answer, reference=cumsum, case_inputs=None, misconceptions=MISCONCEPTIONS):
    if case_inputs is None:
        case_inputs = random_inputs()
    cases = [
        TestCase(
            "",
            item,
            call_student_function(reference, item).value,
            {m.name: call_student_function(m.function, item) for m in misconceptions},
        )
        for item in case_inputs
    ]
    return judge(
        cases,
        [call_student_function(answer, item) for item in case_inputs],
        RULES,
        misconceptions,
        "answer",
    )


@pytest.mark.parametrize(
    ("answer", "name", "text"),
    [
        (lambda x: -cumsum(x), "other-sign", "Every number has the wrong sign"),
        (lambda x: 3 * cumsum(x), "times-a-constant", "Every number is 3 times the expected one."),
        (
            lambda x: cumsum(x) / x.shape[-1] ** 0.5,
            "times-a-size",
            "is 1/√n times the expected one, where n is `shape[-1]` of argument 1",
        ),
        (lambda x: cumsum(x) * x.shape[0], "times-a-size", "is n times the expected one, where n is `shape[-3]`"),
        (lambda x: cumsum(x) + 1, "plus-a-constant", "too large by 1."),
        (lambda x: cumsum(x)[..., ::-1], "in-reverse-order", "their order along the last axis is reversed"),
        (lambda x: np.roll(cumsum(x), 1, axis=-2), "one-place-off", "along the second-to-last axis each is one position"),
        (lambda x: cumsum(x)[..., :-1], "one-place-short", "the last entry along the last axis is missing"),
        (lambda x: cumsum(x) * (np.arange(x.shape[-1]) > 0), "places-left-empty", "first entry along the last axis is 0"),
        (lambda x: np.swapaxes(cumsum(x), 0, 1), "axes-exchanged", "are exchanged"),
        (lambda x: cumsum(x).transpose(1, 2, 0), "axes-exchanged", "the axes 1, 2 and 0 (counted from 0) of the expected"),
        (lambda x: cumsum(x)[:, -1], "one-of-several", "returns only the last entry along the second-to-last axis"),
        (lambda x: cumsum(x).sum(axis=0), "an-axis-added-up", "added along the third-to-last axis"),
        (lambda x: np.repeat(cumsum(x)[:1], len(x), 0), "the-first-for-all", "repeated along the first axis"),
        (lambda x: np.exp(cumsum(x)), "a-step-too-many", "are the exponentials of the expected numbers"),
        (lambda x: -cumsum(x) / 2, "halved + other-sign", "You halved it. Besides, every number has the wrong"),
        (lambda x: cumsum(x)[0] / 2, "halved + one-of-several", "You halved it. Besides, your function returns only"),
    ],
)  # fmt: skip
def test_a_transformation_is_named_and_explained(answer, name, text):
    finding = judge_answer(answer)
    assert finding.misconception == name, finding.message
    assert text in finding.means
    assert finding.nudge


@pytest.mark.parametrize(
    ("transform", "name", "text"),
    [
        (np.transpose, "transposed", "Besides, rows and columns are exchanged."),
        (lambda x: x[..., None], "extra-axis", "Besides, there is an extra axis of length 1."),
    ],
)
def test_a_transformed_matrix_with_a_known_mistake(transform, name, text):
    finding = judge_answer(
        lambda x: transform(cumsum(x) / 2), case_inputs=random_inputs([(2, 3), (4, 3), (3, 5)])
    )
    assert (finding.misconception, finding.means) == (
        f"halved + {name}",
        f"There are two mistakes. You halved it. {text}",
    )


def test_parts_in_another_order_and_one_part_alone():
    def reference(x):
        return x, x.sum(axis=-1), x.T

    finding = judge_answer(lambda x: (x.T, x, x.sum(axis=-1)), reference, misconceptions=[])
    assert finding.misconception == "parts-in-another-order"
    assert "you return numbers 3, 1, 2, in this order" in finding.means
    assert (
        judge_answer(lambda x: [x.T, x, x.sum(axis=-1)], reference, misconceptions=[]).misconception
        == "parts-in-another-order"
    )
    finding = judge_answer(lambda x: (x, -x.sum(axis=-1), x.T), reference, misconceptions=[])
    assert finding.misconception == "other-sign"
    assert finding.means.startswith("Only the second of the 3 values is wrong: every number")
    finding = judge_answer(
        lambda x: (x, x.sum(axis=-1), x.T / x.shape[-1]), reference, misconceptions=[]
    )
    assert finding.misconception == "times-a-size"
    assert "the third of the 3 values is wrong: every number is 1/n times" in finding.means


def test_one_minus_the_expected_numbers():
    finding = judge_answer(lambda x: 1 - cumsum(x), misconceptions=[])
    assert (finding.misconception, finding.means) == (
        "one-minus-it",
        "Each of your numbers is 1 minus the expected number.",
    )


def test_booleans_the_other_way_round():
    finding = judge_answer(lambda x: x <= 0, lambda x: x > 0, misconceptions=[])
    assert finding.misconception == "the-other-way-round"


def test_single_numbers_by_a_factor():
    case_inputs = [Inputs((n, n * n - 1)) for n in (2, 3, 5, 7)]
    finding = judge_answer(lambda n, m: 2 * n * m, lambda n, m: n * m, case_inputs, [])
    assert (finding.misconception, finding.means) == (
        "times-a-constant",
        "Your number is 2 times the expected one.",
    )
    finding = judge_answer(lambda n, m: n * n * m, lambda n, m: n * m, case_inputs, [])
    assert "is n times the expected one, where n is argument 1" in finding.means


def test_few_numbers_or_some_cases_are_no_evidence_of_a_transformation():
    assert (
        judge_answer(
            lambda x: -cumsum(x), case_inputs=random_inputs([(1, 2), (2, 1)]), misconceptions=[]
        ).misconception
        is None
    )
    finding = judge_answer(
        lambda x: -cumsum(x) if x.shape[0] == 2 else cumsum(x), misconceptions=[]
    )
    assert finding.misconception is None
    finding = judge_answer(lambda x: -cumsum(x) if x.shape[0] > 1 else cumsum(x), misconceptions=[])
    assert finding.misconception is None
    assert (
        judge_answer(lambda x: cumsum(x) * len(x) + (len(x) > 2), misconceptions=[]).misconception
        is None
    )


def test_a_known_mistake_where_it_runs_and_an_error_elsewhere():
    def answer(x):
        return cumsum(x) / 2 if x.shape[-1] > 3 else np.ones(2) + np.ones(3)

    finding = judge_answer(answer)
    assert finding.misconception == "halved + shapes-that-do-not-broadcast"
    assert finding.means.startswith(
        "There are two mistakes. You halved it. Besides, your function raises ValueError in 2 cases."
    )

    def answer_in_few_cases(x):
        return cumsum(x) / 2 if x.shape[0] == 1 else np.ones(2) + np.ones(3)

    case_inputs = random_inputs([(1, 4, 3), (1, 3, 3), *[(2, 3, 4)] * 7])
    assert (
        judge_answer(answer_in_few_cases, case_inputs=case_inputs).misconception
        == "shapes-that-do-not-broadcast"
    )


def test_two_mistakes_at_once_must_explain_all_cases():
    pair = Misconception("a + b", "There are two mistakes.", "Why?", lambda x: cumsum(x) / 4)
    assert judge_answer(lambda x: cumsum(x) / 4, misconceptions=[pair]).misconception == "a + b"
    finding = judge_answer(lambda x: cumsum(x) / 4 if len(x) > 1 else x + 1, misconceptions=[pair])
    assert finding.misconception is None


def test_every_transformation_has_its_sentences():
    for name in (
        "other-sign",
        "times-a-size",
        "parts-in-another-order",
        "one-of-several",
        "places-left-empty",
    ):
        assert all(text.endswith((".", "!", "?")) for text in MISTAKES[name])


def test_an_answer_that_is_no_array_is_no_transformation_and_no_error():
    for value in (None, 1.0, "text", [[1, 2]], {"a": 1}, np.ones(0), np.array([np.nan] * 9)):
        finding = judge_answer(lambda x, value=value: value)
        assert finding.misconception is None or finding.misconception in MISTAKES
    finding = judge([TestCase("", Inputs(), 1.5, {})] * 3, [CallOutcome(np.ones(4))] * 3, RULES, [])
    assert finding.misconception == "array-for-one-number"


@pytest.mark.parametrize(
    ("count", "misconception"),
    [(transformations.MAX_PARTS, "other-sign"), (transformations.MAX_PARTS + 1, None)],
)
def test_the_parts_of_a_long_tuple_are_not_tried_one_by_one(count, misconception):
    def reference(x):
        return tuple(x + i for i in range(count))

    finding = judge_answer(lambda x: (-x, *reference(x)[1:]), reference, misconceptions=[])
    assert finding.misconception == misconception


def test_the_case_with_most_numbers_is_tried_first_unless_it_has_very_many():
    sizes = [10, transformations.MAX_PIVOT_NUMBERS, transformations.MAX_PIVOT_NUMBERS + 1]
    failing = []
    for size in sizes:
        inputs = Inputs((np.zeros(size),))
        outcome = call_student_function(cumsum, inputs)
        failing.append(JudgedCase(TestCase("", inputs, outcome.value, {}), outcome, RULES, None))
    assert transformations._choose_case_for_candidates(failing) is failing[1]
    assert transformations._choose_case_for_candidates(failing[2:]) is failing[2]


def test_the_numbers_of_very_many_parts_are_not_counted():
    most = [np.zeros(2)] * transformations.MAX_PIVOT_PARTS
    assert transformations._count_numbers(most) == 2 * len(most)
    assert transformations._count_numbers([*most, np.zeros(2)]) == len(most) + 1
