"""Fixtures of a classroom, for all tests here."""

from classroom_fixtures import classroom, here, prepared, workers  # noqa: F401
