"""Define labs and exercises, and build a course. The package is not given to students."""

from autograder.authoring.exercise import Exercise, sizes
from autograder.judging.function_tests import call_in_test, compare_in_test, inputs_for_test
from autograder.values.case_records import Inputs, inputs
from autograder.values.deferred_calls import defer_call, first, result

__all__ = [
    "Exercise",
    "Inputs",
    "call_in_test",
    "compare_in_test",
    "defer_call",
    "first",
    "inputs",
    "inputs_for_test",
    "result",
    "sizes",
]
