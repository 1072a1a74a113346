"""What is done before commands are forked: all is imported, this course and engine are read, a gradebook is made."""

import gc

import IPython.core.interactiveshell  # noqa: F401
import rich.progress
import rich.table  # noqa: F401
from our_course import COURSE

import autograder.authoring.build
import autograder.authoring.skeleton
import autograder.cli
import autograder.grading.intake
import autograder.grading.reports.giving_back
import autograder.grading.reports.show
import autograder.grading.run.grade
import autograder.selfcheck
import autograder.workspace  # noqa: F401
from autograder.authoring.lab import read_labs
from autograder.grading.nbgrader.gradebook import Gradebook
from autograder.grading.register.fingerprint import fingerprint_of
from autograder.grading.reports import feedback, page  # noqa: F401

fingerprint_of(next(iter(read_labs(COURSE).values())))
with Gradebook("sqlite://", "any"):
    pass
gc.freeze()  # else each that is forked looks through all of it, and so gets a copy
