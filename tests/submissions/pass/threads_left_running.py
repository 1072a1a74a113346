"""Thirty threads that never end, none of them a daemon; the answer is right, and nothing waits for them."""

# %% padding-mask
import threading
import time


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


for _ in range(30):
    threading.Thread(target=time.sleep, args=(1000,)).start()
