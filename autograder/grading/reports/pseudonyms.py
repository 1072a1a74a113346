"""Names that stand for students: always the same ones in a classroom, and in no order that tells who is who."""

import csv
import io
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from autograder.files import write
from autograder.grading.reports.tables import harmless


def pseudonyms(students: Iterable[str], folder: Path) -> dict[str, str]:
    """A pseudonym for each student, such as "student-017".

    Parameters
    ----------
    students : iterable of str
    folder : Path
        The classroom; the list, which is not to be given away, is kept there as `pseudonyms.csv`.
    """
    path = folder / "pseudonyms.csv"
    try:
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))[1:]
    except OSError:
        rows = []
    listed = {row[1]: row[0] for row in rows if len(row) == 2}
    everybody = sorted(set(students))
    new = [cell for cell in map(_cell, everybody) if cell not in listed]
    # Among twice as many numbers as are needed: who comes last to the class has not the last of them.
    free = {f"student-{n:03}" for n in range(1, 2 * (len(listed) + len(new)) + 1)} - set(listed.values())
    listed |= zip(new, secrets.SystemRandom().sample(sorted(free), len(new)))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [("pseudonym", "student_id"), *sorted((name, cell) for cell, name in listed.items())]
    )
    write(path, text.getvalue(), mode=0o600)
    os.chmod(path, 0o600)
    return {student: listed[_cell(student)] for student in everybody}


def _cell(student: str) -> str:
    """A student as the list names them: no spreadsheet reads a name such as "=1+1" as a formula."""
    safe = str(harmless(student))
    return f"'{student}" if safe == student else safe
