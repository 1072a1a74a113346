"""Make .venv from nothing, with the versions in constraints.txt. This needs only a Python, of any age.

    python3 install.py            what a student needs (`make lab` runs this)
    python3 install.py setup      besides, all that grading and the tests need (`make setup`)
    python3 install.py portable   besides, the sandbox that runs anywhere (`make portable`); `setup` does this by
                                  itself where bubblewrap does not start
    python3 install.py keras      besides, Keras with a backend, for the lab that needs it (`make keras`)

Where the Python at hand cannot run the labs, a sentence says which can, before anything is made. Where uv is
there, it does the work, and fetches a Python if it must. Each command adds to what the others installed.
"""

import io
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python.exe" if os.name == "nt" else "python")

EXTRAS = {"lab": ["lab"], "setup": ["lab", "grading", "similarity", "test", "web"]}
ALSO_READY = {
    "lab": ["lab"],
    "setup": ["lab", "setup"],
    "portable": [],
    "keras": [],
}  # .venv/ready-... tells make
BACKENDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
which = getattr(shutil, "which", lambda name: None)  # Python 2 lacks it, and gets a sentence, too


class Problem(Exception):
    """A fault in the installation. Its text says what is wrong and what to do."""


def main(what="lab"):
    """Make .venv where there is none that works, and install `what` into it."""
    if what not in ALSO_READY:
        raise Problem("install.py can install lab, setup, portable or keras, but not %s." % what)
    oldest, end = read_python_range()
    if not environment_works(oldest, end):
        make_environment(what, oldest, end)
    if what == "keras":
        install_keras()
    elif what == "portable":
        install_portable()
    else:
        print_now(
            "Installing into .venv, once: %s."
            % ("about a minute" if what == "lab" else "a minute or two")
        )
        install(EXTRAS[what], what)
        make = "MAKELEVEL" in os.environ
        if what == "setup":
            why = why_no_bubblewrap()
            if why:
                print_now(
                    "Submissions cannot be marked in bubblewrap here: %s So the sandbox that runs anywhere comes, too."
                    % why
                )
                install_portable()
            print_now("Ready. Students: make lab. Instructors: make demo. Contributors: make test.")
        elif not make:
            print_now(
                "Ready. To open the labs: %s lab"
                % os.path.join(os.path.relpath(BIN, HERE), "autograder")
            )
    for name in ALSO_READY[what]:
        open(os.path.join(VENV, "ready-" + name), "w").close()


# The Python and its environment.


def read_python_range():
    """Return the oldest Python that will do, and the first that is too new, by pyproject.toml."""
    found = re.search(r'requires-python = ">=(\d+)\.(\d+),<(\d+)\.(\d+)"', read_project())
    a, b, c, d = [int(part) for part in found.groups()]
    return (a, b), (c, d)


def environment_works(oldest, end):
    """Return True if there is an environment, and its Python exists and can run the labs."""
    code = "import sys; sys.exit(not %r <= sys.version_info[:2] < %r)" % (oldest, end)
    try:
        return (
            os.path.exists(os.path.join(VENV, "pyvenv.cfg"))
            and subprocess.call([PYTHON, "-c", code]) == 0
        )
    except OSError:
        return False


def make_environment(what, oldest, end):
    """Make .venv with this Python, or with one that uv finds or fetches."""
    wrong = describe_unfit_python(oldest, end)
    uv = which("uv")
    if uv:
        python = ">=%d.%d,<%d.%d" % (oldest + end) if wrong else sys.executable
        remove_environment()
        if run_command([uv, "venv", "-q", "--python", python, VENV]):
            return
    if wrong:
        raise Problem(wrong + advise_other_python(what, oldest, end))
    if module_exists("ensurepip"):
        maker = ["venv"]
    elif module_exists("virtualenv"):
        maker = ["virtualenv", "-q"]
    else:
        raise Problem(
            "This Python %d.%d cannot make an environment, since it lacks the module ensurepip: install that "
            "(Debian and Ubuntu: `apt install python3-venv`) or uv, then run `%s` again."
            % (sys.version_info[:2] + (format_command(what),))
        )
    remove_environment()
    if not run_command([sys.executable, "-m"] + maker + [VENV]):
        raise Problem("No environment could be made in %s; the reason stands above." % VENV)


def describe_unfit_python(oldest, end):
    """Return the first half of a sentence about a Python that cannot run the labs, else ""."""
    name = "Python %d.%d" % sys.version_info[:2]
    if platform.python_implementation() != "CPython":
        name = "%s of %s" % (platform.python_implementation(), name)
    elif sys.maxsize < 2**32:
        name = "a 32-bit " + name
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        name = "a free-threaded " + name
    elif oldest <= sys.version_info[:2] < end:
        return ""
    return "%s is %s, which cannot run the labs: " % (sys.executable, name)


def advise_other_python(what, oldest, end):
    """Return the second half of the sentence: which Pythons can, and how to name one."""
    names = ["%d.%d" % (oldest[0], minor) for minor in range(oldest[1], end[1])]
    here = [
        name
        for name in reversed(names)
        if which("python" + name) and python_starts("python" + name)
    ]
    choice = "Python %s or %s" % (", ".join(names[:-1]), names[-1])
    if here:
        return "they need %s, so run `%s`." % (choice, format_command(what, here[0]))
    return "install %s, and name it, as in `%s`." % (choice, format_command(what, names[-2]))


def format_command(what, version=None):
    """Return the command that runs this program again, with a Python of some version."""
    if "MAKELEVEL" in os.environ:
        return "make %s" % what + (" PYTHON=python%s" % version if version else "")
    python = "py -%s" % version if version and os.name == "nt" else "python%s" % (version or "3")
    return "%s install.py %s" % (python, what)


def remove_environment():
    """Remove an environment that does not work, or no longer works."""
    if os.path.exists(os.path.join(VENV, "pyvenv.cfg")):
        shutil.rmtree(VENV)


# The packages.


def install(extras, what, quietly=False, options=()):
    """Install the project with those of the extras that its pyproject.toml has."""
    known = [name for name in extras if re.search("(?m)^%s = " % name, read_project())]
    packages = ["-c", "constraints.txt", "-e", ".[%s]" % ",".join(known)]
    if which("uv"):
        tool = [which("uv"), "pip", "install", "-q", "--python", PYTHON]
    elif run_command([PYTHON, "-c", "import pip"], quietly=True):
        tool = [PYTHON, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check"]
    else:
        raise Problem(
            "uv made .venv but is gone: install it, or delete .venv, then run `%s`."
            % format_command(what)
        )
    if not run_command(tool + list(options) + packages, quietly):
        raise Problem(
            "Not all packages could be installed; the reason stands above, and with a network, `%s` goes on."
            % format_command(what)
        )


def why_no_bubblewrap():
    """Return a sentence that says why bubblewrap does not work here, or "" if it does."""
    code = "from autograder.sandbox.bubblewrap import Bubblewrap; print(Bubblewrap.explain_unavailability())"
    with open(os.devnull, "w") as nowhere:
        asked = subprocess.Popen(
            [PYTHON, "-c", code], cwd=HERE, stdout=subprocess.PIPE, stderr=nowhere
        )
        return asked.communicate()[0].decode().strip()  # nothing, too, where it cannot be asked


def install_portable():
    """Install the WebAssembly sandbox, and compile it for this machine."""
    if not re.search("(?m)^portable = ", read_project()):
        raise Problem("This copy is for students: there is nothing in it to mark submissions with.")
    print_now("Installing the WebAssembly sandbox into .venv, once: 110 MB.")
    install(["lab", "grading", "portable"], "portable")
    print_now("Compiling it for this machine, once: a minute or two on two processors.")
    if not run_command([PYTHON, "-m", "autograder.sandbox.webassembly"]):
        raise Problem("The WebAssembly sandbox could not be compiled; the reason stands above.")
    print_now("Ready: where bubblewrap does not start, submissions are marked in WebAssembly.")


def install_keras():
    """Install Keras on the first backend that has wheels for this Python and system, and say which it is."""
    asked = os.environ.get("KERAS_BACKEND")
    if asked and asked not in BACKENDS:
        raise Problem("KERAS_BACKEND is %r; it can be %s." % (asked, ", ".join(BACKENDS)))
    if keras_runs_on(asked):
        return print_now("Keras is there, and runs on %s." % keras_runs_on(asked))
    print_now("Installing Keras into .venv, once: some minutes, for it is large.")
    first = asked if asked in ("jax", "torch") else "keras"
    if not any(install_extra(extra) for extra in (first, "jax", "torch")):
        install_extra(first, quietly=False)  # once more, for its reason to be seen
        raise Problem(
            "Keras cannot be installed for Python %d.%d here; the reason stands above. A new Python has to wait some "
            "months for wheels of h5py and of TensorFlow, JAX or PyTorch: delete .venv and take an older one, as in "
            "`%s`." % (sys.version_info[:2] + (format_command("keras", "3.14"),))
        )
    there = keras_runs_on()
    note = (
        ""
        if "TensorFlow" in there
        else " (TensorFlow has no wheels for this Python on this system)"
    )
    print_now("Ready: Keras runs on %s%s." % (there, "" if asked else note))


def install_extra(extra, quietly=True):
    """Install Keras with this backend, without compiling h5py; return True if it succeeded."""
    try:
        install(["lab", extra], "keras", quietly, ("--only-binary", "h5py"))
    except Problem:
        return False
    return True


def keras_runs_on(backend=None):
    """Return the names of the backends that Keras has in .venv, or of this one; "" if there is none."""
    wanted = [backend] if backend else list(BACKENDS)
    code = "from importlib.util import find_spec; print(*filter(find_spec, %r))" % (
        ["keras"] + wanted,
    )
    there = subprocess.check_output([PYTHON, "-c", code]).decode().split()
    return " or ".join(BACKENDS[name] for name in there[1:]) if "keras" in there else ""


# Helpers.


def run_command(arguments, quietly=False):
    """Run a command in this folder; return True if it succeeded."""
    environment = dict(os.environ)
    if not os.access(os.path.expanduser("~"), os.W_OK):  # then there is no place to keep downloads
        environment.update(PIP_NO_CACHE_DIR="1", UV_NO_CACHE="1")
    with open(os.devnull, "w") as nowhere:
        out = nowhere if quietly else None
        return subprocess.call(arguments, cwd=HERE, env=environment, stdout=out, stderr=out) == 0


def python_starts(python):
    """Return True if a Python of this name starts; some of pyenv's only print an error."""
    return run_command([python, "-c", ""], quietly=True)


def module_exists(module):
    """Return True if this Python can import a module."""
    return run_command([sys.executable, "-c", "import " + module], quietly=True)


def read_project():
    """Return the text of pyproject.toml."""
    with io.open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as file:
        return file.read()


def print_now(line):
    """Print a line at once, before what pip may say."""
    print(line)
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except Problem as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit("Interrupted; the same command goes on from here.")
