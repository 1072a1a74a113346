"""Copies are found, and what people write alike by themselves is not."""

import random
import re
import sys
from pathlib import Path

import pytest
from our_course import COURSE, lab

sys.path.insert(0, str(Path(__file__).parent / "reports"))

from made import LAB, enrol, fill, results

from alike import compare as similarity
from alike import pairs as of_class
from alike.__main__ import write_page
from alike.pairs import Alike, HandIn, in_turn, pairs
from autograder.grading.register.classroom import Classroom


def code(source):
    return {"cell_type": "code", "source": source}


def prose(source):
    return {"cell_type": "markdown", "source": source}


ANSWER = """
def attend(queries, keys, values, mask=None):
    # Compare every query with every key, then share out the values.
    depth = keys.shape[-1]
    table = np.einsum("...qd,...kd->...qk", queries, keys) / depth ** 0.5
    if mask is not None:
        table = np.where(mask, table, -np.inf)
    peak = np.max(table, axis=-1, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0)
    power = np.exp(table - peak)
    total = np.add.reduce(power, axis=-1, keepdims=True)
    shares = np.divide(power, total, out=np.zeros_like(power), where=total > 0)
    blend = np.zeros((queries.shape[0], values.shape[1]))
    for row, share in enumerate(shares):
        for column, part in enumerate(share):
            blend[row] += part * values[column]
    return blend, shares
"""


class TestSimilarity:
    def crowd(self, count=8):
        """Hand-ins with nothing in common but chance."""
        chance = random.Random(5)
        words = [f"{a}{b}" for a in "bcdfgl" for b in "aeiou"]
        return [
            similarity.read_work(
                [
                    prose(" ".join(chance.choices(words, k=80))),
                    code("\n".join(f"x{i} = {chance.choice(words)}({chance.random()})" for i in range(30))),
                ]
            )
            for _ in range(count)
        ]

    def test_a_copy_with_other_names_is_found(self):
        renamed = re.sub(r"#.*", "# Mine.", ANSWER)
        for old, new in {"table": "scores", "peak": "top", "power": "e", "shares": "w"}.items():
            renamed = re.sub(rf"\b{old}\b", new, renamed)
        works = [*self.crowd(), *(similarity.read_work([code(text)]) for text in (ANSWER, renamed))]
        (pair,) = similarity.alike(works, [])
        assert (pair.one, pair.other) == (8, 9)
        assert pair.code == 1 and pair.words is None

    def test_a_copied_explanation_is_found_and_quoted(self):
        said = (
            "Without the root the scores grow with the depth, so softmax saturates and its gradients die. "
            "Dividing keeps their spread near one, whatever depth we choose for the queries and keys."
        )
        works = [*self.crowd(), *(similarity.read_work([prose(text)]) for text in (said, said + "Ok."))]
        (pair,) = similarity.alike(works, [])
        assert pair.words > 0.95 and "grow with the depth" in pair.passage

    def test_two_independent_right_answers_are_not(self):
        one = """
def softmax(x, axis=0):
    # Subtract the largest number first
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)

def attention_qkv(queries, keys, values):
    d_k = keys.shape[1]
    weights = softmax(queries @ keys.T / np.sqrt(d_k), axis=1)
    return weights @ values
"""
        other = """
def softmax(x, axis=0):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    numerator = np.exp(shifted)
    denominator = np.sum(numerator, axis=axis, keepdims=True)
    return numerator / denominator

def attention_qkv(queries, keys, values):
    # scaled dot product
    scores = np.dot(queries, keys.T) / np.sqrt(keys.shape[-1])
    return np.dot(softmax(scores, axis=-1), values)
"""
        works = [similarity.read_work([code(text)]) for text in (one, other)]
        assert similarity.alike(works, []) == []

    def test_nor_is_the_same_short_answer(self):
        short = ANSWER[: ANSWER.index("peak = np.where")]
        assert similarity.alike([similarity.read_work([code(short)])] * 2, []) == []

    def test_what_the_lab_gave_does_not_count(self):
        given = similarity.read_work([code(ANSWER), prose("Explain in your own words. " * 20)])
        works = [similarity.read_work([code(ANSWER), prose("Explain in your own words. " * 20)])] * 2
        assert similarity.alike(works, [given]) == []
        assert similarity.alike(works, [])

    def test_what_many_have_does_not_count(self):
        assert similarity.alike([similarity.read_work([code(ANSWER)])] * 7, []) == []

    def test_nothing_to_compare(self):
        assert similarity.alike([], []) == []
        assert similarity.alike([similarity.Work([], [])] * 3, []) == []

    def test_those_who_collude_keep_no_other_pair_from_being_measured(self):
        """Sixty-six, first by name, with a passage of its own for each two of them: no room was left for others."""
        chance = random.Random(2)
        vocabulary = [f"w{n}x" for n in range(5_000)]

        def passage(length):
            return " ".join(chance.choices(vocabulary, k=length))

        crowd = [[] for _ in range(66)]
        for i, one in enumerate(crowd):
            for other in crowd[i + 1 :]:
                common = passage(26)
                one.append(common)
                other.append(common)
        copied = passage(200)
        texts = [*map(" ".join, crowd), passage(200), copied, copied]
        works = [similarity.read_work([prose(text)]) for text in texts]
        assert {(67, 68)} <= {(pair.one, pair.other) for pair in similarity.alike(works, [])}

    def test_no_hand_in_takes_more_than_its_own_share_of_the_time(self):
        shared = {(i, j): 30 for i in range(60) for j in range(i + 1, 60)}
        chosen = similarity._most_shared(shared)
        assert len(chosen) <= 60 * similarity.MOST_EACH
        assert {number for pair in chosen for number in pair} == set(range(60))


EMPTY = similarity.Work([], [])


def test_partners_are_no_pair_and_the_same_file_is():
    students = [HandIn("ada", EMPTY, 7), HandIn("bo", EMPTY, 7), HandIn("cy", EMPTY, 8)]
    (pair,) = pairs(lab(LAB), students, {})
    assert pair.students == ("ada", "bo") and pair.same_file
    assert pairs(lab(LAB), students, dict.fromkeys(("ada", "bo"), ("ada", "bo"))) == []


def test_a_crowd_with_one_file_leaves_room_for_those_who_are_two():
    crowd = [HandIn(f"a{n:03}", EMPTY, 7) for n in range(300)]
    found = pairs(lab(LAB), [*crowd, HandIn("y", EMPTY, 8), HandIn("z", EMPTY, 8)], {})
    assert len(found) <= of_class.MOST_PAIRS
    assert ("y", "z") in [pair.students for pair in found]


def test_two_who_hand_in_no_notebook_have_it_from_nobody():
    assert pairs(lab(LAB), [HandIn(student, EMPTY, 7, empty=True) for student in ("ada", "bo")], {}) == []


def test_everybodys_first_pair_comes_before_anybodys_second():
    def pair(*students):
        return Alike(LAB, students, 1.0, None, "")

    crowd = [pair(one, other) for one in "abcdef" for other in "abcdef" if one < other]
    assert in_turn([*crowd, pair("y", "z")])[:4].count(pair("y", "z")) == 1


@pytest.fixture
def class_of_two(tmp_path):
    same = (
        "My scores are scaled so that the softmax stays soft, else one word takes all the weight. "
        "I saw this when I drew the picture again with vectors of three hundred entries."
    )
    classroom = Classroom(tmp_path, COURSE)
    fill(classroom, {name: results(name, answer=f"<b>{same}</b>") for name in ("ada", "bob")})
    enrol(classroom, "Login,First name,Last name\nada,<i>Ada,Lovelace\n")
    return classroom


def test_a_copy_shows_on_the_page(class_of_two):
    path = class_of_two.report / "alike.html"
    assert write_page(class_of_two, path) == 1
    page = path.read_text("utf-8")
    assert "&lt;i&gt;Ada Lovelace (ada)<br>bob" in page and "The two files are the same" in page
    assert "plagiar" not in page.lower() and "cheat" not in page.lower()


@pytest.mark.long
def test_reading_and_comparing_have_limits_and_the_page_says_so(class_of_two, monkeypatch):
    path = class_of_two.report / "alike.html"
    monkeypatch.setattr(of_class, "COMPARING_SECONDS", -1)
    write_page(class_of_two, path)
    assert f"{LAB}: to compare its hand-ins takes more than" in path.read_text("utf-8")
    monkeypatch.setattr(of_class, "READING_SECONDS", -1)
    write_page(class_of_two, path)
    assert f"ada, {LAB}: to read its words takes more than" in path.read_text("utf-8")
