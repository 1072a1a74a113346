"""Inputs for both exercises of `additive-attention`: K words, hidden size n, attention size a."""

import numpy as np

from autograder.authoring import inputs, sizes


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


def add_cases(exercise):
    """Give an exercise the domain and the cases that both have."""

    @exercise.domain(
        sizes={"K": (1, 60), "n": (1, 60), "a": (1, 60)},
        dtypes=("float64", "float32"),
    )
    def anywhere(rng, K, n, a):
        given = layers(rng, n, a)
        given["layer_2"] *= 2 / np.sqrt(a)  # the scores do not grow with a
        return inputs(*states(rng, K, n), **given)

    @exercise.case("the notebook's sentence and layers")
    def published(rng):
        return inputs(exercise.solution.encoder_states, exercise.solution.decoder_state)

    @exercise.case("a shorter sentence, the notebook's layers")
    def shorter(rng):
        return inputs(*states(rng, int(rng.integers(3, 5)), 16))

    @exercise.case("the notebook's sizes, other layers")
    def other_layers(rng):
        return inputs(*states(rng, 5, 16), **layers(rng, 16, 10))

    @exercise.case("every size different")
    def other_sizes(rng):
        words, hidden, width = different(rng)
        return inputs(*states(rng, words, hidden), **layers(rng, hidden, width))

    @exercise.case("as many words as the hidden size")
    def square(rng):
        words, width = sizes(rng, 2, 3, 4)
        return inputs(*states(rng, words, words), **layers(rng, words, width))

    @exercise.case("a sentence of one word")
    def one_word(rng):
        _, hidden, width = different(rng)
        return inputs(*states(rng, 1, hidden), **layers(rng, hidden, width))

    @exercise.case("a long sentence, one state all zeros")
    def long_sentence(rng):
        words = int(rng.integers(20, 30))
        encoder_states, decoder_state = states(rng, words, 6)
        encoder_states[rng.integers(words)] = 0
        return inputs(encoder_states, decoder_state, **layers(rng, 6, 7))

    @exercise.case("numbers of type float32")
    def single_precision(rng):
        words, hidden, width = different(rng)
        encoder_states, decoder_state = (x.astype(np.float32) for x in states(rng, words, hidden))
        given = {
            name: layer.astype(np.float32) for name, layer in layers(rng, hidden, width).items()
        }
        return inputs(encoder_states, decoder_state, **given)
