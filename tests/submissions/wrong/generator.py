"""A generator function: it returns at once and computes nothing."""


# %% padding-mask
def padding_mask(lengths, size):
    while True:
        yield np.arange(size) < lengths[:, np.newaxis, np.newaxis]
