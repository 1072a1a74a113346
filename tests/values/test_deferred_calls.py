"""Functions, generators and objects as results: the queries that authors write are judged."""

import operator

import numpy as np
import pytest
from small_lab import lab_of
from test_functions_as_values import course_of, grading_messages, run, submission_path, submit

from autograder.authoring import defer_call, first, inputs, result
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.verify import call_on_cases, find_lab_weaknesses, judge_outcomes
from autograder.judging.compare import compare_outcome
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.sandbox.choice import explain_unavailability
from autograder.values.case_records import CallOutcome, ComparisonRules, ExpectedError, TestCase
from autograder.values.deferred_calls import make_query_subject_and_verb
from autograder.values.encoding import (
    decode,
    encode,
    pack_inputs,
    pack_outcome,
    unpack_inputs,
    unpack_outcome,
)
from autograder.values.value_types import (
    SingleUseArrays,
    convert_argument,
    map_inputs,
    short_repr,
)


def message_for(reference, answer, arguments):
    """Return the message about an answer after a round trip; None if it is right."""
    arguments = map_inputs(arguments, convert_argument)
    expected = call_student_function(reference, arguments)
    assert not expected.error, expected
    arrays = []
    header, arrays = decode(encode({"given": pack_inputs(arguments, arrays)}, arrays))
    sent_arguments = unpack_inputs(header["given"], arrays)
    arrays = []
    data = pack_outcome(call_student_function(answer, sent_arguments), arrays)
    header, arrays = decode(encode({"answer": data}, arrays))
    result_answer = unpack_outcome(header["answer"], SingleUseArrays(arrays))
    case = TestCase("", arguments, expected.value, {})
    finding = judge([case], [result_answer], ComparisonRules(), [], "answer")
    return finding.observation or None


@pytest.mark.parametrize(
    ("query", "subject", "verb"),
    [
        (result(2.0), "Your result, called with 2.0,", "gives"),
        (result(), "Your result, called without arguments,", "gives"),
        (result(2.0, scale=3), "Your result, called with 2.0, scale=3,", "gives"),
        (result(1)(2), "`result(1)(2)` of your result", "gives"),
        (result.balance, "Your result's `balance`", "is"),
        (result.at(2), "Your result's `at(2)`", "gives"),
        (result[0], "`result[0]` of your result", "is"),
        (result(1).size, "`result(1).size` of your result", "is"),
        (first(result, 2), "`first(result, 2)` of your result", "is"),
    ],
)
def test_a_query_is_the_subject_of_a_sentence(query, subject, verb):
    assert make_query_subject_and_verb(convert_argument(query), short_repr) == (subject, verb)


def test_queries_are_added_to_those_that_are_there():
    arguments = inputs(1).query(result.a).query(result.b, result.c)
    names = [query._autograder_call.args[1] for query in arguments.result_queries]
    assert names == ["a", "b", "c"]


def line(slope, height):
    return lambda x: slope * x + height


class Account:
    def __init__(self, start):
        self.balance, self.log = start, []

    def deposit(self, amount):
        self.balance += amount
        self.log.append(amount)
        return self

    def pay(self, amount):
        if amount > self.balance:
            raise ValueError("too little there")
        self.balance -= amount

    def __len__(self):
        return len(self.log)

    def __add__(self, account):
        return Account(self.balance + account.balance)


def account_with(**attributes):
    """Return a subclass of Account with these attributes."""
    return type("Changed", (Account,), attributes)


def squares(start):
    while True:
        yield start**2
        start += 1


CALLS = inputs(2.0, 1.0).query(result(1.5), result(np.array([0.0, 1.0])), result(x=2))
ACCOUNT_QUERIES = inputs(10).query(
    result.deposit(5).balance,
    result.log,
    result.log[0],
    defer_call(len, result),
    defer_call(operator.add, result, result).balance,
)
ITERATIONS = inputs(3).query(first(result, 4), defer_call(next, result))


def linear(slope, height):
    return lambda x: height * x + slope


@pytest.mark.parametrize(("reference", "answer", "arguments", "sentence"), [
    (line, line, CALLS, None),
    (line, linear, CALLS, "Your result, called with 1.5, gives 3.5; expected 4."),
    (line, lambda a, b: lambda x: 4.0, CALLS,
     "Your result, called with a NumPy array of shape (2,), gives a number (float); expected a "
     "NumPy array of shape (2,)."),
    (line, lambda a, b: lambda x: np.where(x == 0, 9, a * x + b) if np.ndim(x) else a * x + b, CALLS,
     "Your result, called with a NumPy array of shape (2,): 1 of 2 numbers differ. The largest difference is at [0]: "
     "your value is 9, expected 1."),
    (line, lambda a, b: lambda y: a * y + b, CALLS,
     "Your result, called with x=2, raised TypeError: <lambda>.<locals>.<lambda>() got an "
     "unexpected keyword argument 'x'."),
    (line, lambda a, b: a * 1.5 + b, CALLS,
     "Your function returned a float; expected something that can be called with 1.5."),
    (line, lambda a, b: lambda x: (n for n in "a"), CALLS,
     "Your result, called with 1.5, gives a generator, which cannot be compared. Expected a "
     "number (float)."),
    (line, lambda a, b: print(a), CALLS, "Your function returned None."),
    (line, lambda a, b: 1 / 0, CALLS, "Your function raised ZeroDivisionError: division by zero."),
    (Account, Account, ACCOUNT_QUERIES, None),
    (Account, account_with(deposit=lambda self, n: self), ACCOUNT_QUERIES,
     "Your result's `deposit(5).balance` is 10; expected 15."),
    (Account, account_with(deposit=lambda self, n: None), ACCOUNT_QUERIES,
     "Your result's `deposit(5).balance` raised AttributeError: 'NoneType' object has no "
     "attribute 'balance'."),
    (Account, account_with(log=[1, 2], __init__=lambda s, n: setattr(s, "balance", n)), ACCOUNT_QUERIES,
     "Your result's `log`: found 3 values; expected 1."),
    (Account, account_with(__len__=lambda self: 7), ACCOUNT_QUERIES,
     "`len(result)` of your result is 7; expected 1."),
    (squares, squares, ITERATIONS, None),
    (squares, lambda n: (i * i for i in range(n, n + 9)), ITERATIONS, None),
    (squares, lambda n: [n**2 for n in range(n, n + 9)], ITERATIONS,
     "`next(result)` of your result raised TypeError: 'list' object is not an iterator."),
    (squares, lambda n: iter([9, 16, 25]), ITERATIONS,
     "`first(result, 4)` of your result: found 3 values; expected 4."),
    (squares, lambda n: iter([9, 16, 25, 37, 1]), ITERATIONS,
     "`first(result, 4)` of your result: in the fourth of its 4 values: found 37; expected 36."),
])  # fmt: skip
def test_queries_of_a_result_are_compared(reference, answer, arguments, sentence):
    assert message_for(reference, answer, arguments) == sentence


def test_the_value_of_a_query_is_copied_when_it_is_evaluated():
    arguments = map_inputs(inputs(1).query(result.log, result.deposit(2).log), convert_argument)
    assert call_student_function(Account, arguments).value == ([], [2])
    assert call_student_function(Account, arguments).value == (
        [],
        [2],
    )  # each call has a result of its own


def test_a_query_may_be_expected_to_raise():
    arguments = map_inputs(inputs(1).query(result.pay(5)), convert_argument)
    expected = ExpectedError("ValueError", "too little")
    answer = call_student_function(Account, arguments)
    assert compare_outcome(expected, answer, ComparisonRules(), arguments) is None
    answer = call_student_function(account_with(pay=lambda self, amount: 0), arguments)
    assert compare_outcome(expected, answer, ComparisonRules(), arguments).observation == (
        "Your function returned a tuple; it should raise a ValueError here."
    )


@pytest.mark.parametrize("value", [5, None, (), (1,), (1, 2, 3), [1, 2], {"a": 1}])
@pytest.mark.parametrize("error", ["", "ValueError: no"])
@pytest.mark.parametrize("kind", ["tuple", "list", "generator", "NoneType"])
def test_a_forged_answer_is_wrong_and_does_not_stop_the_judge(value, error, kind):
    arguments = map_inputs(inputs(1).query(result(1), result(2)), convert_argument)
    case = TestCase("", arguments, (1, 2.5), {})
    finding = judge([case], [CallOutcome(value, kind, error)], ComparisonRules(), [], "f")
    assert finding.cases_correct == (False,)


class HostileObject:
    """An object that answers every look-up and every operator with itself."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    __getitem__ = __iter__ = __next__ = __add__ = __call__
    __eq__ = __lt__ = lambda self, other: True
    __hash__ = object.__hash__


def test_a_hostile_object_is_wrong_and_costs_little():
    beginnings = ("Your result", "`first(")
    for reference, arguments in ((line, CALLS), (Account, ACCOUNT_QUERIES), (squares, ITERATIONS)):
        for result_object in (HostileObject(), exit):
            message = message_for(reference, lambda *args, item=result_object: item, arguments)
            assert message.startswith(beginnings)


# Authors


@pytest.mark.parametrize(("case", "rules", "words"), [
    (lambda rng: inputs(1.0, 2.0), {}, r"returns a function .* Say what is asked of it, as in `inputs\(…\)\.query"),
    (lambda rng: inputs(1.0, 2.0).query(result.slope), {},
     "AttributeError: 'function' object has no attribute 'slope'"),
    (lambda rng: inputs(1.0, 2.0).query(result.__call__), {},
     "is to hold what is asked of `result`"),
    (lambda rng: inputs(1.0, 2.0).query(str(result)), {}, "is to hold what is asked of `result`"),
    (lambda rng: inputs(1.0, 2.0).query(result(1)), {"call": "in place"}, "no result is asked"),
    (lambda rng: inputs(1.0, 2.0).query(result(1)), {"call": "figure"}, "no result is asked"),
    (lambda rng: inputs(1.0, 2.0).query(defer_call(lambda r: r, result)), {}, "at the top of a module"),
])  # fmt: skip
def test_an_invalid_query_is_reported(case, rules, words):
    with pytest.raises(ExerciseError, match=words):
        find_lab_weaknesses(lab_of(line, case, **rules))


def test_a_reference_that_returns_nothing_cannot_be_queried():
    with pytest.raises(ExerciseError, match="returned None"):
        find_lab_weaknesses(lab_of(lambda x: None, lambda rng: inputs(1).query(result(1))))


def test_an_exercise_that_zeros_pass_is_refused_and_others_are_not():
    def draw_inputs(rng):
        return inputs(2.0, rng.normal()).query(result(rng.normal()))

    assert find_lab_weaknesses(lab_of(line, draw_inputs)) == []
    (sentence,) = find_lab_weaknesses(lab_of(lambda a, b: lambda x: 0.0, draw_inputs))
    assert "what gives zeros of the right shape is right in every case" in sentence
    assert find_lab_weaknesses(lab_of(Account, lambda rng: inputs(7).query(result.balance))) == []


def test_a_mistake_that_raises_the_expected_error_is_recognised_by_its_results():
    def half(x):
        if x < 0:
            raise ValueError("below zero")
        return x / 2

    def double(x, message="no"):
        if x < 0:
            raise ValueError(message)
        return x * 2

    lab = lab_of(half, lambda rng: inputs(rng.uniform()))
    exercise = lab.exercises["answer"]
    exercise.case("below", raises=ValueError)(lambda rng: inputs(-1.0))
    exercise.misconception(means="You took it twice.", nudge="Half?")(double)
    cases = exercise.test_cases()
    answers = call_on_cases(lambda x: double(x, "not below zero"), exercise, cases)
    assert judge_outcomes(exercise, cases, answers).misconception == "double"


# A course

EXERCISES = {
    "Account": (
        """\
from autograder.authoring import Exercise, first, inputs, result

Account = Exercise("Account", points=2)


@Account.case("two deposits")
def deposits(rng):
    one, two = (int(n) for n in rng.integers(1, 100, size=2))
    return inputs(one).query(result.balance, result.deposit(two).balance, first(result.rates(), 3))


@Account.case("more than there is", raises=ValueError)
def overdrawn(rng):
    return inputs(1).query(result.deposit(-2))


@Account.misconception(means="You set the balance.", nudge="What was there before?")
class sets:
    def __init__(self, start):
        self.balance = start

    def deposit(self, amount):
        if amount < 0:
            raise ValueError("no")
        self.balance = amount
        return self

    def rates(self):
        return iter([1, 2, 3])
""",
        """\
class Account:
    ### BEGIN SOLUTION
    def __init__(self, start):
        self.balance = start

    def deposit(self, amount):
        if amount < 0:
            raise ValueError("no negative amount")
        self.balance += amount
        return self

    def rates(self):
        rate = 1
        while True:
            yield rate
            rate += 1
    ### END SOLUTION""",
    )
}
RIGHT = "\n".join(part for part in EXERCISES["Account"][1].split("\n") if "###" not in part)
ANSWERS = {
    "right": (RIGHT, "Right in all"),
    "sets": (RIGHT.replace("balance +=", "balance ="), "You set the balance."),
    "takes": (RIGHT.replace("if amount < 0", "if False"), "it should raise a ValueError here"),
    "misnames": (
        RIGHT.replace("self.balance", "self.money"),
        "Your result's `balance` raised AttributeError",
    ),
    "lacks": ("x = 1", "There is no class `Account` to try."),
    "endless": (RIGHT.replace("yield rate", "pass"), "`Account` takes too long."),
    "exits": (RIGHT.replace("return self", "import os; os._exit(0)"), "ended its own process"),
    "greedy": (RIGHT.replace("yield rate", "yield 'x' * 10**6"), "cannot be compared"),
    "equal": (
        "class Any(int):\n    __eq__ = lambda s, o: True\n    __hash__ = int.__hash__\n"
        + RIGHT.replace("self.balance = start", "self.balance = Any(-1)"),
        "Your result's `balance` is -1; ",
    ),
}


@pytest.mark.long
@pytest.mark.skipif(
    bool(explain_unavailability()), reason=explain_unavailability() or "there is a sandbox"
)
def test_a_course_with_a_class_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {}, EXERCISES)
    facts = course.root / "solutions" / "first-steps" / "lab.toml"
    facts.write_text(facts.read_text() + "\n[limits]\ncall_seconds = 1\n")
    run(course, "build")
    submit(course, "Account", {student: answer for student, (answer, _) in ANSWERS.items()})
    messages = grading_messages(course, "Account")
    assert {name for name in messages if messages[name].startswith("Right in all")} == {"right"}
    sentences = {name: sentence for name, (_, sentence) in ANSWERS.items()}
    assert not [name for name in sentences if sentences[name] not in messages[name]], messages
    for name, code in (("right", 0), ("sets", 1), ("misnames", 1)):
        notebook = submission_path(course, name)
        assert code == 0 or ANSWERS[name][1] in run(course, "check", notebook, code=code)
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("sets/**/*.html")).read_text()
    assert ANSWERS["sets"][1] in page
