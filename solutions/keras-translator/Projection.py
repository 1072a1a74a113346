"""The exercise `Projection`: a layer with a weight of its own, which is made, trained, told of and saved."""

import numpy as np

from attention_labs.layers import (
    AGAIN,
    CONFIG,
    GRADIENT,
    MODEL,
    NAME_OF_KERAS,
    SAVED,
    START,
    STATE,
    UNKNOWN_SIZES,
    LeavesKeras,
    MadeTooLate,
    NotAWeight,
    asked_with_weights,
)
from autograder.authoring import Exercise, inputs, sizes

from ._shared import as_it_is, in_numpy, keras_class, nothing, raising, without

Projection = Exercise(
    "Projection",
    points=3,
    call=asked_with_weights,
    returns="tensor",
    exact_dtype=True,
    portability_note=UNKNOWN_SIZES,
)


def called(rng, batch, length, d, size, settings=None, **more):
    x = rng.normal(size=(batch, length, d)).astype(np.float32)
    w = (rng.normal(size=(d, size)) / d**0.5).astype(np.float32)
    return inputs(x, settings={"size": int(size), **(settings or {})}, weights={"w": w}, **more)


@Projection.domain(
    sizes={"batch": (1, 60), "L": (1, 60), "d": (1, 60), "size": (1, 60)},
    flags={"policy": ("float32", "float16", "mixed_float16")},
    has_fixed_shapes=True,  # JAX compiles for each shape
)
def anywhere(rng, batch, L, d, size, policy):
    return called(rng, batch, L, d, size, {"dtype": policy})


@Projection.case("d = 3, size = 2")
def small(rng):
    w = np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    return inputs(
        np.array([[[1, 2, 3], [0, 0, 1]]], np.float32), settings={"size": 2}, weights={"w": w}
    )


@Projection.case("every size different")
def all_different(rng):
    return called(rng, *sizes(rng, 4))


@Projection.case("as many numbers as before")
def square(rng):
    batch, length, d = sizes(rng, 3)
    return called(rng, batch, length, d, d)


CASES = {
    "how its weight starts": START,
    "called a second time": AGAIN,
    "the gradient of its weight": GRADIENT + "w",
    "the gradient of what comes in": GRADIENT + "argument 1",
    "in a model that does not know the sizes of a batch yet": MODEL,
    "in a model that is saved and loaded": SAVED,
}
for label, wanted in CASES.items():

    @Projection.case(label)
    def asked(rng, wanted=wanted):
        return called(rng, *sizes(rng, 4, low=2, high=5), wanted=wanted)


@Projection.case("number of weights, size = d")
def counted(rng):
    batch, length, d = sizes(rng, 3)
    return called(rng, batch, length, d, d, wanted=STATE)


@Projection.case("the result of `get_config`")
def told(rng):
    batch, length, d, size = sizes(rng, 4)
    return called(rng, batch, length, d, size, {"name": f"into_{size}"}, wanted=CONFIG)


# Mistakes of a layer as such.


@Projection.misconception(
    means="Keras refuses a weight that is made in `call`: it would make a new one at every call, and train none of them.",
    nudge="Which method does Keras call once, before the first call, and tell the shape of what comes in?",
)
@in_numpy({"": raising(MadeTooLate()), CONFIG: as_it_is})
def weight_made_in_call(x, w, size):
    return x @ w


@Projection.misconception(
    means="Your numbers are a plain tensor or array: Keras does not know them as a weight, so that nothing trains or "
    "saves them.",
    nudge="Which method of a layer makes a weight and enters it in the layer's list?",
)
@in_numpy(
    {"": raising(NotAWeight()), CONFIG: as_it_is, STATE: lambda true: dict.fromkeys(true(), 0)}
)
def weight_unknown_to_keras(x, w, size):
    return x @ w


@Projection.misconception(
    means="Under the name `self.w` your layer has no weight that is trained: yours has another name, lies in a layer "
    "inside, or was made with `trainable=False`.",
    nudge="What is kept as `self.w` in your `build`?",
)
@in_numpy({"": raising(NotAWeight()), CONFIG: as_it_is, STATE: as_it_is})
def weight_of_another_name(x, w, size):
    return x @ w


def only_if_square(x, w, size):
    if x.shape[-1] != size:
        raise ValueError
    return x @ w


@Projection.misconception(
    means="You made the weight in `__init__`, where d is not known yet: it is square, "
    "and fits only where as many go out as come in.",
    nudge="Keras calls `build` with the shape of what comes in. Which number of it do you need?",
)
@in_numpy({STATE: lambda true: dict.fromkeys(true(), 1), START: raising(ValueError())})
def weight_made_in_init(x, w, size):
    return only_if_square(x, w, size)


@Projection.misconception(
    means="`get_config` does not tell `size`, so that nobody can make the layer again: a saved model cannot be loaded.",
    nudge="With which arguments was the layer made? Each of them has to be told.",
)
@in_numpy({CONFIG: without("size"), SAVED: raising(TypeError())})
def size_not_told(x, w, size):
    return x @ w


@Projection.misconception(
    means="`get_config` returns your own arguments but not those of every layer (`name`, `dtype`): loaded again, the layer "
    "has another name.",
    nudge="What does `super().get_config()` give?",
)
@in_numpy({CONFIG: without("name")})
def name_not_told(x, w, size):
    return x @ w


@Projection.misconception(
    means="Your `__init__` does not pass the settings in `more` on: `name` and `dtype` have no say "
    "in your layer.",
    nudge="What does your `super().__init__(…)` get?",
)
@in_numpy({CONFIG: lambda true: {**true(), "name": NAME_OF_KERAS}}, ignores_dtype=True)
def settings_not_passed_on(x, w, size):
    return x @ w


@Projection.misconception(
    means="The weight starts with the same number everywhere: all outputs are alike, get the same gradient, and stay alike.",
    nudge="What does `add_weight` do where nobody names an initializer?",
)
@in_numpy({START: lambda true: {"they differ": False}})
def same_number_everywhere(x, w, size):
    return x @ w


@Projection.misconception(
    means="Your layer has a bias too: a second weight, which nobody asked for.",
    nudge="The formula has one product and nothing added. How many weights is that?",
)
@in_numpy(extra=1)
def with_a_bias(x, w, size):
    return x @ w


@Projection.misconception(
    means="A step of `call` leaves Keras (NumPy, `convert_to_numpy`): it wants numbers, and a model that is put "
    "together has only shapes yet. No gradient would come through it either.",
    nudge="Which of your steps is not one of `keras.ops`?",
)
@in_numpy({GRADIENT: nothing, MODEL: raising(LeavesKeras()), SAVED: raising(LeavesKeras())})
def out_of_keras(x, w, size):
    return x @ w


@Projection.misconception(
    means="No gradient comes through your layer: it is held back (`stop_gradient`), or the numbers "
    "leave Keras (NumPy, `convert_to_numpy`).",
    nudge="Which of your steps is not one of `keras.ops`, or is there to keep something from "
    "learning?",
)
@in_numpy({GRADIENT: nothing})
def no_gradient(x, w, size):
    return x @ w


# Mistakes of the product.


@Projection.misconception(
    means="The weight has its sides exchanged: (size, d) instead of (d, size).",
    nudge="A row vector of d numbers times a matrix gives `size` numbers. How many rows has the matrix?",
)
@in_numpy({START: raising(ValueError())})
def sides_exchanged(x, w, size):
    return only_if_square(x, w, size)


@Projection.misconception(
    means="The weight has its sides exchanged, (size, d) instead of (d, size), and you turned it round in the product.",
    nudge="Can it be made so that no step has to turn it?",
)
@in_numpy()
def turned_in_the_product(x, w, size):
    return only_if_square(x, w.T, size)


@Projection.misconception(
    means="Your numbers went through a function besides; a projection is the product alone.",
    nudge="What is the `activation` of the formula?",
)
@in_numpy()
def cut_off_at_0(x, w, size):
    return np.maximum(x @ w, 0)


@Projection.misconception(
    means="You divided by the root of how many numbers come in. That is the scale of attention's scores.",
    nudge="Which of the steps in the formula is a division?",
)
@in_numpy()
def scaled(x, w, size):
    return x @ w / np.asarray(x.shape[-1] ** 0.5, x.dtype)


@Projection.misconception(
    means="Your layer answers in float32, whatever it is asked for: what comes after it is made to work in float32 too.",
    nudge="The settings may say `dtype`. Which method of every layer takes such settings?",
)
@in_numpy(always="float32")
def always_float32(x, w, size):
    return x @ w


# Other right answers, which must pass.


@Projection.variant
@keras_class
def with_initializer_and_einsum(Layer, ops):
    class Projection(Layer):
        def __init__(self, size, **more):
            super().__init__(**more)
            self.size = size

        def build(self, input_shape):
            self.w = self.add_weight(
                name="w",
                shape=(input_shape[-1], self.size),
                initializer="glorot_uniform",
                trainable=True,
            )
            super().build(input_shape)

        def call(self, inputs, **more):
            return ops.einsum("bld,de->ble", inputs, self.w)

        def get_config(self):
            config = super().get_config()
            config.update({"size": self.size})
            return config

    return Projection


@Projection.variant
@keras_class
def positional_build(Layer, ops):
    class Projection(Layer):
        def __init__(self, size, name=None, dtype=None, trainable=True):
            super().__init__(name=name, dtype=dtype, trainable=trainable)
            self.size = size

        def build(self, x_shape):
            self.w = self.add_weight((x_shape[2], self.size), "random_normal")

        def call(self, x):
            return ops.matmul(x, self.w)

        def get_config(self):
            return dict(super().get_config(), size=self.size)

    return Projection
