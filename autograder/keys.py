"""Answer keys: the visible cases as arrays and sentences, with no code in them.

In `autograder/keys/`, `<lab>.json` says what there is, and `<lab>/<exercise>.npz` holds the arrays (never
pickles). `autograder build` writes them; `check` reads them.
"""

import json
from collections.abc import Mapping, Sequence
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


def load_all() -> None:
    """Read every key, so that what is forked from this process finds them read."""
    for name in index():
        load(name)


@cache
def load(name: str, folder: Path = KEYS) -> Key:
    """The key of one exercise; raises KeyError if no lab has it."""
    entry = index(folder)[name]
    path = arrays_of(entry["lab"], name, folder)
    with np.load(path, allow_pickle=False) as arrays:
        questions = [
            Question(
                case["label"],
                Inputs(
                    tuple(_unpack(a, arrays) for a in case["args"]),
                    {k: _unpack(a, arrays) for k, a in case["kwargs"].items()},
                ),
                arrays[case["expected"]],
                _Mistakes(case["mistakes"], path),
            )
            for case in entry["cases"]
        ]
    misconceptions = [Misconception(**m) for m in entry["misconceptions"]]
    return Key(name, entry["lab"], entry["points"], Rules(**entry["rules"]), misconceptions, questions)


def arrays_of(lab: str, name: str, folder: Path = KEYS) -> Path:
    """The file that holds an exercise's arrays."""
    return folder / lab / f"{name}.npz"


class _Mistakes(Mapping):
    """What the misconceptions give for one case; read when first asked for, as a right answer never does."""

    def __init__(self, entries: dict[str, dict], path: Path):
        self._entries, self._path = entries, path
        self._answers: dict[str, Answer] = {}

    def __getitem__(self, name: str) -> Answer:
        if not self._answers:
            with np.load(self._path, allow_pickle=False) as arrays:
                self._answers = {m: _answer(entry, arrays) for m, entry in self._entries.items()}
        return self._answers[name]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)


def contents(about: dict, exercises: Sequence) -> tuple[dict, dict[str, dict[str, np.ndarray]]]:
    """The JSON object of one lab's key, and each exercise's arrays.

    Parameters
    ----------
    about : dict
        The lab's order, title, minutes and difficulty.
    exercises : sequence of autograder.labs.exercise.Exercise
    """
    arrays_by_name, entries = {}, {}
    for exercise in exercises:
        cases = []
        arrays: dict[str, np.ndarray] = {}
        for i, question in enumerate(exercise.questions()):
            at = f"{i}"
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
        arrays_by_name[exercise.name] = arrays
        entries[exercise.name] = {
            "points": exercise.points,
            "rules": asdict(exercise.rules),
            "misconceptions": [
                {"name": m.name, "means": m.means, "nudge": m.nudge} for m in exercise.misconceptions
            ],
            "cases": cases,
        }
    return {**about, "exercises": entries}, arrays_by_name


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
