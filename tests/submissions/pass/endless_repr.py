"""A cell shows an object whose repr has no end: the cell is interrupted, and what it defined stands."""
# stalls: yes


# %% padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


class Endless:
    def __repr__(self):
        import time

        while True:
            time.sleep(1)


Endless()
