"""Test that a mark names two slips at once, as the check does."""

import nbformat
import pytest
from our_course import ROOT, lab
from sample_class import perfect, with_answer, written_out

from autograder.grading.grade_submission import add_slip_pairs, grade_submission
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.sandbox.no_isolation import NoIsolation
from autograder.student import answer_key

NAME = "shift_matrix"


@pytest.fixture
def exercise():
    add_slip_pairs.cache_clear()
    yield lab("positions").exercises[NAME]
    add_slip_pairs.cache_clear()


@pytest.mark.long
def test_a_mark_names_every_pair_as_the_check_does(exercise):
    test_cases, misconceptions = add_slip_pairs(exercise)
    key = answer_key.load_exercise_key(NAME)
    assert [m.name for m in misconceptions] == [m.name for m in key.misconceptions]
    pairs = [pair for pair in exercise.make_slip_pairs() if pair.name in test_cases[0].mistakes]
    assert len(pairs) > 20
    for pair in pairs[::10]:
        outcomes = [call_student_function(pair.function, case.inputs) for case in test_cases]
        in_check = judge(key.test_cases, outcomes, key.rules, key.misconceptions)
        in_mark = judge(test_cases, outcomes, exercise.rules, misconceptions)
        assert in_mark.misconception == in_check.misconception == pair.name


def test_a_graded_submission_has_the_name_and_the_sentences_of_both_slips(exercise):
    pair = next(p for p in exercise.make_slip_pairs() if p.name == "halves + not-doubled")
    notebook = with_answer(perfect(exercise.lab), NAME, written_out(exercise, pair.function))
    with NoIsolation(library=[ROOT / "attention_labs", ROOT / "data"], course=ROOT) as sandbox:
        submission = grade_submission(
            nbformat.writes(notebook).encode(), exercise.lab, sandbox, salt="", follow_through=False
        )
    (result,) = [result for result in submission.results if result.exercise == NAME]
    assert result.misconception == pair.name
    assert pair.means in result.message


def test_without_an_answer_key_there_are_no_pairs(exercise, monkeypatch, tmp_path):
    monkeypatch.setattr(type(exercise.lab.course), "answer_key_folder", lambda *_: tmp_path)
    assert add_slip_pairs(exercise) == (exercise.test_cases(), exercise.misconceptions)


def test_a_key_of_other_cases_gives_no_pairs(exercise, monkeypatch):
    monkeypatch.setitem(vars(exercise), "_visible_test_cases", exercise.test_cases()[1:])
    test_cases, misconceptions = add_slip_pairs(exercise)
    assert misconceptions == exercise.misconceptions
    assert test_cases == exercise.test_cases()
