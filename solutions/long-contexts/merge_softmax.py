"""The exercise `merge_softmax`: two parts of a softmax average as one."""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

from ._shared import CACHED_VALUES, V

merge_softmax = Exercise("merge_softmax", points=3)


def part(rng, scores, d_v, empty=()):
    """Max, sum and out of random values under these scores (L_q, n); `empty` rows see nothing."""
    scores = np.array(scores)
    scores[list(empty)] = -np.inf
    largest = scores.max(axis=1)
    powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0)[:, None])
    return largest, powers.sum(axis=1), powers @ rng.normal(size=(scores.shape[1], d_v))


def parts(rng, L_q, d_v, magnitude=1.0, empty_a=(), empty_b=()):
    keys = rng.integers(3, 7, size=2)
    scores = [
        magnitude * rng.choice([-1, 1], size=(L_q, 1)) * (magnitude > 1) + rng.normal(size=(L_q, n))
        for n in keys
    ]
    return inputs(*part(rng, scores[0], d_v, empty_a), *part(rng, scores[1], d_v, empty_b))


@merge_softmax.domain(
    sizes={"L_q": (1, 60), "d_v": (1, 60)},
    flags={"empty": ("neither", "the first", "the second", "both")},
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, L_q, d_v, empty, magnitude):
    some = range(0, L_q, 2)
    empty_a = some if empty in ("the first", "both") else ()
    return parts(rng, L_q, d_v, magnitude, empty_a, some if empty in ("the second", "both") else ())


@merge_softmax.case("the notebook's example")
def example(rng):
    powers = np.array([0.5, 1.0])
    a = np.array([np.log(2)]), np.array([powers.sum()]), (powers @ CACHED_VALUES)[None]
    return inputs(*a, np.array([np.log(3)]), np.array([1.0]), V[None])


@merge_softmax.case("several queries")
def several(rng):
    return parts(rng, *sizes(rng, 2, low=4))


@merge_softmax.case("as many queries as a value has numbers")
def square(rng):
    n = int(rng.integers(4, 7))
    return parts(rng, n, n)


@merge_softmax.case("the first part has all the larger scores")
def first_larger(rng):
    L_q, d_v = sizes(rng, 2, low=3)
    a, b = rng.normal(size=(L_q, 4)), rng.normal(size=(L_q, 3))
    return inputs(*part(rng, a + 3 + np.ptp(b), d_v), *part(rng, b - np.ptp(a), d_v))


@merge_softmax.case("the second part has all the larger scores")
def second_larger(rng):
    L_q, d_v = sizes(rng, 2, low=3)
    a, b = rng.normal(size=(L_q, 3)), rng.normal(size=(L_q, 4)) + 5
    return inputs(*part(rng, a, d_v), *part(rng, b, d_v))


@merge_softmax.case("scores of ±1000")
def large(rng):
    L_q, d_v = sizes(rng, 2, low=4)
    base = np.where(np.arange(L_q) % 2, 1000.0, -1000.0)[:, None]
    a, b = base + rng.normal(size=(L_q, 5)), base + rng.normal(size=(L_q, 4))
    return inputs(*part(rng, a, d_v), *part(rng, b, d_v))


@merge_softmax.case("a first part that is empty for all")
def begins_empty(rng):
    L_q, d_v = sizes(rng, 2, low=3)
    return parts(rng, L_q, d_v, empty_a=range(L_q))


@merge_softmax.case("a second part that is empty for some")
def second_empty(rng):
    L_q, d_v = sizes(rng, 2, low=4)
    return parts(rng, L_q, d_v, empty_b=(0, 2))


@merge_softmax.case("both parts empty for one query")
def both_empty(rng):
    L_q, d_v = sizes(rng, 2, low=3)
    return parts(rng, L_q, d_v, empty_a=(1,), empty_b=(1,))


@merge_softmax.slips("""
    nothing_rescaled: You added the sums and the outs as they are, although each part has subtracted a
        maximum of its own.
        Hint: By what must a part be multiplied, so that it is as if the common maximum had been subtracted?
    factor_upside_down: Your exponents have the wrong sign: the part with the smaller maximum grows
        instead of shrinking.
        Hint: Is it exp(own maximum - common maximum), or the other way round? Which is at most 1?
    only_sums_rescaled: The sums got their factors, the outs did not.
        Hint: Both were made with the same exponentials. What holds for the one, then?
    only_outs_rescaled: The outs got their factors, the sums did not.
        Hint: Both were made with the same exponentials. What holds for the one, then?
    second_not_rescaled: Only the first part is rescaled; that is right only where the second has the
        larger maximum.
        Hint: What if the larger maximum is in the first part: which of the two must then shrink?
    first_not_rescaled: Only the second part is rescaled; that is right only where the first has the
        larger maximum.
        Hint: What if the larger maximum is in the second part: which of the two must then shrink?
    divided_too_early: The out is divided by the sum already; it is asked for undivided.
        Hint: What would go wrong if this result were merged with a third part?
    outs_times_sums: You multiplied the outs by their sums, as if they had been divided before; they have not.
        Hint: Read in the docstring what `out_a` is: is anything to be undone?
    average_of_the_outs: You averaged the two outs, so both parts count the same.
        Hint: Should a part with small scores count as much as one with large scores?
    nan_where_both_are_empty: Where both parts are empty, -inf minus -inf is not a number.
        Hint: Such a query has no score at all. Which number could you subtract there in place of -inf?
    nothing_subtracted: You took the exponential of a maximum alone, and exp(1000) is too large for a float.
        Hint: Both maxima are only ever needed as a difference. From what?
    quotient_of_exponentials: You divided the exponentials of the maxima; each of them is too large (or
        0) for scores of ±1000.
        Hint: exp(a) / exp(b) can be written with a single exponential. How?
    minimum: You took the smaller of the two maxima.
        Hint: Which of them is the largest score of both parts together?
    one_maximum_for_all: You took one maximum over all queries; each query has its own.
        Hint: `np.max` makes one number of an array. Which function compares two arrays place by place?
    latest_maximum: The maximum of the second part was taken as it is, although the first may have a
        larger one.
        Hint: What is the largest score of both parts together?
    factors_on_the_columns: The factors have one number a query, and NumPy lined them up with the columns
        of out.
        Hint: out has shape (L_q, d_v). What shape must a factor have to multiply its *rows*?
    sum_and_out_exchanged: You return the out before the sum; it should be the sum before the out.
        Hint: In which order does the docstring list what is returned?
    sums_as_columns: Sum and max keep an axis of length 1 that helped with the outs; they are asked for
        as (L_q,).
        Hint: You need the factors as a column for out. Do the sums need it, too?
    maxima_added: You added the maxima. They are scores, not weights: the larger of the two is expected.
        Hint: What is the largest score of both parts together?
    factors_exchanged: The two factors have changed places: each part is rescaled by the other's.
        Hint: By what must part a be multiplied, so that it is as if the common maximum had been subtracted?
    maximum_of_the_first: You took the maximum of part a for that of both.
        Hint: Which is the largest score of both parts together, where part b has the larger one?
    both_brought_to_the_sum_of_the_maxima: You added the two maxima, and rescaled both parts to that sum;
        the larger of the two is expected.
        Hint: Which is the largest score of both parts together?
    logarithm_of_the_sum_for_the_maximum: As the maximum you return the maximum plus the logarithm of the
        sum: that is another way of keeping a part.
        Hint: What would a third part be compared with? Read in the docstring what `max` is.
""")
def merge_softmax_with_slips(slip, max_a, sum_a, out_a, max_b, sum_b, out_b):
    largest = slip.choose(
        np.maximum(max_a, max_b),
        minimum=np.minimum(max_a, max_b),
        one_maximum_for_all=np.full_like(max_a, max(max_a.max(), max_b.max())),
        latest_maximum=max_b,
        maximum_of_the_first=max_a,
        both_brought_to_the_sum_of_the_maxima=max_a + max_b,
    )
    shift = slip.choose(
        np.where(largest == -np.inf, 0, largest),
        nan_where_both_are_empty=largest,
        one_maximum_for_all=largest,
        nothing_subtracted=0,
    )
    a, b = np.exp(max_a - shift), np.exp(max_b - shift)
    if slip.quotient_of_exponentials:
        a, b = np.exp(max_a) / np.exp(largest), np.exp(max_b) / np.exp(largest)
    if slip.factor_upside_down:
        a, b = 1 / a, 1 / b
    if slip.factors_exchanged:
        a, b = b, a
    if slip.first_not_rescaled or slip.nothing_rescaled:
        a = np.ones_like(a)
    if slip.second_not_rescaled or slip.nothing_rescaled:
        b = np.ones_like(b)
    total = slip.choose(sum_a * a + sum_b * b, only_outs_rescaled=sum_a + sum_b)
    if slip.outs_times_sums:
        a, b = a * sum_a, b * sum_b
    if not slip.factors_on_the_columns:
        a, b = a[:, None], b[:, None]
    out = slip.choose(
        out_a * a + out_b * b,
        only_sums_rescaled=out_a + out_b,
        average_of_the_outs=(out_a + out_b) / 2,
    )
    if slip.divided_too_early:
        out = out / np.where(total == 0, 1, total)[:, None]
    if slip.sums_as_columns:
        largest, total = largest[:, None], total[:, None]
    if slip.sum_and_out_exchanged:
        total, out = out, total
    if slip.logarithm_of_the_sum_for_the_maximum:
        largest = largest + np.log(total)
    return slip.choose(largest, maxima_added=max_a + max_b), total, out


# Other right answers, which must pass.


@merge_softmax.variant
def where_on_the_factors(max_a, sum_a, out_a, max_b, sum_b, out_b):
    m = np.where(max_a > max_b, max_a, max_b)
    with np.errstate(invalid="ignore"):
        fa = np.where(np.isneginf(max_a), 0.0, np.exp(max_a - m)).reshape(-1, 1)
        fb = np.where(np.isneginf(max_b), 0.0, np.exp(max_b - m)).reshape(-1, 1)
    return m, fa[:, 0] * sum_a + fb[:, 0] * sum_b, fa * out_a + fb * out_b


@merge_softmax.variant
def query_by_query(max_a, sum_a, out_a, max_b, sum_b, out_b):
    largest, total, out = np.array(max_a), np.array(sum_a), np.array(out_a)
    for i in range(len(max_a)):
        if max_b[i] == -np.inf:
            continue
        if max_a[i] == -np.inf:
            largest[i], total[i], out[i] = max_b[i], sum_b[i], out_b[i]
            continue
        largest[i] = max(max_a[i], max_b[i])
        a, b = np.exp(max_a[i] - largest[i]), np.exp(max_b[i] - largest[i])
        total[i], out[i] = a * sum_a[i] + b * sum_b[i], a * out_a[i] + b * out_b[i]
    return largest, total, out


@merge_softmax.variant
def nan_to_number(max_a, sum_a, out_a, max_b, sum_b, out_b):
    m = np.maximum(max_a, max_b)
    a, b = (
        np.exp(np.nan_to_num(max_a - m, neginf=-np.inf)),
        np.exp(np.nan_to_num(max_b - m, neginf=-np.inf)),
    )
    return m, sum_a * a + sum_b * b, (out_a.T * a + out_b.T * b).T


@merge_softmax.variant
def stacked(max_a, sum_a, out_a, max_b, sum_b, out_b):
    tops = np.stack([max_a, max_b])
    top = tops.max(axis=0)
    scale = np.exp(tops - np.where(np.isfinite(top), top, 0))
    total = (scale * np.stack([sum_a, sum_b])).sum(axis=0)
    return [top, total, np.einsum("pq,pqd->qd", scale, np.stack([out_a, out_b]))]
