"""Sentences to count in."""

WORDS = ("the", "sea", "a", "boat", "and", "wind", "of", "sail", "grey", "harbour", "gull")


def sentence(rng, words):
    """So many words, some of them with capitals, the first one twice where there is room."""
    chosen = list(rng.choice(WORDS, size=words))
    if words > 2:
        chosen[-1] = chosen[0].upper()
    return " ".join(chosen)
