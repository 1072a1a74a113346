"""A solution notebook as students get it: nbgrader's own steps cut the answers out.

Apart from `build`, since marking needs this much of it: what decides a mark is found by following imports.
"""

from copy import deepcopy
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.lab import Lab
from autograder.authoring.nbgrader_settings import settings
from autograder.errors import Complaint


class BuildError(Complaint):
    """A lab that cannot be built; the text says which cell or exercise and what to do."""


def release(notebook: NotebookNode, lab: Lab, *, to_mark: bool = False) -> NotebookNode:
    """A solution notebook with its answers cut out.

    Parameters
    ----------
    to_mark : bool
        For those who mark: the marking schemes stay in their questions, and no output does.

    Raises
    ------
    BuildError
        If nbgrader refuses a cell.
    """
    from traitlets.utils.importstring import import_item

    config = settings(lab.course)
    notebook = deepcopy(notebook)
    if to_mark:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
    resources: dict = {}
    for name in config.GenerateAssignment.preprocessors:
        if name.endswith("SaveCells") or (to_mark and name.endswith("ClearMarkScheme")):
            continue  # SaveCells writes to the gradebook, and building needs none
        step = import_item(name)(config=config)
        try:
            notebook, resources = step(notebook, resources)
        except Exception as error:  # noqa: BLE001 - nbgrader's steps raise kinds of their own
            where = next((f"the cell {c.id!r}" for c in notebook.cells if _refuses(step, c)), "the notebook")
            why = str(error).strip().split("\n")[0].rstrip(".")
            raise BuildError(f"nbgrader's {type(step).__name__} refuses {where}: {why}.") from None
    return notebook


def _refuses(step: Any, cell: NotebookNode) -> bool:
    try:
        step(nbformat.v4.new_notebook(cells=[deepcopy(cell)]), {})
    except Exception:  # noqa: BLE001
        return True
    return False
