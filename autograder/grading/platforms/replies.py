"""What came of one hand-in, in the form that a platform reads. docs/platforms.md says where each form was taken from.

Whatever a student wrote is escaped for the renderer that shows it, and bounded.
"""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

from markupsafe import Markup, escape

from autograder.grading.platforms.one import Outcome
from autograder.grading.reports.feedback import WAITS, Line
from autograder.grading.reports.shown import cut, sentences
from autograder.results import Result, Verdict

VERSION = 1
BY_HAND = "A person will read this answer and give up to {points:g} points, which are not counted here."
FAULT = "The grader failed, so this is no mark. It is not your doing: tell your instructor, who can have it marked again."
MOST = 90_000  # bytes that GitHub's reporter is given: a variable of its environment holds 131,072, in base64


def as_json(outcome: Outcome) -> str:
    """Our own form: docs/results-format.md."""
    results = []
    for row, line in _pairs(outcome):
        fields = row.to_fields()
        del fields["student"], fields["lab"]
        results.append({**fields, "sentence": _sentence(outcome, row, line), "nudge": line.nudge})
    return _dumped(
        {
            "version": VERSION,
            "lab": outcome.lab,
            "score": None if outcome.fault else outcome.score,
            "max_score": outcome.max_score,
            "waiting": outcome.waiting,
            "unreadable": outcome.sheet.unreadable,
            "fault": outcome.fault,
            "notes": list(outcome.sheet.notes),
            "sandbox": outcome.sandbox,
            "seconds": outcome.seconds,
            "results": results,
        }
    )


def as_gradescope(outcome: Outcome) -> str:
    """The file results.json. What a person marks has no score there: it is a question of the assignment's own."""
    tests = []
    for row, line in _pairs(outcome):
        test: dict[str, Any] = {"name": row.exercise, "name_format": "text"}
        if row in outcome.judged:
            passed = row.score == row.max_score
            test |= {"score": row.score or 0.0, "max_score": row.max_score}
            test["status"] = "passed" if passed else "failed"
        test |= {
            "output": _html(outcome, row, line),
            "output_format": "html",
            "visibility": "visible",
        }
        tests.append(test)
    return _dumped(
        {
            "score": outcome.score,
            "execution_time": outcome.seconds,
            "output": _paragraphs(_summary(outcome)),
            "output_format": "html",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": tests,
        }
    )


def as_prairielearn(outcome: Outcome) -> str:
    """The file results.json. What cannot be marked is not gradable there, and costs no attempt."""
    why = FAULT if outcome.fault else outcome.sheet.unreadable
    if why:
        return _dumped({"gradable": False, "format_errors": [_plain(why)]})
    tests = []
    for row, line in _pairs(outcome):
        counts = row in outcome.judged
        said = [_sentence(outcome, row, line), f"To think about: {line.nudge}" if line.nudge else ""]
        tests.append(
            {
                "name": row.exercise,
                # 0 of 0 is what is shown as neither right nor wrong.
                "points": (row.score or 0.0) if counts else 0,
                "max_points": row.max_score if counts else 0,
                "message": "\n".join(_plain(text) for text in said if text),
            }
        )
    share = outcome.score / outcome.max_score if outcome.max_score else 0.0
    message = "\n".join(_plain(text) for text in _summary(outcome))
    return _dumped({"gradable": True, "score": share, "message": message, "tests": tests, "images": []})


def as_github(outcome: Outcome) -> str:
    """What the classroom's reporter reads, in base64; besides, the same as Markdown, for the job's summary."""
    data = b""
    for longest in (600, 100, 0):
        data = _dumped(_reported(outcome, longest)).encode()
        if len(data) <= MOST:
            break
    return base64.b64encode(data).decode()


def _reported(outcome: Outcome, longest: int) -> dict[str, Any]:
    broken = outcome.fault or outcome.sheet.unreadable
    tests = []
    for row, line in _pairs(outcome):
        if row not in outcome.judged:
            continue
        passed = row.score == row.max_score
        said = FAULT if outcome.fault else " ".join(filter(None, [line.wrong, line.nudge]))
        tests.append(
            _test(row, "error" if broken else "pass" if passed else "fail", _logged(cut(said, longest)))
        )
    if not tests:
        nothing = Result(lab="", exercise="notebook", max_score=0.0, verdict=Verdict.MISSING)
        tests = [_test(nothing, "error", _logged(broken or "There is nothing here that a machine marks."))]
    return {
        "version": VERSION,
        "status": "error" if broken else "pass" if all(t["status"] == "pass" for t in tests) else "fail",
        "max_score": outcome.max_score,
        "tests": tests,
        "markdown": _markdown(outcome, longest),
    }


def _test(row: Result, status: str, message: str) -> dict[str, Any]:
    return {
        "name": row.exercise,
        "status": status,
        "score": row.score or 0.0,
        "message": None if status == "pass" else message,
        "test_code": "",
        "filename": f"{row.lab}.ipynb" if row.lab else "",
        "line_no": 0,
        "duration": round(row.seconds * 1000, 3),
    }


def _markdown(outcome: Outcome, longest: int) -> str:
    """Markdown whose every line but the headings is a block of HTML, in which nothing is Markdown any more."""
    parts = [f"## {escape(outcome.sheet.title)}", _paragraphs(_summary(outcome, longest))]
    for row, line in _pairs(outcome):
        parts += [f"### {line.sign} `{row.exercise}`: {line.points}", _html(outcome, row, line, longest)]
    return "\n\n".join(parts) + "\n"


def _pairs(outcome: Outcome) -> Iterator[tuple[Result, Line]]:
    lines = {line.name: line for line in outcome.sheet.lines}
    return ((row, lines[row.exercise]) for row in outcome.rows)


def _summary(outcome: Outcome, longest: int = 600) -> list[str]:
    """What is said of the hand-in as a whole, a paragraph each."""
    if outcome.fault:
        return [FAULT]
    if outcome.sheet.unreadable:
        return [f"This file could not be marked. {cut(outcome.sheet.unreadable, 600)}"]
    said = [f"{outcome.score:g} of {outcome.max_score:g} points."]
    if outcome.waiting:
        said = [f"{said[0]} Up to {outcome.waiting:g} more are given by a person."]
    return said + [cut(note, longest) for note in outcome.sheet.notes]


def _sentence(outcome: Outcome, row: Result, line: Line) -> str:
    """What is said of an exercise or question, without its nudge."""
    if outcome.fault:
        return FAULT
    if outcome.sheet.unreadable:
        return "It could not be marked: see above."
    if line.state == WAITS:
        return BY_HAND.format(points=row.max_score)
    if line.wrong or row.verdict is not Verdict.PASS:
        return line.wrong or f"It {line.state}."
    return "Right."


def _html(outcome: Outcome, row: Result, line: Line, longest: int = 600) -> str:
    nudge = Markup("<strong>To think about:</strong> {}").format(_flat(line.nudge)) if line.nudge else ""
    parts = [_flat(cut(_sentence(outcome, row, line), longest)), nudge]
    return "".join(Markup("<p>{}</p>").format(part) for part in parts if part)


def _paragraphs(said: list[str]) -> str:
    return "".join(Markup("<p>{}</p>").format(_flat(text)) for text in said)


def _flat(text: str) -> Markup:
    """Sentences as HTML in one line: an empty one would end the block, and Markdown would begin."""
    return sentences(" ".join(text.split()))


def _plain(text: str) -> str:
    """Sentences as text that its renderer escapes, in one line: no student makes up another."""
    return " ".join(text.split())


def _logged(text: str) -> str:
    """Sentences for a log in which lines can be commands to the machine that runs it."""
    return _plain(text).replace("::", ": :").replace("##[", "## [")


def _dumped(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


FORMS: dict[str, Callable[[Outcome], str]] = {
    "json": as_json,
    "gradescope": as_gradescope,
    "prairielearn": as_prairielearn,
    "github": as_github,
}
