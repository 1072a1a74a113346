"""Say which tests to run for changed files.

python tests/which_tests.py [FILE…]     without a file: for what git says has changed; prints a pytest command
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The first prefix that a file's path begins with decides. `test_which_tests.py` holds that each is true.
TESTS = {
    "autograder/cli/options.py": [
        "tests/cli",
        "tests/grading/test_submissions.py",
        "tests/style/test_docs.py",
    ],
    "autograder/cli/": [
        "tests/cli",
        "tests/style/test_docs.py",
        "tests/student",
        "tests/grading/test_run.py",
        "tests/grading/test_progress.py",
    ],
    # Their messages and values are compared by the tests of these packages, too.
    "autograder/judging/": ["tests/judging", "tests/values", "tests/student"],
    "autograder/core/course.py": ["tests/core", "tests/authoring", "tests/platforms"],
    # A check in a notebook ends by these limits of time.
    **{
        f"autograder/core/{module}.py": ["tests/core", "tests/student"]
        for module in ("cpu_time", "time_limit")
    },
    "autograder/core/": ["tests/core", "tests/platforms", "tests/style/test_docs.py"],
    # Days of lateness and due dates are worked out by hand in the tests of reports, too.
    **{
        f"autograder/gradebook/{module}.py": [
            "tests/gradebook",
            "tests/reports",
            "tests/grading/test_best_attempt.py",
        ]
        for module in ("policy", "deadlines")
    },
    # The page of its fields, and the tests that make such records.
    "autograder/gradebook/graded_submission.py": [
        "tests/gradebook",
        "tests/grading",
        "tests/style/test_docs.py",
    ],
    "autograder/reports/marks.py": [
        "tests/reports",
        "tests/gradebook/test_policy.py",
        "tests/gradebook/test_term_model.py",
    ],
    # A line of a result is one line, whatever the submission prints.
    "autograder/reports/terminal.py": ["tests/reports", "tests/grading/test_resource_limits.py"],
    **{
        f"autograder/{package}/": [f"tests/{package}"]
        for package in (
            *("values", "diagnosis", "student", "authoring", "sandbox"),
            *("intake", "gradebook", "grading", "reports", "platforms"),
        )
    },
    "autograder/": ["tests/style/test_project.py"],
    "course_import/": ["tests/course_import"],
    "course_site/": ["tests/course_site"],
    "similarity/": ["tests/similarity"],
    "attention_labs/": ["tests/labs"],
    "solutions/": ["tests/labs", "tests/authoring/test_build.py"],
    "notebooks/": ["tests/labs", "tests/authoring/test_build.py"],
    "data/": ["tests/labs"],
    "docs/": ["tests/style/test_docs.py", "tests/style/test_commands_of_docs.py"],
    "tests/submissions/": ["tests/grading/test_submissions.py"],
}
PROJECT = ["tests/style"]  # pyproject.toml, Makefile, README.md and other files of the root


def tests_for(name: str) -> list[str]:
    """Return the files and folders of tests that a file belongs to; the name is relative to the root."""
    path = Path(name)
    if path.parts[0] == "tests" and (path.name.startswith("test_") or len(path.parts) > 2):
        if name.startswith("tests/submissions/"):
            return TESTS["tests/submissions/"]
        return [name if path.name.startswith("test_") else path.parent.as_posix()]
    for prefix, tests in TESTS.items():
        if name.startswith(prefix):
            return tests
    return PROJECT


def changed_files() -> list[str]:
    """Return the files that differ from the last commit."""
    command = ["git", "diff", "--name-only", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, text=True, capture_output=True, check=True
    ).stdout.split()


def pytest_command(names: Iterable[str]) -> str:
    """Return the pytest command for these files, or an empty text if there is nothing to test."""
    tests: dict[str, None] = {}
    for name in names:
        tests.update(dict.fromkeys(tests_for(name)))
    if not tests:
        return ""
    return f'.venv/bin/pytest -q -n auto -m "not long" {" ".join(tests)}'


def main() -> None:
    names = [
        Path(name).resolve().relative_to(ROOT).as_posix() for name in sys.argv[1:]
    ] or changed_files()
    print(pytest_command(names) or "Nothing has changed.")


if __name__ == "__main__":
    main()
