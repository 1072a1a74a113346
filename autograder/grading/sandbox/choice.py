"""Which sandbox hand-ins run in: the one that is named, or the first that starts on this machine."""

from functools import cache

from autograder.grading.sandbox.bubblewrap import Bubblewrap
from autograder.grading.sandbox.none import Unconfined
from autograder.grading.sandbox.run import Sandbox, SandboxError
from autograder.grading.sandbox.webassembly import WebAssembly

_BY_NAME: dict[str, type[Sandbox]] = {kind.name: kind for kind in (Bubblewrap, WebAssembly, Unconfined)}
CHOICES = ("auto", *_BY_NAME)
_IN_ORDER = (Bubblewrap, WebAssembly)  # what "auto" tries


@cache
def find(choice: str) -> type[Sandbox]:
    """The sandbox of this name; for "auto", the first that starts on this machine.

    Raises
    ------
    SandboxError
        Where it, or none of them, starts: why, and what to do.
    """
    wanted = _IN_ORDER if choice == "auto" else (_BY_NAME[choice],)
    reasons = []
    for kind in wanted:
        if not (why := kind.why_unavailable()):
            return kind
        reasons.append(why)
    raise SandboxError(" ".join(reasons))


def why_not_first(chosen: type[Sandbox]) -> str:
    """Why "auto" came to this sandbox and not to the one that it tries first; "" if it is that one."""
    return "" if chosen is _IN_ORDER[0] else _IN_ORDER[0].why_unavailable()


def why_unavailable() -> str:
    """Why there is no sandbox on this machine, in a sentence or two with the remedy; "" if there is one."""
    try:
        find("auto")
    except SandboxError as error:
        return str(error)
    return ""
