"""Parts of the repository as projects of their own, their wheels, and zips that are the same for the same files.

    python -m autograder.authoring.projects [FOLDER]      what a release holds, by default in dist/

The engine's project is what is installed where hand-ins are marked; students install its core with the labs. Both
are made from the repository's pyproject.toml, or in an installed engine from the copy that its wheel brought.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import autograder
from autograder.course import Course, find
from autograder.errors import Complaint

ENGINE = "labs-autograder"
STUDENTS_EXTRAS = ("keras", "jax", "torch")

Files = dict[str, bytes]

_PACKAGE = Path(autograder.__file__).parent
_SHIPPED = "shipped"  # in the wheel: what stands at the repository's root
_AT_ROOT = ("pyproject.toml", "constraints.txt", "install.py", "LICENSE")
_NOT_OURS = {"__pycache__", ".ipynb_checkpoints"}
_WHEN = (2025, 1, 1, 0, 0, 0)


def shipped(name: str) -> bytes:
    """A file of the repository's root, wherever this engine was installed from."""
    brought = _PACKAGE / _SHIPPED
    return ((brought if brought.is_dir() else _PACKAGE.parent) / name).read_bytes()


def about() -> dict[str, Any]:
    """What the repository's pyproject.toml says."""
    return tomllib.loads(shipped("pyproject.toml").decode("utf-8"))


def project(
    packages: Sequence[str],
    extras: Iterable[str],
    data: Mapping[str, Sequence[str]] | None = None,
    scripts: bool = True,
    **fields: str | list[str],
) -> bytes:
    """A pyproject.toml that installs some packages, from the repository's own.

    Parameters
    ----------
    packages : sequence of str
        With all that they hold.
    extras : iterable of str
        Those of the repository's that it has, too.
    data : mapping of str to sequence of str, optional
        Patterns of files that are no programs, by package.
    **fields
        What stands in [project] in place of the repository's own.
    """
    own = about()
    listed = own["project"]
    # Not the files that are named there: they may not come along.
    fields = {
        name: value for name, value in listed.items() if name not in ("readme", "license-files")
    } | fields
    lines = [
        "[build-system]",
        *_entries(own["build-system"]),
        "",
        "[project]",
        *_entries({name: value for name, value in fields.items() if isinstance(value, (str, list))}),
        "",
        "[project.optional-dependencies]",
        *_entries({name: listed["optional-dependencies"][name] for name in extras}),
        "",
        *(["[project.scripts]", *_entries(listed["scripts"]), ""] if scripts else []),
        "[tool.setuptools.packages.find]",
        *_entries({"include": [f"{package}*" for package in packages]}),
    ]
    if data:
        lines += ["", "[tool.setuptools.package-data]", *_entries(data)]
    return ("\n".join(lines) + "\n").encode()


def _entries(table: Mapping[str, Any]) -> list[str]:
    """Strings and lists of strings as TOML writes them, which is how JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


def engine() -> Files:
    """The engine as a project, to be installed by install.py or made a wheel of."""
    root = _PACKAGE.parent
    files = held(root, [*filter(_is_engines, all_files(_PACKAGE)), *all_files(root / "alike")])
    for name in _AT_ROOT:
        files[f"autograder/{_SHIPPED}/{name}"] = shipped(name)
        files[name] = shipped(name)
    extras = about()["project"]["optional-dependencies"]
    files["pyproject.toml"] = project(
        ["autograder", "alike"],
        [name for name in extras if name not in (*STUDENTS_EXTRAS, "test")],
        {"autograder": ["**/templates/**", f"{_SHIPPED}/*"], "alike": ["*.html"]},
        name=ENGINE,
        description="Labs in Jupyter, and the autograder that marks them.",
    )
    return files


def _is_engines(path: Path) -> bool:
    return path.suffix == ".py" or "templates" in path.parts or path.parent.name == _SHIPPED


def held(root: Path, paths: Iterable[Path]) -> Files:
    """What these files hold, by their names below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def library(course: Course) -> Files:
    """What a course's notebooks import, as a project that needs the engine of the same version."""
    listed = about()["project"]
    paths = (path for package in course.library for path in all_files(course.root / package))
    files = held(course.root, (path for path in paths if path.suffix == ".py"))
    files["pyproject.toml"] = project(
        course.library,
        STUDENTS_EXTRAS,
        scripts=False,
        name=course.id,
        description=course.title,
        dependencies=[f"{ENGINE}=={listed['version']}", "matplotlib", "numpy"],
    )
    return files


def data_files(course: Course) -> Iterator[Path]:
    """What the course's library reads: files of its data folders themselves, but no programs.

    What made the data may hold answers, and what lies deeper may be anybody's.
    """
    for name in course.data:
        folder = course.root / name
        yield from (p for p in sorted(folder.iterdir()) if p.is_file() and not _no_data(p))


def _no_data(path: Path) -> bool:
    return path.suffix == ".py" or path.name.startswith(".")


def all_files(folder: Path) -> Iterator[Path]:
    """All files below a folder, without what programs leave there."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if path.is_file() and not any(part in _NOT_OURS or part.startswith(".") for part in inside):
            yield path


def zipped(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A zip of files by their names, in their order: the same to the byte each time, on every system.

    What begins as a script does may be executed.
    """
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # whichever system this is: the permissions are Unix's
            info.external_attr = (0o100755 if is_program(content) else 0o100644) << 16
            archive.writestr(info, content)
    return made.getvalue()


def is_program(content: bytes) -> bool:
    """Whether a file begins as a script does."""
    return content.startswith(b"#!")


def write_files(folder: Path, files: Files) -> None:
    """Write files into a folder that is there, with the folders that they need."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if is_program(content) else 0o644)


def wheel(files: Files, target: Path) -> Path:
    """Make a wheel of a project, with pip, which fetches what builds it.

    Raises
    ------
    Complaint
        If pip cannot; the text has its last line.
    """
    with tempfile.TemporaryDirectory() as name:
        source, made = Path(name, "source"), Path(name, "made")
        source.mkdir()
        write_files(source, files)
        command = ["pip", "wheel", "-q", "--no-deps", "--no-input", "-w", str(made), str(source)]
        run_python("pip made no wheel", *command)
        (built,) = made.iterdir()
        target.mkdir(parents=True, exist_ok=True)
        (target / built.name).write_bytes(built.read_bytes())
    return target / built.name


def run_python(failed: str, *command: str, cwd: Path | None = None, says: str = "") -> None:
    """Run a module of this Python.

    Raises
    ------
    Complaint
        If it cannot: `failed`, and its last line that has `says` in it.
    """
    ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=cwd)
    if ran.returncode:
        lines = [line.strip() for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        told = [line for line in lines if says in line] or ["no reason was given"]
        raise Complaint(f"{failed}: {told[-1]}")


def release(course: Course, target: Path) -> list[Path]:
    """Write what a release holds: the engine's wheel, the library's, the pins, and the students' zip."""
    from autograder.authoring import bundle

    pins = target / "constraints.txt"
    made = [wheel(engine(), target), wheel(library(course), target), pins]
    pins.write_bytes(shipped("constraints.txt"))
    return [*made, bundle.write(course, target / f"{course.id}.zip")]


if __name__ == "__main__":
    try:
        for path in release(find(), Path(*sys.argv[1:2] or ["dist"])):
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    except Complaint as complaint:
        sys.exit(str(complaint))
