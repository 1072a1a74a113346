"""Attention Labs: what a lab notebook imports, and the autograder behind it.

Names are loaded when first used, so that ``import autograder`` costs nothing.
"""

__version__ = "1.0.0"

_HOME = {
    "check": "student",
    "progress": "student",
    "ready": "student",
    "overview": "workspace",
    "load_embeddings": "embeddings",
    "tokenize": "embeddings",
    "embed": "embeddings",
    "heatmap": "figures",
    "show": "figures",
    "start_keras": "framework",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
