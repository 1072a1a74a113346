"""The words of sentences about results: numbers, positions, places."""

import numpy as np
import pytest

from autograder.values.case_records import Inputs
from autograder.values.wording import (
    ResultWording,
    add_article,
    format_differently,
    format_index,
    format_megabytes,
    format_number,
    format_ordinal,
)


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (1, "first"),
        (9, "ninth"),
        (10, "10th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (22, "22nd"),
        (43, "43rd"),
        (100, "100th"),
        (111, "111th"),
        (121, "121st"),
    ],
)
def test_a_position_has_its_word(number, word):
    assert format_ordinal(number) == word


@pytest.mark.parametrize(
    ("number", "text"),
    [(-0.0, "0"), (2, "2"), (np.float32(0.1), "0.1"), (1234567, "1.235e+06"), (False, "False")],
)
def test_a_number_has_at_most_four_digits_and_no_minus_before_zero(number, text):
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(400_000, "0.4 MB"), (9_400_000, "9.4 MB"), (10_000_000, "10 MB"), (123_400_000, "123 MB")],
)
def test_large_sizes_have_no_decimals(size, text):
    assert format_megabytes(size) == text


def test_the_only_entry_of_an_array_without_axes_has_no_index():
    assert (format_index(()), format_index((0,)), format_index((1, 2))) == (
        "its only entry",
        "[0]",
        "[1, 2]",
    )


@pytest.mark.parametrize(
    ("noun", "text"),
    [
        ("uint8", "a uint8"),
        ("unusual thing", "an unusual thing"),
        ("UInt8", "a UInt8"),
        ("IndexError", "an IndexError"),
        ("ndarray", "an ndarray"),
        ("set", "a set"),
    ],
)
def test_a_noun_has_the_article_that_is_spoken(noun, text):
    assert add_article(noun) == text


def test_two_numbers_that_differ_are_written_so_that_it_shows():
    assert format_differently(1.0, 2.0) == ("1", "2")
    first, second = format_differently(1e10, 1e10 + 1)
    assert first != second


def test_places_are_put_before_a_sentence_and_are_nested():
    part = ResultWording().for_part("In the first of its 2 values: ")
    inner = part.for_part("In the entry 'a': ")
    assert inner.add_place("The result is 3.") == (
        "In the first of its 2 values: in the entry 'a': the result is 3."
    )
    named = ResultWording("Your result's `x`: ", "Your result's `x` is", names_place=True)
    assert named.add_place("Your result's `x` is 3.") == "Your result's `x` is 3."
    assert named.add_place("It has shape (2,).") == "Your result's `x`: it has shape (2,)."


def test_an_argument_without_a_known_name_is_counted_from_one():
    inputs = Inputs((1, 2), argument_names=("x",))
    assert (inputs.name_argument(0), inputs.name_argument(1)) == ("`x`", "argument 2")
