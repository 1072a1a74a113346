"""The class report, its tables of marks, and the feedback pages."""

import csv
import io
import json
import os
import random
import re
import shutil
import sys
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest

pytest.importorskip("nbgrader")

from autograder.answer import Answer
from autograder.cells import grade_id
from autograder.compare import STRUCTURAL, first_difference
from autograder.exercise import Rules
from autograder.grading import report, similarity
from autograder.grading.classroom import Classroom, Submission
from autograder.grading.gradebook import Book, GradebookError
from autograder.grading.marking import NOT_RUN, Marked, release_for_marking
from autograder.grading.marks import (
    Lab,
    Mark,
    Marks,
    Student,
    canvas_csv,
    harmless,
    moodle_csv,
    nbgrader_csv,
    read_marks,
)
from autograder.grading.pseudonyms import pseudonyms
from autograder.labs import exercises
from autograder.results import Result, Verdict

# nbgrader and SQLAlchemy warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")

LAB = "qkv-attention"
EVIL = "<script>alert(1)</script>"


def row(student, exercise, verdict=Verdict.PASS, misconception=None, message="", points=2, seconds=0.5):
    score = {Verdict.PASS: points, Verdict.MANUAL: None, Verdict.FAULT: None}.get(verdict, 0)
    return Result(student, LAB, exercise, score, points, verdict, misconception, message, seconds)


def handin(student, rows, scores=None, notes=(), **mark):
    scores = scores or {r.exercise: r.score for r in rows}
    points = {r.exercise: r.max_score for r in rows}
    given = Mark(student, LAB, scores, points, **mark)
    return report.HandIn(student, LAB, tuple(rows), tuple(notes), similarity.Work([], []), given)


def results(student, wrong=(), message="", notes=(), answer="An answer."):
    """A `Marked` as the grader would make it: all right but the exercises in `wrong`."""
    notebook = json.loads(json.dumps(release_for_marking(LAB)))
    rows = []
    for cell in notebook["cells"]:
        grader = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "markdown" and grader.get("solution"):
            cell["source"] = answer
        if grader.get("grade"):
            name = next(
                (e for e in exercises(LAB) if grader["grade_id"] == f"test-{grade_id(e)}"), grader["grade_id"]
            )
            if name not in exercises(LAB):
                verdict = Verdict.MANUAL
            else:
                verdict = Verdict.WRONG if name in wrong else Verdict.PASS
            rows.append(row(student, name, verdict, message=message, points=grader["points"]))
    import nbformat

    return Marked(tuple(rows), nbformat.from_dict(notebook), tuple(notes), 1)


@pytest.fixture
def classroom(tmp_path):
    return Classroom(tmp_path / "class")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A gradebook that knows the lab; making one takes seconds."""
    classroom = Classroom(tmp_path_factory.mktemp("prepared"))
    with pytest.MonkeyPatch.context() as patch:
        # nbgrader runs `alembic`, which stands beside this Python.
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        with Book(classroom) as book:
            book.prepare(LAB)
    return classroom.root / "gradebook.db"


def fill(classroom, of_students, gradebook=None, timestamp=None):
    """Keep these results ({student: Marked}), and write them into a copy of the gradebook."""
    for student, marked in of_students.items():
        classroom.keep(Submission(student, LAB, b"", "", timestamp), marked, True)
    if gradebook:
        shutil.copy(gradebook, classroom.root)
        with Book(classroom) as book:
            for student, marked in of_students.items():
                book.record(Submission(student, LAB, b"", "", timestamp), marked)


class Balance(HTMLParser):
    """Which elements are left open, or closed without having been opened."""

    VOID = frozenset({"meta", "br", "wbr", "rect", "line", "circle", "path", "img", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.tags, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


def well_formed(page):
    parser = Balance()
    parser.feed(page)
    assert not parser.wrong and not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    for _, attrs in parser.tags:  # what is named by an id is there
        named = attrs.get("aria-labelledby", "").split() + [attrs.get("href", "#")[1:]]
        assert {n for n in named if n and not n.endswith("csv") and "." not in n} <= set(parser.ids)
    return parser


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestFigures:
    def test_discrimination_by_hand(self):
        # x = 1, 1, 0, 0 and y = 1, ½, ½, 0: covariance ⅛, deviations ½ and √⅛, so r = √½.
        pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
        assert report.discrimination(pairs, fewest=4) == pytest.approx(0.5**0.5)

    def test_no_discrimination_of_few_or_of_all_the_same(self):
        pairs = [(1, 1.0), (1, 0.5), (0, 0.5), (0, 0.0)]
        assert report.discrimination(pairs) is None
        assert report.discrimination([(1, i) for i in range(20)]) is None
        assert report.discrimination([]) is None

    def test_an_exercise_by_hand(self):
        blank = first_difference(np.ones(2), Answer(error="NotImplementedError"), Rules()).seen
        verdicts = [
            (Verdict.PASS, None, ""),
            (Verdict.WRONG, "always-axis-0", ""),
            (Verdict.WRONG, None, ""),
            (Verdict.ERROR, None, "It raised ValueError."),
            (Verdict.ERROR, None, blank),
            (Verdict.FAULT, None, ""),
        ]
        students = [
            handin(f"s{i}", [row(f"s{i}", "softmax", *v), row(f"s{i}", "stable_softmax")])
            for i, v in enumerate(verdicts)
        ]
        found = report.exercise_figures("softmax", students)
        assert (found.tried, found.passed, found.wrong, found.stopped, found.blank) == (5, 1, 2, 1, 1)
        assert found.unexplained == 1
        assert found.pass_rate == 20 and found.mean == 20

    def test_the_rest_leaves_the_exercise_out(self):
        # Whoever passes a fails b: with a in the rest the correlation would not be -1.
        students = []
        for i in range(12):
            verdicts = (Verdict.PASS, Verdict.WRONG) if i % 2 else (Verdict.WRONG, Verdict.PASS)
            students.append(handin(f"s{i}", [row(f"s{i}", n, v) for n, v in zip("ab", verdicts)]))
        assert report.exercise_figures("a", students).discrimination == pytest.approx(-1)

    def test_marks_by_hand_count_and_waiting_ones_do_not(self):
        rows = [row("ada", "softmax"), row("ada", "explain", Verdict.MANUAL, points=4)]
        waits = handin("ada", rows, {"softmax": 2, "explain": None}, awaits=1)
        assert waits.mark.percent == 100
        judged = handin("ada", rows, {"softmax": 2, "explain": 1}, penalty=1.0)
        assert judged.mark.percent == pytest.approx(100 * 2 / 6)
        found = report.exercise_figures("explain", [waits, judged])
        assert found.by_hand and found.waiting == 1 and found.mean == 25 and found.pass_rate is None

    def test_misconceptions_are_ranked_by_students(self):
        def wrong(student, exercise, name):
            return row(student, exercise, Verdict.WRONG, name)

        students = [
            handin("a", [wrong("a", "softmax", "transposed"), wrong("a", "stable_softmax", "transposed")]),
            handin("b", [wrong("b", "softmax", "returns-a-list"), row("b", "stable_softmax")]),
            handin("c", [wrong("c", "softmax", "returns-a-list"), row("c", "stable_softmax")]),
        ]
        first, second = report.misconceptions(students)
        assert (first.name, first.holders) == ("returns-a-list", {"b", "c"})
        assert first.means == STRUCTURAL["returns-a-list"][0]
        assert (second.holders, second.by_exercise.total(), second.tried) == ({"a"}, 2, 3)

    def test_a_misconception_that_the_lab_has_forgotten_keeps_its_name(self):
        gone = row("a", "softmax", Verdict.WRONG, "once-known")
        assert report.misconceptions([handin("a", [gone])])[0].means == "once known"


class TestPage:
    @pytest.fixture
    def page(self, classroom):
        evil = "it's “" + EVIL + "” & more"
        fill(
            classroom,
            {
                EVIL.replace("/", ""): results("x", ["softmax"], message=evil, notes=[evil]),
                "ada": results("ada", exercises(LAB)),
            },
        )
        (classroom.submitted / "grace" / LAB).mkdir(parents=True)
        return report.write_report(classroom).read_text("utf-8")

    def test_it_is_well_formed(self, page):
        parser = well_formed(page)
        tags = [tag for tag, _ in parser.tags]
        assert {"main", "nav", "header", "footer", "figure", "caption"} <= set(tags)
        assert tags.count("h1") == 1
        for tag, attrs in parser.tags:
            if tag == "th":
                assert attrs["scope"] in {"col", "row"}
            if tag == "svg":
                assert attrs.get("role") == "img" or attrs.get("aria-hidden") == "true"

    def test_it_runs_and_fetches_nothing(self, page):
        tags = well_formed(page).tags
        assert not {"script", "iframe", "img", "link", "object"} & {tag for tag, _ in tags}
        assert not re.search(r"https?://", page)
        assert not any(key.startswith("on") or key == "src" for _, attrs in tags for key in attrs)

    def test_names_messages_and_notes_are_escaped(self, page):
        assert "<script" not in page and "&lt;script&gt;" in page

    def test_hand_ins_without_a_result_are_listed(self, page):
        listed = page[page.index("Handed in, but without a result") :]
        assert "grace" in listed[: listed.index("</table>")]

    def test_it_says_that_there_is_no_gradebook(self, page):
        assert "There is no gradebook" in page

    def test_an_empty_class(self, classroom):
        page = report.write_report(classroom).read_text("utf-8")
        well_formed(page)
        assert "There are no results yet" in page
        assert len((classroom.report / "canvas.csv").read_text().splitlines()) == 2

    def test_one_student(self, classroom):
        fill(classroom, {"ada": results("ada", ["softmax"])})
        page = report.write_report(classroom).read_text("utf-8")
        well_formed(page)
        assert "ada" in page

    def test_a_damaged_result_is_listed(self, classroom):
        fill(classroom, {"ada": results("ada")})
        (classroom.results / "bob").mkdir()
        (classroom.results / "bob" / f"{LAB}.json").write_text('{"rows": [')
        page = report.write_report(classroom).read_text("utf-8")
        assert "A result that cannot be read (1)" in page

    def test_a_gradebook_that_is_named_must_be_there(self, classroom, tmp_path):
        fill(classroom, {"ada": results("ada")})
        with pytest.raises(GradebookError, match="no such file"):
            report.write_report(classroom, db_url=f"sqlite:///{tmp_path}/none.db")


class TestAnonymous:
    def test_no_name_in_any_file(self, classroom, prepared):
        names = ["lovelace", "hopperson", "turingman"]
        fill(
            classroom,
            {
                name: results(
                    name,
                    ["softmax"],
                    message=f"Your function raised ValueError: {name} was here",
                    notes=[
                        f"The file was called 'final {name}.ipynb'; it was taken as {LAB}.ipynb.",
                        f"{name} 2.ipynb is a link or cannot be opened.",
                        f"Something nobody foresaw about {name.upper()}.",
                    ],
                    answer=f"{name} " + "says the very same long sentence about attention weights " * 9,
                )
                for name in names
            },
            gradebook=prepared,
        )
        report.write_report(classroom, anonymous=True)
        for path in classroom.report.iterdir():
            assert not re.search("|".join(names), path.read_text("utf-8"), re.IGNORECASE), path
        order = [r["Username"] for r in table((classroom.report / "moodle.csv").read_text())]
        assert order == sorted(order)  # the order of the real names would tell
        mapping = table((classroom.root / "pseudonyms.csv").read_text())
        listed = {r["student_id"]: r["pseudonym"] for r in mapping}
        assert {name.removeprefix("'") for name in listed} == set(names)
        page = (classroom.report / "index.html").read_text("utf-8")
        assert all(pseudonym in page for pseudonym in listed.values())

    def test_pseudonyms_stay_when_the_class_grows(self, tmp_path):
        first = pseudonyms(["ada", "=1+1"], tmp_path)
        again = pseudonyms(["=1+1", "bob", "ada"], tmp_path)
        assert {name: again[name] for name in first} == first
        assert len(set(again.values())) == 3
        assert (tmp_path / "pseudonyms.csv").stat().st_mode & 0o077 == 0

    def test_another_classroom_has_others(self, tmp_path):
        one, other = (pseudonyms(map(str, range(20)), tmp_path / name) for name in "ab")
        assert one != other

    def test_many_students_have_different_ones(self, tmp_path):
        many = pseudonyms((f"s{i}" for i in range(3000)), tmp_path)
        assert len(set(many.values())) == 3000


class TestTables:
    MARKS = Marks(
        {
            "al1": Student("al1", "Lovelace, Countess", "Ada", "ada@example.org", "4711"),
            "=cmd()": Student("=cmd()", "+Evil", "@Eve"),
        },
        {"one": Lab("one", datetime(2026, 1, 1), 10.0), "two": Lab("two", None, 4.0)},
        {("al1", "one"): Mark("al1", "one", {"a": 5.5, "b": None}, {"a": 6, "b": 4}, 1, penalty=1.0)},
    )

    def test_nbgrader(self):
        rows = table(nbgrader_csv(self.MARKS))
        assert (
            list(rows[0])
            == (
                "assignment duedate timestamp student_id last_name first_name email raw_score "
                "late_submission_penalty score max_score"
            ).split()
        )
        assert rows[0]["last_name"] == "Lovelace, Countess"
        assert (rows[0]["raw_score"], rows[0]["score"], rows[0]["max_score"]) == ("5.5", "4.5", "10.0")
        assert [r["score"] for r in rows[1:]] == ["0.0"] * 3

    def test_canvas(self):
        rows = table(canvas_csv(self.MARKS))
        assert list(rows[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "one", "two"]
        assert "Points Possible" in rows[0]["Student"] and rows[0]["one"] == "10.0"
        assert rows[1]["Student"] == "Lovelace, Countess, Ada" and rows[1]["ID"] == "4711"
        assert (rows[1]["one"], rows[1]["two"]) == ("4.5", "")

    def test_moodle(self):
        rows = table(moodle_csv(self.MARKS))
        assert rows[0]["Username"] == rows[0]["ID number"] == "al1"
        assert rows[0]["Email address"] == "ada@example.org" and rows[0]["one"] == "4.5"

    def test_no_cell_is_a_formula(self):
        for form in (nbgrader_csv, canvas_csv, moodle_csv):
            for line in csv.reader(io.StringIO(form(self.MARKS))):
                assert not any(cell.strip().startswith(("=", "+", "-", "@")) for cell in line)
        assert harmless("\t=1") == "'\t=1" and harmless(" =1") == "' =1"

    def test_the_same_as_nbgraders_own_export(self, classroom, prepared, tmp_path):
        from nbgrader.api import Gradebook
        from nbgrader.plugins import CsvExportPlugin

        fill(
            classroom,
            {"bob": results("bob", ["softmax"]), "ada": results("ada")},
            gradebook=prepared,
            timestamp="2026-01-03 12:00:00 UTC",
        )
        with Gradebook(classroom.default_db, "attention-labs") as book:
            book.update_or_create_student("zoe", first_name="Zoe", last_name="Z")
            book.update_or_create_assignment(LAB, duedate="2026-01-02 12:00:00 UTC")
            grades = book.find_submission(LAB, "ada").notebooks[0].grades
            explain = next(g for g in grades if g.needs_manual_grade)
            explain.manual_score, explain.needs_manual_grade = 1.5, False
            book.db.commit()
            CsvExportPlugin(to=str(tmp_path / "theirs.csv")).export(book)
        marks = read_marks(classroom)
        assert sorted(nbgrader_csv(marks).splitlines()) == sorted(
            (tmp_path / "theirs.csv").read_text().splitlines()
        )
        assert marks.marks["ada", LAB].late == 86400
        assert marks.marks["ada", LAB].awaits == 0 and marks.marks["bob", LAB].awaits == 1
        page = report.write_report(classroom).read_text("utf-8")
        assert "1 d 0 h" in page


def code(source):
    return {"cell_type": "code", "source": source}


def prose(source):
    return {"cell_type": "markdown", "source": source}


ANSWER = """
def attend(queries, keys, values, mask=None):
    # Compare every query with every key, then share out the values.
    depth = keys.shape[-1]
    table = np.einsum("...qd,...kd->...qk", queries, keys) / depth ** 0.5
    if mask is not None:
        table = np.where(mask, table, -np.inf)
    peak = np.max(table, axis=-1, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0)
    power = np.exp(table - peak)
    total = np.add.reduce(power, axis=-1, keepdims=True)
    shares = np.divide(power, total, out=np.zeros_like(power), where=total > 0)
    blend = np.zeros((queries.shape[0], values.shape[1]))
    for row, share in enumerate(shares):
        for column, part in enumerate(share):
            blend[row] += part * values[column]
    return blend, shares
"""


class TestSimilarity:
    def crowd(self, count=8):
        """Hand-ins with nothing in common but chance."""
        chance = random.Random(5)
        words = [f"{a}{b}" for a in "bcdfgl" for b in "aeiou"]
        return [
            similarity.read_work(
                [
                    prose(" ".join(chance.choices(words, k=80))),
                    code("\n".join(f"x{i} = {chance.choice(words)}({chance.random()})" for i in range(30))),
                ]
            )
            for _ in range(count)
        ]

    def test_a_copy_with_other_names_is_found(self):
        renamed = re.sub(r"#.*", "# Mine.", ANSWER)
        for old, new in {"table": "scores", "peak": "top", "power": "e", "shares": "w"}.items():
            renamed = re.sub(rf"\b{old}\b", new, renamed)
        works = [*self.crowd(), *(similarity.read_work([code(text)]) for text in (ANSWER, renamed))]
        (pair,) = similarity.alike(works, [])
        assert (pair.one, pair.other) == (8, 9)
        assert pair.code == 1 and pair.words is None

    def test_a_copied_explanation_is_found_and_quoted(self):
        said = (
            "Without the root the scores grow with the depth, so softmax saturates and its gradients die. "
            "Dividing keeps their spread near one, whatever depth we choose for the queries and keys."
        )
        works = [*self.crowd(), *(similarity.read_work([prose(text)]) for text in (said, said + "Ok."))]
        (pair,) = similarity.alike(works, [])
        assert pair.words > 0.95 and "grow with the depth" in pair.passage

    def test_two_independent_right_answers_are_not(self):
        one = """
def softmax(x, axis=0):
    # Subtract the largest number first
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)

def attention_qkv(queries, keys, values):
    d_k = keys.shape[1]
    weights = softmax(queries @ keys.T / np.sqrt(d_k), axis=1)
    return weights @ values
"""
        other = """
def softmax(x, axis=0):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    numerator = np.exp(shifted)
    denominator = np.sum(numerator, axis=axis, keepdims=True)
    return numerator / denominator

def attention_qkv(queries, keys, values):
    # scaled dot product
    scores = np.dot(queries, keys.T) / np.sqrt(keys.shape[-1])
    return np.dot(softmax(scores, axis=-1), values)
"""
        works = [similarity.read_work([code(text)]) for text in (one, other)]
        assert similarity.alike(works, []) == []

    def test_nor_is_the_same_short_answer(self):
        short = ANSWER[: ANSWER.index("peak = np.where")]
        assert similarity.alike([similarity.read_work([code(short)])] * 2, []) == []

    def test_what_the_lab_gave_does_not_count(self):
        given = similarity.read_work([code(ANSWER), prose("Explain in your own words. " * 20)])
        works = [similarity.read_work([code(ANSWER), prose("Explain in your own words. " * 20)])] * 2
        assert similarity.alike(works, [given]) == []
        assert similarity.alike(works, [])

    def test_what_many_have_does_not_count(self):
        assert similarity.alike([similarity.read_work([code(ANSWER)])] * 7, []) == []

    def test_nothing_to_compare(self):
        assert similarity.alike([], []) == []
        assert similarity.alike([similarity.Work([], [])] * 3, []) == []

    def test_a_copy_shows_in_the_report(self, classroom):
        same = (
            "My scores are scaled so that the softmax stays soft, else one word takes all the weight. "
            "I saw this when I drew the picture again with vectors of three hundred entries."
        )
        fill(classroom, {name: results(name, answer=same) for name in ("ada", "bob")})
        page = report.write_report(classroom).read_text("utf-8")
        listed = page[page.index("Pairs worth a look") :]
        assert "ada<br>bob" in listed[: listed.index("</table>")]
        assert "plagiar" not in page.lower() and "cheat" not in page.lower()


class TestFeedback:
    @pytest.fixture
    def pages(self, classroom, prepared):
        pytest.importorskip("latex2mathml")
        evil = results("ada", ["softmax"], message=f"It raised ValueError: {EVIL}")
        for cell in evil.notebook.cells:
            if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = r"Because $\sqrt{d_k}$ grows. &lt;script>alert(1)&lt;/script>"
        drawing = next(
            c for c in evil.notebook.cells if c.cell_type == "code" and "nbgrader" not in c.metadata
        )
        drawing.source, drawing.outputs = "draw_the_strip()", [nbformat.from_dict(NOT_RUN)]
        fill(classroom, {"ada": evil, "b*b": results("b*b")}, gradebook=prepared)
        return classroom

    def test_pages(self, pages):
        from autograder.grading.feedback_pages import write_feedback

        first = write_feedback(pages, workers=1)
        assert (first.made, first.kept, first.failed) == (2, 0, [])
        page = (pages.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
        assert "<script" not in page.lower() and "script-src" not in page
        assert "default-src 'none'" in page
        assert "&lt;script" in page  # the message is there, as text
        assert "<math" in page and "<msqrt" in page
        assert "MARK SCHEME" not in page
        assert "<details" in page  # the lab's hints fold again
        assert "Here the lab has an illustration." in page
        assert "draw_the_strip" not in page
        assert not re.search(r'(?:src|href)="https?://[^"]*(?:cdn|\.js|\.css)', page)

        again = write_feedback(pages, workers=1)
        assert (again.made, again.kept) == (0, 2)

        from nbgrader.api import Gradebook

        with Gradebook(pages.default_db, "attention-labs") as book:
            comment = book.find_submission(LAB, "ada").notebooks[0].comments[0]
            comment.manual_comment = "Come and see me."
            book.db.commit()
        third = write_feedback(pages, workers=1)
        assert (third.made, third.kept) == (1, 1)
        assert "Come and see me." in (pages.feedback / "ada" / LAB / f"{LAB}.html").read_text("utf-8")
        assert write_feedback(pages, workers=1, force=True).made == 2

    def test_one_failure_is_nobody_elses(self, pages):
        from autograder.grading.feedback_pages import write_feedback

        (pages.autograded / "ada" / LAB / f"{LAB}.ipynb").write_text("{")
        found = write_feedback(pages, workers=1)
        assert found.made == 1 and len(found.failed) == 1 and found.failed[0].startswith(f"ada, {LAB}: ")

    def test_without_a_gradebook(self, classroom):
        pytest.importorskip("latex2mathml")
        from autograder.grading.feedback_pages import write_feedback

        with pytest.raises(GradebookError, match="autograder grade"):
            write_feedback(classroom)
