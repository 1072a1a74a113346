"""Whose files are, in one download as a whole.

Who a file is by is the word of a platform's name or index, of the folder directly above it, or of --pattern;
never that of a file that a student made. Where it cannot be told, a sentence says what to do.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, tzinfo
from itertools import takewhile

from autograder.errors import listed
from autograder.grading.intake.indexes import BLACKBOARDS, METADATA, Submission, stamp_of
from autograder.grading.intake.names import (
    is_around,
    is_generic,
    is_zip,
    lab_of,
    letters,
    safe_student,
    shown,
    stem,
)
from autograder.grading.intake.platforms import Form, Said, forms_of
from autograder.grading.intake.roster import Identity, Roster

ROSTER_REMEDY = "put a roster that tells them apart into the classroom as roster.csv"
_WHO = {field.name for field in fields(Identity)}
MAX_LEVELS = 5  # folders around the students' own; each is looked through whole
_GITHUB_USER = r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}"
_EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")  # Gradescope's
_NBGRADERS = {"source", "release", "autograded", "feedback"}  # its folders beside submitted/
NOBODYS = (
    "Neither its name nor a folder says whose it is. Put it into a folder called after the student, or say "
    "with --pattern where the student's name stands."
)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Whose a file is, as its name and what lies beside it say.

    Two are equal if they are one account, whatever else their files' names say.

    Parameters
    ----------
    platform : str
    who : tuple of Identity
        One person, or all who handed it in together.
    label : str
        What the folder is called if no roster says otherwise.
    key : str
        What tells two people of one name apart in one run.
    word : str
        Whose word it is.
    chosen : bool
        Whether the student chose it: such a name never takes the place of what is there.
    original : str
        The part of the path that the platform wrote, for the way back.
    number : int
        An upload's number, 0 if there is none.
    time : datetime or None
    late : bool
    lab : str
    note : str
    """

    platform: str
    who: tuple[Identity, ...]
    label: str
    key: str = ""
    word: str = ""
    chosen: bool = False
    original: str = field(default="", compare=False)
    number: int = field(default=0, compare=False)
    time: datetime | None = field(default=None, compare=False)
    late: bool = field(default=False, compare=False)
    lab: str = field(default="", compare=False)
    note: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run was asked to do, and what the classroom holds.

    Parameters
    ----------
    labs : tuple of str
    grade_ids : mapping of str to str
        The lab of each grade_id that stands in one lab only.
    roster : Roster
    folders : tuple of str
        Of submitted/.
    students : mapping of (platform, id) to str
        The folders of people whom a platform knows by a number that stays.
    zone : tzinfo or None
        Where times without a zone are from; None if nobody said it.
    file_times : bool
    pattern : Form or None
    """

    labs: tuple[str, ...]
    grade_ids: Mapping[str, str]
    roster: Roster
    folders: tuple[str, ...]
    students: Mapping[tuple[str, str], str]
    zone: tzinfo | None
    file_times: bool
    pattern: Form | None


class Layout:
    """Whose files are, in one download as a whole.

    Each level of folders is looked at by itself. Where names are of a platform's form, they are all of one
    platform's. Else folders are students', unless all of them are called as what is around a class's hand-ins:
    then each is gone into.
    """

    def __init__(
        self,
        paths: Sequence[str],
        name: str,
        settings: Settings,
        *,
        clones: Collection[str],
        receipts: Mapping[str, Submission],
        metadata: Callable[[str], Mapping[str, Submission]],
    ):
        self._settings, self._labs, self._roster = settings, settings.labs, settings.roster
        self._clones, self._receipts, self._metadata = clones, receipts, metadata
        self._whose: dict[str, Owner | str] = {}  # of files, and of folders with all in them: "ada/"
        self._around: list[str] = []  # folders in which each student has one
        if pattern := settings.pattern:
            for path in paths:
                said = pattern.match(path)
                owner = self._by_form(pattern, said, path, "") if said else "It does not match --pattern."
                self._whose[path] = owner
        else:
            self._level("", [path.split("/") for path in sorted(paths)], name)

    def owner(self, path: str) -> Owner | str:
        """Whose this file is; a sentence if that cannot be said."""
        ends = [len(path), *(i + 1 for i in range(len(path) - 1, -1, -1) if path[i] == "/")]
        for end in ends:
            if path[:end] in self._whose:
                return self._whose[path[:end]]
        if not self._settings.pattern and (matches := forms_of(path, self._labs)):
            return self._by_form(*matches[0], path, "")
        for above in self._around:
            top, slash, _ = path[len(above) :].partition("/")
            if path.startswith(above) and slash and not is_generic(top):
                return _owner_called(top)
        return NOBODYS

    def _level(self, above: str, paths: list[list[str]], name: str) -> None:
        """One folder around hand-ins: `paths` are those below `above`."""
        if above.count("/") >= MAX_LEVELS:
            self._whose[above] = (
                f"It lies more than {MAX_LEVELS} folders deep; collect the folder that holds the students'."
            )
            return
        repositories = self._repositories(above, name)
        formed: dict[str, dict[str, tuple[Form, Said]]] = {}  # by path and platform
        votes: dict[str, set[str]] = defaultdict(set)
        loose: list[str] = []
        folders: dict[str, list[list[str]]] = defaultdict(list)
        for top, *below in paths:
            inner = "/".join([top, *below])
            if matches := forms_of(inner, self._labs, repositories):
                formed[inner] = {form.platform: (form, said) for form, said in reversed(matches)}
                for form, said in matches:
                    votes[form.platform].add(top if below else inner.removesuffix(said["file"]))
            elif below:
                folders[top].append(below)
            else:
                loose.append(top)
        named = [file for file in loose if not lab_of(file, self._labs) and not is_generic(stem(file))]
        votes[""] = {*folders, *named}
        if "nbgrader" in votes:
            votes[""] -= _NBGRADERS
        platform = _most(votes) if formed else ""
        for inner, readings in formed.items():
            owner = self._formed(readings, platform, inner, above)
            self._whose[above + inner] = owner
            if isinstance(owner, Owner) and owner.original.endswith("/"):
                self._whose[above + owner.original] = owner  # what lies beside it there is theirs, too
        if platform == "":
            for file in loose:
                alone = named == [file] and not is_zip(file)  # it could be called after anything
                believed = file in named and (not alone or self._roster_knows(stem(file)))
                self._whose[above + file] = _named(above + file) if believed else NOBODYS
            self._students(above, folders, name)
            return
        beside = f"{platform}'s hand-ins" if platform else "as many of a platform's form"
        strange = f"It lies beside {beside}, and is none. Collect it by itself, or use --pattern."
        self._whose |= {f"{above}{top}/": strange for top in folders}
        self._whose |= {above + file: NOBODYS for file in loose}

    def _formed(
        self, readings: Mapping[str, tuple[Form, Said]], platform: str | None, inner: str, above: str
    ) -> Owner | str:
        """In one folder there is one platform's form, that of most: a student who may choose names could write
        another's."""
        if platform is not None and platform in readings:
            return self._by_form(*readings[platform], above + inner, above)
        own = listed(sorted(readings))
        beside = f"of {platform}'s" if platform else "of no platform's"
        why = f"Its name is of {own}'s form, and most beside it are {beside}"
        if platform is None:
            why = f"Of the names in this folder no more than half are of one form, and this one is {own}'s"
        return f"{why}: a student could have chosen it. Collect each platform's download by itself."

    def _students(self, above: str, folders: Mapping[str, list[list[str]]], name: str) -> None:
        """Folders of no platform's form: each is one student's, or all are around students'."""
        around = {top for top, below in folders.items() if self._is_around(top, below, name)}
        if around == set(folders):
            for top, below in folders.items():
                self._level(f"{above}{top}/", below, top)
            return
        self._around.append(above)
        direct = any(self._roster_knows(t) or self._is_direct(folders[t]) for t in set(folders) - around)
        for top, below in folders.items():
            self._whose[f"{above}{top}/"] = self._student(top, below, top in around, direct)

    def _is_around(self, top: str, below: list[list[str]], name: str) -> bool:
        """Whether a folder is called as one around hand-ins, or as the download itself, and no student's."""
        if self._roster_knows(top):
            return False
        if is_around(top, self._labs) or _EXPORT.fullmatch(top):
            return True
        own_name = letters(re.sub(r" ?\(\d+\)$", "", name)) == letters(top) != ""
        return own_name and not self._is_direct(below)

    def _student(self, top: str, below: list[list[str]], around: bool, direct: bool) -> Owner | str:
        """A folder beside a student's; a sentence where it could be a class's.

        `direct` says whether in one of them a hand-in lies where a student's lies.
        """
        owner = _owner_called(top)
        several = (
            f"{shown(top)!r} seems to hold several people's hand-ins. If it is a download and no student's "
            "folder, collect it by itself."
        )
        if self._roster_knows(top):
            return owner
        if around:
            return several
        if is_generic(top):
            return NOBODYS
        if not direct:
            return (
                f"It cannot be told whether {shown(top)!r} or {shown(stem(below[0][0]))!r} is the student's "
                f"name. Collect {shown(top)!r} by itself if it holds the class, say with --pattern where the "
                f"name stands, or {ROSTER_REMEDY}."
            )
        return several if holds_a_class(below, self._labs) else owner

    def _is_direct(self, below: list[list[str]]) -> bool:
        """Whether a hand-in lies in the folder itself, or in one that is called after a lab or a habit."""
        return any(
            lab_of(parts[0], self._labs, exact=len(parts) > 1) or is_generic(stem(parts[0]))
            for parts in below
        )

    def _roster_knows(self, name: str) -> bool:
        return len(self._roster.find(Identity(said=name))) == 1

    def _repositories(self, above: str, name: str) -> list[Form]:
        """The forms of GitHub Classroom's repositories, <assignment>-<username>.

        An assignment is known by its lab's name, by the folder <assignment>-submissions around it, or as what
        the names of several clones have in common. The longest is first: "lab-2-b" before "lab-2".
        """
        slugs = {*self._labs, name.removesuffix("-submissions") if name.endswith("-submissions") else ""}
        clones = [c[len(above) :] for c in self._clones if c and c.rpartition("/")[0] == above.rstrip("/")]
        if len(clones) > 1:
            slugs.add(_shared(clones).rpartition("-")[0])
        return [
            Form(
                platform="GitHub",
                word="GitHub's name of the repository",
                pattern=rf"(?i:{re.escape(slug)})-(?P<github>{_GITHUB_USER})(?<!-submissions) / (?P<file>.+)",
                note="" if slug in self._labs else f"The assignment was taken to be {slug!r}.",
            )
            for slug in sorted(slugs - {""}, key=lambda slug: (-len(slug), slug))
        ]

    def _by_form(self, form: Form, said: Said, path: str, above: str) -> Owner | str:
        """The owner that a name of a platform's form says, or why it says none."""
        file, time, zone = said.get("file", ""), said.get("time", ""), self._settings.zone
        begins = path[len(above) : len(path) - len(file)]
        if form.doubt and not begins.endswith("/") and re.fullmatch(form.doubt, file, re.VERBOSE):
            return (
                f"It cannot be told where {form.platform}'s part of the name ends: a person's own name may look "
                "like it. Download the hand-ins in folders, or say with --pattern where the name stands."
            )
        who = Identity(**{key: said[key] for key in said.keys() & _WHO})
        owner = Owner(
            platform=form.platform,
            who=(who,),
            label=who.label,
            key=path if form.chosen else who.account,
            word=form.word or f"{form.platform}'s name of the file",
            chosen=form.chosen,
            original=begins,
            number=int(said.get("number", "")[:18] or 0) if said.get("number", "").isdecimal() else 0,
            late=bool(said.get("late")),
            lab=said.get("lab", ""),
            note=form.note,
        )
        if form.platform == "Gradescope":
            return self._gradescope(owner, who.participant, above)
        if form.platform == "GitHub":
            user = who.github.lower()  # GitHub's user names are the same in any case
            who = Identity(github=user, said=user)
            owner = replace(owner, who=(who,), label=who.label, key=user)
        elif form.platform == "Canvas" and who.lms_id:
            owner = replace(owner, label=safe_student(f"{who.name}-{who.lms_id}"))
        elif form.platform == "Moodle" and not who.participant:
            return (
                "Moodle gives no number in its name: it comes from those who are in no group. Look up in "
                "Moodle who that is, and put it into a folder called after the student."
            )
        elif form.platform == "Blackboard":
            receipt = self._receipts.get(path.removesuffix(file))
            submitter = receipt.submitters[0] if receipt else Identity()
            login = self._blackboard_login(who.login, submitter.login)
            if not login:
                return (
                    f"It cannot be told where the assignment's name ends and the student's begins in "
                    f"{shown(who.login)!r}. Keep Blackboard's text files beside the hand-ins, or "
                    f"{ROSTER_REMEDY}."
                )
            who = submitter if submitter.login == login else Identity(login=login)
            word = "Blackboard's text file" if who.name else owner.word
            owner = replace(owner, who=(who,), label=who.label, key=login, word=word)
            if receipt and receipt.time and f"{receipt.time:{BLACKBOARDS}}" == time:
                zone = zone or receipt.time.tzinfo  # the name has none, for the same moment
        if time:
            when = stamp_of(time, zone or UTC)
            owner = replace(owner, time=when, note="" if when else f"{shown(time)} in its name is no time.")
        return owner

    def _gradescope(self, owner: Owner, folder: str, above: str) -> Owner | str:
        """With what Gradescope's list says of the folder: all who handed it in together, and when."""
        if above and not _EXPORT.fullmatch(above.rstrip("/")):
            return (
                f"{METADATA} counts only at the top of Gradescope's export: anywhere else a student could have "
                "put it there. Collect the export by itself."
            )
        entry = self._metadata(above).get(folder)
        if not entry or not entry.submitters:
            return (
                f"{METADATA} beside it does not say who handed in {shown(folder)!r}. Collect Gradescope's "
                "export as it was downloaded."
            )
        if not all(who.account for who in entry.submitters):
            return f"{METADATA} beside it names no one for {shown(folder)!r}."
        return replace(owner, who=entry.submitters, label=entry.submitters[0].label, time=entry.time)

    def _blackboard_login(self, said: str, login: str) -> str:
        """The login in "<assignment>_<login>", that of the text file if it can be; "" if it cannot be told."""
        if login and said.endswith(f"_{login}"):
            return login
        if said.count("_") == 1:
            return said.partition("_")[2]
        ends = [said[i + 1 :] for i, c in enumerate(said) if c == "_"]
        known = [end for end in ends if self._roster.find(Identity(login=end))]
        return known[0] if len(known) == 1 else ""


def _most(votes: Mapping[str, set[str]]) -> str | None:
    """The platform of more than half of the names, "" for none; None where that cannot be said."""
    all_names = set().union(*votes.values())
    first, *others = sorted(votes, key=lambda platform: -len(votes[platform]))
    alone = all(len(votes[other]) < len(votes[first]) for other in others)
    return first if alone and 2 * len(votes[first]) > len(all_names) else None


def _owner_called(said: str) -> Owner:
    who = Identity(said=said)
    return Owner(platform="folder", who=(who,), label=who.label, key=said, word="the folder's name")


def _named(path: str) -> Owner:
    """Whose a file is that lies in no student's folder and is called after its student."""
    word = "the file's name, which its student may have chosen"
    return replace(_owner_called(stem(path)), platform="file", key=path, word=word, chosen=True)


def holds_a_class(below: list[list[str]], labs: Sequence[str]) -> bool:
    """Whether these paths are several people's: names of a platform's form, one lab in two folders, or
    several notebooks or zips with names of their own."""
    folders: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    own: Counter[tuple[str, ...]] = Counter()
    for *above, file in below:
        if any(forms_of("/".join([*above[i:], file]), labs) for i in range(min(len(above), 2) + 1)):
            return True
        lab = lab_of(file, labs)
        theirs = [part for part in above if not lab_of(part, labs, exact=True) and not is_generic(part)]
        if lab:
            folders[lab].add(tuple(theirs))
        elif not is_generic(stem(file)):
            own[tuple(above)] += 1
    return max(own.values(), default=0) > 1 or any(len(same - {()}) > 1 for same in folders.values())


def _shared(names: list[str]) -> str:
    """What names of any length begin with in common."""
    return "".join(letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*names)))
