"""Whose files are, in one download as a whole.

Who a file is by is the word of a platform's name or index, of the folder directly above it, or of --pattern;
never that of a file that a student made. Where it cannot be told, a sentence says what to do.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import takewhile

from autograder.errors import listed
from autograder.grading.intake.indexes import METADATA, Receipt, Submission, stamp_of
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
from autograder.grading.intake.platforms import Form, forms_of
from autograder.grading.intake.roster import Identity, Roster

ROSTER_REMEDY = "put a roster that tells them apart into the classroom as roster.csv"
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
    original: str = ""
    number: int = 0
    time: datetime | None = None
    late: bool = False
    lab: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a run was asked to do."""

    labs: tuple[str, ...]
    grade_ids: Mapping[str, str] = field(default_factory=dict)
    roster: Roster = field(default_factory=Roster)
    zone: tzinfo = UTC
    zone_given: bool = False
    file_times: bool = False
    pattern: Form | None = None


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
        clones: set[str] = frozenset(),  # type: ignore[assignment]
        receipts: Mapping[str, Receipt] | None = None,
        metadata: Callable[[str], Mapping[str, Submission]] = lambda above: {},
    ):
        self._settings, self._labs, self._roster = settings, settings.labs, settings.roster
        self._clones, self._receipts, self._metadata = clones, receipts or {}, metadata
        self._whose: dict[str, Owner | str] = {}
        self._folders: dict[str, Owner | str] = {}
        self._around: list[str] = []  # folders in which each student has one
        if settings.pattern:
            for path in paths:
                said = settings.pattern.match(path)
                self._whose[path] = (
                    self._by_form(settings.pattern, said, path, "")
                    if said
                    else "It does not match --pattern."
                )
        else:
            self._level("", [path.split("/") for path in sorted(paths)], name)

    def owner(self, path: str) -> Owner | str:
        """Whose this file is; a sentence if that cannot be said."""
        if path in self._whose:
            return self._whose[path]
        parts = path.split("/")
        for end in range(len(parts) - 1, 0, -1):
            if (folder := "/".join(parts[:end])) in self._folders:
                return self._folders[folder]
        if not self._settings.pattern and (matches := forms_of(path, self._labs)):
            return self._by_form(*matches[0], path, "")
        for above in self._around:
            top, slash, _ = path[len(above) :].partition("/")
            if path.startswith(above) and slash and not is_generic(top):
                return _folder_owner(top)
        return NOBODYS

    def _level(self, above: str, paths: list[list[str]], name: str) -> None:
        """One folder around hand-ins: `paths` are those below `above`."""
        if above.count("/") >= MAX_LEVELS:
            why = f"It lies more than {MAX_LEVELS} folders deep; collect the folder that holds the students'."
            self._settle(above.rstrip("/"), paths, why)
            return
        slugs = self._slugs(above, paths, name)
        formed: dict[str, dict[str, Callable[[], Owner | str]]] = {}  # by path and platform
        folders: dict[str, list[list[str]]] = defaultdict(list)
        loose = []
        votes: dict[str, set[str]] = defaultdict(set)  # the names of each platform's form; "" for plain ones
        for parts in paths:
            path, inner, top = above + "/".join(parts), "/".join(parts), parts[0]
            if repository := self._repository(parts, slugs):
                formed[path] = {"GitHub": partial(self._clone, above + top, repository)}
                votes["GitHub"].add(top)
            elif matches := forms_of(inner, self._labs):
                formed[path] = {}
                for form, said in matches:
                    read = partial(self._by_form, form, said, path, above)
                    formed[path].setdefault(form.platform, read)
                    votes[form.platform].add(top if len(parts) > 1 else inner.removesuffix(said["file"]))
            elif len(parts) == 1:
                loose.append(top)
            else:
                folders[top].append(parts[1:])
        if formed:
            votes[""] = {*folders, *self._called_after_students(loose)}
            if "nbgrader" in votes:
                votes[""] -= _NBGRADERS
            platform = _most(votes)
            self._formed(formed, platform)
            if platform != "":
                beside = f"{platform}'s hand-ins" if platform else "as many of a platform's form"
                strange = f"It lies beside {beside}, and is none. Collect it by itself, or use --pattern."
                for top, below in folders.items():
                    self._settle(above + top, below, strange)
                self._whose |= {above + file: NOBODYS for file in loose}
                return
        self._loose(above, loose)
        students = {top for top in folders if not self._is_around(top, folders[top], name)}
        if students:
            self._around.append(above)
        direct = any(self._roster_knows(top) or self._is_direct(folders[top]) for top in students)
        for top, below in folders.items():
            if top in students:
                self._settle(above + top, below, self._student(top, below, direct))
            elif students:
                why = (
                    f"The folder {shown(min(students))!r} beside it is one student's, but {shown(top)!r} seems "
                    "to hold several people's hand-ins. If it is a download and no student's folder, collect it "
                    "by itself."
                )
                self._settle(above + top, below, why)
            else:
                self._level(f"{above}{top}/", below, top)

    def _formed(
        self,
        formed: Mapping[str, Mapping[str, Callable[[], Owner | str]]],
        platform: str | None,
    ) -> None:
        """In one folder there is one platform's form, that of most: a student who may choose names could write
        another's."""
        for path, readings in formed.items():
            if read := readings.get(platform or ""):
                self._whose[path] = read()
                continue
            own = listed(sorted(readings))
            if platform is None:
                why = (
                    f"Of the names in this folder no more than half are of one form, and this one is {own}'s"
                )
            else:
                beside = f"of {platform}'s" if platform else "of no platform's"
                why = f"Its name is of {own}'s form, and most beside it are {beside}"
            self._whose[path] = (
                f"{why}: a student could have chosen it. Collect each platform's download by itself."
            )

    def _settle(self, folder: str, below: list[list[str]], owner: Owner | str) -> None:
        self._folders[folder] = owner
        for parts in below:
            self._whose["/".join([folder, *parts])] = owner

    def _loose(self, above: str, files: list[str]) -> None:
        """Files that lie in no student's folder: each may be called after a student."""
        named = self._called_after_students(files)
        for file in files:
            said, path = stem(file), above + file
            if file in named and (len(named) > 1 or is_zip(file) or self._roster_knows(said)):
                word = "the file's name, which its student may have chosen"
                self._whose[path] = replace(
                    _folder_owner(said), platform="file", key=path, word=word, chosen=True
                )
            else:
                self._whose[path] = NOBODYS

    def _called_after_students(self, files: list[str]) -> list[str]:
        return [file for file in files if not lab_of(file, self._labs) and not is_generic(stem(file))]

    def _is_around(self, top: str, below: list[list[str]], name: str) -> bool:
        """Whether a folder is one around hand-ins, and no student's."""
        if self._roster_knows(top):
            return False
        own_name = letters(re.sub(r" ?\(\d+\)$", "", name)) == letters(top) != "" and not self._is_direct(
            below
        )
        return own_name or is_around(top, self._labs) or bool(_EXPORT.fullmatch(top))

    def _student(self, top: str, below: list[list[str]], direct: bool) -> Owner | str:
        """A folder that is one student's; a sentence where it could be a class's."""
        if self._roster_knows(top):
            return _folder_owner(top)
        if is_generic(top):
            return NOBODYS
        if not direct:
            other = shown(stem(below[0][0]))
            return (
                f"It cannot be told whether {shown(top)!r} or {other!r} is the student's name. Collect "
                f"{shown(top)!r} by itself if it holds the class, say with --pattern where the name stands, or "
                f"{ROSTER_REMEDY}."
            )
        if holds_a_class(below, self._labs):
            return (
                f"{shown(top)!r} seems to hold several people's hand-ins. If it is a download and no student's "
                "folder, collect it by itself."
            )
        return _folder_owner(top)

    def _is_direct(self, below: list[list[str]]) -> bool:
        """Whether a hand-in lies in the folder itself, or in one that is called after a lab or a habit."""
        return any(
            lab_of(parts[0], self._labs, exact=len(parts) > 1) or is_generic(stem(parts[0]))
            for parts in below
        )

    def _roster_knows(self, name: str) -> bool:
        return len(self._roster.find(Identity(said=name))) == 1

    # GitHub Classroom: <assignment>-<username>

    def _slugs(self, above: str, paths: list[list[str]], name: str) -> list[str]:
        """The assignments whose repositories lie here, the longest first: "lab-2-b" before "lab-2".

        An assignment is known by its lab's name, by the folder <assignment>-submissions around it, or as what
        the names of several clones have in common.
        """
        tops = {parts[0] for parts in paths if len(parts) > 1}
        clones = sorted(
            c[len(above) :] for c in self._clones if c.rpartition("/")[0] == above.rstrip("/") and c
        )
        slugs = set(self._labs) | (
            {name.removesuffix("-submissions")} if name.endswith("-submissions") else set()
        )
        if len(clones) > 1:
            slugs.add("".join(_shared(clones)).rpartition("-")[0])
        return sorted(
            (s for s in slugs if s and any(t.casefold().startswith(f"{s.casefold()}-") for t in tops)),
            key=lambda slug: (-len(slug), slug),
        )

    def _repository(self, parts: list[str], slugs: list[str]) -> Owner | None:
        if len(parts) < 2 or parts[0].endswith("-submissions"):
            return None
        for slug in slugs:
            if match := re.fullmatch(rf"(?i:{re.escape(slug)})-({_GITHUB_USER})", parts[0]):
                user = match[1].lower()  # GitHub's user names are the same in any case
                note = f"The assignment was taken to be {slug!r}." if slug not in self._labs else ""
                return Owner(
                    platform="GitHub",
                    who=(Identity(github=user, said=user),),
                    label=safe_student(user),
                    key=user,
                    word="GitHub's name of the repository",
                    original=f"{parts[0]}/",
                    note=note,
                )
        return None

    def _clone(self, folder: str, owner: Owner) -> Owner:
        self._folders[folder] = owner
        return owner

    # A platform's names

    def _by_form(self, form: Form, said: dict[str, str], path: str, above: str) -> Owner | str:
        """The owner that a name says, or why it says none."""
        file = said.get("file", "")
        flat = file and not path.endswith(f"/{file}")
        if form.doubt and flat and re.fullmatch(form.doubt, file, re.VERBOSE):
            return (
                f"It cannot be told where {form.platform}'s part of the name ends: a person's own name may look "
                "like it. Download the hand-ins in folders, or say with --pattern where the name stands."
            )
        if form.platform == "Gradescope":
            return self._gradescope(said["participant"], above)
        who = Identity(
            **{
                key: said.get(key, "")
                for key in ("student", "name", "login", "email", "lms_id", "participant", "brightspace")
            }
        )
        owner = Owner(
            platform=form.platform,
            who=(who,),
            label="",
            key=path if form.chosen else who.account,
            word=form.word,
            chosen=form.chosen,
            original=path[len(above) : len(path) - len(file)] if file else path[len(above) :],
            number=int(said.get("number", "")[:18] or 0) if said.get("number", "").isdecimal() else 0,
            late=bool(said.get("late")),
            lab=said.get("lab", ""),
        )
        label = who.student or who.login or who.email or who.name or who.lms_id
        zone = self._settings.zone
        if form.platform == "Canvas" and who.lms_id:
            label = f"{who.name}-{who.lms_id}"
        elif form.platform == "Moodle" and not who.participant:
            return (
                "Moodle gives no number in its name: it comes from those who are in no group. Look up in "
                "Moodle who that is, and put it into a folder called after the student."
            )
        elif form.platform == "Blackboard":
            receipt = self._receipts.get(path.removesuffix(file))
            login = self._blackboard_login(who.login, receipt)
            if not login:
                return (
                    f"It cannot be told where the assignment's name ends and the student's begins in "
                    f"{shown(who.login)!r}. Keep Blackboard's text files beside the hand-ins, or "
                    f"{ROSTER_REMEDY}."
                )
            label = login
            name = receipt.name if receipt and receipt.login == login else ""
            word = "Blackboard's text file" if name else form.word
            owner = replace(owner, who=(Identity(login=login, name=name),), key=login, word=word)
            zone = self._receipt_zone(said["time"], receipt) or zone
        if said.get("time"):
            when = stamp_of(said["time"], zone)
            owner = replace(
                owner, time=when, note="" if when else f"{shown(said['time'])} in its name is no time."
            )
        return replace(owner, label=safe_student(label))

    def _gradescope(self, folder: str, above: str) -> Owner | str:
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
        who = tuple(Identity(name=s.name, sid=s.sid, email=s.email, login=s.email) for s in entry.submitters)
        if not all(w.email or w.sid or w.name for w in who):
            return f"{METADATA} beside it names no one for {shown(folder)!r}."
        return Owner(
            platform="Gradescope",
            who=who,
            label=safe_student(who[0].email or who[0].sid or who[0].name),
            key=folder,
            word=f"Gradescope's {METADATA}",
            original=f"{folder}/",
            time=stamp_of(entry.time, UTC) if entry.time else None,
        )

    def _blackboard_login(self, said: str, receipt: Receipt | None) -> str:
        """The login in "<assignment>_<login>", "" if it cannot be told."""
        if receipt and said.endswith(f"_{receipt.login}"):
            return receipt.login
        if said.count("_") == 1:
            return said.partition("_")[2]
        ends = [said[i + 1 :] for i, c in enumerate(said) if c == "_"]
        known = [end for end in ends if self._roster.find(Identity(login=end))]
        return known[0] if len(known) == 1 else ""

    def _receipt_zone(self, time: str, receipt: Receipt | None) -> tzinfo | None:
        """The zone of the same moment in Blackboard's text file; the name has none."""
        when = receipt.time if receipt and not self._settings.zone_given else None
        local = stamp_of(time, UTC)
        same = when and local and when.replace(tzinfo=UTC) == local
        return when.tzinfo if when and same else None


def _most(votes: Mapping[str, set[str]]) -> str | None:
    """The platform of more than half of the names, "" for none; None where that cannot be said."""
    all_names = set().union(*votes.values())
    first, *others = sorted(votes, key=lambda platform: -len(votes[platform]))
    alone = all(len(votes[other]) < len(votes[first]) for other in others)
    return first if alone and 2 * len(votes[first]) > len(all_names) else None


def _folder_owner(said: str) -> Owner:
    who = Identity(said=said)
    return Owner(platform="folder", who=(who,), label=safe_student(said), key=said, word="the folder's name")


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


def _shared(sequences: list[str]) -> list[str]:
    """What texts of any length begin with in common."""
    return [items[0] for items in takewhile(lambda items: len(set(items)) == 1, zip(*sequences))]
