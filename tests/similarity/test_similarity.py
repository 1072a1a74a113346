"""Similar submissions: copies are found, and independent answers are not."""

import random
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from command import work_here
from graded_class import LAB, came_from, enrol, fill, results
from our_course import COURSE, ROOT, lab

from autograder.cli import main
from autograder.core.course import COURSE_VARIABLE
from autograder.core.results import ResultReason, Verdict
from autograder.gradebook.class_list import ClassList
from autograder.gradebook.classroom import Classroom
from autograder.grading.grade_submission import release_for_grading
from autograder.grading.worker import CallFailed
from similarity import pairs as pairs_module
from similarity import shared_passages, similar_page
from similarity.pairs import (
    ComparedSubmission,
    SimilarPair,
    find_lab_pairs,
    interleave_pairs_by_student,
)
from similarity.similar_page import write_page


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
    released = []
    monkeypatch.setattr(
        pairs_module,
        "release_for_grading",
        lambda lab: released.append(lab.name) or release_for_grading(lab),
    )
    path = class_of_two.report / "similar.html"
    assert write_page(class_of_two, path) == 1
    assert {*released} == {LAB}, "labs without submissions cost no time"
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


# The page and the command, with the functions of workers in this process


@pytest.fixture
def here(monkeypatch):
    work_here(monkeypatch.setattr)


EXPLANATION = (
    "My scores are scaled so that the softmax stays soft, else one word takes all the weight. "
    "I saw this when I drew the picture again with vectors of three hundred entries."
)


def fill_class(folder, students, **facts):
    classroom = Classroom(folder, COURSE)
    submissions = {}
    for number, student in enumerate(students):
        answer = f"{EXPLANATION} {student}."
        submissions[student] = results(student, answer=answer, file_hash=str(number), **facts)
    fill(classroom, submissions)
    return classroom


def read_page(classroom):
    path = classroom.report / "similar.html"
    count = write_page(classroom, path)
    return count, path.read_text("utf-8")


def test_the_page_quotes_a_passage_and_gives_shares(here, tmp_path):
    classroom = fill_class(tmp_path, ["ada", "bob"])
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\n")
    count, page = read_page(classroom)
    assert count == 1 and "Ada Lovelace (ada)<br>bob" in page
    assert f"<td>{LAB}</td>" in page and "“My scores are scaled so that" in page
    cells = re.findall(r'<td class="n">([^<]*)</td>', page)
    assert len(cells) == 2 and re.fullmatch(r"\d+ %", cells[0]), cells
    assert cells[1] == "–", "there is too little code to compare"


def test_members_of_a_group_are_no_pair_but_their_copy_with_another_student_is(here, tmp_path):
    classroom = fill_class(tmp_path, ["ada", "bob", "cy"])
    for student in ("ada", "bob"):
        came_from(classroom, student, "Gradescope", members=("ada", "bob"), sha256="7")
    count, page = read_page(classroom)
    assert count == 1 and "ada<br>cy" in page and "bob" not in page


def test_the_same_notebook_without_an_answer_is_no_pair(here, tmp_path):
    classroom = Classroom(tmp_path, COURSE)
    stub = results("ada", wrong=lab(LAB).exercises, kind=ResultReason.STUB, answer="")
    fill(classroom, {"ada": stub, "bob": stub})
    count, page = read_page(classroom)
    assert count == 0 and "No pair stands out." in page


def test_two_files_without_any_answer_are_no_pair(here, tmp_path):
    classroom = Classroom(tmp_path, COURSE)
    missing = results("ada", wrong=lab(LAB).exercises, answer="")
    rows = [replace(row, verdict=Verdict.MISSING) for row in missing.results]
    missing = replace(missing, results=tuple(rows))
    fill(classroom, {"ada": missing, "bob": missing})
    count, page = read_page(classroom)
    assert count == 0 and "No pair stands out." in page


def test_a_result_that_cannot_be_read_stops_no_comparison(here, tmp_path):
    classroom = fill_class(tmp_path, ["ada", "bob", "cy"])
    classroom.result_path("cy", LAB).write_text("{")
    count, page = read_page(classroom)
    assert count == 1 and "ada<br>bob" in page


def test_what_cannot_be_read_or_compared_is_said_and_the_rest_compared(here, monkeypatch, tmp_path):
    classroom = fill_class(tmp_path, ["ada", "bob", "cy"])
    classroom.notebook_path("cy", LAB).write_text("{")
    count, page = read_page(classroom)
    assert count == 1 and f"<li>cy, {LAB}: to read its words " in page

    def fail(*arguments):
        raise CallFailed("an error")

    monkeypatch.setattr(pairs_module, "find_similar_pairs_as_json", fail)
    count, page = read_page(classroom)
    assert count == 0 and f"<li>{LAB}: to compare its submissions " in page


def test_a_submission_belongs_to_its_student_in_whatever_order_it_was_read(monkeypatch, tmp_path):
    classroom = fill_class(tmp_path, ["ada", "bob"])
    graded = pairs_module.result_store.load_all_results(classroom)
    of_lab = {student: result for (student, _), result in graded.items()}

    def run_backwards(function, calls, **limits):
        outcomes = [(i, function(*call)) for i, call in enumerate(calls)]
        return reversed(outcomes)

    monkeypatch.setattr(pairs_module, "run_calls_in_workers", run_backwards)
    report = pairs_module.SimilarityReport()
    submissions = pairs_module._read_submissions(classroom, lab(LAB), of_lab, report)
    assert [submission.student for submission in submissions] == ["ada", "bob"]
    assert [submission.tokens.words[-2] for submission in submissions] == ["ada", "bob"]


def test_similar_needs_submissions(monkeypatch, tmp_path):
    monkeypatch.setenv(COURSE_VARIABLE, str(ROOT))
    ran = CliRunner().invoke(main, ["similar", "--classroom", str(tmp_path)])
    assert ran.exit_code == 2 and f"There is no folder {tmp_path / 'submitted'}" in ran.stderr


def test_a_pair_with_the_same_file_is_named_once_and_says_so():
    submissions = [ComparedSubmission(student, EMPTY, "7") for student in ("ada", "bo")]
    score = shared_passages.PairScore(0, 1, 1.0, 1.0, "a b c d e")
    (pair,) = find_lab_pairs(lab(LAB), submissions, {}, compare=lambda *tokens: [score])
    assert pair.same_file
    empty = [ComparedSubmission(student, EMPTY, "7", is_empty=True) for student in ("ada", "bo")]
    (pair,) = find_lab_pairs(lab(LAB), empty, {}, compare=lambda *tokens: [score])
    assert not pair.same_file, "what the two wrote beside the exercises is still compared"


def test_files_that_few_have_come_first():
    hashes = {"a1": "7", "a2": "7", "a3": "7", "b1": "8", "b2": "8"}
    submissions = [ComparedSubmission(student, EMPTY, text) for student, text in hashes.items()]
    found = find_lab_pairs(lab(LAB), submissions, {}, compare=lambda *tokens: [])
    assert [pair.students for pair in found] == [("b1", "b2"), ("a1", "a2"), ("a2", "a3")]


def test_the_solution_the_release_and_the_known_mistakes_count_for_nobody():
    common = pairs_module._read_common_tokens(lab(LAB))
    words = [set(map(str.lower, tokens.words)) for tokens in common]
    code_counts = [len(tokens.code) for tokens in common]
    assert len(common) == 3, "release, solution and files"
    assert code_counts[1] > code_counts[0], "the solution has more code than the release"
    assert words[2] - words[1] - words[0], "the known mistakes have words of their own"


def test_all_of_a_lab_s_files_count_however_long_they_are(tmp_path):
    path = tmp_path / "long.py"
    lines = [f"v{number} = {number}" for number in range(shared_passages.MAX_TOKENS)]
    path.write_text("\n".join(lines))
    long_lab = SimpleNamespace(
        folder=tmp_path, read_solution=lambda: SimpleNamespace(cells=[]), name=LAB
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            pairs_module, "release_for_grading", lambda any_lab: SimpleNamespace(cells=[])
        )
        *_, definitions = pairs_module._read_common_tokens(long_lab)
        patch.setattr(pairs_module, "MAX_DEFINITION_TOKENS", 5)
        *_, few_definitions = pairs_module._read_common_tokens(long_lab)
    assert len(definitions.code) > 2 * shared_passages.MAX_TOKENS
    assert len(few_definitions.code) == 5


def test_code_is_read_as_variables_attributes_and_strings():
    source = "total = table.mean(axis=len)  # Add up\ntext = 'Mine too'"
    tokens = shared_passages.tokenise_cells([code(source)])
    assert tokens.code == ["v", "=", "v", ".", "mean", "(", "v", "=", "len", ")", "v", "=", "s"] + [
        "\n"
    ]
    assert tokens.words == ["Add", "up", "Mine", "too", "\n"]


def test_a_passage_ends_with_its_cell_whatever_its_capitals():
    first = "alpha beta gamma delta epsilon zeta eta theta".split()
    second = [word.upper() for word in first]
    everything = [True] * 8
    passage = shared_passages._longest_shared_passage(first, everything, second, everything)
    assert passage == "alpha beta gamma delta epsilon zeta eta theta"
    broken = [*first[:4], "\n", *first[4:]]
    passage = shared_passages._longest_shared_passage(broken, [True] * 9, broken, [True] * 9)
    assert passage == "", "each of the two cells has four words only"
    long_text = [f"w{number}" for number in range(shared_passages.MAX_PASSAGE_WORDS + 1)]
    mask = [True] * len(long_text)
    passage = shared_passages._longest_shared_passage(long_text, mask, long_text, mask)
    assert passage.endswith(f"w{shared_passages.MAX_PASSAGE_WORDS - 1} …")


def test_capitals_make_no_passage_another_one():
    chance = random.Random(3)
    text = " ".join(f"w{chance.randrange(10_000)}x" for _ in range(60))
    submissions = [shared_passages.tokenise_cells([prose(t)]) for t in (text, text.upper())]
    (pair,) = shared_passages.find_similar_pairs(submissions, [])
    assert pair.words == 1


def test_the_most_similar_pair_comes_first_and_a_short_copy_in_a_long_text_counts():
    chance = random.Random(4)

    def passage(length):
        return " ".join(f"w{chance.randrange(100_000)}x" for _ in range(length))

    partly, whole = passage(60), passage(60)
    texts = [f"{partly} {passage(30)}", f"{partly} {passage(30)}", whole, f"{whole} {passage(300)}"]
    submissions = [shared_passages.tokenise_cells([prose(text)]) for text in texts]
    found = shared_passages.find_similar_pairs(submissions, [])
    assert [(pair.first, pair.second) for pair in found] == [(2, 3), (0, 1)]
    assert found[0].words > 0.95 and 0.5 < found[1].words < 0.8


def test_five_with_the_same_text_are_few_and_all_their_pairs_found():
    chance = random.Random(6)
    text = " ".join(f"w{chance.randrange(10_000)}x" for _ in range(60))
    submissions = [shared_passages.tokenise_cells([prose(text)])] * 5
    assert len(shared_passages.find_similar_pairs(submissions, [])) == 10


def test_only_cells_that_the_student_wrote_are_read():
    def cell(source, identifier="x", **nbgrader):
        metadata = {"nbgrader": nbgrader} if nbgrader else {}
        return {
            "cell_type": "markdown",
            "source": source,
            "id": identifier,
            "metadata": metadata,
        }

    cells = [
        cell("added"),
        cell("answer", solution=True),
        cell("locked", solution=False, grade=True),
        cell("note", identifier="grader-notes"),
        cell("released"),
    ]
    found = shared_passages._student_cells({"cells": cells}, frozenset(["released"]))
    assert [found_cell["source"] for found_cell in found] == ["added", "answer"]


def test_a_lab_whose_name_begins_like_another_s_is_compared_by_itself(monkeypatch, tmp_path):
    graded = results("ada")
    of_labs = {("ada", LAB): graded, ("bob", f"{LAB}-2"): graded, ("cy", LAB): None}
    monkeypatch.setattr(pairs_module.result_store, "load_all_results", lambda room: of_labs)
    monkeypatch.setattr(pairs_module, "read_labs", lambda course: {LAB: lab(LAB)})
    students = []

    def read_submissions(classroom, any_lab, submissions, report):
        students.extend(submissions)
        return []

    monkeypatch.setattr(pairs_module, "_read_submissions", read_submissions)
    monkeypatch.setattr(pairs_module, "find_lab_pairs", lambda *arguments: [])
    pairs_module.find_class_pairs(Classroom(tmp_path, COURSE), ClassList())
    assert students == ["ada"]


def test_the_comparing_worker_is_closed_also_after_a_failure(monkeypatch):
    closed = []

    class FailingWorker:
        def run(self, *arguments, **limits):
            raise CallFailed("no memory")

        def close(self):
            closed.append(True)

    monkeypatch.setattr(pairs_module, "Worker", FailingWorker)
    with pytest.raises(CallFailed):
        pairs_module._compare_in_worker([], [])
    assert closed == [True]


def test_who_copied_from_many_pushes_out_no_pair_that_is_another_s_only_one():
    count = shared_passages.MAX_PAIRS_PER_SUBMISSION + 3
    shared_counts = {(0, number): 100 for number in range(1, count)}
    assert shared_passages._choose_pairs(shared_counts) == list(shared_counts)


def test_a_share_is_shown_in_per_cent_and_a_missing_one_as_a_dash():
    shares = (None, 0.0, 0.005, 0.755, 1.0)
    texts = ["–", "0 %", "0 %", "76 %", "100 %"]
    assert [similar_page._format_percent(share) for share in shares] == texts
