"""Returns an object whose deletion never ends."""


# %% padding-mask
class Bomb(np.ndarray):
    def __del__(self):
        import time

        time.sleep(1000)


def padding_mask(lengths, size):
    return (np.arange(size) < lengths[:, np.newaxis, np.newaxis]).view(Bomb)
