"""What Linux does for the sandbox: namespaces, capabilities, a filter on system calls, limits.

Calls to the C library, because Python has no `os.unshare` before 3.12, and no `mount` or seccomp at all.
Only the standard library is imported here: this runs before anything else may.
"""

import ctypes
import errno
import fcntl
import os
import platform
import re
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from autograder.grading.sandbox.inside import HOME

if TYPE_CHECKING:
    from autograder.grading.sandbox.inside.limits import Limits

SPARE = {"NPROC": 8, "NOFILE": 8, "AS": 64 << 20}  # for asking questions, beyond what cells may use
SCRATCH = ("/tmp", "/dev/shm", HOME)  # a fresh tmpfs on each

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_NEW = {"ns": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000}
_NEW |= {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
_ANY_NEW = sum(_NEW.values()) | 0x80  # and a time namespace
CAP_SYS_ADMIN = 21
_MADV_COLLAPSE, _HUGE = 25, 2 << 20  # since Linux 6.1; bytes of a huge page
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32

_c: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _libc(name: str, *args: object) -> int:
    passed = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    result: int = getattr(_c, name)(*passed)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _mount(kind: str, target: str, flags: int, options: str) -> None:
    _libc("mount", kind.encode(), target.encode(), kind.encode(), flags, options.encode())


@cache
def proc_files() -> dict[str, str]:
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


def lead_to_pids() -> None:
    """Have the next fork be PID 1 of a new PID namespace, in a user namespace where it may make more of them.

    This process joins that user namespace, and its capabilities are good for nothing outside.
    """
    _unshare(_NEW["user"] | _NEW["pid"], os.getuid(), os.getgid())


def fork_as_first(own_pids: int) -> int:
    """`os.fork`, for a child that is PID 1 of a new PID namespace.

    Parameters
    ----------
    own_pids : int
        A descriptor of this process's own PID namespace, which its other children are to be in.
    """
    _libc("unshare", _NEW["pid"])
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            _libc("setns", own_pids, _NEW["pid"])
    return pid


def _unshare(kinds: int, uid: int, gid: int) -> None:
    """New namespaces, a user namespace among them, where this user has these numbers."""
    outside = os.getuid(), os.getgid()
    _libc("unshare", kinds)
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{uid} {outside[0]} 1")
    write("/proc/self/gid_map", f"{gid} {outside[1]} 1")


def enter_namespaces(scratch_bytes: int) -> None:
    """Namespaces of the run's own (but for its PIDs), empty scratch places, and next to nothing in /proc."""
    proc_files()  # read before /proc is covered
    _unshare(sum(_NEW.values()) & ~_NEW["pid"], 1000, 1000)
    with suppress(OSError):  # read-only where bubblewrap ran as root; the filter below refuses too
        write("/proc/sys/user/max_user_namespaces", "0")
    options = f"size={scratch_bytes},nr_inodes=4096,mode=1777"
    for place in SCRATCH:
        _mount("tmpfs", place, _MS_NOSUID | _MS_NODEV, options)
    closed = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    for place in ("/proc", "/dev/pts"):
        _mount("tmpfs", place, closed, "size=1m,mode=0555")
    os.mkdir("/proc/self")
    for name, text in proc_files().items():
        write(f"/proc/{name}", text)
    os.symlink(sys.executable, "/proc/self/exe")
    for place in ("/proc", "/dev/pts"):
        _mount("tmpfs", place, closed | _MS_RDONLY | _MS_REMOUNT, "size=1m,mode=0555")
    for folder in (f"{HOME}/notebook", "/tmp/matplotlib", "/tmp/ipython"):
        os.mkdir(folder)
    os.chdir(f"{HOME}/notebook")


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


def drop_capabilities(but: int | None = None) -> None:
    """Keep no capability, or this one alone, and none to be had by running a program."""
    _libc("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        try:
            _libc("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            break  # past the last one that this kernel knows
    header, kept = struct.pack("Ii", 0x20080522, 0), 0 if but is None else 1 << but
    # Effective, permitted, inheritable: the first 32 of each.
    sets = struct.pack("6I", kept, kept, 0, 0, 0, 0)
    _libc("capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(sets))


# System calls that no notebook needs, with their numbers on x86-64 and on 64-bit ARM (None where there is
# none). Each was a way out of some sandbox, or holds memory or messages where nobody counts them.
REFUSED: dict[str, tuple[int, int | None]] = {
    # look into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    # leave these namespaces, or change what is mounted
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "open_tree_attr": (467, 467),
    # reach into the kernel: keys, programs in it, events, requests past the filter, files by number
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # hold memory or messages where nobody counts them
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # change the machine: its modules, power, log, disks, clocks, pages, terminals, ports
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "vhangup": (153, 58),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
}
_MACHINES = ("x86_64", "aarch64")  # in the order of the numbers above
_CALLS = {  # audit architecture, clone, clone3, socket, socketpair
    "x86_64": (0xC000003E, 56, 435, 41, 53),
    "aarch64": (0xC00000B7, 220, 435, 198, 199),
}
_FAMILIES = (1, 2, 10)  # Unix, IPv4, IPv6: virtual machine sockets, for one, know no namespaces


def seccomp_filter(machine: str) -> bytes | None:
    """The filter as the kernel's own instructions; None for a machine whose numbers are not here."""
    if machine not in _MACHINES:
        return None
    refused = [pair[_MACHINES.index(machine)] for pair in REFUSED.values()]
    architecture, clone, clone3, *sockets = _CALLS[machine]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse = 0x7FFF0000, 0x80000000, 0x50000

    def step(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, k)

    def when(code: int, k: int, then: int) -> bytes:
        return step(code, k, 0, 1) + step(give, then)

    program = step(load, 4) + step(equal, architecture, 1, 0) + step(give, kill) + step(load, 0)
    if machine == "x86_64":
        program += when(at_least, 0x40000000, refuse | errno.ENOSYS)  # the x32 numbers
    for number in refused:
        if number is not None:
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


def set_limits(limits: "Limits", base: int, processes: int | None = None) -> None:
    """What one process may use; what all of a hand-in's may is the keeper's business.

    `processes` counts all that the user runs in the same user namespace, so it needs one of the hand-in's own.
    """
    seconds = int(limits.total_seconds) + 5
    wanted = {
        "AS": base + limits.memory,
        "CPU": seconds,
        "FSIZE": limits.file_bytes,
        "NOFILE": limits.open_files,
        "CORE": 0,
        "MSGQUEUE": 0,
        "SIGPENDING": 256,
    }
    if processes is not None:
        wanted["NPROC"] = processes
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
def spare_limits() -> Iterator[None]:
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


def enlarge(pipe: int) -> None:
    """Have a pipe hold a megabyte, where the system lets us: fewer turns between those at its ends."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


def gather_pages() -> None:
    """Gather what this process has written into huge pages: a fork copies the list of pages, now a short one.

    A fork that writes to one gets a copy of the ordinary page only. Older kernels leave all as it is.
    """
    if not _c:
        return
    with open("/proc/self/maps") as file:
        maps = re.findall(r"^(\w+)-(\w+) rw-p \S+ 00:00 0 *(?:\[heap\])?$", file.read(), re.MULTILINE)
    for low, high in maps:
        start, end = -(-int(low, 16) // _HUGE) * _HUGE, int(high, 16) // _HUGE * _HUGE
        if start < end:
            with suppress(OSError):
                _libc("madvise", start, end - start, _MADV_COLLAPSE)


def mapped() -> int:
    """Bytes of address space that this process has; 0 on a system without /proc."""
    with suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def be_killed_first() -> None:
    """Have the kernel choose this process, before any other, when the machine is out of memory."""
    with suppress(OSError):
        write("/proc/self/oom_score_adj", "1000")


def _can_make_user_namespace() -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(1 if _c.unshare(_NEW["user"]) == 0 else 0)
    return os.waitpid(pid, 0)[1] != 0
