"""Define mistakes that occur in any exercise, such as a missing `return`, and their sentences."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """First difference between a student's result and the expected one, with a sentence on it.

    Parameters
    ----------
    kind : str
        "error", "nothing", "type", "shape", "dtype", "not finite", "modified", "memory", "time" or
        "values".
    observation : str
        Sentence that describes the difference.
    mistake : str or None
        Key of `STRUCTURAL`, if the difference shows one of the mistakes common to all exercises.
    path : tuple of int and str
        Position of the difference in a result that is a tuple, list or mapping.
    means : str
        Explanation with the sizes and names of this case; "" to use that of `STRUCTURAL`.
    nearly_right : bool
        True if the numbers are off by so little that lost digits may be all that is wrong.
    """

    kind: str
    observation: str
    mistake: str | None = None
    path: tuple[int | str, ...] = ()
    means: str = ""
    nearly_right: bool = False


NOT_WRITTEN = "This exercise is not written yet."

# Mistakes that occur in any exercise: by name, an explanation and a hint for the student.
STRUCTURAL = {
    "not-written-yet": (
        "",
        "Replace the line `raise NotImplementedError()` with your code, run that cell, then this one.",
    ),
    "returns-nothing": (
        "A Python function without a `return` line gives None.",
        "End the function with `return` and the array that you computed.",
    ),
    "returns-a-list": (
        "The numbers may be right, but the next step of the lab needs a NumPy array.",
        "Which NumPy function turns nested lists into an array?",
    ),
    "returns-a-tuple": (
        "Only one array is asked for; several values after `return` make a tuple.",
        "Read the Returns part of the docstring: which of the values is it?",
    ),
    "complex-numbers": (
        "Something in your function makes numbers with an imaginary part, such as a `j`, or a power of one.",
        "If the imaginary part is 0 everywhere, `.real` takes the other one. Is it meant to be there at all?",
    ),
    "another-number-of-values": (
        "Several values are asked for, one after the other, and not all of them came back (or too many did).",
        "Read the Returns part of the docstring: which values are expected, and in which order?",
    ),
    "extra-axis": (
        "The numbers are right, but they sit in an array with an axis of length 1 too many.",
        "Did a `keepdims` or a slice such as `[:, :1]` leave an axis that the docstring does not ask for?",
    ),
    "missing-axis": (
        "The numbers are right, but an axis of length 1 got lost.",
        "Compare your shape with the docstring: which axis did a sum, an index or a reshape drop?",
    ),
    "transposed": (
        "The numbers are right, but rows and columns are exchanged.",
        "Compare your shape with the docstring: what stands on the first axis there, and what on the second?",
    ),
    "lower-precision": (
        "Somewhere the numbers were rounded to a smaller type than they came in.",
        "Look for `astype`, `dtype=` or an array that was created as float32.",
    ),
    "numbers-not-booleans": (
        "0 and 1 look like False and True, but `~` and indexing treat them differently.",
        "Can a comparison such as `>` or `>=`, or `dtype=bool`, give you booleans directly?",
    ),
    "modifies-argument": (
        "The caller's own array is changed, so running a cell twice gives a different result.",
        "Operations such as `x -= …` or `x[…] = …` work in place; which one makes a new array instead?",
    ),
    "array-of-objects": (
        "NumPy could not see one array of numbers in what you gave it, so it kept the objects as they are.",
        "Do the rows all have the same length, and are all the entries numbers?",
    ),
    "booleans-not-numbers": (
        "The array that you filled or copied was one of True and False, and so it keeps only those.",
        "Which dtype does the array have in which you put your numbers?",
    ),
    "whole-numbers": (
        "The array that you filled holds whole numbers, so everything behind the point was cut off.",
        "Which dtype does the array have in which you put your results?",
    ),
    "shapes-that-do-not-multiply": (
        "In a matrix product the rows on the left must be as long as the columns on the right.",
        "Print the `.shape` of both arrays before this line: is one of them turned, swapped or too small?",
    ),
    "shapes-that-do-not-broadcast": (
        "Counted from the end, two sizes must be equal, or one of them 1, to be put together "
        "number by number.",
        "Print the `.shape` of both arrays before this line: was an axis lost (`keepdims`), or is `@` meant?",
    ),
    "index-of-another-shape": (
        "An array of booleans between `[ ]` must have the shape of the array that it picks from.",
        "`np.where(condition, a, b)` broadcasts, and `[ ]` does not. Which of them suits your shapes?",
    ),
    "reshape-that-does-not-fit": (
        "A reshape keeps all numbers and adds none: the product of the new sizes must be the "
        "number of the old ones.",
        "Multiply the sizes out. Do you want to repeat rows, or to exchange axes, rather than reshape?",
    ),
    "parts-that-do-not-join": (
        "Arrays that are joined along one axis must have the same size along every other axis.",
        "Print the `.shape` of each part before this line: does one of them need more rows, or another axis?",
    ),
    "parts-that-do-not-stack": (
        "`np.stack` puts arrays side by side along a new axis, and for that all must have exactly "
        "the same shape.",
        "Print the `.shape` of each part before this line: does a slice end too early, or one "
        "begin at a wrong place?",
    ),
    "cut-that-does-not-come-out-even": (
        "`np.split` cuts an axis into equal parts, and this axis is not so many times as long.",
        "Which axis are the parts to share among them, and how long is it? Print the `.shape`.",
    ),
    "arrays-of-several-shapes": (
        "Arrays, or rows, of different shapes do not fit side by side into one array.",
        "Is one array needed at all? What is computed for each of them can be put together in a loop.",
    ),
    "fraction-for-a-place": (
        "A size or a place is a float here, and they are counted in whole numbers; `/` always gives a float.",
        "Which division of Python's gives a whole number?",
    ),
    "array-for-yes-or-no": (
        "Somewhere a single yes or no is needed (`if`, `and`, `not`, the built-in `max`), and an array of several "
        "stands there.",
        "Which of NumPy's functions does it for all numbers at once? To ask whether an argument was given at all, "
        "use `is None`.",
    ),
    "array-for-a-single-number": (
        "The functions of `math`, and `float` or `int`, take a single number; an array of several "
        "stands there.",
        "Which of NumPy's functions of the same name takes a whole array?",
    ),
    "axis-that-is-not-there": (
        "The line asks for an axis that this array does not have.",
        "How many axes may the arguments have, by the docstring? Counted from the end (-1), the "
        "last is always there.",
    ),
    "place-that-is-not-there": (
        "The line asks for a place that this array, or list, does not have.",
        "Where is it made, and how long? Is that enough for everything that the docstring allows?",
    ),
    "entry-that-is-not-there": (
        "A mapping is asked for a name that it does not hold.",
        "Which names does the docstring list? `print(list(…))` of the mapping shows those that came.",
    ),
    "works-on-none": (
        "Something on this line is None: what a function without `return` gives, or an argument "
        "that was left out.",
        "Which of the names on this line is None? Print them.",
    ),
    "calls-itself": (
        "A function calls itself again and again, and nothing ends it.",
        "Which function is meant on this line: has another one the same name?",
    ),
    "asks-the-keyboard": (
        "`input()` waits for somebody to type, and nobody is there when a function is checked or graded.",
        "What the function needs comes in as its arguments: which of them is it?",
    ),
    "axes-that-do-not-match": (
        "The list of axes is written for an array with another number of axes.",
        "How many axes may the argument have, by the docstring? `np.swapaxes` exchanges two, "
        "however many there are.",
    ),
    "name-not-defined": (
        "When the line runs, nothing has that name.",
        "Is it spelt as where it is made? Has that cell been run? Does it come from another notebook, "
        "or is it one of the arguments under another name?",
    ),
    "minus-on-booleans": (
        "`-` does not work on True and False.",
        "`~` turns True into False. If numbers are needed, which dtype should the array have first?",
    ),
    "logic-on-numbers": (
        "`~`, `&` and `|` work on True and False (or whole numbers); this array holds fractions.",
        "Can the array be made with `dtype=bool`, or by a comparison?",
    ),
    "call-that-does-not-fit": (
        "A function is called with other arguments than its first line asks for.",
        "Compare the call on this line with the first line of the function: names, number and order.",
    ),
    "fractions-into-whole-numbers": (
        "The array on the left holds whole numbers, and the result has fractions.",
        "Which dtype does the array have in which you put your results?",
    ),
    "ends-the-program": (
        "`exit()`, `quit()` and `sys.exit()` end the whole program; a function ends with `return`.",
        "End the function with `return` and what you computed.",
    ),
    "own-assert": (
        "It is an `assert` of your own that failed: it claims what the docstring does not promise.",
        "Does the docstring promise what you assert? For numbers with a fraction, `np.allclose` "
        "allows for rounding.",
    ),
    "higher-precision": (
        "The numbers are held in a larger type than the one asked for.",
        "Which type do your inputs have, and which operation widened it?",
    ),
    "numbers-for-true-and-false": (
        "Each entry should be True or False; your array holds other numbers, as masks to be added "
        "to scores do.",
        "Can a comparison such as `>` or `>=`, or `dtype=bool`, give you booleans directly?",
    ),
    "one-number": (
        "Everything was added up (or averaged) into a single number.",
        "Along which axis should the numbers be added up, and which axis should stay?",
    ),
    "rounded": (
        "You rounded the result: the check needs all the digits, and so does every later step.",
        "Round when you print, not in the function.",
    ),
    "imprecise": (
        "The formula is probably the right one, but the numbers are a little off.",
        "Is there a constant typed with few digits (2.718 instead of `np.e`), a step in float32, a rounding, or a "
        "small number such as 1e-6 that was added to be safe?",
    ),
    "precision-lost-on-the-way": (
        "The result has the expected dtype, but its numbers have only the digits of float32: somewhere "
        "on the way they were held in a smaller type.",
        "Look for `astype`, `dtype=` or an array that was created as float32, or a constant typed "
        "with seven digits.",
    ),
    "not-a-whole-number": (
        "The number is right, but it is counted in whole units, and `/` always gives a float.",
        "Which division of Python's gives a whole number?",
    ),
    "too-much-memory": (
        "An array on the way to it is larger than it has to be, or too many are kept at the same time.",
        "Which of your arrays holds the most numbers? Does it have to be there whole?",
    ),
    # The mistakes below are found by `judging.transformations`, which explains them with sentences
    # for the case at hand.
    "parts-in-another-order": (
        "The values that you return are right, but they stand in another order.",
        "In which order does the Returns part of the docstring list them?",
    ),
    "one-part-only": (
        "Only one of the values comes back.",
        "Read the Returns part of the docstring: which values are expected, and in which order?",
    ),
    "other-sign": (
        "All is right but the sign.",
        "Which difference is taken the wrong way round, or where is a minus too many or missing?",
    ),
    "the-other-way-round": (
        "True and False have changed places everywhere.",
        "What does True stand for, by the docstring? Which operator turns every True into False?",
    ),
    "times-a-constant": (
        "Every number is the expected one times a constant.",
        "Is something counted twice or left out, or divided by once too often?",
    ),
    "times-a-size": (
        "Every number is the expected one times a factor made of a size.",
        "Is there a division (or a mean, or a root) too many, or is one missing?",
    ),
    "plus-a-constant": (
        "Every number is the expected one plus a constant.",
        "What is added that should not be, or left out? Does something count from 1 that should "
        "count from 0?",
    ),
    "in-reverse-order": (
        "The numbers are right, but they stand in the opposite order along an axis.",
        "In which direction does your loop or slice run?",
    ),
    "one-place-off": (
        "The numbers are right, but each stands one place away from its own.",
        "Which place is the first: does something count from 1 that should count from 0?",
    ),
    "one-place-short": (
        "What is there is right, but the first or the last place along an axis is missing.",
        "Which numbers does `range(n)` give, and where does a slice end?",
    ),
    "places-left-empty": (
        "Some places still hold what the array was made with.",
        "Which numbers does `range(n)` give? Does a `return` stand inside the loop?",
    ),
    "the-first-for-all": (
        "Along the first axis the first result stands again and again.",
        "Is there an index `[0]` too many, or one that never changes in the loop?",
    ),
    "one-of-several": (
        "Only one place along an axis comes back; all of them are expected.",
        "Is there an index such as `[0]` or `[-1]` too many, or a `return` inside the loop?",
    ),
    "an-axis-added-up": (
        "The numbers were added up (or averaged) along an axis that should stay.",
        "Which shape does the docstring ask for, and which axis have you lost?",
    ),
    "a-step-too-many": (
        "There is a step too many at the end, or its opposite is missing.",
        "What does the docstring ask for: what goes into that function, or what comes out of it?",
    ),
    "one-minus-it": (
        "Every number is 1 minus the expected one.",
        "Is something counted that should be left out, or is a difference taken where none is needed?",
    ),
    "axes-exchanged": (
        "The numbers are right, but two axes have changed places.",
        "Write the name of each axis beside your shape and beside the one in the docstring.",
    ),
}
