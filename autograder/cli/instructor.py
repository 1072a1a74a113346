"""Commands for instructors: collect and grade submissions, give feedback, report on a class."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.cli.group import main
from autograder.cli.options import (
    COURSE_OPTION,
    FILE_TYPE,
    FORMAT_NAMES,
    LABS_ARGUMENT,
    PATH_TYPE,
    SANDBOX_OPTION,
    WORKERS_OPTION,
    choose_labs,
    classroom_options,
    print_lines,
)
from autograder.core.course import find_course
from autograder.core.errors import UsageError
from autograder.core.text_format import format_count, join_words

if TYPE_CHECKING:
    from autograder.core.results import Result
    from autograder.gradebook.classroom import Classroom


@main.command()
@click.argument("paths", nargs=-1, required=True, type=PATH_TYPE, metavar="PATH...")
@classroom_options
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Of times without a zone, such as Europe/Paris; by default the course's.",
)
@click.option(
    "--file-times",
    is_flag=True,
    help="Take the files' own times as when they were submitted.",
)
@click.option("--pattern", metavar="REGEX", help="For other paths; with a group named student.")
@click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Replace what came from another platform, account or self-chosen name.",
)
def collect(classroom: "Classroom", paths: Sequence[Path], **options: Any) -> None:
    """File submissions from folders and downloaded zips into the classroom.

    Knows the names that Canvas, Moodle, Blackboard, Brightspace, Gradescope, Google Classroom and
    GitHub Classroom give, and plain folders; roster.csv in the classroom says who is in the class.
    Exit code 0 if all were filed, 1 if some were refused or match no student or lab.

    \b
    Example:  autograder collect ~/Downloads/submissions.zip
    """
    from rich.console import Console

    from autograder.authoring.lab import labs_by_grade_id, read_labs
    from autograder.intake import collect as collect_submissions

    course = classroom.course
    report = collect_submissions(
        paths,
        classroom.root,
        course.labs,
        grade_ids=labs_by_grade_id(read_labs(course)),
        course_timezone=course.policy.get("timezone"),
        **options,
    )
    table = report.make_review_table()
    if table:
        Console().print(table)
    click.echo(report.summary)
    sys.exit(report.exit_code)


@main.command()
@classroom_options
def merge(classroom: "Classroom") -> None:
    """Merge the folders that belong to one student according to roster.csv, with all marks.

    Of two submissions for a lab the newer one counts; the other is kept as an earlier attempt.

    \b
    Example:  autograder merge
    """
    from autograder.gradebook.merge_students import merge_split_students

    count = 0
    for sentence in merge_split_students(classroom):
        click.echo(sentence)
        count += 1
    remedy = " Run `autograder grade` next." if count else ""
    click.echo(f"{format_count(count, 'student')} with several folders merged.{remedy}", err=True)


@main.command()
@LABS_ARGUMENT
@classroom_options
@click.option(
    "--json",
    "json_file",
    type=click.Path(),
    help="Write one JSON object a line; - for stdout.",
)
@WORKERS_OPTION
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to send the submissions to.")
@click.option(
    "--student",
    "students",
    multiple=True,
    metavar="NAME",
    help="Only this student's; may be repeated.",
)
@click.option("--force", is_flag=True, help="Grade again even if nothing has changed.")
@click.option(
    "--no-follow-through",
    is_flag=True,
    help="Give no points for an exercise that fails only because it calls a wrong one.",
)
@SANDBOX_OPTION
def grade(
    classroom: "Classroom",
    labs: Sequence[str],
    json_file: str | None,
    workers: int | None,
    scheduler: str | None,
    no_follow_through: bool,
    sandbox: str,
    **run_options: Any,
) -> None:
    """Mark the submissions of a class and write the gradebook.

    Exit code 0 if every submission was judged, whatever the marks; 1 if the grader failed on one.

    \b
    Example:  autograder grade my-lab --json results.jsonl
    """
    from concurrent.futures import ThreadPoolExecutor

    from autograder.sandbox.choice import explain_fallback, find_sandbox

    # Finding a sandbox that works takes as long as reading the labs. So do both at the same time.
    with ThreadPoolExecutor(1) as executor:
        search = None if scheduler else executor.submit(find_sandbox, sandbox)
        from autograder.gradebook.graded_submission import GradingOptions
        from autograder.grading.pool import count_cores, find_sandbox_class
        from autograder.grading.progress import show_progress
        from autograder.grading.run import grade_class

        chosen_labs = choose_labs(labs, classroom)
    _warn_if_unprotected(sandbox)
    if search is not None:
        sandbox_class = search.result()
        find_sandbox_class(chosen_labs, sandbox)
        name = sandbox_class.name
        reason = explain_fallback(sandbox_class) if sandbox == "auto" else ""
        if reason:
            text = f"Submissions run in the sandbox {name}, for bubblewrap does not start. {reason}"
            click.echo(text, err=True)
        sandbox = name
    with show_progress("marking") as bar, _open_results_file(json_file) as write_result:
        run = grade_class(
            classroom,
            chosen_labs,
            GradingOptions(follow_through=not no_follow_through, sandbox=sandbox),
            workers=workers or count_cores(),
            scheduler=scheduler,
            on_result=write_result,
            progress=bar,
            **run_options,
        )
    print_lines("Note", run.notes)
    print_lines("Fault", run.faults)
    submissions = format_count(run.newly_graded, "submission")
    faults = format_count(len(run.faults), "fault")
    click.echo(f"{submissions} marked, {run.from_cache:,} unchanged, {faults}.", err=True)
    sys.exit(1 if run.faults else 0)


@main.command()
@COURSE_OPTION
@click.argument("notebook", type=PATH_TYPE)
@click.option("--lab", metavar="LAB", help="Its lab; by default the one whose cells it holds.")
@click.option(
    "--as",
    "format_name",
    type=click.Choice(FORMAT_NAMES),
    default="json",
    show_default=True,
    help="The platform that reads the result.",
)
@click.option("--output", type=FILE_TYPE, help="A file; by default stdout.")
@SANDBOX_OPTION
def mark(
    notebook: Path,
    lab: str | None,
    format_name: str,
    output: Path | None,
    sandbox: str,
) -> None:
    """Mark one submission, a notebook or the folder it lies in, and print the result as JSON.

    No class, no gradebook: it is for platforms that mark each submission as it comes.
    Exit code 0 if it was judged, whatever the marks, or cannot be read; 1 if the grader failed.

    \b
    Example:  autograder mark submission.ipynb --lab my-lab --as gradescope --output results.json
    """
    from autograder.core.files import write_file
    from autograder.platforms.grade_one import grade_for_platform
    from autograder.platforms.responses import RESPONSE_FORMATS
    from autograder.sandbox.choice import find_sandbox

    _warn_if_unprotected(sandbox)
    outcome = grade_for_platform(find_course(), notebook, lab, lambda: find_sandbox(sandbox).name)
    if outcome.fault:
        print_lines("Fault", [outcome.fault])
    response = f"{RESPONSE_FORMATS[format_name](outcome)}\n"
    if output:
        write_file(output, response)
    else:
        click.echo(response, nl=False)
    sys.exit(1 if outcome.fault else 0)


@main.command()
@COURSE_OPTION
@click.argument("platform", type=click.Choice(FORMAT_NAMES[1:]), metavar="PLATFORM")
@click.argument("labs", nargs=-1, required=True, metavar="LAB...")
@click.option("--output", type=PATH_TYPE, help="A folder; by default dist/PLATFORM.")
def package(platform: str, labs: Sequence[str], output: Path | None) -> None:
    """Make a package with which Gradescope, PrairieLearn or GitHub Classroom marks labs.

    The package holds the labs' solutions.

    PLATFORM is gradescope, prairielearn or github. For Gradescope each lab is a zip of its own.

    \b
    Example:  autograder package gradescope my-lab --output my-lab.zip
    """
    from autograder.platforms.platform_package import write_package

    for path in write_package(platform, find_course(), labs, output):
        click.echo(f"{path} holds solutions: it is for you and the platform, not for students.")


@main.command()
@classroom_options
@click.argument("student")
@click.argument("labs", nargs=-1, metavar="[LAB]...")
def show(classroom: "Classroom", student: str, labs: Sequence[str]) -> None:
    """Print one student's verdicts, messages and marks. Nothing is run.

    STUDENT is a folder in submitted/, a full name in the roster, or the beginning of one.

    \b
    Example:  autograder show ada
    """
    from autograder.reports.terminal import describe_student

    click.echo(describe_student(classroom, student, choose_labs(labs, classroom)))


@main.command()
@classroom_options
@click.argument("lab")
@click.argument("question")
@click.option("--anonymous", is_flag=True, help="Pseudonyms in place of names.")
@click.option(
    "--take",
    "sheets",
    multiple=True,
    type=PATH_TYPE,
    metavar="SHEET",
    help="Take the marks and comments of a filled-in sheet; may be repeated.",
)
def answers(
    classroom: "Classroom",
    lab: str,
    question: str,
    anonymous: bool,
    sheets: Sequence[Path],
) -> None:
    """Write a sheet to mark a question across the class, or take the marks of filled-in sheets.

    The sheet is a page to read and a table to fill in. Of several filled-in sheets all are taken,
    or none.

    \b
    Example:  autograder answers my-lab explain --take classroom/answers/my-lab/explain.csv
    """
    from autograder.grading.pool import count_cores
    from autograder.reports import manual_marks

    (chosen_lab,) = choose_labs([lab], classroom)
    if sheets:
        click.echo(manual_marks.import_sheets(classroom, chosen_lab, question, sheets))
        return
    answer_set = manual_marks.read_question_marks(
        classroom,
        chosen_lab,
        question,
        anonymous=anonymous,
    )
    old_sheet = manual_marks.write_answers_page_and_marking_sheet(answer_set, workers=count_cores())
    click.echo(f"{answer_set.page}\n{answer_set.sheet}")
    total = format_count(len(answer_set.answers), "answer")
    summary = f"{total}, {answer_set.ungraded_count} without a mark"
    if answer_set.blank_count:
        submissions = format_count(answer_set.blank_count, "submission")
        summary += f"; {submissions} left it as it was handed out"
    click.echo(f"{summary}.", err=True)
    if old_sheet:
        click.echo(
            f"The sheet that was there has marks that are not taken in; it is {old_sheet} now.",
            err=True,
        )


@main.command()
@LABS_ARGUMENT
@classroom_options
@WORKERS_OPTION
@click.option("--force", is_flag=True, help="Make pages again that have not changed.")
@click.option(
    "--give-back",
    is_flag=True,
    help="Also the pages in the forms that Moodle and Canvas take, and a folder for the rest.",
)
def feedback(
    classroom: "Classroom", labs: Sequence[str], workers: int | None, force: bool, give_back: bool
) -> None:
    """Make each student's feedback page from the graded submissions.

    \b
    Example:  autograder feedback my-lab --give-back
    """
    from autograder.grading.progress import show_progress
    from autograder.reports.feedback_pages import write_feedback_pages
    from autograder.reports.term import write_student_term_pages

    chosen_labs = choose_labs(labs, classroom)
    with show_progress("feedback") as bar:
        pages = write_feedback_pages(
            classroom,
            labs=chosen_labs,
            force=force,
            workers=workers,
            progress=bar,
        )
    new_pages = format_count(pages.written_count, "page")
    click.echo(
        f"{new_pages} made, {pages.unchanged_count:,} unchanged, in {classroom.feedback}.",
        err=True,
    )
    term_page_count = write_student_term_pages(classroom)
    if term_page_count:
        term_pages = format_count(term_page_count, "page")
        click.echo(
            f"{term_pages} of the term so far, term.html in each student's folder.",
            err=True,
        )
    if give_back:
        from autograder.reports.feedback_zips import write_feedback_archives

        for line in write_feedback_archives(classroom, chosen_labs, pages.failures):
            click.echo(line)
    print_lines("Note", pages.notes)
    print_lines("Failed", pages.failures)
    sys.exit(1 if pages.failures else 0)


@main.command()
@classroom_options
@click.option(
    "--anonymous",
    is_flag=True,
    help="Pseudonyms in place of names, in every file of the report.",
)
@click.option(
    "--for",
    "platforms",
    multiple=True,
    metavar="PLATFORM",
    help="A table for this one too: Canvas, Moodle, Blackboard, Brightspace or Gradescope.",
)
def report(classroom: "Classroom", anonymous: bool, platforms: Sequence[str]) -> None:
    """Write a page on the class (marks, misconceptions, students who may need help), and CSV tables.

    Beside grades.csv there is a table for each learning platform that submissions came from.

    \b
    Example:  autograder report --for Canvas
    """
    from autograder.reports.class_page import write_report
    from autograder.reports.platform_csv import PLATFORMS

    classroom.require_submissions()
    spellings = {name.casefold(): name for name in PLATFORMS}
    chosen_platforms = []
    for name in platforms:
        if name.casefold() not in spellings:
            choices = join_words(PLATFORMS)
            raise UsageError(f"There is no platform {name!r}; those with a table are {choices}.")
        chosen_platforms.append(spellings[name.casefold()])
    sentences = write_report(classroom, anonymous=anonymous, platforms=chosen_platforms)
    click.echo(classroom.report / "index.html")
    for sentence in sentences:
        click.echo(sentence, err=True)


def _warn_if_unprotected(sandbox: str) -> None:
    if sandbox == "none":
        rights = "read and change every file that you can, and use the network"
        click.secho(f"NO SANDBOX: the submissions can {rights}.", fg="red", bold=True, err=True)


@contextmanager
def _open_results_file(target: str | None) -> "Iterator[Callable[[Result], None]]":
    """Open a file for JSON lines (one result a line), and return a function that writes a result.

    The target "-" means stdout; None means that nothing is written. Lines of an earlier run are
    deleted at the first result, or at the end if there is no result.
    """
    if target is None:
        yield lambda row: None
        return
    try:
        file = sys.stdout if target == "-" else open(target, "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}.") from None
    must_clear_file = target != "-"

    def write_result(row: "Result | None") -> None:
        nonlocal must_clear_file
        try:
            if must_clear_file:
                if os.path.isfile(target):
                    file.truncate(0)
                must_clear_file = False
            if row is not None:
                print(row.to_json(), file=file, flush=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, target) from None

    try:
        yield write_result
        write_result(None)
    finally:
        if target != "-":
            try:
                file.close()  # tries once more to write a line that could not be written
            except OSError as error:
                raise OSError(error.errno, error.strerror, target) from None
