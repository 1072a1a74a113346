"""Tests with a Dask cluster on this machine, and with PostgreSQL."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from command import autograder, work_here
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab
from sample_class import perfect, submissions, with_answer

from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom, GradingError
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.gradebook.graded_submission import GradingOptions
from autograder.gradebook.nbgrader_db import GradebookError
from autograder.gradebook.policy import read_policy
from autograder.grading import pool
from autograder.grading.grade_submission import grade_unreadable_submission, report_grader_fault
from autograder.grading.pool import GradingPool
from autograder.grading.run import grade_class
from autograder.sandbox.choice import explain_unavailability

LAB = "additive-attention"
SUBMISSION_COUNT = 8  # submissions
POLICY = read_policy(COURSE, {LAB: lab(LAB)})
BIN = Path(sys.executable).parent
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if os.name == "posix" else []

pytestmark = pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for number, (_, data) in enumerate(submissions(lab(LAB), SUBMISSION_COUNT, seed=3)):
        path = folder / "submitted" / f"s{number:02d}" / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return folder


def run(folder, *arguments, workers=True):
    ran = autograder(
        "grade", LAB, "--classroom", folder, "--json", "-", *arguments, workers=workers
    )
    return ran, [json.loads(line) for line in ran.stdout.splitlines()]


def marks(rows):
    return sorted(
        (r["student"], r["exercise"], r["score"], r["verdict"], r["misconception"], r["message"])
        for r in rows
    )


@pytest.fixture(scope="module")
def local(classroom):
    ran, rows = run(classroom, "--workers", "2")
    assert ran.returncode == 0, ran.stderr
    return rows


def fresh_copy(classroom, folder):
    shutil.copytree(classroom / "submitted", folder / "submitted")
    return folder


def grade_folder(folder, on_result, db=None, **options):
    """Grade a class in this process."""
    return grade_class(
        Classroom(folder, COURSE, db),
        [lab(LAB)],
        GradingOptions(),
        on_result=on_result,
        progress=Silent(),
        **options,
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@pytest.fixture
def scheduler(tmp_path):
    """Address and process of a scheduler without workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rsplit(":", 1)[1]
    process = subprocess.Popen(
        [
            BIN / "dask",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--no-dashboard",
            "--no-show",
        ],
        cwd=tmp_path,
        **QUIET,
    )
    try:
        from distributed import Client

        with Client(address, timeout="60s", set_as_default=False):
            yield address, process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def worker(scheduler, tmp_path):
    """Function that starts a worker process of one core, with more environment variables."""
    processes = []

    def start(**env):
        options = "--nthreads 1 --nworkers 1 --no-nanny --no-dashboard --host 127.0.0.1".split()
        command = [BIN / "dask", "worker", scheduler[0], *options]
        process = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, **env}, start_new_session=True, **QUIET
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def wait_for_workers(address, count):
    from distributed import Client

    with Client(address, timeout="60s", set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


@pytest.fixture
def cluster(scheduler, worker):
    """Address of a scheduler and its three worker processes."""
    workers = [worker() for _ in range(3)]
    wait_for_workers(scheduler[0], 3)
    return scheduler[0], workers


@pytest.fixture
def no_sandbox(tmp_path):
    """Environment variables with which bubblewrap fails."""
    shim = tmp_path / "bin" / "bwrap"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
    )
    shim.chmod(0o755)
    return {"PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.long
def test_a_worker_without_a_sandbox_and_one_of_another_version_get_no_work(
    classroom, local, scheduler, worker, no_sandbox, tmp_path
):
    folder = fresh_copy(classroom, tmp_path / "class")
    other_folder = tmp_path / "other"
    shutil.copytree(COURSE.root / "autograder", other_folder / "autograder")
    judge = other_folder / "autograder" / "judging" / "judge.py"
    judge.write_text(f"{judge.read_text()}\nNEWER = True\n")
    worker(**no_sandbox)
    worker(PYTHONPATH=str(other_folder))
    worker()
    wait_for_workers(scheduler[0], 3)
    ran, rows = run(folder, "--scheduler", scheduler[0], "--force", "--sandbox", "bubblewrap")
    assert ran.returncode == 0, ran.stderr
    assert marks(rows) == marks(local)
    assert ran.stderr.count("is left out: ") == 2
    assert f"the lab {LAB} is not the same there." in ran.stderr
    assert "No permissions to create a new namespace" in ran.stderr


@pytest.mark.long
def test_a_cluster_of_bad_workers_only_ends_the_run_and_changes_no_mark(
    classroom, local, scheduler, worker, no_sandbox, tmp_path
):
    folder = shutil.copytree(classroom, tmp_path / "class")
    old_results = {path.name: path.read_bytes() for path in folder.glob("results/*/*")}
    worker(**no_sandbox)
    wait_for_workers(scheduler[0], 1)
    ran, rows = run(folder, "--scheduler", scheduler[0], "--force", "--sandbox", "bubblewrap")
    assert ran.returncode == 1 and rows == []
    assert "None of the 1 worker of the Dask cluster" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert {path.name: path.read_bytes() for path in folder.glob("results/*/*")} == old_results


@pytest.mark.long
def test_a_scheduler_that_goes_away_ends_the_run_in_a_sentence(
    classroom,
    scheduler,
    worker,
    tmp_path,
):
    folder = fresh_copy(classroom, tmp_path / "class")
    worker()
    wait_for_workers(scheduler[0], 1)
    with pytest.raises(GradingError, match=r"has gone away\. What is marked is kept"):
        grade_folder(folder, lambda row: scheduler[1].kill(), workers=1, scheduler=scheduler[0])
    with Gradebook(f"sqlite:///{folder}/gradebook.db", COURSE.id) as book:
        recorded_count = len(book.assignment_submissions(LAB))
    assert 1 <= recorded_count == len(list(folder.glob("results/*/*.json"))) < SUBMISSION_COUNT
    assert (
        grade_folder(
            folder,
            lambda row: None,
            workers=2,
        ).newly_graded
        == SUBMISSION_COUNT - recorded_count
    )


@pytest.mark.long
def test_a_run_waits_for_workers_and_says_so(classroom, local, scheduler, worker, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    messages, rows = [], []

    class RecordingProgress(Silent):
        def show_message(self, sentence):
            messages.append(sentence)
            worker()

    grade_class(
        Classroom(folder, COURSE),
        [lab(LAB)],
        GradingOptions(),
        on_result=rows.append,
        progress=RecordingProgress(),
        workers=1,
        scheduler=scheduler[0],
    )
    assert len(messages) == 1 and "has no workers; waiting for some" in messages[0]
    assert marks([json.loads(r.to_json()) for r in rows]) == marks(local)


def faults(monkeypatch, selects):
    """Make the grader fail on the submissions that `selects` picks."""

    def grade_or_fail(course, name, data, *arguments, **options):
        if selects(data):
            return report_grader_fault(lab(LAB), "SandboxError: there is none").to_json()
        return as_it_is(course, name, data, *arguments, **options)

    as_it_is = pool.grade_in_worker_as_json
    monkeypatch.setattr(pool, "grade_in_worker_as_json", grade_or_fail)


def test_what_fails_for_all_stops_the_run_after_a_few(classroom, monkeypatch, tmp_path):
    folder, rows = fresh_copy(classroom, tmp_path / "class"), []
    faults(monkeypatch, lambda data: True)
    work_here(monkeypatch.setattr)
    with pytest.raises(
        GradingError, match=r"3 submissions failed in one way, .* SandboxError: there is none"
    ):
        grade_folder(folder, rows.append, workers=1)
    assert {row.verdict for row in rows} == {"fault"} and len({row.student for row in rows}) == 2


@pytest.mark.long
def test_what_fails_for_some_alone_does_not(classroom, monkeypatch, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    paths = [folder / "submitted" / f"s{i:02d}" / LAB / f"{LAB}.ipynb" for i in range(5)]
    bad = {path.read_bytes() for path in paths}
    faults(monkeypatch, bad.__contains__)
    work_here(monkeypatch.setattr)
    grade_run = grade_folder(folder, lambda row: None, workers=1)
    assert grade_run.newly_graded == SUBMISSION_COUNT and len(grade_run.faults) == 5


@pytest.mark.long
def test_a_fault_takes_no_mark_away_that_is_of_the_same_bytes(
    classroom,
    local,
    monkeypatch,
    tmp_path,
):
    folder = shutil.copytree(classroom, tmp_path / "class")
    path = folder / "submitted" / "s01" / LAB / f"{LAB}.ipynb"
    path.write_bytes(path.read_bytes() + b" ")
    faults(monkeypatch, lambda data: data in failing)
    failing = {
        path.read_bytes(),
        (folder / "submitted" / "s02" / LAB / f"{LAB}.ipynb").read_bytes(),
    }
    with Gradebook(f"sqlite:///{folder}/gradebook.db", COURSE.id) as book:
        old_score = book.find_submission(LAB, "s02").score
    grade_run = grade_folder(folder, lambda row: None, workers=2, force=True)
    # Two workers fail in any order.
    has_remark = ["stands" in fault for fault in sorted(grade_run.faults)]
    assert has_remark == [False, True]  # s01's file is another one now
    with Gradebook(f"sqlite:///{folder}/gradebook.db", COURSE.id) as book:
        assert book.find_submission(LAB, "s02").score == old_score
        changed_grades = book.find_submission_notebook(LAB, LAB, "s01").grades
        assert {(g.auto_score, g.needs_manual_grade) for g in changed_grades} == {(None, False)}
    assert not (folder / "results" / "s01" / f"{LAB}.json").exists()


@pytest.mark.long
def test_two_first_runs_at_once(classroom, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    command = [BIN / "autograder", "grade", LAB, "--classroom", folder, "--workers", "1"]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    messages = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], messages
    with Gradebook(f"sqlite:///{folder}/gradebook.db", COURSE.id) as book:
        assert len(book.assignment_submissions(LAB)) == SUBMISSION_COUNT


@pytest.mark.long
def test_many_first_gradebooks_at_once(tmp_path):
    """Four processes start at the same moment: a race that two whole runs meet rarely."""
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from our_course import COURSE, lab
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.gradebook.classroom import Classroom, GradingError
from autograder.gradebook.policy import read_policy
labs = {{{LAB!r}: lab({LAB!r})}}
policy = read_policy(COURSE, labs)
time.sleep(max(0, {time.time() + 12} - time.time()))
with GradebookWriter(Classroom({str(tmp_path)!r}, COURSE)) as book:
    book.save_labs(list(labs.values()), policy)
"""
    runs = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    messages = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0] * 4, messages
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db", COURSE.id) as book:
        assert len(book.find_notebook(LAB, LAB).grade_cells) == 3


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_gives_the_same_marks(classroom, local, cluster, tmp_path):
    address, workers = cluster
    folder = fresh_copy(classroom, tmp_path / "class")
    results = []

    def on_result(row):
        if not results:
            os.killpg(workers[0].pid, signal.SIGKILL)
        results.append(row)

    grade_run = grade_folder(folder, on_result, workers=1, scheduler=address)
    assert grade_run.faults == []
    assert grade_run.newly_graded == SUBMISSION_COUNT
    assert marks([json.loads(r.to_json()) for r in results]) == marks(local)


def is_worker(process):
    with suppress(psutil.Error):  # it has ended meanwhile
        return "autograder.grading.worker" in " ".join(process.cmdline())


@pytest.mark.long
def test_a_pool_that_loses_its_workers_gives_the_same_marks(classroom, local, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    results, killed_workers = [], []

    def on_result(row):
        if not killed_workers:
            killed_workers.extend(filter(is_worker, psutil.Process().children()))
            for process in killed_workers:
                process.kill()
        results.append(row)

    grade_run = grade_folder(folder, on_result, workers=2)
    assert len(killed_workers) == 2
    assert grade_run.faults == []
    assert grade_run.newly_graded == SUBMISSION_COUNT
    assert marks([json.loads(r.to_json()) for r in results]) == marks(local)


@pytest.mark.long
def test_no_scheduler_gets_a_sentence(classroom, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    ran, _ = run(folder, "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    assert ran.returncode == 1
    assert "No Dask scheduler answers at" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_with_nothing_to_mark_no_scheduler_is_needed():
    with GradingPool(
        str(COURSE.root),
        [LAB],
        GradingOptions(),
        1,
        f"tcp://127.0.0.1:{free_port()}",
    ) as pool:
        assert list(pool.grade_all([])) == []


@pytest.fixture(scope="module")
def server():
    """PostgreSQL server in a temporary folder, on a free local port."""
    if not POSTGRES:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    tools = POSTGRES[-1]
    user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if user:
        shutil.chown(folder, user)
    port = str(free_port())

    def tool(name, *arguments):
        command = [tools / name, "-D", folder / "data", *arguments]
        subprocess.run(
            command,
            check=True,
            user=user,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    tool("initdb", "--auth=trust", "--username=grader", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    start = ("start", "-w", "-o", options, "-l", folder / "log")
    tool("pg_ctl", *start)
    yield f"postgresql+psycopg://grader@127.0.0.1:{port}/postgres", tool, start
    tool("pg_ctl", "stop", "-m", "immediate")
    shutil.rmtree(folder)


@pytest.mark.long
def test_postgresql_holds_the_same_marks(classroom, local, server, tmp_path):
    url, _, _ = server
    folder = fresh_copy(classroom, tmp_path / "class")
    ran, rows = run(folder, "--db", url)
    assert ran.returncode == 0, ran.stderr
    assert marks(rows) == marks(local)
    assert not (folder / "gradebook.db").exists()
    with Gradebook(url, "attention-labs") as book:
        for student in {row["student"] for row in rows}:
            score = book.find_submission_notebook(LAB, LAB, student).score
            assert score == sum(row["score"] or 0 for row in rows if row["student"] == student)


@pytest.mark.long
def test_a_lost_connection_loses_no_row(classroom, server, tmp_path):
    """The server restarts while a row is written: the row is there afterwards."""
    url, tool, start = server
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE, url)
    first = []
    grade_folder(place.root, first.append, workers=2)
    with GradebookWriter(place) as gradebook:
        gradebook.save_labs([lab(LAB)], POLICY)
        submission = place.read_submission("s00", LAB)
        graded_submission = result_store.load_result(place, submission, lab(LAB), GradingOptions())
        gradebook.record_submission(submission, graded_submission)
        tool("pg_ctl", "restart", "-w", "-m", "immediate", *start[2:])
        gradebook.record_submission(submission, graded_submission)
        tool("pg_ctl", "stop", "-m", "immediate")
        with pytest.raises(GradebookError, match="No result is lost"):
            gradebook.record_submission(place.read_submission("s01", LAB), graded_submission)
    tool("pg_ctl", *start)
    second_run, rows = run(place.root, "--db", url)
    assert second_run.returncode == 0, second_run.stderr
    assert f"0 submissions marked, {SUBMISSION_COUNT} unchanged" in second_run.stderr
    assert len(rows) == len(first)
    with Gradebook(url, "attention-labs") as gradebook:
        assert len(gradebook.find_assignment(LAB).submissions) == SUBMISSION_COUNT


# What a class may be called, and say, that a database has its own opinion of.
NAMES = [
    "'; DROP TABLE student; --",
    'x"; DELETE FROM grade; --',
    "%s %(id)s {0} $1 :id ?",
    "E'\\\\000'",
    "NULL",
    "0",
    "-1",
    "1e9",
    "\\",
    "Zo\u00eb",
    "Zoe\u0308",
    "\u202eeil",
    "\U0001f600" * 20,
    "a" * 128,
    "o'brien",
    "ADA",
    "ada",
    "ada ",
    "new\nline",
    "t\tab",
    "\u0130stanbul",
    "<b>x</b>",
    "select",
    "\x7f",
]
HOSTILE_CODE = [
    "raise ValueError('a\\0b')",
    "raise ValueError('\\ud800 \\udfff')",
    "raise type('\\0', (Exception,), {})('x')",
    "raise ValueError('x' * 5_000_000)",
    'raise ValueError("\'; DROP TABLE grade; --")',
    "raise ValueError('%s %(x)s \\\\ :x $1')",
    "raise ValueError('\\x1b[2J\\x00\\x7f\\ufffe\\U0010ffff')",
    "def alignment(*a, **k): return float('nan')",
    "def alignment(*a, **k): raise ValueError('\\0' * 100_000)",
    "def alignment(*a, **k): return '\\ud800\\0' * 1000",
    "print('\\0\\ud800' * 10_000)",
]


@pytest.mark.long
def test_a_hostile_class_is_the_same_in_postgresql(server, tmp_path):
    """Names and texts that a database might misread or refuse: NUL, surrogates, SQL."""
    url, _, _ = server
    room = tmp_path / "class"
    first = next(iter(lab(LAB).exercises))
    for number, name in enumerate(NAMES + [f"s{i}" for i in range(len(HOSTILE_CODE))]):
        notebook = perfect(lab(LAB))
        source = "raise ValueError('\\0')"
        if number >= len(NAMES):
            source = HOSTILE_CODE[number - len(NAMES)]
        notebook = with_answer(notebook, first, source)
        for cell in notebook.cells:  # an answer in prose, that a person marks
            if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = f"\0 \ud800 '; -- {source} " + "x" * 100_000
        path = room / "submitted" / name / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(json.dumps(notebook).encode())
        (path.parent / "timestamp.txt").write_text(
            "2026-01-01 00:00:00 UTC'; DROP TABLE student; --\0"
        )
    shutil.copytree(room, tmp_path / "other")
    long = "Name,Login,Email\n" + "".join(
        f"{'N' * 300}\0' {i},s{i},{'e' * 300}{i}@x\n" for i in range(len(HOSTILE_CODE))
    )
    for folder in (room, tmp_path / "other"):
        (folder / "roster.csv").write_text(long)
        (folder / "secret").write_text("0" * 32)
    local_run, rows = run(tmp_path / "other")
    server_run, server_rows = run(room, "--db", url)
    messages = [
        [line for line in ran.stderr.splitlines() if not line.startswith("marking:")]
        for ran in (local_run, server_run)
    ]
    assert server_run.returncode == local_run.returncode and len(messages[0]) == len(messages[1]), (
        server_run.stderr
    )
    assert (
        marks(server_rows) == marks(rows)
        and len({row["student"] for row in rows}) >= len(HOSTILE_CODE) + len(NAMES) - 6
    )
    sqlite_address = f"sqlite:///{tmp_path / 'other' / 'gradebook.db'}"
    with (
        Gradebook(url, "attention-labs") as server_gradebook,
        Gradebook(sqlite_address, "attention-labs") as sqlite_gradebook,
    ):
        scores = [
            {s.student.id: s.score for s in gradebook.find_assignment(LAB).submissions}
            for gradebook in (server_gradebook, sqlite_gradebook)
        ]
    server_scores, local_scores = scores  # the server may hold the class of another test as well
    assert {student: server_scores.get(student) for student in local_scores} == local_scores
    assert len(local_scores) == len({row["student"] for row in rows})
    for command in ("feedback", "report"):
        run_result = autograder(command, "--classroom", room, "--db", url)
        assert run_result.returncode == 0, run_result.stderr


@pytest.mark.long
def test_a_gradebook_that_goes_away_gets_a_sentence_and_loses_no_row(classroom, tmp_path):
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE)
    with GradebookWriter(place) as writer:
        writer.save_labs([lab(LAB)], POLICY)
        graded_submission = grade_unreadable_submission(lab(LAB), "There is none.")
        writer.record_submission(place.read_submission("s00", LAB), graded_submission)
        (place.root / "gradebook.db").unlink()
        with pytest.raises(GradebookError, match="No result is lost"):
            writer.record_submission(place.read_submission("s01", LAB), graded_submission)
    second_run, _ = run(place.root, workers=False)
    assert second_run.returncode == 0, second_run.stderr
    with Gradebook(place.db, "attention-labs") as writer:
        assert len(writer.find_assignment(LAB).submissions) == SUBMISSION_COUNT


def test_what_another_run_has_written_meanwhile_is_met_and_not_written_twice(classroom, tmp_path):
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE)
    graded_submission = grade_unreadable_submission(lab(LAB), "There is none.")
    first, second_submission = place.read_submission("s00", LAB), place.read_submission("s01", LAB)
    with GradebookWriter(place) as writer, GradebookWriter(place) as second_writer:
        writer.save_labs([lab(LAB)], POLICY)
        writer.record_submission(first, graded_submission)  # now it knows what there is
        second_writer.record_submission(second_submission, graded_submission)
        second_writer.record_submission(first, graded_submission)
        writer.record_submission(second_submission, graded_submission)
        writer.record_submission(first, graded_submission)
    with Gradebook(place.db, "attention-labs") as writer:
        assert [s.student.id for s in writer.find_assignment(LAB).submissions] == ["s00", "s01"]
        grades = writer.find_submission_notebook(LAB, LAB, "s01").grades
        assert len(grades) == len(graded_submission.results)


@pytest.mark.long
def test_the_order_of_work_does_not_matter(classroom, local, tmp_path):
    """`grade_submission` depends on the bytes alone: equal files have equal rows."""
    folder = tmp_path / "class"
    students = sorted(p.name for p in (classroom / "submitted").iterdir())[:4]
    names = [f"x{i}" for i in range(4)]
    names.reverse()
    for student, name in zip(students, names, strict=True):
        shutil.copytree(classroom / "submitted" / student, folder / "submitted" / name)
    _, rows = run(folder, "--workers", "1", workers=False)
    student_by_name = {name: student for student, name in zip(students, names, strict=True)}
    original_rows = [{**row, "student": student_by_name[row["student"]]} for row in rows]
    assert marks(original_rows) == marks([row for row in local if row["student"] in students])


@pytest.mark.long
def test_whoever_reaches_the_scheduler_runs_programs_there(scheduler):
    """SECURITY.md says so, and asks for a network of trusted people."""
    from distributed import Client

    address, process = scheduler
    with Client(address, timeout="60s", set_as_default=False) as stranger:
        assert stranger.run_on_scheduler(os.getpid) == process.pid
