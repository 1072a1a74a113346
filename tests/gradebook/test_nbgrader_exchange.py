"""Collecting from nbgrader's exchange: whose is a submitted folder?"""

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbgrader.coursedir import CourseDirectory

from autograder.gradebook import nbgrader_exchange


@pytest.mark.skipif(
    os.name != "posix", reason="nbgrader's exchange is for one machine of several accounts"
)
@pytest.mark.parametrize(
    ("account", "student", "is_collected"),
    [
        ("ada", "ada", True),
        ("ada+bob", "ada+bob", True),  # an account may have such a name, and nbgrader joins by `+`
        ("a+d+a+", "a+d+a+", True),
        ("ada", "ada+bob", False),
        ("ada+bob", "ada", False),
        ("bob", "ada+bob", False),
    ],
)
def test_a_folder_belongs_to_the_account_before_the_last_three_parts(
    tmp_path, monkeypatch, account, student, is_collected
):
    monkeypatch.setattr(
        nbgrader_exchange.pwd, "getpwuid", lambda _: SimpleNamespace(pw_name=account)
    )
    collect = nbgrader_exchange.Collect(coursedir=CourseDirectory(), check_owner=True)
    folder = tmp_path / f"{student}+qkv-attention+2026-11-20 10:00:00 UTC+x"
    folder.mkdir()
    (folder / "qkv-attention.ipynb").write_bytes(b"{}")
    collect.do_copy(str(folder), str(tmp_path / "collected"))
    assert (tmp_path / "collected" / "qkv-attention.ipynb").exists() == is_collected


@pytest.mark.parametrize(
    ("limit", "value", "is_copied"),
    [
        ("MAX_SUBMISSION_BYTES", 9, True),
        ("MAX_SUBMISSION_BYTES", 8, False),
        ("MAX_SUBMISSION_FILES", 3, True),
        ("MAX_SUBMISSION_FILES", 2, False),
    ],
)
def test_all_files_of_a_submission_count_together(tmp_path, monkeypatch, limit, value, is_copied):
    monkeypatch.setattr(nbgrader_exchange, limit, value)
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    for name in ("a.ipynb", "b.png", "inner/c.png"):
        (folder / name).write_bytes(b"123")
    (folder / "link").symlink_to(tmp_path)
    copy = partial(nbgrader_exchange._copy_regular_files_and_list_others, folder, tmp_path / "copy")
    if is_copied:
        assert copy() == ["link"]
        assert (tmp_path / "copy" / "inner" / "c.png").read_bytes() == b"123"
    else:
        with pytest.raises(OSError, match="it is more than"):
            copy()


def test_nothing_is_left_of_a_submission_that_could_not_be_collected(tmp_path, monkeypatch):
    def copy_half(self, src, dest, log=None):
        Path(dest).mkdir()
        Path(dest, "qkv-attention.ipynb").write_bytes(b"{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nbgrader_exchange.ExchangeCollect, "do_copy", copy_half)
    collect = nbgrader_exchange.Collect(coursedir=CourseDirectory(), check_owner=False)
    folder = tmp_path / "ada+qkv-attention+2026-11-20 10:00:00 UTC+x"
    folder.mkdir()
    collect.do_copy(str(folder), str(tmp_path / "collected"))
    assert not (tmp_path / "collected").exists()
