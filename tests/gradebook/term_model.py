"""Model of a term: marks computed slowly and plainly from the rules in docs/policy.md.

It shares no code with the engine. Points are exact fractions, times are seconds of UTC, and a time
of the wall clock is found by looking for it. `random_term` draws the facts of a term, `read_due`
and the other functions compute from them. test_term_model.py compares the results with those of
the engine.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from random import Random
from zoneinfo import ZoneInfo

ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",  # its clocks change by half an hour
    "America/St_Johns",
    "Asia/Beirut",  # its clocks change at midnight
    "America/Nuuk",  # and here an hour before
    "America/Havana",
    "Asia/Kathmandu",
)
DAY = 86_400
STUDENTS = ("ada", "bo", "cy", "di", "ed")
LABS = ("first", "second", "third", "fourth")
EXERCISES = ("alpha", "beta", "gamma")
QUESTION = "explain"


@dataclass(frozen=True)
class Attempt:
    """Submission time in UTC, or None, and the exercises that an attempt passed."""

    submitted_at: datetime | None
    passed: frozenset[str]


@dataclass
class TermFacts:
    """Everything that decides the marks of a term, as an instructor and a class wrote it.

    Parameters
    ----------
    policy, term : dict
        The tables [policy] and [term] of course.toml.
    labs : dict
        The tables [lab.<name>] of course.toml, by lab.
    points : dict
        Points of each exercise and question in the lab's files, by lab.
    gradebook_due, gradebook_extensions : dict
        Due dates and extensions in nbgrader's gradebook.
    extensions, stated_times : dict
        Cells of the roster, by student and lab; an extension with the lab "" is for all labs.
    attempts : dict
        Attempts of each submission, the newest first, by student and lab.
    manual, extra_credit : dict
        Points and extra credit given by a person, by student, lab and exercise or question.
    """

    now: datetime
    policy: dict
    labs: dict
    points: dict
    term: dict
    gradebook_due: dict = field(default_factory=dict)
    gradebook_extensions: dict = field(default_factory=dict)
    extensions: dict = field(default_factory=dict)
    stated_times: dict = field(default_factory=dict)
    attempts: dict = field(default_factory=dict)
    manual: dict = field(default_factory=dict)
    extra_credit: dict = field(default_factory=dict)

    @property
    def zone(self) -> ZoneInfo:
        """Time zone of the course."""
        return ZoneInfo(self.policy.get("timezone", "UTC"))


# Times


def find_wall_time(
    year: int, month: int, day: int, hour: int, minute: int, zone: ZoneInfo
) -> datetime:
    """Return the first moment at which clocks show this time, found by looking at every offset.

    If the clocks skip the time, it is as many minutes after the change as they would have shown.
    """
    wall = datetime(year, month, day, hour, minute, tzinfo=UTC)
    shown = wall.replace(tzinfo=None)
    for quarters in range(-15 * 4, 15 * 4):
        moment = wall + timedelta(minutes=15 * quarters)
        if moment.astimezone(zone).replace(tzinfo=None) == shown:
            return moment
    offset_before = (wall - timedelta(days=1)).astimezone(zone).utcoffset()
    return wall - offset_before


def find_day_end(year: int, month: int, day: int, zone: ZoneInfo) -> datetime:
    """Return the last second of a day: the first of the next one, less a second."""
    moment = datetime(year, month, day, tzinfo=UTC) + timedelta(hours=36)
    date = datetime(year, month, day).date()
    while moment.astimezone(zone).date() > date:
        moment -= timedelta(minutes=15)
    while moment.astimezone(zone).date() <= date:
        moment += timedelta(minutes=1)
    return moment - timedelta(seconds=1)


def read_moment(text: str, zone: ZoneInfo) -> datetime:
    """Return the moment of "2026-11-25 18:00", "2026-11-25" or "20261125"."""
    numbers = re.fullmatch(r"(\d{4})-?(\d\d)-?(\d\d)(?:[ T](\d\d):(\d\d))?", text).groups()
    if numbers[3] is None:
        return find_day_end(*map(int, numbers[:3]), zone)
    return find_wall_time(*map(int, numbers), zone)


def find_due(facts: TermFacts, lab: str) -> datetime | None:
    """Return when a lab is due for the class."""
    if "due" in facts.labs[lab]:
        due = facts.labs[lab]["due"]
        if not isinstance(due, datetime):
            return find_day_end(due.year, due.month, due.day, facts.zone)
        if due.tzinfo:
            return due.astimezone(UTC)
        return find_wall_time(due.year, due.month, due.day, due.hour, due.minute, facts.zone)
    return facts.gradebook_due.get(lab)


_UNITS = {"week": 7 * DAY, "day": DAY, "d": DAY, "h": 3600, "hour": 3600, "min": 60}


def find_deadline(facts: TermFacts, student: str, lab: str) -> datetime | None:
    """Return when a lab is due for one student."""
    due = find_due(facts, lab)
    if due is None:
        return None
    cells = [facts.extensions.get((student, lab)), facts.extensions.get((student, ""))]
    for cell in cells:
        if cell is None:
            continue
        if re.match(r"\d{4}-?\d\d", cell):
            return max(due, read_moment(cell, facts.zone))
        seconds = 0.0
        for amount, unit in re.findall(r"([\d.]+) ?(week|day|hour|min|d|h)", cell):
            seconds += float(amount) * _UNITS[unit]
        return due + timedelta(seconds=seconds)
    return due + facts.gradebook_extensions.get((student, lab), timedelta())


def find_submission_time(
    facts: TermFacts, student: str, lab: str, attempt: Attempt
) -> datetime | None:
    """Return when an attempt was submitted."""
    if (student, lab) in facts.stated_times:
        return read_moment(facts.stated_times[student, lab], facts.zone)
    return attempt.submitted_at


# Points


def find_points(facts: TermFacts, lab: str) -> dict[str, Fraction]:
    """Return what each exercise and question of a lab is worth."""
    points = dict(facts.points[lab]) | facts.labs[lab].get("points", {})
    worth = {name: as_fraction(points[name]) for name in points}
    for name in facts.labs[lab].get("dropped", ()):
        worth[name] = Fraction(0)
    return worth


def as_fraction(number: float) -> Fraction:
    """Return the fraction that a number in a file stands for; thirds are written with many digits."""
    text = repr(number)
    if len(text) > 10:
        return Fraction(round(number * 3), 3)
    return Fraction(text)


def count_days(seconds: float, grace_minutes: float) -> int:
    """Return the days begun, none within the grace."""
    if seconds <= grace_minutes * 60:
        return 0
    days = 0
    while days * DAY < seconds:
        days += 1
    return days


def find_penalty_share(facts: TermFacts, days: int) -> Fraction:
    """Return the share of the points that so many late days cost."""
    rate = as_fraction(facts.policy.get("penalty_per_day", 0))
    return min(rate * days, as_fraction(facts.policy.get("most_penalty", 1)))


def seconds_between(deadline: datetime | None, moment: datetime | None) -> float:
    """Return the seconds after a deadline, at least 0."""
    if deadline is None or moment is None:
        return 0.0
    return max(0.0, moment.timestamp() - deadline.timestamp())


def choose_attempt(facts: TermFacts, student: str, lab: str) -> int:
    """Return the index of the attempt that counts."""
    attempts = facts.attempts[student, lab]
    if facts.policy.get("attempts") != "best":
        return 0
    points = find_points(facts, lab)
    deadline = find_deadline(facts, student, lab)
    best, most = 0, Fraction(-1)
    for index, attempt in enumerate(attempts):
        raw = sum((points[name] for name in attempt.passed), Fraction(0))
        moment = find_submission_time(facts, student, lab, attempt)
        days = count_days(seconds_between(deadline, moment), facts.policy.get("grace", 0))
        score = raw * (1 - find_penalty_share(facts, days))
        if score > most:
            best, most = index, score
    return best


@dataclass
class ModelMark:
    """Mark of one submission; `score` is None while an answer awaits manual grading."""

    raw: Fraction
    penalty: Fraction
    score: Fraction
    possible: Fraction
    is_complete: bool
    seconds_late: float
    late_days_used: int


def compute_marks(facts: TermFacts) -> dict[tuple[str, str], ModelMark]:
    """Return the mark of each submission."""
    marks = {}
    for student in STUDENTS:
        free_days = facts.policy.get("late_days", 0)
        labs = [lab for lab in LABS if (student, lab) in facts.attempts]
        far_away = datetime(9000, 1, 1, tzinfo=UTC)
        labs.sort(key=lambda lab: (find_due(facts, lab) or far_away, lab))
        for lab in labs:
            attempt = facts.attempts[student, lab][choose_attempt(facts, student, lab)]
            moment = find_submission_time(facts, student, lab, attempt)
            seconds = seconds_between(find_deadline(facts, student, lab), moment)
            days = count_days(seconds, facts.policy.get("grace", 0))
            used = min(days, free_days)
            free_days -= used
            points = find_points(facts, lab)
            raw, is_complete = Fraction(0), True
            for name, worth in points.items():
                given = facts.manual.get((student, lab, name))
                if given is not None:
                    raw += as_fraction(given) if worth else 0
                elif name == QUESTION:
                    is_complete = is_complete and not worth
                elif name in attempt.passed:
                    raw += worth
                if worth and (given is not None or name != QUESTION):
                    raw += as_fraction(facts.extra_credit.get((student, lab, name), 0))
            penalty = raw * find_penalty_share(facts, days - used)
            late = seconds if days else 0.0
            possible = sum(points.values(), Fraction(0))
            marks[student, lab] = ModelMark(
                raw, penalty, raw - penalty, possible, is_complete, late, used
            )
    return marks


def round_half_up(number: Fraction, decimals: int = 2) -> Decimal:
    """Return a number in decimals, halves up, by long division."""
    scaled = number * 10**decimals
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    if 2 * rest >= scaled.denominator:
        whole += 1
    return Decimal(whole).scaleb(-decimals)


# The term


def compute_result(facts: TermFacts, student: str, marks: dict) -> tuple[str, str, set, bool]:
    """Return the result, the grade, the labs that count as 0, and whether a lab awaits grading."""
    weights = {lab: Fraction(str(facts.term.get("weights", {}).get(lab, 1))) for lab in LABS}
    shares, zeros, awaits = {}, set(), False
    for lab in LABS:
        possible = sum(find_points(facts, lab).values(), Fraction(0))
        if not weights[lab] or not possible:
            continue
        mark = marks.get((student, lab))
        if mark is None:
            deadline = find_deadline(facts, student, lab)
            grace = timedelta(minutes=facts.policy.get("grace", 0))
            if deadline is not None and facts.now > deadline + grace:
                shares[lab] = Fraction(0)
                zeros.add(lab)
        elif mark.is_complete:
            shares[lab] = mark.score / possible
        else:
            awaits = True
    if not shares:
        return "", "", zeros, awaits
    count = min(facts.term.get("best", len(LABS)), len(shares))
    best = max(
        sum((weights[lab] * shares[lab] for lab in chosen), Fraction(0))
        / sum(weights[lab] for lab in chosen)
        for chosen in combinations(shares, count)
    )
    result = round_half_up(100 * best, facts.term.get("decimals", 1))
    grade = ""
    for name, bound in sorted(facts.term.get("grades", {}).items(), key=lambda item: item[1]):
        if result >= bound:
            grade = name
    return str(result), grade, zeros, awaits


# Random terms


def find_change_of_clocks(zone: ZoneInfo, chance: Random) -> datetime:
    """Return a moment near a change of clocks in 2026, or any moment where there is none."""
    days = [datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=n) for n in range(364)]
    changes = []
    for day in days:
        if (
            day.astimezone(zone).utcoffset()
            != (day + timedelta(days=1)).astimezone(zone).utcoffset()
        ):
            changes.append(day)
    return chance.choice(changes or days)


def random_term(seed: int) -> TermFacts:
    """Draw the facts of a term."""
    chance = Random(seed)
    zone_name = chance.choice(ZONES)
    zone = ZoneInfo(zone_name)
    centre = find_change_of_clocks(zone, chance)
    policy = {"timezone": zone_name}
    if chance.random() < 0.8:
        policy["penalty_per_day"] = chance.choice([0.1, 0.05, 0.15, 0.25, 0.3, 1])
    if chance.random() < 0.5:
        policy["grace"] = chance.choice([1, 10, 60, 0.5])
    if chance.random() < 0.4:
        policy["most_penalty"] = chance.choice([0.5, 0.3, 0.25, 1])
    if chance.random() < 0.4:
        policy["late_days"] = chance.randint(1, 4)
    if chance.random() < 0.5:
        policy["attempts"] = "best"
    facts = TermFacts(
        now=centre + timedelta(days=chance.uniform(-3, 12)),
        policy=policy,
        labs={},
        points={},
        term={},
    )
    for lab in LABS:
        _draw_lab(facts, lab, centre, chance)
    _draw_term(facts, chance)
    for student in STUDENTS:
        _draw_student(facts, student, chance)
    return facts


def _draw_lab(facts: TermFacts, lab: str, centre: datetime, chance: Random) -> None:
    facts.points[lab] = {}
    for name in (*EXERCISES, QUESTION):
        facts.points[lab][name] = chance.choice([1, 2, 3, 0.5, 1 / 3, 0.25, 7])
    table = facts.labs[lab] = {}
    wall = (centre + timedelta(hours=chance.uniform(-60, 60))).astimezone(facts.zone)
    wall = wall.replace(
        second=0, microsecond=0, minute=chance.choice([0, 15, 30, 59]), tzinfo=None, fold=0
    )
    kind = chance.random()
    if kind < 0.5:
        table["due"] = wall
    elif kind < 0.6:
        table["due"] = wall.date()
    elif kind < 0.7:
        table["due"] = wall.replace(tzinfo=UTC)
    if kind > 0.6 and chance.random() < 0.7:
        facts.gradebook_due[lab] = wall.replace(tzinfo=UTC)
    if chance.random() < 0.3:
        table["points"] = {chance.choice(EXERCISES): chance.choice([4, 2.5, 1 / 3])}
    if chance.random() < 0.3:
        table["dropped"] = [chance.choice((*EXERCISES, QUESTION))]


def _draw_term(facts: TermFacts, chance: Random) -> None:
    if chance.random() < 0.5:
        facts.term["weights"] = {lab: chance.choice([0, 1, 2, 0.5]) for lab in LABS[1:]}
    weights = facts.term.get("weights", {})
    counting = sum(weights.get(lab, 1) > 0 for lab in LABS)
    if chance.random() < 0.4:
        facts.term["best"] = chance.randint(1, counting)
    if chance.random() < 0.5:
        facts.term["decimals"] = chance.randint(0, 4)
    if chance.random() < 0.5:
        facts.term["grades"] = {"A": 90, "B": 80.5, "C": 50, "F": 0}


def _draw_extension(due: datetime | None, zone: ZoneInfo, chance: Random) -> str:
    lengths = ["2 days", "48h", "1 week", "90 min", "1.5 d", "1 day 12 hours"]
    if due is None or chance.random() < 0.5:
        return chance.choice(lengths)
    wall = (due + timedelta(hours=chance.uniform(-30, 90))).astimezone(zone)
    return wall.strftime(chance.choice(["%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"]))


def _draw_moment(facts: TermFacts, student: str, lab: str, chance: Random) -> datetime | None:
    deadline = find_deadline(facts, student, lab)
    if chance.random() < 0.1:
        return None
    if deadline is None:
        return facts.now.replace(microsecond=0)
    grace = 60 * facts.policy.get("grace", 0)
    edge = chance.choice([0, grace, DAY, DAY + grace, 2 * DAY, 5 * DAY, -DAY, -3600, 3600, 1800])
    return deadline + timedelta(seconds=edge + chance.choice([-1, 0, 1, 30, 600]))


def _draw_student(facts: TermFacts, student: str, chance: Random) -> None:
    if chance.random() < 0.3:
        dated = [find_due(facts, lab) for lab in LABS]
        facts.extensions[student, ""] = _draw_extension(chance.choice(dated), facts.zone, chance)
    for lab in LABS:
        if chance.random() < 0.2:
            text = _draw_extension(find_due(facts, lab), facts.zone, chance)
            facts.extensions[student, lab] = text
        if chance.random() < 0.2:
            facts.gradebook_extensions[student, lab] = timedelta(hours=chance.choice([5, 24, 72]))
    for lab in LABS:
        if chance.random() < 0.25:
            # nbgrader keeps an extension with the submission only.
            facts.gradebook_extensions.pop((student, lab), None)
            continue
        _draw_submission(facts, student, lab, chance)


def _draw_submission(facts: TermFacts, student: str, lab: str, chance: Random) -> None:
    attempts = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        passed = frozenset(name for name in EXERCISES if chance.random() < 0.6)
        attempts.append(Attempt(_draw_moment(facts, student, lab, chance), passed))
    long_ago = datetime(1990, 1, 1, tzinfo=UTC)
    attempts.sort(key=lambda attempt: attempt.submitted_at or long_ago, reverse=True)
    facts.attempts[student, lab] = attempts
    moment = attempts[0].submitted_at
    if moment and chance.random() < 0.15:
        wall = moment.astimezone(facts.zone)
        facts.stated_times[student, lab] = wall.strftime(
            chance.choice(["%Y-%m-%d %H:%M", "%Y-%m-%d"])
        )
    for name in (*EXERCISES, QUESTION):
        if chance.random() < (0.8 if name == QUESTION else 0.1):
            worth = float(find_points(facts, lab)[name])
            facts.manual[student, lab, name] = round(chance.choice([0, 0.25, 0.5, 1]) * worth, 4)
        if chance.random() < 0.1:
            facts.extra_credit[student, lab, name] = chance.choice([0.25, 0.5, 1, 3])
