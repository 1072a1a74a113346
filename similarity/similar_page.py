"""Write the page of a class's similar submissions, `report/similar.html`."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from autograder.core.files import write_file
from autograder.gradebook.class_list import read_class_list
from autograder.gradebook.classroom import Classroom
from autograder.reports.marks import display_name, read_marks
from similarity.pairs import find_class_pairs


def write_page(classroom: Classroom, path: Path) -> int:
    """Write the page of similar submissions to `path`, and return the number of pairs on it."""
    class_list = read_class_list(classroom)
    people = read_marks(classroom, class_list=class_list).students
    report = find_class_pairs(classroom, class_list)

    def format_name(student: str) -> str:
        return display_name(people[student]) if student in people else student

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["percent"] = _format_percent
    page = environment.get_template("page.html").render(
        course=classroom.course.title, report=report, format_name=format_name
    )
    write_file(path, page.encode("utf-8", "replace"))
    return len(report.pairs)


def _format_percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
