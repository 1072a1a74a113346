"""The course of this repository, for tests that need a lab of it."""

from pathlib import Path

from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

ROOT = Path(__file__).parents[1]
COURSE = read_course(ROOT)


def lab(name):
    """Return one of the course's labs."""
    return read_lab(COURSE, name)


def release(name):
    """Return a lab's student notebook as bytes."""
    return COURSE.released_notebook_path(name).read_bytes()


class Silent:
    """Do nothing: a progress callback for tests."""

    def start(self, total):
        pass

    def advance(self):
        pass

    def show_message(self, sentence):
        pass
