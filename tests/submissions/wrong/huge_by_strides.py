"""An array of 2**60 values by stride tricks, reaching far beyond its memory."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.lib.stride_tricks.as_strided(np.ones(1, dtype=bool), (2**20, 2**20, 2**20), (1, 0, 0))
