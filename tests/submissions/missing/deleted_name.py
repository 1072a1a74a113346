"""The name is deleted before the test, in the hope that what cannot be asked cannot be wrong."""

# %% before test-padding-mask
del padding_mask
