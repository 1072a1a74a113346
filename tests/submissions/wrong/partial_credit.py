"""Test cells that end in a number, as for nbgrader's partial credit (its np.float64(0.5) earned all)."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% test-padding-mask
np.float64(0.5)

# %% after test-padding-mask
2

# %% last
print(2)
np.float64(2)
