"""Functions as arguments: sent by name, and imported by the process that calls an answer."""

import json
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from command import autograder
from nbformat.v4 import new_code_cell, new_notebook
from sample_class import perfect, with_answer
from small_lab import lab_of

from autograder.authoring import Exercise, defer_call, inputs
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.skeleton import write_course
from autograder.authoring.verify import call_on_cases, find_lab_weaknesses, judge_outcomes
from autograder.core.course import COURSE_VARIABLE, read_course
from autograder.core.errors import AutograderError
from autograder.core.notebook_cells import make_grade_id, make_test_grade_id
from autograder.core.results import Verdict
from autograder.diagnosis.render import describe_inputs
from autograder.judging.student_calls import call_student_function, pack_result
from autograder.sandbox.choice import explain_unavailability
from autograder.values import value_types
from autograder.values.case_records import CallOutcome, DeferredCall
from autograder.values.encoding import (
    decode,
    encode,
    pack_inputs,
    pack_outcome,
    unpack_inputs,
    unpack_outcome,
)
from autograder.values.value_types import (
    EncodingError,
    SingleUseArrays,
    convert_argument,
    map_inputs,
)

CURVES = '''\
"""What the exercises give out."""


def cubic(x):
    return x**3 - 2.0


def polynomial(*coefficients):
    """A function of x."""
    return lambda x: sum(c * x**power for power, c in enumerate(coefficients))


class Meter:
    """Counts how often it is called."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, x):
        self.calls += 1
        return self.f(x)
'''
SOLUTION = """\
def root(f, low, high):
    ### BEGIN SOLUTION
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if f(low) * f(middle) <= 0 else (middle, high)
    return low
    ### END SOLUTION"""
EXERCISE = '''\
"""The exercise `root`: where a function is 0."""

from curves import Meter, cubic, polynomial

from autograder.authoring import Exercise, inputs, defer_call

root = Exercise("root", points=2, tolerance=1e-6)


@root.domain(flags={"f": (cubic, defer_call(polynomial, -1.0, 1.0))})
def anywhere(rng, f):
    return inputs(f, -0.5 - rng.uniform(), 2.0 + rng.uniform())


@root.case("a cubic")
def by_name(rng):
    return inputs(f=cubic, low=0.0, high=2.0)


@root.case("a line")
def line(rng):
    return inputs(defer_call(polynomial, -rng.uniform(1, 5), 1.0), 0.0, 5.0)


@root.case("what counts its calls")
def counts(rng):
    return inputs(defer_call(Meter, cubic), 0.0, 2.0)


@root.misconception(means="You took the middle of the whole stretch.", nudge="Which half holds the root?")
def the_middle(f, low, high):
    return (low + high) / 2
'''
RIGHT = "\n".join(line for line in SOLUTION.split("\n") if "###" not in line)
ANSWERS = {
    "right": (RIGHT, "Right in all"),
    "middle": ("def root(f, low, high):\n    return (low + high) / 2",
     "You took the middle of the whole stretch."),
    "value": ("def root(f, low, high):\n    return f(low)",
     "Your function returned -2; expected 1.26."),
    "number": ("def root(f, low, high):\n    return f[0]",
     "'function' object is not subscriptable."),
    "spoils": ("import curves\ncurves.cubic = lambda x: x\n" + RIGHT, "expected 1.26."),
    "takes away": ("import curves\ndel curves.cubic\n" + RIGHT, "ended its own process"),
    "gives it back": ("def root(f, low, high):\n    return f",
     "returned a function. Expected a number (float)."),
    "forges": (
        "from autograder.judging import student_calls as answer\nfrom "
        "autograder.values.case_records import DeferredCall\n"
        "answer.pack_result = lambda result: ('float', DeferredCall('curves:cubic', (1.0,)))\n" + RIGHT,
        "writes where only its answers may go",
    ),
}  # fmt: skip


def course_of(folder, library, exercises):
    """Return a course of one lab.

    `library` maps names of modules to sources; `exercises` maps names to files and solutions.
    """
    write_course(folder)
    file = folder / "course.toml"
    file.write_text(
        file.read_text().replace("# library", f"library = {json.dumps(list(library))} #")
    )
    for name, source in library.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(source)
    lab = folder / "solutions" / "first-steps"
    (lab / "mean_of_first_steps.py").unlink()
    setup = new_code_cell("from autograder import check", id="setup", metadata={"tags": ["setup"]})
    cells = [setup]
    for name, (source, solution) in exercises.items():
        (lab / f"{name}.py").write_text(source)
        answer = {"solution": True, "grade": False, "locked": False, "task": False}
        answer["schema_version"] = 3
        tests = {**answer, "solution": False, "grade": True, "locked": True, "points": 2}
        roles = (new_code_cell(solution), answer), (new_code_cell(f"check({name})"), tests)
        for cell, role in roles:
            cell.id = make_grade_id(name) if role["solution"] else make_test_grade_id(name)
            cell.metadata["nbgrader"] = {**role, "grade_id": cell.id}
            cells.append(cell)
    nbformat.write(new_notebook(cells=cells), lab / "first-steps.ipynb")
    return read_course(folder)


def run(course, *command, code=0):
    ran = autograder(*command, cwd=course.root)
    assert ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


def submission_path(course, student):
    """Return the path of a student's notebook in the class folder."""
    folder = course.root / "classroom" / "submitted" / student / "first-steps"
    return folder / "first-steps.ipynb"


def submit(course, exercise, answers):
    """Submit these answers to an exercise, by student; all other answers are right."""
    lab = read_labs(read_course(course.root))["first-steps"]
    for student, source in answers.items():
        notebook = submission_path(course, student)
        notebook.parent.mkdir(parents=True)
        nbformat.write(with_answer(perfect(lab), exercise, source), notebook)


def grading_messages(course, exercise, *options):
    """Grade, and return the message of an exercise by student."""
    rows = [json.loads(line) for line in run(course, "grade", *options, "--json", "-").splitlines()]
    return {row["student"]: row["message"] for row in rows if row["exercise"] == exercise}


@pytest.fixture
def curves(tmp_path, monkeypatch):
    """Imported library of a course."""
    course = course_of(tmp_path / "mine", {"curves": CURVES}, {"root": (EXERCISE, SOLUTION)})
    monkeypatch.setenv(COURSE_VARIABLE, str(course.root))
    monkeypatch.syspath_prepend(course.root)
    value_types.import_function.cache_clear()
    import curves

    yield curves
    del sys.modules["curves"]
    value_types.import_function.cache_clear()


def send_inputs(arguments):
    """Return the inputs after a round trip, as a sandbox or an answer key has them."""
    arrays = []
    header, arrays = decode(encode({"given": pack_inputs(arguments, arrays)}, arrays))
    return unpack_inputs(header["given"], arrays)


def test_a_function_is_imported_by_its_name_and_a_deferred_call_is_made_anew(curves):
    meter = defer_call(curves.Meter, defer_call(curves.polynomial, 1.0, 2.0))
    raw_arguments = inputs(np.sin, [curves.cubic, len], key=meter)
    arguments = send_inputs(map_inputs(raw_arguments, convert_argument))
    assert describe_inputs(arguments) == "sin, [cubic, len], key=Meter(polynomial(1.0, 2.0))"

    def answer(f, functions, key):
        key(1.0), key(2.0)
        return f(0.5), functions[0](2.0), functions[1]("abc"), key(3.0), key.calls

    for _ in range(2):
        outcome = call_student_function(answer, arguments)
        assert (outcome.value, outcome.modified) == ((np.sin(0.5), 6.0, 3, 7.0, 3), ())


FUNCTIONS = [lambda x: x, np.random.default_rng(0).normal, Exercise, course_of]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_students_do_not_have_is_reported(function):
    exercise = Exercise("f", points=1)
    exercise.case("one")(lambda rng: inputs([1, function]))
    if function is Exercise:
        exercise.draw()  # part of the engine, which students have
        return
    with pytest.raises(ExerciseError, match="define it at the top of a module of the library"):
        exercise.draw()


FORGED_CALL = ["os:system", {"list": [{"value": "id"}]}, {"mapping": {}}]


@pytest.mark.parametrize("data", [["os:system"], FORGED_CALL])
def test_an_answer_names_no_function(data, monkeypatch):
    forbid_import = lambda name: pytest.fail("it was imported")  # noqa: E731
    monkeypatch.setattr(value_types, "import_function", forbid_import)
    with pytest.raises(EncodingError):
        unpack_outcome({"type": "f", "value": {"made": data}}, SingleUseArrays([]))
    assert pack_result(DeferredCall("builtins:len", ("abc",))) == ("DeferredCall", None)
    with pytest.raises(EncodingError):  # forged in the encoded answer
        forged_answer = CallOutcome([DeferredCall("builtins:len", ("abc",))])
        unpack_outcome(pack_outcome(forged_answer, []), SingleUseArrays([]))


def test_a_function_missing_from_the_library_is_reported(curves):
    arguments = map_inputs(inputs(curves.cubic), convert_argument)
    value_types.import_function.cache_clear()
    del curves.cubic
    with pytest.raises(AutograderError, match="no curves:cubic here: get the labs anew"):
        call_student_function(len, arguments)


def test_a_build_accepts_the_exercise_and_a_check_describes_its_inputs(curves):
    lab = read_labs(read_course(Path(curves.__file__).parents[1]))["first-steps"]
    exercise = lab.exercises["root"]
    assert find_lab_weaknesses(lab) == []
    assert {label for label, *_ in exercise.draw(1)} > {"f = cubic", "f = polynomial(-1.0, 1.0)"}
    cases = exercise.test_cases()
    finding = judge_outcomes(
        exercise, cases, call_on_cases(lambda f, low, high: 0.0, exercise, cases)
    )
    assert finding.verdict is Verdict.WRONG
    assert describe_inputs(finding.shown_case.inputs).startswith("f=cubic, low=")


def test_an_answer_that_returns_its_function_argument_is_never_right():
    lab = lab_of(lambda f, x: f(x), lambda rng: inputs(np.cos, rng.normal()))
    assert find_lab_weaknesses(lab) == []


@pytest.mark.long
@pytest.mark.skipif(
    bool(explain_unavailability()), reason=explain_unavailability() or "there is a sandbox"
)
def test_a_course_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {"curves": CURVES}, {"root": (EXERCISE, SOLUTION)})
    run(course, "build")
    submit(course, "root", {student: answer for student, (answer, _) in ANSWERS.items()})
    messages = grading_messages(course, "root")
    assert {name for name in messages if messages[name].startswith("Right in all")} == {"right"}
    sentences = {name: sentence for name, (_, sentence) in ANSWERS.items()}
    assert not [name for name in sentences if sentences[name] not in messages[name]], messages
    # Without the exercises' files, but with the library.
    (course.root / "solutions").rename(course.root / "kept")
    value = submission_path(course, "value")
    output = run(course, "check", value, code=1)
    assert f"root: {ANSWERS['value'][1]}" in output
    (course.root / "kept").rename(course.root / "solutions")
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("middle/**/*.html")).read_text()
    assert ANSWERS["middle"][1] in page
