"""Word vectors in English and French: load them, split a sentence into words, look the words up.

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

from autograder.errors import Complaint

DATA = Path(__file__).resolve().parents[1] / "data"
REAL = "fasttext"  # the folder, inside DATA, of a set that was downloaded or imported
LANGUAGES = {"en": "English", "fr": "French"}
DIMENSIONS = 300

# Digits keep their inner points and commas ("3.5"); any other sign is a word of its own.
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)+|\w+|[^\w\s]")
# Inside a word both separate: "L'accord" is two words, and so is "États-Unis".
_JOINT = re.compile(r"(?<=\w)['’ʼ\-‐‑](?=\w|\s|$)")


class DataError(Complaint):
    """A file of vectors is missing, broken or not what it should be; the text is one sentence."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Embeddings:
    """The vectors of one language, one row a word; nothing in it can be changed.

    Attributes
    ----------
    language : str
        "en" or "fr".
    name : str
        Which set this is.
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
        """The vector of `word`, shape (300,); KeyError where there is none."""
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
        fetches. None takes what the environment variable ATTENTION_LABS_VECTORS says, else the real
        set if it is there and whole, and the shipped one if not.
    data_dir : pathlib.Path
        Where the sets are; by default the ``data`` folder beside this package.

    Returns
    -------
    Embeddings
        V words and their vectors, shape (V, 300).

    Raises
    ------
    ValueError
        For another language, or another `which`.
    DataError
        Where the set that was asked for is missing or broken.
    """
    if language not in LANGUAGES:
        raise ValueError(f'language is "en" or "fr", not {language!r}.')
    which = which or os.environ.get("ATTENTION_LABS_VECTORS") or None
    if which not in (None, "shipped", "real"):
        raise ValueError(f'which is None, "shipped" or "real", not {which!r}.')
    real = Path(data_dir) / REAL
    if which == "real" or (which is None and real.exists()):
        try:
            # Both are read, so that the two languages never come from different sets.
            return {each: read(real, each) for each in LANGUAGES}[language]
        except DataError as error:
            if which == "real":
                raise
            print(f"The shipped vectors are used, since the downloaded set is broken: {error}")
    return read(Path(data_dir), language)


def load_all() -> list[Embeddings]:
    """The sets in use, of both languages."""
    return [load_embeddings(language) for language in LANGUAGES]


def read(folder: Path, language: str) -> Embeddings:
    """Read ``embeddings_<language>.npz`` in `folder`; raise `DataError` unless it is whole."""
    path = Path(folder) / f"embeddings_{language}.npz"
    stamp = path.stat().st_mtime_ns if path.is_file() else 0
    return _read(path, language, stamp)


@cache
def _read(path: Path, language: str, stamp: int) -> Embeddings:
    """The same, kept for as long as the file stays the same; `stamp` is when it was written."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        words = tuple(arrays["words"].tobytes().decode("utf-8").split("\n"))
        vectors = arrays["vectors"]
        if "step" in arrays:  # the shipped set: two numbers a byte, and a few rows kept exactly
            vectors = np.stack([vectors >> 4, vectors & 15], axis=2).reshape(len(words), -1)
            vectors = (vectors - np.float32(7.5)) * arrays["step"]
            vectors[arrays["exact_rows"]] = arrays["exact"]
        name = str(arrays["name"])
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read ({type(error).__name__}: {error}).") from None
    if vectors.shape != (len(words), DIMENSIONS) or len(set(words)) != len(words):
        raise DataError(f"{path} has {len(set(words))} different words for vectors of shape {vectors.shape}.")
    if not np.isfinite(vectors).all():
        raise DataError(f"{path} has a vector that is not finite.")
    return Embeddings(language, name, words, vectors)


def write(folder: Path, language: str, name: str, words: Sequence[str], **arrays: np.ndarray) -> None:
    """Write the file that `read` reads; the same arguments give the same bytes."""
    text = np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8)
    np.savez(Path(folder) / f"embeddings_{language}.npz", name=np.array(name), words=text, **arrays)


def tokenize(sentence: str) -> list[str]:
    """Split a sentence into lower-case words, as the vectors know them.

    Signs such as ``.`` and ``?`` become words of their own. An apostrophe or a hyphen within a word
    separates it and goes, in both languages: *L'accord* is *l accord*, *don't* is *don t*, and
    *États-Unis* is *états unis*.

    Parameters
    ----------
    sentence : str

    Returns
    -------
    list of str

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
    # NFC, because some keyboards type é as two characters.
    text = unicodedata.normalize("NFC", sentence).lower()
    return _TOKEN.findall(_JOINT.sub(" ", text))


def embed(words: Sequence[str], embeddings: Embeddings) -> np.ndarray:
    """Look up the vectors of some words.

    A word without a vector gets zeros, and one printed line names all such words.

    Parameters
    ----------
    words : sequence of str, length L
        Such as `tokenize` gives.
    embeddings : Embeddings
        Such as `load_embeddings` gives.

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
        print(f"No {LANGUAGES[embeddings.language]} vector for: {', '.join(unknown)} (zeros are used)")
    vectors = np.zeros((len(words), embeddings.vectors.shape[1]))
    for row, word in enumerate(words):
        if word in embeddings:
            vectors[row] = embeddings[word]
    return vectors
