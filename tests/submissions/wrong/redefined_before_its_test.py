"""A right answer that another cell overwrites before the test; what stands there then is asked."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


# %% before test-padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)
