"""Make the zip of a course for students, for `autograder bundle`.

The zip holds everything that a student needs, but no solution and no code for instructors. Zipping
the same files again gives the same bytes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from string import Template

import autograder
from autograder.authoring import distribution
from autograder.authoring.lab import read_labs
from autograder.core.course import COURSE_FILE, Course, list_private_folders
from autograder.core.errors import AutograderError
from autograder.core.files import write_file
from autograder.core.text_format import join_words
from autograder.student import STUDENT_PACKAGES

_ENGINE = Path(autograder.__file__).parent
_README = Path(__file__).parent / "templates" / "bundle" / "README.md.txt"
_ENVIRONMENT = """\
# For those who use conda: conda env create -f environment.yml
name: {name}
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python {python}
  - pip
  - pip:
      - -c constraints.txt
      - -e .[lab]
"""


class BundleError(AutograderError):
    """Error for a file that must not be in the students' zip. The text names the file."""


def collect_student_zip_files(course: Course) -> dict[str, bytes]:
    """Return the contents of all files in the students' zip, by their paths in the zip.

    The section [bundle] of course.toml can name further files. Its list `files` has files that keep
    their paths, and its table `renamed` has the path of a file in the course for a path in the zip.

    Raises
    ------
    BundleError
        If a file is not for students or lies outside of the course's folder.
    AutograderError
        If a package that the course needs is not installed.
    FileNotFoundError
        If a file does not exist.
    """
    root = course.root
    packages = distribution.find_allowed_package_versions(course)
    files = {
        "install.py": distribution.read_root_file("install.py"),
        "constraints.txt": distribution.make_constraints(packages),
    }
    # Check and read the files one by one. Otherwise an error could be about a later file than the
    # first one that has a problem.
    course_files = (_require_public_path(course, path) for path in _list_files_for_students(course))
    files |= distribution.read_files(root, course_files)
    for part in ("", *STUDENT_PACKAGES, "cli"):
        files |= distribution.read_files(_ENGINE.parent, (_ENGINE / part).glob("*.py"))
    for name, source in course.bundle.get("renamed", {}).items():
        if _leaves_folder(name):
            problem = f"[bundle] names {name!r}, which leads out of the zip's folder."
            raise BundleError(f"{root / COURSE_FILE}: {problem}")
        files[name] = _require_public_path(course, root / source).read_bytes()
    if "README.md" not in files:
        files["README.md"] = _make_student_readme(course)
    files["pyproject.toml"] = _make_student_pyproject(course, packages)
    python = distribution.read_pyproject()["project"]["requires-python"]
    files["environment.yml"] = _ENVIRONMENT.format(python=python, name=course.id).encode()
    return dict(sorted(files.items()))


def _leaves_folder(name: str) -> bool:
    """Return True if unpacking a file with this path could write it outside of the zip's folder.

    This includes paths that are harmless on one operating system and not on another.
    """
    has_dots = bool({"..", "."} & set(name.split("/")))
    return PurePosixPath(name).is_absolute() or has_dots or bool(re.search(r"[\\:]", name))


def _make_student_pyproject(course: Course, packages: Mapping[str, str]) -> bytes:
    extras = ["lab"]
    if "keras" in course.imports:
        extras += distribution.STUDENT_EXTRAS
    return distribution.make_pyproject(
        ["autograder", *course.library],
        extras,
        name=course.id,
        description=course.title,
        dependencies=[*distribution.read_pyproject()["project"]["dependencies"], *packages],
    )


def _make_student_readme(course: Course) -> bytes:
    """Return a README for students, for a course that has no README.md."""
    versions = distribution.read_pyproject()["project"]["requires-python"]
    oldest, newest = re.findall(r"3\.(\d+)", versions)
    labs = read_labs(course).values()
    rows = [f"| {lab.name} | {lab.minutes} | {lab.difficulty} |" for lab in labs]
    text = Template(_README.read_text("utf-8")).substitute(
        title=course.title,
        lab=course.labs[0] if course.labs else "a-lab",
        labs="\n".join(rows),
        pythons=join_words([f"3.{minor}" for minor in range(int(oldest), int(newest))], "or"),
    )
    return text.encode()


def _list_files_for_students(course: Course) -> Iterator[Path]:
    """Yield the paths of the course's files that belong into the students' zip."""
    root = course.root
    yield root / COURSE_FILE
    for name in course.bundle.get("files", ()):
        yield root / name
    for package in course.library:
        yield from sorted((root / package).rglob("*.py"))
    for lab in course.labs:
        yield course.released_notebook_path(lab)
        yield from sorted(course.answer_key_folder(lab).iterdir())
    for page in course.pages:
        yield course.page_notebook_path(page)
    yield from distribution.list_data_files(course)


def _require_public_path(course: Course, path: Path) -> Path:
    """Return `path` unchanged if students may have the file; otherwise raise BundleError."""
    target, root = path.resolve(), course.root.resolve()
    public_paths = [course.page_notebook_path(name).resolve() for name in course.pages]
    for lab in course.labs:
        public_paths.append(course.released_notebook_path(lab).resolve())
        public_paths.append(course.answer_key_folder(lab).resolve())
    is_private = _lies_in(target, list_private_folders(root)) and not _lies_in(target, public_paths)
    if ".." in path.parts or is_private:
        raise BundleError(f"{path} is not for students: take it out of {COURSE_FILE}.")
    parts = [(root / part).resolve() for part in ("", *course.library, *course.data)]
    if not _lies_in(target, parts):
        raise BundleError(f"{path} leads out of the course: take it out of {COURSE_FILE}.")
    return path


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def write_students_zip(course: Course, target: Path | None = None) -> Path:
    """Write the students' zip, by default to `dist/<course id>.zip`, and return its path.

    Raises
    ------
    AutograderError
        If a notebook or an answer key was not built, or for the reasons in `collect_student_zip_files`.
    """
    target = target or course.root / "dist" / f"{course.id}.zip"
    try:
        files = collect_student_zip_files(course)
    except FileNotFoundError as error:
        problem = f"There is no file {error.filename}"
        raise AutograderError(f"{problem}; run `autograder build` first.") from None
    members = [(f"{course.id}/{name}", content) for name, content in files.items()]
    write_file(target, distribution.make_zip(members))
    return target
