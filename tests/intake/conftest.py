"""Fixtures for tests of `collect`: a classroom, downloads and limits."""

from dataclasses import replace

import pytest
from downloads import make_classroom, make_zip, write_files

from autograder.intake import archives, finder, roster, store, upload_limits


@pytest.fixture
def classroom(tmp_path):
    return make_classroom(tmp_path / "classroom")


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture(params=["zip", "folder"])
def make_download(request, tmp_path):
    """Return a function that makes a download of files: a zip in one run, a folder in another."""

    def give(files, name="download"):
        if request.param == "zip":
            return make_zip(tmp_path / f"{name}.zip", files)
        return write_files(tmp_path / name, files)

    return give


@pytest.fixture
def set_limits(monkeypatch):
    """Return a function that changes limits of the intake."""

    def change(**changes):
        for module in (upload_limits, store, finder, roster, archives):
            monkeypatch.setattr(module, "LIMITS", replace(upload_limits.LIMITS, **changes))

    return change
