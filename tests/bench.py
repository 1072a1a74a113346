"""`make bench`: the cost of checking and grading, as ratios within one run on one machine.

    python tests/bench.py [--quick] [--long]

No two submissions of its classes are alike. Stock nbgrader grades a dozen of them, before and after
everything else, and its faster run counts: as it ships, and doing the work that ours does ("equal
work": without the cells that marking leaves out because no mark depends on them).

Seconds differ between machines and hours; read the ratios.
"""

import argparse
import ast
import inspect
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from copy import deepcopy
from pathlib import Path

import nbformat
import psutil
from our_course import COURSE, ROOT
from rich.console import Console
from rich.table import Table
from sample_class import perfect, wrong_answer

from autograder import check
from autograder.authoring.lab import read_labs
from autograder.core.notebook_cells import get_grade_id
from autograder.grading.grade_submission import release_for_grading
from autograder.grading.pool import count_cores
from autograder.sandbox import PRELOAD
from autograder.sandbox.webassembly import WebAssembly
from autograder.student.check import CheckFailed

BIN = Path(sys.executable).parent
OUT = Console(width=110)
NAMES = {"auto": "ours", "webassembly": "ours in WebAssembly"}
SAMPLE = 12  # submissions that stock nbgrader grades: it takes seconds for each


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
            self.megabytes = max(self.megabytes, sum(map(measure_memory, family)) / 1e6)

    def stop(self):
        self._over.set()
        self._thread.join()
        return self.megabytes


def measure_memory(process):
    """Return the memory of a process in bytes, with its share of the shared pages."""
    try:
        return process.memory_full_info().pss
    except psutil.AccessDenied:
        with suppress(psutil.Error):
            return process.memory_info().rss
    except (psutil.Error, AttributeError):
        pass
    return 0


def measure_command(command, **options):
    """Return (seconds, peak MB) of a command; raise if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(c) for c in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    peak = Peak(process.pid)
    _, stderr = process.communicate()
    seconds = time.perf_counter() - start
    memory = peak.stop()
    if process.returncode:
        sys.exit(f"{command[0]} {command[1]} failed: {stderr[-2000:]}")
    return seconds, memory


# A class in which no two submissions are alike


def different(lab, count, seed=1):
    """Return `count` submissions without an answer in common: right ones, and combined mistakes."""
    chance, right = random.Random(seed), perfect(lab)
    correct = {get_grade_id(cell): cell.source for cell in right.cells}
    wrong = {
        e.name: [source for m in e.misconceptions if (source := wrong_answer(e, m))]
        for e in lab.exercises.values()
    }
    for number in range(count):
        notebook = deepcopy(right)
        for cell in notebook.cells:
            exercise = lab.exercises_by_answer_cell.get(get_grade_id(cell))
            if exercise:
                source = correct[get_grade_id(cell)]
                if number % 3 and chance.random() < 0.4:
                    source = chance.choice(wrong[exercise.name])
                cell.source = f"# submission {number}\n{rename_variables(source, number)}"
            elif cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = f"In my own words ({number})."
        yield nbformat.writes(notebook).encode()


def rename_variables(source, number):
    """Return an answer with its local variables renamed."""
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            arguments = function.args.args + function.args.kwonlyargs
            own = {name.id for name in names if isinstance(name.ctx, ast.Store)} - {
                a.arg for a in arguments
            }
            for name in names:
                if name.id in own:
                    name.id = f"{name.id}_{number}"
    return ast.unparse(tree)


def make_class(folder, lab, count):
    """Write a class of `count` different submissions into a folder, none hostile."""
    for number, data in enumerate(different(lab, count)):
        path = folder / "submitted" / f"student-{number:05d}" / lab.name / f"{lab.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return folder


def illustrations(lab):
    """Return the sources of the cells that grading skips."""
    return {
        c.source
        for c in release_for_grading(lab).cells
        if "illustration" in c.metadata.get("tags", [])
    }


# The graders


def grade(folder, lab, workers=None, *options):
    return measure_command(
        [
            BIN / "autograder",
            "grade",
            lab.name,
            "--classroom",
            folder,
            "--workers",
            workers or count_cores(),
            *options,
        ],
    )


def stock(source, lab, equal):
    """Seconds a submission that nbgrader's own autograde takes for a class, start-up included.

    Parameters
    ----------
    equal : bool
        Do the work that ours does: without the cells that decide nothing, in the lab and in the
        submissions.
    """
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as name:
        course = Path(name)
        shutil.copytree(ROOT / "solutions" / lab.name, course / "source" / lab.name)
        shutil.copytree(source / "submitted", course / "submitted")
        (course / "nbgrader_config.py").write_text(
            "c = get_config()\nc.ClearMarkScheme.enforce_metadata = False\n",
        )
        if equal:
            left_out = illustrations(lab)
            for path in course.rglob("*.ipynb"):
                notebook = nbformat.read(path, as_version=4)
                notebook.cells = [cell for cell in notebook.cells if cell.source not in left_out]
                nbformat.write(notebook, path)
        measure_command([BIN / "nbgrader", "generate_assignment", lab.name], cwd=course, env=env)
        seconds, memory = measure_command(
            [BIN / "nbgrader", "autograde", lab.name],
            cwd=course,
            env=env,
        )
    return seconds / len(list((source / "submitted").iterdir())), memory


def floor(lab, count):
    """Seconds a submission to run the cells that marking runs, in forks of a fork server, without a sandbox.

    As many processes as marking uses, each one fork at a time.
    """
    from IPython.core.interactiveshell import InteractiveShell

    from autograder.sandbox.inside.executor import preload_modules

    preload_modules((*PRELOAD, *lab.preload, *lab.setup_import_statements))
    InteractiveShell.instance()
    left_out = illustrations(lab)
    notebooks = [nbformat.reads(data.decode(), 4) for data in different(lab, count)]
    sources = [
        [c.source for c in n.cells if c.cell_type == "code" and not c.source.startswith("check(")]
        for n in notebooks
    ]
    start = time.perf_counter()
    for share in range(count_cores()):
        if os.fork() == 0:
            for cells in sources[share :: count_cores()]:
                _in_a_fork([source for source in cells if source not in left_out])
            os._exit(0)
    for _ in range(count_cores()):
        os.wait()
    return (time.perf_counter() - start) / count


def _in_a_fork(cells):
    from IPython.core.interactiveshell import InteractiveShell

    child = os.fork()
    if child == 0:
        shell = InteractiveShell.instance()
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            for source in cells:
                shell.run_cell(source, store_history=False)
        os._exit(0)
    os.waitpid(child, 0)


# The tables


def bench_grading(lab, counts):
    """Print the cost of classes of these sizes, stock nbgrader's, and the lower bound."""
    with tempfile.TemporaryDirectory() as name:
        few = make_class(Path(name), lab, SAMPLE)
        before = [stock(few, lab, equal) for equal in (False, True)]
        rows, alone = [], None
        guests = (
            []
            if WebAssembly.explain_unavailability() or lab.needs
            else [n for n in counts if n <= 320]
        )
        for count, sandbox in [
            *((n, "auto") for n in counts),
            *((n, "webassembly") for n in guests),
        ]:
            with tempfile.TemporaryDirectory() as other:
                folder = make_class(Path(other), lab, count)
                seconds, memory = grade(folder, lab, None, "--sandbox", sandbox)
                done = sorted(p.stat().st_mtime for p in folder.glob("results/*/*.json"))
                if count == max(counts) >= 300 and sandbox == "auto":
                    pages, _ = measure_command(
                        [BIN / "autograder", "feedback", "--classroom", folder],
                        cwd=ROOT,
                    )
                    report, _ = measure_command(
                        [BIN / "autograder", "report", "--classroom", folder],
                        cwd=ROOT,
                    )
                    alone = writer_alone(folder, lab)
            tenth = max(count // 10, 1)
            first, last = tenth / (done[tenth] - done[0]), tenth / (done[-1] - done[-tenth - 1])
            rows.append((f"{NAMES[sandbox]}, {count}", seconds / count, memory, first, last))
        least = floor(lab, 60)
        after = [stock(few, lab, equal) for equal in (False, True)]
    shipped, equal = (min(pair, key=lambda one: one[0]) for pair in zip(before, after, strict=True))

    table = Table(
        title=f"{lab.name}: {count_cores()} workers, all submissions different, start-up and gradebook included",
    )
    columns = "seconds each|times stock|times equal work|times the floor|peak MB|first tenth /s|last tenth /s"
    table.add_column("grader, submissions", no_wrap=True)
    for column in columns.split("|"):
        table.add_column(column, justify="right")
    stocks = [("stock nbgrader", *shipped), ("stock, equal work", *equal)]
    for label, each, memory, *rates in [*stocks, *rows, ("floor: the cells bare", least, 0.0)]:
        table.add_row(
            label if rates or "floor" in label else f"{label}, {SAMPLE}",
            f"{each:.3f}",
            *(f"{base / each:.1f}" for base in (shipped[0], equal[0])),
            f"{each / least:.1f}",
            f"{memory:.0f}" if memory else "",
            *(f"{rate:.2f}" for rate in rates),
        )
    OUT.print(table)
    both = " and ".join(
        f"{first[0]:.2f} and {last[0]:.2f}" for first, last in zip(before, after, strict=True)
    )
    OUT.print(f"stock nbgrader, seconds each, first and last run: {both} at equal work")
    if alone:
        OUT.print(f"The gradebook's writer on its own: {alone:.0f} submissions a second")
        of = f"of {max(counts):,}, start-up included"
        OUT.print(
            f"feedback: {max(counts) / pages:.0f} pages a second; report: {report:.1f} s ({of})",
        )


def writer_alone(folder, lab):
    """Measure the submissions per second of a run that only writes cached results into a gradebook."""
    count = len(list(folder.glob("results/*/*.json")))
    (folder / "gradebook.db").unlink()
    for receipt in folder.glob("results/*/*.recorded"):
        receipt.unlink()
    written, _ = grade(folder, lab, 1)
    nothing, _ = grade(folder, lab, 1)  # start-up, and reading what is kept
    return count / (written - nothing)


def first_check(exercise, answer):
    """Measure the milliseconds of the first call of `check` in a process that has imported it."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        answer.__name__ = exercise.name
        answer.__signature__ = inspect.signature(exercise.reference)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(CheckFailed):
            start = time.perf_counter()
            try:
                check(answer)
            finally:
                os.write(writing, f"{(time.perf_counter() - start) * 1e3}".encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        seconds = float(pipe.read())
    os.wait()
    return seconds


def bench_check(labs):
    """Print the time of the first call of `check`, for a right and for a wrong answer."""
    table = Table(title="check: the first call after the import, median of 3, in ms")
    for column in ("exercise", "right", "wrong"):
        table.add_column(column, justify="left" if column == "exercise" else "right")
    for lab in labs:
        for exercise in lab.exercises.values():
            answers = exercise.reference, exercise.misconceptions[-1].function
            times = [
                sorted(first_check(exercise, answer) for _ in range(3))[1] for answer in answers
            ]
            table.add_row(exercise.name, *(f"{each:.0f}" for each in times))
    OUT.print(table)


def bench_start():
    """Print the start-up times."""
    for name, command in {
        "import autograder": [sys.executable, "-c", "import autograder"],
        "autograder --help": [BIN / "autograder", "--help"],
    }.items():
        seconds = sorted(measure_command(command)[0] for _ in range(5))[2]
        OUT.print(f"{name}: {seconds:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few submissions only")
    parser.add_argument("--long", action="store_true", help="2,000 submissions as well, and Keras")
    arguments = parser.parse_args()
    OUT.print(f"{count_cores()} cores, Python {sys.version.split()[0]}")
    labs = read_labs(COURSE)
    bench_start()
    bench_check([lab for lab in labs.values() if not lab.needs])
    counts = [12, 50] if arguments.quick else [12, 320, 1000, *([2000] if arguments.long else [])]
    bench_grading(labs["qkv-attention"], counts)
    if not arguments.quick:
        bench_grading(labs["attention-masks"], [12, 320])
    if arguments.long and not labs["keras-attention"].unavailable_reason():
        bench_grading(labs["keras-attention"], [12, 60])


if __name__ == "__main__":
    main()
