"""Remember which cell of the notebook defined a function, and whether it has changed since.

A kernel keeps a function after its cell was edited: a renamed function, or a cell with an error,
leaves the earlier version behind, and a check of it would tell the student nothing of the edit.
"""

from typing import Any

from autograder.core.text_format import join_words
from autograder.student.missing_names import list_defined_names
from autograder.student.reuse import get_shell

_latest_sources: dict[str, str] = {}  # the source of each cell when it was last run, by its id
_cells_by_name: dict[str, str] = {}  # the id of the cell that last defined each name


def watch_cells() -> None:
    """Record the cells that the notebook runs from now on; do nothing outside of IPython."""
    shell = get_shell()
    if shell is not None and _record_cell not in shell.events.callbacks["post_run_cell"]:
        shell.events.register("post_run_cell", _record_cell)


def _record_cell(result: Any) -> None:
    """Record a cell that has run. IPython calls this with the result of the cell."""
    info = result.info
    cell_id = getattr(info, "cell_id", None)
    if not cell_id:
        return
    _latest_sources[cell_id] = info.raw_cell
    if result.success:
        for name in list_defined_names(info.raw_cell):
            _cells_by_name[name] = cell_id


def describe_stale_definition(name: str) -> str:
    """Return a note if a function's cell was run again and no longer defines it; else ""."""
    source = _latest_sources.get(_cells_by_name.get(name, ""))
    if source is None or not source.strip():
        return ""
    names = list_defined_names(source)
    if name in names:
        return ""
    if names:
        change = f"now defines {join_words(sorted(names))} and no longer {name}"
    else:
        change = f"now defines no {name}, or has an error"
    return (
        f"Note: the cell in which you wrote {name} {change}. "
        f"The check uses the earlier {name}; correct the cell and run it again."
    )
