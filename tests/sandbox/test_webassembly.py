"""The WebAssembly sandbox: attacks on the guest, on its host, and on the files of both.

As in test_sandbox, each attack runs between two honest questions, which must still be answered
correctly.
"""

import ctypes
import inspect
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import autograder
from autograder.sandbox import MB, Cell, RunLimits, SandboxError, choice, wasi, webassembly
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.inside import driver, protocol, wasm_guest
from autograder.sandbox.wasi import Folder, GuestExit, ReadOnlyFile, Wasi, add_node
from autograder.sandbox.webassembly import WebAssembly
from autograder.values import encoding
from autograder.values.case_records import inputs

ROOT = Path(autograder.__file__).parents[1]
LIMITS = RunLimits(
    cell_seconds=3, call_seconds=2, total_seconds=60, memory=200 * MB, output_bytes=MB
)
# For cells that import large packages, which takes seconds in a guest, and more on a slow machine.
UNHURRIED = replace(LIMITS, cell_seconds=120, total_seconds=600)
REASON = WebAssembly.explain_unavailability()


def needs_guest(test):
    """Mark a test that needs a guest: only CI runs it on machines where bubblewrap starts."""
    test = pytest.mark.skipif(bool(REASON), reason=REASON or "there is a guest")(test)
    return test if Bubblewrap.explain_unavailability() else pytest.mark.long(test)


@pytest.fixture(scope="module")
def sandbox():
    with WebAssembly(limits=LIMITS, library=[ROOT / "attention_labs"], course=ROOT) as sandbox:
        yield sandbox


def text_of(run) -> str:
    return "".join(o["text"] for o in run.outputs if o["output_type"] == "stream")


def error_of(run) -> str:
    return next((o["ename"] for o in run.outputs if o["output_type"] == "error"), "")


DOUBLE = Cell("def double(x):\n    return 2 * x")
ASK = Cell("", "double", [inputs(np.ones(2)), inputs(np.arange(3))])


def attack(sandbox, code: str, **limits):
    """Run an attack between two honest questions, and check that both are answered correctly."""
    runs = sandbox.run([DOUBLE, ASK, Cell(code), ASK], replace(LIMITS, **limits))
    for run in (runs[1], runs[3]):
        assert [answer.value.tolist() for answer in run.outcomes] == [[2, 2], [0, 2, 4]], runs
        assert run.status == "ok"
    return runs[2]


# Reach. Each line of an attack is tried by itself, and gives its result, or the error's name.

TRY_EACH = """
import os, sys, json
def said(what):
    try:
        return repr(what())[:200]
    except BaseException as error:
        return type(error).__name__
print(json.dumps([said(what) for what in ({})]))"""


def try_each(sandbox, *code: str) -> list[str]:
    run = attack(sandbox, TRY_EACH.format(", ".join(f"lambda: {line}" for line in code) + ","))
    assert run.status == "ok", run
    return json.loads(text_of(run))


@needs_guest
def test_there_are_no_files_but_those_handed_over(sandbox):
    root, *results = try_each(
        sandbox,
        "sorted(os.listdir('/'))",
        "os.listdir('/etc')",
        "open('/proc/self/environ').read()",
        f"os.listdir({str(ROOT)!r})",
        "sorted(os.listdir('../../../../../..'))",
        "open('/course/../../../etc/passwd').read()",
        "os.listdir('/course/solutions')",
        "os.listdir('/course/autograder/grading')",
        "sorted(os.listdir('/course/autograder/sandbox'))",
    )
    assert root == "['course', 'dev', 'home', 'site', 'tmp', 'usr']"
    assert results[:3] == ["FileNotFoundError"] * 3
    assert results[3:] == [root, *["FileNotFoundError"] * 3, "['inside']"]


@needs_guest
def test_nothing_that_was_handed_over_can_be_changed(sandbox):
    assert set(
        try_each(
            sandbox,
            "open('/course/course.toml', 'w')",
            "open('/course/new', 'w')",
            "open('/new', 'w')",
            "os.remove('/course/autograder/student/answer_key.py')",
            "os.rename('/course/autograder/student/answer_key.py', '/tmp/keys.py')",
            "os.rename('/tmp', '/course/tmp')",
            "os.mkdir('/usr/local/lib/numpy')",
            "os.truncate('/course/course.toml', 0)",
            "os.symlink('/course', '/tmp/link')",
            "os.link('/course/course.toml', '/tmp/link')",
            "os.rmdir('/course')",
            "open('/tmp/' + 300 * 'x', 'w')",
            "os.rename('/tmp', '/tmp/tmp')",
        )
    ) <= {
        "OSError",
        "PermissionError",
        "IsADirectoryError",
        "AttributeError",
        "NotImplementedError",
    }


@needs_guest
def test_there_are_no_processes_threads_sockets_or_doors(sandbox):
    assert set(
        try_each(
            sandbox,
            "os.fork()",
            "os.system('ls')",
            "__import__('subprocess').run(['ls'])",
            "os.kill(1, 9)",
            "__import__('_thread').start_new_thread(print, ())",
            "__import__('socket').create_connection(('127.0.0.1', 22))",
            "__import__('socket').socket()",
            "__import__('urllib.request').request.urlopen('http://127.0.0.1')",
            "__import__('_host').call(b'x')",
            "__import__('ctypes').CDLL(None)",
        )
    ) <= {
        "AttributeError",
        "OSError",
        "RuntimeError",
        "ModuleNotFoundError",
        "ImportError",
        "URLError",
        "gaierror",
    }


@needs_guest
@pytest.mark.parametrize("line", ["!pip install numpy", "x = !ls", "%pip --version"])
def test_a_left_over_shell_line_costs_no_answer(sandbox, line):
    """As in bubblewrap, where the command fails, the cell goes on."""
    runs = sandbox.run([Cell(f"{line}\ndef double(x):\n    return 2 * x"), ASK], LIMITS)
    assert runs[0].status == "ok" and "There are no other programs" in text_of(runs[0])
    assert [answer.value.tolist() for answer in runs[1].outcomes] == [[2, 2], [0, 2, 4]]


@needs_guest
@pytest.mark.parametrize("code", ["%%bash\nls", "%%sh\nls", "%sx ls", "%%script python\n1"])
def test_a_shell_line_says_that_there_are_no_programs(sandbox, code):
    run = attack(sandbox, code)
    assert error_of(run) == "OSError" and "There are no other programs" in run.outputs[0]["evalue"]


@needs_guest
def test_what_it_writes_is_its_own_counted_and_gone(sandbox):
    code = """
import os
with open('/tmp/full', 'wb') as file:
    try:
        while True: file.write(bytes(1 << 20)); file.flush()
    except OSError as error: print(error.strerror, os.path.getsize('/tmp/full') >> 20)
for act in ("os.truncate('/tmp/full', 1 << 40)", "open('/tmp/far', 'wb').seek(1 << 61)"):
    try: print(eval(act))
    except OSError as error: print(error.strerror)
with open('/tmp/sparse', 'wb') as file:
    file.seek(1 << 33)
    try: file.write(b'x'); file.flush()
    except OSError as error: print(error.strerror)
    finally:
        try: file.close()
        except OSError: pass
"""
    lines = text_of(attack(sandbox, code)).splitlines()
    assert lines[0] in ("No space left on device 63", "No space left on device 64")
    assert lines[1] == lines[-1] == "No space left on device", lines
    (run,) = sandbox.run(
        [Cell("import os\nprint(os.listdir('/tmp'), os.path.exists('/home/sandbox/x'))")]
    )
    assert "full" not in text_of(run)


@needs_guest
def test_files_and_descriptors_are_counted(sandbox):
    code = """
made = opened = 0
try:
    while True: open(f'/tmp/{made}', 'w').close(); made += 1
except OSError as error: print(made < 5000, error.strerror)
held = []
try:
    while True: held.append(open('/tmp/0'))
except OSError as error: print(len(held) <= 256, error.strerror)
"""
    assert text_of(attack(sandbox, code)).splitlines() == [
        "True No space left on device",
        "True No file descriptors available",
    ]


@needs_guest
def test_it_may_write_beside_its_notebook_and_at_home(sandbox):
    code = """
import os, numpy as np, tempfile, pathlib
os.makedirs('figures/a'); open('figures/a/é.txt', 'w').write('é')
np.save('w.npy', np.ones(2)); print(np.load('w.npy'), os.path.basename(os.getcwd()), sorted(os.listdir('.')))
import shutil
os.makedirs('a/b'); open('a/b/c', 'w').close(); shutil.move('a', 'figures/moved'); assert os.path.exists('figures/moved/b/c')
for bad in ('figures/moved/b/in', 'figures', '/course/x', '/x', 'y' * 300):
    try: os.rename('figures/moved', bad); print('moved to', bad)
    except OSError: assert os.path.exists('figures/moved/b/c')
new = pathlib.Path('new'); new.touch(); new.touch(); new.unlink()
home = pathlib.Path.home() / 'x'; home.write_text('é'); print(home.read_text(), tempfile.NamedTemporaryFile().name[:5])
for _ in range(100):
    open('new', 'wb').write(bytes(1 << 20)); os.replace('new', 'old')
"""
    run = attack(sandbox, code)
    assert run.status == "ok" and text_of(run) == "[1. 1.] notebook ['figures', 'w.npy']\né /tmp/\n"


DEEP_FOLDERS = {
    "by a path": "path = '/tmp'\nfor n in range(2000):\n    path += '/a'\n    os.mkdir(path)",
    "by a descriptor": """
fd = os.open('/tmp', os.O_RDONLY)
for n in range(2000):
    os.mkdir('a', dir_fd=fd)
    new = os.open('a', os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    fd = new""",
    "by moving": """
for n in range(2000):
    os.mkdir('/tmp/new')
    if n: os.rename('/tmp/old', '/tmp/new/old')
    os.rename('/tmp/new', '/tmp/old')""",
}


@needs_guest
@pytest.mark.parametrize("code", DEEP_FOLDERS.values(), ids=DEEP_FOLDERS)
def test_folders_in_folders_have_an_end(sandbox, code):
    """Else the host, which copies the folders with the guest, would overflow its stack."""
    run = attack(sandbox, f"import os\n{code}")
    assert error_of(run) == "OSError" and run.outputs[-1]["evalue"].startswith("[Errno 37]")


# Memory

BOMBS = {
    "one array": "bytearray(2 << 30)",
    "an array of NumPy's": "import numpy as np\nnp.ones(1 << 28)",
    "many": "held = []\nwhile True: held.append(bytearray(1 << 20))",
    "text": "'x' * (1 << 31)",
}


@needs_guest
@pytest.mark.parametrize("code", BOMBS.values(), ids=BOMBS)
def test_memory_ends_as_python_says_it(sandbox, code):
    run = attack(sandbox, code)
    assert error_of(run) in ("MemoryError", "_ArrayMemoryError", "OverflowError", "ValueError"), run


TABLE = "(x * np.arange(3 << 20)).sum()"
HOLDING = {
    "within": ("", "np.ones(1 << 16)", True),
    "in small steps": ("", "sum((x * np.ones(1 << 10)).sum() for _ in range(3000))", True),
    "a product of matrices": ("", "(np.full((300, 40), x) @ np.ones((40, 300))).sum()", True),
    "all at once": ("", TABLE, False),
    "where there was memory before": ("big = np.arange(1 << 24)\ndel big", TABLE, False),
    "and wipes it": ("", "[(t := x * np.ones(3 << 20)), t.sum(), np.sort(t), t.fill(0)]", False),
    "in memory from before, and wipes it": (
        "room = np.zeros(3 << 20)",
        "[np.multiply(x, 2.0, out=room), np.sin(room, out=room), room.sum(), room.fill(0)]",
        False,
    ),
    "while the question is read": (
        "import builtins\nkind = type(builtins.__autograder_submission__)\nreal = kind.receive_order\n"
        "def receive_order(self):\n    global early\n    real(self)\n    early = 1.5 * np.arange(3 << 20)\n"
        "    early = early.sum()\nkind.receive_order = receive_order",
        "early",
        False,
    ),
    "in a file": ("", "open('/tmp/table', 'wb').write(bytes(16 << 20))", False),
    "in a file, bit by bit": (
        "",
        "[open('/tmp/table', 'wb').write(bytes(1 << 20)) for _ in range(16)]",
        False,
    ),
}


@needs_guest
@pytest.mark.parametrize(("preparation", "code", "is_allowed"), HOLDING.values(), ids=HOLDING)
def test_what_an_answer_holds_is_seen_from_outside(sandbox, preparation, code, is_allowed):
    """The guest's own report is not trusted."""
    prelude = f"import numpy as np, tracemalloc\ntracemalloc.get_traced_memory = lambda: (0, 0)\n{preparation}"
    ask = Cell("", "holds", [replace(inputs(1.5), memory=1 << 20)])
    runs = sandbox.run(
        [Cell(f"{prelude}\ndef holds(x):\n    kept = {code}\n    return 1.0"), ask, DOUBLE, ASK]
    )
    assert (runs[1].status == "ok" and runs[1].outcomes[0].peak_bytes == 0) == is_allowed and runs[
        3
    ].status == "ok"


@needs_guest
def test_a_large_question_is_not_what_its_answer_holds(sandbox):
    ask = Cell("", "total", [replace(inputs(np.ones(1 << 19)), memory=1 << 20)])
    runs = sandbox.run([Cell("def total(x):\n    return float(x.sum())"), ask])
    assert runs[1].outcomes[0].value == 1 << 19 and runs[1].outcomes[0].peak_bytes == 0


DEEP = {
    "calls": "def f(n): return f(n + 1)\nf(0)",
    "a list's repr": "x = []\nfor _ in range(10**5): x = [x]\nrepr(x)",
    "brackets": "eval('(' * 10**5)",
    "json": "import json\njson.loads('[' * 10**6)",
    "an expression": "eval('-' * 10**6 + '1')",
    "comparison": "x = []; y = []; x.append(y); y.append(x)\nx == y",
}


@needs_guest
@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP)
def test_depth_costs_the_cell_at_the_most(sandbox, code):
    run = attack(sandbox, code)
    assert run.status in ("error", "crash"), run


# Time

ENDLESS = {
    "a loop": "while True: pass",
    "a power": "10 ** 10 ** 9",
    "a pattern": "import re\nre.match('(a+)+b', 'a' * 60)",
    "a sum in C": "sum(range(10 ** 13))",
    "a search in C": "max(iter(int, 1))",
    "that catches all": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "a generator's end": "def g():\n    try: yield\n    finally:\n        while True: pass\nx = g(); next(x); x.close()",
    "a product of matrices": "import numpy as np\nx = np.ones((900, 900))\nwhile True: x = x @ x",
}


@needs_guest
@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_ended(sandbox, code):
    run = attack(sandbox, code, cell_seconds=0.7)
    assert run.status == "timeout" and run.reason  # which one, says how busy the machine was


@needs_guest
def test_sleep_is_ended_by_the_clock(sandbox):
    began = time.monotonic()
    run = attack(sandbox, "import time\ntime.sleep(10 ** 9)", cell_seconds=0.3)
    assert run.status == "timeout" and "waited for more than 0.3 s" in run.reason
    assert time.monotonic() - began < 60


@needs_guest
def test_what_stood_before_an_endless_statement_counts(sandbox):
    runs = sandbox.run(
        [
            Cell("def double(x):\n    return 2 * x\nprint('seen')\nwhile True: pass\nafter = 1"),
            ASK,
            Cell("after"),
        ],
        replace(LIMITS, cell_seconds=0.7),
    )
    assert [run.status for run in runs] == ["timeout", "ok", "error"] and text_of(
        runs[0]
    ) == "seen\n"


QUESTIONS = {
    "never ends": ("while True: pass", "timeout"),
    "never ends in C": ("10 ** 10 ** 9", "timeout"),
    "ends its process": ("import os; os._exit(0)", "crash"),
    "aborts": ("import os; os.abort()", "crash"),
}


@needs_guest
@pytest.mark.parametrize(("code", "status"), QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_that_ends_the_guest_costs_its_exercise_only(sandbox, code, status):
    runs = sandbox.run(
        [
            DOUBLE,
            Cell(f"def bad(x):\n    {code}"),
            Cell("", "bad", [inputs(1)]),
            ASK,
            Cell("print(double(1))"),
        ],
        replace(LIMITS, call_seconds=0.5, reruns=0),
    )
    assert [run.status for run in runs] == ["ok", "ok", status, "ok", "ok"] and text_of(
        runs[4]
    ) == "2\n"


# The channel

FORGERIES = {
    "noise": "os.write(1, b'x' * 1000)",
    "half a frame": "os.write(1, b'ALW1' + bytes(4))",
    "a length of all memory": "os.write(1, b'ALW1' + b'\\xff' * 12)",
    "an end": "send({'op': 'done', 'status': 'ok'})",
    "a report": "send({'op': 'cell', 'index': 3, 'status': 'ok'}); send({'op': 'end', 'guilty': None})",
    "an answer": "send({'op': 'answers'}); send({'op': 'asked', 'missing': False, 'exit': 0})",
    "no text": "send({'op': 7})",
    "steps": "send({'op': 'step'})\nfor _ in range(1000): send({'op': 'step'})",
    "a flood": "while True: os.write(1, b'x' * (1 << 20))",
    "a flood of complaints": "for _ in range(100): os.write(2, b'x' * (1 << 20))",
    "one huge word": "os.write(1, bytes(100 << 20))",
    "what is to come": "print(os.read(0, 1 << 20))",
    "the end of the pipes": "for n in range(8):\n    try: os.close(n)\n    except OSError: pass",
    "no way to obey": "import builtins\ndel builtins.__autograder_submission__\nos._exit(0)",
    "an exit": "os._exit(3)",
    "an abort": "os.abort()",
    "other modules": "for name in list(sys.modules): sys.modules[name] = None",
}


@needs_guest
@pytest.mark.parametrize("code", FORGERIES.values(), ids=FORGERIES)
def test_nothing_that_it_says_is_believed_of_another_cell(sandbox, code):
    prelude = """
import os, sys, json, struct
def send(header):
    data = json.dumps({**header, 'arrays': []}).encode()
    os.write(1, struct.pack('!4sIQ', b'ALW1', len(data), 0) + data)
"""
    runs = sandbox.run([DOUBLE, ASK, Cell(prelude + code), ASK], LIMITS)
    assert [answer.value.tolist() for answer in runs[1].outcomes] == [[2, 2], [0, 2, 4]]
    if runs[2].status != "ok":  # it cost the cell, so the rest ran without it
        assert [answer.value.tolist() for answer in runs[3].outcomes] == [[2, 2], [0, 2, 4]]


@needs_guest
def test_an_answer_that_forges_gets_no_more_than_it_says(sandbox):
    code = """
import os, json, struct
def bad(x):
    data = json.dumps({'op': 'asked', 'missing': False, 'exit': 0, 'arrays': []}).encode()
    os.write(1, struct.pack('!4sIQ', b'ALW1', len(data), 0) + data)
    return 1
"""
    runs = sandbox.run([Cell(code), Cell("", "bad", [inputs(1), inputs(2)]), DOUBLE, ASK], LIMITS)
    assert runs[1].status == "crash" and runs[3].status == "ok"


@needs_guest
def test_an_answer_that_is_stopped_in_the_midst_of_a_word_keeps_what_it_said(sandbox):
    code = "import os\ndef bad(x):\n    if x:\n        os.write(1, b'ALW1' + bytes(3))\n        os.abort()\n    return 7"
    cells = [
        Cell("", "bad", [replace(inputs(0), memory=1 << 30), inputs(1), inputs(0)]),
        DOUBLE,
        ASK,
    ]
    _, run, _, next_run = sandbox.run([Cell(code), *cells], LIMITS)
    assert (run.status, run.forged, [answer.value for answer in run.outcomes]) == (
        "crash",
        False,
        [7],
    )
    assert next_run.status == "ok"


@needs_guest
@pytest.mark.parametrize(
    "header", [{"op": "step"}, {"op": "clear", "wait": False}], ids=["steps", "clears"]
)
def test_what_is_said_is_read_in_the_time_of_who_says_it(sandbox, header):
    """Two million frames are written in a moment, but would take half a minute to read."""
    code = f"""
import os, json, struct
data = json.dumps({{**{header!r}, 'arrays': []}}).encode()
left = memoryview((struct.pack('!4sIQ', b'ALW1', len(data), 0) + data) * 1_400_000)
while left:
    left = left[os.write(1, left) :]
"""
    (run,) = sandbox.run([Cell(code)], replace(LIMITS, cell_seconds=1, reruns=0))
    assert run.status == "timeout" and run.charged_seconds < 12


@needs_guest
def test_output_is_bounded(sandbox):
    run = attack(sandbox, "while True: print('x' * 100_000)", cell_seconds=1)
    assert sum(map(len, map(text_of, [run]))) <= MB + 1000


# One submission and another


@needs_guest
def test_a_guest_that_is_stopped_stops_no_other_of_its_process(sandbox):
    stop_event, failed_runs = threading.Event(), []

    def work():
        with WebAssembly(("numpy", "IPython"), LIMITS) as second_sandbox:
            while not stop_event.is_set():
                (run,) = second_sandbox.run([Cell("sum(range(3_000_000))")])
                failed_runs.extend([run] if run.status != "ok" else [])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            (run,) = sandbox.run(
                [Cell("while True: pass")], replace(LIMITS, cell_seconds=0.5, reruns=0)
            )
            assert run.status == "timeout"
    finally:
        stop_event.set()
        thread.join()
    assert failed_runs == []


@needs_guest
def test_an_interrupt_at_the_keyboard_ends_what_does_not_end():
    code = """
import os, signal, threading
from autograder.sandbox import Cell
from autograder.sandbox.webassembly import WebAssembly
# As in a terminal: a background process of a shell ignores SIGINT, and tests may run in one.
signal.signal(signal.SIGINT, signal.default_int_handler)
with WebAssembly(("numpy", "IPython")) as sandbox:
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    sandbox.run([Cell("while True: pass")])
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert process.returncode != 0 and "KeyboardInterrupt" in process.stderr, process.stderr


@needs_guest
def test_nothing_is_left_for_the_next_submission(sandbox):
    code = """
import builtins, os, sys, numpy as np, random
builtins.leak = 1; os.environ['LEAK'] = '1'; np.exp = None; sys.modules['leak'] = sys
open('/home/sandbox/leak', 'w').write('x'); random.seed(9); np.random.seed(9)
"""
    look = "import builtins, os, sys, random, numpy as np\nprint(hasattr(builtins, 'leak'), 'LEAK' in os.environ,"
    look += " np.exp(0.0), 'leak' in sys.modules, os.listdir('/home/sandbox'), random.random(), np.random.rand())"
    runs_before, _, runs_after = (
        sandbox.run([Cell(look)]),
        sandbox.run([Cell(code)]),
        sandbox.run([Cell(look)]),
    )
    assert text_of(runs_before[0]) == text_of(runs_after[0]) and text_of(runs_after[0]).startswith(
        "False False 1.0 False ['notebook']"
    )


@needs_guest
def test_one_that_was_closed_keeps_no_file_open(monkeypatch):
    archives = []

    class RecordedZipFile(zipfile.ZipFile):
        def __init__(self, *args):
            super().__init__(*args)
            archives.append(self)

    monkeypatch.setattr(webassembly.zipfile, "ZipFile", RecordedZipFile)
    with WebAssembly(("numpy",), LIMITS) as sandbox:
        assert sandbox.run([DOUBLE])[0].status == "ok"
        assert all(archive.fp for archive in archives)
    assert archives and not any(archive.fp for archive in archives)
    archives.clear()
    with pytest.raises(SandboxError):
        WebAssembly(("no_such_module_anywhere",), LIMITS).start()
    assert archives and not any(archive.fp for archive in archives)


@needs_guest
def test_sets_have_one_order_in_every_guest(sandbox):
    """Else a verdict could depend on the worker that graded the submission."""
    look = [Cell("print([hash(text) for text in 'abc'], set(map(str, range(9))))")]
    with WebAssembly(("numpy", "IPython")) as second_sandbox:
        assert text_of(sandbox.run(look)[0]) == text_of(second_sandbox.run(look)[0])


@needs_guest
def test_an_answer_leaves_no_trace_in_the_submission(sandbox):
    code = "seen = []\ndef count(x):\n    seen.append(x)\n    open('/tmp/seen', 'a').write('x')\n    return len(seen)"
    ask = Cell("", "count", [inputs(1), inputs(2)])
    runs = sandbox.run(
        [Cell(code), ask, ask, Cell("import os\nprint(seen, os.path.exists('/tmp/seen'))")]
    )
    assert [answer.value for answer in runs[1].outcomes + runs[2].outcomes] == [1, 2, 1, 2]
    assert text_of(runs[3]) == "[] False\n"


# Forms of an answer, with its shape or shapes, or the description of its type.
FORMS = {
    "as large as may be": ("np.full(1_000_000, 2.0)", (1_000_000,)),
    "large together": (
        "(np.ones(500_000), np.ones(500_000, np.float32))",
        [(500_000,), (500_000,)],
    ),
    "one number for many places": ("np.broadcast_to(x[:1, None], (3, 50_000, 3))", (3, 50_000, 3)),
    "overlapping": ("np.lib.stride_tricks.sliding_window_view(x.ravel(), 3)", (10, 3)),
    "backwards": ("x[::-1, ::-1]", (4, 3)),
    "with gaps": ("np.repeat(x, 2, 1)[:, ::2]", (4, 3)),
    "by columns": ("np.asfortranarray(x)", (4, 3)),
    "not to be written": ("(lambda a: (a.setflags(write=False), a)[1])(x.copy())", (4, 3)),
    "without axes": ("np.array(x.sum())", ()),
    "its own argument": ("x", (4, 3)),
    "of the other byte order": ("x.astype('>f8')", (4, 3)),
    "too large": ("np.ones(1_000_001)", "ndarray of 1,000,001 values"),
    "objects": ("x.astype(object)", "ndarray of object"),
    "masked": ("np.ma.masked_array(x, x > 1)", "MaskedArray"),
    "a matrix": ("np.matrix(x)", "matrix"),
    "of a class of its own": ("x.view(type('Mine', (np.ndarray,), {}))", "Mine"),
    "structured": ("np.zeros(3, 'i4,f8')", "ndarray of void96"),
}


@needs_guest
def test_an_answer_of_any_form_arrives(sandbox):
    """Frames of answers are sent in parts: one array of all bytes would be refused as too large."""
    cells = [Cell("import numpy as np")]
    for number, (code, _) in enumerate(FORMS.values()):
        test_cell = Cell("", f"f{number}", [inputs(np.arange(12.0).reshape(4, 3))])
        cells += [Cell(f"def f{number}(x): return {code}"), test_cell]
    for name, (_, expected), run in zip(
        FORMS, FORMS.values(), sandbox.run(cells)[2::2], strict=True
    ):
        assert run.status == "ok" and not run.forged, (name, run)
        (answer,) = run.outcomes
        if isinstance(expected, str):
            assert answer.type == expected, name
        elif isinstance(expected, list):
            assert [part.shape for part in answer.value] == expected, name
        else:
            assert answer.value.shape == expected, name


@needs_guest
def test_whole_numbers_have_64_bits_as_at_home(sandbox):
    """NumPy's default in a guest is 32 bits, too few for the number of bytes in a cache."""
    code = """
import numpy as np
def count(n):
    kinds = [x.dtype.name for x in (np.arange(3), np.array([1, 2]), np.full(2, 7), np.array([[True]]), np.array(1.5))]
    narrow = np.arange(3, dtype=np.int32).dtype.name, np.array([1], np.int32).dtype.name, np.sum([[1, 2]], axis=(0, 1))
    many = [2, 80, 8, 128, n, 2]
    ways = [np.multiply(n, n), np.power(n, 2), np.dot([n], [n]), np.multiply.reduce([n, n]), np.full(1, n, int)[0] * n,
            (np.ones(1, int) * n * n)[0], (np.zeros(1, dtype=int) + n)[0] * n]
    floats = [np.multiply(2, np.ones(1, np.float32)).dtype.name, np.multiply.outer([1.5], [2]).dtype.name]
    np.add.at(kept := np.zeros(2), [0, 0], 1.0)
    return int(np.prod(many)), int(np.arange(n).sum()), int((np.arange(n) ** 2)[-1]), kinds, narrow, ways, floats
"""
    (_, run) = sandbox.run([Cell(code), Cell("", "count", [inputs(100_000)])])
    assert not run.outcomes[0].error
    product, total, square, kinds, narrow, ways, floats = run.outcomes[0].value
    assert ways == 7 * [10**10] and floats == ["float32", "float64"]
    assert (product, total, square) == (32_768_000_000, 4_999_950_000, 9_999_800_001)
    assert kinds == ["int64", "int64", "int64", "bool", "float64"] and narrow == (
        "int32",
        "int32",
        3,
    )


@needs_guest
def test_a_cell_may_await(sandbox):
    code = """
import asyncio
async def twice(x):
    await asyncio.sleep(0.01)
    return 2 * x
print(await twice(1), await asyncio.gather(twice(2), twice(3)))
try:
    await asyncio.wait_for(asyncio.sleep(9), 0.01)
except TimeoutError:
    print("waited")
"""
    run, second_run = sandbox.run([Cell(code), Cell("assert asyncio.run(twice(2)) == 4")])
    assert text_of(run) == "2 [4, 6]\nwaited\n" and second_run.status == "ok", run
    (run,) = sandbox.run(
        [Cell("import asyncio\nawait asyncio.Event().wait()")], replace(LIMITS, cell_seconds=0.1)
    )
    assert run.status == "timeout"


@needs_guest
def test_to_wait_for_another_thread_takes_as_long_as_it_says(sandbox):
    code = """
import queue, threading
from concurrent.futures import Future
lock, full = threading.Lock(), queue.Queue(1)
with lock:
    assert not lock.acquire(timeout=0.01) and not lock.acquire(False) and lock.locked()
assert not threading.Event().wait(0.01) and not threading.Semaphore(0).acquire(timeout=0.01)
event = threading.Condition()
with event:
    print(event.wait(0.01))
full.put(1, timeout=0.01)
for wait in ("full.put(2, timeout=0.01)", "queue.Queue().get(timeout=0.01)", "queue.SimpleQueue().get(timeout=0.01)",
             "Future().result(0.01)", "threading.Barrier(2).wait(0.01)"):
    try: eval(wait)
    except Exception as error: print(type(error).__name__)
"""
    run = attack(sandbox, code)
    assert text_of(run).split() == [
        "False",
        "Full",
        "Empty",
        "Empty",
        "TimeoutError",
        "BrokenBarrierError",
    ], run
    endless = attack(
        sandbox,
        "from threading import Lock\nlock = Lock()\nlock.acquire(), lock.acquire()",
        cell_seconds=0.5,
    )
    assert endless.status == "timeout"


@needs_guest
def test_widgets_can_be_made(sandbox):
    code = "import ipywidgets\nprint(ipywidgets.IntSlider().value)\nipywidgets.interact(lambda x: print(x), x=3);"
    (run,) = sandbox.run([Cell(code)], UNHURRIED)
    assert run.status == "ok" and text_of(run) == "3\n", run


@needs_guest
def test_pictures_are_drawn(sandbox):
    (run,) = sandbox.run(
        [Cell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")],
        UNHURRIED,
    )
    assert run.status == "ok" and "image/png" in run.outputs[0]["data"]


# The host, called with any numbers


class Memory:
    """Memory between two guard areas that nobody may touch."""

    def __init__(self, size: int = 1 << 16):
        self.size, self._whole = size, ctypes.create_string_buffer(b"\xaa" * (3 * size), 3 * size)
        self.address = ctypes.addressof(self._whole) + size

    def untouched(self) -> bool:
        return self._whole.raw[: self.size] + self._whole.raw[2 * self.size :] == b"\xaa" * (
            2 * self.size
        )


def test_space_that_was_given_up_is_there_again():
    """The space of a deleted or replaced file is free again, but only after it is closed."""
    memory, host = Memory(), make_wasi()
    host.attach_memory(memory.address, lambda: memory.size)
    name_addresses = {"a": 0, "b": 8}
    for name, address in name_addresses.items():
        ctypes.memmove(memory.address + address, f"tmp/{name}".encode(), 5)

    def open_file(name: str) -> int:
        assert host.get_call("path_open")(3, 0, name_addresses[name], 5, 9, 1 << 6, 0, 0, 100) == 0
        return int.from_bytes(ctypes.string_at(memory.address + 100, 4), "little")

    size = host.get_call("fd_filestat_set_size")
    for _ in range(5):
        fd = open_file("a")
        assert size(fd, 400) == 0 and host.get_call("path_rename")(3, 0, 5, 3, 8, 5) == 0
        assert host.get_call("path_unlink_file")(3, 8, 5) == 0 and size(fd, 900) == 0
        second_fd = open_file("b")
        assert size(second_fd, 200) == 51 and size(second_fd, 100) == 0
        assert host.get_call("fd_close")(fd) == host.get_call("fd_close")(second_fd) == 0
        assert host.get_call("path_unlink_file")(3, 8, 5) == 0


def make_wasi(**options):
    files = {}
    add_node(files, "/course/a/b.txt", ReadOnlyFile(lambda: b"hello"))
    settings = {
        "scratch": 1000,
        "descriptors": 8,
        "on_output": lambda *_: None,
        "sleep": lambda _: None,
    } | options
    return Wasi(files, ("tmp",), {"A": "b"}, **settings)


CALLS = [
    name.removeprefix("_")
    for name in dir(Wasi)
    if name.split("_")[1:2]
    and name.split("_")[1]
    in ("fd", "path", "args", "environ", "clock", "random", "poll", "proc", "sched")
]


def test_the_host_has_no_call_that_opens_starts_or_sends():
    assert len(CALLS) > 30 and not [name for name in CALLS if name.startswith("sock")]
    assert (
        make_wasi().get_call("sock_accept")(3, 0, 0) == 52
        and make_wasi().get_call("call")(0, 0, 0, 0) == 52
    )


def wild_numbers(memory):
    """Numbers at the edges of a guest's memory and of its integers, and some small ones."""
    edges = [memory.size - 1, memory.size, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, -1]
    return [0, 1, 3, 4, 7, 8, 100, *edges]


def count_arguments(host, name):
    """Return the number of arguments of a call; two more for one that takes any number."""
    parameters = inspect.signature(getattr(host, f"_{name}")).parameters.values()
    fixed = [
        parameter for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    return len(fixed) + 2 * (len(parameters) - len(fixed))


@pytest.mark.parametrize("seed", range(8))
def test_wild_numbers_get_an_error_number_and_touch_nothing_else(seed):
    wild, memory = random.Random(seed), Memory()
    host = make_wasi()
    host.attach_memory(memory.address, lambda: memory.size)
    numbers = wild_numbers(memory)
    for step in range(2_000):
        name = wild.choice(CALLS)
        arguments = [wild.choice(numbers) for _ in range(count_arguments(host, name))]
        call = f"call {step} of seed {seed}: {name}({', '.join(map(hex, arguments))})"
        try:
            number = host.get_call(name)(*arguments)
        except GuestExit:
            number = 0
            assert name == "proc_exit", f"{call} ended the guest"
        assert 0 <= number < 80, f"{call} gave {number}"
        assert memory.untouched(), f"{call} wrote outside the guest's memory"
        assert host.files.free_bytes >= 0, f"{call} took {-host.files.free_bytes} bytes too many"
        assert len(host.files.open_files) <= 8, f"{call} opened too many files"


def test_a_path_leads_nowhere_but_through_the_folders():
    memory, host = Memory(), make_wasi()
    host.attach_memory(memory.address, lambda: memory.size)

    def open_path(path: str, mode: int = 0, rights: int = 2) -> int:
        ctypes.memmove(memory.address, path.encode(), len(path.encode()))
        return host.get_call("path_open")(3, 0, 0, len(path.encode()), mode, rights, 0, 0, 1000)

    for path in ("course/a/b.txt", "../../course/./a//b.txt", "tmp/../course/a/b.txt"):
        assert open_path(path) == 0
    for path in ("etc/passwd", "..\\..\\etc"):
        assert open_path(path) == 44
    assert open_path("course/a/b.txt/../../../etc/passwd") == 54
    assert open_path("course/a/b.txt", rights=1 << 6) == 69
    assert open_path("course/a/b.txt", mode=8) == 69
    assert open_path("course/new", mode=1) == 69
    assert open_path("tmp/new", mode=1, rights=1 << 6) == 0
    assert open_path("x" * 5000) == 37
    assert open_path("\ud800".encode("utf-8", "surrogatepass").decode("latin-1")) == 44


OK, BADF, EXIST, INVAL, ISDIR, MFILE, NOENT, NOTDIR, NOTEMPTY = 0, 8, 20, 28, 31, 33, 44, 54, 55
READ_ONLY, NO_SEEK = 69, 70
CREATE, AS_FOLDER, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8
READ, WRITE = 2, 1 << 6
RESULT, SECOND_PATH, VECTORS, DATA = 100, 2_000, 4_000, 8_000


class SystemCalls:
    """A host and a guest's memory; its methods make system calls as a guest does."""

    def __init__(self, **options):
        self.memory, self.host = Memory(), make_wasi(**options)
        self.host.attach_memory(self.memory.address, lambda: self.memory.size)

    def call(self, name, *numbers):
        return self.host.get_call(name)(*numbers)

    def write_memory(self, address, data):
        ctypes.memmove(self.memory.address + address, data, len(data))
        return address, len(data)

    def read_memory(self, layout, address=RESULT):
        data = ctypes.string_at(self.memory.address + address, struct.calcsize(layout))
        return struct.unpack(layout, data)

    def call_with_path(self, name, path, *second_path):
        """Make a call on a path, and perhaps on a second one, from the root."""
        numbers = [3, *self.write_memory(1_000, path.encode())]
        for text in second_path:
            numbers += [3, *self.write_memory(SECOND_PATH, text.encode())]
        return self.call(name, *numbers)

    def open(self, path, mode=0, rights=READ, flags=0):
        """Return the number of an error and the descriptor."""
        path_numbers = self.write_memory(1_000, path.encode())
        error = self.call("path_open", 3, 0, *path_numbers, mode, rights, 0, flags, RESULT)
        return error, self.read_memory("<I")[0]

    def create(self, path, data=b"", flags=0):
        """Return the descriptor of a new file with this content."""
        error, fd = self.open(path, CREATE, READ | WRITE, flags)
        assert error == OK
        self.write(fd, data)
        return fd

    def write(self, fd, data, *offset, name="fd_write"):
        """Write from two buffers."""
        half = len(data) // 2
        self.write_memory(DATA, data)
        self.write_memory(VECTORS, struct.pack("<IIII", DATA, half, DATA + half, len(data) - half))
        return self.call(name, fd, VECTORS, 2, *offset, RESULT)

    def read(self, fd, size, *offset, name="fd_read"):
        """Return the bytes read into two buffers, or the number of an error."""
        self.write_memory(DATA, b"-" * size)
        self.write_memory(VECTORS, struct.pack("<IIII", DATA, 1, DATA + 1, size - 1))
        error = self.call(name, fd, VECTORS, 2, *offset, RESULT)
        if error:
            return error
        return ctypes.string_at(self.memory.address + DATA, self.read_memory("<I")[0])

    def list_folder(self, path, size=1_000, cookie=0):
        """Return (number, inode, type, name) of each entry of a folder."""
        _, fd = self.open(path)
        assert self.call("fd_readdir", fd, DATA, size, cookie, RESULT) == OK
        data, entries = ctypes.string_at(self.memory.address + DATA, self.read_memory("<I")[0]), []
        while len(data) >= 24:
            number, inode, length, kind = struct.unpack_from("<QQIB", data)
            entries.append((number, inode, kind, data[24 : 24 + length].decode()))
            data = data[24 + length :]
        self.call("fd_close", fd)
        return entries

    def stat(self, path):
        """Return type and size of a file or folder, and the times of its change."""
        error = self.call_with_path_and_result("path_filestat_get", path)
        _, _, kind, _, size, *times = self.read_memory("<QQBxxxxxxxQQQQQ")
        return error or (kind, size, times)

    def call_with_path_and_result(self, name, path):
        return self.call(name, 3, 0, *self.write_memory(1_000, path.encode()), RESULT)


def test_a_guest_reads_and_writes_a_file_at_its_position():
    guest = SystemCalls()
    fd = guest.create("tmp/a", b"hello")
    positions = []
    for offset, whence in ((-3, 2), (1, 1), (2, 0), (-9, 1), (0, 3), (1 << 62, 0)):
        positions.append(
            (guest.call("fd_seek", fd, offset, whence, RESULT), *guest.read_memory("<Q"))
        )
    assert positions[:3] == [(OK, 2), (OK, 3), (OK, 2)]
    assert [error for error, _ in positions[3:]] == [INVAL] * 3
    assert guest.read(fd, 2) == b"ll"
    assert guest.read(fd, 3, 0, name="fd_pread") == b"hel"
    assert guest.write(fd, b"xy", 6, name="fd_pwrite") == OK
    assert guest.call("fd_tell", fd, RESULT) == OK and guest.read_memory("<Q") == (4,)
    assert guest.read(fd, 9) == b"o\0xy" and guest.read(fd, 9) == b""
    for stream in range(3):
        assert guest.call("fd_seek", stream, 0, 0, RESULT) == NO_SEEK
    assert guest.call("fd_filestat_set_size", fd, 3) == OK
    assert guest.read(fd, 9, 0, name="fd_pread") == b"hel"


def test_a_file_that_is_appended_to_is_written_at_its_end():
    guest = SystemCalls()
    guest.create("tmp/a", b"hello")
    _, fd = guest.open("tmp/a", rights=READ | WRITE, flags=1)
    for part in (b"ab", b"cd"):
        assert guest.call("fd_seek", fd, 0, 0, RESULT) == OK
        assert guest.write(fd, part) == OK and guest.read_memory("<I") == (2,)
        assert guest.call("fd_tell", fd, RESULT) == OK
    assert guest.read_memory("<Q") == (9,)
    assert guest.read(fd, 9, 0, name="fd_pread") == b"helloabcd"


def test_a_guest_lists_a_folder_from_where_it_left_off():
    guest = SystemCalls()
    assert [entry[2:] for entry in guest.list_folder("")] == [(3, "course"), (3, "tmp")]
    assert [entry[2:] for entry in guest.list_folder("course/a")] == [(4, "b.txt")]
    assert guest.list_folder("tmp") == []
    guest.create("tmp/a")
    guest.call_with_path("path_create_directory", "tmp/d")
    guest.create("tmp/d/below")
    entries = guest.list_folder("tmp")
    assert [(number, *rest) for number, _, *rest in entries] == [(1, 4, "a"), (2, 3, "d")]
    assert len({inode for _, inode, *_ in entries}) == 2
    assert guest.list_folder("tmp", cookie=1) == entries[1:]
    assert guest.list_folder("tmp", size=30) == [entries[0]]
    assert guest.list_folder("tmp", size=30) != guest.list_folder("tmp", size=60)
    _, fd = guest.open("tmp/a")
    assert guest.call("fd_readdir", fd, DATA, 100, 0, RESULT) == NOTDIR


@pytest.mark.parametrize(
    ("path", "mode", "rights", "expected"),
    [
        ("tmp/file", 0, READ | WRITE, OK),
        ("tmp/file", CREATE, READ, OK),
        ("tmp/file", CREATE | EXCLUSIVE, READ, EXIST),
        ("tmp/file", EXCLUSIVE, READ, OK),
        ("tmp/file", AS_FOLDER, READ, NOTDIR),
        ("tmp/new", CREATE | EXCLUSIVE, READ, OK),
        ("tmp/new", CREATE | AS_FOLDER, READ, NOENT),
        ("tmp/new", EXCLUSIVE, READ, NOENT),
        ("tmp", AS_FOLDER, READ, OK),
        ("tmp", CREATE, READ, ISDIR),
        ("tmp", TRUNCATE, READ, ISDIR),
        ("course/a/b.txt", 0, READ, OK),
        ("course/a/b.txt", 0, WRITE, READ_ONLY),
        ("course/a/b.txt", TRUNCATE, READ, READ_ONLY),
        ("tmp/file/below", CREATE, READ, NOTDIR),
        ("tmp/no/below", CREATE, READ, NOENT),
    ],
)
def test_a_file_is_opened_as_its_flags_say(path, mode, rights, expected):
    guest = SystemCalls()
    guest.create("tmp/file", b"text")
    assert guest.open(path, mode, rights)[0] == expected
    assert guest.stat("tmp/file")[:2] == (4, 4)


def test_a_file_is_emptied_by_its_flag_and_written_only_with_the_right():
    guest = SystemCalls()
    guest.create("tmp/a", b"text")
    error, fd = guest.open("tmp/a", TRUNCATE, READ)
    assert error == OK and guest.stat("tmp/a")[1] == 0
    assert guest.write(fd, b"x") == guest.call("fd_filestat_set_size", fd, 9) == BADF
    assert guest.write(fd, b"x", 0, name="fd_pwrite") == BADF
    _, fd = guest.open("course/a/b.txt")
    assert guest.write(fd, b"x") == BADF and guest.read(fd, 9) == b"hello"
    _, fd = guest.open("tmp")
    assert guest.read(fd, 9) == guest.write(fd, b"x") == ISDIR


def test_a_guest_may_have_some_files_open_and_gets_the_lowest_free_number():
    guest = SystemCalls(descriptors=3)
    numbers = [guest.create(f"tmp/{name}") for name in "abc"]
    assert numbers == [4, 5, 6] and guest.open("tmp/a")[0] == MFILE
    assert guest.call("fd_close", 5) == OK and guest.call("fd_close", 5) == BADF
    assert guest.read(5, 9) == BADF
    assert guest.open("tmp/a") == (OK, 5)
    assert [guest.call("fd_close", fd) for fd in range(4)] == [OK] * 4
    assert guest.open("tmp/a")[0] == MFILE, "the streams and the root are no files"


def test_what_is_deleted_is_a_file_or_an_empty_folder_of_the_guest():
    guest = SystemCalls()
    for path in ("tmp/d", "tmp/d/below", "tmp/dd", "tmp/dd/below"):
        assert guest.call_with_path("path_create_directory", path) == OK
    assert guest.call_with_path("path_create_directory", "tmp/d") == EXIST
    assert guest.call_with_path("path_create_directory", "course/new") == READ_ONLY
    guest.create("tmp/file")
    free = guest.host.files.free_nodes
    for name, path, expected in (
        ("path_unlink_file", "tmp/d", ISDIR),
        ("path_unlink_file", "tmp/no", NOENT),
        ("path_unlink_file", "course/a/b.txt", READ_ONLY),
        ("path_unlink_file", "tmp/file", OK),
        ("path_remove_directory", "course/a", READ_ONLY),
        ("path_remove_directory", "tmp/d", NOTEMPTY),
        ("path_remove_directory", "tmp/d/below", OK),
        ("path_remove_directory", "tmp/d", OK),
        ("path_remove_directory", "tmp/d", NOENT),
        ("path_remove_directory", "tmp", READ_ONLY),
    ):
        result = guest.call_with_path(name, path)
        assert result == expected or (path == "tmp" and result == NOTEMPTY), (name, path)
    guest.create("tmp/file")
    assert guest.call_with_path("path_remove_directory", "tmp/file") == NOTDIR
    assert guest.host.files.free_nodes == free + 2
    assert [name for *_, name in guest.list_folder("tmp")] == ["dd", "file"]


@pytest.mark.parametrize(
    ("old", "new", "expected", "names"),
    [
        ("tmp/file", "tmp/new", OK, ["tmp/d", "tmp/d/x", "tmp/dd", "tmp/new", "tmp/other"]),
        ("tmp/file", "tmp/other", OK, ["tmp/d", "tmp/d/x", "tmp/dd", "tmp/other"]),
        ("tmp/d", "tmp/e", OK, ["tmp/dd", "tmp/e", "tmp/e/x", "tmp/file", "tmp/other"]),
        ("tmp/file", "tmp/file", OK, None),
        ("tmp/d", "tmp/d/x/y", INVAL, None),
        ("tmp/d", "tmp/d/y", INVAL, None),
        ("tmp/file", "tmp/d", ISDIR, None),
        ("tmp/d", "tmp/file", ISDIR, None),
        ("tmp/no", "tmp/new", NOENT, None),
        ("course/a/b.txt", "tmp/new", READ_ONLY, None),
        ("tmp/file", "course/a/new", READ_ONLY, None),
        ("tmp/file", "course/a/b.txt", READ_ONLY, None),
    ],
)
def test_a_file_is_renamed_and_a_folder_with_what_lies_in_it(old, new, expected, names):
    guest = SystemCalls()
    for path in ("tmp/d", "tmp/d/x", "tmp/dd"):
        guest.call_with_path("path_create_directory", path)
    guest.create("tmp/file", b"text")
    guest.create("tmp/other", b"longer")
    before = sorted(guest.host.files.entries)
    assert guest.call_with_path("path_rename", old, new) == expected
    kept = sorted(guest.host.files.entries)
    assert kept == (before if names is None else ["tmp", *names])
    if old == "tmp/file" and expected == OK:
        assert guest.stat(new)[:2] == (4, 4)


def test_a_guest_is_told_the_type_size_and_time_of_a_file(monkeypatch):
    monkeypatch.setattr(wasi.time, "time_ns", lambda: 77)
    guest = SystemCalls()
    fd = guest.create("tmp/a", b"hello!", flags=1)
    assert guest.stat("tmp/a") == (4, 6, [77] * 3)
    assert guest.stat("course/a/b.txt") == (4, 5, [0] * 3)
    assert guest.stat("course/a") == (3, 0, [0] * 3) and guest.stat("tmp/no") == NOENT
    assert guest.call("fd_filestat_get", fd, RESULT) == OK
    assert guest.read_memory("<QQBxxxxxxxQQ")[2:] == (4, 1, 6)
    for stream, expected in ((1, (2, 0)), (3, (3, 0)), (fd, (4, 1))):
        assert guest.call("fd_fdstat_get", stream, RESULT) == OK
        assert guest.read_memory("<BxH") == expected
    assert guest.call("fd_filestat_get", 2, RESULT) == OK
    assert guest.read_memory("<QQBxxxxxxxQQ") == (0, 2, 2, 1, 0)
    assert guest.call("fd_prestat_get", 3, RESULT) == OK and guest.read_memory("<II") == (0, 1)
    assert guest.call("fd_prestat_get", fd, RESULT) == BADF


@pytest.mark.parametrize(
    ("subscriptions", "slept"),
    [
        ([(0, 1, 0, 2.0)], [2.0]),
        ([(0, 1, 0, 2.0), (0, 1, 0, 1.5)], [1.5]),
        ([(0, 1, 0, 2.0), (1, 0, 0, 0.0)], []),  # a file is ready at once
        ([(0, 0, 1, 103.0)], [3.0]),  # a point in time, by the clock
        ([(0, 1, 1, 51.0)], [1.0]),  # by the clock that nobody sets
        ([(0, 1, 1, 7.0)], [0.0]),  # it is over
    ],
)
def test_a_guest_sleeps_until_its_timeout_and_gets_all_events(monkeypatch, subscriptions, slept):
    monkeypatch.setattr(wasi.time, "time_ns", lambda: 100 * 10**9)
    monkeypatch.setattr(wasi.time, "monotonic_ns", lambda: 50 * 10**9)
    pauses, data = [], b""
    for number, (kind, clock, flags, seconds) in enumerate(subscriptions):
        data += struct.pack("<QB7xIxxxxQQH6x", number, kind, clock, int(seconds * 10**9), 0, flags)
    guest = SystemCalls(sleep=pauses.append)
    guest.write_memory(DATA, data)
    assert guest.call("poll_oneoff", DATA, 20_000, len(subscriptions), RESULT) == OK
    assert pauses == slept and guest.read_memory("<I") == (len(subscriptions),)
    events = [
        guest.read_memory("<QHB", 20_000 + 32 * number) for number in range(len(subscriptions))
    ]
    assert events == [(number, 0, row[0]) for number, row in enumerate(subscriptions)]


def test_a_guest_gets_its_arguments_environment_clocks_and_end(monkeypatch):
    for number, clock in enumerate(("time_ns", "monotonic_ns", "process_time_ns")):
        monkeypatch.setattr(wasi.time, clock, lambda number=number: 10 + number)
    guest = SystemCalls(random=lambda count: b"r" * count)
    guest.host._env = [b"A=b\0", b"LONG=er\0"]
    assert guest.call("environ_sizes_get", RESULT, RESULT + 4) == OK
    assert guest.read_memory("<II") == (2, 12)
    assert guest.call("environ_get", RESULT, DATA) == OK
    assert guest.read_memory("<II") == (DATA, DATA + 4) and guest.read_memory("12s", DATA) == (
        b"A=b\0LONG=er\0",
    )
    assert guest.call("args_sizes_get", RESULT, RESULT + 4) == OK and guest.read_memory("<II") == (
        1,
        7,
    )
    assert guest.call("args_get", RESULT, DATA) == OK
    assert guest.read_memory("<I") == (DATA,) and guest.read_memory("7s", DATA) == (b"python\0",)
    times = []
    for clock in range(5):
        times.append((guest.call("clock_time_get", clock, 0, RESULT), *guest.read_memory("<Q")))
    assert times[:4] == [(OK, 10), (OK, 11), (OK, 12), (OK, 12)] and times[4][0] == INVAL
    assert guest.call("random_get", RESULT, 3) == OK and guest.read_memory("4s")[0] != b"rrrr"
    assert guest.read_memory("3s") == (b"rrr",)
    with pytest.raises(GuestExit) as end:
        guest.call("proc_exit", 0x103)
    assert end.value.code == 3


def test_a_guest_reads_its_orders_and_its_two_streams_are_kept_apart():
    written = []
    guest = SystemCalls(on_output=lambda stream, data: written.append((stream, bytes(data))))
    guest.host.stdin[:] = b"order"
    assert [guest.read(0, 3), guest.read(0, 9), guest.read(0, 9)] == [b"ord", b"er", b""]
    for stream in (1, 2):
        assert guest.write(stream, b"text") == OK and guest.read_memory("<I") == (4,)
    assert written == [(1, b"text"), (2, b"text")]


def test_a_copy_of_a_guest_s_files_is_its_own_and_shares_what_is_read_only():
    guest = SystemCalls()
    fd = guest.create("tmp/a", b"old")
    guest.open("course/a/b.txt")
    saved = deepcopy(guest.host.files)
    guest.write(fd, b" and new")
    guest.create("tmp/b", b"of its size")
    assert guest.host.files.size() == 22 and saved.size() == 3
    assert sorted(saved.entries) == ["tmp", "tmp/a"] and sorted(saved.open_files) == [4, 5]
    assert saved.open_files[4].node is saved.entries["tmp/a"]
    assert saved.open_files[5].node is guest.host.files.open_files[5].node
    guest.host.files = saved
    assert guest.call_with_path("path_unlink_file", "tmp/a") == OK
    assert guest.host.files.size() == 3, "it is still open"
    assert guest.call("fd_close", fd) == OK and guest.host.files.size() == 0


def test_a_file_may_fill_the_space_and_no_more():
    guest = SystemCalls(scratch=10)
    fd = guest.create("tmp/a", b"12345678")
    assert guest.call("fd_filestat_set_size", fd, 11) == 51
    assert guest.call("fd_filestat_set_size", fd, 10) == OK
    assert guest.call("fd_seek", fd, 0, 2, RESULT) == OK and guest.write(fd, b"x") == 51
    written = guest.host.written_file_bytes
    assert guest.write(fd, b"abc", 0, name="fd_pwrite") == OK, "no byte more than before"
    assert guest.host.written_file_bytes == written + 3
    assert guest.call("fd_filestat_set_size", fd, 4) == OK
    assert guest.host.written_file_bytes == written + 3
    assert guest.write(fd, b"4567", 3, name="fd_pwrite") == OK, "one byte is new"
    assert guest.host.written_file_bytes == written + 7, "none counts twice"
    assert guest.read(fd, 9, 0, name="fd_pread") == b"abc4567"
    assert guest.call("fd_filestat_set_size", fd, 4) == OK
    assert guest.create("tmp/b", b"123456") == 5 and guest.stat("tmp/b")[1] == 6


def test_files_are_added_with_their_folders_and_numbers():
    files = {}
    for path in ("/a/b/one", "/a/two", "/three"):
        add_node(files, path, ReadOnlyFile(bytes))
    assert {name: node.children for name, node in files.items() if isinstance(node, Folder)} == {
        "": ["a", "three"],
        "a": ["a/b", "a/two"],
        "a/b": ["a/b/one"],
    }
    assert sorted(node.inode for node in files.values()) == [1, 2, 3, 4, 5, 6]


# The sandbox's own part, with a memory that no program uses


class IdleGuest(webassembly.GuestInstance):
    """A guest that runs nothing; its memory is some pages, which the tests write to."""

    def __init__(self, pages=5, max_output=100):
        self.memory, self._wasi = Memory(pages * webassembly.PAGE_BYTES), make_wasi()
        self._base, self._max_output = self.memory.address, max_output
        self._output, self.stderr, self.has_ended = bytearray(), bytearray(), False
        self.output_count, self.growths, self.results = 0, [], []
        self._memory = SimpleNamespace(
            data_len=lambda store: self.memory.size,
            grow=lambda store, pages: self.growths.append(pages),
            write=lambda store, code, address: len(code),
        )
        self._store = SimpleNamespace(set_epoch_deadline=lambda ticks: None, close=lambda: None)
        self._exports = {"host_alloc": lambda *_: 8, "turn": lambda *_: self.results.pop()}

    def _on_output(self):
        self.output_count += 1

    def write_memory(self, page, data):
        ctypes.memmove(self._base + page * webassembly.PAGE_BYTES, data, len(data))


def test_an_image_holds_the_pages_that_differ_from_a_new_guest_s():
    page, guest = webassembly.PAGE_BYTES, IdleGuest()
    empty = guest.copy_memory(bytearray())
    for number in (1, 2, 4):
        guest.write_memory(number, b"new")
    image = guest.take_sparse_image(empty)
    assert image.size == 5 * page
    assert [(address, len(data)) for address, data in image.parts] == [
        (page, 2 * page),
        (4 * page, page),
    ]
    assert guest.count_changed_bytes(empty) == 3 * page
    assert guest.count_changed_bytes(empty[: 2 * page]) == page
    restored = IdleGuest()
    restored.restore(image)
    assert restored.copy_memory(bytearray()) == guest.copy_memory(bytearray())
    assert restored.growths == []
    guest.write_memory(3, bytes(page))  # where memory has grown, it begins as zeros
    grown = guest.take_sparse_image(empty[:page])
    addresses = [(address, len(data)) for address, data in grown.parts]
    assert addresses == [(page, 2 * page), (4 * page, page)]


def test_an_image_is_restored_with_its_files_as_often_as_it_is_asked_for():
    guest, buffer = IdleGuest(), bytearray(7 * webassembly.PAGE_BYTES)
    guest._wasi.files.free_bytes = 7
    guest.write_memory(3, b"saved")
    image, saved = guest.take_image(buffer), guest.copy_memory(bytearray())
    assert image.size == len(saved)
    for _ in range(2):
        guest.write_memory(3, b"later")
        guest._wasi.files.free_bytes = 1
        guest.restore(image)
        assert guest.copy_memory(bytearray()) == saved and guest._wasi.files.free_bytes == 7
    larger = replace(image, size=image.size + 3 * webassembly.WASM_PAGE_BYTES)
    guest.restore(larger)
    assert guest.growths == [3]
    kept = bytearray(len(saved))
    assert guest.copy_memory(kept) is kept
    for size in (3, len(saved) + 1):
        assert guest.copy_memory(bytearray(size)) == saved


def test_the_output_of_a_guest_is_limited_and_of_its_errors_the_end_is_kept():
    guest = IdleGuest(max_output=5)
    guest._collect_output(1, b"abc")
    guest._collect_output(1, b"de")
    with pytest.raises(webassembly.OutputLimitExceeded):
        guest._collect_output(1, b"f")
    assert guest.output_count == 2 and guest.take_output() == b"abcde"
    guest._collect_output(1, b"fghij")
    assert guest.take_output() == b"fghij" and guest.take_output() == b""
    for text in (b"a" * 3_999, b"bc"):
        guest._collect_output(2, text)
    assert guest.stderr == b"a" * 3_998 + b"bc" and guest.output_count == 3
    order = b"run"
    guest.set_input(order, lambda: None)
    guest.set_input(b"next", lambda: None)
    assert guest._wasi.stdin == b"next"


def test_a_guest_whose_code_cannot_go_on_has_ended():
    guest = IdleGuest()
    guest.results = [1, 0]
    assert [guest.run("a = 1"), guest.run("a = 1"), guest.has_ended] == [False, True, False]
    with pytest.raises(IndexError):
        guest.run("a = 1")
    assert guest.has_ended
    guest = IdleGuest()
    guest._memory.write = lambda store, code, address: 1
    with pytest.raises(ValueError, match="no room"):
        guest.run("a = 1")
    assert guest.has_ended
    guest = IdleGuest()
    guest.close()
    assert guest.has_ended


def test_a_pause_counts_while_it_lasts_and_no_longer_than_was_asked_for(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(webassembly, "time", SimpleNamespace(monotonic=lambda: clock.now))
    meter, counted = webassembly._SleepMeter(), []
    for asked, lasted in ((5, 2), (5, 9), (1, 0.5)):
        with suppress(ValueError), meter.measure(asked):
            clock.now += lasted
            counted.append(meter.read())
            raise ValueError
        clock.now += 50  # awake
        counted.append(meter.read())
    assert counted == [2, 2, 7, 7, 7.5, 7.5]


@pytest.mark.parametrize(
    ("message", "summary"),
    [
        (
            "error while executing\n  0: 0x1 - f\n wasm trap: unreachable \n",
            "wasm trap: unreachable",
        ),
        ("wasm trap: a\nfatal: b\nthe end", "fatal: b"),
        (" one \ntwo", "one"),
        ("", "ValueError"),
        ("x" * 300, "x" * 200),
        ("trap" + "x" * 300, "trap" + "x" * 196),
    ],
)
def test_an_error_of_a_guest_is_told_by_its_cause(message, summary):
    assert webassembly._summarise_error(ValueError(message)) == summary


def test_a_guest_gets_the_environment_and_limits_of_its_sandbox(monkeypatch):
    monkeypatch.setattr(webassembly, "GuestInstance", lambda *arguments: arguments)
    limits = RunLimits(scratch_bytes=11, open_files=12, output_bytes=13)
    sandbox = WebAssembly(limits=limits, env={"LANG": "other"}, course=ROOT)
    sandbox._read_only_files = {}
    make_host, memory, max_output = sandbox._create_instance(5, random=bytes)
    files, folders, environment = make_host.args
    assert (files, folders, memory) == ({}, ("tmp", "home"), 5)
    assert environment == {
        "HOME": "/home/sandbox",
        "USER": "student",
        "LOGNAME": "student",
        "LANG": "other",
        "TMPDIR": "/tmp",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "IPYTHONDIR": "/tmp/ipython",
        "AUTOGRADER_COURSE": "/course",
        "PYTHONTZPATH": "",
    }
    options = make_host.keywords
    assert (options["scratch"], options["descriptors"], options["random"]) == (11, 12, bytes)
    assert max_output == (64 << 20) + 4 * 13 + (1 << 20)


def test_a_guest_sees_the_files_of_visible_folders_and_no_compiled_ones(tmp_path, monkeypatch):
    for name in ("lib/a.py", "lib/below/b.txt", "lib/__pycache__/a.pyc", "one.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    library = ("std.py", lambda: b"std"), ("deep/er.py", lambda: b"er")
    monkeypatch.setattr(webassembly, "_list_stdlib_files", lambda resources: library)
    monkeypatch.setattr(
        webassembly, "_list_site_package_files", lambda: [("p.py", tmp_path / "one.py")]
    )
    sandbox, paths = (
        WebAssembly(),
        {"/course/lib": "lib", "/course/1.py": "one.py", "/course/no": "no"},
    )
    paths = {target: tmp_path / name for target, name in paths.items()}
    monkeypatch.setattr(sandbox, "_map_visible_files", lambda: paths)
    files = sandbox._collect_guest_files(None)
    contents = {name: node.data for name, node in files.items() if isinstance(node, ReadOnlyFile)}
    assert contents == {
        "dev/null": b"",
        "usr/local/lib/python315.zip/std.py": b"std",
        "usr/local/lib/python315.zip/deep/er.py": b"er",
        "site/p.py": b"one.py",
        "course/lib/a.py": b"lib/a.py",
        "course/lib/below/b.txt": b"lib/below/b.txt",
        "course/1.py": b"one.py",
    }


class RecordingSandbox:
    """A sandbox that records what a driver asks of it; a run ends with the given exception."""

    def __init__(self, end=None):
        self.end, self.actions, self.check = end, [], None

    def run_watched(self, instance, check, source):
        self.actions.append("grow" if source == webassembly.GROW_MEMORY_CODE else "run")
        self.check = check
        if self.end and self.actions[-1] == "run":
            instance.has_ended = True
            raise self.end

    def save_image(self, instance):
        self.actions.append("save")
        return "image"

    def restore_instance(self, image, instance):
        self.actions.append("restore")
        return instance


def make_wasm_driver(end=None, memory_limit=None):
    """Return a driver without a guest."""
    run, guest = object.__new__(webassembly._WasmDriver), IdleGuest()
    run._sandbox, run._instance, run.limits = RecordingSandbox(end), guest, LIMITS
    run.part_watch = SimpleNamespace(mark_progress=lambda: None)
    run._image, run._death, run._has_spare_memory = None, "", False
    run._memory_before = bytearray()
    run.start_memory_measurement(memory_limit)
    return run


STOP = driver.SubmissionLimitExceeded("timeout", "It took too long.")
END = {"op": "asked", "missing": False, "exit": None}


@pytest.mark.parametrize(
    ("op", "end", "after_output", "death"),
    [
        ("run", None, "it says no more", ""),
        ("ask", None, "it says no more", ""),
        ("ask", STOP, "It took too long.", ""),
        ("ask", webassembly.OutputLimitExceeded(), "it says too much", ""),
        ("ask", webassembly._AnswerTimeUp(), (END, []), ""),
        ("ask", GuestExit(3), ({**END, "exit": 3}, []), "Its process ended with exit code 3."),
        ("run", GuestExit(3), "it says no more", "Its process ended with exit code 3."),
        ("ask", ValueError("wasm trap: x"), (END, []), "Its process ended: wasm trap: x"),
    ],
)
def test_the_end_of_an_order_is_told_after_what_the_guest_has_said(op, end, after_output, death):
    run = make_wasm_driver(end)
    run._instance._output += b"said"
    run.send_order({"op": op, "last": True})
    if isinstance(after_output, str):
        assert str(run._after_output) == after_output
    else:
        assert run._after_output == after_output
    assert run._death == death and run._output.remaining == 4
    assert run.describe_process_end() == (death or "Its process ended.")
    assert run._sandbox.check == run.check_time_limits and not run._is_measured


def test_the_memory_of_a_call_is_measured_from_before_its_arguments_are_read():
    run = make_wasm_driver(memory_limit=10)
    run._instance._wasi.written_file_bytes = 7
    run.send_order({"op": "ask", "last": True})
    order = bytes(run._instance._wasi.stdin)
    assert encoding.decode(order)[0] == {"op": "ask", "last": True}
    assert run._sandbox.check == run._check_time_and_sample_memory and run._is_measured
    assert run._input_bytes == webassembly.INPUT_READ_FACTOR * len(order)
    assert run._written_before == 7
    assert run._memory_before == run._instance.copy_memory(bytearray())
    run._peak_bytes = 5
    run.start_memory_measurement(None)
    assert (run._peak_bytes, run._is_measured) == (0, False)
    assert run.end_measurement_and_find_excess_memory() == 0


@pytest.mark.parametrize(
    ("op", "is_last", "image", "memory_limit", "has_spare", "actions", "result"),
    [
        ("run", False, None, None, False, [], (None, False)),
        ("run", False, "image", None, True, ["restore"], (None, False)),
        ("ask", False, None, None, False, ["save"], ("image", False)),
        ("ask", True, None, None, False, [], (None, False)),
        ("ask", False, "image", None, False, ["restore"], ("image", False)),
        ("ask", False, None, 10, False, ["grow", "save"], ("image", True)),
        ("ask", False, "image", 10, False, ["restore", "grow", "save"], ("image", True)),
        ("ask", False, "image", 10, True, ["restore"], ("image", True)),
        ("ask", True, "image", 10, False, ["restore"], ("image", False)),
    ],
)
def test_the_memory_of_a_submission_is_saved_once_before_its_calls(
    op, is_last, image, memory_limit, has_spare, actions, result
):
    run = make_wasm_driver(memory_limit=memory_limit)
    run._image, run._has_spare_memory = image, has_spare
    run._save_or_restore_memory({"op": op, "last": is_last}, op == "ask")
    assert run._sandbox.actions == actions
    assert (run._image, run._has_spare_memory) == result


def test_the_memory_of_a_call_is_sampled_now_and_then_and_the_largest_sample_counts(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(webassembly, "time", SimpleNamespace(monotonic=lambda: clock.now))
    run, samples, checks = make_wasm_driver(memory_limit=10), iter([30, 50, 20, 40]), []
    run.check_time_limits, run._next_sample = lambda: checks.append(1), 0.0

    def count_changed_bytes(earlier_copy):
        clock.now += 1  # the comparison takes a second
        return next(samples)

    run._instance.count_changed_bytes = count_changed_bytes
    peaks = []
    for now in (100, 104, 105, 109, 110, 120):
        clock.now = now
        run._check_time_and_sample_memory()
        peaks.append(run._peak_bytes)
    assert peaks == [30, 30, 50, 50, 50, 50] and len(checks) == 6


FRAME = {"op": "output"}


@pytest.mark.parametrize(
    ("written", "after_output", "expected"),
    [
        (encoding.encode(FRAME), STOP, FRAME),
        (encoding.encode(FRAME)[:-1], STOP, "It took too long"),
        (encoding.encode(FRAME)[:-1], protocol.ProtocolError("it says too much"), "too much"),
        (encoding.encode(FRAME)[:-1], (END, []), END),  # it was stopped amid a message
        (encoding.encode(FRAME)[:-1], protocol.ChannelClosed("no more"), "end too early|bytes end"),
        (b"forged" * 9, (END, []), "no frame begins"),
        (b"", (END, []), END),
        (b"", STOP, "It took too long"),
    ],
)
def test_a_message_that_was_cut_off_is_left_out_if_the_call_was_stopped(
    written, after_output, expected
):
    run = make_wasm_driver()
    run.check_time_limits = lambda: None
    run._output, run._after_output = encoding.ByteReader(written), after_output
    if isinstance(expected, str):
        with pytest.raises(
            (protocol.ProtocolError, driver.SubmissionLimitExceeded), match=expected
        ):
            run.receive_event()
    else:
        assert run.receive_event()[0] == expected


@pytest.mark.parametrize(
    ("has_ended", "pages", "is_new"),
    [(False, 5, False), (True, 5, True), (False, 6, True), (False, 4, False)],
)
def test_a_guest_is_reused_unless_it_has_ended_or_grown(has_ended, pages, is_new):
    guest, new, restored = IdleGuest(pages), IdleGuest(), []
    guest.has_ended = has_ended
    image = IdleGuest().take_image(bytearray(5 * webassembly.PAGE_BYTES))
    for item in (guest, new):
        item.restore = lambda image, item=item: restored.append((item, image))

    def submit(function, *arguments):
        return SimpleNamespace(result=lambda: function(*arguments))

    sandbox = SimpleNamespace(start_instance=lambda: new, _thread=SimpleNamespace(submit=submit))
    chosen = new if is_new else guest
    assert WebAssembly.restore_instance(sandbox, image, guest) is chosen
    assert restored == [(chosen, image)] and guest.has_ended == is_new


def test_the_space_for_a_saved_memory_is_used_again():
    sandbox = SimpleNamespace(_spare_memory=bytearray())
    for pages, length in ((5, 5), (3, 5), (6, 6)):
        image = WebAssembly.save_image(sandbox, IdleGuest(pages))
        assert image.size == pages * webassembly.PAGE_BYTES
        assert len(sandbox._spare_memory) == length * webassembly.PAGE_BYTES


@pytest.mark.parametrize(
    ("error", "has_ended", "is_raised"),
    [(STOP, True, True), (STOP, False, False), (KeyboardInterrupt(), False, True)],
)
def test_a_guest_that_ended_in_time_is_not_called_stopped(monkeypatch, error, has_ended, is_raised):
    stopped = threading.Event()
    engine = SimpleNamespace(increment_epoch=stopped.set)
    monkeypatch.setattr(webassembly, "get_engine", lambda: engine)
    sandbox, wakes = WebAssembly(), threading.Event()
    sandbox._wake, checks = wakes, []
    wakes.set()

    def check():
        assert not checks, "it is not asked again"
        checks.append(wakes.is_set())
        raise error

    def run(source):
        assert stopped.wait(60) and wakes.is_set(), "its sleep is ended, too"

    instance = SimpleNamespace(has_ended=has_ended, run=run)
    with ThreadPoolExecutor(1) as sandbox._thread:
        if is_raised:
            with pytest.raises(type(error)):
                sandbox.run_watched(instance, check, "")
        else:
            sandbox.run_watched(instance, check, "")
    assert checks == [False]


# The guest's own part, as far as it runs here


def make_int32(*args, dtype=None, **kwargs):
    """Stand in for `np.array` in a guest, where integers have 32 bits by default."""
    array = np.array(*args, dtype=dtype, **kwargs)
    if dtype is None and not hasattr(args[0], "dtype") and array.dtype == np.int64:
        return array.astype(np.int32)
    return array


@pytest.mark.parametrize(
    ("args", "kwargs", "dtype"),
    [
        (([1, 2],), {}, "int64"),
        (([1, 2],), {"dtype": None}, "int64"),
        (([1, 2],), {"dtype": np.int32}, "int32"),
        (([1.5],), {}, "float64"),
        (([True],), {}, "bool"),
        ((np.ones(2, np.int32),), {}, "int32"),
    ],
)
def test_only_python_s_own_integers_become_int64(args, kwargs, dtype):
    array = wasm_guest._make_int_result_int64("array", make_int32)(*args, **kwargs)
    assert array.dtype.name == dtype and array.tolist() == np.array(args[0]).tolist()


def test_a_dtype_in_its_place_among_the_arguments_is_kept():
    def make(*args, **kwargs):
        return np.zeros(2, kwargs.get("dtype", np.int32))

    for name, place in wasm_guest._DTYPE_POSITION.items():
        wrapped = wasm_guest._make_int_result_int64(name, make)
        assert wrapped(*[3] * place).dtype == np.int64
        assert wrapped(*[3] * place, np.int32).dtype == np.int32


@pytest.mark.parametrize(
    ("arguments", "types"),
    [
        ((2, 3), ["ndarray", "int"]),
        (([2], 3), ["ndarray", "int"]),
        (([2], np.ones(1)), ["ndarray", "ndarray"]),  # a list first becomes an array anyway
        ((2, np.float32(1)), ["int", "float32"]),
        ((2, 1.5), ["int", "float"]),
        ((np.float32(1), 2), ["float32", "int"]),
        ((range(3),), ["ndarray"]),
    ],
)
def test_arithmetic_of_python_s_integers_is_done_in_an_array(arguments, types):
    def name_types(*arguments, **kwargs):
        return [type(argument).__name__ for argument in arguments]

    def calculate(*arguments, **kwargs):
        return name_types(*arguments)

    calculate.reduce = calculate.accumulate = calculate.outer = name_types
    wrapped = wasm_guest._make_int_arguments_int64(calculate)
    results = [wrapped(*arguments), wrapped.reduce(*arguments), wrapped.accumulate(*arguments)]
    assert results == [types] * 3 and wrapped.outer is name_types


def test_waiting_for_a_lock_only_sleeps(monkeypatch):
    pauses, lock = [], wasm_guest._SleepingLock()
    monkeypatch.setattr(wasm_guest, "sleep", pauses.append)
    with lock:
        assert lock.locked()
        assert not lock.acquire(False) and pauses == []
        assert not lock.acquire(timeout=0.5) and not lock.acquire()
    assert pauses == [0.5, wasm_guest.FOREVER_SECONDS]
    assert not lock.locked() and lock.acquire() and lock.locked()
    select = wasm_guest._SleepOnlyEventLoop.select
    assert [select(None, seconds) for seconds in (2, -1, None)] == [[]] * 3
    assert pauses[2:] == [2, 0, wasm_guest.FOREVER_SECONDS]


def test_orders_and_replies_of_a_guest_may_go_in_parts(monkeypatch):
    order, written = encoding.encode({"op": "run"}), bytearray()
    source = encoding.ByteReader(order)
    calls = SimpleNamespace(
        read=lambda fd, size: source.read(min(size, 3, source.remaining)) if not fd else None,
        write=lambda fd, data: written.extend(bytes(data[:5])) or len(data[:5]),
    )
    monkeypatch.setattr(wasm_guest, "os", calls)
    assert encoding.read_frame(wasm_guest._read_order_bytes)[0] == {"op": "run"}
    with pytest.raises(protocol.ChannelClosed):
        wasm_guest._read_order_bytes(1)
    wasm_guest._send_frame({"op": "run"})
    assert written == order


def test_a_shell_line_does_nothing_but_say_so(capsys):
    shell = SimpleNamespace(user_ns={})
    shell.system = lambda command: wasm_guest._StatementReportingShell.system(shell, command)
    shell.system("pip install numpy")
    assert capsys.readouterr().out == (
        "There are no other programs where this notebook is marked, so this line does nothing: "
        "!pip install numpy\n"
    )
    assert shell.user_ns == {"_exit_code": 127}
    get_output = wasm_guest._StatementReportingShell.getoutput
    assert get_output(shell, "ls") == [] and get_output(shell, "ls", split=False) == ""
    assert capsys.readouterr().out.count("!ls") == 2
    with pytest.raises(OSError, match=r"^There are no other programs where .* marked\.$"):
        wasm_guest._refuse_magic("", "ls")


def test_each_statement_of_a_cell_is_reported_when_it_has_run(monkeypatch):
    steps = []

    async def run_code(shell, code_obj, result=None, *, async_=False):
        steps.append((code_obj, async_))
        return code_obj == "fails"

    monkeypatch.setattr(wasm_guest.Shell, "run_code", run_code)
    shell = object.__new__(wasm_guest._StatementReportingShell)
    emitter = SimpleNamespace(emit_step=lambda: steps.append("step"))
    shell.__dict__["emitter"] = emitter
    for code, has_failed in (("works", False), ("fails", True)):
        with pytest.raises(StopIteration) as end:
            shell.run_code(code, async_=True).send(None)
        assert end.value.value is has_failed
    assert steps == [("works", True), "step", ("fails", True), "step"]


# The files that guests are made of


@pytest.fixture
def compiled_file(tmp_path, monkeypatch):
    """Compiled guest in a folder of its own, with permissions that allow its use."""
    path = tmp_path / "webassembly" / "python.cwasm"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(b"x")
    path.chmod(0o644)
    monkeypatch.setattr(webassembly, "get_compiled_path", lambda: path)
    monkeypatch.setattr(webassembly, "_load_module", lambda: None)
    assert webassembly._find_compiled_file_problem() == ""
    return path


def test_code_that_others_may_write_is_not_run(compiled_file):
    for path in (compiled_file, compiled_file.parent):
        mode = path.stat().st_mode
        path.chmod(mode | 0o020)
        assert "others may write" in webassembly._find_compiled_file_problem()
        path.chmod(mode)
    assert webassembly._find_compiled_file_problem() == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_link_in_the_place_of_the_code_is_not_followed(compiled_file, tmp_path):
    real = shutil.move(compiled_file, tmp_path / "elsewhere")
    compiled_file.symlink_to(real)
    assert "others may write" in webassembly._find_compiled_file_problem()  # a link's own mode


def test_what_was_not_compiled_is_said(compiled_file):
    compiled_file.unlink()
    assert (
        "was not compiled" in webassembly._find_compiled_file_problem()
        and "make portable" in webassembly._find_compiled_file_problem()
    )


def test_a_file_that_is_not_the_one_that_was_tried_is_not_used(tmp_path, monkeypatch):
    artifact = tmp_path / "python-stdlib.zip"
    artifact.write_bytes(b"PK")
    monkeypatch.setattr(webassembly, "_artifact_path", lambda name: artifact)
    assert "is not the file that was tried" in webassembly._find_artifact_problem(
        "python-stdlib.zip"
    )
    monkeypatch.setattr(webassembly, "_find_compiled_file_problem", lambda: "")
    with pytest.raises(SandboxError, match="not the file that was tried"):
        webassembly.compile_guest()


@needs_guest
def test_code_that_is_cut_short_is_refused_in_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "webassembly" / "python.cwasm"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(webassembly.get_compiled_path().read_bytes()[:100_000])
    path.chmod(0o644)
    monkeypatch.setattr(webassembly, "get_compiled_path", lambda: path)
    monkeypatch.setattr(webassembly, "_load_module", webassembly._load_module.__wrapped__)
    assert "compiled for another machine" in webassembly._find_compiled_file_problem()


@needs_guest
def test_a_lab_that_cannot_be_prepared_is_the_graders_fault(sandbox):
    with (
        pytest.raises(SandboxError, match="cannot prepare this lab: ModuleNotFoundError"),
        WebAssembly(("keras",)),
    ):
        pass


# Choosing


def test_the_choices_of_the_command_are_those_of_the_sandboxes():
    from autograder.cli.options import SANDBOXES

    assert SANDBOXES == choice.CHOICES


@pytest.mark.parametrize(
    ("bubblewrap", "webassembly", "chosen"),
    [
        ("", "", "bubblewrap"),
        ("", "not installed", "bubblewrap"),
        ("no namespaces", "", "webassembly"),
    ],
)
def test_auto_is_the_first_that_starts(monkeypatch, bubblewrap, webassembly, chosen):
    monkeypatch.setattr(Bubblewrap, "explain_unavailability", classmethod(lambda cls: bubblewrap))
    monkeypatch.setattr(WebAssembly, "explain_unavailability", classmethod(lambda cls: webassembly))
    choice.find_sandbox.cache_clear()
    try:
        kind = choice.find_sandbox("auto")
        assert kind.name == chosen and choice.explain_fallback(kind) == bubblewrap * (
            chosen != "bubblewrap"
        )
    finally:
        choice.find_sandbox.cache_clear()


def test_where_none_starts_both_reasons_are_told_and_none_is_never_taken_by_itself(monkeypatch):
    for kind, reason in ((Bubblewrap, "no namespaces"), (WebAssembly, "not installed")):
        monkeypatch.setattr(
            kind, "explain_unavailability", classmethod(lambda cls, reason=reason: f"{reason}.")
        )
    choice.find_sandbox.cache_clear()
    try:
        assert choice.explain_unavailability() == "no namespaces. not installed."
    finally:
        choice.find_sandbox.cache_clear()


def test_an_inode_is_no_address_of_the_host():
    """Guests of one sandbox see the same small numbers, and each file has its own."""
    memory = Memory()
    numbers = []
    for _ in range(2):
        host = make_wasi()
        host.attach_memory(memory.address, lambda: memory.size)
        inodes = []
        for name in ("tmp/a", "tmp/b", "course/a/b.txt"):
            ctypes.memmove(memory.address, name.encode(), len(name))
            if name.startswith("tmp"):
                assert host.get_call("path_open")(3, 0, 0, len(name), 1, 1 << 6, 0, 0, 100) == 0
            assert host.get_call("path_filestat_get")(3, 0, 0, len(name), 200) == 0
            inodes.append(int.from_bytes(ctypes.string_at(memory.address + 208, 8), "little"))
        numbers.append(inodes)
    assert numbers[0] == numbers[1] and len(set(numbers[0])) == 3
    assert max(numbers[0]) < 1 << 25


def test_the_dtype_int_is_int64_by_name_and_by_place():
    """The guest's `int` would be 32 bits long, unlike that on the student's machine."""
    read = wasm_guest._read_dtype_int_as_int64(lambda *args, **kwargs: (args, kwargs))
    assert read(3, int) == ((3, np.int64), {})
    assert read(3, dtype=int, order="C") == ((3,), {"dtype": np.int64, "order": "C"})
    assert read(3, float, dtype=bool) == ((3, float), {"dtype": bool})
