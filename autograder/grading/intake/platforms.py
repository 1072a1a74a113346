"""How the learning platforms name what students hand in: a table, one entry a form.

A new platform is a new entry: an expression in verbose form, whose named groups say what the name says, and
examples, which are tests. Where each form was taken from is told in docs/collect.md.

Named groups:

name         the student's or group's name, as the platform writes it
login, email, lms_id, student
             what else a name may say of who it is; `lms_id` stays with a person
participant  a number that is one person's in one assignment only
brightspace  Brightspace's number
number       an upload's number, the larger the newer
time         when it was handed in
late         the platform's mark for a late one
lab          which lab it is for; otherwise the notebook says it
file         what the student called the file, with what lies below a student's folder; it comes last, so
             that of all ways to match the first is the platform's, and the rest is the student's to choose
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.errors import Usage
from autograder.grading.intake.names import lab_of

Said = dict[str, str]  # what the groups hold


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
    word : str
        Whose word a name of this form is; "" for the platform's name of the file.
    chosen : bool
        Whether the student chose the name: it could be anybody's. Only a file that is named after a lab is of
        such a form.
    doubt : str
        What in `file` leaves open where the platform's part ends: people choose their display names, too.
    note : str
        What is to be said of each hand-in of this form.
    """

    platform: str
    pattern: str
    word: str = ""
    doubt: str = ""
    note: str = ""
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    chosen: bool = False

    def match(self, path: str) -> Said | None:
        """What a path says, "" for what it does not say; None if it is not of this form."""
        found = re.fullmatch(self.pattern, path, re.VERBOSE | re.DOTALL)
        return {key: value or "" for key, value in found.groupdict().items()} if found else None


_WORD = r"[\w\x80-\U0010ffff]"
_CANVAS_DOUBT = rf"(?:{_WORD}*_)?\d+_\d+_.+"

FORMS = (
    Form(
        platform="nbgrader",
        word="nbgrader's folder",
        pattern=r"submitted / (?P<student>[^/]+) / (?P<lab>[^/]+) / (?P<file>.+)",
        examples={"submitted/ada/random-walks/random-walks.ipynb": {"student": "ada", "lab": "random-walks"}},
    ),
    Form(
        platform="Canvas",
        pattern=r"(?:(?P<late>LATE)_)? (?P<name>anon_[A-Za-z0-9]+) _(?P<number>\d+) _(?P<file>[^/]+)",
        doubt=_CANVAS_DOUBT,
        examples={
            "anon_aB3xY_678_lab.ipynb": {"name": "anon_aB3xY", "number": "678", "file": "lab.ipynb"},
            "LATE_anon_aB3xY_678_lab.ipynb": {"name": "anon_aB3xY", "late": "LATE"},
        },
    ),
    Form(
        platform="Canvas",
        # Canvas writes letters, digits and underscores of a name, so a name may hold what looks like its numbers.
        pattern=rf"(?P<name>{_WORD}+?) _(?:(?P<late>LATE)_)? (?P<lms_id>\d+) _(?P<number>\d+) _(?P<file>[^/]+)",
        doubt=_CANVAS_DOUBT,
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
        # In a folder's name the last number is Moodle's; flat, a second one leaves a doubt.
        pattern=r"""
            (?P<name>[^/]+(?=_\d+_assignsubmission_file_?/) | [^/]+?) (?:_(?P<participant>\d+))?
            _assignsubmission_file (?:_?/|_) (?P<file>.+)
        """,
        doubt=r"(?:[^/]*_)?\d+_assignsubmission_file_[^/]+",
        examples={
            "Ada Lovelace_123_assignsubmission_file/a.ipynb": {"name": "Ada Lovelace", "participant": "123"},
            "Ada Lovelace_123_assignsubmission_file_/a.ipynb": {"participant": "123", "file": "a.ipynb"},
            "Ada Lovelace_123_assignsubmission_file_a.ipynb": {"participant": "123", "file": "a.ipynb"},
            "Participant_123_assignsubmission_file/a.ipynb": {"name": "Participant", "participant": "123"},
            "Team Red_55_assignsubmission_file/a.ipynb": {"name": "Team Red", "participant": "55"},
            "Default team_assignsubmission_file/a.ipynb": {"name": "Default team", "participant": ""},
            "Ada_1_assignsubmission_file_2_assignsubmission_file/a.ipynb": {"participant": "2"},
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
        # A folder's name ends with the platform's date; in a flat name a second one leaves a doubt. Bounded,
        # since three parts of any length would be tried in all ways of dividing a name.
        pattern=r"""
            (?P<brightspace>\d+)-\d+ [ ]-[ ] (?P<name>[^/]{1,200}(?=[ ]-[ ][^/]*/) | [^/]{1,200}?) [ ]-[ ]
            (?P<time>[^/]{0,60}?\b\d{4}\b[^/]{0,40}?) (?:/|[ ]-[ ]) (?P<file>.+)
        """,
        doubt=r"[^/]{0,60}?\b\d{4}\b[^/]{0,40}?[ ]-[ ][^/]+",
        examples={
            "12345-67890 - Ada Lovelace - Oct 3, 2026 1134 PM/a.ipynb": {
                "brightspace": "12345",
                "name": "Ada Lovelace",
                "time": "Oct 3, 2026 1134 PM",
                "file": "a.ipynb",
            },
            "12345-67890 - Mary-Ann Smith - Oct 3, 2026 926 AM - a - b.ipynb": {
                "name": "Mary-Ann Smith",
                "time": "Oct 3, 2026 926 AM",
                "file": "a - b.ipynb",
            },
            "1-2 - Ada L - Oct 1, 2026 100 AM - Nov 22, 2026 900 AM/a.ipynb": {
                "name": "Ada L - Oct 1, 2026 100 AM",
                "time": "Nov 22, 2026 900 AM",
            },
        },
    ),
    Form(
        platform="Gradescope",
        word="Gradescope's submission_metadata.yml",
        pattern=r"(?P<participant>submission_\d+) / (?P<file>.+)",
        examples={"submission_98765/a.ipynb": {"participant": "submission_98765", "file": "a.ipynb"}},
    ),
    Form(
        platform="Google Classroom",
        word="the file's name, which the student chose",
        pattern=r"(?P<name>[^/]+?) [ ]-[ ] (?P<file>[^/]+)",
        examples={
            "Ada Lovelace - random-walks.ipynb": {"name": "Ada Lovelace", "file": "random-walks.ipynb"}
        },
        chosen=True,
    ),
)
# Answers typed into the platform's page: no file was handed in here.
TYPED = re.compile(
    r"(?:.*/)?[^/]+_\d+_(?:(?:assignsubmission_)?onlinetext(?:_|/)|(?:text|link)\.html$)", re.IGNORECASE
)
GROUPS = set("student name login email lms_id participant brightspace number time late lab file".split())


def forms_of(path: str, labs: Sequence[str], first: Sequence[Form] = ()) -> list[tuple[Form, Said]]:
    """The forms that a path is of and what their groups hold, the likeliest first.

    A form that any file's name could have is there only where no other is, and those of the table only where
    none of `first` is.

    >>> ((form, said),) = forms_of("lovelaceada_LATE_12345_678_random-walks-2.ipynb", [])
    >>> form.platform, said["name"], said["lms_id"], said["late"]
    ('Canvas', 'lovelaceada', '12345', 'LATE')
    """
    for form in first:
        if said := form.match(path):
            return [(form, said)]
    matches: list[tuple[Form, Said]] = []
    for form in FORMS:
        said = form.match(path)
        if said and form.chosen and (not lab_of(said["file"], labs) or lab_of(said["name"], labs)):
            said = None
        if said and not (form.chosen and matches):
            matches.append((form, said))
    # A student may call a file as another platform would name someone else's: the outermost name is likeliest.
    return sorted(matches, key=lambda match: -len(match[1].get("file", "")))


def own_form(expression: str) -> Form:
    """The form that --pattern gives; raises `Usage` if it cannot be used."""
    try:
        groups = set(re.compile(expression, re.VERBOSE | re.DOTALL).groupindex)
    except re.error as error:
        raise Usage(f"--pattern is no regular expression: {error}.") from None
    who = {"student", "name", "login", "email", "lms_id", "brightspace"}
    if not groups & who:
        raise Usage(
            "--pattern must say who: name a group (?P<student>…), or one of name, login, email and lms_id."
        )
    if groups - GROUPS:
        raise Usage(f"--pattern has groups of no meaning: {', '.join(sorted(groups - GROUPS))}.")
    return Form(platform="pattern", pattern=expression, word="--pattern")
