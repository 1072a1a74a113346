"""Sandboxes for strangers' notebooks: cells and questions in, outputs and arrays out.

>>> with find("auto")() as sandbox:                              # doctest: +SKIP
...     sandbox.run([Cell("def double(x): return 2 * x"),
...                  Cell("", exercise="double", questions=[inputs(np.ones(2))])])[1].answers[0].value
array([2., 2.])

`run` is what is the same for all of them, on the grader's side; `inside`, what runs on the other. `bubblewrap`,
`webassembly` and `none` are the sandboxes, of which `choice.find` chooses one: a verdict depends on none of the three.
"""

from autograder.grading.sandbox.inside.drive import CellRun
from autograder.grading.sandbox.inside.limits import MB, Limits
from autograder.grading.sandbox.run import PRELOAD, Cell, Sandbox, SandboxError

__all__ = [
    "MB",
    "PRELOAD",
    "Cell",
    "CellRun",
    "Limits",
    "Sandbox",
    "SandboxError",
]
