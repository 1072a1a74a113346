"""An update of a display that was a stream, which leaves an output of no known form."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


emitter = get_ipython().emitter
emitter._send_output({"output_type": "stream", "name": "stdout", "text": "a"}, "a")
emitter._send_output(
    {"output_type": "display_data", "data": {"text/plain": "b"}, "metadata": {}}, "a", True
)
