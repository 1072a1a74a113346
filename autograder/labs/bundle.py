"""`make bundle`: what a student needs, in one zip, with no solution and no instructor's code in it.

    python -m autograder.labs.bundle [ZIP]      by default dist/attention-labs.zip

The zip is the same to the byte for the same files.
"""

import json
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.labs import LABS
from autograder.labs.reference import SOLUTIONS

ROOT = SOLUTIONS.parent
TARGET = ROOT / "dist" / "attention-labs.zip"
FOLDER = "attention-labs"  # everything in the zip lies in it

_SAME_TIME = (2025, 1, 1, 0, 0, 0)
_ENVIRONMENT = """\
# For those who use conda: conda env create -f environment.yml
name: attention-labs
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python {python}
  - pip
  - pip:
      - -c constraints.txt
      - -e .
"""


def contents(root: Path = ROOT) -> dict[str, bytes]:
    """The files of the bundle, by their paths in it."""
    files = {str(path.relative_to(root)): path.read_bytes() for path in _copied(root)}
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    files["README.md"] = (root / "docs" / "bundle-readme.md").read_bytes()
    files["Makefile"] = (root / "docs" / "bundle.mk").read_bytes()
    files["pyproject.toml"] = core_project(project).encode()
    files["environment.yml"] = _ENVIRONMENT.format(python=project["project"]["requires-python"]).encode()
    return dict(sorted(files.items()))


def _copied(root: Path) -> Iterator[Path]:
    yield from (root / name for name in ("LICENSE", "constraints.txt", "Dockerfile", ".dockerignore"))
    yield from sorted((root / "autograder").glob("*.py"))  # the core: no subpackage
    for lab in LABS:
        keys = root / "autograder" / "keys"
        yield from (root / "notebooks" / lab / f"{lab}.ipynb", keys / f"{lab}.json")
        yield from sorted((keys / lab).glob("*.npz"))
    yield from sorted(p for p in (root / "data").iterdir() if p.is_file() and p.name[0] != ".")


def core_project(project: dict) -> str:
    """A pyproject.toml that installs the core with what the labs need, from the repository's own."""
    about = project["project"]
    extras = about["optional-dependencies"]
    lines = [
        "[build-system]",
        *_entries(project["build-system"]),
        "",
        "[project]",
        *_entries({k: v for k, v in about.items() if isinstance(v, (str, list)) and k != "dependencies"}),
        *_entries({"dependencies": about["dependencies"] + extras["lab"]}),
        "",
        "[project.optional-dependencies]",
        *_entries({"keras": extras["keras"]}),
        "",
        "[project.scripts]",
        *_entries(about["scripts"]),
        "",
        "[tool.setuptools]",
        *_entries({"packages": ["autograder"]}),
    ]
    return "\n".join(lines) + "\n"


def _entries(table: dict) -> list[str]:
    """Strings and lists of strings as TOML writes them, which is how JSON does."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


def write(target: Path = TARGET, root: Path = ROOT) -> Path:
    """Write the zip."""
    target.parent.mkdir(parents=True, exist_ok=True)
    files = contents(root)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(f"{FOLDER}/{name}", _SAME_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return target


if __name__ == "__main__":
    try:
        zipped = write(*map(Path, sys.argv[1:2]))
    except FileNotFoundError as error:
        sys.exit(f"There is no file {error.filename}; run `make build` first.")
    print(f"{zipped}: {zipped.stat().st_size / 1e6:.1f} MB")
