"""Import closures: what a module has to load, and so what its reader has to trust."""

import ast
import subprocess
import sys
from pathlib import Path

from our_course import ROOT

FEEDBACK_PAGE = "autograder.reports.student_page"
MAX_FEEDBACK_PAGE_MODULES = 15
FORBIDDEN_PACKAGES = ("sandbox", "judging", "authoring", "intake")
FORBIDDEN_MODULES = (
    "autograder.grading.run",
    "autograder.grading.pool",
    "autograder.grading.worker",
    "autograder.grading.grade_submission",
    "autograder.gradebook.nbgrader_db",
)


def module_path(module: str) -> Path | None:
    folder = ROOT / module.replace(".", "/")
    for path in (folder.with_suffix(".py"), folder / "__init__.py"):
        if path.is_file():
            return path
    return None


def find_imports(module: str) -> set[str]:
    """Return the engine's modules that a module imports, in its functions too, but not for type checkers."""
    tree = ast.parse(module_path(module).read_text("utf-8"))
    nodes, names = [tree], set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        nodes += ast.iter_child_nodes(node)
    modules = set()
    for name in names:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            prefix = ".".join(parts[:length])
            if parts[0] == "autograder" and module_path(prefix):
                modules.add(prefix)
    return modules


def import_closure(module: str) -> set[str]:
    modules, new = {module}, [module]
    while new:
        imports = find_imports(new.pop()) - modules
        modules |= imports
        new += imports
    return modules


def test_the_feedback_page_imports_only_records_and_what_renders_them():
    modules = import_closure(FEEDBACK_PAGE)
    assert len(modules) <= MAX_FEEDBACK_PAGE_MODULES, sorted(modules)
    assert not [
        name
        for name in modules
        if name.split(".")[1:2] and name.split(".")[1] in FORBIDDEN_PACKAGES
    ]
    assert not modules & set(FORBIDDEN_MODULES)


def test_a_fresh_process_loads_no_more_than_that():
    script = (
        f"import sys, {FEEDBACK_PAGE}\n"
        "print(*(name for name in sys.modules if name.split('.')[0] == 'autograder'))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert FEEDBACK_PAGE in loaded
    assert set(loaded) <= import_closure(FEEDBACK_PAGE)
