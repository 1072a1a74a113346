"""Answer keys: the visible cases as values and sentences, with no code in them.

A lab's key lies beside its released notebook, in the folder `answers`: `lab.json` says what there is,
`criteria.json` what its questions are marked by (where the course lets students read that), and
`<exercise>.key` is one frame (`autograder.judging.frames`), compressed. `autograder build` writes them; `check`
reads them. Nothing in them is ever executed but what they name in the course's own library: comparers, and functions
that answers are given.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from autograder import course
from autograder.course import ANSWERS
from autograder.errors import Complaint
from autograder.judging.frames import (
    LEFT_OUT,
    decode,
    encode,
    pack_answer,
    pack_inputs,
    unpack_answer,
    unpack_inputs,
)
from autograder.judging.kinds import pack_value, unpack_value
from autograder.judging.question import Answer, Misconception, Mistakes, Question, Rules
from autograder.probing import idle_in
from autograder.stopwatch import CALL_SECONDS

INDEX = "lab.json"
CRITERIA = "criteria.json"
VERSION = 2


class KeyMissing(Complaint):
    """There is no answer key where one is due."""

    @classmethod
    def at(cls, path: Path, why: Exception) -> "KeyMissing":
        """One that is there, and cannot be read."""
        return cls(f"The answer key {path} cannot be read ({why}); get the lab anew.")


@dataclass(frozen=True)
class LabKey:
    """What a key says of its lab.

    Parameters
    ----------
    folder : Path
        Where the key lies.
    lab, title, difficulty : str
    order, minutes : int
        Its place in the course, from 1, and about how long it takes.
    points : mapping of str to float
        The exercises' points, in the lab's order.
    by_hand : mapping of str to float
        The points of the questions marked by hand, by their cells' grade_ids.
    certificate : str
        What is said once every exercise has passed.
    call_seconds : float
        Of CPU time that an exercise's answers may take.
    """

    folder: Path
    lab: str
    title: str
    difficulty: str
    order: int
    minutes: int
    points: Mapping[str, float]
    by_hand: Mapping[str, float]
    certificate: str = ""
    call_seconds: float = CALL_SECONDS


@dataclass(frozen=True)
class Key:
    """What a student's check knows of one exercise."""

    name: str
    lab: str
    points: float
    builds_on: tuple[str, ...]
    rules: Rules
    misconceptions: list[Misconception]
    questions: list[Question]
    idle: tuple[str, ...] = ()  # the arrays on which a right result does not depend


def folders() -> list[Path]:
    """Where keys are looked for: in the course at or above the working directory, else in it and beside it."""
    root = course.nearest()
    if root is not None:
        return [root / "notebooks" / lab / ANSWERS for lab in course.read(root).labs]
    here = Path.cwd()
    return [here / ANSWERS, *sorted(here.glob(f"*/{ANSWERS}")), *sorted(here.parent.glob(f"*/{ANSWERS}"))]


def labs() -> dict[str, LabKey]:
    """The keys of all labs at hand, by their names, in the course's order."""
    return _labs(tuple(folders()))


@cache
def _labs(places: tuple[Path, ...]) -> dict[str, LabKey]:
    found: dict[str, LabKey] = {}
    for folder in places:
        if (folder / INDEX).is_file():
            key = _lab_key(folder)
            found.setdefault(key.lab, key)
    if course.nearest() is not None:
        return found  # in the order of course.toml
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def _lab_key(folder: Path) -> LabKey:
    try:
        entries = json.loads((folder / INDEX).read_text("utf-8"))
        if entries.pop("version") != VERSION:
            raise ValueError("of another version")
        return LabKey(folder=folder, **entries)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise KeyMissing.at(folder / INDEX, error) from None


def criteria_of(lab: LabKey) -> dict[str, str]:
    """The marking schemes of a lab's questions by their cells' grade_ids, as far as its students may read them."""
    try:
        packed = json.loads((lab.folder / CRITERIA).read_text("utf-8"))
        return {name: b64decode(text).decode("utf-8") for name, text in packed.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise KeyMissing.at(lab.folder / CRITERIA, error) from None


def criteria_file(schemes: Mapping[str, str]) -> bytes:
    """The content of `criteria.json`.

    The texts are turned into base64 so that nobody reads them by accident; it is no secret, and whoever wants
    to can read them before writing.
    """
    packed = {name: b64encode(text.encode("utf-8")).decode("ascii") for name, text in schemes.items()}
    return (json.dumps(packed, indent=1) + "\n").encode()


def lab_of(exercise: str) -> LabKey:
    """The key of the lab that holds an exercise; raises KeyError if none does."""
    for key in labs().values():
        if exercise in key.points:
            return key
    raise KeyError(exercise)


def exercises() -> list[str]:
    """All exercises that there are keys for, in the course's order."""
    return [name for key in labs().values() for name in key.points]


def load(name: str) -> Key:
    """The key of one exercise; raises KeyError if no lab has it."""
    return _load(lab_of(name).folder / f"{name}.key", name)


@cache
def _load(path: Path, name: str) -> Key:
    try:
        header, arrays = _opened(path.read_bytes())
        questions = [
            Question(
                case["label"],
                unpack_inputs(case["inputs"], arrays),
                unpack_value(case["expected"], arrays),
                Mistakes(
                    case["mistakes"], partial(_answer, case["mistakes"], arrays, case["inputs"]["memory"])
                ),
                None if case["edge"] is None else (case["edge"][0], unpack_value(case["edge"][1], arrays)),
            )
            for case in header["cases"]
        ]
        rules = Rules(**header["rules"])
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise KeyMissing.at(path, error) from None
    misconceptions = [Misconception(**m) for m in header["misconceptions"]]
    return Key(
        name,
        header["lab"],
        header["points"],
        tuple(header["builds_on"]),
        rules,
        misconceptions,
        questions,
        tuple(header.get("idle", ())),
    )


def _opened(data: bytes) -> tuple[dict, list[np.ndarray]]:
    return decode(zlib.decompress(data))


def _answer(entries: Mapping[str, dict], arrays: list[np.ndarray], memory: int | None, name: str) -> Answer:
    """What a misconception gives for one case."""
    entry = dict(entries[name])
    too_much = entry.pop("too_much", False)
    return replace(unpack_answer(entry, arrays), held=(memory or 0) + 1 if too_much else 0)


def index_of(
    lab: str, about: dict[str, Any], exercises: Sequence[Any], by_hand: Mapping[str, float]
) -> bytes:
    """The content of `lab.json`.

    Parameters
    ----------
    about : dict
        The lab's order, title, minutes and difficulty; its certificate and its limit of time, if it has its own.
    exercises : sequence of autograder.authoring.Exercise
    by_hand : mapping of str to float
    """
    points = {exercise.name: exercise.points for exercise in exercises}
    entries = {"version": VERSION, "lab": lab, **about, "points": points, "by_hand": dict(by_hand)}
    return (json.dumps(entries, ensure_ascii=False, indent=1) + "\n").encode()


def key_of(exercise: Any) -> bytes:
    """The content of an exercise's key."""
    arrays: list[np.ndarray] = []
    cases, questions = [], exercise.questions()
    for question in questions:
        mistakes = {} if question.edge else question.mistakes
        kept = {name: _mistake(answer, question, exercise.rules, arrays) for name, answer in mistakes.items()}
        edge = question.edge and [question.edge[0], pack_value(question.edge[1], arrays)]
        cases.append(
            {
                "label": question.label,
                "inputs": pack_inputs(question.inputs, arrays),
                "expected": pack_value(question.expected, arrays),
                "mistakes": kept,
                "edge": edge,
            }
        )
    header = {
        "lab": exercise.lab.name,
        "points": exercise.points,
        "builds_on": [other.name for other in exercise.builds_on],
        "rules": asdict(exercise.rules),
        "misconceptions": [
            {"name": m.name, "means": m.means, "nudge": m.nudge} for m in exercise.misconceptions
        ],
        "cases": cases,
    }
    plain = [question for question in questions if not question.edge]
    if idle := idle_in(exercise.reference, plain, exercise.rules):
        header["idle"] = idle
    return zlib.compress(encode(header, arrays), 9)


def _mistake(answer: Answer, question: Question, rules: Rules, arrays: list[np.ndarray]) -> dict:
    packed = {**LEFT_OUT, **pack_answer(answer, arrays)}
    kept = {name: packed[name] for name in ("type", "error", "modified", "value")}
    if rules.returns == "printed":
        kept["printed"] = packed["printed"]
    memory = question.inputs.memory
    if memory is not None and answer.held > memory:
        kept["too_much"] = True  # how much is a matter of NumPy's version
    return kept


def same_key(one: bytes, other: bytes) -> bool:
    """Whether two keys hold the same, to rounding: exp differs in its last digit between machines."""
    try:
        (header, arrays), (others, theirs) = _opened(one), _opened(other)
    except (ValueError, zlib.error):
        return False
    return (
        _without_wording(header) == _without_wording(others)
        and len(arrays) == len(theirs)
        and all(map(_same_array, arrays, theirs))
    )


def _without_wording(header: dict) -> dict:
    """A key's JSON without what Python and NumPy word differently from version to version."""

    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {
                k: v.split(":")[0] if k == "error" and isinstance(v, str) else plain(v)
                for k, v in item.items()
            }
        if isinstance(item, list):
            return [plain(part) for part in item]
        return float(f"{item:.5g}") if isinstance(item, float) else item

    return plain(header)


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and np.allclose(
            one.astype(np.float64),
            other.astype(np.float64),
            rtol=1e-2 if one.dtype == np.float16 else 1e-5,
            atol=1e-6,
            equal_nan=True,
        )
    )


def forget() -> None:
    """Read keys anew: they have been written."""
    _labs.cache_clear()
    _load.cache_clear()
