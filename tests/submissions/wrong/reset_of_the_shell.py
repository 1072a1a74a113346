"""The shell loses its magics and its display publisher, and get_ipython is deleted."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% before test-padding-mask
shell = get_ipython()
shell.display_pub = shell.magics_manager = None
del get_ipython
