"""From each solution notebook to the student's notebook and the answer key.

The solution is the one source. Building it means: put its saved form in order, run it and keep its
outputs, cut the answers out with nbgrader's own preprocessors, and write the key of its visible cases.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder import keys
from autograder.authoring.lab import Lab
from autograder.authoring.proof import weaknesses
from autograder.authoring.release import BuildError, release
from autograder.cells import METADATA, grade_id, graded, id_of, id_of_test
from autograder.course import Course
from autograder.errors import INSTALL_ALL, counted, listed
from autograder.files import write
from autograder.own import as_marked

CELL_SECONDS = 600  # a lab that learns takes its minute, and a busy machine more

MEASURED = "nbval-ignore-output"  # the tag of a cell whose output is another each time
_PNG = re.compile(r"base64,[A-Za-z0-9+/=]+")


def build(labs: Iterable[Lab], *, check: bool = False, execute: bool = True, anew: bool = False) -> list[str]:
    """Make the notebooks and keys of these labs, or with `check` only look for drift.

    What differs from run to run or from machine to machine (pictures, and the outputs of cells that measure) is
    kept as it was saved, and made afresh with `anew`.

    Returns
    -------
    list of str
        One sentence for each file that is (or was, before this build) not what it should be.

    Raises
    ------
    BuildError
    """
    drift = []
    for lab in labs:
        drift += _build_lab(lab, check, execute, anew)
    return drift


def build_pages(course: Course, *, check: bool = False) -> list[str]:
    """Make the notebooks of the course's pages, as `build` makes those of its labs."""
    drift = []
    for name in course.pages:
        try:
            text = (course.root / name).read_text("utf-8")
        except OSError as error:
            raise BuildError(f"The page {name} cannot be read: {error.strerror}.") from None
        cell = nbformat.v4.new_markdown_cell(text.strip(), id=Path(name).stem)
        made = _dump(nbformat.v4.new_notebook(cells=[cell], metadata=nbformat.from_dict(METADATA)))
        drift += _brought(course.page(name), made, f"the page {name}", course, check)
    return drift


def _build_lab(lab: Lab, check: bool, execute: bool, anew: bool) -> list[str]:
    before = lab.solution.read_text("utf-8")
    notebook = tidy(nbformat.reads(before, as_version=4), lab)
    if found := weaknesses(lab):
        raise BuildError("\n".join(found))
    drift = _write_key(lab, check)

    text = _dump(notebook)
    if execute:
        ran = run(notebook, lab.course.root)
        if not anew:
            ran = with_measured(ran, notebook)
        if anew or _without_pictures(_dump(ran)) != _without_pictures(text):
            text = _dump(ran)  # a saved output is stale
    drift += _brought(lab.solution, text, "order, points or saved outputs", lab.course, check)
    text = _dump(release(nbformat.reads(text, as_version=4), lab))
    return drift + _brought(lab.released, text, "the solution with its answers cut out", lab.course, check)


def tidy(notebook: NotebookNode, lab: Lab) -> NotebookNode:
    """A copy of a solution notebook in its saved form: points from the definitions, nothing volatile.

    Raises
    ------
    BuildError
        If an exercise's cells are missing, doubled, or not what the definitions call for.
    """
    notebook = deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in {"nbgrader", "tags", "slideshow"}}
        )
        grader = cell.metadata.get("nbgrader")
        if "setup" in cell.metadata.get("tags", []):  # locked, so that a lost import can be put back
            grader = cell.metadata.nbgrader = nbformat.from_dict(graded(cell.id, locked=True))
        if grader:
            grader.pop("checksum", None)
            grader.pop("cell_type", None)
            name = grader["grade_id"]
            if name in seen:
                raise BuildError(f"{lab.name}: two cells have the grade_id {name!r}; rename one of them.")
            seen.add(name)
            exercise = lab.by_test.get(name)
            if exercise:
                if cell.source.strip() != f"check({exercise.name})":
                    raise BuildError(f"{lab.name}: the cell {name!r} must read check({exercise.name}).")
                grader["points"] = exercise.points
            elif grader.get("grade") and cell.cell_type == "code" and not grader.get("solution"):
                tests = [id_of_test(e) for e in lab.exercises]
                raise BuildError(
                    f"{lab.name}: the cell {name!r} tests no exercise; the test cells are {listed(tests)}."
                )
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [*_tidied(cell.outputs)]
    _say_points(notebook, lab)
    _is_hidden(notebook, lab)
    for name in lab.exercises:
        for wanted in (grade_id(name), id_of_test(name)):
            if wanted not in seen:
                raise BuildError(f"{lab.name}: no cell has the grade_id {wanted!r}; {name} needs it.")
    return notebook


_HEADING = re.compile(r"^(#+ .*?\(|\*\()[\d.]+ points?(?=[,)])", re.M)
_REMINDER = re.compile(r"(It is worth )[\d.]+ points?\b")


def _say_points(notebook: NotebookNode, lab: Lab) -> None:
    """Bring the points in headings up to what they are: "Exercise 1: `softmax` (2 points)".

    A heading that names no exercise is that of the next question marked by hand; "It is worth 3 points" is said of
    all such questions.
    """
    by_hand: list[float] = []

    def in_heading(found: re.Match) -> str:
        named = [lab.exercises[n].points for n in re.findall(r"`(\w+)`", found[1]) if n in lab.exercises]
        if not named and not by_hand:
            return found[0]
        return found[1] + counted(named[0] if named else by_hand.pop(), "point")

    for cell in reversed(notebook.cells):
        if id_of(cell) in lab.by_hand:
            by_hand = [lab.by_hand[id_of(cell)]]
        elif cell.cell_type == "markdown":
            cell.source = _HEADING.sub(in_heading, cell.source)
            cell.source = _REMINDER.sub(rf"\g<1>{counted(sum(lab.by_hand.values()), 'point')}", cell.source)


_GUESS = re.compile(r"\bguess\W+(first|before)\b|\*\*guess\*\*", re.I)


def _is_hidden(notebook: NotebookNode, lab: Lab) -> None:
    """See that what "guess first" asks for is folded in the text that follows: an answer in sight is no question."""
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for asks, answers in zip_longest(texts, texts[1:]):
        if _GUESS.search(asks.source) and not (answers and answers.source.startswith("<details>")):
            name = f", {answers.id!r}," if answers else ""
            raise BuildError(
                f"{lab.name}: the cell {asks.id!r} says to guess first. The next text{name} is to begin with <details>, "
                "so that what comes out is hidden until it is asked for."
            )


def _tidied(outputs: Iterable[NotebookNode]) -> Iterator[NotebookNode]:
    """Outputs without what is another each time; one that was nothing but a widget goes."""
    for output in outputs:
        output = nbformat.from_dict(dict(output))
        if "execution_count" in output:
            output.execution_count = None
        if "data" in output:
            output.data.pop("application/vnd.jupyter.widget-view+json", None)
            output.metadata.pop("application/vnd.jupyter.widget-view+json", None)
            if not output.data:
                continue
        yield output


def run(notebook: NotebookNode, course: Path) -> NotebookNode:
    """A copy of the notebook with the outputs of a fresh run, in an empty folder.

    Raises
    ------
    BuildError
        If a cell raises; the text names the cell and the error.
    """
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = deepcopy(notebook)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=CELL_SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        try:
            client.execute(env=environment(course))
        except NoSuchKernel:
            raise BuildError(
                f"Building runs the notebooks, which needs ipykernel, and that is not installed: {INSTALL_ALL}"
            ) from None
        except CellExecutionError as error:
            cell = next(c for c in notebook.cells if any(o.get("ename") for o in c.get("outputs", ())))
            raise BuildError(
                f"The cell {cell.id!r} of a solution raises {error.ename}: {error.evalue}"
            ) from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [*_tidied(_merged(cell.outputs))]
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def with_measured(ran: NotebookNode, saved: NotebookNode) -> NotebookNode:
    """`ran` with the saved outputs of the cells that measure something: no two runs of those are the same.

    Such a cell carries the tag that nbval knows it by, and is as it was saved until its output is cleared.
    """
    for now, before in zip(ran.cells, saved.cells, strict=True):
        if MEASURED in now.metadata.get("tags", []) and before.get("outputs"):
            now.outputs = before.outputs
    return ran


def environment(course: Path) -> dict[str, str]:
    """What a kernel is started with that runs a course's notebook elsewhere than in the course.

    COURSE_BUILD tells the course's library that outputs are to be the same on every machine. One thread is
    enough for a lab's small matrices; several get into each other's way where much runs at once.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    return {**as_marked(course), **one, "COURSE_BUILD": "1"}


def _merged(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Outputs with neighbouring pieces of one stream joined: where they break is chance."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _write_key(lab: Lab, check: bool) -> list[str]:
    folder = lab.course.answers(lab.name)
    about = {"title": lab.title, "difficulty": lab.difficulty, "order": lab.order, "minutes": lab.minutes}
    if lab.certificate:
        about["certificate"] = lab.certificate
    if "call_seconds" in lab.limits:
        about["call_seconds"] = lab.limits["call_seconds"]
    index = keys.index_of(lab.name, about, list(lab.exercises.values()), lab.by_hand)
    contents = {keys.INDEX: index}
    contents |= {f"{e.name}.key": keys.key_of(e) for e in lab.exercises.values()}
    if lab.course.criteria and (schemes := lab.mark_schemes()):
        contents[keys.CRITERIA] = keys.criteria_file(schemes)
    drift = []
    for name, content in contents.items():
        same = keys.same_key if name.endswith(".key") else operator.eq
        drift += _brought(folder / name, content, "what the lab's exercises say", lab.course, check, same)
    for path in sorted(folder.glob("*")):
        if path.name not in contents and not path.name.startswith("."):
            drift.append(f"{path.relative_to(lab.course.root)} (it belongs to no exercise)")
            if not check:
                path.unlink()
    keys.forget()
    return drift


def _dump(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def _without_pictures(text: str) -> str:
    return _PNG.sub("base64,", text)


def _brought(
    path: Path,
    content: str | bytes,
    why: str,
    course: Course,
    check: bool,
    same: Callable[[Any, Any], bool] = operator.eq,
) -> list[str]:
    """A file brought up to what it should be, unless it is only to be checked; the sentence on one that was not."""
    there: str | bytes | None = None
    if path.is_file():
        there = path.read_text("utf-8") if isinstance(content, str) else path.read_bytes()
    if there is not None and same(there, content):
        return []
    if not check:
        write(path, content)
    return [f"{path.relative_to(course.root)} ({why})"]
