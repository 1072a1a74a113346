"""nbgrader's metadata and the source of a cell, whatever a notebook file holds."""

import pytest

from autograder.core.notebook_cells import (
    get_cell_source,
    get_grade_id,
    get_nbgrader_metadata,
    make_nbgrader_metadata,
)


def test_a_cell_worth_no_points_says_so_and_one_without_points_does_not():
    assert make_nbgrader_metadata("a", 0)["points"] == 0
    assert "points" not in make_nbgrader_metadata("a")


def test_the_roles_that_are_not_named_are_off():
    metadata = make_nbgrader_metadata("a", grade=True, locked=True)
    roles = {name: metadata[name] for name in ("grade", "solution", "locked", "task")}
    assert roles == {"grade": True, "solution": False, "locked": True, "task": False}
    assert (metadata["grade_id"], metadata["schema_version"]) == ("a", 3)


@pytest.mark.parametrize(
    "metadata",
    [None, "text", {}, *({"nbgrader": entry} for entry in (None, [], {}, "yes", ["a"], 3))],
)
def test_a_cell_without_proper_metadata_has_no_name(metadata):
    assert get_nbgrader_metadata({"metadata": metadata}) == {}
    assert get_grade_id({"metadata": metadata}) == get_grade_id({}) == ""


def test_a_name_that_is_no_text_is_none():
    assert get_grade_id({"metadata": {"nbgrader": {"grade_id": 3}}}) == ""


def test_the_lines_of_a_source_are_put_together_as_they_are():
    assert get_cell_source({"source": ["a\n", "b", 3]}) == "a\nb3"
