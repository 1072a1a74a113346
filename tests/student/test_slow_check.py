"""A check that takes long says so, in a student's own kernel only."""

import io
import sys
import time

import pytest

from autograder.student import slow_check
from autograder.student.slow_check import announce_slow_check


def wait_for_note(capsys):
    """Wait, within the block, until the note is there; return what was printed."""
    output = ""
    with announce_slow_check("softmax", seconds=0.01):
        for _ in range(200):
            output += capsys.readouterr().out
            if output:
                break
            time.sleep(0.02)
    return output


def test_a_slow_check_says_that_it_runs(monkeypatch, capsys):
    monkeypatch.setattr(slow_check, "in_notebook_kernel", lambda: True)
    monkeypatch.delenv("AUTOGRADER_REUSE", raising=False)
    assert wait_for_note(capsys) == (
        "softmax is still running. The check ends by itself after the time limit.\n"
    )


def test_a_quick_check_prints_nothing(monkeypatch, capsys):
    monkeypatch.setattr(slow_check, "in_notebook_kernel", lambda: True)
    monkeypatch.delenv("AUTOGRADER_REUSE", raising=False)
    with announce_slow_check("softmax", seconds=30):
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("is_kernel", "reuse"), [(False, None), (True, "off")])
def test_a_notebook_that_is_built_or_graded_prints_nothing(monkeypatch, capsys, is_kernel, reuse):
    monkeypatch.setattr(slow_check, "in_notebook_kernel", lambda: is_kernel)
    monkeypatch.delenv("AUTOGRADER_REUSE", raising=False)
    if reuse:
        monkeypatch.setenv("AUTOGRADER_REUSE", reuse)
    with announce_slow_check("softmax", seconds=0.0):
        time.sleep(0.1)
    assert capsys.readouterr().out == ""


def test_the_note_goes_where_the_check_prints_and_not_where_the_function_does(monkeypatch, capsys):
    """While the student's function runs, stdout is another stream."""
    monkeypatch.setattr(slow_check, "in_notebook_kernel", lambda: True)
    monkeypatch.delenv("AUTOGRADER_REUSE", raising=False)
    with announce_slow_check("softmax", seconds=0.02):
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        for _ in range(100):
            output = capsys.readouterr().out
            if output or sys.stdout.getvalue():
                break
            time.sleep(0.02)
        assert sys.stdout.getvalue() == "" and "softmax is still running" in output


def test_after_a_check_or_an_error_in_it_no_note_comes(monkeypatch, capsys):
    monkeypatch.setattr(slow_check, "in_notebook_kernel", lambda: True)
    monkeypatch.delenv("AUTOGRADER_REUSE", raising=False)
    with pytest.raises(ValueError, match="wrong"), announce_slow_check("softmax", seconds=0.05):
        raise ValueError("wrong")
    time.sleep(0.1)
    assert capsys.readouterr().out == ""
