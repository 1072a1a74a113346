"""The lab `tiny-transformer`: what its notebook says of GPT-2, of the model and of the heads in it."""

import importlib.util

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


def said_twice(half, rows=60):
    rng = np.random.default_rng(5)
    half_texts = np.array([rng.permutation(WORDS)[:half] for _ in range(rows)])
    return np.concatenate([half_texts, half_texts], axis=1)


def weights(tokens):
    """(layers, batch, heads, L, L), worked out with nothing of the notebook's but its block and its norm."""
    x = TINY.parameters["tokens"][tokens] + TINY.parameters["positions"][: tokens.shape[1]]
    causal, layer_weights = np.tri(tokens.shape[1], dtype=bool), []
    for p in TINY.parameters["blocks"]:
        y = LAB.reference.layer_norm(x, p["gain_1"], p["bias_1"])
        cut = [(y @ p[name]).reshape(*tokens.shape, TINY.heads, -1) for name in ("w_q", "w_k")]
        scores = np.einsum("bqhd,bkhd->bhqk", *cut) / cut[0].shape[-1] ** 0.5
        scores = np.where(causal, scores, -np.inf)
        layer_weights.append(np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)))
        x = LAB.reference.transformer_block(x, p, TINY.heads, causal)
    return np.array(layer_weights)


def without(*heads):
    blocks = [dict(p) for p in TINY.parameters["blocks"]]
    size = TINY.parameters["tokens"].shape[1] // TINY.heads
    for layer, head in heads:
        blocks[layer]["w_o"] = blocks[layer]["w_o"].copy()
        blocks[layer]["w_o"][head * size : (head + 1) * size] = 0
    return {**TINY.parameters, "blocks": blocks}


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


def test_the_model_guesses_better_than_the_bigram_table():
    counts = TINY.bigram_counts + 0.1
    table = np.log(counts / counts.sum(axis=1, keepdims=True))
    bigram = -table[TINY.held_out[:, :-1], TINY.held_out[:, 1:]].mean()
    assert losses(TINY.held_out, TINY.parameters).mean() == pytest.approx(0.97, abs=0.005)
    assert bigram == pytest.approx(2.19, abs=0.005)


def test_the_heads_are_where_the_notebook_says():
    half = 20
    head_weights = weights(said_twice(half))
    previous_scores = np.diagonal(head_weights, offset=-1, axis1=-2, axis2=-1).mean(axis=(1, 3))
    induction_scores = np.diagonal(head_weights, offset=1 - half, axis1=-2, axis2=-1)[..., 1:].mean(
        axis=(1, 3),
    )
    assert previous_scores[0, 1] > 0.45 > 0.2 > np.delete(previous_scores.ravel(), 1).max()
    assert induction_scores[1].min() > 0.9 > 0.1 > induction_scores[0].max()


@pytest.mark.long
def test_what_is_lost_with_a_head():
    """Rows: what is taken away; columns: the second half of words said twice, stories."""
    half, losses_by_heads = 20, {}
    for ablated_heads in [(), ((0, 1),), ((1, 0),), ((1, 1),), ((1, 0), (1, 1))]:
        poorer = without(*ablated_heads)
        losses_by_heads[ablated_heads] = (
            losses(said_twice(half), poorer)[:, half:].mean(),
            losses(TINY.held_out, poorer).mean(),
        )
    assert losses_by_heads[()][0] < 0.15
    assert losses_by_heads[((0, 1),)][0] > np.log(WORDS)
    assert all(0.3 < losses_by_heads[(head,)][0] < 1.5 for head in ((1, 0), (1, 1)))
    assert losses_by_heads[((1, 0), (1, 1))][0] > 9
    assert all(stories > 1.2 for ablated_heads, (_, stories) in losses_by_heads.items() if ablated_heads)


def test_a_name_is_gone_on_with():
    prompt = TINY.encode("once nora weaver and emil fisher went to the quiet market . then nora")
    logits = LAB.reference.next_token_logits(prompt, TINY.parameters, TINY.heads)[0, -1]
    assert TINY.words[int(logits.argmax())] == "weaver"


def test_the_last_page_says_what_was_reached():
    output_text = next(cell for cell in LAB.read_solution().cells if cell.id == "progress").outputs[0].text
    assert LAB.certificate.strip() in output_text


def test_a_word_that_the_model_does_not_know_is_named():
    with pytest.raises(
        tiny_model.ModelError,
        match="does not know the word 'zebra'; its 210 words",
    ):
        TINY.encode("nora met a zebra")


@pytest.mark.parametrize("content", [None, b"no archive", "another archive"])
def test_a_file_that_is_no_model_is_a_sentence(tmp_path, content):
    path = tmp_path / "model.npz"
    if content == "another archive":
        np.savez(path, something=np.zeros(2))
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


def test_the_grammar_writes_the_stories_that_were_held_out(grammar):
    assert tuple(grammar.vocabulary()) == TINY.words
    numbers = {word: n for n, word in enumerate(TINY.words)}
    new_stories = grammar.stories(np.random.default_rng(1_000_000), 200, numbers)
    assert np.array_equal(new_stories, TINY.held_out)


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
