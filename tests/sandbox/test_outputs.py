"""Outputs of one cell: what clears them, and the limits of what is kept."""

from types import SimpleNamespace

from autograder.sandbox.inside import ipython_shell, outputs
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


def display(text, display_id=None, update=False, kind="display_data"):
    output = {"output_type": kind, "data": {"text/plain": text}, "metadata": {}}
    if kind == "execute_result":
        output["execution_count"] = None
    return {"op": "output", "output": output, "id": display_id, "update": update}


def shown(*events, count=1):
    cell = CellOutputs(OutputBudget(output_bytes=1_000_000, outputs=200))
    for event in events:
        cell.handle_message(event, count=count)
    return [
        output.get("text") or output.get("data", {}).get("text/plain") for output in cell.to_list()
    ]


def test_a_display_is_replaced_by_its_update_and_others_stay():
    for display_id, expected in (("bar", ["1 of 2", "other"]), ("unknown", ["0 of 2", "other"])):
        bar, other = display("0 of 2", "bar"), display("other", "other")
        assert shown(bar, other, display("1 of 2", display_id, update=True)) == expected
    assert shown(display("plain"), display("x", None, update=True)) == ["plain"]


def test_updates_of_a_display_share_the_budget_for_output():
    budget = OutputBudget(output_bytes=1_000, outputs=200)
    cell = CellOutputs(budget)
    cell.handle_message(display("first", "d"), count=1)
    for number in range(10):
        cell.handle_message(display(f"{number}" * 300, "d", update=True), count=1)
    (output,) = cell.to_list()
    assert output["data"] == {"text/plain": "1" * 300}, "the third update is one too many"
    assert 0 <= budget.remaining_bytes < 300


def test_text_on_stderr_and_text_after_a_picture_stand_by_themselves():
    warning = stream("w")
    warning["output"]["name"] = "stderr"
    assert shown(stream("a"), warning, stream("b")) == ["a", "w", "b"]
    assert shown(stream("a"), display("p"), stream("b"), stream("c")) == ["a", "p", "bc"]


def test_a_result_has_the_number_of_its_cell():
    cell = CellOutputs(OutputBudget(output_bytes=1_000, outputs=200))
    cell.handle_message(display("3", kind="execute_result"), count=7)
    cell.add_stop_error("It did not end.")
    result, error = cell.to_list()
    assert result["execution_count"] == 7
    assert (error["ename"], error["evalue"]) == ("Stopped", "It did not end.")
    assert error["traceback"] == ["Stopped: It did not end."]


def test_a_remark_says_that_more_was_shown_and_how_much_is_kept():
    remark = "[More was printed or shown here; of each notebook 2 kB are kept.]\n"
    assert texts(*[stream("x" * 900)] * 4, output_bytes=2 << 10)[-1] == remark
    pictures = [display(str(number)) for number in range(4)]
    assert len(texts(*pictures, number=3)) == 4
    assert texts(stream("x"), output_bytes=2 << 10) == ["x"]


def test_a_long_error_is_cut():
    shown = []
    shell = SimpleNamespace(emitter=SimpleNamespace(emit_error=lambda *parts: shown.append(parts)))
    limits = (
        ipython_shell._MAX_ERROR_NAME_CHARACTERS,
        ipython_shell._MAX_ERROR_MESSAGE_CHARACTERS,
        ipython_shell._MAX_TRACEBACK_CHARACTERS,
    )
    for more in (0, 1):
        name, message, line = ("x" * (limit + more) for limit in limits)
        error_class = type(name, (Exception,), {})
        ipython_shell.Shell.show_error(shell, error_class, error_class(message), [line])
    longest, cut = shown
    assert longest == (*("x" * limit for limit in limits[:2]), ["x" * limits[2]])
    half = "x" * (limits[2] // 2)
    assert cut == (*longest[:2], [half, "[...]", half])
