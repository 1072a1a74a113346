"""Errors are explained in plain words, and names of other libraries are translated into NumPy's."""

import numpy as np
import pytest

from autograder.judging import numpy_equivalents
from autograder.judging.compare import same_outcome
from autograder.judging.error_messages import (
    _ERROR_PATTERNS,
    FULLY_EXPLAINED_ERRORS,
    choose_hint,
    classify_error,
    explain_error,
)
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs
from autograder.values.common_mistakes import MISTAKES


def f(x, axis=0):
    return x


NAMES = {
    "np": np,
    "x": np.ones((2, 3, 4)),
    "q": np.ones((2, 3)),
    "f": f,
    "parameters": {"gain_1": 1.0},
}


def explain(code):
    """Return the family and the explanation of the error that a line of code raises."""
    try:
        exec(code, dict(NAMES))
    except Exception as error:  # noqa: BLE001 - any error of the line
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    else:
        raise AssertionError(f"{code} raises nothing")
    mistake = classify_error(text)
    assert mistake, text
    return mistake, explain_error(
        mistake, CallOutcome(error=text, line=f"2: {code}", within="answer")
    )


@pytest.mark.parametrize(
    ("code", "mistake", "words"),
    [
        ("q @ q", "shapes-that-do-not-multiply",
         "left array has rows of 3 numbers and the right array has columns of 2 numbers."),
        ("x[0, 3, 0]", "place-that-is-not-there",
         "asks for index 3 along axis 1, whose length is 3 (the first index is 0)."),
        ("x.sum(axis=5)", "axis-that-is-not-there", "axis 5 of an array whose number of axes is 3"),
        ("a, b, c = q", "fewer-values-than-names", "3 names on the left of `=`, but only 2"),
        ("np.iinfo(float)", "not-a-dtype", "`np.iinfo` describes types of whole numbers; this"),
        ("np.finfo(int)", "not-a-dtype", "`np.finfo` describes float types; this dtype"),
        ("(1, 2).append(3)", "attribute-that-is-not-there", "A tuple cannot grow; a list can"),
        ("range((2, 3))", "array-for-a-single-number", "A tuple stands where one whole"),
        ("range([2, 3])", "array-for-a-single-number", "A list stands where one whole"),
        ("answer = lambda x: answer(x); answer(1)", "calls-itself", "`answer` calls itself on"),
        # PyTorch's habits
        ("x.masked_fill(x > 0, 1)", "attribute-that-is-not-there", "`np.where(x > 0, 1, x)`"),
        ("x.unsqueeze(0)", "attribute-that-is-not-there", "np.expand_dims"),
        ("x.exp()", "attribute-that-is-not-there", "An array has no `.exp`. In NumPy: `np.exp(x)`."),
        ("np.softmax(x)", "attribute-that-is-not-there", "NumPy has no function `np.softmax`."),
        ("np.product(x)", "attribute-that-is-not-there", "`np.prod(x)`"),
        ("x.sum(dim=1)", "call-that-does-not-fit", "In NumPy it is `axis`."),
        ("np.sum(x, axis=1, keepdim=True)", "call-that-does-not-fit", "`keepdims`, with an s"),
        ("np.tril(x, diagonal=1)", "call-that-does-not-fit", "In NumPy it is `k`."),
        ("x.transpose(1, 2)", "axes-that-do-not-match", "`np.swapaxes(x, 1, 2)`"),
        ("x.transpose(-2, -1)", "axes-that-do-not-match", "in NumPy that is `np.swapaxes(x, -2, -1)`."),
        ("(x + x).transpose(0, 1)", "axes-that-do-not-match", "`np.swapaxes(x, 0, 1)`"),
        ("np.transpose(x, (1, 2))", "axes-that-do-not-match", "`np.swapaxes(x, 1, 2)`"),
        ("x.view(2, 3, 2, 2)", "call-that-does-not-fit", "`x.reshape(...)`"),
        ("x.view(2, 12)", "not-a-dtype", "`x.reshape(...)`"),
        ("x.size(0)", "not-a-function", "`x.shape[0]`"),
        ("a, b = x.size()", "not-a-function", "`x.shape` is the tuple of all sizes."),
        ("a, b = [i for i in zip(x, [3])]", "fewer-values-than-names", "`zip` stops at the end"),
        ("x.size(-1)", "not-a-function", "`x.shape[-1]`"),
        ("f(x, dim=1)", "call-that-does-not-fit", "`f` has no argument called `dim`."),
        ("x.mul_(2)", "attribute-that-is-not-there", "`x * y`"),
        ("nn.LayerNorm(3)", "name-not-defined", "use `x.mean` and `x.var`"),
        ("torch.arange(3)", "name-not-defined", "In NumPy: `np.arange`."),
        ("x.transposed()", "attribute-that-is-not-there", "Do you mean `.transpose`?"),
        ("(3).sqrt()", "attribute-that-is-not-there", "`np.sqrt(x)`"),
        ("[1, 2] ** 2", "list-for-an-array", ""),
        ("np.reshape(x, 2, 3, 4)", "call-that-does-not-fit", "are one tuple"),
        ("torch.softmax(x, dim=-1)", "name-not-defined", "PyTorch (`torch`) is not imported"),
        ("F.softmax(x, dim=-1)", "name-not-defined", "use `np.exp` and a sum"),
        # brackets
        ("x.T()", "not-a-function", "`.T` is no function"),
        ("x.shape(1)", "not-a-function", "`x.shape[1]`, with square brackets"),
        ("(q)(q)", "not-a-function", "the value is an array. Perhaps a `*`, an `@` or a comma is missing"),
        ("q(0)", "not-a-function", "`q` is an array and not a function"),
        ("np.random(3)", "not-a-function", "A module"),
        ("np.exp[x]", "square-brackets-for-a-call", "`np.exp` is a function."),
        ("f[x, 1]", "square-brackets-for-a-call", "`f` is a function."),
        ("(3)[0]", "index-into-one-number", ""),
        ("np.float64(3)[0]", "index-into-one-number", ""),
        # values and names
        ("a, b = x.shape", "more-values-than-names", "more axes than the 2 names"),
        ("a, = x.shape", "more-values-than-names", "more axes than the 1 name on the left"),
        ("(a,) = x.shape", "more-values-than-names", "more axes than the 1 name on the left"),
        ("a, b, c, d = x.shape", "fewer-values-than-names", "fewer axes than the 4 names"),
        ("a, b = 1, 2, 3", "more-values-than-names", "2 names on the left"),
        ("a, b = q.max(axis=1, keepdims=True)[:1]", "fewer-values-than-names", "`np.argmax` finds"),
        ("a, b = np.min(x, axis=0)[:1]", "fewer-values-than-names", "`min` returns the values only."),
        ("a, b = [1]", "fewer-values-than-names", "but only 1 on the right."),
        ("parameters.gain_1", "attribute-that-is-not-there", '`["gain_1"]` in place of `.gain_1`'),
        ("[1, 2].shape", "attribute-that-is-not-there", "This is a list"),
        ("np.sum.shape", "attribute-that-is-not-there", "its round brackets are missing"),
        ("x.append(1)", "attribute-that-is-not-there", "`np.concatenate([x, y])`"),
        ("x.gain", "attribute-that-is-not-there", "An array has no `.gain`."),
        ("(3).sum()", "attribute-that-is-not-there", "a single number"),
        ("import einops", "package-that-is-not-there", "`einops` is not installed"),
        ("math.sqrt(3)", "name-not-defined", "Write `import math` before"),
        ("nothing", "name-not-defined", "Nothing is called `nothing` when the line runs."),
        # arguments
        ("np.ones(2, 3)", "not-a-dtype", "`np.ones((2, 3))`, not `np.ones(2, 3)`"),
        ("np.iinfo(np.float32)", "not-a-dtype", "`np.finfo`"),
        ("np.concatenate(q, q)", "array-for-a-single-number", "as one list: `np.concatenate([x, y])`"),
        ("np.where(q > 0, q)", "call-that-does-not-fit", "needs three arguments"),
        ("f(1, 2, 3)", "call-that-does-not-fit", "from 1 to 2 arguments, and this call gives it 3"),
        ("f()", "call-that-does-not-fit", "leaves out `x`"),
        ("f(1, x=2)", "call-that-does-not-fit", "two values for its argument `x`"),
        ("f(1, scale=2)", "call-that-does-not-fit", "has no argument called `scale`"),
        # lists, numbers and operators
        ("[1, 2] * 2.5", "list-for-an-array", ""),
        ("[[1, 2]][0, 1]", "list-for-an-array", ""),
        ("for i in 3: pass", "loop-over-one-number", "a single number (of type int)"),
        ("len(3)", "length-of-one-number", "of type int"),
        ("np.matmul(q, q.T, q)", "shapes-that-do-not-multiply", "takes two arrays. The third one"),
        ("q @ 3", "product-with-one-number", ""),
        ("'a' - x.shape", "operator-that-does-not-fit", "between a str and a tuple"),
        ("x ^ 2", "logic-on-numbers", "a power is written `**`"),
        ("np.max(x, x)", "array-for-a-single-number", "is the axis, not another array."),
        ("np.max(q, 1.5)", "fraction-for-a-place", "`np.maximum(a, b)`"),
        ("np.sum(q, len(q) + 9)", "axis-that-is-not-there", "`a + b`"),
        ("np.prod(2, 3, 4)", "not-a-dtype", "`np.ones((2, 3))`"),
        ("n = 4; np.prod(n, n, n)", "not-a-dtype", "The second argument of `np.prod` is the axis"),
        ("q.flatten(1)", "call-that-does-not-fit", "`flatten` takes no axis in NumPy"),
        ("q[q > 0] = np.ones(2)", "selection-on-one-side", ""),
        ("'gain' * q", "text-for-numbers", ""),
        ("np.sum(q[0], 9)", "axis-that-is-not-there", "whose number of axes is 1 (the first"),
        ("np.sum(q, 9)", "axis-that-is-not-there", "The line asks for axis 9"),
        ("axis = 9; np.sum(q, axis)", "axis-that-is-not-there", "The line asks for axis 9"),
        ("zip([1].sort(), q)", "works-on-none", "`.sort` changes its object in place"),
        ("x = np.add.at(x, 0, 1) + 1", "works-on-none", "`np.add.at` changes the array"),
        ("min(parameters.get('b'), 3)", "works-on-none", "`.get(key)` gives None for a key"),
        ("np.nonzero(q) + (1,) + 1", "list-for-an-array", "an array of indices for each axis"),
        ("a, b = np.split(q, 3, axis=1)", "more-values-than-names", "makes n parts"),
        ("max(q, 0)", "array-for-yes-or-no", "Python's own `max` needs a single answer"),
        ("assert 0 <= q < 3", "array-for-yes-or-no", "write `(a <= b) & (b < c)`"),
        ("bool(q == None)", "array-for-yes-or-no", "Ask `x is None`"),
        ("0.9 ^ 3", "operator-that-does-not-fit", "a power is written `**`"),
        ("i = np.arange(3); y = i >= 0 & i < 2", "array-for-yes-or-no", "comparison into brackets"),
        ("i = np.arange(3); f(i >= 0 & i < 2)", "array-for-yes-or-no", "comparison into brackets"),
        ("bool(x)", "array-for-yes-or-no", ""),
        ("x.diagonal(dim1=0)", "call-that-does-not-fit", "In NumPy it is `axis1`."),
        ("x.split(2)", "attribute-that-is-not-there", "PyTorch's `split(n)` makes parts of n rows"),
        ("np.exp + 1", "operator-that-does-not-fit", "its round brackets are missing"),
        ("t = (1, 2); t[0] = 3", "values-that-cannot-change", ""),
        ("x[0, 0, 0] = np.ones(2)", "several-numbers-for-one-place", ""),
        ("x[0.5]", "fraction-for-a-place", ""),
        ("(1, 2) + [3]", "list-for-an-array", "A tuple with one entry is written `(x,)`; only"),
        ("[1, 2] + (3,)", "list-for-an-array", "A list with one entry is written `[x]`; only"),
        ("[1, 2] + 3", "list-for-an-array", "with another list, and here the other side is an int"),
    ],
)  # fmt: skip
def test_an_error_has_a_family_and_plain_words(code, mistake, words):
    family, explanation = explain(code)
    assert family == mistake, explanation
    assert words in explanation
    means, nudge = MISTAKES[mistake]
    assert means.endswith(".") and nudge.endswith((".", "?"))


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("0.9 ^ 3", ""),
        ("x ^ 2", ""),
        ("y = q >= 0 & q.astype(int) < 2", ""),
        ("np.max(q, q)", ""),
        ("zip([1].sort(), q)", ""),
        ("x.size(0)", ""),
        ("np.ones(2, 3)", ""),
        ("a, b = np.max(x, axis=0)[:1]", ""),
        ("np.block_diag(q, q)", "Which functions of NumPy do the same together? Other libraries have "
                                "names that NumPy does not have."),
        ("np.matmul(q, q.T, q)", ""),
        ("q @ q", None),
        ("x(0)", None),
        ("x.mean + 1", ""),
        ("q.flatten(1)", ""),
        ("max(q, 0)", "Do you want the larger of each two entries, or one number of all entries? "
                      "NumPy has a function for each."),
        ("min(q, 0)", "Do you want the smaller of each two entries, or one number of all entries? "
                      "NumPy has a function for each."),
        ("~q", None),
        ("'a' - x.shape", None),
        ("np.sum(q, 9)", None),
    ],
)  # fmt: skip
def test_an_explanation_that_names_the_right_code_needs_no_general_hint(code, hint):
    with pytest.raises(Exception) as caught:
        exec(code, dict(NAMES))
    text = f"{caught.typename}: {' '.join(str(caught.value).split())}"
    outcome = CallOutcome(error=text, line=f"2: {code}", within="answer")
    assert choose_hint(classify_error(text), outcome) == hint


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def g():\n    total += 1\n", "Give `total` a first value above the loop."),
        ("def g():\n    f = f(1)\n", "Give your variable another name."),
        ("def g():\n    if not np:\n        y = 1\n    return y\n", "assigned only in an `if`"),
    ],
)
def test_a_variable_without_a_value_is_explained_by_its_line(source, words):
    names = dict(NAMES)
    exec(source, names)
    with pytest.raises(UnboundLocalError) as caught:
        names["g"]()
    line = source.splitlines()[caught.value.__traceback__.tb_next.tb_lineno - 1].strip()
    error = f"UnboundLocalError: {caught.value}"
    assert classify_error(error) == "variable-without-a-value"
    assert words in explain_error(
        "variable-without-a-value", CallOutcome(error=error, line=f"2: {line}")
    )


def test_every_family_has_a_text_and_every_equivalent_is_a_sentence_or_code():
    families = {mistake for _, mistake in _ERROR_PATTERNS}
    assert families <= MISTAKES.keys()
    assert families >= FULLY_EXPLAINED_ERRORS
    for name in numpy_equivalents._EQUIVALENTS:
        text = numpy_equivalents.describe_equivalent(name)
        assert text.endswith(".") and ".." not in text.replace("...", "") and len(text) < 120
    for name, code in numpy_equivalents._EQUIVALENTS.items():
        assert numpy_equivalents.find_numpy_equivalent(name) == code  # not that of `name_`
        if not code.endswith(".") and code.startswith(("np.", "x", "y", "-x", "1 ")):
            compile(code.partition(", and ")[0].partition(", or ")[0], "<equivalent>", "eval")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("AttributeError: 'numpy.ndarray' object has no attribute 'exp'", None, True),
        (
            "AttributeError: 'numpy.ndarray' object has no attribute 'exp'",
            "AttributeError: 'numpy.ndarray' object has no attribute 'view'",
            False,
        ),
        (
            "TypeError: 'numpy.ndarray' object is not callable",
            "TypeError: 'Exercise' object is not callable",
            False,
        ),
        (
            "IndexError: index 4 is out of bounds for axis 0 with size 4",
            "IndexError: index 5 is out of bounds for axis 0 with size 5",
            True,
        ),
    ],
)
def test_two_errors_of_one_family_may_have_two_causes(first, second, same):
    answers = CallOutcome(error=first), CallOutcome(error=second or first)
    assert same_outcome(*answers, ComparisonRules()) is same


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            "'tensorflow.python.framework.ops.EagerTensor' object has no attribute 'masked_fill'",
            "A tensor has no `.masked_fill`. In Keras: `ops.where(condition, value, x)`.",
        ),
        (
            "'ArrayImpl' object has no attribute 'view'",
            "A tensor has no `.view`. In Keras: `ops.reshape(x, shape)`.",
        ),
        (
            "module 'keras.backend' has no attribute 'cast'",
            "`keras.backend` has nothing called `cast`. In Keras: `ops.cast(x, dtype)`.",
        ),
        ("'Tensor' object has no attribute 'gain'", "A tensor has no `.gain`."),
        (
            "EagerTensor object has no attribute 'transpose'.",
            "A tensor has no `.transpose`. In Keras: `ops.transpose(x, (0, 2, 1))`.",
        ),
    ],
)
def test_names_of_other_libraries_are_translated_into_keras_for_tensors(error, words):
    outcome = CallOutcome(error=f"AttributeError: {error}")
    assert explain_error("attribute-that-is-not-there", outcome) == words
    is_translated = "In Keras" in words
    assert (choose_hint("attribute-that-is-not-there", outcome) == "") is is_translated


PYTORCH_MAX = (
    "TypeError: max() received an invalid combination of arguments - got (keepdims=bool, "
    "out=NoneType, axis=int, ), but expected one of: * () * (int dim, bool keepdim = False)"
)


@pytest.mark.parametrize(
    ("error", "line", "mistake", "words"),
    [
        (
            PYTORCH_MAX,
            "5: exps = np.exp(scores - np.max(scores, axis=-1, keepdims=True))",
            "call-that-does-not-fit",
            "`np.max` gets a tensor here. It calls the tensor's own `max`, which takes other "
            "arguments. In Keras: `ops.max(x, axis)`.",
        ),
        (
            "TypeError: matmul() received an invalid combination of arguments - got (Tensor, "
            "NoneType), but expected one of: * (Tensor input, Tensor other, Tensor out)",
            "5: scores = queries.matmul(keys)",
            "works-on-none",
            "",
        ),
        (
            "TypeError: `x` and `y` must have the same dtype, got tf.float16 != tf.float32.",
            "5: scores = ops.matmul(queries, keys) / ops.sqrt(d_k)",
            "tensors-of-two-dtypes",
            "The line combines a tensor of float16 with a tensor of float32, and TensorFlow "
            "converts neither of them.",
        ),
        (
            "TypeError: Cannot convert 60000 to EagerTensor of dtype bool",
            "5: scores = scores - 60000 * mask",
            "tensors-of-two-dtypes",
            "The line combines the number 60000 with a tensor of bool, and TensorFlow does not "
            "convert the tensor.",
        ),
        (
            "RuntimeError: expected scalar type Float but found Half",
            "5: scores = ops.matmul(weights, values)",
            "tensors-of-two-dtypes",
            "",
        ),
    ],
)
def test_a_backends_error_on_its_tensors_is_explained(error, line, mistake, words):
    assert classify_error(error) == mistake
    assert explain_error(mistake, CallOutcome(error=error, line=line)) == words


def test_tensorflows_advice_on_numpy_methods_is_not_shown():
    def ask_tensor():
        raise AttributeError(
            "EagerTensor object has no attribute 'transpose'.\n        If you are looking for "
            "numpy-related methods, please run the following:\n        "
            "tf.experimental.numpy.experimental_enable_numpy_behavior()\n      "
        )

    error = call_student_function(ask_tensor, Inputs()).error
    assert error == "AttributeError: EagerTensor object has no attribute 'transpose'."


def test_a_long_error_of_keras_keeps_its_reason():
    """Keras puts the reason between the layer's name and a list of all arguments."""
    reason = "r" * 250

    def call_layer():
        frame = "Exception encountered when calling A.call(). {} Arguments received by A.call(): x"
        raise ValueError(frame.format(reason))

    assert call_student_function(call_layer, Inputs()).error == f"ValueError: {reason}"


def test_not_of_an_array_is_replaced_by_its_sign_for_each_entry():
    error = "ValueError: The truth value of an array with more than one element is ambiguous."
    outcome = CallOutcome(None, "error", error, line="3: return np.where(not mask, 0, 1)")
    text = explain_error("array-for-yes-or-no", outcome)
    assert text.endswith("For each entry of an array of True and False, write `~mask`.")
    assert choose_hint("array-for-yes-or-no", outcome) == ""


def test_two_axes_for_transpose_on_jax_are_exchanged_by_a_function_of_keras():
    error = (
        "TypeError: transpose permutation isn't a permutation of operand dimensions, "
        "got permutation (1, 2) for operand shape (1, 3, 4)."
    )
    outcome = CallOutcome(None, "error", error, line="4: scores = q @ k.transpose(-2, -1) / 2")
    assert classify_error(error) == "axes-that-do-not-match"
    text = explain_error("axes-that-do-not-match", outcome)
    assert "`ops.swapaxes(k, -2, -1)`" in text and "np." not in text
    assert choose_hint("axes-that-do-not-match", outcome) == ""


@pytest.mark.parametrize("line", ["if mask:", "if mask: x = 1", "return x if mask else y"])
def test_an_array_alone_after_if_is_compared_with_none(line):
    error = "ValueError: The truth value of an array with more than one element is ambiguous."
    outcome = CallOutcome(None, "error", error, line=f"3: {line}")
    text = explain_error("array-for-yes-or-no", outcome)
    assert "To ask whether `mask` was given, write `if mask is not None`;" in text
    assert choose_hint("array-for-yes-or-no", outcome) == ""


@pytest.mark.parametrize("mistake", ["array-for-yes-or-no", "array-for-a-single-number"])
def test_a_question_on_arrays_fits_tensors_too(mistake):
    _, nudge = MISTAKES[mistake]
    assert "NumPy" not in nudge or "keras.ops" in nudge


def test_a_variable_with_the_name_of_a_function_is_named_without_a_question():
    error = "UnboundLocalError: cannot access local variable 'softmax' where it is not associated"
    outcome = CallOutcome(None, "error", error, line="4: softmax = softmax(scores)")
    text = explain_error("variable-without-a-value", outcome)
    assert text.startswith("You call a variable `softmax`.")
    assert choose_hint("variable-without-a-value", outcome) == ""


NO_ATTRIBUTE = "AttributeError: 'numpy.ndarray' object has no attribute '{}'"
NO_FUNCTION = "TypeError: '{}' object is not callable"
ANY_FILL = "An array has no `.masked_fill`. In NumPy: `np.where(condition, value, x)`."


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            "RecursionError: maximum recursion depth exceeded",
            "return answer(x) + 1",
            "`answer` calls itself on this line, again and again, and nothing ends it.",
        ),
        ("RecursionError: maximum recursion depth exceeded", "return my_answer(x)", ""),
        ("RecursionError: maximum recursion depth exceeded", "answer = g(x)", ""),
        (
            "TypeError: 'function' object is not subscriptable",
            "y = np.exp[x]",
            "`np.exp` is a function. A function is called with round brackets, `f(x)`; `f[x]` is an index.",
        ),
        (
            "TypeError: 'function' object is not subscriptable",
            "y = np.exp[x[0]]",
            "Something on this line is a function. A function is called with round brackets, `f(x)`; `f[x]` is an index.",
        ),
        (
            "TypeError: 'function' object is not subscriptable",
            "y = (a or b)[x]",
            "Something on this line is a function. A function is called with round brackets, `f(x)`; `f[x]` is an index.",
        ),
        (
            NO_ATTRIBUTE.format("masked_fill"),
            "y = g(x).masked_fill(~keep, 0)",
            "An array has no `.masked_fill`. In NumPy: `np.where(~keep, 0, g(x))`.",
        ),
        (
            NO_ATTRIBUTE.format("masked_fill_"),
            "x.masked_fill_(mask == 0, value)",
            "An array has no `.masked_fill_`. In NumPy: `np.where(mask == 0, value, x)`.",
        ),
        (NO_ATTRIBUTE.format("masked_fill"), "y = x.masked_fill(mask=m, value=0)", ANY_FILL),
        (NO_ATTRIBUTE.format("masked_fill"), "y = x.masked_fill(m)", ANY_FILL),
        (NO_ATTRIBUTE.format("masked_fill"), "y = x.masked_fill(m, 0, other=1)", ANY_FILL),
        (NO_ATTRIBUTE.format("masked_fill"), "y = masked_fill(x, m)", ANY_FILL),
        (
            NO_ATTRIBUTE.format("masked_fill"),
            "for y in x.masked_fill(m, 0):",
            "An array has no `.masked_fill`. In NumPy: `np.where(m, 0, x)`.",
        ),
        (
            "TypeError: _sum() got an unexpected keyword argument 'dim'",
            "x.sum(dim=1)",
            "The keyword `dim` is PyTorch's or another library's. In NumPy it is `axis`.",
        ),
        (
            "TypeError: mine() got an unexpected keyword argument 'dim'",
            "mine(x, dim=1)",
            "`mine` has no argument called `dim`.",
        ),
        (
            "TypeError: Layer.mine() got an unexpected keyword argument 'width'",
            "mine(x, width=1)",
            "`mine` has no argument called `width`.",
        ),
        (
            "TypeError: _mine() got an unexpected keyword argument 'width'",
            "mine(x, width=1)",
            "The function has no argument called `width`.",
        ),
        (
            "TypeError: 'size' is an invalid keyword argument for ones()",
            "np.ones(size=1)",
            "The keyword `size` is PyTorch's or another library's. NumPy's functions for zeros and ones "
            "call it `shape`; the "
            "sizes are one tuple.",
        ),
        (
            "TypeError: _mean() takes 2 positional arguments but 3 were given",
            "x.mean(1, 2)",
            "`mean` takes 2 arguments, and this call gives it 3.",
        ),
        (
            "TypeError: zeros() takes from 1 to 2 positional arguments but 3 were given",
            "np.zeros(2, 3, 4)",
            "`zeros` takes from 1 to 2 arguments, and this call gives it 3. Several sizes or axes are one "
            "tuple, with brackets of "
            "its own.",
        ),
        (
            "TypeError: g() takes 1 positional argument but 2 were given",
            "g(1, 2)",
            "`g` takes 1 argument, and this call gives it 2.",
        ),
        (
            "TypeError: _mean() got multiple values for argument 'axis'",
            "mean(x, 1, axis=1)",
            "The call gives `mean` two values for its argument `axis`: by place and by name.",
        ),
        (
            "TypeError: g() missing 2 required positional arguments: 'a' and 'b'",
            "g()",
            "The call of `g` leaves out `a` and `b`.",
        ),
        (
            "TypeError: g() missing 1 required keyword-only argument: 'a'",
            "g(b)",
            "The call of `g` leaves out `a`.",
        ),
        (
            "AssertionError",
            "assert a == b",
            "An `assert` of your own failed. Numbers with a fraction are rounded, so `==` between two of "
            "them is often False "
            "although both are right.",
        ),
        ("AssertionError", "assert a.shape == b.shape", ""),
        ("AssertionError", "assert len(a) == 2", ""),
        ("AssertionError", "assert a > b", ""),
        (
            NO_FUNCTION.format("numpy.ndarray"),
            "y = x(0)",
            "`x` is an array and not a function, but round brackets follow it. Use square brackets for an "
            "index, or `@` or `*` "
            "for a product; perhaps a variable has the name of a function.",
        ),
        (
            NO_FUNCTION.format("list"),
            "y = f(x(0))",
            "Something on this line is a list and not a function, but round brackets follow it. Use square brackets for an "
            "index, or `@` or `*` for a product; perhaps a variable has the name of a function.",
        ),
        (
            NO_FUNCTION.format("tuple"),
            "y = x.shape()",
            "`shape` is a tuple, not a function: write `x.shape[0]`, with square brackets.",
        ),
        (
            NO_FUNCTION.format("tuple"),
            "y = x.shape(-1)",
            "`shape` is a tuple, not a function: write `x.shape[-1]`, with square brackets.",
        ),
        (
            NO_FUNCTION.format("int"),
            "y = x.size()",
            "`size` is a number in NumPy, not a function (in PyTorch it is one): `x.shape` is the tuple of all sizes.",
        ),
        (
            NO_FUNCTION.format("int"),
            "y = x.size(-2)",
            "`size` is a number in NumPy, not a function (in PyTorch it is one): for the size of one axis "
            "write `x.shape[-2]`.",
        ),
        (
            NO_FUNCTION.format("int"),
            "y = x.ndim()",
            "`.ndim` is no function: write it without the round brackets.",
        ),
        (
            NO_FUNCTION.format("numpy.float64"),
            "y = 2(x)",
            "Round brackets directly after a value call it like a function, and here the value is a single "
            "number. Perhaps a "
            "`*`, an `@` or a comma is missing before the bracket.",
        ),
    ],
)
def test_the_explanation_of_an_error_is_whole(error, code, text):
    outcome = CallOutcome(error=error, line=f"3: {code}", within="answer")
    assert explain_error(classify_error(error), outcome) == text
