"""Student's feedback page: content, safety, and independence of other students' pages."""

import re
import shutil
import sys
import time
from base64 import b64decode, b64encode
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest
from graded_class import (
    EVIL,
    LAB,
    by_hand,
    came_from,
    enrol,
    fill,
    results,
    well_formed,
    with_policy,
)
from hostile_class import PIXEL
from jinja2 import ChoiceLoader, FileSystemLoader
from our_course import COURSE, Silent, lab

from autograder.authoring.released_notebook import release_notebook
from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import ResultReason
from autograder.gradebook.nbgrader_db import GradebookError
from autograder.gradebook.regrade_requests import RegradeRequest
from autograder.grading.grade_submission import NOT_RUN_OUTPUT, grade_unreadable_submission
from autograder.reports import feedback_pages, safe_formgrader, safe_html, student_page
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE

pytestmark = pytest.mark.filterwarnings("ignore")


def make(classroom, **options):
    return write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent(), **options)


def page_of(classroom, student="ada"):
    return (classroom.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")


def one_page(classroom, prepared, submission, student="ada", **options):
    fill(classroom, {student: submission.with_student(student)}, gradebook=prepared, **options)
    counts = make(classroom)
    assert not counts.failures
    return page_of(classroom, student)


def cell(submission, name):
    return next(c for c in submission.notebook.cells if get_grade_id(c) == name)


def summary(page):
    """Return the first screen as text."""
    text = page[page.index("<header>") : page.index('<h2 id="answers">')]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text))


def test_one_screen_says_who_what_when_and_how_it_went(classroom, prepared, workers):
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\n")
    with_policy(classroom, {"timezone": "Europe/Paris", "penalty_per_day": 0.1})
    misconception = lab(LAB).exercises["softmax"].misconceptions[0]
    page = one_page(
        classroom,
        prepared,
        results("ada", ["softmax"], misconception=misconception.name),
        timestamp="2026-01-03 12:00:00 UTC",
    )
    text = summary(page)
    assert "Queries, keys and values Ada Lovelace (ada)" in text
    assert "Submitted on Sat 3 January 2026, 13:00 CET." in text
    assert "8 of 10 points so far" in text
    assert "One answer still awaits manual grading, and is not included in these points" in text
    assert "softmax not right yet 0 of 2" in text and "attention_qkv right 3 of 3" in text
    assert "explain-flat awaiting manual grading – of 3" in text and "0 of 3" not in text
    plain = page.replace("<code>", "`").replace("</code>", "`")
    assert misconception.means.replace("'", "&#39;") in plain and "To think about:" in text
    assert well_formed(page).tags


def test_lateness_and_an_extension_are_shown(classroom, prepared):
    from datetime import datetime

    with_policy(classroom, {"penalty_per_day": 0.1}, due=datetime(2026, 1, 2, 18))
    enrol(classroom, "Login,Extension\nada,12h\n")
    page = one_page(classroom, prepared, results("ada"), timestamp="2026-01-03 12:00:00 UTC")
    text = summary(page)
    assert "it was due on Sat 3 January 2026, 06:00 UTC (with your extension)." in text
    assert "6 h 0 min late: 1 of 10 points are taken off." in text
    assert "9 of 10 points so far" in text


def test_manual_points_and_comments_are_shown(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    by_hand(classroom, "ada", 2, f"Come and see me. {EVIL}")
    make(classroom)
    text = summary(page_of(classroom))
    assert "12 of 13 points" in text and "await" not in text
    assert "explain-flat read by a person 2 of 3 Come and see me. &lt;script&gt;" in text


def test_a_manual_mark_for_an_earlier_answer_is_shown_but_does_not_count(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    by_hand(classroom, "ada", 2, "Nearly.")
    fill(classroom, {"ada": results("ada", answer="A new one.")}, gradebook=prepared)
    make(classroom)
    text = summary(page_of(classroom))
    assert "explain-flat awaiting manual grading – of 3" in text
    assert "For another answer a person gave 2 of 3 points: “Nearly.”." in text


def test_what_is_dropped_does_not_count(classroom, prepared):
    with_policy(classroom, dropped=["explain-flat", "softmax"])
    text = summary(one_page(classroom, prepared, results("ada", ["softmax"])))
    assert "softmax does not count –" in text and "8 of 8 points" in text


def test_partners_are_named(classroom, prepared):
    fill(classroom, {s: results(s) for s in ("ada", "bo")}, gradebook=prepared)
    for student in ("ada", "bo"):
        came_from(classroom, student, "Moodle", name="Team", members=("ada", "bo"), sha256="x")
    make(classroom)
    assert "Submitted together with bo." in summary(page_of(classroom))


def test_a_file_that_cannot_be_read_gets_a_page_that_says_just_that(classroom, prepared):
    page = one_page(
        classroom, prepared, grade_unreadable_submission(lab(LAB), f"The file is empty. {EVIL}", 3)
    )
    assert "This file could not be marked." in page and "The file is empty." in page
    assert "0 of 13 points" in page
    assert "Your answers" not in page and "<pre>" not in page and "<details" not in page
    assert "<script" not in page


def test_answers_with_what_the_check_found_and_the_rest_folded(classroom, prepared):
    submission = results("ada", ["softmax"])
    cell(submission, "softmax").source = "def softmax(x):\n    return x  # mine"
    cell(submission, "test-softmax").outputs = [
        nbformat.from_dict(
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {
                    "text/plain": "t",
                    "text/html": "<p onclick='x()'>found <table><tr><td>1</td></tr></table></p>",
                },
            }
        ),
        nbformat.from_dict(
            {"output_type": "error", "ename": "CheckFailed", "evalue": "", "traceback": []}
        ),
    ]
    extra_cell = nbformat.v4.new_code_cell("print('my own cell')")
    extra_cell.outputs = [
        nbformat.from_dict({"output_type": "stream", "name": "stdout", "text": "my output"})
    ]
    drawing = nbformat.v4.new_code_cell("draw_the_strip()")
    drawing.outputs = [nbformat.from_dict(NOT_RUN_OUTPUT)]
    submission.notebook.cells += [extra_cell, drawing]
    page = one_page(classroom, prepared, submission)
    answers = page[page.index('<h2 id="answers">') : page.index("<details class")]
    assert '<span class="c1"># mine</span>' in answers
    assert "<td>1</td>" in answers and "onclick" not in page
    assert "my own cell" not in answers and "my own cell" in page and "<pre>my output</pre>" in page
    assert "Your other cells (1)" in page and "draw_the_strip" not in page
    assert "The lab, as it was handed out" in page and "<math" in page


def test_what_was_handed_out_is_folded_in_an_answer_that_is_right(classroom, prepared):
    submission = results("ada", ["stable_softmax"])
    stub = {
        get_grade_id(c): c.source
        for c in release_notebook(lab(LAB).read_solution(), lab(LAB)).cells
    }["softmax"]
    beginning = stub[: stub.index("    # YOUR CODE HERE")]
    cell(submission, "softmax").source = (
        beginning + "    e = np.exp(x)\n    return e / e.sum(axis, keepdims=True)"
    )
    cell(submission, "calculate_weights".replace("_", "-")).source = "calculate_weights = mine"
    page = one_page(classroom, prepared, submission)
    right, wrong, other_answer = (
        page[page.index(f'<h3 id="at-{name}">') :].split("</section>")[0]
        for name in ("softmax", "stable_softmax", "calculate_weights")
    )
    folded_part, open_part = right.split("</details>")
    lines = beginning.count("\n")
    assert f"<summary>The first {lines} lines, as they were handed out</summary>" in folded_part
    assert "Parameters" in folded_part and "Parameters" not in open_part and "keepdims" in open_part
    assert "<details" not in wrong and "Parameters" in wrong
    assert "<details" not in other_answer


def test_the_end_of_an_answer_may_be_given_too():
    released_lines = [
        "class Layer:",
        "    def one(self):",
        "        pass",
        "",
        "    a = 1",
        "    b = 2",
        "    c = 3",
        "    d = 4",
    ]
    line = student_page.SummaryLine("layer", "✓", "right", "2 of 2")
    answer_lines = [*released_lines[:2], "        return 7", *released_lines[3:]]
    parts = list(student_page.split_code(released_lines, line, "\n".join(answer_lines)))
    assert parts == [
        ("", "\n".join(answer_lines[:3])),
        ("The last 5 lines, as they were handed out", "\n".join(answer_lines[3:])),
    ]
    assert list(student_page.split_code(released_lines, line, "\n".join(released_lines))) == [
        ("", "\n".join(released_lines))
    ]
    line = student_page.SummaryLine("layer", "✗", "not right yet", "0 of 2")
    assert list(student_page.split_code(released_lines, line, "\n".join(answer_lines))) == [
        ("", "\n".join(answer_lines))
    ]


def test_no_marking_scheme_on_any_page(classroom, prepared):
    submission = results("ada")
    old_cell = nbformat.v4.new_markdown_cell(
        "Q?\n### BEGIN MARK SCHEME\nsecret one\n### END MARK SCHEME\nmore"
    )
    submission.notebook.cells.append(old_cell)  # as an older version of the lab had it
    scheme = next(c.source for c in submission.notebook.cells if "BEGIN MARK SCHEME" in c.source)
    page = one_page(classroom, prepared, submission)
    assert "MARK SCHEME" not in page and "secret one" not in page
    first = scheme.split("BEGIN MARK SCHEME")[1].strip().split("\n")[0][:40]
    assert first not in page


def test_nothing_acts_and_nothing_is_fetched(classroom, prepared):
    submission = results(
        "ada",
        ["softmax"],
        message=f"It raised {EVIL} <img src=x onerror=1>",
        notes=[EVIL],
        answer=f"$\\sqrt{{d}}$ {EVIL} [x](javascript:y) `{EVIL}` **{EVIL}** $\\text{{{EVIL}}}$ $\\href{{j:x}}{{y}}$",
    )
    cell(submission, "softmax").source = f"'''{EVIL}'''\nx = '{EVIL}'"
    cell(submission, "softmax").outputs = [
        nbformat.from_dict(
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {"image/png": 'x" onerror="alert(1)'},
            }
        ),
        nbformat.from_dict({"output_type": "stream", "name": "stdout", "text": EVIL}),
        nbformat.from_dict(
            {
                "output_type": "display_data",
                "metadata": {},
                "data": {"image/svg+xml": EVIL, "text/html": EVIL, "image/png": "aGk="},
            }
        ),
    ]
    student = "a<b>&\"'"
    page = one_page(classroom, prepared, submission, student=student)
    tags = well_formed(page).tags
    assert not {"script", "iframe", "object", "form", "link", "svg"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not any(key.startswith("on") for key in attributes)
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert attributes.get("href", "#").startswith(("#", "https://"))
    assert "default-src 'none'" in page and "&lt;script" in page
    assert "<msqrt>" in page


@pytest.mark.long
def test_whatever_is_in_it_a_page_takes_little_time(classroom, prepared, workers):
    submission = results("ada", answer="$" * 50_000 + "[" * 50_000 + "**`" * 30_000)
    cell(submission, "softmax").source = "'''" * 100_000 + "(" * 100_000
    cell(submission, "stable-softmax").source = "x = r'" + "\\" * 9_000
    cell(submission, "attention-qkv").source = "f'{" * 3_000
    cell(submission, "calculate-weights").outputs = [
        nbformat.from_dict({"output_type": "stream", "name": "stdout", "text": "\x1b[1m" * 200_000})
    ]
    for _ in range(500):
        submission.notebook.cells.append(nbformat.v4.new_markdown_cell("$x^{y^{z}}$ " * 200))
    fill(classroom, {"ada": submission}, gradebook=prepared)
    make(classroom)
    start = time.perf_counter()
    assert make(classroom, force=True).written_count == 1
    assert (
        time.perf_counter() - start < 30
    )  # of a busy machine; a page that takes longer is made plainer
    page = page_of(classroom)
    assert len(page) < 3_000_000 and "characters more are not shown here" in page
    assert "more cells are left out" in page


def test_a_page_over_its_limits_is_made_in_a_plain_form(classroom, prepared, monkeypatch):
    from autograder.grading.worker import LimitExceeded, Worker

    def run(self, function, *arguments, **limits):
        if not arguments[-1]:
            raise LimitExceeded("took more than 30 seconds")
        return function(*arguments)

    monkeypatch.setattr(Worker, "run", run)
    submission = results("ada", answer="**bold**")
    cell(submission, "softmax").source = f"def softmax():  # {EVIL}"
    page = one_page(classroom, prepared, submission)
    assert "<pre>**bold**</pre>" in page and "def softmax():  # &lt;script" in page
    assert "8 of 10 points" not in page and "10 of 10 points so far" in page


def test_unchanged_pages_stay(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    first = make(classroom)
    assert (first.written_count, first.unchanged_count, first.failures) == (2, 0, [])
    assert (make(classroom).written_count, make(classroom).unchanged_count) == (0, 2)
    by_hand(classroom, "ada", 2)
    third = make(classroom)
    assert (third.written_count, third.unchanged_count) == (1, 1)
    with_policy(classroom, dropped=["softmax"])  # what course.toml says counts at once
    assert make(classroom).written_count == 2
    assert make(classroom, force=True).written_count == 2


def test_one_failure_does_not_affect_other_pages(classroom, prepared, monkeypatch):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    make(classroom)
    classroom.notebook_path("ada", LAB).write_text("{")
    counts = make(classroom)
    assert (
        counts.unchanged_count == 1
        and len(counts.failures) == 1
        and counts.failures[0].startswith(f"ada, {LAB}: ")
    )
    assert not (classroom.feedback / "ada" / LAB / f"{LAB}.html").exists()  # its marks may not hold
    monkeypatch.setattr(feedback_pages, "MAX_FAILURE_CHARACTERS", 10)
    assert make(classroom).failures == [counts.failures[0][:10]]


def test_odd_notebooks_are_no_traceback(classroom, prepared):
    for odd in (
        '{"cells": [1, {}, {"source": 3, "outputs": {"a": 1}, "metadata": []}]}',
        '{"cells": {}}',
    ):
        fill(classroom, {"ada": results("ada")}, gradebook=prepared)
        classroom.notebook_path("ada", LAB).write_text(odd)
        assert (
            make(classroom, force=True).written_count + len(make(classroom, force=True).failures)
            >= 1
        )


def test_without_a_gradebook(classroom):
    fill(classroom, {"ada": results("ada")})
    with pytest.raises(GradebookError, match="autograder grade"):
        make(classroom)


def test_a_disk_that_is_full_is_a_sentence(classroom, prepared, monkeypatch):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(feedback_pages, "write_file", full)
    with pytest.raises(OSError, match="No space"):  # which the command line says as one
        make(classroom)


def test_nbgraders_own_command_writes_the_same_page(classroom, prepared, monkeypatch):
    from nbgrader.converters import GenerateFeedback
    from nbgrader.coursedir import CourseDirectory

    from autograder.authoring.nbgrader_settings import make_settings

    fill(classroom, {"ada": results("ada", ["softmax"])}, gradebook=prepared)
    make(classroom)
    expected_page = page_of(classroom)
    shutil.rmtree(classroom.feedback)
    monkeypatch.setattr(feedback_pages, "find_course", lambda: COURSE)
    monkeypatch.setattr(feedback_pages, "Classroom", lambda root, course, db: classroom)
    config = make_settings(COURSE)
    config.CourseDirectory.root = str(classroom.root)
    config.CourseDirectory.submitted_directory = "submitted"
    config.CourseDirectory.autograded_directory = "autograded"
    config.CourseDirectory.feedback_directory = "feedback"
    config.CourseDirectory.db_url = classroom.db
    config.CourseDirectory.assignment_id = LAB
    GenerateFeedback(coursedir=CourseDirectory(config=config), config=config).start()
    assert page_of(classroom) == expected_page


def test_a_student_of_a_class_marked_by_plain_nbgrader_has_a_page_too(classroom, prepared):
    fill(classroom, {"ada": results("ada", ["softmax"])}, gradebook=prepared)
    classroom.result_path("ada", LAB).unlink()
    assert make(classroom).written_count == 1
    assert "softmax not right yet 0 of 2" in summary(page_of(classroom))


def test_verdicts_in_words(classroom, prepared):
    blank = results("ada", ["softmax"], message="Whatever it says.", kind=ResultReason.STUB)
    text = summary(one_page(classroom, prepared, blank))
    assert f"softmax not right yet 0 of 2 {NOT_WRITTEN_MESSAGE}" in text


def test_a_folder_in_place_of_a_page_affects_that_page_only(classroom, prepared):
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    (classroom.feedback / "ada" / LAB / f"{LAB}.html").mkdir(parents=True)
    counts = make(classroom)
    assert [failure.split(":")[0] for failure in counts.failures] == [
        f"ada, {LAB}"
    ] and counts.written_count == 1
    assert "<h1>" in page_of(classroom, "bo")


def test_nbgraders_exchange_finds_its_files_beside_each_page(classroom, prepared):
    """One student without the secret file left the whole class without pages."""
    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    (classroom.submitted / "bo" / LAB / "submission_secret.txt").write_text("b" * 64)
    make(classroom)
    for student in ("ada", "bo"):
        folder = classroom.feedback / student / LAB
        assert (folder / "timestamp.txt").is_file() and (
            folder / "submission_secret.txt"
        ).stat().st_size > 60


def test_a_class_without_nbgraders_exchange_has_pages_only(classroom, prepared):
    fill(classroom, {"ada": results("ada")}, gradebook=prepared)
    make(classroom)
    assert [path.name for path in (classroom.feedback / "ada" / LAB).iterdir()] == [f"{LAB}.html"]


def test_a_page_holds_no_control_characters_and_no_text_turned_round(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("<p>{{ name }}</p>\t{{ code }}\n", "utf-8")
    monkeypatch.setattr(safe_html, "TEMPLATES", tmp_path)
    safe_html._make_template_environment.cache_clear()
    page = safe_html.render_page(
        "page.html", name="Ada\x1b[2J\x07\x00\u202egpj.exe", code="a\u2066b"
    )
    safe_html._make_template_environment.cache_clear()
    assert page == "<p>Ada\ufffd[2J\ufffd\ufffd\ufffdgpj.exe</p>\ta\ufffdb"


def released(*cells):
    """Return a released notebook with the exercise "ex"; a cell is its type, source and grade_id."""
    nodes = []
    for kind, source, grade_id, *more in cells:
        metadata = {"nbgrader": {"grade_id": grade_id, **dict(more)}} if grade_id else {}
        nodes.append(
            nbformat.from_dict({"cell_type": kind, "source": source, "metadata": metadata})
        )
    return student_page.ReleasedNotebook(
        frozenset({"ex"}), tuple(nodes), frozenset(node.source for node in nodes)
    )


def test_a_question_is_the_text_just_before_its_answer():
    notebook = released(
        ("markdown", "Why **so**?", ""),
        ("markdown", "YOUR ANSWER", "why"),
        ("code", "x = 1", ""),
        ("markdown", "YOUR ANSWER", "what"),
    )
    assert "<strong>so</strong>" in student_page.render_question_text(notebook, "why")
    for name in ("what", "unknown"):
        assert student_page.render_question_text(notebook, name) == ""
    assert student_page.render_question_text(released(("code", "", "why")), "why") == ""


def test_the_handed_out_lab_has_no_test_cells():
    notebook = released(
        ("markdown", "Text", ""),
        ("code", "def ex", "ex", ("solution", True)),
        ("code", "check(ex)", "test-ex", ("grade", True)),
    )
    page = student_page._render_released_notebook(notebook)
    assert "Text" in page and "ex" in page and "check" not in page


def test_only_what_the_student_added_is_among_the_other_cells():
    notebook = released(("markdown", "Text", ""))

    def cell_of(source, **fields):
        return {"cell_type": "code", "source": source, "metadata": {}, **fields}

    not_run = nbformat.from_dict(NOT_RUN_OUTPUT)
    cells = [
        cell_of("mine"),
        cell_of("  "),
        cell_of("Text"),
        cell_of("note", id="grader-notes"),
        cell_of("graded", metadata={"nbgrader": {"grade_id": "x"}}),
        cell_of("drawing", outputs=[not_run]),
    ]
    found = student_page._find_cells_besides_answers(notebook, cells)
    assert [found_cell["source"] for found_cell in found] == ["mine"]


def render(cells, lines=(), **fields):
    summary_of_page = student_page.FeedbackSummary(
        "Course", "ada", "Ada L", "Title", "lab", "1 of 2", (), tuple(lines), **fields
    )
    notebook = released(("markdown", "Text", ""))
    return student_page.render_student_page(summary_of_page, notebook, {"cells": cells})


def test_cells_and_outputs_beyond_a_number_are_counted_or_left_out():
    stream = {"output_type": "stream", "name": "stdout", "text": "out"}
    outputs = [stream] * (student_page.MAX_CELL_OUTPUTS + 1)
    cells = [
        {"cell_type": "code", "source": f"x{number}", "metadata": {}, "outputs": outputs}
        for number in range(student_page.MAX_EXTRA_CELLS + 1)
    ]
    page = render(cells)
    count = student_page.MAX_EXTRA_CELLS
    assert f"Your other cells ({count + 1})" in page and "1 more cell is left out." in page
    assert page.count("<pre>out</pre>") == count * student_page.MAX_CELL_OUTPUTS
    assert "left out" not in render(cells[:1])


def test_a_line_shows_all_that_it_has():
    requests = (RegradeRequest("Why?", "Axis 1."), RegradeRequest("And so?"))
    line = student_page.SummaryLine(
        "ex",
        "✎",
        "points given by a person",
        "1 of 2",
        "`x` is wrong.",
        "Why?",
        "See me.",
        requests,
    )
    answer_cell = {
        "cell_type": "code",
        "source": "# mine",
        "metadata": {"nbgrader": {"grade_id": "ex"}},
    }
    page = render([answer_cell], [line], awaiting=("a",), notes=("A link.",))
    text = summary(page)
    assert "✎ ex points given by a person 1 of 2 x is wrong.To think about: Why?See me." in text
    assert "You asked: Why? Answer: Axis 1. You asked: And so? Answer: not yet." in text
    assert "How your file was readA link." in text
    assert "One answer still awaits manual grading, and is not included in these points." in text
    assert '<li class="right">' in page and "# mine" in page, "coloured, since it is short"
    two = summary(render([], [line], awaiting=("a", "b")))
    assert "2 answers still await manual grading, and are not included in these points." in two


def test_given_lines_are_folded_from_four_on_and_not_counted_twice():
    line = student_page.SummaryLine("ex", "✓", "right", "2 of 2")
    for count, is_folded in ((3, False), (4, True)):
        given = [f"given {number}" for number in range(count)]
        parts = list(student_page.split_code([*given, "x"], line, "\n".join([*given, "mine"])))
        assert (len(parts) == 2) == is_folded, count
    same = ["same"] * 6
    parts = list(student_page.split_code([*same, "stub"], line, "\n".join([*same, "mine", "end"])))
    assert [heading for heading, _ in parts] == ["The first 6 lines, as they were handed out", ""]
    assert "\n".join(text for _, text in parts) == "\n".join([*same, "mine", "end"])
    # Each line is in one part only, although the lab gave equal ones before and after the answer.
    parts = list(student_page.split_code([*same, "stub", *same], line, "\n".join(["same"] * 9)))
    assert [len(text.split("\n")) for _, text in parts] == [6, 3]


# One pixel: the beginning of a file, and the part that says its size.
JPEG = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00"


def test_outputs_of_each_kind():
    def output(**data):
        return {"output_type": "display_data", "data": data}

    png, jpeg = (
        safe_html.render_output(output(**{mime: b64encode(data).decode(), "text/plain": "text"}))
        for mime, data in (("image/png", b64decode(PIXEL)), ("image/jpeg", JPEG))
    )
    assert "src=" in png and "src=" in jpeg and "text" not in png + jpeg
    error = {"output_type": "error", "ename": "ValueError", "evalue": "too <large>"}
    assert safe_html.render_output(error) == "<pre>ValueError: too &lt;large&gt;</pre>"
    assert safe_html.render_output(output(**{"text/plain": [" ", "\n"]})) == ""
    assert safe_html.render_output(output(**{"text/plain": ["a\n", "b"]})) == "<pre>a\nb</pre>"


def test_links_of_the_lab_lead_into_the_page_or_to_the_web():
    html = safe_html.render_lab_markdown(
        "[a](#x) [b](https://x.org) [c](http://x.org) [d](../d.ipynb)"
    )
    assert re.findall(r'href="([^"]*)"', html) == ["#x", "https://x.org"]
    assert "c" in html and "d" in html


def test_pictures_of_the_lab_are_a_part_of_the_page():
    pictures = {"curve.png": {"image/png": PIXEL}}
    html = safe_html.render_lab_markdown("![](attachment:curve.png)", pictures)
    assert f'src="data:image/png;base64,{PIXEL}"' in html
    cell = {"cell_type": "markdown", "source": "![](attachment:curve.png)"}
    assert PIXEL in student_page._render_lab_prose(cell | {"attachments": pictures})
    html = safe_html.render_lab_markdown("![of <x>](attachment:other.png)", pictures)
    assert "a picture that is not here: of &lt;x&gt;" in html


def test_numbers_and_lengths_of_time_on_pages():
    assert safe_html._format_number(-0.256) == "−0.26" and safe_html._format_number(None) == "–"
    assert safe_html._format_share(0.5) == safe_html._format_percent(50.0)
    assert safe_html._format_share(None) == "–"
    assert [safe_html._format_plural(n, "student") for n in (1, 2)] == ["1 student", "2 students"]
    assert safe_html._format_plural(2, "cell is", "cells are") == "2 cells are"
    durations = {
        9.94: "9.9 s",
        59.4: "59 s",
        119.6: "2 min 0 s",
        3600: "1 h 0 min",
        86400: "1 d 0 h",
    }
    for seconds, text in durations.items():
        assert safe_html.format_duration(seconds) == text


def test_a_renderer_counts_the_characters_of_the_whole_page(monkeypatch):
    monkeypatch.setattr(safe_html, "MAX_HIGHLIGHTED_CHARACTERS", 10)
    monkeypatch.setattr(safe_html, "MAX_MARKDOWN_CHARACTERS", 10)
    renderer = safe_html.StudentTextRenderer()
    codes = [str(renderer.render_code("x = 1")) for _ in range(3)]
    assert ["<span" in code for code in codes] == [True, True, False]
    texts = [str(renderer.render_prose({}, "**b**")) for _ in range(3)]
    assert ["<strong>" in text for text in texts] == [True, True, False]


def test_a_text_without_colours_or_markdown_is_cut(monkeypatch):
    monkeypatch.setattr(safe_html, "MAX_TEXT_CHARACTERS", 10)
    renderer = safe_html.StudentTextRenderer(text_only=True)
    for render in (renderer.render_code, partial(renderer.render_prose, {})):
        assert "x" * 10 in render("x" * 10) and "[… 1 character" not in render("x" * 10)
        assert "x" * 10 + "\n[… 1 character" in render("x" * 11)


def test_a_page_that_is_gone_is_made_again_and_each_page_is_a_step(
    classroom, prepared, monkeypatch
):
    class Steps(Silent):
        total = count = 0

        def start(self, total):
            self.total = total

        def advance(self):
            self.count += 1

    fill(classroom, {"ada": results("ada"), "bo": results("bo")}, gradebook=prepared)
    make(classroom)
    (classroom.feedback / "ada" / LAB / f"{LAB}.html").unlink()
    (classroom.root / "requests.csv").write_text("Student,Lab,Exercise,Request\nzoe,x,y,Why?\n")
    monkeypatch.setattr(
        feedback_pages, "describe_ungraded_attempts", lambda *arguments: ["Not every attempt."]
    )
    steps = Steps()
    outcome = write_feedback_pages(classroom, labs=[lab(LAB)], progress=steps)
    assert (outcome.written_count, outcome.unchanged_count) == (1, 1)
    assert (steps.total, steps.count) == (2, 2)
    note, sentence = outcome.notes
    assert "nobody in the class is called 'zoe'" in note and sentence == "Not every attempt."


def test_the_handed_out_lab_shows_questions_that_a_person_grades():
    notebook = released(
        ("markdown", "YOUR ANSWER", "why", ("grade", True), ("solution", True)),
        ("code", "check(ex)", "test-ex", ("grade", True)),
        ("markdown", "Text\n### BEGIN MARK SCHEME\nsecret\n### END MARK SCHEME", ""),
    )
    page = student_page._render_released_notebook(notebook)
    assert re.findall("YOUR ANSWER|check|Text|secret", page) == ["YOUR ANSWER", "Text"]


def test_answers_after_one_that_is_gone_are_shown_each_with_its_own_messages():
    def cell_of(kind, source, grade_id, *outputs):
        metadata = {"nbgrader": {"grade_id": grade_id}}
        return {"cell_type": kind, "source": source, "metadata": metadata, "outputs": [*outputs]}

    def output(text, kind="stream"):
        return {"output_type": kind, "name": "stdout", "text": text, "ename": text, "evalue": ""}

    lines = [
        student_page.SummaryLine(name, "✗", "not right yet", "0 of 2")
        for name in ("gone", "ex", "why")
    ]
    cells = [
        cell_of("markdown", "because **so**", "why"),
        cell_of("code", "mine = 1", "ex", output("drawn")),
        cell_of("code", "check()", "test-ex", output("It is wrong."), output("Trace", "error")),
    ]
    notebook = released(
        ("markdown", "Why?", ""),
        ("markdown", "YOUR ANSWER", "why"),
        ("code", "def ex", "ex"),
    )
    summary_of_page = student_page.FeedbackSummary("c", "a", "A", "T", "l", "0", (), tuple(lines))
    renderer = safe_html.StudentTextRenderer(text_only=True)
    answers = list(student_page._render_answers(summary_of_page, notebook, cells, renderer))
    assert [answer.line.name for answer in answers] == ["ex", "why"]
    code, prose = answers
    assert (code.parts, code.is_code, code.question) == ((("", "mine = 1"),), True, "")
    assert (code.outputs, code.findings) == (("<pre>drawn</pre>",), ("<p>It is wrong.</p>",))
    assert (prose.parts, prose.is_code) == ((("", "<pre>because **so**</pre>"),), False)
    assert "Why?" in prose.question and (prose.outputs, prose.findings) == ((), ())


def test_a_picture_of_the_lab_that_is_no_attachment_stays():
    html = safe_html.render_lab_markdown(f"![x](data:image/png;base64,{PIXEL})")
    assert f'src="data:image/png;base64,{PIXEL}"' in html and "not here" not in html


def test_a_message_of_the_check_keeps_its_styles_and_nothing_that_acts():
    html = (
        '<table style="color: #b00020"><tr><td onclick="x()">1</td></tr></table><script>x</script>'
    )
    message = safe_html.render_check_message({"data": {"text/html": [html]}})
    assert 'style="color:#b00020"' in message
    assert "onclick" not in message and "<script" not in message
    text = safe_html.render_check_message({"text": ["`x` is ", "<wrong>."]})
    assert text == "<p><code>x</code> is &lt;wrong&gt;.</p>"
    assert safe_html.render_check_message({"text": " \n"}) == ""


# Pages of nbgrader's formgrader


def test_the_formgrader_s_markdown_is_safe_and_plain_after_some_seconds():
    resources = {"seconds_of_markdown": safe_formgrader.MAX_MARKDOWN_SECONDS}
    context = {"resources": resources, "cell": {"attachments": {"a.png": {"image/png": PIXEL}}}}
    source = "**b** <script>x</script> ![](attachment:a.png)"
    html = safe_formgrader.markdown2html(context, source)
    assert "<strong>b</strong>" in html and "<script" not in html and PIXEL in html
    assert resources["seconds_of_markdown"] > safe_formgrader.MAX_MARKDOWN_SECONDS
    text = "<pre>**b** &lt;script&gt;x&lt;/script&gt; ![](attachment:a.png)</pre>"
    assert safe_formgrader.markdown2html(context, source) == text


def test_the_formgrader_escapes_names_once(monkeypatch):
    class BaseHandler:
        def render(self, template, **context):
            return template, context

    module = "nbgrader.server_extensions.formgrader.handlers"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(BaseHandler=BaseHandler))
    for _ in range(2):
        safe_formgrader._patch_formgrader_to_escape_names()
    names = {"student_id": "<a>", "resources": {"name": "<b>", "count": 1}, "other": "<c>"}
    escaped = {"student_id": "&lt;a&gt;", "resources": {"name": "&lt;b&gt;", "count": 1}}
    handler = BaseHandler()
    assert handler.render("page", **names) == ("page", escaped | {"other": "<c>"})
    assert handler.render("page", other="<c>") == ("page", {"other": "<c>"})
    monkeypatch.delitem(sys.modules, module)
    safe_formgrader._patch_formgrader_to_escape_names()


def test_a_submission_in_the_formgrader_has_clean_outputs_and_escaped_names():
    html = '<p style="color:#b00020" onclick="x()">1</p>'
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}
    cells = [
        {"cell_type": "code", "source": "", "metadata": metadata, "outputs": [output]}
        for metadata in ({}, {"nbgrader": {"grade_id": "test-a", "grade": True}})
    ]
    notebook = nbformat.from_dict({"cells": [{"cell_type": "markdown"}, *cells]})
    names = ("student", "first_name", "last_name", "notebook_path")
    resources = dict.fromkeys(names, "<x>") | {"other": "<y>"}
    environment = SimpleNamespace(loader=ChoiceLoader([FileSystemLoader("templates")]))
    pages = SimpleNamespace(parent=SimpleNamespace(environment=environment))
    own_loader = environment.loader
    found, resources = safe_formgrader.SafePages.preprocess(pages, notebook, resources)
    students, graders = (str(cell.outputs[0]["data"]) for cell in found.cells[1:])
    assert "onclick" not in students + graders
    assert ("color" in students, "color" in graders) == (False, True)
    assert resources == dict.fromkeys(names, "&lt;x&gt;") | {"other": "<y>"}
    without_mathjax, then = environment.loader.loaders
    assert (list(without_mathjax.mapping), then) == (["mathjax.html.j2"], own_loader)
    loader = environment.loader
    safe_formgrader.SafePages.preprocess(pages, notebook, {})
    assert environment.loader is loader, "the loader is put before the others once"
    pages.parent = None
    safe_formgrader.SafePages.preprocess(pages, notebook, {})
