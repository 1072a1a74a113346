"""NaN everywhere: it compares with nothing, and min, max and sum of it are NaN as well."""
# exercise: masked_softmax


# %% masked-softmax
def masked_softmax(scores, mask=None):
    return np.full(scores.shape, np.nan)
