"""Make nbgrader's settings for a course, for the commands of nbgrader and of the autograder.

The file nbgrader_config.py of a course needs only two lines::

    from autograder.authoring.nbgrader_settings import configure
    configure(get_config(), __file__)
"""

from pathlib import Path

from traitlets.config import Config

from autograder.core.course import Course, read_course

# nbgrader's preprocessors that turn the solution notebook into the released notebook. `autograder
# build` leaves out SaveCells, since it would write to nbgrader's gradebook.
RELEASE_STEPS = [
    "autograder.authoring.preprocessors.AllowTestErrors",
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearSolutions",
    "autograder.authoring.preprocessors.ClearOutputsOfAnswers",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# nbgrader copies all files beside the solution notebook into the folder of the released notebook,
# except for these.
AUTHOR_FILES = ["*.py", "*.pyc", "*.toml", "*.md", "__pycache__", ".ipynb_checkpoints"]


def configure(config: Config, config_file: str | Path) -> None:
    """Add the settings for a course to nbgrader's configuration.

    Parameters
    ----------
    config_file : str or Path
        The course's nbgrader_config.py, which lies in the course's folder.
    """
    course = read_course(Path(config_file).resolve().parent)
    course.classroom.mkdir(exist_ok=True)  # SQLite creates gradebook.db, but not its folder
    config.merge(make_settings(course))


def make_settings(course: Course) -> Config:
    """Return nbgrader's settings for a course."""
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
    c.CourseDirectory.ignore = AUTHOR_FILES

    # A course has the marking scheme of a question in a locked notebook cell. By default, nbgrader
    # allows marking schemes only in cells of its type "task". So switch this rule off.
    c.ClearMarkScheme.enforce_metadata = False
    c.GenerateAssignment.preprocessors = list(RELEASE_STEPS)

    # Let `nbgrader autograde` grade in the same way as `autograder grade`: build the submission
    # anew from the released notebook, run it in the sandbox, and put the verdict on each answer
    # into the output of its test cell.
    c.Autograde.exporter_class = (
        "autograder.grading.nbgrader_autograde.ReleasedInsteadOfSubmittedExporter"
    )
    c.Autograde.pre_convert_hook = (
        "autograder.grading.nbgrader_autograde.replace_links_and_invalid_timestamps"
    )
    c.Autograde.sanitize_preprocessors = []  # nothing of the submitted notebook is kept as it is
    c.Autograde.autograde_preprocessors = [
        "autograder.grading.nbgrader_autograde.GradingPreprocessor",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.AssignLatePenalties.plugin_class = "autograder.grading.nbgrader_autograde.LatePolicy"

    c.ExchangeFactory.collect = "autograder.gradebook.nbgrader_exchange.Collect"

    # Keep nbgrader's formgrader from loading anything from the internet. Make links and scripts in
    # students' notebooks harmless there.
    markdown_filter = "autograder.reports.safe_formgrader.markdown2html"
    c.HTMLExporter.filters = {"markdown2html": markdown_filter}
    c.HTMLExporter.preprocessors = ["autograder.reports.safe_formgrader.SafePages"]

    # Let `nbgrader generate_feedback` write the same page as `autograder feedback`.
    c.GenerateFeedback.exporter_class = "autograder.reports.feedback_pages.NbgraderFeedbackExporter"
    c.GenerateFeedback.preprocessors = []
    return c
