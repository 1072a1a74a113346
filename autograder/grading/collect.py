"""Hand-ins from folders and zips into the classroom: DIR/submitted/<student>/<lab>/<lab>.ipynb.

The newest attempt is filed, with timestamp.txt beside it where it is known when it was handed in; the others
are kept in DIR/submitted-earlier/. What each file was is noted in DIR/collected/<student>/<lab>.json, so that
a later run can tell newer from older. Nothing is written anywhere else.
"""

import hashlib
import json
import os
import re
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path, PurePosixPath

import dateutil.parser
from dateutil.tz import gettz
from nbgrader.utils import parse_utc

from autograder.files import write
from autograder.grading.classroom import Classroom
from autograder.grading.handin import MAX_BYTES
from autograder.grading.handin_names import (
    NOTEBOOK,
    RECEIPT,
    TYPED,
    Layout,
    Owner,
    by_grade_ids,
    by_name,
    copy_number,
    safe_student,
    student_key,
)
from autograder.grading.unpack import (
    MAX_FILE,
    MAX_ZIP,
    Found,
    Listing,
    Refused,
    in_folder,
    is_zip,
    one_file,
    open_ordinary,
    opened_zip,
    read,
)
from autograder.labs import LABS

MAX_ZIPS_DEEP = 2  # the class's zip and, in it, one a student
MAX_UNPACKED = 20_000_000_000  # bytes, of one path given
IN_MEMORY = 32_000_000  # a zip in a zip above this lies on the disk while it is read
STAMP = "%Y-%m-%d %H:%M:%S UTC"  # three parts, as nbgrader's parse_utc reads it

# Blackboard writes the server's zone so; nbgrader's parser knows hardly any of them.
_HOURS = {"UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3}
_HOURS |= {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_HOURS |= {"AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "SAST": 2}
_ZONES = {name: hours * 3600 for name, hours in _HOURS.items()}


class CollectError(Exception):
    """The command cannot be carried out as it was given; the text says why and what to do."""


class Outcome(StrEnum):
    FILED = "filed"
    UNCHANGED = "unchanged"
    OLDER = "older"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNMATCHED = "unmatched"


@dataclass(frozen=True)
class Row:
    """What became of one file.

    Parameters
    ----------
    source : str
        Where it was, with the zips around it: "class.zip/ada/qkv-attention.ipynb".
    student, lab : str
        "" where that is not known.
    outcome : Outcome
    reason : str
        A sentence or more; "" where there is nothing to say.
    path : str
        Where it is now, below the classroom; "" if nowhere.
    """

    source: str
    student: str
    lab: str
    outcome: Outcome
    reason: str = ""
    path: str = ""


@dataclass
class Report:
    """What `collect` did.

    Parameters
    ----------
    rows : list of Row
    junk : int
        Files of operating systems and editors, and of Git, passed over.
    others : int
        Files beside a notebook that are no notebooks.
    untimed : int
        Hand-ins filed without a time stamp.
    """

    rows: list[Row] = field(default_factory=list)
    junk: int = 0
    others: int = 0
    untimed: int = 0

    @property
    def exit_code(self) -> int:
        """1 if something was refused or could not be matched, else 0."""
        return int(any(row.outcome in (Outcome.REFUSED, Outcome.UNMATCHED) for row in self.rows))

    @property
    def summary(self) -> str:
        """One line: how many of each."""
        count = Counter(row.outcome for row in self.rows)
        said = [f"{count[outcome]} {outcome}" for outcome in Outcome if count[outcome]] or ["nothing found"]
        if self.others:
            said.append(f"{self.others} files beside them that are no notebooks")
        if self.junk:
            said.append(f"{self.junk} of the system's own passed over")
        line = f"{', '.join(said)}."
        if self.untimed:
            line += (
                f" Without a time stamp, and so without a late penalty: {self.untimed}, as nothing says when "
                "they were handed in."
            )
        return line

    def table(self):
        """The rows as a table for rich, those that need attention last, where they are seen."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title="Hand-ins", title_justify="left")
        for heading in ("student", "lab", "outcome", "file", "why"):
            table.add_column(heading, overflow="fold")
        colours = {Outcome.REFUSED: "red", Outcome.UNMATCHED: "yellow", Outcome.FILED: "green"}
        order = list(Outcome)
        for row in sorted(self.rows, key=lambda row: order.index(row.outcome)):
            # Text, since a file's name may hold rich's markup.
            cells = (row.student, row.lab, row.outcome, row.source, row.reason)
            style = colours.get(row.outcome, "")
            table.add_row(*(Text(cell, style=style if i == 2 else "") for i, cell in enumerate(cells)))
        return table


def collect(
    paths: Iterable[Path | str],
    classroom: Classroom,
    labs: Sequence[str] = LABS,
    *,
    timezone: str | None = None,
    file_times: bool = False,
) -> Report:
    """File the hand-ins that lie in folders and zips.

    Parameters
    ----------
    paths : iterable of path
        Folders, zips or notebooks.
    classroom : Classroom
    labs : sequence of str
        Hand-ins for other labs are listed as unmatched.
    timezone : str, optional
        Where times without a zone are from, such as "Europe/Berlin"; by default what Blackboard's text file
        says, else UTC.
    file_times : bool
        Whether a file's own time is taken as the time it was handed in where nothing else says it. Off, as
        Canvas and Moodle give every file the time of the download, and Git that of the clone: all would be
        late.

    Returns
    -------
    Report

    Raises
    ------
    CollectError
        If a path does not exist, the time zone is unknown, or the classroom cannot be written.
    """
    paths = [Path(path) for path in paths]
    run = _Run(classroom, labs, _zone(timezone), timezone is not None, file_times)
    run.check(paths)
    try:
        for path in paths:
            run.path(path)
    except OSError as error:
        raise CollectError(
            f"{error.filename or run.root}: {error.strerror or error}. What was filed so far stays, and the "
            "same command goes on from there."
        ) from None
    run.report.untimed = len(run.untimed)
    return run.report


@dataclass(frozen=True)
class _Attempt:
    """One hand-in: whose, for what, when; `asdict` of it is what the classroom remembers.

    `handed_in` is None where it is not known. `time` then is the file's, good for telling newer from older
    only; `inner` is the time within a student's own zip.
    """

    student: str
    lab: str
    form: str
    said: str
    lms_id: str
    number: int
    late: bool
    handed_in: str | None
    time: float
    inner: float
    sha256: str = ""

    def newer_than(self, other: "_Attempt") -> bool:
        if self.form == other.form == "Canvas" and self.lms_id == other.lms_id:
            # Canvas counts all uploads, and its files' times are the download's.
            return (self.number, self.inner) > (other.number, other.inner)
        return (self.time, self.inner, self.number) > (other.time, other.inner, other.number)

    @property
    def stamp(self) -> str:
        return datetime.fromtimestamp(self.time, UTC).strftime("%Y%m%dT%H%M%SZ")


@dataclass
class _Source:
    """One folder or zip while it is looked through."""

    label: str
    layout: Layout
    listing: Listing
    deep: int  # how many zips it lies in
    by_path: dict[str, Found]
    receipts: dict[str, str]  # Blackboard's text files, by what the hand-ins' names begin with
    seen: set[str] = field(default_factory=set)  # students with a row
    others: dict[str, list[str]] = field(default_factory=dict)  # students' files that are no notebooks
    nobodys: list[str] = field(default_factory=list)  # such files that are no student's


class _Run:
    def __init__(self, classroom, labs, zone: tzinfo, zone_given: bool, file_times: bool):
        self.root = classroom.root
        self.labs = tuple(labs)
        self.zone, self.zone_given, self.file_times = zone, zone_given, file_times
        self.report = Report()
        self._managed = [
            classroom.submitted,
            self.root / "submitted-earlier",
            self.root / "collected",
            classroom.results,
            classroom.autograded,
            classroom.feedback,
            classroom.report,
        ]
        self._left = MAX_UNPACKED
        self.untimed: set[tuple[str, str]] = set()
        self._filed: dict[tuple[str, str], int] = {}  # the row of what lies in submitted/ now
        self._students: dict[str, str] = {}
        self._canvas: dict[str, str] = {}
        submitted = classroom.submitted
        for name in sorted(os.listdir(submitted) if submitted.is_dir() else []):
            self._students.setdefault(student_key(name), name)
            for lab in LABS if re.search(r"-\d+$", name) else ():
                record = self._record(name, lab)
                if record and record.form == "Canvas":
                    self._canvas[record.lms_id] = name

    def _record(self, student: str, lab: str) -> _Attempt | None:
        """What is remembered of the hand-in in submitted/."""
        try:
            record = self._folder("collected", student) / f"{lab}.json"
            return _Attempt(**json.loads(record.read_text("utf-8")))
        except (Refused, OSError, ValueError, TypeError):
            return None

    # Looking through what was given

    def check(self, paths: list[Path]) -> None:
        """Find out what cannot work before anything is done."""
        if not paths:
            raise CollectError("Nothing to collect: name a folder, a zip or a notebook.")
        managed = [place.resolve() for place in self._managed]
        for path in paths:
            if not path.exists():
                raise CollectError(f"There is no {path}.")
            if any(path.resolve().is_relative_to(place) for place in managed):
                raise CollectError(f"{path} is the classroom's own; collect from where hand-ins arrive.")
        if self.root.exists() and not self.root.is_dir():
            raise CollectError(f"{self.root} is not a folder.")

    def path(self, path: Path) -> None:
        """Collect from one path given."""
        self._left = MAX_UNPACKED
        name = path.name if path.name not in ("", "..") else path.resolve().name
        if path.is_dir():
            places = [place.stat() for place in self._managed if place.is_dir()]
            skip = {(place.st_dev, place.st_ino) for place in places}
            self._source(path.resolve().name, name, in_folder(path.resolve(), skip), deep=0)
        elif is_zip(name):
            try:
                with self._zip(one_file(path.resolve())) as listing:
                    self._source(PurePosixPath(name).stem, name, listing, deep=1)
            except Refused as refused:
                self._row(name, Outcome.REFUSED, str(refused))
        elif NOTEBOOK.search(name) and path.is_file():
            self._source("", "", Listing([one_file(path.resolve())]), deep=0)
        else:
            self._row(name, Outcome.UNMATCHED, "It is neither a folder nor a zip nor a notebook.")

    @contextmanager
    def _zip(self, found: Found) -> Iterator[Listing]:
        """Open a zip that is a file or lies in another one."""
        if not found.file:
            self.root.mkdir(parents=True, exist_ok=True)
        with (
            open_ordinary(found.file)
            if found.file
            # Without a name, in the classroom, and gone when closed.
            else tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=self.root)
        ) as file:
            if not found.file:
                for chunk in self._paid(found.chunks(MAX_ZIP)):
                    file.write(chunk)
            with opened_zip(file, found.time, self.zone) as listing:
                yield listing

    def _source(self, name: str, label: str, listing: Listing, deep: int, fallback: str = "") -> None:
        """Go through a folder or zip that is not inside a student's hand-in."""
        hand_ins = [
            found.path
            for found in listing.found
            if not found.trouble and (NOTEBOOK.search(found.path) or is_zip(found.path))
        ]
        source = _Source(
            label,
            Layout(hand_ins, name, listing.clones, fallback),
            listing,
            deep,
            {found.path: found for found in listing.found},
            self._receipts(listing),
        )
        if not listing.found:
            nothing = f"There is nothing in it{' but files of the system' if listing.junk else ''}."
            self._row(label, Outcome.UNMATCHED, nothing)
        for found in listing.found:
            self._one(source, found)
        for student, files in source.others.items():
            if student in source.seen:
                self.report.others += len(files)
            else:
                why = f"No notebook was handed in, only {_names(files)}."
                self._row(_join(label, files[0]), Outcome.UNMATCHED, why, student)
        if source.nobodys:
            why = f"Neither notebooks nor anyone's: {_names(source.nobodys)}."
            self._row(label, Outcome.IGNORED, why)
        self.report.junk += listing.junk

    def _one(self, source: _Source, found: Found) -> None:
        where = _join(source.label, found.path)
        if found.trouble:
            self._row(where, Outcome.REFUSED, found.trouble)
            return
        if TYPED.match(found.path):
            self._row(where, Outcome.IGNORED, "It is text typed into a page; only a notebook can be marked.")
            return
        owner = self._owner(source, found.path)
        if is_zip(found.path):
            # A zip in a student's folder is theirs; one at the top is named after someone, or is a class's.
            self._inner_zip(source, found, where, owner if isinstance(owner, Owner) else None)
        elif not NOTEBOOK.search(found.path):
            if isinstance(owner, Owner):
                source.others.setdefault(self._folder_name(owner)[0], []).append(found.path)
            else:
                source.nobodys.append(found.path)
        elif isinstance(owner, str):
            self._row(where, Outcome.UNMATCHED, owner)
        else:
            self._notebook(source, found, where, owner)

    def _owner(self, source: _Source, path: str) -> Owner | str:
        """Whose a file is, with what Blackboard's text file beside it says of who and when."""
        owner = source.layout.owner(path)
        if isinstance(owner, str) or not owner.timestamp:
            return owner
        begins = path[: path.index(owner.timestamp)]
        receipt = source.receipts.get(begins + owner.timestamp, "")
        user = re.search(r"^Name:.*\(([^()]+)\)\s*$", receipt, re.MULTILINE)
        if user and begins.endswith(f"_{user[1]}_attempt_"):  # with its underscores
            owner = replace(owner, student=safe_student(user[1]), said=user[1])
        zone, said = self.zone, _date_submitted(receipt)
        try:
            local = datetime.strptime(owner.timestamp, "%Y-%m-%d-%H-%M-%S")
            # The same moment with its zone; the name has none.
            if said and said.tzinfo and not self.zone_given and said.replace(tzinfo=None) == local:
                zone = said.tzinfo
            return replace(owner, handed_in=local.replace(tzinfo=zone).astimezone(UTC))
        except (ValueError, OverflowError):
            return replace(owner, note=f"{owner.timestamp} in its name is no time.")

    def _inner_zip(self, source: _Source, found: Found, where: str, owner: Owner | None) -> None:
        """A zip in a folder or in another zip: one student's if `owner` is given, else hand-ins of many."""
        student = self._folder_name(owner)[0] if owner else ""
        source.seen.add(student)
        if source.deep >= MAX_ZIPS_DEEP:
            why = "It is a zip in a zip in a zip; that deep none is opened. Unpack the outer one."
            self._row(where, Outcome.REFUSED, why, student)
            return
        try:
            with self._zip(found) as listing:
                if owner:
                    self._students_zip(source, found, where, owner, listing)
                else:
                    stem = PurePosixPath(found.path).stem
                    self._source(stem, where, listing, source.deep + 1, fallback=stem)
        except Refused as refused:
            self._row(where, Outcome.REFUSED, str(refused), student)

    def _students_zip(self, source, found, where, owner, listing) -> None:
        """All of it is that one student's, whatever its names say."""
        self.report.junk += listing.junk
        student, some = self._folder_name(owner)[0], False
        for inner in listing.found:
            inside = _join(where, inner.path)
            notebook = NOTEBOOK.search(inner.path)
            some = some or bool(notebook or inner.trouble or is_zip(inner.path))
            if inner.trouble:
                self._row(inside, Outcome.REFUSED, inner.trouble, student)
            elif is_zip(inner.path):
                self._inner_zip(replace(source, deep=source.deep + 1), inner, inside, owner)
            elif notebook:
                number = owner.number if owner.form.startswith("Canvas") else copy_number(inner.path)
                mine = replace(owner, file=inner.path, number=number)
                # When it came is when the zip came; the times inside are the student's clock's.
                self._notebook(source, replace(inner, time=found.time), inside, mine, inner.time)
            else:
                self.report.others += 1
        if not some:
            why = f"No notebook is in this zip{', only ' if listing.found else ''}"
            why += _names([inner.path for inner in listing.found])
            self._row(where, Outcome.UNMATCHED, f"{why}.", student)

    def _receipts(self, listing: Listing) -> dict[str, str]:
        receipts = {}
        for found in listing.found:
            if RECEIPT.search(found.path) and not found.trouble:
                with suppress(Refused):
                    text = read(found, 1_000_000).decode("utf-8", "replace")
                    receipts[found.path.removesuffix(".txt")] = text[:10_000]
        return receipts

    # From a notebook to a hand-in

    def _notebook(
        self, source: _Source, found: Found, where: str, owner: Owner, inner: float | None = None
    ) -> None:
        student, notes = self._folder_name(owner)
        source.seen.add(student)
        notes = [note for note in (found.note, owner.note, *notes) if note]
        row = Row(_shown(where), student, "", Outcome.REFUSED)
        try:
            attempt, more = self._attempt(source, found, owner, student, inner)
            row = replace(row, lab=attempt.lab)
            row = self._file(row, attempt, found, notes + more)
        except _Unmatched as why:
            row = replace(row, outcome=Outcome.UNMATCHED, reason=str(why))
        except Refused as why:
            row = replace(row, reason=" ".join([str(why), *notes]))
        self.report.rows.append(row)
        if row.outcome in (Outcome.FILED, Outcome.UNCHANGED):
            self._filed[row.student, row.lab] = len(self.report.rows) - 1

    def _attempt(self, source, found, owner, student, inner) -> tuple[_Attempt, list[str]]:
        lab = by_name(PurePosixPath(owner.file).name)
        digest, size, head = hashlib.sha256(), 0, []
        for chunk in self._paid(found.chunks(MAX_FILE)):
            digest.update(chunk)
            if not lab and size < MAX_BYTES:
                head.append(chunk)
            size += len(chunk)
        lab = lab or by_grade_ids(b"".join(head))
        if not lab and inner is None:
            lab = _by_folder(source, found.path)
        if not lab:
            raise _Unmatched(
                "Neither its name nor its cells say which lab it is for. Rename it, such as "
                f"{self.labs[0]}.ipynb, and collect it again."
            )
        if lab not in self.labs:
            raise _Unmatched(f"It is for {lab}, which is not collected here.")
        handed_in, notes = self._handed_in(source, found, owner, inner is not None)
        attempt = _Attempt(
            student,
            lab,
            owner.form,
            owner.said,
            owner.lms_id,
            owner.number,
            owner.late,
            handed_in.strftime(STAMP) if handed_in else None,
            handed_in.timestamp() if handed_in else _sane(found.time),
            _sane(inner),
            digest.hexdigest(),
        )
        return attempt, notes

    def _handed_in(self, source, found, owner, nested) -> tuple[datetime | None, list[str]]:
        """When it was handed in, in UTC and whole seconds, if anything trustworthy says so."""
        notes: list[str] = []
        when = owner.handed_in
        # Only where nbgrader puts it, and not from a zip that the student made.
        beside = source.by_path.get(f"{found.path.rpartition('/')[0]}/timestamp.txt")
        if when is None and owner.form == "folder" and not nested and beside and not beside.trouble:
            try:
                text = read(beside, 200).decode("utf-8").strip()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    when = parse_utc(text).replace(tzinfo=UTC, microsecond=0)
            except Exception:  # noqa: BLE001 - a date parser can raise many kinds on what is no date
                notes.append("The timestamp.txt beside it cannot be read.")
        if when is None and self.file_times and found.time is not None:
            with suppress(ValueError, OverflowError, OSError):
                when = datetime.fromtimestamp(int(found.time), UTC)
        if when is None and owner.late:
            notes.append("Canvas marks it as late but does not say when it came.")
        return when, notes

    def _folder_name(self, owner: Owner) -> tuple[str, list[str]]:
        """The student's folder, and a note if it is not called as the student is here."""
        if owner.form == "Canvas" and owner.lms_id in self._canvas:
            return self._canvas[owner.lms_id], []  # people change their names, Canvas's number stays
        known = self._students.get(student_key(owner.student))
        if known is None or known == owner.student:
            return owner.student, []
        same = unicodedata.normalize("NFC", known) == owner.student
        return known, [] if same else [f"{owner.student!r} is taken as {known!r}: only the case differs."]

    # From a hand-in to its place

    def _file(self, row: Row, attempt: _Attempt, found: Found, notes: list[str]) -> Row:
        folder = self._folder("submitted", attempt.student, attempt.lab)
        place = folder / f"{attempt.lab}.ipynb"
        present, current = self._current(folder, attempt)
        if current and current.form == attempt.form == "Moodle" and current.lms_id != attempt.lms_id:
            raise Refused(
                f"There is a hand-in of Moodle's participant {current.lms_id}, of the same name; this is "
                f"number {attempt.lms_id}. If they are two people, rename one's folder; if they are one, "
                "move the other hand-in away."
            )
        row = replace(row, path=self._shown_path(place), reason=" ".join(notes))
        key = attempt.student, attempt.lab
        same = bool(current) and current.sha256 == attempt.sha256
        if same and attempt.handed_in in (None, current.handed_in):
            if current.handed_in is None:
                self.untimed.add(key)
            return replace(row, outcome=Outcome.UNCHANGED)
        dated = same and current.handed_in is None  # the same hand-in, but now we know from when
        if current and not dated and not attempt.newer_than(current):
            kept = self._keep_earlier(attempt, found)
            newer = current.newer_than(attempt)
            why = "A newer attempt is there." if newer else "An attempt of the same time is there already."
            why = " ".join([why, *notes])
            return replace(row, outcome=Outcome.OLDER, path=kept, reason=why)
        folder.mkdir(parents=True, exist_ok=True)
        with self._beside(place, found, attempt) as new:
            if current and not dated:
                moved = self._keep_earlier(current, one_file(present))
                self._superseded(attempt, moved)
                notes = ["It replaces an earlier attempt.", *notes]
            stamp = folder / "timestamp.txt"
            if attempt.handed_in:
                write(stamp, f"{attempt.handed_in}\n")
            else:
                stamp.unlink(missing_ok=True)  # it was another attempt's
            new.replace(place)
        if present and present != place:
            present.unlink()
        record = self._folder("collected", attempt.student) / f"{attempt.lab}.json"
        write(record, json.dumps(asdict(attempt), ensure_ascii=True, indent=1) + "\n")
        self._students.setdefault(student_key(attempt.student), attempt.student)
        if attempt.form == "Canvas":
            self._canvas.setdefault(attempt.lms_id, attempt.student)
        if attempt.handed_in is None:
            self.untimed.add(key)
        else:
            self.untimed.discard(key)
        return replace(row, outcome=Outcome.FILED, reason=" ".join(notes))

    def _current(self, folder: Path, attempt: _Attempt) -> tuple[Path | None, _Attempt | None]:
        """The hand-in that is there already and what is known of it."""
        present = folder / f"{attempt.lab}.ipynb"
        if not os.path.lexists(present):
            # As the classroom reads it: a single notebook of another name is the hand-in.
            others = [p for p in folder.glob("*.ipynb") if not p.name.startswith(".")]
            if len(others) != 1:
                return None, None
            present = others[0]
        digest = hashlib.sha256()
        try:
            with open_ordinary(present) as file:
                while chunk := file.read(1 << 18):
                    digest.update(chunk)
                time = os.fstat(file.fileno()).st_mtime
        except Refused as refused:
            raise Refused(f"{self._shown_path(present)} is in the way: {refused}") from None
        known = self._record(attempt.student, attempt.lab)
        if known and known.sha256 == digest.hexdigest():
            return present, known
        # Put there by hand, or changed since.
        handed_in = None
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            moment = parse_utc(read(one_file(folder / "timestamp.txt"), 200).decode("utf-8").strip())
            moment = moment.replace(tzinfo=UTC)
            handed_in, time = moment.strftime(STAMP), moment.timestamp()
        return present, replace(
            attempt,
            form="",
            lms_id="",
            number=0,
            handed_in=handed_in,
            time=time,
            inner=0.0,
            sha256=digest.hexdigest(),
        )

    def _keep_earlier(self, attempt: _Attempt, found: Found) -> str:
        """Keep an attempt that is not the newest, unless it is kept already."""
        folder = self._folder("submitted-earlier", attempt.student, attempt.lab)
        end = f"-{attempt.sha256[:12]}.ipynb"
        place = folder / f"{attempt.stamp}{end}"
        if not place.exists():
            same = sorted(folder.glob(f"*{end}")) if folder.is_dir() and attempt.handed_in is None else []
            if same:  # the time is a download's: there may be many of one attempt
                return self._shown_path(same[0])
            folder.mkdir(parents=True, exist_ok=True)
            with self._beside(place, found, attempt) as new:
                new.replace(place)
        return self._shown_path(place)

    @contextmanager
    def _beside(self, place: Path, found: Found, attempt: _Attempt) -> Iterator[Path]:
        """The file written whole under another name beside its place, for renaming; gone if that fails."""
        handle, name = tempfile.mkstemp(prefix=".collect-", suffix=".part", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in found.chunks(MAX_FILE):
                    file.write(chunk)
            os.chmod(name, 0o644)
            os.utime(name, (attempt.time, attempt.time))
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def _superseded(self, attempt: _Attempt, moved: str) -> None:
        """A row of this run said "filed"; a newer attempt has come since."""
        number = self._filed.get((attempt.student, attempt.lab))
        if number is not None:
            row = self.report.rows[number]
            reason = " ".join(["A newer attempt is there.", row.reason]).strip()
            self.report.rows[number] = replace(row, outcome=Outcome.OLDER, path=moved, reason=reason)

    def _folder(self, *parts: str) -> Path:
        """A folder of the classroom's, which no link may lead out of."""
        place = self.root
        for part in parts:
            place = place / part
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                raise Refused(f"{self._shown_path(place)} is a link or a file where a folder should be.")
        return place

    def _paid(self, chunks):
        """Count what is unpacked."""
        for chunk in chunks:
            self._left -= len(chunk)
            if self._left < 0:
                raise Refused(
                    f"More than {MAX_UNPACKED / 1e9:.0f} GB came out of this folder or zip; collect its "
                    "parts one by one."
                )
            yield chunk

    def _row(self, where: str, outcome: Outcome, reason: str, student: str = "") -> None:
        self.report.rows.append(Row(_shown(where), student, "", outcome, reason))

    def _shown_path(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


class _Unmatched(Exception):
    """A notebook that belongs nowhere; the text is the sentence for the table."""


def _zone(name: str | None) -> tzinfo:
    zone = UTC if name is None else gettz(name) if re.fullmatch(r"[\w+-]+(/[\w+-]+)*", name) else None
    if zone is None:
        raise CollectError(f"There is no time zone {name!r}; name one such as Europe/Berlin.")
    return zone


def _date_submitted(text: str) -> datetime | None:
    """The date of Blackboard's text file, with its zone if that is a known one."""
    match = re.search(r"^Date Submitted:(.{1,100})$", text, re.MULTILINE)
    if not match:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zones that it does not know
            return dateutil.parser.parse(match[1].replace("o'clock", ""), fuzzy=True, tzinfos=_ZONES)
    except Exception:  # noqa: BLE001 - a date parser can raise many kinds on what is no date
        return None


def _sane(time: float | None) -> float:
    """A file's time that a calendar has; 1970 if it has none."""
    return time if time is not None and 0 <= time < 253_402_300_800 else 0.0


def _by_folder(source: _Source, path: str) -> str:
    """The lab of the folder that a notebook lies in, if it is the only one there."""
    folder = path.rpartition("/")[0]
    beside = [p for p in source.by_path if p.rpartition("/")[0] == folder and NOTEBOOK.search(p)]
    return by_name(PurePosixPath(folder).name, exact=True) if len(beside) == 1 else ""


def _names(files: list[str]) -> str:
    named = ", ".join(_shown(PurePosixPath(file).name) for file in files[:3])
    return f"{named} and {len(files) - 3} more" if len(files) > 3 else named


def _join(label: str, path: str) -> str:
    return f"{label}/{path}" if label else path


def _shown(name: str) -> str:
    """A name that can be printed: what is invisible or no character is escaped, what is long is cut."""
    text = "".join(
        c if unicodedata.category(c)[0] != "C" else c.encode("unicode_escape").decode() for c in name
    )
    return text if len(text) <= 200 else f"{text[:120]}…{text[-60:]}"
