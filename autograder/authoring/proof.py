"""What an author wants to know of the exercises: is each mistake caught under its name, each right answer taken?

And can each be failed: what takes no thought must not pass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import Lab
from autograder.judging.answer import ask, pack
from autograder.judging.compare import first_difference
from autograder.judging.frames import encode, pack_inputs
from autograder.judging.judge import Finding, judge
from autograder.judging.kinds import zeros
from autograder.judging.question import Answer, Inputs, Question, Rules, Value
from autograder.judging.tested import TEST, zeros_heard
from autograder.results import Verdict


def weaknesses(lab: Lab) -> list[str]:
    """A sentence for each misconception that is not caught, or under another name, and each refused variant."""
    return [sentence for exercise in lab.exercises.values() for sentence in _weak(exercise)]


def _weak(exercise: Exercise) -> Iterator[str]:
    where = f"{exercise.lab.name}: {exercise.name}"
    questions = exercise.questions() + exercise.hidden_questions()
    exercise.try_proposed()
    if not questions:
        yield f"{where} has no case; give it one, or a domain."
    if any("\n" in str(q.inputs.kwargs.get(TEST, "")) for q in exercise.questions()):
        yield f"{where}: the test of a case that students see is a text; a function of the course's library is due."
    for words, answers in _thoughtless(questions, exercise.rules):
        pairs = zip(questions, answers, strict=True)
        if not any(first_difference(q.expected, a, exercise.rules, q.inputs) for q, a in pairs):
            yield (
                f"{where}: {words} is right in every case; add one in which it is not. What an exercise leaves in "
                'its arguments is judged with `call="in place"`, and what it prints with `returns="printed"`; '
                "a file is not judged: let it return something."
            )
    for misconception in exercise.misconceptions:
        answers = [question.mistakes[misconception.name] for question in questions]
        finding = found(exercise, questions, answers)
        if finding.verdict is Verdict.PASS:
            yield f"{where}: the misconception {misconception.name!r} gives the right answer in every case."
        elif finding.misconception != misconception.name:
            yield (
                f"{where}: the misconception {misconception.name!r} is named {finding.misconception!r}; add a case "
                "that tells the two apart, or list the more special one first."
            )
    for variant in [exercise.reference, *exercise.variants] if exercise.rules.compare else exercise.variants:
        finding = found(exercise, questions, answers_of(variant, exercise, questions))
        if finding.verdict is not Verdict.PASS:
            yield f"{where}: the right answer {getattr(variant, '__name__', exercise.name)!r} is refused. {finding.message}"


def _thoughtless(questions: Sequence[Question], rules: Rules) -> Iterator[tuple[str, list[Answer]]]:
    """Answers that anybody could give, with what each makes of the questions."""
    if rules.call == "in place":
        yield "`pass`", [Answer({}, "dict")] * len(questions)
        yield "zeros of the right shape", _returned(map(_zeros, questions))
        return
    yield "`pass`", [Answer(None, "NoneType")] * len(questions)
    if any(question.inputs.asked for question in questions):
        yield "what gives zeros of the right shape", _returned(map(_zeros, questions))
        return
    several = len({_as_bytes(question.inputs) for question in questions}) > 1
    if rules.compare and several and not any(TEST in question.inputs.kwargs for question in questions):
        others = [*questions[1:], questions[0]]
        yield "what is right in another case", _returned(question.expected for question in others)
    by_place = [
        dict(enumerate(question.inputs.args, 1)) | dict(question.inputs.kwargs) for question in questions
    ]
    for place in dict.fromkeys(place for given in by_place for place in given):
        yield f"argument {place} given back", _returned(given.get(place) for given in by_place)
    yield "all arguments given back", _returned(question.inputs.args for question in questions)
    yield "zeros of the right shape", _returned(map(_zeros, questions))


def _zeros(question: Question) -> Value:
    of = zeros_heard if TEST in question.inputs.kwargs else zeros
    return of(question.expected)


def _returned(values: Iterable[Value]) -> list[Answer]:
    return [Answer(value, kind) for kind, value in map(pack, values)]


def doubts(lab: Lab) -> list[str]:
    """What to think over: domains that are only proposed, and exercises that a table of the visible cases answers."""
    found = []
    for exercise in lab.exercises.values():
        if exercise.proposed:
            found.append(
                f"{lab.name}: the domain of {exercise.name} is proposed and not asked yet; read it, and take out "
                "`proposed=True` where every right answer holds all over it."
            )
        elif _all_seen(exercise):
            found.append(
                f"{lab.name}: every case of {exercise.name} is one that students see, so a table of these answers "
                "it; give it a domain, or draw a case from the `rng` that it is given."
            )
    return found


def _all_seen(exercise: Exercise) -> bool:
    if not any(given.args or given.kwargs for _, given, _ in exercise.draw()):
        return False  # it is asked without arguments, so there is nothing to draw
    seen = {_as_bytes(given) for _, given, _ in exercise.draw()}
    return all(_as_bytes(given) in seen for seed in range(2) for _, given, _ in exercise.draw(seed))


def _as_bytes(given: Inputs) -> bytes:
    arrays: list[np.ndarray] = []
    return encode(pack_inputs(given, arrays), arrays)


def answers_of(function: Callable, exercise: Exercise, questions: Sequence[Question]) -> list[Answer]:
    """What a function answers to these questions."""
    return [ask(function, question.inputs, exercise.rules.call) for question in questions]


def found(exercise: Exercise, questions: Sequence[Question], answers: Sequence[Answer]) -> Finding:
    """The judge's finding on these answers."""
    return judge(questions, answers, exercise.rules, exercise.misconceptions, exercise.name)
