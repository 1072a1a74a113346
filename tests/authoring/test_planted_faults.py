"""Test that a build names the faults that authors make in a lab's files, with the remedy."""

import random

import nbformat
import numpy as np
import pytest
from command import autograder, build_without_trials
from nbformat.v4 import new_code_cell, new_markdown_cell
from small_lab import lab_of

from autograder.authoring import Exercise, case_weaknesses, inputs, notebook_checks
from autograder.authoring import build as building
from autograder.authoring import exercise as exercise_module
from autograder.authoring.exercise import ExerciseError
from autograder.authoring.lab import LabError, describe_unlisted_labs, read_lab
from autograder.authoring.notebook_checks import COPIED_LINES
from autograder.authoring.released_notebook import BuildError
from autograder.authoring.skeleton import add_exercise, write_course
from autograder.authoring.verify import find_lab_warnings, find_lab_weaknesses
from autograder.cli.author import build
from autograder.core.course import read_course
from autograder.core.errors import AutograderError
from autograder.core.notebook_cells import get_grade_id
from autograder.diagnosis import argument_probe
from autograder.platforms import solution_check

LAB, EXERCISE = "first-steps", "mean_of_first_steps"
FOLDER = f"solutions/{LAB}"
FILES = {
    "exercise": f"{FOLDER}/{EXERCISE}.py",
    "lab": f"{FOLDER}/lab.toml",
    "notebook": f"{FOLDER}/{LAB}.ipynb",
}


@pytest.fixture
def course_folder(tmp_path):
    write_course(tmp_path)
    return tmp_path


def plant(folder, file, old, new):
    """Replace a text in a file of the course, which must hold it."""
    path = folder / FILES[file]
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def read_lab_of(folder):
    return read_lab(read_course(folder), LAB)


def find_problems(folder):
    """Return the sentences that a build of the lab would end with."""
    try:
        return "\n".join(find_lab_weaknesses(read_lab_of(folder)))
    except (LabError, ExerciseError) as error:
        return str(error)


def test_the_course_as_written_has_no_fault(course_folder):
    assert find_problems(course_folder) == ""
    assert find_lab_warnings(read_lab_of(course_folder)) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (
            "lab",
            "title",
            "limits = {call_second = 5}\ntitle",
            "[limits] has an unknown entry 'call_second'; did you mean 'call_seconds'? The entries are cell_",
        ),
        (
            "lab",
            "title",
            "graded_with = {KERAS_BACKEND = 1}\ntitle",
            "[graded_with]: KERAS_BACKEND is 1; a text is expected.",
        ),
        (
            "lab",
            "title",
            "limits = {memory = 1.5}\ntitle",
            "[limits]: memory is 1.5; expected a whole number.",
        ),
        (
            "lab",
            "title",
            "limits = {memory = 0}\ntitle",
            "The limit memory must be a whole number above zero",
        ),
        (
            "exercise",
            "points=2",
            "points=2, tolerence=1e-3",
            "mean_of_first_steps: Exercise has no option 'tolerence'; did you mean 'tolerance'? Its options",
        ),
        (
            "exercise",
            "return float(np.median(numbers))",
            "return mean_of_first_steps.solution.mean_of_first_step(numbers)",
            "the set-up and answer cells of the solution define no 'mean_of_first_step'; did you mean 'mean",
        ),
        (
            "exercise",
            "inputs(np.array([1.0, 2.0, 6.0]))",
            "inputs(np.arry([1.0, 2.0, 6.0]))",
            "the case 'the three numbers of the example' (line 17) raises AttributeError: module 'numpy' "
            "has no attribute",
        ),
        (
            "exercise",
            "inputs(np.array([1.0, 2.0, 6.0]))",
            "inputs(np.array([1.0, 2.0]), 6.0)",
            "the arguments of the case 'the three numbers of the example' do not fit "
            "`mean_of_first_steps(numbers)`: too many positional arguments. Correct its "
            "`inputs(…)`.",
        ),
        (
            "exercise",
            "inputs(np.array([1.0, 2.0, 6.0]))",
            "inputs(np.random.default_rng().normal(size=3))",
            "the case 'the three numbers of the example' has other inputs each time that it is drawn",
        ),
        (
            "exercise",
            'means="You took the number in the middle, which is the median."',
            'means=""',
            "the misconception 'the-median' has an empty means, which students read. Write a sentence.",
        ),
        (
            "exercise",
            '    means="You took the number in the middle, which is the median.",\n',
            "",
            f"{EXERCISE}.py, line 34: {EXERCISE}: the misconception 'the-median' has no means, which "
            "students read. Write a sentence.",
        ),
        (
            "exercise",
            'means="You took',
            'meens="You took',
            f"{EXERCISE}.py, line 34 cannot be imported: TypeError: ",
        ),
        (
            "exercise",
            'nudge="How does the number 6 come into your result?"',
            'nudge=" "',
            "the misconception 'the-median' has an empty nudge",
        ),
        (
            "exercise",
            "        Hint: With which number does your sum begin?\n",
            "",
            f"{EXERCISE}.py, line 21: {EXERCISE}: the entry 'leaves-out-the-first' of the list of "
            "slips has no hint, which students read. Write `name: Explanation. Hint: Question.`",
        ),
        (
            "exercise",
            "return float(np.median(numbers))",
            "return float(np.mean(numbers))",
            "the misconception 'the-median' gives the right answer in every case. Add a case in which",
        ),
        (
            "exercise",
            "points=2",
            'points="2"',
            "mean_of_first_steps: points is '2'; a number of 0 or more is expected.",
        ),
        ("exercise", "points=2", "points=-1", "points is -1; a number of 0 or more is expected."),
        (
            "exercise",
            "points=2",
            "points=2, tolerance='1e-3'",
            "tolerance is '1e-3'; a number of 0 or more",
        ),
        (
            "exercise",
            "points=2",
            "points=2, tolerance=(1, 2, 3)",
            "tolerance is (1, 2, 3); a number of 0 or",
        ),
        (
            "exercise",
            "points=2",
            "points=2, tolerance=-1e-3",
            "tolerance is -0.001; a number of 0 or more",
        ),
        (
            "exercise",
            "(1, 60)",
            "60",
            "in its domain, the size 'length' is 60; its smallest and its largest",
        ),
        (
            "exercise",
            "(1, 60)",
            "(60, 1)",
            "in its domain, the size 'length' is (60, 1); its smallest",
        ),
        (
            "exercise",
            "magnitudes=(1.0, 1000.0)",
            "magnitudes=1.0",
            "magnitudes is 1.0; a tuple is expected, such as (1.0,).",
        ),
        (
            "exercise",
            "magnitudes=(1.0, 1000.0)",
            "magnitudes=(0, 1)",
            "a magnitude is 0; a number above 0 is",
        ),
        (
            "exercise",
            "magnitudes=(1.0",
            "dtypes=('float',), magnitudes=(1.0",
            "a dtype is 'float'; it can be bool,",
        ),
        (
            "exercise",
            "magnitudes=(1.0",
            "flags={'a': 1}, magnitudes=(1.0",
            "the flag 'a' is 1; its values are",
        ),
        (
            "exercise",
            "@mean_of_first_steps.variant",
            '@mean_of_first_steps.case("the three numbers of the example")\ndef second(rng):\n'
            "    return inputs(np.ones(2))\n\n\n@mean_of_first_steps.variant",
            "two cases are called 'the three numbers of the example'. Rename one.",
        ),
        (
            "notebook",
            "np.sum(numbers)",
            "np.sum(nmbers)",
            "The reference for mean_of_first_steps raises NameError: name 'nmbers' is not "
            "defined in its own case",
        ),
        (
            "notebook",
            "def mean_of_first_steps(",
            "def mean_of_first_stepz(",
            "first-steps: mean_of_first_steps: the set-up and answer cells of the solution define no "
            "'mean_of_first_steps'; did you mean 'mean_of_first_stepz'? Let the cell 'mean-of-first-steps' "
            "define it.",
        ),
        (
            "notebook",
            '"cells": [',
            '"cells": [,',
            "cannot be read as a notebook: Notebook does not appear to be",
        ),
        (
            "notebook",
            "### BEGIN SOLUTION",
            "### BEGIN SOLUTON",
            "has no line `### BEGIN SOLUTION`, so students would not get the first lines of",
        ),
        ("notebook", "### END SOLUTION", "# the end", "has no line `### END SOLUTION`"),
        (
            "notebook",
            "import numpy as np",
            "import numpy as np\\nimport pytest",
            'imports pytest, which not every student has. Add "pytest" to `imports` in course.toml',
        ),
    ],
)
def test_a_fault_is_refused_with_its_remedy(course_folder, file, old, new, sentence):
    plant(course_folder, file, old, new)
    assert sentence in find_problems(course_folder)


def test_the_line_of_a_case_that_raises_is_named(course_folder):
    plant(course_folder, "exercise", "np.array([1.0, 2.0, 6.0])", "np.arry([1.0])")
    lines = (course_folder / FILES["exercise"]).read_text("utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "np.arry" in line)
    assert f"'the three numbers of the example' (line {number}) raises Attr" in find_problems(
        course_folder
    )


def change_notebook(folder, change):
    path = folder / FILES["notebook"]
    notebook = nbformat.read(path, as_version=4)
    change(notebook.cells)
    nbformat.write(notebook, path)


def take_tag_out(cells):
    (cell,) = (cell for cell in cells if "setup" in cell.metadata.get("tags", []))
    del cell.metadata["tags"]


def test_a_cell_that_lost_the_tag_setup_is_named(course_folder):
    advice = "If a cell without the tag `setup` defines it, give the cell this tag: in JupyterLab, select"
    change_notebook(course_folder, take_tag_out)
    problems = find_problems(course_folder)
    assert "raises NameError: name 'np' is not defined" in problems and advice in problems


def test_a_case_that_uses_a_name_of_no_cell_with_the_tag_setup_is_refused(course_folder):
    plant(course_folder, "exercise", "np.array([1.0, 2.0, 6.0])", f"{EXERCISE}.solution.y_0")
    problems = find_problems(course_folder)
    assert "define no 'y_0'. If a cell without the tag `setup` defines it" in problems
    assert problems.endswith("add `setup` under Cell Tags.")


def test_a_data_file_that_is_not_there_is_refused_with_the_place_for_it(course_folder):
    plant(
        course_folder,
        "notebook",
        "import numpy as np",
        "import numpy as np\\nnp.loadtxt('measured.txt')",
    )
    with pytest.raises(AutograderError) as raised:
        find_lab_weaknesses(read_lab_of(course_folder))
    assert str(raised.value).startswith(
        f"{LAB}: the cell 'setup' reads a file that is not there: measured.txt not found. Students have no "
        "file beside the notebook but what you attach to it. Put the file into a folder that `data` in "
        "course.toml lists, and let a function of the course's library read it"
    )


def test_a_missing_attachment_is_refused_and_a_broken_link_is_warned_of(course_folder):
    texts = {
        "![a plan](attachment:plan.png)": "shows the picture 'plan.png', and has no attachment of this name.",
        "[words](words.md#mean)": "links to 'words.md#mean', and there is no such file",
        '<img alt="a plan" src="pictures/plan.png">': "links to 'pictures/plan.png'",
        "[a site](https://example.org/x), [here](#mean), `[i](j)`, [mail](mailto:a@b.org)": "",
    }
    change_notebook(
        course_folder,
        lambda cells: cells.extend(
            new_markdown_cell(text, id=f"t{i}") for i, text in enumerate(texts)
        ),
    )
    problems = find_problems(course_folder).splitlines()
    warnings = find_lab_warnings(read_lab_of(course_folder))
    expected = [sentence for sentence in texts.values() if sentence]
    assert len(problems + warnings) == len(expected)
    for sentence, found in zip(expected, problems + warnings, strict=True):
        assert sentence in found


def forget_metadata(cell_id):
    """Return a change of a notebook that takes a cell's nbgrader metadata out."""

    def change(cells):
        (cell,) = (cell for cell in cells if cell.id == cell_id)
        del cell.metadata["nbgrader"]

    return change


@pytest.mark.parametrize("has_mark_scheme", [True, False])
def test_a_model_answer_that_students_would_get_is_refused(course_folder, has_mark_scheme):
    if not has_mark_scheme:  # then the question is known by the points in its heading
        plant(course_folder, "notebook", "=== BEGIN MARK SCHEME", "=== MARKS")
    answer = "explain-mean-of-first-steps"
    change_notebook(course_folder, forget_metadata(answer))
    assert find_problems(course_folder).startswith(
        f"{LAB}: the cell {answer!r} is below the manually graded question '{answer}-question', where its "
        "answer is to be a manually graded solution cell; of any other cell, students get what you wrote"
    )
    for options in ([], ["--check"]):
        assert autograder("build", *options, cwd=course_folder).returncode == 1
    assert not (course_folder / "notebooks" / LAB).exists()


def test_a_question_without_an_answer_cell_is_refused(course_folder):
    def keep_question(cells):
        (number,) = (n for n, cell in enumerate(cells) if cell.id.endswith("-question"))
        del cells[number + 1 :]

    change_notebook(course_folder, keep_question)
    assert f"{LAB}: no cell is below the manually graded question" in find_problems(course_folder)


@pytest.mark.parametrize(
    ("old", "new", "points"),
    [
        ("- 1 point: far", "- 3 points: far", "4 points"),
        ("- 1 point: far", "- **2.5 points** far", "3.5 points"),
    ],
)
def test_a_marking_scheme_with_another_sum_is_refused(course_folder, old, new, points):
    plant(course_folder, "notebook", old, new)
    assert find_problems(course_folder) == (
        f"{LAB}: the marking scheme of 'explain-mean-of-first-steps' gives {points} together, and the "
        "cell's `nbgrader` metadata says 2 points. Correct one of them."
    )


def test_a_line_that_goes_on_with_an_item_of_a_marking_scheme_is_no_item(course_folder):
    plant(course_folder, "notebook", "- 1 point: far", "- 3 points: far from\\n  the mean")
    assert "gives 4 points together" in find_problems(course_folder)


SCHEME = "=== BEGIN MARK SCHEME ===\n- 1 point\n=== END MARK SCHEME ==="


@pytest.mark.parametrize(
    ("source", "roles", "asks"),
    [
        (SCHEME, {}, True),
        (SCHEME, {"solution": True}, False),
        (SCHEME, {"task": True}, False),
        ("## Why? (2 points)", {"locked": True}, True),
        ("## Why? (2 points)", {"locked": True, "task": True}, False),
        ("## Why? (2 points)", {}, False),
        ("## Exercise 1: `answer` (2 points)", {"locked": True}, False),
        ("## Why?", {"locked": True}, False),
    ],
)
def test_a_question_for_a_person_is_known_by_its_scheme_or_its_points(source, roles, asks):
    cell = new_markdown_cell(source, metadata={"nbgrader": roles})
    lab = lab_of(lambda x: x)
    assert notebook_checks._asks_for_manual_answer(cell, lab) is asks
    if asks and "locked" in roles:
        code_cell = new_code_cell(source, metadata={"nbgrader": roles})
        assert not notebook_checks._asks_for_manual_answer(code_cell, lab)


def test_a_marking_scheme_that_is_no_list_of_points_is_not_added_up(course_folder):
    plant(
        course_folder,
        "notebook",
        "- 1 point: far",
        "Each of three words is right:\\n- 3 points: far",
    )
    assert find_problems(course_folder) == ""


def test_links_to_files_that_are_there_pass(course_folder):
    folder = course_folder / "notebooks" / LAB
    folder.mkdir(parents=True)
    (folder / "my words.md").write_text("a word")
    cell = new_markdown_cell("[words](my%20words.md) ![p](attachment:p.png)", id="t")
    cell.attachments = {"p.png": {"image/png": ""}}
    change_notebook(course_folder, lambda cells: cells.append(cell))
    assert find_problems(course_folder) == ""
    assert find_lab_warnings(read_lab_of(course_folder)) == []


def find_lab_mistakes(reference, *cases, **rules):
    return find_lab_weaknesses(lab_of(reference, *cases, **rules))


def draw_vector(rng):
    return inputs(rng.normal(size=4))


@pytest.mark.parametrize(
    "reference",
    [lambda x: x + np.random.default_rng().normal(), lambda x: x + random.random()],
)
def test_a_reference_with_random_results_is_refused(reference):
    sentences = find_lab_mistakes(reference, draw_vector)
    assert any(
        "the reference does not give the same result each time in the case" in s for s in sentences
    )


def test_a_reference_that_remembers_its_first_call_is_refused(course_folder):
    def remember_first_call(cells):
        (cell,) = (cell for cell in cells if "### BEGIN SOLUTION" in cell.source)
        cell.source = (
            "def mean_of_first_steps(numbers, first=[]):\n    ### BEGIN SOLUTION\n"
            "    first.append(float(numbers.mean()))\n    return first[0]\n    ### END SOLUTION"
        )

    change_notebook(course_folder, remember_first_call)
    assert "the reference does not give the same result each time" in find_problems(course_folder)


def test_a_reference_that_draws_from_a_generator_it_gets_is_not_refused():
    lab = lab_of(
        lambda seed, x: x + np.random.default_rng(seed).normal(),
        lambda rng: inputs(3, rng.normal()),
    )
    assert find_lab_weaknesses(lab) == []


def test_a_hidden_case_that_draws_its_own_numbers_is_refused():
    exercise = Exercise("answer", points=1)
    lab = lab_of(lambda x: -x, draw_vector)
    exercise = lab.exercises["answer"]
    exercise.case("hidden", hidden=True)(lambda rng: inputs(np.random.default_rng().normal(size=2)))
    (sentence,) = find_lab_weaknesses(lab)
    assert sentence.startswith("a-lab: answer: the case 'hidden' has other inputs each time")


@pytest.mark.parametrize(
    ("differ", "advice"),
    [
        (
            False,
            "gives the same results as 'twice' in every case, also in those that grading draws. The two are "
            "the same mistake: take one of them out, unless you know arguments for which they differ; then "
            "add a case with these.",
        ),
        (
            True,
            "is named 'twice'; add a case that tells the two apart, or list the more special one first.",
        ),
    ],
)
def test_the_advice_on_two_misconceptions_depends_on_whether_they_ever_differ(differ, advice):
    lab = lab_of(lambda x: -x, draw_vector)
    exercise = lab.exercises["answer"]
    ((_, seen_by_students, _),) = exercise.draw()

    def twice(x):
        return 2 * x

    def again(x):
        if differ and not np.array_equal(x, seen_by_students.args[0]):
            return x
        return 2 * x

    for misconception in (twice, again):
        exercise.misconception(means="m", nudge="n")(misconception)
    assert find_lab_weaknesses(lab) == [f"a-lab: answer: the misconception 'again' {advice}"]


def test_equal_cases_are_warned_of():
    lab = lab_of(lambda x: -x, draw_vector, lambda rng: inputs(2), lambda rng: inputs(2))
    (sentence,) = find_lab_warnings(lab)
    assert sentence == (
        "a-lab: the cases 'case 1' and 'case 2' have the same inputs in answer; take one out, or "
        "change its "
        "inputs."
    )


def test_an_argument_with_one_value_is_warned_of():
    def draw_step(rng):
        return inputs(rng.normal(size=4), h=0.1)

    lab = lab_of(lambda x, h, n=1: x * h, draw_step, lambda rng: inputs(rng.normal(size=2), 0.1))
    assert find_lab_warnings(lab) == [
        "a-lab: in answer, `h` is 0.1 in every case, so an answer that ignores it is right; draw other "
        "values of `h`, too."
    ]
    for other in (0.2, np.full(2, 0.1)):
        lab = lab_of(
            lambda x, h: x * h,
            draw_step,
            lambda rng, other=other: inputs(rng.normal(size=2), other),
        )
        assert find_lab_warnings(lab) == []


@pytest.mark.parametrize(
    ("value", "options", "axes"),
    [
        (np.ones((3, 1)), {}, "2 axes"),
        (1.5, {}, "0 axes"),
        (np.ones(3), {}, None),
        ([1.0, 2.0], {}, None),
        (np.ones((3, 1)), {"raises": ValueError}, None),
    ],
)
def test_a_case_with_other_axes_than_the_domain_is_warned_of(value, options, axes):
    lab = lab_of(lambda x, h: -x * h)
    exercise = lab.exercises["answer"]
    exercise.domain(sizes={"n": (1, 9)})(lambda rng, n: inputs(rng.normal(size=n), rng.normal()))
    exercise.case("usual")(lambda rng: inputs(rng.normal(size=3), rng.normal()))
    exercise.case("by hand", **options)(lambda rng: inputs(value, h=rng.normal()))
    sentences = find_lab_warnings(lab)
    if axes is None:
        assert sentences == []
    else:
        assert sentences == [
            f"a-lab: in answer, `x` has {axes} in the case 'by hand', and 1 in the domain and the other cases, "
            "so an answer that is right in these may be refused there. Change the case, or let the domain "
            "draw such arguments, too."
        ]


def test_a_lab_that_the_course_does_not_list_is_warned_of(course_folder):
    other = course_folder / "solutions" / "other-steps"
    other.mkdir()
    (other / "lab.toml").write_text("")
    assert list(describe_unlisted_labs(read_course(course_folder))) == [
        "solutions/other-steps/lab.toml is there, and course.toml does not list 'other-steps' under `labs`, "
        "so it is not built and not graded. Add it there."
    ]
    built = autograder("build", "--check", cwd=course_folder, trials=False)
    assert "Warning: solutions/other-steps/lab.toml is there" in built.stderr


def test_cases_that_cannot_be_sent_to_a_submission_are_refused(monkeypatch):
    assert case_weaknesses.MAX_CASES_BYTES == 64 << 20
    monkeypatch.setattr(case_weaknesses, "MAX_CASES_BYTES", 4 << 20)
    number_count = case_weaknesses.MAX_CASES_BYTES // 8
    small = [
        lambda rng: inputs(np.ones(number_count // 2 - 1000)),
        lambda rng: inputs(np.ones(number_count // 2)),
    ]
    assert find_lab_mistakes(lambda x: x[:2] * 2, *small) == []
    (sentence,) = find_lab_mistakes(lambda x: x[:2] * 2, *small, lambda rng: inputs(np.ones(2000)))
    assert sentence == (
        "a-lab: answer: its cases have 4.2 MB of arguments together; a submission can be sent 4.2 "
        "MB. "
        "Make the largest case smaller."
    )


def test_a_build_ends_with_what_grading_the_solution_has_shown(course_folder, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(course_folder))
    build_without_trials(monkeypatch.setattr)
    monkeypatch.setattr(
        solution_check, "describe_solutions_without_full_score", lambda lab: [f"{lab.name} fails."]
    )
    with pytest.raises(BuildError, match=r"^first-steps fails\.$"):
        build.callback(labs=(), only_check=False, anew=False)


@pytest.mark.long
def test_a_solution_that_the_grader_refuses_is_named(course_folder, monkeypatch):
    """The proof limits each call, and grading limits all calls of an exercise together."""
    monkeypatch.setenv("AUTOGRADER_COURSE", str(course_folder))
    monkeypatch.setattr(building, "run_notebook_in_empty_folder", lambda notebook, course: notebook)
    monkeypatch.setattr(building, "find_processor_dependent_results", lambda lab, keys: [])
    plant(course_folder, "lab", "title", "limits = {call_seconds = 0.5}\ntitle")
    plant(
        course_folder,
        "exercise",
        "@mean_of_first_steps.misconception(",
        "".join(
            f'@mean_of_first_steps.case("77 numbers, {which}", hidden=True)\ndef {which}(rng):\n'
            "    return inputs(rng.normal(size=77))\n\n\n"
            for which in ("once", "twice", "again")
        )
        + "@mean_of_first_steps.misconception(",
    )
    busy = (
        "import time\\n    end = time.process_time() + 0.2 * (len(numbers) == 77)\\n"
        "    while time.process_time() < end: 0"
    )
    plant(course_folder, "notebook", "### BEGIN SOLUTION", f"### BEGIN SOLUTION\\n    {busy}")
    with pytest.raises(BuildError) as raised:
        build.callback(labs=(), only_check=False, anew=False)
    assert (
        "first-steps: mean_of_first_steps: the solution does not get its points when it is "
        "graded as a "
        "submission: "
    ) in str(raised.value)
    assert "Make its cases smaller, or change `[limits]` in lab.toml." in str(raised.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "description"),
    [
        (
            "notebook",
            "return float(np.sum(numbers)",
            "while True: numbers\\n    return float(np.sum(numbers)",
            "the reference",
        ),
        (
            "exercise",
            "return float(np.median(numbers))",
            "while True: numbers",
            "the misconception 'the-median'",
        ),
        ("exercise", "total = 0.0", "while True: numbers", "the right answer 'with_a_loop'"),
    ],
)
def test_a_function_that_does_not_end_is_named(course_folder, file, old, new, description):
    plant(course_folder, "lab", "title", "limits = {call_seconds = 0.2}\ntitle")
    plant(course_folder, file, old, new)
    assert find_problems(course_folder) == (
        f"{LAB}: {EXERCISE}: {description} does not end in the case 'the three numbers of "
        "the example' within 0.2 s. Correct its code, make the case smaller, or raise "
        "`call_seconds` under `[limits]` in lab.toml."
    )


def test_a_function_that_draws_a_case_and_does_not_end_is_named(course_folder):
    plant(course_folder, "lab", "title", "limits = {call_seconds = 0.2}\ntitle")
    plant(course_folder, "exercise", "def example(rng):", "def example(rng):\n    while True: pass")
    assert find_problems(course_folder) == (
        f"{LAB}: {EXERCISE}: the case 'the three numbers of the example' does not end within 0.2 s. "
        "Correct its code, make the case smaller, or raise `call_seconds` under `[limits]` in lab.toml."
    )


def test_a_cell_of_the_solution_that_does_not_end_is_named(course_folder):
    plant(course_folder, "lab", "title", "limits = {cell_seconds = 0.2}\ntitle")
    plant(course_folder, "notebook", "import numpy as np", "import numpy as np\\nwhile True: pass")
    with pytest.raises(AutograderError, match=r"does not end within 0\.2 s"):
        read_lab_of(course_folder).run_reference_cells()


def test_grading_limits_no_single_call_of_the_author(course_folder, monkeypatch):
    """The limit starts a thread for each call, which takes several times as long as most calls."""
    monkeypatch.setattr(exercise_module, "limit_call_time", lambda *_: pytest.fail("limited"))
    exercise = read_lab_of(course_folder).exercises[EXERCISE]
    for test_case in exercise.test_cases(7):
        for name in test_case.mistakes:
            assert test_case.mistakes[name].type


def test_arrays_outside_the_domain_do_not_stop_the_build(monkeypatch):
    monkeypatch.setattr(argument_probe, "MAX_PROBE_SECONDS", 0.2)
    monkeypatch.setattr(argument_probe, "MAX_PROBE_MEGABYTES", 500)

    def waits_for_small_number(x, y):
        while x[0] != 1.0:
            pass
        return y * 2

    def fills_memory(x, y):
        table = np.ones(10 if x[0] == 1.0 else 1_000_000_000)
        return y * table[0] * 2

    for reference in (waits_for_small_number, fills_memory):
        lab = lab_of(reference, lambda rng: inputs(np.array([1.0, 4.0]), rng.normal(size=3)))
        exercise = lab.exercises["answer"]
        assert (
            argument_probe.find_unused_arrays(reference, exercise.test_cases(), exercise.rules)
            == ()
        )


@pytest.mark.long
def test_the_solution_of_a_new_course_gets_its_points(course_folder):
    change_notebook(course_folder, lambda cells: cells.append(new_code_cell("1 + 1", id="more")))
    built = autograder("build", cwd=course_folder)
    assert (built.returncode, built.stderr) == (0, "")


SECOND = "second_mean"


def write_second_exercise(folder):
    """Add an exercise whose answer uses the first one, and whose file imports that one's."""
    add_exercise(read_course(folder), LAB, SECOND)
    path = folder / FOLDER / f"{SECOND}.py"
    text = path.read_text("utf-8")
    text = text.replace(
        "import Exercise, inputs\n", f"import *\nfrom .{EXERCISE} import {EXERCISE}\n"
    )
    path.write_text(text.replace("points=2", f"points=2, builds_on=[{EXERCISE}]"), "utf-8")
    change_answer(folder, SECOND, "float(np.sum(numbers) / len(numbers))", f"{EXERCISE}(numbers)")
    return path


def change_answer(folder, exercise, old, new):
    def change(cells):
        (cell,) = (cell for cell in cells if f"def {exercise}(" in cell.source)
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    change_notebook(folder, change)


def test_an_error_in_an_imported_file_names_that_file(course_folder):
    """An earlier file by the alphabet imports the one with the fault."""
    (course_folder / FOLDER / "a_mean.py").write_text(f"from .{EXERCISE} import {EXERCISE}\n")
    plant(course_folder, "exercise", "points=2", "points=-2")
    problem = find_problems(course_folder)
    assert f"{EXERCISE}.py, line " in problem
    assert "a_mean.py" not in problem


@pytest.mark.parametrize("is_declared", [True, False])
def test_an_answer_that_uses_an_exercise_without_builds_on_is_warned_of(course_folder, is_declared):
    path = write_second_exercise(course_folder)
    if not is_declared:
        text = path.read_text("utf-8").replace(f", builds_on=[{EXERCISE}]", "")
        path.write_text(text, "utf-8")
    sentence = (
        f"{LAB}: the answer {SECOND} uses {EXERCISE}, and its exercise does not say so. Where only "
        f"{EXERCISE} is wrong, {SECOND} would get no points; write `builds_on=[{EXERCISE}]`."
    )
    assert find_lab_warnings(read_lab_of(course_folder)) == [sentence] * (not is_declared)


def test_builds_on_an_exercise_that_comes_later_is_refused(course_folder):
    write_second_exercise(course_folder)

    def move_second_exercise_up(cells):
        names = (SECOND.replace("_", "-"), f"test-{SECOND.replace('_', '-')}")
        moved = [cell for cell in cells if get_grade_id(cell) in names]
        cells[:] = [cells[0], cells[1], *moved, *(cell for cell in cells[2:] if cell not in moved)]

    change_notebook(course_folder, move_second_exercise_up)
    assert (
        f"{SECOND} builds on {EXERCISE}, which comes later in the notebook, so students could not "
        "check their answer."
    ) in find_problems(course_folder)


def test_builds_on_without_a_list_is_refused(course_folder):
    path = write_second_exercise(course_folder)
    path.write_text(path.read_text("utf-8").replace(f"[{EXERCISE}]", EXERCISE), "utf-8")
    sentence = "builds_on is an exercise; a list of exercises is expected, such as"
    assert sentence in find_problems(course_folder)


def test_a_misspelt_tag_is_warned_of(course_folder):
    def misspell(cells):
        cells[-1].metadata["tags"] = ["ilustration", "my-own", "illustration"]

    change_notebook(course_folder, misspell)
    (sentence,) = find_lab_warnings(read_lab_of(course_folder))
    assert sentence.endswith(
        "has the tag 'ilustration', which has no meaning; did you mean 'illustration'?"
    )


def test_a_test_cell_above_its_answer_is_refused(course_folder):
    def turn_round(cells):
        (test,) = (cell for cell in cells if get_grade_id(cell) == "test-mean-of-first-steps")
        cells.remove(test)
        cells.insert(1, test)

    change_notebook(course_folder, turn_round)
    assert (
        "the cell 'test-mean-of-first-steps' is above the cell 'mean-of-first-steps', so it runs "
        f"before `{EXERCISE}` is defined. Move it below."
    ) in find_problems(course_folder)


def test_an_answer_that_another_cell_repeats_is_warned_of(course_folder):
    lines = ["total = np.sum(numbers)", "count = len(numbers)", "return float(total / count)"]
    answer = "\n    ".join(lines)
    change_answer(course_folder, EXERCISE, "return float(np.sum(numbers) / len(numbers))", answer)
    copy = new_code_cell(
        f"def my_mean(numbers):\n        {lines[0]}\n\n        " + "\n        ".join(lines[1:]),
        id="copy",
    )
    change_notebook(course_folder, lambda cells: cells.append(copy))
    assert find_lab_warnings(read_lab_of(course_folder)) == [
        f"{LAB}: the cell 'copy', which students get, repeats {COPIED_LINES} lines of the answer "
        f"{EXERCISE}. Take them out, or call `{EXERCISE}`."
    ]


@pytest.mark.parametrize(("cases", "is_warned_of"), [(3, True), (4, False)])
def test_slips_with_too_few_numbers_for_pairs_are_warned_of(cases, is_warned_of):
    lab = lab_of(lambda x: x / 2, *[lambda rng: inputs(rng.normal())] * cases)
    exercise = lab.exercises["answer"]
    exercise.slips("negative: A. Hint: B?\nwhole: C. Hint: D?\nmore: E. Hint: F?")(
        lambda slip, x: (
            x * slip.choose(1, negative=-1) / slip.choose(2, whole=1) + slip.choose(0, more=1)
        )
    )
    assert any(exercise.predict_slip_pairs()) != is_warned_of
    sentence = (
        "a-lab: answer has lists of slips, but a check names no two slips at once, because the "
        "cases that students see give fewer than 4 numbers together (a small whole number counts a "
        "quarter). Add cases, or larger ones."
    )
    assert find_lab_warnings(lab) == [sentence] * is_warned_of
