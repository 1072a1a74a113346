"""A picture to touch, in an answer's own cell: with no page to show it, it is made all the same and moves nothing."""

# %% padding-mask
from attention_labs import touch


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


touch.mask(
    lambda scores, visible: visible / visible.sum(axis=-1, keepdims=True), np.zeros((3, 3)), "abc"
)
touch.clocks(lambda length, size: np.ones((length, size)))
