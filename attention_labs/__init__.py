"""Helpers for the notebooks of this course: word vectors, pictures, and a quiet start for Keras.

Names are loaded when first used, so that ``import attention_labs`` costs nothing.
"""

_HOME = {
    "load_embeddings": "embeddings",
    "tokenize": "embeddings",
    "embed": "embeddings",
    "heatmap": "pictures",
    "show": "pictures",
    "start_keras": "keras_start",
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
