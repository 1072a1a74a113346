"""A closed socket of a kernel's connection is no error for people; all others are logged."""

import errno
import logging

import pytest
from zmq.error import ZMQError

from autograder.core.kernel_log_filter import ignore_closed_sockets


@pytest.mark.parametrize("name", ["tornado.application", "tornado.general"])
def test_only_the_error_about_a_closed_socket_is_left_out(name, caplog):
    ignore_closed_sockets()
    ignore_closed_sockets()
    logger = logging.getLogger(name)
    assert len([item for item in logger.filters if "ClosedSocket" in type(item).__name__]) == 1
    for error in (ZMQError(errno.ENOTSOCK), ZMQError(errno.EINVAL), ValueError("x")):
        logger.error("Exception in callback", exc_info=error)
    logger.error("no exception")
    errors = [record.exc_info and type(record.exc_info[1]) for record in caplog.records]
    assert errors == [ZMQError, ValueError, None]
