"""One hand-in, from its bytes to its verdicts: rebuilt, run in the sandbox, judged out here.

`mark` is the unit of work. It depends on its arguments and the course alone, so the same bytes give the
same verdicts on any machine, in any order.
"""

import builtins
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.authoring.exercise import Drawn, Exercise
from autograder.authoring.lab import Lab
from autograder.authoring.names import defined, parsed
from autograder.authoring.release import release
from autograder.cells import grade_id, id_of, nbgrader_of
from autograder.errors import listed, printable
from autograder.feedback import as_html, as_text, code
from autograder.grading.marking.handin import Unreadable, rebuild
from autograder.grading.marking.sanitise import (
    MAX_COLOURED,
    MAX_SHOWN,
    Cleaner,
    clean_text,
    cut,
    cut_source,
    kept_markdown,
    make_output,
    plain_markdown,
    shown_code,
    weight,
)
from autograder.grading.run.limited import stage
from autograder.grading.sandbox import Cell, CellRun, Sandbox, SandboxError
from autograder.imports import imported
from autograder.judging.judge import Finding, because, judge
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Question
from autograder.results import Kind, Outcome, Result, Verdict


@dataclass(frozen=True)
class Marked:
    """What marking one hand-in gives.

    Parameters
    ----------
    rows : tuple of Result
        One for each exercise and each question marked by hand, in the notebook's order; `student` is "", and
        the points are those of the lab's own definition.
    notebook : NotebookNode
        The rebuilt notebook with clean outputs and, at each test cell, our message.
    notes : tuple of str
        What was odd about the file.
    seed : int
        The seed of the fresh cases.
    answers : mapping of str to str
        A hash of each answer, by the name of its exercise or question: a mark given by hand belongs to it.
    untouched : tuple of str
        The exercises and questions that stand as they were handed out.
    log : tuple of str
        What the instructor alone is told.
    sandbox : str
        The sandbox that it ran in; "" if it did not run.
    """

    rows: tuple[Result, ...]
    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    seed: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    sandbox: str = ""

    @property
    def faults(self) -> list[str]:
        """Why the grader failed, where it did."""
        return [row.message for row in self.rows if row.verdict is Verdict.FAULT]

    def to_json(self) -> str:
        """All of it as text."""
        return json.dumps({**self.facts(), "notebook": self.notebook}, ensure_ascii=False)

    def facts(self) -> dict[str, Any]:
        """All but the notebook, as plain JSON."""
        return {
            "seed": self.seed,
            "notes": list(self.notes),
            "rows": [row.to_fields() for row in self.rows],
            "answers": dict(self.answers),
            "untouched": list(self.untouched),
            "log": list(self.log),
            "sandbox": self.sandbox,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], notebook: NotebookNode | None = None) -> "Marked":
        """The inverse of `facts`; raises KeyError, TypeError or ValueError on anything else.

        The cells of a notebook that is among the facts stay plain JSON.
        """
        return cls(
            rows=tuple(Result.from_fields(row) for row in facts["rows"]),
            notebook=NotebookNode(facts.get("notebook") or {}) if notebook is None else notebook,
            notes=tuple(facts["notes"]),
            seed=facts["seed"],
            answers=dict(facts["answers"]),
            untouched=tuple(facts["untouched"]),
            log=tuple(facts.get("log", ())),
            sandbox=str(facts.get("sandbox", "")),
        )

    def of(self, student: str) -> "Marked":
        """The same with the student's name in its rows."""
        return replace(self, rows=tuple(replace(row, student=student) for row in self.rows))


_releases: dict[Lab, NotebookNode] = {}


def release_for_marking(lab: Lab) -> NotebookNode:
    """The student's notebook, with the marking schemes still in its questions."""
    if lab not in _releases:
        _releases[lab] = release(lab.read_solution(), lab, to_mark=True)
    return _releases[lab]


def take_release(lab: Lab, text: str) -> None:
    """Take from another process what `release_for_marking` gave there, since making it takes all of nbgrader."""
    if lab not in _releases:
        _releases[lab] = nbformat.from_dict(json.loads(text))


def prepare(lab: Lab) -> None:
    """Compute what the hand-ins of a lab share: the questions that students see."""
    for exercise in lab.exercises.values():
        exercise.questions()


def seed_of(data: bytes, lab: str, salt: str) -> int:
    """The seed of a hand-in's fresh cases, from the file and the classroom's own secret.

    Without the secret, a student could look for a file whose fresh cases suit a wrong answer.
    """
    return int.from_bytes(hashlib.sha256(f"{salt} {lab} ".encode() + data).digest()[:8], "big")


# What is done to a hand-in on this side of the sandbox, as `limited.stage` names it.
READING, SHOWING = "Reading the notebook", "Showing what it printed"


def mark(
    data: bytes, lab: Lab, sandbox: Sandbox, *, salt: str, follow_through: bool = True, plain: bool = False
) -> Marked:
    """Mark one hand-in. Never raises for what is in it.

    Parameters
    ----------
    data : bytes
        The file as it was handed in.
    lab : Lab
    sandbox : Sandbox
    salt : str
        The classroom's secret, see `seed_of`.
    follow_through : bool
        Judge an exercise that builds on a wrong one again, with the reference in the other's place.
    plain : bool
        Keep text alone, as it is: for a hand-in that takes too long to show in any other form.
    """
    seed = seed_of(data, lab.name, salt)
    original = release_for_marking(lab)
    try:
        with stage(READING, 20):
            rebuilt = rebuild(data, original)
    except Unreadable as why:
        return unmarkable(lab, str(why), seed)
    # What a course allows is not a hand-in's fault.
    if lacking := sandbox.why_not_with(_used(lab, rebuilt.notebook)):
        return faulty(lab, lacking, seed)
    try:
        judging = _Judging(lab, rebuilt.notebook, seed, sandbox)
        judged = judging.judge_all(rebuilt.notebook, sandbox.limits.total_seconds)
        if follow_through:
            judging.follow_through(judged)
    except SandboxError as fault:
        return faulty(lab, str(fault), seed)
    answers, untouched = _answers(lab, rebuilt.notebook)
    notes = rebuilt.notes
    with stage(SHOWING, 20):
        rows = _with_outputs(lab, rebuilt.notebook, judged, plain)
        if plain:
            notes = (*notes, "It takes too long to show as it is, so the grader shows it as plain text.")
        if notes:
            rebuilt.notebook.cells.insert(0, _notice("How this notebook was read", notes))
    log = tuple(judged.log)
    return Marked(rows, rebuilt.notebook, notes, seed, answers, untouched, log, sandbox.name)


def _used(lab: Lab, notebook: NotebookNode) -> set[str]:
    """The packages, of those that the course allows besides, that a hand-in's own code imports.

    In cells that are no answer only what is imported without condition counts: a lab may try for what is not there.
    """
    ours, used = _released(lab), set[str]()
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source not in ours:
            lines = cell.source.split("\n")
            used |= imported("\n".join(line for line in lines if id_of(cell) or not line[:1].isspace()))
    return used & set(lab.course.imports)


def _answers(lab: Lab, notebook: NotebookNode) -> tuple[dict[str, str], tuple[str, ...]]:
    """A hash of each answer, and which answers are as they were handed out."""
    answers, untouched = {}, []
    released = {id_of(cell): cell.source for cell in release_for_marking(lab).cells}
    for cell in notebook.cells:
        nbgrader = nbgrader_of(cell)
        if nbgrader.get("solution"):
            name = lab.name_of(nbgrader["grade_id"])
            said = cell.source.strip()
            if cell.get("attachments"):
                said += json.dumps(cell.attachments, sort_keys=True)
            answers[name] = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
            if cell.source == released.get(id_of(cell)):
                untouched.append(name)
    return answers, tuple(untouched)


def _with_outputs(lab: Lab, notebook: NotebookNode, judged: "_Judged", plain: bool) -> tuple[Result, ...]:
    """Put the clean outputs into the notebook's cells; the rows, in their order."""
    rows = []
    ours, clean, left, coloured = _released(lab), Cleaner(plain=plain), MAX_SHOWN, MAX_COLOURED
    for cell in notebook.cells:
        name = id_of(cell)
        if cell.source not in ours:
            cell.source = cut_source(cell.source, max(left, 2_000))
            left -= weight(cell.source)
        if cell.cell_type == "code" and name not in judged.tests:
            if cell.source not in ours:
                coloured -= weight(cell.source)
                cell.source = shown_code(cell.source, plain=coloured < 0)
            run = judged.runs.get(cell.id)
            not_run = [NOT_RUN] if cell.source in ours and cell.source.strip() else []
            cell.outputs = [clean(output) for output in (run.outputs if run else not_run)]
        elif name in judged.tests:
            row, cell.outputs = judged.tests[name]
            rows.append(replace(row, message=printable(cut(row.message, MAX_MESSAGE))))
        elif cell.source not in ours:  # prose of the release, with its folded hints, is left as it is
            pictures = cell.get("attachments", {})
            cell.source = plain_markdown(cell.source) if plain else kept_markdown(cell.source, pictures)
        if name and name not in judged.tests and cell.metadata["nbgrader"]["grade"]:
            points = cell.metadata["nbgrader"]["points"]
            rows.append(_row(lab, name, Verdict.MANUAL, "Marked by hand.", points, score=None))
    return tuple(rows)


def _row(lab: Lab, exercise: str, verdict: Verdict, message: str, points: float, **more: Any) -> Result:
    """A row that is nobody's yet; `more` of its fields by name."""
    return Result(lab=lab.name, exercise=exercise, max_score=points, verdict=verdict, message=message, **more)


def unmarkable(lab: Lab, why: str, seed: int = 0) -> Marked:
    """What a hand-in gets whose notebook is missing or cannot be read: no points, and the reason."""
    notebook = deepcopy(release_for_marking(lab))
    rows = []
    for cell in notebook.cells:
        nbgrader = nbgrader_of(cell)
        if nbgrader.get("grade"):
            name = lab.name_of(nbgrader["grade_id"])
            rows.append(_row(lab, name, Verdict.MISSING, why, nbgrader["points"]))
            if cell.cell_type == "code":
                cell.outputs = _failure(name, why)
    notebook.cells.insert(0, _notice("This hand-in could not be marked", [why]))
    answers, untouched = _answers(lab, notebook)
    return Marked(tuple(rows), notebook, (why,), seed, answers, untouched)


def faulty(lab: Lab, why: str, seed: int = 0) -> Marked:
    """What a hand-in gets when the grader itself failed: no mark of any kind, and the reason."""
    notebook = deepcopy(release_for_marking(lab))
    text = printable(f"The grader failed, not the student: {why}")
    rows = [
        _row(lab, lab.name_of(c["grade_id"]), Verdict.FAULT, text, c["points"], score=None)
        for c in map(nbgrader_of, notebook.cells)
        if c.get("grade")
    ]
    return Marked(tuple(rows), notebook, (), seed)


@dataclass
class _Judged:
    """What came of running cells of a hand-in: of each by its id; of tests, judged, by the grade_id of their cells."""

    runs: dict[str, CellRun] = field(default_factory=dict)
    tests: dict[str, tuple[Result, list[NotebookNode]]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)  # for the instructor


NOT_RUN = {
    "output_type": "stream",
    "name": "stdout",
    "text": "(This cell is part of the lab, and is not run again when it is marked.)\n",
}
FOLLOWED = (
    "Right in itself, and marked so: it failed only because it builds on {names}. "
    "With the right {names} in place, all its cases pass."
)
_STOPPED = {
    Outcome.TIMEOUT: "it ran for too long and was stopped",
    Outcome.CRASH: "it ended the Python process (or ran out of memory)",
}


class _Judging:
    """A rebuilt hand-in, with what it takes to judge it."""

    def __init__(self, lab: Lab, notebook: NotebookNode, seed: int, sandbox: Sandbox):
        self.lab, self.notebook, self.sandbox = lab, notebook, sandbox
        # Drawn once, and worked out once what is due: the following through asks the same again.
        self._drawn: Callable[[Exercise], list[Drawn]] = cache(lambda exercise: exercise.draw(seed))
        self._fresh: Callable[[Exercise], list[Question]] = cache(
            lambda exercise: exercise.with_outcomes(self._drawn(exercise))
        )

    def judge_all(self, notebook: NotebookNode, seconds: float) -> _Judged:
        """Run these cells of the hand-in, and judge each exercise among them."""
        cells = self._to_run([cell for cell in notebook.cells if cell.cell_type == "code"])
        limits = replace(self.sandbox.limits, total_seconds=seconds)
        runs = self.sandbox.run([self._as_cell(cell) for cell in cells], limits)
        judged = _Judged({cell.id: run for cell, run in zip(cells, runs, strict=True)})
        by_name = {id_of(cell): judged.runs[cell.id] for cell in cells}
        for cell in cells:
            name, run = id_of(cell), judged.runs[cell.id]
            if run.forged:
                where = repr(name or cell.id)
                judged.log.append(f"Forged or broken frames came from the cell {where}; they were refused.")
            if exercise := self.lab.by_test.get(name):
                of_answer = by_name.get(grade_id(exercise.name), CellRun())
                judged.tests[name] = self._judge_one(exercise, run, of_answer)
        self._trace_causes(judged)
        return judged

    def _to_run(self, cells: list[NotebookNode]) -> list[NotebookNode]:
        """The cells that may decide something: without illustrations, and without what of the lab ends the notebook."""
        ours, shows = _released(self.lab), _illustrations(self.lab)

        def decides(cell: NotebookNode) -> bool:
            return bool(id_of(cell)) or (cell.source not in ours and bool(cell.source.strip()))

        end = max((number for number, cell in enumerate(cells, 1) if decides(cell)), default=0)
        return [cell for cell in cells[:end] if id_of(cell) or cell.source not in shows]

    def _as_cell(self, cell: NotebookNode) -> Cell:
        exercise = self.lab.by_test.get(id_of(cell))
        if exercise is None:
            return Cell(cell.source)
        asked = [question.inputs for question in exercise.questions()]
        asked += [given for _, given, _ in self._drawn(exercise)]
        return Cell("", exercise=exercise.name, questions=asked, call=exercise.rules.call)

    def _judge_one(self, exercise: Exercise, run: CellRun, of_answer: CellRun) -> tuple[Result, list]:
        """The row and the outputs of one test cell; `of_answer` is what became of the answer's own cell."""
        visible, answers = exercise.questions(), run.answers or []
        if ended := _ended(exercise, run, of_answer):
            finding = ended
        else:
            # What students can see comes first, so that the mark says what their own check said.
            finding = self._finding(exercise, visible, answers[: len(visible)])
            if finding.verdict is Verdict.PASS:
                asked = visible + self._fresh(exercise)
                finding = self._finding(exercise, asked, answers, known_right=len(visible))
        passed, html = finding.verdict is Verdict.PASS, ""
        if passed:
            finding = replace(finding, seen=_right_in(len(visible), len(finding.right) - len(visible)))
        elif finding.case is not None and finding.case < len(visible):
            html = as_html(finding)
        elif not ended:
            finding = _about_fresh(finding, bool(visible))
        text = as_text(finding) if html else finding.message
        stub, skipped = finding.unwritten, run.status is Outcome.SKIPPED
        row = _row(
            self.lab,
            exercise.name,
            finding.verdict,
            finding.message,
            exercise.points,
            score=exercise.points if passed else 0.0,
            misconception=finding.misconception,
            seconds=round(run.seconds + of_answer.seconds, 6),
            kind=Kind.STUB if stub else Kind.SKIPPED if skipped else Kind.JUDGED,
            cause=finding.cause or None,
        )
        return row, [_passed(f"{exercise.name}: {text}")] if passed else _failure(exercise.name, text, html)

    def _finding(self, exercise: Exercise, questions: list, answers: list, known_right: int = 0) -> Finding:
        rules, known = exercise.rules, exercise.misconceptions
        return judge(questions, answers, rules, known, exercise.name, known_right)

    def _trace_causes(self, judged: _Judged) -> None:
        """Say of each failed exercise which one that it calls is not right itself."""
        rows = {row.exercise: row for row, _ in judged.tests.values()}
        for test, (row, outputs) in judged.tests.items():
            exercise = self.lab.exercises[row.exercise]
            if row.verdict is Verdict.PASS or row.kind is Kind.STUB or row.cause:
                continue
            source = next((c.source for c in self.notebook.cells if id_of(c) == grade_id(exercise.name)), "")
            for earlier in exercise.builds_on:
                wrong = rows.get(earlier.name)
                if wrong is None or wrong.verdict is Verdict.PASS:
                    continue
                if not re.search(rf"\b{earlier.name}\(", source):
                    continue
                message = f"{because(earlier.name, wrong.kind is not Kind.STUB)} {row.message}"
                judged.tests[test] = replace(row, message=message, cause=earlier.name), outputs
                break

    def follow_through(self, judged: _Judged) -> None:
        """Judge each failed exercise that builds on a failed one again, the reference in the others' place.

        Each second run is a run of its own: the reference is in view of it alone, and it can change the
        score of one exercise only. Together they may take as long as the first.
        """
        left = self.sandbox.limits.total_seconds
        wrong = {row.exercise for row, _ in judged.tests.values() if row.verdict is not Verdict.PASS}
        for test, (row, _) in list(judged.tests.items()):
            exercise = self.lab.exercises[row.exercise]
            earlier = [e.name for e in self.lab.ancestors(exercise) if e.name in wrong]
            if row.exercise not in wrong or not earlier or self._is_stub(exercise):
                continue
            before = _up_to(self.notebook.cells, test, set(judged.tests))
            if not self._named(set(earlier), before):
                continue  # nothing calls them, so it would only do the same again
            if left <= 0:
                return
            again = NotebookNode(cells=deepcopy(before))
            replaced = {grade_id(name) for name in earlier}
            for cell in again.cells:
                name = id_of(cell)
                if name in replaced:
                    cell.source = self.lab.reference_cells[name]
                elif cell.id in judged.runs and judged.runs[cell.id].status in _STOPPED:
                    cell.source = ""  # it would only be stopped again
            rerun = self.judge_all(again, left)
            left -= sum(run.spent for run in rerun.runs.values())
            second, _ = rerun.tests[test]
            names = listed(f"`{name}`" for name in earlier)
            if second.verdict is not Verdict.PASS:
                if second.misconception and not row.misconception:  # its own mistake shows only now
                    # Not what that run said: the right code was in view of it, and could be in its words.
                    means = _meaning(exercise, second.misconception)
                    message = f"With the right {names} in place it is still not right. {means}".strip()
                    known = replace(row, message=message, misconception=second.misconception)
                    judged.tests[test] = known, _failure(row.exercise, message)
                continue
            message = FOLLOWED.format(names=names)
            seconds = row.seconds + second.seconds
            kept = replace(second, message=message, seconds=seconds, kind=Kind.FOLLOWED, cause=earlier[0])
            judged.tests[test] = kept, [_passed(f"{row.exercise}: {message}")]

    def _named(self, exercises: set[str], cells: list[NotebookNode]) -> bool:
        """Whether the student's code in these cells uses what these exercises are about, but for their own cells."""
        ours = _released(self.lab)
        own = {grade_id(name) for name in exercises}
        # The cell of an exercise about variables defines no function of its name.
        sources = map(self.lab.reference_cells.__getitem__, own)
        made = (defined(parsed(source))[1] for source in sources)
        exercises = exercises.union(*made)
        code = (c for c in cells if c.cell_type == "code" and id_of(c) not in own)
        return any(exercises & set(re.findall(r"\w+", c.source)) for c in code if c.source not in ours)

    def _is_stub(self, exercise: Exercise) -> bool:
        cells = (c for c in self.notebook.cells if id_of(c) == grade_id(exercise.name))
        return any("raise NotImplementedError" in c.source for c in cells)


def _meaning(exercise: Exercise, name: str) -> str:
    """What a known mistake, or each of two at once, means: our own sentences."""
    known = STRUCTURAL | {m.name: (m.means, m.nudge) for m in exercise.misconceptions}
    parts = [name] if name in known else name.split(" + ")
    return " ".join(" ".join(known.get(part, ())).strip() for part in parts)


MAX_MESSAGE = 5_000  # characters of what a student is told of one exercise


@cache
def _released(lab: Lab) -> frozenset[str]:
    """The sources of the release's own cells."""
    return frozenset(cell.source for cell in release_for_marking(lab).cells)


@cache
def _illustrations(lab: Lab) -> frozenset[str]:
    """The release's cells that only show something: nothing depends on them, so marking does without."""
    cells = release_for_marking(lab).cells
    return frozenset(c.source for c in cells if "illustration" in c.metadata.get("tags", []))


def _why_not_done(run: CellRun) -> tuple[Verdict, str]:
    """Why the cell of an answer did not run to its end, if it did not; and the verdict on what is undefined for it."""
    if run.status in _STOPPED:
        return Verdict(run.status), _STOPPED[run.status]
    raised = next((o for o in run.outputs if o.get("output_type") == "error"), {})
    return Verdict.MISSING, ": ".join(part for part in (raised.get("ename"), raised.get("evalue")) if part)


def _ended(exercise: Exercise, run: CellRun, of_answer: CellRun) -> Finding | None:
    """What is found of an exercise that gave no answers; None where there are answers to judge."""
    name, verdict = exercise.name, Verdict.CRASH
    if run.missing:
        what = "function" if exercise.rules.of_a_function and name[0].islower() else "class"
        (verdict, reason), why = _why_not_done(of_answer), f"There is no {what} `{name}` to try."
        if reason:
            why += f" The cell that should define it failed: {reason[:300].rstrip('.')}."
    elif run.status is Outcome.TIMEOUT:
        why, verdict = f"`{name}` takes too long. {run.reason}", Verdict.TIMEOUT
    elif run.status is Outcome.SKIPPED:
        why = f"`{name}` was not tried: the cells before it had used up the notebook's time."
        verdict = Verdict.TIMEOUT
    elif run.forged:
        why = f"`{name}` could not be asked: this notebook writes where only its answers may go."
    elif run.status is Outcome.CRASH or run.answers is None:
        why = f"`{name}` ended its own process, or went over the memory limit."
    else:
        return None
    return Finding(verdict, seen=why)


_FRESH = {
    "nothing": "it returns None",
    "type": "it returns another kind of thing than the one that is due",
    "shape": "the shape is not the one that is due",
    "dtype": "the dtype is not the one that is due",
    "modified": "it changes its argument",
    "memory": "the result is right, but more memory is held at once than is allowed",
    "not finite": "numbers that should be finite are not",
}


def _right_in(visible: int, fresh: int) -> str:
    if visible and fresh:
        return f"Right in all {visible + fresh} cases: {visible} that you can see, {fresh} fresh."
    return f"Right in all {visible + fresh} cases." if visible + fresh > 1 else "Right."


def _about_fresh(finding: Finding, some_visible: bool) -> Finding:
    """A finding with what can be said of a case that nobody may see: neither its inputs nor what is expected."""
    told = finding.told
    kind = told.difference.kind if told and told.difference else ""
    error = told.answer.raised if told else ""
    # A name of the student's own could be made of the numbers.
    known = hasattr(builtins, error) or hasattr(np.exceptions, error)
    raises = f"it raises {error if known else 'an error of its own'}"
    what = raises if kind == "error" else _FRESH.get(kind, "the result differs")
    label = told.question.label if told else ""
    before = "Right in the cases you can see, but not with other numbers: in" if some_visible else "In"
    seen = f"{before} a fresh case (“{label}”) {what}."
    means, nudge = (finding.means, finding.nudge) if finding.misconception else ("", "")
    return replace(finding, seen=seen, means=means, nudge=nudge)


def _failure(name: str, text: str, html: str = "") -> list[NotebookNode]:
    """The outputs of a test cell that earns nothing: our message, and the error that nbgrader scores by."""
    text = clean_text(cut(text, MAX_MESSAGE))
    html = html or f"<p>{code(escape(text, quote=False))}</p>"
    said, line = f"{name}: {text}", f"{name}: not right yet."
    return [
        make_output("display_data", metadata={}, data={"text/plain": text, "text/html": html}),
        make_output("error", ename="CheckFailed", evalue=said, traceback=[line]),
    ]


def _passed(text: str) -> NotebookNode:
    return make_output("stream", name="stdout", text=f"✓ {text}\n")


def _up_to(cells: list[NotebookNode], test: str, tests: set[str]) -> list[NotebookNode]:
    """A test cell with those that it can depend on: those before it, without the other tests."""
    place = next(i for i, cell in enumerate(cells) if id_of(cell) == test)
    return [cell for cell in cells[:place] if id_of(cell) not in tests] + [cells[place]]


def _notice(title: str, sentences: Any) -> NotebookNode:
    lines = "\n".join(f"- {sentence}" for sentence in sentences)
    return new_markdown_cell(f"**{title}**\n\n{lines}", id="grader-notes")
