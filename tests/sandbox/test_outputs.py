"""Outputs of one cell: what clears them, and the limits of what is kept."""

from autograder.sandbox.inside import outputs
from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget


def stream(text):
    output = {"output_type": "stream", "name": "stdout", "text": text}
    return {"op": "output", "output": output, "id": None, "update": False}


def error(text):
    output = {"output_type": "error", "ename": "ValueError", "evalue": text, "traceback": [text]}
    return {"op": "output", "output": output, "id": None, "update": False}


def texts(*events, output_bytes=1_000_000, number=200):
    cell = CellOutputs(OutputBudget(output_bytes=output_bytes, outputs=number))
    for event in events:
        cell.handle_message(event, count=1)
    return [output.get("text") or output.get("evalue") for output in cell.to_list()]


def test_outputs_are_cleared_at_once_or_before_the_next_one():
    at_once, later = ({"op": "clear", "wait": wait} for wait in (False, True))
    assert texts(stream("a"), at_once) == []
    assert texts(stream("a"), later) == ["a"]
    assert texts(stream("a"), later, stream("b")) == ["b"]
    assert texts(stream("a"), later, stream("b"), stream("c")) == ["bc"]
    assert texts(stream("a"), at_once, stream("b")) == ["b"]


def test_errors_of_a_cell_are_kept_up_to_a_number():
    errors = [error(f"error {i}") for i in range(outputs.MAX_ERRORS_PER_CELL + 2)]
    kept = [text for text in texts(*errors) if text.startswith("error ")]
    assert len(kept) == outputs.MAX_ERRORS_PER_CELL


def test_an_error_is_kept_where_the_budget_is_spent_but_not_a_huge_one():
    assert "late" in texts(error("late"), output_bytes=10)
    huge = "x" * (outputs.MAX_ERROR_BYTES + 1)
    assert huge not in texts(error(huge), output_bytes=10)


def test_the_reserve_for_errors_is_shared_by_all_cells():
    budget = OutputBudget(output_bytes=10, outputs=200)
    size = outputs.MAX_ERROR_BYTES // 3
    kept = 0
    for _ in range(3 * outputs.MAX_ERRORS_BYTES // size):
        cell = CellOutputs(budget)
        cell.handle_message(error("x" * size), count=1)
        kept += any(
            output["output_type"] == "error" and output["evalue"][:1] == "x"
            for output in cell.to_list()
        )
    assert 0 < kept <= outputs.MAX_ERRORS_BYTES // size


def test_cells_share_the_budget_for_output():
    budget, kept = OutputBudget(output_bytes=1_000, outputs=200), []
    for _ in range(5):
        cell = CellOutputs(budget)
        cell.handle_message(stream("x" * 300), count=1)
        kept.append(sum(output.get("text", "").count("x") for output in cell.to_list()))
    assert kept[0] == 300 and kept[-1] == 0
    assert sum(kept) <= 1_000 and budget.remaining_bytes >= 0
