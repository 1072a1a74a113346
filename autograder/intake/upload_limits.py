"""Limits on how much `autograder collect` reads, in total and of each student's files."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.core.notebook_cells import MAX_NOTEBOOK_BYTES


class FileRefused(Exception):
    """Error for a file that is not read or not stored.

    The message is the reason that the report on the file gives.
    """


@dataclass(frozen=True)
class IntakeLimits:
    """Limits of one run of `collect`."""

    # A notebook larger than MAX_NOTEBOOK_BYTES is still stored, so that grading can report that it
    # is too large.
    max_notebook_bytes: int = 2 * MAX_NOTEBOOK_BYTES
    max_inner_zip_bytes: int = 500_000_000
    max_zip_files: int = 10_000  # in a student's zip
    max_zip_directory_bytes: int = 4_000_000  # table of contents, which zipfile reads into memory
    max_class_files: int = 200_000  # in a class's zip, or below a folder
    max_class_directory_bytes: int = 80_000_000
    # In a zip, a notebook has at least a twentieth of its size, and the contents of a zip bomb
    # hardly a thousandth. So a ratio between the two tells them apart.
    max_compression_ratio: int = 200
    min_bomb_bytes: int = 1_000_000  # smaller contents do no harm, whatever the compression ratio
    max_name_characters: int = 1_000
    max_folder_depth: int = 32
    max_in_memory_bytes: int = 32_000_000  # a larger zip in a zip is copied to a temporary file
    max_open_zips: int = 4
    max_index_bytes: int = 20_000_000  # a platform's list of all submissions, or the roster
    max_receipt_bytes: int = 1_000_000
    # Limits for each student in one run. If a student reaches a limit, the files of the other
    # students are still read.
    max_student_notebook_bytes: int = 400_000_000
    max_student_zip_bytes: int = 1_500_000_000
    max_student_zip_files: int = 20_000  # listing takes time for every file
    max_zip_notebooks: int = 200
    max_zip_depth: int = 2  # the class's zip, and a student's zip in the class's zip


LIMITS = IntakeLimits()


class PerStudentReadingBudget:
    """Count of the bytes and files of each student that one run of `collect` has read."""

    def __init__(self) -> None:
        self._notebook_bytes: Counter[str] = Counter()
        self._zip_bytes: Counter[str] = Counter()
        self.listed_files: Counter[str] = Counter()

    def count_bytes(
        self,
        student: str,
        chunks: Iterator[bytes],
        *,
        is_zip: bool = False,
    ) -> Iterator[bytes]:
        """Yield the chunks of a file, and count their bytes towards the student's limit.

        Parameters
        ----------
        is_zip : bool
            True if the file is a zip: zips and notebooks are counted and limited separately.

        Raises
        ------
        FileRefused
            If more bytes of the student's files have been read than the limit allows.
        """
        counts, max_bytes = self._notebook_bytes, LIMITS.max_student_notebook_bytes
        if is_zip:
            counts, max_bytes = self._zip_bytes, LIMITS.max_student_zip_bytes
        for chunk in chunks:
            counts[student] += len(chunk)
            if counts[student] > max_bytes:
                raise FileRefused(
                    f"More than {max_bytes / 1e6:.0f} MB of this student's were read; submit "
                    "fewer and smaller notebooks."
                )
            yield chunk
