"""Grade a lab's solution as a submission, to prove that a right answer gets full marks.

Building calls the reference in the author's own process, where no limit of time, memory or size
holds. Grading has such limits, and runs the cells in another process.
"""

from autograder.authoring.lab import Lab
from autograder.platforms.grade_one import grade_for_platform


def describe_solutions_without_full_score(lab: Lab) -> list[str]:
    """Return a sentence for each exercise whose solution gets less than all points when it is graded.

    The solution is the author's own code, so it runs without isolation from this machine. The
    limits of a submission are enforced.
    """
    graded = grade_for_platform(lab.course, lab.solution_path, lab.name, lambda: "none")
    if graded.fault:
        return [f"{lab.name}: its solution cannot be graded. {graded.fault}"]
    sentences = []
    for result in graded.automatic_results:
        if result.score != result.max_score:
            sentences.append(
                f"{lab.name}: {result.exercise}: the solution does not get its points when it is "
                f"graded as a submission: {result.message} Make its cases smaller, or change "
                "`[limits]` in lab.toml."
            )
    return sentences
