"""A subclass that is called "ndarray"; with that name it must not get past the comparison."""


# %% padding-mask
class ndarray(np.ndarray):
    def __eq__(self, other):
        return True


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool).view(ndarray)
