"""Build the shipped word vectors from ``lexicon.csv``, and measure them.

    python data/build_embeddings.py           writes embeddings_en.npz and embeddings_fr.npz
    python data/build_embeddings.py --check   writes nothing; exit 1 if they are not what it would write

The vectors are constructed, not trained; ``README.md`` beside this file says how and why.
"""

import argparse
import csv
import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_labs import embeddings as store
from attention_labs.embeddings import DATA, DIMENSIONS, LANGUAGES, tokenize
from attention_labs.published import CONTEXT, ENGLISH, FRENCH, UNKNOWN, look_up, weights

NAME = "shipped (constructed)"

# What a vector is made of, as shares of its squared length. Two words have in common the parts that
# they share: a word and its translation all but the last, 0.66; two words of one field the first, 0.18.
SHARES = {"field": 0.18, "synonyms": 0.22, "meaning": 0.20, "inflection": 0.06, "word": 0.34}

STEP = 0.0195  # between two of the 16 levels of a stored number: a third of a number's usual size

LOWEST = 0.07576  # the smallest published weight; the colour bar goes from 0.0758 to 0.0798
# The picture's 256 colours, black to white. Their cut-off to whole numbers doubles some (73) and skips
# others (74), which the published levels show too.
GREYS = (np.linspace(0, 1, 256) * 255).astype(np.uint8)


@dataclass(frozen=True)
class Meaning:
    """One row of the lexicon; `forms[language]` is a tuple of inflections, each a tuple of words."""

    field: str
    synonyms: str
    forms: dict[str, tuple[tuple[str, ...], ...]]

    @property
    def key(self):
        return "/".join(self.forms[language][0][0] for language in LANGUAGES)

    def words(self, language):
        return [word for inflection in self.forms[language] for word in inflection]


def read_lexicon(path: Path = DATA / "lexicon.csv") -> list[Meaning]:
    """The rows of the lexicon; `README.md` explains its columns."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Meaning(
                row["field"],
                row["synonyms"],
                {
                    "en": tuple(tuple(part.split()) for part in row["english"].split("|")),
                    "fr": tuple(tuple(part.split()) for part in row["french"].split("|")),
                },
            )
            for row in csv.DictReader(file)
        ]


def read_alignments(path: Path = DATA / "alignments.txt") -> list[tuple[str, str, set]]:
    """Sentence pairs linked by hand: the English one, the French one, the pairs (i, j) of linked words."""
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    ]
    pairs = []
    for block in "\n".join(lines).strip().split("\n\n"):
        part = dict(line.split(": ", 1) for line in block.splitlines())
        links = {tuple(map(int, link.split("-"))) for link in part["links"].split()}
        pairs.append((part["en"], part["fr"], links))
    return pairs


def direction(*name: str) -> np.ndarray:
    """A unit vector, shape (300,), that depends on the name alone.

    It comes from a hash and not from a generator, so that a new row of the lexicon moves no other
    word, and every machine and version makes the same numbers.
    """
    digest = hashlib.shake_256("/".join(name).encode("utf-8")).digest(2 * DIMENSIONS)
    numbers = np.frombuffer(digest, dtype="<u2") - 32767.5
    return numbers / np.sqrt(np.sum(numbers**2))


def construct(lexicon: list[Meaning]) -> dict[str, dict[str, np.ndarray]]:
    """The vectors before the correction: for each language, a unit vector for each word."""
    share = {part: np.sqrt(size) for part, size in SHARES.items()}
    senses = {language: {} for language in LANGUAGES}
    for meaning in lexicon:
        base = (
            share["field"] * direction("field", meaning.field)
            + share["synonyms"] * direction("synonyms", meaning.synonyms or meaning.key)
            + share["meaning"] * direction("meaning", meaning.key)
        )
        for language in LANGUAGES:
            for number, inflection in enumerate(meaning.forms[language]):
                sense = base + share["inflection"] * direction(
                    "inflection", meaning.key, str(number)
                )
                for word in inflection:
                    senses[language].setdefault(word, []).append(sense)
    return {
        language: {
            word: _unit(
                np.sqrt(1 - SHARES["word"]) * _unit(sum(several))
                + share["word"] * direction("word", language, word)
            )
            for word, several in sorted(words.items())
        }
        for language, words in senses.items()
    }


def _unit(vector):
    return vector / np.sqrt(np.sum(vector**2))


def published_weights(path: Path = DATA / "published_alignment_grey.csv") -> np.ndarray:
    """Weights whose picture is the published one: shape (14, 13), rows French, each row summing to one.

    A grey level leaves each weight a narrow interval. A row takes the middles of its intervals, all
    shifted alike (and held inside) until its sum is that of every other row.
    """
    levels = np.loadtxt(path, delimiter=",", dtype=int)
    position = np.arange(256)
    low = np.array([[position[level == GREYS].min() for level in row] for row in levels]) / 256
    high = np.array([[position[level == GREYS].max() + 1 for level in row] for row in levels]) / 256
    high[levels == 0], low[levels == 255] = 0, 1  # the two ends of the scale are themselves weights
    middle = (low + high) / 2
    room = 0.4 * (high - low)  # stay clear of the next grey level
    total = middle.sum(axis=1).mean()
    shift = np.zeros((len(levels), 1))
    for step in 0.5 ** np.arange(2, 60):  # bisection
        short = (middle + np.clip(shift, -room, room)).sum(axis=1, keepdims=True) < total
        shift += np.where(short, step, -step)
    grey = middle + np.clip(shift, -room, room)
    return LOWEST + grey * (1 - 13 * LOWEST) / total


def correct(vectors: dict[str, dict[str, np.ndarray]]) -> None:
    """Change the vectors of the published sentences, in place, so that the published figures follow.

    The change is the smallest one there is. The conditions are dot products (products of unknowns) and
    weighted sums of English vectors; each round makes them linear at the present vectors, and takes the
    solution nearest to the first ones.
    """
    published = published_weights()
    french, english = tokenize(FRENCH), tokenize(ENGLISH)
    # A weight divided by that of the unknown word, whose score is 0, gives the score back.
    scores = np.log(published / published[:, [english.index(UNKNOWN)]]) * np.sqrt(DIMENSIONS)
    keys = list(dict.fromkeys(word for word in english if word != UNKNOWN))
    queries = [word for word in french if word != UNKNOWN]
    products = scores[np.ix_([french.index(w) for w in queries], [english.index(w) for w in keys])]
    mixing = np.array([[published[i, np.equal(english, w)].sum() for w in keys] for i in range(2)])

    first = np.array([vectors["en"][w] for w in keys] + [vectors["fr"][w] for w in queries])
    split, now = len(keys), first
    for _ in range(12):
        k, q = now[:split], now[split:]
        slope = np.zeros((products.size + CONTEXT.size, *now.shape))
        for i in range(len(queries)):
            for j in range(len(keys)):
                slope[i * len(keys) + j, j] = q[i]
                slope[i * len(keys) + j, split + i] = k[j]
        for i in range(2):
            for c in range(10):
                slope[products.size + 10 * i + c, :split, c] = mixing[i]
        slope = slope.reshape(len(slope), -1)
        missing = np.concatenate(
            [(products - q @ k.T).ravel(), (CONTEXT - mixing @ k[:, :10]).ravel()]
        )
        missing += slope @ (now - first).ravel()
        now = first + np.linalg.lstsq(slope, missing, rcond=None)[0].reshape(now.shape)
    vectors["en"].update(zip(keys, now[:split]))
    vectors["fr"].update(zip(queries, now[split:]))


def build(folder: Path, lexicon: list[Meaning]) -> None:
    """Write both files: each number as one of 16 levels, the corrected rows as they are."""
    vectors = construct(lexicon)
    correct(vectors)
    for language, sentence in {"en": ENGLISH, "fr": FRENCH}.items():
        words = list(vectors[language])
        table = np.array(list(vectors[language].values()))
        exact = np.flatnonzero(np.isin(words, tokenize(sentence)))
        levels = np.clip(np.round(table / STEP + 7.5), 0, 15).astype(np.uint8)
        store.write(
            folder,
            language,
            NAME,
            words,
            vectors=levels[:, 0::2] << 4 | levels[:, 1::2],
            step=np.float32(STEP),
            exact_rows=exact.astype(np.int32),
            exact=table[exact].astype(np.float32),
        )


def translation_precision(lexicon, sets, source: str) -> float:
    """P@1: the share of words whose nearest word of the other language (cosine) is a listed translation."""
    target = "fr" if source == "en" else "en"
    listed = {}
    for meaning in lexicon:
        for word in meaning.words(source):
            listed.setdefault(word, set()).update(meaning.words(target))
    queries, keys = _normal(sets[source]), _normal(sets[target])
    nearest = np.concatenate(
        [(rows @ keys.T).argmax(axis=1) for rows in np.array_split(queries, 20)]
    )
    words = sets[target].words
    return np.mean([words[best] in listed[word] for word, best in zip(sets[source].words, nearest)])


def neighbour_rank(lexicon, sets, language: str = "en") -> tuple[float, float, float]:
    """The mean rank of a word's field neighbours among all words of its language, the nearest being 1.

    Neighbours are words that share a field with it but no meaning; words that share a meaning are left
    out of the ranking. Also returned: the rank if all neighbours came first, and if the order were chance.
    Every fifth word is looked at.
    """
    vectors, meanings, fields, members = _normal(sets[language]), {}, {}, {}
    row_of = {word: row for row, word in enumerate(sets[language].words)}
    for meaning in lexicon:
        rows = {row_of[word] for word in meaning.words(language)}
        members.setdefault(meaning.field, set()).update(rows)
        for row in rows:
            meanings.setdefault(row, set()).update(rows)
            fields.setdefault(row, set()).add(meaning.field)
    means = []
    for row, own in list(meanings.items())[::5]:
        neighbours = set().union(*(members[field] for field in fields[row])) - own
        cosines = vectors @ vectors[row]
        rest = np.sort(np.delete(cosines, list(own)))
        if neighbours:
            ranks = len(rest) - np.searchsorted(rest, cosines[list(neighbours)])
            means.append((ranks.mean(), (len(neighbours) + 1) / 2, (len(rest) + 1) / 2))
    return tuple(np.mean(means, axis=0))


def _normal(embeddings):
    return embeddings.vectors / np.linalg.norm(embeddings.vectors, axis=1, keepdims=True)


def alignment_accuracy(sets, pairs=None) -> tuple[int, int, int, list[str]]:
    """Count the French words whose largest weight is on an English word linked to them.

    Only French words with a vector and at least one link count. Returned: hits, words that count, linked
    words without a vector, and the misses as text.
    """
    hits, unknown, misses = 0, 0, []
    for english, french, links in pairs or read_alignments():
        keys, queries = tokenize(english), tokenize(french)
        for j, best in enumerate(weights(sets, french, english).argmax(axis=1)):
            linked = sorted(i for i, k in links if k == j)
            if linked and queries[j] not in sets["fr"]:
                unknown += 1
            elif best in linked:
                hits += 1
            elif linked:
                right = "/".join(keys[i] for i in linked)
                misses.append(f"{queries[j]}: {keys[best]} for {right}, in: {french}")
    return hits, hits + len(misses), unknown, misses


def measure(folder: Path = DATA) -> dict[str, str]:
    """Everything that is claimed of the shipped files, by name, as it is printed and stated in README.md."""
    lexicon = read_lexicon()
    sets = {language: store.read(folder, language) for language in LANGUAGES}
    hits, counted, unknown, _ = alignment_accuracy(sets)
    rank, best, chance = neighbour_rank(lexicon, sets)
    greys, context = published_errors(sets)
    files = [folder / f"embeddings_{language}.npz" for language in LANGUAGES]
    size = sum(file.stat().st_size for file in [*files, DATA / "lexicon.csv"]) / 1e6
    return {
        "meanings": f"{len(lexicon):,}",
        "English words": f"{len(sets['en']):,}",
        "French words": f"{len(sets['fr']):,}",
        "P@1 English to French": f"{translation_precision(lexicon, sets, 'en'):.3f}",
        "P@1 French to English": f"{translation_precision(lexicon, sets, 'fr'):.3f}",
        "alignment accuracy": f"{hits / counted:.3f} ({hits} of {counted} words; {unknown} unknown left out)",
        "mean rank of a field neighbour": f"{rank:.0f} (best possible {best:.0f}, by chance {chance:.0f})",
        "published grey levels that differ": f"{greys} of 182",
        "published context, largest error below": f"{np.ceil(context / 1e-9) * 1e-9:.0e}",
        "size of the lexicon and both files": f"{size:.2f} MB",
    }


def published_errors(sets) -> tuple[int, float]:
    """Return the number of grey levels unlike the published picture's, and the largest error of the context."""
    found = weights(sets)
    grey = (found - found.min()) / (found.max() - found.min())
    levels = GREYS[np.minimum((256 * grey).astype(int), 255)]
    published = np.loadtxt(DATA / "published_alignment_grey.csv", delimiter=",", dtype=int)
    context = (found @ look_up(ENGLISH, sets["en"]))[:2, :10]
    return int((levels != published).sum()), float(np.abs(context - CONTEXT).max())


def list_differences(folder: Path, other_folder: Path) -> list[str]:
    """Return a sentence for each difference beyond rounding between the files of two folders."""
    found = []
    for language in LANGUAGES:
        name = f"embeddings_{language}.npz"
        try:
            a, b = store.read(folder, language), store.read(other_folder, language)
        except store.DataError as error:
            found.append(str(error))
            continue
        if a.words != b.words:
            found.append(f"{name}: {len(set(a.words) ^ set(b.words))} words are in one file only.")
        elif np.abs(a.vectors - b.vectors).max() > 1e-6:
            found.append(f"{name}: a number differs by {np.abs(a.vectors - b.vectors).max():.1e}.")
    return found


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(
        description="Build the shipped word vectors, and measure them."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on any difference"
    )
    parser.add_argument(
        "--misses", action="store_true", help="also print each word aligned wrongly"
    )
    options = parser.parse_args(arguments)
    if options.check:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), read_lexicon())
            found = list_differences(DATA, Path(folder))
        print("\n".join(found) or "The shipped vectors are what the lexicon gives.")
        return 1 if found else 0
    build(DATA, read_lexicon())
    figures = measure()
    for name, figure in figures.items():
        print(f"{name:40} {figure}")
    if options.misses:
        print(
            *alignment_accuracy({each: store.read(DATA, each) for each in LANGUAGES})[-1], sep="\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
