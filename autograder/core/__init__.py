"""Modules that the whole autograder uses: course, files, errors, time limits, record of results."""
