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
import pytest

from course_import import importer, record_calls
from course_import.importer import ImportReport, _NotebookImporter
from course_import.nbgrader_source import SourceCell
from course_import.record_calls import _NotebookRun, _unpack_recording

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
