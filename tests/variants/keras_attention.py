"""Different right answers to the exercises of the lab `keras-attention`; none without Keras."""

import numpy as np

from autograder.framework import missing, start_keras

VARIANTS = []  # (exercise, function or class)


def right(exercise):
    def register(answer):
        VARIANTS.append((exercise, answer))
        return answer

    return register


if not missing():
    start_keras()
    import keras
    from keras import ops
    from keras.layers import Layer

    # token_padding_mask

    @right("token_padding_mask")
    def booleans(token_ids):
        return ops.equal(token_ids, 0)[:, None, :]

    @right("token_padding_mask")
    def integers_in_numpy(ids):
        return np.where(np.asarray(ids) == 0, 1, 0).reshape(len(ids), 1, -1)

    @right("token_padding_mask")
    def one_minus_words(token_ids):
        words = ops.cast(ops.not_equal(token_ids, 0), "float32")
        return ops.expand_dims(1.0 - words, axis=-2)

    @right("token_padding_mask")
    def row_by_row(token_ids):
        mask = np.zeros((len(token_ids), 1, token_ids.shape[1]))
        for sentence, row in enumerate(token_ids):
            for position, token in enumerate(row):
                mask[sentence, 0, position] = token == 0
        return mask

    @right("token_padding_mask")
    def reshaped_where(token_ids):
        token_ids = ops.convert_to_tensor(token_ids)
        batch, length = token_ids.shape
        return ops.reshape(ops.where(token_ids > 0, 0, 1), (batch, 1, length))

    # look_ahead_mask

    @right("look_ahead_mask")
    def one_minus_the_past(length):
        return 1 - ops.tril(ops.ones((length, length)))

    @right("look_ahead_mask")
    def compared_positions(size):
        places = ops.arange(size)
        return places[None, :] > places[:, None]

    @right("look_ahead_mask")
    def numpy_triangle(length):
        return np.triu(np.ones((length, length), dtype=np.int64), k=1)

    @right("look_ahead_mask")
    def rows_of_zeros_and_ones(length):
        return np.array([[0] * (i + 1) + [1] * (length - i - 1) for i in range(length)])

    # combine_masks

    @right("combine_masks")
    def logical_or(padding, look_ahead):
        return ops.logical_or(ops.cast(padding, "bool"), ops.cast(look_ahead, "bool"))

    @right("combine_masks")
    def sum_above_zero(padding, look_ahead):
        return ops.cast(ops.add(padding, look_ahead) > 0, "float32")

    @right("combine_masks")
    def both_visible(padding, look_ahead):
        return 1 - (1 - padding) * (1 - look_ahead)

    @right("combine_masks")
    def clipped(padding, look_ahead):
        return ops.clip(padding + look_ahead, 0, 1)

    @right("combine_masks")
    def sentence_by_sentence(padding, look_ahead):
        return np.stack([np.maximum(row, look_ahead) for row in padding])

    # DotProductAttention

    @right("DotProductAttention")
    class AsPublishedForKeras3(Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)

        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.transpose(keys, axes=(0, 2, 1))) / ops.sqrt(
                ops.cast(d_k, "float32")
            )
            if mask is not None:
                scores += -1e9 * mask
            weights = ops.softmax(scores)
            return ops.matmul(weights, values)

    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        @right("DotProductAttention")
        class AsPublishedForTensorFlow(Layer):
            def call(self, queries, keys, values, d_k, mask=None):
                scores = tf.matmul(queries, keys, transpose_b=True) / tf.math.sqrt(tf.cast(d_k, tf.float32))
                if mask is not None:
                    scores += -1e9 * mask
                weights = tf.nn.softmax(scores)
                return tf.matmul(weights, values)

        @right("look_ahead_mask")
        def as_published(shape):
            return 1 - tf.linalg.band_part(tf.ones((shape, shape)), -1, 0)

        @right("combine_masks")
        def tensorflow_maximum(padding, look_ahead):
            return tf.maximum(padding, look_ahead)

    @right("DotProductAttention")
    class Einsum(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.einsum("bqd,bkd->bqk", queries, keys) * d_k**-0.5
            scores = scores if mask is None else ops.where(ops.equal(mask, 1), -np.inf, scores)
            return ops.einsum("bqk,bkv->bqv", ops.nn.softmax(scores, axis=-1), values)

    @right("DotProductAttention")
    class ScaledQueries(Layer):
        def call(self, queries, keys, values, d_k=None, mask=None):
            queries = queries / ops.sqrt(ops.cast(ops.shape(keys)[-1], queries.dtype))
            scores = queries @ ops.swapaxes(keys, -1, -2)
            if mask is not None:
                scores = scores - 1e9 * ops.cast(mask, "float32")
            powers = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
            return (powers / ops.sum(powers, axis=-1, keepdims=True)) @ values

    @right("DotProductAttention")
    class KerasSoftmaxLayer(Layer):
        def __init__(self):
            super().__init__()
            self.softmax = keras.layers.Softmax()

        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.swapaxes(keys, 1, 2)) / d_k**0.5
            visible = None if mask is None else ops.broadcast_to(ops.equal(mask, 0), ops.shape(scores))
            return ops.matmul(self.softmax(scores, mask=visible), values)

    @right("DotProductAttention")
    class KerasFunction(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            if mask is not None:
                length = ops.shape(queries)[1]
                mask = ops.equal(mask, 0) if len(mask.shape) == 3 else ops.equal(mask, 0)[None]
                mask = ops.broadcast_to(mask, (ops.shape(queries)[0], length, ops.shape(keys)[1]))[:, None]
            queries, keys, values = (x[:, :, None] for x in (queries, keys, values))
            if keras.config.backend() == "jax":  # there, keys and values must have one size
                scores = ops.einsum("bqhd,bkhd->bhqk", queries, keys) / d_k**0.5
                scores = scores if mask is None else ops.where(mask, scores, -1e30)
                return ops.einsum("bhqk,bkhv->bqhv", ops.softmax(scores), values)[:, :, 0]
            return ops.nn.dot_product_attention(queries, keys, values, mask=mask)[:, :, 0]

    @right("DotProductAttention")
    class HiddenLeftOut(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            powers = ops.exp(ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / np.sqrt(d_k))
            if mask is not None:
                powers = powers * (1 - mask)
            return ops.matmul(powers, values) / ops.sum(powers, axis=-1, keepdims=True)

    @right("DotProductAttention")
    class SentenceBySentence(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            outputs = []
            for i in range(queries.shape[0]):
                scores = ops.matmul(queries[i], ops.transpose(keys[i])) / float(d_k) ** 0.5
                if mask is not None:
                    hidden = mask if len(mask.shape) == 2 else mask[i]
                    scores = scores + hidden * -1e9
                outputs.append(ops.matmul(ops.softmax(scores, axis=1), values[i]))
            return ops.stack(outputs)

    @right("DotProductAttention")
    class InNumPy(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            queries, keys, values = map(ops.convert_to_numpy, (queries, keys, values))
            scores = queries @ keys.transpose(0, 2, 1) / np.sqrt(d_k)
            if mask is not None:
                scores = np.where(ops.convert_to_numpy(mask) == 1, np.finfo(np.float32).min, scores)
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            return powers @ values / powers.sum(-1, keepdims=True)

    @right("DotProductAttention")
    class LogSumExp(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.swapaxes(keys, -2, -1)) / d_k**0.5
            scores = scores if mask is None else scores + mask * -1e9
            return ops.matmul(ops.exp(scores - ops.logsumexp(scores, axis=-1, keepdims=True)), values)

    # HalfPrecisionAttention

    @right("HalfPrecisionAttention")
    class ANumberThatFits(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
            if mask is not None:
                scores += -1e4 * ops.cast(mask, scores.dtype)
            return ops.matmul(ops.softmax(scores), values)

    @right("HalfPrecisionAttention")
    class LowestOfTheDtype(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.einsum("bqd,bkd->bqk", queries, keys) / ops.cast(d_k**0.5, queries.dtype)
            if mask is not None:
                lowest = float(np.finfo(keras.backend.standardize_dtype(scores.dtype)).min)
                scores = ops.where(ops.not_equal(ops.cast(mask, "int32"), 0), lowest, scores)
            return ops.einsum("bqk,bkv->bqv", ops.softmax(scores, axis=-1), values)

    @right("HalfPrecisionAttention")
    class MinusInfinityChosen(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / d_k**0.5
            if mask is not None:
                scores = ops.where(mask, -np.inf, scores)
            return ops.matmul(ops.softmax(scores), values)

    @right("HalfPrecisionAttention")
    class InFloat32Inside(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            given = queries.dtype
            queries, keys, values = (ops.cast(x, "float32") for x in (queries, keys, values))
            scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
            if mask is not None:
                scores += -1e9 * ops.cast(mask, "float32")
            return ops.cast(ops.matmul(ops.softmax(scores), values), given)

    @right("HalfPrecisionAttention")
    class AlwaysFloat32(AsPublishedForKeras3):
        def __init__(self):
            super().__init__(dtype="float32")

        def call(self, queries, keys, values, d_k, mask=None):
            mask = mask if mask is None else ops.cast(mask, "float32")
            return super().call(queries, keys, values, d_k, mask)
