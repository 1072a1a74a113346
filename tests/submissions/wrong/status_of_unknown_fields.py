"""Events with fields of odd types (huge numbers, lists for names) from a cell; at most the cell is lost."""

# %% before padding-mask
emitter = get_ipython().emitter
emitter.send({"op": "clear", "wait": [1e308, -(2**62), "\x00"]})
emitter._send_output(
    {"output_type": "display_data", "data": {"text/plain": "\x1b[2J\x00"}, "metadata": {}}
)


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)
