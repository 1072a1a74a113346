"""A copy of a lab that is older than the course's: what has changed since, and taking that over without losing a word.

`start` keeps each lab as it was handed out, in a folder beside the labs. What the course changed is then told from
what the student changed: cells are known by their grade_ids, and by their ids where they have none.
"""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

from autograder.cells import id_of, nbgrader_of, source_of
from autograder.files import write

HANDED_OUT = ".handed-out"  # the folder beside the labs
_OURS = "Your own version of the cell above, from before the course changed it:\n\n"

Notebook = dict[str, Any]


def handed_out(copy: Path) -> Path:
    """Where the first state of a student's copy is kept."""
    return copy.parent.parent / HANDED_OUT / copy.name


def changes(copy: Path, released: Path) -> list[str]:
    """What the course has changed since it handed out `copy`: the headings above it, in the lab's order.

    Where its first state was not kept, the copy itself stands for it, but for its answers. A copy that cannot be
    read, or that is the course's own file, has none.
    """
    if not released.is_file() or (copy.exists() and copy.samefile(released)):
        return []
    new = read(released)
    old = read(handed_out(copy)) or read(copy)
    if not old or not new:
        return []
    kept = handed_out(copy).is_file()
    before = {_name(cell): source_of(cell) for cell in old["cells"]}
    found, heading = [], "the beginning"
    for cell in new["cells"]:
        title = re.search(r"^#+ (.+?)(?: \([\d.]+ points?\))?$", source_of(cell), re.M)
        if title and cell.get("cell_type") == "markdown":
            heading = title[1].replace("`", "")
        other = not kept and _is_answer(cell) and _name(cell) in before
        if before.get(_name(cell)) != source_of(cell) and not other and heading not in found:
            found.append(heading)
    names = {_name(cell) for cell in new["cells"]}
    if not found and kept and any(_name(cell) not in names for cell in old["cells"]):
        found.append("what is no longer there")
    return found


def renewed(mine: Notebook, old: Notebook | None, new: Notebook) -> Notebook:
    """The course's lab of today with a student's answers, changes and own cells in it.

    Where the student and the course both changed a cell, both are there: the student's as raw text below.

    Parameters
    ----------
    mine, old, new : notebook
        The student's copy; what it was at first, None if that is not known; the course's.
    """
    theirs = {_name(cell): cell for cell in reversed(mine["cells"])}
    before = {_name(cell): source_of(cell) for cell in old["cells"]} if old else {}
    known = {_name(cell) for cell in new["cells"]}
    result = {**deepcopy(new), "cells": (cells := [])}
    own = _own(mine, before, known)
    cells += own[""]
    for cell in new["cells"]:
        name, today = _name(cell), deepcopy(cell)
        there = theirs.get(name)
        if there is not None:
            was = before.get(name)
            written = was is None or source_of(there) != was  # by the student, as far as anybody knows
            if written and (_is_answer(cell) or was == source_of(cell)):
                today = {**today, "source": there["source"]}
            if source_of(today) == source_of(there) and "outputs" in there and "outputs" in today:
                today["outputs"] = deepcopy(there["outputs"])
            cells.append(today)
            if old and written and source_of(today) != source_of(there):
                raw = {"cell_type": "raw", "id": uuid4().hex[:8], "metadata": {}}
                cells.append({**raw, "source": _OURS + source_of(there)})
        else:
            cells.append(today)
        cells += own[name]
    return result


def _own(mine: Notebook, before: Mapping[str, str], known: set[str]) -> dict[str, list[dict]]:
    """The cells that are the student's own, or changed by them and no longer in the lab, by the cell they follow."""
    found: dict[str, list[dict]] = defaultdict(list)
    after, seen = "", set()
    for cell in mine["cells"]:
        name = _name(cell)
        if name in seen:  # a copy of a cell
            found[after].append({**deepcopy(cell), "id": uuid4().hex[:8]})
        elif name in known:
            after = name
            seen.add(name)
        elif before.get(name) != source_of(cell) and source_of(cell).strip():
            found[after].append(deepcopy(cell))
    return found


def keep(copy: Path, released: bytes) -> None:
    """Keep what was handed out as `copy`."""
    write(handed_out(copy), released)


def read(path: Path) -> Notebook | None:
    """A notebook whose cells are mappings; None if it cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
        found["cells"] = [cell for cell in found["cells"] if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return dict(found)


def _name(cell: Mapping[str, Any]) -> str:
    return id_of(cell) or str(cell.get("id", "")) or source_of(cell)


def _is_answer(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of the course's is one in which students answer."""
    return bool(nbgrader_of(cell).get("solution"))
