"""Filing: attempts become folders, DIR/submitted/<student>/<lab>/<lab>.ipynb.

Of one hand-in's files one counts, chosen before anything is read. The newest attempt is filed, with
timestamp.txt beside it where it is known when it came; earlier ones are kept in DIR/submitted-earlier/. Where
each came from is noted in DIR/collected/<student>/<lab>.json: for a later run, which must tell newer from
older, and for the way back to the platform. It does not lie beside the hand-in, since nbgrader's exchange
puts there whatever a student sends, such a file included.

Whatever goes wrong with one hand-in is its row's reason, and the others are filed.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.errors import Complaint, counted
from autograder.files import concerns_disk, why_no_folder, write
from autograder.grading.intake.budget import LIMITS, Budget, Refused
from autograder.grading.intake.find import Attempt, Outcome, Row
from autograder.grading.intake.indexes import stamp_of
from autograder.grading.intake.names import account_of, copy_number, nfc, shown, stem
from autograder.grading.intake.roster import Identity
from autograder.grading.intake.unpack import in_words, opened, read_file

STAMP = "%Y-%m-%d %H:%M:%S UTC"  # three parts, as nbgrader's parse_utc reads it
VERSION = 1
MAX_RECORD = 100_000  # bytes
STALE = 3600  # seconds; another run may be writing now


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a hand-in came from, kept for telling newer from older and for the way back.

    Parameters
    ----------
    platform : str
        "Canvas", "Moodle", … or "folder"; "" for one put there by hand.
    name, login, email, lms_id, sid : str
        Of the person, or of the group, as the platform says.
        `lms_id` is the platform's own number, Brightspace's included.
    participant : str
        The number of this person in this assignment only: Moodle's.
    account : str
        What tells the account from another of the same name on the same platform.
    original : str
        The part of the path that the platform wrote: "lovelaceada_12345_678_", or a folder with its "/".
    file : str
        What the student called it.
    handed_in : str or None
        "2026-11-20 14:03:22 UTC"; None if not known.
    late : bool
        The platform's mark.
    number : int
        An upload's number, else a copy's.
    members : tuple of str
        All students who handed it in together; () for one alone.
    time, inside : float
        The file's time, and that within a student's zip.
    sha256 : str
    """

    platform: str = ""
    name: str = ""
    login: str = ""
    email: str = ""
    lms_id: str = ""
    sid: str = ""
    participant: str = ""
    account: str = ""
    original: str = ""
    file: str = ""
    handed_in: str | None = None
    late: bool = False
    number: int = 0
    members: tuple[str, ...] = ()
    time: float = 0.0
    inside: float = 0.0
    sha256: str = ""

    @property
    def identity(self) -> Identity:
        """Who it was, as the platform said: for asking the roster."""
        number = "brightspace" if self.platform == "Brightspace" else "lms_id"
        said = {key: getattr(self, key) for key in ("name", "login", "email", "sid")}
        return Identity(**said, **{number: self.lms_id})

    def is_other(self, other: "Origin") -> bool:
        """Whether it came from another platform or account: what nobody vouches for being one person's."""
        if not self.platform or not other.platform:  # put there by hand
            return False
        accounts = nfc(self.account or self.participant or self.lms_id), nfc(other.account)
        return self.platform != other.platform or (accounts[0] != accounts[1] and all(accounts))

    def __str__(self) -> str:
        return account_of(self.platform, self.name, self.account)

    def newer_than(self, other: "Origin") -> bool:
        if self.platform == other.platform == "Canvas" and self.lms_id == other.lms_id:
            # Canvas counts all uploads, and its files' times are the download's.
            return (self.number, self.inside) > (other.number, other.inside)
        return (self.time, self.inside, self.number) > (other.time, other.inside, other.number)


def origin_of(attempt: Attempt) -> Origin:
    """What is to be kept of an attempt."""
    who = attempt.who
    return Origin(
        platform=attempt.owner.platform,
        name=who.name or (attempt.person.name if attempt.person else ""),
        login=who.login,
        email=who.email,
        lms_id=who.lms_id or who.brightspace,
        sid=who.sid,
        participant=who.participant,
        account=who.account,
        original=attempt.owner.original,
        file=attempt.name.rpartition("/")[2].removeprefix(attempt.owner.original),
        handed_in=attempt.handed_in.strftime(STAMP) if attempt.handed_in else None,
        late=attempt.owner.late,
        number=attempt.owner.number or copy_number(attempt.name),
        members=attempt.members,
        time=attempt.time,
        inside=attempt.inside,
    )


def read_origin(root: Path, student: str, lab: str) -> Origin | None:
    """Where the hand-in in submitted/ came from, if `collect` filed it.

    Parameters
    ----------
    root : Path
        The classroom.
    student, lab : str
    """
    try:
        path = _Place(root).folder("collected", student) / f"{lab}.json"
        kept: Any = json.loads(read_file(path, MAX_RECORD))
        if kept.pop("version") != VERSION:
            return None
        origin = Origin(**{**kept, "members": tuple(kept["members"])})
    except (Refused, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    right = all(isinstance(getattr(origin, f.name), _KINDS[f.name]) for f in fields(Origin))
    return origin if right else None


_KINDS: Mapping[str, tuple[type, ...]] = {
    **{f.name: (str,) for f in fields(Origin)},
    "handed_in": (str, type(None)),
    "late": (bool,),
    "number": (int,),
    "members": (tuple,),
    "time": (int, float),
    "inside": (int, float),
}


def read_origins(root: Path) -> dict[tuple[str, str], Origin]:
    """Every (student, lab) that `collect` filed, and where from."""
    found = {}
    for path in sorted((root / "collected").glob("*/*.json")):
        if origin := read_origin(root, path.parent.name, path.stem):
            found[path.parent.name, path.stem] = origin
    return found


def file_attempts(
    attempts: Sequence[Attempt], root: Path, budget: Budget, replaces: bool = False
) -> list[Row]:
    """File what was found.

    Parameters
    ----------
    attempts : sequence of Attempt
    root : Path
        The classroom.
    budget : Budget
    replaces : bool
        Whether a newer hand-in may replace one of another platform or account, or under a name that its student
        chose.

    Returns
    -------
    list of Row
        One for each attempt.

    Raises
    ------
    Complaint
        If the disk is full or may not be written.
    """
    for left in root.glob("submitted*/*/*/.collect-*.part"):  # what a killed run has left
        with suppress(OSError):
            if time.time() - left.lstat().st_ctime > STALE:
                left.unlink()
    together: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        together[attempt.student, attempt.lab].append(attempt)
    rows = []
    for key in sorted(together):
        rows += _file_one(together[key], _Place(root), budget, replaces)
    return rows


def _file_one(attempts: list[Attempt], place: "_Place", budget: Budget, replaces: bool) -> list[Row]:
    """All that one student handed in for one lab; raises for nothing but the disk."""
    hand_ins: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        hand_ins[attempt.hand_in].append(attempt)
    rows: list[Row] = []
    sets = [sorted(files, key=lambda one: [of(one) for of in _RULES.values()]) for files in hand_ins.values()]
    # The newest first: what it replaces is kept once, and an earlier one need not be filed in between.
    for *others, attempt in sorted(sets, key=lambda files: _age(files[-1]), reverse=True):
        try:
            row = _Filing(attempt, place, budget, replaces).row()
        except Refused as why_not:  # then all of the hand-in is nobody's
            rows += [_row(one, Outcome.REFUSED, str(why_not)) for one in (*others, attempt)]
            continue
        except Exception as error:  # noqa: BLE001 - one hand-in's failure is its own
            if isinstance(error, OSError) and concerns_disk(error):
                raise Complaint(
                    f"{shown(str(error.filename or place.root))}: {error.strerror}. What was filed so far "
                    "stays, and the same command goes on from there."
                ) from None
            row = _row(attempt, Outcome.REFUSED, f"It could not be filed: {in_words(error)}.")
        many, name = counted(1 + len(others), "notebook"), shown(attempt.name.rpartition("/")[2], 60)
        why = f"Of {many} in this hand-in, {name} counts: {_why(attempt, others[-1])}." if others else ""
        rows += [*(_row(other, Outcome.OLDER, why, look=True) for other in others), row]
    return rows


def _age(attempt: Attempt) -> tuple[float, float, int]:
    return attempt.time, attempt.inside, attempt.owner.number or copy_number(attempt.name)


# Which of one hand-in's files counts: the one in which the first rule that tells them apart is largest.
_RULES: Mapping[str, Callable[[Attempt], Any]] = {
    "the upload's number is the largest": lambda attempt: attempt.owner.number,
    # Zips keep times to two seconds.
    "it is the newest": lambda attempt: int((attempt.inside or attempt.time) // 2),
    "it has the largest copy number": lambda attempt: copy_number(attempt.name),
    "it is called after the lab": lambda attempt: stem(attempt.name) == attempt.lab,
    "it comes last in the alphabet": lambda attempt: attempt.name,
}


def _why(last: Attempt, other: Attempt) -> str:
    return next((rule for rule, of in _RULES.items() if of(last) != of(other)), list(_RULES)[-1])


def _row(attempt: Attempt, outcome: Outcome, reason: str = "", path: str = "", **more: Any) -> Row:
    word = attempt.owner.word + (" and roster.csv" if attempt.person else "")
    return Row(
        source=shown(attempt.source),
        student=attempt.student,
        lab=attempt.lab,
        outcome=outcome,
        reason=" ".join([part for part in (reason, *attempt.notes) if part]),
        path=path,
        word=word,
        chosen=attempt.owner.chosen,
        **more,
    )


class _Place:
    """The classroom's folders, which no link may lead out of."""

    def __init__(self, root: Path):
        self.root = root

    def folder(self, *parts: str) -> Path:
        place = self.root
        for part in parts:
            if why := why_no_folder(place, part):
                raise Refused(f"{self.shown(place / part)} {why}.")
            place = place / part
            if place.is_symlink() or (place.exists() and not place.is_dir()):
                raise Refused(f"{self.shown(place)} is a link or a file where a folder should be.")
        return place

    def shown(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


class _Filing:
    """One attempt on its way into the classroom."""

    def __init__(self, attempt: Attempt, place: _Place, budget: Budget, replaces: bool):
        self.attempt, self._place, self._budget, self._replaces = attempt, place, budget, replaces
        self._student, self._lab = attempt.student, attempt.lab
        self._folder = place.folder("submitted", self._student, self._lab)
        self._path = self._folder / f"{self._lab}.ipynb"

    def row(self) -> Row:
        """File it, unless something newer is there."""
        there, current = self._current()
        self._data = b"".join(self._budget.paid(self._student, self.attempt.found.chunks(LIMITS.file)))
        new = replace(origin_of(self.attempt), sha256=hashlib.sha256(self._data).hexdigest())
        same = current is not None and current.sha256 == new.sha256
        if current and same and new.handed_in in (None, current.handed_in):
            return _row(self.attempt, Outcome.UNCHANGED, path=self._place.shown(there or self._path))
        # The same, but now we know from when.
        dated = current is not None and same and current.handed_in is None
        newer = current is None or new.newer_than(current)
        if current and not self._replaces and (newer or not self._kept(new)):
            self._refuse(current, new, same)
        if current and not dated and not newer:
            why = "A newer attempt is there."
            why = why if current.newer_than(new) else "An attempt of the same time is there already."
            return _row(self.attempt, Outcome.OLDER, why, self._keep_earlier(new))
        kept = None
        with self._beside(self._path, new) as beside:
            stamp = self._folder / "timestamp.txt"
            if new.handed_in:  # before anything is moved: the disk may be full
                write(stamp, f"{new.handed_in}\n")
            else:
                stamp.unlink(missing_ok=True)  # it was another attempt's
            if there and current and not dated:
                kept = self._earlier / _earlier_name(current)
                kept.parent.mkdir(parents=True, exist_ok=True)
                there.replace(kept)
                _note_time(kept, current)
            beside.replace(self._path)
        if there and there != self._path:
            there.unlink(missing_ok=True)
        record = self._place.folder("collected", self._student) / f"{self._lab}.json"
        write(record, json.dumps({"version": VERSION, **asdict(new)}, ensure_ascii=True, indent=1) + "\n")
        was = self._place.shown(kept) if kept else ""
        why = f"It replaces an earlier attempt, which is kept as {was}." if was else ""
        return _row(self.attempt, Outcome.FILED, why, self._place.shown(self._path), replaced=was)

    def _refuse(self, current: Origin, new: Origin, same: bool) -> None:
        """Raise `Refused` for what only a person can say is by the student whose hand-in is there."""
        remedy = (
            "If both are this student's, collect it with --replace; if not, put a roster that tells them apart into "
            "the classroom, and move the wrong one away."
        )
        # A group's number is its account; Gradescope's students name each other.
        others = current.members != new.members and not current.participant
        if current.is_other(new) or others:
            raise Refused(f"The hand-in that is there came from {current}, this one from {new}. {remedy}")
        if self.attempt.owner.chosen and not same:
            raise Refused(
                f"There is a hand-in of this name, and students choose such names themselves. {remedy}"
            )

    @property
    def _earlier(self) -> Path:
        return self._place.folder("submitted-earlier", self._student, self._lab)

    def _kept(self, origin: Origin) -> list[Path]:
        """The same bytes among the earlier attempts."""
        return sorted(self._earlier.glob(f"*-{origin.sha256[:12]}.ipynb"))

    def _current(self) -> tuple[Path | None, Origin | None]:
        """The hand-in that is there already, and what is known of it."""
        there = self._path
        if not os.path.lexists(there):
            # As the classroom reads it: a single notebook of another name is the hand-in.
            others = [p for p in self._folder.glob("*.ipynb") if not p.name.startswith(".")]
            if len(others) != 1:
                return None, None
            there = others[0]
        try:
            with opened(there) as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                time = os.fstat(file.fileno()).st_mtime
        except Refused as refused:
            raise Refused(f"{self._place.shown(there)} is in the way: {refused}") from None
        known = read_origin(self._place.root, self._student, self._lab)
        if known and known.sha256 == sha256:
            return there, known
        # Put there by hand, or changed since.
        moment = _stamped(self._folder / "timestamp.txt")
        return there, Origin(
            handed_in=moment.strftime(STAMP) if moment else None,
            time=moment.timestamp() if moment else time,
            sha256=sha256,
        )

    def _keep_earlier(self, origin: Origin) -> str:
        """Keep an attempt that is not the newest, unless it is kept already."""
        path = self._earlier / _earlier_name(origin)
        kept = self._kept(origin)
        if path in kept or (kept and origin.handed_in is None):  # a download's time: there may be many
            return self._place.shown(path if path in kept else kept[0])
        with self._beside(path, origin) as beside:
            beside.replace(path)
        _note_time(path, origin)
        return self._place.shown(path)

    @contextmanager
    def _beside(self, path: Path, origin: Origin) -> Iterator[Path]:
        """The file written whole under another name beside its place, for renaming.

        If that fails it goes again, and with it a folder that was made for it, or that would count as a hand-in.
        """
        folder, old = path.parent, path.parent.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle, name = tempfile.mkstemp(prefix=".collect-", suffix=".part", dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self._data)
                os.chmod(name, 0o644)
                os.utime(name, (origin.time, origin.time))
                yield Path(name)
            finally:
                Path(name).unlink(missing_ok=True)
        except BaseException:
            if not old:
                shutil.rmtree(folder, ignore_errors=True)
                with suppress(OSError):  # the student has handed in other labs
                    folder.parent.rmdir()
            raise


def _note_time(kept: Path, origin: Origin) -> None:
    """When an earlier attempt was handed in, if that is known, beside it: its name may have a download's time."""
    if origin.handed_in:
        write(kept.with_suffix(".txt"), f"{origin.handed_in}\n")


def _earlier_name(origin: Origin) -> str:
    moment = datetime.fromtimestamp(origin.time, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{moment}-{origin.sha256[:12]}.ipynb"


def _stamped(path: Path) -> datetime | None:
    """The time in a timestamp.txt that nbgrader, or somebody's hand, has written."""
    with suppress(Refused, UnicodeDecodeError):
        return stamp_of(read_file(path, 200).decode("utf-8").strip(), UTC)
    return None
