"""Assign pseudonyms to students for anonymous reports; a student keeps the same one for ever."""

import csv
import io
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from autograder.core.errors import AutograderError
from autograder.core.files import write_file
from autograder.reports.platform_csv import escape_formula


def assign_pseudonyms(students: Iterable[str], classroom_folder: Path) -> dict[str, str]:
    """Return a pseudonym for each student, such as "student-017".

    The file `pseudonyms.csv` in the classroom's folder lists all pseudonyms, and must be kept
    secret. New pseudonyms are added to it.
    """
    path = classroom_folder / "pseudonyms.csv"
    try:
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8"))))[1:]
    except FileNotFoundError:
        rows = []
    except (OSError, UnicodeDecodeError) as error:
        # Without the list, all students would get new pseudonyms, and it would be overwritten.
        reason = "it is not a text in UTF-8"
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
        raise AutograderError(
            f"{path} cannot be read: {reason}. Restore it, or delete it to give everybody a new pseudonym."
        ) from None
    pseudonym_by_student_id = {row[1]: row[0] for row in rows if len(row) == 2}
    all_students = sorted(set(students))
    new_cells = []
    for student in all_students:
        cell = _student_cell(student)
        if cell not in pseudonym_by_student_id:
            new_cells.append(cell)
    # Draw from twice as many numbers as there are students. Otherwise students who join later
    # would get the highest numbers, and could be recognised by them.
    number_count = 2 * (len(pseudonym_by_student_id) + len(new_cells))
    pseudonyms = {f"student-{number:03}" for number in range(1, number_count + 1)}
    unused_pseudonyms = sorted(pseudonyms - set(pseudonym_by_student_id.values()))
    new_pseudonyms = secrets.SystemRandom().sample(unused_pseudonyms, len(new_cells))
    pseudonym_by_student_id |= zip(new_cells, new_pseudonyms, strict=True)
    _write_pseudonym_list(path, pseudonym_by_student_id)
    return {student: pseudonym_by_student_id[_student_cell(student)] for student in all_students}


def _write_pseudonym_list(path: Path, pseudonym_by_student_id: dict[str, str]) -> None:
    """Write pseudonyms.csv, which only its owner can read, sorted by pseudonym."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("pseudonym", "student_id"))
    writer.writerows(
        sorted((pseudonym, cell) for cell, pseudonym in pseudonym_by_student_id.items())
    )
    write_file(path, text.getvalue(), mode=0o600)
    os.chmod(path, 0o600)


def _student_cell(student: str) -> str:
    """Return a student's name for pseudonyms.csv, made harmless if it looks like a formula."""
    escaped_cell = str(escape_formula(student))
    return f"'{student}" if escaped_cell == student else escaped_cell
