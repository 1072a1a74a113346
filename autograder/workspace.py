"""A student's own folder: copies of the labs that are never overwritten, a start page, and resets."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder import keys
from autograder.cells import grade_id, id_of, id_of_test
from autograder.files import write

RELEASE = Path(__file__).parents[1] / "notebooks"
START_PAGE = "README.ipynb"


class WorkspaceError(Exception):
    """Something that cannot be started or reset; the text says why and what to do."""


@dataclass(frozen=True)
class Standing:
    """How far one lab is, as its saved notebook says.

    Parameters
    ----------
    lab, title, difficulty : str
    minutes : int
        About how long it takes.
    passed, total : int
        Exercises whose saved check says right, and all of them.
    """

    lab: str
    title: str
    difficulty: str
    minutes: int
    passed: int
    total: int


def start(folder: Path, release: Path = RELEASE) -> list[str]:
    """Copy the labs that `folder` does not hold yet, and bring its start page up to date.

    Returns
    -------
    list of str
        The labs that were copied. What is there already stays as it is.
    """
    copied = []
    for source in sorted(release.glob("*/*.ipynb")):
        target = folder / source.parent.name / source.name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            copied.append(source.parent.name)
    _start_page(folder)
    return copied


def standings(folder: Path) -> list[Standing]:
    """How far each lab in `folder` is, in the course's order."""
    found = []
    for lab, about in keys.labs().items():
        path = folder / lab / f"{lab}.ipynb"
        if not path.is_file():
            continue
        exercises = [name for name, entry in keys.index().items() if entry["lab"] == lab]
        right = sum(_passed(cell) for cell in _tests(path))
        found.append(
            Standing(lab, about["title"], about["difficulty"], about["minutes"], right, len(exercises))
        )
    return found


def overview(folder: str | Path = ".") -> None:
    """Show which lab comes next, how long each takes, and how far you are in the saved notebooks.

    Parameters
    ----------
    folder : path
        Where the labs are; the current folder by default.
    """
    from IPython.display import Markdown, display

    display(Markdown(_table(standings(Path(folder)))))


def reset(path: Path, exercise: str | None = None, release: Path = RELEASE) -> Path:
    """Bring a lab, or one exercise of it, back to its stub; the old version stays beside it.

    Parameters
    ----------
    path : Path
        The student's notebook.
    exercise : str, optional
        The exercise to bring back; the whole lab by default.

    Returns
    -------
    Path
        Where the old version is kept.

    Raises
    ------
    WorkspaceError
    """
    lab = path.stem
    source = release / lab / f"{lab}.ipynb"
    if not path.is_file():
        raise WorkspaceError(f"There is no notebook {path}.")
    if not source.is_file():
        known = ", ".join(sorted(p.name for p in release.iterdir() if p.is_dir()))
        raise WorkspaceError(f"{path.name} is not one of the labs ({known}), so it has no first version.")
    fresh = json.loads(source.read_text("utf-8"))
    if exercise is not None:
        name = grade_id(exercise)
        stub = next((c for c in fresh["cells"] if id_of(c) == name), None)
        if stub is None:
            known = ", ".join(n for n, entry in keys.index().items() if entry["lab"] == lab)
            raise WorkspaceError(f"{lab} has no exercise {exercise!r}; its exercises are {known}.")
        try:
            fresh = json.loads(path.read_text("utf-8"))
            at = next(i for i, c in enumerate(fresh["cells"]) if id_of(c) == name)
        except (ValueError, KeyError, TypeError, StopIteration):
            raise WorkspaceError(
                f"{path} has no cell for {exercise} any more; bring the whole lab back instead."
            ) from None
        fresh["cells"][at] = stub
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S-%f")
    kept = path.with_name(f"{lab}.before-reset-{stamp}.ipynb")
    shutil.copy2(path, kept)
    _write(path, fresh)
    return kept


def _start_page(folder: Path) -> None:
    path = folder / START_PAGE
    page = _page(standings(folder))
    if path.exists():
        try:
            there = json.loads(path.read_text("utf-8"))
            own = [c["source"] for c in there["cells"]] != [c["source"] for c in page["cells"]]
        except (ValueError, KeyError, TypeError):
            own = True
        if own:
            return  # the student has made it theirs
    _write(path, page)


def _page(found: list[Standing]) -> dict:
    intro = [
        "# Attention, by building it",
        "",
        "Each lab is a notebook: read, fill in the cells marked `# YOUR CODE HERE`, and run the `check(...)`",
        "cell below each. It tells you what kind of mistake it sees. Start at the top; each lab uses the one",
        "before it.",
        "",
        *(
            f"{i}. [{s.title}]({s.lab}/{s.lab}.ipynb), about {s.minutes} minutes, {s.difficulty}"
            for i, s in enumerate(found, 1)
        ),
        "",
        "Run the next cell (Shift+Enter) to see how far you are. It reads the saved notebooks.",
    ]
    table = {"text/markdown": _table(found), "text/plain": "A table of the labs and how far each is."}
    return {
        "cells": [
            {"cell_type": "markdown", "id": "start", "metadata": {}, "source": "\n".join(intro)},
            {
                "cell_type": "code",
                "id": "overview",
                "metadata": {},
                "execution_count": None,
                "source": "from autograder import overview\n\noverview()",
                "outputs": [{"output_type": "display_data", "data": table, "metadata": {}}],
            },
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _table(found: list[Standing]) -> str:
    lines = ["| | lab | time | exercises right |", "|---|---|---|---|"]
    following = next((s.lab for s in found if s.passed < s.total), None)
    for s in found:
        mark = "done" if s.passed == s.total else "**next**" if s.lab == following else ""
        bar = "●" * s.passed + "○" * (s.total - s.passed)
        link = f"[{s.title}]({s.lab}/{s.lab}.ipynb)"
        lines.append(f"| {mark} | {link} | {s.minutes} min | {bar} {s.passed} of {s.total} |")
    return "\n".join(lines)


def _tests(path: Path) -> Iterator[dict]:
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    known = {id_of_test(name) for name in keys.index()}
    yield from (cell for cell in cells if id_of(cell) in known)


def _passed(test: dict) -> bool:
    outputs = test.get("outputs") or []
    return bool(outputs) and not any(o.get("output_type") == "error" for o in outputs)


def _write(path: Path, notebook: dict) -> None:
    write(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
