"""Which attempt counts, where the best one does: `attempts = "best"` under [policy] in course.toml.

Each attempt is judged, and the one counts whose points, marked by the grader, are the most after its own lateness; of
equal ones the newest. It counts whole: its answers, its time, the marks given by hand for it. What each came to is kept in
results/<student>/<lab>.attempts, and which earlier one counts in results/<student>/<lab>.counts.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from autograder.authoring.lab import Lab
from autograder.files import read_json, write
from autograder.grading.marking import Marked
from autograder.grading.nbgrader.gradebook import utc_of
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy, Timing, naive
from autograder.grading.register.roll import read_roll
from autograder.grading.run.pool import Options, Pool
from autograder.results import Verdict


def choose_attempts(
    classroom: Classroom,
    labs: Mapping[str, Lab],
    handed_in: Iterable[tuple[str, str]],
    policy: Policy,
    pool: Pool,
    options: Options,
    force: bool = False,
) -> Iterator[str]:
    """Settle for each of these hand-ins which attempt counts, judging those that are not known yet.

    Yields
    ------
    str
        What was odd, a sentence each.
    """
    roll = read_roll(classroom)
    extensions, times = roll.extensions(policy), roll.times(policy)
    found: dict[tuple[str, str], dict[str, tuple[str, datetime | None]]] = {}
    for who in handed_in:  # one student's at a time: of all there are too many bytes to hold
        attempts = classroom.attempts(*who)
        if len(attempts) > 1:
            found[who] = {
                name: (
                    evidence.fingerprint(one, labs[who[1]], options),
                    times.get(who) or utc_of(one.timestamp),
                )
                for name, one in attempts.items()
            }
    known = {who: {} if force else read_json(classroom.result_path(*who, "attempts")) for who in found}
    todo = [
        (who, name) for who in found for name, (stamp, _) in found[who].items() if stamp not in known[who]
    ]
    waiting = (one for who, name in todo if (one := classroom.attempt(*who, name)))
    for submission, outcome in pool.mark_all(waiting):
        who = submission.student, submission.lab
        if isinstance(outcome, Marked) and not outcome.faults:
            stamp = evidence.fingerprint(submission, labs[who[1]], options)
            known[who][stamp] = [row.exercise for row in outcome.rows if row.verdict is Verdict.PASS]
        else:
            yield f"{who[0]}, {who[1]}: one of several attempts could not be judged, and is no choice yet."
    for who, attempts_of in found.items():
        points, due, worth = policy.points[who[1]], policy.due[who[1]], dict[str, float]()
        for name, (stamp, at) in attempts_of.items():
            if (passed := known[who].get(stamp)) is not None:
                raw = sum(points.get(exercise, 0.0) for exercise in passed)
                worth[name] = raw - policy.penalty(raw, Timing(at, due and naive(due), extensions.get(who)))
        best = max(worth, key=worth.__getitem__, default="")  # of equal ones the first: the newest
        still = {stamp: known[who][stamp] for stamp, _ in attempts_of.values() if stamp in known[who]}
        write(classroom.result_path(*who, "attempts"), json.dumps(still))
        path = classroom.result_path(*who, "counts")
        if best:
            write(path, best)
        else:
            path.unlink(missing_ok=True)
