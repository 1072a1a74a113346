"""Grading policy of a course: points, due dates and late penalties, as read from course.toml.

The policy is read again at each run, so a change applies to submissions already graded.

    [policy]
    timezone = "Europe/Paris"    # of due dates without a zone, and of times in pages; default UTC
    grace = 10                   # minutes after the due date that still count as in time
    penalty_per_day = 0.1        # part of the score that each late day takes off; default 0
    most_penalty = 0.5           # largest part that lateness takes off; default 1, so all of it
    late_days = 4                # free late days of each student, in all labs together; default 0
    attempts = "best"            # attempt that counts: "last" (default) or "best"

    [lab.my-lab]
    due = 2026-11-20T18:00:00
    dropped = ["an_exercise"]    # exercises that give no points to any student
    points = { another = 3 }     # points that replace those in the lab's files

Extensions for single students are in the classroom's roster.csv (see `class_list`).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple

from autograder.authoring.lab import Lab
from autograder.core.course import COURSE_FILE, NUMBER, Course, CourseError, check_toml_entries
from autograder.core.rounding import to_fraction
from autograder.core.text_format import format_count, join_words
from autograder.intake.platform_metadata import find_timezone

# Years for which times are valid. Python's datetime has the years 1 to 9999, but converting times
# near both ends to another time zone fails.
VALID_YEARS = range(1970, 2200)

_UNIT_SECONDS = {"w": 7 * 86_400, "d": 86_400, "h": 3_600, "m": 60}
_MAX_EXTENSION_SECONDS = 520 * _UNIT_SECONDS["w"]
_MAX_POINTS = 1e6  # of one exercise
_END_OF_DAY = re.compile(r"(?<=[ T])24:00(?::00)?(?![\d:.])")
_DURATION_PART = re.compile(
    r"\s*(\d{1,4}(?:\.\d{1,2})?)\s*(?:(w)(?:eeks?)?|(d)(?:ays?)?|(h)(?:rs?|ours?)?|(m)(?:ins?|inutes?)?)"
    r"(?![^\W\d_])\s*(?:,|and\b)?",
    re.IGNORECASE,
)

_POLICY_ENTRIES = {
    "timezone": str,
    "grace": NUMBER,
    "penalty_per_day": NUMBER,
    "most_penalty": NUMBER,
    "late_days": int,
    "attempts": str,
}
_LAB_ENTRIES = {"due": date, "dropped": list, "points": dict}


class _NumberRule(NamedTuple):
    """Rule for a number that course.toml may have in [policy]: default, maximum and description."""

    default: float
    maximum: float
    expectation: str


_NUMBER_RULES = {
    "grace": _NumberRule(
        0,
        _MAX_EXTENSION_SECONDS / 60,
        "a number of minutes is expected, 0 or more",
    ),
    "penalty_per_day": _NumberRule(0, 1, "a part of the points, 0 to 1, is expected"),
    "most_penalty": _NumberRule(1, 1, "a part of the points, 0 to 1, is expected"),
    "late_days": _NumberRule(0, 1_000, "a number of days is expected, 0 or more"),
}


@dataclass(frozen=True)
class SubmissionTiming:
    """Submission time, due date and extension of one submission.

    Parameters
    ----------
    submitted_at, due : datetime or None
        Times in UTC, without a time zone; None if the time is unknown or there is no due date.
    extension : timedelta or None
        Time by which the due date is moved for this student.
    late_days_used : int
        Number of the student's free late days that this submission uses.
    """

    submitted_at: datetime | None
    due: datetime | None
    extension: timedelta | None = None
    late_days_used: int = 0

    @property
    def deadline(self) -> datetime | None:
        """Due date plus extension, in UTC without a time zone; None if there is no due date."""
        if self.due is None:
            return None
        return self.due + (self.extension or timedelta())

    @property
    def seconds_late(self) -> float:
        """Seconds by which the submission came after due date and extension; 0 if in time."""
        if not self.submitted_at or not self.deadline:
            return 0.0
        return max(0.0, (self.submitted_at - self.deadline).total_seconds())


@dataclass(frozen=True)
class Policy:
    """Rules of a course by which verdicts become marks: points, due dates and late penalties.

    Parameters
    ----------
    grace : timedelta
        Time after the due date that still counts as in time.
    penalty_per_day : float
        Part of the score (0 to 1) that each day begun after the due date takes off.
    max_penalty : float
        Largest part of the score (0 to 1) that lateness takes off in all.
    points : mapping of str to mapping
        Points by lab, then by exercise and manually graded question in the lab's order. Dropped
        exercises have 0 points.
    zone : tzinfo
        Time zone in which pages show times.
    best_attempt : bool
        True if the best of several attempts counts, False if the last one does.
    late_days : int
        Number of days of lateness that cost a student nothing, in all labs together.
    due_dates : mapping of str to datetime or None
        Due date of each lab of the course, with its time zone.
    """

    grace: timedelta = timedelta()
    penalty_per_day: float = 0.0
    max_penalty: float = 1.0
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    zone: tzinfo = UTC
    best_attempt: bool = False
    late_days: int = 0
    due_dates: Mapping[str, datetime | None] = field(default_factory=dict)

    @property
    def lateness_rules(self) -> str:
        """Sentences that tell students how much is taken off for lateness.

        >>> Policy(timedelta(minutes=10), 0.1, 0.5).lateness_rules
        'Each day begun after the due date takes off 10 % of the points, at most 50 %; 10 minutes late is in time.'
        """
        if not self.penalty_per_day:
            return "Lateness takes off nothing."
        percent = f"{100 * self.penalty_per_day:g} %"
        rules = f"Each day begun after the due date takes off {percent} of the points"
        if self.max_penalty < 1:
            rules += f", at most {100 * self.max_penalty:g} %"
        minutes = self.grace.total_seconds() / 60
        if minutes:
            rules += f"; {minutes:g} minutes late is in time"
        rules += "."
        if self.late_days:
            rules += (
                f" Each student has {format_count(self.late_days, 'late day')}, used in the order "
                "of the due dates; a day begun that one is used for takes off nothing."
            )
        return rules

    def to_local_time(self, moment: datetime) -> datetime:
        """Convert a time to the policy's time zone; a time without a zone is taken as UTC."""
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # for the first and last days that datetime can represent
            return moment

    def count_days_late(self, seconds: float) -> int:
        """Return the number of days late, for a lateness in seconds; each begun day counts whole.

        The number is 0 within the grace period.
        """
        return math.ceil(seconds / 86_400) if seconds > self.grace.total_seconds() else 0

    def assign_late_days(
        self,
        timings: Mapping[str, SubmissionTiming],
    ) -> dict[str, SubmissionTiming]:
        """Spend a student's free late days on the late labs, beginning with the first due date.

        >>> monday, friday = datetime(2026, 11, 16), datetime(2026, 11, 20)
        >>> first = SubmissionTiming(monday + timedelta(hours=25), monday)
        >>> second = SubmissionTiming(friday + timedelta(days=3), friday)
        >>> timings = Policy(late_days=3).assign_late_days({"b": second, "a": first})
        >>> {lab: timing.late_days_used for lab, timing in timings.items()}
        {'a': 2, 'b': 1}
        """
        remaining, result = self.late_days, {}
        order = sorted(timings, key=lambda lab: (timings[lab].due or datetime.max, lab))
        for lab in order:
            timing = timings[lab]
            days = min(self.count_days_late(timing.seconds_late), remaining)
            result[lab] = replace(timing, late_days_used=days)
            remaining -= days
        return result

    def compute_penalty(self, score: float, timing: SubmissionTiming) -> float:
        """Return the points that are taken off a score for lateness.

        >>> due = datetime(2026, 11, 20, 18)
        >>> timing = SubmissionTiming(due + timedelta(hours=25), due)
        >>> Policy(penalty_per_day=0.1, max_penalty=0.5).compute_penalty(10, timing)
        2.0
        """
        days = max(0, self.count_days_late(timing.seconds_late) - timing.late_days_used)
        # Compute with exact fractions: with floating-point numbers, a score of exactly a half
        # could come out a little smaller, and be rounded down.
        part = min(days * to_fraction(self.penalty_per_day), to_fraction(self.max_penalty))
        return float(to_fraction(score) * part)


def read_policy(course: Course, labs: Mapping[str, Lab]) -> Policy:
    """Read the policy from course.toml, including the points of the given labs.

    Raises
    ------
    CourseError
        If an entry of [policy] or of a lab is not valid.
    """
    settings = course.policy
    place = f"{COURSE_FILE}, [policy]"
    check_toml_entries(settings, _POLICY_ENTRIES, place)
    name = settings.get("timezone", "UTC")
    zone = find_timezone(name)
    if zone is None:
        raise CourseError(f"{place}: there is no time zone {name!r}; one is Europe/Paris.")
    points = {name: _read_points(lab, course.lab.get(name, {})) for name, lab in labs.items()}
    numbers = {}
    for name, rule in _NUMBER_RULES.items():
        numbers[name] = settings.get(name, rule.default)
        if not 0 <= numbers[name] <= rule.maximum:
            raise CourseError(f"{place}: {name} is {numbers[name]:g}; {rule.expectation}.")
    attempts = settings.get("attempts", "last")
    if attempts not in ("last", "best"):
        raise CourseError(f"{place}: attempts is {attempts!r}; last or best is expected.")
    due = {}
    for name in course.labs:
        due[name] = _read_due_date(course.lab.get(name, {}), f"[lab.{name}]", zone)
    return Policy(
        grace=timedelta(minutes=numbers["grace"]),
        penalty_per_day=numbers["penalty_per_day"],
        max_penalty=numbers["most_penalty"],
        points=points,
        zone=zone,
        best_attempt=attempts == "best",
        late_days=numbers["late_days"],
        due_dates=due,
    )


def _read_points(lab: Lab, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the points of a lab's exercises and questions, as changed by course.toml."""
    place = f"{COURSE_FILE}, [lab.{lab.name}]"
    check_toml_entries(settings, _LAB_ENTRIES, place)
    points = {name: float(exercise.points) for name, exercise in lab.exercises.items()}
    points |= lab.manual_questions
    changes = list(settings.get("points", {}).items())
    changes += [(name, 0) for name in settings.get("dropped", ())]
    for name, worth in changes:
        if not isinstance(name, str) or name not in points:
            raise CourseError(f"{place}: there is no {name!r}; the lab has {join_words(points)}.")
        is_number = isinstance(worth, (int, float)) and not isinstance(worth, bool)
        if not is_number or not 0 <= worth <= _MAX_POINTS:
            problem = f"{name} is to be worth {worth!r}; a number of points is expected"
            raise CourseError(f"{place}: {problem}.")
        points[name] = float(worth)
    return points


def _read_due_date(settings: Mapping[str, Any], place: str, zone: tzinfo) -> datetime | None:
    due = settings.get("due")
    if due is None:
        return None
    check_toml_entries({"due": due}, _LAB_ENTRIES, f"{COURSE_FILE}, {place}")
    if not isinstance(due, datetime):
        due = end_of_day(due, zone)
    if due.year not in VALID_YEARS:
        problem = f"due is {due}; a year from 1970 to 2199 is expected"
        raise CourseError(f"{COURSE_FILE}, {place}: {problem}.")
    return due.replace(tzinfo=due.tzinfo or zone)


def rescale_score(score: float, old_points: float, points: float) -> float:
    """Convert a manual mark out of `old_points` to a mark out of `points`.

    If the question had 0 points, the mark is kept, or reduced to `points` if it is larger.

    >>> rescale_score(3, 3, 2), rescale_score(1, 3, 6), rescale_score(1.5, 0, 1)
    (2.0, 2.0, 1.0)
    """
    if old_points == points:
        return float(score)
    if not old_points:
        return float(min(score, points))
    # Do not round the result: after several changes of points, rounding errors would add up.
    return score * points / old_points


def parse_extension(text: str, due: datetime | None, zone: tzinfo) -> timedelta | None:
    """Parse an extension: a length of time ("2 days", "48h") or a new due date.

    A date without a time means the end of that day. The result is None if the text is a date and
    the lab has no due date.

    Raises
    ------
    ValueError
        If the text is neither a length nor a date, or the length is over ten years.

    >>> parse_extension("1 day, 12 h", None, UTC).total_seconds() / 3600
    36.0
    """
    seconds, end = 0.0, 0
    part = _DURATION_PART.match(text)
    while part:
        unit = next(filter(None, part.groups()[1:]))
        seconds += float(part[1]) * _UNIT_SECONDS[unit.lower()]
        end = part.end()
        part = _DURATION_PART.match(text, end)
    if end and not text[end:].strip():
        if seconds > _MAX_EXTENSION_SECONDS:
            weeks = _MAX_EXTENSION_SECONDS // _UNIT_SECONDS["w"]
            raise ValueError(f"the extension {text[:40]!r} is longer than {weeks} weeks.")
        return timedelta(seconds=seconds)
    try:
        moment = parse_time(text, zone)
    except ValueError:
        raise ValueError(
            f"the extension {text[:40]!r} is no length of time, such as 2 days or 48h, and no new "
            "due date of the years 1970 to 2199, such as 2026-11-25 18:00."
        ) from None
    if due is None:
        return None
    # Subtract the times in UTC: for two times in one time zone, Python ignores daylight saving.
    return max(timedelta(), to_utc(moment) - to_utc(due))


def parse_time(text: str, zone: tzinfo) -> datetime:
    """Parse a time such as "2026-11-25 18:00"; a date without a time means the end of that day.

    Raises
    ------
    ValueError
        If the text is no time, or outside the years 1970 to 2199.

    >>> str(parse_time("2026-11-25", UTC))
    '2026-11-25 23:59:59+00:00'
    """
    text = text.strip()
    is_midnight = _END_OF_DAY.search(text)
    try:
        moment = end_of_day(date.fromisoformat(text), zone)
    except ValueError:
        # "2026-11-25 24:00" is the midnight at the end of the 25th.
        moment = datetime.fromisoformat(_END_OF_DAY.sub("00:00", text) if is_midnight else text)
        moment += timedelta(days=1 if is_midnight else 0)
    if moment.year not in VALID_YEARS:
        raise ValueError("the year is not between 1970 and 2199")
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def end_of_day(day: date, zone: tzinfo) -> datetime:
    """Return the last second of a day in a time zone, also if clocks change on that day.

    >>> from zoneinfo import ZoneInfo
    >>> end_of_day(date(2026, 10, 24), ZoneInfo("Asia/Beirut")).astimezone(UTC).hour  # and not 20
    21
    """
    # If the clocks are put back at midnight, 23:59:59 comes twice; the parameter fold=1 chooses the
    # second time (as in Beirut). If they are put forward before midnight, 23:59:59 does not exist;
    # fold=1 then means the last second before the change (as in Nuuk).
    return datetime.combine(day, time(23, 59, 59), zone).replace(fold=1)


def to_naive_utc(moment: datetime) -> datetime:
    """Convert a time to UTC and remove its time zone, as nbgrader's gradebook stores times."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def to_utc(moment: datetime) -> datetime:
    """Convert a time to the time zone UTC; a time without a zone is taken as UTC."""
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
