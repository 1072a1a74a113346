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


def read_tree(root):
    """Return the content of each file below a folder, by path."""
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_text() for path in paths}


def write_class_of_two(root):
    """Write the files that a class can have of one lab, for bob and robert, and bob's other lab."""
    tops = {
        "submitted": [f"{LAB}/{LAB}.ipynb"],
        "autograded": [f"{LAB}/{LAB}.ipynb"],
        "results": [f"{LAB}.{ending}" for ending in ("json", "counts", "recorded", "feedback")],
        "collected": [f"{LAB}.uploads"],
        "feedback": [f"{LAB}/page.html", "term.html"],
        "submitted-earlier": [f"{LAB}/same.ipynb", f"{LAB}/{{student}}.ipynb"],
    }
    for student in ("bob", "robert"):
        for top, names in tops.items():
            files = {name.format(student=student): f"{student}'s".encode() for name in names}
            write_files(root / top / student, files)
        stamp = {"timestamp.txt": b"2026-11-20 14:03:22 UTC"}
        write_files(root / "submitted" / student / LAB, stamp)
    write_files(root / "submitted" / "bob" / "attention-masks", {"other.ipynb": b"bob's"})


@pytest.mark.parametrize("source_is_newer", [True, False])
def test_each_file_of_the_submission_that_counts_goes_with_it(tmp_path, source_is_newer):
    write_class_of_two(tmp_path)
    merge_lab_files(tmp_path, "bob", "robert", LAB, source_is_newer)
    remove_empty_folders(tmp_path, "bob")
    newer, older = ("bob's", "robert's") if source_is_newer else ("robert's", "bob's")
    tree = read_tree(tmp_path)
    names = [name for name in tree if name.startswith("submitted-earlier/robert") and "Z-" in name]
    (earlier,) = [name for name in names if name.endswith(".ipynb")]
    assert names and tree.pop(earlier) == older
    assert tree.pop(earlier.replace(".ipynb", ".txt")) == "2026-11-20 14:03:22 UTC\n"
    assert tree == {
        **{f"results/robert/{LAB}.{end}": newer for end in ("json", "counts", "recorded")},
        f"results/robert/{LAB}.feedback": newer,
        f"autograded/robert/{LAB}/{LAB}.ipynb": newer,
        f"submitted/robert/{LAB}/{LAB}.ipynb": newer,
        f"submitted/robert/{LAB}/timestamp.txt": "2026-11-20 14:03:22 UTC",
        f"collected/robert/{LAB}.uploads": "robert's",
        f"feedback/robert/{LAB}/page.html": "robert's",
        "feedback/robert/term.html": "robert's",
        f"submitted-earlier/robert/{LAB}/same.ipynb": "robert's",
        f"submitted-earlier/robert/{LAB}/robert.ipynb": "robert's",
        f"submitted-earlier/robert/{LAB}/bob.ipynb": "bob's",
        "submitted/bob/attention-masks/other.ipynb": "bob's",
    }
    assert list_labs_of_student(tmp_path, "bob") == ["attention-masks"]


def test_a_result_stays_in_the_folder_that_keeps_its_submission(tmp_path):
    """Without a submission of the other folder, a choice that robert's folder has stays."""
    write_class_of_two(tmp_path)
    (tmp_path / f"submitted/bob/{LAB}/{LAB}.ipynb").unlink()
    assert not is_source_newer(tmp_path, "bob", "robert", LAB)
    merge_lab_files(tmp_path, "bob", "robert", LAB, source_is_newer=True)
    tree = read_tree(tmp_path)
    assert not any("Z-" in name for name in tree)
    assert tree[f"submitted/robert/{LAB}/{LAB}.ipynb"] == "robert's"
    assert tree[f"results/robert/{LAB}.json"] == "robert's"
    (tmp_path / f"submitted/robert/{LAB}/{LAB}.ipynb").unlink()
    assert is_source_newer(tmp_path, "bob", "robert", LAB)


@pytest.mark.parametrize(
    "top", ["submitted", "submitted-earlier", "collected", "results", "autograded", "feedback"]
)
def test_files_in_any_one_folder_of_the_classroom_are_a_labs(tmp_path, top):
    write_files(tmp_path / top, {"bob/qkv-attention.x/y": b"", "bob/.hidden": b"", "eve/z/y": b""})
    assert list_labs_of_student(tmp_path, "bob") == [LAB]
    (tmp_path / top / "bo").mkdir()
    remove_empty_folders(tmp_path, "bo")
    remove_empty_folders(tmp_path, "bob")
    assert sorted(path.name for path in (tmp_path / top).iterdir()) == ["bob", "eve"]
