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


def test_an_axis_of_length_one_is_missing_and_not_one_of_several_entries():
    halved = Misconception(
        "halved", "You halved it.", "Why?", lambda x: x.max(-1, keepdims=True) / 2
    )
    finding = judge_answer(
        lambda x: x.max(axis=-1) / 2,
        lambda x: x.max(axis=-1, keepdims=True),
        random_inputs([(3, 4), (2, 5), (5, 3), (4, 2)]),
        [halved],
    )
    assert (finding.misconception, finding.means) == (
        "halved + missing-axis",
        "There are two mistakes. You halved it. Besides, an axis of length 1 is missing.",
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


# The whole sentences of every transformation.

_RANDOM = np.random.default_rng(3)
MATRICES = [_RANDOM.normal(size=(3, 4)), _RANDOM.normal(size=(4, 5))]
POSITIVE_CUBES = [_RANDOM.normal(size=(2, 3, 4)) + 9, _RANDOM.normal(size=(3, 4, 2)) + 9]
TABLES_OF_BOOLEANS = [matrix > 0 for matrix in MATRICES]
PAIRS = [(MATRICES[0], MATRICES[1]), (2 * MATRICES[0], 3 * MATRICES[1])]
PAIRS_WITH_NUMBER = [(MATRICES[0], 3), (2 * MATRICES[0], 4)]
MANY_PARTS = [tuple(MATRICES[0] + i * n for i in range(9)) for n in (1, 2)]


def _first_rows(array, count):
    """Return a mask of the first rows; of the last ones for a negative count."""
    rows = np.arange(len(array))[:, None]
    return rows < count if count > 0 else rows >= len(array) + count


def find_for_all(transform, expected_values):
    """Return the transformation that is found if every expected value was transformed."""
    cases = []
    for expected in expected_values:
        heads = getattr(expected, "size", 2) + 1
        inputs = Inputs((expected,), {"heads": heads}, argument_names=("x",))
        test_case = TestCase("", inputs, expected, {})
        cases.append(JudgedCase(test_case, CallOutcome(transform(expected)), RULES, None))
    return transformations.find_transformation(cases, cases)


_MISSING_STEP = "There is a step too many, or the opposite step is missing."


@pytest.mark.parametrize(
    ("transform", "expected", "name", "means"),
    [
        (
            np.logical_not,
            TABLES_OF_BOOLEANS,
            "the-other-way-round",
            "True and False are exchanged everywhere.",
        ),
        (
            np.negative,
            MATRICES,
            "other-sign",
            "Every number has the wrong sign; everything else is right.",
        ),
        (
            np.negative,
            [np.arange(5), np.arange(3)],
            "other-sign",
            "Every number has the wrong sign; everything else is right.",
        ),
        (
            lambda e: e[::-1],
            MATRICES,
            "in-reverse-order",
            "The numbers are right, but their order along the second-to-last axis is reversed.",
        ),
        (
            lambda e: np.roll(e, 1, 0),
            MATRICES,
            "one-place-off",
            "The numbers are right, but along the second-to-last axis each is one position too late.",
        ),
        (
            lambda e: np.roll(e, -1, 1),
            MATRICES,
            "one-place-off",
            "The numbers are right, but along the last axis each is one position too early.",
        ),
        (
            lambda e: e * ~_first_rows(e, -1),
            MATRICES,
            "places-left-empty",
            "The last entry along the second-to-last axis is 0; the others are right.",
        ),
        (
            lambda e: e * ~_first_rows(e, 1),
            MATRICES,
            "places-left-empty",
            "The first entry along the second-to-last axis is 0; the others are right.",
        ),
        (
            lambda e: e * _first_rows(e, 1),
            MATRICES,
            "places-left-empty",
            "Only the first entry along the second-to-last axis is right; the others are 0.",
        ),
        (
            lambda e: e & ~_first_rows(e, 1),
            [np.ones((3, 4), bool), np.ones((4, 5), bool)],
            "places-left-empty",
            "The first entry along the second-to-last axis is False; the others are right.",
        ),
        (
            lambda e: np.repeat(e[:1], len(e), 0),
            MATRICES,
            "the-first-for-all",
            "The first result is repeated along the first axis; only the first entry is right.",
        ),
        (
            np.exp,
            MATRICES,
            "a-step-too-many",
            f"Your numbers are the exponentials of the expected numbers. {_MISSING_STEP}",
        ),
        (
            np.log,
            POSITIVE_CUBES,
            "a-step-too-many",
            f"Your numbers are the logarithms of the expected numbers. {_MISSING_STEP}",
        ),
        (
            np.square,
            MATRICES,
            "a-step-too-many",
            f"Your numbers are the squares of the expected numbers. {_MISSING_STEP}",
        ),
        (
            np.sqrt,
            POSITIVE_CUBES,
            "a-step-too-many",
            f"Your numbers are the roots of the expected numbers. {_MISSING_STEP}",
        ),
        (
            np.reciprocal,
            MATRICES,
            "a-step-too-many",
            f"Your numbers are the inverses (1 / x) of the expected numbers. {_MISSING_STEP}",
        ),
        (
            np.abs,
            MATRICES,
            "a-step-too-many",
            "Your numbers are the absolute values of the expected numbers. There is a step too many.",
        ),
        (
            np.tanh,
            MATRICES,
            "a-step-too-many",
            "Your numbers are the tanh of the expected numbers. There is a step too many.",
        ),
        (
            lambda e: np.exp(e) / np.exp(e).sum(axis=-1, keepdims=True),
            MATRICES,
            "a-step-too-many",
            "Your numbers are the softmax (along the last axis) of the expected numbers. There is a step too many.",
        ),
        (
            lambda e: np.exp(e) / np.exp(e).sum(axis=0),
            MATRICES,
            "a-step-too-many",
            "Your numbers are the softmax (along the first axis) of the expected numbers. There is a step too many.",
        ),
        (
            lambda e: e.cumsum(axis=-1),
            MATRICES,
            "a-step-too-many",
            "Your numbers are the cumulative sums (along the last axis) of the expected numbers. There is a step too many.",
        ),
        (
            lambda e: 1 - e,
            MATRICES,
            "one-minus-it",
            "Each of your numbers is 1 minus the expected number.",
        ),
        (
            lambda e: np.swapaxes(e, 0, 2),
            POSITIVE_CUBES,
            "axes-exchanged",
            "The numbers are right, but the third-to-last axis and the last axis are exchanged.",
        ),
        (
            lambda e: e.transpose(2, 0, 1),
            POSITIVE_CUBES,
            "axes-exchanged",
            "The numbers are right, but the order of the axes is not: your axes are the axes 2, 0 and 1 (counted from 0) "
            "of the expected result.",
        ),
        (
            lambda e: e[0],
            MATRICES,
            "one-of-several",
            "Your function returns only the first entry along the second-to-last axis; expected all of them.",
        ),
        (
            lambda e: e[:, -1],
            MATRICES,
            "one-of-several",
            "Your function returns only the last entry along the last axis; expected all of them.",
        ),
        (
            lambda e: e.sum(axis=0),
            MATRICES,
            "an-axis-added-up",
            "The numbers were added along the second-to-last axis, an axis that should stay.",
        ),
        (
            lambda e: e.mean(axis=-1),
            MATRICES,
            "an-axis-added-up",
            "The numbers were averaged along the last axis, an axis that should stay.",
        ),
        (
            lambda e: e[:-1],
            MATRICES,
            "one-place-short",
            "The numbers are right, but the last entry along the second-to-last axis is missing.",
        ),
        (
            lambda e: e[:, 1:],
            MATRICES,
            "one-place-short",
            "The numbers are right, but the first entry along the last axis is missing.",
        ),
        (
            lambda e: 2.5 * e,
            MATRICES,
            "times-a-constant",
            "Every number is 2.5 times the expected one.",
        ),
        (
            lambda e: e / 3,
            MATRICES,
            "times-a-constant",
            "Every number is 0.3333 times the expected one.",
        ),
        (
            lambda e: e * len(e),
            MATRICES,
            "times-a-size",
            "Every number is n times the expected one, where n is `x.shape[-2]`.",
        ),
        (
            lambda e: e * (e.size + 1),
            MATRICES,
            "times-a-size",
            "Every number is n times the expected one, where n is `heads`.",
        ),
        (
            lambda e: e / e.shape[1] ** 0.5,
            MATRICES,
            "times-a-size",
            "Every number is 1/√n times the expected one, where n is `x.shape[-1]`.",
        ),
        (
            lambda e: e * e.size,
            MATRICES,
            "times-a-size",
            "Every number is n times the expected one, where n is the number of entries of the result.",
        ),
        (lambda e: e + 0.5, MATRICES, "plus-a-constant", "Every number is too large by 0.5."),
        (lambda e: e - 2, MATRICES, "plus-a-constant", "Every number is too small by 2."),
        (lambda e: -e, [5.0, 7.0], "other-sign", "The number has the wrong sign."),
        (
            lambda e: float(np.log(e)),
            [5.0, 7.0],
            "a-step-too-many",
            f"Your number is the logarithm of the expected number. {_MISSING_STEP}",
        ),
        (
            lambda e: float(np.sqrt(e)),
            [5.0, 7.0],
            "a-step-too-many",
            f"Your number is the root of the expected number. {_MISSING_STEP}",
        ),
        (lambda e: 2 * e, [5, 7], "times-a-constant", "Your number is 2 times the expected one."),
        (
            lambda e: 3 * e // 2,
            [4, 6],
            "times-a-constant",
            "Your number is 1.5 times the expected one.",
        ),
        (lambda e: e + 3, [5, 7], "plus-a-constant", "Your number is too large by 3."),
        (
            lambda e: (e[1], e[0]),
            PAIRS,
            "parts-in-another-order",
            "The values are right, but their order is not. Of the expected values you return numbers 2, 1, in this order.",
        ),
        (
            lambda e: e[::-1],
            MANY_PARTS,
            "parts-in-another-order",
            "The values are right, but their order is not. Of the expected values you return numbers 9, 8, 7, 6, 5, 4, 3, "
            "2, 1, in this order.",
        ),
        (
            lambda e: e[1],
            PAIRS,
            "one-part-only",
            "Your function returns only the second of the 2 values.",
        ),
        (
            lambda e: (e[0], -e[1]),
            PAIRS,
            "other-sign",
            "Only the second of the 2 values is wrong: every number has the wrong sign; everything else is right.",
        ),
        (
            lambda e: [e[0], e[1] + 1],
            PAIRS_WITH_NUMBER,
            "plus-a-constant",
            "Only the second of the 2 values is wrong: your number is too large by 1.",
        ),
    ],
)
def test_every_transformation_is_found_by_its_result(transform, expected, name, means):
    transformation = find_for_all(transform, expected)
    assert (transformation.name, transformation.means) == (name, means)
    results = iter([*map(transform, expected[:-1]), expected[-1]])
    assert find_for_all(lambda _: next(results), expected) is None  # one result is right


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda e: e, MATRICES),
        (lambda e: e * (1 + 1e-5), MATRICES),
        (lambda e: e + 1e-8, MATRICES),
        (lambda e: 2**64 * e, [5, 7]),
        (lambda e: -e, [2**64, 2**65]),
        (lambda e: (e[0],), PAIRS),
        (lambda e: (e[1], e[0]), [(1, 2), (3, 4)]),
        (lambda e: e[::-1], [(MATRICES[0],) * 9] * 2),
        (lambda e: e.tolist() + [0], MATRICES),
        (lambda e: None, MATRICES),
    ],
)
def test_no_transformation_is_found_where_none_is_to_be_told(transform, expected):
    assert find_for_all(transform, expected) is None


def test_a_misconception_is_combined_also_where_another_one_raises_or_predicts_nothing():
    """Of the other misconceptions, one raises, one has another shape, and one knows no case."""
    case_inputs = random_inputs()
    raising = Misconception("raising", "It raises.", "Why?", lambda x: x @ np.ones(99))
    reduced = Misconception("reduced", "Reduced.", "Why?", lambda x: x.sum())
    two = Misconception("this + that", "Two.", "Why?", lambda x: cumsum(x) / 2)
    common = Misconception("transposed", "Turned.", "Why?", lambda x: cumsum(x) / 2)
    unasked = Misconception("unasked", "Unasked.", "Why?")
    others = [raising, reduced, two, common, unasked]
    cases, outcomes = [], []
    for i, item in enumerate(case_inputs):
        mistakes = {m.name: call_student_function(m.function, item) for m in others[:-1]}
        if i > 0:  # an edge case has no prediction
            mistakes["halved"] = CallOutcome(cumsum(*item.args) / 2)
        cases.append(TestCase("", item, cumsum(*item.args), mistakes))
        outcomes.append(CallOutcome(-cumsum(*item.args) / 2))
    finding = judge(cases, outcomes, RULES, [*others, MISCONCEPTIONS[0]])
    assert finding.misconception == "halved + other-sign"
    assert finding.means == (
        "There are two mistakes. You halved it. Besides, every number has the wrong sign."
    )
    assert finding.nudge == "Why?"
    assert judge(cases, outcomes, RULES, others).misconception == "times-a-constant"


def test_an_error_in_one_case_is_told_beside_the_misconception_in_the_others():

    def answer(x):
        if len(x) == 1:
            raise KeyError("x")
        return cumsum(x) / 2

    finding = judge_answer(answer)
    assert finding.misconception == "halved + entry-that-is-not-there"
    assert "Besides, your function raises KeyError in one case. " in finding.means


def test_two_mistakes_are_not_named_where_they_contradict_a_right_case():
    def answer(x):
        return cumsum(x) if x.ndim == 3 else -cumsum(x) / 2

    matrices = [(3, 4), (4, 3), (2, 5)]
    assert judge_answer(answer, case_inputs=random_inputs(matrices)).misconception == (
        "halved + other-sign"
    )
    finding = judge_answer(answer, case_inputs=random_inputs([*matrices, (2, 3, 4)]))
    assert finding.misconception != "halved + other-sign"


@pytest.mark.parametrize(
    ("function", "is_combined"),
    [
        (lambda x: x.cumsum(axis=-1)[..., :-1] ** 3, False),
        (lambda x: x.cumsum(axis=-1) ** 3, True),
    ],
)
def test_a_misconception_of_another_shape_is_not_combined(function, is_combined):
    misconception = Misconception("cubed", "You cube it.", "Why?", function)
    finding = judge_answer(lambda x: -function(x), misconceptions=[misconception])
    assert (finding.misconception == "cubed + other-sign") is is_combined
