"""Texts that are printed: control characters are replaced, and layout stays."""

from decimal import Decimal
from fractions import Fraction

import pytest

from autograder.core.rounding import (
    _MAX_DENOMINATOR,
    format_points,
    round_half_up,
    to_fraction,
)
from autograder.core.text_format import (
    format_count,
    join_words,
    make_printable,
    strip_escapes,
    truncate,
)


@pytest.mark.parametrize("text", ["a\tb", "one line\nand another", "é ∑ 字", ""])
def test_harmless_text_stays_as_it_is(text):
    assert make_printable(text) == text


@pytest.mark.parametrize("character", ["\x00", "\x07", "\r", "\x7f", "\x85", "\u202e", "\u2028"])
def test_a_control_character_is_replaced(character):
    assert make_printable(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize(
    ("words", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", 3], "a, b or 3")],
)
def test_words_are_joined_as_in_a_sentence(words, text):
    assert join_words(words, "or") == text


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "point", "0 points"),
        (1_234, "row", "1,234 rows"),
        (1, "copy", "1 copy"),
        (2, "day", "2 days"),
        (0.5, "point", "0.5 points"),
    ],
)
def test_a_count_has_its_noun_in_the_right_number(number, noun, text):
    assert format_count(number, noun) == text


def test_a_text_of_just_the_allowed_length_is_not_cut():
    assert truncate("12345678", 8) == "12345678" and truncate("123456789", 8) == "12345..."


@pytest.mark.parametrize(
    ("points", "text"),
    [(100, "100"), (Decimal("90"), "90"), (0, "0"), (10.0, "10"), (0.005, "0.01"), (1.5, "1.5")],
)
def test_points_lose_zeros_after_the_point_only(points, text):
    assert format_points(points) == text


@pytest.mark.parametrize(
    ("number", "decimals", "text"),
    [(2.675, 2, "2.68"), (89.5, 0, "90"), (1.005, 2, "1.01"), (1 / 3, 1, "0.3"), (7, 1, "7.0")],
)
def test_a_half_is_rounded_up_whatever_the_decimals(number, decimals, text):
    assert str(round_half_up(number, decimals)) == text


def test_points_are_fractions_up_to_a_denominator():
    assert to_fraction(1 / _MAX_DENOMINATOR) == Fraction(1, _MAX_DENOMINATOR)
    assert to_fraction(1 / (_MAX_DENOMINATOR + 1)) == Fraction(1, _MAX_DENOMINATOR)


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b[1;31m",
        "\x9b31m",
        "\x1b[?25l",
        "\x1b[1 q",
        "\x1b]0;a title\x07",
        "\x1b]0;a title\x1b\\",
        "\x9d0;a title\x9c",
        "\x1b(B",
        "\x1bc",
    ],
)
def test_escape_sequences_of_every_kind_are_removed_whole(escape):
    assert strip_escapes(f"a{escape} b") == "a b"
