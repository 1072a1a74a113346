"""Define labs and exercises, and build a course. The package is not given to students."""

from autograder.authoring.exercise import Exercise, sizes
from autograder.judging.function_tests import (
    compare_by_test_function,
    inputs_for_test,
    run_test_function,
)
from autograder.values.case_records import Inputs, inputs
from autograder.values.deferred_calls import defer_call, first, result

__all__ = [
    "Exercise",
    "Inputs",
    "compare_by_test_function",
    "defer_call",
    "first",
    "inputs",
    "inputs_for_test",
    "result",
    "run_test_function",
    "sizes",
]
