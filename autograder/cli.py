"""The command line. Each command is a few lines that call the module which does the work."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autograder.course import CLASSROOM, VARIABLE, find
from autograder.errors import INSTALL_ALL, Complaint, Usage, counted, listed, printable
from autograder.files import concerns_disk

if TYPE_CHECKING:
    from autograder.authoring.lab import Lab
    from autograder.course import Course
    from autograder.grading.register.classroom import Classroom
    from autograder.results import Result

SANDBOXES = ("auto", "bubblewrap", "webassembly", "none")  # as autograder.grading.sandbox.CHOICES
FORMS = ("json", "gradescope", "prairielearn", "github")  # as autograder.grading.platforms.replies.FORMS
PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class Commands(click.Group):
    """Commands in the order of a course's life; what a person can mend ends as one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in self.commands if _whole() or name in _STUDENTS]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Complaint as complaint:
            click.echo(printable(f"Error: {complaint}"), err=True)
            sys.exit(complaint.exit_code)
        except KeyboardInterrupt:
            kept = _KEPT.get(ctx.invoked_subcommand or "", "")
            click.echo(f"Stopped. {kept}".strip(), err=True)
            sys.exit(130)
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            remedy = " Give it room; the same command goes on from there." if concerns_disk(error) else ""
            click.echo(printable(f"Error: {place}{error.strerror or error}.{remedy}"), err=True)
            sys.exit(1)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(("autograder.authoring", "autograder.grading")):
                raise click.UsageError(
                    "This command is for instructors: it needs the course's whole repository, "
                    "and this is the students' part of it."
                ) from None
            if (missing := (error.name or "").split(".")[0]) in _extras():
                click.echo(f"Error: This needs {missing}, which is not installed: {INSTALL_ALL}", err=True)
                sys.exit(1)
            raise


def _extras() -> set[str]:
    """The modules that come with the engine's extras, as its own metadata names them."""
    from importlib.metadata import packages_distributions, requires

    texts = [text for name in packages_distributions().get("autograder", ()) for text in requires(name) or ()]
    named = (re.match(r"[\w-]+", text) for text in texts if "extra ==" in text)
    return {name[0].replace("-", "_").lower() for name in named if name}


_STUDENTS = ("start", "lab", "update", "reset", "check")
_KEPT = {  # what somebody should know who ends a command in the middle
    "collect": "What is filed is kept; the same command goes on from there.",
    "grade": "What is marked is kept; the same command goes on from there.",
    "feedback": "The pages made so far are kept; the same command goes on from there.",
    "report": "No mark is changed. A report that was there may be in part the new one: run the command again.",
}


def _whole() -> bool:
    """Whether this is the whole engine and not only the students' part."""
    return (Path(__file__).parent / "grading").is_dir()


def _course(ctx: click.Context, param: click.Parameter, folder: Path | None) -> None:
    if folder is not None:
        os.environ[VARIABLE] = str(folder.resolve())  # for the processes and kernels of this command too


COURSE = click.option(
    "--course",
    type=FOLDER,
    callback=_course,
    expose_value=False,
    help="The course's folder; by default the nearest course.toml at or above this one.",
)
LABS = click.argument("labs", nargs=-1, metavar="[LAB]...")


def CLASS(command: Callable) -> Callable:
    """The options that name a class; the command is given its `Classroom`."""

    @COURSE
    @click.option(
        "--classroom",
        type=FOLDER,
        default=Path("classroom"),
        show_default=True,
        envvar=CLASSROOM,
        show_envvar=True,
        help="The class's folder.",
    )
    @click.option("--db", metavar="URL", help="The gradebook; by default gradebook.db in the class's folder.")
    @wraps(command)
    def of_a_class(classroom: Path, db: str | None, **given: Any) -> None:
        from autograder.grading.register.classroom import Classroom

        command(Classroom(classroom, find(), db), **given)

    return of_a_class


SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(SANDBOXES),
    default="auto",
    show_default=True,
    help="What hand-ins run in; none is NO protection, only for ones you trust.",
)
WORKERS = click.option(
    "--workers", type=click.IntRange(1), help="How many work side by side; by default one a core."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="attention-labs", prog_name="autograder")
def main() -> None:
    """Check your own notebook, or mark a class's."""


@main.command()
@COURSE
@click.argument("folder", type=FOLDER, default=Path("work"))
def start(folder: Path) -> None:
    """Copy the labs into a folder of your own; what is there already stays as it is.

    \b
    Example:  autograder start work
    """
    from autograder.workspace import start as copy_labs

    course = find()
    copied = copy_labs(folder, course)
    said = (
        f"{counted(len(copied), 'lab')} copied to {folder}."
        if copied
        else f"{folder} has all the labs already."
    )
    click.echo(said)
    _say_what_is_older(folder, course)


def _say_what_is_older(folder: Path, course: "Course") -> None:
    from autograder.workspace import older

    for lab, changed in older(folder, course).items():
        click.echo(
            f"{lab}: your copy is older than the course's text, which has changed in {_headings(changed)}. "
            f"`autograder update {folder / lab / lab}.ipynb` takes it over; your answers stay."
        )


def _headings(changed: list[str]) -> str:
    """Where something has changed: three places, and how many more."""
    named = [f"“{heading}”" for heading in changed[:3]]
    return listed([*named, counted(len(changed) - 3, "other place")] if len(changed) > 3 else named)


@main.command(context_settings={"ignore_unknown_options": True})
@COURSE
@click.argument("folder", type=FOLDER, default=Path("work"))
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[JUPYTERLAB'S OPTIONS]...")
def lab(folder: Path, options: Sequence[str]) -> None:
    """Copy labs that are new into FOLDER, and open JupyterLab on it.

    \b
    Example:  autograder lab work --no-browser
    """
    from autograder.workspace import start as copy_labs

    course = find()
    copy_labs(folder, course)
    _say_what_is_older(folder, course)
    try:
        from autograder.jupyter import open_lab
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("autograder"):
            raise
        raise click.UsageError("JupyterLab is not installed here: `make lab` brings it.") from None
    open_lab(folder, course.labs, options)


@main.command()
@COURSE
@click.argument("notebook", type=FILE)
@click.argument("exercise", required=False)
def reset(notebook: Path, exercise: str | None) -> None:
    """Bring a lab, or one EXERCISE of it, back to its first state; your version is kept beside it.

    \b
    Example:  autograder reset work/my-lab/my-lab.ipynb my_exercise
    """
    from autograder.workspace import reset as bring_back

    kept = bring_back(notebook, exercise)
    click.echo(f"{exercise or notebook.stem} is as it was at the start. Your version is kept in {kept}.")


@main.command()
@COURSE
@click.argument("notebook", type=FILE)
def update(notebook: Path) -> None:
    """Take the course's newer text over into your copy of a lab; your answers and your own cells stay.

    Where you and the course have changed the same cell, yours is below it. Your version is kept beside the notebook.

    \b
    Example:  autograder update work/my-lab/my-lab.ipynb
    """
    from autograder.workspace import update as take_over

    changed, kept = take_over(notebook)
    if changed:
        click.echo(f"{notebook.stem}: changed in {_headings(changed)}. Your version is kept in {kept}.")
    else:
        click.echo(f"{notebook.stem} has the course's text of today.")


@main.command()
@COURSE
@click.argument("notebook", type=FILE)
def check(notebook: Path) -> None:
    """Run YOUR OWN lab notebook afresh and print one line an exercise.

    It runs with all your rights: use `show` or `grade` for what others have handed in.
    Exit code 0 if every exercise is right, 1 if not.

    \b
    Example:  autograder check work/my-lab/my-lab.ipynb
    """
    from autograder.selfcheck import check_notebook

    lines = check_notebook(notebook)
    for line in lines:
        click.echo(printable(f"{'✓' if line.passed else '✗'} {line.exercise}: {line.message}"))
    sys.exit(0 if all(line.passed for line in lines) else 1)


@main.group()
def new() -> None:
    """Write the skeleton of a course or of a lab."""


@new.command("course")
@click.argument("folder", type=FOLDER)
def new_course(folder: Path) -> None:
    """Write a course with one small lab into FOLDER; it builds, checks and grades as it stands.

    \b
    Example:  autograder new course statistics
    """
    from autograder.authoring.skeleton import write_course

    write_course(folder)
    click.echo(f"{folder} is a course now. Go there, and run `autograder build`.")


@new.command("lab")
@COURSE
@click.argument("name")
@click.option("--exercise", metavar="NAME", default="", help="What its exercise is called.")
def new_lab(name: str, exercise: str) -> None:
    """Write a lab's skeleton into solutions/NAME, and its line into course.toml.

    \b
    Example:  autograder new lab random-walks --exercise mean_distance
    """
    from autograder.authoring.skeleton import write_lab

    folder = write_lab(find(), name, exercise)
    click.echo(f"{folder} holds the lab's skeleton. Edit it, and run `autograder build {name}`.")


@main.command("import")
@COURSE
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE...")
def import_(files: Sequence[Path]) -> None:
    """Make labs of another grader's source notebooks: nbgrader's, or otter's.

    Runs each with its own solutions to see what its tests ask, and says cell by cell what came over.
    Exit code 0 if everything did, 1 if something is left to do by hand.

    \b
    Example:  autograder import source/ps1/problem1.ipynb --course mine
    """
    from autograder.authoring.importing import bring

    whole = True
    for path in files:
        report = bring(path, find())
        whole = whole and report.whole
        click.echo(printable(report.text()))
        click.echo(f"solutions/{report.lab} holds the lab. Read it, and run `autograder build {report.lab}`.")
    sys.exit(0 if whole else 1)


@main.command()
@COURSE
@LABS
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
@click.option("--anew", is_flag=True, help="Save all pictures and measurements of this run, too.")
def build(labs: Sequence[str], only_check: bool, anew: bool) -> None:
    """Make the students' notebooks and the answer keys from the solutions.

    What a saved picture looks like, and what was measured once, is no drift: after a change to what draws or
    measures it, build that lab with --anew.

    \b
    Example:  autograder build --check
    Example:  autograder build training --anew
    """
    from autograder.authoring.build import build as make
    from autograder.authoring.build import build_pages
    from autograder.authoring.proof import doubts

    chosen = _labs(labs)
    drift = make(chosen, check=only_check, anew=anew) + build_pages(find(), check=only_check)
    _say("Warning", [sentence for lab in chosen for sentence in doubts(lab)])
    for sentence in drift:
        click.echo(f"{'Out of date' if only_check else 'Written'}: {sentence}")
    if not drift:
        click.echo("Everything is as the solutions say.")
    sys.exit(1 if drift and only_check else 0)


@main.command()
@COURSE
@click.option("--output", type=PATH, help="The zip; by default dist/<the course's id>.zip.")
def bundle(output: Path | None) -> None:
    """Make one zip for students: the labs with their checks and all that they need. It holds no solution.

    \b
    Example:  autograder bundle --output statistics.zip
    """
    from autograder.authoring.bundle import write

    zipped = write(find(), output)
    click.echo(f"{zipped}: {zipped.stat().st_size / 1e6:.1f} MB")


@main.command()
@COURSE
@click.option("--output", type=FOLDER, default=Path("dist/web"), show_default=True, help="The site's folder.")
@click.option(
    "--pyodide", metavar="FOLDER|URL", default="", help="Pyodide's distribution; by default JupyterLite's."
)
def web(output: Path, pyodide: str) -> None:
    """Make the labs as a static site: they run in the student's browser, with nothing to install.

    With --pyodide FOLDER the site holds Python, NumPy and Matplotlib itself, for places without a network.

    \b
    Example:  autograder web --output public
    """
    from autograder.authoring.web import write_site

    site = write_site(find(), output, pyodide)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    click.echo(
        f"{site}: {size / 1e6:.0f} MB. Any web server can serve it, such as: python -m http.server -d {site}"
    )


@main.command()
@click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH...")
@CLASS
@click.option("--timezone", metavar="ZONE", help="Of the times in Blackboard's names, such as Europe/Paris.")
@click.option("--file-times", is_flag=True, help="Take the files' own times as when they were handed in.")
@click.option("--pattern", metavar="REGEX", help="For other paths; with a group named student.")
@click.option(
    "--replace",
    "replaces",
    is_flag=True,
    help="Replace what came from another platform, account or self-chosen name.",
)
def collect(place: "Classroom", paths: Sequence[Path], **options: Any) -> None:
    """File hand-ins from folders and downloaded zips into the classroom.

    Knows the names that Canvas, Moodle, Blackboard, Brightspace, Gradescope, Google Classroom and GitHub
    Classroom give, and plain folders; roster.csv in the classroom says who is in the class.
    Exit code 0 if all were filed, 1 if some were refused or match no student or lab.

    \b
    Example:  autograder collect ~/Downloads/submissions.zip
    """
    from rich.console import Console

    from autograder.authoring.lab import labs_by_grade_id, read_labs
    from autograder.grading.intake import collect as file_them

    grade_ids = labs_by_grade_id(read_labs(place.course))
    done = file_them(paths, place.root, place.course.labs, grade_ids=grade_ids, **options)
    if table := done.table():
        Console().print(table)
    click.echo(done.summary)
    sys.exit(done.exit_code)


@main.command()
@LABS
@CLASS
@click.option("--json", "json_file", type=click.Path(), help="Write one JSON object a line; - for stdout.")
@WORKERS
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to send the hand-ins to.")
@click.option(
    "--student", "students", multiple=True, metavar="NAME", help="Only this student's; may be repeated."
)
@click.option("--force", is_flag=True, help="Mark again what has not changed.")
@click.option(
    "--no-follow-through", is_flag=True, help="Give no points for what only an earlier error broke."
)
@SANDBOX
def grade(
    place: "Classroom",
    labs: Sequence[str],
    json_file: str | None,
    workers: int | None,
    scheduler: str | None,
    no_follow_through: bool,
    sandbox: str,
    **which: Any,
) -> None:
    """Mark the hand-ins of a class and write the gradebook.

    Exit code 0 if every hand-in was judged, whatever the marks; 1 if the grader failed on one.

    \b
    Example:  autograder grade my-lab --json results.jsonl
    """
    from concurrent.futures import ThreadPoolExecutor

    from autograder.grading.sandbox.choice import find as find_sandbox
    from autograder.grading.sandbox.choice import why_not_first

    with ThreadPoolExecutor(1) as meanwhile:  # a sandbox that is tried takes as long as reading the labs
        tried = None if scheduler else meanwhile.submit(find_sandbox, sandbox)
        from autograder.grading.run.grade import grade as run_grading
        from autograder.grading.run.pool import Options, cores, find_for
        from autograder.grading.run.progress import progress

        chosen = _labs(labs, place)
    _warn_of(sandbox)
    if tried is not None:
        kind = tried.result()
        find_for(chosen, sandbox)
        if sandbox == "auto" and (why := why_not_first(kind)):
            click.echo(
                f"Hand-ins run in the sandbox {kind.name}, for bubblewrap does not start. {why}", err=True
            )
        sandbox = kind.name
    with progress("marking") as bar, _json_lines(json_file) as put:
        run = run_grading(
            place,
            chosen,
            Options(follow_through=not no_follow_through, sandbox=sandbox),
            workers=workers or cores(),
            scheduler=scheduler,
            put=put,
            progress=bar,
            **which,
        )
    _say("Note", run.notes)
    _say("Fault", run.faults)
    click.echo(
        f"{counted(run.judged, 'hand-in')} marked, {run.kept:,} unchanged, {counted(len(run.faults), 'fault')}.",
        err=True,
    )
    sys.exit(1 if run.faults else 0)


@main.command()
@COURSE
@click.argument("notebook", type=PATH)
@click.option("--lab", metavar="LAB", help="The lab that is due; by default the one whose cells it holds.")
@click.option("--as", "form", type=click.Choice(FORMS), default="json", show_default=True, help="For whom.")
@click.option("--output", type=FILE, help="A file; by default stdout.")
@SANDBOX
def mark(notebook: Path, lab: str | None, form: str, output: Path | None, sandbox: str) -> None:
    """Mark one hand-in, a notebook or the folder it lies in, and say what came of it as JSON.

    No class, no gradebook: it is for platforms that mark each hand-in as it comes.
    Exit code 0 if it was judged, whatever the marks, or cannot be read; 1 if the grader failed.

    \b
    Example:  autograder mark hand-in.ipynb --lab my-lab --as gradescope --output results.json
    """
    from autograder.files import write
    from autograder.grading.platforms.one import mark_one
    from autograder.grading.platforms.replies import FORMS
    from autograder.grading.sandbox.choice import find as find_sandbox

    _warn_of(sandbox)
    outcome = mark_one(find(), notebook, lab, lambda: find_sandbox(sandbox).name)
    _say("Fault", [outcome.fault] if outcome.fault else [])
    reply = f"{FORMS[form](outcome)}\n"
    if output:
        write(output, reply)
    else:
        click.echo(reply, nl=False)
    sys.exit(1 if outcome.fault else 0)


@main.command()
@COURSE
@click.argument("platform", type=click.Choice(FORMS[1:]), metavar="PLATFORM")
@click.argument("labs", nargs=-1, required=True, metavar="LAB...")
@click.option("--output", type=PATH, help="A folder; by default dist/PLATFORM.")
def package(platform: str, labs: Sequence[str], output: Path | None) -> None:
    """Make what has Gradescope, PrairieLearn or GitHub Classroom mark labs. It holds their solutions.

    PLATFORM is gradescope, prairielearn or github. For Gradescope each lab is a zip of its own.

    \b
    Example:  autograder package gradescope my-lab --output my-lab.zip
    """
    from autograder.grading.platforms.package import package as make

    for path in make(platform, find(), labs, output):
        click.echo(f"{path} holds solutions: it is for you and the platform, not for students.")


@main.command()
@CLASS
@click.argument("student")
@click.argument("labs", nargs=-1, metavar="[LAB]...")
def show(place: "Classroom", student: str, labs: Sequence[str]) -> None:
    """One student's verdicts, messages and marks, in the terminal. Nothing is run.

    \b
    Example:  autograder show ada
    """
    from autograder.grading.reports.show import describe_student

    click.echo(describe_student(place, student, _labs(labs, place)))


@main.command()
@CLASS
@click.argument("lab")
@click.argument("question")
@click.option("--anonymous", is_flag=True, help="Pseudonyms in place of names.")
@click.option(
    "--take",
    "sheets",
    multiple=True,
    type=PATH,
    metavar="SHEET",
    help="Take the marks and comments of a filled-in sheet; may be repeated.",
)
def answers(place: "Classroom", lab: str, question: str, anonymous: bool, sheets: Sequence[Path]) -> None:
    """One sheet to mark a question across the class: a page to read, a table to fill in. And back.

    All of the sheets that are taken in are, or nothing is.

    \b
    Example:  autograder answers my-lab explain --take classroom/answers/my-lab/explain.csv
    """
    from autograder.grading.reports.answers import read_question, take_in, write_sheet
    from autograder.grading.run.pool import cores

    (chosen,) = _labs([lab], place)
    if sheets:
        click.echo(take_in(place, chosen, question, sheets))
        return
    asked = read_question(place, chosen, question, anonymous=anonymous)
    kept = write_sheet(asked, workers=cores())
    click.echo(f"{asked.page}\n{asked.sheet}")
    left = f"; {counted(asked.blank, 'hand-in')} left it as it was handed out" if asked.blank else ""
    click.echo(f"{counted(len(asked.answers), 'answer')}, {asked.waiting} without a mark{left}.", err=True)
    if kept:
        click.echo(f"The sheet that was there has marks that are not taken in; it is {kept} now.", err=True)


@main.command()
@LABS
@CLASS
@WORKERS
@click.option("--force", is_flag=True, help="Make pages again that have not changed.")
@click.option(
    "--give-back",
    is_flag=True,
    help="Also the pages in the forms that Moodle and Canvas take, and a folder for the rest.",
)
def feedback(
    place: "Classroom", labs: Sequence[str], workers: int | None, force: bool, give_back: bool
) -> None:
    """Make each student's feedback page from the graded hand-ins.

    \b
    Example:  autograder feedback my-lab --give-back
    """
    from autograder.grading.reports.feedback import write_feedback
    from autograder.grading.reports.term import write_pages
    from autograder.grading.run.progress import progress

    chosen = _labs(labs, place)
    with progress("feedback") as bar:
        pages = write_feedback(place, labs=chosen, force=force, workers=workers, progress=bar)
    click.echo(
        f"{counted(pages.made, 'page')} made, {pages.kept:,} unchanged, in {place.feedback}.", err=True
    )
    if terms := write_pages(place):
        click.echo(
            f"{counted(terms, 'page')} of the term so far, term.html in each student's folder.", err=True
        )
    if give_back:
        from autograder.grading.reports.giving_back import write_returns

        for line in write_returns(place, chosen, pages.failed):
            click.echo(line)
    _say("Failed", pages.failed)
    sys.exit(1 if pages.failed else 0)


@main.command()
@CLASS
@click.option("--anonymous", is_flag=True, help="Pseudonyms in place of names, in every file of the report.")
@click.option(
    "--for",
    "platforms",
    multiple=True,
    metavar="PLATFORM",
    help="A table for this one too: Canvas, Moodle, Blackboard, Brightspace or Gradescope.",
)
def report(place: "Classroom", anonymous: bool, platforms: Sequence[str]) -> None:
    """Write the class in one page: marks, misconceptions, who to talk to; and the marks as CSV.

    Beside grades.csv there is a table for each learning platform that hand-ins came from.

    \b
    Example:  autograder report --for Canvas
    """
    from autograder.grading.reports.page import write_report
    from autograder.grading.reports.tables import PLATFORMS

    place.must_exist()
    known = {name.casefold(): name for name in PLATFORMS}
    for name in platforms:
        if name.casefold() not in known:
            raise Usage(f"There is no platform {name!r}; those with a table are {listed(PLATFORMS)}.")
    wanted = [known[name.casefold()] for name in platforms]
    sentences = write_report(place, anonymous=anonymous, platforms=wanted)
    click.echo(place.report / "index.html")
    for sentence in sentences:
        click.echo(sentence, err=True)


def _say(what: str, sentences: Iterable[str]) -> None:
    """Sentences beside a command's output, each in a line."""
    for sentence in sentences:
        click.echo(printable(f"{what}: {sentence}"), err=True)


def _warn_of(sandbox: str) -> None:
    if sandbox == "none":
        click.secho(
            "NO SANDBOX: the hand-ins can read and change every file that you can, and use the network.",
            fg="red",
            bold=True,
            err=True,
        )


def _labs(asked: Sequence[str], place: "Classroom | None" = None) -> "list[Lab]":
    """The labs named, or all that can be had here; a wrong name ends the command.

    Of a class, which is to be there, those that were handed in: only they are worth a word where they cannot be had.
    """
    from autograder.authoring.lab import read_labs

    course = find()
    for name in asked:
        course.with_lab(name)
    if place:
        place.must_exist()
        here = {lab for _, lab in place.handed_in(list(course.labs))}
        labs = read_labs(course, asked or [name for name in course.labs if name in here])
    else:
        labs = read_labs(course)
    chosen = []
    for name in asked or labs:
        why = labs[name].why_unavailable()
        if why and asked:
            raise Complaint(f"{name} cannot be done here. {why}")
        if why:
            click.echo(f"Left out: {name}. {why}", err=True)
        else:
            chosen.append(labs[name])
    return chosen


@contextmanager
def _json_lines(target: str | None) -> "Iterator[Callable[[Result], None]]":
    """Where result rows go as they become known: a file, stdout, or nowhere."""
    if target is None:
        yield lambda row: None
        return
    try:
        file = sys.stdout if target == "-" else open(target, "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}.") from None
    begun = target == "-"

    def put(row: "Result | None") -> None:
        nonlocal begun
        try:
            if not begun:  # what an earlier run wrote stays until this one has something to say
                if os.path.isfile(target):
                    file.truncate(0)
                begun = True
            if row is not None:
                print(row.to_json(), file=file, flush=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, target) from None

    try:
        yield put
        put(None)
    finally:
        if target != "-":
            file.close()


if __name__ == "__main__":
    main()
