"""`autograder collect`: what comes in is found, filed and told."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import Usage, counted
from autograder.grading.intake import roster as rosters
from autograder.grading.intake.budget import Budget
from autograder.grading.intake.file import file_attempts, read_origins
from autograder.grading.intake.find import Finder, Outcome, Row
from autograder.grading.intake.indexes import zone_of
from autograder.grading.intake.layout import Settings
from autograder.grading.intake.names import shown
from autograder.grading.intake.platforms import own_form
from autograder.grading.intake.roster import Person, Roster
from autograder.grading.intake.unpack import Zips

if TYPE_CHECKING:
    from rich.table import Table

_OURS = "submitted submitted-earlier collected results autograded feedback report returned answers".split()
MOST_ROWS = 20  # of one student and one outcome, in the table
_QUIET = (Outcome.FILED, Outcome.UNCHANGED, Outcome.OLDER)  # what needs no look


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What `collect` did.

    Parameters
    ----------
    rows : tuple of Row
        Every file, in the order of their names.
    notes : tuple of str
        What concerns no single file.
    missing : mapping of str to tuple of Person
        Of the roster, by lab, for the labs that somebody handed in; empty without a roster.
    untimed : int
        Hand-ins of this run that are filed without a time stamp.
    junk, others : int
        Files of systems and editors; files beside a notebook that are no notebooks.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    missing: Mapping[str, tuple[Person, ...]]
    untimed: int = 0
    junk: int = 0
    others: int = 0

    @property
    def exit_code(self) -> int:
        """1 if something was refused or could not be matched, else 0."""
        return int(any(row.outcome in (Outcome.REFUSED, Outcome.UNMATCHED) for row in self.rows))

    @property
    def summary(self) -> str:
        """What was done, in a line or a few."""
        count = Counter(row.outcome for row in self.rows)
        said = [f"{count[outcome]:,} {outcome}" for outcome in Outcome if count[outcome]] or ["nothing found"]
        if self.others:
            are = "is no notebook" if self.others == 1 else "are no notebooks"
            said.append(f"{counted(self.others, 'file')} beside them that {are}")
        if self.junk:
            said.append(f"{self.junk:,} of the system's own passed over")
        lines = [f"{', '.join(said)}."]
        if replaced := [f"{row.student} ({row.lab})" for row in self.rows if row.replaced]:
            lines.append(f"Replaced, the earlier ones being in submitted-earlier/: {_first(replaced)}.")
        if chosen := [row.student for row in self.rows if row.outcome is Outcome.FILED and row.chosen]:
            lines.append(
                f"Filed under names that students chose themselves, so look at them: {_first(chosen)}."
            )
        if self.untimed:
            lines.append(
                f"{counted(self.untimed, 'hand-in')} without a time stamp, and so without a late penalty: "
                "nothing says when they came. roster.csv may, in a column 'Handed in <lab>'."
            )
        lines += self.notes
        for lab, people in self.missing.items():
            names = _first([person.student for person in people])
            lines.append(f"{lab}: {counted(len(people), 'hand-in')} missing ({names}).")
        return "\n".join(lines)

    def table(self) -> "Table | None":
        """What needs a look, as a table for rich; None if nothing does."""
        from rich.table import Table
        from rich.text import Text

        rows = [row for row in self.rows if row.outcome not in _QUIET]
        rows += [row for row in self.rows if row.outcome in _QUIET and row.look]
        if not rows:
            return None
        rows = _few_of_each(rows)
        table = Table(title="What needs a look", title_justify="left")
        for heading in ("student", "lab", "outcome", "file", "known by", "why"):
            table.add_column(heading, overflow="fold")
        colours = {Outcome.REFUSED: "red", Outcome.UNMATCHED: "yellow"}
        order = list(Outcome)
        for row in sorted(rows, key=lambda row: order.index(row.outcome)):
            # Text, since a file's name may hold rich's markup; shown, since it may hold control codes.
            cells = (row.student, row.lab, row.outcome, row.source, row.word, row.reason)
            style = colours.get(row.outcome, "")
            table.add_row(
                *(Text(shown(cell, 1000), style=style if i == 2 else "") for i, cell in enumerate(cells))
            )
        return table


def _first(names: Sequence[str]) -> str:
    """The first twenty, and how many more there are."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(shown(name, 60) for name in names[:20]) + more


def _few_of_each(rows: Sequence[Row]) -> list[Row]:
    """No more rows than a person reads for any one student: ten thousand links in a zip are one finding."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.student or row.source.partition("/")[0], row.outcome].append(row)
    few = []
    for group in groups.values():
        few += group[:MOST_ROWS]
        if left := group[MOST_ROWS:]:
            few.append(
                replace(left[0], source="…", reason=f"And {counted(len(left), 'more', 'more')} like these.")
            )
    return few


def collect(
    paths: Iterable[Path | str],
    root: Path,
    labs: Sequence[str],
    *,
    grade_ids: Mapping[str, str] | None = None,
    timezone: str | None = None,
    file_times: bool = False,
    pattern: str | None = None,
    replaces: bool = False,
) -> Collected:
    """File the hand-ins that lie in folders and zips.

    Parameters
    ----------
    paths : iterable of path
        Folders, zips or notebooks.
    root : Path
        The classroom. Its roster.csv, if there is one, says who is in the class.
    labs : sequence of str
        Hand-ins for other labs are listed as unmatched.
    grade_ids : mapping of str to str, optional
        The lab of each grade_id that stands in one lab only: tells a notebook of any name.
    timezone : str, optional
        Where times without a zone are from, such as "Europe/Berlin"; by default what Blackboard's text file
        says, else UTC.
    file_times : bool
        Whether a file's own time is taken as the time it was handed in where nothing else says it. Off, as
        Canvas and Moodle give every file the time of the download, and Git that of the clone: all would be
        late.
    pattern : str, optional
        A regular expression with named groups for paths that no platform gives.
    replaces : bool
        Whether a newer hand-in may replace one of another platform or account, or under a name that its student
        chose.

    Returns
    -------
    Collected

    Raises
    ------
    Usage
        If a path does not exist, or the time zone or the pattern cannot be used.
    Complaint
        If the roster is wrong, or the classroom cannot be written.
    """
    given = [Path(path) for path in paths]
    zone = zone_of(timezone) if timezone is not None else None
    if timezone is not None and zone is None:
        raise Usage(f"There is no time zone {timezone!r}; name one such as Europe/Berlin.")
    form = own_form(pattern) if pattern is not None else None
    submitted = root / "submitted"
    skip = _check(given, root)
    roster = rosters.read(root / "roster.csv")
    settings = Settings(
        labs=tuple(labs),
        grade_ids=grade_ids or {},
        roster=roster,
        folders=tuple(sorted(name for name in os.listdir(submitted) if not name.startswith(".")))
        if submitted.is_dir()
        else (),
        students={(o.platform, o.lms_id): s for (s, _), o in read_origins(root).items() if o.lms_id},
        zone=zone,
        file_times=file_times,
        pattern=form,
    )
    budget = Budget()
    with Zips(zone or UTC, root if root.is_dir() else None) as zips:
        finder = Finder(settings, zips, budget)
        for path in given:
            finder.look_through(path, skip)
        filed = file_attempts(finder.attempts(), root, budget, replaces)
    rows = [
        replace(row, source=shown(row.source), student=shown(row.student)) for row in [*finder.rows, *filed]
    ]
    now = {(r.student, r.lab) for r in filed if r.outcome in (Outcome.FILED, Outcome.UNCHANGED)}
    return Collected(
        rows=tuple(sorted(rows, key=lambda row: (row.source, row.student))),
        notes=tuple(f"roster.csv: {note}" for note in roster.notes),
        missing=missing(root, roster, sorted({lab for _, lab in now}, key=list(labs).index)),
        # By what lies there: a run that was killed may have left a time and not yet where it came from.
        untimed=sum(not (submitted / s / lab / "timestamp.txt").is_file() for s, lab in now),
        junk=finder.junk,
        others=finder.others,
    )


def missing(root: Path, roster: Roster, labs: Sequence[str]) -> dict[str, tuple[Person, ...]]:
    """Who of the roster has handed in nothing, by lab; a lab that all handed in is left out."""
    found = {}
    origins = read_origins(root)
    for lab in labs:
        here = {folder.parent.name for folder in (root / "submitted").glob(f"*/{lab}") if folder.is_dir()}
        for student, origin in ((student, o) for (student, one), o in origins.items() if one == lab):
            people = roster.find(origin.identity) if student in here else []
            here |= {people[0].student} if len(people) == 1 else set()
        if absent := tuple(
            person for person in roster.people if person.student not in here and not person.withdrawn
        ):
            found[lab] = absent
    return found


def _check(paths: Sequence[Path], root: Path) -> set[tuple[int, int]]:
    """Find out what cannot work before anything is done; gives the classroom's own folders."""
    if not paths:
        raise Usage("Nothing to collect: name a folder, a zip or a notebook.")
    if root.exists() and not root.is_dir():
        raise Usage(f"{root} is not a folder.")
    ours = [root / name for name in _OURS]
    for path in paths:
        if not path.exists():
            raise Usage(f"There is no {shown(str(path))}.")
        if any(path.resolve().is_relative_to(place.resolve()) for place in ours):
            raise Usage(f"{shown(str(path))} is the classroom's own; collect from where hand-ins arrive.")
    stats = [place.stat() for place in ours if place.is_dir()]
    return {(status.st_dev, status.st_ino) for status in stats}
