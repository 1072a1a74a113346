"""Interactive pictures: controls above a picture that is drawn again when they change.

All controls work with the keyboard: Tab goes from one to the next, the arrow keys move a slider,
the space bar presses. Without ipywidgets, or on a page without a kernel, there is a still picture.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from inspect import unwrap
from typing import Any

import numpy as np

from attention_labs.pictures import STYLE, image, plt, png


def _pictures(lab: str) -> Any:
    """Import the pictures of a lab.

    Not at the top of this module: a change of one lab's pictures would make the verdicts of all
    labs stale.
    """
    return import_module(f"attention_labs.pictures.{lab}")


def _show_interactive(
    draw: Callable[..., tuple],
    first: Mapping[str, Any],
    make: Callable[[Any], Mapping[str, Any]],
    arrange: Callable[[Any, Mapping[str, Any]], list] = lambda widgets, controls: list(
        controls.values(),
    ),
) -> None:
    """Show a picture below its controls, and draw it again after each change of a control.

    Parameters
    ----------
    draw : callable
        From the controls' values, by their names, to a figure and its alt text.
    first : mapping of str to values
        Values of the still picture.
    make : callable
        From the module ipywidgets to the controls by name, set to `first`.
    arrange : callable
        From ipywidgets and the controls to the widgets above the picture, from the top; by default
        the controls.
    """
    from IPython.display import display

    try:
        import ipywidgets
    except ImportError:
        display(_render(draw, first), raw=True)
        return
    controls = make(ipywidgets)
    box = ipywidgets.VBox(arrange(ipywidgets, controls))
    # Send no text with the controls: a page that cannot show them then shows only the picture.
    display(
        {view: model for view, model in box._repr_mimebundle_().items() if view != "text/plain"},
        raw=True,
    )
    # Display the picture as an output of its own, not as a widget: it is then saved with the
    # notebook, and can be seen without a kernel.
    picture = display(_render(draw, first), raw=True, display_id=True)

    def follow(_: Any) -> None:
        try:
            content = _render(draw, {name: control.value for name, control in controls.items()})
        except Exception as error:  # noqa: BLE001 - of a student's function, otherwise invisible
            message = f"{type(error).__name__}: {error}"
            content = {"text/plain": message, "text/html": f"<p>{escape(message)}</p>"}
        picture.update(content, raw=True)

    for control in controls.values():
        control.observe(follow, "value")


def _render(draw: Callable[..., tuple], values: Mapping[str, Any]) -> dict[str, str]:
    with plt.rc_context(STYLE):
        figure, alt = draw(**values)
        content = png(figure, 100)
    plt.close(figure)
    return {"text/plain": alt, "text/html": image(content, alt)}


def _slider(widgets: Any, kind: str, name: str, **options: Any) -> Any:
    """Return a slider that is wide enough for its name and reports its value only at rest."""
    style = {"description_width": "initial"}
    layout = widgets.Layout(width="28em", max_width="95%")
    return getattr(widgets, kind)(
        description=name,
        continuous_update=False,
        style=style,
        layout=layout,
        **options,
    )


def temperature(weights_at: Callable, asking: Sequence[str], answering: Sequence[str]) -> None:
    """Show attention weights (L_q, L_k), with a slider for the temperature from 0.001 to 3."""
    qkv = _pictures("qkv")

    def draw(temperature: float) -> tuple:
        return unwrap(qkv.at_temperature)(weights_at(temperature), temperature, asking, answering)

    ends = {"value": 0.01, "min": -3, "max": 0.5, "step": 0.05, "readout_format": ".3g"}
    _show_interactive(
        draw,
        {"temperature": 0.01},
        lambda w: {"temperature": _slider(w, "FloatLogSlider", "temperature", **ends)},
    )


def mask(masked_softmax: Callable, scores: np.ndarray, words: Sequence[str]) -> None:
    """Show a mask with cells to click, at first causal, and the weights (L, L) under it."""
    masks = _pictures("masks")

    places = [*np.ndindex(len(words), len(words))]
    causal = np.tri(len(words), dtype=bool)
    starts = {
        "causal": causal,
        "all": causal | True,
        "window of 2": causal & ~np.tri(len(words), k=-2, dtype=bool),
        "last word is padding": np.arange(len(words))
        < np.broadcast_to(len(words) - 1, causal.shape),
    }

    def draw(**cells: bool) -> tuple:
        visible = np.reshape([cells[f"{row} {column}"] for row, column in places], causal.shape)
        return unwrap(masks.under_a_mask)(masked_softmax(scores, visible), words, visible)

    def make(w: Any) -> dict:
        small = w.Layout(width="3.4em")
        cells = {}
        for row, column in places:
            tooltip = f"{words[row]} may attend to {words[column]}"
            cell = w.ToggleButton(value=bool(causal[row, column]), tooltip=tooltip, layout=small)
            cell.observe(_sign, "value")
            _sign({"owner": cell})
            cells[f"{row} {column}"] = cell
        return cells

    def arrange(w: Any, cells: Mapping[str, Any]) -> list:
        def choose(visible: np.ndarray) -> Callable:
            def set_cells(_: Any) -> None:
                for (row, column), value in zip(places, visible.ravel().tolist()):
                    cells[f"{row} {column}"].value = value

            return set_cells

        buttons = []
        for name, visible in starts.items():
            buttons.append(w.Button(description=name, layout=w.Layout(width="auto")))
            buttons[-1].on_click(choose(visible))
        inverted_button = w.Button(description="turned round", layout=w.Layout(width="auto"))
        inverted_button.on_click(
            lambda _: choose(~np.reshape([c.value for c in cells.values()], causal.shape))(_),
        )
        width = w.Layout(width="5em")
        rows = [
            w.HBox(
                [
                    w.Label(layout=width),
                    *(w.Label(word, layout=w.Layout(width="3.4em")) for word in words),
                ],
            ),
        ]
        rows += [
            w.HBox(
                [
                    w.Label(word, layout=width),
                    *(cells[f"{row} {column}"] for column in range(len(words))),
                ],
            )
            for row, word in enumerate(words)
        ]
        return [w.HBox([*buttons, inverted_button], layout=w.Layout(flex_flow="row wrap")), *rows]

    _show_interactive(
        draw,
        {f"{row} {column}": bool(causal[row, column]) for row, column in places},
        make,
        arrange,
    )


def _sign(change: Mapping[str, Any]) -> None:
    change["owner"].description = "✓" if change["owner"].value else "×"


def clocks(sinusoidal_encoding: Callable, other: int = 20) -> None:
    """Show the clock hands of a position beside those of a fixed one, and their dot product."""
    positions = _pictures("positions")

    encoding = sinusoidal_encoding(60, 64)

    def draw(position: int) -> tuple:
        return unwrap(positions.hands)(encoding, position, other, pairs=(0, 4, 8, 16))

    _show_interactive(
        draw,
        {"position": 23},
        lambda w: {"position": _slider(w, "IntSlider", "position", value=23, min=0, max=59)},
    )


def heads(next_token_logits: Callable, without: Callable, tiny: Any, twice: np.ndarray) -> None:
    """Show the tiny model's loss and a continued text, with a checkbox that ablates each head.

    Parameters
    ----------
    next_token_logits, without : callables
        As in the lab: `without` takes heads as (layer, head) and gives the model's parameters.
    tiny : attention_labs.tiny_model.TinyModel
    twice : numpy.ndarray of int, shape (batch, 2 L)
    """
    looking_inside = _pictures("looking_inside")

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
        return (top + np.log(np.exp(logits - top[..., np.newaxis]).sum(axis=-1)) - right).mean(
            axis=0,
        )

    def story(parameters: Mapping) -> str:
        tokens = tiny.encode(prompt)
        for _ in range(5):
            best = next_token_logits(tokens, parameters, tiny.heads)[0, -1].argmax()
            tokens = np.append(tokens, [[best]], axis=1)
        return tiny.decode(tokens[0])

    full_curve = curve(tiny.parameters)

    def draw(**enabled: bool) -> tuple:
        ablated = [name for name, is_enabled in enabled.items() if not is_enabled]
        parameters = without(*(names[name] for name in ablated))
        curves = {"nothing": full_curve}
        if ablated:
            curves["\n".join(ablated)] = curve(parameters)
        return unwrap(looking_inside.switched_off)(curves, twice.shape[1] // 2, story(parameters))

    _show_interactive(
        draw,
        dict.fromkeys(names, True),
        lambda w: {name: w.Checkbox(value=True, description=name, indent=False) for name in names},
    )


def cut(merge_softmax: Callable) -> None:
    """Show softmax computed in two parts, cut anywhere: the state of each part, and both merged."""
    long_contexts = _pictures("long_contexts")

    scores = np.array([0.5, 2.0, -1.0, 1.0, 3.0, 0.0, 1.5, -0.5])
    values = np.array([[1.0, 0], [0, 1], [1, 1], [2, 0], [0, 2], [1, 0], [0, 1], [2, 2]])

    def part(start: int, end: int) -> tuple:
        largest = scores[start:end].max()
        powers = np.exp(scores[start:end] - largest)
        return (
            np.array([largest]),
            np.array([powers.sum()]),
            (powers @ values[start:end])[np.newaxis],
        )

    def draw(place: int) -> tuple:
        a, b = part(0, place), part(place, len(scores))
        return unwrap(long_contexts.cut_in_two)(scores, place, a, b, merge_softmax(*a, *b))

    _show_interactive(
        draw,
        {"place": 3},
        lambda w: {
            "place": _slider(w, "IntSlider", "keys in part a", value=3, min=1, max=len(scores) - 1),
        },
    )


def stages(
    weights_at: Callable, steps: Iterable[int], asking: Sequence[str], answering: Sequence[str]
) -> None:
    """Show the attention weights (L_q, L_k) of a sentence, with a slider for the training step."""
    learning = _pictures("learning")

    steps = list(steps)

    def draw(step: int) -> tuple:
        return unwrap(learning.emerging)(
            {f"after {step} steps": weights_at(step)},
            asking,
            answering,
        )

    _show_interactive(
        draw,
        {"step": steps[0]},
        lambda w: {"step": _slider(w, "SelectionSlider", "step", options=steps, value=steps[0])},
    )


def copying(weights_at: Callable, steps: Iterable[int], words: Sequence[str]) -> None:
    """Show the weights (L, L) of one head on a list said twice, after some steps of training."""
    training = _pictures("training")

    steps = list(steps)

    def draw(step: int) -> tuple:
        return unwrap(training.copying)({f"after {step} steps": weights_at(step)}, words)

    _show_interactive(
        draw,
        {"step": steps[0]},
        lambda w: {"step": _slider(w, "SelectionSlider", "step", options=steps, value=steps[0])},
    )
