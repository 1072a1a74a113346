"""Gradebooks in SQLite whose statements are compiled once, and that do not wait for the disk."""

import functools

from nbgrader import api
from sqlalchemy import create_engine, event


def share_statements(patch=setattr) -> None:
    """Let the gradebooks that this process opens share their compiled SQL statements.

    Each gradebook has an SQLAlchemy engine of its own, which compiles its statements anew. A
    command opens few gradebooks, and the tests open thousands.
    """
    patch(api, "create_engine", _create_engine)


def _create_engine(url, **options):
    engine = create_engine(url, **options)
    if engine.dialect.name == "sqlite":
        shared = _shared_engine()
        engine.dialect, engine._compiled_cache = shared.dialect, shared._compiled_cache
        event.listen(engine, "connect", _write_without_waiting)
    return engine


@functools.cache
def _shared_engine():
    """Return the engine whose compiled statements all gradebooks of this process use."""
    engine = create_engine("sqlite://")
    engine.connect().close()  # only then has its dialect read what this SQLite can do
    return engine


def _write_without_waiting(connection, _) -> None:
    """Do not wait until the disk has what is written: no test ends the machine's power."""
    connection.execute("PRAGMA synchronous = OFF")
