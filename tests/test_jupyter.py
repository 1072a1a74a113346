"""JupyterLab for students, as far as it shows without a browser."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: `make lab` or `make setup` brings it.")

from autograder import jupyter


@pytest.fixture
def folder(tmp_path):
    for name in ("softmax", "additive", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.ipynb").write_text("{}")
    (tmp_path / "README.ipynb").write_text("{}")
    return tmp_path


def awaited(coroutine):
    """In a thread of its own: a browser may be open in this one, and keep its loop running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def names(folder, path):
    manager = jupyter.LabsInOrder(root_dir=str(folder), labs=["softmax", "additive"])
    model = awaited(manager.get(path, content=True))
    return {entry["path"]: entry["name"] for entry in model["content"]}


def test_labs_are_shown_with_their_numbers_and_keep_their_paths(folder):
    assert names(folder, "") == {
        "softmax": "1 softmax",
        "additive": "2 additive",
        "mine": "mine",
        "README.ipynb": "README.ipynb",
    }


def test_what_lies_in_a_lab_is_shown_as_it_is(folder):
    (folder / "softmax" / "additive").mkdir()
    shown = names(folder, "softmax")
    assert shown == {"softmax/softmax.ipynb": "softmax.ipynb", "softmax/additive": "additive"}


def test_a_listing_without_content_is_left_alone(folder):
    manager = jupyter.LabsInOrder(root_dir=str(folder), labs=["softmax"])
    assert awaited(manager.get("", content=False))["content"] is None


@pytest.fixture
def started(monkeypatch):
    """What the server was started with: its arguments, its settings' texts, and the environment."""
    seen = {}

    def launch(arguments):
        place = Path(os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0])
        seen["arguments"] = arguments
        seen["settings"] = json.loads((place / "jupyter_server_config.json").read_text())
        seen["page"] = json.loads((place / "labconfig" / "page_config.json").read_text())
        (own,) = seen["settings"]["LabApp"]["extra_labextensions_path"]
        seen["extensions"] = {path.name: path.read_text() for path in Path(own).rglob("*") if path.is_file()}
        seen["themes"] = json.loads((place / "labconfig" / "default_setting_overrides.json").read_text())
        seen["environment"] = dict(os.environ)

    for name in (
        "JUPYTER_CONFIG_PATH",
        "JUPYTER_TOKEN",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "MPLCONFIGDIR",
        "PYTHONSTARTUP",
    ):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    monkeypatch.setattr(jupyter.CourseServer, "launch_instance", staticmethod(launch))
    return seen


def test_a_token_that_was_asked_for_is_kept(started, tmp_path, monkeypatch):
    jupyter.open_lab(tmp_path, ["softmax"])
    assert len(started["settings"]["IdentityProvider"]["token"]) == 48
    monkeypatch.setenv("JUPYTER_TOKEN", "mine")
    jupyter.open_lab(tmp_path, ["softmax"])
    assert "IdentityProvider" not in started["settings"]


def test_what_is_typed_goes_to_the_server(started, tmp_path):
    jupyter.open_lab(tmp_path, ["softmax"], ["--no-browser", "--port=8890"])
    assert started["arguments"][-2:] == ["--no-browser", "--port=8890"]
    assert started["settings"]["LabsInOrder"] == {"labs": ["softmax"]}
    assert started["page"]["disabledExtensions"]["@jupyter/nbgrader"] is True


def test_jupyterlab_learns_of_narrow_and_of_dark_screens(started, tmp_path):
    jupyter.open_lab(tmp_path, ["softmax"])
    about = json.loads(started["extensions"]["package.json"])
    assert about["jupyterlab"]["_build"]["load"] == "static/entry.js"
    assert f'window._JUPYTERLAB ??= {{}})["{about["name"]}"]' in started["extensions"]["entry.js"]
    assert started["themes"] == {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}


def test_a_kernel_says_what_is_missing_before_the_set_up_has_run(started, tmp_path):
    """A real one: what it runs when it starts is named by the environment."""
    from jupyter_client.manager import run_kernel

    jupyter.open_lab(tmp_path, ["softmax"])
    environment = {**os.environ, "PYTHONSTARTUP": started["environment"]["PYTHONSTARTUP"]}
    for name, told in (("softmax", True), ("elsewhere", False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "softmax.ipynb").write_text("{}")
        with run_kernel(env=environment, cwd=str(folder)) as client:
            reply = client.execute_interactive("check(1)", output_hook=lambda message: None, timeout=60)[
                "content"
            ]
            assert (reply["ename"], reply["evalue"]) == ("NameError", "name 'check' is not defined")
            said = "check is not there yet: run the lab's set-up first, its first cell with code, then this one again."
            assert (reply["traceback"] == [said]) is told
            left = client.execute_interactive("_say", output_hook=lambda message: None, timeout=60)["content"]
            assert left["ename"] == "NameError"


def test_a_home_that_cannot_be_written_to_is_not_used(started, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != Path.home())
    jupyter.open_lab(tmp_path, ["softmax"])
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        assert not started["environment"][name].startswith(str(Path.home()))
