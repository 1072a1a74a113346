"""`autograder bundle`: what a student needs, in one zip, with no solution and no instructor's code in it.

The zip is the same to the byte for the same files.
"""

import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path, PurePosixPath
from string import Template

import autograder
from autograder.authoring import projects
from autograder.authoring.lab import read_labs
from autograder.course import FILE, Course, kept_back
from autograder.errors import Complaint, listed
from autograder.files import write as write_file

_ENGINE = Path(autograder.__file__).parent
_README = Path(__file__).parent / "templates" / "bundle" / "README.md.txt"
_KERAS = ("keras", "jax", "tensorflow", "torch")  # what the extra `keras` brings
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


class BundleError(Complaint):
    """A file that students must not have; the text says which."""


def contents(course: Course) -> dict[str, bytes]:
    """The files of the bundle, by their paths in it.

    [bundle] in course.toml says what else there is: `files`, and `renamed` files by the names that they have
    in the bundle.

    Raises
    ------
    Complaint
        If a file is not there or not for students, or a package that the course needs is not installed.
    """
    root = course.root
    needs = _needs(course)
    pins = projects.shipped("constraints.txt").decode()
    pinned = {line.partition("==")[0].lower() for line in pins.splitlines()}
    new = [f"{name}=={number}\n" for name, number in needs.items() if name.lower() not in pinned]
    files = {
        "install.py": projects.shipped("install.py"),
        "constraints.txt": "".join([pins, *new]).encode(),
    }
    files |= projects.held(root, (_own(course, path) for path in _copied(course)))
    core = (path for package in ("", "judging") for path in (_ENGINE / package).glob("*.py"))
    files |= projects.held(_ENGINE.parent, core)
    for name, source in course.bundle.get("renamed", {}).items():
        if (
            PurePosixPath(name).is_absolute()
            or {"..", "."} & set(name.split("/"))
            or re.search(r"[\\:]", name)
        ):
            raise BundleError(f"{root / FILE}: [bundle] names {name!r}, which leads out of the zip's folder.")
        files[name] = _own(course, root / source).read_bytes()
    if "README.md" not in files:
        files["README.md"] = _readme(course)
    about = projects.about()["project"]
    files["pyproject.toml"] = projects.project(
        ["autograder", *course.library],
        ["lab", *(projects.STUDENTS_EXTRAS if "keras" in course.imports else ())],
        name=course.id,
        description=course.title,
        dependencies=[*about["dependencies"], *needs],
    )
    files["environment.yml"] = _ENVIRONMENT.format(python=about["requires-python"], name=course.id).encode()
    return dict(sorted(files.items()))


def _needs(course: Course) -> dict[str, str]:
    """The packages that bring what students may import besides, with the versions that are installed here."""
    found: dict[str, str] = {}
    known = packages_distributions() if set(course.imports) - set(_KERAS) else {}
    for module in course.imports:
        if module in _KERAS and "keras" in course.imports:
            continue
        if module not in known:
            raise Complaint(
                f"{course.root / FILE}: students may import {module}, which is not installed here, so nobody can "
                "say in which version it comes along. Install it beside the engine."
            )
        name = known[module][0]
        found[name] = version(name)
    return found


def _readme(course: Course) -> bytes:
    """The one of a course that brings none of its own."""
    oldest, newest = re.findall(r"3\.(\d+)", projects.about()["project"]["requires-python"])
    labs = read_labs(course).values()
    text = Template(_README.read_text("utf-8")).substitute(
        title=course.title,
        lab=course.labs[0] if course.labs else "a-lab",
        labs="\n".join(f"| {lab.name} | {lab.minutes} | {lab.difficulty} |" for lab in labs),
        pythons=listed((f"3.{minor}" for minor in range(int(oldest), int(newest))), "or"),
    )
    return text.encode()


def _copied(course: Course) -> Iterator[Path]:
    root = course.root
    yield root / FILE
    yield from (root / name for name in course.bundle.get("files", ()))
    for package in course.library:
        yield from sorted((root / package).rglob("*.py"))
    for lab in course.labs:
        yield course.released(lab)
        yield from sorted(course.answers(lab).iterdir())
    yield from map(course.page, course.pages)
    yield from projects.data_files(course)


def _own(course: Course, path: Path) -> Path:
    """A file of the course that students may have, links resolved; raises `BundleError` for any other."""
    place, root = path.resolve(), course.root.resolve()
    given = [
        folder.resolve() for lab in course.labs for folder in (course.released(lab), course.answers(lab))
    ]
    given += [course.page(name).resolve() for name in course.pages]
    kept = any(place.is_relative_to(folder) for folder in kept_back(root))
    if ".." in path.parts or (kept and not any(place.is_relative_to(one) for one in given)):
        raise BundleError(f"{path} is not for students: take it out of {FILE}.")
    if not any(place.is_relative_to((root / part).resolve()) for part in ("", *course.library, *course.data)):
        raise BundleError(f"{path} leads out of the course: take it out of {FILE}.")
    return path


def write(course: Course, target: Path | None = None) -> Path:
    """Write the zip; by default `dist/<id>.zip`."""
    target = target or course.root / "dist" / f"{course.id}.zip"
    try:
        files = contents(course)
    except FileNotFoundError as error:
        raise Complaint(f"There is no file {error.filename}; run `autograder build` first.") from None
    write_file(target, projects.zipped((f"{course.id}/{name}", files[name]) for name in files))
    return target
