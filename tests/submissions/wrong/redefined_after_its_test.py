"""A wrong answer that a cell after the test puts right; that is too late."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% after test-padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
