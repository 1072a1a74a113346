"""The shipped vectors, their loader, and the script that builds and measures them."""

import csv
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from attention_labs import embeddings as store
from attention_labs.embeddings import DATA, DataError, embed, load_embeddings, tokenize
from attention_labs.published import CONTEXT, ENGLISH, FRENCH


def _script():
    spec = importlib.util.spec_from_file_location("build_embeddings", DATA / "build_embeddings.py")
    module = sys.modules["build_embeddings"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _script()


@pytest.fixture(scope="module")
def sets():
    return {language: load_embeddings(language, which="shipped") for language in ("en", "fr")}


@pytest.fixture(scope="module")
def lexicon():
    return script.read_lexicon()


@pytest.fixture(scope="module")
def figures():
    return script.measure()


@pytest.fixture(scope="module")
def built(tmp_path_factory, lexicon):
    folder = tmp_path_factory.mktemp("built")
    script.build(folder, lexicon)
    return folder


# The loader.


def test_a_set_says_what_it_is(sets):
    french = sets["fr"]
    assert french.language == "fr" and french.name == "shipped (constructed)"
    assert french.vectors.shape == (len(french), 300) and french.vectors.dtype == np.float32
    assert list(french) == list(french.words)
    assert (
        repr(french)
        == f"<{len(french):,} French words of the shipped (constructed) set, 300 dimensions>"
    )


def test_a_set_is_looked_up_by_word_and_cannot_be_changed(sets):
    english = sets["en"]
    assert "august" in english and "1992" not in english
    assert np.array_equal(english["august"], english.vectors[english.words.index("august")])
    with pytest.raises(KeyError, match=r"'1992' is not among the .* English words"):
        english["1992"]
    with pytest.raises(ValueError, match="read-only"):
        english["august"][0] = 1
    with pytest.raises(AttributeError):
        english.name = "trained"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("de",), 'language is "en" or "fr", not \'de\''),
        (("en", "best"), 'which is None, "shipped" or "real"'),
    ],
)
def test_another_language_or_set_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        load_embeddings(*arguments)


@pytest.fixture
def data(tmp_path):
    """A data folder with a tiny shipped set and, beside it, a tiny real one."""
    for folder, name in [(tmp_path, "shipped"), (tmp_path / store.REAL, "fastText")]:
        folder.mkdir(exist_ok=True)
        for language, words in {"en": ["yes", "no"], "fr": ["oui", "non", "\xa0"]}.items():
            store.write(
                folder,
                language,
                name,
                words,
                vectors=np.ones((len(words), 300), np.float32),
            )
    return tmp_path


def test_the_real_set_is_preferred_and_the_shipped_one_can_be_asked_for(data, capsys):
    assert load_embeddings("fr", data_dir=data).name == "fastText"
    assert load_embeddings("fr", data_dir=data).words == ("oui", "non", "\xa0")
    assert load_embeddings("fr", which="shipped", data_dir=data).name == "shipped"
    assert load_embeddings("fr", which="real", data_dir=data).name == "fastText"
    shutil.rmtree(data / store.REAL)
    assert load_embeddings("fr", data_dir=data).name == "shipped"
    assert capsys.readouterr() == ("", "")
    with pytest.raises(DataError, match="There is no file"):
        load_embeddings("fr", which="real", data_dir=data)


def test_vectors_that_were_fetched_again_are_read_again(data):
    assert load_embeddings("fr", data_dir=data).words == ("oui", "non", "\xa0")
    store.write(data / store.REAL, "fr", "new", ["si"], vectors=np.ones((1, 300), np.float32))
    path = data / store.REAL / "embeddings_fr.npz"
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))
    assert load_embeddings("fr", data_dir=data).words == ("si",)


def _cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def _rewrite(words=("yes", "no"), **arrays):
    def break_it(path):
        store.write(path.parent, "en", "fastText", words, **arrays)

    return break_it


BROKEN_ARRAYS = {
    "missing": (lambda path: path.unlink(), "There is no file"),
    "cut": (_cut, "cannot be read"),
    "one byte wrong": (_flip, "cannot be read"),
    "not an archive": (lambda path: path.write_text("<html>"), "cannot be read"),
    "no vectors": (_rewrite(), "cannot be read"),
    "pickled": (_rewrite(vectors=np.array([None])), "cannot be read"),
    "a row short": (_rewrite(vectors=np.ones((1, 300))), "different words for vectors of shape"),
    "narrow": (_rewrite(vectors=np.ones((2, 299))), "different words for vectors of shape"),
    "a word twice": (_rewrite(["yes", "yes"], vectors=np.ones((2, 300))), "has 1 different words"),
    "not finite": (_rewrite(vectors=np.full((2, 300), np.nan)), "not finite"),
}


@pytest.mark.parametrize("kind", BROKEN_ARRAYS)
def test_a_broken_real_set_falls_back_with_one_sentence_in_both_languages(data, capsys, kind):
    break_it, message = BROKEN_ARRAYS[kind]
    break_it(data / store.REAL / "embeddings_en.npz")
    for language in ("en", "fr"):  # or the two languages would come from different sets
        assert load_embeddings(language, data_dir=data).name == "shipped"
        out, err = capsys.readouterr()
        assert out.count("\n") == 1 and not err
        assert out.startswith("The shipped vectors are used, since the downloaded set is broken: ")
        assert message in out
    with pytest.raises(DataError, match=re.escape(message)):
        load_embeddings("fr", which="real", data_dir=data)


def test_a_broken_shipped_set_is_an_error(data):
    _cut(data / "embeddings_en.npz")
    with pytest.raises(DataError, match="cannot be read"):
        load_embeddings("en", which="shipped", data_dir=data)


def test_the_loader_needs_only_numpy():
    heavy = "matplotlib rich IPython click nbformat pandas scipy".split()
    code = (
        "import sys; from attention_labs import load_embeddings; load_embeddings('en', "
        f"which='shipped')\nprint([name for name in {heavy} if name in sys.modules])"
    )
    completed_process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert completed_process.stdout == "[]\n"


# Sentences to words to vectors.


@pytest.mark.parametrize(
    "sentence, words",
    [
        (ENGLISH, "the agreement on the european economic area was signed in august 1992 ."),
        (FRENCH, "l accord sur la zone économique européenne a été signé en août 1992 ."),
        ("L'accord a été signé en août 1992.", "l accord a été signé en août 1992 ."),
        ("L’été, qu’il aime", "l été , qu il aime"),
        ("I don't know John's dogs' names", "i don t know john s dogs names"),
        ("Les États-Unis, est-ce loin ?", "les états unis , est ce loin ?"),
        ("« Oui ! »", "« oui ! »"),
        ('He said: "Yes (really)!"', 'he said : " yes ( really ) ! "'),
        ("It costs 3.50 or 1,000.", "it costs 3.50 or 1,000 ."),
        ("peace - and war", "peace - and war"),
        ("aujourd'hui", "aujourd hui"),
        ("E\u0301TE\u0301", "été"),
        ("\u00a0deux\tmots\n", "deux mots"),
        ("", ""),
    ],
)
def test_tokenize(sentence, words):
    assert tokenize(sentence) == words.split()


def test_tokenize_wants_a_sentence():
    with pytest.raises(TypeError, match="takes one sentence, a string, not a list"):
        tokenize(["the"])


def test_embed_looks_words_up_and_reports_unknown_ones_on_one_line(sets, capsys):
    vectors = embed(["the", "1992", "qwerty", "1992", "the"], sets["en"])
    assert vectors.shape == (5, 300) and vectors.dtype == np.float64
    assert np.array_equal(vectors[0], sets["en"]["the"]) and np.array_equal(vectors[0], vectors[4])
    assert not vectors[1:4].any()
    assert capsys.readouterr() == ("No English vector for: 1992, qwerty (zeros are used)\n", "")


def test_embed_is_silent_when_all_is_known(sets, capsys):
    assert embed(("deux",), sets["fr"]).shape == (1, 300)
    assert embed([], sets["fr"]).shape == (0, 300)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words, message",
    [("the agreement", "write embed\\(tokenize"), (["the", 3], "3 in it is not a string")],
)
def test_embed_wants_a_list_of_words(sets, words, message):
    with pytest.raises(TypeError, match=message):
        embed(words, sets["en"])


# The published figures.


def test_the_published_figures_follow(sets):
    weights = script.weights(sets)
    assert weights.shape == (14, 13) and np.allclose(weights.sum(axis=1), 1)
    assert np.allclose(weights[12], 1 / 13)
    assert f"{weights.min():.4f} {weights.max():.4f}" == "0.0758 0.0798"
    context = (weights @ script.look_up(ENGLISH, sets["en"]))[:2, :10]
    assert np.array_equal(np.round(context, 8), CONTEXT)
    grey = (weights - weights.min()) / np.ptp(weights)
    published_grey_levels = np.loadtxt(
        DATA / "published_alignment_grey.csv",
        delimiter=",",
        dtype=int,
    )
    assert np.array_equal(
        script.GREYS[np.minimum((256 * grey).astype(int), 255)],
        published_grey_levels,
    )
    assert np.abs(255 * grey - published_grey_levels).max() < 1.5


def test_errors_in_the_published_figures_show(sets):
    english = sets["en"]
    vectors = english.vectors.copy()
    vectors[english.words.index("economic")] *= 1.05
    shifted_english = store.Embeddings("en", english.name, english.words, vectors)
    greys, context = script.published_errors({**sets, "en": shifted_english})
    assert greys > 0 and context > 1e-6


# The lexicon.


def test_the_lexicon_is_clean():
    with open(DATA / "lexicon.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["field", "synonyms", "english", "french"]
    assert problems(rows) == []
    assert len(rows) >= 1_000


def problems(rows):
    """Return the problems in the rows of a lexicon, a text for each."""
    messages, words = [], set()
    for row in rows:
        if not row["field"]:
            messages.append(f"{row['english']}: no field")
        for language in ("english", "french"):
            text = row[language]
            forms = [form for form in text.split() if form != "|"]
            if not forms or not all(part.strip() for part in text.split("|")):
                messages.append(f"{row}: no {language} form")
            if len(set(forms)) != len(forms):
                messages.append(f"{text}: a form twice")
            if text != " ".join(text.split()):
                messages.append(f"{text}: stray spaces")
            messages += [
                f"{form}: not as tokenize splits it" for form in forms if tokenize(form) != [form]
            ]
            if unicodedata.normalize("NFC", text) != text:
                messages.append(f"{text}: not NFC")
        if (row["english"], row["french"]) in words:
            messages.append(f"{row['english']}: a row twice")
        words.add((row["english"], row["french"]))
    return messages


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"field": ""}, "no field"),
        ({"french": ""}, "no french form"),
        ({"french": "chat | "}, "no french form"),
        ({"french": "chat | chat"}, "a form twice"),
        ({"french": "Chat"}, "not as tokenize"),
        ({"french": "l'âne"}, "not as tokenize"),
        ({"french": "e\u0301te\u0301"}, "not NFC"),
        ({"french": "chat  chats"}, "stray spaces"),
        ({}, "a row twice"),
    ],
)
def test_the_lexicons_lint_catches(change, problem):
    row = {"field": "animals", "synonyms": "", "english": "cat", "french": "chat"}
    assert problems([row]) == []
    assert any(problem in text for text in problems([row, {**row, **change}]))


def test_the_lexicon_covers_what_it_should(lexicon):
    fields = {meaning.field for meaning in lexicon}
    assert fields >= {
        *(
            "articles",
            "pronouns",
            "prepositions",
            "conjunctions",
            "numbers",
            "months",
            "days",
            "countries",
        ),
        *("government", "economy", "family", "food", "travel", "school", "weather", "basic verbs"),
    }
    pairs = {(e, f) for m in lexicon for e in m.words("en") for f in m.words("fr")}
    for (
        pair
    ) in "the-l of-d not-n i-j that-qu is-est was-été signed-signée cats-chats seven-sept".split():
        assert tuple(pair.split("-")) in pairs


# The construction and its quality.


@pytest.mark.long
def test_the_script_builds_the_shipped_files_again(built):
    assert script.list_differences(DATA, built) == []


@pytest.mark.long
def test_the_same_lexicon_gives_the_same_bytes(lexicon, tmp_path):
    words = set(tokenize(ENGLISH) + tokenize(FRENCH))
    small_lexicon = [m for m in lexicon if words & {*m.words("en"), *m.words("fr")}]
    files = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        script.build(tmp_path / name, small_lexicon)
        files.append([path.read_bytes() for path in sorted((tmp_path / name).iterdir())])
    assert files[0] == files[1] and len(files[0]) == 2


def test_a_new_row_moves_no_other_word(lexicon):
    small_lexicon = lexicon[:40]
    new = script.Meaning("animals", "", {"en": (("qwerty",),), "fr": (("azerty",),)})
    original_vectors, extended_vectors = (
        script.construct(small_lexicon),
        script.construct([new, *small_lexicon]),
    )
    for language, vectors in original_vectors.items():
        assert len(extended_vectors[language]) == len(vectors) + 1
        assert all(
            np.array_equal(extended_vectors[language][word], vector)
            for word, vector in vectors.items()
        )


@pytest.mark.long
def test_a_difference_from_the_shipped_files_shows(built, tmp_path):
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    words, vectors = (
        script.store.read(tmp_path, "en").words,
        script.store.read(tmp_path, "en").vectors.copy(),
    )
    vectors[3, 4] += 1e-4
    store.write(tmp_path, "en", "x", words, vectors=vectors)
    assert script.list_differences(built, tmp_path) == [
        "embeddings_en.npz: a number differs by 1.0e-04.",
    ]
    store.write(tmp_path, "en", "x", [*words[:-1], "zzz"], vectors=vectors)
    assert script.list_differences(built, tmp_path) == [
        "embeddings_en.npz: 2 words are in one file only.",
    ]
    (tmp_path / "embeddings_fr.npz").unlink()
    assert "There is no file" in script.list_differences(built, tmp_path)[1]


def test_the_files_are_small_and_hold_no_pickle():
    files = [DATA / "embeddings_en.npz", DATA / "embeddings_fr.npz"]
    assert sum(file.stat().st_size for file in [*files, DATA / "lexicon.csv"]) < 4_000_000
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            assert all(array.dtype.kind in "Uuif" for array in arrays.values())


def test_vectors_have_about_unit_length(sets):
    for embeddings in sets.values():
        lengths = np.linalg.norm(embeddings.vectors, axis=1)
        assert lengths.min() > 0.95 and lengths.max() < 1.15


@pytest.mark.long
def test_the_nearest_word_is_a_translation(figures):
    assert float(figures["P@1 English to French"]) > 0.98
    assert float(figures["P@1 French to English"]) > 0.98


@pytest.mark.long
def test_field_neighbours_come_before_other_words(figures):
    mean, best, chance = map(int, re.findall(r"\d+", figures["mean rank of a field neighbour"]))
    assert best < mean < 0.1 * chance


def test_the_largest_weight_finds_the_linked_word(sets):
    pairs = script.read_alignments()
    assert len(pairs) >= 40
    for english, french, links in pairs:
        assert tokenize(french) == french.split()
        assert all(i < len(tokenize(english)) and j < len(tokenize(french)) for i, j in links)
    hits, total, unknown, misses = script.alignment_accuracy(sets)
    assert hits / total > 0.9 and total > 400 and unknown < 10 and len(misses) == total - hits


@pytest.mark.long
def test_shuffled_vectors_have_no_quality(lexicon, sets):
    order = np.random.default_rng(0).permutation(len(sets["en"]))
    english = sets["en"]
    shuffled_sets = {
        **sets,
        "en": store.Embeddings("en", "shuffled", english.words, english.vectors[order]),
    }
    assert script.translation_precision(lexicon, shuffled_sets, "en") < 0.05
    hits, total, *_ = script.alignment_accuracy(shuffled_sets)
    assert hits / total < 0.3
    mean, _, chance = script.neighbour_rank(lexicon, shuffled_sets)
    assert abs(mean / chance - 1) < 0.1


def test_a_translation_is_nearest_then_a_synonym_then_the_field(sets):
    def cosine(english, french):
        return float(sets["en"][english] @ sets["fr"][french])

    assert 0.55 < cosine("bread", "pain") < 0.75
    assert cosine("bread", "pain") > 0.3 > cosine("bread", "fromage") > 0.08
    assert abs(cosine("bread", "parlement")) < 0.15
    assert cosine("big", "gros") > 0.5 > cosine("big", "large") > -0.2


@pytest.mark.long
def test_the_readme_states_the_figures_as_measured(figures):
    readme_figures = dict(
        re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (DATA / "README.md").read_text("utf-8"), re.M),
    )
    for name, figure in figures.items():
        assert readme_figures[name] == figure


@pytest.mark.long
def test_check_says_whether_the_files_are_up_to_date(built, monkeypatch, capsys):
    monkeypatch.setattr(
        script,
        "build",
        lambda folder, _: shutil.copytree(built, folder, dirs_exist_ok=True),
    )
    assert script.main(["--check"]) == 0
    assert capsys.readouterr().out == "The shipped vectors are what the lexicon gives.\n"
    monkeypatch.setattr(script, "build", lambda folder, _: None)
    assert script.main(["--check"]) == 1
    assert capsys.readouterr().out.count("There is no file") == 2


def test_the_argument_goes_before_the_environment(monkeypatch, data):
    for language in ("en", "fr"):
        store.write(data, language, "shipped", ["y"], vectors=np.ones((1, 300), np.float32))
    monkeypatch.setenv("ATTENTION_LABS_VECTORS", "shipped")
    assert load_embeddings("en", data_dir=data).name == "shipped"
    assert load_embeddings("en", which="real", data_dir=data).name == "fastText"
    monkeypatch.setenv("ATTENTION_LABS_VECTORS", "")
    assert load_embeddings("en", data_dir=data).name == "fastText"
    monkeypatch.setenv("ATTENTION_LABS_VECTORS", "mine")
    with pytest.raises(ValueError, match="which is None"):
        load_embeddings("en", data_dir=data)


def test_a_file_with_a_word_twice_is_broken(tmp_path):
    store.write(tmp_path, "en", "x", ["a", "a"], vectors=np.ones((2, 300), np.float32))
    with pytest.raises(DataError, match="has 1 different words for vectors of shape"):
        load_embeddings("en", which="shipped", data_dir=tmp_path)


def test_an_unknown_word_is_named_once(sets, capsys):
    embed(["zzzz", "yyyy", "zzzz"], sets["en"])
    assert capsys.readouterr().out.count("zzzz") == 1
