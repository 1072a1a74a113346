"""The lab `gpt-2`: its model against independent references, its tokens, its files, and the stand-in's figures."""

import ast
import json
import math
import re
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_labs import gpt2
from attention_labs.gpt2 import Checkpoint, CheckpointError
from attention_labs.pictures import gpt_2 as pictures
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def solution():
    """The solution's functions, those of the cells that only show something included."""
    names = SimpleNamespace(**vars(read_lab(read_course(ROOT), "gpt-2").reference))
    for cell in nbformat.read(ROOT / "solutions/gpt-2/gpt-2.ipynb", 4).cells:
        if "illustration" in cell.metadata.get("tags", ()):
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef):
                    exec(compile(ast.Module([node], []), cell.id, "exec"), vars(names))
    return names


def use_model(names, model):
    names.model, names.BLOCKS = model, [model.block(n) for n in range(model.layers)]
    return names


@pytest.fixture(scope="module")
def stand_in():
    return gpt2.load("stand-in")


@pytest.fixture
def lab(solution, stand_in):
    return use_model(solution, stand_in)


# The model, against a reference that is written equation by equation.


def random_tensors(vocabulary=50, positions=20, d=12, layers=2, size=0.2, seed=0):
    """Float32 tensors of a random model; weights of size 0.2, so that attention is far from uniform."""
    rng = np.random.default_rng(seed)
    sizes = {"d": d, "3d": 3 * d, "4d": 4 * d}
    tensors = {
        "wte.weight": (vocabulary, d),
        "wpe.weight": (positions, d),
        "ln_f.weight": (d,),
        "ln_f.bias": (d,),
    }
    for n in range(layers):
        for part, axes in gpt2.PARTS.items():
            tensors[f"h.{n}.{part}"] = tuple(sizes[axis] for axis in axes.split())
    found = {}
    for name, shape in tensors.items():
        around = 1.0 if re.search(r"ln_.\.weight", name) else 0.0
        found[name] = (around + size * rng.normal(size=shape)).astype(np.float32)
    return found


def make_model(tensors, heads):
    layers = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("h."))
    return Checkpoint("random", False, tensors, heads, layers, {}, {})


def slow_norm(x, gain, bias):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((a - mean) ** 2 for a in x) / len(x)
    return [
        (a - mean) / math.sqrt(variance + 1e-5) * g + b
        for a, g, b in zip(x, gain, bias, strict=True)
    ]


def slow_linear(x, weight, bias):
    """One token times a matrix (in, out), plus a bias, sum by sum."""
    columns = zip(*weight, strict=True)
    return [
        math.fsum(a * w for a, w in zip(x, c, strict=True)) + b
        for c, b in zip(columns, bias, strict=True)
    ]


def slow_attention(tokens, p, heads):
    """Return what attention adds to each token of one text, computed with Python numbers only."""
    d = len(tokens[0])
    fused = [slow_linear(x, p["attn.c_attn.weight"], p["attn.c_attn.bias"]) for x in tokens]
    size, mixed = d // heads, []
    for i, query in enumerate(fused):
        contexts = []
        for head in range(heads):
            q = query[head * size : (head + 1) * size]
            keys = [f[d + head * size : d + (head + 1) * size] for f in fused[: i + 1]]
            values = [f[2 * d + head * size : 2 * d + (head + 1) * size] for f in fused[: i + 1]]
            powers = [
                math.exp(math.fsum(a * b for a, b in zip(q, key, strict=True)) / math.sqrt(size))
                for key in keys
            ]
            for column in range(size):
                weighted = [
                    power * value[column] for power, value in zip(powers, values, strict=True)
                ]
                contexts.append(math.fsum(weighted) / math.fsum(powers))
        mixed.append(slow_linear(contexts, p["attn.c_proj.weight"], p["attn.c_proj.bias"]))
    return mixed


def slow_gelu(z):
    return 0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))


def add(x, y):
    return [a + b for a, b in zip(x, y, strict=True)]


def slow_logits(tokens, model):
    """Logits of one text, (L, V), from the equations of the paper."""
    t = {name: tensor.astype(float).tolist() for name, tensor in model.tensors.items()}
    stream = [
        add(t["wte.weight"][token], t["wpe.weight"][place]) for place, token in enumerate(tokens)
    ]
    for n in range(model.layers):
        p = {part: t[f"h.{n}.{part}"] for part in gpt2.PARTS}
        normalised = [slow_norm(x, p["ln_1.weight"], p["ln_1.bias"]) for x in stream]
        stream = list(map(add, stream, slow_attention(normalised, p, model.heads)))
        for place, x in enumerate(stream):
            y = slow_norm(x, p["ln_2.weight"], p["ln_2.bias"])
            hidden = [
                slow_gelu(z) for z in slow_linear(y, p["mlp.c_fc.weight"], p["mlp.c_fc.bias"])
            ]
            stream[place] = add(
                x, slow_linear(hidden, p["mlp.c_proj.weight"], p["mlp.c_proj.bias"])
            )
    last = [slow_norm(x, t["ln_f.weight"], t["ln_f.bias"]) for x in stream]
    nothing = [0.0] * len(t["wte.weight"])
    return np.array(
        [slow_linear(y, list(zip(*t["wte.weight"], strict=True)), nothing) for y in last]
    )


@pytest.mark.parametrize("heads", [1, 3, 4])
def test_the_logits_are_those_of_the_equations(solution, heads):
    model = make_model(random_tensors(seed=heads), heads)
    lab = use_model(solution, model)
    tokens = np.random.default_rng(heads).integers(50, size=(2, 9))
    found = lab.gpt2_logits(tokens, lab.BLOCKS)
    assert found.dtype == np.float32
    expected = np.array([slow_logits(text, model) for text in tokens])
    assert np.abs(found - expected).max() < 1e-5
    assert np.abs(expected).max() > 1


def test_step_by_step_gives_the_same_logits(solution):
    model = make_model(random_tensors(), 3)
    lab = use_model(solution, model)
    tokens = np.random.default_rng(5).integers(50, size=12)
    cache = lab.new_cache()
    steps = np.array([lab.step(token, place, cache) for place, token in enumerate(tokens)])
    assert np.abs(steps - slow_logits(tokens, model)).max() < 1e-5


def test_the_logits_are_those_of_transformers(solution, tmp_path):
    """Hugging Face's own GPT-2 writes the file and the logits; both are read here."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    sizes = {"vocab_size": 97, "n_positions": 33, "n_embd": 40, "n_layer": 2, "n_head": 5}
    ends = {"bos_token_id": 96, "eos_token_id": 96}
    torch.manual_seed(0)
    other = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **ends)).eval()
    tokens = torch.randint(0, 97, (3, 30))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        expected = other(tokens).logits.numpy()
    other.save_pretrained(tmp_path)
    (tmp_path / "vocab.json").write_text(
        json.dumps({str(n): n for n in range(96)} | {gpt2.END: 96})
    )
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    lab = use_model(solution, Checkpoint("other", True, *gpt2._read_files(tmp_path)))
    assert np.abs(lab.gpt2_logits(tokens.numpy(), lab.BLOCKS) - expected).max() < 1e-5


def test_gpt2_small_has_124_million_parameters(lab, stand_in):
    assert lab.parameters_in(50_257, 1024, 768, 12) == 124_439_808
    sizes = len(stand_in.vocabulary), stand_in.positions, stand_in.size, stand_in.layers
    assert lab.parameters_in(*sizes) == sum(tensor.size for tensor in stand_in.tensors.values())


# Tokens.


# `regex` may know a newer Unicode than Python, and takes four control characters for no space.
KNOWN = st.characters(
    codec="utf-8", exclude_categories=["Cn"], exclude_characters="\x1c\x1d\x1e\x1f"
)


def test_all_kinds_of_numbers_are_numbers():
    words = ["2½", " cups", ",", " chapter", " Ⅳ", "a", "²", " ٣7"]
    assert gpt2.split_words("2½ cups, chapter Ⅳa² ٣7") == words


def test_words_are_split_as_gpt2_splits_them():
    assert gpt2.split_words("Don't stop!  It's naïve²\xa0日本\n\n x_1\n") == [
        *(
            "Don",
            "'t",
            " stop",
            "!",
            " ",
            " It",
            "'s",
            " naïve",
            "²",
            "\xa0",
            "日本",
            "\n\n",
            " x",
            "_",
            "1",
            "\n",
        ),
    ]


@pytest.mark.long
@given(st.text(alphabet=KNOWN, max_size=40))
def test_words_are_split_as_openai_splits_them(text):
    """Against the published pattern, where the package `regex`, which it needs, is installed."""
    regex = pytest.importorskip("regex")
    published = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    assert gpt2.split_words(text) == regex.findall(published, text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_every_text_comes_back(text):
    assert "".join(gpt2.split_words(text)) == text
    assert "".join(gpt2.to_text(gpt2.to_symbols(word)) for word in gpt2.split_words(text)) == text


def test_the_byte_symbols_are_gpt2s():
    assert len(set(gpt2.BYTE_SYMBOLS)) == 256
    assert gpt2.BYTE_SYMBOLS[:3] == ["!", '"', "#"] and gpt2.BYTE_SYMBOLS[188] == "Ā"
    assert gpt2.to_symbols(" \n\t") == ("Ġ", "Ċ", "ĉ")


def longest_pieces(symbols, known):
    """The other rule: from the left, always the longest piece that is a symbol."""
    rest, found = "".join(symbols), []
    while rest:
        end = max(n for n in range(1, len(rest) + 1) if n == 1 or rest[:n] in known)
        found.append(rest[:end])
        rest = rest[end:]
    return tuple(found)


def test_encoding_goes_by_rank_and_not_by_length(lab, stand_in):
    assert lab.encode_word(tuple("hath"), lab.RANKS) == ("h", "a", "th")
    assert longest_pieces("hath", {"".join(pair) for pair in lab.RANKS}) == ("hat", "h")
    known = {"".join(pair) for pair in stand_in.ranks}
    words = [
        "".join(word) for word in np.random.default_rng(0).choice(list("aehnort"), size=(100, 8))
    ]
    differ = 0
    for word in words:
        tokens = lab.encode_word(tuple(word), stand_in.ranks)
        assert "".join(tokens) == word and known.union(word) >= set(tokens)
        differ += tokens != longest_pieces(word, known)
    assert differ >= 10


def test_a_text_comes_back_from_its_tokens(lab, stand_in):
    for text in (
        "The key is under the table.",
        "naïve café, 日本",
        ' "Where is the lamp?" asked Ida. ',
    ):
        assert stand_in.decode(lab.encode(text)[0]) == text


# The stand-in.


def test_the_stand_in_has_the_checkpoints_format(stand_in):
    from safetensors import safe_open

    path = gpt2.DATA / f"{gpt2.STAND_IN}model.safetensors"
    assert (
        sum((gpt2.DATA / f"{gpt2.STAND_IN}{name}").stat().st_size for name in gpt2.FILES)
        < 2_000_000
    )
    with safe_open(path, framework="np") as file:
        names = set(file.keys())
        assert file.metadata() == {"format": "pt"}
    blocks = {
        f"h.{n}.{part}" for n in range(stand_in.layers) for part in (*gpt2.PARTS, "attn.bias")
    }
    assert names == blocks | {"wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"}
    assert list(stand_in.vocabulary)[:256] == gpt2.BYTE_SYMBOLS
    assert list(stand_in.vocabulary)[256:-1] == ["".join(pair) for pair in stand_in.ranks]
    assert stand_in.vocabulary[gpt2.END] == len(stand_in.vocabulary) - 1
    assert all(tensor.dtype == np.float32 for tensor in stand_in.tensors.values())


def test_the_stand_ins_weights_are_large_enough_to_tell(stand_in):
    """At GPT-2's start, weights of size 0.02, attention is nearly uniform, and a missing scale cannot be seen."""
    for name, tensor in stand_in.tensors.items():
        if name.endswith("c_attn.weight"):
            assert tensor.std() > 0.1, name
        if re.search(r"c_(attn|proj|fc)\.bias", name):
            assert tensor.std() > 0.01, name


def test_transformers_names_are_read_too(tmp_path):
    tensors = {
        f"transformer.{name}": tensor for name, tensor in random_tensors(positions=5).items()
    }
    write_model(tmp_path, tensors, positions=5)
    loaded = gpt2.load("real", tmp_path)
    assert np.array_equal(loaded.tensors["wpe.weight"], tensors["transformer.wpe.weight"])


# Files from an independent writer, and broken ones.


def raw_file(tensors):
    """The bytes of a safetensors file, written by hand: length of the header, header, numbers."""
    header, body = {}, b""
    for name, tensor in tensors.items():
        kind = {"float32": "F32", "float16": "F16"}[tensor.dtype.name]
        end = len(body) + tensor.nbytes
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [len(body), end]}
        body += tensor.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def write_model(data, tensors, positions=20, vocabulary=50):
    folder = data / "gpt2"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(raw_file(tensors))
    config = {"n_embd": 12, "n_head": 3, "n_layer": 2, "n_positions": positions}
    (folder / "config.json").write_text(json.dumps(config))
    names = {str(n): n for n in range(vocabulary - 1)} | {gpt2.END: vocabulary - 1}
    (folder / "vocab.json").write_text(json.dumps(names))
    (folder / "merges.txt").write_text("#version: 0.2\nĠ t\nh e\n", encoding="utf-8")
    return folder


def test_a_file_that_was_written_by_hand_is_read(tmp_path):
    tensors = random_tensors()
    mask = {
        "h.0.attn.bias": np.ones((1, 1, 20, 20), np.float32)
    }  # the published file has such masks
    write_model(tmp_path, {**mask, **tensors})
    model = gpt2.load(data_dir=tmp_path)
    assert model.is_real and model.heads == 3 and model.layers == 2
    assert model.tensors.keys() == tensors.keys()
    assert all(np.array_equal(model.tensors[name], tensor) for name, tensor in tensors.items())
    assert model.ranks == {("Ġ", "t"): 0, ("h", "e"): 1}


def test_without_the_real_model_the_stand_in_is_loaded(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTENTION_LABS_GPT2", raising=False)
    for name in gpt2.FILES:
        file = f"{gpt2.STAND_IN}{name}"
        (tmp_path / file).write_bytes((gpt2.DATA / file).read_bytes())
    assert not gpt2.load(data_dir=tmp_path).is_real
    write_model(tmp_path, random_tensors())
    assert gpt2.load(data_dir=tmp_path).is_real
    monkeypatch.setenv("ATTENTION_LABS_GPT2", "stand-in")
    assert not gpt2.load(data_dir=tmp_path).is_real
    with pytest.raises(ValueError, match="which is None"):
        gpt2.load("small")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def drop(name):
    def change(path):
        tensors = random_tensors()
        del tensors[name]
        path.write_bytes(raw_file(tensors))

    return change


def half_precision(path):
    tensors = random_tensors()
    tensors["wpe.weight"] = tensors["wpe.weight"].astype(np.float16)
    path.write_bytes(raw_file(tensors))


def transposed(path):
    tensors = random_tensors()
    name = "h.1.mlp.c_fc.weight"
    tensors[name] = np.ascontiguousarray(tensors[name].T)
    path.write_bytes(raw_file(tensors))


BROKEN = {
    "cut off": ("model.safetensors", cut, r"model.safetensors cannot be read \(.+\)"),
    "no tensors": (
        "model.safetensors",
        lambda p: p.write_bytes(b"<html>"),
        "model.safetensors cannot be read",
    ),
    "missing": ("model.safetensors", Path.unlink, "model.safetensors cannot be read"),
    "a tensor missing": (
        "model.safetensors",
        drop("ln_f.bias"),
        "the tensor ln_f.bias is missing; expected float32",
    ),
    "half precision": (
        "model.safetensors",
        half_precision,
        r"wpe.weight is float16 of shape \(20, 12\)",
    ),
    "transposed": (
        "model.safetensors",
        transposed,
        r"h.1.mlp.c_fc.weight is float32 of shape \(48, 12\); expected",
    ),
    "no vocabulary": ("vocab.json", Path.unlink, r"vocab.json cannot be read \(No such file"),
    "another vocabulary": ("vocab.json", lambda p: p.write_text("[]"), "vocab.json cannot be read"),
    "a vocabulary that is too small": (
        "vocab.json",
        lambda p: p.write_text(json.dumps({gpt2.END: 0})),
        "the tensor wte.weight",
    ),
    "no configuration": (
        "config.json",
        lambda p: p.write_text("{}"),
        r"config.json cannot be read \('n_embd'\)",
    ),
    "merges that are no text": (
        "merges.txt",
        lambda p: p.write_bytes(b"\xff"),
        "merges.txt cannot be read",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_told_in_a_sentence(tmp_path, kind):
    name, change, sentence = BROKEN[kind]
    change(write_model(tmp_path, random_tensors()) / name)
    with pytest.raises(CheckpointError) as caught:
        gpt2.load("real", tmp_path)
    assert re.search(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_library_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(
        CheckpointError, match="package safetensors, which reads the model's file, is not installed"
    ):
        gpt2.load("stand-in")


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_tensors_are_not_copied_twice(tmp_path):
    """The peak of memory while a file of 80 MB is read is 80 MB, not 160."""
    size = 20_000_000
    (tmp_path / "model.safetensors").write_bytes(raw_file({"one": np.ones(size, np.float32)}))
    code = """
import sys
from pathlib import Path
from attention_labs import gpt2
import safetensors
def peak():
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
before = peak()
tensors = gpt2._read_tensors(Path(sys.argv[1]))
print((peak() - before) / tensors["one"].nbytes)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "model.safetensors")]
    ran = subprocess.run(command, text=True, capture_output=True, cwd=ROOT, check=True)
    assert 0.9 < float(ran.stdout) < 1.3


# Pictures.


def test_what_the_pictures_say_in_words():
    merges = [(("t", "he"), 4), (("the",), 9)]
    _, alt = pictures.merge_tree.__wrapped__(("t", "h", "e"), merges)
    assert alt == "A tree of merges, from below. It begins with t h e. rank 4: t he; rank 9: the."
    scores = np.array([[0.1, 0.2], [0.9, 0.0]])
    _, alt = pictures.head_map.__wrapped__({"induction_score": scores})
    assert "at most 0.90, in layer 1, head 0; mean 0.30" in alt
    _, alt = pictures.lens.__wrapped__(
        ["block 0"], ["Ġa", "b"], [["c", "Ġd"]], np.array([[0.5, 0.25]])
    )
    assert "block 0: c 0.50, ·d 0.25" in alt
