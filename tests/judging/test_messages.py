"""Messages on real students' wrong answers: the right mistake, in plain words."""

import linecache
import math

import numpy as np
import pytest
from our_course import lab

from autograder.core.results import Verdict
from autograder.grading.grade_submission import add_slip_pairs
from autograder.judging.compare import compare_outcome
from autograder.judging.error_messages import classify_error
from autograder.judging.failure_patterns import list_features
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

LABS = {name: lab(name) for name in ("additive-attention", "qkv-attention", "attention-masks")}
EXERCISES = {name: exercise for lab in LABS.values() for name, exercise in lab.exercises.items()}


def judge_source(name, source, **extra_names):
    """The finding on an answer in a notebook's cell."""
    exercise = EXERCISES[name]
    names = {**vars(exercise.solution), "__name__": "__main__", **extra_names}
    file = f"<cell of {name} {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), names)
    cases, misconceptions = add_slip_pairs(exercise)
    answers = [call_student_function(names[name], q.inputs, exercise.rules.call) for q in cases]
    arguments = exercise.argument_names
    return judge(cases, answers, exercise.rules, misconceptions, name, argument_names=arguments)


# An exercise, a wrong expression, the name of the mistake, and words of the message.
WRONG_ANSWERS = [
    ("to_additive", "np.where(mask, 0, -30).astype(dtype)", "low-enough-for-ordinary-scores", "score of 1000"),
    ("to_additive", "np.where(mask, 1e-6, -np.inf).astype(dtype)", "nearly-zero-for-the-allowed", "exactly 0"),
    ("to_additive", "np.where(mask, 0, np.inf).astype(dtype)", "plus-infinity", "+inf"),
    ("causal_mask", "np.triu(np.full((size, size), -np.inf), 1)", "additive-causal-with-infinity", "additive"),
    ("softmax", "2.718**x / (2.718**x).sum(axis=axis, keepdims=True)", "imprecise", "constant with few digits"),
    ("softmax", "np.round(np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True), 6)", "rounded", "all the digits"),
    (
        "softmax",
        "softmax_of(np.exp(x.astype(np.float32)), axis).astype(x.dtype)",
        "precision-lost-on-the-way",
        "only about seven digits",
    ),
    ("softmax", "x / x.sum()", "over-everything + no-exponential", "There are two mistakes."),
    ("softmax", "math.exp(x)", "array-for-a-single-number", "take a single number"),
    ("stable_softmax", "softmax(x - 1000, axis)", "subtracts-1000", "always subtract 1000"),
    (
        "stable_softmax",
        "softmax(x - x.max(axis=axis).reshape(-1, 1), axis)",
        "maximum-in-a-column",
        "reshape(-1, 1)",
    ),
    (
        "stable_softmax",
        "np.exp(x - x.max(axis)) / np.exp(x - x.max(axis)).sum(axis)",
        "both-without-their-axis",
        "both lost their axis",
    ),
    (
        "calculate_weights",
        "softmax(queries @ keys.T / keys.shape[1] ** 1/2, axis=1)",
        "power-before-division",
        "divides by d_k and then by 2",
    ),
    (
        "calculate_weights",
        "softmax(queries @ keys.T, axis=0)",
        "no-scale + softmax-over-the-queries",
        "There are two mistakes.",
    ),
    *(
        ("calculate_weights", f"softmax(queries @ keys.T / {root}, axis=1)", mistake, "to a whole number")
        for mistake, roots in {
            "root-cut-off": (
                "int(np.sqrt(keys.shape[1]))", "(np.sqrt(keys.shape[1]) // 1)", "np.floor(keys.shape[1] ** 0.5)",
            ),
            "root-rounded": ("round(np.sqrt(keys.shape[1]))", "np.rint(keys.shape[1] ** 0.5)"),
        }.items()
        for root in roots
    ),
    ("masked_softmax", "softmax(scores * mask)", "name-not-defined", "Nothing is called `softmax`"),
    (
        "dot_product_attention",
        "masked_softmax(query @ np.swapaxes(key, -1, -2) / (1 if scale else key.shape[-1] ** 0.5), mask) @ value",
        "scale-the-other-way-round",
        "where `scale` is False",
    ),
    (
        "dot_product_attention",
        "masked_softmax(query @ np.swapaxes(key, 0, 1) / (key.shape[-1] ** 0.5 if scale else 1), mask) @ value",
        "exchanges-the-first-two-axes",
        "counts the sentences",
    ),
    ("dot_product_attention", "masked_softmax(query @ np.swapaxes(key, -1, -2)) @ value",
     "never-scales + ignores-the-mask", "There are two mistakes."),
    ("attention", "softmax(alignment(encoder_states, decoder_state, layer_1, layer_2)) @ encoder_states",
     "column-before-the-states", "would need a row"),
    ("attention", "np.sum(softmax(alignment(encoder_states, decoder_state, layer_1, layer_2)) * encoder_states)",
     "one-number", "into a single number"),
]  # fmt: skip
HEADS = {
    "to_additive": "mask, dtype=np.float64",
    "causal_mask": "size",
    "softmax": "x, axis=0",
    "stable_softmax": "x, axis=0",
    "calculate_weights": "queries, keys",
    "masked_softmax": "scores, mask=None",
    "dot_product_attention": "query, key, value, mask=None, scale=True",
    "attention": "encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2",
}


@pytest.mark.parametrize(
    ("name", "expression", "mistake", "words"),
    WRONG_ANSWERS,
    ids=[f"{t[0]}-{t[2]}" for t in WRONG_ANSWERS],
)
def test_mistakes_of_real_students_are_named(name, expression, mistake, words):
    finding = judge_source(
        name,
        f"def {name}({HEADS[name]}):\n    return {expression}\n",
        math=math,
        softmax_of=lambda e, axis: e / e.sum(axis=axis, keepdims=True),
    )
    assert finding.verdict is not Verdict.PASS
    assert finding.misconception == mistake, finding.message
    assert words in finding.message


@pytest.mark.parametrize("slip", ["keys.T()", "(keys)(keys)", "keys.shape(1)"])
def test_a_call_of_something_not_callable_is_no_mistake_of_the_root(slip):
    finding = judge_source(
        "calculate_weights", f"def calculate_weights(queries, keys):\n    return queries @ {slip}\n"
    )
    assert "not callable" in finding.observation
    assert finding.misconception == "not-a-function" and "root" not in finding.message


def test_an_assert_in_the_answer_is_blamed_and_not_its_condition():
    source = (
        "def calculate_weights(queries, keys):\n"
        "    weights = softmax(queries @ keys.T / np.sqrt(keys.shape[1]), axis=1)\n"
        "    assert weights.sum(axis=1)[0] == 1 + 1e-9, 'Each row must sum to 1'\n"
        "    return weights\n"
    )
    finding = judge_source("calculate_weights", source)
    assert finding.misconception == "own-assert"
    assert "`==` between two of them is often False" in finding.means
    sizes = source.replace("weights.sum(axis=1)[0] == 1 + 1e-9", "keys.shape == queries.shape")
    finding = judge_source("calculate_weights", sizes)
    assert finding.misconception == "own-assert"
    assert "the docstring does not promise" in finding.means


def test_an_error_inside_a_called_function_names_that_function():
    source = (
        "def dot_product_attention(query, key, value, mask=None, scale=True):\n"
        "    return query if mask else key\n"
        "def dot_product_self_attention(q, k, v, scale=True):\n"
        "    return dot_product_attention(q, k, v, causal_mask(q.shape[1]), scale)\n"
    )
    finding = judge_source("dot_product_self_attention", source)
    assert (
        "The error occurs inside `dot_product_attention`, which your function calls"
        in finding.means
    )
    assert finding.misconception == "array-for-yes-or-no"


@pytest.mark.parametrize(
    ("function", "mistake", "text"),
    [
        (lambda: np.ones((2, 3)) @ np.ones((4, 5)), "shapes-that-do-not-multiply", "rows of 3 numbers"),
        (lambda: np.dot(np.ones((2, 3)), np.ones((4, 5))), "shapes-that-do-not-multiply", "(2, 3) and (4, 5)"),
        (lambda: np.ones((2, 3)) + np.ones(2), "shapes-that-do-not-broadcast", "(2, 3) and (2,)"),
        (lambda: np.ones(6).reshape(4, 2), "reshape-that-does-not-fit", ""),
        (lambda: np.hstack([np.ones((2, 3)), np.ones((1, 3))]), "parts-that-do-not-join", ""),
        (lambda: 1 if np.ones(2) > 0 else 0, "array-for-yes-or-no", ""),
        (lambda: __import__("math").exp(np.ones(2)), "array-for-a-single-number", ""),
        (lambda: np.ones(2).sum(axis=1), "axis-that-is-not-there", ""),
        (lambda: np.ones(2).shape[1], "axis-that-is-not-there", ""),
        (lambda: np.ones((2, 3)).transpose(0, 2, 1), "axes-that-do-not-match", ""),
        (lambda: nothing_of_the_kind, "name-not-defined", "Nothing is called `nothing_of_the_kind`"),  # noqa: F821
        (lambda: np.array([np.ones(2), np.ones((3, 4))]), "arrays-of-several-shapes", ""),
        (lambda: np.array([[1.0], [1.0, 2.0]]), "arrays-of-several-shapes", ""),
        (lambda: np.ones(4)[: 4 / 2], "fraction-for-a-place", ""),
        (lambda: np.ones(4)[np.ones(2)], "fractions-for-places", ""),
        (lambda: np.zeros(4 / 2), "fraction-for-a-place", ""),
        (lambda: range(4 / 2), "fraction-for-a-place", ""),
        (lambda: list("ab")[4 / 4], "fraction-for-a-place", ""),
        (lambda: -np.array([True]), "minus-on-booleans", ""),
        (lambda: ~np.ones(2), "logic-on-numbers", ""),
        (lambda: np.ones((2, 3))[np.ones((3, 2), bool)], "index-of-another-shape", ""),
        (lambda: np.sum(np.ones(2), axes=0), "call-that-does-not-fit", ""),
        (lambda: np.ones(2, int).__itruediv__(2.5), "fractions-into-whole-numbers", ""),
        (lambda: exit(), "ends-the-program", ""),
        (lambda: np.ones(3)[np.array([1, 5])], "place-that-is-not-there", "index 5 along axis 0, whose length is 3"),
        (lambda: [1][2], "place-that-is-not-there", ""),
        (lambda: {"b_1": 1}["b1"], "entry-that-is-not-there", "no entry 'b1'"),
        (lambda: np.ones(2) + None, "works-on-none", ""),
        (lambda: input(), "asks-the-keyboard", ""),
    ],
)  # fmt: skip
def test_usual_errors_are_put_into_plain_words(function, mistake, text):
    answer = call_student_function(function, Inputs())
    assert classify_error(answer.error) == mistake, answer.error
    difference = compare_outcome(np.ones(2), answer, RULES)
    assert difference.mistake == mistake
    assert text in difference.means
    assert all(text.endswith((".", "!", "?")) for text in MISTAKES[mistake])


def make_case(expected, value, mistakes=(), **answer):
    return TestCase("", Inputs(), expected, dict(mistakes)), CallOutcome(value, **answer)


def test_a_mistake_is_named_besides_a_changed_argument():
    misconception = Misconception("half", "You halved it.", "Why?")
    expected, value = np.arange(1.0, 4), np.arange(1.0, 4) / 2
    case, answer = make_case(expected, value, {"half": CallOutcome(value)}, modified=("x",))
    finding = judge([case], [answer], RULES, [misconception])
    assert finding.misconception == "half"
    assert (
        finding.means
        == "You halved it. Besides, your function changed its argument `x`, which belongs to the caller."
    )
    in_place = CallOutcome(value, modified=("x",))
    case, unmodified = make_case(expected, value, {"half": in_place})
    assert judge([case], [unmodified], RULES, [misconception]).misconception is None
    unknown = judge([case], [answer], RULES, [])
    assert "changed its argument `x`" in unknown.means


def test_two_errors_about_other_sizes_are_not_the_same_error():
    misconception = Misconception("turned", "You turned it.", "Why?")
    text = "ValueError: matmul: mismatch in its core dimension 0 (size {} is different from {})"
    prediction = CallOutcome(error=text.format(3, 4))
    for sizes, name in (
        ((3, 4), "turned"),
        ((4, 3), "turned"),
        ((5, 4), "shapes-that-do-not-multiply"),
    ):
        case, answer = make_case(
            np.ones(2), None, {"turned": prediction}, error=text.format(*sizes)
        )
        assert judge([case], [answer], RULES, [misconception]).misconception == name


def test_every_matrix_of_a_batch_may_be_transposed():
    expected = np.arange(24.0).reshape(2, 3, 4)
    assert (
        compare_outcome(expected, CallOutcome(np.swapaxes(expected, 1, 2)), RULES).mistake
        == "transposed"
    )


def test_a_result_that_is_far_off_in_one_place_has_no_mistake_of_precision():
    expected = np.arange(1.0, 7).reshape(2, 3)
    value = expected * (1 + 1e-4)
    assert compare_outcome(expected, CallOutcome(value), RULES).mistake == "imprecise"
    value[0, 0] *= 2
    assert compare_outcome(expected, CallOutcome(value), RULES).mistake is None


def test_one_whole_number_is_no_sign_of_a_mistake():
    """Two different mistakes often choose the same of a few tokens by chance."""
    source = """
def choose(logits, temperature, uniform):
    if temperature == 0:
        return int(np.argmax(logits))
    p = np.exp((logits - np.max(logits)) / temperature)
    return int(np.argmax(np.cumsum(p / p.sum()) < uniform))
"""
    exercise = lab("tiny-transformer").exercises["choose"]
    names = {"np": np}
    exec(source, names)
    cases, misconceptions = add_slip_pairs(exercise)
    answers = [call_student_function(names["choose"], q.inputs) for q in cases]
    finding = judge(cases, answers, exercise.rules, misconceptions)
    assert finding.verdict is Verdict.WRONG and finding.misconception is None


# Answers that no mistake explains, and descriptions that another case contradicts.


def judge_pairs(expected, value, *pairs):
    """The finding on pairs of expected and returned values, each in a case of its own."""
    cases, answers = [], []
    for expected_value, returned_value in ((expected, value), *pairs):
        cases.append(TestCase("", Inputs(), expected_value, {}))
        answers.append(CallOutcome(returned_value))
    return judge(cases, answers, RULES, [])


SQUARE = np.arange(1.0, 17).reshape(4, 4) ** 2 % 7 + 1


def change_values(index, value=SQUARE, factor=0.3):
    value = value.copy()
    value[index] *= np.linspace(1 + factor, 1 + 2 * factor, value[index].size).reshape(
        value[index].shape
    )
    return value


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (np.s_[-1], "Only the last row differs."),
        (np.s_[1:], "Only the first row is right."),
        (np.s_[:, 2:], "Only the first two columns are right."),
        (np.s_[:, 1::2], "Every second column is right, beginning with the first."),
        (np.s_[2], "Only one row differs."),
        (np.diag_indices(4), "Only the diagonal differs."),
        (np.triu_indices(4, 1), "Only entries above the diagonal differ."),
        (np.s_[:], "All the differing numbers are too large."),
    ],
)
def test_the_differing_places_are_described_if_no_case_contradicts_it(index, text):
    wrong = change_values(index)
    assert text in judge_pairs(SQUARE, wrong, (SQUARE * 2, change_values(index, SQUARE * 2))).means
    other_value = change_values(np.s_[0:4:3, :3], SQUARE, -0.9)
    assert text not in judge_pairs(SQUARE, wrong, (SQUARE, other_value)).means


def test_proportions_are_right_in_all_cases_or_in_none():
    rows = np.array([[1.0], [2.0], [-3.0], [0.5]])
    text = "Each row is the expected row times a factor"
    assert text in judge_pairs(SQUARE, SQUARE * rows, (SQUARE, SQUARE * rows[::-1])).means
    assert text not in judge_pairs(SQUARE, SQUARE * rows, (SQUARE, SQUARE**2 / 9)).means
    hidden = np.tril(SQUARE)
    assert text in judge_pairs(hidden, hidden * rows, (hidden, hidden * rows[::-1])).means
    assert text not in judge_pairs(hidden, SQUARE * rows, (hidden, hidden * rows)).means


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (
            lambda expected: expected[:2],
            "The numbers are right, but the result is too short along the second-to-last axis: the end is missing.",
        ),
        (
            lambda expected: expected[:, 2:],
            "The numbers are right, but the result is too short along the last axis: the beginning is missing.",
        ),
        (
            lambda expected: np.hstack([expected, expected[:, :1] + 9]),
            "The result is too long along the last axis: after the expected",
        ),
        (
            lambda expected: np.vstack([expected[:2] - 9, expected]),
            "The result is too long along the second-to-last axis: before the expected",
        ),
    ],
)
def test_a_result_of_another_length_is_compared_with_a_part(transform, text):
    part = transform(SQUARE)
    assert text in judge_pairs(SQUARE, part, (SQUARE * 2, transform(SQUARE * 2))).means
    assert "along" not in judge_pairs(SQUARE, part, (SQUARE, part + 1)).means.lower()


def test_a_mistake_with_another_shape_in_one_case_explains_nothing():
    """With a batch of one, the first sentence alone and all sentences in one heap are the same."""
    single, double = SQUARE.reshape(1, 4, 4), SQUARE.reshape(2, 2, 4)
    cases = [
        TestCase("", Inputs(), x, {"first": CallOutcome(x[0])})
        for x in (single, 2 * single, double)
    ]
    answers = [CallOutcome(q.expected.reshape(-1, 4)) for q in cases]
    misconceptions = [Misconception("first", "Only the first sentence.", "")]
    assert judge(cases[:2], answers[:2], RULES, misconceptions).misconception == "first"
    assert judge(cases, answers, RULES, misconceptions).misconception is None


def test_lost_digits_are_no_numbers_in_other_places():
    expected = np.sin(np.arange(60.0).reshape(10, 6) * 0.1)
    values = np.sin((np.arange(60.0).reshape(10, 6) * 0.1).astype(np.float32)).astype(np.float64)
    far = np.sin(1e4 * expected), np.sin((1e4 * expected).astype(np.float32)).astype(np.float64)
    finding = judge_pairs(expected, values, far)
    assert finding.misconception == "precision-lost-on-the-way", finding.message
    assert "other positions" not in finding.message
    assert (
        "other positions"
        in judge_pairs(SQUARE, SQUARE.ravel()[[2, 0, 1, *range(3, 16)]].reshape(4, 4)).means
    )
    # What is far off somewhere is no matter of digits.
    assert judge_pairs(expected, values, (expected, expected * 1.2)).misconception is None


def test_a_mistake_that_is_right_in_a_case_does_not_explain_its_failure():
    """Within float32's precision the answer agrees with every mistake that is right in the case."""
    misconception = Misconception("overflows", "You took the exponential of all.", "Why?")
    expected = np.array([0.25, 0.75])
    cases = [
        TestCase("", Inputs(), expected * n, {"overflows": CallOutcome(expected * n)})
        for n in range(1, 5)
    ]
    cases.append(TestCase("", Inputs(), expected, {"overflows": CallOutcome(expected * np.nan)}))
    answers = [CallOutcome((q.expected * (1 + 1e-6)).astype(np.float32)) for q in cases]
    finding = judge(cases, answers, RULES, [misconception])
    assert finding.misconception == "lower-precision"
    answers[4] = CallOutcome(expected * 3)
    assert judge(cases, answers, RULES, [misconception]).misconception is None


def test_the_right_ones_of_several_values_are_named():
    expected = (np.ones(3), np.arange(4.0), np.eye(3))
    finding = judge_pairs(
        expected,
        (expected[0], expected[1] ** 2 + 1, expected[2]),
        (expected, (expected[0], expected[1] * 0.3 + 2, expected[2])),
    )
    assert "The first and third of the 3 values are right in every case." in finding.means
    finding = judge_pairs(
        expected,
        (expected[0], expected[1] ** 2 + 1, expected[2]),
        (expected, (expected[0] * 2, expected[1] + 1, expected[2])),
    )
    assert "The third of the 3 values is right in every case." in finding.means


@pytest.mark.parametrize(
    ("error_count", "other_count", "shown"),
    [(1, 0, 0), (1, 1, 1), (2, 2, 2), (1, 2, 0), (2, 3, 0)],
)
def test_an_error_of_half_the_failing_cases_is_shown_before_a_wrong_number(
    error_count, other_count, shown
):
    """A right case beside them does not count."""
    answers = [CallOutcome(2.0, "float")] * other_count
    answers += [CallOutcome(None, "error", "KeyError: 'x'")] * error_count
    cases = [TestCase("", Inputs(), 1.0, {})] * len(answers)
    finding = judge(
        [*cases, TestCase("", Inputs(), 1.0, {})], [*answers, CallOutcome(1.0)], RULES, []
    )
    assert finding.case_index == shown


def test_a_pair_of_mistakes_is_shown_in_the_first_case_that_neither_gives_alone():
    """The case with both mistakes comes last here, and explains the pair."""
    predictions = [(2.0, 2.0, 1.0), (3.0, 1.0, 3.0), (5.0, 2.0, 3.0)]  # both, a, b
    cases, answers = [], []
    for numbers in predictions:
        outcomes = [CallOutcome(number, "float") for number in numbers]
        mistakes = dict(zip(("a + b", "a", "b"), outcomes, strict=True))
        cases.append(TestCase("", Inputs(), 1.0, mistakes))
        answers.append(outcomes[0])
    pair = Misconception("a + b", "There are two mistakes.", "Which?")
    finding = judge(cases, answers, RULES, [pair])
    assert (finding.misconception, finding.case_index) == ("a + b", 2)


def test_a_multiple_of_the_expected_count_is_described():
    assert (
        "In this case the result is 8 times too large." in judge_pairs(1000, 8000, (999, 5)).means
    )
    assert (
        "In this case the expected value is 4 times larger."
        in judge_pairs(4096, 1024, (1, 5)).means
    )
    assert "times" not in judge_pairs(4, 8, (1, 5)).means  # the number of a token, say


def test_an_argument_that_is_the_factor_in_several_cases_is_named():
    def judge_counts(*counts):
        cases, outcomes = [], []
        for heads, factor in counts:
            cases.append(TestCase("", Inputs((512, heads)), 4000 * heads, {}))
            outcomes.append(CallOutcome(4000 * heads * factor))
        names = ("size", "heads")
        return judge(cases, outcomes, ComparisonRules(), [], argument_names=names).means

    text = judge_counts((8, 8), (16, 16), (3, 5))
    assert "In this case the result is 8 times too large, and `heads` is 8." in text
    assert "In this case the result is 8 times too large." in judge_counts((8, 8), (16, 8))


def test_the_correlation_with_the_expected_numbers_is_described():
    rng = np.random.default_rng(7)
    expected = [rng.normal(size=(4, 5)) for _ in range(6)]
    noise = [rng.normal(size=(4, 5)) for _ in range(6)]
    strong = [(a, a + 0.1 * b) for a, b in zip(expected, noise, strict=True)]
    text = judge_pairs(*strong[0], *strong[1:]).means
    assert "Your numbers rise and fall with the expected ones (correlation 0.99" in text, text
    assert "), so much of the formula is right." in text, text
    far = list(zip(expected, noise, strict=True))
    assert (
        "Your numbers do not rise and fall with the expected ones, so an early step"
        in judge_pairs(*far[0], *far[1:]).means
    )
    moderate = [(a, a + 2 * b) for a, b in zip(expected, noise, strict=True)]
    assert "rise and fall" not in judge_pairs(*moderate[0], *moderate[1:]).means
    singles = [(float(n), n + 0.1 * (-1) ** n) for n in range(1, 8)]
    text = judge_pairs(*singles[0], *singles[1:]).means
    assert (
        "From case to case, your number rises and falls with the expected one (correlation 0.99"
        in text
    )
    assert "much of the formula" not in text  # 8 times every count is as strongly correlated


def test_the_sources_of_nan_are_named_only_where_there_is_nan():
    text = judge_pairs(np.ones(2), np.array([1.0, np.nan])).means
    assert "nan comes from the root or the logarithm of a negative number" in text
    text = judge_pairs(np.ones(2), np.array([1.0, np.inf])).means
    assert "inf comes from a division by 0, from the logarithm of 0" in text
    assert "nan" not in text


def test_what_is_said_of_the_correlation_is_true_of_the_shown_numbers():
    rng = np.random.default_rng(7)
    far = [(rng.normal(size=(4, 5)), rng.normal(size=(4, 5))) for _ in range(6)]
    shown = np.array([0.75, -0.625, -0.125]), np.array([-0.5, -2.5, -2.0])
    assert "rise and fall" not in judge_pairs(*shown, *far).means
    single = np.array([1.0]), np.array([1.5])
    assert "rise and fall" not in judge_pairs(*single, *far).means
    near = [(a, 3 * a + 0.1 * b) for a, b in far]
    assert "rise and fall" not in judge_pairs(*far[0], *near).means
    assert "rise and fall" in judge_pairs(*near[0], *near[1:]).means


def test_an_error_in_a_few_cases_is_explained_and_gives_no_name():
    cases = [TestCase("", Inputs(), np.ones(3) * n, {}) for n in range(1, 6)]
    answers = [CallOutcome(error="IndexError: index 517 is out of bounds for axis 0 with size 64")]
    answers += [CallOutcome(np.array([1.0, 5.0, -2.0]) * n) for n in range(2, 6)]
    finding = judge(cases, answers, RULES, [])
    assert "index 517 along axis 0, whose length is 64" in finding.means
    assert finding.misconception is None


def test_a_single_number_is_no_evidence_of_a_function():
    """1 in place of 0 is no exponential."""
    cases = [TestCase("", Inputs((n,)), 0.0, {}) for n in range(4)]
    assert judge(cases, [CallOutcome(1.0, "float")] * 4, RULES, []).means.find("exponential") == -1
    cases = [TestCase("", Inputs((n,)), float(n), {}) for n in range(4)]
    assert (
        "exponential"
        in judge(
            cases, [CallOutcome(float(np.exp(n)), "float") for n in range(4)], RULES, []
        ).message
    )


def test_differing_numbers_that_are_0_are_described():
    expected = np.arange(1.0, 13.0).reshape(3, 4)
    cases = [TestCase("", Inputs((k,)), expected * k, {}) for k in (1, 2)]
    answers = [CallOutcome(expected * k * [1, 0, 1, 0]) for k in (1, 2)]
    means = judge(cases, answers, RULES, []).means
    assert (
        means
        == "Every second column is right, beginning with the first. All the differing numbers are 0 in your result."
    )


def test_a_module_that_is_not_imported_is_named_as_one():
    answer = CallOutcome(
        None, "error", "NameError: name 'math' is not defined", line="2: math.exp(1)", within="f"
    )
    finding = judge([TestCase("", Inputs(), 1.0, {})], [answer], RULES, [], "f")
    assert "Write `import math` before you use it" in finding.means


def test_a_mistake_that_gives_half_of_the_wrong_results_explains_none():
    rng = np.random.default_rng(2)
    expected = [rng.normal(size=(3, 4)) for _ in range(4)]
    misconception = Misconception("cubed", "You cubed it.", "Why?")
    cases = [TestCase("", Inputs((x,)), x, {"cubed": CallOutcome(x**3)}) for x in expected]
    answers = [
        CallOutcome(x**3 if i < 2 else rng.normal(size=x.shape)) for i, x in enumerate(expected)
    ]
    assert judge(cases, answers, RULES, [misconception]).misconception is None
    answers[2] = CallOutcome(expected[2] ** 3)
    finding = judge(cases, answers, RULES, [misconception])
    assert finding.misconception == "cubed" and finding.is_partial
    assert finding.means == "You cubed it. (This explains 3 of the 4 failing cases.)"


def test_a_single_number_in_an_array_is_no_array_of_another_shape():
    assert compare_outcome(np.ones(2), CallOutcome(np.array(3.0)), RULES).kind == "type"


def test_known_right_answers_are_not_compared_again():
    cases = [TestCase("", Inputs(), 1.0, {})] * 2
    assert judge(
        cases, [CallOutcome(2.0, "float"), CallOutcome(1.0, "float")], RULES, [], "f", 1
    ).cases_correct == (
        True,
        True,
    )


def test_the_texts_in_a_mapping_are_features_and_its_sizes_are_not():
    given = Inputs(kwargs={"settings": {"heads": 5, "dtype": "float16", "bias": False}})
    features = list_features(TestCase("", given, None, {}))
    assert features == ["`dtype='float16'` in `settings`", "`bias=False` in `settings`"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ((3, 1), "more than one row in the first array"),
        ((3, 2), "more rows in the first array than in the second"),
        ((2, 3), "more rows in the second array than in the first"),
        ((3, 3), "two arrays of the same shape"),
    ],
)
def test_the_row_counts_of_two_arrays_are_a_feature(rows, text):
    case_inputs = Inputs(tuple(np.ones((n, 4)) for n in rows))
    features = list_features(TestCase("", case_inputs, None, {}))
    assert [feature for feature in features if "array" in feature] == [text]


@pytest.mark.parametrize(
    ("array", "has_feature"),
    [
        (np.array([[300.0, np.nan], [0.0, 1.0]]), True),
        (np.array([[-300.0, 1.0], [0.0, 1.0]]), True),
        (np.array([[299.0, np.nan], [0.0, 1.0]]), False),
        (np.array([[300, 1], [0, 1]]), False),
        (np.zeros((2, 0)), False),
    ],
)
def test_large_floating_point_numbers_are_a_feature_also_beside_nan(array, has_feature):
    features = list_features(TestCase("", Inputs((array,)), None, {}))
    assert ("very large numbers" in features) == has_feature
