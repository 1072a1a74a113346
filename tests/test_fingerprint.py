"""What makes verdicts stale: files of the engine and of the course are changed, and nothing is marked."""

import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache

import pytest
from our_course import ROOT

from autograder.authoring.lab import read_lab
from autograder.course import read
from autograder.grading.register import fingerprint

ENGINE = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "autograder").rglob("*.py"))
SOLUTIONS = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "solutions").rglob("*.py"))
LABS = read(ROOT).labs
FEW = ["qkv-attention", "positions", "keras-attention"]  # of which each rule has some on either side

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


def prints(root, labs=FEW):
    return {name: fingerprint.fingerprint_of(read_lab(read(root), name)) for name in labs}


@cache
def _unchanged(root, lab):
    return prints(root, [lab])


@contextmanager
def changed(path, added):
    before = path.read_bytes()
    path.write_bytes(before + added)
    yield
    path.write_bytes(before)


def stale(root, lab, *paths, added=b"\n_added = 1\n"):
    """Whether a lab changes with these files."""
    before = _unchanged(root, lab)
    with ExitStack() as changes:
        for path in paths:
            changes.enter_context(changed(root / path, added))
        return prints(root, [lab]) != before


def that_decide(root, lab, paths, due):
    """Those of the files that make a lab stale: the ones that are due to, one by one, and all others at once."""
    found, others = {path for path in due if stale(root, lab, path)}, set(paths) - due
    if stale(root, lab, *others):
        found |= {path for path in others if stale(root, lab, path)}
    return found


def test_files_of_the_engine(copied, imported):
    """What is imported to mark makes a lab stale, and what is not does not."""
    sandbox = {path for path in ENGINE if path.startswith("autograder/grading/sandbox/")}
    inside = {path for path in sandbox if path.startswith("autograder/grading/sandbox/inside/")}
    # Another sandbox's alone, and which it was decides no mark.
    guest = {"autograder/grading/sandbox/inside/guest.py"}
    due = (imported & set(ENGINE) | inside) - guest
    assert len(due) > 40
    # What is around the hand-in in a sandbox may be imported or not.
    assert that_decide(copied, "qkv-attention", set(ENGINE) - (sandbox - due - guest), due) == due


def test_some_files_are_among_those_and_some_are_not(imported):
    """Else the test above could agree with anything."""
    decide = "judging/judge authoring/domain authoring/exercise imports grading/marking/mark grading/marking/handin"
    assert {f"autograder/{name}.py" for name in decide.split()} <= imported
    others = "cli grading/reports/page grading/intake/file authoring/skeleton grading/register/policy keys workspace"
    assert not {f"autograder/{name}.py" for name in others.split()} & imported


# Which labs import what of this course's library, in the notebooks' set-up cells or their exercises' comparers; and
# which name what of its data.
OF_COURSE = {
    "attention_labs/__init__.py": LABS,
    "attention_labs/alignment.py": ["learning-to-align", "keras-attention"],
    "attention_labs/comparers.py": ["qkv-attention", "attention-masks", "long-contexts", "keras-attention"],
    "attention_labs/embeddings.py": ["qkv-attention", "learning-to-align", "keras-attention"],
    "attention_labs/keras_start.py": ["keras-attention"],
    "attention_labs/layers.py": ["keras-attention"],
    "attention_labs/lengths.py": ["positions"],
    "attention_labs/pictures/__init__.py": LABS,
    "attention_labs/pictures/additive.py": ["additive-attention"],
    "attention_labs/pictures/learning.py": ["learning-to-align"],
    "attention_labs/pictures/qkv.py": ["qkv-attention"],
    # The first looks for its sinks.
    "attention_labs/tiny_model.py": ["long-contexts", "tiny-transformer", "training"],
    "attention_labs/translation.py": ["keras-attention"],
    # What trained the former's model takes its lists from it.
    "attention_labs/training.py": ["tiny-transformer", "training"],
    "attention_labs/download.py": [],
    "attention_labs/published.py": [],
    # By a text with the language filled in; the translator's sentences are those of learning-to-align.
    "data/embeddings_en.npz": ["qkv-attention", "learning-to-align", "keras-attention"],
    "data/sentence_pairs.txt": ["learning-to-align", "keras-attention"],
    "data/tiny_model.npz": ["long-contexts", "tiny-transformer", "training"],
    "data/stories.npz": ["tiny-transformer", "training"],
    "data/README.md": [],
}


@pytest.mark.parametrize(
    "lab", [lab if lab in FEW else pytest.param(lab, marks=pytest.mark.long) for lab in LABS]
)
def test_files_of_the_course(lab, copied):
    """A lab's own, and of the library and the data what it imports and names."""
    own = {path for path in SOLUTIONS if path.startswith(f"solutions/{lab}/")}
    due = own | {path for path, labs in OF_COURSE.items() if lab in labs}
    assert own and that_decide(copied, lab, [*SOLUTIONS, *OF_COURSE], due) == due


def test_points_and_prose_decide_nothing(copied):
    path = copied / "solutions/qkv-attention/softmax.py"
    before, text = prints(copied), path.read_text("utf-8")
    path.write_text(
        text.replace("points=2", "points=5").replace('"""The exercise', '"""Words about the exercise')
    )
    assert path.read_text("utf-8") != text
    assert prints(copied) == before
    assert not stale(copied, "qkv-attention", "solutions/qkv-attention/teaching.md", added=b"More.\n")
    assert not stale(copied, "qkv-attention", "autograder/judging/judge.py", added=b"\n# A comment.\n")
    path.write_text(text)


@pytest.mark.parametrize(
    ("old", "new", "labs"),
    [
        ('imports = ["keras"', 'imports = ["scipy", "keras"', set(FEW)),
        ('library = ["attention_labs"]', 'library = ["attention_labs", "more"]', set(FEW)),
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
    assert {name for name in FEW if before[name] != after[name]} == labs


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
    for package, labs in (("numpy", set(FEW)), ("torch", {"keras-attention"}), ("scipy", set())):
        monkeypatch.setattr(
            fingerprint.metadata, "version", lambda name, p=package: "99" if name == p else real(name)
        )
        assert {n for n, new in prints(copied).items() if new != before[n]} == labs
