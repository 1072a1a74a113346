"""The exercise `alignment`: a score for each word, from a network of two layers."""

from functools import wraps

import numpy as np

from autograder.authoring import Exercise

from ._shared import add_cases

alignment = Exercise("alignment", points=4)

add_cases(alignment)


# Right steps that the mistakes are made of.


def with_layers(function):
    """Fill in the notebook's layers where a case leaves them out."""

    @wraps(function)
    def complete(encoder_states, decoder_state, layer_1=None, layer_2=None):
        layer_1 = alignment.solution.layer_1 if layer_1 is None else layer_1
        layer_2 = alignment.solution.layer_2 if layer_2 is None else layer_2
        return function(encoder_states, decoder_state, layer_1, layer_2)

    return complete


def joined(encoder_states, decoder_state):
    return np.hstack([encoder_states, np.tile(decoder_state, (len(encoder_states), 1))])


def weights_of(*given):
    return alignment.solution.softmax(alignment.reference(*given))


# Mistakes in the scores.


@alignment.misconception(
    means="You did not use tanh: without it, two layers can do no more than one.",
    nudge="Which activation function follows the first layer?",
)
@with_layers
def no_tanh(encoder_states, decoder_state, layer_1, layer_2):
    return joined(encoder_states, decoder_state) @ layer_1 @ layer_2


@alignment.misconception(
    means="You used tanh twice: the second one squeezes every score between -1 and 1, "
    "so that no word can stand out.",
    nudge="After which of the two layers does the formula have its tanh?",
)
@with_layers
def tanh_twice(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(np.tanh(joined(encoder_states, decoder_state) @ layer_1) @ layer_2)


@alignment.misconception(
    means="You used tanh on the finished scores, after the second layer instead of after the first.",
    nudge="Read the formula from the inside out: what happens to the numbers before layer_2 sees them?",
)
@with_layers
def tanh_at_the_end(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(joined(encoder_states, decoder_state) @ layer_1 @ layer_2)


@alignment.misconception(
    means="You used tanh on the states, before the first layer instead of after it.",
    nudge="Read the formula from the inside out: which step comes first, the product or the tanh?",
)
@with_layers
def tanh_too_early(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(joined(encoder_states, decoder_state)) @ layer_1 @ layer_2


@alignment.misconception(
    means="You put the decoder state before the encoder state, so each half of layer_1 multiplies the wrong one.",
    nudge="In [h; s], which of the two comes first?",
)
@with_layers
def decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    repeated = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.hstack([repeated, encoder_states]) @ layer_1) @ layer_2


@alignment.misconception(
    means="You used a sigmoid, whose values lie between 0 and 1; those of tanh lie between -1 and 1.",
    nudge="What does NumPy call the hyperbolic tangent?",
)
@with_layers
def sigmoid_for_tanh(encoder_states, decoder_state, layer_1, layer_2):
    return 1 / (1 + np.exp(-joined(encoder_states, decoder_state) @ layer_1)) @ layer_2


@alignment.misconception(
    means="You cut the negative numbers off at 0 (that is a ReLU); tanh keeps their sign.",
    nudge="What does NumPy call the hyperbolic tangent?",
)
@with_layers
def relu_for_tanh(encoder_states, decoder_state, layer_1, layer_2):
    return np.maximum(joined(encoder_states, decoder_state) @ layer_1, 0) @ layer_2


@alignment.misconception(
    means="You went one step too far: these are the weights, after a softmax; the scores come before it.",
    nudge="What is `alignment` asked for, and which function turns that into weights?",
)
@with_layers
def weights_for_scores(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_1, layer_2)


@alignment.misconception(
    means="You stopped after the first layer: each word still has a whole row of numbers, not one score.",
    nudge="What has to happen to a row of activations so that one number comes out?",
)
@with_layers
def stops_after_layer_1(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(joined(encoder_states, decoder_state) @ layer_1)


@alignment.misconception(
    means="You added up the activations of each word, as if every number in layer_2 were 1.",
    nudge="Which matrix says how much each activation counts?",
)
@with_layers
def sums_the_activations(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(joined(encoder_states, decoder_state) @ layer_1).sum(axis=1, keepdims=True)


@alignment.misconception(
    means="You left the decoder state out, so each word gets the same score whatever is being written.",
    nudge="Two things are compared for each score: one is the word's state, and the other?",
)
@with_layers
def no_decoder_state(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(encoder_states @ layer_1[: encoder_states.shape[1]]) @ layer_2


@alignment.misconception(
    means="You joined the encoder states with themselves: the decoder state is not used.",
    nudge="Two things are compared for each score: one is the word's state, and the other?",
)
@with_layers
def encoder_twice(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(np.hstack([encoder_states, encoder_states]) @ layer_1) @ layer_2


@alignment.misconception(
    means="You repeated each number of the decoder state instead of the whole row: "
    "without an axis, `repeat` makes 1, 2 into 1, 1, 2, 2 and not into 1, 2, 1, 2.",
    nudge="Print your repeated decoder state: is each of its rows the decoder state?",
)
@with_layers
def repeats_each_number(encoder_states, decoder_state, layer_1, layer_2):
    repeated = decoder_state.repeat(len(encoder_states)).reshape(encoder_states.shape)
    return np.tanh(np.hstack([encoder_states, repeated]) @ layer_1) @ layer_2


@alignment.misconception(
    means="You joined the states below each other and then reshaped, so a row now holds two words "
    "instead of one word and the decoder state.",
    nudge="Along which axis must two matrices be joined so that their rows become longer?",
)
@with_layers
def joined_down_and_reshaped(encoder_states, decoder_state, layer_1, layer_2):
    below = np.vstack([encoder_states, np.tile(decoder_state, (len(encoder_states), 1))])
    return np.tanh(below.reshape(len(encoder_states), -1) @ layer_1) @ layer_2


@alignment.misconception(
    means="You compared the states by a dot product; that is dot-product attention, the subject of the next lab, "
    "and it leaves both layers unused.",
    nudge="Which two matrices does a score pass through in this lab?",
)
@with_layers
def dot_product_scores(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states @ decoder_state.T


@alignment.misconception(
    means="You used the notebook's two layers even where other layers were passed to your function.",
    nudge="Inside the function, where do layer_1 and layer_2 come from: its arguments, or the cell above it?",
)
def ignores_the_layers(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return alignment.reference(encoder_states, decoder_state)


@alignment.misconception(
    means="Your function works for a single word only: the decoder state is one row, "
    "and one row does not fit beside K rows.",
    nudge="How can every word get its own copy of the decoder state?",
)
@with_layers
def one_word_only(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(np.concatenate([encoder_states, decoder_state], axis=1) @ layer_1) @ layer_2


@alignment.misconception(
    means="Your function works for sentences of five words only: the 5 is written into it.",
    nudge="Which argument knows how many words there are, and where in its shape?",
)
@with_layers
def five_words_only(encoder_states, decoder_state, layer_1, layer_2):
    inputs = np.concatenate([encoder_states, decoder_state.repeat(5, axis=0)], axis=1)
    return np.tanh(inputs @ layer_1) @ layer_2


@alignment.misconception(
    means="You return the notebook's printed scores whatever comes in; the check asks for other states too.",
    nudge="Can you compute the scores from the arguments?",
)
def hard_coded(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return alignment.reference(alignment.solution.encoder_states, alignment.solution.decoder_state)


@alignment.misconception(
    means="The numbers are right, but they are in a row; a column of shape (K, 1) is expected.",
    nudge="Put the shapes under the last product, (K, a) and (a, 1): which shape comes out?",
)
@with_layers
def a_row_of_scores(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_1, layer_2).T


@alignment.common_mistake
@with_layers
def missing_axis(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_1, layer_2)[:, 0]


@alignment.common_mistake
@with_layers
def returns_a_list(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_1, layer_2).tolist()


@alignment.common_mistake
@with_layers
def lower_precision(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_1, layer_2).astype(np.float32)


@alignment.misconception(
    means="You exchanged the two layers: layer_2 takes the activations, and layer_1 the joined states.",
    nudge="Which matrix has 2n rows, one for each number of a joined row?",
    raises=ValueError,
)
@with_layers
def layers_exchanged(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh(joined(encoder_states, decoder_state) @ layer_2) @ layer_1


@alignment.misconception(
    means="You joined the states below each other, so the rows did not become longer.",
    nudge="Which `axis` of `np.concatenate` puts two matrices side by side?",
    raises=ValueError,
)
@with_layers
def joined_below_each_other(encoder_states, decoder_state, layer_1, layer_2):
    below = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.concatenate([encoder_states, below]) @ layer_1) @ layer_2


@alignment.misconception(
    means="You added the two states and used the upper half of layer_1 for the sum; the lower half is unused.",
    nudge="Each state is multiplied by its own half of layer_1. Which rows belong to the decoder state?",
)
@with_layers
def added_instead_of_joined(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh((encoder_states + decoder_state) @ layer_1[: encoder_states.shape[1]]) @ layer_2


@alignment.misconception(
    means="The last word still has the 0 that the array was filled with: your loop ends one word too early.",
    nudge="Which numbers does `range(n)` give, and which is the last?",
)
@with_layers
def last_word_left_out(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    scores[-1] = 0
    return scores


@alignment.misconception(
    means="Only the first word has its score: the `return` is inside the loop and ends it at once.",
    nudge="How far to the right should the line with `return` begin?",
)
@with_layers
def return_in_the_loop(encoder_states, decoder_state, layer_1, layer_2):
    scores = alignment.reference(encoder_states, decoder_state, layer_1, layer_2)
    scores[1:] = 0
    return scores


@alignment.misconception(
    means="Only the first word's score comes back; if you used a loop, its `return` is inside it.",
    nudge="How far to the right should the line with `return` begin?",
)
@with_layers
def first_word_only(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.reference(encoder_states, decoder_state, layer_1, layer_2)[:1]


@alignment.combined_misconception(no_tanh, decoder_first)
@with_layers
def no_tanh_and_decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    return joined(encoder_states, decoder_state)[:, _halves_exchanged(encoder_states)] @ layer_1 @ layer_2


@alignment.combined_misconception(relu_for_tanh, decoder_first)
@with_layers
def relu_and_decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    inputs = joined(encoder_states, decoder_state)[:, _halves_exchanged(encoder_states)]
    return np.maximum(inputs @ layer_1, 0) @ layer_2


@alignment.combined_misconception(no_tanh, a_row_of_scores)
@with_layers
def no_tanh_in_a_row(encoder_states, decoder_state, layer_1, layer_2):
    return (joined(encoder_states, decoder_state) @ layer_1 @ layer_2).T


@alignment.combined_misconception(tanh_too_early, decoder_first)
@with_layers
def tanh_too_early_and_decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    inputs = joined(encoder_states, decoder_state)[:, _halves_exchanged(encoder_states)]
    return np.tanh(inputs) @ layer_1 @ layer_2


@alignment.combined_misconception(tanh_at_the_end, decoder_first)
@with_layers
def tanh_at_the_end_and_decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    inputs = joined(encoder_states, decoder_state)[:, _halves_exchanged(encoder_states)]
    return np.tanh(inputs @ layer_1 @ layer_2)


@alignment.combined_misconception(sigmoid_for_tanh, decoder_first)
@with_layers
def sigmoid_and_decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    inputs = joined(encoder_states, decoder_state)[:, _halves_exchanged(encoder_states)]
    return 1 / (1 + np.exp(-inputs @ layer_1)) @ layer_2


@alignment.combined_misconception(no_tanh, no_decoder_state)
@with_layers
def no_tanh_and_no_decoder_state(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states @ layer_1[: encoder_states.shape[1]] @ layer_2


@alignment.combined_misconception(no_tanh, weights_for_scores)
@with_layers
def weights_without_tanh(encoder_states, decoder_state, layer_1, layer_2):
    return alignment.solution.softmax(no_tanh(encoder_states, decoder_state, layer_1, layer_2))


@alignment.combined_misconception(no_tanh, encoder_twice)
@with_layers
def no_tanh_of_the_encoder_twice(encoder_states, decoder_state, layer_1, layer_2):
    return np.hstack([encoder_states, encoder_states]) @ layer_1 @ layer_2


def _halves_exchanged(encoder_states):
    return np.roll(np.arange(2 * encoder_states.shape[1]), encoder_states.shape[1])


@alignment.misconception(
    means="You multiplied each word by the decoder state, number by number, and used the upper half of layer_1; "
    "they should be concatenated.",
    nudge="layer_1 has 2n rows. How long must a row be so that layer_1 can multiply it?",
)
@with_layers
def product_in_place_of_joining(encoder_states, decoder_state, layer_1, layer_2):
    return np.tanh((encoder_states * decoder_state) @ layer_1[: encoder_states.shape[1]]) @ layer_2


@alignment.misconception(
    means="You multiplied each word by the decoder state, number by number, and added both halves of layer_1.",
    nudge="Write down a joined row of two numbers and two numbers: which half of layer_1 multiplies which state?",
)
@with_layers
def product_times_both_halves(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    return np.tanh((encoder_states * decoder_state) @ (layer_1[:n] + layer_1[n:])) @ layer_2


@alignment.misconception(
    means="You added the two states and the two halves of layer_1 as well, so each half also multiplies the other state.",
    nudge="Multiply (a + b)(c + d) out. Which of the four products belong in the formula?",
)
@with_layers
def sum_times_both_halves(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    return np.tanh((encoder_states + decoder_state) @ (layer_1[:n] + layer_1[n:])) @ layer_2


@alignment.misconception(
    means="You used the tangent (tan); the formula has the hyperbolic tangent (tanh).",
    nudge="What is one letter more in NumPy's name for the hyperbolic tangent?",
)
@with_layers
def tan_for_tanh(encoder_states, decoder_state, layer_1, layer_2):
    return np.tan(joined(encoder_states, decoder_state) @ layer_1) @ layer_2


@alignment.misconception(
    means="Both states are multiplied by the lower half of layer_1; the upper half, which belongs to the words, is unused.",
    nudge="Which rows of layer_1 belong to the words: the first n, or the last n?",
)
@with_layers
def lower_half_for_both(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    return np.tanh((encoder_states + decoder_state) @ layer_1[n:]) @ layer_2


@alignment.misconception(
    means="You applied tanh to the part of each state separately and added the results; apply it to the sum.",
    nudge="What is inside the brackets of tanh in the formula: one product, or a sum of two?",
)
@with_layers
def tanh_of_each_half(encoder_states, decoder_state, layer_1, layer_2):
    n = encoder_states.shape[1]
    return (np.tanh(encoder_states @ layer_1[:n]) + np.tanh(decoder_state @ layer_1[n:])) @ layer_2


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
    return (2 * special.expit(2 * (encoder_states @ layer_1[:n] + decoder_state @ layer_1[n:])) - 1) @ layer_2


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
    return np.linalg.multi_dot([np.tanh(np.hstack([h, s.repeat(len(h), 0)]) @ first), second, np.eye(1)])


@alignment.variant
@with_layers
def other_names(states, query, layer_1, layer_2):
    return np.tanh(np.block([states, np.vstack([query] * len(states))]) @ layer_1) @ layer_2
