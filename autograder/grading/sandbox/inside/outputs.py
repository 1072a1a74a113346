"""What one cell shows, as its outputs come in from the hand-in: checked, merged, cleared, updated, cut."""

import json
from typing import Any

from autograder.grading.sandbox.inside import wire

MAX_ERROR = 50_000  # bytes of one error with its traceback
MAX_ERRORS = 500_000  # of all errors together that come after a flood


class Budget:
    """How much of a hand-in's output is kept, over all its cells."""

    def __init__(self, output_bytes: int, outputs: int) -> None:
        self.left, self.most, self.outputs = output_bytes, output_bytes, outputs
        self.errors = MAX_ERRORS


class Outputs:
    """One cell's outputs.

    Parameters
    ----------
    budget : Budget
        Shared by the cells of a hand-in.

    Examples
    --------
    >>> outputs = Outputs(Budget(output_bytes=1000, outputs=10))
    >>> for text in ("a", "b"):
    ...     stream = {"output_type": "stream", "name": "stdout", "text": text}
    ...     outputs.take({"op": "output", "output": stream, "id": None, "update": False}, count=1)
    >>> outputs.kept()
    [{'output_type': 'stream', 'name': 'stdout', 'text': 'ab'}]
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._outputs: list[dict[str, Any]] = []
        self._ids: dict[str, dict[str, Any]] = {}
        self._clear = self._cut = False
        self._errors = 0

    def take(self, event: dict[str, Any], count: int | None) -> None:
        """An "output" or "clear" event from the hand-in; raises WireError for any other."""
        if event["op"] == "clear" and set(event) == {"op", "wait"}:
            self._clear = True
            if event["wait"] is not True:
                self._do_clear()
            return
        if event["op"] != "output" or set(event) != {"op", "output", "id", "update"}:
            raise wire.WireError("no such event")
        output, name = wire.check_output(event["output"]), event["id"]
        if self._clear:
            self._do_clear()
        if name is not None and not isinstance(name, str):
            raise wire.WireError("an id is text")
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
        if event["update"] is True:
            if name in self._ids and "data" in output and self._pay(output, None):
                self._ids[name]["data"] = output["data"]
            return
        self._add(output, name)

    def _add(self, output: dict[str, Any], name: str | None) -> None:
        last = self._outputs[-1] if self._outputs else {}
        kind, paid = output["output_type"], False
        if kind == "stream":
            left = max(0, self._budget.left - 100)
            output["text"], rest = output["text"][:left], output["text"][left:]
            self._cut |= bool(rest)
        if kind == "error":
            self._errors += 1  # what went wrong is shown even after a flood
            paid = self._errors <= 3 and (self._pay(output, name) or self._pay_after_all(output))
        else:
            paid = self._pay(output, name)
        if paid and kind == "stream" == last.get("output_type") and last["name"] == output["name"]:
            last["text"] += output["text"]
        elif paid and len(self._outputs) < self._budget.outputs:
            self._outputs.append(output)
            if name is not None and "data" in output:
                self._ids[name] = output
        else:
            self._cut = True

    def _pay(self, output: dict[str, Any], name: str | None) -> bool:
        """Take the bytes of an output, and of the id that is kept with it, from what is left, if there are so many."""
        size = len(json.dumps([output, name], ensure_ascii=False).encode("utf-8", "replace"))
        if size > self._budget.left:
            return False
        self._budget.left -= size
        return True

    def _pay_after_all(self, output: dict[str, Any]) -> bool:
        size = len(json.dumps(output))
        if size > min(MAX_ERROR, self._budget.errors):
            return False
        self._budget.errors -= size
        return True

    def _do_clear(self) -> None:
        self._outputs, self._ids, self._clear = [], {}, False

    def stopped(self, why: str) -> None:
        """Say in the outputs why the cell was stopped."""
        self._outputs.append(
            {"output_type": "error", "ename": "Stopped", "evalue": why, "traceback": [f"Stopped: {why}"]}
        )

    def kept(self) -> list[dict[str, Any]]:
        """What there is to show."""
        if not self._cut:
            return self._outputs
        text = f"[More was printed or shown here; of each notebook {self._budget.most >> 10} kB are kept.]\n"
        return [*self._outputs, {"output_type": "stream", "name": "stderr", "text": text}]
