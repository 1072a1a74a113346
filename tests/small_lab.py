"""A lab of one exercise, for tests of judging and authoring."""

from types import SimpleNamespace

from autograder.authoring import Exercise


def lab_of(reference, *cases, **rules):
    """Make a lab of one exercise with these cases, functions of a random generator."""
    exercise = Exercise("answer", points=1, **rules)
    exercise.__dict__["reference"] = reference
    for number, case in enumerate(cases):
        exercise.case(f"case {number}")(case)
    exercise.lab = SimpleNamespace(
        name="a-lab",
        exercises={"answer": exercise},
        reference=SimpleNamespace(answer=reference),
        exercises_by_answer_cell={"answer": exercise},
        cells=[],
        reference_cells={},
        allowed_packages=frozenset(),
        limits={},
        mark_schemes=dict,
        run_reference_cells=lambda: SimpleNamespace(answer=reference),
    )
    return exercise.lab
