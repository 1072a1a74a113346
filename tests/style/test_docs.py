"""The documentation says what is so: commands, links and tables hold, and the guide to a new lab works."""

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import nbformat
import pytest
from document_pages import DOCS, FENCE, PAGES, ROOT, find_fences, list_command_lines, name_page

from autograder.authoring.lab import read_labs
from autograder.cli import main
from autograder.core.course import read_course
from autograder.sandbox.choice import explain_unavailability

LABS = read_labs(read_course(ROOT))

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def commands_of(group):
    """The commands of a group by name, those of the packages beside the engine among them."""
    context = click.Context(group)
    return {name: group.get_command(context, name) for name in group.list_commands(context)}


def every_command(group, prefix=""):
    """The commands of a group and of the groups in it, by what is typed."""
    for name, command in commands_of(group).items():
        if isinstance(command, click.Group):
            yield from every_command(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(every_command(main))


def complaints(text, targets, commands):
    """Return what the page names and the project lacks: make targets, commands of ours, and their options."""
    wrong = []
    for line in list_command_lines(text):
        try:
            words = shlex.split(line.split("  #")[0])
        except ValueError:
            continue
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words.pop(0)
        if not words:
            continue
        if words[0] == "make":
            asked = [w for w in words[1:] if re.fullmatch(r"[a-z-]+", w)]
            wrong += [f"make {target}" for target in asked[:1] if target not in targets]
        elif Path(words[0].replace("\\", "/")).name == "autograder" and len(words) > 1:
            if words[1].startswith(("-", "[")):
                continue
            name = words[1]
            if len(words) > 2 and isinstance(commands.get(name), click.Group):
                name = f"{name} {words[2]}"
            if name not in {*commands, *COMMANDS}:
                wrong.append(f"autograder {name}")
                continue
            if COMMANDS.get(name, main).context_settings.get("ignore_unknown_options"):
                continue  # it hands on what it does not know
            known = {
                o for option in COMMANDS.get(name, commands.get(name)).params for o in option.opts
            }
            given = {
                w.strip("[]").split("=")[0] for w in words[2:] if w.strip("[").startswith("--")
            }
            wrong += [
                f"autograder {name} {option}" for option in sorted(given - known - {"--help", "-h"})
            ]
    return wrong


def dead_links(page, text):
    """Links of a page to files that are not there."""
    dead = []
    for target in _LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:|#", target):
            continue
        path = (page.parent / target.split("#")[0]).resolve()
        if not path.exists():
            dead.append(target)
    return dead


def targets(makefile=ROOT / "Makefile"):
    return set(re.findall(r"^([a-z-]+):", makefile.read_text("utf-8"), re.M))


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_command_a_page_shows_exists(page):
    made = targets(DOCS / "bundle.mk" if page.name == "bundle-readme.md" else ROOT / "Makefile")
    assert complaints(page.read_text("utf-8"), made, commands_of(main)) == []


@pytest.mark.parametrize("page", PAGES, ids=name_page)
def test_every_relative_link_leads_somewhere(page):
    assert dead_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```bash\nmake nonsense\n```\n", "make nonsense"),
        ("Type `make nonsense` there.\n", "make nonsense"),
        ("so:\n\n    .venv/bin/autograder frobnicate\n", "autograder frobnicate"),
        ("`autograder grade --nonsense 3`\n", "autograder grade --nonsense"),
        ("`autograder new nonsense`\n", "autograder new nonsense"),
        ("`autograder new lab a-lab --nonsense`\n", "autograder new lab --nonsense"),
        (
            "```bash\nmake setup && autograder report --nonsense\n```\n",
            "autograder report --nonsense",
        ),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(text, complaint):
    assert complaints(text, targets(), commands_of(main)) == [complaint]


def test_a_dead_link_is_noticed():
    assert dead_links(ROOT / "README.md", "[a](nowhere.md) and [b](LICENSE)") == ["nowhere.md"]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_an_example_and_is_in_the_docs(name):
    command = COMMANDS[name]
    context = click.Context(command, info_name=f"autograder {name}")
    example = re.search(rf"Example:\s+(autograder {name}\b.*)", command.get_help(context))
    assert example, "its help shows no example"
    assert complaints(f"`{example[1]}`", targets(), commands_of(main)) == []
    shown = [line for page in PAGES for line in list_command_lines(page.read_text("utf-8"))]
    assert any(re.search(rf"\bautograder {name}\b", line) for line in shown), "no page shows it"


@pytest.mark.parametrize("target", sorted(targets() - {"help"}))
def test_each_make_target_is_in_the_readme_or_contributing(target):
    pages = "".join((ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    assert f"make {target}" in pages


def listed(text):
    """The labs in a page's table of labs, in its order."""
    table = re.search(r"^\| lab \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    return re.findall(r"^\| \[?`?([a-z0-9-]+)`?(?:\]\([^)]*\))? \|", table[1], re.M)


@pytest.mark.parametrize("page", ["README.md", "docs/bundle-readme.md", "docs/teaching/README.md"])
def test_each_lab_is_in_the_docs_in_the_courses_order(page):
    assert listed((ROOT / page).read_text("utf-8")) == list(LABS), (
        f"its table should have a row a lab: {page}"
    )


@pytest.mark.parametrize("lab", LABS)
def test_each_lab_has_its_teaching_notes(lab):
    link = f"(../../solutions/{lab}/teaching.md)"
    assert link in (DOCS / "teaching" / "README.md").read_text("utf-8")
    assert strangers((LABS[lab].folder / "teaching.md").read_text("utf-8")) == []


def strangers(notes):
    """Hyphenated names in a lab's teaching notes that are neither mistakes of the catalogue nor labs."""
    known = "".join(path.read_text("utf-8") for path in (DOCS / "misconceptions").glob("*.md"))
    named = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", notes)
    assert named, "the notes name no mistake of the catalogue"
    return [n for n in named if f"`{n}`" not in known and n not in LABS]


def test_a_mistake_that_the_catalogue_does_not_know_is_noticed():
    assert strangers("`no-tanh` and `no-tanhs` in `additive-attention`") == ["no-tanhs"]


def times(text):
    """Return the minutes and the difficulty of each lab in a page's table."""
    rows = re.findall(
        r"^\| \[?`?([a-z0-9-]+)`?(?:\]\([^)]*\))? \|.*?(\d+) \| ([a-z ]+) \|$", text, re.M
    )
    return {lab: (int(minutes), difficulty) for lab, minutes, difficulty in rows}


@pytest.mark.parametrize("page", ["README.md", "docs/bundle-readme.md"])
def test_the_labs_times_are_those_of_the_course(page):
    expected = {name: (lab.minutes, lab.difficulty) for name, lab in LABS.items()}
    assert times((ROOT / page).read_text("utf-8")) == expected


def test_the_readme_counts_labs_hours_exercises_and_misconceptions():
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    numbers = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen"]
    exercises = [exercise for lab in LABS.values() for exercise in lab.exercises.values()]
    misconceptions = sum(len(exercise.misconceptions) for exercise in exercises)
    hours = round(sum(lab.minutes for lab in LABS.values()) / 60)
    count = numbers[len(LABS) - 10].capitalize()
    assert f"{count} Jupyter labs" in text
    assert f"{count} notebooks" in (DOCS / "bundle-readme.md").read_text("utf-8")
    assert f"about {hours} hours" in text
    assert (
        f"more than {misconceptions // 100 * 100:,} wrong answers by name, in {len(exercises)} exercises"
        in text
    )


def test_a_wrong_time_is_noticed():
    text = (ROOT / "README.md").read_text("utf-8")
    assert times(re.sub(r"\| 70 \|", "| 71 |", text)) != times(text)


@cache
def load_script(name):
    """Return a script of docs/ as a module; it makes its pages once."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    script = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for function in {"make_page", "make_pages"} & vars(script).keys():
        setattr(script, function, cache(getattr(script, function)))
    return script


@pytest.fixture
def check(monkeypatch):
    """Return a function that runs a script of docs/ with --check, and returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["script.py", "--check"])
    return lambda name: load_script(name).main()


@pytest.mark.long
@pytest.mark.parametrize("name", ["misconceptions", "limits"])
def test_the_scripts_are_programs(name):
    command = [sys.executable, str(DOCS / f"{name}.py"), "--check"]
    ran = subprocess.run(command, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_catalogue_is_what_the_definitions_say(check, capsys):
    assert check("misconceptions") == 0, capsys.readouterr().out


def test_a_stale_catalogue_is_noticed(check, capsys, monkeypatch, tmp_path):
    folder = tmp_path / "misconceptions"
    shutil.copytree(DOCS / "misconceptions", folder)
    page = folder / "additive-attention.md"
    page.write_text(page.read_text("utf-8").replace("`no-tanh`", "`no-tan`", 1), "utf-8")
    (folder / "no-lab.md").write_text("# A lab that is gone\n", "utf-8")
    monkeypatch.setattr(load_script("misconceptions"), "FOLDER", folder)
    assert check("misconceptions") == 1
    assert "is stale (additive-attention.md, no-lab.md)" in capsys.readouterr().out


@pytest.mark.long
def test_the_page_of_limits_is_what_the_code_says(check, capsys):
    assert check("limits") == 0, capsys.readouterr().out


def names_of_limits(source):
    """Every name `MAX_…` that a source assigns, in a module, a class or a function."""
    if "MAX_" not in source:
        return set()
    stores = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(getattr(node, "ctx", None), ast.Store)
    )
    names = {getattr(node, "id", "") or getattr(node, "attr", "") for node in stores}
    return {name.lstrip("_") for name in names if name.lstrip("_").startswith("MAX_")}


@pytest.mark.long
def test_every_limit_of_the_code_is_in_the_list():
    page = (DOCS / "limits.md").read_text("utf-8")
    missing = set()
    for folder in ("autograder", "course_import", "course_site", "similarity"):
        for path in (ROOT / folder).rglob("*.py"):
            rows = [row for row in page.splitlines() if path.name in row]
            names = names_of_limits(path.read_text("utf-8"))
            missing |= {
                f"{path}: {name}" for name in names if not any(f"`{name}`" in row for row in rows)
            }
    assert missing == set()


def test_limits_of_one_line_are_found_one_by_one():
    source = "MAX_A, _MAX_B = 1, 2\nMAX_C: int = 3\ndef f():\n    MAX_D = 4\n    self.MAX_E = 5\n    x = MAX_F"
    assert names_of_limits(source) == {"MAX_A", "MAX_B", "MAX_C", "MAX_D", "MAX_E"}


@pytest.mark.long
def test_a_stale_page_of_limits_is_noticed(check, monkeypatch, tmp_path):
    page = (DOCS / "limits.md").read_text("utf-8")
    assert "| `MAX_CELLS` | 1,000 |" in page and "| `RunLimits.memory` | " in page
    stale_page = tmp_path / "limits.md"
    stale_page.write_text(page.replace("1,000", "2,000", 1), "utf-8")
    monkeypatch.setattr(load_script("limits"), "PAGE", stale_page)
    assert check("limits") == 1


def test_the_results_format_names_every_field_and_verdict():
    from dataclasses import fields

    from autograder.core.results import Result, Verdict
    from autograder.gradebook.graded_submission import GradedSubmission
    from autograder.gradebook.result_store import FORMAT_VERSION

    text = (DOCS / "results-format.md").read_text("utf-8")
    assert [f for f in (x.name for x in fields(Result)) if f"| `{f}` |" not in text] == []
    assert [v for v in Verdict if f"| `{v}` |" not in text] == []
    assert f"format version {FORMAT_VERSION}," in text
    kept = text.split("## What is kept")[1]
    record = [
        "version",
        "hash",
        *GradedSubmission(results=(), notebook=None, notes=(), seed=0).to_fields(),
    ]
    assert re.findall(r"^\| `([a-z_]+)` \|", kept, re.M) == record


def folders_of_the_tree(text):
    """The folders that the tree of the architecture names, as paths."""
    above = []
    for spaces, name in re.findall(r"^( *)([a-z_]+)/ ", text, re.M):
        above[len(spaces) // 2 :] = [name]
        yield "/".join(above)


def packages_there_are():
    """The packages of the repository, and the two sides of the labs."""
    tops = ("autograder", "course_import", "course_site", "similarity")
    packages = {
        path.parent.relative_to(ROOT).as_posix()
        for top in tops
        for path in (ROOT / top).rglob("__init__.py")
    }
    return packages | {"attention_labs", "solutions", "notebooks"}


def test_the_tree_of_the_architecture_is_that_of_the_repository():
    text = (DOCS / "architecture.md").read_text("utf-8")
    tree = text.split("```text\n")[1].split("```")[0]
    assert set(folders_of_the_tree(tree)) == packages_there_are()
    assert set(folders_of_the_tree(tree.replace("values/", "valeus/"))) != packages_there_are()


@pytest.fixture
def copy(tmp_path):
    """The repository in another place, with this environment as its .venv."""
    rubbish = shutil.ignore_patterns(
        "__pycache__", "fasttext", "submissions", "e2e", ".venv", ".git", "demo", "dist"
    )
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("attention_labs", "autograder", "data", "docs", "notebooks", "solutions", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=rubbish)
    for path in ROOT.iterdir():
        if path.is_file() and path.name not in {"gradebook.db"}:
            shutil.copy(path, folder)
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def follow(text, copy):
    """Do what a guide says, block by block; return what its commands printed."""
    said = []
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV", "AUTOGRADER"))
    }
    for info, block in find_fences(text):
        _column_of, _, where = info.partition(" ")
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
        elif where.startswith("cell "):  # "python cell NOTEBOOK ID"
            _, notebook, name = where.split()
            fill(copy / notebook, name, block)
        elif where.startswith("row "):  # a row at the end of the table in that page
            path = copy / where.removeprefix("row ")
            table = re.search(r"^\| lab \|.*\n(?:\|.*\n)+", path.read_text("utf-8"), re.M)
            path.write_text(
                table.string[: table.end()] + block + table.string[table.end() :], "utf-8"
            )
        elif where.startswith("line "):  # a line that takes the place of the one that begins alike
            path = copy / where.removeprefix("line ")
            begins = block.split("=")[0].strip()
            text, count = re.subn(rf"(?m)^(# )?{begins}\b.*\n", block, path.read_text("utf-8"))
            assert count == 1, f"{path} has {count} lines {begins}"
            path.write_text(text, "utf-8")
        else:
            path = copy / where
            assert where and path.parent.parent.is_dir(), f"a block is of no file: {info!r}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(block, "utf-8")
    return "\n".join(said)


def fill(path, name, source):
    """Type a source into the cell with this id, and save."""
    notebook = nbformat.read(path, as_version=4)
    (cell,) = [cell for cell in notebook.cells if cell.id == name]
    cell.source = source.rstrip("\n")
    nbformat.write(notebook, path)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())
def test_the_guide_to_a_new_lab_works_to_the_letter(copy):
    everything = follow((DOCS / "new-lab.md").read_text("utf-8"), copy)
    assert everything.count("Everything is as the solutions say.") == 2
    assert "✗ scaled_scores: not written yet" in everything
    rows = [
        json.loads(line) for line in everything.splitlines() if line.startswith('{"student": "ada"')
    ]
    found = [(row["exercise"], row["score"], row["max_score"], row["verdict"]) for row in rows]
    assert found == [("scaled_scores", 0, 2, "error"), ("explain-scaled-scores", None, 2, "manual")]
    misconceptions = (copy / "docs" / "misconceptions" / "toy-scores.md").read_text("utf-8")
    assert "`root-of-the-number-of-keys` | You divided by the root" in misconceptions
    assert read_course(copy).labs[-1] == "toy-scores"
    assert "1 lab copied to work." in everything


@pytest.mark.long
def test_a_guide_that_does_not_work_is_noticed(copy):
    with pytest.raises(AssertionError, match="no exercise"):
        follow("```bash\nautograder new lab a-lab\necho no exercise && false\n```\n", copy)
    with pytest.raises(AssertionError, match="no file"):
        follow("```python\nprint()\n```\n", copy)


def test_every_test_that_security_names_is_there():
    """Each claim has tests that hold it, by their names."""
    table = (
        (ROOT / "SECURITY.md")
        .read_text("utf-8")
        .partition("## Which test holds what")[2]
        .partition("\n## ")[0]
    )
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")][1:]
    source = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(rows) > 20
    for claim, tests in rows:
        names = re.findall(r"`(?:tests/)?(test_\w+)(?:\.py)?`", tests)
        assert names, claim
        missing = [
            n
            for n in names
            if f"def {n}(" not in source and not (ROOT / "tests" / f"{n}.py").is_file()
        ]
        assert missing == [], claim
