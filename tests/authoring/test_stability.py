"""Results that hang on the processor or on the last digits of the inputs are found by the build."""

import json
import subprocess
import sys

import numpy as np
import pytest
from our_course import ROOT
from small_lab import lab_of

from autograder.authoring import inputs, stability
from autograder.authoring.build import build_labs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_lab
from autograder.authoring.released_notebook import BuildError
from autograder.core.course import read_course
from autograder.values import perturbation
from autograder.values.case_records import find_memory_layout

SHIFT_MATRIX = "solutions/positions/shift_matrix.py"


def find_unstable(lab):
    exercise = lab.exercises["answer"]
    return stability.describe_processor_dependent_results(exercise, exercise.test_cases())


def hilbert(rng):
    """A matrix of condition 1e10: the last digits of its entries are the sixth ones of its inverse."""
    numbers = np.arange(8)
    return inputs(1 / (numbers + numbers[:, None] + 1.5))


def test_a_reference_that_hangs_on_the_last_digits_is_named():
    (sentence,) = find_unstable(lab_of(np.linalg.inv, hilbert))
    assert sentence == (
        "a-lab: answer: the result of the reference depends on the processor, or on the last digits of "
        "its inputs, in 1 case, first in 'case 0'. Draw another case, compute it in another way, or take "
        "the misconception out."
    )


def test_a_threshold_at_a_short_fraction_is_exact_on_purpose():
    half = lab_of(lambda x: x >= 0.5, lambda rng: inputs(np.array([1.0, 0.5, 0.25])))
    assert find_unstable(half) == []
    assert find_unstable(lab_of(lambda x: x == 0.3, lambda rng: inputs(np.array([0.3, 0.5]))))


def test_a_misconception_that_hangs_on_the_last_digits_is_named():
    lab = lab_of(np.transpose, lambda rng: inputs(rng.normal(size=(3, 2))), hilbert)
    answer = lab.exercises["answer"]

    def inverse(x):
        return np.linalg.pinv(x, rcond=1e-15)

    answer.misconception(means="m", nudge="n")(inverse)
    (sentence,) = find_unstable(lab)
    assert "the result of the misconception 'inverse' depends on" in sentence
    assert "in 1 case, first in 'case 1'." in sentence


def test_a_well_conditioned_exercise_is_accepted():
    lab = lab_of(lambda x: np.exp(x) / np.exp(x).sum(), lambda rng: inputs(rng.normal(size=5)))

    def doubled(x):
        return 2 * x

    def raises(x):
        raise ValueError(f"of {x}")

    for mistake in (doubled, raises):
        lab.exercises["answer"].misconception(means="m", nudge="n")(mistake)
    assert find_unstable(lab) == []


def test_an_expected_error_and_a_printed_text_are_compared_as_well():
    lab = lab_of(lambda x: print(round(x, 2)), lambda rng: inputs(0.123), returns="printed")
    assert find_unstable(lab) == []
    lab = lab_of(lambda x: print(x), lambda rng: inputs(0.123), returns="printed")
    assert len(find_unstable(lab)) == 1
    lab = lab_of(lambda x: x[9])
    lab.exercises["answer"].case("too few", raises=IndexError)(
        lambda rng: inputs(rng.normal(size=2))
    )
    assert find_unstable(lab) == []


def test_fractions_move_by_a_few_units_and_equal_ones_stay_equal():
    array = np.array([0.25, 1.5, 1.5, 2.0, 0.0, -0.3, np.inf, np.nan])[::-1]
    moved = perturbation.perturb_last_digits(array)
    assert find_memory_layout(moved) == find_memory_layout(array) == "strided"
    is_fraction = np.isfinite(array) & (array != np.rint(array))
    assert np.array_equal(array[~is_fraction], moved[~is_fraction], equal_nan=True)
    units = np.abs(moved[is_fraction] - array[is_fraction]) / np.spacing(np.abs(array[is_fraction]))
    assert (units > 0).all() and (units <= 6).all()
    assert moved[-2] == moved[-3]
    rest = perturbation.perturb_last_digits(array, keeps_short_fractions=True)
    assert np.array_equal(rest != array, np.isin(array, -0.3) | np.isnan(array))


def test_other_arguments_do_not_move():
    for value in (
        1,
        True,
        "0.5",
        None,
        np.float32([0.3]),
        np.float16([0.3]),
        np.arange(3),
        np.array([True]),
    ):
        assert perturbation.perturb_last_digits(value) is value
    assert perturbation.perturb_last_digits({"a": (0.3, "x")}) != {"a": (0.3, "x")}


def test_cpu_features_that_are_disabled_here_stay_disabled_there(monkeypatch):
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX512_SPR")
    monkeypatch.setattr(stability, "optional_cpu_features", lambda: ["X86_V3"])
    variables = stability.make_environment_of_other_processor()
    assert variables["NPY_DISABLE_CPU_FEATURES"] == "AVX512_SPR X86_V3"
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES")
    variables = stability.make_environment_of_other_processor()
    assert variables["NPY_DISABLE_CPU_FEATURES"] == "X86_V3"


def test_the_other_process_computes_as_another_processor():
    code = (
        "import json, sys, threadpoolctl; from autograder.authoring.stability import optional_cpu_features\n"
        "libraries = threadpoolctl.threadpool_info()\n"
        "openblas = [library for library in libraries if library['internal_api'] == 'openblas']\n"
        "print(json.dumps([optional_cpu_features(), openblas]))"
    )
    found = {}
    for name, variables in {
        "here": {},
        "there": stability.make_environment_of_other_processor(),
    }.items():
        ran = subprocess.run(
            [sys.executable, "-c", code],
            env={**stability.make_grading_like_environment(ROOT), **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        found[name] = json.loads(ran.stdout)
    assert found["there"][0] == [] and ran.stderr == ""
    assert stability.make_environment_of_other_processor()["OMP_NUM_THREADS"] == "2"
    if not found["here"][1]:
        pytest.skip("NumPy's linear algebra is not OpenBLAS here")
    assert found["there"][1][0]["num_threads"] in (1, 2)  # one where there is one core only
    if found["here"][1][0]["architecture"].lower() in (
        "skylakex",
        "haswell",
        "zen",
        "sapphirerapids",
    ):
        assert found["there"][1][0]["architecture"] == "Nehalem"


@pytest.mark.long
def test_the_build_refuses_the_least_squares_of_an_old_shift_matrix(tmp_path):
    """It was in a key: two answers differed by 2e-5 on most laptops."""
    for name in ("course.toml", "data", "attention_labs", "notebooks"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "solutions").mkdir()
    for path in (ROOT / "solutions").iterdir():
        (tmp_path / "solutions" / path.name).symlink_to(path)
    (tmp_path / "solutions/positions").unlink()
    (tmp_path / "solutions/positions").mkdir()
    for path in (ROOT / "solutions/positions").glob("*.*"):
        (tmp_path / "solutions/positions" / path.name).symlink_to(path)
    file = tmp_path / SHIFT_MATRIX
    source = file.read_text("utf-8")
    file.unlink()
    assert "rcond=1e-3" in source
    file.write_text(source.replace("rcond=1e-3", "rcond=None"), "utf-8")
    with pytest.raises(BuildError) as caught:
        build_labs([read_lab(read_course(tmp_path), "positions")], check=True)
    (sentence,) = str(caught.value).splitlines()
    assert sentence.startswith(
        "positions: shift_matrix: the result of the misconception 'fitted-to-some-positions' depends on "
    )


@pytest.mark.long
def test_a_process_that_fails_is_an_error_of_the_build(tmp_path):
    lab = read_lab(read_course(ROOT), "additive-attention")
    with pytest.raises(
        ExerciseError, match="additive-attention: its results could not be computed a second"
    ):
        stability.find_processor_dependent_results(lab, {"attention.key": b"no key"})
