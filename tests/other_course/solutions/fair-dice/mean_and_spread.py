"""The exercise `mean_and_spread`: a tuple among the answers."""

import numpy as np

from autograder.authoring import Exercise, inputs

mean_and_spread = Exercise("mean_and_spread", points=2)


@mean_and_spread.domain(sizes={"throws": (2, 60)})
def anywhere(rng, throws):
    return inputs(rng.integers(1, 7, size=throws))


@mean_and_spread.case("one and six")
def example(rng):
    return inputs(np.array([1, 6]))


@mean_and_spread.misconception(
    means="The spread came out as the variance: its root is missing.",
    nudge="In which unit is the spread, and in which is its square?",
)
def variance(throws):
    return float(np.mean(throws)), float(np.var(throws))


@mean_and_spread.misconception(
    means="The two numbers are exchanged.",
    nudge="Which does the docstring name first?",
)
def the_other_way_round(throws):
    return float(np.std(throws)), float(np.mean(throws))


@mean_and_spread.variant
def with_python_alone(throws):
    mean = sum(throws) / len(throws)
    return mean, (sum((t - mean) ** 2 for t in throws) / len(throws)) ** 0.5
