"""Bring along the pictures that an imported notebook's text shows, as attachments of its cells.

An attachment is a part of the notebook's file. So the picture is there for students, in every
package and on every platform, wherever the notebook lies.
"""

import base64
import re
from pathlib import Path
from urllib.parse import unquote

from nbformat import NotebookNode

from course_import.dependencies import is_file_in_folder
from course_import.nbgrader_source import CellImportReport

MAX_PICTURE_BYTES = 2 << 20
# A picture in Markdown, ![alt](path "title"), or in HTML, <img src="path">. The groups are the text
# before the path, and the path.
_PICTURE = re.compile(r"""(!\[[^\]]*\]\(\s*<?|<img\b[^>]*?\bsrc\s*=\s*["']?)([^\s"'<>)]+)""", re.I)
_MIME_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
}


def attach_pictures(cell: NotebookNode, folder: Path, report: CellImportReport) -> None:
    """Put the pictures that a Markdown cell shows into its attachments; name them in the report.

    Pictures on the web and present attachments are left as they are.

    Parameters
    ----------
    folder : Path
        Folder of the source notebook.
    """
    attachments = dict(cell.get("attachments", {}))

    def replace_path(match: re.Match) -> str:
        name = unquote(match[2]).removeprefix("./")
        if ":" in name.split("/")[0] or name.startswith("/"):
            return match[0]
        mime_type = _MIME_TYPES.get(Path(name).suffix.lower())
        if not mime_type or not is_file_in_folder(name, folder):
            report.problems.append(f"the picture `{name}` is not beside the notebook: put it there")
            return match[0]
        data = (folder / name).read_bytes()
        if len(data) > MAX_PICTURE_BYTES:
            report.problems.append(
                f"the picture `{name}` has more than {MAX_PICTURE_BYTES >> 20} MB: make it smaller"
            )
            return match[0]
        key = name.replace("/", "-").replace(" ", "-")
        attachments[key] = {mime_type: base64.b64encode(data).decode()}
        report.additions.append(f"the picture `{name}` came along, inside of the cell")
        return f"{match[1]}attachment:{key}"

    cell.source = _PICTURE.sub(replace_path, cell.source)
    if attachments:
        cell.attachments = attachments
