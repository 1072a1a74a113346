"""Functions among the arguments: given by name, found where an answer is called, and never sent."""

import json
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from command import autograder
from nbformat.v4 import new_code_cell, new_notebook
from sample_class import perfect, with_answer
from test_proof import lab_of

from autograder.authoring import Exercise, inputs, made
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import read_labs
from autograder.authoring.proof import answers_of, found, weaknesses
from autograder.authoring.skeleton import write_course
from autograder.cells import grade_id, id_of_test
from autograder.course import VARIABLE, read
from autograder.errors import Complaint
from autograder.feedback import describe
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging import kinds
from autograder.judging.answer import ask, pack
from autograder.judging.frames import decode, encode, pack_answer, pack_inputs, unpack_answer, unpack_inputs
from autograder.judging.kinds import FrameError, Once, as_value, mapped_inputs
from autograder.judging.question import Answer, Made
from autograder.results import Verdict

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

from autograder.authoring import Exercise, inputs, made

root = Exercise("root", points=2, tolerance=1e-6)


@root.domain(flags={"f": (cubic, made(polynomial, -1.0, 1.0))})
def anywhere(rng, f):
    return inputs(f, -0.5 - rng.uniform(), 2.0 + rng.uniform())


@root.case("a cubic")
def by_name(rng):
    return inputs(f=cubic, low=0.0, high=2.0)


@root.case("a line")
def line(rng):
    return inputs(made(polynomial, -rng.uniform(1, 5), 1.0), 0.0, 5.0)


@root.case("what counts its calls")
def counts(rng):
    return inputs(made(Meter, cubic), 0.0, 2.0)


@root.misconception(means="You took the middle of the whole stretch.", nudge="Which half holds the root?")
def the_middle(f, low, high):
    return (low + high) / 2
'''
RIGHT = "\n".join(line for line in SOLUTION.split("\n") if "###" not in line)
ANSWERS = {
    "right": (RIGHT, "Right in all"),
    "middle": ("def root(f, low, high):\n    return (low + high) / 2", "You took the middle of the whole stretch."),
    "value": ("def root(f, low, high):\n    return f(low)", "Your function returned -2; 1.26 is due."),
    "number": ("def root(f, low, high):\n    return f[0]", "'function' object is not subscriptable."),
    "spoils": ("import curves\ncurves.cubic = lambda x: x\n" + RIGHT, "1.26 is due."),
    "takes away": ("import curves\ndel curves.cubic\n" + RIGHT, "ended its own process"),
    "gives it back": ("def root(f, low, high):\n    return f", "a function, which cannot be compared."),
    "forges": (
        "from autograder.judging import answer\nfrom autograder.judging.question import Made\n"
        "answer.pack = lambda result: ('float', Made('curves:cubic', (1.0,)))\n" + RIGHT,
        "writes where only its answers may go",
    ),
}  # fmt: skip


def course_of(folder, library, exercises):
    """A course of one lab: its library's modules, and each exercise's file and solution by its name."""
    write_course(folder)
    file = folder / "course.toml"
    file.write_text(file.read_text().replace("# library", f"library = {json.dumps(list(library))} #"))
    for name, source in library.items():
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(source)
    lab = folder / "solutions" / "first-steps"
    (lab / "mean_of_first_steps.py").unlink()
    cells = [new_code_cell("from autograder import check", id="setup", metadata={"tags": ["setup"]})]
    for name, (source, solution) in exercises.items():
        (lab / f"{name}.py").write_text(source)
        answer = {"solution": True, "grade": False, "locked": False, "task": False, "schema_version": 3}
        tests = {**answer, "solution": False, "grade": True, "locked": True, "points": 2}
        for cell, role in ((new_code_cell(solution), answer), (new_code_cell(f"check({name})"), tests)):
            cell.id = grade_id(name) if role["solution"] else id_of_test(name)
            cell.metadata["nbgrader"] = {**role, "grade_id": cell.id}
            cells.append(cell)
    nbformat.write(new_notebook(cells=cells), lab / "first-steps.ipynb")
    return read(folder)


def run(course, *command, code=0):
    ran = autograder(*command, cwd=course.root, here=True)
    assert ran.returncode == code, f"{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    return ran.stdout


def hand_in(course, exercise, answers):
    """Hand in these answers to an exercise by student, all else being right."""
    lab = read_labs(read(course.root))["first-steps"]
    for student, source in answers.items():
        one = course.root / "classroom" / "submitted" / student / "first-steps" / "first-steps.ipynb"
        one.parent.mkdir(parents=True)
        nbformat.write(with_answer(perfect(lab), exercise, source), one)


def told_when_marked(course, exercise, *options):
    """What each student is told of an exercise."""
    rows = [json.loads(line) for line in run(course, "grade", *options, "--json", "-").splitlines()]
    return {row["student"]: row["message"] for row in rows if row["exercise"] == exercise}


@pytest.fixture
def curves(tmp_path, monkeypatch):
    """The library of a course, whose functions are at hand."""
    course = course_of(tmp_path / "mine", {"curves": CURVES}, {"root": (EXERCISE, SOLUTION)})
    monkeypatch.setenv(VARIABLE, str(course.root))
    monkeypatch.syspath_prepend(course.root)
    kinds.resolve.cache_clear()
    import curves

    yield curves
    del sys.modules["curves"]
    kinds.resolve.cache_clear()


def sent(given):
    """A question as a sandbox or a key has it."""
    arrays = []
    header, received = decode(encode({"given": pack_inputs(given, arrays)}, arrays))
    return unpack_inputs(header["given"], received)


def test_a_function_arrives_by_its_name_and_what_is_made_is_made_anew(curves):
    meter = made(curves.Meter, made(curves.polynomial, 1.0, 2.0))
    given = sent(mapped_inputs(inputs(np.sin, [curves.cubic, len], key=meter), as_value))
    assert describe(given) == "sin, [cubic, len], key=Meter(polynomial(1.0, 2.0))"

    def answer(f, both, key):
        key(1.0), key(2.0)
        return f(0.5), both[0](2.0), both[1]("abc"), key(3.0), key.calls

    for _ in range(2):
        came = ask(answer, given)
        assert (came.value, came.modified) == ((np.sin(0.5), 6.0, 3, 7.0, 3), ())


@pytest.mark.parametrize("function", [lambda x: x, np.random.default_rng(0).normal, Exercise, course_of])
def test_a_function_that_students_do_not_have_is_a_sentence(function):
    exercise = Exercise("f", points=1)
    exercise.case("one")(lambda rng: inputs([1, function]))
    if function is Exercise:
        exercise.draw()  # the engine's own, for whatever it is good
        return
    with pytest.raises(ExerciseError, match="define it at the top of a module of the library"):
        exercise.draw()


@pytest.mark.parametrize(
    "packed", [["os:system"], ["os:system", {"list": [{"value": "id"}]}, {"mapping": {}}]]
)
def test_an_answer_names_no_function(packed, monkeypatch):
    monkeypatch.setattr(kinds, "resolve", lambda name: pytest.fail("it was looked up"))
    with pytest.raises(FrameError):
        unpack_answer({"type": "f", "value": {"made": packed}}, Once([]))
    assert pack(Made("builtins:len", ("abc",))) == ("Made", None)
    with pytest.raises(FrameError):  # what was forged below that
        unpack_answer(pack_answer(Answer([Made("builtins:len", ("abc",))]), []), Once([]))


def test_a_library_that_lacks_it_is_a_sentence(curves):
    given = mapped_inputs(inputs(curves.cubic), as_value)
    kinds.resolve.cache_clear()
    del curves.cubic
    with pytest.raises(Complaint, match="no curves:cubic here: get the labs anew"):
        ask(len, given)


def test_what_a_build_proves_and_a_check_says(curves):
    lab = read_labs(read(Path(curves.__file__).parents[1]))["first-steps"]
    exercise = lab.exercises["root"]
    assert weaknesses(lab) == []
    assert {label for label, *_ in exercise.draw(1)} > {"f = cubic", "f = polynomial(-1.0, 1.0)"}
    questions = exercise.questions()
    finding = found(exercise, questions, answers_of(lambda f, low, high: 0.0, exercise, questions))
    assert finding.verdict is Verdict.WRONG and describe(finding.told.given).startswith("f=cubic, low=")


def test_a_function_given_back_passes_nowhere():
    assert weaknesses(lab_of(lambda f, x: f(x), lambda rng: inputs(np.cos, rng.normal()))) == []


@pytest.mark.long
@pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")
def test_a_course_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {"curves": CURVES}, {"root": (EXERCISE, SOLUTION)})
    run(course, "build")
    hand_in(course, "root", {student: answer for student, (answer, _) in ANSWERS.items()})
    told = told_when_marked(course, "root")
    assert {name for name in told if told[name].startswith("Right in all")} == {"right"}
    assert not [name for name, (_, sentence) in ANSWERS.items() if sentence not in told[name]], told
    # At the desk there is the library, and no exercise's file.
    (course.root / "solutions").rename(course.root / "kept")
    value = course.root / "classroom" / "submitted" / "value" / "first-steps" / "first-steps.ipynb"
    said = run(course, "check", value, code=1)
    assert f"root: {ANSWERS['value'][1]}" in said
    (course.root / "kept").rename(course.root / "solutions")
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("middle/**/*.html")).read_text()
    assert ANSWERS["middle"][1] in page
