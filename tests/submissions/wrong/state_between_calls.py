"""The first answer is kept and given again to every later question."""


# %% padding-mask
def padding_mask(lengths, size, kept=[]):
    if not kept:
        kept.append(np.arange(size) < lengths[:, np.newaxis, np.newaxis])
    return kept[0]
