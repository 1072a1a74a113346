"""The proof: every misconception is caught under its own name, and every right variant passes.

The visible cases are the build's to prove (`test_what_is_built_has_not_drifted`); these are fresh
ones. A lab that cannot run here (one that needs Keras) has a test of its own.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.case_weaknesses import encode_inputs
from autograder.authoring.lab import read_labs
from autograder.authoring.verify import call_on_cases, judge_outcomes
from autograder.core.course import read_course
from autograder.core.results import Verdict
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import call_student_function
from autograder.values.case_records import CallOutcome

LABS = read_labs(read_course(Path(__file__).parents[2]))
ALL_MISCONCEPTIONS = {e.name: e for lab in LABS.values() for e in lab.exercises.values()}
EXERCISES = {name: e for name, e in ALL_MISCONCEPTIONS.items() if not e.lab.needs}
SEEDS = range(2)
# With the tests of values and judging, their misconceptions reach every branch of the engine that
# those of all exercises reach, as `coverage run --branch` shows. `make test` takes these only.
EXERCISES_OF_ALL_KINDS = (
    "softmax",
    "causal_mask",
    "masked_softmax",
    "rotate",
    "previous_token_score",
    "parameter_count",
    "count_pairs",
    "merge_pair",
    "clip_gradients",
)
# One exercise after the other: its cases, and what each misconception gives for them, are kept.
EACH_KIND = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in EXERCISES_OF_ALL_KINDS else pytest.mark.long)
        for name in EXERCISES
    ],
    scope="module",
)
FRESH = pytest.mark.parametrize(
    "seed",
    [SEEDS[0], *(pytest.param(n, marks=pytest.mark.long) for n in SEEDS[1:])],
)


@lru_cache(8)
def draw_cases(name, seed):
    """Kept, so that what each misconception gives for a case is computed once.

    Without the corners, which tell no mistakes apart; in the first draw, also without the cases
    that limit the memory.
    """
    all_cases = EXERCISES[name].test_cases(seed)[: len(EXERCISES[name].test_cases())]
    return [q for q in all_cases if seed != SEEDS[0] or q.inputs.memory is None]


def leaves_out_memory_cases(name, seed):
    """Return True if cases that limit the memory, which take seconds, are left out of this draw.

    Some misconceptions give right results that take too much memory. The second draw, CI's, and the
    build's proof have these cases.
    """
    return len(draw_cases(name, seed)) < len(EXERCISES[name].test_cases())


def finding(name, answers, seed):
    return judge_outcomes(EXERCISES[name], draw_cases(name, seed), answers)


def answers(name, function, seed):
    return call_on_cases(function, EXERCISES[name], draw_cases(name, seed))


@EACH_KIND
@FRESH
def test_each_misconception_is_rejected_under_its_own_name(name, seed):
    """An answer that cannot take a case's arguments would be rejected for another reason."""
    wrong, refused_arguments = {}, {}
    for misconception in EXERCISES[name].misconceptions:
        outcomes = [case.mistakes[misconception.name] for case in draw_cases(name, seed)]
        function = getattr(misconception.function, "__name__", "")
        for outcome in outcomes:
            if outcome.error.startswith(f"TypeError: {function}() missing "):
                refused_arguments[misconception.name] = outcome.error
        result = finding(name, outcomes, seed)
        needs_memory_case = result.verdict is Verdict.PASS and leaves_out_memory_cases(name, seed)
        if result.misconception != misconception.name and not needs_memory_case:
            wrong[misconception.name] = f"{result.verdict}: {result.message}"
    assert wrong == {}
    assert refused_arguments == {}


@EACH_KIND
@FRESH
def test_each_right_variant_passes(name, seed):
    results = {
        f.__name__: finding(name, answers(name, f, seed), seed) for f in EXERCISES[name].variants
    }
    assert {
        variant: result.message
        for variant, result in results.items()
        if result.verdict is not Verdict.PASS
    } == {}


@EACH_KIND
def test_the_reference_passes_and_the_cases_do_not_repeat(name):
    for seed in SEEDS:
        assert (
            finding(name, answers(name, EXERCISES[name].reference, seed), seed).verdict
            is Verdict.PASS
        )
    inputs_by_seed = [
        b"".join(encode_inputs(q.inputs) for q in draw_cases(name, seed)) for seed in SEEDS
    ]
    assert len(set(inputs_by_seed)) > len(SEEDS) // 2, (
        "fresh cases must be fresh"
    )  # causal_mask has few to draw from


def test_the_exercises_of_all_kinds_are_exercises():
    assert set(EXERCISES_OF_ALL_KINDS) < set(EXERCISES)


def test_the_catalogue_is_large_enough():
    assert sum(len(exercise.misconceptions) for exercise in EXERCISES.values()) >= 1_500
    assert sum(len(exercise.variants) for exercise in EXERCISES.values()) >= 200


def test_every_message_has_its_parts():
    for exercise in ALL_MISCONCEPTIONS.values():
        for m in exercise.misconceptions:
            assert m.means.endswith((".", "!", "?")), (exercise.name, m.name)
            assert m.nudge.endswith((".", "!", "?")), (exercise.name, m.name)
            max_characters = (
                700 if " + " in m.name else 420
            )  # two mistakes have the sentences of both
            assert len(m.means) + len(m.nudge) < max_characters, (exercise.name, m.name)


def test_an_unexplained_answer_gets_a_property_and_no_name():
    """A wrong answer that nobody listed is wrong all the same."""

    def odd(x, axis=0):
        return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True) + 0.125 * x**2

    result = finding("softmax", answers("softmax", odd, None), None)
    assert (result.verdict, result.misconception) == (Verdict.WRONG, None)
    assert "should sum to 1; yours sum to" in result.means


def test_the_message_speaks_of_a_case_that_its_explanation_fits():
    """The first failing case is something else; the misconception gives the others."""
    wrong_answers = [case.mistakes["no-scale"] for case in draw_cases("calculate_weights", None)]
    first = finding("calculate_weights", wrong_answers, None).case_index
    wrong_answers[first] = CallOutcome(error="ValueError: something else")
    result = finding("calculate_weights", wrong_answers, None)
    assert result.misconception == "no-scale"
    assert result.case_index > first
    assert "something else" not in result.observation


# Domains: what is wrong only at an edge is refused.


@pytest.mark.parametrize("exercise", ALL_MISCONCEPTIONS.values(), ids=ALL_MISCONCEPTIONS)
def test_each_exercise_says_where_its_answers_must_be_right(exercise):
    assert exercise.declared_domain is not None
    assert exercise.declared_domain.sizes


def reference(name):
    return EXERCISES[name].reference


WRONG_AT_AN_EDGE = []


def wrong_at(name, edge):
    """A rule that is right in every case but at one edge of the exercise's domain."""

    def register(function):
        WRONG_AT_AN_EDGE.append(
            pytest.param(name, edge, function, id=f"{name}-{function.__name__}"),
        )
        return function

    return register


@wrong_at("softmax", ("axis", -2))
def counts_axes_from_the_front(x, axis=0):
    return reference("softmax")(x, 2 if axis == -2 else axis)


@wrong_at("softmax", ("magnitude", 20.0))
def cuts_off_at_ten(x, axis=0):
    return reference("softmax")(np.clip(x, -10, 10), axis)


@wrong_at("stable_softmax", ("magnitude", 1e5))
def cuts_off_at_five_thousand(x, axis=0):
    return reference("stable_softmax")(np.clip(x, -5000, 5000), axis)


@wrong_at("calculate_weights", ("d_k", 60))
def fifty_numbers_a_key(queries, keys):
    weights = reference("calculate_weights")
    return weights(queries[:, :50], keys[:, :50]) if keys.shape[1] == 60 else weights(queries, keys)


@wrong_at("attention_qkv", ("d_v", 1))
def drops_an_axis_of_one(queries, keys, values):
    output = reference("attention_qkv")(queries, keys, values)
    return output[:, 0] if values.shape[1] == 1 else output


@wrong_at("causal_mask", ("size", 60))
def wrong_for_size_60(size):
    mask = reference("causal_mask")(size)
    if size == 60:
        mask[-1, -1] = False
    return mask


@wrong_at("to_additive", ("dtype", np.float16))
def overflows_beside_a_batch(mask, dtype=np.float64):
    right = reference("to_additive")(mask, dtype)
    beside_a_batch = mask.ndim == 3 and mask.shape[1] > 1
    return right + np.float16(np.nan) if beside_a_batch and dtype is np.float16 else right


@wrong_at("masked_softmax", ("mask", "(batch, L_q, L_k)"))
def full_masks_ignored(scores, mask=None):
    full = scores.ndim == 3 and mask is not None and mask.shape == scores.shape
    return reference("masked_softmax")(scores, None if full else mask)


@wrong_at("dot_product_self_attention", ("L", 60))
def forgets_after_fifty(q, k, v, scale=True):
    right = reference("dot_product_self_attention")(q, k, v, scale)
    right[:, 50:] = 0
    return right


@wrong_at("attention", ("slices with gaps", ""))
def arrays_in_one_piece_only(encoder_states, decoder_state, **layers):
    right = reference("attention")(encoder_states, decoder_state, **layers)
    return right if encoder_states.flags.forc else right + 1


def test_a_slice_of_the_largest_mask_of_an_edge_case_is_refused():
    largest_mask = reference("causal_mask")(60)
    wrong = [
        call_student_function(lambda size: largest_mask[:size, :size], q.inputs)
        for q in draw_cases("causal_mask", None)
    ]
    assert finding("causal_mask", wrong, None).verdict is Verdict.WRONG


@pytest.mark.parametrize(("name", "edge", "function"), WRONG_AT_AN_EDGE)
def test_what_is_wrong_at_one_edge_only_is_refused(name, edge, function):
    all_cases = draw_cases(name, None)
    result = finding(name, [call_student_function(function, q.inputs) for q in all_cases], None)
    assert result.verdict is Verdict.WRONG
    assert {
        q.edge for q, right in zip(all_cases, result.cases_correct, strict=True) if not right
    } == {
        edge,
    }


def test_to_ask_whether_a_mistake_is_known_computes_nothing(monkeypatch):
    """Each form of a wrong answer is looked for beside every mistake, of which most are then left out."""
    first = EXERCISES["causal_mask"].test_cases(5)[0]
    monkeypatch.setattr("autograder.authoring.exercise.call_student_function", None)
    assert all(name in first.mistakes for name in first.mistakes)
    assert "no-such-mistake" not in first.mistakes


def test_a_misconceptions_own_outcomes_are_compared_with_the_expected_ones_once(monkeypatch):
    """A build judges thousands of them."""
    compared = []

    def count_comparison(*arguments):
        compared.append(arguments)
        return compare_outcome(*arguments)

    monkeypatch.setattr("autograder.judging.judge.compare_outcome", count_comparison)
    test_cases = draw_cases("softmax", None)
    outcomes = [case.mistakes["always-axis-1"] for case in test_cases]
    assert finding("softmax", outcomes, None).misconception == "always-axis-1"
    assert len(compared) == len(test_cases)
