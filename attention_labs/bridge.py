"""Optional PyTorch, for cells that compare it with a student's functions."""

from types import ModuleType


def torch() -> ModuleType | None:
    """Return PyTorch; print a sentence and return None if it is not installed."""
    try:
        import torch as module
    except (ImportError, OSError):  # OSError: one of its shared libraries is missing
        print(
            "PyTorch is not installed here, so this cell has nothing to show; `pip install torch` brings it.",
        )
        return None
    return module
