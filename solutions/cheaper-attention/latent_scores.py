"""The exercise `latent_scores`: scores against keys that are never made.

One case limits the memory. Its keys, 2000 of 2000 numbers, take 32 MB, 16 MB in float32: more than the 8 MB that the
grader's measure from outside allows above the limit.
"""

import numpy as np

from autograder.authoring import Exercise, inputs, sizes

latent_scores = Exercise("latent_scores", points=2)


def drawn(rng, L, r, d_k):
    return inputs(rng.normal(size=d_k), rng.normal(size=(r, d_k)) / r**0.5, rng.normal(size=(L, r)))


@latent_scores.domain(
    sizes={"L": (1, 60), "r": (1, 60), "d_k": (1, 60)},
    magnitudes=(1.0, 1000.0),
    dtypes=("float64", "float32"),
)
def anywhere(rng, L, r, d_k, magnitude):
    query, w_up, latents = drawn(rng, L, r, d_k).args
    return inputs(query, w_up, magnitude * latents)


@latent_scores.case("the notebook's example")
def example(rng):
    query, w_up = (
        np.array([1.0, 1.0, 0.0, 2.0]),
        np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0]]),
    )
    return inputs(query, w_up, np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))


@latent_scores.case("every size different")
def all_different(rng):
    L, r, d_k = sizes(rng, 3, low=3)
    return drawn(rng, L, r, d_k)


@latent_scores.case("latents with as many entries as the keys")
def square(rng):
    L, n = sizes(rng, 2, low=4)
    return drawn(rng, L, n, n)


@latent_scores.case("as many tokens as a latent has numbers")
def as_many_tokens(rng):
    n, d_k = sizes(rng, 2, low=4)
    return drawn(rng, n, n, d_k)


@latent_scores.case("as many tokens as a key has numbers")
def as_many_as_a_key(rng):
    n, r = sizes(rng, 2, low=4)
    return drawn(rng, n, r, n)


@latent_scores.case("a single token")
def one_token(rng):
    return drawn(rng, 1, *sizes(rng, 2, low=3))


@latent_scores.case("2000 tokens and keys of 2000 numbers, at most 2 MB", memory=2_000_000)
def many_wide_keys(rng):
    query, w_up, latents = drawn(rng, 20, 2, 20).args
    return inputs(np.tile(query, 100), np.tile(w_up, (1, 100)), np.tile(latents, (100, 1)))


@latent_scores.slips("""
    makes_the_keys: The keys were made: an array of L by d_k numbers, which is what the latents are there
        to avoid.
        Hint: In latents · w_up · query, which of the two products can be done first so that only r
        numbers arise?
    no_scale: The scores are not divided by √d_k.
        Hint: What does scaled dot-product attention do with the dot products?
    root_of_the_latent_size: You divided by √r, the size of a latent. These are dot products of queries
        and keys, of d_k numbers.
        Hint: How many numbers does the query have: d_k, or r?
    divides_by_d_k: You divided by d_k instead of by its square root.
        Hint: Compare your scale with the formula: is a root missing?
    root_of_the_number_of_tokens: You divided by the root of the number of tokens; it should be that of
        the size of one key.
        Hint: Which shape holds d_k: that of the query, or that of the latents?
    multiplied_by_the_root: You multiplied by √d_k; the scores are divided by it.
        Hint: Long vectors have large dot products. Should the scale make them larger or smaller?
    softmax_too: A softmax was taken as well; the scores themselves are asked for.
        Hint: What does the docstring return: scores or weights?
    goes_on_to_the_average: These are mixed latents, not scores: after the softmax you went on to the average.
        Hint: How many numbers are asked for: one for each token, or one for each place of a latent?
    mean_over_the_tokens: The dot products of the latents with the query were turned into one number: the
        mean over the tokens.
        Hint: How many scores should three tokens have?
    through_w_up_and_back: w_up was applied twice, to the query and back: the query returns to its own
        space before it meets the keys.
        Hint: After w_up @ query you have r numbers. With what can they be multiplied directly?
    pseudo_inverse: The pseudo-inverse of w_up was used. The query need not be reconstructed: transposing
        is enough.
        Hint: Write the score as a sum over d_k and r, and set the brackets differently. Does an inverse
        occur?
    cosines: The vectors were scaled to norm 1: these are cosines, not dot products.
        Hint: Does the formula divide by the norms of query and key, or only by √d_k?
    wrong_side_where_it_fits: The query was multiplied by w_up from the wrong side; where r and d_k are
        equal, no error tells you.
        Hint: (r, d_k) and (d_k,): which axis of w_up does the dot product run over?
    scaled_by_both_sizes: You divided by √r besides √d_k. There is one scale, that of the keys.
        Hint: Does the size of the latents occur in the formula?
    latents_left_out: This is the query in the space of the latents, divided; the product with the
        latents is missing.
        Hint: How many numbers are asked for, and how many have you got after w_up @ query?
    goes_on_to_an_average_of_keys: You went on to an average of keys; the scores are asked for, one for
        each token.
        Hint: What does the docstring return: scores or a context?
    extra_axis
    returns_nothing
""")
def latent_scores_with_slips(slip, query, w_up, latents):
    r, d_k = w_up.shape
    scale = slip.choose(
        d_k**0.5,
        no_scale=1,
        root_of_the_latent_size=r**0.5,
        divides_by_d_k=d_k,
        root_of_the_number_of_tokens=len(latents) ** 0.5,
        multiplied_by_the_root=d_k**-0.5,
        scaled_by_both_sizes=(d_k * r) ** 0.5,
    )
    folded = w_up @ query
    if slip.wrong_side_where_it_fits and r == d_k:
        folded = query @ w_up
    if slip.through_w_up_and_back:
        folded = w_up @ (w_up.T @ folded)
    if slip.cosines:
        lengths = np.linalg.norm(latents, axis=1) * np.linalg.norm(folded)
        scale = np.where(lengths == 0, 1, lengths)
    if slip.latents_left_out:
        return folded / scale
    if slip.makes_the_keys:
        return latents @ w_up @ query / scale
    if slip.pseudo_inverse:
        return latents @ np.linalg.pinv(w_up).T @ query / scale
    scores = latents @ folded / scale
    if slip.mean_over_the_tokens:
        return np.full(len(latents), scores.mean())
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    return slip.choose(
        scores,
        softmax_too=weights,
        goes_on_to_the_average=weights @ latents,
        goes_on_to_an_average_of_keys=weights @ latents @ w_up,
        extra_axis=scores[:, None],
        returns_nothing=None,
    )


@latent_scores.misconception(
    means="The query was multiplied by w_up from the wrong side; it fits only where r and d_k are equal.",
    nudge="(r, d_k) and (d_k,): which side of `@` must the query be on, so that r numbers remain?",
    raises=ValueError,
)
def query_from_the_wrong_side(query, w_up, latents):
    return latents @ (query @ w_up) / len(query) ** 0.5


@latent_scores.misconception(
    means="w_up is not used: the query is multiplied by the latents directly, which fits only where r and d_k are equal.",
    nudge="Query and latents live in spaces of different sizes. What leads from one to the other?",
    raises=ValueError,
)
def no_w_up(query, w_up, latents):
    return latents @ query / len(query) ** 0.5


@latent_scores.misconception(
    means="The latents are transposed: (r, L) does not fit a vector of r numbers.",
    nudge="There is one score for each token. Which axis of the latents must remain?",
    raises=ValueError,
)
def latents_transposed(query, w_up, latents):
    return latents.T @ (w_up @ query) / len(query) ** 0.5


# Other right answers, which must pass.


@latent_scores.variant
def from_the_left(query, w_up, latents):
    folded = query @ w_up.T
    return (folded @ latents.T) / query.shape[0] ** 0.5


@latent_scores.variant
def scaled_query(query, w_up, latents):
    query = query * query.shape[-1] ** -0.5
    return latents.dot(w_up.dot(query))


@latent_scores.variant
def in_a_sum(query, w_up, latents):
    folded = (w_up * query).sum(axis=1)
    return np.sum(latents * folded, axis=1) / len(query) ** 0.5


@latent_scores.variant
def with_einsum(query, w_up, latents):
    folded = np.einsum("rd,d->r", w_up, query)
    return np.einsum("lr,r->l", latents, folded) / w_up.shape[1] ** 0.5


@latent_scores.variant
def token_by_token(query, w_up, latents):
    folded = w_up @ query
    return np.array([latent @ folded / len(query) ** 0.5 for latent in latents])
