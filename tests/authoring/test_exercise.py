"""Definitions of an exercise: what is refused, how its cases are drawn, and what parts are worth."""

import numpy as np
import pytest
from small_lab import lab_of

from autograder.authoring import Exercise, inputs, result
from autograder.authoring.exercise import ExerciseError


@pytest.mark.parametrize(
    ("points", "is_right"),
    [
        (0, True),
        (2.5, True),
        (True, False),
        (float("inf"), False),
        (float("nan"), False),
        (-1, False),
    ],
)
def test_the_points_of_an_exercise_are_a_number(points, is_right):
    if is_right:
        assert Exercise("answer", points=points).points == points
        return
    with pytest.raises(ExerciseError, match=r"a number of 0 or more is expected\."):
        Exercise("answer", points=points)


def inner(x):
    return x


def make_inner_function():
    def nested_function(x):
        return x

    return nested_function


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"compare": lambda a, b: True}, "is no function of a module"),
        ({"compare": make_inner_function()}, "is no function of a module"),
        ({"view": 3}, "answer: 3 is no function of a module"),
        ({"builds_on": ["softmax"]}, "builds_on holds 'softmax'; an Exercise is expected"),
        ({"parts": {"a": 1, "b": -0.5}}, "its parts have 0.5 points, and the exercise has 2"),
        ({"parts": {"a": 2, "b": 0.1}}, "its parts have 2.1 points, and the exercise has 2"),
    ],
)
def test_a_wrong_option_is_named(options, sentence):
    with pytest.raises(ExerciseError, match=sentence):
        Exercise("answer", points=2, **options)
    assert Exercise("answer", points=2, equality=inner).rules.equality == f"{__name__}:inner"


@pytest.mark.parametrize(
    ("options", "draw", "sentence"),
    [
        ({"magnitudes": 1.0}, lambda rng: 0, "magnitudes is 1.0; a tuple is expected"),
        ({"dtypes": "float32"}, lambda rng: 0, r"dtypes is 'float32'; a tuple .* \('float32',\)"),
        ({}, lambda rng, n: 0, "takes n after rng; its sizes and flags are none"),
        ({"sizes": {"n": (1, 2)}}, lambda rng: 0, "takes nothing after rng; its .* flags are n"),
    ],
)
def test_a_wrong_domain_is_named(options, draw, sentence):
    with pytest.raises(ExerciseError, match=sentence):
        Exercise("answer", points=1).domain(**options)(draw)


@pytest.mark.parametrize("first", [True, False])
def test_an_exercise_has_one_domain(first):
    exercise = Exercise("answer", points=1)
    exercise.domain(proposed=first, layouts=False)(lambda rng: inputs(1))
    assert bool(exercise.proposed_domain) == first and bool(exercise.declared_domain) != first
    assert (exercise.proposed_domain or exercise.declared_domain).layouts is False
    with pytest.raises(ExerciseError, match="answer has two domains; only one is allowed"):
        exercise.domain(proposed=True)(lambda rng: inputs(1))


def draw_in_helper(rng):
    return raise_value_error()


def raise_value_error():
    raise ValueError("What is this?")


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda rng: 3, r"the case 'a' must return `inputs\(…\)`, but returns an int\."),
        (lambda rng: inputs(1).query(2), r"`\.query\(…\)` is to hold what is asked of `result`"),
        (lambda rng: inputs(1).query(result(2)), 'with call="figure" no result is asked'),
        (lambda rng: inputs(object()), "an argument that cannot be given to an answer: .*object"),
        (draw_in_helper, rf"\(line {raise_value_error.__code__.co_firstlineno + 1}\) raises ValueError: What is this\?$"),
        (lambda rng: rng.none, r"raises AttributeError: .* attribute 'none'\.$"),
    ],
)  # fmt: skip
def test_a_wrong_case_is_named(draw, sentence):
    call = "figure" if "figure" in sentence else "function"
    exercise = lab_of(lambda x: x, call=call).exercises["answer"]
    exercise.case("a")(draw)
    with pytest.raises(ExerciseError, match=sentence):
        exercise.draw()
    with pytest.raises(ExerciseError, match="two cases are called 'a'"):
        exercise.case("a")


def test_the_cases_that_students_see_are_the_same_and_others_depend_on_the_seed():
    def draw_labels_and_numbers(exercise, seed):
        rows = []
        for label, case, edge in exercise.draw(seed):
            rows.append((label, case.memory, edge and edge[0], float(case.args[0].sum())))
        return rows

    def make_exercise(name="answer"):
        exercise = Exercise(name, points=1)
        draw = exercise.case("shown", memory=7)(lambda rng: inputs(rng.normal(size=2)))
        exercise.case("kept", hidden=True)(draw)
        exercise.case("last")(draw)
        domain = exercise.domain(sizes={"n": (1, 3)}, layouts=False)
        domain(lambda rng, n: inputs(rng.normal(size=n)))
        return exercise

    exercise = make_exercise()
    seen = draw_labels_and_numbers(exercise, None)
    shown = [("shown", 7, None), ("last", None, None)]
    edges = [(f"n = {n}", None, "n") for n in (1, 2, 3)]
    assert [row[:3] for row in seen] == [*shown, *edges]
    assert seen == draw_labels_and_numbers(make_exercise(), None)
    assert seen != draw_labels_and_numbers(make_exercise("other"), None)
    graded = draw_labels_and_numbers(exercise, 5)
    corners = [(f"all sizes {size}", None, f"all sizes {size}") for size in ("smallest", "large")]
    assert [row[:3] for row in graded] == [*shown, *edges, *corners, ("kept", None, None)]
    numbers = [row[3] for row in seen + graded + draw_labels_and_numbers(exercise, 6)]
    assert len({*numbers}) == len(numbers)


def test_only_the_hidden_cases_are_hidden():
    exercise = lab_of(lambda x: x + 1, lambda rng: inputs(1)).exercises["answer"]
    assert exercise.hidden_test_cases() == []
    for number in (2, 3):
        exercise.case(f"hidden {number}", hidden=True)(lambda rng, n=number: inputs(n))
    cases = exercise.hidden_test_cases()
    assert [(case.label, case.expected) for case in cases] == [("hidden 2", 3), ("hidden 3", 4)]


def raise_late(x):
    if x < 0:
        raise ValueError("x is negative")
    print("printed", x)
    return x


@pytest.mark.parametrize(
    ("options", "number", "expected"),
    [
        ({}, 2, 2),
        ({"returns": "printed"}, 2, "printed 2\n"),
        ({"raises": ValueError, "error_text": "negative"}, -1, ("ValueError", "negative")),
        ({"raises": ValueError, "error_text": "small"}, -1, "does not raise as its case 'a' says"),
        ({"raises": KeyError}, -1, "does not raise as its case 'a' says"),
        ({"raises": ValueError}, 1, "does not raise as its case 'a' says"),
        ({}, -1, "raises ValueError: x is negative in its own case 'a'"),
    ],
)
def test_the_expected_value_is_what_the_reference_gives(options, number, expected):
    rules = {"returns": options.pop("returns")} if "returns" in options else {}
    exercise = lab_of(raise_late, **rules).exercises["answer"]
    exercise.case("a", **options)(lambda rng: inputs(number))
    assert exercise.expects_error("a") is ("raises" in options)
    if isinstance(expected, str) and "case" in expected:
        with pytest.raises(ExerciseError, match=expected):
            exercise.test_cases()
        return
    (case,) = exercise.test_cases()
    value = case.expected
    if options:
        value = (value.type, value.part)
    assert value == expected


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (lambda x: iter(x), r"returns an? .*iterator in its own case .* Say what is asked of it"),
        (lambda x: np.array([object()]), "returns an ndarray.* in its own case 'case 0'.$"),
        (lambda x: undefined_name, "NameError.*If a cell without the tag `setup` defines it"),  # noqa: F821
        (lambda x: x.sort(), "changes its argument 'x'"),
        (lambda: 1, "the arguments of the case 'case 0' do not fit"),
    ],
)
def test_a_reference_without_a_usable_result_is_named(reference, sentence):
    exercise = lab_of(reference, lambda rng: inputs([2, 1])).exercises["answer"]
    with pytest.raises(ExerciseError, match=sentence):
        exercise.test_cases()


def test_a_reference_stays_within_the_memory_of_a_case():
    exercise = lab_of(lambda x: np.ones(300_000).sum() + x).exercises["answer"]
    exercise.case("small", memory=1_000_000)(lambda rng: inputs(1))
    with pytest.raises(
        ExerciseError, match=r"holds 2.4 MB in its own case 'small', which allows 1"
    ):
        exercise.test_cases()
    roomy = lab_of(exercise.reference).exercises["answer"]
    roomy.case("large", memory=9_000_000)(lambda rng: inputs(1))
    assert len(roomy.test_cases()) == 1


def test_slips_of_two_lists_make_pairs_of_one_list_each():
    exercise = lab_of(lambda x: x, lambda rng: inputs(rng.normal(size=9))).exercises["answer"]
    names = "first: A. Hint: B?\nsecond: C. Hint: D?\nthird: E. Hint: F?"
    slips = exercise.slips(names)(lambda slip, x: x + slip.first + 2 * slip.second + 4 * slip.third)
    exercise.slips("other: G. Hint: H?")(lambda slip, x: x * slip.choose(1, other=3))
    by_name = {misconception.name: misconception for misconception in exercise.misconceptions}
    assert [*by_name] == ["first", "second", "third", "other"] and callable(slips)
    exercise.combined_misconception(by_name["second"].function, by_name["first"].function)(
        lambda x: x + 3
    )
    assert [pair.name for pair in exercise.make_slip_pairs()] == ["first + third", "second + third"]
    assert exercise.find_misconception("first + third").means.endswith(" A. E.")
    assert exercise.find_misconception("second + first").function(1) == 4
    for name in (None, "", "none", "first + none", "first + second + third"):
        assert exercise.find_misconception(name) is None, name
    assert [function(5) for function in exercise.functions_without_slip] == [5, 5]
    assert any(exercise.predict_slip_pairs())
    exercise.rules = exercise.rules.__class__(equality=f"{__name__}:inner")
    assert exercise.predict_slip_pairs() == [{}]


def test_the_share_of_right_parts_is_at_most_everything():
    exercise = Exercise("answer", points=4, parts={"a": 1, "b": 2})
    for parts, share in (([], 0), (["a"], 0.25), (["a", ""], 0.5), (["a", "b", ""], 1)):
        assert exercise.compute_partial_share(parts) == share
    exercise.points = 2  # the course has changed them
    assert exercise.compute_partial_share(["a", "b"]) == 1
    exercise.points = 0
    assert exercise.compute_partial_share(["a"]) == 0
    assert Exercise("answer", points=1).list_passed_parts([], []) == []
