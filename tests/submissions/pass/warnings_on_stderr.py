"""Warnings, logging and prints on stderr; for other graders any such line costs all points."""


# %% padding-mask
def padding_mask(lengths, size):
    import logging
    import sys
    import warnings

    warnings.warn("a warning")
    print("a line on stderr", file=sys.stderr)
    logging.getLogger().error("an error, logged")
    np.log(np.zeros(1))
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


import warnings

warnings.warn("attack-suite warning")
padding_mask(np.array([1]), 2)
