"""Every option and every environment variable is used by a test, and options reach what they set."""

import ast
import re
from functools import cache
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner
from our_course import COURSE, ROOT

from autograder import intake
from autograder.authoring import build
from autograder.authoring.lab import Lab
from autograder.cli import main
from autograder.cli.options import choose_labs
from autograder.core.course import CLASSROOM_VARIABLE
from autograder.core.errors import AutograderError
from autograder.reports import class_page, manual_marks

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
        self._outcome = outcome

    def __call__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


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
