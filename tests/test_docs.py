"""The documentation says what is so: commands, links and tables hold, and the guide to a new lab works."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from autograder.cli import main
from autograder.grading.sandbox import available as why_no_sandbox
from autograder.labs import LABS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), ROOT / "data" / "README.md"]
CATALOGUE = [sys.executable, str(DOCS / "misconceptions.py")]

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.M)
_INLINE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def fences(text):
    """(what stands behind the opening fence, the block) of each fenced block."""
    return [(info.strip(), block) for info, block in _FENCE.findall(text)]


def command_lines(text):
    """Every command a page shows: in blocks, and between backticks in its prose."""
    prose = _FENCE.sub("", text)
    blocks = [block for info, block in fences(text) if info in {"", "bash", "sh", "console"}]
    blocks += _INDENTED.findall(prose)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = re.split(r"\n|&&|\|\||[;|]", joined) + _INLINE.findall(prose)
    return [line.strip() for line in lines if line.strip()]


def complaints(text, targets, commands):
    """What the page asks for that is not there: make targets, commands of ours, and their options."""
    wrong = []
    for line in command_lines(text):
        try:
            words = shlex.split(line.split("  #")[0])
        except ValueError:
            continue
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words.pop(0)
        if not words:
            continue
        if words[0] == "make":
            asked = [w for w in words[1:] if re.fullmatch(r"[a-z]+", w)]
            wrong += [f"make {target}" for target in asked[:1] if target not in targets]
        elif Path(words[0].replace("\\", "/")).name == "autograder" and len(words) > 1:
            if words[1].startswith(("-", "[")):
                continue
            if words[1] not in commands:
                wrong.append(f"autograder {words[1]}")
                continue
            known = {name for option in commands[words[1]].params for name in option.opts} | {"--help", "-h"}
            given = {w.strip("[]").split("=")[0] for w in words[2:] if w.strip("[").startswith("--")}
            wrong += [f"autograder {words[1]} {option}" for option in sorted(given - known)]
    return wrong


def dead_links(page, text):
    """Links of a page to files that are not there."""
    dead = []
    for target in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:|#", target):
            continue
        path = (page.parent / target.split("#")[0]).resolve()
        if not path.exists():
            dead.append(target)
    return dead


def targets(makefile=ROOT / "Makefile"):
    return set(re.findall(r"^([a-z]+):", makefile.read_text("utf-8"), re.M))


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_a_page_shows_exists(page):
    made = targets(DOCS / "bundle.mk" if page.name == "bundle-readme.md" else ROOT / "Makefile")
    assert complaints(page.read_text("utf-8"), made, main.commands) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page):
    assert dead_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```bash\nmake nonsense\n```\n", "make nonsense"),
        ("Type `make nonsense` there.\n", "make nonsense"),
        ("so:\n\n    .venv/bin/autograder frobnicate\n", "autograder frobnicate"),
        ("`autograder grade --nonsense 3`\n", "autograder grade --nonsense"),
        ("```bash\nmake setup && autograder report --nonsense\n```\n", "autograder report --nonsense"),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(text, complaint):
    assert complaints(text, targets(), main.commands) == [complaint]


def test_a_dead_link_is_noticed():
    assert dead_links(ROOT / "README.md", "[a](nowhere.md) and [b](LICENSE)") == ["nowhere.md"]


@pytest.mark.parametrize("name", main.commands)
def test_each_command_has_an_example_and_is_in_the_docs(name):
    command = main.commands[name]
    context = click.Context(command, info_name=f"autograder {name}")
    example = re.search(rf"Example:\s+(autograder {name}\b.*)", command.get_help(context))
    assert example, "its help shows no example"
    assert complaints(f"`{example[1]}`", targets(), main.commands) == []
    shown = [line for page in PAGES for line in command_lines(page.read_text("utf-8"))]
    assert any(re.search(rf"\bautograder {name}\b", line) for line in shown), "no page shows it"


@pytest.mark.parametrize("target", sorted(targets() - {"help"}))
def test_each_make_target_is_in_the_readme_or_contributing(target):
    pages = "".join((ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    assert f"make {target}" in pages


@pytest.mark.parametrize("lab", LABS)
def test_each_lab_is_in_the_docs(lab):
    assert lab in (ROOT / "README.md").read_text("utf-8")
    assert f"{lab}.md" in (DOCS / "teaching" / "README.md").read_text("utf-8")
    notes = (DOCS / "teaching" / f"{lab}.md").read_text("utf-8")
    known = (DOCS / "misconceptions.md").read_text("utf-8")
    named = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", notes)
    assert len(named) >= 3
    assert [n for n in named if f"`{n}`" not in known and n not in LABS] == []


def test_the_labs_times_are_those_of_the_course():
    for page in ("README.md", "docs/bundle-readme.md"):
        text = (ROOT / page).read_text("utf-8")
        rows = re.findall(r"^\| \[?`?([a-z-]+)`?(?:\]\([^)]*\))? \|.*?(\d+) \| ([a-z ]+) \|$", text, re.M)
        assert {lab: (int(minutes), difficulty) for lab, minutes, difficulty in rows} == {
            lab: (about["minutes"], about["difficulty"]) for lab, about in LABS.items()
        }, page


def test_the_catalogue_is_what_the_definitions_say():
    ran = subprocess.run([*CATALOGUE, "--check"], text=True, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_stale_catalogue_is_noticed(tmp_path):
    copy = tmp_path / "misconceptions.py"
    copy.write_bytes((DOCS / "misconceptions.py").read_bytes())
    stale = (DOCS / "misconceptions.md").read_text("utf-8").replace("`no-tanh`", "`no-tan`", 1)
    copy.with_suffix(".md").write_text(stale, "utf-8")
    ran = subprocess.run([sys.executable, str(copy), "--check"], text=True, capture_output=True)
    assert ran.returncode == 1
    assert "is stale" in ran.stdout


def test_the_results_format_names_every_field_and_verdict():
    from dataclasses import fields

    from autograder.grading.classroom import RESULTS_VERSION
    from autograder.results import Result, Verdict

    text = (DOCS / "results-format.md").read_text("utf-8")
    assert [f for f in (x.name for x in fields(Result)) if f"| `{f}` |" not in text] == []
    assert [v for v in Verdict if f"| `{v}` |" not in text] == []
    assert f"version {RESULTS_VERSION}" in text


@pytest.fixture
def copy(tmp_path):
    """The repository in another place, with this environment as its .venv."""
    import shutil

    rubbish = shutil.ignore_patterns("__pycache__", "fasttext", "images", "submissions", "e2e")
    for name in ("autograder", "data", "docs", "notebooks", "solutions", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=rubbish)
    for name in ("Makefile", "constraints.txt", "nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(why_no_sandbox()), reason=str(why_no_sandbox()))
def test_the_guide_to_a_new_lab_works_to_the_letter(copy):
    said = []
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    for info, block in fences((DOCS / "new-lab.md").read_text("utf-8")):
        if info == "bash":
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=copy,
                env={**environment, "PYTHONPATH": str(copy)},
                text=True,
                capture_output=True,
            )
            assert ran.returncode == 0, f"{block}\n{ran.stdout[-3000:]}\n{ran.stderr[-3000:]}"
            said.append(ran.stdout)
        elif info == "python add to LABS":
            path = copy / "autograder" / "labs" / "__init__.py"
            head, tail = path.read_text("utf-8").split("\n}\n", 1)
            path.write_text(f"{head}\n{block}}}\n{tail}", "utf-8")
        else:
            path = copy / info.removeprefix("python ")
            path.write_text(block, "utf-8")
    everything = "\n".join(said)
    assert "Everything is as the solutions say." in everything
    assert "✗ scaled_scores: This exercise is not written yet." in everything
    rows = [json.loads(line) for line in everything.splitlines() if line.startswith('{"student": "ada"')]
    found = [(row["exercise"], row["score"], row["max_score"], row["verdict"]) for row in rows]
    assert found == [("scaled_scores", 0, 2, "error"), ("explain-scale", None, 2, "manual")]
    catalogue = (copy / "docs" / "misconceptions.md").read_text("utf-8")
    assert "`root-of-the-number-of-keys` | You divided by the root" in catalogue.split("## toy-scores")[1]
