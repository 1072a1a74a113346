"""Interactive pictures without a browser: a still picture, and pictures that follow their controls."""

import re
import sys
from types import SimpleNamespace

import IPython.display
import numpy as np
import pytest

from attention_labs import bridge, tiny_model, touch

VIEW = "application/vnd.jupyter.widget-view+json"
WORDS = ["le", "<pad>"]


class Shown(list):
    """Return the displayed bundles, one per output, after their updates."""

    def display(self, bundle, raw, display_id=None):
        self.append(bundle)
        return self if display_id else None

    def update(self, bundle, raw):
        self[-1] = bundle

    @property
    def alt(self):
        return re.search('alt="([^"]*)"', self[-1]["text/html"])[1]

    @property
    def controls(self):
        from ipywidgets import Widget

        return Widget.widgets[self[0][VIEW]["model_id"]].children


@pytest.fixture
def displayed_bundles(monkeypatch):
    bundles = Shown()
    monkeypatch.setattr(IPython.display, "display", bundles.display)
    return bundles


def encoding(length, size):
    return np.ones((length, size))


def test_without_ipywidgets_there_is_a_still(displayed_bundles, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    touch.clocks(encoding)
    [bundle] = displayed_bundles
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == displayed_bundles.alt
    assert "position 23" in bundle["text/plain"]


def test_the_picture_is_an_output_of_its_own_for_pages_without_a_kernel(displayed_bundles):
    touch.stages(lambda step: np.eye(2) + step, [0, 5], WORDS, WORDS)
    assert [set(bundle) for bundle in displayed_bundles] == [{VIEW}, {"text/plain", "text/html"}]
    assert "after 0 steps" in displayed_bundles.alt


@pytest.mark.long
def test_the_copying_head_follows_the_step(displayed_bundles):
    copying = np.zeros((4, 4))
    copying[[2, 3], [1, 2]] = 1
    touch.copying(lambda step: copying * step / 10, [0, 5, 10], ["a", "b", "a", "b"])
    assert "after 0 steps, 0.00." in displayed_bundles.alt
    (slider,) = displayed_bundles.controls
    slider.value = 5
    assert "after 5 steps, 0.50." in displayed_bundles.alt


def test_the_picture_and_its_alt_text_follow(displayed_bundles):
    touch.temperature(lambda t: np.full((2, 2), t / 10), WORDS, WORDS)
    (slider,) = displayed_bundles.controls
    first_bundle = displayed_bundles[-1]
    slider.value = 1.0
    assert displayed_bundles[-1] != first_bundle
    assert "temperature 1," in displayed_bundles.alt
    assert "0.100 to 0.100" in displayed_bundles.alt


@pytest.mark.long
def test_a_mask_of_ones_own_and_one_turned_round(displayed_bundles):
    touch.mask(lambda scores, visible: np.where(visible, 0.5, 0.0), np.zeros((2, 2)), WORDS)
    buttons, _, *rows = displayed_bundles.controls
    cells = [cell for row in rows for cell in row.children[1:]]
    assert [cell.description for cell in cells] == ["✓", "×", "✓", "✓"]
    assert cells[1].tooltip == "le may attend to <pad>"
    cells[1].value = True
    assert "with 4 ticks" in displayed_bundles.alt
    buttons.children[-1].click()
    assert [cell.description for cell in cells] == ["×", "×", "×", "×"]
    assert "le attends to nobody" in displayed_bundles.alt


def test_a_mask_begins_as_one_of_four(displayed_bundles, monkeypatch):
    monkeypatch.setattr(touch, "_render", lambda draw, cells: {})  # each cell would be drawn anew
    touch.mask(lambda scores, visible: visible * 1.0, np.zeros((3, 3)), ["le", "chat", "<pad>"])
    buttons, _, *rows = displayed_bundles.controls
    starts = {}
    for button in buttons.children[:-1]:
        button.click()
        signs = ["".join(cell.description for cell in row.children[1:]) for row in rows]
        starts[button.description] = signs
    assert starts == {
        "causal": ["✓××", "✓✓×", "✓✓✓"],
        "all": ["✓✓✓"] * 3,
        "window of 2": ["✓××", "✓✓×", "×✓✓"],
        "last word is padding": ["✓✓×"] * 3,
    }


def test_softmax_is_cut_where_the_slider_stands(displayed_bundles):
    def merge_softmax(max_a, sum_a, out_a, max_b, sum_b, out_b):
        largest = np.maximum(max_a, max_b)
        a, b = np.exp(max_a - largest), np.exp(max_b - largest)
        return largest, a * sum_a + b * sum_b, a[:, None] * out_a + b[:, None] * out_b

    touch.cut(merge_softmax)
    (slider,) = displayed_bundles.controls
    merged = displayed_bundles.alt.partition("merged, ")[2]
    assert "8 scores, the first 3 in part a: part a, max 2.00" in displayed_bundles.alt
    assert merged.startswith("max 3.00, sum 1.907, out ("), "of all eight scores"
    assert (slider.min, slider.value, slider.max) == (1, 3, 7)
    slider.value = 5
    assert "the first 5 in part a: part a, max 3.00" in displayed_bundles.alt
    assert "part b, max 1.50" in displayed_bundles.alt
    assert displayed_bundles.alt.partition("merged, ")[2] == merged, "wherever it is cut"


def test_heads_that_are_switched_off_are_named_and_so_is_what_is_written(displayed_bundles):
    tiny = tiny_model.load()

    def next_token_logits(tokens, parameters, heads):
        return np.zeros((*tokens.shape, 210)) + 9 * (
            np.arange(210) == len(parameters.get("gone", ()))
        )

    twice = np.arange(24).reshape(2, 12)
    touch.heads(next_token_logits, lambda *gone: {"gone": gone}, tiny, twice)
    ticks = displayed_bundles.controls
    assert [tick.description for tick in ticks][::3] == ["layer 0, head 0", "layer 1, head 1"]
    ticks[1].value = ticks[2].value = False
    alt = displayed_bundles.alt
    assert "layer 0, head 1 and layer 1, head 0, first time" in alt
    assert f"then nora {' '.join([tiny.words[2]] * 5)}." in alt


def test_an_answer_that_raises_says_so_in_place_of_the_picture(displayed_bundles):
    touch.clocks(lambda length, size: np.ones((24, size)))
    (slider,) = displayed_bundles.controls
    slider.value = 30
    assert displayed_bundles[-1]["text/html"].startswith("<p>IndexError: ")
    slider.value = 3
    assert "position 3," in displayed_bundles.alt


def test_without_pytorch_a_bridge_says_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert bridge.torch() is None
    output = capsys.readouterr().out
    assert output.count("\n") == 1
    assert "PyTorch is not installed here" in output


def test_a_bridge_that_stands_gives_the_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", np)
    assert bridge.torch() is np


def test_a_bridge_with_a_broken_library_is_none(monkeypatch, capsys):
    """PyTorch without one of its shared libraries raises an OSError."""

    def fail(name, *_):
        if name == "torch":
            raise OSError("libcudart.so: cannot open shared object file")
        return real_import(name, *_)

    real_import = __import__
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr("builtins.__import__", fail)
    assert bridge.torch() is None
    assert "PyTorch is not installed here" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "sign"), [(True, "✓"), (False, "×")])
def test_a_cell_of_a_mask_shows_its_state(value, sign):
    cell = SimpleNamespace(value=value, description="")
    touch._sign({"owner": cell})
    assert cell.description == sign


def test_a_slider_waits_until_it_rests_and_has_room_for_its_name():
    """Each value draws a picture, which takes longer than a slider is dragged over it."""
    widgets = SimpleNamespace(IntSlider=dict, Layout=dict)
    options = touch._slider(widgets, "IntSlider", "position", min=0, max=59)
    assert options["continuous_update"] is False
    assert (options["description"], options["min"], options["max"]) == ("position", 0, 59)
    assert options["style"] == {"description_width": "initial"}


def test_the_error_of_an_answer_is_escaped(displayed_bundles):
    def fail(step):
        if step:
            raise ValueError("<script>")
        return np.eye(2)

    touch.stages(fail, [0, 5], WORDS, WORDS)
    (slider,) = displayed_bundles.controls
    slider.value = 5
    assert displayed_bundles[-1]["text/html"] == "<p>ValueError: &lt;script&gt;</p>"
