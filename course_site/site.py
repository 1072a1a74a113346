"""Make a static website of the students' labs; JupyterLite and Pyodide run them in the browser.

The site holds the students' notebooks and the start page, one wheel with the students' part of the
engine, the course's library, data and answer keys, and the pure Python packages that these need.
Python itself, NumPy and Matplotlib come from Pyodide's distribution, in a folder of the site or at
a URL.

Pyodide installs the packages that a cell imports, by its lock file; the site's lock file lists the
site's own wheels as well.
"""

import hashlib
import html
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from email import message_from_bytes
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import autograder
from autograder.authoring import distribution
from autograder.authoring.bundle import collect_student_zip_files
from autograder.core.course import COURSE_FILE, COURSE_VARIABLE, Course
from autograder.core.errors import AutograderError, UsageError
from autograder.student import jupyterlab_layout, setup_hint
from autograder.student.update import HANDED_OUT_FOLDER
from autograder.student.workspace import START_PAGE, copy_labs

LOCK_FILE = "pyodide-lock.json"
_LOCAL_BASE = "../pyodide"  # Pyodide's folder, relative to the lock file's
_STARTUP_PACKAGE = "labs_start"  # wheel with the code that IPython runs when a kernel starts
_MAX_LOCK_BYTES = 20_000_000  # the lock file of 2025 has 120,000 bytes
_DOWNLOAD_SECONDS = 60
# Packages that the notebook kernel needs when it starts. If the lock file lists all of them, the
# browser asks no package index.
_KERNEL = ("micropip", "piplite", "pyodide-kernel", "ipykernel", "comm", "ipython", "jedi")
# Packages that the students' part of the autograder and the courses' libraries need.
_REQUIREMENTS = ("ipython", "ipywidgets", "matplotlib", "numpy")
_WIDGET_PACKAGES = ("ipywidgets", "jupyterlab-widgets", "comm")
_EXTENSIONS = ("@jupyterlite/pyodide-kernel-extension", "@jupyter-widgets/jupyterlab-manager")
_SETTINGS = {
    **jupyterlab_layout.SETTINGS,
    "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 20},
}
# IPython runs this code when a kernel starts. If Pyodide could not download a package, its import
# then raises an error that says why.
_IMPORT_HINT = """\
import sys


class DownloadFailed(ModuleNotFoundError):
    def _render_traceback_(self):
        return [str(self)]


class MissingPackageFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("numpy", "matplotlib"):
            raise DownloadFailed(
                f"{{name}} could not be fetched from {}. Is this computer online? "
                "Then reload the page, and run this cell again.",
                name=name,
            )


sys.meta_path.append(MissingPackageFinder)
"""
_BROWSER_NOTE = """\
**In this browser.** What you write stays in this browser, on this computer: it is there when
you come back, and gone if you clear the browser's data. To **submit** a lab, save it and choose
*File → Download*. To begin a lab **afresh**, delete its notebook in the list of files (in a
window that is wide enough for it) and reload the page. The first cell that you run in a lab
fetches Python and takes a minute; a cell that does not end is stopped by *Kernel → Restart
Kernel*."""
_INDEX_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{{}}</script>
<script>
  const narrow = matchMedia("(max-width: 760px)").matches;
  location.replace(narrow ? "notebooks/index.html?path=README.ipynb" : "lab/index.html?path=README.ipynb");
</script>
<noscript><p>{title}: these labs run Python in your browser, which needs JavaScript.</p></noscript>
</html>
"""


def make_index_page(title: str) -> str:
    """Return the site's first page as HTML, which leads to JupyterLab."""
    return _INDEX_PAGE.format(title=html.escape(title))


class WebError(AutograderError):
    """Error for a site that cannot be made; the text says the reason and what to do."""


def write_site(course: Course, target: Path, pyodide: str = "") -> Path:
    """Write the website of a course, in place of an earlier one.

    Parameters
    ----------
    target : Path
        Folder of the site.
    pyodide : str
        Pyodide's distribution: a folder, which becomes part of the site, or a URL, from which
        browsers download. By default the URL of JupyterLite's kernel.

    Returns
    -------
    Path
        The absolute path of the site.

    Raises
    ------
    WebError
        If a notebook is not built, a download fails, or JupyterLite is not installed.
    UsageError
        If `target` has files that are no such site.
    """
    target = target.absolute()  # JupyterLite reads relative paths from its own folder
    if target.exists() and any(target.iterdir()) and not (target / "jupyter-lite.json").is_file():
        problem = f"{target} is there and is no site of labs"
        raise UsageError(f"{problem}: name another folder with --output.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        work_folder = Path(name)
        site = _build_site(course, work_folder, pyodide)
        if target.exists():
            target.rename(work_folder / "old-site")
        site.rename(target)
    return target


def _build_site(course: Course, work_folder: Path, pyodide: str) -> Path:
    """Build the site in a subfolder of a work folder, and return the subfolder's path."""
    lite, wheels, site = work_folder / "lite", work_folder / "wheels", work_folder / "site"
    pages = work_folder / "contents"
    _write_pages(pages, course)
    package_lock, base = _read_lock_and_copy_pyodide(pyodide, lite)
    _make_wheels(wheels, course, package_lock, base)
    _run_jupyterlite(lite, pages, site, course)
    shutil.copytree(wheels, site / "static" / "wheels")
    _add_wheels_to_lock(site, package_lock, base)
    (site / "static" / "lock").mkdir()
    (site / "static" / "lock" / LOCK_FILE).write_text(json.dumps(package_lock), "utf-8")
    _configure_kernel(site, base, _python_version(package_lock), course)
    return site


def _write_pages(pages: Path, course: Course) -> None:
    """Write the notebooks and the start page, but no answer keys: these come in a wheel."""
    copy_labs(pages, course)
    for answers in pages.glob("*/answers"):
        shutil.rmtree(answers)
    shutil.rmtree(pages / HANDED_OUT_FOLDER)
    _add_browser_note(pages / START_PAGE)


def _add_browser_note(start_page: Path) -> None:
    """Add a text to the start page that explains how the labs work in a browser."""
    page = json.loads(start_page.read_text("utf-8"))
    cell = {"cell_type": "markdown", "id": "browser", "metadata": {}, "source": _BROWSER_NOTE}
    page["cells"].insert(1, cell)
    start_page.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _read_lock_and_copy_pyodide(pyodide: str, lite: Path) -> tuple[dict[str, Any], str]:
    """Return Pyodide's lock file (its list of packages), and the address of the files in it.

    A folder is copied into the site's sources.
    """
    from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL

    if pyodide and "://" not in pyodide:
        folder = Path(pyodide)
        if not (folder / LOCK_FILE).is_file() or not (folder / "pyodide.mjs").is_file():
            problem = f"there is no {LOCK_FILE} or no pyodide.mjs in it"
            raise WebError(f"{folder} is no distribution of Pyodide: {problem}.")
        shutil.copytree(folder, lite / "static" / "pyodide")
        return json.loads((folder / LOCK_FILE).read_text("utf-8")), _LOCAL_BASE
    lite.mkdir()
    base = (pyodide or PYODIDE_CDN_URL).rstrip("/")
    try:
        with urlopen(f"{base}/{LOCK_FILE}", timeout=_DOWNLOAD_SECONDS) as response:
            return json.loads(response.read(_MAX_LOCK_BYTES)), base
    except (URLError, OSError, ValueError) as error:
        raise WebError(
            f"Pyodide's list of packages could not be fetched from {base} ({error}). Where there is "
            "no network, name a folder that holds Pyodide's distribution: `make web "
            "PYODIDE=FOLDER`, or `autograder web --pyodide FOLDER`."
        ) from None


def _make_wheels(wheels: Path, course: Course, package_lock: Mapping[str, Any], base: str) -> None:
    """Write and download the wheels (Python packages) that the site needs besides Pyodide's own."""
    packages = package_lock["packages"]
    wheels.mkdir()
    _write_wheel(wheels, course.id, _collect_student_files(course), _REQUIREMENTS)
    source = "this site" if base == _LOCAL_BASE else base
    startup = f"{_STARTUP_PACKAGE}/profile_default/startup"
    startup_files = {
        f"{startup}/fetched.py": _IMPORT_HINT.format(source).encode(),
        f"{startup}/before.py": Path(setup_hint.__file__).read_bytes(),
    }
    _write_wheel(wheels, _STARTUP_PACKAGE, startup_files)
    pins = []
    for name in _find_dependencies(packages, (*_KERNEL, *_REQUIREMENTS)):
        entry = packages[name]
        if entry["file_name"].endswith("-none-any.whl"):  # a pure Python package
            pins.append(f"{entry['name']}=={entry['version']}")
    for name in _WIDGET_PACKAGES:
        if name not in packages:
            pins.append(_pin_installed(name))
    _download(pins, wheels, _python_version(package_lock))


def _collect_student_files(course: Course) -> dict[str, bytes]:
    """Return the files that a student needs, with the answer keys, by path."""
    folders = ["autograder", "notebooks", *course.library, *course.data]
    prefixes = (COURSE_FILE, *(f"{folder}/" for folder in folders))
    files = {}
    for name, content in collect_student_zip_files(course).items():
        if name.startswith(prefixes):
            files[name] = content
    return files


def _write_wheel(
    folder: Path, name: str, files: Mapping[str, bytes], requirements: Iterable[str] = ()
) -> None:
    """Write a wheel (a Python package) with these files."""
    from wheel.wheelfile import WheelFile

    number = autograder.__version__
    stem = f"{canonicalize_name(name).replace('-', '_')}-{number}"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {number}"]
    for requirement in requirements:
        lines.append(f"Requires-Dist: {requirement}")
    wheel_info = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    metadata_files = {
        f"{stem}.dist-info/METADATA": "\n".join([*lines, ""]).encode(),
        f"{stem}.dist-info/WHEEL": wheel_info,
    }
    # A digest of the files is part of the wheel's name. So a browser does not take an old wheel
    # from its cache.
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    path = folder / f"{stem}-0{digest}-py3-none-any.whl"
    with WheelFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name_in_wheel, content in {**files, **metadata_files}.items():
            wheel.writestr(name_in_wheel, content)


def _find_dependencies(packages: Mapping[str, Any], roots: Iterable[str]) -> Iterator[str]:
    """Yield the packages in `roots` and all on which they depend, by Pyodide's lock file."""
    queue = [name for name in roots if name in packages]
    processed_names: set[str] = set()
    while queue:
        name = queue.pop()
        if name in processed_names:
            continue
        processed_names.add(name)
        yield name
        for dependency in map(canonicalize_name, packages[name]["depends"]):
            if dependency in packages:
                queue.append(dependency)


def _python_version(package_lock: Mapping[str, Any]) -> str:
    """Return the version of Pyodide's Python, such as "3.14"."""
    return ".".join(package_lock["info"]["python"].split(".")[:2])


def _pin_installed(name: str) -> str:
    """Return the pip requirement for the version of a package that is installed here."""
    try:
        return f"{name}=={version(name)}"
    except PackageNotFoundError:
        raise WebError(f"{name} is not installed here: `make setup` brings it.") from None


def _download(pins: list[str], folder: Path, python: str) -> None:
    """Download wheels for the given versions of packages."""
    command = ["pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    command += [f"--python-version={python}", "--implementation=py", "--abi=none", "--platform=any"]
    command += ["-d", str(folder), *pins]
    distribution.run_module("The packages of the site could not be fetched by pip", *command)


def _run_jupyterlite(lite: Path, pages: Path, site: Path, course: Course) -> None:
    """Build the site's programs and notebooks with JupyterLite."""
    extensions_folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    extensions = [str(extensions_folder / name) for name in _EXTENSIONS]
    layout = jupyterlab_layout.write_extension(lite / "labextensions", course.labs)
    extensions.append(str(layout))
    settings = {
        "LiteBuildConfig": {
            "contents": [str(pages)],
            "output_dir": str(site),
            "apps": ["lab", "notebooks"],
            "no_sourcemaps": True,
            # Leave out other extensions that are installed here, such as nbgrader's: they are not
            # for students.
            "ignore_sys_prefix": ["federated_extensions"],
            "federated_extensions": extensions,
        }
    }
    (lite / "jupyter_lite_config.json").write_text(json.dumps(settings), "utf-8")
    (lite / "overrides.json").write_text(json.dumps(_SETTINGS), "utf-8")
    failure = "JupyterLite could not build the site"
    command = ["jupyterlite_core", "build", "--lite-dir", str(lite)]
    distribution.run_module(failure, *command, cwd=lite, marker="Error")
    if not (site / "jupyter-lite.json").is_file():
        raise WebError(f"{failure}: no reason was given")


def _add_wheels_to_lock(site: Path, package_lock: dict[str, Any], base: str) -> None:
    """Add the site's wheels to Pyodide's lock file, and complete the addresses in it."""
    packages = package_lock["packages"]
    kernel_wheels = site.glob("extensions/@jupyterlite/pyodide-kernel-extension/static/pypi/*.whl")
    for wheel in [*sorted(kernel_wheels), *sorted((site / "static" / "wheels").glob("*.whl"))]:
        entry = _make_lock_entry(wheel, package_lock, f"../../{wheel.relative_to(site).as_posix()}")
        packages[canonicalize_name(entry["name"])] = entry
    for entry in packages.values():
        if not entry["file_name"].startswith("../"):
            entry["file_name"] = f"{base}/{entry['file_name']}"
        dependencies = entry["depends"]
        entry["depends"] = [name for name in dependencies if canonicalize_name(name) in packages]


def _make_lock_entry(wheel: Path, package_lock: Mapping[str, Any], address: str) -> dict[str, Any]:
    """Return the entry for a wheel in Pyodide's lock file.

    Requirements for other versions of Python or other systems are left out.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata_name = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(metadata_name))
    environment = {
        "python_version": _python_version(package_lock),
        "sys_platform": "emscripten",
        "platform_system": "Emscripten",
        "os_name": "posix",
        "extra": "",
    }
    dependencies = []
    for text in metadata.get_all("Requires-Dist") or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            dependencies.append(requirement.name)
    name = str(metadata["Name"])
    pyodide_entry = package_lock["packages"].get(canonicalize_name(name), {})
    return {
        "name": name,
        "version": str(metadata["Version"]),
        "file_name": address,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": pyodide_entry.get("imports") or _list_importable_names(names),
        "depends": dependencies,
        "unvendored_tests": False,
    }


def _list_importable_names(wheel_files: Iterable[str]) -> list[str]:
    """Return the names that Python can import from a wheel with these files."""
    modules = set()
    for name in wheel_files:
        module = name.split("/")[0].removesuffix(".py")
        if name.endswith(".py") and module.isidentifier():
            modules.add(module)
    return sorted(modules)


def _configure_kernel(site: Path, base: str, python: str, course: Course) -> None:
    """Write the kernel's settings: where Pyodide, its lock file and the course's folder are."""
    path = site / "jupyter-lite.json"
    settings = json.loads(path.read_text("utf-8"))
    plugins = settings["jupyter-config-data"].setdefault("litePluginSettings", {})
    kernel = plugins.setdefault("@jupyterlite/pyodide-kernel-extension:kernel", {})
    packages = f"/lib/python{python}/site-packages"
    pyodide = "./static/pyodide" if base == _LOCAL_BASE else base
    kernel["pyodideUrl"] = f"{pyodide}/pyodide.mjs"
    kernel["loadPyodideOptions"] = {
        "lockFileURL": f"./static/lock/{LOCK_FILE}",
        "packages": [*_KERNEL, _STARTUP_PACKAGE],
        "env": {
            "HOME": "/home/pyodide",
            COURSE_VARIABLE: packages,
            "IPYTHONDIR": f"{packages}/{_STARTUP_PACKAGE}",
        },
    }
    kernel["disablePyPIFallback"] = True
    settings["jupyter-config-data"]["appName"] = course.title
    path.write_text(json.dumps(settings, indent=2), "utf-8")
    (site / "index.html").write_text(make_index_page(course.title), "utf-8")
