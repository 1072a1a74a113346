"""What Linux does for the sandbox: namespaces, capabilities, a filter on system calls, limits.

Calls to the C library, because Python has no `os.unshare` before 3.12, and no `mount` or seccomp at all.
Inside the sandbox this is a top-level module.
"""

import ctypes
import errno
import os
import platform
import re
import resource
import signal
import struct
import sys
from contextlib import contextmanager, suppress

HOME = "/home/sandbox"
SPARE = {"NPROC": 8, "NOFILE": 8, "AS": 64 << 20}  # for asking questions, beyond what cells may use
SCRATCH = ("/tmp", "/dev/shm", HOME)  # a fresh tmpfs on each

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_NEW = {"ns": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000}
_NEW |= {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
_ANY_NEW = sum(_NEW.values()) | 0x80  # and a time namespace
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32

_c = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _libc(name: str, *args) -> int:
    args = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    result = getattr(_c, name)(*args)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _mount(kind: str, target: str, flags: int, options: str) -> None:
    _libc("mount", kind.encode(), target.encode(), kind.encode(), flags, options.encode())


def _copies() -> dict[str, str]:
    """The files of /proc that a hand-in gets, as they are now: TensorFlow dies without some of them."""
    copies = {"self/cmdline": "python\0"}
    for name in ("cpuinfo", "meminfo", "stat"):
        with suppress(OSError), open(f"/proc/{name}") as file:
            copies[name] = file.read(200_000)
    return copies


def become(uid: int) -> None:
    """Give up root for a user that nobody else is: the limit on processes ignores root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _libc("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self belongs to root


def enter_namespaces(scratch_bytes: int) -> None:
    """Namespaces of the run's own, empty scratch places, and next to nothing in /proc.

    The next fork is PID 1 of the new PID namespace.
    """
    uid, gid = os.getuid(), os.getgid()
    _libc("unshare", sum(_NEW.values()))
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"1000 {uid} 1")
    write("/proc/self/gid_map", f"1000 {gid} 1")
    with suppress(OSError):  # read-only where bubblewrap ran as root; the filter below refuses too
        write("/proc/sys/user/max_user_namespaces", "0")
    options = f"size={scratch_bytes},nr_inodes=4096,mode=1777"
    for place in SCRATCH:
        _mount("tmpfs", place, _MS_NOSUID | _MS_NODEV, options)
    closed = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    for place in ("/proc", "/dev/pts"):
        _mount("tmpfs", place, closed, "size=1m,mode=0555")
    os.mkdir("/proc/self")
    for name, text in _PROC.items():
        write(f"/proc/{name}", text)
    os.symlink(sys.executable, "/proc/self/exe")
    for place in ("/proc", "/dev/pts"):
        _mount("tmpfs", place, closed | _MS_RDONLY | _MS_REMOUNT, "size=1m,mode=0555")
    for folder in (f"{HOME}/notebook", "/tmp/matplotlib", "/tmp/ipython"):
        os.mkdir(folder)
    os.chdir(f"{HOME}/notebook")


_PROC = _copies()


def die_with_parent() -> None:
    """Be killed when the process that started this one ends."""
    if _c:
        _libc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever loses its own further down, so that none can hide."""
    if _c:
        _libc("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def write(path: str, text: str) -> None:
    """A file's new content; for the small ones of /proc."""
    with open(path, "w") as file:
        file.write(text)


def drop_capabilities() -> None:
    """Keep no capability, and none to be had by running a program."""
    _libc("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        try:
            _libc("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            break  # past the last one that this kernel knows
    header = struct.pack("Ii", 0x20080522, 0)
    _libc("capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(24))


# System calls that no notebook needs, by their numbers here; each was a way out of some sandbox, or
# holds memory or messages where nobody counts them.
_REFUSED = {
    "x86_64": [
        *(101, 310, 311, 312, 438, 440),  # ptrace, process_vm_*, kcmp, pidfd_getfd, process_madvise
        *(272, 308, 165, 166, 155, 161),  # unshare, setns, mount, umount2, pivot_root, chroot
        *(428, 429, 430, 431, 432, 433, 442, 457, 458, 467),  # the newer mount calls
        *(248, 249, 250, 321, 298, 323, 300),  # keys, bpf, perf, userfaultfd, fanotify
        *(425, 426, 427, 303, 304),  # io_uring, file handles
        *(319, 447, 29, 64, 68, 240),  # memfd_*, System V shm, sem, msg; mq_open
        *(175, 313, 176, 246, 320, 169, 103, 163, 167, 168, 179),  # modules, kexec, reboot, syslog...
        *(164, 227, 159, 305, 256, 279, 153, 154, 172, 173),  # clocks, page moves, vhangup, ldt, io ports
    ],
    "aarch64": [
        *(117, 270, 271, 272, 438, 440),
        *(97, 268, 40, 39, 41, 51),
        *(428, 429, 430, 431, 432, 433, 442, 457, 458, 467),
        *(217, 218, 219, 280, 241, 282, 262),
        *(425, 426, 427, 264, 265),
        *(279, 447, 194, 190, 186, 180),
        *(105, 273, 106, 104, 294, 142, 116, 89, 224, 225, 60),
        *(170, 112, 171, 266, 238, 239, 58),
    ],
}
_CALLS = {  # audit architecture, clone, clone3, socket, socketpair
    "x86_64": (0xC000003E, 56, 435, 41, 53),
    "aarch64": (0xC00000B7, 220, 435, 198, 199),
}
_FAMILIES = (1, 2, 10)  # Unix, IPv4, IPv6: virtual machine sockets, for one, know no namespaces


def seccomp_filter(machine: str) -> bytes | None:
    """The filter as the kernel's own instructions; None for a machine whose numbers are not here."""
    if machine not in _REFUSED:
        return None
    architecture, clone, clone3, *sockets = _CALLS[machine]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse = 0x7FFF0000, 0x80000000, 0x50000

    def step(code, k, yes=0, no=0):
        return struct.pack("HBBI", code, yes, no, k)

    def when(code, k, then):
        return step(code, k, 0, 1) + step(give, then)

    program = step(load, 4) + step(equal, architecture, 1, 0) + step(give, kill) + step(load, 0)
    if machine == "x86_64":
        program += when(at_least, 0x40000000, refuse | errno.ENOSYS)  # the x32 numbers
    for number in _REFUSED[machine]:
        program += when(equal, number, refuse | errno.EPERM)
    program += when(equal, clone3, refuse | errno.ENOSYS)  # libc then uses clone, whose flags we can read
    program += step(equal, clone, 0, 4) + step(load, 16) + when(any_bit, _ANY_NEW, refuse | errno.EPERM)
    program += step(give, allow)
    for number in sockets:
        program += step(equal, number, 0, 6) + step(load, 16)
        program += b"".join(step(equal, f, 3 - i, 0) for i, f in enumerate(_FAMILIES))
        program += step(give, refuse | errno.EAFNOSUPPORT) + step(give, allow)
    return program + step(give, allow)


def refuse_calls() -> None:
    """Put the filter on this process, for good; raises where nothing keeps it from new namespaces."""
    program = seccomp_filter(platform.machine())
    if program is None:
        if _can_make_user_namespace():
            raise OSError("user namespaces cannot be refused on this machine")
        return
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _libc("prctl", _PR_SET_SECCOMP, 2, ctypes.create_string_buffer(head), 0, 0)


def set_limits(limits: dict, base: int, sandboxed: bool) -> None:
    """What one process may use; what all of a hand-in's may is the keeper's business."""
    seconds = int(limits["total_seconds"]) + 5
    wanted = {
        "AS": base + limits["memory"],
        "CPU": seconds,
        "FSIZE": limits["file_bytes"],
        "NOFILE": limits["open_files"],
        "CORE": 0,
        "MSGQUEUE": 0,
        "SIGPENDING": 256,
    }
    if sandboxed:  # elsewhere it would count everything else that the user runs
        wanted["NPROC"] = limits["processes"]
    for name, most in wanted.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        spare = SPARE.get(name, 0)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard - spare)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most + spare))


@contextmanager
def spare_limits():
    """Somewhat more, so that a question can be asked when the cells have used up what they may."""
    kinds = [getattr(resource, f"RLIMIT_{name}", None) for name in SPARE]
    before = {kind: resource.getrlimit(kind) for kind in kinds if kind is not None}
    for kind, (_, hard) in before.items():
        resource.setrlimit(kind, (hard, hard))
    try:
        yield
    finally:
        for kind, pair in before.items():
            resource.setrlimit(kind, pair)


def sizes() -> tuple[int, int]:
    """Bytes of address space that this process has mapped, and bytes of memory that it holds."""
    with open("/proc/self/statm") as file:
        mapped, resident, *_ = (int(pages) * resource.getpagesize() for pages in file.read().split())
    return mapped, resident


def _can_make_user_namespace() -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(1 if _c.unshare(_NEW["user"]) == 0 else 0)
    return os.waitpid(pid, 0)[1] != 0


class Processes:
    """The process tree under a PID, seen from outside its namespaces.

    Parameters
    ----------
    proc : int
        A descriptor of the /proc to look in, opened before that was covered.
    """

    def __init__(self, proc: int):
        self._proc = proc

    def under(self, root: int) -> dict[int, tuple[int, int]]:
        """Virtual and resident bytes of `root` and all below it."""
        parents, sizes = {}, {}
        for name in os.listdir(self._proc):
            if name.isdigit() and (numbers := self._stat(int(name))):
                parents[int(name)], *sizes[int(name)] = numbers
        found = {}
        for pid in parents:
            above = pid
            while above != root and above in parents:
                above = parents[above]
            if above == root:
                found[pid] = sizes[pid]
        return found

    def memory(self, sizes: dict[int, tuple[int, int]]) -> int:
        """Bytes in use, pages that several share counted once (where the process lets us look)."""
        total = 0
        for pid in sizes:
            match = re.search(rb"^Pss:\s+(\d+) kB", self._read(f"{pid}/smaps_rollup"), re.MULTILINE)
            # One that hides its pages counts with all of them; one that is dying has none any more.
            total += int(match[1]) * 1024 if match else (self._stat(pid) or (0, 0, 0))[2]
        return total

    def be_killed_first(self) -> None:
        """Have the kernel choose this process, before any other, when the machine is out of memory."""
        with suppress(OSError):
            fd = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=self._proc)
            os.write(fd, b"1000")
            os.close(fd)

    def _stat(self, pid: int) -> tuple[int, int, int] | None:
        """Parent, virtual and resident bytes."""
        text = self._read(f"{pid}/stat")
        if not text:
            return None
        fields = text[text.rindex(b")") + 2 :].split()
        return int(fields[1]), int(fields[20]), int(fields[21]) * resource.getpagesize()

    def _read(self, name: str) -> bytes:
        try:
            fd = os.open(name, os.O_RDONLY, dir_fd=self._proc)
        except OSError:
            return b""
        try:
            return os.read(fd, 4096)
        except OSError:
            return b""
        finally:
            os.close(fd)
