"""Find results in answer keys that depend on the processor or on the inputs' last digits.

The last digits of a product, of an exponential or of a least-squares solution differ between
processors and with the number of threads. In an ill-conditioned computation they decide the first
digits, too: an answer key would then be right on one machine only. So the results in the new keys
are computed a second time, in a process whose NumPy works as on an old processor, and with inputs
that are changed by a few units in the last place.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_info

from autograder.authoring.exercise import Exercise, ExerciseError
from autograder.authoring.lab import Lab, read_lab
from autograder.core.blas_threads import THREAD_VARIABLES
from autograder.core.course import read_course
from autograder.core.text_format import format_count
from autograder.judging.compare import same_outcome
from autograder.judging.judge import adapt_rules_to_precision
from autograder.student.answer_key import decode_key
from autograder.student.reuse import make_grading_like_environment
from autograder.values.case_records import (
    ComparisonRules,
    ExpectedError,
    TestCase,
    Value,
)
from autograder.values.perturbation import perturb_last_digits
from autograder.values.value_types import map_inputs, values_agree

_RESULTS_FILE = "processor_dependent.json"


def find_processor_dependent_results(lab: Lab, key_files: Mapping[str, Any]) -> list[str]:
    """Compute the results again as on another processor; return a sentence on each that differs.

    A result differs if the comparison of an answer with the expected result would find it wrong.

    Parameters
    ----------
    key_files : mapping of str to bytes or str
        Contents of the lab's answer key by file name, as they were computed in this process.

    Raises
    ------
    ExerciseError
        If the other process fails.
    """
    with TemporaryDirectory() as folder:
        for name, content in key_files.items():
            if name.endswith(".key"):
                Path(folder, name).write_bytes(content)
        command = [sys.executable, "-m", __name__, str(lab.course.root), lab.name, folder]
        environment = {
            **make_grading_like_environment(lab.course.root),
            **make_environment_of_other_processor(),
        }
        process = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        results = Path(folder, _RESULTS_FILE)
        if process.returncode or not results.is_file():
            lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
            raise ExerciseError(
                f"{lab.name}: its results could not be computed a second time, as on another "
                f"processor: {lines[-1]}"
            )
        return json.loads(results.read_text("utf-8"))


def make_environment_of_other_processor() -> dict[str, str]:
    """Return environment variables that make NumPy compute as on another processor.

    OpenBLAS uses the code for a processor of 2008 (or, if this one is as old, for one of 2013) and
    two threads; NumPy uses none of the instructions that only newer processors have. Other linear
    algebra libraries ignore the variables. Then only the changed inputs tell which results depend on the processor.
    """
    here = {str(library.get("architecture")) for library in threadpool_info()}
    already_disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "")
    return {
        "OPENBLAS_CORETYPE": "Haswell" if "Nehalem" in here else "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": " ".join([already_disabled, *optional_cpu_features()]).strip(),
        **dict.fromkeys(THREAD_VARIABLES, "2"),
    }


def optional_cpu_features() -> list[str]:
    """Return the names of the CPU features that NumPy uses here and can do without."""
    numpy_core = import_module("numpy._core._multiarray_umath")
    return [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__.get(name)]


def describe_processor_dependent_results(
    exercise: Exercise, test_cases: list[TestCase]
) -> list[str]:
    """Return a sentence for each expected result in an answer key that differs on this processor.

    An exercise with a comparison of its own is left out: several results are right in it, and its
    reference may even draw random numbers.

    Parameters
    ----------
    test_cases : list of TestCase
        Test cases of the exercise, read from an answer key.
    """
    if exercise.rules.compare:
        return []
    labels: dict[str, list[str]] = {}  # the cases' labels, by the name of the unstable result
    for test_case in test_cases:
        for name in _find_unstable_results(exercise, test_case):
            labels.setdefault(name, []).append(test_case.label)
    sentences = []
    for name, cases in labels.items():
        sentences.append(
            f"{exercise.lab.name}: {exercise.name}: {name} depends on the processor, or on the last "
            f"digits of its inputs, in {format_count(len(cases), 'case')}, first in {cases[0]!r}. Draw "
            "another case, compute it in another way, or take the misconception out."
        )
    return sentences


def _find_unstable_results(exercise: Exercise, test_case: TestCase) -> Iterator[str]:
    perturbed = _compute_perturbed(exercise, test_case, perturb_last_digits)
    rules = adapt_rules_to_precision(exercise.rules, test_case.expected)
    if not _same_expected_value(test_case.expected, perturbed.expected, rules):
        # A threshold that an author sets at 0.5 is as exact as one at 1.
        exact = partial(perturb_last_digits, keeps_short_fractions=True)
        expected = _compute_perturbed(exercise, test_case, exact).expected
        if not _same_expected_value(test_case.expected, expected, rules):
            yield "the result of the reference"
    if test_case.inputs.memory is not None:
        return  # a large case that tests memory: skip the misconceptions, which would take long
    for name, outcome in test_case.mistakes.items():
        if name not in perturbed.mistakes:
            continue  # a pair of slips: `slip_pairs` keeps no result that depends on last digits
        if not same_outcome(outcome, perturbed.mistakes[name], rules):
            yield f"the result of the misconception {name!r}"


def _compute_perturbed(
    exercise: Exercise, test_case: TestCase, perturb: Callable[[Value], Value]
) -> TestCase:
    """Return the test case with perturbed inputs, and with the results for them."""
    inputs = replace(map_inputs(test_case.inputs, perturb), memory=None)
    return exercise.make_test_cases([(test_case.label, inputs, test_case.edge)])[0]


def _same_expected_value(first: Value, second: Value, rules: ComparisonRules) -> bool:
    if isinstance(first, ExpectedError) or isinstance(second, ExpectedError):
        return first == second
    return values_agree(first, second, rules)


def main() -> None:
    """Compare a folder's answer keys with results computed now. Arguments: ROOT LAB FOLDER."""
    root, lab_name, folder = sys.argv[1:]
    lab = read_lab(read_course(Path(root)), lab_name)
    sentences = []
    for exercise in lab.exercises.values():
        _, test_cases = decode_key(Path(folder, f"{exercise.name}.key").read_bytes())
        sentences += describe_processor_dependent_results(exercise, test_cases)
    Path(folder, _RESULTS_FILE).write_text(json.dumps(sentences), "utf-8")


if __name__ == "__main__":
    main()
