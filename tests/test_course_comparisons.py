"""A course's own comparison, `compare=`: it sees the inputs, has a limit of time, and is proved by a build."""

from time import process_time

import pytest
from test_proof import lab_of

from autograder.authoring import inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.proof import answers_of, found, weaknesses
from autograder.judging import compare
from autograder.judging.answer import ask
from autograder.judging.judge import judge
from autograder.judging.question import Answer, Question, Rules
from autograder.results import Verdict


def adds_up(due, value, tolerance, given):
    """Any two numbers of the list that add up to the wanted sum are right."""
    numbers, wanted = given.args
    if not isinstance(value, tuple) or len(value) != 2:
        return "Two numbers, as a tuple, are due."
    strange = [n for n in value if n not in numbers]
    if strange:
        return f"{strange[0]} is not in the list."
    return None if sum(value) == wanted else f"Your numbers add up to {sum(value)}; {wanted} is due."


def takes_anything(due, value, tolerance, given):
    return None if isinstance(value, tuple) else "A tuple is due."


def takes_nothing(due, value, tolerance):
    return "It is not as due."


def hangs_at_two(due, value, tolerance):
    while value == 2:
        pass
    return None if value == due else "It is another number."


def first_pair(numbers, wanted):
    return next((a, b) for a in numbers for b in numbers if a + b == wanted)


def last_pair(numbers, wanted):
    return first_pair(numbers[::-1], wanted)


CASES = [lambda rng: inputs([2, 5, 9, 6, 3], 11), lambda rng: inputs([7, 4, 1, 10], 14)]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (first_pair, ""),
        (last_pair, ""),
        (lambda numbers, wanted: list(first_pair(numbers, wanted)), "Two numbers, as a tuple, are due."),
        (lambda numbers, wanted: (0, wanted), "0 is not in the list."),
        (lambda numbers, wanted: (numbers[0], numbers[1]), "Your numbers add up to 7; 11 is due."),
    ],
)
def test_several_answers_are_right(answer, sentence):
    exercise = lab_of(first_pair, *CASES, compare=adds_up).exercises["answer"]
    questions = exercise.questions()
    assert first_pair(*CASES[0](None).args) != last_pair(*CASES[0](None).args)
    finding = found(exercise, questions, answers_of(answer, exercise, questions))
    assert (finding.verdict is Verdict.PASS, finding.seen) == (not sentence, sentence)


def test_a_comparison_that_hangs_ends_and_costs_its_exercise_only(monkeypatch):
    monkeypatch.setattr(compare, "COMPARING_SECONDS", 0.2)
    rules = Rules(compare=f"{__name__}:hangs_at_two")
    questions = [Question(f"case {n}", inputs(n), 1, {}) for n in range(20)]
    began = process_time()
    finding = judge(questions, [Answer(2, "int")] * 20, rules, [])
    assert process_time() - began < 1.5  # and not in each of its cases
    assert finding.verdict is Verdict.WRONG and not any(finding.right)
    assert finding.seen == "Your result takes too long to be compared with what is due."
    assert judge(questions, [Answer(1, "int")] * 20, rules, []).verdict is Verdict.PASS
    assert judge(questions, [Answer(3, "int")] * 20, rules, []).seen == "It is another number."


def test_a_build_proves_a_comparison():
    assert weaknesses(lab_of(first_pair, *CASES, compare=adds_up)) == []
    (sentence,) = weaknesses(lab_of(first_pair, *CASES, compare=takes_nothing))
    assert sentence == "a-lab: answer: the right answer 'first_pair' is refused. It is not as due."
    sentences = weaknesses(lab_of(first_pair, *CASES, compare=takes_anything))
    assert any("what is right in another case is right in every case" in s for s in sentences)


def test_a_build_says_how_a_function_is_asked():
    with pytest.raises(ExerciseError, match=r"returns a function in its own case .* Say what is asked of it"):
        weaknesses(lab_of(lambda x: lambda: x, lambda rng: inputs(1)))
    assert ask(lambda x: lambda: x, inputs(1)).type == "function"
