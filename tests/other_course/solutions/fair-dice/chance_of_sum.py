"""The exercise `chance_of_sum`: a number among the answers."""

from chance_tools.comparers import is_a_chance

from autograder.authoring import Exercise, inputs

chance_of_sum = Exercise("chance_of_sum", points=3, properties=[is_a_chance])


@chance_of_sum.domain(sizes={"total": (1, 13)})
def anywhere(rng, total):
    return inputs(total)


@chance_of_sum.case("seven, the likeliest")
def seven(rng):
    return inputs(7)


@chance_of_sum.case("some other sum")
def other(rng):
    return inputs(int(rng.choice([3, 4, 5, 9, 10, 11])))


@chance_of_sum.misconception(
    means="You took all sums for equally likely.",
    nudge="In how many ways do two dice make 2, and in how many 7?",
)
def sums_equally_likely(total):
    return 1 / 11 if 2 <= total <= 12 else 0.0


@chance_of_sum.misconception(
    means="You gave in how many ways the sum is made, not its chance.",
    nudge="Out of how many ways altogether?",
)
def ways_not_chance(total):
    return sum(a + b == total for a in range(1, 7) for b in range(1, 7))


@chance_of_sum.variant
def by_a_formula(total):
    return max(0, 6 - abs(total - 7)) / 36
