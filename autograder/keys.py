"""Answer keys: the visible cases as arrays and sentences, with no code in them.

A lab's key is two files in `autograder/keys/`: `<lab>.json` says what there is, `<lab>.npz` holds the
arrays (never pickles). `autograder build` writes them; `check` reads them.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from autograder.answer import Answer
from autograder.exercise import Inputs, Misconception, Question, Rules

KEYS = Path(__file__).parent / "keys"


@dataclass(frozen=True)
class Key:
    """What a student's check knows of one exercise."""

    name: str
    lab: str
    points: float
    rules: Rules
    misconceptions: list[Misconception]
    questions: list[Question]


@cache
def labs(folder: Path = KEYS) -> dict[str, dict]:
    """What the keys say of each lab (title, minutes, difficulty, exercises), in the course's order."""
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
    return dict(sorted(found.items(), key=lambda item: item[1]["order"]))


@cache
def index(folder: Path = KEYS) -> dict[str, dict]:
    """Every exercise's entry in the keys, by name, in the course's order."""
    return {
        name: {**entry, "lab": lab}
        for lab, about in labs(folder).items()
        for name, entry in about["exercises"].items()
    }


def load(name: str, folder: Path = KEYS) -> Key:
    """The key of one exercise; raises KeyError if no lab has it."""
    entry = index(folder)[name]
    with np.load(folder / f"{entry['lab']}.npz", allow_pickle=False) as arrays:
        questions = [
            Question(
                case["label"],
                Inputs(
                    tuple(_unpack(a, arrays) for a in case["args"]),
                    {k: _unpack(a, arrays) for k, a in case["kwargs"].items()},
                ),
                arrays[case["expected"]],
                {m: _answer(a, arrays) for m, a in case["mistakes"].items()},
            )
            for case in entry["cases"]
        ]
    misconceptions = [Misconception(**m) for m in entry["misconceptions"]]
    return Key(name, entry["lab"], entry["points"], Rules(**entry["rules"]), misconceptions, questions)


def contents(about: dict, exercises: Sequence) -> tuple[dict, dict[str, np.ndarray]]:
    """The JSON object and the arrays of one lab's key.

    Parameters
    ----------
    about : dict
        The lab's order, title, minutes and difficulty.
    exercises : sequence of autograder.labs.exercise.Exercise
    """
    arrays: dict[str, np.ndarray] = {}
    entries = {}
    for exercise in exercises:
        cases = []
        for i, question in enumerate(exercise.questions()):
            at = f"{exercise.name}/{i}"
            arrays[f"{at}/expected"] = question.expected
            cases.append(
                {
                    "label": question.label,
                    "args": [_pack(a, f"{at}/{j}", arrays) for j, a in enumerate(question.inputs.args)],
                    "kwargs": {k: _pack(a, f"{at}/{k}", arrays) for k, a in question.inputs.kwargs.items()},
                    "expected": f"{at}/expected",
                    "mistakes": {
                        name: _entry(answer, f"{at}/{name}", arrays)
                        for name, answer in question.mistakes.items()
                    },
                }
            )
        entries[exercise.name] = {
            "points": exercise.points,
            "rules": asdict(exercise.rules),
            "misconceptions": [
                {"name": m.name, "means": m.means, "nudge": m.nudge} for m in exercise.misconceptions
            ],
            "cases": cases,
        }
    return {**about, "exercises": entries}, arrays


def _pack(value, at: str, arrays: dict) -> dict:
    if isinstance(value, np.ndarray):
        arrays[at] = value
        return {"array": at}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": value.__name__}
    return {"value": value}


def _unpack(packed: dict, arrays):
    if "array" in packed:
        return arrays[packed["array"]]
    return getattr(np, packed["dtype"]) if "dtype" in packed else packed["value"]


def _entry(answer: Answer, at: str, arrays: dict) -> dict:
    entry = {"type": answer.type}
    if answer.value is not None:
        arrays[at] = answer.value
        entry["array"] = at
    if answer.error:
        entry["error"] = answer.error.split(":")[0]  # the kind: the wording differs between versions
    if answer.modified:
        entry["modified"] = list(answer.modified)
    return entry


def _answer(entry: dict, arrays) -> Answer:
    return Answer(
        arrays[entry["array"]] if "array" in entry else None,
        entry["type"],
        entry.get("error", ""),
        tuple(entry.get("modified", ())),
    )
