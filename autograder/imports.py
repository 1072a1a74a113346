"""What a notebook may import: what every student has, and so the same at home and where it is marked.

A package that happens to be installed on one side only would make a right answer fail, or a check say what the
mark does not. So both refuse all but the standard library, the engine and what it depends on, the course's own
library, and what course.toml lists under `imports`.
"""

import builtins
import dis
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

from autograder import course
from autograder.errors import listed

# The packages of pyproject.toml's `dependencies`, under the names by which Python imports them.
ENGINE = frozenset(
    "autograder click IPython ipywidgets matplotlib mpl_toolkits nbclient nbformat numpy rich".split()
)


def allowed() -> frozenset[str] | None:
    """The packages that a notebook of the course at hand may import; None where there is no course."""
    root = course.nearest()
    if root is None:
        return None
    about = course.read(root)
    return ENGINE | set(sys.stdlib_module_names) | set(about.library) | set(about.imports)


def imported(source: str) -> set[str]:
    """The packages that a cell's code imports in lines of their own, whether or not the rest of it is Python.

    >>> sorted(imported("%matplotlib inline\\nimport numpy as np, pandas.io\\n    from torch.nn import Linear"))
    ['numpy', 'pandas', 'torch']
    """
    lines = ("".join(found) for found in _IMPORTS.findall(source))
    return {part.split()[0].partition(".")[0] for line in lines for part in line.split(",") if part.strip()}


_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)|import[ \t]+([^#;\n]{1,500}))", re.M)


def refusal(package: str) -> str:
    """The sentence for a package that is not among them."""
    here = course.nearest()
    more = course.read(here).imports if here else ()
    usual = listed(["the standard library", "numpy", "matplotlib", "the labs' own library", *more])
    return (
        f"`{package}` may not be imported in these notebooks: it is not among what every student has, which is "
        f"{usual}. Write it with NumPy."
    )


def guard() -> None:
    """From now on, in this process, refuse what a notebook's own code may not import; its libraries may."""
    known = allowed()
    if known is None:
        return
    real = builtins.__import__

    def guarded(name, globals=None, locals=None, fromlist=(), level=0):  # type: ignore[no-untyped-def]
        package = name.partition(".")[0]
        if level == 0 and package not in known and (globals or {}).get("__name__") == "__main__":
            raise ImportError(refusal(package), name=package)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = guarded


def foreign(codes: Iterator[CodeType], namespace: Mapping[str, Any]) -> str:
    """The first package that these pieces of a notebook's code use and may not; "" usually."""
    known = allowed()
    if known is None:
        return ""
    for code in codes:
        for package in _packages(code, namespace):
            if package not in known:
                return package
    return ""


def _packages(code: CodeType, namespace: Mapping[str, Any]) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield str(step.argval).partition(".")[0]
    for name in code.co_names:
        value = namespace.get(name)
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(value, ModuleType) or inspect.isroutine(value) or inspect.isclass(value):
            package = str(home or "builtins").partition(".")[0]
            if package not in ("__main__", namespace.get("__name__")) and package in sys.modules:
                yield package
