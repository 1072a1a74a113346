"""Test functions as cases: calls are recorded with the answer and judged by replay."""

import itertools
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

from autograder.authoring import compare_by_test_function, inputs_for_test, run_test_function
from autograder.judging import function_tests
from autograder.judging.compare import compare_outcome
from autograder.judging.failure_patterns import list_features
from autograder.judging.function_tests import expect_error
from autograder.judging.student_calls import call_student_function
from autograder.student.check import answers
from autograder.values.case_records import ComparisonRules, Inputs, TestCase

RULES = ComparisonRules(
    call="autograder.judging.function_tests:run_test_function",
    compare="autograder.judging.function_tests:compare_by_test_function",
)

ADDS_UP = """def adds_up(weights, n):
    result = weights(n)
    assert len(result) == n
    assert abs(sum(result) - 1) < 1e-9, "they add up to 1"
"""
TURNS_BACK = """def back(turn):
    for x in (2, [1]):
        assert turn(turn(x)) == x
"""
BY_CALLS = """def by_calls(counter):
    up = counter(2)
    assert [up(3), up(4)] == [5, 6]
"""
EVEN = """def even(evens):
    from itertools import islice
    assert list(islice(evens(), 3)) == [0, 2, 4]
"""
ROOT = """def root(solve):
    x, steps = solve(lambda x: x * x - 2, 1.0)
    assert abs(x - 2 ** 0.5) < 1e-06 and steps < 10
"""
REFUSES = """def refuses(half):
    try:
        half(3)
        assert False, "3 has no half"
    except ValueError:
        pass
    assert half(4) == 2
"""


def find_root(f, x):
    low, high = x, x + 2
    for _ in range(60):
        low, high = ((low + high) / 2, high) if f((low + high) / 2) < 0 else (low, (low + high) / 2)
    return low, 5


def only_even(n):
    if n % 2:
        raise ValueError("odd")
    return n // 2


def judge_in_test(function, test, **values):
    """The judge's sentence on an answer in a case that is this test; None for a right one."""
    case_inputs = inputs_for_test(test, **values)
    answer = call_student_function(function, case_inputs, RULES.call)
    difference = compare_outcome([], answer, RULES, case_inputs)
    return difference and difference.observation


@pytest.mark.parametrize(
    ("test", "right", "wrong", "sentence"),
    [
        (
            ADDS_UP,
            lambda n: [1 / n] * n,
            lambda n: [1.0] * n,
            "`abs(sum(result) - 1) < 1e-09`. they add up to 1",
        ),
        (
            ADDS_UP,
            lambda n: np.ones(n) / n,
            lambda n: None,
            "`len(result) == n` cannot be evaluated",
        ),
        (TURNS_BACK, lambda x: x, lambda x: -x if x == 2 else [], "fails: `turn(turn(x)) == x`."),
        (
            BY_CALLS,
            lambda a: lambda b: a + b,
            lambda a: lambda b: b - a,
            "`[up(3), up(4)] == [5, 6]`.",
        ),
        (
            BY_CALLS,
            lambda a: lambda b: a + b,
            lambda a: a,
            "`[up(3), up(4)] == [5, 6]` cannot be evaluated",
        ),
        (
            EVEN,
            lambda: itertools.count(0, 2),
            lambda: iter([0, 2]),
            "`list(islice(evens(), 3)) == [0, 2, 4]`.",
        ),
        (ROOT, find_root, lambda f, x: (1.4, 3), "`abs(x - 2 ** 0.5) < 1e-06 and steps < 10`."),
        (REFUSES, only_even, lambda n: n // 2, "3 has no half"),
        (REFUSES, only_even, lambda n: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_any_answer_that_passes_a_test_is_right_and_a_failure_is_quoted(
    test, right, wrong, sentence
):
    values = {"n": 4} if test == ADDS_UP else {}
    assert judge_in_test(right, test, **values) is None
    assert sentence in judge_in_test(wrong, test, **values)


def test_a_case_without_a_test_is_compared_as_usual():
    case_inputs = Inputs((4,))
    assert compare_by_test_function(2, run_test_function(only_even, 4), 1e-7, case_inputs) is None
    sentence = compare_by_test_function(2, 3, 1e-7, case_inputs)
    assert sentence and "yours" not in sentence
    selection = Inputs((), {"only": ["x"]})
    variables = {"x": 1, "y": 2}
    assert run_test_function(lambda: variables, only=["x"]) == variables
    assert compare_by_test_function(variables, {"x": 1, "y": 99}, 1e-7, selection) is None
    assert compare_by_test_function(variables, {"x": 9, "y": 2}, 1e-7, selection)


@pytest.mark.parametrize(
    "events",
    [
        None,
        7,
        [],
        [7],
        [{}],
        [{"value": 1, "more": 2}],
        [{"end": True}],
        [{"raised": "exit"}],
        [{"raised": "\0"}],
    ],
)
def test_an_impossible_recording_passes_no_test(events):
    assert compare_by_test_function([], events, 1e-7, inputs_for_test(ADDS_UP, n=4))


def test_the_test_of_a_case_is_no_feature_of_it():
    assert list_features(TestCase("", inputs_for_test(ADDS_UP, n=4), None, {})) == ["`n=4`"]


def test_zeros_alone_pass_no_test():
    test = "def sums(parts):\n    a, b, c = parts(3)\n    assert a + b == c\n"
    case_inputs = inputs_for_test(test)
    expected = run_test_function(lambda n: (1, 2, n), **case_inputs.kwargs)
    assert (
        compare_by_test_function(
            expected, run_test_function(lambda n: (2, 3, 5), **case_inputs.kwargs), 0.0, case_inputs
        )
        is None
    )
    zeros = run_test_function(lambda n: (0, 0, 0), **case_inputs.kwargs)
    assert (
        compare_by_test_function(expected, zeros, 0.0, case_inputs)
        == "Zeros alone pass this test; they are not the expected result."
    )
    assert compare_by_test_function(zeros, zeros, 0.0, case_inputs) is None


def test_variables_of_the_notebook_are_taken_from_the_expected_ones():
    test = "def share(answer, whole):\n    part = answer()['part']\n    assert len(part) * 2 == len(whole)\n"
    case_inputs = inputs_for_test(test, as_due=["whole"])
    expected = run_test_function(
        lambda: {"part": [1, 2], "whole": [0, 1, 2, 3]}, **case_inputs.kwargs
    )
    assert compare_by_test_function(expected, expected, 0.0, case_inputs) is None
    student_events = run_test_function(lambda: {"part": [1], "whole": [0, 1]}, **case_inputs.kwargs)
    assert "fails: `len(part) * 2 == len(whole)`" in compare_by_test_function(
        expected, student_events, 0.0, case_inputs
    )


def test_other_functions_are_those_of_the_students_notebook():
    test = "def both(half, double):\n    assert half(double(3)) == 3\n"
    namespace = {"double": lambda n: 2 * n}
    exec("def half(n):\n    return n // 2", namespace)
    assert judge_in_test(namespace["half"], test) is None
    # The original test fails with it as well; grading goes on with the right one.
    namespace["double"] = lambda n: 2 * n + 2
    assert judge_in_test(namespace["half"], test) == "This assertion fails: `half(double(3)) == 3`."
    del namespace["double"]
    assert judge_in_test(namespace["half"], test)


# Objects that are no plain data: models, tables of other packages, axes, objects of students' classes

STACK = """def stack(Stack):
    s = Stack()
    assert len(s) == 0 and not s
    s.push(3)
    s.push("b")
    assert len(s) == 2 and s.size == 2
    assert [*s] == [3, "b"] and 3 in s and s[1] == "b"
    assert isinstance(s, Stack)
    assert s + s == 4
    assert s.pop() == "b"
    try:
        s.pop(), s.pop()
        assert False, "an empty stack has nothing to give"
    except IndexError:
        pass
"""
MODEL = """def model(answer):
    import numpy as np
    from fractions import Fraction
    fitted = answer()["model"]
    assert fitted.score([1.0, 2.0]) > 0.9
    assert np.allclose(fitted, [1, 2])
    assert fitted.slope == Fraction(1, 2) and isinstance(fitted.slope, Fraction)
    assert fitted.parameters["deep"][0].name == "b"
"""


class Stack:
    def __init__(self):
        self.items = []

    @property
    def size(self):
        return len(self.items)

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __add__(self, other):
        return len(self.items) + len(other.items)


class QueueInstead(Stack):
    def pop(self):
        return self.items.pop(0)


class StackOfList(list):
    size = property(len)
    push = list.append

    def __add__(self, other):
        return len(self) + len(other)


class NoError(Stack):
    def pop(self):
        return self.items.pop() if self.items else None


class Model:
    def __init__(self, score=0.95):
        self.slope, self._score = Fraction(1, 2), score
        self.parameters = {"deep": [SimpleNamespace(name="b")]}

    def score(self, x):
        return self._score * len(x) / 2

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Stack, None),
        (StackOfList, None),
        (QueueInstead, "fails: `s.pop() == 'b'`."),
        (NoError, "an empty stack has nothing to give"),
        (lambda: 3, "cannot be evaluated"),
        (dict, "`s.push(3)`"),
    ],
)
def test_a_class_is_judged_by_what_its_objects_do(answer, sentence):
    observation = judge_in_test(answer, STACK)
    assert observation is None if sentence is None else sentence in observation


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Model(), None),
        (Model(0.5), "fails: `fitted.score([1.0, 2.0]) > 0.9`."),
        (SimpleNamespace(score=lambda x: 1.0), "`np.allclose(fitted, [1, 2])`"),
        (3.0, "`fitted.score([1.0, 2.0]) > 0.9` cannot be evaluated"),
    ],
)
def test_an_object_of_any_package_is_judged_by_its_methods_and_attributes(model, sentence):
    observation = judge_in_test(lambda: {"model": model}, MODEL)
    assert observation is None if sentence is None else sentence in observation


def test_the_axes_of_a_figure_are_asked():
    def draw():
        from matplotlib.figure import Figure

        axes = Figure().subplots()
        axes.set_xlabel("height")
        axes.plot([1, 2], [3, 4])
        return axes

    test = """def labels(draw):
    axes = draw()
    assert axes.get_xlabel() == "height"
    assert len(axes.lines) == 1 and list(axes.lines[0].get_ydata()) == [3, 4]
"""
    assert judge_in_test(draw, test) is None
    assert "get_xlabel" in judge_in_test(lambda: "height", test)


@pytest.mark.parametrize(
    "names",
    [
        3,
        ["os:system"],
        ["autograder.core.results:Verdict.PASS"],
        ["no such module:x"],
        ["builtins:int", "x"] * 50,
        [None, [], {}],
    ],
)
def test_forged_names_of_classes_import_nothing_and_run_nothing(names):
    """The names of an object's classes come from the student's process."""
    before = set(sys.modules)
    test = "def kind(f):\n    assert isinstance(f(), bool)\n"
    events = ["object", names]
    sentence = compare_by_test_function(["value", True], events, 0.0, inputs_for_test(test))
    assert "isinstance(f(), bool)" in sentence and set(sys.modules) == before


def test_zeros_beside_an_error_with_other_words_pass_no_test():
    """A test that only asks for the kind of an error says nothing of its words."""
    expected = ["value", 4, "raised", "ValueError: n is below 0"]
    zeros = ["value", 0, "raised", "ValueError: no"]
    source = """def test(f):
    f(2)
    try:
        f(-1)
    except ValueError:
        return
    assert False
"""
    case_inputs = inputs_for_test(source)
    message = "Zeros alone pass this test; they are not the expected result."
    assert compare_by_test_function(expected, zeros, 0.0, case_inputs) == message
    assert compare_by_test_function(expected, expected, 0.0, case_inputs) is None


@pytest.mark.parametrize("empty", [np.zeros(0), np.zeros((0, 3)), [], ()])
def test_an_empty_result_passes_no_test_whose_result_is_not_empty(empty):
    """NumPy's comparisons hold for all of no numbers."""
    test = "def near_pi(estimate):\n    for x in np.ravel(estimate(9)):\n        assert abs(x - 3) < 1\n"
    case_inputs = inputs_for_test("import numpy as np\n" + test)

    def judge_result(expected_result, result):
        expected = run_test_function(lambda n: expected_result, **case_inputs.kwargs)
        events = run_test_function(lambda n: result, **case_inputs.kwargs)
        return compare_by_test_function(expected, events, 0.0, case_inputs)

    assert judge_result(3.14, empty) == (
        "Your function returns something empty; that passes this test, but is not expected."
    )
    assert judge_result(3.14, np.array([3.2])) is None
    assert judge_result(empty, empty) is None


def judge_beside_reference(answer, reference, test):
    """The judge's sentence on an answer, with what the reference did in the same test."""
    case_inputs = inputs_for_test(test)
    expected = call_student_function(reference, case_inputs, RULES.call).value
    outcome = call_student_function(answer, case_inputs, RULES.call)
    difference = compare_outcome(expected, outcome, RULES, case_inputs)
    return difference and difference.observation


SORTED = """def test(f):
    x = [3, 1, 2]
    assert f(x) == sorted(x)
"""
DOUBLED = """def test(f):
    import numpy as np
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(f(x), 2 * x)
"""
ALL_TWO = """def test(f):
    import numpy as np
    x = np.zeros(3)
    assert np.all(f(x) == 2.0)
"""
IN_PLACE = """def test(f):
    x = [3, 1, 2]
    f(x)
    assert x == [1, 2, 3]
"""
COUNTED = """def test(f):
    counts = f("aab")
    assert counts == {"a": 2, "b": 1} and counts["z"] == 0
"""


def fill_and_return(x):
    x[:] = [7] * len(x)
    return list(x)


def clear_and_return(x):
    x[:] = 0
    return x


def change_and_return_nothing(x):
    x[0] += 1
    return np.array([])


class EqualToAll:
    def __eq__(self, other):
        return True

    def __getitem__(self, key):
        return 0


@pytest.mark.parametrize(
    ("test", "reference", "wrong"),
    [
        (SORTED, sorted, fill_and_return),
        (DOUBLED, lambda x: 2 * x, clear_and_return),
        (ALL_TWO, lambda x: x + 2.0, change_and_return_nothing),
        (SORTED, sorted, lambda x: EqualToAll()),
        (COUNTED, Counter, lambda text: EqualToAll()),
        (COUNTED, Counter, lambda text: {"a": 2, "b": 1}),
        (IN_PLACE, list.sort, list.clear),
    ],
)
def test_what_an_answer_changes_or_is_equal_to_does_not_make_it_right(test, reference, wrong):
    assert judge_beside_reference(reference, reference, test) is None
    assert judge_beside_reference(wrong, reference, test) is not None


def test_an_answer_may_count_by_a_counter_or_a_defaultdict():
    def count(text):
        counts = defaultdict(int)
        for letter in text:
            counts[letter] += 1
        return counts

    assert judge_beside_reference(count, Counter, COUNTED) is None
    assert judge_beside_reference(lambda text: Counter(text), count, COUNTED) is None


def test_a_changed_argument_of_a_right_answer_is_no_fault_where_the_test_does_not_look_at_it():
    def double_in_place(x):
        x *= 2
        return x.copy()

    test = DOUBLED.replace("2 * x", "[2.0, 4.0]")
    assert judge_beside_reference(double_in_place, lambda x: 2 * x, test) is None


def test_an_answer_that_sorts_in_place_is_asked_for_its_argument():
    assert judge_beside_reference(lambda x: x.sort(), list.sort, IN_PLACE) is None


@pytest.mark.parametrize(
    ("argument", "change", "changed"),
    [
        ("[1]", lambda numbers: numbers.append(2), "[1, 2]"),
        ("{1: 1}", lambda numbers: numbers.update({2: 2}), "{1: 1, 2: 2}"),
        ("{1}", lambda numbers: numbers.add(2), "{1, 2}"),
        ("np.zeros(2)", lambda numbers: numbers.fill(2), "[2, 2]"),
    ],
)
def test_what_an_answer_does_to_its_argument_is_compared(argument, change, changed):
    test = (
        "def test(f):\n"
        "    import numpy as np\n"
        f"    x = {argument}\n"
        "    f(x)\n"
        f"    assert np.all(x == {changed})\n"
    )
    assert judge_beside_reference(change, change, test) is None
    assert judge_beside_reference(lambda numbers: None, change, test) is not None


# What a test function may use


def run_test(test, answer, reference=None, **values):
    """Return the sentence about an answer after its calls were recorded and replayed; or None."""
    arguments = inputs_for_test(test, **values)
    expected = call_student_function(reference or answer, arguments, RULES.call)
    outcome = call_student_function(answer, arguments, RULES.call)
    difference = compare_outcome(expected.value, outcome, RULES, arguments)
    return difference and difference.observation


class Money:
    """An object that is no plain data and has operators."""

    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        return self.amount + other

    __radd__ = __add__

    def __sub__(self, other):
        return self.amount - other

    def __rsub__(self, other):
        return other - self.amount

    def __len__(self):
        return self.amount

    def __getitem__(self, key):
        return key


@pytest.mark.parametrize(
    "condition",
    ["m + 1 == 6", "1 + m == 6", "m - 1 == 4", "1 - m == -4", "len(m) == 5", "m[3] == 3"],
)
def test_the_operators_of_an_object_are_asked_on_their_side(condition):
    test = f"def operators(make):\n    m = make(5)\n    assert {condition}\n"
    assert run_test(test, Money) is None
    sentence = run_test(test, lambda amount: Money(amount + 2), Money)
    if "[" not in condition:
        assert sentence == f"This assertion fails: `{condition}`."


@pytest.mark.parametrize(
    ("line", "is_quoted"), [("'they add up to 1'", True), ("'two\\nlines'", False)]
)
def test_the_message_of_an_assertion_is_quoted_if_it_is_one_line(line, is_quoted):
    test = f"def adds(f):\n    assert f(2) == 3, {line}\n"
    sentence = run_test(test, lambda x: x, lambda x: x + 1)
    assert sentence.startswith("This assertion fails: `f(2) == 3`.")
    assert sentence.endswith("they add up to 1") is is_quoted


def test_what_a_tested_function_prints_is_printed_in_the_test_too():
    test = """def prints(f):
    import io
    from contextlib import redirect_stdout
    output = io.StringIO()
    with redirect_stdout(output):
        f(2)
    assert output.getvalue() == "2\\n"
"""
    assert run_test(test, print) is None
    assert "This assertion fails" in run_test(test, lambda x: print(x + 1), print)


def test_an_expected_error_may_be_of_several_types_and_have_a_text():
    with expect_error(ValueError, KeyError, match="small") as caught:
        raise ValueError("it is too small")
    assert str(caught.exception) == "it is too small" and caught.value is caught.exception
    with (
        pytest.raises(AssertionError, match="No error was raised; expected ValueError or KeyErr"),
        expect_error(ValueError, KeyError),
    ):
        pass
    with (
        pytest.raises(AssertionError, match="'no' does not match 'small'"),
        expect_error(ValueError, match="small"),
    ):
        raise ValueError("no")
    with pytest.raises(TypeError, match="another"), expect_error(ValueError, match="another"):
        raise TypeError("another")


def test_a_case_of_some_variables_needs_no_others():
    """The student may not have written the later variables yet."""
    answer = SimpleNamespace(select=lambda names: dict.fromkeys(names, 1.0))
    assert run_test_function(answer, only=["height"]) == {"height": 1.0}
    inputs = Inputs((), {"only": ["height"]})
    expected = {"height": 1.0, "width": 2.0}
    assert compare_by_test_function(expected, {"height": 1.0}, 1e-7, inputs) is None
    sentence = compare_by_test_function(expected, {"height": 3.0}, 1e-7, inputs)
    assert sentence.startswith("In the entry 'height': ")


def test_a_test_of_one_variable_needs_no_other(monkeypatch):
    monkeypatch.setitem(globals(), "height", 3)
    collected = answers("height", "width")
    asks_height = 'def asks_height(answer):\n    assert answer("height")["height"] == 3\n'
    events = run_test_function(collected, **inputs_for_test(asks_height).kwargs)
    assert events == ["value", {"height": 3}]
    with pytest.raises(NameError, match="width"):
        collected()


def test_a_test_names_its_variables_also_where_a_large_one_is_the_references(monkeypatch):
    monkeypatch.setitem(globals(), "height", 3)
    monkeypatch.setitem(globals(), "data", np.zeros(4))
    asks = 'def asks(answer, data):\n    assert answer("height")["height"] < len(data)\n'
    inputs = inputs_for_test(asks, as_due=["data"])
    events = run_test_function(answers("height", "data"), **inputs.kwargs)
    assert events[2:] == ["value", {"height": 3}]


def test_a_list_in_a_list_that_is_changed_in_place_is_the_same_list():
    asks_row = (
        "def asks_row(flip):\n    grid = [[1, 2], [3, 4]]\n    row = grid[0]\n    flip(grid)\n"
        "    assert row == [2, 1]\n"
    )

    def flip(grid):
        for row in grid:
            row.reverse()

    def flip_copies(grid):
        grid[:] = [row[::-1] for row in grid]

    inputs = inputs_for_test(asks_row)
    expected = run_test_function(flip, **inputs.kwargs)
    for function, is_right in ((flip, True), (flip_copies, False)):
        events = run_test_function(function, **inputs.kwargs)
        message = compare_by_test_function(expected, events, 0.0, inputs)
        assert (message is None) == is_right


def test_a_change_counts_only_in_the_call_in_which_the_reference_makes_it():
    """A wrong answer that changes what it is given would make the test's own comparison hold."""
    test = (
        "def asks_tidy(tidy):\n    first, second = [2, 1], [3]\n    tidy(first)\n"
        "    assert first == [1, 2]\n    total = tidy(second)\n    assert total == sum(second)\n"
    )

    def tidy(numbers):
        numbers.sort()
        return sum(numbers)

    def tidy_wrongly(numbers):
        numbers.sort()
        if len(numbers) == 1:
            numbers[0] += 4
        return sum(numbers)

    inputs = inputs_for_test(test)
    expected = run_test_function(tidy, **inputs.kwargs)
    assert compare_by_test_function(expected, expected, 0.0, inputs) is None
    events = run_test_function(tidy_wrongly, **inputs.kwargs)
    message = compare_by_test_function(expected, events, 0.0, inputs)
    assert message == "This assertion fails: `total == sum(second)`."


NEXT_OF = """def next_of(numbers):
    iterator = numbers()
    assert next(iterator) == 1
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda: iter(()), "(StopIteration)"),
        (lambda: [1], "(TypeError: 'list' object is not an iterator)"),
    ],
)
def test_an_error_without_a_message_is_named_without_a_colon(answer, reason):
    assert judge_in_test(answer, NEXT_OF) == (
        f"`next(iterator) == 1` cannot be evaluated with your function's results {reason}."
    )


def _is_near(found, expected):
    assert abs(found - expected) < 0.1


def _has_dtype_of(found, expected):
    assert found.dtype == expected.dtype


def _never_holds(found, expected):
    raise AssertionError


@pytest.mark.parametrize(
    ("found", "expected", "comparisons", "result"),
    [
        (2.05, 2.0, [_is_near], True),
        (2.5, 2.0, [_is_near], False),
        (2.5, 2.0, [_never_holds], None),
        (2.05, 2.0, [_never_holds, _is_near], True),
        (2.5, 2.0, [_never_holds, _is_near], False),
        (2.5, 2.0, [], None),
        (np.float64(2.05), 2.0, [_is_near, _has_dtype_of], True),
        (np.float32(2.05), 2.0, [_is_near, _has_dtype_of], False),
        (2.05, 2.0, [_is_near, _has_dtype_of], False),  # a plain number has no dtype
        ("x", "y", [_is_near], None),
    ],
)
def test_only_comparisons_that_hold_for_the_expected_value_count(
    found, expected, comparisons, result
):
    assert function_tests.equal_in_every_comparison(found, expected, *comparisons) is result


@pytest.mark.parametrize(
    ("value", "entries"),
    [
        (pandas.Series([1, 2], index=["a", "b"]), [1, 2]),
        (pandas.DataFrame({"a": [1], "b": [2]}), [[1, 2]]),
        (np.ones((1, 2)), [[1.0, 1.0]]),
        ((1, 2), (1, 2)),
        ("ab", "ab"),
    ],
)
def test_the_entries_of_arrays_and_tables_are_made_a_list(value, entries):
    assert function_tests.convert_to_list(value) == entries
    without_labels = function_tests.remove_labels(value)
    assert isinstance(without_labels, np.ndarray) or without_labels is value


@pytest.mark.parametrize(
    ("value", "tolerance", "names", "sentence"),
    [
        ({"a": 1.0, "b": 2}, 1e-7, None, None),
        ({"a": 1.05, "b": 2}, 1e-7, None, "In the entry 'a': found 1.05; expected 1."),
        ({"a": 1.05, "b": 2}, 0.1, None, None),
        ({"a": 1.0, "b": 2.0}, 1e-7, None, None),
        ({"a": 1.0}, 1e-7, None, "Your result has no entry 'b'; its keys should be 'a', 'b'."),
        ({"a": 1.0, "b": 3}, 1e-7, ["a"], None),
        ({"a": 1.0, "b": 3}, 1e-7, ["b"], "In the entry 'b': found 3; expected 2."),
        ({"a": 1.0}, 1e-7, ["b"], "In the entry 'b': found None; expected a whole number (int)."),
    ],
)
def test_variables_are_compared_by_name_to_the_tolerance(value, tolerance, names, sentence):
    kwargs = {}
    if names:
        kwargs[function_tests.COMPARED_VARIABLES] = names
    expected = {"a": 1.0, "b": 2}
    inputs = Inputs((), kwargs)
    assert compare_by_test_function(expected, value, tolerance, inputs) == sentence


@pytest.mark.parametrize(
    ("value", "is_empty"),
    [
        ([], True), ((), True), ({}, True), (set(), True), ("", True), (np.zeros((0, 2)), True),
        ([0], False), ("a", False), (np.zeros(1), False), (0, False), (None, False), (0.0, False), (False, False),
    ],
)  # fmt: skip
def test_zero_and_none_are_no_empty_results(value, is_empty):
    assert function_tests._is_empty(value) is is_empty


def test_an_error_is_described_by_its_type_and_its_message_on_one_line():
    assert function_tests._describe_error(ValueError("a\n  b")) == "ValueError: a b"
    assert function_tests._describe_error(KeyError()) == "KeyError"

    class ErrorWithoutText(Exception):
        def __str__(self):
            raise ValueError

    assert function_tests._describe_error(ErrorWithoutText()) == "ErrorWithoutText"


@pytest.mark.parametrize(
    ("name", "is_builtin"),
    [("KeyError", True), ("len", False), ("KeyboardInterrupt", False), ("OwnError", False)],
)
def test_only_pythons_own_exceptions_are_raised_as_themselves(name, is_builtin):
    error_type = function_tests._find_error_type(name)
    assert issubclass(error_type, Exception) and error_type.__name__ == name
    assert (error_type.__module__ == "builtins") == is_builtin
