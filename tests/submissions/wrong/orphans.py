"""Daemons that wait for the test and then write into the pipes and files that they still hold."""

# %% padding-mask
import os
import time

for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(600):
                time.sleep(0.1)
                try:
                    os.write(4, b"")
                    open("/tmp/attack-suite-daemon", "a").write("still here\n")
                except OSError:
                    pass
        os._exit(0)


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)
