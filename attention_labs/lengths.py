"""An experiment for the lab `positions`: what becomes of positions beyond the lengths trained on.

One attention head is trained on short sentences of random words, then asked about longer ones. A head sees
the words before its own and should put its weight on one of them:

- *three back*: the word three places before, whatever it is;
- *latest same*: the nearest earlier place that holds the same word.

What differs from run to run is how the head is told of positions. The heads trained on *three back* are
measured a second time with a window: each place then sees only the last 32, so that no distance is new.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from attention_labs.bar import watched

TRAINED = 32  # words in a training sentence
LENGTHS = (32, 64, 128, 256)
METHODS = ("no positions", "sinusoids", "rotary", "ALiBi, slope 1/2", "ALiBi, slope 1/16")
TASKS = ("three back", "latest same")
WINDOWED = "three back, in a window of 32"

_WORDS, _SIZE, _BATCH = 16, 32, 16


def beyond(
    sinusoidal_encoding: Callable,
    rotate: Callable,
    alibi_bias: Callable,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    steps: int = 400,
) -> dict[tuple[str, str], np.ndarray]:
    """Train every method on every task, and measure it at each length.

    Parameters
    ----------
    sinusoidal_encoding, rotate, alibi_bias : callables
        As in the lab; each is asked once a length, so that a slow one is fast enough.
    seeds : sequence of int
        Each draws its own words, weights and sentences.
    steps : int
        Steps of training.

    Returns
    -------
    dict of (task, method) to numpy.ndarray, shape (seeds, lengths)
        The average weight on the right word, from 0 to 1, asked of the second half of each sentence.
        Tasks are those of `TASKS`, and `WINDOWED`.
    """
    aids = {length: _Aids(length, sinusoidal_encoding, rotate, alibi_bias) for length in LENGTHS}
    results = {}
    for task, method in watched([(task, method) for task in TASKS for method in METHODS]):
        results[task, method], windowed = np.swapaxes(
            [_one_run(task, method, aids, seed, steps) for seed in seeds], 0, 1
        )
        if task == "three back":
            results[WINDOWED, method] = windowed
    return results


def table(results: dict[tuple[str, str], np.ndarray]) -> str:
    """What `beyond` measured, as text: the average over the seeds, and the range in brackets."""
    lines = []
    for task in TASKS:
        lines.append(f"{task:<24}" + "".join(f"{f'{length} words':<18}" for length in LENGTHS))
        for method in METHODS:
            runs = results[task, method]
            cells = (f"{run.mean():.2f} ({run.min():.2f}–{run.max():.2f})" for run in runs.T)
            lines.append(f"    {method:<20}" + "".join(f"{cell:<18}" for cell in cells))
    return "\n".join(line.rstrip() for line in lines)


def found_by_distance(
    alibi_bias: Callable, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400
) -> dict[str, float]:
    """Heads with ALiBi's slope 1/2 that look for the latest same word: their weight on it, by how far back it is.

    Returns
    -------
    dict of str to float
        In sentences of 256 words, for matches up to 31, 32 to 63, and 64 or more places back.
    """
    method, apart = "ALiBi, slope 1/2", {"up to 31": (1, 31), "32 to 63": (32, 63), "64 or more": (64, 255)}
    found: dict[str, list] = {name: [] for name in apart}
    for back, weights, right in _at_256(
        "latest same", method, _no_positions, _no_positions, alibi_bias, seeds, steps
    ):
        for name, (least, most) in apart.items():
            distance = (back * right).sum(axis=-1)
            found[name].append((weights * right).sum(axis=-1)[(least <= distance) & (distance <= most)])
    return {name: float(np.concatenate(parts).mean()) for name, parts in found.items()}


def lost_by_rotary(
    rotate: Callable, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400
) -> list[dict[str, float]]:
    """Rotary heads that look three words back: where their weight is in sentences of 256 words, one dict a seed."""
    runs = []
    for back, weights, right in _at_256("three back", "rotary", _no_positions, rotate, None, seeds, steps):
        far = back >= TRAINED
        runs.append(
            {
                "the right word": float((weights * right).sum(axis=-1).mean()),
                "wrong words nearer than 32": float((weights * ~right * ~far).sum(axis=-1).mean()),
                "words 32 or more back": float((weights * far).sum(axis=-1).mean()),
            }
        )
    return runs


def _at_256(task, method, sinusoidal_encoding, rotate, alibi_bias, seeds, steps):
    """For each seed the heads of `beyond`, asked what `beyond` asks: places back, weights, and which word is right."""
    alibi_bias = alibi_bias or (lambda heads, length: np.zeros((heads, length, length)))
    aids = {length: _Aids(length, sinusoidal_encoding, rotate, alibi_bias) for length in LENGTHS}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        words = rng.normal(size=(_WORDS, _SIZE))
        head = _train(rng, words, task, method, aids[TRAINED], steps)
        for length in LENGTHS[:-1]:
            # So that the sentences are those of `beyond`.
            _score(rng, words, task, method, aids[length], head)
        length = LENGTHS[-1]
        sentences = rng.integers(_WORDS, size=(8, length))
        batch, query, key = _questions(task, sentences)
        late = query >= length // 2
        weights = _attend(words[sentences], method, aids[length], head, aids[length].earlier)[-1]
        yield (
            query[late, np.newaxis] - np.arange(length),
            weights[batch[late], query[late]],
            key[late, np.newaxis] == np.arange(length),
        )


def _no_positions(*asked):
    """In place of what tells positions: zeros, or the words as they are."""
    first = asked[0]
    return np.zeros(asked) if isinstance(first, int) else first


def stretched(
    rotate: Callable, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400, length: int = 256
) -> dict[tuple[str, str], np.ndarray]:
    """Train rotary heads, and ask them about sentences several times as long, rotated in three ways.

    As they were trained; with positions squeezed into the trained length; with a base so much larger that the
    slowest hand goes no further than it did in training.

    Returns
    -------
    dict of (task, way) to numpy.ndarray, shape (seeds,)
        The average weight on the right word, asked of the second half of each sentence.
    """
    longer, positions = length / TRAINED, np.arange(length)
    ways = {
        "as trained": _turns(rotate, positions),
        "squeezed": _turns(rotate, positions / longer),
        "larger base": _turns(rotate, positions, base=10000.0 * longer ** (_SIZE / (_SIZE - 2))),
    }
    earlier, found = np.tri(length, k=-1, dtype=bool), {}
    trained = _Turned(_turns(rotate, np.arange(TRAINED)), np.tri(TRAINED, k=-1, dtype=bool))
    for task, seed in watched([(task, seed) for task in TASKS for seed in seeds]):
        rng = np.random.default_rng(seed)
        words = rng.normal(size=(_WORDS, _SIZE))
        head = _train(rng, words, task, "rotary", trained, steps)
        for way, turns in ways.items():
            asked = np.random.default_rng(seed + 1000)
            score, _ = _score(asked, words, task, "rotary", _Turned(turns, earlier, earlier), head)
            found.setdefault((task, way), []).append(score)
    return {name: np.array(scores) for name, scores in found.items()}


class _Turned(NamedTuple):
    """What a rotary head needs to know of positions."""

    turns: np.ndarray
    earlier: np.ndarray
    window: np.ndarray | None = None
    bias: tuple = ()


def _turns(rotate, positions, **base):
    """The rotations' matrices, one a position: rotating is linear, so the rotated rows of the identity are them."""
    identity = np.repeat(np.eye(_SIZE)[:, np.newaxis], len(positions), axis=1)
    return np.asarray(rotate(identity, positions, **base), dtype=float).swapaxes(0, 1)


class _Aids:
    """What the lab's functions say for one length: computed once, then only multiplied."""

    def __init__(self, length, sinusoidal_encoding, rotate, alibi_bias):
        positions = np.arange(length)
        self.encoding = np.asarray(sinusoidal_encoding(length, _SIZE), dtype=float)
        self.turns = _turns(rotate, positions)
        bias = np.asarray(alibi_bias(8, length), dtype=float)
        self.bias = {"ALiBi, slope 1/2": bias[0], "ALiBi, slope 1/16": bias[3]}
        self.earlier = np.tri(length, k=-1, dtype=bool)
        self.window = self.earlier & ~np.tri(length, k=-TRAINED, dtype=bool)


def _one_run(task, method, aids, seed, steps):
    rng = np.random.default_rng(seed)
    words = rng.normal(size=(_WORDS, _SIZE))
    head = _train(rng, words, task, method, aids[TRAINED], steps)
    scores = [_score(rng, words, task, method, aids[length], head) for length in LENGTHS]
    return np.transpose(scores)  # all earlier words, window; each by length


def _train(rng, words, task, method, aid, steps):
    """The matrices for queries and keys, by Adam on −log(weight on the right word)."""
    head = [rng.normal(size=(_SIZE, _SIZE)) / _SIZE**0.5 for _ in range(2)]
    means, squares = np.zeros((2, 2, _SIZE, _SIZE))
    for step in range(1, steps + 1):
        sentences = rng.integers(_WORDS, size=(_BATCH, TRAINED))
        batch, query, key = _questions(task, sentences)
        x, queries, keys, weights = _attend(words[sentences], method, aid, head, aid.earlier)
        slope = np.zeros_like(weights)
        slope[batch, query] = weights[batch, query]
        slope[batch, query, key] -= 1
        slope /= len(batch) * _SIZE**0.5
        backward = slope @ keys, slope.swapaxes(1, 2) @ queries
        if method == "rotary":
            backward = [_turn(d, aid.turns.swapaxes(1, 2)) for d in backward]
        for i, d in enumerate(backward):
            gradient = x.reshape(-1, _SIZE).T @ d.reshape(-1, _SIZE)
            means[i] = 0.9 * means[i] + 0.1 * gradient
            squares[i] = 0.99 * squares[i] + 0.01 * gradient**2
            size = np.sqrt(squares[i] / (1 - 0.99**step)) + 1e-8
            rate = 1e-4 + 1e-2 * (1 - step / steps)
            head[i] = head[i] - rate * means[i] / (1 - 0.9**step) / size
    return head


def _score(rng, words, task, method, aid, head):
    length = len(aid.earlier)
    sentences = rng.integers(_WORDS, size=(8, length))
    batch, query, key = _questions(task, sentences)
    asked = query >= length // 2
    return [
        _attend(words[sentences], method, aid, head, visible)[-1][batch, query, key][asked].mean()
        for visible in (aid.earlier, aid.window)
    ]


def _questions(task, sentences):
    """Sentence, place that asks, and place that it should attend to, for all that have one."""
    batch, length = sentences.shape
    place = np.arange(length)
    if task == "three back":
        right = np.broadcast_to(place - 3, (batch, length))
    else:
        same = sentences[:, :, np.newaxis] == sentences[:, np.newaxis, :]
        right = np.where(same & np.tri(length, k=-1, dtype=bool), place, -1).max(axis=-1)
    asking = np.nonzero(right >= 0)
    return *asking, right[asking]


def _attend(x, method, aid, head, visible):
    if method == "sinusoids":
        x = x + aid.encoding
    queries, keys = x @ head[0], x @ head[1]
    if method == "rotary":
        queries, keys = _turn(queries, aid.turns), _turn(keys, aid.turns)
    scores = queries @ keys.swapaxes(1, 2) / _SIZE**0.5
    if method in aid.bias:
        scores = scores + aid.bias[method]
    scores = np.where(visible, scores, -np.inf)
    scores[:, 0, 0] = 0  # the first word has nobody before it; it is never asked
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return x, queries, keys, exponentials / exponentials.sum(axis=-1, keepdims=True)


def _turn(x, turns):
    """Multiply each place's vectors by that place's matrix: (batch, L, d) and (L, d, d)."""
    return (x.swapaxes(0, 1) @ turns).swapaxes(0, 1)
