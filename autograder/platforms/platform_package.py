"""Write the files that Gradescope, PrairieLearn or GitHub Classroom needs for grading a lab.

A package holds the autograder with its pinned dependencies, the lab's files with the solution, and
scripts. It consists of these files:

gradescope      <lab>.zip, to be uploaded under "Configure Autograder"
prairielearn    image/, from which the grader's image is built, and a question in questions/<lab>/
                with the lab's files in its folder tests/
github          <lab>/, the template of the students' repositories, and grader/, a private
                repository with the lab's files

Packaging the same files again gives the same bytes. docs/platforms.md says who may see a package,
since it holds solutions.
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

from autograder.authoring import distribution
from autograder.authoring.distribution import Files
from autograder.authoring.lab import Lab, read_lab
from autograder.core.course import COURSE_FILE, Course
from autograder.core.errors import AutograderError, UsageError
from autograder.core.files import write_file
from autograder.core.text_format import join_words
from autograder.grading.grade_submission import report_grader_fault
from autograder.platforms.grade_one import make_platform_result
from autograder.platforms.responses import RESPONSE_FORMATS

_TEMPLATES = Path(__file__).parent / "templates"
_MAX_SECONDS = 600  # after which PrairieLearn ends the grading; our script stops earlier


def write_package(
    platform: str, course: Course, names: Sequence[str], output: Path | None = None
) -> list[Path]:
    """Write the files that a platform needs to grade labs.

    Parameters
    ----------
    platform : str
        "gradescope", "prairielearn" or "github".
    names : sequence of str
        Names of labs of the course.
    output : Path, optional
        Folder to write to; by default dist/<platform>. For Gradescope and a single lab it may also
        be the path of the zip.

    Returns
    -------
    list of Path
        Paths of the new files or folders.

    Raises
    ------
    UsageError
        If there is no such lab, a lab imports Keras, or the output exists already.
    AutograderError
        If a lab was not built, or a package that the course needs is not installed.
    """
    labs = [read_lab(course, name) for name in dict.fromkeys(names)]
    for lab in labs:
        _check_lab_can_be_packaged(platform, lab)
    output = output or course.root / "dist" / platform
    if platform == "gradescope":
        return _write_gradescope_zips(labs, output)
    _require_unused_path(output)
    make_files = (
        _make_prairielearn_package_files
        if platform == "prairielearn"
        else _make_github_package_files
    )
    _write_new_folder(output, make_files(course, labs))
    return [output]


def _check_lab_can_be_packaged(platform: str, lab: Lab) -> None:
    if not lab.release_path.is_file():
        problem = f"{lab.name} is not released: there is no file {lab.release_path}."
        raise AutograderError(f"{problem} Run `autograder build`.")
    keras_modules = sorted(lab.imported_course_packages & set(distribution.KERAS_MODULES))
    if keras_modules:
        raise UsageError(
            f"{lab.name} imports {join_words(keras_modules)}, which a package for {platform} does "
            "not install: mark it with `autograder grade`, and leave it out here."
        )


def _write_gradescope_zips(labs: Sequence[Lab], output: Path) -> list[Path]:
    """Write a zip for Gradescope for each lab."""
    is_zip = output.suffix == ".zip"
    if is_zip and len(labs) > 1:
        problem = f"{output} is one zip, and each of these labs needs its own"
        raise UsageError(f"{problem}: name a folder with --output.")
    zips = {(output if is_zip else output / f"{lab.name}.zip"): lab for lab in labs}
    for path in zips:
        _require_unused_path(path)
    for path, lab in zips.items():
        files = sorted(_make_gradescope_package_files(lab).items())
        write_file(path, distribution.make_zip(files))
    return list(zips)


def _require_unused_path(path: Path) -> None:
    if path.exists() or path.is_symlink():
        advice = "take it away, or name another place with --output"
        raise UsageError(f"{path} is there already: {advice}.")


def _make_gradescope_package_files(lab: Lab) -> Files:
    return {
        "setup.sh": _fill_template("setup.sh"),
        "run_autograder": _fill_template("run_autograder", lab),
        "fallback.json": _make_fallback_response("gradescope", lab),
        **_put_below("engine", _collect_engine(lab.course)),
        **_put_below("course", collect_course_files(lab.course, [lab])),
    }


def _make_prairielearn_package_files(course: Course, labs: Sequence[Lab]) -> Files:
    files = {
        "image/Dockerfile": _fill_template("Dockerfile"),
        **_put_below("image/engine", _collect_engine(course)),
    }
    for lab in labs:
        question = {
            "info.json": _make_prairielearn_question_info(lab),
            "question.html": _fill_template("question.html", lab),
            "tests/run.sh": _fill_template("run.sh", lab),
            "tests/fallback.json": _make_fallback_response("prairielearn", lab),
            **_put_below("tests/course", collect_course_files(course, [lab])),
        }
        files |= _put_below(f"questions/{lab.name}", question)
    return files


def _make_prairielearn_question_info(lab: Lab) -> bytes:
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
            "timeout": _MAX_SECONDS,
            "enableNetworking": False,
        },
    }
    return f"{json.dumps(info, indent=2, ensure_ascii=False)}\n".encode()


def _make_github_package_files(course: Course, labs: Sequence[Lab]) -> Files:
    files = {
        "grader/mark": _fill_template("mark"),
        **_put_below("grader/engine", _collect_engine(course)),
        **_put_below("grader/course", collect_course_files(course, labs)),
    }
    for lab in labs:
        workflow = _fill_template("classroom.yml", lab)
        files[f"grader/fallback/{lab.name}"] = _make_fallback_response("github", lab)
        files[f"{lab.name}/.github/workflows/classroom.yml"] = workflow
        files[f"{lab.name}/{lab.name}.ipynb"] = lab.release_path.read_bytes()
    return files


def _collect_engine(course: Course) -> Files:
    """Return the files of a Python project whose installation by pip installs the autograder.

    The project also installs the packages that the course's notebooks import.
    """
    return distribution.make_engine_project_files(
        distribution.find_allowed_package_versions(course)
    )


def collect_course_files(course: Course, labs: Sequence[Lab]) -> Files:
    """Return those files of the course that are needed to grade certain labs.

    These are the labs with their solutions, the released notebooks, the course's data and library,
    and course.toml.
    """
    paths = [course.root / COURSE_FILE, *distribution.list_data_files(course)]
    for lab in labs:
        paths += distribution.list_files(lab.folder)
        paths += distribution.list_files(lab.release_path.parent)
    for name in course.library:
        library_paths = distribution.list_files(course.root / name)
        paths += [path for path in library_paths if path.suffix != ".pyc"]
    return distribution.read_files(course.root, paths)


def _make_fallback_response(platform: str, lab: Lab) -> bytes:
    """Return the response that a platform gets if the grader does not finish.

    The scripts of the package write it before they start the grader.
    """
    fault = report_grader_fault(lab, "it did not finish.")
    response = RESPONSE_FORMATS[platform](make_platform_result(lab, fault))
    return f"{response}\n".encode()


def _fill_template(name: str, lab: Lab | None = None) -> bytes:
    text = (_TEMPLATES / name).read_text("utf-8")
    if lab:
        # PrairieLearn takes two braces in question.html as the start of a tag. So remove all
        # braces.
        title = re.sub("[{}]", "", html.escape(lab.title))
        text = text.replace("@TITLE@", title).replace("@LAB@", lab.name)
    return text.encode()


def _put_below(folder: str, files: Files) -> Files:
    return {f"{folder}/{name}": content for name, content in files.items()}


def _write_new_folder(folder: Path, files: Files) -> None:
    """Write files into a new folder; after an error, delete what was written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work_folder = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        distribution.write_files(work_folder, files)
        work_folder.chmod(0o755)
        work_folder.rename(folder)
    except BaseException:
        shutil.rmtree(work_folder, ignore_errors=True)
        raise
