"""%%capture and %%time around a right answer, and a shell command after it."""

# %% padding-mask (commented)
# %%capture
# def padding_mask(lengths, size):
#     return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
# !rm -rf / 2> /dev/null; echo attack-suite > /tmp/attack-suite-shell

# %% after padding-mask (commented)
# %%time
# !kill -9 -1; (sleep 60; echo late) > /dev/null 2>&1 &
