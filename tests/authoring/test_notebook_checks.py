"""Faults of solution notebooks, each in a lab of a few cells."""

from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.authoring import notebook_checks

ANSWER = "### BEGIN SOLUTION\na = 1\nb = a + 1\nreturn a + b\n### END SOLUTION"


def make_code(source, name="", cell_id="c", tags=(), **roles):
    metadata = {"tags": [*tags]}
    if name:
        metadata["nbgrader"] = {"grade_id": name, **roles}
    return new_code_cell(source, id=cell_id, metadata=metadata)


def make_lab(tmp_path, *cells, builds_on=(), **attributes):
    """Return a lab with the exercises `mean`, `spread` and `score`, which builds on others."""
    exercises = {}
    for name in ("mean", "spread", "score"):
        exercises[name] = SimpleNamespace(name=name, builds_on=[])
    return SimpleNamespace(
        **{
            "name": "lab",
            "cells": [*cells],
            "exercises": exercises,
            "exercises_by_answer_cell": exercises,
            "prerequisites": lambda exercise: [exercises[name] for name in builds_on],
            "release_path": tmp_path / "lab.ipynb",
            "allowed_packages": frozenset({"pandas"}),
            "reference_cells": {},
            "manual_questions": {},
            "mark_schemes": dict,
        }
        | attributes
    )


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        ("[a](b.md) ![c](d.png 'T') [k](<l.png>)", ["b.md", "d.png", "l.png"]),
        ("<a href='e.html'>x</a> <img width=3 src=\"f.png\">", ["e.html", "f.png"]),
        ("`[g](h)` [a](b) ```\n[i](j)\n```", ["b"]),
        ("[a] (b), <p title='c'>", []),
    ],
)
def test_the_targets_of_links_and_pictures_in_texts_are_found(tmp_path, source, targets):
    lab = make_lab(tmp_path, new_markdown_cell(source), new_code_cell("'[a](b)'"))
    assert [target for _, target in notebook_checks._list_links(lab)] == targets


@pytest.mark.parametrize(
    ("target", "is_broken"),
    [
        ("a%20b.md", False),
        ("a%20b.md#part", False),
        ("a%20b.md?raw=1", False),
        ("a%20b.md?raw=1#part", False),
        ("#part", False),
        ("//example.org/x", False),
        ("https://example.org/x", False),
        ("mailto:a@b.org", False),
        ("attachment:none.png", False),
        ("none.md", True),
        ("none.md#part", True),
        ("folder/a.md", True),
    ],
)
def test_a_link_to_a_file_that_is_not_beside_the_students_notebook_is_broken(
    tmp_path, target, is_broken
):
    (tmp_path / "a b.md").write_text("")
    lab = make_lab(tmp_path, new_markdown_cell(f"[a]({target})", id="t"))
    sentences = [*notebook_checks._find_broken_links(lab)]
    assert len(sentences) == is_broken
    assert all(f"the cell 't' links to {target!r}" in sentence for sentence in sentences)


def test_each_picture_needs_an_attachment_of_its_own_name(tmp_path):
    cell = new_markdown_cell("![a](attachment:a.png) ![b](attachment:b.png) ![c](c.png)", id="t")
    cell.attachments = {"a.png": {"image/png": ""}}
    (sentence,) = notebook_checks._find_missing_attachments(make_lab(tmp_path, cell))
    assert "the cell 't' shows the picture 'b.png'" in sentence


@pytest.mark.parametrize(
    ("scheme", "points"),
    [
        ("- 1 point: a\n- 1 point: b", ""),
        ("* **1.5 points** a\n- 0.5 points: b", ""),
        ("- 1.5 points: a\n\n  - 3 points, of which\n- 0.5 points: b", ""),
        ("- 1 point: a", "1 point"),
        ("- 2 points: a\n- 0.5 points: b", "2.5 points"),
        ("- 3 points for each of two", ""),
        ("- 3 points: a\nNo more", ""),
    ],
)
def test_the_points_of_a_marking_scheme_add_up_to_those_of_its_question(tmp_path, scheme, points):
    attributes = {"manual_questions": {"q": 2.0}, "mark_schemes": lambda: {"q": scheme}}
    sentences = [
        *notebook_checks._find_schemes_that_do_not_add_up(make_lab(tmp_path, **attributes))
    ]
    expected = f"'q' gives {points} together, and the cell's `nbgrader` metadata says 2 points."
    assert len(sentences) == bool(points)
    assert all(expected in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("source", "roles", "clause"),
    [
        ("q", {"grade": True, "solution": True}, ""),
        ("q", {"solution": True}, "the cell 'below' is below"),
        ("q", {"grade": True}, "the cell 'below' is below"),
        (None, {}, "no cell is below"),
    ],
)
def test_the_cell_below_a_question_takes_the_answer_of_a_person(tmp_path, source, roles, clause):
    text = "# `mean` (1 point)\n# Why? (2 points)"  # one of the two headings names no exercise
    question = new_markdown_cell(text, id="above", metadata={"nbgrader": {"locked": True}})
    cells = [question]
    if source:
        cells.append(make_code(source, "q", "below", **roles))
    sentences = [*notebook_checks._find_questions_without_answer_cell(make_lab(tmp_path, *cells))]
    assert [sentence.startswith(f"lab: {clause}") for sentence in sentences] == [True] * bool(
        clause
    )


@pytest.mark.parametrize(
    ("source", "mark"),
    [
        (f"x\n    {ANSWER}", ""),
        (ANSWER.replace("### BEGIN SOLUTION", "x  ### BEGIN SOLUTION"), "### BEGIN SOLUTION"),
        (ANSWER.replace("### END SOLUTION", ""), "### END SOLUTION"),
        ("a = 1", "### BEGIN SOLUTION"),
    ],
)
def test_each_mark_of_a_solution_has_a_line(tmp_path, source, mark):
    lab = make_lab(tmp_path, make_code(source, "mean"), make_code("a = 1", "setup"))
    sentences = [*notebook_checks._find_missing_solution_delimiters(lab)]
    assert [f"has no line `{mark}`" in sentence for sentence in sentences] == [True] * bool(mark)


def test_imports_that_answers_may_not_make_are_named_in_order(tmp_path):
    cells = {"setup": "import pandas, numpy, os\nimport zzz, aaa", "mean": "import numpy"}
    (sentence,) = notebook_checks._find_forbidden_imports(make_lab(tmp_path, reference_cells=cells))
    assert sentence.startswith("lab: the cell 'setup' imports aaa and zzz, which not every")
    assert 'Add "aaa" to `imports`' in sentence


def test_an_exercise_is_tested_below_its_answer(tmp_path):
    cells = [make_code("", name) for name in ("mean", "test-mean", "test-spread", "spread")]
    lab = make_lab(tmp_path, *cells)
    del lab.exercises["score"]
    (sentence,) = notebook_checks._find_tests_above_answers(lab)
    assert sentence.startswith("lab: the cell 'test-spread' is above the cell 'spread', so")


@pytest.mark.parametrize(
    ("builds_on", "used"),
    [((), "mean and spread"), (("spread",), "mean"), (("mean", "spread"), "")],
)
def test_an_answer_builds_on_each_exercise_that_it_uses(tmp_path, builds_on, used):
    cells = [make_code("def score(x):\n    return spread(x) / mean(x)", "score")]
    cells += [make_code("mean = 1\nmean", "mean"), make_code("spread(2)", "test")]
    lab = make_lab(tmp_path, *cells, builds_on=builds_on)
    sentences = [*notebook_checks._find_undeclared_prerequisites(lab)]
    assert len(sentences) == bool(used)
    for sentence in sentences:
        assert sentence.startswith(f"lab: the answer score uses {used}, and its exercise does not")
        assert f"Where only {used.replace(' and ', ' or ')} is wrong, score would" in sentence
        assert sentence.endswith(f"`builds_on=[{used.replace(' and ', ', ')}]`.")


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("stup", "setup"),
        ("raise-exception", "raises-exception"),
        ("raises-exception", ""),
        ("nbval-ignore-outputs", "nbval-ignore-output"),
        ("my-own", ""),
    ],
)
def test_a_tag_that_is_nearly_one_with_a_meaning_is_named(tmp_path, tag, meant):
    lab = make_lab(tmp_path, make_code("x", tags=["setup", tag]))
    sentences = [*notebook_checks._find_misspelt_tags(lab)]
    assert [sentence.endswith(f"did you mean {meant!r}?") for sentence in sentences] == [
        True
    ] * bool(meant)


def test_a_cell_that_uses_answers_asks_whether_they_are_ready(tmp_path):
    cells = [
        make_code("mean(spread)", cell_id="plain"),
        make_code("if ready(mean):\n    mean(2)", cell_id="asks"),
        make_code("mean(2)", "test-mean", "test"),
        make_code("def mean(x):\n    return x\nmean(2)", cell_id="own"),
        new_markdown_cell("mean(2)"),
    ]
    (sentence,) = notebook_checks._find_unguarded_cells(make_lab(tmp_path, *cells))
    assert sentence.startswith("lab: the cell 'plain' uses mean and spread. Where the student's")
    assert sentence.endswith("let it begin with `if ready(mean, spread):`.")


@pytest.mark.parametrize(
    ("source", "is_copy"),
    [
        ("def f():\n    a = 1\n\n    b = a + 1\n    return a + b", True),
        ("a = 1\nb = a + 1\nprint(a + b)", False),
        ("b = a + 1\na = 1\nreturn a + b", False),
        ("def mean():\n    # before the solution\n    x = 0", False),
    ],
)
def test_lines_of_an_answer_stand_in_no_other_cell(tmp_path, source, is_copy):
    answer = make_code(
        f"def mean():\n    # before the solution\n    x = 0\n    {ANSWER}", "mean", "answer"
    )
    other = make_code(ANSWER, "spread", "other")
    cells = [answer, other, new_markdown_cell(source), make_code(source, cell_id="copy")]
    lab = make_lab(tmp_path, *cells)
    sentences = [*notebook_checks._find_copied_answers(lab)]
    assert len(sentences) == 2 * is_copy  # the lines stand in two answers
    for sentence, name in zip(sentences, ("mean", "spread"), strict=False):
        assert (
            f"the cell 'copy', which students get, repeats 3 lines of the answer {name}" in sentence
        )


def test_a_build_asks_each_question_about_a_notebook_once(tmp_path):
    """Each fault stands in one sentence, in the order of the questions."""
    locked = {"nbgrader": {"locked": True}}
    cells = [
        make_code("", "test-mean", "test"),
        make_code("mean = 1", "mean", "answer"),
        new_markdown_cell("![a](attachment:a.png) [b](b.md)", id="text"),
        new_markdown_cell("# Why? (2 points)", id="question", metadata=locked),
        make_code("mean(spread)", cell_id="uses", tags=["stup"]),
        make_code(f"mean(score)\n{ANSWER}", "spread", "other"),
        make_code("", "test-spread", "other-test"),
        make_code(ANSWER, cell_id="copy"),
    ]
    lab = make_lab(
        tmp_path,
        *cells,
        reference_cells={"mean": "import zzz"},
        manual_questions={"q": 2.0},
        mark_schemes=lambda: {"q": "- 1 point: a"},
    )
    for sentences, beginnings in (
        (
            notebook_checks.find_notebook_weaknesses(lab),
            [
                "the cell 'answer' has no line `### BEGIN SOLUTION`, so students would not get the "
                "first lines of `mean`. Write the answer between the lines `### BEGIN SOLUTION` and "
                "`### END SOLUTION`.",
                "the cell 'test-mean' is above the cell 'mean', so it runs before `mean` is defined. "
                "Move it below.",
                "the cell 'mean' imports zzz, which not every student has. Add \"zzz\" to `imports` in "
                "course.toml, or, if it is a package of the course, to `library`.",
                "the cell 'text' shows the picture 'a.png', and has no attachment of this name. Drag "
                "the picture into the cell in JupyterLab.",
                "the cell 'uses' is below the manually graded question 'question', where its answer "
                "is to be a manually graded solution cell; of any other cell, students get what you "
                "wrote in it. In JupyterLab's panel nbgrader → Create assignment, set the answer's "
                "cell to “Manually graded answer”. Its metadata `nbgrader` then has `grade` and "
                "`solution`, both true.",
                "the marking scheme of 'q' gives 1 point together, and the cell's `nbgrader` metadata "
                "says 2 points. Correct one of them.",
            ],
        ),
        (
            notebook_checks.find_notebook_warnings(lab),
            [
                "the cell 'uses' uses mean and spread. Where the student's answer is missing or "
                "wrong, it ends in an error; let it begin with `if ready(mean, spread):`.",
                "the cell 'text' links to 'b.md', and there is no such file from the folder of the "
                "students' notebook. Correct the link, or attach the picture to the cell.",
                "the answer spread uses mean and score, and its exercise does not say so. Where only "
                "mean or score is wrong, spread would get no points; write "
                "`builds_on=[mean, score]`.",
                "the cell 'uses' has the tag 'stup', which has no meaning; did you mean 'setup'?",
                "the cell 'copy', which students get, repeats 3 lines of the answer spread. Take them "
                "out, or call `spread`.",
            ],
        ),
    ):
        assert [*sentences] == [f"lab: {sentence}" for sentence in beginnings]


@pytest.mark.parametrize(
    ("source", "metadata", "asks"),
    [
        ("# Why? (2 points)", {"locked": True}, True),
        ("# Why? (1 point, manually graded)", {"locked": True}, True),
        ("# Why? (2 points)", {}, False),
        ("# `mean` (2 points)", {"locked": True}, False),
        ("# `other` (2 points)", {"locked": True}, True),
        ("Why? (2 points)", {"locked": True}, False),
        ("# Why? (2 pointers)", {"locked": True}, False),
        ("# Why? (2 points)", {"locked": True, "solution": True}, False),
        ("# Why? (2 points)", {"locked": True, "task": True}, False),
        ("=== BEGIN MARK SCHEME ===\n- 1 point: a\n=== END MARK SCHEME ===", {}, True),
    ],
)
def test_a_question_that_a_person_marks_has_a_scheme_or_points(tmp_path, source, metadata, asks):
    cell = new_markdown_cell(source, metadata={"nbgrader": metadata})
    assert notebook_checks._asks_for_manual_answer(cell, make_lab(tmp_path)) is asks
    code = new_code_cell(source, metadata={"nbgrader": metadata})
    is_scheme = "SCHEME" in source
    assert notebook_checks._asks_for_manual_answer(code, make_lab(tmp_path)) is is_scheme
