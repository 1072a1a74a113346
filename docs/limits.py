"""Write docs/limits.md, the list of all limits, from the constants and the limit classes of the code.

python docs/limits.py [--check]      with --check nothing is written; exit 1 if the page is stale
"""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_suffix(".md")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

_HEAD = """\
# Limits

Made by `python docs/limits.py` from the code; do not edit it by hand. Whatever touches a stranger's file or answer has a
limit of time, of memory and of size. A constant `MAX_…` has its unit in its name or counts what its name says. A lab can set
the limits of `RunLimits` under `[limits]` in its `lab.toml` ([how](new-lab.md#the-other-limits-of-a-lab)).
"""
_TITLES = {
    "autograder/values": "One answer and its values",
    "autograder/judging": "Judging an answer",
    "autograder/diagnosis": "Explaining a wrong answer",
    "autograder/student": "The student's check",
    "autograder/authoring": "Building a lab",
    "autograder/sandbox": "The sandbox",
    "autograder/intake": "Collecting submissions",
    "autograder/gradebook": "The gradebook",
    "autograder/grading": "Grading a submission",
    "autograder/reports": "Pages and tables",
    "autograder/platforms": "Replies to platforms",
    "autograder/core": "Files and texts",
    "course_import": "Importing a notebook",
    "course_site": "The static site",
    "similarity": "Comparing submissions",
}
_NAME = re.compile(r"_?MAX_[A-Z_0-9]+")


@dataclass(frozen=True)
class Limit:
    """One limit: its name, value, and the comment on its line."""

    name: str
    value: Any
    comment: str


def find_limits(path: Path) -> Iterator[Limit]:
    """Yield the constants `MAX_…` of a module and the fields of its classes `…Limits`."""
    source = path.read_text("utf-8")
    if "MAX_" not in source and "Limits" not in source:
        return  # to parse all modules takes a second
    lines = source.splitlines()
    module = None
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Limits"):
            module = module or _import_module(path)
            defaults = getattr(module, node.name)()
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    name = item.target.id
                    yield Limit(
                        f"{node.name}.{name}", getattr(defaults, name), _comment(lines, item)
                    )
        for name in filter(_NAME.fullmatch, _assigned_names(node)):
            module = module or _import_module(path)
            yield Limit(name.lstrip("_"), getattr(module, name), _comment(lines, node))


def _assigned_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns, also those of `A, B = 1, 2` and of `A: int = 1`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    parts = [part for target in targets for part in ast.walk(target)]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _import_module(path: Path) -> Any:
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def _comment(lines: list[str], node: ast.stmt) -> str:
    """Return the comment at the end of a statement's last line."""
    line = lines[(node.end_lineno or node.lineno) - 1]
    return line.partition("  # ")[2]


def format_value(name: str, value: Any) -> str:
    """Return a value for people: sizes in bytes with a unit, numbers with separators.

    >>> format_value("MAX_HEADER_BYTES", 64 << 20), format_value("MAX_CELLS", 1000), format_value("MAX_SECONDS", 0.5)
    ('64 MiB', '1,000', '0.5')
    """
    if value is None:
        return "none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if "BYTES" in name.upper() and value >= 1 << 20 and value % (1 << 20) == 0:
        return f"{value >> 20:,} MiB"
    if "BYTES" in name.upper() and value >= 1_000_000 and value % 1_000_000 == 0:
        return f"{value // 1_000_000:,} MB"
    return f"{value:,}"


def make_page() -> str:
    """Return the text of the page as the code is now."""
    parts = [_HEAD]
    for folder, title in _TITLES.items():
        rows = []
        for path in sorted((ROOT / folder).rglob("*.py")):
            for limit in find_limits(path):
                place = path.relative_to(ROOT / folder).as_posix()
                value = format_value(limit.name, limit.value)
                rows.append(f"| `{limit.name}` | {value} | {limit.comment} | `{place}` |\n")
        if rows:
            table = (
                f"| limit | value | of what | in `{folder}/` |\n|---|---|---|---|\n{''.join(rows)}"
            )
            parts.append(f"## {title}\n\n{table}")
    return "\n".join(parts)


def main() -> int:
    page = make_page()
    if "--check" in sys.argv[1:]:
        stale = not PAGE.is_file() or PAGE.read_text("utf-8") != page
        print(
            "docs/limits.md is stale; run python docs/limits.py."
            if stale
            else "docs/limits.md is up to date."
        )
        return int(stale)
    PAGE.write_text(page, "utf-8")
    count = sum(line.startswith("| `") for line in page.splitlines())
    print(f"docs/limits.md: {count} limits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
