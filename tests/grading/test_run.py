"""Tests of grading through the command line: marks, gradebook, resuming, bad input."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from command import autograder as run_command
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from our_course import COURSE, ROOT, lab, release
from sample_class import perfect as perfect_lab
from sample_class import with_answer, wrong_answer
from shared_sandboxes import share_sandboxes

from autograder.core.errors import UsageError
from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import ResultReason
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.grading.grade_submission import grade_submission, release_for_grading
from autograder.grading.pool import grade_in_this_process
from autograder.grading.run import GradingSummary, _ClassGrader, _list_submissions_to_grade
from autograder.judging.judge import describe_broken_dependency
from autograder.platforms.grade_one import make_platform_result
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.choice import explain_unavailability
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE

LAB = "additive-attention"
LIBRARY = [ROOT / "attention_labs", ROOT / "data"]
COMMAND = [str(Path(sys.executable).with_name("autograder"))]

pytestmark = pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())


@pytest.fixture(autouse=True)
def shared_sandboxes(monkeypatch):
    """Start one sandbox for all tests."""
    share_sandboxes(monkeypatch.setattr)


def autograder(*arguments, **options):
    return run_command(*arguments, env={"AUTOGRADER_COURSE": str(ROOT)}, **options)


def exercises(name):
    return lab(name).exercises


def perfect(name):
    return perfect_lab(lab(name))


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def results_of(rows, student):
    return {row["exercise"]: row for row in rows if row["student"] == student}


def submit(classroom, student, content, lab=LAB, name=None):
    path = classroom / "submitted" / student / lab / (name or f"{lab}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else nbformat.writes(content).encode())


def wrong(exercise, misconception):
    definition = exercises(LAB)[exercise]
    return wrong_answer(
        definition,
        next(m for m in definition.misconceptions if m.name == misconception),
    )


@pytest.fixture(scope="module")
def graded_class(tmp_path_factory):
    classroom = tmp_path_factory.mktemp("class")
    right = perfect(LAB)
    submit(classroom, "ada", right)
    submit(classroom, "bob", release(LAB))
    submit(classroom, "cleo", with_answer(right, "alignment", wrong("alignment", "no-tanh")))
    submit(classroom, "dan", b"{")
    (classroom / "submitted" / "eve" / LAB).mkdir(parents=True)
    ran = autograder(
        "grade",
        LAB,
        "--classroom",
        classroom,
        "--json",
        classroom / "rows.jsonl",
        "--workers",
        1,
    )
    assert ran.returncode == 0, ran.stderr
    return classroom, rows_of((classroom / "rows.jsonl").read_text())


def test_rows_are_as_documented(graded_class):
    _, rows = graded_class
    names = "student lab exercise score max_score verdict misconception message seconds kind cause".split()
    names += ["partial_share", "failed_cases"]
    assert all(list(row) == names for row in rows)
    assert {row["student"] for row in rows} == {"ada", "bob", "cleo", "dan", "eve"}


def test_the_solution_scores_full_and_the_stub_nothing(graded_class):
    _, rows = graded_class
    ada, bob = results_of(rows, "ada"), results_of(rows, "bob")
    for exercise in exercises(LAB):
        assert (ada[exercise]["verdict"], ada[exercise]["score"]) == (
            "pass",
            ada[exercise]["max_score"],
        )
        assert (bob[exercise]["verdict"], bob[exercise]["score"]) == ("error", 0)
        assert bob[exercise]["kind"] == ResultReason.STUB
        assert NOT_WRITTEN_MESSAGE in bob[exercise]["message"]
    manual = [row for row in rows if row["verdict"] == "manual"]
    assert manual
    assert all(row["score"] is None for row in manual)


def test_a_mistake_is_named_and_what_only_it_broke_is_followed_through(graded_class):
    _, rows = graded_class
    cleo = results_of(rows, "cleo")
    assert (cleo["alignment"]["verdict"], cleo["alignment"]["misconception"]) == (
        "wrong",
        "no-tanh",
    )
    assert cleo["alignment"]["score"] == 0
    assert (cleo["attention"]["verdict"], cleo["attention"]["score"]) == (
        "pass",
        cleo["attention"]["max_score"],
    )
    assert "it failed only because it builds on `alignment`" in cleo["attention"]["message"]


@pytest.mark.parametrize("names_it", [True, False])
@pytest.mark.long
def test_all_second_runs_share_the_time_of_one(names_it):
    """An answer that does not name the wrong exercise gets no second run."""
    time_limits = []

    class Recorded(Bubblewrap):
        def run(self, cells, limits=None):
            time_limits.append(limits.total_seconds)
            return super().run(cells, limits)

    name = "qkv-attention"
    definition = exercises(name)["stable_softmax"]
    notebook = with_answer(
        perfect(name), "stable_softmax", wrong_answer(definition, definition.misconceptions[0])
    )
    definition = exercises(name)["calculate_weights"]
    wrong = wrong_answer(definition, definition.misconceptions[0])
    assert "stable_softmax" not in wrong
    notebook = with_answer(
        notebook, "calculate_weights", f"{wrong}\n# like stable_softmax" if names_it else wrong
    )
    with Recorded(library=LIBRARY, course=ROOT) as sandbox:
        grade_submission(nbformat.writes(notebook).encode(), lab(name), sandbox, salt="")
    assert len(time_limits) == 2 + names_it
    assert time_limits[1:] == sorted(set(time_limits[1:]), reverse=True)


@pytest.mark.long
def test_a_helper_in_another_cell_is_followed_through_too():
    """The answer calls a helper in a third cell, and the helper calls the wrong exercise."""
    name = "qkv-attention"
    doubled = "def stable_softmax(x, axis=0):\n    return 2 * softmax(x - np.max(x), axis=axis)"
    notebook = with_answer(perfect(name), "stable_softmax", doubled)
    softmax = next(cell.source for cell in notebook.cells if get_grade_id(cell) == "softmax")
    helper = "def in_rows(scores):\n    return stable_softmax(scores, axis=-1)"
    notebook = with_answer(notebook, "softmax", f"{softmax}\n\n{helper}")
    weights = "def calculate_weights(queries, keys):\n    return in_rows(queries @ keys.T / keys.shape[-1] ** 0.5)"
    notebook = with_answer(notebook, "calculate_weights", weights)
    with Bubblewrap(library=LIBRARY, course=ROOT) as sandbox:
        rows = grade_submission(
            nbformat.writes(notebook).encode(),
            lab(name),
            sandbox,
            salt="",
        ).results
    results = {row.exercise: (row.verdict, row.kind, row.cause) for row in rows}
    assert results["stable_softmax"][0] == "wrong"
    assert results["calculate_weights"] == ("pass", ResultReason.FOLLOWED, "stable_softmax")


@pytest.mark.long
def test_no_time_of_the_run_that_sees_the_reference_is_told():
    """An answer could spell out the reference by sleeping, if its time were shown."""
    name = "attention-masks"
    definition = exercises(name)["causal_mask"]
    notebook = with_answer(
        perfect(name), "causal_mask", wrong_answer(definition, definition.misconceptions[0])
    )
    spelling = (
        "import inspect, time\n\n"
        "def dot_product_self_attention(q, k, v, scale=True):\n"
        "    if 'BEGIN' in inspect.getsource(causal_mask):\n"
        "        time.sleep(0.1)\n"
        "    return dot_product_attention(q, k, v, causal_mask(q.shape[-2]), scale)"
    )
    notebook = with_answer(notebook, "dot_product_self_attention", spelling)
    assert "BEGIN" in lab(name).reference_cells["causal-mask"]
    with Bubblewrap(library=LIBRARY, course=ROOT) as sandbox:
        graded_submission = grade_submission(
            nbformat.writes(notebook).encode(),
            lab(name),
            sandbox,
            salt="",
        )
    (row,) = [
        row for row in graded_submission.results if row.exercise == "dot_product_self_attention"
    ]
    assert (row.verdict, row.kind) == ("pass", ResultReason.FOLLOWED)
    # The second run takes five seconds and more: it calls the function some fifty times.
    platform_result = make_platform_result(lab(name), graded_submission)
    assert row.seconds < 4 and platform_result.seconds < 4
    shown = [platform_result.seconds, *(result.seconds for result in platform_result.results)]
    assert all(seconds == round(seconds) for seconds in shown), "finer than seconds"


INNER = {
    "a function inside": ("    def split_heads(x, heads):\n        return x\n", False),
    "called": ("    split_heads(queries, heads)\n", True),
}


@pytest.mark.parametrize(("code", "calls"), INNER.values(), ids=INNER)
@pytest.mark.long
def test_an_inner_function_of_an_exercises_name_is_not_that_exercise(code, calls):
    name = "multi-head-attention"
    signature = "queries, keys, values, w_q, w_k, w_v, w_o, heads, mask=None"
    answer = f"def multi_head_attention({signature}):\n{code}    return 2 * queries"
    notebook = with_answer(perfect(name), "multi_head_attention", answer)
    notebook = with_answer(
        notebook, "split_heads", "def split_heads(x, heads):\n    raise NotImplementedError"
    )
    with Bubblewrap(library=LIBRARY, course=ROOT) as sandbox:
        rows = grade_submission(
            nbformat.writes(notebook).encode(),
            lab(name),
            sandbox,
            salt="",
        ).results
    (row,) = [row for row in rows if row.exercise == "multi_head_attention"]
    assert row.verdict in ("wrong", "error") and (row.cause == "split_heads") == calls, row.message
    assert ("is not written yet" in row.message) == calls


@pytest.mark.long
def test_nbgrader_is_imported_before_threads_could_import_it_from_two_places(tmp_path):
    submit(tmp_path, "ada", release(LAB))
    code = f"""
import sys
from autograder.cli import main
from autograder.grading.pool import GradingPool
def looked_at(self, submissions):
    sys.exit("nbgrader.api" in sys.modules and "It is there.")
GradingPool.grade_all = looked_at
sys.argv = ["autograder", "grade", {LAB!r}, "--classroom", {str(tmp_path)!r}]
main()
"""
    ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, cwd=ROOT)
    assert ran.returncode == 1 and "It is there." in ran.stderr


ASKS = "import sys\nprint('drawn' if 'mat' + 'plotlib.pyplot' in sys.modules else 'bare')"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == LAB else pytest.mark.long)
        for name in COURSE.labs
        if not lab(name).needs
    ],
)
def test_marking_a_lab_draws_nothing_and_imports_nothing_to_draw_with(name):
    assert texts_at_the_end(name, ASKS) == ["bare\n"]


@pytest.mark.long
def test_a_submission_that_draws_keeps_its_figure_and_waits_for_no_import():
    draws = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    assert texts_at_the_end(LAB, f"{ASKS}\n{draws}")[0] == "drawn\n"
    pictures = outputs_at_the_end(LAB, draws)
    assert any("image/png" in output.get("data", {}) for output in pictures)


def outputs_at_the_end(name, code):
    """Return the outputs of a student's own cell after all others."""
    notebook = perfect(name)
    notebook.cells.append(nbformat.v4.new_code_cell(code))
    data = nbformat.writes(notebook).encode()
    graded_submission = json.loads(
        grade_in_this_process(
            str(ROOT),
            name,
            json.dumps(release_for_grading(lab(name))),
            data,
            "",
            GradingOptions(),
        )
    )
    assert {row["verdict"] for row in graded_submission["rows"]} == {"pass", "manual"}
    return graded_submission["notebook"]["cells"][-1]["outputs"]


def texts_at_the_end(name, code):
    return [
        output["text"]
        for output in outputs_at_the_end(
            name,
            code,
        )
        if output["output_type"] == "stream"
    ]


def test_the_time_of_an_answer_is_that_of_its_cell_and_its_calls():
    notebook = perfect(LAB)
    cell = next(c for c in notebook.cells if get_grade_id(c) == "alignment")
    cell.source = f"import time\ntime.sleep(0.5)\n{cell.source}"
    with Bubblewrap(library=LIBRARY, course=ROOT) as sandbox:
        rows = grade_submission(
            nbformat.writes(notebook).encode(),
            lab(LAB),
            sandbox,
            salt="",
        ).results
    seconds = {row.exercise: row.seconds for row in rows}
    assert seconds["alignment"] > 0.5
    assert seconds["alignment"] > seconds["attention"] > 0


def test_without_follow_through_it_scores_nothing(graded_class, tmp_path):
    classroom, _ = graded_class
    shutil.copytree(classroom / "submitted" / "cleo", tmp_path / "submitted" / "cleo")
    ran = autograder(
        "grade",
        LAB,
        "--classroom",
        tmp_path,
        "--json",
        "-",
        "--no-follow-through",
    )
    assert results_of(rows_of(ran.stdout), "cleo")["attention"]["score"] == 0


def test_what_cannot_be_read_is_missing_with_the_reason(graded_class):
    _, rows = graded_class
    for student, reason in (("dan", "not whole, valid JSON"), ("eve", "There is no notebook")):
        for row in results_of(rows, student).values():
            assert (row["verdict"], row["score"]) == ("missing", 0)
            assert reason in row["message"]


def test_the_gradebook_holds_the_same_scores(graded_class):
    classroom, rows = graded_class
    with Gradebook(f"sqlite:///{classroom}/gradebook.db", "attention-labs") as book:
        for student in ("ada", "bob", "cleo", "dan", "eve"):
            submission = book.find_submission_notebook(LAB, LAB, student)
            of_rows = results_of(rows, student)
            for grade in submission.grades:
                row = (
                    of_rows[grade.name.removeprefix("test-").replace("-", "_")]
                    if grade.name.startswith("test-")
                    else of_rows[grade.name]
                )
                assert grade.max_score == row["max_score"]
                if row["verdict"] != "manual":
                    assert grade.auto_score == row["score"]
            assert submission.score == sum(row["score"] or 0 for row in of_rows.values())
        explain = {
            g.name: g
            for g in book.find_submission_notebook(
                LAB,
                LAB,
                "ada",
            ).grades
        }["explain-tanh"]
        assert explain.needs_manual_grade


def test_again_nothing_is_marked_and_with_force_everything(graded_class):
    classroom, rows = graded_class
    second = autograder("grade", LAB, "--classroom", classroom, "--json", "-")
    assert "0 submissions marked, 5 unchanged" in second.stderr
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    assert sorted(second.stdout.splitlines()) == sorted(lines)
    forced_run = autograder(
        "grade", LAB, "--classroom", classroom, "--json", "-", "--force", "--workers", "1"
    )
    assert "5 submissions marked" in forced_run.stderr

    def marks(results):
        return sorted(
            (r["student"], r["exercise"], r["score"], r["verdict"], r["misconception"])
            for r in results
        )

    assert marks(rows_of(forced_run.stdout)) == [tuple(m) for m in marks(rows)]


def marks_of(classroom, student):
    with Gradebook(f"sqlite:///{classroom}/gradebook.db", "attention-labs") as book:
        return book.find_submission_notebook(LAB, LAB, student).score


@pytest.mark.long
def test_a_changed_submission_replaces_its_old_marks(tmp_path):
    submit(tmp_path, "ada", perfect(LAB))
    autograder("grade", LAB, "--classroom", tmp_path)
    assert marks_of(tmp_path, "ada") == 7
    submit(tmp_path, "ada", release(LAB))
    ran = autograder("grade", LAB, "--classroom", tmp_path)
    assert "1 submission marked" in ran.stderr
    assert marks_of(tmp_path, "ada") == 0
    submit(tmp_path, "ada", with_answer(perfect(LAB), "alignment", wrong("alignment", "no-tanh")))
    autograder("grade", LAB, "--classroom", tmp_path)
    assert marks_of(tmp_path, "ada") == 3
    submit(tmp_path, "ada", nbformat.writes(perfect(LAB)).encode()[:5000])
    autograder("grade", LAB, "--classroom", tmp_path, "--force")
    assert marks_of(tmp_path, "ada") == 0
    (tmp_path / "gradebook.db").unlink()
    ran = autograder("grade", LAB, "--classroom", tmp_path)
    assert "1 unchanged" in ran.stderr
    assert marks_of(tmp_path, "ada") == 0, "a new gradebook has what was found, too"
    with closing(sqlite3.connect(tmp_path / "gradebook.db")) as db, db:
        db.execute("UPDATE grade SET manual_score = 'much'")
    ran = autograder("grade", LAB, "--classroom", tmp_path)
    assert ran.returncode == 1 and "has an entry that cannot be read" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.long
def test_plain_nbgrader_autograde_gives_the_same_scores(graded_class, tmp_path):
    classroom, _ = graded_class
    for name in ("solutions", "notebooks"):
        shutil.copytree(ROOT / name / LAB, tmp_path / name / LAB)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    course = (ROOT / "course.toml").read_text()
    (tmp_path / "course.toml").write_text(
        re.sub(r"labs = \[.*?\]", f'labs = ["{LAB}"]', course, flags=re.S),
    )
    for name in ("attention_labs", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    for student in ("ada", "bob", "cleo"):
        shutil.copytree(
            classroom / "submitted" / student,
            tmp_path / "classroom" / "submitted" / student,
        )
    # What nbgrader, or a library that it calls, refuses or cannot write.
    classroom_copy = tmp_path / "classroom"
    odd = {
        "a-kernel": {"metadata": {"kernelspec": {"name": "python3", "language": 5}}},
        "a-version": {"nbformat": 5},
        "tags": {"tags": "none"},
        "surrogates": {"source": "\ud800"},
        "an-id": {"id": 7},
    }
    for student, change in odd.items():
        notebook = json.loads(json.dumps(perfect(LAB)))
        own_cell = {"cell_type": "markdown", "id": "own", "metadata": {}, "source": "x"}
        if set(change) & {"metadata", "nbformat"}:
            notebook |= change
        elif "tags" in change:
            own_cell["metadata"] = change
        else:
            own_cell |= change
        notebook["cells"].append(own_cell)
        submit(classroom_copy, student, json.dumps(notebook).encode())
    for student, text in {"no-time": "now", "long-time": "9" * 60 + "h"}.items():
        submit(classroom_copy, student, perfect(LAB))
        (classroom_copy / "submitted" / student / LAB / "timestamp.txt").write_text(text)
    folder = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    for step in ("generate_assignment", "autograde"):
        ran = subprocess.run(
            [str(folder / "nbgrader"), step, LAB, "--force"],
            cwd=tmp_path,
            env=env,
            text=True,
            capture_output=True,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
    release_path = tmp_path / "notebooks" / LAB / f"{LAB}.ipynb"
    assert release_path.read_bytes() == release(LAB)
    for student in ("ada", "bob", "cleo"):
        assert marks_of(classroom_copy, student) == marks_of(classroom, student)
    assert {marks_of(classroom_copy, student) for student in (*odd, "no-time", "long-time")} == {7}


@pytest.mark.long
@pytest.mark.parametrize(
    ("end", "code", "message"),
    [(signal.SIGKILL, -9, ""), (signal.SIGINT, 130, "Stopped. What is marked is kept;")],
)
def test_a_run_ended_in_the_middle_is_resumed(tmp_path, end, code, message):
    students = [f"s{i:02d}" for i in range(8)]
    for number, student in enumerate(students):
        submit(tmp_path, student, nbformat.writes(perfect(LAB)).encode() + b"\n" * number)
    command = [*COMMAND, "grade", LAB, "--classroom", str(tmp_path), "--workers", "2"]

    # What runs in a shell's background has been told to ignore it, and so would this
    def as_in_a_terminal():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    run = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=as_in_a_terminal,
    )
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("results/*/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(run.pid, end)
    stderr = run.communicate()[1]
    assert run.returncode == code
    assert message in stderr and "Traceback" not in stderr
    result_count = len(list(tmp_path.glob("results/*/*.json")))
    assert result_count >= 2
    ran = autograder("grade", LAB, "--classroom", tmp_path, "--json", "-")
    assert ran.returncode == 0, ran.stderr
    graded_count, cached_count = map(
        int, re.search(r"(\d+) submissions? marked, (\d+) unchanged", ran.stderr).groups()
    )
    assert graded_count + cached_count == len(students) and cached_count == result_count
    rows = rows_of(ran.stdout)
    assert sorted({row["student"] for row in rows}) == students
    assert len(rows) == len(students) * 3
    assert all(marks_of(tmp_path, student) == 7 for student in students)
    assert not list(tmp_path.rglob(".*.ipynb.*"))


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["grade", "no-such-lab"], 2, "There is no lab 'no-such-lab'; the labs are"),
        (["grade", "--classroom", "nowhere"], 2, "There is no folder nowhere/submitted"),
        (["grade", "--workers", "0"], 2, "0 is not in the range"),
        (["check", "nowhere.ipynb"], 2, "There is no file nowhere.ipynb"),
        (["build", "no-such-lab"], 2, "There is no lab 'no-such-lab'"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_bad_usage_gets_a_sentence_and_exit_code_2(arguments, code, sentence, tmp_path):
    ran = autograder(*arguments, cwd=tmp_path)
    assert ran.returncode == code
    assert sentence in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr


def test_a_gradebook_that_cannot_be_opened_loses_nothing(graded_class, tmp_path):
    classroom, _ = graded_class
    shutil.copytree(classroom / "submitted" / "ada", tmp_path / "submitted" / "ada")
    ran = autograder(
        "grade", LAB, "--classroom", tmp_path, "--db", "postgresql+psycopg://u:secret@127.0.0.1:9/x"
    )
    assert ran.returncode == 1
    assert "cannot be opened" in ran.stderr
    assert "secret" not in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.long
def test_check_says_what_the_grader_says(graded_class):
    classroom, _ = graded_class
    path = classroom / "submitted" / "cleo" / LAB / f"{LAB}.ipynb"
    original_bytes = path.read_bytes()
    ran = autograder("check", path)
    verdicts = {line.split(" ")[1].rstrip(":"): line[0] for line in ran.stdout.splitlines()}
    assert verdicts["alignment"] == "✗" and ran.returncode == 1
    assert path.read_bytes() == original_bytes


@pytest.mark.long
def test_a_cause_is_traced_only_to_what_an_answer_calls(tmp_path):
    """`stable_softmax(` contains `softmax(`, but is no call of it."""
    other_lab = "qkv-attention"
    wrong_softmax = with_answer(
        perfect(other_lab),
        "softmax",
        "def softmax(x, axis=0):\n    return x",
    )
    alone = "def stable_softmax(x, axis=0):\n    return np.exp(x)"
    calls = "def stable_softmax(x, axis=0):\n    return softmax(x, axis) + 1"
    for student, source in (("ada", alone), ("bob", calls)):
        notebook = with_answer(wrong_softmax, "stable_softmax", source)
        submit(tmp_path, student, notebook, lab=other_lab)
    ran = autograder("grade", other_lab, "--classroom", tmp_path, "--json", "-")
    results = {
        row["student"]: row["message"]
        for row in rows_of(ran.stdout)
        if row["exercise"] == "stable_softmax"
    }
    cause = describe_broken_dependency("softmax")
    assert cause in results["bob"] and cause not in results["ada"]


def test_a_named_student_who_submitted_another_lab_only_is_no_mistake():
    submissions = [("ada", "one"), ("bob", "two")]
    classroom = SimpleNamespace(
        course=SimpleNamespace(labs=("one", "two")),
        submitted="submitted",
        list_submissions=lambda labs: [key for key in submissions if key[1] in labs],
    )
    assert _list_submissions_to_grade(classroom, {"one": None}, ["ada", "bob"]) == [("ada", "one")]
    with pytest.raises(UsageError, match="No submission of eve is in submitted"):
        _list_submissions_to_grade(classroom, {"one": None}, ["ada", "eve"])


def test_what_the_sandbox_has_noticed_is_among_the_notes_of_a_run():
    grader = object.__new__(_ClassGrader)
    grader.summary, grader.labs = GradingSummary(), {}
    grader._save_and_report = lambda *arguments, **options: None
    graded = GradedSubmission(
        (), new_notebook(), notes=("A note.",), log=("Forged messages came.",)
    )
    submission = SimpleNamespace(student="ada", lab="one")
    grader.record_new_results(iter([(submission, graded)]), None, None)
    assert grader.summary.notes == ["ada, one: A note.", "ada, one: Forged messages came."]
