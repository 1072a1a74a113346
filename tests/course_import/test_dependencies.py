"""Modules, packages and files that an imported notebook needs."""

import ast
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_import import dependencies
from course_import.dependencies import Dependencies, is_file_in_folder, read_module
from course_import.nbgrader_source import CellImportReport, SourceCell


@pytest.fixture
def folder(tmp_path):
    files = {
        "data/a.csv": "1",
        "ab": "1",
        "tool.py": "import helper",
        "helper.py": "",
        "pkg/__init__.py": "y",
        "pkg/sub/m.py": "z",
        "pkg/n.txt": "",
    }
    for name, text in files.items():
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "source"


@pytest.fixture
def course_dependencies(folder, tmp_path):
    course = SimpleNamespace(library=("lib",), imports=("imp",), root=tmp_path / "course")
    return Dependencies(folder, course, {"tool", "numpy"}, {"tool", "numpy", "pkg"})


def add_cell(course_dependencies, source):
    report = CellImportReport(SourceCell(1, "given", source))
    course_dependencies.add(report, ast.parse(source))
    return report


def test_what_a_cell_imports_comes_along_and_is_named(course_dependencies):
    report = add_cell(
        course_dependencies, "import tool, pkg, os, imp, lib, numpy, yaml, no_such_module_of_ours"
    )
    assert [text.partition(":")[0] for text in report.additions] == [
        "`tool` came along",
        "`helper` came along",
        "it imports `yaml`",
    ]
    only_solution, missing = report.problems
    assert only_solution.startswith("only its solution imports `pkg`, which lies beside")
    assert missing.startswith("it imports `no_such_module_of_ours`, which is not installed here")
    assert course_dependencies.packages == ["yaml"]
    assert course_dependencies.modules == {
        "tool": {"__init__.py": b"import helper"},
        "helper": {"__init__.py": b""},
    }
    again = add_cell(course_dependencies, "import tool, yaml")
    assert not again.additions and not again.problems


def test_a_module_is_compared_with_that_of_the_course(course_dependencies):
    (course_dependencies.course.root / "tool").mkdir(parents=True)
    (course_dependencies.course.root / "tool" / "__init__.py").write_text("import helper")
    add_cell(course_dependencies, "import tool")
    assert "tool" in course_dependencies.modules
    (course_dependencies.course.root / "helper").mkdir()
    other = Dependencies(
        course_dependencies.folder, course_dependencies.course, {"helper"}, {"helper"}
    )
    with pytest.raises(dependencies.ModuleNameTaken, match="such as `helper_2`"):
        add_cell(other, "import helper")


def test_files_that_a_cell_names_are_found_under_their_names(course_dependencies):
    report = add_cell(
        course_dependencies, "open('data/a.csv'); open('./data/a.csv'); open('none.csv')"
    )
    assert list(course_dependencies.files) == ["data/a.csv"] and len(report.additions) == 1
    assert course_dependencies.replace_file_names('x = """\ndata/a.csv"""') == (
        'x = """\ndata/a.csv"""'
    )
    several = 'x = [\n    "data/a.csv", f"data/a.csv",\n    "./data/a.csv" "",\n]  # "data/a.csv"'
    assert course_dependencies.replace_file_names(several).split("\n") == [
        "x = [",
        '    beside("data/a.csv"), f"data/a.csv",',
        '    beside("data/a.csv"),',
        ']  # "data/a.csv"',
    ]
    assert course_dependencies.replace_file_names("data/a.csv (") == "data/a.csv ("
    source = 'x = open("data/a.csv"); é = "./data/a.csv" + f"{é}"\nopen(base + "/b.csv")'
    assert course_dependencies.replace_file_names(source) == (
        'x = open(beside("data/a.csv")); é = beside("data/a.csv") + f"{é}"\nopen(base + "/b.csv")'
    )


def test_computed_names_of_files_go_through_the_function_that_finds_them(course_dependencies):
    report = CellImportReport(SourceCell(1, "given", ""))
    course_dependencies.add_read_files(report, ["data/a.csv", "none.csv"])
    assert list(course_dependencies.files) == ["data/a.csv"]
    source = 'open(base + "/b.csv")\nopen("data/a.csv")\nPath(p).read_text()\nopen(q, "w")'
    assert course_dependencies.replace_file_names(source).split("\n") == [
        'open(beside(base + "/b.csv"))',
        'open(beside("data/a.csv"))',
        "path_beside(Path(p)).read_text()",
        'open(q, "w")',
    ]


def test_a_file_that_only_a_solution_reads_is_named_once(course_dependencies):
    report = CellImportReport(SourceCell(1, "solution", ""))
    course_dependencies.report_private_files(report, ["data/a.csv", "none.csv"])
    assert (
        len(report.problems) == 1 and "only its solution reads `data/a.csv`" in report.problems[0]
    )
    course_dependencies.add_read_files(CellImportReport(SourceCell(1, "given", "")), ["data/a.csv"])
    course_dependencies.report_private_files(report, ["data/a.csv"])
    assert len(report.problems) == 1


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("open(p)", "beside"),
        ("open(p, mode='rb')", "beside"),
        ("open(p, 'w')", ""),
        ("open(p, mode='a')", ""),
        ("open(p, 'r+')", ""),
        ("open(p, 'r', 1, 'w')", "beside"),
        ("open(p, mode)", "beside"),
        ("open(wax)", "beside"),
        ("open(p, encoding='wax')", "beside"),
        ("pd.read_csv(p, 'w')", "beside"),
        ("pd.to_csv(p)", ""),
        ("open('a')", ""),
        ("open()", ""),
        ("pd.read_csv(base + x)", "beside"),
        ("np.loadtxt(p)", "beside"),
        ("imread(p)", "beside"),
        ("Path(p).read_bytes()", "path_beside"),
        ("print(p)", ""),
        ("reopen(p)", ""),
    ],
)
def test_a_computed_name_is_that_of_a_file_to_read(call, function):
    found = [name for _, name in dependencies._find_computed_names(ast.parse(call))]
    assert found == ([function] if function else [])


@pytest.mark.parametrize(
    ("value", "is_file"),
    [
        ("data/a.csv", True),
        ("./data/a.csv", True),
        ("data", False),
        ("ab", False),  # too short to be a name by intent
        ("data/../ab", False),
        ("none.csv", False),
        ("a.b", True),
        ("a\0b", False),
        ("a{b", False),
        ("a'b", False),
        ("a\\b", False),
        ("l" * 200, True),
        ("l" * 201, False),
        ("da\nta", False),
        (3, False),
    ],
)
def test_a_string_names_a_file_of_the_folder(folder, value, is_file):
    for name in ("a.b", "a{b", "a'b", "a\\b", "l" * 200, "l" * 201):
        (folder / name).write_text("1")
    assert is_file_in_folder(value, folder) == is_file
    assert not is_file_in_folder(str(folder / "data/a.csv"), folder)
    (folder / "outside.csv").symlink_to(folder.parent / "x.csv")
    (folder.parent / "x.csv").write_text("1")
    assert not is_file_in_folder("outside.csv", folder)


@pytest.mark.parametrize(
    ("visible", "solution", "private"),
    [
        ([], ["p.answers"], ["answers.py", "deep/__init__.py", "deep/secret.py"]),
        ([], ["p.deep.secret"], ["deep/__init__.py", "deep/secret.py"]),
        (["p.deep.secret"], ["p.answers"], ["answers.py"]),
        (["p.answers"], ["p.answers"], []),
        ([], ["p.used", "p.needed"], []),
        ([], ["p.none", "pq.answers"], []),
    ],
)
def test_files_that_only_solutions_import_are_those_they_import_in_turn_too(
    course_dependencies, visible, solution, private
):
    """Regression: a file that only a solution's own file imports came along to students."""
    files = {
        "__init__.py": b"from .used import HALF",
        "used.py": b"from p.needed import HALF",
        "needed.py": b"HALF = 0.5",
        "answers.py": b"from . import deep",
        "deep/__init__.py": b"from . import secret",
        "deep/secret.py": b"import p.used",
        "more.py": b"",
        "broken.py": b"(",
    }
    course_dependencies._visible_modules = {"p", "p.broken", *visible}
    course_dependencies._all_modules = {"p", "p.broken", *visible, *solution}
    assert course_dependencies._find_files_only_for_solutions("p", files) == private


def test_a_file_that_a_module_of_students_imports_comes_along(course_dependencies):
    folder = course_dependencies.folder
    (folder / "tool.py").write_text("import pkg.shared")
    (folder / "pkg/shared.py").write_text("")
    (folder / "pkg/answers.py").write_text("import pkg.shared")
    course_dependencies._all_modules = {"pkg.answers"}
    report = add_cell(course_dependencies, "import tool")
    assert [*course_dependencies.modules["pkg"]] == ["__init__.py", "shared.py", "sub/m.py"]
    assert [problem.partition(",")[0] for problem in report.problems] == [
        "only a solution imports `pkg/answers.py`"
    ]


def test_a_module_is_a_file_or_a_package(folder):
    assert read_module(folder, "tool") == {"__init__.py": b"import helper"}
    assert read_module(folder, "pkg") == {"__init__.py": b"y", "sub/m.py": b"z"}
    assert read_module(folder, "none") == {}
    (folder / "link.py").symlink_to(folder / "tool.py")
    assert read_module(folder, "link") == {}


def test_imported_names_are_whole_and_relative_ones_refer_to_their_package():
    trees = [ast.parse("import a.b, c as d\nfrom e import f\nfrom . import g"), None]
    assert dependencies.find_imported_dotted_names(trees) == {"a.b", "c", "e", "e.f"}
    tree = ast.parse("from . import g\nfrom ..h import i\nfrom .j import k")
    assert dependencies.find_imported_dotted_names([tree], "p.q") == {
        *("p.q", "p.q.g", "p.h", "p.h.i", "p.q.j", "p.q.j.k"),
    }
    tree = ast.parse("import a.b, e\nfrom .c import d\nfrom . import f\nfrom g.h import i")
    assert dependencies.find_imported_modules([tree, None]) == {"a", "e", "g"}
    assert dependencies._list_files_run_by_import("p", "p.q.r") == {
        *("__init__.py", "q/__init__.py", "q/r.py", "q/r/__init__.py"),
    }


def test_a_lab_imports_its_files_by_the_name_of_its_module():
    line = "from course_files.my_lab import beside, path_beside"
    assert dependencies.make_files_import("my-lab") == line
    assert dependencies.make_files_import("my-lab", True) == f"{line}, put_files\n\nput_files()"


def test_a_module_named_like_a_folder_of_a_course_stays(course_dependencies):
    (course_dependencies.folder / "report.py").write_text("")
    course_dependencies._visible_packages.add("report")
    report = add_cell(course_dependencies, "import report")
    assert report.problems == [
        "it imports `report`, which lies beside the notebook, and a course keeps its own files in "
        "a folder `report`: give the module another name"
    ]
    assert not course_dependencies.modules


@pytest.fixture
def course_entries(monkeypatch):
    """Entries that the import adds to course.toml; the file itself stays as it is."""
    entries = []
    monkeypatch.setattr(
        dependencies, "add_to_course_list", lambda course, key, name: entries.append((key, name))
    )
    return entries


def test_what_came_along_is_written_into_the_course_and_listed_once(
    course_dependencies, course_entries
):
    add_cell(course_dependencies, "import tool, yaml\nopen('data/a.csv')")
    root = course_dependencies.course.root
    course_dependencies.course.library += ("helper",)
    course_dependencies.write("my-lab")
    assert course_entries == [("library", "tool"), ("imports", "yaml"), ("library", "course_files")]
    assert (root / "tool" / "__init__.py").read_text() == "import helper"
    assert (root / "helper" / "__init__.py").read_text() == ""
    package = root / "course_files"
    assert (package / "__init__.py").read_text() == '"""Files that came with imported labs."""\n'
    course_dependencies.course.library += ("course_files", "tool")
    (package / "__init__.py").write_text("# mine")
    course_dependencies.packages.clear()
    course_entries.clear()
    course_dependencies.write("second")
    assert course_entries == [] and (package / "__init__.py").read_text() == "# mine"
    names = sorted(path.name for path in package.iterdir())
    assert names == ["__init__.py", "my_lab.py", "second.py"]
    course_dependencies.files.clear()
    course_dependencies.write("third")
    assert not (package / "third.py").exists()


def test_copies_of_files_are_found_by_their_names_and_put_into_notebooks(
    course_dependencies, course_entries, tmp_path, monkeypatch
):
    add_cell(course_dependencies, "open('data/a.csv'), open('pkg/n.txt')")
    course_dependencies.write("my-lab")
    namespace = {}
    exec((course_dependencies.course.root / "course_files/my_lab.py").read_text(), namespace)
    beside = namespace["beside"]
    for name in ("data/a.csv", "./data/a.csv", Path("data/a.csv")):
        assert Path(beside(name)).read_text() == "1"
        assert namespace["path_beside"](name).read_text() == "1"
    for name in ("a.csv", "/data/a.csv", 3):
        assert beside(name) is name
    (tmp_path / "lab" / "pkg").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "lab")
    Path("pkg/n.txt").write_text("mine")
    shell = None
    monkeypatch.setitem(
        namespace["sys"].modules, "IPython", SimpleNamespace(get_ipython=lambda: shell)
    )
    namespace["put_files"]()
    assert not Path("data").exists(), "it is no notebook"
    shell = object()
    namespace["put_files"]()
    assert Path("data/a.csv").read_text() == "1"
    assert Path("pkg/n.txt").read_text() == "mine"
    namespace["_FOLDER"].cleanup()


def test_all_files_of_a_lab_together_keep_to_the_limit(course_dependencies, monkeypatch):
    size = len(zlib.compress(b"1", 9))
    monkeypatch.setattr(dependencies, "MAX_FILE_BYTES", 2 * size)
    folder = course_dependencies.folder
    for name in ("1.csv", "2.csv", "3.csv"):
        (folder / name).write_text("1")
    report = CellImportReport(SourceCell(1, "given", ""))
    course_dependencies.add_read_files(report, ["1.csv", "none.csv", "1.csv"])
    assert course_dependencies.has_computed_names
    course_dependencies.add_read_files(report, ["2.csv", "3.csv"])
    assert [*course_dependencies.files] == ["1.csv", "2.csv"]
    assert report.problems == [
        "it reads `3.csv`, which is too large to come along: let the library give it out"
    ]
    assert len(report.additions) == 2


def test_a_file_of_a_module_that_is_no_python_is_named_and_the_others_are_read(
    course_dependencies, folder
):
    (folder / "tool.py").unlink()
    for name, text in (("__init__.py", "print 3"), ("a.py", "import yaml"), ("b.py", "")):
        (folder / "tool").mkdir(exist_ok=True)
        (folder / "tool" / name).write_text(text)
    report = add_cell(course_dependencies, "import tool")
    assert report.problems == ["`tool/__init__.py` is no Python"]
    assert course_dependencies.packages == ["yaml"]
