"""Types of values: pandas tables, Matplotlib figures, functions as arguments, expected errors."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from autograder.core.errors import AutograderError
from autograder.values import value_types
from autograder.values.case_records import ComparisonRules, DeferredCall, ExpectedError, Value
from autograder.values.common_mistakes import Difference
from autograder.values.dataframes import DataTable, InvalidTable, is_pandas, table_from_pandas
from autograder.values.deferred_calls import format_call
from autograder.values.plots import Drawing, InvalidDrawing
from autograder.values.value_types import (
    Arrays,
    EncodingError,
    SingleUseArrays,
    SizeBudget,
    UnsupportedValue,
    ValueType,
)
from autograder.values.wording import ResultWording, add_article


class TableType(ValueType):
    """Type of values: a pandas DataFrame or Series, stored as a `DataTable` (plain data)."""

    names = ("table",)

    def matches(self, value: Value) -> bool:
        return isinstance(value, DataTable)

    def accepts(self, result: Any) -> bool:
        return isinstance(result, DataTable) or is_pandas(result)

    def convert(self, result: Any, budget: SizeBudget, depth: int) -> DataTable:
        if not budget.suffices(numbers=result.size):
            raise UnsupportedValue(f"{type(result).__name__} of {result.size:,} cells")
        try:
            table = result if isinstance(result, DataTable) else table_from_pandas(result)
        except InvalidTable as error:
            raise UnsupportedValue(str(error)) from None
        description = f"{table.kind} of too many cells, or too much text"
        budget.spend(description, parts=len(table.data), numbers=table.size)
        return table

    def pack(self, value: DataTable, arrays: list[np.ndarray]) -> dict:
        return {"table": value_types.pack_value(value.to_plain(), arrays)}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> DataTable:
        try:
            return DataTable.from_plain(value_types.unpack_value(data, arrays, depth + 1))
        except InvalidTable as error:
            raise EncodingError(str(error)) from None

    def copy(self, value: DataTable) -> Any:
        return value.to_pandas()

    def blank(self, value: DataTable) -> DataTable:
        return value.blank()

    def is_unchanged(self, original: DataTable, current: Any) -> bool:
        if not is_pandas(current):
            return False
        try:
            plain = table_from_pandas(current).to_plain()
        except InvalidTable:
            return False
        return value_types.is_unchanged(original.to_plain(), plain)

    def is_comparable(self, expected: DataTable, value: Value) -> bool:
        return isinstance(value, DataTable) and value.kind == expected.kind

    def find_difference(
        self, expected: DataTable, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        difference = expected.find_difference(value, rules, wording.result)
        if difference is None:
            return None
        return replace(difference, observation=wording.add_place(difference.observation))

    def describe(self, value: DataTable) -> str:
        return value.description

    def short_repr(self, value: DataTable) -> str:
        return value.description.partition(" ")[2]


class DrawingType(ValueType):
    """Type of values: the data of a Matplotlib figure, stored as a `Drawing`."""

    names = ("drawing",)

    def matches(self, value: Value) -> bool:
        return isinstance(value, Drawing)

    def convert(self, result: Drawing, budget: SizeBudget, depth: int) -> Drawing:
        return Drawing.from_plain(value_types.convert_result(result.plots, budget, depth + 1))

    def pack(self, value: Drawing, arrays: list[np.ndarray]) -> dict:
        return {"drawing": value_types.pack_value(value.plots, arrays)}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> Drawing:
        try:
            return Drawing.from_plain(value_types.unpack_value(data, arrays, depth + 1))
        except InvalidDrawing as error:
            raise EncodingError(str(error)) from None

    def map_parts(self, value: Drawing, function: Callable[[Value], Value]) -> Drawing:
        return Drawing(function(value.plots))

    def blank(self, value: Drawing) -> Drawing:
        return Drawing(value_types.map_arrays(value.plots, np.zeros_like))  # the texts stay

    def find_difference(
        self, expected: Drawing, value: Value, rules: ComparisonRules, wording: ResultWording
    ) -> Difference | None:
        def compare(expected_array: np.ndarray, array: np.ndarray, place: str) -> Difference | None:
            array_wording = ResultWording(place, "there is", "it")
            return value_types.find_difference(expected_array, array, rules, array_wording)

        return expected.find_difference(value, compare)

    def describe(self, value: Drawing) -> str:
        return "a figure"


class ExpectedErrorType(ValueType):
    """Type of values: an error that the student's function is expected to raise in a test case."""

    names = ("raised",)

    def accepts(self, result: Any) -> bool:
        return False

    def matches(self, value: Value) -> bool:
        return isinstance(value, ExpectedError)

    def pack(self, value: ExpectedError, arrays: list[np.ndarray]) -> dict:
        return {"raised": [value.type, value.part]}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> ExpectedError:
        if not isinstance(data, list) or len(data) != 2:
            raise EncodingError("no such kind of value")
        name, part = data
        if not isinstance(name, str) or not isinstance(part, str):
            raise EncodingError("no such kind of value")
        return ExpectedError(name, part)

    def describe(self, value: ExpectedError) -> str:
        return add_article(value.type)


class FunctionOrCallType(ValueType):
    """Type of values: an argument, as a `DeferredCall`, that is a function or made by a call.

    A student's result is never of this type.
    """

    names = ("made",)

    def accepts(self, result: Any) -> bool:
        return False

    def matches(self, value: Value) -> bool:
        return isinstance(value, DeferredCall)

    def pack(self, value: DeferredCall, arrays: list[np.ndarray]) -> dict:
        data = [value.function]
        if value.args is not None:
            data.append(value_types.pack_value(value.args, arrays))
            data.append(value_types.pack_value(dict(value.kwargs), arrays))
        return {"made": data}

    def unpack(self, name: str, data: Any, arrays: Arrays, depth: int) -> DeferredCall:
        # Refuse a function in a student's result: to decode it, the grader would import a module of
        # the student's choice.
        if isinstance(arrays, SingleUseArrays):
            raise EncodingError("no such kind of value")
        if not isinstance(data, list) or len(data) not in (1, 3) or not isinstance(data[0], str):
            raise EncodingError("expected a function's name")
        parts = [value_types.unpack_value(part, arrays, depth + 1) for part in data[1:]]
        return DeferredCall(data[0], *parts)

    def map_parts(self, value: DeferredCall, function: Callable[[Value], Value]) -> DeferredCall:
        if value.args is None:
            return value
        return value_types.map_arguments(value, value.args, function)

    def copy(self, value: DeferredCall) -> Any:
        return self.evaluate(value, value_types.copy_value)

    def evaluate(self, value: DeferredCall, evaluate_part: Callable[[Value], Any]) -> Any:
        """Import the named function; return it, or what it returns for the recorded arguments."""
        try:
            function = value_types.import_function(value.function)
        except (ImportError, AttributeError, ValueError):
            raise AutograderError(
                f"The course's library has no {value.function} here: get the labs anew."
            ) from None
        call = self.map_parts(value, evaluate_part)
        if call.args is None:
            return function
        return function(*call.args, **call.kwargs)

    def is_unchanged(self, original: DeferredCall, current: Any) -> bool:
        return True  # a call may change such an object, for example use up a generator

    def agrees(self, first: DeferredCall, second: Value, rules: ComparisonRules) -> bool:
        return False

    def describe(self, value: DeferredCall) -> str:
        return "a function"

    def short_repr(self, value: DeferredCall) -> str:
        return format_call(value, value_types.short_repr)


def evaluate_query(query: Value, result: Any) -> Any:
    """Evaluate what a test case asks of a student's result, such as `result.balance`."""
    if not isinstance(query, DeferredCall):
        return value_types.copy_value(query)
    if not query.function:
        return result
    return FunctionOrCallType().evaluate(query, partial(evaluate_query, result=result))
