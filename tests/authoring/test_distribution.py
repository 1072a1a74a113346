"""Packages of the engine and of a course: their files, their pyproject.toml, and zips."""

import io
import stat
import tomllib
import zipfile
from types import SimpleNamespace

import pytest

from autograder.authoring import bundle, distribution
from autograder.core.errors import AutograderError


def read_project(*arguments, **options):
    return tomllib.loads(distribution.make_pyproject(*arguments, **options).decode())


def test_a_project_takes_over_what_it_needs_from_that_of_the_repository():
    source = distribution.read_pyproject()["project"]
    made = read_project(
        ["autograder"], ["lab"], {"autograder": ["**/templates/**"]}, name='it\'s "ä"'
    )
    project = made["project"]
    assert project["name"] == 'it\'s "ä"' and project["dependencies"] == source["dependencies"]
    assert not {"readme", "license-files"} & project.keys()
    assert [*project["optional-dependencies"]] == ["lab"]
    assert project["scripts"] == source["scripts"] and "entry-points" not in project
    tool = made["tool"]["setuptools"]
    assert tool["packages"]["find"] == {"include": ["autograder*"]}
    assert tool["package-data"] == {"autograder": ["**/templates/**"]}
    other = read_project(["similarity", "tools"], (), scripts=False, readme="README.md")
    assert other["project"]["readme"] == "README.md" and "scripts" not in other["project"]
    commands = other["project"]["entry-points"]["autograder.commands"]
    assert [*commands] == ["similar"] and "package-data" not in other["tool"]["setuptools"]


@pytest.mark.parametrize(
    ("imports", "packages"),
    [
        ((), set()),
        (("keras", "jax", "torch"), set()),
        (("keras", "yaml"), {"PyYAML"}),
        (("yaml",), {"PyYAML"}),
    ],
)
def test_packages_of_an_extra_have_no_version_of_their_own(
    tmp_path, monkeypatch, imports, packages
):
    monkeypatch.setattr(distribution, "packages_distributions", lambda: {"yaml": ["PyYAML"]})
    course = SimpleNamespace(imports=imports, root=tmp_path)
    assert distribution.find_allowed_package_versions(course).keys() == packages


@pytest.mark.parametrize("module", ["no_such_module", "jax_without_keras"])
def test_a_package_that_is_not_installed_is_named(tmp_path, monkeypatch, module):
    monkeypatch.setattr(distribution, "KERAS_MODULES", ("keras", "jax_without_keras"))
    monkeypatch.setattr(distribution, "packages_distributions", dict)
    course = SimpleNamespace(imports=(module,), root=tmp_path)
    with pytest.raises(AutograderError, match=f"students may import {module}, which is not inst"):
        distribution.find_allowed_package_versions(course)


def test_the_engine_has_its_programs_and_templates_and_copies_of_the_root():
    files = distribution.make_engine_project_files({"polars": "1.0"})
    suffixes = {name.rpartition(".")[2] for name in files if name.startswith("course_import/")}
    assert suffixes == {"py"} and "course_import/importer.py" in files
    assert "autograder/authoring/templates/lab/lab.toml.txt" in files
    for name in ("constraints.txt", "install.py", "LICENSE", "pyproject.toml"):
        assert files[f"autograder/shipped/{name}"] == distribution.read_root_file(name)
    assert files["constraints.txt"].endswith(b"\npolars==1.0\n")
    project = tomllib.loads(files["pyproject.toml"].decode())["project"]
    assert project["name"] == "labs-autograder" and project["dependencies"][-1] == "polars"
    extras = {*project["optional-dependencies"]}
    assert not extras & {"keras", "jax", "torch", "test"} and "lab" in extras
    plain = distribution.make_engine_project_files()
    assert plain["constraints.txt"] == distribution.read_root_file("constraints.txt")


def test_the_library_of_a_course_needs_the_engine_of_this_version(tmp_path):
    for name in ("tools/a.py", "tools/sub/b.py", "tools/notes.md", "tools/.hidden/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    course = SimpleNamespace(library=("tools",), root=tmp_path, id="sums", title="Sums")
    files = distribution.make_library_project_files(course)
    assert {*files} == {"tools/a.py", "tools/sub/b.py", "pyproject.toml"}
    project = tomllib.loads(files["pyproject.toml"].decode())["project"]
    version = distribution.read_pyproject()["project"]["version"]
    assert project["dependencies"] == [f"labs-autograder=={version}", "matplotlib", "numpy"]
    assert (project["name"], project["description"]) == ("sums", "Sums")
    assert "scripts" not in project and {*project["optional-dependencies"]} == {
        "keras",
        "jax",
        "torch",
    }


def test_hidden_and_generated_files_are_no_files_of_a_project(tmp_path):
    for name in ("b.py", "a/c.txt", ".x", ".git/d", "a/__pycache__/e.pyc", ".ipynb_checkpoints/f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    paths = [*distribution.list_files(tmp_path)]
    assert [*distribution.read_files(tmp_path, paths)] == ["a/c.txt", "b.py"]


def test_a_zip_keeps_the_order_and_makes_programs_executable(tmp_path):
    files = {"b.py": b"#!/usr/bin/env python", "a/c.txt": b"text " * 99}
    data = distribution.make_zip(files.items())
    assert data == distribution.make_zip(files.items())
    distribution.write_files(tmp_path, files)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == [*files]
    for entry, mode in zip(entries, (0o755, 0o644), strict=True):
        assert entry.external_attr >> 16 == 0o100000 | mode and entry.create_system == 3
        assert entry.date_time == (2025, 1, 1, 0, 0, 0)
        assert entry.compress_type == zipfile.ZIP_DEFLATED
        assert stat.S_IMODE((tmp_path / entry.filename).stat().st_mode) == mode
        assert (tmp_path / entry.filename).read_bytes() == files[entry.filename]


@pytest.mark.parametrize(
    ("name", "leaves"),
    [
        ("docs/a.txt", False),
        ("docs/..a.txt", False),
        ("../a.txt", True),
        ("docs/../a.txt", True),
        ("./a.txt", True),
        ("/a.txt", True),
        ("docs\\a.txt", True),
        ("C:a.txt", True),
    ],
)
def test_a_path_that_could_lead_out_of_the_zips_folder_is_known(name, leaves):
    assert bundle._leaves_folder(name) is leaves


@pytest.mark.parametrize(
    ("imports", "extras"), [((), ["lab"]), (("keras", "yaml"), ["lab", "keras", "jax", "torch"])]
)
def test_the_students_project_has_the_extras_of_the_course(imports, extras):
    course = SimpleNamespace(imports=imports, library=("tools",), id="sums", title="Sums")
    made = tomllib.loads(bundle._make_student_pyproject(course, {"polars": "1.0"}).decode())
    assert sorted(made["project"]["optional-dependencies"]) == sorted(extras)
    assert made["project"]["dependencies"][-1] == "polars" and made["project"]["name"] == "sums"
    assert made["tool"]["setuptools"]["packages"]["find"]["include"] == ["autograder*", "tools*"]


def test_a_version_is_added_only_for_a_package_without_one():
    text = distribution.read_root_file("constraints.txt")
    assert distribution.make_constraints({"NumPy": "0.1", "numpy": "0.1"}) == text
    longer = distribution.make_constraints({"no-such-package": "1.2", "Other": "3"})
    assert longer == text + b"no-such-package==1.2\nOther==3\n"


def test_the_data_of_a_course_are_the_files_in_its_folders(tmp_path):
    for name in ("b/x.npz", "a/z.csv", "a/y.csv", "a/make.py", "a/.hidden", "a/sub/w.csv", "c/v"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    course = SimpleNamespace(data=("b", "a"), root=tmp_path)
    files = [path.relative_to(tmp_path) for path in distribution.list_data_files(course)]
    assert [file.as_posix() for file in files] == ["b/x.npz", "a/y.csv", "a/z.csv"]


@pytest.mark.parametrize(
    ("code", "marker", "reason"),
    [
        (0, "", None),
        (1, "", "the last"),
        (1, "Error", "Error: no room"),
        (1, "Fatal", "no reason was given"),
        (-9, "", "the last"),
    ],
)
def test_a_failure_of_a_module_is_told_by_the_last_line_that_explains_it(
    tmp_path, monkeypatch, code, marker, reason
):
    calls = []

    def run(arguments, **options):
        calls.append((arguments[1:], options["cwd"]))
        output = "Error: first\n  Error: no room \nthe middle\n"
        return SimpleNamespace(returncode=code, stdout=output, stderr="\n the last\n\n")

    monkeypatch.setattr(distribution.subprocess, "run", run)
    if reason is None:
        distribution.run_module("It failed", "pip", "-q", cwd=tmp_path, marker=marker)
    else:
        with pytest.raises(AutograderError) as caught:
            distribution.run_module("It failed", "pip", "-q", cwd=tmp_path, marker=marker)
        assert str(caught.value) == f"It failed: {reason}"
    assert calls == [(["-m", "pip", "-q"], tmp_path)]
