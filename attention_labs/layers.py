"""How the exercises of the lab `keras-attention` call a layer: once, a second time, for its gradients, or saved.

A layer is asked for more than its output: to answer alike when it is called again, to let gradients through, since
without them nothing before it learns, and to be the same after it was saved and loaded. All is asked in the same way on
TensorFlow, JAX and PyTorch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from attention_labs.comparers import within_the_values
from attention_labs.keras_start import let_go
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
    let_go()
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
    return _gradient_of(lambda *tensors: layer(*tensors, **given), arrays, at, layer.compute_dtype)


def _gradient_of(called: Callable, arrays: Sequence[np.ndarray], at: int, dtype: str) -> np.ndarray:
    """The gradient for one of the arrays of what is called with them, its numbers added up by `weights_for`."""
    from keras import backend, ops

    tensors = [ops.convert_to_tensor(array.astype(dtype)) for array in arrays]
    output = called(*tensors)  # what it raises, it raises here
    factors = ops.convert_to_tensor(weights_for(tuple(output.shape)).astype("float32"))

    def total(*tensors: Any) -> Any:
        return ops.sum(ops.cast(called(*tensors), "float32") * factors)

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


# Layers with weights of their own.

STATE = "number of weights"
CONFIG = "settings that get_config tells"
START = "whether the numbers of every weight differ at the start"
MODEL = "output in a model that knows neither batch nor length"
SAVED = "output of that model, saved and loaded"
PADDED = "output, where Keras itself knows the padding"
HANDED_ON = "mask that travels on"
GRADIENT = "gradient of "  # and the name of a weight, or "argument 1"

_MOMENTS = {"before the first call": 0, "after the first call": 1, "after the second call": 1}


class NotAWeight(Exception):
    """What should be a weight of a layer is none: Keras would neither train nor save it."""


class MadeTooLate(Exception):
    """A weight was made after its layer was built, which Keras refuses."""


class LeavesKeras(Exception):
    """A step wants numbers where a model that is put together has only shapes."""


@dataclass(frozen=True)
class InNumPy:
    """A mistake that is written in NumPy in place of a layer with weights.

    `answer` is called with what is wanted, the arrays, the weights by name, and what else `call` takes.
    """

    answer: Callable[..., Any]


def asked_with_weights(
    cls: Any,
    *arrays: np.ndarray,
    settings: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    wanted: str = OUTPUT,
    **given: Any,
) -> Any:
    """What a layer gives whose weights are set to these.

    Parameters
    ----------
    cls : type
        The layer.
    *arrays : numpy.ndarray, shape (batch, length, size) each
        What it is called with.
    settings : mapping
        The arguments that it is made with.
    weights : mapping of str to numpy.ndarray
        What its weights are set to, by the names of its attributes; a call before that has the layer built.
    wanted : str
        `OUTPUT`, `AGAIN`, or another of the constants above.
    **given
        What else `call` takes.
    """
    let_go()
    layer = cls(**settings)
    if isinstance(layer, InNumPy):
        return layer.answer(wanted, arrays, weights, given)
    if wanted == CONFIG:
        told = layer.get_config()
        return {name: told[name] for name in settings if name in told}
    if wanted == STATE:
        return {moment: _weights_after(layer, calls, arrays, given) for moment, calls in _MOMENTS.items()}
    if wanted in (MODEL, SAVED):
        return _in_a_model(layer, arrays, weights, saved=wanted == SAVED)
    if wanted in (PADDED, HANDED_ON):
        arrays = _with_masks(arrays)
    if wanted == AGAIN:
        _called(layer, [array[:, :1] for array in arrays], {})
    _called(layer, arrays, given)
    if wanted == START:
        return {"they differ": all(np.ptp(_numpy(_weight(layer, name))) > 0 for name in weights)}
    _set(layer, weights)
    if wanted.startswith(GRADIENT):
        return _gradient_with_weights(layer, wanted.removeprefix(GRADIENT), arrays, given)
    output = _called(layer, arrays, given)
    return _mask_of(output) if wanted == HANDED_ON else output


def _weights_after(layer: Any, calls: int, arrays: Sequence, given: Mapping) -> int:
    for _ in range(calls):
        _called(layer, arrays, given)
    return len(layer.weights)


def _called(layer: Any, arrays: Sequence, given: Mapping) -> Any:
    try:
        return layer(*arrays, **given)
    except ValueError as error:
        if "cannot add new elements of state" in str(error):
            raise MadeTooLate("Keras takes no new weight in `call`: the layer is built by then") from None
        raise
    except NotImplementedError as error:
        if "symbolic" in str(error):  # TensorFlow on NumPy; a stub raises this, too
            raise LeavesKeras("a step of `call` wants numbers where a model has only shapes yet") from None
        raise


def _numpy(tensor: Any) -> np.ndarray:
    from keras import ops

    return ops.convert_to_numpy(tensor)


def _weight(layer: Any, name: str) -> Any:
    weight = getattr(layer, name, None)
    if not any(weight is one for one in layer.trainable_weights):
        raise NotAWeight(f"the layer has no weight `self.{name}` that Keras could train and save")
    return weight


def _set(layer: Any, weights: Mapping[str, np.ndarray]) -> None:
    for name, array in weights.items():
        weight = _weight(layer, name)
        if tuple(weight.shape) != array.shape:
            raise ValueError(f"`self.{name}` has shape {tuple(weight.shape)}; {array.shape} is due")
        weight.assign(array)


def _with_masks(arrays: Sequence[np.ndarray]) -> tuple:
    """The arrays as tensors of which Keras knows that rows of zeros are padding."""
    from keras.layers import Masking

    return tuple(Masking()(array) for array in arrays)


def _mask_of(output: Any) -> np.ndarray:
    from keras.src.backend import get_keras_mask  # Keras shows it in no other way

    mask = get_keras_mask(output)
    return np.zeros(tuple(output.shape)[:-1], bool) if mask is None else _numpy(mask)


def _in_a_model(layer: Any, arrays: Sequence, weights: Mapping, saved: bool) -> Any:
    """The output of a model around the layer, or of that model saved and loaded."""
    import keras

    places = [keras.Input((None, array.shape[-1])) for array in arrays]
    model = keras.Model(places, _called(layer, places, {}))
    _set(layer, weights)
    if saved:
        with TemporaryDirectory() as folder:
            model.save(f"{folder}/model.keras")
            model = keras.models.load_model(f"{folder}/model.keras", {type(layer).__name__: type(layer)})
    return model(list(arrays))


def _gradient_with_weights(layer: Any, name: str, arrays: Sequence, given: Mapping) -> np.ndarray:
    variables, fixed = layer.trainable_variables, layer.non_trainable_variables
    if name.startswith("argument "):
        at = len(variables) + int(name.removeprefix("argument ")) - 1
    else:
        weight = _weight(layer, name)
        at = next(place for place, variable in enumerate(variables) if variable is weight)

    def called(*tensors: Any) -> Any:
        return layer.stateless_call(tensors[: len(variables)], fixed, *tensors[len(variables) :], **given)[0]

    return _gradient_of(called, [*map(_numpy, variables), *arrays], at, layer.compute_dtype)
