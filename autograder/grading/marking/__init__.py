"""One hand-in, from its bytes to its verdicts. With `autograder.judging` and the sandbox, all that decides them."""

from autograder.grading.marking.mark import NOT_RUN, Marked, faulty, mark, prepare, unmarkable

__all__ = ["NOT_RUN", "Marked", "faulty", "mark", "prepare", "unmarkable"]
