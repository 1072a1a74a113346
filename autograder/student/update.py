"""Update a student's copy of a lab when the course has changed the lab's notebook.

The student's answers and other changes are kept. `copy_labs` saves each lab's notebook as it was
handed out, in a folder beside the labs. Compared with that file, the course's new notebook shows
what the course has changed, and the student's copy what the student has changed. Notebook cells
are matched by their grade_ids, or by their ids if they have no grade_id.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

from autograder.core.files import write_file
from autograder.core.notebook_cells import get_cell_source, get_grade_id, get_nbgrader_metadata

HANDED_OUT_FOLDER = ".handed-out"  # beside the labs
_STUDENT_VERSION_NOTE = "Your own version of the cell above, from before the course changed it:\n\n"

Notebook = dict[str, Any]


def find_handed_out_path(copy: Path) -> Path:
    """Return the path of the handed-out notebook of which this file is a student's copy."""
    return copy.parent.parent / HANDED_OUT_FOLDER / copy.name


def find_sections_changed_by_course(copy: Path, course_notebook: Path) -> list[str]:
    """Return the headings of the sections that the course has changed since it handed out `copy`.

    If the notebook as handed out was not saved, the course's notebook is compared with the
    student's copy instead, except for the cells with answers. The result is empty for a copy that
    cannot be read, or that is the course's own file.
    """
    if not course_notebook.is_file() or (copy.exists() and copy.samefile(course_notebook)):
        return []
    new = read_notebook(course_notebook)
    old = read_notebook(find_handed_out_path(copy)) or read_notebook(copy)
    if not old or not new:
        return []
    has_handed_out = find_handed_out_path(copy).is_file()
    old_sources = _sources_by_name(old)
    headings: list[str] = []
    heading = "the beginning"
    for cell in new["cells"]:
        heading = _read_heading(cell) or heading
        name = _make_cell_key(cell)
        is_students_answer = not has_handed_out and _is_answer_cell(cell) and name in old_sources
        is_changed = old_sources.get(name) != get_cell_source(cell) and not is_students_answer
        if is_changed and heading not in headings:
            headings.append(heading)
    if not headings and has_handed_out:
        new_names = _sources_by_name(new).keys()
        if any(name not in new_names for name in old_sources):
            headings.append("what is no longer there")
    return headings


def _read_heading(cell: Mapping[str, Any]) -> str:
    """Return the first heading in a Markdown cell; "" if there is none.

    Points in brackets at its end, such as "(2 points)", are left out.
    """
    match = re.search(r"^#+ (.+?)(?: \([\d.]+ points?\))?$", get_cell_source(cell), re.M)
    if match and cell.get("cell_type") == "markdown":
        return match[1].replace("`", "")
    return ""


def merge_update(student: Notebook, old: Notebook | None, new: Notebook) -> Notebook:
    """Return the course's new notebook with the student's answers, changes and own cells in it.

    If the student and the course have both changed a cell, the result has the course's version,
    followed by the student's version as a raw cell.

    Parameters
    ----------
    student : notebook
        The student's copy.
    old : notebook or None
        The notebook as it was handed out to the student; None if that is not known.
    new : notebook
        The course's current notebook.
    """
    student_cells = {_make_cell_key(cell): cell for cell in reversed(student["cells"])}
    old_sources = _sources_by_name(old) if old else {}
    new_names = set(_sources_by_name(new))
    own_cells = _collect_student_only_cells(student, old_sources, new_names)
    cells = list(own_cells[""])
    for new_cell in new["cells"]:
        name = _make_cell_key(new_cell)
        student_cell = student_cells.get(name)
        if student_cell is None:
            cells.append(deepcopy(new_cell))
        else:
            cells += _merge_cell(student_cell, old_sources.get(name), new_cell, old is not None)
        cells += own_cells[name]
    return {**deepcopy(new), "cells": cells}


def _merge_cell(
    student_cell: dict, old_source: str | None, new_cell: dict, has_handed_out_copy: bool
) -> list[dict]:
    """Return the merged cell; if it lacks the student's version, also a raw cell with that."""
    student_source = get_cell_source(student_cell)
    # If it is not known what the cell held when it was handed out, assume that the student has
    # changed it.
    is_edited = old_source is None or student_source != old_source
    merged_cell = deepcopy(new_cell)
    if is_edited and (_is_answer_cell(new_cell) or old_source == get_cell_source(new_cell)):
        merged_cell["source"] = student_cell["source"]
    is_same_source = get_cell_source(merged_cell) == student_source
    if is_same_source and "outputs" in student_cell and "outputs" in merged_cell:
        merged_cell["outputs"] = deepcopy(student_cell["outputs"])
    if not has_handed_out_copy or not is_edited or is_same_source:
        return [merged_cell]
    return [
        merged_cell,
        {
            "cell_type": "raw",
            "id": uuid4().hex[:8],
            "metadata": {},
            "source": _STUDENT_VERSION_NOTE + student_source,
        },
    ]


def _collect_student_only_cells(
    student: Notebook, old_sources: Mapping[str, str], new_names: set[str]
) -> dict[str, list[dict]]:
    """Return the cells that are only in the student's copy and must be kept.

    These are cells that the student has added or copied, and changed cells that the course has
    removed. The key is the name of the course's cell after which they stand; "" at the beginning.
    """
    own_cells: dict[str, list[dict]] = defaultdict(list)
    previous_name = ""
    visited_names = set()
    for cell in student["cells"]:
        name = _make_cell_key(cell)
        if name in visited_names:  # a copy of a cell
            own_cells[previous_name].append({**deepcopy(cell), "id": uuid4().hex[:8]})
        elif name in new_names:
            previous_name = name
            visited_names.add(name)
        elif old_sources.get(name) != get_cell_source(cell) and get_cell_source(cell).strip():
            own_cells[previous_name].append(deepcopy(cell))
    return own_cells


def save_handed_out(copy: Path, content: bytes) -> None:
    """Save the notebook that the course has handed out as the student's copy at `copy`."""
    write_file(find_handed_out_path(copy), content)


def read_notebook(path: Path) -> Notebook | None:
    """Read a notebook file, leaving out malformed cells; return None if it cannot be read."""
    try:
        notebook = dict(json.loads(path.read_text("utf-8")))
        notebook["cells"] = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return notebook


def _sources_by_name(notebook: Notebook) -> dict[str, str]:
    return {_make_cell_key(cell): get_cell_source(cell) for cell in notebook["cells"]}


def _make_cell_key(cell: Mapping[str, Any]) -> str:
    """Return the key by which a cell is found again: its grade_id, else its id, else its source."""
    return get_grade_id(cell) or str(cell.get("id", "")) or get_cell_source(cell)


def _is_answer_cell(cell: Mapping[str, Any]) -> bool:
    """Return True if nbgrader's metadata mark this cell as one in which students answer."""
    return bool(get_nbgrader_metadata(cell).get("solution"))
