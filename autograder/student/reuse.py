"""Let students use their own functions, which have passed `check`, in later labs.

`check` saves the source of a function that passed, with the helpers and imports that it needs, in
the folder `my_functions` beside the labs. Nothing is saved if the notebook is not in a folder of
labs, which is recognised by the start page. A later lab's set-up cell defines the course's
versions of such functions, and ends with `use_my_functions()`, which replaces them by the
student's. In grading, in building and in `autograder check` this call does nothing.
"""

import hashlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from autograder.core.course import COURSE_VARIABLE
from autograder.core.files import write_file
from autograder.core.text_format import format_count, join_words
from autograder.judging.student_calls import find_argument_mismatch
from autograder.student import answer_key
from autograder.student.workspace import START_PAGE

REUSE_FOLDER = "my_functions"
REUSE_VARIABLE = "AUTOGRADER_REUSE"  # environment variable; "off": the course's functions only
# A student's function is too slow for reuse if it takes longer than the time of the course's
# function times this factor, plus these seconds.
MAX_SLOWDOWN = 20
MAX_EXTRA_SECONDS = 0.005
_DIGEST_PREFIX = "# sha256 "


def get_shell() -> Any:
    """Return IPython's shell object in this process; None if IPython is not running."""
    if "IPython" not in sys.modules:
        return None
    return sys.modules["IPython"].get_ipython()


def in_notebook_kernel() -> bool:
    """Return True if this process is the kernel of a notebook; False in the grader's sandbox."""
    return getattr(get_shell(), "kernel", None) is not None


def make_grading_like_environment(root: Path | None) -> dict[str, str]:
    """Return environment variables for a kernel that runs a notebook as grading does.

    The kernel uses the course's functions, not the student's. It can import the course's own
    packages, whatever folder the notebook is in.

    Parameters
    ----------
    root : Path or None
        The course's folder, if there is one.
    """
    environment = {**os.environ, REUSE_VARIABLE: "off"}
    if root is not None:
        folders = filter(None, (str(root), os.environ.get("PYTHONPATH")))
        environment["PYTHONPATH"] = os.pathsep.join(folders)
        environment[COURSE_VARIABLE] = str(root)
    return environment


def _find_reuse_folder() -> Path | None:
    """Return the folder in which a student's functions that passed their checks are saved.

    Return None if the notebook is not in a student's folder of labs, or if reuse is turned off.
    """
    if not in_notebook_kernel() or os.environ.get(REUSE_VARIABLE) == "off":
        return None
    current = Path.cwd()
    for folder in (current, current.parent):
        if (folder / START_PAGE).is_file():
            return folder / REUSE_FOLDER
    return None


def save_function(
    name: str, function: Any, namespace: Mapping[str, Any], passes_check: Callable[[Any], bool]
) -> None:
    """Save the source of a student's function that passed, if it runs outside the notebook.

    Parameters
    ----------
    namespace : mapping
        The notebook's global names.
    passes_check : callable
        Called with the function that results from running the saved source alone; returns True if
        that is right.
    """
    folder = _find_reuse_folder()
    if folder is None or not inspect.isfunction(function):
        return
    try:
        source = "\n\n".join(_collect_required_sources(name, function, namespace)) + "\n"
        if passes_check(_run_source(source, name)):
            header = f"{_DIGEST_PREFIX}{_hash_source(source)}: {name}, as it passed its check"
            write_file(folder / f"{name}.py", f"{header}\n{source}")
    except Exception:  # noqa: BLE001 - a student's code that needs its notebook is not saved
        return


def _collect_required_sources(
    name: str,
    function: Any,
    namespace: Mapping[str, Any],
) -> Iterator[str]:
    """Yield the source code that a function needs: imports and constants, helpers, and itself."""
    functions: dict[str, str] = {}
    other_lines: dict[str, str] = {}
    pending = [(name, function)]
    while pending:
        name, value = pending.pop()
        if name in functions or name in other_lines:
            continue
        if isinstance(value, _FunctionWithFallback):
            # A function from an earlier lab runs in a namespace of its own, because its helpers may
            # have the same names as helpers in this notebook.
            namespace_call = f"exec({value.source!r}, n) or n[{name!r}]"
            functions[name] = f"{name} = (lambda n: {namespace_call})({{}})"
        elif isinstance(value, ModuleType):
            other_lines[name] = f"import {value.__name__} as {name}"
        elif inspect.isfunction(value) and value.__module__ == "__main__":
            source = dedent(inspect.getsource(value)).rstrip()
            if value.__name__ != name:
                source += f"\n{name} = {value.__name__}"
            functions[name] = source
            for used_name in _list_names(value.__code__):
                if used_name in namespace:
                    pending.append((used_name, namespace[used_name]))
        elif isinstance(value, (bool, int, float, str)):
            other_lines[name] = f"{name} = {value!r}"
        elif _is_importable(value):
            other_lines[name] = f"from {value.__module__} import {value.__name__} as {name}"
    yield from other_lines.values()
    yield from functions.values()


def _is_importable(value: Any) -> bool:
    """Return True if a value, such as a NumPy function, can be imported from its module by name."""
    module = sys.modules.get(str(getattr(value, "__module__", "")))
    name = str(getattr(value, "__name__", ""))
    return getattr(module, name, None) is value


def _list_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _list_names(constant)


def _run_source(source: str, name: str) -> Any:
    """Run a saved source in an empty namespace, and return the function with this name."""
    namespace: dict[str, Any] = {"__name__": f"your {name}"}
    exec(compile(source, f"<your {name}>", "exec"), namespace)
    return namespace[name]


def _hash_source(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


class _FunctionWithFallback:
    """Student's function for a later lab; the course's function replaces it as soon as it fails.

    On the first call, and on calls with much larger arguments than before, both functions are
    called. If the student's function raises an exception, gives another result or is much slower,
    all later calls use the course's function.
    """

    def __init__(
        self,
        name: str,
        student_function: Callable,
        course_function: Callable,
        source: str,
    ):
        self.__name__ = name
        self.__wrapped__ = course_function
        self.__doc__ = student_function.__doc__
        self.source = source
        self.student_function = student_function
        self.course_function = course_function
        self.is_active = True
        self._max_compared_size = -1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.is_active:
            return self.course_function(*args, **kwargs)
        size = sum(getattr(value, "size", 1) for value in (*args, *kwargs.values()))
        try:
            if size <= 4 * self._max_compared_size:
                return self.student_function(*args, **kwargs)
            return self._call_and_compare_both(size, args, kwargs)
        except Exception as error:  # noqa: BLE001 - a student's code may raise anything
            expected = self.course_function(*args, **kwargs)
            return self._give_up(f"raised {type(error).__name__} here", expected)

    def _call_and_compare_both(
        self, size: int, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the student's function and the course's; return the student's result if it is right.

        If it differs or took too long, use the course's function from now on.
        """
        start = time.process_time()
        expected = self.course_function(*args, **kwargs)
        middle = time.process_time()
        result = self.student_function(*args, **kwargs)
        course_seconds = middle - start
        student_seconds = time.process_time() - middle
        self._max_compared_size = max(size, 1)
        if not _results_agree(result, expected):
            return self._give_up("gives something else here than the course's", expected)
        if student_seconds > MAX_EXTRA_SECONDS + MAX_SLOWDOWN * course_seconds:
            reason = f"took {student_seconds:.1f} s, the course's {course_seconds:.2f}"
            return self._give_up(reason, expected)
        return result

    def _give_up(self, reason: str, expected: Any) -> Any:
        self.is_active = False
        print(f"Your {self.__name__} {reason}: from now on this notebook uses the course's.")
        return expected


def _results_agree(result: Any, expected: Any) -> bool:
    if isinstance(expected, (tuple, list)):
        return len(result) == len(expected) and all(map(_results_agree, result, expected))
    return np.shape(result) == np.shape(expected) and np.allclose(
        result, expected, rtol=1e-3, atol=1e-4, equal_nan=True
    )


def use_my_functions(on: bool = True) -> None:
    """Use your own functions, which passed their checks in other labs, in place of the course's.

    It says which functions are yours. A function of yours that fails here, differs or is very slow
    is replaced by the course's again, with a sentence. Grading always uses the course's functions.

    Parameters
    ----------
    on : bool
        False puts the course's functions back into this notebook; AUTOGRADER_REUSE=off in the
        environment does so everywhere.
    """
    frame = sys._getframe(1)
    namespace = frame.f_globals
    if not on:
        _restore_course_functions(namespace)
        return
    folder = _find_reuse_folder()
    if folder is None:
        return
    exercises = answer_key.list_exercises()
    course_functions = {}
    for name, value in namespace.items():
        if (
            name in exercises
            and inspect.isfunction(value)
            and _accepts_exercise_inputs(name, value)
            and value.__code__.co_filename == frame.f_code.co_filename
        ):
            course_functions[name] = value
    student_names = set()
    for name, course_function in course_functions.items():
        student_function = _load_student_function(folder, name, course_function)
        if student_function is not None:
            namespace[name] = student_function
            student_names.add(name)
    print(_describe_owners(list(course_functions), student_names))


def _restore_course_functions(namespace: dict[str, Any]) -> None:
    for name, value in list(namespace.items()):
        if isinstance(value, _FunctionWithFallback):
            namespace[name] = value.course_function
    print("All functions of the set-up cell are the course's.")


def _load_student_function(
    folder: Path,
    name: str,
    course_function: Callable,
) -> _FunctionWithFallback | None:
    """Read a student's saved function; return None if there is none or it cannot be used.

    If the saved function is unusable, mostly a sentence on the reason is printed.
    """
    try:
        header, _, source = (folder / f"{name}.py").read_text("utf-8").partition("\n")
        if not header.startswith(f"{_DIGEST_PREFIX}{_hash_source(source)}:"):
            print(
                f"Your {name} in {REUSE_FOLDER}/{name}.py was changed since it passed: "
                f"check({name}) in its lab again."
            )
            return None
        function = _run_source(source, name)
        parameters = list(inspect.signature(function).parameters)
        if parameters != list(inspect.signature(course_function).parameters):
            return None
        return _FunctionWithFallback(name, function, course_function, source)
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        print(f"Your {name} cannot be used here ({type(error).__name__}), so the course's is used.")
        return None


def _accepts_exercise_inputs(name: str, function: Any) -> bool:
    """Return True if a function takes the arguments that the exercise's function takes.

    Else it may be a helper that has the exercise's name by chance.
    """
    if isinstance(function, _FunctionWithFallback):
        return True
    key = answer_key.load_exercise_key(name)
    if not inspect.isfunction(function) or key.rules.call != "function":
        return False
    return not find_argument_mismatch(function, key.test_cases[-1].inputs)


def describe_function_owners(
    namespace: Mapping[str, Any], check_results: Mapping[str, bool]
) -> str:
    """Return a sentence on which functions in a notebook are the student's, and which the course's.

    Parameters
    ----------
    check_results : mapping of str to bool
        Whether each exercise that was checked in this notebook has passed, by its name.
    """
    exercises = answer_key.list_exercises()
    names, student_names = [], set()
    for name, value in namespace.items():
        if name in exercises and _accepts_exercise_inputs(name, value):
            names.append(name)
            is_reused = isinstance(value, _FunctionWithFallback) and value.is_active
            if is_reused or check_results.get(name):
                student_names.add(name)
    return _describe_owners(names, student_names)


def _describe_owners(names: Sequence[str], student_names: set[str]) -> str:
    present_names = [name for name in names if name in student_names]
    course_names = [name for name in names if name not in student_names]
    if not names:
        return "Nothing here is a function that this course lets you write."
    choice = f"{format_count(len(names), 'function')} here that this course lets you write"
    verb = "is" if len(present_names) == 1 else "are"
    summary = f"Of the {choice}, {len(present_names)} {verb} yours"
    if not present_names:
        return f"{summary}."
    text = f"{summary}: {join_words(present_names)}."
    if course_names:
        text += f" The course's: {join_words(course_names)}."
    return text
