"""Two classes full of attackers and broken files, graded once by the real command; see submissions/suite.py.

Every hand-in must get its declared verdicts, nobody may earn an unearned point or change another's mark,
and nothing may be left behind. With `pytest -s` the table of the suite is printed.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from submissions.suite import (
    HONEST,
    LAB,
    ROOT,
    VERDICTS,
    Attack,
    attacks,
    exercises,
    from_file,
    make_class,
)

from autograder.grading.sandbox.choice import why_unavailable

LABS = (LAB, "additive-attention")
SECRET = "a-secret-of-the-grader"  # in the grader's environment and home
MARKER = "attack-suite"  # in the name of every file that an attack tries to leave
ATTACKS = attacks()
AT_LARGE = [attack for attack in ATTACKS if not attack.hole]
PAGES = ["pass-script-outputs", "pass-widget-without-model", "broken-unwanted-outputs", "broken-not-json"]
SHORT = [
    a for a in AT_LARGE if a.lab == LAB and a.copies == 1 and not re.search("timeout|flood|bomb|repr", a.name)
]
# For `make test`: a twelfth of those that neither wait for limits nor are many.
QUICK = [attack for number, attack in enumerate(SHORT) if number % 12 == 0 or attack.name in PAGES]
SLOW = [attack for attack in ATTACKS if attack not in QUICK]
CLASSES = ["quick", pytest.param("slow", marks=pytest.mark.long)]

pytestmark = [
    pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable()),
    pytest.mark.timeout(900),
]


# Running the command


class Grading:
    """What one run of `autograder grade` left: its rows, words, exit code and processes."""

    def __init__(self, classroom: Path):
        self.classroom, self.out = classroom, classroom / "out.jsonl"
        self.private = classroom.with_name(f"{classroom.name}-private")
        for name in ("home", "tmp"):
            (self.private / name).mkdir(parents=True, exist_ok=True)
        self.course = classroom.with_name(f"{classroom.name}-course")
        if not self.course.exists():
            hasty_course(self.course)

    def start(self, *options) -> subprocess.Popen:
        """The command under way, with a home and a /tmp of its own."""
        command = [Path(sys.executable).with_name("autograder"), "grade", *LABS]
        command += ["--classroom", self.classroom, "--json", self.out, *options]
        (self.private / "home" / ".netrc").write_text(SECRET)
        env = os.environ | {"HOME": str(self.private / "home"), "TMPDIR": str(self.private / "tmp")}
        env["GRADER_TOKEN"] = SECRET
        with (self.private / "stderr").open("wb") as errors:
            return subprocess.Popen(command, cwd=self.course, env=env, stderr=errors, start_new_session=True)

    def run(self, *options) -> "Grading":
        """The command to its end."""
        self.code = self.start(*options).wait()
        self.stderr = (self.private / "stderr").read_text("utf-8")
        return self

    def rows(self) -> dict[tuple[str, str], dict[str, dict]]:
        """(student, lab) to exercise to row; no row may come twice."""
        found = defaultdict(dict)
        for line in self.out.read_text("utf-8").splitlines():
            row = json.loads(line)
            rows = found[row["student"], row["lab"]]
            assert row["exercise"] not in rows, row
            rows[row["exercise"]] = row
        return dict(found)


def hasty_course(folder: Path) -> None:
    """The course, with less patience than it has: what waits for ever is waited for as well."""
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "course.toml", folder)
    for lab in LABS:
        with (folder / "solutions" / lab / "lab.toml").open("a") as file:
            file.write("\n[limits]\ncell_seconds = 2\ncall_seconds = 4\n")


def timeless(rows: dict) -> dict:
    """Rows without how long each took."""
    return {who: {name: {**row, "seconds": 0} for name, row in these.items()} for who, these in rows.items()}


class orphans:
    """A context in which processes that lose their parent become ours; `left` are those still there."""

    def __enter__(self):
        self._adopt(1)
        self._known = set(children())
        return self

    def left(self, seconds: float = 10) -> dict[int, str]:
        """What is still running after at most so long."""
        until = time.monotonic() + seconds
        while True:
            found = {pid: name for pid, name in children().items() if pid not in self._known}
            for pid in found:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not found or time.monotonic() > until:
                return found
            time.sleep(0.1)

    def __exit__(self, *_):
        for pid in self.left(0):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self._adopt(0)

    @staticmethod
    def _adopt(flag: int) -> None:
        ctypes.CDLL(None).prctl(36, flag, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children() -> dict[int, str]:
    """Our own child processes: PID to command."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text() if entry.name.isdigit() else ""
            if stat and int(stat[stat.rindex(")") + 2 :].split()[1]) == os.getpid():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
    return found


def marked_files(*, beside: Path, since: float) -> list[str]:
    """Files that an attack has left since then anywhere it might; the tests' own folders do not count.

    No attack makes folders in folders: below the fourth is what packages and others have put there.
    """
    places = ["/tmp", "/var/tmp", "/dev/shm", "/run", Path.home(), ROOT]
    found, skipped = set(), {str(beside), str(ROOT / "tests" / "submissions")}
    for place in places:
        for folder, folders, files in os.walk(place):
            if folder in skipped:
                folders.clear()
                continue
            if folder.count("/") - str(place).rstrip("/").count("/") == 4:
                folders.clear()
            left = (os.path.join(folder, name) for name in (*folders, *files) if MARKER in name)
            found |= {path for path in left if os.lstat(path).st_ctime >= since}
    return sorted(found)


def fingerprints() -> dict[str, str]:
    """The course's own files and what is in them."""
    folders = ("solutions", "notebooks", "autograder", "data")
    files = [p for name in folders for p in (ROOT / name).rglob("*") if p.is_file() and p.suffix != ".pyc"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def once(tmp_path_factory, name: str, make) -> Path:
    """A folder that one of the test processes makes, and all use."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / name / "facts.json").exists():
            shutil.rmtree(base / name, ignore_errors=True)
            (base / name).mkdir()
            facts = make(base / name)
            (base / name / "facts.json").write_text(json.dumps(facts))
    return base / name


@pytest.fixture(scope="module", params=CLASSES)
def graded(tmp_path_factory, request):
    """A whole class, graded once."""
    attacks, labs = (QUICK, (LAB,)) if request.param == "quick" else (SLOW, LABS)

    def make(folder):
        classroom = folder / "classroom"
        make_class(classroom, [attack for attack in attacks if not attack.hole], labs)
        before, since = fingerprints(), time.time()
        with orphans() as processes:
            began = time.monotonic()
            run = Grading(classroom).run("--workers", "2")
            facts = {"code": run.code, "stderr": run.stderr, "seconds": time.monotonic() - began}
            facts["processes"] = processes.left()
        after = fingerprints()
        facts["changed"] = sorted(p for p in before if before[p] != after.get(p))
        facts["left"] = marked_files(beside=folder.parent, since=since - 1)  # the kernel's clock is coarse
        facts["private"] = [str(p) for p in run.private.rglob("*") if p.is_file() and p.name != "stderr"]
        table = write_table(folder / "submissions.md", attacks, run.rows())
        print(f"\n{table}\n{facts['seconds']:.0f} s")
        return facts

    folder = once(tmp_path_factory, f"submissions-{request.param}", make)
    facts = json.loads((folder / "facts.json").read_text())
    run = Grading(folder / "classroom")
    run.code, run.stderr, run.facts = facts["code"], facts["stderr"], facts
    run.found = run.rows()
    run.students = {(s, a.lab) for a in attacks if not a.hole for s in a.students}
    run.students |= {(student, lab) for student in HONEST for lab in labs}
    return run


quick_only = pytest.mark.parametrize("graded", ["quick"], indirect=True)


def write_table(path: Path, attacks: list[Attack], rows: dict) -> str:
    """The suite as a Markdown table: what each hand-in tries, what it must get and what it got."""
    lines = ["| hand-in | what it tries | expected | got | points |", "|---|---|---|---|---|"]
    for attack in attacks:
        got = [rows.get((student, attack.lab), {}) for student in attack.students]
        verdicts = sorted({verdicts_of(these, attack.expected) for these in got if these})
        points = sorted({f"{sum(r['score'] or 0 for r in these.values()):g}" for these in got if these})
        about = attack.about.replace("|", "\\|").replace("<", "&lt;").split(". ")[0].split("! ")[0]
        said = attack.hole and f"(a known hole: {attack.hole})"
        most = sum(exercises(attack.lab).values())
        lines.append(
            f"| {attack.name} | {about} | {verdicts_of(attack.expected, attack.expected)} "
            f"| {said or ' / '.join(verdicts)} | {' / '.join(points)} of {most:g} |"
        )
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return "\n".join(lines)


def verdicts_of(rows: dict, expected: dict) -> str:
    """Verdicts in one line, "pass" told only where there is nothing else."""
    found = {name: rows.get(name, "none") for name in expected}
    found = {name: row if isinstance(row, str) else row["verdict"] for name, row in found.items()}
    if len(set(found.values())) == 1:
        return f"all {next(iter(found.values()))}"
    return ", ".join(f"{name} {verdict}" for name, verdict in found.items() if verdict != "pass")


# Each hand-in


@pytest.mark.parametrize(
    ("graded", "attack"),
    [
        *(pytest.param("quick", attack, id=attack.name) for attack in QUICK),
        *(pytest.param("slow", attack, id=attack.name, marks=pytest.mark.long) for attack in SLOW),
    ],
    indirect=["graded"],
)
def test_every_exercise_gets_its_verdict(graded, attack: Attack):
    if attack.hole:
        pytest.xfail(attack.hole)
    for student in attack.students:
        rows = graded.found[student, attack.lab]
        got = {name: rows[name]["verdict"] for name in attack.expected}
        said = {name: rows[name]["message"] for name in got if got[name] != attack.expected[name]}
        assert got == attack.expected, f"{attack.about} {said}"
        points = exercises(attack.lab)
        earned = {name: rows[name]["score"] for name in attack.expected}
        assert earned == {name: points[name] if v == "pass" else 0 for name, v in attack.expected.items()}


# The class as a whole


def test_the_run_judged_everybody(graded):
    assert graded.code == 0, graded.stderr
    assert set(graded.found) == graded.students


def test_points_are_for_passes_only(graded):
    for rows in graded.found.values():
        for row in rows.values():
            assert row["verdict"] in (*VERDICTS, "manual"), row
            due = {"pass": row["max_score"], "manual": None}.get(row["verdict"], 0)
            assert row["score"] == due, row


def test_honest_students_get_all_points(graded):
    assert {student for student, _ in graded.found} >= set(HONEST)
    for (student, lab), rows in graded.found.items():
        if student in HONEST:
            assert {name: rows[name]["score"] for name in exercises(lab)} == exercises(lab)


@pytest.mark.long
def test_honest_students_have_the_same_rows_without_the_others(graded, tmp_path_factory):
    def make(folder):
        make_class(folder / "classroom", [], LABS)
        return {"code": Grading(folder / "classroom").run("--workers", "2").code}

    folder = once(tmp_path_factory, "honest", make)
    assert json.loads((folder / "facts.json").read_text()) == {"code": 0}
    alone = Grading(folder / "classroom")
    among = {who: rows for who, rows in graded.found.items() if who[0] in HONEST}
    assert timeless(among) == {who: rows for who, rows in timeless(alone.rows()).items() if who in among}


def test_nothing_is_left_behind(graded):
    assert graded.facts["processes"] == {}
    assert graded.facts["left"] == []
    assert graded.facts["changed"] == []
    assert [path for path in graded.facts["private"] if "/tmp/" in path.split("-private")[1]] == []


def test_no_stranger_speaks_on_the_terminal(graded):
    lines = graded.stderr.splitlines()
    assert re.fullmatch(r"\d+ hand-ins marked, 0 unchanged, 0 faults\.", lines[-1])
    ours = re.compile(r"Note: |marking: \d+ of \d+(, [\d.]+ a second, about (\d+ min )?\d+ s to go)?$")
    assert [line for line in lines[:-1] if not ours.match(line)] == []
    assert graded.stderr.replace("\n", "").isprintable()
    assert "alert(" not in graded.stderr


def test_every_marked_notebook_is_a_valid_one(graded):
    for path in (graded.classroom / "autograded").rglob("*.ipynb"):
        nbformat.validate(json.loads(path.read_text("utf-8")))


def test_no_secret_comes_back(graded):
    secrets = [SECRET.encode()]
    shadow = Path("/etc/shadow")
    if os.access(shadow, os.R_OK):
        secrets += [line for line in shadow.read_bytes().splitlines() if b"root" in line]
    for folder in ("results", "autograded"):
        for path in (graded.classroom / folder).rglob("*.*"):
            data = path.read_bytes() if path.is_file() else b""
            assert not any(secret in data for secret in secrets), path


class Page(HTMLParser):
    """Collects what would act in a browser."""

    def __init__(self, text: str):
        super().__init__()
        self.acting, self._in_script = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in_script = tag == "script"
        if tag in ("iframe", "object", "embed", "form", "base", "svg", "frame", "applet"):
            self.acting.append(tag)
        for name, value in attributes:
            where = re.sub(r"[\s\x00-\x20]", "", value or "").lower()
            if name.startswith("on") or where.startswith(("javascript:", "vbscript:", "data:text")):
                self.acting.append(f"{tag} {name}={value}")
            if "example.org" in where:
                self.acting.append(f"{tag} {name}={value}")

    def handle_data(self, data):
        if self._in_script and ("alert(" in data or MARKER in data):
            self.acting.append(data)

    def handle_endtag(self, tag):
        self._in_script = False


def test_the_page_check_notices_a_script():
    assert Page("<script>alert(1)</script>").acting
    assert Page("<b onclick='x'>").acting
    assert Page("<a href=' java\nscript:x'>").acting


def test_outputs_do_not_act_in_a_browser(graded):
    for path in (graded.classroom / "autograded").rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                assert set(data) <= {"text/plain", "text/html", "text/markdown", "text/latex", "image/png"}, (
                    path
                )
                for mime in ("text/html", "text/markdown", "text/latex"):
                    page = Page(data.get(mime, ""))
                    assert page.acting == [] and "<script" not in data.get(mime, ""), path


@quick_only
@pytest.mark.parametrize("name", PAGES)
def test_pages_for_people_do_not_act(graded, name):
    from nbconvert import HTMLExporter

    path = graded.classroom / "autograded" / name / LAB / f"{LAB}.ipynb"
    text, _ = HTMLExporter().from_filename(path)
    template, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook())
    theirs = [what for what in Page(text).acting if what not in Page(template).acting]
    assert theirs == []


def test_the_gradebook_says_the_same(graded):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{graded.classroom / 'gradebook.db'}", "attention-labs") as book:
        for (student, lab), rows in graded.found.items():
            grades = book.find_submission_notebook(lab, lab, student).grades
            booked = {grade.name.removeprefix("test-").replace("-", "_"): grade for grade in grades}
            scores = {name: booked[name].score for name in exercises(lab)}
            assert scores == {name: rows[name]["score"] for name in exercises(lab)}, student
            assert not any(booked[name].needs_manual_grade for name in exercises(lab))


# Other ways to run it


@pytest.mark.long
@quick_only
def test_one_worker_gives_the_same_marks(graded, tmp_path):
    chosen = QUICK[::5]
    make_class(tmp_path / "classroom", chosen)
    alone = Grading(tmp_path / "classroom").run("--workers", "1")
    assert alone.code == 0, alone.stderr
    rows = timeless(alone.rows())
    assert len(rows) == len(chosen) + len(HONEST)
    assert rows == {who: these for who, these in timeless(graded.found).items() if who in rows}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run that was killed when a few hand-ins were done, and the same command again."""

    def make(folder):
        make_class(folder / "classroom", QUICK[3::5])
        run = Grading(folder / "classroom")
        results = folder / "classroom" / "results"
        with orphans() as processes:
            process = run.start("--workers", "2")
            while len(done := list(results.glob("*/*.json"))) < 4 and process.poll() is None:
                time.sleep(0.02)
            process.kill()
            assert process.wait() == -signal.SIGKILL
            left = processes.left(5)
        kept = {str(path): path.stat().st_mtime_ns for path in done}
        run.run("--workers", "2")
        again = {path: Path(path).stat().st_mtime_ns for path in kept}
        return {"left": left, "kept": kept, "again": again, "code": run.code, "stderr": run.stderr}

    folder = once(tmp_path_factory, "killed", make)
    run = Grading(folder / "classroom")
    run.facts = json.loads((folder / "facts.json").read_text())
    return run


@pytest.mark.long
@quick_only
def test_a_killed_run_resumes_with_every_hand_in_judged_once(graded, killed):
    rows, facts = timeless(killed.rows()), killed.facts
    everybody = len(QUICK[3::5]) + len(HONEST)
    assert facts["code"] == 0, facts["stderr"]
    assert len(rows) == everybody
    assert rows == {who: these for who, these in timeless(graded.found).items() if who in rows}
    assert len(facts["kept"]) >= 4 and facts["kept"] == facts["again"], "a result was made twice"
    marked, unchanged = map(int, re.findall(r"(\d+) (?:hand-ins marked|unchanged)", facts["stderr"]))
    assert marked + unchanged == everybody and unchanged >= len(facts["kept"])


@pytest.mark.long
def test_a_killed_run_leaves_no_process(killed):
    assert killed.facts["left"] == {}


# The suite itself


def test_the_suite_is_large_and_every_attack_says_what_it_tries():
    assert len(ATTACKS) >= 100
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.about.endswith(".") and len(attack.about) > 3 for attack in ATTACKS)
    assert {verdict for attack in ATTACKS for verdict in attack.expected.values()} == set(VERDICTS)


def test_a_file_is_read_as_it_says(tmp_path):
    path = tmp_path / "wrong" / "a_name.py"
    path.parent.mkdir()
    path.write_text(
        '"""What it tries."""\n# exercise: causal_mask\n# expect: to_additive=error\n# copies: 2\n'
        '\n# %% causal-mask\n1\n# %% metadata causal-mask (commented)\n# {"tags": ["a"]}\n# %% last\n2\n'
    )
    attack = from_file(path)
    assert attack.students == ["wrong-a-name-1", "wrong-a-name-2"]
    assert attack.expected["causal_mask"] == "wrong" and attack.expected["to_additive"] == "error"
    assert attack.expected["padding_mask"] == "pass"
    attack.put(tmp_path)
    cells = nbformat.read(tmp_path / f"{LAB}.ipynb", as_version=4).cells
    assert [cell.source for cell in cells if cell.metadata.get("tags") == ["a"]] == ["1"]
    assert cells[-1].source == "2"


def test_pytest_imports_no_attack():
    """Not even the ones that are named: their import would be the attack."""
    names = [
        "tests/submissions",
        "tests/submissions/error/sys_exit.py",
        "tests/submissions/wrong/nested_html.py",
    ]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *names]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert shown.returncode == 5, shown.stdout  # no tests were collected
    assert "error" not in shown.stdout.lower(), shown.stdout
