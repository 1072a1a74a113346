"""What the labs give to touch, without a browser: a still where nothing can move, and pictures that follow."""

import re
import sys

import IPython.display
import numpy as np
import pytest

from attention_labs import bridge, tiny_model, touch

VIEW = "application/vnd.jupyter.widget-view+json"
WORDS = ["le", "<pad>"]


@pytest.fixture
def shown(monkeypatch):
    """What is displayed."""
    found = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: found.append(bundle))
    return found


def encoding(length, size):
    return np.ones((length, size))


def alt_of(html):
    return re.search('alt="([^"]*)"', html)[1]


def test_without_ipywidgets_there_is_a_still(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    touch.clocks(encoding)
    [bundle] = shown
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"] == alt_of(bundle["text/html"])
    assert "position 23" in bundle["text/plain"]


def test_what_can_be_touched_carries_its_still_for_pages_without_a_kernel(shown):
    touch.stages(lambda step: np.eye(2) + step, [0, 5], WORDS, WORDS)
    [bundle] = shown
    assert set(bundle) == {VIEW, "text/plain", "text/html"}
    assert "after 0 steps" in alt_of(bundle["text/html"])


def controls_of(bundle):
    """The controls and the picture of what is shown."""
    from ipywidgets import Widget

    box = Widget.widgets[bundle[VIEW]["model_id"]]
    return box.children[:-1], box.children[-1]


def test_the_picture_and_its_alt_text_follow(shown):
    touch.temperature(lambda t: np.full((2, 2), t / 10), WORDS, WORDS)
    (slider,), picture = controls_of(shown[0])
    before = picture.value
    slider.value = 1.0
    assert picture.value != before
    assert "temperature 1," in alt_of(picture.value)
    assert "0.100 to 0.100" in alt_of(picture.value)


def test_a_mask_of_ones_own_and_one_turned_round(shown):
    touch.mask(lambda scores, allowed: np.where(allowed, 0.5, 0.0), np.zeros((2, 2)), WORDS)
    (buttons, _, *rows), picture = controls_of(shown[0])
    cells = [cell for row in rows for cell in row.children[1:]]
    assert [cell.description for cell in cells] == ["✓", "×", "✓", "✓"]
    assert cells[1].tooltip == "le may attend to <pad>"
    cells[1].value = True
    assert "with 4 ticks" in alt_of(picture.value)
    buttons.children[-1].click()
    assert [cell.description for cell in cells] == ["×", "×", "×", "×"]
    assert "le attends to nobody" in alt_of(picture.value)


def test_heads_that_are_switched_off_are_named_and_so_is_what_is_written(shown):
    tiny = tiny_model.load()

    def next_token_logits(tokens, parameters, heads):
        return np.zeros((*tokens.shape, 210)) + 9 * (np.arange(210) == len(parameters.get("gone", ())))

    twice = np.arange(24).reshape(2, 12)
    touch.heads(next_token_logits, lambda *gone: {"gone": gone}, tiny, twice)
    ticks, picture = controls_of(shown[0])
    assert [tick.description for tick in ticks][::3] == ["layer 0, head 0", "layer 1, head 1"]
    ticks[1].value = ticks[2].value = False
    alt = alt_of(picture.value)
    assert "layer 0, head 1 and layer 1, head 0, first time" in alt
    assert f"then nora {' '.join([tiny.words[2]] * 5)}." in alt


def test_an_answer_that_raises_says_so_in_place_of_the_picture(shown):
    touch.clocks(lambda length, size: np.ones((24, size)))
    (slider,), picture = controls_of(shown[0])
    slider.value = 30
    assert picture.value.startswith("<p>IndexError: ")
    slider.value = 3
    assert "position 3," in alt_of(picture.value)


def test_without_pytorch_a_bridge_says_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert bridge.torch() is None
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "PyTorch is not installed here" in said


def test_a_bridge_that_stands_gives_the_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", np)
    assert bridge.torch() is np
