"""Call students' Keras layers in the two Keras labs: output, gradients, saved model.

The exercises compare more than a layer's output: it must be equal in a second call, gradients must
pass through it, and it must be equal after saving and loading. The calls are the same on
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
from autograder.values.case_records import Inputs

OUTPUT, AGAIN = "output", "output of a second call"
GRADIENTS = ("gradient of the queries", "gradient of the keys", "gradient of the values")

# What one backend accepts and another does not, for the notes of `check`.
TENSOR_METHODS = (
    "Each backend has its own tensors: a method such as PyTorch's `masked_fill` is missing on the "
    "others. Functions of `keras.ops` are the same on all, with two exceptions. On JAX "
    "`ops.dot_product_attention` needs keys and values of one size. Where two numbers are equal, "
    "the gradient of `ops.minimum` and `ops.maximum` may differ."
)
MINUS_1E9_IN_FLOAT16 = (
    "In float16 a mask times a number beyond ±65504, such as −1e9, is right on PyTorch and gives "
    "NaN on TensorFlow and JAX."
)
TWO_DTYPES = (
    "TensorFlow does not combine two dtypes, such as float16 with the float32 of `ops.sqrt(d_k)`, "
    "or a number with a mask of booleans."
)
UNKNOWN_SIZES = (
    "While a model is built, an unknown size in `x.shape` is None on TensorFlow; JAX and PyTorch "
    "try numbers in its place."
)

# Options for XLA, the compiler of JAX. Each function runs only once after compilation, so less
# optimisation halves the time. Algebraic rewriting is off: XLA would turn -1e9 times a boolean
# mask into a selection, where 0 never meets an infinity. Excess precision is off: XLA would
# compute float16 intermediate results in float32.
QUICKLY = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_disable_hlo_passes": "algsimp",
    "xla_allow_excess_precision": False,
}


def asked(cls: Any, *arrays: np.ndarray, wanted: str = OUTPUT, **options: Any) -> Any:
    """Call a layer with queries, keys and values; return the output or gradient in `wanted`.

    Parameters
    ----------
    cls : type
        Class of the layer; it is constructed without arguments.
    *arrays : numpy.ndarray
        Queries, keys and values.
    wanted : str
        `OUTPUT`; `AGAIN`, the output after an earlier call without hidden keys, and with queries
        and keys of twice the size; or one of
        `GRADIENTS`, of a weighted sum of the output: zeros if no gradient passes through.
    **options
        Further arguments of `call`: `d_k` and, perhaps, `mask`.
    """
    return _answer(cls, arrays, wanted, options)


def asked_in_their_dtype(
    cls: Any,
    *arrays: np.ndarray,
    wanted: str = OUTPUT,
    **options: Any,
) -> Any:
    """Call a layer like `asked`, with Keras set to the dtype of the queries, such as float16."""
    import keras

    def make() -> Any:
        usual = keras.config.dtype_policy()
        keras.config.set_dtype_policy(arrays[0].dtype.name)
        try:
            return cls()
        finally:
            keras.config.set_dtype_policy(usual)

    return _answer(make, arrays, wanted, options)


@dataclass(frozen=True)
class StandIn:
    """A typical wrong layer, written in NumPy: its call, and its gradient by argument."""

    call: Callable[..., np.ndarray]
    gradient: Callable[..., np.ndarray]

    def __call__(self, *arrays: np.ndarray, **options: Any) -> np.ndarray:
        return self.call(*arrays, **options)


def stays_within_the_values(value: np.ndarray, inputs: Inputs) -> str | None:
    """Check that an output (not a gradient) lies between the minimum and the maximum of `values`."""
    return None if inputs.kwargs.get("wanted") in GRADIENTS else within_the_values(value, inputs)


def _answer(
    make: Callable[[], Any],
    arrays: Sequence,
    wanted: str,
    options: Mapping[str, Any],
) -> Any:
    let_go()
    numpy_alone = isinstance(make(), StandIn)
    if not numpy_alone:
        _require_call(make())

    def answer(arrays: Sequence, options: Mapping[str, Any]) -> Any:
        layer = make()
        if wanted in GRADIENTS:
            gradient = layer.gradient if numpy_alone else partial(_gradient, layer)
            return gradient(GRADIENTS.index(wanted), *arrays, **options)
        if wanted == AGAIN:
            _call_with_longer_keys(layer, arrays, options)
        return layer(*arrays, **options)

    return answer(arrays, options) if numpy_alone else _run_compiled(answer, arrays, options)


class NoCallMethod(Exception):
    """Error for a layer without the method that Keras runs."""


def _require_call(layer: Any) -> None:
    """Raise an error if the layer's class has no `call`: Keras would complain of the arguments."""
    from keras.layers import Layer

    if getattr(type(layer), "call", None) is Layer.call:
        raise NoCallMethod(
            "the layer has no method `call`, which Keras runs (PyTorch's name for it is `forward`)"
        )


def _call_with_longer_keys(layer: Any, arrays: Sequence, options: Mapping[str, Any]) -> None:
    """Call a layer with queries and keys of twice the size, and without hidden keys.

    A layer that keeps its first mask, or its first `d_k`, is then wrong in its next call.
    """
    join = np.concatenate
    if not isinstance(layer, StandIn):
        from keras import ops

        join = ops.concatenate
    queries, keys, *others = arrays
    longer = (join([queries, queries], axis=-1), join([keys, keys], axis=-1), *others)
    mask = options.get("mask")
    layer(
        *longer,
        **{**options, "d_k": 2 * options["d_k"], "mask": mask if mask is None else mask * 0},
    )


def _run_compiled(
    answer: Callable[[Sequence, Mapping], Any], arrays: Sequence, options: Mapping[str, Any]
) -> Any:
    """Compute `answer`, on JAX after compiling it, which takes a tenth of the time.

    If that fails, as for a step that needs concrete numbers, the answer is computed without
    compilation.
    """
    from keras import backend

    if backend.backend() == "jax":
        import jax

        tensors = {name: value for name, value in options.items() if isinstance(value, np.ndarray)}
        compiled_answer = jax.jit(
            lambda arrays, tensors: answer(arrays, {**options, **tensors}),
            compiler_options=QUICKLY,
        )
        try:
            return compiled_answer(tuple(arrays), tensors)
        except Exception:  # noqa: BLE001 - the uncompiled call decides
            pass
    return answer(arrays, options)


def weights_for(shape: tuple[int, ...]) -> np.ndarray:
    """Return factors for an output's numbers; the gradient is that of their weighted sum."""
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def differentiate_by_complex_steps(
    call: Callable[..., np.ndarray],
    arrays: Sequence[np.ndarray],
    index: int,
) -> np.ndarray:
    """Return the gradient, for one array, of the weighted sum of a NumPy function's output.

    Each number is moved by a step along the imaginary axis. Nothing is subtracted, so the digits are
    right on every processor, even beside a mask of -1e9.
    """
    found = np.zeros(arrays[index].shape)
    for place in np.ndindex(found.shape):
        moved = [a.astype(np.complex128) for a in arrays]
        moved[index][place] += 1e-30j
        output = call(*moved)
        found[place] = (output.imag * weights_for(output.shape)).sum() / 1e-30
    return found


def _gradient(layer: Any, index: int, *arrays: Any, **options: Any) -> Any:
    return _gradient_of(
        lambda *tensors: layer(*tensors, **options),
        arrays,
        index,
        layer.compute_dtype,
    )


def _gradient_of(function: Callable, arrays: Sequence, index: int, dtype: str) -> Any:
    """Return the gradient, for one array, of a weighted sum of the function's output."""
    from keras import backend, ops

    tensors = [ops.convert_to_tensor(array, dtype) for array in arrays]

    def total(*tensors: Any) -> Any:
        output = function(*tensors)
        factors = ops.convert_to_tensor(weights_for(tuple(output.shape)), "float32")
        return ops.sum(ops.cast(output, "float32") * factors)

    gradient = None
    try:
        if backend.backend() == "tensorflow":
            import tensorflow

            with tensorflow.GradientTape() as tape:
                tape.watch(tensors)
                weighted_sum = total(*tensors)
            gradient = tape.gradient(weighted_sum, tensors[index])
        elif backend.backend() == "jax":
            import jax

            gradient = jax.grad(total, argnums=index)(*tensors)
        else:
            tensors[index].requires_grad_(True)
            weighted_sum = total(*tensors)
            weighted_sum.backward()
            gradient = tensors[index].grad
    except Exception:  # noqa: BLE001 - if there is an output, only the backward pass fails
        function(*map(ops.stop_gradient, tensors))
    return (
        np.zeros(tuple(arrays[index].shape), dtype)
        if gradient is None
        else ops.convert_to_tensor(gradient)
    )


# Checks of layers with weights

STATE = "number of weights"
CONFIG = "settings that get_config tells"
START = "whether the numbers of every weight differ at the start"
MODEL = "output in a model that knows neither batch nor length"
SAVED = "output of that model, saved and loaded"
PADDED = "output, where Keras itself knows the padding"
HANDED_ON = "mask that travels on"
NAME_OF_KERAS = "chosen by Keras"  # a layer's name if its own settings did not reach it
GRADIENT = "gradient of "  # and the name of a weight, or "argument 1"

_MOMENTS = {"before the first call": 0, "after the first call": 1, "after the second call": 1}


class NotAWeight(Exception):
    """Error for an attribute that is no weight of the layer: Keras would not train or save it."""


class MadeTooLate(Exception):
    """Error for a weight that was created after its layer was built, which Keras refuses."""


class LeavesKeras(Exception):
    """Error for a step that needs numbers while Keras builds a model from shapes only."""


@dataclass(frozen=True)
class InNumPy:
    """A typical wrong layer with weights, written in NumPy.

    `answer` is called with `wanted`, the arrays, the weights by name, and the further arguments of
    `call`.
    """

    answer: Callable[..., Any]


def asked_with_weights(
    cls: Any,
    *arrays: np.ndarray,
    settings: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    wanted: str = OUTPUT,
    **options: Any,
) -> Any:
    """Set a layer's weights, call it, and return what `wanted` names, such as its output.

    Parameters
    ----------
    cls : type
        The layer.
    *arrays : numpy.ndarray, shape (batch, length, size) each
        Arguments of the call.
    settings : mapping
        Arguments of the constructor.
    weights : mapping of str to numpy.ndarray
        Values of the weights by the names of their attributes; the layer is built by a call before.
    wanted : str
        `OUTPUT`, `AGAIN`, or another of the constants above.
    **options
        Further arguments of `call`.
    """
    let_go()
    make = partial(cls, **settings)
    layer = make()
    if isinstance(layer, InNumPy):
        return layer.answer(wanted, arrays, weights, options)
    _require_call(layer)
    if wanted == CONFIG:
        config = layer.get_config()
        read_settings = {name: config[name] for name in settings if name in config}
        if "name" in read_settings and settings["name"] != read_settings["name"] == layer.name:
            read_settings["name"] = NAME_OF_KERAS
        return read_settings
    if wanted == SAVED:
        return _in_a_model(layer, arrays, weights, saved=True)
    answer = _run_compiled(partial(_with_weights, make, weights, wanted), arrays, options)
    if wanted == STATE:
        return {moment: int(count) for moment, count in answer.items()}
    return {"they differ": bool(answer)} if wanted == START else answer


def _with_weights(
    make: Callable[[], Any],
    weights: Mapping,
    wanted: str,
    arrays: Sequence,
    options: Mapping[str, Any],
) -> Any:
    layer = make()
    if wanted == STATE:
        return {
            moment: _weights_after(layer, calls, arrays, options)
            for moment, calls in _MOMENTS.items()
        }
    if wanted == MODEL:
        return _in_a_model(layer, arrays, weights, saved=False)
    if wanted in (PADDED, HANDED_ON):
        arrays = _with_masks(arrays)
    if wanted == AGAIN:
        _call_layer(layer, [array[:, :1] for array in arrays], {})
    _call_layer(layer, arrays, options)
    if wanted == START:
        from keras import ops

        initial_weights = [_weight(layer, name) for name in weights]
        return ops.all(ops.stack([ops.max(weight) > ops.min(weight) for weight in initial_weights]))
    _set(layer, weights)
    if wanted.startswith(GRADIENT):
        return _gradient_with_weights(layer, wanted.removeprefix(GRADIENT), arrays, options)
    output = _call_layer(layer, arrays, options)
    return _mask_of(output) if wanted == HANDED_ON else output


def _weights_after(layer: Any, calls: int, arrays: Sequence, options: Mapping) -> int:
    for _ in range(calls):
        _call_layer(layer, arrays, options)
    return len(layer.weights)


def _call_layer(layer: Any, arrays: Sequence, options: Mapping) -> Any:
    try:
        return layer(*arrays, **options)
    except ValueError as error:
        if "cannot add new elements of state" in str(error):
            raise MadeTooLate(
                "Keras takes no new weight in `call`: the layer is built by then",
            ) from None
        raise
    except Exception as error:
        if any(map(_needs_numbers, _list_causes(error))):
            raise LeavesKeras(
                "a step of `call` wants numbers where a model has only shapes yet",
            ) from None
        raise


def _list_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the errors that caused it; on JAX, Keras raises its own instead."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _needs_numbers(error: BaseException) -> bool:
    """Return True if a backend raised this error because it had shapes and no numbers."""
    return (
        (isinstance(error, NotImplementedError) and "symbolic" in str(error))
        or type(error).__name__ in ("TracerArrayConversionError", "ConcretizationTypeError")
        or (
            isinstance(error, (NotImplementedError, TypeError, RuntimeError))
            and "meta" in str(error)
        )
    )


def _weight(layer: Any, name: str) -> Any:
    weight = getattr(layer, name, None)
    if not any(weight is trainable for trainable in layer.trainable_weights):
        raise NotAWeight(f"the layer has no weight `self.{name}` that Keras could train and save")
    return weight


def _set(layer: Any, weights: Mapping[str, np.ndarray]) -> None:
    for name, array in weights.items():
        weight = _weight(layer, name)
        if tuple(weight.shape) != array.shape:
            raise ValueError(
                f"`self.{name}` has shape {tuple(weight.shape)}; expected {array.shape}"
            )
        weight.assign(array)


def _with_masks(arrays: Sequence[np.ndarray]) -> tuple:
    """Return arrays as tensors with a Keras mask, in which rows of zeros count as padding."""
    from keras.layers import Masking

    return tuple(Masking()(array) for array in arrays)


def _mask_of(output: Any) -> Any:
    from keras import ops
    from keras.src.backend import get_keras_mask  # there is no public way

    mask = get_keras_mask(output)
    return np.zeros(tuple(output.shape)[:-1], bool) if mask is None else ops.convert_to_tensor(mask)


def _in_a_model(layer: Any, arrays: Sequence, weights: Mapping, saved: bool) -> Any:
    """Return the output of a model around the layer; with `saved`, after saving and loading it."""
    import keras

    inputs = [keras.Input((None, array.shape[-1])) for array in arrays]
    model = keras.Model(inputs, _call_layer(layer, inputs, {}))
    _set(layer, weights)
    if saved:
        with TemporaryDirectory() as folder:
            model.save(f"{folder}/model.keras")
            model = keras.models.load_model(
                f"{folder}/model.keras",
                {type(layer).__name__: type(layer)},
            )
    return model(list(arrays))


def _gradient_with_weights(layer: Any, name: str, arrays: Sequence, options: Mapping) -> Any:
    from keras import ops

    variables, fixed = layer.trainable_variables, layer.non_trainable_variables
    if name.startswith("argument "):
        index = len(variables) + int(name.removeprefix("argument ")) - 1
    else:
        weight = _weight(layer, name)
        index = next(place for place, variable in enumerate(variables) if variable is weight)

    def call_layer(*tensors: Any) -> Any:
        return layer.stateless_call(
            tensors[: len(variables)],
            fixed,
            *tensors[len(variables) :],
            **options,
        )[0]

    numbers = [ops.stop_gradient(variable.value) for variable in variables]
    return _gradient_of(call_layer, [*numbers, *arrays], index, layer.compute_dtype)
