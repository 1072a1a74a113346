"""Grading on systems other than Linux: without_linux/sitecustomize.py removes Linux's features."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sample_class
from command import autograder
from our_course import ROOT

from autograder.sandbox.webassembly import WebAssembly

LAB = "additive-attention"
TESTS = Path(__file__).parents[1]


def run_python(*arguments, cwd=ROOT):
    """Run Python without Linux's features, which its child processes lack as well."""
    path = os.pathsep.join((str(TESTS / "sandbox" / "without_linux"), str(TESTS)))
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
    )


def run_command(*arguments):
    return run_python("-c", "from autograder.cli import main; main()", *arguments)


@pytest.fixture(scope="module")
def download_folder(tmp_path_factory):
    """Folder with a class's download, not yet collected."""
    folder = tmp_path_factory.mktemp("class")
    sample_class.main(folder, LAB, 5)
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.fork", "AttributeError"),
        ("import signal; signal.SIGKILL", "AttributeError"),
        ("import subprocess, sys; subprocess.Popen([sys.executable, '-c', ''], pass_fds=[2])", ""),
        (
            "exec('import fcntl', {'__name__': 'autograder.x'})",
            "ImportError: there is no fcntl here",
        ),
        (
            "exec('open(\"/proc/self/stat\")', {'__name__': 'autograder.x'})",
            "there is no /proc here",
        ),
        (
            "exec('import subprocess; subprocess.Popen([], pass_fds=[2])', {'__name__': 'autograder.x'})",
            "pass_fds is not supported here",
        ),
    ],
)
def test_what_is_taken_away_is_gone(code, message):
    ran = run_python("-c", code)
    assert (ran.returncode != 0) == bool(message) and message in ran.stderr, ran.stderr


def test_a_worker_is_limited_in_time_and_memory_there():
    code = """
from worker_functions import grow, sleep_with_a_stage
from autograder.grading.worker import LimitExceeded, Worker, run_calls_in_workers
import time
worker = Worker()
for work, limits in [((time.sleep, 60), {"seconds": 0.1}), ((grow, 900), {"memory": 300})]:
    try:
        worker.run(*work, **limits)
    except LimitExceeded as why:
        print(why)
print(dict(run_calls_in_workers(sleep_with_a_stage, [("next", 0)], workers=1)))
"""
    ran = run_python("-c", code)
    assert ran.stdout.splitlines() == [
        "takes more than 0.1 seconds",
        "needs more than 300 MB of memory",
        "{0: 'next'}",
    ], ran.stderr


@pytest.mark.long
def test_a_class_is_marked_there_from_its_download_to_its_report(download_folder, tmp_path):
    """WebAssembly there gives the same verdicts as the default sandbox here."""
    reason = WebAssembly.explain_unavailability()
    if reason:
        pytest.skip(reason)
    ran = run_command("collect", download_folder / "download.zip", "--classroom", download_folder)
    assert "filed" in ran.stdout, ran.stderr
    shutil.copytree(download_folder, tmp_path / "here")
    ran = run_command(
        "grade",
        LAB,
        "--classroom",
        download_folder,
        "--sandbox",
        "webassembly",
        "--workers",
        "1",
        "--json",
        "-",
    )
    assert ran.returncode == 0, ran.stderr
    linux_run = autograder("grade", LAB, "--classroom", tmp_path / "here", "--json", "-")
    assert judged_rows(ran.stdout) == judged_rows(linux_run.stdout) != []
    for step in (["feedback", LAB], ["report"]):
        process = run_command(*step, "--classroom", download_folder)
        assert process.returncode == 0, process.stderr
    assert len(list((download_folder / "feedback").rglob("*.html"))) >= 4
    student = json.loads(ran.stdout.splitlines()[0])["student"]
    process = run_command("show", student, LAB, "--classroom", download_folder)
    assert process.returncode == 0 and LAB in process.stdout, process.stderr


def judged_rows(lines):
    """Return the judged columns of all rows, without the times."""
    rows = [json.loads(line) for line in lines.splitlines()]
    keys = ("student", "exercise", "score", "verdict", "misconception", "message")
    return sorted([str(row[key]) for key in keys] for row in rows)
