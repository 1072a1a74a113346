"""Add a hint to a NameError that a student gets before running the lab's set-up cell.

A student's kernel runs this file when it starts (PYTHONSTARTUP). The file imports nothing of the
autograder before an error, and defines no variable that stays in the notebook. Once the set-up cell
has run, `autograder.student.check` handles a NameError.
"""


def _show_setup_hint(  # type: ignore[no-untyped-def]
    shell,
    error_type,
    error,
    trace,
    tb_offset=None,
):
    import sys
    from pathlib import Path

    folder = Path.cwd()
    is_lab = (folder / f"{folder.name}.ipynb").is_file()
    if is_lab and "autograder.student.check" not in sys.modules:
        hint = ""
        try:
            from autograder.student.missing_names import explain_missing_name

            hint = explain_missing_name(error.name)
        except Exception:  # noqa: BLE001 - the hint must not hide the student's error
            pass
        hint = hint or (
            f"{error.name} is not defined. Run the lab's set-up first, which is its first cell with "
            "code, and then this cell again."
        )
        error._render_traceback_ = lambda: [hint]
    shell.showtraceback((error_type, error, trace), tb_offset=tb_offset)


try:  # noqa: SIM105 - an import of suppress would leave a name behind
    get_ipython().set_custom_exc((NameError,), _show_setup_hint)  # type: ignore[name-defined]
except NameError:  # not a notebook
    pass
del _show_setup_hint
