"""Find mistakes in the definitions of a lab's exercises, such as wrong code that would pass.

The wrong implementation of each misconception must be recognised as that misconception, and each
right implementation must be accepted. A function without any thought, such as one whose body is
`pass`, must not be right in every test case.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from autograder.authoring.case_weaknesses import (
    encode_arguments,
    encode_inputs,
    find_case_weaknesses,
    find_equal_cases,
)
from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.lab import Lab
from autograder.authoring.notebook_checks import find_notebook_warnings, find_notebook_weaknesses
from autograder.authoring.slip_pairs import FEWEST_NUMBERS, has_too_few_numbers
from autograder.authoring.slips import SlipListError
from autograder.core.notebook_cells import make_grade_id
from autograder.core.results import Verdict
from autograder.core.text_format import format_count, join_words
from autograder.judging.compare import compare_outcome, same_outcome
from autograder.judging.error_messages import classify_error
from autograder.judging.function_tests import (
    has_recorded_value,
    is_empty_answer,
    zero_recorded_values,
)
from autograder.judging.judge import Finding, judge
from autograder.judging.student_calls import pack_result
from autograder.values.case_records import (
    TEST_ARGUMENT,
    CallOutcome,
    ComparisonRules,
    ExpectedError,
    Inputs,
    Misconception,
    TestCase,
    Value,
)
from autograder.values.value_types import blank_like, find_arrays


def find_lab_weaknesses(lab: Lab) -> list[str]:
    """Return a sentence for each mistake in the definitions of a lab's exercises.

    Such mistakes are a misconception that is accepted as right or recognised as another one, a
    right implementation that is refused, and an exercise that accepts a thoughtless answer.
    """
    weaknesses = list(find_notebook_weaknesses(lab))
    fresh_names = lab.run_reference_cells()
    for name, exercise in lab.exercises.items():
        exercise.limits_calls = True
        try:
            fresh_reference = getattr(fresh_names, name)
        except AttributeError as error:  # its text names the most similar name
            cell = make_grade_id(name)
            weaknesses.append(f"{lab.name}: {name}: {error} Let the cell {cell!r} define it.")
            continue
        for weakness in find_case_weaknesses(exercise, fresh_reference):
            weaknesses.append(f"{lab.name}: {name}: {weakness}")
        weaknesses += _find_exercise_weaknesses(exercise)
    return weaknesses


def _find_exercise_weaknesses(exercise: Exercise) -> Iterator[str]:
    owner = f"{exercise.lab.name}: {exercise.name}"
    test_cases = exercise.test_cases() + exercise.hidden_test_cases()
    exercise.check_parts()
    exercise.check_reference_on_proposed_domain()
    if not test_cases:
        yield f"{owner} has no case; give it one, or a domain."
    for test_case in exercise.test_cases():
        if "\n" in str(test_case.inputs.kwargs.get(TEST_ARGUMENT, "")):
            yield (
                f"{owner}: the test of a case that students see is a text; "
                "a function of the course's library is expected."
            )
            break
    for description, outcomes in _make_trivial_outcomes(test_cases, exercise.rules):
        if _are_all_outcomes_right(test_cases, outcomes, exercise.rules):
            yield (
                f"{owner}: {description} is right in every case; add one in which it is not. What "
                'an exercise leaves in its arguments is judged with `call="in place"`, and what it '
                'prints with `returns="printed"`; a file is not judged: let it return something.'
            )
    for weakness in _find_unsound_results(exercise):
        yield f"{owner}: the reference {weakness}"
    faults = [
        _find_fault_without_slip(f, exercise, test_cases) for f in exercise.functions_without_slip
    ]
    for function, fault in zip(exercise.functions_without_slip, faults, strict=True):
        if fault:
            yield f"{owner}: the function with slips {function.__name__!r} {fault}"
    if any(faults):
        return  # each of its slips would be a fault for the same reason
    for misconception in exercise.misconceptions:
        weakness = _find_misconception_weakness(exercise, misconception, test_cases)
        if weakness:
            yield f"{owner}: the misconception {misconception.name!r} {weakness}"
    variants = list(exercise.variants)
    if exercise.rules.compare:
        variants.insert(0, exercise.reference)
    for variant in variants:
        finding = judge_outcomes(exercise, test_cases, call_on_cases(variant, exercise, test_cases))
        if finding.verdict is not Verdict.PASS:
            name = _get_name(variant, exercise)
            yield f"{owner}: the right answer {name!r} is refused. {finding.message}"


def _find_unsound_results(exercise: Exercise) -> Iterator[str]:
    """Yield a clause for the first case that makes NaN, and for the first that widens a dtype.

    Each is a clause that the caller puts into a sentence.

    If the reference divides 0 by 0 or widens float32, right answers that do not are refused.
    """
    if exercise.rules.compare:
        return
    test_cases = exercise.test_cases() + exercise.test_cases(0)
    for test_case in test_cases:
        if not exercise.allows_nan and _makes_nan(test_case):
            yield (
                f"gives NaN in the case {test_case.label!r}, whose arguments hold none. Keep such "
                "arguments out of the domain and the cases; or, if NaN is right there, say "
                f"`Exercise({exercise.name!r}, …, allows_nan=True)`."
            )
            break
    for test_case in test_cases:
        if _widens_dtype(test_case):
            yield (
                f"gets only float32 or float16 in the case {test_case.label!r}, and gives float64, "
                "so an answer that keeps the dtype is refused. Compute in the dtype of the "
                "arguments: a NumPy number such as `np.sqrt(2)` widens, `2**0.5` does not."
            )
            break


def _makes_nan(test_case: TestCase) -> bool:
    """Return True if the expected value holds NaN, and no argument does."""
    return _holds_nan(test_case.expected) and not _holds_nan(
        [*test_case.inputs.args, *test_case.inputs.kwargs.values()]
    )


def _holds_nan(value: Value) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    if isinstance(value, list | tuple):
        return any(_holds_nan(item) for item in value)
    return any(array.dtype.kind in "fc" and np.isnan(array).any() for array in find_arrays(value))


def _widens_dtype(test_case: TestCase) -> bool:
    """Return True if all floating-point arguments are narrow arrays, and an expected array is float64."""
    arguments = find_arrays([*test_case.inputs.args, *test_case.inputs.kwargs.values()])
    widths = {array.dtype.itemsize for array in arguments if array.dtype.kind == "f"}
    if not widths or max(widths) >= 8 or isinstance(test_case.expected, ExpectedError):
        return False
    return any(array.dtype == np.float64 for array in find_arrays(test_case.expected))


def _are_all_outcomes_right(
    test_cases: Sequence[TestCase],
    outcomes: Sequence[CallOutcome],
    rules: ComparisonRules,
) -> bool:
    for test_case, outcome in zip(test_cases, outcomes, strict=True):
        if compare_outcome(test_case.expected, outcome, rules, test_case.inputs):
            return False
    return True


def _find_misconception_weakness(
    exercise: Exercise, misconception: Misconception, test_cases: Sequence[TestCase]
) -> str:
    """Return the fault in a misconception's definition as the end of a sentence; "" if none."""
    outcomes = [test_case.mistakes[misconception.name] for test_case in test_cases]
    accident = _compare_raised_with_declared_errors(misconception, test_cases, outcomes)
    if accident:
        return accident
    finding = judge_outcomes(exercise, test_cases, outcomes)
    if finding.verdict is Verdict.PASS:
        return _describe_unasked_slip(misconception) or (
            "gives the right answer in every case. Add a case in which it is wrong, or, if it is "
            "right, make it a variant."
        )
    if finding.misconception != misconception.name:
        if finding.misconception and _are_equal_everywhere(
            exercise, misconception.name, finding.misconception
        ):
            return (
                f"gives the same results as {finding.misconception!r} in every case, also in those "
                "that grading draws. The two are the same mistake: take one of them out, unless "
                "you know arguments for which they differ; then add a case with these."
            )
        return (
            f"is named {finding.misconception!r}; add a case that tells the two apart, "
            "or list the more special one first."
        )
    return ""


def _find_fault_without_slip(
    function: Callable, exercise: Exercise, test_cases: Sequence[TestCase]
) -> str:
    """Return what is wrong with a function with slips when it makes none; "" if nothing is.

    The result is the end of a sentence.
    """
    outcomes = call_on_cases(function, exercise, test_cases)
    for test_case, outcome in zip(test_cases, outcomes, strict=True):
        error_name, _, text = outcome.error.partition(": ")
        if error_name == SlipListError.__name__:
            return f"cannot be used: {text}"
        if outcome.error and not isinstance(test_case.expected, ExpectedError):
            return (
                f"raises {outcome.error.rstrip('.')} even when it makes no slip. Correct its code. "
                "Its arguments are `slip` and then those of the exercise."
            )
    finding = judge_outcomes(exercise, test_cases, outcomes)
    if finding.verdict is Verdict.PASS:
        return ""
    return f"is wrong even when it makes no slip. {finding.message}"


def _describe_unasked_slip(misconception: Misconception) -> str:
    """Return the end of a sentence on a slip that its function never asks for; "" if none is."""
    active_slips = getattr(misconception.function, "active_slips", ())
    for name in active_slips:
        if name not in misconception.function.asked_slips:  # type: ignore[union-attr]
            return f"is in the list of slips, and the function never asks for `slip.{name}`."
    return ""


def _are_equal_everywhere(
    exercise: Exercise, first_misconception: str, second_misconception: str
) -> bool:
    """Return True if two misconceptions agree in all cases, those for grading included."""
    for test_case in [*exercise.test_cases(), *exercise.test_cases(0), *exercise.test_cases(1)]:
        if second_misconception not in test_case.mistakes:
            return False  # it is a mistake common to all exercises
        if test_case.inputs.memory is None:  # a large case that tests memory would take long
            outcomes = (
                test_case.mistakes[first_misconception],
                test_case.mistakes[second_misconception],
            )
            if not same_outcome(*outcomes, exercise.rules):
                return False
    return True


# Errors that show a fault in the author's code. If the author's deliberately wrong function raises
# one of them, it has a misspelt name, or calls an `Exercise` instead of the exercise's function.
_AUTHOR_ERRORS = (
    "NameError",
    "UnboundLocalError",
    ExerciseError.__name__,
    SlipListError.__name__,
)


def _compare_raised_with_declared_errors(
    misconception: Misconception, test_cases: Sequence[TestCase], outcomes: Sequence[CallOutcome]
) -> str:
    """Return the fault in the errors that a deliberately wrong function raises; "" if none.

    If the function raised an error that its author did not intend, every student whose function
    raises the same error would be told that they have the misconception.
    """
    results = []
    for test_case, outcome in zip(test_cases, outcomes, strict=True):
        is_error_case = isinstance(test_case.expected, ExpectedError)
        # Some deliberately wrong functions are named after the error that they raise, such as
        # "name-not-defined". That error is intended.
        if not is_error_case and classify_error(outcome.error) != misconception.name:
            results.append((test_case, outcome))
    # Keep one message for each type of error. Going through the test cases backwards keeps the
    # message of the first case.
    errors: dict[str, str] = {}
    for _, outcome in reversed(results):
        if outcome.error:
            errors[outcome.raised] = outcome.error
    # Use only the results in usual test cases: in an edge case, such as an array of length 1, wrong
    # code often gives the right result.
    usual_outcomes = [outcome for test_case, outcome in results if not test_case.edge]
    if not usual_outcomes:
        usual_outcomes = [outcome for _, outcome in results]
    raises_always = bool(errors) and all(outcome.error for outcome in usual_outcomes)
    declared_errors = misconception.raises
    author_error = ""
    for name in _AUTHOR_ERRORS:
        if not author_error and name in errors and name not in declared_errors:
            author_error = name
    if author_error == SlipListError.__name__:
        return f"cannot be made: {errors[author_error].partition(': ')[2]}"
    if author_error == ExerciseError.__name__:
        return f"calls an exercise. {errors[author_error].partition(': ')[2]}"
    is_unintended = not errors.keys() & set(declared_errors)
    if author_error or (raises_always and is_unintended):
        name = author_error or next(iter(errors))
        scope = "" if author_error or declared_errors else "in every case, "
        text = errors[name].rstrip(".")
        if declared_errors:
            text += f", and says `raises={join_words(declared_errors)}`"
        advice = f"If this is the mistake, say `raises={name}`; else correct its code."
        if getattr(misconception.function, "active_slips", ()):
            advice = (
                "Correct its code. If this is the mistake, take it out of the list of slips and make it "
                f"a function of its own, under `misconception(…, raises={name})`."
            )
        return f"raises {scope}{text}. {advice}"
    if declared_errors and is_unintended and " + " not in misconception.name:
        names = join_words(declared_errors)
        return f"says `raises={names}`, and raises it in no case; take it out."
    return ""


def _make_trivial_outcomes(
    test_cases: Sequence[TestCase], rules: ComparisonRules
) -> Iterator[tuple[str, list[CallOutcome]]]:
    """Yield the results of trivial functions, such as zeros, to test that they do not pass.

    Parameters
    ----------
    test_cases : sequence of TestCase
        Test cases of the exercise.

    Yields
    ------
    (str, list of CallOutcome)
        Description of a thoughtless function, and what it returns in each test case.
    """
    zeros = [_zeros_like(test_case) for test_case in test_cases]
    if rules.call == "in place":
        yield "`pass`", [CallOutcome({}, "dict")] * len(test_cases)
        yield "zeros of the right shape", _make_outcomes(zeros)
        return
    yield "`pass`", [CallOutcome(None, "NoneType")] * len(test_cases)
    if any(test_case.inputs.result_queries for test_case in test_cases):
        yield "what gives zeros of the right shape", _make_outcomes(zeros)
        return
    is_test = any(TEST_ARGUMENT in test_case.inputs.kwargs for test_case in test_cases)
    differ = len({encode_arguments(test_case.inputs) for test_case in test_cases}) > 1
    if rules.compare and differ and not is_test:
        results = [test_case.expected for test_case in test_cases]
        yield "what is right in another case", _make_outcomes([*results[1:], results[0]])
    arguments = [_get_arguments_by_position_or_name(test_case.inputs) for test_case in test_cases]
    names: dict[int | str, None] = {}  # a dict, to keep the order
    for case_arguments in arguments:
        names |= dict.fromkeys(case_arguments)
    for name in names:
        values = [case_arguments.get(name) for case_arguments in arguments]
        yield f"argument {name} given back", _make_outcomes(values)
    all_arguments = [test_case.inputs.args for test_case in test_cases]
    yield "all arguments given back", _make_outcomes(all_arguments)
    if not is_test or not all(is_empty_answer(test_case.expected) for test_case in test_cases):
        yield "zeros of the right shape", _make_outcomes(zeros)


def _get_arguments_by_position_or_name(inputs: Inputs) -> Mapping[int | str, Value]:
    """Return a call's arguments by position (from 1) or by name."""
    arguments: dict[int | str, Value] = dict(enumerate(inputs.args, 1))
    return arguments | dict(inputs.kwargs)


def _zeros_like(test_case: TestCase) -> Value:
    if TEST_ARGUMENT in test_case.inputs.kwargs:
        if not has_recorded_value(test_case.expected):
            return []  # the test expects only errors, so there is nothing to replace by zeros
        return zero_recorded_values(test_case.expected)
    return blank_like(test_case.expected)


def _make_outcomes(values: Iterable[Value]) -> list[CallOutcome]:
    return [CallOutcome(value, type_name) for type_name, value in map(pack_result, values)]


def find_lab_warnings(lab: Lab) -> list[str]:
    """Return sentences on what the lab's author should check again.

    An exercise may have a domain that is only proposed, or test cases that students see only: then
    a function that looks its result up in a table would be right. A cell may use an answer without
    asking whether it is right.
    """
    doubts = list(find_notebook_warnings(lab))
    for exercise in lab.exercises.values():
        if exercise.proposed_domain:
            doubts.append(
                f"{lab.name}: the domain of {exercise.name} is proposed, and no answer is tested "
                "in it yet; read it, and take out `proposed=True` if every right answer agrees in "
                "all of it."
            )
        for clause in find_equal_cases(exercise):
            doubts.append(
                f"{lab.name}: {clause} in {exercise.name}; take one out, or change its inputs."
            )
        doubts += _find_unrecognisable_slip_pairs(exercise)
        doubts += _find_constant_arguments(exercise)
        doubts += _find_cases_with_other_axis_count(exercise)
        if exercise.proposed_domain:
            continue
        if _are_all_hidden_inputs_visible(exercise):
            doubts.append(
                f"{lab.name}: every case of {exercise.name} is one that students see, so a table "
                "of these answers it; give it a domain, or draw a case from the `rng` that it gets."
            )
    return doubts


def _find_unrecognisable_slip_pairs(exercise: Exercise) -> Iterator[str]:
    """Yield a sentence if the results are so few that a check can name no two slips at once."""
    is_compared_by_author = exercise.rules.compare or exercise.rules.equality
    if is_compared_by_author or not exercise.functions_without_slip:
        return
    has_too_few = has_too_few_numbers(exercise.test_cases())
    # A single pair, as in the skeleton, is seldom missed.
    if has_too_few and len(exercise.make_slip_pairs()) > 1:
        yield (
            f"{exercise.lab.name}: {exercise.name} has lists of slips, but a check names no two "
            f"slips at once, because the cases that students see give fewer than {FEWEST_NUMBERS} "
            "numbers together (a small whole number counts a quarter). Add cases, or larger ones."
        )


_SCALAR_TYPES = (bool, int, float, str)


def _find_constant_arguments(exercise: Exercise) -> Iterator[str]:
    """Yield a sentence for each number or text argument that is the same in all cases."""
    if not exercise.rules.calls_answer_directly:
        return  # a function of the course's library gets the arguments
    drawn_cases = [*exercise.draw(), *exercise.draw(0), *exercise.draw(1)]
    if len({encode_arguments(inputs) for _, inputs, _ in drawn_cases}) < 2:
        return  # all arguments are the same, which is another fault
    calls = [_name_arguments(exercise, inputs) for _, inputs, _ in drawn_cases]
    for name in exercise.argument_names:
        values = [arguments[name] for arguments in calls if name in arguments]
        if len(values) < len(calls):
            continue  # some case leaves it out
        first = values[0]
        types = set(map(type, values))
        if type(first) in _SCALAR_TYPES and len(types) == 1 and len(set(values)) == 1:
            yield (
                f"{exercise.lab.name}: in {exercise.name}, `{name}` is {first!r} in every case, so "
                f"an answer that ignores it is right; draw other values of `{name}`, too."
            )


def _name_arguments(exercise: Exercise, inputs: Inputs) -> dict[str, Value]:
    """Return the arguments of a call of the exercise's function by name, without defaults."""
    return dict(zip(exercise.argument_names, inputs.args, strict=False)) | dict(inputs.kwargs)


_NO_ARRAY = -1  # number of axes of a value that has none, such as a list


def _find_cases_with_other_axis_count(exercise: Exercise) -> Iterator[str]:
    """Yield a sentence for each argument with a number of axes that only one case has.

    If it has in several cases, the function is for arrays of any number of axes.
    """
    if exercise.declared_domain is None or not exercise.rules.calls_answer_directly:
        return
    counts_in_domain: dict[str, set[int]] = {}
    counts_in_cases: dict[str, dict[str, int]] = {}  # by argument and label
    for label, inputs, edge in exercise.draw(0):
        for name, value in _name_arguments(exercise, inputs).items():
            if edge:
                counts_in_domain.setdefault(name, set()).add(_count_axes(value))
            elif not exercise.expects_error(label):
                counts_in_cases.setdefault(name, {})[label] = _count_axes(value)
    for name, counts in counts_in_cases.items():
        domain_counts = counts_in_domain.get(name, {_NO_ARRAY})
        others = [label for label, count in counts.items() if count not in domain_counts]
        if _NO_ARRAY in domain_counts or len(others) != 1 or len(counts) == 1:
            continue
        if counts[others[0]] == _NO_ARRAY:
            continue
        yield (
            f"{exercise.lab.name}: in {exercise.name}, `{name}` has "
            f"{format_count(counts[others[0]], 'axis', 'axes')} in the case {others[0]!r}, and "
            f"{' or '.join(map(str, sorted(domain_counts)))} in the domain and the other cases, so "
            "an answer that is right in these may be refused there. Change the case, or let the "
            "domain draw such arguments, too."
        )


def _count_axes(value: Value) -> int:
    """Return the number of axes of an array, 0 for a number, and `_NO_ARRAY` for any other value."""
    if isinstance(value, np.ndarray):
        return value.ndim
    if type(value) in (int, float):
        return 0
    return _NO_ARRAY


def _are_all_hidden_inputs_visible(exercise: Exercise) -> bool:
    visible_inputs = [inputs for _, inputs, _ in exercise.draw()]
    if not any(inputs.args or inputs.kwargs for inputs in visible_inputs):
        return False  # without arguments there is nothing to draw
    visible = set(map(encode_inputs, visible_inputs))
    for seed in range(2):
        for _, inputs, _ in exercise.draw(seed):
            if encode_inputs(inputs) not in visible:
                return False
    return True


def call_on_cases(
    function: Callable,
    exercise: Exercise,
    test_cases: Sequence[TestCase],
) -> list[CallOutcome]:
    """Call a function on each test case of an exercise, and return the results or errors."""
    description = f"the right answer {_get_name(function, exercise)!r}"
    return [
        exercise.call_function_of_author(function, test_case.label, test_case.inputs, description)
        for test_case in test_cases
    ]


def _get_name(function: Callable, exercise: Exercise) -> str:
    return getattr(function, "__name__", exercise.name)


def judge_outcomes(
    exercise: Exercise,
    test_cases: Sequence[TestCase],
    outcomes: Sequence[CallOutcome],
) -> Finding:
    """Judge whether a function's results are right and which misconception they show, if any."""
    return judge(
        test_cases,
        outcomes,
        exercise.rules,
        exercise.misconceptions,
        exercise.name,
        argument_names=exercise.argument_names,
    )
