"""Pictures to touch: a slider, ticks or a table of buttons, and a picture that follows, its alt text too.

All of them are worked with the keyboard: Tab goes from one to the next, the arrow keys move a slider, the space bar
presses. Where nothing can move (no ipywidgets, or a page without a kernel), the picture stands there: a still.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from inspect import unwrap
from typing import Any

import numpy as np

from attention_labs.pictures import STYLE, image, plt, png


def _pictures(lab: str) -> Any:
    """A lab's own pictures. Its notebook imports them too; imported here, each would make every lab's verdicts stale."""
    return import_module(f"attention_labs.pictures.{lab}")


def _touched(
    draw: Callable[..., tuple],
    first: Mapping[str, Any],
    make: Callable[[Any], Mapping[str, Any]],
    arrange: Callable[[Any, Mapping[str, Any]], list] = lambda widgets, controls: list(controls.values()),
) -> None:
    """Show a picture below its controls, and draw it again whenever one of these moves.

    Parameters
    ----------
    draw : callable
        From the controls' values, by their names, to a figure and its alt text.
    first : mapping of str to values
        Those of the still.
    make : callable
        From the module ipywidgets to the controls by name, set to `first`.
    arrange : callable
        From ipywidgets and the controls to what stands above the picture, from the top; by default the controls.
    """
    from IPython.display import display

    try:
        import ipywidgets
    except ImportError:
        display(_drawn(draw, first), raw=True)
        return
    controls = make(ipywidgets)
    box = ipywidgets.VBox(arrange(ipywidgets, controls))
    # Without a text of its own: where nothing can move, the picture says it all.
    display(
        {view: model for view, model in box._repr_mimebundle_().items() if view != "text/plain"}, raw=True
    )
    # An output beside the controls, not a part of them: it is saved with the notebook, and there without a kernel.
    picture = display(_drawn(draw, first), raw=True, display_id=True)

    def follow(_: Any) -> None:
        try:
            shown = _drawn(draw, {name: control.value for name, control in controls.items()})
        except Exception as error:  # noqa: BLE001 - a student's function raised it, where nobody would see it
            said = f"{type(error).__name__}: {error}"
            shown = {"text/plain": said, "text/html": f"<p>{escape(said)}</p>"}
        picture.update(shown, raw=True)

    for control in controls.values():
        control.observe(follow, "value")


def _drawn(draw: Callable[..., tuple], values: Mapping[str, Any]) -> dict[str, str]:
    with plt.rc_context(STYLE):
        figure, alt = draw(**values)
        content = png(figure, 100)
    plt.close(figure)
    return {"text/plain": alt, "text/html": image(content, alt)}


def _slider(widgets: Any, kind: str, name: str, **options: Any) -> Any:
    """A slider that is drawn after it has come to rest, wide enough for its name."""
    style = {"description_width": "initial"}
    layout = widgets.Layout(width="28em", max_width="95%")
    return getattr(widgets, kind)(
        description=name, continuous_update=False, style=style, layout=layout, **options
    )


def opposite(
    alignment: Callable, softmax: Callable, encoder_states: np.ndarray, decoder_state: np.ndarray
) -> None:
    """From the decoder state s over zeros to −s: the weights (K,), and the context vector (n,)."""
    additive = _pictures("additive")

    def draw(times: float) -> tuple:
        weights = softmax(alignment(encoder_states, times * decoder_state))
        context = np.sum(weights * encoder_states, axis=0)
        return unwrap(additive.weights_and_context)(np.ravel(weights), context, times)

    _touched(
        draw,
        {"times": 1.0},
        lambda w: {
            "times": _slider(w, "FloatSlider", "decoder state: s times", value=1, min=-1, max=1, step=0.25)
        },
    )


def temperature(weights_at: Callable, asking: Sequence[str], answering: Sequence[str]) -> None:
    """The weights (L_q, L_k) that `weights_at` gives at a temperature, from 0.001 to 3."""
    qkv = _pictures("qkv")

    def draw(temperature: float) -> tuple:
        return unwrap(qkv.at_temperature)(weights_at(temperature), temperature, asking, answering)

    ends = {"value": 0.01, "min": -3, "max": 0.5, "step": 0.05, "readout_format": ".3g"}
    _touched(
        draw,
        {"temperature": 0.01},
        lambda w: {"temperature": _slider(w, "FloatLogSlider", "temperature", **ends)},
    )


def mask(masked_softmax: Callable, scores: np.ndarray, words: Sequence[str]) -> None:
    """A mask to click, cell by cell, over the scores (L, L) of one sentence; it begins as the causal one."""
    masks = _pictures("masks")

    places = [(row, column) for row in range(len(words)) for column in range(len(words))]
    causal = np.tri(len(words), dtype=bool)
    starts = {
        "causal": causal,
        "all": causal | True,
        "window of 2": causal & ~np.tri(len(words), k=-2, dtype=bool),
        "last word is padding": np.arange(len(words)) < np.broadcast_to(len(words) - 1, causal.shape),
    }

    def draw(**cells: bool) -> tuple:
        allowed = np.reshape([cells[f"{row} {column}"] for row, column in places], causal.shape)
        return unwrap(masks.under_a_mask)(masked_softmax(scores, allowed), words, allowed)

    def make(w: Any) -> dict:
        small = w.Layout(width="3.4em")
        cells = {}
        for row, column in places:
            tells = f"{words[row]} may attend to {words[column]}"
            cell = w.ToggleButton(value=bool(causal[row, column]), tooltip=tells, layout=small)
            cell.observe(_sign, "value")
            _sign({"owner": cell})
            cells[f"{row} {column}"] = cell
        return cells

    def arrange(w: Any, cells: Mapping[str, Any]) -> list:
        def choose(allowed: np.ndarray) -> Callable:
            def chosen(_: Any) -> None:
                for (row, column), value in zip(places, allowed.ravel().tolist()):
                    cells[f"{row} {column}"].value = value

            return chosen

        buttons = []
        for name, allowed in starts.items():
            buttons.append(w.Button(description=name, layout=w.Layout(width="auto")))
            buttons[-1].on_click(choose(allowed))
        turned = w.Button(description="turned round", layout=w.Layout(width="auto"))
        turned.on_click(lambda _: choose(~np.reshape([c.value for c in cells.values()], causal.shape))(_))
        width = w.Layout(width="5em")
        rows = [
            w.HBox(
                [w.Label(layout=width), *(w.Label(word, layout=w.Layout(width="3.4em")) for word in words)]
            )
        ]
        rows += [
            w.HBox([w.Label(word, layout=width), *(cells[f"{row} {column}"] for column in range(len(words)))])
            for row, word in enumerate(words)
        ]
        return [w.HBox([*buttons, turned], layout=w.Layout(flex_flow="row wrap")), *rows]

    _touched(draw, {f"{row} {column}": bool(causal[row, column]) for row, column in places}, make, arrange)


def _sign(change: Mapping[str, Any]) -> None:
    change["owner"].description = "✓" if change["owner"].value else "×"


def clocks(sinusoidal_encoding: Callable, other: int = 20) -> None:
    """The hands of a position beside those of a fixed one, and the dot product of the two."""
    positions = _pictures("positions")

    encoding = sinusoidal_encoding(60, 64)

    def draw(position: int) -> tuple:
        return unwrap(positions.hands)(encoding, position, other, pairs=(0, 4, 8, 16))

    _touched(
        draw,
        {"position": 23},
        lambda w: {"position": _slider(w, "IntSlider", "position", value=23, min=0, max=59)},
    )


def heads(next_token_logits: Callable, without: Callable, tiny: Any, twice: np.ndarray) -> None:
    """Heads of the tiny model to switch off: the loss on words said twice (batch, 2 L), and how it goes on.

    Parameters
    ----------
    next_token_logits, without : callables
        As in the lab: `without` takes heads as (layer, head) and gives the model's parameters.
    tiny : attention_labs.tiny_model.TinyModel
    twice : numpy.ndarray of int, shape (batch, 2 L)
    """
    tiny_transformer = _pictures("tiny_transformer")

    names = {
        f"layer {layer}, head {head}": (layer, head)
        for layer in range(len(tiny.parameters["blocks"]))
        for head in range(tiny.heads)
    }
    prompt = "nora weaver hid the red key . then nora"

    def curve(parameters: Mapping) -> np.ndarray:
        logits = next_token_logits(twice, parameters, tiny.heads)[:, :-1]
        right = np.take_along_axis(logits, twice[:, 1:, np.newaxis], axis=-1)[..., 0]
        top = logits.max(axis=-1)
        return (top + np.log(np.exp(logits - top[..., np.newaxis]).sum(axis=-1)) - right).mean(axis=0)

    def story(parameters: Mapping) -> str:
        tokens = tiny.encode(prompt)
        for _ in range(5):
            best = next_token_logits(tokens, parameters, tiny.heads)[0, -1].argmax()
            tokens = np.append(tokens, [[best]], axis=1)
        return tiny.decode(tokens[0])

    whole = curve(tiny.parameters)

    def draw(**ticked: bool) -> tuple:
        gone = [name for name, on in ticked.items() if not on]
        parameters = without(*(names[name] for name in gone))
        curves = {"nothing": whole}
        if gone:
            curves["\n".join(gone)] = curve(parameters)
        return unwrap(tiny_transformer.switched_off)(curves, twice.shape[1] // 2, story(parameters))

    _touched(
        draw,
        dict.fromkeys(names, True),
        lambda w: {name: w.Checkbox(value=True, description=name, indent=False) for name in names},
    )


def cut(merge_softmax: Callable) -> None:
    """A row of scores cut in two anywhere: what is kept of each part, and both merged."""
    long_contexts = _pictures("long_contexts")

    scores = np.array([0.5, 2.0, -1.0, 1.0, 3.0, 0.0, 1.5, -0.5])
    values = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0], [0, 2], [1, 0], [0, 1], [2, 2]])

    def part(start: int, end: int) -> tuple:
        largest = scores[start:end].max()
        powers = np.exp(scores[start:end] - largest)
        return np.array([largest]), np.array([powers.sum()]), (powers @ values[start:end])[np.newaxis]

    def draw(place: int) -> tuple:
        a, b = part(0, place), part(place, len(scores))
        return unwrap(long_contexts.cut_in_two)(scores, place, a, b, merge_softmax(*a, *b))

    _touched(
        draw,
        {"place": 3},
        lambda w: {"place": _slider(w, "IntSlider", "keys in part a", value=3, min=1, max=len(scores) - 1)},
    )


def stages(
    weights_at: Callable, steps: Iterable[int], asking: Sequence[str], answering: Sequence[str]
) -> None:
    """The weights (L_q, L_k) of one sentence after some steps of training."""
    learning = _pictures("learning")

    steps = list(steps)

    def draw(step: int) -> tuple:
        return unwrap(learning.emerging)({f"after {step} steps": weights_at(step)}, asking, answering)

    _touched(
        draw,
        {"step": steps[0]},
        lambda w: {"step": _slider(w, "SelectionSlider", "step", options=steps, value=steps[0])},
    )
