"""Comparison with stock nbgrader on the attacks that it can run here; prints a table of points.

    .venv/bin/python tests/stock_nbgrader.py

The course is the lab `attention-masks` with its check cells replaced by assertions and hidden tests
of the same intent, under nbgrader's default configuration. Nothing destructive is among the
attacks: stock nbgrader runs them as whoever starts this script. It takes about two minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).parent))
from submissions.suite import HERE, LAB, cell_of, exercises, honest, make_grade_id
from submissions.suite import apply as put_cells

BIN = Path(sys.executable).parent

# The assertions an instructor would write; `to_additive` gives partial credit, as nbgrader offers
# it.
TESTS = {
    "causal_mask": "np.testing.assert_array_equal(causal_mask(size), np.tri(size, dtype=bool))",
    "padding_mask": (
        "lengths = np.arange(size)\n"
        "due = np.arange(size + 1) < lengths[:, None, None]\n"
        "np.testing.assert_array_equal(padding_mask(lengths, size + 1), due)"
    ),
    "to_additive": (
        "mask = np.tri(size, dtype=bool)\n"
        "types = [np.float16, np.float32, np.float64]\n"
        "2 * np.mean([to_additive(mask, dtype=t).dtype == t for t in types])"
    ),
    "masked_softmax": (
        "mask = np.tri(size, dtype=bool)\nassert np.allclose(masked_softmax(np.zeros((size, "
        "size)), mask), mask / mask.sum(1, keepdims=True))"
    ),
    "dot_product_attention": (
        "x = np.eye(size)[None]\nassert np.allclose(dot_product_attention(0 * x, x, x), 1 / size)"
    ),
    "dot_product_self_attention": (
        "x = np.eye(size)[None]\nassert np.allclose(dot_product_self_attention(0 * x, x, x)[0, :, "
        "0], 1 / np.arange(1, size + 1))"
    ),
}

# By file: the attacked exercise, and a description.
ATTACKS = {
    "honest": ("padding_mask", "nothing: all answers are right"),
    "wrong/skip_execution_tag": ("padding_mask", "the tag skip-execution on the test cell"),
    "wrong/always_equal_object": ("padding_mask", "an object that equals everything"),
    "wrong/always_equal_array": ("padding_mask", "an array that equals everything"),
    "wrong/patched_testing": ("padding_mask", "patched np.testing and np.allclose"),
    "wrong/ast_transformer": ("padding_mask", "an AST transformer takes assertions out"),
    "wrong/patched_run_cell": ("padding_mask", "run_cell skips the test"),
    "wrong/coarser_dtype": (
        "to_additive",
        "partial credit np.float64(0.67) for a third of the work",
    ),
    "pass/warnings_on_stderr": ("padding_mask", "nothing: a right answer that warns"),
    "pass/script_outputs": ("padding_mask", "scripts in the outputs"),
    "crash/os_exit_in_a_cell": ("padding_mask", "os._exit in one answer, the others right"),
    "timeout/cell_that_hangs": (
        "padding_mask",
        "a cell that swallows interrupts, the others right",
    ),
    "doubled_test_cell": ("padding_mask", "nothing: a test cell stands there twice"),
}


def source_notebook() -> nbformat.NotebookNode:
    """Return the instructor's notebook: our solution, with assertions."""
    notebook = honest(with_pictures=False)
    for name, test in TESTS.items():
        first, hidden = (f"size = {size}\n{test}" for size in (4, 7))
        cell = cell_of(notebook, f"test-{name.replace('_', '-')}")
        if name == "to_additive":
            cell.source = first
        else:
            cell.source = f"{first}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
        answer = cell_of(notebook, name.replace("_", "-"))
        head, body = answer.source.rsplit('"""\n', 1)
        answer.source = f'{head}"""\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION'
    return notebook


def submit(released: nbformat.NotebookNode, attack: str) -> nbformat.NotebookNode:
    """Return the released notebook with right answers, and the attack."""
    right = {make_grade_id(cell): cell.source for cell in honest(with_pictures=False).cells}
    notebook = nbformat.from_dict(released)
    for cell in notebook.cells:
        if cell.metadata["nbgrader"]["solution"]:
            cell.source = right[make_grade_id(cell)]
    path = HERE / f"{attack}.py"
    if path.exists():
        put_cells(notebook, path)
        if attack in ("wrong/ast_transformer", "wrong/patched_run_cell"):
            for cell in notebook.cells:  # here the tests are assertions, not calls of `check`
                if "NoCheck" in cell.source:
                    cell.source = cell.source.replace("visit_Expr", "visit_Assert").replace(
                        'getattr(getattr(node.value, "func", None), "id", "")',
                        '"check"',
                    )
                    cell.source = cell.source.replace(
                        "    def visit_Assert",
                        "    def visit_Expr(self, node):\n        "
                        'return None if "assert" in ast.unparse(node) else node\n\n    def visit_Assert',
                    )
                cell.source = cell.source.replace('"check" in source', '"assert" in source')
    if attack == "doubled_test_cell":
        notebook.cells.append(cell_of(notebook, "test-padding-mask"))
    return notebook


def write(path: Path, notebook) -> None:
    """Write a notebook without validation, which repeated ids would not pass."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), "utf-8")


def nbgrader(course: Path, *words: str) -> str:
    """Run an nbgrader command in a course with no configuration but its id; return its error or ""."""
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(course / "config"),
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    command = [BIN / "nbgrader", *words, "--CourseDirectory.course_id=stock"]
    try:
        completed = subprocess.run(
            command,
            cwd=course,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return "no end within 300 s"
    return "" if completed.returncode == 0 else completed.stderr.strip().splitlines()[-1][:200]


def stock(course: Path) -> dict[str, str]:
    """Return stock nbgrader's points, by attack."""
    from nbgrader.api import Gradebook, MissingEntry

    write(course / "source" / LAB / f"{LAB}.ipynb", source_notebook())
    error = nbgrader(course, "generate_assignment", LAB, "--force")
    assert not error, error
    release = nbformat.read(course / "release" / LAB / f"{LAB}.ipynb", as_version=4)
    points_by_attack = {}
    for attack, (exercise, _) in ATTACKS.items():
        student = attack.replace("/", "-").replace("_", "-")
        write(course / "submitted" / student / LAB / f"{LAB}.ipynb", submit(release, attack))
        error = nbgrader(course, "autograde", LAB, f"--student={student}")
        if attack == "pass/script_outputs":
            nbgrader(course, "generate_feedback", LAB, f"--student={student}")
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "stock") as book:
            try:
                grades = book.find_submission_notebook(LAB, LAB, student).grades
            except MissingEntry:
                grades = []
            scores = {
                grade.name.removeprefix("test-").replace("-", "_"): grade.score for grade in grades
            }
        points_by_attack[attack] = marks(scores, exercise)
        if error:
            points_by_attack[attack] += " (autograding failed)"
        if attack == "pass/script_outputs":
            page = course / "feedback" / student / LAB / f"{LAB}.html"
            acts = page.exists() and "<script>alert('attack-suite')</script>" in page.read_text(
                "utf-8",
            )
            points_by_attack[attack] += ", and the script runs in the feedback page" if acts else ""
    return points_by_attack


def ours(folder: Path) -> dict[str, str]:
    """Return the points of `autograder grade`, by attack."""
    for attack in ATTACKS:
        notebook = honest(with_pictures=False)
        if (HERE / f"{attack}.py").exists():
            put_cells(notebook, HERE / f"{attack}.py")
        if attack == "doubled_test_cell":
            notebook.cells.append(cell_of(notebook, "test-padding-mask"))
        write(folder / "submitted" / attack.replace("/", "-") / LAB / f"{LAB}.ipynb", notebook)
    out = folder / "out.jsonl"
    command = [BIN / "autograder", "grade", LAB, "--classroom", folder, "--json", out]
    subprocess.run(command, check=True, cwd=HERE.parents[1], stderr=subprocess.DEVNULL)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    points_by_attack = {}
    for attack, (exercise, _) in ATTACKS.items():
        student = attack.replace("/", "-")
        scores = {row["exercise"]: row["score"] for row in rows if row["student"] == student}
        points_by_attack[attack] = marks(scores, exercise)
    return points_by_attack


def marks(scores: dict, exercise: str) -> str:
    """Format the points of one exercise and of all."""
    points = exercises(LAB)
    if not scores:
        return "none"
    total = sum(scores.get(name) or 0 for name in points)
    return f"{scores.get(exercise) or 0:g} of {points[exercise]:g}; {total:g} of {sum(points.values()):g}"


def main() -> None:
    """Print the table: for each attack the points of the attacked question, and of the notebook."""
    with tempfile.TemporaryDirectory() as folder:
        stock_points, our_points = stock(Path(folder, "stock")), ours(Path(folder, "ours"))
    print("| submission | stock nbgrader: question; notebook | `autograder grade` |\n|---|---|---|")
    for attack, (_, description) in ATTACKS.items():
        print(f"| {description} | {stock_points[attack]} | {our_points[attack]} |")


if __name__ == "__main__":
    main()
