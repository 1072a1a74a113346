"""Whether two answers are the same, where one first differs from what was expected, and what its errors mean."""

import builtins
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from autograder.deadline import TookTooLong, deadline
from autograder.judging import kinds
from autograder.judging.asking import in_words
from autograder.judging.mistakes import NOT_WRITTEN, Difference
from autograder.judging.question import Answer, Inputs, Question, Raised, Rules, Value
from autograder.judging.wording import Speaking, article, megabytes, ordinal

COMPARING_SECONDS = 5.0  # of CPU time, for a course's own comparison in one case
_NO_END = "Your result takes too long to be compared with what is due."

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
    return kinds.same(one.value, other.value, rules)


# What the messages of Python, of NumPy and of Keras's three backends say, whatever numbers, names and marks are in
# them: a pattern, and the mistake of form that it is.
_MESSAGES = (
    (r"^AssertionError", "own-assert"),
    (r"^SystemExit", "ends-the-program"),
    (r"^RecursionError", "calls-itself"),
    (r"^(EOFError|StdinNotImplementedError)", "asks-the-keyboard"),
    (r"^KeyError", "entry-that-is-not-there"),
    (r"NoneType", "works-on-none"),
    (r"mismatch in its core dimension|not aligned|Matrix size-incompatible|"
     r"requires contracting dimensions|shapes cannot be multiplied|of batch2 tensor", "shapes-that-do-not-multiply"),
    (r"could not be broadcast|could not broadcast|shape mismatch|[Ii]ncompatible shapes|"
     r"must be broadcastable|must match the size of tensor", "shapes-that-do-not-broadcast"),
    (r"boolean index did not match", "index-of-another-shape"),
    (r"cannot reshape|cannot be reshaped|the requested shape has|invalid for input of size", "reshape-that-does-not-fit"),
    (r"must match exactly|number of dimensions|in both shapes must be equal|"
     r"other than the one being concatenated|Sizes of tensors must match except", "parts-that-do-not-join"),
    (r"must have the same shape", "parts-that-do-not-stack"),
    (r"not result in an equal division", "cut-that-does-not-come-out-even"),
    (r"is ambiguous", "array-for-yes-or-no"),
    (r"only (0-dimensional|length-1|size-1)", "array-for-a-single-number"),
    (r"^IndexError: (index -?\d+ is out of bounds|list index out of range|string index)", "place-that-is-not-there"),
    (r"out of bounds|tuple index out of range|not enough values to unpack|too many values to unpack|"
     r"too many indices", "axis-that-is-not-there"),
    (r"axes don't match|axes do not match|repeated axis", "axes-that-do-not-match"),
    (r"is not defined", "name-not-defined"),
    (r"inhomogeneous shape", "arrays-of-several-shapes"),
    (r"slice indices must be integers|float\S* object cannot be interpreted as an integer|"
     r"a single integer, got '|indices must be integers or slices, not float", "fraction-for-a-place"),
    (r"boolean (negative|subtract)", "minus-on-booleans"),
    (r"ufunc '(invert|bitwise_\w+)' not supported", "logic-on-numbers"),
    (r"unexpected keyword argument|positional argument|multiple values for argument", "call-that-does-not-fit"),
    (r"Cannot cast ufunc", "fractions-into-whole-numbers"),
)  # fmt: skip


@cache
def mistake_in(error: str) -> str | None:
    """Which mistake of form an exception is ("ValueError: …"), if it is one of the usual ones."""
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


@dataclass(frozen=True, eq=False)
class Case:
    """A question, the answer to it, how it is compared, and the first difference; None for a right answer."""

    question: Question
    answer: Answer
    rules: Rules
    difference: Difference | None

    @property
    def given(self) -> Inputs:
        return self.question.inputs

    @property
    def due(self) -> Value:
        return self.question.expected

    @property
    def value(self) -> Value:
        return self.answer.value

    @property
    def mistake(self) -> str | None:
        """The mistake of form that the difference is, if it is one."""
        return self.difference.mistake if self.difference else None

    @property
    def raises(self) -> bool:
        """Whether what is wrong is an error."""
        return self.difference is not None and self.difference.kind == "error"


def first_difference(
    expected: Value, answer: Answer, rules: Rules, given: Inputs | None = None
) -> Difference | None:
    """The first thing in which an answer to these inputs is not as expected; None for a right answer.

    That it held more bytes at once than they allow is said last, of a result that is right.
    """
    given = given or Inputs()
    found, memory = _first(expected, answer, rules, given), given.memory
    if found is None and memory is not None and answer.held > memory:
        held, allowed = megabytes(answer.held), megabytes(memory)
        seen = f"Your result is right, but your function holds {held} at once, where {allowed} are allowed."
        return Difference("memory", seen, "too-much-memory")
    return found


def _first(expected: Value, answer: Answer, rules: Rules, given: Inputs) -> Difference | None:
    if isinstance(expected, Raised):
        return _not_raised(expected, answer, rules)
    printed = rules.returns == "printed"
    told = given.asked and not printed and not rules.compare and isinstance(answer.value, tuple)
    if told and (found := _of_what_was_asked(expected, answer.value, rules, given)):
        return found
    if answer.error:
        return _error(answer, given)
    if not printed and answer.type == "NoneType" and expected is not None:
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    if not printed and answer.value is None and answer.type != "NoneType":
        return _not_plain(expected, answer, rules, given)
    if _asked_last(answer, given):
        return _not_plain(expected, answer, rules, given)
    if rules.compare:
        found = _by_comparer(expected, answer, rules, given)
    elif rules.call == "in place":
        found = _in_place(expected, answer.value, rules, given)
    elif printed:
        found = kinds.text_difference(
            "What your function prints", _lines(str(expected)), _lines(answer.printed)
        )
    elif (
        rules.returns == "tensor"
        and isinstance(expected, np.ndarray)
        and answer.type not in ("tensor", "ndarray")
    ):
        found = kinds.of_another_type(expected, answer.value, rules, Speaking())
    elif not told:
        found = kinds.difference(expected, answer.value, rules)
    if found is None and answer.modified:
        names = " and ".join(f"`{n}`" for n in answer.modified)
        return Difference("modified", f"Your function changed its argument {names}.", "modifies-argument")
    return found


def _not_raised(due: Raised, answer: Answer, rules: Rules) -> Difference | None:
    """What is wrong where an error is due: none came, one of another type, or one that says something else."""
    wanted = article(due.type)
    if not answer.error:
        given = "None" if answer.type == "NoneType" else article(answer.type)
        came = "came to its end" if rules.call == "in place" else f"returned {given}"
        return Difference("type", f"Your function {came}; {wanted} is to be raised here.")
    if answer.raised == "NotImplementedError" and due.type != "NotImplementedError":
        return _error(answer, Inputs())
    if not _is_kind_of(answer.raised, due.type):
        return Difference(
            "error",
            f"Your function raised {answer.error.rstrip('.')}. {wanted.capitalize()[0]}{wanted[1:]} is due here.",
        )
    if due.part and due.part not in answer.error:
        return Difference(
            "error", f"Your function raised {answer.error.rstrip('.')}. Its text is to hold {due.part!r}."
        )
    return None


def _is_kind_of(name: str, wanted: str) -> bool:
    """Whether an error of one name is also one of another; only Python's own and NumPy's are known by more than it."""
    given, due = (getattr(builtins, text, None) for text in (name, wanted))
    if name == "LinAlgError":
        given = ValueError if wanted != name else None
    if isinstance(given, type) and isinstance(due, type):
        return issubclass(given, due)
    return name == wanted or wanted in ("Exception", "BaseException")


def _of_what_was_asked(due: Value, value: Value, rules: Rules, given: Inputs) -> Difference | None:
    """Where what came of it when the result was asked, as far as that went, is not as due."""
    for i, (asked, one, other) in enumerate(zip(given.asked, due, value, strict=False)):
        about, verb = in_words(asked, _in_a_call)
        speaking = Speaking(f"{about.rstrip(',')}: ", f"{about} {verb}", "it", names=True)
        if found := kinds.difference(one, other, rules, speaking):
            return replace(found, path=(i, *found.path))
    return None


def _asked_last(answer: Answer, given: Inputs) -> tuple[str, str] | None:
    """What was being asked of the result when no more values came, in words; None if it was not asked then."""
    if not isinstance(answer.value, tuple) or len(answer.value) >= len(given.asked):
        return None
    return in_words(given.asked[len(answer.value)], _in_a_call)


def _in_a_call(value: Value) -> str:
    return kinds.words(value) if isinstance(value, np.ndarray) else kinds.short(value)


def _error(answer: Answer, given: Inputs) -> Difference:
    if answer.raised == "NotImplementedError":
        return Difference("error", NOT_WRITTEN, "not-written-yet")
    stop = "" if answer.error.endswith((".", "!", "?")) else "."
    mistake = mistake_in(answer.error)
    means = _in_plain_words(mistake, answer) if mistake else ""
    about, _ = _asked_last(answer, given) or ("Your function", "")
    no_call = re.fullmatch(r"TypeError: '(\w+)' object is not callable", answer.error)
    # With a line, it is the student's code that calls something; without, it is us.
    if no_call and not answer.line and about.startswith("Your result, called"):
        seen = f"Your function returned {article(no_call[1])}; what can be {about[13:-1]} is due."
        return Difference("type", seen)
    return Difference("error", f"{about} raised {answer.error}{stop}", mistake, means=means)


# The same with the sizes and names of one case: a mistake of form, what an error's message says, and what that means.
_WITH_ITS_SIZES = (
    ("shapes-that-do-not-multiply", r"size (\d+) is different from (\d+)",
     "In the product on this line the left array has rows of {1} numbers, and the right one columns of {0}: the two "
     "must be equal."),
    ("shapes-that-do-not-multiply", r"shapes (\([\d, ]*\)) and (\([\d, ]*\)) not aligned",
     "In the product on this line the shapes are {0} and {1}: the last size on the left must equal the first (of a "
     "batch, the last but one) on the right."),
    ("shapes-that-do-not-broadcast", r"shapes? (\([\d,]*\)).*?(\([\d,]*\))",
     "The line puts arrays of shapes {0} and {1} together number by number. Counted from the end, two sizes must be "
     "equal, or one of them 1."),
    ("place-that-is-not-there", r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
     "The line asks for place {0} along axis {1}, which has only {2}."),
    ("entry-that-is-not-there", r"(?s)^.*?: (.*)", "A mapping is asked for {0}, a name that it does not hold."),
    ("name-not-defined", rf"name '({'|'.join(sorted(sys.stdlib_module_names))})'",
     "`{0}` is one of Python's modules: `import {0}` has to come before it is used."),
    ("name-not-defined", r"name '(\w+)'", "When the line runs, nothing is called `{0}`."),
)  # fmt: skip


def _in_plain_words(mistake: str, answer: Answer) -> str:
    """What an error means, with its own sizes and names; "" where the general sentence says it all."""
    if mistake == "calls-itself" and re.search(rf"\b{re.escape(answer.within)}\(", answer.line):
        return f"`{answer.within}` calls itself on this line, again and again, and nothing ends it."
    fractions = "==" in answer.line and not re.search(r"shape|len\(|ndim|dtype", answer.line)
    if mistake == "own-assert" and fractions:
        return (
            "It is an `assert` of your own that failed. Numbers with a fraction are rounded, so `==` between "
            "two of them is False again and again where both are right."
        )
    for name, pattern, means in _WITH_ITS_SIZES:
        if name == mistake and (found := re.search(pattern, answer.error)):
            return means.format(*map(_spaced, found.groups()))
    return ""


def _spaced(said: str) -> str:
    """A shape as Python writes it, from "(2,3)"; what is none as it is."""
    shape = said if re.fullmatch(r"\([\d, ]*\)", said) else ""
    return shape.replace(",", ", ").replace(", )", ",)").replace("  ", " ") or said


def _in_place(due: dict, left: Value, rules: Rules, given: Inputs) -> Difference | None:
    """Where what a call has left in its arguments is not as due; what it gives back counts where that is due, too.

    Both hold what was changed, see `answer.ask`; an argument in neither is as it was given.
    """
    left = left if isinstance(left, dict) else {}
    before = dict(enumerate(given.args)) | dict(given.kwargs)
    for at in sorted(before, key=lambda at: at not in due):  # those that are to be changed first
        name = f"its {ordinal(at + 1)} argument" if isinstance(at, int) else f"its argument `{at}`"
        speaking = Speaking().inside(f"In {name}, after the call: ")
        found = kinds.difference(due.get(at, before[at]), left.get(at, before[at]), rules, speaking)
        if found and at not in left:
            seen = f"Your function left {name} as it was, and is to change it: {kinds.words(due[at])} is due there."
            means = "It gives another one its name, perhaps, or works on a copy."
            return Difference("values", seen, means=means)
        if found and at not in due:
            return Difference("modified", f"Your function changed {name}.", "modifies-argument")
        if found:
            return replace(found, path=(at, *found.path))
    if "" in due and "" not in left:
        return Difference("nothing", "Your function returned None.", "returns-nothing")
    found = kinds.difference(due[""], left[""], rules) if "" in due else None
    return found and replace(found, path=("", *found.path))


def _by_comparer(expected: Value, answer: Answer, rules: Rules, given: Inputs) -> Difference | None:
    value = answer.printed if rules.returns == "printed" else answer.value
    comparer = kinds.resolve(rules.compare)
    said: Any = _NO_END
    try:
        seen = (kinds.copied(expected), kinds.copied(value), rules.tolerance)
        more = (kinds.copied_inputs(given),) if _sees_inputs(comparer) else ()
        with deadline(COMPARING_SECONDS, ""):  # or until one around it is over
            said = comparer(*seen, *more)
    except TookTooLong:
        said = _NO_END
    except Exception as error:  # noqa: BLE001 - a comparer meets whatever an answer may be
        if type(value) is not type(expected):
            return kinds.of_another_type(expected, value, rules, Speaking())
        said = f"Your result cannot be compared with what is due ({type(error).__name__})."
    return Difference("time" if said is _NO_END else "values", str(said)) if said else None


@cache
def _sees_inputs(comparer: Callable) -> bool:
    """Whether a comparer takes the inputs, too."""
    try:
        inspect.signature(comparer).bind(None, None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _not_plain(expected: Value, answer: Answer, rules: Rules, given: Inputs) -> Difference:
    if asked := _asked_last(answer, given):
        seen = f"{' '.join(asked)} {article(answer.type)}, which cannot be compared."
        return Difference("type", f"{seen} {_due(expected[len(answer.value)])}")
    if rules.call == "in place":
        seen = f"What your function leaves in its arguments, or returns, holds {article(answer.type)}"
        return Difference("type", f"{seen}, which cannot be compared.")
    if rules.call == "figure":
        return Difference("type", f"Your figure holds {article(answer.type)}, which cannot be compared.")
    if answer.type.startswith("ndarray of object"):
        seen = "Your array holds Python objects (its dtype is object) instead of numbers."
        return Difference("dtype", seen, "array-of-objects")
    if answer.type.startswith("ndarray of complex"):
        seen = f"Your array holds complex numbers ({answer.type.split()[-1]})."
        return Difference("dtype", f"{seen} {_due(expected)}", "complex-numbers")
    seen = f"Your function returned {article(answer.type)}, which cannot be compared."
    return Difference("type", f"{seen} {_due(expected)}")


def _due(expected: Value) -> str:
    due = kinds.words(expected)
    return f"{due[0].upper()}{due[1:]} is due."


def _lines(text: str) -> str:
    """Printed text without blanks at the ends of its lines and empty lines at its end."""
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


# What else can be said of a wrong result, when no misconception explains it.


def failing_property(value: Value, given: Inputs, names: Sequence[str]) -> str | None:
    """The sentence of the first named property that `value` lacks; None if it has them all."""
    if value is None:
        return None
    asked = kinds.copied_inputs(given)
    for name in names:
        try:
            said = kinds.resolve(name)(kinds.copied(value), asked)
        except (ValueError, IndexError, TypeError, AttributeError):
            continue  # the property has no meaning for this shape
        if said:
            return said
    return None
