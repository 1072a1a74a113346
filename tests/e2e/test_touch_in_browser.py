"""Interactive pictures with the keyboard alone: picture and alt text follow, and are saved."""

import nbformat
import pytest

from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from e2e.driving import ROOT, Notebook, environment, jupyterlab

LABS = read_labs(read_course(ROOT))
ANSWERS = {
    "attention-masks": ["masked-softmax"],
    "positions": ["sinusoidal-encoding"],
    "long-contexts": ["merge-softmax"],
}
WITHOUT_CONTROLS = """
rng = np.random.default_rng(0)
tiny, twice = tiny_model.load(), rng.integers(210, size=(3, 12))
def without(*gone):
    return {"gone": gone}
def next_token_logits(tokens, parameters, heads):
    return np.zeros((*tokens.shape, 210)) + len(parameters.get("gone", ())) * (np.arange(210) == 7)
"""
# Of each: its cell; what has the focus, by its place among those of its kind; the key; what the alt
# text says before and after.
EXPECTED_CHANGES = {
    "temperature": (
        "touch.temperature(lambda t: np.full((2, 2), 0.5), ['le', 'chat'], ['the', 'cat'])",
        (".noUi-handle", 0, "ArrowRight"),
        ("temperature 0.01,", "temperature 0.0112"),
    ),
    "mask": (
        "touch.mask(masked_softmax, np.ones((3, 3)), ['the', '<pad>', 'cat'])",
        (".widget-toggle-button", 1, "Space"),
        ("the attends to the 1.00;", "the attends to the 0.50, <pad> 0.50"),
    ),
    "a mask turned round": (
        "touch.mask(masked_softmax, np.ones((3, 3)), ['the', '<pad>', 'cat'])",
        (".widget-button:not(.widget-toggle-button)", 4, "Space"),
        ("with 6 ticks", "the attends to <pad> 0.50, cat 0.50"),
    ),
    "clocks": (
        "touch.clocks(sinusoidal_encoding)",
        (".noUi-handle", 0, "ArrowRight"),
        ("for position 23", "for position 24"),
    ),
    "heads": (
        "touch.heads(next_token_logits, without, tiny, twice)",
        ("input[type=checkbox]", 2, "Space"),
        ("nothing, first time", "layer 1, head 0, first time"),
    ),
    "cut": (
        "touch.cut(merge_softmax)",
        (".noUi-handle", 0, "ArrowRight"),
        ("the first 3 in part a", "the first 4 in part a"),
    ),
    "stages": (
        "touch.stages(lambda step: np.eye(2) + step, [0, 50, 1000], ['le', 'chat'], ['the', 'cat'])",
        (".noUi-handle", 0, "ArrowRight"),
        ("after 0 steps", "after 50 steps"),
    ),
    "an answer that raises": (
        "touch.clocks(lambda length, size: np.zeros((24, 64)))",
        (".noUi-handle", 0, "ArrowRight"),
        ("for position 23", None),
    ),
}


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """A notebook with all of them, and the answers that they need."""
    home = tmp_path_factory.mktemp("touch")
    folder = home / "work"
    folder.mkdir()
    cells = [
        "import numpy as np\nimport math\nfrom attention_labs import tiny_model, touch",
        WITHOUT_CONTROLS,
    ]
    for lab, names in ANSWERS.items():
        sources = {cell.id: cell.source for cell in LABS[lab].read_solution().cells}
        cells += [sources[name] for name in names]
    cells += [source for source, *_ in EXPECTED_CHANGES.values()]
    ids = [
        *(f"given-{n}" for n in range(len(cells) - len(EXPECTED_CHANGES))),
        *(name.replace(" ", "-") for name in EXPECTED_CHANGES),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, id=name) for name, source in zip(ids, cells)],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        },
    )
    nbformat.write(notebook, folder / "touch.ipynb")
    with jupyterlab(folder, home, environment(home)) as server:
        yield server


@pytest.mark.timeout(900)
def test_everything_to_touch_is_worked_with_the_keyboard(page, server):
    notebook = Notebook.at(page, server, "touch.ipynb")
    notebook.run_all()
    assert notebook.failed() == []
    page.set_viewport_size({"width": 900, "height": 900})
    notebook.close_file_browser()
    assert notebook.too_wide() == []
    for name, (_, (kind, place, key), (before, after)) in EXPECTED_CHANGES.items():
        cell = notebook.cell(notebook.index(name.replace(" ", "-")))
        picture, control = cell.locator("img"), cell.locator(kind).nth(place)
        assert before in picture.get_attribute("alt"), name
        source = picture.get_attribute("src")
        assert control.evaluate("e => e.tabIndex") == 0, f"{name}: the Tab key does not stop there"
        control.focus()
        page.keyboard.press(key)
        if after is None:
            cell.get_by_text("IndexError").wait_for()
            continue
        cell.locator(f'img[alt*="{after}"]').wait_for()
        assert picture.get_attribute("src") != source, name
    notebook.save()
    alts = notebook.panel.locator(".jp-OutputArea img").evaluate_all("all => all.map(i => i.alt)")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.reload()
    stills = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea img")
    stills.nth(len(alts) - 1).wait_for()
    assert stills.evaluate_all("all => all.map(i => i.alt)") == alts, (
        "the last picture stays without a kernel"
    )
