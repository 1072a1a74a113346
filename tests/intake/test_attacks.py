"""Attacks on who somebody is: each is a download in which Mallory wants Ada's place, or everybody else's out of it.

Every notebook says who wrote it. Whatever is tried, no notebook lies in a folder that is another's, none that was there
is replaced by somebody else's, and those who did nothing are filed.
"""

import unicodedata

import pytest
from downloads import classroom, collect, make_zip, notebook, texts, zip_bytes

NB = "qkv-attention.ipynb"
LISTED = "Folder,Name,Login,Email,ID,Identifier,Group\n"
LISTED += "ada,Ada L,ada1,ada@x.edu,201,Participant 1,\nbob,Bob B,bob1,bob@x.edu,202,Participant 2,Team X\n"
ROSTERS = {
    "no roster": "",
    "all": LISTED + "mal,Mal M,mal1,mal@x.edu,203,Participant 3,Team X\n",
    "without Mal": LISTED,
    "names": "Folder,Name\nada,Ada L\nbob,Bob B\nmal,Mal M\n",
    "one name": "Folder,Name\nada,Ada L\n",
}
# `make test` takes a whole one; the others ask for the same rules.
EACH_ROSTER = pytest.mark.parametrize(
    "which",
    [pytest.param(name, marks=() if name == "all" else pytest.mark.long) for name in sorted(ROSTERS)],
)
# Each platform's name of a file, by who it is: (display name, number).
FORMS = {
    "Moodle": "{name}_{n}_assignsubmission_file_/{file}",
    "Moodle flat": "{name}_{n}_assignsubmission_file_{file}",
    "Canvas": "{word}_20{n}_90{n}_{file}",
    "Brightspace": "{n}-9 - {name} - Nov 22, 2026 900 AM/{file}",
    "Brightspace flat": "{n}-9 - {name} - Nov 22, 2026 900 AM - {file}",
    "GitHub": "qkv-attention-{login}/{file}",
    "folders": "{name}/{file}",
    "Google Classroom": "{name} - {file}",
    "named files": "{name}.ipynb",
}
# Display names that Mallory might take.
NAMES = {
    "Ada's": "Ada L",
    "another case": "ADA L",
    "two blanks": "Ada  L",
    "no-break space": "Ada\u00a0L",
    "zero width": "Ada\u200b L",
    "right to left": "\u202eL adA",
    "right-to-left mark": "Ada L\u200f",
    "Cyrillic": "\u0410da L",
    "full width": "\uff21\uff44\uff41 L",
    "mathematical": "\U0001d400da L",
    "combining dot": "Ada L\u0307",
    "decomposed": unicodedata.normalize("NFD", "\u00c5da L"),
    "turned": "L, Ada",
    "dotted": "A.d.a L.",
    "number": "201",
    "login": "ada1",
    "address": "ada@x.edu",
    "folder": "ada",
    "folder and dot": "ada.",
    "folder and blank": "ada ",
    "group": "Team X",
    "group and name": "Team X-Ada L",
    "participant": "Participant 1",
    "Participant": "Participant",
    "Moodle's form": "Ada L_1_assignsubmission_file_",
    "Canvas's form": "adal_201_999_x",
    "Canvas's, undone": "adal_.201_.999_x",
    "Brightspace's form": "1-9 - Ada L - Nov 23, 2026 900 AM",
    "GitHub's form": "qkv-attention-ada1",
    "Blackboard's form": "x_ada1_attempt_2026-11-20-14-03-22_a",
    "Gradescope's form": "submission_1",
    "nbgrader's folder": "submitted",
    "a class's folder": "Lab 2",
    "a reserved name": "con",
    "a colon": "ada:stream",
    "a star": "*",
    "long": "A" * 180,
    "long, and Ada's": "Ada L" + " " * 150,
    "only marks": "\u200b\u200c\u200d",
    "a date": "Ada L - Nov 23, 2026 900 AM",
    "hidden": ".ada",
}


def word(name):
    """As Canvas writes a name: see its content_zipper.rb."""
    import re

    kept = re.sub(r"_(\d+)_", r"\1", name.lower())
    return "".join(c for c in kept if c == "_" or unicodedata.category(c)[0] in "LMN") or "x"


def made(form, name, number, login, file=NB):
    return FORMS[form].format(name=name, n=number, word=word(name), login=login, file=file)


def homes(which, form):
    """Whose the folders are that the honest have."""
    known = {"Canvas": ("adal-201", "bobb-202"), "GitHub": ("ada1", "bob1")}
    folders = ("ada", "bob") if ROSTERS[which] else known.get(form, ("ada l", "bob b"))
    return dict(zip(folders, ("ada", "bob"), strict=True))


def check(room, which, form, filed=(), why=""):
    """Each folder of the honest holds what its owner wrote, and these have been filed."""
    there = texts(room)
    for folder, author in there.items():
        owner = homes(which, form).get(folder.partition("/")[0].casefold().rstrip(". "))
        assert owner in (None, author), (why, there)
    assert set(filed) <= set(there.values()), (why, there)


def classroom_with(tmp_path, which):
    room = classroom(tmp_path / "classroom")
    room.root.mkdir(parents=True)
    if ROSTERS[which]:
        (room.root / "roster.csv").write_text(ROSTERS[which])
    return room


@pytest.mark.parametrize("form", sorted(FORMS))
@EACH_ROSTER
def test_a_display_name_takes_nobodys_place(tmp_path, form, which):
    """Beside Ada and Bob, and alone after them."""
    for number, (what, name) in enumerate(NAMES.items()):
        room = classroom_with(tmp_path / str(number), which)
        files = {made(form, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        files |= {made(form, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        evil = {made(form, name, 3, "mal1", "qkv-attention-9.ipynb"): notebook("mal", "softmax")}
        # Whether Ada waits, where Mallory took her name, is another matter; Bob does not.
        known = (form != "GitHub" or "bob1" in ROSTERS[which] or not ROSTERS[which]) and which != "one name"
        if name != "Ada L" or form not in ("folders", "named files"):  # a folder has one owner
            collect([make_zip(tmp_path / "class.zip", files | evil)], room)
            check(room, which, form, ("bob",) if known else (), f"{what} beside them")
        collect([make_zip(tmp_path / "honest.zip", files)], room, replaces=True)
        collect([make_zip(tmp_path / "late.zip", evil)], room)
        if name != "Ada L" or form != "folders":
            check(room, which, form, (), f"{what} later")


EVIL = notebook("mal", "softmax")
METADATA = b"submission_1:\n  :submitters:\n  - :name: Ada L\n    :email: ada@x.edu\n  :created_at: 2030-01-01 10:00:00 Z\n"
RECEIPT = (
    b"Name: Ada L (ada1)\nAssignment: x\nDate Submitted: Friday, 20 November 2026 14:03:22 o'clock GMT\n"
)
# What Mallory may put into what is hers: a folder, a zip, or a file's name.
INSIDE = {
    "Gradescope's list": {"submission_metadata.yml": METADATA, f"submission_1/{NB}": EVIL},
    "Gradescope's list, deeper": {"a/submission_metadata.yml": METADATA, f"a/submission_1/{NB}": EVIL},
    "a whole export": {
        "assignment_1_export/submission_metadata.yml": METADATA,
        f"assignment_1_export/submission_1/{NB}": EVIL,
    },
    "a roster": {"roster.csv": b"Folder,Name\nada,Mal M\n", NB: EVIL},
    "a receipt": {
        "x_ada1_attempt_2026-11-20-14-03-22.txt": RECEIPT,
        f"x_ada1_attempt_2026-11-20-14-03-22_{NB}": EVIL,
    },
    "another's folder": {f"Ada L/{NB}": EVIL},
    "two others' folders": {f"Ada L/{NB}": EVIL, f"Bob B/{NB}": EVIL},
    "a class in it": {f"submitted/ada/qkv-attention/{NB}": EVIL, f"submitted/bob/qkv-attention/{NB}": EVIL},
    "Moodle's folder": {f"Ada L_1_assignsubmission_file_/{NB}": EVIL},
    "Canvas's name": {f"adal_201_999_{NB}": EVIL},
    "Brightspace's name": {f"1-9 - Ada L - Nov 23, 2026 900 AM - {NB}": EVIL},
    "a clone": {".git/HEAD": b"ref", f"qkv-attention-ada1/{NB}": EVIL},
    "a stamp": {"timestamp.txt": b"2001-01-01 00:00:00 UTC", NB: EVIL},
    "our record": {"ada.json": b"{}", "collected/ada/qkv-attention.json": b"{}", NB: EVIL},
    "a way up": {f"../Ada L/{NB}": EVIL},
    "a way up, with backslashes": {f"..\\Ada L\\{NB}": EVIL},
    "a way up, hidden": {f"x/../../Ada L/{NB}": EVIL},
    "an absolute path": {f"/Ada L/{NB}": EVIL},
    "a drive": {f"C:/Ada L/{NB}": EVIL},
    "a zip of Ada's name": {"Ada L.zip": zip_bytes({NB: EVIL})},
    "a zip in a zip": {"a.zip": zip_bytes({"b.zip": zip_bytes({f"Ada L/{NB}": EVIL})})},
    "a zip of a class": {"class.zip": zip_bytes({f"Ada L/{NB}": EVIL, f"Bob B/{NB}": EVIL})},
    "a reserved name": {f"con/{NB}": EVIL, "nul.ipynb": EVIL},
    "a stream": {f"{NB}:evil": EVIL, NB: EVIL},
    "dots at its end": {f"Ada L. ./{NB}": EVIL},
    "255 bytes": {"\u00e9" * 127 + "/" + NB: EVIL},
    "too long a name": {"x" * 256 + "/" + NB: EVIL},
    "control characters": {f"Ada L\n/{NB}": EVIL},
    "right to left": {"\u202eipynb.noitnetta-vkq": EVIL, NB: EVIL},
    "many notebooks": {f"{i}-{NB}": EVIL for i in range(300)},
    "nothing": {"notes.txt": b"x"},
}
AROUND = {  # Mallory's place in each platform's download
    "Moodle": "Mal M_3_assignsubmission_file_/",
    "Brightspace": "3-9 - Mal M - Nov 22, 2026 900 AM/",
    "GitHub": "qkv-attention-mal1/",
    "folders": "Mal M/",
}


@pytest.mark.parametrize("form", sorted(AROUND))
@EACH_ROSTER
@pytest.mark.parametrize("zipped", [False, True])
def test_what_lies_in_ones_own_folder_says_nothing_of_others(tmp_path, form, which, zipped):
    for number, (what, inside) in enumerate(INSIDE.items()):
        room = classroom_with(tmp_path / str(number), which)
        honest = {made(form, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        honest |= {made(form, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        if zipped:
            evil = {f"{AROUND[form]}work.zip": zip_bytes(inside)}
        else:
            evil = {AROUND[form] + name: data for name, data in inside.items()}
        known = (form != "GitHub" or "bob1" in ROSTERS[which] or not ROSTERS[which]) and which != "one name"
        # Moodle's and the others' zips hold no such names as lead out of them: those are a student's zip's.
        leading = [name for name in evil if ".." in name or name.startswith(("/", "C:"))]
        collect([make_zip(tmp_path / "class.zip", honest | evil)], room)
        check(room, which, form, ("bob",) if known else (), f"{what} {leading}")
        collect([make_zip(tmp_path / "late.zip", evil)], room)
        check(room, which, form, ("bob",) if known else (), f"{what}, later")
        assert {p.name for p in room.root.iterdir()} <= {
            "roster.csv",
            "submitted",
            "submitted-earlier",
            "collected",
        }


@pytest.mark.parametrize("form", ["Canvas", "Moodle flat", "Brightspace flat", "Google Classroom"])
@EACH_ROSTER
def test_what_a_file_is_called_says_nothing_of_others(tmp_path, form, which):
    """Flat names: all behind the platform's part is the student's."""
    begins = made(form, "Mal M", 3, "mal1", "")
    files = {
        "Canvas": f"x_adal_201_999_{NB}",
        "Canvas at once": f"adal_201_999_{NB}",
        "Moodle": f"Ada L_1_assignsubmission_file_{NB}",
        "Brightspace": f"1-9 - Ada L - Nov 23, 2026 900 AM - {NB}",
        "Blackboard": f"x_ada1_attempt_2030-11-20-14-03-22_{NB}",
        "Google": f"Ada L - {NB}",
        "GitHub": f"qkv-attention-ada1 {NB}",
        "its own zip": "Ada L.zip",
    }
    for number, (what, file) in enumerate(files.items()):
        room = classroom_with(tmp_path / str(number), which)
        honest = {made(form, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        honest |= {made(form, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        evil = {begins + file: zip_bytes({NB: EVIL}) if file.endswith(".zip") else EVIL}
        for files_there, name in ((honest | evil, "class"), (evil, "late")):
            collect([make_zip(tmp_path / f"{name}.zip", files_there)], room)
            check(room, which, form, ("bob",) if which != "one name" else (), f"{what} {name}")
