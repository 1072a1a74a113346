"""await at the top of cells, with tasks that are never awaited."""

# %% padding-mask
import asyncio

await asyncio.sleep(0)
endless = asyncio.ensure_future(asyncio.sleep(1000))


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
