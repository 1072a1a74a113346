"""The lab `multi-head-attention`: a loop over heads, and the figures that its notebook promises."""

from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

LAB = read_lab(read_course(Path(__file__).parents[2]), "multi-head-attention")


@pytest.fixture(scope="module")
def printed_outputs():
    """Return the printed outputs of the saved notebook's cells, by their ids."""
    return {
        cell.id: "".join(output.get("text", "") for output in cell.outputs)
        for cell in LAB.read_solution().cells
        if cell.cell_type == "code"
    }


def head_by_head(arrays, tables, d_head, read_by, mask=None):
    """The layer as its formula says it; `read_by[i]` is the head of keys that head i of queries reads."""
    (queries, keys, values), (w_q, w_k, w_v, w_o) = arrays, tables
    contexts = []
    for head, key_head in enumerate(read_by):
        own, shared = (slice(i * d_head, (i + 1) * d_head) for i in (head, key_head))
        scores = (queries @ w_q[:, own]) @ np.swapaxes(keys @ w_k[:, shared], 1, 2) / d_head**0.5
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        weights = np.exp(scores)
        contexts.append(weights / weights.sum(axis=-1, keepdims=True) @ (values @ w_v[:, shared]))
    return np.concatenate(contexts, axis=-1) @ w_o


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("heads", "kv_heads"),
    [(1, 1), (2, 1), (6, 6), (6, 3), (6, 2), (6, 1), (16, 4)],
)
def test_a_loop_over_heads_gives_the_same(heads, kv_heads, masked):
    rng = np.random.default_rng(heads + kv_heads)
    batch, L_q, L_k, d_head = 3, 5, 7, 4
    d, d_kv = heads * d_head, kv_heads * d_head
    arrays = [rng.normal(size=(batch, length, d)) for length in (L_q, L_k, L_k)]
    tables = [rng.normal(size=(d, columns)) / d**0.5 for columns in (d, d_kv, d_kv, d)]
    mask = np.arange(L_k) < np.array([7, 1, 4])[:, np.newaxis, np.newaxis] if masked else None
    expected = head_by_head(
        arrays,
        tables,
        d_head,
        [i // (heads // kv_heads) for i in range(heads)],
        mask,
    )
    grouped_output = LAB.reference.grouped_query_attention(
        *arrays,
        *tables,
        heads,
        kv_heads,
        mask=mask,
    )
    assert np.abs(grouped_output - expected).max() < 1e-13
    if heads == kv_heads:
        full_output = LAB.reference.multi_head_attention(*arrays, *tables, heads, mask=mask)
        assert np.abs(full_output - expected).max() < 1e-13


def test_the_output_is_a_sum_over_heads():
    """The notebook says of w_o: each head's result is multiplied by its own rows."""
    rng = np.random.default_rng(4)
    arrays = [rng.normal(size=(2, 3, 6)) for _ in range(3)]
    *tables, w_o = rng.normal(size=(4, 6, 6))
    full_output = LAB.reference.multi_head_attention(*arrays, *tables, w_o, 2)
    parts = []
    for rows in (slice(0, 3), slice(3, 6)):
        rows_of_head = np.zeros_like(w_o)
        rows_of_head[rows] = w_o[rows]
        parts.append(LAB.reference.multi_head_attention(*arrays, *tables, rows_of_head, 2))
    assert np.allclose(full_output, sum(parts))


def test_the_published_counts(printed_outputs):
    count = LAB.reference.parameter_count
    assert count(512, 8) == 1_048_576
    assert count(768, 12, bias=True) == 2_362_368
    printed_counts = dict(
        line.rsplit(maxsplit=1) for line in printed_outputs["count-example"].splitlines()[:-1]
    )
    assert printed_counts["Transformer of 2017, base"] == "1,048,576"
    assert printed_counts["BERT-base"] == printed_counts["GPT-2 small"] == "2,362,368"


def test_the_example_by_hand(printed_outputs):
    """Section 3's numbers, in its text and in what the notebook printed."""
    assert printed_outputs["layer-example"].splitlines() == [
        "dog chased cat: the output for chased is [0.8816 0.0127 0.0127 0.8816]",
        "cat chased dog: the output for chased is [0.0127 0.8816 0.8816 0.0127]",
    ]
    by_hand = next(cell.source for cell in LAB.read_solution().cells if cell.id == "by-hand")
    scores = np.array([3, 0, -3]) / 2**0.5
    weights = np.exp(scores) / np.exp(scores).sum()
    for number in (*scores[:1], *weights):
        assert f"{number:.4f}" in by_hand


def test_one_question_cannot_tell_the_sentences_apart(printed_outputs):
    lines = [line.split("dog ")[-1] for line in printed_outputs["questions"].splitlines()]
    assert lines[0] == lines[1] == "0.45  cat 0.45"
    assert lines[2] == lines[5] != lines[3] == lines[4]


@pytest.mark.parametrize("cell", ["loop-check", "round-trip-test", "grouped-example"])
def test_what_should_be_the_same_is(printed_outputs, cell):
    assert "True" in printed_outputs[cell]
    assert "False" not in printed_outputs[cell]
