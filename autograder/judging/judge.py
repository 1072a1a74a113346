"""Judge a student's function by its results: right or wrong, and which known mistake explains them.

The `check` that students call in their notebooks and the grader both use this module. In a check,
the cases and the misconceptions' answers come from the answer key. In the grader, hidden cases are
added, and trusted code computes the misconceptions' answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.core.results import Verdict
from autograder.core.text_format import join_words
from autograder.judging.compare import (
    JudgedCase,
    compare_outcome,
    describe_failing_property,
    same_outcome,
    select_failing_cases,
)
from autograder.judging.failure_patterns import (
    describe_difference_pattern,
    describe_failing_feature,
    describe_length_difference,
    describe_multiple,
    describe_shape_by_argument,
    describe_shape_difference,
    describe_which_returned_values_are_right,
)
from autograder.judging.transformations import explain_by_transformation, find_transformation
from autograder.values.arrays import PRECISION_MISTAKES
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    ExpectedError,
    Misconception,
    TestCase,
    Value,
)
from autograder.values.common_mistakes import MISTAKES, Difference
from autograder.values.tolerance import effective_tolerance
from autograder.values.value_types import find_arrays
from autograder.values.wording import format_ordinal

MIN_EXPLAINED_PARTS = 2  # cases in which one of several returned values is explained

PartPath = tuple[int | str, ...]  # position of a part in a result, such as (0, "name")


@dataclass(frozen=True)
class Finding:
    """Verdict on a student's function for one exercise, with an explanation.

    Parameters
    ----------
    verdict : Verdict
        pass, wrong or error.
    cases_correct : tuple of bool
        One entry for each case.
    misconception : str or None
        Name of the misconception, or of the mistake common to all exercises, behind the answers.
    observation, means, nudge : str
        What differs, what it means, and a hint; "" where there is nothing to say.
    case_index : int or None
        Index of the case that `observation` describes.
    shown_case : JudgedCase or None
        The case that `observation` describes, with the student's answer.
    cause : str
        Name of an exercise that is not written yet, whose function this one calls; usually "".
    is_partial : bool
        True if the misconception explains only some of the failing cases.
    """

    verdict: Verdict
    cases_correct: tuple[bool, ...] = ()
    misconception: str | None = None
    observation: str = ""
    means: str = ""
    nudge: str = ""
    case_index: int | None = None
    shown_case: JudgedCase | None = None
    cause: str = ""
    is_partial: bool = False

    @property
    def message(self) -> str:
        """All sentences of the verdict's explanation as one text."""
        return _join_sentences(self.observation, self.means, self.nudge)

    @property
    def is_unwritten(self) -> bool:
        """True if the student's function is still the stub that raises NotImplementedError."""
        return self.shown_case is not None and self.shown_case.mistake == "not-written-yet"


def judge(
    test_cases: Sequence[TestCase],
    outcomes: Sequence[CallOutcome],
    rules: ComparisonRules,
    misconceptions: Iterable[Misconception],
    exercise: str = "",
    right_count: int = 0,
    argument_names: Sequence[str] = (),
) -> Finding:
    """Compare the student's result of every test case with the expected one; explain mistakes.

    Parameters
    ----------
    test_cases, outcomes : sequences of the same length
    misconceptions : iterable of Misconception
        The more specific ones first. Of several that explain the answers equally well, the first
        is named.
    exercise : str
        Name of the student's function, to tell an error in it from one in a function that it calls.
    right_count : int
        Number of answers at the beginning that are known to be right; they are not compared again.
    argument_names : sequence of str
        Names of the function's arguments, for messages.
    """
    if argument_names:
        test_cases = [_name_arguments(test_case, argument_names) for test_case in test_cases]
    cases = _compare_all_outcomes(test_cases, outcomes, rules, right_count)
    correct = tuple(case.is_right for case in cases)
    failing = select_failing_cases(cases)
    if not failing:
        return Finding(Verdict.PASS, correct)
    misconceptions = list(misconceptions)
    match = _find_best_misconception(cases, misconceptions)
    shown_case = _choose_case_to_show(failing, match)
    difference, outcome = shown_case.difference, shown_case.outcome
    assert difference is not None
    verdict = Verdict.ERROR if shown_case.raises else Verdict.WRONG
    finding = Finding(
        verdict,
        correct,
        observation=difference.observation,
        case_index=cases.index(shown_case),
        shown_case=shown_case,
    )
    is_stub = outcome.raised == "NotImplementedError"
    if is_stub and exercise and outcome.within not in ("", exercise):
        sentence = describe_broken_dependency(outcome.within, is_written=False)
        difference = replace(difference, observation=sentence, mistake=None)
        shown_case = replace(shown_case, difference=difference)
        return replace(finding, observation=sentence, shown_case=shown_case, cause=outcome.within)
    return _add_best_explanation(finding, cases, misconceptions, match, exercise)


def _name_arguments(test_case: TestCase, names: Sequence[str]) -> TestCase:
    return replace(test_case, inputs=replace(test_case.inputs, argument_names=tuple(names)))


@dataclass(frozen=True)
class _MisconceptionMatch:
    """Misconception that predicts the student's results in some test cases, and how well it fits.

    Parameters
    ----------
    cases : list of JudgedCase
        Cases in which the misconception gives the student's answer, right answers included.
    score : int
        Quality of the explanation. The misconception with the highest score is named.
    is_complete : bool
        True if the misconception gives the student's answer in all cases.
    """

    misconception: Misconception
    cases: list[JudgedCase]
    score: int
    is_complete: bool


def _compare_all_outcomes(
    test_cases: Sequence[TestCase],
    outcomes: Sequence[CallOutcome],
    rules: ComparisonRules,
    right_count: int,
) -> list[JudgedCase]:
    """Compare the student's result of each test case with the expected one.

    If all differences are small and one of them is a loss of precision, all are classified as this
    loss of precision.
    """
    cases: list[JudgedCase] = []
    timeout = None  # after one comparison that took too long, the other cases count as wrong
    for i, (test_case, outcome) in enumerate(zip(test_cases, outcomes, strict=True)):
        difference = None
        if i >= right_count:
            difference = timeout
            if not timeout:
                difference = compare_outcome(test_case.expected, outcome, rules, test_case.inputs)
            if difference and difference.kind == "time":
                timeout = difference
        cases.append(JudgedCase(test_case, outcome, rules, difference))
    differences = [case.difference for case in cases if case.difference]
    losses = (d.mistake for d in differences if d.mistake in PRECISION_MISTAKES)
    mistake = next(losses, None)
    if mistake is None or not all(difference.nearly_right for difference in differences):
        return cases
    renamed_cases = []
    for case in cases:
        difference = case.difference and replace(case.difference, mistake=mistake)
        renamed_cases.append(replace(case, difference=difference))
    return renamed_cases


def _choose_case_to_show(
    failing: Sequence[JudgedCase], match: _MisconceptionMatch | None
) -> JudgedCase:
    """Choose the failing test case to describe to the student.

    It is the first that the misconception explains; for a pair of misconceptions, the first that
    shows both. If there is none, it is the first with an error
    that at least half of the failing cases raise. Otherwise it is the first failing case.
    """
    explained_cases = select_failing_cases(match.cases) if match else []
    for case in explained_cases:
        if match and _shows_both_mistakes(match.misconception, case):
            return case
    if explained_cases:
        return explained_cases[0]
    errors = [case.mistake for case in failing if case.raises]
    for case in failing:
        if case.raises and case.mistake and 2 * errors.count(case.mistake) >= len(failing):
            return case
    return failing[0]


def _shows_both_mistakes(misconception: Misconception, case: JudgedCase) -> bool:
    """Return True for a pair of misconceptions whose result in a case neither of them gives alone.

    Of another misconception nothing is known of a second mistake, so the result is False.
    """
    mistakes = case.test_case.mistakes
    names = misconception.name.split(" + ")
    if len(names) < 2 or misconception.name not in mistakes:
        return False
    pair = mistakes[misconception.name]
    return all(
        name in mistakes and not same_outcome(pair, mistakes[name], case.rules) for name in names
    )


def _add_best_explanation(
    finding: Finding,
    cases: Sequence[JudgedCase],
    misconceptions: Sequence[Misconception],
    match: _MisconceptionMatch | None,
    exercise: str,
) -> Finding:
    """Return the verdict (a `Finding`) with the best explanation of the wrong results.

    The explanation is a misconception, a transformation of the expected results, a mistake common
    to all exercises, or a mere description of what the failing cases have in common.
    """
    shown_case = finding.shown_case
    assert shown_case is not None and shown_case.difference is not None
    difference, outcome = shown_case.difference, shown_case.outcome
    failing = select_failing_cases(cases)
    explained_count, explainable_count = 0, len(failing)
    if match:
        name = match.misconception.name
        explained_count = len(select_failing_cases(match.cases))
        explainable_count = sum(name in case.test_case.mistakes for case in failing)
    same_mistake = 0
    if difference.mistake:
        same_mistake = sum(case.mistake == difference.mistake for case in failing)
    is_error = difference.kind == "error"
    modified_note = ""
    if not shown_case.rules.may_modify:
        modified_note = _describe_modified_arguments(outcome, difference)
    called_function_note = _describe_error_in_called_function(outcome, exercise)

    is_partial = explained_count < explainable_count
    if is_partial and same_mistake < len(failing):
        explanation = explain_by_transformation(cases, misconceptions)
        if explanation:
            means = _join_sentences(explanation.means, called_function_note, modified_note)
            name, nudge = explanation.name, explanation.nudge
            return replace(finding, misconception=name, means=means, nudge=nudge)
    if match and (not is_partial or is_error or same_mistake < len(failing)):
        share = ""
        if is_partial:
            share = f"(This explains {explained_count} of the {explainable_count} failing cases.)"
        return replace(
            finding,
            misconception=match.misconception.name,
            means=_join_sentences(match.misconception.means, share, modified_note),
            nudge=match.misconception.nudge,
            is_partial=is_partial,
        )
    if not is_error:
        parts = _explain_returned_values(finding, cases, misconceptions)
        if parts:
            return replace(parts, means=_join_sentences(parts.means, modified_note))
    # Name an error if the function raises it in at least half of the failing test cases. Any other
    # mistake must explain every failing case.
    if same_mistake == len(failing) or (is_error and 0 < same_mistake >= len(failing) / 2):
        return _add_texts_of_common_mistake(
            finding, difference, cases, called_function_note, modified_note
        )
    return replace(
        finding,
        means=_describe_unexplained_failures(
            shown_case, cases, called_function_note, modified_note
        ),
    )


def _explain_returned_values(
    finding: Finding, cases: Sequence[JudgedCase], misconceptions: Sequence[Misconception]
) -> Finding | None:
    """Return the finding with the misconceptions behind single ones of several returned values.

    Each value is judged on its own, so that two mistakes in two values are both found. Return None
    if no misconception explains all results of a value.
    """
    count = _count_returned_values(cases)
    single_misconceptions = [
        misconception for misconception in misconceptions if " + " not in misconception.name
    ]
    names = [misconception.name for misconception in single_misconceptions]
    ordinals_by_means: dict[str, list[str]] = {}
    matches: list[_MisconceptionMatch] = []
    for i in range(count):
        parts = [_select_returned_value(case, i, names) for case in cases]
        if not select_failing_cases(parts):
            continue
        match = _find_best_misconception(parts, single_misconceptions)
        if match is None or not match.is_complete:
            continue
        if len(select_failing_cases(match.cases)) < MIN_EXPLAINED_PARTS:
            continue
        matches.append(match)
        ordinals_by_means.setdefault(match.misconception.means, []).append(format_ordinal(i + 1))
    sentences = []
    for means, ordinals in ordinals_by_means.items():
        noun = "values" if len(ordinals) > 1 else "value"
        sentences.append(f"{means} (This explains the {join_words(ordinals)} {noun}.)")
    if not matches:
        return None
    first = matches[0].misconception
    means = _join_sentences(*sentences)
    return replace(
        finding, misconception=first.name, means=means, nudge=first.nudge, is_partial=True
    )


def _count_returned_values(cases: Sequence[JudgedCase]) -> int:
    """Return how many values the function returns in every case; 0 if this is not one number."""
    rules = cases[0].rules
    if rules.view or rules.compare or rules.returns != "array":
        return 0
    counts = set()
    for case in cases:
        for value in (case.expected, case.value):
            is_tuple = isinstance(value, (tuple, list))
            counts.add(len(value) if is_tuple else 0)
        if case.inputs.result_queries or case.outcome.error:
            return 0
    return counts.pop() if len(counts) == 1 else 0


def _select_returned_value(case: JudgedCase, index: int, names: Sequence[str]) -> JudgedCase:
    """Return a case with only one of its returned values, and what misconceptions predict of it.

    Parameters
    ----------
    names : sequence of str
        Names of the misconceptions. The predictions of others are not computed.
    """
    mistakes = {}
    for name in names:
        if name not in case.test_case.mistakes:
            continue  # an edge case: answer keys hold no predictions for it
        prediction = case.test_case.mistakes[name]
        value = prediction.value
        if isinstance(value, (tuple, list)) and index < len(value):
            mistakes[name] = _select_part(prediction, index)
    test_case = replace(case.test_case, expected=case.expected[index], mistakes=mistakes)
    outcome = replace(_select_part(case.outcome, index), modified=())
    difference = compare_outcome(test_case.expected, outcome, case.rules, case.inputs)
    return JudgedCase(test_case, outcome, case.rules, difference)


def _select_part(outcome: CallOutcome, index: int) -> CallOutcome:
    value = outcome.value[index]
    return replace(outcome, value=value, type=type(value).__name__)


def _add_texts_of_common_mistake(
    finding: Finding,
    difference: Difference,
    cases: Sequence[JudgedCase],
    called_function_note: str,
    modified_note: str,
) -> Finding:
    """Return the finding with the texts of `difference.mistake`, which can occur in any exercise."""
    assert difference.mistake is not None
    means, nudge = MISTAKES[difference.mistake]
    common = ""
    if difference.kind == "error":
        common = describe_failing_feature(cases)
    if difference.nudge is not None:
        nudge = difference.nudge
    means = _join_sentences(difference.means or means, called_function_note, common, modified_note)
    name = None if finding.is_unwritten else difference.mistake
    return replace(finding, misconception=name, means=means, nudge=nudge)


def _describe_unexplained_failures(
    shown_case: JudgedCase,
    cases: Sequence[JudgedCase],
    called_function_note: str,
    modified_note: str,
) -> str:
    """Describe what the failing test cases have in common, where no known mistake explains them."""
    difference = shown_case.difference
    assert difference is not None
    error = pattern = ""
    if difference.kind == "error":
        general = MISTAKES[difference.mistake][0] if difference.mistake else ""
        error = difference.means or general
    elif difference.kind == "not finite":
        pattern = describe_source_of_infinity(shown_case)
    elif difference.kind == "values":
        pattern = _describe_pattern_of_wrong_values(cases, shown_case)
    elif difference.kind == "shape":
        failing = [case for case in select_failing_cases(cases) if case is not shown_case]
        pairs = _value_pairs([shown_case, *failing], difference.path)
        pattern = describe_length_difference(pairs) or describe_shape_difference(pairs)
        pattern = pattern or describe_shape_by_argument(pairs, [shown_case, *failing])
    properties = shown_case.rules.properties
    lacking = describe_failing_property(shown_case.value, shown_case.inputs, properties)
    common = describe_failing_feature(cases)
    return _join_sentences(error, lacking, pattern, called_function_note, common, modified_note)


_SOURCE_OF_NAN = (
    "nan comes from the root or the logarithm of a negative number, and from 0/0, 0·inf, inf/inf "
    "or inf - inf."
)
_SOURCE_OF_INFINITY = (
    "inf comes from a division by 0, from the logarithm of 0 (-inf), or from a number that is too "
    "large for its type, such as the exponential of 1000."
)


def describe_source_of_infinity(case: JudgedCase) -> str:
    """Say which operations give the nan, or the inf, that a case's result holds."""
    path = case.difference.path if case.difference else ()
    if _contains_nan(_part_at(case.value, path)):
        return _join_sentences(_SOURCE_OF_NAN, _SOURCE_OF_INFINITY)
    return _SOURCE_OF_INFINITY


def _contains_nan(value: Value) -> bool:
    """Return True if a number, or an array of numbers, holds nan."""
    return _is_numeric(value) and bool(np.isnan(np.asarray(value, np.float64)).any())


def _join_sentences(*sentences: str | None) -> str:
    return " ".join(filter(None, sentences))


def _describe_modified_arguments(outcome: CallOutcome, difference: Difference) -> str:
    """Say that the function, besides giving a wrong result, modified an argument; else ""."""
    if not outcome.modified or difference.kind == "modified":
        return ""
    names = join_words([f"`{name}`" for name in outcome.modified])
    if len(outcome.modified) > 1:
        return f"Besides, your function changed its arguments {names}, which belong to the caller."
    return f"Besides, your function changed its argument {names}, which belongs to the caller."


def _describe_error_in_called_function(outcome: CallOutcome, exercise: str) -> str:
    """Say that the error was raised in another function, which the student's function calls."""
    in_answer = not exercise or outcome.within in ("", exercise)
    if not outcome.error or in_answer or not outcome.within.isidentifier():
        return ""
    return (
        f"The error occurs inside `{outcome.within}`, which your function calls. "
        "Do the arguments of that call stand in the right order?"
    )


def _describe_pattern_of_wrong_values(cases: Sequence[JudgedCase], shown_case: JudgedCase) -> str:
    """Say what the wrong values have in common, and which of several returned values are right."""
    differing = []
    for case in cases:
        if case.difference and case.difference.kind == "values":
            differing.append(case)
    differing.sort(key=lambda case: case is not shown_case)
    path = shown_case.difference.path  # type: ignore[union-attr]
    pairs = _value_pairs(differing, path)
    pattern = ""
    # A transformation turns the expected result into a typical wrong one, such as its transpose.
    # For a single number one nearly always fits by chance, so try them only for several numbers.
    if not path and _expects_several_numbers(pairs):
        transformation = find_transformation(differing, differing)
        if transformation:
            pattern = transformation.means
    pattern = pattern or describe_difference_pattern(pairs, shown_case.rules)
    right_parts = ""
    if path and not shown_case.inputs.result_queries:
        right_parts = describe_which_returned_values_are_right(
            _value_pairs(differing, ()), shown_case.rules
        )
    return _join_sentences(pattern, describe_multiple(pairs, differing), right_parts)


def _expects_several_numbers(pairs: Sequence[tuple[Value, Value]]) -> bool:
    """Return True if the expected results hold three numbers or more, which are not all equal."""
    numbers: list[float] = []
    for expected, _ in pairs:
        if _is_numeric(expected):
            numbers += map(float, np.ravel(expected))
    return len(numbers) >= 3 and len(set(numbers)) > 1


def _is_numeric(value: Value) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub"
    return type(value) in (bool, int, float)


def _value_pairs(cases: Sequence[JudgedCase], path: PartPath) -> list[tuple[Value, Value]]:
    """Return the expected and the returned value of each test case, or their parts at `path`."""
    return [(_part_at(case.expected, path), _part_at(case.value, path)) for case in cases]


def _part_at(value: Value, path: PartPath) -> Value:
    """Return the part of a result that keys such as (0, "name") lead to; None if there is none."""
    for key in path:
        try:
            value = value[key]
        except (TypeError, IndexError, KeyError):
            return None
    return value


def describe_broken_dependency(name: str, is_written: bool = True) -> str:
    """Say that a function calls another exercise's function, which is wrong or not written yet."""
    state = "is not written yet. Write that first"
    if is_written:
        state = "fails its own check. Correct that first"
    return f"Your function calls `{name}`, which {state}."


# The functions below search for the misconception that explains a student's wrong results.


def _find_best_misconception(
    cases: Sequence[JudgedCase], misconceptions: Iterable[Misconception]
) -> _MisconceptionMatch | None:
    """Return the misconception that best explains the student's results; None if none does.

    A misconception that explains all answers goes before one that explains only some.
    """
    best: _MisconceptionMatch | None = None
    exact_rules = [adapt_rules_to_precision(case.rules, case.expected) for case in cases]
    for misconception in misconceptions:
        match = _compare_with_misconception(misconception, cases, exact_rules)
        if match and (best is None or match.score > best.score):
            best = match
            if match.is_complete:
                break
    return best


def _compare_with_misconception(
    misconception: Misconception,
    cases: Sequence[JudgedCase],
    exact_rules: Sequence[ComparisonRules],
) -> _MisconceptionMatch | None:
    """Compare a student's results with those that a misconception predicts.

    Return None if it does not explain them.

    The misconception must not be wrong where the student's answer is right, and must explain more
    than half of the failing cases. A pair of misconceptions must explain all failing cases, because
    among so many pairs one would always explain some.
    """
    failing_count = len(select_failing_cases(cases))
    agreeing, misses = [], 0
    for case, rules in zip(cases, exact_rules):
        if misconception.name not in case.test_case.mistakes:
            continue  # an edge case: answer keys hold no predictions for it
        prediction = case.test_case.mistakes[misconception.name]
        if _predicts_outcome(prediction, case, rules):
            agreeing.append(case)
            continue
        if case.is_right:
            return None  # it predicts a wrong result, but the student is right
        if _shapes_differ(prediction.value, case.value):
            return None  # in other cases, broadcasting may hide this difference
        misses += 1
        if misses * 2 > failing_count or " + " in misconception.name:
            return None
    explained_cases = select_failing_cases(agreeing)
    informative = [
        case for case in explained_cases if _is_misconception_wrong_in(misconception, case)
    ]
    misses += len(explained_cases) - len(informative)
    # If the misconception fails to explain some test cases, it may explain others by chance: those
    # with an error or with a whole number. So do not count these.
    if misses:
        informative = [case for case in informative if _is_unlikely_coincidence(case.outcome)]
    score = len(informative)
    if score <= misses:
        return None
    if not misses:
        score += len(cases)
    return _MisconceptionMatch(misconception, agreeing, score, is_complete=not misses)


def _predicts_outcome(
    prediction: CallOutcome, case: JudgedCase, exact_rules: ComparisonRules
) -> bool:
    """Return True if the result that a misconception predicts equals the student's result."""
    if isinstance(case.expected, ExpectedError) and case.is_right:
        # The student's function raises the expected error. It is enough that code with the
        # misconception raises it as well: the messages may differ.
        agrees = compare_outcome(case.expected, prediction, case.rules, case.inputs) is None
    else:
        outcome, difference = case.outcome, case.difference
        if (
            outcome.modified
            and difference
            and difference.kind != "modified"
            and not prediction.modified
        ):
            # Compare only the results. If the function modified an argument, a separate sentence
            # says so.
            outcome = replace(outcome, modified=())
        agrees = same_outcome(prediction, outcome, exact_rules, case.inputs.memory)
    return agrees and not _is_prediction_less_precise(prediction.value, case.value, case.expected)


def _shapes_differ(first: Value, second: Value) -> bool:
    both_arrays = isinstance(first, np.ndarray) and isinstance(second, np.ndarray)
    return both_arrays and first.shape != second.shape


def _is_misconception_wrong_in(misconception: Misconception, case: JudgedCase) -> bool:
    """Return True if a misconception predicts a wrong result, not only an imprecise one.

    If a misconception is right in a case, it explains nothing there.
    """
    prediction = case.test_case.mistakes[misconception.name]
    difference = case.difference
    if prediction is not case.outcome:  # a build judges the misconceptions' own outcomes
        difference = compare_outcome(case.expected, prediction, case.rules, case.inputs)
    if difference is None or difference.kind != "values":
        return difference is not None
    expected = _cast_expected_to_precision_of(case.expected, case.value)
    return not same_outcome(CallOutcome(expected, case.outcome.type), prediction, case.rules)


def _cast_expected_to_precision_of(expected: Value, value: Value) -> Value:
    """Return the expected value, converted to the precision (such as float32) of the result."""
    are_sequences = isinstance(expected, (tuple, list)) and isinstance(value, (tuple, list))
    if are_sequences and len(expected) == len(value):  # `map` stops at the shorter one
        return type(expected)(map(_cast_expected_to_precision_of, expected, value))
    if _are_float_arrays(value, expected):
        with np.errstate(all="ignore"):
            return expected.astype(value.dtype)
    return expected


def _are_float_arrays(*values: Value) -> bool:
    return all(isinstance(value, np.ndarray) and value.dtype.kind == "f" for value in values)


def _is_unlikely_coincidence(outcome: CallOutcome) -> bool:
    """Return True if a result rarely equals another by chance: no error, integer or boolean."""
    return not outcome.error and not isinstance(outcome.value, (bool, int))


def adapt_rules_to_precision(rules: ComparisonRules, expected: Value) -> ComparisonRules:
    """Return rules with a tolerance of at least float32's if the expected value has float32 arrays.

    If the expected value has float32 arrays, the tolerance is widened to that of float32. A
    misconception's answer in float64 may come from float32 numbers, and is then no more precise
    than they are.
    """
    if not any(array.dtype == np.float32 for array in find_arrays(expected)):
        return rules
    wide_tolerance = effective_tolerance(rules.tolerance, np.empty(0, np.float32))
    if isinstance(rules.tolerance, tuple):
        return replace(rules, tolerance=wide_tolerance)
    return replace(rules, tolerance=max(rules.tolerance, wide_tolerance[0]))


def _is_prediction_less_precise(prediction: Value, value: Value, expected: Value) -> bool:
    """Return True if the predicted array has too low a precision, but the student's has not.

    A misconception predicts it.

    Otherwise the wide tolerance for float16 would let such a misconception explain any small error.
    """
    if not _are_float_arrays(prediction, value, expected):
        return False
    is_lower = prediction.dtype.itemsize < expected.dtype.itemsize
    return is_lower and prediction.dtype != value.dtype
