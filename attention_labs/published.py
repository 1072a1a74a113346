"""Published results of the original lab, and checks that downloaded vectors give them again.

A set of vectors is installed only if it passes `CHECKS`. Each check takes both languages and
returns a problem, or None.
"""

import io
from collections.abc import Callable
from contextlib import redirect_stdout

import numpy as np

from attention_labs.embeddings import DIMENSIONS, LANGUAGES, Embeddings, embed, tokenize

Sets = dict[str, Embeddings]
Check = Callable[[Sets], str | None]

ENGLISH = "The agreement on the European Economic Area was signed in August 1992 ."
FRENCH = "L accord sur la zone économique européenne a été signé en août 1992 ."
UNKNOWN = "1992"  # in both languages: the vectors were trained on texts without digits

# The first ten numbers of the first two rows of the published context vectors, for French queries
# with English keys and values.
CONTEXT = np.array(
    [
        [-0.04039161, -0.00275749, 0.00389873, 0.04842744, -0.02472726]
        + [0.01435613, -0.00370253, -0.0619686, -0.00206159, 0.01615228],
        [-0.04083253, -0.00245985, 0.00409068, 0.04830341, -0.02479128]
        + [0.01447497, -0.00355203, -0.06196036, -0.00241327, 0.01582606],
    ],
)

# Published positions of some words in the vocabularies, counted from 0.
INDEX = {
    "en": {"the": 2, "agreement": 1864, "european": 533, "signed": 881, "august": 125},
    "fr": {"accord": 928, "zone": 571, "européenne": 958, "signé": 2413, "août": 189},
}


def words_stand_where_published(sets: Sets) -> str | None:
    """Check that some words have the positions in the vocabulary that the original lab gives."""
    for language, indices in INDEX.items():
        for word, index in indices.items():
            if word not in sets[language]:
                return (
                    f"the {LANGUAGES[language]} words lack {word!r}, which should be number {index}"
                )
            actual = sets[language].words.index(word)
            if actual != index:
                return f"the {LANGUAGES[language]} word {word!r} is number {actual}, not {index}"
    return None


def year_is_unknown(sets: Sets) -> str | None:
    """Check that the year 1992 is no word of either language, since the texts had no digits."""
    for language in LANGUAGES:
        if UNKNOWN in sets[language]:
            return f"{UNKNOWN!r} should not be among the {LANGUAGES[language]} words"
    return None


def context_is_published(sets: Sets) -> str | None:
    """Check that attention over the published sentences gives the published numbers, to 1e-6."""
    context = (weights(sets) @ look_up(ENGLISH, sets["en"]))[:2, :10]
    error = np.abs(context - CONTEXT).max()
    if not error <= 1e-6:
        return f"the published example comes out {error:.1g} away from the published numbers"
    return None


CHECKS: tuple[Check, ...] = (words_stand_where_published, year_is_unknown, context_is_published)


def weights(sets: Sets, french: str = FRENCH, english: str = ENGLISH) -> np.ndarray:
    """Return scaled dot-product attention weights from French to English, shape (L_fr, L_en)."""
    scores = look_up(french, sets["fr"]) @ look_up(english, sets["en"]).T / np.sqrt(DIMENSIONS)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def look_up(sentence: str, embeddings: Embeddings) -> np.ndarray:
    """Return the vectors of a sentence's words, shape (L, 300), without printing messages."""
    with redirect_stdout(io.StringIO()):
        return embed(tokenize(sentence), embeddings)
