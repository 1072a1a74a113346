"""What an author wants to know of the exercises: is each mistake caught under its name, each right answer taken?"""

from collections.abc import Callable, Iterator, Sequence

from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import Lab
from autograder.judging.answer import Answer, ask
from autograder.judging.judge import Finding, judge
from autograder.judging.question import Question
from autograder.results import Verdict


def weaknesses(lab: Lab, seed: int | None = None) -> list[str]:
    """A sentence for each misconception that is not caught, or under another name, and each refused variant.

    Parameters
    ----------
    seed : int, optional
        Of fresh cases; by default the visible ones.
    """
    return [sentence for exercise in lab.exercises.values() for sentence in _weak(exercise, seed)]


def _weak(exercise: Exercise, seed: int | None) -> Iterator[str]:
    where = f"{exercise.lab.name}: {exercise.name}"
    # Fresh cases have corners too, two edges at once; which mistake it is shows without them.
    questions = exercise.questions(seed)[: len(exercise.questions())]
    if not questions:
        yield f"{where} has no case; give it one, or a domain."
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
    for variant in exercise.variants:
        finding = found(exercise, questions, answers_of(variant, exercise, questions))
        if finding.verdict is not Verdict.PASS:
            yield f"{where}: the right answer {variant.__name__!r} is refused. {finding.message}"


def answers_of(function: Callable, exercise: Exercise, questions: Sequence[Question]) -> list[Answer]:
    """What a function answers to these questions."""
    return [ask(function, question.inputs, exercise.rules.call) for question in questions]


def found(exercise: Exercise, questions: Sequence[Question], answers: Sequence[Answer]) -> Finding:
    """The judge's finding on these answers."""
    return judge(questions, answers, exercise.rules, exercise.misconceptions, exercise.name)
