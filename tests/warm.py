"""Preparation of the process that commands are forked from: imports, course, engine, a gradebook."""

import gc

import IPython.core.interactiveshell  # noqa: F401
import rich.progress
import rich.table  # noqa: F401
from our_course import COURSE
from shared_sandboxes import start_shared_sandboxes

import autograder.authoring.build
import autograder.authoring.skeleton
import autograder.cli.instructor
import autograder.grading.run
import autograder.intake
import autograder.platforms.solution_check
import autograder.reports.feedback_zips
import autograder.reports.terminal
import autograder.student.check_notebook
import autograder.student.workspace  # noqa: F401
import course_import.record_calls  # noqa: F401
from autograder.authoring.lab import read_lab, read_labs
from autograder.gradebook.fingerprint import compute_fingerprint
from autograder.gradebook.nbgrader_db import Gradebook
from autograder.reports import class_page, feedback_pages  # noqa: F401
from autograder.sandbox.choice import explain_unavailability

SHARED_LABS = ("additive-attention", "attention-masks")  # that most tests of commands grade

compute_fingerprint(next(iter(read_labs(COURSE).values())))
with Gradebook("sqlite://", "any"):
    pass
if not explain_unavailability():
    start_shared_sandboxes(read_lab(COURSE, name) for name in SHARED_LABS)
gc.freeze()  # else garbage collection in each fork would touch, and so copy, all objects
