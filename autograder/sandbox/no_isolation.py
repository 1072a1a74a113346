"""Run trusted submissions without a sandbox: only their time and memory are limited."""

import platform
import shutil
import sys
import tempfile
from contextlib import ExitStack
from os import getpid
from pathlib import Path

import psutil

import autograder
from autograder.sandbox.fork_server_sandbox import ForkServerSandbox

_INSIDE = Path(__file__).with_name("inside")


class NoIsolation(ForkServerSandbox):
    """Sandbox "none": submissions run as ordinary processes, with all rights of the grader."""

    name = "none"

    @classmethod
    def explain_unavailability(cls) -> str:
        """Return the reason that submissions cannot run on this system; "" if they can."""
        if sys.platform == "win32":
            return "Without a sandbox submissions run on Linux and macOS only."
        return ""

    def _make_launch_command(
        self, control: int, resources: ExitStack
    ) -> tuple[list[str], dict[str, str], list[int]]:
        folder = resources.enter_context(_create_scratch_folder())
        import_folders = [Path(autograder.__file__).parents[1]]
        import_folders += [path.parent for path in self._library]
        path = list(dict.fromkeys(map(str, import_folders)))
        config = self._startup_config_json(control, namespaces=False, path=path)
        env = self._build_environment(folder, folder, sys.prefix, str(self._course))
        return [sys.executable, "-s", "-P", "-B", str(_INSIDE / "__main__.py"), config], env, []


def _create_scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder that is deleted when this process ends.

    Also delete the temporary folders of earlier grader processes that were killed.
    """
    prefix = f"autograder_{platform.node()}_"
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*_*"):
        pid = folder.name.removeprefix(prefix).partition("_")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            # It is safe to delete the folder: rmtree follows no symbolic link, and cannot delete
            # other users' files.
            shutil.rmtree(folder, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=f"{prefix}{getpid()}_")
