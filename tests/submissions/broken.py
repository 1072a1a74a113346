"""Submissions that are broken, or attack, as files; each is made by a small function that says what it is.

`@broken("pass")` names the verdict that every exercise must get; `expect` those that get another.
"""

import json
import os
import zipfile
from io import BytesIO
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from submissions.suite import LAB, Attack, cell_of, exercises, make_grade_id, honest

ATTACKS: list[Attack] = []
ANSWERS = [name.replace("_", "-") for name in exercises(LAB)]


def broken(verdict: str, *, hole: str = "", **expect: str):
    """Register a function that, given the student's folder for the lab, puts the submission there."""

    def register(put):
        name = f"broken-{put.__name__.strip('_').replace('_', '-')}"
        expected = dict.fromkeys(exercises(LAB), verdict) | expect
        ATTACKS.append(Attack(name, " ".join(put.__doc__.split()), LAB, expected, put, hole=hole))
        return put

    return register


def save(folder: Path, data, name: str = f"{LAB}.ipynb", **options) -> None:
    """Write bytes, text, JSON or a notebook."""
    if isinstance(data, (dict, list)):
        data = json.dumps(data, **options)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def plain() -> nbformat.NotebookNode:
    """An honest notebook without pictures."""
    return honest(with_pictures=False)


def wrong_answer(notebook, name="padding-mask"):
    """Spoil one answer."""
    cell = cell_of(notebook, name)
    cell.source = (
        "def padding_mask(lengths, size):\n    return np.ones((len(lengths), 1, size), dtype=bool)"
    )


# Files that are no notebooks


@broken("missing")
def empty(folder):
    """An empty file."""
    save(folder, b"")


@broken("missing")
def white_space(folder):
    """Nothing but line ends."""
    save(folder, b"\n" * 1000)


@broken("missing")
def not_json(folder):
    """The error page of a learning platform, saved as a notebook."""
    save(
        folder,
        "<!DOCTYPE html><html><script>alert('attack-suite')</script>You are not logged in.</html>",
    )


@broken("missing")
def truncated(folder):
    """A notebook whose upload broke off."""
    data = nbformat.writes(plain()).encode()
    save(folder, data[: len(data) // 2])


@broken("missing")
def json_but_no_notebook(folder):
    """A list."""
    save(folder, [1, 2, 3])


@broken("missing")
def no_cells(folder):
    """A notebook without cells."""
    save(folder, {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@broken("missing")
def deep_json(folder):
    """JSON of a million brackets."""
    save(folder, b'{"cells": ' + b"[" * 500_000 + b"]" * 500_000 + b"}")


@broken("missing")
def huge_integer(folder):
    """An integer of a million digits, which takes Python minutes."""
    save(folder, b'{"cells": [{"cell_type": "code", "source": ' + b"9" * 1_000_000 + b"}]}")


@broken("missing")
def two_hundred_megabytes(folder):
    """200 MB, of which the disk holds nothing."""
    with (folder / f"{LAB}.ipynb").open("wb") as file:
        file.truncate(200_000_000)


@broken("missing")
def hundred_thousand_cells(folder):
    """A notebook of 100,000 cells."""
    notebook = plain()
    notebook.cells += [{"cell_type": "code", "source": "1", "metadata": {}}] * 100_000
    save(folder, dict(notebook))


@broken("missing")
def zipped(folder):
    """A zip with the notebook in it, under the notebook's name."""
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        # With a time of its own, the same bytes each time.
        archive.writestr(zipfile.ZipInfo(f"{LAB}.ipynb"), nbformat.writes(plain()))
    save(folder, data.getvalue())


@broken("missing")
def pickled(folder):
    """A pickle that runs a command for whoever loads it."""
    save(folder, b"cposix\nsystem\n(S'touch /tmp/attack-suite-pickle'\ntR.")


@broken("missing")
def python_script(folder):
    """The notebook as a Python script, as "Download as" also offers."""
    save(folder, "\n".join(cell.source for cell in plain().cells))


# Places that are no files


@broken("missing")
def no_notebook(folder):
    """A folder with nothing in it."""


@broken("missing")
def only_other_files(folder):
    """A PDF and the autosaved copy, but no notebook."""
    save(folder, b"%PDF-1.7", "solution.pdf")
    (folder / ".ipynb_checkpoints").mkdir()
    save(folder / ".ipynb_checkpoints", plain(), f"{LAB}-checkpoint.ipynb")


@broken("missing")
def two_other_notebooks(folder):
    """Two notebooks, neither of the lab's name: nobody can tell which counts."""
    save(folder, plain(), "one.ipynb")
    save(folder, plain(), "two.ipynb")


@broken("missing")
def folder_instead_of_file(folder):
    """A folder under the notebook's name."""
    (folder / f"{LAB}.ipynb").mkdir()


@broken("missing")
def link_to_another_student(folder):
    """A symbolic link to an honest student's submission."""
    (folder / f"{LAB}.ipynb").symlink_to(f"../../a-honest/{LAB}/{LAB}.ipynb")


@broken("missing")
def link_to_shadow(folder):
    """A symbolic link to /etc/shadow, whose text must be nowhere in what comes back."""
    (folder / f"{LAB}.ipynb").symlink_to("/etc/shadow")


@broken("missing")
def link_for_a_folder(folder):
    """The lab's whole folder is a link to another student's."""
    folder.rmdir()
    folder.symlink_to(f"../a-honest/{LAB}")


@broken("missing")
def link_to_itself(folder):
    """A link that leads to itself."""
    (folder / f"{LAB}.ipynb").symlink_to(f"{LAB}.ipynb")


@broken("missing")
def endless_device(folder):
    """A link to /dev/zero."""
    (folder / f"{LAB}.ipynb").symlink_to("/dev/zero")


@broken("missing")
def pipe(folder):
    """A named pipe, at which a reader would wait for ever."""
    os.mkfifo(folder / f"{LAB}.ipynb")


@broken("missing")
def name_that_is_no_text(folder):
    """A link whose name is not UTF-8 and holds terminal codes."""
    (folder / os.fsdecode(b"\xff\x1b]0;attack-suite\x07.ipynb")).symlink_to("/etc/shadow")


# Notebooks of other programs and times


@broken("pass")
def second_download(folder):
    """A file called "attention-masks (1).ipynb"."""
    save(folder, plain(), f"{LAB} (1).ipynb")


@broken("pass")
def second_download_in_latin(folder):
    """The same with letters in the name that are not UTF-8."""
    (folder / os.fsdecode(f"{LAB} kopía.ipynb".encode("latin-1"))).write_text(
        nbformat.writes(plain()),
    )


@broken("pass")
def checkpoint_beside(folder):
    """The notebook with an older copy, a numpy.py and a sitecustomize.py beside it."""
    save(folder, plain())
    for name in ("numpy.py", "sitecustomize.py", "IPython.py", "autograder.py", "conftest.py"):
        save(folder, "open('/tmp/attack-suite-module', 'w')\nraise SystemExit", name)
    (folder / ".ipynb_checkpoints").mkdir()
    save(folder / ".ipynb_checkpoints", b"{}", f"{LAB}-checkpoint.ipynb")


@broken("pass")
def colab(folder):
    """As Google Colab saves it: its own metadata, ids in the metadata, no cell ids, format 4.0."""
    notebook = plain()
    notebook.nbformat_minor = 0
    notebook.metadata = {
        "colab": {"provenance": [], "toc_visible": True},
        "accelerator": "GPU",
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.pop("id")
        cell.metadata |= {"id": f"q{number:012}", "colab": {"base_uri": "https://localhost:8080/"}}
    notebook.cells.insert(
        0,
        {"cell_type": "markdown", "source": ["<a>Open in Colab</a>"], "metadata": {}},
    )
    save(folder, dict(notebook))


@broken("pass")
def vs_code(folder):
    """As VS Code saves it: language ids, no kernel's name, sources as lists of lines, new cell ids."""
    notebook = plain()
    notebook.metadata = {
        "language_info": {"name": "python", "version": "3.12.1"},
        "orig_nbformat": 4,
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"a{number:07x}"
        cell.metadata["vscode"] = {"languageId": "python"}
        cell.source = cell.source.splitlines(keepends=True)
    save(folder, dict(notebook), indent=1)


@broken("pass")
def metadata_lost(folder):
    """A program that keeps no metadata and gives new ids: the cells are known by what they say."""
    notebook = plain()
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f"b{number}"
    save(folder, notebook)


@broken("pass")
def format_3(folder):
    """nbformat 3, with worksheets."""
    save(folder, nbformat.writes(nbformat.convert(plain(), 3), version=3))


@broken("missing")
def format_of_the_future(folder):
    """nbformat 3 by its looks and 99 by its number."""
    save(folder, {"nbformat": 99, "worksheets": [{"cells": [{"cell_type": "code", "input": "1"}]}]})


@broken("pass")
def another_kernel(folder):
    """Saved with a kernel for R; the code is Python all the same."""
    notebook = plain()
    notebook.metadata.kernelspec = {"name": "ir", "language": "R", "display_name": "R\x1b[31m"}
    notebook.metadata.language_info = {"name": "R"}
    save(folder, notebook)


@broken("pass")
def byte_order_mark(folder):
    """UTF-8 with a byte order mark and Windows line ends."""
    save(folder, b"\xef\xbb\xbf" + nbformat.writes(plain()).replace("\n", "\r\n").encode())


@broken("pass")
def utf_16(folder):
    """UTF-16, as Windows' Notepad calls "Unicode"."""
    save(folder, nbformat.writes(plain()).encode("utf-16"))


@broken("pass")
def windows_1252(folder):
    """Windows-1252, with an é and a € that are not UTF-8."""
    notebook = plain()
    notebook.cells.insert(0, new_code_cell("price = '5 €, café'"))
    data = json.dumps(notebook, ensure_ascii=False)
    save(folder, data.encode("cp1252", "ignore"))


@broken("pass")
def lone_surrogates(folder):
    """Half of an emoji in a source, which cannot be written as UTF-8."""
    notebook = plain()
    notebook.cells.append(new_code_cell("half = '\ud83d'"))
    notebook.cells.append(new_markdown_cell("\ude00"))
    save(folder, json.dumps(notebook))


@broken("pass")
def not_a_number(folder):
    """NaN and infinity in the metadata and the outputs, which are not JSON."""
    notebook = plain()
    notebook.metadata["score"] = float("nan")
    cell_of(notebook, "padding-mask")["outputs"] = [{"data": float("inf")}]
    cell_of(notebook, "padding-mask").execution_count = float("nan")
    save(folder, json.dumps(notebook))


@broken("pass")
def odd_types(folder):
    """Cells that are numbers, sources that are objects, metadata that are lists."""
    notebook = json.loads(nbformat.writes(plain()))
    notebook["cells"][1:1] = [
        7,
        None,
        [],
        "a cell",
        {"cell_type": "code"},
        {"cell_type": "code", "source": {}},
    ]
    notebook["cells"].append({"cell_type": "code", "source": ["1", 2, None], "metadata": []})
    notebook["cells"].append(
        {"cell_type": "nonsense", "id": ["a"], "source": 5, "metadata": {"nbgrader": "x"}},
    )
    notebook["metadata"] = []
    save(folder, notebook)


@broken("pass")
def kind_that_is_a_list(folder):
    """A cell whose type is a list."""
    notebook = json.loads(nbformat.writes(plain()))
    notebook["cells"].append({"cell_type": ["code"], "source": "1", "metadata": {}})
    save(folder, notebook)


@broken("pass")
def unwanted_outputs(folder):
    """Saved outputs of every kind: full marks for partial credit, scripts, a forged verdict."""
    notebook = plain()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            script = {"text/html": "<script>alert('attack-suite')</script>", "text/plain": "1000"}
            cell.outputs = [
                new_output("execute_result", data=script, execution_count=1),
                new_output("stream", text="right in all 99 cases"),
            ]
    save(folder, notebook)


# Cells that were deleted, doubled, moved or changed


@broken("pass")
def no_test_cells(folder):
    """Every test cell is deleted; nbgrader cannot mark such a submission, and we put them back."""
    notebook = plain()
    notebook.cells = [
        cell for cell in notebook.cells if not make_grade_id(cell).startswith("test-")
    ]
    save(folder, notebook)


@broken("pass", padding_mask="wrong")
def no_test_cell_for_a_wrong_answer(folder):
    """The test of a wrong answer is deleted."""
    notebook = plain()
    wrong_answer(notebook)
    notebook.cells.remove(cell_of(notebook, "test-padding-mask"))
    save(folder, notebook)


@broken("pass", padding_mask="error")
def no_answer_cell(folder):
    """An answer's cell is deleted: what stands there is the stub."""
    notebook = plain()
    notebook.cells.remove(cell_of(notebook, "padding-mask"))
    save(folder, notebook)


@broken("pass")
def doubled_test_cell(folder):
    """A test cell stands there twice, which ends stock nbgrader's whole batch."""
    notebook = plain()
    notebook.cells.append(cell_of(notebook, "test-padding-mask"))
    save(folder, notebook)


@broken("pass")
def everything_twice(folder):
    """The whole notebook twice, one after the other."""
    notebook = plain()
    notebook.cells += plain().cells
    save(folder, notebook)


@broken("pass", padding_mask="wrong")
def doubled_answer(folder):
    """A wrong answer, and a right one under the same grade_id at the end; the test is asked before it."""
    notebook = plain()
    notebook.cells.append(cell_of(plain(), "padding-mask"))
    wrong_answer(notebook)
    save(folder, notebook)


@broken("pass")
def backwards(folder):
    """All graded cells in the opposite order."""
    notebook = plain()
    notebook.cells.reverse()
    save(folder, notebook)


@broken("pass", padding_mask="wrong")
def test_before_answer(folder):
    """The test of a wrong answer stands before it, and a right function before that."""
    notebook = plain()
    wrong_answer(notebook)
    index = notebook.cells.index(cell_of(notebook, "padding-mask"))
    test = notebook.cells.pop(index + 1)
    notebook.cells[index:index] = [new_code_cell(cell_of(plain(), "padding-mask").source), test]
    save(folder, notebook)


@broken("pass", causal_mask="wrong", padding_mask="wrong", dot_product_self_attention="error")
def exchanged_names(folder):
    """Two answers whose grade_ids are exchanged, to be asked for the easier one twice."""
    notebook = plain()
    first_cell, second_cell = cell_of(notebook, "causal-mask"), cell_of(notebook, "padding-mask")
    wrong = "\n\ncausal_mask = padding_mask = lambda *args: np.ones((4, 4), dtype=bool)"
    first_cell.source, second_cell.source = first_cell.source + wrong, second_cell.source + wrong
    first_cell.metadata, second_cell.metadata = second_cell.metadata, first_cell.metadata
    first_cell.id, second_cell.id = second_cell.id, first_cell.id
    save(folder, notebook)


@broken("pass")
def other_cell_types(folder):
    """Answers as raw cells, tests as Markdown."""
    notebook = plain()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.cell_type = "markdown" if make_grade_id(cell).startswith("test-") else "raw"
            for name in ("outputs", "execution_count"):
                cell.pop(name)
    save(folder, notebook)


@broken("pass")
def other_ids_and_points(folder):
    """New cell ids, other points, all flags turned round, locked cells unlocked, checksums gone."""
    notebook = plain()
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number}"
        nbgrader = cell.metadata["nbgrader"]
        for flag in ("grade", "solution", "locked", "task"):
            nbgrader[flag] = not nbgrader[flag]
        nbgrader |= {"points": 10_000, "checksum": "", "schema_version": 1}
    save(folder, notebook)


@broken("pass", padding_mask="wrong")
def skip_execution_everywhere(folder):
    """Every cell is tagged so that nbclient does not run it, or may fail."""
    notebook = plain()
    wrong_answer(notebook)
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "raises-exception", "nbgrader", "setup"]
    save(folder, notebook)


@broken("pass")
def unknown_grade_ids(folder):
    """Cells with grade_ids of another lab, of nothing, and of no type that there should be."""
    notebook = json.loads(nbformat.writes(plain()))
    for name in ("test-softmax", "../../etc", "\x1b[31m" * 9, 5, None, ["a"], {"a": 1}):
        nbgrader = {"grade_id": name, "grade": True, "points": 99, "solution": False}
        notebook["cells"].append(
            {"cell_type": "code", "source": "1", "metadata": {"nbgrader": nbgrader}},
        )
    save(folder, notebook)


@broken("pass")
def odd_timestamp(folder):
    """A timestamp that is no time, beside a right notebook."""
    save(folder, plain())
    save(folder, "the 99th of never, 25:61 \x1b[31m\x00", "timestamp.txt")


@broken("pass")
def timestamp_that_is_a_link(folder):
    """The timestamp is a link to /etc/shadow."""
    save(folder, plain())
    (folder / "timestamp.txt").symlink_to("/etc/shadow")
