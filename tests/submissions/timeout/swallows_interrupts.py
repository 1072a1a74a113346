"""Waits for ever when it is called, whatever is raised in it, all signals blocked, in a new session."""


# %% padding-mask
def padding_mask(lengths, size):
    import os
    import signal
    import time

    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    if os.fork():
        os._exit  # the parent waits as well
    while True:
        try:
            time.sleep(100)
        except BaseException:
            pass
