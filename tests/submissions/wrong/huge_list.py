"""A list of a million lists, which NumPy would have to turn into an array first."""


# %% padding-mask
def padding_mask(lengths, size):
    return [[True]] * 1_000_000
