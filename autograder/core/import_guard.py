"""Refuse imports of packages that not every student has, in a student's kernel and in grading.

If a package is installed for a student but not in grading, or the other way round, a correct
solution can fail, or `check` and the grade can disagree. Allowed are the standard library, the
autograder and its dependencies, the course's own packages, and, in a lab that needs one of them,
the packages that course.toml lists under `imports`.

Every lab has its own list. `autograder build` writes it into the lab's answer key, where `check`
reads it wherever the notebook lies, and the grader gives the same list to the lab's sandbox.
"""

import builtins
import dis
import inspect
import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from autograder.core import course
from autograder.core.course import LAB_FILE
from autograder.core.text_format import join_words

# Packages that the autograder itself needs (`dependencies` in pyproject.toml), by the names used
# in import statements.
ENGINE_PACKAGES = frozenset(
    "autograder click IPython ipywidgets matplotlib mpl_toolkits".split()
    + "nbclient nbformat numpy rich safetensors".split()
)
# Environment variable that names a lab's additional packages to its sandbox, separated by commas.
PACKAGES_VARIABLE = "AUTOGRADER_PACKAGES"
_IMPORT_LINE = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)|import[ \t]+([^#;\n]{1,500}))", re.M)


def allowed_packages(lab_packages: Collection[str] | None = None) -> frozenset[str] | None:
    """Return the packages that a notebook may import; None if there is no restriction.

    Parameters
    ----------
    lab_packages : collection of str, optional
        The packages of the notebook's lab. By default they are those of this sandbox's lab, else
        all that the course's settings list or, outside of a course's folder, the answer keys beside
        the notebook. If there is none of these, there is no restriction.
    """
    packages = _read_course_packages() if lab_packages is None else frozenset(lab_packages)
    if packages is None:
        return None
    return ENGINE_PACKAGES | set(sys.stdlib_module_names) | packages


def _read_course_packages() -> frozenset[str] | None:
    """Return the packages that a course allows in addition to those that every course allows."""
    if PACKAGES_VARIABLE in os.environ:
        return frozenset(filter(None, os.environ[PACKAGES_VARIABLE].split(",")))
    root = course.find_course_folder()
    if root is not None:
        settings = course.read_course(root)
        return frozenset((*settings.library, *settings.imports))
    return _read_allowed_packages(tuple(course.list_answer_key_folders()))


@cache
def _read_allowed_packages(folders: tuple[Path, ...]) -> frozenset[str] | None:
    """Return the packages that the answer keys in these folders allow; None if no key is there."""
    packages: set[str] | None = None
    for folder in folders:
        with suppress(OSError, ValueError, KeyError, TypeError):
            key_packages = json.loads((folder / LAB_FILE).read_text("utf-8"))["packages"]
            packages = (packages or set()).union(map(str, key_packages))
    return None if packages is None else frozenset(packages)


def find_imports(source: str) -> set[str]:
    """Return the packages that the import statements in a text import, such as "torch".

    Each statement must be in one line. The rest of the source need not be valid Python.

    >>> sorted(find_imports("%time\\nimport numpy as np, pandas.io\\nfrom torch.nn import Linear"))
    ['numpy', 'pandas', 'torch']
    """
    packages = set()
    for from_module, import_modules in _IMPORT_LINE.findall(source):
        for module in (from_module + import_modules).split(","):
            if module.strip():
                packages.add(module.split()[0].partition(".")[0])
    return packages


def describe_refusal(package: str, lab_packages: Collection[str] | None = None) -> str:
    """Return a sentence for the student: this package may not be imported."""
    packages = _read_course_packages() if lab_packages is None else lab_packages
    names = ["Python's standard library", "numpy", "matplotlib", *sorted(packages or ())]
    return (
        f"`{package}` may not be imported in this lab. Its answers may use {join_words(names)}, "
        "which every student has. Write this step with one of them."
    )


def guard_imports() -> None:
    """Let import statements in notebook cells fail for packages that are not allowed.

    Imports within libraries are not restricted.
    """
    packages = allowed_packages()
    if packages is None:
        return
    original_import = builtins.__import__

    def import_if_allowed(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        package = name.partition(".")[0]
        is_notebook = (globals or {}).get("__name__") == "__main__"
        if level == 0 and package not in packages and is_notebook:
            raise ImportError(describe_refusal(package), name=package)
        return original_import(name, globals, locals, fromlist, level)

    builtins.__import__ = import_if_allowed


def find_forbidden_package(
    codes: Iterator[CodeType],
    namespace: Mapping[str, Any],
    lab_packages: Collection[str] | None = None,
) -> str:
    """Return the first package in a cell's code that is not allowed; "" if there is none.

    Parameters
    ----------
    codes : iterator of code
        Code objects of functions that are defined in the notebook.
    namespace : mapping
        The notebook's global variables.
    lab_packages : collection of str, optional
        See `allowed_packages`.
    """
    packages = allowed_packages(lab_packages)
    if packages is None:
        return ""
    for code in codes:
        for package in _find_used_packages(code, namespace):
            if package not in packages:
                return package
    return ""


def _find_used_packages(code: CodeType, namespace: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages that code imports, and those of the global functions that it uses."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval).partition(".")[0]
    for name in code.co_names:
        value = namespace.get(name)
        module: Any
        if isinstance(value, ModuleType):
            module = value.__name__
        elif inspect.isroutine(value) or inspect.isclass(value):
            module = getattr(value, "__module__", None)
        else:
            continue
        package = str(module or "builtins").partition(".")[0]
        if package not in ("__main__", namespace.get("__name__")) and package in sys.modules:
            yield package
