"""The exercises of the lab `qkv-attention`: softmax, attention weights, attention."""

from functools import cache

import numpy as np

from autograder.embeddings import load_embeddings
from autograder.labs.exercise import Exercise, inputs, sizes
from autograder.labs.reference import Reference

solution = Reference("qkv-attention")  # the solution notebook's functions, loaded lazily

# The notebook's example by hand: two queries and three keys of size 2, three values of size 2.
Q = np.array([[1.0, 0.0], [1.0, 1.0]])
K = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
V = np.array([[10.0, 0.0], [0.0, 0.0], [0.0, 10.0]])


def exponents(x, axis):
    """exp(x) over the largest of each slice: what softmax divides by its sum."""
    return np.exp(x - np.max(x, axis=axis, keepdims=True))


def shares(x, axis):
    """Each number over the sum of its slice along `axis` (an int or a tuple of axes)."""
    return x / np.sum(x, axis=axis, keepdims=True)


# --- softmax: ordinary numbers, any axis ---------------------------------------------------------

softmax = Exercise("softmax", lab="qkv-attention", points=2, properties=["no negative weight", "sums to one"])


@softmax.case("the three scores of the notebook's example")
def three_scores(rng):
    return inputs(np.array([2.0, 1.0, 0.0]))


@softmax.case("a matrix, the axis left out (so axis 0, down the columns)")
def columns(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)))


@softmax.case("along the rows of a matrix")
def rows(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)), axis=1)


@softmax.case("along the rows of a square matrix")
def square_rows(rng):
    size = int(rng.integers(3, 7))
    return inputs(rng.normal(size=(size, size)), axis=1)


@softmax.case("along the middle axis of a 3-D array")
def middle_axis(rng):
    return inputs(rng.normal(size=sizes(rng, 3)), axis=1)


@softmax.case("along the last axis of a 3-D array, written axis=-1")
def last_axis(rng):
    return inputs(rng.normal(size=sizes(rng, 3)), axis=-1)


@softmax.case("along the first axis of a 4-D array")
def first_of_four(rng):
    return inputs(rng.normal(size=sizes(rng, 4, 2, 6)), axis=0)


@softmax.case("a matrix of float32 numbers, along its rows")
def single_precision(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)).astype(np.float32), axis=1)


# --- stable_softmax: the same, and numbers of ±1000 ----------------------------------------------

stable_softmax = Exercise(
    "stable_softmax",
    lab="qkv-attention",
    points=2,
    builds_on=["softmax"],
    properties=["no negative weight", "sums to one"],
)


@stable_softmax.case("the notebook's three large scores")
def three_large_scores(rng):
    return inputs(np.array([1000.0, 999.0, 998.0]))


@stable_softmax.case("a matrix of ordinary numbers, the axis left out")
def ordinary(rng):
    return inputs(rng.normal(size=sizes(rng, 2, 3)))


@stable_softmax.case("numbers near 1000, along the rows")
def near_1000(rng):
    return inputs(1000 + rng.normal(size=sizes(rng, 2, 3)), axis=1)


@stable_softmax.case("numbers near -1000, down the columns")
def near_minus_1000(rng):
    return inputs(-1000 + rng.normal(size=sizes(rng, 2, 3)), axis=0)


@stable_softmax.case("one row near 1000, the others near 0 and -1000")
def rows_far_apart(rng):
    count, length = sizes(rng, 2, 3, 6)
    levels = rng.permutation([1000.0, 0.0, -1000.0, *rng.choice([0.0, -1000.0], size=count - 3)])
    return inputs(levels[:, np.newaxis] + rng.normal(size=(count, length)), axis=1)


@stable_softmax.case("a 3-D array with levels far apart, along its middle axis")
def blocks_far_apart(rng):
    first, middle, last = sizes(rng, 3, 2, 6)
    levels = rng.permuted(np.resize([1000.0, -1000.0], first * last)).reshape(first, 1, last)
    return inputs(levels + rng.normal(size=(first, middle, last)), axis=1)


@stable_softmax.case("1000 and -1000 side by side, along the last axis of a 4-D array")
def side_by_side(rng):
    shape = [*sizes(rng, 3, 2, 5), 6]
    rows = np.array([[1000.0, -1000.0, -1000.0, -1000.0, 999.0, -1000.0], [800.0, 0, 0, 799.0, 0, 0]])
    return inputs(rng.permuted(np.resize(rows, shape), axis=-1) + rng.normal(size=shape), axis=-1)


@stable_softmax.case("float32 numbers near 1000, along the rows of a square matrix")
def single_precision_near_1000(rng):
    size = int(rng.integers(3, 7))
    return inputs((1000 + rng.normal(size=(size, size))).astype(np.float32), axis=1)


# softmax and stable_softmax: the same mistakes in both, `exp` being safe in the second


def both(means, nudge):
    """Register a mistake f(x, axis, exp) for `softmax` (with np.exp) and `stable_softmax` (no overflow)."""

    def register(mistake):
        def plain(x, axis=0):
            return mistake(x, axis, lambda x, axis: np.exp(x))

        def stable(x, axis=0):
            return mistake(x, axis, exponents)

        for exercise, function in ((softmax, plain), (stable_softmax, stable)):
            function.__name__ = mistake.__name__
            exercise.misconception(means=means, nudge=nudge)(function)
        return mistake

    return register


@both(
    means="You always divide by the sums down axis 0, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_axis_0(x, axis, exp):
    return shares(exp(x, 0), 0)


@both(
    means="You always divide by the sums along axis 1, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_axis_1(x, axis, exp):
    return shares(exp(x, 1), 1)


@both(
    means="You always divide by the sums along the last axis, whatever `axis` says.",
    nudge="Where in your function does the argument `axis` appear?",
)
def always_the_last_axis(x, axis, exp):
    return shares(exp(x, -1), -1)


@both(
    means="You divided by the sum of the whole array, so all its numbers together add up to 1, "
    "not each slice.",
    nudge="How many sums do you need for a matrix with four columns, when axis is 0?",
)
def over_everything(x, axis, exp):
    return shares(exp(x, None), None)


@both(
    means="You exchanged the two axes: for axis 0 each row adds up to 1, for axis 1 each column.",
    nudge="`axis` is the axis that a sum makes disappear. Summing a (4, 3) matrix over axis 0: "
    "which shape is left?",
)
def axes_exchanged(x, axis, exp):
    other = {0: min(1, x.ndim - 1), 1: 0}.get(axis, axis)
    return shares(exp(x, other), other)


@both(
    means="Your sums lost their axis, so NumPy lines them up with the wrong one: "
    "this is right for axis 0 only.",
    nudge="Compare the shapes of the array and of its sums. What does `keepdims` change in them?",
)
def sums_without_their_axis(x, axis, exp):
    e = exp(x, axis)
    return e / np.sum(e, axis=axis)


@both(
    means="You put the lost axis back at the end whatever `axis` says: this is right for the last axis only.",
    nudge="At which place of the shape did the sum take an axis away? There it must come back.",
)
def axis_put_back_at_the_end(x, axis, exp):
    e = exp(x, axis)
    return e / np.expand_dims(np.sum(e, axis=axis), axis=-1)


@both(
    means="You treat every axis but 0 as axis 1: fine for a matrix, wrong for arrays of more axes.",
    nudge="Can you write one line that serves every axis, without asking which one it is?",
)
def made_for_matrices(x, axis, exp):
    return shares(exp(x, 0), 0) if axis == 0 else shares(exp(x, 1), 1)


@both(
    means="You took the exponentials and left it at that: nothing makes them add up to 1.",
    nudge="By what must a number be divided to become its share of the whole?",
)
def not_divided(x, axis, exp):
    return exp(x, axis)


@both(
    means="You divided by the mean of the exponentials, so each slice adds up to its length and not to 1.",
    nudge="What do your weights add up to, and what should they?",
)
def divided_by_the_mean(x, axis, exp):
    e = exp(x, axis)
    return e / e.mean(axis=axis, keepdims=True)


@both(
    means="You divided by the length of each slice as a vector (its norm): the squares add up to 1, "
    "not the weights.",
    nudge="What do your weights add up to, and what should they?",
)
def divided_by_the_norm(x, axis, exp):
    e = exp(x, axis)
    return e / np.linalg.norm(e, axis=axis, keepdims=True)


@both(
    means="You returned the logarithm of softmax: every number is negative.",
    nudge="Is there a logarithm, or a difference of logarithms, as your last step?",
)
def log_softmax(x, axis, exp):
    return np.log(shares(exponents(x, axis), axis) + np.finfo(float).tiny)


@both(
    means="You applied softmax twice; the second time flattens the shares until they are nearly equal.",
    nudge="What goes into your exponential: the numbers of x, or shares already?",
)
def softmax_twice(x, axis, exp):
    return shares(exp(shares(exp(x, axis), axis), axis), axis)


@both(
    means="There is a minus sign too many: the smallest number gets the largest share.",
    nudge="Which of the scores 2, 1, 0 should get the largest share? Try your function on them.",
)
def minus_sign(x, axis, exp):
    return shares(exp(-x, axis), axis)


@both(
    means="Each number went through a sigmoid by itself; "
    "softmax shares 1 out among all the numbers of a slice.",
    nudge="Should one number's weight change when another number of its slice grows?",
)
def sigmoid(x, axis, exp):
    return 1 / (1 + np.exp(-x))


@both(
    means="The largest number takes everything; softmax gives the others a share too.",
    nudge="What should the scores 2, 1, 0 get? Look at the example by hand.",
)
def winner_takes_all(x, axis, exp):
    return (x == x.max(axis=axis, keepdims=True)).astype(x.dtype)


@both(
    means="You rounded the result: the check needs all the digits, and so does every later step.",
    nudge="Round when you print, not in the function.",
)
def rounded(x, axis, exp):
    return np.round(shares(exp(x, axis), axis), 3)


@both(
    means="You return the result of the notebook's example, whatever comes in.",
    nudge="Where does your code use `x`?",
)
def hard_coded(x, axis, exp):
    return np.array([0.66524096, 0.24472847, 0.09003057])


@both(
    means="You subtracted the largest number above the fraction line only, and not in the sum below it.",
    nudge="A number may be taken away from every x without changing softmax. Is it taken away everywhere?",
)
def maximum_subtracted_above_only(x, axis, exp):
    return exponents(x, axis) / np.sum(np.exp(x), axis=axis, keepdims=True)


# softmax: mistakes of its own


@softmax.misconception(
    means="You divided by the largest exponential instead of by their sum: "
    "the largest share is 1, and together they are more.",
    nudge="By what must a number be divided to become its share of the whole?",
)
def divided_by_the_largest(x, axis=0):
    return np.exp(x) / np.exp(x).max(axis=axis, keepdims=True)


@softmax.misconception(
    means="You divided the numbers themselves by their sum: negative ones stay negative, "
    "and a sum near 0 blows up.",
    nudge="Which function makes every number positive before the division?",
)
def no_exponential(x, axis=0):
    return shares(x, axis)


@softmax.misconception(
    means="You squared the numbers where softmax takes their exponentials, so -2 counts as much as 2.",
    nudge="In the formula x stands in the exponent. What is NumPy's name for e to the power x?",
)
def squares(x, axis=0):
    return shares(x**2, axis)


@softmax.misconception(
    means="You used powers of 2; softmax uses powers of e = 2.718…, which tell the numbers further apart.",
    nudge="What is NumPy's name for e to the power x?",
)
def powers_of_two(x, axis=0):
    return shares(np.exp2(x), axis)


@softmax.structural
def transposed(x, axis=0):
    return shares(np.exp(x), axis).T


@softmax.structural
def modifies_argument(x, axis=0):
    x -= x.max(axis=axis, keepdims=True)
    return shares(np.exp(x), axis)


@softmax.structural
def lower_precision(x, axis=0):
    return shares(np.exp(x), axis).astype(np.float32)


@softmax.structural
def returns_a_list(x, axis=0):
    return shares(np.exp(x), axis).tolist()


# stable_softmax: mistakes with large numbers


@stable_softmax.misconception(
    means="You took exponentials of the numbers as they are: e to the 1000 is too large for the computer "
    "(inf), e to the -1000 too small (0), and both inf/inf and 0/0 are nan.",
    nudge="What may be subtracted from every number of a slice so that softmax stays the same?",
)
def no_maximum_subtracted(x, axis=0):
    return shares(np.exp(x), axis)


@stable_softmax.misconception(
    means="You subtracted the maximum of the whole array: a slice that lies far below it becomes 0/0, "
    "which is nan.",
    nudge="Each slice is shared out by itself. Whose maximum should it lose?",
)
def maximum_of_the_whole_array(x, axis=0):
    return shares(np.exp(x - x.max()), axis)


@stable_softmax.misconception(
    means="You took the maximum along axis 0 whatever `axis` says, "
    "so the numbers of one slice lose different amounts.",
    nudge="Does the maximum run along the same axis as the sum?",
)
def maximum_always_along_axis_0(x, axis=0):
    return shares(np.exp(x - x.max(axis=0, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You took the maximum along the last axis whatever `axis` says, "
    "so the numbers of one slice lose different amounts.",
    nudge="Does the maximum run along the same axis as the sum?",
)
def maximum_always_along_the_last_axis(x, axis=0):
    return shares(np.exp(x - x.max(axis=-1, keepdims=True)), axis)


@stable_softmax.misconception(
    means="The maximum lost its axis, so NumPy subtracts it along the wrong one; your sums keep theirs.",
    nudge="Compare the shapes of the array and of its maxima. What does `keepdims` change in them?",
)
def maximum_without_its_axis(x, axis=0):
    return shares(np.exp(x - x.max(axis=axis)), axis)


@stable_softmax.misconception(
    means="You subtracted the largest absolute value: numbers near -1000 then become still smaller, "
    "and 0/0 is nan.",
    nudge="After the subtraction the largest number of each slice should be 0. Is it, if all are negative?",
)
def largest_absolute_value(x, axis=0):
    return shares(np.exp(x - np.abs(x).max(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the mean: "
    "where 1000 and -1000 stand side by side the largest number is still far above 0.",
    nudge="After the subtraction no number should be above 0. What must you subtract?",
)
def subtracts_the_mean(x, axis=0):
    return shares(np.exp(x - x.mean(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the smallest number, "
    "so where 1000 and -1000 stand side by side the largest becomes 2000.",
    nudge="After the subtraction no number should be above 0. What must you subtract?",
)
def subtracts_the_minimum(x, axis=0):
    return shares(np.exp(x - x.min(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You divided by the largest number instead of subtracting it: "
    "that shrinks the differences between the numbers.",
    nudge="Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?",
)
def divides_by_the_maximum(x, axis=0):
    return shares(np.exp(x / x.max(axis=axis, keepdims=True)), axis)


@stable_softmax.misconception(
    means="You subtracted the maximum after taking the exponential; the overflow has happened by then.",
    nudge="At which step do the numbers become too large? The subtraction must come before it.",
)
def subtracts_too_late(x, axis=0):
    return shares(np.exp(x) - np.max(x, axis=axis, keepdims=True), axis)


@stable_softmax.misconception(
    means="You cut the numbers off at a bound, so 1000 and 999 become equal and get the same share.",
    nudge="Softmax depends on differences only. Which operation leaves 1000 and 999 one apart?",
)
def cuts_off(x, axis=0):
    return shares(np.exp(np.clip(x, -500 if x.itemsize > 4 else -80, 500 if x.itemsize > 4 else 80)), axis)


@stable_softmax.misconception(
    means="You replaced nan by numbers, which hides the overflow; the weights of that slice are still lost.",
    nudge="What could you subtract from every number beforehand, so that no nan arises?",
)
def hides_the_nan(x, axis=0):
    return np.nan_to_num(shares(np.exp(x), axis))


@stable_softmax.misconception(
    means="You added a tiny number to the sum: no division by 0 any more, but e to the 1000 still overflows, "
    "and small shares become 0.",
    nudge="What could you subtract from every number beforehand, so that the sum is never 0 nor infinite?",
)
def adds_epsilon(x, axis=0):
    return np.exp(x) / (np.sum(np.exp(x), axis=axis, keepdims=True) + 1e-9)


@stable_softmax.misconception(
    means="You subtracted the maximum, and then divided those differences by their sum: "
    "the exponential is missing.",
    nudge="Which function makes every number positive before the division?",
)
def no_exponential_(x, axis=0):
    return shares(x - x.max(axis=axis, keepdims=True), axis)


@stable_softmax.structural
def modifies_argument(x, axis=0):
    x -= x.max(axis=axis, keepdims=True)
    return shares(np.exp(x), axis)


@stable_softmax.structural
def lower_precision(x, axis=0):
    return shares(exponents(x, axis), axis).astype(np.float32)


@stable_softmax.structural
def returns_a_list(x, axis=0):
    return shares(exponents(x, axis), axis).tolist()


# --- calculate_weights ---------------------------------------------------------------------------

calculate_weights = Exercise(
    "calculate_weights",
    lab="qkv-attention",
    points=3,
    builds_on=["softmax", "stable_softmax"],
    properties=["no negative weight", "rows sum to one"],
)


def words(rng, queries, keys, size):
    """Random queries (L_q, d_k) and keys (L_k, d_k); their scaled products are of ordinary size."""
    return rng.normal(size=(queries, size)), rng.normal(size=(keys, size))


ENGLISH = "the agreement on the european economic area was signed in august 1992 ."
FRENCH = "l accord sur la zone économique européenne a été signé en août 1992 ."


@cache
def published():
    """The published sentence in the shipped vectors: queries (14, 300), keys (13, 300)."""
    return sentence(FRENCH, "fr"), sentence(ENGLISH, "en")


def sentence(text, language):
    """A row for each word, zeros for an unknown one; silent, unlike `embed`."""
    known = load_embeddings(language, which="shipped")
    return np.array([known[word] if word in known else np.zeros(300) for word in text.split()])


@calculate_weights.case("the notebook's example: 2 queries, 3 keys of size 2")
def two_queries(rng):
    return inputs(Q, K)


@calculate_weights.case("the French and the English sentence of the notebook")
def the_sentence(rng):
    return inputs(*published())


@calculate_weights.case("more keys than queries, every size different")
def more_keys(rng):
    queries, size, keys = sorted(sizes(rng, 3))
    return inputs(*words(rng, queries, keys, size))


@calculate_weights.case("more queries than keys, every size different")
def more_queries(rng):
    keys, queries = sorted(sizes(rng, 2))
    return inputs(*words(rng, queries, keys, int(rng.integers(9, 16))))


@calculate_weights.case("as many queries as keys")
def as_many(rng):
    length, size = sizes(rng, 2, 3)
    return inputs(*words(rng, length, length, size))


@calculate_weights.case("as many queries as keys, and of that size too")
def all_alike(rng):
    size = int(rng.integers(3, 7))
    return inputs(*words(rng, size, size, size))


@calculate_weights.case("a single query")
def one_query(rng):
    keys, size = sizes(rng, 2, 3)
    return inputs(*words(rng, 1, keys, size))


@calculate_weights.case("an unknown word (zeros) among the queries and among the keys, float32")
def unknown_words(rng):
    queries, keys = words(rng, *sizes(rng, 3, 3))
    queries[rng.integers(len(queries))] = 0
    keys[rng.integers(len(keys))] = 0
    return inputs(queries.astype(np.float32), keys.astype(np.float32))


# Right steps that the mistakes are made of.


def root(number):
    """A square root that leaves float32 arrays float32."""
    return float(number) ** 0.5


def scores_of(queries, keys):
    return queries @ keys.T / root(keys.shape[-1])


def weights_of(queries, keys):
    return rows_of(scores_of(queries, keys))


def rows_of(scores):
    return shares(exponents(scores, -1), -1)


# The scale


@calculate_weights.misconception(
    means="The scores are not divided by √d_k, so they grow with the size of the vectors.",
    nudge="Which step stands between the dot products and softmax in the formula?",
)
def no_scale(queries, keys):
    return rows_of(queries @ keys.T)


@calculate_weights.misconception(
    means="You divided the scores by d_k instead of by its square root, which flattens the weights.",
    nudge="Look at the formula once more: is something around d_k?",
)
def divides_by_d_k(queries, keys):
    return rows_of(queries @ keys.T / keys.shape[-1])


@calculate_weights.misconception(
    means="You divided by the root of the number of keys; it should be the size of one key.",
    nudge="Put the shape under `keys`: which of its two numbers is d_k?",
)
def root_of_the_number_of_keys(queries, keys):
    return rows_of(queries @ keys.T / root(len(keys)))


@calculate_weights.misconception(
    means="You divided by the root of the number of queries; it should be the size of one key.",
    nudge="Put the shape under `keys`: which of its numbers is d_k?",
)
def root_of_the_number_of_queries(queries, keys):
    return rows_of(queries @ keys.T / root(len(queries)))


@calculate_weights.misconception(
    means="You multiplied the scores by √d_k instead of dividing, "
    "so the largest score takes nearly everything.",
    nudge="The scale should keep the scores small when d_k is large. Does yours?",
)
def multiplies_by_the_scale(queries, keys):
    return rows_of(queries @ keys.T * root(keys.shape[-1]))


@calculate_weights.misconception(
    means="You divided by √d_k after softmax: the rows then add up to 1/√d_k, not to 1.",
    nudge="In which order do the steps come: products, scale, softmax?",
)
def scale_after_softmax(queries, keys):
    return rows_of(queries @ keys.T) / root(keys.shape[-1])


@calculate_weights.misconception(
    means="You divided by √300, the size of this notebook's word vectors, whatever the keys' own size is.",
    nudge="Which argument knows the size of a key?",
)
def always_300(queries, keys):
    return rows_of(queries @ keys.T / root(300))


@calculate_weights.misconception(
    means="You divided by the lengths of the vectors (that is cosine similarity); "
    "attention divides by √d_k only.",
    nudge="Which number in the formula stands below the dot products, and is it the same for all of them?",
)
def cosine_similarity(queries, keys):
    scores = queries @ keys.T
    lengths = np.linalg.norm(queries, axis=1)[:, np.newaxis] * np.linalg.norm(keys, axis=1)
    return rows_of(np.divide(scores, lengths, out=np.zeros_like(scores), where=lengths > 0))


@calculate_weights.misconception(
    means="You divided by the lengths of the vectors (that is cosine similarity), "
    "and a word of zeros has length 0: 0/0 is nan.",
    nudge="Which number in the formula stands below the dot products, and is it the same for all of them?",
)
def cosine_similarity_with_nan(queries, keys):
    lengths = np.linalg.norm(queries, axis=1)[:, np.newaxis] * np.linalg.norm(keys, axis=1)
    return rows_of(queries @ keys.T / lengths)


# Softmax


@calculate_weights.misconception(
    means="You took softmax over the queries: each column adds up to 1. "
    "That is also what softmax does if you leave its axis out.",
    nudge="Every query shares out 1 among the keys. Along which axis of (L_q, L_k) do the keys lie?",
)
def softmax_over_the_queries(queries, keys):
    return shares(exponents(scores_of(queries, keys), 0), 0)


@calculate_weights.misconception(
    means="You shared 1 out over the whole table; every query has a whole 1 of its own to share out.",
    nudge="Which axis should softmax work along?",
)
def softmax_over_everything(queries, keys):
    return shares(np.exp(scores_of(queries, keys)), None)


@calculate_weights.misconception(
    means="These are the scores; softmax, which makes weights of them, is missing.",
    nudge="Weights are positive and each row adds up to 1. Which of your functions does that?",
)
def no_softmax(queries, keys):
    return scores_of(queries, keys)


@calculate_weights.misconception(
    means="These are the bare dot products: neither divided by √d_k nor passed through softmax.",
    nudge="Two steps of the formula are still to come: which?",
)
def bare_dot_products(queries, keys):
    return queries @ keys.T


@calculate_weights.misconception(
    means="You divided the scores by their sum, without the exponential: "
    "a weight can then be negative or huge.",
    nudge="Which of your functions turns a row of scores into weights?",
)
def scores_over_their_sum(queries, keys):
    return shares(scores_of(queries, keys), -1)


@calculate_weights.misconception(
    means="You took the exponentials of the scores, but nothing makes a row add up to 1.",
    nudge="Which of your functions turns a row of scores into weights?",
)
def only_exponentials(queries, keys):
    return np.exp(scores_of(queries, keys))


@calculate_weights.misconception(
    means="You applied softmax twice; the second time makes the weights nearly equal.",
    nudge="What goes into softmax, and did it come out of a softmax already?",
)
def softmax_applied_twice(queries, keys):
    return rows_of(weights_of(queries, keys))


@calculate_weights.misconception(
    means="There is a minus sign too many: the key that fits worst gets the most attention.",
    nudge="Should a large dot product lead to a large weight or to a small one?",
)
def minus_sign_(queries, keys):
    return rows_of(-scores_of(queries, keys))


@calculate_weights.misconception(
    means="You returned the logarithm of the weights: every number is negative.",
    nudge="Weights are shares between 0 and 1. Is there a logarithm in your last step?",
)
def log_weights(queries, keys):
    return np.log(weights_of(queries, keys))


@calculate_weights.misconception(
    means="Each score went through a sigmoid by itself, so the weights of a row do not share out 1.",
    nudge="Should one key's weight change when another key fits better?",
)
def sigmoid_for_softmax(queries, keys):
    return 1 / (1 + np.exp(-scores_of(queries, keys)))


@calculate_weights.misconception(
    means="The best key takes everything (1) and the others nothing (0); attention is a soft choice.",
    nudge="Which of your functions gives the runners-up their share?",
)
def best_key_takes_all(queries, keys):
    scores = scores_of(queries, keys)
    return np.eye(len(keys), dtype=scores.dtype)[scores.argmax(axis=-1)]


@calculate_weights.misconception(
    means="Every key gets the same weight, whatever the query: nothing is compared.",
    nudge="Which product tells how well a query fits a key?",
)
def uniform_weights(queries, keys):
    return np.full((len(queries), len(keys)), 1 / len(keys))


# Queries and keys


@calculate_weights.misconception(
    means="You exchanged queries and keys: there is a row for each key now, "
    "and it shares out 1 among the queries.",
    nudge="The result has a row for each query. Which of the two stands first in the product?",
)
def queries_and_keys_exchanged(queries, keys):
    return weights_of(keys, queries)


@calculate_weights.misconception(
    means="The keys were not transposed; where it runs at all, it runs because the sizes happen to match.",
    nudge="Write the shapes under the product: (L_q, d_k) times what gives (L_q, L_k)?",
)
def keys_not_transposed(queries, keys):
    return rows_of(queries @ keys / root(keys.shape[-1]))


@calculate_weights.misconception(
    means="You reshaped the keys instead of transposing them: the shape fits, "
    "but the numbers of different words mix.",
    nudge="Print a small matrix, its reshape and its transpose. In which one does each word become a column?",
)
def reshape_for_transpose(queries, keys):
    return rows_of(queries @ keys.reshape(keys.shape[::-1]) / root(keys.shape[-1]))


@calculate_weights.misconception(
    means="You compared the queries with themselves; the keys do not come in.",
    nudge="Which two of the arguments meet in the dot products?",
)
def queries_with_queries(queries, keys):
    return weights_of(queries, queries)


@calculate_weights.misconception(
    means="You compared the keys with themselves; the queries do not come in.",
    nudge="Which two of the arguments meet in the dot products?",
)
def keys_with_keys(queries, keys):
    return weights_of(keys, keys)


@calculate_weights.misconception(
    means="You multiplied number by number (`*`), which needs equal shapes; "
    "a dot product of every query with every key is due.",
    nudge="Which operator is the matrix product in Python?",
)
def number_by_number(queries, keys):
    return rows_of(queries * keys / root(keys.shape[-1]))


@calculate_weights.misconception(
    means="Your loops run over as many keys as there are queries; the two sentences may differ in length.",
    nudge="Which length belongs to the inner loop?",
)
def as_many_keys_as_queries(queries, keys):
    scores = np.zeros((len(queries), len(queries)), queries.dtype)
    for i in range(len(queries)):
        for j in range(len(queries)):
            scores[i, j] = queries[i] @ keys[j]
    return rows_of(scores / root(keys.shape[-1]))


@calculate_weights.misconception(
    means="You compared by distance; attention compares by dot product, "
    "in which a longer vector counts more.",
    nudge="Which product of a query and a key does the formula start with?",
)
def distances_for_dot_products(queries, keys):
    return rows_of(-np.linalg.norm(queries[:, np.newaxis] - keys, axis=-1) / root(keys.shape[-1]))


# Form


@calculate_weights.misconception(
    means="You rounded the weights: the check needs all the digits, and so does every later step.",
    nudge="Round when you print, not in the function.",
)
def rounded_weights(queries, keys):
    return np.round(weights_of(queries, keys), 3)


@calculate_weights.misconception(
    means="You return the weights of the notebook's example, whatever comes in.",
    nudge="Where does your code use `queries` and `keys`?",
)
def hard_coded_weights(queries, keys):
    return weights_of(Q, K)


@calculate_weights.structural
def transposed(queries, keys):
    return weights_of(queries, keys).T


@calculate_weights.structural
def extra_axis(queries, keys):
    return weights_of(queries, keys)[np.newaxis]


@calculate_weights.structural
def missing_axis(queries, keys):
    return weights_of(queries, keys).squeeze()


@calculate_weights.structural
def modifies_argument(queries, keys):
    queries /= root(keys.shape[-1])
    return rows_of(queries @ keys.T)


@calculate_weights.structural
def lower_precision(queries, keys):
    return weights_of(queries, keys).astype(np.float32)


@calculate_weights.structural
def returns_a_list(queries, keys):
    return weights_of(queries, keys).tolist()


# --- attention_qkv -------------------------------------------------------------------------------

attention_qkv = Exercise(
    "attention_qkv",
    lab="qkv-attention",
    points=3,
    builds_on=["calculate_weights"],
    properties=["within the values"],
)


def triple(rng, queries, keys, size, value_size):
    return *words(rng, queries, keys, size), rng.normal(size=(keys, value_size))


@attention_qkv.case("the notebook's example: 2 queries, 3 keys and values of size 2")
def two_queries_three_values(rng):
    return inputs(Q, K, V)


@attention_qkv.case("the notebook's sentence, the first ten numbers of each value")
def sentence_with_values(rng):
    queries, keys = published()
    return inputs(queries, keys, keys[:, :10])


@attention_qkv.case("every size different")
def every_size_different(rng):
    return inputs(*triple(rng, *sizes(rng, 4)))


@attention_qkv.case("more queries than keys, long values")
def long_values(rng):
    keys, size, queries = sorted(sizes(rng, 3))
    return inputs(*triple(rng, queries, keys, size, int(rng.integers(9, 16))))


@attention_qkv.case("keys and values of one size")
def one_size(rng):
    queries, keys, size = sizes(rng, 3)
    return inputs(*triple(rng, queries, keys, size, size))


@attention_qkv.case("as many queries as keys, and all of that size")
def every_size_alike(rng):
    size = int(rng.integers(3, 7))
    return inputs(*triple(rng, size, size, size, size))


@attention_qkv.case("a single query")
def a_single_query(rng):
    return inputs(*triple(rng, 1, *sizes(rng, 3, 3)))


@attention_qkv.case("an unknown word (zeros) among the queries and among the keys, float32")
def unknown_words_with_values(rng):
    queries, keys, values = triple(rng, *sizes(rng, 4, 3))
    queries[rng.integers(len(queries))] = 0
    gap = rng.integers(len(keys))
    keys[gap] = values[gap] = 0
    return inputs(*(x.astype(np.float32) for x in (queries, keys, values)))


# What is averaged


@attention_qkv.misconception(
    means="You returned the weights; the last step, mixing the values with them, is missing.",
    nudge="What are the weights (L_q, L_k) multiplied by, to give one row of size d_v for each query?",
)
def returns_the_weights(queries, keys, values):
    return weights_of(queries, keys)


@attention_qkv.misconception(
    means="You mixed the keys instead of the values.",
    nudge="Keys decide how much each word counts; which argument holds what is handed over?",
)
def mixes_the_keys(queries, keys, values):
    return weights_of(queries, keys) @ keys


@attention_qkv.misconception(
    means="You mixed the queries instead of the values.",
    nudge="Queries ask; which argument holds what is handed over?",
)
def mixes_the_queries(queries, keys, values):
    return weights_of(queries, keys) @ queries


@attention_qkv.misconception(
    means="You compared the queries with the values instead of with the keys.",
    nudge="Which two of the three arguments decide on the weights?",
)
def compares_with_the_values(queries, keys, values):
    return rows_of(queries @ values.T / root(keys.shape[-1])) @ values


@attention_qkv.misconception(
    means="Keys and values have changed places.",
    nudge="Check the order of the arguments: queries, keys, values.",
)
def keys_and_values_exchanged(queries, keys, values):
    return weights_of(queries, values) @ keys


@attention_qkv.misconception(
    means="Queries and keys have changed places.",
    nudge="Check the order of the arguments: queries, keys, values.",
)
def queries_and_keys_exchanged_(queries, keys, values):
    return weights_of(keys, queries) @ values


@attention_qkv.misconception(
    means="You compared the keys with themselves, so every word asks about its own sentence; "
    "the queries do not come in.",
    nudge="Which two of the three arguments decide on the weights?",
)
def keys_ask_the_keys(queries, keys, values):
    return weights_of(keys, keys) @ values


@attention_qkv.misconception(
    means="You took the plain mean of the values for every query: nothing is compared.",
    nudge="Where do the weights come in?",
)
def mean_of_the_values(queries, keys, values):
    return np.repeat(values.mean(axis=0, keepdims=True), len(queries), axis=0)


@attention_qkv.misconception(
    means="You added all the values up, each with a weight of 1.",
    nudge="Where do the weights come in?",
)
def sum_of_the_values(queries, keys, values):
    return np.repeat(values.sum(axis=0, keepdims=True), len(queries), axis=0)


@attention_qkv.misconception(
    means="You handed over the value of the best key only; attention mixes all values, each by its weight.",
    nudge="What should a word with a weight of 0.3 contribute to the result?",
)
def value_of_the_best_key(queries, keys, values):
    return values[scores_of(queries, keys).argmax(axis=-1)]


# How it is averaged


@attention_qkv.misconception(
    means="You mixed the values with the raw scores; scores may be negative and do not add up to 1.",
    nudge="Which of your functions gives the weights?",
)
def scores_for_weights(queries, keys, values):
    return scores_of(queries, keys) @ values


@attention_qkv.misconception(
    means="You mixed the values with bare dot products: neither divided by √d_k nor passed through softmax.",
    nudge="Which of your functions gives the weights?",
)
def bare_products_for_weights(queries, keys, values):
    return queries @ keys.T @ values


@attention_qkv.misconception(
    means="You used softmax on the finished mixture instead of on the scores.",
    nudge="Softmax shares out 1 among the keys: at which step do you have one number for each key?",
)
def softmax_at_the_end(queries, keys, values):
    return rows_of(scores_of(queries, keys) @ values)


@attention_qkv.misconception(
    means="You transposed the weights before the product: "
    "each row mixes by how much a word is looked at, not by what it looks at.",
    nudge="(L_q, L_k) times (L_k, d_v): does anything have to be turned?",
)
def weights_turned(queries, keys, values):
    return weights_of(queries, keys).T @ values


@attention_qkv.misconception(
    means="You multiplied in the wrong order, values first; where it runs at all, the sizes happen to match.",
    nudge="The result has a row for each query. Which factor must then stand on the left?",
)
def values_first(queries, keys, values):
    return values @ weights_of(queries, keys)


@attention_qkv.misconception(
    means="You multiplied number by number (`*`), which needs equal shapes; "
    "nothing is added up over the keys.",
    nudge="Which operator is the matrix product in Python?",
)
def weights_times_values(queries, keys, values):
    return weights_of(queries, keys) * values


@attention_qkv.misconception(
    means="You divided the mixture once more, by the number of keys; the weights add up to 1 already.",
    nudge="Is there anything left to divide by, once each row of weights adds up to 1?",
)
def divided_once_more(queries, keys, values):
    return weights_of(queries, keys) @ values / len(keys)


@attention_qkv.misconception(
    means="You added the results of all queries up into one vector; each query keeps its own.",
    nudge="The result has shape (L_q, d_v). Over which axis did you sum that should stay?",
)
def one_vector_for_all_queries(queries, keys, values):
    return (weights_of(queries, keys) @ values).sum(axis=0)


@attention_qkv.misconception(
    means="You answered the first query only.",
    nudge="The result has a row for each query. Is there an index `[0]` too many?",
)
def first_query_only(queries, keys, values):
    return weights_of(queries[:1], keys) @ values


@attention_qkv.misconception(
    means="You divided by √d_v, from the size of the values; the scale belongs to the dot products, "
    "whose size is d_k.",
    nudge="How long are the vectors whose products you divide?",
)
def root_of_the_value_size(queries, keys, values):
    return rows_of(queries @ keys.T / root(values.shape[-1])) @ values


# Form


@attention_qkv.misconception(
    means="You rounded the result: the check needs all the digits.",
    nudge="Round when you print, not in the function.",
)
def rounded_mixture(queries, keys, values):
    return np.round(weights_of(queries, keys) @ values, 3)


@attention_qkv.misconception(
    means="You return the result of the notebook's example, whatever comes in.",
    nudge="Where does your code use `queries`, `keys` and `values`?",
)
def hard_coded_attention(queries, keys, values):
    return weights_of(Q, K) @ V


@attention_qkv.structural
def returns_a_tuple(queries, keys, values):
    weights = weights_of(queries, keys)
    return weights @ values, weights


@attention_qkv.structural
def transposed(queries, keys, values):
    return (weights_of(queries, keys) @ values).T


@attention_qkv.structural
def extra_axis(queries, keys, values):
    return (weights_of(queries, keys) @ values)[np.newaxis]


@attention_qkv.structural
def missing_axis(queries, keys, values):
    return (weights_of(queries, keys) @ values).squeeze()


@attention_qkv.structural
def modifies_argument(queries, keys, values):
    queries /= root(keys.shape[-1])
    return rows_of(queries @ keys.T) @ values


@attention_qkv.structural
def lower_precision(queries, keys, values):
    return (weights_of(queries, keys) @ values).astype(np.float32)


@attention_qkv.structural
def returns_a_list(queries, keys, values):
    return (weights_of(queries, keys) @ values).tolist()


# attention_qkv: right from the weights on, but the weights are not


def on_wrong_weights(mistake):
    def wrong(queries, keys, values):
        return mistake(queries, keys) @ values

    wrong.__name__ = f"weights_{mistake.__name__}"
    return wrong


for _mistake, _what in [
    (no_scale, "come from scores that were not divided by √d_k"),
    (divides_by_d_k, "come from scores divided by d_k instead of by its root"),
    (root_of_the_number_of_keys, "come from scores divided by the root of the number of keys"),
    (multiplies_by_the_scale, "come from scores multiplied by √d_k instead of divided"),
    (scale_after_softmax, "were divided by √d_k after softmax"),
    (cosine_similarity, "come from cosine similarity instead of the scaled dot product"),
    (softmax_over_the_queries, "add up to 1 over the queries instead of over the keys"),
    (softmax_over_everything, "add up to 1 over the whole table instead of in each row"),
    (only_exponentials, "are exponentials that were never divided by their sum"),
    (softmax_applied_twice, "went through softmax twice"),
    (minus_sign_, "have the wrong sign in their scores"),
]:
    attention_qkv.misconception(
        means=f"The product with the values is right, but the weights {_what}.",
        nudge="Does check(calculate_weights) pass? Put that right first, and let `attention_qkv` call it.",
    )(on_wrong_weights(_mistake))
