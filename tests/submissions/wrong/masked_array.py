"""A masked array in which all that would be wrong is masked."""


# %% padding-mask
def padding_mask(lengths, size):
    right = np.arange(size) < lengths[:, np.newaxis, np.newaxis]
    return np.ma.array(np.ones_like(right), mask=~right)
