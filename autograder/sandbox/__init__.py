"""Sandboxes that run students' notebooks and call the functions that the students wrote.

A submission is given to a sandbox as a list of cells. An ordinary cell holds code to run. A test
cell holds the inputs of calls of one exercise's function; the outcomes are its results.

>>> with find_sandbox("auto")() as sandbox:                      # doctest: +SKIP
...     sandbox.run([Cell("def double(x): return 2 * x"),
...                  Cell("", "double", call_inputs=[inputs(np.ones(2))])])[1].outcomes[0].value
array([2., 2.])

The module `base` runs in the grader's process, and is the same for all sandboxes. The package
`inside` runs within a sandbox. The sandboxes are `bubblewrap`, `webassembly` and `no_isolation`.
`choice.find_sandbox` chooses one of them; a submission gets the same verdicts in each.
"""

from autograder.core.run_limits import MB, RunLimits
from autograder.sandbox.base import PRELOAD, Cell, Sandbox, SandboxError
from autograder.sandbox.inside.driver import CellRun

__all__ = [
    "MB",
    "PRELOAD",
    "Cell",
    "CellRun",
    "RunLimits",
    "Sandbox",
    "SandboxError",
]
