"""nbgrader's settings for this course, read by `nbgrader …` run in this folder and by `autograder`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent

c = get_config()  # noqa: F821 - nbgrader puts it here

c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.course_id = "attention-labs"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "classroom/submitted"
c.CourseDirectory.autograded_directory = "classroom/autograded"
c.CourseDirectory.feedback_directory = "classroom/feedback"
c.CourseDirectory.solution_directory = "classroom/solution"
c.CourseDirectory.db_url = f"sqlite:///{ROOT / 'classroom' / 'gradebook.db'}"

# The marking scheme stands in the locked question above each answer, not in a nbgrader "task" cell.
c.ClearMarkScheme.enforce_metadata = False

# The same steps as in `autograder build`: no volatile bytes, and "Run All" goes on after a failed check.
c.GenerateAssignment.preprocessors = [
    "autograder.labs.steps.RunOn",
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearSolutions",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# `nbgrader autograde` uses the same judge as `autograder grade`: the notebook is rebuilt on the release,
# run in the sandbox, and each test cell gets the judge's verdict as its output.
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.ClearOutput"]
c.Autograde.autograde_preprocessors = [
    "autograder.grading.judge_step.Judge",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# No script of a student's acts in a feedback page, and the marking schemes are for those who mark.
c.GenerateFeedback.exporter_class = "autograder.grading.feedback_pages.FeedbackExporter"
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "autograder.grading.feedback_pages.CleanText",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]
