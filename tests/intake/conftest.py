"""A classroom, and the same download as a zip and as a folder."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from downloads import classroom, make_zip, put

from autograder.grading.intake import budget, file, find, roster, unpack


@pytest.fixture
def room(tmp_path):
    return classroom(tmp_path / "classroom")


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture(params=["zip", "folder"])
def given_as(request, tmp_path):
    """The same files as a zip and as a folder."""

    def give(files, name="download"):
        if request.param == "zip":
            return make_zip(tmp_path / f"{name}.zip", files)
        return put(tmp_path / name, files)

    return give


@pytest.fixture
def limits(monkeypatch):
    """Other limits than the usual ones."""

    def change(**changes):
        for module in (budget, file, find, roster, unpack):
            monkeypatch.setattr(module, "LIMITS", replace(budget.LIMITS, **changes))

    return change
