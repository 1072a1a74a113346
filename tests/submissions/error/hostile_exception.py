"""An exception that cannot be printed, and says that it is something else."""


# %% padding-mask
class Hostile(Exception):
    __class__ = NotImplementedError

    def __str__(self):
        raise self

    __repr__ = __format__ = __str__

    @property
    def __traceback__(self):
        raise self


def padding_mask(lengths, size):
    raise Hostile
