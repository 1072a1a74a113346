"""Modules that the whole autograder uses: course, files, errors, time limits, result record."""
