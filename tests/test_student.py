"""`check`, `ready` and `progress` as a student meets them."""

import numpy as np
import pytest

from autograder import student
from autograder.student import CheckFailed, check, progress, ready


def softmax(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


RIGHT = softmax


def named(function, name="softmax"):
    function.__name__ = name
    return function


def test_a_right_answer_gets_a_line_a_case_and_its_points(capsys):
    check(RIGHT)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 5
    assert all(line.startswith("✓ ") for line in lines[:-1])
    assert lines[-1].startswith("softmax: right in all")
    assert "point" in lines[-1]


def test_a_known_mistake_is_explained_in_words_and_numbers(capsys):
    wrong = named(lambda x, axis=0: np.exp(x) / np.exp(x).sum())
    with pytest.raises(CheckFailed) as caught:
        check(wrong)
    out = capsys.readouterr().out
    assert "✗" in out
    assert "What it means:" in out
    assert "To think about:" in out
    assert "Expected:" in out
    assert caught.value._render_traceback_() == [str(caught.value._line)]
    assert "\n" not in caught.value._line


def test_an_untouched_stub_gets_a_clean_message(capsys):
    def stub(x, axis=0):
        raise NotImplementedError

    with pytest.raises(CheckFailed) as caught:
        check(named(stub))
    assert caught.value._line == "softmax: not written yet."
    assert capsys.readouterr().out.startswith("This exercise is not written yet.")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, "check needs the function itself, not a int"),
        ("softmax", "check needs the function itself, not the text 'softmax'"),
        (np.ones(3), "check needs the function itself, not a ndarray"),
        (named(lambda x, axis=0: x, "sotfmax"), "No exercise is called 'sotfmax'"),
        (named(lambda: 1), "cannot be called with"),
        (named(lambda x: x), "put the stub's first line back as it was"),
    ],
)
def test_bad_input_gets_one_sentence(answer, sentence):
    with pytest.raises(CheckFailed) as caught:
        check(answer)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda x, axis=0: None, "Your function returned None."),
        (lambda x, axis=0: print(x), "Your function returned None."),
        (lambda x, axis=0: 1 / 0, "Your function raised ZeroDivisionError: division by zero"),
        (lambda x, axis=0: "text", "Your function returned a str"),
    ],
)
def test_bad_results_get_one_sentence(answer, sentence, capsys):
    with pytest.raises(CheckFailed):
        check(named(answer))
    assert sentence in capsys.readouterr().out


def test_ready_says_what_a_cell_waits_for(capsys):
    assert ready(RIGHT)
    assert not ready(RIGHT, named(lambda x, axis=0: x))
    assert capsys.readouterr().out == "This cell waits for: softmax.\n"


def test_progress_counts_what_passed(capsys, monkeypatch):
    monkeypatch.setattr(student, "_passed", {})
    check(RIGHT)
    with pytest.raises(CheckFailed):
        check(named(lambda x, axis=0: x, "stable_softmax"))
    capsys.readouterr()
    progress()
    out = capsys.readouterr().out
    assert "✓ softmax" in out
    assert "✗ stable_softmax" in out
    assert "· calculate_weights" in out
    with pytest.raises(CheckFailed, match="There is no lab 'x'"):
        progress("x")


def test_check_shows_html_where_there_is_a_kernel(monkeypatch):
    """In a notebook the message comes with a picture; its plain text stays for others."""
    import IPython

    shown = []
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    with pytest.raises(CheckFailed):
        check(named(lambda x, axis=0: np.exp(x) / np.exp(x).sum()))
    assert "data:image/png;base64," in shown[0]["text/html"]
    assert "What it means:" in shown[0]["text/plain"]
