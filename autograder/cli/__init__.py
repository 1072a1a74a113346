"""Define the command line, `autograder COMMAND`; other modules do the commands' work.

Other packages can add commands by entry points of the group `autograder.commands`.
"""

# Keep this order: the help lists the commands in the order of these imports.
from autograder.cli import student, author, instructor  # noqa: F401, I001
from autograder.cli.group import main

__all__ = ["main"]
