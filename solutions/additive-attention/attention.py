"""The exercise `attention`: the states of the words, mixed by how much each matters now."""

import functools

import numpy as np

from autograder.authoring import Exercise

from ._shared import add_cases
from .alignment import (
    alignment,
    decoder_first,
    dot_product_scores,
    no_decoder_state,
    no_tanh,
    tanh_at_the_end,
    tanh_twice,
    weights_of,
    with_layers,
)
from .alignment import published as published_scores

attention = Exercise("attention", points=3, builds_on=[alignment])

add_cases(attention)


# Mistakes in the weights


@attention.misconception(
    means="Every weight was 1, so the states were simply added up. This is what you get without weights, "
    "or with a softmax along axis 1 of a (K, 1) column, where each row has only one number.",
    nudge="Print your weights: do they add up to 1 over the K words?",
)
@with_layers
def softmax_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return np.sum(encoder_states * weights, axis=0)


@attention.misconception(
    means="You took the plain mean of the states: every word counts the same, whatever its score.",
    nudge="Where do the scores enter your sum?",
)
def mean_of_the_states(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return encoder_states.mean(axis=0)


@attention.misconception(
    means="You multiplied the states by the raw scores; scores may be negative, and do not add up to 1.",
    nudge="Which given function turns scores into weights?",
)
@with_layers
def scores_for_weights(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * scores, axis=0)


@attention.misconception(
    means="You divided the scores by their sum, without the exponential: negative scores stay negative, "
    "and a sum near zero blows up.",
    nudge="What makes every number positive before softmax divides?",
)
@with_layers
def no_exponential(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * (scores / scores.sum()), axis=0)


@attention.misconception(
    means="You used the exponentials of the scores as weights, but did not divide them by their sum.",
    nudge="What should the weights of all words add up to?",
)
@with_layers
def not_normalised(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * np.exp(scores), axis=0)


@attention.misconception(
    means="You used softmax twice; the second time flattens the weights "
    "until all words count nearly the same.",
    nudge="What goes into softmax, and does it come out of a softmax already?",
)
@with_layers
def softmax_twice(encoder_states, decoder_state, layer_1, layer_2):
    weights = attention.solution.softmax(weights_of(encoder_states, decoder_state, layer_1, layer_2))
    return np.sum(encoder_states * weights, axis=0)


@attention.misconception(
    means="You kept the state of the best word only; attention mixes all the states, each by its weight.",
    nudge="What should a word with a weight of 0.3 contribute to the result?",
)
@with_layers
def best_word_only(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states[np.argmax(alignment.reference(encoder_states, decoder_state, layer_1, layer_2))]


@attention.misconception(
    means="You divided the scores by the root of the hidden size; that belongs to dot-product attention.",
    nudge="What does this lab's formula do between the scores and softmax?",
)
@with_layers
def scaled_scores(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    scores = scores / np.asarray(np.sqrt(encoder_states.shape[1]), scores.dtype)
    return np.sum(encoder_states * attention.solution.softmax(scores), axis=0)


# Mistakes in the sum


@attention.misconception(
    means="You added up along each word's state, so there is one number for each word; the sum should run over the words, "
    "and keep each of the n numbers of a state.",
    nudge="Which axis of (K, n) are the words, and which axis should remain?",
)
@with_layers
def sums_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    return np.sum(encoder_states * weights_of(encoder_states, decoder_state, layer_1, layer_2), axis=1)


@attention.misconception(
    means="You added up everything into a single number; the context is a vector as long as one state.",
    nudge="What does `axis` change in a sum, and which axis should disappear?",
)
@with_layers
def sums_everything(encoder_states, decoder_state, layer_1, layer_2):
    return np.array(np.sum(encoder_states * weights_of(encoder_states, decoder_state, layer_1, layer_2)))


@attention.misconception(
    means="You multiplied each state by its weight, but did not add the K rows up.",
    nudge="How do K weighted rows become one vector?",
)
@with_layers
def no_sum(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states * weights_of(encoder_states, decoder_state, layer_1, layer_2)


@attention.misconception(
    means="You took the mean of the weighted states, which divides once more by the number of words.",
    nudge="If the weights add up to 1 already, is there anything left to divide by?",
)
@with_layers
def mean_for_sum(encoder_states, decoder_state, layer_1, layer_2):
    return np.mean(encoder_states * weights_of(encoder_states, decoder_state, layer_1, layer_2), axis=0)


@attention.misconception(
    means="You stopped at the weights: one number for each word. The context is the average of the states "
    "with these weights.",
    nudge="What are the weights multiplied by?",
)
@with_layers
def weights_for_context(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_1, layer_2)


@attention.misconception(
    means="You got the decoder state back: you weighted the decoder state, "
    "and weights that add up to 1 leave it as it was.",
    nudge="Whose states does the context mix: those of the words read, or that of the word to be written?",
)
def mixes_the_decoder_state(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return decoder_state[0].copy()


@attention.misconception(
    means="You used softmax on the finished sum instead of on the scores.",
    nudge="The weights of the K words should add up to 1: at which step do you have one number for each word?",
)
@with_layers
def softmax_at_the_end(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return attention.solution.softmax(np.sum(encoder_states * scores, axis=0))


# Mistakes in what it is given, and in form


@attention.misconception(
    means="You did not use the layers that were passed to `attention`: your scores come from the notebook's.",
    nudge="Your function gets layer_1 and layer_2 as arguments: do you pass them on to `alignment`?",
)
def ignores_the_layers(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return attention.reference(encoder_states, decoder_state)


@attention.misconception(
    means="Your function goes through five words, however long the sentence is: the 5 is written into it.",
    nudge="Which argument knows how many words there are, and where in its shape?",
)
@with_layers
def five_words_only(encoder_states, decoder_state, layer_1, layer_2):
    weights = weights_of(encoder_states, decoder_state, layer_1, layer_2)
    context = np.zeros_like(encoder_states[0])
    for k in range(5):
        context = context + weights[k] * encoder_states[k]
    return context


@attention.misconception(
    means="You return the notebook's printed context whatever comes in; the check asks for other states too.",
    nudge="Can you compute the context from the arguments?",
)
def hard_coded(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return attention.reference(attention.solution.encoder_states, attention.solution.decoder_state)


@attention.misconception(
    means="The numbers are right, but they are in a column of shape (n, 1); a plain vector (n,) is expected.",
    nudge="Your weights are a column: what would a product or a sum give that has no second axis left?",
)
@with_layers
def a_column_for_a_vector(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states.T @ weights_of(encoder_states, decoder_state, layer_1, layer_2)


@attention.common_mistake
@with_layers
def extra_axis(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_1, layer_2).T @ encoder_states


@attention.common_mistake
@with_layers
def returns_a_list(encoder_states, decoder_state, layer_1, layer_2):
    return attention.reference(encoder_states, decoder_state, layer_1, layer_2).tolist()


@attention.common_mistake
@with_layers
def lower_precision(encoder_states, decoder_state, layer_1, layer_2):
    return attention.reference(encoder_states, decoder_state, layer_1, layer_2).astype(np.float32)


@attention.common_mistake
@with_layers
def modifies_argument(encoder_states, decoder_state, layer_1, layer_2):
    encoder_states *= weights_of(encoder_states, decoder_state, layer_1, layer_2)
    return encoder_states.sum(axis=0)


# Right from the scores on, but the scores are not


def _on_wrong_scores(mistake):
    def wrong(*given, **layers):
        scores = mistake(*given, **layers)
        return np.sum(given[0] * attention.solution.softmax(scores), axis=0)

    wrong.__name__ = f"alignment_{mistake.__name__}"
    return wrong


for _mistake, _what in [
    (no_tanh, "have not been through tanh"),
    (tanh_twice, "have been through tanh a second time"),
    (tanh_at_the_end, "have been through tanh after the second layer instead of after the first"),
    (decoder_first, "had the decoder state before the encoder state"),
    (no_decoder_state, "do not know the decoder state"),
    (dot_product_scores, "are dot products and pass through no layer"),
]:
    attention.misconception(
        means=f"The weights and the sum are right, but the scores they start from {_what}.",
        nudge="Does check(alignment) pass? Correct that first, and let `attention` call it.",
    )(_on_wrong_scores(_mistake))


@attention.misconception(
    means="Your weights are a column of shape (K, 1), and `@` would need a row of K numbers before the states.",
    nudge="What turns a column into a row, or into a plain vector?",
)
@with_layers
def column_before_the_states(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_1, layer_2) @ encoder_states


@attention.misconception(
    means="You passed the two layers to `alignment` in the wrong order.",
    nudge="What does the first line of `alignment` say about its third and fourth argument?",
    raises=ValueError,
)
@with_layers
def layers_exchanged(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_2, layer_1).T @ encoder_states


@attention.misconception(
    means="You passed the states to `alignment` in the wrong order: the words come first.",
    nudge="What does the first line of `alignment` say about its first two arguments?",
)
@with_layers
def states_exchanged(encoder_states, decoder_state, layer_1, layer_2):
    weights = weights_of(decoder_state, encoder_states, layer_1, layer_2)
    return np.sum(encoder_states * weights, axis=0)


@attention.misconception(
    means="You added the decoder state to the context; attention averages the encoder states only.",
    nudge="What does the formula add up, and is the decoder state among it?",
)
@with_layers
def adds_the_decoder_state(encoder_states, decoder_state, layer_1, layer_2):
    return attention.reference(encoder_states, decoder_state, layer_1, layer_2) + decoder_state[0]


@attention.misconception(
    means="Your weights lie in a plain vector (K,), and `*` lines it up with the n numbers of a state "
    "instead of with the K words.",
    nudge="Which shape must the weights have so that each row of (K, n) is multiplied by its own?",
)
@with_layers
def weights_along_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    return (weights_of(encoder_states, decoder_state, layer_1, layer_2)[:, 0] * encoder_states).sum(axis=0)


@attention.combined_misconception(scores_for_weights, sums_over_the_wrong_axis)
@with_layers
def scores_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * scores, axis=1)


@attention.combined_misconception(scores_for_weights, mean_for_sum)
@with_layers
def mean_with_scores(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.mean(encoder_states * scores, axis=0)


@attention.misconception(
    means="You added the decoder state up, once for each word: every weight was 1 (as from a softmax along "
    "axis 1 of a (K, 1) column), and they multiply the decoder state instead of the words' states.",
    nudge="Print your weights: do they add up to 1 over the K words? And whose states does the context mix?",
)
@with_layers
def decoder_state_with_weights_of_one(encoder_states, decoder_state, layer_1, layer_2):
    return len(encoder_states) * decoder_state[0]


@attention.combined_misconception(softmax_over_the_wrong_axis, sums_over_the_wrong_axis)
@with_layers
def weights_of_one_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states.sum(axis=1)


@attention.combined_misconception(not_normalised, sums_over_the_wrong_axis)
@with_layers
def exponentials_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * np.exp(scores), axis=1)


@attention.combined_misconception(not_normalised, mean_for_sum)
@with_layers
def mean_with_exponentials(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return np.mean(encoder_states * np.exp(scores), axis=0)


@attention.misconception(
    means="You multiplied the decoder state by the raw scores: the context mixes the words' states, each by "
    "its weight.",
    nudge="Which given function turns scores into weights? And whose states does the context mix?",
)
@with_layers
def decoder_state_times_the_scores(encoder_states, decoder_state, layer_1, layer_2):
    return np.sum(
        alignment.reference(encoder_states, decoder_state, layer_1, layer_2) * decoder_state, axis=0
    )


@attention.combined_misconception(scaled_scores, sums_over_the_wrong_axis)
@with_layers
def scaled_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    scores = scores / np.asarray(np.sqrt(encoder_states.shape[1]), scores.dtype)
    return np.sum(encoder_states * attention.solution.softmax(scores), axis=1)


@attention.combined_misconception(scaled_scores, mean_for_sum)
@with_layers
def mean_with_scaled_scores(encoder_states, decoder_state, layer_1, layer_2):
    return scaled_scores(encoder_states, decoder_state, layer_1, layer_2) / np.float32(len(encoder_states))


@attention.misconception(
    means="You divided the sizes of the scores, without their signs, by their sum: a very low score counts as "
    "much as a very high one.",
    nudge="What makes every number positive and keeps their order before softmax divides?",
)
@with_layers
def signs_dropped(encoder_states, decoder_state, layer_1, layer_2):
    sizes = np.abs(alignment.reference(encoder_states, decoder_state, layer_1, layer_2))
    return (sizes / sizes.sum() * encoder_states).sum(axis=0)


@attention.misconception(
    means="The sign of the scores is reversed: the word with the lowest score gets the largest weight.",
    nudge="Is there one minus sign too many before the scores?",
)
@with_layers
def worst_word_first(encoder_states, decoder_state, layer_1, layer_2):
    scores = -alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    return (attention.solution.softmax(scores) * encoder_states).sum(axis=0)


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
    weights = softmax(published_scores(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2))
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
