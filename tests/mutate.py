"""Mutate a module in small ways, run the tests that belong to it, and list the mutants that survive.

    python tests/mutate.py autograder/judging/compare.py --sample 20
    python tests/mutate.py autograder/sandbox/wasi.py --kind limit

A mutant changes one place: a comparison, `and`, `not`, a number, a returned value, a statement that
is left out, a limit that is used a thousand times as large. The tests are those that `which_tests` names,
without the long ones; the files that import the module come first. All happens in a copy of the
repository, which is removed at the end. It takes minutes to hours and is no part of CI.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from which_tests import ROOT, tests_for

KINDS = ("compare", "logic", "number", "return", "statement", "limit")
_SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
_LIMIT = re.compile(r"_?MAX_[A-Z_0-9]+|max_[a-z_]+")
_NOT_COPIED = shutil.ignore_patterns(
    ".venv", ".git", "work", "classroom", "demo", "dist", "__pycache__", ".*_cache"
)
TIMEOUT_SECONDS = 1_800  # of one mutant's tests; a mutant that hangs is caught


@dataclass(frozen=True)
class Mutant:
    """One change of a module: its line, its kind, the new node, and the number of the old node."""

    line: int
    kind: str
    before: str
    node: ast.AST
    index: int

    def __str__(self) -> str:
        return f"{self.line}: {self.kind}: {self.before}  ->  {ast.unparse(self.node)}"

    def apply(self, source: str) -> str:
        """Return the source of the module with this change."""
        tree = ast.parse(source)
        _replace(list(ast.walk(tree))[self.index], tree, self.node)
        return ast.unparse(tree)


def make_mutants(source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines.

    >>> source = "def f(x):\\n    return x < 3"
    >>> [str(mutant) for mutant in make_mutants(source)]
    ['2: compare: x < 3  ->  x <= 3', '2: number: 3  ->  4', '2: return: return x < 3  ->  return None']
    >>> print(make_mutants(source)[0].apply(source))
    def f(x):
        return x <= 3
    """
    tree = ast.parse(source)
    skipped = _nodes_without_effect(tree)
    mutants = []
    for index, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for kind, replacement in _replacements(node):
            new = ast.fix_missing_locations(ast.copy_location(replacement, node))
            mutants.append(Mutant(getattr(node, "lineno", 0), kind, ast.unparse(node), new, index))
    mutants.sort(key=lambda mutant: (mutant.line, KINDS.index(mutant.kind)))
    return mutants


def _nodes_without_effect(tree: ast.AST) -> set[int]:
    """Return the ids of nodes in annotations, docstrings and decorators, where a change does nothing."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        roots += [
            value
            for value in (getattr(node, "annotation", None), getattr(node, "returns", None))
            if value
        ]
        roots += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            roots.append(node)
    return {id(part) for root in roots for part in ast.walk(root)}


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the kind and the new node of each change of this node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        new = deepcopy(node)
        new.ops[0] = _SWAPS[type(node.ops[0])]()
        yield "compare", new
    elif isinstance(node, ast.BoolOp):
        yield "logic", ast.BoolOp(_SWAPS[type(node.op)](), deepcopy(node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "logic", deepcopy(node.operand)
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
        yield (
            "number",
            ast.BinOp(deepcopy(node.left), _SWAPS[type(node.op)](), deepcopy(node.right)),
        )
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "logic", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield "return", ast.Return(ast.Constant(None))
    elif _is_action(node):
        yield "statement", ast.Pass()
    elif _is_use_of_limit(node):
        yield "limit", ast.BinOp(deepcopy(node), ast.Mult(), ast.Constant(1000))


def _is_action(node: ast.AST) -> bool:
    """Return True for a statement that can be left out, and leaves the rest of the code valid."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.Raise | ast.AugAssign | ast.Continue | ast.Break)


def _is_use_of_limit(node: ast.AST) -> bool:
    """Return True where a constant `MAX_…` or a field `max_…` is read."""
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return False
    return bool(_LIMIT.fullmatch(getattr(node, "id", "") or getattr(node, "attr", "")))


def _replace(old: ast.AST, tree: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another one in a tree."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if part is old else part for part in value])


def order_tests(module: str) -> list[str]:
    """Return the test files of a module: those that name it first."""
    files: list[str] = []
    for name in tests_for(module):
        place = ROOT / name
        paths = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
        files += [path.relative_to(ROOT).as_posix() for path in paths]
    stem = Path(module).stem
    return sorted(
        files, key=lambda file: not re.search(rf"\b{stem}\b", (ROOT / file).read_text("utf-8"))
    )


def survives(copy: Path, module: str, source: str, tests: list[str]) -> bool:
    """Return True if the tests pass with another source of the module, in a copy of the repository."""
    path = copy / module
    original = path.read_text("utf-8")
    path.write_text(source, "utf-8")
    options = ["-x", "-q", "-n", "0", "-m", "not long", "-p", "no:cacheprovider", "-o", "addopts="]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(TIMEOUT_SECONDS) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(original, "utf-8")
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help="files, such as autograder/judging/compare.py")
    parser.add_argument(
        "--sample", type=int, help="only so many mutants of each module, chosen at random"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append", help="only mutants of this kind")
    parser.add_argument("--tests", nargs="+", help="run these tests instead of the module's")
    options = parser.parse_args()
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "repository")
        shutil.copytree(ROOT, copy, ignore=_NOT_COPIED, symlinks=True)
        for name in options.modules:
            module = Path(name).resolve().relative_to(ROOT).as_posix()
            survivors += _test_mutants(copy, module, options)
    return 1 if survivors else 0


def _test_mutants(copy: Path, module: str, options: argparse.Namespace) -> int:
    """Test the mutants of one module, print the survivors, and return their number."""
    source = (ROOT / module).read_text("utf-8")
    tests = options.tests or order_tests(module)
    if not survives(copy, module, source, tests):
        sys.exit(f"{module}: its tests fail without any mutation, or take too long.")
    mutants = [
        mutant for mutant in make_mutants(source) if not options.kind or mutant.kind in options.kind
    ]
    if options.sample is not None and options.sample < len(mutants):
        mutants = random.Random(options.seed).sample(mutants, options.sample)
        mutants.sort(key=lambda mutant: mutant.line)
    survivors, start = 0, time.monotonic()
    for mutant in mutants:
        if survives(copy, module, mutant.apply(source), tests):
            survivors += 1
            print(f"{module}:{mutant}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(
        f"{module}: {survivors} of {len(mutants)} mutants survive ({minutes:.0f} minutes)",
        flush=True,
    )
    return survivors


if __name__ == "__main__":
    sys.exit(main())
