"""Defining an exercise: its domain, the cases to answer, and the mistakes that people really make.

An exercise reads as a few short blocks in a file of its own (see `autograder.authoring.lab`)::

    softmax = Exercise("softmax", points=2, properties=[sums_to_one])

    @softmax.domain(sizes={"rows": (1, 60), "columns": (1, 60)}, flags={"axis": (0, 1, -1, -2)})
    def anywhere(rng, rows, columns, axis):
        return inputs(rng.normal(size=(rows, columns)), axis=axis)

    @softmax.case("along the columns")
    def columns(rng):
        return inputs(rng.normal(size=(4, 3)), axis=0)

    @softmax.misconception(
        means="You divided each row by its own sum, whatever `axis` says.",
        nudge="Which numbers should add up to 1 when axis is 0?",
    )
    def always_rows(x, axis=0):
        ...
"""

import inspect
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from autograder.authoring.domain import Domain, Sizes
from autograder.errors import Complaint, listed
from autograder.judging.answer import ask
from autograder.judging.asking import Recorder
from autograder.judging.compare import first_difference
from autograder.judging.kinds import FrameError, NotPlain, as_value, mapped_inputs
from autograder.judging.mistakes import STRUCTURAL
from autograder.judging.question import Inputs, Made, Misconception, Mistakes, Question, Raised, Rules, Value
from autograder.judging.wording import article, megabytes

if TYPE_CHECKING:
    from autograder.authoring.lab import Lab

F = TypeVar("F", bound=Callable[..., Any])
Drawn = tuple[str, Inputs, tuple[str, Value] | None]  # a case's label and inputs, and which edge it is at


_ASK = (
    " Say what is asked of it, as in `inputs(…).then(result(2.0))`, or of a figure "
    '`call="figure"`: docs/kinds-of-answers.md shows how.'
)


class ExerciseError(Complaint):
    """An exercise is not defined as it should be; the text says which and what to do."""


def sizes(rng: np.random.Generator, count: int, low: int = 2, high: int = 8) -> list[int]:
    """`count` different axis lengths from `low` to `high`, so that no transpose can hide.

    >>> len(set(sizes(np.random.default_rng(0), 3)))
    3
    """
    return [int(n) for n in rng.choice(np.arange(low, high + 1), size=count, replace=False)]


@dataclass(frozen=True)
class _Case:
    """What `Exercise.case` says."""

    label: str
    draw: Callable[..., Inputs]
    memory: int | None
    hidden: bool

    def drawn(self, stream: np.random.SeedSequence) -> Drawn:
        return self.label, replace(self.draw(np.random.default_rng(stream)), memory=self.memory), None


class Exercise:
    """An exercise: its points, domain, cases and misconceptions, gathered by decorators.

    Parameters
    ----------
    name : str
        The name of the function (or class) the student writes; unique in the course.
    points : float
    builds_on : sequence of Exercise
        Exercises of this lab whose answers this one calls, for follow-through marking.
    call : str or callable
        How the answer is called, see `autograder.judging.question.Rules`.
    view, compare : callable, optional
    properties : sequence of callable
        Functions of a module that students have too; see `autograder.judging.question.Rules`.
    **rules
        The other fields of `Rules`.
    """

    lab: "Lab"  # set when the lab is read

    def __init__(
        self,
        name: str,
        *,
        points: float,
        builds_on: Sequence["Exercise"] = (),
        call: Callable | str = "function",
        view: Callable | None = None,
        compare: Callable | None = None,
        properties: Sequence[Callable] = (),
        **rules: Any,
    ):
        for other in builds_on:
            if not isinstance(other, Exercise):
                raise ExerciseError(f"{name}: builds_on holds {other!r}; an Exercise is due, not its name.")
        self.name = name
        self.points = points
        self.builds_on = tuple(builds_on)
        try:
            self.rules = Rules(
                call=call if isinstance(call, str) else _named(call),
                view=_named(view),
                compare=_named(compare),
                properties=tuple(_named(p) for p in properties),
                **rules,
            )
        except (TypeError, ValueError) as error:
            raise ExerciseError(f"{name}: {error}.") from None
        self.misconceptions: list[Misconception] = []
        self.variants: list[Callable] = []
        self.where: Domain | None = None
        self.proposed: Domain | None = None
        self._cases: list[_Case] = []
        self._raising: dict[str, Raised] = {}  # by the cases' labels

    def __repr__(self) -> str:
        return f"Exercise({self.name!r}, points={self.points})"

    def domain(
        self,
        *,
        sizes: Mapping[str, Sizes] | None = None,
        flags: Mapping[str, Sequence[Value]] | None = None,
        magnitudes: Sequence[float] = (),
        dtypes: Sequence[str] = (),
        layouts: bool = True,
        proposed: bool = False,
        steady: bool = False,
    ) -> Callable[[F], F]:
        """Decorate the function that draws inputs anywhere in the exercise's domain.

        It is called with a `numpy.random.Generator` and, by name, a size for each axis, a value for each
        flag, and `magnitude` where there are magnitudes; it returns `inputs(...)`. The edges of the domain
        are asked of every answer.

        Parameters
        ----------
        sizes : mapping of str to (int, int)
            Each axis's smallest and largest size.
        flags : mapping of str to sequence
            All the values that an argument (or anything else) may take; the first is the usual one.
        magnitudes : sequence of float
            How large the numbers may be; the first is the usual one.
        dtypes : sequence of str
            What floating arrays among the inputs are turned into; the first is the usual one.
        layouts : bool
            Whether arrays that do not lie in one piece in memory are asked too.
        proposed : bool
            Only try it on the reference: no person has said yet that every right answer holds there.
        steady : bool
            Whether the fresh questions at its edges have the same shapes in every draw: for a library that
            compiles anew for each.
        """

        def register(draw: F) -> F:
            if self.where or self.proposed:
                raise ExerciseError(f"{self.name} has two domains; one is due.")
            drawn = self._of_values(draw, "the domain")
            where = Domain(
                dict(sizes or {}), dict(flags or {}), tuple(magnitudes), tuple(dtypes), layouts, drawn, steady
            )
            self.where, self.proposed = (None, where) if proposed else (where, None)
            wanted = where.arguments()
            given = set(list(inspect.signature(draw).parameters)[1:])
            if given != wanted:
                raise ExerciseError(
                    f"{self.name}: the domain's function takes {listed(sorted(given)) or 'nothing'} after rng; "
                    f"its sizes and flags are {listed(sorted(wanted)) or 'none'}."
                )
            return draw

        return register

    def case(
        self,
        label: str,
        *,
        memory: int | None = None,
        hidden: bool = False,
        raises: type[Exception] | None = None,
        saying: str = "",
    ) -> Callable[[F], F]:
        """Decorate a function of a `numpy.random.Generator` that returns `inputs(...)`.

        Parameters
        ----------
        label : str
            What the case is, for a person.
        memory : int, optional
            How many bytes the call may hold at once beside its inputs.
        hidden : bool
            Ask it only when it is marked; students do not see it.
        raises : type of Exception, optional
            The error that is due in place of a result.
        saying : str
            What its text must hold.
        """
        if raises is not None:
            self._raising[label] = Raised(raises.__name__, saying)

        def register(draw: F) -> F:
            self._cases.append(_Case(label, self._of_values(draw, f"the case {label!r}"), memory, hidden))
            return draw

        return register

    def _of_values(self, draw: Callable[..., Inputs], where: str) -> Callable[..., Inputs]:
        """What draws inputs, with pandas' own among them as tables; ExerciseError where one is no value."""

        def drawn(*args: Any, **kwargs: Any) -> Inputs:
            asked = draw(*args, **kwargs)
            if not isinstance(asked, Inputs):
                what = article(type(asked).__name__)
                raise ExerciseError(f"{self.name}: {where} is to return `inputs(…)`, and returns {what}.")
            if asked.asked and self.rules.call in ("in place", "figure"):
                raise ExerciseError(
                    f'{self.name}: with call="{self.rules.call}" no result is asked: take `.then(…)` out.'
                )
            if not all(isinstance(one, (Recorder, Made)) for one in asked.asked):
                raise ExerciseError(
                    f"{self.name}: in {where} `.then(…)` is to hold what is asked of `result`, as `result(2.0)`."
                )
            try:
                return mapped_inputs(asked, as_value)
            except (FrameError, NotPlain) as what:
                raise ExerciseError(
                    f"{self.name}: {where} has an argument that cannot be given to an answer: {what}. "
                    "What can is listed in docs/kinds-of-answers.md."
                ) from None

        return drawn

    def misconception(self, *, means: str, nudge: str) -> Callable[[F], F]:
        """Decorate a wrong implementation; its name, hyphenated, is the misconception's."""

        return lambda function: self._registered(_hyphened(function), means, nudge, function)

    def _registered(self, name: str, means: str, nudge: str, function: F) -> F:
        if any(m.name == name for m in self.misconceptions):
            raise ExerciseError(f"{self.name} has a misconception {name!r} already.")
        self.misconceptions.append(Misconception(name, means, nudge, function))
        return function

    def both(self, first: Callable, second: Callable) -> Callable[[F], F]:
        """Decorate a wrong implementation that makes two of the exercise's mistakes at once.

        It is named "first + second" and explained by the sentences of both, with the nudge of the first: mend
        one, and the check names the other.

        Parameters
        ----------
        first, second : callable
            Misconceptions of this exercise, as they were decorated.
        """
        known = {m.name: m for m in self.misconceptions}
        names = [*map(_hyphened, (first, second))]
        if strange := [name for name in names if name not in known]:
            raise ExerciseError(
                f"{self.name} has no misconception {strange[0]!r} that a pair could be made of."
            )
        one, other = (known[name] for name in names)
        means = f"Two things at once. {one.means} {other.means}"
        return lambda function: self._registered(" + ".join(names), means, one.nudge, function)

    def structural(self, function: F) -> F:
        """Decorate a wrong implementation named after a mistake of form in `compare.STRUCTURAL`."""
        name = _hyphened(function)
        if name not in STRUCTURAL:
            raise ExerciseError(
                f"{self.name}: no mistake of form is called {name!r}; they are {listed(STRUCTURAL)}."
            )
        return self._registered(name, *STRUCTURAL[name], function)

    def variant(self, function: F) -> F:
        """Decorate a right answer written another way; the check must accept it."""
        self.variants.append(function)
        return function

    @property
    def solution(self) -> SimpleNamespace:
        """Everything that the solution notebook's set-up and solution cells define."""
        return self.lab.reference

    @cached_property
    def reference(self) -> Callable:
        """The solution notebook's own function."""
        try:
            return getattr(self.solution, self.name)
        except AttributeError:
            raise ExerciseError(f"The solution of {self.lab.name} defines no {self.name}.") from None

    def draw(self, seed: int | None = None) -> list[Drawn]:
        """The cases' labels and inputs, and which edge each is at; with no seed, those that students see."""
        visible, seed = seed is None, zlib.crc32(self.name.encode()) if seed is None else seed
        streams = np.random.SeedSequence(seed).spawn(len(self._cases) + 1)
        cases = list(zip(self._cases, streams, strict=False))
        drawn = [case.drawn(stream) for case, stream in cases if not case.hidden]
        if self.where is not None:
            drawn += self.where.edges(np.random.default_rng(streams[-1]), corners=not visible)
        if not visible:
            drawn += [case.drawn(stream) for case, stream in cases if case.hidden]
        return drawn

    def hidden_questions(self) -> list[Question]:
        """One draw of the cases that students do not see."""
        count = sum(case.hidden for case in self._cases)
        return self.questions(0)[-count:] if count else []

    def try_proposed(self) -> None:
        """Ask the reference all over its proposed domain; raises ExerciseError where it has no answer."""
        for label, given, _ in self.proposed.edges(np.random.default_rng(0), True) if self.proposed else ():
            self._expected(f"{label} of the domain that is proposed", given)

    def questions(self, seed: int | None = None) -> list[Question]:
        """The cases with what the reference and each misconception make of them."""
        return self._visible if seed is None else self.with_outcomes(self.draw(seed))

    @cached_property
    def _visible(self) -> list[Question]:
        """The same for every hand-in, so computed once."""
        return self.with_outcomes(self.draw())

    def with_outcomes(self, drawn: Sequence[Drawn]) -> list[Question]:
        """Cases that were drawn, with what the reference and each misconception make of them."""
        wrong = {mistake.name: mistake.function for mistake in self.misconceptions}

        def mistakes(given: Inputs) -> Mistakes:
            return Mistakes(wrong, lambda name: ask(wrong[name], given, self.rules.call))

        return [
            Question(label, given, self._expected(label, given), mistakes(given), edge)
            for label, given, edge in drawn
        ]

    def _expected(self, label: str, given: Inputs) -> Value:
        answer = ask(self.reference, given, self.rules.call)
        if self.rules.returns == "printed":
            return answer.printed
        if due := self._raising.get(label):
            if wrong := first_difference(due, answer, self.rules):
                raise ExerciseError(
                    f"The reference for {self.name} does not raise as its case {label!r} says. {wrong.seen}"
                )
            return due
        if answer.error or (answer.value is None and answer.type != "NoneType"):
            what = (
                f"raises {answer.error} ({answer.line})"
                if answer.error
                else f"returns {article(answer.type)}"
            )
            more = "" if answer.error or answer.type.startswith("ndarray") else _ASK
            raise ExerciseError(f"The reference for {self.name} {what} in its own case {label!r}.{more}")
        if given.asked and (answer.value is None or len(answer.value) < len(given.asked)):
            seen = first_difference((None,) * len(given.asked), answer, self.rules, given)
            raise ExerciseError(
                f"The reference for {self.name}, in its own case {label!r}: {seen and seen.seen}"
            )
        if answer.modified:
            raise ExerciseError(
                f"The reference for {self.name} changes its argument {answer.modified[0]!r}. What is returned is "
                "judged, and not what is left in an argument: let it work on a copy, and return that; or say "
                '`call="in place"`, and what it leaves there is judged.'
            )
        if given.memory is not None and answer.held > given.memory:
            held, allowed = megabytes(answer.held), megabytes(given.memory)
            raise ExerciseError(
                f"The reference for {self.name} holds {held} in its own case {label!r}, which allows {allowed}."
            )
        return answer.value


def _hyphened(function: Callable) -> str:
    """What a misconception is called that is this function."""
    return function.__name__.replace("_", "-")


def _named(function: Callable | None) -> str:
    """ "module:function" for a comparer; students' checks find it by that."""
    if function is None:
        return ""
    if not callable(function) or "<" in getattr(function, "__qualname__", "<"):
        raise ValueError(f"{function!r} is no function of a module")
    return f"{function.__module__}:{function.__qualname__}"
