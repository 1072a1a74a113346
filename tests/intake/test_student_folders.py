"""Each student keeps one folder when a roster, or a column of it, is added after the first lab."""

import unicodedata
from dataclasses import replace

import pytest
from downloads import collect, notebook, write_files

from autograder.intake import Origin, read_origins
from autograder.intake.roster import read_roster
from autograder.intake.student_folders import describe_duplicate_folders, match_folders

LAB, SECOND_LAB = "additive-attention", "qkv-attention"
# Names of Ada's file in each platform's download.
DOWNLOADS = {
    "Moodle": "Ada Lovelace_{number}_assignsubmission_file/{lab}.ipynb",
    "Canvas": "lovelaceada_12345_{number}_{lab}.ipynb",
    "Blackboard": "{lab}_ada_attempt_2026-11-20-14-03-22_{lab}.ipynb",
    "Brightspace": "12345-{number} - Ada Lovelace - Oct 3, 2026 1134 PM/{lab}.ipynb",
    "Google Classroom": "{lab}/Ada Lovelace - {lab}.ipynb",
    "folders": "Ada Lovelace/{lab}.ipynb",
    "folders by login": "ADA/{lab}.ipynb",
    "folders by address": "ada@x.edu/{lab}.ipynb",
}
# Rosters in the order of the runs.
ROSTERS = {
    "comes later": ["", "Name,Login,Email\nAda Lovelace,ada,ada@x.edu\nBo Li,bo,bo@x.edu\n"],
    "gains a login": [
        "Name,Email,Brightspace ID\nAda Lovelace,ada@x.edu,12345\nBo Li,bo@x.edu,67890\n",
        "Name,Email,Login\nAda Lovelace,ada@x.edu,ada\nBo Li,bo@x.edu,bo\n",
    ],
}


def enrol(classroom, text):
    path = classroom.root / "roster.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text) if text else path.unlink(missing_ok=True)


def folders(classroom):
    return {
        path.name: sorted(lab.name for lab in path.iterdir())
        for path in classroom.submitted.iterdir()
    }


@pytest.mark.parametrize("roster", ROSTERS)
@pytest.mark.parametrize("platform", DOWNLOADS)
def test_one_student_has_one_folder(classroom, inbox, platform, roster):
    if roster == "gains a login" and platform in ("Blackboard", "folders by login"):
        pytest.skip("the first roster says nothing of logins")
    for number, (lab, text) in enumerate(
        zip((LAB, SECOND_LAB), ROSTERS[roster], strict=True),
        start=1,
    ):
        enrol(classroom, text)
        files = {DOWNLOADS[platform].format(number=number, lab=lab): notebook(lab)}
        folder = write_files(inbox / lab, files)
        report = collect([folder], classroom)
        assert [row.outcome for row in report.files] == ["filed"], report.files
    assert list(folders(classroom).values()) == [[LAB, SECOND_LAB]]
    # The next download of the first lab belongs to the same student.
    collect([inbox / LAB], classroom)
    assert list(folders(classroom).values()) == [[LAB, SECOND_LAB]]
    if report.missing:
        (student,) = report.missing[SECOND_LAB].absent
        assert student in ("Bo Li", "bo")


def test_two_people_of_one_name_keep_two_folders(classroom, inbox):
    collect([write_files(inbox / "a", {f"Jo Kim/{LAB}.ipynb": notebook("1")})], classroom)
    enrol(classroom, "Name,Login\nJo Kim,jo1\nJo Kim,jo2\n")
    write_files(
        inbox / "b",
        {f"jo1/{SECOND_LAB}.ipynb": notebook("2"), f"jo2/{SECOND_LAB}.ipynb": notebook("3")},
    )
    collect([inbox / "b"], classroom)
    assert folders(classroom) == {"Jo Kim": [LAB], "jo1": [SECOND_LAB], "jo2": [SECOND_LAB]}


def test_an_existing_folder_with_the_rosters_name_comes_first(classroom, inbox):
    """A student with two folders keeps both, and the report says so."""
    write_files(
        classroom.submitted,
        {
            f"Ada Lovelace/{LAB}/{LAB}.ipynb": notebook(),
            f"ada/{SECOND_LAB}/{SECOND_LAB}.ipynb": notebook(),
        },
    )
    enrol(classroom, ROSTERS["comes later"][1])
    collect(
        [write_files(inbox, {f"Ada Lovelace/{SECOND_LAB}.ipynb": notebook("later")})],
        classroom,
    )
    assert folders(classroom) == {"Ada Lovelace": [LAB], "ada": [SECOND_LAB]}
    people = match_folders(
        read_roster(classroom.root / "roster.csv"), folders(classroom), read_origins(classroom.root)
    )
    (sentence,) = describe_duplicate_folders(people)
    assert sentence.startswith(
        "The folders 'Ada Lovelace' and 'ada' in submitted/ seem to be one student's, ada in"
    )


@pytest.mark.parametrize(
    ("folder", "student"),
    [
        ("ada", "ada"),
        ("Ada", "ada"),
        ("zoë", "zoë"),
        (unicodedata.normalize("NFD", "zoë"), "zoë"),
        (unicodedata.normalize("NFD", "ZOË"), "zoë"),
        ("ada@x.edu", "ada"),
        ("Ada Lovelace", "ada"),
        ("lovelaceada", "ada"),
        ("777", "ada"),
        ("eve", None),
    ],
)
def test_folders_placed_by_hand_are_found_in_the_roster(tmp_path, folder, student):
    text = "Name,Login,Email,SID\nAda Lovelace,ada,ada@x.edu,777\nZoe K,zoë,zoe@x.edu,778\n"
    (tmp_path / "roster.csv").write_text(text)
    people = match_folders(read_roster(tmp_path / "roster.csv"), [folder], {})
    assert [person.student for person in people.values()] == ([student] if student else [])


def test_a_groups_origin_does_not_say_whose_a_folder_is(tmp_path):
    """The group's account on the platform may be one member's; the folder is still a group's."""
    (tmp_path / "roster.csv").write_text("Name,Login\nAda Lovelace,ada\nBo Li,bo\n")
    roster = read_roster(tmp_path / "roster.csv")
    alone = Origin(platform="Canvas", name="Ada Lovelace", login="ada")
    together = replace(alone, members=("team-1", "team-2"))
    assert [
        p.student for p in match_folders(roster, ["team-1"], {("team-1", "l"): alone}).values()
    ] == ["ada"]
    for folder in ("team-1", "Ada Lovelace"):
        assert match_folders(roster, [folder], {(folder, "l"): together}) == {}
