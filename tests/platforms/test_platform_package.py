"""Test `autograder package`: the contents, and each package run in the way of its platform.

A container without network and namespaces has the platform's folders, so that submissions run in
WebAssembly.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from command import autograder
from our_course import COURSE, lab
from sample_class import perfect, wrong_answer
from test_responses import EXERCISE, LAB, exercise_points, make_submission, parse_response, record

from autograder.core.course import read_course as read_course
from autograder.core.errors import AutograderError, UsageError
from autograder.grading.grade_submission import report_grader_fault
from autograder.platforms import platform_package
from autograder.platforms.grade_one import make_platform_result
from autograder.platforms.platform_package import (
    _MAX_SECONDS,
    _make_prairielearn_question_info,
    collect_course_files,
    write_package,
)
from autograder.platforms.responses import RESPONSE_FORMATS
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.webassembly import WebAssembly, get_compiled_path

TEXT = {"type": "string"}
# PrairieLearn's schema of a question's info.json, for the fields that a package uses.
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
    """Folder with each platform's package of a lab, unpacked."""
    folder = tmp_path_factory.mktemp("packages")
    (zip_path,) = write_package("gradescope", COURSE, [LAB], folder / "zips")
    with zipfile.ZipFile(zip_path) as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, folder / "gradescope"))
            path.chmod(info.external_attr >> 16)
    write_package("prairielearn", COURSE, [LAB], folder / "prairielearn")
    write_package("github", COURSE, [LAB], folder / "github")
    return folder


def read_folder(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.long
def test_packages_of_the_same_lab_have_the_same_bytes(packages, tmp_path):
    (second_zip,) = write_package("gradescope", COURSE, [LAB], tmp_path / "again.zip")
    assert second_zip.read_bytes() == (packages / "zips" / f"{LAB}.zip").read_bytes()
    write_package("github", COURSE, [LAB], tmp_path / "github")
    assert read_folder(tmp_path / "github") == read_folder(packages / "github")


@pytest.mark.parametrize("name", ["github", "prairielearn"])
def test_others_can_read_a_package(packages, name):
    """It may lie on a disk that an institute shares."""
    assert (packages / name).stat().st_mode & 0o777 == 0o755


def test_a_package_is_complete_and_holds_nothing_of_this_machine(packages):
    files = read_folder(packages / "gradescope")
    assert {
        "setup.sh",
        "run_autograder",
        "fallback.json",
        "engine/install.py",
        "engine/constraints.txt",
    } <= set(files)
    assert {name for name in files if name.startswith("course/solutions/")} == {
        f"course/solutions/{LAB}/{path.name}"
        for path in lab(LAB).folder.iterdir()
        if path.is_file()
    }
    assert not [name for name in files if "__pycache__" in name or "/." in name]
    assert not [name for name, data in files.items() if str(COURSE.root).encode() in data]
    for name in ("setup.sh", "run_autograder"):
        assert os.access(packages / "gradescope" / name, os.X_OK)
    assert json.loads(files["fallback.json"])["output"].startswith(
        "<p>The grader failed, so this is no mark."
    )


def test_students_templates_and_the_graders_image_hold_nothing_of_the_author(packages):
    files = read_folder(packages / "github" / LAB)
    files |= read_folder(packages / "prairielearn" / "image")
    assert not [name for name in files if name.startswith(("solutions/", "course/"))]
    assert not [name for name in files if name.endswith(".npz")]
    cells = nbformat.reads(files[f"{LAB}.ipynb"], as_version=4).cells
    text = b"\n".join(files.values()).decode("utf-8", "replace")
    text += "\n".join(cell.source for cell in cells)
    sources = lab(LAB).reference_cells
    solutions = {sources[name] for name in lab(LAB).exercises_by_answer_cell}
    assert solutions and not [cell for cell in solutions if cell in text]


def test_prairielearns_question_follows_its_schema(packages):
    import jsonschema

    question = packages / "prairielearn" / "questions" / LAB
    jsonschema.validate(json.loads((question / "info.json").read_text("utf-8")), QUESTION)
    options = json.loads((question / "info.json").read_text("utf-8"))["externalGradingOptions"]
    assert options["timeout"] == _MAX_SECONDS
    script = (packages / "prairielearn" / "questions" / LAB / "tests" / "run.sh").read_text("utf-8")
    (seconds,) = re.findall(r"timeout --kill-after=10 (\d+) ", script)
    assert int(seconds) + 10 < _MAX_SECONDS
    html = (question / "question.html").read_text("utf-8")
    assert f'<pl-file-upload file-names="{LAB}.ipynb">' in html


def test_githubs_workflow_has_the_job_that_the_reporter_expects(packages):
    workflow = yaml.safe_load(
        (packages / "github" / LAB / ".github" / "workflows" / "classroom.yml").read_text()
    )
    (name, job), *other_jobs = workflow["jobs"].items()
    assert (name, other_jobs) == ("run-autograding-tests", [])
    assert workflow["permissions"] == {"checks": "write", "actions": "read", "contents": "read"}
    *steps, reporter = job["steps"]
    (runner,) = reporter["with"]["runners"].split(",")
    result = f"${{{{ steps.{runner}.outputs.result }}}}"
    assert reporter["env"] == {f"{runner.upper()}_RESULTS": result}
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
def test_a_wrong_command_is_one_sentence(arguments, code, sentence):
    ran = autograder("package", *arguments)
    assert ran.returncode == code and sentence in ran.stderr and "Traceback" not in ran.stderr


def test_a_lab_that_is_not_released_is_refused(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(Path(__file__).parents[1] / "other_course", course)
    ran = autograder("package", "gradescope", "fair-dice", cwd=course)
    assert ran.returncode == 1 and "fair-dice is not released: there is no file" in ran.stderr
    assert not (course / "dist").exists()


def test_packages_lie_in_a_folder_of_their_platform_and_replace_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(platform_package, "_make_gradescope_package_files", lambda lab: {})
    course = replace(COURSE, root=tmp_path)
    found = {name: lab(name) for name in (LAB, "positions")}
    monkeypatch.setattr(platform_package, "read_lab", lambda course, name: found[name])
    paths = write_package("gradescope", course, [LAB, "positions", LAB])
    folder = tmp_path / "dist" / "gradescope"
    assert paths == [folder / f"{LAB}.zip", folder / "positions.zip"]
    assert all(map(zipfile.is_zipfile, paths))
    paths[0].unlink()
    with pytest.raises(UsageError, match=r"positions\.zip is there already"):
        write_package("gradescope", course, [LAB, "positions"])
    assert not paths[0].exists()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="link is there already"):
        write_package("github", course, [LAB], tmp_path / "link")
    made = []
    monkeypatch.setattr(
        platform_package, "_make_prairielearn_package_files", lambda *given: made.append(given)
    )
    monkeypatch.setattr(platform_package, "_write_new_folder", lambda *given: made.append(given))
    expected = tmp_path / "dist" / "prairielearn"
    assert write_package("prairielearn", course, [LAB]) == [expected]
    assert made == [(course, [lab(LAB)]), (expected, None)]


def test_a_folder_that_cannot_be_written_whole_leaves_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "dist" / "github"

    def fail(place, files):
        (place / "mark").write_text("")
        raise KeyboardInterrupt

    monkeypatch.setattr(platform_package.distribution, "write_files", fail)
    with pytest.raises(KeyboardInterrupt):
        platform_package._write_new_folder(folder, {})
    assert list(folder.parent.iterdir()) == []


def test_a_title_cannot_be_a_tag_of_prairielearn(tmp_path, monkeypatch):
    monkeypatch.setattr(platform_package, "_TEMPLATES", tmp_path)
    (tmp_path / "page").write_text("@TITLE@ of @LAB@, @LAB@.ipynb: {{x}}")
    one = SimpleNamespace(title="{{a}} <b> & {c}", name="dice")
    assert platform_package._fill_template("page", one) == (
        b"a &lt;b&gt; &amp; c of dice, dice.ipynb: {{x}}"
    )
    assert platform_package._fill_template("page") == (b"@TITLE@ of @LAB@, @LAB@.ipynb: {{x}}")


# Unpacked and run


def run_in_box(binds, *command, cwd, network=False, env=()):
    """Run a command in a container that has these folders in the places of a platform."""
    options = ["--unshare-user", "--disable-userns", "--unshare-net"] if not network else []
    folders = {Path(target).parts[1] for target in binds.values()}
    for path in Path("/").iterdir():
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir() and path.name not in {"proc", "dev", "tmp", "sys", *folders}:
            options += ["--ro-bind", str(path), str(path)]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    options += [word for host, target in binds.items() for word in ("--bind", str(host), target)]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AUTOGRADER", "PYTHON", "VIRTUAL"))
    }
    return subprocess.run(
        ["bwrap", "--tmpfs", "/", *options, "--chdir", cwd, *command],
        env={**environment, "HOME": "/tmp", "PIP_NO_CACHE_DIR": "1", **dict(env)},
        text=True,
        capture_output=True,
    )


ENGINE = "/autograder/source/engine"  # the scripts of the environment hold this path


@pytest.fixture(scope="module")
def gradescope_folder(packages):
    """Folder with Gradescope's package after its set-up, for which there is a network."""
    reason = Bubblewrap.explain_unavailability()
    if reason:
        pytest.skip(reason)
    root = packages / "autograder"
    for name in ("submission", "results"):
        (root / name).mkdir(parents=True)
    shutil.copytree(packages / "gradescope", root / "source")
    shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
    if not WebAssembly.explain_unavailability():  # compiling again would take minutes
        cache = root / "source" / "engine" / ".venv" / "webassembly"
        cache.mkdir(parents=True)
        shutil.copy(get_compiled_path(), cache)
    ran = run_in_box(
        {root: "/autograder"},
        "bash",
        "/autograder/source/setup.sh",
        cwd="/autograder",
        network=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return root


def grade_on_gradescope(packages, data):
    root = packages / "autograder"
    write_submission(root / "submission", data)
    ran = run_in_box({root: "/autograder"}, "/autograder/run_autograder", cwd="/autograder")
    assert ran.returncode == 0, ran.stderr
    return parse_response("gradescope", (root / "results" / "results.json").read_text("utf-8"))


def grade_on_prairielearn(packages, data):
    root = packages / "grade"
    shutil.rmtree(root, ignore_errors=True)
    question = packages / "prairielearn" / "questions" / LAB
    shutil.copytree(question / "tests", root / "tests")
    (root / "student").mkdir()
    (root / "data").mkdir()
    write_submission(root / "student", data)
    engine = packages / "autograder" / "source" / "engine"
    entrypoint = json.loads((question / "info.json").read_text("utf-8"))["externalGradingOptions"][
        "entrypoint"
    ]
    ran = run_in_box({root: "/grade", engine: ENGINE, f"{engine}/": "/engine"}, entrypoint, cwd="/")
    assert ran.returncode == 0, ran.stderr
    return parse_response("prairielearn", (root / "results" / "results.json").read_text("utf-8"))


def grade_on_github(packages, data):
    root = packages / "checkout"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(packages / "github" / LAB, root / "submission")
    shutil.copytree(packages / "github" / "grader", root / "grader")
    write_submission(root / "submission", data)
    for name in ("output", "summary"):
        (root / name).touch()
    engine = packages / "autograder" / "source" / "engine"
    workflow_path = root / "submission" / ".github" / "workflows" / "classroom.yml"
    job = yaml.safe_load(workflow_path.read_text())["jobs"]["run-autograding-tests"]
    (step,) = (step for step in job["steps"] if step.get("id"))
    binds = {root: "/work-of-a-job", engine: ENGINE, f"{engine}/": "/work-of-a-job/grader/engine"}
    env = {
        "GITHUB_OUTPUT": "/work-of-a-job/output",
        "GITHUB_STEP_SUMMARY": "/work-of-a-job/summary",
    }
    ran = run_in_box(binds, "bash", "-e", "-c", step["run"], cwd="/work-of-a-job", env=env)
    assert ran.returncode == 0, ran.stderr
    (line,) = (root / "output").read_text("utf-8").splitlines()
    reply = parse_response("github", line.removeprefix("result="))
    assert (root / "summary").read_text("utf-8").strip() == reply["markdown"].strip()
    return reply


def write_submission(folder, data):
    """Write a submission into a folder, in place of an earlier one."""
    for path in folder.glob("*.ipynb"):
        path.unlink()
    (folder / f"{LAB}.ipynb").write_bytes(data)


def as_bytes(notebook):
    return nbformat.writes(notebook).encode()


HOSTILE = f"""\
import os, socket, subprocess
def {EXERCISE}(size):
    folders = ("/autograder", "/grade", "/work-of-a-job", "/engine")
    found = [folder for folder in folders if os.path.exists(folder)]
    try:
        subprocess.run(["cat", "/autograder/source/course/course.toml"])
    except OSError as error:
        found.append(type(error).__name__)
    raise RuntimeError(f"<script>found {{found}}</script>")"""


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_each_package_grades_in_the_way_of_its_platform(packages, gradescope_folder):
    total, exercise_worth = sum(exercise_points().values()), exercise_points()[EXERCISE]
    exercise = lab(LAB).exercises[EXERCISE]
    submissions = {
        "right": as_bytes(perfect(lab(LAB))),
        "wrong": as_bytes(make_submission(wrong_answer(exercise, exercise.misconceptions[0]))),
        "hostile": as_bytes(make_submission(HOSTILE)),
        "broken": as_bytes(perfect(lab(LAB)))[:5000],  # for others see test_responses.py
    }
    outcomes = {}
    for name, data in submissions.items():
        gradescope = grade_on_gradescope(packages, data)
        prairielearn = grade_on_prairielearn(packages, data)
        github = grade_on_github(packages, data)
        score = sum(test["score"] for test in github["tests"])
        assert gradescope["score"] == score == pytest.approx(prairielearn.get("score", 0) * total)
        assert (github["status"] == "error") == (prairielearn["gradable"] is False)
        outcomes[name] = score, github["status"]
        if name == "hostile":
            text = json.dumps(gradescope)
            # The submission sees neither the platform's folders nor programs.
            assert "found [" in text and "autograder'" not in text and "grade'" not in text
            assert "<script>" not in text
    assert outcomes == {
        "right": (total, "pass"),
        "wrong": (total - exercise_worth, "fail"),
        "hostile": (total - exercise_worth, "fail"),
        "broken": (0, "error"),
    }
    (gradescope_folder / "submission" / f"{LAB}.ipynb").write_bytes(submissions["right"])
    command = [f"{ENGINE}/.venv/bin/autograder", "mark", "/autograder/submission", "--lab", LAB]
    ran = run_in_box(
        {gradescope_folder: "/autograder"},
        *command,
        "--course",
        "/autograder/source/course",
        cwd="/autograder",
    )
    assert json.loads(ran.stdout)["sandbox"] == "webassembly"


@pytest.mark.long
def test_the_fallback_response_remains_if_the_grader_does_not_start(packages, tmp_path):
    """Nothing was set up, so there is no `autograder` program."""
    reason = Bubblewrap.explain_unavailability()
    if reason:
        pytest.skip(reason)
    shutil.copytree(packages / "gradescope", tmp_path / "source")
    (tmp_path / "submission").mkdir()
    script = "/autograder/source/run_autograder"
    ran = run_in_box({tmp_path: "/autograder"}, script, cwd="/autograder")
    assert ran.returncode == 0
    reply = parse_response("gradescope", (tmp_path / "results" / "results.json").read_text("utf-8"))
    assert reply["output"].startswith("<p>The grader failed, so this is no mark.")


@pytest.fixture(scope="module")
def pandas_course(tmp_path_factory):
    """A course whose students may import pandas, with a built lab."""
    folder = tmp_path_factory.mktemp("pandas") / "course"
    shutil.copytree(Path(__file__).parents[1] / "other_course", folder)
    file = folder / "course.toml"
    text = file.read_text("utf-8")
    text = re.sub(r"(?m)^imports = .*\n", "", text)
    file.write_text(text.replace("labs = ", 'imports = ["pandas"]\nlabs = ', 1))
    course = read_course(folder)
    built = autograder("build", course.labs[0], "--course", folder, trials=False)
    assert built.returncode == 0
    return course


@pytest.mark.parametrize(
    ("platform", "engine"),
    [
        ("gradescope", "engine"),
        pytest.param("prairielearn", "image/engine", marks=pytest.mark.long),
        pytest.param("github", "grader/engine", marks=pytest.mark.long),
    ],
)
def test_a_package_installs_the_imports_of_the_courses_labs(
    pandas_course, tmp_path, platform, engine
):
    course = pandas_course
    name = "one.zip" if platform == "gradescope" else "out"
    (output,) = write_package(platform, course, [course.labs[0]], tmp_path / name)
    if output.suffix == ".zip":
        with zipfile.ZipFile(output) as archive:
            archive.extractall(tmp_path / "out")
    folder = tmp_path / "out" / engine
    dependencies = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = (folder / "constraints.txt").read_text().splitlines()
    assert "pandas" in dependencies and "numpy" in dependencies
    assert f"pandas=={metadata.version('pandas')}" in pins


def test_keras_and_missing_packages_are_refused(pandas_course, tmp_path):
    lacking = replace(pandas_course, imports=("no_such_package",))
    with pytest.raises(
        AutograderError, match="students may import no_such_package, which is not installed here"
    ):
        write_package("github", lacking, [lacking.labs[0]], tmp_path / "out")
    with pytest.raises(
        AutograderError, match=r"keras-attention imports keras.*mark it with `autograder grade`"
    ):
        write_package("gradescope", COURSE, ["keras-attention"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_package_holds_the_librarys_data_files_but_nothing_compiled(tmp_path):
    course = replace(COURSE, root=tmp_path, library=("shapes",), data=())
    (tmp_path / "course.toml").write_text("")
    for name in ("__init__.py", "sizes.json", "fonts/a.ttf", "old.pyc", "__pycache__/a.pyc"):
        path = tmp_path / "shapes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    files = collect_course_files(course, [])
    assert sorted(files) == [
        "course.toml",
        "shapes/__init__.py",
        "shapes/fonts/a.ttf",
        "shapes/sizes.json",
    ]


def test_labs_of_one_name_in_two_courses_have_different_uuids():
    """PrairieLearn refuses two questions with the same UUID."""
    uuids = set()
    for course_id in ("statistics", "algebra"):
        for name in ("first-steps", "second-steps"):
            other_lab = replace(
                lab("qkv-attention"), name=name, course=replace(COURSE, id=course_id)
            )
            info = json.loads(_make_prairielearn_question_info(other_lab))
            uuids.add(info["uuid"])
    assert len(uuids) == 4


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("gradescope", "fallback.json"),
        ("prairielearn", f"questions/{LAB}/tests/fallback.json"),
        ("github", f"grader/fallback/{LAB}"),
    ],
)
def test_the_fallback_response_has_the_form_of_its_platform(packages, platform, path):
    fault = report_grader_fault(lab(LAB), "it did not finish.")
    response = RESPONSE_FORMATS[platform](make_platform_result(lab(LAB), fault))
    assert (packages / platform / path).read_text("utf-8") == f"{response}\n"
