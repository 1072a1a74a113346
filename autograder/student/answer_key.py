"""Read and write answer keys: test cases and expected results by which `check` judges exercises.

An answer key holds the test cases that students may see: arguments, expected results and feedback
sentences, but no code. A lab's key is the folder `answers` beside the lab's notebook for students.
There `lab.json` describes the lab, and `criteria.json` holds the marking schemes of the manually
graded questions, if the course shows them to students. `<exercise>.key` is a compressed message
in the format of `autograder.values.encoding`. `autograder build` writes these files, and `check`
reads them. A key may name functions of the course's own packages, to compare results or to be
passed as arguments; it can run no other functions.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from autograder.core import course
from autograder.core.course import LAB_FILE
from autograder.core.cpu_time import DEFAULT_CALL_SECONDS
from autograder.core.errors import AutograderError
from autograder.diagnosis.argument_probe import find_unused_arrays
from autograder.judging.judge import adapt_rules_to_precision
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    Misconception,
    OutcomesByMisconception,
    TestCase,
    Tolerance,
    combine_misconceptions,
)
from autograder.values.encoding import (
    OUTCOME_DEFAULTS,
    decode,
    encode,
    pack_inputs,
    pack_outcome,
    unpack_inputs,
    unpack_outcome,
)
from autograder.values.tolerance import arrays_agree
from autograder.values.value_types import pack_value, unpack_value

CRITERIA_FILE = "criteria.json"
KEY_VERSION = 2
# A key that is cut off, of another version, or no key at all.
_DECODING_ERRORS = (OSError, ValueError, KeyError, TypeError, zlib.error)


class AnswerKeyError(AutograderError):
    """An answer key is missing or unreadable."""

    @classmethod
    def unreadable(cls, path: Path, error: Exception) -> "AnswerKeyError":
        """Make the error for an answer key that exists but cannot be read."""
        return cls(f"The answer key {path} cannot be read ({error}); get the lab anew.")


@dataclass(frozen=True)
class LabDescription:
    """Description of a lab, from its `lab.json`.

    Parameters
    ----------
    folder : Path
        The folder `answers` that holds the lab's answer key.
    order : int
        The lab's number in the course, from 1.
    minutes : int
        Approximate working time for a student.
    points : mapping of str to float
        Points of the exercises by name, in the order of the notebook.
    by_hand : mapping of str to float
        Points of the manually graded questions, by the grade_ids of their cells.
    certificate : str
        Text that the student is shown once all exercises have passed.
    call_seconds : float
        Limit of CPU time for all calls of one exercise's function together.
    packages : sequence of str
        Packages that the notebooks may import in addition to those of every course (see
        `autograder.core.import_guard`).
    graded_with : mapping of str to str
        Values that environment variables have where marks are given.
    """

    folder: Path
    lab: str
    title: str
    difficulty: str
    order: int
    minutes: int
    points: Mapping[str, float]
    by_hand: Mapping[str, float]
    certificate: str = ""
    call_seconds: float = DEFAULT_CALL_SECONDS
    packages: Sequence[str] = ()
    graded_with: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExerciseKey:
    """Answer key of one exercise: `check` uses its test cases, results and misconceptions."""

    name: str
    lab: str
    points: float
    builds_on: tuple[str, ...]
    rules: ComparisonRules
    misconceptions: list[Misconception]
    test_cases: list[TestCase]
    # Names of array arguments on which the correct result does not depend.
    unused_arrays: tuple[str, ...] = ()
    # Note for students: the verdict may differ from that of grading, which sets the environment
    # variables `graded_with` of lab.toml.
    portability_note: str = ""


def load_lab_descriptions() -> dict[str, LabDescription]:
    """Return the descriptions of all available labs by the lab's name, in the course's order."""
    return _load_lab_descriptions(tuple(course.list_answer_key_folders()))


@cache
def _load_lab_descriptions(folders: tuple[Path, ...]) -> dict[str, LabDescription]:
    keys: dict[str, LabDescription] = {}
    for folder in folders:
        if (folder / LAB_FILE).is_file():
            key = _read_lab_description(folder)
            keys.setdefault(key.lab, key)
    if course.find_course_folder() is not None:
        return keys  # already in the order of course.toml
    return dict(sorted(keys.items(), key=lambda item: item[1].order))


def _read_lab_description(folder: Path) -> LabDescription:
    try:
        entries = json.loads((folder / LAB_FILE).read_text("utf-8"))
        if entries.pop("version") != KEY_VERSION:
            raise ValueError("of another version")
        return LabDescription(folder=folder, **entries)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnswerKeyError.unreadable(folder / LAB_FILE, error) from None


def read_criteria(lab: LabDescription) -> dict[str, str]:
    """Return the marking schemes of a lab's manually graded questions, by grade_id.

    The result is empty if the course does not show the schemes to students.
    """
    try:
        encoded_schemes = json.loads((lab.folder / CRITERIA_FILE).read_text("utf-8"))
        return {name: b64decode(text).decode("utf-8") for name, text in encoded_schemes.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise AnswerKeyError.unreadable(lab.folder / CRITERIA_FILE, error) from None


def encode_criteria(schemes: Mapping[str, str]) -> bytes:
    """Return the content of `criteria.json`, the marking schemes encoded as base64.

    The encoding only keeps a student from reading a scheme by accident. A student who wants to read
    it before answering can decode it.
    """
    encoded_schemes = {}
    for name, text in schemes.items():
        encoded_schemes[name] = b64encode(text.encode("utf-8")).decode("ascii")
    return (json.dumps(encoded_schemes, indent=1) + "\n").encode()


def find_lab(exercise: str) -> LabDescription:
    """Return the description of the lab that has this exercise; raise KeyError if none has it."""
    for key in load_lab_descriptions().values():
        if exercise in key.points:
            return key
    raise KeyError(exercise)


def list_exercises() -> list[str]:
    """Return the names of all exercises that have an answer key, in the course's order."""
    exercises: list[str] = []
    for key in load_lab_descriptions().values():
        exercises += key.points
    return exercises


def load_exercise_key(name: str) -> ExerciseKey:
    """Return the answer key of an exercise; raise KeyError if no lab has the exercise."""
    return read_exercise_key(find_lab(name).folder / f"{name}.key", name)


@cache
def read_exercise_key(path: Path, name: str) -> ExerciseKey:
    """Read the answer key of an exercise from its file; raise AnswerKeyError if it is not readable."""
    try:
        header, test_cases = decode_key(path.read_bytes())
        rules = ComparisonRules(**header["rules"])
    except _DECODING_ERRORS as error:
        raise AnswerKeyError.unreadable(path, error) from None
    return ExerciseKey(
        name=name,
        lab=header["lab"],
        points=header["points"],
        builds_on=tuple(header["builds_on"]),
        rules=rules,
        misconceptions=_unpack_misconceptions(header),
        test_cases=test_cases,
        unused_arrays=tuple(header.get("idle", ())),
        portability_note=header.get("portability_note", ""),
    )


def _unpack_misconceptions(header: Mapping[str, Any]) -> list[Misconception]:
    """Return the misconceptions of a key, and after them the pairs of slips."""
    misconceptions = [Misconception(**entry) for entry in header["misconceptions"]]
    by_name = {misconception.name: misconception for misconception in misconceptions}
    for name in header.get("slip_pairs", ()):
        slips = [by_name[slip] for slip in name.split(" + ")]
        misconceptions.append(combine_misconceptions(slips))
    return misconceptions


def decode_key(data: bytes) -> tuple[dict, list[TestCase]]:
    """Decode an answer key; return its header (such as the comparison rules) and its test cases."""
    header, arrays = decode(zlib.decompress(data))
    test_cases = [_unpack_test_case(case, arrays) for case in header.pop("cases")]
    return header, test_cases


def _unpack_test_case(case: Mapping[str, Any], arrays: list[np.ndarray]) -> TestCase:
    unpack_mistake = partial(_unpack_mistake, case["mistakes"], arrays, case["inputs"]["memory"])
    edge = None
    if case["edge"] is not None:
        name, value = case["edge"]
        edge = (name, unpack_value(value, arrays))
    return TestCase(
        case["label"],
        unpack_inputs(case["inputs"], arrays),
        unpack_value(case["expected"], arrays),
        OutcomesByMisconception(case["mistakes"], unpack_mistake),
        edge,
    )


def _unpack_mistake(
    entries: Mapping[str, dict], arrays: list[np.ndarray], max_bytes: int | None, name: str
) -> CallOutcome:
    """Decode the result that code with a misconception gives for one test case."""
    entry = dict(entries[name])
    exceeds_memory = entry.pop("too_much", False)
    peak_bytes = (max_bytes or 0) + 1 if exceeds_memory else 0
    return replace(unpack_outcome(entry, arrays), peak_bytes=peak_bytes)


def encode_lab_description(
    lab: str, lab_facts: dict[str, Any], exercises: Sequence[Any], by_hand: Mapping[str, float]
) -> bytes:
    """Return the content of `lab.json`.

    Parameters
    ----------
    lab_facts : dict
        Fields of `LabDescription`: order, title, minutes, difficulty and packages, and if the lab has them
        also certificate, call_seconds and graded_with.
    exercises : sequence of autograder.authoring.Exercise
        The exercises of the lab.
    by_hand : mapping of str to float
        Points of the manually graded questions, by the grade_ids of their cells.
    """
    points = {exercise.name: exercise.points for exercise in exercises}
    entries = {
        "version": KEY_VERSION,
        "lab": lab,
        **lab_facts,
        "points": points,
        "by_hand": dict(by_hand),
    }
    return (json.dumps(entries, ensure_ascii=False, indent=1) + "\n").encode()


def encode_key(exercise: Any, old_key: bytes | None = None) -> bytes:
    """Return the content of the answer key of an exercise (an `autograder.authoring.Exercise`).

    Parameters
    ----------
    old_key : bytes, optional
        The key as it is. Then the new key holds the pairs of slips of this key, which are otherwise
        searched for. This is enough to see whether the old key is up to date.
    """
    arrays: list[np.ndarray] = []
    test_cases = exercise.test_cases()
    rules, defaults = exercise.rules, asdict(ComparisonRules())
    pairs: dict[str, None] = {}  # names of pairs of slips, in the order of the cases
    cases = []
    predictions = exercise.predict_slip_pairs(
        _list_slip_pairs_by_case(old_key) if old_key else None
    )
    for test_case, pair_outcomes in zip(test_cases, predictions, strict=True):
        entry = _pack_test_case(test_case, rules, arrays)
        for name, outcome in pair_outcomes.items():
            entry["mistakes"][name] = _pack_mistake(outcome, test_case, rules, arrays)
            pairs[name] = None
        cases.append(entry)
    misconceptions = []
    for misconception in exercise.misconceptions:
        misconceptions.append(
            {
                "name": misconception.name,
                "means": misconception.means,
                "nudge": misconception.nudge,
            }
        )
    header = {
        "lab": exercise.lab.name,
        "points": exercise.points,
        "builds_on": [dependency.name for dependency in exercise.builds_on],
        # Only what differs from the defaults, so that a new rule changes no key without it.
        "rules": {name: value for name, value in asdict(rules).items() if value != defaults[name]},
        "misconceptions": misconceptions,
        "cases": cases,
    }
    if pairs:
        header["slip_pairs"] = list(pairs)
    ordinary_cases = [test_case for test_case in test_cases if not test_case.edge]
    unused_arrays = find_unused_arrays(exercise.reference, ordinary_cases, rules)
    if unused_arrays:
        header["idle"] = unused_arrays
    if exercise.portability_note:
        header["portability_note"] = exercise.portability_note
    return zlib.compress(encode(header, arrays), 9)


def _list_slip_pairs_by_case(key: bytes) -> list[list[str]] | None:
    """Return the names of the pairs of slips in each test case of a key; None if it is unreadable."""
    try:
        header, test_cases = decode_key(key)
    except _DECODING_ERRORS:
        return None
    singles = {misconception["name"] for misconception in header["misconceptions"]}
    return [[name for name in case.mistakes if name not in singles] for case in test_cases]


def _pack_test_case(
    test_case: TestCase,
    rules: ComparisonRules,
    arrays: list[np.ndarray],
) -> dict[str, Any]:
    """Encode a test case as JSON, and append its arrays to `arrays`."""
    mistakes = {}
    if not test_case.edge:
        for name, outcome in test_case.mistakes.items():
            mistakes[name] = _pack_mistake(outcome, test_case, rules, arrays)
    edge = _pack_edge_argument(test_case, arrays)
    return {
        "label": test_case.label,
        "inputs": pack_inputs(test_case.inputs, arrays),
        "expected": pack_value(test_case.expected, arrays),
        "mistakes": mistakes,
        "edge": edge,
    }


def _pack_edge_argument(test_case: TestCase, arrays: list[np.ndarray]) -> list | None:
    if not test_case.edge:
        return None
    name, value = test_case.edge
    return [name, pack_value(value, arrays)]


def _pack_mistake(
    outcome: CallOutcome, test_case: TestCase, rules: ComparisonRules, arrays: list[np.ndarray]
) -> dict:
    packed_outcome = {**OUTCOME_DEFAULTS, **pack_outcome(outcome, arrays)}
    names = ["type", "error", "modified", "value"]
    if rules.returns == "printed":
        names.append("printed")
    entry = {name: packed_outcome[name] for name in names}
    max_bytes = test_case.inputs.memory
    if max_bytes is not None and outcome.peak_bytes > max_bytes:
        entry["too_much"] = True  # the exact size depends on NumPy's version
    return entry


def keys_are_equal(first: bytes, second: bytes) -> bool:
    """Return True if two encoded answer keys are equal, apart from small differences of numbers.

    The last digits of a number depend on the processor. So two numbers count as equal if a
    student's result may differ as much from the expected result.
    """
    if first == second:
        return True  # as most keys of a build; to decode them takes longer
    try:
        first_header, first_cases = decode_key(first)
        second_header, second_cases = decode_key(second)
    except _DECODING_ERRORS:
        return False
    if first_header != second_header or len(first_cases) != len(second_cases):
        return False
    rules = ComparisonRules(**first_header["rules"])
    return all(
        _test_cases_are_equal(first_case, second_case, rules)
        for first_case, second_case in zip(first_cases, second_cases)
    )


def _test_cases_are_equal(first: TestCase, second: TestCase, rules: ComparisonRules) -> bool:
    tolerance = adapt_rules_to_precision(rules, first.expected).tolerance
    first_entry, first_arrays = _pack_test_case_for_comparison(first)
    second_entry, second_arrays = _pack_test_case_for_comparison(second)
    if not _entries_are_equal(first_entry, second_entry, tolerance):
        return False
    return len(first_arrays) == len(second_arrays) and all(
        a.dtype == b.dtype and arrays_agree(a, b, tolerance)
        for a, b in zip(first_arrays, second_arrays)
    )


def _pack_test_case_for_comparison(test_case: TestCase) -> tuple[Any, list[np.ndarray]]:
    """Return the parts of a test case as JSON, and its arrays, to compare it with another one."""
    arrays: list[np.ndarray] = []
    mistakes = {name: pack_outcome(outcome, arrays) for name, outcome in test_case.mistakes.items()}
    edge = _pack_edge_argument(test_case, arrays)
    expected = pack_value(test_case.expected, arrays)
    inputs = pack_inputs(test_case.inputs, arrays)
    return [test_case.label, inputs, expected, mistakes, edge], arrays


def _entries_are_equal(first: Any, second: Any, tolerance: Tolerance) -> bool:
    """Return True if two parts of answer keys, as JSON, are equal up to the tolerance.

    Of an error message only the exception's type is compared, because the wording differs between
    versions of Python and NumPy.
    """
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        if first.keys() != second.keys():
            return False
        for name in first:
            first_entry = _strip_error_wording(name, first[name])
            second_entry = _strip_error_wording(name, second[name])
            if not _entries_are_equal(first_entry, second_entry, tolerance):
                return False
        return True
    if isinstance(first, list):
        return len(first) == len(second) and all(
            _entries_are_equal(a, b, tolerance) for a, b in zip(first, second)
        )
    if isinstance(first, float):
        return arrays_agree(np.asarray(first), np.asarray(second), tolerance)
    return bool(first == second)


def _strip_error_wording(name: str, entry: Any) -> Any:
    if name == "error" and isinstance(entry, str):
        return entry.split(":")[0]
    return entry


def clear_cache() -> None:
    """Empty the cache of answer keys. Call this when the files have changed."""
    _load_lab_descriptions.cache_clear()
    read_exercise_key.cache_clear()
