"""What is done before commands are forked: everything is imported, and this repository's course and engine are read."""

import gc

import nbgrader.api  # noqa: F401
from our_course import COURSE

import autograder.authoring.skeleton
import autograder.cli
import autograder.grading.intake
import autograder.grading.reports.giving_back
import autograder.grading.run.grade
import autograder.selfcheck
import autograder.workspace  # noqa: F401
from autograder.authoring.lab import read_labs
from autograder.grading.register.fingerprint import fingerprint_of
from autograder.grading.reports import feedback, page  # noqa: F401

fingerprint_of(next(iter(read_labs(COURSE).values())))
gc.freeze()  # else each that is forked looks through all of it, and so gets a copy
