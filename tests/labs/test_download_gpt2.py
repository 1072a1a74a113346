"""Fetching GPT-2 small, from a server of the test's own: every way in which it can go wrong."""

import hashlib
import io
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from attention_labs import download_gpt2, gpt2
from attention_labs.download_gpt2 import RemoteFile, fetch
from attention_labs.gpt2 import CheckpointError

ROOT = Path(__file__).parents[2]
PART = ".gpt2-part"


def remote(name, body):
    return RemoteFile(name, len(body), hashlib.sha256(body).hexdigest())


# The stand-in's own four files: what was fetched can then be loaded.
BODIES = {name: (gpt2.DATA / f"{gpt2.STAND_IN}{name}").read_bytes() for name in gpt2.FILES}
FILES = tuple(remote(name, body) for name, body in BODIES.items())
LARGE = "model.safetensors"


class Server:
    """A file server on this machine that understands ranges, and can be told to misbehave."""

    def __init__(self):
        self.files = {f"/{name}": body for name, body in BODIES.items()}
        self.cuts = []  # how many bytes the next answers send before they break off
        self.status = []  # what the next answers say instead of sending the file
        self.ranges = True  # whether it goes on from where it is asked to
        self.begin = None  # where it claims to go on from
        self.requests = []  # path and range of each request
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                server.answer(self)

            def do_CONNECT(self):
                self.send_error(407)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def answer(self, handler):
        wanted = handler.headers.get("Range")
        self.requests.append((handler.path, wanted))
        handler.close_connection = True
        if self.status:
            return handler.send_error(self.status.pop(0))
        if handler.path not in self.files:
            return handler.send_error(404)
        body = self.files[handler.path]
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if begin >= len(body):
            return handler.send_error(416)
        handler.send_response(206 if begin else 200)
        if begin:
            said = begin if self.begin is None else self.begin
            handler.send_header("Content-Range", f"bytes {said}-{len(body) - 1}/{len(body)}")
        handler.send_header("Content-Length", str(len(body) - begin))
        handler.end_headers()
        end = begin + self.cuts.pop(0) if self.cuts and handler.path.endswith(LARGE) else len(body)
        handler.wfile.write(body[begin:end])


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr("urllib.request._opener", None)  # it remembers the proxies of its first use
    own = Server()
    yield own
    own.http.shutdown()
    own.http.server_close()


def get(server, data, **options):
    return fetch(data, server.url, **{"files": FILES, "wait": 0.001, "timeout": 5, **options})


def refused(act, sentence):
    """Assert that `act` raises an error of one matching sentence."""
    with pytest.raises(CheckpointError) as caught:
        act()
    message = str(caught.value)
    assert re.search(sentence, message), message
    assert "the model in use is as it was" in message and "\n" not in message


def assert_nothing_half(data):
    """No folder of the model, so that the stand-in stays in use."""
    assert not (data / "gpt2").exists()


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


# What goes right.


def test_the_fetched_model_is_in_use(server, tmp_path, capsys):
    notes = get(server, tmp_path)
    assert "In use now: GPT-2 small" in notes[0] and "MIT licence" in notes[1]
    assert list_names(tmp_path) == ["gpt2"] and list_names(tmp_path / "gpt2") == sorted(gpt2.FILES)
    model = gpt2.load(data_dir=tmp_path)
    assert model.is_real and model.name == "GPT-2 small"
    assert capsys.readouterr().out == ""


def test_what_is_there_is_not_fetched_again(server, tmp_path):
    get(server, tmp_path)
    before = len(server.requests)
    assert "is here already" in get(server, tmp_path)[0]
    assert len(server.requests) == before


def test_a_connection_that_breaks_is_resumed(server, tmp_path):
    server.cuts = [1_000, 50_000]
    get(server, tmp_path)
    assert [wanted for path, wanted in server.requests if path.endswith(LARGE)] == [
        None,
        "bytes=1000-",
        "bytes=51000-",
    ]
    assert (tmp_path / "gpt2" / LARGE).read_bytes() == BODIES[LARGE]


def test_a_later_run_goes_on_from_where_one_was_interrupted(server, tmp_path, monkeypatch):
    append = download_gpt2._write

    def interrupted(target, piece):
        append(target, piece[:2_000])
        raise KeyboardInterrupt

    monkeypatch.setattr(download_gpt2, "_write", interrupted)
    large = [file for file in FILES if file.name == LARGE]
    with pytest.raises(KeyboardInterrupt):
        get(server, tmp_path, files=large)
    assert_nothing_half(tmp_path)
    assert (tmp_path / PART / LARGE).stat().st_size == 2_000
    monkeypatch.undo()
    server.requests.clear()
    get(server, tmp_path)
    assert (f"/{LARGE}", "bytes=2000-") in server.requests
    assert list_names(tmp_path) == ["gpt2"]


def test_a_server_without_ranges_sends_the_whole_file_again(server, tmp_path):
    server.cuts, server.ranges = [1_000], False
    get(server, tmp_path)
    assert (tmp_path / "gpt2" / LARGE).read_bytes() == BODIES[LARGE]


def test_a_server_that_goes_on_from_another_place_is_asked_anew(server, tmp_path):
    server.cuts, server.begin = [1_000], 7
    get(server, tmp_path)
    assert (tmp_path / "gpt2" / LARGE).read_bytes() == BODIES[LARGE]


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.status = [503, 429]
    get(server, tmp_path)


def test_a_broken_model_is_replaced(server, tmp_path):
    get(server, tmp_path)
    (tmp_path / "gpt2" / "vocab.json").write_text("{}")
    assert "In use now" in get(server, tmp_path)[0]
    assert list_names(tmp_path) == ["gpt2"]
    assert gpt2.load(data_dir=tmp_path).is_real


def test_it_works_behind_a_proxy(server, tmp_path, monkeypatch):
    server.files = {f"http://models.invalid/gpt2/{name}": body for name, body in BODIES.items()}
    monkeypatch.setenv("http_proxy", server.url)
    fetch(tmp_path, "http://models.invalid/gpt2", files=FILES, wait=0.001, timeout=5)
    assert gpt2.load(data_dir=tmp_path).is_real
    assert all(path.startswith("http://models.invalid/") for path, _ in server.requests)


# What goes wrong.


def test_a_connection_that_breaks_for_good_is_refused(server, tmp_path):
    server.cuts = [100, 0, 0, 0, 0]
    refused(
        lambda: get(server, tmp_path),
        r"4 attempts failed \(.+\): try again later, the download goes on",
    )
    assert_nothing_half(tmp_path)
    assert (tmp_path / PART / LARGE).stat().st_size == 100


def test_another_content_is_refused_and_thrown_away(server, tmp_path):
    body = bytearray(BODIES[LARGE])
    body[500_000] ^= 1
    server.files[f"/{LARGE}"] = bytes(body)
    refused(
        lambda: get(server, tmp_path), "has another content than expected .* and was thrown away"
    )
    assert_nothing_half(tmp_path)
    assert not (tmp_path / PART / LARGE).exists()
    server.files[f"/{LARGE}"] = BODIES[LARGE]
    get(server, tmp_path)


def test_a_longer_file_is_refused(server, tmp_path):
    server.files[f"/{LARGE}"] = BODIES[LARGE] + b"x"
    refused(lambda: get(server, tmp_path), f"is longer than {len(BODIES[LARGE]):,} bytes")
    assert_nothing_half(tmp_path)
    assert (tmp_path / PART / LARGE).stat().st_size == 0


def test_a_disk_without_room_is_refused_before_anything_is_fetched(server, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1_000})())
    refused(lambda: get(server, tmp_path), r"needs \d+ MB more, and the disk has 0 MB free")
    assert_nothing_half(tmp_path)
    assert server.requests == []


def test_a_disk_that_fills_up_is_refused_and_goes_on_later(server, tmp_path, monkeypatch):
    class FullDisk(io.FileIO):
        def write(self, piece):
            if self.tell() + len(piece) > 300_000:
                raise OSError(28, "No space left on device")
            return super().write(piece)

    right_open = Path.open
    monkeypatch.setattr(download_gpt2, "PIECE", 65_536)
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, mode="r": FullDisk(path, "ab") if mode == "ab" else right_open(path, mode),
    )
    refused(lambda: get(server, tmp_path), r"cannot be written \(No space left on device\)")
    assert_nothing_half(tmp_path)
    kept = (tmp_path / PART / LARGE).stat().st_size
    assert 0 < kept <= 300_000
    monkeypatch.undo()
    server.requests.clear()
    get(server, tmp_path)
    assert (f"/{LARGE}", f"bytes={kept}-") in server.requests


def test_a_missing_file_is_refused(server, tmp_path):
    del server.files["/vocab.json"]
    refused(
        lambda: get(server, tmp_path), r"vocab.json cannot be had \(the server says 404 Not Found\)"
    )
    assert_nothing_half(tmp_path)


def test_no_network_is_refused(tmp_path, server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    act = lambda: fetch(tmp_path, url, files=FILES, wait=0.001)  # noqa: E731
    refused(
        act, r"config.json cannot be read, 4 attempts failed \(.*refused\)|cannot be read.*refused"
    )
    assert_nothing_half(tmp_path)


def test_a_silent_server_is_refused(tmp_path, server):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        act = lambda: fetch(tmp_path, url, files=FILES, wait=0.001, timeout=0.05)  # noqa: E731
        refused(act, r"4 attempts failed \(timed out\)")


def test_a_proxy_that_refuses_is_named_without_its_password(server, tmp_path, monkeypatch):
    address = server.url.replace("//", "//ada:secret@")
    monkeypatch.setenv("https_proxy", address)
    act = lambda: fetch(tmp_path, "https://models.invalid/gpt2", files=FILES, wait=0.001)  # noqa: E731
    refused(act, "407.*the proxy is that of the variable https_proxy")
    with pytest.raises(CheckpointError) as caught:
        act()
    assert "secret" not in str(caught.value)
    assert_nothing_half(tmp_path)


@pytest.mark.parametrize("address", ["file:///etc", "nonsense"])
def test_an_address_off_the_web_is_refused(tmp_path, address):
    refused(lambda: fetch(tmp_path, address, files=FILES), "is not an address on the web")


def test_a_folder_that_cannot_be_written_to_is_refused(server, tmp_path):
    (tmp_path / "file").write_text("")
    refused(lambda: get(server, tmp_path / "file"), "cannot be written")


def test_a_failure_while_installing_leaves_the_old_model(server, tmp_path, monkeypatch):
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "vocab.json").write_text("old")
    rename = Path.rename

    def fail(path, target):
        if path.name == PART:
            raise OSError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    refused(lambda: get(server, tmp_path), r"cannot be written \(Permission denied\)")
    assert (tmp_path / "gpt2" / "vocab.json").read_text() == "old"


# The command.


def test_the_command_says_size_and_licence_first():
    code = (
        "import sys; from attention_labs import download_gpt2 as d;"
        "d.fetch = lambda: (_ for _ in ()).throw(KeyboardInterrupt); d.main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, cwd=ROOT)
    assert ran.stdout.startswith(
        "GPT-2 small: 550 MB, from https://huggingface.co/openai-community/gpt2, under the MIT"
    )
    assert ran.returncode == 1
    assert (
        ran.stderr
        == "Stopped. What has been fetched is kept, and the next `make data` goes on from there.\n"
    )


def test_make_data_fetches_both():
    for makefile in ("Makefile", "docs/bundle.mk"):
        recipe = (
            (ROOT / makefile).read_text("utf-8").partition("\ndata: setup")[2].partition("\n\n")[0]
        )
        assert "attention_labs.download\n" in recipe and "attention_labs.download_gpt2" in recipe


def test_the_published_files_are_those_of_the_checkpoint():
    assert sorted(file.name for file in download_gpt2.FILES) == sorted(gpt2.FILES)
    assert sum(file.size for file in download_gpt2.FILES) == 549_604_455
    assert all(re.fullmatch("[0-9a-f]{64}", file.digest) for file in download_gpt2.FILES)


def test_each_attempt_without_a_byte_waits_twice_as_long_as_the_one_before(monkeypatch, tmp_path):
    seconds, reads = [], iter([b"", b"", b"ab", b"", b"", b"", b""])
    monkeypatch.setattr(download_gpt2.time, "sleep", seconds.append)

    def read_on(url, path, file, timeout):
        with path.open("ab") as target:
            target.write(next(reads))
        return "it broke"

    monkeypatch.setattr(download_gpt2, "_read_on", read_on)
    file = download_gpt2.RemoteFile("x", 9, "")
    with pytest.raises(CheckpointError, match=r"4 attempts failed \(it broke"):
        download_gpt2._download("http://a/x", tmp_path / "x", file, 4, 0.5, 1.0)
    assert seconds == [0.5, 1.0, 0.5, 1.0, 2.0], "a piece that came is a new beginning"
    assert (tmp_path / "x").read_bytes() == b"ab", "and is kept"


def test_what_is_fetched_already_needs_no_room(monkeypatch, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 60)
    files = [download_gpt2.RemoteFile(name, 100, "") for name in ("a", "b")]
    for free, fits in ((140, True), (139, False)):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(download_gpt2.shutil, "disk_usage", lambda path, usage=usage: usage)
        if fits:
            download_gpt2._require_space(tmp_path, files)
        else:
            with pytest.raises(CheckpointError, match="more, and the disk has"):
                download_gpt2._require_space(tmp_path, files)


def test_an_old_model_and_what_an_earlier_run_left_of_one_go_away(tmp_path):
    for name in (".gpt2-part", ".gpt2-part-old", "gpt2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    download_gpt2._install(tmp_path / ".gpt2-part", tmp_path / "gpt2")
    assert list_names(tmp_path) == ["gpt2"]
    assert (tmp_path / "gpt2" / "file").read_text() == ".gpt2-part"
