"""Test that local mistakes are caught: functions that are wrong in a part of a domain only.

For each exercise, inputs are drawn anywhere in its domain. Their traits (an axis from a size on, a
value of a flag, a dtype, a memory layout, large numbers, an empty row of a mask) make functions
that equal the reference except for inputs with one trait. The visible or the hidden cases must
catch each such function.
"""

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import pytest
from our_course import COURSE

from autograder.authoring.domain import Domain
from autograder.authoring.lab import read_labs
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import LAYOUTS, Inputs, copy_with_layout, find_memory_layout

LABS = [lab for lab in read_labs(COURSE).values() if not lab.unavailable_reason() and not lab.needs]
EXERCISES = [e for lab in LABS for e in lab.exercises.values() if e.declared_domain is not None]
SOME_EXERCISES = pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(exercise, id=exercise.name, marks=() if number % 3 == 0 else pytest.mark.long)
        for number, exercise in enumerate(EXERCISES)
    ],
)
DRAWS = 60  # inputs from which the traits are collected
HIDDEN_SEEDS = (0, 1, 2)  # seeds of hidden cases


def named_arrays(case_inputs: Inputs) -> list[tuple[str, np.ndarray]]:
    """Return the arrays among the arguments, each with a name."""
    arrays = []

    def collect(name, value):
        if isinstance(value, np.ndarray):
            arrays.append((name, value))
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                collect(f"{name}[{i}]", part)
        elif isinstance(value, dict):
            for key, part in value.items():
                collect(f"{name}[{key!r}]", part)

    for name, value in [*enumerate(case_inputs.args), *case_inputs.kwargs.items()]:
        collect(str(name), value)
    return arrays


def find_traits(case_inputs: Inputs, sizes: tuple[int, ...]) -> set[str]:
    """Return the traits of inputs."""
    traits = set()
    for name, array in named_arrays(case_inputs):
        traits.add(f"argument {name} with {array.ndim} axes")
        for axis, size in enumerate(array.shape, -array.ndim):
            traits |= {f"argument {name}, axis {axis}: {n}" for n in (1, 2) if size == n}
            traits |= {f"argument {name}, axis {axis}: from {n} on" for n in sizes if size >= n}
        if array.dtype.kind == "f":
            traits.add(f"argument {name} in {array.dtype.name}")
            largest = float(np.abs(array.astype(float)).max(initial=0))
            traits |= {f"argument {name} as large as {n}" for n in (20, 900) if largest >= n}
        if find_memory_layout(array) != "C":
            traits.add(f"argument {name} {find_memory_layout(array)}")
        if array.dtype == bool and array.ndim and array.size and (~array.any(axis=-1)).any():
            traits.add(f"argument {name}: a row with nothing in it")
    for name, value in [*enumerate(case_inputs.args), *case_inputs.kwargs.items()]:
        if type(value) is int:
            traits |= {f"argument {name}: from {n} on" for n in sizes if value >= n}
        if value is None or isinstance(value, (bool, str)) or (type(value) is int and value <= 2):
            traits.add(f"argument {name} = {value!r}")
        elif isinstance(value, type):
            traits.add(f"argument {name} = {value.__name__}")
    return traits


def draw_inputs(exercise, rng) -> Inputs:
    """Draw inputs anywhere in the exercise's domain."""
    domain = exercise.declared_domain
    arguments = {}
    for name, (low, high) in domain.sizes.items():
        arguments[name] = int(rng.integers(low, high + 1))
    for name, values in domain.flags.items():
        arguments[name] = values[rng.integers(len(values))]
    if domain.magnitudes:
        arguments["magnitude"] = domain.magnitudes[rng.integers(len(domain.magnitudes))]
    case_inputs = domain.draw(rng, **arguments)
    dtype = domain.dtypes[rng.integers(len(domain.dtypes))] if domain.dtypes else None
    layout = LAYOUTS[rng.integers(3)] if domain.layouts else "C"

    def change(value):
        if not isinstance(value, np.ndarray):
            return value
        if dtype and value.dtype.kind == "f":
            value = value.astype(dtype)
        return copy_with_layout(value, layout)

    keywords = {name: change(value) for name, value in case_inputs.kwargs.items()}
    return Inputs(tuple(map(change, case_inputs.args)), keywords)


@cache
def local_traits(exercise) -> list[str]:
    """Return the traits of some inputs of the domain, but neither of all nor of very few."""
    rng = np.random.default_rng(7)
    counts: dict[str, int] = {}
    for _ in range(DRAWS):
        for trait in find_traits(draw_inputs(exercise, rng), (13, 30)):
            counts[trait] = counts.get(trait, 0) + 1
    return sorted(trait for trait, count in counts.items() if DRAWS // 20 < count < DRAWS)


def make_wrong(value):
    """Return a wrong value of the same type."""
    if isinstance(value, np.ndarray):
        if value.dtype == bool:
            return ~value
        # Uneven, since adding the same number to all scores would not change weights.
        uneven = np.arange(value.size).reshape(value.shape) % 2 + 1
        return value + uneven.astype(value.dtype)
    if isinstance(value, (tuple, list)):
        return type(value)([make_wrong(value[0]), *value[1:]])
    if isinstance(value, dict):
        return {key: make_wrong(part) for key, part in value.items()}
    return value + "?" if isinstance(value, str) else value + 1


def make_local_mistake(exercise, trait: str) -> Callable:
    def function(*args, **kwargs):
        right = exercise.reference(*args, **kwargs)
        return make_wrong(right) if trait in find_traits(Inputs(args, kwargs), (13, 30)) else right

    return function


@lru_cache(2 + len(HIDDEN_SEEDS))  # the cases of one exercise, for all its traits
def draw_cases(exercise, seed: int | None):
    # A case with a memory limit is no part of the domain.
    return [q for q in exercise.test_cases(seed) if q.inputs.memory is None]


def find_caught_traits(exercise, seed: int | None) -> set[str]:
    """Return the traits of inputs for which a wrong result is caught.

    A mistake that is local to one of them is wrong in a case exactly if the case has the trait, so
    one call for each case tells about all of them.
    """
    caught_traits = set()
    for test_case in draw_cases(exercise, seed):
        traits = set()

        def make_mistake(*args, traits=traits, **kwargs):
            traits |= find_traits(Inputs(args, kwargs), (13, 30))
            return make_wrong(exercise.reference(*args, **kwargs))

        answer = call_student_function(make_mistake, test_case.inputs, exercise.rules.call)
        if compare_outcome(test_case.expected, answer, exercise.rules):
            caught_traits |= traits
    return caught_traits


def is_caught(exercise, function: Callable, seed: int | None) -> bool:
    cases = draw_cases(exercise, seed)
    answers = (
        call_student_function(function, test_case.inputs, exercise.rules.call)
        for test_case in cases
    )
    return any(compare_outcome(q.expected, a, exercise.rules) for q, a in zip(cases, answers))


@SOME_EXERCISES
def test_a_local_mistake_is_caught(exercise, record_property):
    traits = local_traits(exercise)
    missed_traits = set(traits) - find_caught_traits(exercise, None)
    visible = len(traits) - len(missed_traits)
    for seed in HIDDEN_SEEDS:
        if missed_traits:
            missed_traits -= find_caught_traits(exercise, seed)
    record_property("rules", f"{len(traits)} made, {visible} caught by visible cases")
    assert missed_traits == set()
    # An exercise on a single number may have no trait.
    assert traits or not named_arrays(exercise.test_cases()[0].inputs)


@SOME_EXERCISES
def test_the_reference_is_right_in_all_of_its_domain(exercise):
    rng = np.random.default_rng(11)
    for _ in range(10):
        answer = call_student_function(
            exercise.reference, draw_inputs(exercise, rng), exercise.rules.call
        )
        assert not answer.error and not answer.modified


def test_a_mistake_outside_the_domain_is_not_tested():
    """`to_additive` promises three dtypes, and a fourth is not tested."""
    exercise = next(e for e in EXERCISES if e.name == "to_additive")
    function = make_local_mistake(exercise, "argument dtype = longdouble")
    assert not is_caught(exercise, function, None)
    assert not any(is_caught(exercise, function, seed) for seed in HIDDEN_SEEDS)


def test_without_its_domain_an_exercise_misses_a_local_mistake(monkeypatch):
    exercise = next(e for e in EXERCISES if e.name == "padding_mask")
    function = make_local_mistake(exercise, "argument 0, axis -1: from 30 on")
    assert is_caught(exercise, function, 5)
    monkeypatch.setattr(exercise, "declared_domain", None)
    draw_cases.cache_clear()
    assert not is_caught(exercise, function, 5)
    draw_cases.cache_clear()


def test_axes_above_the_usual_sizes_have_sizes_of_their_own():
    drawn_sizes = []
    axes = {"rows": (20, 40), "columns": (20, 40), "fixed": (7, 7)}
    domain = Domain(axes, {}, (), (), False, None)

    def draw(rng, **sizes):
        drawn_sizes.append(sizes)
        return Inputs()

    object.__setattr__(domain, "draw", draw)
    for seed in range(5):
        domain.edge_cases(np.random.default_rng(seed), corners=True)
    for case_sizes in drawn_sizes:
        assert 20 <= case_sizes["rows"] <= 40
        assert 20 <= case_sizes["columns"] <= 40
        assert case_sizes["fixed"] == 7
    equal_sizes = [sizes for sizes in drawn_sizes if sizes["rows"] == sizes["columns"]]
    assert len(equal_sizes) == 10, "only in the corners: all smallest, all large"


@pytest.mark.parametrize("has_fixed_shapes", [True, False])
def test_a_steady_domain_has_the_same_shapes_in_every_draw(has_fixed_shapes):
    """A library that compiles for each shape then compiles once, and not for each submission."""

    def draw(rng, **sizes):
        return Inputs((rng.normal(size=tuple(sizes.values())[:4]),))

    axes, masks = {f"axis {n}": (1, 60) for n in range(4)}, {"mask": ("one", "other")}
    domain = Domain(axes, masks, (), (), False, draw, has_fixed_shapes)

    def draw_arrays(seed, corners=True):
        return [
            case_inputs.args[0]
            for _, case_inputs, _ in domain.edge_cases(np.random.default_rng(seed), corners)
        ]

    def shapes(drawn_arrays):
        return [array.shape for array in drawn_arrays]

    first_draw, second_draw = draw_arrays(0), draw_arrays(1)
    assert (shapes(first_draw) == shapes(second_draw)) is has_fixed_shapes
    assert (
        len(set(shapes(first_draw) + shapes(second_draw))) <= 15
    ) is has_fixed_shapes  # of 46 cases: three per axis, usual, all small, all large
    # Different sizes, so that no transpose can hide.
    assert all(len(set(shape)) > 2 for shape in shapes(first_draw)[:-2])
    assert not np.array_equal(first_draw[0], second_draw[0])
    assert (
        shapes(draw_arrays(0, corners=False)) != shapes(first_draw)[:14]
    ) is has_fixed_shapes  # the visible cases are not steady


VISIBLE_EDGES = [
    ("n = 1", 1, "C", {"axis": 0}),
    ("n = 2", 2, "C", {"axis": 0}),
    ("n = 40", 40, "C", {"axis": 0}),
    ("axis = 0", None, "C", {"axis": 0}),
    ("axis = 1", None, "C", {"axis": 1}),
    ("axis = len", None, "C", {"axis": len}),
    ("arrays in Fortran's order", None, "F", {"axis": 0}),
    ("slices with gaps", None, "strided", {"axis": 0}),
]
CORNERS = [
    ("n = 1, axis = len", 1, "C", {"axis": len}),
    ("n = 40, axis = 1", 40, "C", {"axis": 1}),
    ("n = 40, axis = len", 40, "C", {"axis": len}),
    ("arrays in Fortran's order, axis = 1", None, "F", {"axis": 1}),
    ("slices with gaps, axis = 1", None, "strided", {"axis": 1}),
    ("all sizes smallest", 1, "C", {"axis": 0}),
    ("all sizes large", 16, "C", {"axis": 0}),
]


@pytest.mark.parametrize(
    ("options", "visible", "corners"),
    [
        ({"sizes": {"n": (1, 40)}, "flags": {"axis": (0, 1, len)}}, VISIBLE_EDGES, CORNERS),
        (
            {"sizes": {"n": (4, 9)}, "layouts": False},
            [("n = 4", 4, "C", {}), ("n = 9", 9, "C", {})],
            [("all sizes smallest", 4, "C", {}), ("all sizes large", 9, "C", {})],
        ),
        (
            {"sizes": {"n": (0, 2)}, "flags": {"axis": (0, 1)}, "layouts": False},
            [
                *[(f"n = {n}", n, "C", {"axis": 0}) for n in range(3)],
                *[(f"axis = {axis}", None, "C", {"axis": axis}) for axis in range(2)],
            ],
            [
                ("n = 1, axis = 1", 1, "C", {"axis": 1}),
                ("n = 2, axis = 1", 2, "C", {"axis": 1}),
                ("all sizes smallest", 0, "C", {"axis": 0}),
                ("all sizes large", 2, "C", {"axis": 0}),
            ],
        ),
        (
            {"magnitudes": (1.0, 100.0), "layouts": False},
            [("numbers as large as 100", None, "C", {"magnitude": 100.0})],
            [
                ("all sizes large", None, "C", {"magnitude": 1.0}),
                ("all sizes large", None, "C", {"magnitude": 100.0}),
                *[("somewhere in it", None, "C", {"magnitude": 1.0})] * 5,
            ],
        ),
    ],
)
def test_each_edge_of_a_domain_has_its_case_and_other_arguments_are_usual(
    options, visible, corners
):
    def draw(rng, n=3, **arguments):
        return Inputs((rng.normal(size=(n, 2)), np.arange(n)), arguments)

    options = {"sizes": {}, "flags": {}, "magnitudes": (), "dtypes": (), "layouts": True} | options
    domain = Domain(**options, draw=draw)
    for has_corners, expected in ((False, visible), (True, [*visible, *corners])):
        cases = domain.edge_cases(np.random.default_rng(3), has_corners)
        labels = [label for label, _, _ in cases]
        assert labels == [label for label, *_ in expected]
        for (label, size, layout, arguments), (_, case, _) in zip(expected, cases, strict=True):
            numbers, whole_numbers = case.args
            assert size in (None, len(numbers)), label
            assert size is not None or 2 <= len(numbers) <= 6, label
            assert find_memory_layout(numbers) == layout, label
            assert find_memory_layout(whole_numbers) == ("strided" if layout == "strided" else "C")
            assert case.kwargs == arguments, label


def test_numbers_of_each_dtype_are_asked_and_whole_ones_stay():
    def draw(rng, **flags):
        return Inputs((rng.normal(size=3), np.arange(3)), flags)

    def list_dtypes(flags):
        domain = Domain({}, flags, (), ("float64", "float32"), False, draw)
        rows = []
        for label, case, edge in domain.edge_cases(np.random.default_rng(0)):
            rows.append((label, edge, *[array.dtype.name for array in case.args]))
        return rows

    assert list_dtypes({}) == [("float32 numbers", ("dtype", "float32"), "float32", "int64")]
    flag = {"dtype": ("single", "double")}  # a flag of this name converts no numbers
    for label, edge, *dtypes in list_dtypes(flag)[:2]:
        assert edge[1] in label and dtypes == ["float64", "int64"]


@pytest.mark.parametrize("has_fixed_shapes", [True, False])
def test_a_domain_of_one_flag_and_vectors_has_no_more_cases_than_its_edges(has_fixed_shapes):
    def draw(rng, axis):
        return Inputs((rng.normal(size=3),), {"axis": axis})

    domain = Domain({}, {"axis": (0, 1)}, (), (), True, draw, has_fixed_shapes)
    visible = ["axis = 0", "axis = 1", "slices with gaps"]  # a vector has one order
    corners = ["slices with gaps, axis = 1", "all sizes large"]
    for has_corners, expected in ((False, visible), (True, visible + corners)):
        cases = domain.edge_cases(np.random.default_rng(0), has_corners)
        assert [label for label, _, _ in cases] == expected
