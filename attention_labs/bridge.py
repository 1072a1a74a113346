"""PyTorch beside a student's own functions, in cells that show nothing but a sentence where it is not installed."""

from types import ModuleType


def torch() -> ModuleType | None:
    """PyTorch, or None, with a sentence, where there is none."""
    try:
        import torch as module
    except (ImportError, OSError):  # OSError: one of its own libraries is not there
        print(
            "PyTorch is not installed here, so this cell has nothing to show; `pip install torch` brings it."
        )
        return None
    return module
