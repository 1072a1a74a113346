"""A missing pair of brackets is found, and named by its line."""

import ast

import numpy as np
import pytest
from functions_in_cells import define_in_cell
from test_repair import find_repair_for, make_test_cases_for

from autograder.diagnosis.brackets import MAX_OPERANDS, add_brackets, list_inner_links
from autograder.values.case_records import Inputs


def list_bracketed(code):
    return [ast.unparse(node) for node in add_brackets(ast.parse(code, mode="eval").body)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a + b / c", ["(a + b) / c"]),
        ("a / b * c", ["a / (b * c)"]),
        ("a - b - c", ["a - (b - c)"]),
        ("n ** 1 / 2", ["n ** (1 / 2)"]),
        ("x ** y ** z", ["(x ** y) ** z"]),
        ("-x ** 2", ["(-x) ** 2"]),
        ("a + b if c else 0", ["a + (b if c else 0)"]),
        ("a if c else b * d", ["(a if c else b) * d"]),
        ("a * (b - c) / d", []),  # a * b / c has no other meaning
        ("a * b * c + d", ["a * b * (c + d)", "a * (b * c + d)"]),
        ("(a + b) * c", []),
        ("a | b & c", ["(a | b) & c"]),
        ("a & b | c", ["a & (b | c)"]),
        ("a ^ b | c", ["a ^ (b | c)"]),
        ("a << b + c", ["(a << b) + c"]),
        ("a + b << c", ["a + (b << c)"]),
        ("a >> b & c", ["a >> (b & c)"]),
        ("a @ b + c", ["a @ (b + c)"]),
        ("a + b @ c", ["(a + b) @ c"]),
        ("a @ b @ c", []),
        ("a % b * c", ["a % (b * c)"]),
        ("a * b % c", ["a * (b % c)"]),
        ("a // b * c", ["a // (b * c)"]),
        ("a + b - c", []),
        ("a + b + c - d", []),
        ("a * b ** 2", ["(a * b) ** 2"]),
        ("2 * a * b ** 2", ["2 * (a * b) ** 2", "(2 * a * b) ** 2", "2 * (a * b ** 2)"]),
        ("a + b - c * d", ["a + (b - c) * d", "(a + b - c) * d", "a + (b - c * d)"]),
        ("a - b + c", ["a - (b + c)"]),
        ("a * b / c", []),
        ("a / b / c", ["a / (b / c)"]),
        ("a * b ** c", ["(a * b) ** c"]),
        ("-a ** b * c", []),
        ("-(a + b)", []),
        ("a ** -b * c", ["a ** (-b * c)"]),
        ("a + b * c - d", ["(a + b) * c - d", "a + b * (c - d)", "a + (b * c - d)"]),
        ("a - b * c / d", ["(a - b) * c / d", "(a - b * c) / d"]),
        ("a ** b ** c * d", ["(a ** b) ** c * d", "a ** b ** (c * d)", "a ** (b ** c * d)"]),
        (
            "a * b + c if d else e - f",
            [
                "a * (b + c if d else e - f)",
                "a * b + (c if d else e - f)",
                "(a * b + c if d else e) - f",
            ],
        ),
        ("a if c else b", []),
        ("a + b", []),
        ("f(a + b * c)", []),
        ("a + (b if c else d)", []),
        ("not a", []),
        ("not a ** 2", []),
        ("~a ** 2", []),
        ("+a ** 2", []),
    ],
)
def test_brackets_are_tried_where_they_matter(code, expected):
    assert list_bracketed(code) == expected


@pytest.mark.parametrize(
    ("code", "inner"),
    [
        ("a + b * c", ["b * c"]),
        ("a - b - c", ["a - b"]),
        ("a - (b - c)", []),
        ("a ** b ** c", ["b ** c"]),
        ("(a ** b) ** c", []),
        ("(a + b) * c", []),
        ("f(a + b) * c + d", ["f(a + b) * c"]),
        ("-(a * b) + c", []),
    ],
)
def test_the_links_of_a_longer_chain_are_known(code, inner):
    tree = ast.parse(code)
    links = list_inner_links(tree)
    assert [ast.unparse(node) for node in ast.walk(tree) if id(node) in links] == inner


def test_a_long_chain_gets_no_brackets():
    assert list_bracketed(" - ".join("abcdefghijkl"[:MAX_OPERANDS]))
    assert not list_bracketed(" - ".join("abcdefghijklm"[: MAX_OPERANDS + 1]))


@pytest.mark.parametrize(
    ("right", "wrong", "quoted"),
    [
        ("x / n ** (1 / 2)", "x / n ** 1 / 2", "1 / 2"),
        ("(x - n) / (n + 1)", "x - n / (n + 1)", "x - n"),
        ("x + (n if n > 4 else 0)", "x + n if n > 4 else 0", "n if n > 4 else 0"),
    ],
)
def test_missing_brackets_are_named_by_their_line(right, wrong, quoted):
    source = "\ndef f(x, n):\n    y = {}\n    return y + 1\n"
    rng = np.random.default_rng(1)
    case_inputs = [Inputs((rng.normal(size=(3, n)), n)) for n in (2, 3, 5, 7)]
    cases = make_test_cases_for(source.format(right), case_inputs)
    text = find_repair_for(define_in_cell(source.format(wrong)), cases)
    assert f"In line 3 of your cell, `y = {wrong}`: " in text
    assert f"with brackets ( ) around `{quoted}`, every case is right." in text


def test_the_larger_of_two_arrays_is_another_function():
    source = "\ndef f(x):\n    return np.{}(x, 0) + 1\n"
    case_inputs = [Inputs((np.linspace(-1, 2, n),)) for n in (4, 7, 9)]
    cases = make_test_cases_for(source.format("maximum"), case_inputs)
    text = find_repair_for(define_in_cell(source.format("max")), cases)
    assert "with another function in place of `np.max`, every case is right." in text
