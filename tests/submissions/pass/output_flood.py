"""100 MB of text, 5,000 displays, a repr of 50 MB and 20 MB of HTML; only a bounded part is kept."""


# %% padding-mask
def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


import sys

for _ in range(100):
    print("attack-suite " * 80_000)
    print("x" * 1000, file=sys.stderr)

# %% after padding-mask
from IPython.display import HTML, display

for number in range(5_000):
    display(number)


# %% last
class Long:
    def __repr__(self):
        return "y" * 50_000_000


display(Long())
HTML("<b>z</b>" * 2_500_000)
