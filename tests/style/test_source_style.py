"""Faults that a formatter or a change leaves: lost docstrings, split sentences, stray comments, unused code."""

import ast
import io
import re
import tokenize
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from measure_source import walk_statements

ROOT = Path(__file__).parents[2]
CODE = sorted(
    p
    for folder in (
        "autograder",
        "course_import",
        "course_site",
        "similarity",
        "attention_labs",
        "docs",
    )
    for p in (ROOT / folder).rglob("*.py")
)
WIDTH = 110
_AFTER_BRACKET = r"[ \t]*[])}]+(\s*[:,])?[ \t]+#"
_REMARK = re.compile(r"#\s*(noqa|fmt|type|pragma|doctest)")
_STILL_A_NAME = re.compile(
    r"(cached_)?property|\w*cache|staticmethod|classmethod|dataclass|contextmanager"
)


def lost_docstrings(text):
    """Lines of texts that stand alone and are no docstring."""
    tree = ast.parse(text)
    bodies = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    statements = [*walk_statements(tree)]
    first = {id(node.body[0]) for node in statements if isinstance(node, bodies) and node.body}
    return [
        node.lineno
        for node in statements
        if isinstance(node, ast.Expr)
        and isinstance(node.value, (ast.Constant, ast.JoinedStr))
        and not (isinstance(node.value, ast.Constant) and node.value.value is Ellipsis)
        and id(node) not in first
    ]


def torn_sentences(text):
    """Lines that end in the middle of a phrase although the next piece of the text has words that fit on them."""
    lines = text.splitlines()
    piece = re.compile(r"""^\s*[rf]{0,2}(["'])(?P<said>.*?)\1\s*$""")
    found = []
    for number, (line, after) in enumerate(pairwise(lines), 1):
        one, other = piece.match(line), piece.match(after)
        if (
            not one
            or not other
            or not other["said"]
            or re.search(r"([.!?:;,]|\\n|\s\s)\s*$", one["said"])
        ):
            continue
        words = re.match(
            r"\S*\s+\S+\s+\S+", other["said"]
        )  # some more than one, for a link or a name may be long
        if words and one["said"].endswith(" ") and len(line) + len(words[0]) + 1 < WIDTH - 10:
            found.append(number)
    return found


def strayed_comments(text):
    """Lines with a closing bracket that was opened above, and a comment on what is inside."""
    found = []
    if not re.search(f"^{_AFTER_BRACKET}", text, re.M):
        return found  # to tokenise all sources takes seconds
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        after_a_bracket = re.match(_AFTER_BRACKET, token.line)
        if token.type == tokenize.COMMENT and after_a_bracket and not _REMARK.match(token.string):
            found.append(token.start[0])
    return found


def blown_up(text):
    """Lines of a value that a comment behind it has put into brackets of its own: the comment belongs above."""
    blown = re.compile(r"^.*= \(\n +[^\n]*[^,\n]  # [^\n]*\n *\)$", re.M)
    return [text[: found.start()].count("\n") + 1 for found in blown.finditer(text)]


def enrolling(text):
    """The classes of a module that do something with each class that is made from them."""
    if "__init_subclass__" not in text:
        return []
    statements = walk_statements(ast.parse(text))
    classes = (node for node in statements if isinstance(node, ast.ClassDef))
    return [
        one.name
        for one in classes
        if any(getattr(p, "name", "") == "__init_subclass__" for p in one.body)
    ]


def defined(text, enrolled_by=()):
    """The names of a module's functions, classes, methods, fields and constants, but those that a decorator, a class
    that it is made from, or Python itself calls."""
    tree = ast.parse(text)
    statements = [*walk_statements(tree)]
    classes = [node for node in statements if isinstance(node, ast.ClassDef)]
    # Methods that are asked for by what a class is made from, or by names that are put together.
    builds_names = "getattr(self, " in text
    asking = (
        one
        for one in classes
        if one.bases or (builds_names and "getattr(self, " in ast.unparse(one))
    )
    asked_for = {id(method) for one in asking for method in one.body}
    for node in (
        *tree.body,
        *(part for one in classes for part in one.body if id(part) not in asked_for),
    ):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one.id for one in names if isinstance(one, ast.Name) and one.id[:2] != "__")
    for node in statements:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or id(node) in asked_for:
            continue
        if any(ast.unparse(base) in enrolled_by for base in getattr(node, "bases", ())):
            continue
        called = [ast.unparse(decorator) for decorator in node.decorator_list]
        if not re.fullmatch(r"__\w+__", node.name) and all(map(_STILL_A_NAME.match, called)):
            yield node.name


def unused(modules, everything):
    """Names that are defined in one of the modules and stand nowhere else, or only where they are others' of the name."""
    words = [(text, Counter(re.findall(r"\w+", text))) for text in everything]
    enrolled_by = [name for text in modules for name in enrolling(text)]
    total, own = Counter(), {text: set(defined(text, enrolled_by)) for text in modules}
    for _, counts in words:
        total.update(counts)
    found = {name for names in own.values() for name in names if total[name] < 2}
    for text, counts in words:
        for name in sorted(own.get(text, ())):
            if counts[name] == 1 and total[name] > 1 and re.search(rf"^{name}\b.* = ", text, re.M):
                others = (t for t, count in words if t is not text and count[name])
                if all(name in own.get(t, ()) and not re.search(rf"\.{name}\b", t) for t in others):
                    found.add(name)  # a constant here, and another's constant there
    return sorted(found)


@pytest.mark.long
@pytest.mark.parametrize("check", [lost_docstrings, torn_sentences, strayed_comments, blown_up])
def test_there_are_no_scars(check):
    found = {str(p.relative_to(ROOT)): check(p.read_text("utf-8")) for p in CODE}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (lost_docstrings, 'def f():\n    x = 1\n    """What it does."""\n'),
        (lost_docstrings, 'class A:\n    ""\n    "Kept."\n'),
        (torn_sentences, 'raise E(\n    f"There is a "\n    f"submission of the same name; "\n)\n'),
        (strayed_comments, "A = (\n    1,\n    2,\n)  # seconds\n"),
        (blown_up, "SLOW = (\n    20  # what took longer is slow\n)\n"),
    ],
)
def test_a_scar_is_noticed(check, text):
    assert check(text)


@pytest.mark.long
def test_everything_is_used():
    pages = [
        p
        for name in (
            "autograder",
            "course_import",
            "course_site",
            "similarity",
            "attention_labs",
            "docs",
            "solutions",
            "data",
        )
        for p in (ROOT / name).rglob("*")
    ]
    pages += [
        *ROOT.glob("*.py"),
        *ROOT.glob("*.toml"),
        ROOT / "Makefile",
        ROOT / "tests" / "bench.py",
    ]
    suffixes = {".py", ".ipynb", ".html", ".toml", ".md", ".mk", ".json", ""}
    texts = {p: p.read_text("utf-8") for p in pages if p.is_file() and p.suffix in suffixes}
    assert unused([texts[p] for p in CODE], [*texts.values()]) == []
    planted = (
        "MOST = 3\n\n\nclass A:\n    field: int = 0\n\n\ndef nobody_calls_this(A):\n    pass\n"
    )
    assert unused([planted], [planted]) == ["MOST", "field", "nobody_calls_this"]
    kinds = "class Kind:\n    def __init_subclass__(cls):\n        Kind\n\n\nclass Array(Kind):\n    pass\n"
    assert unused([kinds], [kinds]) == []
    assert unused([kinds.replace("_subclass", "")], [kinds]) == ["Array"]
    other = "MOST = 4\nprint(MOST, field, nobody_calls_this)\n"
    assert unused([planted, other], [planted, other]) == ["MOST"]
