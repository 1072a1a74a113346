"""`make bundle`: what a student needs, in one zip, with no solution and no instructor's code in it.

    python -m autograder.authoring.bundle [ZIP]      by default dist/<the course's id>.zip

The zip is the same to the byte for the same files.
"""

import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import autograder
from autograder.course import FILE, Course, find, kept_back
from autograder.errors import Complaint

_ENGINE = Path(autograder.__file__).parent
_SAME_TIME = (2025, 1, 1, 0, 0, 0)
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
    """
    root = course.root
    copied = (_own(course, path) for path in _copied(course))
    files = {str(path.relative_to(root)): path.read_bytes() for path in copied}
    for package in ("", "judging"):
        for path in sorted((_ENGINE / package).glob("*.py")):
            files[f"autograder/{path.relative_to(_ENGINE)}"] = path.read_bytes()
    for name, source in course.bundle.get("renamed", {}).items():
        if (
            PurePosixPath(name).is_absolute()
            or {"..", "."} & set(name.split("/"))
            or re.search(r"[\\:]", name)
        ):
            raise BundleError(f"{root / FILE}: [bundle] names {name!r}, which leads out of the zip's folder.")
        files[name] = _own(course, root / source).read_bytes()
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    files["pyproject.toml"] = core_project(project, course).encode()
    python = project["project"]["requires-python"]
    files["environment.yml"] = _ENVIRONMENT.format(python=python, name=course.id).encode()
    return dict(sorted(files.items()))


def _copied(course: Course) -> Iterator[Path]:
    root = course.root
    yield root / FILE
    yield from (root / name for name in course.bundle.get("files", ()))
    for package in course.library:
        yield from sorted((root / package).rglob("*.py"))
    for lab in course.labs:
        yield course.released(lab)
        yield from sorted(course.answers(lab).iterdir())
    for folder in course.data:  # not the programs that made the data: they may hold answers
        files = sorted(p for p in (root / folder).iterdir() if p.is_file() and p.name[0] != ".")
        yield from (path for path in files if path.suffix != ".py")


def _own(course: Course, path: Path) -> Path:
    """A file of the course that students may have, links resolved; raises `BundleError` for any other."""
    place, root = path.resolve(), course.root.resolve()
    given = [
        folder.resolve() for lab in course.labs for folder in (course.released(lab), course.answers(lab))
    ]
    kept = any(place.is_relative_to(folder) for folder in kept_back(root))
    if ".." in path.parts or (kept and not any(place.is_relative_to(one) for one in given)):
        raise BundleError(f"{path} is not for students: take it out of {FILE}.")
    if not any(place.is_relative_to((root / part).resolve()) for part in ("", *course.library, *course.data)):
        raise BundleError(f"{path} leads out of the course: take it out of {FILE}.")
    return path


def core_project(project: dict, course: Course) -> str:
    """A pyproject.toml that installs the core, with extras for the labs, from the repository's own."""
    about = project["project"]
    extras = about["optional-dependencies"]
    lines = [
        "[build-system]",
        *entries(project["build-system"]),
        "",
        "[project]",
        *entries({k: v for k, v in about.items() if isinstance(v, (str, list))}),
        "",
        "[project.optional-dependencies]",
        *entries({name: extras[name] for name in ("lab", "keras", "jax", "torch")}),
        "",
        "[project.scripts]",
        *entries(about["scripts"]),
        "",
        "[tool.setuptools.packages.find]",
        *entries({"include": ["autograder*", *(f"{package}*" for package in course.library)]}),
    ]
    return "\n".join(lines) + "\n"


def entries(table: dict) -> list[str]:
    """Strings and lists of strings as TOML writes them, which is how JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


def write(course: Course, target: Path | None = None) -> Path:
    """Write the zip; by default `dist/<id>.zip`."""
    target = target or course.root / "dist" / f"{course.id}.zip"
    try:
        files = contents(course)
    except FileNotFoundError as error:
        raise Complaint(f"There is no file {error.filename}; run `make build` first.") from None
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(f"{course.id}/{name}", _SAME_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return target


if __name__ == "__main__":
    try:
        zipped = write(find(), *map(Path, sys.argv[1:2]))
    except Complaint as complaint:
        sys.exit(str(complaint))
    print(f"{zipped}: {zipped.stat().st_size / 1e6:.1f} MB")
