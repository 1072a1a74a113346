"""Find weaknesses in the test cases of an exercise, which would make marks wrong or differ between runs.

A case must have the same inputs each time that it is drawn with the same random seed, and the
reference must give the same result each time that it gets them. Otherwise the students' `check`,
and two runs of the grader, compare an answer with different results.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.core.text_format import join_words
from autograder.judging.compare import compare_outcome
from autograder.judging.function_tests import COMPARED_VARIABLES
from autograder.values.case_records import Inputs
from autograder.values.encoding import encode, pack_inputs
from autograder.values.wording import format_megabytes

# Bytes of the arguments of all test cases of an exercise, as they are sent to the process that
# calls the student's function. Twice as many (`encoding.MAX_PAYLOAD_BYTES`) cannot be sent; another draw
# of the cases may have more than this one.
MAX_CASES_BYTES = 64 << 20


def find_case_weaknesses(exercise: Exercise, fresh_reference: Callable) -> Iterator[str]:
    """Yield the weaknesses in the test cases of an exercise.

    Each is a clause that the caller puts into a sentence.

    Parameters
    ----------
    fresh_reference : callable
        The reference from another run of the solution's cells, which was not called yet.
    """
    for seed in (None, 0):
        cases = exercise.draw(seed)
        encoded_inputs = [encode_inputs(inputs) for _, inputs, _ in cases]
        size = 0
        for (_, inputs, _), data in zip(cases, encoded_inputs, strict=True):
            if inputs.memory is None:  # a case with a limit of memory is sent by itself
                size += len(data)
        if size > MAX_CASES_BYTES:
            yield (
                f"its cases have {format_megabytes(size)} of arguments together; a submission can "
                f"be sent {format_megabytes(MAX_CASES_BYTES)}. Make the largest case smaller."
            )
            return
        for (label, inputs, _), data in zip(exercise.draw(seed), encoded_inputs, strict=True):
            if encode_inputs(inputs) != data:
                yield (
                    f"the case {label!r} has other inputs each time that it is drawn, so students "
                    "and the grader would see different cases. Draw all its random numbers from "
                    "the argument `rng`, as in `rng.normal(size=3)`, and not from `np.random` or "
                    "`random`."
                )
                return
    label = _find_label_of_unrepeatable_case(exercise, fresh_reference)
    if label:
        yield (
            f"the reference does not give the same result each time in the case {label!r}. It must "
            "depend on its arguments alone: let it remember nothing of an earlier call, and draw "
            "random numbers only with a seed or from a generator that it gets as an argument."
        )


def _find_label_of_unrepeatable_case(exercise: Exercise, fresh_reference: Callable) -> str:
    """Return the label of a case in which another run of the reference gives another result.

    The cases are called in the reverse order, so that a reference which remembers its first call
    is found, too. Large cases that test memory are left out, which would take long.
    """
    if exercise.rules.compare:
        return ""  # several results are right, so the reference may choose another one
    for test_case in reversed(exercise.test_cases()):
        if test_case.inputs.memory is None:
            outcome = exercise.call_function_of_author(
                fresh_reference, test_case.label, test_case.inputs, "the reference"
            )
            if compare_outcome(test_case.expected, outcome, exercise.rules, test_case.inputs):
                return test_case.label
    return ""


def find_equal_cases(exercise: Exercise) -> Iterator[str]:
    """Yield a clause for each group of the author's test cases that have the same inputs."""
    labels_by_inputs: dict[bytes, list[str]] = {}
    for label, inputs, edge in exercise.draw(0):
        if edge is None:
            labels_by_inputs.setdefault(encode_inputs(inputs), []).append(repr(label))
    for labels in labels_by_inputs.values():
        if len(labels) > 1:
            yield f"the cases {join_words(labels)} have the same inputs"


def encode_inputs(inputs: Inputs) -> bytes:
    """Encode a test case's inputs as bytes, so that two cases with equal inputs can be found."""
    arrays: list[np.ndarray] = []
    return encode(pack_inputs(inputs, arrays), arrays)


def encode_arguments(inputs: Inputs) -> bytes:
    """Encode the arguments that a test case passes to the student's function.

    The entry that only names the variables to compare afterwards is left out.
    """
    kwargs = {name: value for name, value in inputs.kwargs.items() if name != COMPARED_VARIABLES}
    return encode_inputs(replace(inputs, kwargs=kwargs))
