"""Write a JupyterLab extension and settings for students' notebooks, narrow windows and dark mode.

The extension shows the labs' folders in the course's order, and does not call a notebook unsaved
because its kernel has started. In a narrow window it hides the file list, and lets wide formulas,
tables and pictures scroll sideways, so that the text in them stays readable. The settings let
JupyterLab follow the system's dark mode. Both `autograder lab` and the course's website use them.
"""

import json
from collections.abc import Sequence
from pathlib import Path

# The settings below are defaults: the student's own settings take precedence.
SETTINGS = {"@jupyterlab/apputils-extension:themes": {"adaptive-theme": True}}

EXTENSION_NAME = "autograder-screen"
_PACKAGE = {
    "name": EXTENSION_NAME,
    "version": "1.0.0",
    "jupyterlab": {
        "extension": True,
        "_build": {"load": "static/entry.js", "extension": "./extension"},
    },
}
# JavaScript of the extension. It is a module federation container, that is, an object whose
# `init` and then `get("./extension")` JupyterLab calls.
_ENTRY = """\
"use strict";
(() => {
  const style = document.createElement("style");
  style.textContent = `
    .jp-RenderedMarkdown mjx-container[display="true"] { overflow: auto hidden; max-width: 100%; }
    .jp-Notebook .jp-RenderedText pre { word-break: normal; overflow-wrap: anywhere; }
    @media (max-width: 34rem) {
      .jp-Notebook .jp-InputPrompt, .jp-Notebook .jp-OutputPrompt { display: none; }
      .jp-NotebookTrustedStatus { display: none !important; }
    }
    @media (max-width: 45rem) {
      .jp-Notebook .jp-RenderedMarkdown { overflow-wrap: anywhere; }
      .jp-RenderedHTMLCommon table { display: block; overflow-x: auto; overflow-wrap: normal; max-width: 100%; }
      .jp-RenderedHTMLCommon mjx-container:not([display]) { display: inline-block; overflow: auto hidden; max-width: 100%; }
      .jp-OutputArea-output.jp-RenderedHTML { overflow-x: auto; }
      .jp-RenderedHTML img { max-width: none !important; zoom: .75; }
    }`;
  const numbers = new Map(@LABS@.map((lab, index) => [lab, index + 1]));
  // Show the labs' folders in the course's order. Their paths do not change.
  const numberLabs = (contents) => {
    const get = contents.get.bind(contents);
    contents.get = async (path, options) => {
      const model = await get(path, options);
      if (path.replace(/^\\/+/, "") || model.type !== "directory" || !model.content) return model;
      const number = (entry) => numbers.has(entry.name) && entry.type === "directory"
        ? { ...entry, name: `${numbers.get(entry.name)} ${entry.name}` } : entry;
      return { ...model, content: model.content.map(number) };
    };
  };
  // When its kernel starts, a notebook gets the kernel's description. That alone needs no saving.
  const ignoreKernelDescription = async (context) => {
    await context.ready;
    const model = context.model;
    const describe = () => {
      const { metadata, ...content } = model.toJSON();
      return JSON.stringify([content, { ...metadata, kernelspec: null, language_info: null }]);
    };
    const before = describe();
    const look = () => {
      if (!model.dirty) return;
      if (describe() === before) model.dirty = false;
      else model.stateChanged.disconnect(look);
    };
    model.stateChanged.connect(look);
    look();
  };
  const activate = (app) => {
    document.head.append(style);
    if (numbers.size) numberLabs(app.serviceManager.contents);
    const contexts = new WeakSet();
    app.shell.currentChanged?.connect(() => {
      const context = app.shell.currentWidget?.context;
      if (!context?.path.endsWith(".ipynb") || contexts.has(context)) return;
      contexts.add(context);
      ignoreKernelDescription(context);
    });
    const narrow = window.matchMedia("(max-width: 60rem)");
    narrow.addEventListener("change", () => narrow.matches ? app.shell.collapseLeft() : app.shell.expandLeft());
    const collapse = () => narrow.matches && app.shell.collapseLeft();
    app.restored.then(collapse);
    // The address of a lab, as in a link, makes JupyterLab open the lab and then its folder in the file list.
    let opensAddress = false;
    app.commands.commandExecuted.connect((_, { id, result }) => {
      if (id === "router:tree") opensAddress = true;
      if (id !== "docmanager:show-in-file-browser" || !opensAddress) return;
      opensAddress = false;
      result.then(collapse, collapse);
    });
    // Let the keyboard reach elements that scroll sideways. Only a narrow window has them.
    let waits;
    const reach = () => {
      waits = undefined;
      const scrollers = ".jp-RenderedHTMLCommon, .jp-RenderedHTMLCommon :is(table, mjx-container)";
      for (const one of document.querySelectorAll(scrollers))
        if (one.scrollWidth > one.clientWidth + 1 && one.tabIndex < 0) one.tabIndex = 0;
    };
    const look = () => { if (narrow.matches) waits ??= setTimeout(reach, 500); };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    // A formula or a picture may become wider after it was inserted, when its font or its data arrives.
    document.fonts.addEventListener("loadingdone", look);
    document.addEventListener("load", look, true);
    narrow.addEventListener("change", look);
  };
  const extension = { __esModule: true, default: { id: "@NAME@:plugin", autoStart: true, activate } };
  (window._JUPYTERLAB ??= {})["@NAME@"] = { init() {}, get: async () => () => extension };
})();
"""


def write_extension(folder: Path, labs: Sequence[str] = ()) -> Path:
    """Write the extension into a subfolder of `folder`, and return the path of the subfolder.

    Parameters
    ----------
    labs : sequence of str, optional
        Folders that the file list shows as ``1 name``, ``2 name`` and so on, in this order.
    """
    extension = folder / EXTENSION_NAME
    (extension / "static").mkdir(parents=True)
    (extension / "package.json").write_text(json.dumps(_PACKAGE), "utf-8")
    entry = _ENTRY.replace("@NAME@", EXTENSION_NAME).replace("@LABS@", json.dumps(list(labs)))
    (extension / "static" / "entry.js").write_text(entry, "utf-8")
    return extension
