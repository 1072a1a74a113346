"""Define the command `autograder web`."""

from pathlib import Path

import click

from autograder.cli.options import COURSE_OPTION, FOLDER_TYPE
from autograder.core.course import find_course


@click.command("web")
@COURSE_OPTION
@click.option(
    "--output",
    type=FOLDER_TYPE,
    default=Path("dist/web"),
    show_default=True,
    help="The site's folder.",
)
@click.option(
    "--pyodide",
    metavar="FOLDER|URL",
    default="",
    help="Pyodide's distribution; by default JupyterLite's.",
)
def make_site(output: Path, pyodide: str) -> None:
    """Make the labs as a static site: they run in the student's browser, with nothing to install.

    With --pyodide FOLDER the site holds Python, NumPy and Matplotlib itself, for places without a
    network.

    \b
    Example:  autograder web --output public
    """
    from course_site.site import write_site

    site = write_site(find_course(), output, pyodide)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    server = f"python -m http.server -d {site}"
    click.echo(f"{site}: {size / 1e6:.0f} MB. Any web server can serve it, such as: {server}")
