"""What an imported notebook has beside itself: its packages, modules and files, brought into the course."""

import ast
import base64
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

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


@dataclass
class Needs:
    """What comes along with a notebook.

    Parameters
    ----------
    files : dict of str to bytes
        By the name that the notebook has for each, packed.
    modules : dict of str to dict of str to bytes
        The files of each module that lies beside the notebook, as a package.
    packages : list of str
        What else it imports, and the course did not list.
    said, left : list of (int, str)
        By the cell's number: what came along, and what could not.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    modules: dict[str, dict[str, bytes]] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)
    said: list[tuple[int, str]] = field(default_factory=list)
    left: list[tuple[int, str]] = field(default_factory=list)

    def given(self, source: str) -> str:
        """A cell's source, in which `beside` finds the files that came along."""
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return source
        lines = [line.encode() for line in source.split("\n")]
        for node in sorted(_texts(tree), key=lambda n: (n.lineno, n.col_offset), reverse=True):
            if (name := _plain(node.value)) in self.files and node.lineno == node.end_lineno:
                line = lines[node.lineno - 1]
                read = f'beside("{name}")'.encode()
                lines[node.lineno - 1] = line[: node.col_offset] + read + line[node.end_col_offset :]
        return b"\n".join(lines).decode()

    def write(self, course: Course, lab: str) -> None:
        """Put them into the course."""
        for name, files in self.modules.items():
            for inside, data in files.items():
                write(course.root / name / inside, data)
            if name not in course.library:
                add_to_list(course, "library", name)
        for package in self.packages:
            add_to_list(course, "imports", package)
        if not self.files:
            return
        if FILES not in course.library:
            write(course.root / FILES / "__init__.py", '"""Files that came with imported labs."""\n')
            add_to_list(course, "library", FILES)
        packed = "".join(f'    "{name}": {_literal(data)},\n' for name, data in self.files.items())
        write(course.root / FILES / f"{_module_of(lab)}.py", _GIVING_OUT.format(lab=lab, files=packed))


def given_out(lab: str) -> str:
    """The line with which a lab's notebook gets at its files."""
    return f"from {FILES}.{_module_of(lab)} import beside"


def _module_of(lab: str) -> str:
    return lab.replace("-", "_")


def needs_of(cells: Iterable[tuple[int, ast.AST]], folder: Path, course: Course) -> Needs:
    """What the cells import and read, as far as it is in none of the course's lists.

    Parameters
    ----------
    cells : iterable of (int, ast.AST)
        Their numbers and their code.
    folder : Path
        Where the notebook lies.
    """
    found = Needs()
    known = {*ENGINE, *sys.stdlib_module_names, *course.library, *course.imports}
    for number, tree in cells:
        for name in _imported(tree):
            if name not in known:
                _add_module(found, known, number, name, folder, course)
        for node in _texts(tree):
            if is_file_beside(node.value, folder) and (name := _plain(node.value)) not in found.files:
                data = zlib.compress((folder / name).read_bytes(), 9)
                if sum(map(len, found.files.values())) + len(data) > MOST:
                    said = f"it reads `{name}`, which is too large to come along: let the library give it out"
                    found.left.append((number, said))
                    continue
                found.files[name] = data
                said = (
                    f'`{name}` came along: `beside("{name}")` is its path, for students, too. '
                    "Where they are to read it themselves, say so in the text"
                )
                found.said.append((number, said))
    return found


def _add_module(found: Needs, known: set[str], number: int, name: str, folder: Path, course: Course) -> None:
    """What an import asks for, and what that imports in its turn."""
    known.add(name)
    files = _module(folder, name)
    if not files:
        if find_spec(name) is None:
            said = f"it imports `{name}`, which is not installed here: install it beside the engine, and add it to"
            found.left.append((number, f"{said} `imports` in course.toml"))
        else:
            found.packages.append(name)
            found.said.append((number, f"it imports `{name}`: that is among `imports` in course.toml now"))
        return
    home = course.root / name
    there = {inside: (home / inside).read_bytes() for inside in files if (home / inside).is_file()}
    if home.exists() and there != files:
        found.left.append(
            (number, f"it imports `{name}`, and the course has another {name}: rename one of them")
        )
        return
    found.modules[name] = files
    found.said.append((number, f"`{name}` came along: it is in the course's library now"))
    for inside, data in files.items():
        try:
            trees = [ast.parse(data)]
        except (SyntaxError, ValueError):
            found.left.append((number, f"`{name}/{inside}` is no Python"))
            continue
        for other in {n for tree in trees for n in _imported(tree)} - known:
            _add_module(found, known, number, other, folder, course)


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
