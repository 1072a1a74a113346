"""The lab `training`: its gradients, its engine that stops and goes on, what it keeps, and what its table says."""

import numpy as np
import pytest
from functions_in_cells import define_in_cell
from our_course import lab

from attention_labs import tiny_model, training
from attention_labs.tiny_model import ModelError
from autograder.student.check import CheckFailed, check

LAB = lab("training").reference


def small(rng, d=4, hidden=6):
    names = [f"{part}_{n}" for n in (1, 2) for part in ("gain", "bias")]
    block = {name: rng.normal(size=d) for name in names}
    block |= {name: rng.normal(size=(d, d)) for name in ("w_q", "w_k", "w_v", "w_o")}
    block |= {"w_1": rng.normal(size=(d, hidden)), "b_1": rng.normal(size=hidden)}
    block |= {"w_2": rng.normal(size=(hidden, d)), "b_2": rng.normal(size=d)}
    ends = {name: rng.normal(size=d) for name in ("gain", "bias")}
    tables = {"tokens": rng.normal(size=(7, d)), "positions": rng.normal(size=(5, d))}
    return (
        tables | ends | {"blocks": [block, {name: rng.permutation(a) for name, a in block.items()}]}
    )


@pytest.mark.long
def test_the_gradients_of_the_whole_model_are_central_differences():
    rng = np.random.default_rng(3)
    parameters, rows = small(rng), rng.integers(7, size=(2, 6))
    gradients = tiny_model.flat(LAB.loss_and_gradients(parameters, rows, 2)[1])
    arrays = tiny_model.flat(parameters)
    assert gradients.keys() == arrays.keys()
    for name, array in arrays.items():

        def loss(changed, name=name):
            return LAB.loss_and_gradients(tiny_model.nested({**arrays, name: changed}), rows, 2)[0]

        assert (
            LAB.largest_difference(gradients[name], LAB.numerical_gradient(loss, array)) < 1e-7
        ), name


def ten_steps(watch=None, run=None):
    run = run or LAB.start(0)
    LAB.train(run, training.stories()[:200], watch, steps=10, rows=4)
    return run


def test_a_loop_that_replaces_a_row_is_told_of_the_plus():
    source = """
def embedding_backward(upstream, tokens, vocabulary):
    result = np.zeros((vocabulary, upstream.shape[-1]))
    for row, token in zip(upstream.reshape(-1, upstream.shape[-1]), tokens.ravel()):
        result[token] = row
    return result
"""
    with pytest.raises(CheckFailed, match="`\\+=` adds if it gets one token at a time"):
        check(define_in_cell(source))


def test_a_training_that_is_stopped_goes_on_as_if_nothing_had_been(capsys):
    def stop(step, loss, parameters):
        if step == 4:
            raise KeyboardInterrupt

    partial_run = ten_steps(stop)
    assert partial_run["step"] == 4
    assert "Stopped after step 4 of 10" in capsys.readouterr().out
    full_parameters = ten_steps()["parameters"]
    for name, array in ten_steps(run=partial_run)["parameters"].items():
        assert np.array_equal(array, full_parameters[name])


@pytest.mark.long
def test_a_few_steps_lower_the_loss():
    losses = []
    LAB.train(
        LAB.start(1),
        training.stories()[:500],
        lambda step, loss, _: losses.append(loss),
        steps=60,
        rows=6,
    )
    assert np.mean(losses[-10:]) < np.mean(losses[:5]) - 0.3


def test_a_kept_model_is_what_was_kept(tmp_path):
    run = LAB.start(0)
    path = tiny_model.save(tiny_model.nested(run["parameters"]), tmp_path / "my_model.npz")
    loaded_model = tiny_model.kept(path)
    for name, array in tiny_model.flat(loaded_model.parameters).items():
        assert np.array_equal(array, np.float32(run["parameters"][name]))
    assert loaded_model.words == tiny_model.load().words


def test_where_no_model_was_kept_a_sentence_says_so(tmp_path, capsys):
    assert tiny_model.kept(tmp_path / "my_model.npz") is None
    assert "train one first" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"no archive"])
def test_stories_that_cannot_be_read_are_a_sentence(tmp_path, content):
    path = tmp_path / "stories.npz"
    if content:
        path.write_bytes(content)
    with pytest.raises(ModelError, match="cannot be read"):
        training.stories(path)


def test_the_stored_runs_are_what_the_notebook_says():
    runs = training.runs()
    starts = [run for name, run in runs.items() if name.startswith("start")]
    assert len(runs) == 11
    assert all(0.965 <= run.held_out < 0.995 and run.scores[-1] > 0.845 for run in starts)
    first = {
        name: run.steps[np.argmax(run.scores > 0.2)]
        for name, run in runs.items()
        if run.scores.max() > 0.2
    }
    assert [first.get(f"start {n}") for n in range(5)] == [1100, 1000, 1200, 900, 1000]
    assert [first[f"all matrices equally large (seed {n})"] for n in (3, 4)] == [1600, 2300]
    assert first["attention begins ten times smaller"] == 1900
    small_data_run = runs["a twentieth of the stories"]
    assert small_data_run.losses[-1] < min(run.losses[-1] for run in starts) + 0.001
    assert small_data_run.held_out > 1.06
    assert runs["ten times the rate"].held_out > 1.5
    assert "ten times the rate" not in first


def test_the_watch_keeps_what_it_saw_and_begins_anew():
    watch = training.Watch(4, lambda parameters: 0.5, every=2, keep=[3])
    for step in (1, 2, 3, 4):
        watch(step, 5.0 - step, {"step": step})
    assert watch.losses == [4.0, 3.0, 2.0, 1.0]
    assert watch.scores == {2: 0.5, 4: 0.5}
    assert watch.kept == {3: {"step": 3}}
    watch(1, 9.0, {})
    assert watch.losses == [9.0]
    assert watch.scores == {}
    assert watch.kept == {}


def test_the_last_step_is_measured_whatever_the_interval():
    watch = training.Watch(5, lambda parameters: 0.5, every=2)
    for step in range(1, 6):
        watch(step, 1.0, {})
    assert list(watch.scores) == [2, 4, 5]


def test_a_model_that_is_trained_again_takes_the_place_of_the_first(tmp_path):
    path = tmp_path / "my_model.npz"
    for number in (0, 1):
        parameters = tiny_model.nested(LAB.start(number)["parameters"])
        tiny_model.save(parameters, path)
        found = tiny_model.flat(tiny_model.kept(path).parameters)
        for name, array in tiny_model.flat(parameters).items():
            assert np.array_equal(found[name], np.float32(array)), (number, name)


def test_lists_said_twice_are_the_same_for_a_seed_and_others_for_another():
    rows = training.said_twice(4, half=6, seed=3)
    assert rows.shape == (4, 12)
    assert (rows[:, :6] == rows[:, 6:]).all()
    assert all(len(set(row)) == 6 for row in rows[:, :6].tolist())
    assert (training.said_twice(4, half=6, seed=3) == rows).all()
    assert (training.said_twice(4, half=6, seed=4) != rows).any()


def test_rows_of_repeated_words_begin_with_others_and_say_a_list_to_the_end():
    rows = training.repeated(np.random.default_rng(5), 200, words=30, length=40)
    sizes, starts = set(), set()
    for row in rows.tolist():
        matches = [
            (size, start)
            for size in range(5, 25)
            for start in range(8)
            if all(row[i] == row[i + size] for i in range(start, 40 - size))
            and len(set(row[start : start + size])) == size
        ]
        assert matches, row
        sizes.add(matches[0][0])
        starts.add(matches[0][1])
    assert rows.shape == (200, 40) and set(rows.ravel().tolist()) == set(range(30))
    assert sizes == set(range(5, 25)) and starts == set(range(8))
    assert training.repeated(np.random.default_rng(5), 2).shape == (2, training.LENGTH)


def test_the_first_position_vectors_are_sines_and_cosines_in_turn():
    found = training.waves(3, 4)
    angles = np.array([[0, 0], [1, 30**-0.5], [2, 2 * 30**-0.5]])
    assert found[:, ::2] == pytest.approx(np.sin(angles))
    assert found[:, 1::2] == pytest.approx(np.cos(angles))


def test_runs_are_read_with_all_of_their_columns(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "run,step,loss,induction,held_out\na,1,5.5,0.1,\nb,1,4,0.2,\na,2,3.5,0.3,2.5\nb,2,3,0.4,9\n"
    )
    found = {
        name: [*map(np.ndarray.tolist, run[:3]), run[3]]
        for name, run in training.runs(path).items()
    }
    assert found == {
        "a": [[1, 2], [5.5, 3.5], [0.1, 0.3], 2.5],
        "b": [[1, 2], [4.0, 3.0], [0.2, 0.4], 9.0],
    }


def test_the_monitor_shows_the_mean_loss_of_a_hundred_steps(monkeypatch):
    texts = []
    monitor = training.Watch(120, lambda parameters: parameters["w"] / 4, every=60)
    monkeypatch.setattr(monitor._bar, "show", lambda step, text: texts.append((step, text)))
    for step in range(1, 121):
        monitor(step, 9.0 if step <= 20 else 2.0, {"w": step // 60})
    assert texts == [
        (60, "step 60 of 120, loss 4.33, induction score 0.25"),
        (120, "step 120 of 120, loss 2.00, induction score 0.50"),
    ]


def test_a_file_that_announces_other_blocks_or_lacks_a_part_is_no_model(tmp_path):
    good = dict(np.load(tiny_model.FILE))
    for name, changes in {
        "blocks": {"layers": good["layers"] + 1},
        "words": {"words": None},
    }.items():
        arrays = {key: value for key, value in {**good, **changes}.items() if value is not None}
        np.savez(tmp_path / f"{name}.npz", **arrays)
    with pytest.raises(
        ModelError, match=r"blocks\.npz cannot be read \(\d blocks were announced\)"
    ):
        tiny_model.load(tmp_path / "blocks.npz")
    with pytest.raises(ModelError, match=r"words\.npz cannot be read .*course's data anew"):
        tiny_model.load(tmp_path / "words.npz")
    with pytest.raises(ModelError, match=r"The heads in .*none\.npz cannot be read"):
        tiny_model.second_layer(tmp_path / "none.npz")


def test_a_text_is_numbered_in_lower_case_and_its_first_strange_word_is_named():
    tiny = tiny_model.TinyModel({"blocks": [{}, {}]}, 2, ("a", "b"), np.zeros(1), np.zeros(1))
    assert tiny.encode("A b  B").tolist() == [[0, 1, 1]] and tiny.decode(np.array([1, 0])) == "b a"
    with pytest.raises(ModelError, match=r"know the word 'x'; its 2 words are in `tiny\.words`"):
        tiny.encode("a X y")
    assert repr(tiny) == "<a model of 2 blocks, 2 heads, 2 words>"


def test_nested_parameters_are_flattened_and_back_in_any_order():
    arrays = {"block_1.w": 4, "tokens": 1, "block_0.w": 2, "block_0.b": 3}
    parameters = tiny_model.nested(arrays)
    assert parameters == {"tokens": 1, "blocks": [{"w": 2, "b": 3}, {"w": 4}]}
    assert tiny_model.flat(parameters) == arrays
