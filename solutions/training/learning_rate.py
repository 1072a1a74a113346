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


@learning_rate.slips("""
    no_warmup: The warm-up is missing: the rate is at its peak from the beginning.
        Hint: What should the rate be at step 5 of a warm-up of 10?
    cosine_from_the_start: The cosine runs from the first step on, and there is no warm-up.
        Hint: What should the rate be at step 5 of a warm-up of 10?
    cosine_before_its_beginning: The warm-up is missing: before its end the cosine is used, too, with a
        share below 0.
        Hint: What should the rate be at step 5 of a warm-up of 10?
    warmup_in_whole_numbers: `//` cuts off the decimals, so the rate is 0 at every step of the
        warm-up but the last.
        Hint: What is 5 // 10 in Python?
    counted_from_0: The warm-up counts steps from 0, so that the first one does nothing; `step` is 1 at
        the first step.
        Hint: What is the rate at step 1, and at step `warmup`?
    one_step_too_far: The warm-up is one step too far: `step` is 1 at the first step already.
        Hint: What is the rate at step 1, and at step `warmup`?
    warmup_over_all_steps: The warm-up is divided by all steps, so that it never comes near the peak and
        then jumps.
        Hint: After how many steps should the rate be at its peak?
    warmup_from_final: The warm-up starts from `final`; it starts from 0.
        Hint: What is the rate after `warmup` / 2 steps, by the docstring?
    warmup_along_a_cosine: The warm-up rises along a cosine; it is a straight line.
        Hint: How does the formula for the first `warmup` steps read?
    warmup_upside_down: The warm-up is upside down: `warmup` is divided by `step`.
        Hint: Should the rate grow or shrink during the warm-up?
    both_at_once: Warm-up and cosine are multiplied all the way; the cosine begins at the end of the
        warm-up.
        Hint: Where does the cosine begin: at step 0, or at step `warmup`?
    counted_from_the_first_step: The cosine is counted from the first step; it begins where the warm-up
        ends, so that the rate jumps there.
        Hint: How many steps come after the warm-up, and which of them is this one?
    divided_by_all_steps: After the warm-up there are `steps` − `warmup` steps left; you divided by
        `steps`, and never arrive.
        Hint: How many steps come after the warm-up, and which of them is this one?
    warmup_not_subtracted_above: You divided by `steps` − `warmup`, but did not subtract `warmup` from
        the step: it falls past the end.
        Hint: How many steps come after the warm-up, and which of them is this one?
    rises_again: Your rate rises after the warm-up, and it should fall: a sign is wrong, or two numbers
        are exchanged.
        Hint: What is cos 0, and what is cos π? At which step do you need each of them?
    brackets_missing: The brackets around 1 + cos are missing, so only the 1 is multiplied.
        Hint: Python multiplies before it adds. What must be added first?
    one_added_in_the_warmup: You added 1 to the step and to the warm-up, as programs do that count the
        steps from 0; here the first step is step 1.
        Hint: What should the rate be at step 5 of a warm-up of 10?
    a_whole_wave: You used a whole period of the cosine; half a period is expected. Your rate rises again
        at the end.
        Hint: What is the cosine of 2 π?
    a_quarter_of_a_wave: You used a quarter of a period (0 to π / 2); half a period is expected. Your
        rate falls steeply at the end.
        Hint: How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?
    negative_rates: The cosine is used as it is, between 1 and −1: the rate gets negative.
        Hint: How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?
    no_one: The 1 is missing before the cosine: half a cosine alone lies between ½ and −½, and the rate
        gets negative.
        Hint: How does the formula bring a cosine between 1 and −1 into the range from 1 to 0?
    only_final_along_the_cosine: Brackets are missing round `peak` − `final`: only `final` is multiplied
        by the cosine.
        Hint: In a - b * c, which comes first?
    no_half: The ½ is missing: 1 + cos lies between 2 and 0.
        Hint: What is the rate right after the warm-up?
    no_pi: π is missing in the cosine. Hint: Which angle has the cosine −1?
    degrees: Your angle is in degrees; `cos` expects radians.
        Hint: Which angle has the cosine −1, for NumPy?
    straight_down: Your rate falls linearly; half a cosine is expected.
        Hint: What is the rate a quarter of the way down?
    stays_at_the_peak: After the warm-up the rate stays at its peak.
        Hint: What should the rate be at the last step?
    falls_with_the_root: After the warm-up the rate falls with the root of the step, as in the
        Transformer of 2017; here it is a cosine.
        Hint: What should the rate be at the last step?
    final_ignored: `final` makes no difference: the rate falls to 0.
        Hint: What should the rate be at the last step?
    final_added: Your rate falls from peak + final to final. It must fall from peak to final.
        Hint: What is the rate right after the warm-up?
    final_as_a_floor: `final` only stops the fall; the curve itself should end at it.
        Hint: What is the rate half of the way down, if it falls from 1 to 0.2?
    final_as_a_share: You took `final` for a share of the peak; it is a rate.
        Hint: What should the rate be at the last step?
    sine_for_cosine: You used a sine; a cosine is expected. Hint: Which of the two is 1 at 0 and −1 at π?
    whole_numbers_divided: You divide integers: `//` cuts off the decimals.
        Hint: What is 5 // 10 in Python?
    all_counted_from_0: You count all steps from 0; `step` is 1 at the first step.
        Hint: What is the rate at step 1, and at step `warmup`?
""")
def learning_rate_with_slips(slip, step, steps, warmup, peak, final=0.0):
    rising = step <= warmup
    if slip.one_step_too_far or slip.one_added_in_the_warmup:
        rising = step < warmup
    if slip.cosine_from_the_start or slip.cosine_before_its_beginning or slip.both_at_once:
        rising = False
    if rising:
        return slip.choose(
            peak * step / warmup,
            no_warmup=peak,
            warmup_in_whole_numbers=peak * (step // warmup),
            whole_numbers_divided=peak * (step // warmup),
            counted_from_0=peak * (step - 1) / warmup,
            all_counted_from_0=peak * (step - 1) / warmup,
            one_step_too_far=peak * (step + 1) / warmup,
            one_added_in_the_warmup=peak * (step + 1) / (warmup + 1),
            warmup_over_all_steps=peak * step / steps,
            warmup_from_final=final + (peak - final) * step / warmup,
            warmup_along_a_cosine=peak * 0.5 * (1 - math.cos(math.pi * step / warmup)),
            warmup_upside_down=peak * warmup / step,
        )
    if slip.all_counted_from_0:
        step -= 1
    share = slip.choose(
        (step - warmup) / (steps - warmup),
        cosine_from_the_start=step / steps,
        both_at_once=step / steps,
        counted_from_the_first_step=step / steps,
        divided_by_all_steps=(step - warmup) / steps,
        warmup_not_subtracted_above=step / (steps - warmup),
        whole_numbers_divided=(step - warmup) // (steps - warmup),
    )
    angle = slip.choose(
        math.pi * share,
        rises_again=math.pi * (1 - share),
        a_whole_wave=2 * math.pi * share,
        no_pi=share,
        degrees=180 * share,
    )
    wave = math.cos(angle)
    height = slip.choose(
        0.5 * (1 + wave),
        a_quarter_of_a_wave=math.cos(angle / 2),
        negative_rates=wave,
        no_one=0.5 * wave,
        no_half=1 + wave,
        straight_down=1 - share,
        sine_for_cosine=0.5 * (1 + math.sin(angle)),
    )
    end = slip.choose(final, final_ignored=0.0)
    rate = end + (peak - end) * height
    if slip.both_at_once:
        rate = min(1.0, step / warmup) * rate
    return slip.choose(
        rate,
        brackets_missing=final + (peak - final) * 0.5 + wave,
        only_final_along_the_cosine=final + peak - final * height,
        stays_at_the_peak=peak,
        falls_with_the_root=peak * (warmup / step) ** 0.5,
        final_added=final + peak * height,
        final_as_a_floor=max(final, peak * height),
        final_as_a_share=peak * (final + (1 - final) * height),
    )


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
    return (
        min(step / warmup, 1) * peak
        if t == 0
        else peak + (final - peak) * np.sin(np.pi * t / 2) ** 2
    )


@learning_rate.variant
def with_interpolation(step, steps, warmup, peak, final=0.0):
    if step <= warmup:
        return float(np.interp(step, [0, warmup], [0.0, peak]))
    angle = np.interp(step, [warmup, steps], [0.0, np.pi])
    return float(final + (peak - final) * (1 + np.cos(angle)) / 2)
