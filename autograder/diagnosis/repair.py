"""Search for a small change of a student's code that makes the wrong function right.

Such changes (mutations) are another number, name, operator or function, something left out, or an
extra step. All are compiled into one copy of the code, and a set of numbers says which are active.
So one compilation serves all mutations, and to try one costs only a call with a small case. The
student is told of a mutation that makes all cases right, or at least half of the failing ones. The
description names the line and the kind of the mutation, but not the right code.

A mutation that is right by accident is no advice. These rules decide what is offered:

1. The result must be right in every case that can be run again, or the sentence says in how many.
2. A mutation must change a number, not only its type: 4 in place of NumPy's 4 avoids many an error,
   and nobody can have meant it (`apply_extra_step`).
3. An extra step must have a meaning for its value: the absolute value, the sign and the order of
   a size or an index have none (`_EXTRA_STEPS`).
4. No mutation may use what NumPy accepts by tolerance: any negative size in `reshape`, or a number
   whose dtype is taken (`refuse_negative_sizes`, `refuse_array_as_dtype`).
5. No mutation may put a container into itself or double it: NumPy makes an array of such a list
   until the memory is used up (`_CONTAINER_METHODS` in mutations.py).
6. Where one and the same number is expected in all failing cases, no other number is tried in
   lines such as `return 0` (`replaces_whole_number`): it would be the expected one by chance.
7. If the function raises an error that is explained by itself, such as a misspelt name, no mutation
   is searched (`FULLY_EXPLAINED_ERRORS`): most would only avoid the line.
"""

import ast
import linecache
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from autograder.core.address_space import limit_added_memory
from autograder.core.cpu_time import Stopwatch
from autograder.core.text_format import truncate
from autograder.diagnosis.argument_probe import count_input_numbers, is_small_enough_to_repeat
from autograder.diagnosis.mutations import (
    CHECK_DTYPE,
    CHECK_SIZES,
    COMBINE,
    EXTEND,
    EXTRA_STEP,
    IDENTITY,
    LEAVE_OUT,
    LEAVE_OUT_MORE,
    LOOP_TICK,
    REPLACE,
    Mutation,
    MutationEmbedder,
    apply_extra_step,
    refuse_array_as_dtype,
    refuse_negative_sizes,
)
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import NULL_OUTPUT, OutputCapture, call_student_function
from autograder.values.case_records import ComparisonRules, TestCase, Value
from autograder.values.value_types import copy_inputs

MAX_MUTATIONS = 2_000  # in one copy of the code
MAX_SEARCH_SECONDS = 0.3  # of CPU time for one copy of the code; a small function needs a fifth
MAX_SEARCH_MEGABYTES = 1_000  # of memory that a call of the changed code may add
MAX_LOOP_ITERATIONS = 20_000  # of all loops in one call; a mutation with more is given up
MAX_PAIRED_IMPROVEMENTS = 3  # mutations that improve the result and are tried with a second one
MAX_PARTIAL_REPAIRS = 9  # mutations that are tried as a repair of most cases
MIN_COMPARED_NUMBERS = 6  # in an expected result; cases with fewer are tried later
MAX_LINE_CHARACTERS = 90  # of a quoted line of code

# Name of a variable in the changed code: it holds the numbers of the mutations (changes) that are
# switched on. The blank at its beginning keeps it apart from the student's names.
_ACTIVE = " at"


def find_repair(
    function: Any,
    failing: Sequence[TestCase],
    passing: Sequence[TestCase],
    rules: ComparisonRules,
) -> str:
    """Describe a small change of the code that makes test cases right; "" if none does.

    Parameters
    ----------
    failing, passing : sequences of TestCase
        The cases with wrong answers, and those with right ones.
    """
    failing = _select_and_sort_comparable_cases(
        [test_case for test_case in failing if is_small_enough_to_repeat(test_case)]
    )
    if not failing or rules.call != "function" or rules.returns != "array":
        return ""
    with (
        limit_added_memory(MAX_SEARCH_MEGABYTES),
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        OutputCapture(NULL_OUTPUT),
    ):
        warnings.simplefilter("ignore")
        likely = _SwitchableMutations.compile(function, (LEAVE_OUT, LEAVE_OUT_MORE, REPLACE))
        if likely is None:
            return ""
        search = _RepairSearch(likely, failing, passing, rules)
        description = search.find_one_place_repair(likely)
        if description:
            return description
        unlikely = _SwitchableMutations.compile(function, (EXTEND, COMBINE))
        if unlikely:
            description = search.find_one_place_repair(unlikely)
        return (
            description
            or search.find_two_place_repair(likely)
            or search.find_partial_repair(likely)
        )


class _RepairSearch:
    """Search for small changes of the code (mutations) that make all test cases right."""

    def __init__(
        self,
        code: "_SwitchableMutations",
        failing: Sequence[TestCase],
        passing: Sequence[TestCase],
        rules: ComparisonRules,
    ) -> None:
        self._failing, self._rules = failing, rules
        self._passing = sorted(filter(is_small_enough_to_repeat, passing), key=count_input_numbers)
        # Mutations that improve the result of the test case that is tried first: the share of its
        # numbers that are then right, and the mutation's number.
        self._improvements: list[tuple[float, int]] = []
        code.activate()
        # Of the smallest failing test cases, try first the one with the fewest iterations of loops.
        self._first = min(self._failing[:4], key=code.count_loop_iterations)
        self._stopwatch = Stopwatch()
        self._expects_one_number = _expect_one_number(failing)

    def _has_time(self) -> bool:
        return self._stopwatch.cpu_seconds() < MAX_SEARCH_SECONDS

    def find_one_place_repair(self, code: "_SwitchableMutations") -> str:
        """Describe the first mutation (small change) that makes all test cases right; else ""."""
        self._stopwatch = Stopwatch()
        code.activate()
        initial_share = self._share_of_right_numbers(code, self._first)
        for number in code.rank_mutations():
            if not self._has_time():
                break
            if self._expects_one_number and code.replaces_whole_number(number):
                continue  # any constant is right by chance if only one result is expected
            code.activate(number)
            share = self._share_of_right_numbers(code, self._first)
            if share == 1 and self._are_all_right(code):
                return f"One place is wrong. {code.describe_mutation(number)}, every case is right."
            if share > initial_share and code.mutations[number].rank < EXTEND:
                self._improvements.append((share, number))
        return ""

    def find_two_place_repair(self, code: "_SwitchableMutations") -> str:
        """Describe two mutations (small changes) that together make all test cases right; else "".

        Either the first of them improves the result, or both leave something out.
        """
        self._stopwatch = Stopwatch()
        active, failing = -1, None
        for first, second in self._list_mutation_pairs(code):
            if not self._has_time():
                break
            if first != active:
                code.activate(first)
                active, failing = first, self._first_failing(code)
            code.activate(first, second)
            if (
                failing
                and self._share_of_right_numbers(code, failing) == 1
                and self._are_all_right(code)
            ):
                description = code.describe_mutation(first)
                return (
                    f"Two places are wrong. {description}. "
                    f"{code.describe_mutation(second)}. With both changes, every case is right."
                )
        return ""

    def _list_mutation_pairs(self, code: "_SwitchableMutations") -> list[tuple[int, int]]:
        combinable = [n for n in code.rank_mutations() if code.mutations[n].is_combinable]
        self._improvements.sort(key=lambda improvement: -improvement[0])
        pairs = []
        for _, first in self._improvements[:MAX_PAIRED_IMPROVEMENTS]:
            if first in combinable:
                pairs += [(first, second) for second in combinable]
        removals = [number for number in combinable if code.mutations[number].rank == LEAVE_OUT]
        return [*pairs, *combinations(removals, 2)]

    def find_partial_repair(self, code: "_SwitchableMutations") -> str:
        """Describe a mutation that corrects most of the failing test cases and spoils none.

        A mutation that corrects fewer than two thirds mostly does so by chance.
        """
        for share, number in self._improvements[:MAX_PARTIAL_REPAIRS]:
            code.activate(number)
            if share < 1 or not code.mutations[number].is_combinable:
                continue
            if not all(self._is_right(code, test_case) for test_case in self._passing):
                continue
            right = sum(self._is_right(code, test_case) for test_case in self._failing)
            if 3 * right >= 2 * len(self._failing):
                return (
                    f"One place is wrong, and something else too. {code.describe_mutation(number)}, "
                    f"{right} of the {len(self._failing)} failing cases are right."
                )
        return ""

    def _first_failing(self, code: "_SwitchableMutations") -> TestCase | None:
        for test_case in self._failing:
            if not self._is_right(code, test_case):
                return test_case
        return None

    def _are_all_right(self, code: "_SwitchableMutations") -> bool:
        test_cases = (*self._failing, *self._passing)
        return all(self._is_right(code, test_case) for test_case in test_cases)

    def _is_right(self, code: "_SwitchableMutations", test_case: TestCase) -> bool:
        outcome = code.run(partial(call_student_function, code.function, test_case.inputs))
        if outcome is None:
            return False
        return compare_outcome(test_case.expected, outcome, self._rules, test_case.inputs) is None

    def _share_of_right_numbers(self, code: "_SwitchableMutations", test_case: TestCase) -> float:
        """Run a test case with the active mutations; return the share of numbers that are right.

        Return 1 if the exercise has a comparison of its own. Only that comparison can tell.
        """
        inputs = copy_inputs(test_case.inputs)
        result = code.run(partial(code.function, *inputs.args, **inputs.kwargs))
        if result is None:
            return 0.0
        if self._rules.view or self._rules.compare:
            return 1.0
        return _share_of_right_numbers(result, test_case.expected)


def _select_and_sort_comparable_cases(failing: Sequence[TestCase]) -> list[TestCase]:
    """Sort the failing test cases in the order in which repairs are tried on them.

    Cases without an expected result, such as those that expect an error, are left out.

    Edge cases, which have no misconceptions' answers, come last. Of the others, cases with several
    expected numbers come first, and of these the small ones.
    """
    comparable = [test_case for test_case in failing if test_case.expected is not None]
    return sorted(comparable, key=_sort_key)


def _sort_key(test_case: TestCase) -> tuple[bool, bool, int]:
    has_few_numbers = _count_numbers(test_case.expected) < MIN_COMPARED_NUMBERS
    return not test_case.mistakes, has_few_numbers, count_input_numbers(test_case)


def _expect_one_number(test_cases: Sequence[TestCase]) -> bool:
    """Return True if the expected results of these test cases are one and the same number."""
    values = [test_case.expected for test_case in test_cases]
    if not all(isinstance(value, (bool, int, float, str)) for value in values):
        return False
    return len(set(values)) == 1


def _count_numbers(value: Value) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_count_numbers, value))
    return int(np.size(value))


def _share_of_right_numbers(result: Any, expected: Value) -> float:
    """Return the share of a result's numbers that equal the expected ones to a fixed tolerance."""
    if isinstance(expected, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(expected):
            return 0.0
        return sum(map(_share_of_right_numbers, result, expected)) / len(expected)
    try:
        if not isinstance(expected, np.ndarray):
            if isinstance(expected, (int, float)):
                return float(math.isclose(result, expected, rel_tol=1e-4, abs_tol=1e-6))
            return float(result == expected)
        if not isinstance(result, np.ndarray) or result.shape != expected.shape:
            return 0.0
        agree = np.isclose(result, expected, rtol=1e-4, atol=1e-6)  # an infinity equals itself only
        return float(agree.mean()) if agree.size else 1.0
    except (TypeError, ValueError, ArithmeticError):  # the last for an expected int beyond int32
        return 0.0


def _identity(value: Any, *_args: Any, **_kwargs: Any) -> Any:
    return value


class _TooManyIterations(Exception):
    """Error for a call of a mutated function whose loops ran for too many iterations."""


# Places in the code at which the same change (mutation) is possible. Each place has the number of
# its mutation, and the set of all numbers that switch it on.
_Places = list[tuple[int, set[int]]]


class _SwitchableMutations:
    """Functions of one notebook cell, compiled with all mutations, which can be switched on."""

    def __init__(self, function: Any, ranks: Sequence[int]) -> None:
        code, namespace = function.__code__, function.__globals__
        source = "".join(linecache.getlines(code.co_filename, namespace))
        tree = ast.parse(source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        if [node.name for node in functions].count(code.co_name) != 1 or function.__closure__:
            raise ValueError("it is made by another function, or twice")
        if "lstsq" in source:  # given NaN, it prints past `sys.stdout`
            raise ValueError("it would print")
        self.mutations: list[Mutation] = []
        self._lines = source.splitlines()
        self._places: dict[tuple[str, str], _Places] = {}  # keyed by the code before and after
        self._switches: list[tuple[ast.Constant, set[int]]] = []
        self._loop_iterations = 0
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        words = {value for value in constants if type(value) is str}
        body: list[ast.stmt] = []
        for node in functions:
            mutator = MutationEmbedder(node, self._add_mutation, self._has_room, words, ranks)
            body.append(mutator.mutate())
        self._add_combined_mutations()
        for test, numbers in self._switches:
            test.value = frozenset(numbers)  # type: ignore[assignment]
        helpers = {
            LOOP_TICK: self._record_loop_iteration,
            IDENTITY: _identity,
            EXTRA_STEP: apply_extra_step,
            CHECK_SIZES: refuse_negative_sizes,
            CHECK_DTYPE: refuse_array_as_dtype,
        }
        self._namespace: dict[str, Any] = {**namespace, _ACTIVE: frozenset(), **helpers}
        module = ast.fix_missing_locations(ast.Module(body, []))
        exec(compile(module, code.co_filename, "exec"), self._namespace)
        self.function = self._namespace[code.co_name]

    @classmethod
    def compile(cls, function: Any, ranks: Sequence[int]) -> "_SwitchableMutations | None":
        """Compile a function's cell with all mutations of these ranks built in; None if impossible."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return cls(function, ranks)
            # It is impossible without source code, for a cell with IPython's commands, and for code
            # that fails when it runs for the second time.
            except Exception:  # noqa: BLE001
                return None

    def _add_mutation(self, mutation: Mutation, old_code: str, new_code: str) -> ast.expr:
        """Add a mutation. Return the condition to insert: code that is true while the mutation is on."""
        number = len(self.mutations)
        numbers = {number}
        self._places.setdefault((old_code, new_code), []).append((number, numbers))
        self.mutations.append(mutation)
        test = ast.Constant(None)
        self._switches.append((test, numbers))
        return ast.BinOp(test, ast.BitAnd(), ast.Name(_ACTIVE, ast.Load()))

    def _has_room(self) -> bool:
        return len(self.mutations) < MAX_MUTATIONS

    def _add_combined_mutations(self) -> None:
        """Add mutations made of several: one change at all places, or two expressions swapped."""
        for places in self._places.values():
            self._add_change_at_several_places(places)
        for (old_code, new_code), places in self._places.items():
            opposite = self._places.get((new_code, old_code), [])
            if opposite and old_code < new_code and not old_code[-1].isdigit():
                swap_places = [*places, *opposite]
                line = min(self.mutations[number].line for number, _ in swap_places)
                description = f"with `{old_code}` and `{new_code}` exchanged everywhere"
                self._add_combination(swap_places, Mutation(description, line, EXTEND))

    def _add_change_at_several_places(self, places: _Places) -> None:
        """Add a mutation for the same change at all places, and one for all places in a line."""
        if len(places) == 1:
            return
        first = self.mutations[places[0][0]]
        lines = {self.mutations[number].line for number, _ in places}
        in_line = f"{first.description} everywhere in this line"
        if len(lines) == 1:
            self._add_combination(places, replace(first, description=in_line))
            return
        everywhere = f"{first.description} here and everywhere else"
        self._add_combination(places, replace(first, description=everywhere))
        for line in lines:
            line_places = [place for place in places if self.mutations[place[0]].line == line]
            if len(line_places) > 1:
                self._add_combination(line_places, replace(first, line=line, description=in_line))

    def _add_combination(self, places: _Places, mutation: Mutation) -> None:
        """Add a mutation that switches on the mutations at all of these places."""
        for _, numbers in places:
            numbers.add(len(self.mutations))
        self.mutations.append(mutation)

    def rank_mutations(self) -> list[int]:
        """Return the indices of all mutations, those that are likeliest to repair the code first.

        Of equally likely mutations, those of larger parts of the code come first.
        """
        numbers = range(len(self.mutations))
        return sorted(numbers, key=lambda number: (self.mutations[number].rank, -number))

    def activate(self, *numbers: int) -> None:
        """Switch on these mutations and no others."""
        self._namespace[_ACTIVE] = frozenset(numbers)

    def describe_mutation(self, number: int) -> str:
        """Describe a mutation as the start of a sentence. The caller adds what it achieves.

        It is, for example, "In line 3 of your cell, `y = x ** 2`: with another number in place of
        `2`".
        """
        mutation = self.mutations[number]
        code = truncate(self._lines[mutation.line - 1].strip(), MAX_LINE_CHARACTERS)
        description = mutation.description
        match = re.fullmatch(r"with rows and columns of `(\w+)` exchanged", description)
        name = match[1] if match else ""
        if name and f"len({name})" in code and len(re.findall(rf"\b{name}\b", code)) == 1:
            # After the exchange, `len` gives the number of the columns.
            description = (
                f"with the number of columns of `{name}` in place of `len({name})`, the number of "
                "its rows"
            )
        return f"In line {mutation.line} of your cell, `{code}`: {description}"

    def replaces_whole_number(self, number: int) -> bool:
        """Return True if a mutation changes the number in a line such as `return 0`."""
        mutation = self.mutations[number]
        line = self._lines[mutation.line - 1].partition("#")[0].strip()
        return bool(re.fullmatch(r"(return|\w+ =) *-?[\d.]+|return (True|False|None)", line))

    def count_loop_iterations(self, test_case: TestCase) -> int:
        """Call the function on a test case, and return the number of iterations of its loops."""
        self.run(partial(call_student_function, self.function, test_case.inputs))
        return self._loop_iterations

    def _record_loop_iteration(self) -> None:
        self._loop_iterations += 1
        if self._loop_iterations > MAX_LOOP_ITERATIONS:
            raise _TooManyIterations

    def run(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call of changed code; None after an error or endless loop."""
        self._loop_iterations = 0
        try:
            return call()
        except (Exception, SystemExit):  # noqa: BLE001 - mutated code may raise anything
            return None
