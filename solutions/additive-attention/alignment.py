"""The exercise `alignment`: a score for each word, from a network of two layers."""

from functools import wraps

import numpy as np

from autograder.authoring import Exercise

from ._shared import add_cases

alignment = Exercise("alignment", points=4)

add_cases(alignment)


def example():
    """Return the notebook's encoder states, decoder state and layers."""
    states = alignment.solution.encoder_states, alignment.solution.decoder_state
    return *states, alignment.solution.layer_1, alignment.solution.layer_2


def with_layers(function):
    """Fill in the notebook's layers where a case leaves them out."""

    @wraps(function)
    def complete(encoder_states, decoder_state, layer_1=None, layer_2=None):
        layer_1 = alignment.solution.layer_1 if layer_1 is None else layer_1
        layer_2 = alignment.solution.layer_2 if layer_2 is None else layer_2
        return function(encoder_states, decoder_state, layer_1, layer_2)

    return complete


@alignment.slips("""
    no_tanh: You did not use tanh: without it, two layers can do no more than one.
        Hint: Which activation function follows the first layer?
    tanh_twice: You used tanh twice: the second one puts every score between -1 and 1, so that all
        scores are nearly equal.
        Hint: After which of the two layers does the formula have its tanh?
    tanh_at_the_end: You used tanh on the finished scores, after the second layer instead of after the
        first.
        Hint: Read the formula from the inside out: what happens to the numbers before layer_2 sees them?
    tanh_too_early: You used tanh on the states, before the first layer instead of after it.
        Hint: Read the formula from the inside out: which step comes first, the product or the tanh?
    decoder_first: You put the decoder state before the encoder state, so each half of layer_1 multiplies
        the wrong one.
        Hint: In [h; s], which of the two comes first?
    sigmoid_for_tanh: You used a sigmoid, whose values lie between 0 and 1; those of tanh lie between -1
        and 1.
        Hint: What does NumPy call the hyperbolic tangent?
    relu_for_tanh: You replaced negative numbers by 0 (this is ReLU). Use tanh: with it, negative
        numbers stay negative.
        Hint: What does NumPy call the hyperbolic tangent?
    weights_for_scores: You went one step too far: these are the weights, after a softmax; the scores
        come before it.
        Hint: What is `alignment` asked for, and which function turns that into weights?
    stops_after_layer_1: You stopped after the first layer: each word still has a whole row of numbers,
        not one score.
        Hint: What has to happen to a row of activations so that one number comes out?
    sums_the_activations: You added up the activations of each word, as if every number in layer_2 were
        1.
        Hint: Which matrix says how much each activation counts?
    no_decoder_state: You left the decoder state out, so each word gets the same score whatever is being
        written.
        Hint: Two things are compared for each score: one is the word's state, and the other?
    encoder_twice: You joined the encoder states with themselves: the decoder state is not used.
        Hint: Two things are compared for each score: one is the word's state, and the other?
    repeats_each_number: You repeated each number of the decoder state instead of the whole row: without
        an axis, `repeat` makes 1, 2 into 1, 1, 2, 2 and not into 1, 2, 1, 2.
        Hint: Print your repeated decoder state: is each of its rows the decoder state?
    joined_down_and_reshaped: You joined the states below each other and then reshaped, so a row now
        holds two words instead of one word and the decoder state.
        Hint: Along which axis must two matrices be joined so that their rows become longer?
    dot_product_scores: You compared the states by a dot product; that is dot-product attention, the
        subject of the next lab, and it leaves both layers unused.
        Hint: Which two matrices does a score pass through in this lab?
    ignores_the_layers: You used the notebook's two layers even where other layers were passed to your
        function.
        Hint: Inside the function, where do layer_1 and layer_2 come from: its arguments, or the cell
        above it?
    one_word_only: Your function works for a single word only: the decoder state is one row, and one row
        does not fit beside K rows.
        Hint: How can every word get its own copy of the decoder state?
    five_words_only: Your function works for sentences of five words only: the 5 is written into it.
        Hint: Which argument knows how many words there are, and where in its shape?
    hard_coded: You return the notebook's printed scores whatever comes in; the check asks for other
        states too.
        Hint: Can you compute the scores from the arguments?
    a_row_of_scores: The numbers are right, but they are in a row; a column of shape (K, 1) is expected.
        Hint: Put the shapes under the last product, (K, a) and (a, 1): which shape comes out?
    missing_axis
    returns_a_list
    lower_precision
    added_instead_of_joined: You added the two states and used the upper half of layer_1 for the sum; the
        lower half is unused.
        Hint: Each state is multiplied by its own half of layer_1. Which rows belong to the decoder
        state?
    last_word_left_out: The last word still has the 0 that the array was filled with: your loop ends one
        word too early.
        Hint: Which numbers does `range(n)` give, and which is the last?
    return_in_the_loop: Only the first word has its score: the `return` is inside the loop and ends it at
        once.
        Hint: How far to the right should the line with `return` begin?
    first_word_only: Only the first word's score comes back; if you used a loop, its `return` is inside
        it.
        Hint: How far to the right should the line with `return` begin?
    product_in_place_of_joining: You multiplied each word by the decoder state, number by number, and
        used the upper half of layer_1; they should be concatenated.
        Hint: layer_1 has 2n rows. How long must a row be so that layer_1 can multiply it?
    product_times_both_halves: You multiplied each word by the decoder state, number by number, and added
        both halves of layer_1.
        Hint: Write down a joined row of two numbers and two numbers: which half of layer_1 multiplies
        which state?
    sum_times_both_halves: You added the two states and the two halves of layer_1 as well, so each half
        also multiplies the other state.
        Hint: Multiply (a + b)(c + d) out. Which of the four products belong in the formula?
    tan_for_tanh: You used the tangent (tan); the formula has the hyperbolic tangent (tanh).
        Hint: What is one letter more in NumPy's name for the hyperbolic tangent?
    lower_half_for_both: Both states are multiplied by the lower half of layer_1; the upper half, which
        belongs to the words, is unused.
        Hint: Which rows of layer_1 belong to the words: the first n, or the last n?
    scores_scaled: You divided the scores by √a, where a is `layer_1.shape[1]`. Do not divide here.
        Hint: Does the formula of the score have a fraction?
    tanh_of_each_half: You applied tanh to the part of each state separately and added the results; apply
        it to the sum.
        Hint: What is inside the brackets of tanh in the formula: one product, or a sum of two?
""")
def alignment_with_slips(slip, encoder_states, decoder_state, layer_1=None, layer_2=None):
    if slip.hard_coded:
        encoder_states, decoder_state, layer_1, layer_2 = example()
    if layer_1 is None or slip.ignores_the_layers:
        _, _, layer_1, layer_2 = example()
    count, n = encoder_states.shape
    repeated = np.tile(decoder_state, (slip.choose(count, one_word_only=1, five_words_only=5), 1))
    if slip.repeats_each_number:
        repeated = decoder_state.repeat(count).reshape(count, n)
    pair = [encoder_states, slip.choose(repeated, encoder_twice=encoder_states)]
    if slip.decoder_first:
        pair.reverse()
    axis = slip.choose(1, joined_down_and_reshaped=0)
    inputs = np.concatenate(pair, axis).reshape(count, 2 * n)
    added, multiplied = encoder_states + decoder_state, encoder_states * decoder_state
    inputs = slip.choose(
        inputs,
        no_decoder_state=encoder_states,
        added_instead_of_joined=added,
        lower_half_for_both=added,
        sum_times_both_halves=added,
        product_in_place_of_joining=multiplied,
        product_times_both_halves=multiplied,
    )
    upper, lower = layer_1[:n], layer_1[n:]
    layer_1 = slip.choose(
        layer_1,
        no_decoder_state=upper,
        added_instead_of_joined=upper,
        lower_half_for_both=lower,
        sum_times_both_halves=upper + lower,
        product_in_place_of_joining=upper,
        product_times_both_halves=upper + lower,
    )
    if slip.tanh_too_early:
        inputs = np.tanh(inputs)
    products = inputs @ layer_1
    activations = slip.choose(
        np.tanh(products),
        no_tanh=products,
        tanh_too_early=products,
        tanh_at_the_end=products,
        sigmoid_for_tanh=1 / (1 + np.exp(-products)),
        relu_for_tanh=np.maximum(products, 0),
        tan_for_tanh=np.tan(products),
        tanh_of_each_half=np.tanh(encoder_states @ upper) + np.tanh(decoder_state @ lower),
    )
    if slip.stops_after_layer_1:
        return activations
    scores = activations @ slip.choose(layer_2, sums_the_activations=np.ones_like(layer_2))
    if slip.dot_product_scores:
        scores = encoder_states @ decoder_state.T
    if slip.tanh_twice or slip.tanh_at_the_end:
        scores = np.tanh(scores)
    if slip.weights_for_scores:
        scores = alignment.solution.softmax(scores)
    if slip.scores_scaled:
        scores = scores / np.sqrt(layer_1.shape[1])
    if slip.last_word_left_out:
        scores[-1] = 0
    if slip.return_in_the_loop:
        scores[1:] = 0
    if slip.returns_a_list:
        return scores.tolist()
    return slip.choose(
        scores,
        first_word_only=scores[:1],
        a_row_of_scores=scores.T,
        missing_axis=scores[:, 0],
        lower_precision=scores.astype(np.float32),
    )


@alignment.misconception(
    means="You exchanged the two layers: layer_2 takes the activations, and layer_1 the joined states.",
    nudge="Which matrix has 2n rows, one for each number of a joined row?",
    raises=ValueError,
)
@with_layers
def layers_exchanged(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_2, layer_1)


@alignment.misconception(
    means="You joined the states below each other, so the rows did not become longer.",
    nudge="Which `axis` of `np.concatenate` puts two matrices side by side?",
    raises=ValueError,
)
@with_layers
def joined_below_each_other(encoder_states, decoder_state, layer_1, layer_2):
    below = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.concatenate([encoder_states, below]) @ layer_1) @ layer_2


# Other right answers, which must pass.


@alignment.variant
@with_layers
def published(encoder_states, decoder_state, layer_1, layer_2):
    """The published answer, its input_length taken from the shape."""
    input_length = encoder_states.shape[0]
    inputs = np.concatenate((encoder_states, decoder_state.repeat(input_length, axis=0)), axis=1)
    activations = np.tanh(np.matmul(inputs, layer_1))
    scores = np.matmul(activations, layer_2)
    return scores


@alignment.variant
@with_layers
def split_layer(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    return np.tanh(encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]) @ layer_2


@alignment.variant
@with_layers
def half_and_half(encoder_states, decoder_state, layer_1, layer_2):
    for_words, for_decoder = np.split(layer_1, 2)
    return np.tanh(encoder_states.dot(for_words) + decoder_state.dot(for_decoder)).dot(layer_2)


@alignment.variant
@with_layers
def word_by_word(encoder_states, decoder_state, layer_1, layer_2):
    scores = []
    for h in encoder_states:
        pair = np.append(h, decoder_state)
        scores.append(np.tanh(pair @ layer_1) @ layer_2)
    return np.array(scores)


@alignment.variant
@with_layers
def number_by_number(encoder_states, decoder_state, layer_1, layer_2):
    scores = np.zeros((len(encoder_states), 1))
    for k, h in enumerate(encoder_states):
        pair = [*h, *decoder_state[0]]
        for j in range(layer_1.shape[1]):
            total = sum(p * w for p, w in zip(pair, layer_1[:, j], strict=True))
            scores[k, 0] += np.tanh(total) * layer_2[j, 0]
    return scores


@alignment.variant
@with_layers
def with_einsum(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[-1]
    both = np.einsum("kn,na->ka", encoder_states, layer_1[:n]) + np.einsum(
        "in,na->a", decoder_state, layer_1[n:]
    )
    return np.einsum("ka,ai->ki", np.tanh(both), layer_2)


@alignment.variant
@with_layers
def tiled(encoder_states, decoder_state, layer_1, layer_2):
    below = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.hstack((encoder_states, below)) @ layer_1) @ layer_2


@alignment.variant
@with_layers
def broadcast_to(encoder_states, decoder_state, layer_1, layer_2):
    repeated = np.broadcast_to(decoder_state, encoder_states.shape)
    return np.dot(np.tanh(np.dot(np.c_[encoder_states, repeated], layer_1)), layer_2)


@alignment.variant
@with_layers
def ones_times_the_row(encoder_states, decoder_state, layer_1, layer_2):
    repeated = np.ones((encoder_states.shape[0], 1)) @ decoder_state
    return np.tanh(np.concatenate([encoder_states, repeated], axis=-1) @ layer_1) @ layer_2


@alignment.variant
@with_layers
def turned_about(encoder_states, decoder_state, layer_1, layer_2):
    columns = np.vstack([encoder_states.T, np.repeat(decoder_state.T, len(encoder_states), axis=1)])
    return (layer_2.T @ np.tanh(layer_1.T @ columns)).T


@alignment.variant
@with_layers
def filled_in(encoder_states, decoder_state, layer_1, layer_2):
    words, hidden = encoder_states.shape
    pairs = np.empty((words, 2 * hidden))
    pairs[:, :hidden] = encoder_states
    pairs[:, hidden:] = decoder_state
    return np.tanh(pairs @ layer_1) @ layer_2


@alignment.variant
@with_layers
def tanh_by_exponentials(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    x = encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:]
    return (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)) @ layer_2


@alignment.variant
@with_layers
def tanh_by_sigmoid(encoder_states, decoder_state, layer_1, layer_2):
    from scipy import special

    n = encoder_states.shape[1]
    return (
        2 * special.expit(2 * (encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:])) - 1
    ) @ layer_2


@alignment.variant
@with_layers
def sum_of_products(encoder_states, decoder_state, layer_1, layer_2):
    pairs = np.concatenate([encoder_states, decoder_state + np.zeros_like(encoder_states)], axis=1)
    return (np.tanh(pairs @ layer_1) * layer_2.ravel()).sum(axis=1, keepdims=True)


@alignment.variant
@with_layers
def reshaped_at_the_end(encoder_states, decoder_state, layer_1, layer_2):
    pairs = [np.concatenate([h, decoder_state.ravel()]) for h in encoder_states]
    return np.reshape(np.tanh(np.array(pairs) @ layer_1) @ layer_2[:, 0], (-1, 1))


@alignment.variant
@with_layers
def along_the_rows(encoder_states, decoder_state, layer_1, layer_2):
    def score(h):
        return np.tanh(np.r_[h, decoder_state[0]] @ layer_1) @ layer_2

    return np.apply_along_axis(score, 1, encoder_states)


@alignment.variant
@with_layers
def in_double_precision(encoder_states, decoder_state, layer_1, layer_2):
    h, s, first, second = (
        np.asarray(x, np.float64) for x in (encoder_states, decoder_state, layer_1, layer_2)
    )
    return np.linalg.multi_dot(
        [np.tanh(np.hstack([h, s.repeat(len(h), 0)]) @ first), second, np.eye(1)]
    )


@alignment.variant
@with_layers
def other_names(states, query, layer_1, layer_2):
    return np.tanh(np.block([states, np.vstack([query] * len(states))]) @ layer_1) @ layer_2
