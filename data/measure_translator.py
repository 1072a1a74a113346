"""Measure the translator of the lab `keras-translator` over five starts, with and without its encoder block.

    python data/measure_translator.py             writes data/translator_runs.csv; some ten minutes
    python data/measure_translator.py START …     does these starts again, and keeps the others

It runs the solution notebook's own functions, on the backend in KERAS_BACKEND.
"""

import csv
import sys
from pathlib import Path
from time import process_time

from attention_labs import start_keras
from attention_labs.alignment import share_found
from autograder.authoring.lab import read_lab
from autograder.core.course import read_course

STEPS = 1000
TABLE = Path(__file__).with_name("translator_runs.csv")
COLUMNS = [
    "start",
    "encoder block",
    "seconds",
    "next words",
    "sentences",
    "links found",
    "links asked",
]


def measured(lab, start: int, encoder_block: bool) -> list:
    """One row of the table: processor seconds of training, two shares of what is held out, and linked words found."""
    import keras

    keras.utils.set_random_seed(start)
    began = process_time()
    model = lab.train(lab.translator(encoder_block), steps=STEPS, seed=start)
    seconds = process_time() - began
    words, sentences = lab.evaluate(model, lab.held_out)
    found, asked = share_found(lab.cross_attention_weights(model), lab.french_words)
    return [
        start, int(encoder_block), f"{seconds:.1f}", f"{words:.4f}", f"{sentences:.4f}", found, asked,
    ]  # fmt: skip


def main() -> int:
    start_keras()
    lab = read_lab(read_course(Path(__file__).parents[1]), "keras-translator").reference
    rows = {}
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            rows = {(row[0], row[1]): row for row in list(csv.reader(file))[1:]}
    for start in map(int, sys.argv[1:] or range(5)):
        for encoder_block in (True, False):
            row = [str(cell) for cell in measured(lab, start, encoder_block)]
            rows[row[0], row[1]] = row
            print(*row, flush=True)
            with TABLE.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, *sorted(rows.values())])
    return 0


if __name__ == "__main__":
    sys.exit(main())
