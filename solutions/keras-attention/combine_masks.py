"""The exercise `combine_masks`: hidden (1) is what either of two masks hides."""

import numpy as np

from attention_labs.keras_start import backend
from autograder.authoring import Exercise, inputs, sizes

from ._shared import TOKENS, ahead_of, padding_of, some_tokens

combine_masks = Exercise("combine_masks", points=2, returns="tensor")


def both(tokens, dtype=np.float32):
    return inputs(padding_of(tokens).astype(dtype), ahead_of(tokens.shape[1]).astype(dtype))


@combine_masks.domain(
    sizes={"batch": (1, 60), "L": (1, 60)},
    flags={"dtype": (np.float32, np.int32)},
)
def anywhere(rng, batch, L, dtype):
    return both((rng.random((batch, L)) < 0.7).astype(int), dtype)


@combine_masks.case("three sentences, as in the notebook")
def notebook_masks(rng):
    return both(TOKENS)


@combine_masks.case("other sentences")
def other_masks(rng):
    return both(some_tokens(rng, *sizes(rng, 2, low=3)))


@combine_masks.case("as many sentences as positions")
def square_masks(rng):
    (size,) = sizes(rng, 1, low=4)
    return both(some_tokens(rng, size, size))


@combine_masks.case("a batch of one")
def one_sentence_masks(rng):
    return both(some_tokens(rng, 1, int(rng.integers(4, 9))))


@combine_masks.case("padding on the left")
def front_masks(rng):
    return both(np.ascontiguousarray(some_tokens(rng, *sizes(rng, 2, low=4))[:, ::-1]))


@combine_masks.case("masks of integers")
def integer_masks(rng):
    return both(some_tokens(rng, *sizes(rng, 2, low=3)), np.int32)


# Mistakes.


@combine_masks.misconception(
    means="You hid only what both masks hide, so padding in the past and words in the future can be seen.",
    nudge="A key is out of bounds if one of the two masks hides it. Is that “and” or “or”?",
)
def hidden_in_both(padding, look_ahead):
    return padding * look_ahead


@combine_masks.misconception(
    means="You added the masks, so where both hide a key there is a 2; a mask holds nothing but 0 and 1.",
    nudge="Which operation on two numbers gives 1 for (1, 1), (1, 0) and (0, 1), and 0 for (0, 0)?",
)
def added(padding, look_ahead):
    return padding + look_ahead


@combine_masks.misconception(
    means="You hid what exactly one of the masks hides; a key that both hide can be seen again.",
    nudge="Padding that lies in the future: should it be hidden or not?",
)
def hidden_in_one_only(padding, look_ahead):
    return np.abs(padding - look_ahead)


@combine_masks.misconception(
    means="You took the mean of the masks: a half stands where one of them hides a key. "
    "A mask holds nothing but 0 and 1.",
    nudge="Should a key that only one mask hides be hidden half, or altogether?",
)
def mean_of_both(padding, look_ahead):
    return (padding + look_ahead) / 2


@combine_masks.misconception(
    means="This is the combined mask the other way round: 1 stands where a query may attend.",
    nudge="In this lab 1 means “hidden”, in what comes in and in what goes out.",
)
def inverted(padding, look_ahead):
    return 1 - np.maximum(padding, look_ahead)


@combine_masks.misconception(
    means="The look-ahead mask has no say in your result; only the padding is hidden.",
    nudge="Where does your code use `look_ahead`?",
)
def padding_only(padding, look_ahead):
    return np.repeat(padding, padding.shape[-1], axis=1)


@combine_masks.misconception(
    means="The padding mask has no say in your result; only the future is hidden.",
    nudge="Where does your code use `padding`?",
)
def look_ahead_only(padding, look_ahead):
    return np.repeat(look_ahead[None], len(padding), axis=0)


@combine_masks.misconception(
    means="You gave the padding mask back as it was, with one row for each sentence.",
    nudge="Where does your code use `look_ahead`, and what does the `return` line give back?",
)
def padding_unchanged(padding, look_ahead):
    return padding.copy()


@combine_masks.misconception(
    means="You gave the look-ahead mask back as it was, one square for all sentences.",
    nudge="Where does your code use `padding`, and what does the `return` line give back?",
)
def look_ahead_unchanged(padding, look_ahead):
    return look_ahead.copy()


@combine_masks.misconception(
    means="You turned the padding mask on its side: it hides padded queries (rows) and not padded keys.",
    nudge="Padding has shape (batch, 1, L) already. Does it need turning to fit beside (L, L)?",
)
def padding_on_the_queries(padding, look_ahead):
    return np.maximum(np.swapaxes(padding, 1, 2), look_ahead)


@combine_masks.misconception(
    means="You turned the look-ahead mask over: it now hides the past and shows the future.",
    nudge="Is there a transpose or a `.T` too many?",
)
def look_ahead_turned(padding, look_ahead):
    return np.maximum(padding, look_ahead.T)


@combine_masks.misconception(
    means="Every sentence got the padding of the first one.",
    nudge="Is there an index `[0]` too many? Each sentence has a padding of its own.",
)
def first_padding_for_all(padding, look_ahead):
    return np.repeat(np.maximum(padding[:1], look_ahead), len(padding), axis=0)


@combine_masks.misconception(
    means="You combined all sentences into one mask: a key is hidden where any of them has padding.",
    nudge="The result has shape (batch, L, L). Which axis did you add up or take the maximum over?",
)
def one_mask_for_all(padding, look_ahead):
    return np.repeat(
        np.maximum(padding.max(axis=0, keepdims=True), look_ahead), len(padding), axis=0
    )


@combine_masks.misconception(
    means="The combined mask of the first sentence alone comes back.",
    nudge="The result has shape (batch, L, L). Is there an index `[0]` too many?",
)
def first_sentence_alone(padding, look_ahead):
    return np.maximum(padding[0], look_ahead)


@combine_masks.misconception(
    means="You multiplied by the large negative number already; the layer does that. The mask is 0 or 1.",
    nudge="What does the layer do with a mask that is handed to it?",
)
def already_negative(padding, look_ahead):
    return -1e9 * np.maximum(padding, look_ahead)


@combine_masks.common_mistake
def extra_axis(padding, look_ahead):
    return np.maximum(padding, look_ahead)[:, None]


@combine_masks.common_mistake
def returns_a_list(padding, look_ahead):
    return np.maximum(padding, look_ahead).tolist()


# Other right answers, which must pass.


@combine_masks.variant
def logical_or(padding, look_ahead):
    from keras import ops

    return ops.logical_or(ops.cast(padding, "bool"), ops.cast(look_ahead, "bool"))


@combine_masks.variant
def sum_above_zero(padding, look_ahead):
    from keras import ops

    return ops.cast(ops.add(padding, look_ahead) > 0, "float32")


@combine_masks.variant
def both_visible(padding, look_ahead):
    return 1 - (1 - padding) * (1 - look_ahead)


@combine_masks.variant
def clipped(padding, look_ahead):
    from keras import ops

    return ops.clip(padding + look_ahead, 0, 1)


@combine_masks.variant
def sentence_by_sentence(padding, look_ahead):
    return np.stack([np.maximum(row, look_ahead) for row in padding])


if backend() == "tensorflow":

    @combine_masks.variant
    def tensorflow_maximum(padding, look_ahead):
        import tensorflow as tf

        return tf.maximum(padding, look_ahead)
