"""Turn assertions that compare a value into comparisons of any found value with the expected one.

`np.allclose(mean(x), [2, 3])` becomes `np.allclose(found, expected)`. So the notebook's own
comparison decides what is right, a list as well as an array, say; and it holds no expected value,
which students could read. A hidden assertion's comparison holds no other value of it either.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.authoring.python_names import get_called_name
from course_import.assertions import Assertion, find_sides, is_full_value

Matcher = Callable[[ast.AST], bool]

# Functions of the engine that comparisons may call: what the author writes down as a list or an
# array has no labels, and a list has none of an array's methods.
ENGINE_FUNCTIONS = {"convert_to_list", "remove_labels"}
_ARRAY_MAKERS = {"array", "asarray", "arange", "linspace", "zeros", "ones"}

# Arguments that only say what is wrong.
_MESSAGE_KEYWORDS = {"msg", "err_msg", "message", "verbose"}
# Methods of unittest's test cases, which a comparison cannot call without such an object.
_UNITTEST_EQUALITIES = frozenset(
    """
    assert_equals assertEqual assertEquals eq_ assertListEqual assertDictEqual assertSetEqual
    assertTupleEqual
    """.split(),
)
_TYPE_QUESTIONS = {"isinstance", "callable", "hasattr"}
# Arguments that say how a value is compared, and nothing of the value.
_MANNER_KEYWORDS = frozenset(
    """
    rtol atol rel abs rel_tol abs_tol decimal decimals ndigits places delta axis keepdims
    """.split(),
)
_ROUNDING_FUNCTIONS = {"round", "around"}
_NAMED_NUMBERS = {"pi", "e", "tau"}  # of the modules `math` and `numpy`


def make_comparison(assertion: Assertion, name: str, is_variable: bool) -> str:
    """Return an assertion's source code with the names `found` and `expected`; "" if impossible.

    Students have the source code. So it is "" for a hidden assertion of which it would hold a
    value: `np.allclose(f(2).sum() - 21, 0)` says that the sum is 21.

    Parameters
    ----------
    name : str
        The function or variable of students that the assertion is about.
    """
    test = assertion.expansion
    if assertion.kind not in ("value", "property") or not isinstance(test, ast.expr):
        return ""
    while get_called_name(test) == "all" and getattr(test, "args", None):
        generator = test.args[0]  # type: ignore[attr-defined]
        if not isinstance(generator, (ast.GeneratorExp, ast.ListComp)):
            break
        test = generator.elt
    is_subject = _make_matcher(name, is_variable)
    sides = find_sides(test)
    own_sides = [side for side in sides if _find_subjects(side, is_subject)]
    if not sides:
        return _make_question(assertion, test, is_subject)
    if len(own_sides) != 1:
        return ""
    own = _choose_element(own_sides[0], is_subject)
    if own is None:
        return ""
    found, expected = (_replace_subject(own, is_subject, word) for word in ("found", "expected"))
    if assertion.hidden and (_holds_value(found) or _holds_text_beside(test, sides)):
        return ""
    new_sides = []
    for side in sides:
        if side is own_sides[0]:
            new_sides.append(found)
        elif _is_type(side):
            new_sides.append(side)
        else:  # the value that is asked for is that of the solution
            new_sides.append(_convert_as(side, expected))
    if get_called_name(test) in _UNITTEST_EQUALITIES:
        return f"assert {ast.unparse(new_sides[0])} == {ast.unparse(new_sides[1])}"
    new_test = _rebuild(test, dict(zip(map(id, sides), new_sides, strict=True)))
    source = ast.unparse(new_test)
    return source if get_called_name(test).startswith("assert") else f"assert {source}"


def asks_for_form(assertion: Assertion, name: str, is_variable: bool) -> bool:
    """Return True if an assertion asks for a type or an attribute, such as `f(x).shape == (2,)`."""
    is_subject = _make_matcher(name, is_variable)
    for node in ast.walk(assertion.expansion):
        if isinstance(node, ast.Attribute) and _find_subjects(node.value, is_subject):
            return True
        if get_called_name(node) in {*_TYPE_QUESTIONS, "type"} and _find_subjects(node, is_subject):
            return True
    return False


def compares_part(assertion: Assertion, name: str, is_variable: bool) -> bool:
    """Return True if an assertion compares only a part of a result, such as `f(x)[-1] == 100`."""
    is_subject = _make_matcher(name, is_variable)
    for node in ast.walk(assertion.expansion):
        if isinstance(node, ast.Subscript) and _find_subjects(node.value, is_subject):
            return True
    return False


def _make_question(assertion: Assertion, test: ast.expr, is_subject: Matcher) -> str:
    """Return the comparison for an assertion without sides; "" if there is none.

    It asks for a truth, `assert is_prime(7)`, for a property, or for a value that stands alone.
    """
    if len(_find_subjects(test, is_subject)) != 1:
        return ""
    question = _replace_subject(test, is_subject, "found")
    if assertion.hidden and _holds_value(question):
        return ""
    expected_question = _replace_subject(test, is_subject, "expected")
    if assertion.kind == "value":  # it stands alone, as in AUTOTEST, and its value is asked
        if is_full_value(question, {"found"}) and not isinstance(question, ast.Subscript):
            return ""
        return f"assert {ast.unparse(ast.Compare(question, [ast.Eq()], [expected_question]))}"
    found, expected = ast.unparse(question), ast.unparse(expected_question)
    if assertion.is_truth_of_call and found in ("found", "not found"):
        return f"assert bool({found}) == bool({expected})"
    # A hidden assertion may hold an expected value, which the lab's checks would show to students.
    is_type_question = get_called_name(test) in _TYPE_QUESTIONS
    return f"assert {found}" if is_type_question or not assertion.hidden else ""


def _holds_value(tree: ast.expr) -> bool:
    """Return True if code about `found` holds a value beyond indices, tolerances and types."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, str) or value not in _TYPES:
                    return True
            case ast.Attribute(attr=name, value=ast.Name(id=owner)):
                if name in _NAMED_NUMBERS and owner != "found":
                    return True
            case ast.Subscript(value=owner, slice=index):
                todo.append(owner)
                if any(isinstance(part, (ast.Compare, ast.Name)) for part in ast.walk(index)):
                    todo.append(index)
            case ast.keyword(arg=name) if name in _MANNER_KEYWORDS:
                pass
            case ast.Call(args=[rounded, _]) if get_called_name(node) in _ROUNDING_FUNCTIONS:
                todo.append(rounded)
            case _:
                todo += ast.iter_child_nodes(node)
    return False


def _holds_text_beside(test: ast.expr, sides: Sequence[ast.expr]) -> bool:
    """Return True if an assertion holds a text beside its two sides, such as a message by place."""
    frame = _rebuild(test, {id(side): ast.Name("side", ast.Load()) for side in sides})
    values = [node.value for node in ast.walk(frame) if isinstance(node, ast.Constant)]
    return any(isinstance(value, str) for value in values)


def _make_matcher(name: str, is_variable: bool) -> Matcher:
    """Return a function that is true for a variable, or for a call of a function."""

    def is_subject(node: ast.AST) -> bool:
        if is_variable:
            return isinstance(node, ast.Name) and node.id == name
        function = node.func if isinstance(node, ast.Call) else None
        return isinstance(function, ast.Name) and function.id == name

    return is_subject


def _find_subjects(tree: ast.AST, is_subject: Matcher) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if is_subject(node)]


def _choose_element(side: ast.expr, is_subject: Matcher) -> ast.expr | None:
    """Return what one side says of one result: `f(x)` of `[f(x) for x in data]`; or None.

    A side that says several things of the same result stays: `(f(x)[0], f(x)[1])`.
    """
    for node in ast.walk(side):
        elements: list[ast.expr] = []
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            elements = [node.elt]
        elif isinstance(node, (ast.List, ast.Tuple)):
            elements = [element for element in node.elts if _find_subjects(element, is_subject)]
        if not elements or not _find_subjects(node, is_subject):
            continue
        if _is_inside_subject(side, node, is_subject):
            continue
        forms = {ast.dump(_replace_subject(element, is_subject, "found")) for element in elements}
        if len(forms) == 1:
            return _choose_element(elements[0], is_subject)
        break
    calls = {ast.dump(node) for node in _find_subjects(side, is_subject)}
    return side if len(calls) == 1 else None


def _is_inside_subject(tree: ast.AST, node: ast.AST, is_subject: Matcher) -> bool:
    """Return True if a node stands in the arguments of a call of the student's function."""
    return any(node in list(ast.walk(subject)) for subject in _find_subjects(tree, is_subject))


def _is_type(side: ast.expr) -> bool:
    """Return True for a name such as `float` or `np.float64`, which asks for a type."""
    is_name = isinstance(side, (ast.Name, ast.Attribute))
    return is_name and ast.unparse(side).rpartition(".")[2] in _TYPES


def _convert_as(side: ast.expr, expected: ast.expr) -> ast.expr:
    """Return the expected value as the list or the array that a test writes down for it."""
    if isinstance(side, (ast.List, ast.Tuple)):
        return ast.Call(ast.Name("convert_to_list", ast.Load()), [expected], [])
    if get_called_name(side) in _ARRAY_MAKERS:
        return ast.Call(ast.Name("remove_labels", ast.Load()), [expected], [])
    return expected


_TYPES = frozenset(
    """
    int float complex bool str list tuple dict set ndarray DataFrame Series int64 int32 float64
    float32 bool_ integer floating
    """.split(),
)


def _replace_subject(tree: ast.expr, is_subject: Matcher, word: str) -> ast.expr:
    places = {id(node): ast.Name(word, ast.Load()) for node in _find_subjects(tree, is_subject)}
    return _rebuild(tree, places)


def _rebuild(node: Any, replacements: Mapping[int, ast.AST]) -> Any:
    """Return a copy of a syntax tree in which these nodes, by their `id`, are replaced.

    Arguments that only hold a message are left out.
    """
    if isinstance(node, list):
        parts = [part for part in node if getattr(part, "arg", None) not in _MESSAGE_KEYWORDS]
        return [_rebuild(part, replacements) for part in parts]
    if not isinstance(node, ast.AST):
        return node
    if id(node) in replacements:
        return replacements[id(node)]
    fields = {name: _rebuild(value, replacements) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)
