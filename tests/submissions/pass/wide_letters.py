"""The name is written in full-width letters, which Python takes for the plain ones."""


# %% padding-mask (commented)
# def ｐａｄｄｉｎｇ_mask(lengths, size):
#     return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
