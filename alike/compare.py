"""Hand-ins that share more than the lab, the class and chance explain.

What a hand-in has of its own is what neither the lab (release, solution, known mistakes) nor many others
in the class have. Two streams of it are compared: the words of comments, strings and written answers as
they are, and the code with its variable names taken out. An index of short passages ("grams") proposes
pairs, so that nobody is compared with everybody; RapidFuzz measures each proposed pair.
"""

import builtins
import json
import keyword
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from rapidfuzz.distance import LCSseq

# Passages of so many tokens or words are compared; shorter ones coincide by themselves.
CODE_GRAM, WORD_GRAM = 10, 5
# A pair is worth a look if it shares so many passages, and so large a part of the smaller hand-in's own.
# Code needs more: there are few ways to write a right line, and countless ways to explain it.
CODE_SHARED, CODE_SHARE = 100, 0.75
WORD_SHARED, WORD_SHARE = 20, 0.5

# A string ends, or the source does: where it may have no end, each of its quotes is looked for anew.
_TOKEN = re.compile(
    r'#[^\n]*|"""(?:[^"]|"(?!""))*+(?:"""|\Z)|'
    r"'''(?:[^']|'(?!''))*+(?:'''|\Z)|"
    r'"(?:\\.|[^"\\\n])*+"?|'
    r"'(?:\\.|[^'\\\n])*+'?"
    r"|[^\W\d]\w*|\d[\w.]*|\*\*|//|[=!<>]=|\S",
    re.DOTALL,
)
_WORD = re.compile(r"\w+")
_KNOWN = frozenset(keyword.kwlist) | frozenset(dir(builtins))
_BREAK = "\n"  # between two cells
MOST = 20_000  # words, and tokens, of a hand-in that are compared; a finished lab has a tenth
_LONGEST = 60  # characters of a word
MOST_EACH = 10  # pairs of one hand-in that are measured, those that share most
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Work:
    """The words and the code tokens of one hand-in (or of the lab itself)."""

    words: Sequence[str]
    code: Sequence[str]

    @classmethod
    def from_json(cls, text: str) -> "Work":
        """The inverse of `read_file`; each word is kept once, whoever wrote it."""
        words, code = ([sys.intern(word) for word in part] for part in json.loads(text))
        return cls(words, code)


@dataclass(frozen=True)
class Pair:
    """Two hand-ins worth a look.

    Parameters
    ----------
    one, other : int
        Their places in the list that was given.
    words, code : float or None
        The part of the smaller hand-in's own wording (or code, names aside) that the other has too,
        in the same order; None where there is too little of it to say.
    passage : str
        The longest run of words that both have.
    """

    one: int
    other: int
    words: float | None
    code: float | None
    passage: str

    @property
    def score(self) -> float:
        return max(self.words or 0.0, self.code or 0.0)


def read_work(cells: Iterable[dict], most: int = MOST) -> Work:
    """The words and tokens of a notebook's cells, no more than so many of each.

    >>> read_work([{"cell_type": "code", "source": "weights = x.sum()  # Add them up"}])
    Work(words=['Add', 'them', 'up', '\\n'], code=['v', '=', 'v', '.', 'sum', '(', ')', '\\n'])
    """
    words: list[str] = []
    code: list[str] = []
    for cell in cells:
        if max(len(words), len(code)) >= most:
            break
        source = cell["source"][: 20 * most]
        if cell["cell_type"] == "code":
            _read_code(source, words, code)
            code.append(_BREAK)
        else:
            words += _words(source)
        words.append(_BREAK)
    return Work(words[:most], code[:most])


def _words(text: str) -> Iterator[str]:
    return (sys.intern(word[:_LONGEST]) for word in _WORD.findall(text))


def _read_code(source: str, words: list[str], code: list[str]) -> None:
    before = ""
    for token in _TOKEN.findall(source):
        first = token[0]
        if first in "#\"'":
            words += _words(token)
            if first != "#":
                code.append("s")
        elif first.isidentifier() and before != "." and token not in _KNOWN:
            code.append("v")  # variables are the first thing that a copyist renames
        else:
            code.append(sys.intern(token[:_LONGEST]))
        before = token


def alike(works: Sequence[Work], common: Sequence[Work]) -> list[Pair]:
    """The pairs of hand-ins worth a look, the most alike first.

    Parameters
    ----------
    works : sequence of Work
        One for each hand-in of a lab.
    common : sequence of Work
        What everybody has: the release, the solution, the known mistakes.
    """
    vocabulary: dict[str, int] = {}
    words = _Stream(
        [w.words for w in works], [c.words for c in common], WORD_GRAM, WORD_SHARED, WORD_SHARE, vocabulary
    )
    code = _Stream(
        [w.code for w in works], [c.code for c in common], CODE_GRAM, CODE_SHARED, CODE_SHARE, vocabulary
    )
    pairs = []
    shared = Counter(words.proposed())
    shared.update(code.proposed())
    for one, other in _most_shared(shared):
        by_words, by_code = words.measure(one, other), code.measure(one, other)
        if by_words[1] or by_code[1]:
            passage = _passage(works[one].words, words.own(one), works[other].words, words.own(other))
            pairs.append(Pair(one, other, by_words[0], by_code[0], passage))
    return sorted(pairs, key=lambda pair: -pair.score)


def _most_shared(shared: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    """Of each hand-in the pairs that share most: however many others collude, they take no place but their own.

    >>> _most_shared({(0, 1): 5, (0, 2): 7})
    [(0, 2), (0, 1)]
    """
    taken: Counter[int] = Counter()
    chosen = []
    for pair in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if min(taken[one] for one in pair) < MOST_EACH:
            chosen.append(pair)
            taken.update(pair)
    return chosen


def read_file(path: str, released: frozenset[str]) -> str:
    """What a student has written in an executed notebook, as JSON; for a worker.

    Parameters
    ----------
    path : str
    released : frozenset of str
        What stands in the cells of the lab: it is nobody's own.
    """
    work = read_work(_own_cells(json.loads(Path(path).read_bytes()), released))
    return json.dumps([work.words, work.code])


def _own_cells(notebook: dict, released: frozenset[str]) -> Iterator[dict]:
    """The cells that a student has written in."""
    for cell in notebook["cells"]:
        nbgrader = cell["metadata"].get("nbgrader")
        locked = nbgrader is not None and not nbgrader.get("solution")
        if not locked and cell.get("id") != "grader-notes" and cell["source"] not in released:
            yield cell


def alike_as_json(works: Sequence[Work], common: Sequence[Work]) -> str:
    """`alike`, for a worker."""
    return json.dumps([astuple(pair) for pair in alike(works, common)])


class _Stream:
    """One kind of token of all hand-ins, as passages that few of them have."""

    def __init__(
        self,
        works: Sequence[Sequence[str]],
        common: Sequence[Sequence[str]],
        gram: int,
        least: int,
        share: float,
        vocabulary: dict[str, int],
    ):
        self._gram, self._least, self._share = gram, least, share
        self._grams = [_grams(_numbers(w, vocabulary), gram) for w in works]
        known = np.unique(
            np.concatenate([_grams(_numbers(c, vocabulary), gram) for c in common] or [np.array([])])
        )
        count = len(works)
        own = [np.unique(g[~_is_in(g, known)]) for g in self._grams]
        hashes = np.concatenate(own) if own else np.array([], np.uint64)
        owners = np.repeat(np.arange(count), [len(g) for g in own])
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]]) if len(hashes) else np.array([], int)
        held_by = np.diff(np.r_[starts, len(hashes)])
        # What more than a few have, everybody may have thought of (and all pairs of many would be slow).
        few = max(5, min(count // 50, 20))
        rare = held_by <= few
        self._rare = hashes[starts[rare]]
        self._sequences: dict[int, list[int]] = {}
        keys = []
        for n in range(2, few + 1):
            holders = owners[starts[held_by == n][:, None] + np.arange(n)]
            keys += [holders[:, i] * count + holders[:, j] for i in range(n) for j in range(i + 1, n)]
        self._pairs, self._shared = np.unique(
            np.concatenate(keys) if keys else np.array([], int), return_counts=True
        )
        self._count = count

    def proposed(self) -> dict[tuple[int, int], int]:
        """Pairs that share enough passages to be measured, and how many."""
        enough = self._shared >= self._least
        pairs = zip(self._pairs[enough].tolist(), self._shared[enough].tolist(), strict=True)
        return {(key // self._count, key % self._count): shared for key, shared in pairs}

    def measure(self, one: int, other: int) -> tuple[float | None, bool]:
        """How alike two hand-ins are, if there is enough to say; and whether that is worth a look."""
        a, b = self._sequence(one), self._sequence(other)
        if min(len(a), len(b)) < self._least:
            return None, False
        shared = LCSseq.similarity(a, b)
        share = shared / min(len(a), len(b))
        return share, shared >= self._least and share >= self._share

    def own(self, index: int) -> np.ndarray:
        """Which tokens of a hand-in are part of a passage of its own."""
        grams = self._grams[index]
        mask = np.zeros(len(grams) + self._gram - 1, bool)
        rare = np.flatnonzero(_is_in(grams, self._rare))
        for offset in range(self._gram):
            mask[rare + offset] = True
        return mask

    def _sequence(self, index: int) -> list[int]:
        if index not in self._sequences:
            grams = self._grams[index]
            self._sequences[index] = grams[_is_in(grams, self._rare)].tolist()
        return self._sequences[index]


def _numbers(tokens: Sequence[str], vocabulary: dict[str, int]) -> np.ndarray:
    return np.array([vocabulary.setdefault(t.lower(), len(vocabulary) + 1) for t in tokens], np.uint64)


def _grams(numbers: np.ndarray, length: int) -> np.ndarray:
    """A hash of every run of `length` tokens."""
    count = max(len(numbers) - length + 1, 0)
    hashes = np.zeros(count, np.uint64)
    for offset in range(length if count else 0):
        hashes = hashes * _BASE + numbers[offset : offset + count]
    return hashes


def _is_in(hashes: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    if not len(ordered):
        return np.zeros(len(hashes), bool)
    at = np.searchsorted(ordered, hashes).clip(max=len(ordered) - 1)
    return ordered[at] == hashes


def _passage(
    one: Sequence[str],
    own_one: Iterable[bool],
    other: Sequence[str],
    own_other: Iterable[bool],
    most: int = 30,
) -> str:
    """The longest run of words that both have, cut to a length that can be quoted."""
    a = [w.lower() if mine else f"\0{i}" for i, (w, mine) in enumerate(zip(one, own_one))]
    b = [w.lower() if mine else f"\1{i}" for i, (w, mine) in enumerate(zip(other, own_other))]
    a, b = (_without_breaks(words) for words in (a, b))
    longest = max(LCSseq.opcodes(a, b).as_matching_blocks(), key=lambda block: block.size)
    words = one[longest.a : longest.a + longest.size]
    if len(words) < WORD_GRAM:
        return ""
    return " ".join(words[:most]) + (" …" if len(words) > most else "")


def _without_breaks(words: Sequence[str]) -> list[str]:
    """The words with each break between cells unlike any other, so that no passage runs across one."""
    return [f"\0{id(words)} {i}" if word == _BREAK else word for i, word in enumerate(words)]
