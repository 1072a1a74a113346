"""The README and the documents: their files, and the commands that they show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    ROOT / "data" / "README.md",
    *sorted((ROOT / "solutions").glob("*/*.md")),
]

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
_INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.M)
_INLINE = re.compile(r"`([^`\n]+)`")


def find_fences(text):
    """Return what stands behind the opening fence, and the block, of each fenced block."""
    return [(info.strip(), block) for info, block in FENCE.findall(text)]


def list_command_lines(text):
    """Return every command that a page shows: in blocks, and between backticks in its prose."""
    prose = FENCE.sub("", text)
    blocks = []
    for info, block in find_fences(text):
        if info in {"", "bash", "sh", "console"}:
            blocks.append(block)
    blocks += _INDENTED.findall(prose)
    joined = "\n".join(blocks).replace("\\\n", " ")
    lines = re.split(r"\n|&&|\|\||[;|]", joined) + _INLINE.findall(prose)
    return [line.strip() for line in lines if line.strip()]


def name_page(page):
    return page.relative_to(ROOT).as_posix()
