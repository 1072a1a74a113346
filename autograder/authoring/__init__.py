"""The author's part: labs and their exercises, and what is built from them. Student code never imports it."""

from autograder.authoring.exercise import Exercise, sizes
from autograder.judging.asking import first, made, result
from autograder.judging.question import Inputs, inputs
from autograder.judging.tested import asked, by_test, holds

__all__ = ["Exercise", "Inputs", "asked", "by_test", "first", "holds", "inputs", "made", "result", "sizes"]
