"""One hand-in, from its bytes to its marks: rebuilt, run in the sandbox, judged out here.

`mark` is the unit of work. It depends on its arguments and the course alone, so the same bytes give the
same marks on any machine, in any order.
"""

import hashlib
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from time import monotonic

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.cells import grade_id, id_of, id_of_test
from autograder.feedback import as_html, as_text
from autograder.grading.handin import Unreadable, rebuild
from autograder.grading.sandbox import Cell, CellRun, Sandbox, SandboxError
from autograder.grading.sanitise import Cleaner, clean_markdown, make_output
from autograder.judge import Finding, judge
from autograder.labs import exercises
from autograder.labs.build import release
from autograder.labs.exercise import Exercise
from autograder.labs.reference import SOLUTIONS, reference_cells
from autograder.results import Result, Verdict


@dataclass(frozen=True)
class Marked:
    """What marking one hand-in gives.

    Parameters
    ----------
    rows : tuple of Result
        One for each exercise and each question marked by hand, in the notebook's order; `student` is "".
    notebook : NotebookNode
        The rebuilt notebook with clean outputs and, at each test cell, our message.
    notes : tuple of str
        What was odd about the file.
    seed : int
        The seed of the fresh cases.
    """

    rows: tuple[Result, ...]
    notebook: NotebookNode
    notes: tuple[str, ...]
    seed: int


@cache
def release_for_marking(lab: str) -> NotebookNode:
    """The student's notebook, with the marking schemes still in its questions."""
    notebook = nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)
    return release(notebook, keep_mark_schemes=True)


def prepare(lab: str) -> None:
    """Compute what the hand-ins of a lab share: the release, and the questions that students see."""
    release_for_marking(lab)
    for exercise in exercises(lab).values():
        exercise.questions()


def seed_of(data: bytes, lab: str, salt: str = "") -> int:
    """The seed of a hand-in's fresh cases, from the file and the classroom's own secret.

    Without the secret, a student could look for a file whose fresh cases suit a wrong answer.
    """
    return int.from_bytes(hashlib.sha256(f"{salt} {lab} ".encode() + data).digest()[:8], "big")


def mark(data: bytes, lab: str, sandbox: Sandbox, *, follow_through: bool = True, salt: str = "") -> Marked:
    """Mark one hand-in. Never raises for what is in it.

    Parameters
    ----------
    data : bytes
        The file as it was handed in.
    lab : str
    sandbox : Sandbox
    follow_through : bool
        Judge an exercise that builds on a wrong one again, with the reference in the other's place.
    salt : str
        The classroom's secret, see `seed_of`.
    """
    seed = seed_of(data, lab, salt)
    original = release_for_marking(lab)
    try:
        handin = rebuild(data, original)
    except Unreadable as why:
        return unmarkable(lab, str(why), seed)
    try:
        judged = _judge_all(handin.notebook, lab, seed, sandbox, sandbox.limits.total_seconds)
        if follow_through:
            _follow_through(handin.notebook, lab, seed, sandbox, judged)
    except SandboxError as fault:
        return faulty(lab, str(fault), seed)
    rows = []
    clean = Cleaner()
    ours = {cell.source for cell in original.cells}  # prose of the release, with its folded hints
    for cell in handin.notebook.cells:
        name = id_of(cell)
        if cell.cell_type == "code" and name not in judged.tests:
            cell.outputs = [clean(output) for output in judged.outputs.get(cell.id, ())]
        elif name in judged.tests:
            row, outputs = judged.tests[name]
            cell.outputs = outputs
            rows.append(replace(row, message=_printable(row.message)))
        else:
            if cell.source not in ours:
                cell.source = clean_markdown(cell.source)
            if name and cell.metadata["nbgrader"]["grade"]:
                rows.append(_manual(lab, cell))
    if handin.notes:
        handin.notebook.cells.insert(0, _notice("How this notebook was read", handin.notes))
    return Marked(tuple(rows), handin.notebook, handin.notes, seed)


def _printable(text: str) -> str:
    """Text without control characters: an exception's own words may hold any, and databases refuse some."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def unmarkable(lab: str, why: str, seed: int = 0) -> Marked:
    """What a hand-in gets whose notebook is missing or cannot be read: no points, and the reason."""
    notebook = deepcopy(release_for_marking(lab))
    rows = []
    for cell in notebook.cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if not nbgrader.get("grade"):
            continue
        name = _exercise_of(lab, nbgrader["grade_id"]) or nbgrader["grade_id"]
        rows.append(Result("", lab, name, 0.0, nbgrader["points"], Verdict.MISSING, None, why, 0.0))
        if cell.cell_type == "code":
            cell.outputs = _failure(name, why, f"<p>{clean_markdown(why)}</p>")
    notebook.cells.insert(0, _notice("This hand-in could not be marked", [why]))
    return Marked(tuple(rows), notebook, (why,), seed)


@dataclass
class _Judged:
    """The state of one hand-in while it is judged; tests by the grade_id of their cells."""

    tests: dict[str, tuple[Result, list[NotebookNode]]]
    outputs: dict[str, list[dict]]
    stopped: set[str]  # ids of the cells that had to be stopped


def _judge_all(notebook: NotebookNode, lab: str, seed: int, sandbox: Sandbox, seconds: float) -> _Judged:
    illustrations = _illustrations(lab)
    judged = _Judged({}, {}, set())
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and not id_of(cell) and cell.source in illustrations:
            judged.outputs[cell.id] = [NOT_RUN]
        elif cell.cell_type == "code":
            cells.append(cell)
    runs = sandbox.run(
        [_as_cell(cell, lab, seed) for cell in cells], replace(sandbox.limits, total_seconds=seconds)
    )
    stops: dict[str, _Stop] = {}  # by the grade_id of the cell
    spent: dict[str, float] = {}  # seconds, by the same
    for cell, run in zip(cells, runs, strict=True):
        name = id_of(cell)
        exercise = exercises(lab).get(_exercise_of(lab, name) or "")
        if exercise is None:
            judged.outputs[cell.id] = run.outputs
            spent[name] = run.seconds
            stop = _stop_of(run)
            if run.status in _STOPPED:
                judged.stopped.add(cell.id)
            if stop:
                stops[name] = stop
        else:
            answer = grade_id(exercise.name)
            row, outputs = _judge_one(exercise, run, seed, stops.get(answer))
            took = round(row.seconds + spent.get(answer, 0.0), 6)
            judged.tests[name] = replace(row, seconds=took), outputs
    return judged


@cache
def _illustrations(lab: str) -> frozenset[str]:
    """The release's cells that only show something: nothing depends on them, so marking does without."""
    cells = release_for_marking(lab).cells
    return frozenset(c.source for c in cells if "illustration" in c.metadata.get("tags", []))


NOT_RUN = {
    "output_type": "stream",
    "name": "stdout",
    "text": "(This illustration is part of the lab, and is not run again when it is marked.)\n",
}


@dataclass(frozen=True)
class _Stop:
    """Why a cell did not run to its end, and the verdict on an exercise that is undefined for it."""

    verdict: Verdict
    reason: str


def _stop_of(run: CellRun) -> _Stop | None:
    if run.status in _STOPPED:
        return _Stop(Verdict(run.status), _STOPPED[run.status])
    raised = next((o for o in run.outputs if o.get("output_type") == "error"), None)
    if raised is None:
        return None
    return _Stop(Verdict.MISSING, ": ".join(part for part in (raised["ename"], raised["evalue"]) if part))


def _as_cell(cell: NotebookNode, lab: str, seed: int) -> Cell:
    name = _exercise_of(lab, id_of(cell))
    if name is None:
        return Cell(cell.source)
    exercise = exercises(lab)[name]
    given = [question for _, question in exercise.draw() + exercise.draw(seed)]
    return Cell("", exercise=name, questions=given, call=exercise.rules.call)


def _exercise_of(lab: str, name: str) -> str | None:
    return next((e for e in exercises(lab) if name == id_of_test(e)), None)


_STOPPED = {
    "timeout": "it ran for too long and was stopped",
    "crash": "it ended the Python process (or ran out of memory)",
}


def _judge_one(exercise: Exercise, run: CellRun, seed: int, stopped: "_Stop | None"):
    """The row and the outputs of one test cell; `stopped` is what became of the answer's own cell."""
    name = exercise.name
    if run.missing:
        what = "function" if exercise.rules.call == "function" else "class"
        why = f"There is no {what} `{name}` to try."
        if stopped:
            why += f" The cell that should define it failed: {stopped.reason[:300].rstrip('.')}."
        return _ended(exercise, stopped.verdict if stopped else Verdict.MISSING, why, run)
    if run.status == "timeout":
        return _ended(exercise, Verdict.TIMEOUT, f"`{name}` took too long and was stopped.", run)
    if run.status == "skipped":
        why = f"`{name}` was not tried: the cells before it had used up the notebook's time."
        return _ended(exercise, Verdict.TIMEOUT, why, run)
    visible, fresh = exercise.questions(), exercise.questions(seed)
    questions = visible + fresh
    if run.status == "crash" or run.answers is None or len(run.answers) != len(questions):
        why = f"`{name}` ended its own process, or went over the memory limit."
        return _ended(exercise, Verdict.CRASH, why, run)
    # What students can see comes first, so that the mark says what their own check said.
    finding = judge(visible, run.answers[: len(visible)], exercise.rules, exercise.misconceptions)
    if finding.verdict is Verdict.PASS:
        finding = judge(questions, run.answers, exercise.rules, exercise.misconceptions)
    if finding.verdict is Verdict.PASS:
        message = (
            f"Right in all {len(questions)} cases: {len(visible)} that you can see, {len(fresh)} fresh ones."
        )
        row = Result(
            "", exercise.lab, name, exercise.points, exercise.points, Verdict.PASS, None, message, run.seconds
        )
        return row, [_passed(f"{name}: {message}")]
    if finding.case < len(visible):
        shown = questions[finding.case], run.answers[finding.case], exercise.rules
        text, html = as_text(finding, *shown), as_html(finding, *shown)
    else:
        finding = replace(finding, seen=_about_fresh(finding, questions[finding.case].label, run))
        text = finding.message
        html = f"<p>{clean_markdown(text)}</p>"
    row = Result(
        "",
        exercise.lab,
        name,
        0.0,
        exercise.points,
        finding.verdict,
        finding.misconception,
        finding.message,
        run.seconds,
    )
    return row, _failure(name, text, html)


def _about_fresh(finding: Finding, label: str, run: CellRun) -> str:
    """What can be said of a case that nobody may see: neither its inputs nor the expected numbers."""
    what = {
        "error": f"it raises {run.answers[finding.case].error.split(':')[0]}",
        "shape": "the shape is not the one that is due",
        "dtype": "the dtype is not the one that is due",
        "modified": "it changes its argument",
        "not finite": "numbers that should be finite are not",
    }.get(finding.kind, "the numbers differ")
    return f"Right in the cases you can see, but not with other numbers: in a fresh case (“{label}”) {what}."


def _ended(exercise: Exercise, verdict: Verdict, why: str, run: CellRun):
    row = Result("", exercise.lab, exercise.name, 0.0, exercise.points, verdict, None, why, run.seconds)
    return row, _failure(exercise.name, why, f"<p>{clean_markdown(why)}</p>")


def _failure(name: str, text: str, html: str) -> list[NotebookNode]:
    """The outputs of a test cell that earns nothing: our message, and the error that nbgrader scores by."""
    said, line = f"{name}: {text}", f"{name}: not right yet."
    return [
        make_output("display_data", metadata={}, data={"text/plain": text, "text/html": html}),
        make_output("error", ename="CheckFailed", evalue=said, traceback=[line]),
    ]


def _passed(text: str) -> NotebookNode:
    return make_output("stream", name="stdout", text=f"✓ {text}\n")


def _follow_through(notebook, lab: str, seed: int, sandbox: Sandbox, judged: _Judged) -> None:
    """Judge each failed exercise that builds on a failed one again, the reference in the others' place.

    Each second run is a run of its own: the reference is in view of it alone, and it can change the
    score of one exercise only. Together they may take as long as the first.
    """
    until = monotonic() + sandbox.limits.total_seconds
    wrong = {row.exercise for row, _ in judged.tests.values() if row.verdict is not Verdict.PASS}
    for test, (row, _) in list(judged.tests.items()):
        exercise = exercises(lab)[row.exercise]
        earlier = [name for name in _ancestors(exercise) if name in wrong]
        if row.exercise not in wrong or not earlier or _is_stub(notebook, exercise):
            continue
        left = until - monotonic()
        if left <= 0:
            return
        again = _up_to(deepcopy(notebook), test, set(judged.tests))
        sources = dict(reference_cells(lab))
        for cell in again.cells:
            name = id_of(cell)
            if name in {grade_id(e) for e in earlier}:
                cell.source = sources[name]
            elif cell.id in judged.stopped:
                cell.source = ""  # it would only be stopped again
        second, _outputs = _judge_all(again, lab, seed, sandbox, left).tests[test]
        if second.verdict is not Verdict.PASS:
            continue
        quoted = [f"`{name}`" for name in earlier]
        names = " and ".join(part for part in (", ".join(quoted[:-1]), quoted[-1]) if part)
        message = (
            f"Right in itself, and marked so: it failed only because it builds on {names}. "
            f"With the right {names} in place, all its cases pass."
        )
        kept = replace(second, message=message, seconds=row.seconds + second.seconds)
        judged.tests[test] = kept, [_passed(f"{row.exercise}: {message}")]


def _up_to(notebook: NotebookNode, test: str, tests: set[str]) -> NotebookNode:
    """The cells that one test cell can depend on: those before it, without the other tests."""
    names = [id_of(cell) for cell in notebook.cells]
    before = range(names.index(test))
    notebook.cells = [notebook.cells[i] for i in before if names[i] not in tests] + [
        notebook.cells[names.index(test)]
    ]
    return notebook


def _ancestors(exercise: Exercise) -> list[str]:
    """The exercises this one builds on, directly or not, in the lab's order."""
    found: set[str] = set()
    todo = list(exercise.builds_on)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += exercises(exercise.lab)[name].builds_on
    return [name for name in exercises(exercise.lab) if name in found]


def _is_stub(notebook: NotebookNode, exercise: Exercise) -> bool:
    cells = (c for c in notebook.cells if id_of(c) == grade_id(exercise.name))
    return any("raise NotImplementedError" in c.source for c in cells)


def _manual(lab: str, cell: NotebookNode) -> Result:
    nbgrader = cell.metadata["nbgrader"]
    return Result(
        "", lab, nbgrader["grade_id"], None, nbgrader["points"], Verdict.MANUAL, None, "Marked by hand.", 0.0
    )


def faulty(lab: str, why: str, seed: int = 0) -> Marked:
    """What a hand-in gets when the grader itself failed: no mark of any kind, and the reason."""
    notebook = deepcopy(release_for_marking(lab))
    rows = []
    for cell in notebook.cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade"):
            name = _exercise_of(lab, nbgrader["grade_id"]) or nbgrader["grade_id"]
            text = f"The grader failed, not the student: {why}"
            rows.append(Result("", lab, name, None, nbgrader["points"], Verdict.FAULT, None, text, 0.0))
    return Marked(tuple(rows), notebook, (), seed)


def _notice(title: str, sentences) -> NotebookNode:
    lines = "\n".join(f"- {clean_markdown(sentence)}" for sentence in sentences)
    return new_markdown_cell(f"**{title}**\n\n{lines}", id="grader-notes")
