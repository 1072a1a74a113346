"""Feedback pages and the report of a hostile submission in Firefox: no script runs, and nothing is asked for."""

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
    requests = []

    class Notes(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Notes) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()


def open_page(path, home):
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
        command,
        check=True,
        timeout=200,
        capture_output=True,
        env={**environment(home), "HOME": str(home)},
    )
    assert (home / "seen.png").stat().st_size > 1000
    (home / "seen.png").unlink()


@pytest.mark.skipif(
    not FIREFOX,
    reason="Firefox is not installed (Debian: apt-get install firefox-esr)",
)
def test_no_script_runs_and_no_request_leaves(tmp_path, canary):
    address, requests = canary
    script = f"new Image().src='{address}/ran'"
    parts = [part.format(run=script.replace("'", "&apos;"), at=address) for part in ACTS]
    parts += [
        link.replace(RUN, script).replace("https://elsewhere.example", address) for link in LINKS
    ]
    control = tmp_path / "control.html"
    control.write_text(f"<body><img src='{address}/control'><script>{script}</script>")
    open_page(control, tmp_path / "firefox")
    assert {"/control", "/ran"} <= set(requests), (
        "the browser asks for what acts, so that silence says something"
    )
    requests.clear()

    notebook = perfect(lab(LAB))
    for number, part in enumerate(parts):
        notebook.cells.append(new_markdown_cell(part, id=f"m{number}"))
    command_list = "from IPython.display import *\nfor part in parts: display(Markdown(part), HTML(part), Latex(part))"
    notebook.cells.append(new_code_cell(f"parts = {parts!r}\n{command_list}", id="shown"))
    notebook.cells.append(
        new_code_cell("raise type(parts[0], (Exception,), {})('\\n'.join(parts))", id="raised"),
    )
    room, env = tmp_path / "classroom", environment(tmp_path)
    for student in ("mallory", "<script src=x>", "<img src=x onerror=alert(1)>"):
        path = room / "submitted" / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(written(notebook))
    for command in (("grade", LAB), ("feedback", LAB), ("report",)):
        process = run("autograder", *command, "--classroom", room, env=env)
        assert process.returncode == 0, process.stderr
    pages = [*room.glob("feedback/*/*/*.html"), *room.glob("report/*.html")]
    assert len(pages) >= 4
    for page in pages:
        open_page(page, tmp_path / "firefox")
    assert requests == []
