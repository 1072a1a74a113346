"""The file of an imported exercise, as an author would write it: its cases, and a domain that is only proposed."""

import ast
import builtins
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from autograder.judging.kinds import arrays_in, same
from autograder.judging.question import Rules, Value
from autograder.judging.tables import Column, Labels, Table, of_pandas

MOST_NUMBERS = 2_000  # in the arguments of one case that is written down


@dataclass(frozen=True)
class Case:
    """A case to be written: what it asks, and whether students see it; `test` is the source of one that is a test."""

    label: str
    args: tuple = ()
    kwargs: Mapping[str, Value] | None = None
    hidden: bool = False
    raises: str = ""
    test: str = ""

    @property
    def arguments(self) -> str:
        """As they stand in the call."""
        named = [f"{name}={literal(value)}" for name, value in (self.kwargs or {}).items()]
        return ", ".join([*map(literal, self.args), *named])


def error_named(name: str) -> str:
    """What stands for an error of this type in a file that imports NumPy as np; "" where it is none of Python's."""
    if name == "LinAlgError":
        return "np.linalg.LinAlgError"
    known = getattr(builtins, name, None)
    return name if isinstance(known, type) and issubclass(known, Exception) else ""


def unwritable(args: tuple, kwargs: Mapping[str, Value]) -> str:
    """Why arguments cannot be written down, or ""."""
    values = (*args, *kwargs.values())
    tables = [value for value in values if isinstance(value, Table)]
    numbers = sum(array.size for array in arrays_in(values)) + sum(table.size for table in tables)
    if numbers > MOST_NUMBERS:
        return f"{numbers:,} numbers are too many to write down"
    return next(
        (f"{t.words} of such dtypes cannot be written down" for t in tables if not _reads_back(t)), ""
    )


def _reads_back(table: Table) -> bool:
    """Whether the source of a table gives it again."""
    import pandas as pd

    try:
        made = of_pandas(eval(literal(table), {"pd": pd, "np": np}))  # it is our own source
        return same(table, made, Rules(exact_dtype=True))
    except (ValueError, TypeError, SyntaxError, NameError):
        return False


def _table(table: Table) -> str:
    """A table as Python's source, for a file that imports pandas as pd."""
    columns = [
        f'pd.to_datetime({_cells(one)}).astype("{one.dtype}")' if one.holds == "dates" else _cells(one)
        for one in table.data
    ]
    index = "" if table.index.only_count else f"index={_labels(table.index)}"
    if table.columns is None:
        parts = [*columns, index, f"name={literal(table.name)}" if table.name is not None else ""]
        return f"pd.Series({', '.join(filter(None, parts))})"
    named = zip(table.columns.levels[0].cells, columns, strict=True)
    held = "{" + ", ".join(f"{literal(name)}: {cells}" for name, cells in named) + "}"
    return f"pd.DataFrame({', '.join(filter(None, [held, index]))})"


def _cells(column: Column) -> str:
    if column.holds == "dates":
        return literal([str(np.datetime64(int(cell), "ns")) for cell in column.values])
    return literal(list(column.values.tolist() if column.levels is None else column.cells))


def _labels(labels: Labels) -> str:
    return _cells(labels.levels[0]) if len(labels.levels) == 1 else "None"  # read back, it differs


def literal(value: Value) -> str:
    """A value as Python's source, for a file that imports NumPy as np.

    >>> literal((1, [0.5, None])), literal(np.eye(2, dtype="float32")), literal(float("nan"))
    ('(1, [0.5, None])', 'np.array([[1.0, 0.0], [0.0, 1.0]], dtype="float32")', 'float("nan")')
    """
    if isinstance(value, np.ndarray):
        plain = value.dtype in (np.float64, np.int64, np.bool_) and value.size
        items = literal(value.tolist())
        return f"np.array({items})" if plain else f'np.array({items}, dtype="{value.dtype.name}")'
    if isinstance(value, Table):
        return _table(value)
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({literal(value.item())})"
    if isinstance(value, type):
        return f"np.{np.dtype(value).name}"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(literal, value)))}}}" if value else "set()"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
    return repr(value)


def exercise_file(
    name: str,
    where: str,
    points: float,
    rules: Mapping[str, object],
    cases: Sequence[Case],
    domain: str,
    builds_on: Sequence[str],
    checks: str,
) -> str:
    """The source of an exercise's file; the module `checks` has the tests that students see."""
    options = [f"points={points:g}", *(f"{key}={value!r}" for key, value in rules.items())]
    if builds_on:
        options.append(f"builds_on=[{', '.join(builds_on)}]")
    tests = {one.test: one.test.partition("(")[0].removeprefix("def ") for one in cases if one.test}
    if tests:
        options += ["call=asked", "compare=holds"]
    hidden_tests = [
        f"{tests[one.test].upper()} = {_text(one.test)}" for one in cases if one.test and one.hidden
    ]
    parts = ["\n\n".join(hidden_tests)] if hidden_tests else []
    parts += [f'{name} = Exercise("{name}", {", ".join(options)})', *([domain] if domain else [])]
    for number, one in enumerate(cases, start=1):
        hidden = (", hidden=True" if one.hidden else "") + (f", raises={one.raises}" if one.raises else "")
        test = tests[one.test].upper() if one.hidden and one.test else tests.get(one.test, "")
        asked = (
            f"by_test({', '.join(filter(None, [test, one.arguments]))})"
            if test
            else f"inputs({one.arguments})"
        )
        body = _wrapped(f"    return {asked}")
        parts.append(f"@{name}.case({one.label!r}{hidden})\ndef case_{number}(rng):\n{body}")
    text = "\n\n\n".join(parts)
    used = {"np.": "import numpy as np", "pd.": "import pandas as pd"}
    imports = [line for short, line in used.items() if re.search(rf"\b{re.escape(short)}", text)]
    imports = ["\n".join(imports) + "\n"] if imports else []
    if seen := sorted(tests[one.test] for one in cases if one.test and not one.hidden):
        imports.append(f"from {checks} import {', '.join(seen)}\n")
    names = ["Exercise", *(["asked", "holds"] if tests else [])]
    names += [name for name in ("inputs", "by_test") if f" {name}(" in text]
    imports.append(f"from autograder.authoring import {', '.join(names)}\n")
    if builds_on:
        imports.append("\n".join(f"from .{other} import {other}" for other in builds_on) + "\n")
    return "\n".join([f'"""The exercise `{name}`: {where}."""\n', *imports, text]) + "\n"


def _text(source: str) -> str:
    """A test's source as a text in a file."""
    return repr(source) if '"""' in source or source.endswith('"') else f'r"""{source}"""'


def _wrapped(line: str) -> str:
    """A long line of numbers on several lines; others, in which a break could be part of a text, as they are."""
    if len(line) <= 110 or "'" in line or '"' in line.replace('dtype="', ""):
        return line
    return textwrap.fill(line, 106, subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False)


# A domain, as far as the recorded arguments tell


def domain_of(name: str, function: ast.FunctionDef, calls: Sequence[tuple[tuple, Mapping]]) -> str:
    """The source of a proposed domain: arguments of the sizes and in the ranges that the calls had.

    "" where there are too few calls, or nothing in them to draw anew.
    """
    forms = {(len(args), *sorted(kwargs)) for args, kwargs in calls}
    if len(calls) < 2 or len(forms) != 1 or function.args.vararg:
        return ""
    parameters = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    count = len(calls[0][0])
    if count > len(parameters):
        return ""
    columns = [(parameters[i], "", [args[i] for args, _ in calls]) for i in range(count)]
    columns += [(key, f"{key}=", [kwargs[key] for _, kwargs in calls]) for key in sorted(calls[0][1])]
    axes = _Axes()
    drawn = [(prefix, *_drawn(parameter, values, axes)) for parameter, prefix, values in columns]
    if not any(fresh for _, _, fresh in drawn):
        return ""
    flags = {parameter: values for parameter, _, values in columns if _are(values, bool)}
    options = [f"sizes={{{', '.join(f'{k!r}: {v}' for k, v in axes.sizes.items())}}}"] if axes.sizes else []
    if flags:
        options.append(f"flags={{{', '.join(f'{k!r}: (False, True)' for k in flags)}}}")
    given = ", ".join(["rng", *axes.sizes, *flags])
    body = ", ".join(f"{prefix}{text}" for prefix, text, _ in drawn)
    return (
        f"# Proposed from the arguments of the tests. Is every right answer right all over it? Then take `proposed` out.\n"
        f"@{name}.domain({', '.join([*options, 'proposed=True'])})\n"
        f"def anywhere({given}):\n    return inputs({body})"
    )


class _Axes:
    """The sizes of a domain: axes that were of one size in every call are one."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[int, int]] = {}
        self._known: dict[tuple[int, ...], str] = {}

    def size(self, lengths: Sequence[int]) -> str:
        """What stands for a length: a name, or the number that it always was."""
        seen = tuple(lengths)
        if min(seen) == max(seen):
            return str(seen[0])
        if seen not in self._known:
            self._known[seen] = f"n_{len(self._known) + 1}"
            self.sizes[self._known[seen]] = (min(seen), max(seen))
        return self._known[seen]


def _are(values: Sequence[Value], *types: type) -> bool:
    return all(type(value) in types for value in values)


def _drawn(parameter: str, values: Sequence[Value], axes: _Axes) -> tuple[str, bool]:
    """The expression that draws an argument, and whether it gives others than were recorded."""
    if _are(values, bool):
        return parameter, True
    if _are(values, int) and min(values) < max(values):
        return f"int({_integers(min(values), max(values))})", True
    if _are(values, int, float) and all(map(np.isfinite, values)) and min(values) < max(values):
        return f"float(rng.uniform({min(values)!r}, {max(values)!r}))", True
    arrays = all(isinstance(value, np.ndarray) for value in values)
    if (arrays and len({(v.ndim, v.dtype) for v in values}) == 1 and values[0].ndim) or (
        _are(values, list) and all(_are(v, int) or _are(v, float, int) for v in values)
    ):
        found = _array([np.asarray(value) for value in values], axes, arrays)
        if found:
            return found if arrays else f"{found}.tolist()", True
    choices = list(dict.fromkeys(map(literal, values)))
    return choices[0] if len(choices) == 1 else f"[{', '.join(choices)}][rng.integers({len(choices)})]", False


def _integers(low: int, high: int) -> str:
    return f"rng.integers({low}, {high + 1})"


def _array(values: Sequence[np.ndarray], axes: _Axes, typed: bool) -> str:
    """The expression that draws an array like these; "" where their numbers hang together in a way that it would break."""
    numbers = np.concatenate([np.ravel(value) for value in values])
    if not numbers.size or numbers.dtype.kind not in "fiu" or not np.isfinite(numbers).all():
        return ""
    if any(value.size > 1 and np.isclose(value.sum(), 1.0) for value in values):
        return ""
    shape = [axes.size([value.shape[axis] for value in values]) for axis in range(values[0].ndim)]
    size = shape[0] if len(shape) == 1 else f"({', '.join(shape)})"
    low, high = numbers.min().item(), numbers.max().item()
    if numbers.dtype.kind == "f":
        text = f"rng.uniform({low!r}, {high!r}, size={size})"
    else:
        text = f"rng.integers({low}, {high + 1}, size={size})"
    vectors = [value for value in values if value.ndim == 1 and value.size > 2]
    if vectors and len(vectors) == len(values) and all((np.diff(value) >= 0).all() for value in vectors):
        text = f"np.sort({text})"
    elif len(shape) == 2 and shape[0] == shape[1] and all(np.array_equal(v, v.T) for v in values):
        return ""
    dtype = values[0].dtype.name
    plain = dtype in ("float64", "int64") or not typed
    return text if plain else f'{text}.astype("{dtype}")'
