"""GPT-2's checkpoint for the lab `gpt-2`: the real one, or the stand-in that comes with the course.

Both have the same four files, in the form in which GPT-2 was published: `model.safetensors` (the
tensors), `vocab.json` (token numbers), `merges.txt` (pairs to merge, in their order) and
`config.json`. The real ones lie in `data/gpt2`; those of the stand-in lie in `data`, and their names
begin with `stand_in_`. `data/README.md` says how the stand-in was trained.

>>> model = load("stand-in")
>>> model.tensors["wte.weight"].shape == (len(model.vocabulary), model.size)
True
>>> model.decode([model.vocabulary[symbol] for symbol in to_symbols(" key")])
' key'
"""

import json
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.core.errors import AutograderError

DATA = Path(__file__).resolve().parents[1] / "data"
REAL = "gpt2"  # folder of the real model
STAND_IN = "stand_in_"  # beginning of the stand-in's file names
FILES = ("model.safetensors", "vocab.json", "merges.txt", "config.json")
END = "<|endoftext|>"  # the token between two texts
HOW_TO_FETCH = "GPT-2 small itself is not here. `make data` in the course's folder fetches it: 550 MB, MIT licence."
PARTS = {  # the parameters of a block, with the axes of their shapes: d numbers a token, 4d in between
    "ln_1.weight": "d",
    "ln_1.bias": "d",
    "attn.c_attn.weight": "d 3d",
    "attn.c_attn.bias": "3d",
    "attn.c_proj.weight": "d d",
    "attn.c_proj.bias": "d",
    "ln_2.weight": "d",
    "ln_2.bias": "d",
    "mlp.c_fc.weight": "d 4d",
    "mlp.c_fc.bias": "4d",
    "mlp.c_proj.weight": "4d d",
    "mlp.c_proj.bias": "d",
}


class CheckpointError(AutograderError):
    """A file of the checkpoint is missing or broken; the text is one sentence."""


def _list_byte_symbols() -> list[str]:
    """Return a printable character for each byte, in the order of GPT-2's vocabulary.

    Printable bytes stand for themselves; the other 68 get the characters from U+0100 on. So a space
    is written Ġ and a line break Ċ.
    """
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), 256),
    ]
    return [chr(byte) for byte in printable] + [chr(256 + n) for n in range(256 - len(printable))]


BYTE_SYMBOLS = _list_byte_symbols()
_BYTES = [byte for byte in range(256) if chr(byte) in BYTE_SYMBOLS]
_BYTES += [byte for byte in range(256) if chr(byte) not in BYTE_SYMBOLS]
_SYMBOL_OF = dict(zip(_BYTES, BYTE_SYMBOLS))
_BYTE_OF = {symbol: byte for byte, symbol in _SYMBOL_OF.items()}


def to_symbols(word: str) -> tuple[str, ...]:
    """Return a symbol for each byte of a word in UTF-8.

    >>> to_symbols(" key")
    ('Ġ', 'k', 'e', 'y')
    """
    return tuple(_SYMBOL_OF[byte] for byte in word.encode("utf-8"))


def to_text(symbols: Iterable[str]) -> str:
    """Return the text of some symbols, each of one byte or of several.

    A byte that is no whole character in UTF-8 is shown as �.

    >>> to_text(["Ġk", "ey"])
    ' key'
    """
    return bytes(_BYTE_OF[s] for s in "".join(symbols)).decode("utf-8", errors="replace")


# GPT-2's rule, for a text of which each letter, digit and space was made one of ASCII.
_WORD = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)


def split_words(text: str) -> list[str]:
    """Split a text into words as GPT-2 does; a space belongs to the word that follows it.

    >>> split_words("It's 2 keys, or more.")
    ['It', "'s", ' 2', ' keys', ',', ' or', ' more', '.']
    """
    simple = "".join(
        character if character.isascii() else _simplify(character) for character in text
    )
    return [text[found.start() : found.end()] for found in _WORD.finditer(simple)]


def _simplify(character: str) -> str:
    """Return a character of ASCII of the same kind: letter, number, space or other."""
    kind = unicodedata.category(character)[0]
    if kind == "L":
        return "A"
    if kind == "N":
        return "0"
    return "\t" if character.isspace() else "*"


@dataclass(frozen=True, eq=False, repr=False)
class Checkpoint:
    """A model as it was published.

    Attributes
    ----------
    name : str
        "GPT-2 small" or "the stand-in".
    is_real : bool
    tensors : dict of str to numpy.ndarray, float32
        "wte.weight" (V, d), "wpe.weight" (P, d), "ln_f.weight" and "ln_f.bias" (d,), and for block n
        the names of `PARTS` after "h.n.".
    heads, layers : int
        Heads of each block, and blocks.
    vocabulary : dict of str to int
        Token numbers by the symbols that the token joins.
    ranks : dict of (str, str) to int
        Pairs of symbols to merge; the pair that was learned first has rank 0.
    """

    name: str
    is_real: bool
    tensors: dict[str, np.ndarray]
    heads: int
    layers: int
    vocabulary: dict[str, int]
    ranks: dict[tuple[str, str], int]

    def __repr__(self) -> str:
        tokens = len(self.vocabulary)
        return f"<{self.name}: {self.layers} blocks, {self.heads} heads, {tokens:,} tokens>"

    @property
    def size(self) -> int:
        """Number of numbers for each token, d."""
        return self.tensors["wte.weight"].shape[1]

    @property
    def positions(self) -> int:
        """Number of positions, the longest text that the model reads."""
        return len(self.tensors["wpe.weight"])

    def block(self, number: int) -> dict[str, np.ndarray]:
        """Return the parameters of one block under their names in the block, not copied."""
        return {part: self.tensors[f"h.{number}.{part}"] for part in PARTS}

    def symbols(self, tokens: Iterable[int]) -> list[str]:
        """Return the symbol of each token, as in the vocabulary."""
        symbols = {number: symbol for symbol, number in self.vocabulary.items()}
        return [symbols[int(n)] for n in tokens]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of some tokens."""
        texts = "".join(self.symbols(tokens)).split(END)
        return END.join(map(to_text, texts))


def load(which: str | None = None, data_dir: Path = DATA) -> Checkpoint:
    """Load GPT-2 small, if it has been fetched, or the stand-in.

    Parameters
    ----------
    which : {None, "stand-in", "real"}, default None
        "real" is the model that ``make data`` fetches. None selects the one in the environment
        variable ATTENTION_LABS_GPT2, else the real one if it is there, and otherwise the stand-in.
    data_dir : pathlib.Path
        Folder of the models; by default the ``data`` folder beside this package.

    Raises
    ------
    ValueError
        For another `which`.
    CheckpointError
        If a file of the requested model is missing or broken.
    """
    which = which or os.environ.get("ATTENTION_LABS_GPT2") or None
    if which not in (None, "stand-in", "real"):
        raise ValueError(f'which is None, "stand-in" or "real", not {which!r}.')
    real = Path(data_dir) / REAL
    if which is None:
        which = "real" if real.is_dir() else "stand-in"
    if which == "real":
        return Checkpoint("GPT-2 small", True, *_read_files(real))
    return Checkpoint("the stand-in", False, *_read_files(Path(data_dir), STAND_IN))


def _read_files(folder: Path, prefix: str = "") -> tuple[dict, int, int, dict, dict]:
    """Read the four files of a checkpoint; raise `CheckpointError` unless they fit together.

    Returns
    -------
    tuple
        tensors, heads, layers, vocabulary and ranks, as in `Checkpoint`
    """
    tensors_path, vocabulary_path, merges_path, config_path = (
        folder / f"{prefix}{name}" for name in FILES
    )
    config = _read_json(config_path, ("n_embd", "n_head", "n_layer", "n_positions"))
    vocabulary, ranks = _read_json(vocabulary_path, (END,)), _read_merges(merges_path)
    tensors = _read_tensors(tensors_path)
    d, layers = config["n_embd"], config["n_layer"]
    shapes: dict[str, tuple[int, ...]] = {
        "wte.weight": (len(vocabulary), d),
        "wpe.weight": (config["n_positions"], d),
    }
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    sizes = {"d": d, "3d": 3 * d, "4d": 4 * d}
    for part, axes in PARTS.items():
        shape = tuple(sizes[axis] for axis in axes.split())
        shapes |= {f"h.{n}.{part}": shape for n in range(layers)}
    for tensor_name, shape in shapes.items():
        tensor = tensors.get(tensor_name)
        if tensor is None or tensor.shape != shape or tensor.dtype != np.float32:
            found = "missing" if tensor is None else f"{tensor.dtype} of shape {tensor.shape}"
            raise CheckpointError(
                f"In {tensors_path} the tensor {tensor_name} is {found}; expected float32 of shape {shape}."
            )
    kept = {tensor_name: tensors[tensor_name] for tensor_name in shapes}
    return kept, config["n_head"], layers, vocabulary, ranks


def _read_json(path: Path, needed: tuple[str, ...]) -> dict[str, int]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for name in needed:
            int(content[name])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path, error) from None
    return content


def _read_merges(path: Path) -> dict[tuple[str, str], int]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    ranks: dict[tuple[str, str], int] = {}
    for line in lines[1:]:  # the first line names the version of the format
        left, _, right = line.partition(" ")
        if right:
            ranks[left, right] = len(ranks)
    return ranks


def _read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of a file, each read once, straight into its own array."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise CheckpointError(
            "The package safetensors, which reads the model's file, is not installed; "
            "`make setup` in the course's folder installs it."
        ) from None
    try:
        with safe_open(path, framework="np", backend="pread") as file:
            names = [name for name in file.keys() if not name.endswith(".attn.bias")]  # noqa: SIM118
            # transformers writes "transformer.h.0…", the published file "h.0…".
            return {name.removeprefix("transformer."): file.get_tensor(name) for name in names}
    except (OSError, SafetensorError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return CheckpointError(
        f"{path} cannot be read ({reason}); get this file of the course's data anew."
    )
