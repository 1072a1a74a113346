"""The lab `positions`: the facts it teaches, and that its experiment shows what its text says."""

from pathlib import Path

import numpy as np
import pytest

from attention_labs import lengths
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab():
    return read_lab(read_course(ROOT), "positions").reference


@pytest.fixture(scope="module")
def scores():
    """Return the spread of a rotated score among positions of one distance."""

    def differ(rotate):
        rng = np.random.default_rng(0)
        query, key = rng.normal(size=(2, 1, 8))
        pairs = [
            (rotate(query, np.array([far])) @ rotate(key, np.array([far - 3])).T).item()
            for far in (3, 50, 517)
        ]
        return np.ptp(pairs)

    return differ


def test_attention_without_positions_is_blind(lab):
    rng = np.random.default_rng(0)
    queries, keys, values = (
        rng.normal(size=(4, 6)),
        rng.normal(size=(5, 6)),
        rng.normal(size=(5, 3)),
    )
    result = lab.attention(queries, keys, values)
    order = rng.permutation(5)
    assert np.allclose(lab.attention(queries, keys[order], values[order]), result, atol=1e-14)
    assert not np.allclose(lab.attention(queries, keys[order], values), result, atol=1e-3)
    order = np.array([2, 0, 3, 1])
    assert np.allclose(lab.attention(queries[order], keys, values), result[order], atol=1e-14)


def test_a_shift_is_one_matrix_and_its_transpose_rotates(lab):
    positions = lab.sinusoidal_encoding(60, 16)
    for shift in (-5, 0, 9):
        shifted_positions = positions[10:40] @ lab.shift_matrix(16, shift).T
        assert np.allclose(shifted_positions, positions[10 + shift : 40 + shift], atol=1e-12)
    x = np.random.default_rng(1).normal(size=(1, 16))
    assert np.allclose(x @ lab.shift_matrix(16, 7), lab.rotate(x, np.array([7])), atol=1e-12)


def test_rotated_scores_depend_on_the_distance_only(lab, scores):
    assert scores(lab.rotate) < 1e-12

    def halves(x, positions):
        order = np.arange(x.shape[-1]).reshape(2, -1).T.reshape(-1)
        return lab.rotate(x[..., order], positions)[..., np.argsort(order)]

    assert scores(halves) < 1e-12  # as the text says: the test does not tell the pairings apart
    x = np.arange(8.0)[np.newaxis]
    assert not np.allclose(halves(x, np.array([3])), lab.rotate(x, np.array([3])))


def test_mixed_pairings_are_no_rotation(lab, scores):
    def mixed(x, positions):
        angles = np.repeat(
            positions[:, np.newaxis] * 10000.0 ** (-np.arange(0, 8, 2) / 8),
            2,
            axis=-1,
        )
        partner = np.concatenate([-x[..., 4:], x[..., :4]], axis=-1)
        return x * np.cos(angles) + partner * np.sin(angles)

    assert scores(mixed) > 0.1


def test_slopes_for_eight_heads(lab):
    assert (-lab.alibi_bias(8, 2)[:, 0, 1] == [1 / 2**h for h in range(1, 9)]).all()


@pytest.fixture(scope="module")
def measurements(lab):
    return lengths.beyond(lab.sinusoidal_encoding, lab.rotate, lab.alibi_bias, seeds=[0, 1])


@pytest.mark.long
def test_what_is_said_of_three_back(measurements):
    result = {method: measurements["three back", method] for method in lengths.METHODS}
    assert (result["no positions"] < 0.1).all()
    assert (result["sinusoids"][:, 0] > 0.8).all() and (result["sinusoids"][:, 1:] < 0.35).all()
    assert (result["RoPE"][:, 0] > 0.9).all() and (result["RoPE"][:, -1] < 0.7).all()
    assert (result["ALiBi, slope 1/2"] < 0.2).all() and (result["ALiBi, slope 1/16"] < 0.2).all()


@pytest.mark.long
def test_a_window_cures_rotary_and_not_sinusoids(measurements):
    assert (measurements[lengths.WINDOWED, "RoPE"] > 0.9).all()
    assert (measurements[lengths.WINDOWED, "sinusoids"][:, 1:] < 0.5).all()


@pytest.mark.long
def test_what_is_said_of_latest_same(measurements):
    last = {
        method: measurements["latest same", method].mean(axis=0)[-1] for method in lengths.METHODS
    }
    assert last["ALiBi, slope 1/2"] > 0.8
    assert last["ALiBi, slope 1/2"] > last["RoPE"] > last["sinusoids"] > last["no positions"]
    assert (measurements["latest same", "RoPE"][:, 0] > 0.9).all()


def weights_at(lab, task, method, length, seed):
    """The weights of one trained head in sentences of one length, and what it was asked: sentence, query, key."""
    functions = lab.sinusoidal_encoding, lab.rotate, lab.alibi_bias
    short, long = (lengths._PositionTables(n, *functions) for n in (lengths.TRAINED, length))
    rng = np.random.default_rng(seed)
    words = rng.normal(size=(lengths._WORDS, lengths._SIZE))
    head = lengths._train(rng, words, task, method, short, 400)
    sentences = rng.integers(lengths._WORDS, size=(8, length))
    batch, query, key = lengths._questions(task, sentences)
    late = query >= length // 2
    weights = lengths._attend(words[sentences], method, long, head, long.earlier)[-1]
    return weights, (batch[late], query[late], key[late])


@pytest.mark.long
@pytest.mark.parametrize(("seed", "far_away"), [(0, 0.71), (1, 0.39), (2, 0.94)])
def test_what_rotary_loses_goes_to_words_far_away(lab, seed, far_away):
    weights, query_indices = weights_at(lab, "three back", "RoPE", 256, seed)
    far = (weights * np.tri(256, k=-lengths.TRAINED))[:, 128:].sum(axis=-1).mean()
    right = weights[query_indices].mean()
    assert far == pytest.approx(far_away, abs=0.03)
    assert 1 - far - right < 0.02


@pytest.mark.long
def test_the_steep_slope_misses_matches_that_are_far_away(lab):
    weights, (batch, query, key) = weights_at(lab, "latest same", "ALiBi, slope 1/2", 256, 0)
    right_weights, distance = weights[batch, query, key], query - key
    assert right_weights[distance < 32].mean() == pytest.approx(0.93, abs=0.03)
    assert right_weights[(distance >= 32) & (distance < 64)].mean() == pytest.approx(0.42, abs=0.1)
    assert right_weights[distance >= 64].mean() < 0.05


@pytest.mark.long
def test_positions_make_the_difference(lab):
    """Without what the method tells, the same training gets nowhere: the figures come from positions."""
    blind = lengths.beyond(
        lambda length, size: np.zeros((length, size)),
        lambda x, positions: x,
        lambda heads, length: np.zeros((heads, length, length)),
        seeds=[0],
        steps=60,
    )
    assert all(blind["three back", method].max() < 0.1 for method in lengths.METHODS)


def test_the_table_has_the_average_and_the_range_of_the_runs():
    runs = np.array([[0.5, 0.25, 0.0, 1.0], [1.0, 0.75, 0.5, 1.0]])
    results = {(task, method): runs for task in lengths.TASKS for method in lengths.METHODS}
    lines = lengths.table(results).split("\n")
    assert lines[0].split("words")[0].split() == ["three", "back", "32"]
    assert "0.75 (0.50–1.00)" in lines[1] and lines[1].endswith("1.00 (1.00–1.00)")
    assert len(lines) == len(lengths.TASKS) * (1 + len(lengths.METHODS))
    assert not [line for line in lines if line != line.rstrip()]


def test_a_window_has_32_words_with_ones_own_and_a_slope_its_head():
    def bias(heads, length):
        return np.broadcast_to(
            -(0.5 ** np.arange(1, heads + 1))[:, None, None], (8, length, length)
        )

    tables = lengths._PositionTables(
        64, lambda length, size: np.zeros((length, size)), lambda x, positions: x, bias
    )
    assert tables.earlier.sum(axis=1).tolist() == list(range(64)), "all words before one's own"
    assert tables.window.sum(axis=1).tolist() == [*range(31), *[31] * 33]
    assert {name: -table[0, 0] for name, table in tables.bias.items()} == {
        "ALiBi, slope 1/2": 1 / 2,
        "ALiBi, slope 1/16": 1 / 16,
    }


def test_a_hand_that_passes_the_half_turn_has_turned_clockwise():
    from attention_labs.pictures import positions

    angles = np.arange(6)[:, None] * np.array([1.0, 0.5])
    encoding = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(6, 4)
    _, alt = positions.clocks.__wrapped__(encoding, pairs=[0, 1], start=2, shift=2)
    assert "columns 0 and 1 by 2.000; columns 2 and 3 by 1.000 (in radians)" in alt
