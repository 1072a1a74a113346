"""Tests of reading and rebuilding submissions: irregularities are repaired and noted."""

import json
from copy import deepcopy

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from our_course import lab
from sample_class import perfect

from autograder.core.notebook_cells import MAX_NOTEBOOK_BYTES
from autograder.grading import rebuild_notebook as rebuilding
from autograder.grading.grade_submission import grade_submission
from autograder.grading.rebuild_notebook import UnreadableNotebook, read_cells, rebuild_notebook
from autograder.sandbox import CellRun, RunLimits
from autograder.values.case_records import CallOutcome

STUB = "def softmax(x, axis=0):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
ANSWER = STUB.replace("raise NotImplementedError()", "return x")


def as_graded_cell(cell, grade_id, *, grade=False, solution=False, points=None):
    cell.id = grade_id
    cell.metadata["nbgrader"] = {
        "grade_id": grade_id,
        "grade": grade,
        "solution": solution,
        "locked": not solution,
        "task": False,
        "schema_version": 3,
        **({"points": points} if points else {}),
    }
    return cell


def make_release():
    return new_notebook(
        cells=[
            new_markdown_cell("# A lab", id="title"),
            as_graded_cell(new_code_cell("import numpy as np"), "setup"),
            as_graded_cell(new_code_cell(STUB), "softmax", solution=True),
            as_graded_cell(new_code_cell("check(softmax)"), "test-softmax", grade=True, points=2),
            as_graded_cell(
                new_code_cell("def attend(q):\n    raise NotImplementedError()"),
                "attend",
                solution=True,
            ),
            as_graded_cell(new_code_cell("check(attend)"), "test-attend", grade=True, points=3),
            as_graded_cell(new_markdown_cell("Why?"), "explain-question"),
            as_graded_cell(
                new_markdown_cell("YOUR ANSWER HERE"),
                "explain",
                grade=True,
                solution=True,
                points=1,
            ),
        ]
    )


@pytest.fixture
def release():
    return make_release()


@pytest.fixture
def submission(release):
    """The release with one answer, as a student would submit it."""
    notebook = deepcopy(release)
    notebook.cells[2].source = ANSWER
    return notebook


def data(notebook):
    return json.dumps(notebook).encode()


def ids(rebuilt):
    return [
        c.metadata.get("nbgrader", {}).get(
            "grade_id",
            c.source,
        )
        for c in rebuilt.notebook.cells
    ]


ORDER = [
    "# A lab",
    "setup",
    "softmax",
    "test-softmax",
    "attend",
    "test-attend",
    "explain-question",
    "explain",
]


def test_an_honest_submission_is_kept_as_it_is(release, submission):
    rebuilt = rebuild_notebook(data(submission), release)
    assert ids(rebuilt) == ORDER
    assert rebuilt.notebook.cells[2].source == ANSWER
    assert rebuilt.notes == ()


def test_a_changed_test_cell_is_put_right(release, submission):
    submission.cells[3].source = "pass"
    submission.cells[3].metadata.nbgrader.points = 100
    submission.cells[3].metadata.tags = ["skip-execution"]
    rebuilt = rebuild_notebook(data(submission), release)
    test = rebuilt.notebook.cells[3]
    assert (test.source, test.metadata.nbgrader.points) == ("check(softmax)", 2)
    assert "tags" not in test.metadata
    assert rebuilt.notes == (
        "The settings of the cell 'test-softmax' were changed; the release's hold.",
        "The locked cell 'test-softmax' was changed; the release's is used.",
    )


def test_deleted_cells_come_back_in_their_places(release, submission):
    del submission.cells[3], submission.cells[1]
    rebuilt = rebuild_notebook(data(submission), release)
    assert sorted(ids(rebuilt)) == sorted(ORDER)
    assert ids(rebuilt).index("test-softmax") == ids(rebuilt).index("softmax") + 1
    assert len(rebuilt.notes) == 2


def test_duplicates_and_extra_cells_become_plain_code(release, submission):
    duplicate = new_code_cell(ANSWER.replace("return x", "return 2 * x"))
    duplicate.metadata = submission.cells[2].metadata
    own_cell = new_code_cell("helper = 1")
    own_cell.metadata.tags = ["skip-execution"]
    submission.cells[3:3] = [duplicate, own_cell, submission.cells[3]]
    rebuilt = rebuild_notebook(data(submission), release)
    plain_cells = [
        c for c in rebuilt.notebook.cells if "nbgrader" not in c.metadata and c.cell_type == "code"
    ]
    assert [c.source for c in plain_cells] == [duplicate.source, "helper = 1"]
    assert all(not c.metadata for c in plain_cells)
    assert ids(rebuilt).count("test-softmax") == 1


def test_reordered_cells_return_to_the_labs_order(release, submission):
    submission.cells.reverse()
    rebuilt = rebuild_notebook(data(submission), release)
    assert [i for i in ids(rebuilt) if i != "# A lab"] == ORDER[1:]
    assert rebuilt.notebook.cells[ids(rebuilt).index("softmax")].source == ANSWER


def test_a_retyped_answer_is_code_again(release, submission):
    submission.cells[2].cell_type = "markdown"
    rebuilt = rebuild_notebook(data(submission), release)
    assert rebuilt.notebook.cells[2].cell_type == "code"
    assert "was a markdown cell" in rebuilt.notes[0]


def test_lost_metadata_is_made_up_from_what_cells_say(release, submission):
    for number, cell in enumerate(submission.cells):
        cell.metadata.clear()
        cell.id = f"x{number}"
    rebuilt = rebuild_notebook(data(submission), release)
    by_id = dict(zip(ids(rebuilt), rebuilt.notebook.cells, strict=True))
    assert by_id["softmax"].source == ANSWER
    assert ids(rebuilt)[1:6] == ORDER[1:6]


def test_an_import_added_to_the_locked_setup_still_runs(release, submission):
    submission.cells[1].source += "\nimport math"
    rebuilt = rebuild_notebook(data(submission), release)
    assert [c.source for c in rebuilt.notebook.cells[1:3]] == [
        "import numpy as np",
        "import numpy as np\nimport math",
    ]


def test_rebuilding_again_changes_nothing(release, submission):
    submission.cells.reverse()
    first = rebuild_notebook(data(submission), release).notebook
    second = rebuild_notebook(data(first), release)
    assert [c.source for c in second.notebook.cells] == [c.source for c in first.cells]
    assert second.notes == ()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The file is empty. Save the notebook and submit it again."),
        (b"{", "The file is damaged or not a notebook: it is not whole, valid JSON"),
        (
            b"[" * 100_000,
            "not whole, valid JSON (nested too deeply). Open your notebook in Jupyter",
        ),
        (b'{\n"cells": [}', "(line 2: Expecting value). Open your notebook in Jupyter, save it, "),
        (b"[]", "it has no cells"),
        (b'{"cells": []}', "The notebook has no cells."),
        (b'{"cells": 3}', "The notebook has no cells."),
        (b"PK\x03\x04...", "is a zip archive"),
        (b"\x81\x8d\x90\xff", "is not text"),
        (b" " * (MAX_NOTEBOOK_BYTES + 1), "at most 20 MB"),
        (b'{"nbformat": 2, "worksheets": 7}', "cannot be converted"),
        (
            json.dumps({"nbformat": 4, "cells": [{"source": "x" * 3_000_000}]}).encode(),
            "3,000,000 characters",
        ),
    ],
)
def test_what_is_no_notebook_gets_one_sentence(content, sentence, release):
    with pytest.raises(UnreadableNotebook) as caught:
        rebuild_notebook(content, release)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "note"),
    [
        ({}, ""),
        (None, ""),
        ([1], ""),
        ({"kernelspec": 3}, ""),
        ({"kernelspec": {"language": "Python"}}, ""),
        ({"kernelspec": {"language": "R"}}, "saved with a kernel for 'R'; it is run as Python."),
        (
            {"kernelspec": {"language": None}},
            "saved with a kernel for 'None'; it is run as Python.",
        ),
        ({"kernelspec": {"language": "x" * 50}}, f"kernel for '{'x' * 40}'; it is run as Python."),
    ],
)
def test_a_kernel_of_another_language_is_noted(metadata, note):
    content = {"metadata": metadata, "cells": [{"cell_type": "code", "source": "x"}]}
    (cell,), notes = read_cells(json.dumps(content).encode())
    assert cell.source == "x"
    assert [text.endswith(note) for text in notes] == ([True] if note else [])


@pytest.mark.parametrize(
    ("cell", "fields"),
    [
        ({}, ("raw", "", {}, "")),
        ({"cell_type": "code", "source": ["a\n", 3, "b"], "id": "i"}, ("code", "a\nb", {}, "i")),
        ({"cell_type": "heading", "source": 3, "metadata": [], "id": 4}, ("raw", "3", {}, "")),
        ({"cell_type": "markdown", "source": "é", "metadata": {"x": 1}},
         ("markdown", "é", {"x": 1}, "")),
    ],
)  # fmt: skip
def test_each_field_of_a_cell_gets_its_type(cell, fields):
    (read_cell,), _ = read_cells(json.dumps({"cells": [3, cell, None]}).encode())
    assert (read_cell.cell_type, read_cell.source, read_cell.metadata, read_cell.id) == fields
    assert read_cell.attachments == {}


def test_old_format_and_windows_encodings_are_read(release, submission):
    submission.cells[0].source = "# Zeit für Übungen"
    text = json.dumps(submission, ensure_ascii=False)
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        rebuilt = rebuild_notebook(text.encode(encoding), release)
        assert rebuilt.notebook.cells[0].source == "# Zeit für Übungen"
        assert encoding in rebuilt.notes[0]
    old = nbformat.convert(submission, 3)
    cells, notes = read_cells(json.dumps(old).encode())
    assert ANSWER in [c.source for c in cells]
    assert "old format 3" in notes[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(
            inner,
            max_size=4,
        )
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)
CELLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "cell_type": st.sampled_from(["code", "markdown", "raw", 7, None, ["code"], {}]),
            "source": JSON,
            "id": JSON,
            "metadata": st.fixed_dictionaries(
                {},
                optional={
                    "tags": JSON,
                    "nbgrader": JSON
                    | st.fixed_dictionaries(
                        {"grade_id": st.sampled_from(ORDER) | JSON}, optional={"points": JSON}
                    ),
                },
            )
            | JSON,
        },
    )
    | JSON,
    max_size=12,
)


@given(
    cells=CELLS,
    fields=st.dictionaries(st.sampled_from(["metadata", "nbformat", "worksheets"]), JSON),
)
def test_any_json_is_rebuilt_or_refused(cells, fields):
    content = json.dumps({"nbformat": 4, **fields, "cells": cells}).encode()
    try:
        rebuilt = rebuild_notebook(content, make_release())
    except UnreadableNotebook:
        return
    cells = [cell for cell in rebuilt.notebook.cells if "nbgrader" in cell.metadata]
    present = [cell.metadata["nbgrader"]["grade_id"] for cell in cells]
    assert present == ORDER[1:]
    nbformat.validate(rebuilt.notebook)


class RecordingSandbox:
    """Sandbox that runs nothing, and records the cells that it was given."""

    name, limits = "noting", RunLimits()

    def explain_missing_packages(self, packages):
        return ""

    def run(self, cells, limits):
        self.sources = [cell.exercise or cell.source for cell in cells]
        return [CellRun() for _ in cells]


@pytest.mark.parametrize("source", ["", "print(1)"])
def test_what_of_the_lab_ends_a_notebook_is_run_only_before_a_cell_of_the_students_own(source):
    """qkv-attention ends with a cell that no exercise needs, and that is no illustration."""
    notebook, sandbox = perfect(lab("qkv-attention")), RecordingSandbox()
    notebook.cells.append(new_code_cell(source))
    data = nbformat.writes(notebook).encode()
    grade_submission(data, lab("qkv-attention"), sandbox, salt="", follow_through=False)
    last = sandbox.sources.index("attention_qkv")
    last_sources = [source[:21] for source in sandbox.sources[last + 1 :]]
    assert last_sources == (["queries, keys, values", "print(1)"] if source else [])


@pytest.mark.parametrize("flag", ["grade", "solution", "locked", "task"])
def test_a_flag_that_a_student_changed_is_noted_and_does_not_hold(release, submission, flag):
    settings = submission.cells[3].metadata["nbgrader"]
    settings[flag] = not settings[flag]
    rebuilt = rebuild_notebook(data(submission), release)
    assert rebuilt.notes == (
        "The settings of the cell 'test-softmax' were changed; the release's hold.",
    )
    assert rebuilt.notebook.cells[3].metadata["nbgrader"] == release.cells[3].metadata["nbgrader"]


class TimedSandbox(RecordingSandbox):
    """Sandbox whose answer cells take 2 seconds, and the functions' calls a quarter of one."""

    def run(self, cells, limits):
        runs = []
        for cell in cells:
            answers = [CallOutcome(1.0, "float") for _ in cell.call_inputs]
            runs.append(CellRun(seconds=0.25 if cell.exercise else 2.0, outcomes=answers))
        return runs


def test_the_seconds_of_an_exercise_are_those_of_its_answer_and_its_calls():
    submission = nbformat.writes(perfect(lab("qkv-attention"))).encode()
    graded = grade_submission(
        submission, lab("qkv-attention"), TimedSandbox(), salt="", follow_through=False
    )
    by_exercise = {result.exercise: result.seconds for result in graded.results}
    assert by_exercise["softmax"] == 2.25


@pytest.mark.parametrize(
    ("places", "restored"),
    [
        (["b", "c"], ["a", "b", "c"]),
        (["a", "x", "c"], ["a", "b", "x", "c"]),
        (["x", "b", "c"], ["a", "x", "b", "c"]),
        (["a", "b", "x"], ["a", "b", "c", "x"]),
        (["x"], ["a", "b", "c", "x"]),
    ],
)
def test_a_deleted_cell_comes_back_after_the_one_before_it(places, restored):
    plain = new_markdown_cell("x")
    notes = []
    cells = [plain if place == "x" else place for place in places]
    found = rebuilding._restore_graded_cells(cells, ["a", "b", "c"], notes)
    assert ["x" if place is plain else place for place in found] == restored and not notes


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (3, "n2"),
        (4, "There was 1 more remark like these."),
        (1003, "There were 1,000 more remarks like these."),
    ],
)
def test_of_too_many_remarks_the_others_are_counted(count, last, monkeypatch):
    monkeypatch.setattr(rebuilding, "MAX_NOTES", 3)
    monkeypatch.setattr(rebuilding, "MAX_NOTE_CHARACTERS", 40)
    notes = rebuilding.limit_notes([f"n{number}" for number in range(count)] * 2)
    assert notes[:3] == ("n0", "n1", "n2") and notes[-1] == last
    assert len(notes) == min(count, 4)
    assert rebuilding.limit_notes(["a" * 40, "a" * 41]) == ("a" * 40, "a" * 40 + "…")


@pytest.mark.parametrize(
    ("settings_of_cell", "tags", "has_changed"),
    [
        ({}, None, False),
        ({"solution": True, "grade": False}, ["keep"], False),
        ({"solution": False}, None, True),
        ({"grade": True}, None, True),
        ({"schema_version": 1}, None, False),
        ({}, [], False),
        ({}, ["other"], True),
    ],
)
def test_only_other_flags_and_tags_are_changed_settings(settings_of_cell, tags, has_changed):
    release = as_graded_cell(new_code_cell("x"), "a", solution=True)
    release.metadata["tags"] = ["keep"]
    cell = new_code_cell("x", metadata={"nbgrader": settings_of_cell})
    if tags is not None:
        cell.metadata["tags"] = tags
    assert rebuilding._has_changed_grading_settings(cell, release) == has_changed


@pytest.mark.parametrize(
    ("make_cell", "source", "solution", "is_same"),
    [
        (new_code_cell, " def f(x):\n    pass\n", False, True),
        (new_code_cell, "def f(x, y):\n    return (", True, True),
        (new_code_cell, "def f(x, y):\n    return x", False, False),
        (new_code_cell, "def g(x):\n    pass", True, False),
        (new_markdown_cell, "def f(x):\n    pass", True, False),
    ],
)
def test_a_cell_without_its_name_is_known_by_what_it_says(make_cell, source, solution, is_same):
    release = as_graded_cell(new_code_cell("def f(x):\n    pass"), "a", solution=solution)
    assert rebuilding._is_same_or_defines_same_name(make_cell(source), release) == is_same


def test_a_text_is_not_known_by_functions_that_it_speaks_of():
    release = as_graded_cell(new_markdown_cell("def f(x): what is it?"), "a", solution=True)
    for source, is_same in (("def f(x): mine", False), ("def f(x): what is it? ", True)):
        cell = new_markdown_cell(source)
        assert rebuilding._is_same_or_defines_same_name(cell, release) == is_same


def test_the_cells_of_all_worksheets_of_an_old_notebook_have_one_limit(monkeypatch):
    monkeypatch.setattr(rebuilding, "MAX_CELLS", 3)

    def convert(*counts):
        cell = {"cell_type": "markdown", "source": "x", "metadata": {}}
        sheets = [{"cells": [cell] * count, "metadata": {}} for count in counts]
        content = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": sheets}
        return rebuilding._upgrade_to_format_4(content).cells

    assert len(convert(2, 1)) == 3
    with pytest.raises(UnreadableNotebook, match="has 4 cells; at most 3 can be marked"):
        convert(2, 2)


def test_a_notebook_has_up_to_so_many_characters_and_lists(monkeypatch):
    content = data({"cells": [{"source": "abc"}, {"source": "de"}]})
    for limit, most, sentence in (
        ("MAX_SOURCE_CHARACTERS", 5, "cells have 5 characters; at most 4 can be marked"),
        ("MAX_JSON_CONTAINERS", 4, "holds more lists and objects"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(rebuilding, limit, most)
            assert len(read_cells(content)[0]) == 2
            patch.setattr(rebuilding, limit, most - 1)
            with pytest.raises(UnreadableNotebook, match=sentence):
                read_cells(content)


def test_of_two_equal_cells_without_their_names_each_is_known_once():
    """Two questions are handed out with the same words, and a program has removed all metadata."""
    metadata = {"nbgrader": {"grade_id": "first", "solution": True}}
    first = new_markdown_cell("YOUR ANSWER HERE", metadata=metadata)
    second = new_markdown_cell("YOUR ANSWER HERE", metadata={"nbgrader": {"grade_id": "second"}})
    cells = [new_markdown_cell("YOUR ANSWER HERE") for _ in range(2)]
    release, notes = new_notebook(cells=[first, second]), []
    names = rebuilding._match_to_graded_cells(
        cells, release, {"first": first, "second": second}, notes
    )
    assert names == ["first", "second"] and len(notes) == 2
