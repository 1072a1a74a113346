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


def test_the_graded_attempts_of_both_folders_are_forgotten_and_no_other_labs(classroom):
    write_files(classroom.root, {f"submitted/bob/{LAB}/{LAB}.ipynb": notebook()})
    other = "results/robert/attention-masks.attempts"
    names = [f"{LAB}.attempts", f"{LAB}.attempt-1a2b"]
    files = {f"results/{s}/{name}": b"{}" for s in ("bob", "robert") for name in names}
    write_files(classroom.root, {**files, other: b"{}"})
    merge(classroom)
    left = [path for path in (classroom.root / "results").rglob("*") if path.is_file()]
    assert left == [classroom.root / other]


def test_a_page_about_the_term_alone_is_no_lab_and_goes_with_the_folder(classroom):
    write_files(classroom.root, {"feedback/bob/term.html": b"page"})
    assert list_labs_of_student(classroom.root, "bob") == []
    merge(classroom)
    assert not (classroom.root / "feedback" / "bob").exists()


def test_a_link_in_place_of_a_folder_is_left_alone(classroom, inbox, tmp_path):
    write_files(tmp_path / "elsewhere", {f"{LAB}/{LAB}.ipynb": notebook()})
    classroom.submitted.mkdir(parents=True)
    (classroom.submitted / "bob").symlink_to(tmp_path / "elsewhere")
    assert list_labs_of_student(classroom.root, "bob") == []
    assert (tmp_path / "elsewhere" / LAB / f"{LAB}.ipynb").is_file()
