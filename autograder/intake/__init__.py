"""Store submissions from folders and zips in the classroom, in one folder for each student.

The result is DIR/submitted/<student>/<lab>/<lab>.ipynb.

`collect` does it all. Its steps, each in a module:

archives           list and read the files in folders and zips
names              compare names, and make names safe as names of folders
filename_patterns  recognise the file names that platforms give to submissions
platform_metadata  read the lists and receipts that platforms add to a download
ownership          decide which account of a platform each file belongs to
roster             read the class list, roster.csv
student_matching   match the accounts of a platform to students
finder             make an attempt (one submitted notebook) of each file
store              file the attempts in the classroom
student_folders    match the folders that are in submitted/ already to the people of the roster
merge_folders      merge the folders of a student who has several
upload_limits      limit the number and the size of the files that are read
"""

from autograder.intake.collect import CollectionReport, collect
from autograder.intake.finder import FileOutcome, FileReport
from autograder.intake.roster import Person, PlatformIdentity, Roster, is_submitted_by_few
from autograder.intake.store import Origin, read_origin, read_origins

__all__ = [
    "CollectionReport",
    "FileOutcome",
    "FileReport",
    "Origin",
    "Person",
    "PlatformIdentity",
    "Roster",
    "collect",
    "is_submitted_by_few",
    "read_origin",
    "read_origins",
]
