"""Submissions that try to cost the class more than their own grade.

`python tests/hostile_class.py` grades ten honest submissions without and with them, and prints
both.
"""

import json
from copy import deepcopy
from pathlib import Path

import nbformat
from command import autograder
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from sample_class import HOSTILE, perfect, with_answer

from autograder.authoring.lab import Lab

# A picture of one pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

# Ways to write a link that runs a script, or a picture from elsewhere. `RUN` is the script.
RUN = "window.mischief=1"
LINKS = [
    "[a](javascript:RUN)",
    "[a](javascript&colon;RUN)",
    "[a](javascript&#58;RUN)",
    "[a](javascript&#x3a;RUN)",
    "[a](javascript&#x3A RUN)",
    "[a](java&#115;cript:RUN)",
    "[a](&#106;avascript:RUN)",
    "[a](java&Tab;script:RUN)",
    "[a](java&NewLine;script:RUN)",
    "[a](java&#9;script:RUN)",
    "[a](&#1;javascript:RUN)",
    "[a](<javascript:RUN>)",
    "[a](< javascript:RUN>)",
    "[a](<java\tscript:RUN>)",
    "[a](JaVaScRiPt:RUN)",
    "[a](javascript\\:RUN)",
    "[a](vbscript&colon;RUN)",
    "[a](data&colon;text/html,<script>RUN</script>)",
    "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[a][r]\n\n[r]: javascript:RUN",
    "[a][r]\n\n[r]: javascript&colon;RUN",
    "[r]\n\n[r]: <javascript&colon;RUN> 'title'",
    "<javascript:RUN>",
    "<javascript&colon;RUN>",
    "![a](javascript&colon;RUN)",
    "![a](https://elsewhere.example/mischief.png)",
    "![a](//elsewhere.example/mischief.png)",
    "![a][p]\n\n[p]: https://elsewhere.example/mischief.png",
    "![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![a](data&colon;image/svg+xml,<svg onload=RUN>)",
    "![a](attachment:nothing.png)",
    "[![a](x)](javascript&colon;RUN)",
    "[a](jav\u0000ascript&colon;RUN)",
    "| a |\n|---|\n| [a](javascript&colon;RUN) |",
    "> - [a](javascript&colon;RUN)",
    "# [a](javascript&colon;RUN)",
    "$\\href{javascript:RUN}{x}$",
    "&#36;&#92;href{javascript:RUN}{x}&#36;",
    "$$\\require{html}\\cssId{a}{\\style{x:y}{z}}$$",
    "a[^1]\n\n[^1]: [b](javascript&colon;RUN)",
    "[a](/api/contents)",
    "[a](\\\\elsewhere.example/x)",
    "<a href=javascript:RUN>a</a>",
    "&lt;a href=javascript:RUN>a</a>",
    "<svg><a xlink:href=javascript:RUN><text>a</text></a></svg>",
    "<img src=x onerror=RUN>",
    "```mermaid\n<img src=x onerror=RUN>\n```",
]
LINKS = [link.replace("RUN", RUN) for link in LINKS]


def written(notebook: NotebookNode) -> bytes:
    """Return a notebook's file, valid or not."""
    return json.dumps(notebook).encode()


def with_cell(lab: Lab, source: str, kind: str = "code") -> bytes:
    """Return a perfect submission with a further cell at its end."""
    notebook = deepcopy(perfect(lab))
    cell = (new_code_cell if kind == "code" else new_markdown_cell)("", id="own")
    cell.source = source
    notebook.cells.append(cell)
    return written(notebook)


def hostile(lab: Lab) -> dict[str, bytes]:
    """Return hostile submissions by name, each of one student."""
    many_errors = deepcopy(perfect(lab))
    for number in range(700):
        many_errors.cells.append(
            nbformat.from_dict({**new_code_cell("", id=f"e{number}"), "source": _ERRORS}),
        )
    ids = deepcopy(perfect(lab))
    for number in range(900):
        cell = new_markdown_cell("x", id=f"g{number}")
        cell.metadata["nbgrader"] = {"grade_id": f"\x1b]0;mine\x07bogus-{number}" * 20}
        ids.cells.append(cell)
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code"}] * 300_000}]}
    return {
        "pygments-dots": with_cell(lab, "a" + ".a" * 900_000),
        "pygments-lines": with_cell(lab, "\n".join("a" + ".a" * 200 for _ in range(900))),
        "magic-perl": with_cell(lab, "%%perl\n" + "<<A;" * 20_000),
        "magic-html": with_cell(lab, "%%html\n" + "<!--" * 20_000),
        "mistune-formulas": with_cell(lab, "\\\\[" * 500_000, "markdown"),
        "mistune-brackets": with_cell(lab, "[" * 19_000, "markdown"),
        "mistune-quotes": with_cell(lab, ">" * 15_000, "markdown"),
        "mistune-stars": with_cell(lab, "*a_" * 6_000, "markdown"),
        "formula": with_cell(lab, "$" + "{" * 9_000 + "}" * 9_000 + "$", "markdown"),
        "escapes": with_cell(lab, "print('\\x1b[m' * 800_000)"),
        "triple-quotes": with_cell(lab, '"\\"""' * 300_000),
        "objects": b'{"cells":[' + b"{}," * 6_000_000 + b"{}]}",
        "old-format": json.dumps(old).encode(),
        "many-errors": written(many_errors),
        "bogus-ids": written(ids),
        "links": with_cell(lab, "\n\n".join(LINKS), "markdown"),
        "printed-links": with_cell(
            lab,
            f"from IPython.display import *\n[display(Markdown(t)) for t in {LINKS!r}]",
        ),
        "deep": b'{"cells": ' + b"[" * 100_000,
        "nested-html": with_cell(
            lab,
            "from IPython.display import *\nfor i in range(8): display(HTML('<b><table>' * 900 + "
            "'x' * 40_000))",
        ),
        "latex": with_cell(
            lab,
            "from IPython.display import *\ndisplay(Latex('$' + '\\\\frac{' * 100_000 + '$'))",
        ),
    }


_ERRORS = (
    "import sys\nclass E(Exception): pass\nE.__name__ = '[a](javascript&colon;x)'\n"
    "for i in range(3): get_ipython().showtraceback((E, E('x' * 49_000), None))"
)


def beside(
    folder: Path, lab: Lab, honest: int = 10
) -> dict[bool, dict[str, tuple[list[tuple], str, float]]]:
    """Grade a class and make its pages twice, without hostile submissions (False) and with them (True).

    Of each honest student the marks, the feedback page and the seconds that the judging took.
    """
    results = {}
    attacks = hostile(lab) | {
        name: written(with_answer(perfect(lab), next(iter(lab.exercises)), source))
        for name, source in HOSTILE.items()
    }
    for with_attacks in (False, True):
        room = folder / f"{with_attacks}"
        submissions = {f"honest{n:02}": written(perfect(lab)) for n in range(honest - 1)}
        submissions["honest-wrong"] = written(
            with_answer(perfect(lab), next(iter(lab.exercises)), "x = 1"),
        )
        for student, data in (submissions | (attacks if with_attacks else {})).items():
            path = room / "submitted" / student / lab.name / f"{lab.name}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
        room.joinpath("secret").write_text("0" * 32)  # the same fresh cases both times
        for command in (
            ("grade", lab.name, "--json", room / "rows"),
            ("feedback", lab.name),
            ("report",),
        ):
            completed = autograder(*command, "--classroom", room)
            assert completed.returncode == 0, f"{command[0]}: {completed.stdout}{completed.stderr}"
        rows = [json.loads(line) for line in (room / "rows").read_text().splitlines()]
        results[with_attacks] = {
            student: (
                [
                    (r["exercise"], r["score"], r["verdict"])
                    for r in rows
                    if r["student"] == student
                ],
                (room / "feedback" / student / lab.name / f"{lab.name}.html").read_text("utf-8"),
                sum(r["seconds"] for r in rows if r["student"] == student),
            )
            for student in sorted({r["student"] for r in rows})
            if with_attacks or student.startswith("honest")
        }
        assert len(results[with_attacks]) == len(submissions) + with_attacks * len(attacks)
    return results


if __name__ == "__main__":
    import tempfile

    from our_course import lab as lab_of

    with tempfile.TemporaryDirectory() as made:
        seen = beside(Path(made), lab_of("qkv-attention"))
    print("honest student   marks                pages  seconds alone  beside the hostile")
    for student, (marks, page, seconds) in seen[False].items():
        now = seen[True][student]
        same = [
            "the same" if one == other else "DIFFERENT"
            for one, other in zip((marks, page), now[:2], strict=True)
        ]
        points = sum(score or 0 for _, score, _ in marks)
        print(
            f"{student:16} {points:4} points, {same[0]:9} {same[1]:9} {seconds:8.2f} {now[2]:14.2f}",
        )
    others = {s: one for s, one in seen[True].items() if s not in seen[False]}
    for student, (marks, _, seconds) in others.items():
        verdicts = ", ".join(sorted({verdict for _, _, verdict in marks}))
        print(
            f"{student:16} {sum(score or 0 for _, score, _ in marks):4} points, {verdicts}, {seconds:.2f} s",
        )
