"""The exercise `MultiHead`: a layer with four weights, many heads, and both meanings of a mask."""

import numpy as np

from attention_labs.layers import (
    AGAIN,
    CONFIG,
    GRADIENT,
    HANDED_ON,
    MINUS_1E9_IN_FLOAT16,
    MODEL,
    NAME_OF_KERAS,
    PADDED,
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

from ._shared import (
    ahead_of,
    as_it_is,
    hidden_by,
    in_numpy,
    keras_class,
    nothing,
    padding_of,
    raising,
    softmax,
    some_hidden,
    some_tokens,
    without,
)

MultiHead = Exercise(
    "MultiHead",
    points=5,
    call=asked_with_weights,
    returns="tensor",
    exact_dtype=True,
    portability_note=f"{MINUS_1E9_IN_FLOAT16} {UNKNOWN_SIZES}",
)

NAMES = ("w_q", "w_k", "w_v", "w_o")


def called(rng, batch, L_q, L_k, d, heads, d_head, settings=None, **more):
    arrays = [rng.normal(size=(batch, length, d)).astype(np.float32) for length in (L_q, L_k, L_k)]
    width = heads * d_head
    # Scores of ordinary size, and outputs that float16's few digits are enough for.
    shapes = dict.fromkeys(NAMES, (d, width)) | {"w_o": (width, d)}
    weights = {
        name: (rng.normal(size=shape) * shape[0] ** -0.5).astype(np.float32)
        for name, shape in shapes.items()
    }
    given = {"heads": int(heads), "d_head": int(d_head), **(settings or {})}
    return inputs(*arrays, settings=given, weights=weights, **more)


@MultiHead.domain(
    sizes={
        "batch": (1, 30),
        "L_q": (1, 30),
        "L_k": (1, 30),
        "d": (1, 30),
        "heads": (1, 12),
        "d_head": (1, 30),
    },
    flags={"hidden": ("(batch, L_q, L_k)", None, "(batch, 1, L_k)", "(L_q, L_k)")},
    has_fixed_shapes=True,  # JAX compiles for each shape
)
def anywhere(rng, batch, L_q, L_k, d, heads, d_head, hidden):
    return called(
        rng, batch, L_q, L_k, d, heads, d_head, hidden=hidden_by(rng, hidden, batch, L_q, L_k)
    )


def drawn(rng, **more):
    """All sizes different, and so is heads · d_head from d."""
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    return called(rng, batch, L_q, L_k, d, heads, d_head, **more)


def masked(rng, **more):
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    hidden = some_hidden(rng, batch, L_q, L_k)
    return called(rng, batch, L_q, L_k, d, heads, d_head, hidden=hidden, **more)


@MultiHead.case("every size different; nothing hidden")
def unmasked(rng):
    return drawn(rng)


@MultiHead.case("two heads and words of 4 numbers, a look-ahead mask (L, L)")
def with_look_ahead(rng):
    (length,) = sizes(rng, 1, low=3)
    return called(rng, 2, length, length, 4, 2, 2, hidden=ahead_of(length))


@MultiHead.case("a padding mask (batch, 1, L_k)")
def with_padding(rng):
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    return called(
        rng, batch, L_q, L_k, d, heads, d_head, hidden=padding_of(some_tokens(rng, batch, L_k))
    )


@MultiHead.case("both together (batch, L, L), as booleans")
def with_both(rng):
    heads, d_head, d, batch, length = sizes(rng, 5, low=2, high=7)
    hidden = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length)) == 1
    return called(rng, batch, length, length, d, heads, d_head, hidden=hidden)


@MultiHead.case("as many sentences as heads, a mask (batch, L_q, L_k)")
def as_many_heads(rng):
    d_head, d, heads, L_q, L_k = sizes(rng, 5, low=2, high=7)
    return called(rng, heads, L_q, L_k, d, heads, d_head, hidden=some_hidden(rng, heads, L_q, L_k))


@MultiHead.case("Keras's own mask of the keys, True = a word")
def keys_masked(rng):
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    return called(
        rng, batch, L_q, L_k, d, heads, d_head, keys_mask=some_tokens(rng, batch, L_k) > 0
    )


@MultiHead.case("both kinds of mask at once")
def both_kinds(rng):
    heads, d_head, d, batch, length = sizes(rng, 5, low=2, high=7)
    words = some_tokens(rng, batch, length) > 0
    return called(
        rng, batch, length, length, d, heads, d_head, hidden=ahead_of(length), keys_mask=words
    )


def padded(rng, wanted):
    """Sentences whose padding are rows of zeros."""
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    given = called(rng, batch, L_q, L_k, d, heads, d_head, wanted=wanted)
    for array in given.args[:2]:
        array[some_tokens(rng, batch, array.shape[1]) == 0] = 0
    return given


@MultiHead.case("Keras's own mask, passed by Keras")
def masked_by_keras(rng):
    return padded(rng, PADDED)


@MultiHead.case("the output carries the mask of the queries")
def handed_on(rng):
    return padded(rng, HANDED_ON)


for name in NAMES:

    @MultiHead.case(f"the gradient of {name}")
    def gradient(rng, name=name):
        return called(
            rng, 2, 3, 4, 3, 2, 2, hidden=some_hidden(rng, 2, 3, 4), wanted=GRADIENT + name
        )


CASES = {
    "the gradient of the keys": GRADIENT + "argument 2",
    "number of weights": STATE,
    "how its weights start": START,
    "called a second time": AGAIN,
    "in a model that does not know the sizes of a batch yet": MODEL,
    "in a model that is saved and loaded": SAVED,
}
for label, wanted in CASES.items():

    @MultiHead.case(label)
    def asked(rng, wanted=wanted):
        batch, L_q, L_k, d, d_head = sizes(rng, 5, low=2, high=6)
        return called(rng, batch, L_q, L_k, d, 2, d_head, wanted=wanted)


@MultiHead.case("the result of `get_config`")
def told(rng):
    heads = int(rng.integers(2, 9))
    return called(rng, 2, 3, 4, 5, heads, heads + 1, {"name": f"of_{heads}"}, wanted=CONFIG)


@MultiHead.case("in float16, with a mask")
def half(rng):
    return masked(rng, settings={"dtype": "float16"})


@MultiHead.case("under mixed_float16, with Keras's own mask")
def mixed(rng):
    heads, d_head, d, batch, L_q, L_k = sizes(rng, 6, low=2, high=7)
    words = some_tokens(rng, batch, L_k) > 0
    return called(
        rng, batch, L_q, L_k, d, heads, d_head, {"dtype": "mixed_float16"}, keys_mask=words
    )


# What a right layer does in NumPy, in steps that can go wrong one by one.


def cut(x, heads):
    """(batch, L, heads · d_head) → (batch, heads, L, d_head)."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def merged(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def for_all_heads(hidden):
    return hidden if hidden.ndim == 2 else hidden[:, None]


def lower(scores, out, by=-6e4):
    return np.where(out, np.asarray(by, scores.dtype), scores)


def attend(q, k, v, w_q, w_k, w_v, w_o, heads, d_head, hidden=None, keys_mask=None, **steps):
    step = {"cut": cut, "merged": merged, "softmax": softmax, "hide": lower, **steps}
    q, k, v = (step["cut"](x, heads) for x in (q @ w_q, k @ w_k, v @ w_v))
    scores = q @ k.swapaxes(-1, -2) / np.asarray(step.get("scale", d_head**0.5), q.dtype)
    if hidden is not None:
        scores = step.get("hide_ours", step["hide"])(scores, for_all_heads(hidden) == 1)
    if keys_mask is not None:
        scores = step["hide"](scores, ~keys_mask[:, None, None, :])
    return step["merged"](step["softmax"](scores) @ v) @ w_o


# What is wrong with it as a layer.


def mistaken(name, means, nudge, tells=None, extra=0):
    """A layer whose output is right, and what it tells of itself is not."""

    def function(*arrays, **given):
        return attend(*arrays, **given)

    function.__name__ = name
    MultiHead.misconception(means=means, nudge=nudge)(in_numpy(tells, extra)(function))


mistaken(
    "weights_made_in_call",
    "Keras refuses a weight that is made in `call`: it would make new ones at every call, and train none of them.",
    "In which method did your `Projection` make its weight?",
    {"": raising(MadeTooLate()), CONFIG: as_it_is},
)
mistaken(
    "weights_unknown_to_keras",
    "Your numbers are plain tensors or arrays, or have other names: under the names of the docstring Keras knows no "
    "weights that it could train and save.",
    "Are all four made by `self.add_weight`, and kept as `self.w_q`, `self.w_k`, `self.w_v` and `self.w_o`?",
    {"": raising(NotAWeight()), CONFIG: as_it_is, STATE: as_it_is},
)
mistaken(
    "with_biases",
    "Your layer has more weights than the four of the formula: biases, perhaps.",
    "`print([w.path for w in layer.weights])` lists them. Which of them does the formula not have?",
    extra=4,
)
mistaken(
    "sizes_taken_too_early",
    "In a model that is put together the sizes of batch and sentence are None, and your `call` counts on them.",
    "In a reshape one size may be -1; `ops.shape(x)` gives sizes that are right once there are any. Which do you need?",
    {MODEL: raising(TypeError()), SAVED: raising(TypeError())},
)
mistaken(
    "same_number_everywhere",
    "Your weights start with the same number everywhere: all heads are alike, get the same gradient, and stay alike.",
    "What does `add_weight` do where nobody names an initializer?",
    {START: lambda true: {"they differ": False}},
)
mistaken(
    "heads_not_told",
    "`get_config` does not tell `heads`, so that a saved model cannot be loaded.",
    "With which arguments was the layer made? Each of them has to be told.",
    {CONFIG: without("heads"), SAVED: raising(TypeError())},
)
mistaken(
    "d_head_not_told",
    "`get_config` does not tell `d_head`, so that a saved model cannot be loaded.",
    "With which arguments was the layer made? Each of them has to be told.",
    {CONFIG: without("d_head"), SAVED: raising(TypeError())},
)
mistaken(
    "name_not_told",
    "`get_config` returns your own arguments but not those of every layer, such as `name` and `dtype`.",
    "What does `super().get_config()` give?",
    {CONFIG: without("name")},
)
mistaken(
    "no_mask_travels_on",
    "The mask of the queries ends at your layer: what comes after it takes padding for words.",
    "Which line in `__init__` says that a layer can be given masked inputs? Should the mask of the queries go on, or none?",
    {HANDED_ON: nothing},
)
mistaken(
    "out_of_keras",
    "A step of `call` leaves Keras (NumPy, `convert_to_numpy`): it wants numbers, and a model that is put together has "
    "only shapes yet. No gradient would come through it either.",
    "Which of your steps is not one of `keras.ops`?",
    {GRADIENT: nothing, MODEL: raising(LeavesKeras()), SAVED: raising(LeavesKeras())},
)
mistaken(
    "no_gradient",
    "No gradient comes through your layer: it is held back (`stop_gradient`), or the numbers "
    "leave Keras (NumPy, `convert_to_numpy`).",
    "Which of your steps is not one of `keras.ops`, or is there to keep something from learning?",
    {GRADIENT: nothing},
)
mistaken(
    "where_to_look_is_never_learned",
    "Gradients reach w_v and w_o only: the attention weights are held back (`stop_gradient`), so where to look can "
    "never be learned.",
    "On which way do w_q and w_k come into the result? Which step on it is not one of `keras.ops`?",
    {
        GRADIENT + "w_q": nothing,
        GRADIENT + "w_k": nothing,
    },
)


# What goes wrong with the masks.


def mistake(means, nudge, **more):
    """A layer that gives wrong numbers."""
    return lambda function: MultiHead.misconception(means=means, nudge=nudge)(
        in_numpy(**more)(function)
    )


@mistake(
    "You made the scores of the hidden keys very high instead of very low, so they take everything.",
    "Check a sign: which number do the hidden scores get?",
)
def hidden_keys_highest(*arrays, **given):
    return attend(*arrays, **given, hide_ours=lambda scores, out: lower(scores, out, 6e4))


@mistake(
    "Your `hidden` is the other way round: the keys that should be hidden are the only ones looked at.",
    "In `hidden` 1 means hidden. If you choose with `where`: which of its two results comes first?",
)
def hidden_inverted(*arrays, hidden=None, **given):
    return attend(*arrays, **given, hidden=hidden if hidden is None else 1 - hidden)


@mistake(
    "You read Keras's mask as if 1 meant hidden: in `keys_mask` it is True that means “a word”.",
    "Look at section 5 again: two meanings, and this layer is given one of each.",
)
def keys_mask_inverted(*arrays, keys_mask=None, **given):
    return attend(*arrays, **given, keys_mask=keys_mask if keys_mask is None else ~keys_mask)


@mistake(
    "You hide a key only where both masks hide it.",
    "Padding that the look-ahead mask shows: should it be hidden or not? Is that “and” or “or”?",
)
def hidden_by_both_masks_only(*arrays, hidden=None, keys_mask=None, **given):
    if hidden is None or keys_mask is None:
        return attend(*arrays, **given, hidden=hidden, keys_mask=keys_mask)
    by_both = (for_all_heads(hidden) == 1) & ~keys_mask[:, None, None, :]
    return attend(*arrays, **given, hidden=by_both[:, 0])


@mistake(
    "Keras's own mask of the keys has no say in your result: padding is looked at.",
    "Where does your code use `keys_mask`?",
)
def keys_mask_ignored(*arrays, keys_mask=None, **given):
    return attend(*arrays, **given)


@mistake(
    "`hidden` has no say in your result.",
    "Where does your code use `hidden`?",
)
def hidden_ignored(*arrays, hidden=None, **given):
    return attend(*arrays, **given)


@mistake(
    "Your mask has no axis for the heads: (batch, L_q, L_k) beside scores of (batch, heads, L_q, L_k) is read as if "
    "the sentences were heads, where it does not simply fail to fit.",
    "Where should an axis of length 1 stand, so that all heads of a sentence get the mask of that sentence?",
)
def no_axis_for_the_heads(*arrays, hidden=None, **given):
    return attend(
        *arrays, **given, hidden=hidden, hide_ours=lambda scores, out: lower(scores, hidden == 1)
    )


@mistake(
    "The mask itself was taken from the scores: 1 less weakens a hidden key, and does not hide it.",
    "How low must a score be so that its exponential is 0?",
)
def mask_taken_away(*arrays, **given):
    return attend(*arrays, **given, hide_ours=lambda scores, out: scores - out)


@mistake(
    "The number for hidden scores is not low enough: a key that matches well still shines through.",
    "A score may well be 10 or 20. How low must a number be to silence it for certain?",
)
def not_low_enough(*arrays, **given):
    return attend(*arrays, **given, hide=lambda scores, out: lower(scores, out, -10))


@mistake(
    "In float16 -1e9 becomes minus infinity, and 0 × ∞ is NaN (not a number) where the mask is 0 and nothing should "
    "happen.",
    "Choose instead of multiplying, as in `HalfPrecisionAttention`.",
)
def minus_1e9_in_float16(*arrays, **given):
    return attend(
        *arrays,
        **given,
        hide_ours=lambda scores, out: scores + np.array(-1e9).astype(scores.dtype) * out,
    )


@mistake(
    "In float16 -1e9 becomes minus infinity, and 0 × ∞ is NaN (not a number) where a mask "
    "hides nothing. That is so for both masks.",
    "Choose instead of multiplying, as in `HalfPrecisionAttention`.",
)
def minus_1e9_for_both_masks(*arrays, **given):
    return attend(
        *arrays,
        **given,
        hide=lambda scores, out: scores + np.array(-1e9).astype(scores.dtype) * out,
    )


@mistake(
    "You hid the keys after the softmax: they had taken their share already, and the rest no longer sums to 1.",
    "At which moment must hidden keys drop out, so that the others share the whole weight?",
)
def hidden_after_the_softmax(*arrays, hidden=None, keys_mask=None, **given):
    def share_out(scores):
        weights = softmax(scores)
        weights = weights if hidden is None else weights * (1 - for_all_heads(hidden))
        return weights if keys_mask is None else weights * keys_mask[:, None, None, :]

    return attend(*arrays, **given, softmax=share_out)


# What goes wrong with the heads.


@mistake(
    "You cut the heads by a reshape alone, to (batch, heads, L, d_head): that takes rows of the sentence for heads.",
    "Which axes stand side by side after a reshape to (batch, L, heads, d_head)? Which two have to change places then?",
)
def heads_cut_by_reshape_alone(*arrays, **given):
    return attend(*arrays, **given, cut=lambda x, h: x.reshape(len(x), h, x.shape[1], -1))


@mistake(
    "You put the heads together by a reshape alone: the words of a sentence were mixed up with its heads.",
    "Which two axes changed places when the heads were cut? They have to change back first.",
)
def heads_merged_by_reshape_alone(*arrays, **given):
    return attend(*arrays, **given, merged=lambda x: x.reshape(x.shape[0], x.shape[2], -1))


def every_so_many(x, heads):
    return x.reshape(*x.shape[:2], -1, heads).transpose(0, 3, 1, 2)


@mistake(
    "Your heads take every so many-th column: (batch, L, d_head, heads) instead of (batch, L, heads, d_head).",
    "The first d_head columns belong to the first head. Which of the two sizes comes last in your reshape?",
)
def heads_cut_from_every_so_many_columns(*arrays, **given):
    return attend(*arrays, **given, cut=every_so_many)


@mistake(
    "Your heads take every so many-th column, and give them back so: (batch, L, d_head, heads) instead of "
    "(batch, L, heads, d_head).",
    "The first d_head columns belong to the first head. Which of the two sizes comes last in your reshape?",
)
def heads_of_every_so_many_columns(*arrays, **given):
    def merged(x):
        return x.transpose(0, 2, 3, 1).reshape(x.shape[0], x.shape[2], -1)

    return attend(*arrays, **given, cut=every_so_many, merged=merged)


@mistake(
    "The heads have changed places with the words: each word attends to its own heads, and to no other word.",
    "Scores have the shape (batch, heads, L_q, L_k). Which axis did you move?",
)
def heads_attend_to_heads(*arrays, **given):
    def beside(x, heads):
        return x.reshape(*x.shape[:2], heads, -1)

    return attend(*arrays, **given, cut=beside, merged=lambda x: x.reshape(*x.shape[:2], -1))


@mistake(
    "There is one head as wide as all: `heads` has no say in your result.",
    "How many rows of weights does each word get, and how many should it get?",
)
def one_wide_head(*arrays, heads, d_head, **given):
    return attend(*arrays, **given, heads=1, d_head=d_head)


@mistake(
    "The last step is missing: what the heads found is put side by side, but not multiplied by w_o.",
    "What shape should come out, and which weight have you not used?",
)
def without_w_o(*arrays, w_o, **given):
    return attend(*arrays, w_o=np.eye(len(w_o), dtype=w_o.dtype), **given)


# What goes wrong with the scores.


@mistake(
    "You did not divide the scores by √d_head, so the weights come out too sharp.",
    "What did your first layer do between the product and the mask?",
)
def no_scale(*arrays, **given):
    return attend(*arrays, **given, scale=1)


@mistake(
    "You divided by the root of heads · d_head; a head compares no more than its own d_head numbers.",
    "How many products does one score add up?",
)
def scaled_by_all_heads(*arrays, heads, d_head, **given):
    return attend(*arrays, **given, heads=heads, d_head=d_head, scale=(heads * d_head) ** 0.5)


@mistake(
    "You divided by the root of the size of a word; a head compares its own d_head numbers.",
    "How many products does one score add up?",
)
def scaled_by_the_word(q, *arrays, **given):
    return attend(q, *arrays, **given, scale=q.shape[-1] ** 0.5)


@mistake(
    "You divided by d_head instead of by its square root, so the weights come out too flat.",
    "What did your first layer divide by?",
)
def divided_by_d_head(*arrays, d_head, **given):
    return attend(*arrays, **given, d_head=d_head, scale=d_head)


@mistake(
    "You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    "Along which axis of (batch, heads, L_q, L_k) do the keys lie?",
)
def softmax_over_the_queries(*arrays, **given):
    return attend(*arrays, **given, softmax=lambda scores: softmax(scores, axis=-2))


@mistake(
    "You took the softmax over the heads: the heads compete for each key.",
    "Along which axis of (batch, heads, L_q, L_k) do the keys lie?",
)
def softmax_over_the_heads(*arrays, **given):
    return attend(*arrays, **given, softmax=lambda scores: softmax(scores, axis=1))


@mistake(
    "You averaged the keys instead of the values.",
    "Which of the three arrays is multiplied by w_v?",
)
def keys_for_values(q, k, v, **given):
    return attend(q, k, k, **given)


@mistake(
    "You made the values with `w_k`, the weight of the keys.",
    "Where does your code use `w_v`?",
)
def w_k_for_the_values(*arrays, w_k, w_v, **given):
    return attend(*arrays, w_k=w_k, w_v=w_k, **given)


@mistake(
    "Queries, keys and values were all made from the queries: that is self-attention, whatever comes in.",
    "From which arrays are keys and values made?",
)
def queries_for_all(q, k, v, **given):
    return attend(q, q, q, **given)


@mistake(
    "Your `__init__` does not pass the settings in `more` on: `name` and `dtype` have no say in "
    "your layer.",
    "What does your `super().__init__(…)` get?",
    tells={CONFIG: lambda true: {**true(), "name": NAME_OF_KERAS}},
    ignores_dtype=True,
)
def settings_not_passed_on(*arrays, **given):
    return attend(*arrays, **given)


@mistake(
    "Your layer answers in float32, whatever it is asked for.",
    "The settings may say `dtype`: which method of every layer takes such settings? And does your `call` name a dtype?",
    always="float32",
)
def always_float32(*arrays, **given):
    return attend(*arrays, **given)


# Other right answers, which must pass.


@MultiHead.variant
@keras_class
def with_einsum(Layer, ops):
    class MultiHead(Layer):
        def __init__(self, heads, d_head, **more):
            super().__init__(**more)
            self.heads, self.d_head = heads, d_head
            self.supports_masking = True

        def build(self, queries_shape, keys_shape, values_shape):
            width = self.heads * self.d_head
            self.w_q = self.add_weight(shape=(queries_shape[-1], width), name="w_q")
            self.w_k = self.add_weight(shape=(keys_shape[-1], width), name="w_k")
            self.w_v = self.add_weight(shape=(values_shape[-1], width), name="w_v")
            self.w_o = self.add_weight(shape=(width, queries_shape[-1]), name="w_o")

        def cut(self, x, w):
            return ops.einsum("bld,dhe->bhle", x, ops.reshape(w, (-1, self.heads, self.d_head)))

        def call(self, queries, keys, values, hidden=None, keys_mask=None):
            queries, keys = self.cut(queries, self.w_q), self.cut(keys, self.w_k)
            scores = ops.einsum("bhqe,bhke->bhqk", queries, keys) / ops.cast(
                self.d_head**0.5, queries.dtype
            )
            if hidden is not None:
                hidden = ops.cast(hidden, scores.dtype)
                scores -= 1e4 * (hidden if len(hidden.shape) == 2 else ops.expand_dims(hidden, 1))
            if keys_mask is not None:
                scores -= 1e4 * (1 - ops.cast(keys_mask, scores.dtype))[:, None, None, :]
            output = ops.einsum("bhqk,bhke->bqhe", ops.softmax(scores), self.cut(values, self.w_v))
            return ops.einsum(
                "bqhe,hed->bqd", output, ops.reshape(self.w_o, (self.heads, self.d_head, -1))
            )

        def get_config(self):
            return {**super().get_config(), "heads": self.heads, "d_head": self.d_head}

    return MultiHead


@MultiHead.variant
@keras_class
def a_loop_over_the_heads(Layer, ops):
    class MultiHead(Layer):
        def __init__(self, heads, d_head, **more):
            super().__init__(**more)
            self.heads = heads
            self.d_head = d_head

        def build(self, shape):
            width = self.heads * self.d_head
            for name in ("w_q", "w_k", "w_v"):
                setattr(self, name, self.add_weight(shape=(shape[-1], width), name=name))
            self.w_o = self.add_weight(shape=(width, shape[-1]), name="w_o")

        def call(self, queries, keys, values, hidden=None, keys_mask=None):
            found = []
            for head in range(self.heads):
                part = slice(head * self.d_head, (head + 1) * self.d_head)
                q, k, v = (
                    queries @ self.w_q[:, part],
                    keys @ self.w_k[:, part],
                    values @ self.w_v[:, part],
                )
                scores = ops.matmul(q, ops.transpose(k, (0, 2, 1))) / self.d_head**0.5
                if hidden is not None:
                    scores = ops.where(ops.cast(hidden, "bool"), -3e4, scores)
                if keys_mask is not None:
                    scores = ops.where(ops.expand_dims(keys_mask, 1), scores, -3e4)
                found.append(ops.softmax(scores, axis=-1) @ v)
            return ops.concatenate(found, axis=-1) @ self.w_o

        def compute_mask(self, queries, previous_mask):
            return previous_mask

        def get_config(self):
            config = super().get_config()
            config["heads"] = self.heads
            config["d_head"] = self.d_head
            return config

    return MultiHead
