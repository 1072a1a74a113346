"""Commands for a course's author: new courses and labs, notebooks, answer keys, the zip."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from autograder.cli.group import main
from autograder.cli.options import (
    COURSE_OPTION,
    FOLDER_TYPE,
    LABS_ARGUMENT,
    PATH_TYPE,
    choose_labs,
    print_lines,
)
from autograder.core.course import find_course
from autograder.core.errors import AutograderError


@main.group()
def new() -> None:
    """Write the skeleton of a course, a lab or an exercise."""


@new.command("course")
@click.argument("folder", type=FOLDER_TYPE)
def new_course(folder: Path) -> None:
    """Write a course with one small lab into FOLDER; it builds, checks and grades as it stands.

    \b
    Example:  autograder new course statistics
    """
    from autograder.authoring.skeleton import write_course

    write_course(folder)
    click.echo(f"{folder} is a course now. Go there, and run `autograder build`.")


@new.command("lab")
@COURSE_OPTION
@click.argument("name")
@click.option(
    "--exercise",
    "exercises",
    metavar="NAME",
    multiple=True,
    help="An exercise; repeat it for several.",
)
def new_lab(name: str, exercises: Sequence[str]) -> None:
    """Write a lab's skeleton into solutions/NAME, and its line into course.toml.

    \b
    Example:  autograder new lab random-walks --exercise mean_distance --exercise step
    """
    from autograder.authoring.skeleton import write_lab

    folder = write_lab(find_course(), name, exercises)
    click.echo(f"{folder} holds the lab's skeleton. Edit it, and run `autograder build {name}`.")


@new.command("exercise")
@COURSE_OPTION
@click.argument("lab")
@click.argument("name")
def new_exercise(lab: str, name: str) -> None:
    """Add an exercise to LAB: the file NAME.py, and its cells in the lab's solution notebook.

    \b
    Example:  autograder new exercise random-walks mean_distance
    """
    from autograder.authoring.skeleton import add_exercise

    path = add_exercise(find_course(), lab, name)
    click.echo(
        f"{path} and the last cells of {lab}.ipynb hold the exercise's skeleton. "
        f"Edit them, and run `autograder build {lab}`."
    )


@main.command()
@COURSE_OPTION
@LABS_ARGUMENT
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Write nothing; exit 1 if a file would change.",
)
@click.option("--anew", is_flag=True, help="Save all pictures and measurements of this run, too.")
def build(labs: Sequence[str], only_check: bool, anew: bool) -> None:
    """Make the students' notebooks and the answer keys from the solutions.

    Differences in pictures and measurements alone do not change a file: after a change to the code
    that draws or measures, build that lab with --anew.

    \b
    Example:  autograder build --check
    Example:  autograder build training --anew
    """
    from autograder.authoring.build import BuildError, build_labs, build_page_notebooks
    from autograder.authoring.lab import describe_unlisted_labs
    from autograder.authoring.verify import find_lab_warnings
    from autograder.platforms.solution_check import describe_solutions_without_full_score

    drift, problems = [], []
    for lab in choose_labs(labs):
        try:
            drift += build_labs([lab], check=only_check, refresh_outputs=anew)
            if not only_check:
                problems += describe_solutions_without_full_score(lab)
        except AutograderError as error:
            problems.append(str(error))  # build the other labs all the same
        else:
            print_lines("Warning", find_lab_warnings(lab))
    print_lines("Warning", describe_unlisted_labs(find_course()))
    drift += build_page_notebooks(find_course(), check=only_check)
    label = "Out of date" if only_check else "Written"
    for sentence in drift:
        click.echo(f"{label}: {sentence}")
    if problems:
        raise BuildError("\n".join(problems))
    if not drift:
        click.echo("Everything is as the solutions say.")
    sys.exit(1 if drift and only_check else 0)


@main.command()
@COURSE_OPTION
@click.option("--output", type=PATH_TYPE, help="The zip; by default dist/<the course's id>.zip.")
def bundle(output: Path | None) -> None:
    """Make one zip for students: the labs with their checks and all that they need, no solutions.

    \b
    Example:  autograder bundle --output statistics.zip
    """
    from autograder.authoring.bundle import write_students_zip

    archive = write_students_zip(find_course(), output)
    click.echo(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")
