"""The exercise `masked_softmax`: hidden keys get no weight."""

import numpy as np

from attention_labs.comparers import no_negative_weight
from autograder.authoring import Exercise, inputs, sizes

from ._shared import K, Q, shape_of, some_allowed, some_lengths
from .padding_mask import padding_mask

masked_softmax = Exercise("masked_softmax", points=3, properties=[no_negative_weight])


@masked_softmax.domain(
    sizes={"batch": (1, 60), "L_q": (1, 60), "L_k": (1, 60)},
    flags={
        "axes": (3, 2, 4),
        "mask": (
            "(L_q, L_k)",
            None,
            "(batch, 1, L_k)",
            "(1, L_q, L_k)",
            "(batch, L_q, L_k)",
            "all hidden",
        ),
    },
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, batch, L_q, L_k, axes, mask, magnitude):
    shape = [2, batch, L_q, L_k][-axes:]
    scores = magnitude * rng.choice([-1.0, 1.0], size=shape) + rng.normal(size=shape)
    if mask == "all hidden":
        return inputs(scores, mask=np.zeros((L_q, L_k), dtype=bool))
    if mask is None:
        return inputs(scores)
    return inputs(
        scores, mask=rng.random(shape_of(mask, batch, L_q, L_k)) < 0.6
    )  # some rows see nothing


@masked_softmax.case("the notebook's example with its causal mask")
def notebook_scores(rng):
    return inputs(Q @ K.T / np.sqrt(3), mask=np.tri(2, dtype=bool))


@masked_softmax.case("no mask")
def no_mask(rng):
    return inputs(rng.normal(size=sizes(rng, 2, low=3)))


@masked_softmax.case("a mask of shape (L_q, L_k)")
def mask_of_a_matrix(rng):
    shape = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=shape), mask=some_allowed(rng, *shape))


@masked_softmax.case("a batch with a padding mask (batch, 1, L_k)")
def mask_of_a_batch(rng):
    batch, queries, keys = sizes(rng, 3, low=3)
    lengths = some_lengths(rng, batch, keys)
    return inputs(
        rng.normal(size=(batch, queries, keys)), mask=padding_mask.reference(lengths, keys)
    )


@masked_softmax.case("a batch with a causal mask (1, L, L)")
def mask_for_all(rng):
    batch, size = sizes(rng, 2, low=3)
    return inputs(rng.normal(size=(batch, size, size)), mask=np.tri(size, dtype=bool)[None])


@masked_softmax.case("rows with nothing to attend to")
def empty_rows(rng):
    queries, keys = sizes(rng, 2, low=4)
    mask = some_allowed(rng, queries, keys)
    mask[rng.permutation(queries)[:2]] = False
    return inputs(rng.normal(size=(queries, keys)), mask=mask)


@masked_softmax.case("a batch with an empty sentence")
def empty_sentence(rng):
    batch, queries, keys = sizes(rng, 3, low=3)
    lengths = some_lengths(rng, batch, keys)
    lengths[int(np.argmin(lengths))] = 0
    return inputs(
        rng.normal(size=(batch, queries, keys)), mask=padding_mask.reference(lengths, keys)
    )


@masked_softmax.case("scores of ±1000")
def large_scores(rng):
    keys = int(rng.integers(5, 9))
    scores, mask = rng.normal(size=(4, keys)), some_allowed(rng, 4, keys)
    scores[0] += np.where(mask[0], 0, 1000)  # a hidden key has the highest score
    scores[1] += 1000
    scores[2] -= 1000
    return inputs(scores, mask=mask)


@masked_softmax.case("float32")
def single_precision(rng):
    shape = sizes(rng, 2, low=4)
    return inputs(rng.normal(size=shape).astype(np.float32), mask=some_allowed(rng, *shape))


@masked_softmax.slips("""
    no_maximum: exp(1000) is too large for a float: it becomes inf, and inf / inf is NaN.
        Hint: Softmax stays the same if you subtract one number from a whole row. Which number is safe?
    overflow_turned_to_zero: `np.nan_to_num` also turned the NaN of an overflow into 0, so rows with
        large scores are lost.
        Hint: Which number can you subtract from a row before `np.exp`, so that nothing overflows?
    maximum_over_hidden_keys: You subtract the score of a hidden key. It may be so large that all
        visible exponentials become 0.
        Hint: Over which keys should the maximum be taken? Try to hide first, then look for it.
    nan_in_empty_rows: A row with nothing to attend to becomes NaN: -inf minus -inf, or 0 divided by 0,
        is not a number.
        Hint: Rows of -inf have the maximum -inf and the sum 0. What could you use instead of each?
    uniform_in_empty_rows: In a row without any visible key all scores are the same number, and
        softmax of equal scores gives equal weights.
        Hint: Such a row should hold zeros. What could you do with the weights of hidden keys at the end?
    minus_1e9_added: In a row with nothing to attend to, the hidden keys come back: you added -1e9 to
        every score of the row, and softmax ignores what is added to all scores.
        Hint: Such a row should hold zeros. What could you do with the weights of hidden keys at the end?
    ignores_the_mask: The mask makes no difference: hidden keys get weight like all the others.
        Hint: Where does your code use `mask`?
    inverted_mask: You kept what should be hidden and hid what should be kept: the mask is read the other
        way round.
        Hint: `np.where(mask, a, b)` takes a where mask is True. What does True mean in this lab?
    mask_after_softmax: You hid the keys after the softmax, so what is left of each row no longer sums to
        1.
        Hint: The weights of the visible keys should add up to 1. At which step must you remove the
        hidden ones?
    mask_by_multiplication: The hidden scores became 0, and exp(0) is 1: a score of 0 is an ordinary
        score.
        Hint: Which number must replace a hidden score so that its exponential is 0?
    mask_added_as_0_1: You added booleans to the scores: True counts as 1, so visible scores grow by
        1, and nothing is hidden.
        Hint: Only a mask in the additive form may be added. Which operation suits a boolean one?
    not_low_enough: The number for “hidden” is not low enough, so hidden keys keep some weight.
        Hint: Scores may be as low as -1000. Which number is lower than every score?
    mask_transposed: You exchanged the mask's last two axes, so it hides queries (rows) instead of keys
        (columns).
        Hint: The mask already has a row for each query and a column for each key. Does it need turning?
    first_mask_for_all: You used the first sentence's mask for the whole batch.
        Hint: Broadcasting already matches each mask with its sentence. Is there an index `[0]` too many?
    down_the_columns: Each key's weights sum to 1 over the queries: you normalised down the columns.
        Hint: The weights of each query add up to 1. Which axis are the keys?
    always_axis_1: You normalised along axis 1, which holds the keys of a matrix, but the queries of a
        batch.
        Hint: Counted from the end, the keys always lie on the same axis. Which one?
    over_everything: All the weights together add up to 1, instead of the weights of each row.
        Hint: What does `axis=-1` change in a sum, and what does `keepdims=True`?
    sum_without_keepdims: The sum over the last axis dropped that axis, so it no longer lines up with the
        rows.
        Hint: Which argument of `np.sum` keeps an axis of length 1?
    asks_if_mask: `if mask:` asks whether a whole array is true, and NumPy refuses to guess.
        Hint: You want to know whether a mask was given at all. How do you compare something with None?
    none_hides_everything: Without a mask everything came out hidden: `np.where(None, ...)` counts None
        as False.
        Hint: What should happen when `mask` is None? It deserves a line of its own.
    mask_of_the_same_shape_only: `scores[~mask] = …` works only if the mask has exactly the shape of the
        scores.
        Hint: Masks may have axes of length 1 that broadcast. Which NumPy function chooses between two
        values?
    hard_coded_weights: You return the notebook's own weights, whatever comes in.
        Hint: Where does your code use `scores`?
    maximum_of_everything: You subtracted the maximum of the whole array: a row that lies far below it
        becomes 0/0 or 0.
        Hint: Softmax is computed for each row separately. Which maximum should you subtract from a row?
    no_maximum_then_times_mask: exp(1000) is too large for a float: it becomes inf, and inf times 0 or
        inf / inf is NaN.
        Hint: Softmax stays the same if you subtract one number from a whole row. Which number is safe?
    adds_too_little: You added -10 to the hidden scores, which is not low enough: a little of them leaks
        through.
        Hint: A hidden score can be 2000 larger than a visible one. Which number is lower than every
        score?
    always_axis_0: You normalised along axis 0: down the columns of a matrix, and across the sentences of
        a batch.
        Hint: Counted from the end, the keys always lie on the same axis. Which one?
    always_causal: You hid the future whatever `mask` says: the mask that is passed to the function does
        not count.
        Hint: Where does your code use `mask`? Who decides what is hidden, this function or its caller?
    masked_before_and_after: You multiplied the scores by the mask before softmax, and the weights
        afterwards: hidden scores count as 0 when the maximum is taken, and next to a 0 visible scores
        near -1000 vanish.
        Hint: Which score has an exponential of 0, however low the others are?
    maximum_of_everything_and_zeros: You subtracted the maximum of the whole array: of a row that lies
        far below it every exponential becomes 0, and so does its weight.
        Hint: Softmax is computed for each row separately. Which maximum should you subtract from a row?
    lower_precision
    modifies_argument
    returns_a_list
    fixed_low_number_and_zeros: You hid scores by a fixed low number such as -1000 and set their weights
        to 0 afterwards. Next to scores as low as that, the hidden keys had got weight before, and the
        rest of the row no longer adds up to 1.
        Hint: Which number is lower than every score, however low that is?
    all_empty_where_one_is: Where one row has nothing to attend to, all the rows become zeros: decide
        this for each row separately.
        Hint: `all()` and `any()` without an axis ask the whole array. Along which axis does a row lie?
""")
def masked_softmax_with_slips(slip, scores, mask=None):
    if slip.hard_coded_weights:
        return np.array([[1.0, 0.0], [0.1503254518, 0.8496745482]])
    if slip.asks_if_mask and not mask:
        mask = None
    if slip.none_hides_everything and mask is None:
        mask = np.zeros(scores.shape, dtype=bool)
    if slip.always_causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if slip.ignores_the_mask:
        mask = None
    hidden = scores
    if mask is not None:
        mask = slip.choose(mask, inverted_mask=~mask, mask_transposed=np.swapaxes(mask, -1, -2))
        if slip.first_mask_for_all and mask.ndim > 2:
            mask = mask[0]
        low = slip.choose(
            -np.inf,
            uniform_in_empty_rows=-1e9,
            not_low_enough=-10.0,
            fixed_low_number_and_zeros=-1000.0,
        )
        hidden = slip.choose(
            np.where(mask, scores, low),
            mask_after_softmax=scores,
            no_maximum_then_times_mask=scores,
            mask_by_multiplication=scores * mask,
            masked_before_and_after=scores * mask,
            mask_added_as_0_1=scores + mask,
            minus_1e9_added=scores + ~mask * -1e9,
            adds_too_little=scores + np.where(mask, 0, -10.0),
        )
        if slip.mask_of_the_same_shape_only:
            hidden = scores.copy()
            hidden[~mask] = -np.inf
        if slip.modifies_argument:
            np.copyto(scores, -np.inf, where=~mask)
    axis = slip.choose(
        -1, down_the_columns=-2, always_axis_1=1, always_axis_0=0, over_everything=None
    )
    highest = hidden.max(axis=axis, keepdims=True)
    if slip.maximum_of_everything or slip.maximum_of_everything_and_zeros:
        highest = hidden.max(keepdims=True)
    if slip.maximum_over_hidden_keys:
        highest = scores.max(axis=-1, keepdims=True)
    if not (slip.nan_in_empty_rows or slip.maximum_of_everything or slip.over_everything):
        highest = np.where(np.isneginf(highest), 0, highest)
    if slip.no_maximum or slip.overflow_turned_to_zero or slip.no_maximum_then_times_mask:
        highest = 0
    weights = np.exp(hidden - highest)
    if slip.no_maximum_then_times_mask and mask is not None:
        weights = weights * mask
    total = weights.sum(axis=axis, keepdims=True)
    if not (slip.nan_in_empty_rows or slip.overflow_turned_to_zero):
        total = np.where(total == 0, 1, total)
    weights = weights / total
    if slip.sum_without_keepdims:
        weights = weights / weights.sum(axis=-1)
    if slip.overflow_turned_to_zero:
        weights = np.nan_to_num(weights)
    if mask is not None:
        if slip.mask_after_softmax or slip.fixed_low_number_and_zeros:
            weights = weights * mask
        if slip.masked_before_and_after:
            weights = weights * mask
            weights = weights / (weights.sum(axis=-1, keepdims=True) + 1e-13)
        if slip.all_empty_where_one_is and not mask.any(axis=-1).all():
            weights = np.zeros_like(weights)
    if slip.returns_a_list:
        return weights.tolist()
    return slip.choose(weights, lower_precision=weights.astype(np.float32))


# Other right answers, which must pass.


@masked_softmax.variant
def hidden_weights_put_back_to_zero(scores, mask=None):
    mask = np.broadcast_to(True if mask is None else mask, scores.shape)
    scores = np.where(mask, scores, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask
    return weights / np.maximum(weights.sum(-1, keepdims=True), np.finfo(scores.dtype).tiny)


@masked_softmax.variant
def scipy_and_zeros_for_nan(scores, mask=None):
    from scipy import special

    if mask is None:
        return special.softmax(scores, axis=-1)
    return np.nan_to_num(special.softmax(np.where(mask, scores, -np.inf), axis=-1))


@masked_softmax.variant
def log_sum_exp(scores, mask=None):
    from scipy import special

    hidden = scores if mask is None else np.where(mask, scores, -np.inf)
    total = special.logsumexp(hidden, axis=-1, keepdims=True)
    return np.where(
        np.isneginf(total), 0.0, np.exp(hidden - np.where(np.isneginf(total), 0, total))
    )


@masked_softmax.variant
def one_row_at_a_time(scores, mask=None):
    mask = np.ones_like(scores, dtype=bool) if mask is None else np.broadcast_to(mask, scores.shape)
    weights = np.zeros_like(scores)
    for place in np.ndindex(scores.shape[:-1]):
        seen = mask[place]
        if seen.any():
            e = np.exp(scores[place][seen] - scores[place][seen].max())
            weights[place][seen] = e / e.sum()
    return weights


@masked_softmax.variant
def maximum_over_the_visible(scores, mask=None):
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    lowest = np.finfo(scores.dtype).min
    top = np.max(scores, axis=-1, keepdims=True, where=mask, initial=lowest)
    e = np.zeros_like(scores)
    np.exp(scores - top, out=e, where=np.broadcast_to(mask, scores.shape))
    total = e.sum(axis=-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total != 0)


@masked_softmax.variant
def uniform_rows_emptied(scores, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    weights = np.exp(scores - scores.max(axis=-1)[..., None])
    weights = weights / weights.sum(axis=-1)[..., None]
    return weights if mask is None else np.where(np.any(mask, axis=-1, keepdims=True), weights, 0)


@masked_softmax.variant
def along_the_last_axis(scores, mask=None):
    def row(x):
        e = np.exp(x - (x.max() if np.isfinite(x).any() else 0))
        return e / (e.sum() or 1)

    hidden = scores.copy() if mask is None else np.where(mask, scores, -np.inf)
    return np.apply_along_axis(row, -1, hidden)


@masked_softmax.variant
def always_in_float64(scores, mask=None):
    scores = np.array(scores, dtype=np.float64)
    if mask is not None:
        scores[np.broadcast_to(~mask, scores.shape)] = -np.inf
    weights = np.exp(scores - np.nan_to_num(scores.max(-1, keepdims=True), neginf=0))
    total = weights.sum(-1, keepdims=True)
    total[total == 0] = 1
    return weights / total
