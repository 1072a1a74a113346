"""Attacks on identities: downloads in which Mallory wants Ada's place, or keeps others from being filed.

Every notebook names its author. In each attack, no notebook may lie in another student's folder or
replace another student's notebook, and the students who did nothing are filed.
"""

import unicodedata

import pytest
from downloads import collect, make_classroom, make_zip, notebook, submitted_texts, zip_bytes

NOTEBOOK_NAME = "qkv-attention.ipynb"
HONEST_ROSTER = "Folder,Name,Login,Email,ID,Identifier,Group\n"
HONEST_ROSTER += "ada,Ada L,ada1,ada@x.edu,201,Participant 1,\nbob,Bob B,bob1,bob@x.edu,202,Participant 2,Team X\n"
ROSTERS = {
    "no roster": "",
    "all": HONEST_ROSTER + "mal,Mal M,mal1,mal@x.edu,203,Participant 3,Team X\n",
    "without Mal": HONEST_ROSTER,
    "names": "Folder,Name\nada,Ada L\nbob,Bob B\nmal,Mal M\n",
    "one name": "Folder,Name\nada,Ada L\n",
}
# `make test` takes only the complete roster; the others test the same rules.
EACH_ROSTER = pytest.mark.parametrize(
    "roster_name",
    [
        pytest.param(name, marks=() if name == "all" else pytest.mark.long)
        for name in sorted(ROSTERS)
    ],
)
# `make test` takes a third of the attacks on each platform, and all of them on some platform.
EACH_PART = pytest.mark.parametrize(
    "part", [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)]
)
ON_EACH_PLATFORM = ("Ada's", "Gradescope's form")


def choose_part(attacks, part, platform):
    """Return the attacks of one of three parts; part 0 holds others on each of three platforms."""
    first = (part + sorted(NAME_TEMPLATES).index(platform)) % 3
    chosen = list(attacks.items())[first::3]
    if part == 0:
        chosen += [(label, attacks[label]) for label in attacks if label in ON_EACH_PLATFORM]
    return chosen


# Names of files on each platform.
NAME_TEMPLATES = {
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


def canvas_name(name):
    """Return a name as Canvas writes it: see its content_zipper.rb."""
    import re

    letters = re.sub(r"_(\d+)_", r"\1", name.lower())
    return "".join(c for c in letters if c == "_" or unicodedata.category(c)[0] in "LMN") or "x"


def make_path(platform, name, number, login, file=NOTEBOOK_NAME):
    return NAME_TEMPLATES[platform].format(
        name=name,
        n=number,
        word=canvas_name(name),
        login=login,
        file=file,
    )


def honest_folders(roster_name, platform):
    """Return the folders of the honest students, with their owners."""
    folders_by_platform = {"Canvas": ("adal-201", "bobb-202"), "GitHub": ("ada1", "bob1")}
    folders = (
        ("ada", "bob")
        if ROSTERS[roster_name]
        else folders_by_platform.get(platform, ("ada l", "bob b"))
    )
    return dict(zip(folders, ("ada", "bob"), strict=True))


def check_folders(classroom, roster_name, platform, expected_authors=(), context=""):
    """Check that each honest student's folder holds the owner's notebook, and that these are filed."""
    authors = submitted_texts(classroom)
    for folder, author in authors.items():
        owner = honest_folders(roster_name, platform).get(
            folder.partition("/")[0].casefold().rstrip(". "),
        )
        assert owner in (None, author), (context, authors)
    assert set(expected_authors) <= set(authors.values()), (context, authors)


def classroom_with(tmp_path, roster_name):
    classroom = make_classroom(tmp_path / "classroom")
    classroom.root.mkdir(parents=True)
    if ROSTERS[roster_name]:
        (classroom.root / "roster.csv").write_text(ROSTERS[roster_name])
    return classroom


@pytest.mark.parametrize("platform", sorted(NAME_TEMPLATES))
@EACH_ROSTER
@EACH_PART
def test_no_display_name_takes_another_students_place(tmp_path, platform, roster_name, part):
    """Mallory submits in the same download as Ada and Bob, and later alone."""
    for number, (label, name) in enumerate(choose_part(NAMES, part, platform)):
        classroom = classroom_with(tmp_path / str(number), roster_name)
        files = {make_path(platform, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        files |= {make_path(platform, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        evil = {
            make_path(platform, name, 3, "mal1", "qkv-attention-9.ipynb"): notebook(
                "mal",
                "softmax",
            )
        }
        # Ada may be unmatched if Mallory takes her name; Bob is filed in any case.
        is_bob_known = (
            platform != "GitHub" or "bob1" in ROSTERS[roster_name] or not ROSTERS[roster_name]
        ) and roster_name != "one name"
        if name != "Ada L" or platform not in ("folders", "named files"):  # a folder has one owner
            collect([make_zip(tmp_path / "class.zip", files | evil)], classroom)
            check_folders(
                classroom,
                roster_name,
                platform,
                ("bob",) if is_bob_known else (),
                f"{label} beside them",
            )
        collect([make_zip(tmp_path / "honest.zip", files)], classroom, replaces=True)
        collect([make_zip(tmp_path / "late.zip", evil)], classroom)
        if name != "Ada L" or platform != "folders":
            check_folders(classroom, roster_name, platform, (), f"{label} later")


EVIL = notebook("mal", "softmax")
METADATA = b"submission_1:\n  :submitters:\n  - :name: Ada L\n    :email: ada@x.edu\n  :created_at: 2030-01-01 10:00:00 Z\n"
RECEIPT = b"Name: Ada L (ada1)\nAssignment: x\nDate Submitted: Friday, 20 November 2026 14:03:22 o'clock GMT\n"
# Files that Mallory may put into her own folder or zip.
INSIDE = {
    "Gradescope's list": {
        "submission_metadata.yml": METADATA,
        f"submission_1/{NOTEBOOK_NAME}": EVIL,
    },
    "Gradescope's list, deeper": {
        "a/submission_metadata.yml": METADATA,
        f"a/submission_1/{NOTEBOOK_NAME}": EVIL,
    },
    "a whole export": {
        "assignment_1_export/submission_metadata.yml": METADATA,
        f"assignment_1_export/submission_1/{NOTEBOOK_NAME}": EVIL,
    },
    "a roster": {"roster.csv": b"Folder,Name\nada,Mal M\n", NOTEBOOK_NAME: EVIL},
    "a receipt": {
        "x_ada1_attempt_2026-11-20-14-03-22.txt": RECEIPT,
        f"x_ada1_attempt_2026-11-20-14-03-22_{NOTEBOOK_NAME}": EVIL,
    },
    "another's folder": {f"Ada L/{NOTEBOOK_NAME}": EVIL},
    "two others' folders": {f"Ada L/{NOTEBOOK_NAME}": EVIL, f"Bob B/{NOTEBOOK_NAME}": EVIL},
    "a class in it": {
        f"submitted/ada/qkv-attention/{NOTEBOOK_NAME}": EVIL,
        f"submitted/bob/qkv-attention/{NOTEBOOK_NAME}": EVIL,
    },
    "Moodle's folder": {f"Ada L_1_assignsubmission_file_/{NOTEBOOK_NAME}": EVIL},
    "Canvas's name": {f"adal_201_999_{NOTEBOOK_NAME}": EVIL},
    "Brightspace's name": {f"1-9 - Ada L - Nov 23, 2026 900 AM - {NOTEBOOK_NAME}": EVIL},
    "a clone": {".git/HEAD": b"ref", f"qkv-attention-ada1/{NOTEBOOK_NAME}": EVIL},
    "a stamp": {"timestamp.txt": b"2001-01-01 00:00:00 UTC", NOTEBOOK_NAME: EVIL},
    "our record": {
        "ada.json": b"{}",
        "collected/ada/qkv-attention.json": b"{}",
        NOTEBOOK_NAME: EVIL,
    },
    "a way up": {f"../Ada L/{NOTEBOOK_NAME}": EVIL},
    "a way up, with backslashes": {f"..\\Ada L\\{NOTEBOOK_NAME}": EVIL},
    "a way up, hidden": {f"x/../../Ada L/{NOTEBOOK_NAME}": EVIL},
    "an absolute path": {f"/Ada L/{NOTEBOOK_NAME}": EVIL},
    "a drive": {f"C:/Ada L/{NOTEBOOK_NAME}": EVIL},
    "a zip of Ada's name": {"Ada L.zip": zip_bytes({NOTEBOOK_NAME: EVIL})},
    "a zip in a zip": {"a.zip": zip_bytes({"b.zip": zip_bytes({f"Ada L/{NOTEBOOK_NAME}": EVIL})})},
    "a zip of a class": {
        "class.zip": zip_bytes({f"Ada L/{NOTEBOOK_NAME}": EVIL, f"Bob B/{NOTEBOOK_NAME}": EVIL})
    },
    "a reserved name": {f"con/{NOTEBOOK_NAME}": EVIL, "nul.ipynb": EVIL},
    "a stream": {f"{NOTEBOOK_NAME}:evil": EVIL, NOTEBOOK_NAME: EVIL},
    "dots at its end": {f"Ada L. ./{NOTEBOOK_NAME}": EVIL},
    "255 bytes": {"\u00e9" * 127 + "/" + NOTEBOOK_NAME: EVIL},
    "too long a name": {"x" * 256 + "/" + NOTEBOOK_NAME: EVIL},
    "control characters": {f"Ada L\n/{NOTEBOOK_NAME}": EVIL},
    "right to left": {"\u202eipynb.noitnetta-vkq": EVIL, NOTEBOOK_NAME: EVIL},
    "many notebooks": {f"{i}-{NOTEBOOK_NAME}": EVIL for i in range(300)},
    "nothing": {"notes.txt": b"x"},
}
MALLORY_FOLDERS = {  # Mallory's folder in each platform's download
    "Moodle": "Mal M_3_assignsubmission_file_/",
    "Brightspace": "3-9 - Mal M - Nov 22, 2026 900 AM/",
    "GitHub": "qkv-attention-mal1/",
    "folders": "Mal M/",
}


@pytest.mark.parametrize("platform", sorted(MALLORY_FOLDERS))
@EACH_ROSTER
@pytest.mark.parametrize("is_zipped", [False, True])
@EACH_PART
def test_files_in_a_students_own_folder_identify_nobody_else(
    tmp_path,
    platform,
    roster_name,
    is_zipped,
    part,
):
    for number, (label, attack_files) in enumerate(choose_part(INSIDE, part, platform)):
        classroom = classroom_with(tmp_path / str(number), roster_name)
        honest = {make_path(platform, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        honest |= {make_path(platform, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        if is_zipped:
            evil = {f"{MALLORY_FOLDERS[platform]}work.zip": zip_bytes(attack_files)}
        else:
            evil = {MALLORY_FOLDERS[platform] + name: data for name, data in attack_files.items()}
        is_bob_known = (
            platform != "GitHub" or "bob1" in ROSTERS[roster_name] or not ROSTERS[roster_name]
        ) and roster_name != "one name"
        # Only a student's own zip can hold paths that lead out of it.
        outside_names = [name for name in evil if ".." in name or name.startswith(("/", "C:"))]
        collect([make_zip(tmp_path / "class.zip", honest | evil)], classroom)
        check_folders(
            classroom,
            roster_name,
            platform,
            ("bob",) if is_bob_known else (),
            f"{label} {outside_names}",
        )
        collect([make_zip(tmp_path / "late.zip", evil)], classroom)
        check_folders(
            classroom,
            roster_name,
            platform,
            ("bob",) if is_bob_known else (),
            f"{label}, later",
        )
        assert {p.name for p in classroom.root.iterdir()} <= {
            "roster.csv",
            "submitted",
            "submitted-earlier",
            "collected",
        }


@pytest.mark.parametrize(
    "platform",
    ["Canvas", "Moodle flat", "Brightspace flat", "Google Classroom"],
)
@EACH_ROSTER
def test_a_files_own_name_identifies_nobody_else(tmp_path, platform, roster_name):
    """In a flat name, all text after the platform's part is chosen by the student."""
    prefix = make_path(platform, "Mal M", 3, "mal1", "")
    files = {
        "Canvas": f"x_adal_201_999_{NOTEBOOK_NAME}",
        "Canvas at once": f"adal_201_999_{NOTEBOOK_NAME}",
        "Moodle": f"Ada L_1_assignsubmission_file_{NOTEBOOK_NAME}",
        "Brightspace": f"1-9 - Ada L - Nov 23, 2026 900 AM - {NOTEBOOK_NAME}",
        "Blackboard": f"x_ada1_attempt_2030-11-20-14-03-22_{NOTEBOOK_NAME}",
        "Google": f"Ada L - {NOTEBOOK_NAME}",
        "GitHub": f"qkv-attention-ada1 {NOTEBOOK_NAME}",
        "its own zip": "Ada L.zip",
    }
    for number, (label, file) in enumerate(files.items()):
        classroom = classroom_with(tmp_path / str(number), roster_name)
        honest = {make_path(platform, "Ada L", 1, "ada1"): notebook("ada", "softmax")}
        honest |= {make_path(platform, "Bob B", 2, "bob1"): notebook("bob", "softmax")}
        evil = {prefix + file: zip_bytes({NOTEBOOK_NAME: EVIL}) if file.endswith(".zip") else EVIL}
        for files_there, name in ((honest | evil, "class"), (evil, "late")):
            collect([make_zip(tmp_path / f"{name}.zip", files_there)], classroom)
            check_folders(
                classroom,
                roster_name,
                platform,
                ("bob",) if roster_name != "one name" else (),
                f"{label} {name}",
            )
