"""The exercise `attention`: the states of the words, mixed by how much each matters now."""

import functools

import numpy as np

from autograder.authoring import Exercise

from ._shared import add_cases
from .alignment import alignment, example, with_layers
from .alignment import published as published_scores

attention = Exercise("attention", points=3, builds_on=[alignment])

add_cases(attention)


@attention.slips("""
    softmax_over_the_wrong_axis: Every weight was 1, so the states were simply added up. This is what you
        get without weights, or with a softmax along axis 1 of a (K, 1) column, where each row has only
        one number.
        Hint: Print your weights: do they add up to 1 over the K words?
    mean_of_the_states: You took the plain mean of the states: every word counts the same, whatever its
        score.
        Hint: Where do the scores enter your sum?
    scores_for_weights: You multiplied the states by the raw scores; scores may be negative, and do not
        add up to 1.
        Hint: Which given function turns scores into weights?
    no_exponential: You divided the scores by their sum, without the exponential: negative scores stay
        negative, and a sum near zero blows up.
        Hint: What makes every number positive before softmax divides?
    not_normalised: You used the exponentials of the scores as weights, but did not divide them by their
        sum.
        Hint: What should the weights of all words add up to?
    softmax_twice: You used softmax twice; the second time flattens the weights until all words count
        nearly the same.
        Hint: What goes into softmax, and does it come out of a softmax already?
    best_word_only: You kept the state of the best word only; attention mixes all the states, each by its
        weight.
        Hint: What should a word with a weight of 0.3 contribute to the result?
    scaled_scores: You divided the scores by the root of the hidden size; that belongs to dot-product
        attention.
        Hint: What does this lab's formula do between the scores and softmax?
    sums_over_the_wrong_axis: You added up along each word's state, so there is one number for each word;
        the sum should run over the words, and keep each of the n numbers of a state.
        Hint: Which axis of (K, n) are the words, and which axis should remain?
    sums_everything: You added up everything into a single number; the context is a vector as long as one
        state.
        Hint: What does `axis` change in a sum, and which axis should disappear?
    no_sum: You multiplied each state by its weight, but did not add the K rows up.
        Hint: How do K weighted rows become one vector?
    mean_for_sum: You took the mean of the weighted states, which is the sum divided by the number
        of words; expected the sum.
        Hint: If the weights add up to 1 already, is there anything left to divide by?
    weights_for_context: You stopped at the weights: one number for each word. The context is the average
        of the states with these weights.
        Hint: What are the weights multiplied by?
    mixes_the_decoder_state: You got the decoder state back: you weighted the decoder state, and weights
        that add up to 1 leave it as it was.
        Hint: Whose states does the context mix: those of the words read, or that of the word to be
        written?
    softmax_at_the_end: You used softmax on the finished sum instead of on the scores.
        Hint: The weights of the K words should add up to 1: at which step do you have one number for
        each word?
    ignores_the_layers: You did not use the layers that were passed to `attention`: your scores come from
        the notebook's.
        Hint: Your function gets layer_1 and layer_2 as arguments: do you pass them on to `alignment`?
    five_words_only: Your function goes through five words, however long the sentence is: the 5 is
        written into it.
        Hint: Which argument knows how many words there are, and where in its shape?
    hard_coded: You return the notebook's printed context whatever comes in; the check asks for other
        states too.
        Hint: Can you compute the context from the arguments?
    a_column_for_a_vector: The numbers are right, but they are in a column of shape (n, 1); a plain
        vector (n,) is expected.
        Hint: Your weights are a column: what would a product or a sum give that has no second axis left?
    extra_axis
    returns_a_list
    lower_precision
    modifies_argument
    column_before_the_states: Your weights are a column of shape (K, 1), and `@` would need a row of K
        numbers before the states.
        Hint: What turns a column into a row, or into a plain vector?
    states_exchanged: You passed the states to `alignment` in the wrong order: the words come first.
        Hint: What does the first line of `alignment` say about its first two arguments?
    adds_the_decoder_state: You added the decoder state to the context; attention averages the encoder
        states only.
        Hint: What does the formula add up, and is the decoder state among it?
    weights_along_the_wrong_axis: Your weights lie in a plain vector (K,), and `*` lines it up with the n
        numbers of a state instead of with the K words.
        Hint: Which shape must the weights have so that each row of (K, n) is multiplied by its own?
    decoder_state_with_weights_of_one: You added the decoder state up, once for each word: every weight
        was 1 (as from a softmax along axis 1 of a (K, 1) column), and they multiply the decoder state
        instead of the words' states.
        Hint: Print your weights: do they add up to 1 over the K words? And whose states does the context
        mix?
    decoder_state_times_the_scores: You multiplied the decoder state by the raw scores: the context mixes
        the words' states, each by its weight.
        Hint: Which given function turns scores into weights? And whose states does the context mix?
    signs_dropped: You divided the sizes of the scores, without their signs, by their sum: a very low
        score counts as much as a very high one.
        Hint: What makes every number positive and keeps their order before softmax divides?
    worst_word_first: The sign of the scores is reversed: the word with the lowest score gets the largest
        weight.
        Hint: Is there one minus sign too many before the scores?
""")
def attention_with_slips(slip, encoder_states, decoder_state, layer_1=None, layer_2=None):
    if slip.hard_coded:
        encoder_states, decoder_state, layer_1, layer_2 = example()
    if layer_1 is None or slip.ignores_the_layers:
        _, _, layer_1, layer_2 = example()
    count, n = encoder_states.shape
    compared = [encoder_states, decoder_state]
    if slip.states_exchanged:
        compared.reverse()
    scores = alignment.reference(*compared, layer_1, layer_2)
    if slip.scaled_scores:
        scores = scores / np.asarray(np.sqrt(n), scores.dtype)
    if slip.worst_word_first:
        scores = -scores
    if slip.best_word_only:
        return encoder_states[scores.argmax()]
    weights = attention.solution.softmax(scores)
    sizes = np.abs(scores)
    weights = slip.choose(
        weights,
        softmax_over_the_wrong_axis=np.ones_like(scores),
        mean_of_the_states=np.full_like(scores, 1 / count),
        scores_for_weights=scores,
        no_exponential=scores / scores.sum(),
        not_normalised=np.exp(scores),
        softmax_twice=attention.solution.softmax(weights),
        softmax_at_the_end=scores,
        decoder_state_with_weights_of_one=np.ones_like(scores),
        decoder_state_times_the_scores=scores,
        signs_dropped=sizes / sizes.sum(),
    )
    if slip.weights_for_context:
        return weights
    if slip.column_before_the_states:
        return weights @ encoder_states
    if slip.weights_along_the_wrong_axis:
        weights = weights[:, 0]
    states = slip.choose(
        encoder_states,
        mixes_the_decoder_state=decoder_state,
        decoder_state_with_weights_of_one=decoder_state,
        decoder_state_times_the_scores=decoder_state,
    )
    if slip.five_words_only:
        weights, states = weights[np.arange(5)], states[np.arange(5)]
    weighted = weights * states
    if slip.no_sum:
        return weighted
    if slip.modifies_argument:
        encoder_states *= weights
    axis = slip.choose(0, sums_over_the_wrong_axis=1, sums_everything=None)
    context = np.asarray(weighted.sum(axis))
    if slip.mean_for_sum:
        context = weighted.mean(axis)
    if slip.softmax_at_the_end:
        context = attention.solution.softmax(context)
    if slip.adds_the_decoder_state:
        context = context + decoder_state[0]
    if slip.returns_a_list:
        return context.tolist()
    return slip.choose(
        context,
        a_column_for_a_vector=context[..., np.newaxis],
        extra_axis=context[np.newaxis],
        lower_precision=context.astype(np.float32),
    )


# Right from the scores on, but the scores are not.

_wrong_alignment = {mistake.name: mistake.function for mistake in alignment.misconceptions}


def _on_wrong_scores(name):
    def wrong(encoder_states, *given, **layers):
        scores = _wrong_alignment[name](encoder_states, *given, **layers)
        return np.sum(encoder_states * attention.solution.softmax(scores), axis=0)

    wrong.__name__ = f"alignment_{name}"
    return wrong


for _mistake, _what in [
    ("no-tanh", "have not been through tanh"),
    ("tanh-twice", "have been through tanh a second time"),
    ("tanh-at-the-end", "have been through tanh after the second layer instead of after the first"),
    ("decoder-first", "had the decoder state before the encoder state"),
    ("no-decoder-state", "do not know the decoder state"),
    ("dot-product-scores", "are dot products and pass through no layer"),
]:
    attention.misconception(
        means=f"The weights and the sum are right, but the scores they start from {_what}.",
        nudge="Does check(alignment) pass? Correct that first, and let `attention` call it.",
    )(_on_wrong_scores(_mistake))


@attention.misconception(
    means="You passed the two layers to `alignment` in the wrong order.",
    nudge="What does the first line of `alignment` say about its third and fourth argument?",
    raises=ValueError,
)
@with_layers
def layers_exchanged(encoder_states, decoder_state, layer_1, layer_2):
    return attention.reference(encoder_states, decoder_state, layer_2, layer_1)


# Other right answers, which must pass.


def softmax(x, axis=0):
    """The softmax that came with the original lab."""
    return np.exp(x) / np.expand_dims(np.sum(np.exp(x), axis=axis), axis)


@attention.variant
@with_layers
def published(encoder_states, decoder_state, layer_1, layer_2):
    """The published answer, passing its layers on."""
    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2)
    weights = softmax(scores)
    weighted_scores = encoder_states * weights
    context = np.sum(weighted_scores, axis=0)
    return context


@attention.variant
@with_layers
def one_product(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(
        published_scores(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2)
    )
    return (weights.T @ encoder_states)[0]


@attention.variant
@with_layers
def turned_product(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    return (encoder_states.T @ weights).squeeze(axis=-1)


@attention.variant
@with_layers
def plain_vector_of_weights(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2).ravel())
    return weights @ encoder_states


@attention.variant
@with_layers
def weighted_average(encoder_states, decoder_state, layer_1, layer_2):
    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2)
    return np.average(encoder_states, axis=0, weights=np.exp(scores[:, 0]))


@attention.variant
@with_layers
def sum_with_einsum(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    return np.einsum("ki,kn->n", weights, encoder_states)


@attention.variant
@with_layers
def sum_with_a_loop(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    context = np.zeros(encoder_states.shape[1])
    for weight, state in zip(weights, encoder_states, strict=True):
        context += weight * state
    return context


@attention.variant
@with_layers
def maximum_subtracted(encoder_states, decoder_state, layer_1, layer_2):
    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2)
    powers = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    return np.sum(encoder_states * (powers / powers.sum(axis=0, keepdims=True)), axis=0)


@attention.variant
@with_layers
def log_sum_exp(encoder_states, decoder_state, layer_1, layer_2):
    from scipy import special

    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2)
    return (np.exp(scores - special.logsumexp(scores)) * encoder_states).sum(axis=0)


@attention.variant
@with_layers
def softmax_of_scipy(encoder_states, decoder_state, layer_1, layer_2):
    from scipy import special

    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(special.softmax(scores, axis=0) * encoder_states, 0)


@attention.variant
@with_layers
def divides_at_the_end(encoder_states, decoder_state, layer_1, layer_2):
    powers = np.exp(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    return (encoder_states * powers).sum(axis=0) / powers.sum()


@attention.variant
@with_layers
def with_tensordot(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))[:, 0]
    return np.tensordot(weights, encoder_states, axes=1)


@attention.variant
@with_layers
def summed_by_reduce(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    return functools.reduce(np.add, (w * h for w, h in zip(weights, encoder_states, strict=True)))


@attention.variant
@with_layers
def all_in_one(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    powers = np.exp(np.tanh(encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]) @ layer_2)
    return np.sum(powers / np.sum(powers) * encoder_states, axis=0)


@attention.variant
@with_layers
def column_of_column(encoder_states, decoder_state, layer_1, layer_2):
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1, layer_2))
    return np.array([np.dot(column, weights[:, 0]) for column in encoder_states.T])


@attention.variant
@with_layers
def with_longer_floats(encoder_states, decoder_state, layer_1, layer_2):
    scores = published_scores(encoder_states, decoder_state, layer_1, layer_2).astype(np.longdouble)
    weights = np.exp(scores) / np.exp(scores).sum()
    return np.asarray((weights * encoder_states).sum(axis=0), np.float64)


@attention.variant
@with_layers
def shifted_scores(states, query, layer_1, layer_2):
    scores = published_scores(states, query, layer_1, layer_2)
    weights = softmax(scores - scores.mean())
    return np.multiply(weights, states).sum(axis=0)
