"""Limits of the host of a WebAssembly guest: each call is refused one unit above its limit."""

import ctypes
import struct
from types import SimpleNamespace

import pytest
from test_webassembly import Memory, make_wasi

from autograder.core.run_limits import RunLimits
from autograder.sandbox import wasi, webassembly
from autograder.sandbox.inside.driver import UNCOUNTED_BYTES
from autograder.values.encoding import ByteReader, EncodingError, encode

INVAL, NAMETOOLONG = 28, 37
SECOND = 10**9


@pytest.fixture
def guest():
    """A host, its memory, and the seconds that the guest slept."""
    slept, memory = [], Memory(1 << 20)
    host = make_wasi(sleep=slept.append, scratch=1 << 26)
    host.attach_memory(memory.address, lambda: memory.size)
    return host, memory, slept


def write(memory, address, data):
    ctypes.memmove(memory.address + address, bytes(data), len(data))


def clock_subscription(seconds):
    """A relative timeout of `poll_oneoff`, of 48 bytes."""
    return struct.pack("<QB7xIxxxxQQHxxxxxx", 1, 0, 1, int(seconds * SECOND), 0, 0)


@pytest.mark.parametrize("seconds", [0.5, 100.0, 5e9])
def test_a_guest_sleeps_until_its_first_timeout_and_not_for_ever(guest, seconds):
    host, memory, slept = guest
    write(memory, 0, clock_subscription(seconds) + clock_subscription(seconds + 1))
    assert host.get_call("poll_oneoff")(0, 1000, 2, 2000) == 0
    assert slept == [min(seconds, wasi.MAX_SLEEP_SECONDS)]


def test_subscriptions_are_limited(guest):
    host, memory, _ = guest
    for count in (wasi.MAX_SUBSCRIPTIONS, wasi.MAX_SUBSCRIPTIONS + 1):
        write(memory, 0, clock_subscription(1) * count)
        expected = 0 if count == wasi.MAX_SUBSCRIPTIONS else INVAL
        assert host.get_call("poll_oneoff")(0, 10_000, count, 20_000) == expected
    assert host.get_call("poll_oneoff")(0, 10_000, 0, 20_000) == INVAL


def test_random_bytes_are_limited(guest):
    host, _, _ = guest
    assert host.get_call("random_get")(0, 1000) == 0
    assert host.get_call("random_get")(0, wasi.MAX_RANDOM_BYTES + 1) == INVAL


def test_buffers_of_one_call_are_limited(guest):
    host, memory, _ = guest
    write(memory, 0, struct.pack("<II", 500_000, 0) * (wasi.MAX_VECTORS + 1))
    assert host.get_call("fd_write")(1, 0, wasi.MAX_VECTORS, 600_000) == 0
    assert host.get_call("fd_write")(1, 0, wasi.MAX_VECTORS + 1, 600_000) == INVAL


def test_one_call_writes_a_part_of_very_much(guest):
    host, memory, _ = guest
    size = memory.size // 2
    count = wasi.MAX_WRITE_BYTES // size + 2
    write(memory, 0, struct.pack("<II", 0, size) * count)
    assert host.get_call("fd_write")(1, 0, count, 900_000) == 0
    assert (
        int.from_bytes(ctypes.string_at(memory.address + 900_000, 4), "little")
        == wasi.MAX_WRITE_BYTES
    )


@pytest.mark.parametrize(
    ("length", "number"), [(wasi.MAX_NAME_BYTES, 0), (wasi.MAX_NAME_BYTES + 1, NAMETOOLONG)]
)
def test_names_are_limited(guest, length, number):
    host, memory, _ = guest
    path = b"tmp/" + b"x" * length
    write(memory, 0, path)
    assert host.get_call("path_create_directory")(3, 0, len(path)) == number


def test_a_path_from_the_root_is_limited(guest):
    host, memory, _ = guest
    path, numbers = b"tmp", set()
    while len(path) < 2 * wasi.MAX_FULL_NAME_CHARACTERS:
        path += b"/" + b"x" * 100
        write(memory, 0, path)
        numbers.add(
            (
                len(path) > wasi.MAX_FULL_NAME_CHARACTERS,
                host.get_call("path_create_directory")(3, 0, len(path)),
            )
        )
    assert (False, 0) in numbers and (True, 0) not in numbers


def test_files_and_folders_are_limited(guest):
    host, memory, _ = guest
    results = []
    for number in range(wasi.MAX_NODES + 2):
        path = b"tmp/%d" % number
        write(memory, 0, path)
        results.append(host.get_call("path_create_directory")(3, 0, len(path)))
    assert results[0] == 0 and results[-1] != 0
    assert results.count(0) <= wasi.MAX_NODES


def test_a_file_that_is_renamed_over_another_gives_its_place_back(guest):
    """Programs save a file by writing another one and renaming it."""
    host, memory, _ = guest
    new, old = b"tmp/new", b"tmp/old"
    write(memory, 0, new + old)
    for _ in range(wasi.MAX_NODES + 1):
        assert host.get_call("path_open")(3, 0, 0, len(new), 9, 1 << 6, 0, 0, 100) == 0
        fd = int.from_bytes(ctypes.string_at(memory.address + 100, 4), "little")
        assert host.get_call("fd_close")(fd) == 0
        assert host.get_call("path_rename")(3, 0, len(new), 3, len(new), len(old)) == 0


def test_a_path_is_limited(guest):
    host, memory, _ = guest
    write(memory, 0, b"x" * (wasi.MAX_PATH_BYTES + 1))
    assert len(host._load_text(0, wasi.MAX_PATH_BYTES)) == wasi.MAX_PATH_BYTES
    with pytest.raises(wasi.RefusedCall) as error:
        host._load_text(0, wasi.MAX_PATH_BYTES + 1)
    assert error.value.args == (NAMETOOLONG,)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(1 << 20, (1 << 20) + 5), (1 << 40, webassembly.MAX_MEMORY_BYTES)],
)
def test_the_memory_of_a_guest_is_limited(memory, expected):
    calls = []

    def submit(function, argument):
        calls.append(argument)
        return SimpleNamespace(result=lambda: SimpleNamespace(restore=None))

    sandbox = SimpleNamespace(
        _image=SimpleNamespace(size=5),
        limits=SimpleNamespace(memory=memory),
        _thread=SimpleNamespace(submit=submit),
        _create_instance=None,
    )
    webassembly.WebAssembly.start_instance(sandbox)
    assert calls[0] == expected


def test_the_values_in_a_message_of_a_guest_are_limited(monkeypatch):
    data = encode({"op": "output", "parts": [1, 2, 3]})
    run = SimpleNamespace(limits=RunLimits(), check_time_limits=lambda: None, _after_output=None)
    for most_values in (6, 7):  # the values are counted by their brackets and commas
        monkeypatch.setattr(webassembly, "MAX_EVENT_NODES", most_values)
        run._output = ByteReader(data)
        if most_values == 7:
            assert webassembly._WasmDriver.receive_event(run)[0]["parts"] == [1, 2, 3]
        else:
            with pytest.raises(EncodingError, match="too much JSON"):
                webassembly._WasmDriver.receive_event(run)


@pytest.mark.parametrize(
    ("peak", "changed", "size", "written", "is_excess"),
    [
        (100, 0, 1000, 50, False),
        (101, 0, 1000, 50, True),
        (0, 101, 1000, 50, True),  # changed since the last sample
        (100, 0, 1001, 50, True),  # memory that the program has grown by
        (100, 0, 1000, 51, True),  # files are in memory, too
    ],
)
def test_all_kinds_of_memory_of_a_call_are_added(peak, changed, size, written, is_excess):
    instance = SimpleNamespace(
        count_changed_bytes=lambda before: changed,
        size=lambda: size,
        written_file_bytes=lambda: written,
    )
    run = SimpleNamespace(
        _memory_limit=70 - UNCOUNTED_BYTES,
        _is_measured=True,
        _peak_bytes=peak,
        _instance=instance,
        _memory_before=bytearray(1000),
        _written_before=50,
        _input_bytes=30,
    )
    excess = webassembly._WasmDriver.end_measurement_and_find_excess_memory(run)
    assert excess == (71 if is_excess else 0)
