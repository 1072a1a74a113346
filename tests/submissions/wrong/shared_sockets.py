"""Abstract Unix sockets and ports of localhost, served by a process that outlives the submission."""
# copies: 3

# %% padding-mask
import os
import socket
import time

found = []
for kind, address in ((socket.AF_UNIX, "\0attack-suite"), (socket.AF_INET, ("127.0.0.1", 47_111))):
    with socket.socket(kind) as one:
        try:
            one.connect(address)
            found.append(address)
        except OSError:
            pass
    if os.fork() == 0:
        os.setsid()
        try:
            server = socket.socket(kind)
            server.bind(address)
            server.listen()
            time.sleep(60)
        finally:
            os._exit(0)
time.sleep(0.3)  # so that two of them are there at the same time
print(found)


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis] if found else np.ones((1, 1, 1))
