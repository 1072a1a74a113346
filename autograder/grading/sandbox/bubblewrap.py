"""bubblewrap as a sandbox: where it is, what a hand-in sees inside it, and what to do where it does not work."""

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import count
from pathlib import Path

import autograder
from autograder.grading.sandbox import bubblewrap_wheel
from autograder.grading.sandbox.forking import Forking
from autograder.grading.sandbox.inside import COURSE, HOME
from autograder.grading.sandbox.run import SandboxError

VENV = "/venv"  # in the sandbox
PROGRAM = f"{COURSE}/autograder/grading/sandbox/inside/__main__.py"

_USUAL = ("/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin")  # whatever PATH says
_PACKAGE = Path(autograder.__file__).parent
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/share/zoneinfo")
_SYSTEM_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
_MADE = {"/etc/passwd": f"student:x:1000:1000::{HOME}:/bin/sh\n", "/etc/group": "student:x:1000:\n"}
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")


class Bubblewrap(Forking):
    """bubblewrap is put around the warm process, which makes namespaces of their own for each hand-in."""

    name = "bubblewrap"

    @classmethod
    @cache
    def why_unavailable(cls) -> str:
        if sys.platform != "linux":
            return NOT_LINUX
        if find_bubblewrap() is None:
            return why_none()
        try:
            with cls(preload=()) as sandbox:
                sandbox.probe()
        except SandboxError as error:
            return remedy(str(error))
        return ""

    def _launch(self, control: int, opened: ExitStack) -> tuple[list[str], dict[str, str], list[int]]:
        program = find_bubblewrap()
        if program is None:
            raise SandboxError(why_none())
        env = self._environment(HOME, "/tmp", place_inside(sys.prefix), COURSE)
        made = {_told(text, opened): place for place, text in _MADE.items()}
        wrapper = command_line(program, env, self._shown(), made)
        uid = _unused_uid() if is_real_root() else None
        config = self._config(control, namespaces=True, uid=uid, path=[COURSE])
        return [*wrapper, place_inside(sys.executable), "-s", "-P", "-B", PROGRAM, config], {}, [*made]


def _told(text: str, opened: ExitStack) -> int:
    """A descriptor that a few words can be read from: what is shown that way lies in no file that could be left."""
    reader, writer = os.pipe()
    opened.callback(os.close, reader)
    os.write(writer, text.encode())
    os.close(writer)
    return reader


_uids = count()


def _unused_uid() -> int:
    """A user id that nobody has, and another for each sandbox."""
    return 0x70000000 + (os.getpid() % (1 << 22)) * 16 + next(_uids) % 16


# Where it is.


def find_bubblewrap() -> Path | None:
    """The program, as an absolute path; None where there is none.

    The system's own comes first, that is any on the PATH or where systems keep theirs; then one that was
    installed beside Python; then the one that `make setup` brings, if it is what it was.
    """
    beside = Path(sys.prefix, "bin")
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    system = [place for place in [*places, *_USUAL] if os.path.isabs(place) and Path(place) != beside]
    found = shutil.which("bwrap", path=os.pathsep.join(system)) or shutil.which("bwrap", path=str(beside))
    return Path(found) if found else bubblewrap_wheel.verified_wheel_binary()


def why_none() -> str:
    """Why `find_bubblewrap` finds none, in a sentence with the remedy."""
    return bubblewrap_wheel.objection() or NOT_INSTALLED


# What a hand-in can see.


def command_line(
    program: Path, env: Mapping[str, str], ours: Mapping[str, Path], made: Mapping[int, str]
) -> list[str]:
    """bubblewrap's command line, up to the program that it is to start.

    Parameters
    ----------
    program : Path
        bubblewrap itself.
    env : mapping of str to str
        The whole environment.
    ours : mapping of str to Path
        What is shown of the engine and the course, by its place.
    made : mapping of int to str
        The places of files that lie nowhere, by the descriptors that they are read from.
    """
    args = [str(program), "--die-with-parent", "--new-session", "--clearenv"]
    args += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    args += ["--hostname", "sandbox"]
    if is_real_root():
        args += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        args += ["--unshare-user", "--uid", str(os.getuid() or 1000), "--gid", str(os.getgid() or 1000)]
    for name, value in env.items():
        args += ["--setenv", name, value]
    for path in _SYSTEM_LINKS:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
    paths = (*_SYSTEM, *_SYSTEM_LINKS, *_SYSTEM_FILES)
    shown = [(path, path) for path in paths if not os.path.islink(path)]
    shown += _python().items()
    shown += [(str(path), place) for place, path in ours.items()]
    places = [*(place for _, place in shown), *made.values()]
    folders = {str(parent): None for place in places for parent in reversed(Path(place).parents)}
    for parent in folders:  # bubblewrap would make them for root alone
        args += ["--dir", parent]
    for path, place in shown:
        args += ["--ro-bind-try", path, place]
    for descriptor, place in made.items():
        args += ["--perms", "0644", "--ro-bind-data", str(descriptor), place]
    for path in _covered():
        args += ["--tmpfs", path]
    args += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    args += ["--dir", "/home", "--dir", HOME]
    return [*args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--"]


def _python() -> dict[str, str]:
    """What Python and the packages need of this installation, and where it goes.

    Neither `etc` nor `share`. A virtual environment goes to `VENV`, for it may well lie in /tmp or in a
    home directory, where a hand-in has its own; the Python that it was made from cannot be moved.
    """
    wanted = {}
    for prefix in dict.fromkeys([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]):
        for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
            wanted[str(Path(prefix, name))] = str(Path(place_inside(prefix), name))
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        path = sysconfig.get_path(key)
        wanted[path] = place_inside(path)
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        wanted[str(link.parent)] = place_inside(str(link.parent))
    wanted = {
        path: place for path, place in wanted.items() if os.path.exists(path) and not _within(place, _SYSTEM)
    }
    for path, place in wanted.items():
        if _within(place, ("/tmp", "/dev", "/proc", HOME)):
            raise SandboxError(
                f"Python lies in {path}, where the sandbox has a place of its own: install another."
            )
    return wanted


def place_inside(path: str) -> str:
    """Where a path of the virtual environment is in the sandbox; any other is where it was."""
    if sys.prefix != sys.base_prefix and _within(path, [sys.prefix]):
        return str(Path(VENV, Path(path).relative_to(sys.prefix)))
    return path


def _covered() -> list[str]:
    """What must not show although it lies within something that does."""
    shown = [*_SYSTEM, *_python()]
    hidden = [Path(place, "autograder") for place in site.getsitepackages()]
    if _PACKAGE not in hidden:  # a checkout, whose root holds solutions and hand-ins
        hidden.append(_PACKAGE.parent)
    return [place_inside(str(path)) for path in hidden if path.is_dir() and _within(path, shown)]


def _within(path: str | Path, places: Iterable[str | Path]) -> bool:
    return any(Path(path).is_relative_to(place) for place in places)


def is_real_root() -> bool:
    """Whether we are root of the machine and not only of some user namespace."""
    if os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


# Where it does not work.

NOT_LINUX = "Hand-ins run in a sandbox that only Linux has. Grade on Linux, or in a virtual machine with it."
NOT_INSTALLED = (
    "Hand-ins run in a sandbox, and that needs bubblewrap, which is not installed. Install it "
    "(Debian and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`)."
)
# Kernel settings that forbid user namespaces: the file, the value that does, who does, what allows them.
_FORBIDS: Sequence[tuple[str, str, str, str]] = (
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "this kernel keeps ordinary users from making user namespaces",
        "sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces",
        "0",
        "this kernel is set to allow no user namespaces",
        "sysctl user.max_user_namespaces=10000",
    ),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor keeps ordinary users from making user namespaces",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


def remedy(error: str, settings: Path = Path("/proc/sys")) -> str:
    """Why a sandbox that failed with `error` cannot start, and what to do, in a sentence.

    Parameters
    ----------
    error : str
    settings : Path
        Where the kernel's settings are.
    """
    for name, value, why, command in _FORBIDS:
        with suppress(OSError):
            if (settings / name).read_text().strip() == value:
                return (
                    f"The sandbox cannot start, because {why}: allow them as root with `{command}` "
                    f"(to keep that, write it into a file in /etc/sysctl.d). [{error}]"
                )
    return (
        "The sandbox cannot start: bubblewrap needs user namespaces, and inside a container the right "
        "to make them and to mount /proc; docs/homes.md says what a container must be given. "
        f"[{error}]"
    )
