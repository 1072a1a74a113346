"""The layers of the lab `multi-head-attention` beside Keras's own, with the same weights.

`make test-keras` runs it on the backend in KERAS_BACKEND; without Keras it is skipped.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from attention_labs import keras_start
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course
from autograder.judging import numpy_equivalents

WHY_NOT = keras_start.explain_unavailability()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "Keras is there"),
]

BATCH, L_Q, L_K, HEADS, D_HEAD = 3, 5, 7, 6, 4
D = HEADS * D_HEAD

# The largest difference allowed between results whose numbers are about 1. Measured: 2e-15 and
# 9e-7.
ACCURACY = {"float64": 1e-13, "float32": 5e-6}


@pytest.fixture(scope="module")
def keras():
    keras_start.start_keras()
    import keras

    return keras


@pytest.fixture(scope="module")
def our_layers():
    """Return the definitions of the solution notebook."""
    return read_lab(read_course(Path(__file__).parents[2]), "multi-head-attention").reference


def masks(rng):
    random_mask = rng.random((BATCH, L_Q, L_K)) < 0.6
    random_mask[..., 0] = True  # every query may attend to something
    padding = np.arange(L_K) < np.array([7, 1, 4])[:, np.newaxis, np.newaxis]
    return {
        "no mask": None,
        "a mask a sentence": random_mask,
        "padding": padding,
        "causal": np.tri(L_Q, L_K, dtype=bool),
    }


def draw_arrays(dtype, kv_heads=HEADS):
    """(queries, keys, values), (w_q, w_k, w_v, w_o) and masks, of one dtype."""
    rng = np.random.default_rng(19)
    arrays = [rng.normal(size=(BATCH, length, D)) for length in (L_Q, L_K, L_K)]
    d_kv = kv_heads * D_HEAD
    tables = [rng.normal(size=(D, columns)) / D**0.5 for columns in (D, d_kv, d_kv, D)]
    return [a.astype(dtype) for a in arrays], [t.astype(dtype) for t in tables], masks(rng)


def with_tables(layer, arrays, tables, kv_heads=HEADS):
    """The layer, its weights replaced by ours: Keras gives the heads an axis of their own."""
    queries, keys, values = arrays
    layer.build(queries.shape, values.shape, keys.shape)
    w_q, w_k, w_v, w_o = tables
    layer.set_weights(
        [
            w_q.reshape(D, HEADS, D_HEAD),
            w_k.reshape(D, kv_heads, D_HEAD),
            w_v.reshape(D, kv_heads, D_HEAD),
            w_o.reshape(HEADS, D_HEAD, D),
        ],
    )
    return layer


def largest_difference(keras, layer, arrays, mask, our_layers):
    queries, keys, values = arrays
    full = None if mask is None else np.broadcast_to(mask, (BATCH, L_Q, L_K))
    keras_output = keras.ops.convert_to_numpy(layer(queries, values, keys, attention_mask=full))
    assert keras_output.shape == our_layers.shape
    return np.abs(keras_output - our_layers).max()


def skip_if_rounded(keras, dtype):
    if dtype == "float64" and keras.config.backend() == "jax":
        pytest.skip("JAX calculates in float32 unless it is told otherwise")


@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("name", masks(np.random.default_rng(0)))
def test_multi_head_attention_is_that_of_keras(keras, our_layers, name, dtype):
    skip_if_rounded(keras, dtype)
    arrays, tables, drawn_masks = draw_arrays(dtype)
    layer = keras.layers.MultiHeadAttention(HEADS, D_HEAD, use_bias=False, dtype=dtype)
    with_tables(layer, arrays, tables)
    mask = drawn_masks[name]
    result = our_layers.multi_head_attention(*arrays, *tables, HEADS, mask=mask)
    assert result.dtype == dtype
    assert largest_difference(keras, layer, arrays, mask, result) < ACCURACY[dtype]


@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("name", masks(np.random.default_rng(0)))
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_grouped_query_attention_is_that_of_keras(keras, our_layers, kv_heads, name, dtype):
    skip_if_rounded(keras, dtype)
    arrays, tables, drawn_masks = draw_arrays(dtype, kv_heads)
    layer = keras.layers.GroupQueryAttention(D_HEAD, HEADS, kv_heads, use_bias=False, dtype=dtype)
    with_tables(layer, arrays, tables, kv_heads)
    mask = drawn_masks[name]
    result = our_layers.grouped_query_attention(*arrays, *tables, HEADS, kv_heads, mask=mask)
    assert largest_difference(keras, layer, arrays, mask, result) < ACCURACY[dtype]


def test_another_order_of_the_groups_would_be_noticed(keras, our_layers):
    """With `np.tile` in the place of `np.repeat` the results differ, so the tests above see the order."""
    arrays, tables, _ = draw_arrays("float32", 2)
    layer = keras.layers.GroupQueryAttention(D_HEAD, HEADS, 2, use_bias=False)
    with_tables(layer, arrays, tables, 2)
    tiled_tables = [
        np.tile(table.reshape(D, 2, D_HEAD), (1, HEADS // 2, 1)).reshape(D, D)
        for table in tables[1:3]
    ]
    result = our_layers.multi_head_attention(*arrays, tables[0], *tiled_tables, tables[3], HEADS)
    assert largest_difference(keras, layer, arrays, None, result) > 0.01


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("heads", "kv_heads"), [(12, None), (12, 12), (12, 4), (12, 1)])
def test_parameter_count_is_that_of_keras(keras, our_layers, heads, kv_heads, bias):
    shape = (1, 2, 768)
    if kv_heads is None:
        layer = keras.layers.MultiHeadAttention(heads, 768 // heads, use_bias=bias)
    else:
        layer = keras.layers.GroupQueryAttention(768 // heads, heads, kv_heads, use_bias=bias)
    layer.build(shape, shape, shape)
    assert layer.count_params() == our_layers.parameter_count(768, heads, kv_heads, bias)


def test_keras_has_every_function_that_messages_translate_into(keras):
    named = list(numpy_equivalents.KERAS_FUNCTIONS)
    for code in numpy_equivalents._KERAS_FORMS.values():
        named += re.findall(r"\bops\.(\w+)", code)
    assert [name for name in named if not hasattr(keras.ops, name)] == []
