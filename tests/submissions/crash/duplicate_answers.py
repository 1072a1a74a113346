"""Every answer twice, the second time another one: neither counts."""

# %% padding-mask
import sys

wire = sys.modules["sandbox_wire"]
real_encode = wire.encode


def encode(header, arrays=()):
    frame = real_encode(header, arrays)
    return frame * 2 if "answer" in header else frame


wire.encode = encode


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


# %% after test-padding-mask
wire.encode = real_encode
