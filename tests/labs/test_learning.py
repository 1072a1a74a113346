"""Data, measure and training of the lab `learning-to-align`."""

import importlib.util
import sys

import numpy as np
import pytest

from attention_labs import alignment
from attention_labs.alignment import (
    hand_linked,
    kinds_of_misses,
    linked_words,
    missed,
    sentence_pairs,
    share_found,
)
from attention_labs.embeddings import DATA, tokenize
from attention_labs.published import ENGLISH, FRENCH
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course


def _script(name):
    sys.path.insert(0, str(DATA))
    spec = importlib.util.spec_from_file_location(name, DATA / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sentences = _script("build_sentences")
UNSEEN = {"jaunissent"}  # the one word of the linked sentences that the lexicon lacks too


@pytest.fixture(scope="module")
def lab():
    """Return the definitions of the solution notebook."""
    return read_lab(read_course(DATA.parent), "learning-to-align").reference


def to_measure():
    return [pair[:2] for pair in hand_linked()] + [(tokenize(ENGLISH), tokenize(FRENCH))]


# The sentences


@pytest.mark.long
def test_the_file_is_what_the_grammar_makes(capsys):
    assert sentences.main(["--check"]) == 0
    assert "is what" in capsys.readouterr().out


@pytest.mark.long
def test_a_changed_file_is_noticed(tmp_path, monkeypatch, capsys):
    changed_file = tmp_path / "pairs.txt"
    changed_file.write_text(
        sentences.FILE.read_text(encoding="utf-8").replace("cat", "dog", 1),
        encoding="utf-8",
    )
    monkeypatch.setattr(sentences, "FILE", changed_file)
    assert sentences.main(["--check"]) == 1
    assert "is not what" in capsys.readouterr().out


def test_all_words_are_of_the_lexicon():
    lexicon = _script("build_embeddings").read_lexicon()
    for side, language, further_words in ((0, "en", {"o"}), (1, "fr", set())):
        lexicon_words = {
            word for meaning in lexicon for word in meaning.words(language)
        } | further_words
        strange = {
            w for pair in sentence_pairs() for w in pair[side] if not w.isdigit()
        } - lexicon_words
        assert not strange


def test_every_word_to_be_measured_occurs():
    for side in (0, 1):
        trained_parameters = {word for pair in sentence_pairs() for word in pair[side]}
        assert {word for pair in to_measure() for word in pair[side]} - trained_parameters <= UNSEEN


def test_no_sentence_to_be_measured_is_trained_on():
    trained_parameters = {" ".join(words) for pair in sentence_pairs() for words in pair}
    assert trained_parameters.isdisjoint(" ".join(words) for pair in to_measure() for words in pair)


def test_a_linked_sentence_that_the_grammar_makes_is_left_out(monkeypatch):
    english, _ = sentences.make(1).strip().split("\t")
    linked_pair_words = alignment.Linked(english.split(), ["x"], frozenset())
    monkeypatch.setattr(sentences, "hand_linked", lambda: (linked_pair_words,))
    assert english not in {line.split("\t")[0] for line in sentences.make(50).splitlines()}


@pytest.mark.parametrize(
    ("written", "due"),
    [
        ("le eau de le lac", "l eau du lac"),
        ("je ne aime pas les huit heures", "je n aime pas les huit heures"),
        ("il va à les marchés", "il va aux marchés"),
        ("de le agneau", "de l agneau"),
        ("le huit mai", "le huit mai"),
    ],
)
def test_elision(written, due):
    assert " ".join(sentences.elide(written)) == due


# The measure


def test_the_share_found_by_the_shipped_vectors_is_the_stated_one():
    french = {word for pair in sentence_pairs() for word in pair[1]}
    assert share_found(alignment.constructed, french) == (444, 477)


def test_an_alignment_that_is_right_finds_all_and_a_wrong_one_nothing():
    pair = hand_linked()[0]
    right = {tuple(p.french): p for p in hand_linked()}

    def perfect(french, english):
        weights = np.zeros((len(french), len(english)))
        for i, j in right[tuple(french)].links:
            weights[j, i] = 1
        return weights

    hits, total = share_found(perfect)
    assert hits == total == len(list(linked_words()))
    hits, _ = share_found(lambda french, english: -perfect(french, english))
    assert hits < total / 2
    assert pair.english[1] == "black"


def test_kinds_of_misses_add_up():
    misses = missed(alignment.diagonal)
    assert sum(kinds_of_misses(alignment.diagonal).values()) == len(misses) > 0


def test_the_diagonal_runs_from_first_to_last():
    best = alignment.diagonal(["a"] * 5, ["b"] * 9).argmax(axis=1)
    assert best.tolist() == [0, 2, 4, 6, 8]


def test_words_that_were_not_trained_on_are_left_out():
    pair = alignment.Linked(["the", "cat"], ["le", "chat"], frozenset({(0, 0), (1, 1)}))
    assert [place for _, place, _ in linked_words([pair])] == [0, 1]
    assert [place for _, place, _ in linked_words([pair], {"chat"})] == [1]
    unlinked = alignment.Linked(["a"], ["b"], frozenset())
    assert list(linked_words([unlinked])) == []


def test_each_kind_of_miss_is_counted_as_such(monkeypatch):
    pair = alignment.Linked(
        ["the", "cat", "the", "."], ["le", "chat", "la"], frozenset({(0, 0), (1, 1), (2, 2)})
    )
    monkeypatch.setattr(alignment, "hand_linked", lambda: (pair,))
    best = np.eye(4)[[2, 3, 1]]  # the other "the", the full stop, another word
    assert list(kinds_of_misses(lambda french, english: best).values()) == [1, 1, 1]
    assert share_found(lambda french, english: best) == (0, 3)
    assert alignment.by_chance() == 0.25


def test_the_watch_copies_what_it_keeps_and_measures_the_last_step(monkeypatch):
    texts = []
    watch = alignment.Watch(5, lambda parameters: 0.5, keep=(0, 2), every=2)
    monkeypatch.setattr(watch._bar, "show", lambda step, text: texts.append(text))
    parameters = {"w": np.zeros(1)}
    for step in range(6):
        parameters["w"][0] = step
        watch(step, 10.0 - step, parameters)
    assert {step: kept["w"][0] for step, kept in watch.kept.items()} == {0: 0, 2: 2}
    assert watch.losses == [9.0, 8.0, 7.0, 6.0, 5.0], "before the first step there is no loss"
    assert list(watch.shares) == [0, 2, 4, 5]
    assert texts[0] == "step 0 of 5, 50% of the linked words found"
    assert texts[-1] == "step 5 of 5, loss 7.00, 50% of the linked words found"


def test_the_shown_loss_is_that_of_the_last_twenty_steps(monkeypatch):
    texts = []
    watch = alignment.Watch(30, lambda parameters: 0.0, every=30)
    monkeypatch.setattr(watch._bar, "show", lambda step, text: texts.append(text))
    for step in range(1, 31):
        watch(step, 100.0 if step <= 10 else 2.0, {})
    assert ", loss 2.00," in texts[-1]


def test_linked_pairs_and_training_pairs_are_read_from_their_files(tmp_path):
    linked, pairs = tmp_path / "linked.txt", tmp_path / "pairs.txt"
    linked.write_text(
        "# a remark\nen: The cat.\nfr: L'eau: é\nlinks: 0-0 1-2\n\nen: A\n# more\nfr: b\nlinks: 0-0\n",
        "utf-8",
    )
    assert hand_linked(linked) == (
        alignment.Linked(["the", "cat", "."], ["l", "eau", ":", "é"], frozenset({(0, 0), (1, 2)})),
        alignment.Linked(["a"], ["b"], frozenset({(0, 0)})),
    )
    pairs.write_text("a b\tc d\né\tf\n", "utf-8")
    assert sentence_pairs(pairs) == ((["a", "b"], ["c", "d"]), (["é"], ["f"]))


def test_only_known_words_are_measured_by_each_measure(monkeypatch):
    first = alignment.Linked(["a", "b"], ["x", "y"], frozenset({(0, 0), (1, 1)}))
    second = alignment.Linked(list("abcd"), ["x"], frozenset({(0, 0), (3, 0)}))
    monkeypatch.setattr(alignment, "hand_linked", lambda: (first, second))
    asked = []

    def align(french, english):
        asked.append((french, english))
        return np.eye(len(french), len(english))[:, ::-1]

    assert missed(align) == [(first, 0, 1), (first, 1, 0)]
    assert asked == [(first.french, first.english), (second.french, second.english)]
    assert missed(align, {"y"}) == [(first, 1, 0)]
    assert (share_found(align), share_found(align, {"x"})) == ((1, 3), (1, 2))
    assert kinds_of_misses(align, {"y"})["another word"] == 1
    assert (alignment.by_chance(), alignment.by_chance({"y"})) == (0.5, 0.5)
    assert alignment.by_chance({"x", "y"}) == pytest.approx((1 / 2 + 1 / 2 + 2 / 4) / 3)


def test_a_word_without_a_vector_is_aligned_with_nothing():
    weights = alignment.constructed(["chat", "jaunissent"], ["dog", "cat", "."])
    assert weights.shape == (2, 3) and weights[0].argmax() == 1
    assert weights[1].tolist() == [0, 0, 0]


# The lab's training


@pytest.mark.long
def test_the_whole_chain_is_the_finite_difference(lab):
    parameters = lab.random_start(np.random.default_rng(0), size=6)
    pairs = lab.numbered[:3]
    _, gradients = lab.loss_and_gradients(parameters, pairs)
    rng = np.random.default_rng(1)
    for name, array in parameters.items():
        places = np.argwhere(gradients[name])
        for place in map(tuple, places[rng.choice(len(places), size=20)]):
            original, losses = array[place], []
            for array[place] in (original + 1e-5, original - 1e-5):
                losses.append(lab.loss_and_gradients(parameters, pairs)[0])
            array[place] = original
            assert abs((losses[0] - losses[1]) / 2e-5 - gradients[name][place]) < 1e-6


@pytest.mark.long
def test_an_alignment_emerges(lab):
    """A seventh of the lab's steps is enough to leave chance far behind."""
    parameters = lab.train(lab.numbered, steps=150)
    measure = _script("measure_learning")
    hits, total = share_found(measure.aligner(lab, parameters), lab.french_row)
    assert hits / total > 0.5 > 4 * alignment.by_chance(lab.french_row)
    random_aligner = measure.aligner(lab, lab.random_start(np.random.default_rng(0)))
    assert share_found(random_aligner, lab.french_row)[0] / total < 0.3
