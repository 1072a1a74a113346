"""The reference: the solution notebook's own code, run here and nowhere written twice."""

import io
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from types import SimpleNamespace

from nbformat import NotebookNode

from autograder.cells import nbgrader_of
from autograder.errors import Complaint


def reference_cells(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """The sources of the cells that define the reference, by name: tagged "setup", or a coded solution."""
    return {
        nbgrader_of(cell).get("grade_id", cell.get("id", "cell")): cell.source
        for cell in cells
        if cell.cell_type == "code"
        and ("setup" in cell.metadata.get("tags", []) or nbgrader_of(cell).get("solution", False))
    }


def run_reference(cells: Mapping[str, str], lab: str) -> SimpleNamespace:
    """What these cells define."""
    # A notebook has `display` without importing it; what it shows is nobody's here.
    namespace: dict[str, object] = {"__name__": f"solution of {lab}", "display": lambda *_, **__: None}
    for name, source in cells.items():
        try:
            with redirect_stdout(io.StringIO()):
                exec(compile(source, f"<{lab}: {name}>", "exec"), namespace)
        except Exception as error:  # an author's own code may raise anything
            raise Complaint(
                f"{lab}: the cell {name!r} raises {type(error).__name__}: {error}. The reference is what the cells "
                "tagged `setup` and the answers make, in their order, without the other cells."
            ) from error
    return SimpleNamespace(**namespace)
