"""What wrong answers that people really gave are told: by name, in plain words, and never by another's mistake."""

import linecache
import math

import numpy as np
import pytest
from our_course import lab

from autograder.authoring.proof import found
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference, mistake_in
from autograder.judging.judge import judge
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.patterns import features
from autograder.judging.question import Answer, Inputs, Misconception, Question, Rules
from autograder.results import Verdict

LABS = {name: lab(name) for name in ("additive-attention", "qkv-attention", "attention-masks")}
EXERCISES = {name: e for one in LABS.values() for name, e in one.exercises.items()}


def told(name, source, **more):
    """The finding on an answer given as a notebook's cell."""
    exercise = EXERCISES[name]
    names = {**vars(exercise.solution), "__name__": "__main__", **more}
    file = f"<cell of {name} {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), names)
    asked = exercise.questions()
    return found(exercise, asked, [ask(names[name], q.inputs, exercise.rules.call) for q in asked])


# An answer, its name, and words that the message has.
TOLD = [
    ("to_additive", "np.where(mask, 0, -30).astype(dtype)", "low-enough-for-ordinary-scores", "score of 1000"),
    ("to_additive", "np.where(mask, 1e-6, -np.inf).astype(dtype)", "nearly-zero-for-the-allowed", "exactly 0"),
    ("to_additive", "np.where(mask, 0, np.inf).astype(dtype)", "plus-infinity", "+inf"),
    ("causal_mask", "np.triu(np.full((size, size), -np.inf), 1)", "additive-causal-with-infinity", "additive"),
    ("softmax", "2.718**x / (2.718**x).sum(axis=axis, keepdims=True)", "imprecise", "typed with few digits"),
    ("softmax", "np.round(np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True), 6)", "rounded", "all the digits"),
    (
        "softmax",
        "softmax_of(np.exp(x.astype(np.float32)), axis).astype(x.dtype)",
        "precision-lost-on-the-way",
        "only the digits of float32",
    ),
    ("softmax", "x / x.sum()", "no-exponential + over-everything", "Two things at once."),
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
        "(d ** 1) / 2",
    ),
    (
        "calculate_weights",
        "softmax(queries @ keys.T, axis=0)",
        "no-scale + softmax-over-the-queries",
        "Two things at once.",
    ),
    ("masked_softmax", "softmax(scores * mask)", "name-not-defined", "nothing is called `softmax`"),
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
     "never-scales + ignores-the-mask", "Two things at once."),
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


@pytest.mark.parametrize(("name", "returned", "mistake", "words"), TOLD, ids=[f"{t[0]}-{t[2]}" for t in TOLD])
def test_what_people_really_write_is_named(name, returned, mistake, words):
    finding = told(
        name,
        f"def {name}({HEADS[name]}):\n    return {returned}\n",
        math=math,
        softmax_of=lambda e, axis: e / e.sum(axis=axis, keepdims=True),
    )
    assert finding.verdict is not Verdict.PASS
    assert finding.misconception == mistake, finding.message
    assert words in finding.message


def test_an_assert_of_ones_own_is_blamed_and_not_what_it_claims():
    source = (
        "def calculate_weights(queries, keys):\n"
        "    weights = softmax(queries @ keys.T / np.sqrt(keys.shape[1]), axis=1)\n"
        "    assert weights.sum(axis=1)[0] == 1 + 1e-9, 'Each row must sum to 1'\n"
        "    return weights\n"
    )
    finding = told("calculate_weights", source)
    assert finding.misconception == "own-assert"
    assert "`==` between two of them is False" in finding.means
    sizes = source.replace("weights.sum(axis=1)[0] == 1 + 1e-9", "keys.shape == queries.shape")
    finding = told("calculate_weights", sizes)
    assert finding.misconception == "own-assert"
    assert "the docstring does not promise" in finding.means


def test_an_error_inside_a_called_function_says_so():
    source = (
        "def dot_product_attention(query, key, value, mask=None, scale=True):\n"
        "    return query if mask else key\n"
        "def dot_product_self_attention(q, k, v, scale=True):\n"
        "    return dot_product_attention(q, k, v, causal_mask(q.shape[1]), scale)\n"
    )
    finding = told("dot_product_self_attention", source)
    assert "It arises inside `dot_product_attention`, which your function calls" in finding.means
    assert finding.misconception == "array-for-yes-or-no"


@pytest.mark.parametrize(
    ("does", "mistake", "said"),
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
        (lambda: nothing_of_the_kind, "name-not-defined", "nothing is called `nothing_of_the_kind`"),  # noqa: F821
        (lambda: np.array([np.ones(2), np.ones((3, 4))]), "arrays-of-several-shapes", ""),
        (lambda: np.array([[1.0], [1.0, 2.0]]), "arrays-of-several-shapes", ""),
        (lambda: np.ones(4)[: 4 / 2], "fraction-for-a-place", ""),
        (lambda: np.zeros(4 / 2), "fraction-for-a-place", ""),
        (lambda: range(4 / 2), "fraction-for-a-place", ""),
        (lambda: list("ab")[4 / 4], "fraction-for-a-place", ""),
        (lambda: -np.array([True]), "minus-on-booleans", ""),
        (lambda: ~np.ones(2), "logic-on-numbers", ""),
        (lambda: np.ones((2, 3))[np.ones((3, 2), bool)], "index-of-another-shape", ""),
        (lambda: np.sum(np.ones(2), axes=0), "call-that-does-not-fit", ""),
        (lambda: np.ones(2, int).__itruediv__(2.5), "fractions-into-whole-numbers", ""),
        (lambda: exit(), "ends-the-program", ""),
        (lambda: np.ones(3)[np.array([1, 5])], "place-that-is-not-there", "place 5 along axis 0, which has only 3"),
        (lambda: [1][2], "place-that-is-not-there", ""),
        (lambda: {"b_1": 1}["b1"], "entry-that-is-not-there", "asked for 'b1'"),
        (lambda: np.ones(2) + None, "works-on-none", ""),
        (lambda: input(), "asks-the-keyboard", ""),
    ],
)  # fmt: skip
def test_usual_errors_are_put_into_plain_words(does, mistake, said):
    answer = ask(does, Inputs())
    assert mistake_in(answer.error) == mistake, answer.error
    difference = first_difference(np.ones(2), answer, Rules())
    assert difference.mistake == mistake
    assert said in difference.means
    assert all(text.endswith((".", "!", "?")) for text in STRUCTURAL[mistake])


def case(expected, value, mistakes=(), **answer):
    return Question("", Inputs(), expected, dict(mistakes)), Answer(value, **answer)


def test_a_mistake_is_named_although_an_argument_was_changed_too_and_both_are_said():
    known = Misconception("half", "You halved it.", "Why?")
    one, other = np.arange(1.0, 4), np.arange(1.0, 4) / 2
    question, answer = case(one, other, {"half": Answer(other)}, modified=("x",))
    finding = judge([question], [answer], Rules(), [known])
    assert finding.misconception == "half"
    assert (
        finding.means
        == "You halved it. Besides, your function changed its argument `x`, which is the caller's own."
    )
    in_place = Answer(other, modified=("x",))
    question, unchanged = case(one, other, {"half": in_place})
    assert judge([question], [unchanged], Rules(), [known]).misconception is None
    unknown = judge([question], [answer], Rules(), [])
    assert "changed its argument `x`" in unknown.means


def test_two_errors_about_other_sizes_are_not_the_same_error():
    known = Misconception("turned", "You turned it.", "Why?")
    text = "ValueError: matmul: mismatch in its core dimension 0 (size {} is different from {})"
    theirs = Answer(error=text.format(3, 4))
    for sizes, named in (((3, 4), "turned"), ((4, 3), "turned"), ((5, 4), "shapes-that-do-not-multiply")):
        question, answer = case(np.ones(2), None, {"turned": theirs}, error=text.format(*sizes))
        assert judge([question], [answer], Rules(), [known]).misconception == named


def test_a_matrix_in_each_place_of_a_batch_may_be_turned():
    expected = np.arange(24.0).reshape(2, 3, 4)
    assert first_difference(expected, Answer(np.swapaxes(expected, 1, 2)), Rules()).mistake == "transposed"


def test_what_is_nearly_right_in_most_places_only_is_no_matter_of_precision():
    expected = np.arange(1.0, 7).reshape(2, 3)
    value = expected * (1 + 1e-4)
    assert first_difference(expected, Answer(value), Rules()).mistake == "imprecise"
    value[0, 0] *= 2
    assert first_difference(expected, Answer(value), Rules()).mistake is None


def test_one_whole_number_is_no_sign_of_a_mistake():
    """Of a few tokens, two different mistakes choose the same one by chance again and again."""
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
    asked = exercise.questions()
    finding = found(exercise, asked, [ask(names["choose"], q.inputs) for q in asked])
    assert finding.verdict is Verdict.WRONG and finding.misconception is None


# What no mistake explains, and what is not said because another case contradicts it.


def cases(due, came, *more):
    """A finding on these results: pairs of what is due and what came, each in a case of its own."""
    asked = [Question("", Inputs(), one, {}) for one in (due, *(a for a, _ in more))]
    return judge(asked, [Answer(one) for one in (came, *(b for _, b in more))], Rules(), [])


SQUARE = np.arange(1.0, 17).reshape(4, 4) ** 2 % 7 + 1


def changed(index, value=SQUARE, by=0.3):
    value = value.copy()
    value[index] *= np.linspace(1 + by, 1 + 2 * by, value[index].size).reshape(value[index].shape)
    return value


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (np.s_[-1], "Only the last row differs."),
        (np.s_[1:], "Only the first row is right."),
        (np.s_[:, 2:], "Only the first two columns are right."),
        (np.s_[:, 1::2], "Every second column is right, the first among them."),
        (np.s_[2], "Only one row differs."),
        (np.diag_indices(4), "Only the diagonal differs."),
        (np.triu_indices(4, 1), "Only places above the diagonal differ."),
        (np.s_[:], "In every case that fails, what differs is too large."),
    ],
)
def test_where_it_differs_is_said_if_no_case_contradicts_it(index, said):
    wrong = changed(index)
    assert said in cases(SQUARE, wrong, (SQUARE * 2, changed(index, SQUARE * 2))).means
    other = changed(np.s_[0:4:3, :3], SQUARE, -0.9)
    assert said not in cases(SQUARE, wrong, (SQUARE, other)).means


def test_proportions_are_right_in_all_cases_or_in_none():
    rows = np.array([[1.0], [2.0], [-3.0], [0.5]])
    said = "Each row is the expected one times a number of its own"
    assert said in cases(SQUARE, SQUARE * rows, (SQUARE, SQUARE * rows[::-1])).means
    assert said not in cases(SQUARE, SQUARE * rows, (SQUARE, SQUARE**2 / 9)).means
    hidden = np.tril(SQUARE)
    assert said in cases(hidden, hidden * rows, (hidden, hidden * rows[::-1])).means
    assert said not in cases(hidden, SQUARE * rows, (hidden, hidden * rows)).means


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (lambda due: due[:2], "What is there is right; along the last axis but one it ends too early."),
        (lambda due: due[:, 2:], "What is there is right; along the last axis it begins too late."),
        (lambda due: np.hstack([due, due[:, :1] + 9]), "Along the last axis it begins with what is due;"),
        (lambda due: np.vstack([due[:2] - 9, due]), "Along the last axis but one it ends with what is due;"),
    ],
)
def test_of_a_result_of_another_length_it_is_said_what_it_holds(came, said):
    assert said in cases(SQUARE, came(SQUARE), (SQUARE * 2, came(SQUARE * 2))).means
    assert "along" not in cases(SQUARE, came(SQUARE), (SQUARE, came(SQUARE) + 1)).means.lower()


def test_a_mistake_of_another_shape_in_one_case_is_none():
    """With a batch of one, the first sentence alone and all sentences in one heap are the same."""
    one, two = SQUARE.reshape(1, 4, 4), SQUARE.reshape(2, 2, 4)
    questions = [Question("", Inputs(), x, {"first": Answer(x[0])}) for x in (one, 2 * one, two)]
    answers = [Answer(q.expected.reshape(-1, 4)) for q in questions]
    known = [Misconception("first", "Only the first sentence.", "")]
    assert judge(questions[:2], answers[:2], Rules(), known).misconception == "first"
    assert judge(questions, answers, Rules(), known).misconception is None


def test_digits_lost_are_no_numbers_in_other_places():
    wanted = np.sin(np.arange(60.0).reshape(10, 6) * 0.1)
    got = np.sin((np.arange(60.0).reshape(10, 6) * 0.1).astype(np.float32)).astype(np.float64)
    far = np.sin(1e4 * wanted), np.sin((1e4 * wanted).astype(np.float32)).astype(np.float64)
    finding = cases(wanted, got, far)
    assert finding.misconception == "precision-lost-on-the-way", finding.message
    assert "other places" not in finding.message
    assert "other places" in cases(SQUARE, SQUARE.ravel()[[2, 0, 1, *range(3, 16)]].reshape(4, 4)).means
    # What is far off somewhere is no matter of digits.
    assert cases(wanted, got, (wanted, wanted * 1.2)).misconception is None


def test_a_mistake_that_is_right_in_a_case_does_not_explain_why_the_answer_fails_in_it():
    """Within float32's digits an answer in float32 agrees with any mistake that makes no difference here."""
    known = Misconception("overflows", "You took the exponential of all.", "Why?")
    due = np.array([0.25, 0.75])
    asked = [Question("", Inputs(), due * n, {"overflows": Answer(due * n)}) for n in range(1, 5)]
    asked.append(Question("", Inputs(), due, {"overflows": Answer(due * np.nan)}))
    answers = [Answer((q.expected * (1 + 1e-6)).astype(np.float32)) for q in asked]
    finding = judge(asked, answers, Rules(), [known])
    assert finding.misconception == "lower-precision"
    answers[4] = Answer(due * 3)
    assert judge(asked, answers, Rules(), [known]).misconception is None


def test_which_of_several_values_are_right_is_said():
    due = (np.ones(3), np.arange(4.0), np.eye(3))
    finding = cases(due, (due[0], due[1] ** 2 + 1, due[2]), (due, (due[0], due[1] * 0.3 + 2, due[2])))
    assert "Right in every case are the first and third." in finding.means
    finding = cases(due, (due[0], due[1] ** 2 + 1, due[2]), (due, (due[0] * 2, due[1] + 1, due[2])))
    assert "Right in every case is the third." in finding.means


def test_a_count_that_is_a_multiple_says_so():
    assert "Here it is 8 times as large as it should be." in cases(1000, 8000, (999, 5)).means
    assert "Here it is 4 times too small." in cases(4096, 1024, (1, 5)).means
    assert "times" not in cases(4, 8, (1, 5)).means  # the number of a token, say


def test_whether_most_of_a_formula_is_right_is_said():
    rng = np.random.default_rng(7)
    due = [rng.normal(size=(4, 5)) for _ in range(6)]
    noise = [rng.normal(size=(4, 5)) for _ in range(6)]
    near = [(a, a + 0.1 * b) for a, b in zip(due, noise, strict=True)]
    assert "most of the formula is right" in cases(*near[0], *near[1:]).means
    far = list(zip(due, noise, strict=True))
    assert "Yours do not rise and fall with what is due" in cases(*far[0], *far[1:]).means
    between = [(a, a + 2 * b) for a, b in zip(due, noise, strict=True)]
    assert "rise and fall" not in cases(*between[0], *between[1:]).means
    singles = [(float(n), n + 0.1 * (-1) ** n) for n in range(1, 8)]
    assert "most of the formula is right" in cases(*singles[0], *singles[1:]).means


def test_an_error_in_a_few_cases_is_put_into_words_and_gives_no_name():
    asked = [Question("", Inputs(), np.ones(3) * n, {}) for n in range(1, 6)]
    answers = [Answer(error="IndexError: index 517 is out of bounds for axis 0 with size 64")]
    answers += [Answer(np.array([1.0, 5.0, -2.0]) * n) for n in range(2, 6)]
    finding = judge(asked, answers, Rules(), [])
    assert "place 517 along axis 0, which has only 64" in finding.means
    assert finding.misconception is None


def test_of_one_number_alone_anything_is_a_function():
    """1 where 0 is due is no exponential."""
    asked = [Question("", Inputs((n,)), 0.0, {}) for n in range(4)]
    assert judge(asked, [Answer(1.0, "float")] * 4, Rules(), []).means.find("exponential") == -1
    asked = [Question("", Inputs((n,)), float(n), {}) for n in range(4)]
    assert (
        "exponential"
        in judge(asked, [Answer(float(np.exp(n)), "float") for n in range(4)], Rules(), []).message
    )


def test_what_differs_and_is_0_is_said_to_be():
    due = np.arange(1.0, 13.0).reshape(3, 4)
    asked = [Question("", Inputs((k,)), due * k, {}) for k in (1, 2)]
    came = [Answer(due * k * [1, 0, 1, 0]) for k in (1, 2)]
    means = judge(asked, came, Rules(), []).means
    assert means == "Every second column is right, the first among them. What differs is 0 in your result."


def test_a_module_that_is_not_imported_is_said_to_be_one():
    answer = Answer(None, "error", "NameError: name 'math' is not defined", line="2: math.exp(1)", within="f")
    found = judge([Question("", Inputs(), 1.0, {})], [answer], Rules(), [], "f")
    assert "`import math` has to come before it is used" in found.means


def test_a_mistake_that_gives_half_of_the_wrong_results_explains_none():
    rng = np.random.default_rng(2)
    due = [rng.normal(size=(3, 4)) for _ in range(4)]
    known = Misconception("cubed", "You cubed it.", "Why?")
    asked = [Question("", Inputs((x,)), x, {"cubed": Answer(x**3)}) for x in due]
    came = [Answer(x**3 if i < 2 else rng.normal(size=x.shape)) for i, x in enumerate(due)]
    assert judge(asked, came, Rules(), [known]).misconception is None
    came[2] = Answer(due[2] ** 3)
    most = judge(asked, came, Rules(), [known])
    assert most.misconception == "cubed" and most.partly
    assert most.means.startswith("In 3 of 4 cases that fail")


def test_a_single_number_in_an_array_is_no_array_of_another_shape():
    assert first_difference(np.ones(2), Answer(np.array(3.0)), Rules()).kind == "type"


def test_what_was_found_right_before_is_not_compared_again():
    asked = [Question("", Inputs(), 1.0, {})] * 2
    assert judge(asked, [Answer(2.0, "float"), Answer(1.0, "float")], Rules(), [], "f", 1).right == (
        True,
        True,
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((3, 1), "more than one row in the first array"),
        ((3, 2), "more rows in the first array than in the second"),
        ((2, 3), "more rows in the second array than in the first"),
        ((3, 3), "two arrays of the same shape"),
    ],
)
def test_how_many_rows_two_arrays_have_is_what_is_special_in_a_case(rows, said):
    given = Inputs(tuple(np.ones((n, 4)) for n in rows))
    told = [one for one in features(Question("", given, None, {})) if "array" in one]
    assert told == [said]
