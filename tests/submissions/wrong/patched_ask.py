"""`call_student_function` in its own process is replaced; it can only send other wrong arrays."""

# %% padding-mask
import autograder.judging.student_calls


def call(function, given, call="function"):
    return autograder.judging.student_calls.CallOutcome(
        np.ones((3, 1, 5), dtype=bool), "ndarray", "", ()
    )


real_call, autograder.judging.student_calls.call_student_function = (
    autograder.judging.student_calls.call_student_function,
    call,
)


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% after test-padding-mask
autograder.judging.student_calls.call_student_function = real_call
