"""The labs' exercises, for instructors: cases, misconceptions, and where the reference comes from.

One module a lab; `exercises()` imports them all. Student code never imports this package.
"""

from functools import cache
from importlib import import_module

from autograder.labs.exercise import Exercise

# In the order in which a student takes them.
LABS = {
    "additive-attention": {"title": "Additive attention", "minutes": 45, "difficulty": "first steps"},
    "qkv-attention": {"title": "Queries, keys and values", "minutes": 75, "difficulty": "moderate"},
    "attention-masks": {"title": "Masks: who may attend to whom", "minutes": 75, "difficulty": "moderate"},
    "keras-attention": {"title": "Attention as a Keras layer", "minutes": 60, "difficulty": "demanding"},
}


@cache
def exercises(lab: str) -> dict[str, Exercise]:
    """A lab's exercises by name, in the order of its notebook.

    >>> list(exercises("qkv-attention"))[0]
    'softmax'
    """
    if lab not in LABS:
        raise KeyError(f"there is no lab {lab!r}; the labs are {', '.join(LABS)}")
    module = import_module(f"autograder.labs.{lab.replace('-', '_')}")
    return {e.name: e for e in vars(module).values() if isinstance(e, Exercise) and e.lab == lab}


def lab_of(exercise: str) -> str:
    """The lab that an exercise belongs to."""
    return next(lab for lab in LABS if exercise in exercises(lab))


def unavailable(lab: str) -> str:
    """Why a lab can be neither built nor marked here, and what to do about it; "" where it can."""
    from autograder.framework import missing

    return missing() if lab == "keras-attention" else ""
