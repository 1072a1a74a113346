"""Functions as a notebook's cell defines them: with a source that `inspect` finds."""

import linecache

import numpy as np


def define_in_cell(source, **names):
    """Return the first function that a cell's source defines."""
    name = f"<cell {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"np": np, "__name__": "__main__", **names}
    exec(compile(source, name, "exec"), space)
    return space[source.split("def ", 1)[1].split("(")[0]]
