"""Load word vectors in English and French, split sentences into words, look up the words.

>>> english = load_embeddings("en", which="shipped")
>>> words = tokenize("The agreement was signed.")
>>> words
['the', 'agreement', 'was', 'signed', '.']
>>> embed(words, english).shape
(5, 300)
"""

import os
import re
import unicodedata
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from autograder.core.errors import AutograderError

DATA = Path(__file__).resolve().parents[1] / "data"
REAL = "fasttext"  # the folder, inside DATA, of a set that was downloaded or imported
LANGUAGES = {"en": "English", "fr": "French"}
DIMENSIONS = 300

# A token is a number with its inner points and commas ("3.5"), a word, or a single sign.
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)+|\w+|[^\w\s]")
# Split at an apostrophe or a hyphen: "L'accord" is two words, and so is "États-Unis".
_JOINT = re.compile(r"(?<=\w)['’ʼ\-‐‑](?=\w|\s|$)")


class DataError(AutograderError):
    """Error for a file of word vectors that is missing or broken; the text is one sentence."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Embeddings:
    """Word vectors of one language, one row for each word; they cannot be changed.

    Attributes
    ----------
    language : str
        "en" or "fr".
    name : str
        Name of the set.
    words : tuple of str, length V
    vectors : numpy.ndarray, shape (V, 300), float32
        Row i is the vector of ``words[i]``.
    """

    language: str
    name: str
    words: tuple[str, ...]
    vectors: np.ndarray
    _row: dict[str, int] = field(init=False)

    def __post_init__(self):
        self.vectors.flags.writeable = False
        object.__setattr__(self, "_row", {word: row for row, word in enumerate(self.words)})

    def __len__(self):
        return len(self.words)

    def __iter__(self):
        return iter(self.words)

    def __contains__(self, word):
        return word in self._row

    def __getitem__(self, word):
        """Return the vector of a word, shape (300,); raise KeyError for an unknown word."""
        if word not in self._row:
            raise KeyError(f"{word!r} is not among the {self._size}")
        return self.vectors[self._row[word]]

    def __repr__(self):
        return f"<{self._size}, {self.vectors.shape[1]} dimensions>"

    @property
    def _size(self):
        return f"{len(self):,} {LANGUAGES[self.language]} words of the {self.name} set"


def load_embeddings(language: str, which: str | None = None, data_dir: Path = DATA) -> Embeddings:
    """Load the word vectors of a language.

    Parameters
    ----------
    language : {"en", "fr"}
    which : {None, "shipped", "real"}, default None
        "shipped" is the set that comes with the course; "real" is the one that ``make data``
        fetches. None selects the set in the environment variable ATTENTION_LABS_VECTORS, else the
        real set if it is complete, and otherwise the shipped one.
    data_dir : pathlib.Path
        Folder of the sets; by default the ``data`` folder beside this package.

    Returns
    -------
    Embeddings
        V words and their vectors, shape (V, 300).

    Raises
    ------
    ValueError
        For another language, or another `which`.
    DataError
        If the requested set is missing or broken.
    """
    if language not in LANGUAGES:
        raise ValueError(f'language is "en" or "fr", not {language!r}.')
    which = which or os.environ.get("ATTENTION_LABS_VECTORS") or None
    if which not in (None, "shipped", "real"):
        raise ValueError(f'which is None, "shipped" or "real", not {which!r}.')
    real = Path(data_dir) / REAL
    if which == "real" or (which is None and real.exists()):
        try:
            # Read both languages, although one is asked for. So the two never come from different
            # sets of vectors.
            return {code: read(real, code) for code in LANGUAGES}[language]
        except DataError as error:
            if which == "real":
                raise
            print(f"The shipped vectors are used, since the downloaded set is broken: {error}")
    return read(Path(data_dir), language)


def load_all() -> list[Embeddings]:
    """Return the word vectors of both languages that are in use."""
    return [load_embeddings(language) for language in LANGUAGES]


def read(folder: Path, language: str) -> Embeddings:
    """Read the word vectors in a file; raise `DataError` if it is missing or broken."""
    path = Path(folder) / f"embeddings_{language}.npz"
    stamp = path.stat().st_mtime_ns if path.is_file() else 0
    return _read(path, language, stamp)


@cache
def _read(path: Path, language: str, stamp: int) -> Embeddings:
    """Read the word vectors in a file; read again only if its modification time `stamp` changes."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        words = tuple(arrays["words"].tobytes().decode("utf-8").split("\n"))
        vectors = arrays["vectors"]
        if "step" in arrays:  # the shipped set: two numbers in a byte, and a few exact rows
            vectors = np.stack([vectors >> 4, vectors & 15], axis=2).reshape(len(words), -1)
            vectors = (vectors - np.float32(7.5)) * arrays["step"]
            vectors[arrays["exact_rows"]] = arrays["exact"]
        name = str(arrays["name"])
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read ({type(error).__name__}: {error}).") from None
    if vectors.shape != (len(words), DIMENSIONS) or len(set(words)) != len(words):
        raise DataError(
            f"{path} has {len(set(words))} different words for vectors of shape {vectors.shape}.",
        )
    if not np.isfinite(vectors).all():
        raise DataError(f"{path} has a vector that is not finite.")
    return Embeddings(language, name, words, vectors)


def write(
    folder: Path,
    language: str,
    name: str,
    words: Sequence[str],
    **arrays: np.ndarray,
) -> None:
    """Write word vectors into a file that `read` can read; equal arguments give equal bytes."""
    text = np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8)
    np.savez(Path(folder) / f"embeddings_{language}.npz", name=np.array(name), words=text, **arrays)


def tokenize(sentence: str) -> list[str]:
    """Split a sentence into the words that the word vectors have, in lower case.

    Signs such as ``.`` and ``?`` become separate words. An apostrophe or a hyphen within a word is
    replaced by a space, in both languages: *L'accord* is *l accord*, *don't* is *don t*, and
    *États-Unis* is *états unis*.

    Raises
    ------
    TypeError
        If `sentence` is not a string.

    Examples
    --------
    >>> tokenize("L'accord a été signé en août 1992.")
    ['l', 'accord', 'a', 'été', 'signé', 'en', 'août', '1992', '.']
    """
    if not isinstance(sentence, str):
        raise TypeError(f"tokenize takes one sentence, a string, not a {type(sentence).__name__}.")
    # Combine a letter and its accent into one character (NFC): some keyboards write é as two.
    text = unicodedata.normalize("NFC", sentence).lower()
    return _TOKEN.findall(_JOINT.sub(" ", text))


def embed(words: Sequence[str], embeddings: Embeddings) -> np.ndarray:
    """Look up the vectors of some words.

    A word without a vector gets zeros, and one printed line names all such words.

    Parameters
    ----------
    words : sequence of str, length L
        Words as `tokenize` returns them.

    Returns
    -------
    numpy.ndarray, shape (L, 300), float64

    Raises
    ------
    TypeError
        If `words` is a sentence that has not been split, or holds something other than strings.
    """
    if isinstance(words, str):
        raise TypeError("embed takes a list of words: write embed(tokenize(sentence), embeddings).")
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"embed takes a list of words, and {word!r} in it is not a string.")
    unknown = list(dict.fromkeys(word for word in words if word not in embeddings))
    if unknown:
        print(
            f"No {LANGUAGES[embeddings.language]} vector for: {', '.join(unknown)} (zeros are used)",
        )
    vectors = np.zeros((len(words), embeddings.vectors.shape[1]))
    for row, word in enumerate(words):
        if word in embeddings:
            vectors[row] = embeddings[word]
    return vectors
