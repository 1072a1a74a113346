"""Write the little stories of `tiny-transformer` and `training`, train the former's model on them, and measure it.

    python solutions/tiny-transformer/_train_tiny_model.py                  # writes data/tiny_model.npz
    python solutions/tiny-transformer/_train_tiny_model.py --seeds 0 1 2    # measures three trainings, writes nothing
    python solutions/tiny-transformer/_train_tiny_model.py --only-stories   # writes data/stories.npz, which takes no Keras

It needs Keras on JAX (`pip install -c constraints.txt keras jax`) and a few minutes. The stories are drawn from
the grammar below; the model is trained from random numbers; nothing of it is set by hand. What is kept is said
in data/README.md.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
# Sums in one order, however many cores there are.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from attention_labs.training import LENGTH, repeated, waves  # noqa: E402
from attention_labs.training import STORIES as STORIES_FILE  # noqa: E402

OUT = ROOT / "data" / "tiny_model.npz"

LAYERS, HEADS, SIZE, HIDDEN = 2, 2, 64, 256
STORIES, LISTS = 64_000, 32_000
SHIPPED = 32_000  # the first so many are what the lab `training` trains on
BATCH, REPORTS = 32, 10  # each row is trained on once; the loss is printed REPORTS times

# The grammar. Names, adjectives and things are paired anew in each story, so that the words alone do not say
# what follows "mira": the story itself must be asked.
FIRST = (
    "mira oskar lena tom ida felix nora emil clara hugo greta anton rosa jonas vera simon ada paul elsa max"
).split()
LAST = (
    "baker cooper miller potter weaver fisher carter mason sadler turner "
    "wright brewer thatcher shepherd gardener tailor skinner glover fuller tanner"
).split()
ADJECTIVES = (
    "red blue green yellow black white silver golden wooden copper small heavy old new broken shiny round strange"
).split()
THINGS = "key lamp kettle drum kite boat clock mirror basket ring book coat bell box cup map violin hammer".split()
PLACES = (
    "mill harbour garden tower bridge market station forest library kitchen barn island castle school cellar"
).split()
SITES = "quiet dark sunny empty busy hidden windy narrow distant cold".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
TIMES = "morning afternoon evening night".split()
FEELINGS = "happy sad angry tired proud afraid curious surprised".split()
STATES = "lost ready gone dusty dirty clean".split()
ANIMALS = "cat dog goat horse owl fox duck hen mouse pony".split()
WEATHER = "rain snow fog wind thunder frost".split()
JOBS = "sang slept laughed cried waited danced whistled smiled".split()

OPENINGS = [
    "{P} lived near the {site} {place} .",
    "once {P} and {Q} went to the {site} {place} .",
    "one {day} {time} {P} walked to the {site} {place} .",
    "on {day} {Q} met {P} at the {site} {place} .",
]
SENTENCES = [
    "{P} found the {adj} {thing} there .",
    "{P} gave the {adj} {thing} to {Q} .",
    "{Q} put the {adj} {thing} under a table .",
    "{P} wanted to sell the {adj} {thing} .",
    "{Q} did not like the {adj} {thing} .",
    "{P} asked {Q} about the {adj} {thing} .",
    "{P} was {feeling} because the {adj} {thing} was {state} .",
    "{Q} was {feeling} and {P} was {feeling2} .",
    "in the {time} {Q} carried the {adj} {thing} to the {site} {place} .",
    "then {P} looked for the {animal} .",
    "the {animal} {job} in the {site} {place} .",
    "the {animal} followed {Q} .",
    "there was {weather} over the {site} {place} .",
    "because of the {weather} {P} stayed at home .",
    '" where is the {adj} {thing} ? " asked {Q} .',
    '" i have it " , said {P} .',
    "{P} {job} and {Q} {job2} .",
    "after that {Q} went home with the {animal} .",
    "next {day} {P} came back to {Q} .",
    "they hid the {adj} {thing} behind the {site} {place} .",
    "nobody saw {P} or the {animal} .",
]


def story(rng):
    """A story of LENGTH words: two people, a thing, a place and an animal, told of in sentences drawn at random."""
    pick = rng.choice
    p, q = zip(pick(FIRST, 2, replace=False), pick(LAST, 2, replace=False))
    fixed = {
        "P": " ".join(p),
        "Q": " ".join(q),
        "adj": pick(ADJECTIVES),
        "thing": pick(THINGS),
        "site": pick(SITES),
        "place": pick(PLACES),
        "animal": pick(ANIMALS),
    }
    words, template = [], pick(OPENINGS)
    while len(words) < LENGTH:
        fresh = {
            "day": pick(DAYS),
            "time": pick(TIMES),
            "feeling": pick(FEELINGS),
            "feeling2": pick(FEELINGS),
            "state": pick(STATES),
            "weather": pick(WEATHER),
            "job": pick(JOBS),
            "job2": pick(JOBS),
        }
        if rng.random() < 0.4:
            fixed["P"], fixed["Q"] = fixed["Q"], fixed["P"]
        words += template.format(**fixed, **fresh).split()
        template = pick(SENTENCES)
    return words[:LENGTH]


def vocabulary():
    """All words of the grammar, in the order of the alphabet."""
    words = set()
    for group in (
        FIRST,
        LAST,
        ADJECTIVES,
        THINGS,
        PLACES,
        SITES,
        DAYS,
        TIMES,
        FEELINGS,
        STATES,
        ANIMALS,
        WEATHER,
        JOBS,
    ):
        words.update(group)
    for template in OPENINGS + SENTENCES:
        words.update(word for word in template.split() if "{" not in word)
    return sorted(words)


def stories(rng, count, numbers):
    return np.array([[numbers[word] for word in story(rng)] for _ in range(count)])


def build(words):
    """The Keras model, not yet trained: token numbers (batch, L) to logits (batch, L, words)."""
    import keras
    from keras import ops

    class Embed(keras.layers.Layer):
        """Token and position vectors; `logits` compares with the same token vectors."""

        def __init__(self):
            super().__init__(name="embed")
            small = keras.initializers.RandomNormal(stddev=0.1)
            start = keras.initializers.Constant(0.15 * waves(LENGTH, SIZE))
            self.tokens = self.add_weight(shape=(words, SIZE), initializer=small, name="tokens")
            self.positions = self.add_weight(
                shape=(LENGTH, SIZE), initializer=start, name="positions"
            )

        def call(self, numbers):
            return ops.take(self.tokens, numbers, axis=0) + self.positions[: numbers.shape[1]]

    class Logits(keras.layers.Layer):
        def __init__(self, embed):
            super().__init__(name="logits")
            self.embed = embed

        def call(self, x):
            return ops.matmul(x, ops.transpose(self.embed.tokens))

    def norm(name):
        return keras.layers.LayerNormalization(epsilon=1e-5, name=name)

    def gelu(x):
        return keras.activations.gelu(x, approximate=True)

    tokens = keras.Input((LENGTH,), dtype="int32")
    embed = Embed()
    x = embed(tokens)
    for n in range(LAYERS):
        y = norm(f"norm_1_{n}")(x)
        attention = keras.layers.MultiHeadAttention(
            HEADS,
            SIZE // HEADS,
            use_bias=False,
            # Keras's own choice is much smaller here: all heads would begin, and stay for long, nearly alike.
            kernel_initializer=keras.initializers.RandomNormal(stddev=SIZE**-0.5),
            name=f"attention_{n}",
        )
        x = x + attention(y, y, use_causal_mask=True)
        y = norm(f"norm_2_{n}")(x)
        y = keras.layers.Dense(HIDDEN, activation=gelu, name=f"wide_{n}")(y)
        x = x + keras.layers.Dense(SIZE, name=f"narrow_{n}")(y)
    return keras.Model(tokens, Logits(embed)(norm("norm")(x)))


def parameters_of(model):
    """The model's weights under the names of the lab, as NumPy arrays."""

    def arrays(name):
        return [np.asarray(w) for w in model.get_layer(name).get_weights()]

    found = dict(zip(("tokens", "positions"), arrays("embed")))
    for n in range(LAYERS):
        named = dict(zip(("gain_1", "bias_1"), arrays(f"norm_1_{n}")))
        w_q, w_k, w_v, w_o = arrays(
            f"attention_{n}"
        )  # (d, heads, d_head) three times, (heads, d_head, d)
        named |= {
            "w_q": w_q.reshape(SIZE, -1),
            "w_k": w_k.reshape(SIZE, -1),
            "w_v": w_v.reshape(SIZE, -1),
        }
        named["w_o"] = w_o.reshape(-1, SIZE)
        named |= zip(("gain_2", "bias_2"), arrays(f"norm_2_{n}"))
        named |= zip(("w_1", "b_1"), arrays(f"wide_{n}"))
        named |= zip(("w_2", "b_2"), arrays(f"narrow_{n}"))
        found |= {f"block_{n}.{name}": array for name, array in named.items()}
    return found | dict(zip(("gain", "bias"), arrays("norm")))


def train(seed, stories_count=STORIES):
    """Train from random numbers; return parameters, training stories and held-out stories."""
    import keras

    keras.utils.set_random_seed(seed)
    names = vocabulary()
    numbers = {word: n for n, word in enumerate(names)}
    rng = np.random.default_rng(seed)
    text = stories(rng, stories_count, numbers)
    rows = np.concatenate([text, repeated(rng, stories_count * LISTS // STORIES, len(names))])
    rng.shuffle(rows)
    steps = len(rows) // BATCH
    model = build(len(names))
    rate = keras.optimizers.schedules.CosineDecay(
        1e-4, steps, 1e-2, warmup_target=3e-3, warmup_steps=steps // 20
    )
    model.compile(
        keras.optimizers.AdamW(rate, weight_decay=0.01, beta_2=0.98, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1),
    )

    def batches():
        for n in range(steps):
            x = rows[n * BATCH : (n + 1) * BATCH]
            yield x, np.concatenate([x[:, 1:], np.full((BATCH, 1), -1)], axis=1)

    class Scores(keras.callbacks.Callback):
        """Print what the heads do, as training goes on."""

        def on_epoch_end(self, epoch, logs=None):
            found = scores(parameters_of(model))
            print(*(f"{name} {figure}" for name, figure in found.items()), sep="; ", flush=True)

    began = time.time()
    model.fit(
        batches(), steps_per_epoch=steps // REPORTS, epochs=REPORTS, verbose=2, callbacks=[Scores()]
    )
    print(f"trained in {time.time() - began:.0f} s")
    return parameters_of(model), model, text


# The model again in NumPy, to measure it with.


def _norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def forward(tokens, p, without=()):
    """Logits (batch, L, words) and each layer's weights (batch, heads, L, L); `without`: heads to take away."""
    length = tokens.shape[1]
    x = p["tokens"][tokens] + p["positions"][:length]
    seen = []
    for n in range(LAYERS):
        b = {
            name.split(".")[1]: array for name, array in p.items() if name.startswith(f"block_{n}.")
        }
        y = _norm(x, b["gain_1"], b["bias_1"])

        def split(w, y=y):
            return (y @ w).reshape(*y.shape[:2], HEADS, -1).swapaxes(1, 2)

        scores = split(b["w_q"]) @ split(b["w_k"]).swapaxes(-1, -2) / (SIZE // HEADS) ** 0.5
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        seen.append(weights)
        mixed = weights @ split(b["w_v"])
        for layer, head in without:
            if layer == n:
                mixed[:, head] = 0
        x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ b["w_o"]
        h = _norm(x, b["gain_2"], b["bias_2"]) @ b["w_1"] + b["b_1"]
        h = 0.5 * h * (1 + np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h**3)))
        x = x + h @ b["w_2"] + b["b_2"]
    return _norm(x, p["gain"], p["bias"]) @ p["tokens"].T, seen


def losses(logits, tokens):
    """The loss of each guess, (batch, L - 1), in nats."""
    logits = logits[:, :-1] - logits[:, :-1].max(-1, keepdims=True)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, tokens[:, 1:, None], -1)[..., 0]


def bigram_counts(text, words):
    counts = np.zeros((words, words), dtype=np.uint32)
    np.add.at(counts, (text[:, :-1], text[:, 1:]), 1)
    return counts


def scores(p):
    """Return two scores of each head, as tables (layers, heads), on random words that are repeated once.

    "previous word": how much of its attention each head gives, on average, to the word before. "induction": how much a
    word of the second time gives to the word that came after it the first time.
    """
    again = twice(np.random.default_rng(1), 100, len(p["tokens"]))
    half = again.shape[1] // 2
    _, seen = forward(again, p)
    here = np.arange(1, 2 * half)
    previous = [w[:, :, here, here - 1].mean((0, 2)) for w in seen]
    here = np.arange(half, 2 * half)
    copying = [w[:, :, here, here - half + 1].mean((0, 2)) for w in seen]
    return {
        name: [[round(float(x), 2) for x in layer] for layer in table]
        for name, table in (("previous word", previous), ("induction", copying))
    }


def measure(p, text, held):
    """Return the measurements of a trained model that data/README.md quotes, by name."""
    words = len(p["tokens"])
    counts = bigram_counts(text, words) + 0.1
    table = np.log(counts / counts.sum(1, keepdims=True))
    again = twice(np.random.default_rng(1), 100, words)
    half = again.shape[1] // 2
    previous, copying = scores(p).values()

    def second(**kw):
        return losses(forward(again, p, **kw)[0], again)[:, half:].mean()

    best = np.unravel_index(np.argmax(copying), np.shape(copying))
    logits, _ = forward(held, p)
    return {
        "held-out loss": losses(logits, held).mean(),
        "bigram": -table[held[:, :-1], held[:, 1:]].mean(),
        "uniform": np.log(words),
        "previous word": previous,
        "induction": copying,
        "loss, first time": losses(forward(again, p)[0], again)[:, : half - 1].mean(),
        "loss, second time": second(),
        "each head away": [
            [round(float(second(without=[(n, h)])), 2) for h in range(HEADS)] for n in range(LAYERS)
        ],
        "best away": (tuple(int(i) for i in best), second(without=[best])),
        "stories, each head away": [
            [
                round(float(losses(forward(held, p, [(n, h)])[0], held).mean()), 2)
                for h in range(HEADS)
            ]
            for n in range(LAYERS)
        ],
    }


def twice(rng, count, words, half=24):
    """Random different words, said twice: (count, 2 * half)."""
    once = np.array([rng.permutation(words)[:half] for _ in range(count)])
    return np.concatenate([once, once], axis=1)


def main(argv=None):
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument(
        "--seeds", type=int, nargs="+", help="measure these trainings and write nothing"
    )
    reader.add_argument("--stories", type=int, default=STORIES, help="how many to train on")
    reader.add_argument(
        "--only-stories", action="store_true", help="write data/stories.npz, train nothing"
    )
    reader.add_argument("--out", type=Path, help="another place for the model")
    given = reader.parse_args(argv)
    names = vocabulary()
    numbers = {word: n for n, word in enumerate(names)}
    if given.only_stories:
        text = stories(np.random.default_rng(0), SHIPPED, numbers).astype(np.uint8)
        np.savez_compressed(STORIES_FILE, stories=text)
        print(f"{STORIES_FILE.name}: {STORIES_FILE.stat().st_size / 1e6:.2f} MB")
        return 0
    held = stories(np.random.default_rng(1_000_000), 200, numbers)
    for seed in given.seeds or [0]:
        p, model, text = train(seed, given.stories)
        known = {row.tobytes() for row in text}
        assert not any(row.tobytes() in known for row in held), "a held-out story was trained on"
        gap = np.abs(forward(held[:8], p)[0] - model.predict(held[:8], verbose=0)).max()
        assert gap < 1e-3, f"NumPy and Keras differ by {gap}"
        print(f"seed {seed}: {sum(a.size for a in p.values())} parameters, {len(names)} words")
        for name, figure in measure(p, text, held).items():
            print(f"  {name}: {figure}")
        if given.out or not given.seeds:
            write(given.out or OUT, p, names, held, bigram_counts(text, len(names)))
    return 0


def write(path, p, names, held, counts):
    kept = {name: array.astype(np.float32) for name, array in p.items()}
    kept |= {"layers": np.array(LAYERS), "heads": np.array(HEADS), "words": np.array(names)}
    kept |= {"held_out": held.astype(np.uint16), "bigram_counts": counts}
    np.savez_compressed(path, **kept)
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    sys.exit(main())
