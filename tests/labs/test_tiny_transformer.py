"""The lab `tiny-transformer`: what its notebook says of GPT-2 and of the trained model."""

import importlib.util
import math

import numpy as np
import pytest
from our_course import lab

from attention_labs import tiny_model, training

LAB = lab("tiny-transformer")
TINY = tiny_model.load()
WORDS = len(TINY.words)


def losses(tokens, parameters):
    logits = LAB.reference.next_token_logits(tokens, parameters, TINY.heads)[:, :-1]
    logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return -np.take_along_axis(logs, tokens[:, 1:, None], axis=-1)[..., 0]


def test_gpt2_small_is_counted_to_the_last_number():
    assert LAB.reference.model_size(50257, 1024, 768, 12) == 124_439_808


def test_the_formula_counts_our_own_model():
    p = TINY.parameters
    arrays = [p[name] for name in ("tokens", "positions", "gain", "bias")]
    arrays += [array for block in p["blocks"] for array in block.values()]
    count = LAB.reference.model_size(
        WORDS,
        len(p["positions"]),
        64,
        len(p["blocks"]),
        attention_bias=False,
    )
    assert sum(array.size for array in arrays) == count == 116_096


def test_the_file_is_small():
    assert tiny_model.FILE.stat().st_size <= 1_000_000


@pytest.mark.long
def test_the_model_predicts_better_than_the_bigram_table():
    counts = TINY.bigram_counts + 0.1
    table = np.log(counts / counts.sum(axis=1, keepdims=True))
    bigram = -table[TINY.held_out[:, :-1], TINY.held_out[:, 1:]].mean()
    assert losses(TINY.held_out, TINY.parameters).mean() == pytest.approx(0.97, abs=0.005)
    assert bigram == pytest.approx(2.19, abs=0.005)


def test_a_name_is_gone_on_with():
    prompt = TINY.encode("once nora weaver and emil fisher went to the quiet market . then nora")
    logits = LAB.reference.next_token_logits(prompt, TINY.parameters, TINY.heads)[0, -1]
    assert TINY.words[int(logits.argmax())] == "weaver"


def test_the_last_page_says_what_was_reached():
    output_text = (
        next(cell for cell in LAB.read_solution().cells if cell.id == "progress").outputs[0].text
    )
    assert LAB.certificate.strip() in output_text


def test_one_form_of_gelu_differs_from_the_other_by_less_than_a_thousandth():
    z = np.linspace(-8, 8, 16_001)
    exact = z * (1 + np.vectorize(math.erf)(z / 2**0.5)) / 2
    identity, zero = np.ones((1, 1)), np.zeros(1)
    tanh_form = LAB.reference.feed_forward(z[:, np.newaxis], identity, zero, identity, zero)[:, 0]
    assert 4e-4 < np.abs(tanh_form - exact).max() < 1e-3


def test_the_feed_forward_network_has_more_parameters_than_attention_with_grouped_queries():
    """The notebook: twice as many; 3.6 times with d = 8192 and 8 of 64 key heads."""
    d, kv_share = 8192, 8 / 64
    assert 8 * d**2 / (4 * d**2) == 2
    assert round(8 * d**2 / ((2 + 2 * kv_share) * d**2), 1) == 3.6


def test_a_word_that_the_model_does_not_know_is_named():
    with pytest.raises(
        tiny_model.ModelError,
        match="does not know the word 'zebra'; its 210 words",
    ):
        TINY.encode("nora met a zebra")


@pytest.mark.parametrize("content", [None, b"no archive", "another archive", "heads of 2 numbers"])
def test_a_file_that_is_no_model_is_a_sentence(tmp_path, content):
    path = tmp_path / "model.npz"
    if content == "another archive":
        np.savez(path, something=np.zeros(2))
    elif content == "heads of 2 numbers":
        np.savez(path, layers=1, heads=np.ones(2))
    elif content:
        path.write_bytes(content)
    with pytest.raises(tiny_model.ModelError, match="cannot be read"):
        tiny_model.load(path)


@pytest.fixture(scope="module")
def grammar():
    """The author's script, which lies in no student's bundle."""
    path = LAB.folder / "_train_tiny_model.py"
    spec = importlib.util.spec_from_file_location("_train_tiny_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_the_grammar_writes_the_stories_that_were_held_out(grammar):
    assert tuple(grammar.vocabulary()) == TINY.words
    numbers = {word: n for n, word in enumerate(TINY.words)}
    new_stories = grammar.stories(np.random.default_rng(1_000_000), 200, numbers)
    assert np.array_equal(new_stories, TINY.held_out)


@pytest.mark.long
def test_the_stories_to_train_on_are_the_grammars_and_none_of_them_is_held_out(grammar):
    training_stories = training.stories()
    assert training_stories.shape == (grammar.SHIPPED, grammar.LENGTH)
    numbers = {word: n for n, word in enumerate(TINY.words)}
    assert np.array_equal(
        grammar.stories(np.random.default_rng(0), 500, numbers),
        training_stories[:500],
    )
    training_rows = {row.tobytes() for row in training_stories}
    assert not any(row.tobytes() in training_rows for row in TINY.held_out)
