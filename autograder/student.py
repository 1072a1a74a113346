"""What a lab notebook calls: `check` an exercise, see your `progress`."""

import inspect
import sys

from autograder import keys
from autograder.answer import ask
from autograder.judge import judge
from autograder.results import Verdict


class CheckFailed(AssertionError):
    """An exercise is not right yet. Its text is the whole message; its traceback is one line."""

    def __init__(self, message: str, line: str = ""):
        super().__init__(message)
        self._line = line or message

    def _render_traceback_(self):  # IPython shows this in place of the stack
        return [self._line]


_passed: dict[str, bool] = {}


def check(answer) -> None:
    """Try your function on the visible cases and say what kind of mistake it makes, if any.

    Parameters
    ----------
    answer : callable
        Your function (or layer class), under the name that the exercise gives it: ``check(softmax)``.

    Raises
    ------
    CheckFailed
        If a case is not right, so that graders see the failure as well.
    """
    key = _key_for(answer)
    answers = [ask(answer, question.inputs, key.rules.call) for question in key.questions]
    finding = judge(key.questions, answers, key.rules, key.misconceptions)
    _passed[key.name] = finding.verdict is Verdict.PASS
    if finding.verdict is Verdict.PASS:
        for question in key.questions:
            print(f"✓ {question.label}")
        print(f"{key.name}: right in all {len(answers)} cases. {_points(key.points)}.")
        return
    from autograder.compare import first_difference
    from autograder.feedback import as_html, as_text

    right = 0
    stub = finding.kind == "error" and "NotImplementedError" in answers[finding.case].error
    for question, given in zip(key.questions, answers, strict=True):
        good = first_difference(question.expected, given, key.rules) is None
        right += good
        if not stub:
            print(f"{'✓' if good else '✗'} {question.label}")
    shown = key.questions[finding.case], answers[finding.case], key.rules
    _show(as_text(finding, *shown), lambda: as_html(finding, *shown))
    summary = f"{key.name}: {right} of {len(answers)} cases are right."
    if stub:
        summary = f"{key.name}: not written yet."
    raise CheckFailed(f"{key.name}: {finding.message}", summary)


def ready(*answers) -> bool:
    """Whether these functions are right, for cells that show what they do; says what is awaited.

    Parameters
    ----------
    *answers : callable
        Functions written for exercises of the lab: ``if ready(softmax): …``
    """
    waiting = []
    for answer in answers:
        key = keys.load(answer.__name__)
        given = [ask(answer, question.inputs, key.rules.call) for question in key.questions]
        if judge(key.questions, given, key.rules, ()).verdict is not Verdict.PASS:
            waiting.append(answer.__name__)
    if waiting:
        print(f"This cell waits for: {', '.join(waiting)}.")
    return not waiting


def progress(lab: str | None = None) -> None:
    """Show a lab's exercises, their points, and which have passed their check in this session.

    Parameters
    ----------
    lab : str, optional
        The lab's name; by default the lab of the exercise checked last.
    """
    entries = keys.index()
    lab = lab or next((entries[name]["lab"] for name in reversed(_passed)), None)
    if lab not in {entry["lab"] for entry in entries.values()}:
        known = ", ".join(sorted({entry["lab"] for entry in entries.values()}))
        raise CheckFailed(
            f"progress() needs the name of a lab, one of {known}."
            if lab is None
            else f"There is no lab {lab!r}; the labs are {known}."
        )
    earned = total = 0
    for name, entry in entries.items():
        if entry["lab"] != lab:
            continue
        total += entry["points"]
        state = _passed.get(name)
        earned += entry["points"] if state else 0
        mark = {True: "✓", False: "✗", None: "·"}[state]
        print(f"{mark} {name:<28} {_points(entry['points'])}")
    print(f"{lab}: {earned:g} of {total:g} points so far (explain questions are marked by hand).")


def _key_for(answer) -> keys.Key:
    name = answer if isinstance(answer, str) else getattr(answer, "__name__", None)
    if isinstance(answer, str) or not callable(answer):
        what = f"the text {answer!r}" if isinstance(answer, str) else f"a {type(answer).__name__}"
        raise CheckFailed(
            f"check needs the function itself, not {what}: write its name without quotes, "
            "brackets or arguments, as in check(softmax)."
        )
    if name not in keys.index():
        raise CheckFailed(
            f"No exercise is called {name!r}; give the function the name that the stub had. "
            f"The exercises are {', '.join(keys.index())}."
        )
    key = keys.load(name)
    if key.rules.call == "function":
        for question in key.questions:
            _fits(answer, name, question.inputs)
    return key


def _fits(function, name, given) -> None:
    """Say in one sentence when a function cannot take the exercise's arguments at all."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return
    try:
        signature.bind(*given.args, **given.kwargs)
    except TypeError as error:
        named = ", ".join([f"{len(given.args)} arguments", *(f"{k}=…" for k in given.kwargs)])
        raise CheckFailed(
            f"{name}{signature} cannot be called with {named} ({error}): "
            "put the stub's first line back as it was."
        ) from None


def _points(points: float) -> str:
    return f"{points:g} point{'' if points == 1 else 's'}"


def _show(text: str, html) -> None:
    """Rich where there is a display for it, plain text elsewhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and getattr(shell, "kernel", None) is not None:
        from IPython.display import display

        display({"text/plain": text, "text/html": html()}, raw=True)
    else:
        print(text)
