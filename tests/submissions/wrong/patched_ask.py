"""autograder.judging.answer.ask in its own process is replaced; it can only send other wrong arrays."""

# %% padding-mask
import autograder.judging.answer


def ask(function, given, call="function"):
    return autograder.judging.answer.Answer(np.ones((3, 1, 5), dtype=bool), "ndarray", "", ())


real_ask, autograder.judging.answer.ask = autograder.judging.answer.ask, ask


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% after test-padding-mask
autograder.judging.answer.ask = real_ask
