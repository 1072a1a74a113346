"""An output of JSON nested deeper than frames may be, cell by cell up to the bound: the cell is lost, no more."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


from IPython.display import display

deep = []
for depth in range(1, 40):
    deep = [deep]
    display({"application/json": deep}, raw=True)
