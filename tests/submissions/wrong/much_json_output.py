"""Outputs of JSON, each within the bounds, all together beyond them."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


from IPython.display import display

for _ in range(3):
    display({"application/json": [0] * 900_000}, raw=True)
