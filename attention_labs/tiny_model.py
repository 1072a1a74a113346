"""The small language model of the lab `tiny-transformer`: parameters, vocabulary and stories.

`data/README.md` describes its training.

>>> tiny = load()
>>> tiny.encode("once nora weaver").shape
(1, 3)
>>> tiny.decode(tiny.encode("once nora weaver")[0])
'once nora weaver'
"""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from autograder.core.errors import AutograderError
from autograder.core.files import write_file

FILE = Path(__file__).resolve().parents[1] / "data" / "tiny_model.npz"
SINKS = FILE.with_name("sinks.npz")


class ModelError(AutograderError):
    """Error for a missing or broken file of the model, or for an unknown word, in one sentence."""


@dataclass(frozen=True, eq=False, repr=False)
class TinyModel:
    """A trained model with its vocabulary and data.

    Attributes
    ----------
    parameters : dict
        "tokens" (V, d), "positions" (P, d), "gain" and "bias" (d,), and "blocks", a list with a
        dict of arrays for each block; float64.
    heads : int
        Number of heads of each attention layer.
    words : tuple of str, length V
        Token n is ``words[n]``.
    held_out : numpy.ndarray of int, shape (stories, P)
        Stories that were not in the training data.
    bigram_counts : numpy.ndarray of int, shape (V, V)
        Count of each word (column) after each word (row) in the training data.
    """

    parameters: dict
    heads: int
    words: tuple[str, ...]
    held_out: np.ndarray
    bigram_counts: np.ndarray

    def __repr__(self) -> str:
        p = self.parameters
        return (
            f"<a model of {len(p['blocks'])} blocks, {self.heads} heads, {len(self.words)} words>"
        )

    def encode(self, text: str) -> np.ndarray:
        """Return the numbers of a text's words, which are split at spaces: int, shape (1, L)."""
        numbers = {word: n for n, word in enumerate(self.words)}
        strange = [word for word in text.lower().split() if word not in numbers]
        if strange:
            raise ModelError(
                f"The model does not know the word {strange[0]!r}; its {len(self.words)} words "
                "are in `tiny.words`.",
            )
        return np.array([[numbers[word] for word in text.lower().split()]])

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the words with these numbers (tokens), as one text."""
        return " ".join(self.words[int(n)] for n in tokens)


def flat(parameters: Mapping) -> dict[str, np.ndarray]:
    """Turn nested parameters into a flat dict, with names such as "tokens" and "block_0.w_q"."""
    arrays = {name: array for name, array in parameters.items() if name != "blocks"}
    for number, block in enumerate(parameters["blocks"]):
        arrays |= {f"block_{number}.{name}": array for name, array in block.items()}
    return arrays


def nested(arrays: Mapping[str, np.ndarray]) -> dict:
    """Turn the flat dict that `flat` makes back into parameters with a list of "blocks"."""
    parameters: dict = {"blocks": []}
    for name, array in arrays.items():
        place, _, part = name.rpartition(".")
        home = parameters
        if place:
            number = int(place.removeprefix("block_"))
            while len(parameters["blocks"]) <= number:
                parameters["blocks"].append({})
            home = parameters["blocks"][number]
        home[part] = array
    return parameters


def save(parameters: Mapping, path: Path | str) -> Path:
    """Write a model into a file that `load` can read, with the course model's words and stories.

    Parameters
    ----------
    parameters : mapping
        As `TinyModel.parameters`.
    """
    course_model, path = load(), Path(path)
    arrays = {name: np.asarray(array, dtype=np.float32) for name, array in flat(parameters).items()}
    arrays |= {"layers": np.array(len(parameters["blocks"])), "heads": np.array(course_model.heads)}
    arrays |= {
        "words": np.array(course_model.words),
        "held_out": course_model.held_out.astype(np.uint16),
    }
    arrays |= {"bigram_counts": course_model.bigram_counts.astype(np.uint32)}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    write_file(path, file.getvalue())
    load.cache_clear()
    return path


@cache
def load(path: Path | str = FILE) -> TinyModel:
    """Read a model from a file, by default the one that comes with the course.

    Raises
    ------
    ModelError
        If there is no such file, or its content is no model.
    """
    try:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        layers = int(arrays.pop("layers"))
        heads = int(arrays.pop("heads"))
        words = tuple(str(word) for word in arrays.pop("words"))
        held_out = arrays.pop("held_out").astype(np.int64)
        bigram_counts = arrays.pop("bigram_counts").astype(np.int64)
        parameters = nested({name: array.astype(np.float64) for name, array in arrays.items()})
        if len(parameters["blocks"]) != layers:
            raise ValueError(f"{layers} blocks were announced")
    except (OSError, TypeError, ValueError, KeyError, IndexError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The model's file {path} cannot be read ({error}); get the course's data anew.",
        ) from None
    return TinyModel(parameters, heads, words, held_out, bigram_counts)


def kept(path: Path | str) -> TinyModel | None:
    """Return the model in a file, or None after a printed sentence that there is none."""
    if not Path(path).is_file():
        print(f"There is no model in {path} yet: train one first, in the cells above.")
        return None
    return load(path)


def second_layer(path: Path | str = SINKS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries, keys and values in layer 1 of the model, for texts of random words.

    Returns
    -------
    queries, keys, values : numpy.ndarray, shape (heads, texts, words, d_head)

    Raises
    ------
    ModelError
        If there is no such file, or its content is something else.
    """
    try:
        with np.load(path) as archive:
            queries, keys, values = (
                archive[name].astype(np.float64) for name in ("queries", "keys", "values")
            )
    except (OSError, TypeError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The heads in {path} cannot be read ({error}); get the course's data anew.",
        ) from None
    return queries, keys, values
