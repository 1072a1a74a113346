"""What decides a lab's verdicts: found by following imports, and hashed.

Followed are the engine's imports, from where marking begins, and the course's own, from the lab's files and the set-up
cells of its notebook. Beside them count what the lab and course.toml say of how a hand-in is run, the data that is
named in that code, and the versions of the packages that it imports. Points, comments and prose decide none.
"""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from importlib import metadata
from pathlib import Path
from typing import Any, TypeGuard

import autograder
from autograder.authoring.lab import Lab
from autograder.cells import id_of, nbgrader_of

_ENGINE = Path(autograder.__file__).parent
_BEGIN = "autograder.grading.marking"


@dataclass(frozen=True)
class _Code:
    """What a piece of code says.

    Parameters
    ----------
    meaning : bytes
        Hashed, without comments, docstrings, and the points of exercises.
    imports, packages : frozenset of str
        Modules that it imports, anywhere; and the packages of those that it imports as soon as it runs.
    late : mapping of str to str
        The texts that it keeps by texts: a package that loads its names when first used says so where each is.
    texts : frozenset of str
        With `*` for what is filled in when it runs, as in "embeddings_*.npz".
    """

    meaning: bytes
    imports: frozenset[str]
    packages: frozenset[str]
    late: Mapping[str, str]
    texts: frozenset[str]


@cache
def lab_fingerprint(lab: Lab) -> str:
    """A hash of everything that decides a lab's verdicts."""
    return fingerprint_of(lab)


def fingerprint_of(lab: Lab) -> str:
    """The same, worked out anew: files that have changed since are read again."""
    cells = list(_cells(lab))
    setup = [_read(source.encode(), "") for source in lab.reference_cells.values()]
    own = [_code(path, "") for path in sorted(lab.folder.glob("*.py"))]
    engine = _followed([_BEGIN], {"autograder": _ENGINE})
    named = {entry.partition(":")[0] for entry in (*lab.preload, lab.needs) if entry}
    begin = named.union(*(code.imports for code in (*own, *setup)))
    library = _followed(begin, {name: lab.course.root / name for name in lab.course.library})
    code = [*own, *setup, *library.values()]
    facts = [
        sys.version_info[:2],
        lab.preload,
        sorted(lab.limits.items()),
        [(name, os.environ.get(name)) for name in lab.environment],
        sorted(lab.course.library),
        sorted(lab.course.imports),
        sorted(_versions(lab, named, [*code, *engine.values()])),
        cells,
    ]
    digest = hashlib.sha256(json.dumps(facts).encode())
    for part in [*own, *(found[name] for found in (engine, library) for name in sorted(found))]:
        digest.update(part.meaning)
    for path in _data(lab, code):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _cells(lab: Lab) -> Iterator[str]:
    """The cells of a solution that marking uses: those that nbgrader knows, and the code between them."""
    for cell in lab.read_solution().cells:
        if cell.cell_type == "code" or nbgrader_of(cell).get("solution"):
            yield f"{id_of(cell)} {cell.cell_type} {cell.source} {cell.metadata.get('tags', [])}"


def _followed(names: Iterable[str], homes: Mapping[str, Path]) -> dict[str, _Code]:
    """The modules below `homes` that these import, directly or not, by name.

    With a module come the packages around it, since Python runs them first, and with a package its program, which
    is there to be started and not imported.
    """
    found: dict[str, _Code] = {}
    todo = sorted(names)  # a package before what is in it
    while todo:
        name = todo.pop(0)
        top, *rest = name.split(".")
        if name in found or top not in homes:
            continue
        place = homes[top].joinpath(*rest)
        package = place / "__init__.py"
        path = package if package.is_file() else place.with_suffix(".py")
        if not path.is_file():  # a name of a module
            parent, _, last = name.rpartition(".")
            if last in (late := found[parent].late if parent in found else {}):
                todo.append(f"{parent}.{late[last]}")
            continue
        code = found[name] = _code(path, name if path is package else name.rpartition(".")[0])
        todo += [name.rpartition(".")[0], *code.imports]
        if path is package:
            todo.append(f"{name}.__main__")
    return found


def _code(path: Path, package: str) -> _Code:
    return _read(path.read_bytes(), package)


@cache
def _read(source: bytes, package: str) -> _Code:
    tree = ast.parse(source)
    early = {id(node) for node in tree.body}
    imports: set[str] = set()
    packages: set[str] = set()
    late: dict[str, str] = {}
    texts: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []  # nothing of it runs
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            named = list(_imported(node, package))
            imports.update(named)
            if id(node) in early:
                packages.update(name.partition(".")[0] for name in named)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            late |= {k.value: v.value for k, v in pairs if _is_text(k) and _is_text(v)}
        elif isinstance(node, ast.JoinedStr):
            texts.add("".join(part.value if _is_text(part) else "*" for part in node.values))
        elif _is_text(node):
            texts.add(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Exercise":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "points"]
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:]
        todo += ast.iter_child_nodes(node)
    meaning = hashlib.sha256(ast.dump(tree).encode("utf-8", "replace")).digest()
    return _Code(meaning, frozenset(imports), frozenset(packages), late, frozenset(texts))


def _is_text(node: Any) -> TypeGuard[Any]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """The modules that a statement may import: of `from a import b`, both a and a.b."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    around = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
    module = ".".join([*around, *filter(None, [node.module])])
    if module:
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _versions(lab: Lab, named: Iterable[str], code: Iterable[_Code]) -> Iterator[str]:
    """The packages in whose hands an answer is, with their versions."""
    names = {name.partition(".")[0] for name in named}.union(*(one.packages for one in code))
    if names.intersection(lab.course.imports):  # one of them may be another's engine, as Keras's is
        names.update(lab.course.imports)
    for name in names.difference(lab.course.library, ["autograder"]):
        with suppress(metadata.PackageNotFoundError, ValueError):
            yield f"{name} {metadata.version(name)}"


def _data(lab: Lab, code: Iterable[_Code]) -> Iterator[Path]:
    """The course's data that this code names."""
    names = {text for one in code for text in one.texts if len(text.replace("*", "")) >= 4}
    patterns = [name for name in names if has_magic(name)]
    for folder in lab.course.data:
        for path in sorted((lab.course.root / folder).glob("*")):
            if path.is_file() and (path.name in names or any(fnmatchcase(path.name, p) for p in patterns)):
                yield path
