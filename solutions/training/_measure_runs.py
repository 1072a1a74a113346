"""Measure the trainings that the lab `training` compares: five starts, and what changes with this and that.

    python solutions/training/_measure_runs.py          # writes data/training_runs.csv; a minute of one core each

Everything that trains is the lab's own solution. What is kept of a run is said in data/README.md.
"""

import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_labs import tiny_model, training  # noqa: E402
from autograder.authoring.lab import read_lab  # noqa: E402
from autograder.core.course import read_course  # noqa: E402
from autograder.core.files import write_file  # noqa: E402

STEPS, EVERY = 3000, 100
RUNS: dict[str, dict] = {
    **{f"start {seed}": {"seed": seed} for seed in range(5)},
    "half of the stories": {"seed": 0, "stories": 16_000},
    "a twentieth of the stories": {"seed": 0, "stories": 1_600},
    "ten times the rate": {"seed": 0, "peak": 3e-2},
    "attention begins ten times smaller": {"seed": 0, "attention": 0.1},
    "all matrices equally large (seed 3)": {"seed": 3, "careful": False},
    "all matrices equally large (seed 4)": {"seed": 4, "careful": False},
}


def measure(lab, seed=0, stories=None, peak=3e-3, **how):
    """Points (step, loss, induction) of one training, its held-out loss, and its seconds of CPU."""
    held_out, points, recent = tiny_model.load().held_out, [], []
    began = time.process_time()

    def watch(step, loss, parameters):
        recent.append(loss)
        if step == 1 or step % EVERY == 0:
            points.append((step, float(np.mean(recent[-EVERY:])), lab.best_induction(parameters)))

    run = lab.start(seed, **how)
    lab.train(run, training.stories()[:stories], watch, STEPS, peak=peak)
    seconds = time.process_time() - began
    return points, float(lab.losses(held_out, tiny_model.nested(run["parameters"])).mean()), seconds


def main(names):
    lab = read_lab(read_course(ROOT), "training").reference
    rows = []
    for name in names or RUNS:
        points, held_out, seconds = measure(lab, **RUNS[name])
        print(
            f"{name}: held-out loss {held_out:.3f}, induction {points[-1][2]:.2f}, {seconds:.0f} s",
            flush=True,
        )
        for step, loss, score in points:
            print(f"    {step:>5} {loss:.3f} {score:.3f}", flush=True)
            rows.append((name, step, f"{loss:.4f}", f"{score:.4f}", f"{held_out:.4f}"))
    if not names:
        lines = [("run", "step", "loss", "induction", "held_out"), *rows]
        write_file(training.RUNS, "".join(",".join(map(str, line)) + "\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
