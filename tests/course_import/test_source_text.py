"""Source text that an import writes: file names replaced, cells split, values as code."""

import ast
from types import SimpleNamespace

import numpy as np
import pytest

from course_import.dependencies import Dependencies
from course_import.nbgrader_source import split_source
from course_import.write_exercise import format_value


def test_two_file_names_in_a_line_are_both_replaced(tmp_path):
    course = SimpleNamespace(library=(), imports=(), root=tmp_path)
    dependencies = Dependencies(tmp_path, course, set(), set())
    dependencies.files = {"a.csv": b"", "much_longer_name.csv": b""}
    source = 'x, y = open("a.csv"), open("much_longer_name.csv")'
    expected = 'x, y = open(beside("a.csv")), open(beside("much_longer_name.csv"))'
    assert dependencies.replace_file_names(source) == expected


def test_a_decorator_goes_with_its_function():
    text = "a = 1\n@cache\ndef f():\n    pass"
    assert split_source(text, ast.parse(text), [0]) == ["a = 1", "@cache\ndef f():\n    pass"]


@pytest.mark.parametrize("dtype", ["int64", "bool", "float64"])
def test_an_empty_array_keeps_its_dtype(dtype):
    array = eval(format_value(np.array([], dtype)), {"np": np})
    assert array.dtype == dtype and array.shape == (0,)
