"""What an imported notebook has beside itself: its packages, modules and files, brought into the course."""

import ast
import base64
import sys
import zlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from autograder.authoring.foreign import Line
from autograder.authoring.names import parsed
from autograder.authoring.skeleton import add_to_list
from autograder.course import Course
from autograder.files import write
from autograder.imports import ENGINE

FILES = "course_files"  # the package of the course's library that holds imported labs' files
MOST = 4 << 20  # bytes of all the files of a lab, packed

_GIVING_OUT = '''"""Files that lay beside the imported notebook {lab}; students have them, too."""

import base64
import tempfile
import zlib
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory()
_FILES = {{
{files}}}


def beside(name: str) -> str:
    """The path of a file that the notebook reads."""
    path = Path(_FOLDER.name, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.decompress(base64.b85decode(_FILES[name])))
    return str(path)
'''


class Needs:
    """What comes along with a notebook, as far as it is in none of the course's lists.

    Parameters
    ----------
    folder : Path
        Where the notebook lies.
    course : Course

    Attributes
    ----------
    files : dict of str to bytes
        By the name that the notebook has for each, packed.
    modules : dict of str to dict of str to bytes
        The files of each module that lies beside the notebook, as a package.
    packages : list of str
        What else it imports, and the course did not list.
    """

    def __init__(self, folder: Path, course: Course):
        self.folder, self.course = folder, course
        self.files: dict[str, bytes] = {}
        self.modules: dict[str, dict[str, bytes]] = {}
        self.packages: list[str] = []
        self._known = {*ENGINE, *sys.stdlib_module_names, *course.library, *course.imports}

    def add(self, line: Line, tree: ast.AST) -> None:
        """Add what a cell's code imports and reads, and say so in its line of the report."""
        for name in _imported(tree):
            self._add_module(line, name)
        for node in _texts(tree):
            if is_file_beside(node.value, self.folder) and (name := _plain(node.value)) not in self.files:
                data = zlib.compress((self.folder / name).read_bytes(), 9)
                if sum(map(len, self.files.values())) + len(data) > MOST:
                    line.left.append(
                        f"it reads `{name}`, which is too large to come along: let the library give it out"
                    )
                    continue
                self.files[name] = data
                line.along.append(
                    f'`{name}` came along: `beside("{name}")` is its path, for students, too. '
                    "Where they are to read it themselves, say so in the text"
                )

    def _add_module(self, line: Line, name: str) -> None:
        """What an import asks for, and what that imports in its turn."""
        if name in self._known:
            return
        self._known.add(name)
        files = _module(self.folder, name)
        if not files:
            if find_spec(name) is None:
                line.left.append(
                    f"it imports `{name}`, which is not installed here: install it beside the engine, and add it to "
                    "`imports` in course.toml"
                )
            else:
                self.packages.append(name)
                line.along.append(f"it imports `{name}`: that is among `imports` in course.toml now")
            return
        home = self.course.root / name
        there = {inside: (home / inside).read_bytes() for inside in files if (home / inside).is_file()}
        if home.exists() and there != files:
            line.left.append(f"it imports `{name}`, and the course has another {name}: rename one of them")
            return
        self.modules[name] = files
        line.along.append(f"`{name}` came along: it is in the course's library now")
        for inside, data in files.items():
            tree = parsed(data)
            if tree is None:
                line.left.append(f"`{name}/{inside}` is no Python")
            for other in {*_imported(tree)} if tree else ():
                self._add_module(line, other)

    def given(self, source: str) -> str:
        """A cell's source, in which `beside` finds the files that came along."""
        lines = [line.encode() for line in source.split("\n")]
        texts = _texts(parsed(source) or ast.Module([], []))
        for node in sorted(texts, key=lambda n: (n.lineno, n.col_offset), reverse=True):
            if (name := _plain(node.value)) in self.files and node.lineno == node.end_lineno:
                line = lines[node.lineno - 1]
                read = f'beside("{name}")'.encode()
                lines[node.lineno - 1] = line[: node.col_offset] + read + line[node.end_col_offset :]
        return b"\n".join(lines).decode()

    def write(self, lab: str) -> None:
        """Put them into the course."""
        for name, files in self.modules.items():
            for inside, data in files.items():
                write(self.course.root / name / inside, data)
            if name not in self.course.library:
                add_to_list(self.course, "library", name)
        for package in self.packages:
            add_to_list(self.course, "imports", package)
        packed = "".join(f'    "{name}": {_literal(data)},\n' for name, data in self.files.items())
        if packed:
            source = _GIVING_OUT.format(lab=lab, files=packed)
            add_to_library(self.course, FILES, "Files that came with imported labs.", lab, source)


def add_to_library(course: Course, package: str, about: str, lab: str, source: str) -> None:
    """Write a lab's module into a package of the course's library, which is made where it is not there yet."""
    if package not in course.library:
        write(course.root / package / "__init__.py", f'"""{about}"""\n')
        add_to_list(course, "library", package)
    write(course.root / package / f"{module_of(lab)}.py", source)


def given_out(lab: str) -> str:
    """The line with which a lab's notebook gets at its files."""
    return f"from {FILES}.{module_of(lab)} import beside"


def module_of(lab: str) -> str:
    """What a module is called that is a lab's."""
    return lab.replace("-", "_")


def _module(folder: Path, name: str) -> dict[str, bytes]:
    """The files of a module beside the notebook, as a package has them; none where there is no such module."""
    alone = folder / f"{name}.py"
    if alone.is_file() and not alone.is_symlink():
        return {"__init__.py": alone.read_bytes()}
    inside = (path for path in sorted((folder / name).rglob("*.py")) if not path.is_symlink())
    return {path.relative_to(folder / name).as_posix(): path.read_bytes() for path in inside}


def _imported(tree: ast.AST) -> Iterator[str]:
    """The top-level modules that a piece of code imports by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts in a piece of code, without those that are parts of another."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        elif not isinstance(node, ast.JoinedStr):
            todo += ast.iter_child_nodes(node)


def _plain(name: object) -> str:
    return str(PurePosixPath(str(name)))


def is_file_beside(value: object, folder: Path) -> bool:
    """Whether a text in a notebook is the name of a file that lies beside it."""
    if not isinstance(value, str) or not 3 <= len(value) <= 200 or not set(value).isdisjoint("\0\n\"\\'{}"):
        return False
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts:
        return False
    here = folder / path
    return here.is_file() and here.resolve().is_relative_to(folder.resolve())


def _literal(data: bytes) -> str:
    text = base64.b85encode(data).decode()
    rows = [text[i : i + 96] for i in range(0, len(text), 96)]
    return "(\n" + "".join(f'        "{row}"\n' for row in rows) + "    )"
