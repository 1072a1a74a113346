"""A student's own functions in later labs: what passed its check in one notebook is used in the next.

`check` keeps the source of a function that passed, with the helpers and imports that it needs, in the folder `mine`
beside the labs (the folder with the start page; elsewhere nothing is kept). A line `mine()` at the end of a set-up
cell puts these in place of the cell's own functions. Marking, building and `autograder check` run without: there
`mine()` does nothing.
"""

import hashlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from textwrap import dedent
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from autograder import keys
from autograder.course import VARIABLE
from autograder.errors import listed
from autograder.files import write
from autograder.workspace import START_PAGE

FOLDER = "mine"
SWITCH = "AUTOGRADER_MINE"  # "off" in the environment: the course's functions only
SLOWER, SECONDS = 20, 0.005  # what is this many times slower, and by as much, is too slow to work with
_MARK = "# sha256 "


def shell() -> Any:
    """IPython's own object of this process; None where there is none."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def in_a_kernel() -> bool:
    """Whether this is a notebook's own process; the grader's sandbox is none."""
    return getattr(shell(), "kernel", None) is not None


def as_marked(root: Path | None) -> dict[str, str]:
    """The environment of a kernel that runs a notebook as marking does: with the course's functions, and its library
    wherever the notebook lies.

    Parameters
    ----------
    root : Path or None
        The course's folder, if there is one.
    """
    given = {**os.environ, SWITCH: "off"}
    if root is not None:
        path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
        given |= {"PYTHONPATH": path, VARIABLE: str(root)}
    return given


def _home() -> Path | None:
    """The folder of what passed; None where there is no student's folder, or it is switched off."""
    if not in_a_kernel() or os.environ.get(SWITCH) == "off":
        return None
    here = Path.cwd()
    return next((place / FOLDER for place in (here, here.parent) if (place / START_PAGE).is_file()), None)


def keep(name: str, function: Any, namespace: Mapping[str, Any], right: Callable[[Any], bool]) -> None:
    """Keep a function that passed its check, if its source stands on its own.

    Parameters
    ----------
    right : callable
        Whether a function passes the check: the source is run by itself, and asked again.
    """
    home = _home()
    if home is None or not inspect.isfunction(function):
        return
    try:
        source = "\n\n".join(_sources(name, function, namespace)) + "\n"
        if right(_made(source, name)):
            write(home / f"{name}.py", f"{_MARK}{_digest(source)}: {name}, as it passed its check\n{source}")
    except Exception:  # noqa: BLE001 - anybody's code: what cannot stand on its own stays where it is
        return


def _sources(name: str, function: Any, namespace: Mapping[str, Any]) -> Iterator[str]:
    """Imports and numbers that a function and its helpers use, then the functions themselves."""
    functions, lines, todo = {}, {}, [(name, function)]
    while todo:
        called, value = todo.pop()
        if called in functions or called in lines:
            continue
        if isinstance(value, _Own):
            # In a namespace of its own: its helpers may have the names of helpers here.
            functions[called] = f"{called} = (lambda n: exec({value.source!r}, n) or n[{called!r}])({{}})"
        elif isinstance(value, ModuleType):
            lines[called] = f"import {value.__name__} as {called}"
        elif inspect.isfunction(value) and value.__module__ == "__main__":
            renamed = "" if value.__name__ == called else f"\n{called} = {value.__name__}"
            functions[called] = dedent(inspect.getsource(value)).rstrip() + renamed
            todo += [(n, namespace[n]) for n in _names(value.__code__) if n in namespace]
        elif isinstance(value, (bool, int, float, str)):
            lines[called] = f"{called} = {value!r}"
        elif _found_in_its_module(value):
            lines[called] = f"from {value.__module__} import {value.__name__} as {called}"
    yield from [*lines.values(), *functions.values()]


def _found_in_its_module(value: Any) -> bool:
    home, name = (getattr(value, part, "") for part in ("__module__", "__name__"))
    return getattr(sys.modules.get(str(home)), str(name), None) is value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if inspect.iscode(part):
            yield from _names(part)


def _made(source: str, name: str) -> Any:
    namespace: dict[str, Any] = {"__name__": f"your {name}"}
    exec(compile(source, f"<your {name}>", "exec"), namespace)
    return namespace[name]


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


class _Own:
    """A student's function in place of the course's: compared with it when larger inputs come, given up if it fails."""

    def __init__(self, name: str, own: Callable, course: Callable, source: str):
        self.__name__, self.__wrapped__, self.__doc__ = name, course, own.__doc__
        self.source, self.own, self.course = source, own, course
        self.used, self._tried = True, -1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.used:
            return self.course(*args, **kwargs)
        size = sum(getattr(value, "size", 1) for value in (*args, *kwargs.values()))
        try:
            if size <= 4 * self._tried:
                return self.own(*args, **kwargs)
            began = time.process_time()
            right = self.course(*args, **kwargs)
            between = time.process_time()
            found = self.own(*args, **kwargs)
            ended = time.process_time()
            self._tried = max(size, 1)
            if not _alike(found, right):
                return self._given_up("gives something else here than the course's", right)
            if ended - between > SECONDS + SLOWER * (between - began):
                return self._given_up(
                    f"took {ended - between:.1f} s, the course's {between - began:.2f}", right
                )
            return found
        except Exception as error:  # noqa: BLE001 - anybody's code
            right = self.course(*args, **kwargs)
            return self._given_up(f"raised {type(error).__name__} here", right)

    def _given_up(self, why: str, right: Any) -> Any:
        self.used = False
        print(f"Your {self.__name__} {why}: from now on this notebook uses the course's.")
        return right


def _alike(one: Any, other: Any) -> bool:
    if isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_alike, one, other))
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True)


def mine(on: bool = True) -> None:
    """Put your own functions, which passed their checks in other labs, in place of those that this cell defines.

    It says which are yours. A function of yours that fails here, differs or is very slow is replaced by the course's
    again, with a sentence. What is marked is marked with the course's, always.

    Parameters
    ----------
    on : bool
        False puts the course's functions back into this notebook; AUTOGRADER_MINE=off in the environment does so
        everywhere.
    """
    frame = sys._getframe(1)
    namespace = frame.f_globals
    if not on:
        for name, value in list(namespace.items()):
            if isinstance(value, _Own):
                namespace[name] = value.course
        print("All functions of the set-up cell are the course's.")
        return
    home = _home()
    if home is None:
        return
    known = keys.exercises()
    here = {
        name: value
        for name, value in namespace.items()
        if name in known
        and inspect.isfunction(value)
        and _asked_alike(name, value)
        and value.__code__.co_filename == frame.f_code.co_filename
    }
    for name, course in here.items():
        try:
            head, _, source = (home / f"{name}.py").read_text("utf-8").partition("\n")
            if not head.startswith(f"{_MARK}{_digest(source)}:"):
                print(
                    f"Your {name} in {FOLDER}/{name}.py was changed since it passed: check({name}) in its lab again."
                )
                continue
            own = _made(source, name)
            if list(inspect.signature(own).parameters) == list(inspect.signature(course).parameters):
                namespace[name] = _Own(name, own, course, source)
        except FileNotFoundError:
            continue
        except Exception as error:  # noqa: BLE001 - anybody's code
            print(f"Your {name} cannot be used here ({type(error).__name__}): the course's is.")
    print(_whose(here, {name for name in here if isinstance(namespace[name], _Own)}))


def _asked_alike(name: str, function: Any) -> bool:
    """Whether a function can be asked what the exercise of its name asks; a helper may have the name by chance."""
    if isinstance(function, _Own):
        return True
    key = keys.load(name)
    if not inspect.isfunction(function) or key.rules.call != "function":
        return False
    given = key.questions[-1].inputs
    try:
        inspect.signature(function).bind(*given.args, **given.kwargs)
    except TypeError:
        return False
    return True


def count(namespace: MutableMapping[str, Any], passed: Mapping[str, bool]) -> str:
    """A sentence on whose the exercises' functions in a notebook are."""
    known = keys.exercises()
    names = [name for name, value in namespace.items() if name in known and _asked_alike(name, value)]
    own = {n for n in names if passed.get(n) or getattr(namespace[n], "used", False) is True}
    return _whose(names, own)


def _whose(names: Any, own: set[str]) -> str:
    others = [name for name in names if name not in own]
    said = f"Of the {len(names)} functions here that this course lets you write, {len(own)} are yours"
    if not own:
        return f"{said}."
    return f"{said}: {listed(n for n in names if n in own)}." + (
        f" The course's: {listed(others)}." if others else ""
    )
