"""Merge two folders of one student in the classroom into one.

A class is split if it was collected before its roster could tell that two names are one student's.
Every step may be repeated: after a merge that was interrupted, the same command goes on.
"""

import os
from glob import escape
from pathlib import Path

from autograder.intake.store import (
    Origin,
    make_earlier_attempt_file_name,
    read_stored_submission,
    write_time_of_earlier_attempt,
)

# Folders of the classroom in which each student has a folder. A merge deletes the pages in
# feedback/ instead of moving them, since `autograder feedback` writes them again.
_RESULT_ENDINGS = ("json", "counts", "recorded", "feedback")
_STUDENT_FOLDERS = (
    "submitted",
    "submitted-earlier",
    "collected",
    "results",
    "autograded",
    "feedback",
)


def list_labs_of_student(root: Path, folder: str) -> list[str]:
    """Return the sorted names of the labs for which a student has any files in the classroom."""
    names: set[str] = set()
    for top in _STUDENT_FOLDERS:
        place = root / top / folder
        if place.is_dir() and not place.is_symlink():
            names.update(path.name.partition(".")[0] for path in place.iterdir())
    return sorted(names - {"", "term"})


def is_source_newer(root: Path, source: str, target: str, lab: str) -> bool:
    """Return True if the folder `target` has no submission, or an older one than `source`."""
    _, source_origin = read_stored_submission(root, source, lab)
    _, target_origin = read_stored_submission(root, target, lab)
    if source_origin is None or target_origin is None:
        return target_origin is None
    return source_origin.is_newer_than(target_origin)


def merge_lab_files(root: Path, source: str, target: str, lab: str, source_is_newer: bool) -> None:
    """Move all files of one lab from the folder `source` to the folder `target`.

    The older one of two submissions is kept in submitted-earlier/.
    """
    source_path, source_origin = read_stored_submission(root, source, lab)
    target_path, target_origin = read_stored_submission(root, target, lab)
    _move_files(
        root / "submitted-earlier" / source / lab, root / "submitted-earlier" / target / lab
    )
    if source_path and target_path and source_origin and target_origin:
        older_path, older = target_path, target_origin
        if not source_is_newer:
            older_path, older = source_path, source_origin
        _keep_as_earlier(root / "submitted-earlier" / target / lab, older_path, older)
    loser = source
    if source_is_newer and source_path:
        loser = target
    # Move the submissions last. If the merge is interrupted and then repeated, they are still where
    # they were, so the same one is chosen as the newer one.
    for ending in _RESULT_ENDINGS:
        _move_file(root / "results", source, target, f"{lab}.{ending}", replaces=loser == target)
    for folder in (source, target):
        for path in (root / "results" / folder).glob(f"{escape(lab)}.attempt*"):
            path.unlink()  # the attempts of both are graded together in the next run
    for top in ("autograded", "submitted"):
        if loser == target:
            _remove(root / top / target / lab)
        _move_files(root / top / source / lab, root / top / target / lab)
    _move_file(root / "collected", source, target, f"{lab}.json", replaces=loser == target)
    _move_file(root / "collected", source, target, f"{lab}.uploads", replaces=False)
    _remove(root / "feedback" / source / lab)


def _move_file(top: Path, source: str, target: str, name: str, replaces: bool) -> None:
    """Move one file from the folder `source`; delete it if `target` has one that must stay."""
    path, new_path = top / source / name, top / target / name
    if path.is_file() and not path.is_symlink() and (replaces or not new_path.exists()):
        new_path.parent.mkdir(parents=True, exist_ok=True)
        path.replace(new_path)
    path.unlink(missing_ok=True)


def remove_empty_folders(root: Path, folder: str) -> None:
    """Remove a merged student's empty folders, and the page about the student's term."""
    (root / "feedback" / folder / "term.html").unlink(missing_ok=True)
    for top in _STUDENT_FOLDERS:
        place = root / top / folder
        if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
            place.rmdir()


def _keep_as_earlier(folder: Path, path: Path, origin: Origin) -> None:
    """Move a submission's notebook into the folder of earlier submissions, and note its time."""
    folder.mkdir(parents=True, exist_ok=True)
    earlier_path = folder / make_earlier_attempt_file_name(origin)
    write_time_of_earlier_attempt(earlier_path, origin)
    path.replace(earlier_path)


def _move_files(source: Path, target: Path) -> None:
    """Move the files of a folder into another one, which keeps a file of the same name."""
    if not source.is_dir() or source.is_symlink():
        return
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        if not os.path.lexists(target / path.name):
            path.rename(target / path.name)
    _remove(source)


def _remove(folder: Path) -> None:
    """Remove a folder and the files in it; do nothing if it is missing, or is a link."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            _remove(path)
        else:
            path.unlink()
    folder.rmdir()
