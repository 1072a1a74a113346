"""Define an exercise by its valid inputs, its test cases and the mistakes that students often make.

The domain is the set of inputs for which an answer must be right. Each exercise has a file of its
own (see `autograder.authoring.lab`), with a few short blocks::

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
import itertools
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from traceback import extract_tb
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from autograder.authoring.domain import Domain, Sizes
from autograder.authoring.reference import SETUP_TAG_ADVICE
from autograder.authoring.slip_pairs import (
    PairOutcomes,
    predict_slip_pairs,
    protect_arrays,
    repeat_slip_pairs,
)
from autograder.authoring.slips import SlipListError, bind_slips, read_slip_list
from autograder.core.cpu_time import DEFAULT_CALL_SECONDS
from autograder.core.errors import AutograderError
from autograder.core.text_format import format_name_suggestion, join_words
from autograder.core.time_limit import TimeLimitExceeded, limit_call_time
from autograder.judging.compare import compare_outcome
from autograder.judging.student_calls import (
    call_student_function,
    find_argument_mismatch,
    list_parameter_names,
)
from autograder.values.case_records import (
    CallOutcome,
    ComparisonRules,
    DeferredCall,
    ExpectedError,
    Inputs,
    Misconception,
    OutcomesByMisconception,
    TestCase,
    Value,
    combine_misconceptions,
)
from autograder.values.common_mistakes import MISTAKES
from autograder.values.deferred_calls import StudentResultPlaceholder
from autograder.values.value_types import (
    EncodingError,
    UnsupportedValue,
    convert_argument,
    map_inputs,
)
from autograder.values.wording import add_article, format_megabytes

if TYPE_CHECKING:
    from autograder.authoring.lab import Lab

_RULE_NAMES = tuple(field.name for field in fields(ComparisonRules))
_OPTION_NAMES = (
    "points",
    "builds_on",
    "parts",
    "allows_nan",
    "portability_note",
    *_RULE_NAMES,
)
POINTS_TOLERANCE = 1e-6  # points that a sum of the parts' points may be off

F = TypeVar("F", bound=Callable[..., Any])
# A test case as it was drawn: its label, its inputs, and for an edge case the name of the argument
# with an extreme value and that value.
DrawnCase = tuple[str, Inputs, tuple[str, Value] | None]


_RESULT_HINT = (
    " Say what is asked of it, as in `inputs(…).query(result(2.0))`, or of a figure "
    '`call="figure"`: docs/kinds-of-answers.md shows how.'
)


class ExerciseError(AutograderError):
    """Error for a wrong definition of an exercise. The text says what is wrong and what to do."""


def sizes(rng: np.random.Generator, count: int, low: int = 2, high: int = 8) -> list[int]:
    """Draw `count` different lengths for the axes of test arrays, each from `low` to `high`.

    With different lengths, an answer that confuses two axes gives an array of the wrong shape.

    >>> len(set(sizes(np.random.default_rng(0), 3)))
    3
    """
    return [int(size) for size in rng.choice(np.arange(low, high + 1), size=count, replace=False)]


@dataclass(frozen=True)
class _CaseDefinition:
    """Test case of an exercise, as declared with `Exercise.case`."""

    label: str
    draw: Callable[..., Inputs]
    memory: int | None
    hidden: bool

    def draw_case(self, stream: np.random.SeedSequence) -> DrawnCase:
        inputs = replace(self.draw(np.random.default_rng(stream)), memory=self.memory)
        return self.label, inputs, None


class Exercise:
    """An exercise and its points. Methods used as decorators add its test cases and misconceptions.

    Parameters
    ----------
    name : str
        Name of the function (or class) that students write; unique in the course.
    builds_on : sequence of Exercise
        Exercises of this lab whose functions this exercise's function calls. If a student's answer
        to one of them is wrong, this exercise is graded with a right function in its place.
    parts : mapping of str to float
        Points of parts of the exercise, by the name of the part. A wrong answer gets the points of
        each part whose cases are all right (see `case`). Points that the parts leave are for the
        cases of no part. Without parts, a wrong answer gets no points.
    call, view, compare, equality, properties
        See `autograder.values.case_records.ComparisonRules`. Functions must be defined in a module
        that students have, too.
    allows_nan : bool
        True if NaN can be a right result for arguments that hold no NaN. Otherwise the build
        refuses a reference that gives NaN for them, since that is mostly 0 divided by 0.
    portability_note : str
        Sentence on verdicts that differ under other environment variables than those of
        `graded_with` in lab.toml, such as another backend of Keras. `check` shows it there.
    **rules
        Other fields of `ComparisonRules`.

    Raises
    ------
    ExerciseError
        If `builds_on` holds anything but exercises, a rule is unknown or has a wrong value, or the
        parts have more points than the exercise.
    """

    lab: "Lab"  # set when the lab is read

    def __init__(
        self,
        name: str,
        *,
        points: float,
        builds_on: Sequence["Exercise"] = (),
        parts: Mapping[str, float] | None = None,
        call: Callable | str = "function",
        view: Callable | None = None,
        compare: Callable | None = None,
        equality: Callable | None = None,
        properties: Sequence[Callable] = (),
        allows_nan: bool = False,
        portability_note: str = "",
        **rules: Any,
    ):
        unknown = [option for option in rules if option not in _RULE_NAMES]
        if unknown:
            suggestion = format_name_suggestion(unknown[0], _OPTION_NAMES)
            raise ExerciseError(
                f"{name}: Exercise has no option {unknown[0]!r}{suggestion} Its options are "
                f"{join_words(_OPTION_NAMES)}."
            )
        is_number = type(points) in (int, float) and 0 <= points < float("inf")
        if not is_number:
            raise ExerciseError(f"{name}: points is {points!r}; a number of 0 or more is expected.")
        if isinstance(builds_on, Exercise):
            raise ExerciseError(
                f"{name}: builds_on is an exercise; a list of exercises is expected, such as "
                "`builds_on=[softmax]`."
            )
        for exercise in builds_on:
            if not isinstance(exercise, Exercise):
                raise ExerciseError(
                    f"{name}: builds_on holds {exercise!r}; an Exercise is expected, not its name."
                )
        self.name = name
        self.points = points
        self.builds_on = tuple(builds_on)
        self.parts = dict(parts or {})
        self.allows_nan = allows_nan
        self.portability_note = portability_note
        try:
            self.rules = ComparisonRules(
                call=call if isinstance(call, str) else _function_import_path(call),
                view=_function_import_path(view),
                compare=_function_import_path(compare),
                equality=_function_import_path(equality),
                properties=tuple(map(_function_import_path, properties)),
                **rules,
            )
        except (TypeError, ValueError) as error:
            raise ExerciseError(f"{name}: {error}.") from None
        points_of_parts = sum(self.parts.values())
        if points_of_parts > points + POINTS_TOLERANCE or any(p < 0 for p in self.parts.values()):
            raise ExerciseError(
                f"{name}: its parts have {points_of_parts:g} points, and the exercise has "
                f"{points:g}: no part can be worth less than 0, and together at most as much as "
                "the exercise."
            )
        self.misconceptions: list[Misconception] = []
        self.variants: list[Callable] = []
        self.functions_without_slip: list[Callable] = []
        # Lists of slips: the function, the names of its slips, and the set of those it asks for.
        self._slip_lists: list[tuple[Callable, list[str], set[str]]] = []
        self.declared_domain: Domain | None = None
        self.proposed_domain: Domain | None = None
        self.limits_calls = False  # True while the lab is built: see `call_function_of_author`
        self._cases: list[_CaseDefinition] = []
        self._expected_errors: dict[str, ExpectedError] = {}  # by the label of the test case
        self._part_names: dict[str, str] = {}  # by the label of the test case

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
        has_fixed_shapes: bool = False,
    ) -> Callable[[F], F]:
        """Decorate the function that draws random valid inputs, such as arrays of any length.

        The function gets a `numpy.random.Generator`. By name it also gets a size for each axis, a
        value for each flag, and `magnitude` if there are magnitudes. It returns `inputs(...)`.
        Every student's function is tested at the edges of the domain, with extreme values of one
        or two of these arguments.

        Parameters
        ----------
        sizes : mapping of str to (int, int)
            Smallest and largest size of each axis.
        flags : mapping of str to sequence
            All values of an argument that has few values, such as `axis`. The first is the value
            in most cases.
        magnitudes : sequence of float
            Magnitudes of the numbers. The first is the magnitude in most cases.
        dtypes : sequence of str
            Dtypes that floating arrays are converted to. The first is the dtype in most cases.
        layouts : bool
            Also test arrays that are not contiguous in memory.
        proposed : bool
            Run only the reference in this domain, and no student's function. Set it until a person
            has checked that all right answers give the same results in the domain.
        has_fixed_shapes : bool
            Use the same shapes in every draw of the hidden cases. This is faster for a library,
            such as JAX, that compiles a function for each shape.

        Raises
        ------
        ExerciseError
            If the exercise has a domain already, or the decorated function takes other arguments.
        """

        def register(draw: F) -> F:
            if self.declared_domain or self.proposed_domain:
                raise ExerciseError(f"{self.name} has two domains; only one is allowed.")
            for option, values in (("magnitudes", magnitudes), ("dtypes", dtypes)):
                if isinstance(values, str) or not isinstance(values, Sequence):
                    raise ExerciseError(
                        f"{self.name}: {option} is {values!r}; a tuple is expected, such as ({values!r},)."
                    )
            try:
                domain = Domain(
                    dict(sizes or {}),
                    dict(flags or {}),
                    tuple(magnitudes),
                    tuple(dtypes),
                    layouts,
                    self._wrap_draw_with_checks(draw, "the domain"),
                    has_fixed_shapes,
                )
            except (TypeError, ValueError) as error:
                raise ExerciseError(f"{self.name}: in its domain, {error}.") from None
            if proposed:
                self.proposed_domain = domain
            else:
                self.declared_domain = domain
            expected = domain.argument_names()
            parameters = set(list(inspect.signature(draw).parameters)[1:])
            if parameters != expected:
                raise ExerciseError(
                    f"{self.name}: the domain's function takes "
                    f"{join_words(sorted(parameters)) or 'nothing'} after rng; "
                    f"its sizes and flags are {join_words(sorted(expected)) or 'none'}."
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
        error_text: str = "",
        part: str = "",
    ) -> Callable[[F], F]:
        """Decorate a function that draws the inputs of a test case.

        The function gets a `numpy.random.Generator` and returns `inputs(...)`.

        Parameters
        ----------
        label : str
            Description of the case for students.
        memory : int, optional
            Bytes that the student's function may hold at once in addition to its inputs.
        hidden : bool
            Use the case only for grading. Students do not see it.
        raises : type of Exception, optional
            Error that the student's function must raise instead of returning a result.
        error_text : str
            Text that the error's message must contain.
        part : str
            Name of the part of the exercise (see `parts`) to which the case belongs.

        Raises
        ------
        ExerciseError
            If the exercise has no such part, or another case has this label.
        """
        if part and part not in self.parts:
            known = join_words(f"{name!r}" for name in self.parts) or "none"
            raise ExerciseError(
                f"{self.name}: the case {label!r} belongs to the part {part!r}; the parts are {known}."
            )
        if label in self._part_names:
            raise ExerciseError(f"{self.name}: two cases are called {label!r}. Rename one.")
        self._part_names[label] = part
        if raises is not None:
            self._expected_errors[label] = ExpectedError(raises.__name__, error_text)

        def register(draw: F) -> F:
            checked_draw = self._wrap_draw_with_checks(draw, f"the case {label!r}")
            self._cases.append(_CaseDefinition(label, checked_draw, memory, hidden))
            return draw

        return register

    def _wrap_draw_with_checks(
        self,
        draw: Callable[..., Inputs],
        owner: str,
    ) -> Callable[..., Inputs]:
        """Wrap a function that draws inputs, so that its result is checked and converted.

        The wrapper raises ExerciseError if the result is no `Inputs` or cannot be given to a
        student's function. It also converts pandas objects to the autograder's tables.

        Parameters
        ----------
        draw : callable
            Function that draws inputs.
        owner : str
            Description of the case or domain that the function belongs to, for error messages.
        """

        def draw_checked_inputs(*args: Any, **kwargs: Any) -> Inputs:
            try:
                with self._limit_time(f"{owner} does not end"):
                    inputs = draw(*args, **kwargs)
            except ExerciseError:
                raise
            except Exception as error:  # an author's own code may raise anything
                text = str(error)
                if not text.endswith((".", "?")):
                    text += "."
                raise ExerciseError(
                    f"{self.name}: {owner}{_describe_raising_line(error, draw)} raises "
                    f"{type(error).__name__}: {text}"
                ) from error
            if not isinstance(inputs, Inputs):
                returned_type = add_article(type(inputs).__name__)
                raise ExerciseError(
                    f"{self.name}: {owner} must return `inputs(…)`, but returns {returned_type}."
                )
            call = self.rules.call
            if inputs.result_queries and call in ("in place", "figure"):
                raise ExerciseError(
                    f'{self.name}: with call="{call}" no result is asked: take `.query(…)` out.'
                )
            queries = inputs.result_queries
            if not all(
                isinstance(query, (StudentResultPlaceholder, DeferredCall)) for query in queries
            ):
                raise ExerciseError(
                    f"{self.name}: in {owner} `.query(…)` is to hold what is asked of `result`, "
                    "as `result(2.0)`."
                )
            try:
                return map_inputs(inputs, convert_argument)
            except (EncodingError, UnsupportedValue) as error:
                raise ExerciseError(
                    f"{self.name}: {owner} has an argument that cannot be given to an answer: "
                    f"{error}. The supported types are listed in docs/kinds-of-answers.md."
                ) from None

        return draw_checked_inputs

    def misconception(
        self,
        *,
        means: str | None = None,
        nudge: str | None = None,
        raises: type[Exception] | None = None,
    ) -> Callable[[F], F]:
        """Decorate a wrong implementation of the exercise that shows a misconception of students.

        The name of the function with hyphens becomes the name of the misconception.

        Parameters
        ----------
        means : str
            Sentence that explains the mistake to the student.
        nudge : str
            Hint for the student that does not give the solution away.
        raises : type of Exception, optional
            Error that the implementation raises intentionally in every case.

        Raises
        ------
        ExerciseError
            If `means` or `nudge` is missing or empty, or the name is taken. The decorator raises
            it, and not this method, since the sentence names the function.
        """
        errors = () if raises is None else (raises.__name__,)

        def register(function: F) -> F:
            name = _hyphenated_name(function)
            return self._add_misconception(name, means, nudge, function, errors)

        return register

    def _add_misconception(
        self,
        name: str,
        means: str | None,
        nudge: str | None,
        function: F,
        errors: tuple[str, ...] = (),
    ) -> F:
        is_slip = hasattr(function, "active_slips")
        means = self._require_sentence(name, "means", means, is_slip)
        nudge = self._require_sentence(name, "nudge", nudge, is_slip)
        if any(misconception.name == name for misconception in self.misconceptions):
            raise ExerciseError(f"{self.name} has a misconception {name!r} already.")
        self.misconceptions.append(Misconception(name, means, nudge, function, errors))
        return function

    def _require_sentence(
        self, misconception: str, option: str, text: str | None, is_slip: bool
    ) -> str:
        """Return the text if it is not empty; else raise ExerciseError in the words of the author.

        A list of slips has no options `means` and `nudge`, but an explanation and a hint.
        """
        if isinstance(text, str) and text.strip():
            return text
        if is_slip:
            part = {"means": "explanation", "nudge": "hint"}[option]
            raise ExerciseError(
                f"{self.name}: the entry {misconception!r} of the list of slips has no {part}, "
                "which students read. Write `name: Explanation. Hint: Question.`"
            )
        problem = "an empty"
        if text is None:
            problem = "no"
        raise ExerciseError(
            f"{self.name}: the misconception {misconception!r} has {problem} {option}, which "
            "students read. Write a sentence."
        )

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """Raise ExerciseError, since the author has called the exercise like a function."""
        name = self.name
        raise ExerciseError(f"`{name}` is the exercise; its function is `{name}.reference`.")

    def combined_misconception(self, first: Callable, second: Callable) -> Callable[[F], F]:
        """Decorate a wrong implementation that shows two of the misconceptions at once.

        It is registered as a misconception with the name "first + second". Its explanation joins
        those of the two misconceptions, and its hint is that of the first.

        Parameters
        ----------
        first, second : callable
            Decorated misconceptions of this exercise.

        Raises
        ------
        ExerciseError
            If a function is no misconception of this exercise.
        """
        names = [_hyphenated_name(first), _hyphenated_name(second)]
        self._find_pair(names)

        def register(function: F) -> F:
            return self._add_pair(names, function)

        return register

    def _find_pair(self, names: Sequence[str]) -> list[Misconception]:
        """Return the misconceptions of these names, or raise ExerciseError if one is missing."""
        by_name = {misconception.name: misconception for misconception in self.misconceptions}
        for name in names:
            if name not in by_name:
                raise ExerciseError(
                    f"{self.name} has no misconception {name!r} that a pair could be made of."
                )
        return [by_name[name] for name in names]

    def _add_pair(self, names: Sequence[str], function: F) -> F:
        """Add a wrong function that shows two misconceptions at once."""
        pair = combine_misconceptions(self._find_pair(names))
        return self._add_misconception(pair.name, pair.means, pair.nudge, function, pair.raises)

    def slips(self, text: str) -> Callable[[F], F]:
        """Decorate one function that can make many slips; each becomes a misconception.

        The function gets as its first argument the slips that it is to make, and then the arguments
        of the exercise. `autograder.authoring.slips` has an example.

        Parameters
        ----------
        text : str
            List of the slips. An entry is "name: Explanation. Hint: Question." for a slip, and only
            "name" for a common mistake (see `common_mistake`). Lines that are indented further
            continue an entry.

        Raises
        ------
        ExerciseError
            If the list cannot be read, a sentence is missing, or a name is taken or unknown.
        """
        try:
            entries = read_slip_list(text)
        except SlipListError as error:
            raise ExerciseError(f"{self.name}: in a list of slips, {error}") from None
        slip_names = [entry.name for entry in entries]

        def register(function: F) -> F:
            asked: set[str] = set()
            for entry in entries:
                wrong_function = bind_slips(function, slip_names, [entry.name], asked)
                if entry.means is None:
                    self.common_mistake(wrong_function)
                else:
                    name = entry.name.replace("_", "-")
                    self._add_misconception(name, entry.means, entry.nudge, wrong_function)
            self.functions_without_slip.append(bind_slips(function, slip_names, (), asked))
            self._slip_lists.append((function, slip_names, asked))
            return function

        return register

    def make_slip_pairs(self) -> list[Misconception]:
        """Make a misconception of every two slips of one list, but not of pairs that exist."""
        names = {misconception.name for misconception in self.misconceptions}
        pairs = []
        for function, slip_names, asked in self._slip_lists:
            for active in itertools.combinations(slip_names, 2):
                slips = [name.replace("_", "-") for name in active]
                if " + ".join(slips) in names or " + ".join(reversed(slips)) in names:
                    continue
                wrong_function = bind_slips(function, slip_names, active, asked)
                pairs.append(combine_misconceptions(self._find_pair(slips), wrong_function))
        return pairs

    def find_misconception(self, name: str | None) -> Misconception | None:
        """Return the misconception of this name, which may be a pair of slips; None if there is none."""
        by_name = {misconception.name: misconception for misconception in self.misconceptions}
        if not name:
            return None
        if name in by_name:
            return by_name[name]
        slips = [by_name[slip] for slip in name.split(" + ") if slip in by_name]
        return combine_misconceptions(slips) if len(slips) == 2 else None

    def predict_slip_pairs(
        self, names_by_case: Sequence[Collection[str]] | None = None
    ) -> list[PairOutcomes]:
        """Return for each case that students see the results of two slips at once, by their names.

        It holds only a few results of each pair: see `autograder.authoring.slip_pairs`. An exercise
        with a comparison of its own has none, since several results may be right in it.

        Parameters
        ----------
        names_by_case : sequence of collections of str, optional
            Names of the pairs of each case. Without it they are searched for, which takes longer.
        """
        if self.rules.compare or self.rules.equality:
            return [{} for _ in self.test_cases()]

        def limit_time(pair: Misconception) -> AbstractContextManager:
            return self._limit_time(f"the pair of slips {pair.name!r} does not end")

        test_cases, pairs = self.test_cases(), self.make_slip_pairs()
        shared_values = [*vars(self.solution).values()]
        for function in self.functions_without_slip:  # one for each list of slips
            shared_values += inspect.unwrap(function).__globals__.values()
        for test_case in test_cases:
            shared_values += [*test_case.inputs.args, *test_case.inputs.kwargs.values()]
        with protect_arrays(shared_values):
            if names_by_case is not None and len(names_by_case) == len(test_cases):
                return repeat_slip_pairs(pairs, names_by_case, test_cases, self.rules, limit_time)
            return predict_slip_pairs(pairs, test_cases, self.rules, limit_time)

    def common_mistake(self, function: F) -> F:
        """Decorate a wrong implementation with a general mistake, such as a missing `return`.

        Its name with hyphens must be the name of a mistake in
        `autograder.values.common_mistakes.MISTAKES`, which also has the mistake's explanation
        and hint.

        Raises
        ------
        ExerciseError
            If `MISTAKES` has no mistake of this name.
        """
        name = _hyphenated_name(function)
        if name not in MISTAKES:
            raise ExerciseError(
                f"{self.name}: no common mistake is called {name!r}; "
                f"the common mistakes are {join_words(MISTAKES)}."
            )
        return self._add_misconception(name, *MISTAKES[name], function)

    def variant(self, function: F) -> F:
        """Decorate a correct implementation that differs from the solution, to test that it passes.

        Building the lab fails if the autograder would mark it as wrong.
        """
        self.variants.append(function)
        return function

    @property
    def solution(self) -> SimpleNamespace:
        """Object that has the names defined in the solution notebook's cells as attributes."""
        return self.lab.reference

    @cached_property
    def reference(self) -> Callable:
        """Correct implementation of the exercise (the reference) in the solution notebook."""
        try:
            return getattr(self.solution, self.name)
        except AttributeError:
            lab = self.lab.name
            raise ExerciseError(f"The solution of {lab} defines no {self.name}.") from None

    @cached_property
    def argument_names(self) -> tuple[str, ...]:
        """Names of the function's arguments; () if test cases do not call it directly."""
        if not self.rules.calls_answer_directly:
            return ()
        return list_parameter_names(self.reference)

    def draw(self, seed: int | None = None) -> list[DrawnCase]:
        """Draw the inputs of all test cases.

        Parameters
        ----------
        seed : int, optional
            Seed for drawing the cases with which submissions are graded. Without a seed, the cases
            that students see are drawn, which are always the same.

        Returns
        -------
        list of (label, inputs, edge)
            Test cases. The edge is None except for edge cases of the domain, where it is the
            argument with an extreme value, and the value.
        """
        for_students = seed is None
        if seed is None:
            seed = zlib.crc32(self.name.encode())
        streams = np.random.SeedSequence(seed).spawn(len(self._cases) + 1)
        # Each test case that the author declared has a random generator of its own, so that its
        # inputs do not depend on the other cases. The last generator is for the cases drawn from
        # the domain.
        visible_cases, hidden_cases = [], []
        for case, stream in zip(self._cases, streams, strict=False):
            if not case.hidden:
                visible_cases.append(case.draw_case(stream))
            elif not for_students:
                hidden_cases.append(case.draw_case(stream))
        edge_cases: list[DrawnCase] = []
        if self.declared_domain is not None:
            rng = np.random.default_rng(streams[-1])
            edge_cases += self.declared_domain.edge_cases(rng, corners=not for_students)
        return [*visible_cases, *edge_cases, *hidden_cases]

    def expects_error(self, label: str) -> bool:
        """Return True if the function must raise an error in the case of this label."""
        return label in self._expected_errors

    def compute_partial_share(self, right_parts: Iterable[str]) -> float:
        """Return the share of the points, 0 to 1, that a wrong answer gets for its right parts."""
        earned = sum(self.parts.get(part, self.points_outside_parts) for part in right_parts)
        return min(earned / self.points, 1.0) if self.points else 0.0

    def list_passed_parts(
        self,
        test_cases: Sequence[TestCase],
        cases_correct: Sequence[bool],
    ) -> list[str]:
        """Return the parts whose cases are all right; "" stands for the cases of no part.

        Parameters
        ----------
        test_cases : sequence of TestCase
            All cases in which the answer was tested.
        cases_correct : sequence of bool
            For each of them, True if the answer is right there.
        """
        if not self.parts:
            return []
        right: dict[str, bool] = {}
        for test_case, is_right in zip(test_cases, cases_correct, strict=True):
            part = self._part_names.get(test_case.label, "")  # edge cases have labels of their own
            right[part] = right.get(part, True) and is_right
        return [part for part in (*self.parts, "") if right.get(part)]

    @property
    def points_outside_parts(self) -> float:
        """Points of the exercise less those of its parts, for the cases that belong to no part."""
        return max(self.points - sum(self.parts.values()), 0.0)

    def check_parts(self) -> None:
        """Check that each part has a case, and that cases of no part are worth points.

        Raises
        ------
        ExerciseError
            If a part has no case, or the points of cases and parts contradict each other.
        """
        if not self.parts:
            return
        used = set(self._part_names.values())
        unused = [part for part in self.parts if part not in used]
        if unused:
            raise ExerciseError(f'{self.name}: no case has part="{unused[0]}".')
        leaves_points = self.points_outside_parts > POINTS_TOLERANCE
        has_other_cases = "" in used or self.declared_domain is not None
        if has_other_cases and not leaves_points:
            raise ExerciseError(
                f"{self.name}: its parts are worth all of its points, so cases of no part, and "
                "edge cases of the domain, would cost nothing. Give the parts fewer points, or "
                "each case a part."
            )
        if leaves_points and not has_other_cases:
            raise ExerciseError(
                f"{self.name}: {self.points_outside_parts:g} of its {self.points:g} points belong "
                "to no part, and no case either. Give them to a part."
            )

    def hidden_test_cases(self) -> list[TestCase]:
        """Return the test cases that students do not see, drawn with the random seed 0."""
        count = sum(case.hidden for case in self._cases)
        return self.test_cases(0)[-count:] if count else []

    def check_reference_on_proposed_domain(self) -> None:
        """Check that the reference solution can handle a domain that nobody has confirmed yet.

        Raises
        ------
        ExerciseError
            If the reference raises or returns no usable result for such inputs.
        """
        if self.proposed_domain:
            for label, inputs, _ in self.proposed_domain.edge_cases(np.random.default_rng(0), True):
                self._compute_expected_value(f"{label} of the domain that is proposed", inputs)

    def test_cases(self, seed: int | None = None) -> list[TestCase]:
        """Return the visible test cases, or with a seed those of grading, with their results.

        Parameters
        ----------
        seed : int, optional
            Seed for the cases with which submissions are graded. Without a seed, the cases that
            students see are returned.
        """
        if seed is None:
            return self._visible_test_cases
        return self.make_test_cases(self.draw(seed))

    @cached_property
    def _visible_test_cases(self) -> list[TestCase]:
        """Test cases that students see, computed only once since they are always the same."""
        return self.make_test_cases(self.draw())

    def make_test_cases(self, cases: Sequence[DrawnCase]) -> list[TestCase]:
        """Add to drawn test cases the right result and the results of typical wrong functions.

        Raises
        ------
        ExerciseError
            If the reference raises, takes too long or returns no usable result in a case.
        """
        functions = {mistake.name: mistake.function for mistake in self.misconceptions}
        test_cases = []
        for label, inputs, edge in cases:
            answer_wrongly = partial(self._call_misconception, functions, label, inputs)
            mistakes = OutcomesByMisconception(functions, answer_wrongly)
            expected = self._compute_expected_value(label, inputs)
            test_cases.append(TestCase(label, inputs, expected, mistakes, edge))
        return test_cases

    def _call_misconception(
        self, functions: Mapping[str, Callable | None], label: str, inputs: Inputs, name: str
    ) -> CallOutcome:
        return self.call_function_of_author(
            functions[name], label, inputs, f"the misconception {name!r}"
        )

    def call_function_of_author(
        self, function: Callable | None, label: str, inputs: Inputs, description: str
    ) -> CallOutcome:
        """Call an author's function on the inputs of a test case.

        While a lab is built (`limits_calls`), the call has the lab's limit of CPU time. In grading
        it has none: the limit takes several times as long as most calls.

        Parameters
        ----------
        label : str
            Label of the test case.
        description : str
            What the function is, such as "the reference", for the error message.

        Raises
        ------
        ExerciseError
            If the call takes longer than `call_seconds` of the lab's limits.
        """
        with self._limit_time(f"{description} does not end in the case {label!r}"):
            return call_student_function(function, inputs, self.rules.call)

    @contextmanager
    def _limit_time(self, problem: str) -> Iterator[None]:
        """Limit the CPU time of an author's code while the lab is built.

        Parameters
        ----------
        problem : str
            Sentence without a full stop on what does not end, for the error message.
        """
        if not self.limits_calls:
            yield
            return
        seconds = self.lab.limits.get("call_seconds", DEFAULT_CALL_SECONDS)
        try:
            with limit_call_time(seconds, ""):
                yield
        except TimeLimitExceeded:
            raise ExerciseError(
                f"{self.lab.name}: {self.name}: {problem} within {seconds:g} s. Correct its code, "
                "make the case smaller, or raise `call_seconds` under `[limits]` in lab.toml."
            ) from None

    def _compute_expected_value(self, label: str, inputs: Inputs) -> Value:
        """Return the result of the reference solution for the inputs of a test case.

        Raises ExerciseError if the reference has no usable result.
        """
        outcome = self.call_function_of_author(self.reference, label, inputs, "the reference")
        if self.rules.returns == "printed":
            return outcome.printed
        expected_error = self._expected_errors.get(label)
        if expected_error:
            difference = compare_outcome(expected_error, outcome, self.rules)
            if difference:
                raise ExerciseError(
                    f"The reference for {self.name} does not raise as its case {label!r} says. "
                    f"{difference.observation}"
                )
            return expected_error
        self._require_comparable_result(label, inputs, outcome)
        self._refuse_changed_argument_or_memory_excess(label, inputs, outcome)
        return outcome.value

    def _require_comparable_result(self, label: str, inputs: Inputs, outcome: CallOutcome) -> None:
        """Raise ExerciseError if the reference solution raised, or its result cannot be compared.

        Parameters
        ----------
        outcome : CallOutcome
            What the call of the reference returned or raised.
        """
        case = f"in its own case {label!r}"
        if outcome.error and not outcome.line and self.rules.calls_answer_directly:
            mismatch = find_argument_mismatch(self.reference, inputs)
            if mismatch:
                raise ExerciseError(
                    f"{self.name}: the arguments of the case {label!r} do not fit "
                    f"`{self.name}{inspect.signature(self.reference)}`: {mismatch}. Correct its "
                    "`inputs(…)`."
                )
        if outcome.error:
            location = f" ({outcome.line})" if outcome.line else ""
            behaviour = f"raises {outcome.error}{location}"
            advice = ""
            if outcome.raised == "NameError":
                advice = f" {SETUP_TAG_ADVICE}"
            raise ExerciseError(f"The reference for {self.name} {behaviour} {case}.{advice}")
        if outcome.value is None and outcome.type != "NoneType":
            hint = "" if outcome.type.startswith("ndarray") else _RESULT_HINT
            behaviour = f"returns {add_article(outcome.type)}"
            raise ExerciseError(f"The reference for {self.name} {behaviour} {case}.{hint}")
        count = len(inputs.result_queries)
        if count and (outcome.value is None or len(outcome.value) < count):
            difference = compare_outcome((None,) * count, outcome, self.rules, inputs)
            problem = difference and difference.observation
            raise ExerciseError(f"The reference for {self.name}, {case}: {problem}")

    def _refuse_changed_argument_or_memory_excess(
        self, label: str, inputs: Inputs, outcome: CallOutcome
    ) -> None:
        """Raise ExerciseError if the solution changed an argument or needed too much memory."""
        if outcome.modified:
            raise ExerciseError(
                f"The reference for {self.name} changes its argument {outcome.modified[0]!r}. What "
                "is returned is judged, and not what is left in an argument: let it work on a "
                'copy, and return that; or say `call="in place"`, and what it leaves there is judged.'
            )
        if inputs.memory is not None and outcome.peak_bytes > inputs.memory:
            peak, limit = format_megabytes(outcome.peak_bytes), format_megabytes(inputs.memory)
            excess = f"holds {peak} in its own case {label!r}, which allows {limit}."
            raise ExerciseError(f"The reference for {self.name} {excess}")


def _describe_raising_line(error: Exception, function: Callable) -> str:
    """Return the line of an author's function that raised an error, such as " (line 12)"."""
    file_name = function.__code__.co_filename if inspect.isfunction(function) else ""
    location = ""
    for frame in extract_tb(error.__traceback__):
        if frame.filename == file_name:
            location = f" (line {frame.lineno})"
    return location


def _hyphenated_name(function: Callable) -> str:
    """Return the name of the mistake that a wrong function makes: its name with "-" for "_"."""
    return function.__name__.replace("_", "-")


def _function_import_path(function: Callable | None) -> str:
    """Return the text "module:function" by which other processes import a function; "" for None.

    With this text, `check` in a student's notebook finds and imports the function.

    Raises
    ------
    ValueError
        If the function is not defined at the top of a module.
    """
    if function is None:
        return ""
    if not callable(function) or "<" in getattr(function, "__qualname__", "<"):
        raise ValueError(f"{function!r} is no function of a module")
    return f"{function.__module__}:{function.__qualname__}"
