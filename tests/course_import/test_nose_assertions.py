"""Assertions of the package nose become those of unittest, and nothing else does."""

import pytest

from course_import.nbgrader_source import SourceCell
from course_import.nose_assertions import replace_nose_assertions

IMPORT = "from unittest import TestCase"


def replace(*sources):
    cells = [SourceCell(number, "test", source) for number, source in enumerate(sources, start=1)]
    new_cells, numbers = replace_nose_assertions(cells)
    return [cell.source for cell in new_cells], numbers


@pytest.mark.parametrize(
    ("source", "replaced"),
    [
        ("from nose.tools import assert_equal as eq, assert_in\neq(f(1), 2)\nassert_in(1, [1])",
         f"{IMPORT}\nTestCase().assertEqual(f(1), 2)\nTestCase().assertIn(1, [1])"),
        ("import nose.tools\nnose.tools.ok_(x)", f"{IMPORT}\nTestCase().assertTrue(x)"),
        ("import nose.tools as nt\nnt.assert_false(é); nt.eq_(y, 1)",
         f"{IMPORT}\nTestCase().assertFalse(é); TestCase().assertEqual(y, 1)"),
        ("from nose.tools import (ok_,\n    assert_items_equal)\nok_(x)\nassert_items_equal(a, b)",
         f"{IMPORT}\n\nTestCase().assertTrue(x)\nTestCase().assertCountEqual(a, b)"),
        ("from nose.tools import assert_not_almost_equals as far\nfar(1, 2)",
         f"{IMPORT}\nTestCase().assertNotAlmostEqual(1, 2)"),
        # A name that something else binds is no longer nose's.
        ("from nose.tools import ok_, eq_\nok_(x)\neq_(x, 1)\ndef ok_(x):\n    return x",
         f"{IMPORT}\nok_(x)\nTestCase().assertEqual(x, 1)\ndef ok_(x):\n    return x"),
        ("from nose.tools import ok_\nfrom mine import ok_\nok_(x)",
         f"{IMPORT}\nfrom mine import ok_\nok_(x)"),
        ("from nose.tools import ok_, eq_\nfrom mine import test as ok_\nok_(x)\neq_(x, 1)",
         f"{IMPORT}\nfrom mine import test as ok_\nok_(x)\nTestCase().assertEqual(x, 1)"),
        ("from nose.tools import ok_\nimport mine as ok_\nok_(x)",
         f"{IMPORT}\nimport mine as ok_\nok_(x)"),
        ("from nose.tools import ok_\nfrom mine import ok_ as fine\nok_(x)",
         f"{IMPORT}\nfrom mine import ok_ as fine\nTestCase().assertTrue(x)"),
    ],
)  # fmt: skip
def test_the_assertions_that_an_import_binds_are_replaced(source, replaced):
    assert replace(source) == ([replaced], [1])


def test_names_of_an_earlier_cell_hold_in_the_later_ones():
    sources, numbers = replace("x = 1", "from nose.tools import *", "ok_(x)", "ok_(", "fine_(x)")
    assert sources == ["x = 1", IMPORT, "TestCase().assertTrue(x)", "ok_(", "fine_(x)"]
    assert numbers == [2]


@pytest.mark.parametrize(
    "source",
    [
        "from nose.tools import assert_equal, raises\nassert_equal(1, 1)",
        "from nose import SkipTest",
        "ok_(x)",
        "import unittest\nok_ = 1",
    ],
)
def test_an_import_of_anything_else_stays_as_it_is(source):
    assert replace(source) == ([source], [])


def test_a_text_is_left_alone():
    cells = [
        SourceCell(1, "given", "from nose.tools import ok_"),
        SourceCell(2, "text", "ok_(x)", is_code=False),
    ]
    assert replace_nose_assertions(cells)[0][1] == cells[1]
