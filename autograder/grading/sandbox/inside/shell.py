"""IPython for a hand-in: the shell that runs cells, with what they show going to an emitter."""

import ast
import base64
import io
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, cast

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from autograder.grading.sandbox.inside import wire
from autograder.grading.sandbox.inside.hand_in import Emitter

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b.")
# What IPython may change, be it Python or not: prompts, lines of blanks, and other ends of lines.
_CHANGED = re.compile(r"^\s*(>>>|\.\.\.|In )|^[^\S\n]+$|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", re.MULTILINE)
_USUAL = TransformerManager()
_STEPS = [*_USUAL.cleanup_transforms, *_USUAL.line_transforms, *_USUAL.token_transformers]
_MAX_TRACEBACK = 20_000  # characters


def _emitter(part: Any) -> Emitter:
    """Where the shell that this is a part of shows things, at the moment."""
    return cast(Shell, part.shell).emitter


class _Publisher(DisplayPublisher):
    """`display` and `clear_output`."""

    def publish(
        self,
        data: Mapping[str, Any],
        metadata: object = None,
        source: object = None,
        *,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **kwargs: object,
    ) -> None:
        name = (transient or {}).get("display_id")
        output = {"output_type": "display_data", "data": texts(data), "metadata": {}}
        _emitter(self).output(output, None if name is None else str(name), bool(update))

    def clear_output(self, wait: bool = False) -> None:
        _emitter(self).clear(bool(wait))


class _Hook(DisplayHook):
    """The value of a cell's last line."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Mapping[str, Any], md_dict: object = None) -> None:
        output = {"output_type": "execute_result", "data": texts(format_dict), "metadata": {}}
        _emitter(self).output({**output, "execution_count": None})

    def finish_displayhook(self) -> None:
        self._is_active = False


class Shell(InteractiveShell):
    """IPython as notebooks know it, without a terminal, a history file or a front end."""

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)

    def attach(self, emitter: Emitter) -> None:
        """Send what cells show there from now on."""
        self.emitter = emitter

    def init_virtualenv(self) -> None:
        """Nothing: the sandbox's Python is the one to use."""

    def transform_cell(self, raw_cell: str) -> str:
        """A cell as Python: IPython's own way of finding magics takes as long as to run most cells."""
        manager = self.input_transformer_manager
        steps = [*manager.cleanup_transforms, *manager.line_transforms, *manager.token_transformers]
        if steps == _STEPS and not self.input_transformers_post and _is_python(raw_cell):
            return raw_cell if raw_cell.endswith("\n") else f"{raw_cell}\n"
        return str(super().transform_cell(raw_cell))

    def enable_gui(self, gui: object = None) -> None:
        """Nothing: there is no screen."""

    def _tee(self, channel: object) -> Any:
        return nullcontext()  # IPython would keep all that is printed in memory

    def ask_exit(self) -> None:
        """Nothing: `exit` does not end a notebook."""

    def system(self, cmd: str) -> None:
        """A shell command, its output into the cell's."""
        with subprocess.Popen(
            self.var_expand(cmd, depth=1),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                while data := process.stdout.read1(65536):  # type: ignore[union-attr]
                    sys.stdout.write(data.decode("utf-8", "replace"))
            except BaseException:
                process.kill()
                raise
        self.user_ns["_exit_code"] = process.returncode

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        self.show_error(etype, evalue, stb)

    def show_error(self, etype: type[BaseException], evalue: BaseException, lines: list[str]) -> None:
        """An exception with its traceback, without colours, and cut where it is long."""
        try:
            value = str(evalue)
        except BaseException:  # noqa: BLE001 - a student's own __str__
            value = "(its message cannot be shown)"
        text = _ANSI.sub("", "\n".join(str(line) for line in lines))
        if len(text) > _MAX_TRACEBACK:
            half = _MAX_TRACEBACK // 2
            text = f"{text[:half]}\n[...]\n{text[-half:]}"
        self.emitter.error(str(etype.__name__)[:200], value[:2000], text.split("\n") if text else [])


def _is_python(source: str) -> bool:
    """Whether a cell is lines of Python in which IPython's own steps would change nothing.

    >>> _is_python("x = 7\\nx % 3"), _is_python("%time 1\\n2"), _is_python("x = 7\\nIn [1]: x")
    (True, False, False)
    """
    if source[:1].isspace() or "\n" not in source.rstrip("\n") or _CHANGED.search(source):
        return False
    try:
        ast.parse(source)
    except Exception:  # noqa: BLE001 - too deep, too large, or an error that IPython is to show
        return False
    return True


def prepare_shell(kind: type[Shell] = Shell) -> Shell:
    """A shell, with what the first cells of a notebook would have to load, loaded."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.IPCompleter.use_jedi = False
    shell: Shell = kind.instance(config=config)
    _rehearse(shell)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)  # forks go on from here
    return shell


def _rehearse(shell: Shell) -> None:
    """Do once what most notebooks do, so that each fork finds it loaded."""
    shell.attach(Emitter(lambda header, arrays=(): None, 0))
    cells = ["1 + 1", "import asyncio", "import nothing_of_this_name", "%time 1", "("]
    if "matplotlib.pyplot" in sys.modules:
        cells += ["%matplotlib inline", _FIGURE]
    real = sys.stdout
    sys.stdout = io.StringIO()
    try:
        for cell in cells:
            shell.run_cell(cell, store_history=True)
    finally:
        sys.stdout = real
    shell.reset(new_session=True)
    shell.execution_count = 1


_FIGURE = """
def draw():
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(2, 2))
    image = axes.imshow([[0.0, 1.0], [1.0, 0.0]])
    figure.colorbar(image)
    axes.set_xticks([0, 1], ["a", "é"], rotation=45)
    axes.plot([0, 1], label="b")
    axes.legend()
    axes.set_title("c")
    plt.show()
draw()
"""


def texts(data: Mapping[str, Any]) -> dict[str, str]:
    """A MIME bundle as the keeper takes it: texts, with bytes as base64; JSON is shown by nothing.

    >>> texts({"text/plain": ["a\\n", "b"], "image/png": b"x", "no type": "y", "application/json": {}})
    {'text/plain': 'a\\nb', 'image/png': 'eA=='}
    """
    bundle = {}
    for mime, content in list(dict(data).items())[: wire.MAX_MIMES]:
        mime = str(mime)
        if not wire.MIME.fullmatch(mime) or wire.is_json(mime):
            continue
        if isinstance(content, bytes):
            content = base64.b64encode(content).decode("ascii")
        elif isinstance(content, (list, tuple)):  # Jupyter's lines
            content = "".join(map(str, content))
        bundle[mime] = str(content)
    return bundle
