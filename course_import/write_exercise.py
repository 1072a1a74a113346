"""Write the Python file of an imported exercise: its test cases and a proposed domain."""

import ast
import builtins
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.judging.function_tests import COMPARED_VARIABLES
from autograder.values.arrays import TextOrDateArrayData
from autograder.values.case_records import ComparisonRules, DeferredCall, Value
from autograder.values.dataframes import Column, DataTable, Labels, table_from_pandas
from autograder.values.table_cells import ListCell
from autograder.values.value_types import copy_value, find_arrays, values_agree

MAX_NUMBERS = 2_000  # in the arguments of one case


@dataclass(frozen=True)
class CaseSource:
    """A test case that is to be written as source code.

    Parameters
    ----------
    hidden : bool
        True if students do not see the case.
    raises : str
        Name of the expected exception, or "".
    test : str
        Source of the test function of a case that is one, else "".
    test_cell : int
        Number of the test cell that the case comes from.
    part : str
        Name of the part of the exercise whose points hang on the case, or "".
    error_text : str
        Text that the expected exception's message must contain.
    """

    label: str
    args: tuple = ()
    kwargs: Mapping[str, Value] | None = None
    hidden: bool = False
    raises: str = ""
    test: str = ""
    test_cell: int = 0
    part: str = ""
    error_text: str = ""

    @property
    def arguments(self) -> str:
        """The arguments as source code, as they stand in a call."""
        keywords = [f"{name}={format_value(value)}" for name, value in (self.kwargs or {}).items()]
        return ", ".join([*map(format_value, self.args), *keywords])

    @property
    def test_name(self) -> str:
        """Name of the test function; "" if the case has none."""
        return self.test.partition("(")[0].removeprefix("def ")


def format_exception_name(name: str) -> str:
    """Return an exception's name in source code, such as `np.linalg.LinAlgError`; "" if unknown."""
    if name == "LinAlgError":
        return "np.linalg.LinAlgError"
    builtin = getattr(builtins, name, None)
    return name if isinstance(builtin, type) and issubclass(builtin, Exception) else ""


def explain_unwritable(args: tuple, kwargs: Mapping[str, Value]) -> str:
    """Return the reason why arguments cannot be written as source code; "" if they can."""
    values = (*args, *kwargs.values())
    tables = [value for value in values if isinstance(value, DataTable)]
    numbers = sum(array.size for array in find_arrays(values)) + sum(table.size for table in tables)
    if numbers > MAX_NUMBERS:
        return f"{numbers:,} numbers are too many to write down"
    for table in tables:
        if not _survives_round_trip(table):
            return f"{table.description} of such dtypes cannot be written down"
    return ""


def _survives_round_trip(table: DataTable) -> bool:
    """Return True if running the source code of a table gives the same table again."""
    import pandas as pd

    try:
        copy = eval(format_value(table), {"pd": pd, "np": np})  # safe: we wrote this code
        return values_agree(table, table_from_pandas(copy), ComparisonRules(exact_dtype=True))
    except (ValueError, TypeError, SyntaxError, NameError):
        return False


def _format_table(table: DataTable) -> str:
    """Return a table as Python source, for a file that imports pandas as pd."""
    columns = []
    for column in table.data:
        cells = _format_cells(column)
        if column.content == "dates":
            cells = f'pd.to_datetime({cells}).astype("{column.dtype}")'
        columns.append(cells)
    options = [] if table.index.is_default else [f"index={_format_labels(table.index)}"]
    if table.columns is None:
        if table.name is not None:
            options.append(f"name={format_value(table.name)}")
        return f"pd.Series({', '.join([*columns, *options])})"
    names = table.columns.levels[0].cells
    entries = []
    for name, cells in zip(names, columns, strict=True):
        entries.append(f"{format_value(name)}: {cells}")
    return f"pd.DataFrame({', '.join(['{' + ', '.join(entries) + '}', *options])})"


def _format_cells(column: Column) -> str:
    if column.content == "dates":
        return format_value([str(np.datetime64(int(cell), "ns")) for cell in column.values])
    return format_value(list(column.values.tolist() if column.levels is None else column.cells))


def _format_labels(labels: Labels) -> str:
    if len(labels.levels) > 1:
        return "None"  # no source for a MultiIndex: the round trip finds the difference
    return _format_cells(labels.levels[0])


def format_value(value: Value) -> str:
    """Return a value as Python source, for a file that imports NumPy as np.

    >>> format_value((1, [0.5, None])), format_value(float("nan"))
    ('(1, [0.5, None])', 'float("nan")')
    >>> format_value(np.eye(2, dtype="float32"))
    'np.array([[1.0, 0.0], [0.0, 1.0]], dtype="float32")'
    """
    if isinstance(value, np.ndarray):
        return _format_array(value)
    if isinstance(value, DataTable):
        return _format_table(value)
    if isinstance(value, TextOrDateArrayData):
        items = format_value(copy_value(value).astype("str").tolist())
        return f'np.array({items}, dtype="{value.dtype}")'
    if isinstance(value, DeferredCall):
        module, _, name = str(value.function).partition(":")
        prefix = {"numpy": "np", "pandas": "pd"}[module.partition(".")[0]]
        parts = [f"{prefix}.{name}", *map(format_value, value.args or ())]
        return f"defer_call({', '.join(parts)})"
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({format_value(value.item())})"
    if isinstance(value, type):
        return f"np.{np.dtype(value).name}"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex):
        return f"complex({format_value(value.real)}, {format_value(value.imag)})"
    if isinstance(value, (list, ListCell)):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, tuple):
        comma = "," if len(value) == 1 else ""
        return f"({', '.join(map(format_value, value))}{comma})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(format_value, value)))}}}" if value else "set()"
    if isinstance(value, Mapping):
        return _format_mapping(value)
    return repr(value)


def _format_mapping(mapping: Mapping) -> str:
    entries = []
    for key, value in mapping.items():
        entries.append(f"{format_value(key)}: {format_value(value)}")
    return f"{{{', '.join(entries)}}}"


def _format_array(array: np.ndarray) -> str:
    items = format_value(array.tolist())
    if array.size and array.dtype in (np.float64, np.int64, np.bool_):
        return f"np.array({items})"
    return f'np.array({items}, dtype="{array.dtype.name}")'


def make_exercise_source(
    name: str,
    origin: str,
    points: float,
    parts: Mapping[str, float],
    rules: Mapping[str, object],
    cases: Sequence[CaseSource],
    domain: str,
    builds_on: Sequence[str],
    checks: str,
    equality: str = "",
) -> str:
    """Return the source code of an exercise's file. Visible tests stand in the module `checks`.

    So does the function named `equality`, if there is one.
    """
    options = [f"points={points:g}"]
    if parts:
        options.append(f"parts={parts!r}")
    options += [f"{key}={value!r}" for key, value in rules.items()]
    if builds_on:
        options.append(f"builds_on=[{', '.join(builds_on)}]")
    has_tests = any(case.test or COMPARED_VARIABLES in (case.kwargs or {}) for case in cases)
    if has_tests:
        options += ["call=run_test_function", "compare=compare_by_test_function"]
    if equality:
        options.append(f"equality={equality}")
    blocks = []
    hidden_tests = [
        f"{case.test_name.upper()} = {_format_string(case.test)}"
        for case in cases
        if case.test and case.hidden
    ]
    if hidden_tests:
        blocks.append("\n\n".join(hidden_tests))
    blocks.append(f'{name} = Exercise("{name}", {", ".join(options)})')
    if domain:
        blocks.append(domain)
    for number, case in enumerate(cases, start=1):
        blocks.append(_make_case_source(name, number, case))
    text = "\n\n\n".join(blocks)

    imports = []
    libraries = {
        "datetime.": "import datetime\n",
        "np.": "import numpy as np",
        "pd.": "import pandas as pd",
    }
    lines = [
        line for prefix, line in libraries.items() if re.search(rf"\b{re.escape(prefix)}", text)
    ]
    if lines:
        imports.append("\n".join(lines) + "\n")
    from_checks = sorted({case.test_name for case in cases if case.test and not case.hidden})
    if equality:
        from_checks.append(equality)
    if from_checks:
        imports.append(f"from {checks} import {', '.join(from_checks)}\n")
    names = ["Exercise"]
    if has_tests:
        names += ["run_test_function", "compare_by_test_function"]
    for name_of_helper in ("inputs", "inputs_for_test", "defer_call"):
        if re.search(rf"\b{name_of_helper}\(", text):
            names.append(name_of_helper)
    imports.append(f"from autograder.authoring import {', '.join(names)}\n")
    if builds_on:
        lines = [f"from .{name} import {name}" for name in builds_on]
        imports.append("\n".join(lines) + "\n")
    return "\n".join([f'"""The exercise `{name}`: {origin}."""\n', *imports, text]) + "\n"


def _make_case_source(exercise: str, number: int, case: CaseSource) -> str:
    options = repr(case.label)
    if case.hidden:
        options += ", hidden=True"
    if case.raises:
        options += f", raises={case.raises}"
    if case.error_text:
        options += f", error_text={case.error_text!r}"
    if case.part:
        options += f", part={case.part!r}"
    call = f"inputs({case.arguments})"
    if case.test:
        test = case.test_name.upper() if case.hidden else case.test_name
        call = f"inputs_for_test({', '.join(filter(None, [test, case.arguments]))})"
    body = _wrap_line(f"    return {call}")
    return f"@{exercise}.case({options})\ndef case_{number}(rng):\n{body}"


def _format_string(source: str) -> str:
    """Return a test's source code as a string in source code, over several lines if possible."""
    return repr(source) if '"""' in source or source.endswith('"') else f'r"""{source}"""'


def _wrap_line(line: str) -> str:
    """Wrap a long line of source code; leave lines with strings alone."""
    if len(line) <= 110 or "'" in line or '"' in line.replace('dtype="', ""):
        return line
    indent = " " * 8
    return textwrap.fill(
        line,
        106,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


# Functions that propose a domain: the sizes and ranges of inputs


def propose_domain(
    name: str,
    function: ast.FunctionDef,
    calls: Sequence[tuple[tuple, Mapping]],
) -> str:
    """Return the source code of a domain (valid inputs) that covers the recorded arguments.

    Returns "" if there are too few calls, or if no argument can be drawn at random.
    """
    signatures = {(len(args), *sorted(kwargs)) for args, kwargs in calls}
    if len(calls) < 2 or len(signatures) != 1 or function.args.vararg:
        return ""
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    count = len(calls[0][0])
    if count > len(parameters):
        return ""
    columns = []
    for index in range(count):
        columns.append((parameters[index], "", [args[index] for args, _ in calls]))
    for key in sorted(calls[0][1]):
        columns.append((key, f"{key}=", [kwargs[key] for _, kwargs in calls]))
    axes = _SharedSizes()
    arguments, flags = [], []
    has_random_argument = False
    for parameter, prefix, values in columns:
        expression, is_random = _draw_argument(parameter, values, axes)
        arguments.append(prefix + expression)
        has_random_argument |= is_random
        if _all_of_type(values, bool):
            flags.append(parameter)
    if not has_random_argument:
        return ""
    options = []
    if axes.sizes:
        options.append(f"sizes={{{', '.join(f'{k!r}: {v}' for k, v in axes.sizes.items())}}}")
    if flags:
        options.append(f"flags={{{', '.join(f'{k!r}: (False, True)' for k in flags)}}}")
    options.append("proposed=True")
    return (
        "# Proposed from the arguments of the tests. Is every right answer right all over it? "
        "Then take `proposed` out.\n"
        f"@{name}.domain({', '.join(options)})\n"
        f"def anywhere({', '.join(['rng', *axes.sizes, *flags])}):\n"
        f"    return inputs({', '.join(arguments)})"
    )


class _SharedSizes:
    """Sizes in a domain. Axes whose lengths were equal in all calls share one size."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[int, int]] = {}
        self._names: dict[tuple[int, ...], str] = {}

    def get_size(self, lengths: Sequence[int]) -> str:
        """Return a size as source code: a name, or a number if all calls had the same length."""
        key = tuple(lengths)
        if min(key) == max(key):
            return str(key[0])
        if key not in self._names:
            self._names[key] = f"n_{len(self._names) + 1}"
            self.sizes[self._names[key]] = (min(key), max(key))
        return self._names[key]


def _all_of_type(values: Sequence[Value], *types: type) -> bool:
    return all(type(value) in types for value in values)


def _draw_argument(parameter: str, values: Sequence[Value], axes: _SharedSizes) -> tuple[str, bool]:
    """Return source code that draws an argument; True if not only recorded values are drawn."""
    if _all_of_type(values, bool):
        return parameter, True
    if _all_of_type(values, int) and min(values) < max(values):
        return f"int(rng.integers({min(values)}, {max(values) + 1}))", True
    is_finite = _all_of_type(values, int, float) and all(map(np.isfinite, values))
    if is_finite and min(values) < max(values):
        return f"float(rng.uniform({min(values)!r}, {max(values)!r}))", True
    if _are_similar_arrays(values):
        expression = _draw_array(values, axes, exact_dtype=True)
        if expression:
            return expression, True
    elif _are_number_lists(values):
        expression = _draw_array([*map(np.asarray, values)], axes, exact_dtype=False)
        if expression:
            return f"{expression}.tolist()", True
    choices = list(dict.fromkeys(map(format_value, values)))
    if len(choices) == 1:
        return choices[0], False
    return f"[{', '.join(choices)}][rng.integers({len(choices)})]", False


def _are_similar_arrays(values: Sequence[Value]) -> bool:
    """Return True for arrays with the same dtype and the same number of axes, at least one."""
    if not all(isinstance(value, np.ndarray) for value in values):
        return False
    return len({(value.ndim, value.dtype) for value in values}) == 1 and bool(values[0].ndim)


def _are_number_lists(values: Sequence[Value]) -> bool:
    if not _all_of_type(values, list):
        return False
    return all(_all_of_type(value, float, int) for value in values)


def _draw_array(values: Sequence[np.ndarray], axes: _SharedSizes, exact_dtype: bool) -> str:
    """Return source code for a random array like these; "" for special ones (probabilities)."""
    numbers = np.concatenate([*map(np.ravel, values)])
    if not numbers.size or numbers.dtype.kind not in "fiu" or not np.isfinite(numbers).all():
        return ""
    if any(value.size > 1 and np.isclose(value.sum(), 1.0) for value in values):
        return ""  # probabilities
    shape = []
    for axis in range(values[0].ndim):
        shape.append(axes.get_size([value.shape[axis] for value in values]))
    size = shape[0] if len(shape) == 1 else f"({', '.join(shape)})"
    low, high = numbers.min().item(), numbers.max().item()
    if numbers.dtype.kind == "f":
        expression = f"rng.uniform({low!r}, {high!r}, size={size})"
    else:
        expression = f"rng.integers({low}, {high + 1}, size={size})"
    is_square = len(shape) == 2 and shape[0] == shape[1]
    if all(value.ndim == 1 and value.size > 2 and (np.diff(value) >= 0).all() for value in values):
        expression = f"np.sort({expression})"
    elif is_square and all(np.array_equal(value, value.T) for value in values):
        return ""  # symmetric matrices
    dtype = values[0].dtype.name
    if exact_dtype and dtype not in ("float64", "int64"):
        return f'{expression}.astype("{dtype}")'
    return expression
