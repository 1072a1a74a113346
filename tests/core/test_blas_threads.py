"""A student's kernel computes with one thread, as in grading."""

import os
import subprocess
import sys

import pytest
from our_course import ROOT

from autograder.core.blas_threads import THREAD_VARIABLES
from autograder.grading.pool import count_cores

COUNT = "max((pool['num_threads'] for pool in threadpoolctl.threadpool_info()), default=0)"


def threads_after(code, **env):
    """Return the number of NumPy's threads in a new process that has run this code."""
    environment = dict(os.environ)
    for name in THREAD_VARIABLES:
        environment.pop(name, None)
    program = f"import threadpoolctl\n{code}\nprint({COUNT})"
    command = [sys.executable, "-c", program]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | env,
        text=True,
        capture_output=True,
        check=True,
    )
    return int(result.stdout)


@pytest.mark.skipif(count_cores() < 2, reason="one processor has one thread anyway")
@pytest.mark.parametrize(
    "code",
    [
        "import numpy\nfrom autograder import check",
        pytest.param("from autograder import check\nimport numpy", marks=pytest.mark.long),
        pytest.param(
            "import numpy\nfrom autograder import check, progress, ready", marks=pytest.mark.long
        ),
    ],
)
def test_a_lab_s_set_up_leaves_one_thread(code):
    assert threads_after("import numpy") > 1
    assert threads_after(code) == 1


@pytest.mark.skipif(count_cores() < 2, reason="one processor has one thread anyway")
def test_a_chosen_number_of_threads_stays():
    code = "import numpy\nfrom autograder import check"
    assert threads_after(code, OPENBLAS_NUM_THREADS="2") == 2
