"""Define the command line, `autograder COMMAND`; other modules do the commands' work.

Other packages can add commands by entry points of the group `autograder.commands`.
"""

# The help lists the commands in this order.
from autograder.cli import student, author, instructor  # noqa: F401, I001
from autograder.cli.group import main

__all__ = ["main"]
