"""Base classes of the autograder's errors.

    AutograderError     the command cannot go on; exit code 1
    └── UsageError      a name, path or option of the command is wrong; exit code 2

The errors of all other modules derive from one of the two. The command line prints the error's
text without a traceback.
"""

INSTALL_ADVICE = (
    "`make setup` brings it; where the engine came as a wheel, "
    "`pip install 'labs-autograder[lab,grading,similarity]'` does."
)


class AutograderError(Exception):
    """Error for a problem that the user can fix; the text says what, where, and what to do."""

    exit_code = 1


class UsageError(AutograderError):
    """Error for a wrong name, path or option of a command; the text says which are possible."""

    exit_code = 2
