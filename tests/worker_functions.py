"""Functions that worker processes run in the tests of their limits."""

import os
import time

from autograder.grading.worker import time_limited_stage


def sleep_with_a_stage(name, seconds):
    with time_limited_stage("Reading it", 0.5):
        time.sleep(seconds)
    return name


def grow(megabytes):
    return str(len(bytearray(megabytes * 1_000_000)))


def grow_in_stage(megabytes):
    with time_limited_stage("Reading it", 20):
        return grow(megabytes)


def die(code):
    os._exit(code)


def die_after_stage():
    with time_limited_stage("Reading it", 20):
        pass
    os._exit(1)


def die_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        os._exit(3)
    return "alive"


def recurse():
    return recurse()


def die_or_not(number):
    if number == 2:
        os._exit(1)
    return str(number)


def fail_in_stage():
    with time_limited_stage("Reading it", 20):
        raise KeyError("x")


def fail_and_go_on():
    try:
        with time_limited_stage("Reading it", 0.2):
            raise KeyError("x")
    except KeyError:
        time.sleep(0.6)
    return "done"


class Mute(Exception):
    def __str__(self):
        raise OSError


def fail_without_words():
    raise Mute


LEFT_OVERS = []


def leave_behind(megabytes):
    LEFT_OVERS.append(bytearray(b"x") * (megabytes * 1_000_000))
    return "left"


def need(megabytes):
    block = bytearray(b"x") * (megabytes * 1_000_000)
    time.sleep(0.2)
    return str(len(block) // 1_000_000)
