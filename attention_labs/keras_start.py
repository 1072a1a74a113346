"""Start Keras without its messages; if it is not installed, say so in one sentence."""

import logging
import os
import sys
from importlib.util import find_spec

BACKENDS = ("tensorflow", "jax", "torch")

# Suppress TensorFlow's start-up messages, which Python's logging cannot stop, and make results
# equal on all machines.
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "JAX_PLATFORMS": "cpu"}

MAX_COMPILED_SHAPES = 1500  # compiled operations, one per shape, of about 2 MB each


class KerasMissing(ImportError):
    """Error for a missing Keras or a missing backend; the text says what to run."""

    def _render_traceback_(self):  # IPython shows this in place of the stack
        return [str(self)]


def backend() -> str | None:
    """Return the backend for Keras: the one named in KERAS_BACKEND, else the first installed."""
    installed = (name for name in BACKENDS if find_spec(name))
    return os.environ.get("KERAS_BACKEND") or next(installed, None)


def explain_unavailability() -> str:
    """Return the reason why Keras cannot run here, with a remedy; "" if it can."""
    if sys.platform == "emscripten":
        return (
            "This lab needs Keras, which does not run in a browser: "
            "open it on a computer, after `make keras`."
        )
    name = backend()
    if find_spec("keras") is None or name is None:
        return (
            "This lab needs Keras, which is not installed: "
            "run `make keras` in the course's folder, then restart this notebook's kernel."
        )
    if name not in BACKENDS:
        return f"KERAS_BACKEND is {name!r}; it can be {', '.join(BACKENDS)}."
    if find_spec(name) is None:
        return (
            f"KERAS_BACKEND asks for {name}, which is not installed: "
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
    reason = explain_unavailability()
    if reason:
        raise KerasMissing(reason)
    os.environ["KERAS_BACKEND"] = str(backend())
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    for name in ("tensorflow", "absl", "jax"):
        logging.getLogger(name).setLevel(logging.ERROR)


def let_go() -> None:
    """Clear JAX's cache of compiled operations if it is large, to limit memory usage."""
    jax = sys.modules.get("jax")
    if jax and len(jax.devices()[0].client.live_executables()) > MAX_COMPILED_SHAPES:
        jax.clear_caches()
