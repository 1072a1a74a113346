"""Tests of merging the files of two folders of one student."""

import pytest
from downloads import collect, notebook, write_files

from autograder.intake import read_origins
from autograder.intake.merge_folders import (
    is_source_newer,
    list_labs_of_student,
    merge_lab_files,
    remove_empty_folders,
)

LAB = "qkv-attention"
NAME = "{lab}_{student}_attempt_2026-11-{day}-14-03-22_{lab}.ipynb"  # as Blackboard writes it


def merge(classroom):
    for lab in list_labs_of_student(classroom.root, "bob"):
        newer = is_source_newer(classroom.root, "bob", "robert", lab)
        merge_lab_files(classroom.root, "bob", "robert", lab, newer)
    remove_empty_folders(classroom.root, "bob")


@pytest.mark.parametrize(("day_of_bob", "counts"), [("19", "robert"), ("21", "bob")])
def test_the_newer_submission_counts_with_its_time_and_origin(classroom, inbox, day_of_bob, counts):
    files = {}
    for student, day in (("bob", day_of_bob), ("robert", "20")):
        files[NAME.format(lab=LAB, student=student, day=day)] = notebook(student)
    collect([write_files(inbox, files)], classroom)
    origin = read_origins(classroom.root)[counts, LAB]
    merge(classroom)
    assert [path.name for path in classroom.submitted.iterdir()] == ["robert"]
    folder = classroom.submitted / "robert" / LAB
    assert (folder / f"{LAB}.ipynb").read_bytes() == notebook(counts)
    assert (folder / "timestamp.txt").read_text() == f"{origin.submission_time}\n"
    assert read_origins(classroom.root) == {("robert", LAB): origin}
    (earlier,) = (classroom.root / "submitted-earlier" / "robert" / LAB).glob("*.ipynb")
    other = ({"bob", "robert"} - {counts}).pop()
    assert earlier.read_bytes() == notebook(other) and earlier.with_suffix(".txt").is_file()


def test_the_choice_of_an_attempt_moves_with_the_results(classroom):
    write_files(classroom.root, {f"submitted/bob/{LAB}/{LAB}.ipynb": notebook()})
    write_files(classroom.root, {f"results/bob/{LAB}.counts": b"x.ipynb"})
    merge(classroom)
    assert (classroom.root / f"results/robert/{LAB}.counts").read_text() == "x.ipynb"
    assert list_labs_of_student(classroom.root, "bob") == []


def test_a_link_in_place_of_a_folder_is_left_alone(classroom, inbox, tmp_path):
    write_files(tmp_path / "elsewhere", {f"{LAB}/{LAB}.ipynb": notebook()})
    classroom.submitted.mkdir(parents=True)
    (classroom.submitted / "bob").symlink_to(tmp_path / "elsewhere")
    assert list_labs_of_student(classroom.root, "bob") == []
    assert (tmp_path / "elsewhere" / LAB / f"{LAB}.ipynb").is_file()
