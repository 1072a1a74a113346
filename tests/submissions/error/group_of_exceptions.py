"""An ExceptionGroup of a thousand, each with a cause that is itself."""


# %% padding-mask
def padding_mask(lengths, size):
    inner = [ValueError(str(i) * 1000) for i in range(1000)]
    for one in inner:
        one.__cause__ = one.__context__ = inner[0]
    raise ExceptionGroup("x" * 100_000, inner)
