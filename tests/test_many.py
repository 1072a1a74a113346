"""Many machines and a real database: a Dask cluster on loopback, and PostgreSQL."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab
from sample_class import hand_ins

from autograder.grading.marking import unmarkable
from autograder.grading.nbgrader.gradebook import Book, GradebookError
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import read_policy
from autograder.grading.run.grade import grade
from autograder.grading.run.pool import Options, Pool
from autograder.grading.sandbox import why_unavailable

LAB = "additive-attention"
POLICY = read_policy(COURSE, {LAB: lab(LAB)})
BIN = Path(sys.executable).parent
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if os.name == "posix" else []

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for number, (_, data) in enumerate(hand_ins(lab(LAB), 12, seed=3)):
        path = folder / "submitted" / f"s{number:02d}" / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    return folder


def run(folder, *arguments):
    ran = subprocess.run(
        [BIN / "autograder", "grade", LAB, "--classroom", folder, "--json", "-", *arguments],
        text=True,
        capture_output=True,
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


def graded(folder, put, db=None, **options):
    """The run of grading a class in this process."""
    return grade(Classroom(folder, COURSE, db), [lab(LAB)], Options(), put=put, progress=Silent(), **options)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and three workers of one core each, as processes of their own."""
    address = f"tcp://127.0.0.1:{free_port()}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    port = address.rsplit(":", 1)[1]
    scheduler = subprocess.Popen(
        [BIN / "dask", "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--no-show"],
        **quiet,
    )
    worker = [
        BIN / "dask",
        "worker",
        address,
        "--nthreads",
        "1",
        "--nworkers",
        "1",
        "--no-nanny",
        "--no-dashboard",
    ]
    workers = [
        subprocess.Popen([*worker, "--host", "127.0.0.1"], **quiet, start_new_session=True) for _ in range(3)
    ]
    try:
        from distributed import Client

        with Client(address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(3, timeout=60)
        yield address, workers
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.wait()


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_gives_the_same_marks(classroom, local, cluster, tmp_path):
    address, workers = cluster
    folder = fresh_copy(classroom, tmp_path / "class")
    results = []

    def put(row):
        if not results:
            os.killpg(workers[0].pid, signal.SIGKILL)
        results.append(row)

    run_ = graded(folder, put, workers=1, scheduler=address)
    assert run_.faults == []
    assert run_.judged == 12
    assert marks([json.loads(r.to_json()) for r in results]) == marks(local)


def test_a_pool_that_loses_its_workers_gives_the_same_marks(classroom, local, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    results, killed = [], []

    def put(row):
        if not killed:
            killed.extend(
                p
                for p in psutil.Process().children()
                if "autograder.grading.run.limited" in " ".join(p.cmdline())
            )
            for process in killed:
                process.kill()
        results.append(row)

    run_ = graded(folder, put, workers=2)
    assert len(killed) == 2
    assert run_.faults == []
    assert run_.judged == 12
    assert marks([json.loads(r.to_json()) for r in results]) == marks(local)


@pytest.mark.long
def test_no_scheduler_gets_a_sentence(classroom, tmp_path):
    folder = fresh_copy(classroom, tmp_path / "class")
    ran, _ = run(folder, "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    assert ran.returncode == 1
    assert "No Dask scheduler answers at" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_with_nothing_to_mark_no_scheduler_is_needed():
    with Pool(str(COURSE.root), Options(), 1, f"tcp://127.0.0.1:{free_port()}") as pool:
        assert list(pool.mark_all([])) == []


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL server of our own in a temporary folder, on a free port of loopback."""
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
            command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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
    """The server goes away while a row is written and comes back: the row is there."""
    url, tool, start = server
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE, url)
    first = []
    graded(place.root, first.append, workers=2)
    with Book(place) as book:
        book.prepare([lab(LAB)], POLICY)
        submission = place.submission("s00", LAB)
        marked = evidence.kept(place, submission, lab(LAB), Options())
        book.record(submission, marked)
        tool("pg_ctl", "restart", "-w", "-m", "immediate", *start[2:])
        book.record(submission, marked)
        tool("pg_ctl", "stop", "-m", "immediate")
        with pytest.raises(GradebookError, match="No result is lost"):
            book.record(place.submission("s01", LAB), marked)
    tool("pg_ctl", *start)
    again, rows = run(place.root, "--db", url)
    assert again.returncode == 0, again.stderr
    assert "0 hand-ins marked, 12 unchanged" in again.stderr
    assert len(rows) == len(first)
    with Gradebook(url, "attention-labs") as book:
        assert len(book.find_assignment(LAB).submissions) == 12


def test_a_gradebook_that_goes_away_gets_a_sentence_and_loses_no_row(classroom, tmp_path):
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE)
    with Book(place) as book:
        book.prepare([lab(LAB)], POLICY)
        marked = unmarkable(lab(LAB), "There is none.")
        book.record(place.submission("s00", LAB), marked)
        (place.root / "gradebook.db").unlink()
        with pytest.raises(GradebookError, match="No result is lost"):
            book.record(place.submission("s01", LAB), marked)
    again, _ = run(place.root)
    assert again.returncode == 0, again.stderr
    with Gradebook(place.db, "attention-labs") as book:
        assert len(book.find_assignment(LAB).submissions) == 12


def test_what_another_run_has_written_meanwhile_is_met_and_not_written_twice(classroom, tmp_path):
    place = Classroom(fresh_copy(classroom, tmp_path / "class"), COURSE)
    marked = unmarkable(lab(LAB), "There is none.")
    one, other = place.submission("s00", LAB), place.submission("s01", LAB)
    with Book(place) as book, Book(place) as second:
        book.prepare([lab(LAB)], POLICY)
        book.record(one, marked)  # now it knows what there is
        second.record(other, marked)
        second.record(one, marked)
        book.record(other, marked)
        book.record(one, marked)
    with Gradebook(place.db, "attention-labs") as book:
        assert [s.student.id for s in book.find_assignment(LAB).submissions] == ["s00", "s01"]
        assert len(book.find_submission_notebook(LAB, LAB, "s01").grades) == len(marked.rows)


def test_the_order_of_work_does_not_matter(classroom, local, tmp_path):
    """`mark` depends on the bytes alone: the same file gives the same row under any name."""
    folder = tmp_path / "class"
    students = sorted(p.name for p in (classroom / "submitted").iterdir())[:4]
    names = [f"x{i}" for i in range(4)]
    names.reverse()
    for student, name in zip(students, names, strict=True):
        shutil.copytree(classroom / "submitted" / student, folder / "submitted" / name)
    _, rows = run(folder, "--workers", "1")
    renamed = {name: student for student, name in zip(students, names, strict=True)}
    mine = [{**row, "student": renamed[row["student"]]} for row in rows]
    assert marks(mine) == marks([row for row in local if row["student"] in students])
