"""Setting up: one list of versions for every Python, and a sentence wherever it cannot be."""

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8")
PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
BASH = shutil.which("bash")


# The versions.


def pins(constraints, python=None):
    """The versions that hold for a Python, by name; a name with two of them is a defect."""
    environment = default_environment() | ({"python_version": python} if python else {})
    found = {}
    for line in constraints.splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(environment):
                name = canonicalize_name(pin.name)
                assert name not in found, f"{name} is pinned twice for Python {python}"
                found[name] = str(pin.specifier).removeprefix("==")
    return found


def installed(extras):
    """Return the version of each package that the project with these extras installs here, by name."""
    waiting = [
        (Requirement(text), extra)
        for extra in extras
        for text in PROJECT["optional-dependencies"][extra]
    ]
    waiting += [(Requirement(text), "") for text in PROJECT["dependencies"]]
    found, seen = {}, set()
    while waiting:
        wanted, extra = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        for own in ["", *wanted.extras]:
            if (name, own) in seen:
                continue
            seen.add((name, own))
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
            waiting += [(Requirement(text), own) for text in metadata.requires(name) or []]
    return found


def astray(constraints):
    """Return the packages that are installed in a version other than the list's, or are not in it."""
    listed = pins(constraints)
    here = installed(["lab", "grading", "test"])
    return sorted(
        name
        for name, version in here.items()
        if name != "setuptools" and listed.get(name) != version
    )


@pytest.mark.parametrize("python", PYTHONS)
def test_no_python_finds_two_versions_of_a_package(python):
    assert len(pins(CONSTRAINTS, python)) > 150


@pytest.mark.long
def test_all_that_is_installed_is_in_the_list_with_its_version():
    assert len(installed(["lab", "grading", "test"])) > 100
    assert astray(CONSTRAINTS) == []


def test_a_package_of_a_package_that_is_missing_in_the_list_is_noticed():
    assert astray(re.sub(r"(?m)^tornado==.*$", "", CONSTRAINTS)) == ["tornado"]


def test_every_home_names_the_same_pythons():
    assert PROJECT["requires-python"] == ">=3.11,<3.16"
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(
        f'"{python}"' for python in PYTHONS
    )
    assert f"python {PROJECT['requires-python']}" in (ROOT / "environment.yml").read_text("utf-8")
    image = re.search(
        r"^FROM python:([\d.]+)-slim", (ROOT / "Dockerfile").read_text("utf-8"), re.M
    )[1]
    codespace = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))[
        "image"
    ]
    assert image in PYTHONS and codespace == f"python:{image}"


def test_every_home_is_set_up_by_the_same_script():
    assert "make setup" in (ROOT / "Dockerfile").read_text("utf-8")
    assert "make setup" in (ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8")
    extras = re.search(r'"setup": \[(.*?)\]', (ROOT / "install.py").read_text("utf-8"))[1]
    wanted = f"-e .[{extras.replace(' ', '').replace(chr(34), '')}]"
    assert wanted in (ROOT / "environment.yml").read_text("utf-8")
    assert "-c constraints.txt" in (ROOT / "environment.yml").read_text("utf-8")


# The script: nothing here reaches a package index.


@pytest.fixture
def course(tmp_path):
    """A copy of what setting up needs, in a folder whose name has blanks and umlauts."""
    folder = tmp_path / "Kurs über Attention"
    folder.mkdir()
    for name in ("Makefile", "install.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


def tools(tmp_path, **scripts):
    """A folder for PATH with the few programs that make needs, and these scripts."""
    folder = tmp_path / "tools"
    folder.mkdir(exist_ok=True)
    for name in ("make", "sh", "grep", "sed", "dirname"):
        if not (folder / name).exists():
            (folder / name).symlink_to(shutil.which(name))
    for name, text in scripts.items():
        (folder / name).write_text(f"#!{BASH}\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def start(course, *command, path, **env):
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("MAKE", "MFLAGS", "PYTHON", "KERAS"))
    }
    return subprocess.run(
        command, cwd=course, env={**kept, "PATH": str(path), **env}, text=True, capture_output=True
    )


def pretend(python, tmp_path):
    """A Python that says it is of another version."""
    code = (
        "import runpy, sys; sys.version_info = (%d, %d, 0, 'final', 0); sys.argv = sys.argv[1:]; "
    )
    code = (
        code % tuple(map(int, python.split(".")))
        + "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    folder = tools(tmp_path)
    fake = folder / f"python{python}-pretended"
    fake.write_text(f'#!{BASH}\nexec "{sys.executable}" -c "{code}" "$@"\n')
    fake.chmod(0o755)
    return fake


@pytest.mark.parametrize("python", ["3.8", "3.10", "3.16", "4.0"])
@pytest.mark.parametrize("target", ["setup", "lab"])
def test_another_python_is_refused_in_a_sentence_before_anything_is_made(
    course, tmp_path, python, target
):
    fake = pretend(python, tmp_path)
    ran = start(course, "make", target, f"PYTHON={fake}", path=tools(tmp_path))
    said = ran.stderr.splitlines()
    assert ran.returncode == 2 and ran.stdout == ""
    assert said[0] == (
        f"{sys.executable} is Python {python}, which cannot run the labs: "
        f"install Python 3.11, 3.12, 3.13, 3.14 or 3.15, and name it, as in `make {target} PYTHON=python3.14`."
    )
    assert len(said) == 2 and said[1].startswith("make: ***")
    assert not (course / ".venv").exists()


def test_an_environment_stays_where_no_other_can_be_made(course, tmp_path):
    """Its Python may only be missing for the moment, on a disk that is not mounted."""
    settings = course / ".venv" / "pyvenv.cfg"
    settings.parent.mkdir()
    settings.touch()
    ran = start(course, "make", "lab", f"PYTHON={pretend('3.16', tmp_path)}", path=tools(tmp_path))
    assert "which cannot run the labs" in ran.stderr
    assert settings.exists()


def test_a_python_that_will_do_is_named_if_it_is_there(course, tmp_path):
    path = tools(tmp_path, **{"python3.12": "exit 0", "python3.13": "exit 127"})
    ran = start(course, "make", "setup", f"PYTHON={pretend('3.16', tmp_path)}", path=path)
    assert (
        "they need Python 3.11, 3.12, 3.13, 3.14 or 3.15, so run `make setup PYTHON=python3.12`."
        in ran.stderr
    )


@pytest.mark.parametrize("made_by", ["make", "python"])
def test_the_command_and_the_python_to_name_are_those_of_the_caller(monkeypatch, made_by):
    monkeypatch.delenv("MAKELEVEL", raising=False)
    if made_by == "make":
        monkeypatch.setenv("MAKELEVEL", "1")
    script = runpy.run_path(str(ROOT / "install.py"))
    commands = {
        "make": ["make lab", "make lab PYTHON=python3.12"],
        "python": ["python3 install.py lab", "python3.12 install.py lab"],
    }[made_by]
    assert [script["format_command"]("lab", version) for version in (None, "3.12")] == commands
    advice = script["advise_other_python"]
    values = advice.__globals__
    started = []
    values["which"] = lambda name: name != "python3.13"
    values["python_starts"] = lambda name: started.append(name) or name != "python3.14"
    choice = "Python 3.11, 3.12, 3.13 or 3.14"
    found = advice("lab", (3, 11), (3, 15))
    assert found == f"they need {choice}, so run `{commands[1]}`."
    assert started == ["python3.14", "python3.12", "python3.11"]
    values["which"] = lambda name: None
    named = commands[1].replace("3.12", "3.13")
    assert advice("lab", (3, 11), (3, 15)) == f"install {choice}, and name it, as in `{named}`."


@pytest.mark.parametrize(
    ("implementation", "maxsize", "is_free_threaded", "version", "name"),
    [
        ("CPython", 2**63 - 1, 0, (3, 11), ""),
        ("CPython", 2**63 - 1, 0, (3, 14), ""),
        ("CPython", 2**63 - 1, 0, (3, 15), "Python 3.15"),
        ("CPython", 2**63 - 1, 0, (3, 10), "Python 3.10"),
        ("CPython", 2**63 - 1, 1, (3, 14), "a free-threaded Python 3.14"),
        ("CPython", 2**31 - 1, 0, (3, 14), "a 32-bit Python 3.14"),
        ("PyPy", 2**63 - 1, 0, (3, 11), "PyPy of Python 3.11"),
    ],
)
def test_a_python_that_cannot_run_the_labs_is_described(
    implementation, maxsize, is_free_threaded, version, name
):
    describe = runpy.run_path(str(ROOT / "install.py"))["describe_unfit_python"]
    describe.__globals__.update(
        sys=SimpleNamespace(version_info=version, maxsize=maxsize, executable="py"),
        platform=SimpleNamespace(python_implementation=lambda: implementation),
        sysconfig=SimpleNamespace(get_config_var=lambda key: is_free_threaded),
    )
    sentence = f"py is {name}, which cannot run the labs: " if name else ""
    assert describe((3, 11), (3, 15)) == sentence


def test_the_oldest_pythons_can_read_the_script():
    """Tried with 2.7, 3.6 and 3.10 when it was written; this keeps out what none of them knows."""
    text = (ROOT / "install.py").read_text("utf-8")
    assert text.isascii()
    ast.parse(text, feature_version=(3, 7))
    assert not re.search(r"""\bf["']|\braise .* from\b|\) -> """, text)


def test_no_python_at_all_is_a_sentence(course, tmp_path):
    ran = start(course, "make", "lab", path=tools(tmp_path))
    assert ran.stderr.splitlines()[0] == (
        "There is no python3 here: install Python, or name one, as in `make lab PYTHON=python3.13`."
    )
    assert not (course / ".venv").exists()


def test_without_ensurepip_there_is_a_sentence(course, tmp_path):
    """Debian's Python without python3-venv."""
    missing = tmp_path / "missing"
    missing.mkdir()
    for name in ("ensurepip", "virtualenv"):
        (missing / f"{name}.py").write_text("raise ImportError\n")
    ran = start(
        course,
        "make",
        "setup",
        f"PYTHON={sys.executable}",
        path=tools(tmp_path),
        PYTHONPATH=str(missing),
    )
    assert ran.stderr.splitlines()[0] == (
        f"This Python 3.{sys.version_info[1]} cannot make an environment, "
        "since it lacks the module ensurepip: install that (Debian and Ubuntu: `apt install python3-venv`) "
        "or uv, then run `make setup` again."
    )
    assert not (course / ".venv").exists()


UV = """
echo "$@" >> "$LOG"
case $1 in
venv) mkdir -p .venv/bin; touch .venv/pyvenv.cfg; ln -sf "$REAL" .venv/bin/python ;;
pip) for refused in $REFUSED; do case "$*" in *$refused*) exit 1;; esac; done ;;
esac
"""


def with_uv(course, tmp_path, *command, refused="", **env):
    """Run with a uv that only writes down what it is asked; its lines, and the run."""
    log = tmp_path / "uv.log"
    log.unlink(missing_ok=True)
    path = tools(tmp_path, uv=UV)
    for name in ("mkdir", "touch", "ln"):
        if not (path / name).exists():
            (path / name).symlink_to(shutil.which(name))
    ran = start(
        course, *command, path=path, LOG=str(log), REAL=sys.executable, REFUSED=refused, **env
    )
    return log.read_text().splitlines() if log.exists() else [], ran


def test_uv_fetches_a_python_where_this_one_will_not_do(course, tmp_path):
    asked, ran = with_uv(course, tmp_path, "make", "setup", f"PYTHON={pretend('3.16', tmp_path)}")
    assert ran.returncode == 0, ran.stderr
    assert asked[0].startswith("venv -q --python >=3.11,<3.16 ")
    assert asked[1].endswith("-c constraints.txt -e .[lab,grading,similarity,test,web]")
    assert ran.stdout.endswith(
        "Ready. Students: make lab. Instructors: make demo. Contributors: make test.\n"
    )


def test_make_lab_brings_only_what_students_need_and_takes_nothing_away(course, tmp_path):
    asked, ran = with_uv(course, tmp_path, "make", ".venv/ready-lab", f"PYTHON={sys.executable}")
    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in asked] == ["venv", "pip"] and asked[1].endswith("-e .[lab]")
    for target, wanted in [
        ("setup", "-e .[lab,grading,similarity,test,web]"),
        (".venv/ready-lab", None),
    ]:
        asked, ran = with_uv(course, tmp_path, "make", target, f"PYTHON={sys.executable}")
        assert [line.rpartition("constraints.txt ")[2] for line in asked] == (
            [wanted] if wanted else []
        )


def test_an_environment_whose_python_is_gone_is_made_again(course, tmp_path):
    with_uv(course, tmp_path, sys.executable, "install.py")
    (course / ".venv" / "bin" / "python").unlink()
    asked, _ = with_uv(course, tmp_path, sys.executable, "install.py")
    assert asked[0].startswith("venv ")


def test_packages_that_cannot_be_installed_are_a_sentence_and_the_next_run_goes_on(
    course, tmp_path
):
    _, ran = with_uv(
        course, tmp_path, "make", "setup", f"PYTHON={sys.executable}", refused="constraints"
    )
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[0] == (
        "Not all packages could be installed; the reason stands above, and with a network, "
        "`make setup` goes on."
    )
    asked, ran = with_uv(course, tmp_path, "make", "setup", f"PYTHON={sys.executable}")
    assert ran.returncode == 0 and [line.split()[0] for line in asked] == ["pip"]


def fake_packages(folder, *names):
    """A folder for PYTHONPATH in which packages of these names are found."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    return str(folder)


@pytest.mark.parametrize(
    ("refused", "extras"),
    [
        ("", ["lab,keras"]),
        ("lab,keras", ["lab,keras", "lab,jax"]),
        ("lab,keras lab,jax", ["lab,keras", "lab,jax", "lab,torch"]),
    ],
)
def test_keras_takes_the_first_backend_that_there_is(course, tmp_path, refused, extras):
    asked, ran = with_uv(
        course, tmp_path, sys.executable, "-S", "install.py", "keras", refused=refused
    )
    assert [re.search(r"\[(.*)\]", line)[1] for line in asked if line.startswith("pip")] == extras
    assert ran.returncode == 0, ran.stderr


def test_keras_that_has_to_wait_is_a_sentence(course, tmp_path):
    """As on a Python so new that h5py and TensorFlow have no wheels for it: nothing is compiled, either."""
    asked, ran = with_uv(
        course, tmp_path, sys.executable, "-S", "install.py", "keras", refused="--only-binary"
    )
    assert len([line for line in asked if "--only-binary h5py" in line]) == 4
    assert ran.returncode == 1
    python = ".".join(map(str, sys.version_info[:2]))
    assert ran.stderr == (
        f"Keras cannot be installed for Python {python} here; the reason stands above. A new Python has to wait some "
        "months for wheels of h5py and of TensorFlow, JAX or PyTorch: delete .venv and take an older one, as in "
        "`python3.14 install.py keras`.\n"
    )


def test_keras_says_what_it_runs_on(course, tmp_path):
    there = fake_packages(tmp_path / "packages", "keras", "jax")
    asked, ran = with_uv(course, tmp_path, sys.executable, "install.py", "keras", PYTHONPATH=there)
    assert "JAX" in ran.stdout and not [line for line in asked if line.startswith("pip")]


def test_a_keras_backend_that_does_not_exist_is_a_sentence(course, tmp_path):
    _, ran = with_uv(
        course, tmp_path, sys.executable, "install.py", "keras", KERAS_BACKEND="theano"
    )
    assert ran.stderr == "KERAS_BACKEND is 'theano'; it can be tensorflow, jax, torch.\n"


# The functions of the script, with stand-ins for all that they start.


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The names of install.py, whose `run_command` only notes commands; all of them succeed."""
    monkeypatch.delenv("MAKELEVEL", raising=False)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    names = runpy.run_path(str(ROOT / "install.py"))["main"].__globals__
    names["VENV"] = str(tmp_path / ".venv")
    names["PYTHON"] = "venv-python"
    names["commands"], names["fails"] = [], ()

    def run_command(arguments, quietly=False):
        names["commands"].append((" ".join(arguments), quietly))
        return not any(part in names["commands"][-1][0] for part in names["fails"])

    names["run_command"] = run_command
    names["which"] = lambda name: None
    return names


@pytest.mark.parametrize(
    ("what", "made_by_make", "why", "steps", "ready"),
    [
        ("lab", False, "", ["install lab"], ["lab"]),
        ("lab", True, "", ["install lab"], ["lab"]),
        ("setup", False, "", ["install lab grading similarity test web"], ["lab", "setup"]),
        (
            "setup",
            True,
            "No bwrap.",
            ["install lab grading similarity test web", "portable"],
            ["lab", "setup"],
        ),
        ("portable", False, "No bwrap.", ["portable"], []),
        ("keras", True, "No bwrap.", ["keras"], []),
    ],
)
def test_each_command_installs_its_packages_and_says_what_is_ready(
    script, monkeypatch, capsys, tmp_path, what, made_by_make, why, steps, ready
):
    if made_by_make:
        monkeypatch.setenv("MAKELEVEL", "1")
    taken = []
    (tmp_path / ".venv").mkdir()
    script["environment_works"] = lambda oldest, end: (oldest, end) == ((3, 11), (3, 16))
    script["make_environment"] = lambda *arguments: taken.append("environment")
    script["install"] = lambda extras, name: taken.append(f"install {' '.join(extras)}")
    script["why_no_bubblewrap"] = lambda: why
    script["install_portable"] = lambda: taken.append("portable")
    script["install_keras"] = lambda: taken.append("keras")
    script["main"](*([] if what == "lab" else [what]))
    assert taken == steps
    assert sorted(path.name for path in (tmp_path / ".venv").iterdir()) == [
        f"ready-{name}" for name in ready
    ]
    said = {
        "lab": "Installing into .venv, once: about a minute.\n",
        "setup": "Installing into .venv, once: a minute or two.\n",
    }.get(what, "")
    if what == "setup" and why:
        said += (
            f"Submissions cannot be marked in bubblewrap here: {why} So the sandbox that runs anywhere "
            "comes, too.\n"
        )
    if what == "setup":
        said += "Ready. Students: make lab. Instructors: make demo. Contributors: make test.\n"
    elif what == "lab" and not made_by_make:
        said += f"Ready. To open the labs: {Path('.venv/bin/autograder')} lab\n"
    assert capsys.readouterr().out == said
    script["environment_works"] = lambda *arguments: False
    script["main"](what)
    assert taken == [*steps, "environment", *steps]
    with pytest.raises(script["Problem"], match="lab, setup, portable or keras, but not labs"):
        script["main"]("labs")


ENSUREPIP = "cannot make an environment, since it lacks the module ensurepip"


@pytest.mark.parametrize(
    ("unfit", "has_uv", "modules", "fails", "commands", "problem"),
    [
        ("", True, [], (), ["uv venv -q --python {python} {venv}"], ""),
        ("Unfit: ", True, [], (), ["uv venv -q --python >=3.11,<3.16 {venv}"], ""),
        (
            "",
            True,
            ["ensurepip"],
            ["uv"],
            ["uv venv -q --python {python} {venv}", "{python} -m venv {venv}"],
            "",
        ),
        (
            "Unfit: ",
            True,
            ["ensurepip"],
            ["uv"],
            ["uv venv -q --python >=3.11,<3.16 {venv}"],
            "^Unfit: another$",
        ),
        ("Unfit: ", False, ["ensurepip"], (), [], "^Unfit: another$"),
        ("", False, ["ensurepip", "virtualenv"], (), ["{python} -m venv {venv}"], ""),
        ("", False, ["virtualenv"], (), ["{python} -m virtualenv -q {venv}"], ""),
        ("", False, [], (), [], ENSUREPIP),
        (
            "",
            False,
            ["ensurepip"],
            ["venv"],
            ["{python} -m venv {venv}"],
            "No environment could be",
        ),
    ],
)
def test_an_environment_is_made_by_uv_or_else_by_what_this_python_has(
    script, unfit, has_uv, modules, fails, commands, problem
):
    removed = []
    script["which"] = lambda name: "uv" if has_uv and name == "uv" else None
    script["describe_unfit_python"] = lambda oldest, end: unfit
    script["advise_other_python"] = lambda what, oldest, end: "another"
    script["module_exists"] = lambda name: name in modules
    script["remove_environment"] = lambda: removed.append(len(script["commands"]))
    script["fails"] = fails
    try:
        script["make_environment"]("lab", (3, 11), (3, 16))
        said = ""
    except script["Problem"] as error:
        said = str(error)
    assert bool(re.search(problem, said)) and bool(said) == bool(problem)
    filled = [c.format(python=sys.executable, venv=script["VENV"]) for c in commands]
    assert script["commands"] == [(command, False) for command in filled]
    assert removed == list(range(len(commands)))  # before each attempt, and not without one


@pytest.mark.parametrize(
    ("uv", "fails", "commands", "problem"),
    [
        ("my-uv", (), ["my-uv pip install -q --python venv-python"], ""),
        (
            None,
            (),
            [
                "venv-python -c import pip",
                "venv-python -m pip install -q --no-input --disable-pip-version-check",
            ],
            "",
        ),
        (
            None,
            ["import pip"],
            ["venv-python -c import pip"],
            "^uv made .venv but is gone: .*`python3 install.py keras`",
        ),
        ("my-uv", ["-e"], ["my-uv pip install -q --python venv-python"], "^Not all packages"),
    ],
)
def test_packages_are_installed_by_uv_or_pip_in_the_listed_versions(
    script, uv, fails, commands, problem
):
    script["which"] = lambda name: uv
    script["fails"] = fails
    script["read_project"] = lambda: "[x]\nlab = []\nnot_web = []\nkeras = []\n"
    try:
        script["install"](["lab", "web", "keras"], "keras", True, ("--only-binary", "h5py"))
        said = ""
    except script["Problem"] as error:
        said = str(error)
    assert bool(re.search(problem, said)) and bool(said) == bool(problem)
    expected = [(command, True) for command in commands]
    if "import pip" not in fails:
        packages = "--only-binary h5py -c constraints.txt -e .[lab,keras]"
        expected[-1] = (f"{commands[-1]} {packages}", True)
    assert script["commands"] == expected


def test_the_sandbox_that_runs_anywhere_is_installed_and_compiled(script, capsys):
    installs = []
    script["install"] = lambda extras, what: installs.append((extras, what))
    script["install_portable"]()
    assert installs == [(["lab", "grading", "portable"], "portable")]
    assert script["commands"] == [("venv-python -m autograder.sandbox.webassembly", False)]
    assert capsys.readouterr().out.splitlines() == [
        "Installing the WebAssembly sandbox into .venv, once: 110 MB.",
        "Compiling it for this machine, once: a minute or two on two processors.",
        "Ready: where bubblewrap does not start, submissions are marked in WebAssembly.",
    ]
    script["fails"] = ["webassembly"]
    with pytest.raises(script["Problem"], match="could not be compiled; the reason stands above"):
        script["install_portable"]()
    script["read_project"] = lambda: "lab = []\n"
    installs.clear()
    with pytest.raises(script["Problem"], match=r"^This copy is for students"):
        script["install_portable"]()
    assert installs == []


NO_TENSORFLOW = " (TensorFlow has no wheels for this Python on this system)"


@pytest.mark.parametrize(
    ("asked", "refused", "tried", "there", "said"),
    [
        (None, [], ["keras"], "TensorFlow", "Keras runs on TensorFlow."),
        (None, ["keras"], ["keras", "jax"], "JAX", f"Keras runs on JAX{NO_TENSORFLOW}."),
        ("jax", [], ["jax"], "JAX", "Keras runs on JAX."),
        ("torch", ["torch"], ["torch", "jax"], "JAX", "Keras runs on JAX."),
        ("tensorflow", [], ["keras"], "TensorFlow", "Keras runs on TensorFlow."),
    ],
)  # fmt: skip
def test_keras_gets_the_backend_that_was_asked_for_or_the_first_that_there_is(
    script, monkeypatch, capsys, asked, refused, tried, there, said
):
    if asked:
        monkeypatch.setenv("KERAS_BACKEND", asked)
    extras, questions = [], []

    def install_extra(extra, quietly=True):
        extras.append(extra)
        assert quietly
        return extra not in refused

    def keras_runs_on(backend=None):
        questions.append(backend)
        return there if extras else ""

    script["install_extra"], script["keras_runs_on"] = install_extra, keras_runs_on
    script["install_keras"]()
    assert extras == tried and questions == [asked, None]
    assert capsys.readouterr().out.splitlines() == [
        "Installing Keras into .venv, once: some minutes, for it is large.",
        f"Ready: {said}",
    ]
    script["install_keras"]()
    assert extras == tried
    assert capsys.readouterr().out == f"Keras is there, and runs on {there}.\n"


@pytest.mark.parametrize(
    ("found", "backend", "names"),
    [
        ("keras tensorflow torch", None, "TensorFlow or PyTorch"),
        ("keras jax", "jax", "JAX"),
        ("keras", None, ""),
        ("jax", None, ""),
        ("", None, ""),
    ],
)
def test_the_backends_of_keras_are_named(script, monkeypatch, found, backend, names):
    commands = []
    monkeypatch.setattr(
        subprocess, "check_output", lambda command: commands.append(command) or found.encode()
    )
    assert script["keras_runs_on"](backend) == names
    ((python, option, code),) = commands
    assert (python, option) == ("venv-python", "-c")
    wanted = [backend] if backend else ["tensorflow", "jax", "torch"]
    assert code.endswith(f"print(*filter(find_spec, {['keras', *wanted]}))")


def test_an_environment_works_if_its_python_is_there_and_of_the_right_age(script, monkeypatch):
    calls = []
    answers = iter([0, 1, OSError()])

    def call(command):
        calls.append(command)
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(subprocess, "call", call)
    assert script["environment_works"]((3, 11), (3, 16)) is False and calls == []
    settings = Path(script["VENV"], "pyvenv.cfg")
    script["remove_environment"]()
    settings.parent.mkdir()
    script["remove_environment"]()  # a folder that is no environment stays
    settings.touch()
    assert [script["environment_works"]((3, 11), (3, 16)) for _ in range(3)] == [True, False, False]
    code = "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 16))"
    assert calls == [["venv-python", "-c", code]] * 3
    script["remove_environment"]()
    assert not settings.parent.exists()


@pytest.mark.parametrize("has_room", [True, False])
def test_downloads_are_not_kept_where_there_is_no_place_for_them(monkeypatch, has_room):
    run_command = runpy.run_path(str(ROOT / "install.py"))["run_command"]
    calls = []

    def call(arguments, cwd, env, stdout, stderr):
        calls.append((arguments, cwd))
        kept = {name: env.get(name) for name in ("PIP_NO_CACHE_DIR", "UV_NO_CACHE")}
        assert (
            set(kept.values()) == {None if has_room else "1"} and env["PATH"] == os.environ["PATH"]
        )
        assert (stdout is None) == (stderr is None) == (arguments == ["loud"])
        return 0 if arguments == ["loud"] else 3

    for name in ("PIP_NO_CACHE_DIR", "UV_NO_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(subprocess, "call", call)
    monkeypatch.setattr(os, "access", lambda path, mode: has_room and mode == os.W_OK)
    assert run_command(["loud"]) and not run_command(["quiet"], quietly=True)
    assert calls == [(["loud"], str(ROOT)), (["quiet"], str(ROOT))]


def test_windows_names_a_python_by_its_launcher(script):
    names = script["format_command"].__globals__
    names["os"] = SimpleNamespace(name="nt", environ={})
    commands = [script["format_command"]("lab", version) for version in (None, "3.12")]
    assert commands == ["python3 install.py lab", "py -3.12 install.py lab"]


# CI, which skips nothing that it has what is needed for.


@pytest.mark.long
@pytest.mark.parametrize(
    ("unwelcome", "code"), [("", 0), ("PostgreSQL", 0), ("browser|PostgreSQL", 1)]
)
def test_ci_fails_where_a_test_is_skipped_that_it_should_run(tmp_path, unwelcome, code):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.fixture\n"
        "def browser():\n"
        "    pytest.skip('No browser here.')\n"
        "def test_page(browser): pass\n"
        "def test_other(): pass\n"
    )
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            tmp_path,
            tmp_path,
        ],
        env={
            **os.environ,
            "NO_SKIP": unwelcome,
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": str(ROOT / "tests"),
        },
        text=True,
        capture_output=True,
    )
    assert ran.returncode == code, ran.stdout
    assert ("may not be skipped here" in ran.stdout) == bool(code)


def test_ci_asks_for_a_verdict_on_all_that_it_installs():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    refused = "|".join(re.findall(r"NO_SKIP='(.*)' make", script))
    for reason in (
        "No browser here",
        "PostgreSQL is not installed",
        "that needs bubblewrap",
        "needs Keras",
    ):
        assert re.search(refused, reason), reason
