"""Both sandboxes give the same results (verdict, score, name, message), except where explained."""

import os
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import nbformat
import pytest
from our_course import COURSE
from sample_class import perfect, submissions, with_answer, written_out, wrong_answer
from submissions.suite import attacks

from autograder.authoring.lab import read_labs
from autograder.core.notebook_cells import get_grade_id, make_grade_id
from autograder.grading.grade_submission import grade_submission, prepare_lab
from autograder.grading.pool import get_sandbox
from autograder.sandbox import Cell, RunLimits
from autograder.sandbox.bubblewrap import Bubblewrap
from autograder.sandbox.webassembly import WebAssembly

REASON = Bubblewrap.explain_unavailability() or WebAssembly.explain_unavailability()
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(REASON), reason=f"two sandboxes are needed: {REASON}"),
]
LAB_NAMES = [name for name, lab in read_labs(COURSE).items() if not lab.needs]
# CI has no time for the other labs, and for every second submission of these: WIDE=1 compares all.
LABS = ["attention-masks", "multi-head-attention"]
STEP = 1 if os.environ.get("WIDE") else 2
# Mistakes whose name depends on the machine: a fit to too few rows has many solutions, and the last
# digits decide between them.
MACHINE_DEPENDENT = {"fitted-to-some-positions"}
WIDE = pytest.mark.skipif(
    not os.environ.get("WIDE"), reason="It takes half an hour: WIDE=1 asks for it."
)


def grade_rows(lab, kind, files, limits=None):
    """Return (verdict, score, misconception, message), by (submission, exercise)."""
    prepare_lab(lab)
    sandbox = get_sandbox(lab, kind)
    if limits:
        sandbox.limits = replace(sandbox.limits, **limits)
    rows = {}
    for name, data in files.items():
        for row in grade_submission(data, lab, sandbox, salt="two").results:
            columns = (row.verdict.value, row.score, row.misconception, row.message)
            rows[name, row.exercise] = columns
    return rows


# Parts of messages that depend on the machine. First, the number of cases in which a list of
# float32 equals a mistake's answer to the last digit: a list has no dtype that tells its precision.
# This number never changes a verdict. Second, the measured memory: WebAssembly measures in coarser
# steps. Third, the default integer type, and words of errors that depend on the Python version.
_MACHINE_DEPENDENT_TEXT = re.compile(
    r" \(This explains \d+ of the \d+ failing cases.\)|, got \d+(?=\))"
    r"|(?<=uses )[\d.]+ MB|(?<=holds )int(32|64)"
)


def find_differences(first, second):
    """Return the results that differ, with both values."""
    assert first.keys() == second.keys()
    differences = {}
    for place in first:
        rows = (first[place], second[place])
        first_row, second_row = map(without_machine_dependent_text, rows)
        if first_row != second_row:
            differences[place] = rows
    return differences


def without_machine_dependent_text(row):
    if isinstance(row, str):  # output of `check`
        return _MACHINE_DEPENDENT_TEXT.sub("", row)
    return (*row[:3], _MACHINE_DEPENDENT_TEXT.sub("", row[3]))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in LABS else WIDE) for name in LAB_NAMES]
)
def test_a_right_and_every_wrong_answer(name):
    """The n-th submission has the n-th mistake of each exercise: this tests follow-through, too."""
    lab = read_labs(COURSE)[name]
    right = perfect(lab)
    files = {"right": nbformat.writes(right).encode()}
    functions = {
        "wrong": lambda exercise: [mistake.function for mistake in exercise.misconceptions],
        "variant": lambda exercise: exercise.variants,
    }
    for kind, functions_of in functions.items():
        count = max(len(functions_of(exercise)) for exercise in lab.exercises.values())
        for number in range(0, count, STEP):
            notebook = right
            for exercise in lab.exercises.values():
                function = functions_of(exercise)[number : number + 1]
                answer = written_out(exercise, function[0]) if function else None
                if answer:
                    notebook = with_answer(notebook, exercise.name, answer)
            files[f"{kind} {number}"] = nbformat.writes(notebook).encode()
    native, in_guest = (grade_rows(lab, kind, files) for kind in ("bubblewrap", "webassembly"))
    for place, (first, second) in find_differences(native, in_guest).items():
        assert first[2] in MACHINE_DEPENDENT and first[:2] == second[:2], (place, first, second)


@WIDE
def test_a_class_of_a_hundred():
    lab = read_labs(COURSE)["qkv-attention"]
    files = {}
    for number, (profile, data) in enumerate(submissions(lab, 100, seed=7)):
        files[f"{number}: {profile}"] = data
    native, in_guest = (grade_rows(lab, kind, files) for kind in ("bubblewrap", "webassembly"))
    assert find_differences(native, in_guest) == {}


@pytest.mark.parametrize("kind", ["bubblewrap", "webassembly"])
def test_a_class_beside_eight_busy_processes(kind, make_busy):
    """Among others with an answer that needs a fifth of its time, and an endless one."""
    lab = read_labs(COURSE)["qkv-attention"]
    right, last = perfect(lab), "attention_qkv"
    answer = next(cell.source for cell in right.cells if get_grade_id(cell) == make_grade_id(last))
    turns = 5_000_000
    (run,) = get_sandbox(lab, kind).run(
        [Cell(f"def turn():\n    for _ in range({turns}): pass\nturn()")]
    )
    files = {
        f"{number}: {profile}": data
        for number, (profile, data) in enumerate(submissions(lab, 2, seed=3))
    }
    for name, iterations in (("slow", int(0.4 / run.charged_seconds * turns)), ("endless", 10**15)):
        code = f"""{answer}
answer, rest = {last}, iter(range({iterations}))
def {last}(queries, keys, values):
    for _ in rest: pass
    return answer(queries, keys, values)"""
        files[name] = nbformat.writes(with_answer(right, last, code)).encode()
    alone = grade_rows(lab, kind, files, {"call_seconds": 2})
    assert alone["slow", last] == alone["0: perfect", last]
    assert "did not end; 2 s are allowed" in alone["endless", last][3]
    make_busy()
    assert grade_rows(lab, kind, files, {"call_seconds": 2}) == alone


# Attacks whose results differ, and the reason.
_MISSING_CALL = "the system call does not exist there, so it fails before it has any effect"
EXPLAINED_DIFFERENCES = {
    **dict.fromkeys(
        "wrong-kills-all wrong-network wrong-orphans wrong-swapped-questions timeout-swallows-interrupts "
        "timeout-fork-bomb wrong-shared-memory timeout-patched-time crash-segfault wrong-kernel-ways-out "
        "wrong-shared-sockets timeout-cell-that-hangs timeout-stops-itself crash-memory-bomb-of-many "
        "crash-patched-fork crash-segfault-by-recursion".split(),
        _MISSING_CALL,
    ),
    "crash-closes-all-files-in-a-cell": "the grader's own pipes cannot be closed: its answer is right",
    "crash-closes-all-files": "the same",
    "crash-forged-frames": "they go to descriptors that are no pipes",
    "crash-garbage-in-cell": "the same: its answer is right",
    "crash-oversized-frame-in-cell": "the same: its answer is right",
    "crash-garbage-frames": "the same, and to make the garbage takes longer than is allowed",
    "wrong-huge-by-broadcasting": "NumPy refuses more numbers than 32 bits can count",
    "wrong-huge-by-strides": "the same",
    "wrong-hidden-tests-in-memory": "a search through all objects takes longer than is allowed",
    "wrong-writes-everywhere": "its own /home takes a file, too, and then it gives the right answer",
}


@WIDE
@pytest.mark.parametrize("kind_of", sorted({attack.name.partition("-")[0] for attack in attacks()}))
def test_the_attack_class(tmp_path, kind_of):
    """Names and messages may differ; verdict and score may not, except where explained."""
    scores_by_sandbox: dict[str, dict] = {"bubblewrap": {}, "webassembly": {}}
    for name, stalls in product(LAB_NAMES, (False, True)):
        lab, files = read_labs(COURSE)[name], {}
        # Short limits for what has to wait for them; for all else, limits that a slow machine keeps.
        limits = (
            {"cell_seconds": 4, "call_seconds": 3}
            if stalls
            else {"cell_seconds": 12, "call_seconds": 10}
        )
        for attack in attacks():
            is_chosen = attack.lab == name and attack.stalls == stalls
            if is_chosen and attack.name.startswith(f"{kind_of}-"):
                folder = tmp_path / attack.name
                folder.mkdir()
                attack.put(folder)
                for path in filter(Path.is_file, folder.glob(f"{name}.ipynb")):
                    files[attack.name] = path.read_bytes()
        if not files:
            continue
        for kind, scores in scores_by_sandbox.items():
            rows = grade_rows(lab, kind, files, limits)
            scores |= {place: (*row[:2], None, "") for place, row in rows.items()}
    differences = find_differences(*scores_by_sandbox.values())
    for place, rows in differences.items():
        assert place[0] in EXPLAINED_DIFFERENCES, (place, rows)


def check_outputs(sandbox, lab):
    """Return the output of `check` in a notebook, by (exercise, mistake) or (exercise, "right")."""
    right = perfect(lab)
    sources = {get_grade_id(cell): cell.source for cell in right.cells if cell.cell_type == "code"}
    setup = [cell.source for cell in right.cells if "setup" in cell.metadata.get("tags", ())]
    answers = [sources[make_grade_id(name)] for name in lab.exercises]
    cells = [Cell(source) for source in [*setup, *answers]]
    positions = {}
    for exercise in lab.exercises.values():
        positions[exercise.name, "right"] = len(cells)
        cells.append(Cell(f"check({exercise.name})"))
        for mistake in exercise.misconceptions[:4]:
            answer = wrong_answer(exercise, mistake)
            if answer:
                positions[exercise.name, mistake.name] = len(cells) + 1
                cells += [Cell(answer), Cell(f"check({exercise.name})")]
        cells.append(Cell(sources[make_grade_id(exercise.name)]))
    with sandbox:
        runs = sandbox.run(cells, RunLimits(cell_seconds=60, total_seconds=1500))
    texts = {}
    for place, number in positions.items():
        outputs = runs[number].outputs
        parts = [output.get("text") or error_text(output) for output in outputs]
        texts[place] = "".join(parts)
    return texts


def error_text(output):
    return f"{output.get('ename')}: {output.get('evalue')}"


@pytest.mark.parametrize("name", ["additive-attention", "attention-masks"])
def test_what_a_student_is_told_where_whole_numbers_have_32_bits(name):
    """The student's `check` prints the same words as in a browser."""
    lab = read_labs(COURSE)[name]
    library = [COURSE.root / folder for folder in (*COURSE.library, *COURSE.data)]
    native, in_guest = (
        check_outputs(kind(library=library, course=COURSE.root), lab)
        for kind in (Bubblewrap, WebAssembly)
    )
    assert all(
        "correct in all" in text for (_, mistake), text in native.items() if mistake == "right"
    )
    assert sum("CheckFailed" in text for text in native.values()) > 2 * len(lab.exercises)
    assert find_differences(native, in_guest) == {}
