"""JupyterLab on the loopback address, and a Chromium that uses it as a person would."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
PATIENCE = 300  # seconds that one step may take on a busy machine

_BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-sync",
]
# Nothing is fetched from elsewhere, no cell is hidden by virtual scrolling, no pop-up covers a
# page.
_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "checkForUpdates": False,
        "fetchNews": "false",
        "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
_NO_NEWS = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}


def environment(home: Path, package: Path = ROOT) -> dict[str, str]:
    """Return an environment with a separate home, in which `import autograder` finds `package`."""
    import matplotlib

    variables = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JUPYTER", "IPYTHON", "XDG", "PYTEST"))
    }
    config = home / "jupyter"
    (config / "labconfig").mkdir(parents=True, exist_ok=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(_SETTINGS))
    (config / "labconfig" / "page_config.json").write_text(json.dumps(_NO_NEWS))
    return {
        **variables,
        "HOME": str(home),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(package),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": matplotlib.get_cachedir(),  # its list of fonts takes long to make
    }


def run(*command, cwd: Path = ROOT, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Run a command of this environment, and return its output as text."""
    return subprocess.run(
        [BIN / command[0], *map(str, command[1:])],
        cwd=cwd,
        env=env,
        text=True,
        capture_output=True,
    )


@dataclass(frozen=True)
class Server:
    """Address and token of a running JupyterLab."""

    address: str
    token: str

    def url(self, path: str) -> str:
        """Return the address of a page, with the token."""
        return f"{self.address}{path}{'&' if '?' in path else '?'}token={self.token}"


# No browser of its own, a port that the system chooses, nothing fetched; our steps can see the
# application.
SERVER_OPTIONS = [
    *(
        "--no-browser",
        "--ip=127.0.0.1",
        "--ServerApp.port=0",
        "--LabApp.expose_app_in_browser=True",
    ),
    "--LabApp.extension_manager=readonly",
    *(["--allow-root"] if os.geteuid() == 0 else []),
]


@contextmanager
def serving(command: list, home: Path, env: dict[str, str], cwd: Path) -> Iterator[Server]:
    """Start a Jupyter server by a command; it and its kernels end with the block."""
    log = home / "server.log"
    with log.open("w") as log_file:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdout=log_file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    running = (home / "runtime").glob
    try:
        _wait_until(lambda: any(running("jpserver-*.json")) or process.poll() is not None)
        if process.poll() is not None:
            raise RuntimeError(f"{command} ended at once:\n{log.read_text()}")
        server_info = json.loads(next(running("jpserver-*.json")).read_text())
        yield Server(server_info["url"], server_info["token"])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def jupyterlab(folder: Path, home: Path, env: dict[str, str]):
    """Start JupyterLab in a folder."""
    command = [BIN / "jupyter", "lab", f"--notebook-dir={folder}", *SERVER_OPTIONS]
    return serving(command, home, env, folder)


def _wait_until(condition, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came in {seconds} s")
        time.sleep(0.1)


@contextmanager
def chromium():
    """Start a headless Chromium with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_BROWSER_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


MISCHIEF = "mischief"  # what hostile code in the tests' notebooks says, asks for or sets


class Watch:
    """Records a page's pop-ups, requests to other hosts, and hostile code that ran."""

    def __init__(self, page):
        self.page = page
        self.noted: list[str] = []
        self.allowed = ["data:", "blob:", "about:", "file:"]
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.url))
        page.on("console", lambda message: self._console(message.text))

    def everything(self) -> list[str]:
        """Return the recorded events, and the pop-ups in the page now."""
        ran = self.page.evaluate(
            "name => [...(window[name] ? ['set a variable'] : []),"
            " ...(document.title.includes(name) ? ['changed the title'] : [])]",
            MISCHIEF,
        )
        return self.noted + ran

    def _dialog(self, dialog) -> None:
        if dialog.type != "beforeunload":
            self.noted.append(f"opened a dialog: {dialog.message}")
        dialog.accept()

    def _request(self, url: str) -> None:
        is_allowed_host = (
            url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:")) and MISCHIEF not in url
        )
        if not is_allowed_host and not url.startswith(tuple(self.allowed)):
            self.noted.append(f"asked for {url}")

    def _console(self, text: str) -> None:
        if text.startswith(MISCHIEF):
            self.noted.append(f"said {text}")


class Notebook:
    """A notebook open in JupyterLab, driven by its menus, its cells and the keyboard."""

    def __init__(self, page, path: str):
        self.page = page
        self.opened(path)

    @classmethod
    def at(cls, page, server: Server, path: str) -> "Notebook":
        """Open a notebook by its address."""
        page.goto(server.url(f"lab/tree/{path}"))
        return cls(page, path)

    def opened(self, path: str) -> None:
        """Wait until this notebook is the one in front and its kernel waits for work."""
        self.page.wait_for_function(
            """path => {
                const panel = window.jupyterapp?.shell.currentWidget;
                return panel?.context?.path === path && panel.content?.widgets?.length
                    && panel.sessionContext.isReady
                    && panel.sessionContext.session?.kernel?.status === 'idle';
            }""",
            arg=path,
        )
        self.panel = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def menu(self, *names: str) -> None:
        """Choose an entry of the menu bar: ``menu("Run", "Run All Cells")``."""
        self.page.locator(".lm-MenuBar-item", has_text=re.compile(f"^{names[0]}$")).click()
        for name in names[1:]:
            entry = self.page.locator(".lm-Menu-item", has_text=re.compile(f"^{re.escape(name)}"))
            entry.first.click()

    def run_all(self) -> None:
        with self._runs():
            self.menu("Run", "Run All Cells")

    def restart_and_run_all(self) -> None:
        with self._runs():
            self.menu("Kernel", "Restart Kernel and Run All Cells")
            self.page.locator(".jp-Dialog .jp-mod-accept").click()

    @contextmanager
    def _runs(self, *cell_ids: str):
        """Wait, after the block, until these cells, or all code cells, have run."""
        self.page.evaluate(
            """ids => {
                const cells = window.jupyterapp.shell.currentWidget.content.widgets
                    .filter(c => c.model.type === 'code' && c.model.sharedModel.source.trim())
                    .filter(c => !ids.length || ids.includes(c.model.id));
                window.waiting = new Set(cells.map(c => c.model.id));
                for (const cell of cells)
                    cell.model.stateChanged.connect((model, change) => {
                        if (change.name === 'executionCount' && change.newValue)
                            window.waiting.delete(model.id);
                    });
            }""",
            list(cell_ids),
        )
        yield
        self.page.wait_for_function(
            """() => !window.waiting.size && window.jupyterapp.shell.currentWidget
                .sessionContext.session?.kernel?.status === 'idle'""",
        )

    def cell(self, number: int):
        return self.panel.locator(".jp-Notebook .jp-Cell").nth(number)

    def index(self, cell_id: str) -> int:
        """Return the index of the cell with this id."""
        position = self.page.evaluate(
            "id => window.jupyterapp.shell.currentWidget.content.widgets.findIndex(c => c.model.id === id)",
            cell_id,
        )
        assert position >= 0, f"no cell {cell_id}"
        return position

    def outputs(self) -> dict[str, str]:
        """Return the output of every code cell as text, by the cell's id."""
        return self.page.evaluate(
            """() => Object.fromEntries(window.jupyterapp.shell.currentWidget.content.widgets
                .filter(c => c.model.type === 'code')
                .map(c => [c.model.id, c.node.querySelector('.jp-OutputArea')?.innerText ?? '']))""",
        )

    def failed(self) -> list[str]:
        """Return the ids of the cells that ended with an error."""
        return self.page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.widgets
                .filter(c => c.model.type === 'code')
                .filter(c => c.model.toJSON().outputs.some(o => o.output_type === 'error'))
                .map(c => c.model.id)""",
        )

    def write(self, cell_id: str, source: str) -> None:
        """Put the cursor into a cell, replace its text by hand, and run it with Shift+Enter."""
        cell = self.cell(self.index(cell_id))
        cell.locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)
        assert self.source(cell_id) == source
        with self._runs(cell_id):
            self.page.keyboard.press("Shift+Enter")

    def source(self, cell_id: str) -> str:
        return self.page.evaluate(
            """id => window.jupyterapp.shell.currentWidget.content.widgets
                .find(c => c.model.id === id).model.sharedModel.source""",
            cell_id,
        )

    def run_cell(self, cell_id: str) -> None:
        self.cell(self.index(cell_id)).locator(".cm-content").click()
        with self._runs(cell_id):
            self.page.keyboard.press("Shift+Enter")

    def save(self) -> None:
        self.page.keyboard.press("ControlOrMeta+S")
        self.page.wait_for_function(
            "() => !window.jupyterapp.shell.currentWidget.context.model.dirty",
        )

    def theme(self, name: str) -> None:
        """ "JupyterLab Light" or "JupyterLab Dark", which follows the system's."""
        self.page.emulate_media(color_scheme="dark" if name.endswith("Dark") else "light")
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def close_file_browser(self) -> None:
        self.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")

    def pictures(self, tall: int) -> Iterator[bytes]:
        """PNGs of the notebook from its first cell to its last, each this many pixels tall."""
        width = self.page.viewport_size["width"]
        self.page.set_viewport_size({"width": width, "height": tall + 130})
        scroller = self.panel.locator(".jp-WindowedPanel-outer")
        height = scroller.evaluate("e => e.scrollHeight")
        for top in range(0, height, tall):
            scroller.evaluate("(e, top) => { e.scrollTop = top }", top)
            yield scroller.screenshot()

    def too_wide(self) -> list[str]:
        """Return the cells that hold a text, a table or a picture wider than the page, and by what.

        A formula may be wider for a moment, until its font has arrived, so this waits a little.
        """
        wide = self._cells_wider_than_the_page()
        for _ in range(20):
            if not wide:
                break
            self.page.wait_for_timeout(250)
            wide = self._cells_wider_than_the_page()
        return wide

    def _cells_wider_than_the_page(self) -> list[str]:
        # MathJax puts an invisible copy of every formula under it for screen readers. The copy may be
        # wider than the formula, so it is left out of the measurement.
        return self.page.evaluate(
            """() => {
                const style = document.createElement('style');
                style.textContent = 'mjx-assistive-mml { display: none !important; }';
                document.head.append(style);
                const found = [];
                for (const cell of window.jupyterapp.shell.currentWidget.content.widgets) {
                    const boxes = cell.node.querySelectorAll('.jp-RenderedHTMLCommon, .jp-OutputArea-output');
                    for (const box of boxes) {
                        if (box.scrollWidth <= box.clientWidth + 1) continue;
                        const edge = box.getBoundingClientRect().right;
                        const outside = [...box.querySelectorAll('*')]
                            .map(e => [Math.round(e.getBoundingClientRect().right - edge), e])
                            .filter(([more, e]) => more > 0)
                            .map(([more, e]) => `${e.tagName} +${more} px ${e.textContent.slice(0, 30)}`);
                        found.push(`${cell.model.id}: ${box.scrollWidth} of ${box.clientWidth} px; `
                            + outside.join('; '));
                    }
                }
                style.remove();
                return found;
            }""",
        )
