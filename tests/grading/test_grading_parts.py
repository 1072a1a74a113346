"""Parts of grading without a sandbox: the order of a run, repeated faults, sentences, clean text."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from threading import Lock
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from our_course import lab

from autograder.core.errors import UsageError
from autograder.core.results import CellOutcome, Result, ResultReason, Verdict
from autograder.gradebook.classroom import GradingError, Submission
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.grading import (
    best_attempt,
    dask_cluster,
    grade_submission,
    pool,
    progress,
    run,
    sanitise,
    worker,
)
from autograder.grading.grade_submission import SubmissionGrader
from autograder.grading.run import GradingSummary, _ClassGrader
from autograder.grading.worker import CallFailed, LimitExceeded, _describe_exception
from autograder.judging.judge import Finding
from autograder.sandbox import CellRun

# A run over a class


def make_classroom(*submissions):
    return SimpleNamespace(
        course=SimpleNamespace(labs=["one", "two"]),
        submitted="submitted",
        list_submissions=lambda labs: [key for key in submissions if key[1] in labs],
    )


def test_submissions_are_graded_by_lab_in_the_given_order_and_then_by_student():
    """A worker holds one lab at a time."""
    keys = [("bo", "one"), ("ada", "two"), ("ada", "one"), ("cy", "two")]
    classroom = make_classroom(*keys)
    labs = dict.fromkeys(["two", "one"])
    assert run._list_submissions_to_grade(classroom, labs, ()) == [
        ("ada", "two"),
        ("cy", "two"),
        ("ada", "one"),
        ("bo", "one"),
    ]
    assert run._list_submissions_to_grade(classroom, labs, ["ada"]) == [
        ("ada", "two"),
        ("ada", "one"),
    ]
    assert run._list_submissions_to_grade(classroom, {"one": None}, ["cy"]) == []


def test_students_without_a_submission_are_named_in_order():
    with pytest.raises(UsageError, match=r"No submission of al and zoe is in submitted\."):
        run._list_submissions_to_grade(
            make_classroom(("ada", "one")), {"one": None}, ["zoe", "ada", "al"]
        )


def make_outcome(fault="", notes=(), log=()):
    return SimpleNamespace(
        faults=(fault,) if fault else (), notes=notes, log=log, with_student=lambda student: student
    )


def record(outcomes, problem=""):
    """Let a run record these outcomes; return its summary and the labs that were tried anew."""
    grader = object.__new__(_ClassGrader)
    grader.summary, grader.labs, tried = GradingSummary(), {"one": "the lab"}, []
    grader._save_and_report = lambda *_, **__: None
    pairs = []
    for number, outcome in enumerate(outcomes):
        pairs.append((SimpleNamespace(student=f"s{number}", lab="one"), outcome))

    def find_lab_problem(name):
        tried.append(name)
        return problem

    grader.record_new_results(iter(pairs), None, SimpleNamespace(find_lab_problem=find_lab_problem))
    return grader.summary, tried


def test_equal_faults_in_a_row_end_the_run_if_the_lab_itself_fails():
    faults = [make_outcome("no numpy")] * run.MAX_EQUAL_FAULTS
    with pytest.raises(GradingError, match=r"one cannot be marked here: 3 submissions .* Broken\."):
        record(faults, "Broken.")
    assert record(faults[1:], "Broken.")[1] == []


def test_faults_that_differ_or_are_interrupted_say_nothing_of_the_lab():
    one, other, right = make_outcome("a"), make_outcome("b"), make_outcome()
    for outcomes in ([one, other] * 5, [one, one, right] * 4, [right] * 9):
        assert record(outcomes, "Broken.")[1] == []


def test_where_the_lab_works_it_is_tried_again_after_twice_as_many_faults():
    fault = make_outcome("a")
    assert len(record([fault] * 8)[1]) == 1
    assert len(record([fault] * 9)[1]) == 2
    assert len(record([fault] * 20)[1]) == 2


def test_the_notes_of_a_new_result_name_student_and_lab():
    summary, _ = record([make_outcome(notes=("A note.",), log=("Forged.",)), make_outcome()])
    assert summary.newly_graded == 2
    assert summary.notes == ["s0, one: A note.", "s0, one: Forged."]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("one\ntwo"), "ValueError: one"),
        (KeyError("a\x1b[31mb"), "KeyError: 'a\\x1b[31mb'"),
        (LimitExceeded("takes more than 20 seconds", "Reading"), "Reading takes more than 20 seco"),
        (CallFailed("KeyError: 1"), "KeyError: 1"),
        (ValueError("x" * 900), "ValueError: xxx"),
    ],
)
def test_an_error_is_told_in_one_printable_line(error, text):
    line = run.describe_error(error)
    assert line.startswith(text) and "\n" not in line and len(line) <= run.MAX_ERROR_CHARACTERS


def test_an_error_whose_text_cannot_be_had_is_told_by_its_type():
    class Hostile(Exception):
        def __str__(self):
            raise RuntimeError

    assert _describe_exception(Hostile()) == "Hostile"
    assert _describe_exception(ValueError("x")) == "ValueError: x"


def test_a_time_stamp_without_a_time_is_noted_for_its_submission_only(tmp_path):
    for student, text in (("ada", "soon"), ("bo", "2026-11-20 12:00:00 UTC")):
        (tmp_path / student / "one").mkdir(parents=True)
        (tmp_path / student / "one" / "timestamp.txt").write_text(text)
    grader = object.__new__(_ClassGrader)
    grader.summary = GradingSummary()
    grader.classroom = SimpleNamespace(submitted=tmp_path)
    grader.rename_invalid_timestamp_files([("ada", "one"), ("bo", "one"), ("cy", "one")])
    (note,) = grader.summary.notes
    assert note.startswith("ada, one: timestamp.txt says no time, and is called")
    assert (tmp_path / "ada" / "one" / "timestamp.txt.unreadable").read_text() == "soon"
    assert (tmp_path / "bo" / "one" / "timestamp.txt").exists()


def test_the_last_line_of_progress_is_left_to_the_summary(monkeypatch, capsys):
    clock = iter(range(0, 4_000, 100))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with progress.show_progress("marking") as display:
        display.start(3)
        for _ in range(3):
            display.advance()
        display.show_message("A note\x07.")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["marking: 1 of 3", "marking: 2 of 3", "A note\N{REPLACEMENT CHARACTER}."]


# One submission


def make_exercise(name="mean", **fields):
    labels = fields.pop("labels", ["a", "b"])
    defaults = {
        "points": 4.0,
        "parts": ["small"],
        "builds_on": [],
        "test_cases": lambda: [SimpleNamespace(label=label) for label in labels],
    }
    return SimpleNamespace(name=name, **{**defaults, **fields})


@pytest.fixture
def grader(monkeypatch):
    hidden = [SimpleNamespace(label="a"), SimpleNamespace(label="c")]
    monkeypatch.setattr(grade_submission, "make_hidden_test_cases", lambda *_: hidden)
    grader = object.__new__(SubmissionGrader)
    grader._seed, grader.lab = 1, SimpleNamespace(name="sums", exercises={})
    return grader


@pytest.mark.parametrize(
    ("correct", "failed"),
    [
        ((True, False), ("b",)),
        ((False, False), ("a", "b")),
        ((True, True, False, False), ("a (hidden)", "c (hidden)")),
        ((True, True, True, False), ("c (hidden)",)),
    ],
)
def test_failed_cases_are_named_once_and_hidden_ones_as_such(grader, correct, failed):
    finding = Finding(Verdict.WRONG, correct)
    assert grader._list_failed_cases(make_exercise(), finding) == failed
    twice = make_exercise(labels=["a", "a"])
    assert grader._list_failed_cases(twice, Finding(Verdict.WRONG, (False, False))) == ("a",)


@pytest.mark.parametrize(
    ("names", "share", "sentence"),
    [
        (["small"], 0.25, "“small” is right: 25 % of the points."),
        (["small", "large"], 1 / 3, "“small” and “large” are right: 33.3 % of the points."),
        ([""], 0.5, "the other cases are right: 50 % of the points."),
        ([], 0.0, "No part of the exercise is right in all of its cases."),
    ],
)
def test_the_right_parts_of_an_answer_are_named_with_their_share(grader, names, share, sentence):
    exercise = make_exercise(
        list_passed_parts=lambda cases, correct: names,
        compute_partial_share=lambda names: share,
        test_cases=list,
    )
    finding = Finding(Verdict.WRONG, (False, False))
    assert grader._judge_parts(exercise, [], finding) == (share, sentence)


def make_row(verdict=Verdict.WRONG, share=0.0, **fields):
    return Result(
        lab="sums",
        exercise="mean",
        score=4 * share,
        max_score=4.0,
        verdict=verdict,
        message="It is wrong.",
        partial_share=share,
        **fields,
    )


def test_of_a_second_run_only_the_points_are_kept(grader):
    combine = grader._combine_with_reference_run
    first = make_row(share=0.25, misconception="own", seconds=2.0)
    reference = make_row(Verdict.PASS, seconds=9.0).rescore(4.0)
    result, (output,) = combine(make_exercise(), first, reference, ["softmax", "scores"])
    assert (result.score, result.kind, result.cause) == (4.0, ResultReason.FOLLOWED, "softmax")
    assert result.seconds == 2.0 and "it builds on `softmax` and `scores`." in result.message
    assert output.output_type == "stream"
    better = make_row(share=0.5, misconception="of the solution")
    result, outputs = combine(make_exercise(), first, better, ["softmax"])
    assert (result.score, result.partial_share, result.misconception) == (2.0, 0.5, "own")
    assert result.message == (
        "It is wrong. With the right `softmax` in place, it gets 50 % of the points."
    )
    assert outputs[-1].data["text/plain"] == "2.0"
    for other in (first, make_row(share=0.1)):
        result, outputs = combine(make_exercise(), first, other, ["softmax"])
        assert (result.score, result.partial_share) == (1.0, 0.25)
        assert result.message.endswith("`mean` does not pass either.")


def test_all_second_runs_together_take_no_longer_than_the_first_may(grader, monkeypatch):
    """Of ten seconds the first takes seven and the second three, so that no third is started."""
    names = ["a", "b", "c", "d"]
    grader.lab.exercises = {name: make_exercise(name) for name in names}
    prerequisite = grader.lab.exercises["a"]
    grader.lab.prerequisites = lambda exercise: [prerequisite][: exercise.name != "a"]
    grader.sandbox = SimpleNamespace(limits=SimpleNamespace(total_seconds=10.0))
    grader.notebook = SimpleNamespace(cells=[])
    grader._is_stub = lambda exercise: False
    grader._other_code_uses_exercises = lambda exercises, cells: True
    monkeypatch.setattr(grade_submission, "_keep_cells_for_one_test", lambda cells, test, _: test)
    charged = {"b": (3.0, 4.0), "c": (1.0, 2.0)}
    runs = []

    def rerun(test, prerequisites, results, seconds):
        runs.append((test, prerequisites, seconds))
        cells = {number: CellRun(charged_seconds=s) for number, s in enumerate(charged[test])}
        return grade_submission.CellResults(cells, {test: (make_row(Verdict.PASS), [])})

    grader._rerun_with_reference_answers = rerun
    tests = {name: (replace(make_row(), exercise=name), []) for name in names}
    results = grade_submission.CellResults({}, tests)
    grader.judge_with_reference_answers(results)
    assert runs == [("b", ["a"], 10.0), ("c", ["a"], 3.0)]
    kinds = [result.kind for result, _ in results.tests.values()]
    assert kinds == [ResultReason.JUDGED, *[ResultReason.FOLLOWED] * 2, ResultReason.JUDGED]


def test_the_outputs_of_a_failed_test_have_an_error_or_its_partial_points():
    message, error = grade_submission._make_failed_test_outputs("mean", "It is <wrong>: `x`.")
    assert message.data["text/html"] == "<p>It is &lt;wrong&gt;: <code>x</code>.</p>"
    assert (error.output_type, error.evalue) == ("error", "mean: It is <wrong>: `x`.")
    for score in (None, 0.0):
        outputs = grade_submission._make_failed_test_outputs("mean", "x", "<b>x</b>", score)
        assert outputs[0].data == {"text/plain": "x", "text/html": "<b>x</b>"}
        assert [output.output_type for output in outputs] == ["display_data", "error"]
    _, points = grade_submission._make_failed_test_outputs("mean", "x", score=0.5)
    assert (points.output_type, points.data["text/plain"]) == ("execute_result", "0.5")


def test_a_cell_of_the_lab_that_was_not_run_says_so():
    released, own, empty = new_code_cell("released"), new_code_cell("own"), new_code_cell(" ")
    runs = {"ran": CellRun(outputs=[{"text": "3"}]), "silent": CellRun()}
    select = grade_submission._select_outputs_or_remark
    sources = {"released", " "}
    assert select(released, runs, sources) == [grade_submission.NOT_RUN_OUTPUT]
    assert select(own, runs, sources) == select(empty, runs, sources) == []
    for cell_id, outputs in (("ran", [{"text": "3"}]), ("silent", [])):
        assert select(new_code_cell("released", id=cell_id), runs, sources) == outputs


def make_run(**error):
    outputs = [{"output_type": "stream"}, {"output_type": "error", **error}] if error else []
    return CellRun(outputs=outputs)


@pytest.mark.parametrize(
    ("answer_run", "expected"),
    [
        (make_run(), (Verdict.MISSING, "")),
        (make_run(ename="NameError", evalue="x"), (Verdict.MISSING, "NameError: x")),
        (make_run(ename="KeyError", evalue=""), (Verdict.MISSING, "KeyError")),
        (
            CellRun(status=CellOutcome.TIMEOUT),
            (Verdict.TIMEOUT, "it ran for too long and was stopped"),
        ),
    ],
)
def test_an_undefined_answer_is_explained_by_its_cell(answer_run, expected):
    assert grade_submission._explain_undefined_answer(answer_run) == expected


def test_an_undefined_variable_is_explained_by_the_error_of_its_cell():
    explain = grade_submission._explain_undefined_variable
    error = "NameError: name 'table' is not defined"
    outcome = SimpleNamespace(error=error)
    case = SimpleNamespace(mistake="name-not-defined", outcome=outcome)
    finding = Finding(Verdict.ERROR, shown_case=case)
    failed = make_run(ename="FileNotFoundError", evalue="no file 'a.csv'.")
    sentence = "The cell of this answer failed: FileNotFoundError: no file 'a.csv'."
    assert explain(finding, failed) == sentence
    assert explain(finding, make_run()) == ""
    assert explain(finding, make_run(ename="NameError", evalue=error[11:])) == ""
    assert explain(Finding(Verdict.WRONG), failed) == ""


def name_cell(cell, name):
    cell.metadata["nbgrader"] = {"grade_id": name}
    return cell


def test_for_one_test_the_cells_before_it_stay_without_other_tests():
    cells = [
        new_code_cell("setup"),
        name_cell(new_code_cell("1"), "test-a"),
        new_code_cell("own"),
        name_cell(new_code_cell("2"), "test-b"),
        new_code_cell("after"),
    ]
    kept = grade_submission._keep_cells_for_one_test(cells, "test-b", {"test-a", "test-b"})
    assert [cell.source for cell in kept] == ["setup", "own", "2"]


def test_only_imports_that_must_run_count_as_used_packages(monkeypatch):
    course_lab = SimpleNamespace(
        course=SimpleNamespace(imports=("keras", "torch")), allowed_packages=frozenset({"keras"})
    )
    monkeypatch.setattr(grade_submission, "_release_sources", lambda lab: {"import keras"})

    def find(*cells):
        notebook = nbformat.v4.new_notebook(cells=list(cells))
        return grade_submission._find_used_course_packages(course_lab, notebook)

    optional = "try:\n    import keras\nexcept ImportError:\n    pass"
    assert find(new_code_cell("import numpy, keras")) == {"keras"}
    assert find(new_code_cell("import keras"), new_markdown_cell("import keras\n")) == set()
    assert find(new_code_cell(optional)) == set()
    assert find(name_cell(new_code_cell(optional), "answer")) == {"keras"}
    assert find(new_code_cell("import torch")) == set(), "this lab does not allow it"


def test_an_answer_s_hash_depends_on_what_is_written_and_pasted(monkeypatch):
    course_lab = lab("qkv-attention")
    release = grade_submission.release_for_grading(course_lab)
    (question,) = course_lab.manual_questions

    def hash_answers(pasted="", **sources):
        notebook = nbformat.from_dict(release)
        notebook = nbformat.reads(nbformat.writes(notebook), 4)
        for cell in notebook.cells:
            name = grade_submission.get_grade_id(cell)
            if name in sources:
                cell.source = sources[name]
                if cell.source == "words" and pasted:
                    cell.attachments = {"a.png": {"image/png": pasted}}
        return grade_submission._hash_answers_and_list_untouched(course_lab, notebook)

    names = {"softmax": "softmax", question: question}
    _, untouched = hash_answers()
    assert {"softmax", question} <= set(untouched)
    plain, untouched = hash_answers(softmax="x = 1", **{question: "words"})
    assert not {"softmax", question} & set(untouched)
    spaced, _ = hash_answers(softmax="\n x = 1 \n", **{question: "words "})
    assert [plain[name] == spaced[name] for name in names] == [True, True]
    pictures = [
        hash_answers(pasted, **{question: "words"})[0][question] for pasted in ("", "eA==", "eQ==")
    ]
    assert len(set(pictures)) == 3
    _, untouched = hash_answers(softmax="", **{question: " \n"})
    assert question in untouched and "softmax" not in untouched


@pytest.mark.parametrize(
    ("note", "notes"), [("", ("own",)), ("of the file", ("of the file", "own"))]
)
def test_the_note_on_a_file_stands_before_those_on_its_content(monkeypatch, note, notes):
    graded = GradedSubmission((), nbformat.v4.new_notebook(), ("own",))
    sandboxes = []
    monkeypatch.setattr(pool, "read_lab_in", lambda course, name: name)
    monkeypatch.setattr(pool, "cache_release", lambda lab, release: None)
    monkeypatch.setattr(pool, "get_sandbox", lambda *arguments: sandboxes.append(arguments))
    monkeypatch.setattr(pool, "grade_submission", lambda *_, **options: graded)
    for data in (b"plot", b"import matplotlib", b"%pylab"):
        text = pool.grade_in_this_process("c", "one", "{}", data, note, GradingOptions())
        assert tuple(json.loads(text)["notes"]) == notes
    assert [draws for _, _, draws in sandboxes] == [False, True, True]


# Machines


def test_a_machine_with_another_version_or_lab_is_told_which(monkeypatch):
    here = {"Python": "3.11", "the lab one": "f1"}
    monkeypatch.setattr(pool, "list_versions_to_match", lambda *_: here)
    find = pool.find_machine_problem
    assert find("c", ["one"], None, {"Python": "3.13"}) == (
        "Python is not the same there (3.11; 3.13 is expected)"
    )
    assert find("c", ["one"], None, {"Python": "3.11", "the lab one": "f2"}) == (
        "the lab one is not the same there"
    )

    def fail(*_):
        raise ImportError("no numpy")

    monkeypatch.setattr(pool, "list_versions_to_match", fail)
    assert find("c", ["one"], None, here) == "ImportError: no numpy"


@pytest.mark.parametrize(("copies", "megabytes"), [(0, 2_000), (2, 6_000)])
def test_a_worker_may_use_what_a_submission_may_and_its_copies(monkeypatch, copies, megabytes):
    sandbox = SimpleNamespace(memory_copies=copies)
    monkeypatch.setattr(pool, "find_sandbox", lambda choice: sandbox)
    options = SimpleNamespace(sandbox="none")
    limits = pool.RunLimits(memory=2_000_000_000)
    assert pool._compute_worker_memory_limit(limits, options) == megabytes
    small = pool._compute_worker_memory_limit(pool.RunLimits(memory=1_000_000), options)
    assert small == pool.DEFAULT_MEGABYTES + copies


# Clean text


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"output_type": "stream", "name": "weird", "text": ["a", "b"]}, ("stdout", "ab")),
        ({"output_type": "stream", "name": "stderr", "text": "\x1b[31mx"}, ("stderr", "x")),
    ],
)
def test_a_stream_is_one_of_two(output, expected):
    clean = sanitise.clean_output(output)
    assert (clean.name, clean.text) == expected


def test_markdown_and_formulas_of_an_output_become_html_unless_it_has_some():
    for data in (
        {"text/markdown": "*a*", "text/html": "<b>b</b>"},
        {"text/html": "<b>b</b>", "text/markdown": "*a*"},
    ):
        assert sanitise.clean_output({"data": data}).data == {"text/html": "<b>b</b>"}
    assert (
        "<em>a</em>" in sanitise.clean_output({"data": {"text/markdown": "*a*"}}).data["text/html"]
    )
    formula = sanitise.clean_output({"data": {"text/latex": "$x$"}}).data["text/html"]
    assert formula.startswith("<math")
    unknown = sanitise.clean_output({"data": {"image/svg+xml": "<svg/>"}}).data
    assert unknown == {"text/plain": "(an output of a kind that is not shown here)"}


def test_html_beyond_a_limit_is_replaced_and_the_text_beside_it_stays():
    cleaner = sanitise.OutputCleaner(html_characters=20)
    output = {"output_type": "display_data", "data": {"text/html": "<b>b</b>", "text/plain": "b"}}
    shown = [cleaner.clean_within_limits(output).data["text/html"] for _ in range(3)]
    assert shown == ["<b>b</b>", "<b>b</b>", "<p>(an output too large to be shown)</p>"]
    plain = sanitise.OutputCleaner(text_only=True).clean_within_limits(output).data
    assert plain == {"text/plain": "b"}


@pytest.mark.parametrize("mime", ["text/html", "text/markdown", "text/latex", "image/png"])
def test_of_an_output_that_takes_long_to_clean_only_the_text_is_kept(mime):
    output = {"output_type": "display_data", "data": {mime: "b", "text/plain": "text"}}
    cleaner = sanitise.OutputCleaner(text_only=True)
    assert cleaner.clean_within_limits(output).data == {"text/plain": "text"}


def test_a_long_source_says_how_much_of_it_is_left_out():
    lines = "".join(f"{number}\n" for number in range(10))
    assert sanitise.truncate_source(lines, 4 * sanitise.LINE_WEIGHT) == (
        "0\n1\n2\n3\n[… 6 lines more are not shown here]"
    )
    assert sanitise.truncate_source("x" * 100, 90).endswith(
        "[… 10 characters more are not shown here]"
    )
    assert sanitise.truncate_source(lines, 10 * sanitise.LINE_WEIGHT) == lines


def make_cluster_client(slots=()):
    """Return a client without a cluster, whose workers have passed their tests."""
    client = object.__new__(dask_cluster.ClusterClient)
    client._lock, client._busy = Lock(), Counter()
    client._slots, client._excluded = dict(slots), {}
    return client


def test_waiting_for_workers_is_said_once_in_each_interval(monkeypatch):
    messages, clock = [], [0.0]
    monkeypatch.setattr(dask_cluster, "monotonic", lambda: clock[0])
    client = make_cluster_client()
    client._present, client._address, client._last_notice = {}, "tcp://here:1", 0.0
    client._show_message = messages.append
    for clock[0] in range(1, 3 * int(dask_cluster._NOTICE_INTERVAL_SECONDS)):
        client._handle_no_usable_workers()
    assert len(messages) == 2 and len(set(messages)) == 1
    assert messages[0].startswith("The Dask scheduler at tcp://here:1 has no workers")


@pytest.mark.parametrize("error", ["lost", "failed", "reported"])
def test_a_submission_is_tried_on_three_workers_of_a_cluster(error):
    tried = []

    def fail(worker):
        tried.append(worker)
        if error == "reported":
            graded = grade_submission.report_grader_fault(lab("qkv-attention"), "planted")
            return graded.to_json()
        raise dask_cluster.WorkerLost("went away") if error == "lost" else ValueError("planted")

    client = make_cluster_client()
    client._acquire_worker = lambda: f"worker {len(tried)}"
    client._grade_on_worker = fail
    client._retest_worker_and_check_for_others = lambda worker: len(tried) < 9
    if error == "reported":
        assert "planted" in client.grade().faults[0]
    else:
        with pytest.raises(dask_cluster.WorkerLost if error == "lost" else ValueError):
            client.grade()
    assert tried == ["worker 0", "worker 1", "worker 2"]
    assert len(tried) == dask_cluster._MAX_TRIES


def test_each_thread_of_a_cluster_has_a_call_that_runs_and_one_that_waits(monkeypatch):
    class Waits(Exception):
        pass

    def wait(seconds):
        raise Waits

    monkeypatch.setattr(dask_cluster, "sleep", wait)
    client = make_cluster_client({"a": 1, "b": 2})
    client._update_workers_and_worker_tests = lambda: None
    assert client.capacity() == 3 * dask_cluster._MAX_CALLS_PER_SLOT == 6
    acquired = [client._acquire_worker() for _ in range(6)]
    assert Counter(acquired) == {"a": 2, "b": 4}
    with pytest.raises(Waits):
        client._acquire_worker()


def test_the_reason_why_a_worker_is_left_out_is_cut_to_a_length():
    longest = "x" * dask_cluster._MAX_REASON_CHARACTERS
    client, shown = make_cluster_client(), []
    client._show_message = shown.append
    for reason in (longest, f"{longest}x"):
        client._worker_tests = {"a": None}
        client._exclude_worker("a", reason)
        assert client._excluded == {"a": longest}
    assert shown == [f"The worker a is left out: {longest}."] * 2


def test_a_cluster_is_waited_for_by_a_fixed_number_of_threads(monkeypatch):
    class Started(Exception):
        pass

    def start_threads(count):
        raise Started(count)

    monkeypatch.setattr(pool, "worker_threads", start_threads)
    for scheduler, count in (("tcp://x", pool._MAX_CLUSTER_THREADS), ("", 3)):
        grading_pool = object.__new__(pool.GradingPool)
        grading_pool._threads, grading_pool._scheduler, grading_pool._workers = None, scheduler, 3
        grading_pool._stack = ExitStack()
        with pytest.raises(Started, match=f"^{count}$"):
            grading_pool.start()


# Worker processes


def test_a_message_of_a_worker_has_up_to_so_many_bytes(monkeypatch):
    monkeypatch.setattr(worker, "_MAX_MESSAGE_BYTES", 3)
    for message, received in ((b"abc", b"abc"), (b"abcd", None)):
        pipe = BytesIO()
        worker._send(pipe, message)
        pipe.seek(0)
        assert worker._receive_message(pipe) == received


def test_more_calls_begin_while_others_run(monkeypatch):
    """The pool asks again after a while for the number of calls that may run at once."""
    capacities, timeouts = iter([1, 2, 2, 2, 2, 2]), []
    real_wait = worker.wait

    def wait(calls, timeout, return_when):
        timeouts.append(timeout)
        if len(timeouts) == 1:  # nothing has ended so far
            return SimpleNamespace(done=set())
        assert len(calls) == 2 or len(timeouts) > 2
        return real_wait(calls, None, return_when)

    monkeypatch.setattr(worker, "wait", wait)
    with ThreadPoolExecutor(1) as threads:
        results = worker.run_concurrently(
            lambda item, is_alone: item.upper(), "ab", threads, lambda: next(capacities)
        )
        assert sorted(results) == [("a", "A"), ("b", "B")]
    assert set(timeouts) == {worker.MAX_WAIT_SECONDS}


def test_a_call_whose_worker_died_is_repeated_alone_after_all_others():
    calls = []

    def mark(item, is_alone):
        calls.append((item, is_alone))
        if item == "c" or (item == "b" and not is_alone):
            raise worker.WorkerDied("ended unexpectedly")
        return item.upper()

    with ThreadPoolExecutor(1) as threads:
        results = dict(worker.run_concurrently(mark, "abcd", threads, lambda: 4))
    assert calls[:4] == [(item, False) for item in "abcd"]
    assert sorted(calls[4:]) == [("b", True), ("c", True)]
    assert isinstance(results.pop("c"), worker.WorkerDied)
    assert results == {"a": "A", "b": "B", "d": "D"}


@pytest.mark.parametrize("has_valid_result", [True, False])
def test_a_mark_stands_after_a_failure_only_if_it_is_of_the_same_file(
    monkeypatch, tmp_path, has_valid_result
):
    """A stored result of an older file is replaced, so that the submission is graded again."""
    (tmp_path / "result.json").write_text("{}")
    grader, stored = object.__new__(_ClassGrader), []
    grader.classroom = SimpleNamespace(result_path=lambda *_: tmp_path / "result.json")
    grader._load_cached_result = lambda _: "the stored result" if has_valid_result else None
    grader._store_and_record = lambda *arguments: stored.append(arguments)
    grader.summary, grader.points = GradingSummary(), {"one": {}}
    grader.progress = SimpleNamespace(advance=lambda: None)
    monkeypatch.setattr(run, "rescore_results", lambda *_: [])
    failed = SimpleNamespace(faults=["It did not start."])
    grader._save_and_report(None, Submission("ada", "one", b"{}", "", None), failed, is_new=True)
    remark = " The mark that is there stands." if has_valid_result else ""
    assert grader.summary.faults == [f"ada, one: It did not start.{remark}"]
    assert bool(stored) != has_valid_result


def test_the_roster_s_time_holds_for_every_attempt(monkeypatch):
    monkeypatch.setattr(best_attempt.result_store, "fingerprint_submission", lambda *_: "x")
    attempts = {}
    for name, timestamp in (("", "2026-11-03 10:00:00 UTC"), ("earlier", None)):
        attempts[name] = Submission("ada", "one", b"{}", "", timestamp)
    classroom = SimpleNamespace(read_attempts=lambda student, lab: attempts)

    def read_times(roster_times):
        keys = [("ada", "one")]
        (found,) = best_attempt._list_repeated_submissions(
            classroom, {"one": None}, keys, roster_times, None
        ).values()
        return [attempt.submitted_at for attempt in found.values()]

    assert read_times({}) == [datetime(2026, 11, 3, 10), None]
    assert read_times({("ada", "one"): datetime(2026, 11, 1)}) == [datetime(2026, 11, 1)] * 2


def test_reading_and_showing_a_notebook_have_a_limit_of_time(monkeypatch):
    stages = []

    def record_stage(name, seconds):
        stages.append((name, seconds))
        return nullcontext()

    monkeypatch.setattr(grade_submission, "time_limited_stage", record_stage)
    judge_nothing = SimpleNamespace(judge_submission=lambda _: grade_submission.CellResults())
    monkeypatch.setattr(grade_submission, "SubmissionGrader", lambda *_: judge_nothing)
    sandbox = SimpleNamespace(name="none", explain_missing_packages=lambda packages: "")
    course_lab = lab("qkv-attention")
    data = nbformat.writes(grade_submission.release_for_grading(course_lab)).encode()
    grade_submission.grade_submission(data, course_lab, sandbox, salt="")
    assert stages == [
        (grade_submission.READING_STAGE, grade_submission.MAX_STAGE_SECONDS),
        (grade_submission.SHOWING_STAGE, grade_submission.MAX_STAGE_SECONDS),
    ]


@pytest.mark.parametrize("extra", [0, 1])
def test_of_long_cells_the_later_ones_are_shown_in_part(monkeypatch, extra):
    """Each cell has at least a few characters, even if earlier cells are very long."""
    least = grade_submission.MIN_CELL_CHARACTERS
    first, second = sanitise.MAX_SHOWN_CHARACTERS - least - 1, least + 1
    notebook = nbformat.v4.new_notebook()
    for number, length in enumerate((first, second + extra, 1, least, least + extra)):
        notebook.cells.append(new_markdown_cell("x" * length, id=f"own-{number}"))
    monkeypatch.setattr(grade_submission, "simplify_slow_markdown", lambda text, _: text)
    grade_submission._fill_outputs_and_list_results(
        lab("qkv-attention"), notebook, grade_submission.CellResults(), text_only=False
    )
    shown = [cell.source.partition("\n[…")[0] for cell in notebook.cells]
    assert [len(source) for source in shown] == [first, second, 1, least, least]


class FakeClusterClient(dask_cluster.ClusterClient):
    """A client without a cluster; tests set its workers, and `tested` records which it tests."""

    def __init__(self, present=(), slots=(), running=(), excluded=()):
        self._present, self._slots, self._busy = dict(present), dict(slots), Counter()
        self._worker_tests, self._excluded = dict(running), dict(excluded)
        self._lock, self._address, self._next_update = Lock(), "tcp://here:1", 0.0
        self._client = SimpleNamespace(status="running", nthreads=lambda: dict(present))
        self._worker_test, self.tested, self.messages = ("test",), [], []
        self._show_message = self.messages.append

    def _submit_to_worker(self, worker, function, *arguments):
        self.tested.append((worker, function))
        return RUNNING_TEST


def make_worker_test(is_done=True, status="finished", outcome=""):
    """Return a future of a worker's test; an exception as its outcome is raised or reported."""

    def get_outcome(seconds):
        if isinstance(outcome, TimeoutError):
            raise outcome
        return outcome

    cancelled = []
    return SimpleNamespace(
        done=lambda: is_done,
        status=status,
        result=get_outcome,
        exception=get_outcome,
        cancel=lambda: cancelled.append(True),
        cancelled=cancelled,
    )


RUNNING_TEST = make_worker_test(is_done=False)
WORKER_TOO_SLOW = "it did not mark a lab as it was handed out in 300 seconds"


@pytest.mark.parametrize(
    ("test", "deadline", "is_present", "slots", "reason", "is_running"),
    [
        (make_worker_test(), 9.0, True, {"a": 3}, None, False),
        (make_worker_test(is_done=False), 9.0, True, {}, None, True),
        (make_worker_test(is_done=False), 4.0, True, {}, WORKER_TOO_SLOW, False),
        (make_worker_test(), 4.0, True, {}, WORKER_TOO_SLOW, False),
        (make_worker_test(), 9.0, False, {}, None, False),
        (make_worker_test(outcome="no numpy.\nmore"), 9.0, True, {}, "no numpy", False),
        (make_worker_test(status="error", outcome=KeyError("x")), 9.0, True, {}, "'x'", False),
        (make_worker_test(outcome=TimeoutError()), 9.0, True, {}, None, True),
    ],
)
def test_a_worker_of_a_cluster_is_admitted_by_its_test(
    monkeypatch, test, deadline, is_present, slots, reason, is_running
):
    monkeypatch.setattr(dask_cluster, "monotonic", lambda: 5.0)
    client = FakeClusterClient({"a": 3} if is_present else {}, running={"a": (test, deadline)})
    client._handle_ended_worker_tests()
    assert (client._slots, "a" in client._worker_tests) == (slots, is_running)
    assert client._excluded == ({} if reason is None else {"a": reason})
    assert client.messages == ([] if reason is None else [f"The worker a is left out: {reason}."])
    assert bool(test.cancelled) == (reason == WORKER_TOO_SLOW)


def test_only_new_workers_of_a_cluster_are_tested_and_those_that_left_get_no_work(monkeypatch):
    moment = [5.0]
    monkeypatch.setattr(dask_cluster, "monotonic", lambda: moment[0])
    running = {"b": (RUNNING_TEST, 9.0)}
    present = dict.fromkeys("abcd", 1)
    client = FakeClusterClient(present, {"a": 1, "gone": 2}, running, {"c": "no numpy"})
    for _ in range(2):
        client._update_workers_and_worker_tests()
        client._client.nthreads = lambda: {}  # it is asked again only after a while
    assert client.tested == [("d", "test")] and client._slots == {"a": 1}
    assert client._worker_tests["d"] == (RUNNING_TEST, 5 + dask_cluster.WORKER_TEST_SECONDS)
    moment[0] += dask_cluster.POLL_SECONDS
    client._client.status = "closed"
    with pytest.raises(dask_cluster.ClusterError, match=r"at tcp://here:1 has gone away\. What is"):
        client._update_workers_and_worker_tests()


def test_a_cluster_of_which_no_worker_can_grade_gives_each_reason_once():
    excluded = {"a": "no numpy", "b": "no numpy", "c": "no bwrap"}
    client = FakeClusterClient(dict.fromkeys("abc", 1), excluded=excluded)
    with pytest.raises(dask_cluster.ClusterError) as error:
        client._update_workers_and_worker_tests()
    assert str(error.value) == (
        "None of the 3 workers of the Dask cluster at tcp://here:1 can mark this class: no numpy "
        "and no bwrap. Mend one, and the same command goes on."
    )


@pytest.mark.parametrize(
    ("slots", "running", "has_others", "is_tested"),
    [
        ({"a": 1}, {}, False, True),
        ({"a": 1, "b": 1}, {}, True, True),
        ({"a": 1}, {"b": (None, 9.0)}, True, True),
        ({"b": 1}, {"a": (None, 9.0)}, True, False),  # another thread has begun the test
        ({}, {"a": (None, 9.0)}, False, False),
    ],
)
def test_a_worker_of_a_cluster_that_failed_is_tested_once_more(
    slots, running, has_others, is_tested
):
    client = FakeClusterClient(slots=slots, running=running)
    assert client._retest_worker_and_check_for_others("a") == has_others
    assert client.tested == [("a", "test")] * is_tested and "a" not in client._slots


def test_a_sandbox_imports_and_sees_what_its_lab_and_course_name(monkeypatch, tmp_path):
    monkeypatch.setenv("IN_USE", "yes")
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.setattr(pool.atexit, "register", lambda function: None)
    made = []

    class FakeSandbox:
        def __init__(self, *arguments):
            made.append(arguments)

        def __enter__(self):
            return self

        def close(self):
            pass

    monkeypatch.setattr(pool, "find_sandbox_class", lambda labs, choice: FakeSandbox)
    course_lab = SimpleNamespace(
        course=SimpleNamespace(root=tmp_path, library=("plots",), data=("data",)),
        preload=("keras:use",),
        setup_import_statements=("import plots",),
        limits={"cell_seconds": 7},
        environment=("IN_USE", "NOT_SET"),
        allowed_packages=frozenset({"plots", "keras"}),
    )
    for uses_drawing in (False, True):
        pool.get_sandbox.__wrapped__(course_lab, "none", uses_drawing)
    drawing = pool.DRAWING_PRELOAD
    assert [preload for preload, *_ in made] == [
        (*pool.PRELOAD, "keras:use", "import plots"),
        (*pool.PRELOAD, *drawing, "keras:use", "import plots"),
    ]
    _, limits, environment, library, root = made[0]
    assert limits == pool.RunLimits(cell_seconds=7)
    assert environment == {"IN_USE": "yes", "AUTOGRADER_PACKAGES": "keras,plots"}
    assert (library, root) == ((tmp_path / "plots", tmp_path / "data"), tmp_path)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("auto", "one cannot be marked here. No keras. It does not start here."),
        ("none", "one cannot be marked here. No keras."),
    ],
)
def test_the_sandbox_that_was_not_chosen_is_spoken_of_only_if_nobody_chose(
    monkeypatch, choice, message
):
    sandbox = SimpleNamespace(explain_missing_packages=lambda names: "No keras." if names else "")
    monkeypatch.setattr(pool, "find_sandbox", lambda choice: sandbox)
    monkeypatch.setattr(pool, "explain_fallback", lambda sandbox: "It does not start here.")
    fine = SimpleNamespace(name="zero", imported_course_packages=frozenset())
    assert pool.find_sandbox_class([fine], choice) is sandbox
    lacking = SimpleNamespace(name="one", imported_course_packages=frozenset({"keras"}))
    with pytest.raises(pool.SandboxError) as error:
        pool.find_sandbox_class([fine, lacking], choice)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("stage", "error", "is_alone", "second_try"),
    [
        (pool.SHOWING_STAGE, LimitExceeded, False, (b"data", "note", True)),
        (pool.SHOWING_STAGE, worker.WorkerDied, True, (b"data", "note", True)),
        (pool.SHOWING_STAGE, worker.WorkerDied, False, None),
        (pool.READING_STAGE, worker.WorkerDied, False, None),
        ("", LimitExceeded, True, None),
    ],
)
def test_a_submission_whose_outputs_take_too_long_is_graded_as_plain_text(
    monkeypatch, stage, error, is_alone, second_try
):
    calls = []

    def run_call(function, course, lab_name, release, data, note, options, text_only, **limits):
        calls.append((data, note, text_only))
        if len(calls) == 1:
            raise error("takes more than 20 seconds", stage)
        return "{}"

    course_lab = SimpleNamespace(limits={})
    monkeypatch.setattr(pool, "read_lab_in", lambda *_: course_lab)
    monkeypatch.setattr(pool, "_release_json", lambda *_: "{}")
    fake_worker = SimpleNamespace(run=run_call)
    monkeypatch.setattr(pool, "_get_worker_restarted_for_new_lab", lambda name: fake_worker)
    arguments = ("course", "one", b"data", "note", GradingOptions(sandbox="none"), is_alone)
    if second_try is None:
        with pytest.raises(error):
            pool.grade_in_worker_as_json(*arguments)
    else:
        assert pool.grade_in_worker_as_json(*arguments) == "{}"
    assert calls == [(b"data", "note", False), *[second_try] * (second_try is not None)]


def test_a_worker_is_started_anew_for_another_lab_only(monkeypatch):
    closed = []
    monkeypatch.setattr(pool, "_thread_state", SimpleNamespace())
    fake_worker = SimpleNamespace(close=lambda: closed.append(True))
    monkeypatch.setattr(pool, "get_worker", lambda: fake_worker)
    counts = []
    for name in ("one", "one", "two", "two", "one"):
        assert pool._get_worker_restarted_for_new_lab(name) is fake_worker
        counts.append(len(closed))
    assert counts == [0, 0, 1, 1, 2]


def test_a_pool_tests_the_lab_here_and_leaves_that_of_a_cluster_to_its_client(monkeypatch):
    asked = []
    monkeypatch.setattr(
        pool, "find_machine_problem", lambda *arguments: asked.append(arguments) or "x"
    )
    for scheduler, problem in ((None, "x"), ("tcp://here:1", "")):
        grading_pool = pool.GradingPool("course", ["one", "two"], "options", 1, scheduler)
        assert grading_pool.find_lab_problem("two") == problem
        assert list(grading_pool.grade_all([])) == [] and grading_pool._threads is None
    assert asked == [("course", ["two"], "options", {})]


def test_a_pool_passes_on_all_of_a_submission_and_turns_odd_errors_into_failures():
    grading_pool, calls = pool.GradingPool("course", ["one"], "options", 1), []
    errors = [None, worker.WorkerDied("ended"), KeyError("x"), dask_cluster.ClusterError("gone")]

    def grade(*arguments):
        calls.append(arguments)
        error = errors[min(len(calls) - 1, 3)]
        if error:
            raise error
        return "graded"

    grading_pool._grade = grade
    submissions = [Submission(name, "one", b"data", "note", None) for name in ("ada", "bo", "cy")]
    with ThreadPoolExecutor(1) as grading_pool._threads:
        results = grading_pool.grade_all(iter(submissions))
        outcomes = [next(results), next(results)]
        with pytest.raises(dask_cluster.ClusterError):
            next(results)
    assert [(submission.student, str(outcome)) for submission, outcome in outcomes] == [
        ("ada", "graded"),
        ("cy", "KeyError: 'x'"),
    ]
    assert isinstance(outcomes[1][1], CallFailed)
    assert calls[0] == ("course", "one", b"data", "note", "options", False)
    assert [is_alone for *_, is_alone in calls] == [False, False, False, True]


# Results that are stored


@pytest.fixture
def class_grader(monkeypatch, tmp_path):
    """A grader of a class whose stores only record what they are asked to do."""
    grader = object.__new__(_ClassGrader)
    grader.actions, grader.cached, grader.labs = [], None, {"one": lab("qkv-attention")}
    grader.summary, grader.points, grader.options = GradingSummary(), {"one": {}}, "options"
    grader.progress = SimpleNamespace(advance=lambda: grader.actions.append("advance"))
    grader.on_result = lambda result: grader.actions.append(result)
    grader.classroom = SimpleNamespace(
        result_path=lambda *_: tmp_path / "result.json",
        notebook_path=lambda *_: tmp_path / "notebook.ipynb",
        read_submission=lambda *key: Submission(*key, b"data", "", None),
    )
    grader.writer = SimpleNamespace(
        has_recorded=lambda *_: grader.has_recorded,
        record_submission=lambda *_: grader.actions.append("record"),
    )
    grader.has_recorded = False

    def load(classroom, submission, course_lab, options):
        if isinstance(grader.cached, Exception):
            raise grader.cached
        return grader.cached

    store = run.result_store
    monkeypatch.setattr(store, "load_result", load)
    monkeypatch.setattr(store, "fingerprint_submission", lambda *_: "fingerprint")
    monkeypatch.setattr(store, "store_result", lambda *a: grader.actions.append(f"store {a[3]}"))
    monkeypatch.setattr(
        store, "store_executed_notebook", lambda *_: grader.actions.append("store notebook")
    )
    monkeypatch.setattr(run, "rescore_results", lambda graded, points: graded.faults)
    (tmp_path / "result.json").write_text("{}")
    (tmp_path / "notebook.ipynb").write_text("{}")
    grader.result_file = tmp_path / "result.json"
    return grader


ADA = Submission("ada", "one", b"data", "", None)


@pytest.mark.parametrize(
    ("faults", "is_new", "has_recorded", "actions", "is_kept"),
    [
        ([], True, True, ["store fingerprint", "record"], True),
        ([], False, True, [], True),
        ([], False, False, ["record"], True),
        (["It failed."], True, True, ["store notebook", "record", "It failed."], False),
    ],
)
def test_a_result_is_stored_if_it_is_new_and_recorded_if_it_is_missing(
    class_grader, faults, is_new, has_recorded, actions, is_kept
):
    class_grader.has_recorded = has_recorded
    graded = SimpleNamespace(faults=faults)
    class_grader._save_and_report(class_grader.writer, ADA, graded, is_new=is_new)
    assert class_grader.actions == [*actions, "advance"]
    assert class_grader.result_file.exists() == is_kept
    assert class_grader.summary.faults == [f"ada, one: {fault}" for fault in faults]


@pytest.mark.parametrize(
    ("error", "ends_run"),
    [(GradingError("the class"), True), (OSError(28, "full"), True), (KeyError("x"), False)],
)
def test_a_result_that_cannot_be_recorded_is_a_fault_of_its_submission_only(
    class_grader, error, ends_run
):
    def fail(*_):
        raise error

    class_grader.writer.record_submission = fail
    graded = SimpleNamespace(faults=[])
    if ends_run:
        with pytest.raises(type(error)):
            class_grader._save_and_report(class_grader.writer, ADA, graded, is_new=True)
        assert class_grader.result_file.exists() and class_grader.summary.faults == []
    else:
        class_grader._save_and_report(class_grader.writer, ADA, graded, is_new=True)
        sentence = "ada, one: The grader failed, not the student: KeyError: 'x'"
        assert class_grader.summary.faults == [sentence]
        assert not class_grader.result_file.exists(), "the next run grades it again"
        assert class_grader.actions[-1] == "advance"


def test_a_stored_result_is_loaded_without_its_notebook_and_only_if_it_is_whole(
    class_grader, tmp_path
):
    keys = [("ada", "one")]
    load = class_grader.load_cached_results
    class_grader.cached = "stored"
    assert load(keys) == {keys[0]: (replace(ADA, content=None), "stored")}
    for class_grader.cached in (None, ValueError("damaged")):
        assert load(keys) == {}
    class_grader.cached = "stored"
    (tmp_path / "notebook.ipynb").unlink()
    assert load(keys) == {}
    (tmp_path / "notebook.ipynb").write_text("{}")
    class_grader.result_file.unlink()
    assert load(keys) == {}


@pytest.mark.parametrize(
    ("cell", "is_used"),
    [
        (new_code_cell("area = height * 2"), True),
        (new_code_cell("scale(3)"), True),
        (new_code_cell("heights = scale_all(2)"), False),
        (new_code_cell("print(height)  # as handed out"), False),
        (new_code_cell("height = 3", metadata={"nbgrader": {"grade_id": "size"}}), False),
        (new_markdown_cell("The height."), False),
    ],
)
def test_other_code_uses_the_functions_and_the_variables_of_answers(monkeypatch, cell, is_used):
    """An exercise may ask for variables, whose names differ from that of the exercise."""
    grader = object.__new__(SubmissionGrader)
    grader.lab = SimpleNamespace(
        reference_cells={"size": "height = 2", "scale": "def scale(x):\n    return x"}
    )
    released = {"print(height)  # as handed out"}
    monkeypatch.setattr(grade_submission, "_release_sources", lambda course_lab: released)
    assert grader._other_code_uses_exercises({"size", "scale"}, [cell]) == is_used
