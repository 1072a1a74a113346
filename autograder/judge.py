"""From answers to a finding: right or wrong, and which known mistake explains it.

The same judge serves the student's `check` (cases and outcomes from the answer key) and the grader
(fresh cases, outcomes computed on the trusted side).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.answer import Answer
from autograder.compare import STRUCTURAL, VIEWS, failing_property, first_difference, same_answer
from autograder.exercise import Misconception, Question, Rules
from autograder.results import Verdict


@dataclass(frozen=True)
class Finding:
    """What the judge found in one exercise's answers.

    Parameters
    ----------
    verdict : Verdict
        pass, wrong or error.
    misconception : str or None
    seen, means, nudge : str
        What was seen, what it means, a pointer; empty where there is nothing to say.
    case : int or None
        The index of the case that `seen` speaks of.
    kind : str
        `autograder.compare.Difference.kind` of that case; "" for a pass.
    """

    verdict: Verdict
    misconception: str | None = None
    seen: str = ""
    means: str = ""
    nudge: str = ""
    case: int | None = None
    kind: str = ""

    @property
    def message(self) -> str:
        """The sentences of the finding as one text."""
        return " ".join(part for part in (self.seen, self.means, self.nudge) if part)


def judge(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    rules: Rules,
    misconceptions: Iterable[Misconception],
) -> Finding:
    """Compare every answer with what its question expects.

    Parameters
    ----------
    questions, answers : sequences of the same length
    rules : Rules
    misconceptions : iterable of Misconception
        The more specific first: among those that explain the answers equally well, the first is named.
    """
    differences = [
        first_difference(question.expected, answer, rules)
        for question, answer in zip(questions, answers, strict=True)
    ]
    failing = [i for i, difference in enumerate(differences) if difference]
    if not failing:
        return Finding(Verdict.PASS)
    known = _best_explanation(questions, answers, failing, rules, misconceptions)
    first = failing[0]
    if known:  # speak of a case that the explanation fits
        first = next((i for i in failing if _gives(known, questions[i], answers[i], rules)), first)
    difference = differences[first]
    verdict = Verdict.ERROR if difference.kind == "error" else Verdict.WRONG
    question, answer = questions[first], answers[first]
    seen = difference.seen
    if known:
        return Finding(verdict, known.name, seen, known.means, known.nudge, first, difference.kind)
    if difference.mistake:
        means, nudge = STRUCTURAL[difference.mistake]
        name = None if difference.mistake == "not-written-yet" else difference.mistake
        return Finding(verdict, name, seen, means, nudge, first, difference.kind)
    means = failing_property(answer.value, question.inputs, rules.properties) or ""
    return Finding(verdict, None, seen, means, "", first, difference.kind)


def _best_explanation(questions, answers, failing, rules, misconceptions) -> Misconception | None:
    """The misconception that gives the most of these answers, and at least half of the failing ones."""
    best, best_score = None, (0, 0)
    for misconception in misconceptions:
        agree, misses = [], 0
        for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
            agree.append(_gives(misconception, question, answer, rules))
            misses += number in failing and not agree[-1]
            if misses * 2 > len(failing):
                break  # it cannot explain half of them any more; the rest need not be computed
        else:
            # That both raised the same kind of error says little, unless the whole pattern is the same.
            by_value = sum(agree[i] and not answers[i].error for i in failing)
            explained = len(failing) if all(agree) else by_value
            score = (explained, sum(agree))
            if explained * 2 >= len(failing) and score > best_score:
                best, best_score = misconception, score
    return best


def _gives(misconception: Misconception, question: Question, answer: Answer, rules: Rules) -> bool:
    """Whether a misconception gives this answer to this question."""
    theirs = question.mistakes[misconception.name]
    return same_answer(theirs, answer, VIEWS[rules.view], rules.tolerance, rules.returns)
