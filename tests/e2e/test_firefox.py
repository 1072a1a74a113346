"""Feedback pages and the report of a hostile hand-in in Firefox: no script runs, and nothing is asked for."""

import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hostile_class import LINKS, RUN, written
from nbformat.v4 import new_code_cell, new_markdown_cell
from our_course import lab
from sample_class import perfect

from e2e.driving import environment, run

LAB = "qkv-attention"
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
ACTS = (
    "<script>{run}</script>",
    "<img src='{at}/img' onerror=\"{run}\">",
    "<svg onload=\"{run}\"><image href='{at}/svg'/></svg>",
    "<style>body {{ background: url({at}/css) }} @import '{at}/import';</style>",
    "<link rel=stylesheet href='{at}/link'><link rel=prefetch href='{at}/prefetch'>",
    "<iframe src='{at}/frame'></iframe><iframe srcdoc='<script>{run}</script>'></iframe>",
    "<object data='{at}/object'></object><embed src='{at}/embed'>",
    "<video src='{at}/video' poster='{at}/poster' autoplay></video><audio src='{at}/audio' autoplay></audio>",
    "<meta http-equiv=refresh content='0;url={at}/refresh'><base href='{at}/base'>",
    '<details open ontoggle="{run}">x</details><input autofocus onfocus="{run}">',
    "<form action='{at}/form'><button autofocus>x</button></form><body onload=\"{run}\">",
    '<math><mtext><table><mglyph><style><img src=x onerror="{run}"></style></mglyph></table></mtext></math>',
    "<p style=\"background-image:url('{at}/style')\">x</p><table background='{at}/table'><tr><td>x</table>",
    "<img srcset='{at}/srcset 2x' src='data:image/svg+xml,<svg onload=\"{run}\"/>'>",
)


@pytest.fixture
def canary():
    """A server that notes what it is asked for."""
    asked = []

    class Notes(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Notes) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def opened(path, home):
    """Open a file as a person would, as far as a browser without a screen can."""
    command = [
        FIREFOX,
        "--headless",
        "--no-remote",
        "--profile",
        home,
        "--screenshot",
        home / "seen.png",
        path.as_uri(),
    ]
    home.mkdir(exist_ok=True)
    subprocess.run(
        command, check=True, timeout=200, capture_output=True, env={**environment(home), "HOME": str(home)}
    )
    assert (home / "seen.png").stat().st_size > 1000
    (home / "seen.png").unlink()


@pytest.mark.skipif(not FIREFOX, reason="Firefox is not installed (Debian: apt-get install firefox-esr)")
def test_no_script_runs_and_no_request_leaves(tmp_path, canary):
    at, asked = canary
    said = f"new Image().src='{at}/ran'"
    parts = [part.format(run=said.replace("'", "&apos;"), at=at) for part in ACTS]
    parts += [link.replace(RUN, said).replace("https://elsewhere.example", at) for link in LINKS]
    control = tmp_path / "control.html"
    control.write_text(f"<body><img src='{at}/control'><script>{said}</script>")
    opened(control, tmp_path / "firefox")
    assert {"/control", "/ran"} <= set(asked), (
        "the browser asks for what acts, so that silence says something"
    )
    asked.clear()

    notebook = perfect(lab(LAB))
    for number, part in enumerate(parts):
        notebook.cells.append(new_markdown_cell(part, id=f"m{number}"))
    shown = (
        "from IPython.display import *\nfor part in parts: display(Markdown(part), HTML(part), Latex(part))"
    )
    notebook.cells.append(new_code_cell(f"parts = {parts!r}\n{shown}", id="shown"))
    notebook.cells.append(
        new_code_cell("raise type(parts[0], (Exception,), {})('\\n'.join(parts))", id="raised")
    )
    room, env = tmp_path / "classroom", environment(tmp_path)
    for student in ("mallory", "<script src=x>", "<img src=x onerror=alert(1)>"):
        path = room / "submitted" / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(written(notebook))
    for command in (("grade", LAB), ("feedback", LAB), ("report",)):
        done = run("autograder", *command, "--classroom", room, env=env)
        assert done.returncode == 0, done.stderr
    pages = [*room.glob("feedback/*/*/*.html"), *room.glob("report/*.html")]
    assert len(pages) >= 4
    for page in pages:
        opened(page, tmp_path / "firefox")
    assert asked == []
