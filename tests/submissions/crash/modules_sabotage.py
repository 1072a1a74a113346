"""sys.modules without what packs the answers; that question has no answer, the others have theirs."""

# %% padding-mask
import sys

kept = dict(sys.modules)
sys.modules["autograder.answer"] = sys.modules["autograder"] = None


def padding_mask(lengths, size):
    return np.arange(size) < lengths[:, np.newaxis, np.newaxis]


# %% after test-padding-mask
sys.modules.update(kept)
