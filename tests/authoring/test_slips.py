"""Test an exercise's list of slips: misconceptions from switches of one function."""

import numpy as np
import pytest
from sample_class import wrong_answer
from small_lab import lab_of

from autograder.authoring import inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_lab
from autograder.authoring.skeleton import write_course
from autograder.authoring.slips import SlipListError, SlipSwitches, read_slip_list
from autograder.authoring.verify import find_lab_weaknesses
from autograder.core.course import read_course
from autograder.values.common_mistakes import MISTAKES

SLIPS = """
    no_scale: You did not divide by the root
        of d.
        Hint: What does the formula do last?
    sum_of_squares: You squared the numbers. Hint: Which power has x?

    returns_a_list
"""


def scale_with_slips(slip, x):
    if slip.sum_of_squares:
        x = x**2
    result = x / slip.choose(np.sqrt(x.size), no_scale=1)
    if slip.returns_a_list:
        return result.tolist()
    return result


def make_lab(text=SLIPS, function=scale_with_slips):
    lab = lab_of(lambda x: x / np.sqrt(x.size), lambda rng: inputs(rng.normal(size=5)))
    lab.exercises["answer"].slips(text)(function)
    return lab


def make_exercise(text=SLIPS, function=scale_with_slips):
    return make_lab(text, function).exercises["answer"]


def test_each_slip_is_a_misconception_with_its_sentences():
    first, second, mistake = make_exercise().misconceptions
    assert (first.name, first.means, first.nudge) == (
        "no-scale",
        "You did not divide by the root of d.",
        "What does the formula do last?",
    )
    assert second.name == "sum-of-squares"
    assert mistake.name == "returns-a-list"
    assert (mistake.means, mistake.nudge) == MISTAKES["returns-a-list"]


def test_each_function_makes_its_own_slips_and_no_others():
    first, second, mistake = (m.function for m in make_exercise().misconceptions)
    x = np.array([2.0, 3.0, 4.0, 5.0])
    assert first(x).tolist() == x.tolist()
    assert second(x).tolist() == (x**2 / 2).tolist()
    assert mistake(x) == (x / 2).tolist()


def test_a_slip_function_can_be_called_with_the_arguments_by_name():
    first = make_exercise().misconceptions[0].function
    assert first(x=np.ones(4)).tolist() == [1, 1, 1, 1]


def test_choose_gives_the_value_of_the_slip_that_is_made():
    slip = SlipSwitches({"a", "b"}, {"b"})
    assert slip.choose(1, a=2, b=3) == 3
    assert SlipSwitches({"a", "b"}).choose(1, a=2, b=3) == 1


def test_a_slip_that_the_list_does_not_name_is_refused_with_the_nearest_name():
    with pytest.raises(SlipListError, match="names no 'no_scal'; did you mean 'no_scale'"):
        _ = SlipSwitches({"no_scale"}).no_scal
    with pytest.raises(SlipListError, match="names no 'no_scal'"):
        SlipSwitches({"no_scale"}).choose(1, no_scal=2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no scale: You forgot it. Hint: What?", "the entry 'no scale: You forgot it. Hint: What?' cannot be read"),
        ("a: One. Hint: 1?\nb: Two. Hint: 2?\na + b", "the entry 'a + b' cannot be read"),
        ("a: One. Hint: 1? Hint: 2?", "the entry 'a' has two hints; write one."),
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_read_is_refused_with_the_entry(text, sentence):
    with pytest.raises(SlipListError) as refusal:
        read_slip_list(text)
    assert sentence in str(refusal.value)
    with pytest.raises(ExerciseError, match="answer: in a list of slips, the "):
        make_exercise(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no_scale: You forgot it.", "'no-scale' of the list of slips has no hint, which students"),
        ("no_scale: Hint: What?", "'no-scale' of the list of slips has no explanation"),
        ("no_scale: You forgot it.", "Write `name: Explanation. Hint: Question.`"),
        ("no_scale: A. Hint: B?\nno_scale: A. Hint: B?", "has a misconception 'no-scale' already"),
        ("returned_a_list", "no common mistake is called 'returned-a-list'"),
    ],
)
def test_an_entry_that_lacks_something_is_refused(text, sentence):
    with pytest.raises(ExerciseError, match=sentence):
        make_exercise(text)


def test_the_build_accepts_slips_that_are_all_wrong_in_their_own_way():
    assert find_lab_weaknesses(make_lab()) == []


def test_the_build_refuses_a_function_that_is_wrong_without_a_slip():
    weaknesses = find_lab_weaknesses(
        make_lab(function=lambda slip, x: scale_with_slips(slip, x) + 1)
    )
    assert any("is wrong even when it makes no slip. " in weakness for weakness in weaknesses)


def test_the_build_names_a_slip_that_the_function_asks_for_and_the_list_does_not_name():
    def scale_with_typo(slip, x):
        return scale_with_slips(slip, x) * slip.choose(1, no_scael=2)

    weaknesses = find_lab_weaknesses(make_lab(function=scale_with_typo))
    assert weaknesses == [
        "a-lab: answer: the function with slips 'scale_with_typo' cannot be used: the list of slips names "
        "no 'no_scael'; did you mean 'no_scale'?"
    ]


def test_a_typo_that_only_a_slip_reaches_is_named_with_the_slip():
    def scale_with_typo(slip, x):
        if slip.no_scale:
            return x * slip.choose(1, no_scael=2)
        return scale_with_slips(slip, x)

    (weakness, *_) = find_lab_weaknesses(make_lab(function=scale_with_typo))
    assert (
        "the misconception 'no-scale' cannot be made: the list of slips names no 'no_sca"
        in weakness
    )


def test_a_function_that_raises_without_a_slip_is_one_sentence():
    (weakness,) = find_lab_weaknesses(make_lab(function=lambda slip: 1))
    assert "raises TypeError: " in weakness
    assert weakness.endswith("Its arguments are `slip` and then those of the exercise.")


def test_a_slip_that_the_function_never_asks_for_is_named():
    weaknesses = find_lab_weaknesses(make_lab(f"{SLIPS}\n    forgotten: A. Hint: B?"))
    assert weaknesses == [
        "a-lab: answer: the misconception 'forgotten' is in the list of slips, and the function never "
        "asks for `slip.forgotten`."
    ]


def test_an_error_in_a_slip_gets_no_advice_that_a_list_cannot_follow():
    def raise_in_a_slip(slip, x):
        return x.nothing if slip.no_scale else scale_with_slips(slip, x)

    weaknesses = find_lab_weaknesses(make_lab(function=raise_in_a_slip))
    assert any("take it out of the list of slips" in weakness for weakness in weaknesses)


def test_a_slip_is_written_out_as_a_student_writes_it(tmp_path):
    write_course(tmp_path)
    path = tmp_path / "solutions/first-steps/mean_of_first_steps.py"
    text = path.read_text("utf-8")
    path.write_text(
        f"""{text}

def multiply(slip, result):
    return result * slip.choose(1, twice_as_much=2)


@mean_of_first_steps.slips('''
    twice_as_much: You doubled the mean. Hint: Where is a factor?
    never_made: You took another axis. Hint: Which axis?
''')
def with_slips(slip, x):
    result = mean_of_first_steps.reference(x)
    if len(x) > 3:
        if slip.never_made:
            result = 0
    if slip.twice_as_much:
        return multiply(slip, result)
    if slip.never_made:
        result = result - 1
    return result * slip.choose(1, never_made=3)
""",
        "utf-8",
    )
    exercise = read_lab(read_course(tmp_path), "first-steps").exercises["mean_of_first_steps"]
    doubled = next(m for m in exercise.misconceptions if m.name == "twice-as-much")
    source = wrong_answer(exercise, doubled)
    assert "return result * 2" in source
    names = dict(vars(exercise.solution))
    exec(source, names)
    numbers = np.arange(5.0)
    assert names["mean_of_first_steps"](numbers) == 2 * exercise.reference(numbers)
    assert "slip" not in source
    assert "result - 1" not in source
