"""The grading side where Python runs and Linux does not: see elsewhere/sitecustomize.py for what is taken away."""

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

from autograder.grading.sandbox.webassembly import WebAssembly

LAB = "additive-attention"
HERE = Path(__file__).parent


def elsewhere(*arguments, cwd=ROOT):
    """A Python from which much is taken away, and from all that it starts."""
    path = os.pathsep.join((str(HERE / "elsewhere"), str(HERE)))
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, timeout=280
    )


def command(*arguments):
    return elsewhere("-c", "from autograder.cli import main; main()", *arguments)


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory):
    """A class's download, not yet collected."""
    folder = tmp_path_factory.mktemp("class")
    sample_class.main(folder, LAB, 5)
    return folder


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.fork", "AttributeError"),
        ("import signal; signal.SIGKILL", "AttributeError"),
        ("import subprocess, sys; subprocess.Popen([sys.executable, '-c', ''], pass_fds=[2])", ""),
        ("exec('import fcntl', {'__name__': 'autograder.x'})", "ImportError: there is no fcntl here"),
        ("exec('open(\"/proc/self/stat\")', {'__name__': 'autograder.x'})", "there is no /proc here"),
        (
            "exec('import subprocess; subprocess.Popen([], pass_fds=[2])', {'__name__': 'autograder.x'})",
            "pass_fds is not supported here",
        ),
    ],
)
def test_what_is_taken_away_is_gone(code, said):
    ran = elsewhere("-c", code)
    assert (ran.returncode != 0) == bool(said) and said in ran.stderr, ran.stderr


def test_a_worker_is_limited_in_time_and_memory_there():
    code = """
from worker_functions import grow, sleep_with_a_stage
from autograder.grading.run.limited import Exceeded, Worker, each
import time
worker = Worker()
for work, limits in [((time.sleep, 60), {"seconds": 0.3}), ((grow, 900), {"memory": 300})]:
    try:
        worker.run(*work, **limits)
    except Exceeded as why:
        print(why)
print(dict(each(sleep_with_a_stage, [("next", 0)], workers=1)))
"""
    ran = elsewhere("-c", code)
    assert ran.stdout.splitlines() == [
        "takes more than 0.3 seconds",
        "needs more than 300 MB of memory",
        "{0: 'next'}",
    ], ran.stderr


@pytest.mark.long
def test_a_class_is_marked_there_from_its_download_to_its_report(downloaded, tmp_path):
    """In WebAssembly, with the verdicts that it gets here."""
    if why := WebAssembly.why_unavailable():
        pytest.skip(why)
    ran = command("collect", downloaded / "download.zip", "--classroom", downloaded)
    assert "filed" in ran.stdout, ran.stderr
    shutil.copytree(downloaded, tmp_path / "here")
    ran = command(
        "grade", LAB, "--classroom", downloaded, "--sandbox", "webassembly", "--workers", "1", "--json", "-"
    )
    assert ran.returncode == 0, ran.stderr
    here = autograder("grade", LAB, "--classroom", tmp_path / "here", "--json", "-")
    assert facts(ran.stdout) == facts(here.stdout) != []
    for step in (["feedback", LAB], ["report"]):
        done = command(*step, "--classroom", downloaded)
        assert done.returncode == 0, done.stderr
    assert len(list((downloaded / "feedback").rglob("*.html"))) >= 4
    student = json.loads(ran.stdout.splitlines()[0])["student"]
    done = command("show", student, LAB, "--classroom", downloaded)
    assert done.returncode == 0 and LAB in done.stdout, done.stderr


def facts(lines):
    """What was judged, without how long it took."""
    rows = [json.loads(line) for line in lines.splitlines()]
    keys = ("student", "exercise", "score", "verdict", "misconception", "message")
    return sorted([str(row[key]) for key in keys] for row in rows)
