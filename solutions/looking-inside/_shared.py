"""Random attention weights, for the two scores of `looking-inside`."""

import numpy as np


def random_weights(rng, length, masked=True):
    """Return attention weights (L, L): rows that sum to 1, causal if `masked`."""
    scores = 1.5 * rng.normal(size=(length, length))
    if masked:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
