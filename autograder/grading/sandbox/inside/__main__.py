"""Where the sandbox's program begins: confined first, and only then anything is imported.

Run by its path, with a `Config` as its only argument. Until `confine` has done its part, nothing but the
standard library and the packages around that module is imported; the grader has made sure that no folder
of the course bears the name of a module of the standard library.
"""

import json
import sys


def main() -> None:
    """Give up root if there is any, see to it that this process ends with the grader, and go on."""
    config = json.loads(sys.argv[1])
    sys.path[:0] = config["path"]

    from autograder.grading.sandbox.inside import confine

    if config["uid"] is not None:
        confine.become(config["uid"])
    confine.die_with_parent()

    from autograder.grading.sandbox.inside.warm import warm

    warm(config)


if __name__ == "__main__":
    main()
