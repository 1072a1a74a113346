"""Finding: who handed in what. Folders and zips are looked through; nothing is written.

Each notebook becomes an `Attempt`: whose it is, for which lab, and when it came. Each of these has a source: the
platform's name or index, the roster, an option, or the student's file, which may say the lab and never who nor
when. What cannot be told is refused with a sentence and a remedy.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath

from autograder.files import decoded
from autograder.grading.intake.budget import LIMITS, Budget, Refused
from autograder.grading.intake.indexes import (
    METADATA,
    RECEIPT,
    Submission,
    read_metadata,
    read_receipt,
    stamp_of,
)
from autograder.grading.intake.layout import Layout, Owner, Settings, holds_a_class
from autograder.grading.intake.names import is_notebook, is_zip, lab_of, lab_of_cells, shown, stem
from autograder.grading.intake.people import People, Unmatched
from autograder.grading.intake.platforms import TYPED
from autograder.grading.intake.roster import Identity, Person
from autograder.grading.intake.unpack import Found, Listing, Zips, in_folder, in_words, one_file, read


class Outcome(StrEnum):
    FILED = "filed"
    UNCHANGED = "unchanged"
    OLDER = "older"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNMATCHED = "unmatched"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one file.

    Parameters
    ----------
    source : str
        Where it was, with the zips around it: "class.zip/ada/random-walks.ipynb".
    student, lab : str
        "" where that is not known.
    outcome : Outcome
    reason : str
        A sentence or more; "" where there is nothing to say.
    path : str
        Where it is now, below the classroom; "" if nowhere.
    word : str
        Whose word it is that it is this student's; "" where nobody's.
    replaced : str
        Where what it replaced is kept; "" if it replaced nothing.
    chosen : bool
        Whether its student chose the name that it is filed under.
    look : bool
        Whether a person should look at it, though nothing is wrong.
    """

    source: str
    outcome: Outcome
    student: str = ""
    lab: str = ""
    reason: str = ""
    path: str = ""
    word: str = ""
    replaced: str = ""
    chosen: bool = False
    look: bool = False


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One notebook that somebody handed in.

    Parameters
    ----------
    source, lab : str
    owner : Owner
    found : Found
    hand_in : str
        What is the same for the files of one hand-in, of which one counts.
    handed_in : datetime or None
        None where it is not known.
    time : float
        That moment, else the file's time: good for telling newer from older only.
    inside : float
        The time within a student's own zip.
    notes : tuple of str
    student : str
        "" until all owners are known.
    who : Identity
        What the platform says of this student, or of the group.
    person : Person or None
        Of the roster.
    members : tuple of str
        All students who handed it in together, this one included; () for one alone.
    """

    source: str
    lab: str
    owner: Owner
    found: Found
    hand_in: str
    handed_in: datetime | None = None
    time: float = 0.0
    inside: float = 0.0
    notes: tuple[str, ...] = ()
    student: str = ""
    who: Identity = field(default_factory=Identity)
    person: Person | None = None
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the student called it."""
        return self.found.path


class Finder:
    """Looks through folders, zips and notebooks.

    Parameters
    ----------
    settings : Settings
    zips : Zips
        Must stay open as long as attempts are read.
    budget : Budget

    Attributes
    ----------
    rows : list of Row
        What is no attempt.
    junk, others : int
        Files of systems and editors; files beside a notebook that are no notebooks.
    """

    def __init__(self, settings: Settings, zips: Zips, budget: Budget):
        self.settings, self.zips, self.budget = settings, zips, budget
        self.rows: list[Row] = []
        self.junk = self.others = 0
        self._downloads = 0
        self._attempts: list[Attempt] = []
        self._seen: set[tuple[str, str]] = set()  # downloads and labels of those who handed something in
        self._beside: dict[tuple[str, str], list[str]] = defaultdict(list)  # files that are no notebooks

    def look_through(self, path: Path, skip: set[tuple[int, int]]) -> None:
        """One path that was given, and that exists.

        Parameters
        ----------
        path : Path
        skip : set of (device, inode)
            Folders not to go into.
        """
        name = path.name if path.name not in ("", "..") else path.resolve().name
        with self._said_in_a_row(name):  # one hostile download must not cost the others
            if path.is_dir():
                self._download(path.resolve().name, name, in_folder(path.resolve(), skip), deep=0)
            elif is_zip(name):
                listing = self.zips.listing(replace(one_file(path.resolve()), of_class=True))
                self._download(stem(name), name, listing, deep=1)
            elif is_notebook(name) and path.is_file():
                self._download("", "", Listing([one_file(path.resolve())]), deep=0)
            else:
                raise Unmatched("It is neither a folder nor a zip nor a notebook.")

    def attempts(self) -> list[Attempt]:
        """All that was found, each with its student: to be asked for once, after the last path."""
        people = People(self.settings, ((one.lab, one.owner) for one in self._attempts))
        found = []
        for one in self._attempts:
            with self._said_in_a_row(one.source, one.owner):
                students = people.students(one.lab, one.owner)
                members = tuple(student.folder for student in students) if len(students) > 1 else ()
                found += [
                    replace(one, student=s.folder, who=s.who, person=s.person, members=members)
                    for s in students
                ]
        for (download, label), files in self._beside.items():
            if (download, label) in self._seen:
                self.others += len(files)
            else:
                why = f"No notebook was handed in, only {_some(files)}."
                self._row(download.partition(" ")[2], Outcome.UNMATCHED, why, label)
        return found

    def _row(self, source: str, outcome: Outcome, reason: str, student: str = "", word: str = "") -> None:
        self.rows.append(Row(source=source, outcome=outcome, reason=reason, student=student, word=word))

    @contextmanager
    def _said_in_a_row(self, source: str, owner: Owner | None = None) -> Iterator[None]:
        """What goes wrong with one file is its row's."""
        outcome = Outcome.REFUSED
        try:
            yield
            return
        except Unmatched as unmatched:
            why, outcome = str(unmatched), Outcome.UNMATCHED
        except Refused as refused:
            why = str(refused)
        except Exception as error:  # noqa: BLE001 - such as a zip in it that is larger than the disk's room
            why = f"It could not be read: {in_words(error)}."
        self._row(source, outcome, why, owner.label if owner else "", owner.word if owner else "")

    def _download(self, name: str, label: str, listing: Listing, deep: int) -> None:
        """A folder or zip that no student made."""
        self._downloads += 1
        download = f"{self._downloads} {label}"  # two may have one name
        self.junk += listing.junk
        if not listing.found:
            system = " but files of the system" if listing.junk else ""
            self._row(label, Outcome.UNMATCHED, f"There is nothing in it{system}.")
        by_path = {found.path: found for found in listing.found if not found.trouble}
        layout = Layout(
            [path for path in by_path if _is_hand_in(path) and not TYPED.match(path)],
            name,
            self.settings,
            clones=listing.clones,
            receipts=_receipts(by_path),
            metadata=lambda above: self._metadata(by_path.get(f"{above}{METADATA}"), label),
        )
        self._files(
            listing.found,
            lambda found: self._stamped(layout.owner(found.path), found, by_path),
            label,
            download,
            deep,
        )

    def _files(
        self,
        listed: list[Found],
        whose: Callable[[Found], Owner | str],
        where: str,
        download: str,
        deep: int,
        zipped: Found | None = None,
    ) -> None:
        """All that lies in a download, or in a zip that one student made, `zipped`."""
        notebooks = Counter(_above(one.path) for one in listed if is_notebook(one.path) and not one.trouble)
        nobodys = []
        for found in listed:
            source, owner = f"{where}/{found.path}" if where else found.path, whose(found)
            if found.trouble:
                self._row(
                    source, Outcome.REFUSED, found.trouble, owner.label if isinstance(owner, Owner) else ""
                )
            elif not zipped and TYPED.match(found.path):
                why = "It is text typed into a page; only a notebook can be marked."
                self._row(source, Outcome.IGNORED, why)
            elif found.path.endswith(METADATA) or RECEIPT.search(found.path):
                self.others += 1
            elif isinstance(owner, str) and _is_hand_in(found.path):
                self._row(source, Outcome.UNMATCHED, owner)
            elif isinstance(owner, str):
                nobodys.append(found.path)
            elif not _is_hand_in(found.path):
                self._beside[download, owner.label].append(found.path)
            else:
                self._seen.add((download, owner.label))
                with self._said_in_a_row(source, owner):
                    if is_zip(found.path):
                        self._zip(found, owner, source, download, deep + 1, zipped)
                    else:
                        lab = self._lab(found, owner, alone=notebooks[_above(found.path)] == 1)
                        self._attempts.append(self._attempt(found, owner, source, download, lab, zipped))
        if nobodys:
            self._row(where, Outcome.IGNORED, f"Neither notebooks nor anyone's: {_some(nobodys)}.")

    def _metadata(self, found: Found | None, label: str) -> dict[str, Submission]:
        try:
            return read_metadata(read(found, LIMITS.index)) if found else {}
        except (Refused, ValueError) as why:
            self._row(f"{label}/{METADATA}", Outcome.REFUSED, f"It cannot be used: {str(why).rstrip('.')}.")
            return {}

    def _stamped(self, owner: Owner | str, found: Found, by_path: Mapping[str, Found]) -> Owner | str:
        """With the time in nbgrader's timestamp.txt, only where nbgrader puts it."""
        beside = by_path.get(f"{_above(found.path)}/timestamp.txt")
        if isinstance(owner, str) or owner.time or not beside or not is_notebook(found.path):
            return owner
        if owner.platform == "folder":
            why = "Its timestamp.txt was not used: in a plain folder it is the student's own word."
            return replace(owner, note=why)
        if owner.platform != "nbgrader":
            return owner
        with suppress(Refused, UnicodeDecodeError):
            if when := stamp_of(read(beside, 200).decode("utf-8").strip(), UTC):
                return replace(owner, time=when)
        return replace(owner, note="The timestamp.txt beside it cannot be read.")

    def _zip(
        self, found: Found, owner: Owner, source: str, download: str, deep: int, zipped: Found | None
    ) -> None:
        """A zip that one student made, or that is called after one: all of it is theirs."""
        if deep > LIMITS.zips_deep:
            raise Refused("It is a zip in a zip in a zip; that deep none is opened. Unpack the outer one.")
        if self.budget.listed[owner.label] > LIMITS.listed:
            raise Refused(f"The zips before it hold more than {LIMITS.listed:,} files; it was not opened.")
        chunks = found.chunks
        paid = replace(found, chunks=lambda limit: self.budget.paid(owner.label, chunks(limit), zipped=True))
        listing = self.zips.listing(paid)
        self.junk += listing.junk
        self.budget.listed[owner.label] += len(listing.found) + listing.junk
        paths = [one.path for one in listing.found if _is_hand_in(one.path)]
        if len(paths) > LIMITS.notebooks:
            raise Refused(
                f"It holds {len(paths):,} notebooks and zips; {LIMITS.notebooks} are the most in one hand-in."
            )
        of_one = owner.platform not in ("folder", "file") or zipped
        if not of_one and holds_a_class([path.split("/") for path in paths], self.settings.labs):
            raise Refused(
                "It seems to hold hand-ins of several people. If it is a class's download, collect it by itself."
            )
        if not paths and not any(one.trouble for one in listing.found):
            only = f", only {_some([one.path for one in listing.found])}" if listing.found else ""
            raise Unmatched(f"No notebook is in this zip{only}.")
        self._files(listing.found, lambda _: owner, source, download, deep, zipped or found)

    def _attempt(
        self, found: Found, owner: Owner, source: str, download: str, lab: str, zipped: Found | None
    ) -> Attempt:
        # When it came is when the zip came; the times inside are the student's clock's.
        came, handed_in = zipped.time if zipped else found.time, owner.time
        notes = [note for note in (found.note, owner.note) if note]
        if handed_in is None and self.settings.file_times and came is not None:
            with suppress(ValueError, OverflowError, OSError):
                handed_in = datetime.fromtimestamp(int(came), UTC)
        if handed_in is None and owner.late:
            notes.append(f"{owner.platform} marks it as late but does not say when it came.")
        return Attempt(
            source=source,
            lab=lab,
            owner=owner,
            found=found,
            # A time in the name makes an attempt; without one, all of a download is one hand-in.
            hand_in=f"{download}\n{owner.time.isoformat() if owner.time else ''}",
            handed_in=handed_in,
            time=handed_in.timestamp() if handed_in else _sane(came),
            inside=_sane(found.time) if zipped else 0.0,
            notes=tuple(notes),
        )

    def _lab(self, found: Found, owner: Owner, alone: bool) -> str:
        """The lab that the name, the cells or a folder says; raises `Unmatched`.

        Parameters
        ----------
        alone : bool
            Whether no other notebook lies in its folder.
        """
        labs, said = self.settings.labs, owner.lab
        lab = lab_of(said, labs, exact=True) if said else lab_of(found.path, labs)
        if not lab and not said:
            head = []
            try:
                for chunk in self.budget.paid(owner.label, found.chunks(LIMITS.file)):
                    head.append(chunk)
            except Refused:
                if not head:
                    raise
            around = [lab_of(part, labs, exact=True) for part in PurePosixPath(found.path).parts[:-1]]
            lab = lab_of_cells(b"".join(head), self.settings.grade_ids)
            lab = lab or next((name for name in reversed(around) if name and alone), "")
        if lab in labs:
            return lab
        if said or lab:
            raise Unmatched(f"It is for {shown(said or lab)}, which is not collected here.")
        raise Unmatched(
            f"Neither its name nor its cells say which lab it is for. Rename it, such as {labs[0]}.ipynb, and "
            "collect it again."
        )


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _is_hand_in(path: str) -> bool:
    return is_notebook(path) or is_zip(path)


def _receipts(by_path: Mapping[str, Found]) -> dict[str, Submission]:
    receipts = {}
    for path, found in by_path.items():
        if RECEIPT.search(path):
            with suppress(Refused):
                if receipt := read_receipt(decoded(read(found, LIMITS.receipt))[0]):
                    receipts[path.removesuffix(".txt")] = receipt
    return receipts


def _sane(time: float | None) -> float:
    """A file's time that a calendar has; 1970 if it has none."""
    return time if time is not None and 0 <= time < 253_402_300_800 else 0.0


def _some(files: list[str]) -> str:
    named = ", ".join(shown(PurePosixPath(file).name) for file in files[:3])
    return f"{named} and {len(files) - 3} more" if len(files) > 3 else named
