"""Modules that all packages use: course, files, errors, texts, time limits, record of results."""
