"""Put the original lab's own four files in place of the shipped word vectors.

    python data/import_original.py FOLDER

FOLDER holds ``word2int_en.pkl``, ``word2int_fr.pkl``, ``embeddings_en.npz`` and ``embeddings_fr.npz``. The
pickles are read without running anything that they hold.
"""

import hashlib
import io
import pickle
import pickletools
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from attention_labs.download import LICENCE, WORDS, install, refusal
from attention_labs.embeddings import DATA, DIMENSIONS, LANGUAGES, DataError, Embeddings
from attention_labs.published import CHECKS, Check

LONGEST_PICKLE = 1_000_000  # bytes; the real ones have about 130,000
ORIGINAL_BLOBS = {
    "en": "dfecf8d37753d545f4d04bf27693994685b50736",
    "fr": "c14c10e42eb53147883ee694b1827983908796fe",
}


def import_original(
    folder: Path, data_dir: Path = DATA, *, words: int = WORDS, checks: Sequence[Check] = CHECKS
) -> list[str]:
    """Put the original lab's own files in use.

    Parameters
    ----------
    folder : pathlib.Path
        Holds ``word2int_en.pkl``, ``word2int_fr.pkl``, ``embeddings_en.npz`` and ``embeddings_fr.npz``.
    data_dir, words, checks
        As for `fetch`.

    Returns
    -------
    list of str
        Sentences to show: whether the files are the original ones, what is in use now, its licence.

    Raises
    ------
    DataError
        If a file is missing, hostile or not as it should be, or a check fails; nothing has changed.
    """
    folder, sets, notes, original = Path(folder), {}, [], True
    for language in LANGUAGES:
        vocabulary = read_vocabulary(folder / f"word2int_{language}.pkl", words)
        path = folder / f"embeddings_{language}.npz"
        content = _bytes(path, 64 * words * DIMENSIONS)
        blob = git_blob_hash(content)
        if blob == ORIGINAL_BLOBS[language]:
            notes.append(f"{path.name} is the original lab's file.")
        else:
            original = False
            notes.append(
                f"{path.name} is not the original lab's file (its git blob hash is {blob})."
            )
        vectors = _read_vectors(path, content, words)
        sets[language] = Embeddings(language, "imported", tuple(vocabulary), vectors)
    if original:
        sets = {each: Embeddings(each, "original", s.words, s.vectors) for each, s in sets.items()}
    install(sets, Path(data_dir), checks)
    return [
        *notes,
        f"In use now: the {sets['en'].name} vectors, {words:,} of each language.",
        LICENCE,
    ]


def git_blob_hash(content: bytes) -> str:
    """The name that git gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


# The opcodes with which a dict of str to int is written. Nothing that looks up a name, calls anything
# or builds an object is among them.
_PLAIN_OPCODES = (
    *("PROTO", "FRAME", "STOP", "EMPTY_DICT", "MARK", "SETITEM", "SETITEMS"),
    *("MEMOIZE", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BININT", "BININT1", "BININT2"),
)


class _PlainUnpickler(pickle.Unpickler):
    """The second lock: the opcodes are looked through before, and no class would be found here."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it asks for an object from elsewhere")


def read_vocabulary(path: Path, words: int = WORDS) -> list[str]:
    """Read a pickled vocabulary, a dict of word to index, without running anything that it holds.

    Parameters
    ----------
    path : pathlib.Path
    words : int
        How many words it must have; their indices are 0 to ``words - 1``, each once.

    Returns
    -------
    list of str
        The words in the order of their indices.

    Raises
    ------
    DataError
        If the file holds, or tries, anything else.
    """
    content = _bytes(path, LONGEST_PICKLE)
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name not in _PLAIN_OPCODES:
                raise refusal(
                    path, f"is refused: a vocabulary needs no pickle opcode {opcode.name}"
                )
            # The memo is a table that grows to the largest index asked for.
            if opcode.name == "LONG_BINPUT" and argument > len(content):
                raise refusal(path, "is refused: it would fill the memory")
        found = _PlainUnpickler(io.BytesIO(content)).load()
    except (
        pickle.UnpicklingError,
        ValueError,
        EOFError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        raise refusal(path, f"is not a whole pickle ({error})") from None
    if type(found) is not dict or not all(
        type(k) is str and type(v) is int for k, v in found.items()
    ):
        raise refusal(path, "is not a dict of words to whole numbers")
    if sorted(found.values()) != list(range(words)):
        raise refusal(path, f"does not number {words:,} words from 0 to {words - 1:,}, each once")
    vocabulary = sorted(found, key=found.get)
    # As it will be stored; half a surrogate pair cannot be.
    if "\n".join(vocabulary).encode("utf-8", "ignore").decode("utf-8").split("\n") != vocabulary:
        raise refusal(path, "has a word with a line break or a broken character")
    return vocabulary


_BAD_ZIP = zipfile.BadZipFile, zlib.error


def _read_vectors(path, content, words):
    """The one array of an ``.npz`` file: shape (words, 300), any floating type, finite; as float32."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > 16 * words * DIMENSIONS:
                raise refusal(
                    path, f"unpacks to more than {words:,} vectors of {DIMENSIONS} numbers"
                )
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = list(file.values())
    except (OSError, ValueError, EOFError, RuntimeError, MemoryError, *_BAD_ZIP) as error:
        raise refusal(path, f"is not a whole .npz file of numbers ({error})") from None
    if len(arrays) != 1 or arrays[0].shape != (words, DIMENSIONS) or arrays[0].dtype.kind != "f":
        seen = ", ".join(f"{array.dtype} {array.shape}" for array in arrays) or "none"
        raise refusal(
            path, f"should hold one floating array ({words}, {DIMENSIONS}), and holds {seen}"
        )
    if not np.isfinite(arrays[0]).all():
        raise refusal(path, "has a number that is not finite (NaN or infinity)")
    return arrays[0].astype(np.float32)


def _bytes(path, longest):
    try:
        with open(path, "rb") as file:
            content = file.read(longest + 1)
    except OSError as error:
        raise refusal(path, f"cannot be read ({error.strerror})") from None
    if len(content) > longest:
        raise refusal(path, f"is refused: it has more than {longest:,} bytes")
    return content


def main(arguments: Sequence[str]) -> None:
    """The command; it exits with 1 and one sentence where the files cannot be put in use."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit("Usage: python data/import_original.py FOLDER")
    try:
        print(*import_original(Path(arguments[0])), sep="\n")
    except DataError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
