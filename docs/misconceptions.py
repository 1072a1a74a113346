"""Write docs/misconceptions.md, the catalogue of mistakes, from the labs' definitions.

python docs/misconceptions.py [--check]      with --check nothing is written; exit 1 if the page is stale
"""

import sys
from pathlib import Path

from autograder.authoring.lab import read_labs
from autograder.course import read

PAGE = Path(__file__).with_suffix(".md")
COURSE = Path(__file__).resolve().parents[1]

_HEAD = """\
# The catalogue of mistakes

Made by `python docs/misconceptions.py` from `solutions/`; do not edit it by hand. Each row is a wrong
implementation that the check, the grader and the class report know by its name, with the sentence that it
earns. `tests/test_misconceptions.py` and `tests/test_keras.py` show that each is rejected under its own name,
in the visible cases and in fresh ones.

{count} mistakes in {exercises} exercises.
"""


def page() -> str:
    """The page as the definitions have it now."""
    found = {name: list(lab.exercises.values()) for name, lab in read_labs(read(COURSE)).items()}
    everything = [exercise for lab in found.values() for exercise in lab]
    count = sum(len(exercise.misconceptions) for exercise in everything)
    parts = [_HEAD.format(count=count, exercises=len(everything))]
    for lab, listed in found.items():
        parts.append(f"## {lab}\n")
        for exercise in listed:
            rows = [f"| `{m.name}` | {_cell(m.means)} | {_cell(m.nudge)} |" for m in exercise.misconceptions]
            parts.append(
                f"### `{exercise.name}` ({len(rows)})\n\n"
                "| name | what the student is told | the nudge |\n|---|---|---|\n" + "\n".join(rows) + "\n"
            )
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> int:
    fresh = page()
    if "--check" in sys.argv[1:]:
        stale = not PAGE.is_file() or PAGE.read_text("utf-8") != fresh
        print("docs/misconceptions.md is stale; run python docs/misconceptions.py." if stale else "As it is.")
        return int(stale)
    PAGE.write_text(fresh, "utf-8")
    print(f"{PAGE.name}: {len(fresh.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
