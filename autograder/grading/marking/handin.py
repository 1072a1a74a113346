"""From the bytes of a hand-in to a notebook that can be marked.

The release decides what the test cells, the questions, their metadata and their order are; the student
decides what stands in the answer cells and in any other cell. Whatever is odd is put right and noted.
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

from autograder.errors import encodable
from autograder.files import decoded
from autograder.grading.marking.sanitise import pictures_of

MAX_BYTES = 20_000_000  # pictures included; a finished lab is under 2 MB
MAX_CELLS = 1_000
MAX_CHARACTERS = 2_000_000
MAX_THINGS = 400_000  # lists and objects in the file, and cells of an old format's worksheets among them
MAX_NOTES = 20
MAX_NOTE = 300  # characters


class Unreadable(Exception):
    """A file that is no notebook; the text is the sentence for the student."""


@dataclass(frozen=True)
class Rebuilt:
    """A hand-in rebuilt on its release.

    Parameters
    ----------
    notebook : NotebookNode
        The cells to run, without outputs; graded cells carry the release's metadata.
    notes : tuple of str
        What was odd about the file, a sentence each.
    """

    notebook: NotebookNode
    notes: tuple[str, ...]


def read(data: bytes) -> tuple[list[NotebookNode], list[str]]:
    """The cells of a notebook file, and what was odd about the file itself.

    Each cell has `cell_type`, `source` (a str) and `metadata` (a dict), whatever the file held.

    Raises
    ------
    Unreadable
    """
    notes: list[str] = []
    if len(data) > MAX_BYTES:
        raise Unreadable(
            f"The file is {len(data) / 1e6:.0f} MB; a notebook of at most {MAX_BYTES / 1e6:.0f} MB can be "
            "marked. Clear its outputs and hand it in again."
        )
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    if data.startswith(b"PK\x03\x04"):
        raise Unreadable("The file is a zip archive. Unpack it, and hand in the notebook that is inside.")
    # Looked at before anything is built: a list of empty objects takes 60 times its file's size.
    if data.count(b"{") + data.count(b"[") > MAX_THINGS:
        raise Unreadable(
            "The file holds more lists and objects than a notebook has. Clear its outputs and hand it in again."
        )
    text, encoding = decoded(data)
    if encoding == "cp1252" and "\ufffd" in text:
        raise Unreadable("The file is not text, so it is no notebook. Hand in the .ipynb file itself.")
    if encoding != "utf-8":
        notes.append(f"The file is not encoded as UTF-8; it was read as {encoding}.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            f"The file is not a notebook: it is not whole, valid JSON ({_reason(error)}). "
            "Download the notebook again and hand that file in."
        ) from None
    if not isinstance(content, dict) or not ({"cells", "worksheets"} & set(content)):
        raise Unreadable("The file is JSON, but not a notebook: it has no cells.")
    language = _dict(_dict(content.get("metadata")).get("kernelspec")).get("language", "python")
    if str(language).lower() != "python":
        notes.append(f"The notebook was saved with a kernel for {str(language)[:40]!r}; it is run as Python.")
    if "cells" not in content:
        notes.append(
            f"The notebook has the old format {str(content.get('nbformat'))[:20]}; it was converted."
        )
        content = _upgrade(content)
    found = content.get("cells")
    raw = [c for c in found if isinstance(c, dict)] if isinstance(found, list) else []
    if not raw:
        raise Unreadable("The notebook has no cells.")
    if len(raw) > MAX_CELLS:
        raise Unreadable(f"The notebook has {len(raw):,} cells; at most {MAX_CELLS:,} can be marked.")
    cells = [_cell(c) for c in raw]
    characters = sum(len(c.source) for c in cells)
    if characters > MAX_CHARACTERS:
        raise Unreadable(
            f"The notebook's cells have {characters:,} characters; at most {MAX_CHARACTERS:,} can be marked. "
            "Take out what is no part of the lab and hand it in again."
        )
    return cells, notes


def few(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes as a person can read them: each once, no longer than a sentence or two, and not too many.

    >>> few(["a", "a", "b"])
    ('a', 'b')
    """
    all_of_them = [note if len(note) <= MAX_NOTE else f"{note[:MAX_NOTE]}…" for note in dict.fromkeys(notes)]
    left = len(all_of_them) - MAX_NOTES
    rest = [f"There were {left:,} more remarks like these."] if left > 0 else []
    return (*all_of_them[:MAX_NOTES], *rest)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}: {error.msg}"
    return "nested too deeply" if isinstance(error, RecursionError) else type(error).__name__


def _upgrade(content: dict) -> dict:
    cells = sum(
        len(sheet["cells"])
        for sheet in (content["worksheets"] if isinstance(content["worksheets"], list) else [])
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
    )
    if cells > MAX_CELLS:
        raise Unreadable(f"The notebook has {cells:,} cells; at most {MAX_CELLS:,} can be marked.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return nbformat.convert(nbformat.from_dict(content), 4)
    except Exception as error:  # noqa: BLE001 - hostile content can make the converter raise anything
        version = str(content.get("nbformat"))[:20]
        raise Unreadable(
            f"The notebook has the format {version}, which cannot be converted ({type(error).__name__}). "
            "Open it in JupyterLab, save it, and hand it in again."
        ) from None


def _cell(raw: dict) -> NotebookNode:
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    kind = raw.get("cell_type")
    return NotebookNode(
        cell_type=kind if isinstance(kind, str) and kind in {"code", "markdown", "raw"} else "raw",
        source=encodable(str(source)),
        metadata=_dict(raw.get("metadata")),
        id=raw.get("id") if isinstance(raw.get("id"), str) else "",
        attachments=pictures_of(raw) if kind == "markdown" else {},
    )


def _dict(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def rebuild(data: bytes, release: NotebookNode) -> Rebuilt:
    """Put a hand-in's answers into the release.

    Parameters
    ----------
    data : bytes
        The file as it was handed in.
    release : NotebookNode
        The lab with its answers cut out.

    Raises
    ------
    Unreadable
    """
    cells, notes = read(data)
    graded = {c.metadata["nbgrader"]["grade_id"]: c for c in release.cells if "nbgrader" in c.metadata}
    names = _identify(cells, release, graded, notes)

    places: list[str | NotebookNode] = []  # a grade_id, or a cell of the student's own
    answers: dict[str, NotebookNode] = {}
    for cell, name in zip(cells, names, strict=True):
        if name is None:
            places.append(cell)
            continue
        of_release = graded[name]
        locked = not of_release.metadata["nbgrader"]["solution"]
        changed = cell.source.strip() != of_release.source.strip()
        if name in answers:
            notes.append(f"The cell {name!r} stands there twice; the first one counts.")
            if not _is_test(of_release):
                places.append(cell)
            continue
        answers[name] = cell
        places.append(name)
        if cell.cell_type != of_release.cell_type:
            notes.append(
                f"The cell {name!r} was a {cell.cell_type} cell; it is {of_release.cell_type} again."
            )
        if _altered(cell, of_release):
            notes.append(f"The settings of the cell {name!r} were changed; the release's hold.")
        if locked and changed and of_release.cell_type == "code":
            notes.append(f"The locked cell {name!r} was changed; the release's is used.")
            if not _is_test(of_release):  # such as an import added to the set-up
                places.append(NotebookNode(cell, cell_type="code", attachments={}))

    places = _in_order(places, list(graded), notes)
    notebook = nbformat.v4.new_notebook(metadata=release.metadata)
    for number, place in enumerate(places):
        notebook.cells.append(
            _graded_cell(graded[place], answers.get(place))
            if isinstance(place, str)
            else _plain_cell(place, number)
        )
    return Rebuilt(notebook, few(notes))


def _identify(
    cells: list[NotebookNode], release: NotebookNode, graded: dict[str, NotebookNode], notes: list[str]
) -> list[str | None]:
    """Which graded cell of the release each cell is: by grade_id, else by id, else by what it says."""
    ids = {c.id: c.metadata["nbgrader"]["grade_id"] for c in release.cells if "nbgrader" in c.metadata}
    names: list[str | None] = []
    for cell in cells:
        name = _dict(cell.metadata.get("nbgrader")).get("grade_id")
        if isinstance(name, str) and name not in graded:
            notes.append(f"No cell of this lab has the grade_id {name[:60]!r}; the cell is taken as plain.")
        names.append(name if isinstance(name, str) and name in graded else ids.get(cell.id))
    lost = [name for name in graded if name not in names]
    for name in lost:
        found = next(
            (i for i, c in enumerate(cells) if names[i] is None and _speaks_for(c, graded[name])), None
        )
        if found is None:
            notes.append(f"The cell {name!r} is not there any more; the release's is put back.")
        else:
            names[found] = name
            notes.append(f"The cell {name!r} had lost its grade_id; it was known by what it says.")
    return names


def _speaks_for(cell: NotebookNode, of_release: NotebookNode) -> bool:
    if cell.cell_type != of_release.cell_type:
        return False
    if cell.source.strip() == of_release.source.strip():
        return True
    nbgrader = of_release.metadata["nbgrader"]
    if not nbgrader["solution"] or cell.cell_type != "code":
        return False
    return bool(_defines(of_release.source) & _defines(cell.source))


def _defines(source: str) -> set[str]:
    """The functions and classes a cell defines; by pattern, since to parse strangers' code costs too much."""
    return set(re.findall(r"^(?:def|class)\s+(\w+)", source, re.M))


def _is_test(cell: NotebookNode) -> bool:
    return cell.metadata["nbgrader"]["grade"] and not cell.metadata["nbgrader"]["solution"]


def _altered(cell: NotebookNode, of_release: NotebookNode) -> bool:
    """Whether the student's copy has other flags or tags that would matter to a grader."""
    theirs, ours = _dict(cell.metadata.get("nbgrader")), of_release.metadata["nbgrader"]
    flags = ("grade", "solution", "locked", "task")  # points are the instructor's business
    if any(key in theirs and theirs[key] != ours.get(key) for key in flags):
        return True
    tags = cell.metadata.get("tags", [])
    return bool(tags) and tags != of_release.metadata.get("tags", [])


def _in_order(places: list, order: Sequence[str], notes: list[str]) -> list:
    """The graded cells in the release's order, each missing one after the one it follows there."""
    present = [p for p in places if isinstance(p, str)]
    wanted = [name for name in order if name in set(present)]
    if present != wanted:
        notes.append("Graded cells stood in another order; they are back in the lab's.")
        following = iter(wanted)
        places = [next(following) if isinstance(p, str) else p for p in places]
    for i, name in enumerate(order):
        if name not in places:
            at = places.index(order[i - 1]) + 1 if i else 0
            places.insert(at, name)
    return places


def _graded_cell(of_release: NotebookNode, answer: NotebookNode | None) -> NotebookNode:
    cell = deepcopy(of_release)
    if answer is not None and cell.metadata["nbgrader"]["solution"]:
        cell.source = answer.source
        _paste(cell, answer)
    return cell


def _paste(cell: NotebookNode, of: NotebookNode) -> None:
    """Give a Markdown cell the pictures that were pasted into it."""
    if cell.cell_type == "markdown" and of.attachments:
        cell.attachments = of.attachments


def _plain_cell(cell: NotebookNode, number: int) -> NotebookNode:
    # Not nbformat's own makers: they validate each cell against the schema, which takes longer than the rest.
    plain = {"cell_type": cell.cell_type, "id": f"plain-{number}", "metadata": {}, "source": cell.source}
    if cell.cell_type == "code":
        plain |= {"execution_count": None, "outputs": []}
    made = nbformat.from_dict(plain)
    _paste(made, cell)
    return made
