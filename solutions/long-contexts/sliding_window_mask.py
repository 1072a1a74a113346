"""The exercise `sliding_window_mask`: the last few positions, and the first few."""

import numpy as np

from attention_labs.comparers import no_looking_ahead
from autograder.authoring import Exercise, inputs

sliding_window_mask = Exercise("sliding_window_mask", points=2, properties=[no_looking_ahead])


@sliding_window_mask.domain(
    sizes={"size": (1, 60), "window": (1, 60)}, flags={"sinks": (1, 0, 3, 60)}
)
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


@sliding_window_mask.slips("""
    one_too_many: Each position sees one too many: the window counts the position itself.
        Hint: With a window of 1, whom does a position see? Is it `<` or `<=`?
    one_too_few: Each position sees one too few of those before it.
        Hint: With a window of 3, a position sees itself and how many before?
    both_ways: The window reaches forwards as well: positions see what comes after them.
        Hint: This mask is causal. Which sign may the steps back have?
    forwards: Each position sees itself and those after it, and not the past.
        Hint: Rows are queries. Is `row - column` positive for the past or for the future?
    sinks_ahead: Early positions see sinks that still lie ahead of them.
        Hint: Whom may the first position see? Does that hold for sinks, too?
    window_ignored: Nothing but the future is hidden: the window makes no difference.
        Hint: Where does your code use `window`?
    sinks_ignored: The sinks make no difference. Hint: Where does your code use `sinks`?
    sinks_among_the_last: You took the last keys for the sinks; the first ones are kept.
        Hint: Sinks are the words with which a text begins. Which columns are those?
    sinks_as_rows: You used the row number for the sinks. Sinks are keys, so use the column number.
        Hint: Rows are queries, columns are keys. Did you open the first rows or the first columns?
    sinks_and_window: A key has to be in the window *and* among the sinks; one of the two is enough.
        Hint: Is it `&` or `|` that joins the window and the sinks?
    one_sink_too_many: There is one sink too many.
        Hint: With `sinks=1`, which columns are sinks? Is it `<` or `<=`?
    all_sinks_where_none: With `sinks=0` your mask is wrong: the slices `-0:` and `:0` are not the same.
        Hint: What does your slice take when `sinks` is 0?
    sinks_at_the_end: The *last* keys are open to all, not the first.
        Hint: Where in the text are the sinks?
    pieces_not_windows: The text is cut into pieces, and each position sees only its own piece.
        Hint: The window moves along with the position. Whom does the first position of your second piece see?
    inverted: Your mask is inverted: it is True where attention is forbidden.
        Hint: In this course True means “may attend”. Which operator turns every True into False?
    additive: This is the additive form (0 = keep, a large negative number = hide); booleans are asked for.
        Hint: True where a position may attend, False where it may not: can a comparison give you that?
    no_brackets: The future is hidden only where the window ends: what lies within it ahead is open near
        the sinks.
        Hint: Put brackets around what is joined by `|` before you join it with `&`. Which one binds more
        tightly?
    sinks_and_window_where_there_are_sinks: Where there are sinks, a key has to be in the window *and*
        among them; one of the two is enough.
        Hint: Is it `&` or `|` that joins the window and the sinks?
    does_not_see_itself: A position does not see itself: your window ends before it.
        Hint: Where does the slice `[a : i]` end? Does it hold the position i?
    begins_before_the_text: For the first positions your slice begins below 0. NumPy counts that
        from the end, so they see too little.
        Hint: Where does `row[-2:1]` begin? What is the smallest place that the slice may begin at?
    numbers_not_booleans
    returns_a_list
    sees_only_what_comes: Your mask looks forwards: each position sees itself and what comes after it,
        and never the past.
        Hint: Rows are queries. Is `row - column` positive for the past or for the future?
    never_itself: No position sees itself, the first not even anything: the diagonal is hidden.
        Hint: May a word look at itself? Is it `<` or `<=` that compares columns with rows?
    sinks_taken_from_the_window: You made the window smaller by the sinks; they are additional.
        Hint: With a window of 3 and one sink, how many positions does the last row see?
""")
def sliding_window_mask_with_slips(slip, size, window, sinks=0):
    window = slip.choose(
        window,
        one_too_many=window + 1,
        one_too_few=window - 1,
        sinks_taken_from_the_window=window - sinks,
    )
    sinks = slip.choose(sinks, sinks_ignored=0, one_sink_too_many=sinks + 1)
    if slip.all_sinks_where_none and sinks == 0:
        sinks = size
    rows, columns = np.ogrid[:size, :size]
    steps = rows - columns
    in_window = slip.choose(
        (steps >= 0) & (steps < window),
        both_ways=np.abs(steps) < window,
        forwards=(steps <= 0) & (steps > -window),
        window_ignored=steps >= 0,
        no_brackets=steps < window,
        does_not_see_itself=(steps > 0) & (steps < window),
        sees_only_what_comes=(steps <= 0) & (steps > -window),
        never_itself=(steps > 0) & (steps < window),
    )
    if slip.pieces_not_windows:
        in_window = (steps >= 0) & (rows // window == columns // window)
    if slip.begins_before_the_text:
        in_window = np.zeros((size, size), dtype=bool)
        itself = slip.choose(1, does_not_see_itself=0)
        for i in range(size):
            in_window[i, i - window + 1 : i + itself] = True
    are_sinks = slip.choose(
        columns < sinks,
        sinks_among_the_last=columns >= size - sinks,
        sinks_as_rows=rows < sinks,
        sinks_at_the_end=columns >= size - sinks,
    )
    if not (slip.sinks_ahead or slip.sinks_at_the_end):
        are_sinks = are_sinks & slip.choose(
            steps >= 0, sees_only_what_comes=steps <= 0, never_itself=steps > 0
        )
    mask = in_window | are_sinks
    if slip.sinks_and_window or (slip.sinks_and_window_where_there_are_sinks and sinks):
        mask = in_window & are_sinks
    return slip.choose(
        mask,
        inverted=~mask,
        additive=np.where(mask, 0.0, -np.inf),
        numbers_not_booleans=mask.astype(float),
        returns_a_list=mask.tolist(),
    )


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
