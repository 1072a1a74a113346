"""What a kernel of ours knows before a lab's set-up cell has run: who misses a name of it is told so in one sentence.

The kernel runs this file when it starts (PYTHONSTARTUP), so it imports nothing of ours and leaves no name behind. Once
the set-up cell has run, `autograder.student` says what is to be said.
"""


def _say(shell, kind, error, trace, tb_offset=None):  # type: ignore[no-untyped-def]
    import sys
    from pathlib import Path

    here = Path.cwd()
    if "autograder.student" not in sys.modules and (here / f"{here.name}.ipynb").is_file():
        said = f"{error.name} is not there yet: run the lab's set-up first, its first cell with code, then this one again."
        error._render_traceback_ = lambda: [said]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


try:  # noqa: SIM105 - no name is left behind
    get_ipython().set_custom_exc((NameError,), _say)  # type: ignore[name-defined]
except NameError:  # it is no notebook
    pass
del _say
