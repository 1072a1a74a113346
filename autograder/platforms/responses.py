"""Format the result of one submission as each platform expects it, such as Gradescope's JSON.

docs/platforms.md names the documentation of each platform's format. All texts that a student wrote
are limited in length, and escaped for the page on which the platform shows them.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from autograder.core.results import Result, Verdict
from autograder.core.rounding import format_points
from autograder.platforms.grade_one import PlatformResult
from autograder.reports.safe_html import render_sentences, truncate_with_remark
from autograder.reports.student_page import AWAITING_MANUAL_GRADING, SummaryLine

FORMAT_VERSION = 1
AWAITING_MESSAGE = (
    "This answer is awaiting manual grading. Its points, up to {points:g}, are not counted here."
)
FAULT_MESSAGE = (
    "The grader failed, so this is no mark. It is not your doing: "
    "tell your instructor, who can have it marked again."
)
# GitHub Classroom's reporter reads the response in base64 from an environment variable, whose value
# can have at most 131,072 bytes. So this is the limit of the response before it is encoded.
MAX_GITHUB_BYTES = 90_000
MAX_MESSAGE_CHARACTERS = 600
_NO_RESULT = Result(lab="", exercise="notebook", max_score=0.0, verdict=Verdict.MISSING)


def format_json(result: PlatformResult) -> str:
    """Return the result of one submission in the autograder's own JSON format, for any program.

    docs/results-format.md describes it.
    """
    results = []
    for exercise_result, line in _pair_with_lines(result):
        fields = exercise_result.to_fields()
        # The failed cases are for a class's statistics. Over many uploads, those of the hidden
        # cases would tell a student more than the message does.
        del fields["student"], fields["lab"], fields["failed_cases"]
        fields["sentence"] = _make_exercise_sentence(result, exercise_result, line)
        fields["nudge"] = line.nudge
        results.append(fields)
    return _dump_json(
        {
            "version": FORMAT_VERSION,
            "lab": result.lab,
            "score": None if result.fault else result.score,
            "max_score": result.max_score,
            "waiting": result.manual_max_score,
            "unreadable": result.summary.unreadable,
            "fault": result.fault,
            "notes": list(result.summary.notes),
            "sandbox": result.sandbox,
            "seconds": result.seconds,
            "results": results,
        }
    )


def format_gradescope(result: PlatformResult) -> str:
    """Return the content of Gradescope's results.json.

    The test of a manually graded question has no score. Its points are given in a question that the
    instructor adds to the assignment in Gradescope.
    """
    tests = []
    for exercise_result, line in _pair_with_lines(result):
        test: dict[str, Any] = {"name": exercise_result.exercise, "name_format": "text"}
        if exercise_result in result.automatic_results:
            test["score"] = exercise_result.score or 0.0
            test["max_score"] = exercise_result.max_score
            is_full = exercise_result.score == exercise_result.max_score
            test["status"] = "passed" if is_full else "failed"
        test["output"] = _format_exercise_html(result, exercise_result, line)
        test["output_format"] = "html"
        test["visibility"] = "visible"
        tests.append(test)
    return _dump_json(
        {
            "score": result.score,
            "execution_time": result.seconds,
            "output": _format_paragraphs(_summarize_submission(result)),
            "output_format": "html",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": tests,
        }
    )


def format_prairielearn(result: PlatformResult) -> str:
    """Return the content of PrairieLearn's results.json.

    A submission that could not be graded is marked as not gradable, so that it does not use up one
    of the student's attempts.
    """
    problem = FAULT_MESSAGE if result.fault else result.summary.unreadable
    if problem:
        return _dump_json({"gradable": False, "format_errors": [_join_lines(problem)]})
    tests = []
    for exercise_result, line in _pair_with_lines(result):
        # PrairieLearn shows a question with 0 of 0 points as neither right nor wrong. So give this
        # to a manually graded question, which has no points yet.
        score: float = 0
        max_score: float = 0
        if exercise_result in result.automatic_results:
            score, max_score = exercise_result.score or 0.0, exercise_result.max_score
        messages = [_join_lines(_make_exercise_sentence(result, exercise_result, line))]
        if line.nudge:
            messages.append(_join_lines(f"To think about: {line.nudge}"))
        tests.append(
            {
                "name": exercise_result.exercise,
                "points": score,
                "max_points": max_score,
                "message": "\n".join(messages),
            }
        )
    share = result.score / result.max_score if result.max_score else 0.0
    message = "\n".join(map(_join_lines, _summarize_submission(result)))
    return _dump_json(
        {
            "gradable": True,
            "score": share,
            "message": message,
            "tests": tests,
            "images": [],
        }
    )


def format_github(result: PlatformResult) -> str:
    """Return the response for GitHub Classroom's reporter: JSON, encoded in base64.

    It also contains the result as Markdown, for the summary of the GitHub job. The messages are
    shortened if the response would be larger than `MAX_GITHUB_BYTES`.
    """
    data = b""
    for max_characters in (MAX_MESSAGE_CHARACTERS, 100, 0):
        data = _dump_json(_make_github_response(result, max_characters)).encode()
        if len(data) <= MAX_GITHUB_BYTES:
            break
    return base64.b64encode(data).decode()


def _make_github_response(result: PlatformResult, max_characters: int) -> dict[str, Any]:
    problem = result.fault or result.summary.unreadable
    tests = []
    for exercise_result, line in _pair_with_lines(result):
        if exercise_result not in result.automatic_results:
            continue
        status = "pass" if exercise_result.score == exercise_result.max_score else "fail"
        message = " ".join(filter(None, [line.wrong, line.nudge]))
        if result.fault:
            message = FAULT_MESSAGE
        if problem:
            status = "error"
        message = _escape_log_line(truncate_with_remark(message, max_characters))
        tests.append(_make_github_exercise_entry(exercise_result, status, message))
    if not tests:
        # The reporter divides by the number of tests. So make up one test if there are none.
        message = _escape_log_line(problem or "Nothing in this lab is graded automatically.")
        tests = [_make_github_exercise_entry(_NO_RESULT, "error", message)]
    return {
        "version": FORMAT_VERSION,
        "status": _combine_statuses(tests, problem),
        "max_score": result.max_score,
        "tests": tests,
        "markdown": _format_result_as_markdown(result, max_characters),
    }


def _combine_statuses(tests: Sequence[Mapping[str, Any]], problem: str) -> str:
    if problem:
        return "error"
    if all(test["status"] == "pass" for test in tests):
        return "pass"
    return "fail"


def _make_github_exercise_entry(result: Result, status: str, message: str) -> dict[str, Any]:
    return {
        "name": result.exercise,
        "status": status,
        "score": result.score or 0.0,
        "message": None if status == "pass" else message,
        "test_code": "",
        "filename": f"{result.lab}.ipynb" if result.lab else "",
        "line_no": 0,
        "duration": round(result.seconds) * 1000.0,
    }


def _format_result_as_markdown(result: PlatformResult, max_characters: int) -> str:
    """Return the result as Markdown. A text of the student cannot change its headings or layout.

    Markdown inside a block of HTML has no effect, so no text that a student wrote can change the
    page.
    """
    parts = [
        f"## {escape(result.summary.title)}",
        _format_paragraphs(_summarize_submission(result, max_characters)),
    ]
    for exercise_result, line in _pair_with_lines(result):
        parts.append(f"### {line.sign} `{exercise_result.exercise}`: {line.points}")
        parts.append(_format_exercise_html(result, exercise_result, line, max_characters))
    return "\n\n".join(parts) + "\n"


def _pair_with_lines(result: PlatformResult) -> Iterator[tuple[Result, SummaryLine]]:
    """Yield each exercise's result, and the line about the exercise in the feedback summary."""
    lines = {line.name: line for line in result.summary.lines}
    for exercise_result in result.results:
        yield exercise_result, lines[exercise_result.exercise]


def _summarize_submission(
    result: PlatformResult, max_characters: int = MAX_MESSAGE_CHARACTERS
) -> list[str]:
    """Return the paragraphs about the whole submission, such as the one with its score."""
    if result.fault:
        return [FAULT_MESSAGE]
    if result.summary.unreadable:
        reason = truncate_with_remark(result.summary.unreadable, MAX_MESSAGE_CHARACTERS)
        return [f"This file could not be marked. {reason}"]
    score = f"{format_points(result.score)} of {format_points(result.max_score)} points."
    if result.manual_max_score:
        score += (
            f" Up to {format_points(result.manual_max_score)} more are awaiting manual grading."
        )
    return [score, *(truncate_with_remark(note, max_characters) for note in result.summary.notes)]


def _make_exercise_sentence(
    result: PlatformResult, exercise_result: Result, line: SummaryLine
) -> str:
    """Return a sentence about a student's result in an exercise or question, without the hint."""
    if result.fault:
        return FAULT_MESSAGE
    if result.summary.unreadable:
        return "It could not be marked: see above."
    if line.state == AWAITING_MANUAL_GRADING:
        return AWAITING_MESSAGE.format(points=exercise_result.max_score)
    if line.wrong or exercise_result.verdict is not Verdict.PASS:
        return line.wrong or f"It {line.state}."
    return "Right."


def _format_exercise_html(
    result: PlatformResult,
    exercise_result: Result,
    line: SummaryLine,
    max_characters: int = MAX_MESSAGE_CHARACTERS,
) -> str:
    """Return HTML paragraphs on a student's result in an exercise, and the hint if there is one."""
    sentence = truncate_with_remark(
        _make_exercise_sentence(result, exercise_result, line), max_characters
    )
    parts = [_render_line(sentence)]
    if line.nudge:
        nudge = Markup("<strong>To think about:</strong> {}").format(_render_line(line.nudge))
        parts.append(nudge)
    return "".join(Markup("<p>{}</p>").format(part) for part in parts if part)


def _format_paragraphs(texts: list[str]) -> str:
    return "".join(Markup("<p>{}</p>").format(_render_line(text)) for text in texts)


def _render_line(text: str) -> Markup:
    """Return sentences as HTML in one line: an empty line in Markdown would end the HTML.

    In Markdown, an empty line would end a block of HTML.
    """
    return render_sentences(_join_lines(text))


def _join_lines(text: str) -> str:
    """Return a text without line breaks, so that a student cannot add a line to a message."""
    return " ".join(text.split())


def _escape_log_line(text: str) -> str:
    """Return a text in one line, with commands to GitHub's log such as "::error::" made harmless.

    GitHub's runner would obey such a command when it finds the text in the log.
    """
    return _join_lines(text).replace("::", ": :").replace("##[", "## [")


def _dump_json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


RESPONSE_FORMATS: dict[str, Callable[[PlatformResult], str]] = {
    "json": format_json,
    "gradescope": format_gradescope,
    "prairielearn": format_prairielearn,
    "github": format_github,
}
