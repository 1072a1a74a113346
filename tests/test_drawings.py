"""What a call draws: a figure's data as plain values, not pixels."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from test_functions import course_of, hand_in, run, told_when_marked
from test_proof import lab_of

from autograder.authoring import inputs
from autograder.authoring.proof import weaknesses
from autograder.grading.sandbox.choice import why_unavailable
from autograder.judging.answer import ask
from autograder.judging.figures import Drawing, NoDrawing
from autograder.judging.frames import decode, encode, pack_answer, unpack_answer
from autograder.judging.judge import judge
from autograder.judging.kinds import FrameError, Once, pack_value, unpack_value
from autograder.judging.question import Answer, Question, Rules

DRAWN = Rules(call="figure")
X = np.arange(10.0)


def told(reference, answer, *given):
    """What is said of an answer that has travelled; None where it is right."""
    due = ask(reference, inputs(*given), "figure")
    assert isinstance(due.value, Drawing), due
    arrays = []
    packed = pack_answer(ask(answer, inputs(*given), "figure"), arrays)
    header, received = decode(encode({"answer": packed}, arrays))
    came = unpack_answer(header["answer"], Once(received))
    return judge([Question("", inputs(*given), due.value, {})], [came], DRAWN, [], "draw").seen or None


def lines(x, of=plt):
    fig, ax = of.subplots()
    ax.plot(x, x**2, label="data")
    ax.plot(x, 3 * x, "--", label="model")
    ax.set(title="Fall", xlabel="time [s]", ylabel="way [m]", ylim=(0, 90))
    ax.legend()
    return fig


def also(change, returns=lambda fig: fig):
    """An answer that draws the same lines, and then something else."""

    def answer(x):
        fig = lines(x)
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
    (lines, None),
    (by_pyplot, None),
    (without_pyplot, None),
    (also(lambda ax: None, lambda fig: None), None),
    (also(lambda ax: None, lambda fig: (fig, np.array([[fig.axes[0]]], dtype=object))), None),
    (also(lambda ax: ax.lines[0].set_ydata(np.where(X > 6, 0, X**2))),
     "The y of line 1: 3 of 10 numbers differ, most at [9]: yours 0, expected 81."),
    (also(lambda ax: ax.lines[1].set_data(X[1:], 3 * X[1:])), "The x of line 2: it has shape (9,); (10,) is due."),
    (also(lambda ax: ax.plot([0, 9], [1, 1])), "Your figure has 3 lines; 2 are due."),
    (also(lambda ax: ax.set_xlabel("")), "The label of the x axis is ''; 'time [s]' is due."),
    (also(lambda ax: ax.set_title("Rise")), "The title is 'Rise'; 'Fall' is due."),
    (also(lambda ax: ax.set_yscale("symlog")), "The scale of the y axis is 'symlog'; 'linear' is due."),
    (also(lambda ax: ax.set_ylim(0, 50)), "The y axis goes from 0 to 50; 0 to 90 is due."),
    (also(lambda ax: ax.autoscale()), "The y axis has limits that were not set; 0 to 90 is due."),
    (also(lambda ax: ax.legend(["data"])), "The legend has 'data'; 'model' is missing."),
    (also(lambda ax: ax.get_legend().remove()), "The legend has no texts; 'data' is missing."),
    (also(lambda ax: ax.figure.add_subplot()), "Your figure has 2 plots; 1 is due."),
    (lambda x: None, "Your function drew nothing."),
    (lambda x: x**2, "Your function drew nothing."),
    (lambda x: plt.plot(x, x[:3]), "Your function raised ValueError: x and y must have same first dimension, but have "
     "shapes (10,) and (3,)."),
])  # fmt: skip
def test_lines_and_texts(answer, sentence):
    assert told(lines, answer, X) == sentence
    assert plt.get_fignums() == []


def several(x):
    one, two, three = plt.subplots(3)[1]
    one.bar(["a", "b", "c"], x[:3])
    two.scatter(x, -x)
    three.imshow(np.outer(x, x))


def otherwise(scatter=True, order=slice(None), factor=1):
    def answer(x):
        fig, axes = plt.subplots(1, 3)
        axes[0].bar(["a", "b", "c"][order], factor * x[:3][order], width=0.3)
        (axes[1].scatter if scatter else lambda x, y: axes[1].plot(x, y, "o"))(x, -x)
        axes[2].imshow(np.outer(x, x) if factor == 1 else np.outer(x, x) + 1, cmap="gray")
        return fig

    return answer


@pytest.mark.parametrize(("answer", "sentence"), [
    (several, None),
    (otherwise(), None),
    (otherwise(scatter=False), None),
    (otherwise(factor=-2), "In plot 1 of 3: the lengths of the bars: 2 of 3 numbers differ, most at [2]: "
     "yours -4, expected 2."),
    (lambda x: plt.subplots(3)[1][0].bar([0, 1, 2], x[:3]), "In plot 1 of 3: the x axis has no texts; 'a' is missing."),
    (lambda x: plt.subplots(3)[1][0].barh(["a", "b", "c"], x[:3] + 1), "In plot 1 of 3: the lengths of the bars: "
     "3 of 3 numbers differ, most at [0]: yours 1, expected 0."),
])  # fmt: skip
def test_bars_points_and_images(answer, sentence):
    assert told(several, answer, X) == sentence


def test_what_the_solution_leaves_out_is_free():
    def plain(x):
        plt.plot(x, x)

    def adorned(x):
        plt.plot(x, x, label="me")
        plt.bar(x, x)
        plt.title("Mine")
        plt.xlim(0, 3)
        plt.legend()

    assert told(plain, adorned, X) is None
    assert told(plain, lambda x: plt.bar(x, x), X) == "Your figure has 0 lines; 1 is due."


def test_figures_that_are_open_stay_as_they_are():
    mine, show = plt.figure(), plt.show
    plt.plot([1, 2], [3, 4])
    assert told(lines, by_pyplot, X) is None
    assert plt.get_fignums() == [mine.number] and len(mine.axes[0].lines) == 1 and plt.show is show
    plt.close(mine)


PLAIN = ask(lines, inputs(X), "figure").value.plots[0]


@pytest.mark.parametrize("parts", [
    {"title": 1}, {"x": None}, {"legend": "ab"}, {"legend": [1]}, {"line": (1,)}, {"line": [(X,)]}, {"line": [(X, X[1:])]},
    {"line": [(X, X.astype("float32"))]}, {"line": [(1.0, 2.0)]}, {"line": [[X, X]]}, {"x limits": (X, X)}, {"more": 1},
    {"x limits": (1, 2)}, {"x limits": [1.0, 2.0]}, {"image": [X]},
])  # fmt: skip
def test_what_no_figure_gives_is_refused(parts):
    arrays = []
    packed = {"drawing": pack_value([{**PLAIN, **parts}], arrays)}
    with pytest.raises(FrameError):
        unpack_value(packed, Once(arrays))
    with pytest.raises(NoDrawing):
        Drawing.of_plain([PLAIN] * 101)
    with pytest.raises(FrameError):
        unpack_value({"drawing": {"value": 1}}, [])


@pytest.mark.parametrize(
    "forged", [5, None, X, [PLAIN], Drawing([]), Drawing([{**PLAIN, "y limits": (np.nan, np.inf)}])]
)
def test_what_is_forged_is_wrong_and_ends_nothing(forged):
    due = ask(lines, inputs(X), "figure").value
    answer = Answer(forged, "Drawing")
    assert judge([Question("", inputs(X), due, {})], [answer], DRAWN, [], "draw").right == (False,)


class Hostile(Figure):
    @property
    def axes(self):
        return self

    def __getitem__(self, at):
        return [self] * 3

    def __getattr__(self, name):
        return lambda *_, **__: self

    def __len__(self):
        return 1 << 40


def test_a_hostile_figure_and_one_too_large_are_wrong():
    assert told(lines, lambda x: Hostile(), X).startswith("Your function raised ")
    large = told(lines, lambda x: plt.imshow(np.zeros((1100, 1000))), X)
    assert large == "Your figure holds an ndarray of 1,100,000 values, which cannot be compared."


def test_a_build_proves_figures():
    def drawn(rng):
        return inputs(rng.normal(size=5))

    lab = lab_of(lines, drawn, call="figure")
    exercise = lab.exercises["answer"]
    exercise.misconception(means="You drew them upside down.", nudge="Up?")(lambda x: lines(-x))
    exercise.variant(by_pyplot)
    assert weaknesses(lab) == []
    (sentence,) = weaknesses(lab_of(lambda x: plt.plot(0 * x, 0 * x), drawn, call="figure"))
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
    "label": (RIGHT.replace("time", "t"), "The label of the x axis is 't [s]'; 'time [s]' is due."),
    "nothing": ("def fall(t):\n    return 4.905 * t**2", "Your function drew nothing."),
    "hostile": (
        RIGHT + "\n    from autograder.judging import figures\n"
        "    figures._plot = lambda axes: {'title': type('T', (str,), {'__eq__': lambda s, o: True})('x')}",
        "fall",
    ),
}


@pytest.mark.long
@pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable() or "there is a sandbox")
def test_a_course_with_a_figure_from_its_build_to_its_pages(tmp_path):
    course = course_of(tmp_path / "mine", {}, {"fall": (EXERCISE, SOLUTION)})
    run(course, "build")
    hand_in(course, "fall", {student: answer for student, (answer, _) in ANSWERS.items()})
    told = told_when_marked(course, "fall")
    assert {name for name in told if told[name].startswith("Right")} == {"right"}
    assert not [n for n, (_, said) in ANSWERS.items() if said not in told[n] and n != "hostile"], told
    label = course.root / "classroom" / "submitted" / "label" / "first-steps" / "first-steps.ipynb"
    assert ANSWERS["label"][1] in run(course, "check", label, code=1)
    run(course, "feedback")
    page = next((course.root / "classroom" / "feedback").rglob("speed/**/*.html")).read_text()
    assert ANSWERS["speed"][1] in page
