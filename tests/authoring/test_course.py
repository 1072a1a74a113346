"""Test courses and labs: mistakes are one sentence, skeletons work, the engine names no lab."""

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from command import autograder
from our_course import COURSE, ROOT
from traitlets.config import Config

from autograder.authoring import Exercise, skeleton
from autograder.authoring.build import build_labs
from autograder.authoring.lab import Lab, LabError, read_lab
from autograder.authoring.nbgrader_settings import AUTHOR_FILES, configure
from autograder.authoring.skeleton import SkeletonError, add_exercise, write_course, write_lab
from autograder.core.course import (
    NUMBER,
    CourseError,
    check_toml_entries,
    find_course,
    list_answer_key_folders,
    read_course,
)
from autograder.core.errors import AutograderError, UsageError
from autograder.core.files import write_file
from autograder.sandbox.choice import explain_unavailability
from autograder.student import answer_key
from autograder.student.answer_key import encode_lab_description

ENGINE = ROOT / "autograder"
BIN = Path(sys.executable).parent
GOOD = 'title = "A"\nid = "a"\nlabs = ["one", "two"]\n'


def run_command(course, *command, code=0):
    """Run a command of the autograder in a course's folder."""
    ran = autograder(*command, cwd=course)
    assert ran.returncode == code, f"{command}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
    assert "Traceback" not in ran.stderr
    return ran.stdout or ran.stderr


# course.toml


@pytest.mark.parametrize("entry", ["data", "library"])
@pytest.mark.parametrize(
    "name", [".", "..", "solutions", "notebooks", "classroom", "a-class", "to-solutions", "up"]
)
def test_a_folder_that_would_show_solutions_or_a_classroom_is_refused(
    entry,
    name,
    tmp_path,
    monkeypatch,
):
    """Once, `data = ["."]` gave submissions access to solutions, the gradebook and the secret."""
    course = tmp_path / "course"
    (course / "solutions" / "one").mkdir(parents=True)
    (course / "to-solutions").symlink_to(course / "solutions" / "one")
    (course / "up").symlink_to(tmp_path)
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", "a-class")
    (course / "course.toml").write_text(f"{GOOD}{entry} = [{name!r}]\n")
    with pytest.raises(
        CourseError, match=f"{entry} holds '{name}', which would show submissions the solutions"
    ):
        read_course(course)
    (course / "course.toml").write_text(f'{GOOD}{entry} = ["stats"]\n')
    assert read_course(course)


@pytest.mark.parametrize(
    "name", ["../words.md", "solutions/one/teaching.md", "notebooks/a.md", "words.txt", 3]
)
def test_a_page_that_is_not_for_students_is_refused(name, tmp_path):
    (tmp_path / "course.toml").write_text(f"{GOOD}pages = [{json.dumps(name)}]\n")
    with pytest.raises(CourseError, match="pages holds"):
        read_course(tmp_path)
    (tmp_path / "course.toml").write_text(f'{GOOD}pages = ["docs/words.md"]\n')
    assert read_course(tmp_path).pages == ("docs/words.md",)


@pytest.mark.parametrize("name", ["con", "aux", "com1"])
def test_a_lab_name_that_windows_does_not_allow_is_refused(name, tmp_path):
    write_course(tmp_path / "course")
    with pytest.raises(SkeletonError, match="Windows"):
        write_lab(read_course(tmp_path / "course"), name)


def test_a_course_name_like_an_option_is_refused(tmp_path):
    with pytest.raises(SkeletonError, match="for an option"):
        write_course(tmp_path / "-rf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = ", "is not valid TOML"),
        (b"title = '\xff'", "cannot be read"),
        (
            GOOD + "lab_order = 3\n",
            "has an unknown entry 'lab_order'. The entries are title, id, labs,",
        ),
        (GOOD.replace('"A"', "3"), "title is 3; expected a text."),
        (GOOD.replace('["one", "two"]', '"one"'), "labs is 'one'; expected a list of texts."),
        (GOOD + "policy = 3\n", "policy is 3; expected a table."),
        (GOOD.replace('id = "a"\n', ""), "has no entry 'id'."),
        (GOOD.replace('"two"', '"a/b"'), "labs holds 'a/b'; expected a name."),
        (GOOD.replace('"two"', "2"), "labs holds 2; expected a name."),
        (GOOD + 'library = ["a/b"]\n', "library holds 'a/b'; expected a name."),
        (GOOD + "imports = [3]\n", "imports holds 3; expected a name."),
        (GOOD + 'data = ["a/b"]\n', "data holds 'a/b'; expected a name."),
        (GOOD.replace('"two"', '"one"'), "lists the lab 'one' twice."),
        (GOOD + "[lab.three]\n", "has a table [lab.three], but the labs are one and two."),
    ],
)
def test_a_mistake_in_a_course_is_one_sentence(text, sentence, tmp_path):
    path = tmp_path / "course.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CourseError) as caught:
        read_course(tmp_path)
    message = str(caught.value)
    assert sentence in message
    assert str(path) in message
    assert message.endswith(".") and "\n" not in message


def test_a_right_course_is_read_and_found_from_a_subfolder(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    (tmp_path / "course.toml").write_text(GOOD)
    subfolder = tmp_path / "solutions" / "one"
    subfolder.mkdir(parents=True)
    assert read_course(tmp_path).labs == find_course(subfolder).labs == ("one", "two")


def test_the_course_of_a_folder_is_the_nearest_above_it(tmp_path, monkeypatch):
    """A course may lie in the folder of another one, such as a sample in a repository."""
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    inner = tmp_path / "samples" / "mine"
    (inner / "solutions").mkdir(parents=True)
    (tmp_path / "course.toml").write_text(GOOD)
    (inner / "course.toml").write_text(GOOD)
    assert find_course(inner / "solutions").root == inner.resolve()
    assert find_course(inner.parent).root == tmp_path.resolve()
    monkeypatch.setenv("AUTOGRADER_COURSE", str(tmp_path))
    assert find_course(inner).root == tmp_path.resolve()


@pytest.mark.parametrize(
    ("variable", "name"), [(None, "classroom"), ("", "classroom"), ("autumn", "autumn")]
)
def test_the_class_lies_in_the_folder_of_the_environment_or_in_classroom(
    variable, name, tmp_path, monkeypatch
):
    monkeypatch.delenv("AUTOGRADER_CLASSROOM", raising=False)
    if variable is not None:
        monkeypatch.setenv("AUTOGRADER_CLASSROOM", variable)
    (tmp_path / "course.toml").write_text(GOOD)
    assert read_course(tmp_path).classroom == tmp_path.resolve() / name


def test_an_absolute_folder_of_a_class_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_CLASSROOM", str(tmp_path / "elsewhere"))
    (tmp_path / "course.toml").write_text(GOOD)
    assert read_course(tmp_path).classroom == tmp_path / "elsewhere"


@pytest.mark.parametrize("name", ["on", "one-more", "One", ""])
def test_a_lab_is_known_by_its_whole_name(name, tmp_path):
    (tmp_path / "course.toml").write_text(GOOD)
    course = read_course(tmp_path)
    assert course.require_lab("one") == "one"
    with pytest.raises(UsageError, match=f"There is no lab '{name}'; the labs are one and two"):
        course.require_lab(name)


@pytest.mark.parametrize(
    ("entry", "expected_type", "words"),
    [
        (True, NUMBER, "points is True; expected a number."),
        (True, int, "points is True; expected a whole number."),
        (1.5, int, "points is 1.5; expected a whole number."),
        (1, bool, "points is 1; expected true or false."),
    ],
)
def test_true_is_no_number_and_a_number_is_not_true(entry, expected_type, words):
    with pytest.raises(CourseError, match=f"lab.toml: {words}"):
        check_toml_entries({"points": entry}, {"points": expected_type}, "lab.toml")


@pytest.mark.parametrize(("entry", "expected_type"), [(2, NUMBER), (0.5, NUMBER), (False, bool)])
def test_an_entry_of_the_right_type_is_accepted(entry, expected_type):
    check_toml_entries({"points": entry}, {"points": expected_type}, "lab.toml")


def test_a_misspelt_entry_is_told_the_one_that_it_resembles():
    with pytest.raises(CourseError, match="unknown entry 'point'; did you mean 'points'"):
        check_toml_entries({"point": 1}, {"points": NUMBER, "title": str}, "lab.toml")


def test_outside_of_a_course_answer_keys_are_looked_for_here_below_and_beside(
    tmp_path, monkeypatch
):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    for folder in ("here/answers", "here/below/answers", "beside/answers", "other"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    names = [path.relative_to(tmp_path).as_posix() for path in list_answer_key_folders()]
    assert list(dict.fromkeys(names)) == ["here/answers", "here/below/answers", "beside/answers"]


def test_of_two_copies_of_a_lab_the_answer_key_beside_the_notebook_counts(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    facts = {"difficulty": "easy", "minutes": 5}
    for folder, title, order in (("dice", "Dice", 2), ("dice copy", "Old", 1), ("cards", "C", 1)):
        content = encode_lab_description(
            folder.split()[0], {**facts, "title": title, "order": order}, [], {}
        )
        write_file(tmp_path / folder / "answers" / "lab.json", content)
    answer_key.clear_cache()
    for folder, title in (("dice", "Dice"), ("dice copy", "Old")):
        monkeypatch.chdir(tmp_path / folder)
        assert answer_key.load_lab_descriptions()["dice"].title == title
    monkeypatch.chdir(tmp_path / "dice")
    assert list(answer_key.load_lab_descriptions()) == ["cards", "dice"], "in the course's order"


def test_a_lab_that_is_added_to_the_course_is_found_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(tmp_path))
    settings = 'title = "Chance"\nid = "chance"\nlabs = {}\n'
    for labs in (["dice"], ["dice", "cards"]):
        (tmp_path / "course.toml").write_text(settings.format(labs))
        assert [path.parent.name for path in list_answer_key_folders()] == labs
    (tmp_path / "course.toml").unlink()
    with pytest.raises(CourseError, match="There is no file"):
        list_answer_key_folders()


def test_a_missing_course_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
    message = rf"There is no course\.toml in {re.escape(str(tmp_path))} .* name it with --course\."
    with pytest.raises(CourseError, match=message):
        find_course(tmp_path)
    with pytest.raises(CourseError, match=r"There is no file .*, so .* is no course"):
        read_course(tmp_path)


# Skeletons


@pytest.fixture
def course(tmp_path):
    """A new course, as written by `autograder new course`."""
    write_course(tmp_path / "a course")
    return tmp_path / "a course"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())
def test_skeletons_can_be_built_checked_graded_and_reported_unchanged(tmp_path):
    run_command(tmp_path, "new", "course", "chance")
    home = tmp_path / "chance"
    old_files = {p: p.read_bytes() for p in home.rglob("*") if p.is_file()}
    run_command(home, "new", "lab", "random-walks", "--exercise", "mean_distance")
    new_files = {p: p.read_bytes() for p in home.rglob("*") if p.is_file()}
    changed_files = [p for p, content in new_files.items() if old_files.get(p) != content]
    assert {p.relative_to(home).parts[:2] for p in changed_files} == {
        ("course.toml",),
        ("solutions", "random-walks"),
    }
    old_lines = old_files[home / "course.toml"].decode().splitlines()
    new_lines = (home / "course.toml").read_text().splitlines()
    differences = [(a, b) for a, b in zip(old_lines, new_lines, strict=True) if a != b]
    assert differences == [('labs = ["first-steps"]', 'labs = ["first-steps", "random-walks"]')]

    run_command(home, "build")
    assert run_command(home, "build", "--check") == "Everything is as the solutions say.\n"
    assert run_command(home, "start", "work") == "2 labs copied to work.\n"
    notebook = home / "work" / "random-walks" / "random-walks.ipynb"
    assert "mean_distance: not written yet" in run_command(home, "check", notebook, code=1)
    for student, is_solved in (("ada", True), ("bo", False)):
        student_notebook = nbformat.read(notebook, as_version=4)
        if is_solved:
            right = read_lab(read_course(home), "random-walks").reference_cells["mean-distance"]
            next(c for c in student_notebook.cells if c.id == "mean-distance").source = right
        target = home / "classroom" / "submitted" / student / "random-walks" / "random-walks.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(student_notebook, target)
    rows = [json.loads(line) for line in run_command(home, "grade", "--json", "-").splitlines()]
    verdicts = {}
    for row in rows:
        if row["verdict"] != "manual":
            verdicts[row["student"], row["exercise"]] = row["verdict"]
    assert verdicts == {("ada", "mean_distance"): "pass", ("bo", "mean_distance"): "error"}
    run_command(home, "feedback")
    feedback = home / "classroom" / "feedback"
    assert (feedback / "ada" / "random-walks" / "random-walks.html").is_file()
    assert (home / run_command(home, "report").strip()).is_file()


@pytest.mark.parametrize("name", ["Random Walks", "random_walks", "-walks", "a/b", "..", ""])
def test_a_wrong_name_for_a_lab_is_refused(course, name):
    with pytest.raises(SkeletonError, match="is no name for a lab"):
        write_lab(read_course(course), name)


@pytest.mark.parametrize(
    "name", ["context", "convolutions", "auxiliary", "null-models", "printing", "prn-1"]
)
def test_a_lab_name_that_only_begins_like_a_device_of_windows_is_allowed(course, name):
    assert write_lab(read_course(course), name).is_dir()


@pytest.mark.parametrize("name", ["mean distance", "_mean", "a__b", "class", "../a"])
def test_a_wrong_name_for_an_exercise_is_refused(course, name):
    with pytest.raises(SkeletonError, match="is no name for an exercise"):
        write_lab(read_course(course), "walks", [name])


def test_the_author_s_files_do_not_go_with_the_notebook_to_students():
    """nbgrader copies what lies beside a solution, except for the files that it is told to ignore."""
    for lab in COURSE.labs:
        for path in (COURSE.solutions / lab).iterdir():
            is_ignored = any(fnmatch(path.name, pattern) for pattern in AUTHOR_FILES)
            assert is_ignored or path.name == f"{lab}.ipynb", path


def test_an_exercise_also_builds_on_what_its_exercises_build_on():
    first = Exercise("first", points=1)
    second = Exercise("second", points=1, builds_on=[first])
    other = Exercise("other", points=1)
    last = Exercise("last", points=1, builds_on=[second, first])
    exercises = {exercise.name: exercise for exercise in (first, other, second, last)}
    lab = SimpleNamespace(exercises=exercises)
    assert Lab.prerequisites(lab, last) == [first, second]
    exercises["last"] = last = Exercise("last", points=1, builds_on=[second])
    assert Lab.prerequisites(lab, last) == [first, second]
    assert Lab.prerequisites(lab, first) == []


def test_nothing_is_overwritten(course):
    with pytest.raises(SkeletonError, match="is not empty"):
        write_course(course)
    with pytest.raises(SkeletonError, match="There is a lab 'first-steps' already"):
        write_lab(read_course(course), "first-steps")


@pytest.mark.parametrize("execute", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_lab_of_several_exercises_and_one_added_later_can_be_built(course, execute):
    write_lab(read_course(course), "walks", ["mean_distance", "mean_step"])
    path = add_exercise(read_course(course), "walks", "mean_time")
    assert path == course / "solutions" / "walks" / "mean_time.py"
    lab = read_lab(read_course(course), "walks")
    assert list(lab.exercises) == ["mean_distance", "mean_step", "mean_time"]
    cells = [cell.id for cell in lab.cells]
    assert cells[-6:] == [
        *("task-mean-time", "mean-time", "test-mean-time", "hints-mean-time", "see-mean-time"),
        "progress",
    ]
    build_labs([lab], execute=execute)
    lab = read_lab(read_course(course), "walks")
    assert list(build_labs([lab], check=True, execute=False)) == []
    assert len(list((course / "notebooks" / "walks" / "answers").glob("*.key"))) == 3


@pytest.mark.parametrize(
    ("labs", "added"),
    [
        ('["a", "b"]  # two', '["a", "b", "new"]  # two'),
        ("[]", '["new"]'),
        ('["a",\n "b",\n]', '["a",\n "b",\n    "new",\n]'),
        ('[\n "a",\n "b"  # draft\n]', '[\n "a",\n "b",  # draft\n    "new",\n]'),
        ('[\n "a",  # see [1], too\n]', '[\n "a",  # see [1], too\n    "new",\n]'),
        ("[\n 'a',  # \"draft\n]", '[\n \'a\',  # "draft\n    "new",\n]'),
        ("[\n]", '[\n    "new",\n]'),
    ],
)
def test_a_lab_is_added_to_a_list_with_comments(tmp_path, labs, added):
    path = tmp_path / "course.toml"
    path.write_text(f'title = "T"\nid = "t"\nlabs = {labs}\ncriteria = true\n')
    course = read_course(tmp_path)
    skeleton.add_to_course_list(course, "labs", "new")
    assert path.read_text() == f'title = "T"\nid = "t"\nlabs = {added}\ncriteria = true\n'
    assert read_course(tmp_path).labs == (*course.labs, "new")
    skeleton.add_to_course_list(course, "pages", "words.md")
    assert read_course(tmp_path).pages == ("words.md",)
    assert f'labs = {added}\npages = ["words.md"]\n' in path.read_text()


@pytest.mark.parametrize(
    ("content", "longer"),
    [
        ("", '"b"'),
        (" ", '"b"'),
        ('"a"', '"a", "b"'),
        ("'a',", "'a', \"b\""),
        ('"a"  # first, of two\n', '"a",  # first, of two\n    "b",\n'),
        ('\n    "a",\n', '\n    "a",\n    "b",\n'),
        ('\n    # "none" yet\n', '\n    # "none" yet\n    "b",\n'),
    ],
)
def test_an_item_is_added_behind_the_last_one_of_a_list(content, longer):
    assert skeleton._append_item(content, "b") == longer


def test_names_of_courses_and_exercises_have_a_form():
    names = {"My  Course 2!": "my-course-2", "--": "", "Été": "t", "a_b": "a-b"}
    assert {name: skeleton.hyphenate(name) for name in names} == names
    for name in ("mean", "Mean2", "mean_of_x", "a_1"):
        assert skeleton.is_exercise_name(name), name
    for name in ("", "2mean", "_mean", "mean_", "a__b", "lambda", "None", "a-b", "mean\n", "é"):
        assert not skeleton.is_exercise_name(name), name


def test_cells_of_a_template_have_the_roles_in_their_headers():
    text = (
        "unused\n%% code one setup\n\nx = 1\n\n%% markdown two\n# T\n%% code three solution\n"
        "y\n%% code test grade locked\nz\n%% markdown four grade solution\n"
    )
    cells = skeleton._parse_cells(text)
    facts = [(cell.cell_type, cell.id, cell.source) for cell in cells]
    assert facts == [
        ("code", "one", "x = 1"),
        ("markdown", "two", "# T"),
        ("code", "three", "y"),
        ("code", "test", "z"),
        ("markdown", "four", ""),
    ]
    assert [cell.metadata.get("tags") for cell in cells] == [["setup"], None, None, None, None]
    roles = []
    for cell in cells:
        metadata = cell.metadata.get("nbgrader", {})
        flags = [name for name in ("grade", "solution", "locked", "task") if metadata.get(name)]
        roles.append((metadata.get("grade_id"), metadata.get("points"), flags))
    assert roles == [
        (None, None, []),
        (None, None, []),
        ("three", None, ["solution"]),
        ("test", 2, ["grade", "locked"]),
        ("four", 2, ["grade", "solution"]),
    ]


def test_a_lab_that_cannot_be_listed_leaves_no_folder(course):
    edit(course / "course.toml", "labs = ", '"labs" = ')
    for _ in range(2):  # the second try would be told that there is such a lab
        with pytest.raises(SkeletonError, match="has no line `labs = "):
            write_lab(read_course(course), "walks")
    assert not (course / "solutions" / "walks").exists()


def test_an_exercise_that_cannot_be_added_changes_nothing(course, monkeypatch):
    def list_files():
        return {p: p.read_bytes() for p in course.rglob("*") if p.is_file()}

    before = list_files()
    for lab, name, sentence in (
        ("second", "mean_time", "There is no lab 'second'; there are first-steps."),
        ("first-steps", "class", "is no name for an exercise"),
        (
            "first-steps",
            "mean_of_first_steps",
            "The lab first-steps has an exercise 'mean_of_first_steps' al",
        ),
    ):
        with pytest.raises(SkeletonError, match=sentence):
            add_exercise(read_course(course), lab, name)
    with pytest.raises(SkeletonError, match="'step' is named twice"):
        write_lab(read_course(course), "walks", ["step", "step"])
    assert list_files() == before

    notebook = course / "solutions" / "first-steps" / "first-steps.ipynb"
    notebook.write_text("{")
    with pytest.raises(SkeletonError, match="is no notebook that can be read"):
        add_exercise(read_course(course), "first-steps", "mean_time")
    assert not notebook.with_name("mean_time.py").exists()


def test_an_exercise_whose_notebook_cannot_be_written_leaves_no_file(course, monkeypatch):
    """Otherwise the next try would be told that the exercise exists already."""

    def fail_for_notebooks(path, *arguments):
        if path.suffix == ".ipynb":
            raise OSError(28, "No space left on device")
        write_file(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(skeleton, "write_file", fail_for_notebooks)
        with pytest.raises(OSError, match="No space left"):
            add_exercise(read_course(course), "first-steps", "mean_time")
    assert not (course / "solutions" / "first-steps" / "mean_time.py").exists()
    assert add_exercise(read_course(course), "first-steps", "mean_time").is_file()


# Misspellings


def exercise_file(course):
    return course / "solutions" / "first-steps" / "mean_of_first_steps.py"


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


MISSPELT = [
    (
        'sizes={"length"',
        'sizes={"lenght"',
        "the domain's function takes length and magnitude after rng",
    ),
    ("points=2", "points=2, tolerence=1", "tolerence"),
    (
        "points=2",
        'points=2, returns="print"',
        "returns is 'print'; it can be array, tensor, printed",
    ),
    (
        "points=2",
        'points=2, builds_on=["softmax"]',
        "builds_on holds 'softmax'; an Exercise is expected",
    ),
    (
        'Exercise("mean_of',
        'Exercise("men_of',
        "an exercise named 'mean_of_first_steps', as the file, is expected",
    ),
    ("import numpy", "import nunpy", "cannot be imported: ModuleNotFoundError"),
    ("from autograder.authoring import Exercise", "from .softmaks import x, Exercise", "softmaks"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), MISSPELT, ids=[new for _, new, _ in MISSPELT])
def test_a_misspelt_exercise_is_one_sentence(course, old, new, sentence):
    edit(exercise_file(course), old, new)
    with pytest.raises(LabError) as caught:
        _ = read_lab(read_course(course), "first-steps").exercises
    message = str(caught.value)
    assert sentence in message
    assert "mean_of_first_steps.py" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '"grade_id": "test-mean-of-first-steps"',
            '"grade_id": "test-men"',
            "test-mean-of-first-steps",
        ),
        ('"grade_id": "mean-of-first-steps"', '"grade_id": "men"', "mean-of-first-steps"),
    ],
)
def test_a_misspelt_grade_id_is_one_sentence(course, old, new, sentence):
    edit(course / "solutions" / "first-steps" / "first-steps.ipynb", old, new)
    message = run_command(course, "build", code=1)
    assert sentence in message
    assert "grade_id" in message
    assert len(message.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["build", "first-step"], "There is no lab 'first-step'; the labs are first-steps."),
        (["build", "--chek"], "No such option"),
        (["biuld"], "No such command 'biuld'"),
        (["check", "nowhere.ipynb"], "There is no file nowhere.ipynb."),
    ],
)
def test_a_misspelt_command_is_one_sentence(course, command, sentence):
    ran = autograder(*command, cwd=course)
    assert ran.returncode in (1, 2)
    assert sentence in ran.stderr
    assert "Traceback" not in ran.stderr


def test_an_exercise_of_another_lab_cannot_be_built_on(course):
    write_lab(read_course(course), "second")
    path = course / "solutions" / "second" / "mean_of_second.py"
    edit(path, "points=2", "points=2, builds_on=[Exercise('other', points=1)]")
    with pytest.raises(LabError, match="mean_of_second builds on other, which is of another lab"):
        _ = read_lab(read_course(course), "second").exercises


def test_a_missing_lab_is_one_sentence(course):
    edit(course / "course.toml", '"first-steps"]', '"first-steps", "ghost"]')
    message = r"There is no file .*, but course\.toml lists the lab 'ghost'"
    with pytest.raises(AutograderError, match=message):
        read_lab(read_course(course), "ghost")


# The engine names no lab


def find_files_naming_labs(folder):
    """Return files that name a lab of this repository's course or import its library."""
    forbidden = re.compile("|".join([*map(re.escape, lab_name_texts()), *COURSE.library]))
    files = [p for p in folder.rglob("*") if p.is_file() and p.suffix not in {".pyc", ".png"}]
    matches = [path for path in files if forbidden.search(path.read_text("utf-8"))]
    return sorted(str(path.relative_to(folder)) for path in matches)


def lab_name_texts():
    """Yield the labs' names as in paths and modules; plain words like "positions" in quotes."""
    for lab in COURSE.labs:
        if "-" in lab:
            yield from (lab, lab.replace("-", "_"))
        else:
            yield from (f'"{lab}"', f"{lab}/", f"/{lab}")


def test_the_engine_names_no_lab_of_this_course(tmp_path):
    assert find_files_naming_labs(ENGINE) == []
    engine_copy = tmp_path / "autograder"
    shutil.copytree(ENGINE, engine_copy, ignore=shutil.ignore_patterns("__pycache__"))
    (engine_copy / "a.py").write_text('LABS = ["attention-masks"]\n')
    (engine_copy / "b.py").write_text("from attention_labs import pictures\n")
    (engine_copy / "c.py").write_text("import solutions.qkv_attention\n")
    (engine_copy / "d.py").write_text('LAST = "positions"\n')
    assert find_files_naming_labs(engine_copy) == ["a.py", "b.py", "c.py", "d.py"]


# nbgrader's own release


@pytest.mark.long
def test_nbgraders_release_holds_no_file_of_the_authors(course):
    lab = course / "solutions" / "first-steps"
    (lab / "_shared.py").write_text("SECRET = 1\n")
    (lab / "__pycache__").mkdir(exist_ok=True)
    (lab / "__pycache__" / "_shared.cpython-311.pyc").write_bytes(b"secret")
    (lab / "picture.svg").write_text("<svg/>")  # a file for students
    assert generate_release(course) == ["first-steps.ipynb", "picture.svg"]


@pytest.mark.long
def test_an_authors_file_in_nbgraders_release_would_be_noticed(course):
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text() + "get_config().CourseDirectory.ignore = []\n")
    assert "mean_of_first_steps.py" in generate_release(course)


def test_nbgraders_settings_may_be_a_link_to_those_of_the_course(tmp_path):
    course, elsewhere = tmp_path / "course", tmp_path / "jupyter"
    (course / "solutions").mkdir(parents=True)
    elsewhere.mkdir()
    (course / "course.toml").write_text('title = "A"\nid = "a-course"\nlabs = []')
    (course / "nbgrader_config.py").write_text("")
    (elsewhere / "nbgrader_config.py").symlink_to(course / "nbgrader_config.py")
    config = Config()
    configure(config, elsewhere / "nbgrader_config.py")
    assert config.CourseDirectory.course_id == "a-course"
    assert config.CourseDirectory.root == str(course)


def generate_release(course):
    """Return the names of the files that `nbgrader generate_assignment` releases."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "AUTOGRADER"))}
    env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
    ran = subprocess.run(
        [BIN / "nbgrader", "generate_assignment", "first-steps"],
        cwd=course,
        env={**env, "PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(course.parent / "config")},
        text=True,
        capture_output=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    folder = course / "notebooks" / "first-steps"
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
