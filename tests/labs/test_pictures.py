"""The pictures: legible on white and on black, described in words, and drawn by the library, not in cells."""

import io
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from attention_labs import pictures
from attention_labs.pictures import (
    additive,
    cheaper_attention,
    gpt_2,
    keras_lab,
    learning,
    long_contexts,
    looking_inside,
    masks,
    multi_head,
    positions,
    qkv,
    tiny_transformer,
    training,
)
from attention_labs.training import Run
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

SOLUTIONS = Path(__file__).parents[2] / "solutions"
LABS = sorted(path.stem for path in SOLUTIONS.glob("*/*.ipynb"))
THEMES = {"light": "#ffffff", "dark": "#111111"}  # JupyterLab's backgrounds behind an output
WEIGHTS = np.array([[0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]])
SQUARE = np.array([[1.0, 0.0], [0.25, 0.75]])
VECTOR = np.linspace(-0.1, 0.1, 300)
ANGLES = np.outer(np.arange(20), 10.0 ** -np.arange(9))
WAVES = np.stack([np.sin(ANGLES), np.cos(ANGLES)], axis=-1).reshape(20, 18)
RUN = Run(np.array([1, 100, 200]), np.array([5.0, 3.0, 2.0]), np.array([0.1, 0.2, 0.9]), 1.0)
MEASURED_PICTURES = {
    (task, line): np.eye(3, 4) for task in ("one", "other") for line in positions.LINES
}

DRAWN_PICTURES = {
    "the idea": (additive.the_idea, ()),
    "tanh": (additive.tanh_curve, ()),
    "joined": (additive.joined, (np.ones((4, 6)), np.ones((1, 6)))),
    "bars": (additive.weights_as_bars, ({"one": WEIGHTS[0], "two": WEIGHTS[1][:, None]},)),
    "states": (additive.from_state_to_state, (WEIGHTS, ["s", "-s"])),
    "strips": (qkv.word_strips, ({"a": VECTOR, "b": -VECTOR},)),
    "dots": (qkv.dot_products, ("a", VECTOR, {"b": VECTOR, "c": 0 * VECTOR})),
    "look-up": (qkv.soft_look_up, ()),
    "projections": (qkv.projections, ()),
    "steps": (qkv.scaled_dot_product, ()),
    "shares": (qkv.scores_to_shares, ()),
    "axes": (qkv.axes_of_softmax, ()),
    "moved": (qkv.moved_scores, ()),
    "shapes": (qkv.shapes, ()),
    "arrows": (qkv.queries_and_keys, (np.eye(2), np.ones((3, 2)), WEIGHTS)),
    "triangle": (qkv.values_and_results, (np.eye(3)[:, :2], [(0.5, 0.2)])),
    "alignment": (qkv.alignment, (WEIGHTS, ["le", "x"], ["the", "cat", "."])),
    "maxima": (qkv.row_maxima, (WEIGHTS, ["le", "x"])),
    "temperatures": (
        qkv.temperatures,
        (lambda t: WEIGHTS, [1, 2], ["le", "x"], ["the", "cat", "."]),
    ),
    "one temperature": (qkv.at_temperature, (WEIGHTS, 0.1, ["le", "x"], ["the", "cat", "."])),
    "bottleneck": (additive.bottleneck, ()),
    "norms": (additive.norms_and_evenness, (np.array([1, 0, -1]), WEIGHTS[0], WEIGHTS[0])),
    "slow turn": (additive.slow_turn, (np.array([0, 90]), {"a": SQUARE[0], "b": SQUARE[1]})),
    "kinds": (masks.three_kinds, ()),
    "under a mask": (masks.under_a_mask, (SQUARE, ["a", "b"], SQUARE > 0)),
    "tables": (masks.tables, ({"both": SQUARE > 0, "one": np.ones((1, 2))}, ["a", "b"])),
    "three masks": (masks.three_masks, (dict.fromkeys("xy", (SQUARE, "ab", "cd", SQUARE > 0)),)),
    "flow": (keras_lab.flow, ()),
    "hidden": (keras_lab.hidden_tables, ({"one": SQUARE == 0, "two": np.ones((1, 2))}, ["a", "b"])),
    "masked": (keras_lab.masked_weights, ({"one": SQUARE, "two": SQUARE}, ["a", "b"])),
    "learning": (keras_lab.learning, ([0.1, 0.01], SQUARE)),
    "three attentions": (keras_lab.three_attentions, ()),
    "cross-attention": (
        keras_lab.cross_attention,
        ({"one": WEIGHTS, "two": WEIGHTS}, ["le", "x"], ["the", "cat", "."]),
    ),
    "whole layer": (multi_head.whole_layer, ()),
    "questions": (
        multi_head.questions,
        ([["a", "b", "c"]] * 2, {"who?": WEIGHTS, "what?": WEIGHTS}),
    ),
    "split": (multi_head.cut, (np.arange(12).reshape(3, 4), [np.arange(6).reshape(3, 2)])),
    "heads": (multi_head.heads, (np.stack([SQUARE, SQUARE]), ["a", "b"])),
    "influence": (
        multi_head.influence,
        (SQUARE, {"one": lambda x: x, "two": lambda x: x[:, ::-1]}),
    ),
    "groups": (multi_head.groups, (8, [8, 2])),
    "counts": (multi_head.counts, (8192, 64, {64: 268435456, 8: 150994944})),
    "model": (tiny_transformer.model, ()),
    "generation": (tiny_transformer.generation, ()),
    "activations": (tiny_transformer.activations, ({"GELU": VECTOR, "ReLU": VECTOR}, VECTOR)),
    "sizes": (
        tiny_transformer.sizes,
        ({"one": {"vectors": 3, "norms": 1}, "two": {"vectors": 1, "norms": 3}},),
    ),
    "losses": (tiny_transformer.losses, ({"uniform": 5.35, "the model": 0.97},)),
    "next tokens": (
        tiny_transformer.temperatures,
        (["le", "x", "y"], {0.5: WEIGHTS[0], 2: WEIGHTS[1]}),
    ),
    "circuit": (looking_inside.induction_circuit, ()),
    "head scores": (looking_inside.head_scores, ({"one": SQUARE, "two": SQUARE},)),
    "two heads": (looking_inside.attention, ({"one": SQUARE, "two": SQUARE}, ["a", "b"])),
    "repeated": (
        looking_inside.loss_by_position,
        ({"nothing": VECTOR[:5], "a head": VECTOR[:5]}, 3),
    ),
    "lens": (looking_inside.lens, ({"token vectors": 14.6, "attention 0": 7.5}, 5.35)),
    "attribution": (
        looking_inside.attribution,
        ({"layer 0, head 0": -0.01, "feed-forward 0": 4.0},),
    ),
    "ablated": (looking_inside.switched_off, ({"nothing": VECTOR[:5]}, 3, "nora weaver")),
    "two orders": (positions.two_orders, (["a", "b"], SQUARE, ["b", "a"], SQUARE[::-1, ::-1])),
    "waves": (positions.encoding, (WAVES,)),
    "likeness": (positions.likeness, (WAVES, [5, 9])),
    "hand": (positions.hand, ()),
    "clocks": (positions.clocks, (WAVES, [0, 1], 4, 3)),
    "hands": (positions.hands, (WAVES, 3, 5, (0, 2, 4, 8))),
    "pairings": (positions.pairings, ()),
    "diagonals": (positions.by_distance, (WAVES[:, :1] @ WAVES[:, :1].T, WAVES @ WAVES.T)),
    "slopes": (positions.slopes, (-np.ones((8, 5, 5)),)),
    "seen": (positions.seen, (np.array([1.0, 0.1]), 20, [0, 1])),
    "beyond": (positions.beyond, (MEASURED_PICTURES, [32, 64, 128, 256], 32)),
    "forward and backward": (learning.there_and_back, ()),
    "slope of a loss": (learning.slope, (np.exp, 0.5)),
    "prediction minus target": (
        learning.guess_minus_right,
        (WEIGHTS[0], 0, WEIGHTS[0] - [1, 0, 0], "abc"),
    ),
    "valley": (learning.valley, ({"one": SQUARE, "two": -SQUARE}, lambda x, y: x**2 + y**2)),
    "emerging": (
        learning.emerging,
        ({"one": WEIGHTS, "two": WEIGHTS}, ["le", "x"], ["the", "cat", "."]),
    ),
    "progress": (learning.progress_made, ([2.0, 1.0], {0: 0.1, 2: 0.8}, {"chance": 0.1})),
    "misses": (learning.where_it_misses, ({"other word": (3, 4)}, ["one", "two"])),
    "block both ways": (training.block_forward_and_backward, ()),
    "slopes of GELU": (
        training.slopes,
        (np.linspace(-2, 2, 9), np.ones(9), np.linspace(-0.1, 1.1, 9)),
    ),
    "rates": (training.rates, ([0.1, 0.2, 0.1],)),
    "a run": (training.learning, ([3.0, 2.0] * 20, {20: 0.1, 40: 0.8}, {"start 0": RUN})),
    "compared": (training.compared, ({"start 0": RUN, "half": RUN},)),
    "copying": (training.copying, ({"one": np.eye(4), "two": np.eye(4)}, ["a", "b", "a", "b"])),
    "own model": (training.course, ()),
    "made": (long_contexts.what_is_made, (5,)),
    "work": (long_contexts.work, ([1, 2], {"with": [1, 2]}, {"with": [0.1, 0.2]})),
    "caches": (long_contexts.caches, ([1024, 4096], {"one": [10**8, 4 * 10**8]}, {"H100": 80e9})),
    "windows": (long_contexts.windows, ({"one": np.tri(3), "two": np.eye(3)},)),
    "recall": (
        long_contexts.recall,
        (range(4), {"all": [1, 1, 1, 1], "window": [1, 1, 0, 0]}, 0.1),
    ),
    "merging": (
        long_contexts.merging,
        (dict.fromkeys("abc", (np.ones(1), np.ones(1), np.ones((1, 2)))),),
    ),
    "cut": (
        long_contexts.cut_in_two,
        (np.arange(4.0), 2, *[(np.ones(1), np.ones(1), np.ones((1, 2)))] * 3),
    ),
    "blocks": (long_contexts.held_at_once, (6, 2)),
    "two memories": (long_contexts.slow_and_fast, (4096, 64, 50_000)),
    "orders": (cheaper_attention.two_orders, (64, 8, 8)),
    "maps": (
        cheaper_attention.feature_maps,
        (np.linspace(-1, 1, 5), {"one": np.ones(5), "two": np.zeros(5)}),
    ),
    "kept": (
        cheaper_attention.kept,
        ([16, 64], {"cache": [10**3, 10**4], "state": [10**3, 10**3]}),
    ),
    "forgotten": (
        cheaper_attention.recall,
        ([2, 4], {"one": SQUARE, "two": SQUARE}, {"one": SQUARE, "two": SQUARE}, 0.1),
    ),
    "rewriting": (cheaper_attention.rewriting, ({"one": VECTOR + 0.5}, {"one": VECTOR + 0.5}, 0.1)),
    "bytes": (cheaper_attention.bytes_a_token, ({"one": 10**4, "two": 10**5},)),
    "route": (gpt_2.route, ("a b", ["a", "Ġb"], [1, 2])),
    "merges": (gpt_2.merge_tree, (("t", "h", "e"), [(("th", "e"), 0), (("the",), 2)])),
    "head map": (gpt_2.head_map, ({"one": SQUARE, "two": SQUARE},)),
    "ablation losses": (gpt_2.losses, ({"none": np.arange(3.0), "one": np.ones(3)}, 2)),
    "guesses": (gpt_2.lens, (["block 0", "block 1"], ["a", "Ġb"], ["ab", "cd"], SQUARE)),
    "memory": (
        long_contexts.memory,
        ([256, 512], {"all": [10**6, 4 * 10**6], "blocks": [10**5, 2 * 10**5]}),
    ),
}


def luminance(colour):
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return np.dot(parts, [0.2126, 0.7152, 0.0722])


def contrast(colour, background):
    """The ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted([luminance(colour), luminance(background)])
    return (light + 0.05) / (dark + 0.05)


def illegible(figure):
    """Texts outside boxes and tables whose colour is too near to the background of one theme."""
    inside = [
        text
        for text in figure.findobj(plt.Text)
        if to_rgb(text.get_color()) in {(1, 1, 1), (0, 0, 0)}
    ]
    return [
        text.get_text()
        for text in figure.findobj(plt.Text)
        if text.get_text().strip() and text not in inside
        if min(contrast(text.get_color(), theme) for theme in THEMES.values()) < 3
    ]


def outside_of_anything(figure):
    """White or black texts that do not stand on a box, a cell or an image."""
    texts = []
    for axes in figure.axes:
        own = axes.texts
        for text in own:
            white_or_black = to_rgb(text.get_color()) in {(1, 1, 1), (0, 0, 0)}
            on_something = text.get_bbox_patch() or axes.images or axes.patches or axes.collections
            if white_or_black and not on_something:
                texts.append(text.get_text())
        labels = [
            axes.title,
            axes.xaxis.label,
            axes.yaxis.label,
            *axes.get_xticklabels(),
            *axes.get_yticklabels(),
        ]
        texts += [
            label.get_text()
            for label in labels
            if to_rgb(label.get_color()) in {(1, 1, 1), (0, 0, 0)}
        ]
    return texts


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN_PICTURES)
def test_a_picture_is_described_and_suits_both_themes(name):
    draw, arguments = DRAWN_PICTURES[name]
    with plt.rc_context(pictures.STYLE):
        figure, alt = draw.__wrapped__(*arguments)
    assert len(alt) > 30 and "\n" not in alt
    assert illegible(figure) == [] and outside_of_anything(figure) == []
    pixels = imread(io.BytesIO(pictures.png(figure, 50)))
    assert pixels.shape[2] == 4
    assert (pixels[[0, 0, -1, -1], [0, -1, 0, -1], 3] == 0).all(), "a corner has a background"


ALIBI = (
    -np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 2.0 ** np.arange(1, 9)[:, None, None]
)
FRAMED = np.zeros((6, 6))
FRAMED[[3, 4, 5], [1, 2, 3]] = 0.2, 0.4, 0.9  # in the frames of an induction head
STATES = [(np.array([2.0]), np.array([total]), np.array([[1.0, 3.0]])) for total in (2.0, 4.0, 5.0)]
ONE_RUN = ([4.0] * 250 + [2.0] * 350, {300: 0.25, 450: 0.5, 600: 0.75}, {"start 0": RUN})

# What a reader who cannot see the picture is told of its numbers. Arguments that are None are those
# of `DRAWN_PICTURES`; the other ones tell apart what is equal there.
TOLD_NUMBERS = [
    ("bars", None, "one: word 1 0.700, word 2 0.200, word 3 0.100; two: word 1 0.333, word 2"),
    (
        "states",
        (WEIGHTS[:, ::-1], ["s", "-s"]),
        "the largest weight of a row stands at the words 3, 1",
    ),
    (
        "dots",
        ("a", VECTOR, {"b": VECTOR, "c": -VECTOR, "d": 0 * VECTOR}),
        "for b, dot product 1.01, the cloud rises to the right; for c, dot product -1.01, the cloud is round; "
        "for d, dot product 0.00, the cloud lies on the line at 0",
    ),
    (
        "alignment",
        None,
        "from 0.1000 to 0.7000. The largest weight of each row: le → the; x: all equal",
    ),
    ("maxima", None, "from 0.3333 for x, on the line, to 0.7000 for le"),
    ("one temperature", None, "The largest weights of the rows are 0.333 to 0.700"),
    ("norms", None, "The norm of the context vector is smallest, 0.10, at -1.00 times s"),
    ("slow turn", None, "At the beginning: a 1.00, b 0.25; at the end: a 0.00, b 0.75"),
    ("under a mask", None, "with 3 ticks: a attends to a 1.00; b attends to a 0.25, b 0.75"),
    (
        "under a mask",
        (np.array([[0.5, 0.5], [0, 1]]), ["a", "b"], np.tri(2) > 0),
        "with 3 ticks: a attends to a 0.50; b attends to a 0.00, b 1.00",
    ),
    ("tables", None, "Ticks in each row: both, 1, 2; one, 2, 2"),
    ("three masks", None, "x, 1 cells hidden: a most at c, 1.00; b most at d, 0.75"),
    ("hidden", None, "Ones in each row: one, 1, 0; two, 2, 2"),
    ("masked", None, "Zeros in each row: one, 1, 0; two, 1, 0"),
    ("learning", None, "from the first row to the last, the largest weight is at position 0, 1"),
    (
        "cross-attention",
        None,
        "one: row maxima of 0.33 or more; largest weights: le → the, x → the",
    ),
    ("questions", None, "“who?” gives a 0.70, b 0.20, c 0.10 and a 0.33, b 0.33, c 0.33"),
    ("split", None, "head 0 has (00, 01), (02, 03), (04, 05)"),
    ("heads", None, "head 1 has (1.00, 0.00), (0.25, 0.75)"),
    ("influence", None, "One, word 0 on 0, word 1 on 1; two, word 0 on 1, word 1 on 0"),
    ("groups", None, "with 2 heads of keys, query heads 0 to 7 use 0 0 0 0 1 1 1 1"),
    (
        "counts",
        None,
        "64 heads of keys, 268 million, of which 134 in w_k and w_v; 8 heads of keys, 151",
    ),
    ("sizes", None, "one: vectors 75%, norms 25%; two: vectors 25%, norms 75%"),
    ("losses", None, "uniform 5.35, the model 0.97"),
    ("next tokens", None, "at 0.5, le 0.70, x 0.20, y 0.10; at 2, le 0.33, x 0.33, y 0.33"),
    ("head scores", None, "one: layer 0: 1.00, 0.00; layer 1: 0.25, 0.75. two: layer 0: 1.00"),
    ("two heads", ({"one": SQUARE[:, ::-1]}, ["a", "b"]), "(query → key): a 0 → b 1, b 1 → a 0"),
    ("repeated", ({"none": np.arange(5.0)}, 3), "none, first time 0.5, second time 3.5"),
    (
        "lens",
        None,
        "token vectors 14.60, attention 0 7.50. A dashed line marks a uniform guess: 5.35",
    ),
    ("attribution", None, "layer 0, head 0 -0.01, feed-forward 0 4.00"),
    ("two orders", None, "In the first: a: 1.00 to a, 0.00 to b; b: 0.25 to a, 0.75 to b"),
    ("waves", None, "How often each crosses zero: column 0: 6; column 8: 0"),
    ("likeness", None, "Each curve has its peak of 9 at its own position"),
    ("clocks", (WAVES, [0, 1], 1, 3), "columns 0 and 1 by 3.000; columns 2 and 3 by 0.300"),
    (
        "hands",
        None,
        "pair 0 4.28; pair 2 6.26; pair 4 6.28; pair 8 6.28. The dot product of the two",
    ),
    ("slopes", (ALIBI,), "h = 1: bias -2 and factor 0.14"),
    (
        "seen",
        None,
        "pair 0: 3 turns; pair 1: 0.3 turns. Of 2 pairs, 1 make less than one full turn",
    ),
    ("beyond", None, "one: no positions 0.33 to 0.00, sinusoids 0.33 to 0.00"),
    (
        "slope of a loss",
        None,
        "slope 1.649; a straight line through the points 0.9 to the left and to",
    ),
    (
        "prediction minus target",
        None,
        "right answer (y): 1.000, 0.000, 0.000; gradient (p − y): -0.300",
    ),
    ("valley", None, "one begins at (1.0, 0.0) and after 1 steps is at (0.25, 0.75)"),
    ("emerging", None, "one: row maxima from 0.33 to 0.70; largest weights: le → the, x → the"),
    (
        "progress",
        ([5.0] * 10 + [2.0] * 20, {0: 0.1, 9: 0.5, 29: 0.8}, {"chance": 0.1}),
        "The loss falls from 5.00 to 2.00 nats. The share of linked words found goes from 10% to 80%; "
        "lines across: chance 10%",
    ),
    ("misses", None, "one and two. other word: 3 and 4"),
    (
        "rates",
        None,
        "over 3 steps: a straight line up to 0.2 at step 2, then half a cosine down to 0.1",
    ),
    ("a run", None, "of the best head. step 40: loss 2.50, score 0.80."),
    ("a run", ONE_RUN, "step 300: loss 3.00, score 0.25; step 600: loss 2.00, score 0.75."),
    (
        "compared",
        None,
        "over 200 steps. At the end, start 0: loss 2.00, score 0.90; half: loss 2.00",
    ),
    ("copying", ({"one": FRAMED}, list("abcabc")), "Mean weight in the frames: one, 0.50"),
    ("made", None, "filled in each step, 15 in total; with a cache one in each step, 5 in total"),
    (
        "work",
        None,
        "over 1, 2 tokens written. keys and values computed, with: 1, 2; seconds, with: 0.1",
    ),
    (
        "caches",
        None,
        "for 1,024, 4,096 tokens, straight lines on logarithmic axes. one: 100 MB, 400 MB",
    ),
    ("windows", None, "Ticks in each row: one, 1, 2, 3; two, 1, 1, 1"),
    (
        "recall",
        None,
        "all: mostly right at the distances 0 to 3; window: mostly right at the distances 0 to 1",
    ),
    (
        "merging",
        (dict(zip("abc", STATES)),),
        "b, max 2.0000, sum 4.0000, out (1, 3); c, max 2.0000, sum 5.0000, out (1, 3). Its out / sum is "
        "(0.2, 0.6)",
    ),
    (
        "cut",
        (np.arange(4.0), 1, *STATES),
        "4 scores, the first 1 in part a: part a, max 2.00, sum 2.000, out (1.00, 3.00); part b, max 2.00, "
        "sum 4.000, out (1.00, 3.00); merged, max 2.00, sum 5.000, out (1.00, 3.00). The merged out / sum is "
        "(0.200, 0.600)",
    ),
    ("blocks", None, "is in memory, 36 of them. In blocks: only 2 columns at a time, 12 scores"),
    (
        "orders",
        (64, 8, 4),
        "a table of 64 by 64, 4,096 numbers, 49,152 multiplications; keys with values first: a state of 8 by 4, "
        "32 numbers, 4,096 multiplications",
    ),
    ("maps", None, "Curves for x from -1 to 1: one from 1.00 to 1.00; two from 0.00 to 0.00"),
    (
        "kept",
        None,
        "after 16, 64 tokens, both axes logarithmic. cache: 1 kB, 10 kB; state: 1 kB, 1 kB",
    ),
    ("forgotten", None, "distance from the value, two: 0.62, 0.38. Guessing is wrong in 0.90 of"),
    ("rewriting", None, "the other keys: one 0.50. Guessing is right in 0.10 of the cases"),
    ("bytes", None, "one: 10,000, two: 100,000"),
    ("merges", None, "It begins with t h e. rank 0: th e; rank 2: the"),
    ("head map", None, "one: at most 1.00, in layer 0, head 0; mean 0.50"),
    ("ablation losses", ({"none": np.arange(5.0)}, 3), "none: first time 0.50, second time 3.50"),
    ("guesses", None, "block 0: a 1.00, b 0.00; block 1: c 0.25, d 0.75"),
    ("memory", None, "for 256, 512 queries and keys: all: 1 MB, 4 MB; blocks: 100 kB, 200 kB"),
    ("joined", None, "each with 4 rows and 6 columns"),
    ("strips", None, "The words a, b as strips of 40 coloured cells, dark for negative"),
    (
        "triangle",
        (np.eye(3)[:, :2], [(0.5, 0.25), (3, 4)]),
        "at (0.50, 0.25) and (3.00, 4.00), both",
    ),
    (
        "temperatures",
        (lambda t: WEIGHTS**t, [1, 2], ["le", "x"], ["the", "cat", "."]),
        "At temperature 1 the largest weights of the rows are 0.333 to 0.700. At temperature 2 the largest "
        "weights of the rows are 0.111 to 0.490.",
    ),
    (
        "slopes of GELU",
        (np.linspace(-2, 2, 5), np.ones(5), np.array([0.0, -0.2, 0.45, 1.1, 1.0])),
        "0.5 at 0, largest (1.10) near z = 1.0, and nearly 1 beyond; it is a little below 0 around z = -1.0",
    ),
    (
        "diagonals",
        (SQUARE, SQUARE.T),
        "differ by up to 0.25; with RoPE each diagonal has one colour, and they differ",
    ),
    (
        "diagonals",
        (np.eye(2), 1e-10 * SQUARE),
        "up to 0; with RoPE each diagonal has one colour, and they are equal",
    ),
    (
        "two memories",
        (100, 10, 450),
        "for 100 queries and keys of size 10. all at once: 0.0 million numbers move; in blocks: 0.0 million",
    ),
    (
        "two memories",
        (4096, 64, 50_000),
        "all at once, Q, K read, 0.5 million; all at once, scores written, 16.8 million; all at once, scores read, "
        "16.8 million; all at once, weights written, 16.8 million; all at once, weights, V read, 17.0 million; all "
        "at once, result written, 0.3 million; in blocks, Q read, 0.3 million; in blocks, 22 times K, V read, "
        "11.5 million; in blocks, result written, 0.3 million.",
    ),
    (
        "route",
        None,
        "the text “a b”; its symbols a ·b; their numbers 1, 2; vectors from wte and wpe",
    ),
    (
        "ablated",
        ({"none": np.arange(5.0)}, 3, "nora\nweaver"),
        "none, first time 0.5, second time 3.5. It writes: nora and weaver.",
    ),
]


@pytest.mark.filterwarnings("error:Mean of empty slice")
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        pytest.param(*told, id=told[0], marks=() if number % 3 == 0 else pytest.mark.long)
        for number, told in enumerate(TOLD_NUMBERS)
    ],
)
def test_a_reader_who_sees_no_picture_is_told_its_numbers(name, arguments, told):
    draw, usual_arguments = DRAWN_PICTURES[name]
    _, alt = draw.__wrapped__(*(usual_arguments if arguments is None else arguments))
    assert told in alt


class FigureStandIn:
    """Stand-in for a figure or axes: it takes every call and draws nothing, which takes no time."""

    def __getattr__(self, name):
        if name.startswith("__"):  # NumPy asks for these before it makes an array of a panel
            raise AttributeError(name)
        return FigureStandIn()

    def __call__(self, *_, **options):
        return FigureStandIn()

    def __getitem__(self, _):
        return FigureStandIn()

    def get_xlim(self):
        return 1, 1e9

    get_ylim = get_xlim

    def get_legend_handles_labels(self):
        return [], []


def make_panel_stand_ins(rows=1, columns=1, squeeze=True, **_):
    panels = np.array([[FigureStandIn() for _ in range(columns)] for _ in range(rows)])
    if not squeeze:
        return FigureStandIn(), panels
    return FigureStandIn(), panels[0, 0] if rows == columns == 1 else panels.squeeze()


@pytest.mark.filterwarnings("error:Mean of empty slice")
@pytest.mark.parametrize(
    ("name", "arguments", "told"), [pytest.param(*t, id=t[0]) for t in TOLD_NUMBERS]
)
def test_a_picture_tells_its_numbers_also_where_nothing_is_drawn(
    name, arguments, told, monkeypatch
):
    monkeypatch.setattr(pictures.plt, "subplots", make_panel_stand_ins, raising=False)
    for function in ("colorbar", "setp"):
        monkeypatch.setattr(pictures.plt, function, FigureStandIn(), raising=False)
    draw, usual_arguments = DRAWN_PICTURES[name]
    _, alt = draw.__wrapped__(*(usual_arguments if arguments is None else arguments))
    assert told in alt


def test_the_loss_of_a_run_is_smoothed_from_its_beginning():
    figure, _ = training.learning.__wrapped__(*ONE_RUN)
    steps, losses = figure.axes[0].lines[-1].get_data()
    assert steps.tolist() == list(range(21, 601))
    assert losses[[0, 229, 279, -1]] == pytest.approx([4, 4, 3, 2])


def test_each_picture_is_tried():
    modules = (
        *(additive, qkv, masks, multi_head, keras_lab, positions, learning),
        *(long_contexts, cheaper_attention, tiny_transformer, looking_inside, training, gpt_2),
    )
    public = {
        f
        for m in modules
        for f in vars(m).values()
        if hasattr(f, "__wrapped__") and f.__module__ == m.__name__
    }
    assert public == {draw for draw, _ in DRAWN_PICTURES.values()}


def test_the_last_picture_of_training_names_labs_and_exercises_that_exist():
    course = read_course(SOLUTIONS.parent)
    planned = {"looking-inside", "gpt-2", "keras-translator"}
    exercises = {name for lab in LABS for name in read_lab(course, lab).exercises}
    for _, _, _, forward, backward in training._PARTS:
        lab, *exercise = backward.split(": ")
        assert set(exercise) <= exercises
        names = [
            f"{name.strip()}attention" if name.endswith("-") else name
            for name in forward.split(", ")
        ]
        assert {*names, lab} - {"no parameters, no gradient"} <= {*LABS}
    assert {lab for lab, _ in training._AROUND} <= {*LABS} | planned


def test_memory_traffic_in_the_picture_is_that_of_the_notebook():
    _, alt = long_contexts.slow_and_fast.__wrapped__(4096, 64, 50_000)
    assert "all at once: 68.2 million numbers move; in blocks: 12.1 million numbers move" in alt


def test_black_text_is_noticed():
    with plt.rc_context({**pictures.STYLE, "axes.labelcolor": "black"}):
        figure, _ = DRAWN_PICTURES["tanh"][0].__wrapped__()
    assert outside_of_anything(figure) == ["x", "tanh x"]
    with plt.rc_context({**pictures.STYLE, "text.color": "#eeeeee"}):
        figure, _ = DRAWN_PICTURES["tanh"][0].__wrapped__()
    assert "tanh 0 = 0" in illegible(figure)


@pytest.mark.parametrize("colour", ["BLUE", "ORANGE", "GREEN", "PURPLE", "GREY"])
def test_each_colour_stands_out_from_both_backgrounds_and_bears_white_text(colour):
    colour = getattr(pictures, colour)
    assert min(contrast(colour, theme) for theme in THEMES.values()) >= 3
    assert contrast(colour, "white") >= 3.5


def test_a_picture_is_shown_as_html_with_its_alt_text(monkeypatch):
    bundles = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: bundles.append(data))
    masks.tables({"<both>": SQUARE > 0}, ['"', "<pad>"])
    assert (
        bundles[0]["text/plain"]
        == 'Masks of the sentence " <pad>. Ticks in each row: <both>, 1, 2.'
    )
    assert 'alt="Masks of the sentence &quot; &lt;pad&gt;. Ticks' in bundles[0]["text/html"]
    assert plt.get_fignums() == []


def test_a_heatmap_frames_the_largest_of_each_row_and_hatches_what_is_hidden():
    _, axes = plt.subplots()
    bar = pictures.heatmap(
        axes,
        WEIGHTS,
        ["a", "b"],
        ["x", "y", "z"],
        numbers=True,
        hidden=WEIGHTS == 0.1,
    )
    assert len(axes.collections[0].get_paths()) == 1  # the second row is uniform
    assert [p.get_hatch() for p in axes.patches] == ["//"] and axes.patches[0].get_xy() == (
        1.5,
        -0.5,
    )
    assert [t.get_text() for t in axes.texts] == ["0.70", "0.20", "0.10", "0.33", "0.33", "0.33"]
    assert bar.ax.get_ylabel() == "attention weight"


def test_the_alt_text_of_an_alignment_says_what_each_word_looks_at():
    _, alt = qkv.alignment.__wrapped__(*DRAWN_PICTURES["alignment"][1])
    assert "0.1000 to 0.7000" in alt and alt.endswith("each row: le → the; x: all equal.")


def test_the_pictures_of_positions_say_what_was_computed():
    _, alt = positions.by_distance.__wrapped__(*DRAWN_PICTURES["diagonals"][1])
    assert "on one diagonal differ by up to 1; with RoPE" in alt
    _, alt = positions.clocks.__wrapped__(*DRAWN_PICTURES["clocks"][1])
    assert "columns 0 and 1 by 3.000; columns 2 and 3 by 0.300" in alt
    _, alt = positions.seen.__wrapped__(*DRAWN_PICTURES["seen"][1])
    assert "pair 0: 3 turns; pair 1: 0.3 turns. Of 2 pairs, 1 make less than one full turn" in alt
    _, alt = positions.beyond.__wrapped__(*DRAWN_PICTURES["beyond"][1])
    assert "one: no positions 0.33 to 0.00, sinusoids 0.33 to 0.00" in alt
    _, alt = positions.encoding.__wrapped__(*DRAWN_PICTURES["waves"][1])
    assert "column 0: 6" in alt


def test_the_bars_of_the_logit_lens_say_what_was_computed():
    figure, alt = looking_inside.lens.__wrapped__(*DRAWN_PICTURES["lens"][1])
    assert [bar.get_width() for bar in figure.axes[0].patches] == [14.6, 7.5]
    assert "token vectors 14.60, attention 0 7.50. A dashed line marks a uniform guess: 5.35" in alt


def test_weights_are_printed_in_thousandths(capsys):
    qkv.print_thousandths(WEIGHTS, ["le", "x"], ["the", "cat", "."])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "        le 700.0*200.0 100.0 ",
        "         x 333.3 333.3 333.3 ",
    ]


# The notebooks.


def cells(lab):
    notebook = nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def drawing(sources):
    """Lines that draw by hand what a function of `attention_labs.pictures` should draw."""
    by_hand = re.compile(
        r"\b(plt|matplotlib|subplots|imshow)\b|\baxes\.|\bfigure[.,]|(?<!bar\.)(?<!def )\b(show|heatmap)\(",
    )
    return [line for source in sources for line in source.splitlines() if by_hand.search(line)]


@pytest.mark.parametrize("lab", LABS)
def test_no_cell_draws_by_hand(lab):
    assert drawing(cell.source for cell in cells(lab)) == []


def test_a_cell_that_draws_is_noticed():
    assert drawing(["x = 1\nfigure, axes = plt.subplots()"]) == ["figure, axes = plt.subplots()"]


def find_untagged_cells(notebook_cells):
    """Cells that draw and are not marked as illustrations."""
    return [
        c.id
        for c in notebook_cells
        if "pictures." in c.source and c.id != "setup" and "illustration" not in tags(c)
    ]


def tags(cell):
    return cell.metadata.get("tags", [])


@pytest.mark.parametrize("lab", LABS)
def test_each_picture_is_an_illustration_which_marking_skips(lab):
    assert any("pictures." in cell.source for cell in cells(lab))
    assert find_untagged_cells(cells(lab)) == []


def test_a_picture_without_the_tag_is_noticed():
    cell = nbformat.v4.new_code_cell("pictures.shapes()")
    assert find_untagged_cells([cell]) == [cell.id]
