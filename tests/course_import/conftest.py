"""A new course, into which the tests import labs."""

import sys
from pathlib import Path

import numpy as np
import pytest
from command import autograder
from our_course import ROOT

from autograder.values.value_types import import_function

_MODULES = ("course_checks", "course_files")  # modules of the same names in each imported course
# Tests that run the cells of labs change how NumPy prints, and texts of objects are compared here.
_PRINT_OPTIONS = np.get_printoptions()


def forget_other_courses():
    """Forget the functions and modules of all courses but this repository's."""
    import_function.cache_clear()
    for folder in [*sys.path]:
        if (Path(folder) / "course.toml").is_file() and Path(folder).resolve() != ROOT:
            sys.path.remove(folder)
    for name in [*sys.modules]:
        if name.partition(".")[0] in _MODULES:
            del sys.modules[name]


@pytest.fixture
def course(tmp_path):
    """Folder of a new course."""
    folder = tmp_path / "mine"
    assert autograder("new", "course", folder).returncode == 0
    forget_other_courses()
    with np.printoptions(**_PRINT_OPTIONS):
        yield folder
    forget_other_courses()
