"""Every one-place change of a solution is caught: the checks leave no operator, number or axis untested."""

import ast
import pickle
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from autograder.authoring.lab import read_labs
from autograder.core.course import read_course
from autograder.core.notebook_cells import make_grade_id
from autograder.core.results import Verdict
from autograder.judging.compare import compare_outcome
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function

LABS = read_labs(read_course(Path(__file__).parents[2]))
EXERCISES = [e for lab in LABS.values() if not lab.needs for e in lab.exercises.values()]

SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE,
    ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip

REPLACEMENTS = {
    "exp": "abs", "tanh": "abs", "sqrt": "abs", "tril": "triu", "triu": "tril", "max": "min", "sum": "mean",
    "ones": "zeros", "zeros": "ones", "isneginf": "isposinf", "newaxis": "pi", "finfo": "iinfo", "tri": "eye",
}  # fmt: skip

# Changes that leave the function as right as it was, with the reason; everything else must be
# caught.
EQUIVALENT = {
    (
        "masked_softmax",
        "np.where(np.isneginf(highest), 1, highest)",
    ): "any finite number will do for a hidden row",
    ("calculate_weights", "keys.shape[+1]"): "the keys are a matrix: its last axis is axis 1",
    ("calculate_weights", "+1"): "the same",
    ("dot_product_attention", "query @ np.swapaxes(key, -2, -1)"): "swapping has no direction",
    ("masked_softmax", "np.where(total == 0, 2, total)"): "0 divided by any number is 0",
    ("merge_softmax", "np.maximum(max_b, max_a)"): "the larger of two has no order",
    ("choose", "int(min(len(logits) - 1, token))"): "the smaller of two has no order",
    (
        "choose",
        "min(token, len(logits) + 1)",
    ): "only a last end that rounding left below 1 tells them apart",
    ("next_token_logits", "np.tri(length)"): "1 and 0 choose as True and False do",
    (
        "merge_softmax",
        "np.where(largest == -np.inf, 1, largest)",
    ): "any finite number will do for an empty part",
    ("blockwise_attention", "np.where(largest == -np.inf, 1, largest)"): "the same",
    ("blockwise_attention", "min(L_k, start + block)"): "the smaller of two has no order",
    (
        "blockwise_attention",
        "np.ones(L_q)",
    ): "an empty part counts with the factor 0, whatever its sum is",
    ("blockwise_attention", "np.ones((L_q, values.shape[1]))"): "the same",
    (
        "feed_forward_backward",
        "-2",
    ): "NumPy works out the size that is given as any negative number",
    ("embedding_backward", "np.zeros((vocabulary, upstream.shape[-1]))"): "a wider float will do",
    ("clip_gradients", "norm < largest"): "at exactly the largest norm the factor is 1",
    ("learning_rate", "step < warmup"): "at the peak the two formulas meet",
    ("alignment", "-1"): "of a matrix the last axis is axis 1",
    ("calculate_weights", "--1"): "the same",
    ("cross_entropy", "-1"): "the same",
    ("cross_entropy_backward", "-1"): "the same",
    ("blockwise_attention", "-1"): "the same",
    ("blockwise_attention", "keys.shape[-1]"): "the same",
    ("blockwise_attention", "values.shape[-1]"): "the same",
    ("attention_backward", "keys.shape[-1]"): "the same",
    ("next_token_logits", "tokens.shape[-1]"): "the same",
    ("scaled_scores", "keys.shape[-1]"): "the same, in the guide to a new lab",
    (
        "split_heads",
        "x.reshape(batch, length, heads, d // heads).transpose(0, -2, 1, 3)",
    ): "of four axes, -2 is 2",
    ("merge_heads", "x.transpose(0, -2, 1, 3)"): "the same",
    ("masked_softmax", "np.where(np.isneginf(highest), -1, highest)"): "any finite number will do",
    ("masked_softmax", "np.where(total == 0, -1, total)"): "0 divided by any number is 0",
    ("merge_softmax", "np.where(largest == -np.inf, -1, largest)"): "any finite number will do",
    ("blockwise_attention", "np.where(largest == -np.inf, -1, largest)"): "the same",
    ("sliding_window_mask", "-1"): "no position is below -1, as none is below 0",
    ("choose", "len(logits) - -1"): "only a last end that rounding left below 1 tells them apart",
    ("choose", "len(logits) - 0"): "the same",
    ("choose", "min(token, len(logits))"): "the same",
    ("feature_map", "np.exp(np.minimum(0, x))"): "the smaller of two has no order",
    ("feature_map", "np.minimum(x, 1)"): "above 0 the other branch is taken",
    ("head_contributions", "w_o.shape[0]"): "the matrix is square",
    ("head_contributions", "w_o.shape[-1]"): "the same",
    ("head_contributions", "-2"): "reshape takes every negative size for -1",
    ("gpt2_block", "queries @ keys.swapaxes(-2, -1)"): "swapping has no direction",
    ("gpt2_block", "keys.swapaxes(-1, +2)"): "of four axes, -2 is 2",
    ("gpt2_block", "--2"): "the same",
    (
        "feature_map",
        "np.where(x >= 0, x + 1, np.exp(np.minimum(x, 0)))",
    ): "at 0 both branches give 1",
}


@cache
def list_mutants(source):
    return list(mutants(source))


def mutants(source):
    """(the changed expression, the whole changed source), one for each place that can be changed."""
    tree = ast.parse(source)
    pickled_tree = pickle.dumps(tree)  # read in a fifth of the time of `deepcopy`
    places = [n for n in ast.walk(tree) if not _is_docstring(n, tree)]
    for number, place in enumerate(places):
        for change in _changes(place):
            copy = pickle.loads(pickled_tree)
            node = [n for n in ast.walk(copy) if not _is_docstring(n, copy)][number]
            change(node)
            yield _statement(copy, number), ast.unparse(copy)


def _is_docstring(node, tree):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _changes(node):
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in SWAPS:
        yield lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda n: setattr(n, "value", not n.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda n: setattr(n, "value", n.value + 1)
        yield lambda n: setattr(n, "value", n.value - 1)
        if node.value:
            yield lambda n: setattr(n, "value", n.value * 2)
            yield lambda n: setattr(
                n,
                "value",
                n.value * 0.999 if isinstance(n.value, float) else -n.value,
            )
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        for term in ("left", "right"):  # the other term is dropped
            yield lambda n, term=term: _become(n, getattr(n, term))
    if isinstance(node, ast.IfExp):
        yield lambda n: (b := n.body, setattr(n, "body", n.orelse), setattr(n, "orelse", b))
    if isinstance(node, ast.Attribute) and node.attr in REPLACEMENTS:
        yield lambda n: setattr(n, "attr", REPLACEMENTS[n.attr])
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield lambda n: setattr(n, "attr", "real")
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        yield lambda n: n.args.__setitem__(slice(-2, None), n.args[:-3:-1])
    for index in range(len(node.keywords) if isinstance(node, ast.Call) else 0):
        yield lambda n, index=index: n.keywords.pop(index)


def _become(node, replacement):
    """Put another node in a node's place."""
    node.__class__ = type(replacement)
    node.__dict__ = dict(vars(replacement))


def _statement(tree, number):
    node = [n for n in ast.walk(tree) if not _is_docstring(n, tree)][number]
    surrounding = node
    for parent in ast.walk(tree):
        if isinstance(parent, ast.expr) and any(
            child is node for child in ast.iter_child_nodes(parent)
        ):
            surrounding = parent
    return ast.unparse(surrounding)


def answer_source(exercise):
    return exercise.lab.reference_cells[make_grade_id(exercise.name)]


@cache  # all mutants of an exercise are asked them, and its solution
def draw_cases(exercise, seed):
    # Without those that ask for little memory: what gives other numbers there gives them with
    # fewer, too.
    return [q for q in exercise.test_cases(seed) if q.inputs.memory is None]


def survives(exercise, source):
    namespace = dict(vars(exercise.lab.reference))
    exec(compile(source, "mutant", "exec"), namespace)
    for seed in (None, 1):
        all_cases, answers = draw_cases(exercise, seed), []
        for case in all_cases:
            answers.append(call_student_function(namespace[exercise.name], case.inputs))
            if compare_outcome(case.expected, answers[-1], exercise.rules, case.inputs):
                return False  # what is said of it is nothing to this
        if judge(all_cases, answers, exercise.rules, ()).verdict is not Verdict.PASS:
            return False
    return True


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(exercise, marks=() if number % 6 == 3 else pytest.mark.long)
        for number, exercise in enumerate(EXERCISES)
    ],
    ids=lambda e: e.name,
)
def test_every_mutant_is_caught(exercise):
    all_mutants = list_mutants(answer_source(exercise))
    survivors = {change for change, source in all_mutants if survives(exercise, source)}
    assert len(all_mutants) >= 2, (
        "too few places to change: teach mutants() this solution's operators"
    )
    unexplained = survivors - {change for name, change in EQUIVALENT if name == exercise.name}
    assert unexplained == set(), (
        f"No case of {exercise.name} tells these changes of its solution apart. Add a case in which each gives "
        'a wrong result. A change that is right, such as "np.maximum(0, x)", goes into EQUIVALENT in this '
        "file, with the reason."
    )


@pytest.mark.long
def test_what_is_excused_survives():
    """Else a line of the table would go on excusing what a later case catches."""
    for exercise in EXERCISES:  # the guide to a new lab has one of its own
        mutants_by_change = defaultdict(list)
        if any(name == exercise.name for name, _ in EQUIVALENT):
            for change, source in list_mutants(answer_source(exercise)):
                mutants_by_change[change].append(source)
        for change in (change for name, change in EQUIVALENT if name == exercise.name):
            assert any(survives(exercise, source) for source in mutants_by_change[change]), (
                exercise.name,
                change,
            )


@pytest.mark.long
def test_the_unchanged_solution_survives():
    """Else every mutant would be caught for the wrong reason."""
    for exercise in EXERCISES:
        assert survives(exercise, answer_source(exercise))
