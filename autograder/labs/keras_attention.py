"""The exercises of the lab `keras-attention`: masks where 1 = hidden, and attention as a Keras layer.

Nothing here needs Keras but the reference: the mistakes are written in NumPy, on what Keras would hand
to the layer (`as_layer`), so that they are quick and the same on every backend.
"""

from functools import wraps

import numpy as np

from autograder.labs.exercise import Exercise, inputs, sizes

LAB = "keras-attention"

token_padding_mask = Exercise("token_padding_mask", lab=LAB, points=2, returns="tensor")
look_ahead_mask = Exercise("look_ahead_mask", lab=LAB, points=1, returns="tensor")
combine_masks = Exercise("combine_masks", lab=LAB, points=2, returns="tensor")
DotProductAttention = Exercise(
    "DotProductAttention",
    lab=LAB,
    points=4,
    call="layer",
    returns="tensor",
    properties=["within the values"],
)
HalfPrecisionAttention = Exercise(
    "HalfPrecisionAttention",
    lab=LAB,
    points=2,
    builds_on=["DotProductAttention"],
    call="layer in its dtype",
    returns="tensor",
    properties=["within the values"],
)

# The notebook's own sentences, and its worked example.
TOKENS = np.array([[5, 3, 0, 0, 0], [4, 9, 2, 7, 1], [6, 8, 2, 0, 0]])
Q = np.array([[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]])
K = np.array([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]])
V = np.array([[[6.0, 0.0], [0.0, 6.0], [6.0, 6.0]]])


def some_tokens(rng, batch, length):
    """Token ids with padding at the end: one full sentence, one of a single word, the others between."""
    lengths = rng.integers(1, length + 1, size=batch)
    lengths[rng.permutation(batch)[:2]] = (length, 1) if batch > 1 else int(rng.integers(2, length))
    tokens = rng.integers(1, 60, size=(batch, length))
    tokens[:, 0] = 1 + np.arange(batch)
    return np.where(np.arange(length) < lengths[:, None], tokens, 0)


def padding_of(tokens):
    return (tokens == 0).astype(np.float32)[:, None, :]


def ahead_of(length):
    return np.triu(np.ones((length, length), np.float32), 1)


def some_hidden(rng, *shape):
    """A mask in which every row has something hidden and something to see."""
    ranks = rng.random(shape).argsort(axis=-1)
    return (ranks < rng.integers(1, shape[-1], size=(*shape[:-1], 1))).astype(np.float32)


# --- token_padding_mask --------------------------------------------------------------------------


@token_padding_mask.case("three sentences, as in the notebook")
def notebook_tokens(rng):
    return inputs(TOKENS)


@token_padding_mask.case("other sentences")
def other_tokens(rng):
    return inputs(some_tokens(rng, *sizes(rng, 2, low=3)))


@token_padding_mask.case("more sentences than positions")
def many_sentences(rng):
    return inputs(some_tokens(rng, int(rng.integers(7, 10)), int(rng.integers(3, 6))))


@token_padding_mask.case("a batch of one")
def one_sentence(rng):
    return inputs(some_tokens(rng, 1, int(rng.integers(4, 9))))


@token_padding_mask.case("the padding stands in front of the words")
def padding_in_front(rng):
    return inputs(np.ascontiguousarray(some_tokens(rng, *sizes(rng, 2, low=4))[:, ::-1]))


@token_padding_mask.case("token ids of type int32")
def int32_tokens(rng):
    return inputs(some_tokens(rng, *sizes(rng, 2, low=3)).astype(np.int32))


@token_padding_mask.misconception(
    means="You marked the words with 1 and the padding with 0: this is the mask the other way round.",
    nudge="In this lab 1 means “hidden”. Are the words or the padding to be hidden?",
)
def words_marked(token_ids):
    return 1 - padding_of(token_ids)


@token_padding_mask.misconception(
    means="The axis of length 1 stands last, so this hides padded queries (rows) and not padded keys.",
    nudge="Scores have shape (batch, L_q, L_k). Along which of the three axes should your positions lie?",
)
def on_the_queries(token_ids):
    return np.swapaxes(padding_of(token_ids), 1, 2)


@token_padding_mask.misconception(
    means="The axis of length 1 stands first, so sentence i would be matched with query i.",
    nudge="Scores have shape (batch, L_q, L_k). Where does the batch belong in your mask?",
)
def axis_in_front(token_ids):
    return np.swapaxes(padding_of(token_ids), 0, 1)


@token_padding_mask.misconception(
    means="You hid the padded queries as well as the padded keys, in a square for each sentence.",
    nudge="Does it matter what a padded query looks at? One row for each sentence is enough.",
)
def queries_hidden_too(token_ids):
    padding = padding_of(token_ids)
    return np.maximum(padding, np.swapaxes(padding, 1, 2))


@token_padding_mask.misconception(
    means="You wrote the same row once for every query; the middle axis should have length 1 and broadcast.",
    nudge="The number of queries is not known here. Which length fits any number of them?",
)
def repeated_for_every_query(token_ids):
    return np.repeat(padding_of(token_ids), token_ids.shape[1], axis=1)


@token_padding_mask.misconception(
    means="You counted the words and hid as many positions at the end as there are paddings; "
    "but the padding may stand elsewhere.",
    nudge="Which number stands at a padded position itself? You need no counting.",
)
def padding_always_at_the_end(token_ids):
    words = (token_ids != 0).sum(axis=1)[:, None, None]
    return (np.arange(token_ids.shape[1]) >= words).astype(np.float32)


@token_padding_mask.misconception(
    means="You hid everything from the first padding on; but the padding may stand in front of the words.",
    nudge="Which number stands at a padded position itself? Each position can be decided alone.",
)
def all_after_the_first_padding(token_ids):
    return np.maximum.accumulate(padding_of(token_ids), axis=-1)


@token_padding_mask.misconception(
    means="Every position of a sentence is hidden as soon as one of them is padding.",
    nudge="Should the words of a short sentence be hidden too? Decide for each position by itself.",
)
def whole_sentence_hidden(token_ids):
    return np.broadcast_to(padding_of(token_ids).max(axis=-1, keepdims=True), padding_of(token_ids).shape)


@token_padding_mask.misconception(
    means="You took 1 for the padding; in these sentences the number of padding is 0, and 1 is a word.",
    nudge="Print the token ids: which number fills the short sentences up?",
)
def token_1_is_padding(token_ids):
    return (token_ids == 1).astype(np.float32)[:, None, :]


@token_padding_mask.misconception(
    means="Nothing is hidden: all numbers of your mask are 0.",
    nudge="Compare the token ids with the number of padding. Do you compare them, or something else?",
)
def nothing_is_padding(token_ids):
    return np.zeros_like(padding_of(token_ids))


@token_padding_mask.misconception(
    means="These are still the token ids; a mask holds nothing but 0 and 1.",
    nudge="Which question about each token id has the answer yes or no?",
)
def the_token_ids(token_ids):
    return token_ids[:, None, :]


@token_padding_mask.misconception(
    means="You multiplied by the large negative number already; the layer does that. The mask is 0 or 1.",
    nudge="What does the layer do with a mask that is handed to it?",
)
def already_negative(token_ids):
    return -1e9 * padding_of(token_ids)


@token_padding_mask.misconception(
    means="Every sentence got the padding of the first one.",
    nudge="Is there an index `[0]` too many? Each sentence has a row of its own.",
)
def first_sentence_for_all(token_ids):
    return np.repeat(padding_of(token_ids[:1]), len(token_ids), axis=0)


@token_padding_mask.misconception(
    means="You return the notebook's own mask, whatever comes in.",
    nudge="Where does your code use `token_ids`?",
)
def hard_coded(token_ids):
    return padding_of(TOKENS)


@token_padding_mask.structural
def missing_axis(token_ids):
    return padding_of(token_ids)[:, 0]


@token_padding_mask.structural
def extra_axis(token_ids):
    return padding_of(token_ids)[:, None]


@token_padding_mask.structural
def returns_a_list(token_ids):
    return padding_of(token_ids).tolist()


@token_padding_mask.structural
def modifies_argument(token_ids):
    token_ids[token_ids > 0] = 1
    return (1 - token_ids)[:, None, :]


# --- look_ahead_mask -----------------------------------------------------------------------------


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
def already_negative_(length):
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
def hard_coded_(length):
    return ahead_of(5)


@look_ahead_mask.structural
def extra_axis_(length):
    return ahead_of(length)[None]


@look_ahead_mask.structural
def returns_a_list_(length):
    return ahead_of(length).tolist()


# --- combine_masks -------------------------------------------------------------------------------


def both(tokens, dtype=np.float32):
    return inputs(padding_of(tokens).astype(dtype), ahead_of(tokens.shape[1]).astype(dtype))


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


@combine_masks.case("the padding stands in front of the words")
def front_masks(rng):
    return both(np.ascontiguousarray(some_tokens(rng, *sizes(rng, 2, low=4))[:, ::-1]))


@combine_masks.case("masks of integers")
def integer_masks(rng):
    return both(some_tokens(rng, *sizes(rng, 2, low=3)), np.int32)


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
    return np.repeat(np.maximum(padding.max(axis=0, keepdims=True), look_ahead), len(padding), axis=0)


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
def already_negative__(padding, look_ahead):
    return -1e9 * np.maximum(padding, look_ahead)


@combine_masks.structural
def extra_axis__(padding, look_ahead):
    return np.maximum(padding, look_ahead)[:, None]


@combine_masks.structural
def returns_a_list__(padding, look_ahead):
    return np.maximum(padding, look_ahead).tolist()


# --- DotProductAttention -------------------------------------------------------------------------


def triple(rng, batch, queries, keys, d_k, d_v):
    """Queries, keys and values with unsaturated scores; no two sentences alike."""
    q = rng.normal(size=(batch, queries, d_k))
    k = rng.normal(size=(batch, keys, d_k))
    return q, k, rng.normal(size=(batch, keys, d_v))


def called(arrays, dtype=np.float32, **given):
    """The arguments of one call of the layer; d_k by keyword, as Keras asks of all that is no tensor."""
    arrays = [a.astype(dtype) for a in arrays]
    return inputs(*arrays, d_k=int(arrays[1].shape[-1]), **given)


def best_match_hidden(rng, dtype):
    """Every query agrees most with a key that is hidden from it."""
    queries, keys, d_k, d_v = sizes(rng, 4, low=3)
    batch = int(rng.integers(2, 5))
    q, k, v = triple(rng, batch, queries, keys, d_k, d_v)
    best = rng.integers(keys, size=queries)
    q = q / 3 + 2.5 * np.sqrt(d_k) * k[:, best] / (k[:, best] ** 2).mean(axis=-1, keepdims=True) / d_k**0.5
    return (q, k, v), np.eye(keys)[best].astype(dtype)


@DotProductAttention.case("the example worked by hand")
def by_hand(rng):
    return called((Q, K, V), mask=np.array([[[0, 0, 1]]], np.float32))


@DotProductAttention.case("64 sentences with 5 words and d_k = 64, as in the notebook; no mask")
def notebook_sizes(rng):
    return called((rng.random((64, 5, 64)), rng.random((64, 5, 64)), rng.random((64, 5, 3))))


@DotProductAttention.case("every size different, in float64; no mask")
def all_different(rng):
    return called(triple(rng, *sizes(rng, 5)), np.float64)


@DotProductAttention.case("a padding mask (batch, 1, L_k)")
def with_padding(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = padding_of(some_tokens(rng, batch, keys))
    return called(triple(rng, batch, queries, keys, d_k, d_v), mask=mask)


@DotProductAttention.case("a look-ahead mask (L, L)")
def with_look_ahead(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    return called(triple(rng, batch, length, length, d_k, d_v), mask=ahead_of(length))


@DotProductAttention.case("both masks together (batch, L, L)")
def with_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length))
    return called(triple(rng, batch, length, length, d_k, d_v), mask=mask)


@DotProductAttention.case("the best key is hidden (L_q, L_k)")
def with_the_best_hidden(rng):
    arrays, mask = best_match_hidden(rng, np.float32)
    return called(arrays, mask=mask)


@DotProductAttention.case("all sizes the same")
def cube(rng):
    (size,) = sizes(rng, 1, low=4, high=7)
    return called(triple(rng, *[size] * 5), mask=some_hidden(rng, size, size, size))


@DotProductAttention.case("numbers of type float16, which a Keras layer turns into float32")
def from_float16(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys).astype(np.float16)
    return called(triple(rng, batch, queries, keys, d_k, d_v), np.float16, mask=mask)


def as_layer(dtype=None):
    """A function in place of a layer: made without arguments, called with what Keras hands to `call`.

    Keras turns all floats into the layer's dtype: `dtype`, or that of the first input.
    """

    def decorate(function):
        @wraps(function)
        def make():
            def call(queries, keys, values, d_k, mask=None):
                to = dtype or queries.dtype
                queries, keys, values = (x.astype(to) for x in (queries, keys, values))
                mask = mask if mask is None else mask.astype(to)
                return function(queries, keys, values, d_k, mask)

            return call

        return make

    return decorate


def scores_of(queries, keys, scale):
    return queries @ np.swapaxes(keys, -1, -2) / np.asarray(scale, queries.dtype)


def hide(scores, mask):
    return scores if mask is None else np.where(mask == 1, np.asarray(-6e4, scores.dtype), scores)


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def weights_of(queries, keys, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask))


def attend(queries, keys, values, scale, mask):
    return softmax(hide(scores_of(queries, keys, scale), mask)) @ values


# What masks do wrong.


@DotProductAttention.misconception(
    means="You multiplied minus infinity by the mask; where the mask is 0 that gives 0 × ∞, "
    "which is NaN (not a number).",
    nudge="Which number is low enough to hide a key, and yet gives 0 when it is multiplied by 0?",
)
@as_layer(np.float32)
def minus_infinity_times_the_mask(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores + -np.inf * mask) @ values


@DotProductAttention.misconception(
    means="Your mask is the other way round: the keys that should be hidden are the only ones looked at.",
    nudge="In this lab 1 means “hidden”. Which scores should become very low?",
)
@as_layer(np.float32)
def mask_inverted(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask if mask is None else 1 - mask)


@DotProductAttention.misconception(
    means="You made the scores of the hidden keys very high instead of very low, so they take everything.",
    nudge="What is the exponential of a very high number, and of a very low one? Check a sign.",
)
@as_layer(np.float32)
def plus_for_minus(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores + np.float32(1e9) * mask) @ values


@DotProductAttention.misconception(
    means="You added the mask itself: a hidden key gets 1 more, which makes it a little stronger.",
    nudge="What has to be added to a score so that its exponential becomes 0?",
)
@as_layer(np.float32)
def mask_added_as_it_is(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores + mask) @ values


@DotProductAttention.misconception(
    means="You took the mask itself away: a hidden key loses 1, which weakens it but does not hide it.",
    nudge="How much has to be taken from a score so that its exponential becomes 0?",
)
@as_layer(np.float32)
def mask_taken_away(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores - mask) @ values


@DotProductAttention.misconception(
    means="The number that you add to hidden scores is not low enough: "
    "a key that matches well still shines through.",
    nudge="A score may well be 10 or 20. How low must a number be to silence it for certain?",
)
@as_layer(np.float32)
def not_low_enough(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores - 10 * mask) @ values


@DotProductAttention.misconception(
    means="You multiplied the scores by 0 to hide them, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
@as_layer(np.float32)
def scores_times_0(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores * (1 - mask)) @ values


@DotProductAttention.misconception(
    means="You multiplied the scores by the mask, so the scores of the keys that may be seen became 0.",
    nudge="A mask is not a factor: what has to happen to the score of a hidden key, and what to the others?",
)
@as_layer(np.float32)
def scores_times_the_mask(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores * mask) @ values


@DotProductAttention.misconception(
    means="You hid the keys after the softmax: they had taken their share already, "
    "and the weights that are left no longer sum to 1.",
    nudge="The visible keys should share the whole weight. At which moment must the others drop out?",
)
@as_layer(np.float32)
def mask_after_softmax(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, None)
    return (weights if mask is None else weights * (1 - mask)) @ values


@DotProductAttention.misconception(
    means="The mask has no say in your result: hidden keys are looked at like all the others.",
    nudge="Where does your code use `mask`?",
)
@as_layer(np.float32)
def mask_ignored(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, None)


@DotProductAttention.misconception(
    means="Every sentence got the mask of the first one.",
    nudge="Is there an index `[0]` too many? A mask may have a batch axis, and broadcasting looks after it.",
)
@as_layer(np.float32)
def first_mask_for_all(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask[0] if mask is not None and mask.ndim == 3 else mask)


# What goes wrong with the scale.


@DotProductAttention.misconception(
    means="You did not divide the scores by √d_k, so the weights come out too sharp.",
    nudge="Compare your scores with the formula: which argument have you not used?",
)
@as_layer(np.float32)
def no_scale(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask)


@DotProductAttention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="Compare your scale with the formula: is a root missing?",
)
@as_layer(np.float32)
def divided_by_d_k(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k, mask)


@DotProductAttention.misconception(
    means="You multiplied the scores by √d_k instead of dividing, which makes the weights far too sharp.",
    nudge="Should long keys make the scores larger, or is the scale there to stop just that?",
)
@as_layer(np.float32)
def multiplied_by_the_root(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**-0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the number of keys; the scale is the root of the size of one key.",
    nudge="Keys have shape (batch, L_k, d_k). Which of these numbers did you take?",
)
@as_layer(np.float32)
def root_of_the_number_of_keys(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, keys.shape[1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the number of queries; the scale is the root of the size of one key.",
    nudge="Queries have shape (batch, L_q, d_k). Which of these numbers did you take?",
)
@as_layer(np.float32)
def root_of_the_number_of_queries(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, queries.shape[1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by the root of the size of a value; the dot product sums over the numbers of a key.",
    nudge="Whose size is d_k, that of a key or that of a value?",
)
@as_layer(np.float32)
def root_of_the_value_size(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, values.shape[-1] ** 0.5, mask)


@DotProductAttention.misconception(
    means="You divided by 8 whatever d_k is; √64 = 8 is right for the notebook's sizes alone.",
    nudge="Where does your code use `d_k`?",
)
@as_layer(np.float32)
def always_divided_by_8(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 8, mask)


@DotProductAttention.misconception(
    means="You divided the weights by √d_k after the softmax, so they no longer sum to 1.",
    nudge="The scale belongs to the scores. Is it before or after the softmax that you have scores?",
)
@as_layer(np.float32)
def scaled_after_softmax(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask) / np.float32(d_k**0.5)


# What goes wrong with the softmax.


@DotProductAttention.misconception(
    means="You took the softmax over the queries: each key's column sums to 1, instead of each query's row.",
    nudge="Each query shares out its own attention. Along which axis of (batch, L_q, L_k) do the keys lie?",
)
@as_layer(np.float32)
def softmax_over_the_queries(queries, keys, values, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask), axis=1) @ values


@DotProductAttention.misconception(
    means="You took the softmax over the batch: the sentences compete with each other.",
    nudge="Each query shares out its own attention. Along which axis of (batch, L_q, L_k) do the keys lie?",
)
@as_layer(np.float32)
def softmax_over_the_batch(queries, keys, values, d_k, mask):
    return softmax(hide(scores_of(queries, keys, d_k**0.5), mask), axis=0) @ values


@DotProductAttention.misconception(
    means="There is no softmax: you averaged with the raw scores, which may be negative and do not sum to 1.",
    nudge="Which step turns scores into weights?",
)
@as_layer(np.float32)
def no_softmax(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return (scores if mask is None else scores + np.float32(-1e9) * mask) @ values


@DotProductAttention.misconception(
    means="All the visible keys have the same weight: this is the plain average of their values.",
    nudge="The scores should decide how much each value counts. Where do they come in?",
)
@as_layer(np.float32)
def plain_average(queries, keys, values, d_k, mask):
    return attend(queries * 0, keys, values, 1, mask)


@DotProductAttention.misconception(
    means="Each query takes over the value of its best key alone; softmax would weigh all the visible ones.",
    nudge="What does softmax do that `argmax` does not?",
)
@as_layer(np.float32)
def winner_takes_all(queries, keys, values, d_k, mask):
    best = weights_of(queries, keys, d_k, mask).argmax(axis=-1)
    return np.eye(keys.shape[1], dtype=np.float32)[best] @ values


# What goes wrong with queries, keys and values.


@DotProductAttention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
@as_layer(np.float32)
def returns_the_weights(queries, keys, values, d_k, mask):
    return weights_of(queries, keys, d_k, mask)


@DotProductAttention.misconception(
    means="You averaged the keys instead of the values.",
    nudge="Keys are for finding, values are what is handed over. Which are multiplied by the weights?",
)
@as_layer(np.float32)
def keys_for_values(queries, keys, values, d_k, mask):
    return attend(queries, keys, keys, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You compared the queries with the values instead of with the keys; "
    "that fits only if values are as large as keys.",
    nudge="Keys are for finding, values are what is handed over. With which is a query compared?",
)
@as_layer(np.float32)
def values_for_keys(queries, keys, values, d_k, mask):
    return attend(queries, values, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="Queries and keys have changed places: your scores have a row for each key.",
    nudge="The output has a row for each query. Which comes first in the product?",
)
@as_layer(np.float32)
def queries_and_keys_swapped(queries, keys, values, d_k, mask):
    return attend(keys, queries, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You compared the queries with themselves; the keys have no say.",
    nudge="Where does your code use `keys`?",
)
@as_layer(np.float32)
def queries_for_keys(queries, keys, values, d_k, mask):
    return attend(queries, queries, values, d_k**0.5, mask)


@DotProductAttention.misconception(
    means="You turned round all the axes of the keys, the batch as well, and then nothing fits.",
    nudge="Only the last two axes of the keys should change places. How do you tell `transpose` that?",
)
@as_layer(np.float32)
def all_axes_transposed(queries, keys, values, d_k, mask):
    scores = queries @ keys.T / np.float32(d_k**0.5)
    return softmax(hide(scores, mask)) @ values


@DotProductAttention.misconception(
    means="You reshaped the keys instead of transposing them; a reshape tears the keys apart.",
    nudge="Try both on [[1, 2, 3], [4, 5, 6]]: which one turns rows into columns?",
)
@as_layer(np.float32)
def keys_reshaped(queries, keys, values, d_k, mask):
    turned = keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1])
    return softmax(hide(queries @ turned / np.float32(d_k**0.5), mask)) @ values


@DotProductAttention.misconception(
    means="You used the first sentence of the batch for all of them.",
    nudge="`matmul` works on every sentence of a batch by itself. Is there an index `[0]` too many?",
)
@as_layer(np.float32)
def first_sentence_for_all_(queries, keys, values, d_k, mask):
    mask = mask[:1] if mask is not None and mask.ndim == 3 else mask
    return np.repeat(attend(queries[:1], keys[:1], values[:1], d_k**0.5, mask), len(queries), axis=0)


@DotProductAttention.misconception(
    means="The notebook's sizes (64 sentences, 5 words) are written into your layer: other sizes do not fit.",
    nudge="Ask the arguments for their sizes (`queries.shape`), or do without: does your code need them?",
)
@as_layer(np.float32)
def notebook_sizes_only(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask).reshape(64, 5, -1)


@DotProductAttention.structural
@as_layer(np.float32)
def returns_a_tuple(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, mask)
    return weights @ values, weights


# --- HalfPrecisionAttention ----------------------------------------------------------------------


def positive(arrays):
    """Values between 0.5 and 1.5, so that float16's few digits are enough to tell right from wrong."""
    queries, keys, values = arrays
    return queries, keys, 0.5 + (values - values.min()) / np.ptp(values)


@HalfPrecisionAttention.case("float16, a padding mask (batch, 1, L_k)")
def half_padding(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = padding_of(some_tokens(rng, batch, keys)).astype(np.float16)
    return called(positive(triple(rng, batch, queries, keys, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, both masks together (batch, L, L)")
def half_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length)).astype(np.float16)
    return called(positive(triple(rng, batch, length, length, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, the best key is hidden (L_q, L_k)")
def half_best_hidden(rng):
    arrays, mask = best_match_hidden(rng, np.float16)
    return called(positive(arrays), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, a mask of booleans")
def half_booleans(rng):
    batch, queries, keys, d_k, d_v = sizes(rng, 5, low=3)
    mask = some_hidden(rng, batch, queries, keys) == 1
    return called(positive(triple(rng, batch, queries, keys, d_k, d_v)), np.float16, mask=mask)


@HalfPrecisionAttention.case("float16, no mask")
def half_unmasked(rng):
    return called(positive(triple(rng, *sizes(rng, 5))), np.float16)


@HalfPrecisionAttention.case("float32, both masks together")
def single_both(rng):
    batch, length, d_k, d_v = sizes(rng, 4, low=3)
    mask = np.maximum(padding_of(some_tokens(rng, batch, length)), ahead_of(length))
    return called(triple(rng, batch, length, length, d_k, d_v), mask=mask)


@HalfPrecisionAttention.misconception(
    means="In float16 -1e9 becomes minus infinity, and 0 × ∞ is NaN (not a number) "
    "where the mask is 0 and nothing should happen.",
    nudge="float16 ends at ±65504. Multiply by a number that fits, or choose instead of multiplying.",
)
@as_layer()
def minus_1e9_in_float16(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    if mask is not None:
        scores = scores + np.array(-1e9).astype(scores.dtype) * mask
    return softmax(scores) @ values


@HalfPrecisionAttention.misconception(
    means="You multiplied minus infinity by the mask; where the mask is 0 that gives 0 × ∞, "
    "which is NaN (not a number), in float32 too.",
    nudge="Choose the score of each key, hidden or not, instead of multiplying.",
)
@as_layer()
def minus_infinity_times_the_mask_(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores + np.asarray(-np.inf, scores.dtype) * mask) @ values


@HalfPrecisionAttention.misconception(
    means="You made the scores of the hidden keys very high instead of very low, so they take everything.",
    nudge="Check a sign: which number do the hidden scores get?",
)
@as_layer()
def hidden_keys_highest(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else np.where(mask == 1, np.float16(6e4), scores)) @ values


@HalfPrecisionAttention.misconception(
    means="Your mask is the other way round: the keys that should be hidden are the only ones looked at.",
    nudge="In this lab 1 means “hidden”. If you choose with `where`: which of its two results comes first?",
)
@as_layer()
def mask_inverted_(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, mask if mask is None else 1 - mask)


@HalfPrecisionAttention.misconception(
    means="The mask has no say in your result: hidden keys are looked at like all the others.",
    nudge="Where does your code use `mask`?",
)
@as_layer()
def mask_ignored_(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k**0.5, None)


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key became 0, and exp(0) is 1: a score of 0 is an ordinary score.",
    nudge="Which score has an exponential of 0?",
)
@as_layer()
def hidden_scores_0(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores * (1 - mask)) @ values


@HalfPrecisionAttention.misconception(
    means="The score of a hidden key is low, but not low enough: -1 still gives it a fair share.",
    nudge="How low may a number in float16 be? Use what there is.",
)
@as_layer()
def hidden_scores_1_lower(queries, keys, values, d_k, mask):
    scores = scores_of(queries, keys, d_k**0.5)
    return softmax(scores if mask is None else scores - mask) @ values


@HalfPrecisionAttention.misconception(
    means="You hid the keys after the softmax: they had taken their share already, "
    "and the weights that are left no longer sum to 1.",
    nudge="At which moment must hidden keys drop out, so that the others share the whole weight?",
)
@as_layer()
def mask_after_softmax_(queries, keys, values, d_k, mask):
    weights = weights_of(queries, keys, d_k, None)
    return (weights if mask is None else weights * (1 - mask)) @ values


@HalfPrecisionAttention.misconception(
    means="You did not divide the scores by √d_k, so the weights come out too sharp.",
    nudge="What did your first layer do between the product and the mask?",
)
@as_layer()
def no_scale_(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, 1, mask)


@HalfPrecisionAttention.misconception(
    means="You divided by d_k instead of by its square root, so the weights come out too flat.",
    nudge="What did your first layer divide by?",
)
@as_layer()
def divided_by_d_k_(queries, keys, values, d_k, mask):
    return attend(queries, keys, values, d_k, mask)


@HalfPrecisionAttention.misconception(
    means="These are the attention weights; the last step, averaging the values with them, is missing.",
    nudge="What are the weights multiplied by to give one row of size d_v for each query?",
)
@as_layer()
def returns_the_weights_(queries, keys, values, d_k, mask):
    return weights_of(queries, keys, d_k, mask)
