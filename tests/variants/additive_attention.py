"""Right answers of many kinds to the exercises of `additive-attention`: all must score full."""

import functools

import numpy as np
from scipy.special import expit, logsumexp
from scipy.special import softmax as scipy_softmax

VARIANTS = []  # (exercise, function)


def right(exercise):
    def register(function):
        VARIANTS.append((exercise, function))
        return function

    return register


# The notebook's data, drawn in its order.
_rng = np.random.RandomState(42)
encoder_states, decoder_state = _rng.randn(5, 16), _rng.randn(1, 16)
layer_1, layer_2 = _rng.randn(32, 10), _rng.randn(10, 1)


def softmax(x, axis=0):
    """The softmax that came with the original lab."""
    return np.exp(x) / np.expand_dims(np.sum(np.exp(x), axis=axis), axis)


# alignment


@right("alignment")
def alignment(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    """The published answer, its input_length taken from the shape."""
    input_length = encoder_states.shape[0]
    inputs = np.concatenate((encoder_states, decoder_state.repeat(input_length, axis=0)), axis=1)
    activations = np.tanh(np.matmul(inputs, layer_1))
    scores = np.matmul(activations, layer_2)
    return scores


@right("alignment")
def split_layer(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    n = encoder_states.shape[1]
    return np.tanh(encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]) @ layer_2


@right("alignment")
def half_and_half(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    for_words, for_decoder = np.split(layer_1, 2)
    return np.tanh(encoder_states.dot(for_words) + decoder_state.dot(for_decoder)).dot(layer_2)


@right("alignment")
def word_by_word(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = []
    for h in encoder_states:
        pair = np.append(h, decoder_state)
        scores.append(np.tanh(pair @ layer_1) @ layer_2)
    return np.array(scores)


@right("alignment")
def number_by_number(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = np.zeros((len(encoder_states), 1))
    for k, h in enumerate(encoder_states):
        pair = [*h, *decoder_state[0]]
        for j in range(layer_1.shape[1]):
            total = sum(p * w for p, w in zip(pair, layer_1[:, j], strict=True))
            scores[k, 0] += np.tanh(total) * layer_2[j, 0]
    return scores


@right("alignment")
def with_einsum(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    n = encoder_states.shape[-1]
    both = np.einsum("kn,na->ka", encoder_states, layer_1[:n]) + np.einsum(
        "in,na->a", decoder_state, layer_1[n:]
    )
    return np.einsum("ka,ai->ki", np.tanh(both), layer_2)


@right("alignment")
def tiled(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    below = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.hstack((encoder_states, below)) @ layer_1) @ layer_2


@right("alignment")
def broadcast_to(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    repeated = np.broadcast_to(decoder_state, encoder_states.shape)
    return np.dot(np.tanh(np.dot(np.c_[encoder_states, repeated], layer_1)), layer_2)


@right("alignment")
def ones_times_the_row(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    repeated = np.ones((encoder_states.shape[0], 1)) @ decoder_state
    return np.tanh(np.concatenate([encoder_states, repeated], axis=-1) @ layer_1) @ layer_2


@right("alignment")
def turned_about(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    columns = np.vstack([encoder_states.T, np.repeat(decoder_state.T, len(encoder_states), axis=1)])
    return (layer_2.T @ np.tanh(layer_1.T @ columns)).T


@right("alignment")
def filled_in(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    words, hidden = encoder_states.shape
    pairs = np.empty((words, 2 * hidden))
    pairs[:, :hidden] = encoder_states
    pairs[:, hidden:] = decoder_state
    return np.tanh(pairs @ layer_1) @ layer_2


@right("alignment")
def tanh_by_exponentials(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    n = encoder_states.shape[1]
    x = encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)) @ layer_2


@right("alignment")
def tanh_by_sigmoid(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    n = encoder_states.shape[1]
    return (2 * expit(2 * (encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:])) - 1) @ layer_2


@right("alignment")
def sum_of_products(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    pairs = np.concatenate([encoder_states, decoder_state + np.zeros_like(encoder_states)], axis=1)
    return (np.tanh(pairs @ layer_1) * layer_2.ravel()).sum(axis=1, keepdims=True)


@right("alignment")
def reshaped_at_the_end(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    pairs = [np.concatenate([h, decoder_state.ravel()]) for h in encoder_states]
    return np.reshape(np.tanh(np.array(pairs) @ layer_1) @ layer_2[:, 0], (-1, 1))


@right("alignment")
def along_the_rows(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    def score(h):
        return np.tanh(np.r_[h, decoder_state[0]] @ layer_1) @ layer_2

    return np.apply_along_axis(score, 1, encoder_states)


@right("alignment")
def in_double_precision(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    h, s, first, second = (
        np.asarray(x, np.float64) for x in (encoder_states, decoder_state, layer_1, layer_2)
    )
    return np.linalg.multi_dot([np.tanh(np.hstack([h, s.repeat(len(h), 0)]) @ first), second, np.eye(1)])


@right("alignment")
def other_names(states, query, layer_1=layer_1, layer_2=layer_2):
    return np.tanh(np.block([states, np.vstack([query] * len(states))]) @ layer_1) @ layer_2


# attention


@right("attention")
def attention(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    """The published answer, passing its layers on."""
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2)
    weights = softmax(scores)
    weighted_scores = encoder_states * weights
    context = np.sum(weighted_scores, axis=0)
    return context


@right("attention")
def one_product(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2))
    return (weights.T @ encoder_states)[0]


@right("attention")
def turned_product(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))
    return (encoder_states.T @ weights).squeeze(axis=-1)


@right("attention")
def plain_vector_of_weights(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2).ravel())
    return weights @ encoder_states


@right("attention")
def weighted_average(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2)
    return np.average(encoder_states, axis=0, weights=np.exp(scores[:, 0]))


@right("attention")
def sum_with_einsum(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))
    return np.einsum("ki,kn->n", weights, encoder_states)


@right("attention")
def sum_with_a_loop(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))
    context = np.zeros(encoder_states.shape[1])
    for weight, state in zip(weights, encoder_states, strict=True):
        context += weight * state
    return context


@right("attention")
def maximum_subtracted(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2)
    powers = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    return np.sum(encoder_states * (powers / powers.sum(axis=0, keepdims=True)), axis=0)


@right("attention")
def log_sum_exp(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2)
    return (np.exp(scores - logsumexp(scores)) * encoder_states).sum(axis=0)


@right("attention")
def softmax_of_scipy(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(scipy_softmax(scores, axis=0) * encoder_states, 0)


@right("attention")
def divides_at_the_end(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    powers = np.exp(alignment(encoder_states, decoder_state, layer_1, layer_2))
    return (encoder_states * powers).sum(axis=0) / powers.sum()


@right("attention")
def with_tensordot(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))[:, 0]
    return np.tensordot(weights, encoder_states, axes=1)


@right("attention")
def summed_by_reduce(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))
    return functools.reduce(np.add, (w * h for w, h in zip(weights, encoder_states, strict=True)))


@right("attention")
def all_in_one(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    n = encoder_states.shape[1]
    powers = np.exp(np.tanh(encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]) @ layer_2)
    return np.sum(powers / np.sum(powers) * encoder_states, axis=0)


@right("attention")
def column_of_column(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    weights = softmax(alignment(encoder_states, decoder_state, layer_1, layer_2))
    return np.array([np.dot(column, weights[:, 0]) for column in encoder_states.T])


@right("attention")
def with_longer_floats(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(encoder_states, decoder_state, layer_1, layer_2).astype(np.longdouble)
    weights = np.exp(scores) / np.exp(scores).sum()
    return np.asarray((weights * encoder_states).sum(axis=0), np.float64)


@right("attention")
def shifted_scores(states, query, layer_1=layer_1, layer_2=layer_2):
    scores = alignment(states, query, layer_1, layer_2)
    weights = softmax(scores - scores.mean())
    return np.multiply(weights, states).sum(axis=0)
