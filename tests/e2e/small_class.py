"""A small class's submissions for the first lab: right, wrong, empty, and hostile in many ways."""

from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.authoring.lab import read_lab
from autograder.core.course import read_course
from e2e.driving import MISCHIEF, ROOT

COURSE = read_course(ROOT)
LAB = "additive-attention"
ACT = f"window.{MISCHIEF}=1;document.title='{MISCHIEF}';console.log('{MISCHIEF}');fetch('/{MISCHIEF}')"
SCRIPT = f"<script>{ACT};alert('{MISCHIEF}')</script>"
IMAGE = f'<img src="/{MISCHIEF}.png" onerror="{ACT}">'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{ACT}"><script>{ACT}</script></svg>'
LINK = f"[click](javascript:{ACT})"
LATEX = rf"$\href{{javascript:{ACT}}}{{x}}$ $\unicode{{x}}$ </script>{SCRIPT}"
FRAME = f'<iframe srcdoc="<script>parent.{MISCHIEF}=1</script>" src="/{MISCHIEF}"></iframe>'
STYLE = f"<style>@import '/{MISCHIEF}.css'</style>"
OUTPUTS = [SCRIPT, IMAGE, SVG, LINK, LATEX, FRAME, STYLE]

NO_TANH = """def alignment(encoder_states, decoder_state, layer_1=layer_1, layer_2=layer_2):
    copies = np.repeat(decoder_state, len(encoder_states), axis=0)
    return np.concatenate([encoder_states, copies], axis=1) @ layer_1 @ layer_2"""

SHOWS_EVERYTHING = f"""
import sys
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display
attacks = {OUTPUTS!r}
for attack in attacks:
    print(attack)
    print(attack, file=sys.stderr)
    for kind in (HTML, Javascript, Latex, Markdown):
        display(kind(attack))
    display({{"image/svg+xml": attack, "text/html": attack, "application/javascript": attack}}, raw=True)
    display({{"image/png": '">' + attack, "application/vnd.jupyter.widget-view+json": attack}}, raw=True)
"""

RAISES = f"raise ValueError({SCRIPT + IMAGE!r})"


def fill_answers(**answers: str):
    """A copy of the released notebook with these sources, by cell id, `_` for `-`."""
    notebook = nbformat.read(COURSE.released_notebook_path(LAB), as_version=4)
    sources = {name.replace("_", "-"): source for name, source in answers.items()}
    for cell in notebook.cells:
        cell.source = sources.get(cell.id, cell.source)
    return notebook


def submissions() -> dict[str, nbformat.NotebookNode]:
    """The class: student and notebook."""
    cells = read_lab(COURSE, LAB).reference_cells
    right = {name: cells[name] for name in ("alignment", "attention")}
    ada = fill_answers(
        **right,
        explain_tanh="Without tanh the decoder's part is the same for *every* word.",
    )
    ben = fill_answers(
        **{**right, "alignment": NO_TANH},
        explain_tanh="It is slower. " + " ".join(OUTPUTS),
    )
    cyd = fill_answers(**right, explain_tanh="\n\n".join(OUTPUTS))
    cyd.cells[3:3] = [new_code_cell(SHOWS_EVERYTHING), new_code_cell(RAISES)]
    cyd.cells += [new_markdown_cell(attack) for attack in OUTPUTS]
    eve = fill_answers(alignment=f"def alignment(*a, **k):\n    {RAISES}", explain_tanh=SCRIPT)
    forged_outputs = [
        new_output("display_data", data={"text/html": x, "image/svg+xml": x}) for x in OUTPUTS
    ]
    for cell in eve.cells:
        if cell.cell_type == "code":  # as if the saved outputs were believed
            cell.outputs = deepcopy(forged_outputs)
    return {"ada": ada, "ben": ben, "cyd": cyd, "dan": fill_answers(), "eve": eve}


def submit(classroom: Path) -> None:
    """Put the class's notebooks where `autograder grade` looks for them."""
    for student, notebook in submissions().items():
        folder = classroom / "submitted" / student / LAB
        folder.mkdir(parents=True)
        nbformat.write(deepcopy(notebook), folder / f"{LAB}.ipynb")
