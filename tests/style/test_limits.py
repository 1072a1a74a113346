"""Each limit is named in a test.

`python tests/mutate.py MODULE --kind limit` says whether a test fails where a limit is lifted.
"""

import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT / "docs"))
import limits  # noqa: E402


@cache
def all_limits():
    """Return each limit as "module: name"."""
    found = []
    for folder in limits._TITLES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for limit in limits.find_limits(path):
                found.append(f"{path.relative_to(ROOT).as_posix()}: {limit.name}")
    return found


@cache
def words_of_tests():
    words = set()
    for path in (ROOT / "tests").rglob("*.py"):
        words.update(re.findall(r"\w+", path.read_text("utf-8")))
    return words


def is_named_in_tests(limit):
    """Return True if a test names the limit, as `MAX_…` or as a field of a class of limits."""
    name = limit.rpartition(": ")[2].rpartition(".")[2]
    return not words_of_tests().isdisjoint({name, f"_{name}"})


@pytest.mark.long
def test_each_limit_is_named_in_a_test():
    assert [limit for limit in all_limits() if not is_named_in_tests(limit)] == []


@pytest.mark.parametrize(
    "name", ["autograder/x.py: MAX_" + "NEW_BYTES", "autograder/x.py: RunLimits.new_" + "field"]
)
def test_a_limit_that_no_test_names_is_noticed(name):
    assert not is_named_in_tests(name)
