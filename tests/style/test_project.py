"""The project holds together: dependencies in one place, imports one way, start-up light."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from measure_source import walk_statements

from autograder.student import STUDENT_PACKAGES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autograder"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(text):
    return {
        re.sub(r"[-_.]+", "-", line.split("==")[0]).lower(): line.split("==")[1]
        for line in text.splitlines()
        if line and not line.startswith("#")
    }


def wanted():
    project = PROJECT["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {re.split(r"[\[<>=!; ]", name)[0].lower() for group in groups for name in group}


def unpinned(constraints):
    return sorted(wanted() - set(pins(constraints)))


def test_every_dependency_is_pinned_exactly_and_only_in_constraints():
    text = (ROOT / "constraints.txt").read_text()
    assert all(
        re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[^\s@/]+( ; .*)?", line) for line in text.splitlines()
    )
    assert unpinned(text) == []
    versions = [d for group in PROJECT["project"]["optional-dependencies"].values() for d in group]
    assert not [d for d in versions if "=" in d.split(";")[0]]


def test_a_missing_pin_is_noticed():
    text = (ROOT / "constraints.txt").read_text()
    assert unpinned(re.sub(r"(?m)^numpy==.*$", "", text)) == ["numpy"]


def imported(path):
    """The modules of this package that a file imports, wherever in the file."""
    for node in walk_statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


LAYERS = (
    *("core", "values", "judging", "diagnosis", "student", "authoring", "sandbox"),
    *("intake", "gradebook", "grading", "reports", "platforms", "cli"),
)
BESIDE = ("course_import", "course_site", "similarity")  # packages that use the engine


def layer(name):
    """The place of a module of the engine in LAYERS; None for the package itself and for other projects."""
    parts = name.split(".")
    if parts[0] != "autograder" or len(parts) == 1 or parts[1] not in LAYERS:
        return None
    return LAYERS.index(parts[1])


def offences(files):
    """Imports against the order of LAYERS, and imports of the course or of a package beside the engine."""
    found = []
    for path in files:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        importer = layer(".".join(parts))
        for name in imported(path):
            upward = importer is not None and (layer(name) or 0) > importer
            foreign = name.split(".")[0] in ("attention_labs", *BESIDE) and parts[0] == "autograder"
            if upward or foreign:
                found.append(f"{'/'.join(parts)} imports {name}")
    return found


def test_every_package_of_the_engine_has_its_layer():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


@pytest.mark.long
def test_imports_point_one_way():
    assert offences(sorted(PACKAGE.rglob("*.py"))) == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("core/planted.py", "from autograder.values import arrays"),
        ("authoring/planted.py", "import autograder.grading.pool"),
        ("reports/planted.py", "from autograder import platforms"),
        ("grading/planted.py", "from attention_labs import heatmap"),
        ("__main__.py", "import similarity"),
    ],
)
def test_an_import_against_the_direction_is_noticed(place, line, monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "autograder")
    path = tmp_path / "autograder" / place
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert offences([path])


def students_part():
    return sorted(
        path for name in ("", *STUDENT_PACKAGES) for path in (PACKAGE / name).glob("*.py")
    )


def test_the_students_part_works_without_solutions_authors_and_grading(tmp_path):
    """A student's bundle: the engine's first part, the keys, the library; right and wrong are told apart."""
    for path in students_part():
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copy(ROOT / "course.toml", tmp_path)
    shutil.copytree(ROOT / "attention_labs", tmp_path / "attention_labs")
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    code = (
        "import numpy as np\n"
        "from autograder import check, progress\n"
        "def softmax(x, axis=0):\n"
        "    e = np.exp(x)\n"
        "    return e / e.sum(axis=axis, keepdims=True)\n"
        "check(softmax)\n"
        "progress('qkv-attention')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        text=True,
        capture_output=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "softmax: correct in all" in ran.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import autograder",
        "from autograder.cli import main; main(['--help'], standalone_mode=False)",
    ],
)
def test_start_up_imports_nothing_heavy(code):
    heavy = [
        "numpy",
        "matplotlib",
        "IPython",
        "nbformat",
        "nbgrader",
        "rich",
        "keras",
        "distributed",
    ]
    probe = f"{code}\nimport sys\nprint([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", probe], text=True, capture_output=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_nothing_names_this_machine():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, text=True, capture_output=True
    ).stdout.split("\n")
    if not any(tracked):
        pytest.skip("not a git checkout")
    for name in filter(None, tracked):
        path = ROOT / name
        if path.suffix in {".npz", ".png", ".key", ".safetensors"} or not path.is_file():
            continue
        assert f"{ROOT}/" not in path.read_text("utf-8"), name
