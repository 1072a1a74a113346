"""Finding: who handed in what. Folders and zips are looked through; nothing is written.

Each notebook becomes an `Attempt`: whose it is, for which lab, and when it came. Each of these has a source: the
platform's name or index, the roster, an option, or the student's file, which may say the lab and never who nor
when. What cannot be told is refused with a sentence and a remedy.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath

from autograder.grading.intake.budget import LIMITS, Budget, Refused
from autograder.grading.intake.indexes import (
    METADATA,
    RECEIPT,
    Receipt,
    Submission,
    read_metadata,
    read_receipt,
    stamp_of,
)
from autograder.grading.intake.layout import Layout, Owner, Settings, holds_a_class
from autograder.grading.intake.names import decoded, is_notebook, is_zip, lab_of, lab_of_cells, shown, stem
from autograder.grading.intake.people import Known, People, Student, Unmatched
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
    student, lab, source : str
    owner : Owner
    who : Identity
        What the platform says of this student, or of the group.
    person : Person or None
        Of the roster.
    members : tuple of str
        All students who handed it in together, this one included; () for one alone.
    hand_in : str
        What is the same for the files of one hand-in, of which one counts.
    found : Found
    name : str
        What the student called it.
    handed_in : datetime or None
        None where it is not known.
    time : float
        That moment, else the file's time: good for telling newer from older only.
    inside : float
        The time within a student's own zip.
    notes : tuple of str
    """

    student: str
    lab: str
    source: str
    owner: Owner
    who: Identity
    person: Person | None = None
    members: tuple[str, ...] = ()
    hand_in: str
    found: Found
    name: str
    handed_in: datetime | None = None
    time: float = 0.0
    inside: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Finds:
    """What finding gave.

    Parameters
    ----------
    attempts : list of Attempt
    rows : list of Row
        What is no attempt.
    notes : list of str
    junk, others : int
        Files of systems and editors; files beside a notebook that are no notebooks.
    """

    attempts: list[Attempt] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    junk: int = 0
    others: int = 0


def find_attempts(
    paths: Sequence[Path],
    settings: Settings,
    known: Known,
    zips: Zips,
    budget: Budget,
    skip: set[tuple[int, int]],
) -> Finds:
    """Look through folders, zips and notebooks.

    Parameters
    ----------
    paths : sequence of Path
        They exist.
    settings, known : Settings, Known
    zips : Zips
        Must stay open as long as attempts are read.
    budget : Budget
    skip : set of (device, inode)
        Folders not to go into.
    """
    finder = _Finder(settings, known, zips, budget)
    for path in paths:
        try:
            finder.path(path, skip)
        except Exception as error:  # noqa: BLE001 - one hostile download must not cost the others
            finder.row(path.name, Outcome.REFUSED, _sentence(error))
    finder.finish()
    return finder.finds


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """A notebook before it is known which student of the class its owner is."""

    source: str
    download: str
    owner: Owner
    found: Found
    name: str
    inside: float | None = None
    alone: bool = True  # no other notebook of the owner's lies in its folder


class _Finder:
    def __init__(self, settings: Settings, known: Known, zips: Zips, budget: Budget):
        self.settings, self.known, self.zips, self.budget = settings, known, zips, budget
        self.finds = Finds()
        self._downloads = 0
        self._claims: list[_Claim] = []
        self._others: dict[tuple[str, str], list[str]] = defaultdict(list)  # files that are no notebooks
        self._troubled: set[str] = set()  # labels of those who have a row already

    def row(self, source: str, outcome: Outcome, reason: str, student: str = "", word: str = "") -> None:
        self.finds.rows.append(Row(source=source, outcome=outcome, reason=reason, student=student, word=word))

    def path(self, path: Path, skip: set[tuple[int, int]]) -> None:
        """One path given."""
        name = path.name if path.name not in ("", "..") else path.resolve().name
        if path.is_dir():
            self._download(path.resolve().name, name, in_folder(path.resolve(), skip), deep=0)
        elif is_zip(name):
            listing = self.zips.listing(replace(one_file(path.resolve()), of_class=True))
            self._download(stem(name), name, listing, deep=1)
        elif is_notebook(name) and path.is_file():
            self._download("", "", Listing([one_file(path.resolve())]), deep=0)
        else:
            self.row(name, Outcome.UNMATCHED, "It is neither a folder nor a zip nor a notebook.")

    def _download(self, name: str, label: str, listing: Listing, deep: int) -> None:
        """A folder or zip that no student made."""
        self._downloads += 1
        download = f"{self._downloads} {label}"  # two may have one name
        self.finds.junk += listing.junk
        if not listing.found:
            system = " but files of the system" if listing.junk else ""
            self.row(label, Outcome.UNMATCHED, f"There is nothing in it{system}.")
        by_path = {found.path: found for found in listing.found if not found.trouble}
        hand_ins = [path for path in by_path if is_notebook(path) or is_zip(path)]
        layout = Layout(
            [path for path in hand_ins if not TYPED.match(path)],
            name,
            self.settings,
            clones=listing.clones,
            receipts=_receipts(by_path),
            metadata=lambda above: self._metadata(by_path.get(f"{above}{METADATA}"), label),
        )
        count = Counter((path.rpartition("/")[0], is_notebook(path)) for path in hand_ins)
        nobodys = []
        for found in listing.found:
            where = f"{label}/{found.path}" if label else found.path
            owner = layout.owner(found.path)
            if found.trouble:
                whose = owner.label if isinstance(owner, Owner) else ""
                self.row(where, Outcome.REFUSED, found.trouble, whose)
            elif TYPED.match(found.path):
                self.row(
                    where, Outcome.IGNORED, "It is text typed into a page; only a notebook can be marked."
                )
            elif found.path.endswith(METADATA) or RECEIPT.search(found.path):
                self.finds.others += 1
            elif not is_notebook(found.path) and not is_zip(found.path):
                if isinstance(owner, Owner):
                    self._others[download, owner.label].append(found.path)
                else:
                    nobodys.append(found.path)
            elif isinstance(owner, str):
                self.row(where, Outcome.UNMATCHED, owner)
            elif is_zip(found.path):
                self._zip(download, where, owner, found, deep + 1)
            else:
                owner = self._stamped(owner, found, by_path)
                self._claims.append(
                    _Claim(
                        source=where,
                        download=download,
                        owner=owner,
                        found=found,
                        name=found.path,
                        alone=count[found.path.rpartition("/")[0], True] == 1 or bool(owner.lab),
                    )
                )
        if nobodys:
            self.row(label, Outcome.IGNORED, f"Neither notebooks nor anyone's: {_some(nobodys)}.")

    def _metadata(self, found: Found | None, label: str) -> dict[str, Submission]:
        try:
            return read_metadata(read(found, LIMITS.index)) if found else {}
        except (Refused, ValueError) as why:
            self.row(f"{label}/{METADATA}", Outcome.REFUSED, f"It cannot be used: {str(why).rstrip('.')}.")
            return {}

    def _stamped(self, owner: Owner, found: Found, by_path: Mapping[str, Found]) -> Owner:
        """With the time in nbgrader's timestamp.txt, only where nbgrader puts it."""
        beside = by_path.get(f"{found.path.rpartition('/')[0]}/timestamp.txt")
        if owner.time or not beside or owner.platform not in ("folder", "nbgrader"):
            return owner
        if owner.platform == "folder":
            why = "Its timestamp.txt was not used: in a plain folder it is the student's own word."
            return replace(owner, note=why)
        with suppress(Refused, UnicodeDecodeError):
            if when := stamp_of(read(beside, 200).decode("utf-8").strip(), UTC):
                return replace(owner, time=when)
        return replace(owner, note="The timestamp.txt beside it cannot be read.")

    def _zip(
        self, download: str, where: str, owner: Owner, found: Found, deep: int, inside: str = ""
    ) -> None:
        """A zip that one student made, or that is called after one: all of it is theirs."""
        self._troubled.add(owner.label)
        try:
            listing = self._listing(owner, found, deep, inside)
        except Exception as error:  # noqa: BLE001 - such as a zip in it that is larger than the disk's room
            self.row(where, Outcome.REFUSED, _sentence(error), owner.label)
            return
        paths = _hand_ins(listing)
        count = Counter(path.rpartition("/")[0] for path in paths)
        some = False
        for member in listing.found:
            path = f"{where}/{member.path}"
            if member.trouble:
                some = True
                self.row(path, Outcome.REFUSED, member.trouble, owner.label)
            elif is_zip(member.path):
                some = True
                self._zip(download, path, owner, member, deep + 1, f"{inside}{member.path}/")
            elif is_notebook(member.path):
                some = True
                self._claims.append(
                    _Claim(
                        source=path,
                        download=download,
                        owner=owner,
                        # When it came is when the zip came; the times inside are the student's clock's.
                        found=replace(member, time=found.time),
                        name=member.path,
                        inside=member.time or 0.0,
                        alone=count[member.path.rpartition("/")[0]] == 1,
                    )
                )
            else:
                self.finds.others += 1
        if not some:
            only = f", only {_some([f.path for f in listing.found])}" if listing.found else ""
            self.row(where, Outcome.UNMATCHED, f"No notebook is in this zip{only}.", owner.label)

    def _listing(self, owner: Owner, found: Found, deep: int, inside: str) -> Listing:
        """What lies in a student's zip; raises `Refused` where it is not to be looked at."""
        if deep > LIMITS.zips_deep:
            raise Refused("It is a zip in a zip in a zip; that deep none is opened. Unpack the outer one.")
        if self.budget.listed[owner.label] > LIMITS.listed:
            raise Refused(f"The zips before it hold more than {LIMITS.listed:,} files; it was not opened.")
        chunks = found.chunks
        paid = replace(found, chunks=lambda limit: self.budget.paid_zip(owner.label, chunks(limit)))
        listing = self.zips.listing(paid)
        self.finds.junk += listing.junk
        self.budget.listed[owner.label] += len(listing.found) + listing.junk
        paths = _hand_ins(listing)
        if len(paths) > LIMITS.notebooks:
            raise Refused(
                f"It holds {len(paths):,} notebooks and zips; {LIMITS.notebooks} are the most in one hand-in."
            )
        of_one = owner.platform not in ("folder", "file") or bool(inside)
        if not of_one and holds_a_class([path.split("/") for path in paths], self.settings.labs):
            raise Refused(
                "It seems to hold hand-ins of several people. If it is a class's download, collect it by itself."
            )
        return listing

    # From claims to attempts

    def finish(self) -> None:
        """Say which lab each notebook is for, and then which student each owner is."""
        labs: dict[int, str] = {}
        for number, claim in enumerate(self._claims):
            with self._said_in_a_row(claim):
                labs[number] = self._lab(claim)
        named = [(self._claims[number], lab) for number, lab in labs.items()]
        people = People(self.settings.roster, self.known, ((lab, claim.owner) for claim, lab in named))
        for claim, lab in named:
            with self._said_in_a_row(claim):
                self._attempts(claim, lab, people.students(lab, claim.owner))
        handed_in = {(claim.download, claim.owner.label) for claim in self._claims}
        for (download, label), files in self._others.items():
            if (download, label) in handed_in or label in self._troubled:
                self.finds.others += len(files)
            else:
                why = f"No notebook was handed in, only {_some(files)}."
                self.row(download.partition(" ")[2], Outcome.UNMATCHED, why, label)

    @contextmanager
    def _said_in_a_row(self, claim: _Claim) -> Iterator[None]:
        """What goes wrong with one hand-in is its row's."""
        outcome = Outcome.REFUSED
        try:
            yield
            return
        except Unmatched as unmatched:
            why, outcome = str(unmatched), Outcome.UNMATCHED
        except Exception as error:  # noqa: BLE001 - one hand-in's failure is its own
            why = _sentence(error)
        self.row(claim.source, outcome, why, claim.owner.label, claim.owner.word)

    def _attempts(self, claim: _Claim, lab: str, students: tuple[Student, ...]) -> None:
        owner = claim.owner
        notes = [note for note in (claim.found.note, owner.note) if note]
        handed_in = owner.time
        if handed_in is None and self.settings.file_times and claim.found.time is not None:
            with suppress(ValueError, OverflowError, OSError):
                handed_in = datetime.fromtimestamp(int(claim.found.time), UTC)
        if handed_in is None and owner.late:
            notes.append(f"{owner.platform} marks it as late but does not say when it came.")
        for student in students:
            self.finds.attempts.append(
                Attempt(
                    student=student.folder,
                    lab=lab,
                    source=claim.source,
                    owner=owner,
                    who=student.who,
                    person=student.person,
                    members=tuple(s.folder for s in students) if len(students) > 1 else (),
                    # A time in the name makes an attempt; without one, all of a download is one hand-in.
                    hand_in=f"{claim.download}\n{owner.time.isoformat() if owner.time else ''}",
                    found=claim.found,
                    name=claim.name,
                    handed_in=handed_in,
                    time=handed_in.timestamp() if handed_in else _sane(claim.found.time),
                    inside=_sane(claim.inside),
                    notes=tuple(notes),
                )
            )

    def _lab(self, claim: _Claim) -> str:
        labs, said = self.settings.labs, claim.owner.lab
        lab = lab_of(said, labs, exact=True) if said else lab_of(claim.name, labs)
        if not lab and not said:
            head = []
            try:
                for chunk in self.budget.paid(claim.owner.label, claim.found.chunks(LIMITS.file)):
                    head.append(chunk)
            except Refused:
                if not head:
                    raise
            lab = lab_of_cells(b"".join(head), self.settings.grade_ids)
            folders = PurePosixPath(claim.name).parts[:-1] if claim.alone or claim.inside is None else ()
            around = [name for part in folders if (name := lab_of(part, labs, exact=True))]
            lab = lab or (around[-1] if around and claim.alone else "")
        if lab in labs:
            return lab
        if said or lab:
            raise Unmatched(f"It is for {shown(said or lab)}, which is not collected here.")
        raise Unmatched(
            f"Neither its name nor its cells say which lab it is for. Rename it, such as {labs[0]}.ipynb, and "
            "collect it again."
        )


def _hand_ins(listing: Listing) -> list[str]:
    """The paths of the notebooks and zips among what a student's zip holds."""
    return [found.path for found in listing.found if is_notebook(found.path) or is_zip(found.path)]


def _receipts(by_path: Mapping[str, Found]) -> dict[str, Receipt]:
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


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, Refused) else f"It could not be read: {in_words(error)}."
