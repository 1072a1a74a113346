"""The tag that makes nbclient skip the test cell; it must not be worth full marks."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% metadata test-padding-mask (commented)
# {"tags": ["skip-execution", "raises-exception"]}
