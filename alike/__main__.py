"""The command: a page of the pairs of a class."""

from pathlib import Path

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from alike.pairs import pairs_of
from autograder.cli import CLASS, Commands
from autograder.course import find
from autograder.errors import counted
from autograder.files import write
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.roll import read_roll
from autograder.grading.reports.marks import read_marks, shown_name


@click.group(cls=Commands, invoke_without_command=True)
@CLASS
def main(classroom: Path, db: str | None) -> None:
    """Write report/alike.html: pairs of hand-ins that share more than the lab and chance explain.

    \b
    Example:  python -m alike --classroom classroom
    """
    place = Classroom(classroom, find(), db)
    place.must_exist()
    path = place.report / "alike.html"
    click.echo(f"{path}: {counted(write_page(place, path), 'pair')} worth a look.")


def write_page(classroom: Classroom, path: Path) -> int:
    """Write the page; gives the number of pairs."""
    roll = read_roll(classroom)
    people = read_marks(classroom, roll=roll).students
    found = pairs_of(classroom, roll)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["share"] = lambda part: "–" if part is None else f"{100 * part:.0f} %"
    page = environment.get_template("page.html").render(
        course=classroom.course.title,
        found=found,
        who=lambda student: shown_name(people[student]) if student in people else student,
    )
    write(path, page.encode("utf-8", "replace"))
    return len(found.pairs)


if __name__ == "__main__":
    main(prog_name="python -m alike")
