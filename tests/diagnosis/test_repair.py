"""The search for a mutation that repairs an answer: its sentence, its test in all cases, no side effects."""

import linecache
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from functions_in_cells import define_in_cell

from autograder.core.time_limit import TimeLimitExceeded
from autograder.diagnosis import repair
from autograder.diagnosis.argument_probe import MAX_INPUT_NUMBERS
from autograder.diagnosis.mutations import EXTEND, LEAVE_OUT, REPLACE, Mutation
from autograder.diagnosis.repair import (
    MAX_LINE_CHARACTERS,
    MAX_LOOP_ITERATIONS,
    MAX_PAIRED_IMPROVEMENTS,
    MAX_PARTIAL_REPAIRS,
    MAX_SEARCH_SECONDS,
    MIN_COMPARED_NUMBERS,
    find_repair,
)
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function
from autograder.student import check as student
from autograder.student.check import CheckFailed, check
from autograder.values.case_records import ComparisonRules, Inputs, TestCase

RIGHT = """
def scaled(x, y, size=2):
    total = x.sum(axis=-1, keepdims=True)
    part = x / total
    lower = part[..., 1:] * size
    out = np.sqrt(np.abs(lower)) - y[..., 1:]
    out[..., 0] += np.tanh(y[..., 0])
    return out
"""


def make_test_cases(right=RIGHT):
    rng = np.random.default_rng(3)
    case_inputs = [
        Inputs((rng.uniform(1, 2, size=s), rng.normal(size=s)), {"size": k})
        for s, k in (((2, 4), 3), ((3, 5), 5), ((2, 3, 4), 7), ((4, 3), 2))
    ]
    return make_test_cases_for(right, case_inputs)


def make_test_cases_for(right, case_inputs):
    reference = define_in_cell(right)
    return [
        TestCase("", item, call_student_function(reference, item).value, {}) for item in case_inputs
    ]


def describe_repair(answer, right=RIGHT, **names):
    return find_repair_for(define_in_cell(answer, **names), make_test_cases(right))


def find_repair_for(function, cases):
    failing, passing = [], []
    for case in cases:
        answer = call_student_function(function, case.inputs)
        if compare_outcome(case.expected, answer, ComparisonRules()):
            failing.append(case)
        else:
            passing.append(case)
    return find_repair(function, failing, passing, ComparisonRules())


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("np.sqrt(", "np.cbrt(1 + ", 6, ""),
        ("[..., 1:] * size", "[..., 1:] * 3", 5, "with one of your variables in place of `3`"),
        ("np.tanh(", "np.sin(", 7, "with another function in place of `np.sin`"),
        ("axis=-1", "axis=-2", 3, "with another number in place of `-2`"),
        ("x / total", "y / total", 4, "with another variable in place of `y`"),
        ("x / total", "x + total", 4, "with another operator in place of `+`"),
        ("x / total", "total / x", 4, "with the two sides of `/` exchanged"),
        ("x / total", "x / total / 2", 4, "without `/ 2`"),
        ("return out", "return np.round(out, 3)", 8, "without `np.round` around `out`"),
        ("return out", "return out[::-1]", 8, "with all of `out` in place of `out[::-1]`"),
        ("return out", "out = out - out.mean()\n    return out", 8, "without this line"),
        ("return out", "out[0] = 0\n    return out", 8, "without this line"),
        ("part[..., 1:]", "part[..., :-1]", 5, "with another slice in place of `part[..., :-1]`"),
        ("+=", "-=", 7, "with another operator in place of `-=`"),
        ("+=", "=", 7, "with the new value combined with the old value"),
        ("x.sum(", "x.mean(", 3, "with another function in place of `x.mean`"),
        ("- y[", "+ y[", 6, "with another operator in place of `+`"),
        ("np.abs(lower)", "1 - lower", 6, "without `1 -`"),
        (" * size", "", 6, "with `np.abs(lower)` multiplied by one of your variables"),
        (", keepdims=True", "", 3, "with `keepdims` for `x.sum`"),
        (
            "np.sqrt(np.abs(lower))",
            "np.log(np.abs(lower) + 1)",
            6,
            "with another function of only `np.abs(lower)` in place of",
        ),
    ],
)
def test_one_place_is_described_with_its_line_and_kind(old, new, line, words):
    assert old in RIGHT
    text = describe_repair(RIGHT.replace(old, new, 1))
    if not words:
        assert text == ""  # no small mutation repairs a cube root
        return
    assert text.startswith(f"One place is wrong. In line {line} of your cell, `"), text
    assert f"`: {words}" in text
    assert text.endswith("every case is right.")


def test_a_repeated_edit_and_an_exchange_are_combined_mutations():
    repeated_edit = RIGHT.replace("[..., 1:]", "[..., 2:]")
    assert "with another number in place of `2` here and everywhere else," in describe_repair(
        repeated_edit
    )
    swap = RIGHT.replace("x.sum", "y.sum").replace("x / total", "y / total").replace("- y[", "- x[")
    assert "with `x` and `y` exchanged everywhere" in describe_repair(
        swap.replace("tanh(y", "tanh(x")
    )
    lines = ("total = x.sum(axis=-1, keepdims=True)", "part = x / total")
    exchange = RIGHT.replace(lines[0], "total = x / total").replace(
        lines[1], "part = x.sum(axis=-1, keepdims=True)"
    )
    assert (
        "with the right sides of this line and of the next assignment, line 5, exchanged"
        in describe_repair(
            exchange.replace("def scaled(", "def scaled(").replace(
                "):\n", "):\n    total = 1.0\n", 1
            )
        )
    )


def test_two_places_one_of_which_improves_the_result():
    text = describe_repair(RIGHT.replace("axis=-1", "axis=0").replace("+=", "-="))
    assert text.startswith("Two places are wrong. In line ")
    assert "with another operator in place of `-=`" in text
    assert "with another number in place of `0`" in text
    text = describe_repair(RIGHT.replace("[..., 1:]", "[..., 2:]").replace("+=", "-="))
    assert "with another number in place of `2` here and everywhere else. In line 7" in text


@pytest.mark.parametrize(
    ("old", "new", "outer", "inner"),
    [
        (
            "x.sum(axis=-1, keepdims=True)",
            "np.sqrt(np.sum(x**2, axis=-1, keepdims=True))",
            "np.sqrt",
            "** 2",
        ),
        (
            "x.sum(axis=-1, keepdims=True)",
            "np.exp(np.log(x).sum(axis=-1, keepdims=True))",
            "np.exp",
            "np.log",
        ),
    ],
)
def test_two_places_one_of_which_is_inside_the_other(monkeypatch, old, new, outer, inner):
    monkeypatch.setattr(repair, "MAX_SEARCH_SECONDS", 5)  # a busy machine takes longer
    text = describe_repair(RIGHT.replace(old, new))
    assert text.startswith("Two places are wrong. In line 3 of your cell, `")
    assert f"without `{outer}` around" in text
    assert f"without `{inner}" in text


def test_a_number_in_place_of_infinity_is_found():
    right = RIGHT.replace("return out", "return np.isinf(np.where(out > 0, out, np.inf))")
    text = describe_repair(right.replace("out, np.inf", "out, 50.0"), right)
    assert "with another number in place of `50.0`, every case is right." in text


def test_a_summand_that_belongs_into_the_call_before_it_is_moved_there():
    right = RIGHT.replace("return out", "return out * np.tanh(out - lower)")
    text = describe_repair(RIGHT.replace("return out", "return out * np.tanh(out) - lower"), right)
    assert "with `- lower` inside the brackets of the call before it, every case is right" in text


def test_brackets_in_long_code_are_quoted_with_what_they_hold():
    code = "size * 1 + size * 2 + size * 3 + size * out + size + lower"
    right = RIGHT.replace("return out", f"return {code.replace('out + size', '(out + size)')}")
    text = describe_repair(RIGHT.replace("return out", f"return {code}"), right)
    assert "with brackets ( ) around `out + size`, every case is right." in text


def test_a_changed_test_of_equality_is_no_part_of_a_repair_in_two_places():
    mutation = Mutation("with another comparison in place of `==`", 3, REPLACE)
    assert mutation.changes_equality and not mutation.is_combinable
    mutation = Mutation("with only `n` in place of `n == 0`", 3, REPLACE)
    assert mutation.changes_equality and not mutation.is_combinable
    mutation = Mutation("with another comparison in place of `<`", 3, REPLACE)
    assert mutation.is_combinable


def test_code_with_least_squares_is_not_mutated(capfd):
    """A mutation that passed NaN to LAPACK's least squares made it print to the student's terminal."""
    wrong = RIGHT.replace(
        "return out", "np.linalg.lstsq(np.log(np.eye(3) + 1), np.ones(3))\n    return out + 1"
    )
    assert describe_repair(wrong) == ""
    assert capfd.readouterr() == ("", "")


def test_a_mutation_that_breaks_a_right_case_is_not_described():
    """Without the last line the three failing cases are right, but the fourth is wrong."""
    right = RIGHT.replace("return out", "return out + (size == 2)")
    answer = RIGHT.replace("return out", "out = out + 1\n    return out")
    assert "without this line" not in describe_repair(answer, right)
    assert "without this line" in describe_repair(answer)


def test_helpers_of_the_same_cell_are_mutated_too():
    helper = (
        RIGHT.replace("np.abs(lower)", "size_of(lower)")
        + "\ndef size_of(v):\n    return np.abs(v) * 4\n"
    )
    assert "In line 11 of your cell, `return np.abs(v) * 4`: without `* 4`" in describe_repair(
        helper
    )


def test_without_source_there_is_no_sentence():
    function, cases = define_in_cell(RIGHT.replace("+=", "-=")), make_test_cases()
    linecache.cache.pop(function.__code__.co_filename)
    assert find_repair(function, cases, [], ComparisonRules()) == ""
    assert find_repair(lambda x, y, size: x, cases, [], ComparisonRules()) == ""
    assert find_repair(np.add, cases, [], ComparisonRules()) == ""


def test_a_search_has_no_side_effects(monkeypatch, capsys):
    """A search prints nothing, reads no input, exits nothing, and changes no variable and no case."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("input() was called"))
    body = """
    global calls
    calls = 1
    print("x")
    try:
        input()
    except EOFError:
        x += 0
    if (total < 0).any():
        exit()
"""
    wrong = RIGHT.replace("True)\n", f"True){body}", 1).replace("+=", "-=", 2)
    function = define_in_cell(wrong, calls=0, exit=sys.exit)
    cases = make_test_cases()
    original_arrays = [q.inputs.args[0].copy() for q in cases]
    assert "with another operator in place of `-=`" in find_repair(
        function, cases, [], ComparisonRules()
    )
    assert function.__globals__["calls"] == 0
    assert capsys.readouterr().out == ""
    assert all((a == q.inputs.args[0]).all() for a, q in zip(original_arrays, cases, strict=True))


@pytest.mark.parametrize("wrong", ["+ 1", "+ np.cosh(out) ** 7"])
def test_endless_loops_are_given_up_within_the_time_limit(wrong):
    loop = "    n = 0\n    while n < 5:\n        n += 1\n    return out"
    start = time.process_time()
    describe_repair(
        RIGHT.replace("    return out", loop.replace("return out", f"return out {wrong}"))
    )
    assert time.process_time() - start < 8 * MAX_SEARCH_SECONDS


def test_an_expected_none_is_not_repaired():
    cases = [TestCase("", case.inputs, None, {}) for case in make_test_cases()]
    assert find_repair(define_in_cell(RIGHT), cases, [], ComparisonRules()) == ""


def test_a_slow_answer_is_searched_within_the_time_limit():
    slow = RIGHT.replace(
        "    return out", "    for _ in range(3000): np.zeros(99).sum()\n    return out * 1.7 - 0.3"
    )
    start = time.process_time()
    describe_repair(slow)
    assert time.process_time() - start < 8 * MAX_SEARCH_SECONDS


def collects_its_rows(answer):
    return f"def rows(x):\n    collected = []\n    for row in x:\n        {answer}\n    return np.array(collected)\n"


@pytest.mark.parametrize(
    "line",
    [
        "collected.append(row)",
        "collected.append(np.exp(row) * len(collected))",
        "collected.extend([row, collected[-1] if collected else row])",
        "collected += [row]",
        "collected = collected + [row]; collected[-1] = row",
    ],
)
def test_no_mutation_puts_a_list_into_itself(line):
    """NumPy's array of a list that holds itself twice takes all memory there is."""
    code = repair._SwitchableMutations.compile(define_in_cell(collects_its_rows(line)), range(5))
    assert len(code.mutations) > 5
    x = np.ones((3, 4))
    for number in code.rank_mutations():
        code.activate(number)
        collected = []

        def note(value, collected=collected):
            collected.append(value)
            return np.zeros(1)

        code._namespace["np"] = type("np", (), {"array": staticmethod(note), "exp": np.exp})
        code.run(lambda: code.function(x))
        for rows in collected:
            assert not isinstance(rows, list) or all(row is not rows for row in rows), (
                code.mutations[number]
            )


def test_a_search_limits_the_memory_that_changed_code_may_add(monkeypatch):
    megabytes = []

    @contextmanager
    def note_limit(limit):
        megabytes.append(limit)
        yield

    monkeypatch.setattr(repair, "limit_added_memory", note_limit)
    assert "with another operator in place of `-=`" in describe_repair(RIGHT.replace("+=", "-="))
    assert megabytes == [repair.MAX_SEARCH_MEGABYTES]


# In a check.


def written(source, **names):
    """A cell's first function, checked as a notebook would."""
    return define_in_cell(source, __name__="__main__", **names)


SOFTMAX = """
def softmax(x, axis=0):
    e = np.exp(np.abs(x))
    return e / e.sum(axis=axis, keepdims=True)
"""


def check_message(source):
    softmax = written(source)
    with pytest.raises(CheckFailed) as caught:
        check(softmax)
    return str(caught.value)


def test_an_error_with_a_full_explanation_gets_no_mutation():
    text = check_message(
        SOFTMAX.replace("np.abs(x)", "x").replace("    e =", "    input()\n    e =")
    )
    assert "`input()` waits for somebody to type" in text
    assert "One place is wrong" not in text


def test_a_check_names_the_place_where_no_mistake_is_known():
    text = check_message(SOFTMAX)
    assert (
        "One place is wrong. In line 3 of your cell, `e = np.exp(np.abs(x))`: without `np.abs` around `x`"
        in text
    )
    assert "rise and fall" not in text  # the less specific sentence is left out


def test_a_repair_of_all_cases_replaces_a_partial_mistake():
    text = check_message(
        SOFTMAX.replace("np.abs(x)", "x").replace(
            "(axis=axis,", "(axis=axis if x.ndim == 2 else 0,"
        )
    )
    assert "without the `if` in" in text or "failing cases, your result is" not in text


def test_a_partial_repair_is_found_after_lesser_improvements():
    """Only the best improvements are tried, in whatever order they were found."""
    best = MAX_PARTIAL_REPAIRS + 1
    search = object.__new__(repair._RepairSearch)
    search._failing, search._passing = ["first", "second", "third"], []
    search._improvements = [(0.5, number) for number in range(best)] + [(1.0, best)]
    search._is_right = lambda code, case: case != "third"
    code = SimpleNamespace(
        mutations=[SimpleNamespace(is_combinable=True, rank=0)] * (best + 1),
        activate=lambda *numbers: None,
        rank_mutations=lambda: range(best + 1),
        describe_mutation="With change {}".format,
    )
    search._list_mutation_pairs(code)
    sentence = f"With change {best}, 2 of the 3 failing cases are right."
    assert search.find_partial_repair(code).endswith(sentence)


def test_a_diagnosis_that_takes_too_long_leaves_the_finding(monkeypatch):
    limits = []

    @contextmanager
    def deadline(seconds, home):
        limits.append(seconds)
        with original_deadline(seconds, home) as limit:
            yield limit
        if len(limits) > 1:  # the second is that of the diagnosis
            raise TimeLimitExceeded("It did not end")

    original_deadline = student.limit_call_time
    monkeypatch.setattr(student, "limit_call_time", deadline)
    text = check_message(SOFTMAX)
    assert len(limits) > 1 and "did not end" not in text and "numbers differ" in text


MASK = """
def mask(size, x):
    return np.tril(np.ones((size, size))).astype(bool)
"""
CUT = """
def cut(x, heads, other):
    n, size = x.shape
    a = x.reshape(n, heads, size // heads)
    b = other.reshape(len(other), heads, size // heads)
    return a.sum(axis=0) + b.sum(axis=0)
"""
ABSOLUTE = """
def least(x, causal):
    return np.where(causal, np.abs(x), x)
"""


def with_b(code):
    return CUT.replace("other.reshape(len(other), heads, size // heads)", code)


def describe_repair_of(answer, right, case_inputs):
    return find_repair_for(define_in_cell(answer), make_test_cases_for(right, case_inputs))


MASKS = [Inputs((n, np.arange(n))) for n in (4, 3, 5, 1)]
CUTS = [
    Inputs((np.ones((n, s)), h, np.ones((m, s))))
    for n, m, s, h in ((2, 3, 4, 2), (4, 2, 6, 3), (3, 5, 8, 2))
]
LEASTS = [Inputs((np.linspace(-1, 1, n), c)) for n in (2, 4) for c in (True, False)]


@pytest.mark.parametrize(
    ("right", "case_inputs", "answer"),
    [
        (MASK, MASKS, MASK.replace("((size, size))", "(size, size)")),
        (MASK, MASKS, MASK.replace("ones((size, size))", "ones(size, len(x))")),
        (MASK, MASKS, MASK.replace("np.ones((size, size))", "1 - np.zeros(size, size)")),
        (
            MASK,
            MASKS,
            MASK.replace("    return", "    n = len(x)\n    return").replace(
                "((size, size))", "(n, n)"
            ),
        ),
        (CUT, CUTS, CUT.replace("len(other),", "n,")),
        (CUT, CUTS, with_b("np.reshape(other, (n, heads, size // heads))")),
        (CUT, CUTS, with_b("other.reshape(*[n, heads, size // heads])")),
        (
            CUT,
            CUTS,
            with_b("other.reshape(rows)").replace(
                "    b", "    rows = n, heads, size // heads\n    b"
            ),
        ),
    ],
)
def test_no_advice_by_accident(right, case_inputs, answer):
    """A mutation that only changes a type, or lets reshape infer a size, is no advice."""
    text = describe_repair_of(answer, right, case_inputs)
    for words in (
        "absolute",
        "True and False",
        "sign of",
        "the root",
        "squared",
        "name in place",
        "your names",
    ):
        assert words not in text, text


def test_steps_that_change_the_result_are_still_advice():
    assert "the absolute value of `x`" in describe_repair_of(
        ABSOLUTE.replace("np.abs(x)", "x"), ABSOLUTE, LEASTS
    )
    wrong = ABSOLUTE.replace("(causal,", "(1 - causal,")
    assert "One place is wrong" in describe_repair_of(wrong, ABSOLUTE, LEASTS)
    true = "\ndef true(x):\n    return ~np.isnan(np.log(x))\n"
    numbers = [Inputs((np.linspace(-1, 1, n),)) for n in (2, 3, 4)]
    assert "True and False exchanged in `np.isnan(" in describe_repair_of(
        true.replace("~", ""), true, numbers
    )
    flag = "\ndef flagged(x, causal):\n    return np.where(causal, -x, x)\n"
    text = describe_repair_of(
        "\ndef flagged(x, causal):\n    return np.where(causal, x, -x)\n", flag, LEASTS
    )
    assert text.startswith("One place is wrong.")


CHOICE = "\ndef f(x, cold):\n    if cold:\n        return {}\n    return int(np.argmin(x))\n"


def test_a_constant_that_is_right_by_chance_is_no_advice():
    right = CHOICE.format("int(np.argmax(x))")
    numbers = np.array([3.0, 9.0, 1.0])
    cold, warm = Inputs((numbers, True)), Inputs((numbers, False))
    assert describe_repair_of(CHOICE.format("0"), right, [cold, warm]) == ""
    other = Inputs((np.array([3.0, 1.0, 2.0]), True))
    text = describe_repair_of(CHOICE.format("int(np.argmin(x))"), right, [cold, other, warm])
    assert text == "" or "another number" not in text


def test_an_expected_number_that_is_too_large_for_the_answers_type_is_no_error():
    """NumPy raises OverflowError for a difference of an int32 and an int that is larger."""
    right = "\ndef f(n):\n    return 1000 * n\n"
    answer = "\ndef f(n):\n    return np.int32(100) * (n % 100)\n"
    assert describe_repair_of(answer, right, [Inputs((n,)) for n in (10**7, 10**8, 10**9)]) == ""


def test_the_number_of_columns_is_said_where_len_counts_rows():
    right = "\ndef count(x):\n    size = x.shape[1]\n    return np.arange(float(size))\n"
    case_inputs = [Inputs((np.ones(shape),), {}) for shape in ((3, 5), (2, 7), (4, 3))]
    cases = make_test_cases_for(right, case_inputs)
    wrong = define_in_cell(right.replace("x.shape[1]", "len(x)"))
    words = "with the number of columns of `x` in place of `len(x)`, the number of its rows, every"
    assert words in find_repair_for(wrong, cases)


@pytest.mark.parametrize(
    ("line", "replaces"),
    [
        ("return 0", True),
        ("return -1.5", True),
        ("return True", True),
        ("return None", True),
        ("return 0  # nothing", True),
        ("count = 3", True),
        ("count = -3", True),
        ("return x", False),
        ("return 0 * x", False),
        ("count = x + 1", False),
        ("count = True", False),
        ("count += 1", False),
        ("return [0]", False),
    ],
)
def test_a_line_that_only_gives_a_number_is_known(line, replaces):
    code = repair._SwitchableMutations.compile(
        define_in_cell(f"\ndef f(x, count=0):\n    {line}\n    return x\n"), range(5)
    )
    numbers = [n for n, mutation in enumerate(code.mutations) if mutation.line == 3]
    assert numbers or line == "return None"
    assert all(code.replaces_whole_number(number) == replaces for number in numbers)


def make_case(expected, *arguments, mistakes=None):
    return TestCase("", Inputs(arguments), expected, mistakes or {})


@pytest.mark.parametrize(
    ("values", "is_one"),
    [
        ([3, 3], True),
        ([3], True),
        (["a", "a"], True),
        ([True, True], True),
        ([0.5, 0.5], True),
        ([3, 4], False),
        ([np.ones(1), np.ones(1)], False),
        ([3, np.ones(1)], False),
        ([(1,), (1,)], False),
    ],
)
def test_cases_that_all_expect_one_number_are_known(values, is_one):
    assert repair._expect_one_number([make_case(value) for value in values]) == is_one


def test_repairs_are_tried_on_telling_cases_first():
    many, few = np.ones(MIN_COMPARED_NUMBERS), np.ones(MIN_COMPARED_NUMBERS - 1)
    known = {"a-mistake": many}
    cases = {
        "no number": make_case(None, np.ones(1), mistakes=known),
        "edge": make_case(many, np.ones(1)),
        "edge of few": make_case(few, np.ones(1)),
        "few": make_case(few, np.ones(1), mistakes=known),
        "small": make_case([many[1:], (0.0,)], np.ones(2), mistakes=known),
        "large": make_case(many, np.ones(9), mistakes=known),
        "one": make_case(0.5, np.ones(2), mistakes=known),
    }
    ordered = repair._select_and_sort_comparable_cases(list(cases.values()))
    names = [next(name for name, case in cases.items() if case is each) for each in ordered]
    assert names == ["small", "large", "few", "one", "edge", "edge of few"]


def test_what_cannot_be_compared_number_by_number_is_not_repaired():
    function, cases = define_in_cell(RIGHT.replace("+=", "-=")), make_test_cases()
    assert find_repair(function, cases, [], ComparisonRules())
    assert find_repair(function, [], cases, ComparisonRules()) == ""
    assert find_repair(function, cases, [], ComparisonRules(call="in place")) == ""
    assert find_repair(function, cases, [], ComparisonRules(returns="printed")) == ""
    large = np.ones(MAX_INPUT_NUMBERS + 1)
    assert find_repair(function, [make_case(large, large, large)], [], ComparisonRules()) == ""


def compile_mutations(source, ranks=range(5)):
    return repair._SwitchableMutations.compile(define_in_cell(source), ranks)


@pytest.mark.parametrize(
    "source",
    [
        "\ndef f(x):\n    return x + 1\n\ndef f(x):\n    return x + 1\n",
        "\ndef f(x):\n    return np.linalg.lstsq(x, x)\n",
        "\ndef f(x):\n    return x + 1\n\n%timeit f(1)\n".replace("%", "# %"),
    ],
)
def test_a_cell_whose_function_is_not_clear_is_not_mutated(source):
    assert (compile_mutations(source) is None) == ("timeit" not in source)


def test_a_function_made_by_another_is_not_mutated():
    function = define_in_cell("\ndef f(x):\n    def g(y):\n        return x + y\n    return g\n")
    assert repair._SwitchableMutations.compile(function(1), range(5)) is None
    assert repair._SwitchableMutations.compile(function, range(5)) is not None


def test_mutations_are_tried_by_rank_and_the_larger_parts_first():
    code = compile_mutations("\ndef f(x, n):\n    return x - n * 2\n", (LEAVE_OUT, REPLACE))
    descriptions = [code.mutations[number].description for number in code.rank_mutations()]
    assert descriptions[:4] == [
        "without `x -`",
        "without `- n * 2`",
        "without `n *`",
        "without `* 2`",
    ]
    ranks = [code.mutations[number].rank for number in code.rank_mutations()]
    assert ranks == sorted(ranks) and set(ranks) == {LEAVE_OUT, REPLACE, EXTEND}


def test_code_has_up_to_so_many_mutations(monkeypatch):
    source = "\ndef f(x):\n    return x - 3\n"
    count = len(compile_mutations(source, (LEAVE_OUT,)).mutations)
    for most in (count + 1, count, count - 1):
        monkeypatch.setattr(repair, "MAX_MUTATIONS", most)
        assert len(compile_mutations(source, (LEAVE_OUT,)).mutations) == min(most, count)


def test_a_mutation_is_described_with_its_line_cut_to_a_limit():
    long = f"{'x' * MAX_LINE_CHARACTERS} + x"
    code = compile_mutations(f"\ndef f(x):\n    y = {long}\n    return y  # so\n")
    lines = {code.describe_mutation(n).partition("`: ")[0] for n in range(len(code.mutations))}
    cut = f"y = {long}"[: MAX_LINE_CHARACTERS - 3]
    assert f"In line 3 of your cell, `{cut}..." in lines
    assert "In line 4 of your cell, `return y  # so" in lines


def test_two_expressions_are_exchanged_everywhere_on_the_first_of_their_lines():
    code = compile_mutations("\ndef f(x, y):\n    z = x + 1\n    return z * y\n")
    found = [m for m in code.mutations if m.description.endswith("exchanged everywhere")]
    assert [(m.description, m.line, m.rank) for m in found if "`x` and `y`" in m.description] == [
        ("with `x` and `y` exchanged everywhere", 3, EXTEND)
    ]
    assert not any("`1`" in m.description for m in found)


def test_the_same_change_in_two_lines_is_one_in_each_and_one_in_all():
    code = compile_mutations("\ndef f(x):\n    y = 5 * x + 5\n    return y * 5\n", (REPLACE,))
    words = "with another number in place of `5`"
    found = [(m.description.removeprefix(words), m.line) for m in code.mutations]
    fours = len([each for each in found if each == ("", 4)])
    assert found.count((" everywhere in this line", 3)) == fours
    assert found.count((" here and everywhere else", 3)) == fours
    assert found.count((" everywhere in this line", 4)) == 0
    assert found.count(("", 3)) == 2 * fours
    number = [m.description for m in code.mutations].index(f"{words} here and everywhere else")
    code.activate(number)
    assert code.run(lambda: code.function(2)) == (6 * 2 + 6) * 6
    code.activate()
    assert code.run(lambda: code.function(2)) == (5 * 2 + 5) * 5


@pytest.mark.parametrize("turns", [MAX_LOOP_ITERATIONS, MAX_LOOP_ITERATIONS + 1])
def test_a_call_may_run_so_many_turns_of_loops(turns):
    code = compile_mutations("\ndef f(n):\n    for i in range(n):\n        pass\n    return i\n")
    for _ in range(2):  # each call counts from 0
        result = code.run(lambda: code.function(turns))
        assert (result is None) == (turns > MAX_LOOP_ITERATIONS)
    assert code.count_loop_iterations(make_case(0, 7)) == 7


def make_search(improvements, right=(), failing="abc", passing="d"):
    """Return a search with these improvements, and code whose change n makes `right[n]` right."""
    search = object.__new__(repair._RepairSearch)
    search._failing, search._passing = list(failing), list(passing)
    search._improvements = list(improvements)
    active = []
    search._is_right = lambda code, case: case in right[active[-1]]
    code = SimpleNamespace(
        mutations=[SimpleNamespace(is_combinable=n != 7, rank=n % 2) for n in range(9)],
        activate=active.append,
        rank_mutations=lambda: range(9),
        describe_mutation="With change {}".format,
    )
    return search, code


@pytest.mark.parametrize(
    ("improvements", "right", "described"),
    [
        ([(1.0, 2)], {2: "abd"}, "With change 2, 2 of the 3 failing cases are right."),
        ([(1.0, 2)], {2: "abcd"}, "With change 2, 3 of the 3 failing cases are right."),
        ([(1.0, 2)], {2: "ad"}, ""),  # one of three is chance
        ([(1.0, 2)], {2: "abc"}, ""),  # it spoils a right case
        ([(0.9, 2)], {2: "abd"}, ""),
        ([(1.0, 7)], {7: "abd"}, ""),
        ([(1.0, 2), (1.0, 4)], {2: "ad", 4: "bcd"}, "With change 4, 2 of the 3 failing cases are"),
        ([(1.0, 4), (1.0, 2)], {2: "abd", 4: "bcd"}, "With change 4, 2 of the 3 failing cases are"),
    ],
)
def test_a_partial_repair_makes_most_failing_cases_right_and_spoils_none(
    improvements, right, described
):
    search, code = make_search(improvements, right)
    text = search.find_partial_repair(code)
    start = "One place is wrong, and something else too. "
    assert text.startswith(start + described) if described else text == ""


def test_pairs_join_the_best_improvements_with_all_and_removals_with_each_other():
    improvements = [(0.2, 1), (0.9, 3), (0.5, 7), (0.9, 4), (0.3, 5)]
    search, code = make_search(improvements)
    pairs = search._list_mutation_pairs(code)
    combinable = [0, 1, 2, 3, 4, 5, 6, 8]
    best = [3, 4]  # the third of the best is not combinable
    assert MAX_PAIRED_IMPROVEMENTS == 3
    expected = [(first, second) for first in best for second in combinable]
    expected += [(a, b) for a in (0, 2, 4, 6, 8) for b in (0, 2, 4, 6, 8) if a < b]
    assert pairs == expected


def test_the_whole_sentence_on_two_places(monkeypatch):
    monkeypatch.setattr(repair, "MAX_SEARCH_SECONDS", 5)  # a busy machine takes longer
    right = "\ndef f(x, n):\n    y = x * n\n    return y - n\n"
    wrong = "\ndef f(x, n):\n    y = np.abs(x * n)\n    return np.round(y - n)\n"
    rng = np.random.default_rng(4)
    case_inputs = [Inputs((rng.normal(size=(3, n)), n / 3)) for n in (2, 4, 5)]
    text = describe_repair_of(wrong, right, case_inputs)
    first = "In line 3 of your cell, `y = np.abs(x * n)`: without `np.abs` around `x * n`"
    second = "In line 4 of your cell, `return np.round(y - n)`: without `np.round` around `y - n`"
    assert text in (
        f"Two places are wrong. {one}. {other}. With both changes, every case is right."
        for one, other in ((first, second), (second, first))
    )


def make_one_place_search(shares, time=99, expects_one_number=False, all_right=()):
    """Return a search in which the changes that are on give these shares of right numbers."""
    search = object.__new__(repair._RepairSearch)
    search._first, search._improvements = "first", []
    search._expects_one_number = expects_one_number
    active, remaining = [(9,)], [True] * time
    search._has_time = lambda: bool(remaining) and remaining.pop()
    search._share_of_right_numbers = lambda code, case: shares[active[-1]]
    search._are_all_right = lambda code: active[-1] in all_right
    code = SimpleNamespace(
        mutations=[SimpleNamespace(rank=rank) for rank in (LEAVE_OUT, REPLACE, EXTEND, REPLACE)],
        activate=lambda *numbers: active.append(numbers),
        rank_mutations=lambda: [3, 0, 1, 2],
        describe_mutation="With change {}".format,
        replaces_whole_number=lambda number: number == 3,
    )
    return search, code


SHARES = {(): 0.5, (0,): 0.75, (1,): 0.5, (2,): 0.9, (3,): 1.0}


@pytest.mark.parametrize(
    ("options", "changes", "described", "improvements"),
    [
        ({}, {}, "", [(1.0, 3), (0.75, 0)]),
        ({"all_right": [(3,)]}, {}, "3", []),
        ({"all_right": [(3,)], "expects_one_number": True}, {}, "", [(0.75, 0)]),
        ({"all_right": [(0,)]}, {}, "", [(1.0, 3), (0.75, 0)]),
        ({"all_right": [(2,)]}, {(2,): 1.0}, "2", [(1.0, 3), (0.75, 0)]),
        ({"time": 1, "all_right": [(1,)]}, {(1,): 1.0}, "", [(1.0, 3)]),
        ({}, {(): 1.0}, "", []),
        ({"all_right": [(3,)]}, {(): 1.0}, "3", []),
    ],
)
def test_one_change_is_told_if_it_makes_all_right_and_kept_if_it_improves(
    options, changes, described, improvements
):
    search, code = make_one_place_search(SHARES | changes, **options)
    text = search.find_one_place_repair(code)
    sentence = f"One place is wrong. With change {described}, every case is right."
    assert text == (sentence if described else "")
    assert search._improvements == improvements


@pytest.mark.parametrize(
    ("shares", "all_right", "time", "described"),
    [
        ({(1, 2): 1.0}, [(1, 2)], 9, "1. With change 2"),
        ({(1, 2): 1.0, (1, 3): 1.0}, [(1, 3)], 9, "1. With change 3"),
        ({(1, 2): 0.9}, [(1, 2)], 9, ""),
        ({(1, 2): 1.0}, [(1, 2)], 0, ""),
        ({(4, 2): 1.0}, [(4, 2)], 9, "4. With change 2"),
        ({(4, 2): 1.0}, [(4, 2)], 2, ""),
        ({(5, 2): 1.0}, [(5, 2)], 9, ""),  # the first alone makes every failing case right
    ],
)
def test_two_changes_are_tried_on_the_case_that_the_first_leaves_wrong(
    shares, all_right, time, described
):
    search, code = make_one_place_search({}, time, all_right=all_right)
    active = [()]
    code.activate = lambda *numbers: active.append(numbers)
    failing = {(1,): "left by 1", (4,): "left by 4", (5,): None}
    asked = []

    def share(code, case):
        assert case == failing[active[-1][:1]]
        asked.append(active[-1])
        return shares.get(active[-1], 0.0)

    search._share_of_right_numbers = share
    search._first_failing = lambda code: failing[active[-1]]
    search._are_all_right = lambda code: active[-1] in all_right
    search._list_mutation_pairs = lambda code: [(1, 2), (1, 3), (4, 2), (5, 2)]
    text = search.find_two_place_repair(code)
    sentence = f"Two places are wrong. With change {described}. With both changes, every case is"
    assert text == (f"{sentence} right." if described else "")
    assert active.count((1,)) <= 1, "the first change is switched on once for all its pairs"


def test_all_cases_have_to_be_right_and_the_first_that_is_not_is_tried():
    search, code = make_search([], {0: "abcd", 1: "abc", 2: "acd", 3: ""})
    outcomes = []
    for number in range(4):
        code.activate(number)
        outcomes.append((search._are_all_right(code), search._first_failing(code)))
    assert outcomes == [(True, None), (False, None), (False, "b"), (False, "a")]


@pytest.mark.parametrize(
    ("result", "rules", "share"),
    [
        (None, {}, 0.0),
        (None, {"view": "sorted"}, 0.0),
        (np.array([1.0, 2.0]), {}, 0.5),
        (np.array([1.0, 2.0]), {"view": "sorted"}, 1.0),
        (np.array([1.0, 2.0]), {"compare": "course:compare"}, 1.0),
    ],
)
def test_only_a_comparison_of_its_own_can_tell_the_share(result, rules, share):
    def change(x):
        x += 1
        return result

    search = object.__new__(repair._RepairSearch)
    search._rules = SimpleNamespace(**({"view": "", "compare": ""} | rules))
    case = make_case(np.array([1.0, 3.0]), np.zeros(2))
    code = SimpleNamespace(function=change, run=lambda call: call())
    assert search._share_of_right_numbers(code, case) == share
    assert case.inputs.args[0].tolist() == [0, 0], "the case stays for the next change"


@pytest.mark.parametrize(
    ("value", "count"),
    [(3, 1), ("abc", 1), (np.ones((2, 3)), 6), ((np.ones(2), 1.0), 3), ([(1, 2), [3]], 3), ((), 0)],
)
def test_the_numbers_of_a_result_are_those_of_its_parts(value, count):
    assert repair._count_numbers(value) == count
