"""os._exit in the answer's cell: the cell is left out, the rest run again."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


import os

os._exit(0)
