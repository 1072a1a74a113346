"""The recursion limit is lifted and the stack overrun."""


# %% padding-mask
def padding_mask(lengths, size):
    import sys

    sys.setrecursionlimit(10**9)
    f = lambda: [*map(lambda x: f(), [0])]
    return f()
