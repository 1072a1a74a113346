"""Takes 100 GB in one piece when it is called."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((10**11,), dtype=bool)
