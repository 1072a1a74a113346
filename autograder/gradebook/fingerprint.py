"""Fingerprint of a lab: a hash that changes if cached grading results may no longer be valid.

The hash covers the code that affects verdicts: the autograder's modules, found by following imports
from `grade_submission`, and the course's modules, found by following imports from the lab's files
and from the set-up cells of the lab's notebook. It also covers the settings for running a
submission, the data files named in the course's code, and the versions of the imported packages.
Points, comments and prose are left out, since they do not change a verdict.
"""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from glob import has_magic
from importlib import metadata
from pathlib import Path
from typing import Any, TypeGuard

import autograder
from autograder.authoring.lab import Lab
from autograder.core.notebook_cells import get_grade_id, get_nbgrader_metadata

_ENGINE = Path(autograder.__file__).parent
_FIRST_MODULE = "autograder.grading.grade_submission"
_MIN_FILE_NAME_CHARACTERS = 4  # shorter strings in the code are not taken for names of data files


@dataclass
class _CodeDependencies:
    """Everything in a piece of code that may change a submission's verdict, such as its imports.

    Parameters
    ----------
    digest : bytes
        Hash of the code without comments, docstrings, and the points of exercises.
    imports : set of str
        Modules that the code imports anywhere, also inside functions.
    packages : set of str
        Packages that the code imports at its top level, so as soon as it runs.
    lazy_names : dict of str to str
        Pairs of strings in the code's dicts. A package that imports its submodules lazily has such
        a dict, with the submodule of each public name.
    strings : set of str
        Strings in the code, with `*` for the computed parts of f-strings, as in "embeddings_*.npz".
    """

    digest: bytes = b""
    imports: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)
    lazy_names: dict[str, str] = field(default_factory=dict)
    strings: set[str] = field(default_factory=set)


@cache
def fingerprint_lab(lab: Lab) -> str:
    """Return the lab's fingerprint (a hash of its code), computed only once in each process."""
    return compute_fingerprint(lab)


def compute_fingerprint(lab: Lab) -> str:
    """Compute the lab's fingerprint (a hash of its code) from the files as they are now."""
    cells = list(_texts_of_cells_for_grading(lab))
    setup = [
        _collect_code_dependencies(source.encode(), "") for source in lab.reference_cells.values()
    ]
    lab_files = [_read_module(path, "") for path in sorted(lab.folder.glob("*.py"))]
    engine = _collect_dependencies_of_modules([_FIRST_MODULE], {"autograder": _ENGINE})
    module_names = {entry.partition(":")[0] for entry in (*lab.preload, lab.needs) if entry}
    imports = module_names.union(*(code.imports for code in (*lab_files, *setup)))
    library = _collect_dependencies_of_modules(
        imports,
        {name: lab.course.root / name for name in lab.course.library},
    )
    course_code = [*lab_files, *setup, *library.values()]
    facts = [
        sys.version_info[:2],
        lab.preload,
        sorted(lab.limits.items()),
        [(name, os.environ.get(name)) for name in lab.environment],
        sorted(lab.course.library),
        sorted(lab.course.imports),
        sorted(_versions_of_used_packages(lab, module_names, [*course_code, *engine.values()])),
        cells,
    ]
    fingerprint = hashlib.sha256(json.dumps(facts).encode())
    for code in lab_files:
        fingerprint.update(code.digest)
    for modules in (engine, library):
        for name in sorted(modules):
            fingerprint.update(modules[name].digest)
    for path in _data_files_named_in_code(lab, course_code):
        fingerprint.update(path.name.encode() + b"\0" + path.read_bytes())
    return fingerprint.hexdigest()


def _texts_of_cells_for_grading(lab: Lab) -> Iterator[str]:
    """Yield a text for each code or answer cell of the solution, to compute the lab's hash from."""
    for cell in lab.read_solution().cells:
        if cell.cell_type == "code" or get_nbgrader_metadata(cell).get("solution"):
            tags = cell.metadata.get("tags", [])
            yield f"{get_grade_id(cell)} {cell.cell_type} {cell.source} {tags}"


def _collect_dependencies_of_modules(
    names: Iterable[str], roots: Mapping[str, Path]
) -> dict[str, _CodeDependencies]:
    """Collect what may change a verdict in some modules and in all modules that they import.

    Only modules below `roots` are followed. The packages that contain a module are included, since
    Python runs their `__init__.py` first. The `__main__.py` of a subpackage is included too, since
    it is started as a program and imported nowhere. The `__main__.py` of a top-level package is
    not: the autograder's is only its command line.

    Parameters
    ----------
    names : iterable of str
        Names of modules.
    roots : mapping of str to Path
        Folder of each top-level package to follow, by the package's name.
    """
    modules: dict[str, _CodeDependencies] = {}
    queue = sorted(names)  # a package before its modules
    while queue:
        name = queue.pop(0)
        top, *parts = name.split(".")
        if name in modules or top not in roots:
            continue
        place = roots[top].joinpath(*parts)
        package = place / "__init__.py"
        path = package if package.is_file() else place.with_suffix(".py")
        parent, _, attribute = name.rpartition(".")
        if not path.is_file():  # not a module, but a name in one
            if parent in modules and attribute in modules[parent].lazy_names:
                queue.append(f"{parent}.{modules[parent].lazy_names[attribute]}")
            continue
        modules[name] = _read_module(path, name if path is package else parent)
        queue += [parent, *modules[name].imports]
        if path is package and parts:
            queue.append(f"{name}.__main__")
    return modules


def _read_module(path: Path, package: str) -> _CodeDependencies:
    return _collect_code_dependencies(path.read_bytes(), package)


@cache
def _collect_code_dependencies(source: bytes, package: str) -> _CodeDependencies:
    """Return everything in a piece of code that may change a submission's verdict.

    Parameters
    ----------
    package : str
        Package that contains the code, for relative imports.
    """
    tree = ast.parse(source)
    top_level = {id(node) for node in tree.body}
    dependencies = _CodeDependencies()
    queue: list[ast.AST] = [tree]
    while queue:
        node = queue.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = list(_imported_modules(node, package))
            dependencies.imports.update(names)
            if id(node) in top_level:
                dependencies.packages.update(name.partition(".")[0] for name in names)
        _collect_strings_of_node(node, dependencies)
        _drop_irrelevant_parts(node)
        queue += ast.iter_child_nodes(node)
    dependencies.digest = hashlib.sha256(ast.dump(tree).encode("utf-8", "replace")).digest()
    return dependencies


def _collect_strings_of_node(node: ast.AST, dependencies: _CodeDependencies) -> None:
    """Add the strings in a syntax-tree node (a string, or a dict of strings) to `dependencies`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if _is_string(key) and _is_string(value):
                dependencies.lazy_names[key.value] = value.value
    elif isinstance(node, ast.JoinedStr):
        dependencies.strings.add(
            "".join(part.value if _is_string(part) else "*" for part in node.values)
        )
    elif _is_string(node):
        dependencies.strings.add(node.value)


def _drop_irrelevant_parts(node: ast.AST) -> None:
    """Remove what cannot change a verdict, such as a docstring, from a node of a syntax tree.

    These are docstrings, code for type checkers only, and the points of an `Exercise(…)`.
    """
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        node.body = []
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Exercise":
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "points"]
    elif _has_docstring(node):
        node.body = node.body[1:]


def _has_docstring(node: ast.AST) -> TypeGuard[ast.Module | ast.ClassDef | ast.FunctionDef]:
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        return False
    return ast.get_docstring(node, clean=False) is not None


def _is_string(node: Any) -> TypeGuard[Any]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _imported_modules(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """Yield the modules that an import statement may import: `from a import b` may import `a.b`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    parts = []
    if node.level:  # a relative import
        parts = package.split(".")
        parts = parts[: len(parts) + 1 - node.level]
    if node.module:
        parts = [*parts, node.module]
    module = ".".join(parts)
    if module:
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _versions_of_used_packages(
    lab: Lab, named: Iterable[str], code: Iterable[_CodeDependencies]
) -> Iterator[str]:
    """Yield "package version" for each installed package that can affect an answer."""
    names = {name.partition(".")[0] for name in named}.union(
        *(dependencies.packages for dependencies in code)
    )
    # A package may use another one that no code imports: Keras, for example, uses a backend. So
    # include all packages of the course.
    if names.intersection(lab.course.imports):
        names.update(lab.course.imports)
    # Python's own modules have no versions of their own, and to search for one takes long.
    for name in names.difference(lab.course.library, ["autograder"], sys.stdlib_module_names):
        with suppress(metadata.PackageNotFoundError, ValueError):
            yield f"{name} {metadata.version(name)}"


def _data_files_named_in_code(lab: Lab, code: Iterable[_CodeDependencies]) -> Iterator[Path]:
    """Yield those data files of the course whose names stand as strings in its code."""
    names = set[str]().union(*(dependencies.strings for dependencies in code))
    names = {name for name in names if len(name.replace("*", "")) >= _MIN_FILE_NAME_CHARACTERS}
    patterns = [name for name in names if has_magic(name)]
    for folder in lab.course.data:
        for path in sorted((lab.course.root / folder).glob("*")):
            is_named = path.name in names or any(
                fnmatchcase(
                    path.name,
                    pattern,
                )
                for pattern in patterns
            )
            if is_named and path.is_file():
                yield path
