"""The proof: every misconception is caught under its own name, and every right variant passes.

The visible cases are the build's to prove (`test_what_is_built_has_not_drifted`); these are fresh ones. A lab
that cannot run here (one that needs Keras) has a test of its own.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring.lab import read_labs
from autograder.authoring.proof import answers_of, found
from autograder.course import read
from autograder.judging.answer import ask
from autograder.judging.question import Answer
from autograder.results import Verdict

LABS = read_labs(read(Path(__file__).parents[1]))
ALL = {e.name: e for lab in LABS.values() for e in lab.exercises.values()}
EXERCISES = {name: e for name, e in ALL.items() if not e.lab.needs}
SEEDS = range(2)
# Told by the cases that limit the memory alone, which take seconds: only the second draw, CI's, has those.
OF_MEMORY = {"full-mask", "full-matrix", "more-than-one-block-at-once", "one-query-at-a-time"}
EACH = pytest.mark.parametrize("name", EXERCISES)
FRESH = pytest.mark.parametrize(
    "seed", [SEEDS[0], *(pytest.param(n, marks=pytest.mark.long) for n in SEEDS[1:])]
)


@lru_cache(8)
def questions(name, seed):
    """Kept, so that what each misconception gives for a case is computed once.

    Without the corners, which tell no mistakes apart; in the first draw, also without the cases that limit the
    memory.
    """
    asked = EXERCISES[name].questions(seed)[: len(EXERCISES[name].questions())]
    return [q for q in asked if seed != SEEDS[0] or q.inputs.memory is None]


def finding(name, answers, seed):
    return found(EXERCISES[name], questions(name, seed), answers)


def answers(name, function, seed):
    return answers_of(function, EXERCISES[name], questions(name, seed))


@EACH
@FRESH
def test_each_misconception_is_rejected_under_its_own_name(name, seed):
    wrong = {}
    for known in EXERCISES[name].misconceptions:
        if seed == SEEDS[0] and known.name in OF_MEMORY:
            continue
        judged = finding(name, [question.mistakes[known.name] for question in questions(name, seed)], seed)
        if judged.verdict is Verdict.PASS or judged.misconception != known.name:
            wrong[known.name] = f"{judged.verdict}: {judged.message}"
    assert wrong == {}


@EACH
@FRESH
def test_each_right_variant_passes(name, seed):
    judged = {f.__name__: finding(name, answers(name, f, seed), seed) for f in EXERCISES[name].variants}
    assert {what: one.message for what, one in judged.items() if one.verdict is not Verdict.PASS} == {}


@EACH
def test_the_reference_passes_and_the_cases_do_not_repeat(name):
    for seed in SEEDS:
        assert finding(name, answers(name, EXERCISES[name].reference, seed), seed).verdict is Verdict.PASS
    drawn = [repr([q.inputs for q in questions(name, seed)]) for seed in SEEDS]
    assert len(set(drawn)) > len(SEEDS) // 2, "fresh cases must be fresh"  # causal_mask has few to draw from


def test_the_catalogue_is_large_enough():
    assert sum(len(exercise.misconceptions) for exercise in EXERCISES.values()) >= 1_500
    assert sum(len(exercise.variants) for exercise in EXERCISES.values()) >= 200


def test_every_message_has_its_parts():
    for exercise in ALL.values():
        for m in exercise.misconceptions:
            assert m.means.endswith((".", "!", "?")), (exercise.name, m.name)
            assert m.nudge.endswith((".", "!", "?")), (exercise.name, m.name)
            most = 700 if " + " in m.name else 420  # two mistakes have the sentences of both
            assert len(m.means) + len(m.nudge) < most, (exercise.name, m.name)


def test_an_unexplained_answer_gets_a_property_and_no_name():
    """A wrong answer that nobody listed is wrong all the same."""

    def odd(x, axis=0):
        return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True) + 0.125 * x**2

    judged = finding("softmax", answers("softmax", odd, None), None)
    assert (judged.verdict, judged.misconception) == (Verdict.WRONG, None)
    assert "should sum to 1; yours sum to" in judged.means


def test_the_message_speaks_of_a_case_that_its_explanation_fits():
    """The first failing case is something else; the misconception gives the others."""
    given = [question.mistakes["no-scale"] for question in questions("calculate_weights", None)]
    first = finding("calculate_weights", given, None).case
    given[first] = Answer(error="ValueError: something else")
    judged = finding("calculate_weights", given, None)
    assert judged.misconception == "no-scale"
    assert judged.case > first
    assert "something else" not in judged.seen


# Domains: what is wrong only at an edge is refused.


@pytest.mark.parametrize("exercise", ALL.values(), ids=ALL)
def test_each_exercise_says_where_its_answers_must_be_right(exercise):
    assert exercise.where is not None
    assert exercise.where.sizes


def reference(name):
    return EXERCISES[name].reference


WRONG_AT_AN_EDGE = []


def wrong_at(name, edge):
    """A rule that is right in every case but at one edge of the exercise's domain."""

    def register(function):
        WRONG_AT_AN_EDGE.append(pytest.param(name, edge, function, id=f"{name}-{function.__name__}"))
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
    mixed = reference("attention_qkv")(queries, keys, values)
    return mixed[:, 0] if values.shape[1] == 1 else mixed


@wrong_at("causal_mask", ("size", 60))
def sixteen_positions(size):
    mask = reference("causal_mask")(size)
    mask[16:] = True
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


@pytest.mark.parametrize(("name", "edge", "function"), WRONG_AT_AN_EDGE)
def test_what_is_wrong_at_one_edge_only_is_refused(name, edge, function):
    asked = questions(name, None)
    judged = finding(name, [ask(function, q.inputs) for q in asked], None)
    assert judged.verdict is Verdict.WRONG
    assert {q.edge for q, right in zip(asked, judged.right, strict=True) if not right} == {edge}


def test_to_ask_whether_a_mistake_is_known_computes_nothing(monkeypatch):
    """Each form of a wrong answer is looked for beside every mistake, of which most are then left out."""
    first = EXERCISES["causal_mask"].questions(5)[0]
    monkeypatch.setattr("autograder.authoring.exercise.ask", None)
    assert all(name in first.mistakes for name in first.mistakes)
    assert "no-such-mistake" not in first.mistakes
