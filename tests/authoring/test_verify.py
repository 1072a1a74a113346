"""Test that a build refuses exercises that thoughtless answers pass, and wrong misconceptions."""

import builtins

import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from our_course import COURSE
from small_lab import lab_of

from autograder.authoring import Exercise, inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.verify import _makes_nan, find_lab_warnings, find_lab_weaknesses
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import TestCase


def draw_vector(rng):
    return inputs(rng.normal(size=4))


@pytest.mark.parametrize(
    ("reference", "cases", "rules", "words"),
    [
        (lambda x: None, [draw_vector], {}, "`pass`"),
        (lambda x: x, [draw_vector], {}, "argument 1 given back"),
        (lambda x: -np.abs(x), [lambda rng: inputs(-np.ones(3))], {}, "argument 1 given back"),
        (
            lambda x, y: max(x, y),
            [lambda rng: inputs(1, 2), lambda rng: inputs(3, 5)],
            {},
            "argument 2 given back",
        ),
        (lambda x=0, y=0: y, [lambda rng: inputs(1, y=2)], {}, "argument y given back"),
        (
            lambda x, y: (x, y),
            [lambda rng: inputs(np.ones(2), np.ones(3))],
            {},
            "all arguments given back",
        ),
        (lambda x: x * 0, [draw_vector], {}, "zeros of the right shape"),
        (lambda x: {"count": 0, "mean": [0.0]}, [draw_vector], {}, "zeros of the right shape"),
        (lambda x: print(), [draw_vector], {"returns": "printed"}, "`pass`"),
    ],
)
def test_an_exercise_that_a_thoughtless_answer_passes_is_refused(reference, cases, rules, words):
    (sentence,) = (s for s in find_lab_weaknesses(lab_of(reference, *cases, **rules)) if words in s)
    beginning = f"a-lab: answer: {words} is right in every case;"
    assert sentence.startswith(f"{beginning} add one in which it is not.")


def draw_zeros(rng):
    return inputs(np.zeros(3))


def draw_narrow(rng):
    return inputs(rng.normal(size=3).astype(np.float32))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("reference", "cases", "sentence"),
    [
        (lambda x: x / x, [draw_vector, draw_zeros], "gives NaN in the case"),
        (lambda x: float((x / x).sum()), [draw_vector, draw_zeros], "gives NaN in the case"),
        (lambda x: (1, [x / x]), [draw_vector, draw_zeros], "gives NaN in the case"),
        (
            lambda x: x * np.sqrt(2),
            [draw_vector, draw_narrow],
            "gets only float32 or float16 in the case",
        ),
    ],
)
def test_a_reference_with_unsound_results_is_refused(reference, cases, sentence):
    (mistake,) = find_lab_weaknesses(lab_of(reference, *cases))
    assert mistake.startswith(f"a-lab: answer: the reference {sentence}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("reference", "draw", "clause"),
    [
        (lambda x: x / x, draw_zeros, "gives NaN in the case 'hidden'"),
        (lambda x: x * np.sqrt(2), draw_narrow, "float16 in the case 'hidden'"),
    ],
)
def test_an_unsound_result_in_a_hidden_case_is_refused(reference, draw, clause):
    lab = lab_of(reference, draw_vector)
    lab.exercises["answer"].case("hidden", hidden=True)(draw)
    (mistake,) = find_lab_weaknesses(lab)
    assert clause in mistake


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("reference", "cases", "rules"),
    [
        (lambda x: x / x + x, [draw_vector, draw_zeros], {"allows_nan": True}),
        (lambda x: x * 2, [draw_vector, lambda rng: inputs(np.array([1.0, np.nan]))], {}),
        (lambda x: x * 2**0.5, [draw_vector, draw_narrow], {}),
        (lambda x, y: x * y, [lambda rng: inputs(np.full(2, 3, "f4"), rng.normal(size=2))], {}),
        (lambda x: np.argsort(x), [lambda rng: inputs(np.array([2, 1, 3], "f4"))], {}),
    ],
)
def test_a_reference_with_nan_on_purpose_or_the_dtype_of_its_arguments_is_not_refused(
    reference, cases, rules
):
    assert find_lab_weaknesses(lab_of(reference, *cases, **rules)) == []


@pytest.mark.parametrize(
    ("reference", "cases", "rules"),
    [
        (lambda x: -x, [draw_vector], {}),
        (lambda x: x if x.size > 3 else -x, [draw_vector, lambda rng: inputs(np.ones(2))], {}),
        (lambda x: print(len(x)), [draw_vector], {"returns": "printed"}),
    ],
)
def test_an_exercise_that_takes_some_thought_is_not_refused(reference, cases, rules):
    assert find_lab_weaknesses(lab_of(reference, *cases, **rules)) == []


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (lambda x: x.sort(), [3, 1, 2]),
        (lambda x: x.append(4), [1]),
        (lambda x: x.__setitem__(0, 1.0), [1]),
        (lambda x: x.__setitem__(0, "b"), ["a"]),
        (lambda x: x[0].sort(), [[2, 1]]),
        (lambda x: x.__setitem__("more", 1), {"a": 1}),
        (lambda x: x.__setitem__("a", 2), {"a": 1}),
        (lambda x: x["a"].reverse(), {"a": [1, 2]}),
        (lambda x: x.__setitem__(0, "no array"), [np.ones(2)]),
        (lambda x: x.fill(2), np.ones(2)),
        (lambda x: x[0].fill(2), (np.ones(2), 1)),
    ],
)
def test_work_in_place_is_refused_in_lists_and_mappings_too(change, argument):
    """Otherwise `pass` would be right: its result is None, too, and arguments are not judged."""
    lab = lab_of(change, lambda rng: inputs(argument))
    message = r"changes its argument .*let it work on a copy, and return that"
    with pytest.raises(ExerciseError, match=message):
        find_lab_weaknesses(lab)
    assert call_student_function(change, inputs(argument)).modified == ("x",)


def test_an_argument_that_is_only_read_is_not_changed():
    argument = [1, 2.0, "a", None, True, float("nan"), [np.ones(2)], {"a": (1,)}, np.float32]
    assert call_student_function(
        lambda x: sorted(map(str, x)), inputs(argument, np.array([np.nan]))
    ).error
    assert (
        call_student_function(lambda x, y: str(x), inputs(argument, np.array([np.nan]))).modified
        == ()
    )


def test_an_exercise_with_visible_cases_only_is_warned_about():
    three = [lambda rng, n=n: inputs(n) for n in range(3)]
    (sentence,) = find_lab_warnings(lab_of(lambda x: x + 1, *three))
    assert sentence.startswith(
        "a-lab: every case of answer is one that students see, so a table of these answers"
    )

    def random_case(rng):
        return inputs(int(rng.integers(1000)))

    assert find_lab_warnings(lab_of(lambda x: x + 1, *three, random_case)) == []
    lab = lab_of(lambda x: x + 1, *three)
    domain = lab.exercises["answer"].domain(sizes={"n": (1, 60)})
    domain(lambda rng, n: inputs(int(rng.integers(1000)) + n))
    assert find_lab_warnings(lab) == []


def test_a_proposed_domain_is_warned_about_and_not_what_it_would_mend():
    lab = lab_of(lambda x: x + 1, lambda rng: inputs(1), lambda rng: inputs(2))
    domain = lab.exercises["answer"].domain(sizes={"n": (1, 60)}, proposed=True)
    domain(lambda rng, n: inputs(n))
    (sentence,) = find_lab_warnings(lab)
    assert sentence.startswith(
        "a-lab: the domain of answer is proposed, and no answer is tested in"
    )


def test_a_cell_that_uses_an_answer_without_ready_is_named():
    lab = lab_of(lambda x: x + 1, lambda rng: inputs(int(rng.integers(1000))))
    graded = {"nbgrader": {"grade_id": "test-answer", "grade": True}}
    lab.cells = [
        new_code_cell("check(answer)", id="test-answer", metadata=graded),
        new_code_cell("if ready(answer):\n    print(answer(1))", id="guarded"),
        new_code_cell("print('answer')", id="other"),
        new_markdown_cell("answer(1)", id="text"),
    ]
    assert find_lab_warnings(lab) == []
    lab.cells.append(new_code_cell("print(answer(1))", id="see"))
    (sentence,) = find_lab_warnings(lab)
    assert sentence.startswith("a-lab: the cell 'see' uses answer.")
    assert sentence.endswith("let it begin with `if ready(answer):`.")


@pytest.mark.long
def test_no_exercise_of_this_course_has_visible_cases_only_and_each_cell_asks_ready():
    labs = [lab for lab in read_labs(COURSE).values() if not lab.unavailable_reason()]
    assert [sentence for lab in labs for sentence in find_lab_warnings(lab)] == []


def find_weaknesses_with(function, reference=lambda x: -x, case=draw_vector, **options):
    """Return the weaknesses of an exercise with a further misconception."""
    lab = lab_of(reference, case)
    lab.exercises["answer"].misconception(means="m", nudge="n", **options)(function)
    return find_lab_weaknesses(lab)


def no_product(x):
    return x @ x[:, None].T @ x


def misspelt(x):
    return -xs if len(x) > 3 else x  # noqa: F821 - the mistake


def used_before_assignment(x):
    y = y + x  # noqa: F821
    return y


def works_in_edge_cases(x):
    return x if len(x) == 1 else no_product(x)


def twice(x):
    return 2 * x


@pytest.mark.parametrize(
    ("function", "error"), [(misspelt, "NameError"), (used_before_assignment, "UnboundLocalError")]
)
def test_a_misconception_with_an_accidental_error_is_refused(function, error):
    (sentence,) = find_weaknesses_with(function, case=lambda rng: inputs(rng.normal(size=4)))
    name = function.__name__.replace("_", "-")
    assert sentence.startswith(f"a-lab: answer: the misconception {name!r} raises {error}: ")
    advice = f"If this is the mistake, say `raises={error}`; else correct its code."
    assert sentence.endswith(advice)
    assert find_weaknesses_with(function, raises=getattr(builtins, error)) == []


def test_a_misconception_that_raises_in_every_case_must_declare_it():
    (sentence,) = find_weaknesses_with(no_product)
    assert sentence.startswith(
        "a-lab: answer: the misconception 'no-product' raises in every case, ValueError: "
    )
    advice = "If this is the mistake, say `raises=ValueError`; else correct its code."
    assert sentence.endswith(advice)
    assert find_weaknesses_with(no_product, raises=ValueError) == []
    (sentence,) = find_weaknesses_with(no_product, raises=TypeError)
    assert sentence.startswith("a-lab: answer: the misconception 'no-product' raises ValueError: ")
    assert sentence.endswith(f"and says `raises=TypeError`. {advice}")
    (sentence,) = find_weaknesses_with(twice, raises=TypeError)
    assert sentence == (
        "a-lab: answer: the misconception 'twice' says `raises=TypeError`, "
        "and raises it in no case; take it out."
    )


def test_the_error_of_the_first_case_is_quoted():
    lab = lab_of(lambda x: -x, draw_vector, lambda rng: inputs(rng.normal(size=7)))
    lab.exercises["answer"].misconception(means="m", nudge="n")(fail_with_size)
    (sentence,) = find_lab_weaknesses(lab)
    assert "'fail-with-size' raises in every case, KeyError: 4." in sentence


def fail_with_size(x):
    raise KeyError(x.size)


def test_a_result_in_an_edge_case_does_not_excuse_errors():
    lab = lab_of(lambda x: -x, draw_vector)
    answer = lab.exercises["answer"]
    answer.domain(sizes={"n": (1, 9)})(lambda rng, n: inputs(rng.normal(size=n)))
    answer.misconception(means="m", nudge="n")(works_in_edge_cases)
    message = "'works-in-edge-cases' raises in every case, ValueError"
    assert any(message in sentence for sentence in find_lab_weaknesses(lab))


def test_a_misconception_that_calls_an_exercise_for_its_function_is_refused():
    other_exercise = Exercise("softmax", points=1)
    (sentence,) = find_weaknesses_with(
        lambda x: other_exercise(x) if len(x) > 9 else -x - (len(x) < 9) * other_exercise(x)
    )
    assert "`softmax` is the exercise" in sentence and "`softmax.reference`" in sentence


def test_a_common_mistake_that_is_an_error_may_raise():
    lab = lab_of(lambda x: -x, draw_vector)

    def name_not_defined(x):
        return xs  # noqa: F821

    lab.exercises["answer"].common_mistake(name_not_defined)
    assert find_lab_weaknesses(lab) == []
    lab = lab_of(lambda x: -x, draw_vector)

    def transposed(x):
        return xs.T  # noqa: F821

    lab.exercises["answer"].common_mistake(transposed)
    assert any("'transposed' raises NameError" in sentence for sentence in find_lab_weaknesses(lab))


def test_a_pair_may_raise_the_error_of_one_misconception():
    lab = lab_of(lambda x: -x, draw_vector)
    answer = lab.exercises["answer"]
    answer.misconception(means="m", nudge="n", raises=ValueError)(no_product)
    answer.misconception(means="m", nudge="n")(twice)
    answer.combined_misconception(no_product, twice)(lambda x: np.ones(2) @ x)
    assert not any("raises" in sentence for sentence in find_lab_weaknesses(lab))


# Points for parts


def make_exercise_with_parts(points, parts, *cases):
    """Return an exercise `answer`, which doubles a number, with cases (label, number, part)."""
    exercise = lab_of(lambda x: 2 * x).exercises["answer"]
    exercise.points, exercise.parts = points, parts
    for label, number, part in cases:
        exercise.case(label, part=part)(lambda rng, number=number: inputs(number))
    return exercise


def test_a_wrong_answer_gets_the_points_of_its_right_parts():
    cases = [("two", 2, "small"), ("three", 3, "small"), ("ten", 10, "large"), ("zero", 0, "")]
    exercise = make_exercise_with_parts(10, {"small": 2, "large": 5}, *cases)
    exercise.check_parts()
    drawn_cases = exercise.test_cases()
    for correct, share in (
        ((True, True, True, True), 1.0),
        ((True, True, False, True), 0.5),
        ((True, False, True, True), 0.8),
        ((False, True, True, True), 0.8),
        ((True, True, True, False), 0.7),
        ((True, False, False, False), 0.0),
    ):
        right_parts = exercise.list_passed_parts(drawn_cases, correct)
        assert exercise.compute_partial_share(right_parts) == pytest.approx(share), correct


@pytest.mark.parametrize(
    ("points", "parts", "cases", "message"),
    [
        (3, {"a": 3}, [("two", 2, "")], 'no case has part="a"'),
        (3, {"a": 3}, [("two", 2, "a"), ("three", 3, "")], "cases of no part.* would cost nothing"),
        (3, {"a": 2}, [("two", 2, "a")], "1 of its 3 points belong to no part"),
        (3, {"a": 3}, [("two", 2, "b")], "belongs to the part 'b'; the parts are 'a'"),
        (
            3,
            {"a": 1, "b": 2},
            [("two", 2, "a"), ("two", 3, "b")],
            "two cases are called 'two'. Rename one.",
        ),
    ],
)
def test_points_of_parts_that_contradict_the_cases_are_refused(points, parts, cases, message):
    with pytest.raises(ExerciseError, match=message):
        find_lab_weaknesses(make_exercise_with_parts(points, parts, *cases).lab)


def test_parts_leave_points_for_the_edge_cases_of_a_domain():
    for points, message in ((3, "and edge cases of the domain, would cost nothing"), (4, "")):
        exercise = make_exercise_with_parts(points, {"a": 3}, ("two", 2, "a"))
        exercise.domain(sizes={"n": (1, 9)})(lambda rng, n: inputs(n))
        if message:
            with pytest.raises(ExerciseError, match=message):
                exercise.check_parts()
        else:
            exercise.check_parts()


@pytest.mark.parametrize("parts", [{"a": 2, "b": 2}, {"a": -1, "b": 2}])
def test_parts_have_no_more_points_than_their_exercise(parts):
    with pytest.raises(ExerciseError, match=r"its parts have . points, and the exercise has 3"):
        Exercise("answer", points=3, parts=parts)


@pytest.mark.parametrize(
    ("arguments", "expected", "makes_nan"),
    [
        (inputs(1.0), np.nan, True),
        (inputs(1.0), [1.0, np.array([0.0, np.nan])], True),
        (inputs(1.0), 1.0, False),
        (inputs(np.nan), np.nan, False),
        (inputs([1.0, np.array([np.nan])]), np.nan, False),
        (inputs(1.0, fill=np.nan), np.nan, False),
        (inputs(x=np.array([np.nan, 1.0])), np.nan, False),
    ],
)
def test_a_nan_is_made_only_where_no_argument_holds_one(arguments, expected, makes_nan):
    assert _makes_nan(TestCase("", arguments, expected, {})) == makes_nan
