"""Importing the original lab's files: nothing in them is run, and whatever is wrong is refused."""

import importlib.util
import io
import os
import pickle
import pickletools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from word_vectors import refused

from attention_labs.embeddings import DATA, DataError, load_embeddings
from attention_labs.published import INDEX

pytestmark = pytest.mark.long


def _script():
    spec = importlib.util.spec_from_file_location("import_original", DATA / "import_original.py")
    module = sys.modules["import_original"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _script()


@pytest.fixture
def original(tmp_path, whole):
    """A folder with four files of the right format."""
    folder = tmp_path / "original"
    folder.mkdir()
    for language, (words, vectors) in whole.items():
        (folder / f"word2int_{language}.pkl").write_bytes(
            pickle.dumps({w: i for i, w in enumerate(words)}),
        )
        np.savez_compressed(folder / f"embeddings_{language}.npz", vectors)
    return folder


def test_files_like_the_original_ones_are_imported_and_said_to_be_others(data, original, whole):
    notes = script.import_original(original, data)
    assert "embeddings_en.npz is not the original lab's file (its git blob hash is " in notes[0]
    assert "embeddings_fr.npz is not the original lab's file" in notes[1]
    assert notes[2] == "In use now: the imported vectors, 10,000 of each language."
    assert "CC BY-SA 3.0" in notes[3]
    for language, (words, vectors) in whole.items():
        embeddings = load_embeddings(language, data_dir=data)
        assert list(embeddings.words) == words and np.array_equal(embeddings.vectors, vectors)


def test_the_original_files_are_known_by_their_git_hash(data, original, monkeypatch):
    notes = script.import_original(original, data)
    hashes = [re.search(r"hash is (\w{40})", note)[1] for note in notes[:2]]
    monkeypatch.setattr(script, "ORIGINAL_BLOBS", dict(zip(("en", "fr"), hashes)))
    notes = script.import_original(original, data)
    assert notes[0] == "embeddings_en.npz is the original lab's file."
    assert notes[2] == "In use now: the original vectors, 10,000 of each language."
    assert load_embeddings("en", data_dir=data).name == "original"


def test_the_git_hash_is_gits():
    content = b"hello\n"  # git hash-object of it
    assert script.git_blob_hash(content) == "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.skipif(
    "ORIGINAL_VOCABULARIES" not in os.environ,
    reason="the original pickles are not shipped",
)
def test_the_original_vocabularies_are_read():
    for language, indices in INDEX.items():
        words = script.read_vocabulary(
            Path(os.environ["ORIGINAL_VOCABULARIES"]) / f"word2int_{language}.pkl",
        )
        assert all(words[index] == word for word, index in indices.items()) and "1992" not in words


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_vocabulary_may_be_of_any_binary_protocol(tmp_path, protocol):
    path = tmp_path / "words.pkl"
    path.write_bytes(pickle.dumps({"b": 1, "à": 0, "c" * 300: 2}, protocol))
    assert script.read_vocabulary(path, 3) == ["à", "b", "c" * 300]


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
        lambda: script.import_original(original, data),
        "word2int_fr.pkl is refused: a vocabulary needs no pickle opcode ",
    )
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_unpickler_alone_would_refuse_it_too(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(script, "_PLAIN_OPCODES", [opcode.name for opcode in pickletools.opcodes])
    path = tmp_path / "words.pkl"
    path.write_bytes(HOSTILE[kind])
    with pytest.raises(DataError):
        script.read_vocabulary(path)
    assert not (tmp_path / "pwned").exists()


def test_the_unpickler_finds_no_class():
    with pytest.raises(pickle.UnpicklingError, match=r"it asks for collections\.OrderedDict"):
        script._PlainUnpickler(io.BytesIO(b"ccollections\nOrderedDict\n.")).load()


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
    act = lambda: script.import_original(original, data, words=3)  # noqa: E731
    refused(data, act, f"word2int_en.pkl .*({sentence})")


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
        (
            _npz(a=np.array([_Runs()], dtype=object)),
            r"is not a whole .npz file of numbers \(Object arrays",
        ),
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
    script.import_original(tmp_path, tmp_path, words=3, checks=())  # these would do
    if content is None:
        (tmp_path / "embeddings_fr.npz").unlink()
    else:
        (tmp_path / "embeddings_fr.npz").write_bytes(content)
    refused(data, lambda: script.import_original(tmp_path, data, words=3, checks=()), sentence)


def test_a_folder_without_the_files_is_refused(data, tmp_path):
    act = lambda: script.import_original(tmp_path / "nowhere", data)  # noqa: E731
    refused(data, act, r"word2int_en.pkl cannot be read \(No such file or directory\)")


def test_the_script_says_in_one_sentence_what_is_missing(tmp_path):
    ran = subprocess.run(
        [sys.executable, script.__file__, tmp_path],
        text=True,
        capture_output=True,
    )
    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr.count("\n") == 1 and "word2int_en.pkl cannot be read" in ran.stderr
    ran = subprocess.run([sys.executable, script.__file__], text=True, capture_output=True)
    assert ran.returncode == 1 and ran.stderr.startswith("Usage: ")
