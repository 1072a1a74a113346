"""autograder.answer.ask in its own process is replaced; it can only send other wrong arrays."""

# %% padding-mask
import autograder.answer


def ask(function, given, call="function"):
    return autograder.answer.Answer(np.ones((3, 1, 5), dtype=bool), "ndarray", "", ())


real_ask, autograder.answer.ask = autograder.answer.ask, ask


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% after test-padding-mask
autograder.answer.ask = real_ask
