"""Start the sandbox's processes: give up root privileges, then run the fork server.

The fork server is the process from which all submissions are forked.

The grader runs this file by its path, with a `StartupConfig` as its only argument. As long as
this process has the privileges, it imports only the standard library, this package and
`linux`. No folder of the course can replace a module of the standard library: the grader has
checked the names.
"""

import json
import sys


def main() -> None:
    """Give up root privileges, let this process die with the grader, and start the sandbox."""
    config = json.loads(sys.argv[1])
    sys.path[:0] = config["path"]

    from autograder.sandbox.inside import linux

    if config["uid"] is not None:
        linux.become_user(config["uid"])
    linux.die_with_parent()

    from autograder.sandbox.inside.fork_server import start_sandbox

    start_sandbox(config)


if __name__ == "__main__":
    main()
