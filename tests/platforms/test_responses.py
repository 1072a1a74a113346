"""Test `autograder mark`: one submission graded, with the response for each platform.

The schemas follow the platforms' documentation; docs/platforms.md names the pages.
"""

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import jsonschema
import nbformat
import pytest
from command import autograder, work_here
from our_course import COURSE, lab, release
from sample_class import perfect, with_answer, wrong_answer

from autograder.core.results import Result, Verdict
from autograder.platforms import grade_one, responses, solution_check
from autograder.platforms.grade_one import grade_for_platform, make_platform_result
from autograder.platforms.responses import RESPONSE_FORMATS
from autograder.sandbox import SandboxError
from autograder.sandbox.choice import explain_unavailability

LAB, EXERCISE = "attention-masks", "causal_mask"
QUESTION = "explain-masks"
pytestmark = pytest.mark.skipif(
    bool(explain_unavailability()),
    reason=explain_unavailability() or "there is a sandbox",
)

FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITIES = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
POINTS = {"type": "number", "minimum": 0}


def record(required=(), **fields):
    """Return the schema of a JSON object with these fields and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": fields,
    }


TEXT = {"type": "string"}
GRADESCOPE = record(
    ["score", "tests"],
    score=POINTS,
    execution_time=POINTS,
    output=TEXT,
    output_format=FORMATS,
    test_output_format=FORMATS,
    test_name_format=FORMATS,
    visibility=VISIBILITIES,
    stdout_visibility=VISIBILITIES,
    extra_data={"type": "object"},
    tests={
        "type": "array",
        "items": record(
            score=POINTS,
            max_score=POINTS,
            status={"enum": ["passed", "failed"]},
            name=TEXT,
            name_format=FORMATS,
            number=TEXT,
            output=TEXT,
            output_format=FORMATS,
            tags={"type": "array", "items": TEXT},
            visibility=VISIBILITIES,
            extra_data={"type": "object"},
        ),
    },
)
PRAIRIELEARN = {
    "if": {"properties": {"gradable": {"const": False}}, "required": ["gradable"]},
    "then": record(
        ["gradable"],
        gradable={"const": False},
        format_errors={"type": ["string", "array"], "items": TEXT},
    ),
    "else": record(
        ["score"],
        gradable={"const": True},
        score={"type": "number", "minimum": 0, "maximum": 1},
        message=TEXT,
        output=TEXT,
        images={"type": "array"},
        tests={
            "type": "array",
            # If one test has no points, the page shows no test's points.
            "items": record(
                ["name", "points", "max_points"],
                name=TEXT,
                description=TEXT,
                points=POINTS,
                max_points=POINTS,
                message=TEXT,
                output=TEXT,
                images={"type": "array"},
            ),
        },
    ),
}
STATUS = {"enum": ["pass", "fail", "error"]}
GITHUB = record(
    ["version", "status", "max_score", "tests"],
    version={"type": "integer"},
    status=STATUS,
    max_score=POINTS,
    markdown=TEXT,
    tests={
        "type": "array",
        "minItems": 1,  # the reporter divides by their number
        "items": record(
            ["name", "status", "score", "message"],
            name=TEXT,
            status=STATUS,
            score=POINTS,
            message={"type": ["string", "null"]},
            test_code=TEXT,
            filename=TEXT,
            line_no={"type": "integer"},
            duration=POINTS,
        ),
    },
)
ENGINE_FORMAT = record(
    [
        "version",
        "lab",
        "score",
        "max_score",
        "waiting",
        "unreadable",
        "fault",
        "notes",
        "sandbox",
        "seconds",
        "results",
    ],
    version={"const": 1},
    lab=TEXT,
    score={"type": ["number", "null"]},
    max_score=POINTS,
    waiting=POINTS,
    unreadable=TEXT,
    fault=TEXT,
    notes={"type": "array", "items": TEXT},
    sandbox=TEXT,
    seconds=POINTS,
    results={
        "type": "array",
        "items": record(
            ["exercise", "score", "max_score", "verdict", "sentence", "nudge"],
            exercise=TEXT,
            score={"type": ["number", "null"]},
            max_score=POINTS,
            verdict=TEXT,
            misconception={"type": ["string", "null"]},
            message=TEXT,
            seconds=POINTS,
            kind=TEXT,
            cause={"type": ["string", "null"]},
            partial_share=POINTS,
            sentence=TEXT,
            nudge=TEXT,
        ),
    },
)
SCHEMAS = {
    "json": ENGINE_FORMAT,
    "gradescope": GRADESCOPE,
    "prairielearn": PRAIRIELEARN,
    "github": GITHUB,
}


def parse_response(format_name, reply):
    """Return the fields of a response, validated against the platform's schema."""
    reply = base64.b64decode(reply) if format_name == "github" else reply
    fields = json.loads(reply)
    jsonschema.validate(fields, SCHEMAS[format_name])
    return fields


def choose_any_sandbox():
    return "auto"


@pytest.fixture(scope="module")
def grade(tmp_path_factory):
    """Function that grades a notebook, or bytes, and returns the response in each format."""
    place = tmp_path_factory.mktemp("platforms")
    # Several tests look at the same submission.
    grade_file = cache(partial(grade_for_platform, COURSE))

    def grade_content(content, name=LAB, sandbox=choose_any_sandbox):
        if not isinstance(content, bytes):
            content = nbformat.writes(content).encode()
        path = place / hashlib.sha256(content).hexdigest() / "submission.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        result = grade_file(path, name, sandbox)
        return {
            format_name: parse_response(format_name, format_result(result))
            for format_name, format_result in RESPONSE_FORMATS.items()
        }

    with pytest.MonkeyPatch.context() as patch:
        work_here(patch.setattr)
        yield grade_content


def make_submission(source, exercise=EXERCISE):
    """Return a right submission with another answer to one exercise."""
    return with_answer(perfect(lab(LAB)), exercise, source)


def answer_question(notebook):
    """Write an answer to the manually graded question."""
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == QUESTION:
            cell.source = "A mask keeps what comes later from being attended to."
    return notebook


def find_test(response, name=EXERCISE):
    """Return the part of a platform's response on an exercise or question."""
    (test,) = (test for test in response["tests"] if test["name"] == name)
    return test


def exercise_points(name=LAB):
    return {exercise.name: exercise.points for exercise in lab(name).exercises.values()}


def test_a_right_submission_gets_all_automatically_graded_points(grade):
    replies = grade(answer_question(perfect(lab(LAB))))
    total = sum(exercise_points().values())
    assert replies["json"]["score"] == replies["json"]["max_score"] == total
    assert replies["gradescope"]["score"] == total
    assert replies["prairielearn"]["score"] == 1
    assert replies["github"]["status"] == "pass"
    assert sum(test["score"] for test in replies["github"]["tests"]) == total
    assert replies["github"]["max_score"] == total
    max_scores = {test["name"]: test.get("max_score") for test in replies["gradescope"]["tests"]}
    assert max_scores == exercise_points() | {QUESTION: None}


@pytest.mark.long
def test_a_manual_question_awaits_grading_and_is_not_counted(grade):
    replies = grade(answer_question(perfect(lab(LAB))))
    worth = lab(LAB).manual_questions[QUESTION]
    points = f"Its points, up to {worth:g}, are not counted here."
    message = f"This answer is awaiting manual grading. {points}"
    gradescope = find_test(replies["gradescope"], QUESTION)
    assert gradescope["output"] == f"<p>{message}</p>"
    assert "score" not in gradescope and "status" not in gradescope
    prairielearn = find_test(replies["prairielearn"], QUESTION)
    assert (prairielearn["points"], prairielearn["max_points"]) == (0, 0)
    assert prairielearn["message"] == message
    assert QUESTION not in [test["name"] for test in replies["github"]["tests"]]
    assert message in replies["github"]["markdown"]
    assert replies["json"]["waiting"] == worth
    untouched = grade(release(LAB), name=None)["json"]
    assert (
        untouched["waiting"] == worth
        and untouched["max_score"] + worth == sum(exercise_points().values()) + worth
    )


def test_a_known_mistake_is_named_with_its_nudge_everywhere(grade):
    exercise = lab(LAB).exercises[EXERCISE]
    mistake = exercise.misconceptions[0]
    replies = grade(make_submission(wrong_answer(exercise, mistake)))
    (row,) = (row for row in replies["json"]["results"] if row["exercise"] == EXERCISE)
    assert (row["misconception"], row["sentence"], row["nudge"]) == (
        mistake.name,
        mistake.means,
        mistake.nudge,
    )
    gradescope = find_test(replies["gradescope"])
    assert (gradescope["score"], gradescope["status"]) == (0, "failed")
    assert "<strong>To think about:</strong>" in gradescope["output"]
    words = re.sub("<[^>]+>|`", "", gradescope["output"])
    assert mistake.nudge.replace("`", "") in words.replace("&#39;", "'")
    prairielearn = find_test(replies["prairielearn"])
    assert prairielearn["message"] == f"{mistake.means}\nTo think about: {mistake.nudge}"
    assert replies["prairielearn"]["score"] == 1 - exercise_points()[EXERCISE] / sum(
        exercise_points().values()
    )
    assert replies["github"]["status"] == "fail"
    heading = f"### ✗ `{EXERCISE}`: 0 of {exercise_points()[EXERCISE]:g}"
    assert heading in replies["github"]["markdown"]


@pytest.mark.parametrize(
    ("content", "expected_lab"), [(release("qkv-attention"), "qkv-attention"), (b"{}", LAB)]
)
def test_the_cells_tell_the_lab_and_the_files_name_only_where_they_do_not(
    tmp_path, content, expected_lab
):
    path = tmp_path / f"{LAB}.ipynb"
    path.write_bytes(content)
    assert grade_one._read_notebook_and_find_lab(COURSE, path, None)[2].name == expected_lab


def test_the_only_lab_of_a_course_is_meant_and_nothing_is_read_behind_a_link(tmp_path):
    find = grade_one._read_notebook_and_find_lab
    path = tmp_path / "answers.ipynb"
    path.write_bytes(b"{}")
    assert find(COURSE, path, None) == (b"{}", "", None)
    only = replace(COURSE, labs=(LAB,))
    assert find(only, path, None)[2].name == LAB
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / f"{LAB}.ipynb").write_bytes(b"{}")
    for target in ("folder", "nowhere"):
        link = tmp_path / f"link to {target}"
        link.symlink_to(tmp_path / target)
        data, remark, _ = find(COURSE, link, LAB)
        assert data is None and "is not an ordinary file" in remark
    # A package holds one lab of its course only.
    grade_ids = grade_one._map_grade_ids_to_labs(only)
    packed = replace(COURSE, labs=("not-packed", LAB), root=COURSE.root)
    assert grade_ids and grade_one._map_grade_ids_to_labs(packed) == grade_ids


@pytest.mark.parametrize(
    ("grade_ids", "other_lab"),
    [
        (["of-nobody", "qkv", "answer"], ""),
        (["of-nobody", "qkv", "test"], ""),
        (["of-nobody", "qkv", "question"], ""),
        (["other"], ""),
        ([], ""),
        (["qkv", "other"], "qkv-attention"),
        (["of-nobody", "other"], "another lab"),
    ],
)
def test_a_notebook_is_of_another_lab_if_it_has_no_cell_with_points_of_this_one(
    monkeypatch, grade_ids, other_lab
):
    ours = SimpleNamespace(
        name=LAB,
        read_solution=lambda: SimpleNamespace(
            cells=[{"metadata": {"nbgrader": {"grade_id": "other"}}}]
        ),
        exercises_by_answer_cell={"answer": None},
        exercises_by_test_cell={"test": None},
        manual_questions={"question": 1.0},
    )
    labs = {"qkv": "qkv-attention", "other": LAB, "answer": LAB}
    monkeypatch.setattr(grade_one, "_map_grade_ids_to_labs", lambda course: labs)
    cells = [{"metadata": {"nbgrader": {"grade_id": name}}} for name in grade_ids]
    message = grade_one._wrong_lab_message(COURSE, ours, json.dumps({"cells": cells}).encode())
    assert message == (
        f"This is the notebook of {other_lab}; {LAB} is expected here. Submit {LAB}.ipynb."
        if other_lab
        else ""
    )


def test_a_lab_that_cannot_be_marked_and_a_worker_that_fails_are_faults_of_the_grader(monkeypatch):
    asked = []

    class Pool:
        def __init__(self, *arguments, **options):
            asked.append((*arguments, options))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def grade_all(self, submissions):
            asked.extend(submissions)
            return [(None, outcome)]

    reason = ""
    solution = COURSE.solutions / LAB / f"{LAB}.ipynb"
    one = SimpleNamespace(
        name=LAB, unavailable_reason=lambda: reason, course=COURSE, solution_path=solution
    )
    monkeypatch.setattr(grade_one, "report_grader_fault", lambda lab, text: (lab, text))
    monkeypatch.setattr(grade_one, "GradingPool", Pool)
    monkeypatch.setattr(
        grade_one, "find_sandbox_class", lambda labs, name: SimpleNamespace(name=f"box {name}")
    )
    grade = partial(grade_one._grade_or_report_fault, one, b"{}", "a remark", lambda: "auto")
    outcome = ValueError("broken")
    assert grade() == (one, grade_one.describe_error(outcome))
    root, labs, options, workers, submission = (*asked[0], asked[1])
    assert (root, labs, workers) == (str(COURSE.root), [LAB], {"workers": 1})
    salt = hashlib.sha256(solution.read_bytes()).hexdigest()
    assert (options.sandbox, options.salt) == ("box auto", salt)
    assert submission == grade_one.Submission("", LAB, b"{}", "a remark", None)
    outcome = "graded"
    assert grade() == "graded"
    reason = "It needs Keras."
    assert grade() == (one, f"{LAB} cannot be marked here. It needs Keras.")


def test_the_score_is_of_automatically_graded_exercises_and_the_rest_awaits_a_person():
    rows = []
    for name, score, worth in (
        ("a", 1.5, 2.0),
        ("b", None, 4.0),
        ("extra", 0.0, 0.0),
        ("question", 3.0, 8.0),
        ("essay", None, 16.0),
    ):
        rows.append(
            Result(lab=LAB, exercise=name, max_score=worth, verdict=Verdict.PASS, score=score)
        )
    summary = SimpleNamespace(unreadable="")
    result = grade_one.PlatformResult(
        LAB, tuple(rows), summary, frozenset(("question", "essay", "other"))
    )
    assert [row.exercise for row in result.automatic_results] == ["a", "b"]
    assert (result.score, result.max_score, result.manual_max_score) == (1.5, 6.0, 24.0)
    assert replace(result, fault="The grader failed.").manual_max_score == 0
    unreadable = SimpleNamespace(unreadable="The file is empty.")
    assert replace(result, summary=unreadable).manual_max_score == 0


def test_a_solution_without_all_its_points_is_named(monkeypatch):
    rows = [
        SimpleNamespace(exercise=name, score=score, max_score=2.0, message=f"About {name}.")
        for name, score in (("right", 2.0), ("half", 1.0), ("none", None))
    ]
    graded = SimpleNamespace(fault="", automatic_results=rows)
    asked = []

    def grade(course, path, name, choose_sandbox):
        asked.append((course, path, name, choose_sandbox()))
        return graded

    monkeypatch.setattr(solution_check, "grade_for_platform", grade)
    one = SimpleNamespace(name="dice", course="the course", solution_path="dice.ipynb")
    assert solution_check.describe_solutions_without_full_score(one) == [
        f"dice: {name}: the solution does not get its points when it is graded as a submission: "
        f"About {name}. Make its cases smaller, or change `[limits]` in lab.toml."
        for name in ("half", "none")
    ]
    assert asked == [("the course", "dice.ipynb", "dice", "none")]
    graded.fault = "There is no Keras."
    assert solution_check.describe_solutions_without_full_score(one) == [
        "dice: its solution cannot be graded. There is no Keras."
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"<!DOCTYPE html><script>alert(1)</script>", "it is not whole, valid JSON"),
        (b'{"cells": ' + b"[" * 300_000, "it is not whole, valid JSON"),
        (
            release("qkv-attention"),
            f"This is the notebook of qkv-attention; {LAB} is expected here.",
        ),
        (
            b'{"cells": [{"metadata": {"nbgrader": {"grade_id": "of-nobody"}}}]}',
            "This is the notebook of another lab;",
        ),
    ],
    ids=["empty", "page", "deep", "other lab", "unknown lab"],
)
def test_an_unreadable_submission_gets_a_response_with_the_reason(grade, content, sentence):
    replies = grade(content)
    assert replies["json"]["score"] == 0 and sentence in replies["json"]["unreadable"]
    assert replies["json"]["waiting"] == 0, "nobody can grade an answer that cannot be read"
    assert {row["verdict"] for row in replies["json"]["results"]} == {"missing"}
    assert replies["gradescope"]["score"] == 0 and sentence in replies["gradescope"]["output"]
    assert replies["prairielearn"]["gradable"] is False
    assert sentence in replies["prairielearn"]["format_errors"][0]
    assert replies["github"]["status"] == "error" and sentence in replies["github"]["markdown"]
    assert {test["status"] for test in replies["github"]["tests"]} == {"error"}


def test_a_file_of_an_unknown_lab_gets_a_response(grade):
    replies = grade(b"", name=None)
    assert "says which lab it is for" in replies["json"]["unreadable"]
    assert replies["gradescope"]["tests"] == [] and replies["github"]["max_score"] == 0


@pytest.mark.parametrize("name", [LAB, "additive-attention"])
def test_the_lab_is_found_by_the_cells(grade, name):
    assert grade(release(name), name=None)["json"]["lab"] == name


HOSTILE = (
    "<script>alert(1)</script>\\n\\n::set-output name=result::eA==\\n##[error]x "
    "![](//evil/x.png) `code` \\x1b[31m"
)


def test_text_of_a_student_is_escaped_everywhere(grade):
    replies = grade(make_submission(f"def {EXERCISE}(size):\n    raise ValueError('{HOSTILE}')"))
    gradescope = find_test(replies["gradescope"])
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in gradescope["output"]
    assert "<code>code</code>" in gradescope["output"]
    prairielearn = find_test(replies["prairielearn"])
    assert "\n" not in prairielearn["message"] and "\x1b" not in prairielearn["message"]
    github = find_test(replies["github"])
    assert ": :set-output" in github["message"]
    assert not re.search(r"::|##\[|\n|\x1b", github["message"])
    blocks = replies["github"]["markdown"].strip().split("\n\n")
    assert all(re.match(r"#{2,3} |<p>.*</p>$", block) for block in blocks)
    assert "<script" not in json.dumps([replies["gradescope"], replies["github"]["markdown"]])


def test_hidden_cases_and_the_reference_are_not_revealed(grade):
    sizes = {question.inputs.args[0] for question in lab(LAB).exercises[EXERCISE].test_cases()}
    source = f"""\
def {EXERCISE}(size):
    if size not in {sizes}:
        raise ValueError(f"the size was <{{size}}>")
    return np.tril(np.ones((size, size), dtype=bool))"""
    replies = grade(make_submission(source))
    text = json.dumps(replies)
    assert "not with other numbers: in a hidden case" in text and "it raises ValueError" in text
    assert "the size was" not in text
    for cell in lab(LAB).reference_cells.values():
        assert json.dumps(cell)[1:-1] not in text


@pytest.mark.parametrize(
    "error",
    [
        'KeyError(f"HIDDEN{size}")',
        "NameError(f\"name 'HIDDEN{size}' is not defined\")",
        "AttributeError(f\"'numpy.ndarray' object has no attribute 'HIDDEN{size}'\")",
    ],
)
def test_an_error_that_quotes_a_hidden_input_is_explained_without_its_text(grade, error):
    sizes = {question.inputs.args[0] for question in lab(LAB).exercises[EXERCISE].test_cases()}
    source = f"""\
def {EXERCISE}(size):
    if size not in {sizes}:
        raise {error}
    return np.tril(np.ones((size, size), dtype=bool))"""
    text = json.dumps(grade(make_submission(source)))
    assert "in a hidden case" in text and f"it raises {error.partition('(')[0]}" in text
    assert "HIDDEN" not in text


def test_a_failed_grader_gives_no_mark_and_reports_it(grade):
    def find_no_sandbox():
        raise SandboxError("There is no sandbox here.")

    replies = grade(perfect(lab(LAB)), sandbox=find_no_sandbox)
    assert replies["json"]["score"] is None
    assert "There is no sandbox here." in replies["json"]["fault"]
    assert {row["verdict"] for row in replies["json"]["results"]} == {"fault"}
    assert replies["gradescope"]["output"].startswith("<p>The grader failed, so this is no mark.")
    assert replies["prairielearn"]["gradable"] is False
    assert replies["github"]["status"] == "error"
    assert "sandbox" not in json.dumps(
        [replies[format_name] for format_name in ("gradescope", "prairielearn", "github")]
    )


def test_githubs_response_fits_into_an_environment_variable(monkeypatch):
    from autograder.grading.grade_submission import grade_unreadable_submission

    submission = grade_unreadable_submission(lab(LAB), "x")
    long_submission = submission.__class__(
        tuple(
            row.__class__(**row.to_fields() | {"verdict": "wrong", "message": "𝕏" * 5_000})
            for row in submission.results
        ),
        submission.notebook,
        tuple(f"{number}{'𝕏' * 300}" for number in range(20)),
    )
    long_response = RESPONSE_FORMATS["github"](make_platform_result(lab(LAB), long_submission))
    assert len(long_response) < 131_072 - len("AUTOGRADER_RESULTS=")
    monkeypatch.setattr(responses, "MAX_GITHUB_BYTES", 40_000)  # as if there were more exercises
    short_response = RESPONSE_FORMATS["github"](make_platform_result(lab(LAB), long_submission))
    assert len(short_response) < 4 / 3 * 40_000 + 4 < len(long_response)
    assert (
        parse_response("github", short_response)["max_score"]
        == parse_response("github", long_response)["max_score"]
    )


def test_times_are_shown_in_whole_seconds():
    """The student's code decides how long it runs, so that a time could tell what it saw."""
    from autograder.grading.grade_submission import grade_unreadable_submission

    submission = grade_unreadable_submission(lab(LAB), "x")
    first, second, *others = submission.results
    rows = (replace(first, seconds=0.6), replace(second, seconds=0.6), *others)
    result = make_platform_result(lab(LAB), replace(submission, results=rows))
    assert [row.seconds for row in result.results[:3]] == [1.0, 1.0, 0.0]
    assert result.seconds == 1.0  # of 1.2 seconds, and not the sum of the rounded ones


def test_a_file_name_cannot_add_a_line():
    from autograder.grading.grade_submission import grade_unreadable_submission

    submission = grade_unreadable_submission(lab(LAB), "The file was called 'x\n\n::error::y'.")
    result = make_platform_result(lab(LAB), submission)
    prairielearn = parse_response("prairielearn", RESPONSE_FORMATS["prairielearn"](result))
    assert "\n" not in prairielearn["format_errors"][0]
    empty_result = replace(result, results=())
    github = parse_response("github", RESPONSE_FORMATS["github"](empty_result))
    assert "x : :error: :y" in github["tests"][0]["message"]


def test_the_command_writes_the_requested_format(tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "whatever I called it.ipynb").write_bytes(release(LAB))
    output = tmp_path / "results" / "results.json"
    arguments = ("--lab", LAB, "--as", "gradescope", "--output", output)
    ran = autograder("mark", folder, *arguments)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    reply = parse_response("gradescope", (tmp_path / "results" / "results.json").read_text("utf-8"))
    assert "The file was called" in reply["output"]
    (folder / f"{LAB}.ipynb").symlink_to("/etc/passwd")
    ran = autograder("mark", folder, "--lab", LAB)
    assert ran.returncode == 0 and "is not an ordinary file" in json.loads(ran.stdout)["unreadable"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.ipynb",), "There is no file nowhere.ipynb."),
        ((".",), "is a folder: say with --lab which lab's notebook is expected in it."),
        (("README.md", "--lab", "no-lab"), "There is no lab 'no-lab'"),
        (("README.md", "--as", "canvas"), "'canvas' is not one of"),
    ],
)
def test_a_wrong_command_is_one_sentence_and_a_usage_error(arguments, sentence):
    ran = autograder("mark", *arguments)
    assert ran.returncode == 2 and sentence in ran.stderr and ran.stdout == ""
