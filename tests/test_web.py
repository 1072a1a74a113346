"""`autograder web`: what the site holds, what it leaves out, and that a browser can open it."""

import functools
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import threading
import zipfile
from contextlib import contextmanager

import pytest
from click.testing import CliRunner
from e2e import driving
from our_course import COURSE, ROOT

from autograder import screen
from autograder.authoring import web
from autograder.cli import main

PYODIDE = "314.0.7"
pytestmark = pytest.mark.long


def packed(name, number, wheel, *needs):
    return {
        "name": name,
        "version": number,
        "file_name": f"{name}-{number}-{wheel}.whl",
        "depends": [*needs],
    } | {
        "install_dir": "site",
        "sha256": "0" * 64,
        "package_type": "package",
        "imports": [name],
        "unvendored_tests": False,
    }


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    """A folder that looks like Pyodide's, with two packages."""
    folder = tmp_path_factory.mktemp("pyodide")
    wheel = "cp314-cp314-pyemscripten_2026_0_wasm32"
    packages = [packed("micropip", "0.11.1", "py3-none-any"), packed("numpy", "2.4.6", wheel, "missing")]
    about = {"info": {"python": "3.14.2"}, "packages": {entry["name"]: entry for entry in packages}}
    (folder / web.LOCK).write_text(json.dumps(about))
    (folder / "pyodide.mjs").write_text("")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory, distribution):
    return web.write_site(COURSE, tmp_path_factory.mktemp("made") / "site", str(distribution))


def lock(site):
    return json.loads((site / "static" / "lock" / web.LOCK).read_text())["packages"]


def test_every_package_of_the_site_lies_there_with_its_digest(site):
    ours = {name: entry for name, entry in lock(site).items() if name != "numpy"}
    assert {"micropip", "ipywidgets", "comm", "piplite", "pyodide-kernel", "attention-labs"} <= set(ours)
    for entry in ours.values():
        wheel = (site / "static" / "lock" / entry["file_name"]).resolve()
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == entry["sha256"], entry["name"]
        assert set(entry["depends"]) <= {e["name"] for e in lock(site).values()}, entry["name"]
    assert lock(site)["numpy"]["file_name"].startswith("../pyodide/numpy-2.4.6")


def test_the_wheel_holds_the_students_part_and_nothing_else(site):
    (wheel,) = (site / "static" / "wheels").glob("attention_labs-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"autograder", "attention_labs", "course.toml", "data", "notebooks"}
    assert not [name for name in names if "/grading/" in name or "/authoring/" in name or "solutions" in name]


def test_nothing_of_the_instructors_is_anywhere_in_the_site(site):
    """No file of a solution, by its content and not by its name; planted, it is found."""
    answers = [path.read_bytes() for path in (ROOT / "solutions").rglob("*.py")]

    def leaks(folder):
        there = {path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for wheel in folder.rglob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                there |= {archive.read(name) for name in archive.namelist()}
        return sum(answer in there for answer in answers)

    assert leaks(site) == 0
    planted = site / "files" / "planted.py"
    planted.write_bytes(answers[0])
    assert leaks(site) == 1
    planted.unlink()


def test_no_extension_of_this_installation_comes_along(site):
    there = {
        p.parent.relative_to(site / "extensions").as_posix() for p in site.glob("extensions/**/package.json")
    }
    assert there == {*web._EXTENSIONS, screen.NAME}


def test_the_kernel_is_told_where_everything_is(site):
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == "./static/pyodide/pyodide.mjs"
    assert kernel["loadPyodideOptions"]["env"]["AUTOGRADER_COURSE"] == "/lib/python3.14/site-packages"
    assert (site / "static" / "lock" / web.LOCK).is_file()
    assert sorted(p.parent.name for p in site.glob("files/*/*.ipynb")) == sorted(COURSE.labs)


def test_an_address_is_where_browsers_fetch_all_of_pyodide_from(distribution, tmp_path):
    with serving(distribution) as address:
        site = web.write_site(COURSE, tmp_path / "site", f"{address}/")
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == f"{address}/pyodide.mjs"
    assert lock(site)["numpy"]["file_name"].startswith(f"{address}/numpy-2.4.6")
    assert not (site / "static" / "pyodide").exists()


def test_an_update_replaces_a_site_whole_and_nothing_that_is_none(site, distribution, tmp_path):
    (site / "old").write_text("of yesterday")
    assert web.write_site(COURSE, site, str(distribution)) == site
    assert not (site / "old").exists()
    (tmp_path / "mine").write_text("work")
    ran = CliRunner().invoke(main, ["web", "--output", str(tmp_path), "--pyodide", str(distribution)])
    assert ran.exit_code == 2
    assert "is no site of labs: name another folder with --output" in ran.output
    assert (tmp_path / "mine").read_text() == "work"


@pytest.mark.parametrize(
    ("pyodide", "sentence"),
    [
        ("nowhere", "nowhere is no distribution of Pyodide: there is no pyodide-lock.json or no pyodide.mjs"),
        ("http://127.0.0.1:9/full", "could not be fetched from http://127.0.0.1:9/full"),
    ],
)
def test_what_is_no_distribution_gets_a_sentence(tmp_path, pyodide, sentence):
    ran = CliRunner().invoke(main, ["web", "--output", str(tmp_path / "site"), "--pyodide", pyodide])
    assert ran.exit_code == 1
    assert sentence in " ".join(ran.output.split())
    assert list(tmp_path.iterdir()) == []  # nothing half done is left


@pytest.fixture(scope="module")
def real_site(tmp_path_factory):
    """With Pyodide's core from its npm package, which has no NumPy."""
    folder = tmp_path_factory.mktemp("npm")
    if not shutil.which("npm"):
        pytest.skip("npm is not installed; it brings Pyodide's core.")
    command = ["npm", "pack", "--silent", f"pyodide@{PYODIDE}"]
    got = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if got.returncode:
        pytest.skip("Pyodide's core could not be fetched with npm.")
    shutil.unpack_archive(folder / f"pyodide-{PYODIDE}.tgz", folder)
    return web.write_site(COURSE, folder / "site", str(folder / "package"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serving(folder):
    """A folder at an address of this machine."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def opened(browser, site, until):
    """What the start page's cell says in a browser, and the addresses that were asked for, but for the site's own."""
    asked = []
    with serving(site) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(driving.PATIENCE * 1000)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/")
        cell = page.locator(".jp-CodeCell").first
        cell.locator(".cm-content").click()
        assert "stays in this browser" in page.locator(".jp-Notebook").inner_text()
        page.keyboard.press("Shift+Enter")
        page.get_by_text(until).first.wait_for()
        cell.get_by_text("[1]:").wait_for()
        said = cell.inner_text()
    assert any(url.startswith(f"{address}/static/wheels/attention_labs-") for url in asked)
    return said, [url for url in asked if not url.startswith((address, "blob:", "data:"))]


def test_a_browser_opens_it_and_says_what_could_not_be_fetched(browser, real_site):
    """All packages come from the site itself; NumPy, which is on no index in reach, is missed by name."""
    said, elsewhere = opened(browser, real_site, "could not be fetched from this site")
    assert said.rstrip().endswith("Then reload the page, and run this cell again.")
    assert elsewhere == []


@pytest.mark.skipif(
    "PYODIDE" not in os.environ, reason="PYODIDE, an address or a folder with NumPy, is not set."
)
def test_the_first_cell_runs_where_numpy_can_be_fetched(browser, tmp_path):
    site = web.write_site(COURSE, tmp_path / "site", os.environ["PYODIDE"])
    said, _ = opened(browser, site, "exercises right")
    assert "Error" not in said


def test_the_keras_lab_says_in_a_browser_why_it_is_not_there(monkeypatch):
    from attention_labs import keras_start

    monkeypatch.setattr(keras_start.sys, "platform", "emscripten")
    assert "does not run in a browser" in keras_start.why_unavailable()
