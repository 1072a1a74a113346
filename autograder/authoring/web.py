"""`autograder web`: the students' labs as a static site, run in the browser by JupyterLite and Pyodide.

The site holds the students' notebooks and the start page, one wheel with the engine's student's part, the
course's library, data and answer keys, and the pure packages that these need. Python itself, NumPy and
Matplotlib come from Pyodide's distribution, in a folder of the site or at an address.

Pyodide installs what a cell imports, as its lock file says: here that file names our wheels beside its own.
"""

import hashlib
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
from autograder import before, screen
from autograder.authoring import projects
from autograder.authoring.bundle import contents
from autograder.course import FILE, VARIABLE, Course
from autograder.errors import Complaint, Usage
from autograder.renewal import HANDED_OUT
from autograder.workspace import START_PAGE, start

LOCK = "pyodide-lock.json"
_OWN = "../pyodide"  # where Pyodide is from the site's lock file, if the site has it itself
_START = "labs_start"  # the wheel of what IPython runs when a kernel starts
_MOST = 20_000_000  # bytes of a lock file; today's has 120,000
_SECONDS = 60
# What the kernel needs at its start; with all of it in the lock file it asks no index for anything.
_KERNEL = ("micropip", "piplite", "pyodide-kernel", "ipykernel", "comm", "ipython", "jedi")
_NEEDS = ("ipython", "ipywidgets", "matplotlib", "numpy")  # of the student's part and of courses' libraries
_EXTENSIONS = ("@jupyterlite/pyodide-kernel-extension", "@jupyter-widgets/jupyterlab-manager")
_SETTINGS = {
    **screen.SETTINGS,
    "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 20},
}
# Run by IPython when a kernel starts: what Pyodide could not fetch is missing for a reason.
_AT_START = """\
import sys


class NotFetched(ModuleNotFoundError):
    def _render_traceback_(self):
        return [str(self)]


class AfterAll:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("numpy", "matplotlib"):
            raise NotFetched(
                f"{{name}} could not be fetched from {}. Is this computer online? "
                "Then reload the page, and run this cell again.",
                name=name,
            )


sys.meta_path.append(AfterAll)
"""
_IN_THE_BROWSER = """\
**In this browser.** What you write stays in this browser, on this computer: it is there when you come back, and gone
if you clear the browser's data. To **hand in** a lab, save it, click it in the list of files with the right button, and
choose *Download*. To begin a lab **afresh**, delete its notebook there and reload the page. The first cell that you run
in a lab fetches Python and takes a minute; a cell that does not end is stopped by *Kernel → Restart Kernel*."""
_OPEN = """\
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


class WebError(Complaint):
    """A site that cannot be made; the text says why and what to do."""


def write_site(course: Course, target: Path, pyodide: str = "") -> Path:
    """Make the site, beside `target` first; what was there before is replaced whole.

    Parameters
    ----------
    course : Course
    target : Path
        The site's folder.
    pyodide : str
        Pyodide's distribution: a folder, which becomes part of the site, or an address, from which browsers
        fetch it. By default the address that JupyterLite's kernel has.

    Raises
    ------
    WebError
        If a notebook is not built, something cannot be fetched, or JupyterLite is not installed.
    Usage
        If `target` is something other than such a site.
    """
    if target.exists() and any(target.iterdir()) and not (target / "jupyter-lite.json").is_file():
        raise Usage(f"{target} is there and is no site of labs: name another folder with --output.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        work = Path(name)
        made = _built(course, work, pyodide)
        before = work / "before"
        if target.exists():
            target.rename(before)
        made.rename(target)
    return target


def _built(course: Course, work: Path, pyodide: str) -> Path:
    """The site, in a folder of `work`."""
    lite, wheels, site = work / "lite", work / "wheels", work / "site"
    start(work / "contents", course)
    for answers in (work / "contents").glob("*/answers"):
        shutil.rmtree(answers)  # the wheel has them
    shutil.rmtree(work / "contents" / HANDED_OUT)
    _explain(work / "contents" / START_PAGE)
    lock, base = _distribution(pyodide, lite)
    packages = lock["packages"]
    wheels.mkdir()
    _write_wheel(wheels, course.id, _students_part(course), _NEEDS)
    place = "this site" if base == _OWN else base
    at_start = {
        "fetched.py": _AT_START.format(place).encode(),
        "before.py": Path(before.__file__).read_bytes(),
    }
    startup = f"{_START}/profile_default/startup"
    _write_wheel(wheels, _START, {f"{startup}/{name}": code for name, code in at_start.items()})
    pure = [packages[name] for name in _closure(packages, (*_KERNEL, *_NEEDS)) if _is_pure(packages[name])]
    exact = [f"{entry['name']}=={entry['version']}" for entry in pure]
    exact += [
        _installed(name) for name in ("ipywidgets", "jupyterlab-widgets", "comm") if name not in packages
    ]
    _download(exact, wheels, _python(lock))
    _build_lite(lite, work / "contents", site)
    shutil.copytree(wheels, site / "static" / "wheels")
    mocks = sorted(site.glob("extensions/@jupyterlite/pyodide-kernel-extension/static/pypi/*.whl"))
    for wheel in [*mocks, *sorted((site / "static" / "wheels").glob("*.whl"))]:
        entry = _entry(wheel, lock, f"../../{wheel.relative_to(site).as_posix()}")
        packages[canonicalize_name(entry["name"])] = entry
    for entry in packages.values():
        if not entry["file_name"].startswith("../"):
            entry["file_name"] = f"{base}/{entry['file_name']}"
        entry["depends"] = [name for name in entry["depends"] if canonicalize_name(name) in packages]
    (site / "static" / "lock").mkdir()
    (site / "static" / "lock" / LOCK).write_text(json.dumps(lock), "utf-8")
    _configure(site, base, _python(lock), course)
    return site


def _explain(start_page: Path) -> None:
    """Say on the start page what is different in a browser."""
    page = json.loads(start_page.read_text("utf-8"))
    page["cells"].insert(
        1, {"cell_type": "markdown", "id": "browser", "metadata": {}, "source": _IN_THE_BROWSER}
    )
    start_page.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _distribution(pyodide: str, lite: Path) -> tuple[dict[str, Any], str]:
    """Pyodide's lock file, and where its own files are, as the site's lock file names them."""
    from jupyterlite_pyodide_kernel.constants import PYODIDE_CDN_URL

    if pyodide and "://" not in pyodide:
        folder = Path(pyodide)
        if not (folder / LOCK).is_file() or not (folder / "pyodide.mjs").is_file():
            raise WebError(
                f"{folder} is no distribution of Pyodide: there is no {LOCK} or no pyodide.mjs in it."
            )
        shutil.copytree(folder, lite / "static" / "pyodide")
        return json.loads((folder / LOCK).read_text("utf-8")), _OWN
    lite.mkdir()
    base = (pyodide or PYODIDE_CDN_URL).rstrip("/")
    try:
        with urlopen(f"{base}/{LOCK}", timeout=_SECONDS) as answer:
            return json.loads(answer.read(_MOST)), base
    except (URLError, OSError, ValueError) as error:
        raise WebError(
            f"Pyodide's list of packages could not be fetched from {base} ({error}). Where there is no network, "
            "name a folder that holds Pyodide's distribution: --pyodide FOLDER."
        ) from None


def _students_part(course: Course) -> dict[str, bytes]:
    """The files of a student's part of the course, keys and all; their root is a course's folder."""
    kept = (FILE, "autograder/", "notebooks/", *(f"{name}/" for name in (*course.library, *course.data)))
    return {name: data for name, data in contents(course).items() if name.startswith(kept)}


def _write_wheel(folder: Path, name: str, files: Mapping[str, bytes], needs: Iterable[str] = ()) -> None:
    """A wheel of these files."""
    from wheel.wheelfile import WheelFile

    number = autograder.__version__
    stem = f"{canonicalize_name(name).replace('-', '_')}-{number}"
    about = [f"Name: {name}", f"Version: {number}", *(f"Requires-Dist: {need}" for need in needs)]
    about_files = {
        f"{stem}.dist-info/METADATA": "\n".join(["Metadata-Version: 2.1", *about, ""]).encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    # In its name, so that a browser never has the wheel of yesterday for today's lock file.
    mark = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    with WheelFile(folder / f"{stem}-0{mark}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in {**files, **about_files}.items():
            wheel.writestr(path, data)


def _closure(packages: Mapping[str, Any], roots: Iterable[str]) -> Iterator[str]:
    """The packages of a lock file that these need, they themselves included."""
    todo, seen = [name for name in roots if name in packages], set[str]()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            yield name
            todo += [need for need in map(canonicalize_name, packages[name]["depends"]) if need in packages]


def _is_pure(entry: Mapping[str, Any]) -> bool:
    return entry["file_name"].endswith("-none-any.whl")


def _python(lock: Mapping[str, Any]) -> str:
    """The version of Pyodide's Python that packages are made for, such as 3.14."""
    return ".".join(lock["info"]["python"].split(".")[:2])


def _installed(name: str) -> str:
    try:
        return f"{name}=={version(name)}"
    except PackageNotFoundError:
        raise WebError(f"{name} is not installed here: `make setup` brings it.") from None


def _download(exact: list[str], folder: Path, python: str) -> None:
    """Wheels of just these versions."""
    command = ["pip", "download", "-q", "--no-deps", "--only-binary=:all:", f"--python-version={python}"]
    command += ["--implementation=py", "--abi=none", "--platform=any", "-d", str(folder), *exact]
    projects.run_python("The packages of the site could not be fetched by pip", *command)


def _build_lite(lite: Path, pages: Path, site: Path) -> None:
    """JupyterLite's own build: its programs, and the notebooks."""
    extensions = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    own = str(screen.write_extension(lite / "labextensions"))
    settings = {
        "LiteBuildConfig": {
            "contents": [str(pages)],
            "output_dir": str(site),
            "apps": ["lab", "notebooks"],
            "no_sourcemaps": True,
            # Of the extensions installed here, two; nbgrader's and others are not a student's.
            "ignore_sys_prefix": ["federated_extensions"],
            "federated_extensions": [*(str(extensions / name) for name in _EXTENSIONS), own],
        }
    }
    (lite / "jupyter_lite_config.json").write_text(json.dumps(settings), "utf-8")
    (lite / "overrides.json").write_text(json.dumps(_SETTINGS), "utf-8")
    failed = "JupyterLite could not build the site"
    command = ["jupyterlite_core", "build", "--lite-dir", str(lite)]
    projects.run_python(failed, *command, cwd=lite, says="Error")
    if not (site / "jupyter-lite.json").is_file():
        raise WebError(f"{failed}: no reason was given")


def _entry(wheel: Path, lock: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A wheel as a lock file has it. Needs that are not for this Python or this system are left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = message_from_bytes(archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))))
    where = {"python_version": _python(lock), "sys_platform": "emscripten"}
    where |= {"platform_system": "Emscripten", "os_name": "posix", "extra": ""}
    needs = [Requirement(text) for text in about.get_all("Requires-Dist") or ()]
    tops = {n.split("/")[0].removesuffix(".py") for n in names if n.endswith(".py")}
    known = lock["packages"].get(canonicalize_name(str(about["Name"])), {})
    return {
        "name": str(about["Name"]),
        "version": str(about["Version"]),
        "file_name": place,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": known.get("imports") or sorted(name for name in tops if name.isidentifier()),
        "depends": [n.name for n in needs if n.marker is None or n.marker.evaluate(where)],
        "unvendored_tests": False,
    }


def _configure(site: Path, base: str, python: str, course: Course) -> None:
    """Tell the kernel where Pyodide and the lock file are, and the student's part where its course is."""
    path = site / "jupyter-lite.json"
    settings = json.loads(path.read_text("utf-8"))
    of_kernel = (
        settings["jupyter-config-data"]
        .setdefault("litePluginSettings", {})
        .setdefault("@jupyterlite/pyodide-kernel-extension:kernel", {})
    )
    packages = f"/lib/python{python}/site-packages"
    of_kernel["pyodideUrl"] = "./static/pyodide/pyodide.mjs" if base == _OWN else f"{base}/pyodide.mjs"
    of_kernel["loadPyodideOptions"] = {
        "lockFileURL": f"./static/lock/{LOCK}",
        "packages": [*_KERNEL, _START],
        "env": {"HOME": "/home/pyodide", VARIABLE: packages, "IPYTHONDIR": f"{packages}/{_START}"},
    }
    of_kernel["disablePyPIFallback"] = True
    settings["jupyter-config-data"]["appName"] = course.title
    path.write_text(json.dumps(settings, indent=2), "utf-8")
    (site / "index.html").write_text(_OPEN.format(title=course.title), "utf-8")
