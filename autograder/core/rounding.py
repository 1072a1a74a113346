"""Round points and percentages for tables and pages: to two decimals, a half upwards.

Marks are computed without rounding. They are rounded when they are shown. Floating-point numbers
are taken for the simple fractions that they stand for, so that a half is a half: Python's own
`round` makes 0.62 of 0.625, and 2.67 of 2.675.
"""

from decimal import Decimal
from fractions import Fraction
from math import floor

POINT_DECIMALS = 2
_MAX_DENOMINATOR = 1_000_000


def to_fraction(points: float) -> Fraction:
    """Return points as an exact fraction, without the rounding errors of floating-point numbers.

    >>> to_fraction(0.1 + 0.2), to_fraction(2 / 3)
    (Fraction(3, 10), Fraction(2, 3))
    """
    return Fraction(points).limit_denominator(_MAX_DENOMINATOR)


def round_half_up(number: float | Fraction, decimals: int = POINT_DECIMALS) -> Decimal:
    """Return a number rounded to `decimals` decimals; a half is rounded up.

    >>> round_half_up(0.625), round_half_up(8.345), round_half_up(Fraction(179, 2), decimals=0)
    (Decimal('0.63'), Decimal('8.35'), Decimal('90'))
    """
    exact = number if isinstance(number, Fraction) else to_fraction(number)
    return Decimal(floor(exact * 10**decimals + Fraction(1, 2))).scaleb(-decimals)


def format_points(points: float | Decimal | None) -> str:
    """Return points as text: "2.5", or a dash (–) for None, which means "not graded yet".

    >>> format_points(2.0), format_points(0.5), format_points(8 / 3), format_points(None)
    ('2', '0.5', '2.67', '–')
    """
    if points is None:
        return "–"
    rounded = points if isinstance(points, Decimal) else round_half_up(points)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
