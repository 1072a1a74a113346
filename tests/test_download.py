"""Fetching fastText's vectors and importing the original lab's files: every way in which it can go wrong."""

import io
import os
import pickle
import pickletools
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from autograder import download
from autograder.download import CHECKS, CONTEXT, ENGLISH, FRENCH, INDEX, DataError, fetch, import_original
from autograder.embeddings import REAL, Embeddings, load_embeddings, read, tokenize, write

EN, FR = "/wiki.en.align.vec", "/wiki.fr.align.vec"


class Server:
    """A file server on this machine that can be told to misbehave."""

    def __init__(self):
        self.files = {}  # path -> bytes
        self.cuts = []  # how many bytes the next answers send before they break off
        self.status = []  # what the next answers say instead of sending the file
        self.ranges = True  # whether Range is heeded
        self.tags = []  # the ETag of the next answers
        self.wrong_part = False
        self.chunked = False
        self.requests, self.sent = [], 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        return Handler

    def answer(self, handler):
        asked = handler.headers.get("Range")
        self.requests.append((handler.path, asked))
        handler.close_connection = True
        if self.status:
            return handler.send_error(self.status.pop(0))
        if handler.path not in self.files:
            return handler.send_error(404)
        body, start = self.files[handler.path], 0
        if asked and self.ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= len(body):
                return handler.send_error(416)
            handler.send_response(206)
            shown = start + 1 if self.wrong_part else start
            handler.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        else:
            handler.send_response(200)
        body = memoryview(body)[start:]
        if self.tags:
            handler.send_header("ETag", self.tags.pop(0))
        if self.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if self.cuts:
            body = body[: self.cuts.pop(0)]
        try:
            for place in range(0, len(body), 65_536):
                piece = body[place : place + 65_536]
                if self.chunked:
                    piece = b"%x\r\n%s\r\n" % (len(piece), piece.tobytes())
                handler.wfile.write(piece)
                self.sent += len(piece)
        except OSError:  # the client has what it wants
            pass


@pytest.fixture
def server():
    one = Server()
    yield one
    one.close()


def vec(words, vectors, count=None):
    """A file in fastText's text format."""
    text = {}  # many made-up vectors are the same
    for vector in vectors:
        if vector.tobytes() not in text:
            text[vector.tobytes()] = " ".join(f"{number:.9g}" for number in vector)
    lines = [f"{count or len(words)} 300"]
    lines += [f"{word} {text[vector.tobytes()]} " for word, vector in zip(words, vectors)]
    return ("\n".join(lines) + "\n").encode("utf-8")


SMALL = 6
SMALL_WORDS = {"en": ["the", "of", ",", "\xa0", "to", "a"], "fr": ["de", "\xa0le", "la", "à", "et", "œuf"]}
SMALL_VECTORS = np.random.default_rng(3).normal(size=(SMALL, 300)).astype(np.float32)
GOOD = {f"/wiki.{each}.align.vec": vec(SMALL_WORDS[each], SMALL_VECTORS) for each in ("en", "fr")}


@pytest.fixture
def data(tmp_path):
    """A data folder with an old real set."""
    folder = tmp_path / "data"
    (folder / REAL).mkdir(parents=True)
    for language in ("en", "fr"):
        write(folder / REAL, language, "old", ["x"], vectors=np.ones((1, 300), np.float32))
    return folder


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def get(server, data, **options):
    return fetch(data, server.url, **{"words": SMALL, "checks": (), "wait": 0.001, "timeout": 5, **options})


def refused(data, act, sentence):
    """`act` must raise a DataError that matches, in one sentence, and leave the data folder as it was."""
    before = tree(data)
    with pytest.raises(DataError) as caught:
        act()
    message = str(caught.value)
    assert re.search(sentence, message), message
    assert message.endswith("; the vectors in use are as they were.") and "\n" not in message
    assert tree(data) == before
    assert [p.name for p in data.iterdir()] == [REAL]
    assert load_embeddings("en", data_dir=data).name == "old"


# What goes right.


def test_fetch_puts_both_languages_in_use(server, data, capsys):
    server.files = GOOD
    notes = get(server, data)
    assert "In use now: the first 6 fastText vectors of each language." in notes
    assert "CC BY-SA 3.0" in notes[-1] and "Bojanowski" in notes[-1] and "Joulin" in notes[-1]
    for language in ("en", "fr"):
        now = load_embeddings(language, data_dir=data)
        assert now.name == "fastText" and list(now.words) == SMALL_WORDS[language]
        assert np.array_equal(now.vectors, SMALL_VECTORS)
    assert sorted(tree(data)) == [f"{REAL}/embeddings_en.npz", f"{REAL}/embeddings_fr.npz"]
    assert capsys.readouterr().out == ""


def test_fetch_works_where_there_is_no_real_set_yet(server, tmp_path):
    server.files = GOOD
    get(server, tmp_path)
    assert load_embeddings("en", data_dir=tmp_path).name == "fastText"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_cut_connection_is_taken_up_where_it_broke(server, data, chunked):
    server.files, server.cuts, server.chunked = GOOD, [0, 1_000, 7], chunked
    get(server, data)
    asked = [part for path, part in server.requests if path == EN]
    assert asked == [None, None, "bytes=1000-", "bytes=1007-"]
    assert np.array_equal(load_embeddings("en", data_dir=data).vectors, SMALL_VECTORS)


def test_a_server_that_ignores_range_is_read_again_from_the_beginning(server, data):
    server.files, server.cuts, server.ranges = GOOD, [1_000, 5_000], False
    get(server, data)
    assert [part for path, part in server.requests if path == EN] == [None, "bytes=1000-", "bytes=5000-"]
    assert np.array_equal(load_embeddings("en", data_dir=data).vectors, SMALL_VECTORS)


def test_a_server_that_is_busy_for_a_moment_is_asked_again(server, data):
    server.files, server.status = GOOD, [503, 429]
    get(server, data)
    assert len(server.requests) == 4


def test_lines_may_end_in_carriage_returns_and_the_last_one_in_nothing(server, data):
    server.files = {path: body.replace(b"\n", b"\r\n").rstrip() for path, body in GOOD.items()}
    get(server, data)
    assert np.array_equal(load_embeddings("fr", data_dir=data).vectors, SMALL_VECTORS)


# What goes wrong.


def changed(path=EN, **how):
    """The good files, one of them with a change."""
    body = GOOD[path]
    lines = body.split(b"\n")
    if "header" in how:
        lines[0] = how["header"]
    if "line" in how:
        lines[3] = how["line"](lines[3])
    if "keep" in how:
        lines = lines[: how["keep"]]
    return {**GOOD, path: b"\n".join(lines)}


def number(new):
    return lambda line: b" ".join([*line.split(b" ")[:5], new, *line.split(b" ")[6:]])


FILES = {
    "short": (changed(keep=4), "ends after 3 of 6 words"),
    "short in French": (changed(FR, keep=6), "fr.align.vec ends after 5 of 6 words"),
    "empty": ({**GOOD, EN: b""}, 'does not begin with a line such as "2519370 300"'),
    "a page instead": ({**GOOD, EN: b"<!DOCTYPE html>\n<p>Not found"}, "does not begin with a line such as"),
    "no header": ({**GOOD, EN: GOOD[EN].split(b"\n", 1)[1]}, "does not begin with a line such as"),
    "absurd header": (changed(header=b"9" * 5_000 + b" 300"), "does not begin with a line such as"),
    "other dimensions": (changed(header=b"6 100"), "announces 6 words of 100 numbers; 6 of 300 are needed"),
    "too few announced": (changed(header=b"5 300"), "announces 5 words of 300 numbers; 6 of 300"),
    "299 numbers": (changed(line=lambda x: x.rsplit(b" ", 2)[0]), "has 299 numbers in line 4, not 300"),
    "301 numbers": (changed(line=lambda x: x + b"0.5"), "has 301 numbers in line 4, not 300"),
    "not UTF-8": (changed(line=lambda x: b"\xff" + x), "is not UTF-8 text in line 4"),
    "NaN": (changed(line=number(b"nan")), r"a number that is not finite \(NaN or infinity\) in line 4"),
    "infinity": (changed(line=number(b"1e999")), "a number that is not finite .* in line 4"),
    "not a number": (changed(line=number(b"O.5")), "something that is not a number in line 4"),
    "a word twice": (changed(line=lambda x: x.replace(b",", b"of", 1)), "repeats the word 'of' in line 4"),
    "endless line": ({**GOOD, EN: b"x" * 100_000}, "has a line of more than 16,384 bytes"),
    "French missing": ({EN: GOOD[EN]}, "fr.align.vec cannot be had .*404 Not Found"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_broken_file_is_refused(server, data, kind):
    server.files, sentence = FILES[kind]
    refused(data, lambda: get(server, data), sentence)


def test_a_connection_that_breaks_for_good_is_refused(server, data):
    server.files, server.cuts = GOOD, [1_000, 0, 0, 0, 0]
    refused(
        data,
        lambda: get(server, data),
        r"cannot be read after 1,000 bytes, 4 attempts in a row failed \(the connection broke\)",
    )


def test_a_server_that_ignores_range_and_always_breaks_at_one_place_is_refused(server, data):
    server.files, server.cuts, server.ranges = GOOD, [1_000] * 9, False
    refused(data, lambda: get(server, data), "cannot be read after 1,000 bytes, 4 attempts in a row")


def test_no_server_is_refused(server, data):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    act = lambda: fetch(data, url, words=SMALL, checks=(), wait=0.001)  # noqa: E731
    refused(data, act, r"en.align.vec cannot be read, 4 attempts in a row failed \(.*refused\)")


def test_a_silent_server_is_refused(data):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        act = lambda: fetch(data, url, words=SMALL, checks=(), wait=0.001, timeout=0.05)  # noqa: E731
        refused(data, act, r"cannot be read, 4 attempts in a row failed \(timed out\)")


def test_a_server_that_stays_broken_is_refused(server, data):
    server.status = [500] * 9
    refused(data, lambda: get(server, data), r"cannot be read, 4 attempts .*the server says 500")


def test_a_file_that_changes_meanwhile_is_refused(server, data):
    server.files, server.cuts, server.tags = GOOD, [1_000], ['"one"', '"two"']
    refused(data, lambda: get(server, data), "changed while it was read")


def test_a_wrong_part_is_refused(server, data):
    server.files, server.cuts, server.wrong_part = GOOD, [1_000], True
    refused(data, lambda: get(server, data), "is sent in parts other than those asked for")


@pytest.mark.parametrize("address", ["file:///etc", "nonsense"])
def test_an_address_off_the_web_is_refused(data, address):
    refused(data, lambda: fetch(data, address), "is not an address on the web")


def test_a_failed_check_is_refused_by_name(server, data):
    def never_content(sets):
        return f"{len(sets['en'])} words do not please it"

    server.files = GOOD
    refused(
        data,
        lambda: get(server, data, checks=[lambda sets: None, never_content]),
        "The new set fails the check 'never_content': 6 words do not please it",
    )


def test_a_folder_that_cannot_be_written_to_is_refused(server, tmp_path):
    server.files = GOOD
    with pytest.raises(DataError, match=r"cannot be written to \(No such file"):
        get(server, tmp_path / "nowhere")


@pytest.mark.parametrize(
    "step", ["write the first", "write the second", "move the old away", "move the new in"]
)
def test_a_failure_while_installing_leaves_the_old_set(server, data, monkeypatch, step):
    server.files = GOOD
    writes, renames, rename = [], [], Path.rename

    def failing_write(folder, language, *rest, **arrays):
        writes.append(language)
        if step == f"write the {('first', 'second')[len(writes) - 1]}":
            raise OSError(28, "No space left on device")
        write(folder, language, *rest, **arrays)

    def failing_rename(path, target):
        renames.append(target)
        if (step, len(renames)) in [("move the old away", 1), ("move the new in", 2)]:
            raise OSError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(download, "write", failing_write)
    monkeypatch.setattr(Path, "rename", failing_rename)
    refused(
        data, lambda: get(server, data), r"cannot be written \((No space left on device|Permission denied)\)"
    )


# The full format: 10,000 words of 300 numbers, with the published words where they belong.


def full(language, words=download.WORDS):
    """Words and vectors that pass every check: the shipped vectors at the real places, the rest made up."""
    shipped = load_embeddings(language, which="shipped")
    rng = np.random.default_rng(1)
    names = [f"{language}{i}" for i in range(words)]
    for word, index in INDEX[language].items():
        names[index] = word
    sentence = dict.fromkeys(tokenize({"en": ENGLISH, "fr": FRENCH}[language]))
    for i, word in enumerate(w for w in sentence if w not in names and w != "1992"):
        names[10 + i] = word
    vectors = np.tile(rng.integers(-9, 9, size=(1, 300)).astype(np.float32), (words, 1))
    for row, name in enumerate(names):
        if name in sentence:
            vectors[row] = shipped[name]
    return names, vectors


@pytest.fixture(scope="module")
def whole():
    return {language: full(language) for language in ("en", "fr")}


def test_the_full_format_is_read_and_nothing_after_it(server, data, whole):
    more = b"zz" + b" 0" * 20_000 + b"\n"  # would be refused if it were looked at
    for language, (words, vectors) in whole.items():
        body = vec(words, vectors, count=2_519_370)
        server.files[f"/wiki.{language}.align.vec"] = body + more * 1_000
    needed = sum(len(body) - 1_000 * len(more) for body in server.files.values())
    server.cuts = [1_000_000, 2_000_000]
    fetch(data, server.url, wait=0.001)
    for language, (words, vectors) in whole.items():
        now = load_embeddings(language, which="real", data_dir=data)
        assert list(now.words) == words and np.array_equal(now.vectors, vectors)
    room = 16_000_000  # what the two sockets may hold
    assert server.sent < needed + room < sum(map(len, server.files.values()))


def planted(whole, what):
    sets = {each: [list(words), vectors.copy()] for each, (words, vectors) in whole.items()}
    words, vectors = sets["fr"] if "French" in what else sets["en"]
    if "place" in what:
        words[881], words[882] = words[882], words[881]
    if "lacking" in what:
        words[958] = "europeenne"
    if "year" in what:
        words[3_000] = "1992"
    if "context" in what:
        vectors[words.index("august"), 0] += 3e-5
    if "NaN" in what:
        vectors[words.index("august")] = np.nan
    return {each: Embeddings(each, "fastText", tuple(w), v) for each, (w, v) in sets.items()}


@pytest.mark.parametrize(
    "what, sentence",
    [
        ("place", "'words_stand_where_published': the English word 'signed' is number 882, not 881"),
        ("lacking French", "the French words lack 'européenne', which should be number 958"),
        ("year", "'year_is_unknown': '1992' should not be among the English words"),
        ("year French", "'year_is_unknown': '1992' should not be among the French words"),
        ("context", r"'context_is_published': the published example comes out 2e-06 away from the published"),
        ("NaN", "'context_is_published': the published example comes out nan away"),
    ],
)
def test_each_check_catches_its_planted_error(data, whole, what, sentence):
    refused(data, lambda: download._install(planted(whole, what), data, CHECKS), sentence)


def test_the_checks_pass_what_is_right(whole):
    sets = planted(whole, "nothing")
    assert [check(sets) for check in CHECKS] == [None] * len(CHECKS)
    context = (download.weights(sets) @ download.look_up(ENGLISH, sets["en"]))[:2, :10]
    assert np.abs(context - CONTEXT).max() < 1e-8


# The original files.


@pytest.fixture
def original(tmp_path, whole):
    """A folder with four files of the right format."""
    folder = tmp_path / "original"
    folder.mkdir()
    for language, (words, vectors) in whole.items():
        (folder / f"word2int_{language}.pkl").write_bytes(pickle.dumps({w: i for i, w in enumerate(words)}))
        np.savez_compressed(folder / f"embeddings_{language}.npz", vectors)
    return folder


def test_files_like_the_original_ones_are_imported_and_said_to_be_others(data, original, whole):
    notes = import_original(original, data)
    assert "embeddings_en.npz is not the original lab's file (its git blob hash is " in notes[0]
    assert "embeddings_fr.npz is not the original lab's file" in notes[1]
    assert notes[2] == "In use now: the imported vectors, 10,000 of each language."
    assert "CC BY-SA 3.0" in notes[3]
    for language, (words, vectors) in whole.items():
        now = load_embeddings(language, data_dir=data)
        assert list(now.words) == words and np.array_equal(now.vectors, vectors)


def test_the_original_files_are_known_by_their_git_hash(data, original, monkeypatch):
    notes = import_original(original, data)
    hashes = [re.search(r"hash is (\w{40})", note)[1] for note in notes[:2]]
    monkeypatch.setattr(download, "ORIGINAL_BLOBS", dict(zip(("en", "fr"), hashes)))
    notes = import_original(original, data)
    assert notes[0] == "embeddings_en.npz is the original lab's file."
    assert notes[2] == "In use now: the original vectors, 10,000 of each language."
    assert load_embeddings("en", data_dir=data).name == "original"


def test_the_git_hash_is_gits():
    content = b"hello\n"  # git hash-object of it
    assert download.git_blob_hash(content) == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.skipif("ORIGINAL_VOCABULARIES" not in os.environ, reason="the original pickles are not shipped")
def test_the_original_vocabularies_are_read():
    for language, known in INDEX.items():
        words = download.read_vocabulary(
            Path(os.environ["ORIGINAL_VOCABULARIES"]) / f"word2int_{language}.pkl"
        )
        assert all(words[index] == word for word, index in known.items()) and "1992" not in words


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_vocabulary_may_be_of_any_binary_protocol(tmp_path, protocol):
    path = tmp_path / "words.pkl"
    path.write_bytes(pickle.dumps({"b": 1, "à": 0, "c" * 300: 2}, protocol))
    assert download.read_vocabulary(path, 3) == ["à", "b", "c" * 300]


class _Runs:
    def __reduce__(self):
        return os.mkdir, ("pwned",)


class _Built:
    pass


HOSTILE = {
    "GLOBAL": b"cos\nmkdir\n(S'pwned'\ntR.",
    "STACK_GLOBAL": pickle.dumps({"a": os.mkdir}, 4),
    "REDUCE": pickle.dumps({"a": _Runs()}, 4),
    "GLOBAL, protocol 2": pickle.dumps({"a": _Runs()}, 2),
    "INST": b"(S'pwned'\nios\nmkdir\n.",
    "OBJ": b"(cos\nmkdir\nS'pwned'\no.",
    "NEWOBJ": pickle.dumps(_Built(), 2),
    "BUILD": b"\x80\x02}}b.",
    "EXT1": b"\x80\x02\x82\x01.",
    "EXT2": b"\x80\x02\x83\x01\x00.",
    "EXT4": b"\x80\x02\x84\x01\x00\x00\x00.",
    "PERSID": b"Ppwned\n.",
    "BINPERSID": b"\x80\x04\x8c\x01xQ.",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_pickle_is_refused_and_runs_nothing(data, original, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    (original / "word2int_fr.pkl").write_bytes(HOSTILE[kind])
    refused(
        data,
        lambda: import_original(original, data),
        "word2int_fr.pkl is refused: a vocabulary needs no pickle opcode ",
    )
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_unpickler_alone_would_refuse_it_too(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(download, "_PLAIN_OPCODES", [opcode.name for opcode in pickletools.opcodes])
    path = tmp_path / "words.pkl"
    path.write_bytes(HOSTILE[kind])
    with pytest.raises(DataError):
        download.read_vocabulary(path)
    assert not (tmp_path / "pwned").exists()


def test_the_unpickler_finds_no_class():
    with pytest.raises(pickle.UnpicklingError, match=r"it asks for collections\.OrderedDict"):
        download._PlainUnpickler(io.BytesIO(b"ccollections\nOrderedDict\n.")).load()


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "is not a whole pickle"),
        (b"\x80\x04", "is not a whole pickle"),
        (pickle.dumps({"a": 0, "b": 1, "c": 2})[:-6], "is not a whole pickle"),
        (b"<html>", "is not a whole pickle|needs no pickle opcode"),
        (b"\x80\x02s.", "is not a whole pickle"),
        (b"\x80\x02}r\xff\xff\xff\x7f.", "it would fill the memory"),
        (pickle.dumps(["a", "b", "c"]), "needs no pickle opcode EMPTY_LIST"),
        (pickle.dumps({"a": 0, "b": True, "c": 2}), "needs no pickle opcode NEWTRUE"),
        (pickle.dumps({"a": 0, "b": 1.0, "c": 2}), "needs no pickle opcode BINFLOAT"),
        (pickle.dumps(3), "is not a dict of words to whole numbers"),
        (pickle.dumps({0: 0, 1: 1, 2: 2}), "is not a dict of words to whole numbers"),
        (pickle.dumps({"a": 0, "b": {}, "c": 2}), "is not a dict of words to whole numbers"),
        (b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.", "is not a dict of words to whole numbers"),
        (pickle.dumps({"a": 0, "b": 1}), "does not number 3 words from 0 to 2, each once"),
        (pickle.dumps({"a": 0, "b": 0, "c": 2}), "does not number 3 words from 0 to 2, each once"),
        (pickle.dumps({"a": 1, "b": 2, "c": 3}), "does not number 3 words from 0 to 2, each once"),
        (pickle.dumps({"a": -1, "b": 1, "c": 2}), "does not number 3 words from 0 to 2, each once"),
        (pickle.dumps({"a": 0, "b\nc": 1, "c": 2}), "a line break or a broken character"),
        (pickle.dumps({"a": 0, "\ud800": 1, "c": 2}), "a line break or a broken character"),
        (b"\x80\x02" + b"}0" * 600_000, "is refused: it has more than 1,000,000 bytes"),
    ],
)
def test_a_wrong_vocabulary_is_refused(data, original, content, sentence):
    (original / "word2int_en.pkl").write_bytes(content)
    refused(data, lambda: import_original(original, data, words=3), "word2int_en.pkl .*(" + sentence + ")")


def _npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _one_byte_wrong(content):
    place = len(content) // 3  # within the compressed numbers
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


THREE = np.ones((3, 300), np.float32)


@pytest.mark.parametrize(
    "content, sentence",
    [
        (None, r"cannot be read \(No such file or directory\)"),
        (b"", "is not a whole .npz file of numbers"),
        (_npz(a=THREE)[:-30], "is not a whole .npz file of numbers"),
        (_one_byte_wrong(_npz(a=THREE)), "is not a whole .npz file of numbers"),
        (_npy(THREE), "is not a whole .npz file of numbers"),
        (_npz(a=np.array([_Runs()], dtype=object)), r"is not a whole .npz file of numbers \(Object arrays"),
        (
            _npz(a=THREE, b=THREE),
            r"should hold one floating array \(3, 300\), and holds float32 \(3, 300\), ",
        ),
        (_npz(), r"should hold one floating array \(3, 300\), and holds none"),
        (_npz(a=THREE.T), r"holds float32 \(300, 3\)"),
        (_npz(a=THREE.astype(int)), r"holds int64 \(3, 300\)"),
        (_npz(a=THREE * np.inf), "not finite"),
        (_npz(a=np.zeros((300, 3000))), "unpacks to more than 3 vectors of 300 numbers"),
        (os.urandom(60_000), "is refused: it has more than 57,600 bytes"),
    ],
)
def test_wrong_vectors_are_refused(data, tmp_path, content, sentence):
    for language in ("en", "fr"):
        (tmp_path / f"word2int_{language}.pkl").write_bytes(pickle.dumps({"a": 0, "b": 1, "c": 2}))
        (tmp_path / f"embeddings_{language}.npz").write_bytes(_npz(any_key=THREE))
    import_original(tmp_path, tmp_path, words=3, checks=())  # these would do
    if content is None:
        (tmp_path / "embeddings_fr.npz").unlink()
    else:
        (tmp_path / "embeddings_fr.npz").write_bytes(content)
    refused(data, lambda: import_original(tmp_path, data, words=3, checks=()), sentence)


def test_a_folder_without_the_files_is_refused(data, tmp_path):
    act = lambda: import_original(tmp_path / "nowhere", data)  # noqa: E731
    refused(data, act, r"word2int_en.pkl cannot be read \(No such file or directory\)")


def test_what_was_installed_is_read_back(server, data, monkeypatch):
    server.files = GOOD
    monkeypatch.setattr(download, "read", lambda folder, language: read(data / REAL, language))
    refused(data, lambda: get(server, data), "was not written as it should be")
