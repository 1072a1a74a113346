"""Imports of small notebooks: the report, the exercises, the checks and the cells of the lab.

`notebooks.txt` holds the notebooks and what is expected of each. Their cells run in this process,
so that many can be imported. After an intended change, this writes the expectations anew:

UPDATE_EXPECTATIONS=1 pytest tests/course_import/test_import_in_process.py
"""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest

from autograder.values.case_records import DeferredCall
from course_import import importer, record_calls
from course_import.importer import ImportReport, _NotebookImporter
from course_import.nbgrader_source import SourceCell
from course_import.record_calls import RecordedCall, _NotebookRun, _unpack_recording

NOTEBOOKS_FILE = Path(__file__).with_name("notebooks.txt")
PART_HEAD = re.compile(r"^--- (.+)\n?", re.M)


def read_notebooks():
    """Return the parts of each notebook, pairs of a head and a text, and what is expected of it."""
    notebooks = {}
    for block in re.split(r"^##### ", NOTEBOOKS_FILE.read_text("utf-8"), flags=re.M)[1:]:
        name, _, rest = block.partition("\n")
        source, _, expected = rest.partition("=====\n")
        _, *parts = PART_HEAD.split(source)
        texts = [text.removesuffix("\n") for text in parts[1::2]]
        notebooks[name] = [*zip(parts[::2], texts, strict=True)], expected.rstrip("\n")
    return notebooks


NOTEBOOKS = read_notebooks()


def make_cell(number, role, points, source):
    if role == "solution":
        source = f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"
    name = ""
    if role not in ("given", "text"):
        name = f"c{number}"
    is_code = role in ("given", "solution", "test") or "(" in source
    return SourceCell(number, role, source, name, float(points or 0), is_code)


def import_in_process(parts, folder):
    """Import a notebook as `import_notebook` does; return what `summarise` says of it."""
    cells, read_files, course_exercises, is_otter = [], {}, set(), False
    for head, text in parts:
        match head.split():
            case ["otter"]:
                is_otter = True
            case ["file", name]:
                (folder / name).write_text(text)
            case ["exercise", *_, name]:
                course_exercises.add(name)
            case ["cell", number, "reads", name]:
                read_files[int(number)] = {name}
            case _:
                role, points = re.fullmatch(r"(.+?) ?([\d.]*)", head).groups()
                cells.append(make_cell(len(cells) + 1, role, points, text))
    importer = _NotebookImporter("lab", cells, is_otter, course_exercises)
    notebook_run = _NotebookRun()
    for cell in importer.list_cells_to_run():
        notebook_run.run_cell(json.loads(json.dumps(cell)))
    notebook_run.files = read_files
    recording = _unpack_recording(notebook_run.encode_recording())
    course = SimpleNamespace(library=(), imports=(), root=folder / "course")
    importer.plan_exercises(recording, folder, course)
    files = importer.make_files("source.ipynb")
    return summarise(importer, files)


def summarise(importer, files):
    """Return what is particular to an import: the report, the exercises, checks and new cells."""
    lines = []
    report = ImportReport("lab", [*importer.reports.values()], importer.list_allowed_packages())
    for line in report.text().rstrip("\n").split("\n")[2:]:
        if line and not line.startswith("Answers may import"):
            lines.append(line.removeprefix("- cell "))
    lines.append(files["lab.toml"].partition("\n")[0])
    for name, text in files.items():
        if name.endswith(".py"):
            start = (f"{name[:-3]} = ", "@", "    return ")
            lines += [line.strip() for line in text.split("\n") if line.startswith(start)]
    is_equality = False
    for line in importer.make_checks_module().split("\n")[1:]:
        is_equality = is_equality or line.startswith("def equals_")
        if line.startswith((" " * (8 if is_equality else 4), "def")):
            lines.append(f"> {line}")
    for cell in nbformat.reads(files["lab.ipynb"], 4).cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        points = nbgrader.get("points", "")
        name = nbgrader.get("grade_id", "") or ", ".join(cell.metadata.get("tags", ["text"]))
        indented = cell.source.replace("\n", "\n    ")
        lines.append(f"[{name} {points}".rstrip() + f"] {indented}")
    return "\n".join(lines)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder of the notebook, in which its cells run."""
    (tmp_path / "source").mkdir()
    monkeypatch.chdir(tmp_path / "source")
    # An audit hook would watch all files of this process, until its end.
    monkeypatch.setattr(record_calls.sys, "addaudithook", lambda hook: None)
    return tmp_path / "source"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_becomes_a_lab_and_its_report_says_how(folder, name):
    parts, expected = NOTEBOOKS[name]
    result = import_in_process(parts, folder)
    if "UPDATE_EXPECTATIONS" in os.environ:
        text = NOTEBOOKS_FILE.read_text("utf-8")
        NOTEBOOKS_FILE.write_text(text.replace(f"=====\n{expected}", f"=====\n{result}"), "utf-8")
    assert result.split("\n") == expected.split("\n")


def test_an_exercise_has_so_many_cases_at_most(folder, monkeypatch):
    monkeypatch.setattr(importer, "MAX_CASES", 3)
    for count, remark in ((3, ""), (4, "1 of the 4 calls of `double`: these are enough")):
        test = "\n".join(f"assert double({number}) == {2 * number}" for number in range(count))
        parts = [("solution", "def double(x):\n    return 2 * x"), ("test 2", test)]
        summary = import_in_process(parts, folder)
        assert summary.count("@double.case(") == 3
        assert ("these are enough" in summary) == bool(remark) and remark in summary


def test_the_id_of_an_imported_cell_is_short_enough():
    plan = SimpleNamespace(name="x" * 80, variables=["a"], points=1.0)
    answer = importer._add_answer_metadata(nbformat.v4.new_code_cell(""), plan.name)
    cells = [answer, importer._make_collecting_cell(plan), importer._make_check_cell(plan)]
    assert [len(cell.id) for cell in cells] == [importer.MAX_GRADE_ID_CHARACTERS] * 3
    nbformat.validate(nbformat.v4.new_notebook(cells=cells))


def test_a_call_is_recorded_with_its_arguments_as_they_were_before_it():
    recorder = record_calls._NotebookCallRecorder()

    def sort(values):
        values.sort()
        return values

    def double(values):
        return [2 * value for value in values]

    recorder.cell = 3
    for function in (sort, double):
        recorder.wrap(function.__name__, function)([3, 1, 2])
    assert [(call.function, call.args, call.result) for call, _ in recorder.calls] == [
        ("sort", ([3, 1, 2],), [1, 2, 3]),
        ("double", ([3, 1, 2],), [6, 2, 4]),
    ]
    assert [(call.function, call.args, call.problem) for call in recorder.repeat_calls()] == [
        ("sort", (), "it changes its argument values"),
        ("double", ([3, 1, 2],), ""),
    ]


def test_only_the_outer_calls_of_test_cells_are_recorded_and_so_many_of_a_function(monkeypatch):
    monkeypatch.setattr(record_calls, "MAX_CALLS", 2)
    recorder = record_calls._NotebookCallRecorder()
    namespace = {}
    exec("def divide(x, by=1): return x / by\ndef halve(x): return divide(x, by=2)", namespace)
    for name in ("divide", "halve"):
        namespace[name] = recorder.wrap(name, namespace[name])

    def run(cell, source):
        recorder.cell = cell
        exec(compile(source, f"<cell {cell}>", "exec"), namespace)

    run(None, "divide(1)")
    run(4, "halve(4)\n\n[divide(6, by=3)]")
    with pytest.raises(ZeroDivisionError):
        run(5, "\ndivide(1, 0)")
    run(5, "for x in range(3):\n    divide(x)\nhalve(8)")
    assert [call for call, _ in recorder.calls] == [
        RecordedCall(4, 1, "halve", (4,), {}, 2.0),
        RecordedCall(4, 3, "divide", (6,), {"by": 3}, 2.0),
        RecordedCall(5, 2, "divide", (1, 0), {}, None, error="ZeroDivisionError"),
        RecordedCall(5, 2, "divide", (0,), {}, 0.0),
        RecordedCall(5, 3, "halve", (8,), {}, 4.0),
    ]


@pytest.mark.parametrize(
    ("arguments", "keywords", "result", "call"),
    [
        ([(1, ""), (2, "")], ["k"], 3, RecordedCall(0, 0, "f", (1,), {"k": 2}, 3)),
        ([(1, ""), (2, "")], ["j", "k"], None, RecordedCall(0, 0, "f", (), {"j": 1, "k": 2})),
        ([(None, "")], [], None, RecordedCall(0, 0, "f", (None,))),
        (
            [(1, ""), (None, "a module"), (None, "a map")],
            ["k"],
            iter([]),
            RecordedCall(0, 0, "f", problem="an argument is a module"),
        ),
        ([(1, "")], [], map(abs, []), RecordedCall(0, 0, "f", problem="it returns a map")),
    ],
)
def test_a_call_that_is_no_plain_data_has_a_problem(arguments, keywords, result, call):
    assert record_calls._make_call("f", arguments, keywords, result) == call


UNREPEATABLE = {"args": (), "problem": "it gives something else when it is called again"}


@pytest.mark.parametrize(
    ("source", "fields", "changes"),
    [
        ("print(x)", {}, {"has_printed": True}),
        ("print()", {}, {}),
        ("print(x)\n    return 3", {"result": 3}, {}),
        ("print(x)\n    return x.no", {"error": "AttributeError"}, {}),
        ("x.append(1)", {}, {"args": (), "problem": "it changes its argument x"}),
        ("x.append(1)\n    return x.no", {"error": "AttributeError"}, {}),
        ("return x.no", {"error": "ValueError"}, UNREPEATABLE),
        ("return x.no", {}, UNREPEATABLE),
        ("return 3", {"error": "ValueError"}, UNREPEATABLE),
        ("return 3", {"result": 4}, UNREPEATABLE | {"result": None}),
        ("return 3", {"result": 3}, {}),
    ],
)
def test_a_call_is_repeated_to_see_that_it_gives_the_same_again(source, fields, changes):
    namespace = {}
    exec(f"def f(x):\n    {source}", namespace)
    call = RecordedCall(3, 1, "f", ([5],), **fields)
    expected = RecordedCall(**{**vars(call), **changes})
    assert record_calls._mark_unrepeatable_call(call, namespace["f"]) == expected


@pytest.mark.parametrize(
    ("value", "call"),
    [
        (np.datetime64("2026-01-02"), DeferredCall("numpy:datetime64", ("2026-01-02", "D"))),
        (np.timedelta64(3, "h"), DeferredCall("numpy:timedelta64", (3, "h"))),
        (
            pd.Timestamp("2026-01-02 03:04"),
            DeferredCall("pandas:Timestamp", ("2026-01-02 03:04:00",)),
        ),
        (pd.Timedelta("90min"), DeferredCall("pandas:Timedelta", ("0 days 01:30:00",))),
        (np.datetime64("NaT"), None),
        (np.datetime64("2026-01-02", "2D"), None),
        (np.timedelta64(3), None),
        (pd.Timestamp, None),
        (3, None),
    ],
)
def test_a_date_that_is_an_argument_becomes_the_call_that_makes_it(value, call):
    argument, problem = record_calls._to_argument(value)
    assert isinstance(argument, DeferredCall) == (call is not None)
    if call is not None:
        assert (argument, problem) == (call, "")


def test_a_number_of_numpy_s_stays_one_as_an_argument():
    for value in (np.float32(1.5), np.int8(3)):
        argument, problem = record_calls._to_argument(value)
        assert argument is value and problem == ""
    truth, _ = record_calls._to_argument(np.bool_(True))
    assert truth is True
    assert record_calls._to_argument(iter([])) == (None, "a list_iterator")


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (True, False),
        (3, -60),
        (0.5, -60.0),
        ("a", "a?"),
        ("raised", "raised"),
        ("printed", "printed"),
        ([1, (2.0, "b")], [-30, (-10.0, "b?")]),
        ({"a": 1, "b": [2]}, {"a": -60, "b": [-30]}),
        (None, None),
        (b"a", b"a"),
    ],
)
def test_very_different_values_have_the_same_form(value, other):
    found = record_calls._replace_values(value, -60.0)
    assert found == other and type(found) is type(value)


def test_very_different_arrays_have_the_same_form():
    found = record_calls._replace_values(np.zeros((2, 2), np.float32), 12)
    assert found.dtype == np.float32 and found.tolist() == [[12, 6], [4, 3]]
    found = record_calls._replace_values(np.zeros(3, np.int16), 12)
    assert found.dtype == np.int16 and found.tolist() == [12, 6, 4]
    texts = np.array(["a"])
    assert record_calls._replace_values(texts, 12) is texts
    table, _ = record_calls._to_value(pd.DataFrame({"a": [3.0, 4.0]}))
    blank = record_calls._replace_values(table, 12)
    assert type(blank) is type(table) and blank.data[0].values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("event", "path", "mode", "flags", "read", "own"),
    [
        ("open", "a.csv", "r", 0, {"a.csv"}, set()),
        ("open", "data/a.csv", None, os.O_RDONLY, {"data/a.csv"}, set()),
        ("open", "data/../a.csv", "rb", None, {"a.csv"}, set()),
        ("open", "helpers.py", "r", 0, set(), set()),
        ("open", "__pycache__/helpers.pyc", "rb", 0, set(), set()),
        ("open", "../a.csv", "r", 0, set(), set()),
        ("open", "/etc/hosts", "r", 0, set(), set()),
        ("open", b"a.csv", "r", 0, set(), set()),
        ("open", 3, "r", 0, set(), set()),
        ("exec", "a.csv", "r", 0, set(), set()),
        ("open", "mine.csv", "r", 0, set(), set()),
        *(("open", "a.csv", mode, 0, set(), {"a.csv"}) for mode in ("w", "ab", "x", "r+")),
        *(
            ("open", "a.csv", None, flags, set(), {"a.csv"})
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT)
        ),
    ],
)
def test_files_that_a_cell_reads_beside_the_notebook_are_noted(
    folder, event, path, mode, flags, read, own
):
    run = _NotebookRun()
    run.own_files.add("mine.csv")
    run._note_opened_file(event, (path, mode, flags))
    assert run.files == {} and run.own_files == {"mine.csv"}, "no cell is running"
    run.running_cell = 3
    run._note_opened_file(event, (path, mode, flags))
    assert run.files == ({3: read} if read else {})
    assert run.own_files == own | {"mine.csv"}


def make_cell_to_run(number, source, **fields):
    cell = {"number": number, "source": source, "functions": [], "is_test": False}
    return cell | {"variables": [], "tests": []} | fields


def test_a_run_goes_on_after_an_error_and_tries_no_test_of_that_cell(folder, monkeypatch):
    run = _NotebookRun()
    tried = []
    monkeypatch.setattr(run, "_try_tests", lambda tests, variables: tried.append(tests))
    run.run_cell(make_cell_to_run(1, "x = 1\n1 / 0", tests=["a"]))
    run.run_cell(make_cell_to_run(2, f"raise SystemExit('{'x' * 400}')", tests=["b"]))
    run.run_cell(make_cell_to_run(3, "y = x", tests=["c"]))
    assert run.errors[1] == "ZeroDivisionError: division by zero"
    assert len(run.errors[2]) == 300 and run.errors[2].startswith("SystemExit: xxx")
    assert run.namespace["y"] == 1 and tried == [["c"]]
    with pytest.raises(KeyboardInterrupt):
        run.run_cell(make_cell_to_run(4, "raise KeyboardInterrupt"))
    moments = iter((0.0, record_calls.MAX_CPU_SECONDS / 20, 0.0, 1.0))
    monkeypatch.setattr(record_calls, "process_time", lambda: next(moments))
    run.run_cell(make_cell_to_run(5, "y = 2", tests=["of a slow cell"]))
    run.run_cell(make_cell_to_run(6, "y = 3", tests=["of a quick cell"]))
    assert tried == [["c"], ["of a quick cell"]]


def test_a_function_is_recorded_once_and_again_when_it_is_defined_anew(folder):
    run = _NotebookRun()
    define = make_cell_to_run(1, "def f(x):\n    return x", functions=["f", "g", "h"])
    run.run_cell(define | {"source": f"{define['source']}\ng = 3"})
    first = run.namespace["f"]
    run.run_cell(make_cell_to_run(2, "", functions=["f"]))
    assert run.namespace["f"] is first and run.namespace["g"] == 3
    run.run_cell(make_cell_to_run(3, "f(1)", variables=["g", "no"], is_test=True))
    run.run_cell(make_cell_to_run(4, "f(2)"))
    run.run_cell(make_cell_to_run(5, "def f(x):\n    return 2 * x", functions=["f"]))
    run.run_cell(make_cell_to_run(6, "f(3)", is_test=True))
    calls = [(call.cell, call.args, call.result) for call, _ in run.recorder.calls]
    assert calls == [(3, (1,), 1), (6, (3,), 6)]
    assert [(number, name) for number, name, *_ in run.variables] == [(3, "g")]
