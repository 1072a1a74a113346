"""`autograder lab`: start JupyterLab for a student, with the labs in the course's order.

Where nbgrader and other tools for instructors are installed, temporary settings hide their menus
while this server runs. The student's own settings still apply.
"""

import json
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from traitlets import List, Unicode

from autograder.core.blas_threads import set_one_thread_variables
from autograder.student import jupyterlab_layout, setup_hint
from autograder.student.workspace import START_PAGE

# JupyterLab's extensions that are turned off: Jupyter's news, tools for instructors, and a link to
# the classic notebook.
_PAGE_CONFIG = {
    "disabledExtensions": {
        "@jupyterlab/apputils-extension:announcements": True,
        "@jupyter/nbgrader": True,
        "nbdime-jupyterlab": True,
        "@jupyter-notebook/lab-extension": True,
    }
}
# The kernel of the static site, which `make setup` installs, fails outside of JupyterLite.
# JupyterLab loads an extension even if it is turned off. An empty one takes its place.
_EMPTY_EXTENSIONS = ("@jupyterlite/pyodide-kernel-extension",)
_SERVER_EXTENSIONS = {
    "jupyterlab": True,
    "nbdime": False,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
    "notebook": False,
}


class LabNumberingFileManager(AsyncLargeFileManager):
    """Jupyter's file manager, which shows the labs' folders as ``1 name``, ``2 name`` and so on.

    JupyterLab sorts folders by name. The paths of the folders do not change.
    """

    labs = List(Unicode(), help="The labs, in the order of the course.").tag(config=True)

    async def get(self, path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return a file or folder in the format of Jupyter's contents API."""
        model: dict[str, Any] = await super().get(path, *args, **kwargs)
        if model["type"] == "directory" and not path.strip("/"):
            for entry in model["content"] or []:
                if entry["type"] == "directory" and entry["name"] in self.labs:
                    entry["name"] = f"{self.labs.index(entry['name']) + 1} {entry['name']}"
        return model


class AddressPrintingServer(ServerApp):
    """Jupyter server that prints its address in one line when it starts."""

    def start_app(self) -> None:
        """Print the address, then serve."""
        token = self.identity_provider.token
        address = self.local_url.split("?")[0]
        if token:  # `local_url` has no usable token, so add it
            address += f"?token={token}"
        print(f"The labs are at {address}")
        print("Ctrl+C here ends JupyterLab.", flush=True)
        super().start_app()


def serve_jupyterlab(folder: Path, labs: Sequence[str], options: Sequence[str] = ()) -> None:
    """Serve JupyterLab on a folder of labs, until it is interrupted.

    Parameters
    ----------
    folder : Path
        A folder that `autograder start` has made.
    labs : sequence of str
        The labs in the course's order.
    options : sequence of str
        JupyterLab's own options, such as ``--no-browser`` or ``--port=8890``.
    """
    with tempfile.TemporaryDirectory(prefix="autograder-") as settings:
        _write_jupyterlab_settings(Path(settings), labs)
        _redirect_jupyter_folders_if_home_is_read_only(Path(settings))
        os.environ.setdefault("PYTHONSTARTUP", setup_hint.__file__)
        set_one_thread_variables()  # for all kernels, before they load NumPy
        root_option = f"--ServerApp.root_dir={folder.resolve()}"
        arguments = [root_option, "--Application.log_level=CRITICAL", *options]
        AddressPrintingServer.launch_instance(arguments)


def _write_jupyterlab_settings(folder: Path, labs: Sequence[str]) -> None:
    """Write settings of JupyterLab into `folder`, and add that to JUPYTER_CONFIG_PATH.

    These settings take precedence over the student's own. Options on the command line take
    precedence over both.
    """
    server = {
        "allow_root": True,  # the server accepts only this machine, and only with the token
        "answer_yes": True,
        "contents_manager_class": f"{__name__}.{LabNumberingFileManager.__name__}",
        "default_url": f"/lab/tree/{START_PAGE}",
        "jpserver_extensions": _SERVER_EXTENSIONS,
        "open_browser": True,
    }
    extension = jupyterlab_layout.write_extension(folder / "labextensions")
    for name in _EMPTY_EXTENSIONS:
        package = {"name": name, "version": "0", "jupyterlab": {}}
        (extension.parent / name).mkdir(parents=True)
        (extension.parent / name / "package.json").write_text(json.dumps(package), "utf-8")
    settings: dict[str, dict[str, Any]] = {
        "ServerApp": server,
        "LabApp": {
            "extension_manager": "readonly",
            "extra_labextensions_path": [str(extension.parent)],
        },
        "LabNumberingFileManager": {"labs": list(labs)},
    }
    if "JUPYTER_TOKEN" not in os.environ:
        # Set a token for the address. If the server had to make one, it would print long advice.
        settings["IdentityProvider"] = {"token": secrets.token_hex(24)}
    (folder / "labconfig").mkdir()
    for name, content in (
        ("labconfig/page_config.json", _PAGE_CONFIG),
        ("labconfig/default_setting_overrides.json", jupyterlab_layout.SETTINGS),
        ("jupyter_server_config.json", settings),
    ):
        (folder / name).write_text(json.dumps(content), "utf-8")
    folders = filter(None, (str(folder), os.environ.get("JUPYTER_CONFIG_PATH")))
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(folders)


def _redirect_jupyter_folders_if_home_is_read_only(folder: Path) -> None:
    """Let Jupyter, IPython and matplotlib write into `folder` if the home directory is read-only.

    Jupyter's runtime files are always written there.
    """
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    if not os.access(Path.home(), os.W_OK):
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
            os.environ.setdefault(name, str(folder / name.lower()))
