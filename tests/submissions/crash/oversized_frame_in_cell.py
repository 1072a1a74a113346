"""A frame of 3 GB is announced in the submission's own pipe; nothing is allocated for it."""

# %% padding-mask
import os
import struct


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


os.write(4, struct.pack("!4sIQ", b"ALW1", 60 << 20, 3 << 30))
