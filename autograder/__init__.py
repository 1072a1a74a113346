"""The autograder engine, and the functions that a lab notebook imports from it.

Names are loaded on first use, so that ``import autograder`` costs nothing.
"""

__version__ = "2.0.0"

_MODULES = {
    "answers": "student.check",
    "check": "student.check",
    "criteria": "student.check",
    "use_my_functions": "student.reuse",
    "progress": "student.check",
    "ready": "student.check",
    "list_my_functions": "student.check",
    "overview": "student.workspace",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
