"""Choose the sandbox that submissions run in, by its name or by what starts on this machine."""

from functools import cache

from autograder.sandbox.base import Sandbox, SandboxError
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.no_isolation import NoIsolation
from autograder.sandbox.webassembly import WebAssembly

_SANDBOXES: dict[str, type[Sandbox]] = {
    sandbox.name: sandbox for sandbox in (Bubblewrap, WebAssembly, NoIsolation)
}
CHOICES = ("auto", *_SANDBOXES)
_AUTO_ORDER = (Bubblewrap, WebAssembly)  # the sandboxes that "auto" tries


@cache
def find_sandbox(choice: str) -> type[Sandbox]:
    """Return the sandbox class of this name. For "auto", return the first that starts here.

    Raises
    ------
    SandboxError
        If none of the sandboxes that were tried starts on this machine. The message says for each
        sandbox why it does not start, and what to do about it.
    """
    candidates = _AUTO_ORDER if choice == "auto" else (_SANDBOXES[choice],)
    reasons = []
    for sandbox in candidates:
        reason = sandbox.explain_unavailability()
        if not reason:
            return sandbox
        reasons.append(reason)
    raise SandboxError(" ".join(reasons))


def explain_fallback(chosen: type[Sandbox]) -> str:
    """Return the reason that "auto" did not choose bubblewrap, its first choice; "" if it did."""
    first = _AUTO_ORDER[0]
    return "" if chosen is first else first.explain_unavailability()


def explain_unavailability() -> str:
    """Return the reason that no sandbox starts here, and the remedy; "" if a sandbox starts."""
    try:
        find_sandbox("auto")
    except SandboxError as error:
        return str(error)
    return ""
