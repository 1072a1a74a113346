"""nbgrader's formgrader as a page that fetches nothing from elsewhere, and in which no student's link acts.

Named in nbgrader's settings. What a hand-in shows was cleaned when it was marked; here it is decided once
more on what the browser gets.
"""

import sys
from html import escape
from time import monotonic
from typing import Any

from jinja2 import ChoiceLoader, DictLoader, pass_context
from jinja2.runtime import Context
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.cells import nbgrader_of
from autograder.grading.marking.sanitise import clean_output, pictures_of, render_markdown

# nbconvert's own loads MathJax from a network of delivery; formulas are MathML by the time a page is made.
_NO_MATHJAX = {"mathjax.html.j2": "{%- macro mathjax(url='') -%}{%- endmacro -%}"}

SECONDS = 5.0  # for the Markdown of one page; an honest one takes a twentieth


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """nbconvert's filter of this name, with links and pictures checked and formulas as MathML.

    A page is made in the formgrader's own process, which serves nobody meanwhile: after some seconds the rest
    of its Markdown is shown as it was typed.
    """
    resources = context.get("resources", {})
    spent = resources.get("seconds_of_markdown", 0.0)
    if spent > SECONDS:
        return f"<pre>{escape(source)}</pre>"
    begun = monotonic()
    try:
        return render_markdown(source, pictures_of(context.get("cell", {})))
    finally:
        resources["seconds_of_markdown"] = spent + monotonic() - begun


def _as_text(said: Any) -> Any:
    """What is said of a student, as HTML that only shows; what is no text stays."""
    if isinstance(said, dict):
        return {name: _as_text(value) for name, value in said.items()}
    return escape(said) if isinstance(said, str) else said


def _escape_names() -> None:
    """Make nbgrader's own pages about a student show the name: their templates put it into HTML as it is."""
    handlers = sys.modules.get("nbgrader.server_extensions.formgrader.handlers")
    if handlers is None or hasattr(handlers.BaseHandler, "escapes_names"):
        return
    as_it_is = handlers.BaseHandler.render

    def render(self: Any, name: str, **said: Any) -> Any:
        return as_it_is(
            self, name, **{k: _as_text(v) if k in ("student_id", "resources") else v for k, v in said.items()}
        )

    handlers.BaseHandler.render, handlers.BaseHandler.escapes_names = render, True


class Offline(NbGraderPreprocessor):
    """Keep the page from asking for MathJax, clean the outputs of notebooks that others have marked, and show
    names as text: a student chooses what a learning platform, and so the roster, calls them."""

    def __init__(self, **kw: Any):
        super().__init__(**kw)
        _escape_names()

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        environment = getattr(self.parent, "environment", None)
        if environment is not None and not isinstance(environment.loader.loaders[0], DictLoader):
            environment.loader = ChoiceLoader([DictLoader(_NO_MATHJAX), environment.loader])
        for cell in nb.cells:
            if cell.cell_type == "code":
                tested = bool(nbgrader_of(cell).get("grade"))  # its outputs are the judge's
                cell.outputs = [clean_output(output, ours=tested) for output in cell.outputs]
        names = ("student", "first_name", "last_name", "notebook_path")
        resources.update({name: _as_text(resources[name]) for name in names if name in resources})
        return nb, resources
