"""From answers to a finding: right or wrong, and which known mistake explains it.

The same judge serves the student's `check` (cases and outcomes from the answer key) and the grader
(fresh cases, outcomes computed on the trusted side).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.errors import listed
from autograder.judging.agreement import tolerance
from autograder.judging.arrays import PRECISION
from autograder.judging.compare import Case, failing_property, first_difference, same_answer
from autograder.judging.forms import explained_by_a_form, form_of
from autograder.judging.kinds import arrays_in
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
    told : Case or None
        That case.
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
    told: Case | None = None
    cause: str = ""
    partly: bool = False

    @property
    def message(self) -> str:
        """The sentences of the finding as one text."""
        return " ".join(part for part in (self.seen, self.means, self.nudge) if part)

    @property
    def unwritten(self) -> bool:
        """Whether the exercise is still as it was handed out."""
        return self.told is not None and self.told.mistake == "not-written-yet"


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
    cases = _compared(questions, answers, rules, known_right)
    right = tuple(case.difference is None for case in cases)
    failing = [case for case in cases if case.difference]
    if not failing:
        return Finding(Verdict.PASS, right)
    misconceptions = list(misconceptions)
    known, agreeing = _known_mistake(cases, misconceptions)
    told = next((case for case in agreeing if case.difference), _commonest_error(failing))
    difference, answer = told.difference, told.answer
    assert difference is not None
    finding = Finding(
        Verdict.ERROR if difference.kind == "error" else Verdict.WRONG,
        right,
        seen=difference.seen,
        case=cases.index(told),
        told=told,
    )
    if answer.raised == "NotImplementedError" and exercise and answer.within not in ("", exercise):
        cause = because(answer.within, written=False)
        told = replace(told, difference=replace(difference, seen=cause, mistake=None))
        return replace(finding, seen=cause, told=told, cause=answer.within)

    also, elsewhere = _also_modified(answer, difference), _elsewhere(answer, exercise)
    part = sum(case.difference is not None for case in agreeing)
    whole = sum(known.name in case.question.mistakes for case in failing) if known else len(failing)
    same = sum(case.mistake == difference.mistake for case in failing) if difference.mistake else 0
    raised = difference.kind == "error"
    if part < whole and same < len(failing):
        form = explained_by_a_form(cases, misconceptions)
        if form:
            means = _joined(form.means, elsewhere, also)
            return replace(finding, misconception=form.name, means=means, nudge=form.nudge)
    if known and (part == whole or raised or same < len(failing)):
        share = f"In {part} of {whole} cases that fail, your result is what this mistake gives:"
        means = _joined(share if part < whole else "", known.means, also)
        return replace(finding, misconception=known.name, means=means, nudge=known.nudge, partly=part < whole)
    means, nudge = STRUCTURAL[difference.mistake] if difference.mistake else ("", "")
    means = difference.means or means
    # An error is explained where it arises, whatever else is wrong elsewhere; all else must fit every case.
    if same == len(failing) or (raised and 0 < same >= len(failing) / 2):
        name = None if finding.unwritten else difference.mistake
        means = _joined(means, elsewhere, in_common(cases) if raised else "", also)
        return replace(finding, misconception=name, means=means, nudge=nudge)
    said = [
        means if raised else "",
        failing_property(told.value, told.given, rules.properties),
        _what_holds(cases, told) if difference.kind == "values" else "",
        what_fits(_pairs(failing, difference.path)) if difference.kind == "shape" else "",
        elsewhere,
        in_common(cases),
        also,
    ]
    return replace(finding, means=_joined(*said))


def _compared(
    questions: Sequence[Question], answers: Sequence[Answer], rules: Rules, known_right: int
) -> list[Case]:
    """Each answer beside its question; all of one name where each is off by little, and some by lost digits alone."""
    cases: list[Case] = []
    slow = None  # the comparison that took too long: no other case is given as much time
    for i, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        difference = None
        if i >= known_right:
            difference = slow or first_difference(question.expected, answer, rules, question.inputs)
            slow = difference if difference and difference.kind == "time" else None
        cases.append(Case(question, answer, rules, difference))
    differences = [case.difference for case in cases if case.difference]
    name = next((d.mistake for d in differences if d.mistake in PRECISION), None)
    if name is None or not all(d.near for d in differences):
        return cases
    return [replace(c, difference=c.difference and replace(c.difference, mistake=name)) for c in cases]


def _commonest_error(failing: Sequence[Case]) -> Case:
    """The case to speak of: the first with an error that at least half of them raise, else the first of all."""
    errors = [case.mistake if case.raises else None for case in failing]
    usual = (
        case for case, error in zip(failing, errors) if error and 2 * errors.count(error) >= len(failing)
    )
    return next(usual, failing[0])


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
    own = not exercise or answer.within in ("", exercise)
    if not answer.error or own or not answer.within.isidentifier():
        return ""
    return f"It arises inside `{answer.within}`, which your function calls: with the arguments in the right places?"


def _what_holds(cases: Sequence[Case], told: Case) -> str:
    """What is true of the numbers in every case whose values differ, and which of several values are right."""
    places = [case for case in cases if case.difference and case.difference.kind == "values"]
    places.sort(key=lambda case: case is not told)
    path = told.difference.path  # type: ignore[union-attr]
    pairs = _pairs(places, path)
    said = ""
    numbers = [float(n) for due, _ in pairs if _is_number(due) for n in np.ravel(due)]
    if not path and len(numbers) >= 3 and len(set(numbers)) > 1:  # of one number alone anything is a function
        form = form_of(places, places)
        said = form.means if form else ""
    said = said or what_holds(pairs, told.rules)
    returned = path and not told.given.asked
    return _joined(said, times(*pairs[0]), right_parts(_pairs(places, ()), told.rules) if returned else "")


def _is_number(value: Value) -> bool:
    return type(value) in (bool, int, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiub")


def _pairs(cases: Sequence[Case], path: tuple[int | str, ...]) -> list[tuple[Value, Value]]:
    """What is due and what came at this place of each result."""
    return [(_part(case.due, path), _part(case.value, path)) for case in cases]


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


def _known_mistake(
    cases: Sequence[Case], misconceptions: Iterable[Misconception]
) -> tuple[Misconception | None, list[Case]]:
    """The misconception that gives these answers, and the cases in which it does.

    One that gives them all is named before one that gives only some. None is named that is wrong where the
    answer is right, or that leaves half of the failing cases to something else. Two at once give them
    all: of so many pairs one would always agree with some cases.
    """
    best: tuple[Misconception | None, list[Case]] = (None, [])
    best_score = 0
    failing = sum(case.difference is not None for case in cases)
    exact = [_as_exact_as_due(case) for case in cases]
    for misconception in misconceptions:
        agree, misses = [], 0
        for case, rules in zip(cases, exact):
            if misconception.name not in case.question.mistakes:
                continue  # an edge of the domain, of which a key does not say what mistakes give
            theirs = case.question.mistakes[misconception.name]
            if _gives(theirs, case, rules):
                agree.append(case)
            elif case.difference is None:
                break  # it contradicts a case that is right
            elif _of_other_shapes(theirs.value, case.value):
                break  # where it agrees, an axis of length 1 hides the difference
            else:
                misses += 1
                if misses * 2 > failing or " + " in misconception.name:
                    break
        else:
            # That both raised, or came to one whole number, says little unless the whole pattern is the same.
            told = [case for case in agree if case.difference and _tells(misconception, case)]
            misses += sum(case.difference is not None for case in agree) - len(told)
            explained = [case for case in told if not misses or _says_much(case.answer)]
            score = len(explained) + (len(cases) if not misses else 0)
            if explained and len(explained) > misses and score > best_score:
                best, best_score = (misconception, agree), score
                if not misses:
                    break
    return best


def _gives(theirs: Answer, case: Case, exact: Rules) -> bool:
    """Whether a mistake gives the answer to a case, or is as right in it."""
    if isinstance(case.due, Raised) and case.difference is None:  # in whatever words it raised
        same = first_difference(case.due, theirs, case.rules, case.given) is None
    else:
        answer, found = case.answer, case.difference
        if answer.modified and found and found.kind != "modified" and not theirs.modified:
            answer = replace(answer, modified=())  # a wrong result explains itself; this is said besides
        same = same_answer(theirs, answer, exact, case.given.memory)
    return same and not _other_precision(theirs.value, case.value, case.due)


def _of_other_shapes(one: Value, other: Value) -> bool:
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape != other.shape


def _tells(mistake: Misconception, case: Case) -> bool:
    """Whether a mistake is wrong in this case, in the digits that the answer has: else to agree explains nothing."""
    theirs = case.question.mistakes[mistake.name]
    wrong = first_difference(case.due, theirs, case.rules, case.given)
    if wrong is None or wrong.kind != "values":
        return wrong is not None
    due = _in_the_digits_of(case.value, case.due)
    return not same_answer(Answer(due, case.answer.type), theirs, case.rules)


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


def _as_exact_as_due(case: Case) -> Rules:
    """The rules for comparing with a mistake: one in float32 may come in float64, and is not more exact for that."""
    rules = case.rules
    if not any(array.dtype == np.float32 for array in arrays_in(case.due)):
        return rules
    least = tolerance(rules.tolerance, np.empty(0, np.float32))
    if isinstance(rules.tolerance, tuple):
        return replace(rules, tolerance=least)
    return replace(rules, tolerance=max(rules.tolerance, least[0]))


def _other_precision(theirs: Value, value: Value, due: Value) -> bool:
    """Whether a mistake gives numbers of less precision than is due, and the answer does not.

    What is compared within the tolerance of float16 would else explain any small error.
    """
    if not all(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in (theirs, value, due)):
        return False
    return theirs.dtype.itemsize < due.dtype.itemsize and theirs.dtype != value.dtype
