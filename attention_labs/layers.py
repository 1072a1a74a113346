"""How the exercises of the lab `keras-attention` call a layer: once, a second time, for its gradients, or saved.

A layer is asked for more than its output: to answer alike when it is called again, to let gradients through, since
without them nothing before it learns, and to be the same after it was saved and loaded. All is asked in the same way on
TensorFlow, JAX and PyTorch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from attention_labs.comparers import within_the_values
from attention_labs.keras_start import let_go
from autograder.judging.question import Inputs

OUTPUT, AGAIN = "output", "output of a second call"
GRADIENTS = ("gradient of the queries", "gradient of the keys", "gradient of the values")

# For what XLA compiles and runs once: half the time. And it is to compute what is written: of -1e9 times a mask of
# booleans it would make a choice, in which no 0 meets an infinity, and of float16 in between float32.
QUICKLY = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_disable_hlo_passes": "algsimp",
    "xla_allow_excess_precision": False,
}


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
    return _answer(cls, arrays, wanted, given)


def asked_in_their_dtype(cls: Any, *arrays: np.ndarray, wanted: str = OUTPUT, **given: Any) -> Any:
    """The same of a layer that is made under Keras's dtype policy of the queries: float16, say."""
    import keras

    def make() -> Any:
        usual = keras.config.dtype_policy()
        keras.config.set_dtype_policy(arrays[0].dtype.name)
        try:
            return cls()
        finally:
            keras.config.set_dtype_policy(usual)

    return _answer(make, arrays, wanted, given)


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


def _answer(make: Callable[[], Any], arrays: Sequence, wanted: str, given: Mapping[str, Any]) -> Any:
    let_go()
    numpy_alone = isinstance(make(), StandIn)

    def answer(arrays: Sequence, given: Mapping[str, Any]) -> Any:
        layer = make()
        if wanted in GRADIENTS:
            gradient = layer.gradient if numpy_alone else partial(_gradient, layer)
            return gradient(GRADIENTS.index(wanted), *arrays, **given)
        if wanted == AGAIN:
            mask = given.get("mask")
            layer(*arrays, **{**given, "mask": mask if mask is None else mask * 0})
        return layer(*arrays, **given)

    return answer(arrays, given) if numpy_alone else _whole(answer, arrays, given)


def _whole(answer: Callable[[Sequence, Mapping], Any], arrays: Sequence, given: Mapping[str, Any]) -> Any:
    """The answer for these arguments; on JAX compiled whole, which takes a tenth of all its operations one by one.

    What cannot be compiled, such as a step that wants numbers, and what raises, is worked out once more, as elsewhere.
    """
    from keras import backend

    if backend.backend() == "jax":
        import jax

        tensors = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        compiled = jax.jit(
            lambda arrays, tensors: answer(arrays, {**given, **tensors}), compiler_options=QUICKLY
        )
        try:
            return compiled(tuple(arrays), tensors)
        except Exception:  # noqa: BLE001 - whatever it is
            pass
    return answer(arrays, given)


def weights_for(shape: tuple[int, ...]) -> np.ndarray:
    """By what each number of an output is multiplied before all are added up, so that each counts differently."""
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _gradient(layer: Any, at: int, *arrays: Any, **given: Any) -> Any:
    return _gradient_of(lambda *tensors: layer(*tensors, **given), arrays, at, layer.compute_dtype)


def _gradient_of(called: Callable, arrays: Sequence, at: int, dtype: str) -> Any:
    """The gradient for one of the arrays of what is called with them, its numbers added up by `weights_for`."""
    from keras import backend, ops

    tensors = [ops.convert_to_tensor(array, dtype) for array in arrays]

    def total(*tensors: Any) -> Any:
        output = called(*tensors)
        factors = ops.convert_to_tensor(weights_for(tuple(output.shape)), "float32")
        return ops.sum(ops.cast(output, "float32") * factors)

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
    except Exception:  # noqa: BLE001 - where it gives an output, what is lost is the way back, whatever the backend says
        called(*map(ops.stop_gradient, tensors))
    return np.zeros(tuple(arrays[at].shape), dtype) if found is None else ops.convert_to_tensor(found)


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
    make = partial(cls, **settings)
    layer = make()
    if isinstance(layer, InNumPy):
        return layer.answer(wanted, arrays, weights, given)
    if wanted == CONFIG:
        told = layer.get_config()
        return {name: told[name] for name in settings if name in told}
    if wanted == SAVED:
        return _in_a_model(layer, arrays, weights, saved=True)
    answer = _whole(partial(_with_weights, make, weights, wanted), arrays, given)
    if wanted == STATE:
        return {moment: int(many) for moment, many in answer.items()}
    return {"they differ": bool(answer)} if wanted == START else answer


def _with_weights(
    make: Callable[[], Any], weights: Mapping, wanted: str, arrays: Sequence, given: Mapping[str, Any]
) -> Any:
    layer = make()
    if wanted == STATE:
        return {moment: _weights_after(layer, calls, arrays, given) for moment, calls in _MOMENTS.items()}
    if wanted == MODEL:
        return _in_a_model(layer, arrays, weights, saved=False)
    if wanted in (PADDED, HANDED_ON):
        arrays = _with_masks(arrays)
    if wanted == AGAIN:
        _called(layer, [array[:, :1] for array in arrays], {})
    _called(layer, arrays, given)
    if wanted == START:
        from keras import ops

        started = [_weight(layer, name) for name in weights]
        return ops.all(ops.stack([ops.max(weight) > ops.min(weight) for weight in started]))
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
    except Exception as error:
        if any(map(_wants_numbers, _and_before(error))):
            raise LeavesKeras("a step of `call` wants numbers where a model has only shapes yet") from None
        raise


def _and_before(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those in whose handling it was raised: on JAX, Keras stumbles where it passes one on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _wants_numbers(error: BaseException) -> bool:
    """Whether TensorFlow, JAX or PyTorch says so; a stub raises NotImplementedError, too."""
    return (
        (isinstance(error, NotImplementedError) and "symbolic" in str(error))
        or type(error).__name__ in ("TracerArrayConversionError", "ConcretizationTypeError")
        or (isinstance(error, (NotImplementedError, TypeError, RuntimeError)) and "meta" in str(error))
    )


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


def _mask_of(output: Any) -> Any:
    from keras import ops
    from keras.src.backend import get_keras_mask  # Keras shows it in no other way

    mask = get_keras_mask(output)
    return np.zeros(tuple(output.shape)[:-1], bool) if mask is None else ops.convert_to_tensor(mask)


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


def _gradient_with_weights(layer: Any, name: str, arrays: Sequence, given: Mapping) -> Any:
    from keras import ops

    variables, fixed = layer.trainable_variables, layer.non_trainable_variables
    if name.startswith("argument "):
        at = len(variables) + int(name.removeprefix("argument ")) - 1
    else:
        weight = _weight(layer, name)
        at = next(place for place, variable in enumerate(variables) if variable is weight)

    def called(*tensors: Any) -> Any:
        return layer.stateless_call(tensors[: len(variables)], fixed, *tensors[len(variables) :], **given)[0]

    numbers = [ops.stop_gradient(variable.value) for variable in variables]
    return _gradient_of(called, [*numbers, *arrays], at, layer.compute_dtype)
