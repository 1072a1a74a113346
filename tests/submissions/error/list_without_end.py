"""A list whose iteration never ends, for NumPy to read."""


# %% padding-mask
class Endless(list):
    def __len__(self):
        return 1 << 62

    def __getitem__(self, index):
        return True

    def __iter__(self):
        while True:
            yield True


def padding_mask(lengths, size):
    return np.array(list(Endless([1])))
