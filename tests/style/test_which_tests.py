"""`which_tests` tells the truth: what it names exists, and the tests of a package reach each of its modules."""

import ast
import re
from functools import cache

import pytest
import which_tests
from measure_source import walk_statements
from which_tests import ROOT, TESTS, pytest_command

from autograder.core.course import find_course

# Files that a test of the folder starts as a program or as a command, without an import.
STARTED = {
    "tests/sandbox": ["autograder/sandbox/inside/__main__.py"],
    "tests/course_import": ["course_import/command.py"],
    "tests/course_site": ["course_site/command.py"],
    "tests/similarity": ["similarity/command.py"],
}
TOPS = {
    "autograder",
    "course_import",
    "course_site",
    "similarity",
}  # notebooks import attention_labs


@cache
def module_path(name):
    """Return the file of a module of this repository or of the tests' helpers; None for any other module."""
    relative = name.replace(".", "/")
    for base in (ROOT, ROOT / "tests"):
        for path in (base / f"{relative}.py", base / relative / "__init__.py"):
            if path.is_file():
                return path
    return None


@cache
def imports_of(path):
    """Return the files that a file imports, or names in a text as `autograder.….module`."""
    files, text = set(), path.read_text("utf-8")
    has_names_in_texts = re.search(r"^(?!\s*(from|import) ).*autograder\.", text, re.M)
    walk = ast.walk if has_names_in_texts else walk_statements
    for node in walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "autograder." in node.value
        ):
            words = re.findall(r"autograder(?:\.\w+)+", node.value)
            names = [
                *words,
                *(word.rpartition(".")[0] for word in words),
            ]  # a module, or a name in one
        files |= {module_path(name) for name in names} - {None}
    return files


def reached_files(tests):
    """Return all files that these tests import, directly or not."""
    todo = [ROOT / file for name in tests for file in STARTED.get(name, ())]
    for name in tests:
        place = ROOT / name
        todo += [place] if place.is_file() else sorted(place.glob("*.py"))
    reached = set()
    while todo:
        path = todo.pop()
        if path not in reached:
            reached.add(path)
            todo += imports_of(path)
    return reached


def modules_of(prefix):
    if prefix.endswith(".py"):
        return [ROOT / prefix]
    return [
        p for p in (ROOT / prefix).rglob("*.py") if not {"templates", "__pycache__"} & set(p.parts)
    ]


def test_every_place_that_it_names_exists():
    for prefix, tests in TESTS.items():
        assert (ROOT / prefix).exists(), prefix
        assert [name for name in tests if not (ROOT / name).exists()] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "prefix", [p for p in TESTS if p.split("/")[0] in TOPS and p != "autograder/"]
)
def test_the_tests_of_a_package_reach_its_modules(prefix):
    reached = reached_files(TESTS[prefix])
    missed = [p.relative_to(ROOT).as_posix() for p in modules_of(prefix) if p not in reached]
    assert [name for name in missed if not name.endswith("__init__.py")] == []


@pytest.mark.long
def test_a_module_that_no_test_reaches_is_noticed():
    assert ROOT / "course_import/importer.py" not in reached_files(["tests/values"])
    assert ROOT / "course_import/importer.py" in reached_files(["tests/course_import"])


@pytest.mark.parametrize(
    ("name", "tests"),
    [
        ("autograder/judging/compare.py", ["tests/judging", "tests/values", "tests/student"]),
        ("tests/intake/test_finder.py", ["tests/intake/test_finder.py"]),
        ("tests/submissions/wrong/patched_ask.py", ["tests/grading/test_submissions.py"]),
        ("README.md", ["tests/style"]),
        ("autograder/core/course.py", ["tests/core", "tests/authoring", "tests/platforms"]),
        ("solutions/positions/rotate.py", ["tests/labs", "tests/authoring/test_build.py"]),
    ],
)
def test_a_file_has_its_tests(name, tests):
    assert which_tests.tests_for(name) == tests


def test_the_command_names_each_test_once():
    command = pytest_command(["docs/policy.md", "docs/grades.md"])
    assert command.endswith("tests/style/test_docs.py tests/style/test_commands_of_docs.py")
    assert pytest_command([]) == ""


def test_every_lab_lies_where_the_tests_of_labs_are_named():
    assert all(
        which_tests.tests_for(f"solutions/{lab}/{lab}.ipynb")[0] == "tests/labs"
        for lab in find_course().labs
    )


def test_a_test_file_imports_no_test_file_of_another_folder():
    """pytest finds a test file beside the one that it runs: the tests of one folder run alone."""
    folders = {path.stem: path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    wrong = []
    for path in (ROOT / "tests").rglob("*.py"):
        for name in re.findall(r"^(?:from|import) (test_\w+)", path.read_text("utf-8"), re.M):
            if folders[name] != path.parent:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []
