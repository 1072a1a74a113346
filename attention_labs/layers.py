"""How the exercises of the lab `keras-attention` call a layer: once, a second time, or for its gradients.

A layer is asked for more than its output: to answer alike when it is called again, and to let gradients through, since
without them nothing before it learns. All is asked in the same way on TensorFlow, JAX and PyTorch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_labs.comparers import within_the_values
from autograder.judging.question import Inputs

OUTPUT, AGAIN = "output", "output of a second call"
GRADIENTS = ("gradient of the queries", "gradient of the keys", "gradient of the values")


def asked(cls: Any, *arrays: np.ndarray, wanted: str = OUTPUT, **given: Any) -> Any:
    """What a layer gives for queries, keys and values.

    Parameters
    ----------
    cls : type
        The layer; it is made without arguments.
    *arrays : numpy.ndarray
        Queries, keys and values.
    wanted : str
        `OUTPUT`; `AGAIN`, with a call before it that hides nothing; or one of `GRADIENTS`, of the output's numbers
        added up with weights of their own: zeros where no gradient comes through.
    **given
        What else `call` takes: `d_k` and, perhaps, `mask`.
    """
    return _answer(cls(), arrays, wanted, given)


def asked_in_their_dtype(cls: Any, *arrays: np.ndarray, wanted: str = OUTPUT, **given: Any) -> Any:
    """The same of a layer that is made under Keras's dtype policy of the queries: float16, say."""
    import keras

    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(arrays[0].dtype.name)
    try:
        layer = cls()
    finally:
        keras.config.set_dtype_policy(usual)
    return _answer(layer, arrays, wanted, given)


@dataclass(frozen=True)
class StandIn:
    """A mistake that is written in NumPy in place of a layer: its `call`, and its gradient of the argument `at`."""

    call: Callable[..., np.ndarray]
    gradient: Callable[..., np.ndarray]

    def __call__(self, *arrays: np.ndarray, **given: Any) -> np.ndarray:
        return self.call(*arrays, **given)


def stays_within_the_values(value: np.ndarray, given: Inputs) -> str | None:
    """An output is an average, so it stays between the smallest and the largest value; a gradient is none."""
    return None if given.kwargs.get("wanted") in GRADIENTS else within_the_values(value, given)


def _answer(layer: Any, arrays: tuple, wanted: str, given: dict[str, Any]) -> Any:
    if wanted in GRADIENTS:
        at = GRADIENTS.index(wanted)
        if isinstance(layer, StandIn):
            return layer.gradient(at, *arrays, **given)
        return _gradient(layer, at, arrays, given)
    if wanted == AGAIN:
        mask = given.get("mask")
        layer(*arrays, **{**given, "mask": mask if mask is None else np.zeros_like(mask)})
    return layer(*arrays, **given)


def weights_for(shape: tuple[int, ...]) -> np.ndarray:
    """By what each number of an output is multiplied before all are added up, so that each counts differently."""
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _gradient(layer: Any, at: int, arrays: tuple, given: dict[str, Any]) -> np.ndarray:
    from keras import backend, ops

    output = layer(*arrays, **given)  # what it raises, it raises here
    factors = ops.convert_to_tensor(weights_for(tuple(output.shape)).astype("float32"))
    dtype = layer.compute_dtype
    tensors = [ops.convert_to_tensor(array.astype(dtype)) for array in arrays]

    def total(*tensors: Any) -> Any:
        return ops.sum(ops.cast(layer(*tensors, **given), "float32") * factors)

    found = None
    try:
        if backend.backend() == "tensorflow":
            import tensorflow

            with tensorflow.GradientTape() as tape:
                tape.watch(tensors)
                summed = total(*tensors)
            found = tape.gradient(summed, tensors[at])
        elif backend.backend() == "jax":
            import jax

            found = jax.grad(total, argnums=at)(*tensors)
        else:
            tensors[at].requires_grad_(True)
            summed = total(*tensors)
            summed.backward()
            found = tensors[at].grad
    except Exception:  # noqa: BLE001 - it gave an output: what is lost is the way back, however the backend says so
        found = None
    return np.zeros(arrays[at].shape, dtype) if found is None else ops.convert_to_numpy(found)
