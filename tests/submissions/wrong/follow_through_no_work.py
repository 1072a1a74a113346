"""The later exercise hands the work to the earlier ones; with the right ones in place it is wrong still."""
# exercise: dot_product_self_attention
# expect: causal_mask=wrong


# %% causal-mask
def causal_mask(size):
    return np.ones((size, size), dtype=bool)


# %% dot-product-self-attention
def dot_product_self_attention(q, k, v, scale=True):
    return dot_product_attention(
        q, k, v, mask=causal_mask(q.shape[-1])[: q.shape[-2], : q.shape[-2]]
    )
