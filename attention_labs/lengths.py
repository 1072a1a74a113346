"""Experiment for the lab `positions`: attention heads on longer sentences than in training.

One attention head is trained on short sentences of random words, then measured on longer ones. A
head sees the words before its own and should put its weight on one of them:

- *three back*: the word three positions before, whatever it is;
- *latest same*: the nearest earlier position with the same word.

The runs differ in the position encoding of the head. The heads trained on *three back* are measured
a second time with a window: each position then sees only the last 32, so that no distance is new.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from attention_labs.bar import watched

TRAINED = 32  # words in a training sentence
LENGTHS = (32, 64, 128, 256)
METHODS = ("no positions", "sinusoids", "RoPE", "ALiBi, slope 1/2", "ALiBi, slope 1/16")
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
    """Train a head with each method of positions on each task, and measure it at each length.

    Parameters
    ----------
    sinusoidal_encoding, rotate, alibi_bias : callables
        As in the lab; each is called once per length, so that a slow one is fast enough.
    seeds : sequence of int
        Seeds of the words, weights and sentences of the runs.
    steps : int
        Number of training steps.

    Returns
    -------
    dict of (task, method) to numpy.ndarray, shape (seeds, lengths)
        The average weight on the right word, from 0 to 1, in the second half of each sentence.
        Tasks are those of `TASKS`, and `WINDOWED`.
    """
    tables = _make_tables(sinusoidal_encoding, rotate, alibi_bias)
    results = {}
    for task, method in watched([*product(TASKS, METHODS)]):
        results[task, method], window_scores = np.swapaxes(
            [_one_run(task, method, tables, seed, steps) for seed in seeds],
            0,
            1,
        )
        if task == "three back":
            results[WINDOWED, method] = window_scores
    return results


def table(results: dict[tuple[str, str], np.ndarray]) -> str:
    """Format the results of `beyond` as a table: average over the seeds, and range in brackets."""
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
    """Measure ALiBi heads: the weight on the right word, by its distance in 256 words.

    Returns
    -------
    dict of str to float
        In sentences of 256 words, for distances up to 31, 32 to 63, and 64 or more.
    """
    method, ranges = (
        "ALiBi, slope 1/2",
        {"up to 31": (1, 31), "32 to 63": (32, 63), "64 or more": (64, 255)},
    )
    weights_by_distance: dict[str, list] = {name: [] for name in ranges}
    for distances, weights, right in _yield_weights_of_trained_heads(
        "latest same",
        method,
        _no_positions,
        _no_positions,
        alibi_bias,
        seeds,
        steps,
    ):
        for name, (low, high) in ranges.items():
            distance = (distances * right).sum(axis=-1)
            weights_by_distance[name].append(
                (weights * right).sum(axis=-1)[(low <= distance) & (distance <= high)],
            )
    means = {}
    for name, parts in weights_by_distance.items():
        means[name] = float(np.concatenate(parts).mean())
    return means


def lost_by_rotary(
    rotate: Callable, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400
) -> list[dict[str, float]]:
    """Measure rotary heads on the task *three back*: where in 256 words their weight lies."""
    runs = []
    for distances, weights, right in _yield_weights_of_trained_heads(
        "three back",
        "RoPE",
        _no_positions,
        rotate,
        None,
        seeds,
        steps,
    ):
        far = distances >= TRAINED
        runs.append(
            {
                "the right word": float((weights * right).sum(axis=-1).mean()),
                "wrong words nearer than 32": float((weights * ~right * ~far).sum(axis=-1).mean()),
                "words 32 or more back": float((weights * far).sum(axis=-1).mean()),
            },
        )
    return runs


def _yield_weights_of_trained_heads(
    task, method, sinusoidal_encoding, rotate, alibi_bias, seeds, steps
):
    """Train a head for each seed, and yield its weights on 256 words, for the later half of the queries.

    Yield three arrays: the distance from each query to each word, the weight on the word, and
    whether the word is the right one.
    """
    alibi_bias = alibi_bias or (lambda heads, length: np.zeros((heads, length, length)))
    tables = _make_tables(sinusoidal_encoding, rotate, alibi_bias)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        words = rng.normal(size=(_WORDS, _SIZE))
        head = _train(rng, words, task, method, tables[TRAINED], steps)
        for length in LENGTHS[:-1]:
            # Draw the sentences of the shorter lengths first, so that the random numbers are those
            # of `beyond`.
            _score(rng, words, task, method, tables[length], head)
        length = LENGTHS[-1]
        sentences = rng.integers(_WORDS, size=(8, length))
        batch, query, key = _questions(task, sentences)
        late = query >= length // 2
        weights = _attend(words[sentences], method, tables[length], head, tables[length].earlier)[
            -1
        ]
        yield (
            query[late, np.newaxis] - np.arange(length),
            weights[batch[late], query[late]],
            key[late, np.newaxis] == np.arange(length),
        )


def _no_positions(*arguments):
    """Stand in for a position method: return a zero encoding, or vectors that are not rotated."""
    first = arguments[0]
    return np.zeros(arguments) if isinstance(first, int) else first


def stretched(
    rotate: Callable, *, seeds: Sequence[int] = (0, 1, 2), steps: int = 400, length: int = 256
) -> dict[tuple[str, str], np.ndarray]:
    """Train rotary heads; measure them on longer sentences with three ways to rotate.

    The rotations are those of training; with positions scaled into the trained length; and with a
    base so much larger that the slowest pair turns no further than in training.

    Returns
    -------
    dict of (task, way) to numpy.ndarray, shape (seeds,)
        The average weight on the right word in the second half of each sentence.
    """
    longer, positions = length / TRAINED, np.arange(length)
    ways = {
        "as trained": _turns(rotate, positions),
        "interpolated": _turns(rotate, positions / longer),
        "larger base": _turns(rotate, positions, base=10000.0 * longer ** (_SIZE / (_SIZE - 2))),
    }
    earlier, scores_by_way = np.tri(length, k=-1, dtype=bool), {}
    training_positions = _RotaryPositions(
        _turns(rotate, np.arange(TRAINED)),
        np.tri(TRAINED, k=-1, dtype=bool),
    )
    for task, seed in watched([*product(TASKS, seeds)]):
        rng = np.random.default_rng(seed)
        words = rng.normal(size=(_WORDS, _SIZE))
        head = _train(rng, words, task, "RoPE", training_positions, steps)
        for way, turns in ways.items():
            sentence_rng = np.random.default_rng(seed + 1000)
            score, _ = _score(
                sentence_rng,
                words,
                task,
                "RoPE",
                _RotaryPositions(turns, earlier, earlier),
                head,
            )
            scores_by_way.setdefault((task, way), []).append(score)
    return {name: np.array(scores) for name, scores in scores_by_way.items()}


class _RotaryPositions(NamedTuple):
    """Rotation matrix of each position, and masks, for a rotary head."""

    turns: np.ndarray
    earlier: np.ndarray
    window: np.ndarray | None = None
    bias: tuple = ()


def _turns(rotate, positions, **base):
    """Return the rotation matrix of each position, found by rotating the unit vectors."""
    identity = np.repeat(np.eye(_SIZE)[:, np.newaxis], len(positions), axis=1)
    return np.asarray(rotate(identity, positions, **base), dtype=float).swapaxes(0, 1)


class _PositionTables:
    """Position encodings, rotations, biases and masks for one length of sentences."""

    def __init__(self, length, sinusoidal_encoding, rotate, alibi_bias):
        positions = np.arange(length)
        self.encoding = np.asarray(sinusoidal_encoding(length, _SIZE), dtype=float)
        self.turns = _turns(rotate, positions)
        bias = np.asarray(alibi_bias(8, length), dtype=float)
        self.bias = {"ALiBi, slope 1/2": bias[0], "ALiBi, slope 1/16": bias[3]}
        self.earlier = np.tri(length, k=-1, dtype=bool)
        self.window = self.earlier & ~np.tri(length, k=-TRAINED, dtype=bool)


def _make_tables(sinusoidal_encoding, rotate, alibi_bias):
    """Compute the position encodings, rotations, biases and masks for each length."""
    tables = {}
    for length in LENGTHS:
        tables[length] = _PositionTables(length, sinusoidal_encoding, rotate, alibi_bias)
    return tables


def _one_run(task, method, tables, seed, steps):
    rng = np.random.default_rng(seed)
    words = rng.normal(size=(_WORDS, _SIZE))
    head = _train(rng, words, task, method, tables[TRAINED], steps)
    scores = [_score(rng, words, task, method, tables[length], head) for length in LENGTHS]
    return np.transpose(scores)  # (all earlier words, window) by length


def _train(rng, words, task, method, aid, steps):
    """Train a head's two matrices with Adam; the loss is −log(weight on the right word)."""
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
        if method == "RoPE":
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
    late = query >= length // 2
    return [
        _attend(words[sentences], method, aid, head, visible)[-1][batch, query, key][late].mean()
        for visible in (aid.earlier, aid.window)
    ]


def _questions(task, sentences):
    """Return sentence, query position and right key position for each query with a right key."""
    batch, length = sentences.shape
    place = np.arange(length)
    if task == "three back":
        right = np.broadcast_to(place - 3, (batch, length))
    else:
        is_same_word = sentences[:, :, np.newaxis] == sentences[:, np.newaxis, :]
        right = np.where(is_same_word & np.tri(length, k=-1, dtype=bool), place, -1).max(axis=-1)
    asking = np.nonzero(right >= 0)
    return *asking, right[asking]


def _attend(x, method, aid, head, visible):
    if method == "sinusoids":
        x = x + aid.encoding
    queries, keys = x @ head[0], x @ head[1]
    if method == "RoPE":
        queries, keys = _turn(queries, aid.turns), _turn(keys, aid.turns)
    scores = queries @ keys.swapaxes(1, 2) / _SIZE**0.5
    if method in aid.bias:
        scores = scores + aid.bias[method]
    scores = np.where(visible, scores, -np.inf)
    scores[:, 0, 0] = 0  # the first word has none before it; it is never measured
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return x, queries, keys, exponentials / exponentials.sum(axis=-1, keepdims=True)


def _turn(x, turns):
    """Rotate the vectors at each position by its matrix: (batch, L, d) and (L, d, d)."""
    return (x.swapaxes(0, 1) @ turns).swapaxes(0, 1)
