"""Files are written completely or not at all, and nothing else is left beside them."""

import os

import pytest

from autograder.core.files import write_file


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_write_leaves_the_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "marks.csv"
    write_file(path, "old")
    write_file(path, b"new")
    assert path.read_bytes() == b"new" and names_in(path.parent) == ["marks.csv"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_keeps_the_old_file_and_removes_the_temporary_one(
    tmp_path, monkeypatch, error
):
    def fail(*_):
        raise error

    path = tmp_path / "marks.csv"
    write_file(path, "old")
    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(type(error)):
        write_file(path, "new")
    assert path.read_text() == "old" and names_in(tmp_path) == ["marks.csv"]


def test_an_error_for_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "marks.csv"
    monkeypatch.setattr(type(path), "replace", fail)
    with pytest.raises(OSError) as caught:
        write_file(path, "new")
    assert caught.value.filename == str(path)


def test_a_temporary_file_that_a_killed_process_left_is_replaced(tmp_path):
    path = tmp_path / "marks.csv"
    (tmp_path / f".marks.csv.{os.getpid()}").write_text("half of it")
    write_file(path, "whole")
    assert path.read_text() == "whole" and names_in(tmp_path) == ["marks.csv"]


@pytest.mark.parametrize("letter", ["中", "Ж", "x"])
def test_a_file_whose_name_is_nearly_as_long_as_a_name_may_be_is_written(tmp_path, letter):
    """A name may have 255 bytes, whatever the letters; that of the temporary file is longer."""
    path = tmp_path / (letter * (252 // len(letter.encode())))
    write_file(path, "new")
    assert path.read_text() == "new" and names_in(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_a_secret_file_is_never_readable_by_others(tmp_path):
    write_file(tmp_path / "salt", "secret", mode=0o600)
    assert (tmp_path / "salt").stat().st_mode & 0o777 == 0o600
