"""Make the screenshots of the README and the docs: JupyterLab, the class report, the formgrader.

Run it in the course's folder:  .venv/bin/python docs/screenshots.py
"""

import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from e2e.driving import Notebook, chromium, environment, jupyterlab, run  # noqa: E402

from autograder.authoring.lab import read_lab  # noqa: E402
from autograder.core.course import read_course  # noqa: E402

IMAGES = ROOT / "docs" / "images"
LARGEST = 250_000  # bytes
LAB = "qkv-attention"
NO_SCALE = """def calculate_weights(queries, keys):
    return stable_softmax(queries @ keys.T, axis=-1)"""


def keep(name: str, png: bytes) -> None:
    """Write a picture with as many colours as fit into a small file."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in (256, 128, 64, 32):
        buffer = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
        if buffer.tell() < LARGEST:
            break
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / f"{name}.png").write_bytes(buffer.getvalue())
    print(f"{name}.png  {picture.width} x {picture.height}  {buffer.tell() / 1000:.0f} kB")


def student(browser, home: Path) -> None:
    """The start page, and a mistake that is named."""
    env = environment(home)
    run("autograder", "start", home / "work", env=env)
    with jupyterlab(home / "work", home, env) as server:
        page = browser.new_page(viewport={"width": 1180, "height": 820})
        Notebook.at(page, server, "README.ipynb")
        lab = Notebook.at(page, server, f"{LAB}/{LAB}.ipynb")
        for name, source in read_lab(read_course(ROOT), LAB).reference_cells.items():
            if name in {"softmax", "stable-softmax", "calculate-weights", "attention-qkv"}:
                lab.write(name, NO_SCALE if name == "calculate-weights" else source)
        lab.run_all()
        lab.cell(lab.index("calculate-weights")).evaluate("cell => cell.scrollIntoView()")
        keep("lab", page.screenshot())
        page.close()


def instructor(browser, home: Path) -> None:
    """Grade a sample class; photograph its report and its submissions in the formgrader."""
    course, env = home / "course", environment(home)
    classroom = course / "classroom"
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        shutil.copytree(ROOT / name, course / name)
    for name in ("course.toml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, course)
    run("python", ROOT / "tests" / "sample_class.py", classroom, cwd=course, env=env)
    run("autograder", "collect", classroom / "download.zip", cwd=course, env=env)
    run("autograder", "grade", LAB, cwd=course, env=env)
    report = course / run("autograder", "report", cwd=course, env=env).stdout.strip()
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    page.goto(report.resolve().as_uri())
    keep("report", page.screenshot())
    with jupyterlab(course, home, env) as server:
        page.goto(server.url("formgrader"))
        page.wait_for_load_state("networkidle")
        page.goto(f"{server.address}formgrader/gradebook/{LAB}/{LAB}")
        page.locator("a.name-hidden").first.wait_for()
        keep("formgrader", page.screenshot())
    page.close()


def main() -> None:
    with TemporaryDirectory() as folder, chromium() as browser:
        for part in (student, instructor):
            home = Path(folder) / part.__name__
            home.mkdir()
            part(browser, home)


if __name__ == "__main__":
    main()
