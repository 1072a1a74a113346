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


# Results after three steps of training: each part of the experiment has its share in them.
MEASURED = {
    ("three back", "no positions"): [[0.0453, 0.0153], [0.0495, 0.0144]],
    ("three back, in a window of 32", "no positions"): [[0.0453, 0.0339], [0.0495, 0.0323]],
    ("three back", "sinusoids"): [[0.0665, 0.0145], [0.0648, 0.0157]],
    ("three back", "RoPE"): [[0.0493, 0.017], [0.0425, 0.0134]],
    ("three back, in a window of 32", "RoPE"): [[0.0493, 0.0377], [0.0425, 0.0304]],
    ("three back", "ALiBi, slope 1/2"): [[0.1547, 0.1526], [0.1595, 0.1475]],
    ("three back", "ALiBi, slope 1/16"): [[0.0714, 0.0565], [0.077, 0.0537]],
    ("latest same", "no positions"): [[0.0613, 0.0201], [0.0736, 0.0242]],
    ("latest same", "sinusoids"): [[0.0627, 0.0211], [0.0787, 0.0241]],
    ("latest same", "RoPE"): [[0.0667, 0.0235], [0.0853, 0.0288]],
    ("latest same", "ALiBi, slope 1/2"): [[0.0899, 0.0686], [0.1131, 0.0886]],
    ("latest same", "ALiBi, slope 1/16"): [[0.0713, 0.0441], [0.087, 0.0534]],
}


@pytest.fixture
def short_experiment(monkeypatch):
    monkeypatch.setattr(lengths, "LENGTHS", (32, 96))
    monkeypatch.setattr(lengths, "watched", list)
    return {"seeds": (0, 1), "steps": 3}


def test_a_short_experiment_measures_each_task_and_method_as_before(lab, short_experiment):
    results = lengths.beyond(
        lab.sinusoidal_encoding, lab.rotate, lab.alibi_bias, **short_experiment
    )
    tasks = (*lengths.TASKS, lengths.WINDOWED)
    assert set(results) == {(task, method) for task in tasks for method in lengths.METHODS}
    for name, shares in MEASURED.items():
        assert results[name] == pytest.approx(np.array(shares), abs=2e-4), name


def test_the_weights_of_short_trained_heads_lie_where_they_lay(lab, short_experiment):
    found = lengths.found_by_distance(lab.alibi_bias, **short_experiment)
    assert found == pytest.approx(
        {"up to 31": 0.09024, "32 to 63": 0.0, "64 or more": 0.0}, abs=2e-4
    )
    assert found["32 to 63"] > found["64 or more"] > 0
    names = ("the right word", "wrong words nearer than 32", "words 32 or more back")
    runs = lengths.lost_by_rotary(lab.rotate, **short_experiment)
    for run, shares in zip(runs, ((0.017, 0.4283, 0.5548), (0.0134, 0.4326, 0.554)), strict=True):
        assert run == pytest.approx(dict(zip(names, shares, strict=True)), abs=2e-4)


def test_short_trained_rotary_heads_are_measured_in_three_ways(lab, short_experiment):
    results = lengths.stretched(lab.rotate, **short_experiment, length=64)
    expected = {
        ("three back", "as trained"): [0.0233, 0.022],
        ("three back", "interpolated"): [0.0234, 0.0221],
        ("three back", "larger base"): [0.0236, 0.0219],
        ("latest same", "as trained"): [0.0323, 0.0412],
        ("latest same", "interpolated"): [0.0329, 0.0425],
        ("latest same", "larger base"): [0.0326, 0.042],
    }
    assert list(results) == list(expected)
    for name, shares in expected.items():
        assert results[name] == pytest.approx(np.array(shares), abs=6e-5), name


def test_the_right_word_stands_three_back_or_is_the_latest_same():
    sentences = np.array([[1, 2, 1, 1, 2], [3, 4, 5, 6, 7]])
    found = [part.tolist() for part in lengths._questions("three back", sentences)]
    assert found == [[0, 0, 1, 1], [3, 4, 3, 4], [0, 1, 0, 1]]
    found = [part.tolist() for part in lengths._questions("latest same", sentences)]
    assert found == [[0, 0, 0], [2, 3, 4], [0, 2, 1]]
