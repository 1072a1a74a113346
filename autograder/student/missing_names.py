"""Find the cell of a saved notebook that defines a name, and say which cells to run.

After a restart of the kernel, a notebook's names are gone. A beginner needs to be told which cell
makes a missing name, and how to run all cells above at once.
"""

import dis
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from autograder.core.notebook_cells import get_cell_source
from autograder.core.text_format import truncate
from autograder.student.workspace import read_cells

MAX_QUOTED_CHARACTERS = 60
_RUN_ADVICE = (
    "If you have restarted the kernel, select the cell that you ran, choose Run > Run All Above "
    "Selected Cell, and then run the cell again."
)


def find_saved_notebook() -> Path | None:
    """Return the saved notebook of the lab in the working directory; None if there is none."""
    folder = Path.cwd()
    path = folder / f"{folder.name}.ipynb"
    if path.is_file():
        return path
    notebooks = sorted(folder.glob("*.ipynb"))
    return notebooks[0] if len(notebooks) == 1 else None


def explain_missing_name(name: str, cells: Sequence[dict] | None = None) -> str:
    """Say which cell of the saved notebook defines a name, and how to run it; "" if none does.

    Parameters
    ----------
    cells : sequence of dict, optional
        The notebook's cells; by default those of `find_saved_notebook`.
    """
    if cells is None:
        path = find_saved_notebook()
        cells = read_cells(path) if path else []
    heading = ""
    for cell in cells:
        source = get_cell_source(cell)
        if cell.get("cell_type") == "markdown":
            heading = _last_heading(source) or heading
        elif cell.get("cell_type") == "code" and name in list_defined_names(source):
            place = f", in the section “{heading}”" if heading else ""
            return (
                f"{name} is not defined yet. The cell that defines it begins with "
                f"`{_first_line(source)}`{place}. Run that cell first. {_RUN_ADVICE}"
            )
    return ""


def _last_heading(text: str) -> str:
    """Return the last heading of a Markdown text; "" if it has none."""
    headings = re.findall(r"^#{1,4}[ \t]+(.{1,200})$", text, re.M)
    return headings[-1].strip() if headings else ""


def _first_line(source: str) -> str:
    """Return the first line of a cell that is code, cut to a limit."""
    lines = [line.strip() for line in source.splitlines()]
    code_lines = [line for line in lines if line and not line.startswith("#")]
    return truncate((code_lines or lines)[0], MAX_QUOTED_CHARACTERS)


def list_defined_names(source: str) -> set[str]:
    """Return the names that a cell defines outside of its functions; none for invalid Python.

    >>> sorted(list_defined_names("import numpy as np\\ndef f(x):\\n    y = x\\nfor i in 'ab': pass"))
    ['f', 'i', 'np']
    """
    lines = [line for line in source.splitlines() if not re.match(r"\s*[%!]", line)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile("\n".join(lines) + "\n", "<cell>", "exec")
    except (SyntaxError, ValueError):
        return set()
    names = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_NAME", "STORE_GLOBAL"):
            names.add(str(instruction.argval))
    return names
