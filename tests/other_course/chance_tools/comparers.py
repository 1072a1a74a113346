"""Comparisons that describe a wrong answer in this course."""


def is_a_chance(value, given):
    """A chance lies between 0 and 1."""
    if isinstance(value, (int, float)) and not 0 <= value <= 1:
        return f"A chance lies between 0 and 1; yours is {value:g}."
    return None
