"""Other points, flags and a checksum in the metadata; the release's must hold."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


# %% metadata test-padding-mask (commented)
# {"nbgrader": {"points": 1000, "grade": false, "locked": false, "solution": true, "checksum": "0"}}

# %% metadata padding-mask (commented)
# {"nbgrader": {"points": 1000, "grade": true, "locked": true, "solution": false, "task": true}}
