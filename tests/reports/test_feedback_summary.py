"""Lines and sentences at the top of a feedback page, without a gradebook; and what archives make of them."""

import errno
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from graded_class import LAB, results, row
from our_course import COURSE, Silent, lab

from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.deadlines import Deadlines
from autograder.gradebook.gradebook_records import ReplacedAnswerMark
from autograder.gradebook.policy import Policy
from autograder.gradebook.regrade_requests import RegradeRequest
from autograder.grading.worker import WorkerFailed
from autograder.intake import Origin, Person
from autograder.reports import feedback_pages, feedback_summary, feedback_zips, safe_html
from autograder.reports.marks import ClassMarks, Mark
from autograder.reports.student_page import FeedbackSummary, SummaryLine

QUESTION = "explain-flat"


def mark(scores, **fields):
    points = fields.pop("points", dict.fromkeys(scores, 2.0))
    return Mark(student="ada", lab=LAB, scores=scores, points=points, **fields)


def line_of(name, score, result=None, earlier=None, **fields):
    results_by_name = {name: result} if result else {}
    return feedback_summary._build_summary_line(
        lab(LAB), name, mark({name: score}, **fields), results_by_name, earlier
    )


def test_each_state_of_an_answer_has_its_sign_words_and_points():
    by_hand = {"manually_graded": frozenset({"softmax", QUESTION})}
    right = row("ada", "softmax")
    wrong = row("ada", "softmax", Verdict.WRONG, message="Too large.")
    cases = [
        (line_of("softmax", 2.0, right), "✓", "right", "2 of 2", ""),
        (line_of("softmax", 0.0, wrong), "✗", "not right yet", "0 of 2", "Too large."),
        (
            line_of("softmax", 1.0, wrong, **by_hand),
            "✎",
            "points given by a person",
            "1 of 2",
            "Too large.",
        ),
        (
            line_of(QUESTION, None),
            "…",
            "awaiting manual grading",
            "– of 2",
            "A person will read this answer.",
        ),
        (line_of(QUESTION, 2.0, **by_hand), "✎", "read by a person", "2 of 2", ""),
        (line_of(QUESTION, 0.0), "✗", "no answer", "0 of 2", "No answer was written here."),
        (line_of("softmax", 0.0, points={"softmax": 0.0}), "·", "does not count", "–", ""),
    ]
    for line, *expected in cases:
        assert [line.sign, line.state, line.points, line.wrong] == expected


@pytest.mark.parametrize(
    ("scores", "fields", "total"),
    [
        ({"a": 2.0, "b": 1.0}, {}, "3 of 4 points"),
        ({"a": 2.0, "b": None}, {}, "2 of 2 points so far"),
        # An answer was changed after a person had graded it: the grader's points may not stay.
        ({"a": 2.0, "b": 1.0}, {"awaiting_manual_count": 1}, "3 of 4 points so far"),
        ({"a": 2.0, "b": None}, {"points": {"a": 2.0, "b": 0.0}}, "2 of 2 points"),
    ],
)
def test_a_total_is_so_far_until_all_that_counts_is_graded(scores, fields, total):
    assert feedback_summary._describe_total(mark(scores, **fields)) == total


def test_extra_credit_is_said_and_makes_no_answer_right():
    line = line_of(
        "softmax", 2.0, row("ada", "softmax", Verdict.WRONG), extra_credit={"softmax": 1.0}
    )
    assert (line.sign, line.state) == ("✗", "not right yet, with 1 point of extra credit")
    line = line_of("softmax", 3.0, row("ada", "softmax"), extra_credit={"softmax": 1.0})
    assert (line.sign, line.state) == ("✓", "right, with 1 point of extra credit")


def test_an_answer_that_is_right_but_for_another_one_says_so():
    followed = row("ada", "softmax", message="Right with a right `x`.", kind=ResultReason.FOLLOWED)
    assert line_of("softmax", 2.0, followed).wrong == "Right with a right `x`."
    assert line_of("softmax", 2.0, row("ada", "softmax", message="Right.")).wrong == ""


def test_a_comment_stands_before_what_was_given_for_an_earlier_answer():
    earlier = ReplacedAnswerMark(1.0, "Nearly.")
    sentence = "For another answer a person gave 1 of 2 points: “Nearly.”."
    assert line_of("softmax", 2.0, earlier=earlier).comment == sentence
    line = line_of("softmax", 2.0, earlier=earlier, comments={"softmax": "Better."})
    assert line.comment == f"Better.\n{sentence}"


def describe(result, **others):
    return feedback_summary._describe_mistake_and_hint(
        lab(LAB), result, {result.exercise: result, **others}
    )


def test_a_known_mistake_has_the_author_s_words_and_names_its_cause():
    misconception = lab(LAB).exercises["softmax"].misconceptions[0]
    wrong = row("ada", "softmax", Verdict.WRONG, misconception.name, "The message.")
    assert describe(wrong) == (misconception.means, misconception.nudge)
    caused = replace(wrong, cause="stable_softmax")
    written = row("ada", "stable_softmax", Verdict.WRONG)
    stub = replace(written, kind=ResultReason.STUB)
    texts = [describe(caused, stable_softmax=cause)[0] for cause in (written, stub)]
    assert texts[0] != texts[1]
    for text in texts:
        assert "stable_softmax" in text and text.endswith(misconception.means)
    assert describe(caused)[0] == misconception.means, "nothing is known of the cause"


def test_an_unknown_mistake_has_the_message_of_the_check_cut_to_a_length():
    long_message = "x" * (feedback_summary.MAX_MESSAGE_CHARACTERS + 7)
    wrong = row("ada", "softmax", Verdict.WRONG, message=long_message)
    text, nudge = describe(wrong)
    assert text.endswith("7 characters more are not shown here]") and nudge == ""
    assert describe(row("ada", "softmax", message="Right.")) == ("", "")


def test_a_known_mistake_without_a_sentence_keeps_its_hint(monkeypatch):
    monkeypatch.setitem(feedback_summary.MISTAKES, "new-mistake", ("", "Look at the axis."))
    wrong = row("ada", "softmax", Verdict.WRONG, "new-mistake", "The message.")
    assert describe(wrong) == ("The message.", "Look at the axis.")


def date_sentences(mark_of_ada, policy=None, due=True):
    marks = ClassMarks(
        policy=policy or Policy(zone=ZoneInfo("Europe/Paris")),
        deadlines=Deadlines({LAB: datetime(2026, 1, 2, 17)} if due else {}),
    )
    return list(feedback_summary._describe_dates_and_lateness(lab(LAB), mark_of_ada, marks))


DUE = "Fri 2 January 2026, 18:00 CET"


def test_dates_are_in_the_zone_of_the_course_and_only_those_that_are_known():
    submitted = mark({}, timestamp=datetime(2026, 1, 2, 11))
    sentence = "Submitted on Fri 2 January 2026, 12:00 CET"
    assert date_sentences(submitted) == [f"{sentence}; it was due on {DUE}."]
    assert date_sentences(submitted, due=False) == [f"{sentence}."]
    assert date_sentences(mark({})) == [f"Due on {DUE}."]
    assert date_sentences(mark({}), due=False) == []
    extended = replace(submitted, extension=timedelta(hours=1))
    assert date_sentences(extended)[0].endswith("(with your extension).")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"penalty": 1.0}, "1 h 0 min late: 1 of 2 points are taken off."),
        ({}, "1 h 0 min late: nothing is taken off."),
        (
            {"late_days_used": 1},
            "1 h 0 min late: 1 of your 4 late days used, nothing is taken off.",
        ),
        (
            {"late_days_used": 2, "penalty": 0.5},
            "1 h 0 min late: 2 of your 4 late days used, 0.5 of 2 points are taken off.",
        ),
    ],
)
def test_lateness_says_what_it_costs(fields, sentence):
    late = mark({"softmax": 2.0}, seconds_late=3600.0, **fields)
    assert date_sentences(late, Policy(late_days=4))[-1] == sentence


def test_partners_are_named_without_the_student_and_the_total_says_so_far():
    marks = ClassMarks(
        {name: Person(student=name, name=f"{name.title()} X") for name in ("ada", "bo", "cy")},
        partners={("ada", LAB): ("ada", "bo", "cy"), ("bo", LAB): ("bo",)},
    )
    sentences = {
        name: list(feedback_summary._describe_partners(lab(LAB), name, marks))
        for name in marks.students
    }
    assert sentences == {"ada": ["Submitted together with Bo X and Cy X."], "bo": [], "cy": []}
    assert feedback_summary._describe_total(mark({"a": 1.5, "b": None})) == "1.5 of 2 points so far"
    assert feedback_summary._describe_total(mark({"a": 1.5, "b": 0.0})) == "1.5 of 4 points"
    dropped = mark({"a": 1.5, "b": None}, points={"a": 2.0, "b": 0.0})
    assert feedback_summary._describe_total(dropped) == "1.5 of 2 points"


def test_lines_stand_in_the_order_of_the_notebook():
    names = [*lab(LAB).exercises, QUESTION]
    jumbled = mark(dict.fromkeys(["unknown", *sorted(names, reverse=True)], 1.0))
    ordered = feedback_summary._names_in_notebook_order(lab(LAB), jumbled)
    assert ordered[-1] == "unknown" and sorted(ordered) == sorted([*names, "unknown"])
    assert [name for name in ordered if name in lab(LAB).exercises] == list(lab(LAB).exercises)


def test_a_submission_outside_a_class_has_no_points_for_an_untouched_question():
    submission = results("", ["softmax"])
    points = dict.fromkeys([*lab(LAB).exercises, QUESTION], 1.0)
    summary = feedback_summary.build_standalone_summary(lab(LAB), submission, points)
    assert summary.total == "3 of 4 points so far" and summary.awaiting == (QUESTION,)
    assert (summary.name, summary.student, summary.facts) == ("", "", ())
    untouched = replace(submission, untouched=(QUESTION, "softmax"), notes=("A link.",))
    summary = feedback_summary.build_standalone_summary(lab(LAB), untouched, points)
    assert (summary.total, summary.awaiting, summary.notes) == ("3 of 5 points", (), ("A link.",))


def test_the_reason_why_nothing_was_read_is_not_said_twice():
    rows = tuple(row("", name, Verdict.MISSING, message="Empty.") for name in lab(LAB).exercises)
    unreadable = replace(results(""), results=rows, notes=("Empty.",))
    points = dict.fromkeys(lab(LAB).exercises, 1.0)
    summary = feedback_summary.build_standalone_summary(lab(LAB), unreadable, points)
    assert (summary.unreadable, summary.notes) == ("Empty.", ())
    one_read = replace(unreadable, results=(*rows[1:], row("", "softmax", message="Empty.")))
    assert feedback_summary._find_unreadable_reason(one_read) == ""


# Which pages are written


def test_a_page_depends_on_each_template_that_it_is_made_of():
    folder, used, todo = safe_html.TEMPLATES, set(), ["feedback.html"]
    while todo:
        name = todo.pop()
        used.add(f"templates/{name}")
        text = (folder / name).read_text("utf-8")
        todo += re.findall(r"{%-? *(?:extends|include|import|from) +[\"']([^\"']+)", text)
    assert used == {name for name in feedback_pages._PAGE_SOURCES if name.startswith("templates/")}
    assert len(used) > 1


def test_a_page_depends_on_notebook_summary_and_on_how_pages_are_made(monkeypatch):
    summary = FeedbackSummary("c", "ada", "Ada", "t", LAB, "1 of 2", (), ())
    hashes = [feedback_pages._hash_page_inputs(b"1", summary)]
    hashes.append(feedback_pages._hash_page_inputs(b"2", summary))
    hashes.append(feedback_pages._hash_page_inputs(b"1", replace(summary, total="2 of 2")))
    monkeypatch.setattr(feedback_pages, "_read_page_sources", lambda: b"another template")
    hashes.append(feedback_pages._hash_page_inputs(b"1", summary))
    assert len(set(hashes)) == 4


def test_only_notebooks_of_these_labs_have_pages(classroom):
    for name in (f"ada/{LAB}/{LAB}", f"ada/{LAB}/notes", "ada/training/training", f"bo/x/{LAB}"):
        path = classroom.autograded / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    writer = feedback_pages._PageWriter(classroom, {LAB: lab(LAB)}, Silent())
    assert writer._list_graded_submissions() == [("ada", LAB)]


def test_pages_that_cannot_be_rendered_are_deleted_and_the_others_are_written(
    classroom, monkeypatch
):
    class Steps(Silent):
        count = 0

        def advance(self):
            self.count += 1

    calls_made = []

    def run_calls(function, calls, *, workers, seconds, retry_with_simpler_result):
        calls_made.append((function, calls, workers, seconds, retry_with_simpler_result))
        yield 1, "page of bo"
        yield 0, WorkerFailed("took too long\nand more")

    monkeypatch.setattr(feedback_pages, "run_calls_in_workers", run_calls)
    summaries = [replace(SUMMARY, student=student) for student in ("ada", "bo")]
    for student in ("ada", "bo"):
        for path in (
            classroom.page_path(student, LAB),
            classroom.result_path(student, LAB, "feedback"),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("old")
    steps = Steps()
    writer = feedback_pages._PageWriter(classroom, {LAB: lab(LAB)}, steps)
    pages = [
        feedback_pages._ChangedPage(summary, f"new {summary.student}") for summary in summaries
    ]
    writer.write_pages(pages, 3)
    assert writer.outcome == feedback_pages.FeedbackOutcome(
        written_count=1, failures=[f"ada, {LAB}: took too long"]
    )
    assert steps.count == 2
    assert not classroom.page_path("ada", LAB).exists()
    assert not classroom.result_path("ada", LAB, "feedback").exists()
    assert classroom.page_path("bo", LAB).read_text() == "page of bo"
    assert classroom.result_path("bo", LAB, "feedback").read_text() == "new bo"
    calls = []
    for summary in summaries:
        notebook = classroom.notebook_path(summary.student, LAB)
        calls.append((str(COURSE.root), summary, str(notebook)))
    assert calls_made == [
        (feedback_pages.render_page_file, calls, 3, feedback_pages.MAX_PAGE_SECONDS, True)
    ]


def test_a_full_disk_ends_the_writing_of_pages(classroom):
    writer = feedback_pages._PageWriter(classroom, {LAB: lab(LAB)}, Silent())
    with pytest.raises(OSError, match="full"), writer._record_failure_and_delete_page("ada", LAB):
        raise OSError(errno.ENOSPC, "full")
    assert writer.outcome.failures == []


@pytest.mark.parametrize(
    ("uses_exchange", "own", "expected"),
    [
        (False, {}, set()),
        (False, {"timestamp.txt": "t"}, {("timestamp.txt", "t")}),
        (
            True,
            {"timestamp.txt": "t", "submission_secret.txt": "s"},
            {("timestamp.txt", "t"), ("submission_secret.txt", "s")},
        ),
        (
            True,
            {"submission_secret.txt": "s"},
            {("timestamp.txt", "\n"), ("submission_secret.txt", "s")},
        ),
        (
            True,
            {"timestamp.txt": "t"},
            {("timestamp.txt", "t"), ("submission_secret.txt", "random")},
        ),
    ],
)
def test_files_of_the_exchange_are_copied_and_made_up_if_the_class_uses_it(
    classroom, uses_exchange, own, expected
):
    if uses_exchange:
        path = classroom.submitted / "bo" / LAB / "submission_secret.txt"
        path.parent.mkdir(parents=True)
        path.write_text("of bo")
    for name, text in own.items():
        path = classroom.notebook_path("ada", LAB, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    writer = feedback_pages._PageWriter(classroom, {LAB: lab(LAB)}, Silent())
    writer._write_timestamp_and_secret("ada", LAB)
    found = set()
    for path in classroom.list_files(classroom.feedback, "*/*/*.txt"):
        text = path.read_text()
        found.add((path.name, "random" if len(text) == 128 else text))
    assert found == expected


def test_a_stamp_that_cannot_be_read_is_none(tmp_path):
    for name, content in (("ours", "é".encode()), ("not utf-8", b"\xe9")):
        (tmp_path / name).write_bytes(content)
    names = ("ours", "not utf-8", "missing", "")
    texts = [feedback_pages._read_text(tmp_path / name) for name in names]
    assert texts == ["é", "", "", ""]


# Archives

LINE = SummaryLine("softmax", "✗", "not right yet", "0 of 2", "Too large.")
SUMMARY = FeedbackSummary(
    "c",
    "ada",
    "Ada L",
    "Title",
    LAB,
    "0 of 2 points",
    ("Due on Friday.",),
    (LINE,),
    (),
    ("A link.",),
)


def test_canvas_s_notebook_begins_with_all_that_the_page_s_summary_has():
    text = feedback_zips._render_summary_as_markdown(SUMMARY)
    assert text.split("\n\n") == [
        "# Title",
        "**Ada L** (ada)",
        "Due on Friday.",
        "## 0 of 2 points",
        "A link.",
        "✗ `softmax`: not right yet, 0 of 2. Too large.",
    ]
    unnamed = replace(SUMMARY, name="ada", unreadable="It is empty.")
    assert feedback_zips._render_summary_as_markdown(unnamed).split("\n\n") == [
        "# Title",
        "**ada**",
        "Due on Friday.",
        "**This file could not be marked.** It is empty.",
        "0 of 2 points",
    ]


def test_canvas_s_notebook_has_hints_comments_and_requests():
    requests = (RegradeRequest("Why?", "Axis 1."), RegradeRequest("And this?"))
    line = replace(LINE, nudge="Which axis?", comment="See me.", requests=requests)
    assert feedback_zips._render_line_as_markdown(line).split("\n\n") == [
        "✗ `softmax`: not right yet, 0 of 2. Too large. *To think about:* Which axis?",
        "> See me.",
        "> You asked: Why?\n>\n> Answer: Axis 1.",
        "> You asked: And this?\n>\n> Answer: not yet.",
    ]


def test_canvas_s_notebook_shows_answers_with_the_outputs_of_their_checks():
    def stream(text):
        return {"output_type": "stream", "name": "stdout", "text": text}

    error = {"output_type": "error", "ename": "E", "evalue": "raised", "traceback": []}
    cells = [
        {"grade_id": "softmax", "source": "def softmax", "cell_type": "code"},
        {"grade_id": "test-softmax", "outputs": [error, stream("found")], "cell_type": "code"},
        {"grade_id": "attention-qkv", "source": "qkv", "cell_type": "code"},
        {"grade_id": QUESTION, "source": "Since <b>x</b>.", "cell_type": "markdown"},
    ]
    for cell in cells:
        cell["metadata"] = {"nbgrader": {"grade_id": cell.pop("grade_id")}}
    lines = (LINE, replace(LINE, name="attention_qkv"), replace(LINE, name=QUESTION))
    lines += (replace(LINE, name="stable_softmax"),)  # its cell is gone
    summary = replace(SUMMARY, lines=lines)
    text = feedback_zips.make_canvas_feedback_notebook(summary, lab(LAB), {"cells": cells})
    found = json.loads(text)["cells"]
    sources = ["".join(cell["source"]) for cell in found[1:]]
    assert sources == [
        "## softmax",
        "def softmax",
        "## attention_qkv",
        "qkv",
        f"## {QUESTION}",
        "Since &lt;b>x&lt;/b>.",
    ]
    outputs = ["".join(output["text"]) for cell in found for output in cell.get("outputs", ())]
    assert outputs == ["found", "not right yet\n"]


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"platform": "Moodle", "name": "Ada_L", "participant": "7"}, "Ada L_7_"),
        ({"platform": "Moodle", "name": "a/b .", "participant": "7"}, "a b_7_"),
        ({"platform": "Moodle", "name": "", "participant": "7"}, "Participant_7_"),
        ({"platform": "Moodle", "name": "Ada", "participant": ""}, ""),
        ({"platform": "Moodle", "name": "Ada", "participant": "x7"}, ""),
        ({"platform": "Canvas", "name": "Ada", "participant": "7"}, ""),
    ],
)
def test_moodle_finds_a_student_by_the_number_in_the_folder_s_name(origin, name):
    path = feedback_zips._moodle_file_name(Origin(**origin), "ada", LAB)
    assert path == (f"{name}assignsubmission_file/ada-{LAB}.html" if name else "")


def test_canvas_finds_a_student_by_the_part_of_the_name_that_it_wrote():
    origin = Origin(platform="Canvas", original="a_1_2_", file="b/c.ipynb")
    assert feedback_zips._canvas_file_name(origin) == "a_1_2_b_c.ipynb"
    for change in ({"original": ""}, {"file": ""}, {"platform": "Moodle"}):
        assert feedback_zips._canvas_file_name(replace(origin, **change)) == ""


def test_pages_of_the_term_go_to_those_who_are_in_the_class_and_replace_older_ones(classroom):
    classroom.course = replace(COURSE, term={})
    people = [Person(student="ada"), Person(student="bo", withdrawn=True), Person(student="cy")]
    marks = ClassMarks({person.student: person for person in people})
    folder = classroom.root / "returned" / "term"
    folder.mkdir(parents=True)
    (folder / "di-term.html").write_text("of another class")
    assert list(feedback_zips._copy_term_pages_to_return(classroom, marks)) == []
    for student in ("ada", "bo"):
        path = classroom.term_path(student)
        path.parent.mkdir(parents=True)
        path.write_text("page")
    lines = list(feedback_zips._copy_term_pages_to_return(classroom, marks))
    assert lines == [f"{folder}: 1 page."]
    assert [path.name for path in folder.iterdir()] == ["ada-term.html"]
