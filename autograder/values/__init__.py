"""Value types: encoding, comparison and description of the arguments and results of exercises."""

# Each value type registers itself when its module is imported.
from autograder.values import arrays, containers, objects, scalars  # noqa: F401
