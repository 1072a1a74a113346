"""The lab `cheaper-attention`: the figures that must come out of it, against a plain and slow reference."""

import ast
import math
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from attention_labs.pictures import cheaper_attention as pictures
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab():
    """The solution, and what the cells that only show something define besides."""
    names = SimpleNamespace(**vars(read_lab(read_course(ROOT), "cheaper-attention").reference))
    for cell in nbformat.read(
        ROOT / "solutions/cheaper-attention/cheaper-attention.ipynb", 4
    ).cells:
        if "illustration" in cell.metadata.get("tags", ()):
            for node in ast.parse(cell.source).body:
                ways = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ways"
                if ways or isinstance(node, ast.FunctionDef):
                    exec(compile(ast.Module([node], []), cell.id, "exec"), vars(names))
    return names


def feature(number):
    return number + 1 if number > 0 else math.exp(number)


def slow(queries, keys, values, causal=False):
    """Linear attention number by number, with no matrix product and no state."""
    contexts = []
    for i, query in enumerate(queries):
        weights = []
        for j, key in enumerate(keys):
            similarity = math.fsum(feature(a) * feature(b) for a, b in zip(query, key, strict=True))
            weights.append(0.0 if causal and j > i else similarity)
        total = math.fsum(weights)
        columns = zip(*values, strict=True)
        contexts.append(
            [
                math.fsum(w * v for w, v in zip(weights, column, strict=True)) / total
                for column in columns
            ]
        )
    return np.array(contexts)


def arrays(length, d_k, d_v, seed=0):
    rng = np.random.default_rng(seed)
    queries, keys = np.clip(1.5 * rng.normal(size=(2, length, d_k)), -5, 5)
    return queries, keys, rng.normal(size=(length, d_v))


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 2), (20, 16, 8), (40, 5, 12), (60, 12, 12)])
def test_the_three_forms_are_one(lab, shape):
    queries, keys, values = arrays(*shape)
    mask = np.tri(shape[0], dtype=bool)
    assert np.allclose(
        lab.linear_attention(queries, keys, values), slow(queries, keys, values), rtol=0, atol=1e-12
    )
    causal = slow(queries, keys, values, causal=True)
    assert np.allclose(lab.with_a_table(queries, keys, values, mask), causal, rtol=0, atol=1e-12)
    state, total = np.zeros((shape[1], shape[2])), np.zeros(shape[1])
    for query, key, value, expected in zip(queries, keys, values, causal, strict=True):
        context, state, total = lab.recurrent_step(query, key, value, state, total)
        assert np.allclose(context, expected, rtol=0, atol=1e-12)
    assert np.allclose(state, lab.feature_map(keys).T @ values, rtol=0, atol=1e-12)


def test_linear_attention_is_not_softmax_attention(lab):
    given = arrays(30, 8, 8)
    assert np.abs(lab.linear_attention(*given) - lab.attention(*given)).max() > 0.1


def test_an_epsilon_shows_where_features_are_small(lab):
    """The checks refuse 1e-6 in the denominator, as libraries have it, for this reason."""
    queries, keys, values = np.full((1, 2), -5.0), np.full((3, 2), -5.0), np.ones((3, 1))
    below = float(lab.feature_map(queries[0]) @ lab.feature_map(keys).sum(axis=0))
    assert below < 3e-4
    assert abs(below / (below + 1e-6) - lab.linear_attention(queries, keys, values)[0, 0]) > 1e-3


def held(function, *given):
    tracemalloc.start()
    function(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_with_the_length_and_not_its_square(lab):
    table, linear = [], []
    for length in (256, 1024):
        given = arrays(length, 16, 16)
        table.append(held(lab.with_a_table, *given))
        linear.append(held(lab.linear_attention, *given))
    assert table[1] / table[0] > 10 and linear[1] / linear[0] < 4.5


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_the_delta_rule_moves_what_a_key_holds_towards_the_value(lab, rate):
    rng = np.random.default_rng(1)
    key, value, state = lab.unit(rng.normal(size=9)), rng.normal(size=5), rng.normal(size=(9, 5))
    before = state.copy()
    context, new = lab.delta_step(key, key, value, rate, state)
    assert np.allclose(context, (1 - rate) * (key @ before) + rate * value, rtol=0, atol=1e-12)
    other = lab.unit(rng.normal(size=9))
    other = lab.unit(other - (other @ key) * key)
    assert np.allclose(other @ new, other @ before, rtol=0, atol=1e-12)
    assert (state == before).all()


def right(lab, way, keys, symbols, codes):
    found = way(keys, codes[symbols])
    return np.mean((found @ codes.T).argmax(axis=1) == symbols)


def shares(lab, pairs, draws=60):
    rng = np.random.default_rng(99)  # another seed than the notebook's
    drawn = [lab.draw(rng, pairs) for _ in range(draws)]
    return {
        name: np.mean([right(lab, way, *one) for one in drawn]) for name, way in lab.ways.items()
    }


@pytest.mark.long
def test_a_state_forgets_and_softmax_does_not(lab):
    for pairs, lowest, highest in ((4, 0.95, 1.0), (16, 0.65, 0.92), (64, 0.2, 0.55)):
        found = shares(lab, pairs)
        assert found.pop("softmax") == 1.0
        assert all(lowest <= share <= highest for share in found.values()), (pairs, found)


@pytest.mark.long
def test_the_plain_sum_recalls_best_of_the_three_states(lab):
    for pairs in (16, 32, 64):
        found = shares(lab, pairs)
        assert found["plain sum"] > max(found["gate 0.9"], found["delta rule"]) + 0.05


def test_distinct_one_hot_values_hide_forgetting(lab):
    keys = lab.unit(np.random.default_rng(4).normal(size=(64, 16)))
    found = keys @ lab.by_sum(keys, np.eye(64))
    assert (found.argmax(axis=1) == np.arange(64)).all()


def test_only_the_delta_rule_rewrites_and_keeps_the_others(lab):
    rng, again, others = np.random.default_rng(77), {}, {}
    for _ in range(60):
        keys, symbols, codes = lab.draw(rng, 12)
        history = np.concatenate([symbols, rng.integers(8, size=40)])
        written = np.concatenate([keys, np.repeat(keys[:1], 40, axis=0)])
        for name, way in lab.ways.items():
            answers = (way(written, codes[history]) @ codes.T).argmax(axis=1)
            again.setdefault(name, []).append(answers[-1] == history[-1])
            others.setdefault(name, []).append(np.mean(answers[1:12] == symbols[1:]))
    assert np.mean(again["delta rule"]) == 1.0 and np.mean(others["delta rule"]) > 0.7
    for name in ("softmax", "plain sum", "gate 0.9"):
        assert np.mean(again[name]) < 0.6
    assert np.mean(others["softmax"]) == 1.0 and np.mean(others["gate 0.9"]) < 0.3


def test_latents_give_the_scores_of_the_keys(lab):
    rng = np.random.default_rng(2)
    query, w_up, latents = rng.normal(size=7), rng.normal(size=(3, 7)), rng.normal(size=(11, 3))
    expected = []
    for latent in latents:
        key = [math.fsum(c * w for c, w in zip(latent, column, strict=True)) for column in w_up.T]
        expected.append(math.fsum(q * k for q, k in zip(query, key, strict=True)) / math.sqrt(7))
    assert np.allclose(lab.latent_scores(query, w_up, latents), expected, rtol=0, atol=1e-12)


def test_the_bytes_in_the_text(lab):
    assert lab.cache_bytes(60, 128, 128, 1) == 3_932_160
    assert 60 * (512 + 64) * 2 == 69_120
    assert 128 * 128 + 128 < 65 * 256 and 128 * 128 + 128 > 64 * 256


def test_what_the_pictures_say_in_words():
    _, alt = pictures.two_orders.__wrapped__(4096, 64, 64)
    assert "a table of 4,096 by 4,096" in alt and "a state of 64 by 64, 4,096 numbers" in alt
    _, alt = pictures.bytes_a_token.__wrapped__({"one": 8064})
    assert "one: 8,064" in alt
