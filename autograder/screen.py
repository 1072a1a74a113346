"""What JupyterLab has to learn of screens: a small extension of it, and settings, for the desk and for the site.

In a narrow window the list of files folds itself away, a wide formula, table or picture scrolls by itself, and a
picture keeps letters that can be read. Where the system is dark, JupyterLab is dark.
"""

import json
from pathlib import Path

SETTINGS = {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}  # below the student's own

NAME = "autograder-screen"
_PACKAGE = {
    "name": NAME,
    "version": "1.0.0",
    "jupyterlab": {"extension": True, "_build": {"load": "static/entry.js", "extension": "./extension"}},
}
# A container as module federation has it: JupyterLab calls `init`, then asks it for "./extension".
_ENTRY = """\
"use strict";
(() => {
  const style = document.createElement("style");
  style.textContent = `
    .jp-RenderedMarkdown mjx-container[display="true"] { overflow: auto hidden; max-width: 100%; }
    @media (max-width: 34rem) {
      .jp-Notebook .jp-InputPrompt, .jp-Notebook .jp-OutputPrompt { display: none; }
    }
    @media (max-width: 45rem) {
      .jp-Notebook .jp-RenderedMarkdown { overflow-wrap: anywhere; }
      .jp-RenderedHTMLCommon table { display: block; overflow-x: auto; overflow-wrap: normal; max-width: 100%; }
      .jp-RenderedHTMLCommon mjx-container:not([display]) { display: inline-block; overflow: auto hidden; max-width: 100%; }
      .jp-OutputArea-output.jp-RenderedHTML { overflow-x: auto; }
      .jp-RenderedHTML img { max-width: none !important; zoom: .75; }
    }`;
  const activate = (app) => {
    document.head.append(style);
    const narrow = window.matchMedia("(max-width: 60rem)");
    narrow.addEventListener("change", () => narrow.matches ? app.shell.collapseLeft() : app.shell.expandLeft());
    app.restored.then(() => narrow.matches && app.shell.collapseLeft());
    // What scrolls is reached by the keyboard too. Only a narrow window has anything that does.
    let waits;
    const reach = () => {
      waits = undefined;
      const scrollers = ".jp-RenderedHTMLCommon, .jp-RenderedHTMLCommon :is(table, mjx-container)";
      for (const one of document.querySelectorAll(scrollers))
        if (one.scrollWidth > one.clientWidth + 1 && one.tabIndex < 0) one.tabIndex = 0;
    };
    const look = () => { if (narrow.matches) waits ??= setTimeout(reach, 500); };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    narrow.addEventListener("change", look);
  };
  const extension = { __esModule: true, default: { id: "@NAME@:plugin", autoStart: true, activate } };
  (window._JUPYTERLAB ??= {})["@NAME@"] = { init() {}, get: async () => () => extension };
})();
"""


def write_extension(folder: Path) -> Path:
    """Write the extension below a folder, and return its own folder there."""
    own = folder / NAME
    (own / "static").mkdir(parents=True)
    (own / "package.json").write_text(json.dumps(_PACKAGE), "utf-8")
    (own / "static" / "entry.js").write_text(_ENTRY.replace("@NAME@", NAME), "utf-8")
    return own
