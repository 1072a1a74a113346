"""The name is written with a Cyrillic а; it is another name."""


# %% padding-mask
def pаdding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
