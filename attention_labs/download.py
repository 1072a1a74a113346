"""Download the word vectors of the original lab, which replace those that come with the course.

    python -m attention_labs.download

The vectors go into a folder beside the shipped files, which `load_embeddings` then prefers, but
only if both languages are complete and pass every check. After any error the current set is
unchanged.
"""

import http.client
import io
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from attention_labs.embeddings import (
    DATA,
    DIMENSIONS,
    LANGUAGES,
    REAL,
    DataError,
    Embeddings,
    read,
    write,
)
from attention_labs.published import CHECKS, Check, Sets

BASE_URL = "https://dl.fbaipublicfiles.com/fasttext/vectors-aligned"
WORDS = 10_000  # the first of each file, as in the original lab
LONGEST_LINE = 16_384  # bytes; a real line has about 2,500
LICENCE = (
    "The vectors are fastText's aligned word vectors, by P. Bojanowski, E. Grave, A. Joulin and "
    "T. Mikolov (Enriching Word Vectors with Subword Information, 2017) and A. Joulin, P. "
    "Bojanowski, T. Mikolov, H. Jégou and E. Grave (Loss in Translation: Learning Bilingual Word "
    "Mapping with a Retrieval Criterion, 2018), under the licence CC BY-SA 3.0."
)


def refusal(subject: object, problem: str) -> DataError:
    """Return the error for a problem with a file or folder. It says that nothing has changed."""
    return DataError(f"{subject} {problem}; the vectors in use are as they were.")


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
    """Download the first words of fastText's aligned vectors in both languages, and install them.

    Only the beginning of each file is read (about 25 MB of several GB).

    Parameters
    ----------
    data_dir : pathlib.Path
        Parent of the new ``fasttext`` folder.
    base_url : str
        Address of ``wiki.en.align.vec`` and ``wiki.fr.align.vec``.
    words : int
        Number of words of each file.
    checks : sequence of functions
        Checks that the vectors must pass.
    attempts : int
        Maximum number of attempts per file, each from its beginning.
    wait : float
        Seconds before the second attempt; each further one waits twice as long.
    timeout : float
        Seconds without a byte after which a connection counts as broken.

    Returns
    -------
    list of str
        Sentences to show: the set in use, its licence and its authors.

    Raises
    ------
    DataError
        If the server, a file or a check fails; the text is one sentence, and nothing has changed.
    """
    sets = {}
    for language in LANGUAGES:
        url = f"{base_url.rstrip('/')}/wiki.{language}.align.vec"
        if not url.startswith(("https://", "http://")):
            raise refusal(url, "is not an address on the web")
        sets[language] = _download(url, language, words, attempts, wait, timeout)
    install(sets, Path(data_dir), checks)
    return [f"In use now: the first {words:,} fastText vectors of each language.", LICENCE]


def _download(url, language, words, attempts, wait, timeout) -> Embeddings:
    """Download the first words of one file; try again after a broken connection."""
    request = urllib.request.Request(url, headers={"User-Agent": "attention-labs"})
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(wait * 2 ** (attempt - 1))
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return _parse(_lines(response, url), url, language, words)
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server says {error.code} {error.reason}"
            if error.code < 500 and error.code != 429:  # asking again would not help
                raise refusal(url, f"cannot be had ({reason})") from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    raise refusal(url, f"cannot be read, {attempts} attempts failed ({reason}): try again later")


def _lines(response, url: str) -> Iterator[bytes]:
    """Yield the lines of a file on a server, as they arrive."""
    # Read through a buffer: the response's own `readline` does not notice a broken connection.
    content = io.BufferedReader(response, 65_536)
    while True:
        line = content.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise refusal(url, f"has a line of more than {LONGEST_LINE:,} bytes")
        if response.length and not line.endswith(b"\n"):  # fewer bytes than announced
            raise ConnectionError("the connection broke")
        if not line:
            return
        yield line


def _parse(lines: Iterator[bytes], url: str, language: str, words: int) -> Embeddings:
    """Parse the first vectors of a file in fastText's format; an error names the wrong line."""
    from rich.console import Console
    from rich.progress import track

    header = next(lines, b"").split()
    if len(header) != 2 or not all(number.isdigit() and len(number) < 12 for number in header):
        raise refusal(url, f'does not begin with a line such as "2519370 {DIMENSIONS}"')
    count, dimensions = map(int, header)
    if dimensions != DIMENSIONS or count < words:
        raise refusal(
            url,
            f"announces {count:,} words of {dimensions} numbers; {words:,} of {DIMENSIONS} are needed",
        )
    rows: dict[str, int] = {}
    vectors = np.empty((words, DIMENSIONS), dtype=np.float32)
    console = Console(stderr=True)
    hidden = not console.is_terminal
    for row in track(range(words), f"{LANGUAGES[language]} words", console=console, disable=hidden):
        line = next(lines, None)
        if line is None:
            raise refusal(url, f"ends after {row:,} of {words:,} words")
        place = f"line {row + 2}"  # the header is line 1
        try:
            # Split only at the character ' ', since a word may contain other kinds of space.
            word, *numbers = line.decode("utf-8").rstrip(" \r\n").split(" ")
        except UnicodeDecodeError:
            raise refusal(url, f"is not UTF-8 text in {place}") from None
        if len(numbers) != DIMENSIONS:
            raise refusal(url, f"has {len(numbers)} numbers in {place}, not {DIMENSIONS}")
        try:
            vectors[row] = numbers
        except ValueError:
            raise refusal(url, f"has something that is not a number in {place}") from None
        if not np.isfinite(vectors[row]).all():
            raise refusal(url, f"has a number that is not finite (NaN or infinity) in {place}")
        if rows.setdefault(word, row) != row:
            raise refusal(url, f"repeats the word {word!r} in {place}")
    return Embeddings(language, "fastText", tuple(rows), vectors)


def install(sets: Sets, data_dir: Path, checks: Sequence[Check]) -> None:
    """Check the vectors of both languages, and put them in place of the old ones."""
    for check in checks:
        problem = check(sets)
        if problem:
            raise refusal("The new set", f"fails the check {check.__name__!r}: {problem}")
    try:
        workspace = Path(tempfile.mkdtemp(prefix=f".{REAL}-", dir=data_dir))
    except OSError as error:
        raise refusal(data_dir, f"cannot be written to ({error.strerror})") from None
    new, old, place = workspace / "new", workspace / "old", data_dir / REAL
    try:
        new.mkdir()
        for language, embeddings in sets.items():
            write(new, language, embeddings.name, embeddings.words, vectors=embeddings.vectors)
            if not np.array_equal(read(new, language).vectors, embeddings.vectors):
                raise refusal(new, "was not written as it should be")
        if place.exists():
            place.rename(old)
        try:
            new.rename(place)
        except OSError:
            if old.exists():
                old.rename(place)
            raise
    except OSError as error:
        raise refusal(place, f"cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def main() -> None:
    """Download the vectors and say which are now in use; end with exit code 1 after an error."""
    try:
        print(*fetch(), sep="\n")
    except DataError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
