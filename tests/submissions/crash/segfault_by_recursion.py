"""The recursion limit is lifted and the small stack of a thread overrun, where Python does not watch it."""
# from 3.14: padding_mask=error


# %% padding-mask
def padding_mask(lengths, size):
    import sys
    import threading

    sys.setrecursionlimit(10**9)
    threading.stack_size(65536)
    f = lambda: [*map(lambda x: f(), [0])]
    thread = threading.Thread(target=f)
    thread.start()
    thread.join()
    return f()
