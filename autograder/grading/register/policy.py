"""How verdicts become marks: points, due dates, lateness. From course.toml, applied afresh each time.

[policy]
timezone = "Europe/Paris"       # of due dates that name none, and of times on pages; UTC by default
grace = 10                      # minutes after the due date that count as in time
penalty_per_day = 0.1           # the part of the points that each day begun takes off; 0 by default
most_penalty = 0.5              # and the most that lateness takes off; all of it by default
late_days = 4                   # of each student's, that cost nothing; none by default
attempts = "best"               # which of several counts: the last, by default, or the best (see `run.attempts`)

[lab.my-lab]
due = 2026-11-20T18:00:00
dropped = ["an_exercise"]       # worth nothing, to anybody
points = { another = 3 }        # in place of the lab's own

Extensions stand in the classroom's roster.csv, see `grading.roll`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from autograder.authoring.lab import Lab
from autograder.course import FILE, NUMBER, Course, CourseError, check_entries
from autograder.errors import counted, listed
from autograder.grading.intake.indexes import zone_of

_COURSE = {
    "timezone": str,
    "grace": NUMBER,
    "penalty_per_day": NUMBER,
    "most_penalty": NUMBER,
    "late_days": int,
    "attempts": str,
}
_LENGTHS = {"w": 7 * 86_400, "d": 86_400, "h": 3_600, "m": 60}
_MOST = 520 * _LENGTHS["w"]  # of an extension
# What [policy] says in numbers: where nothing is said, the most, and what is due.
_NUMBERS = {
    "grace": (0, _MOST / 60, "a number of minutes is due, 0 or more"),
    "penalty_per_day": (0, 1, "a part of the points, 0 to 1, is due"),
    "most_penalty": (1, 1, "a part of the points, 0 to 1, is due"),
    "late_days": (0, 1_000, "a number of days is due, 0 or more"),
}
_LAB = {"due": datetime, "dropped": list, "points": dict}


@dataclass(frozen=True)
class Timing:
    """When a hand-in came and when it was due, in UTC without saying so.

    Parameters
    ----------
    at, due : datetime or None
        None where nobody knows, or has said.
    extension : timedelta or None
        By how much the due date is moved for this student.
    free_days : int
        How many of the student's late days it takes.
    """

    at: datetime | None
    due: datetime | None
    extension: timedelta | None = None
    free_days: int = 0

    @property
    def late(self) -> float:
        """How many seconds after the due date, with the extension, it came."""
        if not self.at or not self.due:
            return 0.0
        return max(0.0, (self.at - self.due - (self.extension or timedelta())).total_seconds())


@dataclass(frozen=True)
class Policy:
    """How verdicts become marks, in all labs.

    Parameters
    ----------
    grace : timedelta
    per_day, most : float
        The part of the points that each day begun after the due date takes off, and the most in all.
    points : mapping of str to mapping
        By lab, of those asked about: of each exercise and each question marked by hand, in the lab's order; 0 for what
        is dropped.
    zone : tzinfo
        In which times are told.
    best_attempt : bool
        Whether the best of several attempts counts, and not the last.
    late_days : int
        How many days of lateness each student has free, in all labs together.
    due : mapping of str to datetime or None
        Of all labs of the course, with their time zone.
    """

    grace: timedelta = timedelta()
    per_day: float = 0.0
    most: float = 1.0
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    zone: tzinfo = UTC
    best_attempt: bool = False
    late_days: int = 0
    due: Mapping[str, datetime | None] = field(default_factory=dict)

    @property
    def rules(self) -> str:
        """What lateness costs, as a sentence.

        >>> Policy(timedelta(minutes=10), 0.1, 0.5).rules
        'Each day begun after the due date takes off 10 % of the points, at most 50 %; 10 minutes late is in time.'
        """
        if not self.per_day:
            return "Lateness takes off nothing."
        most = f", at most {100 * self.most:g} %" if self.most < 1 else ""
        minutes = self.grace.total_seconds() / 60
        grace = f"; {minutes:g} minutes late is in time" if minutes else ""
        free = (
            f" Each student has {counted(self.late_days, 'late day')}, used in the order of the due dates; a day begun "
            "that one is used for takes off nothing."
        )
        return (
            f"Each day begun after the due date takes off {100 * self.per_day:g} % of the points{most}{grace}."
            f"{free if self.late_days else ''}"
        )

    def local(self, moment: datetime) -> datetime:
        """A time of the gradebook (in UTC, without saying so) as it is told."""
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # at the ends of the calendar
            return moment

    def days(self, late: float) -> int:
        """The days begun in so many seconds after the due date; none within the grace."""
        return math.ceil(late / 86_400) if late > self.grace.total_seconds() else 0

    def with_free_days(self, of: Mapping[str, Timing]) -> dict[str, Timing]:
        """One student's labs with the late days that each takes: in the order of the due dates, while there are any.

        >>> monday, friday = datetime(2026, 11, 16), datetime(2026, 11, 20)
        >>> of = {"b": Timing(friday + timedelta(days=3), friday), "a": Timing(monday + timedelta(hours=25), monday)}
        >>> {lab: timing.free_days for lab, timing in Policy(late_days=3).with_free_days(of).items()}
        {'a': 2, 'b': 1}
        """
        left, found = self.late_days, {}
        for lab, timing in sorted(of.items(), key=lambda item: (item[1].due or datetime.max, item[0])):
            found[lab] = replace(timing, free_days=min(self.days(timing.late), left))
            left -= found[lab].free_days
        return found

    def penalty(self, score: float, timing: Timing) -> float:
        """The points that lateness takes off.

        Parameters
        ----------
        score : float
            The points before.

        >>> due = datetime(2026, 11, 20, 18)
        >>> Policy(per_day=0.1, most=0.5).penalty(10, Timing(due + timedelta(hours=25), due))
        2.0
        """
        days = max(0, self.days(timing.late) - timing.free_days)
        return round(score * min(days * self.per_day, self.most), 6)


def read_policy(course: Course, labs: Mapping[str, Lab]) -> Policy:
    """What course.toml says of marks.

    Raises
    ------
    CourseError
    """
    settings = course.policy
    check_entries(settings, _COURSE, f"{FILE}, [policy]")
    name = settings.get("timezone", "UTC")
    if (zone := zone_of(name)) is None:
        raise CourseError(f"{FILE}, [policy]: there is no time zone {name!r}; one is Europe/Paris.")
    points = {name: _points(lab, course.lab.get(name, {})) for name, lab in labs.items()}
    numbers = {name: settings.get(name, default) for name, (default, _, _) in _NUMBERS.items()}
    for name, (_, most, wanted) in _NUMBERS.items():
        if not 0 <= numbers[name] <= most:
            raise CourseError(f"{FILE}, [policy]: {name} is {numbers[name]:g}; {wanted}.")
    attempts = settings.get("attempts", "last")
    if attempts not in ("last", "best"):
        raise CourseError(f"{FILE}, [policy]: attempts is {attempts!r}; last or best is due.")
    due = {name: _due(course.lab.get(name, {}), f"[lab.{name}]", zone) for name in course.labs}
    return Policy(
        timedelta(minutes=numbers["grace"]),
        numbers["penalty_per_day"],
        numbers["most_penalty"],
        points,
        zone,
        attempts == "best",
        numbers["late_days"],
        due,
    )


def rescaled(score: float, of: float, points: float) -> float:
    """A mark that a person gave of so many points, where its question is worth others today.

    Three of three stay all there is, whatever it is worth. What was given of nothing (the question was dropped
    then) is taken as it stands, up to all there is.

    >>> rescaled(3, 3, 2), rescaled(1, 3, 6), rescaled(1.5, 0, 1)
    (2.0, 2.0, 1.0)
    """
    if of == points:
        return float(score)
    # Unrounded, since it may be asked for many times.
    return score * points / of if of else float(min(score, points))


YEARS = range(1970, 2200)  # nearer to the calendar's ends, a time cannot be told in every zone
_MOST_POINTS = 1e6  # of one exercise
_PART = re.compile(
    r"\s*(\d{1,4}(?:\.\d{1,2})?)\s*(w|d|h|m)(?:eek|ay|our|r|in|inute)?s?\b\s*(?:,|and)?", re.IGNORECASE
)


def granted(text: str, due: datetime | None, zone: tzinfo) -> timedelta | None:
    """The length of an extension: "2 days", "48h", "1 week", or a new due date, "2026-11-25 18:00".

    A date without a time is the end of that day. None where a new date is given, but there is no due date.

    Raises
    ------
    ValueError

    >>> granted("1 day, 12 h", None, UTC).total_seconds() / 3600
    36.0
    """
    seconds, at = 0.0, 0
    while part := _PART.match(text, at):
        seconds, at = seconds + float(part[1]) * _LENGTHS[part[2].lower()], part.end()
    if at and not text[at:].strip():
        if seconds > _MOST:
            raise ValueError(f"the extension {text[:40]!r} is longer than {_MOST // _LENGTHS['w']} weeks.")
        return timedelta(seconds=seconds)
    try:
        moment = moment_of(text, zone)
    except ValueError:
        raise ValueError(
            f"the extension {text[:40]!r} is no length of time, such as 2 days or 48h, and no new due date of the "
            "years 1970 to 2199, such as 2026-11-25 18:00."
        ) from None
    return None if due is None else max(timedelta(), moment - due)


def moment_of(text: str, zone: tzinfo) -> datetime:
    """A time as somebody writes it, "2026-11-25 18:00"; a date alone is the end of that day.

    Raises
    ------
    ValueError

    >>> str(moment_of("2026-11-25", UTC))
    '2026-11-25 23:59:59+00:00'
    """
    moment = datetime.fromisoformat(text.strip())
    if len(text.strip()) == 10:
        moment = moment.replace(hour=23, minute=59, second=59)
    if moment.year not in YEARS:
        raise ValueError("it is nearer to the calendar's ends than can be told")
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def naive(moment: datetime) -> datetime:
    """As the gradebook keeps times: in UTC, without saying so."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def _points(lab: Lab, settings: Mapping[str, Any]) -> dict[str, float]:
    where = f"[lab.{lab.name}]"
    check_entries(settings, _LAB, f"{FILE}, {where}")
    points = {name: float(exercise.points) for name, exercise in lab.exercises.items()}
    points |= lab.by_hand
    for name, worth in [
        *settings.get("points", {}).items(),
        *((name, 0) for name in settings.get("dropped", ())),
    ]:
        if not isinstance(name, str) or name not in points:
            raise CourseError(f"{FILE}, {where}: there is no {name!r}; the lab has {listed(points)}.")
        number = isinstance(worth, (int, float)) and not isinstance(worth, bool)
        if not number or not 0 <= worth <= _MOST_POINTS:
            raise CourseError(f"{FILE}, {where}: {name} is to be worth {worth!r}; a number of points is due.")
        points[name] = float(worth)
    return points


def _due(settings: Mapping[str, Any], where: str, zone: tzinfo) -> datetime | None:
    due = settings.get("due")
    if due is None:
        return None
    check_entries({"due": due}, _LAB, f"{FILE}, {where}")
    if due.year not in YEARS:
        raise CourseError(f"{FILE}, {where}: due is {due}; a year from 1970 to 2199 is due.")
    return due.replace(tzinfo=due.tzinfo or zone)
