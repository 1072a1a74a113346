"""Identity of students and times of submissions, in the edge cases that an attacker tried.

Each test is a case in which one person's work was filed as another's, one person became two, an
attempt was lost, or a time was read wrongly.
"""

import unicodedata
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from downloads import (
    collect,
    earlier_attempts,
    files_with_outcome,
    make_zip,
    notebook,
    read_submitted,
    submitted_texts,
    write_files,
    zip_bytes,
)

from autograder.gradebook.class_list import ClassListError, read_class_list
from autograder.gradebook.policy import parse_extension
from autograder.intake import read_origins
from autograder.intake.platform_metadata import (
    _ZONE_HOURS,
    parse_timestamp,
    read_blackboard_receipt,
)
from autograder.intake.roster import PlatformIdentity, read_roster


def moodle_path(name, number, lab="qkv-attention"):
    return f"{name}_{number}_assignsubmission_file/{lab}.ipynb"


def canvas_name(name, user, upload):
    return f"{name}_{user}_{upload}_qkv-attention.ipynb"


def blackboard_name(text, time="20-14-03-22", end="_qkv-attention.ipynb"):
    return f"{text}_attempt_2026-11-{time}{end}"


def receipt_text(login, padding=0):
    text = f"Name: X ({login})\nAssignment: Lab\nDate Submitted: Friday, November 20, 2026 2:03:22 PM UTC\n"
    return text.encode() + b"x" * padding


def write_roster(classroom, text):
    write_files(classroom.root, {"roster.csv": text.encode()})


# Two people stay two


@pytest.mark.parametrize(
    ("in_roster", "submits"),
    [
        ("रमा शर्मा", "राम शर्मा"),  # the same letters with other vowel signs
        ("कमला देवी", "कमल देवी"),
        ("มาลี ใจดี", "มาลู ใจดี"),
        ("דָּוִד כהן", "דוֹד כהן"),
        ("مُنى علي", "مَنى علي"),
        ("Anna Lee", "Ann Alee"),
        ("İnci Kaya", "Inci Kaya"),
    ],
)
def test_another_name_in_any_script_is_another_person(tmp_path, in_roster, submits):
    path = tmp_path / "roster.csv"
    path.write_text(f"Name,Login\n{in_roster},first\nBob B,bob\n", "utf-8")
    roster = read_roster(path)
    assert roster.find(PlatformIdentity(name=submits)) == []
    for form in ("NFC", "NFD"):
        (person,) = roster.find(PlatformIdentity(name=unicodedata.normalize(form, in_roster)))
        assert person.student == "first"


@pytest.mark.parametrize(
    "spelling", ["Li Jo-Ann", "LI, JO-ANN", "joann li", "liJo-Ann", "Jo-Ann  Li"]
)
def test_a_name_in_another_spelling_is_the_same_person(tmp_path, spelling):
    path = tmp_path / "roster.csv"
    path.write_text("Name,Login\nJo-Ann Li,jo\nBob B,bob\n", "utf-8")
    (person,) = read_roster(path).find(PlatformIdentity(name=spelling))
    assert person.student == "jo"


@pytest.mark.parametrize("name", ["adal_201", "lada_201", "anon_x"])
def test_a_display_name_that_ends_like_canvas_numbers_is_nobodys(classroom, make_download, name):
    write_roster(classroom, "Folder,Name,ID\nada,Ada L,201\nbob,Bob B,202\n")
    files = {
        canvas_name(name, 203, 903): notebook("mal"),
        canvas_name("bbob", 202, 902): notebook("bob"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"bob/qkv-attention": "bob"}
    (row,) = [row for row in report.files if row.outcome != "filed"]
    assert "It cannot be told where Canvas's part of the name ends" in row.reason


def test_a_file_that_begins_with_a_short_number_is_still_filed(classroom, make_download):
    files = {"lovelaceada_12345_6789_2_qkv-attention.ipynb": notebook("ada")}
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"lovelaceada-12345/qkv-attention": "ada"}


def test_a_login_that_ends_like_another_one_replaces_nothing(classroom, make_download):
    write_roster(classroom, "Name,Login\nAda L,ada1\nBob B,bob1\n")
    files = {blackboard_name(f"Lab 2_{login}"): notebook(login) for login in ("ada1", "bob1")}
    files[blackboard_name("Lab 2_x_ada1", "21-14-03-22")] = notebook("mal")
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "ada1/qkv-attention": "ada1",
        "bob1/qkv-attention": "bob1",
    }
    (row,) = files_with_outcome(report, "unmatched")
    assert "Lab 2_x_ada1" in row.reason and "Keep Blackboard's text files" in row.reason


def test_a_receipt_that_cannot_be_read_leaves_its_submission_unmatched(classroom, make_download):
    write_roster(classroom, "Name,Login\nAda L,ada1\n")
    files = {
        blackboard_name("Lab 2_x_ada1"): notebook("mal"),
        blackboard_name("Lab 2_x_ada1", end=".txt"): receipt_text("x_ada1", padding=1_100_000),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {}
    (row,) = files_with_outcome(report, "unmatched")
    assert "text file beside it cannot be read" in row.reason


def test_a_github_name_is_no_school_number(classroom, make_download):
    write_roster(classroom, "Name,Login,SID\nBo Li,bo,2017001\nCy,cy,3\n")
    files = {
        f"qkv-attention-{user}/qkv-attention.ipynb": notebook(user) for user in ("2017001", "cy")
    }
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"cy/qkv-attention": "cy"}


def test_a_folder_of_anothers_account_is_nobody_elses(classroom, make_download):
    """Before there was a roster, Mal's GitHub name was his folder's; it is Bo's login."""
    first = {f"qkv-attention-{user}/qkv-attention.ipynb": notebook(user) for user in ("bo", "cy")}
    collect([make_download(first, "first")], classroom)
    write_roster(classroom, "Name,Login,GitHub\nBo Li,bo,boli99\nMal,mal,bo\nCy,cy,cy\n")
    second = {}
    for user in ("bo", "boli99", "cy"):
        second[f"attention-masks-{user}/attention-masks.ipynb"] = notebook(user)
    report = collect([make_download(second, "second")], classroom)
    (row,) = files_with_outcome(report, "unmatched")
    assert "The folder 'bo' in submitted/ holds what 'Mal' submitted before" in row.reason
    assert submitted_texts(classroom) == {
        "bo/attention-masks": "bo",
        "bo/qkv-attention": "bo",
        "cy/attention-masks": "cy",
        "cy/qkv-attention": "cy",
    }
    write_roster(
        classroom, "Folder,Name,Login,GitHub\nboli,Bo Li,bo,boli99\nmal,Mal,mal,bo\ncy,Cy,cy,cy\n"
    )
    collect([make_download(second, "third")], classroom)
    assert submitted_texts(classroom)["boli/attention-masks"] == "boli99"


def test_the_class_list_refuses_a_folder_that_is_another_persons(classroom, make_download):
    files = {"qkv-attention-bo/qkv-attention.ipynb": notebook("mal")}
    collect([make_download(files)], classroom)
    write_roster(classroom, "Name,Login,GitHub\nBo Li,bo,boli99\nMal,mal,bo\n")
    classroom.list_submissions = lambda labs: [("bo", "qkv-attention")]
    classroom.course = type("Course", (), {"labs": ("qkv-attention",)})
    with pytest.raises(
        ClassListError, match=r"holds what 'Mal' submitted before.*add a column Folder"
    ):
        read_class_list(classroom)


# One person stays one


def test_a_blind_lab_goes_into_the_folder_of_before_the_roster(classroom, make_download):
    collect([make_download({moodle_path("Ada L", 11): notebook("1")}, "named")], classroom)
    write_roster(classroom, "Name,Login,Identifier attention-masks\nAda L,ada1,Participant 21\n")
    blind = {moodle_path("Participant", 21, "attention-masks"): notebook("2")}
    collect([make_download(blind, "blind")], classroom)
    assert submitted_texts(classroom) == {"Ada L/attention-masks": "2", "Ada L/qkv-attention": "1"}


def test_a_blind_class_keeps_its_folders_when_the_roster_comes(classroom, make_download):
    blind = {moodle_path("Participant", number): notebook(str(number)) for number in (21, 22)}
    collect([make_download(blind)], classroom)
    write_roster(
        classroom,
        "Name,Login,Identifier qkv-attention\nAda L,ada1,Participant 21\nBob B,bob1,Participant 22\n",
    )
    blind[moodle_path("Participant", 21)] = notebook("newer")
    report = collect([make_download(blind, "again")], classroom)
    assert set(submitted_texts(classroom)) == {
        "Participant_21/qkv-attention",
        "Participant_22/qkv-attention",
    }
    assert not any("seem to be one student's" in note for note in report.notes)


def test_a_number_that_the_name_contradicts_is_nobodys(classroom, make_download):
    """The column Identifier may come from another assignment's worksheet."""
    write_roster(
        classroom, "Name,Login,Identifier\nAda L,ada1,Participant 9\nBob B,bob1,Participant 7\n"
    )
    files = {moodle_path("Ada L", 7): notebook("ada"), moodle_path("Bob B", 3): notebook("bob")}
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"bob1/qkv-attention": "bob"}
    (row,) = files_with_outcome(report, "unmatched")
    assert "2 people in the roster could be 'Ada L'" in row.reason


def test_canvas_files_a_groups_work_for_each_member(classroom, make_download):
    write_roster(
        classroom,
        "Name,ID,Group\nAda L,201,Team Red\nBob B,202,Team Red\nCy C,204,\nRed,205,Team Red\n",
    )
    files = {
        canvas_name("teamred", 201, 901): notebook("team"),
        canvas_name("ccy", 204, 904): notebook("cy"),
    }
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {
        "201/qkv-attention": "team",
        "202/qkv-attention": "team",
        "204/qkv-attention": "cy",
        "205/qkv-attention": "team",
    }


def test_the_folder_of_the_member_who_uploads_is_no_folder_of_the_group(classroom, make_download):
    """Canvas gives a group's file the number of one member, by which that member has a folder."""
    first = {"lal_201_901_attention-masks.ipynb": notebook("alone")}
    collect([make_download(first, "first")], classroom)
    (folder,) = (path.name for path in classroom.submitted.iterdir())
    write_roster(
        classroom, "Name,Login,ID,Group\nAda L,ada1,201,Team Red\nBob B,bob1,202,Team Red\n"
    )
    collect(
        [make_download({canvas_name("teamred", 201, 902): notebook("team")}, "second")], classroom
    )
    assert submitted_texts(classroom) == {
        f"{folder}/attention-masks": "alone",
        f"{folder}/qkv-attention": "team",
        "bob1/qkv-attention": "team",
    }


@pytest.mark.parametrize("name", ["देवी", "สมศรี", "zoe\u0308k", "李娜"])
def test_canvas_writes_names_in_letters_of_any_script(classroom, make_download, name):
    """A vowel sign of Devanagari or Thai is no letter for regular expressions, but a mark."""
    collect([make_download({canvas_name(name, 201, 901): notebook()})], classroom)
    (origin,) = read_origins(classroom.root).values()
    assert (origin.platform, origin.lms_id) == ("Canvas", "201")


def test_moodles_number_counts_in_its_own_assignment_only(classroom, make_download):
    write_roster(
        classroom,
        "Name,Login,Identifier qkv-attention,Identifier attention-masks\n"
        "Ada L,ada1,Participant 7,Participant 9\nBob B,bob1,Participant 8,Participant 7\n",
    )
    blind = {
        moodle_path("Participant", 7): notebook("ada"),
        moodle_path("Participant", 8): notebook("bob"),
    }
    blind[moodle_path("Participant", 9)] = notebook("a number of the other lab")
    collect([make_download(blind)], classroom)
    assert submitted_texts(classroom) == {
        "ada1/qkv-attention": "ada",
        "bob1/qkv-attention": "bob",
        "Participant_9/qkv-attention": "a number of the other lab",
    }


def test_the_lab_in_moodles_column_is_known_whatever_its_spelling(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("Name,Login,Identifier QKV_Attention\nAda L,ada1,Participant 7\n", "utf-8")
    roster = read_roster(path)
    assert roster.find(PlatformIdentity(participant="7"), "qkv-attention") == list(roster.people)
    assert roster.find(PlatformIdentity(participant="7"), "attention-masks") == []


def test_one_student_of_one_name_in_two_labs_is_no_blind_marking(classroom, tmp_path):
    for lab, number in (("qkv-attention", 5), ("attention-masks", 15)):
        make_zip(tmp_path / f"{lab}.zip", {moodle_path("Zoë", number, lab): notebook(lab)})
    collect([tmp_path / "qkv-attention.zip", tmp_path / "attention-masks.zip"], classroom)
    assert set(submitted_texts(classroom)) == {"Zoë/attention-masks", "Zoë/qkv-attention"}


def test_a_second_download_of_a_name_is_not_another_student(classroom, make_download):
    files = {"ada/qkv-attention.ipynb": notebook("1"), "ada (1)/qkv-attention.ipynb": notebook("2")}
    report = collect(
        [make_download(files | {"bob/qkv-attention.ipynb": notebook("bob")})], classroom
    )
    assert set(submitted_texts(classroom)) == {"ada/qkv-attention", "bob/qkv-attention"}
    (row,) = files_with_outcome(report, "unmatched")
    assert "'ada (1)' may be a second download of 'ada'" in row.reason


def test_a_second_download_of_an_earlier_runs_name_is_not_another_student(classroom, make_download):
    collect([make_download({"ada/qkv-attention.ipynb": notebook("1")}, "first")], classroom)
    later = {f"{name}/qkv-attention.ipynb": notebook("2") for name in ("ada (1)", "bob (1)")}
    report = collect([make_download(later, "later")], classroom)
    assert submitted_texts(classroom)["ada/qkv-attention"] == "1"
    (row,) = files_with_outcome(report, "unmatched")
    assert "'ada (1)' may be a second download of 'ada'" in row.reason


def test_two_of_one_whole_name_on_moodle_are_no_blind_class(classroom, make_download):
    """In blind marking, Moodle writes one word in place of all names."""
    for name, count in (("Ada Lovelace", 0), ("Teilnehmer", 2)):
        files = {moodle_path(name, number): notebook(str(number)) for number in (1, 2)}
        report = collect([make_download(files, name)], classroom)
        assert len(submitted_texts(classroom)) == count
        reasons = [row.reason for row in files_with_outcome(report, "unmatched")]
        assert len(reasons) == 2 - count
        assert all("would all be 'Ada Lovelace'" in reason for reason in reasons)


def test_a_name_after_a_hyphen_is_a_members_only_behind_a_groups(classroom, make_download):
    write_roster(classroom, "Name,Login,Group\nAda Lovelace,ada1,Team-Red\nBo Li,bo1,Team-Red\n")
    files = {
        moodle_path("Team-Red-Ada Lovelace", 1): notebook("ada"),
        moodle_path("Other-Bo Li", 2): notebook("bo"),
    }
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"ada1/qkv-attention": "ada"}
    (row,) = files_with_outcome(report, "unmatched")
    assert "Nobody in the roster is 'Other-Bo Li'" in row.reason


@pytest.mark.parametrize("roster", ["", "Name,Login\nAda Lovelace,ada1\n"])
def test_two_chosen_names_of_one_person_are_to_be_put_into_folders(
    classroom, make_download, roster
):
    """On Google Classroom students choose the names, so no roster tells them apart."""
    names = ("Ada Lovelace", "ada lovelace")
    if roster:
        write_roster(classroom, roster)
        names = ("Ada Lovelace", "Lovelace Ada")
    files = {f"{name} - qkv-attention.ipynb": notebook(name) for name in names}
    report = collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {}
    reasons = {row.reason for row in files_with_outcome(report, "unmatched")}
    remedy = "Put each into a folder called after its student." if roster else "rename one"
    assert len(reasons) in (1, 2) and all(remedy in reason for reason in reasons)


def test_nbgraders_folder_is_found_by_the_login(classroom, make_download):
    write_roster(classroom, "Folder,Name,Login\nx1,Ada L,ada1\n")
    files = {"submitted/ada1/qkv-attention/qkv-attention.ipynb": notebook("ada")}
    collect([make_download(files)], classroom)
    assert submitted_texts(classroom) == {"x1/qkv-attention": "ada"}


# Times


@pytest.mark.parametrize(
    "text",
    [
        "3 octobre 2026 2334",
        "3. Oktober 2026 2334",
        "3 Ekim 2026 2334",
        "12 décembre 2026 2334",
        "2026年10月3日 2334",
        "03-10-2026 2334",
        "Oct 3, 2026",
        "Lab 2026 900 AM",
        "2026",
        "18:00",
    ],
)
def test_a_time_that_is_not_understood_whole_is_none(text):
    assert parse_timestamp(text, UTC) is None


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("PM GMT+03:00", 11),
        ("PM GMT-03:00", 17),
        ("PM UTC+2", 12),
        ("PM UTC", 14),
        ("PM EST", 19),
        ("PM JST", 5),
        ("o'clock PM CET", 13),
        ("PM BST", 13),  # of Britain, not of Bangladesh
        ("PM EDT", 18),
        ("PM PST", 22),
        ("PM AEDT", 3),
        ("PM NZDT", 1),
        ("PM MSK", 11),
        ("PM BRT", 17),
    ],
)
def test_a_zone_in_a_receipt_is_read(text, hour):
    moment = parse_timestamp(f"Friday, November 20, 2026 2:03:22 {text}", UTC)
    assert (moment.hour, moment.minute) == (hour, 3)


ZONES = [
    ({}, {"timezone": "Asia/Tokyo"}),
    ({}, {"course_timezone": "Asia/Tokyo"}),
    ({"course_timezone": "Asia/Tokyo"}, {"timezone": "America/New_York"}),
]


@pytest.mark.parametrize(("first_zone", "second_zone"), ZONES)
def test_the_newest_attempt_counts_whatever_zone_is_named_later(
    classroom, make_download, first_zone, second_zone
):
    attempts = {blackboard_name("Lab_ada1"): notebook("1")}
    collect([make_download(attempts, "first")], classroom, **first_zone)
    attempts[blackboard_name("Lab_ada1", "20-16-00-00")] = notebook("2")
    collect([make_download(attempts, "second")], classroom, **second_zone)
    assert submitted_texts(classroom) == {"ada1/qkv-attention": "2"}


@pytest.mark.parametrize("name", ["bo/qkv-attention.ipynb", "bo/qkv-attention.zip"])
def test_a_file_on_the_disk_has_no_zone_of_the_course_and_neither_has_a_students_zip(
    classroom, inbox, name
):
    """The time of a file on the disk is a moment; a zone would shift it in a later run."""
    data = zip_bytes({"qkv-attention.ipynb": notebook()}) if name.endswith("zip") else notebook()
    collect([write_files(inbox, {name: data})], classroom, course_timezone="Asia/Tokyo")
    (origin,) = read_origins(classroom.root).values()
    assert origin.zone == ""


def test_the_same_bytes_an_hour_later_are_another_attempt(classroom, tmp_path):
    for number, (time, text) in enumerate([("10", "same"), ("12", "other"), ("11", "same")]):
        path = tmp_path / f"{number}.zip"
        make_zip(path, {blackboard_name("Lab_ada1", f"20-{time}-00-00"): notebook(text)})
        collect([path], classroom, timezone="UTC")
    assert [path.name[9:11] for path in earlier_attempts(classroom)] == ["10", "11"]
    assert read_submitted(classroom)["ada1/qkv-attention"][0] == "other"


@pytest.mark.parametrize("text", ["1 hay", "1 wins", "2 dr", "2 dayss", "3 mours"])
def test_an_extension_with_a_misspelt_unit_is_refused(text):
    with pytest.raises(ValueError, match="no length of time"):
        parse_extension(text, None, UTC)


@pytest.mark.parametrize(
    ("text", "hours"), [("2d3h", 51), ("1 hr", 1), ("90min", 1.5), ("1 week and 1 day", 192)]
)
def test_an_extension_in_usual_units_is_read(text, hours):
    assert parse_extension(text, None, UTC).total_seconds() / 3600 == hours


def test_a_time_is_in_whole_seconds_and_in_the_zone_that_it_names():
    cases = {
        "2026-11-20 14:03:22.987654 UTC": "2026-11-20 14:03:22+00:00",
        "2026-11-20 14:03:22 Europe/Berlin": "2026-11-20 13:03:22+00:00",
        "2026-11-20 14:03:22": "2026-11-20 05:03:22+00:00",  # in Tokyo
        "2026-11-20-14-03-22": "2026-11-20 05:03:22+00:00",
    }
    for text, moment in cases.items():
        assert str(parse_timestamp(text, ZoneInfo("Asia/Tokyo"))) == moment, text


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("13-10-2026 10:00", "2026-10-13"),  # there is no month 13
        ("10/13/2026 10:00", "2026-10-13"),
        ("11/11/2026 10:00", "2026-11-11"),
        ("03-10-2026 10:00", None),
    ],
)
def test_a_date_that_reads_one_way_only_is_a_date(text, day):
    moment = parse_timestamp(text, UTC)
    assert (moment and str(moment.date())) == day


def test_a_receipt_s_lines_count_only_where_blackboard_writes_them():
    lines = ["Assignment: Lab"] * 19
    assert read_blackboard_receipt("\n".join([*lines, "Name: Ada L (ada)"])).submitters[0].login
    assert read_blackboard_receipt("\n".join([*lines, "", "Name: Ada L (ada)"])) is None


_PLACES = {
    "Europe": {"London": "GMT BST", "Lisbon": "WET WEST", "Paris": "CET CEST"},
    "Africa": {"Johannesburg": "SAST", "Harare": "CAT", "Nairobi": "EAT", "Lagos": "WAT"},
    "America": {
        "New_York": "EST EDT",
        "Chicago": "CST CDT",
        "Denver": "MST MDT",
        "Los_Angeles": "PST PDT",
        "Anchorage": "AKST AKDT",
        "Sao_Paulo": "BRT",
        "Argentina/Buenos_Aires": "ART",
        "Bogota": "COT",
        "Lima": "PET",
    },
    "Asia": {
        "Tokyo": "JST",
        "Seoul": "KST",
        "Hong_Kong": "HKT",
        "Singapore": "SGT",
        "Kuala_Lumpur": "MYT",
        "Manila": "PHT",
        "Bangkok": "ICT",
        "Jakarta": "WIB",
        "Karachi": "PKT",
    },
    "Australia": {"Perth": "AWST", "Sydney": "AEST AEDT"},
    "Pacific": {"Honolulu": "HST", "Auckland": "NZST NZDT"},
}


def test_every_abbreviation_has_the_hours_of_its_place():
    wrong, known = [], {"UTC", "EET", "EEST", "MSK", "TRT"}
    places = {"Europe/Athens": "EET EEST", "Europe/Moscow": "MSK", "Europe/Istanbul": "TRT"}
    for continent, cities in _PLACES.items():
        places |= {f"{continent}/{city}": names for city, names in cities.items()}
    for place, names in places.items():
        offsets = []
        for month in (1, 7):
            offset = ZoneInfo(place).utcoffset(datetime(2026, month, 1))
            offsets.append(offset.total_seconds() / 3600)
        for name, hours in zip(names.split(), sorted(set(offsets)), strict=True):
            known.add(name)
            if _ZONE_HOURS[name] != hours:
                wrong.append((name, _ZONE_HOURS[name], hours))
    assert wrong == [] and known == set(_ZONE_HOURS)
