"""No sandbox: hand-ins run as programs of yours, with limits of time and memory. Only for ones that are trusted."""

import platform
import shutil
import sys
import tempfile
from contextlib import ExitStack
from os import getpid
from pathlib import Path

import psutil

import autograder
from autograder.grading.sandbox.forking import Forking

_INSIDE = Path(__file__).with_name("inside")


class Unconfined(Forking):
    """Nothing is around the warm process, nor around the hand-ins."""

    name = "none"

    @classmethod
    def why_unavailable(cls) -> str:
        return "" if sys.platform != "win32" else "Without a sandbox hand-ins run on Linux and macOS only."

    def _launch(self, control: int, opened: ExitStack) -> tuple[list[str], dict[str, str], list[int]]:
        folder = opened.enter_context(_folder())
        places = [Path(autograder.__file__).parents[1], *(path.parent for path in self._library)]
        path = list(dict.fromkeys(map(str, places)))
        config = self._config(control, namespaces=False, path=path)
        env = self._environment(folder, folder, sys.prefix, str(self._course))
        return [sys.executable, "-s", "-P", "-B", str(_INSIDE / "__main__.py"), config], env, []


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that goes with this process; those of processes that were killed go now."""
    ours = f"autograder_{platform.node()}_"
    for left in Path(tempfile.gettempdir()).glob(f"{ours}*_*"):
        pid = left.name.removeprefix(ours).partition("_")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)  # which follows no link, and takes nobody else's
    return tempfile.TemporaryDirectory(prefix=f"{ours}{getpid()}_")
