"""A structured array with a field named like everything that might be looked at."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones(
        (len(lengths), 1, size), dtype=[("value", bool), ("expected", bool), ("score", "f8")]
    )
