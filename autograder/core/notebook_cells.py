"""Read and write nbgrader's metadata in notebook cells: a name (grade_id), points and a role."""

from collections.abc import Mapping
from typing import Any

MAX_NOTEBOOK_BYTES = 20_000_000  # including pictures; a finished lab has less than 2 MB

# Lines between which the solution of an exercise stands; nbgrader cuts it out for students.
SOLUTION_BEGIN, SOLUTION_END = "### BEGIN SOLUTION", "### END SOLUTION"

# Metadata of every notebook file that the autograder writes.
NOTEBOOK_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def make_grade_id(exercise: str) -> str:
    """Return the name of the cell in which students answer an exercise; nbgrader calls it grade_id.

    >>> make_grade_id("stable_softmax")
    'stable-softmax'
    """
    return exercise.replace("_", "-")


def make_test_grade_id(exercise: str) -> str:
    """Return the name of the cell that tests an exercise; nbgrader calls it grade_id.

    >>> make_test_grade_id("stable_softmax")
    'test-stable-softmax'
    """
    return f"test-{make_grade_id(exercise)}"


def get_cell_source(cell: Mapping[str, Any]) -> str:
    """Return the source of a notebook cell as one text; the notebook file may hold a list of lines.

    >>> get_cell_source({"source": ["x = 1\\n", "y"]}), get_cell_source({})
    ('x = 1\\ny', '')
    """
    source = cell.get("source", "")
    if isinstance(source, list):
        return "".join(map(str, source))
    return str(source)


def get_nbgrader_metadata(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata of a notebook cell; {} if it is missing or malformed."""
    metadata = cell.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    entries = metadata.get("nbgrader")
    return entries if isinstance(entries, dict) else {}


def make_nbgrader_metadata(name: str, points: float | None = None, **roles: bool) -> dict[str, Any]:
    """Make the metadata by which nbgrader recognises a notebook cell.

    Parameters
    ----------
    name : str
        The cell's grade_id.
    points : float, optional
        The points that the cell can give.
    **roles : bool
        The cell's roles among `grade`, `solution`, `locked` and `task`; False by default.
    """
    metadata: dict[str, Any] = dict.fromkeys(("grade", "solution", "locked", "task"), False)
    metadata |= {**roles, "grade_id": name, "schema_version": 3}
    if points is not None:
        metadata["points"] = points
    return metadata


def get_grade_id(cell: Mapping[str, Any]) -> str:
    """Return the name of a notebook cell, nbgrader's grade_id; "" if the cell has none.

    >>> get_grade_id({"metadata": {"nbgrader": {"grade_id": "softmax"}}})
    'softmax'
    >>> get_grade_id({"metadata": None})
    ''
    """
    name = get_nbgrader_metadata(cell).get("grade_id")
    return name if isinstance(name, str) else ""
