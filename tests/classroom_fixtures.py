"""Fixtures: a classroom, and a gradebook that knows the lab."""

import pytest
from command import work_here
from graded_class import LAB, policy_of
from our_course import COURSE, lab
from shared_statements import share_statements

from autograder.gradebook.classroom import Classroom


@pytest.fixture
def workers():
    """Marker fixture for tests that need real worker processes, with limits: see `here`."""


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """Run the functions of workers in this process: starting a worker takes longer than most tests."""

    if "workers" not in request.fixturenames:
        work_here(monkeypatch.setattr)
    share_statements(monkeypatch.setattr)


@pytest.fixture
def classroom(tmp_path):
    return Classroom(tmp_path / "class", COURSE)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A gradebook that knows the lab; making one takes seconds."""
    from autograder.gradebook.gradebook_writer import GradebookWriter

    classroom_of_lab = Classroom(tmp_path_factory.mktemp("prepared"), COURSE)
    with GradebookWriter(classroom_of_lab) as book:
        book.save_labs([lab(LAB)], policy_of(COURSE))
    return classroom_of_lab.root / "gradebook.db"
