"""No sandbox: hand-ins run as programs of yours, with limits of time and memory. Only for ones that are trusted."""

import sys
from pathlib import Path

import autograder
from autograder.grading.sandbox.forking import Forking

_INSIDE = Path(__file__).with_name("inside")


class Unconfined(Forking):
    """Nothing is around the warm process, nor around the hand-ins."""

    name = "none"

    @classmethod
    def why_unavailable(cls) -> str:
        return "" if sys.platform != "win32" else "Without a sandbox hand-ins run on Linux and macOS only."

    def _launch(self, folder: Path, control: int) -> tuple[list[str], dict[str, str]]:
        places = [Path(autograder.__file__).parents[1], *(path.parent for path in self._library)]
        path = list(dict.fromkeys(map(str, places)))
        config = self._config(control, namespaces=False, path=path)
        env = self._environment(str(folder), str(folder), sys.prefix, str(self._course))
        return [sys.executable, "-s", "-P", "-B", str(_INSIDE / "__main__.py"), config], env
