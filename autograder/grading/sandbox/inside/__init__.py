"""What runs inside the sandbox, and the frames that lead into it.

These files, and the engine's student's part, are all of the grader's code that a hand-in can see: they
are bound read-only under their real names, and nothing else is in the packages above them there. So they import each
other, the standard library and the top level of `autograder`, and nothing else of the grading package.

Each kind of process has its module, and only those of the last ever run a student's code:

`warm`
    imports what notebooks need; it is forked for each hand-in, and ends it. It never sees a byte of any, so none
    can be found in the memory that the next one inherits.
`keeper`
    stands beside it, and takes one run after another from the grader. It has the hand-in started, hands it
    one cell at a time (`drive`), and checks what comes back; measures time and memory (`growth`: an answer's); has it
    ended.
`process`
    the hand-in, PID 1 of its own namespaces, which runs cells in IPython (`shell`); and the question, a
    fork of it that calls one exercise's function, and dies. (The last question needs none.)
"""

from typing import TypedDict

HOME = "/home/sandbox"  # a hand-in's home directory
COURSE = "/course"  # where it finds the engine, and what it may see of the course


class Config(TypedDict):
    """How the keeper and the warm process are to start; the grader passes it as JSON, the only argument.

    `control` is the descriptor that connections come over; `namespaces`, whether bubblewrap is around;
    `preload`, the modules to import first; `uid`, the user to become, or None; `path`, the folders of the
    engine and of the course's library, which come before all others on `sys.path`.
    """

    control: int
    namespaces: bool
    preload: list[str]
    uid: int | None
    path: list[str]
