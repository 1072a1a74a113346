"""A function, a generator or an object among the answers: what its author asks of it is judged."""

import operator

import numpy as np
import pytest
from test_functions import course_of, hand_in, run, told_when_marked
from test_proof import lab_of

from autograder.authoring import first, inputs, made, result
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.proof import answers_of, found, weaknesses
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference
from autograder.judging.frames import decode, encode, pack_answer, pack_inputs, unpack_answer, unpack_inputs
from autograder.judging.judge import judge
from autograder.judging.kinds import Once, as_value, mapped_inputs
from autograder.judging.question import Answer, Question, Raised, Rules


def told(reference, answer, given):
    """What is said of an answer where both question and answer have travelled; None where it is right."""
    given = mapped_inputs(given, as_value)
    due = ask(reference, given)
    assert not due.error, due
    arrays = []
    header, received = decode(encode({"given": pack_inputs(given, arrays)}, arrays))
    arrays = []
    packed = pack_answer(ask(answer, unpack_inputs(header["given"], received)), arrays)
    header, received = decode(encode({"answer": packed}, arrays))
    came = unpack_answer(header["answer"], Once(received))
    found = judge([Question("", given, due.value, {})], [came], Rules(), [], "answer")
    return found.seen or None


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

    def __add__(self, other):
        return Account(self.balance + other.balance)


class Changed(Account):
    """The same but for what is given here."""


def changed(**of):
    return type("Changed", (Account,), of)


def squares(start):
    while True:
        yield start**2
        start += 1


CALLED = inputs(2.0, 1.0).then(result(1.5), result(np.array([0.0, 1.0])), result(x=2))
BANK = inputs(10).then(
    result.deposit(5).balance,
    result.log,
    result.log[0],
    made(len, result),
    made(operator.add, result, result).balance,
)
GONE_THROUGH = inputs(3).then(first(result, 4), made(next, result))


def linear(slope, height):
    return lambda x: height * x + slope


@pytest.mark.parametrize(("reference", "answer", "given", "sentence"), [
    (line, line, CALLED, None),
    (line, linear, CALLED, "Your result, called with 1.5, gives 3.5; 4 is due."),
    (line, lambda a, b: lambda x: 4.0, CALLED,
     "Your result, called with a NumPy array of shape (2,), gives a number (float); a NumPy array of shape (2,) is due."),
    (line, lambda a, b: lambda x: np.where(x == 0, 9, a * x + b) if np.ndim(x) else a * x + b, CALLED,
     "Your result, called with a NumPy array of shape (2,): 1 of 2 numbers differ, most at [0]: yours 9, expected 1."),
    (line, lambda a, b: lambda y: a * y + b, CALLED,
     "Your result, called with x=2, raised TypeError: <lambda>.<locals>.<lambda>() got an unexpected keyword argument 'x'."),
    (line, lambda a, b: a * 1.5 + b, CALLED,
     "Your function returned a float; what can be called with 1.5 is due."),
    (line, lambda a, b: lambda x: (n for n in "a"), CALLED,
     "Your result, called with 1.5, gives a generator, which cannot be compared. A number (float) is due."),
    (line, lambda a, b: print(a), CALLED, "Your function returned None."),
    (line, lambda a, b: 1 / 0, CALLED, "Your function raised ZeroDivisionError: division by zero."),
    (Account, Account, BANK, None),
    (Account, changed(deposit=lambda self, n: self), BANK, "Your result's `deposit(5).balance` is 10; 15 is due."),
    (Account, changed(deposit=lambda self, n: None), BANK,
     "Your result's `deposit(5).balance` raised AttributeError: 'NoneType' object has no attribute 'balance'."),
    (Account, changed(log=[1, 2], __init__=lambda s, n: setattr(s, "balance", n)), BANK,
     "Your result's `log`: there are 3 values; 1 is due."),
    (Account, changed(__len__=lambda self: 7), BANK, "`len(result)` of your result is 7; 1 is due."),
    (squares, squares, GONE_THROUGH, None),
    (squares, lambda n: (i * i for i in range(n, n + 9)), GONE_THROUGH, None),
    (squares, lambda n: [n**2 for n in range(n, n + 9)], GONE_THROUGH,
     "`next(result)` of your result raised TypeError: 'list' object is not an iterator."),
    (squares, lambda n: iter([9, 16, 25]), GONE_THROUGH,
     "`first(result, 4)` of your result: there are 3 values; 4 are due."),
    (squares, lambda n: iter([9, 16, 25, 37, 1]), GONE_THROUGH,
     "`first(result, 4)` of your result: in the fourth of its 4 values: there is 37; 36 is due."),
])  # fmt: skip
def test_what_is_asked_of_a_result(reference, answer, given, sentence):
    assert told(reference, answer, given) == sentence


def test_what_a_result_hands_out_is_taken_when_it_is_asked():
    given = mapped_inputs(inputs(1).then(result.log, result.deposit(2).log), as_value)
    assert ask(Account, given).value == ([], [2])
    assert ask(Account, given).value == ([], [2])  # a result of its own each time


def test_an_error_is_due_of_what_is_asked():
    given = mapped_inputs(inputs(1).then(result.pay(5)), as_value)
    due = Raised("ValueError", "too little")
    assert first_difference(due, ask(Account, given), Rules(), given) is None
    answer = ask(changed(pay=lambda self, amount: 0), given)
    assert first_difference(due, answer, Rules(), given).seen == (
        "Your function returned a tuple; a ValueError is to be raised here."
    )


@pytest.mark.parametrize("forged", [5, None, (), (1,), (1, 2, 3), [1, 2], {"a": 1}])
@pytest.mark.parametrize("error", ["", "ValueError: no"])
@pytest.mark.parametrize("kind", ["tuple", "list", "generator", "NoneType"])
def test_what_no_result_gives_is_wrong_and_ends_nothing(forged, error, kind):
    given = mapped_inputs(inputs(1).then(result(1), result(2)), as_value)
    question = Question("", given, (1, 2.5), {})
    assert judge([question], [Answer(forged, kind, error)], Rules(), [], "f").right == (False,)


class Hostile:
    """Every question that Python asks of an object is answered with another such."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self

    __getitem__ = __iter__ = __next__ = __add__ = __call__
    __eq__ = __lt__ = lambda self, other: True
    __hash__ = object.__hash__


def test_a_hostile_object_is_wrong_and_costs_little():
    for reference, given in ((line, CALLED), (Account, BANK), (squares, GONE_THROUGH)):
        assert told(reference, lambda *args: Hostile(), given).startswith(("Your result", "`first("))
        assert told(reference, lambda *args: exit, given).startswith(("Your result", "`first("))


# Authors


@pytest.mark.parametrize(("case", "rules", "words"), [
    (lambda rng: inputs(1.0, 2.0), {}, r"returns a function .* Say what is asked of it, as in `inputs\(…\)\.then"),
    (lambda rng: inputs(1.0, 2.0).then(result.slope), {}, "AttributeError: 'function' object has no attribute 'slope'"),
    (lambda rng: inputs(1.0, 2.0).then(result.__call__), {}, "is to hold what is asked of `result`"),
    (lambda rng: inputs(1.0, 2.0).then(str(result)), {}, "is to hold what is asked of `result`"),
    (lambda rng: inputs(1.0, 2.0).then(result(1)), {"call": "in place"}, "no result is asked"),
    (lambda rng: inputs(1.0, 2.0).then(result(1)), {"call": "figure"}, "no result is asked"),
    (lambda rng: inputs(1.0, 2.0).then(made(lambda r: r, result)), {}, "at the top of a module"),
])  # fmt: skip
def test_what_cannot_be_asked_is_a_sentence(case, rules, words):
    with pytest.raises(ExerciseError, match=words):
        weaknesses(lab_of(line, case, **rules))


def test_a_reference_that_returns_nothing_cannot_be_asked():
    with pytest.raises(ExerciseError, match="returned None"):
        weaknesses(lab_of(lambda x: None, lambda rng: inputs(1).then(result(1))))


def test_what_takes_no_thought_is_refused_and_the_rest_is_proved():
    def drawn(rng):
        return inputs(2.0, rng.normal()).then(result(rng.normal()))

    assert weaknesses(lab_of(line, drawn)) == []
    (sentence,) = weaknesses(lab_of(lambda a, b: lambda x: 0.0, drawn))
    assert "what gives zeros of the right shape is right in every case" in sentence
    assert weaknesses(lab_of(Account, lambda rng: inputs(7).then(result.balance))) == []


def test_a_mistake_that_raises_as_it_should_is_known_whatever_it_says():
    def half(x):
        if x < 0:
            raise ValueError("below zero")
        return x / 2

    def twice(x, said="no"):
        if x < 0:
            raise ValueError(said)
        return x * 2

    lab = lab_of(half, lambda rng: inputs(rng.uniform()))
    exercise = lab.exercises["answer"]
    exercise.case("below", raises=ValueError)(lambda rng: inputs(-1.0))
    exercise.misconception(means="You took it twice.", nudge="Half?")(twice)
    questions = exercise.questions()
    answers = answers_of(lambda x: twice(x, "not below zero"), exercise, questions)
    assert found(exercise, questions, answers).misconception == "twice"


# A course

EXERCISES = {
    "Account": (
        """\
from autograder.authoring import Exercise, first, inputs, result

Account = Exercise("Account", points=2)


@Account.case("two deposits")
def deposits(rng):
    one, two = (int(n) for n in rng.integers(1, 100, size=2))
    return inputs(one).then(result.balance, result.deposit(two).balance, first(result.rates(), 3))


@Account.case("more than there is", raises=ValueError)
def overdrawn(rng):
    return inputs(1).then(result.deposit(-2))


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
    "takes": (RIGHT.replace("if amount < 0", "if False"), "a ValueError is to be raised here"),
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
@pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")
def test_a_course_with_a_class_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {}, EXERCISES)
    facts = course.root / "solutions" / "first-steps" / "lab.toml"
    facts.write_text(facts.read_text() + "\n[limits]\ncall_seconds = 1\n")
    run(course, "build")
    hand_in(course, "Account", {student: answer for student, (answer, _) in ANSWERS.items()})
    told = told_when_marked(course, "Account")
    assert {name for name in told if told[name].startswith("Right in all")} == {"right"}
    assert not [name for name, (_, sentence) in ANSWERS.items() if sentence not in told[name]], told
    for name, code in (("right", 0), ("sets", 1), ("misnames", 1)):
        one = course.root / "classroom" / "submitted" / name / "first-steps" / "first-steps.ipynb"
        assert code == 0 or ANSWERS[name][1] in run(course, "check", one, code=code)
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("sets/**/*.html")).read_text()
    assert ANSWERS["sets"][1] in page
