"""Explain the errors that a student's function raises, in plain words.

The families of errors are those of Python, NumPy and Keras's backends. Names that belong to other
libraries, such as PyTorch's `masked_fill`, are translated into NumPy's.
"""

import ast
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

import numpy as np

from autograder.core.text_format import format_count, join_words
from autograder.judging.code_patterns import (
    explain_in_place_call,
    explain_reduction_of_two,
    find_calls,
    find_used_in_place_call,
    parse_line,
)
from autograder.judging.numpy_equivalents import (
    KEYWORD_EQUIVALENTS,
    describe_equivalent,
    describe_keras_equivalent,
    explain_missing_library,
    find_numpy_equivalent,
)
from autograder.values.case_records import CallOutcome
from autograder.values.wording import add_article

# Patterns in the error messages of Python, NumPy and Keras's three backends, each with the mistake
# (a key of `MISTAKES`) that it shows.
_ERROR_PATTERNS = (
    (r"^AssertionError", "own-assert"),
    (r"^SystemExit", "ends-the-program"),
    (r"^RecursionError", "calls-itself"),
    (r"^(EOFError|StdinNotImplementedError)", "asks-the-keyboard"),
    (r"^KeyError", "entry-that-is-not-there"),
    (r"^UnboundLocalError|^NameError: cannot access free variable", "variable-without-a-value"),
    (r"(?<!out=)NoneType", "works-on-none"),  # `out=NoneType` is NumPy's own, in PyTorch's error
    (r"^(ModuleNotFoundError|ImportError)", "package-that-is-not-there"),
    (r"object is not callable", "not-a-function"),
    (r"'(function|method|builtin_function_or_method|type|numpy\.ufunc|_ArrayFunctionDispatcher|method-wrapper|"
     r"method_descriptor)' object is not subscriptable", "square-brackets-for-a-call"),
    (r"object is not subscriptable|invalid index to scalar variable", "index-into-one-number"),
    (r"too many values to unpack", "more-values-than-names"),
    (r"not enough values to unpack", "fewer-values-than-names"),
    (r"^AttributeError", "attribute-that-is-not-there"),
    (r"mismatch in its core dimension|not aligned|Matrix size-incompatible|"
     r"requires contracting dimensions|shapes cannot be multiplied|of batch2 tensor", "shapes-that-do-not-multiply"),
    (r"does not have enough dimensions|Input operand 1 has a mismatch|Scalar operands are not allowed",
     "product-with-one-number"),
    (r"could not be broadcast|could not broadcast|shape mismatch|[Ii]ncompatible shapes|"
     r"must be broadcastable|must match the size of tensor", "shapes-that-do-not-broadcast"),
    (r"boolean index did not match", "index-of-another-shape"),
    (r"boolean array indexing assignment", "selection-on-one-side"),
    (r"did not contain a loop with signature matching types.*'<U|could not convert string",
     "text-for-numbers"),
    (r"cannot reshape|cannot be reshaped|the requested shape has|invalid for input of size|"
     r"can only specify one unknown dimension", "reshape-that-does-not-fit"),
    (r"must match exactly|number of dimensions|in both shapes must be equal|"
     r"other than the one being concatenated|Sizes of tensors must match except", "parts-that-do-not-join"),
    (r"must have the same shape", "parts-that-do-not-stack"),
    (r"not result in an equal division", "cut-that-does-not-come-out-even"),
    (r"is ambiguous", "array-for-yes-or-no"),
    (r"only (0-dimensional|length-1|size-1)|only integer scalar arrays|an array of size 1 to a Python scalar|"
     r"'(tuple|list)' object cannot be interpreted as an integer", "array-for-a-single-number"),
    (r"inhomogeneous shape", "arrays-of-several-shapes"),
    (r"setting an array element with a sequence", "several-numbers-for-one-place"),
    (r"^IndexError: (index -?\d+ is out of bounds|list index out of range|string index)", "place-that-is-not-there"),
    (r"out of bounds|tuple index out of range|too many indices", "axis-that-is-not-there"),
    (r"axes don't match|axes do not match|repeated axis|permutation isn't a permutation",
     "axes-that-do-not-match"),
    (r"is not defined", "name-not-defined"),
    (r"arrays used as indices must be of integer", "fractions-for-places"),
    (r"slice indices must be integers|float\S* object cannot be interpreted as an integer|"
     r"only integers, slices|a single integer, got '|indices must be integers or slices, not float",
     "fraction-for-a-place"),
    (r"indices must be integers or slices, not tuple", "list-for-an-array"),
    (r"can't multiply sequence by non-int|only concatenate (list|tuple)|unsupported operand type\(s\) for "
     r"[-+*/@]+=?(?: or pow\(\))?: '(list|tuple|dict|range)'|bad operand type for unary [-~]: '(list|tuple)'",
     "list-for-an-array"),
    (r"unsupported operand type|bad operand type", "operator-that-does-not-fit"),
    (r"object is not iterable|iteration over a 0-d array", "loop-over-one-number"),
    (r"has no len\(\)|len\(\) of unsized object", "length-of-one-number"),
    (r"does not support item assignment", "values-that-cannot-change"),
    (r"Cannot interpret '.*' as a data type|data type '.*' not understood|Invalid (integer|float\w*) data type|"
     r"data type .* not inexact|Type must be a sub-type of ndarray", "not-a-dtype"),
    (r"boolean (negative|subtract)", "minus-on-booleans"),
    (r"ufunc '(invert|bitwise_\w+)' not supported", "logic-on-numbers"),
    (r"unexpected keyword argument|invalid keyword argument|positional argument|multiple values for argument|"
     r"return arrays must be of ArrayType|order must be str|"
     r"takes .* arguments? |either both or neither of x and y|"
     r"expected at (most|least) \d+ arguments?|missing \d+ required|"
     r"invalid combination of arguments",
     "call-that-does-not-fit"),
    (r"Cannot cast ufunc", "fractions-into-whole-numbers"),
    (r"must have the same dtype|to EagerTensor of dtype|to have the same dtype|"
     r"expected scalar type \w+ but found", "tensors-of-two-dtypes"),
)  # fmt: skip

# Two errors of one of these kinds have the same cause only if their whole messages are equal.
SPECIFIC_FAMILIES = {
    "variable-without-a-value",
    "package-that-is-not-there",
    "not-a-function",
    "square-brackets-for-a-call",
    "index-into-one-number",
    "more-values-than-names",
    "fewer-values-than-names",
    "attribute-that-is-not-there",
    "product-with-one-number",
    "several-numbers-for-one-place",
    "list-for-an-array",
    "operator-that-does-not-fit",
    "loop-over-one-number",
    "length-of-one-number",
    "values-that-cannot-change",
    "not-a-dtype",
}

# Errors of these kinds are explained so well that the search for a repair of the student's code
# leaves them out: most changes that avoid such an error only silence it.
FULLY_EXPLAINED_ERRORS = frozenset(
    SPECIFIC_FAMILIES
    | {
        "call-that-does-not-fit",
        "asks-the-keyboard",
        "ends-the-program",
        "calls-itself",
        "name-not-defined",
        "own-assert",
    }
)


@cache
def classify_error(error: str) -> str | None:
    """Return the name of the mistake behind an error, a key of `MISTAKES`; None if unknown."""
    for pattern, mistake in _ERROR_PATTERNS:
        if re.search(pattern, error):
            return mistake
    return None


def make_error_cause_key(error: str) -> str:
    """Return a text that is the same for two errors of one type if they have the same cause."""
    text = error.partition(": ")[2]
    mistake = classify_error(error)
    if mistake is None:
        return " ".join(word for word in text.split() if word.isalpha())
    if mistake in SPECIFIC_FAMILIES:
        return f"{mistake} {text}"
    if mistake.startswith("shapes-that"):  # the sizes must be equal, too
        match = re.search(r"size (\d+) is different from (\d+)|: (\d+) \(dim \d+\) != (\d+)", text)
        shapes = re.findall(r"\([\d,]*\)", text)
        sizes = filter(None, match.groups()) if match else shapes
        return " ".join([mistake, *sorted(sizes)])
    return mistake


# Explanations that quote sizes and names from the error message. Each row has the name of the
# mistake (a key of `MISTAKES`), a pattern for the message, and a text. The groups of the pattern
# fill the braces in the text.
_ERROR_EXPLANATIONS = (
    ("shapes-that-do-not-multiply", r"Output operand",
     "A matrix product takes two arrays. The third one on this line is the array that would get "
     "the result, and its shape does not fit."),
    ("shapes-that-do-not-multiply", r"size (\d+) is different from (\d+)",
     "In the matrix product on this line, the left array has rows of {1} numbers and the right array has columns of "
     "{0} numbers. The two must be equal."),
    ("shapes-that-do-not-multiply", r"shapes (\([\d, ]*\)) and (\([\d, ]*\)) not aligned",
     "The matrix product on this line is of shapes {0} and {1}. The last size of the left array must be the first "
     "size of the right array (in a batch, its last but one)."),
    ("shapes-that-do-not-broadcast", r"shapes? (\([\d,]*\)).*?(\([\d,]*\))",
     "The line combines arrays of shapes {0} and {1} number by number. Compare the sizes from the end: two sizes must "
     "be equal, or one of them must be 1."),
    ("place-that-is-not-there", r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)",
     "The line asks for index {0} along axis {1}, whose length is {2} (the first index is 0)."),
    ("axis-that-is-not-there", r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
     "The line asks for axis {0} of an array whose number of axes is {1} (the first is axis 0)."),
    ("entry-that-is-not-there", r"(?s)^.*?: (.*)", "The mapping (dict) has no entry {0}."),
    ("more-values-than-names", r"expected (\d+), got (\d+)",
     "There are {1} values on the right of `=`, but {0} names on the left."),
    ("more-values-than-names", r"expected (\d+)",
     "There are more values on the right of `=` than the {0} names on the left."),
    ("fewer-values-than-names", r"expected (\d+), got (\d+)",
     "There are {0} names on the left of `=`, but only {1} on the right."),
    ("loop-over-one-number", r"'(int|float|bool)' object is not iterable",
     "A loop, `sum`, `max` or `zip` needs several values, and here it gets a single number (of type {0})."),
    ("length-of-one-number", r"type '(\w+)' has no len",
     "`len` counts the entries of a list or an array; this is a single value of type {0}."),
    ("package-that-is-not-there", r"No module named '([\w.]+)'",
     "The package `{0}` is not installed here, and it is not allowed in this course's answers."),
    ("package-that-is-not-there", r"cannot import name '(\w+)' from '([\w.]+)'",
     "`{1}` is there, but it has nothing called `{0}`. Perhaps the name is that of an older version."),
    ("call-that-does-not-fit", r"return arrays must be of ArrayType",
     "A NumPy function gets something that is no array for its argument `out`: the third one of `np.max(x, axis, out)`. "
     "Write the name of the argument that you mean, as in `keepdims=True`."),
    ("not-a-dtype", r"Cannot interpret '(\d+)' as a data type",
     "The number {0} stands where the dtype is expected. A shape with several sizes is one tuple, with brackets of "
     "its own: `np.ones((2, 3))`, not `np.ones(2, 3)`."),
    ("not-a-dtype", r"Invalid integer data type",
     "`np.iinfo` describes types of whole numbers; this dtype is a float, and `np.finfo` describes those."),
    ("tensors-of-two-dtypes", r"got tf\.(\w+) != tf\.(\w+)",
     "The line combines a tensor of {0} with a tensor of {1}, and TensorFlow converts neither of "
     "them."),
    ("tensors-of-two-dtypes", r"Cannot convert (\S+) to EagerTensor of dtype (\w+)",
     "The line combines the number {0} with a tensor of {1}, and TensorFlow does not convert the "
     "tensor."),
    ("not-a-dtype", r"not inexact",
     "`np.finfo` describes float types; this dtype holds whole numbers, and `np.iinfo` describes those."),
)  # fmt: skip


def explain_error(mistake: str, outcome: CallOutcome) -> str:
    """Explain an error with the sizes and names in its message, and with the line that raised it.

    Return "" if the general text of `MISTAKES` is to be used.
    """
    explain = _EXPLAINERS.get(mistake)
    if explain:
        text = explain(outcome)
        if text:
            return text
    for name, pattern, explanation in _ERROR_EXPLANATIONS:
        if name != mistake:
            continue
        match = re.search(pattern, outcome.error)
        if match:
            return explanation.format(*map(_format_shape, match.groups()))
    return ""


def choose_hint(mistake: str, outcome: CallOutcome) -> str | None:
    """Return the hint that belongs to the text of `explain_error`; "" if it needs none.

    Return None if the general hint of `MISTAKES` fits.
    """
    if "than-names" in mistake and "the values only" in explain_error(mistake, outcome):
        return ""
    if mistake == "more-values-than-names" and "np.split" in explain_error(mistake, outcome):
        return "Into how many parts should the axis be cut?"
    if mistake == "variable-without-a-value" and "You call a variable" in explain_error(
        mistake, outcome
    ):
        return ""
    if mistake == "array-for-yes-or-no":
        return _choose_hint_on_truth(outcome)
    if _explanation_names_right_code(mistake, outcome):
        return ""
    if "NumPy has no function" in explain_error(mistake, outcome):
        # There is no object whose type could be printed.
        return (
            "Which functions of NumPy do the same together? Other libraries have names that NumPy "
            "does not have."
        )
    return None


def _explanation_names_right_code(mistake: str, outcome: CallOutcome) -> bool:
    """Return True if an error's explanation names the right code, so that no hint is needed."""
    error = outcome.error
    if mistake == "attribute-that-is-not-there":
        name = re.search(r"has no attribute '(\w+)'", error)
        is_container = re.search(
            r"'(dict|list|tuple|function|builtin_function_or_method|numpy\.ufunc)' object", error
        )
        is_translated = "In Keras:" in _explain_attribute(outcome)
        return bool(is_container or is_translated or (name and find_numpy_equivalent(name[1])))
    if mistake == "name-not-defined":
        name = re.search(r"name '(\w+)' is not defined", error)
        return bool(
            name and (name[1] in sys.stdlib_module_names or explain_missing_library(name[1]))
        )
    if mistake == "not-a-function":
        return bool(re.search(r"\.(shape|size)\s*\(", outcome.line))
    if mistake == "operator-that-does-not-fit" and "not been called" in _explain_operator(outcome):
        return True
    if mistake == "call-that-does-not-fit":
        is_explained = ".view(" in outcome.line or "order must be str" in error
        is_explained = is_explained or "In Keras:" in _explain_wrong_arguments(outcome)
        return is_explained or bool(_explain_keyword_of_another_library(outcome))
    if mistake == "array-for-a-single-number" and "only integer scalar arrays" in error:
        return True
    if mistake == "not-a-dtype" and "Cannot interpret" in error:
        return True
    if mistake == "shapes-that-do-not-multiply":
        return "Output operand" in error
    explain = _EXPLAINERS_THAT_NAME_THE_RIGHT_CODE.get(mistake)
    return bool(explain and explain(outcome))


def _format_shape(text: str) -> str:
    """Format a shape as Python does, "(2, 3)" for "(2,3)"; other text stays as it is."""
    if not re.fullmatch(r"\([\d, ]*\)", text):
        return text
    return text.replace(",", ", ").replace(", )", ",)").replace("  ", " ")


def _get_line(outcome: CallOutcome) -> str:
    """Return the line of the student's code that raised the error, without the line's number."""
    return outcome.line.partition(": ")[2]


def _explain_endless_recursion(outcome: CallOutcome) -> str:
    if not re.search(rf"\b{re.escape(outcome.within)}\(", outcome.line):
        return ""
    return f"`{outcome.within}` calls itself on this line, again and again, and nothing ends it."


def _name_type(name: str) -> str:
    """Return the name of a type in words with an article: "an array", "a tuple", "a function"."""
    if name == "numpy.ndarray":
        return "an array"
    if name.endswith("Tensor") or name == "ArrayImpl":
        return "a tensor"
    if name in FUNCTION_TYPES:
        return "a function"
    if re.fullmatch(r"numpy\.(float|int|uint|bool)\w*", name):
        return "a single number"
    return add_article(name)


FUNCTION_TYPES = (
    "function",
    "method",
    "builtin_function_or_method",
    "numpy.ufunc",
    "numpy._ArrayFunctionDispatcher",
)


def _explain_own_assert(outcome: CallOutcome) -> str:
    if "==" not in outcome.line or re.search(r"shape|len\(|ndim|dtype", outcome.line):
        return ""
    return (
        "An `assert` of your own failed. Numbers with a fraction are rounded, so `==` between two of "
        "them is often False although both are right."
    )


# Attributes of arrays that are not methods, so that a call such as `x.shape()` is a mistake.
_PLAIN_ATTRIBUTES = ("T", "mT", "shape", "ndim", "size", "dtype", "real", "imag", "nbytes")


def _explain_call_of_a_value(outcome: CallOutcome) -> str:
    """Explain "… object is not callable" by the call on the line, such as `x.shape(0)`."""
    code = _get_line(outcome)
    match = re.search(r"'([\w.]+)' object is not callable", outcome.error)
    called_type = match[1] if match else "value"
    attribute = re.search(rf"\.({'|'.join(_PLAIN_ATTRIBUTES)})\s*\(", code)
    argument = re.search(r"\.(?:shape|size)\s*\(\s*(-?\d+)\s*\)", code)
    axis = argument[1] if argument else "0"
    if attribute and attribute[1] == "shape":
        return f"`shape` is a tuple, not a function: write `x.shape[{axis}]`, with square brackets."
    if attribute and attribute[1] == "size":
        if re.search(r"\.size\s*\(\s*\)", code):
            return (
                "`size` is a number in NumPy, not a function (in PyTorch it is one): "
                "`x.shape` is the tuple of all sizes."
            )
        return (
            "`size` is a number in NumPy, not a function (in PyTorch it is one): "
            f"for the size of one axis write `x.shape[{axis}]`."
        )
    if attribute:
        return f"`.{attribute[1]}` is no function: write it without the round brackets."
    if called_type == "module":
        return "A module, such as `np.random`, cannot be called; call one of the functions in it."
    if re.search(r"[\d)]\s*\(", code):
        return (
            f"Round brackets directly after a value call it like a function, and here the value is "
            f"{_name_type(called_type)}. Perhaps a `*`, an `@` or a comma is missing before the bracket."
        )
    name = re.search(r"\b([A-Za-z_]\w*)\s*\(", code)
    subject = f"`{name[1]}`" if name and code.count("(") == 1 else "Something on this line"
    return (
        f"{subject} is {_name_type(called_type)} and not a function, but round brackets follow it. Use square "
        "brackets for an index, or `@` or `*` for a product; perhaps a variable has the name of a function."
    )


def _explain_square_brackets(outcome: CallOutcome) -> str:
    name = re.search(r"\b((?:np|ops|math)\.[\w.]+|[A-Za-z_]\w*(?:\.\w+)*)\s*\[", _get_line(outcome))
    subject = (
        f"`{name[1]}`" if name and _get_line(outcome).count("[") == 1 else "Something on this line"
    )
    return f"{subject} is a function. A function is called with round brackets, `f(x)`; `f[x]` is an index."


def _explain_unpacking(outcome: CallOutcome) -> str:
    """Explain an error in code such as `n, d = x.shape`: the array has more, or fewer, axes."""
    code = _get_line(outcome)
    target = code.partition("=")[0]
    counts = re.search(r"expected (\d+), got (\d+)", outcome.error)
    if counts and "zip(" in code:
        return (
            f"There are {counts[1]} names on the left of `=`, but only {counts[2]} on the right: "
            "`zip` stops at the end of the shortest of its arguments."
        )
    reduction = re.search(r"=\s*(?:np\.|\w+\.)(max|min)\(", code)
    if reduction and target.count(",") == 1:
        return (
            f"NumPy's `{reduction[1]}` returns the values only. (PyTorch's returns the values and "
            f"their places.) In NumPy, `np.arg{reduction[1]}` finds the places."
        )
    if re.search(r"\bnp\.(array_)?split\(", code) and "too many" in outcome.error:
        return (
            "`np.split(x, n)` makes n parts, and that is more than the names on the left "
            "of `=`. (PyTorch's `split` takes the length of a part.)"
        )
    if not re.search(r"\.shape\s*$", code) or "," not in target:
        return ""
    # Nothing stands after the comma of `n, = x.shape` and `(n,) = x.shape`.
    names = [name for name in target.split(",") if name.strip(" ()[]")]
    comparison = "more" if "too many" in outcome.error else "fewer"
    return (
        f"The array has {comparison} axes than the {format_count(len(names), 'name')} on the left "
        "of `=`. `*rest, n = x.shape` or `x.shape[-1]` works for any number of axes."
    )


def _explain_variable_without_value(outcome: CallOutcome) -> str:
    match = re.search(r"variable '(\w+)'", outcome.error)
    if not match:
        return ""
    name, code = match[1], _get_line(outcome)
    if re.search(rf"\b{name}\s*(?:[-+*/@]|//|\*\*)=", code):
        return (
            f"The line changes `{name}`, but the function has given it no value before. "
            f"Give `{name}` a first value above the loop."
        )
    if re.search(rf"\b{name}\b[^=]*=[^=].*\b{name}\s*[\(\[]", code):
        return (
            f"You call a variable `{name}`. In the whole function this name then means the "
            f"variable, also where you mean the other `{name}`. Give your variable another name."
        )
    return (
        f"`{name}` has no value yet when the line runs: it is assigned only in an `if`, a loop or a later line "
        "that did not run in this case."
    )


def _explain_undefined_name(outcome: CallOutcome) -> str:
    match = re.search(r"name '(\w+)' is not defined", outcome.error)
    if not match:
        return ""
    name = match[1]
    if name in sys.stdlib_module_names:
        return f"`{name}` is one of Python's modules. Write `import {name}` before you use it."
    library = explain_missing_library(name)
    if library:
        attribute = re.search(rf"\b{name}(?:\.\w+)*\.(\w+)", _get_line(outcome))
        equivalent = describe_equivalent(attribute[1] if attribute else name)
        if attribute and not equivalent and hasattr(np, attribute[1]):
            equivalent = f"In NumPy: `np.{attribute[1]}`."
        return " ".join(filter(None, (library, equivalent)))
    if find_numpy_equivalent(name):
        return f"Nothing is called `{name}` here. {describe_equivalent(name)}"
    return f"Nothing is called `{name}` when the line runs."


def _explain_attribute(outcome: CallOutcome) -> str:
    """Explain an AttributeError: what kind of object lacks the name, and what NumPy calls it."""
    # TensorFlow writes the type without quotes: "EagerTensor object has no attribute 'transpose'".
    match = re.search(r"(module )?'?([\w.]+)'?(?: object)? has no attribute '(\w+)'", outcome.error)
    if not match:
        # The second pattern is for names that NumPy 2 removed, such as "`np.product` was removed in
        # the NumPy 2.0 release. …".
        match = re.search(r"(`np\.)(\w+)()` was removed", outcome.error)
        if match:
            return f"NumPy has no `{match[2]}` any more. {describe_equivalent(match[2])}".strip()
        return ""
    is_module, owner, name = match.groups()
    if is_module:
        text = f"`{owner}` has nothing called `{name}`."
        if owner == "numpy":
            text = f"NumPy has no function `np.{name}`."
        if owner.partition(".")[0] in ("keras", "tensorflow", "jax"):
            return f"{text} {describe_keras_equivalent(name)}".strip()
        return f"{text} {describe_equivalent(name)}".strip()
    if owner == "dict":
        return f'The entries of a dict are read with square brackets and quotes: `["{name}"]` in place of `.{name}`.'
    if owner == "tuple" and name == "append":
        return "A tuple cannot grow; a list can: start with `[]`."
    if owner in ("list", "tuple"):
        return f"This is a {owner}, and only an array has `.{name}`: `np.array(...)` makes an array of a {owner}."
    if owner in FUNCTION_TYPES:
        return f"Before `.{name}` stands a function that has not been called: its round brackets are missing."
    if owner in ("int", "float", "bool"):
        text = (
            f"Before `.{name}` stands a single number of Python's (of type {owner}), not an array."
        )
        return f"{text} {describe_equivalent(name)}".strip()
    if name == "append":
        return "An array has no `append`: its size is fixed. `np.concatenate([x, y])` makes a longer array."
    owner_words = _name_type(owner)
    if owner_words == "a tensor":
        return f"A tensor has no `.{name}`. {describe_keras_equivalent(name)}".strip()
    if not find_numpy_equivalent(name) and owner == "numpy.ndarray":
        similar = get_close_matches(name, dir(np.ndarray), n=1, cutoff=0.84)
        if similar:
            return f"An array has no `.{name}`. Do you mean `.{similar[0]}`?"
    equivalent = _translate_masked_fill(outcome) or describe_equivalent(name)
    return f"{owner_words[0].upper()}{owner_words[1:]} has no `.{name}`. {equivalent}".strip()


def _translate_masked_fill(outcome: CallOutcome) -> str:
    """Return a sentence with the call of `masked_fill` on the line in NumPy; "" if there is none.

    The student's own condition stands in it: an argument named `mask` may mean the opposite.
    """
    for call in find_calls(parse_line(_get_line(outcome))):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 2 or call.keywords:
            continue
        if call.func.attr in ("masked_fill", "masked_fill_"):
            parts = map(ast.unparse, (*call.args, call.func.value))
            return f"In NumPy: `np.where({', '.join(parts)})`."
    return ""


def _match_unexpected_keyword(outcome: CallOutcome) -> re.Match[str] | None:
    match = re.search(r"(?:unexpected keyword argument|got an unexpected) '(\w+)'", outcome.error)
    return match or re.search(r"'(\w+)' is an invalid keyword argument", outcome.error)


def _explain_keyword_of_another_library(outcome: CallOutcome) -> str:
    """Name NumPy's keyword for one of another library, such as `dim`, in a call of NumPy's."""
    match = _match_unexpected_keyword(outcome)
    if not match or match[1] not in KEYWORD_EQUIVALENTS:
        return ""
    function = re.match(r"TypeError: (?:[\w.]*\.)?(\w+)\(\)", outcome.error)
    name = function[1].lstrip("_") if function else ""
    if name and not any(hasattr(owner, name) for owner in (np, np.linalg, np.ndarray)):
        return ""  # a function of the notebook has the arguments of its own `def` line
    equivalent = KEYWORD_EQUIVALENTS[match[1]]
    return f"The keyword `{match[1]}` is PyTorch's or another library's. {equivalent}"


def _explain_wrong_arguments(outcome: CallOutcome) -> str:
    """Explain wrong arguments in a call: a keyword of PyTorch, say, or too many arguments."""
    code = _get_line(outcome)
    keyword = _explain_keyword_of_another_library(outcome)
    if keyword:
        return keyword
    match = _match_unexpected_keyword(outcome)
    if match:
        function = re.match(r"TypeError: ([\w.]+)\(\)", outcome.error)
        owner = "The function"
        if function and not function[1].startswith("_"):
            owner = f"`{function[1].split('.')[-1]}`"
        return f"{owner} has no argument called `{match[1]}`."
    if re.search(r"\.view\(", code):
        return "`view` with sizes is PyTorch's. In NumPy: `x.reshape(...)`."
    on_tensor = re.search(r"(\w+)\(\) received an invalid combination", outcome.error)
    if on_tensor and f"np.{on_tensor[1]}(" in code:
        name = on_tensor[1]
        text = (
            f"`np.{name}` gets a tensor here. It calls the tensor's own `{name}`, which takes "
            "other arguments."
        )
        return f"{text} {describe_keras_equivalent(f'reduce_{name}')}".strip()
    flattening = re.search(r"\.(flatten|ravel)\(", code)
    if flattening and "order must be str" in outcome.error:
        return (
            f"`{flattening[1]}` takes no axis in NumPy (PyTorch's does): it joins all axes into "
            "one. To join two axes, use `x.reshape(...)`."
        )
    if "either both or neither" in outcome.error:
        return "`np.where` needs three arguments: the condition, the value where it is true, and the other value."
    missing = re.search(
        r"(\w+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.*)",
        outcome.error,
    )
    if missing:
        names = re.findall(r"'(\w+)'", missing[2])
        return (
            f"The call of `{missing[1]}` leaves out {join_words([f'`{name}`' for name in names])}."
        )
    counts = re.search(r"(\w+)\(\) takes ((?:from \d+ to )?\d+) positional arguments? but (\d+) (?:was|were)",
                       outcome.error)  # fmt: skip
    if counts:
        function_name = counts[1].lstrip("_")
        noun = "argument" if counts[2] == "1" else "arguments"
        text = f"`{function_name}` takes {counts[2]} {noun}, and this call gives it {counts[3]}."
        if function_name in ("reshape", "zeros", "ones", "transpose", "broadcast_to"):
            text += " Several sizes or axes are one tuple, with brackets of its own."
        return text
    double = re.search(r"(\w+)\(\) got multiple values for argument '(\w+)'", outcome.error)
    if double:
        return f"The call gives `{double[1].lstrip('_')}` two values for its argument `{double[2]}`: by place and by name."
    return ""


def _explain_transpose_of_two_axes(outcome: CallOutcome) -> str:
    code = _get_line(outcome)
    match = re.search(r"\btranspose\((?:([A-Za-z_]\w*)\s*,\s*)?\(?(-?\d)\s*,\s*(-?\d)\s*\)", code)
    if match is None:
        return ""
    method = re.search(r"(?<![\w.])(\w+)\.$", code[: match.start()])
    name = match[1] or "x"
    if method and method[1] not in ("np", "numpy"):
        name = method[1]
    axes = f"{name}, {match[2]}, {match[3]}"
    if "permutation isn't a permutation" in outcome.error:  # on JAX
        return (
            "This `transpose` takes the order of all axes, and PyTorch's the two axes to exchange. "
            f"In Keras that is `ops.swapaxes({axes})`."
        )
    return (
        "NumPy's `transpose` takes the order of all axes, such as `x.transpose(0, 2, 1)`. PyTorch's takes the "
        f"two axes to exchange; in NumPy that is `np.swapaxes({axes})`."
    )


def _explain_sequence_instead_of_number(outcome: CallOutcome) -> str:
    """Explain the error that an array, tuple or list stands where one number is expected."""
    reduction = _explain_reduction_of_two(outcome)
    if reduction:
        return reduction
    join = re.search(
        r"np\.(concatenate|concat|stack|vstack|hstack|column_stack)\(", _get_line(outcome)
    )
    if join and "only integer scalar arrays" in outcome.error:
        return f"`np.{join[1]}` takes its arrays as one list: `np.{join[1]}([x, y])`, with square brackets."
    match = re.search(r"'(tuple|list)' object cannot be interpreted", outcome.error)
    if match:
        return f"A {match[1]} stands where one whole number is expected."
    if "only integer scalar arrays" in outcome.error:
        return "An array stands where one whole number is expected, such as in `range` or in a list's index."
    return ""


def _explain_view_with_sizes(outcome: CallOutcome) -> str:
    if re.search(r"\.view\(", _get_line(outcome)):
        return "`view` with sizes is PyTorch's; NumPy's takes a dtype. In NumPy: `x.reshape(...)`."
    return _explain_reduction_of_two(outcome)


def _explain_power(outcome: CallOutcome) -> str:
    """Explain `^` between numbers, at least one of them a float; return "" for other errors."""
    types = re.search(r"for \^=?(?: or \w+\(\))?: '([\w.]+)' and '([\w.]+)'", outcome.error)
    number_types = {"int", "float", "numpy.ndarray", "numpy.float64"}
    is_between_numbers = types and set(types.groups()) <= number_types
    if not is_between_numbers and "'bitwise_xor'" not in outcome.error:
        return ""
    return "In Python a power is written `**`, such as `x ** 2`; `^` combines bits."


def _explain_operator(outcome: CallOutcome) -> str:
    match = re.search(r"for (\S+?):? '([\w.]+)' and '([\w.]+)'", outcome.error)
    if not match:
        return ""
    sign, left, right = match.groups()
    if {left, right} & set(FUNCTION_TYPES):
        return f"On one side of `{sign}` stands a function that has not been called: its round brackets are missing."
    if _explain_power(outcome):
        return _explain_power(outcome)
    return f"`{sign}` does not work between {_name_type(left)} and {_name_type(right)}."


def _explain_ambiguous_truth_value(outcome: CallOutcome) -> str:
    """Explain an array in place of one True or False, as after a comparison without brackets."""
    tree = parse_line(_get_line(outcome))
    if tree is None:
        return ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        for operand in (node.left, *node.comparators):
            if isinstance(operand, ast.BinOp) and isinstance(operand.op, (ast.BitAnd, ast.BitOr)):
                return (
                    "Python computes `&` and `|` before `<`, `>=` and `==`. Put each comparison into "
                    "brackets, such as `(i >= 0) & (i < n)`."
                )
            if isinstance(operand, ast.Constant) and operand.value is None:
                return "`==` compares an array with None entry by entry. Ask `x is None`."
        has_and = any(isinstance(other, ast.BoolOp) for other in ast.walk(tree))
        if len(node.ops) > 1 and not has_and:
            return (
                "Python reads `a <= b < c` as `a <= b and b < c`, and `and` needs a single True or "
                "False. For arrays, write `(a <= b) & (b < c)`."
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            code = ast.unparse(node.operand)
            return (
                f"`not` works for a single True or False, and `{code}` is an array. For each entry "
                f"of an array of True and False, write `~{code}`."
            )
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.IfExp)) and isinstance(node.test, ast.Name):
            name = node.test.id
            return (
                f"`if {name}` needs a single True or False, and `{name}` is an array with several "
                f"entries. To ask whether `{name}` was given, write `if {name} is not None`; to ask "
                "about its entries, choose `any` or `all`."
            )
    builtin = _find_builtin_extremum(tree)
    if builtin:
        return (
            f"Python's own `{builtin}` needs a single answer to the question which value is "
            "larger; arrays with several entries give an answer for each entry."
        )
    return ""


def _find_builtin_extremum(tree: ast.AST | None) -> str:
    """Return "max" or "min" if a line calls this function of Python's; else ""."""
    for call in find_calls(tree):
        if isinstance(call.func, ast.Name) and call.func.id in ("max", "min"):
            return call.func.id
    return ""


def _choose_hint_on_truth(outcome: CallOutcome) -> str | None:
    explanation = _explain_ambiguous_truth_value(outcome)
    if not explanation:
        return None
    if not explanation.startswith("Python's own"):
        return ""  # it names the right code
    tree = parse_line(_get_line(outcome))
    word = {"max": "larger", "min": "smaller"}[_find_builtin_extremum(tree)]
    return (
        f"Do you want the {word} of each two entries, or one number of all entries? "
        "NumPy has a function for each."
    )


def _explain_operation_on_none(outcome: CallOutcome) -> str:
    """Explain None on a line by a call that returns None, such as `x.sort()` or `d.get(key)`."""
    tree = parse_line(_get_line(outcome))
    name = find_used_in_place_call(tree)
    if name:
        return f"A value on this line is None. {explain_in_place_call(name)}"
    for call in find_calls(tree):
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
        if is_method and len(call.args) == 1 and not call.keywords:
            return (
                "A value on this line is None. `.get(key)` gives None for a key that the dict does "
                "not have; `.get(key, other)` gives `other`."
            )
    return ""


def _explain_reduction_of_two(outcome: CallOutcome) -> str:
    return explain_reduction_of_two(parse_line(_get_line(outcome)))


def _explain_list(outcome: CallOutcome) -> str:
    """Explain a list or tuple that is added to something else, or that `np.nonzero` returns."""
    tree = parse_line(_get_line(outcome)) if "tuple" in outcome.error else None
    for call in find_calls(tree):
        name = ast.unparse(call.func).rpartition(".")[2]
        if name == "nonzero" or (name == "where" and len(call.args) == 1):
            return (
                f"`{name}` of a condition returns a tuple: an array of indices for each axis. "
                "Take the array of the axis that you mean with an index, such as `[0]`."
            )
    concatenation = re.search(r'concatenate (list|tuple) \(not "([\w.]+)"\)', outcome.error)
    if concatenation:
        kind, other = concatenation.groups()
        example = "(x,)" if kind == "tuple" else "[x]"
        other_words = _name_type(other)
        return (
            f"`+` joins a {kind} with another {kind}, and here the other side is {other_words}. "
            f"A {kind} with one entry is written `{example}`; only arrays add number by number."
        )
    return ""


_EXPLAINERS: dict[str, Callable[[CallOutcome], str]] = {
    "calls-itself": _explain_endless_recursion,
    "own-assert": _explain_own_assert,
    "not-a-function": _explain_call_of_a_value,
    "square-brackets-for-a-call": _explain_square_brackets,
    "more-values-than-names": _explain_unpacking,
    "fewer-values-than-names": _explain_unpacking,
    "variable-without-a-value": _explain_variable_without_value,
    "name-not-defined": _explain_undefined_name,
    "array-for-a-single-number": _explain_sequence_instead_of_number,
    "fraction-for-a-place": _explain_reduction_of_two,
    "axis-that-is-not-there": _explain_reduction_of_two,
    "logic-on-numbers": _explain_power,
    "works-on-none": _explain_operation_on_none,
    "list-for-an-array": _explain_list,
    "array-for-yes-or-no": _explain_ambiguous_truth_value,
    "attribute-that-is-not-there": _explain_attribute,
    "call-that-does-not-fit": _explain_wrong_arguments,
    "axes-that-do-not-match": _explain_transpose_of_two_axes,
    "not-a-dtype": _explain_view_with_sizes,
    "operator-that-does-not-fit": _explain_operator,
}
# Families of errors whose explanation, if there is one for the line, names the right code.
_EXPLAINERS_THAT_NAME_THE_RIGHT_CODE: dict[str, Callable[[CallOutcome], str]] = {
    "axes-that-do-not-match": _explain_transpose_of_two_axes,
    "operator-that-does-not-fit": _explain_power,
    "logic-on-numbers": _explain_power,
    "fraction-for-a-place": _explain_reduction_of_two,
    "axis-that-is-not-there": _explain_reduction_of_two,
    "not-a-dtype": _explain_view_with_sizes,
    "works-on-none": _explain_operation_on_none,
    "list-for-an-array": _explain_list,
}
