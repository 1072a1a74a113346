"""`make bench`: what checking and grading cost, as ratios within one run on one machine.

    python tests/bench.py [--quick] [--long]

Seconds differ between machines and hours; read the ratios.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

import nbformat
import psutil
from rich.console import Console
from rich.table import Table

from autograder import keys
from autograder.grading.pool import PRELOAD, cores
from autograder.grading.sample_class import hand_ins
from autograder.labs.build import ROOT

LAB = "qkv-attention"
BIN = Path(sys.executable).parent
OUT = Console(width=100)


class Peak:
    """The largest memory that a command and all it starts hold together, sampled each second; in MB.

    Pages that several processes share count once, where the system lets us see that.
    """

    def __init__(self, pid):
        self.megabytes, self._process, self._over = 0.0, psutil.Process(pid), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        while not self._over.wait(1):
            try:
                family = [self._process, *self._process.children(recursive=True)]
            except psutil.Error:
                return
            self.megabytes = max(self.megabytes, sum(map(held, family)) / 1e6)

    def stop(self):
        self._over.set()
        self._thread.join()
        return self.megabytes


def held(process):
    """Bytes of memory that a process holds, its share of the shared pages included."""
    try:
        return process.memory_full_info().pss
    except psutil.AccessDenied:
        with suppress(psutil.Error):
            return process.memory_info().rss
    except (psutil.Error, AttributeError):
        pass
    return 0


def timed(command, **options):
    """(seconds, peak MB) of a command; raises if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
    )
    peak = Peak(process.pid)
    _, stderr = process.communicate()
    seconds = time.perf_counter() - start
    memory = peak.stop()
    if process.returncode:
        sys.exit(f"{command[0]} {command[1]} failed: {stderr[-2000:]}")
    return seconds, memory


def make_class(folder, count):
    """A class of `count` hand-ins, none hostile: 12 different ones, told apart by trailing blanks."""
    made = list(hand_ins(LAB, min(count, 12)))
    for number, (_, data) in enumerate(islice(cycle(made), count)):
        path = folder / "submitted" / f"student-{number:05d}" / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data + b" " * number)
    return folder


def stock_course(folder, source):
    """A course for nbgrader with its own settings: the same hand-ins, its own steps."""
    shutil.copytree(ROOT / "solutions" / LAB, folder / "source" / LAB)
    shutil.copytree(source / "submitted", folder / "submitted")
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.ClearMarkScheme.enforce_metadata = False\n"
    )
    return folder


def grade(folder, workers, *more):
    return timed([BIN / "autograder", "grade", LAB, "--classroom", folder, "--workers", workers, *more])


def bare(count):
    """Seconds to run in forks of a warm process the cells that marking runs, with nothing around them."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from IPython.core.interactiveshell import InteractiveShell

    from autograder.grading.worker import preload

    preload(PRELOAD[LAB])
    InteractiveShell.instance()
    plt.figure().savefig(io.BytesIO())
    made = [nbformat.reads(data.decode(), 4) for _, data in hand_ins(LAB, min(count, 12))]
    start = time.perf_counter()
    for notebook in islice(cycle(made), count):
        child = os.fork()
        if child == 0:
            shell = InteractiveShell.instance()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                for cell in notebook.cells:
                    if cell.cell_type == "code" and not skipped(cell):
                        shell.run_cell(cell.source, store_history=False)
            os._exit(0)
        os.waitpid(child, 0)
    return time.perf_counter() - start


def skipped(cell):
    return cell.source.startswith("check(") or "illustration" in cell.metadata.get("tags", [])


def stock_seconds(source):
    """(seconds, peak MB) of nbgrader's own autograde on the hand-ins of a class, start-up included."""
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as name:
        course = stock_course(Path(name), source)
        timed([BIN / "nbgrader", "generate_assignment", LAB], cwd=course, env=env)
        return timed([BIN / "nbgrader", "autograde", LAB], cwd=course, env=env)


def bench_grading(source, count):
    """Print the table of graders; returns the hand-ins that stock nbgrader grades in a second."""
    table = Table(title=f"{LAB}: {count} hand-ins, start-up and gradebook included")
    for column in ("grader", "seconds", "hand-ins/s", "times stock", "peak MB"):
        table.add_column(column, justify="left" if column == "grader" else "right")
    rows = [("stock nbgrader autograde", *stock_seconds(source)), ("ours, 1 worker", *grade(source, 1))]
    (source / "gradebook.db").unlink()  # each run makes its own, as nbgrader's does
    rows.append((f"ours, {cores()} workers", *grade(source, cores(), "--force")))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    rows.append(("floor: the same cells bare, 1 fork at a time", bare(count), memory))
    for label, seconds, memory in rows:
        ratio = f"{rows[0][1] / seconds:.1f}"
        table.add_row(label, f"{seconds:.1f}", f"{count / seconds:.2f}", ratio, f"{memory:.0f}")
    OUT.print(table)
    return count / rows[0][1]


def bench_growth(source, counts, stock_rate):
    """Print what classes of these sizes cost. Stock runs once more at the end; its faster run counts."""
    grown = []
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = make_class(Path(name), count)
            seconds, memory = grade(folder, cores())
            book = (folder / "gradebook.db").stat().st_size / 1e6
            done = sorted(p.stat().st_mtime for p in folder.glob("results/*/*.json"))
            alone = writer_alone(folder) if count == max(counts) else None
        tenth = max(count // 10, 1)
        first, last = tenth / (done[tenth] - done[0]), tenth / (done[-1] - done[-tenth - 1])
        grown.append((count, seconds, first, last, memory, book))
    again = len(list(source.glob("submitted/*"))) / stock_seconds(source)[0]
    OUT.print(f"stock nbgrader: {stock_rate:.3f} hand-ins/s at first, {again:.3f} at the end")

    table = Table(title=f"{LAB}: growth, {cores()} workers, start-up and gradebook included")
    for column in ("hand-ins", "seconds", "hand-ins/s", "times stock"):
        table.add_column(column, justify="right")
    for column in ("first tenth /s", "last tenth /s", "peak MB", "gradebook MB"):
        table.add_column(column, justify="right")
    for count, seconds, first, last, memory, book in grown:
        rate = count / seconds
        ratio = rate / max(stock_rate, again)
        table.add_row(
            *(f"{count}", f"{seconds:.1f}", f"{rate:.2f}", f"{ratio:.1f}"),
            *(f"{r:.2f}" if count >= 1000 else "" for r in (first, last)),
            *(f"{memory:.0f}", f"{book:.1f}"),
        )
    OUT.print(table)
    OUT.print(f"The gradebook's writer on its own: {alone:.0f} hand-ins/s")


def writer_alone(folder):
    """Hand-ins a second of a run that marks nothing and writes everything into a new gradebook."""
    count = len(list(folder.glob("results/*/*.json")))
    (folder / "gradebook.db").unlink()
    for receipt in folder.glob("results/*/*.recorded"):
        receipt.unlink()
    written, _ = grade(folder, 1)
    nothing, _ = grade(folder, 1)  # start-up, and reading what is kept
    return count / (written - nothing)


CHECK = """
import sys, time
sys.path.insert(0, {tests!r})
from importlib import import_module
from variants.{module} import VARIANTS
import numpy, autograder
from autograder import check
name, answer = next((n, f) for n, f in VARIANTS if n == {exercise!r})
answer.__name__ = name
start = time.perf_counter()
check(answer)
print(time.perf_counter() - start, file=sys.stderr)
"""


def bench_check():
    table = Table(title="check: the first call after import, a right answer")
    table.add_column("exercise")
    table.add_column("ms", justify="right")
    for name, entry in keys.index().items():
        if entry["lab"] == "keras-attention":
            continue
        module = entry["lab"].replace("-", "_")
        code = CHECK.format(tests=str(ROOT / "tests"), module=module, exercise=name)
        times = []
        for _ in range(3):
            ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
            times.append(float(ran.stderr.split()[-1]))
        table.add_row(name, f"{sorted(times)[1] * 1e3:.0f}")
    OUT.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few hand-ins only")
    parser.add_argument("--long", action="store_true", help="2,000 hand-ins as well")
    given = parser.parse_args()
    OUT.print(f"{cores()} cores, Python {sys.version.split()[0]}")
    bench_check()
    counts = [10, 50] if given.quick else [10, 100, 1000, *([2000] if given.long else [])]
    with tempfile.TemporaryDirectory() as name:
        few = 6 if given.quick else 12
        source = make_class(Path(name), few)
        bench_growth(source, counts, bench_grading(source, few))


if __name__ == "__main__":
    main()
