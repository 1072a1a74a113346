"""Package the autograder and a course's library as pip projects, wheels and zips.

    python -m autograder.authoring.distribution [FOLDER]    write a release, by default to dist/

The whole autograder, called the engine here, is installed on the machine that grades. Students get
the course's labs and library, with the part of the autograder that they need. The pyproject.toml of
each package is made from the repository's pyproject.toml. The engine's wheel contains a copy of
that file, so that an installed engine can make packages, too.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions, version
from io import BytesIO
from pathlib import Path
from typing import Any

import autograder
from autograder.core.course import COURSE_FILE, Course, find_course
from autograder.core.errors import AutograderError

ENGINE = "labs-autograder"
COMPANION_PACKAGES = ("course_import", "course_site", "similarity")  # installed with the engine
STUDENT_EXTRAS = ("keras", "jax", "torch")
KERAS_MODULES = ("keras", "jax", "tensorflow", "torch")  # modules that the extra `keras` installs

Files = dict[str, bytes]  # contents of files by their relative paths

_PACKAGE = Path(autograder.__file__).parent
_ROOT_COPY = "shipped"  # folder in the engine's wheel for copies of files of the repository's root
_ROOT_FILES = ("pyproject.toml", "constraints.txt", "install.py", "LICENSE")
_GENERATED_FOLDERS = {"__pycache__", ".ipynb_checkpoints"}
_ZIP_DATE = (2025, 1, 1, 0, 0, 0)


def read_root_file(name: str) -> bytes:
    """Return the content of a file in the repository's root.

    An installed engine has no repository, and reads the copy in its own package.
    """
    root = _PACKAGE.parent
    if (_PACKAGE / _ROOT_COPY).is_dir():
        root = _PACKAGE / _ROOT_COPY
    return (root / name).read_bytes()


def read_pyproject() -> dict[str, Any]:
    """Return the content of the repository's pyproject.toml."""
    return tomllib.loads(read_root_file("pyproject.toml").decode("utf-8"))


def make_pyproject(
    packages: Sequence[str],
    extras: Iterable[str],
    data: Mapping[str, Sequence[str]] | None = None,
    scripts: bool = True,
    **fields: str | list[str],
) -> bytes:
    """Return a pyproject.toml for some packages, made from the repository's pyproject.toml.

    Parameters
    ----------
    packages : sequence of str
        Names of the Python packages to install, with their subpackages.
    extras : iterable of str
        Extras (groups of optional dependencies) to take over from the repository's file.
    data : mapping of str to sequence of str, optional
        Patterns of the data files to install, by package.
    scripts : bool
        Take over the commands, such as `autograder`.
    **fields
        Entries of [project] that replace those of the repository's file.
    """
    pyproject = read_pyproject()
    project = pyproject["project"]
    # Leave out the entries "readme" and "license-files": they name files that the new project may
    # not contain.
    entries = {**project, **fields}
    for name in list(entries):
        is_file = name in ("readme", "license-files") and name not in fields
        if is_file or not isinstance(entries[name], (str, list)):
            del entries[name]
    optional = {name: project["optional-dependencies"][name] for name in extras}
    tables = {
        "build-system": pyproject["build-system"],
        "project": entries,
        "project.optional-dependencies": optional,
    }
    if scripts:
        tables["project.scripts"] = project["scripts"]
    tables |= _select_entry_points(project["entry-points"], packages)
    patterns = [f"{package}*" for package in packages]
    tables["tool.setuptools.packages.find"] = {"include": patterns}
    if data:
        tables["tool.setuptools.package-data"] = data
    return "\n".join(map(_format_toml_table, tables, tables.values())).encode()


def _select_entry_points(
    groups: Mapping[str, Mapping[str, str]], packages: Sequence[str]
) -> dict[str, Mapping[str, str]]:
    """Return the entry points (such as commands) that are defined in `packages`, by TOML table.

    Parameters
    ----------
    groups : mapping of str to mapping
        Entry points of the repository's pyproject.toml, by group and name.
    packages : sequence of str
        Names of the Python packages.
    """
    tables: dict[str, Mapping[str, str]] = {}
    for group, entry_points in groups.items():
        selection = {}
        for name, target in entry_points.items():
            if target.split(".")[0] in packages:
                selection[name] = target
        if selection:
            tables[f'project.entry-points."{group}"'] = selection
    return tables


def _format_toml_table(name: str, entries: Mapping[str, Any]) -> str:
    """Return the text of a TOML table whose values are strings and lists of strings.

    TOML writes such values in the same way as JSON.
    """
    lines = [f"[{name}]"]
    for key, value in entries.items():
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def find_allowed_package_versions(course: Course) -> dict[str, str]:
    """Return the installed version of each package that students of a course may import.

    Returns
    -------
    dict of str to str
        Installed version of each package on PyPI, by its name.

    Raises
    ------
    AutograderError
        If no installed package provides a module.
    """
    packages: dict[str, str] = {}
    providers: Mapping[str, list[str]] = {}
    if set(course.imports) - set(KERAS_MODULES):
        providers = packages_distributions()
    for module in course.imports:
        if module in KERAS_MODULES and "keras" in course.imports:
            continue
        if module not in providers:
            raise AutograderError(
                f"{course.root / COURSE_FILE}: students may import {module}, which is not installed "
                "here, so its version is unknown. Install it in the same environment as the engine."
            )
        name = providers[module][0]
        packages[name] = version(name)
    return packages


def make_constraints(packages: Mapping[str, str]) -> bytes:
    """Return the repository's constraints.txt, extended by the exact versions of further packages.

    Parameters
    ----------
    packages : mapping of str to str
        Versions by package. Packages that constraints.txt pins already are skipped.
    """
    text = read_root_file("constraints.txt").decode()
    names = {line.partition("==")[0].lower() for line in text.splitlines()}
    for name, number in packages.items():
        if name.lower() not in names:
            text += f"{name}=={number}\n"
    return text.encode()


def make_engine_project_files(packages: Mapping[str, str] | None = None) -> Files:
    """Return the files of a pip project that installs the autograder without any course.

    Parameters
    ----------
    packages : mapping of str to str, optional
        Versions of further packages to install with the engine, by name.
    """
    root = _PACKAGE.parent
    paths = [path for path in list_files(_PACKAGE) if _is_engine_file(path)]
    for name in COMPANION_PACKAGES:
        # A package's README.md is written for contributors, so it is not installed.
        paths += [path for path in list_files(root / name) if path.name != "README.md"]
    files = read_files(root, paths)
    for name in _ROOT_FILES:
        files[f"autograder/{_ROOT_COPY}/{name}"] = read_root_file(name)
        files[name] = read_root_file(name)
    project = read_pyproject()["project"]
    other_extras = (*STUDENT_EXTRAS, "test")
    extras = [name for name in project["optional-dependencies"] if name not in other_extras]
    files["pyproject.toml"] = make_pyproject(
        ["autograder", *COMPANION_PACKAGES],
        extras,
        {"autograder": ["**/templates/**", f"{_ROOT_COPY}/*"], "similarity": ["*.html"]},
        name=ENGINE,
        description="Labs in Jupyter, and the autograder that marks them.",
        dependencies=[*project["dependencies"], *(packages or {})],
    )
    if packages:
        files["constraints.txt"] = make_constraints(packages)
    return files


def _is_engine_file(path: Path) -> bool:
    return path.suffix == ".py" or "templates" in path.parts or path.parent.name == _ROOT_COPY


def read_files(root: Path, paths: Iterable[Path]) -> Files:
    """Return the contents of files, by their paths relative to the folder `root`."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def make_library_project_files(course: Course) -> Files:
    """Return the files of a project that installs a course's library.

    The project depends on the engine with the version that makes it.
    """
    files: Files = {}
    for package in course.library:
        paths = [path for path in list_files(course.root / package) if path.suffix == ".py"]
        files |= read_files(course.root, paths)
    engine_version = read_pyproject()["project"]["version"]
    files["pyproject.toml"] = make_pyproject(
        course.library,
        STUDENT_EXTRAS,
        scripts=False,
        name=course.id,
        description=course.title,
        dependencies=[f"{ENGINE}=={engine_version}", "matplotlib", "numpy"],
    )
    return files


def list_data_files(course: Course) -> Iterator[Path]:
    """Yield the files in the course's data folders, without Python programs and subfolders.

    They are left out because a program that made the data may contain answers, and a subfolder may
    hold anything.
    """
    for name in course.data:
        for path in sorted((course.root / name).iterdir()):
            if path.is_file() and path.suffix != ".py" and not path.name.startswith("."):
                yield path


def list_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, except for hidden ones and those in __pycache__."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not any(map(_is_hidden_or_generated, parts)):
            yield path


def _is_hidden_or_generated(name: str) -> bool:
    return name in _GENERATED_FOLDERS or name.startswith(".")


def make_zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the bytes of a zip of (name, content) pairs, in the order of the pairs.

    The bytes are the same on every system. Files that begin with "#!" are made executable.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, _ZIP_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # Unix, also when run on Windows, for the permissions below
            info.external_attr = (0o100000 | _file_mode(content)) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def _file_mode(content: bytes) -> int:
    """Return the Unix permissions of a file, which is executable if it begins with "#!"."""
    if content.startswith(b"#!"):
        return 0o755
    return 0o644


def write_files(folder: Path, files: Files) -> None:
    """Write files into an existing folder, and create the subfolders that they need."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(_file_mode(content))


def build_wheel(files: Files, target: Path) -> Path:
    """Build the wheel of a project with pip, which downloads the build tools.

    Parameters
    ----------
    files : dict of str to bytes
        Files of the project, by relative path.
    target : Path
        Folder to write the wheel to.

    Returns
    -------
    Path
        Path of the wheel.

    Raises
    ------
    AutograderError
        If pip fails. The message has the last line of pip's output.
    """
    with tempfile.TemporaryDirectory() as name:
        source, wheels = Path(name, "source"), Path(name, "wheels")
        source.mkdir()
        write_files(source, files)
        command = ["pip", "wheel", "-q", "--no-deps", "--no-input", "-w", str(wheels), str(source)]
        run_module("pip made no wheel", *command)
        (wheel,) = wheels.iterdir()
        target.mkdir(parents=True, exist_ok=True)
        (target / wheel.name).write_bytes(wheel.read_bytes())
    return target / wheel.name


def run_module(failure: str, *command: str, cwd: Path | None = None, marker: str = "") -> None:
    """Run a module with the current interpreter, as `python -m` does.

    Parameters
    ----------
    failure : str
        Beginning of the error message if the module fails.
    *command : str
        Name of the module and its arguments.
    cwd : Path, optional
        Folder to run the module in.
    marker : str
        Text by which the line is found that explains a failure in the module's output.

    Raises
    ------
    AutograderError
        If the module fails. The message has the last line of its output that contains `marker`.
    """
    arguments = [sys.executable, "-m", *command]
    process = subprocess.run(arguments, capture_output=True, text=True, cwd=cwd)
    if process.returncode:
        reason = "no reason was given"
        for line in (process.stdout + process.stderr).splitlines():
            if line.strip() and marker in line:
                reason = line.strip()
        raise AutograderError(f"{failure}: {reason}")


def write_distribution_files(course: Course, target: Path) -> list[Path]:
    """Write the files of a new version of the autograder and a course, and return their paths.

    They are the wheels of the engine and of the course's library, constraints.txt with the pinned
    versions, and the students' zip.
    """
    from autograder.authoring.bundle import write_students_zip

    engine_wheel = build_wheel(make_engine_project_files(), target)
    library_wheel = build_wheel(make_library_project_files(course), target)
    constraints = target / "constraints.txt"
    constraints.write_bytes(read_root_file("constraints.txt"))
    student_zip = write_students_zip(course, target / f"{course.id}.zip")
    return [engine_wheel, library_wheel, constraints, student_zip]


if __name__ == "__main__":
    try:
        for path in write_distribution_files(find_course(), Path(*sys.argv[1:2] or ["dist"])):
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    except AutograderError as error:
        sys.exit(str(error))
