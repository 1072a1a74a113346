"""The exercise `sliding_window_mask`: the last few positions, and the first few."""

import numpy as np

from attention_labs.comparers import no_looking_ahead
from autograder.authoring import Exercise, inputs

sliding_window_mask = Exercise("sliding_window_mask", points=2, properties=[no_looking_ahead])


@sliding_window_mask.domain(sizes={"size": (1, 60), "window": (1, 60)}, flags={"sinks": (1, 0, 3, 60)})
def anywhere(rng, size, window, sinks):
    return inputs(size, window, sinks)


@sliding_window_mask.case("the notebook's table")
def example(rng):
    return inputs(6, 3, sinks=1)


@sliding_window_mask.case("no sinks")
def no_sinks(rng):
    return inputs(int(rng.integers(8, 12)), int(rng.integers(2, 5)))


@sliding_window_mask.case("a few sinks")
def some_sinks(rng):
    return inputs(int(rng.integers(10, 14)), int(rng.integers(2, 4)), sinks=int(rng.integers(2, 5)))


@sliding_window_mask.case("a window of one")
def window_of_one(rng):
    return inputs(int(rng.integers(5, 9)), 1)


@sliding_window_mask.case("a window of one, with sinks")
def window_of_one_and_sinks(rng):
    return inputs(int(rng.integers(6, 9)), 1, sinks=2)


@sliding_window_mask.case("a window larger than the text")
def large_window(rng):
    size = int(rng.integers(5, 8))
    return inputs(size, size + 3)


@sliding_window_mask.case("a longer text")
def longer(rng):
    return inputs(int(rng.integers(17, 24)), int(rng.integers(5, 8)), sinks=3)


def back(size):
    """Return the steps back from row i to column j, and the columns' numbers."""
    positions = np.arange(size)
    return positions[:, None] - positions, positions


@sliding_window_mask.misconception(
    means="Each position sees one too many: the window counts the position itself.",
    nudge="With a window of 1, whom does a position see? Is it `<` or `<=`?",
)
def one_too_many(size, window, sinks=0):
    return sliding_window_mask.reference(size, window + 1, sinks)


@sliding_window_mask.misconception(
    means="Each position sees one too few of those before it.",
    nudge="With a window of 3, a position sees itself and how many before?",
)
def one_too_few(size, window, sinks=0):
    return sliding_window_mask.reference(size, window - 1, sinks)


@sliding_window_mask.misconception(
    means="The window reaches forwards as well: positions see what comes after them.",
    nudge="This mask is causal. Which sign may the steps back have?",
)
def both_ways(size, window, sinks=0):
    steps, positions = back(size)
    return (np.abs(steps) < window) | ((positions < sinks) & (steps >= 0))


@sliding_window_mask.misconception(
    means="Each position sees itself and those after it, and not the past.",
    nudge="Rows are queries. Is `row - column` positive for the past or for the future?",
)
def forwards(size, window, sinks=0):
    steps, positions = back(size)
    return ((steps <= 0) & (steps > -window)) | ((positions < sinks) & (steps >= 0))


@sliding_window_mask.misconception(
    means="Early positions see sinks that still lie ahead of them.",
    nudge="Whom may the first position see? Does that hold for sinks, too?",
)
def sinks_ahead(size, window, sinks=0):
    steps, positions = back(size)
    return ((steps >= 0) & (steps < window)) | (positions < sinks)


@sliding_window_mask.misconception(
    means="Nothing but the future is hidden: the window makes no difference.",
    nudge="Where does your code use `window`?",
)
def window_ignored(size, window, sinks=0):
    return np.tri(size, dtype=bool)


@sliding_window_mask.misconception(
    means="The sinks make no difference.",
    nudge="Where does your code use `sinks`?",
)
def sinks_ignored(size, window, sinks=0):
    return sliding_window_mask.reference(size, window)


@sliding_window_mask.misconception(
    means="You took the last keys for the sinks; the first ones are kept.",
    nudge="Sinks are the words with which a text begins. Which columns are those?",
)
def sinks_among_the_last(size, window, sinks=0):
    steps, positions = back(size)
    return (steps >= 0) & ((steps < window) | (positions >= size - sinks))


@sliding_window_mask.misconception(
    means="The first queries see all of their past; it is the first keys that all may see.",
    nudge="Rows are queries, columns are keys. Did you open the first rows or the first columns?",
)
def sinks_as_rows(size, window, sinks=0):
    steps, positions = back(size)
    return (steps >= 0) & ((steps < window) | (positions[:, None] < sinks))


@sliding_window_mask.misconception(
    means="A key has to be in the window *and* among the sinks; one of the two is enough.",
    nudge="Is it `&` or `|` that joins the window and the sinks?",
)
def sinks_and_window(size, window, sinks=0):
    steps, positions = back(size)
    return (steps >= 0) & (steps < window) & (positions < sinks)


@sliding_window_mask.misconception(
    means="There is one sink too many.",
    nudge="With `sinks=1`, which columns are sinks? Is it `<` or `<=`?",
)
def one_sink_too_many(size, window, sinks=0):
    return sliding_window_mask.reference(size, window, sinks + 1)


@sliding_window_mask.misconception(
    means="With `sinks=0` your mask is wrong: the slices `-0:` and `:0` are not the same.",
    nudge="What does your slice take when `sinks` is 0?",
)
def all_sinks_where_none(size, window, sinks=0):
    return np.tri(size, dtype=bool) if sinks == 0 else sliding_window_mask.reference(size, window, sinks)


@sliding_window_mask.misconception(
    means="The *last* keys are open to all, not the first.",
    nudge="Where in the text are the sinks?",
)
def sinks_at_the_end(size, window, sinks=0):
    steps, positions = back(size)
    return ((steps >= 0) & (steps < window)) | (positions >= size - sinks)


@sliding_window_mask.misconception(
    means="The text is cut into pieces, and each position sees only its own piece.",
    nudge="The window moves along with the position. Whom does the first position of your second piece see?",
)
def pieces_not_windows(size, window, sinks=0):
    steps, positions = back(size)
    piece = positions // window
    return (steps >= 0) & ((piece[:, None] == piece) | (positions < sinks))


@sliding_window_mask.misconception(
    means="Your mask is inverted: it is True where attention is forbidden.",
    nudge="In this course True means “may attend”. Which operator turns every True into False?",
)
def inverted(size, window, sinks=0):
    return ~sliding_window_mask.reference(size, window, sinks)


@sliding_window_mask.misconception(
    means="This is the additive form (0 = keep, a large negative number = hide); booleans are asked for.",
    nudge="True where a position may attend, False where it may not: can a comparison give you that?",
)
def additive(size, window, sinks=0):
    return np.where(sliding_window_mask.reference(size, window, sinks), 0.0, -np.inf)


@sliding_window_mask.misconception(
    means="The future is hidden only where the window ends: what lies within it ahead is open near the sinks.",
    nudge="Put brackets around what is joined by `|` before you join it with `&`. Which one binds more tightly?",
)
def no_brackets(size, window, sinks=0):
    steps, positions = back(size)
    return (steps < window) | (positions < sinks) & (steps >= 0)


@sliding_window_mask.misconception(
    means="Where there are sinks, a key has to be in the window *and* among them; one of the two is enough.",
    nudge="Is it `&` or `|` that joins the window and the sinks?",
)
def sinks_and_window_where_there_are_sinks(size, window, sinks=0):
    steps, positions = back(size)
    near = (steps >= 0) & (steps < window)
    return near & (positions < sinks) if sinks else near


@sliding_window_mask.misconception(
    means="A position does not see itself: your window ends before it.",
    nudge="Where does the slice `[a : i]` end? Does it hold the position i?",
)
def does_not_see_itself(size, window, sinks=0):
    steps, positions = back(size)
    return ((steps > 0) & (steps < window)) | ((positions < sinks) & (steps >= 0))


@sliding_window_mask.misconception(
    means="Your window begins before the text for the first positions: a slice that begins below 0 counts from "
    "the end, and so they see too little.",
    nudge="Where does `row[-2:1]` begin? What is the smallest place that the slice may begin at?",
)
def begins_before_the_text(size, window, sinks=0):
    return sliced(size, window, sinks, 1)


@sliding_window_mask.combined_misconception(begins_before_the_text, does_not_see_itself)
def begins_before_the_text_without_itself(size, window, sinks=0):
    return sliced(size, window, sinks, 0)


def sliced(size, window, sinks, itself):
    mask = np.zeros((size, size), dtype=bool)
    for i in range(size):
        mask[i, i - window + 1 : i + itself] = True
        mask[i, : min(sinks, i + 1)] = True
    return mask


@sliding_window_mask.combined_misconception(both_ways, sinks_ahead)
def both_ways_with_sinks_ahead(size, window, sinks=0):
    steps, positions = back(size)
    return (np.abs(steps) < window) | (positions < sinks)


@sliding_window_mask.combined_misconception(one_too_many, sinks_ahead)
def one_too_many_with_sinks_ahead(size, window, sinks=0):
    return sinks_ahead(size, window + 1, sinks)


@sliding_window_mask.combined_misconception(one_too_few, sinks_ahead)
def one_too_few_with_sinks_ahead(size, window, sinks=0):
    return sinks_ahead(size, window - 1, sinks)


@sliding_window_mask.combined_misconception(one_too_many, sinks_ignored)
def one_too_many_without_sinks(size, window, sinks=0):
    return sliding_window_mask.reference(size, window + 1)


@sliding_window_mask.combined_misconception(both_ways, sinks_ignored)
def both_ways_without_sinks(size, window, sinks=0):
    return both_ways(size, window)


@sliding_window_mask.combined_misconception(one_too_many, one_sink_too_many)
def one_of_each_too_many(size, window, sinks=0):
    return sliding_window_mask.reference(size, window + 1, sinks + 1)


@sliding_window_mask.common_mistake
def numbers_not_booleans(size, window, sinks=0):
    return sliding_window_mask.reference(size, window, sinks).astype(float)


@sliding_window_mask.common_mistake
def returns_a_list(size, window, sinks=0):
    return sliding_window_mask.reference(size, window, sinks).tolist()


@sliding_window_mask.misconception(
    means="Your mask looks forwards: each position sees itself and what comes after it, and never the past.",
    nudge="Rows are queries. Is `row - column` positive for the past or for the future?",
)
def sees_only_what_comes(size, window, sinks=0):
    steps, positions = back(size)
    return (steps <= 0) & ((steps > -window) | (positions < sinks))


@sliding_window_mask.misconception(
    means="No position sees itself, the first not even anything: the diagonal is hidden.",
    nudge="May a word look at itself? Is it `<` or `<=` that compares columns with rows?",
)
def never_itself(size, window, sinks=0):
    steps, positions = back(size)
    return (steps > 0) & ((steps < window) | (positions < sinks))


@sliding_window_mask.misconception(
    means="You made the window smaller by the sinks; they are additional.",
    nudge="With a window of 3 and one sink, how many positions does the last row see?",
)
def sinks_taken_from_the_window(size, window, sinks=0):
    steps, positions = back(size)
    return (steps >= 0) & ((steps < window - sinks) | (positions < sinks))


@sliding_window_mask.variant
def two_triangles(size, window, sinks=0):
    past = np.tril(np.ones((size, size), dtype=bool))
    near = past & ~np.tril(np.ones((size, size), dtype=bool), k=-window)
    near[:, :sinks] = past[:, :sinks]
    return near


@sliding_window_mask.variant
def two_loops(size, window, sinks=0):
    mask = np.zeros((size, size), bool)
    for i in range(size):
        for j in range(i + 1):
            mask[i, j] = i - j < window or j < sinks
    return mask


@sliding_window_mask.variant
def slices(size, window, sinks=0):
    mask = np.full((size, size), False)
    for i in range(size):
        mask[i, max(0, i - window + 1) : i + 1] = True
        mask[i, : min(sinks, i + 1)] = True
    return mask


@sliding_window_mask.variant
def added_up(size, window, sinks=0):
    i, j = np.indices((size, size))
    return np.logical_and(j <= i, np.logical_or(j > i - window, j < sinks))
