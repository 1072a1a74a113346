"""Rebuilding of a submitted notebook: the student's answers are put into the released notebook.

Test cells, questions, metadata and the order of the graded cells are taken from the released
notebook. The content of the answer cells, and of cells that the student added, is taken from the
submission. Irregularities in the submitted file are repaired, and noted for the student.
"""

import json
import re
import warnings
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.core.files import decode_text
from autograder.core.notebook_cells import MAX_NOTEBOOK_BYTES
from autograder.core.text_format import make_encodable
from autograder.grading.sanitise import extract_pictures

MAX_CELLS = 1_000
MAX_SOURCE_CHARACTERS = 2_000_000  # of all cells together
MAX_JSON_CONTAINERS = 400_000  # JSON lists and objects in the file
MAX_NOTES = 20
MAX_NOTE_CHARACTERS = 300
# Flags of nbgrader in a cell's metadata; if a student has changed one, a note says so. "points" is
# left out, since the instructor may have changed the points after the release.
_GRADING_FLAGS = ("grade", "solution", "locked", "task")


class UnreadableNotebook(Exception):
    """Error for a submitted file that is no notebook. The text is a sentence for the student."""


@dataclass(frozen=True)
class RebuiltNotebook:
    """Notebook made of the released test cells and the student's answers, ready to be run.

    Parameters
    ----------
    notebook : NotebookNode
        Notebook without outputs. The graded cells have the metadata of the released notebook.
    notes : tuple of str
        Sentences about irregularities of the file.
    """

    notebook: NotebookNode
    notes: tuple[str, ...]


def read_cells(data: bytes) -> tuple[list[NotebookNode], list[str]]:
    """Read the cells of a notebook file.

    Returns
    -------
    cells : list of NotebookNode
        Each cell has a valid `cell_type`, a str as `source` and a dict as `metadata`, even if they
        are missing or of another type in the file.
    notes : list of str
        Sentences about irregularities of the file.

    Raises
    ------
    UnreadableNotebook
        If the file is no notebook, or too large.
    """
    _refuse_unreadable_bytes(data)
    content, notes = _parse_json_and_note_encoding(data)
    language = _as_dict(_as_dict(content.get("metadata")).get("kernelspec")).get(
        "language",
        "python",
    )
    if str(language).lower() != "python":
        kernel = str(language)[:40]
        notes.append(f"The notebook was saved with a kernel for {kernel!r}; it is run as Python.")
    if "cells" not in content:
        version = str(content.get("nbformat"))[:20]
        notes.append(f"The notebook has the old format {version}; it was converted.")
        content = _upgrade_to_format_4(content)
    raw_cells = _select_dicts(content.get("cells"))
    if not raw_cells:
        raise UnreadableNotebook("The notebook has no cells.")
    _check_cell_count(len(raw_cells))
    cells = [_normalise_cell(cell) for cell in raw_cells]
    characters = sum(len(cell.source) for cell in cells)
    if characters > MAX_SOURCE_CHARACTERS:
        raise UnreadableNotebook(
            f"The notebook's cells have {characters:,} characters; at most "
            f"{MAX_SOURCE_CHARACTERS:,} can be marked. Take out what is no part of the lab and "
            "submit it again."
        )
    return cells, notes


def _refuse_unreadable_bytes(data: bytes) -> None:
    """Raise `UnreadableNotebook` if a file is too large, empty, or a zip archive.

    A file with too many JSON lists and objects is refused too.
    """
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise UnreadableNotebook(
            f"The file is {len(data) / 1e6:.0f} MB; a notebook of at most "
            f"{MAX_NOTEBOOK_BYTES / 1e6:.0f} MB can be marked. Clear its outputs and submit it "
            "again."
        )
    if not data.strip():
        raise UnreadableNotebook("The file is empty. Save the notebook and submit it again.")
    if data.startswith(b"PK\x03\x04"):
        raise UnreadableNotebook(
            "The file is a zip archive. Unpack it, and submit the notebook that is inside."
        )
    # Count the brackets before parsing the file: a file of empty lists takes 60 times its size in
    # memory when it is parsed.
    if data.count(b"{") + data.count(b"[") > MAX_JSON_CONTAINERS:
        raise UnreadableNotebook(
            "The file holds more lists and objects than a notebook has. "
            "Clear its outputs and submit it again."
        )


def _parse_json_and_note_encoding(data: bytes) -> tuple[dict, list[str]]:
    """Return the notebook's JSON object, and a note about its encoding if that is not UTF-8."""
    text, encoding = decode_text(data)
    if encoding == "cp1252" and "\ufffd" in text:
        sentence = "The file is not text, so it is no notebook. Submit the .ipynb file itself."
        raise UnreadableNotebook(sentence)
    notes = []
    if encoding != "utf-8":
        notes.append(f"The file is not encoded as UTF-8; it was read as {encoding}.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableNotebook(
            f"The file is damaged or not a notebook: it is not whole, valid JSON "
            f"({_describe_json_error(error)}). Open your notebook in Jupyter, save it, "
            "download it with File > Download, and submit that file."
        ) from None
    if not isinstance(content, dict) or not ({"cells", "worksheets"} & set(content)):
        raise UnreadableNotebook("The file is JSON, but not a notebook: it has no cells.")
    return content, notes


def _describe_json_error(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}: {error.msg}"
    return "nested too deeply" if isinstance(error, RecursionError) else type(error).__name__


def _check_cell_count(count: int) -> None:
    if count > MAX_CELLS:
        sentence = f"The notebook has {count:,} cells; at most {MAX_CELLS:,} can be marked."
        raise UnreadableNotebook(sentence)


def _upgrade_to_format_4(content: dict) -> dict:
    """Convert a notebook of an old format, with its cells in worksheets, to format 4."""
    count = 0
    for sheet in _select_dicts(content["worksheets"]):
        if isinstance(sheet.get("cells"), list):
            count += len(sheet["cells"])
    _check_cell_count(count)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return nbformat.convert(nbformat.from_dict(content), 4)
    except Exception as error:  # noqa: BLE001 - hostile content can raise anything
        version = str(content.get("nbformat"))[:20]
        raise UnreadableNotebook(
            f"The notebook has the format {version}, which cannot be converted "
            f"({type(error).__name__}). "
            "Open it in JupyterLab, save it, and submit it again."
        ) from None


def _normalise_cell(raw_cell: dict) -> NotebookNode:
    """Return a notebook cell in which each field has the type that nbformat expects."""
    source = raw_cell.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    cell_type = raw_cell.get("cell_type")
    if cell_type not in ("code", "markdown", "raw"):
        cell_type = "raw"
    cell_id = raw_cell.get("id")
    return NotebookNode(
        cell_type=cell_type,
        source=make_encodable(str(source)),
        metadata=_as_dict(raw_cell.get("metadata")),
        id=cell_id if isinstance(cell_id, str) else "",
        attachments=extract_pictures(raw_cell) if cell_type == "markdown" else {},
    )


def _as_dict(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _select_dicts(value: Any) -> list[dict]:
    """Return the items of a list that are dicts; an empty list if the value is no list."""
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict)]


def limit_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Return the notes without repetitions, each cut to a maximum length.

    If there are too many, the last ones are replaced by a note that says how many there were.

    >>> limit_notes(["a", "a", "b"])
    ('a', 'b')
    """
    short_notes = []
    for note in dict.fromkeys(notes):
        if len(note) > MAX_NOTE_CHARACTERS:
            note = f"{note[:MAX_NOTE_CHARACTERS]}…"
        short_notes.append(note)
    extra = len(short_notes) - MAX_NOTES
    if extra > 0:
        remark = f"There were {extra:,} more remarks like these."
        if extra == 1:
            remark = "There was 1 more remark like these."
        short_notes[MAX_NOTES:] = [remark]
    return tuple(short_notes)


def rebuild_notebook(data: bytes, release: NotebookNode) -> RebuiltNotebook:
    """Put the student's answers into the released notebook.

    Parameters
    ----------
    data : bytes
        Content of the submitted file.
    release : NotebookNode
        The released notebook, which the students received.

    Raises
    ------
    UnreadableNotebook
        If the file is no notebook, or too large.
    """
    cells, notes = read_cells(data)
    graded_cells = {}
    for cell in release.cells:
        if "nbgrader" in cell.metadata:
            graded_cells[cell.metadata["nbgrader"]["grade_id"]] = cell
    names = _match_to_graded_cells(cells, release, graded_cells, notes)

    # The cells of the rebuilt notebook in order. A graded cell is given by its grade_id; a cell
    # that the student added is the cell itself.
    places: list[str | NotebookNode] = []
    answers: dict[str, NotebookNode] = {}
    for cell, name in zip(cells, names, strict=True):
        if name is None:
            places.append(cell)
            continue
        release_cell = graded_cells[name]
        if name in answers:
            notes.append(
                f"The cell {name!r} stands there twice. The first one is the answer; the other one runs where it stands."
            )
            if not _is_test_cell(release_cell):
                places.append(cell)
            continue
        answers[name] = cell
        places.append(name)
        if _note_changes_and_decide_if_both_run(name, cell, release_cell, notes):
            places.append(NotebookNode(cell, cell_type="code", attachments={}))

    places = _restore_graded_cells(places, list(graded_cells), notes)
    notebook = nbformat.v4.new_notebook(metadata=release.metadata)
    for number, place in enumerate(places):
        if isinstance(place, str):
            notebook.cells.append(_graded_cell(graded_cells[place], answers.get(place)))
        else:
            notebook.cells.append(_copy_without_metadata(place, number))
    return RebuiltNotebook(notebook, limit_notes(notes))


def _note_changes_and_decide_if_both_run(
    name: str,
    cell: NotebookNode,
    release_cell: NotebookNode,
    notes: list[str],
) -> bool:
    """Note what a student has changed in a cell; return True if the changed cell runs as well.

    Returns
    -------
    bool
        True if the cell is locked and holds no test, such as set-up code to which the student has
        added an import. The student's version then runs as well, after the released one.
    """
    if cell.cell_type != release_cell.cell_type:
        old_type, new_type = cell.cell_type, release_cell.cell_type
        notes.append(f"The cell {name!r} was a {old_type} cell; it is {new_type} again.")
    if _has_changed_grading_settings(cell, release_cell):
        notes.append(f"The settings of the cell {name!r} were changed; the release's hold.")
    is_locked = not release_cell.metadata["nbgrader"]["solution"]
    is_changed = cell.source.strip() != release_cell.source.strip()
    if is_locked and is_changed and release_cell.cell_type == "code":
        notes.append(f"The locked cell {name!r} was changed; the release's is used.")
        return not _is_test_cell(release_cell)
    return False


def _match_to_graded_cells(
    cells: list[NotebookNode],
    release: NotebookNode,
    graded_cells: dict[str, NotebookNode],
    notes: list[str],
) -> list[str | None]:
    """Find, for each submitted cell, the cell of the released notebook that it was copied from.

    Cells are matched by grade_id, else by cell id, else by content.

    Returns
    -------
    list of (str or None)
        For each submitted cell, the grade_id of the graded cell; None for a cell that the student
        added.
    """
    names_by_id = {}
    for cell in release.cells:
        if "nbgrader" in cell.metadata:
            names_by_id[cell.id] = cell.metadata["nbgrader"]["grade_id"]
    names: list[str | None] = []
    for cell in cells:
        name = _as_dict(cell.metadata.get("nbgrader")).get("grade_id")
        if isinstance(name, str) and name in graded_cells:
            names.append(name)
            continue
        if isinstance(name, str):
            problem = f"No cell of this lab has the grade_id {name[:60]!r}"
            notes.append(f"{problem}; the cell is taken as plain.")
        names.append(names_by_id.get(cell.id))
    missing_names = [name for name in graded_cells if name not in names]
    for name in missing_names:
        candidates = [i for i, cell in enumerate(cells) if names[i] is None]
        index = next(
            (i for i in candidates if _is_same_or_defines_same_name(cells[i], graded_cells[name])),
            None,
        )
        if index is None:
            notes.append(f"The cell {name!r} is not there any more; the release's is put back.")
        else:
            names[index] = name
            notes.append(f"The cell {name!r} had lost its grade_id; it was known by what it says.")
    return names


def _is_same_or_defines_same_name(cell: NotebookNode, release_cell: NotebookNode) -> bool:
    """Return True if a cell has a released cell's source, or its answer defines the same name.

    For an answer cell, it is enough that both define a function or class of the same name.
    """
    if cell.cell_type != release_cell.cell_type:
        return False
    if cell.source.strip() == release_cell.source.strip():
        return True
    nbgrader = release_cell.metadata["nbgrader"]
    if not nbgrader["solution"] or cell.cell_type != "code":
        return False
    return bool(_defined_names(release_cell.source) & _defined_names(cell.source))


def _defined_names(source: str) -> set[str]:
    """Return the functions and classes that a cell defines, even if its syntax is wrong.

    >>> sorted(_defined_names("def f(x):\\n    return (\\nclass C: pass"))
    ['C', 'f']
    """
    return set(re.findall(r"^(?:def|class)\s+(\w+)", source, re.M))


def _is_test_cell(cell: NotebookNode) -> bool:
    return cell.metadata["nbgrader"]["grade"] and not cell.metadata["nbgrader"]["solution"]


def _has_changed_grading_settings(cell: NotebookNode, release_cell: NotebookNode) -> bool:
    """Return True if the submitted cell has other nbgrader flags or tags than the released cell."""
    settings = _as_dict(cell.metadata.get("nbgrader"))
    release_settings = release_cell.metadata["nbgrader"]
    for flag in _GRADING_FLAGS:
        if flag in settings and settings[flag] != release_settings.get(flag):
            return True
    tags = cell.metadata.get("tags", [])
    return bool(tags) and tags != release_cell.metadata.get("tags", [])


def _restore_graded_cells(places: list, order: Sequence[str], notes: list[str]) -> list:
    """Sort the graded cells as in the released notebook, and add those that are missing.

    A graded cell that the student deleted is inserted after the graded cell that precedes it in the
    released notebook. All other cells stay where they are.

    Parameters
    ----------
    places : list of (str or NotebookNode)
        The cells in order: the grade_id of a graded cell, or a cell that the student added.
    order : sequence of str
        The grade_ids in the order of the released notebook.
    """
    names = [place for place in places if isinstance(place, str)]
    sorted_names = [name for name in order if name in set(names)]
    if names != sorted_names:
        notes.append("Graded cells stood in another order; they are back in the lab's.")
        following = iter(sorted_names)
        places = [next(following) if isinstance(place, str) else place for place in places]
    for i, name in enumerate(order):
        if name not in places:
            index = places.index(order[i - 1]) + 1 if i else 0
            places.insert(index, name)
    return places


def _graded_cell(release_cell: NotebookNode, answer: NotebookNode | None) -> NotebookNode:
    """Return a copy of a released cell; an answer cell gets the student's answer as its source."""
    cell = deepcopy(release_cell)
    if answer is not None and cell.metadata["nbgrader"]["solution"]:
        cell.source = answer.source
        _copy_attachments(answer, cell)
    return cell


def _copy_attachments(source: NotebookNode, target: NotebookNode) -> None:
    """Copy the pictures that the student pasted into a Markdown cell to another cell."""
    if target.cell_type == "markdown" and source.attachments:
        target.attachments = source.attachments


def _copy_without_metadata(cell: NotebookNode, id_number: int) -> NotebookNode:
    """Return a copy of a cell that the student added, without its metadata and outputs."""
    # Make the cell from a dict. The constructors in nbformat would validate each cell, which would
    # take longer than all other steps.
    fields = {
        "cell_type": cell.cell_type,
        "id": f"plain-{id_number}",
        "metadata": {},
        "source": cell.source,
    }
    if cell.cell_type == "code":
        fields |= {"execution_count": None, "outputs": []}
    plain = nbformat.from_dict(fields)
    _copy_attachments(cell, plain)
    return plain
