"""Read Blackboard's receipts, Gradescope's list of submissions, and times in any notation.

The caller must use a receipt or a list only from the place where the platform puts it. Anywhere
else, a student may have written the file.
"""

import re
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import dateutil.parser
import yaml

from autograder.intake.roster import PlatformIdentity

GRADESCOPE_METADATA = "submission_metadata.yml"
BLACKBOARD_TIME_FORMAT = "%Y-%m-%d-%H-%M-%S"  # in the names of files
BLACKBOARD_RECEIPT = re.compile(r"_attempt_\d{4}(?:-\d\d){5}\.txt$")
# The YAML parser is written in C and recurses. Deep nesting would crash the process, and Python
# cannot catch a crash.
MAX_YAML_NESTING, MAX_YAML_EVENTS = 30, 3_000_000
MAX_SUBMITTERS = 50

# Hours from UTC of the abbreviations with which Blackboard names the time zone of its server.
# dateutil knows hardly any of these abbreviations.
_ZONE_HOURS = {
    "UTC": 0,
    "GMT": 0,
    "WET": 0,
    "WEST": 1,
    "BST": 1,
    "CET": 1,
    "CEST": 2,
    "EET": 2,
    "EEST": 3,
}
_ZONE_HOURS |= {
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}
_ZONE_HOURS |= {"AKST": -9, "AKDT": -8, "HST": -10, "AWST": 8, "AEST": 10, "AEDT": 11}
_ZONE_HOURS |= {"NZST": 12, "NZDT": 13, "SAST": 2, "CAT": 2, "EAT": 3, "WAT": 1, "MSK": 3, "TRT": 3}
_ZONE_HOURS |= {"JST": 9, "KST": 9, "HKT": 8, "SGT": 8, "MYT": 8, "PHT": 8, "ICT": 7, "WIB": 7}
_ZONE_HOURS |= {"PKT": 5, "BRT": -3, "ART": -3, "COT": -5, "PET": -5}
# Unknown word in what dateutil leaves out of a text.
_UNKNOWN_WORD = re.compile(r"(?!\b(?:at|on)\b)[^\W\d_]{2,}|\d")
_ZONE_SECONDS = {name: hours * 3600 for name, hours in _ZONE_HOURS.items()}


@dataclass(frozen=True, kw_only=True)
class PlatformSubmission:
    """A platform's record of one submission.

    Parameters
    ----------
    submitters : tuple of PlatformIdentity
        All people who submitted it together.
    time : datetime or None
        Time of the submission, in the time zone that the platform names.
    """

    submitters: tuple[PlatformIdentity, ...]
    time: datetime | None


def read_blackboard_receipt(text: str) -> PlatformSubmission | None:
    """Return the submission that a Blackboard receipt is about; None for any other text.

    >>> read_blackboard_receipt("Name: Ada Lovelace (ada_1)\\nAssignment: Lab 2\\n").submitters[0].login
    'ada_1'
    """
    # Read only the first lines. Below them is a text that the student typed, which could look like
    # the lines of a receipt.
    head = [line[:300].strip() for line in text[:5_000].splitlines()[:20]]
    name_line = next((line for line in head if line.startswith("Name:")), "")
    time_line = next((line for line in head if line.startswith("Date Submitted:")), "")
    match = re.fullmatch(r"Name:(.*)\(([^()]+)\)", name_line)
    if not match:
        return None
    submitter = PlatformIdentity(name=match[1].strip(), login=match[2])
    return PlatformSubmission(submitters=(submitter,), time=parse_time(time_line.partition(":")[2]))


def parse_time(text: str) -> datetime | None:
    """Return a time that a person or a platform wrote; None if the text is no time."""
    # Insert the colon that Brightspace leaves out between hours and minutes, as in "Oct 3, 2026
    # 1134 PM".
    text = re.sub(
        r"(\b\d{4}\D{0,3} )(\d{1,2})(\d\d)( ?[AP]M\b|$)",
        r"\1\2:\3\4",
        text[:100].strip(),
    )
    text = re.sub(r"(\d)-(?= )", r"\1,", text.replace("o'clock", ""))
    text = re.sub(r"\b(?:GMT|UTC) ?(?=[+-]\d)", "", text)  # dateutil would change the sign
    if _is_ambiguous_date(text):
        return None
    times = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # dateutil warns of unknown time zones
            # Parse with two default dates. A part that the text leaves out, such as the month in
            # another language, is filled in from them, and the two results differ.
            for default in (datetime(1904, 1, 1, 1, 1), datetime(1908, 2, 2, 2, 2)):
                time, skipped = dateutil.parser.parse(
                    text, fuzzy_with_tokens=True, tzinfos=_ZONE_SECONDS, default=default
                )
                times.append(time)
    except Exception:  # noqa: BLE001 - dateutil raises errors of many kinds
        return None
    is_complete = times[0] == times[1] and not any(map(_UNKNOWN_WORD.search, skipped))
    return times[0] if is_complete else None


def _is_ambiguous_date(text: str) -> bool:
    """Return True for a date such as 03-10-2026, whose day and month may stand either way round."""
    match = re.search(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.]\d{2,4}(?!\d)", text)
    if match is None:
        return False
    return int(match[1]) <= 12 and int(match[2]) <= 12 and match[1] != match[2]


def find_timezone(name: str) -> tzinfo | None:
    """Return the time zone of a name such as "Europe/Berlin"; None if there is no such zone."""
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except Exception:  # noqa: BLE001 - ZoneInfo raises errors of many kinds for a strange name
        return None


def parse_timestamp(text: str, zone: tzinfo) -> datetime | None:
    """Return the time of a submission in UTC and whole seconds; None if the text is no time.

    Parameters
    ----------
    zone : tzinfo
        Time zone that is assumed for a text that names no time zone.

    >>> str(parse_timestamp("2026-11-20-14-03-22", UTC)), str(parse_timestamp("Oct 3, 2026 926 AM", UTC))
    ('2026-11-20 14:03:22+00:00', '2026-10-03 09:26:00+00:00')
    """
    nbgrader_match = re.fullmatch(r"(.{8,40}) ([A-Za-z_]+/[\w/+-]+)", text)  # "… Europe/Berlin"
    try:
        time: datetime | None
        if re.fullmatch(r"\d{4}(?:-\d\d){5}", text):
            time = datetime.strptime(text, BLACKBOARD_TIME_FORMAT)
        elif nbgrader_match:
            zone = find_timezone(nbgrader_match[2]) or zone
            time = parse_time(nbgrader_match[1])
        else:
            time = parse_time(text)
        if time is None or time.year < 1990:
            return None
        if not time.tzinfo:
            time = time.replace(tzinfo=zone)
        return time.astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        return None


def read_gradescope_metadata(data: bytes, zone: tzinfo = UTC) -> dict[str, PlatformSubmission]:
    """Return the submissions in Gradescope's submission_metadata.yml, by their folders' names.

    Parameters
    ----------
    zone : tzinfo
        Time zone of a time that names none.

    Raises
    ------
    ValueError
        If the file is no YAML table, or too large.

    >>> text = b"submission_1:\\n  :submitters:\\n  - :name: Ada\\n    :sid: '7'\\n    :email: a@x.edu\\n"
    >>> read_gradescope_metadata(text)["submission_1"].submitters[0].name
    'Ada'
    """
    # The base loader makes only texts, lists and dicts. Other loaders also make Python objects.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _check_yaml_size(data, loader)
        table = yaml.load(data, loader)
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - bad YAML raises YAMLError, and more
        raise ValueError(f"it is no YAML ({type(error).__name__})") from None
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    return {
        str(key): _submission_from_gradescope_entry(entry, zone)
        for key, entry in table.items()
        if isinstance(entry, dict)
    }


def _check_yaml_size(data: bytes, loader: Any) -> None:
    """Raise ValueError if a YAML file is nested too deeply or too long to be loaded."""
    depth = 0
    for count, event in enumerate(yaml.parse(data, loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_YAML_NESTING:
            raise ValueError("it is nested too deeply")
        if count > MAX_YAML_EVENTS:
            raise ValueError("it is too long")


def _submission_from_gradescope_entry(entry: dict[str, Any], zone: tzinfo) -> PlatformSubmission:
    """Return the submission that an entry in Gradescope's submission_metadata.yml describes."""
    people = entry.get(":submitters")
    submitters = []
    for person in people[:MAX_SUBMITTERS] if isinstance(people, list) else ():
        if isinstance(person, dict):
            email = _text_of(person, "email")
            name, sid = _text_of(person, "name"), _text_of(person, "sid")
            submitters.append(PlatformIdentity(name=name, sid=sid, email=email, login=email))
    time = parse_timestamp(_text_of(entry, "created_at"), zone)
    return PlatformSubmission(submitters=tuple(submitters), time=time)


def _text_of(table: dict[str, Any], key: str) -> str:
    """Return the text under a key in an entry of Gradescope's list; "" if there is none."""
    text = table.get(f":{key}")
    return text if isinstance(text, str) else ""
