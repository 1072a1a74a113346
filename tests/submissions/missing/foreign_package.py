"""An answer imports a package of another lab of the course: it is refused, and the rest is marked."""

# %% padding-mask
import torch


def padding_mask(lengths, size):
    return torch.arange(size) < torch.as_tensor(lengths)[:, None, None]
