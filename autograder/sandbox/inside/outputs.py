"""Collect the outputs of a cell as nbformat has them, and cut them if there are too many."""

import json
from typing import Any

from autograder.sandbox.inside import protocol

# Maximal size of one error with its traceback, and of all errors of a submission together. They are
# kept even if the submission has printed more than is kept of its output.
MAX_ERROR_BYTES = 50_000
MAX_ERRORS_BYTES = 500_000
MAX_ERRORS_PER_CELL = 3


class OutputBudget:
    """Amount of output that may still be kept of a submission; all its cells share it."""

    def __init__(self, output_bytes: int, outputs: int) -> None:
        self.remaining_bytes, self.total_bytes = output_bytes, output_bytes
        self.max_outputs = outputs  # the number of outputs that are kept of each cell
        self.remaining_error_bytes = MAX_ERRORS_BYTES


class CellOutputs:
    """Outputs of one cell, collected from the messages that a submission sends.

    Parameters
    ----------
    budget : OutputBudget
        What may still be kept; all cells of a submission share it.

    Examples
    --------
    >>> outputs = CellOutputs(OutputBudget(output_bytes=1000, outputs=10))
    >>> for text in ("a", "b"):
    ...     stream = {"output_type": "stream", "name": "stdout", "text": text}
    ...     event = {"op": "output", "output": stream, "id": None, "update": False}
    ...     outputs.handle_message(event, count=1)
    >>> outputs.to_list()
    [{'output_type': 'stream', 'name': 'stdout', 'text': 'ab'}]
    """

    def __init__(self, budget: OutputBudget) -> None:
        self._budget = budget
        self._outputs: list[dict[str, Any]] = []
        self._ids: dict[str, dict[str, Any]] = {}
        self._clear_pending = self._is_cut = False
        self._errors = 0

    def handle_message(self, event: dict[str, Any], count: int | None) -> None:
        """Add an output to those of the cell, or delete the outputs so far, as a message says.

        Raise ProtocolError for any other message. `count` is the cell's execution count.
        """
        if event["op"] == "clear" and set(event) == {"op", "wait"}:
            self._clear_pending = True
            if event["wait"] is not True:
                self._clear_outputs()
            return
        if event["op"] != "output" or set(event) != {"op", "output", "id", "update"}:
            raise protocol.ProtocolError("no such event")
        output, display_id = protocol.validate_and_strip_output(event["output"]), event["id"]
        if self._clear_pending:
            self._clear_outputs()
        if display_id is not None and not isinstance(display_id, str):
            raise protocol.ProtocolError("an id is text")
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
        if event["update"] is True:
            if display_id in self._ids and "data" in output and self._charge(output, None):
                self._ids[display_id]["data"] = output["data"]
            return
        self._append_within_budget(output, display_id)

    def _append_within_budget(self, output: dict[str, Any], display_id: str | None) -> None:
        last = self._outputs[-1] if self._outputs else {}
        kind = output["output_type"]
        if kind == "stream":
            max_characters = max(0, self._budget.remaining_bytes - 100)
            self._is_cut |= len(output["text"]) > max_characters
            output["text"] = output["text"][:max_characters]
        if kind == "error":
            self._errors += 1
            is_paid = self._errors <= MAX_ERRORS_PER_CELL and (
                self._charge(output, display_id) or self._take_from_error_reserve(output)
            )
        else:
            is_paid = self._charge(output, display_id)
        is_same_kind = kind == last.get("output_type")
        if is_paid and kind == "stream" and is_same_kind and last["name"] == output["name"]:
            last["text"] += output["text"]
        elif is_paid and len(self._outputs) < self._budget.max_outputs:
            self._outputs.append(output)
            if display_id is not None and "data" in output:
                self._ids[display_id] = output
        else:
            self._is_cut = True

    def _charge(self, output: dict[str, Any], display_id: str | None) -> bool:
        """Subtract an output's size from the amount that may be kept; return False if too big."""
        size = len(json.dumps([output, display_id], ensure_ascii=False).encode("utf-8", "replace"))
        if size > self._budget.remaining_bytes:
            return False
        self._budget.remaining_bytes -= size
        return True

    def _take_from_error_reserve(self, output: dict[str, Any]) -> bool:
        """Subtract an error's size from the amount reserved for errors; return False if too big.

        Because of this reserve an error is shown even if the notebook has printed too much before.
        """
        size = len(json.dumps(output))
        if size > min(MAX_ERROR_BYTES, self._budget.remaining_error_bytes):
            return False
        self._budget.remaining_error_bytes -= size
        return True

    def _clear_outputs(self) -> None:
        self._outputs, self._ids, self._clear_pending = [], {}, False

    def add_stop_error(self, reason: str) -> None:
        """Add an error output that says why the cell was stopped."""
        traceback = [f"Stopped: {reason}"]
        self._outputs.append(
            {"output_type": "error", "ename": "Stopped", "evalue": reason, "traceback": traceback}
        )

    def to_list(self) -> list[dict[str, Any]]:
        """Return the outputs, followed by a remark if some were left out or cut."""
        if not self._is_cut:
            return self._outputs
        kilobytes = self._budget.total_bytes >> 10
        text = f"[More was printed or shown here; of each notebook {kilobytes} kB are kept.]\n"
        return [*self._outputs, {"output_type": "stream", "name": "stderr", "text": text}]
