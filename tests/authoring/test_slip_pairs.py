"""Test the pairs of slips, which an answer key recognises although the author lists only slips."""

import numpy as np
import pytest
from small_lab import lab_of

from autograder.authoring import inputs, slip_pairs
from autograder.authoring.slips import bind_slips
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.student.answer_key import encode_key, keys_are_equal, read_exercise_key
from autograder.values.case_records import Misconception, combine_misconceptions

SLIPS = """
    no_scale: You did not divide by the root of d. Hint: What does the formula do last?
    squared: You squared the numbers. Hint: Which power has x?
    negative: The sign is wrong. Hint: Which sign has the result?
"""
ROWS = 5


def scale_with_slips(slip, x):
    if slip.squared:
        x = x**2
    if slip.negative:
        x = -x
    return x / slip.choose(np.sqrt(x.size), no_scale=1)


def make_exercise(function=scale_with_slips, text=SLIPS, size=ROWS):
    lab = lab_of(lambda x: x / np.sqrt(x.size), lambda rng: inputs(rng.normal(size=size)))
    exercise = lab.exercises["answer"]
    exercise.slips(text)(function)
    return exercise


def list_pairs(exercise):
    predicted = exercise.predict_slip_pairs()
    return list(dict.fromkeys(name for outcomes in predicted for name in outcomes))


def write_and_read_key(exercise, folder):
    path = folder / "answer.key"
    path.write_bytes(encode_key(exercise))
    return read_exercise_key(path, "answer")


def test_a_key_recognises_every_two_slips_and_explains_both(tmp_path):
    exercise = make_exercise()
    assert list_pairs(exercise) == [
        "no-scale + squared",
        "no-scale + negative",
        "squared + negative",
    ]
    key = write_and_read_key(exercise, tmp_path)
    for answer, name in [
        (lambda x: x**2, "no-scale + squared"),
        (lambda x: -x, "no-scale + negative"),
        (lambda x: -(x**2) / np.sqrt(x.size), "squared + negative"),
        (lambda x: x, "no-scale"),
    ]:
        outcomes = [call_student_function(answer, case.inputs) for case in key.test_cases]
        finding = judge(key.test_cases, outcomes, key.rules, key.misconceptions)
        assert finding.misconception == name
    first, second = key.misconceptions[0], key.misconceptions[2]
    pair = next(m for m in key.misconceptions if m.name == "no-scale + negative")
    assert pair.means == f"There are two mistakes. {first.means} {second.means}"
    assert pair.nudge == first.nudge


def test_an_answer_that_is_right_in_one_case_has_no_pair_that_is_wrong_there(tmp_path):
    key = write_and_read_key(make_exercise(), tmp_path)
    case = next(case for case in key.test_cases if "no-scale + negative" in case.mistakes)

    def answer(x):
        return x / np.sqrt(x.size) if np.array_equal(x, case.inputs.args[0]) else -x

    outcomes = [call_student_function(answer, case.inputs) for case in key.test_cases]
    finding = judge(key.test_cases, outcomes, key.rules, key.misconceptions)
    assert finding.misconception != "no-scale + negative"


def replaces_the_other(slip, x):
    return slip.choose(x / np.sqrt(x.size), no_scale=x, squared=x**2, negative=-x)


def raises_with_two_slips(slip, x):
    if slip.squared and slip.negative:
        raise ValueError("the shapes do not fit")
    return scale_with_slips(slip, x)


def gives_nan_with_two_slips(slip, x):
    result = scale_with_slips(slip, x)
    return result * np.nan if slip.squared and slip.negative else result


def is_right_with_two_slips(slip, x):
    return x / np.sqrt(x.size) if slip.squared and slip.negative else scale_with_slips(slip, x)


def depends_on_the_last_digits(slip, x):
    result = scale_with_slips(slip, x)
    return (x * 3.1 - x * 3.1000001 + x * 1e-7) * 1e7 if slip.squared and slip.negative else result


def does_not_end_with_two_slips(slip, x):
    while slip.squared and slip.negative:
        pass
    return scale_with_slips(slip, x)


@pytest.mark.parametrize(
    "function",
    [
        raises_with_two_slips,
        gives_nan_with_two_slips,
        is_right_with_two_slips,
        depends_on_the_last_digits,
        does_not_end_with_two_slips,
    ],
)
def test_a_pair_that_no_answer_can_be_recognised_by_is_left_out(function):
    exercise = make_exercise(function)
    exercise.limits_calls = True
    exercise.lab.limits["call_seconds"] = 0.2
    assert list_pairs(exercise) == ["no-scale + squared", "no-scale + negative"]


def test_a_pair_that_gives_the_result_of_one_slip_is_left_out():
    assert list_pairs(make_exercise(replaces_the_other)) == []


def test_of_pairs_with_the_same_results_in_all_cases_the_first_is_kept():
    def function(slip, x):
        if slip.negative and (slip.no_scale or slip.squared):
            return x + 1
        return scale_with_slips(slip, x)

    assert list_pairs(make_exercise(function)) == ["no-scale + squared", "no-scale + negative"]


def test_pairs_with_the_same_results_in_a_small_case_are_told_apart_by_a_larger_one():
    size = slip_pairs.MIN_PAIR_NUMBERS

    def function(slip, x):
        if slip.negative and (slip.no_scale or slip.squared):
            return x + (1 if x.size < size + 2 or slip.squared else 2)
        return scale_with_slips(slip, x)

    cases = [draw_numbers(size), draw_numbers(size + 1), draw_numbers(size + 2)]
    lab = lab_of(lambda x: x / np.sqrt(x.size), *cases)
    exercise = lab.exercises["answer"]
    exercise.slips(SLIPS)(function)
    small, other, large = exercise.predict_slip_pairs()
    both = {"no-scale + negative", "squared + negative"}
    assert small.keys() == {*both, "no-scale + squared"}
    assert other.keys() == set()
    assert large.keys() == both


def test_a_pair_with_the_results_of_another_misconception_is_left_out():
    exercise = make_exercise()
    exercise.misconception(means="You returned the squares.", nudge="Which power?")(squares)
    assert list_pairs(exercise) == ["no-scale + negative", "squared + negative"]


def squares(x):
    return x**2


def roots(slip, x):
    with np.errstate(invalid="ignore"):
        return np.log(x) if slip.squared else scale_with_slips(slip, x)


def test_a_pair_may_give_nan_where_one_of_its_slips_does():
    assert list_pairs(make_exercise(roots)) == ["no-scale + negative"]

    def negative_roots(slip, x):
        return roots(slip, -x) if slip.negative else roots(slip, x)

    assert "squared + negative" in list_pairs(make_exercise(negative_roots))


def test_a_pair_is_told_from_one_slip_in_one_case_and_from_the_other_in_another():
    """One slip shows in short arguments only, the other in long ones."""

    def function(slip, x):
        scale = np.sqrt(x.size)
        if slip.no_scale and x.size < 4:
            scale = 1
        return -x / scale if slip.negative and x.size > 3 else x / scale

    lab = lab_of(
        lambda x: x / np.sqrt(x.size),
        lambda rng: inputs(rng.normal(size=3)),
        lambda rng: inputs(rng.normal(size=6)),
    )
    exercise = lab.exercises["answer"]
    text = "no_scale: A. Hint: B?\nnegative: C. Hint: D?"
    exercise.slips(text)(function)
    assert list_pairs(exercise) == ["no-scale + negative"]
    assert all(exercise.predict_slip_pairs()), "one case each"


def test_pairs_are_made_only_when_they_are_wanted(monkeypatch):
    """A course has tens of thousands; whoever reads it does not wait for them."""
    bound = []

    def record_slips(function, names, active, asked):
        bound.append(tuple(active))
        return bind_slips(function, names, active, asked)

    monkeypatch.setattr("autograder.authoring.exercise.bind_slips", record_slips)
    exercise = make_exercise()
    assert bound == [("no_scale",), ("squared",), ("negative",), ()]
    exercise.make_slip_pairs()
    assert bound[4:] == [
        ("no_scale", "squared"),
        ("no_scale", "negative"),
        ("squared", "negative"),
    ]


@pytest.mark.parametrize("in_order", [True, False])
def test_a_pair_that_the_author_has_combined_is_not_made_again(in_order):
    exercise = make_exercise()
    slips = [no_scale, squared] if in_order else [squared, no_scale]
    exercise.combined_misconception(*slips)(squares)
    names = [pair.name for pair in exercise.make_slip_pairs()]
    assert names == ["no-scale + negative", "squared + negative"]


def no_scale():
    """Name of a slip."""


def squared():
    """Name of a slip."""


def test_a_key_holds_a_pair_in_small_cases_only():
    size = slip_pairs.MAX_PAIR_CASE_NUMBERS
    assert list_pairs(make_exercise(size=size))
    assert list_pairs(make_exercise(size=size + 1)) == []


def test_a_key_holds_enough_results_of_a_pair_to_tell_it_from_others():
    size = slip_pairs.MIN_PAIR_NUMBERS // 2 + 1
    lab = lab_of(lambda x: x / np.sqrt(x.size), *[draw_numbers(size)] * 4)
    lab.exercises["answer"].slips(SLIPS)(scale_with_slips)
    predicted = lab.exercises["answer"].predict_slip_pairs()
    assert ["no-scale + squared" in outcomes for outcomes in predicted] == [
        True,
        True,
        False,
        False,
    ]


def test_whole_numbers_count_less_since_they_are_more_often_the_same_by_chance():
    size = slip_pairs.MIN_PAIR_NUMBERS // 2 + 1
    lab = lab_of(lambda x: x, *[lambda rng: inputs(rng.integers(2, 16, size=size))] * 4)
    lab.exercises["answer"].slips("twice: A. Hint: B?\nthrice: C. Hint: D?")(
        lambda slip, x: x * slip.choose(1, twice=2) * slip.choose(1, thrice=3)
    )
    assert all(lab.exercises["answer"].predict_slip_pairs())


def draw_numbers(size):
    return lambda rng: inputs(rng.normal(size=size))


def test_an_exercise_with_a_comparison_of_its_own_has_no_pairs():
    exercise = make_exercise()
    exercise.rules = type(exercise.rules)(equality="numpy:array_equal")
    assert list_pairs(exercise) == []


def test_a_pair_is_found_by_its_name_with_the_sentences_of_both():
    exercise = make_exercise()
    pair = exercise.find_misconception("no-scale + negative")
    assert pair.means == (
        "There are two mistakes. You did not divide by the root of d. The sign is wrong."
    )
    assert exercise.find_misconception("negative").means == "The sign is wrong."
    for name in (None, "", "unknown", "no-scale + unknown", "no-scale + squared + negative"):
        assert exercise.find_misconception(name) is None


def test_the_case_that_is_shown_shows_both_mistakes_if_one_does(tmp_path):
    """The second mistake shows in long arguments only, and the first case has a short one."""

    def function(slip, x):
        result = x / slip.choose(np.sqrt(x.size), no_scale=1)
        return -result if slip.negative and x.size > 4 else result

    lab = lab_of(lambda x: x / np.sqrt(x.size), *map(draw_numbers, (3, 4, 6, 7)))
    exercise = lab.exercises["answer"]
    exercise.slips("no_scale: A. Hint: B?\nnegative: C. Hint: D?")(function)
    key = write_and_read_key(exercise, tmp_path)
    (pair,) = exercise.make_slip_pairs()
    outcomes = [call_student_function(pair.function, case.inputs) for case in key.test_cases]
    finding = judge(key.test_cases, outcomes, key.rules, key.misconceptions)
    assert finding.misconception == pair.name
    assert finding.shown_case.test_case.label == "case 2"


TABLE = np.arange(1.0, ROWS + 1)


def test_a_pair_that_writes_into_an_array_of_the_notebook_is_left_out_and_changes_nothing():
    def function(slip, x):
        if slip.no_scale:
            x = TABLE
        if slip.squared:
            x *= 2
        return x / np.sqrt(x.size) * slip.choose(1, negative=-1)

    text = "no_scale: A. Hint: B?\nsquared: C. Hint: D?\nnegative: E. Hint: F?"
    assert list_pairs(make_exercise(function, text)) == [
        "no-scale + negative",
        "squared + negative",
    ]
    assert TABLE.tolist() == [1, 2, 3, 4, 5]
    assert TABLE.flags.writeable


def test_arrays_in_lists_and_mappings_are_protected_and_are_free_again_after_an_error():
    inner, shared, matrix = np.ones(2), np.ones(3), np.ones((2, 2))
    view = matrix.T
    values = [{"a": [inner]}, (shared, shared), view, "text", matrix, matrix[0]]
    with pytest.raises(ValueError, match="read-only"), slip_pairs.protect_arrays(values):
        assert not (inner.flags.writeable or shared.flags.writeable or view.flags.writeable)
        inner[0] = 2
    assert inner.flags.writeable
    assert shared.flags.writeable
    assert view.flags.writeable
    assert matrix.flags.writeable


def test_a_pair_with_a_result_of_a_type_that_neither_slip_gives_is_left_out():
    def function(slip, x):
        result = x.sum() if slip.summed else x / np.sqrt(x.size)
        return result.tolist() if slip.returns_a_list else result

    text = "summed: A. Hint: B?\nreturns_a_list"
    assert list_pairs(make_exercise(function, text)) == []


@pytest.mark.parametrize(("factor", "is_recognised"), [(1, False), (101, True)])
def test_pairs_with_few_small_whole_numbers_are_left_out_since_chance_may_give_them(
    factor, is_recognised
):
    """Two different mistakes often choose the same of a few tokens."""
    numbers = slip_pairs.FEWEST_NUMBERS
    cases = [lambda rng: inputs(int(rng.integers(2, 5)) * factor)] * numbers
    lab = lab_of(lambda x: x, *cases)
    lab.exercises["answer"].slips("more: A. Hint: B?\nless: C. Hint: D?")(
        lambda slip, x: x + slip.choose(0, more=2) - slip.choose(0, less=5)
    )
    assert any(lab.exercises["answer"].predict_slip_pairs()) == is_recognised


def test_a_pair_says_that_no_numbers_are_right_and_names_a_mistake_of_form_last():
    form = Misconception(
        "extra-axis", "The numbers are right, but the array has an extra axis.", "A?"
    )
    sign = Misconception("negative", "The sign is wrong.", "B?")
    for pair in ([form, sign], [sign, form]):
        combined = combine_misconceptions(pair)
        assert combined.means == (
            "There are two mistakes. The sign is wrong. Besides, the array has an extra axis."
        )
        assert combined.nudge == pair[0].nudge


def test_two_mistakes_are_told_in_the_order_of_the_misconceptions():
    pair = [Misconception("b", "You square it.", "First?"), Misconception("a", "It is cut.", "")]
    combined = combine_misconceptions(pair)
    assert combined.means == "There are two mistakes. You square it. It is cut."
    assert (combined.name, combined.nudge) == ("b + a", "First?")


def test_a_key_with_the_pairs_of_the_old_key_is_the_same_and_searches_for_none(monkeypatch):
    old_key = encode_key(make_exercise())
    monkeypatch.setattr("autograder.authoring.exercise.predict_slip_pairs", None)
    assert keys_are_equal(old_key, encode_key(make_exercise(), old_key))


def test_a_changed_result_of_a_pair_makes_an_old_key_out_of_date():
    old_key = encode_key(make_exercise())

    def function(slip, x):
        result = scale_with_slips(slip, x)
        return result + 1 if slip.squared and slip.negative else result

    assert not keys_are_equal(old_key, encode_key(make_exercise(function), old_key))


def test_a_slip_that_is_gone_makes_an_old_key_out_of_date():
    old_key = encode_key(make_exercise())
    text = "\n".join(line for line in SLIPS.splitlines() if "negative" not in line)

    def function(slip, x):
        return (x**2 if slip.squared else x) / slip.choose(np.sqrt(x.size), no_scale=1)

    assert not keys_are_equal(old_key, encode_key(make_exercise(function, text), old_key))


def test_an_unreadable_old_key_is_made_anew():
    exercise = make_exercise()
    assert encode_key(exercise, b"no key") == encode_key(exercise)
