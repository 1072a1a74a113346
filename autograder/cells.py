"""Which graded cell is which: nbgrader's grade_id, and the exercise that it belongs to."""

from collections.abc import Mapping
from typing import Any

# Of a notebook of ours, as JSON.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def grade_id(exercise: str) -> str:
    """The grade_id of the cell that answers an exercise.

    >>> grade_id("stable_softmax")
    'stable-softmax'
    """
    return exercise.replace("_", "-")


def id_of_test(exercise: str) -> str:
    """The grade_id of the cell that tests an exercise.

    >>> id_of_test("stable_softmax")
    'test-stable-softmax'
    """
    return f"test-{grade_id(exercise)}"


def source_of(cell: Mapping[str, Any]) -> str:
    """What stands in a cell as it was saved, in one piece or in lines.

    >>> source_of({"source": ["x = 1\\n", "y"]}), source_of({})
    ('x = 1\\ny', '')
    """
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def nbgrader_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What nbgrader knows of a cell; nothing of one that is not its own, whatever stands in the place of metadata."""
    metadata = cell.get("metadata")
    known = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return known if isinstance(known, dict) else {}


def graded(name: str, points: float | None = None, **roles: bool) -> dict[str, Any]:
    """nbgrader's metadata of a cell of this grade_id.

    Parameters
    ----------
    **roles : bool
        Of `grade`, `solution`, `locked` and `task` those that it has.
    """
    about: dict[str, Any] = {**dict.fromkeys(("grade", "solution", "locked", "task"), False), **roles}
    about |= {"grade_id": name, "schema_version": 3}
    return about if points is None else {**about, "points": points}


def id_of(cell: Mapping[str, Any]) -> str:
    """The grade_id of a cell; "" for one that is not graded.

    >>> id_of({"metadata": {"nbgrader": {"grade_id": "softmax"}}}), id_of({"metadata": None})
    ('softmax', '')
    """
    name = nbgrader_of(cell).get("grade_id")
    return name if isinstance(name, str) else ""
