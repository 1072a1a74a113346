"""A grading run: hand-ins on the cores or on a cluster, each within limits of time and memory."""
