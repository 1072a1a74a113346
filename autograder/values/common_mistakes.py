"""Mistakes that can occur in any exercise, such as a missing `return`, with texts for students."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """First difference between a student's result and the expected one, with a sentence about it.

    Parameters
    ----------
    kind : str
        "error", "nothing", "type", "shape", "dtype", "not finite", "modified", "memory", "time" or
        "values".
    observation : str
        Sentence that describes the difference.
    mistake : str or None
        Key of `MISTAKES`, if the difference shows one of the mistakes common to all exercises.
    path : tuple of int and str
        Position of the difference in a result that is a tuple, list or mapping.
    means : str
        Explanation with the sizes and names of this case; "" to use that of `MISTAKES`.
    nearly_right : bool
        True if the numbers are off by so little that lost digits may be all that is wrong.
    nudge : str or None
        Hint that belongs to `means`, "" if it needs none; None to use that of `MISTAKES`.
    """

    kind: str
    observation: str
    mistake: str | None = None
    path: tuple[int | str, ...] = ()
    means: str = ""
    nearly_right: bool = False
    nudge: str | None = None


NOT_WRITTEN_MESSAGE = "This exercise is not written yet."

# Mistakes that can occur in any exercise: for each name, an explanation and a hint for the student.
MISTAKES = {
    "not-written-yet": (
        "",
        "Replace the line `raise NotImplementedError()` with your code, run that cell, then this one.",
    ),
    "returns-nothing": (
        "A Python function without a `return` line gives None.",
        "End the function with `return` and the value that you computed.",
    ),
    "returns-a-list": (
        "The numbers may be right, but the next step of the lab needs a NumPy array.",
        "Which NumPy function turns nested lists into an array?",
    ),
    "returns-a-generator": (
        "`map`, `zip` and `(… for … in …)` hold no values: each is computed when asked for.",
        "Which brackets, or which function of Python's, make a list of them?",
    ),
    "returns-a-function": (
        "What stands after `return` is a function that has not been called.",
        "After which name are the round brackets missing?",
    ),
    "array-for-one-number": (
        "The docstring asks for a single number, and your result is an array.",
        "Should a sum or a mean run over all entries? Is there an `axis=` too many?",
    ),
    "returns-a-tuple": (
        "The docstring asks for one array; several values after `return` make a tuple.",
        "Read the Returns part of the docstring: which of the values is it?",
    ),
    "more-than-the-list": (
        "The docstring asks for one list of arrays; several values after `return` make a tuple.",
        "Read the Returns part of the docstring: which of the values is it?",
    ),
    "complex-numbers": (
        "Something in your function makes complex numbers, such as a `j` or a root of a negative number.",
        "Should there be an imaginary part? If it is 0 everywhere, `.real` gives the real part.",
    ),
    "another-number-of-values": (
        "The docstring asks for several values, and your function returns another number of them.",
        "Read the Returns part of the docstring: which values are expected, and in which order?",
    ),
    "extra-axis": (
        "The numbers are right, but the array has an extra axis of length 1.",
        "Which part of your code makes the axis of length 1? It can be `keepdims`, a slice such as `[:, :1]`, or a shape. "
        "The docstring does not ask for this axis.",
    ),
    "missing-axis": (
        "The numbers are right, but an axis of length 1 is missing.",
        "Compare your shape with the docstring: which axis did a sum, an index or a reshape remove?",
    ),
    "transposed": (
        "The numbers are right, but rows and columns are exchanged.",
        "Compare your shape with the docstring: what is the first axis there, and what is the second?",
    ),
    "lower-precision": (
        "Your function converts the numbers to a less precise type than that of the arguments.",
        "Look for `astype`, `dtype=` or an array that was created as float32.",
    ),
    "numbers-not-booleans": (
        "0 and 1 look like False and True, but `~` and indexing treat them differently.",
        "Can a comparison such as `>` or `>=`, or `dtype=bool`, give you booleans directly?",
    ),
    "modifies-argument": (
        "A function must not change the arrays that it gets. If it changes them, the same cell gives "
        "another result when you run it again.",
        "`x -= …`, `x *= …` and `x[…] = …` change the array itself. Which operation makes a new array?",
    ),
    "array-of-objects": (
        "NumPy could not make an array of numbers from what you gave it, so it stored Python objects.",
        "Do all rows have the same length, and are all entries numbers?",
    ),
    "booleans-not-numbers": (
        "The array that you filled or copied has dtype bool, so it can hold only True and False.",
        "Which dtype should the array have in which you store your numbers?",
    ),
    "whole-numbers": (
        "The array that you filled holds whole numbers, so the decimals were cut off.",
        "Which dtype should the array have in which you store your results?",
    ),
    "shapes-that-do-not-multiply": (
        "In a matrix product, the rows on the left must be as long as the columns on the right.",
        "Print the `.shape` of both arrays before this line. Is one of them transposed, or is the wrong array used?",
    ),
    "product-with-one-number": (
        "`@` needs arrays, and on one side of it there is a single number, None, or an array with too few axes.",
        "Is `*` meant? Or has an index or a sum removed an axis?",
    ),
    "shapes-that-do-not-broadcast": (
        "Arrays are combined number by number. Compare their sizes from the end: two sizes must be "
        "equal, or one of them must be 1.",
        "Print the `.shape` of both arrays before this line. Was an axis lost (`keepdims`), or is `@` meant?",
    ),
    "index-of-another-shape": (
        "A boolean array between `[ ]` must have the shape of the array that it selects from.",
        "`np.where(condition, a, b)` broadcasts, and `[ ]` does not. Which of them suits your shapes?",
    ),
    "text-for-numbers": (
        "The line computes with a text (str), where an array or a number belongs.",
        "Which name on this line holds a text? A loop over a dict, and `a, b = …` of a dict, give "
        "its keys and not its values.",
    ),
    "selection-on-one-side": (
        "On the left of `=` the condition selects some entries, and on the right stands another "
        "number of values.",
        "Which entries of the array on the right belong to the selected ones? How would "
        "`np.where` choose for each entry?",
    ),
    "reshape-that-does-not-fit": (
        "A reshape keeps all numbers and adds none: the product of the new sizes must equal the "
        "number of entries.",
        "Multiply the sizes. Do you want to repeat rows, or to exchange axes, rather than reshape?",
    ),
    "parts-that-do-not-join": (
        "Arrays that are joined along one axis must have the same size along every other axis.",
        "Print the `.shape` of each part before this line. Does one of them need more rows, or another axis?",
    ),
    "parts-that-do-not-stack": (
        "`np.stack` puts arrays side by side along a new axis, so all must have exactly the same shape.",
        "Print the `.shape` of each part before this line. Does a slice end too early, or start at a wrong index?",
    ),
    "cut-that-does-not-come-out-even": (
        "`np.split` cuts an axis into n equal parts, and the length of this axis is not a multiple "
        "of n. (PyTorch's `split` takes the length of a part instead.)",
        "Which axis should be split, and how long is it? Print the `.shape`.",
    ),
    "arrays-of-several-shapes": (
        "Arrays, or rows, of different shapes do not fit into one array.",
        "Do you need one array here? A loop can compute the result for each of them and combine the results.",
    ),
    "several-numbers-for-one-place": (
        "An array is assigned to a place that holds a single number.",
        "Which shape does the array on the left have, and which shape does the value on the right have?",
    ),
    "fractions-for-places": (
        "The line uses an array of floats as an index. An array that is used as an index must hold "
        "whole numbers, or True and False.",
        "Which array holds the indices that you mean?",
    ),
    "fraction-for-a-place": (
        "A size or an index is a float here, and it must be a whole number; `/` always gives a float.",
        "Which division of Python gives a whole number?",
    ),
    "array-for-yes-or-no": (
        "`if`, `and`, `not` and the built-in `max` need a single True or False, and here they get an array "
        "with several entries.",
        "Which function does this for all entries at once? To ask whether an argument was given, use `is None`.",
    ),
    "array-for-a-single-number": (
        "The functions of `math`, and `float` or `int`, take a single number, and here they get an array "
        "with several entries.",
        "Which function of the same name, in NumPy or in `keras.ops`, takes a whole array?",
    ),
    "list-for-an-array": (
        "The line computes with a list or a tuple. Python's lists do not add or multiply number by number.",
        "Where is it made? `np.array(...)` turns a list into an array.",
    ),
    "operator-that-does-not-fit": (
        "The operator on this line does not work between these two types.",
        "Print the `type` of both sides. Which of them should be an array?",
    ),
    "loop-over-one-number": (
        "The line goes through the entries of a single number, which has none.",
        "Is `range(n)` meant? Or did an index or a sum leave one number of an array?",
    ),
    "length-of-one-number": (
        "`len` counts the entries of a list or an array; here it gets a single value.",
        "Which name on this line did you expect to be an array? Print its `type`.",
    ),
    "index-into-one-number": (
        "The line takes an index of a single number, which has no entries.",
        "Which name on this line did you expect to be an array? Print its `type`, and see where it was assigned.",
    ),
    "values-that-cannot-change": (
        "The line assigns to an entry of a tuple, a text or a tensor, and those cannot be changed.",
        "Which function makes a new array with the values that you want?",
    ),
    "not-a-function": (
        "Something on this line is called like a function, with round brackets, and it is no function.",
        "Which brackets belong there: `( )` for a call, `[ ]` for an index, or none?",
    ),
    "square-brackets-for-a-call": (
        "Something on this line is a function, and square brackets follow it as if it were an array.",
        "Which brackets call a function?",
    ),
    "more-values-than-names": (
        "There are more values on the right of `=` than names on the left.",
        "How many axes may the argument have, by the docstring? How many values does the function on the right return?",
    ),
    "fewer-values-than-names": (
        "There are fewer values on the right of `=` than names on the left.",
        "How many axes may the argument have, by the docstring? How many values does the function on the right return?",
    ),
    "attribute-that-is-not-there": (
        "The object on this line has no attribute or method of that name.",
        "Print the `type` of the object, and look for the name in NumPy's documentation. Other libraries have names that "
        "NumPy does not have.",
    ),
    "variable-without-a-value": (
        "A variable is used before the function has assigned a value to it.",
        "In which line does the variable get its value, and does that line always run before this one?",
    ),
    "package-that-is-not-there": (
        "The line imports something that is not there.",
        "Can NumPy do what you need from it?",
    ),
    "not-a-dtype": (
        "The value in the place of the dtype does not name a type of numbers.",
        "Compare the call with the function's documentation: which argument is the shape, and which the dtype?",
    ),
    "tensors-of-two-dtypes": (
        "The line combines tensors of two dtypes, and the backend converts neither of them.",
        "Which of the two should `ops.cast` convert, and into which dtype?",
    ),
    "axis-that-is-not-there": (
        "The line asks for an axis that this array does not have.",
        "How many axes may the arguments have, by the docstring? The last axis is always axis -1.",
    ),
    "place-that-is-not-there": (
        "The line asks for an index that is larger than this array or list allows.",
        "Where is the array made, and how long is it? The last index is one less than the length.",
    ),
    "entry-that-is-not-there": (
        "The line asks a mapping (a dict) for a key that it does not have.",
        "Which names does the docstring list? `print(list(…))` of the mapping shows its keys.",
    ),
    "works-on-none": (
        "A value on this line is None. A function without `return` gives None, and so does an argument "
        "that was left out.",
        "Which of the names on this line is None? Print them.",
    ),
    "calls-itself": (
        "A function calls itself again and again, and nothing ends it.",
        "Which function do you mean on this line? Does another function have the same name?",
    ),
    "asks-the-keyboard": (
        "`input()` waits for somebody to type, and nobody is there when a function is checked or graded.",
        "The function gets everything it needs as arguments: which of them do you want?",
    ),
    "axes-that-do-not-match": (
        "The list of axes is written for an array with another number of axes.",
        "How many axes may the argument have, by the docstring? `np.swapaxes` exchanges two axes of any array.",
    ),
    "name-not-defined": (
        "Nothing has that name when the line runs.",
        "Is it spelt as in the line that assigns it? Has that cell been run? Is it one of the arguments "
        "under another name?",
    ),
    "minus-on-booleans": (
        "`-` does not work on True and False.",
        "`~` turns True into False. If you need numbers, which dtype should the array have first?",
    ),
    "logic-on-numbers": (
        "`~`, `&` and `|` work on booleans and whole numbers; this array holds floats.",
        "Can the array be made with `dtype=bool`, or by a comparison?",
    ),
    "call-that-does-not-fit": (
        "The arguments of a call do not fit the parameters of the function.",
        "Compare the call on this line with the function's `def` line or documentation: names, number and order.",
    ),
    "fractions-into-whole-numbers": (
        "The array on the left holds whole numbers, and the result has decimals.",
        "Which dtype should the array have in which you store your results?",
    ),
    "ends-the-program": (
        "`exit()`, `quit()` and `sys.exit()` end the whole program; a function ends with `return`.",
        "End the function with `return` and the value that you computed.",
    ),
    "own-assert": (
        "An `assert` of your own failed: it requires something that the docstring does not promise.",
        "Does the docstring promise what you assert? `np.allclose` compares numbers with a tolerance for rounding.",
    ),
    "higher-precision": (
        "The numbers have a larger type than the docstring asks for.",
        "Which dtype do your inputs have, and which operation changed it?",
    ),
    "numbers-for-true-and-false": (
        "Each entry should be True or False; your array holds other numbers, like a mask that is added to scores.",
        "Can a comparison such as `>` or `>=`, or `dtype=bool`, give you booleans directly?",
    ),
    "one-number": (
        "Your function adds (or averages) everything into a single number.",
        "Along which axis should the numbers be added, and which axis should stay?",
    ),
    "rounded": (
        "Your function rounds the result. The check and the later steps need all the digits.",
        "Round when you print, not in the function.",
    ),
    "imprecise": (
        "The formula is probably right, but the numbers are slightly off.",
        "Is there a constant with few digits (2.718 instead of `np.e`), a step in float32, a rounding, or a "
        "small number such as 1e-6 that was added to be safe?",
    ),
    "precision-lost-on-the-way": (
        "The dtype of the result is right, but only about seven digits of its numbers are; "
        "about fifteen are expected. Probably an earlier step used float32 or an approximation.",
        "Look for `astype`, `dtype=`, an array that was created as float32, a constant with seven digits, "
        "or a numerical approximation.",
    ),
    "not-a-whole-number": (
        "The value is right, but its type should be int. `/`, and any calculation with a float such as 2.0, "
        "gives a float.",
        "Which operation or number in your code makes it a float? `//` divides whole numbers.",
    ),
    "too-much-memory": (
        "Your function makes an array that is larger than necessary, or keeps too many arrays at the same time.",
        "Which of your arrays holds the most numbers? Do you need all of it at once?",
    ),
    # The mistakes below are recognised by `judging.transformations`, which replaces their
    # explanations by sentences with the numbers and names of the student's test case.
    "parts-in-another-order": (
        "The values that you return are right, but their order is not.",
        "In which order does the Returns part of the docstring list them?",
    ),
    "one-part-only": (
        "Your function returns only one of the values.",
        "Read the Returns part of the docstring: which values are expected, and in which order?",
    ),
    "other-sign": (
        "Everything is right except the sign.",
        "Is a difference computed in the wrong order, or is there a minus too many, or one missing?",
    ),
    "the-other-way-round": (
        "True and False are exchanged everywhere.",
        "What does True stand for, by the docstring? Which operator turns every True into False?",
    ),
    "times-a-constant": (
        "Every number is the expected one times a constant.",
        "Is something counted twice or left out, or divided by once too often?",
    ),
    "times-a-size": (
        "Every number is the expected one times a factor that depends on a size.",
        "Is there a division (or a mean, or a root) too many, or is one missing?",
    ),
    "plus-a-constant": (
        "Every number is the expected one plus a constant.",
        "What is added that should not be, or left out? Does something count from 1 that should count from 0?",
    ),
    "in-reverse-order": (
        "The numbers are right, but along one axis their order is reversed.",
        "In which direction does your loop or slice run?",
    ),
    "one-place-off": (
        "The numbers are right, but each is shifted by one position.",
        "Which position is the first: does something count from 1 that should count from 0?",
    ),
    "one-place-short": (
        "The numbers are right, but the first or the last entry along an axis is missing.",
        "Which numbers does `range(n)` give, and where does a slice end?",
    ),
    "places-left-empty": (
        "Some entries still hold the value with which the array was created.",
        "Which numbers does `range(n)` give? Is there a `return` inside the loop?",
    ),
    "the-first-for-all": (
        "The first result is repeated along the first axis.",
        "Is there an index `[0]` too many, or an index that never changes in the loop?",
    ),
    "one-of-several": (
        "Your function returns only one entry along an axis; expected all of them.",
        "Is there an index such as `[0]` or `[-1]` too many, or a `return` inside the loop?",
    ),
    "an-axis-added-up": (
        "The numbers were added (or averaged) along an axis that should stay.",
        "Which shape does the docstring ask for, and which axis is missing?",
    ),
    "a-step-too-many": (
        "There is a step too many at the end, or the opposite step is missing.",
        "What does the docstring ask for: the argument of that function, or its result?",
    ),
    "one-minus-it": (
        "Every number is 1 minus the expected one.",
        "Is something counted that should be left out, or is a number subtracted from 1 without need?",
    ),
    "axes-exchanged": (
        "The numbers are right, but two axes are exchanged.",
        "Write the name of each axis beside your shape and beside the shape in the docstring.",
    ),
}
