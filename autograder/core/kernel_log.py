"""Logs of a notebook's kernel and its connection: drop harmless errors, quote the end of a log."""

import errno
import logging
from typing import BinaryIO

MAX_LOG_CHARACTERS = 2_000  # of the end of a log: room for the last lines of a crash

# Loggers of the event loop that a kernel's connection uses.
_LOGGERS = ("tornado.application", "tornado.general")


class _ClosedSocketFilter(logging.Filter):
    """Filter that drops errors about a socket that was closed already."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return getattr(error, "errno", None) != errno.ENOTSOCK


def ignore_closed_sockets() -> None:
    """Do not log that a kernel's socket is closed; a second call changes nothing.

    When a kernel is shut down, its client may still wait for a message on a socket that it has
    just closed. Then the event loop logs a traceback, although nothing is lost.
    """
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(item, _ClosedSocketFilter) for item in logger.filters):
            logger.addFilter(_ClosedSocketFilter())


def read_end_of_log(log_file: BinaryIO) -> str:
    """Return the last text of a kernel's log, or "(nothing)" if the log is empty.

    The output of the kernel's process itself goes into a file. While it shuts down, it may log that
    its socket is closed, which is no error for people. If it dies, the log can tell why.
    """
    log_file.seek(0)
    text = log_file.read().decode("utf-8", "replace").strip()
    return text[-MAX_LOG_CHARACTERS:] or "(nothing)"
