"""An array of 10,000,000,000 values that takes one byte, by broadcasting."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.broadcast_to(np.True_, (100_000, 1, 100_000))
