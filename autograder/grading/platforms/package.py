"""What makes a platform mark a lab: the engine with its pinned packages, the lab's author's side, and the scripts.

gradescope      <lab>.zip, for "Configure Autograder"
prairielearn    image/ for the grader's image; questions/<lab>/, each with its author's side in tests/
github          <lab>/, the students' template; grader/, a private repository with the author's side

The same files give the same bytes. What is here holds solutions: docs/platforms.md says who may see it.
"""

import hashlib
import html
import json
import re
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from autograder.authoring import projects
from autograder.authoring.lab import Lab, read_lab
from autograder.authoring.projects import Files
from autograder.course import FILE, Course
from autograder.errors import Complaint, Usage
from autograder.files import write
from autograder.grading.marking import faulty
from autograder.grading.platforms.one import outcome_of
from autograder.grading.platforms.replies import FORMS

_TEMPLATES = Path(__file__).parent / "templates"
_SECONDS = 600  # the most that PrairieLearn allows; the script gives up before


def package(platform: str, course: Course, names: Sequence[str], output: Path | None = None) -> list[Path]:
    """Write what a platform needs to mark these labs; gives the files or folders that were written.

    Parameters
    ----------
    platform : str
        "gradescope", "prairielearn" or "github".
    names : sequence of str
        Labs of the course.
    output : Path, optional
        A folder, by default dist/<platform>; of one lab for Gradescope, also the zip's own name.

    Raises
    ------
    Usage
        If there is no such lab, or what would be written is there.
    Complaint
        If a lab was not built, or cannot be had whole.
    """
    labs = [read_lab(course, name) for name in dict.fromkeys(names)]
    for lab in labs:
        if not lab.released.is_file():
            raise Complaint(
                f"{lab.name} is not released: there is no file {lab.released}. Run `autograder build`."
            )
    output = output or course.root / "dist" / platform
    if platform == "gradescope":
        alone = output.suffix == ".zip"
        if alone and len(labs) > 1:
            raise Usage(
                f"{output} is one zip, and each of these labs needs its own: name a folder with --output."
            )
        zips = {(output if alone else output / f"{lab.name}.zip"): lab for lab in labs}
        for path in zips:
            _must_be_free(path)
        for path, lab in zips.items():
            write(path, projects.zipped(sorted(_gradescope(lab).items())))
        return list(zips)
    _must_be_free(output)
    _write_folder(output, (_prairielearn if platform == "prairielearn" else _github)(course, labs))
    return [output]


def _must_be_free(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise Usage(f"{path} is there already: take it away, or name another place with --output.")


def _gradescope(lab: Lab) -> Files:
    return {
        "setup.sh": _template("setup.sh"),
        "run_autograder": _template("run_autograder", lab),
        "fallback.json": _fallback("gradescope", lab),
        **_below("engine", projects.engine()),
        **_below("course", course_files(lab.course, [lab])),
    }


def _prairielearn(course: Course, labs: Sequence[Lab]) -> Files:
    files = {"image/Dockerfile": _template("Dockerfile"), **_below("image/engine", projects.engine())}
    for lab in labs:
        question = {
            "info.json": _question_info(lab),
            "question.html": _template("question.html", lab),
            "tests/run.sh": _template("run.sh", lab),
            "tests/fallback.json": _fallback("prairielearn", lab),
            **_below("tests/course", course_files(course, [lab])),
        }
        files |= _below(f"questions/{lab.name}", question)
    return files


def _question_info(lab: Lab) -> bytes:
    course = lab.course
    digest = hashlib.sha256(f"{course.id}/{lab.name}".encode()).digest()
    info = {
        "uuid": str(uuid.UUID(bytes=digest[:16], version=4)),
        "title": lab.title,
        "topic": course.title,
        "tags": ["code"],
        "type": "v3",
        "singleVariant": True,
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": f"{course.id}-grader",
            "entrypoint": "/grade/tests/run.sh",
            "timeout": _SECONDS,
            "enableNetworking": False,
        },
    }
    return f"{json.dumps(info, indent=2, ensure_ascii=False)}\n".encode()


def _github(course: Course, labs: Sequence[Lab]) -> Files:
    files = {
        "grader/mark": _template("mark"),
        **_below("grader/engine", projects.engine()),
        **_below("grader/course", course_files(course, labs)),
    }
    for lab in labs:
        files[f"grader/fallback/{lab.name}"] = _fallback("github", lab)
        files[f"{lab.name}/.github/workflows/classroom.yml"] = _template("classroom.yml", lab)
        files[f"{lab.name}/{lab.name}.ipynb"] = lab.released.read_bytes()
    return files


def course_files(course: Course, labs: Sequence[Lab]) -> Files:
    """The author's side of these labs, with what of the course they need."""
    places = [course.root / FILE, *projects.data_files(course)]
    for lab in labs:
        places += [*projects.all_files(lab.folder), *projects.all_files(lab.released.parent)]
    for name in course.library:
        places += [path for path in projects.all_files(course.root / name) if path.suffix != ".pyc"]
    return projects.held(course.root, places)


def _fallback(platform: str, lab: Lab) -> bytes:
    """The answer that stands if the grader is killed, or does not start."""
    return f"{FORMS[platform](outcome_of(lab, faulty(lab, 'it did not finish.')))}\n".encode()


def _template(name: str, lab: Lab | None = None) -> bytes:
    text = (_TEMPLATES / name).read_text("utf-8")
    if lab:
        # In a question, two braces would begin a tag of its own.
        text = text.replace("@TITLE@", re.sub("[{}]", "", html.escape(lab.title))).replace("@LAB@", lab.name)
    return text.encode()


def _below(folder: str, files: Files) -> Files:
    return {f"{folder}/{name}": data for name, data in files.items()}


def _write_folder(folder: Path, files: Files) -> None:
    """Write a folder whole or not at all: beside it first, then renamed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        projects.write_files(beside, files)
        beside.chmod(0o755)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
