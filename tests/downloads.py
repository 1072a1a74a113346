"""Helpers that make downloads of platforms, and read the files in the classroom."""

import io
import json
import os
import zipfile
from types import SimpleNamespace

from autograder import intake

LABS = ("additive-attention", "qkv-attention", "attention-masks")
GRADE_IDS = {"softmax": "qkv-attention", "causal-mask": "attention-masks"}
QKV = "qkv-attention"
NEWER = (2026, 11, 21, 12, 0, 0)
OLDER = (2026, 11, 20, 12, 0, 0)


def make_classroom(root):
    return SimpleNamespace(root=root, submitted=root / "submitted")


def collect(paths, classroom, labs=LABS, **options):
    return intake.collect(paths, classroom.root, labs, grade_ids=GRADE_IDS, **options)


def notebook(text="x", grade_id=None):
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    cell = {"cell_type": "code", "source": text, "metadata": metadata, "outputs": []}
    return json.dumps(
        {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5},
    ).encode()


def make_zip(target, members):
    """Write a zip of {name or ZipInfo: bytes}, or of pairs, and return the target."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name, OLDER)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return target


def zip_bytes(members):
    return make_zip(io.BytesIO(), members).getvalue()


def zip_member(name, time=OLDER, mode=None, raw=None):
    info = zipfile.ZipInfo(name, time)
    if mode is not None:
        info.create_system, info.external_attr = 3, mode << 16
    if raw is not None:
        info.filename = raw  # ZipInfo would clean it
    return info


def write_files(folder, files, modified_at=None):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if modified_at:
            os.utime(path, (modified_at, modified_at))
    return folder


def read_submitted(classroom):
    """Return {student/lab: (text of the notebook, time stamp)} of all submissions."""
    submissions = {}
    for path in sorted(classroom.submitted.glob("*/*/*.ipynb")):
        stamp = path.with_name("timestamp.txt")
        assert path.stem == path.parent.name
        text = json.loads(path.read_bytes())["cells"][0]["source"]
        key = path.parent.relative_to(classroom.submitted).as_posix()
        submissions[key] = (text, stamp.read_text().strip() if stamp.exists() else None)
    return submissions


def submitted_texts(classroom):
    return {key: text for key, (text, _) in read_submitted(classroom).items()}


def earlier_attempts(classroom):
    return sorted((classroom.root / "submitted-earlier").rglob("*.ipynb"))


def only_file(report):
    (row,) = report.files
    return row


def files_with_outcome(report, outcome):
    return [row for row in report.files if row.outcome == outcome]


def refusal_reasons(report):
    return [row.reason for row in files_with_outcome(report, "refused")]


def snapshot(folder):
    """Return all paths below a folder, folders included, with their times and bytes."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() and not path.is_symlink() else None,
        )
        for path in sorted(folder.rglob("*"))
    }


RECEIPT = """Name: Ada Lovelace ({user})
Assignment: qkv-attention
Date Submitted: {date}
Current Grade: Needs Grading

Submission Field:
There is no student submission text data for this assignment.

Files:
\tOriginal filename: qkv-attention.ipynb
\tFilename: qkv-attention_{user}_attempt_2026-11-20-14-03-22_qkv-attention.ipynb
"""


def blackboard_files(user="ada1", date="Friday, November 20, 2026 2:03:22 PM EST", receipt=True):
    begins = f"qkv-attention_{user}_attempt_2026-11-20-14-03-22"
    files = {f"{begins}_qkv-attention.ipynb": notebook(user)}
    return files | (
        {f"{begins}.txt": RECEIPT.format(user=user, date=date).encode()} if receipt else {}
    )


def blackboard_attempts(*minutes):
    return {
        f"lab_ada_attempt_2026-11-20-14-{minute:02}-00_qkv-attention.ipynb": notebook(
            f"at {minute}",
        )
        for minute in minutes
    }
