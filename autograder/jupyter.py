"""JupyterLab for a student: the labs in the order of the course, and nothing that is an instructor's.

`autograder lab` runs this. The environment may hold nbgrader and more, for whoever grades in it: here their
menus stay away, by settings that live as long as the server does. The student's own settings still hold.
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

from autograder import before, screen
from autograder.workspace import START_PAGE

# Extensions that are not for students: Jupyter's news, an instructor's tools, a way to the classic notebook.
_PAGE = {
    "disabledExtensions": {
        "@jupyterlab/apputils-extension:announcements": True,
        "@jupyter/nbgrader": True,
        "nbdime-jupyterlab": True,
        "@jupyter-notebook/lab-extension": True,
    }
}
_EXTENSIONS = {
    "jupyterlab": True,
    "nbdime": False,
    "nbgrader.server_extensions.assignment_list": False,
    "nbgrader.server_extensions.course_list": False,
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.validate_assignment": False,
    "notebook": False,
}


class LabsInOrder(AsyncLargeFileManager):
    """The files of a folder of labs, in which the labs are listed as ``1 name``, ``2 name`` and so on.

    JupyterLab sorts by name. Only the name that is shown has the number: the folder's path is what it was.
    """

    labs = List(Unicode(), help="The labs, in the order of the course.").tag(config=True)

    async def get(self, path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """A file or folder, as the page wants it."""
        model: dict[str, Any] = await super().get(path, *args, **kwargs)
        if model["type"] == "directory" and not path.strip("/"):
            for entry in model["content"] or []:
                if entry["type"] == "directory" and entry["name"] in self.labs:
                    entry["name"] = f"{self.labs.index(entry['name']) + 1} {entry['name']}"
        return model


class CourseServer(ServerApp):
    """A server that says where it is, in one line, whether a browser opens or not."""

    def start_app(self) -> None:
        """Say it, then serve."""
        token = self.identity_provider.token  # `local_url` leaves it out
        address = self.local_url.split("?")[0] + (f"?token={token}" if token else "")
        print(f"The labs are at {address}")
        print("Ctrl+C here ends JupyterLab.", flush=True)
        super().start_app()


def open_lab(folder: Path, labs: Sequence[str], options: Sequence[str] = ()) -> None:
    """Serve JupyterLab on a folder of labs, until it is interrupted.

    Parameters
    ----------
    folder : Path
        What `autograder start` made.
    labs : sequence of str
        In the order of the course.
    options : sequence of str
        JupyterLab's own, such as ``--no-browser`` or ``--port=8890``.
    """
    with tempfile.TemporaryDirectory(prefix="autograder-") as settings:
        _write_settings(Path(settings), labs)
        _choose_folders(Path(settings))
        os.environ.setdefault("PYTHONSTARTUP", before.__file__)
        CourseServer.launch_instance(
            [f"--ServerApp.root_dir={folder.resolve()}", "--Application.log_level=CRITICAL", *options]
        )


def _write_settings(folder: Path, labs: Sequence[str]) -> None:
    """Write what JupyterLab is to be here: above the student's settings, and below options that are typed."""
    server = {
        "allow_root": True,  # it listens to this machine only, and to who has the token
        "answer_yes": True,
        "contents_manager_class": f"{__name__}.{LabsInOrder.__name__}",
        "default_url": f"/lab/tree/{START_PAGE}",
        "jpserver_extensions": _EXTENSIONS,
        "open_browser": True,
    }
    everything: dict[str, dict[str, Any]] = {
        "ServerApp": server,
        "LabApp": {
            "extension_manager": "readonly",
            "extra_labextensions_path": [str(screen.write_extension(folder / "labextensions").parent)],
        },
        "LabsInOrder": {"labs": list(labs)},
    }
    if "JUPYTER_TOKEN" not in os.environ:
        # A token of our own: to one that it made itself, the server adds a page of advice.
        everything["IdentityProvider"] = {"token": secrets.token_hex(24)}
    (folder / "labconfig").mkdir()
    (folder / "labconfig" / "page_config.json").write_text(json.dumps(_PAGE), "utf-8")
    (folder / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(screen.SETTINGS), "utf-8")
    (folder / "jupyter_server_config.json").write_text(json.dumps(everything), "utf-8")
    own = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(folder), *([own] if own else [])])


def _choose_folders(folder: Path) -> None:
    """Give Jupyter, IPython and matplotlib a place to write where the home directory is none."""
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    if not os.access(Path.home(), os.W_OK):
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR"):
            os.environ.setdefault(name, str(folder / name.lower()))
