"""Frames of JSON nested deeper than frames may be, level by level up to the bound: the cell is lost, no more."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


emitter = get_ipython().emitter
deep = []
for depth in range(1, 40):
    deep = [deep]
    emitter._send_output(
        {"output_type": "display_data", "data": {"application/json": deep}, "metadata": {}}
    )
