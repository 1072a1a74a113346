"""Keep what the heads of the tiny model's second layer ask, hold and hand over where there is nothing to find.

    python solutions/long-contexts/_keep_sinks.py          # writes data/sinks.npz, in some seconds

The model is data/tiny_model.npz; it is run with the solution of the lab `tiny-transformer`.
"""

import io
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_labs import tiny_model  # noqa: E402
from autograder.authoring.lab import read_lab  # noqa: E402
from autograder.core.course import read_course  # noqa: E402
from autograder.core.files import write_file  # noqa: E402

TEXTS, LENGTH = 12, 20


def kept(lab, model):
    """Queries, keys and values of layer 1: (heads, texts, words, d_head) each, of random words, none of them twice."""
    rng = np.random.default_rng(5)
    words = np.array([rng.permutation(len(model.words))[:LENGTH] for _ in range(TEXTS)])
    first, second = model.parameters["blocks"]
    x = model.parameters["tokens"][words] + model.parameters["positions"][:LENGTH]
    x = lab.transformer_block(x, first, model.heads, np.tri(LENGTH, dtype=bool))
    y = lab.layer_norm(x, second["gain_1"], second["bias_1"])
    return {
        name: lab.split_heads(y @ second[table], model.heads).swapaxes(0, 1).astype(np.float16)
        for name, table in (("queries", "w_q"), ("keys", "w_k"), ("values", "w_v"))
    }


if __name__ == "__main__":
    file = io.BytesIO()
    np.savez_compressed(
        file, **kept(read_lab(read_course(ROOT), "tiny-transformer").reference, tiny_model.load())
    )
    write_file(tiny_model.SINKS, file.getvalue())
    print(f"{tiny_model.SINKS.name}: {len(file.getvalue()) / 1000:.0f} kB")
