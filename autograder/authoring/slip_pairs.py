"""Predict the results of two slips at once, for every two slips of a list.

Many wrong answers have two mistakes. An author explains each slip alone (see
`autograder.authoring.slips`); the pairs follow from them. There are some hundred pairs in an
exercise, so an answer key holds their results in a few small cases only.

A pair is left out if a check could not tell that an answer has these two mistakes: if it gives the
result of one slip alone, of another misconception or of another pair, or raises an error.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.core.errors import AutograderError
from autograder.judging.compare import compare_outcome, same_outcome
from autograder.judging.judge import adapt_rules_to_precision
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    Misconception,
    TestCase,
    Value,
)
from autograder.values.perturbation import perturb_last_digits
from autograder.values.value_types import find_arrays, map_inputs

MIN_PAIR_NUMBERS = 20  # numbers in the results of a pair together, if the cases have as many
FEWEST_NUMBERS = 4  # with fewer, an answer with other mistakes may have the same results by chance
WHOLE_NUMBER_WEIGHT = 0.25  # a small whole number or a boolean is more often the same by chance
LARGE_WHOLE_NUMBER = 100
MAX_PAIR_CASE_NUMBERS = 500  # a case with a larger result is not used
_PERTURBED_TOLERANCE = 1e-9
_LARGEST_SUMMAND = 1e9  # keeps the summary of a huge result finite
_SIMILAR = 0.01  # relative difference of two summaries, below which results are compared

PairOutcomes = dict[str, CallOutcome]  # by the name of the pair
_OutcomesByCase = dict[int, CallOutcome]  # by the index of the case


def predict_slip_pairs(
    misconceptions: Sequence[Misconception],
    test_cases: Sequence[TestCase],
    rules: ComparisonRules,
    limit_time: Callable[[Misconception], AbstractContextManager],
) -> list[PairOutcomes]:
    """Return for each test case the results of the pairs of slips that it tells apart.

    Parameters
    ----------
    misconceptions : sequence of Misconception
        Pairs of slips, with the wrong function of each.
    test_cases : sequence of TestCase
        The test cases that students see.
    limit_time : callable
        Makes the context in which a pair's function is called. The context raises AutograderError
        if the calls do not end in time.
    """
    usable_cases = _list_usable_cases(test_cases)
    pairs = []
    for misconception in misconceptions:
        pair = _Pair(misconception, usable_cases, rules)
        try:
            with limit_time(misconception):
                is_recognisable = pair.choose_cases()
        except AutograderError:
            continue  # the two slips together do not end in time
        if is_recognisable:
            pairs.append(pair)
    ambiguous = _tell_pairs_apart(pairs, test_cases, rules, limit_time)
    predicted: list[PairOutcomes] = [{} for _ in test_cases]
    for pair in pairs:
        if pair.name not in ambiguous:
            for index, outcome in pair.chosen.items():
                predicted[index][pair.name] = outcome
    return predicted


def has_too_few_numbers(test_cases: Sequence[TestCase]) -> bool:
    """Return True if the results of slips hold numbers, but too few to recognise any pair by.

    Parameters
    ----------
    test_cases : sequence of TestCase
        The test cases that students see.
    """
    numbers: defaultdict[str, float] = defaultdict(float)  # by the name of the misconception
    for test_case in _list_usable_cases(test_cases).values():
        for name, outcome in test_case.mistakes.items():
            numbers[name] += _count_informative_numbers(outcome.value)
            if numbers[name] >= FEWEST_NUMBERS:
                return False  # the other results need not be computed
    return max(numbers.values(), default=0) > 0


def repeat_slip_pairs(
    misconceptions: Sequence[Misconception],
    names_by_case: Sequence[Collection[str]],
    test_cases: Sequence[TestCase],
    rules: ComparisonRules,
    limit_time: Callable[[Misconception], AbstractContextManager],
) -> list[PairOutcomes]:
    """Return the results of the pairs that an answer key holds, in the cases that it holds them in.

    This takes a tenth of the time of `predict_slip_pairs`, and is enough to see whether the results
    in a key have changed.

    Parameters
    ----------
    names_by_case : sequence of collections of str
        Names of the pairs that the key holds for each test case.
    """
    predicted: list[PairOutcomes] = [{} for _ in test_cases]
    by_name = {misconception.name: misconception for misconception in misconceptions}
    for test_case, names, outcomes in zip(test_cases, names_by_case, predicted, strict=True):
        for name in names:
            pair = by_name.get(name)
            if pair is None or pair.function is None:
                continue
            try:
                with limit_time(pair):
                    outcome = call_student_function(pair.function, test_case.inputs, rules.call)
            except AutograderError:
                continue
            outcomes[name] = outcome
    return predicted


@contextmanager
def protect_arrays(values: Iterable[Any]) -> Iterator[None]:
    """Make arrays read-only for a while, so that a wrong function that writes into one fails.

    Two slips together may change an array of the notebook, such as one that uses it in place of
    the argument and one that changes its argument. All later results would be wrong.

    Parameters
    ----------
    values : iterable
        Values of any type. The arrays among them, and in their lists and mappings, are protected.
    """
    arrays: list[np.ndarray] = []
    containers = list(values)
    seen: set[int] = set()
    while containers:
        value = containers.pop()
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value.flags.writeable = False
            arrays.append(value)
        elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen.add(id(value))
            containers += value.values() if isinstance(value, dict) else value
    try:
        yield
    finally:
        # A view of an array can be made writeable only after the array.
        for array in sorted(arrays, key=lambda array: array.base is not None):
            array.flags.writeable = True


def _list_usable_cases(test_cases: Sequence[TestCase]) -> dict[int, TestCase]:
    """Return the cases whose results a key may hold, by index; those with small results first."""
    usable_cases = []
    for index, test_case in enumerate(test_cases):
        is_small = _list_numbers(test_case.expected).size <= MAX_PAIR_CASE_NUMBERS
        if is_small and not test_case.edge and test_case.inputs.memory is None:
            usable_cases.append((index, test_case))
    return dict(sorted(usable_cases, key=lambda entry: _list_numbers(entry[1].expected).size))


def _list_numbers(value: Value) -> np.ndarray:
    """Return all numbers of a value, its arrays included, in one array of float64, shape (n,)."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return np.concatenate([np.empty(0), *map(_list_numbers, value)])
    if isinstance(value, bool | int | float):
        return np.array([value], np.float64)
    numbers = [array.ravel() for array in find_arrays(value) if array.dtype.kind in "fiub"]
    return np.concatenate([np.empty(0), *numbers])


class _Pair:
    """Two slips at once: the results of their wrong function, and the cases chosen for the key.

    `chosen` holds the results that the key is to hold.
    """

    def __init__(
        self,
        misconception: Misconception,
        usable_cases: Mapping[int, TestCase],
        rules: ComparisonRules,
    ):
        assert misconception.function is not None
        self.name = misconception.name
        self.chosen: _OutcomesByCase = {}
        self.misconception = misconception
        self._function = misconception.function
        self._usable_cases = usable_cases
        self._rules = rules
        self._slips = misconception.name.split(" + ")
        self._predicted: dict[int, CallOutcome | None] = {}

    def predict(self, index: int) -> CallOutcome | None:
        """Return the result in a case; None if it is no use to recognise the pair by.

        It is none if it is right, large, an error, NaN where no slip alone gives NaN, or of a type
        that no slip alone gives. A result is none as well if it depends on the last digits of the
        inputs: it would differ between processors.
        """
        if index not in self._predicted:
            self._predicted[index] = self._call(self._usable_cases[index])
        return self._predicted[index]

    def _call(self, test_case: TestCase) -> CallOutcome | None:
        outcome = call_student_function(self._function, test_case.inputs, self._rules.call)
        if not self._is_usable(outcome, test_case):
            return None
        perturbed_inputs = map_inputs(test_case.inputs, perturb_last_digits)
        perturbed_outcome = call_student_function(
            self._function, perturbed_inputs, self._rules.call
        )
        strict_rules = replace(self._rules, tolerance=_PERTURBED_TOLERANCE)
        return outcome if same_outcome(outcome, perturbed_outcome, strict_rules) else None

    def _is_usable(self, outcome: CallOutcome, test_case: TestCase) -> bool:
        """Return True if a result is wrong, small, and of a type that one of the slips gives."""
        numbers = _list_numbers(outcome.value)
        if outcome.error or numbers.size > MAX_PAIR_CASE_NUMBERS:
            return False
        slips = [test_case.mistakes[name] for name in self._slips]
        if all(outcome.type != slip.type for slip in slips):
            return False  # `.tolist()` of a sum is a single number, and no list
        is_nan_of_a_slip = any(np.isnan(_list_numbers(slip.value)).any() for slip in slips)
        if np.isnan(numbers).any() and not is_nan_of_a_slip:
            return False
        inputs = test_case.inputs
        return compare_outcome(test_case.expected, outcome, self._rules, inputs) is not None

    def choose_cases(self) -> bool:
        """Choose the first cases that tell the pair from each of its slips.

        Return False if none do, or if their results hold too few numbers.
        """
        numbers = 0.0
        untold_slips = set(self._slips)  # slips that give the same results so far
        for index, test_case in self._usable_cases.items():
            if numbers >= MIN_PAIR_NUMBERS and not untold_slips:
                break
            outcome = self.predict(index)
            if outcome is None:
                continue
            differing_slips = self._list_differing_slips(outcome, test_case)
            if differing_slips & untold_slips or len(differing_slips) == len(self._slips):
                self.chosen[index] = outcome
                numbers += _count_informative_numbers(outcome.value)
                untold_slips -= differing_slips
        return not untold_slips and numbers >= FEWEST_NUMBERS

    def _list_differing_slips(self, outcome: CallOutcome, test_case: TestCase) -> set[str]:
        """Return the names of the slips that alone give another result in a case."""
        rules = adapt_rules_to_precision(self._rules, test_case.expected)
        differing = set()
        for name in self._slips:
            if not same_outcome(outcome, test_case.mistakes[name], rules):
                differing.add(name)
        return differing

    def add_case_that_tells_from(self, rival: "_Pair | str") -> bool:
        """Add a case in which another pair, or a misconception, gives another result.

        Return False if there is no such case.
        """
        for index, test_case in self._usable_cases.items():
            outcome = self.predict(index)
            if isinstance(rival, str):
                rival_outcome: CallOutcome | None = test_case.mistakes[rival]
            else:
                rival_outcome = rival.predict(index)
            if outcome is None or rival_outcome is None:
                continue
            rules = adapt_rules_to_precision(self._rules, test_case.expected)
            if not same_outcome(outcome, rival_outcome, rules):
                self.chosen[index] = outcome
                if isinstance(rival, _Pair):
                    rival.chosen[index] = rival_outcome
                return True
        return False


def _count_informative_numbers(value: Value) -> float:
    """Return how many numbers a result holds; small whole numbers and booleans count less."""
    numbers = _list_numbers(value)
    is_small_whole = (numbers == np.rint(numbers)) & (np.abs(numbers) < LARGE_WHOLE_NUMBER)
    return numbers.size - (1 - WHOLE_NUMBER_WEIGHT) * float(is_small_whole.sum())


def _tell_pairs_apart(
    pairs: Sequence[_Pair],
    test_cases: Sequence[TestCase],
    rules: ComparisonRules,
    limit_time: Callable[[Misconception], AbstractContextManager],
) -> set[str]:
    """Add cases to pairs that have the same results as another one, or as a misconception.

    Return the names of those that no case tells apart.
    """
    groups: dict[tuple[int, ...], list[_Pair]] = {}
    for pair in pairs:
        groups.setdefault(tuple(pair.chosen), []).append(pair)
    ambiguous: set[str] = set()
    for indices, group in groups.items():
        by_name = {pair.name: pair for pair in group}
        order = list(by_name)
        outcomes = {pair.name: dict(pair.chosen) for pair in group}
        for name in test_cases[0].mistakes:
            outcomes[name] = {index: test_cases[index].mistakes[name] for index in indices}
        for names in _list_similar(outcomes):
            first, second = (outcomes[name] for name in names)
            if by_name.keys().isdisjoint(names) or not _are_same(first, second, test_cases, rules):
                continue
            # Of two pairs the later one is given up: their order does not depend on last digits.
            rivals = sorted(names, key=lambda name: order.index(name) if name in order else -1)
            pair = by_name[rivals[1]]
            rival = by_name.get(rivals[0], rivals[0])
            try:
                with limit_time(pair.misconception):
                    is_told_apart = pair.add_case_that_tells_from(rival)
            except AutograderError:
                is_told_apart = False
            if not is_told_apart:
                ambiguous.add(pair.name)
    return ambiguous


def _list_similar(outcomes: Mapping[str, _OutcomesByCase]) -> Iterator[tuple[str, str]]:
    """Yield the names of every two wrong functions whose numbers are nearly the same.

    Comparing all results of all functions with each other would take long.
    """
    summaries = sorted((_summarise(results), name) for name, results in outcomes.items())
    for position, (summary, name) in enumerate(summaries):
        for other_summary, other_name in summaries[position + 1 :]:
            if other_summary - summary > _SIMILAR * (other_summary + 1):
                break
            yield name, other_name


def _summarise(outcomes: _OutcomesByCase) -> float:
    """Return a number that is nearly the same for two functions with nearly the same results."""
    numbers = _list_numbers([outcome.value for outcome in outcomes.values()])
    sizes = np.minimum(np.abs(np.nan_to_num(numbers)), _LARGEST_SUMMAND)
    return float(sizes @ np.arange(1, len(sizes) + 1))


def _are_same(
    first: _OutcomesByCase,
    second: _OutcomesByCase,
    test_cases: Sequence[TestCase],
    rules: ComparisonRules,
) -> bool:
    """Return True if two wrong functions give the same results in the same cases."""
    for index, outcome in first.items():
        case_rules = adapt_rules_to_precision(rules, test_cases[index].expected)
        if not same_outcome(outcome, second[index], case_rules):
            return False
    return True
