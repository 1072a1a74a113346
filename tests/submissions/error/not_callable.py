"""The exercise's name stands for something that cannot be called."""

# %% padding-mask
padding_mask = np.ones((3, 1, 5), dtype=bool)
