"""What makes verdicts stale: each file of the engine and of the course is changed in turn, and nothing is marked."""

import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cache

import pytest
from our_course import ROOT

from autograder.authoring.lab import read_lab
from autograder.course import read
from autograder.grading.register import fingerprint

ENGINE = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "autograder").rglob("*.py"))
LIBRARY = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "attention_labs").rglob("*.py"))
SOLUTIONS = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "solutions").rglob("*.*") if p.is_file())
LABS = read(ROOT).labs

# What a process has of the engine once it has imported all that marks, on both sides of the sandbox.
MARKING = (
    "import sys, autograder.grading.marking, autograder.grading.sandbox.inside.warm; "
    "print(*(m for m in sys.modules if m.split('.')[0] == 'autograder'))"
)


@pytest.fixture(scope="module")
def imported():
    ran = subprocess.run(
        [sys.executable, "-c", MARKING], capture_output=True, text=True, check=True, cwd=ROOT
    )
    names = [ROOT.joinpath(*name.split(".")) for name in ran.stdout.split()]
    paths = [p / "__init__.py" if p.is_dir() else p.with_suffix(".py") for p in names]
    return {p.relative_to(ROOT).as_posix() for p in paths}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the engine and of the course, and its labs."""
    root = tmp_path_factory.mktemp("copy")
    leave = shutil.ignore_patterns("__pycache__")
    for name in ("autograder", "attention_labs", "solutions", "data"):
        shutil.copytree(ROOT / name, root / name, ignore=leave)
    shutil.copy(ROOT / "course.toml", root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "_ENGINE", root / "autograder")
        yield root


def prints(root, labs=LABS):
    return {name: fingerprint.fingerprint_of(read_lab(read(root), name)) for name in labs}


@cache
def _unchanged(root):
    return prints(root)


@contextmanager
def changed(path, added):
    before = path.read_bytes()
    path.write_bytes(before + added)
    yield
    path.write_bytes(before)


def stale(root, path, added=b"\n_added = 1\n", labs=LABS):
    """The labs that change with a file."""
    before = _unchanged(root)
    with changed(root / path, added):
        after = prints(root, labs)
    return {name for name in labs if before[name] != after[name]}


def inside(path):
    """Whether this runs in the sandbox, on the hand-in's side or around it."""
    return path.startswith("autograder/grading/sandbox/")


@pytest.mark.parametrize("path", ENGINE)
def test_a_file_of_the_engine(path, copied, imported):
    """What is imported to mark makes a lab stale, and what is not does not."""
    one = {"qkv-attention"}
    found = stale(copied, path, labs=one)
    if not inside(path):
        assert found == (one if path in imported else set())
    elif path.endswith("inside/guest.py"):  # another sandbox's alone, and which it was decides no mark
        assert found == set()
    elif path in imported or path.startswith("autograder/grading/sandbox/inside/"):
        assert found == one


def test_some_files_are_among_those_and_some_are_not(imported):
    """Else the test above could agree with anything."""
    decide = "judging/judge authoring/domain authoring/exercise imports grading/marking/mark grading/marking/handin"
    assert {f"autograder/{name}.py" for name in decide.split()} <= imported
    others = "cli grading/reports/page grading/intake/file authoring/skeleton grading/register/policy keys workspace"
    assert not {f"autograder/{name}.py" for name in others.split()} & imported


# Which labs import what of this course's library: the notebooks' set-up cells, or their exercises' comparers.
OF_LIBRARY = {
    "__init__": LABS,
    "alignment": ["learning-to-align", "keras-attention"],
    "comparers": ["qkv-attention", "attention-masks", "long-contexts", "keras-attention"],
    "embeddings": ["qkv-attention", "learning-to-align", "keras-attention"],
    "keras_start": ["keras-attention"],
    "layers": ["keras-attention"],
    "lengths": ["positions"],
    "pictures/__init__": LABS,
    "pictures/additive": ["additive-attention"],
    "pictures/learning": ["learning-to-align"],
    "pictures/qkv": ["qkv-attention"],
    "tiny_model": ["long-contexts", "tiny-transformer", "training"],  # the first looks for its sinks
    "translation": ["keras-attention"],
    "training": ["tiny-transformer", "training"],  # what trained the former's model takes its lists from it
    "download": [],
    "published": [],
}


@pytest.mark.parametrize("name", OF_LIBRARY)
def test_a_file_of_the_courses_library(name, copied):
    if f"attention_labs/{name}.py" not in LIBRARY:
        pytest.skip("it has been moved")
    assert stale(copied, f"attention_labs/{name}.py") == set(OF_LIBRARY[name])


@pytest.mark.parametrize("path", [p for p in SOLUTIONS if p.endswith(".py")])
def test_a_labs_own_file(path, copied):
    lab = path.split("/")[1]
    two = (lab, next(name for name in LABS if name != lab))
    assert stale(copied, path, labs=two) == {lab}


def test_points_and_prose_decide_nothing(copied):
    path = copied / "solutions/qkv-attention/softmax.py"
    before, text = prints(copied), path.read_text("utf-8")
    path.write_text(
        text.replace("points=2", "points=5").replace('"""The exercise', '"""Words about the exercise')
    )
    assert path.read_text("utf-8") != text
    assert prints(copied) == before
    assert not stale(copied, "solutions/qkv-attention/teaching.md", b"More.\n")
    assert not stale(copied, "autograder/judging/judge.py", b"\n# A comment.\n")
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "labs"),
    [
        (
            "embeddings_en.npz",
            {"qkv-attention", "learning-to-align", "keras-attention"},
        ),  # by a text with the language filled in; the translator's sentences are those of learning-to-align
        ("sentence_pairs.txt", {"learning-to-align", "keras-attention"}),
        ("tiny_model.npz", {"long-contexts", "tiny-transformer", "training"}),
        ("stories.npz", {"tiny-transformer", "training"}),
        ("README.md", set()),
    ],
)
def test_data_that_is_named(name, labs, copied):
    assert stale(copied, f"data/{name}", b"more") == labs


@pytest.mark.parametrize(
    ("old", "new", "labs"),
    [
        ('imports = ["keras"', 'imports = ["scipy", "keras"', set(LABS)),
        ('library = ["attention_labs"]', 'library = ["attention_labs", "more"]', set(LABS)),
        ('title = "Attention', 'title = "More attention', set()),
        ("[bundle]", "[policy]\ngrace = 5\n\n[bundle]", set()),
    ],
)
def test_what_course_toml_says(old, new, labs, copied):
    text = (copied / "course.toml").read_text("utf-8")
    assert old in text
    before = prints(copied)
    read_lab.__globals__["_lab"].cache_clear()
    (copied / "course.toml").write_text(text.replace(old, new, 1))
    after = prints(copied)
    (copied / "course.toml").write_text(text)
    read_lab.__globals__["_lab"].cache_clear()
    assert {name for name in LABS if before[name] != after[name]} == labs


def test_limits_and_where_a_lab_reads_its_settings(copied, monkeypatch):
    before = prints(copied)
    monkeypatch.setenv("KERAS_BACKEND", "another")
    assert {n for n, new in prints(copied).items() if new != before[n]} == {"keras-attention"}
    monkeypatch.delenv("KERAS_BACKEND")
    read_lab.__globals__["_lab"].cache_clear()
    path = copied / "solutions/positions/lab.toml"
    with changed(path, b"\n[limits]\ncall_seconds = 5\n"):
        after = prints(copied)
    read_lab.__globals__["_lab"].cache_clear()
    assert {n for n, new in after.items() if new != prints(copied)[n]} == {"positions"}


def test_a_new_version_of_what_a_lab_imports(copied, monkeypatch):
    before = prints(copied)
    real = fingerprint.metadata.version
    for package, labs in (("numpy", set(LABS)), ("torch", {"keras-attention"}), ("scipy", set())):
        monkeypatch.setattr(
            fingerprint.metadata, "version", lambda name, p=package: "99" if name == p else real(name)
        )
        assert {n for n, new in prints(copied).items() if new != before[n]} == labs
