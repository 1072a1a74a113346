"""An answer that is no Python."""

# %% padding-mask (commented)
# def padding_mask(lengths, size)
#     return ===
