"""`call_student_function` in its own process is replaced; it can only send other wrong arrays."""

# %% padding-mask
import autograder.judging.call_answer


def call(function, given, call="function"):
    return autograder.judging.call_answer.Answer(np.ones((3, 1, 5), dtype=bool), "ndarray", "", ())


real_call, autograder.judging.call_answer.call_student_function = (
    autograder.judging.call_answer.call_student_function,
    call,
)


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% after test-padding-mask
autograder.judging.call_answer.call_student_function = real_call
