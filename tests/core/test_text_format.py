"""Texts that are printed: control characters are replaced, and layout stays."""

import pytest

from autograder.core.text_format import make_printable


@pytest.mark.parametrize("text", ["a\tb", "one line\nand another", "é ∑ 字", ""])
def test_harmless_text_stays_as_it_is(text):
    assert make_printable(text) == text


@pytest.mark.parametrize("character", ["\x00", "\x07", "\r", "\x7f", "\x85", "\u202e", "\u2028"])
def test_a_control_character_is_replaced(character):
    assert make_printable(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"
