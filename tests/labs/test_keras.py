"""The two Keras labs on the backend in KERAS_BACKEND: every mistake named, every right answer passed.

Without Keras (`make keras` installs it) all but the first tests are skipped.
"""

import linecache
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from attention_labs import keras_start, layers
from autograder.authoring.lab import read_lab
from autograder.authoring.verify import call_on_cases, judge_outcomes
from autograder.core.course import read_course
from autograder.core.results import Verdict
from autograder.judging.error_messages import classify_error
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.student.answer_key import load_exercise_key
from autograder.values.case_records import inputs
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE
from autograder.values.deferred_calls import result
from autograder.values.value_types import convert_argument, map_inputs

LABS = {"keras-attention": 5, "keras-translator": 2}  # with the number of exercises
ROOT = Path(__file__).parents[2]
SEEDS = [None, 0]  # None: the visible cases
BY_NAME = {}
for lab_name in LABS:
    BY_NAME |= read_lab(read_course(ROOT), lab_name).exercises
EXERCISES = list(BY_NAME.values())
LAYERS = [exercise for exercise in EXERCISES if exercise.name[0].isupper()]
PAIRS = [pytest.param(e, m, id=f"{e.name}-{m.name}") for e in EXERCISES for m in e.misconceptions]

WHY_NOT = keras_start.explain_unavailability()


def needs_keras(test):
    """To import it takes many seconds of a core."""
    return pytest.mark.long(
        pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "Keras is there")(test),
    )


@pytest.fixture(scope="session")
def keras():
    keras_start.start_keras()
    import keras

    return keras


def test_a_layer_that_cannot_be_made_leaves_the_usual_dtype(monkeypatch):
    policies = ["float32"]
    config = SimpleNamespace(
        dtype_policy=lambda: policies[-1], set_dtype_policy=lambda name: policies.append(name)
    )
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(config=config))

    def raise_type_error():
        raise TypeError("no layer")

    with pytest.raises(TypeError, match="no layer"):
        layers.asked_in_their_dtype(raise_type_error, np.ones(2, np.float16))
    assert policies == ["float32", "float16", "float32"]


_cases = {}


def finding(exercise, function, seed):
    if (exercise.name, seed) not in _cases:
        _cases[exercise.name, seed] = exercise.test_cases(seed)
    cases = _cases[exercise.name, seed]
    answers = [call_student_function(function, q.inputs, exercise.rules.call) for q in cases]
    return judge(cases, answers, exercise.rules, exercise.misconceptions)


def assert_named(exercise, name, function):
    for seed in SEEDS:
        result = finding(exercise, function, seed)
        assert result.verdict is not Verdict.PASS, f"seed {seed}: passes"
        assert result.misconception == name, f"seed {seed}: {result}"


# With Keras, whatever its backend.


@needs_keras
@pytest.mark.parametrize(
    ("does", "mistake"),
    [
        (lambda ops, a, b: ops.matmul(a, b), "shapes-that-do-not-multiply"),
        (lambda ops, a, b: ops.matmul(a[None].repeat(2, 0), b[None].repeat(2, 0)), "shapes-that-do-not-multiply"),
        (lambda ops, a, b: ops.add(a, b), "shapes-that-do-not-broadcast"),
        (lambda ops, a, b: ops.where(a > 0, b, 0.0), "shapes-that-do-not-broadcast"),
        (lambda ops, a, b: ops.reshape(a, (4, 4)), "reshape-that-does-not-fit"),
        (lambda ops, a, b: ops.concatenate([a, b], 0), "parts-that-do-not-join"),
    ],
)  # fmt: skip
def test_a_backends_error_is_put_into_plain_words_and_shown_without_its_own_names(
    keras, does, mistake
):
    left, right = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
    answer = call_student_function(lambda: does(keras.ops, left, right), inputs())
    assert classify_error(answer.error) == mistake, answer.error
    assert (
        "{{" not in answer.error
        and "[Op" not in answer.error
        and not answer.error.endswith("name:")
    )


# Without Keras.


@pytest.mark.parametrize(
    ("dtype", "scores", "expected"),
    [
        ("float64", (0, 1, 2), (0.090, 0.245, 0.665)),
        ("float32", (0, 1, 2), (1 / 3, 1 / 3, 1 / 3)),
        ("float32", (-31, 0, 31), (1 / 3, 1 / 3, 1 / 3)),
        ("float32", (0, 20, 40), (0, 0, 1)),
    ],
)
def test_what_1e9_added_to_a_whole_row_leaves(dtype, scores, expected):
    """The folded answer in section 5 of keras-attention."""
    lowered = np.array(scores, dtype) + np.array(-1e9, dtype)
    powers = np.exp(lowered - lowered.max())
    assert np.allclose(powers / powers.sum(), expected, rtol=0, atol=5e-4)
    assert np.spacing(np.float32(1e9)) == 64


@pytest.mark.parametrize("exercise", LAYERS, ids=lambda e: e.name)
def test_a_layers_check_says_what_differs_between_backends(exercise):
    assert "TensorFlow" in exercise.portability_note or "keras.ops" in exercise.portability_note
    assert exercise.lab.graded_with == {"KERAS_BACKEND": "tensorflow"}


@pytest.mark.parametrize("name", ["DotProductAttention", "HalfPrecisionAttention"])
def test_a_check_says_which_functions_of_keras_differ_between_backends(name):
    """A right layer with `ops.minimum` or with Keras's own attention is refused on JAX."""
    note = load_exercise_key(name).portability_note
    assert note == BY_NAME[name].portability_note, "rebuild the answer key"
    for function in ("ops.dot_product_attention", "ops.minimum"):
        assert f"`{function}`" in note


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if n else ()) for n, name in enumerate(LABS)]
)
def test_exercises_are_listed_without_keras(name):
    code = (
        "import sys; from autograder.authoring.lab import read_lab; from autograder.core.course "
        f"import find_course\nprint(len(read_lab(find_course(), {name!r}).exercises))\nprint([name "
        "for name in ('keras', 'tensorflow', 'jax', 'torch') if name in sys.modules])"
    )
    completed_process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert completed_process.stdout == f"{LABS[name]}\n[]\n"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_whole_domain_can_be_drawn_without_keras(exercise):
    for seed in range(5):
        labels = [label for label, _, _ in exercise.draw(seed)]
        assert "all sizes smallest" in labels or exercise.declared_domain is None


def test_missing_keras_is_one_sentence(monkeypatch):
    monkeypatch.setattr(keras_start, "find_spec", lambda name: None)
    with pytest.raises(keras_start.KerasMissing, match="run `make keras`") as error_info:
        keras_start.start_keras()
    assert error_info.value._render_traceback_() == [str(error_info.value)]


def test_a_start_is_quiet_and_leaves_the_user_s_own_settings(monkeypatch):
    for name in ("KERAS_BACKEND", *keras_start.QUIET):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setattr(keras_start, "find_spec", lambda name: None if name == "jax" else "there")
    keras_start.start_keras()
    assert os.environ["KERAS_BACKEND"] == "tensorflow"
    for name, value in {**keras_start.QUIET, "JAX_PLATFORMS": "cuda"}.items():
        assert os.environ[name] == value


def test_missing_backend_is_named(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(keras_start, "find_spec", lambda name: None if name == "jax" else "there")
    assert "asks for jax, which is not installed" in keras_start.explain_unavailability()
    monkeypatch.setenv("KERAS_BACKEND", "abacus")
    assert "'abacus'" in keras_start.explain_unavailability()


@pytest.mark.parametrize(
    "exercise",
    [e for e in EXERCISES if e.rules.call != "function"],
    ids=lambda e: e.name,
)
def test_layers_are_asked_for_few_shapes(exercise):
    """JAX compiles anew for each, half a second of a layer and more: fresh edges have the same for every submission."""

    def shapes(seed):
        edge_cases = [inputs for _, inputs, edge in exercise.draw(seed) if edge]
        arrays = [
            (*inputs.args, *inputs.kwargs.get("weights", {}).values()) for inputs in edge_cases
        ]
        return {tuple(array.shape for array in case_arrays) for case_arrays in arrays}

    assert shapes(0) == shapes(1) and len(shapes(0)) <= 22, "is its domain steady?"


@pytest.mark.parametrize(
    ("compiled", "times"),
    [(0, 0), (keras_start.MAX_COMPILED_SHAPES, 0), (keras_start.MAX_COMPILED_SHAPES + 1, 1)],
)
def test_what_jax_compiled_is_let_go(monkeypatch, compiled, times):
    calls = []
    client = SimpleNamespace(live_executables=lambda: [None] * compiled)
    devices = [SimpleNamespace(client=client)]
    jax = SimpleNamespace(devices=lambda: devices, clear_caches=lambda: calls.append(1))
    monkeypatch.setitem(sys.modules, "jax", jax)
    keras_start.let_go()
    assert len(calls) == times


# The proof.


@needs_keras
@pytest.mark.parametrize(("exercise", "misconception"), PAIRS)
def test_named(keras, exercise, misconception):
    assert_named(exercise, misconception.name, misconception.function)


@needs_keras
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_reference_passes(keras, exercise):
    for seed in SEEDS:
        assert finding(exercise, exercise.reference, seed).verdict is Verdict.PASS


VARIANTS = [pytest.param(e, v, id=f"{e.name}-{v.__name__}") for e in EXERCISES for v in e.variants]


@needs_keras
@pytest.mark.parametrize(("exercise", "answer"), VARIANTS)
def test_right_variant_passes(keras, exercise, answer):
    for seed in SEEDS:
        result = finding(exercise, answer, seed)
        assert result.verdict is Verdict.PASS, f"seed {seed}: {result.message}"


# The mistakes above are written in NumPy; here are some as a student writes them, on the backend's
# tensors.


def keras_mistakes():
    from keras import config, ops
    from keras.layers import Layer

    def layer(name, scale=None, mask=None, softmax_axis=-1, turn=None):
        """A layer that goes wrong in one step only."""

        class Wrong(Layer):
            def call(self, queries, keys, values, d_k, mask=None):
                transposed_keys = turn(keys) if turn else ops.transpose(keys, (0, 2, 1))
                scores = ops.matmul(queries, transposed_keys) / (scale(d_k) if scale else d_k**0.5)
                if mask is not None:
                    scores = hide(scores, mask)
                return ops.matmul(ops.softmax(scores, axis=softmax_axis), values)

        hide = mask or (lambda scores, mask: scores - 1e9 * mask)
        return "DotProductAttention", name, Wrong

    class Reshaped(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / d_k**0.5
            if mask is not None:
                scores += -1e9 * mask
            return ops.reshape(ops.matmul(ops.softmax(scores), values), (64, 5, -1))

    class Half(Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1))) / d_k**0.5
            if mask is not None:
                scores += -1e9 * ops.cast(mask, scores.dtype)
            return ops.matmul(ops.softmax(scores), values)

    return [
        layer("no-scale", scale=lambda d_k: 1),
        layer("divided-by-d-k", scale=lambda d_k: d_k),
        layer("mask-inverted", mask=lambda scores, mask: scores - 1e9 * (1 - mask)),
        layer("mask-added-as-it-is", mask=lambda scores, mask: scores + mask),
        layer("minus-infinity-times-the-mask", mask=lambda scores, mask: scores + -np.inf * mask),
        layer("scores-times-0", mask=lambda scores, mask: scores * (1 - mask)),
        layer("plus-for-minus", mask=lambda scores, mask: scores + 1e9 * mask),
        layer("mask-ignored", mask=lambda scores, mask: scores),
        layer("softmax-over-the-queries", softmax_axis=1),
        layer("all-axes-transposed", turn=ops.transpose),
        ("DotProductAttention", "notebook-sizes-only", Reshaped),
        # PyTorch multiplies -1e9 in float32, so there this is right.
        *[("HalfPrecisionAttention", "minus-1e9-in-float16", Half)] * (config.backend() != "torch"),
        ("token_padding_mask", "words-marked", lambda ids: ops.not_equal(ids, 0)[:, None]),
        ("token_padding_mask", "missing-axis", lambda ids: ops.cast(ops.equal(ids, 0), "int32")),
        ("look_ahead_mask", "hides-itself", lambda n: ops.triu(ops.ones((n, n)))),
        ("look_ahead_mask", "past-marked", lambda n: ops.cast(ops.tril(ops.ones((n, n))), "bool")),
        ("combine_masks", "hidden-in-both", lambda p, a: ops.minimum(p, a)),
        ("combine_masks", "added", lambda p, a: ops.add(p, a)),
    ]


@needs_keras
def test_mistakes_in_tensors_are_named(keras):
    for name, misconception, answer in keras_mistakes():
        assert_named(BY_NAME[name], misconception, answer)


# There Keras tries a model that is put together with sizes of its own; PyTorch lets NumPy compute
# in it, too.
NOT_WRONG = {"jax": ("sizes-taken-too-early",), "torch": ("sizes-taken-too-early", "out-of-keras")}
# What is changed in the solution's own layers, and what that mistake is called.
SOFTMAX = "ops.softmax(scores, axis=-1)"
AXES = "axes=(0, 2, 1, 3))"
CHANGED_CELLS = [
    ("Projection", "weight-made-in-call", {"def call(self, x):": "def call(self, x):\n        self.build(x.shape)"}),
    ("Projection", "weight-unknown-to-keras", {"self.add_weight(shape=": "keras.random.normal(shape=", ', name="w"': ""}),
    ("Projection", "weight-of-another-name", {"self.w =": "self.kernel =", "(x, self.w)": "(x, self.kernel)"}),
    ("Projection", "size-not-told", {', "size": self.size}': "}"}),
    ("Projection", "settings-not-passed-on", {"super().__init__(**more)": "super().__init__()"}),
    ("Projection", "name-not-told", {"**super().get_config(), ": ""}),
    ("Projection", "same-number-everywhere", {'name="w"': 'name="w", initializer="zeros"'}),
    ("Projection", "out-of-keras", {"ops.matmul(x, self.w)": "np.matmul(x, self.w)"}),
    ("Projection", "no-gradient", {"ops.matmul(x, self.w)": "ops.stop_gradient(ops.matmul(x, self.w))"}),
    ("Projection", "sides-exchanged", {"(shape[-1], self.size)": "(self.size, shape[-1])"}),
    ("MultiHead", "no-scale", {" / self.d_head**0.5": ""}),
    ("MultiHead", "scaled-by-all-heads", {"self.d_head**0.5": "(self.heads * self.d_head) ** 0.5"}),
    ("MultiHead", "hidden-inverted", {"where(hidden, lowest, scores)": "where(hidden, scores, lowest)"}),
    ("MultiHead", "hidden-keys-highest", {"where(hidden, lowest, scores)": "where(hidden, -lowest, scores)"}),
    ("MultiHead", "keys-mask-inverted", {"None, :], scores, lowest)": "None, :], lowest, scores)"}),
    ("MultiHead", "keys-mask-ignored", {"keys_mask is not None": "False"}),
    ("MultiHead", "hidden-ignored", {"hidden is not None": "False"}),
    ("MultiHead", "no-axis-for-the-heads", {"len(hidden.shape) == 3": "False"}),
    ("MultiHead", "not-low-enough", {"lowest = -6e4": "lowest = -10.0"}),
    ("MultiHead", "sizes-taken-too-early", {"(-1, ops.shape(x)[1], ": "(*x.shape[:2], "}),
    ("MultiHead", "no-mask-travels-on", {"self.supports_masking = True": "pass"}),
    ("MultiHead", "settings-not-passed-on", {"super().__init__(**more)": "super().__init__()"}),
    ("MultiHead", "heads-not-told", {'"heads": self.heads, ': ""}),
    ("MultiHead", "where-to-look-is-never-learned", {SOFTMAX: f"ops.stop_gradient({SOFTMAX})"}),
    ("MultiHead", "heads-cut-from-every-so-many-columns", {
        "self.heads, self.d_head))": "self.d_head, self.heads))",
        f"return ops.transpose(apart, {AXES}": "return ops.transpose(apart, axes=(0, 3, 1, 2))",
    }),
    ("MultiHead", "heads-merged-by-reshape-alone", {
        f"found = ops.transpose(ops.matmul({SOFTMAX}, v), {AXES}": f"found = ops.matmul({SOFTMAX}, v)",
        "ops.shape(found)[1]": "ops.shape(queries)[1]",
    }),
]  # fmt: skip


@needs_keras
@pytest.mark.parametrize(
    ("name", "misconception", "changes"),
    CHANGED_CELLS,
    ids=[f"{name}-{mistake}" for name, mistake, _ in CHANGED_CELLS],
)
def test_the_solutions_layer_with_one_thing_wrong_is_named(keras, name, misconception, changes):
    if misconception in NOT_WRONG.get(keras.config.backend(), ()):
        pytest.skip(f"{misconception} is no mistake on {keras.config.backend()}")
    solution = read_solution(BY_NAME[name].lab.name)
    source = next(cell.source for cell in solution.cells if cell.id == name)
    for old, new in changes.items():
        assert old in source, f"the solution has changed: {old!r} is not in it"
        source = source.replace(old, new)
    namespace = {"keras": keras, "ops": keras.ops, "np": np}
    exec(source, namespace)
    result = finding(BY_NAME[name], namespace[name], None)
    assert (result.verdict is Verdict.PASS, result.misconception) == (False, misconception), (
        result.message
    )


@needs_keras
def test_the_translator_sees_no_later_word_and_its_mask_reaches_the_loss(keras):
    from keras.src.backend import get_keras_mask

    lab = BY_NAME["MultiHead"].solution
    for encoder_block in (True, False):
        model = lab.translator(encoder_block)
        assert get_keras_mask(model.output) is not None
        english, so_far, _ = lab.as_ids(lab.held_out[:2])
        later = so_far.copy()
        later[:, 4:] = 7
        logits, later_logits = (
            keras.ops.convert_to_numpy(model([english, french])) for french in (so_far, later)
        )
        assert np.allclose(logits[:, :4], later_logits[:, :4], atol=1e-5)
        assert not np.allclose(logits[:, 4:], later_logits[:, 4:], atol=1e-2)
        assert lab.translate(model, english).shape == (2, 14)
        weights = lab.cross_attention_weights(model)(*reversed(lab.held_out[0]))
        assert weights.shape == tuple(map(len, reversed(lab.held_out[0])))
        assert np.allclose(weights.sum(axis=1), 1, atol=1e-5)


@needs_keras
def test_unwritten_layer_is_a_stub(keras):
    class Stub(keras.layers.Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            raise NotImplementedError()

    result = finding(BY_NAME["DotProductAttention"], Stub, None)
    assert result.verdict is Verdict.ERROR
    assert result.observation == NOT_WRITTEN_MESSAGE


@needs_keras
def test_an_unwritten_method_is_said_of_the_class_that_was_asked_for(monkeypatch):
    """In a notebook; and not that the class calls a function which is not written yet."""
    source = (
        "import keras\n"
        "class Projection(keras.layers.Layer):\n"
        "    def __init__(self, size, **more):\n"
        "        raise NotImplementedError()\n"
    )
    lines = source.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "a cell", (len(source), None, lines, "a cell"))
    namespace = {"__name__": "__main__"}
    exec(compile(source, "a cell", "exec"), namespace)
    exercise = BY_NAME["Projection"]
    cases = exercise.test_cases()
    finding = judge_outcomes(
        exercise,
        cases,
        call_on_cases(namespace["Projection"], exercise, cases),
    )
    assert finding.is_unwritten and finding.observation == NOT_WRITTEN_MESSAGE


@needs_keras
def test_error_inside_a_layer_is_told_in_its_own_words(keras):
    class Broken(keras.layers.Layer):
        def call(self, queries, keys, values, d_k, mask=None):
            raise ValueError("no such axis")

    ones = np.ones((1, 2, 3))
    answer = call_student_function(
        Broken,
        map_inputs(inputs().query(result(ones, ones, ones, d_k=3)), convert_argument),
    )
    assert answer.error == "ValueError: no such axis"


@needs_keras
@pytest.mark.parametrize("exercise", LAYERS, ids=lambda e: e.name)
def test_a_layer_with_forward_in_place_of_call_is_told_so(keras, exercise):
    class Pytorch(keras.layers.Layer):
        def __init__(self, *_, **more):
            super().__init__()

        def forward(self, *arrays, **options):
            return arrays[0]

    text = finding(exercise, Pytorch, None).observation
    assert "NoCallMethod: the layer has no method `call`, which Keras runs" in text


@needs_keras
def test_dtype_policy_is_put_back(keras):
    policy = keras.config.dtype_policy().name
    half = np.ones((1, 2, 3), np.float16)
    answer = call_student_function(
        BY_NAME["HalfPrecisionAttention"].reference,
        inputs(half, half, half, d_k=3),
        "attention_labs.layers:asked_in_their_dtype",
    )
    assert answer.value.dtype == np.float16
    assert keras.config.dtype_policy().name == policy


def layer_of(call):
    """A layer class with this `call`."""
    import keras

    return type("Answer", (keras.layers.Layer,), {"call": call})


def attend_with_scores(queries, keys, d_k, mask, ops, hidden=-1e9):
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
    return scores if mask is None else scores + hidden * ops.cast(mask, scores.dtype)


def in_numpy(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    queries, keys, values = map(ops.convert_to_numpy, (queries, keys, values))
    mask = None if mask is None else ops.convert_to_numpy(mask)
    scores = queries @ keys.transpose(0, 2, 1) / np.float32(d_k**0.5)
    powers = np.exp(np.where(False if mask is None else mask == 1, np.float32(-1e9), scores))
    return powers @ values / powers.sum(-1, keepdims=True)


def weights_held_back(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    return (
        ops.stop_gradient(ops.softmax(attend_with_scores(queries, keys, d_k, mask, ops))) @ values
    )


def not_low_enough_for_80(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    return ops.softmax(attend_with_scores(queries, keys, d_k, mask, ops, -100)) @ values


def keeps_the_first_mask(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    self.kept = getattr(self, "kept", mask)
    return ops.softmax(attend_with_scores(queries, keys, d_k, self.kept, ops)) @ values


def in_float16(self, queries, keys, values, d_k, mask=None):
    from keras import ops

    queries, keys, values = (ops.cast(x, "float16") for x in (queries, keys, values))
    return ops.softmax(attend_with_scores(queries, keys, d_k, mask, ops, -3e4)) @ values


@needs_keras
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (in_numpy, "no-gradient"),
        (weights_held_back, "no-gradient-through-the-weights"),
        (not_low_enough_for_80, None),
        (keeps_the_first_mask, "first-mask-kept"),
        (in_float16, None),
    ],
)
def test_a_layer_is_asked_for_more_than_its_output(call, name):
    """For its gradients, for a second call, for its dtype, and for scores of 80."""
    exercise = BY_NAME["DotProductAttention"]
    cases = exercise.test_cases()
    finding = judge_outcomes(
        exercise,
        cases,
        call_on_cases(layer_of(call), exercise, cases),
    )
    assert (finding.verdict, finding.misconception) == (Verdict.WRONG, name)


@needs_keras
def test_the_references_gradients_are_numbers():
    """Else no layer would be asked for any."""
    for name in ("DotProductAttention", "Projection", "MultiHead"):
        gradient_questions = [
            q for q in BY_NAME[name].test_cases() if "gradient" in q.inputs.kwargs.get("wanted", "")
        ]
        assert len(gradient_questions) >= 2
        assert all(np.abs(case.expected).max() > 0.01 for case in gradient_questions)


@needs_keras
@pytest.mark.skipif(keras_start.backend() != "jax", reason="JAX alone compiles each shape")
def test_a_question_is_compiled_once(keras):
    """Each operation by itself takes ten times as long, and a submission minutes."""
    from jax import monitoring

    compilations = []
    monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compilations.append(event),
    )
    exercise = BY_NAME["DotProductAttention"]
    cases = [case for _, case, _ in exercise.draw(None)]
    compilations.clear()
    for case in cases:
        assert not call_student_function(exercise.reference, case, exercise.rules.call).error
    assert sum("backend_compile" in event for event in compilations) <= len(cases)


@needs_keras
def test_start_is_silent():
    code = (
        "from attention_labs import start_keras; start_keras(); import keras, numpy as np\n"
        "m = keras.Sequential([keras.layers.Dense(2)]); m.compile('adam', 'mse')\n"
        "m.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)"
    )
    completed_process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (completed_process.stdout, completed_process.stderr) == ("", "")


def read_solution(name):
    return nbformat.read(ROOT / "solutions" / name / f"{name}.ipynb", as_version=4)


def test_published_figure():
    outputs = {cell.id: cell.get("outputs", []) for cell in read_solution("keras-attention").cells}
    assert outputs["shapes"][0].text == "(64, 5, 64)\n"


@pytest.mark.parametrize("name", LABS)
def test_no_saved_output_is_a_warning(name):
    for cell in read_solution(name).cells:
        assert not [output for output in cell.get("outputs", []) if output.get("name") == "stderr"]


@needs_keras
@pytest.mark.parametrize("name", LABS)
def test_saved_outputs_hold(name, tmp_path):
    from test_nbval import nbval

    ran = nbval(read_solution(name), tmp_path)
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert " passed" in ran.stdout
