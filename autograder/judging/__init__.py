"""What decides a verdict: questions, answers, how they are compared, and what is said of the difference.

A change of anything in this folder makes kept verdicts stale; see `autograder.grading.register.evidence`.
"""

from autograder.judging import arrays, made, several, single  # noqa: F401 - each kind enrolls itself
