"""Every row, side by side, in both sandboxes: verdict, score, name and message are the same, or it is argued why not."""

import os
import re
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from our_course import COURSE
from sample_class import hand_ins, perfect, with_answer, written_out, wrong_answer
from submissions.suite import attacks

from autograder.authoring.lab import read_labs
from autograder.cells import grade_id, id_of
from autograder.grading.marking import mark, prepare
from autograder.grading.run.pool import sandbox_for
from autograder.grading.sandbox import Cell, Limits
from autograder.grading.sandbox.bubblewrap import Bubblewrap
from autograder.grading.sandbox.webassembly import WebAssembly

WHY = Bubblewrap.why_unavailable() or WebAssembly.why_unavailable()
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(WHY), reason=f"two sandboxes are needed: {WHY}"),
]
ALL = [name for name, lab in read_labs(COURSE).items() if not lab.needs]
# For the other labs, and for every other hand-in of these, CI has no minutes: WIDE=1 compares all.
LABS = ["attention-masks", "multi-head-attention"]
EACH = 1 if os.environ.get("WIDE") else 2
# Mistakes whose name hangs on the machine: a fit to too few rows has many solutions, and the last digits choose.
KNOWN = {"fitted-to-some-positions"}
WIDE = pytest.mark.skipif(not os.environ.get("WIDE"), reason="It takes half an hour: WIDE=1 asks for it.")


def rows_of(lab, kind, files, most=None):
    """All rows of these hand-ins: verdict, score, name and message, by hand-in and exercise."""
    prepare(lab)
    sandbox = sandbox_for(lab, kind)
    if most:
        sandbox.limits = replace(sandbox.limits, **most)
    return {
        (name, row.exercise): (row.verdict.value, row.score, row.misconception, row.message)
        for name, data in files.items()
        for row in mark(data, lab, sandbox, salt="two").rows
    }


# In how many of the cases a list of float32 is, to the last digit, what a mistake gives, differs between processors
# too: a list has no dtype that would say how exact its numbers are. It is a clause of a message, never a verdict.
# How much is held is measured from outside, in coarser steps.
# The type of whole numbers that nobody has chosen is the machine's; some words of an error are the Python version's.
_BY_A_DIGIT = re.compile(
    r"In \d+ of \d+ cases that fail, your result is what this mistake gives: |, got \d+(?=\))"
    r"|(?<=holds )[\d.]+ MB|(?<=holds )int(32|64)"
)


def different(one, other):
    """Where the two are not the same."""
    assert one.keys() == other.keys()
    plain = [
        {at: (*row[:3], _BY_A_DIGIT.sub("", row[3])) for at, row in rows.items()} for rows in (one, other)
    ]
    return {place: (one[place], other[place]) for place in one if plain[0][place] != plain[1][place]}


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in LABS else WIDE) for name in ALL])
def test_a_right_and_every_wrong_answer(name):
    """The n-th mistake of each exercise makes the n-th hand-in, so that following through has something to do, too."""
    lab = read_labs(COURSE)[name]
    right = perfect(lab)
    files = {"right": nbformat.writes(right).encode()}
    functions = {
        "wrong": lambda exercise: [mistake.function for mistake in exercise.misconceptions],
        "variant": lambda exercise: exercise.variants,
    }
    for kind, of in functions.items():
        for number in range(0, max(len(of(exercise)) for exercise in lab.exercises.values()), EACH):
            notebook = right
            for exercise in lab.exercises.values():
                function = of(exercise)[number : number + 1]
                if function and (answer := written_out(exercise, function[0])):
                    notebook = with_answer(notebook, exercise.name, answer)
            files[f"{kind} {number}"] = nbformat.writes(notebook).encode()
    found = different(rows_of(lab, "bubblewrap", files), rows_of(lab, "webassembly", files))
    assert {
        place: (one, two) for place, (one, two) in found.items() if one[2] not in KNOWN or one[:2] != two[:2]
    } == {}


@WIDE
def test_a_class_of_a_hundred():
    lab = read_labs(COURSE)["qkv-attention"]
    files = {f"{number}: {what}": data for number, (what, data) in enumerate(hand_ins(lab, 100, seed=7))}
    assert different(rows_of(lab, "bubblewrap", files), rows_of(lab, "webassembly", files)) == {}


@pytest.mark.parametrize("kind", ["bubblewrap", "webassembly"])
def test_a_class_beside_eight_busy_processes(kind, make_busy):
    """With an answer that needs less than half of its time, and one that has no end, among others."""
    lab = read_labs(COURSE)["qkv-attention"]
    right, last = perfect(lab), "attention_qkv"
    answer = next(cell.source for cell in right.cells if id_of(cell) == grade_id(last))
    turns = 5_000_000
    (run,) = sandbox_for(lab, kind).run([Cell(f"def turn():\n    for _ in range({turns}): pass\nturn()")])
    files = {f"{number}: {what}": data for number, (what, data) in enumerate(hand_ins(lab, 2, seed=3))}
    for name, many in (("slow", int(0.8 / run.spent * turns)), ("endless", 10**15)):
        more = f"""{answer}
answer, rest = {last}, iter(range({many}))
def {last}(queries, keys, values):
    for _ in rest: pass
    return answer(queries, keys, values)"""
        files[name] = nbformat.writes(with_answer(right, last, more)).encode()
    alone = rows_of(lab, kind, files, {"call_seconds": 2})
    assert alone["slow", last] == alone["0: perfect", last]
    assert "did not end; 2 s are allowed" in alone["endless", last][3]
    make_busy()
    assert rows_of(lab, kind, files, {"call_seconds": 2}) == alone


# Attacks whose rows differ, and why that is right.
_NOT_THERE = "what it calls is not there, so that it fails before it does anything"
ARGUED = {
    **dict.fromkeys(
        "wrong-kills-all wrong-network wrong-orphans wrong-swapped-questions timeout-swallows-interrupts "
        "timeout-fork-bomb wrong-shared-memory timeout-patched-time crash-segfault wrong-kernel-ways-out "
        "wrong-shared-sockets timeout-cell-that-hangs timeout-stops-itself crash-memory-bomb-of-many "
        "crash-patched-fork crash-segfault-by-recursion".split(),
        _NOT_THERE,
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
    """Names and messages may tell of another way to fail; what an attack earns may not differ, unless it is argued."""
    earned: dict[str, dict] = {"bubblewrap": {}, "webassembly": {}}
    for name in ALL:
        lab, files = read_labs(COURSE)[name], {}
        for attack in attacks():
            if attack.lab == name and attack.name.startswith(f"{kind_of}-"):
                folder = tmp_path / attack.name
                folder.mkdir()
                attack.put(folder)
                for path in filter(Path.is_file, folder.glob(f"{name}.ipynb")):
                    files[attack.name] = path.read_bytes()
        for kind, found in earned.items():
            found |= rows_of(lab, kind, files, {"cell_seconds": 4, "call_seconds": 3}) if files else {}
    found = different(
        *({place: (*row[:2], None, "") for place, row in rows.items()} for rows in earned.values())
    )
    assert {place: pair for place, pair in found.items() if place[0] not in ARGUED} == {}


def said_in(sandbox, lab):
    """What `check` prints in a notebook, by exercise and mistake; for the right answers, too."""
    right = perfect(lab)
    sources = {id_of(cell): cell.source for cell in right.cells if cell.cell_type == "code"}
    given = [cell.source for cell in right.cells if "setup" in cell.metadata.get("tags", ())]
    cells = [Cell(source) for source in [*given, *(sources[grade_id(name)] for name in lab.exercises)]]
    told = {}
    for exercise in lab.exercises.values():
        told[exercise.name, "right"] = len(cells)
        cells.append(Cell(f"check({exercise.name})"))
        for mistake in exercise.misconceptions[:4]:
            if answer := wrong_answer(exercise, mistake):
                told[exercise.name, mistake.name] = len(cells) + 1
                cells += [Cell(answer), Cell(f"check({exercise.name})")]
        cells.append(Cell(sources[grade_id(exercise.name)]))
    with sandbox:
        runs = sandbox.run(cells, Limits(cell_seconds=60, total_seconds=1500))
    return {
        place: "".join(o.get("text") or f"{o.get('ename')}: {o.get('evalue')}" for o in runs[number].outputs)
        for place, number in told.items()
    }


@pytest.mark.parametrize("name", ["additive-attention", "attention-masks"])
def test_what_a_student_is_told_where_whole_numbers_have_32_bits(name):
    """As in a browser: the student's own `check`, word for word."""
    lab = read_labs(COURSE)[name]
    library = [COURSE.root / folder for folder in (*COURSE.library, *COURSE.data)]
    here, there = (
        said_in(kind(library=library, course=COURSE.root), lab) for kind in (Bubblewrap, WebAssembly)
    )
    assert all("right in all" in text for (_, mistake), text in here.items() if mistake == "right")
    assert sum("CheckFailed" in text for text in here.values()) > 2 * len(lab.exercises)
    assert different(here, there) == {}
