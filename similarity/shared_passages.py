"""Find pairs of submissions for a lab that share more words or code than chance explains.

A passage is a run of a few tokens. Passages that are in the released notebook, in the solution or
in the lab's known mistakes do not count, nor do those that many submissions have. Words and code
are compared separately. The words are those of comments, strings and written answers, and the code
is compared without the names of its variables.

An index of the passages proposes pairs, so that not every pair has to be compared. RapidFuzz then
measures how much the two submissions of each proposed pair have in common.
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

# Number of tokens (words or pieces of code) in a passage. Shorter passages are often equal by
# chance.
CODE_PASSAGE_TOKENS, WORD_PASSAGE_TOKENS = 10, 5
# Two submissions are similar if they share at least so many passages, and if these are at least
# this part of the smaller submission's passages. The limits are higher for code: there are few
# ways to write a right line of code, but countless ways to explain it.
MIN_CODE_PASSAGES, MIN_CODE_SHARE = 100, 0.75
MIN_WORD_PASSAGES, MIN_WORD_SHARE = 20, 0.5
MAX_TOKENS = 20_000  # most words, and most code tokens, of a submission; a finished lab has 2,000
MAX_TOKEN_CHARACTERS = 60
MAX_PAIRS_PER_SUBMISSION = 10  # the pairs that share the most passages are measured
MAX_PASSAGE_WORDS = 30  # most words in the passage that the page quotes

# If a triple-quoted string is not closed, let it end with the source. Otherwise each of its quotes
# would start a new search for an end, which takes long.
_TOKEN = re.compile(
    r'#[^\n]*|"""(?:[^"]|"(?!""))*+(?:"""|\Z)|'
    r"'''(?:[^']|'(?!''))*+(?:'''|\Z)|"
    r'"(?:\\.|[^"\\\n])*+"?|'
    r"'(?:\\.|[^'\\\n])*+'?"
    r"|[^\W\d]\w*|\d[\w.]*|\*\*|//|[=!<>]=|\S",
    re.DOTALL,
)
_WORD = re.compile(r"\w+")
_RESERVED_NAMES = frozenset(keyword.kwlist) | frozenset(dir(builtins))
_CELL_BREAK = "\n"
_HASH_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class TokenStreams:
    """Words and pieces of code (tokens) of one submission, or of one of the lab's own files."""

    words: Sequence[str]
    code: Sequence[str]

    @classmethod
    def from_json(cls, text: str) -> "TokenStreams":
        """Read the JSON that `read_notebook_as_json` wrote; store equal tokens only once."""
        words, code = ([sys.intern(token) for token in tokens] for tokens in json.loads(text))
        return cls(words, code)


@dataclass(frozen=True)
class PairScore:
    """Similarity of two submissions.

    Parameters
    ----------
    first, second : int
        Indices of the two submissions in the list that was compared.
    words, code : float or None
        Share of the rare passages of words or code in the smaller submission that the larger
        submission has in the same order; None if one of them has too few passages.
    passage : str
        Longest run of words that both submissions have.
    """

    first: int
    second: int
    words: float | None
    code: float | None
    passage: str

    @property
    def score(self) -> float:
        return max(self.words or 0.0, self.code or 0.0)


def tokenise_cells(cells: Iterable[dict], max_tokens: int = MAX_TOKENS) -> TokenStreams:
    """Split a notebook's cells into words and pieces of code (tokens).

    Parameters
    ----------
    max_tokens : int
        Largest number of words, and also of code tokens, to return.
    >>> tokenise_cells([{"cell_type": "code", "source": "weights = x.sum()  # Add them up"}])
    TokenStreams(words=['Add', 'them', 'up', '\\n'], code=['v', '=', 'v', '.', 'sum', '(', ')', '\\n'])
    """
    words: list[str] = []
    code: list[str] = []
    for cell in cells:
        if max(len(words), len(code)) >= max_tokens:
            break
        source = cell["source"][: 20 * max_tokens]
        if cell["cell_type"] == "code":
            _read_code(source, words, code)
            code.append(_CELL_BREAK)
        else:
            words += _read_words(source)
        words.append(_CELL_BREAK)
    return TokenStreams(words[:max_tokens], code[:max_tokens])


def _read_words(text: str) -> Iterator[str]:
    return (sys.intern(word[:MAX_TOKEN_CHARACTERS]) for word in _WORD.findall(text))


def _read_code(source: str, words: list[str], code: list[str]) -> None:
    """Split code: append words of comments and strings to `words`, all other tokens to `code`."""
    previous = ""
    for token in _TOKEN.findall(source):
        first = token[0]
        if first in "#\"'":
            words += _read_words(token)
            if first != "#":
                code.append("s")
        elif first.isidentifier() and previous != "." and token not in _RESERVED_NAMES:
            code.append("v")  # stands for any variable, since a student who copies may rename it
        else:
            code.append(sys.intern(token[:MAX_TOKEN_CHARACTERS]))
        previous = token


def find_similar_pairs(
    submissions: Sequence[TokenStreams],
    common: Sequence[TokenStreams],
) -> list[PairScore]:
    """Return the pairs of similar submissions, the most similar first.

    Parameters
    ----------
    submissions : sequence of TokenStreams
        Tokens of each submission for a lab.
    common : sequence of TokenStreams
        Tokens that students may share without copying from each other, such as those of the
        released notebook.
    """
    vocabulary: dict[str, int] = {}
    words = _RarePassageIndex(
        [tokens.words for tokens in submissions],
        [tokens.words for tokens in common],
        WORD_PASSAGE_TOKENS,
        MIN_WORD_PASSAGES,
        MIN_WORD_SHARE,
        vocabulary,
    )
    code = _RarePassageIndex(
        [tokens.code for tokens in submissions],
        [tokens.code for tokens in common],
        CODE_PASSAGE_TOKENS,
        MIN_CODE_PASSAGES,
        MIN_CODE_SHARE,
        vocabulary,
    )
    shared_counts = Counter(words.propose_pairs())
    shared_counts.update(code.propose_pairs())
    scores = []
    for i, j in _choose_pairs(shared_counts):
        word_share, has_similar_words = words.compare_pair(i, j)
        code_share, has_similar_code = code.compare_pair(i, j)
        if has_similar_words or has_similar_code:
            passage = _longest_shared_passage(
                submissions[i].words,
                words.find_rare_tokens(i),
                submissions[j].words,
                words.find_rare_tokens(j),
            )
            scores.append(PairScore(i, j, word_share, code_share, passage))
    return sorted(scores, key=lambda score: -score.score)


def _choose_pairs(shared_counts: Mapping[tuple[int, int], int]) -> list[tuple[int, int]]:
    """Choose the pairs to compare closely: for each submission, those that share most passages.

    The number of pairs of a submission is limited, so that many students who copied from each other
    do not push the pairs of other students out.

    Parameters
    ----------
    shared_counts : mapping of (int, int) to int
        Number of shared passages of each pair of submissions.

    >>> _choose_pairs({(0, 1): 5, (0, 2): 7})
    [(0, 2), (0, 1)]
    """
    counts: Counter[int] = Counter()
    pairs = []
    for pair in sorted(shared_counts, key=lambda pair: (-shared_counts[pair], pair)):
        if min(counts[i] for i in pair) < MAX_PAIRS_PER_SUBMISSION:
            pairs.append(pair)
            counts.update(pair)
    return pairs


def read_notebook_as_json(path: str, released_sources: frozenset[str]) -> str:
    """Return the words and code that a student wrote, as JSON; called in a worker process.

    Parameters
    ----------
    path : str
        Path of the submission after grading has run it.
    released_sources : frozenset of str
        Sources of the cells of the released notebook. Cells with these sources are left out.
    """
    notebook = json.loads(Path(path).read_bytes())
    tokens = tokenise_cells(_student_cells(notebook, released_sources))
    return json.dumps([tokens.words, tokens.code])


def _student_cells(notebook: dict, released_sources: frozenset[str]) -> Iterator[dict]:
    """Yield the cells of a notebook that the student added or changed.

    Locked cells, the grader's notes and unchanged cells are left out.
    """
    for cell in notebook["cells"]:
        nbgrader = cell["metadata"].get("nbgrader")
        is_locked = nbgrader is not None and not nbgrader.get("solution")
        if (
            not is_locked
            and cell.get("id") != "grader-notes"
            and cell["source"] not in released_sources
        ):
            yield cell


def find_similar_pairs_as_json(
    submissions: Sequence[TokenStreams],
    common: Sequence[TokenStreams],
) -> str:
    """Return the scores of similar pairs as JSON; called in a worker process."""
    return json.dumps([astuple(score) for score in find_similar_pairs(submissions, common)])


class _RarePassageIndex:
    """Index of those passages (runs of words or of code) that only few submissions have.

    Parameters
    ----------
    streams : sequence of sequence of str
        Tokens of each submission.
    common_streams : sequence of sequence of str
        Tokens that students may share without copying. Passages in them are not rare.
    length : int
        Number of tokens in a passage.
    min_passages : int
        Smallest number of passages that two similar submissions share.
    min_share : float
        Smallest share of the rare passages of the smaller submission that two similar submissions
        have in common.
    vocabulary : dict of str to int
        Number of each token that has occurred so far. New tokens are added to it.
    """

    def __init__(
        self,
        streams: Sequence[Sequence[str]],
        common_streams: Sequence[Sequence[str]],
        length: int,
        min_passages: int,
        min_share: float,
        vocabulary: dict[str, int],
    ):
        self._length, self._min_passages, self._min_share = length, min_passages, min_share
        self._count = len(streams)
        self._hashes = [
            _hash_passages(_number_tokens(tokens, vocabulary), length) for tokens in streams
        ]
        common = [np.array([], np.uint64)]
        for tokens in common_streams:
            common.append(_hash_passages(_number_tokens(tokens, vocabulary), length))
        self._index_rare_passages(np.unique(np.concatenate(common)))
        self._sequences: dict[int, list[int]] = {}

    def _index_rare_passages(self, common_hashes: np.ndarray) -> None:
        """Find the passages that few submissions have, and count those that each pair shares."""
        own_hashes = [
            np.unique(hashes[~_contains(common_hashes, hashes)]) for hashes in self._hashes
        ]
        hashes = np.concatenate([np.array([], np.uint64), *own_hashes])
        owners = np.repeat(np.arange(self._count), [len(part) for part in own_hashes])
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        starts = np.array([], int)  # indices at which runs of equal hashes begin
        if len(hashes):
            starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
        owner_counts = np.diff(np.r_[starts, len(hashes)])
        # Leave out passages that many submissions have: they may be equal by chance, and counting
        # all pairs of these submissions would take too long.
        max_owners = max(5, min(self._count // 50, 20))
        self._rare_hashes = hashes[starts[owner_counts <= max_owners]]
        pair_keys = [np.array([], int)]
        for n in range(2, max_owners + 1):
            # Consider the passages that exactly n submissions have. Row k of the array holds the n
            # submissions that have the k-th of these passages.
            passage_owners = owners[starts[owner_counts == n][:, None] + np.arange(n)]
            for i in range(n):
                for j in range(i + 1, n):
                    pair_keys.append(passage_owners[:, i] * self._count + passage_owners[:, j])
        self._pair_keys, self._shared_counts = np.unique(
            np.concatenate(pair_keys),
            return_counts=True,
        )

    def propose_pairs(self) -> dict[tuple[int, int], int]:
        """Return the pairs of submissions that share enough rare passages for a close comparison.

        Returns
        -------
        dict of (int, int) to int
            Number of shared passages, by the indices of the two submissions.
        """
        enough = self._shared_counts >= self._min_passages
        keys, counts = self._pair_keys[enough].tolist(), self._shared_counts[enough].tolist()
        return {divmod(key, self._count): count for key, count in zip(keys, counts, strict=True)}

    def compare_pair(self, i: int, j: int) -> tuple[float | None, bool]:
        """Return the share of rare passages that two submissions have in common, and if it is high.

        Returns
        -------
        (float or None, bool)
            Share of the passages of the smaller submission that both have in the same order, and
            True if the two are similar. The share is None if one of them has too few passages.
        """
        first, second = self._list_rare_passage_hashes(i), self._list_rare_passage_hashes(j)
        length = min(len(first), len(second))
        if length < self._min_passages:
            return None, False
        shared_count = LCSseq.similarity(first, second)
        share = shared_count / length
        return share, shared_count >= self._min_passages and share >= self._min_share

    def find_rare_tokens(self, index: int) -> np.ndarray:
        """Return a boolean array, (tokens,): True for each token that is in a rare passage."""
        hashes = self._hashes[index]
        mask = np.zeros(len(hashes) + self._length - 1, bool)
        rare = np.flatnonzero(_contains(self._rare_hashes, hashes))
        for offset in range(self._length):
            mask[rare + offset] = True
        return mask

    def _list_rare_passage_hashes(self, index: int) -> list[int]:
        """Return hashes of a submission's rare passages, in the order in which they stand there."""
        if index not in self._sequences:
            hashes = self._hashes[index]
            self._sequences[index] = hashes[_contains(self._rare_hashes, hashes)].tolist()
        return self._sequences[index]


def _number_tokens(tokens: Sequence[str], vocabulary: dict[str, int]) -> np.ndarray:
    """Return each token's number in the vocabulary as a uint64 array; add new tokens to it."""
    numbers = [vocabulary.setdefault(token.lower(), len(vocabulary) + 1) for token in tokens]
    return np.array(numbers, np.uint64)


def _hash_passages(numbers: np.ndarray, length: int) -> np.ndarray:
    """Return a hash of every run of `length` tokens, shape (tokens - length + 1,), uint64."""
    count = max(len(numbers) - length + 1, 0)
    hashes = np.zeros(count, np.uint64)
    if count:
        for offset in range(length):
            hashes = hashes * _HASH_BASE + numbers[offset : offset + count]
    return hashes


def _contains(sorted_hashes: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Return a boolean array, (hashes,): True for each hash that is among `sorted_hashes`."""
    if not len(sorted_hashes):
        return np.zeros(len(hashes), bool)
    indices = np.searchsorted(sorted_hashes, hashes).clip(max=len(sorted_hashes) - 1)
    return sorted_hashes[indices] == hashes


def _longest_shared_passage(
    first_words: Sequence[str],
    first_mask: Iterable[bool],
    second_words: Sequence[str],
    second_mask: Iterable[bool],
) -> str:
    """Return the longest run of words that two submissions share, cut for a quotation.

    Parameters
    ----------
    first_mask, second_mask : iterable of bool
        True for each word that lies in a rare passage. Only these words are compared.
    """
    first = _replace_common_words(first_words, first_mask, "\0")
    second = _replace_common_words(second_words, second_mask, "\1")
    blocks = LCSseq.opcodes(first, second).as_matching_blocks()
    longest = max(blocks, key=lambda block: block.size)
    words = first_words[longest.a : longest.a + longest.size]
    if len(words) < WORD_PASSAGE_TOKENS:
        return ""
    passage = " ".join(words[:MAX_PASSAGE_WORDS])
    return f"{passage} …" if len(words) > MAX_PASSAGE_WORDS else passage


def _replace_common_words(
    words: Sequence[str], mask: Iterable[bool], placeholder: str
) -> list[str]:
    """Return a submission's words in lower case; replace words not to be compared by unique texts.

    Words outside the mask and breaks between notebook cells are replaced by texts that equal no
    word of the other submission.

    Parameters
    ----------
    placeholder : str
        Character for these texts. The two submissions need different marks.
    """
    comparable = []
    for i, (word, is_own) in enumerate(zip(words, mask, strict=False)):
        if is_own and word != _CELL_BREAK:
            comparable.append(word.lower())
        else:
            comparable.append(f"{placeholder}{i}")
    return comparable
