"""Find packages, modules and files that an imported notebook needs; copy them into the course."""

import ast
import base64
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from autograder.authoring.python_names import get_called_name, parse_code
from autograder.authoring.skeleton import add_to_course_list
from autograder.core.course import Course
from autograder.core.errors import AutograderError
from autograder.core.files import write_file
from autograder.core.import_guard import ENGINE_PACKAGES
from course_import.nbgrader_source import CellImportReport

FILES_PACKAGE = "course_files"  # the package of the course's library for imported labs' files
# Folders of a course or a classroom, which no imported module can have.
RESERVED_FOLDERS = {
    *("solutions", "notebooks", "tests", "release", "dist", "classroom", FILES_PACKAGE),
    *("course_checks", "submitted", "autograded", "collected", "results", "feedback", "report"),
    *("returned", "secret"),
}
# End of a sentence on a module or file that students must not get.
_REASON_TO_STAY = (
    "does not come along, for students would have it: write what the solution needs into its cell"
)
MAX_FILE_BYTES = 4 << 20  # all the files of a lab, compressed

_READS_FILE = re.compile(
    r"open|read_(csv|table|excel|json|parquet|pickle|fwf)|load|loadtxt|genfromtxt|imread"
)

_FILES_MODULE = '''"""Files of the imported notebook {lab}; students have them, too."""

import base64
import sys
import tempfile
import zlib
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory()
_FILES = {{
{files}}}


def beside(name):
    """Return the path of a copy of a file that the notebook reads; any other name as it is."""
    known_name = Path(name).as_posix() if isinstance(name, (str, Path)) else ""
    if known_name not in _FILES:
        return name
    return str(_write(Path(_FOLDER.name, known_name), known_name))


def path_beside(path):
    """Return the same as a Path."""
    return Path(beside(path))


def put_files() -> None:
    """Put the files where a notebook looks for them, unless they are there already."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return  # not in a notebook
    for name in _FILES:
        if not Path(name).exists():
            _write(Path(name), name)


def _write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.decompress(base64.b85decode(_FILES[name])))
    return path
'''


class ModuleNameTaken(AutograderError):
    """Error for a notebook that imports a module whose name another one in the course has."""


class Dependencies:
    """Modules, packages and files that a notebook needs and the course does not have.

    Parameters
    ----------
    folder : Path
        Folder of the notebook.
    course : Course
    visible_modules, all_modules : set of str
        Modules that the code which students get imports, and those that any code of the notebook
        imports, by their whole names such as "tools.plots".

    Attributes
    ----------
    files : dict of str to bytes
        Compressed files, by the name that the notebook has for each.
    modules : dict of str to dict of str to bytes
        Files of each module that lies beside the notebook, as a package.
    packages : list of str
        Installed packages that the notebook imports and the course did not list.
    """

    def __init__(
        self,
        folder: Path,
        course: Course,
        visible_modules: Set[str],
        all_modules: Set[str],
    ) -> None:
        self.folder, self.course = folder, course
        self._visible_modules, self._all_modules = {*visible_modules}, all_modules
        self._visible_packages = {name.partition(".")[0] for name in visible_modules}
        self.files: dict[str, bytes] = {}
        self.modules: dict[str, dict[str, bytes]] = {}
        self.packages: list[str] = []
        self.has_computed_names = False  # True if the name of a file that is read is computed
        self._compared: set[str] = set()  # modules of the course's library
        self._processed = {
            *ENGINE_PACKAGES,
            *sys.stdlib_module_names,
            *course.library,
            *course.imports,
        }

    def add(self, report: CellImportReport, tree: ast.AST) -> None:
        """Add the modules and files that a cell's code uses, and name them in the cell's report.

        A module beside the notebook that only solutions import stays with its author.
        """
        for name in _find_imports(tree):
            is_new = name not in self._visible_packages and name not in self._processed
            if is_new and read_module(self.folder, name):
                report.problems.append(
                    f"only its solution imports `{name}`, which lies beside the notebook, so "
                    f"`{name}` {_REASON_TO_STAY}",
                )
            else:
                self._add_module(report, name)
        for node in _find_strings(tree):
            if is_file_in_folder(node.value, self.folder):
                self._add_file(report, _normalize(node.value))

    def add_read_files(self, report: CellImportReport, names: Iterable[str]) -> None:
        """Add the files that a cell has read in the notebook's run, by whatever name."""
        for name in names:
            if name not in self.files and is_file_in_folder(name, self.folder):
                self.has_computed_names = True
                self._add_file(report, name)

    def report_private_files(self, report: CellImportReport, names: Iterable[str]) -> None:
        """Report the files that only a solution has read, which stay with their author."""
        for name in names:
            if name not in self.files and is_file_in_folder(name, self.folder):
                report.problems.append(
                    f"only its solution reads `{name}`, which lies beside the notebook, so "
                    f"`{name}` {_REASON_TO_STAY}",
                )

    def _add_file(self, report: CellImportReport, name: str) -> None:
        if name in self.files:
            return
        data = zlib.compress((self.folder / name).read_bytes(), 9)
        if sum(map(len, self.files.values())) + len(data) > MAX_FILE_BYTES:
            report.problems.append(
                f"it reads `{name}`, which is too large to come along: let the library give it out",
            )
            return
        self.files[name] = data
        report.additions.append(
            f"`{name}` came along: the notebook's first cell puts it where the notebook looks, for "
            "students, in every check and where it is graded",
        )

    def _add_module(self, report: CellImportReport, name: str) -> None:
        """Add a module or package, and everything that it imports."""
        is_of_course = name in self.course.library and name not in self._compared
        if name in self._processed and not is_of_course:
            return
        self._processed.add(name)
        self._compared.add(name)
        files = read_module(self.folder, name)
        if is_of_course and not files:
            return
        if not files:
            self._add_package(report, name)
            return
        if name in RESERVED_FOLDERS:
            report.problems.append(
                f"it imports `{name}`, which lies beside the notebook, and a course keeps its own "
                f"files in a folder `{name}`: give the module another name",
            )
            return
        for private_file in self._find_files_only_for_solutions(name, files):
            del files[private_file]
            report.problems.append(
                f"only a solution imports `{name}/{private_file}`, so it {_REASON_TO_STAY}",
            )
        home = self.course.root / name
        present = {}
        for file_name in files:
            if (home / file_name).is_file():
                present[file_name] = (home / file_name).read_bytes()
        if home.exists() and present != files:
            raise ModuleNameTaken(
                f"The notebook imports `{name}`, which lies beside it, and the course has another "
                f"`{name}`. Two labs of one course cannot have two modules of one name: give the "
                f"one beside the notebook another name, such as `{name}_2`, there and where it is "
                "imported. Nothing was written.",
            )
        self.modules[name] = files
        report.additions.append(f"`{name}` came along: it is in the course's library now")
        for file_name, data in files.items():
            tree = parse_code(data)
            if tree is None:
                report.problems.append(f"`{name}/{file_name}` is no Python")
                continue
            package = _get_package_of_file(name, file_name)
            self._visible_modules |= find_imported_dotted_names([tree], package)
            for imported_name in {*_find_imports(tree)}:
                self._add_module(report, imported_name)

    def _find_files_only_for_solutions(self, name: str, files: Mapping[str, bytes]) -> list[str]:
        """Return the files of a package that only solutions import, directly or in turn."""
        visible_files = _find_files_run_by_imports(name, files, self._visible_modules)
        all_files = _find_files_run_by_imports(name, files, self._all_modules)
        return sorted(all_files - visible_files)

    def _add_package(self, report: CellImportReport, name: str) -> None:
        if find_spec(name) is None:
            report.problems.append(
                f"it imports `{name}`, which is not installed here: install it beside the engine, "
                "and add it to `imports` in course.toml",
            )
        else:
            self.packages.append(name)
            report.additions.append(
                f"it imports `{name}`: that is among `imports` in course.toml now",
            )

    def replace_file_names(self, source: str) -> str:
        """In a cell's source, replace each copied file's name by a call that finds the file.

        A name that is computed where a file is read, `open(folder + "/a.csv")`, goes through it.
        """
        lines = [line.encode() for line in source.split("\n")]
        tree = parse_code(source) or ast.Module([], [])
        calls: list[tuple[ast.expr, str]] = []
        for node in _find_strings(tree):
            if _normalize(node.value) in self.files:
                calls.append((node, f'beside("{_normalize(node.value)}")'))
        strings = [node for node, _ in calls]
        if self.has_computed_names:
            for name, function in _find_computed_names(tree):
                if not any(part in strings for part in ast.walk(name)):
                    calls.append((name, f"{function}({ast.get_source_segment(source, name)})"))
        # Begin with the last place in the source. So the positions of the earlier ones stay valid.
        calls.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset), reverse=True)
        for place, call in calls:
            if place.lineno == place.end_lineno:
                line = lines[place.lineno - 1]
                lines[place.lineno - 1] = (
                    line[: place.col_offset] + call.encode() + line[place.end_col_offset :]
                )
        return b"\n".join(lines).decode()

    def write(self, lab: str) -> None:
        """Write the copied modules, packages and files into the course."""
        for name, files in self.modules.items():
            for file_name, data in files.items():
                write_file(self.course.root / name / file_name, data)
            if name not in self.course.library:
                add_to_course_list(self.course, "library", name)
        for package in self.packages:
            add_to_course_list(self.course, "imports", package)
        entries = [
            f'    "{name}": {_format_base85_literal(data)},\n' for name, data in self.files.items()
        ]
        if entries:
            source = _FILES_MODULE.format(lab=lab, files="".join(entries))
            title = "Files that came with imported labs."
            write_library_module(self.course, FILES_PACKAGE, title, lab, source)


def write_library_module(course: Course, package: str, title: str, lab: str, source: str) -> None:
    """Write a module for a lab into a package of the course's library; create a missing package."""
    if package not in course.library:
        write_file(course.root / package / "__init__.py", f'"""{title}"""\n')
        add_to_course_list(course, "library", package)
    write_file(course.root / package / f"{get_module_name(lab)}.py", source)


def make_files_import(lab: str, notebook: bool = False) -> str:
    """Return the import line by which a lab's notebook or its checks find the copied files."""
    line = f"from {FILES_PACKAGE}.{get_module_name(lab)} import beside, path_beside"
    return f"{line}, put_files\n\nput_files()" if notebook else line


def get_module_name(lab: str) -> str:
    """Return the name of a lab's module: a Python name cannot have the lab's hyphens."""
    return lab.replace("-", "_")


def read_module(folder: Path, name: str) -> dict[str, bytes]:
    """Return the files of a module or package in the notebook's folder; {} if there is none."""
    single_file = folder / f"{name}.py"
    if single_file.is_file() and not single_file.is_symlink():
        return {"__init__.py": single_file.read_bytes()}
    package = folder / name
    files = {}
    if not package.is_symlink():
        for path in sorted(package.rglob("*.py")):
            if not path.is_symlink():
                files[path.relative_to(package).as_posix()] = path.read_bytes()
    return files


def find_imported_modules(trees: Iterable[ast.AST | None]) -> set[str]:
    """Return the top-level modules that some pieces of code import."""
    return {name for tree in trees if tree for name in _find_imports(tree)}


def find_imported_dotted_names(trees: Iterable[ast.AST | None], package: str = "") -> set[str]:
    """Return the dotted names, such as "a.b", of all modules that code may import.

    `from a import b` may import the module "a.b", so that is included.

    Parameters
    ----------
    package : str
        Package of the code, to which relative imports refer.
    """
    names = set()
    for tree in trees:
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (package or not node.level):
                parents: list[str] = []
                if node.level:  # one dot stands for the package, and each other dot for a parent
                    parents = package.split(".")
                    parents = parents[: len(parents) - node.level + 1]
                module = ".".join(filter(None, [*parents, node.module]))
                names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def _keep_submodules(package: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(f"{package}.")]


def _find_files_run_by_imports(
    package: str, files: Mapping[str, bytes], modules: Iterable[str]
) -> set[str]:
    """Return the files of a package that run if these modules are imported, directly or in turn."""
    found: set[str] = set()
    todo = [package, *_keep_submodules(package, modules)]
    while todo:
        for file_name in _list_files_run_by_import(package, todo.pop()) & files.keys() - found:
            found.add(file_name)
            tree = parse_code(files[file_name])
            if tree is None:
                continue
            names = find_imported_dotted_names([tree], _get_package_of_file(package, file_name))
            todo += _keep_submodules(package, names)
    return found


def _get_package_of_file(package: str, file_name: str) -> str:
    """Return the dotted name of the package that a file belongs to: "p.q" for "q/r.py" of p."""
    return PurePosixPath(package, file_name).parent.as_posix().replace("/", ".")


def _list_files_run_by_import(package: str, module: str) -> set[str]:
    """Return the files of a package that an import of one of its modules may run."""
    parts = module.split(".")[1:]
    file_names = {"/".join([*parts[:count], "__init__.py"]) for count in range(len(parts) + 1)}
    if parts:
        file_names.add("/".join(parts) + ".py")
    return file_names


def _find_imports(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level modules that a piece of code imports; skip relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _find_strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings in a piece of code, except for the parts of f-strings."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        elif not isinstance(node, ast.JoinedStr):
            todo += ast.iter_child_nodes(node)


def _find_computed_names(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield each expression that names a file to read, and the function that finds the file."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=path, attr="read_text" | "read_bytes")):
                yield path, "path_beside"
            case ast.Call(args=[name, *_]) if _READS_FILE.fullmatch(get_called_name(node)):
                if not isinstance(name, ast.Constant) and not _opens_to_write(node):
                    yield name, "beside"


def _opens_to_write(call: ast.Call) -> bool:
    values = call.args[1:2]
    values += [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes = [value.value for value in values if isinstance(value, ast.Constant)]
    return get_called_name(call) == "open" and any(set(str(mode)) & set("wax+") for mode in modes)


def _normalize(name: object) -> str:
    return str(PurePosixPath(str(name)))


def is_file_in_folder(value: object, folder: Path) -> bool:
    """Return True if a string in a notebook's code names a file in the notebook's folder."""
    if not isinstance(value, str) or not 3 <= len(value) <= 200:
        return False
    if not set(value).isdisjoint("\0\n\"\\'{}"):
        return False
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        return False
    file = folder / path
    return file.is_file() and file.resolve().is_relative_to(folder.resolve())


def _format_base85_literal(data: bytes) -> str:
    text = base64.b85encode(data).decode()
    lines = [f'        "{text[i : i + 96]}"\n' for i in range(0, len(text), 96)]
    return "(\n" + "".join(lines) + "    )"
