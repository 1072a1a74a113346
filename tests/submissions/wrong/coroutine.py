"""A coroutine function; nobody awaits it, and the warning about that must not matter."""


# %% padding-mask
async def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
