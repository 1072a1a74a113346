"""The exercises of the lab `additive-attention`."""

from functools import wraps

import numpy as np

from autograder.labs.exercise import Exercise, inputs, sizes
from autograder.labs.reference import Reference

solution = Reference("additive-attention")  # the solution notebook's functions and data, loaded lazily

alignment = Exercise("alignment", lab="additive-attention", points=4)
attention = Exercise("attention", lab="additive-attention", points=3, builds_on=["alignment"])


# The cases, the same for both exercises: K words, hidden size n, attention size a.


def states(rng, words, hidden):
    """Encoder states (K, n) and a decoder state (1, n)."""
    return rng.normal(size=(words, hidden)), rng.normal(size=(1, hidden))


def layers(rng, hidden, width):
    """Layers of shapes (2n, a) and (a, 1) that keep the scores moderate and tanh away from its ends."""
    return {
        "layer_1": rng.normal(size=(2 * hidden, width)) / np.sqrt(hidden),
        "layer_2": rng.normal(size=(width, 1)),
    }


def different(rng):
    """K, n and a: all different, none of them 2n, none of them the notebook's."""
    words, width = sizes(rng, 2, 7, 9)
    return words, int(rng.integers(2, 4)), width


@alignment.case("the notebook's sentence and layers")
@attention.case("the notebook's sentence and layers")
def published(rng):
    return inputs(solution.encoder_states, solution.decoder_state)


@alignment.case("a shorter sentence, the notebook's layers")
@attention.case("a shorter sentence, the notebook's layers")
def shorter(rng):
    return inputs(*states(rng, int(rng.integers(3, 5)), 16))


@alignment.case("the notebook's sizes, other layers")
@attention.case("the notebook's sizes, other layers")
def other_layers(rng):
    return inputs(*states(rng, 5, 16), **layers(rng, 16, 10))


@alignment.case("every size different")
@attention.case("every size different")
def other_sizes(rng):
    words, hidden, width = different(rng)
    return inputs(*states(rng, words, hidden), **layers(rng, hidden, width))


@alignment.case("as many words as the hidden size")
@attention.case("as many words as the hidden size")
def square(rng):
    words, width = sizes(rng, 2, 3, 4)
    return inputs(*states(rng, words, words), **layers(rng, words, width))


@alignment.case("a sentence of one word")
@attention.case("a sentence of one word")
def one_word(rng):
    _, hidden, width = different(rng)
    return inputs(*states(rng, 1, hidden), **layers(rng, hidden, width))


@alignment.case("a long sentence, one state all zeros")
@attention.case("a long sentence, one state all zeros")
def long_sentence(rng):
    words = int(rng.integers(20, 30))
    encoder_states, decoder_state = states(rng, words, 6)
    encoder_states[rng.integers(words)] = 0
    return inputs(encoder_states, decoder_state, **layers(rng, 6, 7))


@alignment.case("numbers of type float32")
@attention.case("numbers of type float32")
def single_precision(rng):
    words, hidden, width = different(rng)
    encoder_states, decoder_state = (x.astype(np.float32) for x in states(rng, words, hidden))
    given = {name: layer.astype(np.float32) for name, layer in layers(rng, hidden, width).items()}
    return inputs(encoder_states, decoder_state, **given)


# Right steps that the mistakes are made of.


def with_layers(function):
    """Fill in the notebook's layers where a case leaves them out."""

    @wraps(function)
    def wrong(encoder_states, decoder_state, layer_1=None, layer_2=None):
        layer_1 = solution.layer_1 if layer_1 is None else layer_1
        layer_2 = solution.layer_2 if layer_2 is None else layer_2
        return function(encoder_states, decoder_state, layer_1, layer_2)

    return wrong


def joined(encoder_states, decoder_state):
    return np.hstack([encoder_states, np.tile(decoder_state, (len(encoder_states), 1))])


def weights_of(*given):
    return solution.softmax(solution.alignment(*given))


# alignment: mistakes in the scores


@alignment.misconception(
    means="You did not use tanh: without it, two layers can do no more than one.",
    nudge="Which function bends the numbers that come out of the first layer?",
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
    means="You put the decoder state before the encoder state, so each half of layer_1 meets the wrong one.",
    nudge="In [h; s], which of the two stands first?",
)
@with_layers
def decoder_first(encoder_states, decoder_state, layer_1, layer_2):
    repeated = np.tile(decoder_state, (len(encoder_states), 1))
    return np.tanh(np.hstack([repeated, encoder_states]) @ layer_1) @ layer_2


@alignment.misconception(
    means="You bent the numbers with a sigmoid, which runs from 0 to 1; tanh runs from -1 to 1.",
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
    means="You joined the encoder states with themselves: the decoder state has no say.",
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
    means="You compared the states by a dot product; that is another kind of attention (the next lab's), "
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
    return solution.alignment(encoder_states, decoder_state)


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
    return solution.alignment(solution.encoder_states, solution.decoder_state)


@alignment.misconception(
    means="The numbers are right, but they lie in a row; a column is due, with one score below the other.",
    nudge="Put the shapes under the last product, (K, a) and (a, 1): which shape comes out?",
)
@with_layers
def a_row_of_scores(encoder_states, decoder_state, layer_1, layer_2):
    return solution.alignment(encoder_states, decoder_state, layer_1, layer_2).T


@alignment.structural
@with_layers
def missing_axis(encoder_states, decoder_state, layer_1, layer_2):
    return solution.alignment(encoder_states, decoder_state, layer_1, layer_2)[:, 0]


@alignment.structural
@with_layers
def returns_a_list(encoder_states, decoder_state, layer_1, layer_2):
    return solution.alignment(encoder_states, decoder_state, layer_1, layer_2).tolist()


@alignment.structural
@with_layers
def lower_precision(encoder_states, decoder_state, layer_1, layer_2):
    return solution.alignment(encoder_states, decoder_state, layer_1, layer_2).astype(np.float32)


# attention: mistakes in the weights


@attention.misconception(
    means="Every weight was 1, so the states were simply added up. This is what you get without weights, "
    "or with a softmax along axis 1 of a (K, 1) column, where each number stands alone.",
    nudge="Print your weights: do they add up to 1 over the K words?",
)
@with_layers
def softmax_over_the_wrong_axis(encoder_states, decoder_state, layer_1, layer_2):
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
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
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * scores, axis=0)


@attention.misconception(
    means="You divided the scores by their sum, without the exponential: negative scores stay negative, "
    "and a sum near zero blows up.",
    nudge="What makes every number positive before softmax divides?",
)
@with_layers
def no_exponential(encoder_states, decoder_state, layer_1, layer_2):
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * (scores / scores.sum()), axis=0)


@attention.misconception(
    means="You used the exponentials of the scores as weights, but did not divide them by their sum.",
    nudge="What should the weights of all words add up to?",
)
@with_layers
def not_normalised(encoder_states, decoder_state, layer_1, layer_2):
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
    return np.sum(encoder_states * np.exp(scores), axis=0)


@attention.misconception(
    means="You used softmax twice; the second time flattens the weights "
    "until all words count nearly the same.",
    nudge="What goes into softmax, and does it come out of a softmax already?",
)
@with_layers
def softmax_twice(encoder_states, decoder_state, layer_1, layer_2):
    weights = solution.softmax(weights_of(encoder_states, decoder_state, layer_1, layer_2))
    return np.sum(encoder_states * weights, axis=0)


@attention.misconception(
    means="You kept the state of the best word only; attention mixes all the states, each by its weight.",
    nudge="What should a word with a weight of 0.3 contribute to the result?",
)
@with_layers
def best_word_only(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states[np.argmax(solution.alignment(encoder_states, decoder_state, layer_1, layer_2))]


@attention.misconception(
    means="You divided the scores by the root of the hidden size; that belongs to dot-product attention.",
    nudge="What does this lab's formula do between the scores and softmax?",
)
@with_layers
def scaled_scores(encoder_states, decoder_state, layer_1, layer_2):
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
    scores = scores / np.asarray(np.sqrt(encoder_states.shape[1]), scores.dtype)
    return np.sum(encoder_states * solution.softmax(scores), axis=0)


# attention: mistakes in the sum


@attention.misconception(
    means="You added up along each word's state, so there is one number a word; the words should be mixed, "
    "and each of the n numbers of a state kept apart.",
    nudge="Along which axis do the words lie in (K, n), and which axis should be left?",
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
    means="You stopped at the weights: one number a word. The context mixes the states with them.",
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
    nudge="Softmax should share out 1 among the K words: at which step do you have one number a word?",
)
@with_layers
def softmax_at_the_end(encoder_states, decoder_state, layer_1, layer_2):
    scores = solution.alignment(encoder_states, decoder_state, layer_1, layer_2)
    return solution.softmax(np.sum(encoder_states * scores, axis=0))


# attention: mistakes in what it is given, and in form


@attention.misconception(
    means="You did not use the layers that were passed to `attention`: your scores come from the notebook's.",
    nudge="Your function gets layer_1 and layer_2 as arguments: does `alignment` hear of them?",
)
def ignores_the_layers_(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return solution.attention(encoder_states, decoder_state)


@attention.misconception(
    means="Your function goes through five words, however long the sentence is: the 5 is written into it.",
    nudge="Which argument knows how many words there are, and where in its shape?",
)
@with_layers
def five_words_only_(encoder_states, decoder_state, layer_1, layer_2):
    weights = weights_of(encoder_states, decoder_state, layer_1, layer_2)
    context = np.zeros_like(encoder_states[0])
    for k in range(5):
        context = context + weights[k] * encoder_states[k]
    return context


@attention.misconception(
    means="You return the notebook's printed context whatever comes in; the check asks for other states too.",
    nudge="Can you compute the context from the arguments?",
)
def hard_coded_(encoder_states, decoder_state, layer_1=None, layer_2=None):
    return solution.attention(solution.encoder_states, solution.decoder_state)


@attention.misconception(
    means="The numbers are right, but they stand in a column of shape (n, 1); a plain vector (n,) is due.",
    nudge="Your weights are a column: what would a product or a sum give that has no second axis left?",
)
@with_layers
def a_column_for_a_vector(encoder_states, decoder_state, layer_1, layer_2):
    return encoder_states.T @ weights_of(encoder_states, decoder_state, layer_1, layer_2)


@attention.structural
@with_layers
def extra_axis(encoder_states, decoder_state, layer_1, layer_2):
    return weights_of(encoder_states, decoder_state, layer_1, layer_2).T @ encoder_states


@attention.structural
@with_layers
def returns_a_list_(encoder_states, decoder_state, layer_1, layer_2):
    return solution.attention(encoder_states, decoder_state, layer_1, layer_2).tolist()


@attention.structural
@with_layers
def lower_precision_(encoder_states, decoder_state, layer_1, layer_2):
    return solution.attention(encoder_states, decoder_state, layer_1, layer_2).astype(np.float32)


@attention.structural
@with_layers
def modifies_argument(encoder_states, decoder_state, layer_1, layer_2):
    encoder_states *= weights_of(encoder_states, decoder_state, layer_1, layer_2)
    return encoder_states.sum(axis=0)


# attention: right from the scores on, but the scores are not


def _on_wrong_scores(mistake):
    def wrong(*given, **layers):
        scores = mistake(*given, **layers)
        return np.sum(given[0] * solution.softmax(scores), axis=0)

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
        nudge="Does check(alignment) pass? Put that right first, and let `attention` call it.",
    )(_on_wrong_scores(_mistake))
