"""The author's part: labs and their exercises, and what is built from them. Student code never imports it."""

from autograder.authoring.exercise import Exercise, sizes
from autograder.judging.question import Inputs, inputs, made

__all__ = ["Exercise", "Inputs", "inputs", "made", "sizes"]
