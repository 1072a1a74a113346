"""Changes of form that explain a wrong answer: each is named in full, beside a known mistake too, and never by chance."""

import numpy as np
import pytest

from autograder.judging.answer import ask
from autograder.judging.judge import judge
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Answer, Inputs, Misconception, Question, Rules

SHAPES = [(2, 3, 4), (3, 2, 5), (1, 4, 3), (3, 3, 3)]
KNOWN = [
    Misconception("halved", "You halved it.", "Why?", lambda x: x.cumsum(axis=-1) / 2),
    Misconception("no-minus", "The minus is missing.", "Which sign?", lambda x: -x.cumsum(axis=-1) + 1),
]


def right(x):
    return x.cumsum(axis=-1)


def drawn(shapes=SHAPES):
    rng = np.random.default_rng(5)
    return [Inputs((rng.normal(size=shape),)) for shape in shapes]


def judged(answer, due=right, given=None, known=KNOWN):
    given = drawn() if given is None else given
    asked = [
        Question("", one, ask(due, one).value, {m.name: ask(m.function, one) for m in known}) for one in given
    ]
    return judge(asked, [ask(answer, one) for one in given], Rules(), known, "answer")


@pytest.mark.parametrize(
    ("answer", "name", "said"),
    [
        (lambda x: -right(x), "other-sign", "Every number has the other sign"),
        (lambda x: 3 * right(x), "times-a-constant", "Every number is 3 times the one expected."),
        (
            lambda x: right(x) / x.shape[-1] ** 0.5,
            "times-a-size",
            "is 1/√n times the one expected, where n is `shape[-1]` of the first argument",
        ),
        (lambda x: right(x) * x.shape[0], "times-a-size", "is n times the one expected, where n is `shape[-3]`"),
        (lambda x: right(x) + 1, "plus-a-constant", "too large by 1."),
        (lambda x: right(x)[..., ::-1], "in-reverse-order", "along the last axis they stand in the opposite"),
        (lambda x: np.roll(right(x), 1, axis=-2), "one-place-off", "along the last axis but one each stands one"),
        (lambda x: right(x)[..., :-1], "one-place-short", "the last place along the last axis is missing"),
        (lambda x: right(x) * (np.arange(x.shape[-1]) > 0), "places-left-empty", "the first place holds 0"),
        (lambda x: np.swapaxes(right(x), 0, 1), "axes-exchanged", "have changed places"),
        (lambda x: right(x).transpose(1, 2, 0), "axes-exchanged", "the axes 1, 2 and 0 of what is due"),
        (lambda x: right(x)[:, -1], "one-of-several", "Only the last place along the last axis but one"),
        (lambda x: right(x).sum(axis=0), "an-axis-added-up", "added up along the last axis but two"),
        (lambda x: np.repeat(right(x)[:1], len(x), 0), "the-first-for-all", "again and again"),
        (lambda x: np.exp(right(x)), "a-step-too-many", "are the exponentials of those that are due"),
        (lambda x: -right(x) / 2, "halved + other-sign", "You halved it. Besides, every number has the other"),
        (lambda x: right(x)[0] / 2, "halved + one-of-several", "You halved it. Besides, only the first place"),
    ],
)  # fmt: skip
def test_a_form_is_named_and_said(answer, name, said):
    finding = judged(answer)
    assert finding.misconception == name, finding.message
    assert said in finding.means
    assert finding.nudge


@pytest.mark.parametrize(
    ("turned", "name", "said"),
    [
        (np.transpose, "transposed", "Besides, rows and columns have changed places."),
        (lambda x: x[..., None], "extra-axis", "Besides, there is an axis of length 1 too many."),
    ],
)
def test_a_matrix_in_another_form_beside_a_known_mistake(turned, name, said):
    finding = judged(lambda x: turned(right(x) / 2), given=drawn([(2, 3), (4, 3), (3, 5)]))
    assert (finding.misconception, finding.means) == (
        f"halved + {name}",
        f"Two things at once. You halved it. {said}",
    )


def test_parts_in_another_order_and_one_part_alone():
    def due(x):
        return x, x.sum(axis=-1), x.T

    finding = judged(lambda x: (x.T, x, x.sum(axis=-1)), due, known=[])
    assert finding.misconception == "parts-in-another-order"
    assert "the third, then the first, then the second of those that are due" in finding.means
    assert judged(lambda x: [x.T, x, x.sum(axis=-1)], due, known=[]).misconception == "parts-in-another-order"
    finding = judged(lambda x: (x, -x.sum(axis=-1), x.T), due, known=[])
    assert finding.misconception == "other-sign"
    assert finding.means.startswith("All is right but the second of the 3 values.")
    finding = judged(lambda x: (x, x.sum(axis=-1), x.T / x.shape[-1]), due, known=[])
    assert finding.misconception == "times-a-size"
    assert "the third of the 3 values. There: Every number is 1/n times" in finding.means


def test_one_minus_it():
    finding = judged(lambda x: 1 - right(x), known=[])
    assert (finding.misconception, finding.means) == (
        "one-minus-it",
        "Your numbers are 1 minus those that are due.",
    )


def test_booleans_the_other_way_round():
    finding = judged(lambda x: x <= 0, lambda x: x > 0, known=[])
    assert finding.misconception == "the-other-way-round"


def test_single_numbers_by_a_factor():
    given = [Inputs((n, n * n - 1)) for n in (2, 3, 5, 7)]
    finding = judged(lambda n, m: 2 * n * m, lambda n, m: n * m, given, [])
    assert (finding.misconception, finding.means) == (
        "times-a-constant",
        "Your number is 2 times the one expected.",
    )
    finding = judged(lambda n, m: n * n * m, lambda n, m: n * m, given, [])
    assert "is n times the one expected, where n is the first argument" in finding.means


def test_what_fits_few_numbers_or_not_every_case_is_no_form():
    assert judged(lambda x: -right(x), given=drawn([(1, 2), (2, 1)]), known=[]).misconception is None
    one_case = judged(lambda x: -right(x) if x.shape[0] == 2 else right(x), known=[])
    assert one_case.misconception is None
    often = judged(lambda x: -right(x) if x.shape[0] > 1 else right(x), known=[])
    assert often.misconception is None
    assert judged(lambda x: right(x) * len(x) + (len(x) > 2), known=[]).misconception is None


def test_a_known_mistake_where_it_runs_and_an_error_elsewhere():
    def answer(x):
        return right(x) / 2 if x.shape[-1] > 3 else np.ones(2) + np.ones(3)

    finding = judged(answer)
    assert finding.misconception == "halved + shapes-that-do-not-broadcast"
    assert finding.means.startswith(
        "Where your function runs to its end: You halved it. In 2 cases it raises"
    )

    def seldom(x):
        return right(x) / 2 if x.shape[0] == 1 else np.ones(2) + np.ones(3)

    given = drawn([(1, 4, 3), (1, 3, 3), *[(2, 3, 4)] * 7])
    assert judged(seldom, given=given).misconception == "shapes-that-do-not-broadcast"


def test_two_at_once_are_named_for_all_cases_only():
    pair = Misconception("a + b", "Two things at once.", "Why?", lambda x: right(x) / 4)
    assert judged(lambda x: right(x) / 4, known=[pair]).misconception == "a + b"
    mostly = judged(lambda x: right(x) / 4 if len(x) > 1 else x + 1, known=[pair])
    assert mostly.misconception is None


def test_every_form_has_its_sentences():
    for name in (
        "other-sign",
        "times-a-size",
        "parts-in-another-order",
        "one-of-several",
        "places-left-empty",
    ):
        assert all(text.endswith((".", "!", "?")) for text in STRUCTURAL[name])


def test_an_answer_that_is_no_array_is_no_form_and_no_error():
    for value in (None, 1.0, "text", [[1, 2]], {"a": 1}, np.ones(0), np.array([np.nan] * 9)):
        finding = judged(lambda x, value=value: value)
        assert finding.misconception is None or finding.misconception in STRUCTURAL
    assert judge([Question("", Inputs(), 1.5, {})] * 3, [Answer(np.ones(4))] * 3, Rules(), []).means == ""
