"""Keras, for the lab that needs it: started quietly, and one sentence where it is not installed."""

import logging
import os
import sys
from importlib.util import find_spec

BACKENDS = ("tensorflow", "jax", "torch")

# TensorFlow's start-up messages come from C++; these keep them away, and results the same everywhere.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "JAX_PLATFORMS": "cpu"}

KEPT = 1500  # operations on certain shapes that JAX keeps compiled: some 2 MB each


class KerasMissing(ImportError):
    """Keras or its backend is not installed. Its text says what to run; its traceback is that line."""

    def _render_traceback_(self):  # IPython shows this in place of the stack
        return [str(self)]


def backend() -> str | None:
    """The backend that Keras is to use: the one asked for in KERAS_BACKEND, else the first installed."""
    return os.environ.get("KERAS_BACKEND") or next((name for name in BACKENDS if find_spec(name)), None)


def why_unavailable() -> str:
    """Why Keras cannot be used here, and what to do about it; "" where it can."""
    if sys.platform == "emscripten":
        return "This lab needs Keras, which does not run in a browser: open it on a computer, after `make keras`."
    chosen = backend()
    if find_spec("keras") is None or chosen is None:
        return (
            "This lab needs Keras, which is not installed: "
            "run `make keras` in the course's folder, then restart this notebook's kernel."
        )
    if chosen not in BACKENDS:
        return f"KERAS_BACKEND is {chosen!r}; it can be {', '.join(BACKENDS)}."
    if find_spec(chosen) is None:
        return (
            f"KERAS_BACKEND asks for {chosen}, which is not installed: "
            f"install it, or unset KERAS_BACKEND and run `make keras`."
        )
    return ""


def start_keras() -> None:
    """Choose Keras's backend and keep its start-up quiet; to be called before ``import keras``.

    Raises
    ------
    KerasMissing
        If Keras or the backend asked for is not installed.
    """
    why = why_unavailable()
    if why:
        raise KerasMissing(why)
    os.environ["KERAS_BACKEND"] = str(backend())
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("tensorflow", "absl", "jax"):
        logging.getLogger(name).setLevel(logging.ERROR)


def let_go() -> None:
    """Have JAX forget what it has compiled, once that is much: a process that is asked for many shapes would not fit."""
    jax = sys.modules.get("jax")
    if jax and len(jax.devices()[0].client.live_executables()) > KEPT:
        jax.clear_caches()
