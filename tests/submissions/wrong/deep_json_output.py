"""An output of JSON nested deeper than frames may be: nothing shows JSON, so it is left out."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


from IPython.display import display

deep = []
for depth in range(1, 40):
    deep = [deep]
    display({"application/json": deep}, raw=True)
