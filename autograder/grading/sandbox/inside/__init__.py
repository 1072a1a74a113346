"""What runs inside the sandbox, and the frames that lead into it.

These files, and the engine's student's part, are all of the grader's code that a hand-in can see: they
are bound read-only under their real names, and the packages above them are empty there. So they import each
other, the standard library and the top level of `autograder`, and nothing else of the grading package.

Each kind of process has its module, and only the last two ever run a student's code:

`warm`
    imports what notebooks need, then forks at each connection that it is handed. It never sees a byte of
    any hand-in, so none can be found in the memory that the next one inherits.
`keeper`
    one for each run. Makes the namespaces, forks the hand-in, hands it one cell at a time, and checks
    what comes back; measures time and memory; kills.
`process`
    the hand-in, PID 1 of its own namespaces, which runs cells in IPython (`shell`); and the question, a
    fork of it that calls one exercise's function, and dies.
"""

from typing import TypedDict

HOME = "/home/sandbox"  # a hand-in's home directory


class Config(TypedDict):
    """How the warm process is to start; the grader passes it as JSON, the only argument.

    `control` is the descriptor that connections come over; `sandboxed`, whether bubblewrap is around;
    `preload`, the modules to import first; `uid`, the user to become, or None; `path`, the folders of the
    engine and of the course's library, which come before all others on `sys.path`.
    """

    control: int
    sandboxed: bool
    preload: list[str]
    uid: int | None
    path: list[str]
