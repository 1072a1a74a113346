"""Files are written completely or not at all, and nothing else is left beside them."""

import errno
import os

import pytest

from autograder.core import files
from autograder.core.files import decode_text, is_disk_error, read_json, write_file


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


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_a_file_without_a_mode_has_the_permissions_that_the_user_gives_all_files(tmp_path):
    previous = os.umask(0o022)
    try:
        write_file(tmp_path / "marks.csv", "")
    finally:
        os.umask(previous)
    assert (tmp_path / "marks.csv").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_a_full_quota_and_a_read_only_disk_are_disk_errors(number):
    assert is_disk_error(OSError(number, os.strerror(number)))


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "x"), ValueError(errno.ENOSPC)])
def test_no_other_error_is_a_disk_error(error):
    assert not is_disk_error(error)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1, 2]", {}),
        ("null", {}),
        ("{", {}),
        (b"\xff", {}),
        (None, {}),
    ],
)
def test_json_that_is_no_object_is_read_as_an_empty_one(tmp_path, content, expected):
    path = tmp_path / "record.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert read_json(path) == expected


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\xef\xbb\xbfZo\xc3\xab", "utf-8-sig"),
        ("Zoë".encode(), "utf-8"),
        ("\ufeffZoë".encode("utf-16-le"), "utf-16"),
        ("\ufeffZoë".encode("utf-16-be"), "utf-16"),
        ("Zoë".encode("utf-16-le"), "utf-16-le"),
        ("Zoë".encode("utf-16-be"), "utf-16-be"),
        ("Zoë".encode("cp1252"), "cp1252"),
    ],
)
def test_a_text_is_read_in_its_encoding_and_without_a_byte_order_mark(data, encoding):
    assert decode_text(data) == ("Zoë", encoding)


def test_a_text_with_a_few_zero_bytes_is_no_utf_16():
    data = b"a text with one zero byte: \0 and more after it"
    assert decode_text(data) == (data.decode(), "utf-8")
    assert decode_text(b"") == ("", "utf-8")


def test_bytes_of_no_encoding_and_half_a_utf_16_text_are_read_all_the_same():
    assert decode_text(b"a\x81b\xff") == ("a\N{REPLACEMENT CHARACTER}bÿ", "cp1252")
    assert decode_text(b"\xff\xfea") == ("ÿþa", "cp1252")


def test_an_error_that_names_its_file_keeps_the_name(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EACCES, "Permission denied", "another")

    monkeypatch.setattr(type(tmp_path), "replace", fail)
    with pytest.raises(OSError) as caught:
        write_file(tmp_path / "marks.csv", "new")
    assert caught.value.filename == "another"


@pytest.mark.skipif(os.name != "posix", reason="Windows has no pipes among its files")
def test_only_a_regular_file_is_read_and_up_to_so_many_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    assert files.read_regular_file(tmp_path / "file", 3) == b"123"
    for name in ("link", "pipe", "."):
        with pytest.raises(files.NotRegularFile):
            files.read_regular_file(tmp_path / name, 3)


def test_a_file_that_was_replaced_before_it_was_opened_is_closed_again(tmp_path, monkeypatch):
    checks, handles, real_open = [], [], os.open

    def require_regular(status):
        checks.append(status)
        if len(checks) == 2:
            raise files.NotRegularFile(errno.EINVAL, "It is not an ordinary file")

    def open_recorded(*arguments):
        handles.append(real_open(*arguments))
        return handles[-1]

    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(files, "_require_regular", require_regular)
    monkeypatch.setattr(files.os, "open", open_recorded)
    with pytest.raises(files.NotRegularFile):
        files.open_regular_file(tmp_path / "file")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handles[0])


def test_texts_and_their_bytes_have_one_hash_and_their_order_counts():
    assert files.hash_parts("é", b"b") == files.hash_parts("é".encode(), "b")
    assert files.hash_parts("a", "b") != files.hash_parts("b", "a")
    assert files.hash_parts("\ud800") == files.hash_parts("?")
