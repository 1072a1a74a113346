"""Rules that are right but somewhere in an exercise's domain: made from the reference, and all caught.

For each exercise its own domain says what may be asked. From what is drawn anywhere in it, rules are made
that are wrong from a size on, for one value of a flag, one dtype, one layout in memory, large numbers or an
empty row of a mask, and right elsewhere. Each must be caught by the visible cases or by fresh ones.
"""

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import pytest
from our_course import COURSE

from autograder.authoring.domain import Domain
from autograder.authoring.lab import read_labs
from autograder.judging.answer import ask
from autograder.judging.compare import first_difference
from autograder.judging.question import LAYOUTS, Inputs, arranged, layout_of

LABS = [lab for lab in read_labs(COURSE).values() if not lab.why_unavailable() and not lab.needs]
EXERCISES = [e for lab in LABS for e in lab.exercises.values() if e.where is not None]
DRAWN = 60  # points anywhere in the domain, from which the rules are made
FRESH = (0, 1, 2)  # seeds of fresh cases


def arrays(given: Inputs) -> list[tuple[str, np.ndarray]]:
    """The arrays among the arguments, each with a name."""
    found = []

    def collect(name, value):
        if isinstance(value, np.ndarray):
            found.append((name, value))
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                collect(f"{name}[{i}]", part)
        elif isinstance(value, dict):
            for key, part in value.items():
                collect(f"{name}[{key!r}]", part)

    for name, value in [*enumerate(given.args), *given.kwargs.items()]:
        collect(str(name), value)
    return found


def traits(given: Inputs, sizes: tuple[int, ...]) -> set[str]:
    """What is special about some inputs, as names of rules that are wrong for them."""
    found = set()
    for name, array in arrays(given):
        found.add(f"argument {name} with {array.ndim} axes")
        for axis, size in enumerate(array.shape, -array.ndim):
            found |= {f"argument {name}, axis {axis}: {n}" for n in (1, 2) if size == n}
            found |= {f"argument {name}, axis {axis}: from {n} on" for n in sizes if size >= n}
        if array.dtype.kind == "f":
            found.add(f"argument {name} in {array.dtype.name}")
            largest = float(np.abs(array.astype(float)).max(initial=0))
            found |= {f"argument {name} as large as {n}" for n in (20, 900) if largest >= n}
        if layout_of(array) != "C":
            found.add(f"argument {name} {layout_of(array)}")
        if array.dtype == bool and array.ndim and array.size and (~array.any(axis=-1)).any():
            found.add(f"argument {name}: a row with nothing in it")
    for name, value in [*enumerate(given.args), *given.kwargs.items()]:
        if type(value) is int:
            found |= {f"argument {name}: from {n} on" for n in sizes if value >= n}
        if value is None or isinstance(value, (bool, str)) or (type(value) is int and value <= 2):
            found.add(f"argument {name} = {value!r}")
        elif isinstance(value, type):
            found.add(f"argument {name} = {value.__name__}")
    return found


def anywhere(exercise, rng) -> Inputs:
    """Inputs from anywhere in the exercise's domain."""
    where = exercise.where
    given = {name: int(rng.integers(low, high + 1)) for name, (low, high) in where.sizes.items()}
    given |= {name: values[rng.integers(len(values))] for name, values in where.flags.items()}
    if where.magnitudes:
        given["magnitude"] = where.magnitudes[rng.integers(len(where.magnitudes))]
    drawn = where.draw(rng, **given)
    dtype = where.dtypes[rng.integers(len(where.dtypes))] if where.dtypes else None
    layout = LAYOUTS[rng.integers(3)] if where.layouts else "C"

    def change(value):
        if not isinstance(value, np.ndarray):
            return value
        if dtype and value.dtype.kind == "f":
            value = value.astype(dtype)
        return arranged(value, layout)

    return Inputs(tuple(map(change, drawn.args)), {k: change(v) for k, v in drawn.kwargs.items()})


@cache
def rules(exercise) -> list[str]:
    """The rules that are wrong only somewhere in the domain: neither everywhere nor by a rare chance."""
    rng = np.random.default_rng(7)
    counts: dict[str, int] = {}
    for _ in range(DRAWN):
        for trait in traits(anywhere(exercise, rng), (13, 30)):
            counts[trait] = counts.get(trait, 0) + 1
    return sorted(trait for trait, count in counts.items() if DRAWN // 20 < count < DRAWN)


def spoiled(value):
    """A value of the same kind that is wrong."""
    if isinstance(value, np.ndarray):
        if value.dtype == bool:
            return ~value
        uneven = np.arange(value.size).reshape(value.shape) % 2 + 1  # an even shift would not change weights
        return value + uneven.astype(value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)([spoiled(value[0]), *value[1:]])
    if isinstance(value, dict):
        return {key: spoiled(part) for key, part in value.items()}
    return value + "?" if isinstance(value, str) else value + 1


def wrong_for(exercise, trait: str) -> Callable:
    def rule(*args, **kwargs):
        right = exercise.reference(*args, **kwargs)
        return spoiled(right) if trait in traits(Inputs(args, kwargs), (13, 30)) else right

    return rule


@lru_cache(2 + len(FRESH))  # one exercise's, which all its rules are asked
def questions(exercise, seed: int | None):
    # Without those that ask for little memory, which are no part of the domain.
    return [q for q in exercise.questions(seed) if q.inputs.memory is None]


def caught(exercise, rule: Callable, seed: int | None) -> bool:
    asked = questions(exercise, seed)
    answers = (ask(rule, question.inputs, exercise.rules.call) for question in asked)
    return any(first_difference(q.expected, a, exercise.rules) for q, a in zip(asked, answers))


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_a_rule_that_is_wrong_only_somewhere_is_caught(exercise, record_property):
    made, visible, missed = rules(exercise), 0, []
    for trait in made:
        rule = wrong_for(exercise, trait)
        if caught(exercise, rule, None):
            visible += 1
        elif not any(caught(exercise, rule, seed) for seed in FRESH):
            missed.append(trait)
    record_property("rules", f"{len(made)} made, {visible} caught by visible cases")
    assert missed == []
    # Exercises on a single number have few edges.
    assert made or not arrays(exercise.questions()[0].inputs)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_reference_is_right_in_all_of_its_domain(exercise):
    rng = np.random.default_rng(11)
    for _ in range(10):
        answer = ask(exercise.reference, anywhere(exercise, rng), exercise.rules.call)
        assert not answer.error and not answer.modified


def test_a_rule_outside_the_domain_is_not_asked_for():
    """`to_additive` promises three dtypes; nobody is asked for a fourth."""
    exercise = next(e for e in EXERCISES if e.name == "to_additive")
    rule = wrong_for(exercise, "argument dtype = longdouble")
    assert not caught(exercise, rule, None)
    assert not any(caught(exercise, rule, seed) for seed in FRESH)


def test_without_its_edges_an_exercise_would_let_such_a_rule_pass(monkeypatch):
    exercise = next(e for e in EXERCISES if e.name == "padding_mask")
    rule = wrong_for(exercise, "argument 0, axis -1: from 30 on")
    assert caught(exercise, rule, 5)
    monkeypatch.setattr(exercise, "where", None)
    questions.cache_clear()
    assert not caught(exercise, rule, 5)
    questions.cache_clear()


def test_axes_that_begin_above_the_usual_sizes_are_asked_with_their_own():
    asked = []
    where = Domain({"rows": (20, 40), "columns": (20, 40), "fixed": (7, 7)}, {}, (), (), False, None)

    def draw(rng, **sizes):
        asked.append(sizes)
        return Inputs()

    object.__setattr__(where, "draw", draw)
    for seed in range(5):
        where.edges(np.random.default_rng(seed), corners=True)
    assert all(20 <= given[name] <= 40 for given in asked for name in ("rows", "columns"))
    assert all(given["fixed"] == 7 for given in asked)
    together = [given for given in asked if given["rows"] == given["columns"]]
    assert len(together) == 10, "only in the corners: all smallest, all large"


@pytest.mark.parametrize("steady", [True, False])
def test_a_steady_domain_asks_the_same_shapes_in_every_draw(steady):
    """What compiles for each shape does so once, and not for each hand-in anew."""

    def draw(rng, **sizes):
        return Inputs((rng.normal(size=tuple(sizes.values())[:4]),))

    axes, masks = {f"axis {n}": (1, 60) for n in range(4)}, {"mask": ("one", "other")}
    where = Domain(axes, masks, (), (), False, draw, steady)

    def asked(seed, corners=True):
        return [given.args[0] for _, given, _ in where.edges(np.random.default_rng(seed), corners)]

    def shapes(arrays):
        return [array.shape for array in arrays]

    some, others = asked(0), asked(1)
    assert (shapes(some) == shapes(others)) is steady
    assert (
        len(set(shapes(some) + shapes(others))) <= 15
    ) is steady  # of 46: three an axis, the usual, all small, all large
    assert all(len(set(shape)) > 2 for shape in shapes(some)[:-2])  # and no transpose can hide
    assert not np.array_equal(some[0], others[0])
    assert (
        shapes(asked(0, corners=False)) != shapes(some)[:14]
    ) is steady  # what students see is drawn as ever
