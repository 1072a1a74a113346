"""Put the original lab's word vectors in use: download them, or import its files.

`fetch` and `import_original` write a folder beside the shipped files, which `load_embeddings` then
prefers. They write it only when both languages are whole and pass every check; whatever goes wrong, they
raise `DataError` and the set in use stays as it was.
"""

import hashlib
import http.client
import io
import pickle
import pickletools
import shutil
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import numpy as np

from autograder.embeddings import (
    DATA,
    DIMENSIONS,
    LANGUAGES,
    REAL,
    DataError,
    Embeddings,
    embed,
    read,
    tokenize,
    write,
)

BASE_URL = "https://dl.fbaipublicfiles.com/fasttext/vectors-aligned"
WORDS = 10_000  # the first ones of each file, as in the original lab
LONGEST_LINE = 16_384  # bytes; a real line has about 2,500
LONGEST_PICKLE = 1_000_000  # bytes; the real ones have about 130,000
LICENCE = (
    "The vectors are fastText's aligned word vectors, by P. Bojanowski, E. Grave, A. Joulin and T. Mikolov "
    "(Enriching Word Vectors with Subword Information, 2017) and A. Joulin, P. Bojanowski, T. Mikolov, "
    "H. Jégou and E. Grave (Loss in Translation: Learning Bilingual Word Mapping with a Retrieval Criterion, "
    "2018), under the licence CC BY-SA 3.0."
)
UNCHANGED = "the vectors in use are as they were"

# What the original lab published: a pair of sentences, and the first numbers of what attention made of them.
ENGLISH = "The agreement on the European Economic Area was signed in August 1992 ."
FRENCH = "L accord sur la zone économique européenne a été signé en août 1992 ."
CONTEXT = np.array(
    [
        [-0.04039161, -0.00275749, 0.00389873, 0.04842744, -0.02472726]
        + [0.01435613, -0.00370253, -0.0619686, -0.00206159, 0.01615228],
        [-0.04083253, -0.00245985, 0.00409068, 0.04830341, -0.02479128]
        + [0.01447497, -0.00355203, -0.06196036, -0.00241327, 0.01582606],
    ]
)
INDEX = {
    "en": {"the": 2, "agreement": 1864, "european": 533, "signed": 881, "august": 125},
    "fr": {"accord": 928, "zone": 571, "européenne": 958, "signé": 2413, "août": 189},
}
UNKNOWN = "1992"
ORIGINAL_BLOBS = {
    "en": "dfecf8d37753d545f4d04bf27693994685b50736",
    "fr": "c14c10e42eb53147883ee694b1827983908796fe",
}

Sets = dict[str, Embeddings]
Check = Callable[[Sets], str | None]


# The checks: each takes both languages and returns what is wrong, or None.


def words_stand_where_published(sets: Sets) -> str | None:
    """Some known words have the vocabulary index that the original lab's files give them."""
    for language, known in INDEX.items():
        for word, index in known.items():
            if word not in sets[language]:
                return f"the {LANGUAGES[language]} words lack {word!r}, which should be number {index}"
            if (found := sets[language].words.index(word)) != index:
                return f"the {LANGUAGES[language]} word {word!r} is number {found}, not {index}"
    return None


def year_is_unknown(sets: Sets) -> str | None:
    """The published year is a word of neither language: digits were taken out of the texts."""
    for language in LANGUAGES:
        if UNKNOWN in sets[language]:
            return f"{UNKNOWN!r} should not be among the {LANGUAGES[language]} words"
    return None


def context_is_published(sets: Sets) -> str | None:
    """Attention over the published sentences gives the published numbers, to 1e-6."""
    context = (weights(sets) @ look_up(ENGLISH, sets["en"]))[:2, :10]
    error = np.abs(context - CONTEXT).max()
    if not error <= 1e-6:
        return f"the published example comes out {error:.1g} away from the published numbers"
    return None


CHECKS: tuple[Check, ...] = (words_stand_where_published, year_is_unknown, context_is_published)


def weights(sets: Sets, french: str = FRENCH, english: str = ENGLISH) -> np.ndarray:
    """Scaled dot-product attention's weights: French queries, English keys; shape (L_fr, L_en)."""
    scores = look_up(french, sets["fr"]) @ look_up(english, sets["en"]).T / np.sqrt(DIMENSIONS)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def look_up(sentence: str, embeddings: Embeddings) -> np.ndarray:
    """The vectors of a sentence's words, shape (L, 300), without a word about unknown ones."""
    with redirect_stdout(io.StringIO()):
        return embed(tokenize(sentence), embeddings)


# From the public server.


def fetch(
    data_dir: Path = DATA,
    base_url: str = BASE_URL,
    *,
    words: int = WORDS,
    checks: Sequence[Check] = CHECKS,
    attempts: int = 4,
    wait: float = 1.0,
    timeout: float = 30.0,
) -> list[str]:
    """Download the first words of fastText's aligned English and French vectors, and put them in use.

    Only the beginning of each file is read (about 25 MB of several GB). A connection that breaks is taken
    up where it broke.

    Parameters
    ----------
    data_dir : pathlib.Path
        Where the ``fasttext`` folder is made.
    base_url : str
        Where ``wiki.en.align.vec`` and ``wiki.fr.align.vec`` are.
    words : int
        How many words of each file.
    checks : sequence of functions
        What must hold before the vectors are put in use.
    attempts : int
        After so many failures in a row without a byte received, give up.
    wait : float
        Seconds before the first new attempt; each further one waits twice as long.
    timeout : float
        Seconds without a byte after which a connection counts as broken.

    Returns
    -------
    list of str
        Sentences to show: what is in use now, its licence and its authors.

    Raises
    ------
    DataError
        If the server, a file or a check fails; the text is one sentence, and nothing has changed.
    """
    sets = {}
    with _progress(words) as advance:
        for language in LANGUAGES:
            url = f"{base_url.rstrip('/')}/wiki.{language}.align.vec"
            lines = _lines(url, attempts, wait, timeout)
            try:
                sets[language] = _parse(lines, url, language, words, advance(language))
            finally:
                lines.close()
    _install(sets, Path(data_dir), checks)
    return [f"In use now: the first {words:,} fastText vectors of each language.", LICENCE]


def _lines(url: str, attempts: int, wait: float, timeout: float) -> Iterator[bytes]:
    """The lines of a file on a server, as they arrive; ends with the file."""
    received, rest, failures, tag = 0, b"", 0, None
    while True:
        try:
            with _open(url, received, tag, timeout) as response:
                tag = response.headers.get("ETag")
                # A server that ignores Range sends the file from its beginning.
                skip = 0 if response.status == 206 else received
                while chunk := response.read1(65_536):
                    fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                    if fresh:
                        failures = 0
                    received += len(fresh)
                    *whole, rest = (rest + fresh).split(b"\n")
                    yield from whole
                    if len(rest) > LONGEST_LINE:
                        raise _refusal(url, f"has a line of more than {LONGEST_LINE:,} bytes")
                if not response.length:  # nothing that was announced is missing
                    break
                reason = "the connection broke"
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server says {error.code} {error.reason}"
            if error.code == 416:  # there is nothing after what we have
                break
            if error.code < 500 and error.code != 429:  # asking again would not help
                raise _refusal(url, f"cannot be had ({reason})") from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        failures += 1
        if failures >= attempts:
            after = f" after {received:,} bytes" if received else ""
            raise _refusal(
                url, f"cannot be read{after}, {failures} attempts in a row failed ({reason}): try again later"
            )
        time.sleep(wait * 2 ** (failures - 1))
    if rest:
        yield rest


def _open(url, start, tag, timeout):
    """Ask for a file from byte `start` on; the answer is that part (status 206) or the whole file (200)."""
    if not url.startswith(("https://", "http://")):
        raise _refusal(url, "is not an address on the web")
    request = urllib.request.Request(url, headers={"User-Agent": "attention-labs"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    response = urllib.request.urlopen(request, timeout=timeout)
    if start and tag and response.headers.get("ETag") != tag:
        response.close()
        raise _refusal(url, "changed while it was read")
    part = response.headers.get("Content-Range", "")
    if response.status == 206 and not part.startswith(f"bytes {start}-"):
        response.close()
        raise _refusal(url, "is sent in parts other than those asked for")
    return response


def _parse(lines: Iterable[bytes], url: str, language: str, words: int, advance) -> Embeddings:
    """The first `words` vectors of a file in fastText's text format, or a `DataError` that names the line."""
    lines = iter(lines)
    header = next(lines, b"").split()
    if len(header) != 2 or not all(number.isdigit() and len(number) < 12 for number in header):
        raise _refusal(url, f'does not begin with a line such as "2519370 {DIMENSIONS}"')
    count, dimensions = map(int, header)
    if dimensions != DIMENSIONS or count < words:
        raise _refusal(
            url, f"announces {count:,} words of {dimensions} numbers; {words:,} of {DIMENSIONS} are needed"
        )
    rows, vectors = {}, np.empty((words, DIMENSIONS), dtype=np.float32)
    for row in range(words):
        line = next(lines, None)
        if line is None:
            raise _refusal(url, f"ends after {row:,} of {words:,} words")
        where = f"line {row + 2}"  # the header is line 1
        try:
            # Only at ' ': a word may hold other kinds of space.
            word, *numbers = line.decode("utf-8").rstrip(" \r").split(" ")
        except UnicodeDecodeError:
            raise _refusal(url, f"is not UTF-8 text in {where}") from None
        if len(numbers) != DIMENSIONS:
            raise _refusal(url, f"has {len(numbers)} numbers in {where}, not {DIMENSIONS}")
        try:
            vectors[row] = numbers
        except ValueError:
            raise _refusal(url, f"has something that is not a number in {where}") from None
        if not np.isfinite(vectors[row]).all():
            raise _refusal(url, f"has a number that is not finite (NaN or infinity) in {where}")
        if rows.setdefault(word, row) != row:
            raise _refusal(url, f"repeats the word {word!r} in {where}")
        advance()
    return Embeddings(language, "fastText", tuple(rows), vectors)


def _refusal(what, problem):
    return DataError(f"{what} {problem}; {UNCHANGED}.")


@contextmanager
def _progress(total):
    """A progress bar on stderr where somebody watches; gives a function language -> (advance by a word)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:

        def language_bar(language):
            task = bar.add_task(f"{LANGUAGES[language]} words", total=total)
            return lambda: bar.advance(task)

        yield language_bar


# From the original lab's files.


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
            notes.append(f"{path.name} is not the original lab's file (its git blob hash is {blob}).")
        vectors = _read_vectors(path, content, words)
        sets[language] = Embeddings(language, "imported", tuple(vocabulary), vectors)
    if original:
        sets = {each: Embeddings(each, "original", s.words, s.vectors) for each, s in sets.items()}
    _install(sets, Path(data_dir), checks)
    return [*notes, f"In use now: the {sets['en'].name} vectors, {words:,} of each language.", LICENCE]


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
                raise _refusal(path, f"is refused: a vocabulary needs no pickle opcode {opcode.name}")
            # The memo is a table that grows to the largest index asked for.
            if opcode.name == "LONG_BINPUT" and argument > len(content):
                raise _refusal(path, "is refused: it would fill the memory")
        found = _PlainUnpickler(io.BytesIO(content)).load()
    except (pickle.UnpicklingError, ValueError, EOFError, LookupError, TypeError, AttributeError) as error:
        raise _refusal(path, f"is not a whole pickle ({error})") from None
    if type(found) is not dict or not all(type(k) is str and type(v) is int for k, v in found.items()):
        raise _refusal(path, "is not a dict of words to whole numbers")
    if sorted(found.values()) != list(range(words)):
        raise _refusal(path, f"does not number {words:,} words from 0 to {words - 1:,}, each once")
    vocabulary = sorted(found, key=found.get)
    # As it will be stored; half a surrogate pair cannot be.
    if "\n".join(vocabulary).encode("utf-8", "ignore").decode("utf-8").split("\n") != vocabulary:
        raise _refusal(path, "has a word with a line break or a broken character")
    return vocabulary


_BAD_ZIP = zipfile.BadZipFile, zlib.error


def _read_vectors(path, content, words):
    """The one array of an ``.npz`` file: shape (words, 300), any floating type, finite; as float32."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > 16 * words * DIMENSIONS:
                raise _refusal(path, f"unpacks to more than {words:,} vectors of {DIMENSIONS} numbers")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = list(file.values())
    except (OSError, ValueError, EOFError, RuntimeError, MemoryError, *_BAD_ZIP) as error:
        raise _refusal(path, f"is not a whole .npz file of numbers ({error})") from None
    if len(arrays) != 1 or arrays[0].shape != (words, DIMENSIONS) or arrays[0].dtype.kind != "f":
        seen = ", ".join(f"{array.dtype} {array.shape}" for array in arrays) or "none"
        raise _refusal(path, f"should hold one floating array ({words}, {DIMENSIONS}), and holds {seen}")
    if not np.isfinite(arrays[0]).all():
        raise _refusal(path, "has a number that is not finite (NaN or infinity)")
    return arrays[0].astype(np.float32)


def _bytes(path, longest):
    try:
        with open(path, "rb") as file:
            content = file.read(longest + 1)
    except OSError as error:
        raise _refusal(path, f"cannot be read ({error.strerror})") from None
    if len(content) > longest:
        raise _refusal(path, f"is refused: it has more than {longest:,} bytes")
    return content


# Into use.


def _install(sets: Sets, data_dir: Path, checks: Sequence[Check]) -> None:
    """Check both languages, write them into a new folder, and put it in the place of the old one."""
    for check in checks:
        if problem := check(sets):
            raise _refusal("The new set", f"fails the check {check.__name__!r}: {problem}")
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{REAL}-", dir=data_dir))
    except OSError as error:
        raise _refusal(data_dir, f"cannot be written to ({error.strerror})") from None
    new, old, place = beside / "new", beside / "old", data_dir / REAL
    try:
        new.mkdir()
        for language, each in sets.items():
            write(new, language, each.name, each.words, vectors=each.vectors)
            if not np.array_equal(read(new, language).vectors, each.vectors):
                raise _refusal(new, "was not written as it should be")
        if place.exists():
            place.rename(old)
        try:
            new.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    except OSError as error:
        raise _refusal(place, f"cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
