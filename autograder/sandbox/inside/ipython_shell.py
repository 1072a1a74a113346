"""IPython's shell for a submission: it runs cells as a notebook does, and sends their output."""

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

from autograder.sandbox.inside import protocol
from autograder.sandbox.inside.executor import OutputSender

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b.")
# Parts of a cell that IPython may change although they are valid Python: prompts such as `>>>`,
# lines of blanks, unusual line ends.
_IPYTHON_SYNTAX = re.compile(
    r"^\s*(>>>|\.\.\.|In )|^[^\S\n]+$|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", re.MULTILINE
)
_DEFAULT_TRANSFORMER = TransformerManager()
_DEFAULT_STEPS = [
    *_DEFAULT_TRANSFORMER.cleanup_transforms,
    *_DEFAULT_TRANSFORMER.line_transforms,
    *_DEFAULT_TRANSFORMER.token_transformers,
]
_MAX_TRACEBACK_CHARACTERS = 20_000
_MAX_ERROR_NAME_CHARACTERS, _MAX_ERROR_MESSAGE_CHARACTERS = 200, 2000


def _get_emitter(part: Any) -> OutputSender:
    """Return the sender of a shell's output; `part` is an object that belongs to the shell."""
    return cast(Shell, part.shell).emitter


class _DisplayOutputPublisher(DisplayPublisher):
    """Part of IPython that gets what a cell shows by `display`, and sends it to the grader."""

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
        display_id = (transient or {}).get("display_id")
        if display_id is not None:
            display_id = str(display_id)
        output = {"output_type": "display_data", "data": mime_bundle_to_text(data), "metadata": {}}
        _get_emitter(self).emit_output(output, display_id, bool(update))

    def clear_output(self, wait: bool = False) -> None:
        _get_emitter(self).emit_clear(bool(wait))


class _DisplayHook(DisplayHook):
    """Part of IPython that gets the value of a cell's last expression, and sends it to the grader."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Mapping[str, Any], md_dict: object = None) -> None:
        data = mime_bundle_to_text(format_dict)
        output = {"output_type": "execute_result", "data": data, "metadata": {}}
        _get_emitter(self).emit_output({**output, "execution_count": None})

    def finish_displayhook(self) -> None:
        self._is_active = False


class Shell(InteractiveShell):
    """IPython's shell for running a notebook's cells without terminal, history file or browser."""

    display_pub_class = Type(_DisplayOutputPublisher)
    displayhook_class = Type(_DisplayHook)

    def attach_emitter(self, emitter: OutputSender) -> None:
        """Send all output of cells through this sender from now on."""
        self.emitter = emitter

    def init_virtualenv(self) -> None:
        """Do nothing: IPython would search for a virtual environment, which is not needed here."""

    def transform_cell(self, raw_cell: str) -> str:
        """Return a cell's source with IPython's syntax, such as `%time`, translated to Python.

        A cell that is plain Python is returned at once, because IPython's own translation is slow.
        """
        manager = self.input_transformer_manager
        steps = [*manager.cleanup_transforms, *manager.line_transforms, *manager.token_transformers]
        has_default_steps = steps == _DEFAULT_STEPS and not self.input_transformers_post
        if has_default_steps and _is_plain_python(raw_cell):
            return raw_cell if raw_cell.endswith("\n") else f"{raw_cell}\n"
        return str(super().transform_cell(raw_cell))

    def enable_gui(self, gui: object = None) -> None:
        """Do nothing: there is no screen."""

    def _tee(self, channel: object) -> Any:
        return nullcontext()  # IPython would keep all printed text in memory

    def ask_exit(self) -> None:
        """Do nothing: `exit` does not end a notebook."""

    def system(self, cmd: str) -> None:
        """Run a line that begins with `!` as a shell command, and print its output.

        The sandbox confines the command like the rest of the submission.
        """
        with subprocess.Popen(
            self.var_expand(cmd, depth=1),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            stdout = cast(io.BufferedReader, process.stdout)
            try:
                for data in iter(lambda: stdout.read1(65536), b""):
                    sys.stdout.write(data.decode("utf-8", "replace"))
            except BaseException:
                process.kill()
                raise
        self.user_ns["_exit_code"] = process.returncode

    def _showtraceback(
        self,
        etype: type[BaseException],
        evalue: BaseException,
        stb: list[str],
    ) -> None:
        self.show_error(etype, evalue, stb)

    def show_error(
        self,
        etype: type[BaseException],
        evalue: BaseException,
        lines: list[str],
    ) -> None:
        """Send an exception with its traceback (`lines`), without colours, cut if it is long."""
        try:
            message = str(evalue)
        except BaseException:  # noqa: BLE001 - a student's exception class may define __str__
            message = "(its message cannot be shown)"
        text = _ANSI.sub("", "\n".join(str(line) for line in lines))
        if len(text) > _MAX_TRACEBACK_CHARACTERS:
            half = _MAX_TRACEBACK_CHARACTERS // 2
            text = f"{text[:half]}\n[...]\n{text[-half:]}"
        self.emitter.emit_error(
            str(etype.__name__)[:_MAX_ERROR_NAME_CHARACTERS],
            message[:_MAX_ERROR_MESSAGE_CHARACTERS],
            text.split("\n") if text else [],
        )


def _is_plain_python(source: str) -> bool:
    """Return True if IPython would run a cell as it is, since it is plain Python.

    In doubt return False, as for a cell of one line.

    >>> _is_plain_python("x = 7\\nx % 3"), _is_plain_python("%time 1\\n2")
    (True, False)
    >>> _is_plain_python("x = 7\\nIn [1]: x")
    False
    """
    if source[:1].isspace() or "\n" not in source.rstrip("\n") or _IPYTHON_SYNTAX.search(source):
        return False
    try:
        ast.parse(source)
    except Exception:  # noqa: BLE001 - too deep, too large, or an error that IPython is to show
        return False
    return True


def prepare_shell(kind: type[Shell] = Shell) -> Shell:
    """Create IPython's shell, and run some code in it so that most needed modules are loaded."""
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.IPCompleter.use_jedi = False
    shell: Shell = kind.instance(config=config)
    _run_warm_up_cells(shell)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)  # so that every submission gets the same numbers
    return shell


def _run_warm_up_cells(shell: Shell) -> None:
    """Run a few typical cells, so that every submission inherits the modules that they load."""
    shell.attach_emitter(OutputSender(lambda header, arrays=(): None, 0))
    cells = ["1 + 1", "import asyncio", "import nothing_of_this_name", "%time 1", "("]
    if "matplotlib.pyplot" in sys.modules:
        cells += ["%matplotlib inline", _FIGURE_CODE]
    stdout = sys.stdout
    sys.stdout = io.StringIO()
    try:
        for cell in cells:
            shell.run_cell(cell, store_history=True)
    finally:
        sys.stdout = stdout
    shell.reset(new_session=True)
    shell.execution_count = 1


_FIGURE_CODE = """
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


def mime_bundle_to_text(data: Mapping[str, Any]) -> dict[str, str]:
    """Return an output's data as texts by MIME type: bytes as base64, and without JSON.

    >>> data = {"text/plain": ["a\\n", "b"], "image/png": b"x", "no type": "y"}
    >>> mime_bundle_to_text({**data, "application/json": {}})
    {'text/plain': 'a\\nb', 'image/png': 'eA=='}
    """
    bundle = {}
    for mime, content in list(dict(data).items())[: protocol.MAX_MIME_TYPES]:
        mime = str(mime)
        if not protocol.MIME.fullmatch(mime) or protocol.is_json(mime):
            continue
        if isinstance(content, bytes):
            content = base64.b64encode(content).decode("ascii")
        elif isinstance(content, (list, tuple)):  # nbformat also allows a list of lines
            content = "".join(map(str, content))
        bundle[mime] = str(content)
    return bundle
