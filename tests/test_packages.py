"""`autograder package`: what it holds, and each package unpacked and run as its platform says.

The folders are made by hand, in a box with neither network nor namespaces, so that hand-ins run in WebAssembly.
"""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml
from command import autograder
from our_course import COURSE, lab
from sample_class import perfect, wrong_answer
from test_replies import EXERCISE, LAB, answered, points, read, record

from autograder.grading.platforms.package import package
from autograder.grading.sandbox.bubblewrap import Bubblewrap
from autograder.grading.sandbox.webassembly import WebAssembly, compiled_path

TEXT = {"type": "string"}
# PrairieLearn's schema of a question's info.json, as far as ours uses it.
QUESTION = record(
    ["uuid", "type", "title", "topic"],
    uuid={
        "type": "string",
        "pattern": r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    },
    title=TEXT,
    topic=TEXT,
    tags={"type": "array", "items": TEXT},
    type={"const": "v3"},
    singleVariant={"type": "boolean"},
    gradingMethod={"const": "External"},
    externalGradingOptions=record(
        ["image", "entrypoint"],
        enabled={"const": True},
        image=TEXT,
        entrypoint=TEXT,
        timeout={"type": "integer", "maximum": 600},
        enableNetworking={"const": False},
    ),
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Each platform's package of a lab, unpacked."""
    place = tmp_path_factory.mktemp("packages")
    (zipped,) = package("gradescope", COURSE, [LAB], place / "zips")
    with zipfile.ZipFile(zipped) as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, place / "gradescope"))
            path.chmod(info.external_attr >> 16)
    package("prairielearn", COURSE, [LAB], place / "prairielearn")
    package("github", COURSE, [LAB], place / "github")
    return place


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_lab_gives_the_same_bytes(packages, tmp_path):
    (again,) = package("gradescope", COURSE, [LAB], tmp_path / "again.zip")
    assert again.read_bytes() == (packages / "zips" / f"{LAB}.zip").read_bytes()
    package("github", COURSE, [LAB], tmp_path / "github")
    assert contents(tmp_path / "github") == contents(packages / "github")


def test_a_package_holds_what_it_needs_and_nothing_of_this_machine(packages):
    files = contents(packages / "gradescope")
    assert {
        "setup.sh",
        "run_autograder",
        "fallback.json",
        "engine/install.py",
        "engine/constraints.txt",
    } <= set(files)
    assert {name for name in files if name.startswith("course/solutions/")} == {
        f"course/solutions/{LAB}/{path.name}" for path in lab(LAB).folder.iterdir() if path.is_file()
    }
    assert not [name for name in files if "__pycache__" in name or "/." in name]
    assert not [name for name, data in files.items() if str(COURSE.root).encode() in data]
    for name in ("setup.sh", "run_autograder"):
        assert os.access(packages / "gradescope" / name, os.X_OK)
    assert json.loads(files["fallback.json"])["output"].startswith(
        "<p>The grader failed, so this is no mark."
    )


def test_students_templates_and_the_graders_image_hold_nothing_of_the_author(packages):
    seen = contents(packages / "github" / LAB) | contents(packages / "prairielearn" / "image")
    assert not [name for name in seen if name.startswith(("solutions/", "course/")) or name.endswith(".npz")]
    cells = nbformat.reads(seen[f"{LAB}.ipynb"], as_version=4).cells
    said = b"\n".join(seen.values()).decode("utf-8", "replace") + "\n".join(cell.source for cell in cells)
    ours = {cell for name, cell in lab(LAB).reference_cells.items() if name in lab(LAB).by_answer}
    assert ours and not [cell for cell in ours if cell in said]


def test_prairielearns_question_is_as_its_schema_says(packages):
    import jsonschema

    question = packages / "prairielearn" / "questions" / LAB
    jsonschema.validate(json.loads((question / "info.json").read_text("utf-8")), QUESTION)
    assert f'<pl-file-upload file-names="{LAB}.ipynb">' in (question / "question.html").read_text("utf-8")


def test_githubs_workflow_is_what_the_reporter_looks_for(packages):
    workflow = yaml.safe_load(
        (packages / "github" / LAB / ".github" / "workflows" / "classroom.yml").read_text()
    )
    (name, job), *others = workflow["jobs"].items()
    assert (name, others) == ("run-autograding-tests", [])
    assert workflow["permissions"] == {"checks": "write", "actions": "read", "contents": "read"}
    *steps, reporter = job["steps"]
    (runner,) = reporter["with"]["runners"].split(",")
    assert reporter["env"] == {f"{runner.upper()}_RESULTS": f"${{{{ steps.{runner}.outputs.result }}}}"}
    assert [step["run"] for step in steps if step.get("id") == runner] == [
        f"bash grader/mark {LAB} submission"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("gradescope", "no-lab"), 2, "There is no lab 'no-lab'"),
        (("canvas", LAB), 2, "'canvas' is not one of"),
        (("gradescope",), 2, "Missing argument 'LAB...'"),
        (("prairielearn", LAB, "--output", "tests"), 2, "tests is there already: take it away"),
        (
            ("gradescope", LAB, "positions", "--output", "a.zip"),
            2,
            "a.zip is one zip, and each of these labs",
        ),
        (("gradescope", LAB, "--output", "LICENSE/x.zip"), 1, "Error: LICENSE"),
    ],
)
def test_what_it_cannot_do_is_one_sentence(arguments, code, sentence):
    ran = autograder("package", *arguments, here=True)
    assert ran.returncode == code and sentence in ran.stderr and "Traceback" not in ran.stderr


def test_a_lab_that_is_not_released_is_refused(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(Path(__file__).parent / "other_course", course)
    ran = autograder("package", "gradescope", "fair-dice", cwd=course, here=True)
    assert ran.returncode == 1 and "fair-dice is not released: there is no file" in ran.stderr
    assert not (course / "dist").exists()


# Unpacked and run


def boxed(binds, *command, cwd, network=False, env=()):
    """Run a command where these folders lie where a platform has them, beside the system, read-only."""
    wall = ["--unshare-user", "--disable-userns", "--unshare-net"] if not network else []
    places = {Path(place).parts[1] for place in binds.values()}
    for path in Path("/").iterdir():
        if path.is_symlink():
            wall += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir() and path.name not in {"proc", "dev", "tmp", "sys", *places}:
            wall += ["--ro-bind", str(path), str(path)]
    wall += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    wall += [word for host, place in binds.items() for word in ("--bind", str(host), place)]
    mine = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AUTOGRADER", "PYTHON", "VIRTUAL"))
    }
    return subprocess.run(
        ["bwrap", "--tmpfs", "/", *wall, "--chdir", cwd, *command],
        env={**mine, "HOME": "/tmp", "PIP_NO_CACHE_DIR": "1", **dict(env)},
        text=True,
        capture_output=True,
    )


ENGINE = "/autograder/source/engine"  # where the set-up made its environment, whose scripts name it


@pytest.fixture(scope="module")
def ready(packages):
    """Gradescope's package after its set-up, with a network."""
    if why := Bubblewrap.why_unavailable():
        pytest.skip(why)
    root = packages / "autograder"
    for name in ("submission", "results"):
        (root / name).mkdir(parents=True)
    shutil.copytree(packages / "gradescope", root / "source")
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    if not WebAssembly.why_unavailable():  # of the same digests: to compile it once more would take minutes
        there = root / "source" / "engine" / ".venv" / "webassembly"
        there.mkdir(parents=True)
        shutil.copy(compiled_path(), there)
    ran = boxed({root: "/autograder"}, "bash", "/autograder/source/setup.sh", cwd="/autograder", network=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return root


def on_gradescope(packages, data):
    root = packages / "autograder"
    put(root / "submission", data)
    ran = boxed({root: "/autograder"}, "/autograder/run_autograder", cwd="/autograder")
    assert ran.returncode == 0, ran.stderr
    return read("gradescope", (root / "results" / "results.json").read_text("utf-8"))


def on_prairielearn(packages, data):
    root = packages / "grade"
    shutil.rmtree(root, ignore_errors=True)
    question = packages / "prairielearn" / "questions" / LAB
    shutil.copytree(question / "tests", root / "tests")
    (root / "student").mkdir()
    (root / "data").mkdir()
    put(root / "student", data)
    engine = packages / "autograder" / "source" / "engine"
    entrypoint = json.loads((question / "info.json").read_text("utf-8"))["externalGradingOptions"][
        "entrypoint"
    ]
    ran = boxed({root: "/grade", engine: ENGINE, f"{engine}/": "/engine"}, entrypoint, cwd="/")
    assert ran.returncode == 0, ran.stderr
    return read("prairielearn", (root / "results" / "results.json").read_text("utf-8"))


def on_github(packages, data):
    root = packages / "checkout"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(packages / "github" / LAB, root / "submission")
    shutil.copytree(packages / "github" / "grader", root / "grader")
    put(root / "submission", data)
    for name in ("output", "summary"):
        (root / name).touch()
    engine = packages / "autograder" / "source" / "engine"
    workflow = yaml.safe_load((root / "submission" / ".github" / "workflows" / "classroom.yml").read_text())
    (step,) = (step for step in workflow["jobs"]["run-autograding-tests"]["steps"] if step.get("id"))
    binds = {root: "/work-of-a-job", engine: ENGINE, f"{engine}/": "/work-of-a-job/grader/engine"}
    env = {"GITHUB_OUTPUT": "/work-of-a-job/output", "GITHUB_STEP_SUMMARY": "/work-of-a-job/summary"}
    ran = boxed(binds, "bash", "-e", "-c", step["run"], cwd="/work-of-a-job", env=env)
    assert ran.returncode == 0, ran.stderr
    (line,) = (root / "output").read_text("utf-8").splitlines()
    reply = read("github", line.removeprefix("result="))
    assert (root / "summary").read_text("utf-8").strip() == reply["markdown"].strip()
    return reply


def put(folder, data):
    """Hand in just this."""
    for path in folder.glob("*.ipynb"):
        path.unlink()
    (folder / f"{LAB}.ipynb").write_bytes(data)


def as_bytes(notebook):
    return nbformat.writes(notebook).encode()


HOSTILE = f"""\
import os, socket, subprocess
def {EXERCISE}(size):
    found = [place for place in ("/autograder", "/grade", "/work-of-a-job", "/engine") if os.path.exists(place)]
    try:
        subprocess.run(["cat", "/autograder/source/course/course.toml"])
    except OSError as error:
        found.append(type(error).__name__)
    raise RuntimeError(f"<script>found {{found}}</script>")"""


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_each_package_marks_as_its_platform_runs_it(packages, ready):
    most, worth = sum(points().values()), points()[EXERCISE]
    exercise = lab(LAB).exercises[EXERCISE]
    hand_ins = {
        "right": as_bytes(perfect(lab(LAB))),
        "wrong": as_bytes(answered(wrong_answer(exercise, exercise.misconceptions[0]))),
        "hostile": as_bytes(answered(HOSTILE)),
        "broken": as_bytes(perfect(lab(LAB)))[:5000],  # others that cannot be read: `test_replies.py`
    }
    got = {}
    for name, data in hand_ins.items():
        gradescope, prairielearn, github = (
            run(packages, data) for run in (on_gradescope, on_prairielearn, on_github)
        )
        score = sum(test["score"] for test in github["tests"])
        assert gradescope["score"] == score == pytest.approx(prairielearn.get("score", 0) * most)
        assert (github["status"] == "error") == (prairielearn["gradable"] is False)
        got[name] = score, github["status"]
        if name == "hostile":
            said = json.dumps(gradescope)
            # What the box has of the platform's folders is not there, nor are programs.
            assert "found [" in said and "autograder'" not in said and "grade'" not in said
            assert "<script>" not in said
    assert got == {
        "right": (most, "pass"),
        "wrong": (most - worth, "fail"),
        "hostile": (most - worth, "fail"),
        "broken": (0, "error"),
    }
    (ready / "submission" / f"{LAB}.ipynb").write_bytes(hand_ins["right"])
    command = [f"{ENGINE}/.venv/bin/autograder", "mark", "/autograder/submission", "--lab", LAB]
    ran = boxed({ready: "/autograder"}, *command, "--course", "/autograder/source/course", cwd="/autograder")
    assert json.loads(ran.stdout)["sandbox"] == "webassembly"


@pytest.mark.long
def test_an_answer_stands_when_the_grader_does_not_start(packages, tmp_path):
    """Nothing was set up, so that there is no such program."""
    if why := Bubblewrap.why_unavailable():
        pytest.skip(why)
    shutil.copytree(packages / "gradescope", tmp_path / "source")
    (tmp_path / "submission").mkdir()
    ran = boxed({tmp_path: "/autograder"}, "/autograder/source/run_autograder", cwd="/autograder")
    assert ran.returncode == 0
    reply = read("gradescope", (tmp_path / "results" / "results.json").read_text("utf-8"))
    assert reply["output"].startswith("<p>The grader failed, so this is no mark.")
