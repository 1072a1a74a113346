"""A student's own folder: copies of the labs that are never overwritten, a start page, resets and renewals."""

import json
import re
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder import keys, renewal
from autograder.cells import METADATA, grade_id, id_of, id_of_test, source_of
from autograder.course import ANSWERS, Course, find
from autograder.errors import Usage, listed
from autograder.files import write

START_PAGE = "README.ipynb"


class WorkspaceError(Usage):
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
    unanswered : int
        Questions to explain in words that still stand as they were handed out.
    older : bool
        Whether the course's text has changed since the copy was made.
    """

    lab: str
    title: str
    difficulty: str
    minutes: int
    passed: int
    total: int
    unanswered: int = 0
    older: bool = False


def start(folder: Path, course: Course) -> list[str]:
    """Copy the labs that `folder` does not hold yet, and bring its start page up to date.

    Outside the course's folder, where a notebook could not find its answer key, the keys come along.

    Returns
    -------
    list of str
        The labs that were copied. What is there already stays as it is.
    """
    copied = []
    outside = not folder.resolve().is_relative_to(course.root)
    for lab in course.labs:
        source, target = course.released(lab), folder / lab / f"{lab}.ipynb"
        if not source.is_file():
            continue
        if not target.exists():
            write(target, source.read_bytes())
            copied.append(lab)
        if lab in copied or not (renewal.handed_out(target).is_file() or renewal.changes(target, source)):
            renewal.keep(target, source.read_bytes())
        if outside:
            for path in course.answers(lab).iterdir():
                write(folder / lab / ANSWERS / path.name, path.read_bytes())
    for name in course.pages:
        source, target = course.page(name), folder / course.page(name).name
        if source.is_file() and not target.exists():
            write(target, source.read_bytes())
    _start_page(folder, course)
    return copied


def older(folder: Path, course: Course) -> dict[str, list[str]]:
    """The labs in `folder` whose copies are older than the course's text, each with the headings of what changed."""
    found = {lab: renewal.changes(folder / lab / f"{lab}.ipynb", course.released(lab)) for lab in course.labs}
    return {lab: changed for lab, changed in found.items() if changed}


def standings(folder: Path) -> list[Standing]:
    """How far each lab in `folder` is, in the course's order."""
    found = []
    for lab, about in keys.labs().items():
        path = folder / lab / f"{lab}.ipynb"
        if not path.is_file():
            continue
        cells = cells_of(path)
        tests = {id_of_test(name) for name in about.points}
        right = sum(_passed(cell) for cell in cells if id_of(cell) in tests)
        open_questions = sum(id_of(cell) in about.by_hand and untouched(cell) for cell in cells)
        found.append(
            Standing(
                lab,
                about.title,
                about.difficulty,
                about.minutes,
                right,
                len(about.points),
                open_questions,
                bool(renewal.changes(path, about.folder.parent / path.name)),
            )
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

    found = standings(Path(folder))
    if found:
        display(Markdown(_table(found)))
        return
    here = Path(folder).resolve()
    above = standings(here.parent)
    print(
        f"There are no labs in {here}: overview() shows those in the folders below it. "
        + ('They are in the folder above: overview("..").' if above else "Open the start page, README.ipynb.")
    )


def update(path: Path, course: Course | None = None) -> tuple[list[str], Path]:
    """Bring a student's copy up to the course's text of today; answers and own cells stay.

    Returns
    -------
    list of str, Path
        The headings of what has changed, and where the version before is kept; none if nothing has.

    Raises
    ------
    WorkspaceError
    """
    source = _released(path, course or find())
    changed = renewal.changes(path, source)
    if not changed:
        return [], path
    mine, new = renewal.read(path), renewal.read(source)
    if mine is None or new is None:
        raise WorkspaceError(
            f"{path} cannot be read as a notebook; `autograder reset {path}` brings its first version back."
        )
    made = renewal.renewed(mine, renewal.read(renewal.handed_out(path)), new)
    kept = _aside(path, "update")
    _write(path, made)
    renewal.keep(path, source.read_bytes())
    return changed, kept


def reset(path: Path, exercise: str | None = None, course: Course | None = None) -> Path:
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
    lab, source = path.stem, _released(path, course or find())
    fresh = json.loads(source.read_text("utf-8"))
    if exercise is not None:
        name, stubs = grade_id(exercise), {id_of(cell): cell for cell in fresh["cells"]}
        if name not in stubs:
            tested = [one.removeprefix("test-") for one in stubs if one.startswith("test-")]
            known = listed(one.replace("-", "_") for one in tested)
            raise WorkspaceError(f"{lab} has no exercise {exercise!r}; its exercises are {known}.")
        mine = renewal.read(path)
        if mine is None:
            raise WorkspaceError(f"{path} cannot be read as a notebook; bring the whole lab back instead.")
        if name not in map(id_of, mine["cells"]):  # a cell that is missing comes back where it was
            mine = renewal.renewed(mine, fresh, fresh)
        fresh, at = mine, [id_of(cell) for cell in mine["cells"]].index(name)
        fresh["cells"][at] = stubs[name]
    kept = _aside(path, "reset")
    _write(path, fresh)
    if exercise is None:
        renewal.keep(path, source.read_bytes())
    return kept


def _released(path: Path, course: Course) -> Path:
    """The course's own file of the lab that `path` is a copy of."""
    source = course.released(path.stem)
    if not path.is_file():
        raise WorkspaceError(f"There is no notebook {path}.")
    if path.stem not in course.labs or not source.is_file():
        raise WorkspaceError(
            f"{path.name} is not one of the labs ({listed(course.labs)}), so it has no first version."
        )
    return source


def _aside(path: Path, why: str) -> Path:
    """A copy of a notebook beside it, under a name that says when it was made and before what."""
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S-%f")
    kept = path.with_name(f"{path.stem}.before-{why}-{stamp}.ipynb")
    shutil.copy2(path, kept)
    return kept


def _start_page(folder: Path, course: Course) -> None:
    path = folder / START_PAGE
    page = _page(standings(folder), course, folder)
    kept = folder / renewal.HANDED_OUT / "start-page.json"  # what stood in it when it was last made
    now, before = ([*map(_text, one["cells"])] if one else [] for one in (page, renewal.read(kept)))
    if path.exists():
        there = renewal.read(path)
        if not there or [*map(_text, there["cells"])] not in (now, before):
            return  # the student has made it theirs
    _write(path, page)
    write(kept, json.dumps({"cells": [{"source": cell["source"]} for cell in page["cells"]]}))


def _text(cell: dict) -> str:
    """What stands in a cell of a start page, but for what changes with the course: pages, and once a list of labs."""
    listed_before = r"\n((\d+\. \[.*\]\(\S+\.ipynb\), about \d+ minutes, .*|Beside the labs: .*)\n)+"
    return re.sub(listed_before, "", source_of(cell))


def _page(found: list[Standing], course: Course, folder: Path) -> dict:
    pages = [(folder / course.page(name).name) for name in course.pages]
    intro = [
        f"# {course.title}",
        "",
        *([course.about, ""] if course.about else []),
        "Each lab is a notebook: read, fill in the cells marked `# YOUR CODE HERE`, and run the `check(...)`",
        "cell below each. It tells you what kind of mistake it sees. Start at the top; the first lines of",
        "each lab say what it builds on.",
        "",
        *(f"Beside the labs: [{_title(page)}]({page.name})." for page in pages if page.is_file()),
        *([""] if pages else []),
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
        "metadata": METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _title(page: Path) -> str:
    """The first line of a page, without its sign."""
    first = next(map(source_of, cells_of(page)), "").partition("\n")[0]
    return first.lstrip("# ") or page.stem


def _table(found: list[Standing]) -> str:
    lines = ["| state | lab | time | difficulty | exercises right |", "|---|---|---|---|---|"]
    done = {s.lab for s in found if s.passed == s.total and not s.unanswered}
    following = next((s.lab for s in found if s.lab not in done), None)
    for s in found:
        mark = "done" if s.lab in done else "**next**" if s.lab == following else ""
        bar = "●" * s.passed + "○" * (s.total - s.passed)
        link = f"[{s.title}]({s.lab}/{s.lab}.ipynb)" + (" (there is a newer text)" if s.older else "")
        words = f", and {s.unanswered} to explain in words" if s.unanswered else ""
        lines.append(
            f"| {mark} | {link} | {s.minutes} min | {s.difficulty} | {bar} {s.passed} of {s.total}{words} |"
        )
    if any(s.older for s in found):
        lines += [
            "",
            "`autograder update` with the path of a lab takes a newer text over; your answers stay.",
        ]
    return "\n".join(lines)


def cells_of(path: Path) -> list[dict]:
    """The cells of a saved notebook; none if it cannot be read."""
    notebook = renewal.read(path)
    return notebook["cells"] if notebook else []


def untouched(cell: dict) -> bool:
    """Whether the cell of a question still stands as it was handed out."""
    return "YOUR ANSWER HERE" in source_of(cell)


def _passed(test: dict) -> bool:
    outputs = test.get("outputs") or []
    return bool(outputs) and not any(o.get("output_type") == "error" for o in outputs)


def _write(path: Path, notebook: dict) -> None:
    write(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
