"""nbgrader's settings for this course, read by `nbgrader …` run in this folder."""

from autograder.authoring.nbgrader_settings import configure

configure(get_config(), __file__)  # noqa: F821 - nbgrader puts it here
