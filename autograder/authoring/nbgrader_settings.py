"""How nbgrader works for a course of ours: one place, whether `nbgrader …` or `autograder` asks.

A course's own nbgrader_config.py is two lines::

    from autograder.authoring.nbgrader_settings import configure
    configure(get_config(), __file__)
"""

from pathlib import Path

from traitlets.config import Config

from autograder.course import Course, read

# What makes the students' notebook; `autograder build` takes the same steps, but for the gradebook's.
RELEASE = [
    "autograder.authoring.steps.RunOn",
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearSolutions",
    "autograder.authoring.steps.KeepOutputs",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# An author's files lie beside the solution notebook, and nbgrader copies what lies there into the release.
AUTHORS_FILES = ["*.py", "*.pyc", "*.toml", "*.md", "__pycache__", ".ipynb_checkpoints"]


def configure(c: Config, config_file: str | Path) -> None:
    """Set up nbgrader for the course in the folder of `config_file`."""
    course = read(Path(config_file).resolve().parent)
    course.classroom.mkdir(exist_ok=True)  # SQLite makes the gradebook, but not its folder
    c.merge(settings(course))


def settings(course: Course) -> Config:
    """nbgrader's settings for a course."""
    c = Config()
    root, classroom = course.root, course.classroom
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.course_id = course.id
    c.CourseDirectory.source_directory = "solutions"
    c.CourseDirectory.release_directory = "notebooks"
    c.CourseDirectory.submitted_directory = str(classroom / "submitted")
    c.CourseDirectory.autograded_directory = str(classroom / "autograded")
    c.CourseDirectory.feedback_directory = str(classroom / "feedback")
    c.CourseDirectory.solution_directory = str(classroom / "solution")
    c.CourseDirectory.db_url = f"sqlite:///{classroom / 'gradebook.db'}"
    c.CourseDirectory.ignore = AUTHORS_FILES

    # The marking scheme stands in the locked question above each answer, not in a nbgrader "task" cell.
    c.ClearMarkScheme.enforce_metadata = False
    c.GenerateAssignment.preprocessors = list(RELEASE)

    # `nbgrader autograde` uses the same judge as `autograder grade`: the notebook is rebuilt on the release,
    # run in the sandbox, and each test cell gets the judge's verdict as its output.
    c.Autograde.exporter_class = "autograder.grading.nbgrader.judge_step.Reader"
    c.Autograde.pre_convert_hook = "autograder.grading.nbgrader.judge_step.put_aside_time"
    c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.ClearOutput"]
    c.Autograde.autograde_preprocessors = [
        "autograder.grading.nbgrader.judge_step.Judge",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.AssignLatePenalties.plugin_class = "autograder.grading.nbgrader.judge_step.LatePolicy"

    c.ExchangeFactory.collect = "autograder.grading.nbgrader.exchange.Collect"

    # The formgrader fetches nothing from elsewhere, and no link of a student's acts in it.
    c.HTMLExporter.filters = {"markdown2html": "autograder.grading.nbgrader.formgrader.markdown2html"}
    c.HTMLExporter.preprocessors = ["autograder.grading.nbgrader.formgrader.Offline"]

    # `nbgrader generate_feedback` writes the page that `autograder feedback` writes.
    c.GenerateFeedback.exporter_class = "autograder.grading.reports.feedback.FeedbackExporter"
    c.GenerateFeedback.preprocessors = []
    return c
