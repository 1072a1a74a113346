"""What platforms say beside the hand-ins: Blackboard's receipts, Gradescope's list, and times as all of them write
them. Read only where the platform puts it; anywhere else it is a student's file.
"""

import re
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import dateutil.parser
import yaml

from autograder.grading.intake.roster import Identity

METADATA = "submission_metadata.yml"  # Gradescope's
BLACKBOARDS = "%Y-%m-%d-%H-%M-%S"  # times, in its names
RECEIPT = re.compile(r"_attempt_\d{4}(?:-\d\d){5}\.txt$")  # Blackboard's
MAX_NESTING, MAX_EVENTS = 30, 3_000_000  # of YAML: its C parser recurses, and dies of what no except sees

# Blackboard writes the server's zone so; a parser of dates knows hardly any of them.
_HOURS = {"UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3}
_HOURS |= {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_HOURS |= {"AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "SAST": 2}
_ZONES = {name: hours * 3600 for name, hours in _HOURS.items()}


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What a platform says of one hand-in: all who handed it in together, and when, in the zone that it names."""

    submitters: tuple[Identity, ...]
    time: datetime | None


def read_receipt(text: str) -> Submission | None:
    """Blackboard's text file, of one submitter; None if it is something else.

    >>> read_receipt("Name: Ada Lovelace (ada_1)\\nAssignment: Lab 2\\n").submitters[0].login
    'ada_1'
    """
    # Below its head it holds what the student typed, which may look like anything.
    head = [line[:300].strip() for line in text[:5_000].splitlines()[:20]]
    name = next((line for line in head if line.startswith("Name:")), "")
    when = next((line for line in head if line.startswith("Date Submitted:")), "")
    if not (who := re.fullmatch(r"Name:(.*)\(([^()]+)\)", name)):
        return None
    submitter = Identity(name=who[1].strip(), login=who[2])
    return Submission(submitters=(submitter,), time=parse_time(when.partition(":")[2]))


def parse_time(text: str) -> datetime | None:
    """A time as people and platforms write it, None if it is none. Raises nothing."""
    # Brightspace leaves out the colon: "Oct 3, 2026 1134 PM".
    text = re.sub(r"(\b\d{4}\D{0,3} )(\d{1,2})(\d\d)( ?[AP]M\b|$)", r"\1\2:\3\4", text[:100].strip())
    text = re.sub(r"(\d)-(?= )", r"\1,", text.replace("o'clock", ""))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zones that it does not know
            # What the text leaves out must not come from today's date.
            return dateutil.parser.parse(text, fuzzy=True, tzinfos=_ZONES, default=datetime(1904, 1, 1))
    except Exception:  # noqa: BLE001 - a date parser can raise many kinds on what is no date
        return None


def zone_of(name: str) -> tzinfo | None:
    """The time zone of this name, such as "Europe/Berlin"; None if there is none."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except Exception:  # noqa: BLE001 - a name may lead out of the folder of zones, to a folder, or nowhere
        return None


def stamp_of(text: str, zone: tzinfo) -> datetime | None:
    """The time in a hand-in's name, in UTC and whole seconds; None if it is none.

    >>> str(stamp_of("2026-11-20-14-03-22", UTC)), str(stamp_of("Oct 3, 2026 926 AM", UTC))
    ('2026-11-20 14:03:22+00:00', '2026-10-03 09:26:00+00:00')
    """
    try:
        if re.fullmatch(r"\d{4}(?:-\d\d){5}", text):
            local: datetime | None = datetime.strptime(text, BLACKBOARDS)
        elif named := re.fullmatch(r"(.{8,40}) ([A-Za-z_]+/[\w/+-]+)", text):  # nbgrader: "… Europe/Berlin"
            zone = zone_of(named[2]) or zone
            local = parse_time(named[1])
        else:
            local = parse_time(text)
        if local is None or local.year < 1990:
            return None
        return (local if local.tzinfo else local.replace(tzinfo=zone)).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        return None


def read_metadata(data: bytes) -> dict[str, Submission]:
    """Gradescope's submission_metadata.yml, by the names of the folders. Raises `ValueError`.

    >>> text = b"submission_1:\\n  :submitters:\\n  - :name: Ada\\n    :sid: '7'\\n    :email: a@x.edu\\n"
    >>> read_metadata(text)["submission_1"].submitters[0].name
    'Ada'
    """
    # The base loader makes texts, lists and dicts, and nothing else.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        deep = 0
        for count, event in enumerate(yaml.parse(data, loader)):
            deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if deep > MAX_NESTING or count > MAX_EVENTS:
                raise ValueError("it is nested too deeply" if deep > MAX_NESTING else "it is too long")
        table = yaml.load(data, loader)
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - bad YAML raises YAMLError, and more
        raise ValueError(f"it is no YAML ({type(error).__name__})") from None
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    return {str(key): _submission(value) for key, value in table.items() if isinstance(value, dict)}


def _submission(entry: dict[str, Any]) -> Submission:
    people = entry.get(":submitters")
    named = [one for one in (people if isinstance(people, list) else [])[:50] if isinstance(one, dict)]
    return Submission(
        submitters=tuple(
            Identity(name=_text(one, "name"), sid=_text(one, "sid"), email=email, login=email)
            for one in named
            for email in [_text(one, "email")]
        ),
        time=stamp_of(_text(entry, "created_at"), UTC),
    )


def _text(table: dict[str, Any], key: str) -> str:
    said = table.get(f":{key}")
    return said if isinstance(said, str) else ""
