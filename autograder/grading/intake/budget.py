"""What may be read: every limit of the intake in one record, and what each student has used of theirs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.grading.marking.handin import MAX_BYTES


class Refused(Exception):
    """Something that is not read or not written; the text is the sentence for its row."""


@dataclass(frozen=True)
class Limits:
    """In bytes where nothing else is said."""

    file: int = 2 * MAX_BYTES  # above MAX_BYTES a notebook is a hand-in all the same, and marked as too large
    inner_zip: int = 500_000_000  # a zip within a zip
    members: int = 10_000  # files in a student's zip
    contents: int = 4_000_000  # its table of contents; zipfile reads that whole into memory
    class_members: int = 200_000  # files in a class's zip, or below a folder given
    class_contents: int = 80_000_000
    ratio: int = 200  # a notebook shrinks to a twentieth at best; deflate can reach a thousandth
    bomb_from: int = 1_000_000  # what unpacks to less harms nobody, whatever its ratio
    name: int = 1_000  # characters
    folders_deep: int = 32
    in_memory: int = 32_000_000  # a zip in a zip above this lies on the disk while it is read
    open_zips: int = 4
    index: int = 20_000_000  # what a platform says of all hand-ins, and the roster
    receipt: int = 1_000_000
    # Of one student, in one run; others have their own.
    read: int = 400_000_000
    zips: int = 1_500_000_000
    listed: int = 20_000  # files of their zips; to list each takes its time
    notebooks: int = 200  # in one zip
    zips_deep: int = 2  # the class's zip and, in it, one a student


LIMITS = Limits()


class Budget:
    """What each student has used of their share: one's reading takes nothing from another's."""

    def __init__(self) -> None:
        self._read: Counter[str] = Counter()
        self._zips: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()

    def paid(self, student: str, chunks: Iterator[bytes], *, zipped: bool = False) -> Iterator[bytes]:
        """The same pieces of a notebook, counted; or of a zip, which is unpacked before it can be listed."""
        used, most = (self._zips, LIMITS.zips) if zipped else (self._read, LIMITS.read)
        for chunk in chunks:
            used[student] += len(chunk)
            if used[student] > most:
                raise Refused(
                    f"More than {most / 1e6:.0f} MB of this student's were read; hand in fewer and smaller "
                    "notebooks."
                )
            yield chunk
