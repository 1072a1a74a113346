"""Hand-ins from folders and zips into the classroom: DIR/submitted/<student>/<lab>/<lab>.ipynb.

`collect` does it all: `find` says who handed in what, with `layout` and `people`, and `file` puts it into its
folder. `platforms` holds the forms of names, `indexes` what platforms say beside them, `names` what is text only,
`unpack` the files in folders and zips, `budget` every limit, `roster` the class.
"""

from autograder.grading.intake.collect import Collected, collect, missing
from autograder.grading.intake.file import Origin, read_origin, read_origins
from autograder.grading.intake.find import Outcome, Row
from autograder.grading.intake.roster import Identity, Person, Roster

__all__ = [
    "Collected",
    "Identity",
    "Origin",
    "Outcome",
    "Person",
    "Roster",
    "Row",
    "collect",
    "missing",
    "read_origin",
    "read_origins",
]
