"""Functions that a lab notebook calls: `check` an exercise, show `progress`, read `criteria`."""

import dis
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from html import escape
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, TypeVar

from autograder.core import import_guard
from autograder.core.blas_threads import limit_numpy_to_one_thread
from autograder.core.notebook_cells import get_cell_source, get_grade_id, make_grade_id
from autograder.core.results import Verdict
from autograder.core.text_format import backticks_to_html, format_count, join_words
from autograder.core.time_limit import TimeLimitExceeded, limit_call_time
from autograder.diagnosis.argument_probe import explain_by_arguments
from autograder.diagnosis.array_slips import (
    find_approximation,
    find_array_of_texts,
    find_change_of_argument,
)
from autograder.diagnosis.render import render_html, render_text
from autograder.diagnosis.repair import find_repair
from autograder.diagnosis.second_run import (
    describe_largest_array,
    explain_failing_line,
    explain_infinite_numbers,
)
from autograder.diagnosis.source_slips import (
    SourceSlip,
    explain_missing_result,
    find_cause_of_none,
    find_in_place_call,
    find_source_slip,
    find_squeeze_of_all_axes,
    find_tuple_of_places,
    find_uncalled_function,
    find_written_infinity,
    fit_hint_to_source,
)
from autograder.judging.error_messages import FULLY_EXPLAINED_ERRORS
from autograder.judging.judge import (
    Finding,
    describe_broken_dependency,
    describe_source_of_infinity,
    judge,
)
from autograder.judging.student_calls import (
    call_student_function,
    find_argument_mismatch,
    list_positional_names,
)
from autograder.student import answer_key, reuse
from autograder.student.answer_key import ExerciseKey, LabDescription
from autograder.student.cell_history import describe_stale_definition, watch_cells
from autograder.student.missing_names import explain_missing_name
from autograder.student.reuse import in_notebook_kernel
from autograder.student.slow_check import announce_slow_check
from autograder.student.workspace import is_unanswered, read_cells
from autograder.values.arrays import PRECISION_MISTAKES
from autograder.values.common_mistakes import MISTAKES
from autograder.values.value_types import find_arrays
from autograder.values.wording import add_article

limit_numpy_to_one_thread()

_Reading = TypeVar("_Reading")


class CheckFailed(AssertionError):
    """A student's function is not correct yet; the text is the whole feedback.

    Parameters
    ----------
    line : str, optional
        The only line that IPython shows instead of a traceback; by default the message.
    """

    def __init__(self, message: str, line: str = ""):
        super().__init__(message)
        self._line = line or message

    def _render_traceback_(self) -> list[str]:  # IPython shows this instead of a traceback
        return [self._line]


class NotWrittenYet(CheckFailed):
    """The student has not changed the exercise's cell yet."""


_passed_checks: dict[str, bool] = {}  # by exercise; the one checked last comes last


def check(answer: Any) -> None:
    """Try your function on the visible cases and say what kind of mistake it makes, if any.

    Parameters
    ----------
    answer : callable
        Your function (or layer class), under the name of its exercise: ``check(softmax)``.

    Raises
    ------
    CheckFailed
        If a case is not right, so that graders see the failure as well.
    """
    namespace = _get_caller_namespace()
    key = _load_key_of_function(answer, namespace)
    code = _find_reachable_notebook_code(answer, namespace)
    packages = answer_key.find_lab(key.name).packages
    forbidden_package = import_guard.find_forbidden_package(code, namespace, packages)
    if forbidden_package:
        _record_check(key.name, is_right=False)
        refusal = import_guard.describe_refusal(forbidden_package, packages)
        raise CheckFailed(f"{key.name}: {refusal}")
    if not key.test_cases:
        plan = "All its test cases are hidden. They run when it is graded."
        text = f"{key.name} is defined. {plan}"
        _display_message(text, lambda: _render_paragraph(text))
        return
    note = describe_stale_definition(key.name)
    if note:
        print(note)
    try:
        with announce_slow_check(key.name), _ExitRaisesError(answer):
            finding = _judge_answer(key, answer, key.misconceptions)
            finding = _read_source_safely(_fit_hint_of_misconception, answer, finding) or finding
            finding = _add_second_run(key, answer, finding)
            finding = _add_experimental_explanation(key, answer, finding)
    except TimeLimitExceeded as overrun:
        _record_check(key.name, is_right=False)
        raise CheckFailed(f"{key.name}: {overrun}") from None
    except KeyboardInterrupt:
        _record_check(key.name, is_right=False)
        raise CheckFailed(
            f"{key.name}: you interrupted the check, so there is no result."
        ) from None
    _record_check(key.name, is_right=finding.verdict is Verdict.PASS)
    note = _describe_other_environment(key)
    if finding.verdict is not Verdict.PASS:
        if note:
            print(note)
        _show_failure_and_raise(key, answer, finding, namespace)
    _show_success_and_next_exercise(key)
    if note:
        print(note)
    if key.rules.call == "function":
        reuse.save_function(
            key.name,
            answer,
            namespace,
            lambda function: _judge_answer(key, function).verdict is Verdict.PASS,
        )


def _record_check(name: str, *, is_right: bool) -> None:
    """Record the result of an exercise's check, in place of an earlier one, as the last of all."""
    _passed_checks.pop(name, None)
    _passed_checks[name] = is_right


def _describe_other_environment(key: ExerciseKey) -> str:
    """Return the sentences on verdicts that may differ from the marks; "" if none may.

    They may differ if the exercise has a portability note, and an environment variable has another
    value here than where marks are given.
    """
    if not key.portability_note:
        return ""
    for variable, value in answer_key.find_lab(key.name).graded_with.items():
        value_here = os.environ.get(variable, value)
        if value_here != value:
            return (
                f"This check ran with {variable}={value_here}; marks are given with "
                f"{variable}={value}, and a verdict may differ. {key.portability_note}"
            )
    return ""


class _ExitRaisesError:
    """Context in which `exit()` in a student's function raises SystemExit, as it does in grading.

    IPython's own `exit` and `quit` would end the kernel after the check, and raise nothing.
    """

    def __init__(self, answer: Any) -> None:
        main_module = vars(sys.modules["__main__"])
        self._namespace = getattr(_unwrap(answer), "__globals__", main_module)
        self._originals: dict[str, Any] = {}

    def __enter__(self) -> None:
        for name in ("exit", "quit"):
            value = self._namespace.get(name)
            if type(value).__module__.startswith("IPython."):
                self._originals[name] = value
                self._namespace[name] = sys.exit

    def __exit__(self, *_: object) -> None:
        self._namespace.update(self._originals)


def _show_failure_and_raise(
    key: ExerciseKey,
    answer: Any,
    finding: Finding,
    namespace: Mapping[str, Any],
) -> NoReturn:
    """Show what is wrong with a student's function, then raise `CheckFailed`."""
    is_own_stub = finding.is_unwritten and "NotImplementedError" in _get_code(answer).co_names
    cause = ""
    if not is_own_stub:
        cause = _explain_broken_dependency(key, answer, namespace)
        cause = cause or _explain_undefined_name(key, finding)
    if finding.is_unwritten and cause:
        _display_message(cause, lambda: _render_paragraph(cause))
        raise CheckFailed(f"{key.name}: {cause}")
    summary = "" if finding.is_unwritten else _print_cases_and_summarise(key, finding)
    text = "\n".join(filter(None, (cause, render_text(finding))))
    _display_message(text, lambda: _render_paragraph(cause) + render_html(finding))
    if finding.is_unwritten:
        raise NotWrittenYet(f"{key.name}: {finding.message}", f"{key.name}: not written yet.")
    message = " ".join(filter(None, (f"{key.name}:", cause, finding.message)))
    raise CheckFailed(message, summary)


def ready(*answers: Any) -> bool:
    """Return True if these functions pass their checks.

    Prints the names of the functions that are not right yet.

    Parameters
    ----------
    *answers : callable
        Functions written for exercises of the lab: ``if ready(softmax): …``
    """
    namespace = _get_caller_namespace()
    wrong_exercises = []
    for answer in answers:
        key = answer_key.load_exercise_key(_require_exercise_name(answer, namespace))
        try:
            is_right = _judge_answer(key, answer).verdict is Verdict.PASS
        except TimeLimitExceeded:
            is_right = False
        if not is_right:
            wrong_exercises.append(key.name)
    if wrong_exercises:
        names = join_words(wrong_exercises)
        verb = "is" if len(wrong_exercises) == 1 else "are"
        print(f"This cell runs once {names} {verb} right.")
    return not wrong_exercises


def progress(lab: str | None = None) -> None:
    """Show a lab's exercises, their points, and which have passed their check in this session.

    Parameters
    ----------
    lab : str, optional
        The lab's name; by default the lab of the exercise checked last.
    """
    labs = _require_lab_descriptions()
    if not lab and _passed_checks:
        lab = answer_key.find_lab(list(_passed_checks)[-1]).lab
    if lab not in labs:
        names = join_words(labs)
        if lab is None:
            raise CheckFailed(f"progress() needs the name of a lab, one of {names}.")
        raise CheckFailed(f"There is no lab {lab!r}; the labs are {names}.")
    key = labs[lab]
    marks = {True: "✓", False: "✗", None: "·"}
    earned_points = 0.0
    for name, points in key.points.items():
        print(f"{marks[_passed_checks.get(name)]} {name:<28} {format_count(points, 'point')}")
        if _passed_checks.get(name):
            earned_points += points
    for name, points in key.by_hand.items():
        print(f"✎ {name:<28} {format_count(points, 'point')}, graded manually")
    summary = f"{lab}: {earned_points:g} of {sum(key.points.values()):g} points so far"
    if key.by_hand:
        manual_points = format_count(sum(key.by_hand.values()), "point")
        summary += f"; {manual_points} more for what you explain in words"
    print(f"{summary}.")
    if key.certificate and all(_passed_checks.get(name) for name in key.points):
        print(f"\n{key.certificate.strip()}")


class answers:
    """Callable that returns the values of notebook variables, so that `check` can judge variables.

    Parameters
    ----------
    *names : str
        Names of variables in the notebook. After
        ``answer_height = answers("height", "width")`` a call ``answer_height()`` returns a dict
        with copies of the two values. So ``check(answer_height)`` checks them like the result of a
        function. A call ``answer_height("width")`` returns one of them; the other need not exist.
    """

    def __init__(self, *names: str):
        # Give this object an attribute `__globals__`, as functions have. There `check` looks for
        # the functions of the notebook.
        notebook_globals = self.__globals__ = sys._getframe(1).f_globals
        self._names = names
        self._copies: dict[str, Any] = {}
        for name in names:
            if name in notebook_globals:
                self._copies[name] = _copy_if_possible(notebook_globals[name])

    def __call__(self, *names: str) -> dict[str, Any]:
        return self.select(names or self._names)

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of some of the variables; raise NameError if one is not defined."""
        for name in names:
            if name not in self._copies:
                raise NameError(f"name {name!r} is not defined")
        return {name: self._copies[name] for name in names}


def _copy_if_possible(value: Any) -> Any:
    """Return a copy of a value that later cells may change; the value itself if copying fails."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - a value of the notebook may raise anything
        return value


def list_my_functions() -> None:
    """Say which of the functions in this notebook are yours, and which the course's."""
    print(reuse.describe_function_owners(dict(_get_caller_namespace()), _passed_checks))


def criteria(question: str | None = None) -> None:
    """Show the marking scheme of a question in words, once you have written your own answer.

    It reads the saved notebook, so save it first (Ctrl+S). Compare your answer with the points one
    by one, and then put it right: that is what the criteria are for.

    Parameters
    ----------
    question : str, optional
        The name of the answer's cell, such as "explain-flat"; may be left out in a notebook with
        one question.
    """
    labs_by_question = {}
    for lab in answer_key.load_lab_descriptions().values():
        if _notebook_path(lab).is_file():
            labs_by_question.update(dict.fromkeys(lab.by_hand, lab))
    if question is None and len(labs_by_question) == 1:
        question = next(iter(labs_by_question))
    if question not in labs_by_question:
        problem = f"There is no question {question!r}"
        if question is None:
            problem = "criteria needs the name of a question"
        names = join_words(labs_by_question) or "none"
        raise CheckFailed(f"{problem}; in the saved notebook beside this one there are: {names}.")
    lab = labs_by_question[question]
    cell = _find_cell(read_cells(_notebook_path(lab)), question)
    if cell is None or is_unanswered(cell):
        raise CheckFailed(
            f"{question}: write an answer of your own first and save the notebook (Ctrl+S); "
            "then run this again."
        )
    scheme = answer_key.read_criteria(lab).get(question)
    if scheme is None:
        raise CheckFailed(f"{question}: its marking scheme is not shown in this course.")
    points = format_count(lab.by_hand[question], "point")
    text = f"Marking scheme of “{question}” ({points}):\n\n{scheme}"
    if in_notebook_kernel():
        from IPython.display import Markdown, display

        display(Markdown(text))
    else:
        print(text)


def _notebook_path(lab: LabDescription) -> Path:
    """Return the path of a lab's notebook if the working directory is the lab's folder."""
    return Path.cwd() / f"{lab.lab}.ipynb"


def _find_cell(cells: Sequence[dict], name: str) -> dict | None:
    """Return the notebook cell with this name (its grade_id); None if there is none."""
    for cell in cells:
        if get_grade_id(cell) == name:
            return cell
    return None


def _judge_answer(key: ExerciseKey, answer: Any, misconceptions: Any = ()) -> Finding:
    """Call a student's function on the test cases of its answer key, and judge the results.

    Raises
    ------
    TimeLimitExceeded
        If all calls together take longer than the lab's time limit.
    """
    results = []
    call_seconds = answer_key.find_lab(key.name).call_seconds
    with limit_call_time(call_seconds, _get_code(answer).co_filename) as limit:
        for test_case in key.test_cases:
            limit.begin(test_case.label)
            results.append(call_student_function(answer, test_case.inputs, key.rules.call))
    names = list_positional_names(answer) if key.rules.calls_answer_directly else ()
    return judge(key.test_cases, results, key.rules, misconceptions, key.name, argument_names=names)


_SHAPE_ERRORS = ("shapes-that-do-not-multiply", "shapes-that-do-not-broadcast")


def _add_second_run(key: ExerciseKey, answer: Any, finding: Finding) -> Finding:
    """Return the finding with what a second run of its case shows: a line, and shapes on it."""
    case = finding.shown_case
    if case is None or case.difference is None or key.rules.call != "function":
        return finding
    difference = case.difference
    nudge, general_names = finding.nudge, (None, difference.mistake)
    precise_text = general_text = ""
    call_seconds = answer_key.find_lab(key.name).call_seconds
    try:
        with limit_call_time(call_seconds, _get_code(answer).co_filename):
            if difference.mistake in _SHAPE_ERRORS and finding.misconception in general_names:
                general_text = difference.means or MISTAKES[difference.mistake][0]
                explanation = explain_failing_line(answer, case.inputs)
                if explanation:
                    precise_text, nudge = explanation.means, explanation.nudge
            elif difference.kind == "not finite" and finding.misconception is None:
                general_text = describe_source_of_infinity(case)
                precise_text = explain_infinite_numbers(
                    answer, case.inputs, general_text.startswith("nan")
                )
            elif finding.misconception == "too-much-memory":
                general_text = MISTAKES["too-much-memory"][0]
                precise_text = describe_largest_array(answer, case.inputs, case.outcome.peak_bytes)
                nudge = "Do you need all of it at once?"
    except TimeLimitExceeded:
        return finding
    if not precise_text or general_text not in finding.means:
        return finding
    return replace(finding, means=finding.means.replace(general_text, precise_text), nudge=nudge)


def _add_experimental_explanation(key: ExerciseKey, answer: Any, finding: Finding) -> Finding:
    """Add ignored arguments and a possible repair to a finding that no misconception explains.

    The added sentences say which arguments the function seems to ignore, and which small change
    of its code would make it right.
    """
    if finding.verdict is Verdict.PASS or finding.is_unwritten or finding.cause:
        return finding
    shown_case = finding.shown_case
    if shown_case and shown_case.difference and shown_case.difference.kind == "time":
        return finding  # the function is slow, and would be called many more times
    is_unnamed = finding.verdict is Verdict.WRONG and finding.misconception is None
    # An error is unclear if only the general explanation for errors of its kind is known.
    is_general = finding.misconception is None or finding.misconception in MISTAKES
    is_unclear_error = (
        finding.verdict is Verdict.ERROR
        and is_general
        and finding.misconception not in FULLY_EXPLAINED_ERRORS
    )
    slip = _read_source_safely(_find_slip, key, answer, finding)
    if not is_unnamed and not finding.is_partial and not is_unclear_error:
        return _add_slip(finding, slip) if slip and slip.is_certain else finding
    failing, passing = [], []
    for test_case, is_right in zip(key.test_cases, finding.cases_correct, strict=True):
        if is_right:
            passing.append(test_case)
        else:
            failing.append(test_case)
    dependence = repair = ""
    call_seconds = answer_key.find_lab(key.name).call_seconds
    try:
        with limit_call_time(call_seconds, _get_code(answer).co_filename):
            if is_unnamed and not (slip and slip.is_certain):
                dependence = explain_by_arguments(
                    answer,
                    failing,
                    key.rules,
                    key.unused_arrays,
                    passing,
                )
            repair = find_repair(answer, failing, passing, key.rules)
    except TimeLimitExceeded:
        pass  # give the feedback without the explanation
    if finding.is_partial and repair:
        return replace(finding, misconception=None, means=repair, nudge="")
    says_enough = repair or dependence or (is_unclear_error and slip and not slip.nudge)
    if slip and not slip.is_certain and says_enough:
        slip = None
    if slip and repair and f"In line {slip.line} of" in repair:
        repair = ""  # the slip explains the same line
    if repair and is_unnamed:
        finding = replace(finding, means="")
    if repair and is_unclear_error:
        finding = replace(finding, nudge="")  # the general question of such errors leads elsewhere
    if slip:
        finding = _add_slip(finding, slip)
    return replace(finding, means=" ".join(filter(None, [finding.means, dependence, repair])))


def _read_source_safely(read: Callable[..., _Reading | None], *arguments: Any) -> _Reading | None:
    """Return what a function reads in a student's source; None if it cannot be read.

    Python's `ast` gives up a sum of some hundred terms with a RecursionError, and `inspect` a
    function that wraps itself with a ValueError.
    """
    try:
        return read(*arguments)
    except (RecursionError, ValueError):
        return None


def _find_slip(key: ExerciseKey, answer: Any, finding: Finding) -> SourceSlip | None:
    """Return a slip in the source of a student's function that may explain a wrong result.

    An error of which the explanation is complete needs none.
    """
    raises_error = finding.verdict is Verdict.ERROR
    if finding.misconception and finding.misconception not in MISTAKES:
        return find_source_slip(answer, has_misconception=True, raises_error=raises_error)
    error = finding.shown_case.outcome.error if finding.shown_case else ""
    if finding.misconception == "missing-axis":
        return find_squeeze_of_all_axes(answer) or find_source_slip(answer, key.unused_arrays)
    if finding.misconception == "returns-nothing":
        return explain_missing_result(answer)
    if finding.misconception == "works-on-none":
        is_explained = finding.means.startswith("A value on this line is None. `")
        return None if is_explained else find_cause_of_none(answer)
    if "'tuple' object" in error or "to tuple" in error:
        return find_tuple_of_places(answer)
    if finding.misconception == "product-with-one-number":
        return find_uncalled_function(answer) or find_in_place_call(answer)
    if finding.misconception == "modifies-argument" and finding.shown_case:
        return find_change_of_argument(answer, finding.shown_case.outcome.modified)
    if finding.misconception in PRECISION_MISTAKES:
        return find_approximation(answer)
    if _holds_shortened_text(finding):
        slip = find_array_of_texts(answer)
        if slip:
            return slip
    if finding.misconception in FULLY_EXPLAINED_ERRORS:
        return None
    if finding.verdict is Verdict.ERROR and finding.misconception and not finding.nudge:
        return None  # the explanation of the error names the right code
    slip = find_source_slip(
        answer,
        key.unused_arrays,
        raises_error=raises_error,
        fails_with_more_axes=_fails_with_more_axes(key, finding),
    )
    number = _find_infinite_number(finding)
    if number and not (slip and slip.is_certain):
        return find_written_infinity(answer, number) or slip
    return _ask_for_another_mistake(slip, answer, finding)


def _ask_for_another_mistake(
    slip: SourceSlip | None, answer: Any, finding: Finding
) -> SourceSlip | None:
    """Return the slip of an unused argument with a hint if the shown case does not give it.

    That the argument is not used explains nothing of a case in which it has its default value.
    """
    case = finding.shown_case
    if slip is None or not slip.unused_names or case is None:
        return slip
    if finding.verdict is not Verdict.WRONG:
        return slip
    try:
        arguments = (
            inspect.signature(answer).bind(*case.inputs.args, **case.inputs.kwargs).arguments
        )
    except (TypeError, ValueError):
        return slip
    if any(name in arguments for name in slip.unused_names):
        return slip
    names = join_words([f"`{name}`" for name in slip.unused_names])
    return replace(
        slip, nudge=f"The case above does not give {names}. Is something else wrong in it, too?"
    )


def _holds_shortened_text(finding: Finding) -> bool:
    """Return True if a text of the shown result is only the beginning of the expected one."""
    case = finding.shown_case
    if case is None or not isinstance(case.expected, (tuple, list)):
        return False
    if not isinstance(case.value, (tuple, list)) or len(case.value) != len(case.expected):
        return False
    pairs = [(a, b) for a, b in zip(case.expected, case.value) if a != b]
    if not all(isinstance(text, str) for pair in pairs for text in pair):
        return False
    return bool(pairs) and all(expected.startswith(text) for expected, text in pairs)


def _fails_with_more_axes(key: ExerciseKey, finding: Finding) -> bool:
    """Return True if the arrays of all failing cases have more axes than those of right cases."""
    failing: list[int] = []
    passing: list[int] = []
    for test_case, is_right in zip(key.test_cases, finding.cases_correct, strict=True):
        inputs = test_case.inputs
        axes = [array.ndim for array in find_arrays((*inputs.args, *inputs.kwargs.values()))]
        if axes:
            (passing if is_right else failing).append(max(axes))
    return bool(failing and passing) and min(failing) > max(passing)


def _find_infinite_number(finding: Finding) -> str:
    """Return "inf" or "-inf" if the shown result holds it and should not; "" beside a nan."""
    difference = finding.shown_case.difference if finding.shown_case else None
    if difference is None or difference.kind != "not finite" or "nan" in finding.means:
        return ""
    match = re.search(r"-?\binf\b", finding.observation)
    return match[0] if match else ""


def _fit_hint_of_misconception(answer: Any, finding: Finding) -> Finding:
    """Return the finding without a misconception's hint if it speaks of code that is not there."""
    is_specific = finding.misconception and finding.misconception not in MISTAKES
    if is_specific and finding.nudge:
        return replace(finding, nudge=fit_hint_to_source(answer, finding.nudge))
    return finding


def _add_slip(finding: Finding, slip: SourceSlip) -> Finding:
    """Return the finding with the sentences about a slip in the source."""
    is_unnamed = finding.verdict is Verdict.WRONG and finding.misconception is None
    if finding.misconception == "returns-nothing" or (is_unnamed and slip.is_certain):
        return replace(finding, means=slip.means, nudge=slip.nudge)
    is_specific = finding.misconception and finding.misconception not in MISTAKES
    sentences = [slip.means, finding.means]
    if finding.misconception in (*FULLY_EXPLAINED_ERRORS, *PRECISION_MISTAKES):
        sentences = [slip.means]
    elif (finding.verdict is Verdict.ERROR and not is_specific) or not slip.is_certain:
        sentences = [finding.means, slip.means]
    means = " ".join(filter(None, sentences))
    nudge = slip.nudge
    if is_specific or not slip.is_certain:
        nudge = slip.nudge or finding.nudge
    return replace(finding, means=means, nudge=nudge)


def _explain_broken_dependency(key: ExerciseKey, answer: Any, namespace: Mapping[str, Any]) -> str:
    """Return a sentence on another exercise's function that is called and is wrong; "" if none is.

    The result is "" if all other exercises that the function calls are right.
    """
    global_names = _find_global_names(answer, namespace)
    for name in key.builds_on:
        if name not in global_names or not callable(namespace.get(name)):
            continue
        try:
            finding = _judge_answer(answer_key.load_exercise_key(name), namespace[name])
        except TimeLimitExceeded:
            continue
        if finding.is_unwritten:
            return describe_broken_dependency(name, is_written=False)
        if finding.verdict is not Verdict.PASS:
            return describe_broken_dependency(name, is_written=True)
    return ""


def _explain_undefined_name(key: ExerciseKey, finding: Finding) -> str:
    """Explain a function's NameError if a cell or another lab defines the name; else return ""."""
    if not finding.shown_case:
        return ""
    match = re.search(r"name '(\w+)' is not defined", finding.shown_case.outcome.error)
    if not match:
        return ""
    name = match[1]
    text = explain_missing_name(name, read_cells(_notebook_path(answer_key.find_lab(key.name))))
    if text or name not in answer_key.list_exercises():
        return text
    lab = answer_key.find_lab(name).lab
    if lab == key.lab:
        return f"`{name}` is another exercise of this lab. Run its cell first."
    return (
        f"`{name}` is an exercise of the lab {lab}. A notebook knows only the functions that are "
        "written or imported in it."
    )


def _find_global_names(answer: Any, namespace: Mapping[str, Any]) -> set[str]:
    """Return the global names that a function and the functions that it calls use."""
    names = set(_get_code(answer).co_freevars)
    for code in _find_reachable_code(answer, namespace):
        names.update(_list_global_names(code))
    return names


def _list_global_names(code: CodeType) -> Iterator[str]:
    """Yield the global names in a function's code, but not those in functions defined within it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)


def _find_reachable_code(answer: Any, namespace: Mapping[str, Any]) -> Iterator[CodeType]:
    """Yield the code of a function, of functions defined in it, and of functions that it calls."""
    visited_codes: set[CodeType] = set()
    answer_code = _get_code(answer)
    pending = [answer_code]
    while pending:
        code = pending.pop()
        if code in visited_codes:
            continue
        visited_codes.add(code)
        yield code
        pending += filter(inspect.iscode, code.co_consts)
        names = set(_list_global_names(code))
        if code is answer_code:
            names.update(code.co_freevars)
        for name in names:
            if inspect.isfunction(namespace.get(name)):
                pending.append(_get_code(namespace[name]))


def _find_reachable_notebook_code(answer: Any, namespace: Mapping[str, Any]) -> Iterator[CodeType]:
    """Yield the code of a function and of those it calls, as far as the notebook defines it."""
    files = {_get_code(answer).co_filename}
    for value in namespace.values():
        if getattr(value, "__module__", "") == "__main__":
            files.add(_get_code(value).co_filename)
    for code in _find_reachable_code(answer, namespace):
        if code.co_filename in files:
            yield code


def _get_code(function: Any) -> CodeType:
    """Return the code object of a function; that of an empty function for any other callable."""
    return getattr(_unwrap(function), "__code__", None) or (lambda: None).__code__


def _unwrap(function: Any) -> Any:
    """Return the function that others wrap; the function itself if it is said to wrap itself."""
    try:
        return inspect.unwrap(function)
    except ValueError:
        return function


def _get_caller_namespace() -> Mapping[str, Any]:
    """Return the variables of the notebook cell that called `check` or a similar function."""
    frame = sys._getframe(2)
    return {**frame.f_globals, **frame.f_locals}


def _guess_exercise_name(answer: Any, namespace: Mapping[str, Any]) -> str:
    """Return the exercise name to which a function is assigned, else the function's name.

    This is an exercise's name to which the notebook has assigned the function, else the name after
    `def`.
    """
    exercises = answer_key.list_exercises()
    own_name = str(getattr(answer, "__name__", ""))
    bound_names = [name for name in exercises if namespace.get(name) is answer]
    if not bound_names or (own_name in exercises and own_name in bound_names):
        return own_name
    return bound_names[0]


def _load_key_of_function(answer: Any, namespace: Mapping[str, Any]) -> ExerciseKey:
    if isinstance(answer, str) or not callable(answer):
        description = add_article(type(answer).__name__)
        if isinstance(answer, str):
            description = f"the text {answer!r}"
        raise CheckFailed(
            f"check needs the function itself, not {description}: write its name without quotes, "
            "brackets or arguments, as in check(softmax)."
        )
    key = answer_key.load_exercise_key(_require_exercise_name(answer, namespace))
    if key.rules.calls_answer_directly:
        try:
            for test_case in key.test_cases:
                _require_fitting_signature(answer, key.name, test_case.inputs)
        except CheckFailed:
            _record_check(key.name, is_right=False)
            raise
    return key


def _require_lab_descriptions() -> dict[str, LabDescription]:
    """Return the descriptions of the available labs; raise `CheckFailed` if there is none."""
    keys = answer_key.load_lab_descriptions()
    if not keys:
        raise CheckFailed(
            "There is no answer key here: a lab's notebook belongs beside its folder `answers`, "
            "as it was handed out."
        )
    return keys


def _require_exercise_name(answer: Any, namespace: Mapping[str, Any]) -> str:
    """Return the name of a function's exercise; raise `CheckFailed` if there is none.

    Raise `CheckFailed` if there is no such exercise, or no answer key.
    """
    labs = list(_require_lab_descriptions().values())
    name = _guess_exercise_name(answer, namespace)
    if name in answer_key.list_exercises():
        return name
    likely_labs = [lab for lab in labs if _notebook_path(lab).is_file()]
    if not likely_labs:
        likely_labs = [lab for lab in labs if not namespace.keys().isdisjoint(lab.points)]
    choices: list[str] = []
    for lab in likely_labs or labs:
        choices += lab.points
    raise CheckFailed(
        f"No exercise is called {name!r}; give the function the name that the stub had. "
        f"The exercises are {join_words(choices)}."
    )


def _require_fitting_signature(function: Any, name: str, inputs: Any) -> None:
    """Raise `CheckFailed` if a function has other parameters than the exercise requires."""
    mismatch = find_argument_mismatch(function, inputs)
    if mismatch:
        arguments = ["…"] * len(inputs.args) + [f"{keyword}=…" for keyword in inputs.kwargs]
        parameters = map(_format_parameter, inspect.signature(function).parameters.values())
        raise CheckFailed(
            f"Your {name}({', '.join(parameters)}) cannot be called as "
            f"{name}({', '.join(arguments)}): {mismatch}. "
            "Put the stub's first line back as it was."
        )


def _format_parameter(parameter: inspect.Parameter) -> str:
    """Return a parameter as written in the `def` line, with a long default value shortened."""
    text = str(parameter)
    return text if len(text) <= 40 else f"{parameter.name}=…"


def _suggest_next_exercise(name: str) -> str:
    """Return a sentence that names the next exercise to write, or says that all are right."""
    lab = answer_key.find_lab(name)
    exercises = list(lab.points)
    following = exercises[exercises.index(name) + 1 :]
    for exercise in following + exercises:
        if not _passed_checks.get(exercise):
            return f"Next: {exercise}."
    if lab.by_hand:
        return "All code of this lab is right. The questions to answer in words are left."
    return "All exercises of this lab are right."


def _show_success_and_next_exercise(key: ExerciseKey) -> None:
    labels = [test_case.label for test_case in key.test_cases if not test_case.edge]
    edge_count = len(key.test_cases) - len(labels)
    edge_text = f" and {format_count(edge_count, 'edge case')}" if edge_count else ""
    points = format_count(key.points, "point")
    summary = f"{key.name}: correct in all {len(labels)} cases{edge_text}. {points}."
    next_step = _suggest_next_exercise(key.name)
    lines = [f"✓ {label}" for label in labels]
    text = "\n".join([*lines, f"{summary} {next_step}"])
    rows = "".join(f"<li>{escape(label)}</li>" for label in labels)
    tick = "<span style='color:#2a9d5c;font-weight:bold'>✓</span>"
    html = (
        "<div style='border-left:4px solid #2a9d5c;padding:.2em .9em;margin:.3em 0'>"
        f"<p style='margin:.35em 0'>{tick} <strong>{escape(summary)}</strong> "
        f"{escape(next_step)}</p>"
        "<details><summary>the cases</summary>"
        f"<ul style='margin:.2em 0'>{rows}</ul></details></div>"
    )
    _display_message(text, lambda: html)


def _print_cases_and_summarise(key: ExerciseKey, finding: Finding) -> str:
    """Print each test case with a tick or a cross, and return a sentence on how many are right.

    Edge cases, such as empty arrays, are printed only if they fail and all ordinary cases pass.
    """
    cases = list(zip(key.test_cases, finding.cases_correct, strict=True))
    ordinary = [is_right for test_case, is_right in cases if not test_case.edge]
    edge = [is_right for test_case, is_right in cases if test_case.edge]
    for test_case, is_right in cases:
        if not test_case.edge or (all(ordinary) and not is_right):
            print(f"{'✓' if is_right else '✗'} {test_case.label}")
    if not all(ordinary):
        return f"{key.name}: {sum(ordinary)} of {len(ordinary)} cases are right."
    edge_cases = format_count(len(edge), "edge case")
    wrong = f"wrong in {len(edge) - sum(edge)} of {edge_cases}"
    return f"{key.name}: correct in all {len(ordinary)} cases, {wrong}."


def _render_paragraph(sentence: str) -> str:
    if not sentence:
        return ""
    html = backticks_to_html(escape(sentence))
    return f"<p style='margin:.35em 0'><strong>{html}</strong></p>"


def _show_name_error(
    shell: Any, error_type: type, error: Any, trace: Any, tb_offset: int | None = None
) -> None:
    """Handle a NameError in the notebook: tell the student which cell to run, if any.

    If a cell of the notebook defines the name, show which cell to run instead of a traceback.
    """
    if error.name in answer_key.list_exercises():
        text = _explain_missing_function(error.name)
    else:
        text = explain_missing_name(error.name)
    if text:
        error._render_traceback_ = lambda: [text]
    shell.showtraceback((error_type, error, trace), tb_offset=tb_offset)


def _explain_missing_function(name: str) -> str:
    """Explain from the saved notebook why an exercise's function is not defined, in a sentence."""
    lab = answer_key.find_lab(name)
    cells = read_cells(_notebook_path(lab))
    cell = _find_cell(cells, make_grade_id(name))
    if cells and cell is None:
        command = f"autograder reset {lab.lab}.ipynb {name}"
        return f"{name}: its cell is missing; `{command}` puts it back."
    definitions = [name]
    if cell:
        definitions = re.findall(r"^(?:def|class) (\w+)", get_cell_source(cell), re.M)
    if definitions and name not in definitions:
        return (
            f"{name} is not defined: its cell defines {join_words(definitions)}. "
            f"Give the function the name {name} again."
        )
    return explain_missing_name(name, cells) or (
        f"{name} is not defined yet. Run the cell in which you write it, and then this cell again."
    )


if reuse.get_shell() is not None:
    reuse.get_shell().set_custom_exc((NameError,), _show_name_error)
    watch_cells()


def _display_message(text: str, make_html: Callable[[], str]) -> None:
    """Show a message as HTML in a notebook; print it as plain text elsewhere."""
    if in_notebook_kernel():
        from IPython.display import display

        display({"text/plain": text, "text/html": make_html()}, raw=True)
    else:
        print(text)
