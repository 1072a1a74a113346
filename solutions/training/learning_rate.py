"""The exercise `learning_rate`: up in a straight line, down along half a cosine."""

import math

import numpy as np

from autograder.authoring import Exercise, inputs

learning_rate = Exercise("learning_rate", points=1)

WHERE = {
    "between": lambda rng, steps, warmup: int(rng.integers(warmup + 1, steps + 1)),
    "first": lambda rng, steps, warmup: 1,
    "rising": lambda rng, steps, warmup: int(rng.integers(1, warmup + 1)),
    "peak": lambda rng, steps, warmup: warmup,
    "just after": lambda rng, steps, warmup: warmup + 1,
    "last": lambda rng, steps, warmup: steps,
}


@learning_rate.domain(
    sizes={"warmup": (1, 60), "falling": (1, 300)},
    flags={"where": tuple(WHERE), "peak": (3e-3, 1.0), "final": (0.0, 1e-4)},
)
def anywhere(rng, warmup, falling, where, peak, final):
    steps = warmup + falling
    return inputs(WHERE[where](rng, steps, warmup), steps, warmup, peak, final)


@learning_rate.case("the notebook's example: step 5 of 10 on the way up, to 0.8")
def example_up(rng):
    return inputs(5, 110, 10, 0.8)


@learning_rate.case("the same, at the top")
def example_top(rng):
    return inputs(10, 110, 10, 0.8)


@learning_rate.case("the same, half of the way down")
def example_half(rng):
    return inputs(60, 110, 10, 0.8)


@learning_rate.case("a quarter of the way down, to 0.2")
def quarter(rng):
    return inputs(35, 110, 10, 1.0, final=0.2)


@learning_rate.case("the last step, down to 0.2")
def last(rng):
    return inputs(110, 110, 10, 1.0, final=0.2)


@learning_rate.case("on the way up, with a final rate above 0")
def rising(rng):
    return inputs(int(rng.integers(20, 35)), 600, 50, 0.003, final=0.0004)


@learning_rate.case("on the way down, with a final rate above 0")
def falling(rng):
    return inputs(int(rng.integers(150, 250)), 600, 50, 0.003, final=0.0004)


@learning_rate.case("near the end, down to 0")
def near_the_end(rng):
    return inputs(int(rng.integers(520, 580)), 600, 50, 0.003)


def done(step, steps, warmup):
    return (step - warmup) / (steps - warmup)


def down(share, peak, final):
    return final + (peak - final) * 0.5 * (1 + math.cos(math.pi * share))


def wrong(means, nudge):
    """Register a mistake on the way down: a function of (step, steps, warmup, peak, final)."""

    def register(falling):
        def mistaken(step, steps, warmup, peak, final=0.0):
            if step <= warmup:
                return peak * step / warmup
            return float(falling(step, steps, warmup, peak, final))

        mistaken.__name__ = falling.__name__
        learning_rate.misconception(means=means, nudge=nudge)(mistaken)
        return mistaken

    return register


# Up.


@learning_rate.misconception(
    means="The warm-up is missing: the rate is at its peak from the beginning.",
    nudge="What should the rate be at step 5 of a warm-up of 10?",
)
def no_warmup(step, steps, warmup, peak, final=0.0):
    return peak if step <= warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The cosine runs from the first step on, and there is no warm-up.",
    nudge="What should the rate be at step 5 of a warm-up of 10?",
)
def cosine_from_the_start(step, steps, warmup, peak, final=0.0):
    return down(step / steps, peak, final)


@learning_rate.misconception(
    means="The warm-up is missing: before its end the cosine is used, too, with a share below 0.",
    nudge="What should the rate be at step 5 of a warm-up of 10?",
)
def cosine_before_its_beginning(step, steps, warmup, peak, final=0.0):
    return down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up divides integers: `//` cuts off the decimals and leaves 0 until its end.",
    nudge="What is 5 // 10 in Python?",
)
def warmup_in_whole_numbers(step, steps, warmup, peak, final=0.0):
    return peak * (step // warmup) if step <= warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up counts steps from 0, so that the first one does nothing; `step` is 1 at the first step.",
    nudge="What is the rate at step 1, and at step `warmup`?",
)
def counted_from_0(step, steps, warmup, peak, final=0.0):
    return peak * (step - 1) / warmup if step <= warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up is one step too far: `step` is 1 at the first step already.",
    nudge="What is the rate at step 1, and at step `warmup`?",
)
def one_step_too_far(step, steps, warmup, peak, final=0.0):
    return peak * (step + 1) / warmup if step < warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up is divided by all steps, so that it never comes near the peak and then jumps.",
    nudge="After how many steps should the rate be at its peak?",
)
def warmup_over_all_steps(step, steps, warmup, peak, final=0.0):
    return peak * step / steps if step <= warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up starts from `final`; it starts from 0.",
    nudge="What is the rate after `warmup` / 2 steps, by the docstring?",
)
def warmup_from_final(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return final + (peak - final) * step / warmup
    return down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up rises along a cosine; it is a straight line.",
    nudge="How does the formula for the first `warmup` steps read?",
)
def warmup_along_a_cosine(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return peak * 0.5 * (1 - math.cos(math.pi * step / warmup))
    return down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="The warm-up is upside down: `warmup` is divided by `step`.",
    nudge="Should the rate grow or shrink during the warm-up?",
)
def warmup_upside_down(step, steps, warmup, peak, final=0.0):
    return peak * warmup / step if step <= warmup else down(done(step, steps, warmup), peak, final)


@learning_rate.misconception(
    means="Warm-up and cosine are multiplied all the way; the cosine begins at the end of the warm-up.",
    nudge="Where does the cosine begin: at step 0, or at step `warmup`?",
)
def both_at_once(step, steps, warmup, peak, final=0.0):
    return min(1.0, step / warmup) * down(step / steps, peak, final)


# Down.


@wrong(
    means="The cosine is counted from the first step; it begins where the warm-up ends, so that the rate jumps there.",
    nudge="Of how many steps, after the warm-up, is which one it?",
)
def counted_from_the_first_step(step, steps, warmup, peak, final):
    return down(step / steps, peak, final)


@wrong(
    means="After the warm-up there are `steps` − `warmup` steps left; you divided by `steps`, and never arrive.",
    nudge="Of how many steps, after the warm-up, is which one it?",
)
def divided_by_all_steps(step, steps, warmup, peak, final):
    return down((step - warmup) / steps, peak, final)


@wrong(
    means="You divided by `steps` − `warmup`, but did not subtract `warmup` from the step: it falls past the end.",
    nudge="Of how many steps, after the warm-up, is which one it?",
)
def warmup_not_subtracted_above(step, steps, warmup, peak, final):
    return down(step / (steps - warmup), peak, final)


@wrong(
    means="Your rate rises after the warm-up, and it should fall: a sign is wrong, or two numbers are exchanged.",
    nudge="What is cos 0, and what is cos π? At which step do you need each of them?",
)
def rises_again(step, steps, warmup, peak, final):
    return down(1 - done(step, steps, warmup), peak, final)


@wrong(
    means="The brackets around 1 + cos are missing, so only the 1 is multiplied.",
    nudge="Python multiplies before it adds. What must be added first?",
)
def brackets_missing(step, steps, warmup, peak, final):
    return final + (peak - final) * 0.5 + math.cos(math.pi * done(step, steps, warmup))


@learning_rate.misconception(
    means="You added 1 to the step and to the warm-up, as programs do that count the steps from 0; here the first "
    "step is step 1.",
    nudge="What should the rate be at step 5 of a warm-up of 10?",
)
def one_added_in_the_warmup(step, steps, warmup, peak, final=0.0):
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    return down(done(step, steps, warmup), peak, final)


@wrong(
    means="You used a whole period of the cosine; half a period is expected. Your rate rises again at the end.",
    nudge="What is the cosine of 2 π?",
)
def a_whole_wave(step, steps, warmup, peak, final):
    return down(2 * done(step, steps, warmup), peak, final)


@wrong(
    means="You used a quarter of a period (0 to π / 2); half a period is expected. Your rate falls steeply at the end.",
    nudge="How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?",
)
def a_quarter_of_a_wave(step, steps, warmup, peak, final):
    return final + (peak - final) * math.cos(math.pi / 2 * done(step, steps, warmup))


@wrong(
    means="The cosine is used as it is, between 1 and −1: the rate gets negative.",
    nudge="How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?",
)
def negative_rates(step, steps, warmup, peak, final):
    return final + (peak - final) * math.cos(math.pi * done(step, steps, warmup))


@wrong(
    means="The 1 is missing before the cosine: half a cosine alone lies between ½ and −½, and the rate gets negative.",
    nudge="How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?",
)
def no_one(step, steps, warmup, peak, final):
    return final + (peak - final) * 0.5 * math.cos(math.pi * done(step, steps, warmup))


@wrong(
    means="Brackets are missing round `peak` − `final`: only `final` is multiplied by the cosine.",
    nudge="In a - b * c, which comes first?",
)
def only_final_along_the_cosine(step, steps, warmup, peak, final):
    return final + peak - final * 0.5 * (1 + math.cos(math.pi * done(step, steps, warmup)))


@wrong(
    means="The ½ is missing: 1 + cos lies between 2 and 0.",
    nudge="What is the rate right after the warm-up?",
)
def no_half(step, steps, warmup, peak, final):
    return final + (peak - final) * (1 + math.cos(math.pi * done(step, steps, warmup)))


@wrong(
    means="π is missing in the cosine.",
    nudge="Which angle has the cosine −1?",
)
def no_pi(step, steps, warmup, peak, final):
    return down(done(step, steps, warmup) / math.pi, peak, final)


@wrong(
    means="Your angle is in degrees; `cos` expects radians.",
    nudge="Which angle has the cosine −1, for NumPy?",
)
def degrees(step, steps, warmup, peak, final):
    return down(180 * done(step, steps, warmup) / math.pi, peak, final)


@wrong(
    means="Your rate falls linearly; half a cosine is expected.",
    nudge="What is the rate a quarter of the way down?",
)
def straight_down(step, steps, warmup, peak, final):
    return final + (peak - final) * (1 - done(step, steps, warmup))


@wrong(
    means="After the warm-up the rate stays at its peak.", nudge="What should the rate be at the last step?"
)
def stays_at_the_peak(step, steps, warmup, peak, final):
    return peak


@wrong(
    means="After the warm-up the rate falls with the root of the step, as in the Transformer of 2017; here it is a cosine.",
    nudge="What should the rate be at the last step?",
)
def falls_with_the_root(step, steps, warmup, peak, final):
    return peak * (warmup / step) ** 0.5


@wrong(
    means="`final` makes no difference: the rate falls to 0.",
    nudge="What should the rate be at the last step?",
)
def final_ignored(step, steps, warmup, peak, final):
    return down(done(step, steps, warmup), peak, 0.0)


@wrong(
    means="`final` is added, so that the rate begins at peak + final; it falls from peak to final.",
    nudge="What is the rate right after the warm-up?",
)
def final_added(step, steps, warmup, peak, final):
    return final + down(done(step, steps, warmup), peak, 0.0)


@wrong(
    means="`final` only stops the fall; the curve itself should end at it.",
    nudge="What is the rate half of the way down, if it falls from 1 to 0.2?",
)
def final_as_a_floor(step, steps, warmup, peak, final):
    return max(final, down(done(step, steps, warmup), peak, 0.0))


@wrong(
    means="You took `final` for a share of the peak; it is a rate.",
    nudge="What should the rate be at the last step?",
)
def final_as_a_share(step, steps, warmup, peak, final):
    return peak * down(done(step, steps, warmup), 1.0, final)


@wrong(means="You used a sine; a cosine is expected.", nudge="Which of the two is 1 at 0 and −1 at π?")
def sine_for_cosine(step, steps, warmup, peak, final):
    return final + (peak - final) * 0.5 * (1 + math.sin(math.pi * done(step, steps, warmup)))


@learning_rate.misconception(
    means="You divide integers: `//` cuts off the decimals.",
    nudge="What is 5 // 10 in Python?",
)
def whole_numbers_divided(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return peak * (step // warmup)
    return down((step - warmup) // (steps - warmup), peak, final)


@learning_rate.misconception(
    means="You count all steps from 0; `step` is 1 at the first step.",
    nudge="What is the rate at step 1, and at step `warmup`?",
)
def all_counted_from_0(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return peak * (step - 1) / warmup
    return down(done(step - 1, steps, warmup), peak, final)


@learning_rate.combined_misconception(no_warmup, straight_down)
def no_warmup_straight(step, steps, warmup, peak, final=0.0):
    return peak if step <= warmup else final + (peak - final) * (1 - done(step, steps, warmup))


@learning_rate.combined_misconception(final_ignored, straight_down)
def final_ignored_straight(step, steps, warmup, peak, final=0.0):
    return peak * step / warmup if step <= warmup else peak * (1 - done(step, steps, warmup))


@learning_rate.combined_misconception(final_ignored, counted_from_the_first_step)
def final_ignored_from_the_first(step, steps, warmup, peak, final=0.0):
    return peak * step / warmup if step <= warmup else down(step / steps, peak, 0.0)


# Other right answers, which must pass.


@learning_rate.variant
def before_or_at_the_peak(step, steps, warmup, peak, final=0.0):
    if step < warmup:
        return step / warmup * peak
    wave = np.cos(np.pi * (step - warmup) / (steps - warmup))
    return (peak + final) / 2 + (peak - final) / 2 * wave


@learning_rate.variant
def in_one_line(step, steps, warmup, peak, final=0.0):
    t = np.clip((step - warmup) / (steps - warmup), 0, 1)
    return min(step / warmup, 1) * peak if t == 0 else peak + (final - peak) * np.sin(np.pi * t / 2) ** 2


@learning_rate.variant
def with_interpolation(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return float(np.interp(step, [0, warmup], [0.0, peak]))
    angle = np.interp(step, [warmup, steps], [0.0, np.pi])
    return float(final + (peak - final) * (1 + np.cos(angle)) / 2)
