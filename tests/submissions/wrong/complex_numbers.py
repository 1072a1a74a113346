"""Complex numbers whose real part is right."""
# exercise: to_additive


# %% to-additive
def to_additive(mask, dtype=np.float64):
    return np.where(mask, 0, np.finfo(dtype).min) + 1j
