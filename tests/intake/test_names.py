"""Functions on the names of students, files and labs."""

import unicodedata

import pytest
from downloads import GRADE_IDS
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake import names
from autograder.intake.names import (
    copy_number,
    escape_unprintable,
    find_lab_by_cells,
    find_lab_by_name,
    fold_case,
    is_generic_name,
    make_safe_folder_name,
)


@pytest.mark.parametrize(
    "data",
    [b"", b"[" * 100_000, b"\xff" * 1000, b'"grade_id": "' + b"a" * 10_000],
)
def test_finding_a_lab_by_cells_never_raises(data):
    assert find_lab_by_cells(data, GRADE_IDS) == ""


def test_a_name_with_two_labs_tells_no_lab():
    assert (
        find_lab_by_name(
            "attention-masks and qkv-attention.ipynb",
            ["attention-masks", "qkv-attention"],
        )
        == ""
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("masks.ipynb and qkv.ipynb", {}),
        ("qkv", {}),  # and two labs whose names differ only in their punctuation
        ("QKV.ipynb", {"exact": True}),
    ],
)
def test_a_name_that_two_labs_match_equally_tells_no_lab(name, options):
    labs = ["masks", "qkv", "q-k-v"]
    assert (
        find_lab_by_name(name, labs, **options)
        == find_lab_by_name(name, labs[::-1], **options)
        == ""
    )


@pytest.mark.parametrize(
    ("cells", "lab"),
    [
        (["softmax", "causal-mask"], ""),
        (["causal-mask", "softmax"], ""),
        (["softmax", "causal-mask", "softmax"], ""),  # a cell that is there twice counts once
        (["softmax", "causal-mask", "attend"], "qkv-attention"),
    ],
)
def test_cells_of_two_labs_tell_the_lab_only_if_one_has_more(cells, lab):
    data = "".join(f'{{"grade_id": "{cell}"}}' for cell in cells).encode()
    assert find_lab_by_cells(data, {**GRADE_IDS, "attend": "qkv-attention"}) == lab


@pytest.mark.parametrize(
    "name",
    ["Ada Lovelace", "Zoë", "李雷", "O'Neil", "ada@uni.edu", "ada.l_2-b"],
)
def test_ordinary_names_stay(name):
    assert make_safe_folder_name(name) == name
    assert make_safe_folder_name(unicodedata.normalize("NFD", name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "../ada",
        "..",
        ".",
        "",
        ".ada",
        "ada.",
        "-rf",
        "a/b",
        "a\\b",
        "c:ada",
        "a*b",
        "a?b",
        "con",
        "NUL.txt",
    ]
    + ["COM¹", "a\nb", "a\u202eb", "a\udce9b", "a" * 500, "李" * 200, "[ada]", "a  b"],
)
def test_unsafe_names_are_changed_and_stay_different(name):
    safe = make_safe_folder_name(name)
    assert safe != name and safe == make_safe_folder_name(name)
    assert len(safe.encode()) <= 100 and safe[0] not in ".- " and safe[-1] not in ". "
    assert not set(safe) & set('/\\:*?"<>|[]\n\0') and safe.isprintable()
    assert safe.split(".")[0].casefold() not in names._WINDOWS_DEVICES
    assert make_safe_folder_name(name + "x") != safe


@pytest.mark.parametrize(
    "unseen",
    ["\u3164", "\u034f", "\ufe0f", "\u115f", "\U000e0101", "\u200b", "\u2060"],
)
def test_an_invisible_letter_does_not_make_a_second_student_of_the_same_look(unseen):
    safe = make_safe_folder_name(f"ada{unseen}")
    assert (
        unseen not in safe
        and safe.startswith("ada-")
        and safe != make_safe_folder_name(f"ada{unseen}{unseen}")
    )


@given(name=st.text(max_size=200))
def test_any_name_becomes_a_safe_folder(name):
    safe = make_safe_folder_name(name)
    assert safe and safe.isprintable() and len(safe.encode()) <= 100
    assert safe not in (".", "..") and not set(safe) & set('/\\:*?"<>|\0') and safe[0] != "."
    assert make_safe_folder_name(safe) == safe
    assert escape_unprintable(name).isprintable()
    for function in (is_generic_name, fold_case, copy_number):
        function(name)
    find_lab_by_name(name, ["qkv-attention"])


@given(first=st.text(max_size=80), second=st.text(max_size=80))
def test_two_names_are_one_folder_only_if_they_are_one_name(first, second):
    are_equal = (
        unicodedata.normalize("NFC", first).strip() == unicodedata.normalize("NFC", second).strip()
    )
    assert (make_safe_folder_name(first) == make_safe_folder_name(second)) == are_equal


def test_names_that_differ_in_a_byte_that_is_no_text_are_two_folders():
    """Python reads a file name that is not UTF-8 into lone surrogates."""
    assert make_safe_folder_name("J\udce9r\udce9my") != make_safe_folder_name("J\udce8r\udce9my")


@pytest.mark.parametrize(("cells", "lab"), [("aabbc", ""), ("aabc", "a"), ("abc", "")])
def test_a_tie_of_the_first_two_of_three_labs_is_a_tie(cells, lab):
    names = [f"{letter}{number}" for number, letter in enumerate(cells)]
    data = "".join(f'"grade_id": "{name}"' for name in names).encode()
    assert find_lab_by_cells(data, {name: name[0] for name in names}) == lab


def test_the_name_of_a_folder_has_up_to_so_many_bytes():
    half = names.MAX_FOLDER_NAME_BYTES // 2
    for name in ("a" * 2 * half, "é" * half):
        assert make_safe_folder_name(name) == name
        assert make_safe_folder_name(f"{name}a") != f"{name}a"
    assert len(make_safe_folder_name("a" * (2 * half + 1))) == names.MAX_FOLDER_NAME_BYTES


@pytest.mark.parametrize(
    ("path", "kind", "stem"),
    [
        ("x/a b.IPYNB", "notebook", "a b"),
        ("a.ipynb.txt", "notebook", "a"),
        ("a.ipynb.json", "notebook", "a"),
        ("a.zip.ipynb", "notebook", "a"),
        ("a.ipynb.Zip", "zip", "a.ipynb"),
        ("x/A.ZIP", "zip", "A"),
        ("a.ipynb/b.txt", "", "b.txt"),
        ("a.zipped", "", "a.zipped"),
    ],
)
def test_the_end_of_a_name_tells_the_kind_of_the_file_in_any_case(path, kind, stem):
    kinds = (names.is_notebook(path), names.is_zip(path))
    assert kinds == (kind == "notebook", kind == "zip")
    assert names.get_stem(path) == stem


CONTAINERS = "submissions submitted downloads exports HW-3 class course term week_2 assignments"
GENERIC = "untitled notebook work final solutions answer project src code main new old test_2"


@pytest.mark.parametrize(
    ("named", "is_class", "is_generic"),
    [
        ([*CONTAINERS.split(), "Lab 2", "hand ins", "home work", "attention labs"], True, True),
        ([*GENERIC.split(), "my work", "Copy"], False, True),
        (["qkv-attention", "QKV attention.ipynb", "x-submissions"], True, False),
        (["jane", "lab jane", "submissions-x", "my qkv-attention", "final_v2"], False, False),
    ],
)
def test_a_name_is_a_classs_or_generic_or_a_students(named, is_class, is_generic):
    for name in named:
        kinds = (names.is_named_like_class_folder(name, ["qkv-attention"]), is_generic_name(name))
        assert kinds == (is_class, is_generic), name


def test_a_copys_number_stands_behind_a_sign():
    numbers = {"a copy 2": 2, "a copy2": 2, "a (12)": 12, "a3": 0, "a-1234567": 0, "v2": 0}
    assert {name: copy_number(f"b-7/{name}.ipynb") for name in numbers} == numbers


def test_of_a_long_text_the_beginning_and_the_end_are_shown():
    assert escape_unprintable("abcdefghijklmnop", 10) == "abcdef…nop"
    assert escape_unprintable("abcdefghij", 10) == "abcdefghij"
    assert escape_unprintable("a\tb\\") == "a\\tb\\"
    description = names.describe_account("Moodle", "x" * 50, "y" * 50)
    assert description == f"Moodle '{'x' * 48}…{'y' * 23})'"
    assert names.describe_account("Moodle", "7", "7") == "Moodle '7'"


@pytest.mark.parametrize("name", ["con", "NUL.txt", "aux .b", "Com¹", "lpt0.x.y", "prn"])
def test_a_name_that_windows_gives_to_a_device_is_changed(name):
    folder = make_safe_folder_name(name)
    assert folder.startswith(name.replace(".", "-")) and folder != name
    others = ("console", "com", "xcon", "lpt10", "a.con")
    assert [make_safe_folder_name(other) for other in others] == list(others)
