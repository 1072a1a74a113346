"""The small language model of the lab `tiny-transformer`: its parameters, its words, and stories it has never seen.

`data/README.md` says what it was trained on.

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

from autograder.errors import Complaint
from autograder.files import write

FILE = Path(__file__).resolve().parents[1] / "data" / "tiny_model.npz"
SINKS = FILE.with_name("sinks.npz")


class ModelError(Complaint):
    """The model's file is missing or broken, or a word is none of the model's; the text is one sentence."""


@dataclass(frozen=True, eq=False, repr=False)
class TinyModel:
    """A trained model and what belongs to it.

    Attributes
    ----------
    parameters : dict
        "tokens" (V, d), "positions" (P, d), "gain" and "bias" (d,), and "blocks", a list with a dict of arrays
        for each block; float64.
    heads : int
        How many heads each attention layer has.
    words : tuple of str, length V
        Token n is ``words[n]``.
    held_out : numpy.ndarray of int, shape (stories, P)
        Stories that nothing was trained on.
    bigram_counts : numpy.ndarray of int, shape (V, V)
        How often each word (column) followed each word (row) in the stories that were trained on.
    """

    parameters: dict
    heads: int
    words: tuple[str, ...]
    held_out: np.ndarray
    bigram_counts: np.ndarray

    def __repr__(self) -> str:
        p = self.parameters
        return f"<a model of {len(p['blocks'])} blocks, {self.heads} heads, {len(self.words)} words>"

    def encode(self, text: str) -> np.ndarray:
        """The numbers of a text's words, which are split at spaces: int, shape (1, L)."""
        numbers = {word: n for n, word in enumerate(self.words)}
        strange = [word for word in text.lower().split() if word not in numbers]
        if strange:
            raise ModelError(
                f"The model does not know the word {strange[0]!r}; its {len(self.words)} words are in `tiny.words`."
            )
        return np.array([[numbers[word] for word in text.lower().split()]])

    def decode(self, tokens: Iterable[int]) -> str:
        """The words that these numbers stand for, as one text."""
        return " ".join(self.words[int(n)] for n in tokens)


def flat(parameters: Mapping) -> dict[str, np.ndarray]:
    """Parameters by one name each: "tokens", … and "block_0.w_q", …, as they are kept in a file."""
    found = {name: array for name, array in parameters.items() if name != "blocks"}
    for number, block in enumerate(parameters["blocks"]):
        found |= {f"block_{number}.{name}": array for name, array in block.items()}
    return found


def nested(arrays: Mapping[str, np.ndarray]) -> dict:
    """Parameters as the lab has them, with a list of "blocks": `flat` undone."""
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
    """Keep a model of one's own in a file that `load` reads: with the words and stories of the shipped one.

    Parameters
    ----------
    parameters : mapping
        As `TinyModel.parameters`.

    Returns
    -------
    Path
    """
    shipped, path = load(), Path(path)
    kept = {name: np.asarray(array, dtype=np.float32) for name, array in flat(parameters).items()}
    kept |= {"layers": np.array(len(parameters["blocks"])), "heads": np.array(shipped.heads)}
    kept |= {"words": np.array(shipped.words), "held_out": shipped.held_out.astype(np.uint16)}
    kept |= {"bigram_counts": shipped.bigram_counts.astype(np.uint32)}
    file = io.BytesIO()
    np.savez_compressed(file, **kept)
    write(path, file.getvalue())
    load.cache_clear()
    return path


@cache
def load(path: Path | str = FILE) -> TinyModel:
    """Read the model from its file.

    Raises
    ------
    ModelError
        If there is no such file, or it is no such model.
    """
    try:
        with np.load(path) as kept:
            arrays = {name: kept[name] for name in kept.files}
        layers = int(arrays.pop("layers"))
        heads = int(arrays.pop("heads"))
        words = tuple(str(word) for word in arrays.pop("words"))
        held_out = arrays.pop("held_out").astype(np.int64)
        bigram_counts = arrays.pop("bigram_counts").astype(np.int64)
        parameters = nested({name: array.astype(np.float64) for name, array in arrays.items()})
        if len(parameters["blocks"]) != layers:
            raise ValueError(f"{layers} blocks were announced")
    except (OSError, ValueError, KeyError, IndexError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The model's file {path} cannot be read ({error}); get the course's data anew."
        ) from None
    return TinyModel(parameters, heads, words, held_out, bigram_counts)


def kept(path: Path | str) -> TinyModel | None:
    """The model that was kept in a file of one's own; says so and gives None where there is none yet."""
    if not Path(path).is_file():
        print(f"There is no model in {path} yet: train one first, in the cells above.")
        return None
    return load(path)


def second_layer(path: Path | str = SINKS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the heads of the model's layer 1 ask, hold and hand over, for texts of random words, none of them twice.

    Returns
    -------
    queries, keys, values : numpy.ndarray, shape (heads, texts, words, d_head)

    Raises
    ------
    ModelError
        If there is no such file, or it holds something else.
    """
    try:
        with np.load(path) as kept:
            queries, keys, values = (kept[name].astype(np.float64) for name in ("queries", "keys", "values"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(
            f"The heads in {path} cannot be read ({error}); get the course's data anew."
        ) from None
    return queries, keys, values
