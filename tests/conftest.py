"""Lets the tests import what stands beside them; fixtures of several files; no skips where CI wants none."""

import gc
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Before NumPy is imported, here and in what the tests start: its threads would fight for the same two cores.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))

gc.disable()  # until all is collected: what is imported stays, and to look through it took a third of that time

collect_ignore = ["elsewhere"]  # what is imported from there takes the system's own ways away


@pytest.fixture
def data(tmp_path):
    """A data folder in which a set of real vectors is in use."""
    import numpy as np

    from attention_labs.embeddings import REAL, write

    folder = tmp_path / "data"
    (folder / REAL).mkdir(parents=True)
    for language in ("en", "fr"):
        write(folder / REAL, language, "old", ["x"], vectors=np.ones((1, 300), np.float32))
    return folder


@pytest.fixture(scope="session")
def whole():
    """Words and vectors of both languages that pass every check."""
    from word_vectors import full

    return {language: full(language) for language in ("en", "fr")}


@pytest.fixture
def make_busy():
    """Begins processes, four a core, that take their part of each until the test ends."""
    started = []

    def begin():
        code = "import time; end = time.monotonic() + 300\nwhile time.monotonic() < end: pass"
        for _ in range(4 * (os.cpu_count() or 1)):
            # Sessions of their own, for the kernel shares its time among sessions first.
            started.append(subprocess.Popen([sys.executable, "-c", code], start_new_session=True))

    yield begin
    for process in started:
        process.kill()
        process.wait()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are cores, since many tests wait for a clock."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With ``NO_SKIP=REGEX`` in the environment, a test that is skipped for such a reason has failed."""
    report = yield
    unwelcome = os.environ.get("NO_SKIP")
    if unwelcome and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if re.search(unwelcome, reason):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} may not be skipped here: {reason}"
    return report


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a process: Playwright has one loop in it, and takes no second."""
    from e2e import driving

    if not driving.CHROMIUM or not importlib.util.find_spec("playwright"):
        pytest.skip("No browser here: Debian's package `chromium` and PyPI's `playwright` run these tests.")
    with driving.chromium() as browser:
        yield browser
