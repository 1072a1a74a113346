"""A closed socket of a kernel's connection is no error for people; all others are logged."""

import errno
import io
import logging

import pytest
from zmq.error import ZMQError

from autograder.core.kernel_log import (
    MAX_LOG_CHARACTERS,
    ignore_closed_sockets,
    read_end_of_log,
)


@pytest.mark.parametrize("name", ["tornado.application", "tornado.general"])
def test_only_the_error_about_a_closed_socket_is_left_out(name):
    """The filter is asked: other programs in this process may change the loggers' other settings."""
    ignore_closed_sockets()
    ignore_closed_sockets()
    logger = logging.getLogger(name)
    assert len([item for item in logger.filters if "ClosedSocket" in type(item).__name__]) == 1
    shown_errors = []
    for error in (ZMQError(errno.ENOTSOCK), ZMQError(errno.EINVAL), ValueError("x"), None):
        exc_info = error and (type(error), error, None)
        record = logger.makeRecord(name, logging.ERROR, __file__, 1, "Exception", (), exc_info)
        if logger.filter(record):
            shown_errors.append(error and type(error))
    assert shown_errors == [ZMQError, ValueError, None]


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (b"", "(nothing)"),
        (b"\n one\ntwo \n", "one\ntwo"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        (b"a" + b"b" * MAX_LOG_CHARACTERS, "b" * MAX_LOG_CHARACTERS),
    ],
)
def test_the_end_of_a_log_is_shown(log, text):
    log_file = io.BytesIO(log)
    log_file.seek(0, io.SEEK_END)
    assert read_end_of_log(log_file) == text
