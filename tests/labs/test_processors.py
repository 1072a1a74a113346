"""Keys, misconceptions, outputs and models are the same on other processors.

OpenBLAS and NumPy choose their code when they are loaded, so each test starts pytest in a process
with the environment of another processor.
"""

import json
import os
import platform
import subprocess
import sys
from itertools import cycle, product

import pytest
from our_course import ROOT
from test_nbval import FOLDER

from autograder.authoring.stability import optional_cpu_features
from autograder.core.blas_threads import THREAD_VARIABLES


def features_above(level):
    """Return the CPU features that NumPy uses here and that processors of this level lack."""
    names = optional_cpu_features()
    if level in names:
        names = names[names.index(level) + 1 :]
    return " ".join(names)


def variables(core_type, threads, disabled):
    return {
        "OPENBLAS_CORETYPE": core_type,
        "NPY_DISABLE_CPU_FEATURES": disabled,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
    }


# Names of OpenBLAS's core types. NumPy's wheels use Haswell's code for AMD's Zen, too. The newest
# code, SkylakeX, is that of most servers, CI's among them.
PROCESSORS = {
    "Nehalem": variables("Nehalem", 2, features_above("")),
    "Sandybridge": variables("Sandybridge", 2, features_above("")),
    "Haswell": variables("Haswell", 1, features_above("X86_V3")),
}
KEYS_AND_NAMES = "tests/authoring/test_build.py::test_what_is_built_has_not_drifted"
FRESH_CASES = ["tests/labs/test_misconceptions.py", "-k", "not [1-"]  # without the second draw
# `test_positions` trains for minutes without the newer instructions, so the third, Haswell, has it.
MODELS = [
    "tests/labs/test_tiny_transformer.py",
    "tests/labs/test_learning.py::test_an_alignment_emerges",
    "tests/labs/test_positions.py",
    "tests/labs/test_training.py",
]
PICTURES = ["tests/labs/test_pictures.py", "-k", "not suits_both_themes"]


def environment_of(processor):
    environment = {**os.environ, **PROCESSORS[processor]}
    return {name: value for name, value in environment.items() if not name.startswith("PYTEST")}


def run_pytest(processor, arguments):
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--timeout", "1200"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=environment_of(processor),
        text=True,
        capture_output=True,
        timeout=1200,
    )
    assert ran.returncode == 0, f"On {processor}: {ran.stdout[-5000:]}{ran.stderr[-1000:]}"
    assert " passed" in ran.stdout


pytestmark = [
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="the core types are of x86 processors"
    ),
    pytest.mark.timeout(1500),
]


@pytest.mark.long
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_environment_is_that_of_the_processor(processor):
    code = (
        "import json, threadpoolctl; from autograder.authoring.stability import optional_cpu_features\n"
        "libraries = threadpoolctl.threadpool_info()\n"
        "cores = [one['architecture'] for one in libraries if one['internal_api'] == 'openblas']\n"
        "print(json.dumps([cores, optional_cpu_features()]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment_of(processor),
        text=True,
        capture_output=True,
        check=True,
    )
    cores, features = json.loads(ran.stdout)
    assert set(cores) <= {processor}
    assert set(features) <= ({"X86_V3"} if processor == "Haswell" else set())


def assign_processors(parts):
    """Return each part of the tests with one processor in turn, or with all if ALL_PROCESSORS is set.

    All processors take half an hour more. Other tests run each part on this machine's processor.
    """
    if os.environ.get("ALL_PROCESSORS"):
        return list(product(PROCESSORS, parts))
    return list(zip(cycle(PROCESSORS), parts))


@pytest.mark.long
@pytest.mark.parametrize(("processor", "lab"), assign_processors(FOLDER))
def test_the_keys_are_the_same_and_each_misconception_has_its_name(processor, lab):
    run_pytest(processor, [f"{KEYS_AND_NAMES}[{lab}]"])


@pytest.mark.long
def test_misconceptions_have_their_names_in_fresh_cases_on_an_old_processor():
    run_pytest("Nehalem", FRESH_CASES)


@pytest.mark.long
@pytest.mark.parametrize(("processor", "tests"), assign_processors(MODELS))
def test_what_is_said_of_the_models_holds(processor, tests):
    run_pytest(processor, [tests])


# Without the newer instructions and with two threads, `training` trains for many minutes. What its
# text says of the trained model is asked of each processor in MODELS.
SHORT_LABS = [lab for lab in FOLDER if lab != "training"]


@pytest.mark.long
@pytest.mark.parametrize(("processor", "lab"), assign_processors(SHORT_LABS))
def test_the_outputs_of_a_lab_hold(processor, lab):
    run_pytest(processor, [f"tests/labs/test_nbval.py::test_saved_outputs_hold[{lab}]"])


@pytest.mark.long
def test_the_pictures_show_the_same_on_an_old_processor():
    run_pytest("Nehalem", PICTURES)
