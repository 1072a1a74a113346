"""Downloads in the platforms' own forms, and what became of them in the classroom."""

import io
import json
import os
import zipfile
from types import SimpleNamespace

from autograder.grading import intake

LABS = ("additive-attention", "qkv-attention", "attention-masks")
GRADE_IDS = {"softmax": "qkv-attention", "causal-mask": "attention-masks"}
QKV = "qkv-attention"
NEWER = (2026, 11, 21, 12, 0, 0)
OLDER = (2026, 11, 20, 12, 0, 0)


def classroom(root):
    return SimpleNamespace(root=root, submitted=root / "submitted")


def collect(paths, room, labs=LABS, **options):
    return intake.collect(paths, room.root, labs, grade_ids=GRADE_IDS, **options)


def notebook(text="x", grade_id=None):
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    cell = {"cell_type": "code", "source": text, "metadata": metadata, "outputs": []}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def make_zip(target, members):
    """A zip of {name or ZipInfo: bytes}, or of pairs; returns what it was written to."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name, OLDER)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return target


def zip_bytes(members):
    return make_zip(io.BytesIO(), members).getvalue()


def member(name, when=OLDER, mode=None, raw=None):
    info = zipfile.ZipInfo(name, when)
    if mode is not None:
        info.create_system, info.external_attr = 3, mode << 16
    if raw is not None:
        info.filename = raw  # past ZipInfo's own tidying
    return info


def put(folder, files, when=None):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if when:
            os.utime(path, (when, when))
    return folder


def filed(room):
    """{student/lab: (text of the notebook, time stamp)} of what is in submitted/."""
    found = {}
    for path in sorted(room.submitted.glob("*/*/*.ipynb")):
        stamp = path.with_name("timestamp.txt")
        assert path.stem == path.parent.name
        text = json.loads(path.read_bytes())["cells"][0]["source"]
        key = path.parent.relative_to(room.submitted).as_posix()
        found[key] = (text, stamp.read_text().strip() if stamp.exists() else None)
    return found


def texts(room):
    return {key: text for key, (text, _) in filed(room).items()}


def earlier(room):
    return sorted((room.root / "submitted-earlier").rglob("*.ipynb"))


def only(report):
    (row,) = report.rows
    return row


def of(report, outcome):
    return [row for row in report.rows if row.outcome == outcome]


def refusals(report):
    return [row.reason for row in of(report, "refused")]


def snapshot(folder):
    """Every path below a folder with its kind, bytes and times, folders included."""
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


def blackboard(user="ada1", date="Friday, November 20, 2026 2:03:22 PM EST", receipt=True):
    begins = f"qkv-attention_{user}_attempt_2026-11-20-14-03-22"
    files = {f"{begins}_qkv-attention.ipynb": notebook(user)}
    return files | ({f"{begins}.txt": RECEIPT.format(user=user, date=date).encode()} if receipt else {})


def attempts(*minutes):
    return {
        f"lab_ada_attempt_2026-11-20-14-{minute:02}-00_qkv-attention.ipynb": notebook(f"at {minute}")
        for minute in minutes
    }
