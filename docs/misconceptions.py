"""Write docs/misconceptions/, a page of misconceptions for each lab, from the labs' definitions.

python docs/misconceptions.py [--check]      with --check nothing is written; exit 1 if a page is stale
"""

import sys
from pathlib import Path

from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import Lab, read_labs
from autograder.core.course import read_course

FOLDER = Path(__file__).with_suffix("")
COURSE = Path(__file__).resolve().parents[1]

_INDEX = """\
# The misconceptions

Made by `python docs/misconceptions.py` from `solutions/`; do not edit these pages by hand. A misconception is a mistake
that students really make, written as a wrong implementation. The check, the grader and the class report know it by its
name. `tests/labs/test_misconceptions.py` and `tests/labs/test_keras.py` show that each one is rejected under its own name,
in the visible cases and in hidden ones. An answer with two mistakes is named as well, if both are slips of one list.

{count} misconceptions in {exercises} exercises:

| lab | exercises | misconceptions |
|---|---|---|
"""

_TABLE = "| name | what the student reads | the nudge |\n|---|---|---|\n"


def make_pages() -> dict[str, str]:
    """Return the text of each page by its file name, as the definitions are now."""
    labs = read_labs(read_course(COURSE))
    pages = {f"{name}.md": _lab_page(lab) for name, lab in labs.items()}
    rows = []
    for name, lab in labs.items():
        count = _count_misconceptions(lab)
        exercises = ", ".join(f"`{exercise}`" for exercise in lab.exercises)
        rows.append(f"| [{name}]({name}.md) | {exercises} | {count} |\n")
    total = sum(_count_misconceptions(lab) for lab in labs.values())
    number = sum(len(lab.exercises) for lab in labs.values())
    pages["README.md"] = _INDEX.format(count=total, exercises=number) + "".join(rows)
    return pages


def _lab_page(lab: Lab) -> str:
    """Return the page of one lab: a table for each exercise."""
    sections = [_section(exercise) for exercise in lab.exercises.values()]
    return f"# Misconceptions in `{lab.name}`\n\n[All labs](README.md)\n\n" + "\n".join(sections)


def _section(exercise: Exercise) -> str:
    """Return the heading and the table of one exercise."""
    rows = []
    for misconception in exercise.misconceptions:
        means, nudge = _escape_cell(misconception.means), _escape_cell(misconception.nudge)
        rows.append(f"| `{misconception.name}` | {means} | {nudge} |\n")
    return f"## `{exercise.name}` ({len(rows)})\n\n{_TABLE}{''.join(rows)}"


def _count_misconceptions(lab: Lab) -> int:
    """Return the number of misconceptions of all exercises of a lab."""
    return sum(len(exercise.misconceptions) for exercise in lab.exercises.values())


def _escape_cell(text: str) -> str:
    """Return the text as one cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def find_stale_pages(pages: dict[str, str]) -> list[str]:
    """Return the names of pages that are missing, differ from the definitions, or belong to no lab."""
    existing = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    return sorted(name for name in {*pages, *existing} if pages.get(name) != existing.get(name))


def main() -> int:
    pages = make_pages()
    stale = find_stale_pages(pages)
    if "--check" in sys.argv[1:]:
        if stale:
            print(
                f"docs/misconceptions is stale ({', '.join(stale)}); run python docs/misconceptions.py."
            )
            return 1
        print("docs/misconceptions is up to date.")
        return 0
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in pages:
            (FOLDER / name).write_text(pages[name], "utf-8")
        else:
            (FOLDER / name).unlink()
    print(f"docs/misconceptions: {len(pages)} pages, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
