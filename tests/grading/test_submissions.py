"""Tests with two classes full of attackers and broken files; see submissions/suite.py.

Every submission must get its declared verdicts, nobody may earn an unearned point or change
another's mark, and nothing may be left behind. With `pytest -s` the table of the suite is printed.
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

from autograder.sandbox.choice import explain_unavailability

LABS = (LAB, "additive-attention")
SECRET = "a-secret-of-the-grader"  # in the grader's environment and home
MARKER = "attack-suite"  # in the name of every file that an attack tries to leave
ATTACKS = attacks()
OPEN_ATTACKS = [attack for attack in ATTACKS if not attack.hole]
PAGE_ATTACKS = [
    "pass-script-outputs",
    "pass-widget-without-model",
    "broken-unwanted-outputs",
    "broken-not-json",
]
SHORT = [
    a
    for a in OPEN_ATTACKS
    if a.lab == LAB and a.copies == 1 and not a.stalls and not re.search("flood|bomb|repr", a.name)
]
# For `make test`: a twelfth of those that neither wait for limits nor are many.
QUICK = [
    attack for number, attack in enumerate(SHORT) if number % 12 == 0 or attack.name in PAGE_ATTACKS
]
SLOW = [attack for attack in ATTACKS if attack not in QUICK and not attack.stalls]
STALLING = [attack for attack in ATTACKS if attack.stalls]
CLASSES = {"quick": (QUICK, (LAB,)), "slow": (SLOW, LABS), "stalling": (STALLING, (LAB,))}
CLASS_PARAMETERS = [
    "quick",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("slow", "stalling")),
]
# Seconds of CPU time in [limits] of the labs. Only the stalling class waits for them: there they are
# short. Elsewhere no machine that runs the tests is slow enough to reach them.
SHORT_LIMITS = {"cell_seconds": 2, "call_seconds": 4}
LONG_LIMITS = {"cell_seconds": 60, "call_seconds": 60, "total_seconds": 600}

pytestmark = [
    pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability()),
    pytest.mark.timeout(900),
]


# Running the command


class Grading:
    """One run of `autograder grade`: its rows, messages, exit code and processes."""

    def __init__(self, classroom: Path, limits: dict[str, float] = LONG_LIMITS):
        self.classroom, self.out = classroom, classroom / "out.jsonl"
        self.private = classroom.with_name(f"{classroom.name}-private")
        for name in ("home", "tmp"):
            (self.private / name).mkdir(parents=True, exist_ok=True)
        self.course = classroom.with_name(f"{classroom.name}-course")
        if not self.course.exists():
            make_course_with_limits(self.course, limits)

    def start(self, *options) -> subprocess.Popen:
        """Start the command, with a home and a /tmp of its own."""
        command = [Path(sys.executable).with_name("autograder"), "grade", *LABS]
        command += ["--classroom", self.classroom, "--json", self.out, *options]
        (self.private / "home" / ".netrc").write_text(SECRET)
        env = os.environ | {"HOME": str(self.private / "home"), "TMPDIR": str(self.private / "tmp")}
        env["GRADER_TOKEN"] = SECRET
        with (self.private / "stderr").open("wb") as errors:
            return subprocess.Popen(
                command,
                cwd=self.course,
                env=env,
                stderr=errors,
                start_new_session=True,
            )

    def run(self, *options) -> "Grading":
        """Run the command to its end."""
        self.code = self.start(*options).wait()
        self.stderr = (self.private / "stderr").read_text("utf-8")
        return self

    def rows(self) -> dict[tuple[str, str], dict[str, dict]]:
        """Return rows by (student, lab) and exercise; no row may come twice."""
        results = defaultdict(dict)
        for line in self.out.read_text("utf-8").splitlines():
            row = json.loads(line)
            rows = results[row["student"], row["lab"]]
            assert row["exercise"] not in rows, row
            rows[row["exercise"]] = row
        return dict(results)


def make_course_with_limits(folder: Path, limits: dict[str, float]) -> None:
    """Copy the course, with other time limits."""
    for name in ("solutions", "notebooks", "attention_labs", "data"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "course.toml", folder)
    lines = [f"{name} = {seconds}\n" for name, seconds in limits.items()]
    for lab in LABS:
        with (folder / "solutions" / lab / "lab.toml").open("a") as file:
            file.write("\n[limits]\n" + "".join(lines))


def without_times(rows: dict) -> dict:
    """Return the rows without the seconds of each."""
    return {
        key: {name: {**row, "seconds": 0} for name, row in by_exercise.items()}
        for key, by_exercise in rows.items()
    }


class OrphanProcesses:
    """Context in which orphaned processes become children of this one."""

    def __enter__(self):
        self._adopt(1)
        self._known = set(children())
        return self

    def remaining(self, seconds: float = 10) -> dict[int, str]:
        """Return the processes that still run after at most so long."""
        deadline = time.monotonic() + seconds
        while True:
            processes = {pid: name for pid, name in children().items() if pid not in self._known}
            for pid in processes:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if not processes or time.monotonic() > deadline:
                return processes
            time.sleep(0.1)

    def __exit__(self, *_):
        for pid in self.remaining(0):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self._adopt(0)

    @staticmethod
    def _adopt(flag: int) -> None:
        ctypes.CDLL(None).prctl(36, flag, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children() -> dict[int, str]:
    """Return the command of each child process, by PID."""
    processes = {}
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text() if entry.name.isdigit() else ""
            if stat and int(stat[stat.rindex(")") + 2 :].split()[1]) == os.getpid():
                processes[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().decode("utf-8", "replace")
                )
        except OSError:
            continue
    return processes


def find_attack_files(*, excluded: Path, start_time: float) -> list[str]:
    """Return the files that an attack has left since then, outside the tests' folders.

    No attack makes folders in folders: below the fourth is what packages and others have put there.
    """
    places = ["/tmp", "/var/tmp", "/dev/shm", "/run", Path.home(), ROOT]
    attack_files, skipped_folders = set(), {str(excluded), str(ROOT / "tests" / "submissions")}
    for place in places:
        for folder, folders, files in os.walk(place):
            if folder in skipped_folders:
                folders.clear()
                continue
            if folder.count("/") - str(place).rstrip("/").count("/") == 4:
                folders.clear()
            paths = (os.path.join(folder, name) for name in (*folders, *files) if MARKER in name)
            attack_files |= {path for path in paths if os.lstat(path).st_ctime >= start_time}
    return sorted(attack_files)


def fingerprints() -> dict[str, str]:
    """Return a hash of each of the course's own files."""
    folders = ("solutions", "notebooks", "autograder", "data")
    files = []
    for name in folders:
        paths = (ROOT / name).rglob("*")
        files += [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def make_once(tmp_path_factory, name: str, make) -> Path:
    """Return a folder that one of the test processes makes for all."""
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


@pytest.fixture(scope="module", params=CLASS_PARAMETERS)
def graded_run(tmp_path_factory, request):
    """A whole class, graded once."""
    attacks, labs = CLASSES[request.param]
    workers = "1" if request.param == "quick" else "2"  # another one takes seconds to start
    limits = SHORT_LIMITS if request.param == "stalling" else LONG_LIMITS

    def make(folder):
        classroom = folder / "classroom"
        make_class(classroom, [attack for attack in attacks if not attack.hole], labs)
        earlier_files, start_time = fingerprints(), time.time()
        with OrphanProcesses() as processes:
            began = time.monotonic()
            run = Grading(classroom, limits).run("--workers", workers)
            facts = {"code": run.code, "stderr": run.stderr, "seconds": time.monotonic() - began}
            facts["processes"] = processes.remaining()
        later_files = fingerprints()
        facts["changed"] = sorted(
            path for path, digest in earlier_files.items() if digest != later_files.get(path)
        )
        # A second earlier, since the kernel's clock is coarse.
        facts["left"] = find_attack_files(excluded=folder.parent, start_time=start_time - 1)
        private_files = [path for path in run.private.rglob("*") if path.is_file()]
        facts["private"] = [str(path) for path in private_files if path.name != "stderr"]
        table = write_table(folder / "submissions.md", attacks, run.rows())
        print(f"\n{table}\n{facts['seconds']:.0f} s")
        return facts

    folder = make_once(tmp_path_factory, f"submissions-{request.param}", make)
    facts = json.loads((folder / "facts.json").read_text())
    run = Grading(folder / "classroom")
    run.code, run.stderr, run.facts = facts["code"], facts["stderr"], facts
    run.results = run.rows()
    run.students = {(s, a.lab) for a in attacks if not a.hole for s in a.students}
    run.students |= {(student, lab) for student in HONEST for lab in labs}
    return run


quick_only = pytest.mark.parametrize("graded_run", ["quick"], indirect=True)


def write_table(path: Path, attacks: list[Attack], rows: dict) -> str:
    """Write the suite as a Markdown table, with expected and actual verdicts."""
    lines = ["| submission | what it tries | expected | got | points |", "|---|---|---|---|---|"]
    for attack in attacks:
        rows_of_attack = [rows.get((student, attack.lab), {}) for student in attack.students]
        verdicts, points = set(), set()
        for by_exercise in filter(None, rows_of_attack):
            verdicts.add(verdicts_of(by_exercise, attack.expected))
            points.add(f"{sum(row['score'] or 0 for row in by_exercise.values()):g}")
        description = (
            attack.about.replace("|", "\\|")
            .replace(
                "<",
                "&lt;",
            )
            .split(". ")[0]
            .split("! ")[0]
        )
        hole = attack.hole and f"(a known hole: {attack.hole})"
        max_points = sum(exercises(attack.lab).values())
        lines.append(
            f"| {attack.name} | {description} | {verdicts_of(attack.expected, attack.expected)} "
            f"| {hole or ' / '.join(sorted(verdicts))} | {' / '.join(sorted(points))} of "
            f"{max_points:g} |"
        )
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return "\n".join(lines)


def verdicts_of(rows: dict, expected: dict) -> str:
    """Return verdicts as one line; "pass" only if all are."""
    verdicts = {name: rows.get(name, "none") for name in expected}
    for name, row in verdicts.items():
        if not isinstance(row, str):
            verdicts[name] = row["verdict"]
    if len(set(verdicts.values())) == 1:
        return f"all {next(iter(verdicts.values()))}"
    return ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items() if verdict != "pass")


# Each submission


@pytest.mark.parametrize(
    ("graded_run", "attack"),
    [
        *(pytest.param("quick", attack, id=attack.name) for attack in QUICK),
        *(pytest.param("slow", attack, id=attack.name, marks=pytest.mark.long) for attack in SLOW),
        *(
            pytest.param("stalling", attack, id=attack.name, marks=pytest.mark.long)
            for attack in STALLING
        ),
    ],
    indirect=["graded_run"],
)
def test_every_exercise_gets_its_verdict(graded_run, attack: Attack):
    if attack.hole:
        pytest.xfail(attack.hole)
    for student in attack.students:
        rows = graded_run.results[student, attack.lab]
        messages = {}
        for name, verdict in attack.expected.items():
            if rows[name]["verdict"] not in verdict.split("|"):
                messages[name] = rows[name]["verdict"], verdict, rows[name]["message"]
        assert messages == {}, attack.about
        points = exercises(attack.lab)
        for name, verdict in attack.expected.items():
            assert rows[name]["score"] == (points[name] if verdict == "pass" else 0)


# The class as a whole


def test_the_run_judged_everybody(graded_run):
    assert graded_run.code == 0, graded_run.stderr
    assert set(graded_run.results) == graded_run.students


def test_points_are_for_passes_only(graded_run):
    for rows in graded_run.results.values():
        for row in rows.values():
            assert row["verdict"] in (*VERDICTS, "manual"), row
            expected = {"pass": row["max_score"], "manual": None}.get(row["verdict"], 0)
            assert row["score"] == expected, row


def test_honest_students_get_all_points(graded_run):
    assert {student for student, _ in graded_run.results} >= set(HONEST)
    for (student, lab), rows in graded_run.results.items():
        if student in HONEST:
            assert {name: rows[name]["score"] for name in exercises(lab)} == exercises(lab)


@pytest.mark.long
def test_honest_students_have_the_same_rows_without_the_others(graded_run, tmp_path_factory):
    def make(folder):
        make_class(folder / "classroom", [], LABS)
        return {"code": Grading(folder / "classroom").run("--workers", "2").code}

    folder = make_once(tmp_path_factory, "honest", make)
    assert json.loads((folder / "facts.json").read_text()) == {"code": 0}
    alone = Grading(folder / "classroom")
    class_rows = {key: rows for key, rows in graded_run.results.items() if key[0] in HONEST}
    assert without_times(class_rows) == {
        key: rows for key, rows in without_times(alone.rows()).items() if key in class_rows
    }


def test_nothing_is_left_behind(graded_run):
    assert graded_run.facts["processes"] == {}
    assert graded_run.facts["left"] == []
    assert graded_run.facts["changed"] == []
    assert [
        path for path in graded_run.facts["private"] if "/tmp/" in path.split("-private")[1]
    ] == []


def test_no_stranger_speaks_on_the_terminal(graded_run):
    lines = graded_run.stderr.splitlines()
    assert re.fullmatch(r"\d+ submissions? marked, 0 unchanged, 0 faults\.", lines[-1])
    expected_line = re.compile(
        r"Note: |marking: \d+ of \d+(, [\d.]+ a second, about (\d+ min )?\d+ s to go)?$"
    )
    assert [line for line in lines[:-1] if not expected_line.match(line)] == []
    assert graded_run.stderr.replace("\n", "").isprintable()
    assert "alert(" not in graded_run.stderr


def test_every_marked_notebook_is_a_valid_one(graded_run):
    for path in (graded_run.classroom / "autograded").rglob("*.ipynb"):
        nbformat.validate(json.loads(path.read_text("utf-8")))


def test_no_secret_comes_back(graded_run):
    secrets = [SECRET.encode()]
    shadow = Path("/etc/shadow")
    if os.access(shadow, os.R_OK):
        secrets += [line for line in shadow.read_bytes().splitlines() if b"root" in line]
    for folder in ("results", "autograded"):
        for path in (graded_run.classroom / folder).rglob("*.*"):
            data = path.read_bytes() if path.is_file() else b""
            assert not any(secret in data for secret in secrets), path


class ActiveContent(HTMLParser):
    """Parser for what would act in a browser."""

    def __init__(self, text: str):
        super().__init__()
        self.acting, self._in_script = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in_script = tag == "script"
        if tag in ("iframe", "object", "embed", "form", "base", "svg", "frame", "applet"):
            self.acting.append(tag)
        for name, value in attributes:
            address = re.sub(r"[\s\x00-\x20]", "", value or "").lower()
            if name.startswith("on") or address.startswith(
                ("javascript:", "vbscript:", "data:text")
            ):
                self.acting.append(f"{tag} {name}={value}")
            if "example.org" in address:
                self.acting.append(f"{tag} {name}={value}")

    def handle_data(self, data):
        if self._in_script and ("alert(" in data or MARKER in data):
            self.acting.append(data)

    def handle_endtag(self, tag):
        self._in_script = False


def test_the_page_check_notices_a_script():
    assert ActiveContent("<script>alert(1)</script>").acting
    assert ActiveContent("<b onclick='x'>").acting
    assert ActiveContent("<a href=' java\nscript:x'>").acting


def test_outputs_do_not_act_in_a_browser(graded_run):
    for path in (graded_run.classroom / "autograded").rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                assert set(data) <= {
                    "text/plain",
                    "text/html",
                    "text/markdown",
                    "text/latex",
                    "image/png",
                }, path
                for mime in ("text/html", "text/markdown", "text/latex"):
                    page = ActiveContent(data.get(mime, ""))
                    assert page.acting == [] and "<script" not in data.get(mime, ""), path


@quick_only
@pytest.mark.parametrize("name", PAGE_ATTACKS)
def test_pages_for_people_do_not_act(graded_run, name):
    from nbconvert import HTMLExporter

    path = graded_run.classroom / "autograded" / name / LAB / f"{LAB}.ipynb"
    text, _ = HTMLExporter().from_filename(path)
    template, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook())
    student_parts = [
        part for part in ActiveContent(text).acting if part not in ActiveContent(template).acting
    ]
    assert student_parts == []


def test_the_gradebook_says_the_same(graded_run):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{graded_run.classroom / 'gradebook.db'}", "attention-labs") as book:
        for (student, lab), rows in graded_run.results.items():
            grades = book.find_submission_notebook(lab, lab, student).grades
            grades_by_name = {
                grade.name.removeprefix("test-").replace("-", "_"): grade for grade in grades
            }
            scores = {name: grades_by_name[name].score for name in exercises(lab)}
            assert scores == {name: rows[name]["score"] for name in exercises(lab)}, student
            assert not any(grades_by_name[name].needs_manual_grade for name in exercises(lab))


# Other ways to run it


@pytest.mark.long
@quick_only
def test_one_worker_gives_the_same_marks(graded_run, tmp_path):
    chosen = QUICK[::5]
    make_class(tmp_path / "classroom", chosen)
    alone = Grading(tmp_path / "classroom").run("--workers", "1")
    assert alone.code == 0, alone.stderr
    rows = without_times(alone.rows())
    assert len(rows) == len(chosen) + len(HONEST)
    assert rows == {
        key: by_exercise
        for key, by_exercise in without_times(graded_run.results).items()
        if key in rows
    }


@pytest.fixture(scope="module")
def killed_run(tmp_path_factory):
    """A run that was killed after a few submissions, and the same command again."""

    def make(folder):
        make_class(folder / "classroom", QUICK[3::5])
        run = Grading(folder / "classroom")
        results = folder / "classroom" / "results"
        with OrphanProcesses() as processes:
            process = run.start("--workers", "2")
            result_files = []
            while len(result_files) < 4 and process.poll() is None:
                time.sleep(0.02)
                result_files = list(results.glob("*/*.json"))
            process.kill()
            assert process.wait() == -signal.SIGKILL
            remaining = processes.remaining(5)
        times = {str(path): path.stat().st_mtime_ns for path in result_files}
        run.run("--workers", "2")
        later_times = {path: Path(path).stat().st_mtime_ns for path in times}
        return {
            "left": remaining,
            "kept": times,
            "again": later_times,
            "code": run.code,
            "stderr": run.stderr,
        }

    folder = make_once(tmp_path_factory, "killed", make)
    run = Grading(folder / "classroom")
    run.facts = json.loads((folder / "facts.json").read_text())
    return run


@pytest.mark.long
@quick_only
def test_a_killed_run_resumes_with_every_submission_judged_once(graded_run, killed_run):
    rows, facts = without_times(killed_run.rows()), killed_run.facts
    everybody = len(QUICK[3::5]) + len(HONEST)
    assert facts["code"] == 0, facts["stderr"]
    assert len(rows) == everybody
    assert rows == {
        key: by_exercise
        for key, by_exercise in without_times(graded_run.results).items()
        if key in rows
    }
    assert len(facts["kept"]) >= 4 and facts["kept"] == facts["again"], "a result was made twice"
    graded_count, cached_count = map(
        int, re.findall(r"(\d+) (?:submissions? marked|unchanged)", facts["stderr"])
    )
    assert graded_count + cached_count == everybody and cached_count >= len(facts["kept"])


@pytest.mark.long
def test_a_killed_run_leaves_no_process(killed_run):
    assert killed_run.facts["left"] == {}


# The suite itself


def test_the_suite_is_large_and_every_attack_says_what_it_tries():
    assert len(ATTACKS) >= 100
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.about.endswith(".") and len(attack.about) > 3 for attack in ATTACKS)
    verdicts = "|".join(verdict for attack in ATTACKS for verdict in attack.expected.values())
    assert set(verdicts.split("|")) == set(VERDICTS)


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


@pytest.mark.long
def test_pytest_imports_no_attack():
    """Importing an attack would run it."""
    names = [
        "tests/submissions",
        "tests/submissions/error/sys_exit.py",
        "tests/submissions/wrong/nested_html.py",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        *names,
    ]
    collection = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert collection.returncode == 5, collection.stdout  # no tests were collected
    assert "error" not in collection.stdout.lower(), collection.stdout
