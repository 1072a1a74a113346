"""Limit NumPy's linear algebra (BLAS) to one thread in a student's notebook, as in grading.

For small matrices, several threads are no faster than a single one. On a machine that many users
share, they wait for each other, and cells that train a model take five to twenty times as long.
"""

import os
from contextlib import suppress

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
THREAD_VARIABLES = tuple(f"{library}_NUM_THREADS" for library in _LIBRARIES)


def set_one_thread_variables() -> bool:
    """Set environment variables that limit processes started from now on to one thread each.

    Return False, and do nothing, if the user has set one of the variables `THREAD_VARIABLES`.
    """
    if any(os.environ.get(name) for name in THREAD_VARIABLES):
        return False
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    return True


def limit_numpy_to_one_thread() -> None:
    """Let NumPy compute with one thread from now on, in this process and its child processes.

    Do nothing if the user has set one of the environment variables `THREAD_VARIABLES`. If NumPy is
    already loaded, it no longer reads these variables, so threadpoolctl sets its threads directly.
    """
    if not set_one_thread_variables():
        return
    with suppress(ImportError):  # in a browser, Python has no threads and no threadpoolctl
        from threadpoolctl import threadpool_limits

        threadpool_limits(limits=1)
