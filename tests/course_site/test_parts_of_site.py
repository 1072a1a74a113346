"""The parts of a site, without building one: wheels, lock file, settings, and the command's options."""

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.error import URLError

import pytest
from click.testing import CliRunner
from our_course import COURSE

import autograder
from autograder.cli import main
from autograder.core.course import COURSE_VARIABLE
from autograder.core.errors import UsageError
from course_site import site as web

LOCK = {
    "info": {"python": "3.14.2"},
    "packages": {
        "numpy": {
            "name": "numpy",
            "version": "2.4.6",
            "file_name": "numpy-2.4.6-cp314.whl",
            "depends": ["Lib.Blas", "missing"],
            "imports": ["numpy"],
        },
        "lib-blas": {
            "name": "lib-blas",
            "version": "1",
            "file_name": "lib_blas-1-py3-none-any.whl",
            "depends": [],
        },
        "ipython": {
            "name": "ipython",
            "version": "9",
            "file_name": "ipython-9-py3-none-any.whl",
            "depends": [],
        },
        "comm": {"name": "comm", "version": "2", "file_name": "comm-2.zip", "depends": []},
    },
}


def copy_lock():
    return json.loads(json.dumps(LOCK))


def make_distribution(folder, names=(web.LOCK_FILE, "pyodide.mjs")):
    folder.mkdir()
    for name in names:
        (folder / name).write_text(json.dumps(LOCK))
    return folder


def test_web_passes_its_options_on(monkeypatch, tmp_path):
    calls = []

    def write_site(course, target, pyodide):
        calls.append((course.id, str(target), pyodide))
        target = tmp_path / "site"
        target.mkdir(exist_ok=True)
        (target / "lab.ipynb").write_bytes(b"0" * 3_000_000)
        return target

    monkeypatch.setattr(web, "write_site", write_site)
    monkeypatch.setenv(COURSE_VARIABLE, str(COURSE.root))
    plain = CliRunner().invoke(main, ["web"])
    ran = CliRunner().invoke(main, ["web", "--output", "public", "--pyodide", "https://p.example"])
    assert (plain.exit_code, ran.exit_code) == (0, 0), plain.output + ran.output
    assert calls == [
        (COURSE.id, "dist/web", ""),
        (COURSE.id, "public", "https://p.example"),
    ]
    assert f"{tmp_path / 'site'}: 3 MB." in ran.output
    assert f"python -m http.server -d {tmp_path / 'site'}" in ran.output


def test_a_site_is_built_of_its_pages_packages_and_settings(monkeypatch, tmp_path):
    steps = []
    lite, wheels, site = (tmp_path / name for name in ("lite", "wheels", "site"))

    def step(name, answer=None):
        def take_step(*arguments):
            steps.append((name, *arguments))
            if name == "wheels":
                write_test_wheel(wheels / "a.whl", "")
            elif name == "jupyterlite":
                (site / "static").mkdir(parents=True)
            elif name == "lock":
                assert (site / "static/wheels/a.whl").is_file()
                lock["info"]["done"] = True
            return answer

        return take_step

    lock = copy_lock()
    for function, replacement in {
        "_write_pages": step("pages"),
        "_read_lock_and_copy_pyodide": step("pyodide", (lock, "base")),
        "_make_wheels": step("wheels"),
        "_run_jupyterlite": step("jupyterlite"),
        "_add_wheels_to_lock": step("lock"),
        "_configure_kernel": step("kernel"),
    }.items():
        monkeypatch.setattr(web, function, replacement)
    assert web._build_site(COURSE, tmp_path, "source") == site
    assert steps == [
        ("pages", tmp_path / "contents", COURSE),
        ("pyodide", "source", lite),
        ("wheels", wheels, COURSE, lock, "base"),
        ("jupyterlite", lite, tmp_path / "contents", site, COURSE),
        ("lock", site, lock, "base"),
        ("kernel", site, "base", "3.14", COURSE),
    ]
    assert json.loads((site / "static/lock/pyodide-lock.json").read_text("utf-8")) == lock
    assert lock["info"]["done"]


def test_the_start_page_is_written_as_notebooks_are(tmp_path):
    page = tmp_path / web.START_PAGE
    cells = [{"cell_type": "markdown", "source": "é"}]
    page.write_text(json.dumps({"cells": cells}), "utf-8")
    web._add_browser_note(page)
    note = {"cell_type": "markdown", "id": "browser", "metadata": {}, "source": web._BROWSER_NOTE}
    text = json.dumps({"cells": [*cells, note]}, indent=1, ensure_ascii=False)
    assert page.read_bytes() == f"{text}\n".encode()


@pytest.fixture
def build(monkeypatch):
    """Let a site be one small file, or fail."""

    def build_site(course, work_folder, pyodide):
        if pyodide == "broken":
            raise web.WebError("No network.")
        site = work_folder / "site"
        site.mkdir()
        (site / "jupyter-lite.json").write_text(pyodide)
        return site

    monkeypatch.setattr(web, "_build_site", build_site)


def test_a_site_replaces_an_earlier_one_and_an_empty_folder(build, tmp_path, monkeypatch):
    target = tmp_path / "public" / "site"
    assert web.write_site(COURSE, target, "first") == target
    (target / "old").write_text("")
    web.write_site(COURSE, target, "second")
    assert [path.name for path in target.iterdir()] == ["jupyter-lite.json"]
    assert (target / "jupyter-lite.json").read_text() == "second"
    assert [path.name for path in target.parent.iterdir()] == ["site"]
    monkeypatch.chdir(tmp_path)
    assert web.write_site(COURSE, Path("public/site"), "second") == target
    (tmp_path / "empty").mkdir()
    web.write_site(COURSE, tmp_path / "empty", "third")
    assert (tmp_path / "empty" / "jupyter-lite.json").read_text() == "third"


def test_a_folder_of_other_files_is_refused_and_a_failure_leaves_the_site(build, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").write_text("work")
    with pytest.raises(UsageError, match="is no site of labs: name another folder with --output"):
        web.write_site(COURSE, tmp_path / "mine", "new")
    assert (tmp_path / "mine" / "thesis").read_text() == "work"
    web.write_site(COURSE, tmp_path / "site", "good")
    with pytest.raises(web.WebError):
        web.write_site(COURSE, tmp_path / "site", "broken")
    assert (tmp_path / "site" / "jupyter-lite.json").read_text() == "good"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "site"]


def test_the_title_of_a_course_is_text_in_the_first_page():
    page = web.make_index_page("Sums & <Products>")
    assert "<title>Sums &amp; &lt;Products&gt;</title>" in page and "<Products>" not in page
    assert 'data-jupyter-lite-root=".">{}</script>' in page


def test_the_pages_have_a_note_on_the_browser_and_no_answers(tmp_path, monkeypatch):
    def copy_labs(folder, course):
        for name in ("lab/answers", web.HANDED_OUT_FOLDER):
            (folder / name).mkdir(parents=True)
        (folder / "lab/answers/key.json").write_text("{}")
        (folder / "lab/lab.ipynb").write_text("{}")
        cells = [{"cell_type": "markdown", "source": "# Title"}, {"cell_type": "code"}]
        (folder / web.START_PAGE).write_text(json.dumps({"cells": cells}))

    monkeypatch.setattr(web, "copy_labs", copy_labs)
    pages = tmp_path / "pages"
    web._write_pages(pages, COURSE)
    files = {path.relative_to(pages).as_posix() for path in pages.rglob("*") if path.is_file()}
    assert files == {"lab/lab.ipynb", web.START_PAGE}
    cells = json.loads((pages / web.START_PAGE).read_text("utf-8"))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "markdown", "code"]
    assert cells[0]["source"] == "# Title" and "stays in this browser" in cells[1]["source"]


@pytest.mark.parametrize("names", [(web.LOCK_FILE,), ("pyodide.mjs",), ()])
def test_a_folder_without_a_part_of_pyodide_is_no_distribution(tmp_path, names):
    folder = make_distribution(tmp_path / "pyodide", names)
    with pytest.raises(web.WebError, match="is no distribution of Pyodide"):
        web._read_lock_and_copy_pyodide(str(folder), tmp_path / "lite")


def test_pyodide_comes_from_a_folder_or_an_address(tmp_path, monkeypatch):
    folder = make_distribution(tmp_path / "pyodide")
    lock, base = web._read_lock_and_copy_pyodide(str(folder), tmp_path / "lite")
    assert (lock, base) == (LOCK, "../pyodide")
    assert (tmp_path / "lite/static/pyodide/pyodide.mjs").is_file()

    addresses = []

    def urlopen(address, timeout):
        addresses.append(address)
        return (folder / web.LOCK_FILE).open("rb")

    monkeypatch.setattr(web, "urlopen", urlopen)
    lock, base = web._read_lock_and_copy_pyodide("https://p.example/v1/", tmp_path / "remote")
    assert (lock, base) == (LOCK, "https://p.example/v1")
    _, base = web._read_lock_and_copy_pyodide("", tmp_path / "default")
    assert base.startswith("https://")
    assert addresses == ["https://p.example/v1/pyodide-lock.json", f"{base}/pyodide-lock.json"]


@pytest.mark.parametrize("has_room", [True, False])
def test_the_list_of_packages_is_read_up_to_a_limit(tmp_path, monkeypatch, has_room):
    data = json.dumps(LOCK).encode()
    monkeypatch.setattr(web, "_MAX_LOCK_BYTES", len(data) - (not has_room))
    monkeypatch.setattr(web, "urlopen", lambda address, timeout: io.BytesIO(data))
    if has_room:
        assert web._read_lock_and_copy_pyodide("https://p.example", tmp_path / "a")[0] == LOCK
    else:
        with pytest.raises(web.WebError):
            web._read_lock_and_copy_pyodide("https://p.example", tmp_path / "a")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (URLError("no route"), "<urlopen error no route>"),
        (TimeoutError("timed out"), "timed out"),
        (io.BytesIO(b"<html>"), "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_a_failed_download_names_the_address_and_the_remedy(tmp_path, monkeypatch, answer, reason):
    monkeypatch.setattr(web, "urlopen", Mock(side_effect=[answer]))
    with pytest.raises(web.WebError) as error:
        web._read_lock_and_copy_pyodide("https://p.example/", tmp_path / "lite")
    assert str(error.value) == (
        f"Pyodide's list of packages could not be fetched from https://p.example ({reason}). Where there "
        "is no network, name a folder that holds Pyodide's distribution: `make web PYODIDE=FOLDER`, or "
        "`autograder web --pyodide FOLDER`."
    )
    web.urlopen.assert_called_once_with(f"https://p.example/{web.LOCK_FILE}", timeout=60)
    assert (tmp_path / "lite").is_dir()  # JupyterLite finds its folder also without Pyodide


def read_wheel(folder, name):
    (wheel,) = folder.glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {path: archive.read(path).decode() for path in archive.namelist()}


@pytest.mark.parametrize(
    ("base", "source"), [("../pyodide", "this site"), ("https://p.example", "https://p.example")]
)
def test_the_site_has_wheels_of_the_course_the_start_and_pure_packages(
    tmp_path, monkeypatch, base, source
):
    downloads = []
    monkeypatch.setattr(web, "_download", lambda *arguments: downloads.append(arguments))
    monkeypatch.setattr(web, "_collect_student_files", lambda course: {"autograder/a.py": b"1"})
    wheels = tmp_path / "wheels"
    web._make_wheels(wheels, COURSE, LOCK, base)
    ((pins, folder, python),) = downloads
    # NumPy is no pure package, and comm has its own file in Pyodide's distribution.
    assert {"ipython==9", "lib-blas==1"} == {pin for pin in pins if "widgets" not in pin}
    assert sorted(pin.partition("==")[0] for pin in pins if "widgets" in pin) == [
        "ipywidgets",
        "jupyterlab-widgets",
    ]
    assert (folder, python) == (wheels, "3.14")
    course_wheel = read_wheel(wheels, COURSE.id.replace("-", "_"))
    assert course_wheel["autograder/a.py"] == "1"
    (metadata,) = [text for name, text in course_wheel.items() if name.endswith("METADATA")]
    assert [line for line in metadata.split("\n") if line.startswith("Requires-Dist")] == [
        f"Requires-Dist: {name}" for name in ("ipython", "ipywidgets", "matplotlib", "numpy")
    ]
    startup = read_wheel(wheels, "labs_start")
    (hint,) = [text for name, text in startup.items() if name.endswith("/startup/fetched.py")]
    assert f"could not be fetched from {source}." in hint
    compile(hint, "fetched.py", "exec")
    assert any(name.endswith("/startup/before.py") for name in startup)


def test_a_wheel_says_its_name_version_and_kind(tmp_path):
    web._write_wheel(tmp_path, "Some-Course", {"data/x.csv": b"1"}, ["numpy", "ipython"])
    files = read_wheel(tmp_path, "some_course")
    folder = f"some_course-{autograder.__version__}.dist-info"
    record = files.pop(f"{folder}/RECORD")
    assert [line.split(",")[0] for line in record.split()] == [*files, f"{folder}/RECORD"]
    assert files == {
        "data/x.csv": "1",
        f"{folder}/METADATA": "Metadata-Version: 2.1\nName: Some-Course\n"
        f"Version: {autograder.__version__}\nRequires-Dist: numpy\nRequires-Dist: ipython\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }


def test_a_changed_file_gives_its_wheel_another_name(tmp_path):
    for content in (b"old", b"new", b"old"):
        web._write_wheel(tmp_path, "Some-Course", {"data/x.csv": content})
    names = [path.name for path in tmp_path.iterdir()]
    assert len(names) == 2 and all(name.startswith("some_course-") for name in names), names


def test_a_student_gets_the_library_the_data_and_no_file_beside_them(monkeypatch):
    names = ["course.toml", "autograder/cli.py", "notebooks/a/a.ipynb", "attention_labs/x.py"]
    names += ["data/words.npz", "README.md", "data-old/x", "install.py"]
    monkeypatch.setattr(
        web, "collect_student_zip_files", lambda course: dict.fromkeys(names, b"content")
    )
    course = SimpleNamespace(library=("attention_labs",), data=("data",))
    assert sorted(web._collect_student_files(course)) == sorted(names[:5])


def test_dependencies_are_followed_by_any_spelling_and_once():
    packages = copy_lock()["packages"]
    packages["lib-blas"]["depends"] = ["NumPy"]
    found = list(web._find_dependencies(packages, ["numpy", "unknown"]))
    assert sorted(found) == ["lib-blas", "numpy"]


def write_test_wheel(path, metadata, modules=("good.py",)):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*modules, "good.dist-info/RECORD"):
            archive.writestr(name, "")
        archive.writestr("good.dist-info/METADATA", f"Name: Good.One\nVersion: 2\n{metadata}\n")
    return path


def test_a_wheel_s_entry_has_what_holds_in_the_browser(tmp_path):
    requirements = [
        "Requires-Dist: numpy>=1",
        'Requires-Dist: colorama; sys_platform == "win32"',
        'Requires-Dist: tomli; python_version < "3.11"',
        'Requires-Dist: new; python_version >= "3.14"',
        'Requires-Dist: fetch; platform_system == "Emscripten"',
        'Requires-Dist: posix; os_name == "posix" and sys_platform == "emscripten"',
        'Requires-Dist: windows; os_name == "nt"',
        'Requires-Dist: pytest; extra == "test"',
    ]
    modules = ("good/__init__.py", "solo.py", "no-module.py", "data/words.txt")
    wheel = write_test_wheel(tmp_path / "good.whl", "\n".join(requirements), modules)
    entry = web._make_lock_entry(wheel, LOCK, "../../x.whl")
    assert entry == {
        "name": "Good.One",
        "version": "2",
        "file_name": "../../x.whl",
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": ["good", "solo"],
        "depends": ["numpy", "new", "fetch", "posix"],
        "unvendored_tests": False,
    }
    lock = {**LOCK, "packages": {"good-one": {"imports": ["better"]}}}
    assert web._make_lock_entry(wheel, lock, "x")["imports"] == ["better"]


@pytest.mark.parametrize("base", ["../pyodide", "https://p.example"])
def test_the_lock_file_has_all_wheels_with_addresses_and_no_missing_package(tmp_path, base):
    lock = copy_lock()
    write_test_wheel(tmp_path / "static/wheels/good.whl", "Requires-Dist: absent")
    kernel = "extensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
    write_test_wheel(tmp_path / kernel / "ipython-10.whl", "Name: none")
    web._add_wheels_to_lock(tmp_path, lock, base)
    packages = lock["packages"]
    assert packages["numpy"]["file_name"] == f"{base}/numpy-2.4.6-cp314.whl"
    assert packages["numpy"]["depends"] == ["Lib.Blas"]
    # The site's own wheel goes before that of the kernel's extension.
    assert packages["good-one"]["file_name"] == "../../static/wheels/good.whl"
    assert packages["good-one"]["depends"] == []


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("../pyodide", "./static/pyodide/pyodide.mjs"),
        ("https://p.example", "https://p.example/pyodide.mjs"),
    ],
)
def test_the_kernel_finds_pyodide_the_course_and_no_index(tmp_path, base, address):
    (tmp_path / "jupyter-lite.json").write_text('{"jupyter-config-data": {"kept": 1}}')
    web._configure_kernel(tmp_path, base, "3.14", COURSE)
    settings = json.loads((tmp_path / "jupyter-lite.json").read_text())["jupyter-config-data"]
    kernel = settings["litePluginSettings"]["@jupyterlite/pyodide-kernel-extension:kernel"]
    assert kernel["pyodideUrl"] == address
    assert kernel["disablePyPIFallback"] is True
    options = kernel["loadPyodideOptions"]
    assert options["lockFileURL"] == "./static/lock/pyodide-lock.json"
    assert options["packages"] == [*web._KERNEL, "labs_start"]
    assert options["env"] == {
        "HOME": "/home/pyodide",
        COURSE_VARIABLE: "/lib/python3.14/site-packages",
        "IPYTHONDIR": "/lib/python3.14/site-packages/labs_start",
    }
    assert (settings["kept"], settings["appName"]) == (1, COURSE.title)
    assert COURSE.title in (tmp_path / "index.html").read_text("utf-8")


def test_a_package_that_is_not_installed_is_one_sentence():
    with pytest.raises(web.WebError, match="no-such-package is not installed here: `make setup`"):
        web._pin_installed("no-such-package")


def test_pip_downloads_pure_wheels_for_the_browser_s_python(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(web.distribution, "run_module", lambda *parts: commands.append(parts))
    web._download(["a==1", "b==2"], tmp_path, "3.14")
    ((_, *command),) = commands
    assert " ".join(command) == (
        "pip download -q --no-deps --only-binary=:all: --python-version=3.14 --implementation=py --abi=none "
        f"--platform=any -d {tmp_path} a==1 b==2"
    )


def test_jupyterlite_gets_the_pages_and_only_the_site_s_extensions(tmp_path, monkeypatch):
    lite, pages, site = (tmp_path / name for name in ("lite", "pages", "site"))
    lite.mkdir()
    calls = []

    def run_module(failure, *command, **options):
        calls.append((command, options))

    monkeypatch.setattr(web.distribution, "run_module", run_module)
    with pytest.raises(web.WebError, match="could not build the site: no reason was given"):
        web._run_jupyterlite(lite, pages, site, COURSE)
    ((command, options),) = calls
    assert command == ("jupyterlite_core", "build", "--lite-dir", str(lite))
    assert options == {"cwd": lite, "marker": "Error"}
    site.mkdir()
    (site / "jupyter-lite.json").write_text("{}")
    shutil.rmtree(lite / "labextensions")
    web._run_jupyterlite(lite, pages, site, COURSE)
    (path,) = lite.glob("jupyter_lite_config.json")
    settings = json.loads(path.read_text())["LiteBuildConfig"]
    assert (settings["contents"], settings["output_dir"]) == ([str(pages)], str(site))
    assert (settings["apps"], settings["no_sourcemaps"]) == (["lab", "notebooks"], True)
    assert settings["ignore_sys_prefix"] == ["federated_extensions"]
    extensions = settings["federated_extensions"]
    assert len(extensions) == 3 and "pyodide-kernel-extension" in extensions[0]
    assert json.loads((lite / "overrides.json").read_text())[
        "@jupyterlab/docmanager-extension:plugin"
    ] == {"autosaveInterval": 20}
