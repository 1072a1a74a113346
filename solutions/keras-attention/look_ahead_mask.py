"""The exercise `look_ahead_mask`: what comes later is hidden (1)."""

import numpy as np

from attention_labs.keras_start import backend
from autograder.authoring import Exercise, inputs

from ._shared import ahead_of

look_ahead_mask = Exercise("look_ahead_mask", points=1, returns="tensor")


@look_ahead_mask.domain(sizes={"length": (1, 60)})
def anywhere(rng, length):
    return inputs(length)


@look_ahead_mask.case("five positions, as in the notebook")
def five_positions(rng):
    return inputs(5)


@look_ahead_mask.case("a single position")
def one_position(rng):
    return inputs(1)


@look_ahead_mask.case("a short sentence")
def short_sentence(rng):
    return inputs(int(rng.integers(6, 9)))


@look_ahead_mask.case("a longer sentence")
def longer_sentence(rng):
    return inputs(int(rng.integers(9, 13)))


# Mistakes.


@look_ahead_mask.misconception(
    means="This is the mask of the other labs, where 1 (True) stands for “may attend”: the other way round.",
    nudge="In this lab 1 means “hidden”. Which positions are hidden from position 0?",
)
def past_marked(length):
    return np.tri(length, dtype=np.float32)


@look_ahead_mask.misconception(
    means="Each position is hidden from itself too, so the last one sees all but itself "
    "and the first one sees nothing.",
    nudge="May a position look at itself? Then what belongs on the diagonal?",
)
def hides_itself(length):
    return np.triu(np.ones((length, length), np.float32))


@look_ahead_mask.misconception(
    means="You hid what came before each position; the past is what it may see.",
    nudge="Rows are queries, columns are keys. Which columns of row 0 have not been written yet?",
)
def past_hidden(length):
    return np.tri(length, k=-1, dtype=np.float32)


@look_ahead_mask.misconception(
    means="Each position still sees the one right after it.",
    nudge="How many 0s should row 0 have? Check the offset of your triangle.",
)
def one_ahead(length):
    return np.triu(np.ones((length, length), np.float32), 2)


@look_ahead_mask.misconception(
    means="Nothing is hidden from anybody: all numbers of your mask are 0.",
    nudge="Did you cut the triangle out of zeros or out of ones?",
)
def nothing_hidden(length):
    return np.zeros((length, length), np.float32)


@look_ahead_mask.misconception(
    means="Everything is hidden from everybody: all numbers of your mask are 1.",
    nudge="Which half of this square lies in the future?",
)
def everything_hidden(length):
    return np.ones((length, length), np.float32)


@look_ahead_mask.misconception(
    means="Each position sees itself and nothing else; the past should be seen as well.",
    nudge="Position 2 may look at positions 0, 1 and 2. Which columns of row 2 are 0 then?",
)
def only_itself(length):
    return 1 - np.eye(length, dtype=np.float32)


@look_ahead_mask.misconception(
    means="Only the next position is hidden; everything later can still be seen.",
    nudge="How many positions lie in the future of position 0?",
)
def only_the_next(length):
    return np.eye(length, k=1, dtype=np.float32)


@look_ahead_mask.misconception(
    means="You multiplied by the large negative number already; the layer does that. The mask is 0 or 1.",
    nudge="What does the layer do with a mask that is handed to it?",
)
def already_negative(length):
    return -1e9 * ahead_of(length)


@look_ahead_mask.misconception(
    means="The triangle leans the wrong way: your columns are counted from the right-hand end.",
    nudge="In which column does the first position stand, the leftmost or the rightmost?",
)
def mirrored(length):
    return np.fliplr(ahead_of(length))


@look_ahead_mask.misconception(
    means="You return the notebook's mask for five positions, whatever `length` says.",
    nudge="Where does your code use `length`?",
)
def hard_coded(length):
    return ahead_of(5)


@look_ahead_mask.common_mistake
def extra_axis(length):
    return ahead_of(length)[None]


@look_ahead_mask.common_mistake
def returns_a_list(length):
    return ahead_of(length).tolist()


# Other right answers, which must pass.


@look_ahead_mask.variant
def one_minus_the_past(length):
    from keras import ops

    return 1 - ops.tril(ops.ones((length, length)))


@look_ahead_mask.variant
def compared_positions(size):
    from keras import ops

    places = ops.arange(size)
    return places[None, :] > places[:, None]


@look_ahead_mask.variant
def numpy_triangle(length):
    return np.triu(np.ones((length, length), dtype=np.int64), k=1)


@look_ahead_mask.variant
def rows_of_zeros_and_ones(length):
    return np.array([[0] * (i + 1) + [1] * (length - i - 1) for i in range(length)])


if backend() == "tensorflow":

    @look_ahead_mask.variant
    def as_published(shape):
        import tensorflow as tf

        return 1 - tf.linalg.band_part(tf.ones((shape, shape)), -1, 0)
