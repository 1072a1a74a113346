"""Tools for students: `check`, the reuse of own functions, copies of the labs, JupyterLab."""

# Packages of the autograder that students get; submissions in a sandbox can read the same ones.
STUDENT_PACKAGES = ("core", "values", "judging", "diagnosis", "student")
