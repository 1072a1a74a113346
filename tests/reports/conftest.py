"""A classroom, and a gradebook that knows the lab."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "intake"))

from command import work_here
from made import LAB, policy_of
from our_course import COURSE, lab

from autograder.grading.register.classroom import Classroom


@pytest.fixture
def workers():
    """Asked for by a test of what is done in processes of their own, with limits: see `here`."""


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """What a worker would do is done in this process, since to start one takes longer than to make a page."""

    if "workers" not in request.fixturenames:
        work_here(monkeypatch.setattr)


@pytest.fixture
def classroom(tmp_path):
    return Classroom(tmp_path / "class", COURSE)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A gradebook that knows the lab; making one takes seconds."""
    from autograder.grading.nbgrader.gradebook import Book

    place = Classroom(tmp_path_factory.mktemp("prepared"), COURSE)
    with Book(place) as book:
        book.prepare([lab(LAB)], policy_of(COURSE))
    return place.root / "gradebook.db"
