"""Grading of one submission: rebuild the notebook, run it in the sandbox, judge the results.

The results of the student's functions are judged outside the sandbox. `grade_submission` depends
only on its arguments and on the course's files, so the same submitted file gets the same verdicts
on any machine.
"""

import builtins
import hashlib
import json
import re
from collections import ChainMap
from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from html import escape
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.authoring.exercise import DrawnCase, Exercise
from autograder.authoring.lab import Lab
from autograder.authoring.python_names import (
    find_external_names,
    find_functions_and_variables,
    parse_code,
)
from autograder.authoring.released_notebook import release_notebook
from autograder.core.import_guard import find_imports
from autograder.core.notebook_cells import get_grade_id, get_nbgrader_metadata, make_grade_id
from autograder.core.results import CellOutcome, Result, ResultReason, Verdict
from autograder.core.text_format import backticks_to_html, join_words, make_printable
from autograder.diagnosis.render import render_html, render_text
from autograder.gradebook.graded_submission import (
    NOT_RUN_OUTPUT,
    GradedSubmission,
    hash_submitted_file,
)
from autograder.grading.rebuild_notebook import UnreadableNotebook, rebuild_notebook
from autograder.grading.sanitise import (
    MAX_COLOURED_CHARACTERS,
    MAX_SHOWN_CHARACTERS,
    OutputCleaner,
    clean_text,
    estimate_rendering_cost,
    make_markdown_code_block,
    make_output,
    shorten_slow_code,
    simplify_slow_markdown,
    truncate_source,
    truncate_with_remark,
)
from autograder.grading.worker import time_limited_stage
from autograder.judging.judge import Finding, describe_broken_dependency, judge
from autograder.sandbox import Cell, CellRun, Sandbox, SandboxError
from autograder.student.answer_key import AnswerKeyError, read_exercise_key
from autograder.values.case_records import Misconception, TestCase
from autograder.values.common_mistakes import MISTAKES

# Work on a submission outside of the sandbox has two stages, each with a time limit of its own.
# These are the stages' names, which `time_limited_stage` takes.
READING_STAGE, SHOWING_STAGE = "Reading the notebook", "Showing what it printed"
MAX_STAGE_SECONDS = 20
HIDDEN_CASE_SETS = 8  # sets of hidden cases a lab; a submission's bytes choose one of them
MAX_CACHED_CASE_SETS = 200  # drawn sets of hidden cases in a process, by exercise and seed
MAX_MESSAGE_CHARACTERS = 5_000  # of one exercise's message to the student
MIN_CELL_CHARACTERS = 2_000  # of each cell that are shown, even if earlier cells are very long
MAX_ERROR_CHARACTERS = 300  # of an error message that is quoted

FOLLOW_THROUGH_MESSAGE = (
    "Right in itself, and marked so: it failed only because it builds on {names}. "
    "With the right {names} in place, all its cases pass."
)
_STOP_REASONS = {
    CellOutcome.TIMEOUT: "it ran for too long and was stopped",
    CellOutcome.CRASH: "it ended the Python process (or ran out of memory)",
}
_HIDDEN_CASE_SUMMARIES = {
    "nothing": "it returns None",
    "type": "it returns another kind of thing than expected",
    "shape": "the shape is not the expected one",
    "dtype": "the dtype is not the expected one",
    "modified": "it changes its argument",
    "memory": "the result is right, but more memory is held at once than is allowed",
    "not finite": "numbers that should be finite are not",
}

_release_cache: dict[Lab, NotebookNode] = {}


def release_for_grading(lab: Lab) -> NotebookNode:
    """Return a lab's notebook as students get it, but with the schemes for manual marking in it."""
    if lab not in _release_cache:
        _release_cache[lab] = release_notebook(lab.read_solution(), lab, for_grading=True)
    return _release_cache[lab]


def cache_release(lab: Lab, text: str) -> None:
    """Store a lab's released notebook in this process; another process has made it, which is slow.

    Parameters
    ----------
    text : str
        The released notebook as JSON.
    """
    if lab not in _release_cache:
        _release_cache[lab] = nbformat.from_dict(json.loads(text))


def prepare_lab(lab: Lab) -> None:
    """Compute the visible test cases of a lab's exercises once, for all submissions."""
    for exercise in lab.exercises.values():
        exercise.test_cases()


def compute_hidden_case_seed(data: bytes, lab: str, salt: str) -> int:
    """Return the random seed of a submission's hidden test cases.

    The file's bytes choose one of the lab's few sets of hidden cases. So a worker draws each set and
    computes the expected values only once. The classroom's secret (`salt`) is part of both hashes:
    without it, a student could try many versions of the file until a wrong answer happens to pass,
    or could draw the sets at home.
    """
    file_hash = hashlib.sha256(f"{salt} {lab} ".encode() + data).digest()
    set_number = int.from_bytes(file_hash[:8], "big") % HIDDEN_CASE_SETS
    set_hash = hashlib.sha256(f"{salt} {lab} set {set_number}".encode()).digest()
    return int.from_bytes(set_hash[:8], "big")


@lru_cache(MAX_CACHED_CASE_SETS)
def draw_hidden_cases(exercise: Exercise, seed: int) -> list[DrawnCase]:
    """Draw the hidden cases of an exercise for a seed; a second call returns the cached ones."""
    return exercise.draw(seed)


@lru_cache(MAX_CACHED_CASE_SETS)
def make_hidden_test_cases(exercise: Exercise, seed: int) -> list[TestCase]:
    """Return the hidden cases of one exercise and seed with the expected values, computed once."""
    return exercise.make_test_cases(draw_hidden_cases(exercise, seed))


@lru_cache(MAX_CACHED_CASE_SETS)
def add_slip_pairs(exercise: Exercise) -> tuple[list[TestCase], list[Misconception]]:
    """Return the visible cases and the misconceptions of an exercise, with the pairs of slips.

    The results of the pairs come from the answer key, as in the check that students run. Without
    this key, or with an older one of other cases, there are no pairs.
    """
    test_cases, misconceptions = exercise.test_cases(), exercise.misconceptions
    folder = exercise.lab.course.answer_key_folder(exercise.lab.name)
    try:
        key = read_exercise_key(folder / f"{exercise.name}.key", exercise.name)
    except AnswerKeyError:
        return test_cases, misconceptions
    if [case.label for case in key.test_cases] != [case.label for case in test_cases]:
        return test_cases, misconceptions
    names = {misconception.name for misconception in misconceptions}
    pairs = [
        misconception for misconception in key.misconceptions if misconception.name not in names
    ]
    merged = []
    for test_case, key_case in zip(test_cases, key.test_cases, strict=True):
        mistakes: Any = ChainMap(test_case.mistakes, key_case.mistakes)  # type: ignore[arg-type]
        merged.append(replace(test_case, mistakes=mistakes))
    return merged, misconceptions + pairs


def grade_submission(
    data: bytes,
    lab: Lab,
    sandbox: Sandbox,
    *,
    salt: str,
    follow_through: bool = True,
    text_only: bool = False,
) -> GradedSubmission:
    """Grade one submission. No content of the submitted file can make this function raise.

    Parameters
    ----------
    data : bytes
        Content of the submitted file.
    lab : Lab
    sandbox : Sandbox
    salt : str
        The classroom's secret (see `compute_hidden_case_seed`).
    follow_through : bool
        If an exercise fails and uses another exercise's wrong answer, judge the exercise again with
        the reference solution in place of that wrong answer.
    text_only : bool
        Keep only the plain text of outputs and prose. Use this for a submission whose outputs took
        too long to clean.
    """
    seed = compute_hidden_case_seed(data, lab.name, salt)
    graded = _grade_with_hidden_cases(data, lab, sandbox, seed, follow_through, text_only)
    return replace(graded, file_hash=hash_submitted_file(data))


def _grade_with_hidden_cases(
    data: bytes, lab: Lab, sandbox: Sandbox, seed: int, follow_through: bool, text_only: bool
) -> GradedSubmission:
    release = release_for_grading(lab)
    try:
        with time_limited_stage(READING_STAGE, MAX_STAGE_SECONDS):
            rebuilt = rebuild_notebook(data, release)
    except UnreadableNotebook as error:
        return grade_unreadable_submission(lab, str(error), seed)
    # A missing package of the course is a fault of the sandbox, not of the student.
    fault = sandbox.explain_missing_packages(_find_used_course_packages(lab, rebuilt.notebook))
    if fault:
        return report_grader_fault(lab, fault, seed)
    try:
        grader = SubmissionGrader(lab, rebuilt.notebook, seed, sandbox)
        cell_results = grader.judge_submission(follow_through)
    except SandboxError as error:
        return report_grader_fault(lab, str(error), seed)
    answers, untouched = _hash_answers_and_list_untouched(lab, rebuilt.notebook)
    notes = rebuilt.notes
    with time_limited_stage(SHOWING_STAGE, MAX_STAGE_SECONDS):
        results = _fill_outputs_and_list_results(lab, rebuilt.notebook, cell_results, text_only)
        if text_only:
            note = "It takes too long to show as it is, so the grader shows it as plain text."
            notes = (*notes, note)
        if notes:
            rebuilt.notebook.cells.insert(0, _notice_cell("How this notebook was read", notes))
    log = tuple(cell_results.log)
    return GradedSubmission(
        results,
        rebuilt.notebook,
        notes,
        seed,
        answers,
        untouched,
        log,
        sandbox.name,
    )


def grade_unreadable_submission(lab: Lab, reason: str, seed: int = 0) -> GradedSubmission:
    """Return the result of a submission that cannot be read: no points, and the reason."""
    notebook = deepcopy(release_for_grading(lab))
    results = []
    for cell in notebook.cells:
        nbgrader = get_nbgrader_metadata(cell)
        if nbgrader.get("grade"):
            name = lab.find_item_of_cell(nbgrader["grade_id"])
            results.append(_make_result(lab, name, Verdict.MISSING, reason, nbgrader["points"]))
            if cell.cell_type == "code":
                cell.outputs = _make_failed_test_outputs(name, reason)
    notebook.cells.insert(0, _notice_cell("This submission could not be marked", [reason]))
    answers, untouched = _hash_answers_and_list_untouched(lab, notebook)
    return GradedSubmission(tuple(results), notebook, (reason,), seed, answers, untouched)


def report_grader_fault(lab: Lab, reason: str, seed: int = 0) -> GradedSubmission:
    """Return the result of a submission on which the autograder itself failed.

    All exercises have the verdict FAULT and no score, which leaves their marks open.
    """
    notebook = deepcopy(release_for_grading(lab))
    text = make_printable(f"The grader failed, not the student: {reason}")
    results = []
    for cell in notebook.cells:
        nbgrader = get_nbgrader_metadata(cell)
        if nbgrader.get("grade"):
            name = lab.find_item_of_cell(nbgrader["grade_id"])
            results.append(
                _make_result(lab, name, Verdict.FAULT, text, nbgrader["points"], score=None),
            )
    return GradedSubmission(tuple(results), notebook, (), seed)


def _find_used_course_packages(lab: Lab, notebook: NotebookNode) -> set[str]:
    """Return the additional packages of the course (see course.toml) that a student's code imports.

    In cells other than answer cells, indented imports do not count, since they may be in a `try`
    statement for a package that is optional.
    """
    release_sources, packages = _release_sources(lab), set[str]()
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.source in release_sources:
            continue
        lines = cell.source.split("\n")
        if not get_grade_id(cell):
            lines = [line for line in lines if not line[:1].isspace()]
        packages |= find_imports("\n".join(lines))
    # A package that this lab does not allow is refused to the student's code instead.
    return packages & set(lab.course.imports) & lab.allowed_packages


def _hash_answers_and_list_untouched(
    lab: Lab, notebook: NotebookNode
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return a hash of each answer, and the names of answers in which the student wrote nothing."""
    hashes, untouched_names = {}, []
    release_sources = {get_grade_id(cell): cell.source for cell in release_for_grading(lab).cells}
    for cell in notebook.cells:
        nbgrader = get_nbgrader_metadata(cell)
        if nbgrader.get("solution"):
            name = lab.find_item_of_cell(nbgrader["grade_id"])
            text = cell.source.strip()
            if cell.get("attachments"):
                text += json.dumps(cell.attachments, sort_keys=True)
            hashes[name] = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
            is_empty = not text and name in lab.manual_questions
            if is_empty or cell.source == release_sources.get(get_grade_id(cell)):
                untouched_names.append(name)
    return hashes, tuple(untouched_names)


@dataclass
class CellResults:
    """Results of running the notebook cells of a submission.

    Parameters
    ----------
    runs : dict of str to CellRun
        Record of each cell that was run, by the cell's id.
    tests : dict of str to (Result, list of NotebookNode)
        The exercise's result and the cell's outputs for each test cell, by grade_id.
    log : list of str
        Remarks for the instructor.
    """

    runs: dict[str, CellRun] = field(default_factory=dict)
    tests: dict[str, tuple[Result, list[NotebookNode]]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


def _fill_outputs_and_list_results(
    lab: Lab, notebook: NotebookNode, cell_results: CellResults, text_only: bool
) -> tuple[Result, ...]:
    """Put clean outputs into the cells, shorten very long sources, and return the results.

    Returns
    -------
    tuple of Result
        Results of all exercises and questions, in the notebook's order.
    """
    results = []
    release_sources = _release_sources(lab)
    clean = OutputCleaner(text_only=text_only).clean_within_limits
    shown_budget, coloured_budget = MAX_SHOWN_CHARACTERS, MAX_COLOURED_CHARACTERS
    for cell in notebook.cells:
        name = get_grade_id(cell)
        if cell.source not in release_sources:
            cell.source = truncate_source(cell.source, max(shown_budget, MIN_CELL_CHARACTERS))
            shown_budget -= estimate_rendering_cost(cell.source)
        if name in cell_results.tests:
            result, cell.outputs = cell_results.tests[name]
            message = make_printable(truncate_with_remark(result.message, MAX_MESSAGE_CHARACTERS))
            results.append(replace(result, message=message))
        elif cell.cell_type == "code":
            if cell.source not in release_sources:
                coloured_budget -= estimate_rendering_cost(cell.source)
                cell.source = shorten_slow_code(cell.source, as_comments=coloured_budget < 0)
            outputs = _select_outputs_or_remark(cell, cell_results.runs, release_sources)
            cell.outputs = [clean(output) for output in outputs]
        elif cell.source not in release_sources:  # prose of the released notebook is kept
            if text_only:
                cell.source = make_markdown_code_block(cell.source)
            else:
                cell.source = simplify_slow_markdown(cell.source, cell.get("attachments", {}))
        if name and name not in cell_results.tests and cell.metadata["nbgrader"]["grade"]:
            points = cell.metadata["nbgrader"]["points"]
            results.append(
                _make_result(lab, name, Verdict.MANUAL, "Graded manually.", points, score=None),
            )
    return tuple(results)


def _select_outputs_or_remark(
    cell: NotebookNode,
    runs: dict[str, CellRun],
    release_sources: Collection[str],
) -> list[dict]:
    """Return a code cell's outputs, or a remark if a cell of the released notebook was not run."""
    if cell.id in runs:
        return runs[cell.id].outputs
    if cell.source in release_sources and cell.source.strip():
        return [NOT_RUN_OUTPUT]
    return []


def _make_result(
    lab: Lab, exercise: str, verdict: Verdict, message: str, points: float, **fields: Any
) -> Result:
    """Return a `Result` whose field `student` is empty; further fields are given by name."""
    return Result(
        lab=lab.name,
        exercise=exercise,
        max_score=points,
        verdict=verdict,
        message=message,
        **fields,
    )


class SubmissionGrader:
    """Grader of one rebuilt submission: runs the notebook and judges its exercises."""

    def __init__(self, lab: Lab, notebook: NotebookNode, seed: int, sandbox: Sandbox):
        self.lab, self.notebook, self.sandbox, self._seed = lab, notebook, sandbox, seed
        self._follows_through = False

    def judge_submission(self, follow_through: bool) -> CellResults:
        """Run the notebook and judge its exercises.

        With `follow_through`, judge a failed exercise again, with reference solutions of the
        exercises that it builds on.
        """
        self._follows_through = follow_through
        results = self.run_and_judge_cells(self.notebook, self.sandbox.limits.total_seconds)
        if follow_through:
            self.judge_with_reference_answers(results)
        return results

    def run_and_judge_cells(self, notebook: NotebookNode, seconds: float) -> CellResults:
        """Run the notebook's code cells within a number of seconds, and judge its exercises."""
        code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        cells = self._select_cells_to_run(code_cells)
        limits = replace(self.sandbox.limits, total_seconds=seconds)
        runs = self.sandbox.run([self._make_sandbox_cell(cell) for cell in cells], limits)
        results = CellResults({cell.id: run for cell, run in zip(cells, runs, strict=True)})
        runs_by_name = {get_grade_id(cell): results.runs[cell.id] for cell in cells}
        for cell in cells:
            name, run = get_grade_id(cell), results.runs[cell.id]
            if run.forged:
                results.log.append(
                    f"Forged or broken messages came from the cell {name or cell.id!r}; they were refused."
                )
            exercise = self.lab.exercises_by_test_cell.get(name)
            if exercise:
                answer_run = runs_by_name.get(make_grade_id(exercise.name), CellRun())
                results.tests[name] = self._judge_exercise(exercise, run, answer_run)
        self._blame_failed_dependencies(results)
        return results

    def _select_cells_to_run(self, cells: list[NotebookNode]) -> list[NotebookNode]:
        """Return those code cells that may change the result of an exercise.

        The illustrations of the released notebook are left out. So are its cells at the end, after
        the last graded cell and the last cell that the student added or changed.
        """
        release_sources, illustrations = _release_sources(self.lab), _illustration_sources(self.lab)
        end = 0
        for number, cell in enumerate(cells, 1):
            is_students = cell.source not in release_sources and cell.source.strip()
            if get_grade_id(cell) or is_students:
                end = number
        selection = []
        for cell in cells[:end]:
            if get_grade_id(cell) or cell.source not in illustrations:
                selection.append(cell)
        return selection

    def _make_sandbox_cell(self, cell: NotebookNode) -> Cell:
        """Return the notebook cell in the form that the sandbox runs.

        A test cell becomes the list of calls with which the student's function is tried.
        """
        exercise = self.lab.exercises_by_test_cell.get(get_grade_id(cell))
        if exercise is None:
            return Cell(cell.source)
        call_inputs = [test_case.inputs for test_case in exercise.test_cases()]
        call_inputs += [inputs for _, inputs, _ in draw_hidden_cases(exercise, self._seed)]
        judged_again_without = frozenset[str]()
        if self._follows_through:
            names = find_external_names(self._answer_source(exercise))
            prerequisites = {ancestor.name for ancestor in self.lab.prerequisites(exercise)}
            judged_again_without = frozenset(names & prerequisites)
        return Cell(
            "",
            exercise=exercise.name,
            call_inputs=call_inputs,
            call=exercise.rules.call,
            judged_again_without=judged_again_without,
        )

    def _judge_exercise(
        self, exercise: Exercise, run: CellRun, answer_run: CellRun
    ) -> tuple[Result, list[NotebookNode]]:
        """Return the result and the outputs of one exercise's test cell.

        Parameters
        ----------
        run, answer_run : CellRun
            Records of running the test cell and the answer cell of the exercise.
        """
        finding = _explain_missing_outcomes(exercise, run, answer_run)
        if finding is None:
            finding, text, html = self._judge_visible_then_hidden_cases(
                exercise, run.outcomes or []
            )
        else:
            text, html = finding.message, ""
        has_passed = finding.verdict is Verdict.PASS
        share, message = 0.0, finding.message
        sentences = [_explain_undefined_variable(finding, answer_run)]
        if exercise.parts and run.outcomes and not (has_passed or finding.is_unwritten):
            share, sentence = self._judge_parts(exercise, run.outcomes, finding)
            sentences.append(sentence)
        for sentence in filter(None, sentences):
            message = f"{message} {sentence}"
            text = f"{text}\n{sentence}"
            html = f"{html}<p>{escape(sentence, quote=False)}</p>" if html else ""
        reason = ResultReason.JUDGED
        if finding.is_unwritten:
            reason = ResultReason.STUB
        elif run.status is CellOutcome.SKIPPED:
            reason = ResultReason.SKIPPED
        result = _make_result(
            self.lab,
            exercise.name,
            finding.verdict,
            message,
            exercise.points,
            partial_share=share,
            misconception=finding.misconception,
            seconds=round(run.seconds + answer_run.seconds, 6),
            kind=reason,
            # A student names the functions in an answer. So keep only the names of exercises.
            cause=finding.cause if finding.cause in self.lab.exercises else None,
            failed_cases=self._list_failed_cases(exercise, finding),
        ).rescore(exercise.points)
        if has_passed:
            return result, [_passed_output(f"{exercise.name}: {text}")]
        return result, _make_failed_test_outputs(exercise.name, text, html, result.score)

    def _judge_parts(
        self,
        exercise: Exercise,
        outcomes: list,
        finding: Finding,
    ) -> tuple[float, str]:
        """Return the share of the points for the parts that are right, and a sentence about them.

        Parameters
        ----------
        finding : Finding
            Verdict on the visible cases, or on all if the visible ones are right.
        """
        test_cases = exercise.test_cases() + make_hidden_test_cases(exercise, self._seed)
        correct = finding.cases_correct
        if len(correct) < len(test_cases):
            correct = self._find_mistake(exercise, test_cases, outcomes, ()).cases_correct
        names = exercise.list_passed_parts(test_cases, correct)
        share = exercise.compute_partial_share(names)
        if not share:
            return 0.0, "No part of the exercise is right in all of its cases."
        parts = join_words(f"“{name}”" if name else "the other cases" for name in names)
        verb = "is" if len(names) == 1 and names != [""] else "are"
        return share, f"{parts} {verb} right: {100 * share:.3g} % of the points."

    def _list_failed_cases(self, exercise: Exercise, finding: Finding) -> tuple[str, ...]:
        """Return the descriptions of the cases in which an answer is wrong, each of them once."""
        if finding.is_unwritten:
            return ()
        labels = [test_case.label for test_case in exercise.test_cases()]
        if len(finding.cases_correct) > len(labels):
            for test_case in make_hidden_test_cases(exercise, self._seed):
                labels.append(f"{test_case.label} (hidden)")
        failed = [label for label, is_right in zip(labels, finding.cases_correct) if not is_right]
        return tuple(dict.fromkeys(failed))

    def _judge_visible_then_hidden_cases(
        self, exercise: Exercise, outcomes: list
    ) -> tuple[Finding, str, str]:
        """Judge the results in the visible test cases; if all are right, also in the hidden ones.

        Since visible cases come first, a mistake gets the same message as in the check that the
        student can run.

        Parameters
        ----------
        outcomes : list
            What the student's function returned for each case, the visible cases first.

        Returns
        -------
        finding : Finding
        text, html : str
            The finding as text and as HTML. `html` is "" unless a visible case failed.
        """
        visible, misconceptions = add_slip_pairs(exercise)
        outcomes_of_visible = outcomes[: len(visible)]
        finding = self._find_mistake(exercise, visible, outcomes_of_visible, misconceptions)
        if finding.verdict is Verdict.PASS:
            test_cases = visible + make_hidden_test_cases(exercise, self._seed)
            finding = self._find_mistake(
                exercise, test_cases, outcomes, exercise.misconceptions, len(visible)
            )
        if finding.verdict is Verdict.PASS:
            hidden_count = len(finding.cases_correct) - len(visible)
            finding = replace(
                finding,
                observation=_describe_passed_cases(len(visible), hidden_count),
            )
        elif finding.case_index is not None and finding.case_index < len(visible):
            return finding, render_text(finding), render_html(finding)
        else:
            finding = _reword_without_hidden_inputs(finding, bool(visible))
        return finding, finding.message, ""

    def _find_mistake(
        self,
        exercise: Exercise,
        test_cases: list,
        outcomes: list,
        misconceptions: Sequence[Misconception],
        right_count: int = 0,
    ) -> Finding:
        names = exercise.argument_names
        return judge(
            test_cases, outcomes, exercise.rules, misconceptions, exercise.name, right_count, names
        )

    def _blame_failed_dependencies(self, cell_results: CellResults) -> None:
        """Name a failed exercise as the cause of the failed exercises that call its function."""
        results = {result.exercise: result for result, _ in cell_results.tests.values()}
        for test, (result, outputs) in cell_results.tests.items():
            exercise = self.lab.exercises[result.exercise]
            if result.verdict is Verdict.PASS or result.kind is ResultReason.STUB or result.cause:
                continue
            names = find_external_names(self._answer_source(exercise))
            for dependency in exercise.builds_on:
                cause = results.get(dependency.name)
                if cause is None or cause.verdict is Verdict.PASS or dependency.name not in names:
                    continue
                sentence = describe_broken_dependency(
                    dependency.name,
                    cause.kind is not ResultReason.STUB,
                )
                message = f"{sentence} {result.message}"
                cell_results.tests[test] = (
                    replace(
                        result,
                        message=message,
                        cause=dependency.name,
                    ),
                    outputs,
                )
                break

    def _answer_source(self, exercise: Exercise) -> str:
        for cell in self.notebook.cells:
            if get_grade_id(cell) == make_grade_id(exercise.name):
                return cell.source
        return ""

    def judge_with_reference_answers(self, results: CellResults) -> None:
        """Judge each failed exercise again, with reference solutions of the exercises it builds on.

        The notebook is run once more for each such exercise, with the reference solution in place
        of the wrong answers that the exercise builds on. A run can change the result of that one
        exercise only. All these runs together may take as long as the first run.
        """
        seconds = self.sandbox.limits.total_seconds
        failures = set()
        for result, _ in results.tests.values():
            if result.verdict is not Verdict.PASS:
                failures.add(result.exercise)
        for test, (result, _) in list(results.tests.items()):
            exercise = self.lab.exercises[result.exercise]
            prerequisites = [e.name for e in self.lab.prerequisites(exercise) if e.name in failures]
            if result.exercise not in failures or not prerequisites or self._is_stub(exercise):
                continue
            cells = _keep_cells_for_one_test(self.notebook.cells, test, set(results.tests))
            if not self._other_code_uses_exercises(set(prerequisites), cells):
                continue  # a second run would give the same answers
            if seconds <= 0:
                return
            rerun = self._rerun_with_reference_answers(cells, prerequisites, results, seconds)
            seconds -= sum(run.charged_seconds for run in rerun.runs.values())
            second_result, _ = rerun.tests[test]
            results.tests[test] = self._combine_with_reference_run(
                exercise, result, second_result, prerequisites
            )

    def _rerun_with_reference_answers(
        self,
        cells: list[NotebookNode],
        prerequisites: Iterable[str],
        results: CellResults,
        seconds: float,
    ) -> CellResults:
        """Run the cells again, with the reference solutions in place of some exercises' answers.

        Parameters
        ----------
        prerequisites : iterable of str
            Exercises whose answers are replaced.
        results : CellResults
            Results of the first run.
        """
        notebook = NotebookNode(cells=deepcopy(cells))
        answer_cells = {make_grade_id(name) for name in prerequisites}
        for cell in notebook.cells:
            name = get_grade_id(cell)
            if name in answer_cells:
                cell.source = self.lab.reference_cells[name]
            elif cell.id in results.runs and results.runs[cell.id].status in _STOP_REASONS:
                cell.source = ""  # the cell was stopped in the first run, and would be again
        return self.run_and_judge_cells(notebook, seconds)

    def _combine_with_reference_run(
        self, exercise: Exercise, first: Result, second: Result, prerequisites: list[str]
    ) -> tuple[Result, list[NotebookNode]]:
        """Return an exercise's result after a second run with solutions in place of wrong answers.

        The reference solution replaced the student's answers to the exercises that it builds on.

        Of the second run only the points are kept. The student's code can read the reference
        solution in that run, so anything else, be it a text, a duration or the name of a
        misconception, could reveal the solution.
        """
        names = join_words(f"`{name}`" for name in prerequisites)
        if second.verdict is Verdict.PASS:
            message = FOLLOW_THROUGH_MESSAGE.format(names=names)
            result = replace(
                second,
                message=message,
                seconds=first.seconds,
                kind=ResultReason.FOLLOWED,
                cause=prerequisites[0],
            )
            return result, [_passed_output(f"{first.exercise}: {message}")]
        if second.partial_share > first.partial_share:
            share = f"{100 * second.partial_share:.3g} %"
            message = (
                f"{first.message} With the right {names} in place, it gets {share} of the points."
            )
            result = replace(first, message=message, partial_share=second.partial_share)
            result = result.rescore(exercise.points)
            return result, _make_failed_test_outputs(first.exercise, message, score=result.score)
        failure = f"With the right {names} in place, `{first.exercise}` does not pass either."
        message = f"{first.message} {failure}"
        result = replace(first, message=message)
        return result, _make_failed_test_outputs(first.exercise, message, score=first.score)

    def _other_code_uses_exercises(self, exercises: set[str], cells: list[NotebookNode]) -> bool:
        """Return True if other code of the student uses a name that these exercises define."""
        release_sources = _release_sources(self.lab)
        answer_cells = {make_grade_id(name) for name in exercises}
        names = set(exercises)
        for cell_name in answer_cells:
            # Add the variables that the answer cells define. If an exercise asks for variables
            # instead of a function, their names differ from the name of the exercise.
            names |= set(
                find_functions_and_variables(parse_code(self.lab.reference_cells[cell_name]))[1]
            )
        for cell in cells:
            is_answer = cell.cell_type != "code" or get_grade_id(cell) in answer_cells
            if is_answer or cell.source in release_sources:
                continue
            if names & set(re.findall(r"\w+", cell.source)):
                return True
        return False

    def _is_stub(self, exercise: Exercise) -> bool:
        source = self._answer_source(exercise)
        return "raise NotImplementedError" in source


@cache
def _release_sources(lab: Lab) -> frozenset[str]:
    """Return the source of every cell of the released notebook.

    A submission's cell with any other source was added or changed by the student.
    """
    return frozenset(cell.source for cell in release_for_grading(lab).cells)


@cache
def _illustration_sources(lab: Lab) -> frozenset[str]:
    """Return the sources of the released cells with the tag "illustration".

    No other cell depends on them, so they need not be run.
    """
    cells = release_for_grading(lab).cells
    return frozenset(
        cell.source
        for cell in cells
        if "illustration"
        in cell.metadata.get(
            "tags",
            [],
        )
    )


def _explain_undefined_answer(run: CellRun) -> tuple[Verdict, str]:
    """Return the verdict on an answer if its cell does not define the function that is expected.

    The second value is the error that the cell raised, as text; "" if it raised none.
    """
    if run.status in _STOP_REASONS:
        return Verdict(run.status), _STOP_REASONS[run.status]
    for output in run.outputs:
        if output.get("output_type") == "error":
            parts = [output.get("ename"), output.get("evalue")]
            return Verdict.MISSING, ": ".join(part for part in parts if part)
    return Verdict.MISSING, ""


def _explain_missing_outcomes(
    exercise: Exercise,
    run: CellRun,
    answer_run: CellRun,
) -> Finding | None:
    """Return the judgement (finding) on an exercise whose function gave no results in the sandbox.

    None if there are results to judge. A reason for their lack is that the function is not defined,
    takes too long, or ended the process.
    """
    name, verdict = exercise.name, Verdict.CRASH
    if run.missing:
        definition = ""  # a test function can ask for a function or for a class
        if name[0].isupper():
            definition = "class "
        elif exercise.rules.calls_answer_directly:
            definition = "function "
        text = f"There is no {definition}`{name}` to try."
        verdict, error = _explain_undefined_answer(answer_run)
        if error:
            error = error[:MAX_ERROR_CHARACTERS].rstrip(".")
            text += f" The cell that should define it failed: {error}."
    elif run.status is CellOutcome.TIMEOUT:
        text, verdict = f"`{name}` takes too long. {run.reason}", Verdict.TIMEOUT
    elif run.status is CellOutcome.SKIPPED:
        text = f"`{name}` was not tried: the cells before it had used up the notebook's time."
        verdict = Verdict.TIMEOUT
    elif run.forged:
        text = f"`{name}` could not be asked: this notebook writes where only its answers may go."
    elif run.status is CellOutcome.CRASH or run.outcomes is None:
        text = f"`{name}` ended its own process, or went over the memory limit."
    else:
        return None
    return Finding(verdict, observation=text)


def _explain_undefined_variable(finding: Finding, answer_run: CellRun) -> str:
    """Return a sentence on the error for which a cell does not define a variable; "" if none.

    That error, such as a file that is not found, is the mistake to correct.
    """
    case = finding.shown_case
    if case is None or case.mistake != "name-not-defined":
        return ""
    _, error = _explain_undefined_answer(answer_run)
    error = error[:MAX_ERROR_CHARACTERS].rstrip(".")
    if not error or error == case.outcome.error.rstrip("."):
        return ""
    return f"The cell of this answer failed: {error}."


def _describe_passed_cases(visible: int, hidden: int) -> str:
    total = visible + hidden
    if visible and hidden:
        return f"Right in all {total} cases: {visible} from the notebook's check, {hidden} hidden."
    return f"Right in all {total} cases." if total > 1 else "Right."


def _reword_without_hidden_inputs(finding: Finding, has_visible_cases: bool) -> Finding:
    """Reword a finding so that it does not reveal a hidden test case's inputs and result."""
    summary, label = "the result differs", ""
    if finding.shown_case:
        label = finding.shown_case.test_case.label
        summary = _word_mistake_in_hidden_case(finding)
    place = "In"
    if has_visible_cases:
        place = "Right in the cases you can see, but not with other numbers: in"
    meaning = nudge = ""
    if finding.misconception:
        meaning, nudge = finding.means, finding.nudge
        if finding.misconception in MISTAKES:
            # The explanation of an error quotes the error's text. A student's code can raise one
            # whose text, or whose function's name, holds the hidden inputs.
            meaning = MISTAKES[finding.misconception][0]
    observation = f"{place} a hidden case (“{label}”) {summary}."
    return replace(finding, observation=observation, means=meaning, nudge=nudge)


def _word_mistake_in_hidden_case(finding: Finding) -> str:
    case = finding.shown_case
    kind = case.difference.kind if case and case.difference else ""
    if case and kind == "error":
        error = case.outcome.raised
        # A student could define an error class whose name reveals the hidden inputs. So name only
        # Python's and NumPy's own error classes.
        error_class = getattr(builtins, error, getattr(np.exceptions, error, None))
        is_standard = isinstance(error_class, type) and issubclass(error_class, BaseException)
        return f"it raises {error if is_standard else 'an error of its own'}"
    return _HIDDEN_CASE_SUMMARIES.get(kind, "the result differs")


def _make_failed_test_outputs(
    name: str, text: str, html: str = "", score: float | None = 0.0
) -> list[NotebookNode]:
    """Return the outputs of a failed test cell: the message, then its partial points or an error.

    nbgrader gives no points for a test cell whose outputs contain an error, and those points that
    the cell's result states.
    """
    text = clean_text(truncate_with_remark(text, MAX_MESSAGE_CHARACTERS))
    html = html or f"<p>{backticks_to_html(escape(text, quote=False))}</p>"
    message = make_output("display_data", metadata={}, data={"text/plain": text, "text/html": html})
    if score:
        points = make_output(
            "execute_result", metadata={}, data={"text/plain": repr(score)}, execution_count=1
        )
        return [message, points]
    return [
        message,
        make_output(
            "error",
            ename="CheckFailed",
            evalue=f"{name}: {text}",
            traceback=[f"{name}: not right yet."],
        ),
    ]


def _passed_output(text: str) -> NotebookNode:
    return make_output("stream", name="stdout", text=f"✓ {text}\n")


def _keep_cells_for_one_test(
    cells: list[NotebookNode],
    test: str,
    tests: set[str],
) -> list[NotebookNode]:
    """Return the cells up to and including one test cell, without any other test cells.

    Parameters
    ----------
    test : str
        The grade_id of the test cell.
    tests : set of str
        The grade_ids of all test cells.
    """
    place = next(i for i, cell in enumerate(cells) if get_grade_id(cell) == test)
    return [cell for cell in cells[:place] if get_grade_id(cell) not in tests] + [cells[place]]


def _notice_cell(title: str, sentences: Iterable[str]) -> NotebookNode:
    lines = "\n".join(f"- {sentence}" for sentence in sentences)
    return new_markdown_cell(f"**{title}**\n\n{lines}", id="grader-notes")
