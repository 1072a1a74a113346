"""How the learning platforms name what students hand in: a table, one entry a form.

A new platform is a new entry: an expression in verbose form, whose named groups say what the name says, and
examples, which are tests. Where each form was taken from is told in docs/collect.md.

Named groups:

name         the student's or group's name, as the platform writes it
login, email, lms_id, student
             what else a name may say of who it is; `lms_id` stays with a person
participant  a number that is one person's in one assignment only
number       an upload's number, the larger the newer
time         when it was handed in
late         the platform's mark for a late one
lab          which lab it is for; otherwise the notebook says it
file         what the student called the file, with what lies below a student's folder; it comes last, so
             that of all ways to match the first is the platform's, and the rest is the student's to choose
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

import dateutil.parser
import yaml
from dateutil.tz import gettz

from autograder.errors import Usage
from autograder.grading.intake.names import lab_of

MAX_METADATA = 20_000_000  # bytes of Gradescope's submission_metadata.yml


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way of naming hand-ins.

    Parameters
    ----------
    platform : str
    pattern : str
        A verbose regular expression for a whole path, as it is below the folders around the hand-ins.
    examples : mapping of str to mapping
        Paths, and what their groups hold.
    names_lab : bool
        Whether only a file that is named after a lab is of this form.
    """

    platform: str
    pattern: str
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names_lab: bool = False

    def match(self, path: str) -> dict[str, str] | None:
        """What a path says, "" for what it does not say; None if it is not of this form."""
        found = re.fullmatch(self.pattern, path, re.VERBOSE | re.DOTALL)
        return {key: value or "" for key, value in found.groupdict().items()} if found else None


FORMS = (
    Form(
        platform="nbgrader",
        pattern=r"submitted / (?P<student>[^/]+) / (?P<lab>[^/]+) / (?P<file>.+)",
        examples={"submitted/ada/random-walks/random-walks.ipynb": {"student": "ada", "lab": "random-walks"}},
    ),
    Form(
        platform="Canvas",
        pattern=r"(?:(?P<late>LATE)_)? (?P<name>anon_[A-Za-z0-9]+) _(?P<number>\d+) _(?P<file>.+)",
        examples={
            "anon_aB3xY_678_lab.ipynb": {"name": "anon_aB3xY", "number": "678", "file": "lab.ipynb"},
            "LATE_anon_aB3xY_678_lab.ipynb": {"name": "anon_aB3xY", "late": "LATE"},
        },
    ),
    Form(
        platform="Canvas",
        pattern=r"(?P<name>[^/]+?) _(?:(?P<late>LATE)_)? (?P<lms_id>\d+) _(?P<number>\d+) _(?P<file>.+)",
        examples={
            "lovelaceada_12345_678_random-walks.ipynb": {
                "name": "lovelaceada",
                "lms_id": "12345",
                "number": "678",
                "late": "",
                "file": "random-walks.ipynb",
            },
            "lovelaceada_LATE_12345_678_random-walks-2.ipynb": {"late": "LATE", "lms_id": "12345"},
        },
    ),
    Form(
        platform="Moodle",
        pattern=r"""
            (?P<name>[^/]+?) (?:_(?P<participant>\d+))? _assignsubmission_file
            (?:_?/|_) (?P<file>.+)
        """,
        examples={
            "Ada Lovelace_123_assignsubmission_file/a.ipynb": {"name": "Ada Lovelace", "participant": "123"},
            "Ada Lovelace_123_assignsubmission_file_/a.ipynb": {"participant": "123", "file": "a.ipynb"},
            "Ada Lovelace_123_assignsubmission_file_a.ipynb": {"participant": "123", "file": "a.ipynb"},
            "Participant_123_assignsubmission_file/a.ipynb": {"name": "Participant", "participant": "123"},
            "Team Red_55_assignsubmission_file/a.ipynb": {"name": "Team Red", "participant": "55"},
            "Default team_assignsubmission_file/a.ipynb": {"name": "Default team", "participant": ""},
        },
    ),
    Form(
        platform="Blackboard",
        # The assignment's name and the login cannot be told apart where both have underscores: see `login`.
        pattern=r"(?P<login>[^/]+?) _attempt_ (?P<time>\d{4}(?:-\d\d){5}) (?P<file>[_.].+)",
        examples={
            "Lab 2_ada1_attempt_2026-11-20-14-03-22_a.ipynb": {
                "login": "Lab 2_ada1",
                "time": "2026-11-20-14-03-22",
                "file": "_a.ipynb",
            },
            "Lab 2_ada1_attempt_2026-11-20-14-03-22.txt": {"file": ".txt"},
        },
    ),
    Form(
        platform="Brightspace",
        # Bounded, since three parts of any length would be tried in all ways of dividing a name.
        pattern=r"""
            (?P<lms_id>\d+)-\d+ [ ]-[ ] (?P<name>[^/]{1,200}?) [ ]-[ ]
            (?P<time>[^/]{0,60}?\b\d{4}\b[^/]{0,40}?) (?:/|[ ]-[ ]) (?P<file>.+)
        """,
        examples={
            "12345-67890 - Ada Lovelace - Oct 3, 2026 1134 PM/a.ipynb": {
                "lms_id": "12345",
                "name": "Ada Lovelace",
                "time": "Oct 3, 2026 1134 PM",
                "file": "a.ipynb",
            },
            "12345-67890 - Mary-Ann Smith - Oct 3, 2026 926 AM - a - b.ipynb": {
                "name": "Mary-Ann Smith",
                "time": "Oct 3, 2026 926 AM",
                "file": "a - b.ipynb",
            },
        },
    ),
    Form(
        platform="Gradescope",
        pattern=r"(?P<participant>submission_\d+) / (?P<file>.+)",
        examples={"submission_98765/a.ipynb": {"participant": "submission_98765", "file": "a.ipynb"}},
    ),
    Form(
        platform="Google Classroom",
        pattern=r"(?P<name>[^/]+?) [ ]-[ ] (?P<file>[^/]+)",
        examples={
            "Ada Lovelace - random-walks.ipynb": {"name": "Ada Lovelace", "file": "random-walks.ipynb"}
        },
        names_lab=True,
    ),
)
# Answers typed into the platform's page: no file was handed in here.
TYPED = re.compile(
    r"(?:.*/)?[^/]+_\d+_(?:(?:assignsubmission_)?onlinetext(?:_|/)|(?:text|link)\.html$)", re.IGNORECASE
)
RECEIPT = re.compile(r"_attempt_\d{4}(?:-\d\d){5}\.txt$")
GROUPS = {
    "student",
    "name",
    "login",
    "email",
    "lms_id",
    "participant",
    "number",
    "time",
    "late",
    "lab",
    "file",
}


def by_form(path: str, labs: Sequence[str]) -> tuple[Form, dict[str, str]] | None:
    """The form that a path is of, and what its groups hold; None if it is of none.

    >>> form, said = by_form("lovelaceada_LATE_12345_678_random-walks-2.ipynb", [])
    >>> form.platform, said["name"], said["lms_id"], said["late"]
    ('Canvas', 'lovelaceada', '12345', 'LATE')
    """
    matches = []
    for form in FORMS:
        said = form.match(path)
        if said and form.names_lab and (not lab_of(said["file"], labs) or lab_of(said["name"], labs)):
            said = None
        if said:
            matches.append((form, said))
    # A student may call a file as another platform would name someone else's: the outermost name counts.
    # A form that any file's name could have comes last.
    return max(matches, key=lambda m: (not m[0].names_lab, len(m[1].get("file", ""))), default=None)


def own_form(expression: str) -> Form:
    """The form that --pattern gives; raises `Usage` if it cannot be used."""
    try:
        groups = set(re.compile(expression, re.VERBOSE | re.DOTALL).groupindex)
    except re.error as error:
        raise Usage(f"--pattern is no regular expression: {error}.") from None
    who = {"student", "name", "login", "email", "lms_id"}
    if not groups & who:
        raise Usage(
            "--pattern must say who: name a group (?P<student>…), or one of name, login, email and lms_id."
        )
    if groups - GROUPS:
        raise Usage(f"--pattern has groups of no meaning: {', '.join(sorted(groups - GROUPS))}.")
    return Form(platform="pattern", pattern=expression)


# Blackboard's text file beside each hand-in

# Blackboard writes the server's zone so; a parser of dates knows hardly any of them.
_HOURS = {"UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3}
_HOURS |= {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_HOURS |= {"AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "SAST": 2}
_ZONES = {name: hours * 3600 for name, hours in _HOURS.items()}


@dataclass(frozen=True, kw_only=True)
class Receipt:
    ""

    ""
    """What Blackboard's text file says: the full name, the login, and when it came."""

    name: str
    login: str
    time: datetime | None


def read_receipt(text: str) -> Receipt | None:
    """Blackboard's text file, None if it is something else.

    >>> read_receipt("Name: Ada Lovelace (ada_1)\\nAssignment: Lab 2\\n").login
    'ada_1'
    """
    # Below its head it holds what the student typed, which may look like anything.
    head = [line[:300] for line in text[:5_000].splitlines()[:20]]
    who = re.fullmatch(
        r"Name:(.*)\(([^()]+)\)", next((ln.strip() for ln in head if ln.startswith("Name:")), "")
    )
    when = next((line for line in head if line.startswith("Date Submitted:")), "")
    if not who:
        return None
    time = parse_time(when.partition(":")[2]) if when else None
    return Receipt(name=who[1].strip(), login=who[2], time=time)


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


def stamp_of(text: str, zone: tzinfo) -> datetime | None:
    """The time in a hand-in's name, in UTC and whole seconds; None if it is none.

    >>> str(stamp_of("2026-11-20-14-03-22", UTC)), str(stamp_of("Oct 3, 2026 926 AM", UTC))
    ('2026-11-20 14:03:22+00:00', '2026-10-03 09:26:00+00:00')
    """
    try:
        if re.fullmatch(r"\d{4}(?:-\d\d){5}", text):
            local: datetime | None = datetime.strptime(text, "%Y-%m-%d-%H-%M-%S")
        elif named := re.fullmatch(r"(.{8,40}) ([A-Za-z_]+/[\w/+-]+)", text):  # nbgrader: "… Europe/Berlin"
            local, zone = parse_time(named[1]), gettz(named[2]) or zone
        else:
            local = parse_time(text)
        if local is None or local.year < 1990:
            return None
        return (local if local.tzinfo else local.replace(tzinfo=zone)).astimezone(UTC).replace(microsecond=0)
    except (ValueError, OverflowError):
        return None


# Gradescope's list of who handed in what


@dataclass(frozen=True, kw_only=True)
class Submitter:
    name: str
    sid: str
    email: str


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One hand-in of Gradescope's export: all who handed it in together, and when."""

    submitters: tuple[Submitter, ...]
    time: str


def read_metadata(data: bytes) -> dict[str, Submission]:
    """Gradescope's submission_metadata.yml, by the names of the folders. Raises `ValueError`.

    >>> text = b"submission_1:\\n  :submitters:\\n  - :name: Ada\\n    :sid: '7'\\n    :email: a@x.edu\\n"
    >>> read_metadata(text)["submission_1"].submitters[0].name
    'Ada'
    """
    # The base loader makes texts, lists and dicts, and nothing else.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        table = yaml.load(data, loader)
    except Exception as error:  # noqa: BLE001 - bad YAML raises YAMLError, deep one RecursionError, and more
        raise ValueError(f"it is no YAML ({type(error).__name__})") from None
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    return {str(key): _submission(value) for key, value in table.items() if isinstance(value, dict)}


def _submission(entry: dict[str, Any]) -> Submission:
    people = entry.get(":submitters")
    submitters = tuple(
        Submitter(
            **{
                key: value if isinstance(value := person.get(f":{key}"), str) else ""
                for key in ("name", "sid", "email")
            }
        )
        for person in (people if isinstance(people, list) else [])[:50]
        if isinstance(person, dict)
    )
    time = entry.get(":created_at")
    return Submission(submitters=submitters, time=time if isinstance(time, str) else "")
