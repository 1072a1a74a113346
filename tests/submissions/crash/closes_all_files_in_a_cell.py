"""The same from the answer's cell: the cell is left out and the rest run again."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


import os

os.closerange(0, 1000)
