"""Our judge as a step of plain `nbgrader autograde`, named in nbgrader_config.py.

nbgrader's own bookkeeping (scores, late penalties, feedback) then works on the outputs it leaves.
"""

import atexit
import secrets
from functools import cache

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.grading.marking import mark
from autograder.grading.pool import PRELOAD
from autograder.grading.sandbox import Sandbox
from autograder.results import Verdict


class Judge(NbGraderPreprocessor):
    """Rebuild the hand-in, run it in the sandbox, and leave our verdicts as the test cells' outputs."""

    def preprocess(self, nb, resources):
        lab = resources["nbgrader"]["assignment"]
        sandbox = _sandbox(PRELOAD.get(lab, PRELOAD[""]))
        marked = mark(nbformat.writes(nb).encode(), lab, sandbox, salt=secrets.token_hex(16))
        faults = [row.message for row in marked.rows if row.verdict is Verdict.FAULT]
        if faults:
            raise RuntimeError(faults[0])  # nbgrader then records no mark
        return marked.notebook, resources


@cache
def _sandbox(preload: tuple[str, ...]) -> Sandbox:
    sandbox = Sandbox(preload=preload)
    sandbox.__enter__()
    atexit.register(sandbox.close)
    return sandbox
