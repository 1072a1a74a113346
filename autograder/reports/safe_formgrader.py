"""Change the web pages of nbgrader's formgrader so that students' content can do no harm there.

The pages then load nothing from the network, and contain no scripts and no unsafe links of
students. nbgrader's settings name the classes in this module (see `authoring.nbgrader_settings`).
Outputs are cleaned here even if the autograder has cleaned them before, since another program may
have graded the notebook.
"""

import sys
from html import escape
from time import monotonic
from typing import Any

from jinja2 import ChoiceLoader, DictLoader, pass_context
from jinja2.runtime import Context
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.core.notebook_cells import get_nbgrader_metadata
from autograder.grading.sanitise import clean_output, extract_pictures, render_markdown

# nbconvert's macro "mathjax" would load MathJax from the network. Replace it by an empty macro: the
# formulas on these pages are MathML and do not need MathJax.
_NO_MATHJAX = {"mathjax.html.j2": "{%- macro mathjax(url='') -%}{%- endmacro -%}"}

MAX_MARKDOWN_SECONDS = 5.0  # for one page; an ordinary one takes a twentieth of a second


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """Convert Markdown to safe HTML, in place of nbconvert's Jinja filter of the same name.

    The formgrader cannot answer other requests while it renders a page. So after some seconds, the
    rest of a page's Markdown is shown as plain text.
    """
    resources = context.get("resources", {})
    seconds = resources.get("seconds_of_markdown", 0.0)
    if seconds > MAX_MARKDOWN_SECONDS:
        return f"<pre>{escape(source)}</pre>"
    start = monotonic()
    try:
        return render_markdown(source, extract_pictures(context.get("cell", {})))
    finally:
        resources["seconds_of_markdown"] = seconds + monotonic() - start


def _escape_text(value: Any) -> Any:
    """Escape a str, or all str values in a dict, for HTML; return other values unchanged."""
    if isinstance(value, dict):
        return {key: _escape_text(item) for key, item in value.items()}
    return escape(value) if isinstance(value, str) else value


def _patch_formgrader_to_escape_names() -> None:
    """Let nbgrader's pages about a student escape names for HTML, since nbgrader does not do so."""
    handlers = sys.modules.get("nbgrader.server_extensions.formgrader.handlers")
    if handlers is None or hasattr(handlers.BaseHandler, "escapes_names"):
        return
    render_unescaped = handlers.BaseHandler.render

    def render(self: Any, template: str, **context: Any) -> Any:
        for key in ("student_id", "resources"):
            if key in context:
                context[key] = _escape_text(context[key])
        return render_unescaped(self, template, **context)

    handlers.BaseHandler.render, handlers.BaseHandler.escapes_names = render, True


class SafePages(NbGraderPreprocessor):
    """Preprocessor for nbconvert that makes the formgrader's pages of submissions safe.

    It removes MathJax, cleans the outputs, and escapes students' names, which students can often
    choose themselves.
    """

    def __init__(self, **kw: Any):
        super().__init__(**kw)
        _patch_formgrader_to_escape_names()

    def preprocess(
        self,
        nb: NotebookNode,
        resources: dict[str, Any],
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the notebook with clean outputs, and the resources with escaped names."""
        environment = getattr(self.parent, "environment", None)
        if environment is not None and not isinstance(environment.loader.loaders[0], DictLoader):
            environment.loader = ChoiceLoader([DictLoader(_NO_MATHJAX), environment.loader])
        for cell in nb.cells:
            if cell.cell_type == "code":
                # The outputs of a test cell come from the autograder and not from the student. They
                # are safe, so keep their styles.
                is_test_cell = bool(get_nbgrader_metadata(cell).get("grade"))
                cell.outputs = [
                    clean_output(output, keep_styles=is_test_cell) for output in cell.outputs
                ]
        for name in ("student", "first_name", "last_name", "notebook_path"):
            if name in resources:
                resources[name] = _escape_text(resources[name])
        return nb, resources
