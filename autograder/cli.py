"""The command line. Each command is a few lines that call the module which does the work."""

import sys
from pathlib import Path

import click

CLASSROOM = click.option(
    "--classroom",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("classroom"),
    show_default=True,
    help="The class's folder.",
)


class _Commands(click.Group):
    """Commands in the order of a course's life; instructors' ones need the whole repository."""

    def list_commands(self, ctx):
        return list(self.commands)

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(("autograder.labs", "autograder.grading")):
                raise click.UsageError(
                    "This command is for instructors: it needs the course's whole repository, "
                    "and this is the students' part of it."
                ) from None
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="attention-labs", prog_name="autograder")
def main():
    """Attention Labs: check your own notebook, or mark a class's."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("work"))
def start(folder):
    """Copy the labs into a folder of your own; what is there already stays as it is.

    \b
    Example:  autograder start work
    """
    from autograder.workspace import start as copy_labs

    copied = copy_labs(folder)
    click.echo(f"{len(copied)} labs copied to {folder}." if copied else f"{folder} has all the labs already.")


@main.command()
@click.argument("notebook", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("exercise", required=False)
def reset(notebook, exercise):
    """Bring a lab, or one EXERCISE of it, back to its first state; your version is kept beside it.

    \b
    Example:  autograder reset work/qkv-attention/qkv-attention.ipynb softmax
    """
    from autograder.workspace import WorkspaceError
    from autograder.workspace import reset as bring_back

    try:
        kept = bring_back(notebook, exercise)
    except WorkspaceError as error:
        raise click.UsageError(str(error)) from None
    click.echo(f"{exercise or notebook.stem} is as it was at the start. Your version is kept in {kept}.")


@main.command()
@click.argument("notebook", type=click.Path(path_type=Path, dir_okay=False))
def check(notebook):
    """Run a lab notebook afresh and print one line an exercise.

    Exit code 0 if every exercise is right, 1 if not.

    \b
    Example:  autograder check work/qkv-attention/qkv-attention.ipynb
    """
    from autograder.selfcheck import NotebookError, check_notebook

    try:
        lines = check_notebook(notebook)
    except NotebookError as error:
        raise click.UsageError(str(error)) from None
    for line in lines:
        click.echo(f"{'✓' if line.passed else '✗'} {line.exercise}: {line.message}")
    sys.exit(0 if all(line.passed for line in lines) else 1)


@main.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit 1 if a file would change.")
def build(labs, only_check):
    """Make the students' notebooks and the answer keys from the solutions.

    \b
    Example:  autograder build --check
    """
    from autograder.labs.build import BuildError, available
    from autograder.labs.build import build as make

    try:
        drift = make(_labs(labs, available()), check=only_check)
    except BuildError as error:
        raise click.ClickException(str(error)) from None
    for sentence in drift:
        click.echo(f"{'Drift' if only_check else 'Written'}: {sentence}")
    if not drift:
        click.echo("Everything is as the solutions say.")
    sys.exit(1 if drift and only_check else 0)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@CLASSROOM
@click.option("--timezone", metavar="ZONE", help="Of the times in Blackboard's names, such as Europe/Paris.")
@click.option("--file-times", is_flag=True, help="Take the files' own times as when they were handed in.")
def collect(paths, classroom, timezone, file_times):
    """File hand-ins from folders and downloaded zips into the classroom.

    Knows the names that Canvas, Moodle, Blackboard and GitHub Classroom give, and plain folders.
    Exit code 0 if all were filed, 1 if some were refused or match no student or lab.

    \b
    Example:  autograder collect ~/Downloads/submissions.zip
    """
    from rich.console import Console

    from autograder.grading.classroom import Classroom
    from autograder.grading.collect import CollectError
    from autograder.grading.collect import collect as file_them
    from autograder.labs import LABS

    try:
        report = file_them(paths, Classroom(classroom), labs=LABS, timezone=timezone, file_times=file_times)
    except CollectError as error:
        raise click.UsageError(str(error)) from None
    Console().print(report.table())
    click.echo(report.summary)
    sys.exit(report.exit_code)


@main.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@CLASSROOM
@click.option("--json", "json_file", type=click.Path(), help="Write one JSON object a line; - for stdout.")
@click.option("--workers", type=click.IntRange(1), help="Hand-ins side by side; by default one a core.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to send the hand-ins to.")
@click.option("--force", is_flag=True, help="Mark again what has not changed.")
@click.option("--db", metavar="URL", help="The gradebook; by default gradebook.db in the class's folder.")
@click.option(
    "--no-follow-through", is_flag=True, help="Give no points for what only an earlier error broke."
)
@click.option("--no-sandbox", is_flag=True, help="Run hand-ins WITHOUT protection: only for ones you trust.")
def grade(labs, classroom, json_file, workers, scheduler, force, db, no_follow_through, no_sandbox):
    """Mark the hand-ins of a class and write the gradebook.

    Exit code 0 if every hand-in was judged, whatever the marks; 1 if the grader failed on one.

    \b
    Example:  autograder grade qkv-attention --json results.jsonl
    """
    from autograder.grading.classroom import Classroom, GradingError
    from autograder.grading.grade import Run
    from autograder.grading.grade import grade as run_grading
    from autograder.grading.pool import Options, cores
    from autograder.labs.build import available

    labs = _labs(labs, available())
    if no_sandbox:
        click.secho(
            "NO SANDBOX: the hand-ins can read and change every file that you can, and use the network.",
            fg="red",
            bold=True,
            err=True,
        )
    elif not scheduler:
        from autograder.grading.sandbox import available as sandbox_missing

        why = sandbox_missing()
        if why:
            raise click.ClickException(why)
    place = Classroom(classroom)
    if not place.submitted.is_dir():
        raise click.UsageError(
            f"There is no folder {place.submitted}; put the hand-ins there as <student>/<lab>/<lab>.ipynb, "
            "or use `autograder collect`."
        )
    summary = None
    with _progress() as (started, finished), _json_lines(json_file) as put:
        try:
            for item in run_grading(
                place,
                labs,
                Options(follow_through=not no_follow_through, sandboxed=not no_sandbox),
                workers=workers or cores(),
                scheduler=scheduler,
                force=force,
                db_url=db,
                started=started,
                finished=finished,
            ):
                if isinstance(item, Run):
                    summary = item
                else:
                    put(item)
        except GradingError as error:
            raise click.ClickException(str(error)) from None
        except KeyboardInterrupt:
            click.echo("Stopped. What is marked is kept; the same command goes on from there.", err=True)
            sys.exit(130)
    for note in summary.notes:
        click.echo(f"Note: {note}", err=True)
    for fault in summary.faults:
        click.echo(f"Fault: {fault}", err=True)
    click.echo(
        f"{summary.judged} hand-ins marked, {summary.kept} unchanged, {len(summary.faults)} faults.", err=True
    )
    sys.exit(1 if summary.faults else 0)


@main.command()
@click.argument("labs", nargs=-1, metavar="[LAB]...")
@CLASSROOM
@click.option("--db", metavar="URL", help="The gradebook; by default gradebook.db in the class's folder.")
@click.option("--workers", type=click.IntRange(1), help="Pages made side by side; by default one a core.")
@click.option("--force", is_flag=True, help="Make pages again that have not changed.")
def feedback(labs, classroom, db, workers, force):
    """Make each student's feedback page from the graded hand-ins.

    \b
    Example:  autograder feedback qkv-attention
    """
    from autograder.grading.classroom import Classroom, GradingError
    from autograder.grading.feedback_pages import write_feedback
    from autograder.labs.build import available

    labs = _labs(labs, available())
    try:
        with _progress("feedback") as (started, finished):
            pages = write_feedback(
                Classroom(classroom),
                labs=labs,
                db_url=db,
                force=force,
                workers=workers,
                started=started,
                finished=finished,
            )
    except GradingError as error:
        raise click.ClickException(str(error)) from None
    for failure in pages.failed:
        click.echo(f"Failed: {failure}", err=True)
    click.echo(f"{pages.made} pages made, {pages.kept} unchanged, in {classroom}/feedback.", err=True)
    sys.exit(1 if pages.failed else 0)


@main.command()
@CLASSROOM
@click.option("--db", metavar="URL", help="The gradebook; by default gradebook.db in the class's folder.")
@click.option("--anonymous", is_flag=True, help="Pseudonyms in place of names, in every file of the report.")
def report(classroom, db, anonymous):
    """Write the class in one page: marks, misconceptions, who to talk to; and the marks as CSV.

    \b
    Example:  autograder report --anonymous
    """
    from autograder.grading.classroom import Classroom, GradingError
    from autograder.grading.report import write_report

    try:
        page = write_report(Classroom(classroom), anonymous=anonymous, db_url=db)
    except GradingError as error:
        raise click.ClickException(str(error)) from None
    click.echo(page)


@main.command()
@click.option(
    "--import",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Take the original lab's four files from this folder instead.",
)
def data(folder):
    """Fetch the real word vectors that the original lab used, in place of the shipped ones.

    \b
    Example:  autograder data
    """
    from autograder.download import DataError, fetch, import_original

    try:
        notes = import_original(folder) if folder else fetch()
    except DataError as error:
        raise click.ClickException(str(error)) from None
    for note in notes:
        click.echo(note)


def _labs(asked, known):
    """The labs named, or all that can be had here; a wrong name ends the command."""
    from autograder.labs import LABS, unavailable

    for lab in asked:
        if lab not in LABS:
            raise click.UsageError(f"There is no lab {lab!r}; the labs are {', '.join(LABS)}.")
        if unavailable(lab):
            raise click.UsageError(f"{lab} cannot be done here. {unavailable(lab)}")
    for lab in LABS:
        if not asked and unavailable(lab):
            click.echo(f"Left out: {lab}. {unavailable(lab)}", err=True)
    return list(asked) or list(known)


class _progress:
    """A progress bar on stderr with rate and remaining time; silent where nobody watches."""

    def __init__(self, title="marking"):
        self._title = title

    def __enter__(self):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn(self._title),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar.start()
        self._task = None
        return self._started, self._finished

    def _started(self, total):
        self._task = self._bar.add_task(self._title, total=total, rate="")

    def _finished(self):
        task = self._bar.tasks[self._task]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        self._bar.update(self._task, advance=1, rate=rate)

    def __exit__(self, *_):
        self._bar.stop()


class _json_lines:
    """Where result rows go: a file written whole or not at all, stdout, or nowhere."""

    def __init__(self, target):
        self._target = target

    def __enter__(self):
        self._file = None
        if self._target == "-":
            self._file = sys.stdout
        elif self._target:
            self._path = Path(self._target)
            self._beside = self._path.with_name(f".{self._path.name}.part")
            try:
                self._file = self._beside.open("w", encoding="utf-8")
            except OSError as error:
                raise click.UsageError(f"{self._target} cannot be written: {error.strerror}.") from None
        return self._put

    def _put(self, row):
        if self._file:
            print(row.to_json(), file=self._file, flush=True)

    def __exit__(self, kind, *_):
        if self._file and self._file is not sys.stdout:
            self._file.close()
            if kind is None:
                self._beside.replace(self._path)
            else:
                self._beside.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
