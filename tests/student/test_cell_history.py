"""A check says that the cell of a function was renamed, or broken, since it was defined."""

from types import SimpleNamespace

import pytest

from autograder.student import cell_history
from autograder.student.cell_history import describe_stale_definition


@pytest.fixture(autouse=True)
def empty_history(monkeypatch):
    monkeypatch.setattr(cell_history, "_latest_sources", {})
    monkeypatch.setattr(cell_history, "_cells_by_name", {})


def run_cell(source, cell_id="one", success=True):
    """Record a cell as IPython does after it has run."""
    info = SimpleNamespace(raw_cell=source, cell_id=cell_id)
    cell_history._record_cell(SimpleNamespace(info=info, success=success))


def test_a_function_whose_cell_is_unchanged_or_improved_needs_no_note():
    assert describe_stale_definition("alignment") == ""
    run_cell("def alignment(x):\n    return x")
    assert describe_stale_definition("alignment") == ""
    run_cell("def alignment(x):\n    return 2 * x")
    run_cell("check(alignment)", "two")
    assert describe_stale_definition("alignment") == ""


def test_a_renamed_function_is_said():
    run_cell("def alignment(x):\n    return x")
    run_cell("def align(x):\n    return x")
    assert describe_stale_definition("alignment") == (
        "Note: the cell in which you wrote alignment now defines align and no longer alignment. "
        "The check uses the earlier alignment; correct the cell and run it again."
    )
    run_cell("def alignment(x):\n    return x", "another")  # written anew in another cell
    assert describe_stale_definition("alignment") == ""


def test_a_cell_that_is_broken_now_is_said():
    run_cell("def alignment(x):\n    return x")
    run_cell("def alignment(x)\n    return x", success=False)
    assert describe_stale_definition("alignment").startswith(
        "Note: the cell in which you wrote alignment now defines no alignment, or has an error."
    )


def test_without_ids_of_cells_nothing_is_recorded():
    run_cell("def alignment(x):\n    return x", None)
    run_cell("def align(x):\n    return x", None)
    assert describe_stale_definition("alignment") == ""


def test_a_cell_that_was_emptied_needs_no_note():
    run_cell("def alignment(x):\n    return x")
    run_cell("  \n")
    assert describe_stale_definition("alignment") == ""


def test_a_cell_that_failed_has_defined_nothing():
    run_cell("def alignment(x):\n    return x", "one")
    run_cell("1 / 0\nalignment = None", "two", success=False)
    run_cell("other = 1", "two")
    assert describe_stale_definition("alignment") == ""


def test_several_names_of_the_changed_cell_are_said_in_order():
    run_cell("def alignment(x):\n    return x")
    run_cell("import numpy as np\ndef align(x):\n    return x")
    assert "now defines align and np and no longer alignment" in describe_stale_definition(
        "alignment"
    )
