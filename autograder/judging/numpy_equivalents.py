"""Names of other libraries, mostly PyTorch's, and how to write the same in NumPy.

Students know PyTorch from other courses, and AI assistants mix the two libraries up.
"""

import re

# Names by which notebooks usually import other libraries: "F" stands for PyTorch, for example.
_LIBRARIES = {
    "torch": "PyTorch",
    "F": "PyTorch",
    "nn": "PyTorch",
    "tf": "TensorFlow",
    "jnp": "JAX",
    "jax": "JAX",
    "scipy": "SciPy",
    "special": "SciPy",
    "rearrange": "einops",
    "pd": "pandas",
    "cp": "CuPy",
}

# Keyword arguments of other libraries, each with a sentence that names NumPy's keyword.
KEYWORD_EQUIVALENTS = {
    "dim": "In NumPy it is `axis`.",
    "dims": "In NumPy it is `axis`.",
    "keepdim": "In NumPy it is `keepdims`, with an s.",
    "keep_dims": "In NumPy it is `keepdims`.",
    "axes": "In NumPy it is `axis`.",
    "perm": "In NumPy the order of the axes is the second argument: `np.transpose(x, (0, 2, 1))`.",
    "unbiased": "In NumPy it is `ddof`: 0 divides by n, 1 by n - 1.",
    "correction": "In NumPy it is `ddof`: 0 divides by n, 1 by n - 1.",
    "diagonal": "In NumPy it is `k`.",
    "requires_grad": "NumPy computes no gradients; leave it out.",
    "device": "NumPy needs no device; leave it out.",
    "inplace": "NumPy has no such option: a function makes a new array.",
    "min": "In NumPy's clip the limits come second and third: `np.clip(x, low, high)`.",
    "max": "In NumPy's clip the limits come second and third: `np.clip(x, low, high)`.",
    "size": "NumPy's functions for zeros and ones call it `shape`; the sizes are one tuple.",
    "num_classes": "In NumPy: `np.eye(classes)[targets]`.",
    "dtypes": "In NumPy it is `dtype`.",
    "dim1": "In NumPy it is `axis1`.",
    "dim2": "In NumPy it is `axis2`.",
    "initializer": "In NumPy it is `initial`.",
}

# Names of functions and methods of other libraries, each with the code that does the same in NumPy.
# A text of several words is a sentence that is shown to the student as it is.
_EQUIVALENTS = {
    # Functions of each number in an array, which NumPy has as functions and not as methods.
    **{
        name: f"np.{name}(x)"
        for name in ("exp", "sqrt", "log", "tanh", "abs", "sin", "cos", "sign", "square")
    },
    "exp_": "np.exp(x)",
    "pow": "x ** 2",
    "rsqrt": "1 / np.sqrt(x)",
    "neg": "-x",
    "sigmoid": "1 / (1 + np.exp(-x))",
    "relu": "np.maximum(x, 0)",
    "elu": "Instead, use `np.where` and `np.exp`.",
    "gelu": "It is written out with `np.tanh`, as the lab's text does.",
    "erf": "The lab's formula needs `np.tanh` only.",
    "softmax": "Instead, use `np.exp` and a sum, or your own function, if the notebook has one.",
    "log_softmax": "Instead, use `np.log`, `np.exp` and a sum.",
    "logsumexp": "Instead, use `np.log(np.exp(x).sum())`, after you subtract the maximum.",
    "cross_entropy": "Instead, write its formula.",
    "CrossEntropyLoss": "Instead, write its formula.",
    "clip_grad_norm_": "Instead, write its formula.",
    "layer_norm": "Instead, use `x.mean` and `x.var`, or your own function, if the notebook has one.",
    "scaled_dot_product_attention": "Instead, write it with `@` and softmax.",
    "nelement": "x.size",
    "isinf": "np.isinf(x)",
    "isnan": "np.isnan(x)",
    "clamp": "np.clip(x, low, high)",
    "clamp_": "np.clip(x, low, high)",
    "clip_": "np.clip(x, low, high)",
    "where": "np.where(condition, x, y)",
    "maximum": "np.maximum(x, y)",
    "minimum": "np.minimum(x, y)",
    # Functions for products and norms.
    "matmul": "x @ y",
    "mm": "x @ y",
    "bmm": "x @ y",
    "mul": "x * y",
    "add": "x + y",
    "sub": "x - y",
    "div": "x / y",
    "outer": "np.outer(x, y)",
    "norm": "np.linalg.norm(x)",
    "inv": "np.linalg.inv(x)",
    "einsum": "np.einsum",
    # Functions that change the shape of an array or the order of its axes.
    "view": "x.reshape(...)",
    "view_as": "x.reshape(y.shape)",
    "rearrange": "Use `x.reshape` for the shape, and `np.swapaxes` for the order of the axes.",
    "permute": "x.transpose(0, 2, 1)",
    "t": "x.T",
    "unsqueeze": "np.expand_dims(x, axis)",
    "unsqueeze_": "np.expand_dims(x, axis)",
    "expand_dims": "np.expand_dims(x, axis)",
    "expand": "np.broadcast_to(x, shape)",
    "expand_as": "np.broadcast_to(x, y.shape)",
    "repeat_interleave": "np.repeat(x, n, axis)",
    "contiguous": "NumPy does not need it; leave it out.",
    "dim": "x.ndim",
    "rank": "x.ndim",
    "numel": "x.size",
    "chunk": "np.split(x, n, axis)",
    "split": "`np.split(x, n, axis)` makes n parts, where PyTorch's `split(n)` makes parts of n rows.",
    "unflatten": "x.reshape(...)",
    "split_with_sizes": "np.split(x, places, axis)",
    "unbind": "list(x)",
    "flip": "np.flip(x, axis)",
    "reverse": "x[::-1]",
    "roll": "np.roll(x, n, axis)",
    "narrow": "A slice, such as `x[:, start:stop]`.",
    "select": "An index, such as `x[:, 0]`.",
    # Functions that join arrays.
    "cat": "np.concatenate([x, y], axis=0)",
    "stack": "np.stack([x, y])",
    "extend": "np.concatenate([x, y])",
    "append": "np.concatenate([x, y])",
    # Functions that choose numbers from an array, or fill it.
    "masked_fill": "np.where(condition, value, x)",
    "masked_fill_": "np.where(condition, value, x)",
    "masked_scatter": "np.where(mask, y, x)",
    "masked_select": "x[mask]",
    "index_select": "np.take(x, indices, axis)",
    "gather": "np.take_along_axis(x, indices, axis)",
    "scatter": "np.put_along_axis(x, indices, values, axis)",
    "scatter_": "np.put_along_axis(x, indices, values, axis)",
    "scatter_add": "np.add.at(x, indices, values)",
    "scatter_add_": "np.add.at(x, indices, values)",
    "index_add": "np.add.at(x, indices, values)",
    "index_add_": "np.add.at(x, indices, values)",
    "at": "NumPy's arrays have no `.at`: assign to `x[i]`, or use `np.add.at(x, indices, values)`.",
    "fill_": "x.fill(value)",
    "zero_": "x.fill(0)",
    "one_hot": "np.eye(classes)[targets]",
    "triu": "np.triu(x)",
    "tril": "np.tril(x)",
    "triu_": "np.triu(x)",
    "tril_": "np.tril(x)",
    "topk": "np.argsort(x)",
    "multinomial": "The exercise gives you the random number as an argument.",
    "amax": "x.max(axis)",
    "amin": "x.min(axis)",
    "values": "`x.max(axis)` is the array of the maxima already; leave it out.",
    "indices": "np.argmax(x, axis)",
    "reduce_sum": "x.sum(axis)",
    "reduce_mean": "x.mean(axis)",
    "reduce_max": "x.max(axis)",
    "median": "np.median(x)",
    "logical_not": "~x",
    # Functions that make arrays, or convert them to another type.
    "tensor": "np.array(...)",
    "Tensor": "np.array(...)",
    "from_numpy": "It is an array already; leave it out.",
    "as_tensor": "np.asarray(...)",
    "convert_to_tensor": "np.asarray(...)",
    "new_zeros": "np.zeros(shape)",
    "new_ones": "np.ones(shape)",
    "randn": "np.random.randn(...)",
    "rand": "np.random.rand(...)",
    "clone": "x.copy()",
    "detach": "NumPy does not need it; leave it out.",
    "cpu": "NumPy does not need it; leave it out.",
    "cuda": "NumPy does not need it; leave it out.",
    "numpy": "It is an array already; leave it out.",
    "to": "x.astype(dtype)",
    "type": "x.astype(dtype)",
    "cast": "x.astype(dtype)",
    "float": "x.astype(float)",
    "double": "x.astype(np.float64)",
    "half": "x.astype(np.float16)",
    "long": "x.astype(int)",
    "int": "x.astype(int)",
    "bool": "x.astype(bool)",
    "float_": "np.float64",
    "Inf": "np.inf",
    "infty": "np.inf",
    "NaN": "np.nan",
    "product": "np.prod(x)",
    "cumproduct": "np.cumprod(x)",
    "in1d": "np.isin(x, y)",
    "row_stack": "np.vstack([x, y])",
    "trapz": "np.trapezoid(y)",
    "alltrue": "np.all(x)",
    "sometrue": "np.any(x)",
    # Names of PyTorch's functions for automatic differentiation, which NumPy does not have.
    "backward": "NumPy computes no gradients: write the formula.",
    "grad": "NumPy computes no gradients: write the formula.",
    "no_grad": "NumPy computes no gradients; leave it out.",
    "requires_grad_": "NumPy computes no gradients; leave it out.",
    "Linear": "A matrix product: `x @ w + b`.",
    "Parameter": "An array is enough.",
}


# How to write in Keras what NumPy writes as a method or an operator of an array.
_KERAS_FORMS = {
    "x @ y": "ops.matmul(x, y)",
    "x.reshape(...)": "ops.reshape(x, shape)",
    "x.reshape(y.shape)": "ops.reshape(x, ops.shape(y))",
    "x.transpose(0, 2, 1)": "ops.transpose(x, (0, 2, 1))",
    "x.T": "ops.transpose(x)",
    "x.astype(dtype)": "ops.cast(x, dtype)",
    "x.astype(float)": 'ops.cast(x, "float32")',
    "x.astype(int)": 'ops.cast(x, "int32")',
    "x.astype(bool)": 'ops.cast(x, "bool")',
    "x.max(axis)": "ops.max(x, axis)",
    "x.min(axis)": "ops.min(x, axis)",
    "x.sum(axis)": "ops.sum(x, axis)",
    "x.mean(axis)": "ops.mean(x, axis)",
    "x.ndim": "len(x.shape)",
    "x.copy()": "ops.copy(x)",
    "np.eye(classes)[targets]": "ops.one_hot(targets, classes)",
    "np.concatenate([x, y], axis=0)": "ops.concatenate([x, y], axis=0)",
    "np.asarray(...)": "ops.convert_to_tensor(...)",
    "np.array(...)": "ops.convert_to_tensor(...)",
    "np.argsort(x)": "ops.argsort(x)",
}
# Functions of which `keras.ops` has one of NumPy's name with NumPy's arguments.
KERAS_FUNCTIONS = (
    "exp sqrt log tanh abs sin cos sign square maximum minimum where expand_dims broadcast_to repeat split "
    "flip roll stack take take_along_axis triu tril argmax isinf isnan clip outer einsum prod all any"
).split()


def explain_missing_library(name: str) -> str:
    """Tell the student for which library a name such as `tf` stands; "" if for none.

    >>> explain_missing_library("torch")
    'This exercise is written with NumPy, and PyTorch (`torch`) is not imported.'
    """
    library = _LIBRARIES.get(name)
    if library is None:
        return ""
    return f"This exercise is written with NumPy, and {library} (`{name}`) is not imported."


def find_numpy_equivalent(name: str) -> str:
    """Return how to write a function or method of another library in NumPy; "" if unknown.

    The text is code such as `np.exp(x)`, or a sentence.

    Capitals and underscores do not matter: `LayerNorm` is `layer_norm`, and `mul_` is `mul`.

    >>> find_numpy_equivalent("masked_fill"), find_numpy_equivalent("mul_")
    ('np.where(condition, value, x)', 'x * y')
    """
    return _EQUIVALENTS.get(name) or _PLAIN_EQUIVALENTS.get(_simplify(name), "")


def _simplify(name: str) -> str:
    return name.replace("_", "").lower()


_PLAIN_EQUIVALENTS = {_simplify(name): equivalent for name, equivalent in _EQUIVALENTS.items()}


def describe_equivalent(name: str) -> str:
    """Return a sentence on how to write a function or method of another library in NumPy, or "".

    >>> describe_equivalent("masked_fill")
    'In NumPy: `np.where(condition, value, x)`.'
    >>> describe_equivalent("contiguous")
    'NumPy does not need it; leave it out.'
    """
    equivalent = find_numpy_equivalent(name)
    if not equivalent:
        return ""
    if equivalent.endswith("."):
        return equivalent
    return f"In NumPy: `{equivalent}`."


def describe_keras_equivalent(name: str) -> str:
    """Return a sentence on how to write a function or method of another library in Keras, or "".

    >>> describe_keras_equivalent("masked_fill"), describe_keras_equivalent("view")
    ('In Keras: `ops.where(condition, value, x)`.', 'In Keras: `ops.reshape(x, shape)`.')
    """
    if name == "softmax":
        return "In Keras: `ops.softmax(x, axis)`."
    code = find_numpy_equivalent(name)
    if not code:  # perhaps a method of NumPy's arrays, such as `reshape`
        methods = [form for form in _KERAS_FORMS if form.startswith(f"x.{name}(")]
        code = methods[0] if methods else ""
    keras_code = _KERAS_FORMS.get(code, "")
    function = re.match(r"np\.(\w+)", code)
    if function and not keras_code and function[1] in KERAS_FUNCTIONS:
        keras_code = f"ops.{code.removeprefix('np.')}"
    return f"In Keras: `{keras_code}`." if keras_code else ""
