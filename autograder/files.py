"""Writing a file so that nobody ever sees half of it."""

import os
from pathlib import Path


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: beside it first, then renamed. Makes the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    beside.replace(path)
