"""A sandbox for strangers' notebooks: cells and questions in, outputs and arrays out.

>>> with Sandbox() as sandbox:                              # doctest: +SKIP
...     sandbox.run([Cell("def double(x): return 2 * x"),
...                  Cell("", exercise="double", questions=[inputs(np.ones(2))])])[1].answers[0].value
array([2., 2.])

`host` is the grader's side, `bubblewrap` what is put around the other one, and `inside` what runs there.
"""

from autograder.grading.sandbox.bubblewrap import find_bubblewrap
from autograder.grading.sandbox.host import (
    PRELOAD,
    Cell,
    CellRun,
    Sandbox,
    SandboxError,
    why_unavailable,
)
from autograder.grading.sandbox.inside.limits import MB, Limits

__all__ = [
    "MB",
    "PRELOAD",
    "Cell",
    "CellRun",
    "Limits",
    "Sandbox",
    "SandboxError",
    "find_bubblewrap",
    "why_unavailable",
]
