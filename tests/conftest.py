"""Settings and fixtures of all tests: import paths, threads, leaked settings, unwelcome skips."""

import gc
import importlib.util
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import settings

# Set before NumPy is imported, for this process and its children: BLAS threads would compete for the cores.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# IPython would warn of another virtual environment that is active in the shell.
os.environ.pop("VIRTUAL_ENV", None)

import numpy as np  # noqa: E402

PRINT_OPTIONS = np.get_printoptions()

sys.path.insert(0, str(Path(__file__).parent))
from command import (  # noqa: E402
    GARBAGE_COLLECTION_THRESHOLDS,
    prepare_command_server,
    start_command_server,
)

gc.disable()  # until collection ends: searching imported modules for garbage took a third of its time

# Modules that no test imports: the first replace parts of the standard library, the second is the
# server of commands.
collect_ignore = ["sandbox/without_linux", "command_server.py"]


def _autograder_variables():
    return {name: value for name, value in os.environ.items() if name.startswith("AUTOGRADER")}


@pytest.fixture(autouse=True)
def no_leaked_settings():
    """Fail a test that leaves AUTOGRADER_* variables behind: later tests would work on its course."""
    before = _autograder_variables()
    yield
    after = _autograder_variables()
    if after != before:
        for name in after:
            del os.environ[name]
        os.environ.update(before)
        pytest.fail(
            f"The test changed the environment and did not restore it: {sorted({*before, *after})}"
        )


@pytest.fixture(autouse=True)
def default_print_options():
    """Begin with NumPy's own print options, which the set-up cell of a lab changes."""
    np.set_printoptions(**PRINT_OPTIONS)


@pytest.fixture(scope="module", autouse=True)
def restored_import_path():
    """Remove from the import path the courses that a module's tests have read.

    Each search for a module or a package would look there, and most of these folders are gone.
    """
    before = [*sys.path]
    yield
    sys.path[:] = before


@pytest.fixture
def data(tmp_path):
    """Data folder that holds a set of real word vectors."""
    from attention_labs.embeddings import REAL, write

    folder = tmp_path / "data"
    (folder / REAL).mkdir(parents=True)
    for language in ("en", "fr"):
        write(folder / REAL, language, "old", ["x"], vectors=np.ones((1, 300), np.float32))
    return folder


@pytest.fixture(scope="session")
def whole():
    """Words and vectors of both languages; they pass every check of a download."""
    from word_vectors import full

    return {language: full(language) for language in ("en", "fr")}


@pytest.fixture
def make_busy():
    """Return a function that starts four busy processes for each core; they end with the test."""
    started = []

    def begin():
        code = "import time; end = time.monotonic() + 300\nwhile time.monotonic() < end: pass"
        for _ in range(4 * (os.cpu_count() or 1)):
            # A session for each process: the kernel shares CPU time among sessions first.
            started.append(subprocess.Popen([sys.executable, "-c", code], start_new_session=True))

    yield begin
    for process in started:
        process.kill()
        process.wait()


def pytest_configure(config):
    """Choose the server of commands, and how many examples Hypothesis draws in short tests."""
    if not hasattr(config, "workerinput"):  # else the process that started this worker has chosen
        prepare_command_server()
    settings.register_profile("short", max_examples=25, deadline=None)
    settings.register_profile("long", max_examples=150, deadline=None)
    settings.load_profile("short" if config.option.markexpr == "not long" else "long")


def pytest_collection_finish():
    gc.freeze()
    gc.set_threshold(*GARBAGE_COLLECTION_THRESHOLDS)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Start the server of commands while the test processes collect their tests."""
    threading.Thread(target=start_command_server, daemon=True).start()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return how many processes run the tests.

    Many long tests wait for a clock, so there is one more than there are cores. For the short ones
    it would cost more time to import the tests once more.
    """
    cores = os.cpu_count() or 1
    if config.option.markexpr == "not long":
        return cores
    return cores + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Fail a test that is skipped for a reason that matches NO_SKIP, a regular expression in the environment."""
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
    """Chromium for all browser tests of a process: Playwright allows one event loop in a process."""
    from e2e import driving

    if not driving.CHROMIUM or not importlib.util.find_spec("playwright"):
        pytest.skip(
            "No browser here: Debian's package `chromium` and PyPI's `playwright` run these tests."
        )
    with driving.chromium() as browser:
        yield browser
