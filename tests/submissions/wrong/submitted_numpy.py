"""A numpy.py written beside the notebook, in the real one's place in its own process; the answer is compared outside."""

# %% padding-mask
import pathlib
import sys

pathlib.Path("numpy.py").write_text(
    "def __getattr__(name):\n    return lambda *args, **kwargs: True\n"
)
real = sys.modules.pop("numpy")
sys.path.insert(0, "")
import numpy as fake

sys.modules["numpy"] = real


def padding_mask(lengths, size):
    return np.ones((len(lengths), 1, size), dtype=bool)


assert fake is not real

# %% before test-padding-mask
sys.modules["numpy"] = fake

# %% after test-padding-mask
sys.modules["numpy"] = real
