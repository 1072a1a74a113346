"""Tools for students: `check` functions, reuse them in later labs, copy labs, start JupyterLab."""

# Packages of the autograder that students get. Submissions in a sandbox can read the same ones.
STUDENT_PACKAGES = ("core", "values", "judging", "diagnosis", "student")
