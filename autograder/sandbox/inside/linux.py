"""Linux features for the sandbox: namespaces, capabilities, system call filter, resource limits.

The functions call the C library, because Python has `os.unshare` only since 3.12, and neither
`mount` nor seccomp. This module may import only the standard library, because it is used while
the process still has root's privileges.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.sandbox.inside import SANDBOX_HOME

if TYPE_CHECKING:
    from autograder.core.run_limits import RunLimits

# While an exercise is tested, the limits of processes, open files and memory are raised by these
# amounts. So the test works even if the cells have used up their limits.
SPARE_LIMITS = {"NPROC": 8, "NOFILE": 8, "AS": 64 << 20}
SCRATCH_FOLDERS = ("/tmp", "/dev/shm", SANDBOX_HOME)  # each submission gets an empty tmpfs on each

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_NAMESPACE_FLAGS = {"ns": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000}
_NAMESPACE_FLAGS |= {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
_ALL_NAMESPACE_FLAGS = sum(_NAMESPACE_FLAGS.values()) | 0x80  # 0x80: time namespace
CAP_SYS_ADMIN = 21
_MADV_COLLAPSE, _HUGE_PAGE_BYTES = 25, 2 << 20  # Linux has MADV_COLLAPSE since version 6.1
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32

_libc: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _call_libc(name: str, *args: object) -> int:
    c_args = [ctypes.c_ulong(arg) if isinstance(arg, int) else arg for arg in args]
    result: int = getattr(_libc, name)(*c_args)
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _mount(kind: str, target: str, flags: int, options: str) -> None:
    _call_libc("mount", kind.encode(), target.encode(), kind.encode(), flags, options.encode())


@cache
def read_proc_files() -> dict[str, str]:
    """Return the contents of the few files in /proc that submissions may read, by file name.

    TensorFlow needs them.
    """
    copies = {"self/cmdline": "python\0"}
    for name in ("cpuinfo", "meminfo", "stat"):
        with suppress(OSError), open(f"/proc/{name}") as file:
            copies[name] = file.read(200_000)
    return copies


def become_user(uid: int) -> None:
    """Change from root to the user id `uid`, which no user has.

    The kernel would not limit the number of root's processes.
    """
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _call_libc("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)  # without this, root owns /proc/self


def unshare_pids() -> None:
    """Let the next forked process be process 1 of a new PID namespace.

    The current process and its children enter a new user namespace. In it they have the capability
    to create more PID namespaces, but no capabilities that have an effect outside of it.
    """
    namespaces = _NAMESPACE_FLAGS["user"] | _NAMESPACE_FLAGS["pid"]
    _enter_user_namespace(namespaces, os.getuid(), os.getgid())


def fork_as_init(own_pid_namespace: int) -> int:
    """Fork a child that is process 1 of a new PID namespace; return what `os.fork` returns.

    Parameters
    ----------
    own_pid_namespace : int
        Descriptor of the PID namespace of the calling process, which is restored for its later
        children.
    """
    _call_libc("unshare", _NAMESPACE_FLAGS["pid"])
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            _call_libc("setns", own_pid_namespace, _NAMESPACE_FLAGS["pid"])
    return pid


def _enter_user_namespace(flags: int, uid: int, gid: int) -> None:
    """Enter new namespaces; in the new user namespace, this user has the ids `uid` and `gid`."""
    outside_uid, outside_gid = os.getuid(), os.getgid()
    _call_libc("unshare", flags)
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", f"{uid} {outside_uid} 1")
    write_file("/proc/self/gid_map", f"{gid} {outside_gid} 1")


def enter_namespaces(scratch_bytes: int) -> None:
    """Give a submission its own namespaces, empty temporary folders and a /proc of a few files.

    `scratch_bytes` is the maximal size of the files in each temporary folder.
    """
    read_proc_files()  # cache these files, before /proc is replaced below
    _enter_user_namespace(sum(_NAMESPACE_FLAGS.values()) & ~_NAMESPACE_FLAGS["pid"], 1000, 1000)
    # Forbid further user namespaces. The file is read-only if bubblewrap runs as root; then only
    # the system call filter forbids them.
    with suppress(OSError):
        write_file("/proc/sys/user/max_user_namespaces", "0")
    options = f"size={scratch_bytes},nr_inodes=4096,mode=1777"
    for folder in SCRATCH_FOLDERS:
        _mount("tmpfs", folder, _MS_NOSUID | _MS_NODEV, options)
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    for folder in ("/proc", "/dev/pts"):
        _mount("tmpfs", folder, flags, "size=1m,mode=0555")
    os.mkdir("/proc/self")
    for name, text in read_proc_files().items():
        write_file(f"/proc/{name}", text)
    os.symlink(sys.executable, "/proc/self/exe")
    for folder in ("/proc", "/dev/pts"):
        _mount("tmpfs", folder, flags | _MS_RDONLY | _MS_REMOUNT, "size=1m,mode=0555")
    for folder in (f"{SANDBOX_HOME}/notebook", "/tmp/matplotlib", "/tmp/ipython"):
        os.mkdir(folder)
    os.chdir(f"{SANDBOX_HOME}/notebook")


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends."""
    if _libc:
        _call_libc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Let orphaned descendants become children of this process, so that it can kill them."""
    if _libc:
        _call_libc("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def write_file(path: str, text: str) -> None:
    """Write a text to a file, such as a setting in /proc."""
    with open(path, "w") as file:
        file.write(text)


def drop_capabilities(keep: int | None = None) -> None:
    """Drop all capabilities of this process except `keep`.

    The process cannot gain any capability again, not even by running a setuid program.
    """
    _call_libc("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        try:
            _call_libc("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            break  # beyond the last capability that this kernel knows
    header, mask = struct.pack("Ii", 0x20080522, 0), 0 if keep is None else 1 << keep
    # The kernel expects the low 32 bits of the effective, permitted and inheritable sets of
    # capabilities, then their high 32 bits.
    sets = struct.pack("6I", mask, mask, 0, 0, 0, 0)
    _call_libc("capset", ctypes.create_string_buffer(header), ctypes.create_string_buffer(sets))


# System calls that are forbidden to submissions, with their numbers on x86-64 and on 64-bit ARM
# (None if ARM lacks the call). No notebook needs them. Each has been used to escape from a
# sandbox, or can allocate memory that no limit counts.
REFUSED_CALLS: dict[str, tuple[int, int | None]] = {
    # Calls that access other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    # Calls that change namespaces or mounts.
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
    # Calls on kernel interfaces: keys, BPF programs, events, io_uring (whose requests no filter
    # sees), and files by inode number.
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
    # Calls that allocate memory or messages that no limit counts.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    # Calls that change the machine: modules, power, log, disks, clocks, pages, terminals, ports.
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
_MACHINES = ("x86_64", "aarch64")  # in the order of the numbers in `REFUSED_CALLS`
# For each type of machine: its number in the kernel's audit system, and the numbers of the system
# calls clone, clone3, socket and socketpair.
_MACHINE_CALLS = {
    "x86_64": (0xC000003E, 56, 435, 41, 53),
    "aarch64": (0xC00000B7, 220, 435, 198, 199),
}
# Allowed families of sockets: Unix, IPv4 and IPv6. Sockets of other families may ignore the network
# namespace, as those of virtual machines (AF_VSOCK) do.
_SOCKET_FAMILIES = (1, 2, 10)


def build_seccomp_filter(machine: str) -> bytes | None:
    """Return the filter of forbidden system calls as a BPF program for this type of machine.

    Return None for a machine other than x86-64 and 64-bit ARM.
    """
    if machine not in _MACHINES:
        return None
    refused_numbers = [numbers[_MACHINES.index(machine)] for numbers in REFUSED_CALLS.values()]
    architecture, clone, clone3, *sockets = _MACHINE_CALLS[machine]
    # Instruction codes and return values of <linux/filter.h> and <linux/seccomp.h>.
    load, equal, at_least, any_bit, return_ = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, refuse = 0x7FFF0000, 0x80000000, 0x50000

    def step(code: int, operand: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, jump_true, jump_false, operand)

    def return_if(code: int, operand: int, result: int) -> bytes:
        return step(code, operand, 0, 1) + step(return_, result)

    # In the filter's input, the system call's number is at offset 0, the architecture at offset 4,
    # and the call's first argument at offset 16.
    program = step(load, 4) + step(equal, architecture, 1, 0) + step(return_, kill) + step(load, 0)
    if machine == "x86_64":
        program += return_if(at_least, 0x40000000, refuse | errno.ENOSYS)  # calls of the x32 ABI
    for number in refused_numbers:
        if number is not None:
            program += return_if(equal, number, refuse | errno.EPERM)
    # The filter cannot read the flags of the system call clone3. If that call is refused, the C
    # library uses clone instead, whose flags the filter checks.
    program += return_if(equal, clone3, refuse | errno.ENOSYS)
    program += step(equal, clone, 0, 4) + step(load, 16)
    program += return_if(any_bit, _ALL_NAMESPACE_FLAGS, refuse | errno.EPERM)
    program += step(return_, allow)
    for number in sockets:
        program += step(equal, number, 0, 6) + step(load, 16)
        for index, family in enumerate(_SOCKET_FAMILIES):
            program += step(equal, family, 3 - index, 0)
        program += step(return_, refuse | errno.EAFNOSUPPORT) + step(return_, allow)
    return program + step(return_, allow)


def install_seccomp_filter() -> None:
    """Forbid this process some system calls, by a filter that cannot be removed again.

    On a type of machine for which there is no filter, raise OSError if this process could create
    a user namespace.
    """
    program = build_seccomp_filter(platform.machine())
    if program is None:
        if _can_make_user_namespace():
            raise OSError("user namespaces cannot be refused on this machine")
        return
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    _call_libc("prctl", _PR_SET_SECCOMP, 2, ctypes.create_string_buffer(head), 0, 0)


def set_limits(limits: "RunLimits", address_space: int, processes: int | None = None) -> None:
    """Set the resource limits of this process, which its child processes inherit.

    The supervisor enforces the limits of the whole submission.

    Parameters
    ----------
    address_space : int
        Size of the fork server's address space in bytes. The submission inherits that, so it is
        added to the limit of memory.
    processes : int, optional
        Maximal number of processes. The kernel counts them by user and user namespace, so this
        can be set only for a submission with its own user namespace.
    """
    values = {
        "AS": address_space + limits.memory,
        "CPU": int(limits.total_seconds) + 5,
        "FSIZE": limits.file_bytes,
        "NOFILE": limits.open_files,
        "CORE": 0,
        "MSGQUEUE": 0,
        "SIGPENDING": 256,
    }
    if processes is not None:
        values["NPROC"] = processes
    for name, value in values.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        spare = SPARE_LIMITS.get(name, 0)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard - spare)
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value + spare))


@contextmanager
def raise_limits() -> Iterator[None]:
    """Raise the process's resource limits a little within the `with` block.

    So an exercise can be tested even if the cells have used up their limits.
    """
    kinds = [getattr(resource, f"RLIMIT_{name}", None) for name in SPARE_LIMITS]
    limits = {kind: resource.getrlimit(kind) for kind in kinds if kind is not None}
    for kind, (_, hard) in limits.items():
        resource.setrlimit(kind, (hard, hard))
    try:
        yield
    finally:
        for kind, pair in limits.items():
            resource.setrlimit(kind, pair)


def enlarge_pipe(pipe: int) -> None:
    """Enlarge a pipe's buffer to 1 MB, if possible, so that its two processes wait less often."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


def use_huge_pages() -> None:
    """Convert this process's private memory to huge pages, so that it can be forked faster.

    A fork copies the page table, which is shorter with huge pages. If a forked process writes to a
    huge page, only 4 kB of it are copied. Linux before 6.1 does not have this function.
    """
    if not _libc:
        return
    with open("/proc/self/maps") as file:
        pattern = r"^(\w+)-(\w+) rw-p \S+ 00:00 0 *(?:\[heap\])?$"
        ranges = re.findall(pattern, file.read(), re.MULTILINE)
    for low, high in ranges:
        start = -(-int(low, 16) // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
        end = int(high, 16) // _HUGE_PAGE_BYTES * _HUGE_PAGE_BYTES
        if start < end:
            with suppress(OSError):
                _call_libc("madvise", start, end - start, _MADV_COLLAPSE)


def is_asleep(pid: int) -> bool:
    """Return True if no thread of this process computes, waits for a processor or reads a disk.

    The process sleeps, waits for a lock, a pipe or another process, is stopped, or has ended.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            # The state follows the program's name, which is in parentheses and may hold some.
            state = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            if state in "RD":
                return False
    return True


def measure_address_space() -> int:
    """Return the size of this process's address space in bytes; 0 on a system without /proc."""
    with suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def prefer_oom_kill() -> None:
    """Let the kernel kill this process before any other when the machine is out of memory."""
    with suppress(OSError):
        write_file("/proc/self/oom_score_adj", "1000")


def _can_make_user_namespace() -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(1 if _libc.unshare(_NAMESPACE_FLAGS["user"]) == 0 else 0)
    return os.waitpid(pid, 0)[1] != 0
