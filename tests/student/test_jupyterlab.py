"""JupyterLab for students: settings and file names, tested without a browser."""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip(
    "jupyterlab",
    reason="JupyterLab is not installed: `make lab` or `make setup` brings it.",
)

from autograder.core.blas_threads import THREAD_VARIABLES
from autograder.student import jupyterlab


@pytest.fixture
def folder(tmp_path):
    for name in ("softmax", "additive", "mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.ipynb").write_text("{}")
    (tmp_path / "README.ipynb").write_text("{}")
    return tmp_path


def run_async(coroutine):
    """Run a coroutine in another thread; a browser's event loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def shown_names(folder, path):
    manager = jupyterlab.LabNumberingFileManager(root_dir=str(folder), labs=["softmax", "additive"])
    model = run_async(manager.get(path, content=True))
    return {entry["path"]: entry["name"] for entry in model["content"]}


def test_labs_are_shown_with_their_numbers_and_keep_their_paths(folder):
    assert shown_names(folder, "") == {
        "softmax": "1 softmax",
        "additive": "2 additive",
        "mine": "mine",
        "README.ipynb": "README.ipynb",
    }


def test_files_in_a_lab_keep_their_names(folder):
    (folder / "softmax" / "additive").mkdir()
    names = shown_names(folder, "softmax")
    assert names == {"softmax/softmax.ipynb": "softmax.ipynb", "softmax/additive": "additive"}


def test_a_listing_without_content_is_left_alone(folder):
    manager = jupyterlab.LabNumberingFileManager(root_dir=str(folder), labs=["softmax"])
    assert run_async(manager.get("", content=False))["content"] is None


@pytest.fixture
def launch_record(monkeypatch):
    """Arguments, settings and environment that the server was launched with."""
    record = {}

    def launch(arguments):
        folder = Path(os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0])
        record["arguments"] = arguments
        record["settings"] = json.loads((folder / "jupyter_server_config.json").read_text())
        record["page"] = json.loads((folder / "labconfig" / "page_config.json").read_text())
        (extension_folder,) = record["settings"]["LabApp"]["extra_labextensions_path"]
        record["extensions"] = {}
        for path in filter(Path.is_file, Path(extension_folder).rglob("*")):
            name = path.relative_to(extension_folder).as_posix()
            record["extensions"][name] = path.read_text()
        record["themes"] = json.loads(
            (folder / "labconfig" / "default_setting_overrides.json").read_text(),
        )
        record["environment"] = dict(os.environ)

    for name in (
        "JUPYTER_CONFIG_PATH",
        "JUPYTER_TOKEN",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "MPLCONFIGDIR",
        "PYTHONSTARTUP",
        *THREAD_VARIABLES,
    ):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    monkeypatch.setattr(jupyterlab.AddressPrintingServer, "launch_instance", staticmethod(launch))
    return record


def test_a_token_that_was_asked_for_is_kept(launch_record, tmp_path, monkeypatch):
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    assert len(launch_record["settings"]["IdentityProvider"]["token"]) == 48
    monkeypatch.setenv("JUPYTER_TOKEN", "mine")
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    assert "IdentityProvider" not in launch_record["settings"]


def test_command_line_options_go_to_the_server(launch_record, tmp_path):
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"], ["--no-browser", "--port=8890"])
    assert launch_record["arguments"][-2:] == ["--no-browser", "--port=8890"]
    assert launch_record["settings"]["LabNumberingFileManager"] == {"labs": ["softmax"]}
    assert launch_record["page"]["disabledExtensions"]["@jupyter/nbgrader"] is True


def test_an_empty_extension_hides_the_kernel_of_the_static_site(launch_record, tmp_path):
    """Outside of JupyterLite that kernel's extension prints an error on every page."""
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    name = "@jupyterlite/pyodide-kernel-extension"
    package = json.loads(launch_record["extensions"][f"{name}/package.json"])
    assert package["name"] == name
    assert "_build" not in package["jupyterlab"]  # JupyterLab loads only what has this entry


def test_all_kernels_compute_with_one_thread(launch_record, tmp_path, monkeypatch):
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    assert {launch_record["environment"][name] for name in THREAD_VARIABLES} == {"1"}
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")  # the student's own choice stays
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    environment = launch_record["environment"]
    assert environment["OPENBLAS_NUM_THREADS"] == "3" and "MKL_NUM_THREADS" not in environment


def test_jupyterlab_learns_of_narrow_and_of_dark_screens(launch_record, tmp_path):
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    package = json.loads(launch_record["extensions"]["autograder-screen/package.json"])
    assert package["jupyterlab"]["_build"]["load"] == "static/entry.js"
    entry = launch_record["extensions"]["autograder-screen/static/entry.js"]
    assert ".jp-RenderedText pre { word-break: normal;" in entry  # whole words in narrow windows
    assert f'window._JUPYTERLAB ??= {{}})["{package["name"]}"]' in entry
    assert launch_record["themes"] == {
        "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},
    }


@pytest.mark.long
def test_a_kernel_says_what_is_missing_before_the_set_up_has_run(launch_record, tmp_path):
    """A real kernel; PYTHONSTARTUP names the file that it runs first."""
    from jupyter_client.manager import run_kernel

    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    environment = {**os.environ, "PYTHONSTARTUP": launch_record["environment"]["PYTHONSTARTUP"]}
    for name, is_hinted in (("softmax", True), ("elsewhere", False)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "softmax.ipynb").write_text("{}")
        with run_kernel(env=environment, cwd=str(folder)) as client:
            reply = client.execute_interactive(
                "check(1)",
                output_hook=lambda message: None,
                timeout=240,
            )["content"]
            assert (reply["ename"], reply["evalue"]) == ("NameError", "name 'check' is not defined")
            hint = (
                "check is not defined. Run the lab's set-up first, which is its first cell with "
                "code, and then this cell again."
            )
            assert (reply["traceback"] == [hint]) is is_hinted
            name_reply = client.execute_interactive(
                "_show_setup_hint",
                output_hook=lambda message: None,
                timeout=240,
            )["content"]
            assert name_reply["ename"] == "NameError"


def test_a_home_that_cannot_be_written_to_is_not_used(launch_record, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != Path.home())
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
        assert not launch_record["environment"][name].startswith(str(Path.home()))


def test_settings_of_the_student_stay_in_force(launch_record, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    monkeypatch.setenv("PYTHONSTARTUP", "/mine/startup.py")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/mine/runtime")
    jupyterlab.serve_jupyterlab(tmp_path, ["softmax"])
    environment = launch_record["environment"]
    first, *others = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert others == ["/mine"] and not Path(first).exists(), "they end with the server"
    assert environment["PYTHONSTARTUP"] == "/mine/startup.py"
    assert environment["JUPYTER_RUNTIME_DIR"] == "/mine/runtime"


def test_the_server_opens_the_start_page_of_the_folder(launch_record, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    jupyterlab.serve_jupyterlab(tmp_path / "labs" / "..", ["softmax"])
    assert launch_record["arguments"][0] == f"--ServerApp.root_dir={tmp_path.resolve()}"
    assert launch_record["settings"]["ServerApp"]["default_url"] == "/lab/tree/README.ipynb"
    assert launch_record["settings"]["ServerApp"]["open_browser"] is True
    assert "MPLCONFIGDIR" not in launch_record["environment"], "the home may be written to"


@pytest.mark.parametrize(
    ("token", "address"),
    [("abc", "http://localhost:8888/lab?token=abc"), ("", "http://localhost:8888/lab")],
)
def test_the_address_is_printed_with_its_token_if_it_has_one(capsys, monkeypatch, token, address):
    server = SimpleNamespace(identity_provider=SimpleNamespace(token=token))
    server.local_url = "http://localhost:8888/lab?token=..."
    monkeypatch.setattr(jupyterlab, "super", lambda: SimpleNamespace(start_app=str), raising=False)
    jupyterlab.AddressPrintingServer.start_app(server)
    assert capsys.readouterr().out.splitlines() == [
        f"The labs are at {address}",
        "Ctrl+C here ends JupyterLab.",
    ]
