"""Similar submissions: copies are found, and independent answers are not."""

import random
import re

import pytest
from click.testing import CliRunner
from graded_class import LAB, enrol, fill, results
from our_course import COURSE, ROOT, lab

from autograder.cli import main
from autograder.core.course import COURSE_VARIABLE
from autograder.gradebook.classroom import Classroom
from similarity import pairs as pairs_module
from similarity import shared_passages
from similarity.command import write_page
from similarity.pairs import (
    ComparedSubmission,
    SimilarPair,
    find_lab_pairs,
    interleave_pairs_by_student,
)


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
        """Return submissions that are similar by chance only."""
        chance = random.Random(5)
        words = [f"{a}{b}" for a in "bcdfgl" for b in "aeiou"]
        return [
            shared_passages.tokenise_cells(
                [
                    prose(" ".join(chance.choices(words, k=80))),
                    code(
                        "\n".join(
                            f"x{i} = {chance.choice(words)}({chance.random()})" for i in range(30)
                        )
                    ),
                ]
            )
            for _ in range(count)
        ]

    def test_a_copy_with_other_names_is_found(self):
        copy = re.sub(r"#.*", "# Mine.", ANSWER)
        for old, new in {"table": "scores", "peak": "top", "power": "e", "shares": "w"}.items():
            copy = re.sub(rf"\b{old}\b", new, copy)
        submissions = [
            *self.crowd(),
            *(shared_passages.tokenise_cells([code(text)]) for text in (ANSWER, copy)),
        ]
        (pair,) = shared_passages.find_similar_pairs(submissions, [])
        assert (pair.first, pair.second) == (8, 9)
        assert pair.code == 1 and pair.words is None

    def test_a_copied_explanation_is_found_and_quoted(self):
        explanation = (
            "Without the root the scores grow with the depth, so softmax saturates and its "
            "gradients die. "
            "Dividing keeps their spread near one, whatever depth we choose for the queries and "
            "keys."
        )
        submissions = [
            *self.crowd(),
            *(
                shared_passages.tokenise_cells([prose(text)])
                for text in (explanation, explanation + "Ok.")
            ),
        ]
        (pair,) = shared_passages.find_similar_pairs(submissions, [])
        assert pair.words > 0.95 and "grow with the depth" in pair.passage

    def test_two_independent_right_answers_are_not_found(self):
        first = """
def softmax(x, axis=0):
    # Subtract the largest number first
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)

def attention_qkv(queries, keys, values):
    d_k = keys.shape[1]
    weights = softmax(queries @ keys.T / np.sqrt(d_k), axis=1)
    return weights @ values
"""
        second = """
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
        submissions = [shared_passages.tokenise_cells([code(text)]) for text in (first, second)]
        assert shared_passages.find_similar_pairs(submissions, []) == []

    def test_the_same_short_answer_is_not_found(self):
        short = ANSWER[: ANSWER.index("peak = np.where")]
        assert (
            shared_passages.find_similar_pairs(
                [shared_passages.tokenise_cells([code(short)])] * 2,
                [],
            )
            == []
        )

    def test_text_of_the_lab_does_not_count(self):
        released = shared_passages.tokenise_cells(
            [code(ANSWER), prose("Explain in your own words. " * 20)],
        )
        submissions = [
            shared_passages.tokenise_cells(
                [code(ANSWER), prose("Explain in your own words. " * 20)],
            )
        ] * 2
        assert shared_passages.find_similar_pairs(submissions, [released]) == []
        assert shared_passages.find_similar_pairs(submissions, [])

    def test_text_that_many_have_does_not_count(self):
        assert (
            shared_passages.find_similar_pairs(
                [shared_passages.tokenise_cells([code(ANSWER)])] * 7,
                [],
            )
            == []
        )

    def test_nothing_to_compare(self):
        assert shared_passages.find_similar_pairs([], []) == []
        assert (
            shared_passages.find_similar_pairs([shared_passages.TokenStreams([], [])] * 3, []) == []
        )

    def test_a_large_colluding_group_does_not_hide_other_pairs(self):
        """Regression: 66 students, each two with a passage of their own, left no room for others."""
        chance = random.Random(2)
        vocabulary = [f"w{n}x" for n in range(5_000)]

        def passage(length):
            return " ".join(chance.choices(vocabulary, k=length))

        crowd = [[] for _ in range(66)]
        for i, passages in enumerate(crowd):
            for other_passages in crowd[i + 1 :]:
                common = passage(26)
                passages.append(common)
                other_passages.append(common)
        copied_passage = passage(200)
        texts = [*map(" ".join, crowd), passage(200), copied_passage, copied_passage]
        submissions = [shared_passages.tokenise_cells([prose(text)]) for text in texts]
        assert {(67, 68)} <= {
            (pair.first, pair.second)
            for pair in shared_passages.find_similar_pairs(submissions, [])
        }

    def test_no_submission_takes_more_than_its_own_share_of_the_time(self):
        shared_counts = {(i, j): 30 for i in range(60) for j in range(i + 1, 60)}
        chosen = shared_passages._choose_pairs(shared_counts)
        assert len(chosen) <= 60 * shared_passages.MAX_PAIRS_PER_SUBMISSION
        assert {number for pair in chosen for number in pair} == set(range(60))


EMPTY = shared_passages.TokenStreams([], [])


def test_partners_are_no_pair_and_the_same_file_is():
    students = [
        ComparedSubmission("ada", EMPTY, "7"),
        ComparedSubmission("bo", EMPTY, "7"),
        ComparedSubmission("cy", EMPTY, "8"),
    ]
    (pair,) = find_lab_pairs(lab(LAB), students, {})
    assert pair.students == ("ada", "bo") and pair.same_file
    assert find_lab_pairs(lab(LAB), students, dict.fromkeys(("ada", "bo"), ("ada", "bo"))) == []


def test_a_crowd_with_one_file_leaves_room_for_pairs():
    crowd = [ComparedSubmission(f"a{n:03}", EMPTY, "7") for n in range(300)]
    similar_pairs = find_lab_pairs(
        lab(LAB),
        [*crowd, ComparedSubmission("y", EMPTY, "8"), ComparedSubmission("z", EMPTY, "8")],
        {},
    )
    assert len(similar_pairs) <= pairs_module.MAX_LAB_PAIRS
    assert ("y", "z") in [pair.students for pair in similar_pairs]


def test_two_missing_notebooks_are_no_pair():
    assert (
        find_lab_pairs(
            lab(LAB),
            [ComparedSubmission(student, EMPTY, "7", is_empty=True) for student in ("ada", "bo")],
            {},
        )
        == []
    )


def test_each_students_first_pair_comes_before_anybodys_second():
    def pair(*students):
        return SimilarPair(LAB, students, 1.0, None, "")

    crowd = [pair(first, second) for first in "abcdef" for second in "abcdef" if first < second]
    assert interleave_pairs_by_student([*crowd, pair("y", "z")])[:4].count(pair("y", "z")) == 1


def test_words_of_the_lab_are_not_quoted_though_both_have_them_at_the_same_places():
    first = "one two three four five six seven eight".split()
    second = "one two three four five six other words".split()
    is_own = [False] * 5 + [True] * 3  # the first five words are the lab's
    assert shared_passages._longest_shared_passage(first, is_own, second, is_own) == ""
    assert shared_passages._longest_shared_passage(
        first, [True] * 8, second, [True] * 8
    ).startswith("one two")


def test_a_student_in_many_pairs_leaves_room_for_the_pairs_of_others():
    count = pairs_module.MAX_LAB_PAIRS + 3
    submissions = [ComparedSubmission(f"s{number:03}", EMPTY) for number in range(count + 2)]
    scores = [shared_passages.PairScore(0, number, 1.0, None, "") for number in range(1, count)]
    scores.append(shared_passages.PairScore(count, count + 1, 0.9, None, ""))
    similar_pairs = find_lab_pairs(lab(LAB), submissions, {}, compare=lambda *tokens: scores)
    assert len(similar_pairs) == pairs_module.MAX_LAB_PAIRS
    assert (f"s{count:03}", f"s{count + 1:03}") in [pair.students for pair in similar_pairs]


@pytest.fixture
def class_of_two(tmp_path):
    text = (
        "My scores are scaled so that the softmax stays soft, else one word takes all the weight. "
        "I saw this when I drew the picture again with vectors of three hundred entries."
    )
    classroom = Classroom(tmp_path, COURSE)
    fill(classroom, {name: results(name, answer=f"<b>{text}</b>") for name in ("ada", "bob")})
    enrol(classroom, "Login,First name,Last name\nada,<i>Ada,Lovelace\n")
    return classroom


def test_a_copy_shows_on_the_page(class_of_two, monkeypatch):
    monkeypatch.setenv(
        COURSE_VARIABLE, str(ROOT)
    )  # --course sets the variable; the test restores it
    path = class_of_two.report / "similar.html"
    assert write_page(class_of_two, path) == 1
    ran = CliRunner().invoke(
        main,
        ["similar", "--course", str(ROOT), "--classroom", str(class_of_two.root)],
    )
    assert ran.exit_code == 0 and "similar.html: 1 pair worth a look." in ran.output
    page = path.read_text("utf-8")
    assert "&lt;i&gt;Ada Lovelace (ada)<br>bob" in page and "The two files are the same" in page
    assert "plagiar" not in page.lower() and "cheat" not in page.lower()


@pytest.mark.long
def test_reading_and_comparing_have_limits_and_the_page_says_so(class_of_two, monkeypatch):
    path = class_of_two.report / "similar.html"
    monkeypatch.setattr(pairs_module, "COMPARING_SECONDS", -1)
    write_page(class_of_two, path)
    assert f"{LAB}: to compare its submissions takes more than" in path.read_text("utf-8")
    monkeypatch.setattr(pairs_module, "READING_SECONDS", -1)
    write_page(class_of_two, path)
    assert f"ada, {LAB}: to read its words takes more than" in path.read_text("utf-8")


def test_a_submission_is_compared_up_to_a_number_of_tokens():
    words = shared_passages.tokenise_cells(
        [prose("word " * (shared_passages.MAX_TOKENS + 9)), prose("more")]
    )
    assert len(words.words) == shared_passages.MAX_TOKENS and "more" not in words.words
    pieces = shared_passages.tokenise_cells(
        [code("x = 1\n" * shared_passages.MAX_TOKENS), code("more = 1")]
    )
    assert len(pieces.code) == shared_passages.MAX_TOKENS
    exact = shared_passages.tokenise_cells([prose("word " * 9)], max_tokens=5)
    assert exact.words == ["word"] * 5


def test_a_long_word_is_cut():
    (word, _) = shared_passages.tokenise_cells(
        [prose("a" * (shared_passages.MAX_TOKEN_CHARACTERS + 5))]
    ).words
    assert word == "a" * shared_passages.MAX_TOKEN_CHARACTERS
