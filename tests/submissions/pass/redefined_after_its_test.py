"""A right answer, spoilt after its test; later exercises use what is then there, this one has its points."""
# exercise: causal_mask
# expect: dot_product_self_attention=wrong


# %% after test-causal-mask
def causal_mask(size):
    return np.ones((size, size), dtype=bool)
