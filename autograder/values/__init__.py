"""Types of arguments and results: how to encode, compare and describe each of them."""

# Import all these modules, since each registers its types of values when it is imported.
from autograder.values import arrays, containers, objects, scalars  # noqa: F401
