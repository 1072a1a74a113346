"""Test `autograder web`: the contents of the site, and that a browser can open it."""

import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from e2e import driving
from our_course import COURSE, ROOT

from autograder.cli import main
from autograder.student import jupyterlab_layout
from course_site import site as web

PYODIDE = "314.0.7"
pytestmark = pytest.mark.long


def make_lock_entry(name, version, wheel, *dependencies):
    return {
        "name": name,
        "version": version,
        "file_name": f"{name}-{version}-{wheel}.whl",
        "depends": [*dependencies],
    } | {
        "install_dir": "site",
        "sha256": "0" * 64,
        "package_type": "package",
        "imports": [name],
        "unvendored_tests": False,
    }


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    """A folder like Pyodide's distribution, with two packages."""
    folder = tmp_path_factory.mktemp("pyodide")
    wheel = "cp314-cp314-pyemscripten_2026_0_wasm32"
    packages = [
        make_lock_entry("micropip", "0.11.1", "py3-none-any"),
        make_lock_entry("numpy", "2.4.6", wheel, "missing"),
    ]
    by_name = {entry["name"]: entry for entry in packages}
    lock_content = {"info": {"python": "3.14.2"}, "packages": by_name}
    (folder / web.LOCK_FILE).write_text(json.dumps(lock_content))
    (folder / "pyodide.mjs").write_text("")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory, distribution):
    return web.write_site(COURSE, tmp_path_factory.mktemp("made") / "site", str(distribution))


def read_lock(site):
    return json.loads((site / "static" / "lock" / web.LOCK_FILE).read_text())["packages"]


def test_every_package_of_the_site_has_its_digest_in_the_lock_file(site):
    site_packages = {name: entry for name, entry in read_lock(site).items() if name != "numpy"}
    assert {"micropip", "ipywidgets", "comm", "piplite", "pyodide-kernel", "attention-labs"} <= set(
        site_packages
    )
    for entry in site_packages.values():
        wheel = (site / "static" / "lock" / entry["file_name"]).resolve()
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == entry["sha256"], entry["name"]
        assert set(entry["depends"]) <= {e["name"] for e in read_lock(site).values()}, entry["name"]
    assert read_lock(site)["numpy"]["file_name"].startswith("../pyodide/numpy-2.4.6")


def test_the_wheel_holds_the_students_part_and_nothing_else(site):
    (wheel,) = (site / "static" / "wheels").glob("attention_labs-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"autograder", "attention_labs", "course.toml", "data", "notebooks"}
    for part in ("/grading/", "/authoring/", "solutions"):
        assert not [name for name in names if part in name]


def test_no_solution_is_anywhere_in_the_site(site):
    """Contents are compared, not names; a solution that is put into the site is found."""
    answers = [path.read_bytes() for path in (ROOT / "solutions").rglob("*.py")]

    def count_leaks(folder):
        contents = {path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for wheel in folder.rglob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                contents |= {archive.read(name) for name in archive.namelist()}
        return sum(answer in contents for answer in answers)

    assert count_leaks(site) == 0
    leaked_file = site / "files" / "planted.py"
    leaked_file.write_bytes(answers[0])
    assert count_leaks(site) == 1
    leaked_file.unlink()


def test_the_site_has_no_other_extension_of_this_installation(site):
    folders = [path.parent for path in site.glob("extensions/**/package.json")]
    extensions = {folder.relative_to(site / "extensions").as_posix() for folder in folders}
    assert extensions == {*web._EXTENSIONS, jupyterlab_layout.EXTENSION_NAME}


def test_the_kernel_has_all_addresses(site):
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == "./static/pyodide/pyodide.mjs"
    environment = kernel["loadPyodideOptions"]["env"]
    assert environment["AUTOGRADER_COURSE"] == "/lib/python3.14/site-packages"
    assert (site / "static" / "lock" / web.LOCK_FILE).is_file()
    assert sorted(p.parent.name for p in site.glob("files/*/*.ipynb")) == sorted(COURSE.labs)


def test_browsers_download_pyodide_from_an_address(distribution, tmp_path):
    with serve_folder(distribution) as address:
        site = web.write_site(COURSE, tmp_path / "site", f"{address}/")
    settings = json.loads((site / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == f"{address}/pyodide.mjs"
    assert read_lock(site)["numpy"]["file_name"].startswith(f"{address}/numpy-2.4.6")
    assert not (site / "static" / "pyodide").exists()


def test_an_update_replaces_a_whole_site_but_no_other_folder(site, distribution, tmp_path):
    (site / "old").write_text("of yesterday")
    assert web.write_site(COURSE, site, str(distribution)) == site
    assert not (site / "old").exists()
    (tmp_path / "mine").write_text("work")
    arguments = ["web", "--output", str(tmp_path), "--pyodide", str(distribution)]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert "is no site of labs: name another folder with --output" in ran.output
    assert (tmp_path / "mine").read_text() == "work"


@pytest.mark.parametrize(
    ("pyodide", "sentence"),
    [
        (
            "nowhere",
            "nowhere is no distribution of Pyodide: there is no pyodide-lock.json or no pyodide.mjs in it",
        ),
        ("http://127.0.0.1:9/full", "could not be fetched from http://127.0.0.1:9/full"),
        ("http://127.0.0.1:9/full", "`make web PYODIDE=FOLDER`, or `autograder web --pyodide"),
    ],
)
def test_a_wrong_distribution_is_one_sentence(tmp_path, pyodide, sentence):
    arguments = ["web", "--output", str(tmp_path / "site"), "--pyodide", pyodide]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 1
    assert sentence in " ".join(ran.output.split())
    assert list(tmp_path.iterdir()) == []  # no unfinished site remains


def test_relative_paths_start_from_the_current_folder(distribution, tmp_path, monkeypatch):
    """JupyterLite reads relative paths, such as the default dist/web, from its own folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(distribution, "pyodide")
    web.write_site(COURSE, Path("dist/web"), "pyodide")
    assert (tmp_path / "dist" / "web" / "lab" / "index.html").is_file()
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["web"]


@pytest.fixture(scope="module")
def real_site(tmp_path_factory):
    """A site with Pyodide's core from its npm package, which has no NumPy."""
    folder = tmp_path_factory.mktemp("npm")
    if not shutil.which("npm"):
        pytest.skip("npm is not installed; it brings Pyodide's core.")
    command = ["npm", "pack", "--silent", f"pyodide@{PYODIDE}"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode:
        pytest.skip("Pyodide's core could not be fetched with npm.")
    shutil.unpack_archive(folder / f"pyodide-{PYODIDE}.tgz", folder)
    return web.write_site(COURSE, folder / "site", str(folder / "package"))


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serve_folder(folder):
    """Serve a folder on this machine, and yield its address."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def run_first_cell(browser, site, awaited_text):
    """Run the first cell of the start page in a browser.

    Returns the text of the cell, and the requested addresses outside of the site.
    """
    addresses = []
    with serve_folder(site) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(driving.PATIENCE * 1000)
        page.on("request", lambda request: addresses.append(request.url))
        page.goto(f"{address}/")
        cell = page.locator(".jp-CodeCell").first
        cell.locator(".cm-content").click()
        assert "stays in this browser" in page.locator(".jp-Notebook").inner_text()
        page.keyboard.press("Shift+Enter")
        page.get_by_text(awaited_text).first.wait_for()
        cell.get_by_text("[1]:").wait_for()
        text = cell.inner_text()
    assert any(url.startswith(f"{address}/static/wheels/attention_labs-") for url in addresses)
    return text, [url for url in addresses if not url.startswith((address, "blob:", "data:"))]


def test_a_browser_opens_the_site_and_names_the_missing_package(browser, real_site):
    """All packages come from the site; NumPy, which is not available, is named as missing."""
    message = "could not be fetched from this site"
    text, other_addresses = run_first_cell(browser, real_site, message)
    assert text.rstrip().endswith("Then reload the page, and run this cell again.")
    assert other_addresses == []


def test_a_link_to_a_lab_shows_the_lab_on_a_phone(browser, real_site):
    """JupyterLab opens the file list beside a lab in a link; 390 px have no room for both."""
    size = {"width": 390, "height": 844}
    with serve_folder(real_site) as address, browser.new_context(viewport=size) as context:
        page = context.new_page()
        page.set_default_timeout(driving.PATIENCE * 1000)
        page.goto(f"{address}/lab/index.html?path=positions/positions.ipynb")
        page.wait_for_function(
            "document.querySelector('.jp-NotebookPanel h1')?.getBoundingClientRect().width > 230"
        )
        assert not page.locator("#jp-left-stack").is_visible()


def test_the_docs_state_the_size_of_the_site(real_site):
    files = [path for path in real_site.rglob("*") if path.is_file()]
    core = [path for path in files if path.is_relative_to(real_site / "static" / "pyodide")]
    text = (ROOT / "docs" / "homes.md").read_text("utf-8")
    core_size = float(re.search(r"Pyodide's core adds (\d+) MB", text)[1])
    site_size = float(re.search(r"a static site of (\d+) MB", text)[1])
    assert core_size == pytest.approx(sum(path.stat().st_size for path in core) / 1e6, rel=0.05)
    total = sum(path.stat().st_size for path in files) / 1e6
    assert site_size + core_size == pytest.approx(total, rel=0.05)


def test_the_file_list_of_the_site_has_the_courses_order(browser, real_site):
    with serve_folder(real_site) as address, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(driving.PATIENCE * 1000)
        page.goto(f"{address}/")
        names = page.locator(".jp-DirListing-item[data-isdir=true] .jp-DirListing-itemName")
        names.nth(len(COURSE.labs) - 1).wait_for()
        expected = [f"{number} {lab}" for number, lab in enumerate(COURSE.labs, 1)]
        assert names.all_inner_texts() == expected
        names.first.dblclick()
        page.get_by_text(f"{COURSE.labs[0]}.ipynb").first.wait_for()


@pytest.mark.skipif(
    "PYODIDE" not in os.environ, reason="PYODIDE, an address or a folder with NumPy, is not set."
)
def test_the_first_cell_runs_if_numpy_can_be_downloaded(browser, tmp_path):
    site = web.write_site(COURSE, tmp_path / "site", os.environ["PYODIDE"])
    text, _ = run_first_cell(browser, site, "exercises right")
    assert "Error" not in text


def test_the_keras_lab_gives_a_reason_in_a_browser(monkeypatch):
    from attention_labs import keras_start

    monkeypatch.setattr(keras_start.sys, "platform", "emscripten")
    assert "does not run in a browser" in keras_start.explain_unavailability()
