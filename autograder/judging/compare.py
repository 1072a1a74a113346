"""Where an answer first differs from what was expected, and what else can be said of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from autograder.judging.answer import Answer, megabytes
from autograder.judging.question import Inputs, Rules, Value

# Relative error, and absolute error near zero, for numbers of ordinary size.
_PRECISION = {"e": (2e-2, 2e-3), "f": (2e-4, 2e-6)}  # of float16 and float32, by their characters


@dataclass(frozen=True)
class Difference:
    """The first thing that is not as expected.

    Parameters
    ----------
    kind : str
        "error", "nothing", "type", "shape", "dtype", "not finite", "modified", "memory" or "values".
    seen : str
        The sentence that says so.
    mistake : str or None
        A key of `STRUCTURAL`, where the difference is itself a known mistake.
    path : tuple of int and str
        Which part of the result it is in, where that is a tuple, list or mapping.
    means : str
        What it means here, with the sizes and names of this case; where it is empty, `STRUCTURAL` knows.
    near : bool
        Whether the numbers are off by so little that digits lost on the way may be all.
    """

    kind: str
    seen: str
    mistake: str | None = None
    path: tuple[int | str, ...] = ()
    means: str = ""
    near: bool = False


NOT_WRITTEN = "This exercise is not written yet."

# Mistakes of form, the same in every exercise: name -> (what it means, a nudge).
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
        "Read the Returns part of the docstring: which values are due, and in which order?",
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
        "Counted from the end, two sizes must be equal, or one of them 1, to be put together number by number.",
        "Print the `.shape` of both arrays before this line: was an axis lost (`keepdims`), or is `@` meant?",
    ),
    "index-of-another-shape": (
        "An array of booleans between `[ ]` must have the shape of the array that it picks from.",
        "`np.where(condition, a, b)` broadcasts, and `[ ]` does not. Which of them suits your shapes?",
    ),
    "reshape-that-does-not-fit": (
        "A reshape keeps all numbers and adds none: the product of the new sizes must be the number of the old ones.",
        "Multiply the sizes out. Do you want to repeat rows, or to exchange axes, rather than reshape?",
    ),
    "parts-that-do-not-join": (
        "Arrays that are joined along one axis must have the same size along every other axis.",
        "Print the `.shape` of each part before this line: does one of them need more rows, or another axis?",
    ),
    "parts-that-do-not-stack": (
        "`np.stack` puts arrays side by side along a new axis, and for that all must have exactly the same shape.",
        "Print the `.shape` of each part before this line: does a slice end too early, or one begin at a wrong place?",
    ),
    "cut-that-does-not-come-out-even": (
        "`np.split` cuts an axis into equal parts, and this axis is not so many times as long.",
        "Which axis are the parts to share among them, and how long is it? Print the `.shape`.",
    ),
    "array-for-yes-or-no": (
        "Somewhere a single yes or no is needed (`if`, `and`, `not`, the built-in `max`), and an array of several "
        "stands there.",
        "Which of NumPy's functions does it for all numbers at once? To ask whether an argument was given at all, "
        "use `is None`.",
    ),
    "array-for-a-single-number": (
        "The functions of `math`, and `float` or `int`, take a single number; an array of several stands there.",
        "Which of NumPy's functions of the same name takes a whole array?",
    ),
    "axis-that-is-not-there": (
        "The line asks for an axis that this array does not have.",
        "How many axes may the arguments have, by the docstring? Counted from the end (-1), the last is always there.",
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
        "Something on this line is None: what a function without `return` gives, or an argument that was left out.",
        "Which of the names on this line is None? Print them.",
    ),
    "calls-itself": (
        "A function calls itself again and again, and nothing ends it.",
        "Which function is meant on this line: has another one the same name?",
    ),
    "asks-the-keyboard": (
        "`input()` waits for somebody to type, and nobody is there when a function is checked or marked.",
        "What the function needs comes in as its arguments: which of them is it?",
    ),
    "axes-that-do-not-match": (
        "The list of axes is written for an array with another number of axes.",
        "How many axes may the argument have, by the docstring? `np.swapaxes` exchanges two, however many there are.",
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
        "Does the docstring promise what you assert? For numbers with a fraction, `np.allclose` allows for rounding.",
    ),
    "higher-precision": (
        "The numbers are held in a larger type than the one asked for.",
        "Which type do your inputs have, and which operation widened it?",
    ),
    "numbers-for-true-and-false": (
        "True or False is due in each place; your array holds other numbers, as masks to be added to scores do.",
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
        "The result holds the type that is due, but its numbers have only the digits of float32: somewhere "
        "on the way they were held in a smaller type.",
        "Look for `astype`, `dtype=` or an array that was created as float32, or a constant typed with seven digits.",
    ),
    "not-a-whole-number": (
        "The number is right, but it is counted in whole units, and `/` always gives a float.",
        "Which division of Python's gives a whole number?",
    ),
    "too-much-memory": (
        "An array on the way to it is larger than it has to be, or too many are kept at the same time.",
        "Which of your arrays holds the most numbers? Does it have to be there whole?",
    ),
    # Found by `forms`, which says more than these sentences do.
    "parts-in-another-order": (
        "The values that you return are right, but they stand in another order.",
        "In which order does the Returns part of the docstring list them?",
    ),
    "one-part-only": (
        "Only one of the values comes back.",
        "Read the Returns part of the docstring: which values are due, and in which order?",
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
        "Every number is the one that is due times a constant.",
        "Is something counted twice or left out, or divided by once too often?",
    ),
    "times-a-size": (
        "Every number is the one that is due times a factor made of a size.",
        "Is there a division (or a mean, or a root) too many, or is one missing?",
    ),
    "plus-a-constant": (
        "Every number is the one that is due plus a constant.",
        "What is added that should not be, or left out? Does something count from 1 that should count from 0?",
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
        "Only one place along an axis comes back; all of them are due.",
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
        "Every number is 1 minus the one that is due.",
        "Is something counted that should be left out, or a difference taken where none is due?",
    ),
    "axes-exchanged": (
        "The numbers are right, but two axes have changed places.",
        "Write the name of each axis beside your shape and beside the one in the docstring.",
    ),
}


def tolerance(rtol: float, *arrays: np.ndarray) -> tuple[float, float]:
    """Relative and absolute tolerance for the least precise of the arrays' dtypes."""
    kinds = {a.dtype.char for a in arrays}
    return _PRECISION["e"] if "e" in kinds else _PRECISION["f"] if "f" in kinds else (rtol, rtol * 1e-3)


def same_values(expected: np.ndarray, value: np.ndarray, rtol: float) -> bool:
    """Whether two arrays of one shape agree to tolerance; NaN equals NaN.

    >>> same_values(np.ones(2), np.ones(2) + 1e-9, 1e-7)
    True
    """
    return expected.shape == value.shape and everywhere(close(expected, value, rtol))


def close(expected: np.ndarray, value: np.ndarray, rtol: float) -> np.ndarray:
    """Where two arrays of one shape agree to tolerance, as booleans; NaN equals NaN."""
    # What `np.isclose` says; it takes five times as long, and this is most of what judging does.
    wanted, got = expected.astype(np.float64, copy=False), value.astype(np.float64, copy=False)
    same = wanted == got
    if everywhere(same):
        return same
    with np.errstate(all="ignore"):
        relative, absolute = tolerance(rtol, expected, value)
        near = np.abs(got - wanted) <= absolute + relative * np.abs(wanted)
        return same | (near & np.isfinite(wanted)) | (np.isnan(wanted) & np.isnan(got))


def everywhere(true: np.ndarray) -> bool:
    """Whether an array of booleans is true in all places: `all`, at a fifth of its time for small ones.

    >>> everywhere(np.ones(2) == 1), everywhere(np.arange(2) == 1)
    (True, False)
    """
    return b"\0" not in true.tobytes()


@cache
def resolve(name: str) -> Callable[..., Any]:
    """The function that "module:function" names; a course's library holds its comparers."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def viewed(value: np.ndarray, rules: Rules) -> np.ndarray:
    """What is compared in place of an array; the array itself where the rules say nothing."""
    return resolve(rules.view)(value) if rules.view else value


# Whether two answers are the same


def same_answer(one: Answer, other: Answer, rules: Rules, memory: int | None = None) -> bool:
    """Whether two calls gave the same: the same values, or an error of the same cause.

    Where `memory` bytes are allowed, both keep to that or neither does.

    With ``returns="tensor"`` neither the kind of array nor its dtype counts, and the backends' different
    errors for arrays that do not fit are one.
    """
    if one.error or other.error:
        return bool(one.error and other.error) and _cause(one.error, rules) == _cause(other.error, rules)
    if bool(one.modified) != bool(other.modified):
        return False
    if memory is not None and (one.held > memory) != (other.held > memory):
        return False
    if rules.returns == "printed":
        return _lines(one.printed) == _lines(other.printed)
    if one.value is None or other.value is None:
        return one.value is None and other.value is None and one.type == other.type
    return _same(one.value, other.value, rules)


def _same(one: Value, other: Value, rules: Rules) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape:
            return False
        if rules.returns != "tensor" and (one.dtype == bool) != (other.dtype == bool):
            return False
        return same_values(viewed(one, rules), viewed(other, rules), rules.tolerance)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k], rules) for k in one)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        # Several values may come in either; nested numbers are a mistake of their own in each.
        if type(one) is not type(other) and not any(isinstance(part, np.ndarray) for part in one):
            return False
        return len(one) == len(other) and all(_same(a, b, rules) for a, b in zip(one, other, strict=True))
    if float in (type(one), type(other)) and {type(one), type(other)} <= {int, float}:
        return same_values(np.asarray(one), np.asarray(other), rules.tolerance)
    return type(one) is type(other) and one == other if not isinstance(one, np.ndarray) else False


# What NumPy's and Python's messages say, whatever numbers, names and marks are in them: a pattern, and the
# mistake of form that it is.
_MESSAGES = (
    (r"^AssertionError", "own-assert"),
    (r"^SystemExit", "ends-the-program"),
    (r"^RecursionError", "calls-itself"),
    (r"^(EOFError|StdinNotImplementedError)", "asks-the-keyboard"),
    (r"^KeyError", "entry-that-is-not-there"),
    (r"NoneType", "works-on-none"),
    (r"mismatch in its core dimension|not aligned", "shapes-that-do-not-multiply"),
    (r"could not be broadcast|could not broadcast|shape mismatch", "shapes-that-do-not-broadcast"),
    (r"boolean index did not match", "index-of-another-shape"),
    (r"cannot reshape|cannot be reshaped", "reshape-that-does-not-fit"),
    (r"must match exactly|number of dimensions", "parts-that-do-not-join"),
    (r"must have the same shape", "parts-that-do-not-stack"),
    (r"not result in an equal division", "cut-that-does-not-come-out-even"),
    (r"is ambiguous", "array-for-yes-or-no"),
    (r"only (0-dimensional|length-1|size-1)", "array-for-a-single-number"),
    (r"^IndexError: (index -?\d+ is out of bounds|list index out of range|string index)", "place-that-is-not-there"),
    (r"out of bounds|tuple index out of range|not enough values to unpack|too many values to unpack|"
     r"too many indices", "axis-that-is-not-there"),
    (r"axes don't match|axes do not match|repeated axis", "axes-that-do-not-match"),
    (r"is not defined", "name-not-defined"),
    (r"boolean (negative|subtract)", "minus-on-booleans"),
    (r"ufunc '(invert|bitwise_\w+)' not supported", "logic-on-numbers"),
    (r"unexpected keyword argument|positional argument|multiple values for argument", "call-that-does-not-fit"),
    (r"Cannot cast ufunc", "fractions-into-whole-numbers"),
)  # fmt: skip


@cache
def mistake_in(error: str) -> str | None:
    """Which mistake of form an exception is ("ValueError: …"), if it is one of NumPy's or Python's usual ones."""
    return next((mistake for pattern, mistake in _MESSAGES if re.search(pattern, error)), None)


def _cause(error: str, rules: Rules) -> tuple[str, str]:
    """The type of an error, and what it is about: two errors of one type are not yet the same error."""
    kind, _, text = error.partition(": ")
    if rules.returns == "tensor":
        misfit = kind in {"ValueError", "InvalidArgumentError", "RuntimeError", "TypeError"}  # by backend
        return ("ValueError" if misfit else kind), ""
    about = mistake_in(error)
    if about is None:
        about = " ".join(word for word in text.split() if word.isalpha())
    elif about.startswith("shapes-that"):  # the same sizes must be at odds
        sizes = re.search(r"size (\d+) is different from (\d+)|: (\d+) \(dim \d+\) != (\d+)", text)
        found = [n for n in sizes.groups() if n] if sizes else re.findall(r"\([\d,]*\)", text)
        about = " ".join([about, *sorted(found)])
    return kind, about


# Where an answer first differs


def first_difference(
    expected: Value, answer: Answer, rules: Rules, memory: int | None = None
) -> Difference | None:
    """The first thing in which an answer is not as expected; None for a right answer.

    That it held more than `memory` bytes at once is said last, of a result that is right.
    """
    found = _first(expected, answer, rules)
    if found is None and memory is not None and answer.held > memory:
        held, allowed = megabytes(answer.held), megabytes(memory)
        seen = f"Your result is right, but your function holds {held} at once, where {allowed} are allowed."
        return Difference("memory", seen, "too-much-memory")
    return found


def _first(expected: Value, answer: Answer, rules: Rules) -> Difference | None:
    if answer.error:
        return _error(answer)
    if rules.compare:
        return _by_comparer(expected, answer, rules)
    if rules.returns == "printed":
        found = _text("What your function prints", _lines(str(expected)), _lines(answer.printed))
    elif answer.type == "NoneType" and expected is not None:
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    elif answer.value is None and answer.type != "NoneType":
        return _not_plain(expected, answer)
    elif rules.returns == "tensor" and answer.type not in ("tensor", "ndarray"):
        found = _type(expected, answer.value, rules)
    else:
        found = _difference(expected, answer.value, rules)
    if found is None and answer.modified:
        names = " and ".join(f"`{n}`" for n in answer.modified)
        return Difference("modified", f"Your function changed its argument {names}.", "modifies-argument")
    return found


def _error(answer: Answer) -> Difference:
    if answer.raised == "NotImplementedError":
        return Difference("error", NOT_WRITTEN, "not-written-yet")
    stop = "" if answer.error.endswith((".", "!", "?")) else "."
    mistake = mistake_in(answer.error)
    means = _in_plain_words(mistake, answer) if mistake else ""
    return Difference("error", f"Your function raised {answer.error}{stop}", mistake, means=means)


def _in_plain_words(mistake: str, answer: Answer) -> str:
    """What an error means, with its own sizes and names; "" where the general sentence says it all."""
    text = answer.error
    if mistake == "shapes-that-do-not-multiply":
        sizes = re.search(r"size (\d+) is different from (\d+)", text)
        if sizes:
            return (
                f"In the product on this line the left array has rows of {sizes[2]} numbers, and the right one "
                f"columns of {sizes[1]}: the two must be equal."
            )
        shapes = re.search(r"shapes (\([\d, ]*\)) and (\([\d, ]*\)) not aligned", text)
        if shapes:
            one, other = map(_spaced, shapes.groups())
            return (
                f"In the product on this line the shapes are {one} and {other}: the last size on the "
                "left must equal the first (of a batch, the last but one) on the right."
            )
    if mistake == "shapes-that-do-not-broadcast":
        shapes = re.search(r"shapes? (\([\d,]*\)).*?(\([\d,]*\))", text)
        if shapes:
            one, other = map(_spaced, shapes.groups())
            return (
                f"The line puts arrays of shapes {one} and {other} together number by number. "
                "Counted from the end, two sizes must be equal, or one of them 1."
            )
    if mistake == "place-that-is-not-there":
        place = re.search(r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)", text)
        if place:
            return f"The line asks for place {place[1]} along axis {place[2]}, which has only {place[3]}."
    if mistake == "entry-that-is-not-there":
        return f"A mapping is asked for {text.partition(': ')[2]}, a name that it does not hold."
    if mistake == "calls-itself" and re.search(rf"\b{re.escape(answer.within)}\(", answer.line):
        return f"`{answer.within}` calls itself on this line, again and again, and nothing ends it."
    if mistake == "name-not-defined":
        name = re.search(r"name '(\w+)'", text)
        if name:
            return f"When the line runs, nothing is called `{name[1]}`."
    if (
        mistake == "own-assert"
        and "==" in answer.line
        and not re.search(r"shape|len\(|ndim|dtype", answer.line)
    ):
        return (
            "It is an `assert` of your own that failed. Numbers with a fraction are rounded, so `==` between "
            "two of them is False again and again where both are right."
        )
    return ""


def _spaced(shape: str) -> str:
    """A shape as Python writes it, from "(2,3)"."""
    return shape.replace(",", ", ").replace(", )", ",)").replace("  ", " ")


def _by_comparer(expected: Value, answer: Answer, rules: Rules) -> Difference | None:
    value = answer.printed if rules.returns == "printed" else answer.value
    try:
        said = resolve(rules.compare)(expected, value, rules.tolerance)
    except Exception as error:  # noqa: BLE001 - a comparer meets whatever an answer may be
        said = f"Your result cannot be compared with what is due ({type(error).__name__})."
    return Difference("values", str(said)) if said else None


def _not_plain(expected: Value, answer: Answer) -> Difference:
    if answer.type.startswith("ndarray of object"):
        seen = "Your array holds Python objects (its dtype is object) instead of numbers."
        return Difference("dtype", seen, "array-of-objects")
    if answer.type.startswith("ndarray of complex"):
        seen = f"Your array holds complex numbers ({answer.type.split()[-1]})."
        return Difference("dtype", f"{seen} {_due(expected)}", "complex-numbers")
    seen = f"Your function returned {article(answer.type)}, which cannot be compared."
    return Difference("type", f"{seen} {_due(expected)}")


def _due(expected: Value) -> str:
    due = described(expected)
    return f"{due[0].upper()}{due[1:]} is due."


def _difference(expected: Value, value: Value, rules: Rules) -> Difference | None:
    if isinstance(expected, np.ndarray):
        return (
            _array(expected, value, rules) if isinstance(value, np.ndarray) else _type(expected, value, rules)
        )
    if isinstance(expected, (tuple, list)):
        return _sequence(expected, value, rules)
    if isinstance(expected, Mapping):
        return _mapping(expected, value, rules)
    return _single(expected, value, rules)


def _type(expected: Value, value: Value, rules: Rules) -> Difference:
    due = described(expected)
    if rules.returns == "tensor":
        due = due.replace("NumPy array", "tensor")
    mistake = None
    if isinstance(expected, np.ndarray):
        forms: dict[type, str] = {list: "returns-a-list", tuple: "returns-a-tuple", float: "one-number"}
        mistake = forms.get(type(value))
    elif isinstance(value, tuple) and not isinstance(expected, (tuple, list, Mapping)):
        mistake = "returns-a-tuple"
    given = (
        "a list" if isinstance(value, list) else "a tuple" if isinstance(value, tuple) else described(value)
    )
    return Difference("type", f"Your function returned {given}; {due} is due.", mistake)


def _sequence(expected: Sequence, value: Value, rules: Rules) -> Difference | None:
    if not isinstance(value, (tuple, list)):
        return _type(expected, value, rules)
    if len(value) != len(expected):
        seen = f"Your function returned {len(value)} values; {len(expected)} are due."
        return Difference("shape", seen, "another-number-of-values")
    for i, (due, given) in enumerate(zip(expected, value, strict=True)):
        found = _difference(due, given, rules)
        if found:
            place = f"In the {ordinal(i + 1)} of the {len(expected)} values that you return: "
            return _inside(found, place, i)
    return None


def _mapping(expected: Mapping, value: Value, rules: Rules) -> Difference | None:
    if not isinstance(value, Mapping):
        return _type(expected, value, rules)
    for lack, holders, others in (("has no entry", expected, value), ("has an entry", value, expected)):
        strange = [key for key in holders if key not in others]
        if strange:
            known = ", ".join(map(repr, expected))
            return Difference("shape", f"Your result {lack} {strange[0]!r}; its entries are to be {known}.")
    for key in expected:
        found = _difference(expected[key], value[key], rules)
        if found:
            return _inside(found, f"Under {key!r}: ", key)
    return None


def _inside(found: Difference, place: str, at: int | str) -> Difference:
    seen = found.seen.replace("Your function returned", "there is", 1).replace("Your result", "the result", 1)
    return replace(found, seen=f"{place}{seen[0].lower()}{seen[1:]}", path=(at, *found.path))


def _single(expected: Value, value: Value, rules: Rules) -> Difference | None:
    if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(expected, str):
        value = value.item()
    if isinstance(expected, str) and isinstance(value, str):
        return _text("Your text", expected, value)
    numbers = (int, float)
    if type(expected) in numbers and type(value) in numbers:
        if type(expected) is int and type(value) is float:
            seen = f"Your function returned {value!r}, a float; a whole number (int) is due."
            return Difference("type", seen, "not-a-whole-number" if value == expected else None)
        exact = type(expected) is int
        if expected == value or (
            not exact and same_values(np.asarray(expected), np.asarray(value), rules.tolerance)
        ):
            return None
        yours, due = (str(x) if exact else number(x) for x in (value, expected))
        if yours == due:
            yours, due = f"{value:.9g}", f"{expected:.9g}"
        kind = "values" if np.isfinite(value) or not np.isfinite(expected) else "not finite"
        return Difference(kind, f"Your function returned {yours}; {due} is due.")
    if type(expected) is type(value):
        return (
            None
            if expected == value
            else Difference("values", f"Your function returned {value!r}; {expected!r} is due.")
        )
    return _type(expected, value, rules)


def _text(what: str, expected: str, value: str) -> Difference | None:
    if expected == value:
        return None
    due, given = expected.split("\n"), value.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(due, given)) if a != b), min(len(due), len(given)))
    line = f"in line {at + 1} " if len(due) > 1 or len(given) > 1 else ""
    if at == len(given):
        return Difference("values", f"{what} ends after line {at}; {_quoted(due[at])} is due next.")
    if at == len(due):
        return Difference(
            "values", f"{what} goes on {line}with {_quoted(given[at])}, where nothing more is due."
        )
    return Difference("values", f"{what} says {line}{_quoted(given[at])}; {_quoted(due[at])} is due.")


def _lines(text: str) -> str:
    """Printed text without blanks at the ends of its lines and empty lines at its end."""
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth")
    return words[n - 1] if n <= len(words) else f"{n}th"


def _array(expected: np.ndarray, value: np.ndarray, rules: Rules) -> Difference | None:
    if value.shape != expected.shape:
        if value.ndim == 0 and expected.ndim:
            return _type(expected, value, rules)
        seen = f"Your result has shape {value.shape}; {expected.shape} is due."
        return Difference("shape", seen, _reshaped(expected, value, rules))
    dtype = _dtype_difference(expected, value, rules)
    if dtype:
        return dtype
    wanted, got = viewed(expected, rules), viewed(value, rules)
    agree = close(wanted, got, rules.tolerance)
    if everywhere(agree):
        return None
    about = getattr(resolve(rules.view), "says", "") if rules.view else ""
    unfinite = ~np.isfinite(got.astype(np.float64)) & np.isfinite(wanted.astype(np.float64))
    if unfinite.any():
        where = tuple(int(i) for i in np.argwhere(unfinite)[0])
        seen = (
            f"{about}{int(unfinite.sum())} of your numbers should be finite and are not: "
            f"the first is {number(got[where])} at {_place(where)}."
        )
        return Difference("not finite", seen)
    square = value.ndim > 1 and value.shape[-1] == value.shape[-2] > 1
    turned = square and same_values(wanted, viewed(_turned(value), rules), rules.tolerance)
    mistake, near = (None, False) if rules.view or turned else _near(expected, value)
    means = (
        f"{STRUCTURAL['imprecise'][0][:-1]}: {_digits(expected, value)}." if mistake == "imprecise" else ""
    )
    mistake = "transposed" if turned else mistake
    return Difference("values", about + _worst(wanted, got, agree), mistake, means=means, near=near)


def _turned(value: np.ndarray) -> np.ndarray:
    return np.swapaxes(value, -1, -2).copy()


_NEARLY = 1e-2  # what is nearer than this, everywhere, is a matter of precision
_FLOAT32 = 3e-7  # of the largest number: so much is lost where one step is worked out in float32
PRECISION = ("imprecise", "precision-lost-on-the-way")


def _near(expected: np.ndarray, value: np.ndarray) -> tuple[str | None, bool]:
    """The mistake of form of numbers that are all nearly right ("rounded", "imprecise"…), and whether they may be."""
    if expected.dtype.kind != "f" or value.dtype.kind != "f" or expected.dtype == np.float16:
        return None, False
    wanted, got = expected.astype(np.float64), value.astype(np.float64)
    if not np.isfinite(wanted).all() or not np.isfinite(got).all():
        return None, False
    gap, size = np.abs(got - wanted), np.abs(wanted)
    slack = 1e-12 if expected.dtype == np.float64 else 1e-6
    for places in range(1, 9):
        if not (gap <= 0.51 * 10.0**-places + slack * (1 + size)).all():
            break  # too far away for these places, and so for more
        if np.allclose(got, np.round(wanted, places), rtol=slack, atol=slack) and got.any():
            return "rounded", False
    # A tiny share that is far off beside one that is right shows a step that was cut, not one that is imprecise.
    largest = size.max(initial=0.0)
    if not (gap <= _NEARLY * size + 1e-6 * largest).all():
        return None, bool((gap <= _NEARLY * size + 2e-3 * largest).all())
    with np.errstate(over="ignore"):
        single = np.array_equal(got, got.astype(np.float32).astype(np.float64))
    lost = expected.dtype == np.float64 and (gap <= (1e-6 if single else _FLOAT32) * largest).all()
    return "precision-lost-on-the-way" if lost else "imprecise", True


def _digits(expected: np.ndarray, value: np.ndarray) -> str:
    """How near two arrays are, in words."""
    wanted, got = expected.astype(np.float64), value.astype(np.float64)
    size = np.abs(wanted)
    worst = float(np.max(np.abs(got - wanted)[size > 0] / size[size > 0], initial=0.0))
    return f"by at most {worst:.1g} of each number"


def _dtype_difference(expected: np.ndarray, value: np.ndarray, rules: Rules) -> Difference | None:
    if rules.returns == "tensor":
        return None
    if value.dtype == expected.dtype:
        return None
    seen = f"Your result holds {value.dtype.name}; {expected.dtype.name} is due."
    if (expected.dtype == bool) != (value.dtype == bool):
        if expected.dtype != bool:
            return Difference("dtype", seen, "booleans-not-numbers")
        binary = bool(np.isin(value, (0, 1)).all())
        return Difference("dtype", seen, "numbers-not-booleans" if binary else "numbers-for-true-and-false")
    if expected.dtype.kind != "f":
        return None
    if value.dtype.kind != "f":
        return Difference("dtype", seen, "whole-numbers")
    if value.dtype.itemsize < expected.dtype.itemsize:
        return Difference("dtype", seen, "lower-precision")
    if rules.exact_dtype and value.dtype != expected.dtype:
        return Difference("dtype", seen, "higher-precision")
    return None


def _reshaped(expected: np.ndarray, value: np.ndarray, rules: Rules) -> str | None:
    if value.size != expected.size or value.dtype.kind not in "fiub":
        return None
    wanted = viewed(expected, rules)
    if value.ndim > 1 and _turned(value).shape == expected.shape and min(value.shape[-2:]) > 1:
        return "transposed" if same_values(wanted, viewed(_turned(value), rules), rules.tolerance) else None
    if value.squeeze().shape != expected.squeeze().shape:
        return None
    if not same_values(wanted, viewed(value.reshape(expected.shape), rules), rules.tolerance):
        return None
    if value.ndim == expected.ndim:
        return "transposed" if value.T.shape == expected.shape else None
    return "extra-axis" if value.ndim > expected.ndim else "missing-axis"


def _worst(wanted: np.ndarray, got: np.ndarray, agree: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        gap = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    gap = np.where(agree, -1.0, np.nan_to_num(gap, nan=np.inf, posinf=np.inf))
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape) if gap.ndim else ()
    where = tuple(int(i) for i in worst)
    yours, due = number(got[where]), number(wanted[where])
    if yours == due:  # they differ further behind the point
        yours, due = f"{float(got[where]):.9g}", f"{float(wanted[where]):.9g}"
    noun = "entries" if wanted.dtype == bool else "numbers"
    return (
        f"{int((~agree).sum())} of {agree.size} {noun} differ, most at {_place(where)}: "
        f"yours {yours}, expected {due}."
    )


def _place(where: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, where))}]" if where else "its only place"


def number(x: Any) -> str:
    """A number as a sentence gives it.

    >>> number(np.float64(0.123456)), number(np.True_)
    ('0.1235', 'True')
    """
    return str(bool(x)) if isinstance(x, (bool, np.bool_)) else f"{float(x) + 0.0:.4g}"


_PLAIN: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number (int)",
    float: "a number (float)",
    str: "a text (str)",
}


def described(value: Value) -> str:
    """What kind of thing a value is: "a NumPy array of shape (2, 3)"."""
    if isinstance(value, np.ndarray):
        return f"a NumPy array of shape {value.shape}"
    if isinstance(value, (tuple, list)):
        return f"{article(type(value).__name__)} of {len(value)} value{'' if len(value) == 1 else 's'}"
    if isinstance(value, Mapping):
        return f"a dict with the entries {', '.join(map(repr, value))}"
    return "None" if value is None else _PLAIN.get(type(value), article(type(value).__name__))


def article(noun: str) -> str:
    """A noun with the article that it needs.

    >>> article("int"), article("float64"), article("ndarray of object"), article("uint8")
    ('an int', 'a float64', 'an ndarray of object', 'a uint8')
    """
    spoken = noun.lower()
    vowel = spoken[:1] in "aeio" or (spoken.startswith(("nd", "un")) and not spoken.startswith("uni"))
    return f"{'an' if vowel else 'a'} {noun}"


# What else can be said of a wrong result, when no misconception explains it.


def failing_property(value: Value, given: Inputs, names: Sequence[str]) -> str | None:
    """The sentence of the first named property that `value` lacks; None if it has them all."""
    if value is None:
        return None
    for name in names:
        try:
            said = resolve(name)(value, given)
        except (ValueError, IndexError, TypeError, AttributeError):
            continue  # the property has no meaning for this shape
        if said:
            return said
    return None
