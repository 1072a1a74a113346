"""Build each lab's released notebook and answer key from its solution notebook and exercises.

Building first normalizes the solution notebook, runs it and saves its outputs. Then nbgrader's
preprocessors cut the answers out, which makes the released notebook. The answer key gets the
expected results of the test cases that students see.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.exercise import Exercise
from autograder.authoring.lab import Lab
from autograder.authoring.released_notebook import BuildError, release_notebook
from autograder.authoring.stability import find_processor_dependent_results
from autograder.authoring.verify import find_lab_weaknesses
from autograder.core.course import LAB_FILE, Course
from autograder.core.errors import INSTALL_ADVICE
from autograder.core.files import write_file
from autograder.core.kernel_log import ignore_closed_sockets, read_end_of_log
from autograder.core.notebook_cells import (
    NOTEBOOK_METADATA,
    get_grade_id,
    make_grade_id,
    make_nbgrader_metadata,
    make_test_grade_id,
)
from autograder.core.text_format import format_count, join_words
from autograder.student import answer_key
from autograder.student.reuse import make_grading_like_environment

MAX_CELL_SECONDS = 600  # a cell that trains a model takes a minute, or longer on a busy machine

MEASUREMENT_TAG = "nbval-ignore-output"  # tag of a notebook cell whose output differs in every run
_KEPT_METADATA = {"nbgrader", "tags", "slideshow"}
_WIDGET_TYPE = "application/vnd.jupyter.widget-view+json"
_PNG = re.compile(r"base64,[A-Za-z0-9+/=]+")


def build_labs(
    labs: Iterable[Lab],
    *,
    check: bool = False,
    execute: bool = True,
    refresh_outputs: bool = False,
) -> list[str]:
    """Build the notebooks and answer keys of labs, or check that they are up to date.

    Parameters
    ----------
    check : bool
        Write nothing, and only return which files are out of date.
    execute : bool
        Run the solution notebooks for their outputs, and compute the results in the keys a second
        time, as on another processor. Otherwise the saved outputs are kept.
    refresh_outputs : bool
        Save all outputs of the new run. By default, pictures and the outputs of cells that measure
        something, such as seconds, stay as they were saved, since they differ between runs or
        machines.

    Returns
    -------
    list of str
        A text for each file that differs from what was built, or differed before it was written.

    Raises
    ------
    BuildError
        If a lab cannot be built. See `normalize_notebook`, `run_notebook_in_empty_folder`,
        `find_lab_weaknesses` and `find_processor_dependent_results`.
    """
    drift = []
    for lab in labs:
        drift += _build_lab(lab, check, execute, refresh_outputs)
    return drift


def build_page_notebooks(course: Course, *, check: bool = False) -> list[str]:
    """Build a notebook from each page (Markdown file) of a course, or check that it is up to date.

    A page is a text file with Markdown that course.toml lists.

    Parameters
    ----------
    check : bool
        Write nothing, and only return which files are out of date.

    Returns
    -------
    list of str
        A text for each notebook that differs from its page, or differed before it was written.

    Raises
    ------
    BuildError
        If a page cannot be read.
    """
    drift = []
    for name in course.pages:
        try:
            text = (course.root / name).read_text("utf-8")
        except OSError as error:
            raise BuildError(f"The page {name} cannot be read: {error.strerror}.") from None
        cell = nbformat.v4.new_markdown_cell(text.strip(), id=Path(name).stem)
        metadata = nbformat.from_dict(NOTEBOOK_METADATA)
        content = _format_notebook_file(nbformat.v4.new_notebook(cells=[cell], metadata=metadata))
        path = course.page_notebook_path(name)
        drift += _update_outdated_file(path, content, f"the page {name}", course, check)
    return drift


def _build_lab(lab: Lab, check_only: bool, execute: bool, refresh_outputs: bool) -> list[str]:
    saved_text = lab.solution_path.read_text("utf-8")
    notebook = normalize_notebook(nbformat.reads(saved_text, as_version=4), lab)
    weaknesses = find_lab_weaknesses(lab)
    if weaknesses:
        raise BuildError("\n".join(weaknesses))
    key_files = _encode_answer_key_files(lab)
    if execute:
        unstable_results = find_processor_dependent_results(lab, key_files)
        if unstable_results:
            raise BuildError("\n".join(unstable_results))
    drift = _update_answer_key_files(lab, key_files, check_only)

    text = _format_notebook_file(notebook)
    if execute:
        text = _dump_with_new_outputs(notebook, lab, refresh_outputs)
    drift += _update_outdated_file(
        lab.solution_path, text, "order, points or saved outputs", lab.course, check_only
    )
    release_text = _format_notebook_file(release_notebook(nbformat.reads(text, as_version=4), lab))
    source = "the solution with its answers cut out"
    return drift + _update_outdated_file(
        lab.release_path, release_text, source, lab.course, check_only
    )


def _dump_with_new_outputs(notebook: NotebookNode, lab: Lab, refresh_all: bool) -> str:
    """Run a solution notebook, and return the text of its file with current outputs.

    If only pictures and measurements differ from the saved outputs, the saved outputs are kept.

    Parameters
    ----------
    refresh_all : bool
        Replace all outputs, also those that differ in every run.
    """
    new_notebook = run_notebook_in_empty_folder(notebook, lab.course.root)
    if refresh_all:
        return _format_notebook_file(new_notebook)
    saved_text = _format_notebook_file(notebook)
    new_text = _format_notebook_file(keep_saved_measurement_outputs(new_notebook, notebook))
    if _remove_pictures(new_text) == _remove_pictures(saved_text):
        return saved_text
    return new_text


def normalize_notebook(notebook: NotebookNode, lab: Lab) -> NotebookNode:
    """Return a copy of a solution notebook without what changes in every run, ready to be saved.

    The points of exercises are set to those in the exercises' definitions. Execution counts and
    other metadata that change in every run are removed.

    Raises
    ------
    BuildError
        If an exercise has no answer cell or no test cell, or a grade_id occurs twice. Also if a
        test cell does not consist of the call of `check` for its exercise, or belongs to no
        exercise, or if a result that students are to guess first is not hidden.
    """
    notebook = deepcopy(notebook)
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    grade_ids: set[str] = set()
    for cell in notebook.cells:
        metadata = {key: cell.metadata[key] for key in cell.metadata if key in _KEPT_METADATA}
        cell.metadata = nbformat.from_dict(metadata)
        if "setup" in cell.metadata.get("tags", []):
            # Lock the set-up cells, so that an import which a student has deleted can be restored.
            nbgrader_metadata = make_nbgrader_metadata(cell.id, locked=True)
            cell.metadata.nbgrader = nbformat.from_dict(nbgrader_metadata)
        if cell.metadata.get("nbgrader"):
            _normalize_nbgrader_cell(cell, lab, grade_ids)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = _strip_counts_and_widgets(cell.outputs)
    _update_points_in_text(notebook, lab)
    _require_results_hidden_until_guessed(notebook, lab)
    for name in lab.exercises:
        for required_id in (make_grade_id(name), make_test_grade_id(name)):
            if required_id not in grade_ids:
                problem = f"no cell has the grade_id {required_id!r}"
                raise BuildError(f"{lab.name}: {problem}; {name} needs it.")
    return notebook


def _normalize_nbgrader_cell(cell: NotebookNode, lab: Lab, seen_grade_ids: set[str]) -> None:
    """Check a cell's nbgrader metadata, remove its checksum, and set a test cell's points.

    Parameters
    ----------
    seen_grade_ids : set of str
        grade_ids of the cells before it. That of this cell is added.
    """
    metadata = cell.metadata["nbgrader"]
    metadata.pop("checksum", None)
    metadata.pop("cell_type", None)
    name = metadata["grade_id"]
    if name in seen_grade_ids:
        raise BuildError(f"{lab.name}: two cells have the grade_id {name!r}; rename one of them.")
    seen_grade_ids.add(name)
    exercise = lab.exercises_by_test_cell.get(name)
    if exercise:
        if cell.source.strip() != f"check({exercise.name})":
            raise BuildError(f"{lab.name}: the cell {name!r} must read check({exercise.name}).")
        metadata["points"] = exercise.points
    elif metadata.get("grade") and cell.cell_type == "code" and not metadata.get("solution"):
        test_ids = join_words([make_test_grade_id(exercise) for exercise in lab.exercises])
        problem = f"the cell {name!r} tests no exercise"
        raise BuildError(f"{lab.name}: {problem}; the test cells are {test_ids}.")


_HEADING = re.compile(r"^(#+ .*?\(|\*\()[\d.]+ points?(?=[,)])", re.M)
_REMINDER = re.compile(r"(It is worth )[\d.]+ points?\b")


def _update_points_in_text(notebook: NotebookNode, lab: Lab) -> None:
    """Write each exercise's current points into its heading, such as "Exercise 1 (2 points)".

    A heading that names no exercise is taken to be that of the next manually graded question. The
    phrase "It is worth 3 points" gets the points of all manually graded questions together.
    """
    # Go through the cells from the last to the first. A question's heading stands above the cell
    # for the student's answer, which carries the points. So the points are known when the heading
    # is reached.
    question_points: list[float] = []

    def update_heading(match: re.Match) -> str:
        names = re.findall(r"`(\w+)`", match[1])
        points = [lab.exercises[name].points for name in names if name in lab.exercises]
        if points:
            return match[1] + format_count(points[0], "point")
        if question_points:
            return match[1] + format_count(question_points.pop(), "point")
        return match[0]

    total = format_count(sum(lab.manual_questions.values()), "point")
    for cell in reversed(notebook.cells):
        name = get_grade_id(cell)
        if name in lab.manual_questions:
            question_points[:] = [lab.manual_questions[name]]
        elif cell.cell_type == "markdown":
            cell.source = _HEADING.sub(update_heading, cell.source)
            cell.source = _REMINDER.sub(rf"\g<1>{total}", cell.source)


_GUESS = re.compile(r"\bguess\W+(first|before)\b|\*\*guess\*\*", re.I)


def _require_results_hidden_until_guessed(notebook: NotebookNode, lab: Lab) -> None:
    """Raise BuildError if a text says "guess first" and the text after it is not hidden at first.

    The next text cell must begin with the HTML tag <details>, so that a student sees its content
    only after a click.
    """
    texts = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for question, answer in zip_longest(texts, texts[1:]):
        if not _GUESS.search(question.source):
            continue
        if answer is None or not answer.source.startswith("<details>"):
            name = f", {answer.id!r}," if answer else ""
            raise BuildError(
                f"{lab.name}: the cell {question.id!r} says to guess first. The next text{name} is "
                "to begin with <details>, so that what comes out is hidden until it is asked for."
            )


def _strip_counts_and_widgets(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return copies of a notebook cell's outputs without execution counts and without widgets.

    An output that consists only of a widget is left out.
    """
    clean_outputs = []
    for saved_output in outputs:
        output = nbformat.from_dict(dict(saved_output))
        if "execution_count" in output:
            output.execution_count = None
        if "data" in output:
            output.data.pop(_WIDGET_TYPE, None)
            output.metadata.pop(_WIDGET_TYPE, None)
            if not output.data:
                continue
        clean_outputs.append(output)
    return clean_outputs


def run_notebook_in_empty_folder(notebook: NotebookNode, course: Path) -> NotebookNode:
    """Run a notebook in an empty folder, and return a copy of it with the new outputs.

    Parameters
    ----------
    course : Path
        Folder of the course, from which the notebook can import the course's library.

    Raises
    ------
    BuildError
        If ipykernel is not installed, a cell raises, or the kernel ends before the notebook does.
        The message names the cell and the error.
    """
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    ignore_closed_sockets()
    notebook = deepcopy(notebook)
    with TemporaryDirectory() as folder, TemporaryFile() as kernel_log:
        client = NotebookClient(
            notebook,
            timeout=MAX_CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=make_kernel_environment(course), stderr=kernel_log)
        except NoSuchKernel:
            raise BuildError(
                "Building runs the notebooks, which needs ipykernel, and that is not installed: "
                f"{INSTALL_ADVICE}"
            ) from None
        except CellExecutionError as error:
            cell = next(cell for cell in notebook.cells if _has_error_output(cell))
            raise BuildError(
                f"The cell {cell.id!r} of a solution raises {error.ename}: {error.evalue}"
            ) from None
        except DeadKernelError:
            raise BuildError(
                "The Python process that ran a solution's notebook died before the last cell. "
                f"It logged: {read_end_of_log(kernel_log)}"
            ) from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = _strip_counts_and_widgets(_merge_consecutive_streams(cell.outputs))
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    return notebook


def _has_error_output(cell: NotebookNode) -> bool:
    return any(output.get("ename") for output in cell.get("outputs", ()))


def keep_saved_measurement_outputs(
    new_notebook: NotebookNode,
    saved_notebook: NotebookNode,
) -> NotebookNode:
    """Replace outputs of a new run that contain measurements, such as seconds, by the saved ones.

    A measuring cell has the tag "nbval-ignore-output". Its output, such as a number of seconds,
    differs in every run. If the author has cleared the saved output, the new one is kept.
    """
    for new_cell, saved_cell in zip(new_notebook.cells, saved_notebook.cells, strict=True):
        if MEASUREMENT_TAG in new_cell.metadata.get("tags", []) and saved_cell.get("outputs"):
            new_cell.outputs = saved_cell.outputs
    return new_notebook


def make_kernel_environment(course: Path) -> dict[str, str]:
    """Return the environment variables for running a course's notebook outside the course's folder.

    COURSE_BUILD tells the course's library that outputs must be the same on every machine. Linear
    algebra gets one thread, which is enough for the small matrices of a lab. Many kernels with
    several threads each would slow each other down.

    Parameters
    ----------
    course : Path
        Folder of the course.
    """
    thread_variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    one_thread = dict.fromkeys(thread_variables, "1")
    return {**make_grading_like_environment(course), **one_thread, "COURSE_BUILD": "1"}


def _merge_consecutive_streams(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Join consecutive outputs of the same stream, such as stdout.

    A kernel splits the text of a stream at random places.
    """
    merged_outputs: list[NotebookNode] = []
    for output in outputs:
        previous = merged_outputs[-1] if merged_outputs else None
        is_stream = previous and output.output_type == previous.output_type == "stream"
        if previous and is_stream and output.name == previous.name:
            previous.text += output.text
        else:
            merged_outputs.append(output)
    return merged_outputs


def _update_answer_key_files(lab: Lab, contents: Mapping[str, Any], check_only: bool) -> list[str]:
    """Write a lab's answer key: the test cases and expected results that students' checks read.

    Parameters
    ----------
    contents : mapping of str to bytes or str
        New contents of the files, by file name.
    check_only : bool
        Change nothing, and only return which files are out of date.

    Returns
    -------
    list of str
        A text for each file that is, or was, out of date.
    """
    folder = lab.course.answer_key_folder(lab.name)
    source = "what the lab's exercises say"
    drift = []
    for name, content in contents.items():
        equals = answer_key.keys_are_equal if name.endswith(".key") else operator.eq
        drift += _update_outdated_file(
            folder / name, content, source, lab.course, check_only, equals
        )
    for path in sorted(folder.glob("*")):
        if path.name not in contents and not path.name.startswith("."):
            drift.append(f"{path.relative_to(lab.course.root)} (it belongs to no exercise)")
            if not check_only:
                path.unlink()
    answer_key.clear_cache()
    return drift


def _encode_answer_key_files(lab: Lab) -> dict[str, Any]:
    """Return the contents of the files in a lab's answer key (cases and results), by file name."""
    facts = {
        "title": lab.title,
        "difficulty": lab.difficulty,
        "order": lab.order,
        "minutes": lab.minutes,
        "packages": sorted(lab.allowed_packages),
    }
    if lab.certificate:
        facts["certificate"] = lab.certificate
    if "call_seconds" in lab.limits:
        facts["call_seconds"] = lab.limits["call_seconds"]
    if lab.graded_with:
        facts["graded_with"] = dict(lab.graded_with)
    exercises = list(lab.exercises.values())
    contents: dict[str, Any] = {
        LAB_FILE: answer_key.encode_lab_description(
            lab.name, facts, exercises, lab.manual_questions
        )
    }
    for exercise in exercises:
        contents[f"{exercise.name}.key"] = _encode_exercise_key(exercise)
    schemes = lab.mark_schemes()
    if lab.course.criteria and schemes:
        contents[answer_key.CRITERIA_FILE] = answer_key.encode_criteria(schemes)
    return contents


def _encode_exercise_key(exercise: Exercise) -> bytes:
    """Return the answer key of an exercise: the old one if it is right."""
    path = exercise.lab.course.answer_key_folder(exercise.lab.name) / f"{exercise.name}.key"
    if path.is_file():
        old_key = path.read_bytes()
        key = answer_key.encode_key(exercise, old_key)
        if answer_key.keys_are_equal(old_key, key):
            return old_key
    return answer_key.encode_key(exercise)


def _format_notebook_file(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def _remove_pictures(text: str) -> str:
    return _PNG.sub("base64,", text)


def _update_outdated_file(
    path: Path,
    content: str | bytes,
    made_from: str,
    course: Course,
    check_only: bool,
    equals: Callable[[Any, Any], bool] = operator.eq,
) -> list[str]:
    """Write a file if its content differs from the new content; with `check_only`, only report it.

    Parameters
    ----------
    content : str or bytes
        New content.
    made_from : str
        What the content is made from, for the returned text.
    check_only : bool
        Write nothing, and only compare.
    equals : callable
        Function that compares the present content with the new content.

    Returns
    -------
    list of str
        A text "path (source)" if the contents differ, else an empty list.
    """
    if path.is_file():
        if isinstance(content, str):
            is_current = equals(path.read_text("utf-8"), content)
        else:
            is_current = equals(path.read_bytes(), content)
        if is_current:
            return []
    if not check_only:
        write_file(path, content)
    return [f"{path.relative_to(course.root)} ({made_from})"]
