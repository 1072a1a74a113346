"""The reference: the solution notebook's own code, run here and nowhere written twice."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import nbformat

SOLUTIONS = Path(__file__).parents[2] / "solutions"


@cache
def reference_cells(lab: str, solutions: Path = SOLUTIONS) -> list[tuple[str, str]]:
    """(name, source) of the cells that define the reference: tagged "setup", or a coded solution."""
    notebook = nbformat.read(solutions / lab / f"{lab}.ipynb", as_version=4)
    return [
        (cell.metadata.get("nbgrader", {}).get("grade_id", cell.get("id", "cell")), cell.source)
        for cell in notebook.cells
        if cell.cell_type == "code"
        and (
            "setup" in cell.metadata.get("tags", [])
            or cell.metadata.get("nbgrader", {}).get("solution", False)
        )
    ]


@cache
def reference(lab: str) -> SimpleNamespace:
    """What the solution notebook's setup and solution cells define."""
    namespace = {"__name__": f"solution of {lab}"}
    for name, source in reference_cells(lab):
        exec(compile(source, f"<{lab}: {name}>", "exec"), namespace)
    return SimpleNamespace(**namespace)


class Reference:
    """A lab's reference by attribute, loaded when first used: ``solution.softmax(x)``."""

    def __init__(self, lab: str):
        self._lab = lab

    def __getattr__(self, name: str):
        return getattr(reference(self._lab), name)
