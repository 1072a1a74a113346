"""Keep a harmless error of a notebook's kernel connection out of what people read."""

import errno
import logging

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
