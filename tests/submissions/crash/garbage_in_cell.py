"""A cell writes garbage into the submission's own pipe; the cell is left out and the rest run again."""

# %% padding-mask
import os


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


for fd in range(3, 300):
    try:
        os.write(fd, b"ALW1" + b"\xff" * 5000)
    except OSError:
        pass
