"""The sentences of the translator in the lab `keras-translator`, as token ids, and what was measured of it."""

import numpy as np
import pytest

from attention_labs.alignment import hand_linked
from attention_labs.translation import (
    END,
    LONGEST,
    RUNS,
    START,
    Words,
    measured_starts,
    short_pairs,
)


def test_a_sentence_comes_back_from_its_token_ids():
    words = Words([["le", "chat"], ["dort", "."]], START, END)
    assert len(words) == 7 and "chat" in words and "chien" not in words
    ids = words.ids([["le", "chat", "dort", END], ["le", "chien"]])
    assert ids.shape == (2, LONGEST + 1) and ids.dtype == np.int32
    assert words.sentence(ids[0]) == ["le", "chat", "dort"]
    assert words.sentence(ids[1]) == ["le"], "a word never seen is 0, as padding is"
    assert len(set(words.number.values())) == len(words)


def test_a_sentence_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="has 16 words; at most 14 fit here"):
        Words([["a"]]).ids([["a"] * (LONGEST + 2)])


def test_the_pairs_are_short_and_none_is_a_hand_linked_one():
    assert len(short_pairs()) == 5614
    assert max(len(side) for pair in short_pairs() for side in pair) == LONGEST
    linked_sentences = {tuple(pair.english) for pair in hand_linked()}
    assert not linked_sentences & {tuple(english) for english, _ in short_pairs()}


@pytest.mark.skipif(not RUNS.exists(), reason="nothing has been measured")
@pytest.mark.parametrize("encoder_block", [True, False])
def test_five_starts_were_measured(encoder_block):
    runs = measured_starts(encoder_block)
    assert {len(numbers) for numbers in runs.values()} == {5}
    assert all(
        (runs[share] > 0).all() and (runs[share] < 1).all() for share in runs if share != "seconds"
    )


def test_a_sentence_fits_with_its_end_and_no_longer():
    words = Words([["a"]], START, END)
    full = ["a"] * LONGEST + [END]
    assert words.sentence(words.ids([full])[0]) == full[:-1]
    with pytest.raises(ValueError, match=f"at most {LONGEST} fit here"):
        words.ids([[*full, "a"]])


def test_words_after_the_end_or_padding_are_no_part_of_a_sentence():
    words = Words([["a", "b"]], END)
    a, b, end = (words.number[word] for word in ("a", "b", END))
    assert words.sentence([a, end, b]) == ["a"] and words.sentence([a, 0, b]) == ["a"]
    assert words.sentence([]) == []


def test_runs_with_and_without_an_encoder_block_are_kept_apart(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "encoder block,seconds,next words,sentences,links found,links asked\n"
        "0,10,0.5,0.25,1,4\n1,20,0.75,0.5,3,4\n1,30,0.75,0.5,2,4\n"
    )
    assert measured_starts(True, path)["seconds"].tolist() == [20, 30]
    assert measured_starts(False, path)["links"].tolist() == [0.25]
    assert list(measured_starts(True, path)) == ["seconds", "next words", "sentences", "links"]


def test_words_are_numbered_after_the_signs_in_the_order_of_the_alphabet():
    words = Words([["b", "a"], ["c", "a"]], START, END)
    assert words.words == ["", "<start>", "<end>", "a", "b", "c"]
    assert (len(words), "c" in words, "d" in words) == (6, True, False)
    ids = words.ids([["a", "d", "b"], []])
    assert ids.dtype == np.int32 and ids.shape == (2, LONGEST + 1)
    assert ids[0, :4].tolist() == [3, 0, 4, 0] and not ids[1].any()
    assert words.sentence([3, 5, 2, 4]) == ["a", "c"] and words.sentence([4, 0, 3]) == ["b"]


def test_the_runs_of_one_kind_are_read_with_the_share_of_links(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "encoder block,seconds,next words,sentences,links found,links asked\n"
        "1,10,0.5,0.25,3,4\n0,20,0.1,0.2,1,4\n1,30,0.7,0.75,1,2\n"
    )
    found = measured_starts(True, path)
    assert {name: column.tolist() for name, column in found.items()} == {
        "seconds": [10, 30],
        "next words": [0.5, 0.7],
        "sentences": [0.25, 0.75],
        "links": [0.75, 0.5],
    }
    assert measured_starts(False, path)["links"].tolist() == [0.25]
