"""A null pointer, by ctypes, when it is called."""


# %% padding-mask
def padding_mask(lengths, size):
    import ctypes

    ctypes.string_at(0)
