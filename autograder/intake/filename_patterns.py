"""Table of the patterns in which learning platforms name the files of submissions.

To support a new platform, add an entry. It holds a verbose regular expression, whose named groups
are the parts of the path, and examples, which are run as tests. docs/collect.md tells where each
pattern was taken from.

Named groups:

name         name of the student or group, as the platform writes it
login, email, lms_id, student
             other identifiers of the student; `lms_id` is the same in all of a person's submissions
participant  number of the person in one assignment only
brightspace  Brightspace's number of the person
number       number of the upload; a newer upload has a larger number
time         time of the submission
late         the text with which the platform marks a late submission, or ""
lab          name of the lab; in a pattern without this group, the notebook tells the lab
file         the student's own name of the file, with the folders below the student's folder. It
             must be the last group, since everything before it is taken as the platform's part of
             the path.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autograder.core.errors import UsageError
from autograder.intake.names import find_lab_by_name

PatternGroups = dict[str, str]  # text of each named group of a pattern that matches


@dataclass(frozen=True, kw_only=True)
class FilenamePattern:
    """Pattern of the file names that a platform, such as Canvas, gives to submissions.

    Parameters
    ----------
    pattern : str
        Verbose regular expression for a whole path, relative to the folder that holds the
        submissions of the class.
    identified_by : str
        What identifies the student, for reports, such as "nbgrader's folder". With "", reports say
        that it is the name that the platform gave to the file.
    ambiguous_file : str
        Regular expression for texts of the group `file` that may begin with a piece of the
        platform's part of the name. This happens if a student's display name looks like a part of
        the pattern. A submission with such a text is refused.
    note : str
        Remark for the report of each submission that matches this pattern.
    examples : mapping of str to mapping
        Paths with the groups that must be found in them.
    student_chosen : bool
        True if students choose the whole name, so that it could name another student. Only a file
        that is named after a lab matches such a pattern.
    """

    platform: str
    pattern: str
    identified_by: str = ""
    ambiguous_file: str = ""
    note: str = ""
    examples: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    student_chosen: bool = False

    def match(self, path: str) -> PatternGroups | None:
        """Match a path, and return the text of each named group; None if it does not match."""
        match = re.fullmatch(self.pattern, path, re.VERBOSE | re.DOTALL)
        if match is None:
            return None
        return {name: text or "" for name, text in match.groupdict().items()}


_CANVAS_LETTER = r"[\w\x80-\U0010ffff]"
# The student's file name may begin with a third number. Then it is unclear which two are Canvas's,
# and which belongs to the student's name, as in "ada_201_203_9035_lab.ipynb".
_CANVAS_AMBIGUOUS_FILE = rf"(?:(?:{_CANVAS_LETTER}*_)?\d+_\d+|\d{{3,}})_.+"

FILENAME_PATTERNS = (
    FilenamePattern(
        platform="nbgrader",
        identified_by="nbgrader's folder",
        pattern=r"submitted / (?P<student>[^/]+) / (?P<lab>[^/]+) / (?P<file>.+)",
        examples={
            "submitted/ada/random-walks/random-walks.ipynb": {
                "student": "ada",
                "lab": "random-walks",
            }
        },
    ),
    FilenamePattern(
        platform="Canvas",
        pattern=r"(?:(?P<late>LATE)_)? (?P<name>anon_[A-Za-z0-9]+) _(?P<number>\d+) _(?P<file>[^/]+)",
        ambiguous_file=_CANVAS_AMBIGUOUS_FILE,
        examples={
            "anon_aB3xY_678_lab.ipynb": {
                "name": "anon_aB3xY",
                "number": "678",
                "file": "lab.ipynb",
            },
            "LATE_anon_aB3xY_678_lab.ipynb": {"name": "anon_aB3xY", "late": "LATE"},
        },
    ),
    FilenamePattern(
        platform="Canvas",
        # Canvas keeps the letters, digits and underscores of a student's name. So a name may end
        # with "_12345_678", which looks like the numbers that Canvas adds after the name.
        pattern=rf"""
            (?P<name>{_CANVAS_LETTER}+?) _(?:(?P<late>LATE)_)? (?P<lms_id>\d+) _(?P<number>\d+) _(?P<file>[^/]+)
        """,
        ambiguous_file=_CANVAS_AMBIGUOUS_FILE,
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
    FilenamePattern(
        platform="Moodle",
        # Moodle adds the student's participant number at the end. If a student's name contains such
        # a number too, the last one in a folder's name is Moodle's. In the name of a file without a
        # folder, it is uncertain which number is Moodle's.
        pattern=r"""
            (?P<name>[^/]+(?=_\d+_assignsubmission_file_?/) | [^/]+?) (?:_(?P<participant>\d+))?
            _assignsubmission_file (?:_?/|_) (?P<file>.+)
        """,
        ambiguous_file=r"(?:[^/]*_)?\d+_assignsubmission_file_[^/]+",
        examples={
            "Ada Lovelace_123_assignsubmission_file/a.ipynb": {
                "name": "Ada Lovelace",
                "participant": "123",
            },
            "Ada Lovelace_123_assignsubmission_file_/a.ipynb": {
                "participant": "123",
                "file": "a.ipynb",
            },
            "Ada Lovelace_123_assignsubmission_file_a.ipynb": {
                "participant": "123",
                "file": "a.ipynb",
            },
            "Participant_123_assignsubmission_file/a.ipynb": {
                "name": "Participant",
                "participant": "123",
            },
            "Team Red_55_assignsubmission_file/a.ipynb": {"name": "Team Red", "participant": "55"},
            "Default team_assignsubmission_file/a.ipynb": {
                "name": "Default team",
                "participant": "",
            },
            "Ada_1_assignsubmission_file_2_assignsubmission_file/a.ipynb": {"participant": "2"},
        },
    ),
    FilenamePattern(
        platform="Blackboard",
        # Blackboard puts the assignment's name before the student's login, so the group `login`
        # holds both. Only Blackboard's receipt or the roster can tell where the login begins.
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
    FilenamePattern(
        platform="Brightspace",
        # Brightspace adds a date at the end. If a student's name contains a date too, the last one
        # in a folder's name is Brightspace's. In the name of a file without a folder, it is
        # uncertain which date is Brightspace's. The lengths of the parts are limited, since
        # matching would otherwise try all ways to divide a long name into three parts.
        pattern=r"""
            (?P<brightspace>\d+)-\d+ [ ]-[ ] (?P<name>[^/]{1,200}(?=[ ]-[ ][^/]*/) | [^/]{1,200}?) [ ]-[ ]
            (?P<time>[^/]{0,60}?\b\d{4}\b[^/]{0,40}?) (?:/|[ ]-[ ]) (?P<file>.+)
        """,
        ambiguous_file=r"[^/]{0,60}?\b\d{4}\b[^/]{0,40}?[ ]-[ ][^/]+",
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
    FilenamePattern(
        platform="Gradescope",
        identified_by="Gradescope's submission_metadata.yml",
        pattern=r"(?P<participant>submission_\d+) / (?P<file>.+)",
        examples={
            "submission_98765/a.ipynb": {"participant": "submission_98765", "file": "a.ipynb"},
        },
    ),
    FilenamePattern(
        platform="Google Classroom",
        identified_by="the file's name, which the student chose",
        pattern=r"(?P<name>[^/]+?) [ ]-[ ] (?P<file>[^/]+)",
        examples={
            "Ada Lovelace - random-walks.ipynb": {
                "name": "Ada Lovelace",
                "file": "random-walks.ipynb",
            }
        },
        student_chosen=True,
    ),
)
# Paths of answers that students typed into a page of the platform instead of submitting a file.
ONLINE_TEXT = re.compile(
    r"(?:.*/)?[^/]+_\d+_(?:(?:assignsubmission_)?onlinetext(?:_|/)|(?:text|link)\.html$)",
    re.IGNORECASE,
)
GROUP_NAMES = set(
    "student name login email lms_id participant brightspace number time late lab file".split(),
)
_IDENTIFYING_GROUPS = {"student", "name", "login", "email", "lms_id", "brightspace"}


def match_patterns(
    path: str, labs: Sequence[str], extra_patterns: Sequence[FilenamePattern] = ()
) -> list[tuple[FilenamePattern, PatternGroups]]:
    """Return the patterns that match a path, with their groups, the likeliest pattern first.

    If one of the extra patterns matches, only its match is returned. A pattern of names that
    students choose counts only where no other pattern matches.

    >>> ((pattern, groups),) = match_patterns("lovelaceada_LATE_12345_678_random-walks-2.ipynb", [])
    >>> pattern.platform, groups["name"], groups["lms_id"], groups["late"]
    ('Canvas', 'lovelaceada', '12345', 'LATE')
    """
    for pattern in extra_patterns:
        groups = pattern.match(path)
        if groups:
            return [(pattern, groups)]
    matches: list[tuple[FilenamePattern, PatternGroups]] = []
    for pattern in FILENAME_PATTERNS:
        groups = pattern.match(path)
        if not groups:
            continue
        if pattern.student_chosen:
            is_named_after_lab = find_lab_by_name(groups["file"], labs)
            if matches or not is_named_after_lab or find_lab_by_name(groups["name"], labs):
                continue
        matches.append((pattern, groups))
    # A student's own file name may look like another platform's pattern with another student's
    # name in it. So prefer the match that leaves the longest text as the student's file name.
    return sorted(matches, key=lambda match: -len(match[1].get("file", "")))


def make_pattern_from_option(expression: str) -> FilenamePattern:
    """Return the pattern of the option --pattern; raises `UsageError` if it cannot be used."""
    try:
        groups = set(re.compile(expression, re.VERBOSE | re.DOTALL).groupindex)
    except re.error as error:
        raise UsageError(f"--pattern is no regular expression: {error}.") from None
    if not groups & _IDENTIFYING_GROUPS:
        raise UsageError(
            "--pattern must say who: name a group (?P<student>…), or one of name, login, email and lms_id."
        )
    if groups - GROUP_NAMES:
        raise UsageError(
            f"--pattern has groups of no meaning: {', '.join(sorted(groups - GROUP_NAMES))}.",
        )
    return FilenamePattern(platform="pattern", pattern=expression, identified_by="--pattern")
