"""Fetching fastText's vectors: every way in which it can go wrong."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from word_vectors import refused, tree

from attention_labs import download, published
from attention_labs.download import fetch
from attention_labs.embeddings import REAL, DataError, Embeddings, load_embeddings, read, write
from attention_labs.published import CHECKS, CONTEXT, ENGLISH

EN, FR = "/wiki.en.align.vec", "/wiki.fr.align.vec"


class Server:
    """A file server on this machine that can be told to misbehave."""

    def __init__(self):
        self.files = {}  # path -> bytes
        self.cuts = []  # how many bytes the next answers send before they break off
        self.status = []  # what the next answers say instead of sending the file
        self.chunked = False
        self.requests, self.sent = [], 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": 0.01},
            daemon=True,
        ).start()

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
        self.requests.append(handler.path)
        handler.close_connection = True
        if self.status:
            return handler.send_error(self.status.pop(0))
        if handler.path not in self.files:
            return handler.send_error(404)
        body = memoryview(self.files[handler.path])
        handler.send_response(200)
        if self.chunked:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        cut = bool(self.cuts)
        if cut:
            body = body[: self.cuts.pop(0)]
        try:
            for place in range(0, len(body), 65_536):
                piece = body[place : place + 65_536]
                if self.chunked:
                    piece = b"%x\r\n%s\r\n" % (len(piece), piece.tobytes())
                handler.wfile.write(piece)
                self.sent += len(piece)
            if self.chunked and not cut:
                handler.wfile.write(b"0\r\n\r\n")
        except OSError:  # the client has what it wants
            pass


@pytest.fixture
def server():
    file_server = Server()
    yield file_server
    file_server.close()


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
SMALL_WORDS = {
    "en": ["the", "of", ",", "\xa0", "to", "a"],
    "fr": ["de", "\xa0le", "la", "à", "et", "œuf"],
}
SMALL_VECTORS = np.random.default_rng(3).normal(size=(SMALL, 300)).astype(np.float32)
GOOD = {f"/wiki.{each}.align.vec": vec(SMALL_WORDS[each], SMALL_VECTORS) for each in ("en", "fr")}


def get(server, data, **options):
    return fetch(
        data,
        server.url,
        **{"words": SMALL, "checks": (), "wait": 0.001, "timeout": 5, **options},
    )


# What goes right.


def test_fetch_puts_both_languages_in_use(server, data, capsys):
    server.files = GOOD
    notes = get(server, data)
    assert "In use now: the first 6 fastText vectors of each language." in notes
    assert "CC BY-SA 3.0" in notes[-1] and "Bojanowski" in notes[-1] and "Joulin" in notes[-1]
    for language in ("en", "fr"):
        embeddings = load_embeddings(language, data_dir=data)
        assert embeddings.name == "fastText" and list(embeddings.words) == SMALL_WORDS[language]
        assert np.array_equal(embeddings.vectors, SMALL_VECTORS)
    assert sorted(tree(data)) == [f"{REAL}/embeddings_en.npz", f"{REAL}/embeddings_fr.npz"]
    assert capsys.readouterr().out == ""


def test_fetch_works_where_there_is_no_real_set_yet(server, tmp_path):
    server.files = GOOD
    get(server, tmp_path)
    assert load_embeddings("en", data_dir=tmp_path).name == "fastText"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_connection_that_breaks_is_tried_again(server, data, chunked):
    server.files, server.cuts, server.chunked = GOOD, [0, 1_000, 7], chunked
    get(server, data)
    assert server.requests == [EN, EN, EN, EN, FR]
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


def change_file(path=EN, **changes):
    """The good files, one of them with a change."""
    body = GOOD[path]
    lines = body.split(b"\n")
    if "header" in changes:
        lines[0] = changes["header"]
    if "line" in changes:
        lines[3] = changes["line"](lines[3])
    if "keep" in changes:
        lines = lines[: changes["keep"]]
    return {**GOOD, path: b"\n".join(lines)}


def number(new):
    return lambda line: b" ".join([*line.split(b" ")[:5], new, *line.split(b" ")[6:]])


FILES = {
    "short": (change_file(keep=4), "ends after 3 of 6 words"),
    "short in French": (change_file(FR, keep=6), "fr.align.vec ends after 5 of 6 words"),
    "empty": ({**GOOD, EN: b""}, 'does not begin with a line such as "2519370 300"'),
    "a page instead": (
        {**GOOD, EN: b"<!DOCTYPE html>\n<p>Not found"},
        "does not begin with a line such as",
    ),
    "no header": ({**GOOD, EN: GOOD[EN].split(b"\n", 1)[1]}, "does not begin with a line such as"),
    "absurd header": (
        change_file(header=b"9" * 5_000 + b" 300"),
        "does not begin with a line such as",
    ),
    "other dimensions": (
        change_file(header=b"6 100"),
        "announces 6 words of 100 numbers; 6 of 300 are needed",
    ),
    "too few announced": (
        change_file(header=b"5 300"),
        "announces 5 words of 300 numbers; 6 of 300",
    ),
    "299 numbers": (
        change_file(line=lambda x: x.rsplit(b" ", 2)[0]),
        "has 299 numbers in line 4, not 300",
    ),
    "301 numbers": (change_file(line=lambda x: x + b"0.5"), "has 301 numbers in line 4, not 300"),
    "not UTF-8": (change_file(line=lambda x: b"\xff" + x), "is not UTF-8 text in line 4"),
    "NaN": (
        change_file(line=number(b"nan")),
        r"a number that is not finite \(NaN or infinity\) in line 4",
    ),
    "infinity": (change_file(line=number(b"1e999")), "a number that is not finite .* in line 4"),
    "not a number": (change_file(line=number(b"O.5")), "something that is not a number in line 4"),
    "a word twice": (
        change_file(line=lambda x: x.replace(b",", b"of", 1)),
        "repeats the word 'of' in line 4",
    ),
    "endless line": ({**GOOD, EN: b"x" * 100_000}, "has a line of more than 16,384 bytes"),
    "French missing": ({EN: GOOD[EN]}, "fr.align.vec cannot be had .*404 Not Found"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_broken_file_is_refused(server, data, kind):
    server.files, sentence = FILES[kind]
    refused(data, lambda: get(server, data), sentence)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_connection_that_breaks_for_good_is_refused(server, data, chunked):
    server.files, server.cuts, server.chunked = GOOD, [1_000, 0, 0, 900], chunked
    refused(
        data,
        lambda: get(server, data),
        r"en.align.vec cannot be read, 4 attempts failed \(.+\)",
    )


def test_a_connection_that_breaks_between_two_lines_is_not_the_files_end(server, data):
    second_line = GOOD[EN].index(b"\n", 10) + 1
    server.files, server.cuts = GOOD, [second_line] * 4
    refused(
        data,
        lambda: get(server, data),
        r"4 attempts failed \(the connection broke\): try again later",
    )


def test_no_server_is_refused(server, data):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    act = lambda: fetch(data, url, words=SMALL, checks=(), wait=0.001)  # noqa: E731
    refused(data, act, r"en.align.vec cannot be read, 4 attempts failed \(.*refused\)")


def test_a_silent_server_is_refused(data):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        act = lambda: fetch(data, url, words=SMALL, checks=(), wait=0.001, timeout=0.05)  # noqa: E731
        refused(data, act, r"cannot be read, 4 attempts failed \(timed out\)")


def test_a_server_that_stays_broken_is_refused(server, data):
    server.status = [500] * 9
    refused(data, lambda: get(server, data), r"cannot be read, 4 attempts .*the server says 500")


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
    "step",
    ["write the first", "write the second", "move the old away", "move the new in"],
)
def test_a_failure_while_installing_leaves_the_old_set(server, data, monkeypatch, step):
    server.files = GOOD
    writes, renames, rename = [], [], Path.rename

    def failing_write(folder, language, *arguments, **arrays):
        writes.append(language)
        if step == f"write the {('first', 'second')[len(writes) - 1]}":
            raise OSError(28, "No space left on device")
        write(folder, language, *arguments, **arrays)

    def failing_rename(path, target):
        renames.append(target)
        if (step, len(renames)) in [("move the old away", 1), ("move the new in", 2)]:
            raise OSError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(download, "write", failing_write)
    monkeypatch.setattr(Path, "rename", failing_rename)
    refused(
        data,
        lambda: get(server, data),
        r"cannot be written \((No space left on device|Permission denied)\)",
    )


# The full format: 10,000 words of 300 numbers, with the published words where they belong.


@pytest.mark.long
def test_the_full_format_is_read_and_nothing_after_it(server, data, whole):
    bad_line = b"zz" + b" 0" * 20_000 + b"\n"  # would be refused if it were looked at
    for language, (words, vectors) in whole.items():
        body = vec(words, vectors, count=2_519_370)
        server.files[f"/wiki.{language}.align.vec"] = body + bad_line * 1_000
    min_bytes = sum(len(body) - 1_000 * len(bad_line) for body in server.files.values())
    fetch(data, server.url, wait=0.001)
    for language, (words, vectors) in whole.items():
        embeddings = load_embeddings(language, which="real", data_dir=data)
        assert list(embeddings.words) == words and np.array_equal(embeddings.vectors, vectors)
    room = 16_000_000  # what the two sockets may hold
    assert server.sent < min_bytes + room < sum(map(len, server.files.values()))


def break_file(whole, what):
    sets = {language: [list(words), vectors.copy()] for language, (words, vectors) in whole.items()}
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
    return {
        language: Embeddings(language, "fastText", tuple(w), v) for language, (w, v) in sets.items()
    }


@pytest.mark.parametrize(
    "what, sentence",
    [
        (
            "place",
            "'words_stand_where_published': the English word 'signed' is number 882, not 881",
        ),
        ("lacking French", "the French words lack 'européenne', which should be number 958"),
        ("year", "'year_is_unknown': '1992' should not be among the English words"),
        ("year French", "'year_is_unknown': '1992' should not be among the French words"),
        (
            "context",
            r"'context_is_published': the published example comes out 2e-06 away from the published",
        ),
        ("NaN", "'context_is_published': the published example comes out nan away"),
    ],
)
def test_each_check_catches_its_planted_error(data, whole, what, sentence):
    refused(data, lambda: download.install(break_file(whole, what), data, CHECKS), sentence)


def test_the_checks_pass_what_is_right(whole):
    sets = break_file(whole, "nothing")
    assert [check(sets) for check in CHECKS] == [None] * len(CHECKS)
    context = (published.weights(sets) @ published.look_up(ENGLISH, sets["en"]))[:2, :10]
    assert np.abs(context - CONTEXT).max() < 1e-8


def test_what_was_installed_is_read_back(server, data, monkeypatch):
    server.files = GOOD
    monkeypatch.setattr(download, "read", lambda folder, language: read(data / REAL, language))
    refused(data, lambda: get(server, data), "was not written as it should be")


# The command, and what goes on between attempts


def test_each_attempt_waits_twice_as_long_as_the_one_before(monkeypatch, data):
    seconds = []
    monkeypatch.setattr(download.time, "sleep", seconds.append)

    def refuse(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setattr(download.urllib.request, "urlopen", refuse)
    with pytest.raises(DataError, match=r"4 attempts failed \(no route\): try again later"):
        download.fetch(data, "http://nowhere", wait=0.5)
    assert seconds == [0.5, 1.0, 2.0]


def test_the_address_of_a_folder_may_end_in_a_slash(monkeypatch, data):
    urls = []
    monkeypatch.setattr(download, "_download", lambda url, *_: urls.append(url))
    monkeypatch.setattr(download, "install", lambda *_: None)
    for address in ("http://a/b", "http://a/b/"):
        download.fetch(data, address)
    assert urls == 2 * ["http://a/b/wiki.en.align.vec", "http://a/b/wiki.fr.align.vec"]


def test_the_command_prints_what_is_in_use_or_ends_with_the_reason(monkeypatch, capsys):
    monkeypatch.setattr(download, "fetch", lambda: ["In use now.", "A licence."])
    download.main()
    assert capsys.readouterr().out == "In use now.\nA licence.\n"

    def fail():
        raise DataError("No server.")

    monkeypatch.setattr(download, "fetch", fail)
    with pytest.raises(SystemExit, match=r"^No server\.$"):
        download.main()
