"""One hand-in marked for a platform: `autograder mark`, and what each platform reads of it.

The schemas are those that the platforms document; docs/platforms.md says where.
"""

import base64
import json
import re
from dataclasses import replace

import jsonschema
import nbformat
import pytest
from command import autograder, work_here
from our_course import COURSE, lab, release
from sample_class import perfect, with_answer, wrong_answer

from autograder.grading.platforms import replies
from autograder.grading.platforms.one import mark_one, outcome_of
from autograder.grading.platforms.replies import FORMS
from autograder.grading.sandbox import SandboxError
from autograder.grading.sandbox.choice import why_unavailable

LAB, EXERCISE = "attention-masks", "causal_mask"
QUESTION = "explain-masks"
pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")

FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITIES = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
POINTS = {"type": "number", "minimum": 0}


def record(required=(), **fields):
    """A JSON object with these fields and no others."""
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": fields}


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
            # One without points, and the page leaves out those of all.
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
OURS = record(
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
            sentence=TEXT,
            nudge=TEXT,
        ),
    },
)
SCHEMAS = {"json": OURS, "gradescope": GRADESCOPE, "prairielearn": PRAIRIELEARN, "github": GITHUB}


def read(form, reply):
    """A reply as its platform reads it, held against what that documents."""
    reply = base64.b64decode(reply) if form == "github" else reply
    fields = json.loads(reply)
    jsonschema.validate(fields, SCHEMAS[form])
    return fields


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """Marks a notebook, or bytes, and gives every platform's reply to it, each held against its schema."""
    place = tmp_path_factory.mktemp("platforms")

    def mark(content, name=LAB, sandbox=lambda: "auto"):
        path = place / "hand-in.ipynb"
        path.write_bytes(content if isinstance(content, bytes) else nbformat.writes(content).encode())
        outcome = mark_one(COURSE, path, name, sandbox)
        return {form: read(form, write(outcome)) for form, write in FORMS.items()}

    with pytest.MonkeyPatch.context() as patch:
        work_here(patch.setattr)
        yield mark


def answered(source, exercise=EXERCISE):
    """An otherwise right hand-in with this answer."""
    return with_answer(perfect(lab(LAB)), exercise, source)


def explained(notebook):
    """The same with words where words are asked for."""
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == QUESTION:
            cell.source = "A mask keeps what comes later from being attended to."
    return notebook


def points(name=LAB):
    return {exercise.name: exercise.points for exercise in lab(name).exercises.values()}


def test_a_right_hand_in_gets_everything_that_a_machine_marks(marked):
    replies = marked(explained(perfect(lab(LAB))))
    most = sum(points().values())
    assert replies["json"]["score"] == replies["json"]["max_score"] == replies["gradescope"]["score"] == most
    assert replies["prairielearn"]["score"] == 1
    assert replies["github"]["status"] == "pass"
    assert sum(test["score"] for test in replies["github"]["tests"]) == replies["github"]["max_score"] == most
    worth = {test["name"]: test.get("max_score") for test in replies["gradescope"]["tests"]}
    assert worth == points() | {QUESTION: None}


def test_a_question_for_a_person_is_said_to_wait_and_not_counted(marked):
    replies = marked(explained(perfect(lab(LAB))))
    worth = lab(LAB).by_hand[QUESTION]
    said = f"A person will read this answer and give up to {worth:g} points, which are not counted here."
    (gradescope,) = (test for test in replies["gradescope"]["tests"] if test["name"] == QUESTION)
    assert gradescope["output"] == f"<p>{said}</p>"
    assert "score" not in gradescope and "status" not in gradescope
    (prairielearn,) = (test for test in replies["prairielearn"]["tests"] if test["name"] == QUESTION)
    assert (prairielearn["points"], prairielearn["max_points"], prairielearn["message"]) == (0, 0, said)
    assert QUESTION not in [test["name"] for test in replies["github"]["tests"]]
    assert said in replies["github"]["markdown"]
    assert replies["json"]["waiting"] == worth
    assert marked(release(LAB))["json"]["waiting"] == 0  # nothing was written, so nobody reads it


def test_a_known_mistake_is_named_with_its_nudge_everywhere(marked):
    exercise = lab(LAB).exercises[EXERCISE]
    mistake = exercise.misconceptions[0]
    replies = marked(answered(wrong_answer(exercise, mistake)))
    (row,) = (row for row in replies["json"]["results"] if row["exercise"] == EXERCISE)
    assert (row["misconception"], row["sentence"], row["nudge"]) == (
        mistake.name,
        mistake.means,
        mistake.nudge,
    )
    (gradescope,) = (test for test in replies["gradescope"]["tests"] if test["name"] == EXERCISE)
    assert (gradescope["score"], gradescope["status"]) == (0, "failed")
    assert "<strong>To think about:</strong>" in gradescope["output"]
    words = re.sub("<[^>]+>|`", "", gradescope["output"])
    assert mistake.nudge.replace("`", "") in words.replace("&#39;", "'")
    (prairielearn,) = (test for test in replies["prairielearn"]["tests"] if test["name"] == EXERCISE)
    assert prairielearn["message"] == f"{mistake.means}\nTo think about: {mistake.nudge}"
    assert replies["prairielearn"]["score"] == 1 - points()[EXERCISE] / sum(points().values())
    assert replies["github"]["status"] == "fail"
    assert f"### ✗ `{EXERCISE}`: 0 of {points()[EXERCISE]:g}" in replies["github"]["markdown"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty."),
        (b"<!DOCTYPE html><script>alert(1)</script>", "it is not whole, valid JSON"),
        (b'{"cells": ' + b"[" * 300_000, "it is not whole, valid JSON"),
        (release("qkv-attention"), f"This is the notebook of qkv-attention; {LAB} is due here."),
        (
            b'{"cells": [{"metadata": {"nbgrader": {"grade_id": "of-nobody"}}}]}',
            "This is the notebook of another lab;",
        ),
    ],
    ids=["empty", "page", "deep", "other lab", "unknown lab"],
)
def test_what_cannot_be_marked_gets_an_answer_that_says_why(marked, content, sentence):
    replies = marked(content)
    assert replies["json"]["score"] == 0 and sentence in replies["json"]["unreadable"]
    assert {row["verdict"] for row in replies["json"]["results"]} == {"missing"}
    assert replies["gradescope"]["score"] == 0 and sentence in replies["gradescope"]["output"]
    assert replies["prairielearn"]["gradable"] is False
    assert sentence in replies["prairielearn"]["format_errors"][0]
    assert replies["github"]["status"] == "error" and sentence in replies["github"]["markdown"]
    assert {test["status"] for test in replies["github"]["tests"]} == {"error"}


def test_a_file_that_nobody_knows_the_lab_of_gets_an_answer_too(marked):
    replies = marked(b"", name=None)
    assert "says which lab it is for" in replies["json"]["unreadable"]
    assert replies["gradescope"]["tests"] == [] and replies["github"]["max_score"] == 0


@pytest.mark.parametrize("name", [LAB, "additive-attention"])
def test_the_lab_is_told_by_the_cells(marked, name):
    assert marked(release(name), name=None)["json"]["lab"] == name


HOSTILE = "<script>alert(1)</script>\\n\\n::set-output name=result::eA==\\n##[error]x ![](//evil/x.png) `code` \\x1b[31m"


def test_what_a_student_writes_acts_nowhere(marked):
    replies = marked(answered(f"def {EXERCISE}(size):\n    raise ValueError('{HOSTILE}')"))
    (gradescope,) = (test for test in replies["gradescope"]["tests"] if test["name"] == EXERCISE)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in gradescope["output"]
    assert "<code>code</code>" in gradescope["output"]
    (prairielearn,) = (test for test in replies["prairielearn"]["tests"] if test["name"] == EXERCISE)
    assert "\n" not in prairielearn["message"] and "\x1b" not in prairielearn["message"]
    (github,) = (test for test in replies["github"]["tests"] if test["name"] == EXERCISE)
    assert ": :set-output" in github["message"]
    assert not re.search(r"::|##\[|\n|\x1b", github["message"])
    blocks = replies["github"]["markdown"].strip().split("\n\n")
    assert all(re.match(r"#{2,3} |<p>.*</p>$", block) for block in blocks)
    assert "<script" not in json.dumps([replies["gradescope"], replies["github"]["markdown"]])


def test_nothing_is_told_of_fresh_cases_nor_of_the_reference(marked):
    sizes = {question.inputs.args[0] for question in lab(LAB).exercises[EXERCISE].questions()}
    source = f"""\
def {EXERCISE}(size):
    if size not in {sizes}:
        raise ValueError(f"the size was <{{size}}>")
    return np.tril(np.ones((size, size), dtype=bool))"""
    replies = marked(answered(source))
    said = json.dumps(replies)
    assert "not with other numbers: in a fresh case" in said and "it raises ValueError" in said
    assert "the size was" not in said
    for cell in lab(LAB).reference_cells.values():
        assert json.dumps(cell)[1:-1] not in said


def test_a_grader_that_fails_gives_no_mark_and_says_so(marked):
    def none():
        raise SandboxError("There is no sandbox here.")

    replies = marked(perfect(lab(LAB)), sandbox=none)
    assert replies["json"]["score"] is None and "There is no sandbox here." in replies["json"]["fault"]
    assert {row["verdict"] for row in replies["json"]["results"]} == {"fault"}
    assert replies["gradescope"]["output"].startswith("<p>The grader failed, so this is no mark.")
    assert replies["prairielearn"]["gradable"] is False
    assert replies["github"]["status"] == "error"
    assert "sandbox" not in json.dumps([replies[form] for form in ("gradescope", "prairielearn", "github")])


def test_githubs_reply_fits_into_a_variable_of_the_environment(monkeypatch):
    from autograder.grading.marking import unmarkable

    marked = unmarkable(lab(LAB), "x")
    many = marked.__class__(
        tuple(
            row.__class__(**row.to_fields() | {"verdict": "wrong", "message": "𝕏" * 5_000})
            for row in marked.rows
        ),
        marked.notebook,
        tuple(f"{number}{'𝕏' * 300}" for number in range(20)),
    )
    whole = FORMS["github"](outcome_of(lab(LAB), many))
    assert len(whole) < 131_072 - len("AUTOGRADER_RESULTS=")
    monkeypatch.setattr(replies, "MOST", 40_000)  # as if there were more exercises
    shorter = FORMS["github"](outcome_of(lab(LAB), many))
    assert len(shorter) < 4 / 3 * 40_000 + 4 < len(whole)
    assert read("github", shorter)["max_score"] == read("github", whole)["max_score"]


def test_no_student_makes_up_a_line():
    from autograder.grading.marking import unmarkable

    marked = unmarkable(lab(LAB), "The file was called 'x\n\n::error::y'.")
    outcome = outcome_of(lab(LAB), marked)
    assert "\n" not in read("prairielearn", FORMS["prairielearn"](outcome))["format_errors"][0]
    assert (
        "x : :error: :y" in read("github", FORMS["github"](replace(outcome, rows=())))["tests"][0]["message"]
    )


def test_the_command_writes_what_it_is_asked_for(tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "whatever I called it.ipynb").write_bytes(release(LAB))
    arguments = ("--lab", LAB, "--as", "gradescope", "--output", tmp_path / "results" / "results.json")
    ran = autograder("mark", folder, *arguments, here=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    reply = read("gradescope", (tmp_path / "results" / "results.json").read_text("utf-8"))
    assert "The file was called" in reply["output"]
    (folder / f"{LAB}.ipynb").symlink_to("/etc/passwd")
    ran = autograder("mark", folder, "--lab", LAB, here=True)
    assert ran.returncode == 0 and "is not an ordinary file" in json.loads(ran.stdout)["unreadable"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere.ipynb",), "There is no file nowhere.ipynb."),
        ((".",), "is a folder: say with --lab which lab's notebook is due in it."),
        (("README.md", "--lab", "no-lab"), "There is no lab 'no-lab'"),
        (("README.md", "--as", "canvas"), "'canvas' is not one of"),
    ],
)
def test_what_it_cannot_do_is_one_sentence_and_bad_usage(arguments, sentence):
    ran = autograder("mark", *arguments, here=True)
    assert ran.returncode == 2 and sentence in ran.stderr and ran.stdout == ""
