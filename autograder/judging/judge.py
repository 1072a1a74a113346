"""From answers to a finding: right or wrong, and which known mistake explains it.

The same judge serves the student's `check` (cases and outcomes from the answer key) and the grader
(fresh cases, outcomes computed on the trusted side).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.errors import listed
from autograder.judging.agreement import tolerance
from autograder.judging.compare import failing_property, first_difference, same_answer
from autograder.judging.forms import explained_by_a_form, form_of
from autograder.judging.kinds import PRECISION, arrays_in
from autograder.judging.mistakes import STRUCTURAL, Difference
from autograder.judging.patterns import in_common, right_parts, times, what_fits, what_holds
from autograder.judging.question import Answer, Misconception, Question, Raised, Rules, Value
from autograder.results import Verdict


@dataclass(frozen=True)
class Finding:
    """What the judge found in one exercise's answers.

    Parameters
    ----------
    verdict : Verdict
        pass, wrong or error.
    right : tuple of bool
        Of each case, whether it is right.
    misconception : str or None
    seen, means, nudge : str
        What was seen, what it means, a pointer; empty where there is nothing to say.
    case : int or None
        The index of the case that `seen` speaks of.
    question, answer, rules : optional
        That case, the answer to it, and how it was compared.
    difference : Difference or None
        What `seen` says, for those who show it.
    cause : str
        The exercise that is not written yet and that this one calls; "" usually.
    partly : bool
        Whether the misconception explains only some of the cases that fail.
    """

    verdict: Verdict
    right: tuple[bool, ...] = ()
    misconception: str | None = None
    seen: str = ""
    means: str = ""
    nudge: str = ""
    case: int | None = None
    question: Question | None = None
    answer: Answer | None = None
    rules: Rules | None = None
    difference: Difference | None = None
    cause: str = ""
    partly: bool = False

    @property
    def message(self) -> str:
        """The sentences of the finding as one text."""
        return " ".join(part for part in (self.seen, self.means, self.nudge) if part)

    @property
    def unwritten(self) -> bool:
        """Whether the exercise is still as it was handed out."""
        return self.difference is not None and self.difference.mistake == "not-written-yet"


def judge(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    rules: Rules,
    misconceptions: Iterable[Misconception],
    exercise: str = "",
    known_right: int = 0,
) -> Finding:
    """Compare every answer with what its question expects.

    Parameters
    ----------
    questions, answers : sequences of the same length
    rules : Rules
    misconceptions : iterable of Misconception
        The more specific first: among those that explain the answers equally well, the first is named.
    exercise : str
        The name of the function that was asked, to tell its own errors from those of what it calls.
    known_right : int
        How many of the first answers have been found right before, and are not compared again.
    """
    pairs = list(zip(questions, answers, strict=True))[known_right:]
    differences: list[Difference | None] = [None] * known_right
    slow = None  # the comparison that took too long: no other case is given as much time
    for question, answer in pairs:
        found = slow or first_difference(question.expected, answer, rules, question.inputs)
        slow = found if found and found.kind == "time" else None
        differences.append(found)
    differences = _all_of_precision(differences)
    right = tuple(difference is None for difference in differences)
    failing = [i for i, good in enumerate(right) if not good]
    if not failing:
        return Finding(Verdict.PASS, right)

    misconceptions = list(misconceptions)
    known, explained = _explanation(questions, answers, differences, rules, misconceptions)
    first = next((i for i in explained if i in failing), _commonest_error(differences, failing))
    difference = differences[first]
    assert difference is not None
    finding = Finding(
        Verdict.ERROR if difference.kind == "error" else Verdict.WRONG,
        right,
        seen=difference.seen,
        case=first,
        question=questions[first],
        answer=answers[first],
        rules=rules,
        difference=difference,
    )
    if _calls_a_stub(answers[first], exercise):
        cause = because(answers[first].within, written=False)
        told = replace(difference, seen=cause, mistake=None)
        return replace(finding, seen=cause, difference=told, cause=answers[first].within)
    also = _also_modified(answers[first], difference)
    part = sum(i in failing for i in explained)
    whole = sum(known.name in questions[i].mistakes for i in failing) if known else len(failing)
    mistakes = [differences[i].mistake for i in failing]  # type: ignore[union-attr]
    if part < whole and not (difference.mistake and mistakes.count(difference.mistake) == len(failing)):
        form = explained_by_a_form(questions, answers, differences, rules, misconceptions)
        if form:
            means = _joined(form.means, _elsewhere(answers[first], exercise), also)
            return replace(finding, misconception=form.name, means=means, nudge=form.nudge)
    formal = difference.kind != "error" and mistakes.count(difference.mistake) == len(failing)
    if known and not (part < whole and difference.mistake and formal):
        means = known.means
        if part < whole:
            means = f"In {part} of {whole} cases that fail, your result is what this mistake gives: {means}"
        means = _joined(means, also)
        return replace(finding, misconception=known.name, means=means, nudge=known.nudge, partly=part < whole)
    elsewhere = _elsewhere(answers[first], exercise)
    same = mistakes.count(difference.mistake)
    # An error is explained where it arises, whatever else is wrong elsewhere; all else must fit every case.
    if difference.mistake and (
        same == len(failing) or (difference.kind == "error" and 2 * same >= len(failing))
    ):
        means, nudge = STRUCTURAL[difference.mistake]
        name = None if difference.mistake == "not-written-yet" else difference.mistake
        where = in_common(questions, right) if difference.kind == "error" else ""
        means = _joined(difference.means or means, elsewhere, where, also)
        return replace(finding, misconception=name, means=means, nudge=nudge)
    raised = difference.mistake if difference.kind == "error" else None  # in a few of the cases that fail
    said = [
        (difference.means or STRUCTURAL[raised][0]) if raised else "",
        failing_property(answers[first].value, questions[first].inputs, rules.properties),
        _what_holds(questions, answers, differences, first, rules) if difference.kind == "values" else "",
        _what_fits(questions, answers, differences, first) if difference.kind == "shape" else "",
        elsewhere,
        in_common(questions, right),
        also,
    ]
    return replace(finding, means=_joined(*said))


def _all_of_precision(differences: list[Difference | None]) -> list[Difference | None]:
    """The differences, all of one name where each is small and some can be nothing but lost digits."""
    found = [difference for difference in differences if difference]
    names = [d.mistake for d in found if d.mistake in PRECISION]
    if not names or not all(d.near for d in found):
        return differences
    return [d and replace(d, mistake=names[0]) for d in differences]


def _commonest_error(differences: Sequence[Difference | None], failing: Sequence[int]) -> int:
    """The case to speak of: the first with an error that at least half of them raise, else the first of all."""
    kinds = [(d.mistake if d.kind == "error" else None) for i in failing if (d := differences[i])]
    for i, kind in zip(failing, kinds, strict=True):
        if kind and 2 * kinds.count(kind) >= len(failing):
            return i
    return failing[0]


def _joined(*sentences: str | None) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _also_modified(answer: Answer, difference: Difference) -> str:
    """That a wrong result is not all: an argument was changed too."""
    if not answer.modified or difference.kind == "modified":
        return ""
    names = listed([f"`{name}`" for name in answer.modified])
    return f"Besides, your function changed its argument {names}, which is the caller's own."


def _elsewhere(answer: Answer, exercise: str) -> str:
    """That an error arises in a function which the answer calls, not in the answer itself."""
    if (
        not answer.error
        or not exercise
        or answer.within in ("", exercise)
        or not answer.within.isidentifier()
    ):
        return ""
    return f"It arises inside `{answer.within}`, which your function calls: with the arguments in the right places?"


def _what_holds(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differences: Sequence[Difference | None],
    first: int,
    rules: Rules,
) -> str:
    """What is true of the numbers in every case whose values differ, and which of several values are right."""
    places = [i for i, d in enumerate(differences) if d and d.kind == "values"]
    places.sort(key=lambda i: i != first)
    whole = [(questions[i].expected, answers[i].value) for i in places]
    path = differences[first].path  # type: ignore[union-attr]
    pairs = [(_part(expected, path), _part(value, path)) for expected, value in whole]
    said = ""
    numbers = [float(n) for due, _ in pairs if _is_number(due) for n in np.ravel(due)]
    if not path and len(numbers) >= 3 and len(set(numbers)) > 1:  # of one number alone anything is a function
        form = form_of(questions, answers, places, places, rules)
        said = form.means if form else ""
    said = said or what_holds(pairs, rules)
    returned = path and not questions[first].inputs.asked
    return _joined(said, times(*pairs[0]), right_parts(whole, rules) if returned else "")


def _is_number(value: Value) -> bool:
    return type(value) in (bool, int, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiub")


def _what_fits(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differences: Sequence[Difference | None],
    first: int,
) -> str:
    path = differences[first].path  # type: ignore[union-attr]
    places = [i for i, d in enumerate(differences) if d]
    return what_fits([(_part(questions[i].expected, path), _part(answers[i].value, path)) for i in places])


def _part(value: Value, path: tuple[int | str, ...]) -> Value:
    """What stands at this place of a result; None where there is no such place."""
    for at in path:
        try:
            value = value[at]
        except (TypeError, IndexError, KeyError):
            return None
    return value


def because(called: str, written: bool = True) -> str:
    """That an exercise calls another that is not right itself."""
    what = "fails its own check: mend it first" if written else "is not written yet: write it first"
    return f"Your `{called}`, which it calls, {what}."


def _calls_a_stub(answer: Answer, exercise: str) -> bool:
    return answer.raised == "NotImplementedError" and bool(exercise) and answer.within not in ("", exercise)


def _explanation(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    differences: Sequence[Difference | None],
    rules: Rules,
    misconceptions: Iterable[Misconception],
) -> tuple[Misconception | None, list[int]]:
    """The misconception that gives these answers, and the cases in which it does.

    One that gives them all is named before one that gives only some. None is named that is wrong where the
    answer is right, or that leaves half of the failing cases to something else. Two at once give them
    all: of so many pairs one would always agree with some cases.
    """
    best: tuple[Misconception | None, list[int]] = (None, [])
    best_score = 0
    failing = {i for i, difference in enumerate(differences) if difference}
    exact = [_as_exact_as(question.expected, rules) for question in questions]
    for misconception in misconceptions:
        agree, misses = [], 0
        for i, (question, answer) in enumerate(zip(questions, answers, strict=True)):
            if misconception.name not in question.mistakes:
                continue  # an edge of the domain, of which a key does not say what mistakes give
            theirs = question.mistakes[misconception.name]
            difference = differences[i]
            if answer.modified and difference and difference.kind != "modified" and not theirs.modified:
                answer = replace(answer, modified=())  # a wrong result explains itself; this is said besides
            same = same_answer(theirs, answer, exact[i], question.inputs.memory)
            if isinstance(question.expected, Raised) and difference is None:  # in whatever words it raised
                same = first_difference(question.expected, theirs, rules, question.inputs) is None
            if same and not _other_precision(theirs, answer, question.expected):
                agree.append(i)
            elif difference is None:
                break  # it contradicts a case that is right
            elif _of_other_shapes(theirs.value, answer.value):
                break  # where it agrees, an axis of length 1 hides the difference
            else:
                misses += 1
                if misses * 2 > len(failing) or " + " in misconception.name:
                    break
        else:
            # That both raised, or came to one whole number, says little unless the whole pattern is the same.
            told = [
                i for i in agree if i in failing and _tells(misconception, questions[i], answers[i], rules)
            ]
            misses += sum(i in failing for i in agree) - len(told)
            explained = [i for i in told if not misses or _says_much(answers[i])]
            score = len(explained) + (len(questions) if not misses else 0)
            if explained and len(explained) > misses and score > best_score:
                best, best_score = (misconception, agree), score
                if not misses:
                    break
    return best


def _of_other_shapes(one: Value, other: Value) -> bool:
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape != other.shape


def _tells(mistake: Misconception, question: Question, answer: Answer, rules: Rules) -> bool:
    """Whether a mistake is wrong in this case, in the digits that the answer has: else to agree explains nothing."""
    theirs = question.mistakes[mistake.name]
    wrong = first_difference(question.expected, theirs, rules, question.inputs)
    if wrong is None or wrong.kind != "values":
        return wrong is not None
    due = _in_the_digits_of(answer.value, question.expected)
    return not same_answer(Answer(due, answer.type), theirs, rules)


def _in_the_digits_of(value: Value, expected: Value) -> Value:
    if isinstance(expected, (tuple, list)) and isinstance(value, (tuple, list)):
        return type(expected)(map(_in_the_digits_of, value, expected))
    if all(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in (value, expected)):
        with np.errstate(all="ignore"):
            return expected.astype(value.dtype)
    return expected


def _says_much(answer: Answer) -> bool:
    """Whether to agree with this answer is no chance: it is no error, and no single whole number or truth."""
    return not answer.error and not isinstance(answer.value, (bool, int))


def _as_exact_as(due: Value, rules: Rules) -> Rules:
    """The rules for comparing with a mistake: one in float32 may come in float64, and is not more exact for that."""
    if not any(array.dtype == np.float32 for array in arrays_in(due)):
        return rules
    least = tolerance(rules.tolerance, np.empty(0, np.float32))
    if isinstance(rules.tolerance, tuple):
        return replace(rules, tolerance=least)
    return replace(rules, tolerance=max(rules.tolerance, least[0]))


def _other_precision(theirs: Answer, answer: Answer, expected: Value) -> bool:
    """Whether a mistake gives numbers of less precision than is due, and the answer does not.

    What is compared within the tolerance of float16 would else explain any small error.
    """
    if not all(
        isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in (theirs.value, answer.value, expected)
    ):
        return False
    return theirs.value.dtype.itemsize < expected.dtype.itemsize and theirs.value.dtype != answer.value.dtype
