"""Responses made of results by hand: a fault, a pass, a manual question, a lab without exercises."""

import base64
import json
from dataclasses import replace

import pytest
from our_course import COURSE

from autograder.authoring.lab import read_lab
from autograder.core.errors import AutograderError, UsageError
from autograder.core.results import Result, Verdict
from autograder.platforms import grade_one, platform_package, responses, solution_check
from autograder.platforms.grade_one import PlatformResult
from autograder.platforms.responses import RESPONSE_FORMATS
from autograder.reports.student_page import AWAITING_MANUAL_GRADING, FeedbackSummary, SummaryLine

FAULT = "The grader failed, so this is no mark."


def make_row(exercise, score, max_score=2.0, verdict=Verdict.PASS, **fields):
    return Result(
        lab="sums", exercise=exercise, score=score, max_score=max_score, verdict=verdict, **fields
    )


ROWS = {
    "right": (make_row("right", 2.0, seconds=3.0), SummaryLine("right", "✓", "right", "2 of 2")),
    "wrong": (
        make_row("wrong", 0.5, 2.0, Verdict.WRONG, seconds=1.4, partial_share=0.25),
        SummaryLine("wrong", "✗", "not right yet", "0.5 of 2", "It adds\n twice.", "Why `2`?"),
    ),
    "late": (
        make_row("late", 0.0, 1.0, Verdict.TIMEOUT),
        SummaryLine("late", "✗", "takes too long", "0 of 1"),
    ),
    "words": (
        make_row("words", None, 3.0, Verdict.MANUAL),
        SummaryLine("words", "–", AWAITING_MANUAL_GRADING, "– of 3"),
    ),
    "free": (make_row("free", 0.0, 0.0), SummaryLine("free", "✓", "right", "0 of 0")),
}


def make_result(*names, notes=(), unreadable="", **fields):
    rows, lines = zip(*(ROWS[name] for name in names), strict=True) if names else ((), ())
    summary = FeedbackSummary(
        "C", "", "", "Sums <1>", "sums", "", (), tuple(lines), notes=notes, unreadable=unreadable
    )
    return PlatformResult("sums", tuple(rows), summary, frozenset({"words"}), **fields)


def respond(name, result):
    reply = RESPONSE_FORMATS[name](result)
    return json.loads(base64.b64decode(reply) if name == "github" else reply)


def test_points_are_those_of_exercises_and_questions_are_told_apart():
    result = make_result("right", "wrong", "words", "free")
    assert (result.score, result.max_score, result.manual_max_score) == (2.5, 4.0, 3.0)
    assert [row.exercise for row in result.automatic_results] == ["right", "wrong"]
    for fields in ({"fault": "x"}, {"unreadable": "x"}):
        assert make_result("right", "words", **fields).manual_max_score == 0


def test_gradescope_gets_each_exercise_with_its_points_and_status():
    reply = respond("gradescope", make_result("right", "wrong", "words", notes=("A note.",)))
    right, wrong, words = reply["tests"]
    assert [(test["score"], test["max_score"], test["status"]) for test in (right, wrong)] == [
        (2.0, 2.0, "passed"),
        (0.5, 2.0, "failed"),
    ]
    assert not {"score", "max_score", "status"} & words.keys()
    assert right["output"] == "<p>Right.</p>"
    assert wrong["output"] == (
        "<p>It adds twice.</p><p><strong>To think about:</strong> Why <code>2</code>?</p>"
    )
    assert reply["output"] == (
        "<p>2.5 of 4 points. Up to 3 more are awaiting manual grading.</p><p>A note.</p>"
    )
    assert reply["score"] == 2.5 and reply["stdout_visibility"] == "hidden"
    assert {test["visibility"] for test in reply["tests"]} == {"visible"}


def test_gradescope_gets_no_status_of_an_exercise_without_points():
    free = respond("gradescope", make_result("right", "free"))["tests"][1]
    assert free["name"] == "free" and not {"score", "max_score", "status"} & free.keys()


def test_a_verdict_without_a_description_is_told_by_its_state():
    (test,) = respond("prairielearn", make_result("late"))["tests"]
    assert test["message"] == "It takes too long."


def test_prairielearn_gets_a_share_and_no_points_for_what_is_not_graded_yet():
    reply = respond("prairielearn", make_result("right", "wrong", "words", "free"))
    assert (reply["gradable"], reply["score"]) == (True, 0.625)
    assert [(test["points"], test["max_points"]) for test in reply["tests"]] == [
        (2.0, 2.0),
        (0.5, 2.0),
        (0, 0),
        (0, 0),
    ]
    assert reply["tests"][1]["message"] == "It adds twice.\nTo think about: Why `2`?"
    assert respond("prairielearn", make_result("words"))["score"] == 0.0


@pytest.mark.parametrize(
    ("names", "status"),
    [(["right"], "pass"), (["right", "words"], "pass"), (["right", "wrong"], "fail")],
)
def test_github_s_job_passes_if_every_exercise_does(names, status):
    reply = respond("github", make_result(*names))
    assert reply["status"] == status
    assert "words" not in [test["name"] for test in reply["tests"]]


def test_github_gets_messages_times_and_a_page():
    reply = respond("github", make_result("right", "wrong", notes=("::error:: ##[x]",)))
    right, wrong = reply["tests"]
    assert (right["message"], wrong["message"]) == (None, "It adds twice. Why `2`?")
    assert (right["duration"], wrong["duration"]) == (3000.0, 1000.0)
    assert right["filename"] == "sums.ipynb"
    lines = reply["markdown"].split("\n\n")
    assert lines[0] == "## Sums &lt;1&gt;"
    assert lines[2] == "### ✓ `right`: 2 of 2" and lines[4] == "### ✗ `wrong`: 0.5 of 2"


def test_a_response_that_is_too_large_for_github_has_shorter_texts_everywhere(monkeypatch):
    result = make_result("right", "wrong", notes=("n" * 590,))
    full = respond("github", result)
    assert "n" * 590 in full["markdown"] and "It adds twice." in full["markdown"]
    monkeypatch.setattr(responses, "MAX_GITHUB_BYTES", 1)
    short = respond("github", result)
    assert "n" * 100 not in short["markdown"] and "It adds twice." not in short["markdown"]
    assert "It adds twice." not in short["tests"][1]["message"]


def test_github_gets_one_test_of_a_lab_without_any():
    (test,) = respond("github", make_result("words"))["tests"]
    assert (test["name"], test["status"], test["filename"]) == ("notebook", "error", "")
    assert test["message"] == "Nothing in this lab is graded automatically."


@pytest.mark.parametrize("name", ["gradescope", "prairielearn", "github"])
def test_a_fault_is_told_in_place_of_every_sentence(name):
    reply = respond(name, make_result("right", "wrong", fault="bwrap: no space"))
    text = json.dumps(reply, ensure_ascii=False)
    assert FAULT in text and "bwrap" not in text and "adds twice" not in text
    if name == "github":
        assert {test["status"] for test in reply["tests"]} == {"error"} == {reply["status"]}


def test_a_fault_has_no_score_in_the_engine_s_own_format():
    reply = respond("json", make_result("right", "wrong", fault="bwrap: no space"))
    assert (reply["score"], reply["max_score"], reply["fault"]) == (None, 4.0, "bwrap: no space")
    reply = respond("json", make_result("right", "words", sandbox="none", seconds=4.0))
    assert (reply["score"], reply["waiting"], reply["sandbox"]) == (2.0, 3.0, "none")
    assert not {"student", "lab", "failed_cases"} & reply["results"][0].keys()
    assert reply["results"][1]["sentence"].startswith("This answer is awaiting manual grading.")


UNUSUAL_ROWS = {
    # Error carried forward: full points, although the answer itself is wrong.
    "carried": (
        make_row("carried", 2.0, 2.0, Verdict.WRONG),
        SummaryLine("carried", "✓", "right with your own function", "2 of 2", "See ##[group]."),
    ),
    "lowered": (
        make_row("lowered", 1.0),
        SummaryLine("lowered", "✗", "right", "1 of 2", "", "Why?"),
    ),
    "words": (
        make_row("words", 0.0, 3.0, Verdict.MANUAL),
        SummaryLine("words", "✗", "no answer", "0 of 3", "No answer was written here."),
    ),
}


def make_unusual_result(monkeypatch, **fields):
    monkeypatch.setattr(f"{__name__}.ROWS", UNUSUAL_ROWS)
    return make_result(*UNUSUAL_ROWS, seconds=5.0, **fields)


def test_gradescope_s_whole_reply(monkeypatch):
    texts = {"output_format": "html", "visibility": "visible"}
    assert respond("gradescope", make_unusual_result(monkeypatch)) == {
        "score": 3.0,
        "execution_time": 5.0,
        "output": "<p>3 of 4 points. Up to 3 more are awaiting manual grading.</p>",
        "stdout_visibility": "hidden",
        **texts,
        "tests": [
            {
                "name": "carried",
                "name_format": "text",
                "score": 2.0,
                "max_score": 2.0,
                "status": "passed",
                "output": "<p>See ##[group].</p>",
                **texts,
            },
            {
                "name": "lowered",
                "name_format": "text",
                "score": 1.0,
                "max_score": 2.0,
                "status": "failed",
                "output": "<p>Right.</p><p><strong>To think about:</strong> Why?</p>",
                **texts,
            },
            {
                "name": "words",
                "name_format": "text",
                "output": "<p>No answer was written here.</p>",
                **texts,
            },
        ],
    }


def test_prairielearn_s_whole_reply(monkeypatch):
    assert respond("prairielearn", make_unusual_result(monkeypatch)) == {
        "gradable": True,
        "score": 0.75,
        "message": "3 of 4 points. Up to 3 more are awaiting manual grading.",
        "images": [],
        "tests": [
            {"name": "carried", "points": 2.0, "max_points": 2.0, "message": "See ##[group]."},
            {
                "name": "lowered",
                "points": 1.0,
                "max_points": 2.0,
                "message": "Right.\nTo think about: Why?",
            },
            {
                "name": "words",
                "points": 0,
                "max_points": 0,
                "message": "No answer was written here.",
            },
        ],
    }


def test_github_s_whole_reply(monkeypatch):
    reply = respond("github", make_unusual_result(monkeypatch))
    common = {"test_code": "", "filename": "sums.ipynb", "line_no": 0, "duration": 0.0}
    lowered = {"name": "lowered", "status": "fail", "score": 1.0, "message": "Why?", **common}
    assert reply.pop("tests") == [
        {"name": "carried", "status": "pass", "score": 2.0, "message": None, **common},
        lowered,
    ]
    assert reply.pop("markdown").count("###") == 3
    assert reply == {"version": 1, "status": "fail", "max_score": 4.0}


def test_a_message_is_no_command_to_the_log_of_github(monkeypatch):
    row, line = ROWS["wrong"]
    commands = replace(line, wrong="::error::x ##[group]y", nudge="")
    monkeypatch.setitem(ROWS, "wrong", (row, commands))
    (test,) = respond("github", make_result("wrong"))["tests"]
    assert test["message"] == ": :error: :x ## [group]y"


@pytest.mark.parametrize("fields", [{"fault": "bwrap"}, {"unreadable": "No\nnotebook."}])
def test_an_attempt_that_could_not_be_graded_is_not_used_up(fields):
    sentence = responses.FAULT_MESSAGE if "fault" in fields else "No notebook."
    assert respond("prairielearn", make_result("right", **fields)) == {
        "gradable": False,
        "format_errors": [sentence],
    }


def test_a_long_reason_for_an_unreadable_file_is_shortened():
    reply = respond("gradescope", make_result("right", unreadable="r" * 2_000))
    assert reply["output"].startswith("<p>This file could not be marked. rrr")
    assert len(reply["output"]) < responses.MAX_MESSAGE_CHARACTERS + 200
    assert reply["tests"][0]["output"] == "<p>It could not be marked: see above.</p>"


# One submission


def test_a_file_that_is_not_there_and_a_folder_without_a_lab_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="There is no file"):
        grade_one._read_notebook_and_find_lab(COURSE, tmp_path / "none.ipynb", None)
    with pytest.raises(UsageError, match="say with --lab which lab's notebook is expected in it"):
        grade_one._read_notebook_and_find_lab(COURSE, tmp_path, None)


def test_the_lab_of_a_file_is_told_by_its_name_where_its_cells_say_nothing(tmp_path, monkeypatch):
    for name, expected in (("positions.ipynb", "positions"), ("my work.ipynb", None)):
        path = tmp_path / name
        path.write_text('{"cells": []}')
        _, _, found = grade_one._read_notebook_and_find_lab(COURSE, path, None)
        assert (found and found.name) == expected, name
    only_course = replace(COURSE, labs=("masks-only",))
    monkeypatch.setattr(grade_one, "_map_grade_ids_to_labs", lambda course: {})
    monkeypatch.setattr(grade_one, "read_lab", lambda course, name: name)
    _, _, found = grade_one._read_notebook_and_find_lab(only_course, path, None)
    assert found == "masks-only", "a course of one lab"


def test_the_secret_of_a_lab_is_the_same_every_time_and_another_for_another_lab():
    first, second = (read_lab(COURSE, name) for name in ("positions", "attention-masks"))
    assert grade_one._make_salt(first) == grade_one._make_salt(read_lab(COURSE, "positions"))
    assert grade_one._make_salt(first) != grade_one._make_salt(second)


@pytest.mark.parametrize(
    ("names", "fields", "sentences"),
    [
        (["right"], {}, []),
        (["right", "words"], {}, []),
        (["right"], {"fault": "no sandbox"}, ["sums: its solution cannot be graded. no sandbox"]),
        (
            ["wrong", "late"],
            {},
            [
                f"sums: {name}: the solution does not get its points when it is graded as a "
                "submission:  Make its cases smaller, or change `[limits]` in lab.toml."
                for name in ("wrong", "late")
            ],
        ),
    ],
)
def test_a_solution_without_full_points_is_told(monkeypatch, names, fields, sentences):
    result = make_result(*names, **fields)
    monkeypatch.setattr(solution_check, "grade_for_platform", lambda *_: result)

    class SumsLab:
        name, course, solution_path = "sums", None, None

    assert solution_check.describe_solutions_without_full_score(SumsLab()) == sentences


# Packages


@pytest.fixture
def quick_packages(monkeypatch):
    """Make the files of each package few and quick to write."""
    for name in ("_make_prairielearn_package_files", "_make_github_package_files"):
        files = lambda course, labs: {f"{lab.name}/x": b"1" for lab in labs}  # noqa: E731
        monkeypatch.setattr(platform_package, name, files)
    monkeypatch.setattr(
        platform_package, "_make_gradescope_package_files", lambda lab: {"x": lab.name.encode()}
    )


def test_each_lab_is_packaged_once_and_no_file_is_replaced(quick_packages, tmp_path):
    names = ["positions", "attention-masks", "positions"]
    paths = platform_package.write_package("gradescope", COURSE, names, tmp_path / "zips")
    assert [path.name for path in paths] == ["positions.zip", "attention-masks.zip"]
    (tmp_path / "zips" / "positions.zip").unlink()
    with pytest.raises(UsageError, match=r"attention-masks\.zip is there already: take it away"):
        platform_package.write_package("gradescope", COURSE, names, tmp_path / "zips")
    assert not (tmp_path / "zips" / "positions.zip").exists(), "all places are looked at first"
    (path,) = platform_package.write_package("github", COURSE, names, tmp_path / "hub")
    assert {child.name for child in path.iterdir()} == {"positions", "attention-masks"}


def test_a_link_to_nowhere_in_the_place_of_a_package_is_not_replaced(quick_packages, tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is there already"):
        platform_package.write_package("github", COURSE, ["positions"], tmp_path / "out")


def test_a_package_that_cannot_be_written_leaves_nothing_behind(
    quick_packages, tmp_path, monkeypatch
):
    def fail(folder, files):
        (folder / "half").write_text("x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(platform_package.distribution, "write_files", fail)
    with pytest.raises(OSError, match="No space left"):
        platform_package.write_package("github", COURSE, ["positions"], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_title_is_escaped_for_a_page_and_has_no_braces():
    class NamedLab:
        name, title = "sums", "Sums & {{more}} <1>"

    text = platform_package._fill_template("question.html", NamedLab()).decode()
    assert "Sums &amp; more &lt;1&gt;" in text and "@LAB@" not in text and "@TITLE@" not in text


def test_a_lab_that_was_not_built_names_the_command(tmp_path):
    class UnbuiltLab:
        name, release_path = "sums", tmp_path / "sums.ipynb"

    with pytest.raises(AutograderError, match="Run `autograder build`"):
        platform_package._check_lab_can_be_packaged("github", UnbuiltLab())
