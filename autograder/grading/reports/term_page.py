"""A page a student: the term so far, lab by lab, and how it is worked out."""

from datetime import UTC, datetime
from urllib.parse import quote

from autograder.authoring.lab import read_labs
from autograder.files import write
from autograder.grading.register.classroom import Classroom
from autograder.grading.reports.marks import class_today, full_name
from autograder.grading.reports.page import environment
from autograder.grading.reports.term import hundredths, read_rules, terms_of


def write_pages(classroom: Classroom, now: datetime | None = None) -> int:
    """Write `feedback/<student>/term.html` for everybody in the class; gives how many, 0 where there are no rules.

    Raises
    ------
    Complaint
        If course.toml, the roster or the gradebook cannot be used.
    """
    rules = read_rules(classroom.course)
    if rules is None:
        return 0
    marks = class_today(classroom, read_labs(classroom.course))
    terms = terms_of(rules, marks, now)
    page = environment().get_template("term.html")
    written = 0
    for person in marks.present:
        folder = classroom.feedback / person.student
        text = page.render(
            course=classroom.course.title,
            name=full_name(person),
            student=person.student,
            term=terms.of[person.student],
            rules=rules,
            percent=hundredths,
            pages={
                lab: f"{quote(lab)}/{quote(lab)}.html"
                for lab in rules.weights
                if (folder / lab / f"{lab}.html").is_file()
            },
            now=marks.policy.local(now or datetime.now(UTC)),
        )
        write(classroom.term_path(person.student), text.encode("utf-8", "replace"))
        written += 1
    return written
