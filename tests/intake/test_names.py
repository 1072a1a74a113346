"""Names as data: whatever a student is called, whatever a file is called."""

import unicodedata

import pytest
from downloads import GRADE_IDS
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.intake import names
from autograder.grading.intake.names import (
    copy_number,
    is_generic,
    lab_of,
    lab_of_cells,
    safe_student,
    same_case,
    shown,
)


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"\xff" * 1000, b'"grade_id": "' + b"a" * 10_000])
def test_looking_at_cells_never_raises(data):
    assert lab_of_cells(data, GRADE_IDS) == ""


def test_by_name_says_nothing_where_two_labs_are_named():
    assert lab_of("attention-masks and qkv-attention.ipynb", ["attention-masks", "qkv-attention"]) == ""


@pytest.mark.parametrize("name", ["Ada Lovelace", "Zoë", "李雷", "O'Neil", "ada@uni.edu", "ada.l_2-b"])
def test_ordinary_names_stay(name):
    assert safe_student(name) == name
    assert safe_student(unicodedata.normalize("NFD", name)) == name


@pytest.mark.parametrize(
    "name",
    ["../ada", "..", ".", "", ".ada", "ada.", "-rf", "a/b", "a\\b", "c:ada", "a*b", "a?b", "con", "NUL.txt"]
    + ["COM¹", "a\nb", "a\u202eb", "a\udce9b", "a" * 500, "李" * 200, "[ada]", "a  b"],
)
def test_other_names_are_changed_and_stay_apart(name):
    safe = safe_student(name)
    assert safe != name and safe == safe_student(name)
    assert len(safe.encode()) <= 100 and safe[0] not in ".- " and safe[-1] not in ". "
    assert not set(safe) & set('/\\:*?"<>|[]\n\0') and safe.isprintable()
    assert safe.split(".")[0].casefold() not in names._RESERVED
    assert safe_student(name + "x") != safe


@pytest.mark.parametrize("unseen", ["\u3164", "\u034f", "\ufe0f", "\u115f", "\U000e0101", "\u200b", "\u2060"])
def test_a_letter_that_nobody_sees_makes_no_second_student_of_the_same_look(unseen):
    safe = safe_student(f"ada{unseen}")
    assert unseen not in safe and safe.startswith("ada-") and safe != safe_student(f"ada{unseen}{unseen}")


@settings(max_examples=300, deadline=None)
@given(name=st.text(max_size=200))
def test_any_name_becomes_a_safe_folder(name):
    safe = safe_student(name)
    assert safe and safe.isprintable() and len(safe.encode()) <= 100
    assert safe not in (".", "..") and not set(safe) & set('/\\:*?"<>|\0') and safe[0] != "."
    assert safe_student(safe) == safe
    assert shown(name).isprintable()
    for function in (is_generic, same_case, copy_number):
        function(name)
    lab_of(name, ["qkv-attention"])


@settings(max_examples=300, deadline=None)
@given(one=st.text(max_size=80), other=st.text(max_size=80))
def test_two_names_are_one_folder_only_if_they_are_one_name(one, other):
    same = unicodedata.normalize("NFC", one).strip() == unicodedata.normalize("NFC", other).strip()
    assert (safe_student(one) == safe_student(other)) == same
