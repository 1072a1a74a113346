"""The lab `long-contexts`: the figures that must come out of it."""

import importlib.util
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from functions_in_cells import define_in_cell

from attention_labs import tiny_model
from attention_labs.pictures import long_contexts as pictures
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course
from autograder.student.check import CheckFailed, check

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab():
    return read_lab(read_course(ROOT), "long-contexts").reference


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(200, d)) for d in (8, 8, 5)]


def test_the_cache_of_the_models_in_the_text(lab):
    assert lab.cache_bytes(80, 8, 128, 1) == 327_680
    assert lab.cache_bytes(80, 64, 128, 1) == 8 * 327_680
    assert lab.cache_bytes(12, 12, 64, 1024, 4) == 2 * 12 * 1024 * 768 * 4


def test_step_by_step_is_the_causal_pass(lab, arrays):
    keys, values = np.empty((0, 8)), np.empty((0, 5))
    expected_rows = lab.attention(*arrays, mask=np.tri(200, dtype=bool))
    for query, key, value, expected in zip(*arrays, expected_rows, strict=True):
        context, keys, values = lab.decode_step(query, key, value, keys, values)
        assert np.allclose(context, expected, rtol=0, atol=1e-12)
    assert (keys == arrays[1]).all() and (values == arrays[2]).all()


@pytest.mark.parametrize("block", [1, 7, 64, 200, 1000])
@pytest.mark.parametrize("causal", [False, True])
def test_blocks_give_full_attention(lab, arrays, block, causal):
    expected = lab.attention(*arrays, mask=np.tri(200, dtype=bool) if causal else None)
    assert np.allclose(
        lab.blockwise_attention(*arrays, block, causal),
        expected,
        rtol=0,
        atol=1e-12,
    )


def measure_memory(function, *arguments):
    tracemalloc.start()
    function(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_blocks_of_queries_are_told_from_blocks_of_keys():
    source = """
def blockwise_attention(queries, keys, values, block, causal=False):
    result = np.empty((len(queries), values.shape[1]))
    for start in range(0, len(queries), block):
        rows = slice(start, start + block)
        scores = queries[rows] @ keys.T / np.sqrt(keys.shape[1])
        if causal:
            positions = np.arange(len(queries))[rows, None]
            scores[np.arange(len(keys)) > positions] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)
        result[rows] = weights @ values
    return result
"""
    with pytest.raises(CheckFailed, match="You cut the queries into blocks"):
        check(define_in_cell(source))


def test_memory_grows_with_the_length_and_not_its_square(lab):
    sizes = {"whole": [], "blocks": []}
    for length in (256, 512, 1024):
        arrays = np.random.default_rng(0).normal(size=(3, length, 16))
        sizes["whole"].append(measure_memory(lab.attention, *arrays))
        sizes["blocks"].append(measure_memory(lab.blockwise_attention, *arrays, 64))
    for growth, (small, _, large) in zip((16, 4), sizes.values(), strict=True):
        assert large / small == pytest.approx(growth, rel=0.1)


def test_parts_merge_in_any_order(lab):
    rng = np.random.default_rng(1)
    scores, values = 300 * rng.normal(size=(3, 12)), rng.normal(size=(12, 2))

    def part(columns):
        top = scores[:, columns].max(axis=1)
        powers = np.exp(scores[:, columns] - top[:, None])
        return top, powers.sum(axis=1), powers @ values[columns]

    a, b, c = part(range(5)), part(range(5, 7)), part(range(7, 12))
    for merged_part in (
        lab.merge_softmax(*lab.merge_softmax(*a, *b), *c),
        lab.merge_softmax(*c, *lab.merge_softmax(*b, *a)),
    ):
        for value, expected in zip(merged_part, part(range(12)), strict=True):
            assert np.allclose(value, expected, rtol=1e-12)


def test_what_the_pictures_say_in_words():
    assert (
        "36 in total; with a cache one in each step, 8 in total"
        in pictures.what_is_made.__wrapped__(8)[1]
    )
    _, alt = pictures.recall.__wrapped__(range(4), {"window": [1, 1, 0, 1]}, 0.1)
    assert "at the distances 0 to 1, 3." in alt
    _, alt = pictures.memory.__wrapped__([1, 2], {"all": [1000, 4_000_000]})
    assert "all: 1 kB, 4 MB." in alt


def test_the_heads_that_rest_on_word_0_are_the_models_and_do_what_the_text_says(lab):
    spec = importlib.util.spec_from_file_location(
        "keep_sinks",
        ROOT / "solutions/long-contexts/_keep_sinks.py",
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    model_arrays = tiny_model.second_layer()
    anew = script.kept(read_lab(read_course(ROOT), "tiny-transformer").reference, tiny_model.load())
    for with_sink, stored in zip(
        model_arrays,
        (anew[name] for name in ("queries", "keys", "values")),
        strict=True,
    ):
        assert np.allclose(with_sink, stored, rtol=0, atol=0.02)  # 16 bits
    queries, keys, values = model_arrays
    causal = lab.sliding_window_mask(20, 20)
    for head, share, without_sinks, with_sink in ((0, 0.72, 7.4, 2.5), (1, 0.83, 7.8, 1.7)):
        texts = list(zip(queries[head], keys[head], values[head], strict=True))
        weights = np.array([lab.attention(q, k, np.eye(20), causal) for q, k, _ in texts])
        assert weights[:, 1:, 0].mean() == pytest.approx(share, abs=0.006)
        full_output = np.array([lab.attention(*text, causal) for text in texts])
        for sinks, expected in ((0, without_sinks), (1, with_sink)):
            mask = lab.sliding_window_mask(20, 4, sinks)
            windowed_output = np.array([lab.attention(*text, mask) for text in texts])
            change = np.linalg.norm(windowed_output - full_output, axis=-1)[:, 10:].mean()
            assert change == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("content", [b"", b"not a file of NumPy's"])
def test_heads_that_cannot_be_read_are_a_sentence(tmp_path, content):
    path = tmp_path / "sinks.npz"
    if content:
        path.write_bytes(content)
    with pytest.raises(tiny_model.ModelError, match="cannot be read"):
        tiny_model.second_layer(path)
