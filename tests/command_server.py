"""Server of the commands that tests run: it forks each from a process that has run some before.

It has imported the engine, read the course, compiled the templates and started sandboxes, which
takes several seconds, and serves all processes of a test run. `command.autograder` starts it and
sends the commands. It ends with the test run.
"""

import contextlib
import gc
import io
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from socketserver import ForkingMixIn, StreamRequestHandler, UnixStreamServer

import IPython.core.interactiveshell  # noqa: F401
import nbformat
import psutil
import pytest
import rich.progress
import rich.table  # noqa: F401
from command import GARBAGE_COLLECTION_THRESHOLDS, run_command, run_commands, work_here
from our_course import COURSE
from sample_class import perfect
from shared_sandboxes import has_ended, start_shared_sandboxes

import autograder.authoring.build
import autograder.authoring.skeleton
import autograder.cli.instructor
import autograder.intake
import autograder.platforms.solution_check
import autograder.reports.feedback_zips
import autograder.reports.terminal
import autograder.student.check_notebook
import autograder.student.workspace  # noqa: F401
import course_import.importer
import course_import.record_calls  # noqa: F401
from autograder.authoring.lab import read_lab
from autograder.sandbox.choice import explain_unavailability

SHARED_LABS = ("additive-attention", "attention-masks", "qkv-attention")  # that most tests grade


class _CommandHandler(StreamRequestHandler):
    """Handler of one request, in a process of its own.

    It answers "ended" when the commands have ended, or with a traceback if they could not be run.
    """

    def handle(self):
        arguments = json.loads(self.rfile.readline())
        os.setsid()  # a command may signal its process group
        try:
            run_commands(*arguments)
        except Exception:  # noqa: BLE001 - the test that asked reports it
            answer = traceback.format_exc()
        else:
            answer = "ended"
        self.wfile.write(answer.encode())


class _CommandServer(ForkingMixIn, UnixStreamServer):
    """Server that forks a process for each request, and ends with the test run."""

    def __init__(self, address: str, test_run: psutil.Process):
        super().__init__(address, _CommandHandler)
        self._test_run = test_run

    def service_actions(self):
        super().service_actions()
        if has_ended(self._test_run):
            sys.exit()


def _grade_small_class() -> None:
    """Run the usual commands once, so that what they import, compile and keep is there for all."""
    if explain_unavailability():
        return
    labs = [read_lab(COURSE, name) for name in SHARED_LABS]
    start_shared_sandboxes(labs)
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(output),
    ):
        work_here(patch.setattr)
        run_command(["--help"])  # finds the commands of other packages
        for lab in labs:
            path = Path(folder, "submitted", "student", lab.name, f"{lab.name}.ipynb")
            path.parent.mkdir(parents=True)
            path.write_text(nbformat.writes(perfect(lab)), "utf-8")
        for command in ("grade", "feedback", "report"):
            code = run_command([command, "--classroom", folder])
            assert code == 0, f"`autograder {command}` ends with {code}: {output.getvalue()}"


if __name__ == "__main__":
    address, test_run = sys.argv[1], psutil.Process(int(sys.argv[2]))
    ready, is_ready = os.pipe()
    if os.fork():  # this process tells when the other one, the server, is ready, or that it failed
        os.close(is_ready)
        os._exit(0 if os.read(ready, 1) else 1)
    _grade_small_class()
    if has_ended(test_run):  # it was a short one
        sys.exit()
    gc.freeze()  # else garbage collection in each fork would touch, and so copy, all objects
    gc.set_threshold(*GARBAGE_COLLECTION_THRESHOLDS)
    with _CommandServer(f"{address}.new", test_run) as server:
        os.rename(f"{address}.new", address)  # now that it listens
        os.write(is_ready, b"+")
        server.serve_forever()
