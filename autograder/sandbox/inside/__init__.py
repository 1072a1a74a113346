"""Code that runs inside the sandbox, and the protocol between it and the grader.

A submission can read this package and the modules of the autograder that students have, but no
other module. So this package may import only those, the standard library, NumPy and IPython. In
the sandbox the files are read-only, and the `__init__.py` of the packages above them are empty.

Each kind of process has its own module. Only the last two run a student's code:

`fork_server`
    Process that imports the modules that notebooks need, forks itself for each submission, and
    kills the submission afterwards. It never reads anything of a submission. So no submission can
    find another's data in the memory that it inherits.
`supervisor`
    Process beside the fork server, which runs one submission after another for the grader. It
    lets the fork server start the submission, sends the submission one cell at a time (`driver`),
    checks the replies, and measures time and memory (`memory_usage`).
`forked_executor`
    Process of one submission, with process id 1 in its own namespaces. It runs the cells in
    IPython (`ipython_shell`). To test an exercise, it forks a process that calls the exercise's
    function and ends. The last exercise is tested in the submission's process itself.
`wasm_guest`
    Submission in the WebAssembly sandbox, where there is a single process.
"""

from typing import TypedDict

SANDBOX_HOME = "/home/sandbox"  # a submission's home directory
SANDBOX_COURSE = "/course"  # folder of the autograder and the files of the course that are visible


class StartupConfig(TypedDict):
    """Configuration of the sandbox's processes; the grader passes it as JSON on the command line.

    `control` is the descriptor of the socket to the grader, which sends a connection for each run.
    `namespaces` is True in bubblewrap. `preload` lists the modules to import before any
    submission. `uid` is the user id to change to, or None. `path` lists the folders to put at the
    beginning of `sys.path`: those of the autograder and of the course's library.
    """

    control: int
    namespaces: bool
    preload: list[str]
    uid: int | None
    path: list[str]
