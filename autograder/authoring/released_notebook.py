"""Make the released notebook from a solution notebook, by cutting the answers out.

nbgrader's preprocessors do it. The module is separate from `build` because grading needs it, too.
Stored marks are outdated when a module changes that grading imports, directly or not, and `build`
imports many modules that no mark depends on.
"""

from copy import deepcopy
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.lab import Lab
from autograder.authoring.nbgrader_settings import make_settings
from autograder.core.errors import AutograderError


class BuildError(AutograderError):
    """Error for a lab that cannot be built.

    The text says which cell or exercise is wrong and what to do.
    """


def release_notebook(
    notebook: NotebookNode,
    lab: Lab,
    *,
    for_grading: bool = False,
) -> NotebookNode:
    """Return a copy of a solution notebook with the answers cut out.

    Parameters
    ----------
    for_grading : bool
        True for the notebook that grading compares submissions with, and not the one for students.
        It keeps the marking schemes and has no outputs.

    Raises
    ------
    BuildError
        If nbgrader refuses a cell.
    """
    from traitlets.utils.importstring import import_item

    config = make_settings(lab.course)
    notebook = deepcopy(notebook)
    if for_grading:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = []
    resources: dict = {}
    for name in config.GenerateAssignment.preprocessors:
        if name.endswith("SaveCells") or (for_grading and name.endswith("ClearMarkScheme")):
            continue  # SaveCells writes to nbgrader's gradebook, which is not needed for building
        step = import_item(name)(config=config)
        try:
            notebook, resources = step(notebook, resources)
        except Exception as error:  # noqa: BLE001 - nbgrader's steps raise errors of many types
            location = _describe_first_refused_cell(step, notebook)
            reason = str(error).strip().split("\n")[0].rstrip(".")
            step_name = type(step).__name__
            raise BuildError(f"nbgrader's {step_name} refuses {location}: {reason}.") from None
    return notebook


def _describe_first_refused_cell(nbgrader_step: Any, notebook: NotebookNode) -> str:
    """Return the name of the first notebook cell on which a step of nbgrader raises an error."""
    for cell in notebook.cells:
        try:
            nbgrader_step(nbformat.v4.new_notebook(cells=[deepcopy(cell)]), {})
        except Exception:  # noqa: BLE001 - see above
            return f"the cell {cell.id!r}"
    return "the notebook"
