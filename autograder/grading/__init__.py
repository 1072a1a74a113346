"""Grading of one submission, and of all submissions of a class on many cores or machines."""
