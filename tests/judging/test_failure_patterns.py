"""Sentences on what failing cases or wrong numbers have in common, and cases without a sentence."""

import numpy as np
import pytest

from autograder.judging.compare import JudgedCase
from autograder.judging.failure_patterns import (
    _matches_all_pairs,
    describe_difference_pattern,
    describe_failing_feature,
    describe_length_difference,
    describe_multiple,
    describe_shape_by_argument,
    describe_shape_difference,
    describe_which_returned_values_are_right,
    list_features,
)
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase
from autograder.values.common_mistakes import Difference

RULES = ComparisonRules()

# Features of test cases.


@pytest.mark.parametrize(
    ("args", "features"),
    [
        ((np.ones((2, 3, 4)),), ["arrays with 3 axes"]),
        (
            (np.ones((2, 3)), np.ones((2, 3, 4, 5))),
            ["arrays with 4 axes", "more rows in the second array than in the first"],
        ),
        ((np.ones((2, 3)),), []),
        ((np.array(1.0), np.array(2.0)), []),
        ((np.ones(3),), ["arrays with one axis only"]),
        ((np.array([1.0]),), ["arrays with one axis only"]),
        ((np.ones((1, 4)),), ["an axis of length 1"]),
        ((np.zeros((3, 0)),), ["an empty axis"]),
        (
            (np.ones((4, 6))[:, ::2],),
            ["arrays that are not contiguous in memory, such as slices and transposes"],
        ),
        (
            (np.ones((2, 3, 5)), np.ones((2, 1, 5))),
            ["arrays with 3 axes", "an axis of length 1", "more than one row in the first array"],
        ),
        (
            (np.ones(4), np.ones(3)),
            ["arrays with one axis only", "more rows in the first array than in the second"],
        ),
        ((np.ones(4), np.array(1.0)), ["arrays with one axis only"]),
        ((np.array(1.0), np.ones(4)), ["arrays with one axis only"]),
        (
            (np.ones((3, 3), np.int32), np.ones((3, 3), np.float32), np.ones((2, 3), bool)),
            ["float32 numbers", "int32 numbers", "two arrays of the same shape", "a square matrix"],
        ),
        (
            (0.8397167011810591, 0.05, 0.123456, True, None),
            ["`n=0.05`", "`0.123456` as argument 3", "`True` as argument 4"],
        ),
        (((1, 2), "left", [3]), ["`n=left`"]),
    ],
)
def test_the_features_of_arguments_by_position_are_listed_in_order(args, features):
    case_inputs = Inputs(args, argument_names=("x", "n"))
    assert list_features(TestCase("", case_inputs, None, {})) == features


@pytest.mark.parametrize(
    ("edge", "feature"),
    [
        (("magnitude", 1000.0), "numbers as large as 1000"),
        (("axis", -1), "`axis=-1`"),
        (("dtype", np.float16), "`dtype=float16`"),
        (("numbers of type", "float16"), "numbers of type float16"),
        (("no rows at all", ""), "no rows at all"),
    ],
)
def test_the_argument_that_makes_an_edge_case_is_its_first_feature(edge, feature):
    kwargs = {"axis": 2, "rate": 0.8397167011810591, "table": np.ones(2), "the test": "of x"}
    features = list_features(TestCase("", Inputs((), kwargs), None, {}, edge=edge))
    assert features == [feature, "`axis=2`", "arrays with one axis only"]


FAILING, RIGHT = False, True


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        ([(FAILING, 0), (RIGHT, 1)], "The only case that fails has `axis=0`."),
        (
            [(FAILING, 0), (FAILING, 0), (RIGHT, 1)],
            "All failing cases have `axis=0`, and no other case has.",
        ),
        ([(FAILING, 0), (RIGHT, 0)], ""),
        ([(FAILING, 0), (FAILING, 0), (RIGHT, 0), (RIGHT, 1)], ""),
        (
            [(FAILING, 0), (FAILING, 2), (RIGHT, 1), (RIGHT, 1)],
            "Only the cases with `axis=1` are right.",
        ),
        ([(FAILING, 0), (FAILING, 2), (RIGHT, 1)], ""),
        ([(FAILING, 0), (FAILING, 1), (RIGHT, 1), (RIGHT, 1)], ""),
        (
            [(FAILING, 0), (FAILING, 2), (FAILING, 0), (FAILING, 2), (RIGHT, 1)],
            "All failing cases have `axis=0` or `axis=2`, and no other case has.",
        ),
        ([(FAILING, 0), (FAILING, 0), (FAILING, 2), (FAILING, 2), (RIGHT, 1), (RIGHT, 2)], ""),
        ([(FAILING, 0), (FAILING, 0), (FAILING, 2), (FAILING, 2), (FAILING, 3), (RIGHT, 1)], ""),
        ([(FAILING, 0), (FAILING, 0)], ""),
        ([(RIGHT, 0), (RIGHT, 0)], ""),
    ],
)
def test_a_feature_is_named_that_failing_cases_have_and_right_ones_have_not(cases, text):
    judged_cases = []
    for is_right, axis in cases:
        test_case = TestCase("", Inputs(kwargs={"axis": axis, "scale": 2}), None, {})
        difference = None if is_right else Difference("values", "")
        judged_cases.append(JudgedCase(test_case, CallOutcome(), RULES, difference))
    assert describe_failing_feature(judged_cases) == text


# Patterns in wrong numbers.

PRIMES = np.array([[2.0, 3, 5], [7, 11, 13], [17, 19, 23]])
SIGNED_PRIMES = PRIMES * [[1, -1, 1], [-1, 1, -1], [1, -1, 1]]
ZERO_ROW = PRIMES * [[1], [0], [1]]
WEIGHTS = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
TABLE = np.arange(1.0, 16).reshape(5, 3) ** 2 % 11 + 2
LONG_TABLE = np.vstack([TABLE, TABLE + 0.5])[:6]
CUBE = np.arange(1.0, 28).reshape(3, 3, 3) ** 2 % 17


def _normalise(array):
    return array / array.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("transform", "expected_arrays", "text"),
    [
        (
            lambda e: 3 * e,
            [PRIMES, 2 * PRIMES],
            "In each failing case these numbers are the expected ones times one factor.",
        ),
        (
            lambda e: -0.5 * e,
            [ZERO_ROW],
            "In each failing case these numbers are the expected ones times one factor.",
        ),
        (
            lambda e: e * [[2], [3], [5]],
            [PRIMES, ZERO_ROW],
            "Each row is the expected row times a factor that differs from row to row.",
        ),
        (
            lambda e: e * [2, 3, 5],
            [PRIMES],
            "Each column is the expected column times a factor that differs from column to column.",
        ),
        (
            lambda e: np.stack([e[-1]] * len(e)),
            [PRIMES, TABLE],
            "Along the first axis every part equals the last one. Do you append the same array each time, and only "
            "change its numbers? Make a new array in each turn of the loop.",
        ),
        (lambda e: np.stack([e[0]] * len(e)), [PRIMES], "Only the first row is right."),
        (
            lambda e: e[::-1],
            [PRIMES],
            "The result has the expected numbers, but in other positions.",
        ),
        (
            lambda e: e[:, [1, 2, 0]],
            [PRIMES, np.ones((3, 3)), TABLE],
            "The result has the expected numbers, but in other positions.",
        ),
        (
            lambda e: _normalise(np.exp(e / 9)),
            [PRIMES],
            "Your numbers are positive and sum to 1, but the expected ones do not: is there a softmax too many?",
        ),
        (
            lambda e: _normalise(e + [0, -40, 0]),
            [PRIMES],
            "All the differing numbers are too small.",
        ),
        (lambda e: e + np.diag([1, -4, 2]), [PRIMES, SIGNED_PRIMES], "Only the diagonal differs."),
        (
            lambda e: e + np.triu(PRIMES, 1) ** 2,
            [PRIMES],
            "Only entries above the diagonal differ.",
        ),
        (
            lambda e: e - np.tril(PRIMES, -1) ** 2,
            [PRIMES],
            "Only entries below the diagonal differ.",
        ),
        (
            lambda e: np.where(np.arange(3)[:, None, None] == 2, -(e**2), e),
            [CUBE],
            "Only the last matrix differs.",
        ),
        (
            lambda e: e * (e > 6),
            [PRIMES],
            "Only the first row differs. All the differing numbers are 0 in your result.",
        ),
        (
            lambda e: e * (1 - np.eye(3)),
            [PRIMES],
            "Only the diagonal differs. All the differing numbers are 0 in your result.",
        ),
        (
            lambda e: e * [1, 1, 0],
            [PRIMES],
            "Only the last column differs. All the differing numbers are 0 in your result.",
        ),
        (
            lambda e: e / (1 + abs(e)),
            [SIGNED_PRIMES],
            "All the differing numbers are too close to 0.",
        ),
        (
            lambda e: -e / (1 + abs(e)),
            [SIGNED_PRIMES],
            "All the differing numbers have the wrong sign.",
        ),
    ],
)
def test_the_pattern_of_wrong_numbers_is_the_whole_description(transform, expected_arrays, text):
    pairs = [(expected, transform(expected)) for expected in expected_arrays]
    assert describe_difference_pattern(pairs, RULES) == text


STRONG_CORRELATION = (
    " Your numbers rise and fall with the expected ones (correlation {}), so much of the formula is "
    "right. Which step is missing, different, or one too many?"
)


@pytest.mark.parametrize(
    ("transform", "expected", "text", "correlation"),
    [
        (lambda e: e + 1, PRIMES, "All the differing numbers are too large by 1.", "over 0.9999"),
        (lambda e: e - 1, PRIMES, "All the differing numbers are too small by 1.", "over 0.9999"),
        (lambda e: e + np.sqrt(e), PRIMES, "All the differing numbers are too large.", "0.9998"),
        (lambda e: e - np.sqrt(e), PRIMES, "All the differing numbers are too small.", "0.9996"),
        (
            lambda e: e * (1 + abs(e)),
            SIGNED_PRIMES,
            "All the differing numbers are too far from 0.",
            "0.97",
        ),
        (
            lambda e: e + (e > 5),
            PRIMES,
            "Only the first row is right.",
            "0.9992",
        ),
        # No diagonal is spoken of where the matrix is not square.
        (
            lambda e: e + np.diag([1, -4, 2])[:, :2],
            PRIMES[:, :2],
            "Only the last row is right.",
            "0.97",
        ),
    ],
)
def test_the_sign_of_the_differences_stands_before_the_correlation(
    transform, expected, text, correlation
):
    pattern = describe_difference_pattern([(expected, transform(expected))], RULES)
    assert pattern == text + STRONG_CORRELATION.format(correlation)


def test_weights_are_no_sign_of_a_softmax_too_many_where_weights_are_expected():
    pattern = describe_difference_pattern([(WEIGHTS, _normalise(WEIGHTS**2))], RULES)
    assert pattern == STRONG_CORRELATION.format("0.99").strip()


def test_zeros_that_become_other_numbers_are_no_multiples():
    values = 3 * np.diag([2.0, 3, 5]) + 1 - np.eye(3)
    assert "factor" not in describe_difference_pattern([(np.diag([2.0, 3, 5]), values)], RULES)
    scaled_rows = ZERO_ROW * [[2], [3], [5]] + (ZERO_ROW == 0)
    assert "factor" not in describe_difference_pattern([(ZERO_ROW, scaled_rows)], RULES)


@pytest.mark.parametrize(
    ("rows", "expected", "text"),
    [
        (np.s_[-1], TABLE, "Only the last row differs."),
        (np.s_[0], TABLE, "Only the first row differs."),
        (np.s_[1:], TABLE, "Only the first row is right."),
        (np.s_[:-1], TABLE, "Only the last row is right."),
        (np.s_[2:], TABLE, "Only the first two rows are right."),
        (np.s_[1::2], TABLE, "Every second row is right, beginning with the first."),
        (np.s_[::2], TABLE, "Every second row differs, beginning with the first."),
        (np.s_[3:], LONG_TABLE, "Only the first half of the rows is right."),
        (np.s_[:3], LONG_TABLE, "Only the second half of the rows is right."),
        (np.s_[3], LONG_TABLE, "Only one row differs."),
        (np.s_[1:3], TABLE, ""),
        (np.s_[:, 0], TABLE, "Only the first column differs."),
        (np.s_[:, 1], TABLE, "Every second column is right, beginning with the first."),
        (np.s_[0], TABLE[:2], ""),  # of two rows any mistake would fit a pattern
    ],
)
def test_the_wrong_rows_or_columns_are_the_whole_description(rows, expected, text):
    values = expected.copy()
    wrong = values[rows]
    signs = (-1.0) ** np.arange(wrong.size)
    values[rows] = wrong + (signs * np.linspace(1, 9, wrong.size) ** 2).reshape(wrong.shape)
    pairs = [(expected, values), (-2 * expected, -2 * values)]
    pattern = describe_difference_pattern(pairs, RULES)
    assert pattern.partition("Your numbers")[0].strip() == text


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([(5, 8), (7, 19)], "All the differing numbers are too large."),
        ([(5, 6), (7, 8)], "All the differing numbers are too large by 1."),
        ([(5, 4), (7, 9)], ""),
        ([(5.0, 4)], "All the differing numbers are too small by 1."),
        # Positions and tokens are small whole numbers, of which no correlation is said.
        ([(5, 10), (6, 12), (7, 15), (8, 15)], "All the differing numbers are too large."),
        (
            [(5000, 10000), (6, 12), (7, 15), (8, 15)],
            "All the differing numbers are too large. From case to case, your number rises and falls with the "
            "expected one (correlation over 0.9999).",
        ),
        (
            [(-5000, -4000), (6, 12), (7, 15), (8, 15)],
            "All the differing numbers are too large. From case to case, your number rises and falls with the "
            "expected one (correlation over 0.9999).",
        ),
        (
            [(PRIMES, PRIMES), (PRIMES, 3 * PRIMES)],
            "In each failing case these numbers are the expected ones times one factor.",
        ),
        (
            [(PRIMES, 3 * PRIMES), (PRIMES, None), (PRIMES, PRIMES[:2])],
            "In each failing case these numbers are the expected ones times one factor.",
        ),
        ([(PRIMES, np.where(PRIMES > 20, np.nan, PRIMES))], ""),
        ([(np.array([1.0, np.inf]), np.array([2.0, 3.0]))], ""),
        ([(PRIMES, PRIMES[:2])], ""),
        ([(PRIMES, PRIMES.astype(str))], ""),
        ([(PRIMES, 2 * PRIMES.astype(complex))], ""),
        ([(np.zeros(0), np.zeros(0))], ""),
        ([("a", 3)], ""),
        ([(True, 2)], ""),
    ],
)
def test_numbers_of_single_results_and_what_cannot_be_compared(pairs, text):
    assert describe_difference_pattern(pairs, RULES) == text


@pytest.mark.parametrize(
    ("numbers", "is_told"), [([0, 2, 5, 3, 0], True), ([0, 2, 0, 3, 0], False)]
)
def test_one_factor_is_told_of_three_numbers_or_more(numbers, is_told):
    expected = np.array(numbers, np.float64)
    pattern = describe_difference_pattern([(expected, -3 * expected)], RULES)
    assert ("times one factor" in pattern) == is_told


def test_numbers_that_fall_where_the_expected_ones_rise_are_no_early_mistake():
    rng = np.random.default_rng(7)
    far = [(rng.normal(size=(6, 7)), rng.normal(size=(6, 7))) for _ in range(12)]
    assert "Your numbers do not rise" in describe_difference_pattern(far, RULES)
    expected, noise = far[0]
    falling = expected, 0.1 * noise - expected
    assert "rise" not in describe_difference_pattern([falling, *far], RULES)


# Results of another shape.

NUMBERS = np.arange(1.0, 13).reshape(3, 4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            NUMBERS[:2],
            "The numbers are right, but the result is too short along the second-to-last axis: the end is missing.",
        ),
        (
            NUMBERS[:, 1:],
            "The numbers are right, but the result is too short along the last axis: the beginning is missing.",
        ),
        (
            np.vstack([NUMBERS, NUMBERS]),
            "The result is too long along the second-to-last axis: after the expected numbers there are others.",
        ),
        (
            np.hstack([NUMBERS + 1, NUMBERS]),
            "The result is too long along the last axis: before the expected numbers there are others.",
        ),
        (NUMBERS[:0], ""),
        (NUMBERS[:2, :3], ""),
        (NUMBERS[0], ""),
        (NUMBERS[:2] + 1, ""),
        (NUMBERS, ""),
        (NUMBERS[:2].tolist(), ""),
    ],
)
def test_only_a_part_of_the_numbers_along_one_axis_is_a_difference_of_length(value, text):
    assert describe_length_difference([(NUMBERS, value)]) == text
    assert describe_length_difference([(NUMBERS, value), (NUMBERS, NUMBERS[0])]) == ""


def test_a_length_is_compared_also_where_numbers_are_nan():
    expected = np.where(NUMBERS == 2, np.nan, NUMBERS)
    assert "the end is missing" in describe_length_difference([(expected, expected[:2])])


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (
            [(NUMBERS, NUMBERS.T)],
            "The sizes of the axes are the expected ones, but in another order.",
        ),
        (
            [(NUMBERS, NUMBERS.reshape(4, 3))],
            "The numbers are right and in the right order; only the shape is another one.",
        ),
        (
            [(NUMBERS, NUMBERS.ravel() + 1)],
            "Your array has 1 axis; expected 2 axes. Compare them with the axes that the docstring names.",
        ),
        (
            [(NUMBERS[0], NUMBERS + 1)],
            "Your array has 2 axes; expected 1 axis. Compare them with the axes that the docstring names.",
        ),
        # One number is in the right order by chance.
        (
            [(np.ones(1), np.ones((1, 1)))],
            "Your array has 2 axes; expected 1 axis. Compare them with the axes that the docstring names.",
        ),
        (
            [(np.array([1, np.nan]), np.array([[1, np.nan]]))],
            "The numbers are right and in the right order; only the shape is another one.",
        ),
        (
            [(NUMBERS, NUMBERS.astype(str).ravel())],
            "Your array has 1 axis; expected 2 axes. Compare them with the axes that the docstring names.",
        ),
        (
            [(NUMBERS, NUMBERS), (NUMBERS, NUMBERS.T)],
            "The sizes of the axes are the expected ones, but in another order.",
        ),
        ([(NUMBERS, NUMBERS.T), (NUMBERS, NUMBERS[:2])], ""),
        ([(NUMBERS, NUMBERS.T), (NUMBERS, "x")], ""),
        ([(NUMBERS, NUMBERS + 1)], ""),
    ],
)
def test_a_difference_of_shape_is_described_if_all_wrong_shapes_have_it(pairs, text):
    assert describe_shape_difference(pairs) == text


@pytest.mark.parametrize(
    ("shapes", "argument_shapes", "text"),
    [
        ([(2,), (3,)], [((2, 5), (2,)), ((3, 5), (3,))], "`keys`"),
        ([(2,), (3,)], [((2,), (2, 5)), ((3,), (3, 5))], "`queries`"),
        ([(2,), (3,)], [((2,), (2,)), ((3,), (3,))], None),
        ([(2,), (2,)], [((2, 5), (2,)), ((3, 5), (2,))], None),
        ([(2,), (3,)], [((2, 5), (2,)), ((3, 5), (4,))], None),
        ([(2,), (3,)], [((2, 5), (2,)), ((3, 5),)], None),
        ([(2,), None], [((2, 5), (2,)), ((3, 5), (3,))], None),
    ],
)
def test_an_argument_of_the_expected_shape_in_every_case_is_named(shapes, argument_shapes, text):
    pairs, cases = [], []
    for shape, arrays in zip(shapes, argument_shapes, strict=True):
        expected = "text" if shape is None else np.ones(shape)
        args = tuple(np.ones(sizes) for sizes in arrays)
        case_inputs = Inputs((*args, 1.0), argument_names=("queries", "keys"))
        pairs.append((expected, None))
        test_case = TestCase("", case_inputs, expected, {})
        cases.append(JudgedCase(test_case, CallOutcome(), RULES, None))
    sentence = ""
    if text:
        sentence = f"It should have the shape of {text}. Along which axis do you add up, if you do?"
    assert describe_shape_by_argument(pairs, cases) == sentence


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([((1.0, 2.0), (1.0, 3.0))], "The first of the 2 values is right in every case."),
        (
            [((1.0, 2.0), [3.0, 2.0]), ((1.0, 2.0), (3.0, 2.0))],
            "The second of the 2 values is right in every case.",
        ),
        (
            [((1.0, 2.0, 3.0), (1.0, 2.0, 4.0))],
            "The first and second of the 3 values are right in every case.",
        ),
        ([((1.0, 2.0), (1.0, 3.0)), ((1.0, 2.0), (3.0, 2.0))], ""),
        ([((1.0, 2.0), (1.0, 3.0)), ((1.0, 2.0), (1.0,))], ""),
        ([((1.0, 2.0), (1.0, 3.0)), ((1.0, 2.0), 1.0)], ""),
        ([((1.0, 2.0), (1.0 + 1e-9, 3.0))], "The first of the 2 values is right in every case."),
        ([(np.ones(2), np.array([1.0, 2.0]))], ""),
    ],
)
def test_the_returned_values_that_are_right_in_every_case_are_counted(pairs, text):
    assert describe_which_returned_values_are_right(pairs, RULES) == text


@pytest.mark.parametrize(
    ("expected", "value", "text"),
    [
        (1000, 8000, "In this case the result is 8 times too large."),
        (1000.0, 500, "In this case the expected value is 2 times larger."),
        (1000, 512000, "In this case the result is 512 times too large, and `heads` is 512."),
        (1000, 16000, "In this case the result is 16 times too large."),
        (1000, 1024000, "In this case the result is 1024 times too large."),
        (1000, 1025000, ""),
        (999, 1998, ""),
        (1000, 1000, ""),
        (1000, 0, ""),
        (1000, -2000, ""),
        (1000, 1500, ""),
        (1000, None, ""),
        (True, 2000, ""),
        (np.array(1000.0), 2000.0, ""),
    ],
)
def test_a_multiple_is_named_with_the_argument_that_is_the_factor_in_another_case_too(
    expected, value, text
):
    # The second case shows that the factor changes with `heads`, and not with `layers`.
    case_inputs = [
        Inputs((512, 2.5), {"layers": 16}, argument_names=("heads",)),
        Inputs((4,), {"layers": 16}, argument_names=("heads",)),
    ]
    cases = [
        JudgedCase(TestCase("", item, expected, {}), CallOutcome(value), RULES, None)
        for item in case_inputs
    ]
    assert describe_multiple([(expected, value), (1000, 4000)], cases) == text


def test_an_argument_that_changes_is_not_the_factor_where_the_factor_stays():
    cases = [
        JudgedCase(TestCase("", Inputs((), {"heads": heads}), 1000, {}), CallOutcome(), RULES, None)
        for heads in (8, 16)
    ]
    text = "In this case the result is 8 times too large."
    assert describe_multiple([(1000, 8000), (1000, 8000)], cases) == text
    both = "In this case the result is 8 times too large, and `heads` is 8."
    assert describe_multiple([(1000, 8000), (1000, 16000)], cases) == both
    cases[1] = cases[0]
    assert describe_multiple([(1000, 8000), (1000, 8000)], cases) == text


@pytest.mark.parametrize(
    ("answers", "is_pattern"),
    [
        ([True], True),
        ([True, True, None], True),  # an array that is too small to show it
        ([None, True], False),  # the first pair is the one that students see
        ([True, False], False),
        ([False, True], False),
        ([None, None], False),
        ([], False),
    ],
)
def test_a_pattern_is_told_of_the_pair_that_is_shown(answers, is_pattern):
    assert _matches_all_pairs(lambda value, expected: value, [(a, None) for a in answers]) == (
        is_pattern
    )
