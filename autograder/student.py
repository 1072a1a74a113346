"""What a lab notebook calls: `check` an exercise, see your `progress`."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from html import escape
from pathlib import Path
from types import CodeType
from typing import Any

from autograder import imports, keys, own
from autograder.cells import grade_id, id_of, source_of
from autograder.deadline import TookTooLong, deadline
from autograder.errors import counted, listed
from autograder.feedback import as_html, as_text, code
from autograder.judging.answer import ask
from autograder.judging.judge import Finding, because, judge
from autograder.judging.wording import article
from autograder.mending import what_mends
from autograder.own import in_a_kernel
from autograder.probing import what_moves
from autograder.results import Verdict
from autograder.workspace import cells_of, untouched


class CheckFailed(AssertionError):
    """An exercise is not right yet. Its text is the whole message; its traceback is one line."""

    def __init__(self, message: str, line: str = ""):
        super().__init__(message)
        self._line = line or message

    def _render_traceback_(self) -> list[str]:  # IPython shows this in place of the stack
        return [self._line]


class NotWrittenYet(CheckFailed):
    """The exercise stands as it was handed out."""


_passed: dict[str, bool] = {}
# Errors that no small change of the code explains better than their own sentence.
_SAY_ALL = ("asks-the-keyboard", "ends-the-program", "calls-itself", "name-not-defined", "own-assert")


def check(answer: Any) -> None:
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
    namespace = _caller()
    key = _key_for(answer, namespace)
    if stranger := imports.foreign(_own_codes(answer, namespace), namespace):
        _passed[key.name] = False
        raise CheckFailed(f"{key.name}: {imports.refusal(stranger)}")
    if not key.questions:
        said = (
            f"{key.name} is there. What it is asked is not shown here: that is found out when it is marked."
        )
        _show(said, lambda: _paragraph(said))
        return
    try:
        finding = _judged(key, answer, key.misconceptions)
        finding = _looked_into(key, answer, finding)
    except TookTooLong as why:
        _passed[key.name] = False
        raise CheckFailed(f"{key.name}: {why}") from None
    _passed[key.name] = finding.verdict is Verdict.PASS
    if finding.verdict is Verdict.PASS:
        _show_pass(key, finding)
        if key.rules.call == "function":
            own.keep(key.name, answer, namespace, lambda f: _judged(key, f).verdict is Verdict.PASS)
        return
    own_stub = finding.unwritten and "NotImplementedError" in _code(answer).co_names
    cause = "" if own_stub else _cause(key, answer, namespace) or _of_another_lab(key, finding)
    if finding.unwritten and cause:
        _show(cause, lambda: _paragraph(cause))
        raise CheckFailed(f"{key.name}: {cause}", f"{key.name}: {cause}")
    summary = "" if finding.unwritten else _show_cases(key, finding)
    _show("\n".join(filter(None, (cause, as_text(finding)))), lambda: _paragraph(cause) + as_html(finding))
    if finding.unwritten:
        raise NotWrittenYet(f"{key.name}: {finding.message}", f"{key.name}: not written yet.")
    raise CheckFailed(" ".join(filter(None, (f"{key.name}:", cause, finding.message))), summary)


def ready(*answers: Any) -> bool:
    """Whether these functions are right, for cells that show what they do; says what is awaited.

    Parameters
    ----------
    *answers : callable
        Functions written for exercises of the lab: ``if ready(softmax): …``
    """
    namespace = _caller()
    waiting = []
    for answer in answers:
        key = keys.load(_exercise_of(answer, namespace))
        try:
            right = _judged(key, answer).verdict is Verdict.PASS
        except TookTooLong:
            right = False
        if not right:
            waiting.append(key.name)
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
    labs = _labs()
    lab = lab or next((keys.lab_of(name).lab for name in reversed(_passed)), None)
    if lab not in labs:
        known = listed(labs)
        raise CheckFailed(
            f"progress() needs the name of a lab, one of {known}."
            if lab is None
            else f"There is no lab {lab!r}; the labs are {known}."
        )
    points = labs[lab].points
    for name, worth in points.items():
        mark = {True: "✓", False: "✗", None: "·"}[_passed.get(name)]
        print(f"{mark} {name:<28} {counted(worth, 'point')}")
    by_hand = labs[lab].by_hand
    for name, worth in by_hand.items():
        print(f"✎ {name:<28} {counted(worth, 'point')}, marked by a person")
    earned = sum(worth for name, worth in points.items() if _passed.get(name))
    total = sum(points.values())
    rest = (
        f"; {counted(sum(by_hand.values()), 'point')} more for what you explain in words" if by_hand else ""
    )
    print(f"{lab}: {earned:g} of {total:g} points so far{rest}.")
    if labs[lab].certificate and all(_passed.get(name) for name in points):
        print(f"\n{labs[lab].certificate.strip()}")


class answers:
    """What variables hold at this place of the notebook, as something that `check` can ask.

    Parameters
    ----------
    *names : str
        Variables of the notebook: ``answer_height = answers("height", "width")``, and then ``check(answer_height)``.
        Called, it gives a dict with a copy of each.
    """

    def __init__(self, *names: str):
        here = self.__globals__ = sys._getframe(1).f_globals  # where a test finds the notebook's functions
        self._names, self._held = names, {name: _kept(here[name]) for name in names if name in here}

    def __call__(self) -> dict[str, Any]:
        for name in self._names:
            if name not in self._held:
                raise NameError(f"name {name!r} is not defined")
        return dict(self._held)


def _kept(value: Any) -> Any:
    """A copy, so that later cells may go on with the value itself; it, where it cannot be copied."""
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - whatever a value of the notebook may raise
        return value


def whose() -> None:
    """Say which of the functions in this notebook are yours, and which the course's."""
    print(own.count(dict(_caller()), _passed))


def criteria(question: str | None = None) -> None:
    """Show what a question in words is marked by, once you have written an answer of your own.

    It reads the saved notebook, so save it first (Ctrl+S). Compare your answer with the points one by one,
    and then put it right: that is what the criteria are for.

    Parameters
    ----------
    question : str, optional
        The name of the answer's cell, such as "explain-flat"; may be left out in a notebook with one question.
    """
    here = {
        name: lab
        for lab in keys.labs().values()
        if (Path.cwd() / f"{lab.lab}.ipynb").is_file()
        for name in lab.by_hand
    }
    if question is None and len(here) == 1:
        question = next(iter(here))
    known = listed(here) or "none"
    if question not in here:
        what = (
            "criteria needs the name of a question"
            if question is None
            else f"There is no question {question!r}"
        )
        raise CheckFailed(f"{what}; in the saved notebook beside this one there are: {known}.")
    lab = here[question]
    cell = next((c for c in cells_of(Path.cwd() / f"{lab.lab}.ipynb") if id_of(c) == question), None)
    if cell is None or untouched(cell) or not source_of(cell).strip():
        raise CheckFailed(
            f"{question}: write an answer of your own first and save the notebook (Ctrl+S); then run this again."
        )
    scheme = keys.criteria_of(lab).get(question)
    if scheme is None:
        raise CheckFailed(f"{question}: what it is marked by is not given out in this course.")
    text = f"What “{question}” is marked by ({counted(lab.by_hand[question], 'point')}):\n\n{scheme}"
    if in_a_kernel():
        from IPython.display import Markdown, display

        display(Markdown(text))
    else:
        print(text)


def _judged(key: keys.Key, answer: Any, misconceptions: Any = ()) -> Finding:
    """What is to be said of the answers to the visible cases; raises `TookTooLong`."""
    answers = []
    with deadline(keys.lab_of(key.name).call_seconds, _code(answer).co_filename) as limit:
        for question in key.questions:
            limit.begin(question.label)
            answers.append(ask(answer, question.inputs, key.rules.call))
    return judge(key.questions, answers, key.rules, misconceptions, key.name)


def _looked_into(key: keys.Key, answer: Any, finding: Finding) -> Finding:
    """The finding with what is seen by asking the function again, and by changing its code, where no name says it all."""
    if finding.verdict is Verdict.PASS or finding.unwritten or finding.cause:
        return finding
    if finding.told and finding.told.difference and finding.told.difference.kind == "time":
        return finding  # each look would take as long again
    unnamed = finding.verdict is Verdict.WRONG and finding.misconception is None
    raised = finding.verdict is Verdict.ERROR and finding.misconception not in _SAY_ALL
    if not unnamed and not finding.partly and not raised:
        return finding
    tried = list(zip(key.questions, finding.right, strict=True))
    failing, fine = ([q for q, good in tried if good is right] for right in (False, True))
    moves = mends = ""
    try:
        with deadline(keys.lab_of(key.name).call_seconds, _code(answer).co_filename):
            moves = what_moves(answer, failing, key.rules, key.idle, fine) if unnamed else ""
            mends = what_mends(answer, failing, fine, key.rules)
    except TookTooLong:
        pass  # what it says of the answer itself has been found
    if finding.partly:
        return replace(finding, misconception=None, means=mends, nudge="") if mends else finding
    said = (moves, mends) if mends and unnamed else (finding.means, moves, mends)
    return replace(finding, means=" ".join(filter(None, said)))


def _cause(key: keys.Key, answer: Any, namespace: Mapping[str, Any]) -> str:
    """A sentence about the first exercise that this one calls and that is not right itself; "" usually."""
    called = _names_in(answer, namespace)
    for name in key.builds_on:
        if name not in called or not callable(namespace.get(name)):
            continue
        try:
            earlier = _judged(keys.load(name), namespace[name])
        except TookTooLong:
            continue
        if earlier.unwritten:
            return because(name, written=False)
        if earlier.verdict is not Verdict.PASS:
            return because(name, written=True)
    return ""


def _of_another_lab(key: keys.Key, finding: Finding) -> str:
    """A sentence about a name that is not defined, where it is that of an exercise."""
    missing = re.search(r"name '(\w+)' is not defined", finding.told.answer.error if finding.told else "")
    name = missing[1] if missing else ""
    if name not in keys.exercises():
        return ""
    lab = keys.lab_of(name).lab
    if lab == key.lab:
        return f"`{name}` is another exercise of this lab: its cell has to be run first."
    return f"`{name}` is an exercise of the lab {lab}, and each notebook knows only what is written in it."


def _names_in(answer: Any, namespace: Mapping[str, Any]) -> set[str]:
    """The global names that a function uses, itself or through the functions of the notebook that it calls."""
    return {name for code in _codes(answer, namespace) for name in (*code.co_names, *code.co_freevars)}


def _codes(answer: Any, namespace: Mapping[str, Any]) -> Iterator[CodeType]:
    """The code of a function, of those inside it, and of the notebook's own functions that these call."""
    seen: set[CodeType] = set()
    todo = [_code(answer)]
    while todo:
        code = todo.pop()
        if code in seen:
            continue
        seen.add(code)
        yield code
        todo += [part for part in code.co_consts if inspect.iscode(part)]
        called = (namespace.get(name) for name in (*code.co_names, *code.co_freevars))
        todo += [_code(f) for f in called if inspect.isfunction(f)]


def _own_codes(answer: Any, namespace: Mapping[str, Any]) -> Iterator[CodeType]:
    """Of `_codes`, what the notebook itself holds: libraries import what they like."""
    home = _code(answer).co_filename
    cells = {_code(f).co_filename for f in namespace.values() if getattr(f, "__module__", "") == "__main__"}
    return (code for code in _codes(answer, namespace) if code.co_filename in {home, *cells})


def _code(function: Any) -> CodeType:
    """A function's code; nothing for other things that can be called."""
    return getattr(inspect.unwrap(function), "__code__", None) or (lambda: None).__code__


def _caller() -> Mapping[str, Any]:
    """The names of the cell that called."""
    frame = sys._getframe(2)
    return {**frame.f_globals, **frame.f_locals}


def _name_of(answer: Any, namespace: Mapping[str, Any]) -> str:
    """The exercise that an answer is for: by the name it is bound to, else by its own."""
    known = keys.exercises()
    own = getattr(answer, "__name__", "")
    bound = [name for name in known if namespace.get(name) is answer]
    return own if (own in known and own in bound) or not bound else bound[0]


def _key_for(answer: Any, namespace: Mapping[str, Any]) -> keys.Key:
    if isinstance(answer, str) or not callable(answer):
        what = f"the text {answer!r}" if isinstance(answer, str) else article(type(answer).__name__)
        raise CheckFailed(
            f"check needs the function itself, not {what}: write its name without quotes, "
            "brackets or arguments, as in check(softmax)."
        )
    key = keys.load(_exercise_of(answer, namespace))
    if key.rules.of_a_function:
        for question in key.questions:
            _fits(answer, key.name, question.inputs)
    return key


def _labs() -> dict[str, keys.LabKey]:
    """The keys of the labs at hand; CheckFailed where there is none."""
    if found := keys.labs():
        return found
    raise CheckFailed(
        "There is no answer key here: a lab's notebook belongs beside its folder `answers`, as it was handed out."
    )


def _exercise_of(answer: Any, namespace: Mapping[str, Any]) -> str:
    """The name of the exercise that an answer is for; CheckFailed where there is none of its name, or no key."""
    labs = _labs()
    name = _name_of(answer, namespace)
    if name not in keys.exercises():
        here = [key for key in labs.values() if (Path.cwd() / f"{key.lab}.ipynb").is_file()]
        here = here or [key for key in labs.values() if any(name in namespace for name in key.points)]
        choice = [exercise for key in here or labs.values() for exercise in key.points]
        raise CheckFailed(
            f"No exercise is called {name!r}; give the function the name that the stub had. "
            f"The exercises are {listed(choice)}."
        )
    return name


def _fits(function: Any, name: str, given: Any) -> None:
    """Say in one sentence when a function cannot take the exercise's arguments at all."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return
    try:
        signature.bind(*given.args, **given.kwargs)
    except TypeError as error:
        call = ", ".join([*("…" for _ in given.args), *(f"{k}=…" for k in given.kwargs)])
        raise CheckFailed(
            f"Your {name}({', '.join(map(_written, signature.parameters.values()))}) cannot be called as "
            f"{name}({call}): {error}. "
            "Put the stub's first line back as it was."
        ) from None


def _written(parameter: inspect.Parameter) -> str:
    """A parameter as a first line gives it; of a default that takes room, only that there is one."""
    text = str(parameter)
    return text if len(text) <= 40 else f"{parameter.name}=…"


def _next_after(name: str) -> str:
    key = keys.lab_of(name)
    names = list(key.points)
    left = [n for n in names[names.index(name) + 1 :] + names if not _passed.get(n)]
    if left:
        return f"Next: {left[0]}."
    return (
        "That was the last one to write in this lab."
        if not key.by_hand
        else ("All code of this lab is right; what is left is to explain in your own words.")
    )


def _show_pass(key: keys.Key, finding: Finding) -> None:
    usual = [question.label for question in key.questions if not question.edge]
    edges = len(key.questions) - len(usual)
    more = f", and at {edges} edges of what may be asked" if edges else ""
    said = f"{key.name}: right in all {len(usual)} cases{more}. {counted(key.points, 'point')}."
    following = _next_after(key.name)
    text = "\n".join([*(f"✓ {label}" for label in usual), f"{said} {following}"])
    rows = "".join(f"<li>{escape(label)}</li>" for label in usual)
    tick = "<span style='color:#2a9d5c;font-weight:bold'>✓</span>"
    html = (
        f"<div style='border-left:4px solid #2a9d5c;padding:.2em .9em;margin:.3em 0'>"
        f"<p style='margin:.35em 0'>{tick} <strong>{escape(said)}</strong> {escape(following)}</p>"
        f"<details><summary>what was tried</summary><ul style='margin:.2em 0'>{rows}</ul></details></div>"
    )
    _show(text, lambda: html)


def _show_cases(key: keys.Key, finding: Finding) -> str:
    """Prints each case with its mark, and the edges only where nothing else is wrong; the sentence that counts them."""
    tried = list(zip(key.questions, finding.right, strict=True))
    usual = [good for question, good in tried if not question.edge]
    edges = [good for question, good in tried if question.edge]
    for question, good in tried:
        if not question.edge or (all(usual) and not good):
            print(f"{'✓' if good else '✗'} {question.label}")
    if all(usual):
        wrong = len(edges) - sum(edges)
        return f"{key.name}: right in all {len(usual)} cases, wrong at {wrong} of {len(edges)} edges of what may be asked."
    return f"{key.name}: {sum(usual)} of {len(usual)} cases are right."


def _paragraph(sentence: str) -> str:
    return f"<p style='margin:.35em 0'><strong>{code(escape(sentence))}</strong></p>" if sentence else ""


def _say_which_cell(shell: Any, kind: type, error: Any, trace: Any, tb_offset: int | None = None) -> None:
    """For an exercise's name that is not defined yet: in which cell it will be, in place of a traceback."""
    if error.name in keys.exercises():
        said = _why_missing(error.name)
        error._render_traceback_ = lambda: [said]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _why_missing(name: str) -> str:
    """Why an exercise's function is not there, as far as the saved notebook tells."""
    lab = keys.lab_of(name).lab
    saved = cells_of(Path.cwd() / f"{lab}.ipynb")
    cell = next((cell for cell in saved if id_of(cell) == grade_id(name)), None)
    if saved and cell is None:
        return f"{name}: its cell is missing; `autograder reset {lab}.ipynb {name}` puts it back."
    defined = re.findall(r"^(?:def|class) (\w+)", source_of(cell), re.M) if cell else [name]
    if defined and name not in defined:
        return f"{name} is not there: its cell defines {listed(defined)}. Give the function the name that the stub had."
    return f"{name} is not there yet: run the cell in which you write it, and then this one again."


if own.shell() is not None:
    own.shell().set_custom_exc((NameError,), _say_which_cell)


def _show(text: str, html: Callable[[], str]) -> None:
    """Rich where there is a display for it, plain text elsewhere."""
    if in_a_kernel():
        from IPython.display import display

        display({"text/plain": text, "text/html": html()}, raw=True)
    else:
        print(text)
