"""An instructor's day: a class is graded, looked at in the formgrader, graded manually, and given feedback."""

import csv
import shutil

import pytest

from autograder.core.course import CLASSROOM_VARIABLE
from autograder.grading.grade_submission import FOLLOW_THROUGH_MESSAGE
from autograder.student import answer_key
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE
from e2e.driving import MISCHIEF, ROOT, Watch, environment, jupyterlab, run
from e2e.small_class import LAB, SCRIPT, submit

SCHEME = "softmax ignores a number that is added to every score"
# nbconvert's pages ask for MathJax there; no other address is asked for anything.
MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course's folder with a class of five, one of them hostile, already graded."""
    home = tmp_path_factory.mktemp("instructor")
    folder, env = home / "course", {**environment(home), CLASSROOM_VARIABLE: "demo"}
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "fasttext"),
        )
    for name in ("course.toml", "nbgrader_config.py"):
        shutil.copy(ROOT / name, folder)
    submit(folder / "demo")
    process = run("autograder", "grade", LAB, cwd=folder, env=env)
    if "sandbox" in process.stderr and process.returncode:
        pytest.skip(f"Submissions cannot be run here: {process.stderr}")
    assert process.returncode == 0, process.stderr
    assert "5 submissions marked, 0 unchanged, 0 faults." in process.stderr
    return folder, env


@pytest.fixture(scope="module")
def server(browser, course):
    folder, env = course
    with jupyterlab(folder, folder.parent, env) as server:
        yield server


@pytest.fixture
def page(page):
    page.context.route(f"{MATHJAX}**", lambda route: route.abort())
    page.seen.allowed.append(MATHJAX)
    return page


def settled(page, address):
    page.goto(address)
    page.wait_for_load_state("networkidle")


def test_hostile_code_would_be_noticed(browser):
    """The other tests rely on this: the watch sees a script that runs."""
    page = browser.new_page()
    watch = Watch(page)
    page.set_content(SCRIPT)
    page.wait_for_function(f"() => window.{MISCHIEF}")
    assert {
        "set a variable",
        "changed the title",
        f"said {MISCHIEF}",
        f"opened a dialog: {MISCHIEF}",
    } <= set(watch.everything())
    page.close()


def test_the_formgrader_lists_the_class(page, server):
    settled(page, server.url("formgrader"))
    row = page.locator("tr", has_text=LAB)
    assert row.locator(".num-submissions").inner_text() == "5"
    row.locator(".num-submissions a").click()
    page.locator("td", has_text="ada").first.wait_for()
    assert {"ada", "ben", "cyd", "dan", "eve"} <= set(page.locator("td").all_inner_texts())


def submissions(page, server):
    """The address of each student's notebook in the formgrader."""
    settled(page, server.url("formgrader"))  # which leaves the cookie that the other pages ask for
    settled(page, f"{server.address}formgrader/gradebook/{LAB}/{LAB}")
    page.locator("a.name-hidden").first.wait_for()
    page.get_by_text("Show All Names").click()
    links = page.locator("a.name-shown")
    links.first.wait_for()
    return {link.inner_text(): link.get_attribute("href") for link in links.all()}


def opened(page, server, address):
    settled(page, f"{server.address.rstrip('/')}{address}")
    return page.locator("#notebook-container").first.inner_text()


def test_every_notebook_shows_our_verdicts_and_no_script_runs(page, server):
    means = {m.name: m.means for m in answer_key.load_exercise_key("alignment").misconceptions}
    addresses = submissions(page, server)
    shown = {}
    for student, address in addresses.items():
        shown[student] = opened(page, server, address)
        assert page.seen.everything() == [], student
        assert SCHEME in shown[student], "whoever marks sees the marking scheme"
        if student == "ben":
            captions = page.locator("table caption").all_inner_texts()
            assert captions[:3] == ["yours", "expected", "difference"]
    assert sorted(shown) == ["ada", "ben", "cyd", "dan", "eve"]
    assert "✓ alignment: Right in all" in shown["ada"]
    assert means["no-tanh"] in shown["ben"]
    assert FOLLOW_THROUGH_MESSAGE.partition("{")[0] in shown["ben"]
    assert NOT_WRITTEN_MESSAGE in shown["dan"]
    assert (
        "It is slower." in shown["ben"] and "javascript:" not in shown["ben"]
    )  # what acts is taken out
    for student in ("cyd", "eve"):  # in code and in what was printed it stands as text
        assert MISCHIEF in shown[student]


def test_a_mark_given_by_hand_reaches_export_and_feedback(page, server, course):
    folder, env = course
    opened(page, server, submissions(page, server)["ada"])
    box = page.locator("input.score#explain-tanh")
    box.scroll_into_view_if_needed()
    assert box.input_value() == ""
    with page.expect_response(
        lambda r: "/api/grade/" in r.url and r.request.method == "PUT",
    ) as answer:
        box.fill("2.5")
        box.press("Tab")
    assert answer.value.ok
    with page.expect_response(
        lambda r: "/api/comment/" in r.url and r.request.method == "PUT",
    ) as answer:
        page.locator("textarea#explain-tanh-comment").fill("Nearly: what does softmax do with it?")
        page.keyboard.press("Tab")
    assert answer.value.ok

    export_process = run("nbgrader", "export", cwd=folder, env=env)
    assert export_process.returncode == 0, export_process.stderr
    with (folder / "grades.csv").open() as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file) if row["assignment"] == LAB}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        "ada": 9.5, "ben": 3, "cyd": 7, "dan": 0, "eve": 0,
    }  # fmt: skip

    classroom = folder / "demo"
    for command in (["feedback", LAB], ["report"]):
        feedback_process = run("autograder", *command, cwd=folder, env=env)
        assert feedback_process.returncode == 0, feedback_process.stderr
    feedback_process = run(
        "nbgrader",
        "generate_feedback",
        LAB,
        "--student=cyd",
        "--force",
        cwd=folder,
        env=env,
    )
    assert feedback_process.returncode == 0, feedback_process.stderr
    pages = {path: read(page, path) for path in sorted(classroom.glob("*/**/*.html"))}
    own = {
        student: pages[classroom / "feedback" / student / LAB / f"{LAB}.html"] for student in rows
    }
    assert not [student for student, text in own.items() if SCHEME in text]
    assert "9.5 of 10 points" in own["ada"]
    assert "Nearly: what does softmax do with it?" in own["ada"]
    assert len(pages) > len(own), "the report is a page as well"


def read(page, path):
    """The text of a page opened from the disk; nothing in it may act."""
    page.goto(path.as_uri())
    page.wait_for_load_state()
    assert page.seen.everything() == [], path
    return page.locator("body").inner_text()
