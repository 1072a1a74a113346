"""The author's part: labs and their exercises, and what is built from them. Student code never imports it."""

from autograder.authoring.exercise import Exercise, sizes
from autograder.judging.asking import first, made, result
from autograder.judging.question import Inputs, inputs

__all__ = ["Exercise", "Inputs", "first", "inputs", "made", "result", "sizes"]
