"""Safe replacement for `nbgrader collect`: no faulty or forged submission can stop it.

All students may write into nbgrader's exchange folder. nbgrader's own collector trusts the student
name in a folder's name, so a student could submit for another student. And one broken link, pipe or
unreadable file ends its run, so the remaining submissions are not collected.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect

from autograder.core.files import NotRegularFile, open_regular_file

try:
    import pwd
except ImportError:  # Windows, which has no exchange
    pwd = None  # type: ignore[assignment]

MAX_SUBMISSION_FILES = 2_000
MAX_SUBMISSION_BYTES = 100_000_000


class Collect(ExchangeCollect):
    """Collector of submissions in nbgrader's exchange that refuses links and forged folders.

    A faulty submission is reported in the log, and all other submissions are collected.
    """

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # nbgrader collects the first folder in this list. So put folders that belong to another
        # user than the student last: they may be forged.
        newest = super()._sort_by_timestamp(records)
        return sorted(
            newest,
            key=lambda r: self._owner_if_not_student(Path(self.inbound_path, r["filename"])) != "",
        )

    def _owner_if_not_student(self, folder: Path) -> str:
        """Return the owner of a submitted folder if another user than its student owns it; else "".

        It is always "" if the setting `check_owner` is off, and on Windows.
        """
        if not self.check_owner or pwd is None:
            return ""
        try:
            owner = pwd.getpwuid(folder.lstat().st_uid).pw_name
        except KeyError:
            owner = "nobody known"
        return "" if owner == folder.name.rsplit("+", 3)[0] else owner

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one student's submission; if that is impossible or unsafe, only log an error."""
        folder = Path(src)
        try:
            owner = self._owner_if_not_student(folder)
            if owner:
                reason = f"it belongs to {owner}; `check_owner` off collects it all the same"
                raise PermissionError(reason)
            if folder.is_symlink():
                raise NotRegularFile("it is a link")
            with tempfile.TemporaryDirectory() as place:
                for name in _copy_regular_files_and_list_others(folder, Path(place, "copy")):
                    self.log.warning(
                        "%s: %s is no ordinary file, and was left out",
                        folder.name,
                        name,
                    )
                super().do_copy(str(Path(place, "copy")), dest, log)
        except Exception as error:  # noqa: BLE001 - the other submissions are still collected
            shutil.rmtree(dest, ignore_errors=True)
            cause = getattr(error, "strerror", None) or error
            self.log.error("%s was not collected: %s", folder.name, cause)


def _copy_regular_files_and_list_others(folder: Path, copy: Path) -> list[str]:
    """Copy the regular files of a folder, and return the names of all other files, such as links.

    Raises
    ------
    OSError
        If the folder holds too many files or bytes.
    """
    skipped_names, count, size = [], 0, 0
    copy.mkdir()
    for parent, folders, files in os.walk(folder):
        target_folder = copy / Path(parent).relative_to(folder)
        skipped_names += [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted(files):
            try:
                file = open_regular_file(Path(parent, name))
            except NotRegularFile:
                skipped_names.append(name)
                continue
            target_folder.mkdir(parents=True, exist_ok=True)
            with file, open(target_folder / name, "wb") as target:
                count, size = count + 1, size + os.fstat(file.fileno()).st_size
                if count > MAX_SUBMISSION_FILES or size > MAX_SUBMISSION_BYTES:
                    raise OSError(
                        f"it is more than {MAX_SUBMISSION_FILES:,} files or "
                        f"{MAX_SUBMISSION_BYTES / 1e6:.0f} MB"
                    )
                shutil.copyfileobj(file, target)
    return skipped_names
