"""Run the set-up and answer cells of a solution notebook, which define the reference solutions."""

import io
import linecache
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from types import SimpleNamespace

from nbformat import NotebookNode

from autograder.core.errors import AutograderError
from autograder.core.notebook_cells import get_nbgrader_metadata
from autograder.core.text_format import format_name_suggestion
from autograder.core.time_limit import TimeLimitExceeded, limit_call_time

# What to do if a name is missing that another cell of the solution notebook may define.
SETUP_TAG_ADVICE = (
    "If a cell without the tag `setup` defines it, give the cell this tag: in JupyterLab, select "
    "the cell, click on the gears at the upper right, and add `setup` under Cell Tags."
)


def find_setup_and_answer_sources(cells: Iterable[NotebookNode]) -> dict[str, str]:
    """Return the sources of the solution notebook's set-up and answer cells, by cell name.

    These are the code cells with the tag "setup" and the answer cells. The keys are the cells'
    grade_ids, or their cell ids if they have none.
    """
    sources = {}
    for cell in cells:
        metadata = get_nbgrader_metadata(cell)
        is_setup = "setup" in cell.metadata.get("tags", [])
        if cell.cell_type == "code" and (is_setup or metadata.get("solution", False)):
            sources[metadata.get("grade_id", cell.get("id", "cell"))] = cell.source
    return sources


def _show_nothing(*_args: object, **_kwargs: object) -> None:
    """Do nothing. This function takes the place of IPython's `display` outside of a notebook."""


class ReferenceNames(SimpleNamespace):
    """Names that the set-up and answer cells of a solution notebook define, as attributes."""

    def __getattr__(self, name: str) -> object:
        """Raise an AttributeError that names the most similar definition, or the tag `setup`."""
        suggestion = format_name_suggestion(name, vars(self))
        if suggestion == ".":
            suggestion = f". {SETUP_TAG_ADVICE}"
        raise AttributeError(
            f"the set-up and answer cells of the solution define no {name!r}{suggestion}"
        )


def run_reference(cells: Mapping[str, str], lab: str, cell_seconds: float) -> SimpleNamespace:
    """Run cells, and return an object whose attributes are the names that the cells define.

    Parameters
    ----------
    cells : mapping of str to str
        Sources of the cells, by grade_id or cell id.
    lab : str
        Name of the lab, for error messages.
    cell_seconds : float
        Limit of CPU time for each cell, in seconds.

    Raises
    ------
    AutograderError
        If a cell raises, or takes too long. The message names the cell.
    """
    # In a notebook, cells can call `display` without importing it. So define that name for the
    # cells that run here.
    namespace: dict[str, object] = {"__name__": f"solution of {lab}", "display": _show_nothing}
    for name, source in cells.items():
        try:
            # `inspect.getsource` finds the source of the reference's functions here.
            file_name = f"<{lab}: {name}>"
            linecache.cache[file_name] = len(source), None, source.splitlines(True), file_name
            with redirect_stdout(io.StringIO()), limit_call_time(cell_seconds, ""):
                exec(compile(source, file_name, "exec"), namespace)
        except TimeLimitExceeded:
            raise AutograderError(
                f"{lab}: the cell {name!r} does not end within {cell_seconds:g} s. Correct its code, or "
                "raise `cell_seconds` under `[limits]` in lab.toml."
            ) from None
        except FileNotFoundError as error:
            raise AutograderError(
                f"{lab}: the cell {name!r} reads a file that is not there: "
                f"{str(error).rstrip('.')}. Students have no file beside the notebook but what you "
                "attach to it. Put the file into a folder that `data` in course.toml lists, and "
                "let a function of the course's library read it, by its path from the library's "
                "own file (`__file__`)."
            ) from error
        except Exception as error:  # an author's own code may raise anything
            raise AutograderError(
                f"{lab}: the cell {name!r} raises {type(error).__name__}: "
                f"{str(error).rstrip('.')}. Only the cells tagged `setup` and the answers make the "
                "reference, in their order: what this cell needs must stand in one of them."
            ) from error
    return ReferenceNames(**namespace)
