"""Figures: their data are captured and compared as plain values, not pixels."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator
from small_lab import lab_of
from test_functions_as_values import course_of, grading_messages, run, submission_path, submit

from autograder.authoring import inputs
from autograder.authoring.verify import find_lab_weaknesses
from autograder.judging.judge import judge
from autograder.judging.student_calls import call_student_function
from autograder.sandbox.choice import explain_unavailability
from autograder.values import plots
from autograder.values.case_records import CallOutcome, ComparisonRules, TestCase
from autograder.values.encoding import decode, encode, pack_outcome, unpack_outcome
from autograder.values.plots import Drawing, InvalidDrawing
from autograder.values.value_types import EncodingError, SingleUseArrays, pack_value, unpack_value

FIGURE_RULES = ComparisonRules(call="figure")
X = np.arange(10.0)


@pytest.fixture(autouse=True)
def no_figures():
    """Close what other tests have left open: these tests look whether a figure is left."""
    plt.close("all")


def message_for(reference, answer, *args):
    """Return the message about an answer after a round trip; None if it is right."""
    expected = call_student_function(reference, inputs(*args), "figure")
    assert isinstance(expected.value, Drawing), expected
    arrays = []
    data = pack_outcome(call_student_function(answer, inputs(*args), "figure"), arrays)
    header, arrays = decode(encode({"answer": data}, arrays))
    result = unpack_outcome(header["answer"], SingleUseArrays(arrays))
    case = TestCase("", inputs(*args), expected.value, {})
    return judge([case], [result], FIGURE_RULES, [], "draw").observation or None


def draw_lines(x, module=plt):
    fig, ax = module.subplots()
    ax.plot(x, x**2, label="data")
    ax.plot(x, 3 * x, "--", label="model")
    ax.set(title="Fall", xlabel="time [s]", ylabel="way [m]", ylim=(0, 90))
    ax.legend()
    return fig


def lines_and_more(change, returns=lambda fig: fig):
    """Return an answer that draws the lines, then applies `change` to their Axes."""

    def answer(x):
        fig = draw_lines(x)
        change(fig.axes[0])
        return returns(fig)

    return answer


def by_pyplot(x):
    plt.plot(x, 3 * x, "r:", label="model")
    plt.plot(x, x**2, label="data")
    plt.title(" Fall ")
    plt.xlabel("time [s]")
    plt.ylabel("way [m]")
    plt.ylim(0, 90)
    plt.legend()
    plt.grid()
    plt.show()


def without_pyplot(x):
    fig = Figure()
    ax = fig.subplots()
    ax.plot(x, x**2, label="data")
    ax.plot(x, 3 * x, label="model")
    ax.set(title="Fall", xlabel="time [s]", ylabel="way [m]", ylim=(0, 90))
    ax.legend()
    return ax


@pytest.mark.parametrize(("answer", "sentence"), [
    (draw_lines, None),
    (by_pyplot, None),
    (without_pyplot, None),
    (lines_and_more(lambda ax: None, lambda fig: None), None),
    (lines_and_more(lambda ax: None, lambda fig: (fig, np.array([[fig.axes[0]]], dtype=object))), None),
    (lines_and_more(lambda ax: ax.lines[0].set_ydata(np.where(X > 6, 0, X**2))),
     "The y of line 1: 3 of 10 numbers differ. The largest difference is at [9]: your value is 0, expected 81."),
    (lines_and_more(lambda ax: ax.lines[1].set_data(X[1:], 3 * X[1:])),
     "The x of line 2: it has shape (9,); expected (10,)."),
    (lines_and_more(lambda ax: ax.plot([0, 9], [1, 1])), "Your figure has 3 lines; expected 2."),
    (lines_and_more(lambda ax: ax.set_xlabel("")),
     "The label of the x axis is ''; expected 'time [s]'."),
    (lines_and_more(lambda ax: ax.set_title("Rise")), "The title is 'Rise'; expected 'Fall'."),
    (lines_and_more(lambda ax: ax.set_yscale("symlog")),
     "The scale of the y axis is 'symlog'; expected 'linear'."),
    (lines_and_more(lambda ax: ax.set_ylim(0, 50)),
     "The y axis goes from 0 to 50; expected 0 to 90."),
    (lines_and_more(lambda ax: ax.autoscale()),
     "The y axis has limits that were not set; expected 0 to 90."),
    (lines_and_more(lambda ax: ax.legend(["data"])), "The legend has 'data'; 'model' is missing."),
    (lines_and_more(lambda ax: ax.get_legend().remove()),
     "The legend has no texts; 'data' is missing."),
    (lines_and_more(lambda ax: ax.figure.add_subplot()), "Your figure has 2 plots; expected 1."),
    (lambda x: None, "Your function drew nothing."),
    (lambda x: x**2, "Your function drew nothing."),
    (lambda x: plt.plot(x, x[:3]),
     "Your function raised ValueError: x and y must have same first dimension, but have "
     "shapes (10,) and (3,)."),
])  # fmt: skip
def test_lines_and_texts(answer, sentence):
    assert message_for(draw_lines, answer, X) == sentence
    assert plt.get_fignums() == []


def draw_three_plots(x):
    bars, points, image = plt.subplots(3)[1]
    bars.bar(["a", "b", "c"], x[:3])
    points.scatter(x, -x)
    image.imshow(np.outer(x, x))


def other_three_plots(scatter=True, order=slice(None), factor=1):
    def answer(x):
        fig, axes = plt.subplots(1, 3)
        axes[0].bar(["a", "b", "c"][order], factor * x[:3][order], width=0.3)
        (axes[1].scatter if scatter else lambda x, y: axes[1].plot(x, y, "o"))(x, -x)
        axes[2].imshow(np.outer(x, x) if factor == 1 else np.outer(x, x) + 1, cmap="gray")
        return fig

    return answer


@pytest.mark.parametrize(("answer", "sentence"), [
    (draw_three_plots, None),
    (other_three_plots(), None),
    (other_three_plots(scatter=False), None),
    (other_three_plots(factor=-2),
     "In plot 1 of 3: the lengths of the bars: 2 of 3 numbers differ. The largest difference is at [2]: "
     "your value is -4, expected 2."),
    (lambda x: plt.subplots(3)[1][0].bar([0, 1, 2], x[:3]),
     "In plot 1 of 3: the x axis has no texts; 'a' is missing."),
    (lambda x: plt.subplots(3)[1][0].barh(["a", "b", "c"], x[:3] + 1),
     "In plot 1 of 3: the lengths of the bars: "
     "3 of 3 numbers differ. The largest difference is at [0]: your value is 1, expected 0."),
])  # fmt: skip
def test_bars_points_and_images(answer, sentence):
    assert message_for(draw_three_plots, answer, X) == sentence


def test_items_that_the_solution_leaves_out_are_not_compared():
    def draw_line(x):
        plt.plot(x, x)

    def draw_more(x):
        plt.plot(x, x, label="me")
        plt.bar(x, x)
        plt.title("Mine")
        plt.xlim(0, 3)
        plt.legend()

    assert message_for(draw_line, draw_more, X) is None
    message = message_for(draw_line, lambda x: plt.bar(x, x), X)
    assert message == "Your figure has 0 lines; expected 1."


def test_open_figures_are_left_unchanged():
    open_figure, show = plt.figure(), plt.show
    plt.plot([1, 2], [3, 4])
    assert message_for(draw_lines, by_pyplot, X) is None
    assert plt.get_fignums() == [open_figure.number]
    assert len(open_figure.axes[0].lines) == 1 and plt.show is show
    plt.close(open_figure)


PLOT = call_student_function(draw_lines, inputs(X), "figure").value.plots[0]


@pytest.mark.parametrize("parts", [
    {"title": 1}, {"x": None}, {"legend": "ab"}, {"legend": [1]}, {"line": (1,)},
    {"line": [(X,)]}, {"line": [(X, X[1:])]},
    {"line": [(X, X.astype("float32"))]}, {"line": [(1.0, 2.0)]}, {"line": [[X, X]]},
    {"x limits": (X, X)}, {"more": 1},
    {"x limits": (1, 2)}, {"x limits": [1.0, 2.0]}, {"image": [X]},
])  # fmt: skip
def test_invalid_figure_data_are_refused(parts):
    arrays = []
    data = {"drawing": pack_value([{**PLOT, **parts}], arrays)}
    with pytest.raises(EncodingError):
        unpack_value(data, SingleUseArrays(arrays))
    with pytest.raises(InvalidDrawing):
        Drawing.from_plain([PLOT] * 101)
    with pytest.raises(EncodingError):
        unpack_value({"drawing": {"value": 1}}, [])


def make_crowded_figure():
    """Return a figure with three of whatever a figure may have many of."""
    figure = Figure()
    for _ in range(3):
        axes = figure.add_subplot()
        for number in range(3):
            axes.plot(X, X, label=str(number))
            axes.scatter(X, X)
            axes.bar(X, X)
            axes.imshow(np.zeros((2, 2)))
        axes.legend()
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator([1, 2, 3]))
            axis.set_major_formatter(FixedFormatter(["a", "b", "c"]))
    return figure


def test_the_items_of_a_figure_are_limited(monkeypatch):
    monkeypatch.setattr(plots, "MAX_ITEMS", 2)
    drawing = plots.capture_drawing(make_crowded_figure)
    assert len(drawing.plots) == 2
    for kind in (*plots.SERIES, *plots.LISTS):
        assert len(drawing.plots[0][kind]) == 2, kind
    assert Drawing.from_plain([PLOT] * 2)
    with pytest.raises(InvalidDrawing):
        Drawing.from_plain([PLOT] * 3)
    figure = Figure()
    assert plots._find_figure_in_result([1, figure]) is figure
    assert plots._find_figure_in_result([1, 1, figure]) is None


@pytest.mark.parametrize(
    "value", [5, None, X, [PLOT], Drawing([]), Drawing([{**PLOT, "y limits": (np.nan, np.inf)}])]
)
def test_a_forged_figure_is_wrong_and_does_not_stop_the_judge(value):
    expected = call_student_function(draw_lines, inputs(X), "figure").value
    answer = CallOutcome(value, "Drawing")
    case = TestCase("", inputs(X), expected, {})
    finding = judge([case], [answer], FIGURE_RULES, [], "draw")
    assert finding.cases_correct == (False,)


class HostileFigure(Figure):
    @property
    def axes(self):
        return self

    def __getitem__(self, index):
        return [self] * 3

    def __getattr__(self, name):
        return lambda *_, **__: self

    def __len__(self):
        return 1 << 40


def test_a_hostile_figure_and_one_too_large_are_wrong():
    assert message_for(draw_lines, lambda x: HostileFigure(), X).startswith("Your function raised ")
    large = message_for(draw_lines, lambda x: plt.imshow(np.zeros((1100, 1000))), X)
    assert large == "Your figure holds an ndarray of 1,100,000 values, which cannot be compared."


def test_a_build_refuses_a_figure_that_zeros_pass():
    def draw_inputs(rng):
        return inputs(rng.normal(size=5))

    lab = lab_of(draw_lines, draw_inputs, call="figure")
    exercise = lab.exercises["answer"]
    mistake = exercise.misconception(means="You drew them upside down.", nudge="Up?")
    mistake(lambda x: draw_lines(-x))
    exercise.variant(by_pyplot)
    assert find_lab_weaknesses(lab) == []
    zero_lab = lab_of(lambda x: plt.plot(0 * x, 0 * x), draw_inputs, call="figure")
    (sentence,) = find_lab_weaknesses(zero_lab)
    assert "zeros of the right shape" in sentence


# A course

EXERCISE = """\
import numpy as np

from autograder.authoring import Exercise, inputs

fall = Exercise("fall", points=2, call="figure")


@fall.case("ten seconds")
def ten(rng):
    return inputs(np.sort(rng.uniform(0, 10, size=10)))


@fall.misconception(means="You drew the speed, not the way.", nudge="What is on the y axis?")
def speed(t):
    from matplotlib import pyplot as plt

    plt.plot(t, 9.81 * t)
    plt.xlabel("time [s]")
"""
SOLUTION = """\
def fall(t):
    ### BEGIN SOLUTION
    from matplotlib import pyplot as plt

    plt.plot(t, 4.905 * t**2)
    plt.xlabel("time [s]")
    ### END SOLUTION"""
RIGHT = "\n".join(part for part in SOLUTION.split("\n") if "###" not in part)
ANSWERS = {
    "right": (RIGHT + "\n    plt.show()", "Right in all"),
    "speed": (RIGHT.replace("4.905 * t**2", "9.81 * t"), "You drew the speed, not the way."),
    "label": (
        RIGHT.replace("time", "t"),
        "The label of the x axis is 't [s]'; expected 'time [s]'.",
    ),
    "nothing": ("def fall(t):\n    return 4.905 * t**2", "Your function drew nothing."),
    "hostile": (
        RIGHT + "\n    from autograder.values import plots as figures\n"
        "    figures._extract_plot = lambda axes: {'title': type('T', (str,), {'__eq__': lambda s, o: True})('x')}",
        "fall",
    ),
}


@pytest.mark.long
@pytest.mark.skipif(
    bool(explain_unavailability()), reason=explain_unavailability() or "there is a sandbox"
)
def test_a_course_with_a_figure_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {}, {"fall": (EXERCISE, SOLUTION)})
    run(course, "build")
    submit(course, "fall", {student: answer for student, (answer, _) in ANSWERS.items()})
    messages = grading_messages(course, "fall")
    assert {name for name in messages if messages[name].startswith("Right")} == {"right"}
    sentences = {name: sentence for name, (_, sentence) in ANSWERS.items() if name != "hostile"}
    assert not [name for name in sentences if sentences[name] not in messages[name]], messages
    label = submission_path(course, "label")
    assert ANSWERS["label"][1] in run(course, "check", label, code=1)
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("speed/**/*.html")).read_text()
    assert ANSWERS["speed"][1] in page


def test_upper_and_lower_case_of_a_title_differ():
    expected, value = (
        call_student_function(lambda title=title: plt.title(title), inputs(), "figure").value
        for title in ("Fall", "fall")
    )
    finding = expected.find_difference(value, lambda *_: None)
    assert finding.observation == "The title is 'fall'; expected 'Fall'."


def test_show_is_pyplot_s_own_again_after_a_call_or_an_error():
    show = plt.show

    def fail():
        raise ValueError("no")

    for draw in (plt.figure, fail):
        call_student_function(draw, inputs(), "figure")
        assert plt.show is show


def test_bars_are_compared_by_their_places_whatever_their_order():
    first, second = (
        call_student_function(lambda x=x, y=y: plt.bar(x, y), inputs(), "figure").value
        for x, y in (([1, 2, 3], [4, 5, 6]), ([3, 1, 2], [6, 4, 5]))
    )
    (places, lengths), (other_places, other_lengths) = (
        drawing.plots[0]["group of bars"][0] for drawing in (first, second)
    )
    assert places.tolist() == other_places.tolist() == [1, 2, 3]
    assert lengths.tolist() == other_lengths.tolist() == [4, 5, 6]


def test_a_wrong_line_is_compared_with_the_line_at_its_place():
    """A line that is right at another place is none to compare with."""
    expected, lines = ([(np.full(3, level),) for level in levels] for levels in ("123", "452"))

    def compare(first, second, place):
        return None if np.array_equal(first, second) else place

    match = plots._find_first_missing_series(expected, lines, compare)
    assert match == (0, expected[0], lines[0])
    match = plots._find_first_missing_series(expected[1:], lines, compare)
    assert match == (1, expected[2], lines[1])
    match = plots._find_first_missing_series(expected[1:], [lines[0], lines[2]], compare)
    assert match == (1, expected[2], lines[0])
    assert plots._find_first_missing_series(lines, lines[::-1], compare) is None
