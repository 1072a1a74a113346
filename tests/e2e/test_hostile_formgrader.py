"""A hostile submission in the formgrader, in a real browser: no spelling of a script link runs, nothing is fetched."""

import json
import shutil

import pytest
from hostile_class import LINKS, PIXEL
from nbformat.v4 import new_code_cell, new_markdown_cell
from our_course import lab
from sample_class import perfect

from e2e.driving import ROOT, environment, jupyterlab, run

LAB = "additive-attention"


def submit():
    """Every link in a Markdown cell, as a Markdown output, in an exception's words and in a type's name."""
    notebook = perfect(lab(LAB))
    for number, link in enumerate(LINKS):
        cell = new_markdown_cell("", id=f"m{number}")
        cell.source = f"{number}: {link}"
        notebook.cells.append(cell)
    shown = (
        f"from IPython.display import *\nlinks = {LINKS!r}\nfor link in links:\n    "
        "display(Markdown(link)); display(HTML(link)); display(Latex(link))\n"
    )
    notebook.cells.append(new_code_cell(shown, id="shown"))
    notebook.cells.append(
        new_code_cell(
            f"raise type({LINKS[1]!r}, (Exception,), {{}})('\\n\\n'.join(links))",
            id="e",
        ),
    )
    picture = new_markdown_cell("![mine](attachment:image.png)", id="picture")
    picture["attachments"] = {"image.png": {"image/png": PIXEL}}
    notebook.cells.append(picture)
    return json.dumps(notebook).encode()


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    home = tmp_path_factory.mktemp("trust")
    folder, env = home / "course", environment(home)
    folder.mkdir()
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("nbgrader_config.py", "course.toml"):
        shutil.copy(ROOT / name, folder)
    path = folder / "classroom" / "submitted" / "mallory" / LAB / f"{LAB}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(submit())
    graded_class = run(
        "autograder",
        "grade",
        LAB,
        "--classroom",
        folder / "classroom",
        cwd=folder,
        env=env,
    )
    if "sandbox" in graded_class.stderr and graded_class.returncode:
        pytest.skip(f"Submissions cannot be run here: {graded_class.stderr}")
    assert graded_class.returncode == 0, graded_class.stderr
    with jupyterlab(folder, home, env) as server:
        yield server


def test_no_link_runs_and_nothing_is_fetched(page, server):
    """`page` fails by itself when a script runs, a dialog opens or an address elsewhere is asked for."""
    page.goto(server.url("formgrader"))
    page.wait_for_load_state("networkidle")
    page.goto(f"{server.address}formgrader/gradebook/{LAB}/{LAB}")
    page.locator("a.name-hidden").first.wait_for()
    address = page.locator("a.name-hidden").first.get_attribute("href")
    page.goto(f"{server.address.rstrip('/')}{address}" if address.startswith("/") else address)
    page.wait_for_load_state("networkidle")
    assert (
        page.get_by_text("mallory", exact=False).count() or page.locator(".nbgrader_cell").count()
    )
    links = page.locator("#notebook-container a[href]")
    hrefs = page.evaluate(
        """() => [...document.querySelectorAll('#notebook-container a[href]')].map(a => a.href)""",
    )
    assert len(LINKS) >= 30
    assert hrefs, "the page has links, so that the test has something to click"
    bad = [href for href in hrefs if not href.startswith(("http://", "https://", "mailto:"))]
    assert bad == []
    # Whatever is there is clicked, but for links to the web: those lead away.
    page_address = page.url.split("#")[0]
    for index, href in enumerate(hrefs):
        if href.startswith(page_address):
            links.nth(index).click(force=True)
    assert not page.evaluate("() => window.mischief")
    pictures = page.evaluate(
        "() => [...document.querySelectorAll('#notebook-container img')].map(i => i.src)",
    )
    assert any(PIXEL in picture for picture in pictures)
    assert all(picture.startswith("data:image/") for picture in pictures if picture)
    assert page.locator("#notebook-container math").count()
