"""Run the commands of the README and the documents, in their order, in a bare clone."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from document_pages import PAGES, list_command_lines, name_page
from our_course import ROOT, lab
from sample_class import write_zip

from autograder.sandbox.choice import explain_unavailability

COLLECT_PATTERN = r"(?P<student>\w+)--(?P<lab>[\w-]+?)--v(?P<number>\d+)\.ipynb"
LAB_NOTEBOOK = "work/qkv-attention/qkv-attention.ipynb"


@dataclass(frozen=True)
class Step:
    """Command of a page, as it stands there, and what it has to show.

    `preparation` are commands that the page only describes in words.
    """

    page: str
    command: str
    output: str
    preparation: str = ""
    exit_code: int = 0


STEPS = [
    Step(
        "README.md",
        f".venv/bin/autograder check {LAB_NOTEBOOK}",
        "softmax: not written yet",
        preparation=".venv/bin/autograder start work",
        exit_code=1,
    ),
    Step(
        "README.md",
        f".venv/bin/autograder reset {LAB_NOTEBOOK} softmax",
        "softmax is still as it was at the start",
    ),
    Step("README.md", f".venv/bin/autograder update {LAB_NOTEBOOK}", "your copy is up to date"),
    Step("README.md", ".venv/bin/autograder collect ~/Downloads/submissions.zip", "4 filed"),
    Step("README.md", ".venv/bin/autograder grade", "4 submissions marked, 0 unchanged, 0 faults."),
    Step("README.md", ".venv/bin/autograder feedback", "4 pages made"),
    Step("README.md", ".venv/bin/autograder report", "await manual grading"),
    Step("README.md", ".venv/bin/autograder show ada", "ada"),
    Step("docs/README.md", ".venv/bin/autograder", "await manual grading:"),
    Step(
        "docs/collect.md",
        "autograder collect ~/Downloads/submissions.zip",
        "4 unchanged",
    ),
    Step(
        "docs/collect.md",
        "autograder collect ~/Downloads/lab-2/",
        "4 unchanged",
        preparation="python3 -m zipfile -e ~/Downloads/submissions.zip ~/Downloads/lab-2/",
    ),
    Step(
        "docs/collect.md",
        "autograder collect ~/Downloads/*.zip --timezone Europe/Paris",
        "in the zone that you named: ada.adeyemi",
    ),
    Step(
        "docs/collect.md",
        f"autograder collect submissions --pattern '{COLLECT_PATTERN}'",
        "1 filed.",
        preparation=f"mkdir submissions && cp {LAB_NOTEBOOK} submissions/ada--qkv-attention--v3.ipynb",
    ),
    Step(
        "docs/manual-grading.md",
        "autograder answers qkv-attention explain-flat",
        "4 without a mark",
    ),
    Step(
        "docs/manual-grading.md",
        "autograder answers qkv-attention explain-flat --take explain.csv",
        "0 marks and 0 comments taken in",
        preparation="cp classroom/answers/qkv-attention/explain-flat.csv explain.csv",
    ),
    Step("docs/manual-grading.md", "autograder answers qkv-attention softmax", "4 without a mark"),
    Step("docs/grades.md", "autograder similar", "similar.html"),
    Step("docs/grades.md", "autograder feedback --give-back", "classroom/returned"),
    Step("docs/results-format.md", "autograder grade --json results.jsonl", "0 faults."),
    Step("docs/policy.md", "autograder grade --force", "0 unchanged, 0 faults."),
]
# The commands of these pages have tests of their own, or are for the maintainers.
OTHER_PAGES = {
    "docs/new-lab.md": "tests/authoring runs the guide to the letter",
    "docs/bundle-readme.md": "tests/authoring/test_bundle.py unpacks the zip",
    "docs/exchange.md": "tests/gradebook/test_nbgrader_exchange.py",
    "docs/coming-from-nbgrader.md": "tests/course_import",
    "docs/platforms.md": "names labs of another course; tests/platforms",
    "CONTRIBUTING.md": "CI runs these, or they take minutes",
    "data/README.md": "measurements that take minutes",
    "CHANGELOG.md": "names commands only",
    "SECURITY.md": "names commands only",
    "docs/limits.md": "tests/style/test_docs.py",
    "docs/misconceptions/README.md": "tests/style/test_docs.py",
}
NOT_RUN = {
    r"make( .*)?": "installs, or opens JupyterLab; CI runs `make setup` and `make test-all`",
    r"python3 install\.py.*|pip install .*|conda .*|docker .*|git clone .*": "needs the internet",
    r"dask worker .*": "needs a cluster; tests/grading/test_dask_cluster.py",
    r".*jupyter .*|.*autograder lab": "opens JupyterLab; tests/e2e",
    r".*\\.*": "for Windows",
    r".*[\[…<].*|.* (DIR|FILE|FOLDER|LAB|NAME|PLATFORM|QUESTION)\b.*": "has a placeholder",
    r"autograder( \w+| new lab)?|nbgrader( \w+)?": "names a program or a command in a sentence",
    r"autograder build --check": "takes minutes; tests/authoring/test_build.py",
    r"autograder/.*|autograder\.[\w.]+": "names a file or a module",
    r"autograder web.*": "tests/course_site",
}


def list_commands(page):
    """Return the commands of a page, without the comments behind them."""
    commands = []
    for line in list_command_lines(page.read_text("utf-8")):
        command = re.split(r"\s{2,}#", line)[0].strip()
        first = command.split()[0]
        if re.search(
            r"^(make|python3?|pip|conda|docker|dask|nbgrader|git)$|autograder|jupyter", first
        ):
            commands.append(command)
    return commands


def find_unclassified_commands(page):
    """Return the commands of a page that no step runs, and that need not be run."""
    steps = {step.command for step in STEPS if step.page == name_page(page)}
    unclassified = []
    for command in list_commands(page):
        if command in steps or name_page(page) in OTHER_PAGES:
            continue
        if not any(re.fullmatch(pattern, command) for pattern in NOT_RUN):
            unclassified.append(command)
    return unclassified


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_each_command_of_a_page_is_run_or_has_a_reason_why_not(page):
    assert find_unclassified_commands(page) == []


def test_a_new_command_is_noticed(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("```bash\nautograder grade --all-of-it    # new\n```\n", "utf-8")
    monkeypatch.setitem(globals(), "name_page", lambda page: page.name)
    assert find_unclassified_commands(page) == ["autograder grade --all-of-it"]


def test_each_step_stands_on_its_page():
    for step in STEPS:
        assert step.command in list_commands(ROOT / step.page), step


@pytest.mark.long
@pytest.mark.timeout(1200)  # twenty commands, one after the other
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git repository to clone")
def test_the_commands_of_the_documents_do_what_they_say(tmp_path):
    reason = explain_unavailability()
    if reason:
        pytest.skip(f"no sandbox: {reason}")
    clone = tmp_path / "attention labs"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    downloads = tmp_path / "home" / "Downloads"
    downloads.mkdir(parents=True)
    due = datetime(2026, 11, 20, 18, tzinfo=UTC)
    write_zip(downloads / "submissions.zip", lab("qkv-attention"), 4, due)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("AUTOGRADER")
    }
    environment |= {
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(clone),
        "PATH": f"{Path(sys.prefix, 'bin')}{os.pathsep}{os.environ['PATH']}",
    }
    for step in STEPS:
        command = step.command
        if step.preparation:
            command = f"{step.preparation} >preparation.txt && {command}"
        ran = subprocess.run(
            [shutil.which("bash"), "-c", command],
            cwd=clone,
            env=environment,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        text = ran.stdout + ran.stderr
        assert ran.returncode == step.exit_code, f"{step}\n{text}"
        assert step.output in text, f"{step}\n{text}"
        assert "Traceback" not in text, f"{step}\n{text}"
