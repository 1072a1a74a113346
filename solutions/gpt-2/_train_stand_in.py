"""Train the stand-in of the lab `gpt-2`: a small model in the format of GPT-2's checkpoint.

    python solutions/gpt-2/_train_stand_in.py             # writes data/stand_in_*, takes some minutes
    python solutions/gpt-2/_train_stand_in.py --measure   # measures the shipped model, writes nothing

Vocabulary and merges are learned from the course's little stories, written out as English text. The model
is trained in NumPy with the functions of the lab `training`; only attention is written anew, because
GPT-2 has one fused matrix for queries, keys and values, and biases. `data/README.md` has the figures.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from safetensors.numpy import save
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from attention_labs import gpt2, tiny_model, training  # noqa: E402
from autograder.authoring.lab import read_lab  # noqa: E402
from autograder.core.course import read_course  # noqa: E402
from autograder.core.files import write_file  # noqa: E402

LAYERS, HEADS, SIZE, POSITIONS = 3, 4, 64, 64
VOCABULARY = 512  # 256 bytes, 255 merges, and the end of a text
HELD_OUT = 200  # stories that are not trained on
STEPS, ROWS, LISTS, PEAK = 5000, 16, 6, 3e-3
NAMES = set(
    "mira oskar lena tom ida felix nora emil clara hugo greta anton rosa jonas vera simon ada paul elsa max "
    "baker cooper miller potter weaver fisher carter mason sadler turner wright brewer thatcher shepherd "
    "gardener tailor skinner glover fuller tanner "
    "monday tuesday wednesday thursday friday saturday sunday i".split()
)


def write_out(words):
    """Return a story's words as English text: capital letters, and no space before a full stop."""
    text, begins, quoting = "", True, False
    for word in words:
        closes = word == '"' and quoting
        glued = word in ".,?" or closes or text.endswith(' "') or text == '"'
        if word == '"':
            quoting = not quoting
        if word in NAMES or (begins and word != '"'):
            word = word.capitalize()
        text += word if glued or not text else f" {word}"
        if word != '"':
            begins = word in ".?"
        elif closes:
            begins = False
    return text


def learn_merges(lab, texts, count):
    """Return the pairs to merge, in their order, learned from the words of some texts."""
    words = Counter()
    for text in texts:
        words.update(gpt2.to_symbols(word) for word in gpt2.split_words(text))
    merges = []
    while len(merges) < count:
        pairs = lab.count_pairs(words)
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        merged = Counter()
        for word, times in words.items():
            merged[lab.merge_pair(word, best)] += times
        words = merged
    return merges


def start(rng):
    """Return the tensors of a model that has learned nothing, under the checkpoint's names."""
    d, writing = SIZE, (2 * LAYERS) ** -0.5

    def table(rows, columns, size=1.0):
        return rng.normal(scale=size / rows**0.5, size=(rows, columns))

    tensors = {
        "wte.weight": rng.normal(scale=0.1, size=(VOCABULARY, d)),
        "wpe.weight": 0.3 * training.waves(POSITIONS, d),
    }
    for n in range(LAYERS):
        tensors |= {
            f"h.{n}.ln_1.weight": np.ones(d),
            f"h.{n}.ln_1.bias": np.zeros(d),
            f"h.{n}.attn.c_attn.weight": table(d, 3 * d),
            f"h.{n}.attn.c_attn.bias": np.zeros(3 * d),
            f"h.{n}.attn.c_proj.weight": table(d, d, writing),
            f"h.{n}.attn.c_proj.bias": np.zeros(d),
            f"h.{n}.ln_2.weight": np.ones(d),
            f"h.{n}.ln_2.bias": np.zeros(d),
            f"h.{n}.mlp.c_fc.weight": table(d, 4 * d),
            f"h.{n}.mlp.c_fc.bias": np.zeros(4 * d),
            f"h.{n}.mlp.c_proj.weight": table(4 * d, d, writing),
            f"h.{n}.mlp.c_proj.bias": np.zeros(d),
        }
    tensors |= {"ln_f.weight": np.ones(d), "ln_f.bias": np.zeros(d)}
    return {name: np.float32(tensor) for name, tensor in tensors.items()}


class Passes:
    """Forward and backward pass of the model, with the functions of the lab `training`."""

    def __init__(self, lab):
        self.lab = lab

    def forward(self, tokens, p):
        """Return logits (batch, L, V), and what the backward pass needs."""
        lab, length = self.lab, tokens.shape[1]
        mask = np.tri(length, dtype=bool)
        x, kept = p["wte.weight"][tokens] + p["wpe.weight"][:length], []
        for n in range(LAYERS):
            y_1 = lab.layer_norm(x, p[f"h.{n}.ln_1.weight"], p[f"h.{n}.ln_1.bias"])
            fused = y_1 @ p[f"h.{n}.attn.c_attn.weight"] + p[f"h.{n}.attn.c_attn.bias"]
            q, k, v = (lab.split_heads(part, HEADS) for part in np.split(fused, 3, axis=-1))
            scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
            weights = lab.softmax(np.where(mask, scores, np.float32(-np.inf)))
            mixed = lab.merge_heads(weights @ v)
            middle = x + mixed @ p[f"h.{n}.attn.c_proj.weight"] + p[f"h.{n}.attn.c_proj.bias"]
            y_2 = lab.layer_norm(middle, p[f"h.{n}.ln_2.weight"], p[f"h.{n}.ln_2.bias"])
            kept.append((x, y_1, q, k, v, weights, mixed, middle, y_2))
            x = middle + lab.feed_forward(y_2, *self.feed(p, n))
        y = lab.layer_norm(x, p["ln_f.weight"], p["ln_f.bias"])
        return y @ p["wte.weight"].T, (kept, x, y)

    def feed(self, p, n):
        return [
            p[f"h.{n}.mlp.{part}"]
            for part in ("c_fc.weight", "c_fc.bias", "c_proj.weight", "c_proj.bias")
        ]

    def loss_and_gradients(self, p, rows):
        """Return the loss of guessing each token of rows (batch, L + 1), and all its gradients."""
        lab, flat = self.lab, self.lab.words_of
        tokens, targets = rows[:, :-1], rows[:, 1:].ravel()
        logits, (kept, x, y) = self.forward(tokens, p)
        logits = flat(logits)
        d_logits = lab.cross_entropy_backward(logits, targets)
        g = {}
        d_y = (d_logits @ p["wte.weight"]).reshape(x.shape)
        d_x, g["ln_f.weight"], g["ln_f.bias"] = lab.layer_norm_backward(d_y, x, p["ln_f.weight"])
        for n in reversed(range(LAYERS)):
            d_x = self.block_backward(d_x, p, n, kept[n], g)
        looked_up = lab.embedding_backward(d_x, tokens, VOCABULARY)
        g["wte.weight"] = d_logits.T @ flat(y) + looked_up
        g["wpe.weight"] = np.zeros_like(p["wpe.weight"])
        g["wpe.weight"][: tokens.shape[1]] = d_x.sum(axis=0)
        return lab.cross_entropy(logits, targets), g

    def block_backward(self, d_x, p, n, kept, g):
        """Add the gradients of block `n` to `g`; return that of the block's input."""
        lab, flat, at = self.lab, self.lab.words_of, f"h.{n}."
        x, y_1, q, k, v, weights, mixed, middle, y_2 = kept
        d_y, *found = lab.feed_forward_backward(d_x, y_2, *self.feed(p, n))
        names = "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"
        g |= {at + name: gradient for name, gradient in zip(names, found)}
        d, gain, bias = lab.layer_norm_backward(d_y, middle, p[at + "ln_2.weight"])
        g[at + "ln_2.weight"], g[at + "ln_2.bias"] = gain, bias
        d_x = d_x + d
        g[at + "attn.c_proj.weight"] = flat(mixed).T @ flat(d_x)
        g[at + "attn.c_proj.bias"] = flat(d_x).sum(axis=0)
        d_mixed = lab.split_heads(d_x @ p[at + "attn.c_proj.weight"].T, HEADS)
        d_scores = lab.softmax_backward(weights, d_mixed @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
        d_q, d_k = d_scores @ k, d_scores.swapaxes(-1, -2) @ q
        d_v = weights.swapaxes(-1, -2) @ d_mixed
        d_fused = np.concatenate([lab.merge_heads(d) for d in (d_q, d_k, d_v)], axis=-1)
        g[at + "attn.c_attn.weight"] = flat(y_1).T @ flat(d_fused)
        g[at + "attn.c_attn.bias"] = flat(d_fused).sum(axis=0)
        d_y = d_fused @ p[at + "attn.c_attn.weight"].T
        d, gain, bias = lab.layer_norm_backward(d_y, x, p[at + "ln_1.weight"])
        g[at + "ln_1.weight"], g[at + "ln_1.bias"] = gain, bias
        return d_x + d


def train(lab, stream, report=500):
    """Return the trained tensors; `stream` is the whole text as tokens, int, shape (n,)."""
    rng, passes = np.random.default_rng(0), Passes(lab)
    p = start(rng)
    means = {name: np.zeros_like(tensor) for name, tensor in p.items()}
    squares = {name: np.zeros_like(tensor) for name, tensor in p.items()}
    began, recent = time.process_time(), []
    for step in range(1, STEPS + 1):
        first = rng.integers(len(stream) - POSITIONS - 1, size=ROWS - LISTS)
        rows = stream[first[:, np.newaxis] + np.arange(POSITIONS + 1)]
        lists = repeated(rng, LISTS)
        loss, gradients = passes.loss_and_gradients(p, np.concatenate([rows, lists]))
        recent.append(loss)
        clipped = lab.clip_gradients([gradients[name] for name in p], 1.0)
        rate = lab.learning_rate(step, STEPS, STEPS // 20, PEAK, PEAK / 100)
        for (name, tensor), gradient in zip(list(p.items()), clipped):
            new = lab.adam_step(
                tensor, gradient, means[name], squares[name], step, rate, beta_2=0.98
            )
            p[name], means[name], squares[name] = (np.float32(array) for array in new)
        if step % report == 0:
            scores = head_scores(passes, p)
            line = f"step {step}: loss {np.mean(recent):.3f}, {time.process_time() - began:.0f} s of CPU"
            print(
                line, *(f"{name} {table}" for name, table in scores.items()), sep="; ", flush=True
            )
            recent = []
    return p


def repeated(rng, count):
    """Return random token lists, each repeated to the end: int, shape (count, POSITIONS + 1)."""
    rows = np.empty((count, POSITIONS + 1), dtype=int)
    for row in rows:
        size, start_at = int(rng.integers(5, 25)), int(rng.integers(0, 8))
        row[:start_at] = rng.integers(VOCABULARY, size=start_at)
        once = rng.permutation(VOCABULARY)[:size]
        row[start_at:] = np.resize(once, POSITIONS + 1 - start_at)
    return rows


def said_twice(count, half, seed=1):
    """Return different random tokens, each list said twice: int, shape (count, 2 * half)."""
    rng = np.random.default_rng(seed)
    once = np.array([rng.permutation(VOCABULARY)[:half] for _ in range(count)])
    return np.concatenate([once, once], axis=1)


def head_scores(passes, p, half=24):
    """Return two tables (layers, heads): weight on the previous token, and on what followed before."""
    _, (kept, _, _) = passes.forward(said_twice(20, half), p)
    every = np.arange(1, 2 * half)
    second = np.arange(half, 2 * half)
    tables = {"previous": [], "induction": []}
    for block in kept:
        weights = block[5]
        tables["previous"].append(
            weights[:, :, every, every - 1].mean(axis=(0, 2)).round(2).tolist()
        )
        tables["induction"].append(
            weights[:, :, second, second - half + 1].mean(axis=(0, 2)).round(2).tolist()
        )
    return tables


def losses(passes, p, rows):
    """Return -log of the probability of each right token, from the second on: (batch, L - 1)."""
    logits = passes.forward(rows, p)[0][:, :-1].astype(float)
    logits -= logits.max(axis=-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(logs, rows[:, 1:, np.newaxis], axis=-1)[..., 0]


def tokens_of(lab, texts, vocabulary, ranks):
    """Return all texts as one row of tokens, each ended by the token for the end of a text."""
    known, stream = {}, []
    for text in texts:
        for word in gpt2.split_words(text):
            if word not in known:
                known[word] = [vocabulary[s] for s in lab.encode_word(gpt2.to_symbols(word), ranks)]
            stream += known[word]
        stream.append(vocabulary[gpt2.END])
    return np.array(stream)


def checkpoint_files(p, merges, vocabulary):
    """Return the four files of a checkpoint, name to bytes."""
    mask = np.tri(POSITIONS, dtype=np.float32)[np.newaxis, np.newaxis]
    masks = {f"h.{n}.attn.bias": mask for n in range(LAYERS)}  # GPT-2's file has them too
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "n_ctx": POSITIONS,
        "n_positions": POSITIONS,
        "n_embd": SIZE,
        "n_head": HEADS,
        "n_layer": LAYERS,
        "vocab_size": VOCABULARY,
        "bos_token_id": VOCABULARY - 1,
        "eos_token_id": VOCABULARY - 1,
    }
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    return {
        "model.safetensors": save(dict(sorted({**p, **masks}.items())), metadata={"format": "pt"}),
        "vocab.json": json.dumps(vocabulary, ensure_ascii=False).encode(),
        "merges.txt": ("\n".join(lines) + "\n").encode(),
        "config.json": (json.dumps(config, indent=2) + "\n").encode(),
    }


def main():
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument(
        "--measure", action="store_true", help="measure the shipped model, write nothing"
    )
    measuring = reader.parse_args().measure
    course = read_course(ROOT)
    lab, tokenizer = read_lab(course, "training").reference, read_lab(course, "gpt-2").reference
    words = tiny_model.load()
    stories = [write_out(words.decode(row).split()) for row in training.stories()]
    with threadpool_limits(1):  # sums in one order, however many cores there are
        merges = learn_merges(tokenizer, stories[:4000], VOCABULARY - 257)
        symbols = [*gpt2.BYTE_SYMBOLS, *map("".join, merges), gpt2.END]
        vocabulary = {symbol: number for number, symbol in enumerate(symbols)}
        ranks = {pair: rank for rank, pair in enumerate(merges)}
        stream = tokens_of(tokenizer, stories[:-HELD_OUT], vocabulary, ranks)
        print(f"{len(stream):,} tokens of text", flush=True)
        if measuring:
            shipped = gpt2.load("stand-in")
            p = {name: np.asarray(tensor) for name, tensor in shipped.tensors.items()}
        else:
            p = train(lab, stream)
            for name, data in checkpoint_files(p, merges, vocabulary).items():
                write_file(gpt2.DATA / f"{gpt2.STAND_IN}{name}", data)
        held = tokens_of(tokenizer, stories[-HELD_OUT:], vocabulary, ranks)
        rows = held[: len(held) // POSITIONS * POSITIONS].reshape(-1, POSITIONS)
        twice, passes = said_twice(100, 24), Passes(lab)
        print(
            f"held-out loss {losses(passes, p, rows).mean():.3f}, uniform {np.log(VOCABULARY):.3f}"
        )
        said = losses(passes, p, twice)
        print(
            f"tokens said twice: first {said[:, :23].mean():.3f}, second {said[:, 24:].mean():.3f}"
        )
        print(*(f"{name} {table}" for name, table in head_scores(passes, p).items()), sep="\n")
        for name, tensor in p.items():
            if name.endswith("weight") and tensor.ndim == 2:
                print(f"{name}: size of its numbers {tensor.std():.3f}")


if __name__ == "__main__":
    main()
