"""Tests of the lab fingerprint: changed files make results stale, and nothing is graded."""

import ast
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from our_course import ROOT

from autograder.authoring.lab import read_lab
from autograder.core.course import read_course
from autograder.gradebook import fingerprint

ENGINE = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "autograder").rglob("*.py"))
SOLUTIONS = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "solutions").rglob("*.py"))
LABS = read_course(ROOT).labs
# Of which each rule has some on either side
SAMPLE_LABS = ["qkv-attention", "positions", "keras-attention"]

# What a process has of the engine once it has imported all that marks, on both sides of the
# sandbox.
MARKING = (
    "import sys, autograder.grading.grade_submission, autograder.sandbox.inside.fork_server; "
    "print(*(m for m in sys.modules if m.split('.')[0] == 'autograder'))"
)


@pytest.fixture(scope="module")
def imported_modules():
    ran = subprocess.run(
        [sys.executable, "-c", MARKING], capture_output=True, text=True, check=True, cwd=ROOT
    )
    names = [ROOT.joinpath(*name.split(".")) for name in ran.stdout.split()]
    paths = [p / "__init__.py" if p.is_dir() else p.with_suffix(".py") for p in names]
    return {p.relative_to(ROOT).as_posix() for p in paths}


@pytest.fixture(scope="module")
def course_copy(tmp_path_factory):
    """Copy of the engine and of the course."""
    root = tmp_path_factory.mktemp("copy")
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("autograder", "attention_labs", "solutions", "data"):
        shutil.copytree(ROOT / name, root / name, ignore=leave)
    shutil.copy(ROOT / "course.toml", root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "_ENGINE", root / "autograder")
        # To search for the installed packages takes a fifth of the time of each fingerprint.
        patch.setattr(fingerprint.metadata, "version", cache(fingerprint.metadata.version))
        yield root


def compute_fingerprints(root, labs=SAMPLE_LABS):
    return {
        name: fingerprint.compute_fingerprint(read_lab(read_course(root), name)) for name in labs
    }


@cache
def _original_fingerprints(root, lab):
    return compute_fingerprints(root, [lab])


@contextmanager
def file_with_addition(path, addition):
    original = path.read_bytes()
    path.write_bytes(original + addition)
    yield
    path.write_bytes(original)


def is_stale(root, lab, *paths, addition=b"\n_added = 1\n"):
    """Return whether these files change a lab's fingerprint."""
    original = _original_fingerprints(root, lab)
    with ExitStack() as changes:
        for path in paths:
            changes.enter_context(file_with_addition(root / path, addition))
        return compute_fingerprints(root, [lab]) != original


def find_deciding_files(root, lab, paths, expected_files):
    """Return the files that change a lab's fingerprint."""
    stale_files, other_files = (
        {path for path in expected_files if is_stale(root, lab, path)},
        set(paths) - expected_files,
    )
    if is_stale(root, lab, *other_files):
        stale_files |= {path for path in other_files if is_stale(root, lab, path)}
    return stale_files


@pytest.fixture(scope="module")
def engine_files(imported_modules):
    """Files of the engine that are to change the fingerprint, and those that are not."""
    sandbox = {path for path in ENGINE if path.startswith("autograder/sandbox/")}
    inside = {path for path in sandbox if path.startswith("autograder/sandbox/inside/")}
    # Another sandbox's alone, and which it was decides no mark.
    guest = {"autograder/sandbox/inside/wasm_guest.py"}
    expected_files = (imported_modules & set(ENGINE) | inside) - guest
    assert len(expected_files) > 40
    # What is around the submission in a sandbox may be imported or not.
    return expected_files, set(ENGINE) - expected_files - (sandbox - guest)


def collect_digests(root):
    """Return the digest of each module of the engine that decides marks, by the path of its file."""
    digests = {}
    roots = {"autograder": root / "autograder"}
    modules = fingerprint._collect_dependencies_of_modules([fingerprint._FIRST_MODULE], roots)
    for name, code in modules.items():
        path = root.joinpath(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        digests[path.relative_to(root).as_posix()] = code.digest
    return digests


def test_files_of_the_engine(course_copy, engine_files):
    """Modules that grading imports change the fingerprint; other modules do not.

    The digests of all modules are compared at once. Of a few modules, the fingerprint is.
    """
    expected_files, other_files = engine_files
    digests = collect_digests(course_copy)
    with ExitStack() as changes:
        for path in ENGINE:
            changes.enter_context(file_with_addition(course_copy / path, b"\n_added = 1\n"))
        new_digests = collect_digests(course_copy)
    assert digests.keys() == new_digests.keys()
    changed_files = {path for path in digests if digests[path] != new_digests[path]}
    assert expected_files <= changed_files
    assert not changed_files & other_files
    for name in ("judging/judge", "sandbox/inside/__main__"):
        assert f"autograder/{name}.py" in expected_files
        assert is_stale(course_copy, "positions", f"autograder/{name}.py")
    assert not is_stale(course_copy, "positions", *other_files)


@pytest.mark.long
def test_each_file_of_the_engine_decides_or_not(course_copy, engine_files):
    expected_files, other_files = engine_files
    files = expected_files | other_files
    assert find_deciding_files(course_copy, "qkv-attention", files, expected_files) == (
        expected_files
    )


def test_some_files_are_among_those_and_some_are_not(imported_modules):
    """Guard for the test above, which would also pass with an empty set."""
    decide = (
        "judging/judge authoring/domain authoring/exercise core/import_guard"
        " grading/grade_submission grading/rebuild_notebook student/answer_key"
    )
    assert {f"autograder/{name}.py" for name in decide.split()} <= imported_modules
    other_files = (
        "cli/instructor reports/class_page intake/store authoring/skeleton"
        " gradebook/policy student/check student/workspace"
    )
    assert not {f"autograder/{name}.py" for name in other_files.split()} & imported_modules


# Which labs import what of this course's library, in the notebooks' set-up cells or their
# exercises' comparers; and which name what of its data.
OF_COURSE = {
    "attention_labs/__init__.py": LABS,
    "attention_labs/alignment.py": ["learning-to-align", "keras-translator"],
    "attention_labs/comparers.py": [
        "qkv-attention",
        "attention-masks",
        "long-contexts",
        "cheaper-attention",
        "gpt-2",
        "keras-attention",
        "keras-translator",
    ],
    "attention_labs/embeddings.py": ["qkv-attention", "learning-to-align", "keras-translator"],
    "attention_labs/keras_start.py": ["keras-attention", "keras-translator"],
    "attention_labs/layers.py": ["keras-attention", "keras-translator"],
    "attention_labs/lengths.py": ["positions"],
    "attention_labs/pictures/__init__.py": LABS,
    "attention_labs/pictures/additive.py": ["additive-attention"],
    "attention_labs/pictures/learning.py": ["learning-to-align"],
    "attention_labs/pictures/qkv.py": ["qkv-attention"],
    # The first looks for its sinks.
    "attention_labs/tiny_model.py": [
        "long-contexts",
        "tiny-transformer",
        "looking-inside",
        "training",
        "gpt-2",
    ],
    "attention_labs/translation.py": ["keras-translator"],
    # What trained the models of tiny-transformer and gpt-2 takes lists and stories from it.
    "attention_labs/training.py": ["tiny-transformer", "training", "gpt-2"],
    "attention_labs/download.py": [],
    "attention_labs/download_gpt2.py": [],
    "attention_labs/gpt2.py": ["gpt-2"],
    "attention_labs/published.py": [],
    # By a text with the language filled in; the translator's sentences are those of
    # learning-to-align.
    "data/embeddings_en.npz": ["qkv-attention", "learning-to-align", "keras-translator"],
    "data/sentence_pairs.txt": ["learning-to-align", "keras-translator"],
    "data/tiny_model.npz": [
        "long-contexts",
        "tiny-transformer",
        "looking-inside",
        "training",
        "gpt-2",
    ],
    "data/stories.npz": ["tiny-transformer", "training", "gpt-2"],
    # No mark depends on the model: the cells that load it only show something.
    "data/stand_in_model.safetensors": [],
    "data/README.md": [],
}


@pytest.mark.parametrize(
    "lab",
    [
        lab
        if lab == SAMPLE_LABS[0]
        else pytest.param(
            lab,
            marks=pytest.mark.long,
        )
        for lab in LABS
    ],
)
def test_files_of_the_course(lab, course_copy):
    """The fingerprint covers a lab's own files, and the library and data that it uses."""
    lab_files = {path for path in SOLUTIONS if path.startswith(f"solutions/{lab}/")}
    expected_files = lab_files | {path for path, labs in OF_COURSE.items() if lab in labs}
    assert (
        lab_files
        and find_deciding_files(
            course_copy,
            lab,
            [*SOLUTIONS, *OF_COURSE],
            expected_files,
        )
        == expected_files
    )


def test_points_and_prose_decide_nothing(course_copy):
    path = course_copy / "solutions/qkv-attention/softmax.py"
    original, text = compute_fingerprints(course_copy), path.read_text("utf-8")
    path.write_text(
        text.replace("points=2", "points=5").replace(
            '"""The exercise',
            '"""Words about the exercise',
        )
    )
    assert path.read_text("utf-8") != text
    assert compute_fingerprints(course_copy) == original
    assert not is_stale(
        course_copy, "qkv-attention", "solutions/qkv-attention/teaching.md", addition=b"More.\n"
    )
    assert not is_stale(
        course_copy, "qkv-attention", "autograder/judging/judge.py", addition=b"\n# A comment.\n"
    )
    path.write_text(text)


def test_a_cell_that_becomes_a_set_up_cell_makes_marks_stale():
    def texts_with(tags):
        cells = [new_code_cell("x = 1", metadata={"tags": tags})]
        lab = SimpleNamespace(read_solution=lambda: new_notebook(cells=cells))
        return list(fingerprint._texts_of_cells_for_grading(lab))

    assert texts_with([]) != texts_with(["setup"])


@pytest.mark.parametrize(
    ("old", "new", "labs"),
    [
        ('imports = ["keras"', 'imports = ["scipy", "keras"', set(SAMPLE_LABS)),
        pytest.param(
            'library = ["attention_labs"]',
            'library = ["attention_labs", "more"]',
            set(SAMPLE_LABS),
            marks=pytest.mark.long,
        ),
        pytest.param(
            'title = "Attention', 'title = "More attention', set(), marks=pytest.mark.long
        ),
        ("[bundle]", "[policy]\ngrace = 5\n\n[bundle]", set()),
    ],
)
def test_what_course_toml_says(old, new, labs, course_copy):
    text = (course_copy / "course.toml").read_text("utf-8")
    assert old in text
    original = compute_fingerprints(course_copy)
    read_lab.__globals__["_read_cached_lab"].cache_clear()
    (course_copy / "course.toml").write_text(text.replace(old, new, 1))
    new_fingerprints = compute_fingerprints(course_copy)
    (course_copy / "course.toml").write_text(text)
    read_lab.__globals__["_read_cached_lab"].cache_clear()
    assert {name for name in SAMPLE_LABS if original[name] != new_fingerprints[name]} == labs


def test_limits_and_where_a_lab_reads_its_settings(course_copy, monkeypatch):
    original = compute_fingerprints(course_copy)
    monkeypatch.setenv("KERAS_BACKEND", "another")
    assert {n for n, new in compute_fingerprints(course_copy).items() if new != original[n]} == {
        "keras-attention"
    }
    monkeypatch.delenv("KERAS_BACKEND")
    read_lab.__globals__["_read_cached_lab"].cache_clear()
    path = course_copy / "solutions/positions/lab.toml"
    with file_with_addition(path, b"\n[limits]\ncall_seconds = 5\n"):
        new_fingerprints = compute_fingerprints(course_copy)
    read_lab.__globals__["_read_cached_lab"].cache_clear()
    assert {
        n for n, new in new_fingerprints.items() if new != compute_fingerprints(course_copy)[n]
    } == {"positions"}


@pytest.mark.long
def test_a_new_version_of_what_a_lab_imports(course_copy, monkeypatch):
    original = compute_fingerprints(course_copy)
    real = fingerprint.metadata.version
    for package, labs in (
        (
            "numpy",
            set(SAMPLE_LABS),
        ),
        ("torch", {"keras-attention"}),
        ("scipy", set()),
    ):
        monkeypatch.setattr(
            fingerprint.metadata,
            "version",
            lambda name, p=package: "99" if name == p else real(name),
        )
        assert {
            n for n, new in compute_fingerprints(course_copy).items() if new != original[n]
        } == labs


@pytest.mark.parametrize(
    ("statement", "package", "modules"),
    [
        ("import a.b, c", "p.q", ["a.b", "c"]),
        ("from a import b", "p.q", ["a", "a.b"]),
        ("from . import b", "p.q", ["p.q", "p.q.b"]),
        ("from .a import b", "p.q", ["p.q.a", "p.q.a.b"]),
        ("from .. import b", "p.q", ["p", "p.b"]),
        ("from ..a import b", "p.q", ["p.a", "p.a.b"]),
    ],
)
def test_a_relative_import_is_followed_from_its_package(statement, package, modules):
    """The engine and this course import by full names; another course's library may not."""
    (node,) = ast.parse(statement).body
    assert list(fingerprint._imported_modules(node, package)) == modules


def test_a_module_that_a_library_imports_relatively_makes_its_marks_stale(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    (library / "__init__.py").write_text("from .shapes import area\n")
    (library / "shapes.py").write_text("from .units import SIDE\n\ndef area(): return SIDE\n")
    (library / "units.py").write_text("SIDE = 3\n")
    found = fingerprint._collect_dependencies_of_modules(["library"], {"library": library})
    assert set(found) >= {"library", "library.shapes", "library.units"}


@pytest.mark.parametrize(
    ("first", "second", "are_equal"),
    [
        ("x = 1", "x = 1  # a comment", True),
        ("x = 1", "x = 2", False),
        ('"""A module."""\nx = 1', "x = 1", True),
        ('def f():\n    """A function."""\n    return 1', "def f():\n    return 1", True),
        ('class C:\n    """A class."""\n    x = 1', "class C:\n    x = 1", True),
        ('x = 1\n"""No docstring."""', "x = 1", False),
        ('f = Exercise("f", points=2)', 'f = Exercise("f", points=3)', True),
        ('f = Exercise("f", points=2)', 'f = Exercise("f", points=2, returns="printed")', False),
        ('f = Part("f", points=2)', 'f = Part("f", points=3)', False),
        ("if TYPE_CHECKING:\n    import a", "if TYPE_CHECKING:\n    import b", True),
        ("if CHECKING:\n    x = 1", "if CHECKING:\n    x = 2", False),
        ("if TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2", "if TYPE_CHECKING:\n    x = 1", False),
    ],
)
def test_code_is_the_same_without_what_decides_no_verdict(first, second, are_equal):
    digests = {
        fingerprint._collect_code_dependencies(source.encode(), "").digest
        for source in (first, second)
    }
    assert (len(digests) == 1) == are_equal


def test_code_depends_on_its_imports_and_the_files_that_it_names():
    source = """
import numpy as np
from .shapes import area
LAZY = {"softmax": "functions", "count": 3, 4: "four"}
if TYPE_CHECKING:
    import typing
def f(name):
    import scipy.special
    return open(f"embeddings_{name}.npz"), f"{name}{name}", b"bytes"
"""
    found = fingerprint._collect_code_dependencies(source.encode(), "library")
    assert found.imports == {"numpy", "library.shapes", "library.shapes.area", "scipy.special"}
    assert found.packages == {"numpy", "library"}
    assert found.lazy_names == {"softmax": "functions"}
    assert found.strings >= {"embeddings_*.npz", "**", "softmax", "functions", "four"}


def test_modules_are_followed_by_lazy_names_and_packages_with_their_programs(tmp_path):
    library = tmp_path / "library"
    (library / "inner").mkdir(parents=True)
    files = {
        "__init__.py": '_WHERE = {"area": "shapes"}\n',
        "__main__.py": "",
        "shapes.py": "import other\n",
        "unused.py": "",
        "inner/__init__.py": "",
        "inner/__main__.py": "from . import tool\n",
        "inner/tool.py": "",
    }
    for name, text in files.items():
        (library / name).write_text(text)
    (tmp_path / "other.py").write_text("")

    def collect(*names):
        return set(fingerprint._collect_dependencies_of_modules(names, {"library": library}))

    assert collect("library") == {"library"}
    assert collect("library", "library.area") == {"library", "library.shapes"}
    assert collect("library", "library.gone", "other") == {"library"}
    assert collect("library.shapes") == {"library", "library.shapes"}
    assert collect("library.inner") == {
        "library",
        "library.inner",
        "library.inner.__main__",
        "library.inner.tool",
    }


def test_data_files_are_those_that_the_code_names_whole_or_in_part(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("words.txt", "embeddings_1.npz", "embeddings.npz", "a.b", "other.txt"):
        (data / name).write_text("")
    (data / "folder.txt").mkdir()
    names = ("words.txt", "embeddings_*.npz", "a.b", "*", "a*.b", "folder.txt", "other")
    code = [fingerprint._CodeDependencies(strings={name}) for name in names]
    lab = SimpleNamespace(course=SimpleNamespace(root=tmp_path, data=("data",)))
    found = [path.name for path in fingerprint._data_files_named_in_code(lab, code)]
    assert found == ["embeddings_1.npz", "words.txt"]


def test_versions_are_those_of_imported_packages_and_of_all_that_the_course_allows(monkeypatch):
    """Keras uses a backend that no code imports."""
    versions = {"numpy": "2", "keras": "3", "jax": "4", "scipy": "5", "autograder": "6"}

    def find_version(name):
        if name == "":
            raise ValueError("no name")
        if name not in versions:
            raise fingerprint.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(fingerprint.metadata, "version", find_version)
    course = SimpleNamespace(library=("library",), imports=("keras", "jax"))
    lab = SimpleNamespace(course=course)

    def list_versions(named, *packages):
        code = [fingerprint._CodeDependencies(packages={name}) for name in packages]
        return sorted(fingerprint._versions_of_used_packages(lab, named, code))

    assert list_versions([], "numpy", "os", "", "library", "autograder") == ["numpy 2"]
    assert list_versions(["scipy.special"]) == ["scipy 5"]
    assert list_versions(["keras.ops"], "numpy") == ["jax 4", "keras 3", "numpy 2"]
    assert list_versions([], "jax") == ["jax 4", "keras 3"]
