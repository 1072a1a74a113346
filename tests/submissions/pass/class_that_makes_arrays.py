"""A class whose __new__ gives the array, with a state: odd, but every answer is right."""


# %% padding-mask
class padding_mask:
    def __new__(cls, lengths, size):
        cls.calls = getattr(cls, "calls", 0) + 1
        return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
