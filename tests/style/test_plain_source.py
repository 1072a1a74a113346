"""Source code stays plain: the aims of `measure_source`, and a planted failure for each of them."""

from dataclasses import dataclass

import pytest
from measure_source import COMPANIONS, PACKAGES, ROOT, Measures, measure_files, python_files

ENGINE = ROOT / "autograder"
MAX_PACKAGE_SHARE = 1 / 5  # of the engine's lines
MAX_LEVELS = 3  # of packages, the engine's own among them


@dataclass(frozen=True)
class Aim:
    """One measure of source code, its largest allowed value, and code that exceeds it."""

    name: str
    largest: float
    planted: str

    def value(self, measures: Measures) -> float:
        if self.name in ("comprehensions", "conditionals", "walruses", "long_lines"):
            return measures.per_thousand_lines(getattr(measures, self.name))
        value = getattr(measures, self.name)
        return value if isinstance(value, int | float) else len(value)


AIMS = (
    Aim("clause_docstring_share", 2, 'def read():\n    """What is read."""\n'),
    Aim("unclear_name_share", 1, "found = 1\n"),
    Aim("repeated_classes", 0, "class Case:\n    pass\n\n\nclass Case:\n    pass\n"),
    Aim("repeated_modules", 0, ""),
    Aim("comprehensions", 25, "squares = [x * x for x in range(9)]\n"),
    Aim("conditionals", 12, "sign = 1 if size else -1\n"),
    Aim("nested_conditionals", 0, "sign = 1 if size else -1 if rest else 0\n"),
    Aim("walruses", 1, "if size := len(text):\n    pass\n"),
    Aim("long_lines", 10, f"text = {'x' * 100!r}\n"),
)


# One module draws the lab's figures, the other trains the lab's model; notebooks import both by this name.
ALLOWED_MODULES = {"training"}


def all_files():
    return [path for name in PACKAGES for path in python_files(ROOT / name)]


@pytest.fixture(scope="module")
def measures():
    measures = measure_files(all_files())
    for name in ALLOWED_MODULES:
        measures.modules.pop(name)
    return measures


@pytest.mark.long
@pytest.mark.parametrize("aim", AIMS, ids=lambda aim: aim.name)
def test_the_source_keeps_the_aim(aim, measures):
    assert aim.value(measures) <= aim.largest, getattr(measures, aim.name)


@pytest.mark.parametrize("aim", AIMS, ids=lambda aim: aim.name)
def test_source_that_misses_the_aim_is_noticed(aim, tmp_path):
    for folder in ("one", "two") if aim.name == "repeated_modules" else ("one",):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "planted.py").write_text(aim.planted or "size = 1\n", "utf-8")
    assert aim.value(measure_files(python_files(tmp_path), tmp_path)) > aim.largest


def count_lines(folder):
    return sum(path.read_text("utf-8").count("\n") for path in python_files(folder))


def large_packages(engine):
    """Return the packages of an engine that hold more than a fifth of its lines."""
    most = MAX_PACKAGE_SHARE * count_lines(engine)
    return [path.name for path in engine.iterdir() if path.is_dir() and count_lines(path) > most]


def misplaced_modules(engine):
    """Return modules in the engine's root, and packages that lie too deep."""
    loose = [
        path.name for path in engine.glob("*.py") if path.name not in {"__init__.py", "__main__.py"}
    ]
    deep = [
        path.parent.relative_to(engine).as_posix()
        for path in engine.rglob("__init__.py")
        if len(path.parent.relative_to(engine.parent).parts) > MAX_LEVELS
    ]
    return loose + deep


def test_the_engine_is_packages_of_similar_size():
    assert misplaced_modules(ENGINE) == []
    assert large_packages(ENGINE) == []


def test_a_package_that_is_too_large_or_misplaced_is_noticed(tmp_path):
    engine = tmp_path / "engine"
    for number in range(6):
        (engine / f"part{number}").mkdir(parents=True)
        (engine / f"part{number}" / "module.py").write_text("size = 1\n" * (10 if number else 30))
    (engine / "loose.py").write_text("size = 1\n")
    (engine / "part1" / "inner" / "innermost").mkdir(parents=True)
    (engine / "part1" / "inner" / "innermost" / "__init__.py").write_text("")
    assert large_packages(engine) == ["part0"]
    assert misplaced_modules(engine) == ["loose.py", "part1/inner/innermost"]


def packages_without_tests(tests):
    """Return packages for which there is no folder of tests of the same name."""
    names = [path.parent.name for path in ENGINE.glob("*/__init__.py")] + list(COMPANIONS)
    mirrored = {path.name for path in tests.iterdir() if any(path.glob("test_*.py"))}
    return sorted(
        {*names} - mirrored - {"attention_labs", "cli"}
    )  # tested in tests/labs and tests/e2e


def test_tests_mirror_the_packages(tmp_path):
    assert packages_without_tests(ROOT / "tests") == []
    (tmp_path / "core").mkdir()
    assert "core" in packages_without_tests(tmp_path)
