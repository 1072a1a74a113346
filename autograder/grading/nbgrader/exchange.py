"""`nbgrader collect` from an exchange that every student may write into, named in nbgrader's settings.

nbgrader takes the name in a folder's name for the sender's, and one link that leads nowhere, pipe or unreadable file
ends the run for all who come after.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from autograder.files import NotOrdinary, open_ordinary

try:
    import pwd
except ImportError:  # Windows, where there is no exchange
    pwd = None  # type: ignore[assignment]

MAX_FILES, MAX_BYTES = 2_000, 100_000_000  # of one hand-in


class Collect(ExchangeCollect):
    """Ordinary files of whoever owns the folder; what is wrong with one hand-in is a line, and costs that one only."""

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # The first counts: one that somebody else made in this student's name comes after all of their own.
        newest = super()._sort_by_timestamp(records)
        return sorted(newest, key=lambda r: self._forger(Path(self.inbound_path, r["filename"])) != "")

    def _forger(self, folder: Path) -> str:
        """Who owns a folder that bears another's name; "" where it is their own, or nobody asks."""
        if not self.check_owner or pwd is None:
            return ""
        try:
            owner = pwd.getpwuid(folder.lstat().st_uid).pw_name
        except KeyError:
            owner = "nobody known"
        return "" if owner == folder.name.rsplit("+", 3)[0] else owner

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one hand-in."""
        folder = Path(src)
        try:
            if forger := self._forger(folder):
                raise PermissionError(f"it belongs to {forger}; `check_owner` off collects it all the same")
            if folder.is_symlink():
                raise NotOrdinary("it is a link")
            with tempfile.TemporaryDirectory() as place:
                for name in _copied(folder, Path(place, "copy")):
                    self.log.warning("%s: %s is no ordinary file, and was left out", folder.name, name)
                super().do_copy(str(Path(place, "copy")), dest, log)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others' are collected
            shutil.rmtree(dest, ignore_errors=True)
            self.log.error("%s was not collected: %s", folder.name, getattr(error, "strerror", None) or error)


def _copied(folder: Path, copy: Path) -> list[str]:
    """Copy the ordinary files; gives the names of what is none. Raises `OSError` where there is too much."""
    left, count, size = [], 0, 0
    copy.mkdir()
    for above, folders, files in os.walk(folder):
        there = copy / Path(above).relative_to(folder)
        left += [name for name in folders if Path(above, name).is_symlink()]
        for name in sorted(files):
            try:
                file = open_ordinary(Path(above, name))
            except NotOrdinary:
                left.append(name)
                continue
            there.mkdir(parents=True, exist_ok=True)
            with file, open(there / name, "wb") as target:
                count, size = count + 1, size + os.fstat(file.fileno()).st_size
                if count > MAX_FILES or size > MAX_BYTES:
                    raise OSError(f"it is more than {MAX_FILES:,} files or {MAX_BYTES / 1e6:.0f} MB")
                shutil.copyfileobj(file, target)
    return left
